/* SPDX-License-Identifier: Apache-2.0 */
/* convolution.c: convolutions, as a generated kernel would compute them and as cuDNN runs them.
 *
 * cuDNN computes most convolutions as a matrix product that gathers its first operand (implicit GEMM), by kernels that
 * want channels last. On tensors with channels first it launches a layout change before, after, or both, and those
 * kernels take whole vectors of input channels and whole tiles of filters: time = launches + 2 (moves of the input x
 * its bytes + moves of the output x its bytes) / bandwidth
 *            + ((bytes / bandwidth)^4 + (2 m n' k' strides^s / (efficiency x peak))^4)^(1/4)
 * with n' filters and k' = channels' x taps filled up, and s: what of a transposed convolution's strides is computed in
 * vain. Which kernels cuDNN has is a property of the architecture: `families` below, chosen by search and by hand on
 * KernelBench v01 and v0, eager, above 0.3 ms and beyond L2 (H100 118 rows, L4, L40S and A10 179, A100 54, T4 31). Left
 * out: the H100 SXM's runs of a slower cuDNN, two chains that a softmax or layer norm dominates. The table was chosen
 * on the rows that it is judged by; choosing it anew without a fifth of the shapes, and predicting those, gives these
 * errors of the whole row, mean / median in %, beside those of the table: two axes             transposed three axes
 * transposed Hopper      8 /  5, 12 /  7      9 /  7, 13 / 10       16 / 10, 51 / 28      10 /  3, 12 /  4 A10, Ada 12
 * /  3, 18 /  5     10 /  3, 11 /  5        9 /  9, 17 / 11      13 /  6, 16 / 10 A100       one shape             6 /
 * 5, 13 / 10        9 /  5, 43 /  9      26 / 11, 38 / 39 T4          7 /  5, 34 / 33      7 /  3, 22 / 16       two
 * shapes             8 /  4, 57 / 18 So three axes on Hopper, A100 and everything on FP32 units are interpolations of
 * few shapes. How well the kernels run is the hardware file's convolution_*efficiency. torch.compile stores
 * two-dimensional convolutions channels last: a layout change of each input of the workload and, where the convolution
 * comes last, of its result. Not modelled: cuDNN's choice between engines at single shapes (5 x 9 taps on Ada take four
 * times as long as 3 x 15), tensors beyond 4 GiB (2 to 5 times as long). */
#include "cost/costing.h"
#include "cost/thread_registers.h"

#include <math.h>

/* SM cycles of ATen's depthwise kernel, per output and per tap of each; fitted: KernelBench v01 level 1, H100 (9
 * taps, 3.35 and 2.54 ms), and v0, H100 and A100 (3, 9, 15 taps). */
static const double depthwise_cycles = 1.4, depthwise_tap_cycles = 0.13;
static const double own_gain = 1.3; /* efficiency of kernels whose layout is theirs: the largest last_gain */

typedef enum { PLANES, TRANSPOSED_PLANES, VOLUMES, TRANSPOSED_VOLUMES, KINDS } kind; /* of one axis: as of two */
static const fsim_hw_key efficiency_key[KINDS] = {FSIM_HW_CONVOLUTION, FSIM_HW_CONVOLUTION_TRANSPOSED,
                                                  FSIM_HW_CONVOLUTION_3D, FSIM_HW_CONVOLUTION_TRANSPOSED_3D};
/* Of the FP32 units, where nothing else computes a convolution; fitted: KernelBench v0 on T4. Above 1: Winograd's
 * kernels multiply less. */
static const double efficiency_fp32[KINDS] = {1.1, 0.13, 0.22, 0.16};

typedef struct {
    int moves_in, moves_out;  /* layout changes, each a read and a write of the tensor */
    int last_in;              /* with channels last: as many times its bytes the input is read again */
    double channels, filters; /* of a group, filled up to multiples */
    double strided;   /* a transposed convolution computes the product of its strides to this power times the result */
    double long_sums; /* the efficiency, that of 27 taps, grows with the taps to this power */
    double last_gain; /* with channels last: the efficiency over that behind layout changes; KernelBench v01 and v0,
                         torch.compile */
} implicit_gemm;

typedef struct {
    int sm; /* from this architecture on; the last that fits counts */
    implicit_gemm of[KINDS];
} family;
static const family families[] = {
    {0,
     {{0, 0, 1, 16, 64, 0, 0, 1},
      {0, 0, 0, 16, 1, 0.25, 0, 1},
      {0, 0, 0, 1, 1, 0, 0, 1},
      {0, 1, 0, 32, 1, 0, 0, 1}}}, /* FP32 units */
    {70,
     {{1, 0, 1, 16, 128, 0, 0, 1.3},
      {0, 1, 0, 16, 32, 0.75, 0, 1},
      {1, 1, 0, 8, 64, 0, 0, 1},
      {1, 1, 0, 32, 64, 0.75, 0, 1}}}, /* A100; assumed: Volta, Turing in FP16 */
    {86,
     {{1, 0, 1, 8, 64, 0, 0, 1},
      {0, 1, 0, 32, 32, 0.5, 0, 1},
      {0, 1, 0, 32, 1, 0, 0, 1},
      {1, 1, 0, 32, 128, 0.25, 0.3, 1}}}, /* A10, Ada */
    {90,
     {{0, 1, 0, 16, 128, 0, 0, 1.3},
      {1, 1, 0, 64, 64, 0.75, 0, 1.2},
      {1, 0, 0, 16, 128, 0, 0, 1},
      {0, 1, 0, 32, 64, 0.25, 0.1, 1}}}, /* Hopper; assumed: B200 */
    {120,
     {{1, 0, 1, 8, 64, 0, 0, 1},
      {0, 1, 0, 32, 32, 0.5, 0, 1},
      {0, 1, 0, 32, 1, 0, 0, 1},
      {1, 1, 0, 32, 128, 0.25, 0.3, 1}}}, /* RTX 5090: assumed as Ada */
};
/* Channels last, two axes, one group: no vector is gathered across channels, so that a product of few of them is short
 * and its start and end show: as many more terms of the sum as `start_up`; and memory and arithmetic overlap less, by
 * the norm `exponent`. gain: of the efficiency. Fitted: KernelBench v01 and v0, torch.compile, beside the other
 * kernels' times: H100 SXM and PCIe 22 rows 7 %, L4 and L40S 20 rows 6 % (without start_up, by the 4-norm: 12, 13 %).
 * Other architectures: as `families` say. */
typedef struct {
    int sm;
    double gain, start_up, exponent;
} last_kernel;
static const last_kernel last_kernels[] = {{89, 1.12, 256, 2}, {90, 1.78, 128, 2}, {120, 1.12, 256, 2}};
static const implicit_gemm grouped = {.channels = 16, .filters = 64}; /* at least: a group fills tiles by itself */

/* A convolution as what cuDNN tells apart. */
typedef struct {
    kind kind;
    int axes;
    double groups, pixels, taps, channels,
        filters;    /* channels, filters: of one group; pixels: gathered ones, batch included */
    double strides; /* of a transposed convolution: their product; else 1 */
    bool alone;     /* one tap that meets every element once: a plain matrix product */
    bool tensor;
    double peak_flops; /* of its units, data sheet */
} shape;

/* A convolution gathers its input by windows; */
static void add_windows(shape *s, const fsim_node *n)
{
    s->alone = true;
    for (int i = 0; i < n->arg[0].axes; i++) {
        s->taps *= (double)n->arg[0].axis[i].taps;
        s->alone = s->alone && n->arg[0].axis[i].taps == 1 && n->arg[0].axis[i].stride == 1;
    }
    s->channels = (double)n->gemm.k / s->taps;
}

/* in a transposed one every input pixel meets every tap of every filter once. */
static void add_scattered(shape *s, const fsim_node *n)
{
    s->channels = (double)n->arg[0].distinct / (s->pixels * s->groups);
    s->taps = (double)n->gemm.k / s->channels;
    s->strides = fmax(1, rint((double)n->points / (s->pixels * s->filters * s->groups)));
    s->alone = s->taps == 1 && s->strides == 1;
}

static shape shape_of(const fsim_hw *hw, const fsim_node *n)
{
    const fsim_gemm *m = &n->gemm;
    const bool transposed = n->op >= FSIM_OP_CONV_TRANSPOSE1D;
    shape s = {.axes = (int)n->op - (transposed ? FSIM_OP_CONV_TRANSPOSE1D : FSIM_OP_CONV1D) + 1,
               .groups = (double)m->batch,
               .filters = (double)m->n,
               .taps = 1,
               .strides = 1};
    s.kind = s.axes == 3 ? transposed ? TRANSPOSED_VOLUMES : VOLUMES : transposed ? TRANSPOSED_PLANES : PLANES;
    s.pixels = (double)m->m;
    s.tensor = fsim_tensor_key(hw, m->arithmetic) != FSIM_HW_COUNT;
    s.peak_flops = fsim_dense_peak(hw, m->arithmetic);
    (transposed ? add_scattered : add_windows)(&s, n);
    return s;
}

static implicit_gemm gemm_for(const fsim_hw *hw, const shape *s)
{
    const family *f = &families[s->tensor ? 1 : 0];
    for (size_t i = 1; s->tensor && i < sizeof families / sizeof families[0]; i++)
        if (hw->sm >= families[i].sm)
            f = &families[i];
    implicit_gemm g = f->of[s->kind];
    if (s->tensor && s->groups > 1) {
        g.channels = fmax(g.channels, grouped.channels);
        g.filters = fmax(g.filters, grouped.filters);
    }
    return g;
}

static double efficiency_of(const fsim_hw *hw, const shape *s)
{
    const double typical = s->tensor ? fsim_hw_get(hw, efficiency_key[s->kind]) : efficiency_fp32[s->kind];
    return typical * pow(s->taps / 27, gemm_for(hw, s).long_sums);
}

static double filled(double x, double multiple) { return ceil(x / multiple) * multiple; }

/* Own kernels. */

/* How often a convolution's windows load each element of their input. */
static double window_loads(const fsim_node *n)
{
    double loads = 1;
    for (int i = 0; n->arg[0].how == FSIM_READ_WINDOW && i < n->arg[0].axes; i++)
        loads *= (double)n->arg[0].axis[i].out * (double)n->arg[0].axis[i].taps / (double)n->arg[0].axis[i].extent;
    return fmax(1, loads);
}

/* Share of the data sheet's rate that an own kernel of this convolution reaches: what the library's best kind does once
 * the layout is its own. */
static double own_share(const fsim_hw *hw, const shape *s)
{
    const shape planes = {.kind = PLANES, .taps = 27, .tensor = s->tensor};
    return fmin(1, fmax(efficiency_of(hw, s), efficiency_of(hw, &planes)) * own_gain);
}

typedef struct {
    int m, n;
    bool vendor; /* the library's kernel, not a generated one */
} tile;
static const int tile_sizes[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
                                    {64, 64},   {32, 128},  {128, 32},  {32, 32},  {16, 64}};

static const double best_tile_share = 1.2; /* of tiles of 256 x 128 */

/* What a tile of this size reaches of own_share, relative. */
static double tile_share(int m, int n) { return fmin(best_tile_share, 1 / (1 + 0.33 * (128.0 / m + 128.0 / n - 2))); }

/* The generator's rows are filters, whose weights lie along k; its columns are pixels. Transposed convolutions and few
 * filters are summed up a result a thread: emit/tile.h. */
static void generated_tile(const fsim_costing *c, fsim_kernel *k, const shape *s, int elem_bytes)
{
    enum { FEWEST_FILTERS = 8 };
    const fsim_node *n = &c->g->node[c->group->anchor];
    const fsim_access *x = &n->arg[0];
    const int pixels = k->tile_m, filters = k->tile_n;
    if (x->how != FSIM_READ_WINDOW || s->filters < FEWEST_FILTERS) {
        k->block = FSIM_BLOCK;
        k->shared_bytes = 0;
        k->registers = fsim_direct_registers(c->group->live);
        return;
    }
    const fsim_axis *inner = &x->axis[x->axes - 1];
    bool alone = inner->out % 2 != 0 || inner->extent % 2 != 0 || inner->stride != 1;
    for (int i = 0; i < x->axes; i++)
        alone = alone || x->axis[i].pad > 0 || x->axis[i].taps > 1;
    k->tile_m = filters;
    k->tile_n = pixels;
    fsim_generated_tile(c, k, (fsim_tile_edge){s->filters, n->gemm.k % 2 != 0}, (fsim_tile_edge){s->pixels, alone},
                        s->tensor, elem_bytes);
    k->tile_m = pixels;
    k->tile_n = filters;
}

static fsim_kernel tiled(const fsim_costing *c, const shape *s, tile t, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_node *n = &c->g->node[o->anchor];
    fsim_kernel k = fsim_blank_kernel(c, a);
    const double depth = (double)n->gemm.k, tiles_m = ceil(s->pixels / t.m), tiles_n = ceil(s->filters / t.n),
                 blocks = s->groups * tiles_m * tiles_n;
    const int elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype), stages = s->tensor ? 3 : 2,
              step = s->tensor ? 64 / elem : 8; /* step: elements of k */
    const double one_s =
        2.0 * t.m * t.n * depth / (s->peak_flops / c->sms * fmin(1, own_share(c->hw, s) * tile_share(t.m, t.n)));
    k.template = t.vendor ? FSIM_LIBRARY_CONTRACTION : FSIM_TILED_CONTRACTION;
    k.tile_m = t.m;
    k.tile_n = t.n;
    k.grid = (int64_t)blocks;
    k.block = t.m * t.n >= 8192 ? 256 : 128;
    k.shared_bytes = (t.m + t.n) * step * stages * elem;
    k.registers = (int)fmin(255, t.m * t.n / k.block + 40);
    if (!t.vendor)
        generated_tile(c, &k, s, elem);
    k.flops = 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * depth;
    k.penalised = k.penalised || !t.vendor;
    k.vector = 4;
    fsim_add_arithmetic(c, &k, (const double[2]){tiles_n * window_loads(n), tiles_m},
                        true); /* every column of tiles loads the input, every row the weights */
    fsim_add_memory(
        c, &k, NULL,
        NULL); /* start-up, and what tiles move through L2 and shared memory, are in the efficiency as measured */
    k.unit[FSIM_LATENCY] +=
        250e-9 + depth / 64 * (s->tensor ? 250 : 120) / c->clock; /* a block's k loop when it has an SM to itself */
    if (!fsim_settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += ceil(blocks / c->sms) * one_s;
    fsim_sum_up(c, &k);
    return k;
}

/* Few filters a group: no tile to share, so a thread for each output: a load and a multiply-add each tap. */
static fsim_kernel direct(const fsim_costing *c, const shape *s, bool vendor, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = fsim_blank_kernel(c, a);
    const double products = s->groups * s->pixels * s->filters * (double)n->gemm.k;
    k.template = vendor ? FSIM_LIBRARY_CONTRACTION : FSIM_TILED_CONTRACTION;
    k.grid = (n->points + FSIM_BLOCK - 1) / FSIM_BLOCK;
    k.registers = fsim_registers(c->group->live, 1);
    k.flops = 2 * products;
    fsim_add_arithmetic(c, &k, (const double[2]){window_loads(n), 1}, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    k.unit[FSIM_ISSUE] += 2 * products / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_COMPUTE] += products / fsim_pipe_rate(c, FSIM_F32);
    if (fsim_settle(c, &k, 1))
        fsim_sum_up(c, &k);
    k.penalised = true;
    return k;
}

static bool is_direct(const fsim_gemm *m) { return m->batch > 1 && m->n < 16; }

fsim_kernel fsim_convolution(const fsim_costing *c, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const shape s = shape_of(c->hw, n);
    const bool library = fsim_library_can(c);
    fsim_kernel best = {0};
    if (is_direct(&n->gemm))
        return direct(c, &s, library, a);
    for (int vendor = library; vendor >= 0; vendor--) /* the vendor's where both take as long */
        for (size_t t = 0; t < sizeof tile_sizes / sizeof tile_sizes[0]; t++) {
            tile size = {tile_sizes[t][0], tile_sizes[t][1], vendor};
            while (size.n < c->group->whole_row)
                size.n *= 2;
            const fsim_kernel k = tiled(c, &s, size, a);
            if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                best = k;
        }
    return best;
}

double fsim_least_convolution_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const shape s = shape_of(hw, &g->node[node]);
    double rate = s.peak_flops * fmin(1, own_share(hw, &s) * best_tile_share);
    if (is_direct(m))
        rate =
            2 * fsim_hw_get(hw, FSIM_HW_SMS) * fsim_hw_get(hw, FSIM_HW_SM_CLOCK) * fsim_hw_get(hw, FSIM_HW_FP32_RATE);
    return 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k / rate;
}

/* What frameworks launch. */

/* Seconds of the matrix product alone, tiles filled up. gain: of the kernel's efficiency. */
static double product_s(const fsim_costing *c, const shape *s, const implicit_gemm *g, double gain)
{
    const double flops = 2 * s->groups * s->pixels * s->taps * filled(s->channels, g->channels) *
                         filled(s->filters, g->filters) * pow(s->strides, g->strided);
    const double blocks =
        s->groups * ceil(s->pixels / 64) * ceil(s->filters / 64); /* of the smallest tile: fewer leave SMs idle */
    return flops / (s->peak_flops * fmin(1.2, efficiency_of(c->hw, s) * gain)) * fmax(1, c->sms / blocks);
}

/* Bytes that move between DRAM and the SMs, or L2 and the SMs where that holds them, in seconds. */
static double streamed_s(const fsim_costing *c, double dram_bytes, double l2_bytes)
{
    const double dram = fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    return dram_bytes / dram + l2_bytes / fmax(dram, fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH), 3 * dram));
}

/* `times` reads or writes of a tensor that the kernel before, or after, holds in L2 as far as it fits. */
static double again_s(const fsim_costing *c, double bytes, double times)
{
    const double missed =
        fmin(1, fmax(0, 2 * bytes / c->l2_bytes - 1)); /* assumed: all of it is found again up to half the capacity */
    return streamed_s(c, times * bytes * missed, times * bytes * (1 - missed));
}

static double compulsory_s(const fsim_costing *c, const fsim_kernel *k)
{
    double bytes = 0;
    for (int i = 0; i < k->inputs; i++)
        bytes += (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        bytes += (double)k->output[i].bytes;
    const double dram = (double)(k->dram_read_bytes + k->dram_write_bytes);
    return streamed_s(c, dram, fmax(0, bytes - dram));
}

/* The steps of a convolution, one after the other: layout changes, and a kernel whose memory and arithmetic overlap by
 * the norm `exponent`. */
static fsim_kernel in_steps(const fsim_costing *c, fsim_kernel k, int changes, double changing_s, fsim_unit busy,
                            double busy_s, double exponent)
{
    const double memory = pow(compulsory_s(c, &k), exponent), both = memory + pow(busy_s, exponent),
                 overlapped = pow(both, 1 / exponent);
    const double share = both > 0 ? memory / both : 0;
    k.launches = 1 + changes;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        k.unit[u] = k.time[u] = 0;
    k.unit[FSIM_DRAM] = changing_s + overlapped * share;
    k.unit[busy] = overlapped * (1 - share);
    fsim_sum_up_by(c, &k, 1);
    return k;
}

/* Does torch.compile store this convolution channels last? It does where there are two axes, and no groups but those of
 * a depthwise convolution. */
static bool stored_last(const shape *s) { return s->axes == 2 && (s->groups == 1 || s->channels == 1); }

/* The kernel for that, where it is known to differ; NULL. */
static const last_kernel *last_kernel_for(const fsim_hw *hw, const shape *s)
{
    const last_kernel *found = NULL;
    for (size_t i = 0; s->kind == PLANES && s->tensor && s->groups == 1 && !s->alone &&
                       i < sizeof last_kernels / sizeof last_kernels[0];
         i++)
        if (hw->sm >= last_kernels[i].sm)
            found = &last_kernels[i];
    return found;
}

typedef struct {
    int count;
    double seconds;
} changes;

static changes changes_of(const fsim_costing *c, const shape *s, const implicit_gemm *g, bool last)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const fsim_tensor *in = &c->g->tensor[n->arg[0].tensor], *out = &c->g->tensor[n->result[0]];
    const bool direct = s->alone || s->channels == 1; /* no layout suits these better */
    int moves_in = direct ? 0 : g->moves_in, moves_out = direct ? 0 : g->moves_out;
    if (last) {
        moves_in = in->producer < 0;
        moves_out = out->output && out->readers == 0;
    }
    changes x = {moves_in + moves_out,
                 again_s(c, (double)in->bytes, 2 * moves_in) + again_s(c, (double)out->bytes, 2 * moves_out)};
    if (last && !direct && !last_kernel_for(c->hw, s))
        x.seconds += again_s(c, (double)in->bytes, 2 * g->last_in);
    return x;
}

fsim_kernel fsim_framework_convolution(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const shape s = shape_of(c->hw, n);
    const implicit_gemm g = gemm_for(c->hw, &s);
    const bool last = maker == FSIM_BY_INDUCTOR && stored_last(&s), depthwise = s.groups > 1 && s.channels == 1;
    const changes x = changes_of(c, &s, &g, last);
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.template = FSIM_LIBRARY_CONTRACTION;
    k.grid = own->grid;
    k.block = own->block;
    k.registers = own->registers;
    k.shared_bytes = own->shared_bytes;
    k.tile_m = own->tile_m;
    k.tile_n = own->tile_n;
    k.flops = own->flops;
    fsim_add_memory(c, &k, NULL, NULL);
    if (!fsim_settle(c, &k, 1))
        return *own;
    if (depthwise)
        return in_steps(c, k, x.count, x.seconds, FSIM_ISSUE,
                        (double)n->points * (s.taps * depthwise_tap_cycles + (last ? 0 : depthwise_cycles)) /
                            (c->sms * c->clock),
                        4);
    const last_kernel *own_way = last ? last_kernel_for(c->hw, &s) : NULL;
    if (own_way) {
        const double terms = s.taps * filled(s.channels, g.channels);
        return in_steps(c, k, x.count, x.seconds, FSIM_COMPUTE,
                        product_s(c, &s, &g, own_way->gain) * (1 + own_way->start_up / terms), own_way->exponent);
    }
    return in_steps(c, k, x.count, x.seconds, FSIM_COMPUTE, product_s(c, &s, &g, last ? g.last_gain : 1), 4);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cudnn.c: convolutions as cuDNN runs them, and the layout changes that frameworks make for it.
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
#include "cost/convolution.h"
#include "vendor/kernels.h"
#include "vendor/library.h"

#include <math.h>

/* SM cycles of ATen's depthwise kernel, per output and per tap of each; fitted: KernelBench v01 level 1, H100 (9
 * taps, 3.35 and 2.54 ms), and v0, H100 and A100 (3, 9, 15 taps). */
static const double depthwise_cycles = 1.4, depthwise_tap_cycles = 0.13;
typedef struct {
    int moves_in, moves_out;  /* layout changes, each a read and a write of the tensor */
    int last_in;              /* with channels last: as many times its bytes the input is read again */
    double channels, filters; /* of a group, filled up to multiples */
    double strided;   /* a transposed convolution computes the product of its strides to this power times the result */
    double last_gain; /* with channels last: the efficiency over that behind layout changes; KernelBench v01 and v0,
                         torch.compile */
} implicit_gemm;

typedef struct {
    int sm; /* from this architecture on; the last that fits counts */
    implicit_gemm of[FSIM_CONVOLUTION_KINDS];
} family;
static const family families[] = {
    {0,
     {{0, 0, 1, 16, 64, 0, 1},
      {0, 0, 0, 16, 1, 0.25, 1},
      {0, 0, 0, 1, 1, 0, 1},
      {0, 1, 0, 32, 1, 0, 1}}}, /* FP32 units */
    {70,
     {{1, 0, 1, 16, 128, 0, 1.3},
      {0, 1, 0, 16, 32, 0.75, 1},
      {1, 1, 0, 8, 64, 0, 1},
      {1, 1, 0, 32, 64, 0.75, 1}}}, /* A100; assumed: Volta, Turing in FP16 */
    {86,
     {{1, 0, 1, 8, 64, 0, 1},
      {0, 1, 0, 32, 32, 0.5, 1},
      {0, 1, 0, 32, 1, 0, 1},
      {1, 1, 0, 32, 128, 0.25, 1}}}, /* A10, Ada */
    {90,
     {{0, 1, 0, 16, 128, 0, 1.3},
      {1, 1, 0, 64, 64, 0.75, 1.2},
      {1, 0, 0, 16, 128, 0, 1},
      {0, 1, 0, 32, 64, 0.25, 1}}}, /* Hopper; assumed: B200 */
    {120,
     {{1, 0, 1, 8, 64, 0, 1},
      {0, 1, 0, 32, 32, 0.5, 1},
      {0, 1, 0, 32, 1, 0, 1},
      {1, 1, 0, 32, 128, 0.25, 1}}}, /* RTX 5090: assumed as Ada */
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

static implicit_gemm gemm_for(const fsim_hw *hw, const fsim_convolution_shape *s)
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

static double filled(double x, double multiple) { return ceil(x / multiple) * multiple; }

/* As fusesim's plans call it: in a layout that is the plan's own. */
fsim_kernel fsim_cudnn_kernel(const fsim_costing *c, fsim_arena *a)
{
    return fsim_library_can(c->g, c->hw, c->group) ? fsim_convolution(c, FSIM_LIBRARY_CONTRACTION, a)
                                                   : (fsim_kernel){0};
}

/* As frameworks call it. */

/* Seconds of the matrix product alone, tiles filled up. gain: of the kernel's efficiency. */
static double product_s(const fsim_costing *c, const fsim_convolution_shape *s, const implicit_gemm *g, double gain)
{
    const double flops = 2 * s->groups * s->pixels * s->taps * filled(s->channels, g->channels) *
                         filled(s->filters, g->filters) * pow(s->strides, g->strided);
    const double blocks =
        s->groups * ceil(s->pixels / 64) * ceil(s->filters / 64); /* of the smallest tile: fewer leave SMs idle */
    return flops / (s->peak_flops * fmin(1.2, fsim_convolution_efficiency(c->hw, s) * gain)) * fmax(1, c->sms / blocks);
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
static bool stored_last(const fsim_convolution_shape *s)
{
    return s->axes == 2 && (s->groups == 1 || s->channels == 1);
}

/* The kernel for that, where it is known to differ; NULL. */
static const last_kernel *last_kernel_for(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    const last_kernel *found = NULL;
    for (size_t i = 0; s->kind == FSIM_PLANES && s->tensor && s->groups == 1 && !s->alone &&
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

static changes changes_of(const fsim_costing *c, const fsim_convolution_shape *s, const implicit_gemm *g, bool last)
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
    const fsim_convolution_shape s = fsim_convolution_shape_of(c->hw, n);
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

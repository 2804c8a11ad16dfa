/* SPDX-License-Identifier: Apache-2.0 */
/* cudnn.c: convolutions as cuDNN runs them, and the layout changes that frameworks make for it.
 *
 * cuDNN computes most convolutions as a matrix product that gathers its first operand (implicit GEMM). Its kernels want
 * channels last. On tensors with channels first it launches a layout change before, after, or both. The kernels take
 * whole vectors of input channels and whole tiles of filters:
 *
 *     time    = launches + 2 (moves_in x input + moves_out x result) / bandwidth + norm_4(memory, product)
 *     memory  = bytes / bandwidth
 *     product = 2 m n' k' strides^s / (efficiency x peak)
 *
 * n' and k': filters and channels x taps, filled up. s: what of a transposed convolution's strides is computed in vain;
 * nothing where windows do not overlap (fsim_convolution_shape.windows_apart).
 * Which kernels cuDNN has is a property of the architecture: cudnn.def. How well they run is the hardware file's
 * convolution_*efficiency. docs/MODEL.md has the errors on rows that were left out of the choice.
 *
 * torch.compile stores two-dimensional convolutions channels last: it changes the layout of each input of the workload
 * and, where the convolution comes last, of its result; in each call also that of filters of several taps (PyTorch,
 * torch/_inductor/kernel/conv.py, which says that it might do this just once).
 *
 * Not modelled: cuDNN's choice between engines at single shapes (5 x 9 taps on Ada take four times as long as 3 x 15);
 * tensors beyond 4 GiB (2 to 5 times as long). */
#include "cost/constants.h"
#include "cost/convolution.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"
#include "vendor/library.h"
#include "vendor/triton.h"

#include <math.h>

/* A row of cudnn.def; docs there. */
typedef struct {
    int sm;
    fsim_convolution_kind kind;
    int moves_in, moves_out, last_in;
    double channels, filters, strided, last_gain;
} implicit_gemm;
static const implicit_gemm families[] = {
#define FSIM_CUDNN_FAMILY(sm, kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain, source)       \
    {sm, FSIM_##kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain},
#define FSIM_CUDNN_LAST(sm, gain, start_up, exponent, source)
#include "vendor/cudnn.def"
#undef FSIM_CUDNN_FAMILY
#undef FSIM_CUDNN_LAST
};
typedef struct {
    int sm;
    double gain, start_up, exponent;
} last_kernel;
static const last_kernel last_kernels[] = {
#define FSIM_CUDNN_FAMILY(sm, kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain, source)
#define FSIM_CUDNN_LAST(sm, gain, start_up, exponent, source) {sm, gain, start_up, exponent},
#include "vendor/cudnn.def"
#undef FSIM_CUDNN_FAMILY
#undef FSIM_CUDNN_LAST
};

/* The last row that fits. On tensor units, the first rows are used for older architectures and other vendors too. */
static implicit_gemm gemm_for(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    enum { FP32_UNITS = 0 };
    implicit_gemm g = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const bool tensor = families[i].sm != FP32_UNITS;
        if (families[i].kind == s->kind && tensor == s->tensor && (!found || hw->sm >= families[i].sm)) {
            g = families[i];
            found = true;
        }
    }
    if (s->tensor && s->groups > 1) {
        g.channels = fmax(g.channels, cudnn_grouped_channels);
        g.filters = fmax(g.filters, cudnn_grouped_filters);
    }
    return g;
}

static double filled(double x, double multiple) { return ceil(x / multiple) * multiple; }

/* As called by fusesim's plans: in the layout that the plan chooses. */
fsim_kernel fsim_cudnn_kernel(const fsim_costing *c, fsim_arena *a)
{
    return fsim_library_can(c->g, c->hw, c->group) ? fsim_convolution(c, FSIM_LIBRARY_CONTRACTION, a)
                                                   : (fsim_kernel){0};
}

/* As frameworks call it. */

/* Seconds of the matrix product alone, with partly filled tiles counted as full. gain: factor on the kernel's
 * efficiency. */
static double product_s(const fsim_costing *c, const fsim_convolution_shape *s, const implicit_gemm *g, double gain)
{
    const double flops = 2 * s->groups * s->pixels * s->taps * filled(s->channels, g->channels) *
                         filled(s->filters, g->filters) * pow(s->strides, g->strided);
    const double splits = fmax(1, floor(s->taps * s->channels / conv_least_terms)),
                 blocks = s->groups * ceil(s->pixels / cudnn_smallest_tile) * ceil(s->filters / cudnn_smallest_tile) *
                          splits; /* in units of the smallest tile; with fewer, SMs are idle */
    return flops / (s->peak_flops * fmin(cudnn_most_efficiency, fsim_convolution_efficiency(c->hw, s) * gain)) *
           (s->sums_pixels ? 1 : fmax(1, c->sms / blocks));
}

double fsim_streamed_s(const fsim_costing *c, double dram_bytes, double l2_bytes)
{
    const double dram = fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    return dram_bytes / dram +
           l2_bytes / fmax(dram, fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH), cudnn_l2_over_dram * dram));
}

double fsim_missed_again(const fsim_costing *c, double bytes) { return fmin(1, fmax(0, 2 * bytes / c->l2_bytes - 1)); }

/* Seconds of `times` reads or writes of a tensor that the kernel before or after leaves in L2 as far as it fits. */
static double again_s(const fsim_costing *c, double bytes, double times)
{
    const double missed = fsim_missed_again(c, bytes);
    return fsim_streamed_s(c, times * bytes * missed, times * bytes * (1 - missed));
}

static double compulsory_s(const fsim_costing *c, const fsim_kernel *k)
{
    double bytes = 0;
    for (int i = 0; i < k->inputs; i++)
        bytes += (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        bytes += (double)k->output[i].bytes;
    const double dram = (double)(k->dram_read_bytes + k->dram_write_bytes);
    return fsim_streamed_s(c, dram, fmax(0, bytes - dram));
}

/* Kernels that change a layout. */
typedef struct {
    int count;
    double seconds;
} changes;

/* The steps of a convolution one after the other: changes of layout, and a kernel whose memory and arithmetic
 * overlap by a norm with this exponent. */
static fsim_kernel in_steps(const fsim_costing *c, fsim_kernel k, changes x, fsim_unit busy, double busy_s,
                            double exponent)
{
    const double memory = pow(compulsory_s(c, &k), exponent), both = memory + pow(busy_s, exponent),
                 overlapped = pow(both, 1 / exponent);
    const double share = both > 0 ? memory / both : 0;
    k.launches = 1 + x.count;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        k.unit[u] = k.time[u] = 0;
    k.unit[FSIM_DRAM] = x.seconds + overlapped * share;
    k.unit[busy] = overlapped * (1 - share);
    fsim_sum_up_by(c, &k, 1);
    return k;
}

/* Does torch.compile store this convolution channels last? It does for two axes, without groups or for depthwise
 * convolutions. */
static bool stored_last(const fsim_convolution_shape *s)
{
    return s->axes == 2 && (s->groups == 1 || s->channels == 1);
}

/* The kernel for channels last, where it is known to differ; otherwise NULL. */
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

/* Convolutions of single elements (1 x 1) in groups of several channels are no one matrix product. On graphics boards
 * cuDNN's kernels for them take channels first, as eager stores them; on others, and wherever torch.compile stores the
 * graph channels last, input and result change their layout: on A100 and Ada what KernelBench's ShuffleNetUnit (l3/025)
 * took longer was these changes' bytes within 15 %. */
static bool turns_groups(const fsim_costing *c, const fsim_convolution_shape *s, fsim_maker maker)
{
    const fsim_design d = c->hw->arch->design;
    const bool graphics = d == FSIM_AMPERE_GRAPHICS || d == FSIM_ADA || d == FSIM_BLACKWELL_GRAPHICS;
    const bool last = maker == FSIM_BY_INDUCTOR && s->axes == 2 && fsim_channels_last(c->g);
    return s->tensor && s->alone && s->groups > 1 && s->channels > 1 && (last || !graphics);
}

static changes changes_of(const fsim_costing *c, const fsim_convolution_shape *s, const implicit_gemm *g, bool last,
                          bool turned)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const fsim_tensor *in = &c->g->tensor[n->arg[0].tensor], *out = &c->g->tensor[n->result[0]];
    const bool direct = s->alone || s->channels == 1; /* no layout suits these better */
    int moves_in = turned ? 1 : direct ? 0 : g->moves_in, moves_out = turned ? 1 : direct ? 0 : g->moves_out;
    if (last) {
        moves_in = in->producer < 0;
        moves_out = out->output && out->readers == 0;
    }
    changes x = {moves_in + moves_out,
                 again_s(c, (double)in->bytes, 2 * moves_in) + again_s(c, (double)out->bytes, 2 * moves_out)};
    if (last && !direct && s->taps > 1) {
        x.count++;
        x.seconds += again_s(c, (double)n->arg[1].distinct * fsim_dtype_bytes(c->g->tensor[n->arg[1].tensor].dtype), 2);
    }
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
    const changes x = changes_of(c, &s, &g, last, turns_groups(c, &s, maker));
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
        return in_steps(c, k, x, FSIM_ISSUE,
                        (double)n->points * (s.taps * depthwise_tap_cycles + (last ? 0 : depthwise_output_cycles)) /
                            (c->sms * c->clock),
                        cudnn_exponent);
    const last_kernel *own_way = last ? last_kernel_for(c->hw, &s) : NULL;
    if (own_way) {
        const double terms = s.taps * filled(s.channels, g.channels);
        return in_steps(c, k, x, FSIM_COMPUTE, product_s(c, &s, &g, own_way->gain) * (1 + own_way->start_up / terms),
                        own_way->exponent);
    }
    return in_steps(c, k, x, FSIM_COMPUTE, product_s(c, &s, &g, last ? g.last_gain : 1), cudnn_exponent);
}

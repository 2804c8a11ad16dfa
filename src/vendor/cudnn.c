/* SPDX-License-Identifier: Apache-2.0 */
/* cudnn.c: convolutions as cuDNN runs them, and the layout changes that are made for it.
 *
 * cuDNN's products (cost/implicit_gemm.h) want channels last. On tensors with channels first it launches a layout
 * change before, after, or both.
 *
 *     time    = launches + 2 (moves_in x input + moves_out x result) / bandwidth + norm_3(memory, product)
 *     memory  = bytes / bandwidth
 *
 * One call has one price: a plan of fusesim that calls cuDNN takes the faster of the two ways in which frameworks were
 * measured to, with channels first or last.
 *
 * torch.compile stores two-dimensional convolutions channels last: it changes the layout of each input of the workload
 * and, where the convolution comes last, of its result; in each call also that of filters of several taps (PyTorch,
 * torch/_inductor/kernel/conv.py, which says that it might do this just once).
 *
 * Not modelled: cuDNN's choice between engines at single shapes (5 x 9 taps on Ada take four times as long as 3 x 15);
 * tensors beyond 4 GiB (2 to 5 times as long). */
#include "cost/constants.h"
#include "cost/convolution.h"
#include "cost/implicit_gemm.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"
#include "vendor/library.h"
#include "vendor/triton.h"

#include <math.h>

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

/* laid_out: the filters are stored as the kernel wants them. */
static changes changes_of(const fsim_costing *c, const fsim_convolution_shape *s, bool last, bool turned, bool laid_out)
{
    const fsim_implicit_gemm g = fsim_implicit_gemm_of(c->hw, s);
    const fsim_node *n = &c->g->node[c->group->anchor];
    const fsim_tensor *in = &c->g->tensor[n->arg[0].tensor], *out = &c->g->tensor[n->result[0]];
    const bool direct = s->alone || s->channels == 1; /* no layout suits these better */
    int moves_in = turned ? 1 : direct ? 0 : g.moves_in, moves_out = turned ? 1 : direct ? 0 : g.moves_out;
    if (last) {
        moves_in = in->producer < 0;
        moves_out = out->output && out->readers == 0;
    }
    changes x = {moves_in + moves_out,
                 again_s(c, (double)in->bytes, 2 * moves_in) + again_s(c, (double)out->bytes, 2 * moves_out)};
    if (last && !laid_out && !direct && s->taps > 1) {
        x.count++;
        x.seconds += again_s(c, (double)n->arg[1].distinct * fsim_dtype_bytes(c->g->tensor[n->arg[1].tensor].dtype), 2);
    }
    if (last && !direct && !fsim_last_kernel_of(c->hw, s))
        x.seconds += again_s(c, (double)in->bytes, 2 * g.last_in);
    return x;
}

static bool is_depthwise(const fsim_convolution_shape *s) { return s->groups > 1 && s->channels == 1; }

static double depthwise_s(const fsim_costing *c, const fsim_convolution_shape *s, bool last)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const double products = s->groups * s->pixels * (double)n->gemm.n * (double)n->gemm.k,
                 cycles = (double)n->points * (s->taps * depthwise_tap_cycles + (last ? 0 : depthwise_output_cycles));
    return fmax(cycles / (c->sms * c->clock), products / fsim_pipe_rate(c, FSIM_F32));
}

fsim_kernel fsim_framework_convolution(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const fsim_convolution_shape s = fsim_convolution_shape_of(c->hw, n);
    const bool last = maker == FSIM_BY_INDUCTOR && fsim_stored_last(&s);
    const changes x = changes_of(c, &s, last, turns_groups(c, &s, maker), false);
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
    if (is_depthwise(&s))
        return in_steps(c, k, x, FSIM_ISSUE, depthwise_s(c, &s, last), KERNEL_EXPONENT);
    const fsim_last_kernel *own_way = last ? fsim_last_kernel_of(c->hw, &s) : NULL;
    if (own_way) {
        return in_steps(c, k, x, FSIM_COMPUTE, fsim_implicit_gemm_s(c->hw, &s, true), own_way->exponent);
    }
    return in_steps(c, k, x, FSIM_COMPUTE, fsim_implicit_gemm_s(c->hw, &s, last), KERNEL_EXPONENT);
}

/* A plan of ours: filters may be stored in any layout, since they are the same in each call. */
static fsim_kernel called(const fsim_costing *c, const fsim_convolution_shape *s, bool last, fsim_arena *a)
{
    const changes x = changes_of(c, s, last, turns_groups(c, s, last ? FSIM_BY_INDUCTOR : FSIM_BY_ATEN), true);
    const fsim_last_kernel *own_way = last ? fsim_last_kernel_of(c->hw, s) : NULL;
    const fsim_convolution_steps steps = {
        .product_s = is_depthwise(s) ? depthwise_s(c, s, last) : fsim_implicit_gemm_s(c->hw, s, last),
        .changes = x.count,
        .changes_s = x.seconds,
        .exponent = own_way && !is_depthwise(s) ? own_way->exponent : KERNEL_EXPONENT};
    return fsim_convolution_call(c, s, steps, a);
}

fsim_kernel fsim_cudnn_kernel(const fsim_costing *c, fsim_arena *a)
{
    if (!fsim_library_can(c->g, c->hw, c->group))
        return (fsim_kernel){0};
    if (c->hw->host || c->hw->arch->plain) /* other libraries, of which no row is known */
        return fsim_convolution(c, FSIM_LIBRARY_CONTRACTION, a);
    const fsim_convolution_shape s = fsim_convolution_shape_of(c->hw, &c->g->node[c->group->anchor]);
    const fsim_kernel first = called(c, &s, false, a),
                      last = fsim_stored_last(&s) ? called(c, &s, true, a) : (fsim_kernel){0};
    return last.time_s > 0 && last.time_s < first.time_s ? last : first;
}

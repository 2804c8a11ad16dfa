/* SPDX-License-Identifier: Apache-2.0 */
/* efficient_attention.c: attention with heads that are too wide for the flash kernels, or with a bias or a mask of its
 * own, which these do not take. PyTorch then calls the memory-efficient kernel (CUTLASS, from xFormers). Where values
 * are wider than 128, a block has few queries, and keeps its sums in memory, in 32 bits, where each step adds to them;
 * otherwise they are in registers. */
#include "cost/chain.h"
#include "cost/product.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"

#include <math.h>
#include <string.h>

/* What the blocks move: L2 serves all of it; DRAM what the sums of the blocks under way leave no room for. */
typedef struct {
    double rows, step, blocks, steps, flops, l2_bytes, sums_bytes, missed; /* rows: of a block; step: its keys */
} efficient_work;

static efficient_work work_of(const fsim_costing *c, const fsim_chain_shape *s)
{
    const bool narrow = s->results <= EFFICIENT_KEYS;
    const double rows = narrow ? EFFICIENT_NARROW_ROWS : EFFICIENT_ROWS,
                 step = s->results <= EFFICIENT_NARROW_ROWS ? EFFICIENT_NARROW_ROWS : EFFICIENT_KEYS,
                 causal = s->causal > 0 ? fmin(1, (s->causal + rows + step) / (2 * s->causal)) : 1;
    efficient_work w = {.rows = rows, .step = step, .blocks = s->batch * ceil(s->m / rows)};
    w.steps = fmax(1, ceil(s->width / step) * causal);
    const double keys = w.steps * step, e = s->elem_bytes, sums = narrow ? 0 : rows * s->results * 4; /* of a block */
    w.flops = w.blocks * 2 * rows * keys * (s->k + s->results);
    w.sums_bytes = w.blocks * 2 * (w.steps - 1) * sums;
    w.l2_bytes =
        w.blocks * ((w.steps * rows * s->k + keys * (s->k + s->results)) + rows * s->results) * e + w.sums_bytes;
    for (int i = 0; i < c->group->reads; i++) /* a bias */
        w.l2_bytes += c->group->read[i].operand < 0 ? c->read[i].request_bytes : 0;
    w.missed = fmin(1, fmax(0, fmin(w.blocks, c->sms * EFFICIENT_BLOCKS) * sums / c->l2_bytes - 1));
    return w;
}

/* The share of the data sheet's rate. The kernel has no instructions for warp groups. */
static double tensor_share(const fsim_hw *hw)
{
    const bool warp_groups = hw->arch->design == FSIM_HOPPER || hw->arch->design == FSIM_BLACKWELL;
    return efficient_share * (warp_groups ? efficient_warp_share : 1);
}

fsim_kernel fsim_efficient_attention(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_chain_shape s = fsim_chain_shape_of(c->g, c->group, true);
    const efficient_work w = work_of(c, &s);
    const double l2 = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH),
                                   fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH) * attention_l2_over_dram);
    const double sums_s = fsim_dram_seconds(c->hw, w.missed * w.sums_bytes / 2, w.missed * w.sums_bytes / 2);
    fsim_kernel k = *own;
    memset(k.unit, 0, sizeof k.unit);
    memset(k.time, 0, sizeof k.time);
    k.tile_m = (int)w.rows;
    k.tile_n = (int)w.step;
    k.split_k = k.launches = 1;
    fsim_forget_blocks(&k, (int64_t)w.blocks, 0);
    k.block = (int)(w.rows * w.step / 32);
    k.l2_bytes = w.l2_bytes;
    fsim_attention_bytes(c, 1, &k, a); /* neighbouring blocks read the same keys in step: DRAM serves them once */
    k.unit[FSIM_DRAM] = fsim_dram_seconds(c->hw, (double)k.dram_read_bytes, (double)k.dram_write_bytes) + sums_s;
    k.dram_read_bytes += (int64_t)(w.missed * w.sums_bytes / 2);
    k.dram_write_bytes += (int64_t)(w.missed * w.sums_bytes / 2);
    k.unit[FSIM_L2] = w.l2_bytes / (l2 * efficient_l2_share);
    k.unit[FSIM_COMPUTE] =
        w.flops / (fsim_dense_peak(c->hw, c->g->node[c->group->anchor].gemm.arithmetic) * tensor_share(c->hw));
    fsim_sum_up(c, &k);
    return k;
}

/* A product of the chain by the library. */
static double product_s(const fsim_costing *c, const fsim_chain_shape *s, double n, double k)
{
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, c->g->node[c->group->anchor].gemm.arithmetic);
    fsim_gemm_shape g = {.batch = s->batch,
                         .m = s->m,
                         .n = n,
                         .k = k,
                         .operand_bytes = {s->batch * s->m * k * s->elem_bytes, s->batch * k * n * s->elem_bytes},
                         .result_bytes = s->batch * s->m * n * s->elem_bytes,
                         .elem_bytes = (int)s->elem_bytes,
                         .whole = true};
    g.dram_bytes = g.operand_bytes[0] + g.operand_bytes[1] + g.result_bytes;
    const fsim_gemm_time t = fsim_gemm_best(&d, &g);
    return t.busy_s + t.extra_s;
}

double fsim_attention_apart_s(const fsim_costing *c)
{
    enum { KERNELS = 3 };
    const fsim_chain_shape s = fsim_chain_shape_of(c->g, c->group, true);
    const double scores = s.batch * s.m * s.width * s.elem_bytes;
    return product_s(c, &s, s.width, s.k) + product_s(c, &s, s.results, s.width) +
           fsim_dram_seconds(c->hw, scores, scores) + KERNELS * fsim_least_launch_s(c->hw, c->regime);
}

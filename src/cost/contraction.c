/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/costing.h"

#include <math.h>

/* The device's dense rate for this arithmetic, FLOP/s, and how much of it a long contraction keeps. */
double fsim_contraction_rate(const fsim_costing *c, fsim_dtype t, double *efficiency, bool *tensor)
{
    static const struct {
        fsim_dtype t;
        fsim_hw_key key;
    } unit[] = {{FSIM_F16, FSIM_HW_TENSOR_F16},   {FSIM_BF16, FSIM_HW_TENSOR_BF16}, {FSIM_TF32, FSIM_HW_TENSOR_TF32}, {FSIM_F8E4M3, FSIM_HW_TENSOR_F8},
                {FSIM_F8E5M2, FSIM_HW_TENSOR_F8}, {FSIM_I8, FSIM_HW_TENSOR_I8},     {FSIM_U8, FSIM_HW_TENSOR_I8},     {FSIM_F64, FSIM_HW_TENSOR_F64}};
    *tensor = false;
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        if (unit[i].t == t && fsim_hw_has(c->hw, unit[i].key)) {
            *tensor = true;
            *efficiency = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_CONTRACTION_TENSOR), 1);
            return fsim_hw_get(c->hw, unit[i].key);
        }
    *efficiency = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_CONTRACTION_FP32), 1);
    if (t == FSIM_F64)
        return fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_FP64_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK) / 32);
    if (t == FSIM_F16)
        return fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_FP16_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK));
    return fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK);
}

/* Steps of k that a block's start and end take as long as. */
double fsim_startup_of(bool tensor) { return tensor ? 240 : 10; }

typedef struct {
    int m, n;
} tile_size;
static const tile_size tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {32, 128}, {128, 32}, {32, 32}, {16, 64}};

/* The vendor's library adds a bias vector and a unary activation, nothing else. */
bool fsim_library_can(const fsim_costing *c)
{
    const fsim_group *o = c->group;
    const fsim_gemm *m = &c->g->node[o->anchor].gemm;
    int vectors = 0;
    if (!fsim_map_is_identity(&o->anchor_map) || o->writes > 1 || o->contractions > 1 || o->whole_row > 0)
        return false;
    for (int i = 0; i < o->members; i++) { /* a transposed or strided operand is an argument of the call */
        const fsim_class class = fsim_ops[c->g->node[o->member[i].node].op].class;
        if (o->member[i].node != o->anchor && class != (o->member[i].prologue ? FSIM_PERMUTE : FSIM_ELEMENTWISE))
            return false;
    }
    for (int i = 0; i < o->reads; i++) {
        if (o->read[i].operand >= 0)
            continue;
        if (c->g->tensor[o->read[i].tensor].elems > m->n * m->batch)
            return false;
        vectors++;
    }
    return vectors <= 1;
}

/* The kernel's contraction; those side by side are one with all their columns. */
static fsim_gemm gemm_of(const fsim_costing *c)
{
    fsim_gemm g = c->g->node[c->group->anchor].gemm;
    for (int i = 0; i < c->group->members && c->group->contractions > 1; i++)
        if (c->group->member[i].node != c->group->anchor)
            g.n += c->g->node[c->group->member[i].node].gemm.n;
    return g;
}

/* Tiles across: each holds columns of one of the contractions, or as many of each. */
static double tiles_across(const fsim_costing *c, int tile_n)
{
    double across = 0;
    for (int i = 0; i < c->group->members; i++)
        across += ceil((double)c->g->node[c->group->member[i].node].gemm.n / tile_n);
    return across;
}

typedef struct {
    bool vendor; /* the library's kernel, not a generated one */
    tile_size tile;
    int split;
} contraction_choice;

/* A contraction with one tile and split: rounds of blocks over the SMs, each a k loop with a start-up; operands from L2 for every tile, from DRAM once
 * unless both outgrow L2. */
static fsim_kernel tiled(const fsim_costing *c, contraction_choice choice, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_node *n = &c->g->node[o->anchor];
    const fsim_gemm whole = gemm_of(c), *g = &whole;
    fsim_kernel k = fsim_blank_kernel(c, a);
    bool tensor;
    double e0;
    const double rate = fsim_contraction_rate(c, g->arithmetic, &e0, &tensor) / c->sms, bm = choice.tile.m, bn = choice.tile.n;
    const double tiles_m = ceil((double)g->m / bm), tiles_n = tiles_across(c, choice.tile.n), kk = (double)g->k / choice.split;
    const double blocks = (double)g->batch * tiles_m * tiles_n * choice.split;
    const double e = fmin(1, e0 / (1 + (tensor ? 0.33 : 0.1) * (128 / bm + 128 / bn - 2)));
    const int elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype);
    k.template = choice.vendor ? FSIM_LIBRARY_CONTRACTION : FSIM_TILED_CONTRACTION;
    k.tile_m = choice.tile.m;
    k.tile_n = choice.tile.n;
    k.split_k = choice.split;
    k.launches = choice.split > 1 ? 2 : 1;
    k.grid = (int64_t)blocks;
    k.block = bm * bn >= 8192 ? 256 : 128;
    const int stages = tensor ? 3 : 2, depth = tensor ? 64 / elem : 8; /* k elements of one step */
    k.shared_bytes = (int)((bm + bn) * depth * stages * elem);
    k.registers = (int)fmin(255, bm * bn / k.block + 40 + (choice.vendor ? 0 : 2 * fmin(o->live, 40)));
    k.flops = 2.0 * (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
    k.penalised = k.penalised || !choice.vendor;

    const double rounds = ceil(blocks / c->sms), one = 2 * bm * bn * (kk + fsim_startup_of(tensor)) / (rate * e);
    const double turns[2] = {tiles_n, tiles_m}; /* every column of tiles loads the first operand, every row of them the second */
    fsim_add_arithmetic(c, &k, turns, true);
    double *extra = fsim_new(a, double, o->reads + 1), *extra_dram = fsim_new(a, double, o->reads + 1);
    const double resident = c->sms * fmax(1, fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes));
    double operand_bytes = 0;
    const double tile_bytes = blocks * (bm * kk + bn * kk) * elem; /* what all blocks load together */
    for (int i = 0; i < o->reads; i++)
        operand_bytes += o->read[i].operand >= 0 ? (double)c->read[i].sector_bytes : 0;
    for (int i = 0; i < o->reads; i++) {
        extra[i] = extra_dram[i] = 1;
        /* Blocks that run at once form a square of the output and share its rows and columns; once the operands outgrow L2, the next square fetches again. */
        if (o->read[i].operand >= 0 && operand_bytes > 0.6 * c->l2_bytes)
            extra_dram[i] = fmax(1, tile_bytes / sqrt(resident) / operand_bytes);
    }
    fsim_add_memory(c, &k, extra, extra_dram);
    k.l2_bytes += tile_bytes;
    k.shared_bytes_moved += blocks * (bm + bn) * kk * elem * (tensor ? 2 : 4);
    if (choice.split > 1)
        k.l2_bytes += 2.0 * choice.split * (double)g->batch * (double)g->m * (double)g->n * 4;
    k.vector = 4;
    fsim_add_access_issue(c, &k);
    k.unit[FSIM_LATENCY] += 250e-9 + kk / 64 * (tensor ? 250 : 120) / c->clock; /* a block's k loop when it has an SM to itself */
    if (!fsim_settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += rounds * one;
    fsim_sum_up(c, &k);
    return k;
}

fsim_kernel fsim_contraction(const fsim_costing *c, fsim_arena *a)
{
    const fsim_gemm g = gemm_of(c);
    const bool library = fsim_library_can(c);
    const int64_t row = c->group->whole_row;
    fsim_kernel best = {0};
    if (g.convolution)
        return fsim_convolution(c, a);
    for (int lib = library; lib >= 0; lib--) /* the vendor's where both take as long */
        for (size_t t = 0; t < sizeof tiles / sizeof tiles[0]; t++) {
            tile_size tile = tiles[t];
            while (tile.n < row)
                tile.n *= 2;
            for (int split = 1; split <= 16; split *= 2) {
                const double blocks = (double)g.batch * ceil((double)g.m / tile.m) * tiles_across(c, tile.n);
                if (split > 1 && (c->group->strict || row || blocks * split > 2 * c->sms || g.k / split < 128))
                    break;
                const fsim_kernel k = tiled(c, (contraction_choice){lib, tile, split}, a);
                if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                    best = k;
            }
        }
    return best;
}

double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const fsim_costing c = {.g = g, .hw = hw};
    double e0;
    bool tensor;
    if (m->convolution)
        return fsim_least_convolution_s(g, hw, node);
    const double rate = fsim_contraction_rate(&c, m->arithmetic, &e0, &tensor);
    const double most = fmax(rate * fmin(1, e0 / (tensor ? 0.8 : 0.9)), fsim_chain_rate(hw, m->arithmetic));
    return 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k / most;
}

fsim_kernel fsim_framework_contraction(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    (void)c;
    (void)maker;
    (void)a;
    return *own;
}

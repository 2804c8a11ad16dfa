/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/contraction.h"

#include "cost/constants.h"
#include "cost/convolution.h"

#include <math.h>

/* The device's dense rate for this arithmetic, FLOP/s, and how much of it a long contraction keeps. */
double fsim_contraction_rate(const fsim_costing *c, fsim_dtype t, double *efficiency, bool *tensor)
{
    const fsim_hw_key key = fsim_tensor_key(c->hw, t);
    *tensor = key != FSIM_HW_COUNT;
    *efficiency = fsim_or_else(fsim_hw_get(c->hw, *tensor ? FSIM_HW_CONTRACTION_TENSOR : FSIM_HW_CONTRACTION_FP32), 1);
    if (*tensor)
        return fsim_hw_get(c->hw, key);
    if (t == FSIM_F64)
        return fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_FP64_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK) / 32);
    if (t == FSIM_F16)
        return fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_FP16_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK));
    return fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK);
}

/* Steps of k that a block's start and end take as long as. */
double fsim_startup_of(bool tensor) { return tensor ? chain_tensor_startup : chain_vector_startup; }

fsim_gemm fsim_product_of(const fsim_costing *c)
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

fsim_gemm_shape fsim_product_shape(const fsim_costing *c, const fsim_gemm *g)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const int elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype);
    const double batch = (double)g->batch, m = (double)g->m, columns = (double)g->n, k = (double)g->k;
    return (fsim_gemm_shape){.batch = batch,
                             .m = m,
                             .n = columns,
                             .k = k,
                             .operand_bytes = {batch * m * k * elem, batch * k * columns * elem},
                             .result_bytes = batch * m * columns * elem,
                             .elem_bytes = elem,
                             .transposed_b = g->transposed_b,
                             .whole = c->group->strict};
}

static void set_tile(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_time *t, bool tensor, int elem)
{
    const fsim_gemm g = fsim_product_of(c);
    const int m = t->tile.m, n = t->tile.n, stages = tensor ? 3 : 2,
              depth = tensor ? 64 / elem : 8; /* k elements of one step */
    k->tile_m = m;
    k->tile_n = n;
    k->split_k = t->tile.split;
    k->grid = (int64_t)t->blocks;
    k->block = m * n >= 8192 ? 256 : 128;
    k->shared_bytes = (m + n) * depth * stages * elem;
    k->registers = (int)fmin(255, (double)m * n / k->block + 40);
    if (k->template == FSIM_TILED_CONTRACTION)
        fsim_generated_tile(c, k, (fsim_tile_edge){(double)g.m, false}, (fsim_tile_edge){(double)g.n, false}, tensor,
                            elem);
    k->flops += 2.0 * (double)g.batch * (double)g.m * (double)g.n * (double)g.k;
}

/* Operands that DRAM serves once more than once. */
static void fetch_again(const fsim_costing *c, fsim_kernel *k, double again_bytes)
{
    double once = 0;
    for (int i = 0; i < k->inputs; i++)
        once += c->group->read[i].operand >= 0 ? (double)k->input[i].read_bytes : 0;
    for (int i = 0; i < k->inputs && once > 0 && again_bytes > 0; i++)
        if (c->group->read[i].operand >= 0) {
            const int64_t more = (int64_t)((double)k->input[i].read_bytes / once * again_bytes);
            k->input[i].read_bytes += more;
            k->dram_read_bytes += more;
            k->penalised = true;
        }
}

void fsim_add_seconds(fsim_kernel *k, fsim_unit u, double seconds)
{
    const double before = k->time_s;
    k->unit[u] += seconds;
    k->time_s = rint((before + seconds) / FSIM_TICK_S) * FSIM_TICK_S;
    k->time[u] += k->time_s - before;
    k->bound = k->time[u] > k->time[k->bound] ? u : k->bound;
}

bool fsim_settle_product(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_device *d, const fsim_gemm_shape *s,
                         const fsim_gemm_time *t)
{
    set_tile(c, k, t, d->tensor, s->elem_bytes);
    fetch_again(c, k, t->again_bytes);
    if (!fsim_settle(c, k, 1))
        return false;
    const bool vendor = k->template == FSIM_LIBRARY_CONTRACTION;
    k->l2_bytes += t->tile_bytes;
    k->shared_bytes_moved += t->tile_bytes * (d->tensor ? 2 : 4);
    k->unit[FSIM_DRAM] = vendor ? t->dram_s : fmax(k->unit[FSIM_DRAM], t->dram_s);
    k->unit[FSIM_L2] = vendor ? t->l2_s : fmax(k->unit[FSIM_L2], t->l2_s);
    k->unit[FSIM_COMPUTE] += t->compute_s;
    k->unit[FSIM_LATENCY] = vendor ? 0 : k->unit[FSIM_LATENCY];
    fsim_sum_up_by(c, k, product_exponent);
    fsim_add_seconds(k, FSIM_LATENCY, t->extra_s);
    return true;
}

/* A generated kernel with one tile: the library's rate, and the arithmetic of the other members. */
static fsim_kernel generated_with(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d,
                                  fsim_gemm_tile tile, fsim_arena *a)
{
    fsim_gemm_shape s = fsim_product_shape(c, g);
    fsim_kernel k = fsim_blank_kernel(c, a);
    s.n = tiles_across(c, tile.n) * tile.n;
    const double turns[2] = {
        tiles_across(c, tile.n),
        ceil(s.m / tile.m)}; /* every column of tiles loads the first operand, every row of them the second */
    k.template = FSIM_TILED_CONTRACTION;
    k.vector = 4;
    k.penalised = true;
    fsim_add_arithmetic(c, &k, turns, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    s.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes);
    const fsim_gemm_time t = fsim_gemm_with(d, &s, tile);
    fsim_settle_product(c, &k, d, &s, &t);
    return k;
}

static fsim_kernel generated(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, fsim_arena *a)
{
    fsim_gemm_shape s = fsim_product_shape(c, g);
    fsim_kernel best = {0};
    s.whole = s.whole || c->group->whole_row;
    for (int i = 0; i < d->tiles; i++) {
        fsim_gemm_tile tile = d->tile[i];
        while (tile.n < c->group->whole_row)
            tile.n *= 2;
        for (tile.split = 1; fsim_gemm_may_split(d, &s, tile); tile.split *= 2) {
            const fsim_kernel k = generated_with(c, g, d, tile, a);
            if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                best = k;
        }
    }
    return best;
}

fsim_kernel fsim_contraction(const fsim_costing *c, fsim_arena *a)
{
    const fsim_gemm g = fsim_product_of(c);
    if (g.convolution)
        return fsim_convolution(c, FSIM_TILED_CONTRACTION, a);
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    return generated(c, &g, &d, a);
}

/* In any template. A tile of a product takes at least gemm.h's time, a chain at least what its rate allows; these are
 * the rates that the prices divide by, so that no price is below the bound. */
double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const fsim_costing c = {.g = g, .hw = hw};
    const double flops = 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
    if (m->convolution)
        return fsim_least_convolution_s(g, hw, node);
    const fsim_gemm_device d = fsim_gemm_device_of(hw, m->arithmetic);
    return fmin(fsim_gemm_least_s(&d, flops), flops / fsim_chain_rate(&c, m->arithmetic));
}

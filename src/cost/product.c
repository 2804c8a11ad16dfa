/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/product.h"

#include "cost/constants.h"

#include <math.h>

fsim_gemm fsim_product_of(const fsim_costing *c)
{
    fsim_gemm g = c->g->node[c->group->anchor].gemm;
    for (int i = 0; i < c->group->members && c->group->contractions > 1; i++)
        if (c->group->member[i].node != c->group->anchor)
            g.n += c->g->node[c->group->member[i].node].gemm.n;
    return g;
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

/* Sets the vendor's block, with as many stages as fit in shared memory. */
static void set_tile(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_time *t, bool tensor, int elem)
{
    const int m = t->tile.m, n = t->tile.n, depth = tensor ? 64 / elem : 8; /* depth: elements of k in a step */
    const double room = fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK);
    int stages = tensor ? 3 : 2;
    while (stages > 1 && (m + n) * depth * stages * elem > room)
        stages--;
    k->tile_m = m;
    k->tile_n = n;
    k->split_k = t->tile.split;
    k->stages = stages;
    k->grid = (int64_t)t->blocks;
    k->block = m * n >= 8192 ? 256 : 128;
    k->shared_bytes = (m + n) * depth * stages * elem;
    k->registers = (int)fmin(255, (double)m * n / k->block + 40);
}

/* Adds again_bytes to the DRAM reads of the contraction's operands, in proportion to their size: tiles of them are
 * read more than once. */
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
    const fsim_gemm g = fsim_product_of(c);
    const bool vendor = k->template == FSIM_LIBRARY_CONTRACTION;
    if (vendor)
        set_tile(c, k, t, d->tensor, s->elem_bytes);
    k->flops += 2.0 * (double)g.batch * (double)g.m * (double)g.n * (double)g.k;
    fetch_again(c, k, t->again_bytes);
    if (!fsim_settle(c, k, 1))
        return false;
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

/* Does some operand of the tile come element by element? */
static bool loads(const fsim_tile_plan *tile)
{
    bool all = true;
    for (int i = 0; i <= tile->products; i++)
        all = all && tile->l.copied[i];
    return !all;
}

fsim_multipliers fsim_multipliers_of(const fsim_tile_plan *tile)
{
    return !tile->tensor     ? FSIM_BY_THREADS
           : tile->l.grouped ? FSIM_BY_GROUPS
           : loads(tile)     ? FSIM_BY_LOADING_WARPS
                             : FSIM_BY_WARPS;
}

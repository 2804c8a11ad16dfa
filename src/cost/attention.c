/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"
#include "cost/costing.h"

#include <math.h>

static const fsim_chain_tile chain_tiles[] = {{256, 64, 1}, {128, 128, 1}, {128, 64, 1}, {64, 128, 1}, {64, 64, 1}, {64, 32, 1},
                                              {32, 64, 1}, {32, 32, 1}, {32, 16, 1}, {16, 64, 1}, {16, 32, 1}, {16, 16, 1}};

/* Chained contractions with one tile. */
static fsim_kernel chained_with(const fsim_costing *c, fsim_chain_tile tile, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_gemm *gemm[2] = {&c->g->node[o->first].gemm, &c->g->node[o->anchor].gemm};
    bool tensor[2];
    double e0[2], rate[2];
    for (int i = 0; i < 2; i++) {
        rate[i] = fsim_contraction_rate(c, gemm[i]->arithmetic, &e0[i], &tensor[i]) / c->sms;
        rate[i] *= fmin(1, e0[i] / (1 + (tensor[i] ? 0.33 : 0.1) * (128.0 / tile.m - 1)));
    }
    const fsim_chain_shape shape = fsim_chain_shape_of(c->g, o, tensor[0]);
    const fsim_chain_block b = fsim_chain_block_of(&shape, tile, o->live);
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.tile_m = tile.m;
    k.tile_n = tile.n;
    k.split_k = tile.split;
    k.launches = tile.split > 1 ? 2 : 1;
    k.grid = (int64_t)b.blocks;
    k.block = b.threads;
    k.registers = b.registers;
    k.penalised = true;
    if ((double)b.shared_bytes > fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK))
        return k;
    k.shared_bytes = (int)b.shared_bytes;
    k.flops = 2.0 * shape.batch * shape.m * shape.width * b.turns[FSIM_CHAIN_OPERANDS] * (shape.k + shape.results) + b.fixing_flops;
    k.unit[FSIM_COMPUTE] += b.fixing_flops / fsim_pipe_rate(c, FSIM_F32);
    fsim_add_arithmetic(c, &k, b.turns, true);
    double *extra_dram = fsim_new(a, double, o->reads + 1), accesses = 0, other_bytes = 0;
    const double tiles_m = ceil(shape.m / tile.m), resident = c->sms * fmax(1, fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes));
    for (int i = 0; i < o->reads; i++)
        other_bytes += o->read[i].operand > FSIM_CHAIN_ROWS ? (double)c->read[i].sector_bytes : 0;
    /* Blocks of one batch walk its operands together; what the batches under way hold must stay in L2 until the last of their blocks has been. */
    const double batches = fmin(shape.batch, ceil(resident / (tiles_m * tile.split))), under_way = other_bytes / shape.batch * batches;
    const double rows_under_way = fmin(resident, b.blocks) * tile.m * shape.k * shape.elem_bytes;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        extra_dram[i] = 1;
        if (r->operand > FSIM_CHAIN_ROWS && under_way > c->l2_bytes)
            extra_dram[i] = fmax(1, tiles_m * tile.split / resident);
        if (r->operand == FSIM_CHAIN_ROWS && b.streams && rows_under_way > c->l2_bytes)
            extra_dram[i] = b.steps;
        for (int m = 0; r->operand < 0 && m < r->maps; m++)
            accesses += (double)fsim_map_points(&r->map[m]) * (r->full ? (double)fsim_map_reduced(&r->map[m]) : 1);
    }
    for (int i = 0; i < o->writes; i++)
        accesses += (double)fsim_map_points(&o->write[i].map) * (o->write[i].full ? (double)fsim_map_reduced(&o->write[i].map) : 1);
    fsim_add_memory(c, &k, NULL, extra_dram);
    k.l2_bytes += b.l2_bytes;
    k.shared_bytes_moved += b.shared_bytes_moved;
    k.vector = 4;
    k.unit[FSIM_ISSUE] += 2 * (accesses / k.vector + b.l2_bytes / 16) / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_LATENCY] += 250e-9 + b.steps * (tensor[0] ? 500 : 250) / c->clock; /* a block's steps when it has an SM to itself */
    if (!fsim_settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += ceil(b.blocks / c->sms) * (b.first_flops / rate[0] + b.second_flops / rate[1] + 2.0 * tile.m * tile.n * fsim_startup_of(tensor[0]) / rate[0]);
    fsim_sum_up(c, &k);
    return k;
}

fsim_kernel fsim_chained(const fsim_costing *c, fsim_arena *a)
{
    const fsim_group *o = c->group;
    fsim_kernel best = {0};
    for (size_t t = 0; t < sizeof chain_tiles / sizeof chain_tiles[0]; t++)
        for (int split = 1; split <= 64; split *= 2) {
            const double rows = ceil((double)o->rows / (double)o->batch / chain_tiles[t].m) * (double)o->batch, width = (double)o->width;
            if (split > 1 && (o->strict || rows * split > 2 * c->sms || width / split < chain_tiles[t].n || o->writes > 1))
                break;
            const fsim_kernel k = chained_with(c, (fsim_chain_tile){chain_tiles[t].m, chain_tiles[t].n, split}, a);
            if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                best = k;
        }
    return best;
}

fsim_kernel fsim_framework_attention(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    (void)c;
    (void)maker;
    (void)a;
    return *own;
}

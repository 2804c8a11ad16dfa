/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"
#include "cost/constants.h"
#include "cost/costing.h"
#include "fusion/chain.h"

#include <math.h>

static const fsim_chain_tile chain_tiles[] = {{256, 64, 1}, {128, 128, 1}, {128, 64, 1}, {64, 128, 1},
                                              {64, 64, 1},  {64, 32, 1},   {32, 64, 1},  {32, 32, 1},
                                              {32, 16, 1},  {16, 64, 1},   {16, 32, 1},  {16, 16, 1}};

/* A generated chain on tensor units does what the best published kernels do: rows of cost/chain.def. From Hopper on a
 * warp group multiplies while another exponentiates (FlashAttention-3). */
static const struct {
    int sm; /* at least */
    double tensor_share, special_turns, overlap;
} generations[] = {
#define FSIM_CHAIN_GENERATION(sm, tensor_share, special_turns, overlap, source)                                        \
    {sm, tensor_share, special_turns, overlap},
#include "cost/chain.def"
#undef FSIM_CHAIN_GENERATION
};
enum { GENERATIONS = sizeof generations / sizeof *generations };

/* The GPU's row; GENERATIONS for older ones and other vendors', on which nothing like it was measured. */
static int generation_of(const fsim_hw *hw)
{
    int i = 0;
    while (i < GENERATIONS && hw->sm < generations[i].sm)
        i++;
    return i;
}

/* Whether a chain has a rate of its own on this device: 16-bit products on tensor units of a known generation. */
static bool has_own_rate(const fsim_hw *hw, fsim_dtype t)
{
    const fsim_hw_key key = t == FSIM_F16 ? FSIM_HW_TENSOR_F16 : FSIM_HW_TENSOR_BF16;
    return (t == FSIM_F16 || t == FSIM_BF16) && generation_of(hw) < GENERATIONS && fsim_hw_has(hw, key);
}

double fsim_chain_rate(const fsim_costing *c, fsim_dtype t)
{
    bool tensor;
    double efficiency;
    const double rate = fsim_contraction_rate(c, t, &efficiency, &tensor);
    return has_own_rate(c->hw, t) ? fsim_hw_peak(c->hw, t == FSIM_F16 ? FSIM_HW_TENSOR_F16 : FSIM_HW_TENSOR_BF16) *
                                        generations[generation_of(c->hw)].tensor_share
                                  : rate * fmin(1, efficiency);
}

typedef struct {
    double rate[2]; /* FLOP/s of an SM */
    double turns, overlap;
    bool tensor;
} chain_rates;

static chain_rates chain_rates_of(const fsim_costing *c, int m)
{
    const int node[2] = {c->group->first, c->group->anchor};
    chain_rates r = {.turns = 0, .overlap = 1};
    const int generation = generation_of(c->hw);
    for (int i = 0; i < 2; i++) {
        bool tensor;
        double e0;
        fsim_contraction_rate(c, c->g->node[node[i]].gemm.arithmetic, &e0, &tensor);
        const double less = (tensor ? chain_tensor_narrow : chain_vector_narrow) * fmax(0, efficiency_tile / m - 1);
        r.rate[i] = fsim_chain_rate(c, c->g->node[node[i]].gemm.arithmetic) / (1 + less) / c->sms;
        r.tensor = i ? r.tensor : tensor;
    }
    if (r.tensor && generation < GENERATIONS) {
        r.turns = generations[generation].special_turns;
        r.overlap = generations[generation].overlap;
    }
    return r;
}

/* Chained contractions with one tile. */
static fsim_kernel chained_with(const fsim_costing *c, const fsim_chain_shape *shape, fsim_chain_tile tile,
                                fsim_arena *a)
{
    const fsim_group *o = c->group;
    const chain_rates rates = chain_rates_of(c, tile.m);
    const fsim_chain_block b = fsim_chain_block_of(shape, tile);
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
    k.flops = 2.0 * shape->batch * shape->m * shape->width * b.turns[FSIM_CHAIN_OPERANDS] *
                  (shape->k + shape->results / b.chunks) +
              b.fixing_flops;
    k.unit[FSIM_COMPUTE] += b.fixing_flops / fsim_pipe_rate(c, FSIM_F32);
    fsim_add_arithmetic(c, &k, b.turns, true);
    double *extra_dram = fsim_new(a, double, o->reads + 1), accesses = 0, other_bytes = 0;
    const double tiles_m = ceil(shape->m / tile.m),
                 resident = c->sms * fmax(1, fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes));
    for (int i = 0; i < o->reads; i++)
        other_bytes += o->read[i].operand > FSIM_CHAIN_ROWS ? (double)c->read[i].sector_bytes : 0;
    /* Blocks of one batch walk its operands together; what the batches under way hold must stay in L2 until the last of
     * their blocks has been. */
    const double batches = fmin(shape->batch, ceil(resident / (tiles_m * tile.split))),
                 under_way = other_bytes / shape->batch * batches;
    const double rows_under_way = fmin(resident, b.blocks) * tile.m * shape->k * shape->elem_bytes;
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
        accesses += (double)fsim_map_points(&o->write[i].map) *
                    (o->write[i].full ? (double)fsim_map_reduced(&o->write[i].map) : 1);
    fsim_add_memory(c, &k, NULL, extra_dram);
    k.l2_bytes += b.l2_bytes;
    k.shared_bytes_moved += b.shared_bytes_moved;
    k.vector = 4;
    k.unit[FSIM_ISSUE] +=
        2 * (accesses / k.vector + b.l2_bytes / 16) / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_LATENCY] += chain_start_s + b.steps *
                                                (rates.tensor ? CHAIN_TENSOR_STEP_CYCLES : CHAIN_VECTOR_STEP_CYCLES) /
                                                c->clock;            /* a block's steps when it has an SM to itself */
    const double special = k.unit[FSIM_SPECIAL] * c->sms / b.blocks; /* of one block */
    if (rates.turns > 0 && !o->strict) {                             /* lanes work beside the tensor units */
        k.unit[FSIM_ISSUE] = fmax(k.unit[FSIM_ISSUE], k.unit[FSIM_COMPUTE]);
        k.unit[FSIM_COMPUTE] = 0;
    }
    if (!fsim_settle(c, &k, 1))
        return k;
    const double products = b.first_flops / rates.rate[0] + b.second_flops / rates.rate[1],
                 start = 2.0 * tile.m * tile.n * fsim_startup_of(rates.tensor) / rates.rate[0];
    const double one = rates.turns > 0 ? pow(pow(products, rates.overlap) + pow(special * rates.turns, rates.overlap),
                                             1 / rates.overlap)
                                       : products;
    k.unit[FSIM_COMPUTE] += ceil(b.blocks / c->sms) * (one + start);
    fsim_sum_up(c, &k);
    return k;
}

/* Tiles of which half would hold all rows or columns, and tiles of fewer rows once larger ones give every SM several
 * blocks, are not worth a look. */
fsim_kernel fsim_chained(const fsim_costing *c, fsim_arena *a)
{
    enum { LEAST = FSIM_CHAIN_LEAST, ENOUGH_ROUNDS = 4 };
    const fsim_group *o = c->group;
    bool tensor;
    double e0;
    fsim_contraction_rate(c, c->g->node[o->first].gemm.arithmetic, &e0, &tensor);
    const fsim_chain_shape shape = fsim_chain_shape_of(c->g, o, tensor);
    fsim_kernel best = {0};
    int least = 0;
    for (size_t t = 0; t < sizeof chain_tiles / sizeof chain_tiles[0]; t++) {
        const int m = chain_tiles[t].m, n = chain_tiles[t].n;
        if (m < least || (m > LEAST && m / 2 >= shape.m) || (n > LEAST && n / 2 >= shape.width))
            continue;
        const double blocks = ceil(shape.m / m) * shape.batch;
        for (int split = 1; split <= 64; split *= 2) {
            if (split > 1 && (o->strict || blocks * split > 2 * c->sms || shape.width / split < n || o->writes > 1))
                break;
            const fsim_kernel k = chained_with(c, &shape, (fsim_chain_tile){m, n, split}, a);
            if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                best = k;
        }
        if (best.time_s > 0 && blocks >= ENOUGH_ROUNDS * c->sms)
            least = m / 2;
    }
    return best;
}

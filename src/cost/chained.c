/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/chained.h"
#include "cost/chain.h"
#include "cost/constants.h"
#include "cost/costing.h"
#include "kernel/layout.h"

#include <float.h>
#include <math.h>

enum {
    MOST_PIECES = 256, /* most blocks that share a row's width */
    FEWEST_ROWS = 32,  /* tiles of fewer rows wait for memory */
    MOST_BLOCKS = 4    /* for each SM, where blocks share the only tile of rows */
};

/* Rates of generated chains on tensor units, taken from the best published kernels: the rows of cost/chain.def. From
 * Hopper on, one warp group multiplies while another computes exponentials (FlashAttention-3). */
static const struct {
    int sm; /* the row holds from this architecture on */
    double tensor_share, special_turns, overlap;
} generations[] = {
#define FSIM_CHAIN_GENERATION(sm, tensor_share, special_turns, overlap, source)                                        \
    {sm, tensor_share, special_turns, overlap},
#include "cost/chain.def"
#undef FSIM_CHAIN_GENERATION
};
enum { GENERATIONS = sizeof generations / sizeof *generations };

/* The row of this GPU; GENERATIONS where there is none: older GPUs and other vendors', for which no such kernel was
 * measured. */
static int generation_of(const fsim_hw *hw)
{
    int i = 0;
    while (i < GENERATIONS && hw->sm < generations[i].sm)
        i++;
    return i;
}

/* Does chain.def have a rate for this chain? It has for 16-bit products on tensor units of known generations. */
static bool has_own_rate(const fsim_hw *hw, fsim_dtype t)
{
    const fsim_hw_key key = t == FSIM_F16 ? FSIM_HW_TENSOR_F16 : FSIM_HW_TENSOR_BF16;
    return (t == FSIM_F16 || t == FSIM_BF16) && generation_of(hw) < GENERATIONS && fsim_hw_has(hw, key);
}

/* Without tensor units a generated chain reaches what was measured. */
double fsim_chain_rate(const fsim_costing *c, fsim_dtype t)
{
    bool tensor;
    double efficiency;
    const double peak = fsim_contraction_rate(c, t, &efficiency, &tensor), rate = peak * fmin(1, efficiency);
    if (has_own_rate(c->hw, t))
        return fsim_hw_peak(c->hw, t == FSIM_F16 ? FSIM_HW_TENSOR_F16 : FSIM_HW_TENSOR_BF16) *
               generations[generation_of(c->hw)].tensor_share;
    if (tensor || c->hw->host || c->hw->arch->plain)
        return rate;
    return fmin(rate, chain_thread_flops * fsim_hw_get(c->hw, FSIM_HW_SMS) * fsim_hw_get(c->hw, FSIM_HW_SM_CLOCK));
}

typedef struct {
    double rate[2]; /* FLOP/s of an SM, for the first and the second product */
    double special_turns, overlap;
    bool tensor;
} chain_rates;

/* The share of an SM's schedulers that have a warp: each issues the instructions of its own warps, to a tensor core of
 * its own. Needs the kernel's grid, block, registers and shared memory. */
static double busy_schedulers(const fsim_costing *c, const fsim_schedule *k)
{
    const double resident = fmax(1, fsim_blocks_per_sm(c->hw, k->block, k->registers, k->shared_bytes)),
                 blocks = fmin(resident, ceil((double)k->grid / c->sms)), warps = blocks * ceil(k->block / c->warp);
    return c->hw->host || c->hw->arch->plain ? 1 : fmin(1, warps / FSIM_ISSUE_PER_SM);
}

/* Seconds of a block's steps on tensor units, in turn with the other blocks of its SM: each waits for both products and
 * for the exponentials between them, and a mask is compared with every element. */
static double steps_s(const fsim_costing *c, const fsim_chain_shape *s, const fsim_chain_block *b, fsim_chain_tile t,
                      bool grouped)
{
    const double usual = (double)CHAIN_STEP_ROWS * CHAIN_STEP_COLUMNS,
                 cycles = grouped ? chain_group_step : chain_warp_step,
                 deeper =
                     b->streams || t.m < FEWEST_ROWS ? fmax(1, (s->k + s->results / t.chunks) / CHAIN_STEP_DEPTH) : 1;
    if (c->hw->host || c->hw->arch->plain || !s->tensor)
        return 0;
    return b->steps * cycles * (t.m * t.n / usual) * deeper * (s->causal > 0 ? chain_masked : 1) / c->clock;
}

/* busy: share of the schedulers at work. */
static chain_rates chain_rates_of(const fsim_costing *c, int m, double busy)
{
    const int node[2] = {c->group->first, c->group->anchor};
    chain_rates r = {.special_turns = 0, .overlap = 1};
    const int generation = generation_of(c->hw);
    for (int i = 0; i < 2; i++) {
        bool tensor;
        double e0;
        fsim_contraction_rate(c, c->g->node[node[i]].gemm.arithmetic, &e0, &tensor);
        const double less = (tensor ? chain_tensor_narrow : chain_vector_narrow) * fmax(0, efficiency_tile / m - 1);
        r.rate[i] = fsim_chain_rate(c, c->g->node[node[i]].gemm.arithmetic) * fmin(busy, 1 / (1 + less)) / c->sms;
        r.tensor = i ? r.tensor : tensor;
    }
    if (r.tensor && generation < GENERATIONS) {
        r.special_turns = generations[generation].special_turns;
        r.overlap = generations[generation].overlap;
    }
    return r;
}

/* A chain in tiles: its sizes, and its layout. */
typedef struct {
    fsim_chain_shape shape;
    fsim_layout *l;
} chain;

/* Instructions for an element of this operand's tile on tensor cores. What is copied asynchronously takes one for eight
 * elements, which the price of L2's bytes has; without tensor cores all tiles are filled alike, and fitted rates have
 * it.
 */
static double instructions_of(const fsim_costing *c, const fsim_chained_tile *t)
{
    enum { CONVERTS = 89 }; /* architectures that convert 8-bit floats: PTX ISA, cvt, sm_89 and newer */
    return t->copied    ? 0
           : t->widened ? (c->hw->sm >= CONVERTS ? CHAIN_WIDENED_INSTRUCTIONS : CHAIN_UNPACKED_INSTRUCTIONS)
                        : CHAIN_ELEMENT_INSTRUCTIONS;
}

/* How often a thread of `threads` waits for memory while all of them fill a tile of so many elements. exposed: also for
 * what is copied asynchronously. What is widened is loaded at once. */
static double waits_of(const fsim_chained_tile *t, double elements, int threads, bool exposed)
{
    return t->copied ? exposed : t->widened ? 1 : ceil(elements / threads / CHAIN_FILLS_AHEAD);
}

/* Seconds of filling tiles: of the unit that computes, waiting and computing; and of issuing instructions. */
typedef struct {
    double waited_s, computed_s, issued_s;
} fills;

/* What threads do that fill tiles, on tensor cores. Threads that compute a tile's elements wait for each few of
 * them. A long k that is staged in parts is copied part by part, each waited for; and tiles of few rows wait for both
 * copies of a step, because their products take less time than these. With several blocks on an SM the others go on
 * while one waits. What elements take to compute adds to the products, which wait for it behind a barrier; conversions
 * are assumed to hide behind another block's products. */
static fills fills_of(const fsim_costing *c, const chain *x, const fsim_chain_block *b, const fsim_schedule *k)
{
    const fsim_chained_tile *t = x->l->chain->operand;
    const fsim_chain_layout *l = &x->l->chained.l;
    const fsim_chain_shape *s = &x->shape;
    const bool exposed = b->streams || l->m < FEWEST_ROWS;
    const double resident = fmax(1, fsim_blocks_per_sm(c->hw, k->block, k->registers, k->shared_bytes)),
                 parts = b->streams ? ceil((double)l->depth / (double)l->depth_step) : 1, step = s->k / parts,
                 elements[FSIM_CHAIN_OPERANDS] = {[FSIM_CHAIN_ROWS] = l->m * step,
                                                  [FSIM_CHAIN_FIRST] = l->n * step,
                                                  [FSIM_CHAIN_SECOND] = l->n * s->results / b->chunks},
                 times[FSIM_CHAIN_OPERANDS] = {[FSIM_CHAIN_ROWS] = b->streams ? b->steps * parts : 1,
                                               [FSIM_CHAIN_FIRST] = b->steps * parts,
                                               [FSIM_CHAIN_SECOND] = b->steps},
                 port = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH) / c->sms, c->clock * SM_PORT_BYTES);
    if (c->hw->host || c->hw->arch->plain || !s->tensor || l->grouped)
        return (fills){0, 0, 0};
    double waits = 0, copied = 0, computed = 0, widened = 0;
    const double per_s = ceil(b->blocks / c->sms) / (c->clock * FSIM_ISSUE_PER_SM * c->warp);
    for (int i = 0; i < FSIM_CHAIN_OPERANDS; i++) {
        const bool again = i != FSIM_CHAIN_ROWS || b->streams;
        /* both operands of a part are copied, and waited for, together */
        waits += times[i] *
                 waits_of(&t[i], elements[i], k->block, exposed && again && !(b->streams && i == FSIM_CHAIN_ROWS));
        copied += t[i].copied && exposed && again ? times[i] * elements[i] : 0;
        *(t[i].widened ? &widened : &computed) += times[i] * elements[i] * instructions_of(c, &t[i]);
    }
    const double waited_s =
        ceil(b->blocks / (c->sms * resident)) * (waits * c->latency_s + copied * s->elem_bytes / port);
    return (fills){waited_s, per_s * computed, per_s * widened};
}

/* What the unit that computes takes for it at least: with the registers that a thread can have. */
static double least_filling_s(const fsim_costing *c, const chain *x, const fsim_chain_block *b,
                              const fsim_schedule *layout)
{
    fsim_schedule fitting = *layout;
    fitting.registers = (int)fmin(layout->registers, fsim_hw_get(c->hw, FSIM_HW_REGISTERS_PER_THREAD));
    const fills filling = fills_of(c, x, b, &fitting);
    return filling.waited_s + filling.computed_s;
}

/* Seconds of the launch that combines what the blocks of a row leave: a block for each row, whose threads load the
 * parts of the maximum, of each sum, and of their result one after the other, FSIM_CHAIN_PARTS_AHEAD at a time. */
static double combining_s(const fsim_costing *c, int split)
{
    enum { THREADS = 128 };
    const fsim_group *o = c->group;
    const double latency = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_LATENCY), c->latency_s),
                 rounds = ceil((double)o->rows / (c->sms * fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_SM) / THREADS));
    double values = 1;
    for (int i = 0; i < o->members; i++)
        values += o->member[i].middle && fsim_ops[c->g->node[o->member[i].node].op].class == FSIM_REDUCE;
    return c->hw->host ? 0 : rounds * values * ceil((double)split / FSIM_CHAIN_PARTS_AHEAD) * latency;
}

/* Can a chain whose products and waits take as long as this be faster than less_s? What rounding adds up to is far
 * below the margin. */
static bool may_beat(const fsim_costing *c, const fsim_schedule *layout, double products_s, double waits_s,
                     double less_s)
{
    _Static_assert(KERNEL_EXPONENT == 3, "as in fsim_sum_up");
    const double after_s = layout->split_k > 1 ? combining_s(c, layout->split_k) : 0,
                 launch_s = fmax(0, fsim_least_launch_s(c->hw, c->regime)) * layout->launches;
    return !(launch_s + cbrt(products_s * products_s * products_s + waits_s * waits_s * waits_s) + after_s >
             less_s * (1 + sqrt(DBL_EPSILON)) + 2 * FSIM_TICK_S);
}

static double elements_of(const fsim_map *m, bool full)
{
    return (double)fsim_map_points(m) * (full ? (double)fsim_map_reduced(m) : 1);
}

/* The price of a chain in this layout; time_s 0 where no block fits, and where it takes longer than less_s. */
static fsim_kernel chained_with(const fsim_costing *c, const chain *x, const fsim_schedule *layout, double less_s,
                                fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_chain_shape *shape = &x->shape;
    const fsim_chain_tile tile = {layout->tile_m, layout->tile_n, layout->split_k, (double)x->l->chained.l.chunks,
                                  x->l->chained.l.kept};
    const fsim_chain_block b = fsim_chain_block_of(shape, tile);
    const double busy = busy_schedulers(c, layout);
    const chain_rates rates = chain_rates_of(c, tile.m, busy);
    const double products = b.first_flops / rates.rate[0] + b.second_flops / rates.rate[1],
                 start = 2.0 * tile.m * tile.n * fsim_startup_of(rates.tensor) / rates.rate[0],
                 rounds = ceil(b.blocks / c->sms);
    const double waits = chain_start_s + b.steps *
                                             (rates.tensor ? CHAIN_TENSOR_STEP_CYCLES : CHAIN_VECTOR_STEP_CYCLES) /
                                             c->clock; /* the steps of a block that has an SM to itself */
    const double least = steps_s(c, shape, &b, tile, x->l->chained.l.grouped);
    const double products_s = rounds * (fmax(products, least) + start), waits_s = c->hw->arch->plain ? 0 : waits;
    if (!may_beat(c, layout, products_s, waits_s, less_s) ||
        !may_beat(c, layout, products_s + least_filling_s(c, x, &b, layout), waits_s, less_s))
        return (fsim_kernel){0};
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.schedule = *layout;
    k.penalised = true;
    k.flops = 2.0 * shape->batch * shape->m * shape->width * b.loads[FSIM_CHAIN_OPERANDS] *
                  (shape->k + shape->results / b.chunks) +
              b.fixing_flops;
    k.unit[FSIM_COMPUTE] += b.fixing_flops / fsim_pipe_rate(c, FSIM_F32);
    fsim_add_arithmetic(c, &k, b.loads, true);
    double *extra_dram = fsim_new(a, double, o->reads + 1), accesses = 0, other_bytes = 0;
    const double tiles_m = ceil(shape->m / tile.m),
                 resident = c->sms * fmax(1, fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes));
    for (int i = 0; i < o->reads; i++)
        other_bytes += o->read[i].operand > FSIM_CHAIN_ROWS ? (double)c->read[i].sector_bytes : 0;
    /* Blocks of one batch read the same operands. DRAM serves these once only if L2 keeps the operands of all
     * batches under way until their last block is done. */
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
            accesses += elements_of(&r->map[m], r->full);
    }
    for (int i = 0; i < o->writes; i++)
        accesses += elements_of(&o->write[i].map, o->write[i].full);
    fsim_add_memory(c, &k, NULL, extra_dram);
    k.l2_bytes += b.l2_bytes;
    k.partial_bytes = (int64_t)b.partial_bytes;
    k.shared_bytes_moved += b.shared_bytes_moved;
    k.unit[FSIM_ISSUE] +=
        2 * (accesses / k.vector + b.l2_bytes / 16) / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_LATENCY] += waits;
    const double special = k.unit[FSIM_SPECIAL] * c->sms / b.blocks; /* special functions' time for one block */
    if (rates.special_turns > 0 && !o->strict) { /* the FP32 units work at the same time as the tensor units */
        k.unit[FSIM_ISSUE] = fmax(k.unit[FSIM_ISSUE], k.unit[FSIM_COMPUTE]);
        k.unit[FSIM_COMPUTE] = 0;
    }
    if (!fsim_settle(c, &k, 1))
        return k;
    k.unit[FSIM_ISSUE] /= busy;
    const double one =
        rates.special_turns > 0
            ? pow(pow(products, rates.overlap) + pow(special * rates.special_turns, rates.overlap), 1 / rates.overlap)
            : products;
    k.unit[FSIM_COMPUTE] += rounds * (fmax(one, least) + start);
    const fills filling = fills_of(c, x, &b, &k.schedule);
    k.unit[FSIM_COMPUTE] += filling.waited_s;
    k.unit[FSIM_COMPUTE] += filling.computed_s;
    k.unit[FSIM_ISSUE] += filling.issued_s;
    fsim_sum_up(c, &k);
    if (tile.split > 1)
        fsim_add_after(&k, FSIM_LATENCY, combining_s(c, tile.split));
    return k;
}

/* A chain without tiles: a block computes a row of the intermediate, one element a thread, and then a row of
 * results. Each step of a sum takes two loads and a multiply-add. */
static fsim_kernel by_rows(const fsim_costing *c, fsim_arena *a)
{
    enum { INSTRUCTIONS = 3 };
    const fsim_group *o = c->group;
    const fsim_node *first = &c->g->node[o->first], *second = &c->g->node[o->anchor];
    const double width = (double)o->width, depth = (double)first->gemm.k,
                 columns = (double)second->points / (double)o->rows,
                 products = (double)o->rows * width * (depth + columns);
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.penalised = true;
    if (!fsim_lay_out(c, &k.schedule))
        return k;
    const double loads[FSIM_CHAIN_OPERANDS + 1] = {width, (double)o->rows, (double)o->rows, 1};
    k.flops = 2 * products;
    fsim_add_arithmetic(c, &k, loads, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    k.l2_bytes += products * fsim_dtype_bytes(c->g->tensor[first->arg[0].tensor].dtype);
    k.unit[FSIM_ISSUE] += INSTRUCTIONS * products / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_COMPUTE] +=
        fmax(products / fsim_pipe_rate(c, FSIM_F32),
             fsim_least_contraction_s(c->g, c->hw, o->first) + fsim_least_contraction_s(c->g, c->hw, o->anchor));
    k.unit[FSIM_LATENCY] += chain_start_s + (depth * ceil(width / k.block) + width * ceil(columns / k.block)) *
                                                DIRECT_STEP_CYCLES / c->clock;
    if (fsim_settle(c, &k, 1))
        fsim_sum_up(c, &k);
    return k;
}

/* What a block with m rows, which walks the whole width, takes for steps_s at least. seen: the share of its tiles that
 * a mask leaves; features: of both products. */
static double least_steps_s(const fsim_costing *c, const fsim_chain_pair *pair, double m, double seen, double features)
{
    const double usual = (double)CHAIN_STEP_ROWS * CHAIN_STEP_COLUMNS,
                 cycles = c->hw->arch->wgmma ? chain_group_step : chain_warp_step,
                 deeper = m < FEWEST_ROWS ? fmax(1, features / CHAIN_STEP_DEPTH) : 1;
    if (c->hw->host || c->hw->arch->plain ||
        !fsim_chained_on_tensor_cores(c->g, c->hw, &c->g->node[pair->first], &c->g->node[pair->second]))
        return 0;
    return m * pair->width / usual * cycles * deeper * (pair->masked ? fmin(1, chain_masked * seen) : 1) / c->clock;
}

/* The chain in tiles of m rows: at least so many rounds of blocks, with what may_beat counts. Tiles are filled up; a
 * batch's last one is counted as if another batch shared it. split: blocks share a row's width, however many. */
static double tiled_least_s(const fsim_costing *c, const fsim_chain_pair *pair, double m, bool split)
{
    enum {
        WHOLE_MOST = 4096,
        COLUMNS = 128
    }; /* kernel/chain.c: a tile as wide as the row has no more columns; others */
    const fsim_node *node[2] = {&c->g->node[pair->first], &c->g->node[pair->second]};
    const double results = (double)node[1]->points / pair->rows, chunks = ceil(results / FSIM_KEPT_WIDTH),
                 seen = pair->masked ? fmin(1, (pair->width + m + FSIM_CHAIN_LEAST) / (2 * pair->width)) : 1,
                 depth[2] = {(double)node[0]->gemm.k, results / chunks};
    double products = 0, start = 0, step_cycles = 0;
    for (int i = 0; i < 2; i++) {
        bool tensor;
        double efficiency;
        fsim_contraction_rate(c, node[i]->gemm.arithmetic, &efficiency, &tensor);
        const double less = (tensor ? chain_tensor_narrow : chain_vector_narrow) * fmax(0, efficiency_tile / m - 1),
                     rate = fsim_chain_rate(c, node[i]->gemm.arithmetic) / (1 + less) / c->sms;
        products += 2 * m * pair->width * seen * depth[i] / rate;
        if (i == 0)
            start = 2 * m * FSIM_CHAIN_LEAST * fmin(chain_tensor_startup, chain_vector_startup) / rate;
        step_cycles = tensor ? CHAIN_TENSOR_STEP_CYCLES : CHAIN_VECTOR_STEP_CYCLES;
    }
    products = fmax(products, least_steps_s(c, pair, m, seen, depth[0] + depth[1]));
    const double steps = !split && pair->width > WHOLE_MOST ? pair->width / COLUMNS * seen : 0,
                 waits = c->hw->arch->plain ? 0 : chain_start_s + steps * step_cycles / c->clock,
                 rounds = ceil(pair->rows / m) * chunks / c->sms,
                 busy = (split ? rounds : ceil(rounds)) * products + (split ? 1 : ceil(rounds)) * start;
    return cbrt(busy * busy * busy + waits * waits * waits);
}

/* The chain without tiles, as in by_rows. */
static double by_rows_least_s(const fsim_costing *c, const fsim_chain_pair *pair)
{
    enum { INSTRUCTIONS = 3, ROW_THREADS = 1024 }; /* kernel/rows.h: most threads of a row */
    const double depth = (double)c->g->node[pair->first].gemm.k,
                 columns = (double)c->g->node[pair->second].points / pair->rows, most = ROW_THREADS,
                 products = pair->rows * pair->width * (depth + columns),
                 issue = INSTRUCTIONS * products /
                         (c->sms * c->clock * FSIM_ISSUE_PER_SM * fsim_hw_get(c->hw, FSIM_HW_WARP_SIZE)),
                 waits = c->hw->arch->plain
                             ? 0
                             : chain_start_s + (depth * ceil(pair->width / most) + pair->width * ceil(columns / most)) *
                                                   DIRECT_STEP_CYCLES / c->clock;
    return cbrt(issue * issue * issue + waits * waits * waits);
}

double fsim_least_chain_s(const fsim_graph *g, const fsim_hw *hw, fsim_chain_pair pair, double second_s)
{
    const fsim_costing c = {
        .g = g, .hw = hw, .sms = fsim_hw_get(hw, FSIM_HW_SMS), .clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK)};
    double least = by_rows_least_s(&c, &pair);
    const int rows = hw->arch->design == FSIM_BLACKWELL ? 2 * FSIM_CHAIN_ROWS_MOST : FSIM_CHAIN_ROWS_MOST;
    for (int m = FSIM_CHAIN_LEAST; m <= rows; m *= 2) {
        least = fmin(least, tiled_least_s(&c, &pair, m, false));
        least = fmin(least, tiled_least_s(&c, &pair, m, true) + second_s);
    }
    return least;
}

static double less_than(const fsim_kernel *best) { return best->time_s > 0 ? best->time_s : INFINITY; }

static void keep_faster(const fsim_kernel *k, fsim_kernel *best)
{
    if (k->time_s > 0 && (best->time_s == 0 || k->time_s < best->time_s))
        *best = *k;
}

/* Lays out and prices `layout` with so many blocks a row; fewer where the width does not divide. *last: the number that
 * was priced before. */
static void try_split(const fsim_costing *c, chain *x, fsim_schedule layout, int *last, fsim_kernel *best,
                      fsim_arena *a)
{
    const int wanted = layout.split_k;
    if (wanted < 2 || wanted > MOST_PIECES || x->shape.width / wanted < layout.tile_n ||
        !fsim_schedule_of(x->l, &layout) || layout.split_k == 1 || layout.split_k == *last)
        return;
    *last = layout.split_k;
    const fsim_kernel k = chained_with(c, x, &layout, less_than(best), a);
    keep_faster(&k, best);
}

/* Prices the layout with splits by powers of two; *best becomes the fastest. Where a tile has all rows of a batch, as
 * in decoding, also those that give each SM one block, or two. */
static void try_splits(const fsim_costing *c, chain *x, fsim_schedule layout, fsim_kernel *best, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const bool few_rows = x->shape.m <= layout.tile_m;
    const double blocks = ceil(x->shape.m / layout.tile_m) * x->shape.batch, most = few_rows ? MOST_BLOCKS : 2;
    const fsim_kernel whole = chained_with(c, x, &layout, less_than(best), a);
    int last = 1;
    keep_faster(&whole, best);
    if (o->strict || o->writes > 1)
        return;
    for (int split = 2; split <= MOST_PIECES && blocks * split <= most * c->sms; split *= 2) {
        layout.split_k = split;
        try_split(c, x, layout, &last, best, a);
    }
    for (int each = 1; each <= 2 && few_rows; each++) {
        layout.split_k = (int)fmin(MOST_PIECES + 1, floor(each * c->sms / blocks));
        try_split(c, x, layout, &last, best, a);
    }
}

/* On Blackwell the price assumes what FlashAttention-4 does: a block computes two tiles of 128 rows, which share the
 * columns that it loads. The generated text has a block for each tile: tests/unit/schedule_test.c lists that
 * difference. */
static void try_paired_tiles(const fsim_costing *c, chain *x, fsim_schedule layout, fsim_kernel *best, fsim_arena *a)
{
    const fsim_tile_wish one = {FSIM_CHAIN_ROWS_MOST, FSIM_CHAIN_ROWS_MOST / 2, 1};
    layout.tile_m = one.m;
    layout.tile_n = one.n;
    layout.split_k = one.split_k;
    if (c->hw->arch->design != FSIM_BLACKWELL || !x->l->chain->tensor || x->shape.m <= one.m ||
        !fsim_schedule_of(x->l, &layout))
        return;
    layout.tile_m = 2 * one.m;
    layout.tile_n = one.n;
    layout.grid = (int64_t)(x->shape.batch * ceil(x->shape.m / layout.tile_m) * (double)x->l->chained.l.chunks);
    *best = chained_with(c, x, &layout, INFINITY, a);
}

/* Skips tiles that can't win: those of which half the columns would hold the whole width, and those with fewer rows
 * when larger ones already give every SM several blocks. */
fsim_kernel fsim_chained_kernel(const fsim_costing *c, fsim_arena *a)
{
    enum { LEAST = FSIM_CHAIN_LEAST, ENOUGH_ROUNDS = 4 };
    const fsim_group *o = c->group;
    const fsim_chained *f = fsim_chained_of(c->g, c->hw, o, a);
    fsim_kernel best = {0};
    if (!f)
        return by_rows(c, a);
    fsim_layout l = {.g = c->g, .hw = c->hw, .group = o, .chain = f};
    chain x = {.l = &l, .shape = fsim_chain_shape_of(c->g, o, f->tensor)};
    x.shape.batch = (double)f->batches;
    x.shape.m = (double)f->batch_rows;
    for (int i = 0; i < FSIM_CHAIN_OPERANDS; i++)
        if (f->operand[i].widened)
            x.shape.stored_bytes[i] = fsim_dtype_bytes(c->g->tensor[f->operand[i].tensor].dtype);
    x.shape.causal = f->causal ? (double)o->causal : 0;
    fsim_schedule layout = fsim_blank_kernel(c, a).schedule;
    int least = 0;
    try_paired_tiles(c, &x, layout, &best, a);
    for (int i = 0; fsim_next_tile(&l, &i, &layout); i++) {
        const int m = layout.tile_m, n = layout.tile_n;
        if (m < least || (n > LEAST && n / 2 >= x.shape.width))
            continue;
        try_splits(c, &x, layout, &best, a);
        if (best.time_s > 0 && ceil(x.shape.m / m) * x.shape.batch >= ENOUGH_ROUNDS * c->sms)
            least = m / 2;
    }
    return best.time_s > 0 ? best : by_rows(c, a);
}

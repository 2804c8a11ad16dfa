/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"

#include <math.h>
#include <string.h>

/* Fused attention by libraries. A block has the sums of `rows` queries and walks keys and values in steps of `step`. An
 * element of the scores takes an SM
 *
 *     ((4 D flops / (peak x tensor_share))^p + (special_turns / special_rate)^p)^(1 / p)
 *
 * (where special_rate is not 16, it counts for the exponentials only),
 *
 * and each block has a start-up time. The scalars are rows of flash_attention.def, one set for each library. */
typedef enum {
    FLASH_3_TILES,
    FLASH_2_TILES,
    TRT_90_TILES,
    TRT_80_TILES,
    FLASH_4_TILES,
    TRT_100_TILES,
    TRT_ODD_TILES
} tile_set;
typedef struct {
    tile_set set;
    int features, rows, step;
    double share;
} library_tile;
static const library_tile library_tiles[] = {
#define FSIM_ATTENTION(name, tiles, source, ...)
#define FSIM_ATTENTION_TILE(set, features, rows, step, share, source) {set, features, rows, step, share},
#include "vendor/flash_attention.def"
#undef FSIM_ATTENTION
#undef FSIM_ATTENTION_TILE
};

/* The fields are explained in flash_attention.def. */
typedef struct {
    tile_set tiles;
    double tensor_share, special_turns, overlap;
    double block_cycles, small_cycles, step_cycles;
    double resident;
    bool hides, splits, once, copies, pairs;
    double misaligned, copy_share, fits, spread;
    int launches;
    double setup_s;
} attention_library;
#define FSIM_ATTENTION(name, tile_rows, source, ...)                                                                   \
    static const attention_library name = {.tiles = tile_rows, __VA_ARGS__};
#define FSIM_ATTENTION_TILE(set, features, rows, step, share, source)
#include "vendor/flash_attention.def"
#undef FSIM_ATTENTION
#undef FSIM_ATTENTION_TILE

/* The kernels that a software stack has for a design, as named in its measurements. PyTorch has FlashAttention-2
 * up to Ada; on Hopper and Blackwell it prefers cuDNN's attention (sdp_utils.cpp, check_prefer_cudnn_attention), for
 * which the column of vLLM stands: 595 TFLOP/s where FlashAttention-3 has 648 (Shah et al., 2024, figure 5). NULL: not
 * in these measurements. */
enum { VLLM, SGLANG, TENSORRT_LLM, STACKS }; /* VLLM: PyTorch and torch.compile as well */
static const attention_library *const libraries[FSIM_DESIGNS][STACKS] = {
    [FSIM_AMPERE] = {&flash_2, &flash_2, &tensorrt_ampere},
    [FSIM_AMPERE_GRAPHICS] = {&flash_2, &flash_2, &tensorrt_ampere},
    [FSIM_ADA] = {&flash_2, &flash_2, &tensorrt_ampere},
    [FSIM_HOPPER] = {&flash_3_vllm, &flash_3_sglang, &tensorrt_hopper},
    [FSIM_BLACKWELL] = {&flash_4_vllm, &flash_4_sglang, &tensorrt_blackwell},
    [FSIM_BLACKWELL_GRAPHICS] = {&flash_2, &flash_2, &tensorrt_ampere},
};

bool fsim_has_flash(const fsim_hw *hw) { return !hw->host && libraries[hw->arch->design][VLLM]; }

/* Softmax attention in 16 bits, which is all that these libraries have. */
static bool is_attention(const fsim_costing *c)
{
    const fsim_group *o = c->group;
    bool reduces = false;
    for (int i = 0; i < o->members; i++)
        reduces = reduces || (o->member[i].middle && fsim_ops[c->g->node[o->member[i].node].op].class == FSIM_REDUCE);
    for (int i = 0; i < 2; i++) {
        const fsim_dtype t = c->g->node[i ? o->anchor : o->first].gemm.arithmetic;
        if (!reduces || (t != FSIM_F16 && t != FSIM_BF16))
            return false;
    }
    return true;
}

/* Are the features of a head no multiple of 16? TensorRT-LLM's kernels for Blackwell do not have such heads, and
 * kernels of an earlier design serve them. */
static bool is_odd(const fsim_costing *c)
{
    const fsim_chain_shape s = fsim_chain_shape_of(c->g, c->group, true);
    return fmod(fmax(s.k, s.results), 16) > 0;
}

/* The library for a group that is such attention; otherwise NULL. */
static const attention_library *library_of(const fsim_costing *c, fsim_maker maker)
{
    if (!is_attention(c))
        return NULL;
    const int stack = maker == FSIM_BY_TENSORRT_LLM ? TENSORRT_LLM : maker == FSIM_BY_SGLANG ? SGLANG : VLLM;
    const attention_library *l = libraries[c->hw->arch->design][stack];
    return l == &tensorrt_blackwell && is_odd(c) ? &tensorrt_blackwell_odd : l;
}

/* The rule of FlashAttention (hopper/heuristics.h, num_splits_heuristic): no split where blocks fill four fifths of
 * the SMs; otherwise the smallest split whose last round is within 15 % of the best. */
static double splits_of(double blocks, double sms, double steps)
{
    double best = 0;
    if (blocks >= flash_splits_busy * sms || steps <= FLASH_LEAST_STEPS)
        return 1;
    const double most = fmin(fmin(sms, steps), FLASH_MOST_SPLITS);
    for (double s = 1; s <= most; s++)
        best = fmax(best, blocks * s / sms / ceil(blocks * s / sms));
    for (double s = 1; s <= most; s++)
        if (blocks * s / sms / ceil(blocks * s / sms) >= flash_splits_near * best)
            return s;
    return 1;
}

/* How many blocks share a row's keys. FlashAttention-4 has as many as run at
 * once. */
static double shares_of(const attention_library *l, double queries, double blocks, double sms, double steps)
{
    if (!l->splits && queries > FLASH_SMALL_ROWS) /* few queries: every library lets them share their keys */
        return 1;
    if (!l->once)
        return splits_of(blocks, sms, steps);
    return steps <= FLASH_LEAST_STEPS ? 1 : fmax(1, fmin(floor(sms / blocks), fmin(steps, FLASH_MOST_SPLITS)));
}

/* Seconds of all rounds of blocks: full ones, and the last. */
static double rounds_s(const attention_library *l, double blocks, double sms, double one_s, double block_s,
                       double step_s)
{
    const double whole = floor(blocks / (sms * l->resident)), last = ceil((blocks - whole * sms * l->resident) / sms),
                 outside = l->hides ? 0 : block_s, least = step_s + (l->hides ? block_s : 0);
    return whole * (outside + fmax(l->resident * one_s, least)) + (last > 0 ? outside + fmax(last * one_s, least) : 0);
}

/* The narrowest tile that fits a head; otherwise the widest tile of the set. */
static const library_tile *tile_for(tile_set set, double features)
{
    const library_tile *found = NULL;
    for (size_t i = 0; i < sizeof library_tiles / sizeof *library_tiles; i++)
        if (library_tiles[i].set == set && (!found || found->features < features))
            found = &library_tiles[i];
    return found;
}

typedef struct {
    double rows, step, splits, blocks, steps; /* steps: of each block */
    double seconds, l2_bytes;
} attention_work;

/* Seconds of an SM for an element of the scores, where heads are filled up to so many features. */
static double element_s(const fsim_costing *c, const attention_library *l, const library_tile *t, double filled)
{
    const double flops = 4 * filled * c->sms /
                         (fsim_hw_peak(c->hw, FSIM_HW_TENSOR_BF16) * l->tensor_share * t->share *
                          fsim_hw_get(c->hw, FSIM_HW_ATTENTION_SHARE));
    const double special = l->special_turns / c->clock *
                           (attention_exponentials / fsim_hw_get(c->hw, FSIM_HW_SPECIAL_RATE) +
                            (1 - attention_exponentials) / USUAL_EXPONENTIALS);
    return pow(pow(flops, l->overlap) + pow(special, l->overlap), 1 / l->overlap);
}

static attention_work attention_work_of(const fsim_costing *c, const attention_library *l, const fsim_chain_shape *s)
{
    const double features = fmax(s->k, s->results);
    const library_tile *t = tile_for(l->tiles, features);
    const double filled = fmax(t->features, features);
    const bool small = l->small_cycles > 0 && s->m <= FLASH_SMALL_ROWS && filled <= FLASH_SMALL_ROWS;
    const double rows = l->pairs && 2 * s->m <= t->rows ? t->rows / 2.0 : t->rows;
    attention_work w = {.rows = small ? FLASH_SMALL_ROWS : rows, .step = t->step};
    const double causal = s->causal > 0 ? fmin(1, (s->causal + w.rows + w.step) / (2 * s->causal)) : 1;
    const double tiles = s->batch * ceil(s->m / w.rows), steps = ceil(s->width / w.step);
    w.splits = shares_of(l, s->m, tiles, c->sms, steps);
    w.blocks = tiles * w.splits;
    w.steps = fmax(1, ceil(steps / w.splits) * causal);
    const double element = element_s(c, l, t, filled);
    const double aligned = fmod(features * s->elem_bytes, FSIM_SECTOR_BYTES) > 0 ? l->misaligned : 1;
    const double one = w.steps * w.rows * w.step * element * aligned;
    w.seconds = rounds_s(l, w.blocks, c->sms, one, (small ? l->small_cycles : l->block_cycles) / c->clock,
                         w.steps * l->step_cycles / c->clock);
    w.l2_bytes = w.blocks * (w.rows * s->k + s->width / w.splits * causal * (s->k + s->results)) * s->elem_bytes;
    return w;
}

/* Adds `seconds` that overlap with no other unit. */
static void add_after(fsim_kernel *k, fsim_unit unit, double seconds)
{
    seconds = rint(seconds / FSIM_TICK_S) * FSIM_TICK_S;
    k->unit[unit] += seconds;
    k->time[unit] += seconds;
    k->time_s = rint((k->time_s + seconds) / FSIM_TICK_S) * FSIM_TICK_S;
}

bool fsim_beyond_flash(const fsim_costing *c, fsim_maker maker)
{
    const int design = c->hw->arch->design;
    const bool older = design == FSIM_VOLTA || design == FSIM_TURING; /* no flash kernel, whatever the head */
    if (maker > FSIM_BY_INDUCTOR || /* serving stacks have kernels of their own for wide heads */
        c->group->template != FSIM_CHAINED_CONTRACTION || !is_attention(c) || (!older && !library_of(c, maker)))
        return false;
    const fsim_chain_shape s = fsim_chain_shape_of(c->g, c->group, true);
    return fmax(s.k, s.results) > (older ? EFFICIENT_KEYS : FLASH_MOST_FEATURES);
}

bool fsim_has_score_bias(const fsim_costing *c, fsim_maker maker)
{
    const fsim_group *o = c->group;
    if (o->template != FSIM_CHAINED_CONTRACTION || !library_of(c, maker))
        return false;
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].operand < 0 && o->read[i].full && c->g->tensor[o->read[i].tensor].elems > 1)
            return true;
    return false;
}

void fsim_forget_blocks(fsim_kernel *k, int64_t grid, double waves)
{
    k->grid = grid;
    k->waves = waves;
    k->registers = k->shared_bytes = 0;
    k->spilled_bytes = 0;
    k->occupancy = 0;
}

bool fsim_is_of_attention(const fsim_graph *g, const fsim_member *m)
{
    const fsim_op op = g->node[m->node].op;
    const fsim_class class = fsim_ops[op].class;
    return m->middle || class == FSIM_CONTRACTION || class == FSIM_PERMUTE || op == FSIM_OP_COPY;
}

/* Is there nothing else in the group? Besides the results it may store numbers for each row, as training wants; a copy
 * is where the results are written. */
static bool is_attention_alone(const fsim_group *o, const fsim_graph *g)
{
    bool alone = true;
    for (int i = 0, results = 0; i < o->writes && alone; i++) {
        results += g->tensor[o->write[i].tensor].elems > o->rows;
        alone = results <= 1;
    }
    for (int i = 0; i < o->members && alone; i++) {
        alone = fsim_is_of_attention(g, &o->member[i]);
    }
    return alone;
}

fsim_kernel fsim_attention_call(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    static const fsim_maker maker[] = {FSIM_BY_ATEN, FSIM_BY_SGLANG, FSIM_BY_TENSORRT_LLM};
    fsim_kernel best = {0};
    if (own->time_s <= 0 || c->group->template != FSIM_CHAINED_CONTRACTION || c->hw->host || c->hw->arch->plain ||
        !is_attention_alone(c->group, c->g) || fsim_beyond_flash(c, FSIM_BY_ATEN) ||
        fsim_has_score_bias(c, FSIM_BY_ATEN))
        return best;
    for (size_t i = 0; i < sizeof maker / sizeof *maker; i++) {
        const fsim_kernel k =
            library_of(c, maker[i]) ? fsim_framework_attention(c, maker[i], own, a) : (fsim_kernel){0};
        best = k.time_s > 0 && (best.time_s <= 0 || k.time_s < best.time_s) ? k : best;
    }
    best.template = best.time_s > 0 ? FSIM_LIBRARY_CONTRACTION : best.template;
    return best;
}

/* What this library's kernel computes for the chain at least: all of its elements, and the start of each block in turn.
 */
static double least_of(const fsim_costing *c, const attention_library *l, const fsim_chain_pair *pair, double features)
{
    const library_tile *t = tile_for(l->tiles, features);
    const double seen = pair->masked ? 0.5 : 1, /* the mask's tiles reach further */
        elements = pair->rows * pair->width * seen,
                 block = l->small_cycles > 0 ? fmin(l->small_cycles, l->block_cycles) : l->block_cycles,
                 rounds = l->hides ? 0 : ceil(pair->rows / fmax(t->rows, FLASH_SMALL_ROWS) / (c->sms * l->resident)),
                 busy_s =
                     elements * element_s(c, l, t, fmax(t->features, features)) / c->sms + rounds * block / c->clock;
    return busy_s * fmin(1, fsim_hw_get(c->hw, FSIM_HW_ATTENTION_SLOWDOWN));
}

/* If the chain is an attention. INFINITY where no library has such a call. */
static double least_call_s(const fsim_graph *g, const fsim_hw *hw, fsim_chain_pair pair)
{
    const fsim_costing c = {
        .g = g, .hw = hw, .sms = fsim_hw_get(hw, FSIM_HW_SMS), .clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK)};
    const fsim_node *first = &g->node[pair.first], *second = &g->node[pair.second];
    const fsim_dtype t[] = {first->gemm.arithmetic, second->gemm.arithmetic};
    double least = INFINITY;
    for (int i = 0; i < 2; i++)
        if (hw->host || hw->arch->plain || (t[i] != FSIM_F16 && t[i] != FSIM_BF16))
            return INFINITY;
    const double features = fmax((double)first->gemm.k, (double)second->points / pair.rows);
    for (int s = 0; s < STACKS; s++) {
        const attention_library *l = libraries[hw->arch->design][s];
        if (l)
            least = fmin(least, least_of(&c, l, &pair, features));
        if (l == &tensorrt_blackwell)
            least = fmin(least, least_of(&c, &tensorrt_blackwell_odd, &pair, features));
    }
    return least;
}

double fsim_least_chain_call_s(const fsim_graph *g, const fsim_hw *hw, fsim_chain_pair pair, double second_s)
{
    const double ours = fsim_least_chain_s(g, hw, pair, second_s);
    return pair.ours ? ours : fmin(ours, least_call_s(g, hw, pair));
}

void fsim_attention_bytes(const fsim_costing *c, double missed, fsim_kernel *k, fsim_arena *a)
{
    const bool replays = c->l2 && c->l2->replays;
    const fsim_input *from = k->input;
    k->input = fsim_new(a, fsim_input, k->inputs + 1);
    k->dram_read_bytes = k->dram_write_bytes = 0;
    for (int i = 0; i < k->inputs; i++) {
        const bool held = !replays && c->l2 && c->l2->hit && c->l2->hit[i];
        const double all = c->read[i].reread * (double)from[i].bytes;
        k->input[i] = from[i];
        k->input[i].read_bytes = held ? 0 : (int64_t)fmin(replays ? missed * all : all, 0x1p60);
        k->dram_read_bytes += k->input[i].read_bytes;
    }
    for (int i = 0; i < k->outputs; i++)
        k->dram_write_bytes += replays ? (int64_t)(missed * (double)k->output[i].bytes) : k->output[i].write_bytes;
}

fsim_kernel fsim_framework_attention(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    const attention_library *l = library_of(c, maker);
    if (fsim_beyond_flash(c, maker) || fsim_has_score_bias(c, maker))
        return fsim_efficient_attention(c, own, a);
    if (!l)
        return *own;
    const fsim_chain_shape s = fsim_chain_shape_of(c->g, c->group, true);
    const attention_work w = attention_work_of(c, l, &s);
    const double l2 = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH),
                                   fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH) * attention_l2_over_dram),
                 dram = fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    const double operands = s.elem_bytes * s.batch * (s.m * s.k + s.width * (s.k + s.results)),
                 results = s.elem_bytes * s.batch * s.m * s.results;
    const double copied = l->copies ? 2 * operands : 0, footprint = operands + results + copied / 2;
    const double missed = fmin(1, fmax(0, (footprint / fsim_hw_get(c->hw, FSIM_HW_L2_CAPACITY) - l->fits) / l->spread));
    fsim_kernel k = *own;
    fsim_attention_bytes(c, missed, &k, a);
    memset(k.unit, 0, sizeof k.unit);
    memset(k.time, 0, sizeof k.time);
    k.tile_m = (int)w.rows;
    k.tile_n = (int)w.step;
    k.split_k = (int)w.splits;
    fsim_forget_blocks(&k, (int64_t)w.blocks, w.blocks / (c->sms * l->resident));
    k.launches = l->launches + (w.splits > 1);
    k.l2_bytes = w.l2_bytes + copied;
    k.unit[FSIM_COMPUTE] = w.seconds;
    k.unit[FSIM_DRAM] = (double)(k.dram_read_bytes + k.dram_write_bytes) / dram;
    k.unit[FSIM_L2] = w.l2_bytes / (l2 * attention_l2_share);
    fsim_sum_up(c, &k);
    if (l->copies)
        add_after(&k, missed > 0.5 ? FSIM_DRAM : FSIM_L2,
                  copied * (missed / dram + (1 - missed) / (l2 * l->copy_share)));
    if (w.splits > 1) /* partial results in 32 bits are written and read */
        add_after(&k, FSIM_L2,
                  attention_joining_s + 2 * 4 * s.batch * s.m * s.results * w.splits / (l2 * attention_joining_share));
    const double busy = k.time_s - k.time[FSIM_LAUNCH];
    add_after(&k, FSIM_COMPUTE,
              busy * (fsim_hw_get(c->hw, FSIM_HW_ATTENTION_SLOWDOWN) - 1) * busy / (busy + attention_long_s));
    add_after(&k, FSIM_LATENCY, l->setup_s + k.launches * fsim_hw_get(c->hw, FSIM_HW_ATTENTION_FLOOR));
    return k;
}

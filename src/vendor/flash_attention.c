/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"
#include "vendor/kernels.h"

#include <math.h>
#include <string.h>

/* Fused attention as libraries run it. A block keeps the sums of `rows` queries and walks keys and values `step` at a
 * time. An element of the scores takes the SM
 *     ((4 D flops / (peak x tensor_share)) ^ p + (special_turns / special_rate) ^ p) ^ (1 / p)
 * and a block start-up besides. Rows of aiconfigurator's measurements (bf16, not causal, 64 to 80 features a head, 1 to
 * 65536 queries) fitted the scalars: one set a library, for every GPU. Mean error of rows not fitted: 4.8 % vLLM, 6.3 %
 * SGLang, 3.6 % TensorRT-LLM on Hopper, 5.8 % on Ada, 6.5 % FlashAttention-2. */
typedef struct {
    int features; /* of a head, filled up to this many */
    int rows, step;
    double share; /* of the rate that narrower heads reach */
} library_tile;

enum { LIBRARY_TILES = 5, SMALL_ROWS = 64 };

typedef struct {
    library_tile tile[LIBRARY_TILES];
    double tensor_share, special_turns, overlap; /* overlap: the exponent p; 1: one after the other */
    double block_cycles, small_cycles;           /* start and end of a block; of one of SMALL_ROWS rows */
    double step_cycles;                          /* of a block that has its SM to itself */
    double resident;                             /* blocks of an SM at once */
    bool hides;                                  /* a block's start-up is part of the time in which others compute */
    bool small;        /* SMALL_ROWS rows a block for few queries whose heads need no filling */
    bool splits;       /* blocks share a row's keys when rows are few */
    bool copies;       /* a pass before it puts queries, keys and values in place */
    double misaligned; /* times as long where a head's elements are not whole sectors */
    double copy_share; /* of L2 bandwidth, for that pass */
    double fits,
        spread; /* footprint over L2 capacity up to which all is found there, and from there to where nothing is */
    int launches;
    double setup_s; /* beside the kernels' floor */
} attention_library;

static const double l2_share = 0.55;     /* of the bandwidth that reads alone reach */
static const double joining_s = 1.8e-6;  /* the launch that puts split rows together, beside its floor */
static const double joining_share = 0.4; /* of L2 bandwidth, for partial results */
static const double long_s = 1e-3;       /* a kernel this long is half-way to the clock that the power limit sustains */

/* Tiles of the sources of Dao-AILab/flash-attention: hopper/tile_size.h;
 * csrc/flash_attn/src/flash_fwd_launch_template.h. A head of 128 in FlashAttention-3 reaches 648 TFLOP/s on an H100
 * (Shah et al., 2024, figure 5), which sets its share; the wider ones are assumed to do as well. */
#define FLASH_3_TILES                                                                                                  \
    {                                                                                                                  \
        {64, 192, 192, 1}, {96, 192, 144, 1}, {128, 128, 176, 0.8}, {192, 128, 112, 0.9}, { 256, 128, 80, 1 }          \
    }
static const attention_library flash_3_vllm = {.tile = FLASH_3_TILES,
                                               .tensor_share = 0.885,
                                               .special_turns = 1.725,
                                               .overlap = 3,
                                               .block_cycles = 6852,
                                               .small_cycles = 3507,
                                               .resident = 1,
                                               .small = true,
                                               .splits = true,
                                               .misaligned = 1.069,
                                               .fits = 0.65,
                                               .spread = 0.35,
                                               .launches = 2,
                                               .setup_s = 1.18e-6};
static const attention_library flash_3_sglang = {.tile = FLASH_3_TILES,
                                                 .tensor_share = 0.762,
                                                 .special_turns = 1.544,
                                                 .overlap = 3,
                                                 .block_cycles = 6393,
                                                 .small_cycles = 3000,
                                                 .resident = 1,
                                                 .small = true,
                                                 .misaligned = 1.078,
                                                 .fits = 0.65,
                                                 .spread = 0.35,
                                                 .launches = 2,
                                                 .setup_s = 2.27e-6};
static const attention_library flash_2 = {
    .tile = {{64, 128, 128, 1}, {96, 128, 64, 1}, {128, 128, 64, 1}, {192, 128, 64, 1}, {256, 64, 64, 1}},
    .tensor_share = 0.857,
    .special_turns = 1.325,
    .overlap = 1,
    .block_cycles = 2099,
    .resident = 1,
    .misaligned = 1.038,
    .fits = 0.65,
    .spread = 0.35,
    .launches = 2,
    .setup_s = 0.35e-6};
static const attention_library tensorrt_hopper = {.tile = {{64, 128, 256, 1}, {128, 128, 128, 1}, {256, 128, 64, 1}},
                                                  .tensor_share = 0.773,
                                                  .special_turns = 0.615,
                                                  .overlap = 1,
                                                  .block_cycles = 2786,
                                                  .resident = 1,
                                                  .copies = true,
                                                  .misaligned = 1.022,
                                                  .copy_share = 0.378,
                                                  .fits = 1.5,
                                                  .spread = 1.5,
                                                  .launches = 4,
                                                  .setup_s = 1.91e-6};
static const attention_library tensorrt_ampere = {.tile = {{64, 64, 64, 1}, {128, 64, 64, 1}, {256, 64, 64, 1}},
                                                  .tensor_share = 0.888,
                                                  .special_turns = 0.27,
                                                  .overlap = 1,
                                                  .step_cycles = 3464,
                                                  .resident = 2,
                                                  .hides = true,
                                                  .copies = true,
                                                  .misaligned = 1.187,
                                                  .copy_share = 0.855,
                                                  .fits = 1.5,
                                                  .spread = 1.5,
                                                  .launches = 3,
                                                  .setup_s = 1.86e-6};

/* Nothing here measured a Blackwell: assumed from the 71 % of the peak that FlashAttention-4 publishes for heads of 128
 * on a B200, with the start-up and launches of the kernels before. */
#define BLACKWELL_SCALARS                                                                                              \
    .tile = {{64, 256, 128, 1}, {96, 256, 128, 1}, {128, 256, 128, 1}, {192, 256, 128, 1}, {256, 256, 64, 1}},         \
    .tensor_share = 0.95, .special_turns = 1.24, .overlap = 3, .block_cycles = 6800, .resident = 1, .misaligned = 1.05
static const attention_library flash_4 = {BLACKWELL_SCALARS, .splits = true, .fits = 0.65,
                                          .spread = 0.35,    .launches = 2,  .setup_s = 1.18e-6};
static const attention_library tensorrt_blackwell = {BLACKWELL_SCALARS, .copies = true, .copy_share = 0.378,
                                                     .fits = 1.5,       .spread = 1.5,  .launches = 4,
                                                     .setup_s = 1.91e-6};

/* Which kernels a software stack brings for an architecture: those whose measurements name them. PyTorch itself has
 * FlashAttention-2 everywhere; on Hopper its rows here stand for what serving stacks put in its place. The first row
 * that fits. */
static const struct {
    fsim_maker maker;
    int sm; /* at least */
    const attention_library *library;
} libraries[] = {{FSIM_BY_TENSORRT_LLM, 120, &tensorrt_ampere},
                 {FSIM_BY_TENSORRT_LLM, 100, &tensorrt_blackwell},
                 {FSIM_BY_TENSORRT_LLM, 90, &tensorrt_hopper},
                 {FSIM_BY_TENSORRT_LLM, 80, &tensorrt_ampere},
                 {FSIM_BY_SGLANG, 120, &flash_2},
                 {FSIM_BY_SGLANG, 100, &flash_4},
                 {FSIM_BY_SGLANG, 90, &flash_3_sglang},
                 {FSIM_BY_SGLANG, 80, &flash_2},
                 {FSIM_BY_VLLM, 120, &flash_2},
                 {FSIM_BY_VLLM, 100, &flash_4},
                 {FSIM_BY_VLLM, 90, &flash_3_vllm},
                 {FSIM_BY_VLLM, 80, &flash_2},
                 {FSIM_BY_ATEN, 120, &flash_2},
                 {FSIM_BY_ATEN, 100, &flash_4},
                 {FSIM_BY_ATEN, 90, &flash_3_vllm},
                 {FSIM_BY_ATEN, 80, &flash_2},
                 {FSIM_BY_INDUCTOR, 120, &flash_2},
                 {FSIM_BY_INDUCTOR, 100, &flash_4},
                 {FSIM_BY_INDUCTOR, 90, &flash_3_vllm},
                 {FSIM_BY_INDUCTOR, 80, &flash_2}};

/* Softmax attention in 16 bits is what these libraries have; NULL else. */
static const attention_library *library_of(const fsim_costing *c, fsim_maker maker)
{
    const fsim_group *o = c->group;
    bool reduces = false;
    for (int i = 0; i < o->members; i++)
        reduces = reduces || (o->member[i].middle && fsim_ops[c->g->node[o->member[i].node].op].class == FSIM_REDUCE);
    for (int i = 0; i < 2; i++) {
        const fsim_dtype t = c->g->node[i ? o->anchor : o->first].gemm.arithmetic;
        if (!reduces || (t != FSIM_F16 && t != FSIM_BF16))
            return NULL;
    }
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i].maker == maker && c->hw->sm >= libraries[i].sm)
            return libraries[i].library;
    return NULL;
}

/* FlashAttention's own rule (hopper/heuristics.h, num_splits_heuristic): none where blocks fill four fifths of the SMs;
 * else the fewest whose last round is within 15 % of the best. */
static double splits_of(double blocks, double sms, double steps)
{
    enum { LEAST_STEPS = 4, MOST_SPLITS = 128 };
    double best = 0;
    if (blocks >= 0.8 * sms || steps <= LEAST_STEPS)
        return 1;
    const double most = fmin(fmin(sms, steps), MOST_SPLITS);
    for (double s = 1; s <= most; s++)
        best = fmax(best, blocks * s / sms / ceil(blocks * s / sms));
    for (double s = 1; s <= most; s++)
        if (blocks * s / sms / ceil(blocks * s / sms) >= 0.85 * best)
            return s;
    return 1;
}

/* Seconds of all rounds of blocks: whole ones, and the last. */
static double rounds_s(const attention_library *l, double blocks, double sms, double one_s, double block_s,
                       double step_s)
{
    const double whole = floor(blocks / (sms * l->resident)), last = ceil((blocks - whole * sms * l->resident) / sms),
                 outside = l->hides ? 0 : block_s, least = step_s + (l->hides ? block_s : 0);
    return whole * (outside + fmax(l->resident * one_s, least)) + (last > 0 ? outside + fmax(last * one_s, least) : 0);
}

typedef struct {
    double rows, step, splits, blocks, steps; /* steps: of one block */
    double seconds, l2_bytes;
} attention_work;

static attention_work attention_work_of(const fsim_costing *c, const attention_library *l, const fsim_chain_shape *s)
{
    const double features = fmax(s->k, s->results);
    const library_tile *t = l->tile;
    while (t < l->tile + LIBRARY_TILES - 1 && t->features < features && t[1].features > 0)
        t++;
    const double filled = fmax(t->features, features);
    const bool small = l->small && s->m <= SMALL_ROWS && filled <= SMALL_ROWS && filled == features;
    attention_work w = {.rows = small ? SMALL_ROWS : t->rows, .step = t->step};
    const double causal = s->causal > 0 ? fmin(1, (s->causal + w.rows + w.step) / (2 * s->causal)) : 1;
    const double tiles = s->batch * ceil(s->m / w.rows), steps = ceil(s->width / w.step);
    w.splits = l->splits || s->m <= SMALL_ROWS ? splits_of(tiles, c->sms, steps)
                                               : 1; /* few queries: every library shares their keys */
    w.blocks = tiles * w.splits;
    w.steps = fmax(1, ceil(steps / w.splits) * causal);
    const double flops = 4 * filled * c->sms /
                         (fsim_hw_peak(c->hw, FSIM_HW_TENSOR_BF16) * l->tensor_share * t->share *
                          fsim_hw_get(c->hw, FSIM_HW_ATTENTION_SHARE));
    const double special = l->special_turns / (fsim_hw_get(c->hw, FSIM_HW_SPECIAL_RATE) * c->clock);
    const double element = pow(pow(flops, l->overlap) + pow(special, l->overlap), 1 / l->overlap);
    const double aligned = fmod(features * s->elem_bytes, FSIM_SECTOR_BYTES) > 0 ? l->misaligned : 1;
    const double one = w.steps * w.rows * w.step * element * aligned;
    w.seconds = rounds_s(l, w.blocks, c->sms, one, (small ? l->small_cycles : l->block_cycles) / c->clock,
                         w.steps * l->step_cycles / c->clock);
    w.l2_bytes = w.blocks * (w.rows * s->k + s->width / w.splits * causal * (s->k + s->results)) * s->elem_bytes;
    return w;
}

/* `seconds` that no unit overlaps. */
static void add_after(fsim_kernel *k, fsim_unit unit, double seconds)
{
    seconds = rint(seconds / FSIM_TICK_S) * FSIM_TICK_S;
    k->unit[unit] += seconds;
    k->time[unit] += seconds;
    k->time_s = rint((k->time_s + seconds) / FSIM_TICK_S) * FSIM_TICK_S;
}

fsim_kernel fsim_framework_attention(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own)
{
    const attention_library *l = library_of(c, maker);
    if (!l)
        return *own;
    const fsim_chain_shape s = fsim_chain_shape_of(c->g, c->group, true);
    const attention_work w = attention_work_of(c, l, &s);
    const double l2 = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH),
                                   fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH) * 3),
                 dram = fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    const double operands = s.elem_bytes * s.batch * (s.m * s.k + s.width * (s.k + s.results)),
                 results = s.elem_bytes * s.batch * s.m * s.results;
    const double copied = l->copies ? 2 * operands : 0, footprint = operands + results + copied / 2;
    const double missed = fmin(1, fmax(0, (footprint / fsim_hw_get(c->hw, FSIM_HW_L2_CAPACITY) - l->fits) / l->spread));
    double read = 0;
    fsim_kernel k = *own;
    for (int i = 0; i < k.inputs; i++) { /* what is not there although it would fit was not there before; else the
                                            library's own window says how much is */
        const bool cold = !(c->l2 && c->l2->hit && c->l2->hit[i]) && footprint <= c->l2_bytes;
        read += (cold ? 1 : missed) * (double)k.input[i].bytes;
    }
    memset(k.unit, 0, sizeof k.unit);
    memset(k.time, 0, sizeof k.time);
    k.tile_m = (int)w.rows;
    k.tile_n = (int)w.step;
    k.split_k = (int)w.splits;
    k.grid = (int64_t)w.blocks;
    k.launches = l->launches + (w.splits > 1);
    k.l2_bytes = w.l2_bytes + copied;
    k.unit[FSIM_COMPUTE] = w.seconds;
    k.unit[FSIM_DRAM] = (read + missed * results) / dram;
    k.unit[FSIM_L2] = w.l2_bytes / (l2 * l2_share);
    fsim_sum_up(c, &k);
    if (l->copies)
        add_after(&k, missed > 0.5 ? FSIM_DRAM : FSIM_L2,
                  copied * (missed / dram + (1 - missed) / (l2 * l->copy_share)));
    if (w.splits > 1) /* partial results in 32 bits, written and read */
        add_after(&k, FSIM_L2, joining_s + 2 * 4 * s.batch * s.m * s.results * w.splits / (l2 * joining_share));
    const double busy = k.time_s - k.time[FSIM_LAUNCH];
    add_after(&k, FSIM_COMPUTE, busy * (fsim_hw_get(c->hw, FSIM_HW_ATTENTION_SLOWDOWN) - 1) * busy / (busy + long_s));
    add_after(&k, FSIM_LATENCY, l->setup_s + k.launches * fsim_hw_get(c->hw, FSIM_HW_ATTENTION_FLOOR));
    return k;
}

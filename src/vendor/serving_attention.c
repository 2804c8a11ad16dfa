/* SPDX-License-Identifier: Apache-2.0 */
/* serving_attention.c: attention as serving stacks run it: in replays with the cache warm in L2 where it
 * fits, otherwise with what L2 holds at the start.
 *
 * Prefill: a block has a tile of the queries of a head, or with FlashAttention-3 of all heads that share a key head,
 * and walks the keys before them step by step (tilings[] has both sizes, from the libraries' sources):
 *     busy = floor + (compute^3 + memory^3)^(1/3), that times 1 + drift t / (t + 2 ms), + write
 *     compute = max(longest block, all blocks over the SMs + tail x longest block): blocks start in order, the
 *               longest of a head last, so that the last ones run while other SMs have none
 *     a step  = 4 rows keys d / (rate x share) + clocks x rows keys / 128^2
 *     a block = its steps + clocks + clocks x the part of its rows that there are
 *     write   = the cache write before: keys and values read and written, clocks of a token; with the rotary
 *               embedding the queries too, and clocks of 128 features
 * FlashAttention-3 splits the keys where blocks are few. Prompts of one token go the way of decode.
 * Decode: a block has a tile of the query heads that share a key head, and a part of the cache:
 *     busy    = floor + (compute^3 + memory^3)^(1/3) + joining the parts + copies
 *     compute = rounds of blocks x (steps x (clocks + arithmetic) + clocks of a block and of its heads)
 *     joining = s + clocks of a part x parts + the parts through L2
 * Requests of several lengths: the bytes are their sum; a round takes as long as a block in the mean, the last one as
 * long as its longest, and all of them no less than the longest. With a window, blocks walk the steps that it touches.
 * TensorRT-LLM's masked multi-head attention (option masked) has a block for each query head, on FP32 units, and one
 * part; its XQA (option xqa) has caches of 8 bits on Hopper cost what FlashAttention-3's of 16 bits do, with half of
 * the bytes and of the clocks of a step. FlashAttention-2 takes the parts of its heuristic, and copies queries and
 * results into another order where several requests have several key heads; other libraries the fastest number.
 * Decode of latent attention has tiles of 64 heads, on Blackwell tiles of 16 where heads are up to 32, of which the
 * second reads a part of the cache again.
 * The numbers are fitted by bench/rooflines.sh --fit. */
#include "vendor/constants.h"
#include "vendor/serving.h"
#include "vendor/serving_cache.h"

#include <math.h>
#include <string.h>

enum { STEP = 128 };

typedef enum { FLASH_2, FLASH_3, TILES_64, TILES_128, FLASHINFER, TRTLLM_GEN, TRITON, MMHA } tiling;
typedef struct {
    double rows[2]; /* queries of a block, with up to 64 features and with more; decode kernels: with few heads a key
                       head, and with more */
    double keys[4]; /* of a step, with up to 64, 128, 192, more features */
    double few;     /* query heads a key head, up to which rows[0] holds; 0: by features */
    bool packs;     /* query heads that share a key head are rows of one tile */
    bool copies;    /* decode has queries and results copied where requests and key heads are several */
    bool pads;      /* more than 128 features are padded to 256 */
    int most_parts; /* of the keys; 0: not split, -1: FlashAttention-2's heuristic */
} tiling_row;
typedef struct {
    fsim_serving_kind kind;
    fsim_design design;
    tiling tiling;
    double floor, share, block_clocks, filled_clocks, step_clocks, dram, l2, write_clocks, tail, drift, prepare_clocks;
} flash_fit;
/* A row is for any cache, for one of 8 bits, for one of 8 bits with head sizes that the other libraries lack, or for
 * calls with the option `masked`. */
typedef enum { ANY, BYTE, ODD, MASKED } cache;
typedef struct {
    cache of;
    fsim_design design;
    tiling tiling;
    double floor, step_clocks, block_clocks, row_clocks, dram, l2, joining, part_clocks, from, share, byte_factor,
        wide_factor, copies;
} decode_fit;
typedef struct {
    fsim_design design;
    double floor, share, block_clocks, step_clocks, dram, token_clocks;
} mla_context_fit;
typedef struct {
    fsim_design design;
    double floor, step_clocks, block_clocks, dram, l2, joining, from, share, byte_factor;
} mla_decode_fit;

/* FlashAttention 2.7 (splitkv, paged caches), FlashAttention-3 (tile_size_fwd_sm90), FlashInfer (FA2DetermineCtaTileQ),
 * TensorRT-LLM's kernels by their names; vLLM's unified attention in Triton has 16 segments. */
static const tiling_row tilings[] = {
    [FLASH_2] = {{64, 64}, {256, 128, 64, 64}, 0, false, true, false, -1},
    [FLASH_3] = {{192, 128}, {128, 128, 96, 64}, 0, true, false, false, 128},
    [TILES_64] = {{64, 64}, {64, 64, 64, 64}, 0, false, false, true, 0},
    [TILES_128] = {{128, 128}, {128, 128, 128, 128}, 0, false, false, false, 0},
    [FLASHINFER] = {{16, 64}, {128, 128, 128, 128}, 16, true, false, false, 128},
    [TRTLLM_GEN] = {{8, 16}, {128, 128, 128, 128}, 8, true, false, false, 128},
    [TRITON] = {{16, 16}, {128, 128, 128, 128}, 16, true, false, false, 16},
    [MMHA] = {{1, 1}, {128, 128, 128, 128}, 0, false, false, false, 0},
};
static const flash_fit flash_fits[] = {
#define FSIM_SERVING_FLASH(kind, design, ...) {FSIM_SERVING_##kind, FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};
static const decode_fit decode_fits[] = {
#define FSIM_SERVING_DECODE(cache, design, ...) {cache, FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};
static const mla_context_fit mla_context_fits[] = {
#define FSIM_SERVING_MLA_CONTEXT(design, ...) {FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};
static const mla_decode_fit mla_decode_fits[] = {
#define FSIM_SERVING_MLA_DECODE(design, ...) {FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};

static double norm3(double x, double y) { return cbrt(x * x * x + y * y * y); }

static const flash_fit *flash_fit_of(const fsim_serving_site *s)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof flash_fits / sizeof *flash_fits; k++)
            if (flash_fits[k].kind == s->call->kind && flash_fits[k].design == fsim_serving_kin(s, i))
                return fsim_refitted(s->hw, &flash_fits[k]);
    return flash_fits;
}

static double rows_of(const tiling_row *t, double shared, double d)
{
    return t->rows[t->few > 0 ? shared > t->few : d > 64];
}

static double keys_of(const tiling_row *t, double d) { return t->keys[d <= 64 ? 0 : d <= 128 ? 1 : d <= 192 ? 2 : 3]; }

/* The blocks of a call of causal attention. */
typedef struct {
    double rows, keys, blocks, mean, most; /* mean, most: steps of a block */
    double filled, parts, d;
} walk;

/* Sets w->mean and most: of a tile's steps, over at most 64 tiles of a head. */
static void count_steps(double tiles, double tokens_a_tile, double length, double window, walk *w)
{
    enum { LOOKED_AT = 64 };
    const int n = (int)fmin(tiles, LOOKED_AT);
    double sum = 0, most = 0;
    for (int j = 0; j < n; j++) {
        const double tile = tiles > LOOKED_AT ? floor((j + 0.5) * tiles / LOOKED_AT) : j,
                     end = fmin(length, (tile + 1) * tokens_a_tile),
                     steps = fsim_window_steps(window, tile * tokens_a_tile, end, w->keys);
        sum += steps;
        most = fmax(most, steps);
    }
    w->mean = sum / n;
    w->most = window > 0 ? most : ceil(length / w->keys);
}

static walk walk_of(const fsim_serving_site *s, const tiling_row *t)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], kv_heads = v[2], length = v[3], d = v[4];
    walk w = {.rows = rows_of(t, 1, d), .keys = keys_of(t, d), .parts = 1, .d = t->pads && d > 128 ? 256 : d};
    const double group = t->packs ? heads / kv_heads : 1, tiles = ceil(length * group / w.rows);
    w.blocks = batch * heads / group * tiles;
    count_steps(tiles, w.rows / group, length, s->call->option[FSIM_SERVING_WINDOW], &w);
    w.filled = fmin(1, length * group / w.rows);
    if (t->most_parts > 0 && w.blocks < serving_few_blocks * s->sms && w.most > serving_unsplit_steps)
        w.parts = fmax(1, fmin(w.most, floor(s->sms / w.blocks)));
    return w;
}

static double walked_flash_s(const fsim_serving_site *s, const walk *w, const flash_fit *f, double rate)
{
    const double step_s = 4 * w->rows * w->keys * w->d / (rate * f->share) +
                          f->step_clocks * w->rows * w->keys / STEP / STEP / s->clock,
                 block_s = (f->block_clocks + f->filled_clocks * w->filled) / s->clock,
                 one_s = ceil(w->most / w->parts) * step_s + block_s,
                 all_s = w->blocks * (w->mean * step_s + block_s * w->parts) / s->sms,
                 tail_s = w->blocks * w->parts > s->sms ? f->tail * one_s : 0;
    return fmax(one_s, all_s + tail_s);
}

/* Seconds of a byte, of which DRAM moves the share `missed`. On a design without numbers of its own L2 may be hardly
 * wider than DRAM: what it holds takes no longer than from DRAM. */
static double flash_byte_s(const fsim_serving_site *s, const flash_fit *f, double missed)
{
    const double dram = s->dram * f->dram, l2 = s->l2 * f->l2;
    return missed / dram + (1 - missed) / (f->design == s->hw->arch->design ? l2 : fmax(dram, l2));
}

/* Has attention of a prompt products of 8 bits that pay? Its softmax takes what it takes in 16. Units before
 * Blackwell's take 8-bit operands along the summed dimension alone, so that values are transposed first: assumed to
 * take what such products save. */
static bool has_byte_products(const fsim_serving_site *s)
{
    return s->call->option[FSIM_SERVING_BYTES] > 0 && fsim_dtype_bytes(s->call->stored) == 1 &&
           s->hw->arch->design == FSIM_BLACKWELL;
}

fsim_serving_time fsim_serving_flash(const fsim_serving_site *s)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], kv_heads = v[2], length = v[3], d = v[4];
    const bool prepares = s->call->kind == FSIM_SERVING_CONTEXT_ATTENTION;
    if (length <= 1 && !prepares) /* the libraries have their decode kernels run these */
        return fsim_serving_decode(s);
    const flash_fit *f = flash_fit_of(s);
    const walk w = walk_of(s, &tilings[f->tiling]);
    const double compute_s =
        walked_flash_s(s, &w, f, fsim_serving_rate(s, has_byte_products(s) ? s->call->stored : s->call->dtype));
    const double queries = 4 * batch * length * heads * d, keys = 4 * batch * length * kv_heads * d,
                 again = fsim_ramp((queries + keys) / s->l2_bytes, serving_flash_from, serving_flash_ramp),
                 byte_s = flash_byte_s(s, f, again), /* of what the kernel before it has just moved, or moves again */
        memory_s = (queries + keys) * flash_byte_s(s, f, s->replays ? again : s->from_dram),
                 token_s = batch * length / s->sms / s->clock;
    double busy_s = norm3(compute_s, memory_s);
    busy_s *= 1 + f->drift * busy_s / (busy_s + serving_long_s);
    busy_s += w.parts > 1 ? 2 * queries * w.parts / (s->l2 * f->l2) : 0;
    busy_s += 2 * keys * byte_s + f->write_clocks * token_s;
    if (prepares)
        busy_s += queries * byte_s + f->prepare_clocks * token_s * (heads + kv_heads) * d / 128;
    return fsim_serving_sum(compute_s, memory_s, busy_s + f->floor, 2);
}

static bool is_odd(const fsim_serving_site *s)
{
    const double d = s->call->value[4];
    return s->hw->arch->design != FSIM_HOPPER && d != 64 && d != 128 && d != 256;
}

static const decode_fit *decode_row(cache of, fsim_design design)
{
    for (size_t k = 0; k < sizeof decode_fits / sizeof *decode_fits; k++)
        if (decode_fits[k].of == of && decode_fits[k].design == design)
            return &decode_fits[k];
    return NULL;
}

/* XQA has kernels of its own for caches of 8 bits on Hopper. */
static bool is_xqa(const fsim_serving_site *s)
{
    return s->call->option[FSIM_SERVING_XQA] > 0 && s->hw->arch->design == FSIM_HOPPER &&
           fsim_dtype_bytes(s->call->stored) == 1;
}

static const decode_fit *decode_fit_of(const fsim_serving_site *s)
{
    const bool byte = fsim_dtype_bytes(s->call->stored) == 1;
    const decode_fit *f = NULL;
    for (int i = 0; i < FSIM_SERVING_KIN && !f && s->call->option[FSIM_SERVING_MASKED] > 0; i++)
        f = decode_row(MASKED, fsim_serving_kin(s, i));
    for (int i = 0; i < FSIM_SERVING_KIN && !f && byte && is_odd(s); i++)
        f = decode_row(ODD, fsim_serving_kin(s, i));
    for (int i = 0; i < FSIM_SERVING_KIN && !f; i++) {
        f = byte && !is_xqa(s) ? decode_row(BYTE, fsim_serving_kin(s, i)) : NULL;
        f = f ? f : decode_row(ANY, fsim_serving_kin(s, i));
    }
    return fsim_refitted(s->hw, f ? f : decode_fits);
}

fsim_refit_table fsim_flash_table(void) { return FSIM_REFIT_TABLE("FSIM_SERVING_FLASH", flash_fits, flash_fit, floor); }
fsim_refit_table fsim_decode_table(void)
{
    return FSIM_REFIT_TABLE("FSIM_SERVING_DECODE", decode_fits, decode_fit, floor);
}
fsim_refit_table fsim_mla_context_table(void)
{
    return FSIM_REFIT_TABLE("FSIM_SERVING_MLA_CONTEXT", mla_context_fits, mla_context_fit, floor);
}
fsim_refit_table fsim_mla_decode_table(void)
{
    return FSIM_REFIT_TABLE("FSIM_SERVING_MLA_DECODE", mla_decode_fits, mla_decode_fit, floor);
}

static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
enum { SPLITS = sizeof splits / sizeof *splits };

/* How full the waves are that blocks in so many parts make; 0 where fewer parts have as many steps each. */
static double fullness(double blocks, double steps, int parts, double slots)
{
    const double waves = blocks * parts / slots;
    return parts > 1 && ceil(steps / parts) >= ceil(steps / (parts - 1)) ? 0 : waves / ceil(waves);
}

/* FlashAttention-2's num_splits_heuristic, with two blocks on an SM. */
static int flash_2_parts(double sms, double blocks, double steps)
{
    const double slots = 2 * sms;
    const int most = (int)fmin(128, fmin(slots, steps));
    double best = 0;
    if (blocks >= serving_few_blocks * slots || steps <= 1)
        return 1;
    for (int k = 1; k <= most; k++)
        best = fmax(best, fullness(blocks, steps, k, slots));
    for (int k = 1; k <= most; k++)
        if (fullness(blocks, steps, k, slots) >= serving_split_share * best)
            return k;
    return 1;
}

/* A call of decode attention: what all numbers of parts share. */
typedef struct {
    fsim_cache cache;
    double blocks, steps, step_s, block_s, memory_s, part_s; /* steps: of the longest request */
} decoding;

static decoding decoding_of(const fsim_serving_site *s, const decode_fit *f)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], kv_heads = v[2], length = v[3], d = v[4];
    const tiling_row *t = &tilings[f->tiling];
    const fsim_cache held = {s->call, length, keys_of(t, d)};
    const double bytes = fsim_dtype_bytes(s->call->stored), shared = heads / kv_heads, rows = rows_of(t, shared, d),
                 keys = held.keys, tiles = ceil(shared / rows),
                 cached = 2 * batch * kv_heads * fsim_cache_tokens(&held) * d * bytes +
                          batch * kv_heads * fsim_cache_table_bytes(&held),
                 missed = fsim_serving_missed(s, cached, f->from, serving_cache_ramp),
                 slow = (is_xqa(s)    ? serving_xqa_byte
                         : bytes == 1 ? f->byte_factor
                                      : 1) *
                        (d > 128 ? f->wide_factor : 1),
                 rate = fsim_serving_rate(s, s->call->dtype) * f->share,
                 by_d = f->tiling == FLASH_3 ? 1 + serving_flash_3_block * (d / 128 - 1) : 1;
    return (decoding){.cache = held,
                      .blocks = batch * kv_heads * tiles,
                      .steps = fsim_cache_most_steps(&held),
                      .step_s = slow * (f->step_clocks * d / 128 * keys / STEP / s->clock + 4 * rows * keys * d / rate),
                      .block_s = (f->block_clocks * by_d + f->row_clocks * d / 128 * fmin(shared, rows)) / s->clock,
                      .memory_s = cached * (missed / (s->dram * f->dram) + (1 - missed) * tiles / (s->l2 * f->l2)),
                      .part_s = f->part_clocks / s->clock + 8 * batch * heads * d / (s->l2 * f->l2)};
}

/* Rounds of blocks, each of them a part of a request's cache. */
static double in_rounds_s(const fsim_cache *c, double parts, double rounds, double step_s, double block_s)
{
    const fsim_cache_steps n = fsim_cache_steps_of(c, parts, rounds);
    return fmax(n.most * step_s + block_s, rounds * (n.mean * step_s + block_s) + (n.last - n.mean) * step_s);
}

/* Compute alone with the cache in so many parts. */
static double rounds_s(const fsim_serving_site *s, const decoding *c, int parts)
{
    const double on_each = c->blocks * parts / s->sms,
                 rounds = fmax(1, on_each < 8 ? ceil(on_each - serving_slack) : on_each);
    return in_rounds_s(&c->cache, parts, rounds, c->step_s, c->block_s);
}

static double in_parts_s(const fsim_serving_site *s, const decode_fit *f, const decoding *c, int parts)
{
    return norm3(rounds_s(s, c, parts), c->memory_s) + (parts > 1 ? f->joining + c->part_s * parts : 0);
}

static int parts_of(const fsim_serving_site *s, const decode_fit *f, const decoding *c)
{
    const tiling_row *t = &tilings[f->tiling];
    const double *v = s->call->value;
    int best = 1;
    if (t->most_parts < 0)
        return v[1] > v[2] ? flash_2_parts(s->sms, c->blocks, c->steps) : 1;
    for (int i = 1; i < SPLITS && splits[i] <= fmin(c->steps, t->most_parts); i++)
        best = in_parts_s(s, f, c, splits[i]) < in_parts_s(s, f, c, best) ? splits[i] : best;
    return best;
}

fsim_serving_time fsim_serving_decode(const fsim_serving_site *s)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], kv_heads = v[2], d = v[4];
    const decode_fit *f = decode_fit_of(s);
    const decoding c = decoding_of(s, f);
    const int parts = parts_of(s, f, &c);
    const bool copied = tilings[f->tiling].copies && batch > 1 && kv_heads > 1 && heads > kv_heads;
    const double copies_s = copied ? f->copies + 8 * batch * heads * d / s->dram : 0;
    return fsim_serving_sum(rounds_s(s, &c, parts), c.memory_s, in_parts_s(s, f, &c, parts) + copies_s + f->floor,
                            copied ? 4 : 2);
}

/* Causal attention with `blocks` tiles of 128 queries, `tiles` in a row of them. */
static double walked_s(const fsim_serving_site *s, double blocks, double tiles, double step_s, double block_s)
{
    return fmax(blocks * ((tiles + 1) / 2 * step_s + block_s) / s->sms, tiles * step_s + block_s);
}

static const mla_context_fit *mla_context_fit_of(const fsim_serving_site *s)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof mla_context_fits / sizeof *mla_context_fits; k++)
            if (mla_context_fits[k].design == fsim_serving_kin(s, i))
                return fsim_refitted(s->hw, &mla_context_fits[k]);
    return mla_context_fits;
}

fsim_serving_time fsim_serving_context_mla(const fsim_serving_site *s)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], length = v[2], key = v[3], value = v[4];
    const mla_context_fit *f = mla_context_fit_of(s);
    const double tiles = ceil(length / STEP), rate = fsim_serving_rate(s, s->call->dtype) * f->share,
                 step_s = 2 * (double)STEP * STEP * (key + value) / rate + f->step_clocks / s->clock,
                 compute_s = walked_s(s, batch * heads * tiles, tiles, step_s, f->block_clocks / s->clock);
    const double bytes = 2 * batch * length * heads * (2 * key + 2 * value),
                 memory_s = bytes / (s->dram * f->dram) *
                            fsim_serving_missed(s, bytes, serving_cache_ramp, serving_flash_ramp),
                 preparing_s = f->token_clocks * batch * length * heads / s->sms / s->clock;
    return fsim_serving_sum(compute_s, memory_s, norm3(compute_s, memory_s) + preparing_s + f->floor, 2);
}

static const mla_decode_fit *mla_decode_fit_of(const fsim_serving_site *s)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof mla_decode_fits / sizeof *mla_decode_fits; k++)
            if (mla_decode_fits[k].design == fsim_serving_kin(s, i))
                return fsim_refitted(s->hw, &mla_decode_fits[k]);
    return mla_decode_fits;
}

enum { MLA_TILE = 64 };

/* The heads of a tile: trtllm-gen, which Blackwell has, also comes with tiles of 16. */
static double mla_tile(const mla_decode_fit *f, double heads)
{
    enum { FEW = 16 };
    return f->design == FSIM_BLACKWELL && heads <= 2 * FEW ? FEW : MLA_TILE;
}

/* The weights are absorbed: all heads read one cache, in tiles of heads. */
fsim_serving_time fsim_serving_decode_mla(const fsim_serving_site *s)
{
    enum { KEYS = 64 };
    const double *v = s->call->value, batch = v[0], heads = v[1], length = v[2], latent = v[3], rotary = v[4];
    const mla_decode_fit *f = mla_decode_fit_of(s);
    const fsim_cache held = {s->call, length, KEYS};
    const double bytes = fsim_dtype_bytes(s->call->stored), tile = mla_tile(f, heads), tiles = ceil(heads / tile),
                 cached = batch * fsim_cache_tokens(&held) * (latent + rotary) * bytes +
                          batch * fsim_cache_table_bytes(&held),
                 slow = bytes == 1 ? f->byte_factor : 1,
                 missed = fsim_serving_missed(s, cached, f->from, serving_cache_ramp),
                 steps = fsim_cache_most_steps(&held),
                 part = fmax(tile, heads) / tile, /* of a tile that every head reads the cache for */
        again = tile < MLA_TILE ? 1 + serving_mla_again * (tiles - 1) : 1;
    const double memory_s = cached * (missed * again / (s->dram * f->dram) + (1 - missed) * part / (s->l2 * f->l2)),
                 rate = fsim_serving_rate(s, s->call->dtype) * f->share;
    double best = INFINITY, compute_s = 0;
    for (int i = 0; i < SPLITS && (i == 0 || steps >= splits[i]); i++) {
        const double step_s = slow * (f->step_clocks / s->clock + 2 * tile * KEYS * (2 * latent + rotary) / rate),
                     on_each = batch * tiles * splits[i] / s->sms,
                     rounds = fmax(1, on_each < 6 ? ceil(on_each - serving_slack) : on_each),
                     all_s = in_rounds_s(&held, splits[i], rounds, step_s, f->block_clocks / s->clock),
                     joining_s =
                         splits[i] > 1 ? f->joining + 8 * batch * heads * latent * splits[i] / (s->l2 * f->l2) : 0,
                     seconds = norm3(all_s, memory_s) + joining_s;
        compute_s = seconds < best ? all_s : compute_s;
        best = fmin(best, seconds);
    }
    const double queries_s = 4 * batch * heads * (latent + rotary) / s->dram;
    return fsim_serving_sum(compute_s, memory_s, best + queries_s + f->floor, 2);
}

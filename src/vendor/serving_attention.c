/* SPDX-License-Identifier: Apache-2.0 */
/* serving_attention.c: attention as serving stacks run it, with the cache warm in L2 where it fits.
 *
 * Prefill (causal):
 *     busy  = floor + (compute^3 + memory^3)^(1/3), the latter times 1 + drift t / (t + 2 ms); and with the rotary
 *             embedding and the cache write its own bytes and clocks
 *     compute = max(all blocks over the SMs, the longest block); a block has 128 queries of a head and walks the keys
 *             before it in steps of 128: 4 x 128 x 128 x d / (rate x share) + clocks of a step
 * Decode: a block has a tile of the query heads that share a key head, and a part of the cache:
 *     busy  = floor + min over splits of (compute^3 + memory^3)^(1/3) + joining
 *     compute = rounds of blocks x (steps x (clocks + arithmetic) + clocks of a block) */
#include "vendor/constants.h"
#include "vendor/serving.h"

#include <math.h>
#include <string.h>

enum { STEP = 128 };

typedef struct {
    fsim_serving_kind kind;
    fsim_design design;
    double floor, share, block_clocks, step_clocks, dram, l2, prepare_clocks, drift;
} flash_fit;
typedef enum { ANY, BYTE } cache; /* a row is for any cache, or for one of 8 bits */
typedef struct {
    cache of;
    fsim_design design;
    double tile, floor, step_clocks, block_clocks, dram, l2, joining, from, share, byte_factor, unsplit_clocks;
} decode_fit;
typedef struct {
    fsim_design design;
    double floor, share, block_clocks, step_clocks, dram, token_clocks;
} mla_context_fit;
typedef struct {
    fsim_design design;
    double floor, step_clocks, block_clocks, dram, l2, joining, from, share, byte_factor;
} mla_decode_fit;

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
                return &flash_fits[k];
    return flash_fits;
}

/* Causal attention with `blocks` tiles of 128 queries, `tiles` in a row of them. */
static double walked_s(const fsim_serving_site *s, double blocks, double tiles, double step_s, double block_s)
{
    return fmax(blocks * ((tiles + 1) / 2 * step_s + block_s) / s->sms, tiles * step_s + block_s);
}

fsim_serving_time fsim_serving_flash(const fsim_serving_site *s)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], kv_heads = v[2], length = v[3], d = v[4];
    const bool prepares = s->call->kind == FSIM_SERVING_CONTEXT_ATTENTION;
    const flash_fit *f = flash_fit_of(s);
    if (length == 1 && !prepares && f->design == FSIM_BLACKWELL) /* vLLM has its decode kernel run these there */
        return fsim_serving_decode(s);
    const double tiles = ceil(length / STEP), rate = fsim_serving_rate(s, s->call->dtype),
                 blocks =
                     length == 1 && !prepares ? batch * kv_heads * ceil(heads / kv_heads / 64) : batch * heads * tiles,
                 filled = fmin(1, ceil(length / 16) * 16 / STEP); /* few keys: a step is short */
    const double step_s = (4 * (double)STEP * STEP * d / (rate * f->share) + f->step_clocks / s->clock) * filled,
                 compute_s = walked_s(s, blocks, tiles, step_s, f->block_clocks / s->clock);
    const double bytes = 2 * batch * length * (2 * heads + 2 * kv_heads) * d,
                 missed = fsim_ramp(bytes / s->l2_bytes, serving_flash_from, serving_flash_ramp),
                 byte_s = missed / (s->dram * f->dram) + (1 - missed) / (s->l2 * f->l2);
    double busy_s = norm3(compute_s, bytes * byte_s);
    busy_s *= 1 + f->drift * busy_s / (busy_s + serving_long_s);
    if (prepares)
        busy_s += 2 * batch * length * (2 * heads + 4 * kv_heads) * d * byte_s +
                  f->prepare_clocks * batch * length * (heads + kv_heads) * d / 128 / s->sms / s->clock;
    return fsim_serving_sum(compute_s, bytes * byte_s, busy_s + f->floor, 1 + prepares);
}

static const decode_fit *decode_fit_of(const fsim_serving_site *s)
{
    const bool byte = fsim_dtype_bytes(s->call->stored) == 1;
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (int narrow = byte; narrow >= 0; narrow--)
            for (size_t k = 0; k < sizeof decode_fits / sizeof *decode_fits; k++)
                if (decode_fits[k].of == (narrow ? BYTE : ANY) && decode_fits[k].design == fsim_serving_kin(s, i))
                    return &decode_fits[k];
    return decode_fits;
}

static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
enum { SPLITS = sizeof splits / sizeof *splits };

fsim_serving_time fsim_serving_decode(const fsim_serving_site *s)
{
    const double *v = s->call->value, batch = v[0], heads = v[1], kv_heads = v[2], length = v[3], d = v[4];
    const decode_fit *f = decode_fit_of(s);
    const double bytes = fsim_dtype_bytes(s->call->stored), shared = heads / kv_heads, tiles = ceil(shared / f->tile),
                 cached = 2 * batch * kv_heads * length * d * bytes, slow = bytes == 1 ? f->byte_factor : 1,
                 missed = fsim_ramp(cached / s->l2_bytes, f->from, serving_cache_ramp), steps = ceil(length / STEP);
    const bool unsplit = f->unsplit_clocks > 0 && shared <= 1;
    const double memory_s = cached * (missed / (s->dram * f->dram) + (1 - missed) * tiles / (s->l2 * f->l2)),
                 clocks = unsplit ? f->unsplit_clocks : f->step_clocks,
                 rate = fsim_serving_rate(s, s->call->dtype) * f->share;
    double best = INFINITY, compute_s = 0;
    for (int i = 0; i < SPLITS && (i == 0 || (steps >= splits[i] && !unsplit)); i++) {
        const double step_s = slow * (clocks * d / 128 / s->clock + 4 * f->tile * STEP * d / rate),
                     block_s = ceil(steps / splits[i]) * step_s + f->block_clocks / s->clock,
                     on_each = batch * kv_heads * tiles * splits[i] / s->sms,
                     rounds = fmax(1, on_each < 8 ? ceil(on_each - serving_slack) : on_each),
                     all_s = block_s * (rounds > 1 ? serving_again * rounds + 1 - serving_again : 1),
                     joining_s = splits[i] > 1 ? f->joining + 8 * batch * heads * d * splits[i] / (s->l2 * f->l2) : 0,
                     seconds = norm3(all_s, memory_s) + joining_s;
        compute_s = seconds < best ? all_s : compute_s;
        best = fmin(best, seconds);
    }
    return fsim_serving_sum(compute_s, memory_s, best + f->floor, 2);
}

static const mla_context_fit *mla_context_fit_of(const fsim_serving_site *s)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof mla_context_fits / sizeof *mla_context_fits; k++)
            if (mla_context_fits[k].design == fsim_serving_kin(s, i))
                return &mla_context_fits[k];
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
                            fsim_ramp(bytes / s->l2_bytes, serving_cache_ramp, serving_flash_ramp),
                 preparing_s = f->token_clocks * batch * length * heads / s->sms / s->clock;
    return fsim_serving_sum(compute_s, memory_s, norm3(compute_s, memory_s) + preparing_s + f->floor, 2);
}

static const mla_decode_fit *mla_decode_fit_of(const fsim_serving_site *s)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof mla_decode_fits / sizeof *mla_decode_fits; k++)
            if (mla_decode_fits[k].design == fsim_serving_kin(s, i))
                return &mla_decode_fits[k];
    return mla_decode_fits;
}

/* The weights are absorbed: all heads read one cache, in tiles of 64 heads. */
fsim_serving_time fsim_serving_decode_mla(const fsim_serving_site *s)
{
    enum { TILE = 64, KEYS = 64 };
    const double *v = s->call->value, batch = v[0], heads = v[1], length = v[2], latent = v[3], rotary = v[4];
    const mla_decode_fit *f = mla_decode_fit_of(s);
    const double bytes = fsim_dtype_bytes(s->call->stored), tiles = fmax(1, ceil(heads / TILE)),
                 cached = batch * length * (latent + rotary) * bytes, slow = bytes == 1 ? f->byte_factor : 1,
                 missed = fsim_ramp(cached / s->l2_bytes, f->from, serving_cache_ramp), steps = ceil(length / KEYS),
                 part = fmax(TILE, heads) / TILE; /* of a tile that every head reads the cache for */
    const double memory_s = cached * (missed / (s->dram * f->dram) + (1 - missed) * part / (s->l2 * f->l2)),
                 rate = fsim_serving_rate(s, s->call->dtype) * f->share;
    double best = INFINITY, compute_s = 0;
    for (int i = 0; i < SPLITS && (i == 0 || steps >= splits[i]); i++) {
        const double step_s =
                         slow * (f->step_clocks / s->clock + 2 * (double)TILE * KEYS * (2 * latent + rotary) / rate),
                     on_each = batch * tiles * splits[i] / s->sms,
                     rounds = fmax(1, on_each < 6 ? ceil(on_each - serving_slack) : on_each),
                     all_s = rounds * (ceil(steps / splits[i]) * step_s + f->block_clocks / s->clock),
                     joining_s =
                         splits[i] > 1 ? f->joining + 8 * batch * heads * latent * splits[i] / (s->l2 * f->l2) : 0,
                     seconds = norm3(all_s, memory_s) + joining_s;
        compute_s = seconds < best ? all_s : compute_s;
        best = fmin(best, seconds);
    }
    const double queries_s = 4 * batch * heads * (latent + rotary) / s->dram;
    return fsim_serving_sum(compute_s, memory_s, best + queries_s + f->floor, 2);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* serving_moe.c: a rank's share of a gated mixture of experts: routing, permutation, two grouped products, combination.
 *
 *     busy = floor + experts + active experts + sum over both products of (compute^2.5 + DRAM^2.5)^0.4 + permutation
 * A grouped product has for each active expert the tiles that its rows fill, in rounds over the SMs as in
 * serving_product.c; each product has the fastest of the tiles that the library has. Balanced routing gives each expert
 * the same number of rows, and the ranks that get more the first. The permutation's passes over tokens find in an L2
 * that is one piece (Ada) what the replay before left there, as far as inputs and results fit. Skewed routing draws an
 * expert's load from x^-alpha on [1, 0.8 tokens]; the most loaded rank is what counts. Its load over the mean: the
 * larger of what the spread of loads makes of a rank's sum, 1.5 x (standard deviation / root of experts a rank) x the
 * expected largest of so many ranks, and of what the most loaded expert alone makes of it. An expert with any row takes
 * a time of its own in 8 bits, beside that of each expert of the rank: found in the errors of rows not fitted, perhaps
 * the descriptors that a grouped product writes for its operands; in 16 bits it brought nothing. vLLM's kernel in
 * Triton, which Ampere's rows ran, has tiles of its own: 16 x 32 for at most as many tokens as a rank has experts, else
 * 64 x 64 (its get_default_config), but for mixtures of up to 8 experts, for which it ships the fastest; each expert
 * that may have a row takes its time; and all ranks' routed rows pass through memory on every rank (its
 * fused_experts_impl). */
#include "input/routing.h"
#include "vendor/constants.h"
#include "vendor/serving.h"

#include <math.h>

typedef struct {
    fsim_serving_kind kind;
    fsim_design design;
    double floor, share, startup, clocks, weights, activations, expert_s, routed_passes, token_passes, from, l2,
        active_s;
} fit;

static const fit fits[] = {
#define FSIM_SERVING_EXPERTS(kind, design, ...) {FSIM_SERVING_##kind, FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};

/* Is it vLLM's kernel in Triton? */
static bool is_triton(const fit *f) { return f->kind == FSIM_SERVING_MOE && f->design == FSIM_AMPERE; }

/* Ampere's measured kernels are vLLM's in Triton; CUTLASS runs there what it runs on Ada. */
static bool has_own(const fsim_serving_site *s, const fit *f)
{
    return f->kind == s->call->kind && !(f->design == FSIM_AMPERE && s->call->option[FSIM_SERVING_CUTLASS] > 0);
}

static const fit *fit_of(const fsim_serving_site *s)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof fits / sizeof *fits; k++)
            if (has_own(s, &fits[k]) && fits[k].design == fsim_serving_kin(s, i))
                return fsim_refitted(s->hw, &fits[k]);
    return fits;
}

fsim_refit_table fsim_experts_table(void) { return FSIM_REFIT_TABLE("FSIM_SERVING_EXPERTS", fits, fit, floor); }

enum { ANY_HEIGHT = -1, HEIGHTS = 5, LAUNCHES = 6, MOST_TUNED = 8 };
static const int heights[HEIGHTS] = {16, 32, 64, 128, 256};

/* A tile of heights[h] routed rows and so many columns of the weights. */
typedef struct {
    int h, width;
} tile;

typedef struct {
    const tile *at;
    int count;
} tiling;

#define TILING(list)                                                                                                   \
    {                                                                                                                  \
        list, sizeof list / sizeof *list                                                                               \
    }

/* CUTLASS's grouped products of 8 bits on Ada, as TensorRT-LLM compiles them (cutlass_heuristic.cpp,
 * get_candidate_tiles); vLLM's kernel in Triton by its get_default_config; any. */
static const tile ada_bytes[] = {{0, 256}, {1, 128}, {2, 128}, {2, 64}, {3, 64}, {3, 256}, {4, 128}},
                  triton_few[] = {{0, 32}}, triton_many[] = {{2, 64}},
                  any[] = {{0, 64}, {0, 128}, {0, 256}, {1, 64}, {1, 128}, {1, 256},
                           {2, 64}, {2, 128}, {2, 256}, {3, 64}, {3, 128}, {3, 256}};

/* What a rank's experts get. */
typedef struct {
    double tokens, experts, topk, ranks;
    double mine;           /* experts of a rank */
    double rows, active;   /* of the most loaded rank: routed rows, experts with any */
    double tiles[HEIGHTS]; /* of each height that the rows fill */
} routing;

static void route_evenly(routing *r)
{
    const double rows = r->tokens * r->topk / r->ranks;
    r->active = fmin(r->mine, fmax(1, ceil(rows - serving_slack)));
    r->rows = fmax(1, rows);
    for (int h = 0; h < HEIGHTS; h++)
        r->tiles[h] = floor(r->active) * ceil((rows > 1 ? rows / r->active : 1) / heights[h] - serving_slack);
}

static void route_skewed(routing *r, const fsim_routing *of)
{
    double load[FSIM_MOST_EXPERTS];
    const int mine = fsim_routed_loads(of, load);
    r->rows = 0;
    for (int i = 0; i < mine; i++) {
        const double likely = 1 - exp(-load[i]);
        r->rows += load[i];
        r->active += likely;
        for (int h = 0; h < HEIGHTS; h++)
            r->tiles[h] += likely * ceil(fmax(1, load[i] / fmax(likely, serving_slack)) / heights[h] - serving_slack);
    }
    r->active = fmax(1, r->active);
}

static double element_bytes(fsim_serving_kind kind)
{
    return kind == FSIM_SERVING_MOE ? 2 : kind == FSIM_SERVING_MOE_NVFP4 ? serving_nvfp4_bytes : 1;
}

typedef struct {
    const fsim_serving_site *s;
    const fit *f;
    const routing *r;
    tiling tiles;
    double rate, bytes, byte_s; /* of an element; seconds of a byte of weights */
    double missed;              /* the share of what passes through memory that L2 does not hold */
    double compute_s, dram_s;   /* of both products, with the fastest tiles */
} pricing;

/* One grouped product by the fastest of its tiles of heights[h] rows, or of ANY_HEIGHT: k to n for each routed row. */
static double grouped_s(const pricing *p, int h, double n, double k, double *compute_s, double *dram_s)
{
    const fit *f = p->f;
    *compute_s = INFINITY;
    for (int i = 0; i < p->tiles.count; i++) {
        const tile *t = &p->tiles.at[i];
        if (h != ANY_HEIGHT && t->h != h)
            continue;
        const double blocks = p->r->tiles[t->h] * ceil(n / t->width), m = heights[t->h],
                     one = 2 * m * t->width * (k + f->startup) / (p->rate * f->share) *
                           (1 + serving_narrow * (128 / m + 128 / (double)t->width - 2)),
                     alone = k * f->clocks / p->s->clock, full = floor(blocks / p->s->sms);
        *compute_s = fmin(*compute_s, full * fmax(one, alone / 2) + (blocks > full * p->s->sms ? fmax(one, alone) : 0));
    }
    *dram_s = p->r->active * n * k * p->bytes * p->byte_s +
              p->r->rows * (k * p->bytes + 2 * n) / (p->s->dram * f->activations);
    return pow(pow(*compute_s, serving_product_norm) + pow(*dram_s, serving_product_norm), 1 / serving_product_norm);
}

static tiling tiles_of(const fit *f, const routing *r)
{
    if (is_triton(f) && r->experts > MOST_TUNED)
        return r->tokens <= r->mine ? (tiling)TILING(triton_few) : (tiling)TILING(triton_many);
    if (f->kind == FSIM_SERVING_MOE_F8 && f->design == FSIM_ADA)
        return (tiling)TILING(ada_bytes);
    return (tiling)TILING(any);
}

/* Seconds of what passes through memory beside the products. */
static double passes_s(const pricing *p, double hidden, double width)
{
    const routing *r = p->r;
    const double elements =
        is_triton(p->f)
            ? r->tokens * r->topk * (serving_triton_width_passes * width + serving_triton_hidden_passes * hidden)
            : (r->rows * p->f->routed_passes + r->tokens * p->f->token_passes) * hidden;
    return elements * 2 * (p->missed / p->s->dram + (1 - p->missed) / (p->f->l2 * p->s->sms * p->s->clock));
}

/* vLLM's kernel in Triton has tiles of one height in both products. */
static double products_s(pricing *p, double hidden, double width)
{
    const bool one_height = is_triton(p->f);
    double best = INFINITY;
    for (int h = one_height ? 0 : ANY_HEIGHT; h < (one_height ? HEIGHTS : 0); h++) {
        double compute[2], dram[2];
        const double seconds = grouped_s(p, h, 2 * width, hidden, &compute[0], &dram[0]) +
                               grouped_s(p, h, hidden, width, &compute[1], &dram[1]);
        p->compute_s = seconds < best ? compute[0] + compute[1] : p->compute_s;
        p->dram_s = seconds < best ? dram[0] + dram[1] : p->dram_s;
        best = fmin(best, seconds);
    }
    return best;
}

fsim_serving_time fsim_serving_experts(const fsim_serving_site *s)
{
    const double *v = s->call->value, hidden = v[1], width = v[2];
    const fit *f = fit_of(s);
    routing r = {.tokens = fmax(1, v[0]), .experts = fmax(1, v[3]), .topk = fmax(1, v[4]), .ranks = fmax(1, v[6])};
    r.mine = fmax(1, r.experts / r.ranks);
    const fsim_routing of = {r.tokens, r.experts, r.topk, r.ranks, v[7]};
    if (fsim_is_skewed(&of))
        route_skewed(&r, &of);
    else
        route_evenly(&r);
    pricing p = {.s = s, .f = f, .r = &r, .tiles = tiles_of(f, &r), .bytes = element_bytes(s->call->kind)};
    p.rate = s->call->kind == FSIM_SERVING_MOE_NVFP4
                 ? fsim_serving_rate_of_fours(s)
                 : fsim_serving_rate(s, s->call->kind == FSIM_SERVING_MOE ? FSIM_BF16 : FSIM_F8E4M3);
    const double least_s = 6 * r.rows * hidden * width / (p.rate * s->sms);
    const double tokens_bytes = 2 * r.tokens * hidden * 2, weights_bytes = r.active * 3 * hidden * width * p.bytes,
                 missed = fsim_serving_missed(s, weights_bytes, f->from, serving_ramp);
    p.missed = f->design == FSIM_ADA ? fsim_serving_missed(s, tokens_bytes, serving_ramp, serving_ramp) : 1;
    p.byte_s = missed / (s->dram * f->weights) + (1 - missed) / (f->l2 * s->sms * s->clock);
    const double both_s = fmax(least_s, products_s(&p, hidden, width)),
                 floor_s = fmax(0, f->floor - LAUNCHES * fsim_hw_get(s->hw, FSIM_HW_LAUNCH_GRAPH)),
                 experts = is_triton(f) ? fmin(r.experts, r.tokens * r.topk) : r.experts;
    return fsim_serving_sum(
        p.compute_s, p.dram_s,
        floor_s + f->expert_s * experts + f->active_s * r.active + both_s + passes_s(&p, hidden, width), LAUNCHES);
}

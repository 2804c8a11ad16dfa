/* SPDX-License-Identifier: Apache-2.0 */
/* serving_product.c: matrix products with quantised operands, with what quantises the activation where that is part of
 * the call.
 *
 *     busy    = (compute^2.5 + DRAM^2.5 + L2^2.5)^0.4, of the fastest tile and split that the library has
 *     compute = full rounds x max(one, alone / 2) + max(one, alone) of the last round
 *     one     = 2 tile_m tile_n (k / split + start-up) / rate / share x (1 + 0.12 (128 / tile_m + 128 / tile_n - 2))
 *     alone   = 2 tile_m tile_n (k / split) / rate / share of one block + (k / split + start-up) clocks
 * Libraries that choose their tile by m alone, and that do not split k, are in `choices`. With up to 4 rows the
 * integer libraries of TensorRT-LLM have kernels without tiles, which are bound by the weights. Replays rotate copies
 * of the weights, so that L2 holds none that are larger than a share of it. Otherwise DRAM moves what L2 does not hold
 * at the start. */
#include "vendor/constants.h"
#include "vendor/serving.h"

#include <math.h>

typedef struct {
    fsim_serving_kind kind;
    fsim_design design;
    double share, alone, startup, clocks, l2, dram, split, floor, rest_from, weights_from, drift;
    double few_floor, few_dram, few_clocks;
} fit;

static const fit fits[] = {
#define FSIM_SERVING_PRODUCT(kind, design, ...) {FSIM_SERVING_##kind, FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};

typedef struct {
    int m, n;
} tile;

static const tile all_tiles[] = {{16, 64},  {16, 128}, {32, 64},  {32, 128},  {64, 32},   {64, 64},  {64, 128},
                                 {64, 256}, {128, 32}, {128, 64}, {128, 128}, {128, 256}, {256, 64}, {256, 128}},
                  few_tiles[] = {{16, 64},  {16, 128}, {32, 64},   {32, 128},  {64, 64},
                                 {64, 128}, {128, 64}, {128, 128}, {128, 256}, {256, 128}},
                  row_tiles[] = {{64, 64}, {64, 128}, {128, 128}},
                  wide_tiles[] = {{64, 64}, {64, 128}, {64, 256}, {128, 64}, {128, 128}, {128, 256}},
                  narrow_tiles[] = {{64, 32}, {64, 64}}, square_tile[] = {{64, 64}},
                  paired_tiles[] = {{128, 128}, {128, 256}},
                  block_tiles[] = {{64, 32}, {64, 64}, {64, 128}, {128, 32}, {128, 64}, {128, 128}},
                  any_width[] = {{64, 16},   {64, 32},   {64, 48},   {64, 64},   {64, 80},   {64, 96},
                                 {64, 112},  {64, 128},  {64, 160},  {64, 192},  {64, 224},  {64, 256},
                                 {128, 16},  {128, 32},  {128, 48},  {128, 64},  {128, 80},  {128, 96},
                                 {128, 112}, {128, 128}, {128, 160}, {128, 192}, {128, 224}, {128, 256}};

/* What the library of a kind chooses from. */
typedef struct {
    fsim_dtype arithmetic;
    double weight_bytes, activation_bytes; /* of an element */
    const tile *tiles;
    int count, splits; /* splits: k is cut into at most so many parts */
    bool by_rows;      /* the tile's rows follow from m */
    int launches;
} choice;

#define TILES(list) list, sizeof list / sizeof *list
static const choice choices[FSIM_SERVING_KINDS] = {
    [FSIM_SERVING_GEMM_F8_TOKEN] = {FSIM_F8E4M3, 1, 1, TILES(row_tiles), 1, true, 2},
    [FSIM_SERVING_GEMM_F8_TENSOR] = {FSIM_F8E4M3, 1, 1, TILES(all_tiles), 16, false, 4},
    [FSIM_SERVING_GEMM_F8_STATIC] = {FSIM_F8E4M3, 1, 1, TILES(all_tiles), 16, false, 2},
    [FSIM_SERVING_GEMM_F8_BLOCK] = {FSIM_F8E4M3, 1, 1, TILES(block_tiles), 1, true, 2},
    [FSIM_SERVING_GEMM_I8] = {FSIM_I8, 1, 1, TILES(few_tiles), 1, false, 1},
    [FSIM_SERVING_GEMM_W8] = {FSIM_F16, 1, 2, TILES(few_tiles), 8, false, 1},
    [FSIM_SERVING_GEMM_W4] = {FSIM_F16, serving_int4_bytes, 2, TILES(few_tiles), 8, false, 1},
    [FSIM_SERVING_GEMM_NVFP4] = {FSIM_F8E4M3, serving_nvfp4_bytes, 1, TILES(few_tiles), 1, false, 2},
};

/* Where the libraries for one design have others for so many rows, the first that holds. together: blocks of a cluster,
 * which have neighbouring rows; a cluster is launched whole, so that the last one may have tiles without a row.
 * SGLang's sm90_fp8_dispatch_shape has clusters of two above 1,024 rows; that they hold from 129 on here, and which
 * tiles fewer rows have, was chosen by the errors of rows not fitted. */
static const struct {
    fsim_serving_kind kind;
    fsim_design design;
    double rows;
    const tile *tiles;
    int count, together;
} other_tiles[] = {{FSIM_SERVING_GEMM_F8_TOKEN, FSIM_HOPPER, 64, TILES(narrow_tiles), 1},
                   {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_HOPPER, 128, TILES(square_tile), 1},
                   {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_HOPPER, INFINITY, TILES(paired_tiles), 2},
                   {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_BLACKWELL, INFINITY, TILES(wide_tiles), 1},
                   {FSIM_SERVING_GEMM_F8_BLOCK, FSIM_BLACKWELL, INFINITY, TILES(any_width), 1}};
enum { OTHERS = sizeof other_tiles / sizeof *other_tiles };

/* Where a library has one tile for so many rows and columns of the result, the first that holds: SGLang's
 * sm89_fp8_dispatch_shape; TensorRT-LLM's gemm_dispatch_sm89. */
static const struct {
    fsim_serving_kind kind;
    fsim_design design;
    double rows, columns;
    tile tile;
} chosen_tiles[] = {{FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 1, 8192, {16, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 1, INFINITY, {32, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 16, 8192, {16, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 16, 16384, {32, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 16, INFINITY, {16, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 64, 16384, {32, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 64, INFINITY, {16, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 128, 16384, {64, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 128, INFINITY, {32, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 256, 8192, {128, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 256, 16384, {64, 128}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, 256, INFINITY, {128, 64}},
                    {FSIM_SERVING_GEMM_F8_TOKEN, FSIM_ADA, INFINITY, INFINITY, {128, 128}},
                    {FSIM_SERVING_GEMM_F8_BLOCK, FSIM_ADA, INFINITY, INFINITY, {32, 128}}};
enum { CHOSEN = sizeof chosen_tiles / sizeof *chosen_tiles };

static const fit *fit_of(const fsim_serving_site *s, fsim_serving_kind kind)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (size_t k = 0; k < sizeof fits / sizeof *fits; k++)
            if (fits[k].kind == kind && fits[k].design == fsim_serving_kin(s, i))
                return fsim_refitted(s->hw, &fits[k]);
    return fits;
}

fsim_refit_table fsim_product_table(void) { return FSIM_REFIT_TABLE("FSIM_SERVING_PRODUCT", fits, fit, share); }

/* A product on its way to a price. */
typedef struct {
    const fsim_serving_site *s;
    const fit *f;
    const choice *c;
    const tile *tiles;
    int count, together;
    double m, n, k, rate, dram_s, l2_rate;
    double compute_s; /* of the best tile so far */
} pricing;

static void take_tiles(pricing *p)
{
    p->tiles = p->c->tiles;
    p->count = p->c->count;
    p->together = 1;
    for (int i = OTHERS - 1; i >= 0; i--)
        if (other_tiles[i].kind == p->f->kind && other_tiles[i].design == p->f->design && p->m <= other_tiles[i].rows) {
            p->tiles = other_tiles[i].tiles;
            p->count = other_tiles[i].count;
            p->together = other_tiles[i].together;
        }
    for (int i = CHOSEN - 1; i >= 0; i--)
        if (chosen_tiles[i].kind == p->f->kind && chosen_tiles[i].design == p->f->design &&
            p->m <= chosen_tiles[i].rows && p->n <= chosen_tiles[i].columns) {
            p->tiles = &chosen_tiles[i].tile;
            p->count = 1;
        }
}

static int rows_of_tile(const pricing *p) { return p->m <= 128 ? 64 : 128; }

static double with(const pricing *p, tile t, int split, double *compute_s)
{
    const fit *f = p->f;
    const double depth = ceil(p->k / split), in_rows = ceil(ceil(p->m / t.m) / p->together) * p->together,
                 blocks = in_rows * ceil(p->n / t.n) * split,
                 narrow = 1 + serving_narrow * (128 / (double)t.m + 128 / (double)t.n - 2),
                 flops = 2 * (double)t.m * t.n, one = flops * (depth + f->startup) / (p->rate * f->share) * narrow,
                 alone = flops * depth / (p->rate * f->alone) + (depth + f->startup) * f->clocks / p->s->clock,
                 full = floor(blocks / p->s->sms);
    *compute_s = full * fmax(one, alone / 2) + (blocks > full * p->s->sms ? fmax(one, alone) : 0);
    const double l2_s = (blocks * (t.m * p->c->activation_bytes + t.n * p->c->weight_bytes) * depth + 2 * p->m * p->n) /
                        p->l2_rate,
                 joining_s = split > 1 ? f->split + 4 * p->m * p->n * split / p->l2_rate : 0;
    return pow(pow(*compute_s, serving_product_norm) + pow(p->dram_s, serving_product_norm) +
                   pow(l2_s, serving_product_norm),
               1 / serving_product_norm) +
           joining_s;
}

static double tiled_s(pricing *p)
{
    enum { LEAST_DEPTH = 256 };
    double best = INFINITY;
    for (int i = 0; i < p->count; i++)
        for (int split = 1; split <= p->c->splits && (split == 1 || ceil(p->k / split) >= LEAST_DEPTH); split *= 2) {
            double compute_s;
            if (p->c->by_rows && p->count > 1 && p->tiles[i].m != rows_of_tile(p))
                continue;
            const double seconds = with(p, p->tiles[i], split, &compute_s);
            p->compute_s = seconds < best ? compute_s : p->compute_s;
            best = fmin(best, seconds);
        }
    return best * (1 + p->f->drift * best / (best + serving_long_s)) + p->f->floor;
}

/* Few rows: a block has some columns, and all SMs wait for the weights. */
static double few_rows_s(const pricing *p)
{
    const fit *f = p->f;
    const double weights_s = p->n * p->k * p->c->weight_bytes / (p->s->dram * f->dram * f->few_dram),
                 compute_s = (p->k + p->m * p->n * p->k / (64 * p->s->sms)) * f->few_clocks / p->s->clock;
    return f->few_floor +
           pow(pow(weights_s, serving_product_norm) + pow(compute_s, serving_product_norm), 1 / serving_product_norm);
}

static bool quantizes_before(fsim_serving_kind kind)
{
    return kind == FSIM_SERVING_GEMM_F8_TOKEN || kind == FSIM_SERVING_GEMM_F8_BLOCK ||
           kind == FSIM_SERVING_GEMM_F8_TENSOR || kind == FSIM_SERVING_GEMM_F8_STATIC;
}

static double quantizing_s(const pricing *p)
{
    const fsim_serving_kind kind = p->s->call->kind;
    if (kind == FSIM_SERVING_GEMM_F8_TOKEN)
        return fsim_quantize_rows_s(p->s, p->m, p->k);
    if (quantizes_before(kind))
        return fsim_quantize_static_s(p->s, p->m, p->k) + (kind == FSIM_SERVING_GEMM_F8_TENSOR ? serving_amax_s : 0);
    return 0; /* in the floor */
}

/* Bytes of the activation and the result, `rest` together, that DRAM moves. What a kernel of the same call has
 * quantised before is in L2 as far as it fits. */
static double rest_from_dram(const pricing *p, double rest)
{
    const fsim_serving_site *s = p->s;
    const double replayed = fsim_ramp(rest / s->l2_bytes, p->f->rest_from, serving_ramp),
                 operand = p->m * p->k * p->c->activation_bytes;
    if (s->replays)
        return rest * replayed;
    return (rest - operand) * s->from_dram + operand * (quantizes_before(s->call->kind) ? replayed : s->from_dram);
}

/* The product of a call of this kind, beside what quantises its activation. */
static pricing product_of(const fsim_serving_site *s, fsim_serving_kind kind, double *product_s)
{
    enum { FEW_ROWS = 4 };
    const double *v = s->call->value;
    const fit *f = fit_of(s, kind);
    const choice *c = &choices[kind];
    pricing p = {.s = s, .f = f, .c = c, .m = v[0], .n = v[1], .k = v[2]};
    p.rate = kind == FSIM_SERVING_GEMM_NVFP4 ? fsim_serving_rate_of_fours(s) : fsim_serving_rate(s, c->arithmetic);
    take_tiles(&p);
    const double weights = p.n * p.k * c->weight_bytes, rest = p.m * p.k * c->activation_bytes + 2 * p.m * p.n;
    p.l2_rate = f->l2 * s->sms * s->clock;
    p.dram_s =
        (weights * fsim_serving_missed(s, weights, f->weights_from - serving_weights_ramp / 2, serving_weights_ramp) +
         rest_from_dram(&p, rest)) /
        (s->dram * f->dram);
    *product_s = f->few_floor > 0 && p.m <= FEW_ROWS ? few_rows_s(&p) : tiled_s(&p);
    return p;
}

fsim_serving_time fsim_serving_product(const fsim_serving_site *s)
{
    const bool alone = s->call->kind == FSIM_SERVING_GEMM_F8;
    double product_s;
    pricing p = product_of(s, alone ? FSIM_SERVING_GEMM_F8_TOKEN : s->call->kind, &product_s);
    if (alone) { /* of the libraries behind two kinds of rows the faster one */
        double other_s;
        const pricing other = product_of(s, FSIM_SERVING_GEMM_F8_STATIC, &other_s);
        p = other_s < product_s ? other : p;
        product_s = fmin(product_s, other_s);
    }
    const double least_s = 2 * p.m * p.n * p.k / (p.rate * s->sms);
    return fsim_serving_sum(p.compute_s, p.dram_s, fmax(least_s, product_s) + quantizing_s(&p),
                            alone ? 1 : p.c->launches);
}

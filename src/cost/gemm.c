/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/gemm.h"
#include "cost/constants.h"
#include "cost/costing.h"

#include <math.h>

/* Tiles of cuBLAS's FP32 kernels. Pascal has Maxwell's: 128 wide in n (cuBLAS's m), with all or half of the rows. */
static const fsim_gemm_tile maxwell_tiles[] = {{128, 128, 0}, {64, 128, 0}};
static const fsim_gemm_tile vector_tiles[] = {{128, 128, 0}, {256, 128, 0}, {128, 256, 0}, {64, 64, 0},  {128, 64, 0},
                                              {64, 128, 0},  {64, 256, 0},  {256, 64, 0},  {32, 128, 0}, {128, 32, 0},
                                              {32, 32, 0},   {64, 32, 0},   {32, 64, 0}};
static const fsim_gemm_tile tensor_tiles[] = {{256, 128, 0}, {128, 256, 0}, {128, 128, 0}, {256, 64, 0}, {64, 256, 0},
                                              {128, 64, 0},  {64, 128, 0},  {64, 64, 0},   {128, 32, 0}, {32, 128, 0},
                                              {64, 32, 0},   {32, 64, 0},   {32, 32, 0},   {16, 64, 0},  {16, 32, 0}};
/* Hopper's have more widths. */
static const fsim_gemm_tile hopper_tiles[] = {{256, 128, 0}, {128, 256, 0}, {128, 192, 0}, {192, 128, 0}, {128, 160, 0},
                                              {160, 128, 0}, {128, 224, 0}, {224, 128, 0}, {128, 96, 0},  {96, 128, 0},
                                              {128, 128, 0}, {256, 64, 0},  {64, 256, 0},  {128, 64, 0},  {64, 128, 0},
                                              {64, 64, 0},   {128, 32, 0},  {32, 128, 0},  {64, 32, 0},   {32, 64, 0},
                                              {32, 32, 0},   {16, 64, 0},   {16, 32, 0}};

static const int most_split[2] = {VECTOR_MOST_SPLIT, TENSOR_MOST_SPLIT};

/* The share of its FP32 rate that a GPU without measurements keeps within its power limit: 0.65 of the limit is for
 * the units, which take 10 pJ per FLOP at 16 and 12 nm, 6 at 8 and 7 nm, 4 at 5 and 4 nm. Fitted over the GPUs that
 * NeuSight measured. */
static double within_power(const fsim_hw *hw, double peak)
{
    const double joules = hw->arch->process_nm <= 5   ? joules_5nm
                          : hw->arch->process_nm <= 8 ? joules_8nm
                                                      : joules_16nm,
                 watts = fsim_hw_get(hw, FSIM_HW_POWER_LIMIT);
    return isnan(watts) ? 1 : fmin(1, power_of_units * watts / (joules * peak));
}

static void vector_scalars(const fsim_hw *hw, fsim_dtype arithmetic, double peak, fsim_gemm_device *d)
{
    static const double energy_of_f64 = 2; /* an f64 operation takes at least that of two in FP32 */
    d->efficiency = fsim_hw_get(hw, FSIM_HW_GEMM_FP32);
    if (arithmetic == FSIM_F64) /* what limits FP32's power is no limit where a GPU has few units for f64 */
        d->efficiency = typical_fp32_efficiency * within_power(hw, energy_of_f64 * peak);
    else if (fsim_hw_origin(hw, FSIM_HW_GEMM_FP32) == FSIM_FROM_ASSUMED)
        d->efficiency = fmin(d->efficiency, typical_fp32_efficiency * within_power(hw, peak));
    d->transposed = fsim_hw_get(hw, FSIM_HW_GEMM_FP32_TRANSPOSED);
    d->narrow = fsim_hw_get(hw, FSIM_HW_GEMM_FP32_NARROW);
    d->startup_bytes = 4 * fsim_hw_get(hw, FSIM_HW_GEMM_FP32_STARTUP);
    d->step_s = vector_step_cycles / fsim_hw_get(hw, FSIM_HW_SM_CLOCK) / (64 * 4);
    d->least_s = vector_least_s;
    d->l2_rate = fsim_hw_get(hw, FSIM_HW_GEMM_FP32_L2) * d->sms * fsim_hw_get(hw, FSIM_HW_SM_CLOCK);
    d->power_rate = INFINITY;
    d->block_dram_rate = INFINITY;
    d->split_share = fsim_hw_get(hw, FSIM_HW_GEMM_FP32_SPLIT);
    d->split_s = vector_split_s;
    d->page_span = fsim_hw_get(hw, FSIM_HW_GEMM_PAGE_SPAN);
    d->page_slope = fsim_hw_get(hw, FSIM_HW_GEMM_PAGE_SLOPE);
    d->page_most = fsim_hw_get(hw, FSIM_HW_GEMM_PAGE_MOST);
    d->drift = fsim_hw_get(hw, FSIM_HW_GEMM_DRIFT);
    d->dram_rate = fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
    d->reading_gain = fsim_reading_gain(hw);
    d->tile = hw->arch->design == FSIM_PASCAL ? maxwell_tiles : vector_tiles;
    d->tiles = d->tile == maxwell_tiles ? sizeof maxwell_tiles / sizeof *maxwell_tiles
                                        : sizeof vector_tiles / sizeof *vector_tiles;
}

/* achieved: the rate of the longest products; NaN. fitted: is the arithmetic that which the scalars were fitted to?
 * The scalars of AMD's designs are those of NVIDIA's, so that what longest products reach there, on related GPUs where
 * this one was not measured, says more. */
static void tensor_scalars(const fsim_hw *hw, double peak, double achieved, bool fitted, fsim_gemm_device *d)
{
    d->efficiency = fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR);
    d->transposed = 1;
    d->narrow = fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_NARROW);
    d->startup_bytes = 2 * fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_STARTUP);
    d->step_s = fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_STEP) / fsim_hw_get(hw, FSIM_HW_SM_CLOCK) / (64 * 2);
    d->least_s = tensor_least_s;
    d->l2_rate = fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_L2) * d->sms * fsim_hw_get(hw, FSIM_HW_SM_CLOCK);
    d->power_rate = fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_POWER) * peak;
    if ((fsim_hw_origin(hw, FSIM_HW_GEMM_TENSOR) == FSIM_FROM_ASSUMED || !fitted) &&
        achieved > 0) /* scalars of related GPUs, or of 16-bit products, but the largest product was measured */
        d->power_rate = fmin(d->power_rate, achieved);
    d->block_dram_rate = fsim_hw_get(hw, FSIM_HW_GEMM_BLOCK_DRAM);
    d->split_s = fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_SPLIT);
    d->dram_rate = fmin(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) * fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_DRAM),
                        fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH));
    const bool warp_groups = hw->arch->design == FSIM_HOPPER || hw->arch->design == FSIM_BLACKWELL;
    d->tile = warp_groups ? hopper_tiles : tensor_tiles;
    d->tiles = d->tile == hopper_tiles ? sizeof hopper_tiles / sizeof *hopper_tiles
                                       : sizeof tensor_tiles / sizeof *tensor_tiles;
}

/* Another kind of accelerator: its peak, as far as it is reached, and the bytes of the operands, each read once: what
 * its compiler keeps on the chip is not known. */
static void plain_scalars(const fsim_hw *hw, fsim_hw_key key, fsim_gemm_device *d)
{
    tensor_scalars(hw, d->rate * d->sms, NAN, true, d);
    d->efficiency = fsim_or_else(fsim_hw_get(hw, key) / fsim_hw_peak(hw, key), 1);
    d->narrow = d->startup_bytes = d->step_s = d->least_s = d->split_s = 0;
    d->l2_bytes = d->l2_rate = d->power_rate = d->block_dram_rate = INFINITY;
    d->dram_rate = fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
}

fsim_gemm_device fsim_gemm_device_of(const fsim_hw *hw, fsim_dtype arithmetic)
{
    fsim_gemm_device d = {.sms = fsim_hw_get(hw, FSIM_HW_SMS),
                          .result_weight = result_weight,
                          .l2_bytes = fsim_hw_get(hw, FSIM_HW_L2_CAPACITY),
                          .floor_s = fsim_hw_get(hw, FSIM_HW_GEMM_FLOOR)};
    const fsim_hw_key key = fsim_tensor_key(hw, arithmetic);
    const double peak = fsim_dense_peak(hw, arithmetic);
    d.tensor = key != FSIM_HW_COUNT;
    d.rate = peak / d.sms;
    if (hw->arch->plain)
        plain_scalars(hw, d.tensor ? key : FSIM_HW_FP32_PEAK, &d);
    else if (d.tensor)
        tensor_scalars(hw, peak,
                       fsim_hw_origin(hw, key) == FSIM_FROM_MEASURED || hw->arch->design == FSIM_CDNA
                           ? fsim_hw_achieved(hw, key)
                           : NAN,
                       key == FSIM_HW_TENSOR_F16 || key == FSIM_HW_TENSOR_BF16, &d);
    else
        vector_scalars(hw, arithmetic, peak, &d);
    return d;
}

/* Groups of warps wait longer at the start and end of a block than the library's, and no two blocks share what they
 * load from L2. */
static void group_scalars(const fsim_hw *hw, fsim_gemm_device *d)
{
    const double clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK);
    d->narrow = group_narrow;
    d->startup_bytes = 2 * group_startup;
    d->step_s = group_step_cycles / clock / (64 * 2);
    d->least_s = group_least_s;
    d->l2_rate = fmin(d->l2_rate, group_l2 * d->sms * clock);
    d->result_weight = group_result_weight;
}

/* What threads multiply in: doubles by their own units, all else in FP32. */
static fsim_gemm_device thread_device(const fsim_hw *hw, fsim_dtype arithmetic)
{
    const double fp32 = fsim_hw_peak(hw, FSIM_HW_FP32_PEAK),
                 peak = arithmetic == FSIM_F64 ? fsim_or_else(fsim_hw_peak(hw, FSIM_HW_FP64_PEAK), fp32 / 32) : fp32;
    fsim_gemm_device d = fsim_gemm_device_of(hw, FSIM_F32);
    d.tensor = false;
    d.rate = peak / d.sms;
    vector_scalars(hw, arithmetic, peak, &d);
    d.efficiency = fmin(d.efficiency, thread_flops * fsim_hw_get(hw, FSIM_HW_SM_CLOCK) / d.rate);
    return d;
}

static void warp_scalars(const fsim_hw *hw, fsim_dtype arithmetic, bool loading, fsim_gemm_device *d)
{
    const double clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK), bytes = fsim_dtype_bytes(arithmetic),
                 most = warp_flops * 2 / bytes * clock / d->rate;
    d->efficiency = fmin(d->efficiency, fmin(warp_most, most));
    d->narrow = group_narrow;
    d->startup_bytes = fmax(d->startup_bytes, bytes * warp_startup);
    d->step_s = loading ? warp_loading_cycles / clock / (64 * 2) : d->step_s;
}

fsim_gemm_device fsim_gemm_generated_of(const fsim_hw *hw, fsim_dtype arithmetic, fsim_multipliers by)
{
    fsim_gemm_device d = fsim_gemm_device_of(hw, arithmetic);
    if (hw->host || hw->arch->plain) /* no library is known there, and both have the peaks */
        return d;
    if (by == FSIM_BY_THREADS)
        return thread_device(hw, arithmetic);
    d.efficiency = fmin(1, d.efficiency);
    if (by == FSIM_BY_GROUPS)
        group_scalars(hw, &d);
    else
        warp_scalars(hw, arithmetic, by == FSIM_BY_LOADING_WARPS, &d);
    return d;
}

static double clamp(double x, double low, double high) { return fmin(high, fmax(low, x)); }
static double up(double x, int by) { return ceil(x / by); }
/* The larger of both, and slightly more where they are close: an 8-norm. */
static double larger(double x, double y)
{
    const double a = x * x * x * x, b = y * y * y * y;
    return sqrt(sqrt(sqrt(a * a + b * b)));
}
static double norm_power(double x) { return x * x * sqrt(x); } /* 2.5 */
double fsim_gemm_powers(double one_s, double other_s) { return norm_power(one_s) + norm_power(other_s); }

/* Time lost to TLB misses. Rows of an operand are k apart, so a step along k touches as many pages as the rows of
 * all resident blocks span, and the TLB has a limited number of entries. The loss grows with the logarithm of the
 * geometric mean of that span and that of one row (`page_span`: where it begins). Blocks are launched along m first. */
static double paging(const fsim_gemm_device *d, const fsim_gemm_shape *s)
{
    if (!(d->page_slope > 0))
        return 1;
    const double under_way = page_blocks_per_sm * d->sms, tiles_m = up(s->m, 128), tiles_n = up(s->n, 128),
                 down = fmin(tiles_m, under_way), across = fmin(tiles_n, fmax(1, under_way / tiles_m));
    const double rows = (down < tiles_m ? down * 128 : s->m) + (!s->transposed_b   ? 0
                                                                : across < tiles_n ? across * 128
                                                                                   : s->n),
                 row_bytes = s->k * s->elem_bytes;
    return 1 + clamp(d->page_slope * log2(sqrt(rows) * row_bytes / d->page_span), 0, d->page_most);
}

/* Blocks on an SM, limited by the registers of their accumulators. */
static double resident_of(double m, double n) { return m * n > 128 * 128 ? 1 : m * n >= 8192 ? 2 : 4; }

/* What a narrow tile loses. On FP32 units `narrow` is fitted to products at least 64 wide, where GPUs differ by a
 * factor of 100, as their libraries choose tiles of 128 or of 64 there. Narrower tiles lose no more on top of that than
 * on a typical GPU. */
static double narrow_loss(const fsim_gemm_device *d, double m, double n)
{
    const double narrow = fmax(0, efficiency_tile / m + efficiency_tile / n -
                                      (d->tensor ? tensor_narrow_from : vector_narrow_from)),
                 fitted = d->tensor ? narrow : fmin(narrow, vector_narrow_fitted);
    return d->narrow * fitted + fmin(d->narrow, vector_narrow_typical) * (narrow - fitted);
}

static double efficiency_of(const fsim_gemm_device *d, const fsim_gemm_shape *s, double m, double n)
{
    return fmin(1, d->efficiency * (s->transposed_b ? d->transposed : 1) / (1 + narrow_loss(d, m, n)));
}

/* paged: time lost to TLB misses; stays: the share of a repeated read that DRAM serves. Equal for all tiles. */
typedef struct {
    double paged, again;
} common;

static common common_of(const fsim_gemm_device *d, const fsim_gemm_shape *s)
{
    const double smaller = fmin(s->operand_bytes[0], s->operand_bytes[1]) / s->batch;
    return (common){paging(d, s), (d->tensor ? tensor_again_share : vector_again_share) *
                                      clamp((smaller / d->l2_bytes - again_from) / again_ramp, 0, 1)};
}

enum { SAFE_SHARE = 1 << 20 }; /* far more than what arithmetic rounds */

/* less_s: the best time so far; busy_s is infinite where one unit alone takes longer. */
/* Bytes that take as long at the bandwidth of copies. Reading alone is faster where turning between reads and writes
 * costs the memory much; of that little is left where a tenth is written. */
static double as_copied(const fsim_gemm_device *d, const fsim_gemm_shape *s, double bytes)
{
    const double written = fmin(1, s->result_bytes / fmax(1, bytes));
    return bytes / (1 + (fmax(1, d->reading_gain) - 1) * fmax(0, 1 - turning_cost * written));
}

static fsim_gemm_time time_with(const fsim_gemm_device *d, const fsim_gemm_shape *s, const common *both,
                                fsim_gemm_tile tile, double less_s)
{
    fsim_gemm_time t = {.tile = tile};
    const double m = tile.m, n = tile.n, k_bytes = s->k / tile.split * s->elem_bytes;
    t.busy_s = INFINITY;
    t.blocks = s->batch * up(s->m, tile.m) * up(s->n, tile.n) * tile.split;
    t.resident = resident_of(m, n);
    t.tile_bytes = t.blocks * (m + n) * k_bytes;
    const double one =
        2 * m * n * (k_bytes + d->startup_bytes) / s->elem_bytes * both->paged / (d->rate * efficiency_of(d, s, m, n));
    const double alone = k_bytes * d->step_s + d->least_s, at_once = d->sms * t.resident,
                 rounds = floor(t.blocks / at_once), rest = t.blocks - rounds * at_once;
    t.compute_s = rounds * fmax(t.resident * one, alone) + (rest > 0 ? fmax(ceil(rest / d->sms) * one, alone) : 0);
    t.compute_s += s->beside_s;
    t.l2_s = (t.tile_bytes + s->added_bytes + d->result_weight * s->result_bytes) / d->l2_rate;
    if (fmax(t.compute_s, t.l2_s) + d->floor_s >= less_s)
        return t;
    if (isfinite(d->power_rate))
        t.compute_s =
            larger(t.compute_s - s->beside_s, 2 * s->batch * s->m * s->n * s->k / d->power_rate) + s->beside_s;
    if (both->again > 0) /* resident blocks form a square of the result and share its rows and columns; the next square
                            loads them again */
        t.again_bytes = both->again * fmax(0, t.tile_bytes / sqrt(at_once) - s->operand_bytes[0] - s->operand_bytes[1]);
    t.dram_s = as_copied(d, s, s->dram_bytes + t.again_bytes + (tile.split > 1 && !d->tensor ? s->result_bytes : 0)) /
               fmin(d->dram_rate, fmin(t.blocks, at_once) * d->block_dram_rate);
    if (fmax(t.compute_s, t.dram_s) + d->floor_s >= less_s)
        return t;
    const double powers = norm_power(t.compute_s) + norm_power(t.dram_s) + norm_power(t.l2_s) + s->beside_powers;
    if (isfinite(less_s) && powers - powers / SAFE_SHARE > norm_power(less_s - d->floor_s))
        return t; /* pow would say so, whatever it rounds */
    t.busy_s = pow(powers, 1 / product_exponent);
    const double split_s = tile.split > 1 ? d->split_share * t.busy_s + d->split_s : 0;
    t.extra_s = split_s + d->floor_s + d->drift * t.busy_s * t.busy_s / (t.busy_s + drift_s);
    return t;
}

bool fsim_gemm_may_split(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile)
{
    const double half = s->batch * up(s->m, tile.m) * up(s->n, tile.n) * tile.split / 2;
    return tile.split == 1 || (tile.split <= most_split[d->tensor] && !s->whole && s->batch == 1 &&
                               half < (d->tensor ? tensor_blocks_unsplit : vector_blocks_unsplit) * d->sms &&
                               s->k / tile.split >= SPLIT_LEAST_K);
}

/* A matrix times a vector has a kernel without tiles: every element of the matrix is used once. */
static fsim_gemm_time vector_time(const fsim_gemm_device *d, const fsim_gemm_shape *s)
{
    fsim_gemm_time t = {.tile = {1, 1, 1}, .blocks = s->batch * up(s->m * s->n, VECTOR_PRODUCT_THREADS), .resident = 4};
    t.tile_bytes = s->operand_bytes[0] + s->operand_bytes[1];
    t.compute_s = fsim_gemm_least_s(d, 2 * s->batch * s->m * s->n * s->k) + 2 * d->least_s;
    t.l2_s = t.tile_bytes / d->l2_rate;
    t.dram_s = as_copied(d, s, s->dram_bytes) / d->dram_rate;
    t.busy_s = pow(norm_power(t.compute_s) + norm_power(t.dram_s) + norm_power(t.l2_s), 1 / product_exponent);
    t.extra_s = d->floor_s;
    return t;
}

fsim_gemm_time fsim_gemm_with(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile)
{
    if (tile.m == 1)
        return vector_time(d, s);
    const common both = common_of(d, s);
    return time_with(d, s, &both, tile, INFINITY);
}

bool fsim_gemm_may_beat(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile, double less_s)
{
    const common both = common_of(d, s);
    return isfinite(time_with(d, s, &both, tile, less_s).busy_s);
}

/* The tile that a product of this size had when it was asked for last: a guess, which saves the full times of most
 * others, and no more. Searches and rows ask for a product again and again, with other bytes. */
typedef struct {
    double m, n, k, batch;
    fsim_gemm_tile tile;
} guess;

static guess *guess_of(const fsim_gemm_shape *s)
{
    enum { GUESSES = 64 };
    static _Thread_local guess memory[GUESSES];
    const uint64_t h = ((uint64_t)s->m * 31 + (uint64_t)s->n) * 31 + (uint64_t)s->k + (uint64_t)s->batch * 7;
    guess *at = &memory[(h ^ h >> 7 ^ h >> 15) % GUESSES];
    if (at->m != s->m || at->n != s->n || at->k != s->k || at->batch != s->batch)
        *at = (guess){s->m, s->n, s->k, s->batch, {0, 0, 0}};
    return at;
}

/* A time that the best tile does not exceed: that of the guess, and far more than what arithmetic rounds. */
static double time_of_guess(const fsim_gemm_device *d, const fsim_gemm_shape *s, const common *both,
                            fsim_gemm_tile tile)
{
    bool known = false;
    for (int i = 0; i < d->tiles && !known; i++)
        known = d->tile[i].m == tile.m && d->tile[i].n == tile.n;
    for (fsim_gemm_tile part = {tile.m, tile.n, 1}; known && part.split < tile.split; part.split *= 2)
        known = fsim_gemm_may_split(d, s, part);
    if (!known || !fsim_gemm_may_split(d, s, tile))
        return INFINITY;
    const fsim_gemm_time t = time_with(d, s, both, tile, INFINITY);
    return (t.busy_s + t.extra_s) * (1 + 1.0 / SAFE_SHARE);
}

fsim_gemm_time fsim_gemm_best(const fsim_gemm_device *d, const fsim_gemm_shape *s)
{
    const common both = common_of(d, s);
    guess *last = guess_of(s);
    const double most_s = time_of_guess(d, s, &both, last->tile);
    fsim_gemm_time best = {.busy_s = INFINITY};
    if (!d->tensor &&
        fmin(s->m, s->n) == 1) /* on tensor units, such products were measured to be as slow as tiles of 16 rows */
        best = vector_time(d, s);
    for (int i = 0; i < d->tiles; i++) {
        fsim_gemm_tile tile = d->tile[i];
        for (tile.split = 1; fsim_gemm_may_split(d, s, tile); tile.split *= 2) {
            const fsim_gemm_time t = time_with(d, s, &both, tile, fmin(most_s, best.busy_s + best.extra_s));
            if (t.busy_s + t.extra_s < best.busy_s + best.extra_s)
                best = t;
        }
    }
    last->tile = best.tile;
    return best;
}

/* In proportion to the product's size, whatever that is: what a round of blocks leaves idle does not count. */
static double share_with(const fsim_gemm_device *d, const fsim_gemm_shape *s, double m, double n)
{
    const double products = s->batch * s->m * s->n, k_bytes = s->k * s->elem_bytes;
    const double e = fmin(1, d->efficiency * fmax(1, d->transposed) / (1 + narrow_loss(d, m, n)));
    const double issued = 2 * products * (k_bytes + d->startup_bytes) / s->elem_bytes / (d->rate * d->sms * e),
                 compute = isfinite(d->power_rate) ? larger(issued, 2 * products * s->k / d->power_rate) : issued,
                 l2 = products * (1 / m + 1 / n) * k_bytes / d->l2_rate;
    return pow(norm_power(compute) + norm_power(l2), 1 / product_exponent);
}

double fsim_gemm_tiled_least_s(const fsim_gemm_device *d, const fsim_gemm_shape *s, int wide)
{
    double least = wide > 1 ? share_with(d, s, efficiency_tile, (double)wide * efficiency_tile) : INFINITY;
    for (int i = 0; i < d->tiles; i++)
        least = fmin(least, share_with(d, s, d->tile[i].m, d->tile[i].n));
    if (fmin(s->m, s->n) == 1)
        least = fmin(least, fsim_gemm_least_s(d, 2 * s->batch * s->m * s->n * s->k));
    return least + d->floor_s / wide;
}

double fsim_gemm_joint_least_s(const fsim_gemm_device *d, const fsim_gemm_shape *s, int wide, double second_s)
{
    enum { LEAST_SIDE = 16, MOST_SIDE = 256 }; /* as in kernel/layout.c */
    const common both = common_of(d, s);
    double least = fmin(s->m, s->n) == 1 ? vector_time(d, s).busy_s + d->floor_s : INFINITY;
    fsim_gemm_tile tile;
    for (tile.m = LEAST_SIDE; tile.m <= MOST_SIDE; tile.m *= 2)
        for (int n = LEAST_SIDE; n <= MOST_SIDE; n *= 2)
            for (int products = 1; products <= wide; products++) {
                tile.n = n * products;
                for (tile.split = 1; fsim_gemm_may_split(d, s, tile); tile.split *= 2) {
                    const double second = tile.split > 1 ? second_s - d->split_s : 0;
                    const fsim_gemm_time t = time_with(d, s, &both, tile, least - fmin(second, 0));
                    least = fmin(least, t.busy_s + t.extra_s + second);
                }
            }
    return least;
}

double fsim_gemm_generated_least_s(const fsim_gemm_device *d, const fsim_gemm_shape *s, double second_s)
{
    return fsim_gemm_joint_least_s(d, s, 1, second_s);
}

double fsim_gemm_call_least_s(const fsim_gemm_device *d, fsim_gemm_shape s)
{
    s.dram_bytes = s.result_bytes = s.added_bytes = s.operand_bytes[0] = s.operand_bytes[1] = 0;
    s.whole = false;
    const fsim_gemm_time t = fsim_gemm_best(d, &s);
    return t.busy_s + t.extra_s;
}

double fsim_gemm_least_s(const fsim_gemm_device *d, double flops)
{
    const double e = fmin(1, d->efficiency * fmax(1, d->transposed));
    return flops / fmin(d->rate * d->sms * e, d->power_rate);
}

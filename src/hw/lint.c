/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-checks between the keys of a hardware file. Each looks for a mistake that real files have had: a sparse
 * figure for a dense one, another product's memory, GFLOP/s for TFLOP/s, swapped sizes. */
#include "hw/hw.h"
#include <math.h>
#include <string.h>

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    const fsim_hw *hw;
    int found;
} linter;

static double figure(const linter *l, fsim_hw_key key) { return l->hw->q[key].value; }

/* A figure as a hardware file writes it; lives in the arena. */
static const char *shown(const linter *l, double value, fsim_hw_key key)
{
    char buffer[48];
    return fsim_strdup(l->arena, fsim_show(buffer, sizeof buffer, value, fsim_hw_rows[key].dim));
}

static void report(linter *l, fsim_loc at, const char *message)
{
    fsim_error(l->diag, at, "%s", message);
    l->found++;
}

static void check_achieved(linter *l)
{
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_quantity *q = &l->hw->q[i];
        if (q->achieved > q->value)
            report(l, q->achieved_at,
                   fsim_printf(l->arena, "%s: achieved %s is above the peak, %s", fsim_hw_rows[i].key,
                               shown(l, q->achieved, (fsim_hw_key)i), shown(l, q->value, (fsim_hw_key)i)));
    }
}

/* peak FLOP/s = SMs x results per clock and SM x 2 (a fused multiply-add) x clock */
static void check_vector_peaks(linter *l)
{
    static const double tolerance = 0.08;
    static const struct {
        fsim_hw_key peak, rate;
    } pairs[] = {{FSIM_HW_FP32_PEAK, FSIM_HW_FP32_RATE},
                 {FSIM_HW_FP64_PEAK, FSIM_HW_FP64_RATE},
                 {FSIM_HW_FP16_PEAK, FSIM_HW_FP16_RATE}};
    const double sms = figure(l, FSIM_HW_SMS), clock = figure(l, FSIM_HW_SM_CLOCK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const double peak = figure(l, pairs[i].peak), rate = figure(l, pairs[i].rate),
                     expected = sms * rate * 2 * clock;
        if (fabs(peak / expected - 1) > tolerance)
            report(l, l->hw->q[pairs[i].peak].value_at,
                   fsim_printf(l->arena, "%s is %s, but %g SMs x %s %g /clk x 2 x %s make %s",
                               fsim_hw_rows[pairs[i].peak].key, shown(l, peak, pairs[i].peak), sms,
                               fsim_hw_rows[pairs[i].rate].key, rate, shown(l, clock, FSIM_HW_SM_CLOCK),
                               shown(l, expected, pairs[i].peak)));
    }
}

static void check_bus(linter *l)
{
    static const double tolerance = 0.03;
    const fsim_quantity *bus = &l->hw->q[FSIM_HW_DRAM_BUS];
    const double peak = figure(l, FSIM_HW_DRAM_BANDWIDTH), expected = bus->value * bus->bus_rate_bits_per_s / 8;
    char rate[48];
    if (fabs(peak / expected - 1) > tolerance)
        report(l, l->hw->q[FSIM_HW_DRAM_BANDWIDTH].value_at,
               fsim_printf(l->arena, "dram_bandwidth is %s, but dram_bus %s x %s / 8 makes %s",
                           shown(l, peak, FSIM_HW_DRAM_BANDWIDTH), shown(l, bus->value, FSIM_HW_DRAM_BUS),
                           fsim_show(rate, sizeof rate, bus->bus_rate_bits_per_s, FSIM_DIM_BITS_PER_S),
                           shown(l, expected, FSIM_HW_DRAM_BANDWIDTH)));
}

static void check_bandwidth_per_sm(linter *l, const fsim_architecture *arch)
{
    const double peak = figure(l, FSIM_HW_DRAM_BANDWIDTH), sms = figure(l, FSIM_HW_SMS);
    const double per_clock = peak / sms / figure(l, FSIM_HW_SM_CLOCK);
    if (per_clock < arch->memory_least || per_clock > arch->memory_most)
        report(l, l->hw->q[FSIM_HW_DRAM_BANDWIDTH].value_at,
               fsim_printf(l->arena,
                           "dram_bandwidth is %s for %g SMs, %.3g B per clock and SM; %s parts (%s memory) have %g to "
                           "%g: is it another product's figure?",
                           shown(l, peak, FSIM_HW_DRAM_BANDWIDTH), sms, per_clock, arch->name, arch->memory,
                           arch->memory_least, arch->memory_most));
}

/* Data sheets count CUDA cores: many times the multiprocessors. */
static void check_multiprocessors(linter *l)
{
    static const double most = 512; /* the largest GPUs have some 300 */
    const double sms = figure(l, FSIM_HW_SMS), cores = l->hw->arch->fp32_rate;
    if (sms > most && l->hw->arch->dense_f16 > 0 && fmod(sms, cores) == 0)
        report(l, l->hw->q[FSIM_HW_SMS].value_at,
               fsim_printf(l->arena,
                           "sms is %g: are these CUDA cores? A multiprocessor of %s has %g of them, which makes %g",
                           sms, l->hw->arch->name, cores, sms / cores));
}

/* The matrix units' keys, with their dense rate relative to f16. */
static const struct {
    fsim_hw_key key;
    double factor;
} tensor_keys[] = {
    {FSIM_HW_TENSOR_F16, 1}, {FSIM_HW_TENSOR_BF16, 1}, {FSIM_HW_TENSOR_TF32, 0.5},
    {FSIM_HW_TENSOR_F8, 2},  {FSIM_HW_TENSOR_I8, 2},
};
enum { TENSOR_KEYS = sizeof tensor_keys / sizeof *tensor_keys };

/* Data sheets give the matrix units 0.86 to 1.05 of SMs x rate x boost clock (the H100's peak is for 1830 of its
 * 1980 MHz). Twice that is the figure with 2:1 sparsity. Less is possible: GeForce parts, and parts limited for
 * export. A thousandth is a wrong unit. */
static bool check_tensor_rate(linter *l, const fsim_architecture *arch, fsim_hw_key key, double factor)
{
    static const double least = 0.2, dense_most = 1.08, sparse_least = 1.65;
    const double peak = figure(l, key), sms = figure(l, FSIM_HW_SMS), clock = figure(l, FSIM_HW_SM_CLOCK);
    const double per_clock = arch->dense_f16 * factor, expected = sms * per_clock * clock, ratio = peak / expected;
    const bool unknown = key == FSIM_HW_TENSOR_I8 && isnan(arch->tensor_rate[FSIM_MATRIX_I8]);
    if (unknown || !(ratio < least || ratio > dense_most))
        return true;
    const char *product = fsim_printf(l->arena, "%g SMs x %g FLOP per clock (%s) x %s = %s", sms, per_clock, arch->name,
                                      shown(l, clock, FSIM_HW_SM_CLOCK), shown(l, expected, key));
    const char *what = fsim_printf(l->arena, "%s is %s", fsim_hw_rows[key].key, shown(l, peak, key));
    const bool sparse = ratio > sparse_least && ratio < 2 * dense_most;
    report(l, l->hw->q[key].value_at,
           sparse ? fsim_printf(l->arena, "%s, which looks like the 2:1 sparse figure: the dense one is %s (%s)", what,
                                shown(l, peak / 2, key), product)
                  : fsim_printf(l->arena, "%s, but %s", what, product));
    return false;
}

/* Units that round f32 first are tensor_tf32's: as tensor_f32 they would make every f32 product faster. */
static void check_matrix_f32(linter *l, const fsim_architecture *arch)
{
    const fsim_quantity *q = &l->hw->q[FSIM_HW_TENSOR_F32];
    const double rate = arch ? arch->tensor_rate[FSIM_MATRIX_F32] : NAN;
    if (isnan(q->value) || q->from == FSIM_HW_FROM_KEYS || isnan(rate))
        return;
    if (rate == 0)
        report(l, q->at,
               fsim_printf(l->arena,
                           "tensor_f32: the units of %s do not multiply f32; what they round to tf32 is tensor_tf32",
                           arch->name));
    else
        check_tensor_rate(l, arch, FSIM_HW_TENSOR_F32, rate);
}

static void check_tensor(linter *l, const fsim_architecture *arch)
{
    static const double tolerance = 0.1;
    const double f16 = figure(l, FSIM_HW_TENSOR_F16);
    bool good[TENSOR_KEYS];
    for (int i = 0; i < TENSOR_KEYS; i++) {
        const fsim_quantity *q = &l->hw->q[tensor_keys[i].key]; /* what follows from another is no second mistake */
        const bool present = !isnan(q->value) && q->from != FSIM_HW_FROM_KEYS;
        if (present && arch && arch->dense_f16 == 0)
            report(l, l->hw->q[tensor_keys[i].key].at,
                   fsim_printf(l->arena, "%s: %s has no tensor cores; leave the key out",
                               fsim_hw_rows[tensor_keys[i].key].key, arch->name));
        good[i] =
            present &&
            (!arch || (arch->dense_f16 > 0 && check_tensor_rate(l, arch, tensor_keys[i].key, tensor_keys[i].factor)));
    }
    /* figures that passed alone are compared with each other; i8 has other ratios on many parts */
    for (int i = 1; i < TENSOR_KEYS && good[0] && !l->hw->arch->plain; i++) {
        const fsim_hw_key key = tensor_keys[i].key;
        if (good[i] && key != FSIM_HW_TENSOR_I8 && fabs(figure(l, key) / (f16 * tensor_keys[i].factor) - 1) > tolerance)
            report(
                l, l->hw->q[key].value_at,
                fsim_printf(l->arena,
                            "%s is %s, but dense it is %g x tensor_f16, which is %s: is one of them a sparse figure?",
                            fsim_hw_rows[key].key, shown(l, figure(l, key), key), tensor_keys[i].factor,
                            shown(l, f16, FSIM_HW_TENSOR_F16)));
    }
}

/* Pairs of keys of which the first can't be larger than the second. gpu: holds for GPUs only. */
static const struct {
    fsim_hw_key less, more;
    bool gpu;
} orders[] = {
    {FSIM_HW_SHARED_PER_BLOCK, FSIM_HW_SHARED_PER_SM, false},
    {FSIM_HW_THREADS_PER_BLOCK, FSIM_HW_THREADS_PER_SM, false},
    {FSIM_HW_BLOCKS_PER_SM, FSIM_HW_THREADS_PER_SM, false},
    {FSIM_HW_WARP_SIZE, FSIM_HW_THREADS_PER_BLOCK, false},
    {FSIM_HW_REGISTERS_PER_THREAD, FSIM_HW_REGISTERS_PER_SM, false},
    {FSIM_HW_REGISTER_UNIT, FSIM_HW_REGISTERS_PER_SM, false},
    {FSIM_HW_L2_CAPACITY, FSIM_HW_DRAM_CAPACITY, false},
    {FSIM_HW_SHARED_PER_SM, FSIM_HW_L2_CAPACITY, true},
    {FSIM_HW_L2_LATENCY, FSIM_HW_DRAM_LATENCY, true},
    {FSIM_HW_DRAM_BANDWIDTH, FSIM_HW_L2_BANDWIDTH, true},
    {FSIM_HW_SPECIAL_RATE, FSIM_HW_FP32_RATE, true},
    {FSIM_HW_FP64_RATE, FSIM_HW_FP32_RATE, true},
    {FSIM_HW_LAUNCH_GRAPH, FSIM_HW_LAUNCH_STREAM, true},
    {FSIM_HW_LAUNCH_STREAM, FSIM_HW_LAUNCH_EAGER, true},
    {FSIM_HW_KERNEL_FLOOR, FSIM_HW_LAUNCH_EAGER, true},
};

static void check_orders(linter *l)
{
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const double less = fsim_hw_peak(l->hw, orders[i].less), more = fsim_hw_peak(l->hw, orders[i].more);
        if (less > more && !(l->hw->host && orders[i].gpu))
            report(l, l->hw->q[orders[i].less].value_at,
                   fsim_printf(l->arena, "%s, %s, is larger than %s, %s", fsim_hw_rows[orders[i].less].key,
                               shown(l, less, orders[i].less), fsim_hw_rows[orders[i].more].key,
                               shown(l, more, orders[i].more)));
    }
    const double threads = figure(l, FSIM_HW_THREADS_PER_SM), warp = figure(l, FSIM_HW_WARP_SIZE);
    if (fmod(threads, warp) > 0)
        report(l, l->hw->q[FSIM_HW_THREADS_PER_SM].value_at,
               fsim_printf(l->arena, "threads_per_sm, %g, is no multiple of warp_size, %g", threads, warp));
}

int fsim_hw_lint(fsim_arena *a, fsim_diag *d, const fsim_hw *hw)
{
    linter l = {a, d, hw, 0};
    const fsim_architecture *arch = fsim_architecture_named(hw->architecture);
    if (arch && isnan(arch->dense_f16)) /* a row without matrix rates */
        arch = NULL;
    check_multiprocessors(&l);
    if (l.found > 0) /* what goes by the number of SMs would only repeat it */
        return l.found;
    check_achieved(&l);
    check_vector_peaks(&l);
    check_bus(&l);
    if (arch)
        check_bandwidth_per_sm(&l, arch);
    check_tensor(&l, arch);
    check_matrix_f32(&l, arch);
    check_orders(&l);
    return l.found;
}

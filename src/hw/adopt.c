/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/adopt.h"

#include <stddef.h>
#include <string.h>

enum { KIB = 1024, SHEET_MATRIX = 5 /* the place of the matrix units among the figures of a data sheet */ };

double fsim_architecture_figure(const fsim_architecture *arch, fsim_hw_key key)
{
    const struct {
        fsim_hw_key key;
        double value;
    } of[] = {{FSIM_HW_SHARED_PER_SM, arch->shared_kib_per_sm * KIB},
              {FSIM_HW_SHARED_PER_BLOCK, arch->shared_kib_per_block * KIB},
              {FSIM_HW_SHARED_BANDWIDTH, arch->maker->shared_bytes_per_clock},
              {FSIM_HW_REGISTERS_PER_SM, arch->maker->registers_per_sm},
              {FSIM_HW_REGISTERS_PER_THREAD, arch->maker->registers_per_thread},
              {FSIM_HW_REGISTER_UNIT, arch->maker->register_unit},
              {FSIM_HW_THREADS_PER_SM, arch->threads_per_sm},
              {FSIM_HW_THREADS_PER_BLOCK, arch->maker->threads_per_block},
              {FSIM_HW_BLOCKS_PER_SM, arch->blocks_per_sm},
              {FSIM_HW_WARP_SIZE, arch->maker->warp_size},
              {FSIM_HW_FP64_RATE, arch->fp64_rate},
              {FSIM_HW_FP32_RATE, arch->fp32_rate},
              {FSIM_HW_FP16_RATE, arch->fp16_rate},
              {FSIM_HW_INT32_RATE, arch->int32_rate},
              {FSIM_HW_SPECIAL_RATE, arch->special_rate}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].key == key)
            return of[i].value;
    return NAN;
}

static void put(fsim_hw *hw, fsim_hw_key key, double value, fsim_hw_from from, const char *source)
{
    fsim_quantity *q = &hw->q[key];
    q->value = value;
    q->present = true;
    q->from = from;
    q->source = source;
}

/* What another kind of accelerator has where its file says nothing: as its other keys. */
static void adopt_plain(fsim_hw *hw)
{
    static const double special_share = 1.0 / 8; /* as on NVIDIA's newest designs */
    const struct {
        fsim_hw_key key, like;
        double share;
        const char *source;
    } as[] = {{FSIM_HW_SHARED_PER_BLOCK, FSIM_HW_SHARED_PER_SM, 1, "assumed: all of shared_memory_per_sm"},
              {FSIM_HW_INT32_RATE, FSIM_HW_FP32_RATE, 1, "assumed: as fp32_rate"},
              {FSIM_HW_FP16_RATE, FSIM_HW_FP32_RATE, 1, "assumed: as fp32_rate"},
              {FSIM_HW_SPECIAL_RATE, FSIM_HW_FP32_RATE, special_share, "assumed: an eighth of fp32_rate"}};
    for (size_t i = 0; i < sizeof as / sizeof *as; i++)
        if (!hw->q[as[i].key].present && hw->q[as[i].like].value > 0)
            put(hw, as[i].key, as[i].share * hw->q[as[i].like].value, FSIM_HW_FROM_SIMILAR, as[i].source);
}

void fsim_hw_adopt_architecture(fsim_arena *a, fsim_hw *hw)
{
    const bool own_rate = hw->q[FSIM_HW_FP32_RATE].present && hw->q[FSIM_HW_FP32_RATE].value != hw->arch->fp32_rate;
    const char *guide = hw->arch->maker->guide,
               *source = fsim_architecture_named(hw->architecture)
                             ? fsim_printf(a, "from the architecture %s: %s", hw->architecture, guide)
                             : fsim_printf(a, "assumed: as %s, the nearest architecture before %s: %s", hw->arch->name,
                                           hw->architecture, guide);
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        const double figure = fsim_architecture_figure(hw->arch, (fsim_hw_key)k);
        const bool rate = fsim_hw_rows[k].dim == FSIM_DIM_PER_CLOCK;
        if (!hw->q[k].present && !isnan(figure) && !(rate && own_rate))
            put(hw, (fsim_hw_key)k, figure, FSIM_HW_FROM_ARCHITECTURE, source);
    }
    if (hw->arch->plain)
        adopt_plain(hw);
}

/* Peaks of vector units, with the rate that decides each. */
static const struct {
    fsim_hw_key peak, rate;
} vector_peaks[] = {{FSIM_HW_FP32_PEAK, FSIM_HW_FP32_RATE},
                    {FSIM_HW_FP64_PEAK, FSIM_HW_FP64_RATE},
                    {FSIM_HW_FP16_PEAK, FSIM_HW_FP16_RATE}};
enum { VECTOR_PEAKS = sizeof vector_peaks / sizeof *vector_peaks };

/* Keys of the matrix units, in the order of fsim_matrix_type. */
static const fsim_hw_key matrix_keys[FSIM_MATRIX_TYPES] = {FSIM_HW_TENSOR_F16, FSIM_HW_TENSOR_BF16, FSIM_HW_TENSOR_TF32,
                                                           FSIM_HW_TENSOR_F32, FSIM_HW_TENSOR_F8,   FSIM_HW_TENSOR_I8,
                                                           FSIM_HW_TENSOR_F64};

/* SMs x clock: what rates of a GPU go with. */
static double cycles_per_s(const fsim_hw *hw) { return hw->q[FSIM_HW_SMS].value * hw->q[FSIM_HW_SM_CLOCK].value; }

/* The rate of the matrix units for type m over that of f16, on this product; 0: none; NaN: not known. GeForce products
 * halve f16 with fp32 sums, and not i8. */
static double matrix_rate(const fsim_hw *hw, int m, double f16)
{
    static const double halved = 0.6; /* f16 is below this share of the architecture's */
    const fsim_design d = hw->arch->design;
    const bool graphics = d == FSIM_AMPERE_GRAPHICS || d == FSIM_ADA || d == FSIM_BLACKWELL_GRAPHICS;
    const bool half = graphics && f16 < halved * hw->arch->dense_f16 * cycles_per_s(hw);
    return hw->arch->tensor_rate[m] * (half && m == FSIM_MATRIX_I8 ? 2 : 1);
}

/* Peaks of matrix units from the first one that the file gives; where it gives none, the architecture's usual rate. */
static void derive_matrix_peaks(fsim_arena *a, fsim_hw *hw)
{
    int base = 0;
    while (base < FSIM_MATRIX_TYPES && !(hw->q[matrix_keys[base]].value > 0 && hw->arch->tensor_rate[base] > 0))
        base++;
    if (base == FSIM_MATRIX_TYPES) {
        const double usual = hw->arch->new_f16 * cycles_per_s(hw);
        if (!(usual > 0) || hw->q[FSIM_HW_TENSOR_F16].present)
            return;
        put(hw, FSIM_HW_TENSOR_F16, usual, FSIM_HW_FROM_SIMILAR,
            fsim_printf(a, "assumed: %g dense FLOP a clock and SM, the least of %s products", hw->arch->new_f16,
                        hw->arch->name));
        base = 0;
    }
    const double f16 = hw->q[matrix_keys[base]].value / hw->arch->tensor_rate[base];
    for (int m = 0; m < FSIM_MATRIX_TYPES; m++) {
        const double rate = matrix_rate(hw, m, f16);
        if (rate > 0 && !hw->q[matrix_keys[m]].present)
            put(hw, matrix_keys[m], f16 * rate, FSIM_HW_FROM_KEYS,
                fsim_printf(a, "%.4g x %s, as on %s", rate / hw->arch->tensor_rate[base],
                            fsim_hw_rows[matrix_keys[base]].key, hw->arch->name));
    }
}

void fsim_hw_derive_peaks(fsim_arena *a, fsim_hw *hw)
{
    for (int i = 0; i < VECTOR_PEAKS; i++) {
        const double rate = hw->q[vector_peaks[i].rate].value;
        if (!hw->q[vector_peaks[i].peak].present && !isnan(rate * cycles_per_s(hw)))
            put(hw, vector_peaks[i].peak, cycles_per_s(hw) * rate * 2, FSIM_HW_FROM_KEYS,
                fsim_printf(a, "SMs x %s x 2 x clock", fsim_hw_rows[vector_peaks[i].rate].key));
    }
    derive_matrix_peaks(a, hw);
}

/* What a figure from the parent is called. */
static const char *source_from(fsim_arena *a, const fsim_hw *parent, fsim_hw_key key, const char *how)
{
    const char *said = parent->q[key].source;
    return fsim_printf(a, "from %s%s: %s", parent->name, how, said ? said : "usual value");
}

static bool is_peak(int key) { return fsim_hw_rows[key].absent == FSIM_ABSENT_DERIVED; }

/* Is the key never inherited? What renting costs is one product's; a bus goes with its bandwidth; what the architecture
 * decides comes from there, unless the parent says otherwise for the same architecture. */
static bool is_own(const fsim_hw *hw, const fsim_hw *parent, int key)
{
    const double figure = fsim_architecture_figure(hw->arch, (fsim_hw_key)key);
    if (key == FSIM_HW_DRAM_BUS)
        return hw->q[FSIM_HW_DRAM_BANDWIDTH].from == FSIM_HW_GIVEN && hw->q[FSIM_HW_DRAM_BANDWIDTH].present;
    return !isnan(figure) && (hw->arch != parent->arch || figure == parent->q[key].value);
}

static void inherit(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent, fsim_hw_key key)
{
    fsim_quantity *q = &hw->q[key];
    const fsim_loc at = q->at;
    *q = parent->q[key];
    q->at = q->value_at = q->achieved_at = at;
    q->from = FSIM_HW_FROM_LIKE;
    q->typical = !isnan(fsim_hw_rows[key].otherwise); /* fitted there, not here */
    q->source = source_from(a, parent, key, "");
}

void fsim_hw_inherit_figures(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        const fsim_quantity *theirs = &parent->q[k];
        const bool some = theirs->present && !theirs->typical;
        const bool scaled = is_peak(k) || k == FSIM_HW_L2_BANDWIDTH; /* see fsim_hw_inherit_peaks */
        if (!hw->q[k].present && some && !scaled && !is_own(hw, parent, k))
            inherit(a, hw, parent, (fsim_hw_key)k);
    }
}

/* How the matrix units' rates of hw compare with the parent's: by the first rate that both have; otherwise by SMs and
 * clock, and by the architectures. *by: which. */
static double matrix_scale(const fsim_hw *hw, const fsim_hw *parent, const char **by)
{
    for (int m = 0; m < FSIM_MATRIX_TYPES; m++) {
        const double ratio = hw->q[matrix_keys[m]].value / parent->q[matrix_keys[m]].value;
        *by = fsim_hw_rows[matrix_keys[m]].key;
        if (hw->q[matrix_keys[m]].from == FSIM_HW_GIVEN && ratio > 0)
            return ratio;
    }
    const double dense = hw->arch->dense_f16 / parent->arch->dense_f16;
    *by = "SMs and clock";
    return cycles_per_s(hw) / cycles_per_s(parent) * (dense > 0 && isfinite(dense) ? dense : 1);
}

static void inherit_peak(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent, fsim_hw_key key, double scale,
                         const char *by)
{
    if (hw->q[key].present || !parent->q[key].present || parent->q[key].unknown)
        return;
    inherit(a, hw, parent, key);
    hw->q[key].value *= scale;
    hw->q[key].achieved *= scale;
    if (scale != 1)
        hw->q[key].source = source_from(a, parent, key, fsim_printf(a, " by %s", by));
}

/* The share of a peak that is reached, where hw gives only the peak. */
static void inherit_share(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent, int key)
{
    fsim_quantity *q = &hw->q[key];
    const double share = parent->q[key].achieved / parent->q[key].value;
    if (fsim_hw_rows[key].form != FSIM_HW_PEAK || q->exact || !isnan(q->achieved) || isnan(q->value * share))
        return;
    const char *source = q->source ? q->source : "data sheet";
    q->achieved = share * q->value;
    q->source = fsim_printf(a, "%.*s; achieved assumed: as on %s", (int)strcspn(source, ";"), source, parent->name);
}

void fsim_hw_inherit_peaks(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent)
{
    static const char by_size[] = "SMs and clock";
    const char *by;
    const double cycles = cycles_per_s(hw) / cycles_per_s(parent), matrix = matrix_scale(hw, parent, &by);
    for (int i = 0; i < VECTOR_PEAKS; i++) {
        const double rates = hw->q[vector_peaks[i].rate].value / parent->q[vector_peaks[i].rate].value;
        if (!isnan(rates))
            inherit_peak(a, hw, parent, vector_peaks[i].peak, cycles * rates, by_size);
    }
    /* where the file gives one rate of the matrix units, the architecture knows the others, if not all */
    const bool own_matrix = hw->q[fsim_hw_sheet_figure(hw, SHEET_MATRIX)].from == FSIM_HW_GIVEN &&
                            hw->q[fsim_hw_sheet_figure(hw, SHEET_MATRIX)].present;
    for (int m = 0; m < FSIM_MATRIX_TYPES; m++)
        if (own_matrix ? isnan(hw->arch->tensor_rate[m]) : hw->arch == parent->arch || !(hw->arch->tensor_rate[m] == 0))
            inherit_peak(a, hw, parent, matrix_keys[m], matrix, by);
    inherit_peak(a, hw, parent, FSIM_HW_L2_BANDWIDTH, cycles, by_size);
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        inherit_share(a, hw, parent, k);
}

/* Scales a figure, unless it is changed itself. */
static void rescale(fsim_arena *a, fsim_hw *hw, fsim_hw_key key, double scale)
{
    fsim_quantity *q = &hw->q[key];
    if (q->changed || !q->present || scale == 1 || !(scale > 0))
        return;
    q->value *= scale;
    q->achieved *= scale;
    q->source = fsim_printf(a, "%s; by SMs and clock of --hw-set", q->source ? q->source : "usual value");
}

void fsim_hw_rescale_peaks(fsim_arena *a, fsim_hw *hw, const fsim_hw *before)
{
    const double cycles = cycles_per_s(hw) / cycles_per_s(before);
    for (int i = 0; i < VECTOR_PEAKS; i++)
        rescale(a, hw, vector_peaks[i].peak,
                cycles * hw->q[vector_peaks[i].rate].value / before->q[vector_peaks[i].rate].value);
    for (int m = 0; m < FSIM_MATRIX_TYPES; m++)
        rescale(a, hw, matrix_keys[m], cycles);
    rescale(a, hw, FSIM_HW_L2_BANDWIDTH, cycles);
}

bool fsim_hw_fit_blocks(fsim_arena *a, fsim_diag *d, fsim_hw *hw)
{
    static const struct {
        fsim_hw_key block, sm;
    } pairs[] = {{FSIM_HW_SHARED_PER_BLOCK, FSIM_HW_SHARED_PER_SM},
                 {FSIM_HW_THREADS_PER_BLOCK, FSIM_HW_THREADS_PER_SM}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const fsim_hw_row *block = &fsim_hw_rows[pairs[i].block], *sm = &fsim_hw_rows[pairs[i].sm];
        fsim_quantity *q = &hw->q[pairs[i].block];
        const double most = hw->q[pairs[i].sm].value;
        char is[48], has[48];
        if (!(q->value > most))
            continue;
        if (q->changed) {
            fsim_failure(d, FSIM_BAD_ARGUMENT, (fsim_loc){NULL, 0, 0},
                         "--hw-set: %s, %s, is larger than %s, %s: no such block fits; set %s too", block->key,
                         fsim_show(is, sizeof is, q->value, block->dim), sm->key,
                         fsim_show(has, sizeof has, most, sm->dim), sm->key);
            return false;
        }
        q->value = most;
        q->source = fsim_printf(a, "%s; at most %s of --hw-set", q->source ? q->source : "usual value", sm->key);
    }
    return true;
}

fsim_hw_key fsim_hw_sheet_figure(const fsim_hw *hw, int i)
{
    static const fsim_hw_key figures[FSIM_SHEET_FIGURES] = {
        FSIM_HW_SMS,         FSIM_HW_SM_CLOCK,   FSIM_HW_DRAM_BANDWIDTH, FSIM_HW_DRAM_CAPACITY,
        FSIM_HW_L2_CAPACITY, FSIM_HW_TENSOR_F16, FSIM_HW_POWER_LIMIT,    FSIM_HW_LINK_BANDWIDTH};
    for (int m = 0; m < FSIM_MATRIX_TYPES && figures[i] == FSIM_HW_TENSOR_F16; m++)
        if (hw->q[matrix_keys[m]].present && hw->q[matrix_keys[m]].from == FSIM_HW_GIVEN)
            return matrix_keys[m];
    return figures[i];
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/relatives.h"

#include <math.h>
#include <string.h>

enum {
    NAMED = 2 /* how many relatives a source names */,
    WIDE_BUS_BITS = 2048 /* at least so many: HBM, which has thousands; GDDR has hundreds */
};

static bool is_fitted(int key) { return !isnan(fsim_hw_rows[key].otherwise); }

static bool is_similar(int key) { return fsim_hw_rows[key].absent == FSIM_ABSENT_SIMILAR; }

/* What a figure of this key is multiplied by to be that of hw. */
static double unit_of(const fsim_hw *hw, int key)
{
    return key == FSIM_HW_L2_BANDWIDTH ? hw->q[FSIM_HW_SMS].value * hw->q[FSIM_HW_SM_CLOCK].value : 1;
}

/* Does the key lack its measured part: a peak without a rate that is reached, or a fitted scalar that only has its
 * default? */
static bool lacks(const fsim_hw *hw, int key)
{
    const fsim_quantity *q = &hw->q[key];
    if (key == FSIM_HW_CONTRACTION_TENSOR && hw->arch->dense_f16 == 0)
        return false;                       /* it has no matrix units */
    if (is_similar(key) && hw->arch->plain) /* times of caches are those of a GPU's */
        return !q->present && fsim_hw_rows[key].feeds != FSIM_FEEDS_L2 && fsim_hw_rows[key].feeds != FSIM_FEEDS_LATENCY;
    if (is_similar(key))
        return !q->present;
    return is_fitted(key)
               ? q->typical && q->from != FSIM_HW_FROM_LIKE
               : fsim_hw_rows[key].form == FSIM_HW_PEAK && !q->exact && isnan(q->achieved) && !isnan(q->value);
}

bool fsim_hw_lacks_measurements(const fsim_hw *hw)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if ((is_fitted(k) || is_similar(k)) && lacks(hw, k))
            return true;
    return false;
}

void fsim_hw_drop_measurements(fsim_hw *hw)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        fsim_quantity *q = &hw->q[k];
        if (is_fitted(k)) {
            q->value = fsim_hw_rows[k].otherwise;
            q->typical = true;
            q->from = FSIM_HW_FROM_SIMILAR;
            q->source = NULL;
        } else if (fsim_hw_rows[k].form == FSIM_HW_PEAK && !q->exact && !isnan(q->value)) {
            q->achieved = NAN;
        }
    }
}

static double figure_of(const fsim_hw *hw, int key)
{
    const fsim_origin from = fsim_hw_origin(hw, (fsim_hw_key)key);
    if (is_similar(key))
        return hw->q[key].from == FSIM_HW_GIVEN ? fsim_hw_get(hw, (fsim_hw_key)key) / unit_of(hw, key) : (double)NAN;
    if (from != FSIM_FROM_FITTED && from != FSIM_FROM_MEASURED)
        return NAN;
    return is_fitted(key) ? hw->q[key].value : hw->q[key].achieved / hw->q[key].value;
}

/* By the width of its bus where the file gives it, otherwise as the architecture's other products. */
static bool has_stacked_memory(const fsim_hw *hw)
{
    const double bits = hw->q[FSIM_HW_DRAM_BUS].value;
    return isnan(bits) ? strncmp(hw->arch->memory, "HBM", 3) == 0 : bits >= WIDE_BUS_BITS;
}

fsim_relative fsim_relative_of(const fsim_hw *hw)
{
    fsim_relative r = {.name = hw->name,
                       .cpu = hw->host,
                       .stacked_memory = has_stacked_memory(hw),
                       .distance_step = hw->arch->distance_step,
                       .watts_per_flop = fsim_hw_get(hw, FSIM_HW_POWER_LIMIT) / fsim_hw_peak(hw, FSIM_HW_FP32_PEAK)};
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        r.figure[k] = figure_of(hw, k);
    return r;
}

/* Distance between two GPUs: how unlike they are. */
static double distance(const fsim_relative *x, const fsim_relative *y)
{
    enum { OTHER_MEMORY = 4, UNKNOWN_POWER = 1 }; /* in units of a step between architectures */
    const double power = x->watts_per_flop > 0 && y->watts_per_flop > 0
                             ? fabs(log(x->watts_per_flop / y->watts_per_flop))
                             : UNKNOWN_POWER;
    return fabs(x->distance_step - y->distance_step) + (x->stacked_memory != y->stacked_memory ? OTHER_MEMORY : 0) +
           power;
}

/* The relatives with the largest weights. */
typedef struct {
    const char *name[NAMED];
    double weight[NAMED];
} nearest;

static void note(nearest *n, const char *name, double weight)
{
    const int at = weight > n->weight[0] ? 0 : weight > n->weight[1] ? 1 : NAMED;
    if (at == 0) {
        n->weight[1] = n->weight[0];
        n->name[1] = n->name[0];
    }
    if (at < NAMED) {
        n->weight[at] = weight;
        n->name[at] = name;
    }
}

static void fill(fsim_arena *a, fsim_hw *hw, int key, double figure, const nearest *from)
{
    fsim_quantity *q = &hw->q[key];
    const char *like = hw->arch->plain ? "assumed: the mean of the shipped GPUs"
                       : from->name[1] ? fsim_printf(a, "assumed: as on %s and %s", from->name[0], from->name[1])
                                       : fsim_printf(a, "assumed: as on %s", from->name[0]);
    if (is_fitted(key) || is_similar(key)) {
        *(fsim_hw_rows[key].form == FSIM_HW_PEAK ? &q->achieved : &q->value) = figure * unit_of(hw, key);
        q->source = like;
        q->from = FSIM_HW_FROM_SIMILAR;
    } else {
        q->achieved = figure * q->value;
        q->source = fsim_printf(a, "%s; achieved %s",
                                q->source ? fsim_strndup(a, q->source, strcspn(q->source, ";")) : "data sheet", like);
    }
    q->present = true;
}

/* The weight of each relative's figures for hw; 0: not used. */
static double *weights_for(fsim_arena *a, const fsim_hw *hw, const fsim_relative *relative, int count)
{
    const fsim_relative self = fsim_relative_of(hw);
    double *weight = fsim_new(a, double, count + 1);
    for (int i = 0; i < count; i++) {
        const double d = distance(&self, &relative[i]);
        if (hw->arch->plain)
            weight[i] = !relative[i].cpu; /* none is like it */
        else if (!relative[i].cpu && !hw->host && strcmp(relative[i].name, hw->name) != 0)
            weight[i] = 1 / (0.1 + d * d);
    }
    return weight;
}

void fsim_hw_fill_from(fsim_arena *a, fsim_hw *hw, const fsim_relative *relative, int count)
{
    const double *weight = weights_for(a, hw, relative, count);
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        double sum = 0, all = 0;
        nearest from = {0};
        for (int i = 0; i < count && lacks(hw, k); i++)
            if (weight[i] > 0 && relative[i].figure[k] > 0) {
                sum += weight[i] * log(relative[i].figure[k]);
                all += weight[i];
                note(&from, relative[i].name, weight[i]);
            }
        if (all > 0)
            fill(a, hw, k, exp(sum / all), &from);
    }
}

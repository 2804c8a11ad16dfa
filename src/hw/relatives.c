/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/relatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 2 }; /* kin that a source names */

static bool is_fitted(int key) { return !isnan(fsim_hw_rows[key].otherwise); }

/* Is there a peak, but nothing that says how much of it is reached? */
static bool lacks(const fsim_hw *hw, int key)
{
    const fsim_quantity *q = &hw->q[key];
    return is_fitted(key)
               ? q->typical
               : fsim_hw_rows[key].form == FSIM_HW_PEAK && !q->exact && isnan(q->achieved) && !isnan(q->value);
}

bool fsim_hw_lacks(const fsim_hw *hw)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if (is_fitted(k) && hw->q[k].typical)
            return true;
    return false;
}

void fsim_hw_forget(fsim_hw *hw)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        fsim_quantity *q = &hw->q[k];
        if (is_fitted(k)) {
            q->value = fsim_hw_rows[k].otherwise;
            q->typical = true;
            q->source = NULL;
        } else if (fsim_hw_rows[k].form == FSIM_HW_PEAK && !q->exact && !isnan(q->value)) {
            q->achieved = NAN;
        }
    }
}

/* HBM has buses of thousands of bits; GDDR of hundreds. */
static bool stacked_memory(const fsim_hw *hw) { return hw->q[FSIM_HW_DRAM_BUS].value >= 2048; }

static double distance(const fsim_hw *x, const fsim_hw *y)
{
    const double power_x = fsim_hw_get(x, FSIM_HW_POWER_LIMIT) / fsim_hw_peak(x, FSIM_HW_FP32_PEAK),
                 power_y = fsim_hw_get(y, FSIM_HW_POWER_LIMIT) / fsim_hw_peak(y, FSIM_HW_FP32_PEAK);
    const double power = power_x > 0 && power_y > 0 ? fabs(log(power_x / power_y)) : 1;
    return fabs(x->arch->distance_step - y->arch->distance_step) + (stacked_memory(x) != stacked_memory(y) ? 4 : 0) +
           power;
}

/* What kin says of the key, so that it means something on another GPU: a share of the peak, or the figure itself. NaN:
 * nothing measured. */
static double told_by(const fsim_hw *kin, int key)
{
    const fsim_origin from = fsim_hw_origin(kin, (fsim_hw_key)key);
    if (from != FSIM_FROM_FITTED && from != FSIM_FROM_MEASURED)
        return NAN;
    return is_fitted(key) ? kin->q[key].value : kin->q[key].achieved / kin->q[key].value;
}

static void adopt(fsim_arena *a, fsim_hw *hw, int key, const fsim_hw *const *kin, int count)
{
    double sum = 0, weights = 0, most[NAMED] = {0};
    const char *name[NAMED] = {NULL};
    fsim_quantity *q = &hw->q[key];
    for (int i = 0; i < count; i++) {
        const double told = told_by(kin[i], key), d = distance(hw, kin[i]), weight = 1 / (0.1 + d * d);
        if (!(told > 0) || kin[i]->host || hw->host || strcmp(kin[i]->name, hw->name) == 0)
            continue;
        sum += weight * log(told);
        weights += weight;
        const int at = weight > most[0] ? 0 : weight > most[1] ? 1 : NAMED;
        if (at == 0) {
            most[1] = most[0];
            name[1] = name[0];
        }
        if (at < NAMED) {
            most[at] = weight;
            name[at] = kin[i]->name;
        }
    }
    if (weights <= 0)
        return;
    const double value = exp(sum / weights);
    const char *like = name[1] ? fsim_printf(a, "assumed: as on %s and %s", name[0], name[1])
                               : fsim_printf(a, "assumed: as on %s", name[0]);
    if (is_fitted(key)) {
        q->value = value;
        q->source = like;
    } else {
        q->achieved = value * q->value;
        q->source = fsim_printf(a, "%s; achieved %s",
                                q->source ? fsim_strndup(a, q->source, strcspn(q->source, ";")) : "data sheet", like);
    }
    q->present = true;
}

void fsim_hw_adopt(fsim_arena *a, fsim_hw *hw, const fsim_hw *const *kin, int count)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if (lacks(hw, k))
            adopt(a, hw, k, kin, count);
}

void fsim_hw_adopt_shipped(fsim_arena *a, fsim_hw *hw, const char *shipped_dir)
{
    int count, kept = 0;
    const char **names = fsim_hw_list(a, shipped_dir, &count);
    const fsim_hw **kin = fsim_new(a, const fsim_hw *, count + 1);
    for (int i = 0; i < count; i++) {
        fsim_diag *aside = fsim_diag_new(a);
        const char *path = fsim_hw_find(a, aside, names[i], shipped_dir);
        if (path && (kin[kept] = fsim_hw_read(a, aside, path)))
            kept++;
    }
    fsim_hw_adopt(a, hw, kin, kept);
}

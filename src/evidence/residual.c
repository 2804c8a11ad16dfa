/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/residual.h"

#include "evidence/harness.h"
#include "plan/price/spread.h"
#include <math.h>
#include <stdlib.h>

static const double main_share = 0.6; /* a kernel with at least this share of a row's time decides the row's residual */
static const double covered_share = 0.8; /* share of rows that an interval must cover */

static const fsim_hw_key keys[FSIM_RESIDUAL_KEYS - 1] = {
    FSIM_HW_RESIDUAL_STREAMING,   FSIM_HW_RESIDUAL_ROWS,      FSIM_HW_RESIDUAL_FP32, FSIM_HW_RESIDUAL_TENSOR,
    FSIM_HW_RESIDUAL_CONVOLUTION, FSIM_HW_RESIDUAL_ATTENTION, FSIM_HW_RESIDUAL_OTHER};

fsim_residual fsim_residual_of(const fsim_prepared *p, const fsim_hw *hw, double predicted_s, fsim_arena *scratch)
{
    const fsim_mark mark = fsim_save(scratch);
    fsim_residual r = {.log_error = fabs(log(p->row->time_s / predicted_s)), .key = FSIM_HW_RESIDUAL_OTHER};
    const fsim_software software = {p->graph, hw, p->row->launch, p->maker};
    double most = 0;
    for (int k = 0; k < p->kernels; k++) {
        const fsim_kernel kernel =
            fsim_kernel_measured(fsim_harness_of(p->row), &software, &p->group[k], &p->l2[k], NULL, scratch);
        if (kernel.time_s <= most)
            continue;
        most = kernel.time_s;
        r.key = fsim_residual_key(p->graph, &kernel);
        r.generated = !fsim_is_eager(p->maker) && kernel.template != FSIM_LIBRARY_CONTRACTION;
    }
    r.main = most > main_share * predicted_s;
    fsim_rewind(scratch, mark);
    return r;
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The smallest of sorted[0, count) that at least covered_share of the rows do not exceed; with one row more, because
 * the next row is a new one. */
static double width_of(double *sorted, int count)
{
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    const int at = (int)ceil(covered_share * (count + 1)) - 1;
    return sorted[at < count ? at : count - 1];
}

/* Is it a key of kernels without contractions? Contractions in compiled plans run the library's kernels too. */
static bool no_contraction(fsim_hw_key key)
{
    return key == FSIM_HW_RESIDUAL_STREAMING || key == FSIM_HW_RESIDUAL_ROWS || key == FSIM_HW_RESIDUAL_OTHER;
}

/* For rows of generated kernels: the part of each row's error beyond the width of its kind. */
static int generated_rows(const fsim_residual *r, int count, const fsim_hw *hw, double *beyond)
{
    int rows = 0;
    for (int i = 0; i < count; i++)
        if (r[i].main && r[i].generated && no_contraction(r[i].key)) {
            const double own = fsim_hw_get(hw, r[i].key), square = r[i].log_error * r[i].log_error - own * own;
            beyond[rows++] = square > 0 ? sqrt(square) : 0;
        }
    return rows;
}

static bool set(fsim_hw *hw, fsim_hw_key key, double *width, int rows, fsim_fitted_key *out)
{
    if (rows < FSIM_RESIDUAL_LEAST_ROWS)
        return false;
    const fsim_hw_row *row = &fsim_hw_rows[key];
    const double w = fmin(row->high, fmax(row->low, width_of(width, rows)));
    *out = (fsim_fitted_key){.key = key,
                             .before = fsim_hw_get(hw, key),
                             .after = w,
                             .spread = 1 / sqrt(2.0 * rows),
                             .rows = rows}; /* spread of the width itself, for normally distributed errors */
    hw->q[key].value = w;
    hw->q[key].typical = false;
    hw->q[key].from = FSIM_HW_GIVEN;
    return true;
}

int fsim_fit_residuals(const fsim_residual *r, int count, fsim_hw *hw, fsim_arena *a,
                       fsim_fitted_key out[FSIM_RESIDUAL_KEYS])
{
    double *error = fsim_new(a, double, count + 1);
    int found = 0;
    for (int k = 0; k < FSIM_RESIDUAL_KEYS - 1; k++) {
        int rows = 0;
        for (int i = 0; i < count; i++)
            if (r[i].main && !r[i].generated && r[i].key == keys[k])
                error[rows++] = r[i].log_error;
        found += set(hw, keys[k], error, rows, &out[found]);
    }
    const int rows = generated_rows(r, count, hw, error);
    found += set(hw, FSIM_HW_RESIDUAL_GENERATED, error, rows, &out[found]);
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/residual.h"

#include <math.h>
#include <stdlib.h>

static const double main_share = 0.6; /* a kernel with at least this share of a row's time decides the row's residual */
static const double covered_share = 0.8; /* share of rows that an interval must cover */

enum { GENERATED = FSIM_ERROR_CLASSES };

fsim_residual fsim_residual_of(const fsim_evaluated *e, double predicted_s, int gpu)
{
    fsim_residual r = {.gpu = gpu, .log_error = fabs(log(e->row->time_s / predicted_s)), .key = FSIM_HW_RESIDUAL_OTHER};
    double most = 0;
    for (int k = 0; k < e->errors.kernels; k++) {
        const fsim_kernel_error *kernel = &e->errors.kernel[k];
        if (kernel->share <= most)
            continue;
        most = kernel->share;
        r.key = kernel->key;
        r.generated = !kernel->vendor;
    }
    r.main = most * e->errors.busy_s > main_share * predicted_s;
    return r;
}

/* An error of a row, and what the row counts. */
typedef struct {
    double error, weight;
} weighted;

static int by_size(const void *x, const void *y)
{
    const weighted *a = x, *b = y;
    return (a->error > b->error) - (a->error < b->error);
}

/* The smallest error that at least covered_share of the weight does not exceed; with one row more, because the next
 * row is a new one. */
static double width_of(weighted *w, int count)
{
    double all = 1, sum = 0;
    int i = 0;
    qsort(w, (size_t)count, sizeof *w, by_size);
    for (int j = 0; j < count; j++)
        all += w[j].weight;
    while (i < count - 1 && (sum += w[i].weight) < covered_share * all - 1e-9)
        i++;
    return w[i].error;
}

/* Is it a class of kernels without contractions? Contractions in compiled plans run the library's kernels too. */
static bool no_contraction(fsim_hw_key key)
{
    return key == FSIM_HW_RESIDUAL_STREAMING || key == FSIM_HW_RESIDUAL_ROWS || key == FSIM_HW_RESIDUAL_OTHER;
}

/* Does row r tell about width c? */
static bool tells(const fsim_residual *r, int c)
{
    return r->main &&
           (c == GENERATED ? r->generated && no_contraction(r->key) : !r->generated && fsim_error_class(r->key) == c);
}

/* The rows that tell about one width. */
typedef struct {
    weighted *row;
    int *gpu, count, own, others; /* own: rows of the GPU; others: GPUs that have some besides */
} telling;

/* Gives the rows of other GPUs the weight that is missing to FSIM_RESIDUAL_LEAST_ROWS, or leaves them out. */
static void weigh(telling *t, int mine, int *rows_of)
{
    int kept = 0;
    for (int i = 0; i < t->count; i++)
        t->others += rows_of[t->gpu[i]]++ == 0 && t->gpu[i] != mine;
    t->own = rows_of[mine];
    t->others = t->own < FSIM_RESIDUAL_LEAST_ROWS ? t->others : 0;
    for (int i = 0; i < t->count; i++) {
        const double missing = FSIM_RESIDUAL_LEAST_ROWS - t->own;
        if (t->gpu[i] == mine || t->others > 0)
            t->row[kept++] =
                (weighted){t->row[i].error, t->gpu[i] == mine ? 1 : missing / t->others / rows_of[t->gpu[i]]};
    }
    t->count = kept;
}

fsim_widths fsim_widths_of(const fsim_residual *r, int count, int gpu, const double unknown[FSIM_ERROR_CLASSES],
                           fsim_arena *a)
{
    fsim_widths w = {.rows = {0}};
    int gpus = gpu + 1;
    for (int i = 0; i < count; i++)
        gpus = r[i].gpu >= gpus ? r[i].gpu + 1 : gpus;
    for (int c = 0; c < FSIM_RESIDUAL_KEYS; c++) {
        const fsim_mark mark = fsim_save(a);
        telling t = {fsim_new(a, weighted, count + 1), fsim_new(a, int, count + 1), 0, 0, 0};
        for (int i = 0; i < count; i++) {
            if (!tells(&r[i], c))
                continue;
            double error = r[i].log_error;
            if (c == GENERATED) { /* the part of the error beyond the width of its class */
                const int of = fsim_error_class(r[i].key);
                const double class_width = w.rows[of] ? w.width[of] : unknown[of],
                             square = error * error - class_width * class_width;
                error = square > 0 ? sqrt(square) : 0;
            }
            t.gpu[t.count] = r[i].gpu;
            t.row[t.count++].error = error;
        }
        weigh(&t, gpu, fsim_new(a, int, gpus));
        if (t.own >= FSIM_RESIDUAL_LEAST_ROWS || (t.own > 0 && t.others > 0)) {
            w.rows[c] = t.own;
            w.others[c] = t.others;
            w.width[c] = width_of(t.row, t.count);
        }
        fsim_rewind(a, mark);
    }
    return w;
}

int fsim_set_residuals(const fsim_widths *w, fsim_hw *hw, fsim_fitted_key out[FSIM_RESIDUAL_KEYS])
{
    int found = 0;
    for (int c = 0; c < FSIM_RESIDUAL_KEYS; c++) {
        const fsim_hw_key key = c == GENERATED ? FSIM_HW_RESIDUAL_GENERATED : fsim_error_classes[c];
        const fsim_hw_row *row = &fsim_hw_rows[key];
        if (w->rows[c] == 0)
            continue;
        const double width = fmin(row->high, fmax(row->low, w->width[c]));
        out[found++] = (fsim_fitted_key){.key = key,
                                         .before = fsim_hw_get(hw, key),
                                         .after = width,
                                         .spread = 1 / sqrt(2.0 * w->rows[c]),
                                         .rows = w->rows[c],
                                         .others = w->others[c]}; /* spread: for normally distributed errors */
        hw->q[key].value = width;
        hw->q[key].typical = false;
        hw->q[key].from = FSIM_HW_GIVEN;
    }
    return found;
}

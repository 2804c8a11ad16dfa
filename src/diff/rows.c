/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/rows.h"

#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_row_verdict_names[FSIM_ROW_VERDICTS] = {"same", "faster", "slower", "lost", "new"};

/* Is the difference of two times more than scatter? */
static bool is_sure(const fsim_filed_row *b, const fsim_filed_row *a)
{
    const bool apart = !(b->low_s <= a->high_s && a->low_s <= b->high_s); /* true for exact times: NaN */
    const double scatter = hypot(isnan(b->noise) ? 0 : b->noise, isnan(a->noise) ? 0 : a->noise);
    return b->time_fs != a->time_fs && apart && fabs(log((double)a->time_fs / (double)b->time_fs)) > scatter;
}

static void judge(fsim_row_diff *x)
{
    const fsim_filed_row *b = x->before, *a = x->after;
    const bool was = b && b->time_fs >= 0, is = a && a->time_fs >= 0;
    x->chosen = (b && b->chosen) || (a && a->chosen);
    x->other_kernels = b && a && strcmp(b->kernels, a->kernels) != 0;
    x->growth = was && is && b->time_fs > 0 ? (double)(a->time_fs - b->time_fs) / (double)b->time_fs : (double)NAN;
    x->verdict = was && !is                                                            ? FSIM_ROW_LOST
                 : is && !was                                                          ? FSIM_ROW_NEW
                 : !was || !is || b->time_fs <= 0 || a->time_fs <= 0 || !is_sure(b, a) ? FSIM_ROW_SAME
                 : a->time_fs > b->time_fs                                             ? FSIM_ROW_SLOWER
                                                                                       : FSIM_ROW_FASTER;
}

static int rank_of(const fsim_row_diff *x)
{
    return x->verdict == FSIM_ROW_LOST ? 0 : x->verdict == FSIM_ROW_SAME ? 2 : x->verdict == FSIM_ROW_NEW ? 3 : 1;
}

/* Lost rows, then changes, the largest first, then the others, each in the order of their file. */
static int by_change(const void *one, const void *other)
{
    const fsim_row_diff *a = one, *b = other;
    const int x = rank_of(a), y = rank_of(b);
    if (x != y)
        return x - y;
    const double s = x == 1 ? fabs(a->growth) : 0, t = x == 1 ? fabs(b->growth) : 0;
    if (s != t)
        return (s < t) - (s > t);
    return a->order - b->order;
}

static void add_up(fsim_rows_diff *x)
{
    double before = 0, after = 0;
    int measured = 0;
    for (int i = 0; i < x->rows; i++) {
        const fsim_row_diff *r = &x->row[i];
        const fsim_filed_row *b = r->before, *a = r->after;
        x->verdicts[r->verdict]++;
        if (!b || !a || b->time_fs < 0 || a->time_fs < 0)
            continue;
        x->compared++;
        x->before_fs += r->chosen ? b->time_fs : 0;
        x->after_fs += r->chosen ? a->time_fs : 0;
        if (b->measured_s > 0 && a->measured_s > 0 && !isnan(b->predicted_s) && !isnan(a->predicted_s)) {
            measured++;
            before += fabs(b->predicted_s / b->measured_s - 1);
            after += fabs(a->predicted_s / a->measured_s - 1);
        }
    }
    x->error_before = measured ? before / measured : (double)NAN;
    x->error_after = measured ? after / measured : (double)NAN;
}

bool fsim_rows_diff_of(const fsim_filed_rows *before, const fsim_filed_rows *after, fsim_arena *a, fsim_diag *d,
                       fsim_rows_diff *out)
{
    fsim_names old = {0};
    fsim_row_diff *row = fsim_new(a, fsim_row_diff, before->rows + after->rows + 1);
    *out = (fsim_rows_diff){.before = before, .after = after, .row = row};
    for (int i = 0; i < before->rows; i++) {
        row[out->rows++] = (fsim_row_diff){.before = &before->row[i]};
        fsim_names_set(a, &old, before->row[i].key, i);
    }
    int both = 0;
    for (int i = 0; i < after->rows; i++) {
        const int at = fsim_names_get(&old, after->row[i].key);
        both += at >= 0;
        if (at >= 0)
            row[at].after = &after->row[i];
        else
            row[out->rows++] = (fsim_row_diff){.after = &after->row[i]};
    }
    for (int i = 0; i < out->rows; i++) {
        row[i].order = i;
        judge(&row[i]);
    }
    qsort(row, (size_t)out->rows, sizeof *row, by_change);
    add_up(out);
    if (both == 0)
        fsim_error(d, (fsim_loc){after->path, 0, 0}, "no row is in both files: '%s' has %d, this one %d, of other keys",
                   before->path, before->rows, after->rows);
    return both > 0;
}

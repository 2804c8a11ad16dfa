/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_grouping_names[FSIM_BY_COUNT] = {"all", "hw", "class", "workload", "strategy"};

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The share q of sorted[0, count) lies below it; between two, their mean by distance. */
static double quantile(const double *sorted, int count, double q)
{
    const double at = q * (count - 1);
    const int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

static fsim_stats stats_of(const fsim_evaluated *const *row, int count, fsim_arena *a)
{
    fsim_stats s = {.mape = NAN, .median = NAN, .p90 = NAN, .bias = NAN};
    double *error = fsim_new(a, double, count + 1), sum = 0, signed_sum = 0;
    for (int i = 0; i < count; i++)
        if (!row[i]->excluded) {
            const double e = fsim_error_of(row[i]);
            error[s.rows++] = fabs(e);
            sum += fabs(e);
            signed_sum += e;
        }
    if (s.rows == 0)
        return s;
    qsort(error, (size_t)s.rows, sizeof *error, by_number);
    s.mape = sum / s.rows;
    s.bias = signed_sum / s.rows;
    s.median = quantile(error, s.rows, 0.5);
    s.p90 = quantile(error, s.rows, 0.9);
    return s;
}

fsim_stats fsim_stats_of(const fsim_evaluated *e, int count, fsim_arena *a)
{
    const fsim_evaluated **row = fsim_new(a, const fsim_evaluated *, count + 1);
    for (int i = 0; i < count; i++)
        row[i] = &e[i];
    return stats_of(row, count, a);
}

static const char *key_of(const fsim_evaluated *e, fsim_grouping by)
{
    switch (by) {
    case FSIM_BY_HW: return e->row->hw;
    case FSIM_BY_CLASS: return fsim_work_class_names[e->class];
    case FSIM_BY_WORKLOAD: return e->row->workload;
    case FSIM_BY_STRATEGY: return fsim_strategy_names[e->row->strategy];
    default: return "";
    }
}

typedef struct {
    const fsim_evaluated *e;
    const fsim_grouping *by;
    int keys;
} member;

static int by_keys(const void *x, const void *y)
{
    const member *a = x, *b = y;
    for (int k = 0; k < a->keys; k++) {
        const int order = strcmp(key_of(a->e, a->by[k]), key_of(b->e, b->by[k]));
        if (order)
            return order;
    }
    return 0;
}

int fsim_stat_groups(const fsim_evaluated *e, int count, const fsim_grouping *by, int keys, fsim_arena *a, fsim_stat_group **out)
{
    member *m = fsim_new(a, member, count + 1);
    const fsim_evaluated **row = fsim_new(a, const fsim_evaluated *, count + 1);
    int groups = 0, room = 0;
    for (int i = 0; i < count; i++)
        m[i] = (member){&e[i], by, keys};
    if (count > 0)
        qsort(m, (size_t)count, sizeof *m, by_keys);
    *out = NULL;
    for (int from = 0, to; from < count; from = to) {
        for (to = from; to < count && by_keys(&m[from], &m[to]) == 0; to++)
            row[to - from] = m[to].e;
        fsim_stat_group g = {.stats = stats_of(row, to - from, a)};
        for (int k = 0; k < keys; k++) {
            const char *key = key_of(m[from].e, by[k]);
            *(by[k] == FSIM_BY_HW ? &g.hw : by[k] == FSIM_BY_CLASS ? &g.class : by[k] == FSIM_BY_WORKLOAD ? &g.workload : &g.strategy) = key;
        }
        *FSIM_PUSH(a, *out, groups, room) = g;
    }
    return groups;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_grouping_names[FSIM_BY_COUNT] = {"all",    "hw",   "class", "workload", "strategy",
                                                        "folder", "file", "mode",  "source"};

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double fsim_quantile(const double *sorted, int count, double q)
{
    if (count == 0)
        return NAN;
    const double at = q * (count - 1);
    const int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

fsim_stats fsim_stats_of_errors(const double *error, int count, fsim_arena *a)
{
    fsim_stats s = {.rows = count, .mape = NAN, .median = NAN, .p90 = NAN, .bias = NAN, .coverage = NAN};
    double *size = fsim_new(a, double, count + 1), sum = 0, signed_sum = 0;
    if (count == 0)
        return s;
    for (int i = 0; i < count; i++) {
        size[i] = fabs(error[i]);
        sum += size[i];
        signed_sum += error[i];
    }
    qsort(size, (size_t)count, sizeof *size, by_number);
    s.mape = sum / count;
    s.bias = signed_sum / count;
    s.median = fsim_quantile(size, count, 0.5);
    s.p90 = fsim_quantile(size, count, 0.9);
    return s;
}

static bool is_covered(const fsim_evaluated *e)
{
    return !e->row->of_memory && e->row->time_s >= e->low_s && e->row->time_s <= e->high_s;
}

fsim_stats fsim_stats_of(const fsim_evaluated *e, int count, fsim_arena *a)
{
    double *error = fsim_new(a, double, count + 1);
    int kept = 0, covered = 0, timed = 0;
    for (int i = 0; i < count; i++)
        if (!e[i].excluded) {
            error[kept++] = fsim_error_of(&e[i]);
            covered += is_covered(&e[i]);
            timed += !e[i].row->of_memory; /* memory has no interval */
        }
    fsim_stats s = fsim_stats_of_errors(error, kept, a);
    s.coverage = timed ? (double)covered / timed : NAN;
    return s;
}

const char *fsim_name_in(const fsim_evaluated *e, fsim_grouping by, fsim_arena *a)
{
    switch (by) {
    case FSIM_BY_HW:
        return e->row->hw;
    case FSIM_BY_CLASS:
        return fsim_work_class_names[e->class];
    case FSIM_BY_WORKLOAD:
        return e->row->workload;
    case FSIM_BY_STRATEGY:
        return fsim_strategy_names[e->row->strategy];
    case FSIM_BY_FILE:
        return e->row->at.file;
    case FSIM_BY_MODE:
        return fsim_printf(a, "%s%s", fsim_mode_names[e->row->mode], e->row->of_memory ? " memory" : "");
    case FSIM_BY_SOURCE:
        return fsim_strndup(a, e->row->id, strcspn(e->row->id, "/"));
    case FSIM_BY_FOLDER: {
        const char *slash = strrchr(e->row->workload, '/');
        return slash ? fsim_strndup(a, e->row->workload, (size_t)(slash - e->row->workload)) : "";
    }
    default:
        return "";
    }
}

static const char **place_of(fsim_stat_group *g, fsim_grouping by)
{
    switch (by) {
    case FSIM_BY_HW:
        return &g->hw;
    case FSIM_BY_CLASS:
        return &g->class;
    case FSIM_BY_WORKLOAD:
        return &g->workload;
    case FSIM_BY_STRATEGY:
        return &g->strategy;
    case FSIM_BY_FOLDER:
        return &g->folder;
    case FSIM_BY_FILE:
        return &g->file;
    case FSIM_BY_MODE:
        return &g->mode;
    case FSIM_BY_SOURCE:
        return &g->source;
    default:
        return NULL;
    }
}

const char *fsim_group_name(const fsim_stat_group *g, fsim_grouping by)
{
    const char **place = place_of((fsim_stat_group *)(void *)g, by);
    return place ? *place : NULL;
}

typedef struct {
    const char *name[FSIM_BY_COUNT];
    int keys, at;
} member;

static int by_names(const void *x, const void *y)
{
    const member *a = x, *b = y;
    for (int k = 0; k < a->keys; k++) {
        const int order = strcmp(a->name[k], b->name[k]);
        if (order)
            return order;
    }
    return 0;
}

static int by_names_then_row(const void *x, const void *y)
{
    const int order = by_names(x, y);
    return order ? order : ((const member *)x)->at - ((const member *)y)->at;
}

int fsim_stat_groups(const fsim_evaluated *e, int count, const fsim_grouping *by, int keys, fsim_arena *a,
                     fsim_stat_group **out)
{
    member *m = fsim_new(a, member, count + 1);
    double *error = fsim_new(a, double, count + 1);
    int groups = 0, room = 0;
    for (int i = 0; i < count; i++) {
        m[i].keys = keys;
        m[i].at = i;
        for (int k = 0; k < keys; k++)
            m[i].name[k] = fsim_name_in(&e[i], by[k], a);
    }
    if (count > 0)
        qsort(m, (size_t)count, sizeof *m, by_names_then_row);
    *out = NULL;
    for (int from = 0, to; from < count; from = to) {
        fsim_stat_group g = {.excluded = 0};
        int kept = 0, covered = 0, timed = 0;
        for (to = from; to < count && by_names(&m[from], &m[to]) == 0; to++) {
            const fsim_evaluated *x = &e[m[to].at];
            g.excluded += x->excluded != NULL;
            covered += !x->excluded && is_covered(x);
            timed += !x->excluded && !x->row->of_memory;
            if (!x->excluded)
                error[kept++] = fsim_error_of(x);
        }
        g.stats = fsim_stats_of_errors(error, kept, a);
        g.stats.coverage = timed ? (double)covered / timed : NAN;
        for (int k = 0; k < keys; k++)
            if (by[k] != FSIM_BY_ALL)
                *place_of(&g, by[k]) = m[from].name[k];
        *FSIM_PUSH(a, *out, groups, room) = g;
    }
    return groups;
}

/* Ranks. */

typedef struct {
    double value;
    int at;
} placed;

static int by_value(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value) : a->at - b->at;
}

static double *ranks_of(const double *x, int count, fsim_arena *a)
{
    placed *p = fsim_new(a, placed, count + 1);
    double *rank = fsim_new(a, double, count + 1);
    for (int i = 0; i < count; i++)
        p[i] = (placed){x[i], i};
    if (count > 0)
        qsort(p, (size_t)count, sizeof *p, by_value);
    for (int from = 0, to; from < count; from = to) {
        for (to = from; to < count && p[to].value == p[from].value; to++)
            ;
        for (int i = from; i < to; i++)
            rank[p[i].at] = (from + to - 1) / 2.0;
    }
    return rank;
}

double fsim_rank_correlation(const double *x, const double *y, int count, fsim_arena *a)
{
    const double *p = ranks_of(x, count, a), *q = ranks_of(y, count, a), mean = (count - 1) / 2.0;
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < count; i++) {
        pp += (p[i] - mean) * (p[i] - mean);
        qq += (q[i] - mean) * (q[i] - mean);
        pq += (p[i] - mean) * (q[i] - mean);
    }
    return pp > 0 && qq > 0 ? pq / sqrt(pp * qq) : NAN;
}

int fsim_worst(const fsim_evaluated *e, int count, int most, fsim_arena *a, int **out)
{
    placed *p = fsim_new(a, placed, count + 1);
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!e[i].excluded)
            p[kept++] = (placed){-fabs(log(e[i].predicted_s / e[i].row->time_s)), i};
    if (kept > 0)
        qsort(p, (size_t)kept, sizeof *p, by_value);
    most = kept < most ? kept : most;
    *out = fsim_new(a, int, most + 1);
    for (int i = 0; i < most; i++)
        (*out)[i] = p[i].at;
    return most;
}

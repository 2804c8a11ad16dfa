/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/verdicts.h"

#include "base/names.h"
#include "evidence/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_systems_grouping_names[FSIM_SYSTEMS_GROUPINGS] = {"kind", "framework", "gpu", "model",
                                                                         "precision"};

bool fsim_is_first_token(const fsim_system *r) { return strstr(r->metric, "first token") != NULL; }

/* "time per output token, experts" */
static const char *kind_of(const fsim_system *r, bool experts)
{
    enum { NO_QUEUE = 8 }; /* requests under way */
    switch (r->mode) {
    case FSIM_SYSTEM_STATIC:
        return "static batch";
    case FSIM_SYSTEM_PREFILL:
        return "first token, batch 1";
    case FSIM_SYSTEM_MAXIMUM:
        return experts ? "maximum load, experts" : "maximum load, dense";
    case FSIM_SYSTEM_TRAINING:
        return strcmp(r->precision, "bf16") == 0 ? "training step, bf16" : "training step, other";
    default:
        if (fsim_is_first_token(r))
            return r->batch <= NO_QUEUE ? "time to first token, up to 8" : "time to first token, queue";
        return experts ? "time per token, experts" : "time per token, dense";
    }
}

/* "vllm" */
static const char *program_of(const fsim_system *r)
{
    const fsim_engine *e = fsim_engine_in(r->source);
    return e ? e->words : "training";
}

static const char *name_of(const fsim_judged_system *s, fsim_systems_grouping by)
{
    const fsim_system *r = s->row;
    switch (by) {
    case FSIM_SYSTEMS_BY_KIND:
        return kind_of(r, s->answer.experts);
    case FSIM_SYSTEMS_BY_ENGINE:
        return program_of(r);
    case FSIM_SYSTEMS_BY_HW:
        return r->hw;
    case FSIM_SYSTEMS_BY_MODEL:
        return r->model;
    default:
        return r->precision;
    }
}

static int ascending(const void *x, const void *y)
{
    const double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

static void fill(fsim_systems_group *g, const fsim_judged_system *s, int count, fsim_systems_grouping by, fsim_arena *a)
{
    double *error = fsim_new(a, double, count + 1), *size = fsim_new(a, double, count + 1);
    int inside = 0;
    for (int i = 0; i < count; i++) {
        const fsim_system_answer *x = &s[i].answer;
        if (strcmp(name_of(&s[i], by), g->name) != 0)
            continue;
        if (x->reason) {
            g->unpredicted++;
            continue;
        }
        error[g->rows] = x->predicted / s[i].row->value - 1;
        size[g->rows] = fabs(error[g->rows]);
        inside += x->low <= s[i].row->value && s[i].row->value <= x->high;
        g->rows++;
    }
    qsort(error, (size_t)g->rows, sizeof *error, ascending);
    qsort(size, (size_t)g->rows, sizeof *size, ascending);
    g->median = fsim_quantile(size, g->rows, 0.5);
    g->p90 = fsim_quantile(size, g->rows, 0.9);
    g->bias = fsim_quantile(error, g->rows, 0.5);
    g->inside = g->rows ? (double)inside / g->rows : NAN;
}

int fsim_systems_groups(const fsim_judged_system *s, int count, fsim_systems_grouping by, fsim_arena *a,
                        fsim_systems_group **out)
{
    fsim_systems_group *group = NULL;
    fsim_names seen = {0};
    int groups = 0, room = 0;
    for (int i = 0; i < count; i++) {
        const char *name = name_of(&s[i], by);
        if (fsim_names_get(&seen, name) >= 0)
            continue;
        fsim_names_set(a, &seen, name, groups);
        *FSIM_PUSH(a, group, groups, room) = (fsim_systems_group){.name = name};
    }
    for (int i = 0; i < groups; i++)
        fill(&group[i], s, count, by, a);
    *out = group;
    return groups;
}

/* Rows with the same key are compared; number[i]: of the key of row i, -1 where it is not compared. Returns how many.
 */
static int keys_of(const char *const *key, int count, fsim_arena *a, int *number)
{
    fsim_names seen = {0};
    int keys = 0;
    for (int i = 0; i < count; i++) {
        number[i] = key[i] ? fsim_names_get(&seen, key[i]) : -1;
        if (key[i] && number[i] < 0)
            fsim_names_set(a, &seen, key[i], number[i] = keys++);
    }
    return keys;
}

/* More of it is better, a GPU: tokens per second; or less: seconds. */
static double merit(const fsim_system *r, double value)
{
    if (strcmp(r->unit, "s") == 0)
        return -value;
    return strstr(r->metric, "per GPU") ? value : value / (double)r->gpus;
}

static void judge_choices(const fsim_judged_system *s, int count, fsim_systems_verdicts *v, fsim_arena *a)
{
    const char **key = fsim_new(a, const char *, count + 1);
    int *number = fsim_new(a, int, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_system *r = s[i].row;
        if (r->mode != FSIM_SYSTEM_TRAINING && !s[i].answer.reason)
            key[i] = fsim_printf(a, "%s|%s|%s|%s|%s|%d|%ld|%ld|%ld|%ld|%ld|%s|%s", r->source, r->model, r->precision,
                                 r->kv_precision, r->hw, (int)r->mode, (long)r->pp, (long)r->ep, (long)r->batch,
                                 (long)r->input, (long)r->output, r->metric, r->notes);
    }
    const int keys = keys_of(key, count, a, number);
    for (int k = 0; k < keys; k++) {
        int best = -1, named = -1;
        bool choice = false;
        for (int i = 0; i < count; i++) {
            if (number[i] != k)
                continue;
            choice = choice || (best >= 0 && s[best].row->tp != s[i].row->tp);
            if (best < 0 || merit(s[i].row, s[i].row->value) > merit(s[best].row, s[best].row->value))
                best = i;
            if (named < 0 || merit(s[i].row, s[i].answer.predicted) > merit(s[named].row, s[named].answer.predicted))
                named = i;
        }
        v->choices += choice;
        v->best_right += choice && s[best].row->tp == s[named].row->tp;
    }
}

/* Rank correlations of the times per output token within a model and GPU, ascending; all: their mean, weighted by rows.
 * consistent: of the rows without a contradiction alone. */
typedef struct {
    double *at, all;
    int count;
} orders;

static orders orders_of(const fsim_judged_system *s, int count, bool consistent, fsim_arena *a)
{
    enum { LEAST = 3 };
    const char **key = fsim_new(a, const char *, count + 1);
    int *number = fsim_new(a, int, count + 1), total = 0;
    double *x = fsim_new(a, double, count + 1), *y = fsim_new(a, double, count + 1), sum = 0;
    orders o = {.at = fsim_new(a, double, count + 1)};
    for (int i = 0; i < count; i++)
        if (s[i].row->mode == FSIM_SYSTEM_FIXED && !fsim_is_first_token(s[i].row) && !s[i].answer.reason &&
            !(consistent && s[i].contradiction))
            key[i] = fsim_printf(a, "%s|%s", s[i].row->model, s[i].row->hw);
    const int keys = keys_of(key, count, a, number);
    for (int k = 0; k < keys; k++) {
        int rows = 0;
        for (int i = 0; i < count; i++)
            if (number[i] == k) {
                x[rows] = s[i].answer.predicted;
                y[rows++] = s[i].row->value;
            }
        const double of = rows < LEAST ? NAN : fsim_rank_correlation(x, y, rows, a);
        if (isnan(of))
            continue;
        o.at[o.count++] = of;
        sum += of * rows;
        total += rows;
    }
    qsort(o.at, (size_t)o.count, sizeof *o.at, ascending);
    o.all = total ? sum / total : NAN;
    return o;
}

static void judge_orders(const fsim_judged_system *s, int count, fsim_systems_verdicts *v, fsim_arena *a)
{
    const orders all = orders_of(s, count, false, a);
    for (int i = 0; i < count; i++)
        v->contradictions += s[i].contradiction && !fsim_is_first_token(s[i].row);
    v->orders = all.count;
    v->order_median = fsim_quantile(all.at, all.count, 0.5);
    v->order_least = all.count ? all.at[0] : NAN;
    v->order_all = all.all;
    v->order_consistent = orders_of(s, count, true, a).all;
}

fsim_systems_verdicts fsim_systems_judge(const fsim_judged_system *s, int count, fsim_arena *a)
{
    fsim_systems_verdicts v = {0};
    for (int i = 0; i < count; i++) {
        v.judged += s[i].answer.judged;
        v.fits += s[i].answer.judged && s[i].answer.fits;
    }
    judge_choices(s, count, &v, a);
    judge_orders(s, count, &v, a);
    return v;
}

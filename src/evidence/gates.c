/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/gates.h"

#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    bool floor, share, paired;
} metrics[FSIM_GATE_METRICS] = {
    [FSIM_GATE_MAPE] = {false, true, false},          [FSIM_GATE_MEDIAN] = {false, true, false},
    [FSIM_GATE_P90] = {false, true, false},           [FSIM_GATE_BIAS] = {false, true, false},
    [FSIM_GATE_ROWS] = {true, false, false},          [FSIM_GATE_SPEEDUP] = {false, true, true},
    [FSIM_GATE_SPEEDUP_MEDIAN] = {false, true, true}, [FSIM_GATE_RANK] = {true, false, true},
    [FSIM_GATE_VERDICT] = {true, true, true},         [FSIM_GATE_HELPS] = {true, true, true}};
const char *const fsim_gate_metric_names[FSIM_GATE_METRICS] = {"mape",    "median",         "p90",  "bias",    "rows",
                                                               "speedup", "speedup_median", "rank", "verdict", "helps"};

static const fsim_loc command_line = {NULL, 0, 0};

bool fsim_gate_is_floor(fsim_gate_metric m) { return metrics[m].floor; }
bool fsim_gate_is_share(fsim_gate_metric m) { return metrics[m].share; }

/* "10%" or "0.1"; a per cent sign only where the metric is a share. */
static bool read_limit(const char *text, bool share, double *limit)
{
    char *end;
    const double x = strtod(text, &end);
    const bool percent = share && *end == '%';
    if (end == text || end[percent] || !isfinite(x) || x < 0)
        return false;
    *limit = percent ? x / 100 : x;
    return true;
}

bool fsim_gate_read(fsim_arena *a, fsim_diag *d, const char *text, fsim_gate *out)
{
    const char *equals = strrchr(text, '=');
    const size_t before = equals ? (size_t)(equals - text) : 0;
    const char *colon = before ? memrchr(text, ':', before) : NULL, *metric = colon ? colon + 1 : text;
    *out = (fsim_gate){.text = text, .value = NAN, .metric = FSIM_GATE_METRICS};
    if (!equals || equals == metric || !equals[1] || colon == text) {
        fsim_error(d, command_line, "--gate '%s': wanted METRIC=LIMIT or GROUP:METRIC=LIMIT, e.g. softmax:median=8%%",
                   text);
        return false;
    }
    metric = fsim_strndup(a, metric, (size_t)(equals - metric));
    out->group = colon ? fsim_strndup(a, text, (size_t)(colon - text)) : "";
    for (int m = 0; m < FSIM_GATE_METRICS; m++)
        if (strcmp(metric, fsim_gate_metric_names[m]) == 0)
            out->metric = (fsim_gate_metric)m;
    if (out->metric == FSIM_GATE_METRICS) {
        fsim_error(d, command_line,
                   "--gate '%s': unknown metric '%s'%s (mape, median, p90, bias, rows; of speedups: speedup, "
                   "speedup_median, rank, verdict, helps)",
                   text, metric, fsim_did_you_mean(a, metric, fsim_gate_metric_names, FSIM_GATE_METRICS));
        return false;
    }
    if (!read_limit(equals + 1, metrics[out->metric].share, &out->limit)) {
        fsim_error(d, command_line, "--gate '%s': '%s' is no limit, wanted %s", text, equals + 1,
                   metrics[out->metric].share ? "e.g. 10% or 0.1" : "a number");
        return false;
    }
    return true;
}

/* Names of groups. */

typedef struct {
    fsim_arena *a;
    fsim_names names; /* to fsim_grouping; the first kind that has a name keeps it */
    const char **all;
    int count, room;
} vocabulary;

static void learn(vocabulary *v, const char *name, fsim_grouping by)
{
    if (fsim_names_get(&v->names, name) >= 0)
        return;
    fsim_names_set(v->a, &v->names, name, (int)by);
    *FSIM_PUSH(v->a, v->all, v->count, v->room) = name;
}

static vocabulary vocabulary_of(fsim_arena *a, const fsim_measurements *rows, const char *const *hw, int hws)
{
    vocabulary v = {.a = a};
    for (int i = 0; i < FSIM_WORK_COUNT; i++)
        learn(&v, fsim_work_class_names[i], FSIM_BY_CLASS);
    for (int i = 0; i < FSIM_STRATEGY_COUNT; i++)
        learn(&v, fsim_strategy_names[i], FSIM_BY_STRATEGY);
    for (int i = 0; i < hws; i++)
        learn(&v, hw[i], FSIM_BY_HW);
    for (int i = 0; i < rows->count; i++)
        learn(&v, rows->at[i].hw, FSIM_BY_HW);
    for (int i = 0; i < rows->count; i++)
        if (fsim_names_get(&v.names, rows->at[i].workload) < 0) {
            const char *workload = rows->at[i].workload, *slash = strrchr(workload, '/');
            learn(&v, workload, FSIM_BY_WORKLOAD);
            if (slash && slash > workload)
                learn(&v, fsim_strndup(a, workload, (size_t)(slash - workload)), FSIM_BY_FOLDER);
        }
    return v;
}

/* The longest name at the start of text that ends at a slash or its end. Its length; 0 when none is known. */
static size_t longest_name(const vocabulary *v, const char *text, fsim_grouping *by)
{
    for (size_t length = strlen(text); length > 0;) {
        const int kind = fsim_names_get(&v->names, fsim_strndup(v->a, text, length));
        if (kind >= 0) {
            *by = (fsim_grouping)kind;
            return length;
        }
        const char *slash = memrchr(text, '/', length);
        length = slash ? (size_t)(slash - text) : 0;
    }
    return 0;
}

bool fsim_gate_resolve(fsim_arena *a, fsim_diag *d, const fsim_measurements *rows, const char *const *hw, int hws,
                       fsim_gate *gate)
{
    const vocabulary v = vocabulary_of(a, rows, hw, hws);
    for (const char *p = gate->group; *p;) {
        fsim_grouping by = FSIM_BY_ALL;
        const size_t length = longest_name(&v, p, &by), bad = strcspn(p, "/");
        if (length == 0) {
            const char *name = fsim_strndup(a, p, bad);
            fsim_error(d, command_line,
                       "--gate '%s': '%s' is no GPU, class, strategy, workload or folder of these rows%s", gate->text,
                       name, fsim_did_you_mean(a, name, v.all, v.count));
            return false;
        }
        if (gate->keys == FSIM_MOST_GATE_KEYS) {
            fsim_error(d, command_line, "--gate '%s': at most %d names in a group", gate->text, FSIM_MOST_GATE_KEYS);
            return false;
        }
        gate->key[gate->keys].by = by;
        gate->key[gate->keys++].name = fsim_strndup(a, p, length);
        p += length + (p[length] == '/');
    }
    return true;
}

static bool belongs(const fsim_gate *g, const fsim_evaluated *e, fsim_arena *a)
{
    for (int k = 0; k < g->keys; k++)
        if (strcmp(fsim_name_in(e, g->key[k].by, a), g->key[k].name) != 0)
            return false;
    return true;
}

static double value_of(fsim_gate_metric m, const fsim_stats *s, const fsim_speedup_stats *p)
{
    switch (m) {
    case FSIM_GATE_MAPE:
        return s->mape;
    case FSIM_GATE_MEDIAN:
        return s->median;
    case FSIM_GATE_P90:
        return s->p90;
    case FSIM_GATE_BIAS:
        return fabs(s->bias);
    case FSIM_GATE_ROWS:
        return s->rows;
    case FSIM_GATE_SPEEDUP:
        return p->error.mape;
    case FSIM_GATE_SPEEDUP_MEDIAN:
        return p->error.median;
    case FSIM_GATE_RANK:
        return p->rank;
    case FSIM_GATE_VERDICT:
        return p->right;
    case FSIM_GATE_HELPS:
        return p->helps_right;
    default:
        return NAN;
    }
}

void fsim_gate_try(const fsim_evaluated *e, int count, const fsim_pair *pair, int pairs, fsim_arena *a, fsim_gate *gate)
{
    double *error = fsim_new(a, double, count + 1);
    fsim_pair *met = fsim_new(a, fsim_pair, pairs + 1);
    int rows = 0, mets = 0;
    for (int i = 0; i < count; i++)
        if (!e[i].excluded && belongs(gate, &e[i], a))
            error[rows++] = fsim_error_of(&e[i]);
    for (int i = 0; i < pairs; i++)
        if (!pair[i].excluded && belongs(gate, pair[i].other, a))
            met[mets++] = pair[i];
    const fsim_stats s = fsim_stats_of_errors(error, rows, a);
    const fsim_speedup_stats p = fsim_speedup_of(met, mets, a);
    gate->rows = metrics[gate->metric].paired ? mets : rows;
    gate->value = gate->rows ? value_of(gate->metric, &s, &p) : NAN;
    gate->passed =
        fsim_gate_is_floor(gate->metric) ? gate->value >= gate->limit : gate->value <= gate->limit; /* NaN: false */
}

static const char *shown(const fsim_gate *g, double x, fsim_arena *a)
{
    return fsim_gate_is_share(g->metric) ? fsim_printf(a, "%.4g %%", x * 100) : fsim_printf(a, "%.4g", x);
}

const char *fsim_gate_says(const fsim_gate *g, fsim_arena *a)
{
    const char *what = metrics[g->metric].paired ? "pair" : "row";
    if (g->rows == 0)
        return fsim_printf(a, "meets no %s", what);
    if (isnan(g->value))
        return fsim_printf(a, "%d %ss say nothing of it", g->rows, what);
    return fsim_printf(a, "%s of %d %s%s, wanted at %s %s", shown(g, g->value, a), g->rows, what,
                       g->rows == 1 ? "" : "s", fsim_gate_is_floor(g->metric) ? "least" : "most",
                       shown(g, g->limit, a));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/gates.h"

#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const fsim_gate_metric metrics[FSIM_ROWS_METRICS] = {
    [FSIM_ROWS_MAPE] = {"mape", FSIM_GATE_SHARE, false, "mean error of predicted times"},
    [FSIM_ROWS_MEDIAN] = {"median", FSIM_GATE_SHARE, false, "median error"},
    [FSIM_ROWS_P90] = {"p90", FSIM_GATE_SHARE, false, "90th percentile of the errors"},
    [FSIM_ROWS_BIAS] = {"bias", FSIM_GATE_SHARE, false, "mean error with its sign, either way"},
    [FSIM_ROWS_COVERAGE] = {"coverage", FSIM_GATE_PART, true, "measured times within the 80 % intervals"},
    [FSIM_ROWS_COVERAGE_MOST] = {"coverage_most", FSIM_GATE_PART, false, "the same: intervals are not too wide"},
    [FSIM_ROWS_PREDICTED] = {"rows", FSIM_GATE_ROWS, true, "rows that count, or their share"},
    [FSIM_ROWS_SPEEDUP] = {"speedup", FSIM_GATE_SHARE, false, "mean error of speedups over eager"},
    [FSIM_ROWS_SPEEDUP_MEDIAN] = {"speedup_median", FSIM_GATE_SHARE, false, "their median error"},
    [FSIM_ROWS_RANK] = {"rank", FSIM_GATE_NUMBER, true, "Spearman's correlation of speedups"},
    [FSIM_ROWS_VERDICT] = {"verdict", FSIM_GATE_SHARE, true, "right verdicts: helps, neither, hurts"},
    [FSIM_ROWS_HELPS] = {"helps", FSIM_GATE_SHARE, true, "right about whether it helps"},
    [FSIM_ROWS_CALLED] = {"called", FSIM_GATE_SHARE, true, "right verdicts, but for \"no difference\""}};
const fsim_gate_table fsim_row_gates = {"validate --measurements", metrics, FSIM_ROWS_METRICS,
                                        "GPU/class/strategy/workload/folder", NULL};

static const fsim_loc command_line = {NULL, 0, 0};

static bool is_paired(fsim_row_metric m) { return m >= FSIM_ROWS_SPEEDUP; }

/* Names of groups. */

typedef struct {
    fsim_arena *a;
    fsim_names names; /* to fsim_grouping; where kinds share a name, the first one has it */
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

static vocabulary vocabulary_of(fsim_arena *a, const fsim_measurements *rows, const fsim_words *gpus)
{
    vocabulary v = {.a = a};
    for (int i = 0; i < FSIM_WORK_COUNT; i++)
        learn(&v, fsim_work_class_names[i], FSIM_BY_CLASS);
    for (int i = 0; i < FSIM_STRATEGY_COUNT; i++)
        learn(&v, fsim_strategy_names[i], FSIM_BY_STRATEGY);
    for (int i = 0; i < gpus->count; i++)
        learn(&v, gpus->at[i], FSIM_BY_HW);
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

/* The longest known name at the start of text, up to a slash or the end. Returns its length; 0: none. */
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

bool fsim_row_group_of(fsim_arena *a, fsim_diag *d, const fsim_measurements *rows, const fsim_words *gpus,
                       const fsim_gate *gate, fsim_row_group *out)
{
    *out = (fsim_row_group){0};
    const vocabulary v = vocabulary_of(a, rows, gpus);
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
        if (out->count == FSIM_MOST_GATE_KEYS) {
            fsim_error(d, command_line, "--gate '%s': at most %d names in a group", gate->text, FSIM_MOST_GATE_KEYS);
            return false;
        }
        out->key[out->count].by = by;
        out->key[out->count++].name = fsim_strndup(a, p, length);
        p += length + (p[length] == '/');
    }
    return true;
}

static bool belongs(const fsim_row_group *g, const fsim_evaluated *e, fsim_arena *a)
{
    for (int k = 0; k < g->count; k++)
        if (strcmp(fsim_name_in(e, g->key[k].by, a), g->key[k].name) != 0)
            return false;
    return true;
}

static double value_of(fsim_row_metric m, const fsim_stats *s, const fsim_speedup_stats *p)
{
    switch (m) {
    case FSIM_ROWS_MAPE:
        return s->mape;
    case FSIM_ROWS_MEDIAN:
        return s->median;
    case FSIM_ROWS_P90:
        return s->p90;
    case FSIM_ROWS_BIAS:
        return fabs(s->bias);
    case FSIM_ROWS_COVERAGE:
    case FSIM_ROWS_COVERAGE_MOST:
        return s->coverage;
    case FSIM_ROWS_PREDICTED:
        return s->rows;
    case FSIM_ROWS_SPEEDUP:
        return p->error.mape;
    case FSIM_ROWS_SPEEDUP_MEDIAN:
        return p->error.median;
    case FSIM_ROWS_RANK:
        return p->rank;
    case FSIM_ROWS_VERDICT:
        return p->right;
    case FSIM_ROWS_HELPS:
        return p->helps_right;
    case FSIM_ROWS_CALLED:
        return p->called_right;
    default:
        return NAN;
    }
}

void fsim_row_gate_try(const fsim_evaluated_rows *all, const fsim_row_group *group, fsim_arena *a, fsim_gate *gate)
{
    fsim_evaluated *of = fsim_new(a, fsim_evaluated, all->count + 1);
    fsim_pair *met = fsim_new(a, fsim_pair, all->pairs + 1);
    int rows = 0, mets = 0, left_out = 0;
    for (int i = 0; i < all->count; i++)
        if (belongs(group, &all->at[i], a)) {
            left_out += all->at[i].excluded != NULL;
            if (!all->at[i].excluded)
                of[rows++] = all->at[i];
        }
    for (int i = 0; i < all->pairs; i++)
        if (!all->pair[i].excluded && belongs(group, all->pair[i].other, a))
            met[mets++] = all->pair[i];
    const fsim_stats s = fsim_stats_of(of, rows, a);
    const fsim_speedup_stats p = fsim_speedup_of(met, mets, a);
    const fsim_row_metric metric = (fsim_row_metric)gate->metric;
    const char *what = is_paired(metric) ? "pair" : "row";
    gate->count = is_paired(metric) ? mets : rows;
    double value = gate->count ? value_of(metric, &s, &p) : NAN;
    if (gate->percent && metric == FSIM_ROWS_PREDICTED) {
        gate->count = rows + left_out;
        value = gate->count ? value / gate->count : NAN;
    }
    fsim_gate_judge(gate, value, fsim_printf(a, " of %d %s%s", gate->count, what, gate->count == 1 ? "" : "s"),
                    gate->count ? fsim_printf(a, "%d %ss say nothing of it", gate->count, what)
                                : fsim_printf(a, "meets no %s", what),
                    a);
}

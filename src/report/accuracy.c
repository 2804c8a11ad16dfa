/* SPDX-License-Identifier: Apache-2.0 */
#include "report/accuracy.h"

#include "report/describe.h"
#include "report/json_stream.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *percent(fsim_arena *a, double share) { return isnan(share) ? "" : fsim_printf(a, "%.1f", share * 100); }

enum { HW, WHAT, STRATEGY, ROWS, MAPE, MEDIAN, P90, BIAS, COLUMNS };

static void print_groups(const fsim_page *page, const fsim_accuracy *x, fsim_grouping what, fsim_arena *a)
{
    const fsim_column column[COLUMNS] = {{.title = "hw", .left = true},   {.title = fsim_grouping_names[what], .left = true, .shrinks = true},
                                         {.title = "strategy", .left = true}, {.title = "rows"}, {.title = "mean %"}, {.title = "median"}, {.title = "p90"}, {.title = "bias"}};
    const fsim_grouping by[] = {FSIM_BY_HW, what, FSIM_BY_STRATEGY};
    fsim_stat_group *group;
    const int groups = fsim_stat_groups(x->at, x->count, by, 3, a, &group);
    fsim_table t = fsim_table_new(a, column, COLUMNS);
    for (int i = 0; i < groups; i++) {
        const fsim_stat_group *g = &group[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[HW] = g->hw;
        cell[WHAT] = what == FSIM_BY_CLASS ? g->class : g->workload;
        cell[STRATEGY] = g->strategy;
        cell[ROWS] = fsim_printf(a, "%d", g->stats.rows);
        cell[MAPE] = percent(a, g->stats.mape);
        cell[MEDIAN] = percent(a, g->stats.median);
        cell[P90] = percent(a, g->stats.p90);
        cell[BIAS] = isnan(g->stats.bias) ? "" : fsim_printf(a, "%+.1f", g->stats.bias * 100);
    }
    fsim_table_print(page, &t, 0);
}

void fsim_report_accuracy(const fsim_page *page, const fsim_accuracy *x)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_stats all = fsim_stats_of(x->at, x->count, a);
    fprintf(page->out, "%s: %d rows, mean error %s %%, median %s %%, bias %+.1f %%\n\n", x->file, all.rows, percent(a, all.mape), percent(a, all.median), all.bias * 100);
    print_groups(page, x, FSIM_BY_CLASS, a);
    fsim_arena_free(a);
}

static void put_stats(FILE *out, const fsim_stats *s)
{
    fprintf(out, ", \"rows\": %d", s->rows);
    fsim_json_number(out, ", ", "mape", s->mape);
    fsim_json_number(out, ", ", "median", s->median);
    fsim_json_number(out, ", ", "p90", s->p90);
    fsim_json_number(out, ", ", "bias", s->bias);
}

void fsim_json_accuracy(FILE *out, const fsim_accuracy *x)
{
    static const fsim_grouping by[] = {FSIM_BY_HW, FSIM_BY_WORKLOAD};
    fsim_arena *a = fsim_arena_new();
    fsim_stat_group *group;
    const int groups = fsim_stat_groups(x->at, x->count, by, 2, a, &group);
    fputs("{\"schema\": 1,\n \"rows\": [", out);
    for (int i = 0; i < x->count; i++) {
        const fsim_evaluated *e = &x->at[i];
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "id", e->row->id);
        fsim_json_text(out, ", ", "hw", e->row->hw);
        fsim_json_text(out, ", ", "workload", e->row->workload);
        fsim_json_text(out, ", ", "set", e->row->set);
        fsim_json_text(out, ", ", "strategy", fsim_strategy_names[e->row->strategy]);
        fsim_json_text(out, ", ", "class", fsim_work_class_names[e->class]);
        fsim_json_number(out, ", ", "measured_s", e->row->time_s);
        fsim_json_number(out, ", ", "predicted_s", e->predicted_s);
        fsim_json_number(out, ", ", "error", fsim_error_of(e));
        fsim_json_text(out, ", ", "bound", fsim_unit_names[e->bound]);
        fprintf(out, ", \"kernels\": %d", e->kernels);
        if (e->excluded)
            fsim_json_text(out, ", ", "excluded", e->excluded);
        putc('}', out);
    }
    fputs("],\n \"groups\": [", out);
    for (int i = 0; i < groups; i++) {
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "hw", group[i].hw);
        fsim_json_text(out, ", ", "workload", group[i].workload);
        put_stats(out, &group[i].stats);
        putc('}', out);
    }
    fputs("]}\n", out);
    fsim_arena_free(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy_junit.c: accuracy as JUnit XML: gates, and a case for each group of rows. */
#include "report/accuracy.h"
#include "report/junit.h"

static void put_group(FILE *out, const fsim_accuracy *x, const fsim_stat_group *g, fsim_arena *a)
{
    const char *name = "";
    for (int k = 0; k < x->keys; k++) {
        const char *part = x->by[k] == FSIM_BY_ALL ? "all" : fsim_group_name(g, x->by[k]);
        name = k ? fsim_printf(a, "%s/%s", name, part) : part;
    }
    const fsim_stats *s = &g->stats;
    if (s->rows == 0)
        fsim_junit_skipped(out, "fusesim.accuracy", name, "all rows are excluded");
    else
        fsim_junit_case(out, "fusesim.accuracy", name, NULL,
                        fsim_printf(a, "rows %d, mape %.4f, median %.4f, p90 %.4f, bias %.4f", s->rows, s->mape,
                                    s->median, s->p90, s->bias));
}

void fsim_junit_accuracy(FILE *out, const fsim_accuracy *x)
{
    fsim_arena *a = fsim_arena_new();
    fsim_stat_group *group;
    const int groups = fsim_stat_groups(x->at, x->count, x->by, x->keys, a, &group);
    int skipped = 0;
    for (int i = 0; i < groups; i++)
        skipped += group[i].stats.rows == 0;
    fsim_junit_begin(out, x->gates + groups, fsim_gates_failed(x->gate, x->gates), skipped);
    fsim_junit_gates(out, "", x->gate, x->gates);
    for (int i = 0; i < groups; i++)
        put_group(out, x, &group[i], a);
    fsim_junit_end(out);
    fsim_arena_free(a);
}

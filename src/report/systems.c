/* SPDX-License-Identifier: Apache-2.0 */
#include "report/systems.h"

#include "base/names.h"
#include "report/json_stream.h"
#include <math.h>
#include <stdlib.h>

static const char *percent(fsim_arena *a, double x, bool sign)
{
    return isnan(x) ? "" : fsim_printf(a, sign ? "%+.1f%%" : "%.1f%%", 100 * x);
}

static const char *count_of(fsim_arena *a, int n) { return n ? fsim_printf(a, "%d", n) : ""; }

static fsim_table groups_table(const fsim_shown_systems *x, fsim_systems_grouping by, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "", .left = true, .shrinks = true},
        {.title = "rows"},
        {.title = "median", .legend = "half of the rows are off by at most so much"},
        {.title = "9 of 10", .legend = "nine of ten are off by at most so much"},
        {.title = "bias", .legend = "the median of predicted / measured - 1"},
        {.title = "inside", .legend = "rows within their 80 % interval", .drop = 1},
        {.title = "left out", .legend = "rows without a prediction; --json has the reasons", .drop = 2}};
    fsim_systems_group *g;
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    const int groups = fsim_systems_groups(x->at, x->count, by, a, &g);
    for (int i = 0; i < groups; i++) {
        const char **cell = fsim_table_row(&t, g[i].rows ? FSIM_PLAIN : FSIM_FAINT);
        cell[0] = g[i].name;
        cell[1] = count_of(a, g[i].rows);
        cell[2] = percent(a, g[i].median, false);
        cell[3] = percent(a, g[i].p90, false);
        cell[4] = percent(a, g[i].bias, true);
        cell[5] = isnan(g[i].inside) ? "" : fsim_printf(a, "%.0f%%", 100 * g[i].inside);
        cell[6] = count_of(a, g[i].unpredicted);
    }
    return t;
}

static const char *verdict_text(const fsim_shown_systems *x, fsim_arena *a)
{
    const fsim_systems_verdicts v = fsim_systems_judge(x->at, x->count, a);
    const char *text = "";
    if (v.judged)
        text = fsim_printf(a, "%d of %d served rows, all of which ran, are said to fit. ", v.fits, v.judged);
    if (v.choices)
        text = fsim_printf(a, "%sThe best tp is named in %d of %d groups that differ in tp alone. ", text, v.best_right,
                           v.choices);
    if (v.orders)
        text = fsim_printf(a,
                           "%sRank correlation of the time per output token within a model and GPU: median %.2f, least "
                           "%.2f, of %d. ",
                           text, v.order_median, v.order_least, v.orders);
    if (v.orders && v.contradictions)
        text = fsim_printf(a,
                           "%sOn average over rows %.3f, and %.3f without the times per token that contradict their "
                           "system's time to the first token. ",
                           text, v.order_all, v.order_consistent);
    return text;
}

static double badness(const fsim_judged_system *s)
{
    return s->answer.reason ? -1 : fabs(log(s->answer.predicted / s->row->value));
}

static int worst_first(const void *x, const void *y)
{
    const fsim_judged_system *p = *(const fsim_judged_system *const *)x, *q = *(const fsim_judged_system *const *)y;
    const double a = badness(p), b = badness(q);
    return a != b ? (a < b) - (a > b) : (p > q) - (p < q);
}

static void print_worst(const fsim_page *page, const fsim_shown_systems *x, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "worst rows", .left = true, .shrinks = true},
                                         {.title = "predicted"},
                                         {.title = "measured"},
                                         {.title = "unit", .left = true},
                                         {.title = "error"}};
    const fsim_judged_system **order = fsim_new(a, const fsim_judged_system *, x->count + 1);
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->count; i++)
        order[i] = &x->at[i];
    qsort(order, (size_t)x->count, sizeof *order, worst_first);
    for (int i = 0; i < x->count && i < x->worst && !order[i]->answer.reason; i++) {
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = order[i]->row->id;
        cell[1] = fsim_printf(a, "%.4g", order[i]->answer.predicted);
        cell[2] = fsim_printf(a, "%.4g", order[i]->row->value);
        cell[3] = order[i]->row->unit;
        cell[4] = percent(a, order[i]->answer.predicted / order[i]->row->value - 1, true);
    }
    if (t.rows) {
        fprintf(page->out, "\n");
        fsim_table_print(page, &t, 2);
    }
}

/* Rows that contradict each other, with why. */
static void print_contradictions(const fsim_page *page, const fsim_shown_systems *x)
{
    const char *title = "rows that contradict each other; they are predicted as they are stated, and count above";
    for (int i = 0; i < x->count; i++) {
        if (!x->at[i].contradiction)
            continue;
        if (title) {
            fprintf(page->out, "\n");
            fsim_paragraph(page, FSIM_PLAIN, 0, 0, title);
        }
        title = NULL;
        fprintf(page->out, "  %s\n", x->at[i].row->id);
        fsim_paragraph(page, FSIM_FAINT, 4, 4, x->at[i].contradiction);
    }
}

void fsim_report_systems(const fsim_page *page, const fsim_shown_systems *x)
{
    fsim_arena *a = fsim_arena_new();
    int predicted = 0;
    for (int i = 0; i < x->count; i++)
        predicted += x->at[i].answer.reason == NULL;
    fprintf(page->out, "%s: %d whole systems, %d predicted from %d different steps\n", x->path, x->count, predicted,
            x->steps);
    for (int by = 0; by < FSIM_SYSTEMS_GROUPINGS; by++) {
        const fsim_table t = groups_table(x, (fsim_systems_grouping)by, a);
        fprintf(page->out, "\nby %s\n", fsim_systems_grouping_names[by]);
        fsim_table_print(page, &t, 2);
        if (by + 1 == FSIM_SYSTEMS_GROUPINGS)
            fsim_table_legend(page, &t, 2);
    }
    fprintf(page->out, "\n");
    fsim_paragraph(page, FSIM_PLAIN, 0, 0, verdict_text(x, a));
    print_worst(page, x, a);
    print_contradictions(page, x);
    fsim_arena_free(a);
}

void fsim_markdown_systems(FILE *out, const fsim_shown_systems *x)
{
    fsim_arena *a = fsim_arena_new();
    for (int by = 0; by < FSIM_SYSTEMS_GROUPINGS; by++) {
        const fsim_table t = groups_table(x, (fsim_systems_grouping)by, a);
        fprintf(out, "By %s:\n\n", fsim_systems_grouping_names[by]);
        fsim_table_markdown(out, &t);
        fprintf(out, "\n");
    }
    fprintf(out, "%s\n", verdict_text(x, a));
    fsim_arena_free(a);
}

static void json_rows(FILE *out, const fsim_shown_systems *x)
{
    fprintf(out, ", \"rows\": [");
    for (int i = 0; i < x->count; i++) {
        const fsim_system *r = x->at[i].row;
        const fsim_system_answer *w = &x->at[i].answer;
        fprintf(out, "%s", i ? ",\n" : "\n");
        fsim_json_text(out, "{", "id", r->id);
        fsim_json_text(out, ", ", "mode", fsim_system_mode_names[r->mode]);
        fsim_json_text(out, ", ", "metric", r->metric);
        fsim_json_text(out, ", ", "unit", r->unit);
        fsim_json_number(out, ", ", "predicted", w->predicted);
        fsim_json_number(out, ", ", "measured", r->value);
        fsim_json_number(out, ", ", "low", w->low);
        fsim_json_number(out, ", ", "high", w->high);
        fsim_json_text(out, ", ", "reason", w->reason);
        fsim_json_text(out, ", ", "contradiction", x->at[i].contradiction);
        if (w->judged) {
            fsim_json_bool(out, ", ", "fits", w->fits);
            fsim_json_number(out, ", ", "weight_bytes", w->weight_bytes);
            fsim_json_number(out, ", ", "token_bytes", w->token_bytes);
            fsim_json_number(out, ", ", "requests", w->requests);
        }
        fprintf(out, "}");
    }
    fprintf(out, "]");
}

static void json_groups(FILE *out, const fsim_shown_systems *x, fsim_arena *a)
{
    fprintf(out, ", \"groups\": [");
    const char *before = "\n";
    for (int by = 0; by < FSIM_SYSTEMS_GROUPINGS; by++) {
        fsim_systems_group *g;
        const int groups = fsim_systems_groups(x->at, x->count, (fsim_systems_grouping)by, a, &g);
        for (int i = 0; i < groups; i++, before = ",\n") {
            fprintf(out, "%s", before);
            fsim_json_text(out, "{", "by", fsim_systems_grouping_names[by]);
            fsim_json_text(out, ", ", "name", g[i].name);
            fsim_json_number(out, ", ", "rows", g[i].rows);
            fsim_json_number(out, ", ", "unpredicted", g[i].unpredicted);
            fsim_json_number(out, ", ", "median", g[i].median);
            fsim_json_number(out, ", ", "p90", g[i].p90);
            fsim_json_number(out, ", ", "bias", g[i].bias);
            fsim_json_number(out, ", ", "inside", g[i].inside);
            fprintf(out, "}");
        }
    }
    fprintf(out, "]");
}

void fsim_json_systems(FILE *out, const fsim_shown_systems *x)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_systems_verdicts v = fsim_systems_judge(x->at, x->count, a);
    fsim_json_number(out, "{", "schema", 1);
    fsim_json_text(out, ", ", "file", x->path);
    fsim_json_number(out, ", ", "steps", x->steps);
    fsim_json_number(out, ",\n\"verdicts\": {", "fits", v.fits);
    fsim_json_number(out, ", ", "judged", v.judged);
    fsim_json_number(out, ", ", "best_tp_right", v.best_right);
    fsim_json_number(out, ", ", "tp_choices", v.choices);
    fsim_json_number(out, ", ", "orders", v.orders);
    fsim_json_number(out, ", ", "order_median", v.order_median);
    fsim_json_number(out, ", ", "order_least", v.order_least);
    fsim_json_number(out, ", ", "order_mean", v.order_all);
    fsim_json_number(out, ", ", "contradictions", v.contradictions);
    fsim_json_number(out, ", ", "order_mean_consistent", v.order_consistent);
    fprintf(out, "}");
    json_groups(out, x, a);
    json_rows(out, x);
    fprintf(out, "}\n");
    fsim_arena_free(a);
}

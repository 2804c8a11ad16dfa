/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff_rows.h"

#include "hw/choose.h"
#include "report/describe.h"
#include "report/text_parts.h"
#include <math.h>
#include <string.h>

enum { TIME, TOTAL, BYTES, ERROR, METRICS };

static const fsim_gate_metric metrics[METRICS] = {
    [TIME] = {"time", FSIM_GATE_SHARE, false, "growth of the time of any row"},
    [TOTAL] = {"total", FSIM_GATE_SHARE, false, "growth of all rows' time together"},
    [BYTES] = {"bytes", FSIM_GATE_SHARE, false, "growth of the DRAM bytes of any row"},
    [ERROR] = {"error", FSIM_GATE_SHARE, false, "growth of the mean error, in points"}};
const fsim_gate_table fsim_rows_diff_gates = {"diff of sweeps and validations", metrics, METRICS, "a GPU or a workload",
                                              NULL};

static const fsim_loc command_line = {NULL, 0, 0};

static bool means(const fsim_gate *g, const fsim_filed_row *row)
{
    return !*g->group || strcmp(g->group, row->group) == 0 || fsim_hw_means(g->group, row->group);
}

bool fsim_rows_groups_check(const fsim_gate *gate, int gates, const fsim_rows_diff *x, fsim_arena *a, fsim_diag *d)
{
    const fsim_filed_rows *old = x->before;
    const char **name = fsim_new(a, const char *, old->rows + 1);
    bool good = true;
    for (int i = 0; i < gates; i++) {
        bool known = false;
        for (int k = 0; k < old->rows; k++) {
            name[k] = old->row[k].group;
            known = known || means(&gate[i], &old->row[k]);
        }
        good = good && known;
        if (!known)
            fsim_error(d, command_line, "--gate '%s': '%s' has no row of '%s'%s", gate[i].text, old->path,
                       gate[i].group, fsim_did_you_mean(a, gate[i].group, name, old->rows));
    }
    return good;
}

/* What a gate found. */
typedef struct {
    double value;  /* NaN: nothing was compared */
    double unsure; /* the largest growth that may be scatter */
    int rows, lost;
    const char *worst; /* the row with that value; NULL: none */
} found;

static double share(fsim_sum before, fsim_sum after)
{
    return before < 0 || after < 0 ? (double)NAN : before == after ? 0 : (double)(after - before) / (double)before;
}

static void take(found *f, double growth, const fsim_row_diff *r)
{
    if (isnan(growth))
        return;
    if (isnan(f->value) || growth > f->value) {
        f->value = growth;
        f->worst = r->before->key;
    }
}

static void look_at(found *f, const fsim_gate *g, const fsim_row_diff *r)
{
    f->lost += r->verdict == FSIM_ROW_LOST;
    if (!r->before || !r->after || isnan(r->growth))
        return;
    f->rows++;
    if (g->metric == BYTES)
        take(f, share(r->before->dram_bytes, r->after->dram_bytes), r);
    else if (r->verdict == FSIM_ROW_SAME)
        f->unsure = fmax(f->unsure, r->growth);
    if (g->metric == TIME)
        take(f, r->verdict == FSIM_ROW_SAME ? 0 : r->growth, r);
}

/* The growth of the sum of all rows that the gate means, or of their mean error. */
static double of_all(const fsim_gate *g, const fsim_rows_diff *x, double *unsure)
{
    double before = 0, after = 0, error = 0;
    fsim_sum sum[2] = {0, 0};
    int rows = 0;
    for (int i = 0; i < x->rows; i++) {
        const fsim_filed_row *b = x->row[i].before, *a = x->row[i].after;
        if (!b || !a || !means(g, b) || isnan(x->row[i].growth))
            continue;
        if (x->row[i].chosen) {
            sum[0] += b->time_fs;
            sum[1] += a->time_fs;
            before += (double)b->time_fs;
            after += x->row[i].verdict == FSIM_ROW_SAME ? (double)b->time_fs : (double)a->time_fs;
        }
        if (b->measured_s > 0 && a->measured_s > 0) {
            error += fabs(a->predicted_s / a->measured_s - 1) - fabs(b->predicted_s / b->measured_s - 1);
            rows++;
        }
    }
    if (g->metric == ERROR)
        return rows ? error / rows : (double)NAN;
    *unsure = fmax(*unsure, sum[0] > 0 ? (double)(sum[1] - sum[0]) / (double)sum[0] : 0);
    return before > 0 ? after / before - 1 : (double)NAN;
}

/* Judges a gate. Is it unsure? */
static bool judge(fsim_gate *g, const fsim_rows_diff *x, fsim_arena *a)
{
    found f = {.value = NAN};
    for (int i = 0; i < x->rows; i++)
        if (x->row[i].chosen && means(g, x->row[i].before ? x->row[i].before : x->row[i].after))
            look_at(&f, g, &x->row[i]);
    if (g->metric == TOTAL || g->metric == ERROR) {
        f.unsure = 0;
        f.value = of_all(g, x, &f.unsure);
    }
    g->count = f.rows;
    fsim_gate_judge(g, f.lost ? (double)NAN : f.value,
                    fsim_printf(a, "%s of %s", f.worst && f.value != 0 ? fsim_printf(a, " at %s,", f.worst) : "",
                                fsim_text_count(a, f.rows, "row")),
                    f.lost ? fsim_printf(a, "%s of the first file %s no time in the second",
                                         fsim_text_count(a, f.lost, "row"), f.lost == 1 ? "has" : "have")
                           : "nothing was compared",
                    a);
    const bool unsure = g->passed && g->metric != ERROR && f.unsure > g->limit;
    if (unsure) {
        g->passed = false;
        g->says = fsim_printf(a, "no verdict: %s more, which may be scatter; wanted at most %s",
                              fsim_percent_text(a, f.unsure), fsim_percent_text(a, g->limit));
    }
    return unsure;
}

fsim_shown_rows_diff fsim_rows_gates_try(const fsim_rows_diff *x, const fsim_gate *gate, int gates, fsim_arena *a)
{
    fsim_shown_rows_diff s = {x, {fsim_new(a, fsim_gate, gates + 1), gates}, 0};
    for (int i = 0; i < gates; i++) {
        s.judged.at[i] = gate[i];
        s.unsure += judge(&s.judged.at[i], x, a);
    }
    return s;
}

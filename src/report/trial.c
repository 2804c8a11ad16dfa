/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trial.h"

#include "report/json_stream.h"
#include "report/junit.h"
#include "report/report.h"
#include "report/text_parts.h"
#include <math.h>
#include <string.h>

static const fsim_gate_metric metrics[FSIM_TRIAL_METRICS] = {
    [FSIM_TRIAL_MAPE] = {"mape", FSIM_GATE_SHARE, false, "mean error of the plans' times"},
    [FSIM_TRIAL_BYTES] = {"bytes", FSIM_GATE_SHARE, false, "error of the kernels' DRAM bytes"},
    [FSIM_TRIAL_REGRET] = {"regret", FSIM_GATE_SHARE, false, "what the chosen plan loses to the best"}};
const fsim_gate_table fsim_trial_gates = {"validate --device", metrics, FSIM_TRIAL_METRICS, NULL, NULL};

static double kernel_bytes(const fsim_measured_kernel *k) { return k->dram_read_bytes + k->dram_write_bytes; }

/* Mean of |predicted / measured - 1|, and so on, over all trials; NaN where nothing was measured. noise may be NULL. */
static double trials_metric(const fsim_trials *x, fsim_trial_metric m, double *noise)
{
    double sum = 0, all = 0, scatter = 0, most = NAN;
    int count = 0;
    for (int i = 0; i < x->count; i++) {
        const fsim_trial *t = &x->at[i];
        if (m == FSIM_TRIAL_REGRET && !isnan(t->regret))
            most = isnan(most) || t->regret > most ? t->regret : most;
        scatter = fmax(scatter, isnan(t->noise) ? 0 : t->noise);
        for (int p = 0; p < t->plans; p++) {
            const fsim_trial_plan *y = &t->plan[p];
            const double error = fabs(fsim_trial_error(y));
            if (m == FSIM_TRIAL_MAPE && !isnan(error))
                sum += error, count++;
            for (int k = 0; k < y->plan.kernels && m == FSIM_TRIAL_BYTES; k++) {
                const double bytes = kernel_bytes(&y->measured.kernel[k]),
                             wanted = y->predicted[k].dram_read_bytes + y->predicted[k].dram_write_bytes;
                if (isnan(bytes) || y->measured.kernel[k].cold.samples == 0 || (y->ran[k].stand_in && t->has_library))
                    continue;
                sum += fabs(bytes - wanted);
                all += wanted;
            }
        }
    }
    if (noise)
        *noise = m == FSIM_TRIAL_BYTES ? 0 : scatter;
    if (m == FSIM_TRIAL_BYTES)
        return all > 0 ? sum / all : NAN;
    return m == FSIM_TRIAL_REGRET ? most : count ? sum / count : NAN;
}

static const char *percent(fsim_arena *a, double x) { return isnan(x) ? "-" : fsim_printf(a, "%+.1f %%", 100 * x); }
static const char *seconds(fsim_arena *a, double x, bool have) { return have ? fsim_seconds_text(a, x) : "-"; }
static const char *times(fsim_arena *a, double x) { return isnan(x) || isinf(x) ? "-" : fsim_printf(a, "%.2fx", x); }

/* Place of the plan that speedups are over: eager, else the first. */
static const fsim_trial_plan *baseline(const fsim_trial *t)
{
    for (int p = 0; p < t->plans; p++)
        if (t->plan[p].strategy == FSIM_STRATEGY_EAGER)
            return &t->plan[p];
    return t->plans ? &t->plan[0] : NULL;
}

static fsim_table plans_table(const fsim_trial *t, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "plan", .left = true, .legend = "* is the fastest measured"},
        {.title = "kernels"},
        {.title = "predicted"},
        {.title = "measured"},
        {.title = "quartiles", .drop = 3, .legend = "a quarter of the runs is faster, a quarter slower"},
        {.title = "error"},
        {.title = "speedup"},
        {.title = "predicted speedup"},
        {.title = "graph predicted", .drop = 2, .legend = "as a CUDA graph"},
        {.title = "graph measured", .drop = 1}};
    fsim_table table = fsim_table_new(a, column, sizeof column / sizeof *column);
    const fsim_trial_plan *base = baseline(t);
    for (int p = 0; p < t->plans; p++) {
        const fsim_trial_plan *x = &t->plan[p];
        const fsim_times *s = &x->measured.stream;
        const bool have = s->samples > 0, compared = have && !x->unlike;
        const char **cell = fsim_table_row(&table, p == t->best ? FSIM_GOOD : FSIM_PLAIN);
        cell[0] = fsim_printf(a, "%s%s", fsim_strategy_names[x->strategy], p == t->best ? " *" : "");
        cell[1] = fsim_printf(a, "%d", x->plan.kernels);
        cell[2] = fsim_seconds_text(a, x->stream_s);
        cell[3] = seconds(a, s->median_s, have);
        cell[4] =
            have ? fsim_printf(a, "%s, %s", fsim_seconds_text(a, s->low_s), fsim_seconds_text(a, s->high_s)) : "-";
        cell[5] = percent(a, fsim_trial_error(x));
        cell[6] = times(a, compared && base->measured.stream.samples && !base->unlike
                               ? base->measured.stream.median_s / s->median_s
                               : NAN);
        cell[7] = times(a, base->stream_s / x->stream_s);
        cell[8] = seconds(a, x->graph_s, x->measured.graph.samples > 0);
        cell[9] = seconds(a, x->measured.graph.median_s, x->measured.graph.samples > 0);
    }
    return table;
}

static const char *counted(fsim_arena *a, const fsim_measured_kernel *m, double bytes)
{
    return m->cold.samples > 0 && !isnan(bytes) ? fsim_bytes_text(a, bytes) : "-";
}

static const char *ran_by(const fsim_trial_ran *r) { return r->stand_in ? "ours" : r->library; }

static fsim_table kernels_table(const fsim_trial *t, const fsim_trial_plan *x, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "kernel", .left = true, .shrinks = true},
        {.title = "template", .left = true, .drop = 9},
        {.title = "cold", .legend = "predicted with an empty L2"},
        {.title = "measured"},
        {.title = "error"},
        {.title = "warm", .drop = 6, .legend = "predicted with its operands in L2"},
        {.title = "warm measured", .drop = 5},
        {.title = "DRAM", .legend = "bytes predicted"},
        {.title = "counted", .legend = "by the GPU's counters"},
        {.title = "L2 counted", .drop = 11},
        {.title = "L2 writes", .drop = 12},
        {.title = "shared", .drop = 13},
        {.title = "registers", .drop = 4},
        {.title = "regs compiled", .drop = 3, .legend = "registers of a thread, as compiled"},
        {.title = "occupancy", .drop = 8},
        {.title = "occ. compiled", .drop = 7, .legend = "occupancy that follows from them"}};
    fsim_table table = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int k = 0; k < x->plan.kernels; k++) {
        const fsim_measured_kernel *m = &x->measured.kernel[k];
        const fsim_kernel *p = &x->plan.kernel[k];
        const bool cold = m->cold.samples > 0, warm = m->warm.samples > 0;
        const char **cell = fsim_table_row(&table, FSIM_PLAIN);
        cell[0] = x->program[k].name;
        cell[1] = ran_by(&x->ran[k]) ? fsim_printf(a, "%s, %s", fsim_template_names[p->template], ran_by(&x->ran[k]))
                                     : fsim_template_names[p->template];
        cell[2] = fsim_seconds_text(a, x->predicted[k].cold_s);
        cell[3] = cold ? fsim_seconds_text(a, m->cold.median_s) : m->failed ? "not run" : m->left_out ? "no time" : "-";
        cell[4] = cold && !(x->ran[k].stand_in && t->has_library)
                      ? percent(a, x->predicted[k].cold_s / m->cold.median_s - 1)
                      : "-";
        cell[5] = fsim_seconds_text(a, x->predicted[k].warm_s);
        cell[6] = seconds(a, m->warm.median_s, warm);
        cell[7] = fsim_bytes_text(a, x->predicted[k].dram_read_bytes + x->predicted[k].dram_write_bytes);
        cell[8] = counted(a, m, kernel_bytes(m));
        cell[9] = counted(a, m, m->l2_bytes);
        cell[10] = counted(a, m, m->l2_write_bytes);
        cell[11] = counted(a, m, m->shared_bytes);
        cell[12] = fsim_printf(a, "%d", p->registers);
        cell[13] = cold && m->registers > 0 ? fsim_printf(a, "%d", m->registers) : "-";
        cell[14] = fsim_printf(a, "%.0f %%", 100 * p->occupancy);
        cell[15] =
            cold && !isnan(m->occupancy) && m->occupancy > 0 ? fsim_printf(a, "%.0f %%", 100 * m->occupancy) : "-";
    }
    return table;
}

/* "24 kernels of 5 plans agree with the reference (shapes divided by up to 8)" */
static const char *checked_text(const fsim_trial *t, fsim_arena *a)
{
    int checked = 0, wrong = 0, skipped = 0, untold = 0;
    const char *scale = t->scale > 1 ? fsim_printf(a, ", on shapes divided by up to %lld", (long long)t->scale) : "";
    for (int p = 0; p < t->plans; p++) {
        checked += t->plan[p].checked;
        wrong += t->plan[p].wrong;
        skipped += t->plan[p].skipped;
        untold += t->plan[p].untold;
    }
    if (t->scale < 0)
        return "Not compared with the reference.";
    if (t->scale == 0)
        return "Not checked: no shorter shapes of this workload are within the interpreter's reach.";
    const char *left = skipped ? fsim_printf(a, " %d are not generated.", skipped) : "";
    if (untold)
        left = fsim_printf(a, "%s %d are not compared: of their results too little can be.", left, untold);
    if (checked == 0 && skipped && !untold)
        return fsim_printf(a, "Nothing was compared with the reference: none of %d kernels of %d plans is generated.",
                           skipped, t->plans);
    if (checked == 0 && untold)
        return fsim_printf(a, "None of %d kernels of %d plans is compared%s: of their results too little can be.",
                           untold, t->plans, scale);
    return wrong ? fsim_printf(a, "%d of %d kernels differ from the reference%s.%s", wrong, checked, scale, left)
                 : fsim_printf(a, "All %d kernels of %d plans agree with the reference%s.%s", checked, t->plans, scale,
                               left);
}

/* What one kernel was run by: a library's name, or, of a stand-in, why. NULL: it is no library's. */
static const char *why_ran(const fsim_trial_ran *r, bool ours) { return ours ? r->stand_in : r->library; }

/* How many kernels ran by `what`; 0 where plan p's kernel k is not the first of them. */
static int count_ran(const fsim_trial *t, int p, int k, bool ours)
{
    const char *what = why_ran(&t->plan[p].ran[k], ours);
    int count = 0;
    for (int i = 0; i < t->plans; i++)
        for (int n = 0; n < t->plan[i].plan.kernels; n++) {
            const char *other = why_ran(&t->plan[i].ran[n], ours);
            const bool same = what && other && strcmp(what, other) == 0;
            if (same && count == 0 && (i != p || n != k))
                return 0;
            count += same;
        }
    return count;
}

/* "Products that plans leave to a library: 4 by cuBLAS, 1 by our own kernel in its place (there is no such library on a
 * CPU)."; NULL where there are none. */
static const char *library_text(const fsim_trial *t, fsim_arena *a)
{
    const char *text = "";
    for (int pass = 0; pass < 2; pass++) /* the library's first */
        for (int p = 0; p < t->plans; p++)
            for (int k = 0; k < t->plan[p].plan.kernels; k++) {
                const bool ours = pass == 1;
                const int count = count_ran(t, p, k, ours);
                const char *by = why_ran(&t->plan[p].ran[k], ours);
                if (count > 0)
                    text =
                        fsim_printf(a, ours ? "%s%s%d by our own kernel%s in its place (%s)" : "%s%s%d by %s%s", text,
                                    *text ? ", " : "", count, ours ? (count == 1 ? "" : "s") : by, ours ? by : "");
            }
    return *text ? fsim_printf(a, "Products that plans leave to a library: %s.", text) : NULL;
}

static const char *regret_text(const fsim_trial *t, fsim_arena *a)
{
    if (t->chosen < 0) {
        bool any = false;
        for (int p = 0; p < t->plans; p++)
            any = any || t->plan[p].measured.stream.samples > 0;
        return any ? "Every plan that was measured differs from what was predicted." : "Nothing was measured.";
    }
    const char *chosen = fsim_strategy_names[t->plan[t->chosen].strategy],
               *best = fsim_strategy_names[t->plan[t->best].strategy];
    const char *noise = fsim_printf(a, "repetitions scatter by %.1f %%", 100 * t->noise);
    return t->chosen == t->best
               ? fsim_printf(a, "Regret 0 %%: %s is predicted to be fastest, and is; %s.", chosen, noise)
               : fsim_printf(a, "Regret %.1f %%: %s is predicted to be fastest, %s was; %s.", 100 * t->regret, chosen,
                             best, noise);
}

const char *fsim_trial_line(const fsim_trials *x, const fsim_trial *t, fsim_arena *a)
{
    return fsim_printf(a, "%s%s%s on %s: %s%s%s", t->graph->name, *t->set ? " " : "", t->set, x->name,
                       checked_text(t, a), x->measured ? " " : "", x->measured ? regret_text(t, a) : "");
}

static int shown_plan(const fsim_trial *t)
{
    for (int p = 0; p < t->plans; p++)
        if (t->plan[p].strategy == FSIM_STRATEGY_OPTIMAL)
            return p;
    return t->plans - 1;
}

/* Each reason once, by its first kernel. */
static void report_failed_kernels(const fsim_page *page, const fsim_trial *t, fsim_arena *a)
{
    enum { MOST = 8 };
    const char *said[MOST];
    int count = 0;
    for (int p = 0; p < t->plans; p++)
        for (int k = 0; k < t->plan[p].plan.kernels; k++) {
            const char *why = t->plan[p].program[k].skipped ? NULL : t->plan[p].measured.kernel[k].failed;
            bool again = !why || count == MOST || (t->plan[p].failed && strcmp(t->plan[p].failed, why) == 0);
            for (int i = 0; i < count && !again; i++)
                again = strcmp(said[i], why) == 0;
            if (again)
                continue;
            said[count++] = why;
            fsim_paragraph(page, FSIM_BAD, 2, 4,
                           fsim_printf(a, "%s: %s not measured: %s", fsim_strategy_names[t->plan[p].strategy],
                                       t->plan[p].program[k].name, why));
        }
}

static void report_trial(const fsim_page *page, const fsim_trials *x, const fsim_trial *t, fsim_arena *a)
{
    fsim_paragraph(page, FSIM_STRONG, 0, 2,
                   fsim_printf(a, "%s%s%s: %s, %s on %s", t->graph->name, *t->set ? " " : "", t->set,
                               fsim_text_count(a, t->graph->sources, "operator"),
                               fsim_text_count(a, t->graph->nodes, "primitive"), x->name));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, checked_text(t, a));
    for (int p = 0; p < t->plans; p++) {
        if (t->plan[p].first_wrong)
            fsim_paragraph(page, FSIM_BAD, 2, 4,
                           fsim_printf(a, "%s: %s", fsim_strategy_names[t->plan[p].strategy], t->plan[p].first_wrong));
        if (t->plan[p].first_untold)
            fsim_paragraph(page, FSIM_PLAIN, 2, 4,
                           fsim_printf(a, "%s: not compared: %s", fsim_strategy_names[t->plan[p].strategy],
                                       t->plan[p].first_untold));
        if (t->plan[p].differs)
            fsim_paragraph(page, FSIM_BAD, 2, 4,
                           fsim_printf(a, "%s: %s", fsim_strategy_names[t->plan[p].strategy], t->plan[p].differs));
        if (t->plan[p].failed)
            fsim_paragraph(
                page, FSIM_BAD, 2, 4,
                fsim_printf(a, "%s: not measured: %s", fsim_strategy_names[t->plan[p].strategy], t->plan[p].failed));
    }
    if (t->unchecked)
        fsim_paragraph(page, FSIM_BAD, 2, 4, fsim_printf(a, "not compared with the reference: %s", t->unchecked));
    if (t->failed)
        fsim_paragraph(page, FSIM_BAD, 2, 4, fsim_printf(a, "not measured: %s", t->failed));
    if (!x->measured)
        return;
    for (int p = 0; p < t->plans; p++)
        if (t->plan[p].no_graph)
            fsim_paragraph(page, FSIM_BAD, 2, 4,
                           fsim_printf(a, "%s: not as a CUDA graph: %s", fsim_strategy_names[t->plan[p].strategy],
                                       t->plan[p].no_graph));
    for (int p = 0; p < t->plans; p++)
        if (t->plan[p].unlike && t->plan[p].measured.stream.samples > 0)
            fsim_paragraph(page, FSIM_PLAIN, 2, 4,
                           fsim_printf(a, "%s: not compared with its prediction: %s",
                                       fsim_strategy_names[t->plan[p].strategy], t->plan[p].unlike));
    report_failed_kernels(page, t, a);
    if (fsim_trial_left_out(t, a))
        fsim_paragraph(page, FSIM_PLAIN, 2, 4, fsim_trial_left_out(t, a));
    if (t->warm)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4, "Plans ran with L2 as the run before left it.");
    putc('\n', page->out);
    const fsim_table plans = plans_table(t, a);
    fsim_table_print(page, &plans, 0);
    fsim_table_legend(page, &plans, 0);
    putc('\n', page->out);
    fsim_paragraph(page, t->chosen == t->best ? FSIM_GOOD : FSIM_PLAIN, 0, 2, regret_text(t, a));
    if (library_text(t, a))
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, library_text(t, a));
    for (int p = 0; p < t->plans; p++) {
        if (!x->verbose && p != shown_plan(t))
            continue;
        fprintf(page->out, "\nKernels of %s\n", fsim_strategy_names[t->plan[p].strategy]);
        const fsim_table kernels = kernels_table(t, &t->plan[p], a);
        fsim_table_print(page, &kernels, 0);
        fsim_table_legend(page, &kernels, 0);
    }
}

double fsim_trial_gate_try(fsim_gate *g, const fsim_trials *x, fsim_arena *a)
{
    double noise = 0;
    fsim_gate_judge(g, trials_metric(x, (fsim_trial_metric)g->metric, &noise), "", "nothing was measured", a);
    return noise;
}

void fsim_report_trials(const fsim_page *page, const fsim_trials *x)
{
    fsim_arena *a = fsim_arena_new();
    if (*x->facts)
        fsim_paragraph(page, FSIM_FAINT, 0, 2, x->facts);
    for (int i = 0; i < x->count; i++) {
        if (i)
            putc('\n', page->out);
        report_trial(page, x, &x->at[i], a);
    }
    if (x->counts && !x->no_counters && x->measured) {
        putc('\n', page->out);
        fsim_paragraph(page, FSIM_FAINT, 0, 2,
                       "Counted DRAM bytes include results that were still in L2 when the kernel ended.");
    }
    if (x->no_counters) {
        putc('\n', page->out);
        fsim_paragraph(page, FSIM_FAINT, 0, 2, fsim_printf(a, "No bytes were counted: %s", x->no_counters));
    }
    if (x->gates)
        putc('\n', page->out);
    fsim_report_gates(page, "", x->gate, x->gates);
    fsim_arena_free(a);
}

void fsim_markdown_trials(FILE *out, const fsim_trials *x)
{
    fsim_arena *a = fsim_arena_new();
    fputs("### Measured on ", out);
    fsim_markdown_text(out, x->name);
    putc('\n', out);
    for (int i = 0; i < x->count; i++) {
        const fsim_trial *t = &x->at[i];
        const fsim_table plans = plans_table(t, a);
        fputs("\n**", out);
        fsim_markdown_text(out, t->graph->name);
        fputs("**: ", out);
        fsim_markdown_text(out, checked_text(t, a));
        putc(' ', out);
        fsim_markdown_text(out, regret_text(t, a));
        if (library_text(t, a)) {
            putc(' ', out);
            fsim_markdown_text(out, library_text(t, a));
        }
        fputs("\n\n", out);
        fsim_table_markdown(out, &plans);
    }
    fsim_markdown_gates(out, "", x->gate, x->gates);
    fsim_arena_free(a);
}

/* JSON. */

static void put_times(FILE *out, const char *before, const char *key, const fsim_times *t)
{
    fprintf(out, "%s\"%s\": ", before, key);
    if (t->samples == 0) {
        fputs("null", out);
        return;
    }
    fsim_json_number(out, "{", "samples", t->samples);
    fsim_json_number(out, ", ", "median_s", t->median_s);
    fsim_json_number(out, ", ", "low_s", t->low_s);
    fsim_json_number(out, ", ", "high_s", t->high_s);
    fsim_json_number(out, ", ", "least_s", t->least_s);
    putc('}', out);
}

static double known(int x) { return x >= 0 ? (double)x : (double)NAN; }

static void put_kernel(FILE *out, const fsim_trial_plan *x, int k)
{
    const fsim_measured_kernel *m = &x->measured.kernel[k];
    const bool any = m->cold.samples > 0 || m->warm.samples > 0;
    fsim_json_text(out, "\n       {", "name", x->program[k].name);
    fsim_json_text(out, ", ", "template", fsim_template_names[x->plan.kernel[k].template]);
    fsim_json_text(out, ", ", "not_run",
                   x->program[k].skipped ? x->program[k].skipped
                   : m->failed           ? m->failed
                                         : m->left_out);
    fsim_json_text(out, ", ", "wrong", x->check[k].message);
    fsim_json_text(out, ", ", "not_compared", x->check[k].untold);
    fsim_json_number(out, ", ", "comparable",
                     x->check[k].elems > 0 ? (double)x->check[k].compared / (double)x->check[k].elems : NAN);
    fsim_json_text(out, ", ", "library", x->ran[k].library);
    fsim_json_text(out, ", ", "stand_in", x->ran[k].stand_in);
    fsim_json_number(out, ",\n        \"predicted\": {", "cold_s", x->predicted[k].cold_s);
    fsim_json_number(out, ", ", "warm_s", x->predicted[k].warm_s);
    fsim_json_number(out, ", ", "dram_read_bytes", x->predicted[k].dram_read_bytes);
    fsim_json_number(out, ", ", "dram_write_bytes", x->predicted[k].dram_write_bytes);
    fsim_json_number(out, ", ", "registers_per_thread", x->plan.kernel[k].registers);
    fsim_json_number(out, ", ", "occupancy", x->plan.kernel[k].occupancy);
    put_times(out, "},\n        \"measured\": {", "cold", &m->cold);
    put_times(out, ", ", "warm", &m->warm);
    fsim_json_number(out, ", ", "dram_read_bytes", any ? m->dram_read_bytes : NAN);
    fsim_json_number(out, ", ", "dram_write_bytes", any ? m->dram_write_bytes : NAN);
    fsim_json_number(out, ", ", "dram_write_by_end_bytes", any ? m->dram_write_by_end_bytes : NAN);
    fsim_json_number(out, ", ", "l2_bytes", any ? m->l2_bytes : NAN);
    fsim_json_number(out, ", ", "l2_write_bytes", any ? m->l2_write_bytes : NAN);
    fsim_json_number(out, ", ", "shared_bytes", any ? m->shared_bytes : NAN);
    fsim_json_number(out, ", ", "local_bytes", any ? m->local_bytes : NAN);
    fsim_json_number(out, ", ", "registers_per_thread", any ? known(m->registers) : NAN);
    fsim_json_number(out, ", ", "occupancy", any ? m->occupancy : NAN);
    fsim_json_number(out, ", ", "achieved_occupancy", any ? m->achieved_occupancy : NAN);
    fsim_json_number(out, ", ", "sm_clock_hz", any ? m->sm_clock_hz : NAN);
    fputs("}}", out);
}

static void put_plan(FILE *out, const fsim_trial *t, const fsim_trial_plan *x)
{
    const fsim_trial_plan *base = baseline(t);
    const bool both =
        base->measured.stream.samples > 0 && x->measured.stream.samples > 0 && !base->unlike && !x->unlike;
    fsim_json_text(out, "\n     {", "strategy", fsim_strategy_names[x->strategy]);
    fsim_json_number(out, ", ", "predicted_s", x->stream_s);
    fsim_json_number(out, ", ", "predicted_graph_s", x->graph_s);
    put_times(out, ", ", "measured", &x->measured.stream);
    put_times(out, ", ", "measured_graph", &x->measured.graph);
    fsim_json_number(out, ", ", "error", fsim_trial_error(x));
    fsim_json_number(out, ", ", "predicted_speedup", base->stream_s / x->stream_s);
    fsim_json_number(out, ", ", "measured_speedup",
                     both ? base->measured.stream.median_s / x->measured.stream.median_s : NAN);
    fprintf(out, ",\n      \"checked\": %d, \"wrong\": %d, \"not_compared\": %d", x->checked, x->wrong, x->untold);
    fsim_json_text(out, ", ", "first_wrong", x->first_wrong);
    fsim_json_text(out, ", ", "first_not_compared", x->first_untold);
    fsim_json_text(out, ", ", "differs", x->differs);
    fsim_json_text(out, ", ", "failed", x->failed);
    fsim_json_text(out, ", ", "left_out", x->left_out);
    fsim_json_text(out, ", ", "no_graph", x->no_graph);
    fsim_json_text(out, ", ", "unlike", x->unlike);
    fputs(",\n      \"kernels\": [", out);
    for (int k = 0; k < x->plan.kernels; k++) {
        if (k)
            putc(',', out);
        put_kernel(out, x, k);
    }
    fputs("]}", out);
}

void fsim_json_trials(FILE *out, const fsim_trials *x)
{
    fsim_arena *c = fsim_arena_new();
    fsim_json_text(out, "{\"schema\": 1, ", "fusesim", FUSESIM_VERSION);
    fsim_json_text(out, ",\n \"device\": {", "kind", x->device);
    fsim_json_text(out, ", ", "name", x->name);
    fsim_json_text(out, ", ", "facts", *x->facts ? x->facts : NULL);
    fsim_json_text(out, ", ", "no_counters", x->no_counters);
    fputs("},\n \"workloads\": [", out);
    for (int i = 0; i < x->count; i++) {
        const fsim_trial *t = &x->at[i];
        fsim_json_text(out, i ? ",\n   {" : "\n   {", "name", t->graph->name);
        fsim_json_text(out, ", ", "path", t->graph->path);
        fsim_json_text(out, ", ", "set", t->set);
        fsim_json_text(out, ", ", "hw", t->hw->name);
        fsim_json_text(out, ", ", "l2", fsim_l2_words[t->warm]);
        fsim_json_text(out, ", ", "failed", t->failed);
        fsim_json_text(out, ", ", "unchecked", t->unchecked);
        fsim_json_text(out, ", ", "left_out", fsim_trial_left_out(t, c));
        fsim_json_number(out, ", ", "checked_scale", t->scale > 0 ? (double)t->scale : 0);
        fsim_json_text(out, ",\n    ", "chosen",
                       t->chosen >= 0 ? fsim_strategy_names[t->plan[t->chosen].strategy] : NULL);
        fsim_json_text(out, ", ", "best", t->best >= 0 ? fsim_strategy_names[t->plan[t->best].strategy] : NULL);
        fsim_json_number(out, ", ", "regret", t->regret);
        fsim_json_number(out, ", ", "noise", t->noise);
        fputs(",\n    \"plans\": [", out);
        for (int p = 0; p < t->plans; p++) {
            if (p)
                putc(',', out);
            put_plan(out, t, &t->plan[p]);
        }
        fputs("]}", out);
    }
    putc(']', out);
    fsim_json_gates(out, x->gate, x->gates);
    fputs("}\n", out);
    fsim_arena_free(c);
}

void fsim_junit_trials(FILE *out, const fsim_trials *x)
{
    fsim_arena *a = fsim_arena_new();
    int cases = x->gates, failures = fsim_gates_failed(x->gate, x->gates);
    for (int i = 0; i < x->count; i++)
        for (int p = 0; p < x->at[i].plans; p++) {
            cases++;
            failures += x->at[i].plan[p].wrong > 0 || x->at[i].plan[p].differs;
        }
    fsim_junit_begin(out, cases, failures, 0);
    fsim_junit_gates(out, "", x->gate, x->gates);
    for (int i = 0; i < x->count; i++)
        for (int p = 0; p < x->at[i].plans; p++) {
            const fsim_trial_plan *y = &x->at[i].plan[p];
            const char *wrong = y->first_wrong ? y->first_wrong : y->differs;
            fsim_junit_case(out, "fusesim.kernels",
                            fsim_printf(a, "%s/%s", x->at[i].graph->name, fsim_strategy_names[y->strategy]),
                            wrong ? "result" : NULL,
                            wrong ? wrong
                                  : fsim_printf(a, "%d kernels compared, %d not, predicted %.4g s, measured %.4g s",
                                                y->checked, y->untold, y->stream_s, y->measured.stream.median_s));
        }
    fsim_junit_end(out);
    fsim_arena_free(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/compiled.h"

#include "report/json_stream.h"
#include "report/junit.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

static const char *const no_contraction = "no_contraction";
static const fsim_gate_metric metrics[FSIM_REGISTERS_METRICS] = {
    [FSIM_REGISTERS_CLASS] = {"class", FSIM_GATE_SHARE, true, "kernels with as many blocks on an SM"},
    [FSIM_REGISTERS_NEAR] = {"near", FSIM_GATE_SHARE, true, "kernels with one block more or less"},
    [FSIM_REGISTERS_ERROR] = {"registers", FSIM_GATE_SHARE, false, "mean error of the registers"},
    [FSIM_REGISTERS_SPILLS] = {"spills", FSIM_GATE_COUNT, false, "kernels that spill"},
    [FSIM_REGISTERS_DISAGREE] = {"disagree", FSIM_GATE_COUNT, false, "kernels whose facts disagree"},
    [FSIM_REGISTERS_WARNINGS] = {"warnings", FSIM_GATE_COUNT, false, "kernels that the compiler warns about"}};
const fsim_gate_table fsim_register_gates = {"validate --registers", metrics, FSIM_REGISTERS_METRICS,
                                             "a template, or no_contraction", NULL};

static double counted(const fsim_register_sum *s, int count) { return s->kernels ? (double)count : (double)NAN; }

static double metric_of(const fsim_register_sum *s, fsim_register_metric m)
{
    switch (m) {
    case FSIM_REGISTERS_CLASS:
        return s->class_share;
    case FSIM_REGISTERS_NEAR:
        return s->near_share;
    case FSIM_REGISTERS_ERROR:
        return s->registers_error;
    case FSIM_REGISTERS_SPILLS:
        return counted(s, s->spilling);
    case FSIM_REGISTERS_DISAGREE:
        return counted(s, s->disagreeing);
    default:
        return counted(s, s->warned);
    }
}

int fsim_register_gate_template(const char *group)
{
    int t = 0;
    if (!*group || strcmp(group, no_contraction) == 0)
        return *group ? FSIM_NO_CONTRACTION : FSIM_EVERY_TEMPLATE;
    while (t < FSIM_TEMPLATE_COUNT && strcmp(group, fsim_template_names[t]) != 0)
        t++;
    return t;
}

void fsim_register_gate_try(fsim_gate *g, const fsim_register_rows *x, fsim_arena *a)
{
    const fsim_register_sum s = fsim_register_rows_sum(x, fsim_register_gate_template(g->group), 0);
    fsim_gate_judge(g, metric_of(&s, (fsim_register_metric)g->metric),
                    fsim_printf(a, " of %d kernel%s", s.kernels, s.kernels == 1 ? "" : "s"), "no kernel was compiled",
                    a);
}

static const char *integer(fsim_arena *a, int x) { return x ? fsim_printf(a, "%d", x) : "0"; }
static const char *percent(fsim_arena *a, double share)
{
    return isnan(share) ? "-" : fsim_printf(a, "%.1f", 100 * share);
}

/* Kernels. */

static bool is_off(const fsim_register_row *r)
{
    return r->left_out || r->blocks != r->compiled_blocks || r->spill_bytes > 0 || r->disagrees || r->unread ||
           r->warnings > 0;
}

static bool is_shown(const fsim_register_report *x, const fsim_register_row *r)
{
    return x->verbose || (x->workloads == 1 && x->archs == 1) || is_off(r);
}

static fsim_table kernels_table(const fsim_register_report *x, const fsim_register_row *row, int rows, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "kernel", .left = true, .shrinks = true},
                                         {.title = "sm", .drop = 8},
                                         {.title = "template", .left = true, .drop = 7},
                                         {.title = "uses", .drop = 9},
                                         {.title = "registers"},
                                         {.title = "compiled"},
                                         {.title = "spills", .drop = 4},
                                         {.title = "stack", .drop = 5},
                                         {.title = "shared", .drop = 6},
                                         {.title = "compiled", .drop = 6},
                                         {.title = "blocks"},
                                         {.title = "compiled"},
                                         {.title = "occupancy", .drop = 3},
                                         {.title = "compiled", .drop = 3}};
    fsim_table table = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < rows; i++) {
        const fsim_register_row *r = &row[i];
        if (!is_shown(x, r))
            continue;
        const char **cell = fsim_table_row(&table, r->left_out                       ? FSIM_FAINT
                                                   : r->blocks == r->compiled_blocks ? FSIM_PLAIN
                                                                                     : FSIM_BAD);
        cell[0] = r->name;
        cell[1] = integer(a, r->sm);
        cell[2] = fsim_template_names[r->template];
        cell[3] = integer(a, r->uses);
        cell[4] = integer(a, r->registers);
        cell[5] = r->left_out ? "-" : fsim_printf(a, "%d%s", r->compiled_registers, r->disagrees ? " ?" : "");
        cell[6] = r->left_out ? "-" : integer(a, r->spill_bytes);
        cell[7] = r->left_out ? "-" : integer(a, r->stack_bytes);
        cell[8] = integer(a, r->shared_bytes);
        cell[9] = r->left_out ? "-" : integer(a, r->compiled_shared_bytes);
        cell[10] = integer(a, r->blocks);
        cell[11] = r->left_out ? "-" : integer(a, r->compiled_blocks);
        cell[12] = fsim_printf(a, "%.0f %%", 100 * r->occupancy);
        cell[13] = r->left_out ? "-" : fsim_printf(a, "%.0f %%", 100 * r->compiled_occupancy);
    }
    return table;
}

/* The number of rows from `from` on with the same workload and GPU, which are neighbours. */
static int same_workload(const fsim_register_rows *x, int from)
{
    int to = from;
    while (to < x->rows && x->row[to].graph == x->row[from].graph)
        to++;
    return to;
}

/* Summary. */

static const char *const summary_note = "class: as many blocks on an SM as predicted; near: one more or less at most; "
                                        "error: mean |predicted / compiled - 1| of the registers.";

static const char *const library_note =
    "library: both columns are for the generated kernel that replaces the vendor's.";

static bool any_stands_in(const fsim_register_rows *x)
{
    for (int i = 0; i < x->rows; i++)
        if (x->row[i].stands_in)
            return true;
    return false;
}

/* Adds a row of the summary for a template, or for FSIM_NO_CONTRACTION or FSIM_EVERY_TEMPLATE (totals). sm 0: all
 * architectures. */
static void summary_row(fsim_table *table, int template, int sm, const fsim_register_rows *rows, fsim_arena *a)
{
    const bool total = template <0;
    const char *name = template == FSIM_EVERY_TEMPLATE   ? "all"
                       : template == FSIM_NO_CONTRACTION ? no_contraction
                                                         : fsim_template_names[template];
    const fsim_register_sum s = fsim_register_rows_sum(rows, template, sm);
    if (s.kernels == 0)
        return;
    const char **cell = fsim_table_row(table, total ? FSIM_STRONG : FSIM_PLAIN);
    cell[0] = sm ? fsim_printf(a, "sm_%d", sm) : "all";
    cell[1] = name;
    cell[2] = integer(a, s.kernels);
    cell[3] = percent(a, s.class_share);
    cell[4] = percent(a, s.near_share);
    cell[5] = percent(a, s.registers_error);
    cell[6] = fsim_printf(a, "%+.1f", 100 * s.registers_bias);
    cell[7] = integer(a, s.spilling);
    cell[8] = integer(a, s.stacked);
    cell[9] = integer(a, s.disagreeing);
}

/* Adds the totals of all kernels, and of all but contractions where there are any. */
static void totals(fsim_table *table, int sm, const fsim_register_rows *rows, fsim_arena *a)
{
    const int others = fsim_register_rows_sum(rows, FSIM_NO_CONTRACTION, sm).kernels;
    if (others != fsim_register_rows_sum(rows, FSIM_EVERY_TEMPLATE, sm).kernels)
        summary_row(table, FSIM_NO_CONTRACTION, sm, rows, a);
    summary_row(table, FSIM_EVERY_TEMPLATE, sm, rows, a);
}

static fsim_table summary_table(const fsim_register_report *x, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "for", .left = true},
                                         {.title = "template", .left = true},
                                         {.title = "kernels"},
                                         {.title = "class %"},
                                         {.title = "near %"},
                                         {.title = "error %"},
                                         {.title = "bias", .drop = 2},
                                         {.title = "spill"},
                                         {.title = "stack", .drop = 3},
                                         {.title = "disagree"}};
    fsim_table table = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->archs; i++) {
        for (int t = 0; t < FSIM_TEMPLATE_COUNT; t++)
            summary_row(&table, t, x->sm[i], x->rows, a);
        totals(&table, x->sm[i], x->rows, a);
    }
    for (int t = 0; t < FSIM_TEMPLATE_COUNT && x->archs > 1; t++)
        summary_row(&table, t, 0, x->rows, a);
    if (x->archs > 1)
        totals(&table, 0, x->rows, a);
    return table;
}

const char *fsim_register_line(const fsim_register_report *x, fsim_arena *a)
{
    const fsim_register_sum s = fsim_register_rows_sum(x->rows, FSIM_EVERY_TEMPLATE, 0);
    const char *skipped =
        x->rows->skipped ? fsim_printf(a, "; %d of the plans' kernels are not generated", x->rows->skipped) : "";
    return fsim_printf(a, "%d kernels of %d workload%s, compiled by %s%s", s.kernels, x->workloads,
                       x->workloads == 1 ? "" : "s", x->compiler, skipped);
}

void fsim_report_registers(const fsim_page *page, const fsim_register_report *x)
{
    fsim_arena *a = fsim_arena_new();
    for (int from = 0; from < x->rows->rows;) {
        const int to = same_workload(x->rows, from);
        const fsim_register_row *r = &x->rows->row[from];
        const fsim_table table = kernels_table(x, r, to - from, a);
        if (table.rows > 0) {
            fsim_paragraph(page, FSIM_STRONG, 0, 2,
                           fsim_printf(a, "%s%s%s on %s", r->graph->name, *r->set ? " " : "", r->set, r->hw->name));
            fsim_table_print(page, &table, 0);
            putc('\n', page->out);
        }
        from = to;
    }
    fsim_paragraph(page, FSIM_STRONG, 0, 2, fsim_register_line(x, a));
    const fsim_table summary = summary_table(x, a);
    fsim_table_print(page, &summary, 0);
    fsim_paragraph(page, FSIM_FAINT, 0, 2, summary_note);
    if (any_stands_in(x->rows))
        fsim_paragraph(page, FSIM_FAINT, 0, 2, library_note);
    if (!x->verbose && !(x->workloads == 1 && x->archs == 1))
        fsim_paragraph(page, FSIM_FAINT, 0, 2,
                       "Listed are kernels of another class than predicted, or that spill; --verbose lists all.");
    if (x->gates)
        putc('\n', page->out);
    fsim_report_gates(page, "", x->gate, x->gates);
    fsim_arena_free(a);
}

void fsim_markdown_registers(FILE *out, const fsim_register_report *x)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_table summary = summary_table(x, a);
    fputs("### Registers and occupancy\n\n", out);
    fsim_markdown_text(out, fsim_register_line(x, a));
    fputs("\n\n", out);
    fsim_table_markdown(out, &summary);
    putc('\n', out);
    fsim_markdown_text(out, summary_note);
    if (any_stands_in(x->rows)) {
        putc(' ', out);
        fsim_markdown_text(out, library_note);
    }
    putc('\n', out);
    for (int from = 0; from < x->rows->rows;) {
        const int to = same_workload(x->rows, from);
        const fsim_table table = kernels_table(x, &x->rows->row[from], to - from, a);
        if (table.rows > 0) {
            fputs("\n**", out);
            fsim_markdown_text(out, x->rows->row[from].graph->name);
            fputs("**\n\n", out);
            fsim_table_markdown(out, &table);
        }
        from = to;
    }
    fsim_markdown_gates(out, "", x->gate, x->gates);
    fsim_arena_free(a);
}

/* JSON. */

static double known(const fsim_register_row *r, double x) { return r->left_out ? (double)NAN : x; }

static void put_row(FILE *out, const fsim_register_row *r)
{
    fsim_json_text(out, "\n   {", "workload", r->graph->name);
    fsim_json_text(out, ", ", "path", r->graph->path);
    fsim_json_text(out, ", ", "set", r->set);
    fsim_json_text(out, ", ", "hw", r->hw->name);
    fsim_json_number(out, ", ", "sm", r->sm);
    fsim_json_text(out, ",\n    ", "kernel", r->name);
    fsim_json_text(out, ", ", "template", fsim_template_names[r->template]);
    fputs(", \"strategies\": [", out);
    for (int s = 0, some = 0; s < FSIM_STRATEGY_COUNT; s++)
        if (r->strategies & 1u << s) {
            fputs(some++ ? ", " : "", out);
            fsim_json_string(out, fsim_strategy_names[s]);
        }
    fsim_json_number(out, "], ", "uses", r->uses);
    fsim_json_bool(out, ", ", "stands_in", r->stands_in);
    fsim_json_text(out, ", ", "left_out", r->left_out);
    fsim_json_number(out, ",\n    \"predicted\": {", "registers_per_thread", r->registers);
    fsim_json_number(out, ", ", "shared_bytes_per_block", r->shared_bytes);
    fsim_json_number(out, ", ", "block", r->block);
    fsim_json_number(out, ", ", "blocks_per_sm", r->blocks);
    fsim_json_number(out, ", ", "occupancy", r->occupancy);
    fsim_json_number(out, "},\n    \"compiled\": {", "registers_per_thread", known(r, r->compiled_registers));
    fsim_json_number(out, ", ", "shared_bytes_per_block", known(r, r->compiled_shared_bytes));
    fsim_json_number(out, ", ", "block", known(r, r->compiled_block));
    fsim_json_number(out, ", ", "blocks_per_sm", known(r, r->compiled_blocks));
    fsim_json_number(out, ", ", "occupancy", known(r, r->compiled_occupancy));
    fsim_json_number(out, ", ", "spill_bytes", known(r, r->spill_bytes));
    fsim_json_number(out, ", ", "stack_bytes", known(r, r->stack_bytes));
    fsim_json_bool(out, ", ", "log_and_cubin_disagree", r->disagrees);
    fsim_json_number(out, ", ", "warnings", known(r, r->warnings));
    fputs("}}", out);
}

static void put_sum(FILE *out, const char *before, const fsim_register_rows *rows, int template, int sm)
{
    const fsim_register_sum s = fsim_register_rows_sum(rows, template, sm);
    fsim_json_text(out, before, "template",
                   template == FSIM_EVERY_TEMPLATE   ? NULL
                   : template == FSIM_NO_CONTRACTION ? no_contraction
                                                     : fsim_template_names[template]);
    fsim_json_number(out, ", ", "sm", sm ? (double)sm : (double)NAN);
    fsim_json_number(out, ", ", "kernels", s.kernels);
    fsim_json_number(out, ", ", "uses", s.uses);
    fsim_json_number(out, ", ", "same_class", s.class_share);
    fsim_json_number(out, ", ", "within_one", s.near_share);
    fsim_json_number(out, ", ", "registers_error", s.registers_error);
    fsim_json_number(out, ", ", "registers_bias", s.registers_bias);
    fsim_json_number(out, ", ", "spilling", s.spilling);
    fsim_json_number(out, ", ", "with_stack", s.stacked);
    fsim_json_number(out, ", ", "disagreeing", s.disagreeing);
    fsim_json_number(out, ", ", "warned", s.warned);
    putc('}', out);
}

void fsim_json_registers(FILE *out, const fsim_register_report *x)
{
    fsim_json_text(out, "{\"schema\": 1, ", "fusesim", FUSESIM_VERSION);
    fsim_json_text(out, ",\n \"compiler\": {", "name", x->compiler);
    fsim_json_number(out, ", ", "texts", x->rows->texts);
    fsim_json_number(out, ", ", "cached", x->rows->cached);
    fsim_json_number(out, "},\n ", "workloads", x->workloads);
    fsim_json_number(out, ", ", "not_generated", x->rows->skipped);
    fputs(",\n \"kernels\": [", out);
    for (int i = 0; i < x->rows->rows; i++) {
        if (i)
            putc(',', out);
        put_row(out, &x->rows->row[i]);
    }
    fputs("],\n \"summary\": [", out);
    const char *before = "\n   {";
    for (int i = 0; i <= x->archs; i++)
        for (int t = FSIM_NO_CONTRACTION; t < FSIM_TEMPLATE_COUNT; t++) {
            const int sm = i < x->archs ? x->sm[i] : 0;
            if (t >= 0 && fsim_register_rows_sum(x->rows, t, sm).kernels == 0)
                continue;
            put_sum(out, before, x->rows, t, sm);
            before = ",\n   {";
        }
    putc(']', out);
    fsim_json_gates(out, x->gate, x->gates);
    fputs("}\n", out);
}

void fsim_junit_registers(FILE *out, const fsim_register_report *x)
{
    fsim_arena *a = fsim_arena_new();
    int cases = x->gates, failures = fsim_gates_failed(x->gate, x->gates);
    for (int i = 0; i < x->archs; i++)
        for (int t = 0; t < FSIM_TEMPLATE_COUNT; t++)
            cases += fsim_register_rows_sum(x->rows, t, x->sm[i]).kernels > 0;
    fsim_junit_begin(out, cases, failures, 0);
    fsim_junit_gates(out, "", x->gate, x->gates);
    for (int i = 0; i < x->archs; i++)
        for (int t = 0; t < FSIM_TEMPLATE_COUNT; t++) {
            const fsim_register_sum s = fsim_register_rows_sum(x->rows, t, x->sm[i]);
            if (s.kernels > 0)
                fsim_junit_case(
                    out, "fusesim.registers", fsim_printf(a, "sm_%d/%s", x->sm[i], fsim_template_names[t]), NULL,
                    fsim_printf(
                        a, "%d kernels, %.1f %% with the predicted blocks on an SM, registers off by %.1f %%, %d spill",
                        s.kernels, 100 * s.class_share, 100 * s.registers_error, s.spilling));
        }
    fsim_junit_end(out);
    fsim_arena_free(a);
}

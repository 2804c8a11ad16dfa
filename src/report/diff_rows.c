/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff_rows.h"

#include "report/describe.h"
#include "report/gate.h"
#include "report/json_stream.h"
#include "report/junit.h"
#include "report/text_parts.h"
#include <math.h>
#include <string.h>

enum { SHOWN_ROWS = 30 };

static double seconds(fsim_sum fs) { return (double)fs / FSIM_FS_PER_S; }

static const char *growth_text(double share, fsim_arena *a)
{
    return isnan(share) ? "-" : share == 0 ? "0" : fsim_printf(a, "%+.1f%%", 100 * share);
}

static const char *verdict_text(const fsim_row_diff *r)
{
    return r->verdict == FSIM_ROW_SAME && !isnan(r->growth) && r->growth != 0 ? "no difference"
           : r->verdict == FSIM_ROW_SAME && isnan(r->growth)                  ? "no time"
                                                                              : fsim_row_verdict_names[r->verdict];
}

const char *fsim_rows_diff_line(const fsim_shown_rows_diff *s, fsim_arena *a)
{
    const fsim_rows_diff *x = s->x;
    const char *text =
        fsim_printf(a, "%s, %s:", fsim_rows_kind_names[x->before->kind], fsim_text_count(a, x->rows, "row"));
    const char *between = " ";
    for (int v = FSIM_ROW_FASTER; v <= FSIM_ROW_VERDICTS; v++) {
        const int verdict = v % FSIM_ROW_VERDICTS; /* what is the same comes last */
        if (x->verdicts[verdict])
            text = fsim_printf(a, "%s%s%d %s", text, between, x->verdicts[verdict], fsim_row_verdict_names[verdict]);
        between = x->verdicts[verdict] ? ", " : between;
    }
    if (x->before_fs > 0)
        text = fsim_printf(a, "%s; %s%s -> %s, %s", text,
                           x->before->kind == FSIM_ROWS_OF_TRIALS ? "chosen plans " : "together ",
                           fsim_seconds_text(a, seconds(x->before_fs)), fsim_seconds_text(a, seconds(x->after_fs)),
                           growth_text((double)(x->after_fs - x->before_fs) / (double)x->before_fs, a));
    if (!isnan(x->error_before))
        text = fsim_printf(a, "%s; mean error %s -> %s", text, fsim_percent_text(a, x->error_before),
                           fsim_percent_text(a, x->error_after));
    return text;
}

static const char *time_text(const fsim_filed_row *r, double s, fsim_arena *a)
{
    return !r || isnan(s) ? "-" : fsim_seconds_text(a, s);
}

static double time_of(const fsim_filed_row *r) { return r && r->time_fs >= 0 ? seconds(r->time_fs) : (double)NAN; }

/* What the row says besides its times. */
static const char *note_of(const fsim_row_diff *r, fsim_arena *a)
{
    if (r->verdict == FSIM_ROW_LOST)
        return r->after ? r->after->why : "the second file has no such row";
    if (r->verdict == FSIM_ROW_NEW)
        return r->before ? r->before->why : "the first file has no such row";
    if (isnan(r->growth))
        return r->after && r->after->why ? r->after->why : "";
    const bool model = !isnan(r->before->measured_s) && r->before->predicted_s != r->after->predicted_s;
    return fsim_printf(a, "%s%s%s", r->other_kernels ? "other kernels" : "", r->other_kernels && model ? ", " : "",
                       model ? "other prediction" : "");
}

/* The rows that changed, or all; *left: those that are not shown. */
static fsim_table table_of(const fsim_rows_diff *x, bool verbose, int *left, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "row", .left = true, .shrinks = true, .least = 20},
                                         {.title = "before"},
                                         {.title = "after"},
                                         {.title = "change"},
                                         {.title = "verdict", .left = true},
                                         {.title = "predicted", .drop = 3, .legend = "before -> after"},
                                         {.title = "", .left = true, .shrinks = true, .least = 8, .drop = 2}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    *left = 0;
    for (int i = 0; i < x->rows; i++) {
        const fsim_row_diff *r = &x->row[i];
        const bool changed = r->verdict != FSIM_ROW_SAME;
        if (!verbose && (!changed || t.rows == SHOWN_ROWS)) {
            *left += changed;
            continue;
        }
        const char **cell = fsim_table_row(&t, r->verdict == FSIM_ROW_LOST ? FSIM_BAD
                                               : changed                   ? FSIM_PLAIN
                                                                           : FSIM_FAINT);
        cell[0] = (r->before ? r->before : r->after)->key;
        cell[1] = time_text(r->before, time_of(r->before), a);
        cell[2] = time_text(r->after, time_of(r->after), a);
        cell[3] = growth_text(r->growth, a);
        cell[4] = verdict_text(r);
        if (x->before->kind == FSIM_ROWS_OF_TRIALS && r->before && r->after)
            cell[5] = fsim_printf(a, "%s -> %s", time_text(r->before, r->before->predicted_s, a),
                                  time_text(r->after, r->after->predicted_s, a));
        cell[6] = *note_of(r, a) ? note_of(r, a) : NULL;
    }
    return t;
}

/* "fusesim: 0.1.0 -> 0.2.0" and the like; count of them. */
static int changes_of(const fsim_rows_diff *x, const char *line[2], fsim_arena *a)
{
    int count = 0;
    if (strcmp(x->before->version, x->after->version) != 0)
        line[count++] = fsim_printf(a, "version: fusesim: %s -> %s", x->before->version, x->after->version);
    if (strcmp(x->before->device, x->after->device) != 0)
        line[count++] = fsim_printf(a, "hardware: %s -> %s", x->before->device, x->after->device);
    return count;
}

void fsim_report_rows_diff(const fsim_page *page, const fsim_shown_rows_diff *s, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    const char *line[2];
    int left;
    const fsim_table t = table_of(s->x, verbose, &left, a);
    fsim_paragraph(page, FSIM_STRONG, 0, 2, fsim_rows_diff_line(s, a));
    const int changes = changes_of(s->x, line, a);
    for (int i = 0; i < changes; i++)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4, line[i]);
    if (t.rows > 0) {
        putc('\n', page->out);
        fsim_table_print(page, &t, 2);
        fsim_table_legend(page, &t, 4);
    }
    if (left)
        fsim_paragraph(page, FSIM_FAINT, 2, 4,
                       fsim_printf(a, "And %s; --verbose lists all rows.", fsim_text_count(a, left, "smaller change")));
    if (s->judged.count)
        putc('\n', page->out);
    fsim_report_gates(page, "", s->judged.at, s->judged.count);
    fsim_arena_free(a);
}

void fsim_markdown_rows_diff(FILE *out, const fsim_shown_rows_diff *s, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    const char *line[2];
    int left;
    const fsim_table t = table_of(s->x, verbose, &left, a);
    fputs("### ", out);
    fsim_markdown_text(out, fsim_rows_diff_line(s, a));
    fputs("\n\n", out);
    const int changes = changes_of(s->x, line, a);
    for (int i = 0; i < changes; i++) {
        fputs("- ", out);
        fsim_markdown_text(out, line[i]);
        fputs(i + 1 < changes ? "\n" : "\n\n", out);
    }
    if (t.rows > 0)
        fsim_table_markdown(out, &t);
    if (left)
        fprintf(out, "\nAnd %d smaller changes.\n", left);
    fsim_markdown_gates(out, "", s->judged.at, s->judged.count);
    fsim_arena_free(a);
}

static void put_side(FILE *out, const char *key, const fsim_filed_row *r)
{
    char digits[FSIM_SUM_DIGITS];
    fprintf(out, ", \"%s\": ", key);
    if (!r) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"time_fs\": %s", r->time_fs < 0 ? "null" : fsim_sum_digits(digits, r->time_fs));
    fsim_json_number(out, ", ", "low_s", r->low_s);
    fsim_json_number(out, ", ", "high_s", r->high_s);
    fsim_json_number(out, ", ", "predicted_s", r->predicted_s);
    fsim_json_number(out, ", ", "measured_s", r->measured_s);
    fprintf(out, ", \"dram_bytes\": %s", r->dram_bytes < 0 ? "null" : fsim_sum_digits(digits, r->dram_bytes));
    fsim_json_text(out, ", ", "reason", r->why);
    putc('}', out);
}

static void put_file(FILE *out, const char *before, const char *key, const fsim_filed_rows *f)
{
    fprintf(out, "%s\"%s\": ", before, key);
    fsim_json_text(out, "{", "path", f->path);
    fsim_json_text(out, ", ", "fusesim", *f->version ? f->version : NULL);
    fsim_json_text(out, ", ", "device", *f->device ? f->device : NULL);
    putc('}', out);
}

void fsim_json_rows_diff(FILE *out, const fsim_shown_rows_diff *s)
{
    const fsim_rows_diff *x = s->x;
    char digits[2][FSIM_SUM_DIGITS];
    fsim_json_text(out, "{", "kind", fsim_rows_kind_names[x->before->kind]);
    put_file(out, ",\n ", "before", x->before);
    put_file(out, ",\n ", "after", x->after);
    fprintf(out, ",\n \"compared\": %d, \"before_fs\": %s, \"after_fs\": %s", x->compared,
            fsim_sum_digits(digits[0], x->before_fs), fsim_sum_digits(digits[1], x->after_fs));
    fsim_json_number(out, ", ", "error_before", x->error_before);
    fsim_json_number(out, ", ", "error_after", x->error_after);
    fputs(",\n \"rows\": [", out);
    for (int i = 0; i < x->rows; i++) {
        const fsim_row_diff *r = &x->row[i];
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "key", (r->before ? r->before : r->after)->key);
        fsim_json_text(out, ", ", "group", (r->before ? r->before : r->after)->group);
        fsim_json_text(out, ", ", "verdict", fsim_row_verdict_names[r->verdict]);
        fsim_json_number(out, ", ", "growth", r->growth);
        fsim_json_bool(out, ", ", "chosen", r->chosen);
        fsim_json_bool(out, ", ", "other_kernels", r->other_kernels);
        put_side(out, "before", r->before);
        put_side(out, "after", r->after);
        putc('}', out);
    }
    putc(']', out);
    fsim_json_gates(out, s->judged.at, s->judged.count);
    fputs("}\n", out);
}

void fsim_junit_rows_diff(FILE *out, const fsim_shown_rows_diff *s)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_rows_diff *x = s->x;
    int cases = s->judged.count, skipped = 0;
    for (int i = 0; i < x->rows; i++) {
        cases += x->row[i].chosen;
        skipped += x->row[i].chosen && isnan(x->row[i].growth);
    }
    fsim_junit_begin(out, cases, fsim_gates_failed(s->judged.at, s->judged.count), skipped);
    fsim_junit_gates(out, "", s->judged.at, s->judged.count);
    for (int i = 0; i < x->rows; i++) {
        const fsim_row_diff *r = &x->row[i];
        const char *key = (r->before ? r->before : r->after)->key;
        if (!r->chosen)
            continue;
        if (isnan(r->growth))
            fsim_junit_skipped(out, "fusesim.diff", key, *note_of(r, a) ? note_of(r, a) : "it has no time");
        else
            fsim_junit_case(out, "fusesim.diff", key, NULL,
                            fsim_printf(a, "%s -> %s, %s, %s", fsim_seconds_text(a, time_of(r->before)),
                                        fsim_seconds_text(a, time_of(r->after)), growth_text(r->growth, a),
                                        verdict_text(r)));
    }
    fsim_junit_end(out);
    fsim_arena_free(a);
}

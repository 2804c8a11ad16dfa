/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sweep.h"

#include "base/names.h"
#include "input/csv.h"
#include "report/describe.h"
#include "report/json_stream.h"
#include "report/text_parts.h"
#include <math.h>
#include <string.h>

enum { AFTER_AXES = 9 };

/* Does an axis say the strategy? */
static bool varies_strategy(const fsim_sweep *x)
{
    for (int i = 0; i < x->grid.axes; i++)
        if (x->grid.axis[i].kind == FSIM_OVER_STRATEGY)
            return true;
    return false;
}

static void fill(const fsim_sweep_point *p, const char **cell, fsim_arena *a)
{
    if (!p->planned) {
        cell[0] = p->reason ? "no plan" : "not reached";
        return;
    }
    cell[0] = fsim_seconds_text(a, p->time_s);
    cell[1] = fsim_text_spread(a, p->likely, p->time_s);
    cell[2] = fsim_seconds_text(a, p->eager_s);
    cell[3] = fsim_times_text(a, p->speedup);
    cell[4] = fsim_printf(a, "%d", p->kernels);
    cell[5] = fsim_bytes_text(a, (double)(p->read_bytes + p->write_bytes));
    cell[6] = fsim_printf(a, "%s%s", fsim_bytes_text(a, (double)p->peak_bytes), p->fits ? "" : " (!)");
    cell[7] = fsim_printf(a, "%d", p->plan);
    cell[8] = p->strategy != FSIM_STRATEGY_OPTIMAL ? "-" : p->proven ? "proven" : fsim_percent_text(a, p->gap);
}

/* The reasons why points have no plan, each once, with its count. */
static void put_reasons(const fsim_page *page, const fsim_sweep *x, fsim_arena *a)
{
    fsim_names seen = {0};
    int *count = fsim_new(a, int, x->points + 1), kinds = 0, left = 0;
    const char **reason = fsim_new(a, const char *, x->points + 1);
    for (int i = 0; i < x->points; i++) {
        const char *why = x->point[i].reason;
        left += !why && !x->point[i].planned;
        if (!why)
            continue;
        int at = fsim_names_get(&seen, why);
        if (at < 0) {
            fsim_names_set(a, &seen, why, at = kinds);
            reason[kinds++] = why;
        }
        count[at]++;
    }
    for (int i = 0; i < kinds; i++)
        fsim_paragraph(page, FSIM_BAD, 0, 2,
                       fsim_printf(a, "No plan at %s: %s", fsim_text_count(a, count[i], "point"), reason[i]));
    if (left)
        fsim_paragraph(page, FSIM_BAD, 0, 2,
                       fsim_printf(a, "Ended at %s.", fsim_text_count(a, x->points - left, "point")));
}

/* Does the axis vary with that of --find, or is it that one? */
static bool is_sought(const fsim_sweep *x, int axis) { return x->grid.axis[axis].along == x->grid.axis[x->find].along; }

/* "S=512, launch=graph on l4": where, but for the axis of --find. */
static const char *place_text(const fsim_sweep *x, int i, fsim_arena *a)
{
    const char *text = "";
    for (int k = 0; k < x->grid.axes; k++)
        if (!is_sought(x, k))
            text = fsim_printf(a, "%s%s%s=%s", text, *text ? ", " : "", x->grid.axis[k].name, x->point[i].value[k]);
    if (x->gpus > 1 || !*text)
        text = fsim_printf(a, "%s%s%s", text, *text ? " on " : "", x->point[i].hw);
    return text;
}

/* "l4: B=16 is the last that meets the limits, ...": what --find found. */
static const char *found_text(const fsim_sweep *x, const fsim_sweep_found *f, fsim_arena *a)
{
    const char *name = x->grid.axis[x->find].name;
    const char *next = f->next < 0 ? ""
                       : f->broken ? fsim_printf(a, "; at %s: %s", x->point[f->next].value[x->find], f->broken->says)
                                   : fsim_printf(a, "; at %s there is no plan", x->point[f->next].value[x->find]);
    const char *what =
        f->meeting == 0           ? fsim_printf(a, "no value of %s meets the limits", name)
        : f->meeting == f->values ? fsim_printf(a, "all values of %s meet the limits", name)
        : f->meeting == 1
            ? fsim_printf(a, "only %s=%s meets the limits, of %d values", name, x->point[f->last].value[x->find],
                          f->values)
            : fsim_printf(a, "%s=%s is the last that meets the limits, %s the first; %d of %d do", name,
                          x->point[f->last].value[x->find], x->point[f->first].value[x->find], f->meeting, f->values);
    return fsim_printf(a, "%s: %s%s", place_text(x, f->meeting ? f->first : f->next, a), what, next);
}

static void put_found(const fsim_page *page, const fsim_sweep *x, fsim_arena *a)
{
    for (int i = 0; i < x->founds; i++)
        fsim_paragraph(page, x->found[i].meeting ? FSIM_STRONG : FSIM_BAD, 0, 2, found_text(x, &x->found[i], a));
}

/* "B=1, S=128 on l4": where point i is. */
static const char *point_text(const fsim_sweep *x, int i, fsim_arena *a)
{
    const char *text = "";
    for (int k = 0; k < x->grid.axes; k++)
        text = fsim_printf(a, "%s%s%s=%s", text, k ? ", " : "", x->grid.axis[k].name, x->point[i].value[k]);
    return x->gpus > 1 ? fsim_printf(a, "%s on %s", text, x->point[i].hw) : text;
}

/* Of a table that is not whole: what it leaves out, and between which times all points are. */
static void put_rest(const fsim_page *page, const fsim_sweep *x, int shown, fsim_arena *a)
{
    int least = -1, most = -1;
    for (int i = 0; i < x->points; i++) {
        if (!x->point[i].planned)
            continue;
        least = least < 0 || x->point[i].time_s < x->point[least].time_s ? i : least;
        most = most < 0 || x->point[i].time_s > x->point[most].time_s ? i : most;
    }
    fsim_paragraph(
        page, FSIM_FAINT, 2, 4,
        fsim_printf(a, "and %s (--verbose; -o FILE.csv has all)", fsim_text_count(a, x->points - shown, "more point")));
    if (least >= 0)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "Of all, the least is %s at %s, the most %s at %s.",
                                   fsim_seconds_text(a, x->point[least].time_s), point_text(x, least, a),
                                   fsim_seconds_text(a, x->point[most].time_s), point_text(x, most, a)));
}

void fsim_report_sweep(const fsim_page *page, const fsim_sweep *x, bool verbose)
{
    enum { MOST = 60 };
    static const fsim_column after[AFTER_AXES] = {
        {.title = "time"},
        {.title = "+-", .legend = "holds eight of ten measured times", .drop = 3},
        {.title = "eager", .legend = "each operator alone, with PyTorch's kernels", .drop = 5},
        {.title = "speedup", .legend = "eager's time over this one"},
        {.title = "kernels", .drop = 1},
        {.title = "DRAM", .legend = "bytes read and written there", .drop = 4},
        {.title = "memory", .legend = "needed at the peak; (!) where the GPU has less", .drop = 6},
        {.title = "plan",
         .legend = "rows with the same number have the same kernels, each of the same primitives",
         .drop = 2},
        {.title = "gap", .legend = "what a better plan could save at most", .drop = 7}};
    fsim_arena *a = fsim_arena_new();
    fsim_column *column = fsim_new(a, fsim_column, x->grid.axes + 1 + AFTER_AXES);
    const int gpu = x->gpus > 1;
    for (int i = 0; i < x->grid.axes; i++)
        column[i].title = x->grid.axis[i].name;
    if (gpu)
        column[x->grid.axes] = (fsim_column){.title = "GPU", .left = true};
    memcpy(column + x->grid.axes + gpu, after, sizeof after);
    fsim_table t = fsim_table_new(a, column, x->grid.axes + gpu + AFTER_AXES);
    const int shown = verbose || x->points <= MOST ? x->points : MOST;
    for (int i = 0; i < shown; i++) {
        const fsim_sweep_point *p = &x->point[i];
        const char **cell = fsim_table_row(&t, !p->planned ? FSIM_FAINT : p->fits ? FSIM_PLAIN : FSIM_BAD);
        for (int k = 0; k < x->grid.axes; k++)
            cell[k] = p->value[k];
        if (gpu)
            cell[x->grid.axes] = p->hw;
        fill(p, cell + x->grid.axes + gpu, a);
    }
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "%s%s%s", fsim_sweep_line(x, a), varies_strategy(x) ? "" : ", the plan of ",
                               varies_strategy(x) ? "" : fsim_strategy_names[x->strategy]));
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 2);
    if (shown < x->points)
        put_rest(page, x, shown, a);
    put_reasons(page, x, a);
    put_found(page, x, a);
    if (x->written) {
        putc('\n', page->out);
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "Written to %s%s.", x->written,
                                   x->shards > 1 ? ", for 'fusesim merge' with the other shards" : ""));
    }
    fsim_arena_free(a);
}

const char *fsim_sweep_line(const fsim_sweep *x, fsim_arena *a)
{
    double low = INFINITY, high = 0;
    int without = 0; /* with a reason, but no plan */
    for (int i = 0; i < x->points; i++) {
        without += x->point[i].reason != NULL;
        if (x->point[i].planned) {
            low = fmin(low, x->point[i].speedup);
            high = fmax(high, x->point[i].speedup);
        }
    }
    const char *head = fsim_printf(
        a, "%s%s%s: %s%s, %s", x->workload, x->gpus == 1 ? fsim_printf(a, " on %s", x->gpu[0]) : "",
        x->shards > 1 ? fsim_printf(a, ", shard %d/%d", x->shard, x->shards) : "",
        fsim_text_count(a, x->points, "point"), without ? fsim_printf(a, ", %d without a plan", without) : "",
        fsim_text_count(a, x->plans, "distinct plan"));
    return low <= high ? fsim_printf(a, "%s, %s to %s eager", head, fsim_times_text(a, low), fsim_times_text(a, high))
                       : head;
}

const char *fsim_sweep_lines(const fsim_sweep *x, fsim_arena *a)
{
    const char *text = fsim_sweep_line(x, a);
    for (int i = 0; i < x->founds; i++)
        text = fsim_printf(a, "%s\n%s", text, found_text(x, &x->found[i], a));
    return text;
}

static void put_point(FILE *out, const fsim_sweep *x, const fsim_sweep_point *p)
{
    fputs("{\"at\": {", out);
    for (int k = 0; k < x->grid.axes; k++)
        fsim_json_text(out, k ? ", " : "", x->grid.axis[k].name, p->value[k]);
    fsim_json_text(out, "}, ", "hardware", p->hw);
    fsim_json_text(out, ", ", "reason", p->reason);
    if (p->planned) {
        char digits[FSIM_SUM_DIGITS];
        fsim_json_number(out, ", ", "time_s", p->time_s);
        fsim_json_number(out, ", ", "time_low_s", p->likely.low);
        fsim_json_number(out, ", ", "time_high_s", p->likely.high);
        fsim_json_number(out, ", ", "eager_s", p->eager_s);
        fsim_json_number(out, ", ", "speedup", p->speedup);
        fprintf(out, ", \"kernels\": %d", p->kernels);
        fprintf(out, ", \"dram_read_bytes\": %s", fsim_sum_digits(digits, p->read_bytes));
        fprintf(out, ", \"dram_write_bytes\": %s", fsim_sum_digits(digits, p->write_bytes));
        fprintf(out, ", \"peak_memory_bytes\": %s", fsim_sum_digits(digits, p->peak_bytes));
        fsim_json_bool(out, ", ", "fits", p->fits);
        if (p->strategy == FSIM_STRATEGY_OPTIMAL) {
            fsim_json_bool(out, ", ", "proven", p->proven);
            fsim_json_number(out, ", ", "gap", p->gap);
        }
        fprintf(out, ", \"plan\": %d", p->plan);
    }
    putc('}', out);
}

static void put_found_json(FILE *out, const fsim_sweep *x, const fsim_sweep_found *f, const char *before)
{
    const int at = f->meeting ? f->first : f->next;
    fprintf(out, "%s{\"at\": {", before);
    for (int k = 0, n = 0; k < x->grid.axes; k++)
        if (!is_sought(x, k))
            fsim_json_text(out, n++ ? ", " : "", x->grid.axis[k].name, x->point[at].value[k]);
    fsim_json_text(out, "}, ", "hardware", x->point[at].hw);
    fsim_json_text(out, ", ", "axis", x->grid.axis[x->find].name);
    fsim_json_text(out, ", ", "first", f->meeting ? x->point[f->first].value[x->find] : NULL);
    fsim_json_text(out, ", ", "last", f->meeting ? x->point[f->last].value[x->find] : NULL);
    fprintf(out, ", \"meeting\": %d, \"values\": %d", f->meeting, f->values);
    fsim_json_text(out, ", ", "next", f->next < 0 ? NULL : x->point[f->next].value[x->find]);
    fsim_json_text(out, ", ", "violates", f->broken ? fsim_gate_metric_of(f->broken)->name : NULL);
    fsim_json_number(out, ", ", "value", f->broken ? f->broken->value : NAN);
    putc('}', out);
}

void fsim_json_sweep(FILE *out, const fsim_sweep *x)
{
    fsim_json_text(out, "{", "workload", x->workload);
    fsim_json_text(out, ", ", "strategy", varies_strategy(x) ? NULL : fsim_strategy_names[x->strategy]);
    fputs(",\n \"axes\": [", out);
    for (int i = 0; i < x->grid.axes; i++) {
        fsim_json_text(out, i ? ", {" : "{", "name", x->grid.axis[i].name);
        fputs(", \"values\": [", out);
        for (int k = 0; k < x->grid.axis[i].values; k++) {
            fputs(k ? ", " : "", out);
            fsim_json_string(out, x->grid.axis[i].value[k]);
        }
        fprintf(out, "], \"along\": %d}", x->grid.axis[i].along);
    }
    fputs("],\n \"found\": [", out);
    for (int i = 0; i < x->founds; i++)
        put_found_json(out, x, &x->found[i], i ? ",\n  " : "\n  ");
    fprintf(out, "],\n \"plans\": %d", x->plans);
    fsim_json_bool(out, ", ", "interrupted", x->interrupted);
    fputs(",\n \"points\": [", out);
    for (int i = 0; i < x->points; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_point(out, x, &x->point[i]);
    }
    fputs("]}\n", out);
}

void fsim_json_lines_sweep(FILE *out, const fsim_sweep *x)
{
    for (int i = 0; i < x->points; i++) {
        put_point(out, x, &x->point[i]);
        putc('\n', out);
    }
}

static void put_fields(FILE *out, const fsim_sweep_point *p)
{
    char digits[4][40], sums[3][FSIM_SUM_DIGITS];
    if (!p->planned) {
        fputs(",,,,,,,,,,,,,", out);
        fsim_csv_put(out, p->reason ? p->reason : "not reached");
        putc('\n', out);
        return;
    }
    fprintf(out, ",%s,%s,%s,%s,", fsim_json_digits(digits[0], p->time_s), fsim_json_digits(digits[1], p->likely.low),
            fsim_json_digits(digits[2], p->likely.high), fsim_json_digits(digits[3], p->eager_s));
    fprintf(out, "%s,%d,%s,%s,%s,%s,", fsim_json_digits(digits[0], p->speedup), p->kernels,
            fsim_sum_digits(sums[0], p->read_bytes), fsim_sum_digits(sums[1], p->write_bytes),
            fsim_sum_digits(sums[2], p->peak_bytes), p->fits ? "yes" : "no");
    if (p->strategy == FSIM_STRATEGY_OPTIMAL)
        fprintf(out, "%s,%s", p->proven ? "yes" : "no", fsim_json_digits(digits[1], p->gap));
    else
        putc(',', out);
    fprintf(out, ",%d,\n", p->plan);
}

void fsim_csv_sweep(FILE *out, const fsim_sweep *x)
{
    for (int i = 0; i < x->grid.axes; i++) {
        fsim_csv_put(out, x->grid.axis[i].name);
        putc(',', out);
    }
    fputs("hardware,time_s,time_low_s,time_high_s,eager_s,speedup,kernels,dram_read_bytes,dram_write_bytes,"
          "peak_memory_bytes,fits,proven,gap,plan,reason\n",
          out);
    for (int i = 0; i < x->points; i++) {
        for (int k = 0; k < x->grid.axes; k++) {
            fsim_csv_put(out, x->point[i].value[k]);
            putc(',', out);
        }
        fsim_csv_put(out, x->point[i].hw);
        put_fields(out, &x->point[i]);
    }
}

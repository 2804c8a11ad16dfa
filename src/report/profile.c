/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile.h"

#include "report/describe.h"
#include "report/json_stream.h"
#include <math.h>

enum { MOST_SHOWN = 20 };

static const char *plural(int n) { return n == 1 ? "" : "s"; }

static const char *time_text(fsim_arena *a, double seconds)
{
    return isfinite(seconds) ? fsim_seconds_text(a, seconds) : "-";
}

static const char *bytes_text(fsim_arena *a, const fsim_matched *m)
{
    const double bytes = m->dram_read_bytes + m->dram_write_bytes;
    return isfinite(bytes) ? fsim_bytes_text(a, bytes) : "-";
}

static void print_head(const fsim_page *page, const fsim_import *x)
{
    const fsim_profile *p = x->profile;
    const fsim_steps *s = &x->steps;
    fprintf(page->out, "%s: %s%s%s, %d launch%s", p->path, p->format->what, p->device_name ? " on " : "",
            p->device_name ? p->device_name : "", p->launches, p->launches == 1 ? "" : "es");
    if (s->repeats > 1)
        fprintf(page->out, "; %d steps of %d kernel%s (%s), medians of them", s->repeats, s->launches,
                plural(s->launches), s->marked ? "as the profiler marks them" : "by what repeats");
    else
        fprintf(page->out, "; one step of %d kernel%s: nothing repeats", s->launches, plural(s->launches));
    fputs("\n", page->out);
}

static void print_matched(const fsim_page *page, const fsim_import *x, fsim_arena *a)
{
    enum { NUMBER, PRIMITIVES, LAUNCHED, MEASURED, PREDICTED, ERROR, BYTES, COLUMNS };
    const fsim_column column[COLUMNS] = {{.title = "#"},
                                         {.title = "primitives", .left = true, .shrinks = true},
                                         {.title = "launched", .left = true, .shrinks = true},
                                         {.title = "measured"},
                                         {.title = "predicted"},
                                         {.title = "error", .drop = 1},
                                         {.title = "DRAM", .drop = 2}};
    fsim_table t = fsim_table_new(a, column, COLUMNS);
    for (int i = 0; i < x->matches; i++) {
        const fsim_matched *m = &x->matched[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[NUMBER] = fsim_printf(a, "%d", m->kernel + 1);
        cell[PRIMITIVES] = m->primitives;
        cell[LAUNCHED] = m->launched;
        cell[MEASURED] = time_text(a, m->time_s);
        cell[PREDICTED] = time_text(a, m->predicted_s);
        cell[ERROR] = m->time_s > 0 ? fsim_printf(a, "%+.1f%%", (m->predicted_s / m->time_s - 1) * 100) : "-";
        cell[BYTES] = bytes_text(a, m);
    }
    if (x->matches > 0) {
        putc('\n', page->out);
        fsim_table_print(page, &t, 0);
    }
}

static void print_whole(const fsim_page *page, const fsim_import *x, fsim_arena *a)
{
    fprintf(page->out, "\na step: %s of kernels, %s of them matched, %s predicted", time_text(a, x->step_s),
            time_text(a, x->matched_s), time_text(a, x->predicted_s));
    if (isfinite(x->span_s))
        fprintf(page->out, "; %s from its first start to its last end", time_text(a, x->span_s));
    putc('\n', page->out);
    if (x->not_whole)
        fprintf(page->out, "no row for the whole: %s\n", x->not_whole);
    if (x->withheld > 0)
        fprintf(page->out, "no row for %d kernel%s matched by name and order alone\n", x->withheld,
                plural(x->withheld));
    for (int i = 0; i < x->missings; i++)
        fprintf(page->out, "%s%s%s", i ? ", " : "nothing was matched to: ", x->missing[i],
                i + 1 == x->missings ? "\n" : "");
}

static void print_left(const fsim_page *page, const fsim_import *x, bool all, fsim_arena *a)
{
    enum { KERNEL, OPERATOR, CALLS, TIME, SHARE, WHY, COLUMNS };
    const fsim_column column[COLUMNS] = {{.title = "not matched", .left = true, .shrinks = true},
                                         {.title = "operator", .left = true, .drop = 2},
                                         {.title = "calls"},
                                         {.title = "total"},
                                         {.title = "share", .drop = 1},
                                         {.title = "why", .left = true, .shrinks = true}};
    fsim_table t = fsim_table_new(a, column, COLUMNS);
    const int shown = all || x->lefts < MOST_SHOWN ? x->lefts : MOST_SHOWN;
    for (int i = 0; i < shown; i++) {
        const fsim_left *l = &x->left[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[KERNEL] = l->name;
        cell[OPERATOR] = l->operator? l->operator: "-";
        cell[CALLS] = fsim_printf(a, "%d", l->calls);
        cell[TIME] = time_text(a, l->time_s);
        cell[SHARE] = x->total_s > 0 ? fsim_percent_text(a, l->time_s / x->total_s) : "-";
        cell[WHY] = l->why;
    }
    if (shown == 0)
        return;
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    if (shown < x->lefts)
        fprintf(page->out, "... and %d more (--verbose lists all)\n", x->lefts - shown);
}

static void print_list(const fsim_page *page, const fsim_import *x, bool all, fsim_arena *a)
{
    enum { KERNEL, CALLS, MEDIAN, SHARE, BYTES, COLUMNS };
    const fsim_column column[COLUMNS] = {{.title = "kernel", .left = true, .shrinks = true},
                                         {.title = "calls"},
                                         {.title = "median"},
                                         {.title = "share"},
                                         {.title = "DRAM", .drop = 1}};
    fsim_table t = fsim_table_new(a, column, COLUMNS);
    const int shown = all || x->matches < MOST_SHOWN ? x->matches : MOST_SHOWN;
    for (int i = 0; i < shown; i++) {
        const fsim_matched *m = &x->matched[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[KERNEL] = m->launched;
        cell[CALLS] = fsim_printf(a, "%d", m->launches);
        cell[MEDIAN] = time_text(a, m->time_s);
        cell[SHARE] =
            x->total_s > 0 && isfinite(m->time_s) ? fsim_percent_text(a, m->time_s * m->launches / x->total_s) : "-";
        cell[BYTES] = bytes_text(a, m);
    }
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    if (shown < x->matches)
        fprintf(page->out, "... and %d more (--verbose lists all)\n", x->matches - shown);
    fputs("\nnothing is matched without a workload: fusesim import --measurements FILE WORKLOAD --hw HW\n", page->out);
}

void fsim_report_import(const fsim_page *page, const fsim_import *x, bool all)
{
    fsim_arena *a = fsim_arena_new();
    print_head(page, x);
    if (x->plan) {
        print_matched(page, x, a);
        print_whole(page, x, a);
        print_left(page, x, all, a);
    } else {
        print_list(page, x, all, a);
    }
    fsim_arena_free(a);
}

void fsim_json_import(FILE *out, const fsim_import *x)
{
    const fsim_steps *s = &x->steps;
    fputs("{\"schema\": 1,\n ", out);
    fsim_json_text(out, "", "file", x->profile->path);
    fsim_json_text(out, ", ", "tool", x->profile->format->id);
    fsim_json_text(out, ", ", "device", x->profile->device_name);
    fprintf(out, ", \"launches\": %d,\n \"steps\": {\"repeats\": %d, \"launches\": %d, \"before\": %d, \"behind\": %d",
            x->profile->launches, s->repeats, s->launches, s->before, s->behind);
    fsim_json_bool(out, ", ", "marked", s->marked);
    fsim_json_number(out, "},\n ", "total_s", x->total_s);
    fsim_json_number(out, ", ", "step_s", x->step_s);
    fsim_json_number(out, ", ", "span_s", x->span_s);
    fsim_json_number(out, ", ", "matched_s", x->plan ? x->matched_s : (double)NAN);
    fsim_json_number(out, ", ", "predicted_s", x->predicted_s);
    fsim_json_text(out, ", ", "not_whole", x->not_whole);
    fputs(",\n \"kernels\": [", out);
    for (int i = 0; i < x->matches; i++) {
        const fsim_matched *m = &x->matched[i];
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "launched", m->launched);
        fsim_json_text(out, ", ", "primitives", x->plan ? m->primitives : NULL);
        fprintf(out, ", \"launches\": %d", m->launches);
        if (x->plan)
            fsim_json_bool(out, ", ", "sized", m->sized);
        fsim_json_number(out, ", ", "measured_s", m->time_s);
        fsim_json_number(out, ", ", "predicted_s", m->predicted_s);
        fsim_json_number(out, ", ", "dram_read_bytes", m->dram_read_bytes);
        fsim_json_number(out, ", ", "dram_write_bytes", m->dram_write_bytes);
        putc('}', out);
    }
    fputs("],\n \"missing\": [", out);
    for (int i = 0; i < x->missings; i++) {
        fputs(i ? ", " : "", out);
        fsim_json_string(out, x->missing[i]);
    }
    fputs("],\n \"left\": [", out);
    for (int i = 0; i < x->lefts; i++) {
        const fsim_left *l = &x->left[i];
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "kernel", l->name);
        fsim_json_text(out, ", ", "operator", l->operator);
        fprintf(out, ", \"calls\": %d", l->calls);
        fsim_json_number(out, ", ", "total_s", l->time_s);
        fsim_json_text(out, ", ", "why", l->why);
        putc('}', out);
    }
    fputs("]}\n", out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include "report/describe.h"
#include "report/gate.h"
#include "report/text_parts.h"
#include <math.h>
#include <string.h>

enum { SHOWN_PARTS = 20, SHOWN_INPUTS = 12 };

static double seconds(fsim_sum fs) { return (double)fs / FSIM_FS_PER_S; }

/* "+29.9 us", "-3 us", "0 ns" */
static const char *change_text(fsim_arena *a, fsim_sum fs)
{
    return fs == 0 ? "0" : fsim_printf(a, "%s%s", fs < 0 ? "-" : "+", fsim_seconds_text(a, seconds(fs < 0 ? -fs : fs)));
}

static const char *bytes_change_text(fsim_arena *a, fsim_sum bytes)
{
    return bytes == 0 ? "0"
                      : fsim_printf(a, "%s%s", bytes < 0 ? "-" : "+",
                                    fsim_bytes_text(a, (double)(bytes < 0 ? -bytes : bytes)));
}

/* "+6.6%"; "-" where there is no change, or nothing before. */
static const char *share_text(fsim_arena *a, const fsim_diff_sum *s)
{
    const double share = s->before_fs == 0 ? 0 : (double)(s->after_fs - s->before_fs) / (double)s->before_fs;
    return share == 0             ? "-"
           : fabs(share) < 0.0005 ? fsim_printf(a, "%s0.1%%", share < 0 ? "above -" : "below +")
                                  : fsim_printf(a, "%+.1f%%", 100 * share);
}

static const char *why_text(unsigned causes, fsim_arena *a)
{
    return causes == 0                    ? "(no change)"
           : (causes & (causes - 1)) == 0 ? fsim_diff_causes_text(causes, a)
                                          : fsim_printf(a, "mixed: %s", fsim_diff_causes_text(causes, a));
}

/* The operator of the workload whose primitive `name` is: "h" for "h/matmul". */
static const char *operator_of(const fsim_filed_kernel *k, const char *name)
{
    const char *best = name;
    size_t longest = 0;
    for (int i = 0; i < k->sources; i++) {
        const size_t length = strlen(k->source[i]);
        if (length >= longest && strncmp(k->source[i], name, length) == 0 && (name[length] == '/' || !name[length])) {
            best = k->source[i];
            longest = length;
        }
    }
    return best;
}

/* Is an operator in several of the kernels? Then its primitives are named. */
static bool is_cut(const fsim_filed_kernel *all, const int *kernel, int kernels, const char *operator)
{
    int found = 0;
    for (int i = 0; i < kernels; i++) {
        const fsim_filed_kernel *k = &all[kernel[i]];
        bool has = false;
        for (int n = 0; n < k->homes && !has; n++)
            has = strcmp(operator_of(k, k->home[n]), operator) == 0;
        found += has;
    }
    return found > 1;
}

/* "a + b | c" */
static const char *side_text(const fsim_plan_diff *x, const fsim_diff_part *part, bool after, fsim_arena *a)
{
    const fsim_filed_kernel *all = after ? x->after->kernel : x->before->kernel;
    const int *kernel = after ? part->after : part->before, kernels = after ? part->sum.after : part->sum.before;
    const char *text = "";
    for (int i = 0; i < kernels; i++) {
        const fsim_filed_kernel *k = &all[kernel[i]];
        const char *last = "", *between = i ? " | " : "";
        for (int n = 0; n < k->homes; n++) {
            const char *operator= operator_of(k, k->home[n]);
            const bool cut = is_cut(all, kernel, kernels, operator);
            const char *name = cut ? k->home[n] : operator;
            if (strcmp(name, last) != 0)
                text = fsim_printf(a, "%s%s%s", text, between, name);
            between = " + ";
            last = name;
        }
    }
    return text;
}

/* What a part does, by the workload's operators: "a + b -> a | b". In a. */
static const char *part_text(const fsim_plan_diff *x, const fsim_diff_part *part, fsim_arena *a)
{
    switch (part->kind) {
    case FSIM_PART_SAME:
        return side_text(x, part, true, a);
    case FSIM_PART_ADDED:
        return fsim_printf(a, "added: %s", side_text(x, part, true, a));
    case FSIM_PART_REMOVED:
        return fsim_printf(a, "removed: %s", side_text(x, part, false, a));
    default:
        return fsim_printf(a, "%s: %s -> %s", fsim_part_kind_names[part->kind], side_text(x, part, false, a),
                           side_text(x, part, true, a));
    }
}

/* "hardware: dram_bandwidth: 236.4 GB/s -> 118.2 GB/s" */
static const char *input_text(const fsim_diff_input *in, fsim_arena *a)
{
    const char *cause = fsim_diff_cause_names[in->cause];
    return fsim_printf(a, "%s%s: %s -> %s", strcmp(cause, in->what) == 0 ? "" : fsim_printf(a, "%s: ", cause), in->what,
                       in->before ? in->before : "none", in->after ? in->after : "none");
}

/* "kernels: 1 split, 2 merged" */
static const char *kinds_text(const fsim_plan_diff *x, fsim_arena *a)
{
    const char *text = "";
    for (int k = 1; k < FSIM_PART_KINDS; k++)
        if (x->kinds[k])
            text = fsim_printf(a, "%s%s%d %s", text, *text ? ", " : "", x->kinds[k], fsim_part_kind_names[k]);
    return *text ? fsim_printf(a, "kernels: %s", text) : "kernels: each computes what it did";
}

/* What changed, a line each: *count of them. */
static const char **changes(const fsim_plan_diff *x, bool verbose, int *count, fsim_arena *a)
{
    const int shown = verbose || x->inputs <= SHOWN_INPUTS ? x->inputs : SHOWN_INPUTS;
    const char **line = fsim_new(a, const char *, shown + 2);
    *count = 0;
    for (int i = 0; i < shown; i++)
        line[(*count)++] = input_text(&x->input[i], a);
    if (shown < x->inputs)
        line[(*count)++] =
            fsim_printf(a, "and %s; --verbose lists them", fsim_text_count(a, x->inputs - shown, "more change"));
    line[(*count)++] = kinds_text(x, a);
    return line;
}

static fsim_table causes_table(const fsim_plan_diff *x, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "why", .left = true, .shrinks = true, .least = 20},
        {.title = "kernels", .drop = FSIM_DROP_SOONEST},
        {.title = "before"},
        {.title = "after"},
        {.title = "change"},
        {.title = "", .drop = 1},
        {.title = "DRAM", .drop = FSIM_DROP_SOONEST + 1, .legend = "change of the bytes read and written there"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i <= x->sums; i++) {
        const fsim_diff_sum *s = i < x->sums ? &x->sum[i] : &x->total;
        const char **cell = fsim_table_row(&t, i == x->sums ? FSIM_STRONG : s->causes ? FSIM_PLAIN : FSIM_FAINT);
        cell[0] = i == x->sums ? "all" : why_text(s->causes, a);
        cell[1] = fsim_printf(a, "%d -> %d", s->before, s->after);
        cell[2] = fsim_seconds_text(a, seconds(s->before_fs));
        cell[3] = fsim_seconds_text(a, seconds(s->after_fs));
        cell[4] = change_text(a, s->after_fs - s->before_fs);
        cell[5] = share_text(a, s);
        cell[6] = bytes_change_text(a, s->after_bytes - s->before_bytes);
    }
    return t;
}

/* Are two parts the same in another layer: equal times, causes and kind? */
static bool alike(const fsim_diff_part *a, const fsim_diff_part *b)
{
    return a->kind == b->kind && a->sum.causes == b->sum.causes && a->sum.before_fs == b->sum.before_fs &&
           a->sum.after_fs == b->sum.after_fs && a->sum.before == b->sum.before && a->sum.after == b->sum.after;
}

static void put_part(fsim_table *t, const fsim_plan_diff *x, int at, int times, fsim_arena *a)
{
    const fsim_diff_part *p = &x->part[at];
    const char **cell = fsim_table_row(t, FSIM_PLAIN);
    cell[0] = change_text(a, (p->sum.after_fs - p->sum.before_fs) * times);
    cell[1] = fsim_seconds_text(a, seconds(p->sum.before_fs * times));
    cell[2] = fsim_seconds_text(a, seconds(p->sum.after_fs * times));
    cell[3] = p->unit_fs == 0
                  ? "-"
                  : fsim_printf(a, "%s %s", fsim_unit_names[p->unit], change_text(a, (fsim_sum)(p->unit_fs * times)));
    cell[4] = fsim_diff_causes_text(p->sum.causes, a);
    cell[5] = times > 1 ? fsim_printf(a, "%s (and %d alike)", part_text(x, p, a), times - 1) : part_text(x, p, a);
}

/* The parts with the largest changes; *rest: a sentence on those that are left out, or "". */
static fsim_table parts_table(const fsim_plan_diff *x, bool verbose, const char **rest, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "change"},
                                         {.title = "before", .drop = 2},
                                         {.title = "after", .drop = 2},
                                         {.title = "mainly",
                                          .left = true,
                                          .drop = 3,
                                          .legend = "the unit whose part of the time changed most in that direction"},
                                         {.title = "why", .left = true, .drop = 1},
                                         {.title = "kernels", .left = true, .shrinks = true, .least = 24}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    fsim_sum change = 0;
    int at = 0, left = 0;
    for (int rows = 0; at < x->parts && (verbose || rows < SHOWN_PARTS); rows++) {
        if (x->part[at].kind == FSIM_PART_SAME && x->part[at].sum.before_fs == x->part[at].sum.after_fs)
            break;
        int times = 1;
        while (!verbose && at + times < x->parts && alike(&x->part[at], &x->part[at + times]))
            times++;
        put_part(&t, x, at, times, a);
        at += times;
    }
    for (; at < x->parts; at++) {
        change += x->part[at].sum.after_fs - x->part[at].sum.before_fs;
        left += x->part[at].sum.causes != 0;
    }
    *rest = left ? fsim_printf(a, "And %s, together %s; --verbose lists them.",
                               fsim_text_count(a, left, "smaller change"), change_text(a, change))
                 : "";
    return t;
}

/* "mlp on l4: 481 us -> 512 us, +6.6%" */
static const char *head(const fsim_plan_diff *x, fsim_arena *a)
{
    const fsim_sum before = x->total.before_fs, after = x->total.after_fs;
    const bool moved = strcmp(x->before->hardware, x->after->hardware) != 0;
    return fsim_printf(a, "%s on %s%s%s: %s -> %s, %s", x->after->workload, x->before->hardware, moved ? " -> " : "",
                       moved ? x->after->hardware : "", fsim_seconds_text(a, seconds(before)),
                       fsim_seconds_text(a, seconds(after)), after == before ? "no change" : share_text(a, &x->total));
}

static const char *only_text(const fsim_diff *x, int i, fsim_arena *a)
{
    const bool first = i < x->onlys_before;
    return fsim_printf(a, "Only %s has a plan for %s: it is compared with nothing.",
                       first ? x->before->path : x->after->path,
                       (first ? x->only_before[i] : x->only_after[i - x->onlys_before])->hardware);
}

static void put_plan(const fsim_page *page, const fsim_plan_diff *x, bool verbose, fsim_arena *a)
{
    int lines;
    const char **line = changes(x, verbose, &lines, a), *rest;
    fsim_paragraph(page, FSIM_STRONG, 0, 2, head(x, a));
    for (int i = 0; i < lines; i++)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4, line[i]);
    const fsim_table causes = causes_table(x, a), parts = parts_table(x, verbose, &rest, a);
    putc('\n', page->out);
    fsim_table_print(page, &causes, 2);
    fsim_table_legend(page, &causes, 4);
    if (parts.rows == 0)
        return;
    putc('\n', page->out);
    fsim_table_print(page, &parts, 2);
    fsim_table_legend(page, &parts, 4);
    if (*rest)
        fsim_paragraph(page, FSIM_FAINT, 2, 4, rest);
}

void fsim_report_diff(const fsim_page *page, const fsim_shown_diff *s, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_diff *x = s->x;
    const int onlys = x->onlys_before + x->onlys_after;
    for (int i = 0; i < x->count; i++) {
        if (i)
            putc('\n', page->out);
        put_plan(page, &x->at[i], verbose, a);
    }
    for (int i = 0; i < onlys; i++) {
        if (i == 0)
            putc('\n', page->out);
        fsim_paragraph(page, FSIM_BAD, 0, 2, only_text(x, i, a));
    }
    for (int i = 0; i < s->count; i++) {
        if (i == 0 && s->judged[i].gates.count)
            putc('\n', page->out);
        fsim_report_gates(page, fsim_shown_diff_gpu(s, i, a), s->judged[i].gates.at, s->judged[i].gates.count);
    }
    fsim_arena_free(a);
}

static void put_markdown(FILE *out, const fsim_plan_diff *x, bool verbose, fsim_arena *a)
{
    int lines;
    const char **line = changes(x, verbose, &lines, a), *rest;
    const fsim_table causes = causes_table(x, a), parts = parts_table(x, verbose, &rest, a);
    fputs("### ", out);
    fsim_markdown_text(out, head(x, a));
    fputs("\n\n", out);
    for (int i = 0; i < lines; i++) {
        fputs("- ", out);
        fsim_markdown_text(out, line[i]);
        putc('\n', out);
    }
    putc('\n', out);
    fsim_table_markdown(out, &causes);
    if (parts.rows > 0) {
        putc('\n', out);
        fsim_table_markdown(out, &parts);
    }
    if (*rest) {
        putc('\n', out);
        fsim_markdown_text(out, rest);
        putc('\n', out);
    }
}

void fsim_markdown_diff(FILE *out, const fsim_shown_diff *s, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_diff *x = s->x;
    for (int i = 0; i < x->count; i++) {
        if (i)
            putc('\n', out);
        put_markdown(out, &x->at[i], verbose, a);
    }
    for (int i = 0; i < x->onlys_before + x->onlys_after; i++) {
        putc('\n', out);
        fsim_markdown_text(out, only_text(x, i, a));
        putc('\n', out);
    }
    for (int i = 0; i < s->count; i++)
        fsim_markdown_gates(out, fsim_shown_diff_gpu(s, i, a), s->judged[i].gates.at, s->judged[i].gates.count);
    fsim_arena_free(a);
}

const char *fsim_diff_line(const fsim_plan_diff *x, fsim_arena *a)
{
    const char *why = "";
    for (int k = 0; k < x->sums; k++) {
        const fsim_diff_sum *s = &x->sum[k];
        if (s->causes)
            why = fsim_printf(a, "%s%s%s %s", why, *why ? ", " : ": ", fsim_diff_causes_text(s->causes, a),
                              change_text(a, s->after_fs - s->before_fs));
    }
    return fsim_printf(a, "%s%s", head(x, a), why);
}

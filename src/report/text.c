/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_parts.h"

#include "report/compile.h"
#include "report/named.h"
#include "report/report.h"
#include <math.h>

enum { WIDE = 100 };

fsim_text_page fsim_text_page_of(FILE *out, const fsim_prediction *p, const fsim_text_style *style, fsim_arena *a)
{
    return (fsim_text_page){.page = {out, style->width, style->color, fsim_utf8_locale()},
                            .a = a,
                            .p = p,
                            .g = p->graph,
                            .plan = &p->plan[p->chosen],
                            .repeats = style->verbose ? fsim_no_repeats(p->plan[p->chosen].kernels, a)
                                                      : fsim_repeats_of(p, p->chosen, a),
                            .verbose = style->verbose};
}

const char *fsim_text_count(fsim_arena *a, int count, const char *what)
{
    return fsim_printf(a, "%d %s%s", count, what, count == 1 ? "" : "s");
}

const char *fsim_text_hardware(const fsim_hw *hw) { return hw->description ? hw->description : hw->name; }

void fsim_text_title(const fsim_text_page *r, const char *text)
{
    fputc('\n', r->page.out);
    fsim_paragraph(&r->page, FSIM_STRONG, 0, 2, text);
}

/* A table, and what its heads mean. */
static void put_table(const fsim_text_page *r, const fsim_table *t, int indent)
{
    fsim_table_print(&r->page, t, indent);
    fsim_table_legend(&r->page, t, indent);
}

/* The same in Markdown. */
static void put_markdown(FILE *out, const fsim_table *t, fsim_arena *a)
{
    const char *legends = fsim_table_legends(t, a);
    fsim_table_markdown(out, t);
    if (*legends) {
        fputc('\n', out);
        fsim_markdown_text(out, legends);
        fputc('\n', out);
    }
}

/* What rows that stand for several kernels mean. */
static void put_repeats(const fsim_text_page *r)
{
    for (int i = 0; i < r->repeats.count; i++) {
        const bool last = i + 1 == r->repeats.count;
        fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4,
                       fsim_printf(r->a, "%s%s", fsim_text_repeat(r, &r->repeats.at[i]),
                                   last ? " --verbose lists every kernel." : ""));
    }
}

/* The fusions that have names: of models that were imported, of the plan that has them, and where everything is asked
 * for. */
static void put_named(const fsim_text_page *r)
{
    bool imported = false;
    for (int i = 0; i < r->g->sources; i++)
        imported = imported || r->g->source[i].from;
    const char *text = fsim_named_text(r->p, r->a);
    if (*text && (imported || r->verbose || r->p->chosen == FSIM_STRATEGY_PATTERN))
        fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, text);
}

/* A step of training by phase. */
static void put_training(const fsim_text_page *r)
{
    fsim_emphasis emphasis;
    if (r->g->derived != FSIM_REVERSE)
        return;
    fsim_text_title(r, fsim_printf(r->a, "phases of %s", fsim_strategy_names[r->p->chosen]));
    const fsim_table t = fsim_text_phases(r);
    put_table(r, &t, 2);
    const char *step = fsim_text_step(r);
    if (step)
        fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, step);
    fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, fsim_text_saved(r));
    const char *peak = fsim_text_peak(r, &emphasis);
    fsim_paragraph(&r->page, emphasis, 2, 4, peak);
    if (r->verbose) {
        fsim_text_title(r, "values that backward needs");
        const fsim_table values = fsim_text_saved_ways(r);
        put_table(r, &values, 2);
    }
}

/* Several GPUs. */
static void put_parallel(const fsim_text_page *r)
{
    if (r->p->options.replicas.gpus == 0)
        return;
    fsim_text_title(r, "data parallel, on GPUs of one node");
    const fsim_table t = fsim_text_parallel(r);
    put_table(r, &t, 2);
    fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, fsim_text_exchanges(r));
}

/* The same in Markdown. */
static void markdown_parallel(FILE *out, const fsim_text_page *r)
{
    if (r->p->options.replicas.gpus == 0)
        return;
    const fsim_table t = fsim_text_parallel(r);
    put_markdown(out, &t, r->a);
    fputc('\n', out);
    fsim_markdown_text(out, fsim_printf(r->a, "%s %s", fsim_text_parallel_verdict(r), fsim_text_exchanges(r)));
    fputs("\n\n", out);
}

/* The same in Markdown. */
static void markdown_training(FILE *out, const fsim_text_page *r)
{
    fsim_emphasis emphasis;
    if (r->g->derived != FSIM_REVERSE)
        return;
    const fsim_table t = fsim_text_phases(r);
    put_markdown(out, &t, r->a);
    fputc('\n', out);
    const char *step = fsim_text_step(r);
    fsim_markdown_text(out, fsim_printf(r->a, "%s%s%s %s", step ? step : "", step ? " " : "", fsim_text_saved(r),
                                        fsim_text_peak(r, &emphasis)));
    fputs("\n\n", out);
}

void fsim_report_text(FILE *out, const fsim_prediction *p, const fsim_text_style *style)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_text_page r = fsim_text_page_of(out, p, style, a);
    fsim_text_header(&r);
    fsim_text_verdict(&r);
    const char *parallel = fsim_text_parallel_verdict(&r), *host = fsim_text_host(p, a);
    if (parallel)
        fsim_paragraph(&r.page, FSIM_STRONG, 0, 0, parallel);
    if (*host)
        fsim_paragraph(&r.page, FSIM_PLAIN, 0, 0, host);
    fsim_text_next(&r);
    fputc('\n', out);
    fsim_table t = fsim_text_strategies(p, a);
    put_table(&r, &t, 2);
    put_parallel(&r);
    put_training(&r);
    fsim_text_title(&r, fsim_printf(a, "kernels of %s", fsim_strategy_names[p->chosen]));
    const bool wide = r.page.width == 0 || r.page.width >= WIDE;
    t = fsim_text_kernels(&r, wide ? FSIM_WIDE_TABLE : FSIM_NARROW_TABLE);
    put_table(&r, &t, 0);
    put_repeats(&r);
    put_named(&r);
    if (!r.verbose && fsim_table_cuts(&r.page, &t, 0))
        fsim_paragraph(&r.page, FSIM_FAINT, 2, 4, "Names that are cut are whole with --verbose, and in a pipe.");
    fsim_text_recomputed(&r);
    fsim_text_folded(&r);
    if (r.verbose)
        fsim_text_details(&r);
    fsim_text_losses(&r);
    if (p->tops > 0) {
        fsim_text_title(&r, fsim_printf(a, "the best %s", fsim_text_count(a, p->tops, "plan")));
        t = fsim_text_alternatives(&r);
        put_table(&r, &t, 2);
        if (p->top[0].priced)
            fsim_paragraph(&r.page, FSIM_FAINT, 2, 4, "Of plans that call a library the best alone is listed.");
    }
    if (p->fronts > 0) {
        fsim_text_title(&r, "time against memory: no plan found is better in both");
        t = fsim_text_front(&r);
        put_table(&r, &t, 2);
    }
    if (p->options.compile_jobs > 0) {
        fsim_text_title(&r, "fast compile or fast run");
        fsim_put_compile(&r.page, p, a);
    }
    fsim_text_refusals(&r);
    fputc('\n', out);
    fsim_text_left_out(&r);
    fsim_text_assumed(&r);
    fsim_arena_free(a);
}

void fsim_report_compare(FILE *out, const fsim_prediction *p, int count, const fsim_text_style *style)
{
    if (count < 1)
        return;
    fsim_arena *a = fsim_arena_new();
    const fsim_text_page r = fsim_text_page_of(out, p, style, a);
    const fsim_options *o = &p->options;
    fsim_paragraph(
        &r.page, FSIM_STRONG, 0, 2,
        fsim_printf(a, "%s on %s: %s", r.g->name, fsim_text_count(a, count, "GPU"), fsim_strategy_names[p->chosen]));
    fsim_paragraph(
        &r.page, FSIM_FAINT, 0, 2,
        fsim_printf(a, "%s, objective %s%s", fsim_text_counted(p, a), fsim_objective_name(o), fsim_text_limit(a, o)));
    fputc('\n', out);
    const fsim_table t = fsim_text_comparison(p, count, a);
    put_table(&r, &t, 0);
    for (int i = 0; i < count; i++)
        if (!fsim_plan_fits(&p[i], p[i].chosen))
            fsim_paragraph(&r.page, FSIM_BAD, 0, 2,
                           fsim_printf(a, "%s: does not fit: it needs %s.", p[i].hw->name,
                                       fsim_memory_text(&p[i], p[i].chosen, a)));
    for (int i = 0; i < count; i++) {
        const char *slow = fsim_text_slow_dtype(&p[i], p[i].hw->name, a);
        if (*slow)
            fsim_paragraph(&r.page, fsim_slow_dtype_matters(&p[i]) ? FSIM_BAD : FSIM_FAINT, 0, 2, slow);
        const char *host = fsim_text_host(&p[i], a);
        if (*host)
            fsim_paragraph(&r.page, FSIM_PLAIN, 0, 2, fsim_printf(a, "%s: %s", p[i].hw->name, host));
        if (i == 0 && *fsim_text_unaligned(&p[i], a))
            fsim_paragraph(&r.page, FSIM_BAD, 0, 2, fsim_text_unaligned(&p[i], a));
    }
    fsim_arena_free(a);
}

void fsim_report_markdown(FILE *out, const fsim_prediction *p, int count, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    if (count > 1) {
        const fsim_table t = fsim_text_comparison(p, count, a);
        put_markdown(out, &t, a);
        fputc('\n', out);
    }
    for (int i = 0; i < count; i++) {
        const fsim_text_style style = {.verbose = verbose};
        const fsim_text_page r = fsim_text_page_of(out, &p[i], &style, a);
        fsim_emphasis emphasis;
        fputs("### ", out);
        fsim_markdown_text(out, fsim_printf(a, "%s on %s", r.g->name, fsim_text_hardware(p[i].hw)));
        fputs("\n\n", out);
        const char *slow = fsim_text_slow_dtype(&p[i], "This GPU", a);
        if (!fsim_plan_fits(&p[i], p[i].chosen))
            fsim_markdown_text(out, fsim_printf(a, "Does not fit: %s needs %s.\n\n", fsim_strategy_names[p[i].chosen],
                                                fsim_memory_text(&p[i], p[i].chosen, a)));
        fsim_markdown_text(out, slow);
        fputs(*slow ? "\n\n" : "", out);
        const char *unaligned = fsim_text_unaligned(&p[i], a);
        fsim_markdown_text(out, unaligned);
        fputs(*unaligned ? "\n\n" : "", out);
        fsim_markdown_text(out, fsim_printf(a, "%s.", fsim_text_counted(&p[i], a)));
        fputs("\n\n", out);
        fsim_markdown_text(out, fsim_text_against_eager(&r, &emphasis));
        fputc(' ', out);
        fsim_markdown_text(out, fsim_printf(a, "%s takes %s, %s.", fsim_strategy_names[p[i].chosen],
                                            fsim_seconds_text(a, r.plan->time_s), fsim_text_how_sure(&r)));
        const char *host = fsim_text_host(&p[i], a);
        fputs(*host ? " " : "", out);
        fsim_markdown_text(out, host);
        fputs("\n\n", out);
        fsim_markdown_next(out, &p[i], a);
        fsim_table t = fsim_text_strategies(&p[i], a);
        put_markdown(out, &t, a);
        fputc('\n', out);
        markdown_parallel(out, &r);
        markdown_training(out, &r);
        t = fsim_text_kernels(&r, FSIM_MARKDOWN_TABLE);
        put_markdown(out, &t, a);
        for (int x = 0; x < r.repeats.count; x++) {
            fputs("\n", out);
            fsim_markdown_text(out, fsim_text_repeat(&r, &r.repeats.at[x]));
            fputs("\n", out);
        }
        if (p[i].tops > 0) {
            fputs("\nThe best plans:\n\n", out);
            t = fsim_text_alternatives(&r);
            put_markdown(out, &t, a);
        }
        if (p[i].fronts > 0) {
            fputs("\nTime against memory:\n\n", out);
            t = fsim_text_front(&r);
            put_markdown(out, &t, a);
        }
        if (p[i].options.compile_jobs > 0) {
            fputs("\nFast compile or fast run:\n\n", out);
            fsim_markdown_compile(out, &p[i], a);
        }
        fputs(i + 1 < count ? "\n" : "", out);
    }
    fsim_arena_free(a);
}

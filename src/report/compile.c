/* SPDX-License-Identifier: Apache-2.0 */
#include "report/compile.h"
#include "plan/compile_cost.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

/* "33,750"; "1.2 T" where that is long. */
static const char *runs_text(fsim_arena *a, double runs)
{
    if (!(runs < 1e9))
        return fsim_count_text(a, runs);
    const char *digits = fsim_printf(a, "%.0f", runs);
    char *out = fsim_new(a, char, 2 * strlen(digits) + 1), *to = out;
    for (size_t left = strlen(digits); left > 0; left--) {
        *to++ = *digits++;
        if (left > 1 && left % 3 == 1)
            *to++ = ',';
    }
    return out;
}

static const char *none_or(fsim_arena *a, double seconds) { return seconds > 0 ? fsim_seconds_text(a, seconds) : "-"; }

static fsim_table costs(const fsim_prediction *p, const fsim_compile *c, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "strategy", .left = true}, {.title = "kernels"},
                                         {.title = "to compile", .drop = 1},  {.title = "takes"},
                                         {.title = "time of a run"},          {.title = "runs to break even"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        if (!fsim_planned(p, (fsim_strategy)s))
            continue;
        const char **cell = fsim_table_row(&t, s == (int)p->chosen ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = fsim_strategy_names[s];
        cell[1] = fsim_printf(a, "%d", p->plan[s].kernels);
        cell[2] = fsim_printf(a, "%d", c[s].to_compile);
        cell[3] = none_or(a, c[s].compile_s);
        cell[4] = fsim_seconds_text(a, p->plan[s].time_s);
        cell[5] = s == FSIM_STRATEGY_EAGER         ? "-"
                  : isfinite(c[s].break_even_runs) ? runs_text(a, ceil(c[s].break_even_runs))
                                                   : "never";
    }
    return t;
}

static fsim_table totals(const fsim_prediction *p, const fsim_compile *c, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "runs"},
                                         {.title = "best", .left = true},
                                         {.title = "compile + runs"},
                                         {.title = "eager"},
                                         {.title = "optimal"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < FSIM_SOME_RUNS; i++) {
        static const fsim_strategy beside[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_OPTIMAL};
        const double n = fsim_some_runs[i];
        const fsim_strategy best = fsim_best_for(p->plan, c, n);
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = runs_text(a, n);
        cell[1] = fsim_strategy_names[best];
        cell[2] = fsim_seconds_text(a, fsim_total_s(&p->plan[best], &c[best], n));
        for (int k = 0; k < 2; k++)
            cell[3 + k] = fsim_planned(p, beside[k])
                              ? fsim_seconds_text(a, fsim_total_s(&p->plan[beside[k]], &c[beside[k]], n))
                              : NULL;
    }
    return t;
}

/* "eager is the best for up to 33,749 runs, optimal from then on." */
static const char *crossover(const fsim_prediction *p, const fsim_compile *c, fsim_arena *a)
{
    fsim_stage stage[FSIM_PLAN_COUNT];
    const int stages = fsim_stages_of(p->plan, c, stage);
    if (stages == 1)
        return fsim_printf(a, "%s is the best for any number of runs.", fsim_strategy_names[stage[0].strategy]);
    const char *text = "";
    for (int i = 0; i + 1 < stages; i++) {
        const double last = stage[i + 1].from_runs - 1;
        text = fsim_printf(a, "%s%s %s %s%s, ", text, fsim_strategy_names[stage[i].strategy],
                           i ? "up to" : "is the best for up to", runs_text(a, last),
                           i           ? ""
                           : last == 1 ? " run"
                                       : " runs");
    }
    return fsim_printf(a, "%s%s from then on.", text, fsim_strategy_names[stage[stages - 1].strategy]);
}

static const char *how_text(const fsim_options *o, fsim_arena *a)
{
    return fsim_printf(a,
                       "Each distinct kernel that neither the vendor's library nor a framework ships is compiled, %s. "
                       "Its seconds are an estimate: lines "
                       "fitted to NVRTC on one core. The search leaves them out: optimal has the fastest run.",
                       o->compile_jobs == 1 ? "one at a time" : fsim_printf(a, "%d at a time", o->compile_jobs));
}

fsim_compile_text fsim_compile_text_of(const fsim_prediction *p, fsim_arena *a)
{
    fsim_compile c[FSIM_PLAN_COUNT];
    fsim_compile_of(p->plan, p->options.compile_jobs, a, c);
    return (fsim_compile_text){costs(p, c, a), totals(p, c, a), crossover(p, c, a), how_text(&p->options, a)};
}

void fsim_put_compile(const fsim_page *page, const fsim_prediction *p, fsim_arena *a)
{
    const fsim_compile_text x = fsim_compile_text_of(p, a);
    fsim_table_print(page, &x.costs, 2);
    fputc('\n', page->out);
    fsim_table_print(page, &x.totals, 2);
    fsim_paragraph(page, FSIM_PLAIN, 0, 0, x.best);
    fsim_paragraph(page, FSIM_FAINT, 0, 0, x.how);
}

void fsim_markdown_compile(FILE *out, const fsim_prediction *p, fsim_arena *a)
{
    const fsim_compile_text x = fsim_compile_text_of(p, a);
    fsim_table_markdown(out, &x.costs);
    fputc('\n', out);
    fsim_table_markdown(out, &x.totals);
    fputc('\n', out);
    fsim_markdown_text(out, fsim_printf(a, "%s %s", x.best, x.how));
    fputc('\n', out);
}

void fsim_report_compile(FILE *out, const fsim_prediction *p, const fsim_text_style *style)
{
    if (p->options.compile_jobs == 0)
        return;
    fsim_arena *a = fsim_arena_new();
    const fsim_page page = {out, style->width, style->color, fsim_utf8_locale()};
    fputc('\n', out);
    fsim_paragraph(&page, FSIM_STRONG, 0, 2,
                   fsim_printf(a, "fast compile or fast run, on %s", p->hw->name ? p->hw->name : "this GPU"));
    fsim_put_compile(&page, p, a);
    fsim_arena_free(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

#include "plan/price/memory.h"
#include "report/compile.h"
#include "report/html_parts.h"
#include "report/html_text.h"
#include "report/layer.h"
#include "report/next.h"
#include "report/summary.h"
#include <math.h>
#include <string.h>

/* The layer of each kernel: the module that its operators have in common, or the turn of a repeat block. NULL: none has
 * one. */
static const char **layers_of(const fsim_text_page *r)
{
    const fsim_graph *g = r->g;
    const int levels = fsim_summary_of(g, 0, r->a).levels;
    const char **layer = fsim_new(r->a, const char *, r->plan->kernels + 1);
    bool any = false;
    for (int k = 0; k < r->plan->kernels; k++) {
        const fsim_group *group = r->plan->kernel[k].group;
        const char *path = fsim_kernel_layer(g, &r->plan->kernel[k], r->a);
        int number = 0;
        for (int m = 0; m < group->members && number == 0; m++)
            number = group->member[m].clone ? 0 : g->source[g->node[group->member[m].node].source].layer_number;
        layer[k] = path ? fsim_layer_head(r->a, path, levels) : number > 0 ? fsim_printf(r->a, "layer %d", number) : "";
        any = any || *layer[k];
    }
    return any ? layer : NULL;
}

static fsim_html_page page_of(FILE *out, const fsim_text_page *text, int gpu)
{
    int *home = fsim_new(text->a, int, text->g->nodes + 1);
    for (int n = 0; n < text->g->nodes; n++)
        home[n] = -1;
    for (int k = 0; k < text->plan->kernels; k++) {
        const fsim_group *group = text->plan->kernel[k].group;
        for (int m = 0; m < group->members; m++)
            if (!group->member[m].clone)
                home[group->member[m].node] = k;
    }
    return (fsim_html_page){.out = out,
                            .a = text->a,
                            .text = text,
                            .p = text->p,
                            .g = text->g,
                            .plan = text->plan,
                            .gpu = gpu,
                            .home = home,
                            .layer = layers_of(text),
                            .repeats = fsim_repeats_of(text->p, text->p->chosen, text->a)};
}

static void put_head(FILE *out, const char *title, fsim_arena *a)
{
    fsim_html(out,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
              "http-equiv=\"Content-Security-Policy\" "
              "content=\"default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; "
              "form-action 'none'\">\n",
              fsim_html_hash(a, fsim_html_style_text), fsim_html_hash(a, fsim_html_script_text));
    fsim_html(out,
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
              "content=\"light dark\">\n"
              "<meta name=\"generator\" content=\"fusesim %s\">\n<link rel=\"icon\" "
              "href=\"data:,\">\n<title>%s</title>\n<style>",
              FUSESIM_VERSION, title);
    fsim_html_raw(out, fsim_html_style_text);
    fsim_html(out, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">to the report</a>\n");
}

static void put_card(FILE *out, const char *what, const char *value, const char *more)
{
    fsim_html(out, "<div class=\"card\"><dt>%s</dt><dd>%s <small>%s</small></dd></div>\n", what, value, more);
}

/* Of all tensors and partial sums, as the curve of memory has them. */
static double needed_bytes(const fsim_html_page *h)
{
    const fsim_memory_step *step = fsim_memory_steps(h->g, h->plan, h->a);
    double most = 0;
    for (int k = 0; k < h->plan->kernels; k++)
        most = fmax(most, (double)(step[k].live_bytes + step[k].workspace_bytes));
    return most;
}

static void put_cards(const fsim_html_page *h)
{
    const fsim_prediction *p = h->p;
    const fsim_interval likely = fsim_likely_time(p, fsim_plan_of(p, p->chosen), h->a);
    const fsim_contest c = fsim_against_eager(p, p->chosen, h->a);
    const fsim_verdict v = fsim_verdict_of(p);
    fsim_html(h->out, "<dl class=\"cards\">\n");
    put_card(h->out, fsim_printf(h->a, "time of %s", fsim_strategy_names[p->chosen]),
             fsim_seconds_text(h->a, h->plan->time_s),
             fsim_printf(h->a, "%s to %s", fsim_seconds_text(h->a, likely.low), fsim_seconds_text(h->a, likely.high)));
    if (p->chosen != FSIM_STRATEGY_EAGER)
        put_card(h->out, "speedup over eager", fsim_text_speedup(p, p->chosen, &c, h->a),
                 fsim_text_times_range(h->a, c.likely));
    put_card(h->out, "kernels", fsim_printf(h->a, "%d", h->plan->kernels),
             fsim_printf(h->a, "eager: %d", p->plan[FSIM_STRATEGY_EAGER].kernels));
    put_card(h->out, "DRAM traffic", fsim_text_dram(h->a, h->plan),
             fsim_printf(h->a, "eager: %s", fsim_text_dram(h->a, &p->plan[FSIM_STRATEGY_EAGER])));
    put_card(h->out, "memory at its peak", fsim_bytes_text(h->a, needed_bytes(h)),
             fsim_plan_fits(p, p->chosen) ? "fits" : "does not fit");
    put_card(h->out, "another plan is better",
             v.proven ? "by nothing" : fsim_printf(h->a, "by \u2264 %s", fsim_percent_text(h->a, v.gap)),
             v.proven ? "proven" : "not proven");
    fsim_html(h->out, "</dl>\n");
}

static void put_next(const fsim_html_page *h)
{
    fsim_step step[FSIM_MOST_STEPS];
    const int count = fsim_next_steps(h->p, h->a, step);
    fsim_html(h->out, count ? "<h3>Next steps, by what they save</h3>\n<ul>\n" : "");
    for (int i = 0; i < count; i++) {
        if (!isnan(step[i].saves_s))
            fsim_html(h->out, "<li>saves %s%s: %s", step[i].at_most ? "at most " : "",
                      fsim_seconds_text(h->a, step[i].saves_s), step[i].what);
        else
            fsim_html(h->out, "<li>%s", step[i].what);
        if (step[i].command)
            fsim_html(h->out, "<br><code>%s</code>", step[i].command);
        fsim_html(h->out, "</li>\n");
    }
    fsim_html(h->out, count ? "</ul>\n" : "");
}

static void put_gates(const fsim_html_page *h, const fsim_judged *judged)
{
    if (!judged || judged->count == 0)
        return;
    fsim_html(h->out, "<h3>Gates</h3>\n<ul>\n");
    for (int i = 0; i < judged->count; i++)
        fsim_html(h->out, "<li class=\"%s\">%s %s: %s</li>\n", judged->at[i].passed ? "passed" : "failed",
                  judged->at[i].passed ? "passed" : "failed", judged->at[i].text, judged->at[i].says);
    fsim_html(h->out, "</ul>\n");
}

/* long_one: a part that is long where the plan is, and is laid out when somebody comes near then. */
static void begin_part(const fsim_html_page *h, const char *id, const char *title, bool long_one)
{
    enum { MANY = 100 };
    const bool late = long_one && h->plan->kernels >= MANY;
    fsim_html(h->out, "<section id=\"g%d-%s\"%s aria-labelledby=\"g%d-%s-title\"><h2 id=\"g%d-%s-title\">%s</h2>\n",
              h->gpu, id, late ? " class=late" : "", h->gpu, id, h->gpu, id, title);
}

static void end_part(const fsim_html_page *h) { fsim_html(h->out, "</section>\n"); }

static void put_summary(const fsim_html_page *h, const fsim_judged *judged)
{
    begin_part(h, "summary", "Summary", false);
    const char *parallel = fsim_text_parallel_verdict(h->text), *host = fsim_text_host(h->p, h->a);
    fsim_html_paragraphs(h->out, h->text, fsim_text_verdict, "verdict");
    if (parallel)
        fsim_html(h->out, "<p class=\"verdict\">%s</p>\n", parallel);
    if (*host)
        fsim_html(h->out, "<p>%s</p>\n", host);
    put_cards(h);
    put_gates(h, judged);
    put_next(h);
    end_part(h);
}

static void put_compile(const fsim_html_page *h)
{
    const fsim_compile_text x = fsim_compile_text_of(h->p, h->a);
    fsim_html(h->out, "<h3>Fast compile or fast run</h3>\n");
    fsim_html_table(h->out, &x.costs, "cost of compilation");
    fsim_html_table(h->out, &x.totals, "compilation and runs");
    fsim_html(h->out, "<p>%s</p><p class=\"note\">%s</p>\n", x.best, x.how);
}

/* What was asked for besides: several GPUs, training, other plans, compilation. */
static void put_more(const fsim_html_page *h)
{
    const fsim_prediction *p = h->p;
    fsim_emphasis emphasis;
    if (p->options.replicas.gpus > 0) {
        fsim_html(h->out, "<h3>Data parallel, on GPUs of one node</h3>\n");
        const fsim_table t = fsim_text_parallel(h->text);
        fsim_html_table(h->out, &t, "data parallel");
        fsim_html(h->out, "<p>%s</p>\n", fsim_text_exchanges(h->text));
    }
    if (h->g->derived == FSIM_REVERSE) {
        const char *step = fsim_text_step(h->text);
        fsim_html(h->out, "<h3>Phases of %s</h3>\n", fsim_strategy_names[p->chosen]);
        const fsim_table t = fsim_text_phases(h->text);
        fsim_html_table(h->out, &t, "phases");
        fsim_html(h->out, "<p>%s %s %s</p>\n", step ? step : "", fsim_text_saved(h->text),
                  fsim_text_peak(h->text, &emphasis));
    }
    if (p->losses > 0) {
        fsim_html(h->out, "<div class=\"losses\">\n");
        fsim_html_paragraphs(h->out, h->text, fsim_text_losses, "c");
        fsim_html(h->out, "</div>\n");
    }
    if (p->tops > 0) {
        fsim_html(h->out, "<h3>The best plans</h3>\n");
        const fsim_table t = fsim_text_alternatives(h->text);
        fsim_html_table(h->out, &t, "the best plans");
    }
    if (p->fronts > 0) {
        fsim_html(h->out, "<h3>Time against memory</h3>\n");
        const fsim_table t = fsim_text_front(h->text);
        fsim_html_table(h->out, &t, "time against memory");
    }
    if (p->options.compile_jobs > 0)
        put_compile(h);
}

static void put_gpu(const fsim_html_page *h, const fsim_judged *judged)
{
    put_summary(h, judged);
    begin_part(h, "strategies", "Strategies", false);
    fsim_html_strategy_bars(h);
    const fsim_table t = fsim_text_strategies(h->p, h->a);
    fsim_html_table(h->out, &t, "strategies");
    put_more(h);
    end_part(h);
    begin_part(h, "charts", "Charts", false);
    fsim_html_time_bars(h);
    fsim_html(h->out, "<div class=\"pair\">\n");
    fsim_html_roofline(h);
    fsim_html_memory_curve(h);
    fsim_html(h->out, "</div>\n");
    end_part(h);
    begin_part(h, "kernels", fsim_printf(h->a, "Kernels of %s", fsim_strategy_names[h->p->chosen]), true);
    fsim_html_kernels(h);
    end_part(h);
    begin_part(h, "graph", "Graph", true);
    fsim_html(h->out, "<p class=\"note\">A box is a kernel around its operators; the bar below its number is its time "
                      "against the longest. Lines are tensors that go "
                      "through memory. Weights are left out.</p>\n");
    fsim_html_graph(h);
    end_part(h);
    begin_part(h, "refusals", "Not fused, and why", true);
    fsim_html_refusals(h);
    end_part(h);
    begin_part(h, "evidence", "Inputs, versions and evidence", true);
    fsim_html_evidence(h);
    end_part(h);
    fsim_html_details(h);
}

/* Links to the parts. */
static void put_menu(FILE *out, const fsim_prediction *p, int count)
{
    static const char *const part[][2] = {
        {"summary", "Summary"}, {"strategies", "Strategies"}, {"charts", "Charts"},    {"kernels", "Kernels"},
        {"graph", "Graph"},     {"refusals", "Not fused"},    {"evidence", "Evidence"}};
    fsim_html(out, "<nav aria-label=\"parts of the report\">\n");
    for (int i = 0; i < count && count > 1; i++)
        fsim_html(out, "<a href=\"#g%d\">%s</a>\n", i, p[i].hw->name);
    for (size_t i = 0; i < sizeof part / sizeof *part && count == 1; i++)
        fsim_html(out, "<a href=\"#g0-%s\">%s</a>\n", part[i][0], part[i][1]);
    fsim_html(out, "</nav>\n");
}

void fsim_report_html(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count)
{
    fsim_arena *a = fsim_arena_new();
    const char *where = count == 1 ? fsim_text_hardware(p->hw) : fsim_text_count(a, count, "GPU");
    const char *title = fsim_printf(a, "%s on %s", p->graph->name, where);
    put_head(out, title, a);
    fsim_html(out, "<header><h1>%s</h1>\n<p>%s, objective %s</p>\n", title, fsim_text_counted(p, a),
              fsim_objective_name(&p->options));
    put_menu(out, p, count);
    fsim_html(out, "</header>\n<main id=\"main\">\n<noscript><p class=\"warn\">Without scripts this page can be read, "
                   "but not sorted, filtered or zoomed, and kernels do not "
                   "open.</p></noscript>\n");
    if (count > 1) {
        const fsim_table t = fsim_text_comparison(p, count, a);
        fsim_html_table(out, &t, "GPUs");
    }
    for (int i = 0; i < count; i++) {
        const fsim_text_style style = {.verbose = true};
        const fsim_text_page text = fsim_text_page_of(out, &p[i], &style, a);
        const fsim_html_page h = page_of(out, &text, i);
        fsim_html(out, "<div class=\"gpu\" id=\"g%d\" data-gpu=\"%d\">\n", i, i);
        if (count > 1)
            fsim_html(out, "<h2 class=\"gpu\">%s</h2>\n", fsim_text_hardware(p[i].hw));
        put_gpu(&h, judged ? &judged[i] : NULL);
        fsim_html(out, "</div>\n");
    }
    fsim_html(out, "</main>\n<aside id=\"detail\" hidden tabindex=\"-1\" aria-label=\"kernel\"><button type=\"button\" "
                   "id=\"close\" aria-label=\"close\">\u00d7</button>"
                   "<div id=\"shown\"></div></aside>\n<script>");
    fsim_html_raw(out, fsim_html_script_text);
    fsim_html(out, "</script>\n</body>\n</html>\n");
    fsim_arena_free(a);
}

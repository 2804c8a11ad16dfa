/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, versions and evidence. */
#include "report/html_parts.h"

#include "report/coverage.h"
#include <math.h>

static void put_fact(const fsim_html_page *h, const char *what, const char *says)
{
    fsim_html(h->out, "<dt>%s</dt><dd>%s</dd>\n", what, says);
}

static const char *symbols_text(const fsim_html_page *h)
{
    const char *text = "";
    for (int i = 0; i < h->g->symbols; i++) {
        const fsim_symbol *s = &h->g->symbol[i];
        text = s->dtype == FSIM_DTYPE_NONE
                   ? fsim_printf(h->a, "%s%s%s=%lld", text, i ? ", " : "", s->name, (long long)s->value)
                   : fsim_printf(h->a, "%s%s%s=%s", text, i ? ", " : "", s->name, fsim_dtype_names[s->dtype]);
    }
    return *text ? text : "none";
}

static const char *options_text(const fsim_html_page *h)
{
    const fsim_options *o = &h->p->options;
    return fsim_printf(h->a, "strategy %s, objective %s, launch %s, L2 %s, numerics %s, recomputation %s%s",
                       fsim_strategy_names[h->p->chosen], fsim_objective_name(o), fsim_regime_names[o->regime],
                       fsim_l2_words[o->warm], fsim_numerics_words[o->strict], fsim_recompute_words[o->no_recompute],
                       fsim_text_limit(h->a, o));
}

/* The command that makes this plan again; "" where the program does not know it. */
static const char *command_text(const fsim_html_page *h)
{
    const fsim_typed *t = &h->p->options.typed;
    if (!t->workload || !t->hw)
        return "";
    const char *text = fsim_printf(h->a, "fusesim %s --hw %s", t->workload, t->hw);
    for (int i = 0; i < t->sets; i++)
        text = fsim_printf(h->a, "%s %s %s", text, t->set_option ? t->set_option : "--set", t->set[i]);
    return fsim_printf(h->a, "%s%s", text, t->options ? t->options : "");
}

static void put_inputs(const fsim_html_page *h)
{
    const fsim_hw *hw = h->p->hw;
    const fsim_coverage coverage = fsim_coverage_of(h->g, h->a);
    const char *command = command_text(h);
    char parameters[32];
    fsim_html(h->out, "<dl class=\"facts\">\n");
    put_fact(h, "fusesim", FUSESIM_VERSION);
    put_fact(h, "workload", fsim_printf(h->a, "%s: %s", h->g->name, h->g->path ? h->g->path : "no file"));
    if (h->g->description && *h->g->description)
        put_fact(h, "described as", h->g->description);
    put_fact(h, "symbols", symbols_text(h));
    put_fact(h, "size",
             fsim_printf(h->a, "%s, %s, %s parameters", fsim_text_count(h->a, h->g->sources, "operator"),
                         fsim_text_count(h->a, h->g->nodes, "primitive"),
                         fsim_show_count(parameters, sizeof parameters, (double)h->g->parameters)));
    if (coverage.unknown > 0)
        put_fact(h, "not known", fsim_coverage_text(&coverage, h->a));
    put_fact(h, "GPU", fsim_printf(h->a, "%s: %s", fsim_text_hardware(hw), hw->path ? hw->path : "no file"));
    put_fact(h, "its figures", fsim_printf(h->a, "SHA-256 %s", hw->hash));
    put_fact(h, "asked for", options_text(h));
    if (*command)
        put_fact(h, "command", command);
    put_fact(h, "search",
             fsim_printf(h->a, "%s; %lld sets of operators tried as kernels, %lld states", fsim_text_how_sure(h->text),
                         (long long)h->p->proof.groups_considered, (long long)h->p->proof.states));
    fsim_html(h->out, "</dl>\n");
}

/* Seconds of the plan's kernels whose time reads the key. */
static double seconds_on(const fsim_html_page *h, int key)
{
    double sum = 0;
    for (int k = 0; k < h->plan->kernels; k++)
        if (h->p->basis.kernel[k].how[key])
            sum += h->plan->kernel[k].time_s;
    return sum;
}

static void put_key(const fsim_html_page *h, int key, fsim_origin from)
{
    static const char *const says[FSIM_ORIGINS] = {[FSIM_FROM_MEASURED] = "measured",
                                                   [FSIM_FROM_FITTED] = "fitted",
                                                   [FSIM_FROM_DATASHEET] = "data sheet",
                                                   [FSIM_FROM_ASSUMED] = "assumed, not measured"};
    const fsim_quantity *q = &h->p->hw->q[key];
    const double value = isnan(q->achieved) ? q->value : q->achieved, share = seconds_on(h, key) / h->plan->time_s;
    char text[48];
    fsim_html(h->out, "<tr class=\"o-%s\"><th scope=\"row\">%s</th><td class=\"n\">%s</td><td data-v=\"%d\">%s</td>",
              fsim_origin_names[from], fsim_hw_rows[key].key,
              fsim_show(text, sizeof text, value, fsim_hw_rows[key].dim), (int)from, says[from]);
    fsim_html(h->out, "<td class=\"n\" data-v=\"%g\">%s</td><td>%s</td><td>%s</td></tr>\n", share,
              fsim_percent_text(h->a, share), fsim_hw_rows[key].meaning, q->source ? q->source : "");
}

void fsim_html_evidence(const fsim_html_page *h)
{
    put_inputs(h);
    fsim_html_paragraphs(h->out, h->text, fsim_text_assumed, "warn");
    fsim_html_paragraphs(h->out, h->text, fsim_text_left_out, "warn");
    fsim_html(h->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"figures behind the "
                      "times\"><table class=\"evidence\"><thead><tr>"
                      "<th scope=\"col\" class=\"sorts\">figure</th><th scope=\"col\" class=\"n\">value</th><th "
                      "scope=\"col\" class=\"sorts\">is</th>"
                      "<th scope=\"col\" class=\"n sorts\">in kernels of</th><th scope=\"col\">means</th><th "
                      "scope=\"col\">source</th></tr></thead><tbody>\n");
    for (int from = FSIM_ORIGINS - 1; from >= 0; from--)
        for (int key = 0; key < FSIM_HW_COUNT; key++) {
            fsim_origin is;
            if (fsim_hw_was_read(h->p->hw, &h->p->basis.all, (fsim_hw_key)key, &is) && (int)is == from)
                put_key(h, key, is);
        }
    fsim_html(h->out, "</tbody></table></div>\n<p class=\"note\">Figures of the GPU that the plan's times read, the "
                      "least certain first; in kernels of: "
                      "the share of the plan's time in kernels that read it.</p>\n");
}

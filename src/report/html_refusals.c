/* SPDX-License-Identifier: Apache-2.0 */
/* What is not fused, and why. */
#include "report/html_parts.h"

#include <math.h>

static int home_of(const fsim_html_page *h, int node) { return node >= 0 ? h->home[node] : -1; }

/* The rule and the number behind it; for a legal pair, what becomes slower. */
static const char *why_text(const fsim_html_page *h, const fsim_priced_refusal *r)
{
    if (r->why.rule != FSIM_RULE_COST)
        return fsim_refusal_text(h->g, &r->why, h->a);
    return r->saving_s < 0 ? fsim_cause_text(h->g, &r->cause, h->a)
                           : "legal: their kernels as one, but not in this plan";
}

/* "saves ≤ 2.6 us", "costs 93 us". */
static const char *price_text(const fsim_html_page *h, const fsim_priced_refusal *r)
{
    if (r->saving_s == 0)
        return "-";
    const char *seconds = fsim_seconds_text(h->a, fabs(r->saving_s));
    return r->saving_s < 0                 ? fsim_printf(h->a, "costs %s", seconds)
           : r->why.rule == FSIM_RULE_COST ? fsim_printf(h->a, "saves %s", seconds)
                                           : fsim_printf(h->a, "saves \u2264 %s", seconds);
}

static void put_refusal(const fsim_html_page *h, const fsim_told_refusal *told)
{
    const fsim_priced_refusal *r = told->of;
    const int a = home_of(h, r->a), b = home_of(h, r->b);
    const char *like = told->others > 0 && !told->same ? fsim_printf(h->a, " (and %d like it)", told->others) : "";
    fsim_html(
        h->out,
        "<tr><td class=\"n\" data-v=\"%g\">%s</td><td class=\"n\" data-v=\"%g\">%s</td><th scope=\"row\">%s%s</th><td>",
        r->saving_s, price_text(h, r), (double)r->saving_bytes,
        r->saving_bytes > 0 ? fsim_bytes_text(h->a, (double)r->saving_bytes) : "-",
        fsim_text_refused_pair(h->text, told), like);
    if (a >= 0)
        fsim_html_kernel_link(h, a);
    if (b >= 0 && b != a) {
        fsim_html(h->out, " ");
        fsim_html_kernel_link(h, b);
    }
    fsim_html(h->out, "</td><td>%s</td><td>%s</td></tr>\n", fsim_rule_names[r->why.rule], why_text(h, r));
}

void fsim_html_refusals(const fsim_html_page *h)
{
    fsim_told_refusal *told;
    const int lines = fsim_text_told_refusals(h->text, false, &told);
    if (lines == 0) {
        fsim_html(h->out, "<p>No two kernels of this plan exchange a tensor: there is nothing to refuse.</p>\n");
        return;
    }
    fsim_html(h->out, "<p class=\"note\">Pairs of kernels that exchange a tensor, the one that would save most first. "
                      "A saving is exact where "
                      "the fusion is legal, an upper bound (\u2264) where a rule forbids it.</p>\n"
                      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"refusals\"><table "
                      "class=\"refusals\"><thead><tr>"
                      "<th scope=\"col\" class=\"n sorts\">in one kernel</th><th scope=\"col\" class=\"n sorts\">DRAM "
                      "saved</th><th scope=\"col\" class=\"sorts\">operators</th>"
                      "<th scope=\"col\">kernels</th><th scope=\"col\" class=\"sorts\">rule</th><th "
                      "scope=\"col\">why</th></tr></thead><tbody>\n");
    for (int i = 0; i < lines; i++)
        put_refusal(h, &told[i]);
    fsim_html(h->out, "</tbody></table></div>\n");
    if (h->p->refusals_left > 0)
        fsim_html(h->out,
                  "<p class=\"note\">%s of kernels more that exchange a tensor: too many to look at each.</p>\n",
                  fsim_text_count(h->a, h->p->refusals_left, "pair"));
}

void fsim_html_refusals_of(const fsim_html_page *h, int k)
{
    bool any = false;
    for (int i = 0; i < h->p->refusals; i++) {
        const fsim_told_refusal one = {&h->p->refusal[i], 0, true};
        const int a = home_of(h, one.of->a), b = home_of(h, one.of->b), other = a == k ? b : a;
        if (a != k && b != k)
            continue;
        fsim_html(h->out, any ? "" : "<h3>Not fused, and why</h3>\n<ul>\n");
        any = true;
        fsim_html(h->out, "<li>%s", fsim_text_refused_pair(h->text, &one));
        if (other >= 0 && other != k) {
            fsim_html(h->out, ", with ");
            fsim_html_kernel_link(h, other);
        }
        if (one.of->why.rule == FSIM_RULE_COST)
            fsim_html(h->out, ": %s</li>\n", fsim_text_saving(h->text, &one));
        else
            fsim_html(h->out, ": %s (rule %s); %s</li>\n", why_text(h, one.of), fsim_rule_names[one.of->why.rule],
                      fsim_text_saving(h->text, &one));
    }
    fsim_html(h->out, any ? "</ul>\n" : "");
}

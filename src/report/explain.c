/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_stream.h"
#include "report/report.h"
#include "report/versus.h"
#include <math.h>
#include <string.h>

/* Where the interval of the ratio contains 1: that there may be no difference. */
static const char *unsure(fsim_arena *a, const fsim_explanation *e)
{
    const double ratio = (e->together ? e->apart_s : e->forced_s) / e->best_s;
    const fsim_interval x = e->other_likely;
    if (!e->other_found || fsim_is_none(ratio))
        return e->other_found && ratio != 1 ? ", which is no difference" : "";
    const char *range =
        fsim_printf(a, "%s to %s as long in eight of ten cases", fsim_times_text(a, x.low), fsim_times_text(a, x.high));
    return x.low < 1 && x.high > 1 ? fsim_printf(a, ", too close to call (%s)", range) : fsim_printf(a, " (%s)", range);
}

/* "1.5 us more and 12.6 MiB less of DRAM traffic"; bytes NaN: not known. */
static const char *difference(fsim_arena *a, double seconds, double bytes)
{
    if (seconds == 0 && bytes == 0)
        return "the same time";
    const char *time = fsim_printf(a, "%s %s", fsim_seconds_text(a, fabs(seconds)), seconds < 0 ? "less" : "more");
    if (isnan(bytes) || bytes == 0)
        return time;
    return fsim_printf(a, "%s and %s %s of DRAM traffic", time, fsim_bytes_text(a, fabs(bytes)),
                       bytes < 0 ? "less" : "more");
}

static void may_they(const fsim_page *page, fsim_arena *a, const fsim_graph *g, const fsim_explanation *e)
{
    const char *first = g->node[e->a].name, *second = g->node[e->b].name;
    const char *with = e->between > 0 ? fsim_printf(a, " (%d primitive%s would have to join them)", e->between,
                                                    e->between == 1 ? "" : "s")
                                      : "";
    const char *joined = e->barred ? fsim_printf(a, "; what lies between can't join: %s (rule %s)",
                                                 fsim_refusal_text(g, &e->joined, a), fsim_rule_names[e->joined.rule])
                                   : "";
    if (e->others)
        fsim_paragraph(
            page, FSIM_GOOD, 0, 2,
            fsim_printf(
                a,
                "'%s' and '%s' may share a kernel with others that connect them. Alone they may not%s: %s (rule %s)%s.",
                first, second, with, fsim_refusal_text(g, &e->why, a), fsim_rule_names[e->why.rule], joined));
    else if (e->legal)
        fsim_paragraph(page, FSIM_GOOD, 0, 2,
                       fsim_printf(a, "'%s' and '%s' may share a kernel%s.", first, second, with));
    else if (e->together && e->again >= 0)
        fsim_paragraph(page, FSIM_GOOD, 0, 2,
                       fsim_printf(a,
                                   "The kernel of '%s' computes '%s' again. More they may not share%s: %s (rule %s)%s.",
                                   e->again == e->a ? second : first, e->again == e->a ? first : second, with,
                                   fsim_refusal_text(g, &e->why, a), fsim_rule_names[e->why.rule], joined));
    else if (e->together)
        fsim_paragraph(
            page, FSIM_GOOD, 0, 2,
            fsim_printf(a,
                        "'%s' and '%s' are in one call of a library. A kernel of ours can't have both: %s (rule %s).",
                        first, second, fsim_refusal_text(g, &e->why, a), fsim_rule_names[e->why.rule]));
    else
        fsim_paragraph(page, FSIM_BAD, 0, 2,
                       fsim_printf(a, "'%s' and '%s' may not share a kernel%s: %s (rule %s)%s.", first, second, with,
                                   fsim_refusal_text(g, &e->why, a), fsim_rule_names[e->why.rule], joined));
}

static const char *both_text(fsim_arena *a, const char *time, fsim_sum bytes)
{
    return bytes == 0 ? time : fsim_printf(a, "%s and %s of DRAM traffic", time, fsim_bytes_text(a, (double)bytes));
}

/* Which unit takes longer under the opposite choice, and why. */
static const char *grown(fsim_arena *a, const fsim_graph *g, const fsim_explanation *e)
{
    return e->cause.growth == FSIM_GROWN_NOTHING ? "" : fsim_printf(a, ": %s", fsim_cause_text(g, &e->cause, a));
}

/* What the opposite choice costs: the two kept apart where the best plan fuses them, or fused where it does not. */
static const char *otherwise(fsim_arena *a, const fsim_graph *g, const fsim_explanation *e)
{
    const char *first = g->node[e->a].name, *second = g->node[e->b].name;
    if (e->together && isnan(e->apart_s))
        return "No plan was found that has them in different kernels.";
    if (e->together)
        return fsim_printf(a, "Keeping them apart (separate: [[%s, %s]]) takes %s%s%s.", first, second,
                           difference(a, e->apart_s - e->best_s, (double)(e->apart_bytes - e->best_bytes)),
                           unsure(a, e), grown(a, g, e));
    if (e->forced_again >= 0)
        return fsim_printf(a,
                           "The best plan with both in one kernel computes '%s' in another one too, and takes %s%s%s.",
                           g->node[e->forced_again].name,
                           difference(a, e->forced_s - e->best_s, (double)(e->forced_bytes - e->best_bytes)),
                           unsure(a, e), grown(a, g, e));
    if (!e->legal && e->exchange)
        return fsim_printf(a, "One kernel for both would save at most %s: the traffic between them, and one launch.",
                           both_text(a, fsim_seconds_text(a, e->saving_s), e->saving_bytes));
    if (!e->forced_found)
        return "No plan was found that has them in one kernel.";
    return fsim_printf(a, "Forcing them together (fuse: [[%s, %s]]) takes %s%s%s.", first, second,
                       difference(a, e->forced_s - e->best_s, (double)(e->forced_bytes - e->best_bytes)), unsure(a, e),
                       grown(a, g, e));
}

/* Of two that may share a kernel and do not: why their kernels are not one, in the words of the list "not fused". */
static void whole_kernels(const fsim_page *page, fsim_arena *a, const fsim_graph *g, const fsim_priced_refusal *r)
{
    if (r->why.rule != FSIM_RULE_COST)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "Their kernels with all that is in them may not be one%s: %s (rule %s).",
                                   r->first < 0 ? ""
                                                : fsim_printf(a, ", because of '%s' and '%s'", g->node[r->first].name,
                                                              g->node[r->second].name),
                                   fsim_refusal_text(g, &r->why, a), fsim_rule_names[r->why.rule]));
    else
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "Their kernels as one, with all that is in them, take %s.",
                                   difference(a, -r->saving_s, (double)-r->saving_bytes)));
}

/* Says of which primitive the answer is where an operator's name was typed and it has several. */
static void which_primitive(const fsim_page *page, fsim_arena *a, const fsim_graph *g, int n)
{
    const char *others = "";
    int count = 0;
    for (int i = 0; i < g->nodes; i++)
        if (i != n && g->node[i].source == g->node[n].source) {
            others = fsim_printf(a, "%s%s%s", others, count ? ", " : "", g->node[i].name);
            count++;
        }
    if (count > 0 && strcmp(g->source[g->node[n].source].name, g->node[n].name) == 0)
        fsim_paragraph(
            page, FSIM_FAINT, 0, 2,
            fsim_printf(a, "'%s' is the last primitive of that operator; the others: %s.", g->node[n].name, others));
}

void fsim_report_explanation(const fsim_page *page, const fsim_graph *g, const fsim_hw *hw, const fsim_explanation *e)
{
    fsim_arena *a = fsim_arena_new();
    may_they(page, a, g, e);
    which_primitive(page, a, g, e->a);
    which_primitive(page, a, g, e->b);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "On %s the best plan has them %s; it takes %s and moves %s to and from DRAM.",
                               hw->name, e->together ? "together" : "apart", fsim_seconds_text(a, e->best_s),
                               fsim_bytes_text(a, (double)e->best_bytes)));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, otherwise(a, g, e));
    if (e->kernels)
        whole_kernels(page, a, g, e->kernels);
    fsim_arena_free(a);
}

/* The opposite choice against the best plan. */
static const char *verdict(const fsim_explanation *e)
{
    const double ratio = (e->together ? e->apart_s : e->forced_s) / e->best_s;
    const fsim_interval x = e->other_likely;
    return fsim_versus_names[fsim_is_none(ratio) || (x.low < 1 && x.high > 1) ? FSIM_NO_DIFFERENCE
                             : ratio > 1                                      ? FSIM_SLOWER
                                                                              : FSIM_FASTER];
}

void fsim_json_explanation(FILE *out, const fsim_graph *g, const fsim_hw *hw, const fsim_explanation *e)
{
    fsim_arena *a = fsim_arena_new();
    fsim_json_text(out, "{", "a", g->node[e->a].name);
    fsim_json_text(out, ", ", "b", g->node[e->b].name);
    fsim_json_text(out, ", ", "hardware", hw->name);
    fsim_json_bool(out, ", ", "legal", e->legal);
    fsim_json_text(out, ", ", "rule", e->legal ? NULL : fsim_rule_names[e->why.rule]);
    fsim_json_text(out, ", ", "message", e->legal ? NULL : fsim_refusal_text(g, &e->why, a));
    fsim_json_number(out, ", ", "needed", e->legal ? (double)NAN : e->why.needed);
    fsim_json_number(out, ", ", "limit", e->legal ? (double)NAN : e->why.limit);
    fsim_json_number(out, ", ", "between", e->between);
    fsim_json_bool(out, ", ", "together", e->together);
    fsim_json_number(out, ", ", "best_s", e->best_s);
    fsim_json_number(out, ", ", "best_bytes", (double)e->best_bytes);
    fsim_json_number(out, ", ", "forced_s", e->forced_found ? e->forced_s : (double)NAN);
    fsim_json_number(out, ", ", "forced_bytes", e->forced_found ? (double)e->forced_bytes : (double)NAN);
    fsim_json_number(out, ", ", "apart_s", e->apart_s);
    fsim_json_number(out, ", ", "apart_bytes", isnan(e->apart_s) ? (double)NAN : (double)e->apart_bytes);
    fsim_json_number(out, ", ", "other_over_best_low", e->other_found ? e->other_likely.low : (double)NAN);
    fsim_json_number(out, ", ", "other_over_best_high", e->other_found ? e->other_likely.high : (double)NAN);
    fsim_json_text(out, ", ", "other_against_best", e->other_found ? verdict(e) : NULL);
    fsim_json_number(out, ", ", "saving_s", e->exchange ? e->saving_s : (double)NAN);
    fsim_json_number(out, ", ", "saving_bytes", e->exchange ? (double)e->saving_bytes : (double)NAN);
    fsim_json_text(out, ", ", "kernels_rule", e->kernels ? fsim_rule_names[e->kernels->why.rule] : NULL);
    fsim_json_number(out, ", ", "kernels_saving_s", e->kernels ? e->kernels->saving_s : (double)NAN);
    fsim_json_text(out, ", ", "cause", e->cause.growth == FSIM_GROWN_NOTHING ? NULL : fsim_cause_text(g, &e->cause, a));
    fputs("}\n", out);
    fsim_arena_free(a);
}

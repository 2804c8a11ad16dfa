/* SPDX-License-Identifier: Apache-2.0 */
/* What was fused, folded and recomputed; what was not, and why; where a plan differs from the optimum. */
#include "report/text_parts.h"

#include "base/names.h"
#include <math.h>

enum { REFUSALS_SHOWN = 5, LOSSES_SHOWN = 5, RECOMPUTED_SHOWN = 3, KERNELS_SHOWN = 8 };

/* " (x 11)", or "" for what comes once. */
static const char *times_text(fsim_arena *a, int times) { return times > 1 ? fsim_printf(a, " (x %d)", times) : ""; }

/* "t1, t2, t3 and 5 more in kernel 4": what kernel i computes again; NULL where that is nothing. Kernels are listed by
 * number, because the table may truncate names and their marks. */
static const char *recomputed_by(const fsim_text_page *r, int i)
{
    const fsim_group *group = r->plan->kernel[i].group;
    const char *list = NULL;
    int count = 0, shown = 0;
    for (int m = 0; m < group->members; m++)
        count += group->member[m].clone;
    const int most = r->verbose || count <= RECOMPUTED_SHOWN + 1 ? count : RECOMPUTED_SHOWN;
    for (int m = 0; m < group->members && shown < most; m++)
        if (group->member[m].clone) {
            list =
                fsim_printf(r->a, "%s%s%s", list ? list : "", list ? ", " : "", r->g->node[group->member[m].node].name);
            shown++;
        }
    return list ? fsim_printf(r->a, "%s%s in kernel %d%s", list,
                              count > most ? fsim_printf(r->a, " and %d more", count - most) : "", i + 1,
                              times_text(r->a, r->repeats.times[i]))
                : NULL;
}

void fsim_text_recomputed(const fsim_text_page *r)
{
    const char *list = NULL;
    int left = 0;
    for (int i = 0, shown = 0; i < r->plan->kernels; i++) {
        const char *of = r->repeats.times[i] > 0 ? recomputed_by(r, i) : NULL;
        if (of && (r->verbose || shown++ < KERNELS_SHOWN))
            list = list ? fsim_printf(r->a, "%s; %s", list, of) : of;
        else
            left += of != NULL;
    }
    if (left)
        list = fsim_printf(r->a, "%s; more in %d kernel%s (--verbose)", list, left, left > 1 ? "s" : "");
    if (list)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 2, fsim_printf(r->a, "Recomputed: %s.", list));
}

/* Operators that cost nothing at run time. */
void fsim_text_folded(const fsim_text_page *r)
{
    const char *list = NULL;
    for (int i = 0; i < r->plan->kernels; i++) {
        const fsim_group *group = r->plan->kernel[i].group;
        int last = -1;
        for (int m = 0; m < group->members && r->repeats.times[i] > 0; m++) {
            const int source = r->g->node[group->member[m].node].source;
            if (group->member[m].form == FSIM_FOLDED && source != last)
                list = fsim_printf(r->a, "%s%s%s in kernel %d%s", list ? list : "", list ? ", " : "",
                                   r->g->source[last = source].name, i + 1, times_text(r->a, r->repeats.times[i]));
        }
    }
    if (list)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 2, fsim_printf(r->a, "Folded into the weights: %s.", list));
}

const char *fsim_text_saving(const fsim_text_page *r, const fsim_told_refusal *told)
{
    const fsim_priced_refusal *refusal = told->of;
    if (refusal->why.rule == FSIM_RULE_COST && refusal->saving_s > 0)
        return fsim_printf(r->a, "legal: their kernels as one would save %s%s",
                           fsim_seconds_text(r->a, refusal->saving_s),
                           r->p->chosen == FSIM_STRATEGY_OPTIMAL ? " alone, but not in this plan" : "");
    if (refusal->why.rule == FSIM_RULE_COST)
        return fsim_printf(r->a, "legal, but their kernels as one take %s longer: %s",
                           fsim_seconds_text(r->a, -refusal->saving_s), fsim_cause_text(r->g, &refusal->cause, r->a));
    if (!(refusal->saving_s > 0) && refusal->saving_bytes <= 0)
        return "would save nothing";
    const char *seconds = refusal->saving_s > 0 ? fsim_seconds_text(r->a, refusal->saving_s) : NULL;
    const char *bytes = refusal->saving_bytes > 0 ? fsim_printf(r->a, "%s of DRAM traffic",
                                                                fsim_bytes_text(r->a, (double)refusal->saving_bytes))
                                                  : NULL;
    return fsim_printf(r->a, "would save at most %s%s%s%s", seconds ? seconds : "", seconds && bytes ? " and " : "",
                       bytes ? bytes : "", told->others > 0 ? " each" : "");
}

/* -1 is no primitive. */
static bool same_op(const fsim_graph *g, int x, int y)
{
    return x < 0 || y < 0 ? x == y : g->node[x].op == g->node[y].op;
}

/* Similar refusals, as in equal layers, are shown once. */
static bool alike(const fsim_graph *g, const fsim_priced_refusal *x, const fsim_priced_refusal *y)
{
    return x->why.rule == y->why.rule && x->saving_s == y->saving_s && x->saving_bytes == y->saving_bytes &&
           same_op(g, x->a, y->a) && same_op(g, x->b, y->b) && same_op(g, x->first, y->first) &&
           same_op(g, x->second, y->second);
}

/* The same between the same primitives of another layer? */
static bool same_elsewhere(const fsim_graph *g, const fsim_priced_refusal *x, const fsim_priced_refusal *y)
{
    return fsim_same_but_numbers(g->node[x->a].name, g->node[y->a].name) &&
           (x->b < 0 || fsim_same_but_numbers(g->node[x->b].name, g->node[y->b].name));
}

const char *fsim_text_refused_pair(const fsim_text_page *r, const fsim_told_refusal *told)
{
    const char *a = r->g->node[told->of->a].name;
    const char *one = told->of->b >= 0 ? fsim_printf(r->a, "%s + %s", a, r->g->node[told->of->b].name) : a;
    const char *pair = fsim_printf(r->a, "%s%s", one, times_text(r->a, told->same ? 1 + told->others : 1));
    const int first = told->of->first, second = told->of->second;
    if (told->of->b < 0 || told->of->why.rule == FSIM_RULE_COST || (first == told->of->a && second == told->of->b))
        return pair;
    if (first < 0)
        return fsim_printf(r->a, "%s, with all of their kernels", pair);
    return fsim_printf(r->a, "%s, because of '%s' and '%s'", pair, r->g->node[first].name, r->g->node[second].name);
}

static void put_refusal(const fsim_text_page *r, const fsim_told_refusal *told)
{
    const char *pair = fsim_text_refused_pair(r, told);
    const char *more = told->same ? "" : fsim_printf(r->a, " (and %d like it)", told->others);
    const bool legal = told->of->why.rule == FSIM_RULE_COST;
    const char *why = legal ? "" : fsim_printf(r->a, ": %s", fsim_refusal_text(r->g, &told->of->why, r->a));
    const char *gain = fsim_text_saving(r, told);
    const char *line = fsim_printf(r->a, "%s%s%s%s%s", pair, why, more, legal ? ": " : "   ", gain);
    if (r->page.width == 0 || fsim_text_width(line) + 2 <= r->page.width) {
        fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, line);
        return;
    }
    fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, fsim_printf(r->a, "%s%s%s", pair, why, more));
    fsim_paragraph(&r->page, FSIM_PLAIN, 4, 4, gain);
}

int fsim_text_told_refusals(const fsim_text_page *r, bool each, fsim_told_refusal **told)
{
    const int count = r->p->refusals;
    bool *done = fsim_new(r->a, bool, count + 1);
    int lines = 0;
    *told = fsim_new(r->a, fsim_told_refusal, count + 1);
    for (int i = 0; i < count; i++) {
        if (done[i])
            continue;
        fsim_told_refusal *x = &(*told)[lines++];
        *x = (fsim_told_refusal){&r->p->refusal[i], 0, true};
        for (int k = i + 1; k < count && !each; k++)
            if (!done[k] && alike(r->g, x->of, &r->p->refusal[k])) {
                done[k] = true;
                x->others++;
                x->same = x->same && same_elsewhere(r->g, x->of, &r->p->refusal[k]);
            }
    }
    return lines;
}

void fsim_text_refusals(const fsim_text_page *r)
{
    fsim_told_refusal *told;
    const int lines = fsim_text_told_refusals(r, r->verbose, &told);
    int left = r->p->refusals;
    if (lines == 0)
        return;
    fsim_text_title(r, "not fused, and why");
    for (int i = 0; i < lines && (r->verbose || i < REFUSALS_SHOWN); i++) {
        put_refusal(r, &told[i]);
        left -= 1 + told[i].others;
    }
    if (left > 0)
        fsim_paragraph(&r->page, FSIM_FAINT, 2, 4, fsim_printf(r->a, "... and %d more: --verbose", left));
    if (r->p->refusals_left > 0)
        fsim_paragraph(&r->page, FSIM_FAINT, 2, 4,
                       fsim_printf(r->a, "%s of kernels more that exchange a tensor: too many to look at each.",
                                   fsim_text_count(r->a, r->p->refusals_left, "pair")));
}

/* Some kernels of a plan as "a + b | c"; cut where it is long, but for --verbose and where the page has no limit. */
static const char *groups_text(const fsim_text_page *r, const fsim_plan *plan, const int *kernel, int count)
{
    enum { MOST = 60 };
    const char *text = "";
    const bool whole = r->verbose || r->page.width == 0;
    for (int i = 0; i < count && (whole || fsim_text_width(text) <= MOST); i++)
        text =
            fsim_printf(r->a, "%s%s%s", text, i ? " | " : "", fsim_kernel_label(r->g, &plan->kernel[kernel[i]], r->a));
    if (whole || fsim_text_width(text) <= MOST)
        return text;
    int end = MOST - 3;
    while (end > 0 && text[end] != ' ')
        end--;
    return fsim_printf(r->a, "%s...", fsim_strndup(r->a, text, (size_t)(end > 0 ? end : MOST - 3)));
}

/* "2.6 us and 8 MiB of DRAM traffic"; negative numbers are called savings. */
static const char *price_text(const fsim_text_page *r, double seconds, fsim_sum bytes)
{
    const char *time =
        fsim_printf(r->a, "%s%s", seconds < 0 ? "saves " : "costs ", fsim_seconds_text(r->a, fabs(seconds)));
    return bytes == 0 ? time
                      : fsim_printf(r->a, "%s and %s%s of DRAM traffic", time,
                                    (bytes < 0) == (seconds < 0) ? ""
                                    : bytes < 0                  ? "saves "
                                                                 : "costs ",
                                    fsim_bytes_text(r->a, fabs((double)bytes)));
}

/* What plan `mine` does where the optimum, or the best of --top, does something else. */
const char *fsim_text_difference(const fsim_text_page *r, const fsim_difference *d, const fsim_plan *mine,
                                 const fsim_plan *best)
{
    const char *own = groups_text(r, mine, d->mine, d->mines), *other = groups_text(r, best, d->other, d->others);
    if (d->mines == 1 && d->others == 1) {
        const fsim_kernel *x = &mine->kernel[d->mine[0]], *y = &best->kernel[d->other[0]];
        const bool moves_alike = x->dram_read_bytes == y->dram_read_bytes && x->dram_write_bytes == y->dram_write_bytes;
        return fsim_printf(r->a, moves_alike ? "%s: another kernel for the same" : "%s: finds other tensors in L2",
                           own);
    }
    if (d->others == 1)
        return fsim_printf(r->a, "cuts %s", own);
    if (d->mines == 1)
        return fsim_printf(r->a, "fuses %s", other);
    return fsim_printf(r->a, "%s instead of %s", own, other);
}

static bool same_kernels(const fsim_text_page *r, const fsim_plan *plan, const int *x, const int *y, int count)
{
    bool same = true;
    for (int i = 0; i < count && same; i++)
        same = fsim_same_but_numbers(fsim_kernel_label(r->g, &plan->kernel[x[i]], r->a),
                                     fsim_kernel_label(r->g, &plan->kernel[y[i]], r->a));
    return same;
}

/* The same difference in two layers? */
static bool same_difference(const fsim_text_page *r, const fsim_difference *x, const fsim_difference *y)
{
    return x->time_s == y->time_s && x->dram_bytes == y->dram_bytes && x->mines == y->mines && x->others == y->others &&
           same_kernels(r, r->plan, x->mine, y->mine, x->mines) &&
           same_kernels(r, &r->p->plan[FSIM_STRATEGY_OPTIMAL], x->other, y->other, x->others);
}

/* A line for difference d, which is the same in so many layers. */
static void put_loss(const fsim_text_page *r, const fsim_difference *d, int times)
{
    const char *what = fsim_text_difference(r, d, r->plan, &r->p->plan[FSIM_STRATEGY_OPTIMAL]);
    const char *price = price_text(r, d->time_s, d->dram_bytes);
    fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4,
                   fsim_printf(r->a, "%s%s: %s%s", what, times_text(r->a, times), price, times > 1 ? " each" : ""));
}

/* Where the reported plan differs from the optimum, largest loss first. */
void fsim_text_losses(const fsim_text_page *r)
{
    const int count = r->p->losses;
    bool *done = fsim_new(r->a, bool, count + 1);
    int shown = 0, told = 0;
    if (count == 0)
        return;
    fsim_text_title(r, fsim_printf(r->a, "%s against optimal", fsim_strategy_names[r->p->chosen]));
    for (int i = 0; i < count && (r->verbose || shown < LOSSES_SHOWN); i++) {
        const fsim_mark scratch = fsim_save(r->a);
        int times = 1;
        if (done[i])
            continue;
        for (int k = i + 1; k < count && !r->verbose; k++)
            if (!done[k] && same_difference(r, &r->p->loss[i], &r->p->loss[k])) {
                done[k] = true;
                times++;
            }
        put_loss(r, &r->p->loss[i], times);
        shown++;
        told += times;
        fsim_rewind(r->a, scratch);
    }
    if (told < count)
        fsim_paragraph(&r->page, FSIM_FAINT, 2, 4, fsim_printf(r->a, "... and %d more: --verbose", count - told));
}

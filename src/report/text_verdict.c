/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: is fusion worth it, what does the plan take, is it the best? */
#include "report/text_parts.h"

#include "plan/price/memory.h"
#include "plan/price/timeline.h"
#include "report/coverage.h"
#include <math.h>
#include <string.h>

static const double same = 0.005; /* relative difference that a reader would call none */

static const char *objective_text(const fsim_text_page *r, double value)
{
    return fsim_objective_in_bytes(&r->p->options) ? fsim_bytes_text(r->a, value) : fsim_seconds_text(r->a, value);
}

/* "246 us +- 12%". */
static const char *time_text(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const double time_s = p->plan[s].time_s;
    const char *spread = fsim_text_spread(a, fsim_likely_time(p, fsim_plan_of(p, s), a), time_s);
    return fsim_printf(a, "%s%s%s", fsim_seconds_text(a, time_s), *spread ? " +- " : "", spread);
}

/* "is 25.7% (13.6% to 39.0%) slower than eager"; from twice the time on "takes 9.27x (5.71x to 15.06x) as long as
 * eager". ratio: of the times; likely: the speedup. */
static const char *slower_text(const fsim_text_page *r, double ratio, fsim_interval likely, const char *than)
{
    const fsim_interval longer = {1 / likely.high, 1 / likely.low};
    if (ratio >= 2)
        return fsim_printf(r->a, "takes %s (%s) as long as %s", fsim_times_text(r->a, ratio),
                           fsim_text_times_range(r->a, longer), than);
    return fsim_printf(r->a, "is %s (%s to %s) slower than %s", fsim_percent_text(r->a, ratio - 1),
                       fsim_percent_text(r->a, longer.low - 1), fsim_percent_text(r->a, longer.high - 1), than);
}

/* What makes the plan shown slower than eager: the optimum is only where it is asked for something else than time. */
static const char *loss_text(const fsim_text_page *r)
{
    const fsim_options *o = &r->p->options;
    const bool best = r->p->chosen == FSIM_STRATEGY_OPTIMAL;
    if (o->strict) /* eager's kernels are then no choice */
        return "Strict numerics cost more than fusion saves";
    if (best && o->objective == FSIM_MINIMISE_BYTES)
        return "Fewer bytes cost time";
    if (best && (o->objective == FSIM_MINIMISE_MEMORY || o->memory_limit > 0))
        return "Less memory costs time";
    if (best && r->p->graph->fuses + r->p->graph->separates > 0)
        return "What the workload asks for (fuse:, separate:) costs more than fusion saves";
    return "Fusion hurts";
}

/* A sentence: the plan shown (for eager: the optimum) against eager. */
const char *fsim_text_against_eager(const fsim_text_page *r, fsim_emphasis *emphasis)
{
    const fsim_strategy s = r->p->chosen == FSIM_STRATEGY_EAGER ? FSIM_STRATEGY_OPTIMAL : r->p->chosen;
    const fsim_plan *eager = &r->p->plan[FSIM_STRATEGY_EAGER];
    const double ratio = r->p->plan[s].time_s / eager->time_s;
    const char *name = fsim_strategy_names[s];
    const char *base = fsim_printf(r->a, "eager (%s in %s)", fsim_seconds_text(r->a, eager->time_s),
                                   fsim_text_count(r->a, eager->kernels, "kernel"));
    const fsim_contest c = fsim_against_eager(r->p, s, r->a);
    *emphasis = FSIM_PLAIN;
    if (c.verdict == FSIM_NO_DIFFERENCE && c.same_kernels && fabs(ratio - 1) < same)
        return fsim_printf(r->a, "Fusion makes no difference: %s has the kernels of %s.", name, base);
    if (c.verdict == FSIM_NO_DIFFERENCE && c.same_kernels)
        return fsim_printf(r->a,
                           "Fusion makes no difference. Whether other kernels for the same operators do is too close "
                           "to call: %s is predicted %s as fast as %s, %s in eight of ten cases.",
                           name, fsim_times_text(r->a, c.speedup), base, fsim_text_times_range(r->a, c.likely));
    if (fsim_is_none(c.speedup))
        return fsim_printf(r->a, "Fusion makes next to no difference: %s is about as fast as %s.", name, base);
    if (c.verdict == FSIM_NO_DIFFERENCE)
        return fsim_printf(r->a, "Too close to call: %s is predicted %s as fast as %s, %s in eight of ten cases.", name,
                           fsim_times_text(r->a, c.speedup), base, fsim_text_times_range(r->a, c.likely));
    if (ratio < 1 && c.same_kernels)
        return fsim_printf(
            r->a, "Fusion makes no difference, other kernels for the same operators do: %s is %s (%s) as fast as %s.",
            name, fsim_times_text(r->a, c.speedup), fsim_text_times_range(r->a, c.likely), base);
    *emphasis = ratio < 1 ? FSIM_GOOD : FSIM_BAD;
    if (ratio < 1)
        return fsim_printf(r->a, "Fusion helps: %s is %s (%s) as fast as %s.", name, fsim_times_text(r->a, c.speedup),
                           fsim_text_times_range(r->a, c.likely), base);
    return fsim_printf(r->a, "%s: %s %s%s.", loss_text(r), name, slower_text(r, ratio, c.likely, base),
                       r->p->options.strict ? ", whose kernels add up in any order" : "");
}

static const char *gap_text(const fsim_text_page *r, double gap)
{
    return gap < 1e-3 ? "0.1%" : fsim_percent_text(r->a, gap);
}

/* ", between 'a' and 'b'": the stretch that leaves most of the gap; "" where that is the whole
 * graph. */
static const char *open_text(const fsim_text_page *r)
{
    const fsim_proof *x = &r->p->proof;
    const bool everywhere = x->opens == 1 && x->open[0].first == 0 && x->open[0].last == r->p->graph->nodes - 1;
    if (x->opens == 0 || everywhere || r->p->chosen != FSIM_STRATEGY_OPTIMAL)
        return "";
    const char *first = r->p->graph->node[x->open[0].first].name, *last = r->p->graph->node[x->open[0].last].name;
    return x->opens == 1
               ? fsim_printf(r->a, ", between '%s' and '%s'", first, last)
               : fsim_printf(r->a, ", %s of it between '%s' and '%s'", gap_text(r, x->open[0].gap), first, last);
}

const char *fsim_text_how_sure(const fsim_text_page *r)
{
    const fsim_verdict v = fsim_verdict_of(r->p);
    static const char *const ends[] = {
        [FSIM_SEARCH_NOT_STOPPED] = "",
        [FSIM_SEARCH_STOPPED_BY_STEPS] = "",
        [FSIM_SEARCH_STOPPED_BY_CLOCK] = " (stopped by the clock: another run may end elsewhere)",
        [FSIM_SEARCH_STOPPED_BY_MEMORY] = " (the search's memory is used up: --search-memory)"};
    const char *end = r->p->interrupted ? " (interrupted)" : ends[r->p->proof.end];
    const char *of = r->p->options.objective == FSIM_MINIMISE_MEMORY ? " of peak memory" : "";
    const double over = fsim_over_optimum(r->p, r->p->chosen);
    if (fsim_over_limit(r->p))
        return fsim_printf(r->a, "over the limit of %s", fsim_bytes_text(r->a, (double)r->p->options.memory_limit));
    if (v.proven)
        return "proven optimal";
    if (r->p->chosen != FSIM_STRATEGY_OPTIMAL && r->p->proof.proven)
        return fsim_printf(r->a, "%s the proven optimum, %s%s",
                           fsim_tells_loss(r->p, r->p->chosen, r->a)
                               ? fsim_printf(r->a, "%s over", fsim_percent_text(r->a, over))
                               : "no sure difference from",
                           objective_text(r, fsim_plan_objective(r->p, FSIM_STRATEGY_OPTIMAL)), of);
    static const char *const better[] = {[FSIM_MINIMISE_TIME] = "be faster",
                                         [FSIM_MINIMISE_BYTES] = "move fewer bytes",
                                         [FSIM_MINIMISE_MEMORY] = "need less memory"};
    return fsim_printf(r->a, "not proven: another plan could %s, by %s at most%s%s", better[r->p->options.objective],
                       gap_text(r, v.gap), open_text(r), end);
}

/* "and needs 3.2 MiB of memory": where memory was asked for. */
static const char *memory_text(const fsim_text_page *r)
{
    const fsim_options *o = &r->p->options;
    return o->objective == FSIM_MINIMISE_MEMORY || o->memory_limit > 0 || o->pareto
               ? fsim_printf(r->a, " and needs %s of memory at its peak",
                             fsim_bytes_text(r->a, (double)r->plan->peak_memory_bytes))
               : "";
}

/* Kernels that run beside others, and what that saves. */
static void overlap(const fsim_text_page *r)
{
    const fsim_timeline when = fsim_timeline_of(r->g, r->plan, r->a);
    const double hidden = r->plan->time_s - when.makespan_s;
    const char *what = when.busy_s[FSIM_LANE_TRANSFER] == 0        ? "communication"
                       : when.busy_s[FSIM_LANE_COMMUNICATION] == 0 ? "transfers"
                                                                   : "communication and transfers";
    if (hidden > 0)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 0,
                       fsim_printf(r->a,
                                   "It overlaps %s of %s with computation and ends after %s; %s is the sum of its "
                                   "kernels, which the search minimises.",
                                   fsim_seconds_text(r->a, hidden), what, fsim_seconds_text(r->a, when.makespan_s),
                                   fsim_seconds_text(r->a, r->plan->time_s)));
}

/* Where fusing whatever is legal is slower than eager, or else than unfused: by how much, and whether that is certain.
 */
static void fuse_everything(const fsim_text_page *r)
{
    static const fsim_strategy bases[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_UNFUSED};
    const fsim_prediction *p = r->p;
    const double maximal_s = p->plan[FSIM_STRATEGY_MAXIMAL].time_s; /* 0 where there was no time for it */
    for (int i = 0; i < 2 && p->chosen != FSIM_STRATEGY_MAXIMAL; i++) {
        const double base_s = p->plan[bases[i]].time_s;
        if (!(maximal_s > base_s * (1 + same)))
            continue;
        const fsim_contest c =
            fsim_contest_of(p, fsim_plan_of(p, FSIM_STRATEGY_MAXIMAL), fsim_plan_of(p, bases[i]), r->a);
        const char *name = fsim_strategy_names[bases[i]];
        if (c.verdict == FSIM_NO_DIFFERENCE)
            fsim_paragraph(&r->page, FSIM_PLAIN, 0, 0,
                           fsim_printf(r->a,
                                       "Whether fusing whatever is legal hurts is too close to call: maximal is "
                                       "predicted %s slower than %s.",
                                       fsim_percent_text(r->a, maximal_s / base_s - 1), name));
        else
            fsim_paragraph(&r->page, FSIM_BAD, 0, 0,
                           fsim_printf(r->a, "Fusing whatever is legal hurts: maximal %s.",
                                       slower_text(r, maximal_s / base_s, c.likely, name)));
        return;
    }
}

/* Where the GPU lacks the memory: what the plan needs of it, and when it needs most. */
static void does_not_fit(const fsim_text_page *r)
{
    const fsim_memory_use use = fsim_memory_of(r->g, r->plan, r->a);
    if (fsim_plan_fits(r->p, r->p->chosen))
        return;
    fsim_paragraph(
        &r->page, FSIM_BAD, 0, 0,
        fsim_printf(r->a, "Does not fit: %s needs %s. %s of it are weights, %s activations%s.",
                    fsim_strategy_names[r->p->chosen], fsim_memory_text(r->p, r->p->chosen, r->a),
                    fsim_bytes_text(r->a, (double)use.weight_bytes),
                    fsim_bytes_text(r->a, (double)use.activation_bytes),
                    use.workspace_bytes == 0
                        ? ""
                        : fsim_printf(r->a, ", %s partial sums", fsim_bytes_text(r->a, (double)use.workspace_bytes))));
    if (use.tensor >= 0)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 0,
                       fsim_printf(r->a,
                                   "Most is in use while kernel %d runs; the largest intermediate then is '%s', %s.",
                                   use.kernel + 1, r->g->tensor[use.tensor].name,
                                   fsim_bytes_text(r->a, (double)r->g->tensor[use.tensor].bytes)));
}

void fsim_text_verdict(const fsim_text_page *r)
{
    fsim_emphasis emphasis;
    const char *eager = fsim_text_against_eager(r, &emphasis);
    fputc('\n', r->page.out);
    does_not_fit(r);
    fsim_paragraph(&r->page, emphasis, 0, 0, eager);
    fsim_paragraph(&r->page, FSIM_PLAIN, 0, 0,
                   fsim_printf(r->a, "%s takes %s in %s with %s of DRAM traffic (eager: %s)%s: %s.",
                               fsim_strategy_names[r->p->chosen], time_text(r->p, r->p->chosen, r->a),
                               fsim_text_count(r->a, r->plan->kernels, "kernel"), fsim_text_dram(r->a, r->plan),
                               fsim_text_dram(r->a, &r->p->plan[FSIM_STRATEGY_EAGER]), memory_text(r),
                               fsim_text_how_sure(r)));
    if (r->p->least_memory_bytes > 0)
        fsim_paragraph(&r->page, FSIM_BAD, 0, 0,
                       fsim_printf(r->a, "No plan was found that needs at most %s: the least found is %s.",
                                   fsim_bytes_text(r->a, (double)r->p->options.memory_limit),
                                   fsim_bytes_text(r->a, (double)r->p->least_memory_bytes)));
    const fsim_coverage coverage = fsim_coverage_of(r->g, r->a);
    if (coverage.unknown > 0)
        fsim_paragraph(&r->page, FSIM_BAD, 0, 0, fsim_printf(r->a, "%s.", fsim_coverage_text(&coverage, r->a)));
    overlap(r);
    fuse_everything(r);
}

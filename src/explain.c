/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: two primitives, together and apart. */
#include "predict.h"

#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "plan/price/price.h"
#include "plan/price/progress.h"
#include "plan/price/sdpa.h"
#include <math.h>
#include <stdlib.h>

static fsim_plan best_with(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_node_set set,
                           bool fuse, fsim_arena *a)
{
    fsim_graph changed = *g;
    int *count = fuse ? &changed.fuses : &changed.separates;
    fsim_node_set **list = fuse ? &changed.fuse : &changed.separate, *longer = fsim_new(a, fsim_node_set, *count + 1);
    for (int i = 0; i < *count; i++)
        longer[i] = (*list)[i];
    longer[(*count)++] = set;
    *list = longer;
    fsim_graph *kept = fsim_new(a, fsim_graph, 1);
    *kept = changed;
    fsim_problem p = fsim_problem_of(kept, hw, options, a);
    fsim_start_clock(&p, options);
    fsim_plan plan;
    fsim_proof proof;
    fsim_best(&p, NULL, 0, a, &plan, &proof);
    if (kept->calls)
        fsim_plan_calling(&p, &plan, a);
    fsim_progress_end(&p);
    return plan;
}

/* A plan with both in one kernel, though they may not share one in which both are at home: one of them is computed in
 * another kernel too. */
static fsim_plan best_with_copy(const fsim_problem *p, const fsim_options *options, const int pair[2], fsim_arena *a)
{
    fsim_options half = *options;
    half.time_limit_s = options->time_limit_s / 2;
    fsim_plan best = {0};
    for (int i = 0; i < 2 && p->recompute; i++) {
        int *node = fsim_new(a, int, 2);
        node[0] = pair[1 - i];
        node[1] = pair[i];
        if (!fsim_may_clone(p, pair[i]))
            continue;
        const fsim_plan plan =
            best_with(p->graph, p->hw, &half, (fsim_node_set){.count = 2, .node = node, .led = true}, true, a);
        if (plan.kernels > 0 && (best.kernels == 0 || plan.objective < best.objective))
            best = plan;
    }
    return best;
}

/* Which of two primitives the plan computes in a kernel without the other, -1: neither. */
static int computed_besides(const fsim_plan *plan, int a, int b)
{
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        const bool has_a = fsim_position(part->node, part->count, a) >= 0,
                   has_b = fsim_position(part->node, part->count, b) >= 0;
        if (has_a != has_b)
            return has_a ? a : b;
    }
    return -1;
}

static const fsim_kernel **kernels_of(const fsim_plan *plan, const int *which, int count, fsim_arena *a)
{
    const fsim_kernel **out = fsim_new(a, const fsim_kernel *, count + 1);
    for (int i = 0; i < count; i++)
        out[i] = &plan->kernel[which[i]];
    return out;
}

/* What becomes slower from plan `best` to `other` where primitive n is computed. */
static fsim_cause cause_at(const fsim_graph *g, const fsim_plan *best, const fsim_plan *other, int n, fsim_arena *a)
{
    fsim_difference *place;
    const int places = fsim_compare(g, other, best, a, &place);
    for (int i = 0; i < places; i++)
        for (int k = 0; k < place[i].mines; k++) {
            const fsim_part *part = &other->partition.part[place[i].mine[k]];
            if (bsearch(&n, part->node, (size_t)part->count, sizeof n, fsim_by_int))
                return fsim_cause_of(g, kernels_of(best, place[i].other, place[i].others, a), place[i].others,
                                     kernels_of(other, place[i].mine, place[i].mines, a), place[i].mines);
        }
    return (fsim_cause){.node = -1};
}

/* Upper bounds of what one kernel for both could save: what they exchange through DRAM, and a launch. */
static void at_most(const fsim_graph *g, const fsim_hw *hw, const fsim_plan *best, fsim_explanation *e)
{
    for (int k = 0; k < best->kernels; k++)
        for (int i = 0; i < best->kernel[k].inputs; i++) {
            const fsim_tensor *t = &g->tensor[best->kernel[k].input[i].tensor];
            const int from = t->producer, to = from == e->a ? e->b : e->a;
            if ((from != e->a && from != e->b) ||
                !bsearch(&to, t->reader, (size_t)t->readers, sizeof to, fsim_by_int) ||
                !bsearch(&to, best->partition.part[k].node, (size_t)best->partition.part[k].count, sizeof to,
                         fsim_by_int))
                continue;
            e->exchange = true;
            e->saving_bytes += fsim_exchanged_bytes(g, &best->kernel[k].input[i]);
            e->saving_s = best->kernel[k].time[FSIM_LAUNCH];
            for (int m = 0; m < best->kernels && t->readers == 1 && !t->output && !t->materialize; m++)
                for (int o = 0; o < best->kernel[m].outputs; o++)
                    e->saving_bytes +=
                        &g->tensor[best->kernel[m].output[o].tensor] == t ? best->kernel[m].output[o].write_bytes : 0;
        }
    e->saving_s += (double)e->saving_bytes / fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
}

/* The interval of the seconds of plan x over those of y, both with fusesim's kernels. */
static fsim_interval likely_ratio(const fsim_software *s, const fsim_plan *x, const fsim_plan *y, fsim_arena *a)
{
    const fsim_plan_errors errors = fsim_errors_of(s, x, a), others = fsim_errors_of(s, y, a);
    return fsim_ratio_interval(&errors, &others, x->time_s / y->time_s, a);
}

/* Of two primitives, the one that each kernel with both computes again; -1 where there is none. */
static int computed_again(const fsim_plan *plan, int a, int b)
{
    int again = -1;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        int met = 0, clone = -1;
        for (int i = 0; i < part->count; i++) {
            met += part->node[i] == a || part->node[i] == b;
            clone = (part->node[i] == a || part->node[i] == b) && part->clone[i] ? part->node[i] : clone;
        }
        if (met == 2 && clone < 0)
            return -1;
        again = met == 2 ? clone : again;
    }
    return again;
}

/* Is the kernel with both a call of a library: of a serving stack, or what an attention's backward pass is joined to?
 */
static bool in_call(const fsim_plan *plan, int a, int b)
{
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        if (bsearch(&a, part->node, (size_t)part->count, sizeof a, fsim_by_int) &&
            bsearch(&b, part->node, (size_t)part->count, sizeof b, fsim_by_int) &&
            (plan->kernel[k].template == FSIM_SERVING_KERNEL || (plan->priced && !plan->candidate[k])))
            return true;
    }
    return false;
}

/* What the list of refusals says of the kernels of a and b in the optimal plan. NULL: nothing. */
static const fsim_priced_refusal *of_their_kernels(const fsim_prediction *p, int a, int b)
{
    const fsim_plan *best = &p->plan[FSIM_STRATEGY_OPTIMAL];
    for (int i = 0; i < p->refusals && p->chosen == FSIM_STRATEGY_OPTIMAL; i++) {
        const fsim_priced_refusal *r = &p->refusal[i];
        if (r->b >= 0 && ((fsim_shares_kernel(best, r->a, a) && fsim_shares_kernel(best, r->b, b)) ||
                          (fsim_shares_kernel(best, r->a, b) && fsim_shares_kernel(best, r->b, a))))
            return r;
    }
    return NULL;
}

fsim_explanation fsim_explain(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, int a, int b,
                              fsim_arena *arena)
{
    fsim_options half = *options; /* there are two searches */
    half.time_limit_s = options->time_limit_s / 2;
    fsim_prediction now = fsim_predict(g, hw, &half, arena);
    if (now.graph != g) {
        const int x = fsim_find_node(now.graph, g->node[a].name), y = fsim_find_node(now.graph, g->node[b].name);
        half.as_read = x < 0 || y < 0;
        if (half.as_read) {
            now = fsim_predict(g, hw, &half, arena);
        } else {
            a = x;
            b = y;
        }
        g = now.graph;
    }
    const fsim_plan *best = &now.plan[FSIM_STRATEGY_OPTIMAL];
    fsim_problem p = fsim_problem_of(g, hw, options, arena);
    fsim_explanation e = {.graph = g, .a = a, .b = b};
    int *pair = fsim_new(arena, int, 2);
    pair[0] = a < b ? a : b;
    pair[1] = a < b ? b : a;
    const fsim_node_set set = {.count = 2, .node = pair};
    fsim_pair_refusal refused;
    e.legal = fsim_pair_allowed(&p, a, b, arena, &refused);
    e.between = refused.between;
    e.why = refused.why;
    e.barred = refused.barred;
    e.joined = refused.joined;
    e.together = fsim_shares_kernel(best, a, b);
    e.again = computed_again(best, a, b);
    e.call = in_call(best, a, b);
    fsim_plan forced = e.together ? *best : best_with(g, hw, &half, set, true, arena);
    if (!e.legal && !e.together && forced.kernels == 0)
        forced = best_with_copy(&p, &half, pair, arena);
    const fsim_plan apart = e.together ? best_with(g, hw, &half, set, false, arena) : *best;
    e.best_s = best->time_s;
    e.best_bytes = best->dram_read_bytes + best->dram_write_bytes;
    e.forced_found = forced.kernels > 0 && fsim_shares_kernel(&forced, a, b);
    e.forced_again = e.forced_found && !e.together ? computed_besides(&forced, a, b) : -1;
    e.others = !e.legal && e.forced_found && !e.call && e.again < 0 && e.forced_again < 0;
    e.legal = e.legal || e.others;
    e.forced_s = e.forced_found ? forced.time_s : NAN;
    e.forced_bytes = e.forced_found ? forced.dram_read_bytes + forced.dram_write_bytes : 0;
    const bool apart_found = apart.kernels > 0 && !fsim_shares_kernel(&apart, a, b);
    e.apart_s = apart_found ? apart.time_s : NAN;
    e.apart_bytes = apart_found ? apart.dram_read_bytes + apart.dram_write_bytes : 0;
    e.cause.node = -1;
    e.other_found = e.together ? apart_found : e.forced_found;
    if (e.other_found)
        e.other_likely = likely_ratio(&(fsim_software){g, hw, options->regime, FSIM_BY_FUSESIM},
                                      e.together ? &apart : &forced, best, arena);
    if (e.other_found)
        e.cause = cause_at(g, best, e.together ? &apart : &forced, b, arena);
    if (!e.legal && !e.together)
        at_most(g, hw, best, &e);
    if (e.legal && !e.together)
        e.kernels = of_their_kernels(&now, a, b);
    return e;
}

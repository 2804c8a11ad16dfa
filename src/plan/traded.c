/* SPDX-License-Identifier: Apache-2.0 */
/* traded.c: what is known of a step of training whose memory is short. Every plan that somebody has is a candidate: of
 * each strategy the partition, of each form of the derivatives the fastest plan, the fastest around calls of a library,
 * those that compute each layer again (--checkpoint), and what values given up make of them; each launched in the order
 * that needs the least memory, and as it is. */
#include "plan/traded.h"

#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/rivals/rivals.h"
#include "plan/search/again.h"
#include "plan/search/budget.h"
#include "plan/search/lists.h"
#include <math.h>

#define SHORTEST_STEPS (FSIM_USUAL_STEPS / 10) /* that a search in addition may take */

void fsim_limit_addition(const fsim_traded *x, fsim_problem *p)
{
    const int64_t most = x && x->proof.steps > SHORTEST_STEPS ? x->proof.steps : SHORTEST_STEPS;
    p->search_steps = !x || p->search_steps < most ? p->search_steps : most;
}

/* The problem of another graph. */
static fsim_problem of_graph(const fsim_problem *p, const fsim_graph *g, fsim_arena *a)
{
    fsim_problem q = *p;
    q.graph = q.limits.graph = g;
    q.store = fsim_store_new(a);
    return q;
}

static void add(fsim_traded *x, const fsim_plan *plans, int count)
{
    x->count = fsim_front_of(x->list, fsim_add_plans(x->list, x->count, plans, count));
    x->count = fsim_thin_front(x->list, x->count, FSIM_MOST_TRADED);
}

/* Offers a partition of the graph, with fusesim's kernels, in both orders; around calls of a library where that is
 * faster, and where memory is the objective around all of them. */
static void offer(const fsim_problem *p, const fsim_graph *g, const fsim_partition *partition, fsim_traded *x,
                  fsim_arena *a)
{
    fsim_problem q = of_graph(p, g, a);
    for (int way = 0; way < (g->calls ? 4 : 2); way++) {
        fsim_plan plan;
        fsim_refusal why;
        q.lean = way % 2 == 0;
        q.objective = way < 2 ? p->objective : FSIM_MINIMISE_MEMORY;
        if (!fsim_price(&q, partition, a, &plan, &why))
            return;
        if (g->calls)
            fsim_plan_calling(&q, &plan, a);
        q.objective = p->objective;
        fsim_add_up_plan(&q, &plan, a);
        add(x, &plan, 1);
    }
}

/* Offers the plan, and what is made of it where values are given up. */
static void offer_again(const fsim_problem *p, const fsim_plan *plan, fsim_traded *x, fsim_arena *a)
{
    fsim_plan more[FSIM_MOST_TRADED + 1];
    offer(p, plan->graph, fsim_priced_partition(plan), x, a);
    const fsim_problem q = of_graph(p, plan->graph, a);
    add(x, more, fsim_plans_again(&q, plan, FSIM_MOST_TRADED, a, more));
}

/* Offers the fastest plan around calls of a library, and what is made of it. */
static void offer_calling(const fsim_problem *p, const fsim_graph *called, fsim_traded *x, fsim_arena *a)
{
    fsim_problem q = of_graph(p, called, a);
    fsim_plan plan;
    fsim_proof proof;
    double bound_s = 0;
    fsim_limit_addition(x, &q);
    if (called->derived == FSIM_REVERSE && called->calls && fsim_best_calling(&q, a, &plan, &proof, &bound_s))
        offer_again(p, &plan, x, a);
}

/* Offers what is planned where each layer is computed again: the fastest plan, and those that PyTorch launches. */
static void offer_checkpointed(const fsim_problem *p, fsim_traded *x, fsim_arena *a)
{
    static const fsim_strategy rival[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_INDUCTOR};
    const fsim_graph *g = fsim_graph_checkpointed(p->graph, a);
    if (!g || !p->recompute)
        return;
    const fsim_graph *called = x->called == p->graph ? g : fsim_sdpa_graph(g, p->hw, FSIM_BY_ATEN, a);
    fsim_problem q = of_graph(p, called, a);
    fsim_plan plan;
    fsim_proof proof;
    for (size_t i = 0; i < sizeof rival / sizeof *rival; i++) {
        fsim_baseline_in_time(&q, rival[i], a, &plan);
        if (plan.kernels > 0)
            offer(p, called, fsim_priced_partition(&plan), x, a);
    }
    fsim_limit_addition(x, &q);
    fsim_optimal(&q, NULL, 0, a, &plan, &proof);
    if (plan.kernels > 0)
        offer(p, called, fsim_priced_partition(&plan), x, a);
}

/* Plans that give values up for their backward pass and compute them again, and the fastest ones of which they are made
 * (x->ways, the best of them in x->best with what is proven of it), the front of all in x->list. */
static void trade_time(const fsim_problem *p, fsim_traded *x, fsim_arena *a)
{
    static const double searched = 0.5; /* share of the time for the fastest plans */
    fsim_problem fastest = *p, part;
    fastest.objective = FSIM_MINIMISE_TIME;
    fastest.memory_limit = 0;
    part = fsim_with_share(&fastest, searched);
    x->ways = fsim_best_ways(&part, x->known, x->knowns, a, &x->best, &x->proof);
    for (int s = 0; s < x->rivals; s++)
        if (x->rival[s].kernels > 0 && !p->graph->unreduced == !x->rival[s].graph->unreduced)
            offer(&fastest, x->rival[s].graph, fsim_priced_partition(&x->rival[s]), x, a);
    part = fsim_with_share(&fastest, searched);
    offer_checkpointed(&part, x, a);
    if (x->called != p->graph) {
        part = fsim_with_share(&fastest, searched);
        offer_calling(&part, x->called, x, a);
    }
    for (int i = 0; i < x->ways.count; i++) {
        part = fsim_with_share(&fastest, 1. / (x->ways.count - i));
        if (x->ways.tried[i].plan.kernels > 0)
            offer_again(&part, &x->ways.tried[i].plan, x, a);
    }
}

/* A bound of the memory of every plan, values that are computed again or not: what is in memory at its end. */
static fsim_sum least_at_end(const fsim_graph *g)
{
    fsim_sum bytes = 0;
    for (int t = 0; t < g->own_tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        const bool given = x->producer < 0 && (x->readers > 0 || x->output) && !x->after_outputs;
        bytes += x->storage == t && x->over < 0 && !x->renews && (given || x->lasting) ? x->bytes : 0;
    }
    return bytes;
}

/* The best plan of all that were found, and what is proven of it. */
static void choose_traded(const fsim_problem *p, const fsim_traded *x, fsim_plan *best, fsim_proof *proof,
                          fsim_arena *a)
{
    for (int i = 0; i < x->count; i++) {
        fsim_plan plan = x->list[i];
        const fsim_problem q = of_graph(p, plan.graph, a);
        fsim_add_up_plan(&q, &plan, a); /* in the objective's unit */
        if (fsim_compare_plans(p, &plan, best) < 0)
            *best = plan;
    }
    best->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
    if (p->objective == FSIM_MINIMISE_BYTES || !p->recompute) /* what is proven of all partitions holds */
        return;
    const bool memory = p->objective == FSIM_MINIMISE_MEMORY;
    const double found = memory ? (double)best->peak_memory_bytes : best->time_s,
                 bound = memory ? (double)least_at_end(p->graph) : x->proof.lower_bound;
    proof->lower_bound = fmin(found, bound);
    proof->proven =
        bound >= found * (1 - 1e-12) && (p->memory_limit == 0 || best->peak_memory_bytes <= p->memory_limit);
}

void fsim_best_traded(fsim_problem *p, fsim_traded *x, fsim_plan *best, fsim_proof *proof, fsim_arena *a)
{
    fsim_problem part = fsim_with_share(p, 0.6);
    trade_time(&part, x, a);
    *best = x->best;
    *proof = x->proof;
    if (p->objective == FSIM_MINIMISE_TIME && (p->memory_limit == 0 || best->peak_memory_bytes <= p->memory_limit))
        return;
    part = *p;
    fsim_limit_addition(x, &part);
    x->ways = fsim_best_ways(&part, x->known, x->knowns, a, best, proof);
    choose_traded(p, x, best, proof, a);
}

fsim_sum fsim_least_memory(fsim_problem *p, const fsim_plan *best, const fsim_traded *x, fsim_arena *a)
{
    if (p->memory_limit == 0 || (best->kernels > 0 && best->peak_memory_bytes <= p->memory_limit))
        return 0;
    if (x)
        return x->count > 0 && (best->kernels == 0 || x->list[x->count - 1].peak_memory_bytes < best->peak_memory_bytes)
                   ? x->list[x->count - 1].peak_memory_bytes
                   : best->peak_memory_bytes;
    fsim_problem least = *p;
    fsim_plan plan;
    fsim_proof proof;
    least.objective = FSIM_MINIMISE_MEMORY;
    least.memory_limit = 0;
    fsim_best(&least, NULL, 0, a, &plan, &proof);
    fsim_sum found = plan.peak_memory_bytes;
    if (best->kernels > 0 && best->peak_memory_bytes < found)
        found = best->peak_memory_bytes;
    return found;
}

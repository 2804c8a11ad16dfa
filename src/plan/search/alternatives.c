/* SPDX-License-Identifier: Apache-2.0 */
/* alternatives.c: the best few plans, the Pareto front of time and peak memory, and the best plan under a memory
 * limit. */
#include "plan/search/search.h"

#include "plan/price/deadline.h"
#include "plan/search/frontier.h"
#include <math.h>
#include <string.h>

enum {
    EVERY_CLONE_MOST = 32, /* largest graph for which every partition is considered */
    KEPT_FRONT = 48        /* partial plans kept for each state when the front is computed */
};

static fsim_sum objective_of(const fsim_problem *p, const fsim_plan *plan)
{
    return p->objective == FSIM_MINIMISE_MEMORY ? plan->peak_memory_bytes : plan->objective;
}

static bool fits(const fsim_problem *p, const fsim_plan *plan)
{
    return p->memory_limit == 0 || plan->peak_memory_bytes <= p->memory_limit;
}

static fsim_sum ticks_of(const fsim_plan *plan) { return fsim_ticks(plan->time_s); }

/* Orders plans: those within the memory limit first, then by objective, then by time. */
static bool better(const fsim_problem *p, const fsim_plan *x, const fsim_plan *y)
{
    if (fits(p, x) != fits(p, y))
        return fits(p, x);
    if (!fits(p, x) && x->peak_memory_bytes != y->peak_memory_bytes)
        return x->peak_memory_bytes < y->peak_memory_bytes;
    if (objective_of(p, x) != objective_of(p, y))
        return objective_of(p, x) < objective_of(p, y);
    return ticks_of(x) < ticks_of(y);
}

static bool same_groups(const fsim_partition *x, const fsim_partition *y)
{
    bool same = x->parts == y->parts;
    for (int i = 0; i < x->parts && same; i++)
        same = x->part[i].count == y->part[i].count &&
               memcmp(x->part[i].node, y->part[i].node, (size_t)x->part[i].count * sizeof(int)) == 0;
    return same;
}

/* The plans found so far. front: none of them is dominated by another; otherwise the best `most` plans. */
typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    fsim_plan *plan;
    int count, most;
    bool front;
    fsim_sum limit; /* partitions that cost this much or more need not be visited */
    fsim_sum fixed; /* bytes that every plan needs */
    fsim_sum least,
        fastest; /* of all partitions visited: lowest peak in bytes, and cost of the first one within the limit; -1 */
    fsim_sum bound; /* a lower bound of the cost of every partition, whatever memory it needs */
} list;

static bool dominates(const fsim_plan *x, const fsim_plan *y)
{
    return ticks_of(x) <= ticks_of(y) && x->peak_memory_bytes <= y->peak_memory_bytes;
}

/* The index at which the plan belongs in the list; -1: it does not. */
static int place_of(list *w, const fsim_plan *plan)
{
    int at = w->count, kept = 0;
    for (int i = 0; i < w->count; i++)
        if (w->front ? dominates(&w->plan[i], plan) : same_groups(&w->plan[i].partition, &plan->partition))
            return -1;
    if (w->front) {
        for (int i = 0; i < w->count; i++)
            if (!dominates(plan, &w->plan[i]))
                w->plan[kept++] = w->plan[i];
        at = w->count = kept;
    }
    while (at > 0 && (w->front ? ticks_of(plan) < ticks_of(&w->plan[at - 1]) : better(w->p, plan, &w->plan[at - 1])))
        at--;
    return at < w->most ? at : -1;
}

/* Prices the partition and adds it to the list if it belongs there. */
static void offer(list *w, const fsim_partition *part)
{
    const fsim_mark mark = fsim_save(w->a);
    fsim_plan plan;
    fsim_refusal why;
    const int at = fsim_price(w->p, part, w->a, &plan, &why) ? place_of(w, &plan) : -1;
    if (at < 0) {
        fsim_rewind(w->a, mark);
        return;
    }
    plan.strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
    w->count += w->count < w->most;
    memmove(&w->plan[at + 1], &w->plan[at], (size_t)(w->count - 1 - at) * sizeof *w->plan);
    w->plan[at] = plan;
    if (!w->front && w->count == w->most)
        w->limit = objective_of(w->p, &w->plan[w->count - 1]);
}

static bool visit(void *to, const fsim_partition *part)
{
    offer(to, part);
    return true;
}

static bool visit_front(void *to, const fsim_partition *part, fsim_sum spent, fsim_sum peak)
{
    list *w = to;
    w->least = w->least < 0 || peak < w->least ? peak : w->least;
    if (w->fastest < 0 && (w->p->memory_limit == 0 || peak + w->fixed <= w->p->memory_limit))
        w->fastest = spent;
    offer(w, part);
    return true;
}

/* Bytes of inputs, weights and outputs, which every plan needs. */
static fsim_sum fixed_bytes(const fsim_graph *g)
{
    fsim_sum bytes = 0;
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].storage == t && g->tensor[t].over < 0 &&
            (g->tensor[t].producer < 0 ? g->tensor[t].readers > 0 || g->tensor[t].output : g->tensor[t].lasting))
            bytes += g->tensor[t].bytes;
    return bytes;
}

static fsim_frontier *whole_graph(fsim_problem *p, fsim_thoroughness how, const fsim_budget *budget, fsim_arena *a)
{
    int *node = fsim_new(a, int, p->graph->nodes + 1);
    for (int n = 0; n < p->graph->nodes; n++)
        node[n] = n;
    return fsim_frontier_of(p, node, p->graph->nodes, how, budget, a);
}

int fsim_top(fsim_problem *p, int count, fsim_arena *a, fsim_plan *out)
{
    fsim_arena *scratch = fsim_arena_new();
    list w = {.p = p, .a = a, .plan = fsim_new(scratch, fsim_plan, count + 2), .most = count, .limit = FSIM_SUM_MOST};
    fsim_spent spent;
    fsim_plan best;
    fsim_proof proof;
    fsim_problem half = fsim_with_share(p, 0.5);
    const fsim_budget budget = fsim_budget_of(p, &spent);
    fsim_optimal(&half, NULL, 0, scratch, &best, &proof);
    if (best.kernels > 0)
        offer(&w, &best.partition);
    fsim_frontier *f =
        whole_graph(p, p->graph->nodes <= EVERY_CLONE_MOST ? FSIM_EVERY_CLONE : FSIM_BEST_ONLY, &budget, scratch);
    fsim_frontier_each(f, &w.limit, &budget, visit, &w);
    memcpy(out, w.plan, (size_t)w.count * sizeof *out);
    fsim_arena_free(scratch);
    return w.count;
}

/* Offers every partition that no other beats in both relaxed time and memory. True where none was left out. */
static bool offer_front(list *w, fsim_arena *scratch)
{
    fsim_spent spent;
    const fsim_budget budget = fsim_budget_of(w->p, &spent);
    fsim_problem by_time = *w->p;
    by_time.objective = FSIM_MINIMISE_TIME;
    w->fixed = fixed_bytes(w->p->graph);
    w->least = w->fastest = -1;
    fsim_frontier *f = whole_graph(&by_time, FSIM_EVERY_ORDER, &budget, scratch);
    w->bound = fsim_frontier_bound(f);
    /* the front does not consider that a result may be freed and computed again by its last reader */
    return fsim_frontier_front(f, KEPT_FRONT, &budget, visit_front, w) && !fsim_frontier_recomputes(f);
}

int fsim_pareto(fsim_problem *p, int most, fsim_arena *a, fsim_plan *out)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_problem lean = *p, half = fsim_with_share(p, 0.5);
    lean.lean = half.lean = true;
    list w = {.p = &lean, .a = a, .plan = fsim_new(scratch, fsim_plan, most + 2), .most = most, .front = true};
    fsim_plan best;
    fsim_proof proof;
    lean.objective = half.objective = FSIM_MINIMISE_TIME;
    fsim_optimal(&half, NULL, 0, scratch, &best, &proof);
    if (best.kernels > 0)
        offer(&w, &best.partition);
    offer_front(&w, scratch);
    memcpy(out, w.plan, (size_t)w.count * sizeof *out);
    fsim_arena_free(scratch);
    return w.count;
}

void fsim_best_in_memory(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out,
                         fsim_proof *proof)
{
    fsim_arena *scratch = fsim_arena_new();
    const bool memory = p->objective == FSIM_MINIMISE_MEMORY;
    fsim_problem lean = *p, free = fsim_with_share(p, 1. / 3);
    lean.lean = true;
    free.memory_limit = 0;
    free.objective = memory ? FSIM_MINIMISE_TIME : p->objective;
    list w = {.p = &lean, .a = a, .plan = fsim_new(scratch, fsim_plan, 3), .most = 1};
    fsim_optimal(&free, NULL, 0, scratch, out, proof);
    if (!memory && out->kernels > 0 && fits(p, out)) { /* the limit excludes nothing */
        free.until_s = p->until_s;
        fsim_optimal(&free, known, count, a, out, proof);
        fsim_arena_free(scratch);
        return;
    }
    if (out->kernels > 0)
        offer(&w, &out->partition);
    for (int i = 0; i < count; i++)
        if (known[i].kernels > 0)
            offer(&w, &known[i].partition);
    const bool whole = offer_front(&w, scratch);
    *out = w.count > 0 ? w.plan[0] : (fsim_plan){0};
    if (memory)
        out->objective = out->peak_memory_bytes;
    /* For the objective memory: a bound of the peak over all orders. Under a memory limit: the cost of the fastest
     * partition that could meet it bounds time. */
    const double floor = memory ? (double)(w.fixed + (whole && w.least > 0 ? w.least : 0))
                         : p->objective != FSIM_MINIMISE_TIME
                             ? 0
                             : (double)(whole && w.fastest >= 0 ? w.fastest : w.bound) * FSIM_TICK_S;
    const double objective = memory                                ? (double)out->peak_memory_bytes
                             : p->objective == FSIM_MINIMISE_BYTES ? (double)out->objective
                                                                   : out->time_s;
    proof->proven = out->kernels > 0 && fits(p, out) && floor >= objective * (1 - 1e-12);
    proof->lower_bound = proof->proven ? objective : fmin(floor, objective);
    fsim_arena_free(scratch);
}

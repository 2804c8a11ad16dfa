/* SPDX-License-Identifier: Apache-2.0 */
/* alternatives.c: the best few plans, the front of time against memory, and the best plan under a memory limit: of all partitions where they are few, else of those one cut or one
 * fusion away from the optimum. */
#include "search/search.h"

#include "search/space.h"
#include <math.h>
#include <string.h>

enum { PARTITIONS_PER_SECOND = 50000, LISTED_NODES = 14, MOST_CUTS = 8, MOST_CHANGES = 400 };

static int64_t objective_of(const fsim_problem *p, const fsim_plan *plan)
{
    return p->objective == FSIM_MINIMISE_MEMORY ? plan->peak_memory_bytes : plan->objective;
}

static bool fits(const fsim_problem *p, const fsim_plan *plan) { return p->memory_limit == 0 || plan->peak_memory_bytes <= p->memory_limit; }

static int64_t ticks_of(const fsim_plan *plan) { return llrint(plan->time_s / FSIM_TICK_S); }

/* Plans that keep to the limit first, then by objective, then by time. */
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
        same = x->part[i].count == y->part[i].count && memcmp(x->part[i].node, y->part[i].node, (size_t)x->part[i].count * sizeof(int)) == 0;
    return same;
}

/* A list of plans under way. front: none of them is dominated by another; else the `most` best. */
typedef struct {
    const fsim_problem *p;
    fsim_arena *a;
    fsim_plan *plan;
    int count, most;
    bool front;
} list;

static void insert(list *w, int at, const fsim_plan *plan)
{
    fsim_refusal why;
    fsim_plan kept; /* plan's own memory goes with its partition */
    if (!fsim_price(w->p, &plan->partition, w->a, &kept, &why))
        return;
    kept.strategy = plan->strategy ? plan->strategy : fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
    w->count += w->count < w->most;
    memmove(&w->plan[at + 1], &w->plan[at], (size_t)(w->count - 1 - at) * sizeof *w->plan);
    w->plan[at] = kept;
}

static bool dominates(const fsim_plan *x, const fsim_plan *y)
{
    return ticks_of(x) <= ticks_of(y) && x->peak_memory_bytes <= y->peak_memory_bytes;
}

static void offer_to_front(list *w, const fsim_plan *plan)
{
    int at = 0, kept = 0;
    for (int i = 0; i < w->count; i++)
        if (dominates(&w->plan[i], plan))
            return;
    for (int i = 0; i < w->count; i++)
        if (!dominates(plan, &w->plan[i]))
            w->plan[kept++] = w->plan[i];
    w->count = kept;
    while (at < w->count && ticks_of(&w->plan[at]) < ticks_of(plan))
        at++;
    if (at < w->most)
        insert(w, at, plan);
}

static void offer(list *w, const fsim_plan *plan)
{
    int at = w->count;
    if (w->front) {
        offer_to_front(w, plan);
        return;
    }
    for (int i = 0; i < w->count; i++)
        if (same_groups(&w->plan[i].partition, &plan->partition))
            return;
    while (at > 0 && better(w->p, plan, &w->plan[at - 1]))
        at--;
    if (at < w->most)
        insert(w, at, plan);
}

static bool emit(void *to, const fsim_plan *plan)
{
    list *w = to;
    offer(w, plan);
    return !(w->p->interrupted && *w->p->interrupted);
}

static bool is_group(const list *w, const fsim_part *part, fsim_arena *a)
{
    fsim_refusal why;
    return fsim_user_allows(w->p, part->node, part->count, &why) && fsim_connected(w->p->graph, part->node, part->count, a, &why) &&
           fsim_convex(w->p->graph, part->node, part->count, a, &why);
}

/* Offers base with part x replaced by `made`, and part y (-1: none) left out. */
static void offer_change(list *w, const fsim_partition *base, int x, int y, const fsim_part *made, int count, fsim_arena *a)
{
    fsim_partition changed = {0, fsim_new(a, fsim_part, base->parts + 2)};
    fsim_plan plan;
    fsim_refusal why;
    for (int i = 0; i < count; i++) {
        if (!is_group(w, &made[i], a))
            return;
        changed.part[changed.parts++] = made[i];
    }
    for (int i = 0; i < base->parts; i++)
        if (i != x && i != y)
            changed.part[changed.parts++] = base->part[i];
    if (fsim_price(w->p, &changed, a, &plan, &why))
        offer(w, &plan);
}

/* Offers what is one cut or one fusion away from base. */
static void offer_changes(list *w, const fsim_partition *base)
{
    int changes = 0;
    for (int x = 0; x < base->parts && !(w->p->interrupted && *w->p->interrupted); x++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_part *part = &base->part[x];
        for (int cut = 1; cut < part->count && cut <= MOST_CUTS && changes < MOST_CHANGES; cut++, changes++)
            offer_change(w, base, x, -1, (fsim_part[]){{cut, part->node, part->clone}, {part->count - cut, part->node + cut, part->clone + cut}}, 2, a);
        for (int y = x + 1; y < base->parts && y < x + MOST_CUTS && changes < MOST_CHANGES; y++, changes++) {
            const fsim_part *other = &base->part[y];
            fsim_part both = {0, fsim_new(a, int, part->count + other->count), fsim_new(a, bool, part->count + other->count)};
            for (int i = 0, k = 0; i < part->count || k < other->count;) {
                const bool left = k == other->count || (i < part->count && part->node[i] <= other->node[k]);
                const int n = left ? part->node[i++] : other->node[k++];
                if (both.count == 0 || both.node[both.count - 1] != n)
                    both.node[both.count++] = n;
            }
            offer_change(w, base, x, y, &both, 1, a);
        }
        fsim_arena_free(a);
    }
}

/* Offers every partition where they are few. True: that was all of them. */
static bool offer_all(list *w)
{
    bool truncated;
    if (w->p->graph->nodes > LISTED_NODES) {
        if (w->count > 0) {
            const fsim_plan base = w->plan[0];
            offer_changes(w, &base.partition);
        }
        return false;
    }
    const int64_t limit = (int64_t)fmax(1, fmin(w->p->time_limit_s, 1e6) * PARTITIONS_PER_SECOND);
    return fsim_enumerate(w->p, limit, emit, w, &truncated) >= 0 && !truncated;
}

/* The optimum of the other objective, which a list of few partitions of many might lack. */
static void offer_optimum(list *w, fsim_objective objective)
{
    fsim_problem p = *w->p;
    fsim_plan plan;
    fsim_proof proof;
    p.objective = objective;
    p.memory_limit = 0;
    fsim_optimal(&p, NULL, 0, w->a, &plan, &proof);
    if (plan.kernels > 0)
        offer(w, &plan);
}

int fsim_top(const fsim_problem *p, int count, fsim_arena *a, fsim_plan *out)
{
    list w = {.p = p, .a = a, .plan = fsim_new(a, fsim_plan, count + 1), .most = count};
    offer_optimum(&w, p->objective == FSIM_MINIMISE_BYTES ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME);
    offer_all(&w);
    memcpy(out, w.plan, (size_t)w.count * sizeof *out);
    return w.count;
}

int fsim_pareto(const fsim_problem *p, int most, fsim_arena *a, fsim_plan *out)
{
    list w = {.p = p, .a = a, .plan = fsim_new(a, fsim_plan, most + 1), .most = most, .front = true};
    offer_optimum(&w, FSIM_MINIMISE_TIME);
    offer_optimum(&w, FSIM_MINIMISE_BYTES);
    offer_all(&w);
    memcpy(out, w.plan, (size_t)w.count * sizeof *out);
    return w.count;
}

/* Inputs, weights and outputs are there whatever the plan. */
static int64_t memory_of_all_plans(const fsim_graph *g)
{
    int64_t bytes = 0;
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].storage == t && (g->tensor[t].output || (g->tensor[t].producer < 0 && g->tensor[t].readers > 0)))
            bytes += g->tensor[t].bytes;
    return bytes;
}

void fsim_best_in_memory(const fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out, fsim_proof *proof)
{
    fsim_problem free = *p;
    const bool memory = p->objective == FSIM_MINIMISE_MEMORY;
    list w = {.p = p, .a = a, .plan = fsim_new(a, fsim_plan, 2), .most = 1};
    free.memory_limit = 0;
    free.objective = memory ? FSIM_MINIMISE_TIME : p->objective;
    fsim_optimal(&free, known, count, a, out, proof);
    const double floor = memory ? (double)memory_of_all_plans(p->graph) : proof->lower_bound;
    if (memory ? out->peak_memory_bytes > (int64_t)floor : !fits(p, out)) {
        offer(&w, out);
        for (int i = 0; i < count; i++)
            if (known[i].kernels > 0)
                offer(&w, &known[i]);
        proof->proven = offer_all(&w);
        *out = w.plan[0];
    } else {
        proof->proven = proof->proven || memory;
    }
    out->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
    if (memory)
        out->objective = out->peak_memory_bytes;
    const double objective = memory ? (double)out->peak_memory_bytes : p->objective == FSIM_MINIMISE_BYTES ? (double)out->objective : out->time_s;
    proof->lower_bound = proof->proven ? objective : floor;
}

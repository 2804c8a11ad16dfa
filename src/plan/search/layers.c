/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c: what is proven of a graph with few equal layers holds for one with many.
 *
 * Let borders z - 1 and z be one period apart in the middle of a run. The search of the short graph has shown that
 * (1) the same fronts and states cross both, and their relaxed costs to the end differ by a constant;
 * (2) the excess of the borders from some border a up to z falls by a constant;
 * (3) the labels of the search from border a, and of the search from the start, are the same at both, up to a constant;
 * (4) what any of this looked at lies within the run.
 * Then a layer inserted between the two borders repeats what the search did there: by induction over the inserted
 * layers, the excess of each new border is at least that of the next one plus the constant of (2), because the search
 * from it is that from a with the layer between z - 1 and z repeated, and finds nothing cheaper; and the search from
 * the start ends with the same labels, costlier by the sum of both constants for each layer. */
#include "plan/search/layers.h"

#include "plan/search/cluster.h"
#include "plan/search/labels.h"
#include "plan/search/merge.h"
#include "plan/search/shorten.h"

enum {
    FEWEST_LAYERS = 4, /* that have to be saved */
    PLACES_KEPT = 128, /* of a run at first */
    LAYERS_KEPT = 5,
    LEAD_KEPT = 3 /* times the lead: layers next to it are not like the rest either */
};

typedef struct {
    fsim_problem *p;
    fsim_places l; /* of the whole graph */
    fsim_run run;
    const fsim_budget *budget;
    fsim_arena *a, *scratch;
    fsim_layered *out;
} layered;

static int *all_of(int count, fsim_arena *a)
{
    int *node = fsim_new(a, int, count + 1);
    for (int i = 0; i < count; i++)
        node[i] = i;
    return node;
}

static int crossing_label(const fsim_frontier *f, const l2_search *w, int at, int size)
{
    while (f->state[w->label[w->label[at].parent].state].ran >= size)
        at = w->label[at].parent;
    return at;
}

/* Adds the kernel of a step to the plan of the long graph, where its primitives are `by` later. */
static void add_kernel(layered *y, const fsim_frontier *f, const step *x, fsim_bits copies, int by)
{
    fsim_part part = fsim_part_at(f, x->root, x->set->own, copies, y->a);
    for (int i = 0; i < part.count; i++)
        part.node[i] += by;
    y->out->part.part[y->out->part.parts++] = part;
}

/* Adds the kernels of labels from `at` back to before `end`, in the long graph. by: how much later their primitives
 * are there. */
static void add_kernels(layered *y, const l2_search *w, int at, int end, int by)
{
    for (; at != end && w->label[at].by; at = w->label[at].parent)
        add_kernel(y, w->f, w->label[at].by, w->label[at].copies, by);
}

/* The plan of the long graph: the path of the search from the start, with the part between the labels that cross
 * borders z - 1 and z repeated. */
static void repeat_plan(layered *y, const l2_search *w, int z, int times, const int *pairs)
{
    const fsim_frontier *f = w->f;
    const int period = f->border[z] - f->border[z - 1];
    int at = crossing_label(f, w, w->best, f->border[z]);
    y->out->part = (fsim_partition){0, fsim_new(y->a, fsim_part, y->p->graph->nodes * 2 + 2)};
    add_kernels(y, w, w->best, at, times * period);
    for (int by = times; by > 0; by--) {
        const int before = crossing_label(f, w, at, f->border[z - 1]);
        int i = 0;
        add_kernels(y, w, at, before, by * period);
        while (pairs[2 * i] != before)
            i++;
        at = pairs[2 * i + 1];
    }
    add_kernels(y, w, at, -1, 0);
}

/* (3) for the search from the start, whose best plan costs `cost`. */
static bool repeats_from_start(layered *y, const fsim_frontier *f, fsim_sum cost, int removed)
{
    int *pairs;
    const int z = f->repeat.z, times = z > 0 ? removed / (f->border[z] - f->border[z - 1]) : 0;
    const fsim_sum constant = f->repeat.less + f->repeat.more;
    if (!f->proof || fsim_same_labels(f->proof, z - 1, constant, &pairs, y->scratch) <= 0)
        return false;
    repeat_plan(y, f->proof, z, times, pairs);
    y->out->bound = cost + constant * times;
    return true;
}

/* The plan of the long graph, from the path of least relaxed cost, where that crosses borders z - 1 and z in states
 * that are equal. */
static void repeat_relaxed(layered *y, const fsim_frontier *f, int z, int times)
{
    const int period = f->border[z] - f->border[z - 1];
    int last = f->last, before;
    while (f->state[f->state[last].parent].ran >= f->border[z])
        last = f->state[last].parent;
    before = last;
    while (f->state[f->state[before].parent].ran >= f->border[z - 1])
        before = f->state[before].parent;
    if (!fsim_same_state_later(&f->state[before], &f->state[last], period))
        return;
    y->out->part = (fsim_partition){0, fsim_new(y->a, fsim_part, y->p->graph->nodes * 2 + 2)};
    for (int at = f->last, by = times * period; at > 0; at = f->state[at].parent) {
        if (at == last && by > 0)
            by = times * period;
        if (at == before && by > 0) {
            by -= period;
            at = last;
        }
        add_kernel(y, f, &f->step[f->state[at].via], f->step[f->state[at].via].kernel->clones, by);
    }
}

/* Where nothing is proven of plans with real contents of L2: their relaxed costs to the end, if these repeat. Every
 * border of the long graph has at least the excess that a border as far from the start has in the short one. */
static void bound_by_relaxed(layered *y, fsim_frontier *f, int removed)
{
    fsim_sum less;
    for (int z = f->run_last; z > f->run_first; z--) {
        const int layer = f->run->period, period = f->border[z] - f->border[z - 1];
        if (!fsim_same_families(f, f->border[z - 1] - f->looked_back - layer, f->border[z] + f->looked_ahead - layer) ||
            !fsim_same_bounds(f, z - 1, &less))
            continue;
        const fsim_sum relaxed = fsim_frontier_bound(f), real = fsim_least_after(f, -1, 0);
        const fsim_sum bound = (real > relaxed ? real : relaxed) + less * (removed / period);
        if (bound > y->out->bound) {
            y->out->bound = bound;
            repeat_relaxed(y, f, z, removed / period);
        }
        return;
    }
}

/* What the best plan costs that is found without a search with L2: the one of least relaxed cost, or merges. */
static fsim_sum soon_found(fsim_problem *q, fsim_frontier *f, fsim_arena *a)
{
    fsim_partition part = {0, fsim_new(a, fsim_part, q->graph->nodes * 2 + 2)};
    fsim_plan plan, merged;
    fsim_refusal why;
    if (!fsim_frontier_plan(f, &part, a) || !fsim_price(q, &part, a, &plan, &why))
        return FSIM_NEVER;
    const fsim_partition singles = fsim_singles(q, a);
    if (plan.objective == fsim_frontier_bound(f) || !fsim_merge_greedily(q, &singles, a, &merged))
        return plan.objective;
    return merged.objective < plan.objective ? merged.objective : plan.objective;
}

/* The least cost of a plan of the short graph, proven; 0 where it was not found. known: what a plan costs. */
static fsim_sum solve_short(fsim_problem *q, fsim_frontier *f, fsim_sum known, const fsim_budget *budget, fsim_arena *a)
{
    fsim_partition part = {0, fsim_new(a, fsim_part, q->graph->nodes * 2 + 2)};
    fsim_sum bound = 0;
    fsim_frontier_with_l2(f, known + 1, budget, &part, &bound, a);
    return part.parts > 0 && f->run ? bound : 0;
}

/* Searches the graph without `layers` layers. */
static bool search_without(layered *y, int layers)
{
    fsim_problem q = *y->p;
    fsim_graph *g = fsim_shortened(&y->l, &y->run, layers, y->scratch);
    if (!g)
        return false;
    q.graph = q.limits.graph = g;
    q.progress = NULL;
    q.store = fsim_store_new(y->scratch);
    fsim_budget budget = *y->budget;
    fsim_spent spent = *y->budget->spent;
    spent.checked = 0; /* q's work begins at 0 */
    budget.spent = &spent;
    budget.steps -= fsim_work(y->p);
    budget.most_steps -= budget.most_steps == INT64_MAX ? 0 : fsim_work(y->p);
    fsim_frontier *f =
        fsim_frontier_of(&q, all_of(g->nodes, y->scratch), g->nodes, FSIM_UNLESS_WIDE, &budget, y->scratch);
    const bool complete = !fsim_frontier_gave_up(f) && fsim_frontier_complete(f);
    const fsim_sum known = complete ? soon_found(&q, f, y->scratch) : FSIM_NEVER;
    const bool tight = known == fsim_frontier_bound(f); /* and so it is likely to be with all layers */
    const fsim_sum cost = known == FSIM_NEVER || tight ? 0 : solve_short(&q, f, known, &budget, y->scratch);
    if (f->run && f->borders == 0 && complete)
        fsim_choose_borders(f); /* the search with L2 did not need them */
    const bool same_run = f->borders > 0 && f->run && f->run->period == y->run.period;
    bool found = same_run && cost > 0 && repeats_from_start(y, f, cost, layers * y->run.period);
    if (same_run && !found && complete) {
        bound_by_relaxed(y, f, layers * y->run.period);
        found = tight || (cost == fsim_frontier_bound(f) && y->out->part.parts > 0); /* nothing is lost by the hits
                                                                                         assumed */
    }
    y->out->groups += fsim_frontier_groups(f);
    y->out->states += fsim_frontier_states(f);
    fsim_add_work(y->p, fsim_work(&q));
    y->budget->spent->end = spent.end;
    y->budget->spent->over = spent.over;
    return found;
}

bool fsim_search_layers(fsim_problem *p, const fsim_budget *budget, fsim_arena *a, fsim_layered *out)
{
    layered y = {.p = p, .budget = budget, .a = a, .scratch = fsim_arena_new(), .out = out};
    const int nodes = p->graph->nodes;
    *out = (fsim_layered){0};
    bool found = false;
    fsim_places_of(p, all_of(nodes, y.scratch), nodes, (fsim_set_limits){.most = 1}, y.scratch, &y.l);
    if (fsim_find_run(&y.l, y.scratch, &y.run)) {
        const int period = y.run.period, layers = (y.run.end - y.run.first) / period,
                  piece = fsim_border_period(&y.run) / period;
        int keep =
            (PLACES_KEPT / period > LAYERS_KEPT ? PLACES_KEPT / period : LAYERS_KEPT) + LEAD_KEPT * y.run.lead / period;
        out->first = y.run.first;
        out->last = y.run.end - 1;
        for (; !found && layers - keep >= FEWEST_LAYERS && !found && fsim_within(budget, p); keep += keep / 2)
            found = search_without(&y, (layers - keep) / piece * piece);
    }
    fsim_arena_free(y.scratch);
    return out->bound > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ways.c: each derivative that has several forms is a choice. Where few combinations exist all are searched, so that
 * the plan is the best of all of them; otherwise choices that are alike (the same operator on the same shape, as in
 * equal layers) are made alike, one kind after the other, and the bound is that of a graph in which no derivative of
 * several forms reads more than the gradient. */
#include "plan/search/ways.h"

#include "cost/cost.h"
#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/search/lists.h"

#include <math.h>
#include <string.h>

enum {
    MOST_COMBINATIONS = 16,
    MOST_TRIED = 6,
    BOUND_SHARES = 2 /* the search that bounds all combinations may take this part of the steps of the first one */
};

void fsim_best(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *best, fsim_proof *proof)
{
    if (p->objective == FSIM_MINIMISE_MEMORY || p->memory_limit > 0)
        fsim_best_in_memory(p, known, count, a, best, proof);
    else
        fsim_optimal(p, known, count, a, best, proof);
}

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    const fsim_graph *as_read;
    fsim_ways out;
    int room;
    int left; /* searches that are still to come at most: all together take as much as the first may */
    double bound;
    bool by_clock; /* has the clock ended one of the searches? */
    int shares;
    fsim_problem chosen;
    fsim_plan *best;
    fsim_proof *proof;
} chooser;

static bool may_take(const chooser *c, const fsim_choice *x, int form)
{
    return !c->p->limits.strict || (x->exact >> form & 1);
}

static void note(chooser *c, const fsim_graph *g, const signed char *form, const fsim_plan *plan)
{
    signed char *kept = fsim_new(c->a, signed char, g->choices + 1);
    memcpy(kept, form, (size_t)g->choices);
    *FSIM_PUSH(c->a, c->out.tried, c->out.count, c->room) = (fsim_tried){g, kept, *plan};
}

static bool is_short_of_memory(const fsim_problem *p)
{
    return p->objective == FSIM_MINIMISE_MEMORY || p->memory_limit > 0;
}

/* The problem of another graph, with its part of the steps and of the time. Where memory is short its fastest plan is
 * looked for, launched in the order that needs the least. */
static fsim_problem problem_of(chooser *c, const fsim_graph *g)
{
    fsim_problem q = fsim_with_share(c->p, 1. / fmax(1, c->left--));
    q.search_steps = q.search_steps < INT64_MAX ? q.search_steps / c->shares : q.search_steps;
    q.graph = q.limits.graph = g;
    q.store = fsim_store_new(c->a);
    if (is_short_of_memory(&q)) {
        q.objective = FSIM_MINIMISE_TIME;
        q.memory_limit = 0;
        q.lean = true;
    }
    return q;
}

/* Searches the graph with these forms. Is its plan better than the best so far? */
static bool try(chooser *c, const signed char *form)
{
    const fsim_graph *g = fsim_graph_with_forms(c->as_read, form, c->as_read->choices, c->a);
    fsim_plan plan;
    fsim_proof proof;
    if (!g)
        return false;
    fsim_problem q = problem_of(c, g);
    fsim_best(&q, NULL, 0, c->a, &plan, &proof);
    c->by_clock = c->by_clock || proof.end == FSIM_SEARCH_STOPPED_BY_CLOCK;
    note(c, g, form, &plan);
    c->bound = c->p->objective == FSIM_MINIMISE_MEMORY ? 0 : fmin(c->bound, proof.lower_bound);
    if (plan.kernels == 0 || fsim_compare_plans(c->p, &plan, c->best) >= 0)
        return false;
    c->out.best = c->out.count - 1;
    *c->best = plan;
    *c->proof = proof;
    c->chosen = q;
    return true;
}

static double combinations(const chooser *c)
{
    double ways = 1;
    for (int i = 0; i < c->as_read->choices; i++) {
        int forms = 0;
        for (int f = 0; f < c->as_read->choice[i].forms; f++)
            forms += may_take(c, &c->as_read->choice[i], f);
        ways *= forms;
    }
    return ways;
}

/* The next combination; false after the last. */
static bool advance(const chooser *c, signed char *form)
{
    for (int i = 0; i < c->as_read->choices; i++) {
        const fsim_choice *x = &c->as_read->choice[i];
        do {
            form[i]++;
        } while (form[i] < x->forms && !may_take(c, x, form[i]));
        if (form[i] < x->forms)
            return true;
        form[i] = 0;
    }
    return false;
}

static void try_all(chooser *c, signed char *form)
{
    c->left = c->shares = (int)c->out.ways - 1;
    while (advance(c, form)) {
        if (fsim_clock_s() > c->p->until_s) {
            c->by_clock = true;
            return;
        }
        try(c, form);
    }
}

static bool are_alike(const fsim_graph *g, const fsim_choice *x, const fsim_choice *y)
{
    const fsim_node *m = &g->node[x->node], *n = &g->node[y->node];
    return m->op == n->op && m->points == n->points && x->argument == y->argument && x->forms == y->forms;
}

/* Where every combination would take too long: one kind of choices after the other, each form for all of them. */
static void try_kinds(chooser *c, signed char *form)
{
    const fsim_graph *g = c->as_read;
    signed char *now = fsim_new(c->a, signed char, g->choices + 1);
    bool *seen = fsim_new(c->a, bool, g->choices + 1);
    c->left = c->shares = MOST_TRIED + 1;
    for (int i = 0; i < g->choices && c->out.count < MOST_TRIED; i++) {
        if (seen[i])
            continue;
        for (int f = 1; f < g->choice[i].forms && c->out.count < MOST_TRIED; f++) {
            memcpy(now, form, (size_t)g->choices);
            for (int k = i; k < g->choices; k++)
                if (are_alike(g, &g->choice[i], &g->choice[k])) {
                    seen[k] = true;
                    now[k] = (signed char)f;
                }
            if (may_take(c, &g->choice[i], f) && try(c, now))
                memcpy(form, now, (size_t)g->choices);
        }
    }
}

/* What a plan may save in the units of its objective where a kernel finds in L2 what a form of a derivative has read
 * before: a graph without those reads lacks it. */
static double shared_reads(const chooser *c)
{
    const fsim_graph *g = c->as_read;
    const double l2 = fsim_l2_effective(c->p->hw);
    double bytes = 0;
    for (int i = 0; i < g->choices; i++) {
        const fsim_node *n = &g->node[g->choice[i].node];
        for (int k = 0; k <= n->args; k++) {
            const fsim_tensor *t = &g->tensor[k < n->args ? n->arg[k].tensor : n->result[0]];
            bytes += (double)t->bytes <= l2 ? (double)t->bytes : 0;
        }
    }
    return c->p->objective == FSIM_MINIMISE_TIME ? bytes / fsim_hw_get(c->p->hw, FSIM_HW_DRAM_BANDWIDTH) : bytes;
}

/* Of every combination: a bound from the graph in which none of the derivatives reads anything. */
static double free_bound(chooser *c)
{
    signed char *form = fsim_new(c->a, signed char, c->as_read->choices + 1);
    memset(form, FSIM_FORM_FREE, (size_t)c->as_read->choices);
    const fsim_graph *g = fsim_graph_with_forms(c->as_read, form, c->as_read->choices, c->a);
    fsim_plan plan;
    fsim_proof proof;
    if (!g)
        return 0;
    fsim_problem q = problem_of(c, g);
    if (c->p->search_steps < INT64_MAX)
        q.search_steps = c->p->search_steps / BOUND_SHARES;
    fsim_best(&q, NULL, 0, c->a, &plan, &proof);
    c->by_clock = c->by_clock || proof.end == FSIM_SEARCH_STOPPED_BY_CLOCK;
    return fmax(0, proof.lower_bound - shared_reads(c));
}

/* What is proven of all combinations together. */
static void conclude(chooser *c, double bound)
{
    const double found = c->p->objective == FSIM_MINIMISE_TIME     ? c->best->time_s
                         : c->p->objective == FSIM_MINIMISE_MEMORY ? (double)c->best->peak_memory_bytes
                                                                   : (double)c->best->objective;
    c->proof->lower_bound = fmin(bound, found);
    c->proof->proven = bound >= found * (1 - 1e-12) && (c->p->memory_limit == 0 || c->proof->proven);
    if (!c->proof->proven && c->by_clock) /* another run may find a better plan or bound */
        c->proof->end = FSIM_SEARCH_STOPPED_BY_CLOCK;
}

fsim_ways fsim_best_ways(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *best,
                         fsim_proof *proof)
{
    chooser c = {.p = p, .a = a, .as_read = p->graph, .chosen = *p, .best = best, .proof = proof};
    signed char *form = fsim_new(a, signed char, p->graph->choices + 1);
    c.out.ways = p->graph->origin ? combinations(&c) : 1;
    const bool all = c.out.ways <= MOST_COMBINATIONS;
    fsim_problem first = fsim_with_share(p, c.out.ways > 1 ? 0.5 : 1);
    fsim_best(&first, known, count, a, best, proof);
    note(&c, p->graph, form, best);
    c.bound = proof->lower_bound;
    c.by_clock = proof->end == FSIM_SEARCH_STOPPED_BY_CLOCK;
    if (c.out.ways > 1 && all)
        try_all(&c, form);
    else if (c.out.ways > 1)
        try_kinds(&c, form);
    if (c.out.ways > 1)
        conclude(&c, all && c.out.count == (int)c.out.ways ? c.bound : free_bound(&c));
    p->graph = p->limits.graph = c.chosen.graph;
    p->store = c.chosen.store;
    return c.out;
}

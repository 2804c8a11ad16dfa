/* SPDX-License-Identifier: Apache-2.0 */
/* priced_check.h: bounds and searches by prices (plan/search/priced.h) beside the least plan, as brute force finds it.
 */
#ifndef FUSESIM_TESTS_PRICED_CHECK_H
#define FUSESIM_TESTS_PRICED_CHECK_H

#include "plan/search/priced.h"
#include "plan/search/shadow.h"
#include <cmocka.h>
#include <stdio.h>

/* Bounds as shares of the least plan: how tight they are. */
typedef struct {
    double sum;
    int count;
} share_tally;

static inline void add_share(share_tally *t, double bound, double least)
{
    t->sum += least > 0 ? bound / least : 1;
    t->count++;
}

/* On average they are no less than this share; asked of the graphs that the suite takes, which are always the same: a
 * bound that gets less tight shows here. */
static inline void check_share(const char *what, share_tally t, double wanted, bool usual)
{
    const double mean = t.count > 0 ? t.sum / t.count : 0;
    printf("%s: %.5f of the least plan on average, %d times\n", what, mean, t.count);
    if (usual && mean < wanted)
        fail_msg("%s: %.7f of the least plan, it was %.5f", what, mean, wanted);
}

/* How close prices alone come to the least plan, on average, and how often a search below a plan that costs a tick more
 * finds it and proves it. */
typedef struct {
    int turns, met;
    double reached;
} priced_tally;

/* No bound by prices, or of a search below a known plan, may exceed the least plan. */
static inline void check_priced(const fsim_problem *p, fsim_sum least, fsim_arena *a, priced_tally *t)
{
    const fsim_sum known[] = {0, least, least + least / 16, 2 * least, least + 1};
    fsim_priced out = {0};
    fsim_plan plan;
    fsim_refusal why;
    bool met = false;
    for (int k = 0; k < 5; k++) {
        fsim_problem fresh = *p;
        fresh.store = fsim_store_new(a);
        fsim_spent spent;
        const fsim_budget budget = fsim_budget_of(&fresh, &spent);
        fsim_search_priced(&fresh, known[k], &budget, a, &out);
        assert_true(out.price && out.bound <= least);
        t->reached += k == 0 ? (double)out.bound / (double)least : 0;
        for (int i = 0; i < 2 && k == 4; i++)
            met = met || (out.part[i].parts > 0 && fsim_price(&fresh, &out.part[i], a, &plan, &why) &&
                          plan.objective == least && out.bound == least);
    }
    t->turns++;
    t->met += met;
}

/* A list of all primitives of p's graph, ready to be priced or searched in this way. *fresh: p with nothing known. */
typedef struct {
    fsim_problem fresh;
    fsim_spent spent;
    fsim_budget budget;
    fsim_frontier *f;
} ready_list;

static inline void make_ready(const fsim_problem *p, fsim_scope scope, fsim_arena *a, ready_list *out)
{
    int *node = fsim_new(a, int, p->graph->nodes + 1);
    for (int n = 0; n < p->graph->nodes; n++)
        node[n] = n;
    out->fresh = *p;
    out->fresh.store = fsim_store_new(a);
    out->budget = fsim_budget_of(&out->fresh, &out->spent);
    out->f = fsim_frontier_ready(&out->fresh, node, p->graph->nodes, scope, &out->budget, a);
}

/* What prices reach of the least plan where kernels whose parts have only inputs in common are left to prices of these,
 * which may not exceed it; 0 where there are none. */
static inline double parted_bound(const fsim_problem *p, fsim_sum least, fsim_arena *a)
{
    ready_list x;
    fsim_shadow y;
    make_ready(p, (fsim_scope){FSIM_PARTED, NULL}, a, &x);
    if (!fsim_find_shadow(x.f, &y))
        return 0;
    assert_true(y.bound <= least);
    return (double)y.bound / (double)least;
}

/* Bounds of lists whose widest kernels are told by their places, and how many are half of the least plan or more. */
typedef struct {
    int bounds, near;
    share_tally shares;
} told_bounds;

/* As if the bits of a set were few, or few sets were tried for a root, or both, so that other kernels are told by their
 * places: prices may not exceed the least plan. */
static inline void check_told(const fsim_problem *p, fsim_sum least, fsim_arena *a, told_bounds *out)
{
    for (int turn = 0; turn < 8; turn++) {
        const fsim_one_side few = {.ahead = turn < 4    ? turn + 1
                                            : turn == 7 ? 3
                                                        : 0,
                                   .most = turn < 4 ? 0 : turn * turn - 15,
                                   .clone_sets = turn % 3 ? 0 : FSIM_FEW_CLONE_SETS};
        ready_list x;
        fsim_shadow y;
        make_ready(p, (fsim_scope){FSIM_LINKED, &few}, a, &x);
        if (!fsim_find_shadow(x.f, &y))
            continue; /* places tell of too much */
        assert_true(y.bound <= least);
        out->bounds++;
        add_share(&out->shares, (double)y.bound, (double)least);
        out->near += 2 * y.bound >= least;
    }
}

#endif

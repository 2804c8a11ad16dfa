/* SPDX-License-Identifier: Apache-2.0 */
/* priced_check.h: bounds and searches by prices (plan/search/priced.h) beside the least plan, as brute force finds it.
 */
#ifndef FUSESIM_TESTS_PRICED_CHECK_H
#define FUSESIM_TESTS_PRICED_CHECK_H

#include "plan/search/priced.h"
#include "plan/search/shadow.h"
#include <cmocka.h>

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

/* What prices reach of the least plan where kernels whose parts have only inputs in common are left to prices of these,
 * which may not exceed it; 0 where there are none. */
static inline double parted_bound(const fsim_problem *p, fsim_sum least, fsim_arena *a)
{
    fsim_spent spent;
    fsim_shadow y;
    fsim_problem fresh = *p;
    fresh.store = fsim_store_new(a);
    const fsim_budget budget = fsim_budget_of(&fresh, &spent);
    int *node = fsim_new(a, int, p->graph->nodes + 1);
    const fsim_scope parts = {FSIM_PARTED, NULL};
    for (int n = 0; n < p->graph->nodes; n++)
        node[n] = n;
    if (!fsim_find_shadow(fsim_frontier_ready(&fresh, node, p->graph->nodes, parts, &budget, a), &y))
        return 0;
    assert_true(y.bound <= least);
    return (double)y.bound / (double)least;
}

/* Bounds of lists whose widest kernels are told by their places, and how many are half of the least plan or more. */
typedef struct {
    int bounds, near;
} told_bounds;

/* As if the bits of a set were few, so that wider kernels are told by their places: prices may not exceed the least
 * plan. */
static inline void check_told(const fsim_problem *p, fsim_sum least, fsim_arena *a, told_bounds *out)
{
    fsim_spent spent;
    fsim_shadow y;
    fsim_problem fresh = *p;
    fresh.store = fsim_store_new(a);
    const fsim_budget budget = fsim_budget_of(&fresh, &spent);
    int *node = fsim_new(a, int, p->graph->nodes + 1);
    for (int n = 0; n < p->graph->nodes; n++)
        node[n] = n;
    for (int turn = 0; turn < 8; turn++) { /* few bits; few sets that are tried for a root; or both */
        const fsim_one_side few = {.ahead = turn < 4    ? turn + 1
                                            : turn == 7 ? 3
                                                        : 0,
                                   .most = turn < 4 ? 0 : turn * turn - 15};
        const fsim_scope linked = {FSIM_LINKED, &few};
        if (!fsim_find_shadow(fsim_frontier_ready(&fresh, node, p->graph->nodes, linked, &budget, a), &y))
            continue; /* places tell of too much */
        assert_true(y.bound <= least);
        out->bounds++;
        out->near += 2 * y.bound >= least;
    }
}

#endif

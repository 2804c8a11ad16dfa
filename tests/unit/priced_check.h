/* SPDX-License-Identifier: Apache-2.0 */
/* priced_check.h: bounds and searches by prices (plan/search/priced.h) beside the least plan, as brute force finds it.
 */
#ifndef FUSESIM_TESTS_PRICED_CHECK_H
#define FUSESIM_TESTS_PRICED_CHECK_H

#include "plan/search/priced.h"
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
        assert_true(fsim_search_priced(&fresh, known[k], &budget, a, &out) && out.bound <= least);
        t->reached += k == 0 ? (double)out.bound / (double)least : 0;
        for (int i = 0; i < 2 && k == 4; i++)
            met = met || (out.part[i].parts > 0 && fsim_price(&fresh, &out.part[i], a, &plan, &why) &&
                          plan.objective == least && out.bound == least);
    }
    t->turns++;
    t->met += met;
}

#endif

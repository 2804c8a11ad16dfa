/* SPDX-License-Identifier: Apache-2.0 */
/* shadow.h: what each primitive costs at least, whatever kernels a plan has: shadow prices. */
#ifndef FUSESIM_PLAN_SEARCH_SHADOW_H
#define FUSESIM_PLAN_SEARCH_SHADOW_H

#include "plan/search/frontier.h"

/* Prices such that no kernel costs less, in relaxed costs, than the primitives that it owns are worth: those of a
 * feasible solution of the dual of set partitioning (Balas and Padberg, SIAM Review 18, 1976). Each primitive is owned
 * by one kernel of a plan, so that the sum of all prices is a lower bound of every plan, and a kernel's excess, what it
 * costs beyond its prices, is what a plan with it costs at least beyond that bound. */
typedef struct fsim_shadow {
    fsim_sum bound;    /* the sum of all prices, in the objective's unit */
    fsim_sum *price;   /* per place; some may be negative */
    fsim_sum **excess; /* per root, per set of its family: at least; FSIM_NEVER where the set is no kernel */
} fsim_shadow;

/* Finds prices for a list that was prepared and not yet searched. False where not all sets of some root are known, or
 * where the budget ends first. In f's arena. */
bool fsim_find_shadow(fsim_frontier *f, fsim_shadow *out);

/* Before it is searched: the search looks only for plans that cost less than `most`, by what primitives are worth. What
 * else there is enters the bound as `most` at least. */
void fsim_frontier_limit(fsim_frontier *f, const fsim_shadow *shadow, fsim_sum most, const fsim_budget *budget);

#endif

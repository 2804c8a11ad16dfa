/* SPDX-License-Identifier: Apache-2.0 */
/* frontier.h: the best partition of a list of primitives of any length, by dynamic programming over what has run.
 *
 * A state is the set of primitives that have run and those of them that were not stored and will be computed again. Its
 * lowest primitive still to run (or not stored) is its base; all that differs from "everything below has run" lies
 * within FSIM_BITS of it. A step launches one kernel, in the order of fsim_price. First with relaxed costs, every
 * residency in L2 granted that some plan could have: the least cost is a bound. Then with labels that know what lies in
 * L2, as far as their cost and the relaxed cost to go stay below a plan that is known. What the budget, or the bits,
 * cut off counts in the bound with the work that no plan can avoid. */
#ifndef FUSESIM_PLAN_SEARCH_FRONTIER_H
#define FUSESIM_PLAN_SEARCH_FRONTIER_H

#include "plan/search/budget.h"
#include "plan/search/sets.h"

typedef struct fsim_frontier fsim_frontier;

typedef enum {
    FSIM_BEST_ONLY,   /* states and copies that cannot be part of the best plan are left out */
    FSIM_EVERY_CLONE, /* no copy is left out because its source can be read as cheaply */
    FSIM_EVERY_ORDER  /* kernels in every order, not the launch order only; memory is reckoned */
} fsim_thoroughness;

/* node[0, count): ascending. In a. */
fsim_frontier *fsim_frontier_of(fsim_problem *p, const int *node, int count, fsim_thoroughness how,
                                const fsim_budget *budget, fsim_arena *a);

/* No plan of the list costs less (objective's unit). */
fsim_sum fsim_frontier_bound(const fsim_frontier *f);
/* Nothing was cut off: the bound is the least relaxed cost. */
bool fsim_frontier_complete(const fsim_frontier *f);
/* May some primitive be computed more than once? */
bool fsim_frontier_recomputes(const fsim_frontier *f);
int64_t fsim_frontier_groups(const fsim_frontier *f); /* candidate sets tried */
int64_t fsim_frontier_states(const fsim_frontier *f);
/* Adds the parts of the least relaxed cost to *out, which has room. False when no way leads through. */
bool fsim_frontier_plan(fsim_frontier *f, fsim_partition *out, fsim_arena *a);

/* Follows L2 exactly: the best partition that costs less than `known`, into *out. False when there is none or it was
 * not found. *bound: no plan costs less, as far as plans cost less than known. */
bool fsim_frontier_with_l2(fsim_frontier *f, fsim_sum known, const fsim_budget *budget, fsim_partition *out,
                           fsim_sum *bound, fsim_arena *a);

/* Calls visit with the partitions in the order of their relaxed cost (with FSIM_EVERY_CLONE: all of them), until it
 * returns false or the relaxed cost reaches `limit`. True when all below the limit were visited. */
bool fsim_frontier_each(fsim_frontier *f, fsim_sum *limit, const fsim_budget *budget,
                        bool (*visit)(void *to, const fsim_partition *part), void *to);

/* Only with FSIM_EVERY_ORDER: calls visit with partitions that no other beats in both relaxed cost and bytes live at
 * the peak (outputs, inputs and weights aside), by rising cost, until it returns false. most: kept for each state.
 * False when some may have been left out. */
bool fsim_frontier_front(fsim_frontier *f, int most, const fsim_budget *budget,
                         bool (*visit)(void *to, const fsim_partition *part, fsim_sum spent, fsim_sum peak), void *to);

#endif

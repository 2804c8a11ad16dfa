/* SPDX-License-Identifier: Apache-2.0 */
/* given.h: a search without what makes masks and tables: a bound, and most of a plan. */
#ifndef FUSESIM_PLAN_SEARCH_GIVEN_H
#define FUSESIM_PLAN_SEARCH_GIVEN_H

#include "plan/search/budget.h"

enum { FSIM_FAR_READER = 16 }; /* places between the readers of a value that is worth leaving out */

typedef struct {
    int far;             /* asked for: places between the readers of a value that is left out, at least */
    fsim_sum bound;      /* in the objective's unit */
    fsim_partition part; /* a plan */
    int64_t groups, states;
} fsim_without;

/* Searches node[0, count) of p's graph, ascending, without what makes small values whose readers are more than
 * out->far places apart. False where there are none, or where that search isn't complete. In a. */
bool fsim_search_without_given(fsim_problem *p, const int *node, int count, const fsim_budget *budget, fsim_arena *a,
                               fsim_without *out);

#endif

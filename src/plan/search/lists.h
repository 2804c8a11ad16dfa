/* SPDX-License-Identifier: Apache-2.0 */
/* lists.h: lists of plans. A search that ended early may lack one that a strategy found. */
#ifndef FUSESIM_PLAN_SEARCH_LISTS_H
#define FUSESIM_PLAN_SEARCH_LISTS_H

#include "plan/price/plan.h"

/* Adds those of known[0, knowns) that are plans to list, which has room. Returns how many are in the list. */
int fsim_add_plans(fsim_plan *list, int count, const fsim_plan *known, int knowns);
/* Below 0 where x is better by p's objective and memory limit, above 0 where y is. Their graphs may differ. */
int fsim_compare_plans(const fsim_problem *p, const fsim_plan *x, const fsim_plan *y);
/* Sorts the plans, removes duplicates, and keeps the best `most`. Returns how many remain. */
int fsim_best_of(fsim_problem *p, fsim_plan *list, int count, int most);
/* Puts a plan that is better than all of the list before them, and leaves out the last where there are more than `most`
 * then: the list has room for it. Returns how many there are. */
int fsim_put_first(fsim_plan *list, int count, int most, const fsim_plan *best);
/* A plan of the lists may be better than the result of a search that its budget ended. */
void fsim_adopt_best(fsim_problem *p, const fsim_plan *list, int count, fsim_plan *best);
/* Keeps the plans that no other beats in both time and memory, fastest first. Returns how many remain. */
int fsim_front_of(fsim_plan *list, int count);
/* Leaves out plans of such a front, first those whose neighbours need nearly the same memory, until `most` (2 or more)
 * remain: the fastest and the one with the least memory among them. Returns how many. */
int fsim_thin_front(fsim_plan *list, int count, int most);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cross.h: of several plans the best parts of each. */
#ifndef FUSESIM_PLAN_SEARCH_CROSS_H
#define FUSESIM_PLAN_SEARCH_CROSS_H

#include "plan/price/plan.h"

/* Prices the partition; it replaces *best where it is legal, keeps the user's rules, and is better. False where it does
 * not. In a. */
bool fsim_improve(fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *best);

/* Of the smallest stretches of the graph whose primitives share kernels in either plan, the kernels of the plan that
 * costs less there, what L2 holds aside: sets *out to that partition, before calls of a library take the place of
 * kernels. False where one plan is better everywhere. Both are of graphs with p's primitives; in a. */
bool fsim_cross(const fsim_problem *p, const fsim_plan *plan, const fsim_plan *other, fsim_arena *a,
                fsim_partition *out);
/* *best is `before` with changes: takes them back where they save so little that equal layers had better stay equal. */
void fsim_undo_unless_worthy(const fsim_plan *before, fsim_plan *best);
/* Crosses *best with each known plan, one after the other, while it is above the bound and there is time; those without
 * kernels are none. In a. */
void fsim_cross_all(fsim_problem *p, fsim_sum bound, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *best);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* polish.h: a plan that is not proven to be the best one, made better by small changes. */
#ifndef FUSESIM_PLAN_SEARCH_POLISH_H
#define FUSESIM_PLAN_SEARCH_POLISH_H

#include "plan/search/budget.h"

/* Changes *plan, one or two kernels at a time, for as long as that lowers its objective: joins two kernels, moves a
 * primitive to a kernel that reads or computes for it, has it computed again where it is read, or read where it was
 * computed again. Ends with b at the latest. In a. */
void fsim_polish(fsim_problem *p, const fsim_budget *b, fsim_arena *a, fsim_plan *plan);

#endif

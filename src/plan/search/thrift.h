/* SPDX-License-Identifier: Apache-2.0 */
/* thrift.h: a plan that stores less: gradients that are cheap to compute from something smaller are computed by each
 * kernel that reads them. */
#ifndef FUSESIM_PLAN_SEARCH_THRIFT_H
#define FUSESIM_PLAN_SEARCH_THRIFT_H

#include "plan/price/plan.h"

/* The same plan without the intermediates of the backward pass that cheap primitives make of less than they take, where
 * that is legal. False where there are none. Launched in the plan's order. In a. */
bool fsim_make_thrifty(const fsim_problem *p, const fsim_plan *base, fsim_arena *a, fsim_plan *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* thrift.h: a plan that needs less memory: gradients that are cheap to compute from something smaller are computed by
 * each kernel that reads them, and sums wait until there is room for them. */
#ifndef FUSESIM_PLAN_SEARCH_THRIFT_H
#define FUSESIM_PLAN_SEARCH_THRIFT_H

#include "plan/price/plan.h"

/* The same plan without the intermediates of the backward pass that cheap primitives make of less than they take, where
 * that is legal. False where there are none. Launched in the plan's order. In a. */
bool fsim_make_thrifty(const fsim_problem *p, const fsim_plan *base, fsim_arena *a, fsim_plan *out);
/* The same plan with sums of a product's columns in kernels of their own, which may run later than the product: their
 * results take memory from then on. False where it has none. In a. */
bool fsim_part_with_sums(const fsim_problem *p, const fsim_plan *base, fsim_arena *a, fsim_plan *out);

#endif

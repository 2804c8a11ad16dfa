/* SPDX-License-Identifier: Apache-2.0 */
/* again.h: less memory for more time: values that the forward pass leaves for the backward pass are given up, and the
 * backward pass computes them again in kernels of its own, products among them. */
#ifndef FUSESIM_PLAN_SEARCH_AGAIN_H
#define FUSESIM_PLAN_SEARCH_AGAIN_H

#include "plan/price/plan.h"

/* Plans that need less memory than `base`, a plan of p's graph, none of them beaten by another in both time and memory:
 * fastest first, at most `most`. Each has a graph of its own. Returns their number. In a. */
int fsim_plans_again(const fsim_problem *p, const fsim_plan *base, int most, fsim_arena *a, fsim_plan *out);

#endif

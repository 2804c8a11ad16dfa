/* SPDX-License-Identifier: Apache-2.0 */
/* again.h: less memory for more time: values that the forward pass leaves for the backward pass are given up, and the
 * backward pass computes them again in kernels of its own, products among them. */
#ifndef FUSESIM_PLAN_SEARCH_AGAIN_H
#define FUSESIM_PLAN_SEARCH_AGAIN_H

#include "plan/price/plan.h"

/* Plans that need less memory than `base`, a plan of p's graph, none of them beaten by another in both time and memory:
 * fastest first, at most `most`. Each has a graph of its own. Returns their number. In a. */
int fsim_plans_again(const fsim_problem *p, const fsim_plan *base, int most, fsim_arena *a, fsim_plan *out);

/* What the plan takes where one value that it keeps is given up. */
typedef struct {
    double time_s; /* NAN: it can't be computed again */
    fsim_sum peak_memory_bytes;
} fsim_priced_again;
/* Of each of tensor[0, count), values that `base` keeps, by itself. out has room for as many. */
void fsim_price_given_up(const fsim_problem *p, const fsim_plan *base, const int *tensor, int count,
                         fsim_priced_again *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* append.h: caches that a plan copies whole to make them a little longer. */
#ifndef FUSESIM_PLAN_PRICE_APPEND_H
#define FUSESIM_PLAN_PRICE_APPEND_H

#include "plan/price/plan.h"

/* Concats that copy a large input behind which a few rows are set: a cache that grows by a step. */
typedef struct {
    int caches;      /* how many concats do that; 0: none */
    int node, cache; /* the one that copies most, and the tensor that it copies */
    fsim_sum bytes;  /* of all caches that are copied */
    double saves_s;  /* that their reads and writes in DRAM take, of the plan's time */
} fsim_append;

/* Finds them in the plan's kernels. A cache is an input at least 4 times as long as what is set behind it; where other
 * primitives of the kernel read it too, only its writes would be saved. */
fsim_append fsim_append_of(const fsim_graph *g, const fsim_hw *hw, const fsim_plan *plan);

#endif

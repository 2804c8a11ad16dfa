/* SPDX-License-Identifier: Apache-2.0 */
/* saved_ways.h: the ways in which the backward pass can come by each value of the forward pass, priced. */
#ifndef FUSESIM_PLAN_SEARCH_SAVED_WAYS_H
#define FUSESIM_PLAN_SEARCH_SAVED_WAYS_H

#include "plan/price/phases.h"
#include "plan/search/ways.h"

/* Another way than that of the plan, and what the whole plan takes with it. */
typedef struct {
    fsim_way way;
    int64_t bytes; /* held in memory for it from one pass to the other */
    double time_s;
    fsim_sum peak_memory_bytes;
} fsim_other_way;

typedef struct {
    fsim_saved now;
    fsim_other_way *other; /* fastest first */
    int others;
} fsim_saved_value;

/* The values that the backward pass of a plan of p's graph needs, as fsim_saved_of lists them, then those that it
 * derives from a result or from bits. For each the other ways: kept, reduced or computed again in the same kernels
 * otherwise, or another form of the derivative with the best plan that was found for it in `ways`. A way is left out
 * where its kernels are not legal. ways NULL: without other ways. Returns their number. In a. */
int fsim_saved_values(fsim_problem *p, const fsim_plan *plan, const fsim_ways *ways, fsim_arena *a,
                      fsim_saved_value **out);

#endif

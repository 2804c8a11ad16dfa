/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h: equal layers in a list of primitives, from `repeat:` or written out. */
#ifndef FUSESIM_PLAN_SEARCH_RUNS_H
#define FUSESIM_PLAN_SEARCH_RUNS_H

#include "plan/search/sets.h"

/* A run of equal layers. Place i + period looks like place i, with the tensors of the next layer in place of those of
 * its own, for all first <= i < end - period. */
typedef struct {
    int first, end, period;
    int lead; /* places at the start where it matters that no layer was before: a tensor that all layers read is new */
    int *orbit, *layer; /* per tensor of the graph: the tensor of the first layer that it stands for, and how many
                           layers later it is; layer -1: the same tensor for all layers, or not in the run */
} fsim_run;

/* The longest run of the list, by what its layers but one amount to. False where no two layers are equal. In a. */
bool fsim_find_run(const fsim_places *l, fsim_arena *a, fsim_run *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* stretches.h: a lower bound for a graph of any length, from stretches of it that are searched apart. */
#ifndef FUSESIM_PLAN_SEARCH_STRETCHES_H
#define FUSESIM_PLAN_SEARCH_STRETCHES_H

#include "plan/search/budget.h"

/* Primitives [first, end) of the graph. */
typedef struct {
    int first, end;
    fsim_sum bound; /* what every plan's kernels that count here cost at least, in the objective's unit */
} fsim_stretch;

typedef struct {
    fsim_sum bound; /* of every plan of the graph: the sum of all stretches */
    fsim_stretch *stretch;
    int count;
    int64_t groups, states;
} fsim_stretched;

/* Divides p's graph into stretches of about `most` primitives. False where that can't be done. In a. */
bool fsim_bound_by_stretches(fsim_problem *p, int most, const fsim_budget *budget, fsim_arena *a, fsim_stretched *out);
/* open.c: sets proof->open to the stretches in which this plan spends most beyond their bounds; a kernel counts where
 * the first primitive is that it owns. In a. */
void fsim_open_stretches(const fsim_problem *p, const fsim_stretched *y, const fsim_plan *plan, fsim_proof *proof,
                         fsim_arena *a);

#endif

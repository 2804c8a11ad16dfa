/* SPDX-License-Identifier: Apache-2.0 */
/* sides.h: a graph with gradients, one side of the barrier after the other. */
#ifndef FUSESIM_PLAN_SEARCH_SIDES_H
#define FUSESIM_PLAN_SEARCH_SIDES_H

#include "plan/search/budget.h"

typedef struct {
    fsim_sum bound;      /* no plan costs less; */
    fsim_sum before;     /* nor do its kernels before the barrier. 0: not found */
    fsim_partition part; /* 0 parts: none was found */
    int64_t groups, states;
} fsim_sides;

/* For plans by their time. False where p's graph has no barrier, or very many primitives, or is too wide. In a. */
bool fsim_search_sides(fsim_problem *p, const fsim_budget *budget, fsim_arena *a, fsim_sides *out);
/* Calls (as in fsim_one_side), and the least that kernels before the barrier cost where there are none; 0: not known.
 */
typedef struct {
    const signed char *calls;
    fsim_sum before;
} fsim_called_sides;
/* A lower bound of what kernels beside calls cost. False as above. */
bool fsim_bound_sides(fsim_problem *p, const fsim_called_sides *called, const fsim_budget *budget, fsim_arena *a,
                      fsim_sum *bound);

#endif

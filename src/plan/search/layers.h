/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h: the best plan of a graph with many equal layers, from that of a graph with few. */
#ifndef FUSESIM_PLAN_SEARCH_LAYERS_H
#define FUSESIM_PLAN_SEARCH_LAYERS_H

#include "plan/search/budget.h"

typedef struct {
    fsim_partition part; /* of the whole graph; no parts: none was found */
    fsim_sum bound;      /* a lower bound of all plans; the cost of `part` unless the budget ended */
    int64_t groups, states;
    int first, last; /* primitives of the equal layers */
} fsim_layered;

/* Searches p's graph without most of its equal layers, and repeats one of those that are left. False where the graph
 * has too few of them, or where layers next to each other turned out to differ: one may depend on how many follow.
 * In a. */
bool fsim_search_layers(fsim_problem *p, const fsim_budget *budget, fsim_arena *a, fsim_layered *out);

#endif

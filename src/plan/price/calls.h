/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h: what a workload's `calls:` say that serving stacks run as calls of their libraries. */
#ifndef FUSESIM_PLAN_PRICE_CALLS_H
#define FUSESIM_PLAN_PRICE_CALLS_H

#include "plan/price/plan.h"

/* The graph in which no kernel has primitives of a call and others: what a plan with calls is searched for. In a. */
const fsim_graph *fsim_calls_graph(const fsim_graph *g, fsim_arena *a);

/* Makes one kernel of those of a plan that together are such a call, as `maker` launches it. A call whose operators
 * share a kernel with others, or whose results somebody needs before it ends, stays as it is; in fusesim's own plans
 * also one that would take longer. The plan's sums are added up again. In a. True where it joined any. */
bool fsim_calls_join(fsim_problem *p, fsim_maker maker, fsim_plan *plan, fsim_arena *a);

/* A call that a graph knows: what is in it, and a lower bound of what it takes; 0 where none is known. */
typedef struct fsim_call_price {
    int nodes;
    int *node;
    double least_s;
} fsim_call_price;
/* Those of a workload's `calls:`, in a. Returns their number. */
int fsim_calls_priced(const fsim_problem *p, fsim_arena *a, fsim_call_price **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* rivals.h: the partitions that other systems would choose, with the same rules of legality and the same prices as
 * the optimum. Each has its own file, which says what it models. */
#ifndef FUSESIM_PLAN_RIVALS_RIVALS_H
#define FUSESIM_PLAN_RIVALS_RIVALS_H

#include "plan/search/cluster.h"
#include "plan/search/search.h"

/* A partition of p's graph, in launch order, in a. With p->recompute off no primitive is in two parts. A strategy
 * that has named rules sets *rule to the rule of each part; NULL: no rule. */
typedef fsim_partition fsim_partitioner(fsim_problem *p, fsim_arena *a, const char ***rule);

#define FSIM_STRATEGY(id, name, kernels, planned, measured, partition, help) fsim_partitioner partition;
#define FSIM_SEARCHED(...)
#include "plan/search/strategy.def"
#undef FSIM_STRATEGY

/* The plan of any strategy except optimal, with kernels as fusesim would launch them; fsim_plan_launched_by gives
 * the prices of the framework's own kernels. In a. */
void fsim_baseline(fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out);
/* The same until p's time is up. False where that was before the strategy was done; *out is then a plan on the way, or
 * has no kernels. */
bool fsim_baseline_in_time(fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out);

/* The best plan found around the calls of a library that q's graph knows: *plan. *proof: what is proven of the best one
 * before the calls; *bound_s: a lower bound of all plans with calls; before, one that is great enough. A serving
 * stack's own plan is a start, and may be the best. False: no call takes less. In a. */
bool fsim_best_calling(fsim_problem *q, fsim_arena *a, fsim_plan *plan, fsim_proof *proof, double *bound_s);

/* The plan of eager where views are no views: each permute, expand and slice is a kernel. In a. */
fsim_partition fsim_operators_partition(fsim_problem *p, fsim_arena *a);

/* Name of the i-th rule of `pattern`, in the order of application, and the engine that has it; NULL beyond the last.
 * Names need not be unique. */
const char *fsim_pattern_rule(int i, const char **engine);

#endif

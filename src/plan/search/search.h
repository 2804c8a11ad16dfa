/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: the best partition with a proof, the best few, and all of them. What other systems would choose is in
 * plan/rivals/. */
#ifndef FUSESIM_PLAN_SEARCH_SEARCH_H
#define FUSESIM_PLAN_SEARCH_SEARCH_H

#include "plan/price/plan.h"
#include "plan/search/strategy.h"

/* Plans of one graph that take long to make. A search asks for them where it does not prove its own plan without them:
 * it finds what it finds where all are known. */
typedef struct fsim_rivals {
    const fsim_graph *graph;
    int (*make)(const struct fsim_rivals *r, fsim_problem *p, fsim_arena *a, fsim_plan *out); /* returns their number */
    int most;                                                                                 /* of them */
    const void *from;
} fsim_rivals;

/* The plan with the least objective. It is no worse than known[0, count) and p's rivals. *proof says how certain that
 * is. In a. */
void fsim_optimal(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out, fsim_proof *proof);

/* The `count` best distinct plans, best first. Returns their number. In a. */
int fsim_top(fsim_problem *p, int count, fsim_arena *a, fsim_plan *out);
/* Plans that no plan found beats in both time and peak memory, fastest first, at most `most`. Returns their number.
 * In a. */
int fsim_pareto(fsim_problem *p, int most, fsim_arena *a, fsim_plan *out);
/* As fsim_optimal, for a memory limit or the objective memory. Where no plan found is within the limit: the one with
 * the lowest peak. */
void fsim_best_in_memory(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out,
                         fsim_proof *proof);

/* Calls emit for every legal partition once, until it returns false, was called `limit` times (0: no limit), or p's
 * time is up. emit may use the plan until it returns. Returns the number of calls; *truncated where there are more
 * partitions. -1 for more than 64 primitives. */
int64_t fsim_enumerate(fsim_problem *p, int64_t limit, bool (*emit)(void *to, const fsim_plan *plan), void *to,
                       bool *truncated);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: partitions: the best one with a proof, the best few, and all of them. What other systems would pick is in
 * plan/rivals/. */
#ifndef FUSESIM_PLAN_SEARCH_SEARCH_H
#define FUSESIM_PLAN_SEARCH_SEARCH_H

#include "plan/price/plan.h"
#include "plan/search/strategy.h"

/* The plan with the least objective; known[0, count) are plans that it must not be worse than. The proof says how sure
 * that is. In a. */
void fsim_optimal(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out, fsim_proof *proof);

/* The `count` best distinct plans, best first. Returns how many there are. In a. */
int fsim_top(fsim_problem *p, int count, fsim_arena *a, fsim_plan *out);
/* Plans that no plan found beats in both time and peak memory, fastest first; at most `most`. Returns how many there
 * are. In a. */
int fsim_pareto(fsim_problem *p, int most, fsim_arena *a, fsim_plan *out);
/* As fsim_optimal, for problems with a memory limit or the objective memory. Where no plan found meets the limit, the
 * one with the least peak memory. */
void fsim_best_in_memory(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out,
                         fsim_proof *proof);

/* Calls emit for every legal partition once, until it returns false or `limit` were emitted (0: no limit). The plan is
 * the callee's until it returns. Returns how many were emitted; *truncated when there are more. At most 64 primitives:
 * -1 beyond. */
int64_t fsim_enumerate(fsim_problem *p, int64_t limit, bool (*emit)(void *to, const fsim_plan *plan), void *to,
                       bool *truncated);

#endif

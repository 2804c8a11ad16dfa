/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: partitions: the best one with a proof, all of them, and the ones that other systems would pick. */
#ifndef FUSESIM_PLAN_SEARCH_SEARCH_H
#define FUSESIM_PLAN_SEARCH_SEARCH_H

#include "plan/price/plan.h"

typedef enum {
    FSIM_STRATEGY_EAGER,
    FSIM_STRATEGY_UNFUSED,
    FSIM_STRATEGY_OPTIMAL,
    FSIM_STRATEGY_GREEDY,
    FSIM_STRATEGY_INDUCTOR,
    FSIM_STRATEGY_PATTERN,
    FSIM_STRATEGY_MAXIMAL,
    FSIM_STRATEGY_XLA, /* made where it is asked for; the others always are */
    FSIM_STRATEGY_COUNT,
    FSIM_STRATEGY_FILE = FSIM_STRATEGY_COUNT, /* a plan that the user gives: plan/partition_file.h */
    FSIM_PLAN_COUNT
} fsim_strategy;
extern const char *const fsim_strategy_names[FSIM_PLAN_COUNT];

/* Whose kernels a strategy launches. */
fsim_maker fsim_maker_of(fsim_strategy strategy);

/* Every strategy but optimal: baseline.c says what each merges. Kernels cost what fusesim's would; fsim_plan_made_by
 * says what the maker's cost. In a. */
void fsim_baseline(fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out);

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

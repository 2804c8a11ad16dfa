/* SPDX-License-Identifier: Apache-2.0 */
/* compile_cost.h: what a plan costs before its first run: the kernels to compile, how long that takes, and after how
 * many runs it has paid off.
 *
 * Nothing is compiled that exists already: the vendor's library, opaque operators, communication and transfers, and
 * whatever frameworks ship, which is every kernel of eager and of unfused, in any plan. Each distinct one of the others
 * is compiled once. Two kernels are the same if they have the same source, apart from names of tensors, so that equal
 * layers share theirs. Kernels that differ only in the order in which the workload lists their primitives count as two.
 *
 *     seconds of a kernel = a + b x instructions
 * by class, fitted to NVRTC: the table is in compile_cost.def, and bench/compile.sh measures it. Instructions are
 * those of the source for one thread: the operator table's, times the elements that a thread computes in unrolled
 * code. A contraction counts eight for each of its results, because its step along k is unrolled. The search does
 * not consider compilation. */
#ifndef FUSESIM_PLAN_COMPILE_COST_H
#define FUSESIM_PLAN_COMPILE_COST_H

#include "plan/search/search.h"

typedef struct {
    int to_compile;   /* distinct kernels */
    double compile_s; /* until the last of them is compiled */
    double
        break_even_runs; /* compile_s over the time that a run saves compared with eager; INFINITY: it saves nothing */
} fsim_compile;

/* For each plan[s] that has kernels; plan is indexed by strategy and has FSIM_PLAN_COUNT entries. `jobs` processes
 * (at least 1) compile at once, the slowest kernel first. a is for scratch. */
void fsim_compile_of(const fsim_plan *plan, int jobs, fsim_arena *a, fsim_compile out[FSIM_PLAN_COUNT]);

/* Would both have the same source? For tests; fsim_compile_of sorts instead. */
bool fsim_same_source(const fsim_graph *g, const fsim_kernel *x, const fsim_kernel *y, fsim_arena *a);

/* Seconds to compile one generated kernel; 0 for a kernel that is never compiled. */
double fsim_compile_s(const fsim_graph *g, const fsim_kernel *k);

/* Numbers of runs for which reports give the best strategy. */
enum { FSIM_SOME_RUNS = 4 };
extern const double fsim_some_runs[FSIM_SOME_RUNS];

/* Seconds of compilation and `runs` runs of one plan. */
static inline double fsim_total_s(const fsim_plan *plan, const fsim_compile *c, double runs)
{
    return c->compile_s + runs * plan->time_s;
}
/* The strategy with the least fsim_total_s; of equal ones eager, then optimal. plan and c: by strategy,
 * FSIM_PLAN_COUNT of each. Needs a plan of eager; other strategies without kernels are skipped. */
fsim_strategy fsim_best_for(const fsim_plan *plan, const fsim_compile *c, double runs);

/* A strategy that is best from this number of runs on, until the next stage. */
typedef struct {
    fsim_strategy strategy;
    double from_runs;
} fsim_stage;

/* The strategies that are best for some number of runs, fewest runs first; from_runs of the first is 1. plan and c
 * as for fsim_best_for. Returns how many there are. */
int fsim_stages_of(const fsim_plan *plan, const fsim_compile *c, fsim_stage out[FSIM_PLAN_COUNT]);

#endif

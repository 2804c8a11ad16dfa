/* SPDX-License-Identifier: Apache-2.0 */
/* price.h: the one cost function: a partition to a plan. Groups and kernels are remembered in the problem's store, so
 * that a search pays for each once. */
#ifndef FUSESIM_PLAN_PRICE_PRICE_H
#define FUSESIM_PLAN_PRICE_PRICE_H

#include "plan/price/plan.h"

/* An empty store. Ends with a at the latest. */
struct fsim_store *fsim_store_new(fsim_arena *a);
/* Empties the store where it holds more than `most` candidates: for who visits so many that memory is a matter. No
 * candidate, kernel or group that was handed out before may be used after it. */
void fsim_store_trim(fsim_problem *p, int most);
/* Work done so far in steps of about half a microsecond: what a time limit counts, so that it does not depend on the
 * machine. */
int64_t fsim_work(const fsim_problem *p);
/* Adds so many steps to fsim_work. */
void fsim_add_work(fsim_problem *p, int64_t steps);

/* A set of primitives as one kernel: stored results and what L2 holds decide which. */
typedef struct fsim_candidate {
    bool legal;
    fsim_refusal why;
    fsim_group group;
    struct priced *kernel; /* by residency */
} fsim_candidate;

/* Copies into a what o points to. */
void fsim_group_keep(fsim_arena *a, fsim_group *o);

/* The set node[0, count) (ascending) that stores what stored[i] says. Remembered; never NULL. Legal means one kernel:
 * not convexity or connection. */
fsim_candidate *fsim_candidate_of(fsim_problem *p, const int *node, int count, const bool *stored);
/* Its kernel when reads and writes are as hit[] and absorbed[] say. Remembered. NULL when no configuration fits the
 * device. */
const fsim_kernel *fsim_kernel_for(fsim_problem *p, fsim_candidate *c, const bool *hit, const bool *absorbed);
/* The set as a kernel by itself: it stores what anything outside reads, nothing is resident. NULL when it is none. */
const fsim_kernel *fsim_kernel_alone(fsim_problem *p, const int *node, int count, fsim_arena *a);
/* Femtoseconds, or DRAM bytes. */
fsim_sum fsim_objective_of(const fsim_problem *p, const fsim_kernel *k);

/* Prices the groups node sets (part[i].node ascending; clone flags are found here). The order is canonical: of the
 * groups whose inputs are there, the one with the lowest last primitive goes first; a primitive's home is the first
 * group in that order that holds it. False with *why when illegal: a group that is no kernel, a cycle, a clone without
 * reader, a group without purpose. In a. */
bool fsim_price(fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *out, fsim_refusal *why);

/* The plan with its kernels as `maker` would launch them. In a. */
fsim_plan fsim_plan_launched_by(fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a);

/* The order of ints, for qsort and bsearch over lists of primitives. */
int fsim_by_int(const void *x, const void *y);

/* May kernels other than its home compute this primitive again? Cheap ones may whose readers are near: within
 * FSIM_CLONE_REACH primitives. A kernel's clones lie no further than that below the first primitive that is at home
 * there. */
enum { FSIM_CLONE_REACH = 64 };
/* The same of one primitive, whatever p->recompute says. */
bool fsim_may_clone(const fsim_problem *p, int node);

/* Of two inputs of a kernel, does it count x as used later than y? Of what enters L2 at once the small stays. */
bool fsim_used_later(const fsim_problem *p, int x, int y);

/* What a cold or warm run can find in L2 at most: tensors no larger than the effective capacity. */
bool fsim_may_reside(const fsim_problem *p, int tensor);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* launches.h: the kernels of a plan that is being priced; shared by the files of this folder. */
#ifndef FUSESIM_PLAN_PRICE_LAUNCHES_H
#define FUSESIM_PLAN_PRICE_LAUNCHES_H

#include "plan/price/plan.h"

struct fsim_candidate;

/* Kernels in launch order. The arrays have an entry for each. */
typedef struct {
    int kernels;
    const fsim_part **part;
    struct fsim_candidate **kernel; /* price.h */
    bool **hit, **absorbed;         /* for each of a kernel's reads and writes, as in fsim_residency */
} fsim_launches;

/* Fills hit (reads served by L2) and absorbed (results that never reach DRAM) for kernels in launch order. A result
 * is absorbed where every reader finds it in L2, or computes it again. a is for scratch. */
void fsim_find_residency(const fsim_problem *p, const fsim_launches *launches, fsim_arena *a);

/* Orders the kernels so that peak memory is least, with the same home for each primitive; hit and absorbed are not
 * changed. The best order that a bounded search finds. a is for scratch. */
void fsim_order_for_memory(const fsim_problem *p, fsim_launches *all, fsim_arena *a);
/* Puts them in the order of the partition's parts, unless some kernel would run before one that it waits for. */
void fsim_order_as_listed(const fsim_problem *p, const fsim_partition *partition, fsim_launches *all, fsim_arena *a);

#endif

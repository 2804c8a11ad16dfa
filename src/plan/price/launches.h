/* SPDX-License-Identifier: Apache-2.0 */
/* launches.h: the kernels of a plan while it is being priced: shared by price.c and what it asks. */
#ifndef FUSESIM_PLAN_PRICE_LAUNCHES_H
#define FUSESIM_PLAN_PRICE_LAUNCHES_H

#include "plan/price/plan.h"

struct fsim_candidate;

/* The kernels of a plan being priced, in launch order. The arrays have an entry per kernel. */
typedef struct {
    int kernels;
    const fsim_part **part;
    struct fsim_candidate **kernel; /* price.h */
    bool **hit, **absorbed;         /* of each one's reads and writes, as in fsim_residency */
} fsim_launches;

/* Fills hit and absorbed: which reads hit and which writes never reach DRAM, for kernels in launch order. A result that
 * its readers find in L2, or would if they did not compute it again, is dead before it is written back. a is for
 * scratch. */
void fsim_find_residency(const fsim_problem *p, const fsim_launches *launches, fsim_arena *a);

/* Puts the kernels into the order that needs the least memory at its peak and keeps each primitive's home; hit and
 * absorbed are not touched. The best that a bounded search finds. a is for scratch. */
void fsim_order_for_memory(const fsim_problem *p, fsim_launches *all, fsim_arena *a);

#endif

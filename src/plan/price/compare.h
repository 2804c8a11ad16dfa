/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: where two plans of a graph differ, and what each difference costs. */
#ifndef FUSESIM_PLAN_PRICE_COMPARE_H
#define FUSESIM_PLAN_PRICE_COMPARE_H

#include "plan/price/plan.h"

/* Kernels of one plan and kernels of another that contain the same primitives. */
typedef struct {
    int *mine, mines;   /* kernels of the first plan, ascending */
    int *other, others; /* of the second */
    double time_s;      /* time of the first minus that of the second: above 0 where the first is slower here */
    fsim_sum dram_bytes;
} fsim_difference;

/* All differences between `mine` and `other`, in groups or in what L2 holds, largest loss of `mine` first. They add
 * up to the difference of the plans. In a. */
int fsim_compare(const fsim_graph *g, const fsim_plan *mine, const fsim_plan *other, fsim_arena *a,
                 fsim_difference **out);

#endif

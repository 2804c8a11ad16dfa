/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: where two plans of a graph differ, and what each difference costs. */
#ifndef FUSESIM_PLAN_PRICE_COMPARE_H
#define FUSESIM_PLAN_PRICE_COMPARE_H

#include "plan/price/plan.h"

/* Kernels of one plan and kernels of another that hold the same primitives. */
typedef struct {
    int *mine, mines;   /* kernels of the first plan, ascending */
    int *other, others; /* of the second */
    double time_s;      /* the first less the second: above 0 the first loses here */
    fsim_sum dram_bytes;
} fsim_difference;

/* All places where `mine` and `other` differ, by groups or by what L2 holds; the dearest for `mine` first. They sum to
 * what the plans differ by. In a. */
int fsim_compare(const fsim_graph *g, const fsim_plan *mine, const fsim_plan *other, fsim_arena *a,
                 fsim_difference **out);

#endif

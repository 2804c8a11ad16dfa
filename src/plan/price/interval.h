/* SPDX-License-Identifier: Apache-2.0 */
/* interval.h: 80 % intervals of predictions, from the residuals of measured kernels (plan/price/spread.h). */
#ifndef FUSESIM_PLAN_PRICE_INTERVAL_H
#define FUSESIM_PLAN_PRICE_INTERVAL_H

#include "plan/price/plan.h"

typedef struct {
    double low, high;
} fsim_interval;

/* A kernel's seconds. */
fsim_interval fsim_kernel_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* The seconds of a plan. Errors of its kernels are partly shared (the same bandwidth, the same library) and partly
 * independent. */
fsim_interval fsim_plan_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_plan *plan);

/* A plan, and whose kernels it launches. */
typedef struct {
    const fsim_plan *plan;
    fsim_maker maker;
} fsim_plan_by;

/* Seconds of `base` over those of `other`. Errors of kernels that both contain cancel. a is for scratch. */
fsim_interval fsim_speedup_interval(const fsim_graph *g, const fsim_hw *hw, fsim_plan_by base, fsim_plan_by other,
                                    fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* interval.h: 80 % intervals of what is predicted, from the residuals of measured kernels (plan/price/spread.h). */
#ifndef FUSESIM_PLAN_PRICE_INTERVAL_H
#define FUSESIM_PLAN_PRICE_INTERVAL_H

#include "plan/price/plan.h"

typedef struct {
    double low, high;
} fsim_interval;

/* A kernel's seconds. */
fsim_interval fsim_kernel_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* A plan's seconds: kernels err together in part (the same bandwidth, the same library) and each for itself in part. */
fsim_interval fsim_plan_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_plan *plan);

/* seconds of `base` over those of `plan`. Kernels that both have err alike and cancel. Scratch memory from a. */
fsim_interval fsim_speedup_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker base_maker,
                                    const fsim_plan *base, fsim_maker maker, const fsim_plan *plan, fsim_arena *a);

#endif

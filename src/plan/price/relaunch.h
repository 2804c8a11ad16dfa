/* SPDX-License-Identifier: Apache-2.0 */
/* relaunch.h: the kernels of a plan launched in another way, or computing in another dtype. */
#ifndef FUSESIM_PLAN_PRICE_RELAUNCH_H
#define FUSESIM_PLAN_PRICE_RELAUNCH_H

#include "plan/price/plan.h"

/* What `maker`'s kernels of the partition take in that regime, in seconds; NaN where g can't be cut so. g: the
 * problem's graph, or one that differs from it in dtypes alone. The problem's store is not used. */
double fsim_relaunched_s(const fsim_problem *p, const fsim_graph *g, fsim_regime regime, fsim_maker maker,
                         const fsim_partition *partition);

#endif

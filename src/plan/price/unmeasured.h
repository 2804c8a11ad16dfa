/* SPDX-License-Identifier: Apache-2.0 */
/* unmeasured.h: kernels of kinds that no measured row has. Their prices rest on what is known of others, so their
 * intervals are wider than the residuals of measured kernels, and their times are said to be assumed. */
#ifndef FUSESIM_PLAN_PRICE_UNMEASURED_H
#define FUSESIM_PLAN_PRICE_UNMEASURED_H

#include "plan/price/plan.h"

/* What is added to the spread (spread.h) of kernel k of g, launched by `maker`, as the root of the sum of squares; 0
 * for kernels of kinds that were measured, and on a host, whose kernels `calibrate` measures. */
double fsim_unmeasured_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

#endif

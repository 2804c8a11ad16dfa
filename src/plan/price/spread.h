/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h: how far off a kernel's time may be. */
#ifndef FUSESIM_PLAN_PRICE_SPREAD_H
#define FUSESIM_PLAN_PRICE_SPREAD_H

#include "plan/price/plan.h"

/* The residuals of kernels like this one on this GPU: eight of ten measured times lie within a factor exp(+-spread) of
 * the predicted. From the hardware file's residual_* keys, which calibration writes; kernels that are generated have
 * residual_generated besides. */
double fsim_kernel_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* The key of residuals of kernels like k. */
fsim_hw_key fsim_residual_key(const fsim_graph *g, const fsim_kernel *k);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h: how far off a kernel's time may be, and what the figure behind it is worth. */
#ifndef FUSESIM_PLAN_PRICE_SPREAD_H
#define FUSESIM_PLAN_PRICE_SPREAD_H

#include "plan/price/plan.h"

/* The residuals of kernels like this one on this GPU: eight of ten measured times lie within a factor exp(+-spread) of
 * the predicted. From the hardware file's residual_* keys, which calibration writes; kernels that are generated have
 * residual_generated besides. */
double fsim_kernel_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* Where the figure that decides its time is from: that of the unit which binds it. Kernels that nobody launched yet,
 * fusesim's own but for the vendor's library, are at best assumed to reach it. */
fsim_origin fsim_kernel_origin(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* The key of residuals of kernels like k. */
fsim_hw_key fsim_residual_key(const fsim_graph *g, const fsim_kernel *k);

#endif

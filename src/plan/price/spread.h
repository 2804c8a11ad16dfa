/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h: how far off a kernel's time may be. */
#ifndef FUSESIM_PLAN_PRICE_SPREAD_H
#define FUSESIM_PLAN_PRICE_SPREAD_H

#include "plan/price/plan.h"

/* The spread of kernels like this one on this GPU: eight of ten measured times lie within a factor exp(+-spread) of
 * the predicted one. From the residual_* keys of the hardware file, which calibration writes; for generated kernels
 * residual_generated is added. */
double fsim_kernel_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* The key with the residuals of kernels like k. */
fsim_hw_key fsim_residual_key(const fsim_graph *g, const fsim_kernel *k);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h: how far off a kernel's time may be. */
#ifndef FUSESIM_PLAN_PRICE_SPREAD_H
#define FUSESIM_PLAN_PRICE_SPREAD_H

#include "plan/price/plan.h"

/* The spread of kernels like this one on this GPU: eight of ten measured times lie within a factor exp(+-spread) of
 * the predicted one. The root of the sum of squares of the parts of fsim_spread_parts. */
double fsim_kernel_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* What a kernel's spread is made of. */
typedef struct {
    double kind;       /* kernels of its kind: residual_* of the hardware file, which calibration writes */
    double generated;  /* residual_generated, for kernels that no library has; otherwise 0 */
    double unmeasured; /* generated contractions and chains, and kinds that no row has (unmeasured.h); otherwise 0 */
} fsim_spread_parts;
/* Those of kernel k, which the software launches. */
fsim_spread_parts fsim_spread_parts_of(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* The key with the residuals of kernels like k. */
fsim_hw_key fsim_residual_key(const fsim_graph *g, const fsim_kernel *k);

/* Does the software run k from a vendor's library, or ATen's own kernel, rather than generate it? */
bool fsim_is_vendor_kernel(fsim_maker maker, const fsim_kernel *k);

#endif

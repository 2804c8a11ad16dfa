/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: a plan's kernels as a CUDA graph. The measurement of plans is declared in cuda.h. */
#ifndef FUSESIM_VALIDATE_CUDA_PLAN_H
#define FUSESIM_VALIDATE_CUDA_PLAN_H

#include "validate/cuda/device.h"

#endif

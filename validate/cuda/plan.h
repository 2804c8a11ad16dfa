/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: a plan's kernels as a CUDA graph. The measurement of plans is declared in cuda.h. */
#ifndef FUSESIM_VALIDATE_CUDA_PLAN_H
#define FUSESIM_VALIDATE_CUDA_PLAN_H

#include "validate/cuda/device.h"

/* Captures the launches; the stream runs nothing. */
bool fsim_graph_capture(fsim_gpu *g, const fsim_gpu_plan *plan, fsim_cu_graph_exec *out, fsim_fault *fault);

#endif

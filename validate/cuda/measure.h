/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h: times kernels (fsim_gpu_measure is declared in cuda.h). A sample is
 *     clock stamp, L2 flush, the kernel (cold), the kernel again at once (warm), clock stamp
 * and its times are CUPTI's records; without CUPTI, CUDA events, which add 10 to 30 us to short kernels
 * (NVIDIA/nvbench issue 184). The first samples of each kernel are discarded: caches and clocks settle, and CUPTI
 * damages records at the start of a session (pytorch/pytorch issue 192021). */
#ifndef FUSESIM_VALIDATE_CUDA_MEASURE_H
#define FUSESIM_VALIDATE_CUDA_MEASURE_H

#include "validate/cuda/device.h"

/* Flags the samples that ran at 90 % or more of the samples' median SM clock; those with an unknown clock (NaN) are
 * flagged too. Returns how many; *median_hz is NaN where no clock is known. scratch: n numbers. */
int fsim_usual_clock(const double *clock_hz, int n, double *scratch, bool *usual, double *median_hz);

#endif

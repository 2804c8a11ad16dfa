/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h: kernels timed. fsim_gpu_measure is declared in cuda.h; a sample is
 *     clock stamp, L2 flush, the kernel (cold), the kernel at once again (warm), clock stamp
 * and its times are CUPTI's records; without CUPTI, CUDA events, which overstate short kernels by 10 to 30 us
 * (NVIDIA/nvbench issue 184). The first few samples of each kernel are for nothing: caches and clocks settle, and CUPTI
 * mangles records at the start of a session (pytorch/pytorch issue 192021). */
#ifndef FUSESIM_VALIDATE_CUDA_MEASURE_H
#define FUSESIM_VALIDATE_CUDA_MEASURE_H

#include "validate/cuda/device.h"

/* Which of n samples ran at 90 % or more of the samples' median SM clock; those whose clock is not known (NaN) count as
 * such. Returns how many; *median_hz is NaN where no clock is known. scratch: n numbers. */
int fsim_usual_clock(const double *clock_hz, int n, double *scratch, bool *usual, double *median_hz);

#endif

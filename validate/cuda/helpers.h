/* SPDX-License-Identifier: Apache-2.0 */
/* helpers.h: the kernels that measuring needs: one empties L2, one reads the SMs' clocks, one does nothing. They are
 * put on the stream; these functions do not wait. */
#ifndef FUSESIM_VALIDATE_CUDA_HELPERS_H
#define FUSESIM_VALIDATE_CUDA_HELPERS_H

#include "validate/cuda/device.h"

/* Their text: fsim_flush, fsim_clock and fsim_empty. */
extern const char fsim_helper_source[];

/* Compiles and loads them, and allocates their memory. Waits. */
bool fsim_gpu_open_helpers(fsim_gpu *g, fsim_fault *fault);
/* Frees them, if they exist. */
void fsim_gpu_close_helpers(fsim_gpu *g);

/* Fills L2 with clean lines of a buffer: a memset, so that the buffer's lines are new, then a sweep that reads them
 * all, so that lines which the memset left dirty are written back before and not during the measurement. */
bool fsim_gpu_flush(fsim_gpu *g, fsim_fault *fault);
/* The second half of that: reads more than L2 holds and writes nothing, so that dirty lines in L2 go to memory. */
bool fsim_gpu_sweep(fsim_gpu *g, fsim_fault *fault);
/* Each SM records its clock counter and the time, as stamp `which`, 0 or 1. */
bool fsim_gpu_stamp_clocks(fsim_gpu *g, int which, fsim_fault *fault);
/* SM clock between stamps 0 and 1, after the stream was waited for: the median of all SMs; NaN where the time
 * between them is too short. */
double fsim_gpu_clock_hz(fsim_gpu *g);

/* A kernel that does nothing. */
fsim_gpu_kernel *fsim_gpu_empty_kernel(fsim_gpu *g);

#endif

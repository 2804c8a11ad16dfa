/* SPDX-License-Identifier: Apache-2.0 */
/* helpers.h: the kernels that measuring itself takes: to empty L2, to read the SMs' clocks, and one that does nothing.
 * They go on the stream and do not wait. */
#ifndef FUSESIM_VALIDATE_CUDA_HELPERS_H
#define FUSESIM_VALIDATE_CUDA_HELPERS_H

#include "validate/cuda/device.h"

/* Their text: fsim_flush, fsim_clock and fsim_empty. */
extern const char fsim_helper_source[];

/* Compiles and loads them, with the memory that they take. Waits. */
bool fsim_gpu_open_helpers(fsim_gpu *g, fsim_fault *fault);
/* Lets go of them; they may be absent. */
void fsim_gpu_close_helpers(fsim_gpu *g);

/* Fills L2 with clean lines of a buffer of our own: a memset, so that the buffer's lines are new, and a sweep that
 * reads them all, so that those the memset left dirty are written back before and not during what is measured. */
bool fsim_gpu_flush(fsim_gpu *g, fsim_fault *fault);
/* Its second half: reads more than L2 holds and writes nothing, so that what is dirty in L2 goes to memory. */
bool fsim_gpu_sweep(fsim_gpu *g, fsim_fault *fault);
/* Each SM writes down its clock counter and the time, as stamp `which`, 0 or 1. */
bool fsim_gpu_stamp_clocks(fsim_gpu *g, int which, fsim_fault *fault);
/* SM clock between stamps 0 and 1, once the stream was waited for: the median of all SMs; NaN where too short a time
 * lies between them. */
double fsim_gpu_clock_hz(fsim_gpu *g);

/* A kernel that does nothing. */
fsim_gpu_kernel *fsim_gpu_empty_kernel(fsim_gpu *g);

#endif

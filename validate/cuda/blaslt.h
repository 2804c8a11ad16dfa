/* SPDX-License-Identifier: Apache-2.0 */
/* blaslt.h: cuBLASLt on the device's stream: the library's contractions that add a bias or an activation in the same
 * kernel. Opened when the first is asked for. Descriptors, the algorithm and the workspace are made once, before
 * anything is launched, so that a launch is one call, which can be captured into a graph. */
#ifndef FUSESIM_VALIDATE_CUDA_BLASLT_H
#define FUSESIM_VALIDATE_CUDA_BLASLT_H

#include "validate/cuda/device.h"

/* Fills k->lt, from k->gemm and k->pointer. False with *fault set where there is no such library, or it has no
 * algorithm for this. */
bool fsim_blaslt_prepare(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault);
/* Puts the product on the stream. Needs fsim_blaslt_prepare. False with *fault set where cuBLASLt refuses. */
bool fsim_blaslt_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault);
/* Lets go of what fsim_blaslt_prepare made for k; k->lt is NULL from here on. */
void fsim_blaslt_release(fsim_gpu *g, fsim_gpu_kernel *k);
/* Lets go of the handle and its workspace; both may be absent. */
void fsim_blaslt_close(fsim_gpu *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* blaslt.h: cuBLASLt on the device's stream, for contractions of the library with a bias or an activation. Opened on
 * first use. Descriptors, the algorithm and the workspace are created before anything is launched, so that a launch
 * is a single call, which can be captured into a graph. */
#ifndef FUSESIM_VALIDATE_CUDA_BLASLT_H
#define FUSESIM_VALIDATE_CUDA_BLASLT_H

#include "validate/cuda/device.h"

/* Sets k->lt from k->gemm and k->pointer. False with *fault set where there is no such library, or it has no
 * algorithm for the product. */
bool fsim_blaslt_prepare(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault);
/* Puts the product on the stream. Needs fsim_blaslt_prepare. False with *fault set where cuBLASLt refuses. */
bool fsim_blaslt_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault);
/* Frees what fsim_blaslt_prepare created for k; k->lt is NULL afterwards. */
void fsim_blaslt_release(fsim_gpu *g, fsim_gpu_kernel *k);
/* Frees the handle and its workspace, if they exist. */
void fsim_blaslt_close(fsim_gpu *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h: cuBLAS on the device's stream: what the library's contractions run as. Opened when the first is asked for. */
#ifndef FUSESIM_VALIDATE_CUDA_BLAS_H
#define FUSESIM_VALIDATE_CUDA_BLAS_H

#include "validate/cuda/device.h"

bool fsim_blas_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault);
void fsim_blas_close(fsim_gpu *g);

#endif

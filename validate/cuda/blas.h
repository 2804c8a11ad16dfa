/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h: cuBLAS on the device's stream, for contractions of the library. Opened on first use. */
#ifndef FUSESIM_VALIDATE_CUDA_BLAS_H
#define FUSESIM_VALIDATE_CUDA_BLAS_H

#include "validate/cuda/device.h"

int fsim_blas_type(fsim_dtype t); /* cudaDataType, or -1 */
int fsim_blas_compute(const fsim_gpu_gemm_call *c);
/* One and zero, in the type that products of this call are scaled in. */
void fsim_blas_scales(const fsim_gpu_gemm_call *c, const void **alpha, const void **beta);

/* Opens the library for g, once: after a failure it fails again without another attempt. Nothing remains half open. */
bool fsim_blas_open(fsim_gpu *g, fsim_fault *fault);
/* Puts the product k->gemm on the stream; k->pointer has A, B and C. False with *fault set where cuBLAS refuses. */
bool fsim_blas_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault);
/* Frees the handle and its workspace, if they exist. */
void fsim_blas_close(fsim_gpu *g);

#endif

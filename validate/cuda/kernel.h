/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: loads kernels and puts them on the device's stream. cuda.h has what the rest of the program calls. */
#ifndef FUSESIM_VALIDATE_CUDA_KERNEL_H
#define FUSESIM_VALIDATE_CUDA_KERNEL_H

#include "validate/cuda/device.h"

/* Loads compiled code. name: for messages. */
bool fsim_gpu_load_module(fsim_gpu *g, const fsim_cubin *c, const char *name, fsim_cu_module *module,
                          fsim_fault *fault);
/* The entry point `symbol` of a module. name: of the kernel, for messages. */
bool fsim_gpu_function(fsim_gpu *g, fsim_cu_module module, const char *symbol, const char *name, fsim_cu_function *out,
                       fsim_fault *fault);
/* Puts all launches of k on the stream and does not wait. */
bool fsim_gpu_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* library.h: finds and opens NVIDIA's libraries at run time.
 *
 * Searched in this order: the environment variable ($FUSESIM_CUDA_LIB, ..._NVRTC_LIB, ..._CUPTI_LIB, ..._CUBLAS_LIB,
 * ..._CUBLASLT_LIB, ..._NVML_LIB), after which nothing else is tried; the loader's own path; $CUDA_HOME, $CUDA_PATH,
 * $CONDA_PREFIX, /usr/local/cuda*, /opt/cuda; NVIDIA's Python packages under $VIRTUAL_ENV, $CONDA_PREFIX, ~/.local,
 * /usr/local, /usr. Libraries stay open until the program ends: neither the driver nor CUPTI can be unloaded. */
#ifndef FUSESIM_VALIDATE_CUDA_LIBRARY_H
#define FUSESIM_VALIDATE_CUDA_LIBRARY_H

#include "base/fault.h"
#include "validate/cuda/abi.h"

typedef struct {
    void *handle;
    const char *path; /* where it was found */
} fsim_library;

/* Each of these fills a table; optional entry points that the library lacks are NULL. False with *fault set where
 * there is no library, or it lacks a required entry point, which the message names. `major`: preferred major version
 * of CUDA where several are installed; 0: the newest. */
bool fsim_open_cuda(fsim_arena *a, fsim_library *library, fsim_cuda_entries *entries, fsim_fault *fault);
/* NVRTC, the compiler. */
bool fsim_open_nvrtc(fsim_arena *a, int major, fsim_library *library, fsim_nvrtc_entries *entries, fsim_fault *fault);
/* CUPTI: kernel records and counters. */
bool fsim_open_cupti(fsim_arena *a, int major, fsim_library *library, fsim_cupti_entries *entries, fsim_fault *fault);
/* cuBLAS: plain products. */
bool fsim_open_cublas(fsim_arena *a, int major, fsim_library *library, fsim_cublas_entries *entries, fsim_fault *fault);
/* cuBLASLt: products with a bias or an activation. */
bool fsim_open_cublaslt(fsim_arena *a, int major, fsim_library *library, fsim_cublaslt_entries *entries,
                        fsim_fault *fault);
/* NVML, which comes with the driver: no major version. */
bool fsim_open_nvml(fsim_arena *a, fsim_library *library, fsim_nvml_entries *entries, fsim_fault *fault);

#endif

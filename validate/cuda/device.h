/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: an open device, shared by the files of this folder. */
#ifndef FUSESIM_VALIDATE_CUDA_DEVICE_H
#define FUSESIM_VALIDATE_CUDA_DEVICE_H

#include "validate/cuda/cuda.h"

struct fsim_gpu_kernel {
    const char *name;
    const fsim_program *program; /* NULL: a kernel of cuBLAS or cuBLASLt */
    fsim_gpu_gemm_call gemm;     /* the call, for such a kernel */
    struct fsim_lt_call *lt;     /* NULL: not cuBLASLt's */
    fsim_launch *launch;         /* the program's, with entries as named in the cubin; NULL for a library */
    fsim_cu_module module;
    fsim_cu_function *function;                                 /* per launch */
    fsim_cu_pointer *pointer;                                   /* per parameter */
    void **argument;                                            /* for cuLaunchKernel: addresses of the pointers */
    int registers, static_shared_bytes, local_bytes_per_thread; /* maximum over its launches; -1: unknown */
    double occupancy;                                           /* of the launch with the most blocks; NaN: unknown */
};

struct fsim_gpu {
    fsim_arena *a;
    fsim_gpu_options option;
    fsim_gpu_facts facts;
    fsim_cuda_entries cu;
    fsim_cupti_entries cupti;
    fsim_cublas_entries blas;
    fsim_cublas_handle blas_handle; /* NULL: not opened, or failed: see blas_fault */
    fsim_fault blas_fault;
    fsim_gpu_buffer blas_workspace;
    fsim_cublaslt_entries lt;
    fsim_lt_handle lt_handle; /* NULL: not opened, or failed: see lt_fault */
    fsim_gpu_buffer lt_workspace;
    fsim_fault lt_fault;
    fsim_nvrtc *nvrtc;
    fsim_cu_device device;
    fsim_cu_context context;
    fsim_cu_stream stream;
    fsim_cu_module helpers; /* our own helper kernels */
    fsim_cu_function flush, clock, empty;
    fsim_gpu_buffer swept, clocks[2]; /* the buffer that a flush sweeps; SM clocks before and after */
    struct fsim_activity *activity;   /* NULL: times come from events */
    const char *lost;                 /* why the device can't run anything any more */
    double until_s;                   /* when measurements must end; 0: no limit */
    fsim_nvml nvml;                   /* opened on first use; device NULL: no sensors */
    bool nvml_opened;
    fsim_sensors sensors; /* the worst readings while plans ran */
};

/* True for result 0. Otherwise sets the fault, where `doing` is what failed ("launching kernel 'softmax'"); marks
 * the device as lost after an error that the context does not survive. */
bool fsim_gpu_ok(fsim_gpu *g, int result, const char *doing, fsim_fault *fault);
/* False for a lost device. */
bool fsim_gpu_usable(fsim_gpu *g, fsim_fault *fault);
/* Waits for the stream, with a timeout. A stream that reports an error will always report it: the device is lost
 * then. */
bool fsim_gpu_wait(fsim_gpu *g, const char *name, fsim_fault *fault);

/* Is the time limit of fsim_gpu_limit reached? */
bool fsim_gpu_is_late(const fsim_gpu *g, double until_s);
extern const char fsim_not_reached[];

/* Why times are too noisy for a verdict, or NULL. */
const char *fsim_gpu_noise(fsim_gpu *g, const char *name, const fsim_times *t);

#endif

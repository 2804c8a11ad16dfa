/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: the device, opened: what the other files of this folder share. */
#ifndef FUSESIM_VALIDATE_CUDA_DEVICE_H
#define FUSESIM_VALIDATE_CUDA_DEVICE_H

#include "validate/cuda/cuda.h"

struct fsim_gpu_kernel {
    const char *name;
    const fsim_program *program; /* NULL: cuBLAS's or cuBLASLt's */
    fsim_gpu_gemm_call gemm;     /* where it is */
    struct fsim_lt_call *lt;     /* NULL: not cuBLASLt's */
    fsim_launch *launch;         /* the program's, entries as the cubin calls them; NULL where it is a library's */
    fsim_cu_module module;
    fsim_cu_function *function; /* per launch */
    fsim_cu_pointer *pointer;   /* per parameter */
    void **argument;            /* as cuLaunchKernel takes them: addresses of the pointers */
    int registers, static_shared_bytes, local_bytes_per_thread; /* the most of its launches; -1: not known */
    double occupancy;                                           /* of the launch with most blocks; NaN: not known */
};

struct fsim_gpu {
    fsim_arena *a;
    fsim_gpu_options option;
    fsim_gpu_facts facts;
    fsim_cuda_entries cu;
    fsim_cupti_entries cupti;
    fsim_cublas_entries blas;
    fsim_cublas_handle blas_handle; /* NULL: not opened, or blas_fault says why it can't be */
    fsim_fault blas_fault;
    fsim_gpu_buffer blas_workspace;
    fsim_cublaslt_entries lt;
    fsim_lt_handle lt_handle; /* NULL: not opened, or lt_fault says why it can't be */
    fsim_gpu_buffer lt_workspace;
    fsim_fault lt_fault;
    fsim_nvrtc *nvrtc;
    fsim_cu_device device;
    fsim_cu_context context;
    fsim_cu_stream stream;
    fsim_cu_module helpers; /* kernels of our own */
    fsim_cu_function flush, clock, empty;
    fsim_gpu_buffer swept, clocks[2]; /* what the flush goes over; SM clocks before and after */
    struct fsim_activity *activity;   /* NULL: times come from events */
    const char *lost;                 /* why nothing more can be run on it */
    double until_s;                   /* when measuring ends; 0: when all is done */
    fsim_nvml nvml;                   /* opened when first asked; device NULL: no sensors */
    bool nvml_opened;
    fsim_sensors sensors; /* the worst while plans ran */
};

/* True for result 0. Else the fault, `doing` being what failed ("launching kernel 'softmax'"); marks the device as lost
 * where the error is one that the context does not survive. */
bool fsim_gpu_ok(fsim_gpu *g, int result, const char *doing, fsim_fault *fault);
/* False for a lost device. */
bool fsim_gpu_usable(fsim_gpu *g, fsim_fault *fault);
/* Waits for the stream, with a deadline. A stream that reports an error goes on doing so: the device is lost then. */
bool fsim_gpu_wait(fsim_gpu *g, const char *name, fsim_fault *fault);

/* Is the time up that fsim_gpu_limit gave? */
bool fsim_gpu_is_late(const fsim_gpu *g, double until_s);
extern const char fsim_not_reached[];

/* Why times are too scattered to judge by, or NULL. */
const char *fsim_gpu_noise(fsim_gpu *g, const char *name, const fsim_times *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h: measures kernels on an NVIDIA GPU: everything that the rest of the program calls.
 *
 *     fsim_gpu *g = fsim_gpu_open(a, &options, &fault);   driver, device, compiler, profiler
 *     fsim_gpu_allocate, fsim_gpu_upload                  tensors
 *     fsim_gpu_compile                                    programs to cubins, in parallel, cached on disk
 *     fsim_gpu_load, fsim_gpu_gemm                        kernels: from a cubin, or cuBLAS and cuBLASLt
 *     fsim_gpu_run, fsim_gpu_download                     results, to compare before anything is timed
 *     fsim_gpu_measure, fsim_gpu_measure_plans            times and counters
 *     fsim_gpu_close
 *
 * Functions that return bool or a pointer return false or NULL on a fault, and set *fault (which may be NULL):
 *     FSIM_UNAVAILABLE    no driver, device or compiler; out of memory; a launch that failed, a kernel that hung
 *     FSIM_INCONCLUSIVE   measured, but with too much noise: all results are filled in
 *     FSIM_FAILED         our own source does not compile
 * Counters that the machine refuses are no fault: their values are NaN, and fsim_gpu_facts.no_counters says what to do.
 * After a kernel hung or crashed, the context is lost: every later call fails with the same message, and fsim_gpu_close
 * does not call the driver. After a hang the program should end with _exit, because the driver's own clean-up would
 * wait for the kernel.
 *
 * One device at a time, from one thread. Everything, messages included, lives in the arena passed to fsim_gpu_open. */
#ifndef FUSESIM_VALIDATE_CUDA_CUDA_H
#define FUSESIM_VALIDATE_CUDA_CUDA_H

#include "validate/cuda/nvml.h"
#include "validate/cuda/nvrtc.h"
#include "validate/device/backend.h"

typedef struct {
    int device;       /* ordinal, after CUDA_VISIBLE_DEVICES */
    double timeout_s; /* limit for a kernel, or a plan, to finish; 0: 30 */
    double budget_s;  /* for the samples of a kernel, or a plan; 0: 0.25. 25 samples are always taken, unless they take
                         20 times as long */
    int least, most;  /* samples; 0: 25, 200 */
    bool no_counters; /* times only */
} fsim_gpu_options;

typedef struct {
    const char *name, *uuid;                          /* uuid: NULL where the driver does not report it */
    int sm;                                           /* 90 */
    int driver_version, nvrtc_version, cupti_version; /* 13000: 13.0; CUPTI's own number; 0: no CUPTI */
    const char *driver_path, *nvrtc_path, *cupti_path;
    int sms, threads_per_sm, memory_bus_bits;
    double clock_hz, memory_clock_hz;                                  /* maximum; 0: the driver does not report it */
    int threads_per_block, blocks_per_sm, registers_per_sm, warp_size; /* 0: the driver does not report it */
    int64_t memory_bytes, free_bytes, l2_bytes, shared_bytes_per_block, shared_bytes_per_sm;
    const char *timing;      /* the source of times: "CUPTI activity records", or "CUDA events" and why */
    const char *no_counters; /* why there are none, and what to do; NULL: none were refused so far */
    fsim_times floor;        /* of an empty kernel, set by fsim_gpu_measure */
    int low_clock,
        bad_records; /* samples dropped so far: SM clock below 90 % of the median; records without a time, or too few */
} fsim_gpu_facts;

typedef struct fsim_gpu fsim_gpu;
/* Opens driver, NVRTC, CUPTI where it is, and a context on the device. options: NULL is all 0. NULL with *fault set. */
fsim_gpu *fsim_gpu_open(fsim_arena *a, const fsim_gpu_options *options, fsim_fault *fault);
/* Frees everything on the device. The struct stays in its arena, and later calls fail. g may be NULL. */
void fsim_gpu_close(fsim_gpu *g);
/* Why the device can't run anything any more, or NULL. */
const char *fsim_gpu_lost(const fsim_gpu *g);
/* Sets when measurements must end, by fsim_now_s. Fewer samples are taken, and what comes last may be left out. 0:
 * no limit. */
void fsim_gpu_limit(fsim_gpu *g, double until_s);
/* The worst sensor readings while plans were measured: lowest clocks, highest power, all reasons for throttling.
 * reasons is NULL where nothing was read. */
fsim_sensors fsim_gpu_sensors(const fsim_gpu *g);
/* Facts about the device and the libraries. Lives in g; measuring changes it. */
const fsim_gpu_facts *fsim_gpu_facts_of(const fsim_gpu *g);

/* Device memory. `name` is for messages. */
typedef fsim_buffer fsim_gpu_buffer;
/* At least 16 bytes of device memory, whose contents are undefined. */
bool fsim_gpu_allocate(fsim_gpu *g, const char *name, int64_t bytes, fsim_gpu_buffer *out, fsim_fault *fault);
/* Frees the buffer and sets it to zeros. Does nothing to an empty one. */
void fsim_gpu_free(fsim_gpu *g, fsim_gpu_buffer *buffer);
/* Copies from the host and waits. A fault where the buffer is smaller than bytes. */
bool fsim_gpu_upload(fsim_gpu *g, fsim_gpu_buffer to, const void *from, int64_t bytes, fsim_fault *fault);
/* Copies to the host and waits. A fault where the buffer is smaller than bytes. */
bool fsim_gpu_download(fsim_gpu *g, void *to, fsim_gpu_buffer from, int64_t bytes, fsim_fault *fault);

/* Compiles the programs that have a source for this device, to cubin[count]. *fault is that of the first program that
 * failed; the others are compiled in any case. */
bool fsim_gpu_compile(fsim_gpu *g, const fsim_program *program, int count, const fsim_nvrtc_how *how, fsim_cubin *cubin,
                      fsim_fault *fault);

/* A kernel that can be launched. argument[i]: the buffer of parameter i; the caller allocates scratch parameters
 * too. program, its launches and names must outlive it. */
typedef struct fsim_gpu_kernel fsim_gpu_kernel;
/* Loads a compiled program. Lives in g's arena. NULL with *fault set where it was not compiled, a buffer is smaller
 * than its parameter, or the driver refuses it. */
fsim_gpu_kernel *fsim_gpu_load(fsim_gpu *g, const fsim_program *program, const fsim_cubin *cubin,
                               const fsim_gpu_buffer *argument, fsim_fault *fault);
/* Unloads its code, and frees what a library created for it. k may be NULL. */
void fsim_gpu_unload(fsim_gpu *g, fsim_gpu_kernel *k);

/* C[m, n] = A[m, k] B[k, n] by cuBLAS, `batch` times, all row-major; with a bias, a residual or an activation,
 * C = activation(A B + residual + bias) by cuBLASLt; with a slope, C = A B times the activation's slope at `aux`. */
typedef enum {
    FSIM_NO_ACTIVATION,
    FSIM_WITH_RELU,
    FSIM_WITH_TANH_GELU,
    FSIM_WITH_RELU_SLOPE,
    FSIM_WITH_TANH_GELU_SLOPE
} fsim_gpu_activation;
typedef struct {
    const char *name;
    int64_t m, n, k, batch;               /* batch: at least 1 */
    int64_t a_stride, b_stride, c_stride; /* elements from one matrix to the next; 0 for A and B: one matrix for all */
    bool a_transposed, b_transposed;      /* A is in memory as [k, m], B as [n, k] */
    fsim_dtype type;                      /* of A, B and C: FSIM_F32, FSIM_F16, FSIM_BF16, FSIM_F64 */
    bool tf32;                            /* FSIM_F32 on tensor cores; otherwise in full FP32 */
    fsim_gpu_buffer bias;                 /* n elements of `type`, added to each row; at 0: none */
    int64_t bias_stride;                  /* elements from one matrix's bias to that of the next; 0: the same for all */
    fsim_gpu_buffer residual;             /* laid out as C, and apart from it; at 0: none */
    fsim_gpu_activation activation;
    fsim_gpu_buffer sums; /* with a slope: where the sums of C's columns go, n elements of `type`; at 0: nowhere. batch
                             is 1 then */
    fsim_gpu_buffer aux;  /* laid out as C: with a tanh GELU where what it reads goes as well, at 0: nowhere; with its
                             slope what that is taken at. Of ReLU and its slope a bit for each element of C, where that
                             is 1;  the first of a byte is its lowest */
} fsim_gpu_gemm_call;
/* NULL with *fault set where there is no library, or it can't compute the product. To be freed by fsim_gpu_unload. */
fsim_gpu_kernel *fsim_gpu_gemm(fsim_gpu *g, const fsim_gpu_gemm_call *call, fsim_gpu_buffer at, fsim_gpu_buffer bt,
                               fsim_gpu_buffer ct, fsim_fault *fault);
/* "cuBLAS", "cuBLASLt"; NULL: a kernel of ours. */
const char *fsim_gpu_library_of(const fsim_gpu_kernel *k);

/* Launches once and waits. */
bool fsim_gpu_run(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault);

/* Measures kernels in rotation, so that clock drift affects all alike: out[count]. A kernel's time is the sum of its
 * launches, without the gaps between them. Inputs and outputs are whatever the buffers contain; kernels run hundreds
 * of times. out[i].failed says why one was not measured; that is no fault unless the device is lost. */
bool fsim_gpu_measure(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out,
                      fsim_fault *fault);

/* Measures whole plans in rotation, with L2 flushed before each run unless `warm`: from the first kernel's start to
 * the last one's end, including gaps. out[i].kernel is not changed. out[i].failed is no fault unless the device is
 * lost; where only the graph fails, out[i].no_graph says why. wall[i], unless wall is NULL: the stream runs by the
 * processor's clock, from the first launch until the processor sees the end. */
typedef struct {
    const char *name;
    fsim_gpu_kernel *const *kernel;
    int kernels;
    bool warm; /* with what the run before left in L2 */
} fsim_gpu_plan;
/* False with *fault set where the device is lost or a plan's times are too noisy; all of out is filled in. */
bool fsim_gpu_measure_plans(fsim_gpu *g, const fsim_gpu_plan *plan, int count, fsim_measured_plan *out,
                            fsim_times *wall, fsim_fault *fault);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h: shared by the probes of an NVIDIA GPU: the device with the probes' kernels, and how figures are computed. */
#ifndef FUSESIM_VALIDATE_CUDA_PROBE_BENCH_H
#define FUSESIM_VALIDATE_CUDA_PROBE_BENCH_H

#include "validate/cuda/probes.h"

enum {
    FSIM_PROBE_ELEM_BYTES = 16,
    FSIM_PROBE_BLOCK = 256,
    FSIM_PROBE_WIDE_BLOCK = 1024,
    FSIM_PROBE_LEAST_BYTES = 1 << 20,
    FSIM_PROBE_ARGS = 256 /* pairs of numbers that kernels get as arguments */
};
extern const double fsim_probe_most_spread; /* spread up to which a figure is not noisy */

/* The texts of the kernels: memory.cu, rates.cu and tensor.cu. */
typedef enum { FSIM_PROBE_MEMORY, FSIM_PROBE_RATES, FSIM_PROBE_TENSOR, FSIM_PROBE_TEXTS } fsim_probe_text;

typedef struct {
    fsim_gpu *g;
    fsim_arena *a;
    fsim_gpu_probe_options option;
    fsim_gpu_probed *out;
    fsim_cubin cubin[FSIM_PROBE_TEXTS];
    fsim_gpu_buffer args, operands, cycles,
        tiny; /* args: FSIM_PROBE_ARGS pairs; cycles: a number for each block; tiny: for parameters that are not used */
    int args_used, room;
    fsim_fault fault; /* set: nothing more can be measured */
} fsim_probe_bench;

/* A figure that was not measured. */
fsim_figure fsim_probe_missing(const char *name, const char *unit, const char *why);
/* A figure from times, minus less_s: work / s where work > 0. Differences below the clock's resolution are no noise. */
fsim_figure fsim_probe_figure(const char *name, const char *unit, fsim_times t, double less_s, double work);
/* The same as b's figure p. */
void fsim_probe_set(fsim_probe_bench *b, fsim_gpu_probe p, fsim_times t, double less_s, double work);
/* Marks figure p as missing, unless it exists or has a reason already. */
void fsim_probe_leave_out(fsim_probe_bench *b, fsim_gpu_probe p, const char *why);
/* Adds a figure for a size. */
void fsim_probe_add_by_size(fsim_probe_bench *b, fsim_figure f, int64_t bytes);

/* A kernel of the texts, and its launch configuration. */
typedef struct {
    const char *entry;
    fsim_probe_text of;
    int64_t grid;
    int block;
    fsim_gpu_buffer x, y;
    uint64_t elems, iterations;
} fsim_probe_kernel;

/* NULL after a fault. */
fsim_gpu_kernel *fsim_probe_load(fsim_probe_bench *b, const fsim_probe_kernel *s, fsim_fault *fault);
/* *why: the message of the fault. True where it concerns one measurement only; false where nothing more can be
 * measured. */
bool fsim_probe_survives(fsim_probe_bench *b, const fsim_fault *fault, const char **why);
/* Times cold and warm runs; 0 samples, and *why, where this kernel alone fails. False where nothing more can be
 * measured. */
bool fsim_probe_measure(fsim_probe_bench *b, const fsim_probe_kernel *s, fsim_measured_kernel *out, const char **why);
/* Runs the kernel once, for its results. */
bool fsim_probe_run_once(fsim_probe_bench *b, const fsim_probe_kernel *s, const char **why);
/* Seconds of an empty kernel. */
double fsim_probe_floor_s(const fsim_probe_bench *b);
/* Device memory. False with *why set. */
bool fsim_probe_allocate(fsim_probe_bench *b, const char *name, int64_t bytes, fsim_gpu_buffer *out, const char **why);
/* Words of 32 bits: which of their bits are random, and what the others are. */
typedef struct {
    uint32_t random, fixed;
} fsim_probe_bits;
extern const fsim_probe_bits fsim_probe_floats; /* of 0.5 to 1 */
/* Fills with random contents: zeros would take less power. False with *why set. */
bool fsim_probe_fill(fsim_probe_bench *b, fsim_gpu_buffer to, fsim_probe_bits bits, const char **why);

#endif

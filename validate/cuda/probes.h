/* SPDX-License-Identifier: Apache-2.0 */
/* probes.h: what an NVIDIA GPU reaches, by small kernels (probe/, compiled by NVRTC): bandwidths, latencies, rates of
 * pipes, costs of launches, clocks under load.
 *
 * Times are those of validate/cuda: records of kernels, where there are any, L2 flushed or as the run before left it;
 * of what lasts some microseconds an empty kernel's are taken off. Rates of pipes are by the SMs' own cycle counters.
 * Matrix products are cuBLAS's; by mma.sync, in registers, is what generated kernels can reach at most: on sm_90 and
 * newer less than the device. */
#ifndef FUSESIM_VALIDATE_CUDA_PROBES_H
#define FUSESIM_VALIDATE_CUDA_PROBES_H

#include "validate/cuda/cuda.h"
#include "validate/cuda/nvml.h"

typedef enum {
    FSIM_GPU_COPY,
    FSIM_GPU_READ,
    FSIM_GPU_WRITE,
    FSIM_GPU_SCALE,        /* B/s of the largest tensors, read and written bytes together; cold */
    FSIM_GPU_L2,           /* B/s read, of a set that fits */
    FSIM_GPU_L2_EFFECTIVE, /* B: where repeated reads are half way, in logarithms, from L2's bandwidth to memory's; one
                              sample */
    FSIM_GPU_L2_LATENCY,
    FSIM_GPU_DRAM_LATENCY, /* s of a dependent load past L1 */
    FSIM_GPU_FLOOR,        /* s: an empty kernel by its record */
    FSIM_GPU_LAUNCH_STREAM,
    FSIM_GPU_LAUNCH_GRAPH, /* s a launch of an empty kernel behind others: in a stream as fast as the processor launches
                            */
    FSIM_GPU_LAUNCH_QUEUED, /* s that a kernel of some 20 us takes beyond its work, queued behind others: its gap and an
                               empty kernel's record */
    FSIM_GPU_LAUNCH_ALONE,  /* s between events around one launch into an idle stream */
    FSIM_GPU_LAUNCH_WAITED, /* s by the processor's clock: the same until its end is known */
    FSIM_GPU_FFMA,
    FSIM_GPU_HFMA2,
    FSIM_GPU_DFMA,
    FSIM_GPU_IMAD,
    FSIM_GPU_SPECIAL, /* results a clock and SM; HFMA2: both halves */
    FSIM_GPU_SHARED,
    FSIM_GPU_SHARED_LATENCY, /* B a clock and SM; clocks */
    FSIM_GPU_MMA_F16,
    FSIM_GPU_MMA_BF16,
    FSIM_GPU_MMA_TF32,
    FSIM_GPU_MMA_I8, /* FLOP a clock and SM, 2 a multiply-add */
    FSIM_GPU_FFMA_RATE,
    FSIM_GPU_HFMA2_RATE,
    FSIM_GPU_DFMA_RATE,
    FSIM_GPU_IMAD_RATE,
    FSIM_GPU_SPECIAL_RATE, /* FLOP/s of the whole device, results/s of the last two */
    FSIM_GPU_MMA_F16_RATE,
    FSIM_GPU_MMA_BF16_RATE,
    FSIM_GPU_MMA_TF32_RATE,
    FSIM_GPU_MMA_I8_RATE, /* FLOP/s */
    FSIM_GPU_GEMM_F16,
    FSIM_GPU_GEMM_BF16,
    FSIM_GPU_GEMM_TF32,
    FSIM_GPU_GEMM_F32, /* FLOP/s of a large square product */
    FSIM_GPU_CLOCK_START,
    FSIM_GPU_CLOCK_FMA,
    FSIM_GPU_CLOCK_TENSOR,
    FSIM_GPU_CLOCK_MEMORY, /* Hz of the SMs: before anything ran, and under load */
    FSIM_GPU_PROBES
} fsim_gpu_probe;
extern const char *const fsim_gpu_probe_names[FSIM_GPU_PROBES], *const fsim_gpu_probe_units[FSIM_GPU_PROBES];

/* A figure: the median of samples and their quartiles, low <= median <= high. */
typedef struct {
    const char *name, *unit;
    int64_t bytes;            /* of the tensor; 0: no figure by size */
    double median, low, high; /* NaN where not measured */
    int samples;
    bool noisy;      /* quartiles are more than a tenth of the median apart */
    const char *why; /* it was not measured, or NULL */
} fsim_gpu_figure;
/* (high - low) / median */
double fsim_gpu_spread(const fsim_gpu_figure *f);

typedef struct {
    const char *name;     /* "multiply-adds", "tensor cores", "copy" */
    fsim_sensors sensors; /* while it ran */
} fsim_gpu_under_load;
enum { FSIM_GPU_LOADS = 3 };

typedef struct {
    int64_t most_bytes; /* of the largest tensor; 0: 4 GiB, or an eighth of what is free */
    int gemm;           /* rows of the matrix products; 0: 8192; -1: none */
    double load_s;      /* under each load; 0: 0.5 */
} fsim_gpu_probe_options;

typedef struct {
    const fsim_gpu_facts *facts;
    const char *driver;     /* by NVML, or NULL */
    const char *no_sensors; /* why power and temperature are not known, or NULL */
    fsim_gpu_figure of[FSIM_GPU_PROBES];
    fsim_gpu_figure *by_size; /* streams by size, cold and warm, then repeated reads by size */
    int sizes;
    fsim_sensors at_start;
    fsim_gpu_under_load load[FSIM_GPU_LOADS];
    int measured, noisy; /* figures, of[] and by size */
    double took_s;
} fsim_gpu_probed;

/* Texts of the probe kernels. */
extern const char fsim_probe_memory_text[], fsim_probe_rates_text[], fsim_probe_tensor_text[];

/* False with *fault where the device is lost or there is no memory, or FSIM_INCONCLUSIVE where more than half of
 * the figures are noisy: *out then is filled in. What can't be measured alone is left out of the figures, which say
 * why. In a. g: opened for it; options of measuring are those of g. */
bool fsim_gpu_run_probes(fsim_gpu *g, const fsim_gpu_probe_options *options, fsim_arena *a, fsim_gpu_probed *out,
                         fsim_fault *fault);

#endif

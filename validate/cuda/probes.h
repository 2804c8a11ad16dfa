/* SPDX-License-Identifier: Apache-2.0 */
/* probes.h: measures an NVIDIA GPU with small kernels (probe/, compiled by NVRTC): bandwidths, latencies, rates of
 * pipes, costs of launches, clocks under load.
 *
 * Times are those of validate/cuda: records of kernels, if available, with L2 flushed or as the run before left it.
 * From times of a few microseconds that of an empty kernel is subtracted. Rates of pipes come from the SMs' cycle
 * counters. Matrix products are cuBLAS's. The rate of mma.sync on registers is the limit for generated kernels; on
 * sm_90 and newer it is below the device's. */
#ifndef FUSESIM_VALIDATE_CUDA_PROBES_H
#define FUSESIM_VALIDATE_CUDA_PROBES_H

#include "validate/cuda/cuda.h"
#include "validate/cuda/nvml.h"

typedef enum {
#define FSIM_GPU_PROBE(id, name, unit, meaning) FSIM_GPU_##id,
#include "validate/cuda/probes.def"
#undef FSIM_GPU_PROBE
    FSIM_GPU_PROBES
} fsim_gpu_probe;
extern const char *const fsim_gpu_probe_names[FSIM_GPU_PROBES], *const fsim_gpu_probe_units[FSIM_GPU_PROBES];

/* (high - low) / median */
double fsim_gpu_spread(const fsim_figure *f);

enum { FSIM_GPU_LOADS = 3 };

typedef struct {
    int64_t most_bytes; /* of the largest tensor; 0: 4 GiB, or an eighth of the free memory */
    int gemm;           /* rows of the matrix products; 0: 8192; -1: none */
    double load_s;      /* duration of each load; 0: 0.5 */
} fsim_gpu_probe_options;

typedef struct {
    const fsim_gpu_facts *facts;
    const char *driver;     /* by NVML, or NULL */
    const char *no_sensors; /* why power and temperature are unknown, or NULL */
    fsim_figure of[FSIM_GPU_PROBES];
    fsim_figure *by_size; /* streams by size, cold and warm, then repeated reads by size */
    int sizes;
    fsim_sensors at_start;
    fsim_under_load load[FSIM_GPU_LOADS];
    int measured, noisy; /* figures, of[] and by size */
    double took_s;
} fsim_gpu_probed;

/* Texts of the probe kernels. */
extern const char fsim_probe_memory_text[], fsim_probe_rates_text[], fsim_probe_tensor_text[];

/* Runs all probes. False with *fault where the device is lost or there is no memory, or FSIM_INCONCLUSIVE where more
 * than half of the figures are noisy (*out is filled in then). What can't be measured is marked as missing, with a
 * reason. In a. g: opened for probing; its options apply. */
bool fsim_gpu_run_probes(fsim_gpu *g, const fsim_gpu_probe_options *options, fsim_arena *a, fsim_gpu_probed *out,
                         fsim_fault *fault);

#endif

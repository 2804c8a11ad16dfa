/* SPDX-License-Identifier: Apache-2.0 */
/* stages.h: the probes, one file for each subject. A figure that can't be measured is marked as missing, with a
 * reason. Each function returns false where nothing more can be measured. */
#ifndef FUSESIM_VALIDATE_CUDA_PROBE_STAGES_H
#define FUSESIM_VALIDATE_CUDA_PROBE_STAGES_H

#include "validate/cuda/probe/bench.h"

/* loads.c: the SMs' clock before anything else has run. */
bool fsim_probe_first_clock(fsim_probe_bench *b);
/* loads.c: clocks and sensors under multiply-adds, tensor cores and copies. */
bool fsim_probe_loads(fsim_probe_bench *b, const fsim_nvml *nvml);

/* memory.c: copies, reads and writes by size. */
bool fsim_probe_streams(fsim_probe_bench *b);
/* memory.c: repeated reads of growing sets. */
bool fsim_probe_l2(fsim_probe_bench *b);
/* memory.c: dependent loads from L2 and from memory. */
bool fsim_probe_latencies(fsim_probe_bench *b);

/* launches.c: empty kernels, one and many. */
bool fsim_probe_launches(fsim_probe_bench *b);
/* launches.c: kernels that wait for each other. */
bool fsim_probe_queue(fsim_probe_bench *b);

/* pipes.c: arithmetic units and shared memory. */
bool fsim_probe_pipes(fsim_probe_bench *b);
enum { FSIM_PIPE_FFMA = 0, FSIM_PIPE_MMA_F16 = 6 }; /* of its table */
/* The kernel that keeps pipe i of the table busy on every SM, `times` as long as it is measured. */
fsim_probe_kernel fsim_pipe_kernel(const fsim_probe_bench *b, int i, int times);

/* products.c: matrix products by the library. */
bool fsim_probe_products(fsim_probe_bench *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: measurements of kernels, for all kinds of devices. */
#ifndef FUSESIM_VALIDATE_DEVICE_DEVICE_H
#define FUSESIM_VALIDATE_DEVICE_DEVICE_H

#include "emit/program.h"

/* Times of repeated runs. */
typedef struct {
    int samples;                             /* 0: not measured */
    double median_s, low_s, high_s, least_s; /* low, high: quartiles */
} fsim_times;
/* Sorts s[0, n). */
fsim_times fsim_times_of(double *s, int n);

/* Memory of a device at an address there; bytes 0: none. */
typedef struct {
    uint64_t at;
    int64_t bytes;
} fsim_buffer;

/* A kernel, with all its launches together. NaN and 0 samples: not measured. */
typedef struct {
    fsim_times cold, warm; /* L2 flushed before each run; with what the run before left in L2 */
    double dram_read_bytes, dram_write_bytes, l2_bytes, l2_write_bytes, shared_bytes,
        local_bytes;                /* of one cold run; l2: between L1 and L2, writes included */
    double dram_write_by_end_bytes; /* dram_write_bytes without what is still in L2 when the kernel ends */
    int registers, static_shared_bytes, local_bytes_per_thread; /* of the compiled kernel; -1: unknown */
    double occupancy;          /* warps of the blocks that fit an SM, over the most warps */
    double achieved_occupancy; /* measured by counters */
    double sm_clock_hz;
    const char *failed; /* why it was not measured, or NULL */
    const char *left_out,
        *uncounted; /* not reached in time, so not measured; measured without counters, and why; NULL */
} fsim_measured_kernel;

/* A plan: its kernels one after another. */
typedef struct {
    fsim_measured_kernel *kernel;  /* per kernel of the plan */
    fsim_times stream, graph;      /* from beginning to end: as single launches; as a CUDA graph */
    const char *failed, *left_out; /* why it can't be measured; it was not reached in time */
    const char *no_graph;          /* why there is no graph */
} fsim_measured_plan;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: what is measured of kernels, on whatever device they ran. */
#ifndef FUSESIM_VALIDATE_DEVICE_DEVICE_H
#define FUSESIM_VALIDATE_DEVICE_DEVICE_H

#include "emit/program.h"

/* Seconds of repeated runs. */
typedef struct {
    int samples;                             /* 0: not measured */
    double median_s, low_s, high_s, least_s; /* low, high: quartiles */
} fsim_times;
/* Sorts s[0, n). */
fsim_times fsim_times_of(double *s, int n);

/* Memory of a device, by its address there; bytes 0: none. */
typedef struct {
    uint64_t at;
    int64_t bytes;
} fsim_buffer;

/* One kernel, all its launches together. NaN and 0 samples: not measured. */
typedef struct {
    fsim_times cold, warm; /* L2 flushed before each run; as the run before left it */
    double dram_read_bytes, dram_write_bytes, l2_bytes, l2_write_bytes, shared_bytes,
        local_bytes;                /* of one cold run; l2: between L1 and L2, writes among them */
    double dram_write_by_end_bytes; /* dram_write_bytes without what L2 still holds at the kernel's end */
    int registers, static_shared_bytes, local_bytes_per_thread; /* as compiled; -1: not known */
    double occupancy;                                           /* of the blocks that fit an SM, over the most warps */
    double achieved_occupancy;                                  /* counted */
    double sm_clock_hz;
    const char *failed;               /* why it was not measured, or NULL */
    const char *left_out, *uncounted; /* not reached in time: not measured, measured without counters; NULL */
} fsim_measured_kernel;

/* A whole plan, kernels one after another. */
typedef struct {
    fsim_measured_kernel *kernel;  /* per kernel of the plan */
    fsim_times stream, graph;      /* end to end: launched one by one; as a CUDA graph */
    const char *failed, *left_out; /* it can't be; it was not reached in time */
    const char *no_graph;          /* why there is none */
} fsim_measured_plan;

#endif

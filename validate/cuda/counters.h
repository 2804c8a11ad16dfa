/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h: bytes and occupancy of kernels by CUPTI's range profiler (CUPTI 12.6 and newer), which drivers restrict
 * to administrators by default.
 *
 * User ranges and user replay: L2 is flushed by us before each pass, so that every pass starts alike. Results of a
 * kernel may remain in L2, as far as they fit: when it ends, the bytes written to DRAM are between what it wrote
 * minus L2's size, and what it wrote. They are counted once more in a range that includes a sweep of reads after the
 * kernel, which writes nothing. Sets of metrics are chosen so that one pass is enough on all chips. Runs under the
 * profiler take longer, and their times are not used. */
#ifndef FUSESIM_VALIDATE_CUDA_COUNTERS_H
#define FUSESIM_VALIDATE_CUDA_COUNTERS_H

#include "validate/cuda/device.h"

typedef enum {
    FSIM_COUNT_DRAM_READ,
    FSIM_COUNT_DRAM_WRITE_BY_END, /* bytes, up to the kernel's end */
    FSIM_COUNT_DRAM_WRITE,        /* bytes, until all of its results have left L2 */
    FSIM_COUNT_TEX_WRITE,
    FSIM_COUNT_TEX,   /* sectors of 32 bytes between L1 and L2 */
    FSIM_COUNT_WARPS, /* active warps, % of the maximum */
    FSIM_COUNT_CLOCK, /* Hz */
    FSIM_COUNT_LOCAL_LOAD,
    FSIM_COUNT_LOCAL_STORE, /* sectors */
    FSIM_COUNT_SHARED,      /* wavefronts of up to 128 bytes */
    FSIM_COUNTS
} fsim_count;
enum { FSIM_COUNT_SETS = 4 };

/* The names of a chip's metrics for one set, and how many passes they need. For a device, or without one for tests. */
typedef struct {
    void *host;
    const char *name[FSIM_COUNTS];
    int of[FSIM_COUNTS], metrics; /* which fsim_count each is */
    uint8_t *config;
    size_t config_bytes, passes;
} fsim_count_set;
/* availability: NULL without a device. Returns CUPTI's result, 0 for success; close it in any case. A set without
 * metrics is no failure. */
int fsim_count_set_open(const fsim_cupti_entries *cupti, fsim_arena *a, const char *chip, const uint8_t *availability,
                        int set, fsim_count_set *out);
/* Frees CUPTI's host object; the set's memory stays in its arena. */
void fsim_count_set_close(const fsim_cupti_entries *cupti, fsim_count_set *s);

/* Sets the counters of out[count], kernel by kernel; out[i].uncounted where there was no time. What can't be counted
 * stays NaN, and facts.no_counters says why; *fault only where the device is lost. */
void fsim_counters_measure(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out,
                           fsim_fault *fault);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h: bytes and occupancy of kernels by CUPTI's range profiler (CUPTI 12.6 and newer), which drivers keep to
 * administrators unless told otherwise.
 *
 * User ranges and user replay: we flush L2 ourselves before each pass, so that every pass sees the same. What a kernel
 * writes it leaves in L2, as much as that holds: writes to DRAM until its end lie anywhere between what it wrote less
 * L2's size, and what it wrote. They are counted once more, in a range that also takes in a sweep of reads behind the
 * kernel, which writes nothing itself. Sets of metrics are such that one pass is enough on all chips that have them.
 * Times of these runs are longer than without the profiler, and not used. */
#ifndef FUSESIM_VALIDATE_CUDA_COUNTERS_H
#define FUSESIM_VALIDATE_CUDA_COUNTERS_H

#include "validate/cuda/device.h"

typedef enum {
    FSIM_COUNT_DRAM_READ,
    FSIM_COUNT_DRAM_WRITE_BY_END, /* bytes, until the kernel's end */
    FSIM_COUNT_DRAM_WRITE,        /* bytes, until all that it wrote has left L2 */
    FSIM_COUNT_TEX_WRITE,
    FSIM_COUNT_TEX,   /* sectors of 32 bytes between L1 and L2 */
    FSIM_COUNT_WARPS, /* active, % of the most */
    FSIM_COUNT_CLOCK, /* Hz */
    FSIM_COUNT_LOCAL_LOAD,
    FSIM_COUNT_LOCAL_STORE, /* sectors */
    FSIM_COUNT_SHARED,      /* wavefronts of up to 128 bytes */
    FSIM_COUNTS
} fsim_count;
enum { FSIM_COUNT_SETS = 4 };

/* Names of a chip's metrics, those of one set at a time, and how many passes they take. For the device and, without
 * one, for tests. */
typedef struct {
    void *host;
    const char *name[FSIM_COUNTS];
    int of[FSIM_COUNTS], metrics; /* which fsim_count each is */
    uint8_t *config;
    size_t config_bytes, passes;
} fsim_count_set;
/* availability: NULL without a device. Returns CUPTI's result, 0 being success; close it in any case. A set without
 * metrics is no failure. */
int fsim_count_set_open(const fsim_cupti_entries *cupti, fsim_arena *a, const char *chip, const uint8_t *availability,
                        int set, fsim_count_set *out);
/* Lets go of CUPTI's host object; the set's memory stays in its arena. */
void fsim_count_set_close(const fsim_cupti_entries *cupti, fsim_count_set *s);

/* Fills the counters of out[count], one kernel after another; out[i].uncounted where there was no time. What can't be
 * counted stays NaN, and facts.no_counters says why; *fault only where the device is lost. */
void fsim_counters_measure(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out,
                           fsim_fault *fault);

#endif

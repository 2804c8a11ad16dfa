/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h: a CPU as a hardware file, from probes.
 *
 * sms are threads: a block of the model runs on one thread. L2 is the last-level cache; shared memory is a core's
 * own cache. dram_bandwidth is that of a copy by all threads with plain stores, which generated kernels use too.
 * special_rate makes the model's times of exp, tanh, sigmoid and erf equal to those of generated code, in the mean
 * of logarithms; square roots and divisions, for which CPUs have instructions, are faster. Launches are the same in
 * all regimes: the calling thread wakes the others and waits. */
#ifndef FUSESIM_VALIDATE_CPU_HARDWARE_H
#define FUSESIM_VALIDATE_CPU_HARDWARE_H

#include "validate/cpu/probes.h"

typedef struct {
    fsim_hw_key key;
    double value, achieved, spread; /* SI units; NaN: none. value: the peak of a key that has both */
    const char *source;             /* the part before "measured: " */
    bool measured;                  /* otherwise assumed or reported by the system, and source is complete */
} fsim_host_key;

/* The keys that follow from the probes, without those whose probe was not run. In a. */
int fsim_host_keys(const fsim_host_probes *h, fsim_arena *a, fsim_host_key **out);

/* The text of a hardware file with these keys: lines of `text` ("" for a new file) are replaced as by
 * fsim_calibrated_text. command: for the file's head. In a. */
const char *fsim_host_text(fsim_arena *a, const char *text, const char *name, const fsim_host_probes *h,
                           const char *date, const char *command);

/* A copy of hw, which must be a host, with new measurements of what differs between machines and changes over hours:
 * threads, clock, bandwidths, launches, vector rates and functions. Takes about a second. In a. NULL with *why set
 * where it can't be measured. */
const fsim_hw *fsim_host_recalibrated(const fsim_hw *hw, fsim_cpu_pool *p, const fsim_cpu_compiler *compiler,
                                      fsim_arena *a, const char **why);

#endif

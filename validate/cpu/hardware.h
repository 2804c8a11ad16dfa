/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h: a CPU in the keys of a hardware file, from probes.
 *
 * sms are threads, a block of the model runs on one of them alone. L2 is the last-level cache, shared memory what a
 * core has for itself. dram_bandwidth is that of a copy by all threads with plain stores, as generated kernels store.
 * special_rate is what makes the model's time of exp, tanh, sigmoid and erf that of generated code, in the mean of
 * logarithms; square roots and divisions, which CPUs have instructions for, are faster than that. All regimes launch
 * alike: the calling thread wakes the others and waits. */
#ifndef FUSESIM_VALIDATE_CPU_HARDWARE_H
#define FUSESIM_VALIDATE_CPU_HARDWARE_H

#include "validate/cpu/probes.h"

typedef struct {
    fsim_hw_key key;
    double value, achieved, spread; /* SI units; NaN: not given. value: of a key with both, the peak */
    const char *source;             /* without what follows "measured: " */
    bool measured;                  /* else assumed, or what the system says: the source then is whole */
} fsim_host_key;

/* The keys that the probes tell, those that need a probe that was not run left out. In a. */
int fsim_host_keys(const fsim_host_probes *h, fsim_arena *a, fsim_host_key **out);

/* The text of a hardware file with these keys: `text` ("" for a new one) with its lines replaced, as
 * fsim_calibrated_text does. command: for the file's head. In a. */
const char *fsim_host_text(fsim_arena *a, const char *text, const char *name, const fsim_host_probes *h,
                           const char *date, const char *command);

/* hw, a host, with what differs between machines and hours measured again, in about a second: threads, clock,
 * bandwidths, launches, vector rates and functions. The copy is in a. NULL with *why set where it can't be measured. */
const fsim_hw *fsim_host_recalibrated(const fsim_hw *hw, fsim_cpu_pool *p, const fsim_cpu_compiler *compiler,
                                      fsim_arena *a, const char **why);

#endif

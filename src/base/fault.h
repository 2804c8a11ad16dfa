/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h: one failure as a value: its kind and its reason in the user's words. For functions that do not know which
 * of the user's files they work for. Their caller adds the place and reports it to an fsim_diag, or keeps it as a
 * result (a kernel that could not be measured). */
#ifndef FUSESIM_BASE_FAULT_H
#define FUSESIM_BASE_FAULT_H

#include "base/diag.h"

typedef struct {
    fsim_status status;  /* FSIM_OK: no failure. FSIM_UNAVAILABLE: device, driver, compiler or counters are missing.
                            FSIM_INCONCLUSIVE: too much noise. FSIM_FAILED: a fault of fusesim's own */
    const char *message; /* tells the user what to do; in the arena of the function that failed */
} fsim_fault;

/* Sets *fault (where it is not NULL) and returns false, so that it can be returned. */
bool fsim_fail(fsim_fault *fault, fsim_arena *a, fsim_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif

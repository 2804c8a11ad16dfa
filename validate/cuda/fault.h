/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h: why something could not be measured, in the user's words, and what the program ends with. */
#ifndef FUSESIM_VALIDATE_CUDA_FAULT_H
#define FUSESIM_VALIDATE_CUDA_FAULT_H

#include "base/diag.h"

typedef struct {
    int exit_status;     /* FSIM_EXIT_OK: none. FSIM_EXIT_UNAVAILABLE: device, driver, compiler, counters.
                            FSIM_EXIT_INCONCLUSIVE: noise. FSIM_EXIT_INTERNAL: ours */
    const char *message; /* says what to do; in the arena of whoever failed */
} fsim_fault;

/* Sets *fault (where it is not NULL) and returns false, so that it can be returned. */
bool fsim_fail(fsim_fault *fault, fsim_arena *a, int exit_status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif

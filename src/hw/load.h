/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: a hardware file made ready for predictions. Every command gets its GPUs here, so that all of them price with
 * the same figures. */
#ifndef FUSESIM_HW_LOAD_H
#define FUSESIM_HW_LOAD_H

#include "hw/find.h"
#include "hw/hw.h"

/* How GPUs are wanted. */
typedef struct {
    fsim_hw_folders folders;
    const char *const *change; /* assignments of --hw-set, in order: see fsim_hw_set */
    int changes;
    bool unseen; /* as if nothing had been measured on the GPU: only its data sheet counts */
} fsim_hw_wanted;

/* Finds and reads one file: what it says, and nothing else. NULL after errors in d: FSIM_NO_INPUT where there is no
 * file that can be read, else FSIM_BAD_INPUT. In a. */
fsim_hw *fsim_hw_open(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where);

/* Completes what was read. First the figures that the file lacks, from its relatives (relatives.h); then the changes of
 * --hw-set, so that a change of one key leaves all others as they are. False after an error in d: FSIM_BAD_ARGUMENT, a
 * change that cannot be. */
bool fsim_hw_complete(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const fsim_hw_wanted *how);

/* Both. NULL after errors in d. In a. */
fsim_hw *fsim_hw_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_wanted *how);

#endif

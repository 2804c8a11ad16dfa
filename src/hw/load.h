/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: prepares hardware files for predictions. Every command gets its GPUs here, so that all price with the same
 * figures. */
#ifndef FUSESIM_HW_LOAD_H
#define FUSESIM_HW_LOAD_H

#include "hw/find.h"
#include "hw/hw.h"

/* How a GPU is to be loaded. */
typedef struct {
    fsim_hw_folders folders;
    const char *const *change; /* assignments of --hw-set, in order: see fsim_hw_set */
    int changes;
    bool unseen; /* ignore what was measured on the GPU: keep only its data sheet */
} fsim_hw_wanted;

/* Finds and reads one file, and adds nothing to it. NULL after errors in d: FSIM_NO_INPUT where no file can be read,
 * else FSIM_BAD_INPUT. In a. */
fsim_hw *fsim_hw_open(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where);

/* Completes a GPU that was read: first figures that the file lacks, from its relatives (relatives.h), then the
 * changes of --hw-set. In this order a change of one key leaves all others as they are, but for peaks and the
 * L2's bandwidth, which go with SMs and clock unless a change sets them too, and for what a block may have of an SM.
 * False after an error in d (FSIM_BAD_ARGUMENT): a change that is not possible. */
bool fsim_hw_complete(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const fsim_hw_wanted *how);

/* fsim_hw_open and fsim_hw_complete. NULL after errors in d. In a. */
fsim_hw *fsim_hw_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_wanted *how);

#endif

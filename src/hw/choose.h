/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: the GPU that a name means which is no file's name: "A100", "rtx4090", "h100.yaml", "nvidia v100 32gb". */
#ifndef FUSESIM_HW_CHOOSE_H
#define FUSESIM_HW_CHOOSE_H

#include "hw/find.h"

/* The path of the hardware file by name, as fsim_hw_find has it. Where no file is called so, but the words of the name
 * are those of one family of known GPUs, the path of one of them, with a warning that names it and the others: SXM
 * modules before cards, then the one with most memory. NULL after an error (FSIM_NO_INPUT). In a. */
const char *fsim_hw_choose(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where);

#endif

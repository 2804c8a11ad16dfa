/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: finds the GPU for a name that is no file's name: "A100", "rtx4090", "h100.yaml", "nvidia v100 32gb". */
#ifndef FUSESIM_HW_CHOOSE_H
#define FUSESIM_HW_CHOOSE_H

#include "hw/find.h"

/* The path of the hardware file, as fsim_hw_find finds it. Where no file has that name, but the name's words mean
 * one family of known GPUs, it is the path of one variant, with a warning that names it and the others. SXM modules
 * are preferred to cards, then the variant with most memory. NULL after an error (FSIM_NO_INPUT). In a. */
const char *fsim_hw_choose(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where);

/* Are the words of the name those of the GPU called `known`, and more than a variant ("80gb")? */
bool fsim_hw_means(const char *name, const char *known);

#endif

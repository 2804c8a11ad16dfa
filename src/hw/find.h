/* SPDX-License-Identifier: Apache-2.0 */
/* find.h: where hardware files lie. */
#ifndef FUSESIM_HW_FIND_H
#define FUSESIM_HW_FIND_H

#include "base/diag.h"

/* Folders that names are looked for in, after the working directory. NULL: there is none. */
typedef struct {
    const char *own;     /* the user's: $FUSESIM_HWMODELS */
    const char *shipped; /* what comes with fusesim */
} fsim_hw_folders;

/* NAME or PATH to a path: the working directory, where->own, where->shipped; "-" is standard input. NULL after an
 * error (FSIM_NO_INPUT) that names the nearest known names. In a. */
const char *fsim_hw_find(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where);

/* Names of the hardware files in these folders, sorted, each once, without .yaml. A file that cannot be read is among
 * them. In a. */
const char **fsim_hw_list(fsim_arena *a, const fsim_hw_folders *where, int *count);

#endif

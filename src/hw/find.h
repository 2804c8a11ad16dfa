/* SPDX-License-Identifier: Apache-2.0 */
/* find.h: finds hardware files by name. */
#ifndef FUSESIM_HW_FIND_H
#define FUSESIM_HW_FIND_H

#include "base/diag.h"

/* Folders to look in, after the working directory. NULL: no such folder. */
typedef struct {
    const char *own;     /* the user's: $FUSESIM_HWMODELS */
    const char *shipped; /* what comes with fusesim */
} fsim_hw_folders;

/* The path of a hardware file by name or path, looked for in the working directory, where->own, where->shipped; "-"
 * is standard input. NULL after an error (FSIM_NO_INPUT) that offers the nearest names. In a. */
const char *fsim_hw_find(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where);

/* "; nearest: x, y, z": the known names most like this one. In a. */
const char *fsim_hw_nearest(fsim_arena *a, const char *name, const fsim_hw_folders *where);

/* Names of the hardware files in these folders, sorted, each once, without .yaml. Files that can't be read are
 * included. *why, where it is not NULL: a folder that is there can't be listed, and the reason; NULL. In a. */
const char **fsim_hw_list(fsim_arena *a, const fsim_hw_folders *where, int *count, const char **why);

#endif

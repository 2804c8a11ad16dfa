/* SPDX-License-Identifier: Apache-2.0 */
/* like.h: hardware files that inherit from another: `like: rtx-3090`. */
#ifndef FUSESIM_HW_LIKE_H
#define FUSESIM_HW_LIKE_H

#include "hw/find.h"
#include "hw/hw.h"

/* A hardware file in memory. */
typedef struct {
    const char *path; /* `like:` with a path is looked for from its folder */
    const char *text;
    size_t bytes;
} fsim_hw_text;

/* fsim_hw_parse for a file that may inherit: `like:` is a path, relative to the file's folder, or a name: of a file
 * beside this one, in where->own, in where->shipped, or of a family as fsim_hw_choose knows it. The other file may
 * inherit too. A warning names the data sheet's figures that are inherited. NULL after errors (in d), such as a file
 * that inherits from itself in the end. In a. */
fsim_hw *fsim_hw_parse_in(fsim_arena *a, fsim_diag *d, const fsim_hw_text *text, const fsim_hw_folders *where);

#endif

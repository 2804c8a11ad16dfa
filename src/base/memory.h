/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: a stream whose text is kept in memory. Where memory runs out, fsim_out_of_memory is called: no caller
 * checks, and no text is cut short. */
#ifndef FUSESIM_BASE_MEMORY_H
#define FUSESIM_BASE_MEMORY_H

#include "base/arena.h"
#include <stdio.h>

typedef struct {
    FILE *stream;
    char *text;
    size_t bytes;
    fsim_resource resource;
} fsim_memory;

/* The stream to write to, until fsim_memory_end in the same function. */
FILE *fsim_memory_begin(fsim_memory *m);
/* What was written, with a NUL behind it, in a. *bytes: its length (NULL: not wanted). */
char *fsim_memory_end(fsim_memory *m, fsim_arena *a, size_t *bytes);

#endif

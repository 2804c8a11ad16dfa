/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: names to numbers, by hashing. */
#ifndef FUSESIM_BASE_NAMES_H
#define FUSESIM_BASE_NAMES_H

#include "base/arena.h"

typedef struct {
    const char **name;
    int *value;
    int count, slots;
} fsim_names;

/* The value of name; -1 where it has none. */
int fsim_names_get(const fsim_names *t, const char *name);
/* Sets the value of name, which must outlive t. Returns its former value, or -1. */
int fsim_names_set(fsim_arena *a, fsim_names *t, const char *name, int value);

#endif

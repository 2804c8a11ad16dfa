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

/* The value of name, or -1. */
int fsim_names_get(const fsim_names *t, const char *name);
/* Sets it; name must outlive t. Returns the value that it had, or -1. */
int fsim_names_set(fsim_arena *a, fsim_names *t, const char *name, int value);

#endif

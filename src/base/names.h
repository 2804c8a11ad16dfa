/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: names to numbers, by hashing; names that numbers tell apart. */
#ifndef FUSESIM_BASE_NAMES_H
#define FUSESIM_BASE_NAMES_H

#include "base/arena.h"
#include <stdbool.h>

typedef struct {
    const char **name;
    int *value;
    int count, slots;
} fsim_names;

/* The value of name; -1 where it has none. */
int fsim_names_get(const fsim_names *t, const char *name);
/* Sets the value of name, which must outlive t. Returns its former value, or -1. */
int fsim_names_set(fsim_arena *a, fsim_names *t, const char *name, int value);

/* The text behind the numbers that it begins with, each with a '_' or '.' before it or not. */
const char *fsim_behind_numbers(const char *text);
/* Are two names the same but for their numbers and what ties them to the name: "q.0" and "q.11", "add" and "add_1"? */
bool fsim_same_but_numbers(const char *x, const char *y);

#endif

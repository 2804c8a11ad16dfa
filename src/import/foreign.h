/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h: what a file is that holds no workload. */
#ifndef FUSESIM_IMPORT_FOREIGN_H
#define FUSESIM_IMPORT_FOREIGN_H

#include "base/arena.h"

#include <stddef.h>

/* What a file of another kind is, by how it begins, and what to do: "a Python pickle: weights without a graph; ...".
 * NULL: none that is known. In a. */
const char *fsim_foreign_file(fsim_arena *a, const char *text, size_t bytes);
/* What a file of this name should be and is not, and what to do, where its content is no workload. NULL: its name says
 * nothing. In a. */
const char *fsim_foreign_name(fsim_arena *a, const char *path, const char *text, size_t bytes);

#endif

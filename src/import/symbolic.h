/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic.h: a model's tree with its dimensions as symbols. An importer puts numbers in the place of dimensions; which
 * numbers follow from which dimension is found by reading the model again with other values. */
#ifndef FUSESIM_IMPORT_SYMBOLIC_H
#define FUSESIM_IMPORT_SYMBOLIC_H

#include "import/load.h"

typedef struct {
    const fsim_yaml *yaml; /* numbers that follow from symbols are expressions of them */
    const char *left;      /* lines about what stays a number though it changes, and about symbols that are read at one
                              value only; "" */
} fsim_symbolic;

/* tree: what fsim_tree_load made of `name` with `how`. In a. */
fsim_symbolic fsim_symbolic_tree(fsim_arena *a, const char *name, const fsim_workload_wanted *how,
                                 const fsim_tree *tree);

#endif

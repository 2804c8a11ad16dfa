/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: equal layers of a workload as repeat blocks. All names stay: a block's names say where the turn's number
 * stands (graph/turn.h). */
#ifndef FUSESIM_IMPORT_FOLD_H
#define FUSESIM_IMPORT_FOLD_H

#include "input/yaml.h"

/* A workload without repeat blocks, in two forms. */
typedef struct {
    const fsim_yaml *flat;   /* operator by operator; its tensors in the order in which the blocks declare them, so that
                                both forms are the same graph */
    const fsim_yaml *folded; /* with repeat blocks where consecutive operators are equal but for names */
    int blocks;
} fsim_folded;

/* y is a tree that fsim_graph_of takes. Where it has repeat blocks already, both forms are y. In a. */
fsim_folded fsim_fold_layers(fsim_arena *a, const fsim_yaml *y);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* mend.h: operators of an imported model whose shapes do not fit. A row of an importer may make what our rules refuse:
 * arguments that they do not have, shapes that they cannot express. Where the file says the results' shapes, the node
 * costs a copy then, as an operator that is not known does, and the import goes on. */
#ifndef FUSESIM_IMPORT_MEND_H
#define FUSESIM_IMPORT_MEND_H

#include "import/draft.h"

/* A tree that an importer made, with its draft. */
typedef struct {
    const fsim_yaml *yaml;
    const fsim_draft *draft;
    bool states_shapes; /* the file says the shape of every tensor, and rightly */
} fsim_mended;

/* Puts a copy in the place of each node of the file, in the tree x->yaml, of whose operators the graph refuses one;
 * and, where x->states_shapes, of each one that would make another shape than the file says. One warning for each of
 * the file's operators: its name, how many there are, and what the first is refused for. A node with a result whose
 * shape the file does not say stays: the graph's error is the import's. */
void fsim_mend(fsim_arena *a, fsim_diag *d, const char *path, const fsim_mended *x);

#endif

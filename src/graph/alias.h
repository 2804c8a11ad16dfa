/* SPDX-License-Identifier: Apache-2.0 */
/* alias.h: the names that operators and attributes have elsewhere (alias.def): taken where they mean the same, else
 * answered by what to write. */
#ifndef FUSESIM_GRAPH_ALIAS_H
#define FUSESIM_GRAPH_ALIAS_H

#include "graph/op.h"

typedef struct {
    const char *name;
    fsim_op op;
    const char *ranks; /* of each input, "2 1"; "": any */
    int outs;          /* most results; 0: as the operator's row says */
} fsim_alias;

/* The other names that workloads may use, count of them in *count. */
const fsim_alias *fsim_alias_rows(int *count);
/* The operator that a workload calls so, by its own name or another. *alias: the row of the other name, or NULL. False
 * where there is none. */
bool fsim_op_named(const char *name, fsim_op *op, const fsim_alias **alias);
/* The other names of op: "cat, concatenate"; "" where it has none. In a. */
const char *fsim_op_aliases(fsim_arena *a, fsim_op op);
/* Why `name` is no operator, and what to write: "unknown operator 'dense'; did you mean 'linear'?". In a. */
const char *fsim_unknown_op(fsim_arena *a, const char *name);
/* What to write instead of an attribute that op does not take; NULL where nothing is known of the name. */
const char *fsim_attr_instead(fsim_op op, const char *name);

#endif

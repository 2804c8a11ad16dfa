/* SPDX-License-Identifier: Apache-2.0 */
/* assembly.h: what a reader wants of an argument that it does not read through one map over the whole kernel: a piece
 * (concat, pad, roll), an element chosen by data (gather), the elements under a window (pooling). */
#ifndef FUSESIM_FUSION_ASSEMBLY_H
#define FUSESIM_FUSION_ASSEMBLY_H

#include "graph/graph.h"

/* How a demand differs from one map over all of the kernel's points; all zero: it does not. */
typedef struct {
    const fsim_map *place; /* where in the kernel's space the map's points lie; NULL: everywhere */
    const fsim_map *any;   /* digits whose values are data: the element is map(point) + any(some number); NULL: none */
    bool once_a_row;       /* with any: one number a row, not one a point */
    double repeats;        /* windows: the map numbers the argument's own elements, and each is computed so often; 0: it
                              numbers the kernel's points */
    const fsim_access *window; /* with repeats */
    int branch;                /* of the ranges that exclude each other, which; 0: none */
} fsim_scope;

/* Do both say the same of place, any, once_a_row and repeats? Windows and branches are not compared. */
bool fsim_scope_equal(const fsim_scope *x, const fsim_scope *y);
/* Where a kernel needs a value: for each point of the kernel's space (or of scope's part of it), the element. */
typedef struct {
    fsim_map map;
    fsim_scope scope;
} fsim_demand;

/* A primitive's result is needed at `result`: *out is where its argument x is needed for that. reduced: points of a row
 * of the kernel. NONE: no element of x is; UNKNOWN: the index maps do not line up. In a. */
fsim_piece_answer fsim_demand_through(const fsim_access *x, const fsim_demand *result, int64_t reduced, fsim_arena *a,
                                      fsim_demand *out);
/* The argument that windows read: each of its elements that some window holds, and how often they do on average. */
void fsim_scope_of_window(const fsim_access *x, fsim_map *out, fsim_scope *scope);
/* Rows that (m, scope) reads at places that are data, as an access. Needs: scope->any. */
fsim_access fsim_indirect_access(const fsim_graph *g, int tensor, const fsim_map *m, const fsim_scope *scope);
/* Elements that blocks of `block` outputs ask for, over the elements of the windows' tensor: what neighbouring blocks
 * both need is asked for twice. */
double fsim_window_halo(const fsim_access *x, int block);

#endif

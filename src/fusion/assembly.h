/* SPDX-License-Identifier: Apache-2.0 */
/* assembly.h: arguments that a kernel does not read through one map over all of its points: pieces (concat, pad,
 * roll), elements chosen by data (gather), elements under a window (pooling). */
#ifndef FUSESIM_FUSION_ASSEMBLY_H
#define FUSESIM_FUSION_ASSEMBLY_H

#include "graph/graph.h"

/* What a demand has besides its map. All zero: the map is over all of the kernel's points. */
typedef struct {
    const fsim_map *place; /* where in the kernel's space the map's points lie; NULL: it covers the space */
    const fsim_map *any;   /* gather: digits whose values are known at run time only; the element read is map(point) +
                              any(that value). NULL: none */
    bool once_a_row;       /* with `any`: the value is the same for all points of a row */
    double repeats; /* windows: how often each element of the argument is computed; the map then numbers those elements.
                       0: it numbers the kernel's points */
    const fsim_access *window; /* with `repeats`: how the windows read the argument */
    int branch; /* number of the range (of a concat, say) that this demand belongs to; a point is in one of them. 0: in
                   none */
} fsim_scope;

/* Are place, any, once_a_row and repeats the same? Windows and branches are not compared. */
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
/* What pooling windows need of their argument: every element that lies in some window, and how many windows it
 * lies in on average. */
void fsim_scope_of_window(const fsim_access *x, fsim_map *out, fsim_scope *scope);
/* The access of a kernel that reads rows of `tensor` chosen by data, at (m, scope). Needs scope->any. */
fsim_access fsim_indirect_access(const fsim_graph *g, int tensor, const fsim_map *m, const fsim_scope *scope);
/* Elements that blocks of `block` outputs load, each block every one under its windows once, over the elements of the
 * tensor; at least 1. Above 1 where windows of neighbouring blocks overlap: both load what they share. */
double fsim_window_halo(const fsim_access *x, int block);

#endif

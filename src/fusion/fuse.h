/* SPDX-License-Identifier: Apache-2.0 */
/* fuse.h: a set of primitives as one kernel, or the reason why it can't be one.
 *
 * Everything follows from demands that are pushed up the graph. The kernel's results are needed at every point of
 * its iteration space. Where a primitive's result is needed at some map, its arguments are needed at the
 * composition of that map with its own. A primitive that inlines is computed wherever it is needed, and twice
 * where it is needed at two different maps. A reduction or contraction is computed once, in the block that owns
 * the row or tile; a set in which another block needs its result is refused. */
#ifndef FUSESIM_FUSION_FUSE_H
#define FUSESIM_FUSION_FUSE_H

#include "fusion/group.h"

/* The set as one kernel, or false with *why set. Whether it is connected and convex is not asked here (fsim_connected,
 * fsim_convex); whether the kernels of a plan wait for each other in a circle is a property of the whole partition
 * (plan/price/plan.h). Result in a. */
bool fsim_group_of(const fsim_limits *limits, const fsim_selection *set, fsim_arena *a, fsim_group *out,
                   fsim_refusal *why);

/* May a kernel have reduction n, of stretches, beside reduction `rows`, of the rows that these stretches make up
 * (stretch.c)? */
bool fsim_may_reduce_stretches(const fsim_graph *g, int n, int rows);

/* Connected, convex, and one kernel. */
bool fsim_legal(const fsim_limits *limits, const int *node, int count, fsim_arena *a, fsim_group *out,
                fsim_refusal *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* space.h: graphs of up to 64 primitives as bit masks, and the sets of primitives that may be launched next. */
#ifndef FUSESIM_PLAN_SEARCH_SPACE_H
#define FUSESIM_PLAN_SEARCH_SPACE_H

#include "plan/price/price.h"

enum { FSIM_SPACE_NODES = 64 };
typedef uint64_t fsim_mask; /* bit i: primitive i of the graph */

typedef struct {
    fsim_problem *p;
    int n;
    fsim_mask pred[FSIM_SPACE_NODES], succ[FSIM_SPACE_NODES];   /* producers, readers */
    fsim_mask near[FSIM_SPACE_NODES];                           /* those that have a tensor in common with it */
    fsim_mask above[FSIM_SPACE_NODES], below[FSIM_SPACE_NODES]; /* all that it depends on, all that depends on it */
    fsim_mask never_with[FSIM_SPACE_NODES];                     /* those that can't be in one kernel with it */
    fsim_mask clonable;             /* may be computed in several groups (none where --recompute is off) */
    fsim_mask before, after;        /* before and after the barrier (fsim_side) */
    fsim_mask must;                 /* is stored in every partition: output, materialize or effect */
    struct fsim_known_set *verdict; /* cache of sets that were checked */
} fsim_space;

/* The space of p's graph, which has at most 64 primitives. In a; its size does not depend on later calls. */
void fsim_space_of(fsim_problem *p, fsim_arena *a, fsim_space *out);

/* The producers of members of s that are outside of s. */
fsim_mask fsim_producers_of(const fsim_space *w, fsim_mask s);
/* What must have run before s may be launched: its producers, and what is before the barrier. */
fsim_mask fsim_awaited_by(const fsim_space *w, fsim_mask s);
/* Calls visit with each set that is connected, can be a kernel that stores as little as possible, can be launched
 * once `done` has run, and contains a primitive that has not run. Sets without recomputation come first, so that an
 * enumeration soon reaches complete partitions, then sets with recomputation; each in lexicographic order of their
 * ascending members. Ends when visit returns false, and returns false then. */
bool fsim_each_ready_set(fsim_space *w, fsim_mask done, bool (*visit)(void *to, fsim_mask set), void *to);

#endif

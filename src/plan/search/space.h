/* SPDX-License-Identifier: Apache-2.0 */
/* space.h: a graph of up to 64 primitives as bits, and the sets of them that may be launched next. */
#ifndef FUSESIM_PLAN_SEARCH_SPACE_H
#define FUSESIM_PLAN_SEARCH_SPACE_H

#include "plan/price/price.h"

enum { FSIM_SPACE_NODES = 64 };
typedef uint64_t fsim_mask; /* bit i: primitive i of the graph */

typedef struct {
    fsim_problem *p;
    int n;
    fsim_mask pred[FSIM_SPACE_NODES], succ[FSIM_SPACE_NODES];   /* producers, readers */
    fsim_mask near[FSIM_SPACE_NODES];                           /* those that share a tensor with it */
    fsim_mask above[FSIM_SPACE_NODES], below[FSIM_SPACE_NODES]; /* all that it depends on, all that depends on it */
    fsim_mask never_with[FSIM_SPACE_NODES];                     /* those that no kernel holds together with it */
    fsim_mask clonable;             /* may be computed in several groups (none with --recompute off) */
    fsim_mask must;                 /* reaches memory whatever the partition: output, materialize or effect */
    struct fsim_known_set *verdict; /* of sets that were asked about lately */
} fsim_space;

/* The space of p's graph, of at most 64 primitives. In a: its size does not grow with what is asked of it. */
void fsim_space_of(fsim_problem *p, fsim_arena *a, fsim_space *out);

/* Producers outside s of what is in s. */
fsim_mask fsim_producers_of(const fsim_space *w, fsim_mask s);
/* Calls visit with each connected set that is a kernel when it stores as little as it can, that can be launched once
 * `done` has run, and that runs something new. First those that compute nothing again, so that an enumeration soon
 * comes to an end of its choices, then those that do; each in lexicographic order of the ascending lists of their
 * members. Ends when visit returns false; then so does this. */
bool fsim_each_ready_set(fsim_space *w, fsim_mask done, bool (*visit)(void *to, fsim_mask set), void *to);

#endif

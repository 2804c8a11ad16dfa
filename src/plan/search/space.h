/* SPDX-License-Identifier: Apache-2.0 */
/* space.h: up to 64 primitives as bits, and the sets of them that may be kernels. */
#ifndef FUSESIM_PLAN_SEARCH_SPACE_H
#define FUSESIM_PLAN_SEARCH_SPACE_H

#include "plan/price/price.h"

enum { FSIM_SPACE_NODES = 64 };
typedef uint64_t fsim_mask;

typedef struct {
    const fsim_problem *p;
    int n, node[FSIM_SPACE_NODES]; /* primitives of the graph, ascending */
    fsim_mask pred[FSIM_SPACE_NODES], succ[FSIM_SPACE_NODES],
        near[FSIM_SPACE_NODES]; /* producers, readers, those that share a tensor */
    fsim_mask above[FSIM_SPACE_NODES],
        below[FSIM_SPACE_NODES];       /* all that a member depends on, all that depends on it */
    fsim_mask apart[FSIM_SPACE_NODES]; /* members that no kernel holds together with it */
    fsim_mask clonable;                /* may be computed in several groups (none with --recompute off) */
    fsim_mask must; /* reaches memory whatever the partition: output, materialize, effect, or read outside the space */
    fsim_mask *set; /* connected sets that are kernels when they store as little as they can, in launch-list order */
    fsim_mask *preds;                /* of each set: the producers outside it */
    int first[FSIM_SPACE_NODES + 1]; /* sets whose lowest member is i are set[first[i], first[i + 1]) */
    int sets, room;
    int64_t looked_at; /* sets tried */
    bool complete;     /* all of them are there */
} fsim_space;

/* The space of node[0, count), at most 64, ascending. Looks at no more than `most` sets. In a. */
void fsim_space_of(const fsim_problem *p, const int *node, int count, int64_t most, fsim_arena *a, fsim_space *out);
/* What s holds, as a list. Returns its length. */
int fsim_list_of(const fsim_space *w, fsim_mask s, int *node);
/* Of set[at, ...) the first that might be launched once `done` has run: past all whose lowest member is not ready, or
 * has run and is not computed twice. w->sets when there is none. */
int fsim_next_set(const fsim_space *w, int at, fsim_mask done);
/* Before in lexicographic order of their ascending node lists. */
bool fsim_list_before(fsim_mask x, fsim_mask y);
/* Groups chosen so far, in launch order. */
typedef struct {
    const fsim_space *w;
    fsim_mask chosen[FSIM_SPACE_NODES], done[FSIM_SPACE_NODES + 1]; /* done[i]: what ran before chosen[i] */
    int depth;
} fsim_walk;
/* Would the canonical order launch set `at` only now? It was ready from the first step at which its producers had run;
 * all launched since come before it. */
bool fsim_in_order(const fsim_walk *x, int at);
/* The walk's groups as a plan. False when it is no legal partition. In a. */
bool fsim_price_walk(const fsim_walk *x, fsim_arena *a, fsim_plan *out);
/* The members of s as a part of a partition. In a. */
fsim_part fsim_part_of(const fsim_space *w, fsim_mask s, fsim_arena *a);
/* separate: and fuse: of the workload, and materialize: inside; false with why. */
bool fsim_user_allows(const fsim_problem *p, const int *node, int count, fsim_refusal *why);

#endif

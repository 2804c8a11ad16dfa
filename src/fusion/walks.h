/* SPDX-License-Identifier: Apache-2.0 */
/* walks.h: which contractions a contraction leads to through primitives that one kernel could hold with it, and what is
 * between the two. What was found of a graph is remembered: thousands of sets ask about the same contractions. */
#ifndef FUSESIM_FUSION_WALKS_H
#define FUSESIM_FUSION_WALKS_H

#include "fusion/joint.h"

enum { FSIM_MOST_WALKED = 96 };

/* The primitives between a contraction and those that no kernel could hold together with it: what its result flows
 * through, ascending. */
typedef struct {
    int node[FSIM_MOST_WALKED], count;
    fsim_row_kind kind[FSIM_MOST_WALKED];
    int contraction[FSIM_MOST_WALKED], contractions; /* contractions that read one of them */
    bool more;                                       /* there are more than FSIM_MOST_WALKED */
} fsim_flow;

/* The flow of primitive `first`, as far as primitive `last`. */
void fsim_flow_from(const fsim_graph *g, int first, int last, fsim_flow *f);
/* The index of primitive n in the flow; -1. */
int fsim_place_in_flow(const fsim_flow *f, int n);

/* The contractions at the ends of walks from one, each once, in the order in which they are met. */
typedef struct {
    const int *contraction;
    int contractions;
    bool more; /* there are more primitives than FSIM_MOST_WALKED: beyond these is not looked */
} fsim_walk_ends;
enum { FSIM_MOST_ENDS = 1024 }; /* further ones count as beyond */

/* What the graph alone says of two contractions as a chain. */
typedef struct fsim_pair {
    struct fsim_pair *next;
    int first, second;
    bool known; /* the rest is filled in */
    bool may;   /* chained, where a block has `least_bytes` of shared memory; else `why` */
    fsim_joint joint;
    fsim_refusal why;
    int64_t least_bytes;
} fsim_pair;

/* An empty memory of graph g, used by one thread at a time. Freed with a at the latest. */
fsim_walks *fsim_walks_new(const fsim_graph *g, fsim_arena *a);
/* The contractions below primitive n, to which it leads. room[FSIM_MOST_ENDS] is used
 * where limits have no memory of their graph. */
fsim_walk_ends fsim_ends_below(const fsim_limits *limits, int n, int *room);
/* The same above it. */
fsim_walk_ends fsim_ends_above(const fsim_limits *limits, int n, int *room);
/* The pair's entry, in the memory of limits or in *room; a new one is not known. */
fsim_pair *fsim_pair_of(const fsim_limits *limits, int first, int second, fsim_pair *room);

#endif

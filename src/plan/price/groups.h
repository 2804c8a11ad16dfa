/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h: groups that problems with one graph share, on whatever GPU: a set is the same group on all whose blocks
 * have the shared memory that it needs. What a problem finds there is what it would have found out itself. */
#ifndef FUSESIM_PLAN_PRICE_GROUPS_H
#define FUSESIM_PLAN_PRICE_GROUPS_H

#include "plan/price/price.h"

typedef struct fsim_groups fsim_groups;

/* What is known of a set. The group is in the arena of fsim_groups_arena. */
typedef struct {
    bool legal;
    fsim_refusal why;
    const fsim_group *group; /* NULL where it is not legal */
    fsim_rests_on rests_on;
    int64_t shared_per_block; /* bytes, where it was found out */
    bool strict;
} fsim_shared_group;

/* An empty one for the graph, used by one thread at a time. Freed with a at the latest. */
fsim_groups *fsim_groups_new(const fsim_graph *g, fsim_arena *a);
/* Those of the problem's graph; NULL where there are none, and where memory is counted or full. */
fsim_groups *fsim_groups_for(const fsim_problem *p);
/* Where what fsim_groups_add is given must live. */
fsim_arena *fsim_groups_arena(fsim_groups *s);
/* Its lists of maps, in that arena. */
fsim_kept_maps *fsim_groups_maps(fsim_groups *s);
/* What is known of the set for a GPU with these limits; NULL where nothing is. hash: of the set. */
const fsim_shared_group *fsim_groups_find(const fsim_groups *s, const fsim_limits *limits, const fsim_selection *set,
                                          uint64_t hash);
/* Adds a set with this hash. set->stored is given. */
void fsim_groups_add(fsim_groups *s, const fsim_selection *set, uint64_t hash, const fsim_shared_group *x);

#endif

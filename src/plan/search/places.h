/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: what places.c, families.c and variants.c share; the rest of the search includes sets.h alone. */
#ifndef FUSESIM_PLAN_SEARCH_PLACES_H
#define FUSESIM_PLAN_SEARCH_PLACES_H

#include "plan/search/sets.h"

/* Places, or other numbers, in a list that grows in a. */
typedef struct {
    int *item, count, room;
    fsim_arena *a;
} place_list;

/* Adds one at the end. */
static inline void fsim_list_place(place_list *x, int i) { *FSIM_PUSH(x->a, x->item, x->count, x->room) = i; }

/* The primitive at place i. */
static inline const fsim_node *fsim_place_node(const fsim_places *l, int i) { return &l->p->graph->node[l->node[i]]; }

/* The place of the primitive that makes the tensor; -1 where none of the list does. */
static inline int fsim_place_of_maker(const fsim_places *l, int tensor)
{
    const int n = l->p->graph->tensor[tensor].producer;
    return n < 0 ? -1 : l->place[n];
}

/* The hash h of what came before, with x behind it. */
static inline uint64_t fsim_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* places.c */

/* Must a kernel that holds both places hold what no kernel can? What lies on the paths between them says so. *path: is
 * there one? */
bool fsim_separated(fsim_places *l, int low, int high, bool *path);

/* families.c */

/* The members of a set, whose bit 0 is place base, as primitives of the graph, ascending, to node[FSIM_BITS]. Returns
 * how many. */
int fsim_set_primitives(const fsim_places *l, int base, fsim_bits set, int *node);
/* Is the set connected, through shared tensors too? */
bool fsim_set_connected(const fsim_places *l, int base, fsim_bits set);

#endif

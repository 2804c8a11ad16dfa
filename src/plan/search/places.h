/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: shared by places.c, families.c, lender.c and variants.c; the rest of the search includes only sets.h. */
#ifndef FUSESIM_PLAN_SEARCH_PLACES_H
#define FUSESIM_PLAN_SEARCH_PLACES_H

#include "plan/price/alike.h"
#include "plan/search/sets.h"

/* A growing list of places, or of other numbers, in a. */
typedef struct {
    int *item, count, room;
    fsim_arena *a;
} place_list;

/* Adds one at the end. */
static inline void fsim_list_place(place_list *x, int i) { *FSIM_PUSH(x->a, x->item, x->count, x->room) = i; }

/* The primitive at place i. */
static inline const fsim_node *fsim_place_node(const fsim_places *l, int i) { return &l->p->graph->node[l->node[i]]; }

/* The place of the primitive that computes the tensor; -1 where it is not in the list. */
static inline int fsim_place_of_maker(const fsim_places *l, int tensor)
{
    const int n = l->p->graph->tensor[tensor].producer;
    return n < 0 ? -1 : l->place[n];
}

/* places.c */

/* Would a kernel with both places also have to contain a primitive that it can't, on a path between them? *path: is
 * there a path? */
bool fsim_separated(fsim_places *l, int low, int high, bool *path);
/* Does the higher one depend on the lower one? Of places that are far apart only one path is looked at, which goes as
 * far as it can at each step until a single place is between the two: where that does not lead there, nor the one read
 * the other, no. */
bool fsim_leads_to(const fsim_places *l, int low, int high);
/* Could both contractions be in one kernel side by side, since they read the same first operand? */
bool fsim_may_be_siblings(const fsim_places *l, int x, int y);

/* apart.c */

/* Fills what fsim_fit_no_space asks. */
void fsim_find_apart(fsim_places *l);
/* A hash of what it says of places that are always stored, for the place: how families are shared depends on it. */
uint64_t fsim_apart_class(const fsim_places *l, int i);

/* beside.c */

/* apart.c: do all results that the set stores, and all that it reduces, fit no space of a kernel with one of these
 * contractions, which depend on no member and are needed by none? */
bool fsim_is_aloof_set(const fsim_places *l, int root, const fsim_own_set *s, const int *contraction, int count);
/* Fills l->joinable from l's classes, and makes it part of them. */
void fsim_find_beside(fsim_places *l);

/* lender.c */

/* A parted list: may a reduction of another part lend a space to this set of f, which has none alone? Notes in f how
 * far it looked. */
bool fsim_find_lender(fsim_places *l, fsim_family *f, const fsim_own_set *s);

/* families.c */

/* The members of a set, whose bit 0 is place base, as primitives of the graph, ascending, in node[FSIM_BITS].
 * Returns how many. */
int fsim_set_primitives(const fsim_places *l, int base, fsim_bits set, int *node);
/* Can no kernel contain both places, whatever else it contains? */
bool fsim_never_together(fsim_places *l, int x, int y);
/* Might a kernel have both `at` and entry k of the places near it, which is too far away for the bits of a set? It
 * needs `at`, or is a contraction like it. Computed once. */
bool fsim_misses_near(fsim_places *l, int at, int k);
/* Is the set connected, by tensors that one computes and another reads or that two read? */
bool fsim_set_connected(const fsim_places *l, int base, fsim_bits set);

#endif

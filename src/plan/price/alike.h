/* SPDX-License-Identifier: Apache-2.0 */
/* alike.h: sets of primitives that are the same to legality and to prices: the same operators on the same shapes,
 * linked in the same way, whose tensors stand in the same order. Layers repeat themselves, so most sets that a search
 * or a merge asks for are like one that was asked for before. */
#ifndef FUSESIM_PLAN_PRICE_ALIKE_H
#define FUSESIM_PLAN_PRICE_ALIKE_H

#include "fusion/group.h"

/* Extends hash h by x. */
static inline uint64_t fsim_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* A hash of all that legality and prices see of primitive n alone: its operator, attributes, shapes, and how it reads
 * its arguments, but not who makes or reads them. */
uint64_t fsim_primitive_class(const fsim_graph *g, int n);
/* The same, but for where in an argument its reads begin: only how that is aligned counts. */
uint64_t fsim_primitive_class_anywhere(const fsim_graph *g, int n);

/* What the comparisons need to know of a graph. */
typedef struct {
    const fsim_graph *g;
    uint64_t *class; /* per primitive */
    int *first;      /* per primitive i: its arguments are argument[first[i], first[i + 1]) */
    struct fsim_link {
        int tensor, from; /* from: the primitive that makes it, or -1 */
    } * argument;
    int *source;          /* per primitive: the operator that it is a part of */
    int *with;            /* per primitive: the reduction that it runs along with (online.h), or -1 */
    unsigned char *marks; /* per primitive: what keeps a set with it from having likes */
} fsim_likeness;

/* In a; references g. */
fsim_likeness *fsim_likeness_of(const fsim_graph *g, fsim_arena *a);
/* May the set be compared at all? Not where its legality depends on primitives outside (contractions that may be
 * chained), and not beside writes in place. `stored` must be given, `clone` must be NULL; so for all sets here. */
bool fsim_has_likes(const fsim_likeness *l, const fsim_selection *set);
/* Equal for sets that are alike. */
uint64_t fsim_likeness_hash(const fsim_likeness *l, const fsim_selection *set);
/* Are both sets the same to legality and prices? a is for scratch. */
bool fsim_are_alike(const fsim_likeness *l, const fsim_selection *x, const fsim_selection *y, fsim_arena *a);

/* Can the group of a set be moved to one that is alike? */
bool fsim_group_may_move(const fsim_graph *g, const fsim_group *o);
/* The group of set y, which is like set x with group *o. Shares o's maps. In a. */
fsim_group fsim_group_moved(const fsim_graph *g, const fsim_group *o, const fsim_selection *y, fsim_arena *a);
/* A refusal of set x in the words of set y. False where it names a primitive outside of x. */
bool fsim_refusal_moved(const fsim_selection *x, const fsim_selection *y, fsim_refusal *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pricer.h: shared by shadow.c and raise.c. */
#ifndef FUSESIM_PLAN_SEARCH_PRICER_H
#define FUSESIM_PLAN_SEARCH_PRICER_H

#include "plan/search/states.h"

/* What a kernel costs at least; FSIM_NEVER: it is none, or bounds no price. */
typedef struct {
    fsim_sum least;
    fsim_closeness how;
} priced_cost;

/* A set as a candidate for the price of one of its members. */
typedef struct {
    int root, set;
    priced_cost *cost; /* roots that look alike have it in common */
} priced_set;

/* Three places of which a plan has no more than one kernel with two: such a kernel's primitives may be worth so much
 * more, and the bound is so much less (subset-row inequalities: Jepsen et al., Operations Research 56, 2008). */
typedef struct {
    int place[3];
    fsim_sum pays; /* 0 or more */
} priced_three;

/* A call that may take the place of all kernels with its primitives. */
typedef struct {
    priced_cost cost;
    int *place, places; /* of its primitives that are worth anything */
} priced_call;

typedef struct {
    fsim_frontier *f;
    priced_set *all; /* those of one root after those of the other */
    int count, room;
    priced_cost **cost; /* per root, per set of its family */
    int *latest,
        *older; /* per family, by its root: 1 + the last root with costs of its own; per such root: the one before */
    int *like;  /* per root: the one that has the same costs as its own */
    int *first; /* per root: all[first[root], first[root + 1]) */
    fsim_sum *price;
    priced_three *three;
    int threes, threes_room, *three_of; /* per place: 1 + its three; 0 */
    fsim_sum *most;                     /* per place: its price may not be more; NULL: all may be anything */
    priced_call *call;
    int calls;
    int called; /* all[called, called + calls) are the calls, of no root */
} pricer;

/* The set in its family. */
static inline fsim_own_set *fsim_set_priced(const pricer *w, const priced_set *x)
{
    return &w->f->l.family[x->root]->set[x->set];
}

/* shadow.c */

/* Has the set two of the three places? */
bool fsim_has_two(const pricer *w, const priced_set *x, const priced_three *t);
/* What is left of the set's cost beyond its members' prices, with what it pays for threes. */
fsim_sum fsim_left_for(const pricer *w, const priced_set *x);
/* What is left of a call's price beyond its primitives' prices. */
fsim_sum fsim_left_for_call(const pricer *w, const priced_call *x);
/* Finds a closer bound of the set, of which the closest isn't known. */
void fsim_look_closer(const pricer *w, const priced_set *x);

/* raise.c */

/* Raises the sum of the prices, as far as the sets allow and a part of the budget lasts. */
void fsim_raise_prices(pricer *w);

#endif

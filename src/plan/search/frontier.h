/* SPDX-License-Identifier: Apache-2.0 */
/* frontier.h: the best partition of a list of primitives of any length, by dynamic programming over what has run.
 *
 * A state is the set of primitives that have run, with those whose results were not stored and will be computed
 * again. Its base is the lowest primitive that has still to run or was not stored; everything that distinguishes it
 * from "everything below has run" lies within FSIM_BITS of the base. A step launches one kernel, in the launch order
 * of fsim_price. The first pass uses relaxed costs: a read hits L2 where it does in any plan. Its least cost is a
 * lower bound. The second pass follows what really is in L2, for partial plans whose cost plus the relaxed cost of
 * the rest is below that of a known plan. What the budget or the bits cut off enters the bound with the work that no
 * plan can avoid. */
#ifndef FUSESIM_PLAN_SEARCH_FRONTIER_H
#define FUSESIM_PLAN_SEARCH_FRONTIER_H

#include "plan/search/budget.h"
#include "plan/search/sets.h"

typedef struct fsim_frontier fsim_frontier;

typedef enum {
    FSIM_BEST_ONLY,   /* leave out states and copies that can't be part of the best plan */
    FSIM_UNLESS_WIDE, /* the same, but give up at a primitive that very many sets begin with */
    FSIM_PARTED,      /* the same, but no kernels whose parts have only inputs in common: a lower bound of each part */
    FSIM_LINKED,      /* the same, and what may be in a kernel that is too wide for the bits has the price of its work:
                         for prices only (shadow.h) */
    FSIM_EVERY_CLONE, /* also consider copies of results that could be read as cheaply */
    FSIM_EVERY_ORDER  /* launch kernels in every order, not only in launch order, and account for memory */
} fsim_thoroughness;

/* node[0, count): ascending. In a. */
fsim_frontier *fsim_frontier_of(fsim_problem *p, const int *node, int count, fsim_thoroughness how,
                                const fsim_budget *budget, fsim_arena *a);

/* How much of a graph is searched, and what for. */
typedef struct {
    fsim_thoroughness how;
    const fsim_one_side *side; /* NULL: both sides */
} fsim_scope;
/* The same for the kernels of one side of the barrier. node[0, count): for the side before it, what is not after it;
 * for the side after it, all. NULL where the list is too wide for the bits. */
fsim_frontier *fsim_frontier_of_side(fsim_problem *p, const int *node, int count, fsim_scope scope,
                                     const fsim_budget *budget, fsim_arena *a);

/* The same in two steps. What is known before a search; */
fsim_frontier *fsim_frontier_ready(fsim_problem *p, const int *node, int count, fsim_scope scope,
                                   const fsim_budget *budget, fsim_arena *a);
/* and the search. False where the list is too wide for the bits. */
bool fsim_frontier_search(fsim_frontier *f);
/* Before the search: leaves out results that are stored for nothing but copies of what is stored as well (owed.c): for
 * a plan. What it bounds then is a plan without such results. */
void fsim_frontier_owes_nothing(fsim_frontier *f);
/* Was one left out? */
bool fsim_frontier_left_owed_out(const fsim_frontier *f);
/* A lower bound of the objective of every plan of the list, in the objective's unit. */
fsim_sum fsim_frontier_bound(const fsim_frontier *f);
/* Was nothing cut off? The bound is then the least relaxed cost. */
bool fsim_frontier_complete(const fsim_frontier *f);
/* Was it given up, as FSIM_UNLESS_WIDE says? */
bool fsim_frontier_gave_up(const fsim_frontier *f);
/* FSIM_PARTED: may some kernel have parts with only inputs in common? */
bool fsim_frontier_has_parts(const fsim_frontier *f);
/* Prices of a list that misses no set may be raised within this budget, which stays referenced. */
void fsim_frontier_raise_within(fsim_frontier *f, const fsim_budget *budget);
/* Are all sets known that may be kernels? FSIM_LINKED: after fsim_find_shadow. */
bool fsim_frontier_knows_all(const fsim_frontier *f);
/* May some primitive be computed more than once? */
bool fsim_frontier_recomputes(const fsim_frontier *f);
int64_t fsim_frontier_groups(const fsim_frontier *f); /* candidate sets tried */
int64_t fsim_frontier_states(const fsim_frontier *f);
/* Adds the parts of the plan with the least relaxed cost to *out, which has room. False where no complete plan was
 * found. */
bool fsim_frontier_plan(fsim_frontier *f, fsim_partition *out, fsim_arena *a);

/* Searches with the real contents of L2: sets *out to the best partition that costs less than `known`. False where
 * there is none, or none was found. *bound: a lower bound for all plans that cost less than `known`. */
bool fsim_frontier_with_l2(fsim_frontier *f, fsim_sum known, const fsim_budget *budget, fsim_partition *out,
                           fsim_sum *bound, fsim_arena *a);

/* Sets proof->open to where this plan of the whole list, for which only `bound` is proven, might be improved. */
void fsim_frontier_open(fsim_frontier *f, const fsim_plan *plan, fsim_sum bound, fsim_proof *proof);

/* Calls visit with partitions by rising relaxed cost (with FSIM_EVERY_CLONE: all partitions) until it returns false
 * or the relaxed cost reaches `limit`. True where all below the limit were visited. */
bool fsim_frontier_each(fsim_frontier *f, fsim_sum *limit, const fsim_budget *budget,
                        bool (*visit)(void *to, const fsim_partition *part), void *to);

/* With FSIM_EVERY_ORDER only: calls visit with the partitions that no other beats in both relaxed cost and peak of
 * live bytes (inputs, weights and outputs not counted), by rising cost, until it returns false. most: partial plans
 * kept for each state. False where some may have been left out. */
bool fsim_frontier_front(fsim_frontier *f, int most, const fsim_budget *budget,
                         bool (*visit)(void *to, const fsim_partition *part, fsim_sum spent, fsim_sum peak), void *to);

#endif

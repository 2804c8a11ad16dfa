/* SPDX-License-Identifier: Apache-2.0 */
/* given.h: a search without what makes masks and tables: a bound, and most of a plan. */
#ifndef FUSESIM_PLAN_SEARCH_GIVEN_H
#define FUSESIM_PLAN_SEARCH_GIVEN_H

#include "plan/search/sets.h"

enum { FSIM_FAR_READER = 16 }; /* places between the readers of a value that is worth leaving out */

typedef struct {
    int far;             /* asked for: places between the readers of a value that is left out, at least */
    fsim_sum bound;      /* in the objective's unit */
    fsim_partition part; /* a plan */
    int64_t groups, states;
} fsim_without;

/* The graph without what is given. */
typedef struct {
    fsim_graph *graph;
    int *node, nodes;      /* the list without what is given, as numbers of that graph, ascending, */
    int *origin;           /* and what each has in the whole graph, by its number there */
    int *left_out, givens; /* as numbers of the whole graph, ascending */
    bool *wanted;          /* per primitive of the whole graph: it is given, and others read it; */
    bool *mixed;           /* a kernel may have it and one that is not given */
    bool in_turn;          /* each primitive that reads what is given depends on the one before it that does */
} fsim_shortened;

/* mixed.c: per place, is it given, and may a kernel have it together with a place that isn't? In l's arena. */
bool *fsim_find_mixed(fsim_places *l, const bool *left_out);

/* Leaves out of node[0, count) of p's graph, ascending, what makes small values whose readers are more than `far`
 * places apart. False where there are none. In a. */
bool fsim_leave_out_given(fsim_problem *p, const int *node, int count, int far, fsim_arena *a, fsim_shortened *out);
/* Turns the primitives of a plan of that graph into those of the whole one, and adds kernels for what is given, which
 * store what the others read. */
void fsim_add_given(fsim_problem *p, const fsim_shortened *x, const fsim_budget *budget, fsim_arena *a,
                    fsim_partition *part);

/* A lower bound of what the kernels of every plan that own nothing but what is given cost together, in the objective's
 * unit. Sets price[] of each given primitive of the whole graph to its part of it; of others it stays. */
fsim_sum fsim_price_given(fsim_problem *p, const fsim_shortened *x, const fsim_budget *budget, fsim_arena *a,
                          fsim_sum *price);

/* Searches node[0, count) of p's graph, ascending, without what makes small values whose readers are more than
 * out->far places apart. False where there are none, or where that search isn't complete. In a. */
bool fsim_search_without_given(fsim_problem *p, const int *node, int count, const fsim_budget *budget, fsim_arena *a,
                               fsim_without *out);

#endif

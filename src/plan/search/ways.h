/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h: the forms of derivatives and the plan, chosen together. */
#ifndef FUSESIM_PLAN_SEARCH_WAYS_H
#define FUSESIM_PLAN_SEARCH_WAYS_H

#include "plan/search/search.h"

/* A graph that was tried: which forms its derivatives have, and its best plan. */
typedef struct {
    const fsim_graph *graph;
    const signed char *form; /* of each choice */
    fsim_plan plan;          /* its best; where memory is short, the fastest of all graphs but the first */
} fsim_tried;

typedef struct {
    fsim_tried *tried; /* the first is the graph as it came */
    int count, best;   /* best: the one that was chosen */
    double ways;       /* how many there are in all */
} fsim_ways;

/* The best plan for p's objective and memory limit, whatever form each derivative has. p->graph, its limits and its
 * store become those of the graph that was chosen. known[0, count): plans of the graph as it comes. In a. */
fsim_ways fsim_best_ways(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *best,
                         fsim_proof *proof);
/* fsim_optimal or fsim_best_in_memory, by p's objective. */
void fsim_best(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *best, fsim_proof *proof);

#endif

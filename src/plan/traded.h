/* SPDX-License-Identifier: Apache-2.0 */
/* traded.h: plans of a step of training that need less memory than the fastest, for more time. */
#ifndef FUSESIM_PLAN_TRADED_H
#define FUSESIM_PLAN_TRADED_H

#include "plan/price/plan.h"
#include "plan/search/ways.h"

enum { FSIM_MOST_TRADED = 64 };

typedef struct {
    const fsim_plan *known; /* plans of the other strategies, with fusesim's kernels */
    int knowns;
    const fsim_plan *rival; /* plans of strategies as their makers launch them, maybe of other graphs; those without
                               kernels are none */
    int rivals;
    const fsim_graph *called; /* the graph whose library calls are known; the graph itself where there are none */
    fsim_plan list[2 * FSIM_MOST_TRADED + 2]; /* the front of all that were found, fastest first */
    int count;
    fsim_ways ways;
    fsim_plan best; /* the fastest, whatever memory it needs, and what is proven of it */
    fsim_proof proof;
} fsim_traded;

/* The best plan where memory may be short, and what is proven of it: the fastest where that fits; else the
 * best of those that give values up, of all strategies' plans, of those with --checkpoint, and of those that the search
 * with memory in its states finds in as many steps again. x has what is known, and gets the rest. In a. */
void fsim_best_traded(fsim_problem *p, fsim_traded *x, fsim_plan *best, fsim_proof *proof, fsim_arena *a);
/* A search in addition takes as many steps again as the fastest plan's did: by the clock, its end would depend on what
 * else the machine does. x NULL: nothing is limited. */
void fsim_limit_addition(const fsim_traded *x, fsim_problem *p);
/* The lowest peak memory of any plan found, where the optimum exceeds the limit; else 0. x: the plans that give values
 * up; NULL: none were made. */
fsim_sum fsim_least_memory(fsim_problem *p, const fsim_plan *best, const fsim_traded *x, fsim_arena *a);

#endif

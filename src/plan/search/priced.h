/* SPDX-License-Identifier: Apache-2.0 */
/* priced.h: a graph of any length by the prices of its primitives: a bound, and often a plan with a proof. */
#ifndef FUSESIM_PLAN_SEARCH_PRICED_H
#define FUSESIM_PLAN_SEARCH_PRICED_H

#include "plan/search/budget.h"

typedef struct {
    fsim_sum bound;         /* of every plan, in the objective's unit */
    fsim_sum *price;        /* per primitive: what it is worth at least (shadow.h); NULL: no prices were found */
    bool ended;             /* the search for plans that cost less than the known one came to its end */
    bool shortened;         /* what makes masks and tables was left out */
    fsim_partition part[2]; /* plans, the better one last; no parts: none was found */
    int64_t groups, states;
} fsim_priced;

/* Finds prices, and searches for plans that cost less than `known`, the objective of one. Where very many kernels might
 * have what makes masks and tables, these are left out of the bound (given.h). Where no prices are found, the bound is
 * work that no plan can avoid. In a. */
void fsim_search_priced(fsim_problem *p, fsim_sum known, const fsim_budget *budget, fsim_arena *a, fsim_priced *out);

/* open.c: sets proof->open to the kernels of the plan that cost most beyond what their primitives are worth. In a. */
void fsim_open_priced(const fsim_problem *p, const fsim_priced *y, fsim_sum bound, const fsim_plan *plan,
                      fsim_proof *proof, fsim_arena *a);

#endif

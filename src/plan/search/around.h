/* SPDX-License-Identifier: Apache-2.0 */
/* around.h: a lower bound for plans that may call libraries. */
#ifndef FUSESIM_PLAN_SEARCH_AROUND_H
#define FUSESIM_PLAN_SEARCH_AROUND_H

#include "plan/price/calls.h"

/* Per primitive of a graph that marks calls: is it a view of one, or one that kernels of one may read
 * through? In a. */
const bool *fsim_views_of_calls(const fsim_graph *g, fsim_arena *a);

/* A lower bound of the seconds of every plan of q's graph, in which no kernel has primitives of a call and others,
 * where one at least of call[0, count) takes the place of its kernels. The calls are all that the graph marks.
 * before_s: what kernels before the barrier take at least in plans without calls; 0: not known. known_s: a bound as
 * great is enough. INFINITY where there is no call. */
double fsim_bound_around(const fsim_problem *q, const fsim_call_price *call, int count, double before_s,
                         double known_s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* around.h: a lower bound for plans that may call libraries. */
#ifndef FUSESIM_PLAN_SEARCH_AROUND_H
#define FUSESIM_PLAN_SEARCH_AROUND_H

#include "plan/price/calls.h"

/* A lower bound of the seconds of every plan of q's graph, in which no kernel has primitives of a call and others,
 * where each call[0, count) takes the place of its kernels or not. The calls are all that the graph marks. before_s:
 * what kernels before the barrier take at least in plans without calls; 0: not known. */
double fsim_bound_around(const fsim_problem *q, const fsim_call_price *call, int count, double before_s);

#endif

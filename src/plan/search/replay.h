/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h: a plan of a step of training as a pebble game (pebbles.h): kernels of the forward pass whose results
 * gradients read may run again, as often as memory asks for it; all others run once, in the plan's order. */
#ifndef FUSESIM_PLAN_SEARCH_REPLAY_H
#define FUSESIM_PLAN_SEARCH_REPLAY_H

#include "plan/price/plan.h"

/* Takes the kernels that one way to play makes of the plan, on a graph of its own. */
typedef void fsim_take_replay(void *with, fsim_graph *graph, const fsim_partition *partition);

/* Offers for each least peak the way of least time. fate: by tensor, an fsim_fate: FSIM_PASSED where the plan stores it
 * nowhere. Returns how many ways there are; 0 where the plan is too large, or none of its kernels may run again.
 * Scratch and results in a. */
int fsim_replay(const fsim_problem *p, const fsim_plan *base, const signed char *fate, fsim_arena *a,
                fsim_take_replay *take, void *with);

#endif

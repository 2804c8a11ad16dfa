/* SPDX-License-Identifier: Apache-2.0 */
/* flow.h: the least cut between two vertices of a directed graph, by Dinic's algorithm. */
#ifndef FUSESIM_PLAN_RIVALS_FLOW_H
#define FUSESIM_PLAN_RIVALS_FLOW_H

#include "base/arena.h"
#include "base/sum.h"
#include <stdbool.h>

/* More than any cut. */
#define FSIM_UNCUT FSIM_TERM_MOST

typedef struct fsim_flow fsim_flow;

/* A graph of vertices 0 to vertices - 1 without edges. In a. */
fsim_flow *fsim_flow_new(int vertices, fsim_arena *a);
/* Adds one. */
void fsim_flow_edge(fsim_flow *f, int from, int to, fsim_sum capacity);
/* By vertex: is it on the target's side of the least cut, the one nearest to the target? There must be a cut below
 * FSIM_UNCUT. In the arena of f; its capacities are used up. */
const bool *fsim_flow_cut(fsim_flow *f, int source, int target);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* min_cut.h: what torch.compile keeps from the forward pass for the backward pass: the cut between the two that its
 * partitioner takes, on the graph of both. */
#ifndef FUSESIM_PLAN_RIVALS_MIN_CUT_H
#define FUSESIM_PLAN_RIVALS_MIN_CUT_H

#include "graph/graph.h"

typedef struct {
    double made_bytes, given_bytes; /* made by the forward pass; of inputs and weights */
    bool *kept;                     /* by tensor: the backward pass reads it; it computes again what it needs besides */
} fsim_kept;

/* Of a graph that is differentiated; nothing is kept in others. In a. */
fsim_kept fsim_min_cut(const fsim_graph *g, fsim_arena *a);

/* g where torch.compile runs it with this activation_memory_budget (0 to 1): what its partitioner does not keep then,
 * the backward pass computes again, and fsim_min_cut says what is kept. NULL: g as it is. In a. */
fsim_graph *fsim_graph_within_budget(const fsim_graph *g, double budget, fsim_arena *a);

#endif

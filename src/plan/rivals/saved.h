/* SPDX-License-Identifier: Apache-2.0 */
/* saved.h: what eager PyTorch keeps from the forward pass for the backward pass, by operator (saved.def). A storage
 * counts once. Views count what they are views of; where a permuted, expanded or inner-sliced tensor is reshaped, that
 * is a copy. */
#ifndef FUSESIM_PLAN_RIVALS_SAVED_H
#define FUSESIM_PLAN_RIVALS_SAVED_H

#include "graph/graph.h"

/* Made by the forward pass; of inputs and weights; and, of the former, the bytes of dropout's masks. Statistics,
 * indices and masks are no tensors of the graph: the others are in kept, by tensor. */
typedef struct {
    double made_bytes, given_bytes, mask_bytes;
    bool *kept;
    int *until; /* by tensor that is kept: the first operator that does, whose backward pass is the last to need it */
    double *extra; /* by operator: bytes of statistics, indices and masks */
} fsim_autograd_saved;
/* Of a graph that is differentiated; 0 of others. In a. */
fsim_autograd_saved fsim_saved_by_eager(const fsim_graph *g, fsim_arena *a);

/* The tensor whose memory PyTorch has for t: permutes and slices share that of what they are of. */
int fsim_pytorch_storage(const fsim_graph *g, int t);

#endif

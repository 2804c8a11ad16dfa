/* SPDX-License-Identifier: Apache-2.0 */
/* mapped.h: what the rules that map operators over a batch are built from: batch.c, and batch_index.c for gathers and
 * writes. */
#ifndef FUSESIM_GRAPH_MAPPED_H
#define FUSESIM_GRAPH_MAPPED_H

#include "graph/build.h"

#include <string.h>

static inline fsim_tensor *tensor_of(const fsim_call *c, int i) { return &c->build->graph->tensor[c->arg[i]]; }
static inline bool is_mapped(const fsim_call *c, int i) { return tensor_of(c, i)->mapped; }
static inline int rank_of(const fsim_call *c, int i) { return tensor_of(c, i)->shape.rank - is_mapped(c, i); }
static inline int64_t examples_of(const fsim_call *c) { return c->build->graph->batch; }
static inline bool run_rule(fsim_call *c) { return fsim_ops[c->op].rule(c); }

/* The shape of one example. */
static inline fsim_shape example_of(const fsim_call *c, int i)
{
    fsim_shape s = tensor_of(c, i)->shape;
    if (is_mapped(c, i))
        memmove(s.dim, s.dim + 1, (size_t)--s.rank * sizeof *s.dim);
    return s;
}

/* Puts the batch first and widens the example's shape to this rank; a shared argument gets a batch of 1. */
bool fsim_align(fsim_call *c, int i, int rank);
/* Replaces a shared argument i by a copy of it for each example. */
bool fsim_copy_to_examples(fsim_call *c, int i);
/* Moves the dimensions that the call names by one, because the batch is in front of them. */
bool fsim_shift_dims(fsim_call *c, int rank);

#endif

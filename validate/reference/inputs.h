/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.h: values of inputs and weights, and of results that the reference can't compute. */
#ifndef FUSESIM_VALIDATE_REFERENCE_INPUTS_H
#define FUSESIM_VALIDATE_REFERENCE_INPUTS_H

#include "graph/graph.h"

/* The kind of values in a tensor, chosen so that every primitive stays inside its domain; inputs.c explains them. */
typedef struct {
    bool positive;
    double scale;         /* of weights; 0: 1 */
    int64_t below, inner; /* indices: in [0, below); where inner is set, distinct along a dimension whose neighbours are
                             `inner` elements apart */
    bool begins;          /* of an index: ascending from 0, as offsets of bags are */
} fsim_fill;
/* Sets fill[0, g->tensors) for inputs, weights, and results that the reference can't compute. */
void fsim_fills_of(const fsim_graph *g, fsim_fill *fill);

enum {
    FSIM_FILL_PERIOD = 1048573
}; /* a prime: no product of extents is a multiple of it, so rows and batches differ */
/* Stores these inputs and weights in bytes[tensor] where that is not NULL. Tensors with more elements than the
 * period repeat. For timing workloads that are too large to interpret. */
void fsim_inputs_store(const fsim_graph *g, uint64_t seed, void *const *bytes);

#endif

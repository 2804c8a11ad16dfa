/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.h: values of what no primitive makes: inputs, weights, and what stands in for results that nobody computes. */
#ifndef FUSESIM_VALIDATE_REFERENCE_INPUTS_H
#define FUSESIM_VALIDATE_REFERENCE_INPUTS_H

#include "graph/graph.h"

/* What the elements of a tensor may be, so that every primitive stays inside its domain. inputs.c says what they are.
 */
typedef struct {
    bool positive;
    double scale;         /* of weights; 0: 1 */
    int64_t below, inner; /* indices: in [0, below); with inner, different ones along a dimension whose neighbours are
                             `inner` apart */
} fsim_fill;
/* fill[0, g->tensors): of inputs, of weights, and of what stands in for a result that nobody computes. */
void fsim_fills_of(const fsim_graph *g, fsim_fill *fill);

enum {
    FSIM_FILL_PERIOD = 1048573
}; /* prime: no product of extents is a multiple of it, so that rows and batches differ */
/* Puts the same inputs and weights straight into memory, bytes[tensor] where it is not NULL: of tensors of more
 * elements than the period its elements over and over. For timing workloads that are too large to interpret. */
void fsim_inputs_store(const fsim_graph *g, uint64_t seed, void *const *bytes);

#endif

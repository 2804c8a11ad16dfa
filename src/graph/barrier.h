/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.h: a gradient of an output that is an input of the graph is known only after somebody has used the outputs,
 * so what needs it runs when all outputs are there. Each primitive says on which side of that moment it is
 * (fsim_side). */
#ifndef FUSESIM_GRAPH_BARRIER_H
#define FUSESIM_GRAPH_BARRIER_H

#include "graph/graph.h"

/* Notes which tensors the workload itself has, and which are its outputs, before derivatives are added. */
void fsim_note_outputs(fsim_graph *g);
/* Sets the side of each primitive and g->barrier. Readers must be known. */
void fsim_find_barrier(fsim_graph *g);
/* The gradient among the inputs that primitive n needs, at first or second hand, the nearest one; -1: none. */
int fsim_awaited_gradient(const fsim_graph *g, int n);
/* An output of the workload that primitive n computes or leads to; -1: none. */
int fsim_output_of(const fsim_graph *g, int n);

#endif

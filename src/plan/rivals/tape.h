/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h: the memory that eager PyTorch needs for a step of training, by what autograd keeps and lets go of. */
#ifndef FUSESIM_PLAN_RIVALS_TAPE_H
#define FUSESIM_PLAN_RIVALS_TAPE_H

#include "graph/graph.h"

typedef enum { FSIM_TAPE_FORWARD, FSIM_TAPE_BACKWARD, FSIM_TAPE_FULL } fsim_tape_part;

/* The most bytes in memory while the part runs, of a graph with gradients. again: the gradients of the run before are
 * there, and new ones are added to them (`.grad`). Scratch in a. */
double fsim_tape_peak(const fsim_graph *g, fsim_tape_part part, bool again, fsim_arena *a);

#endif

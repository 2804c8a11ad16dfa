/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h: parts of a graph that share no kernel. */
#ifndef FUSESIM_PLAN_SEARCH_PIECES_H
#define FUSESIM_PLAN_SEARCH_PIECES_H

#include "plan/price/plan.h"

/* Per primitive of p's graph, the number of its piece: one of the primitives in it. Two are in one piece if both access
 * a tensor, neither always has its own kernel, and they may be in one, or through others that are. In a. */
int *fsim_pieces(fsim_problem *p, fsim_arena *a);

#endif

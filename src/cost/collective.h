/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h: collectives between the GPUs of a node. */
#ifndef FUSESIM_COST_COLLECTIVE_H
#define FUSESIM_COST_COLLECTIVE_H

#include "graph/graph.h"
#include "hw/refit.h"

/* Seconds of a collective (an operator of class communication) without its launch. bytes: of the larger buffer, as
 * nccl-tests counts; ranks: 2 or more; graph: in a CUDA graph, where serving stacks have an all-reduce of their own.
 * Within 5 to 14 % of aiconfigurator's rows in the mean. NAN where the GPU's file has no link. */
double fsim_collective_s(const fsim_hw *hw, fsim_op op, double bytes, double ranks, bool graph);
/* An all-reduce by an algorithm that the workload asks for, FSIM_RING to FSIM_TWO_SHOT. */
double fsim_all_reduce_by_s(const fsim_hw *hw, int algorithm, double bytes, double ranks);
/* NCCL in so many steps one after the other, of a ring or a tree, in which each GPU sends so many bytes. */
double fsim_stepwise_s(const fsim_hw *hw, double steps, double sent_bytes);
/* The table of collective.def, to be fitted anew. */
fsim_refit_table fsim_collective_table(void);

#endif

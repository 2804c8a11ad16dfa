/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h: collectives between the GPUs of a node. */
#ifndef FUSESIM_COST_COLLECTIVE_H
#define FUSESIM_COST_COLLECTIVE_H

#include "graph/graph.h"
#include "hw/hw.h"

/* Seconds of a collective (an operator of class communication) without its launch. bytes: of the larger buffer, as
 * nccl-tests counts; ranks: 2 or more; graph: in a CUDA graph, where serving stacks have an all-reduce of their own.
 * Within 5 to 14 % of aiconfigurator's rows in the mean. NAN where the GPU's file has no link. */
double fsim_collective_s(const fsim_hw *hw, fsim_op op, double bytes, double ranks, bool graph);

#endif

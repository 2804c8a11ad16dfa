/* SPDX-License-Identifier: Apache-2.0 */
/* triton.h: what torch.compile does to layouts and loops, for its strategy (plan/rivals/inductor.c) and its prices
 * (triton.c, cudnn.c). */
#ifndef FUSESIM_VENDOR_TRITON_H
#define FUSESIM_VENDOR_TRITON_H

#include "fusion/group.h"

/* Is it an operator without a Triton lowering? ATen's kernel runs then, on stored inputs and without an epilogue:
 * three-dimensional max pooling, and windows of more than 25 elements. */
bool fsim_falls_back(const fsim_node *n);

/* Does torch.compile store 2d convolutions, and everything computed from them, channels last? It does where that
 * lowers the sum of their FLOPs, weighted by the gain of each kind. The weights are those of TorchInductor's
 * decide_layout_opt (graph.py): grouped with several channels in a group 1.358, at most 64 channels in and out
 * 0.783, at least twice as many in as out 0.725, others 0.823. Graphs with few convolutions keep their layout. */
bool fsim_channels_last(const fsim_graph *g);

/* Does the group reduce along contiguous memory, in the layout that torch.compile uses for the graph? */
bool fsim_reduces_innermost(const fsim_group *o, const fsim_graph *g, bool channels_last);

#endif

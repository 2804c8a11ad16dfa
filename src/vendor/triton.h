/* SPDX-License-Identifier: Apache-2.0 */
/* triton.h: what torch.compile does to layouts and loops, for its strategy (plan/rivals/inductor.c) and its costs
 * (triton.c, cudnn.c). */
#ifndef FUSESIM_VENDOR_TRITON_H
#define FUSESIM_VENDOR_TRITON_H

#include "fusion/group.h"

/* No Triton lowering: ATen's kernel, which materialises its input and takes no epilogue. Three-dimensional max pooling,
 * and windows of more than 25 elements. */
bool fsim_falls_back(const fsim_node *n);

/* 2d convolutions, and all that is computed from them, run channels last: where the sum of their FLOPs, weighted by how
 * much each kind gains, gets smaller. Weights are those of TorchInductor's decide_layout_opt (graph.py): grouped with
 * several channels a group 1.358, at most 64 channels in and out 0.783, at least twice as many in as out 0.725, others
 * 0.823. */
bool fsim_channels_last(const fsim_graph *g);

/* A reduction over what is contiguous in memory, in the layout that torch.compile gives the graph. */
bool fsim_reduces_innermost(const fsim_group *o, const fsim_graph *g, bool channels_last);

#endif

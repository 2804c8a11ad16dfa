/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h: how PyTorch lays out what its kernels make. */
#ifndef FUSESIM_PLAN_RIVALS_LAYOUT_H
#define FUSESIM_PLAN_RIVALS_LAYOUT_H

#include "graph/graph.h"

/* The primitives behind attention s that change nothing in memory, in node: the permute that puts the heads of a token
 * beside each other, and a copy of that. Attention's kernels store their result so, and what PyTorch gives back is a
 * view of it (ATen/native/transformers: _flash_attention_forward and _efficient_attention_forward
 * take and return [batch, tokens, heads, width], transposed before and behind). 0 where others read the result, too. */
int fsim_laid_out_by_attention(const fsim_graph *g, const fsim_source *s, int node[2]);

#endif

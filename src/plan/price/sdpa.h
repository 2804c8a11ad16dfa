/* SPDX-License-Identifier: Apache-2.0 */
/* sdpa.h: the attention that PyTorch trains with. scaled_dot_product_attention keeps its operands, its result and a
 * number for each query; its backward pass computes the scores again, tile by tile, in one call: of FlashAttention,
 * cuDNN, AOTriton, or the memory-efficient kernel (vendor/trained_attention.c). */
#ifndef FUSESIM_PLAN_PRICE_SDPA_H
#define FUSESIM_PLAN_PRICE_SDPA_H

#include "plan/price/calls.h"

/* The graph whose backward pass computes the scores of such attentions again; g where it has none that `maker` has a
 * kernel for on this GPU. In a. */
const fsim_graph *fsim_sdpa_graph(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, fsim_arena *a);

/* Marks what of such a graph belongs to the backward pass of an attention, which may be a call of `maker` on that GPU.
 * hw NULL: any attention. */
void fsim_sdpa_mark(fsim_graph *g, const fsim_hw *hw, fsim_maker maker);

/* Makes one kernel of those of a plan that together are the backward pass of an attention whose forward pass is one
 * kernel, as `maker` launches both: 5 products for 2. Fusesim's own plans call the library where that is faster, or
 * where memory is the objective.
 * flash_2: they are FlashAttention-2's, whatever PyTorch would pick.
 * plan->apart is the partition as it was. Its sums are for the caller to add up again. In a. True where it joined any.
 */
bool fsim_sdpa_join(fsim_problem *p, fsim_maker maker, bool flash_2, fsim_plan *plan, fsim_arena *a);

/* The backward passes of attentions that the graph marks, as calls; `plan` is one before they are joined, and tells
 * what those of the attentions take of which it has the forward pass in one kernel. In a. Returns their number. */
int fsim_sdpa_priced(fsim_problem *p, const fsim_plan *plan, fsim_arena *a, fsim_call_price **out);

/* The same plan with its kernels as `maker` would launch them. In a. */
fsim_plan fsim_plan_launched_by(fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a);
/* Calls the library for backward passes of attentions where that is faster (sdpa.h). False where it is not. In a. */
bool fsim_plan_calling(fsim_problem *p, fsim_plan *plan, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* trained_attention.c: which kernel PyTorch's scaled_dot_product_attention trains with, and what its backward pass
 * takes (ATen/native/transformers/cuda/sdp_utils.cpp).
 *     NVIDIA from sm_80 on, 16 bits, heads of up to 256   FlashAttention-2; cuDNN's on Hopper and Blackwell
 *     NVIDIA otherwise: f32, older designs, wide heads    the memory-efficient kernel (CUTLASS); no bf16 before sm_80
 *     AMD                                                 AOTriton, in both forms
 * The backward pass has 5 products for 2, at a share of the rate of the forward pass. */
#include "cost/chain.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"

#include <math.h>

static bool is_half(fsim_dtype t) { return t == FSIM_F16 || t == FSIM_BF16; }
static bool is_single(fsim_dtype t) { return t == FSIM_F32 || t == FSIM_TF32; }

/* Heads of the memory-efficient kernel are whole vectors. */
static bool is_aligned(const fsim_architecture *arch, fsim_dtype t, double features)
{
    const int vector = is_half(t) ? EFFICIENT_ALIGNED : arch->mma ? EFFICIENT_ALIGNED_F32 : 1;
    return fmod(features, vector) == 0;
}

bool fsim_trains_attention(const fsim_hw *hw, fsim_maker maker, fsim_dtype t, double features)
{
    const fsim_architecture *arch = hw->arch;
    if (maker > FSIM_BY_INDUCTOR || maker == FSIM_BY_FUSESIM || hw->host || arch->plain ||
        !(is_half(t) || is_single(t)))
        return false;
    if (arch->design == FSIM_CDNA)
        return features <= AOTRITON_MOST_FEATURES;
    if (fsim_has_flash(hw) && is_half(t) && features <= FLASH_MOST_FEATURES)
        return true;
    return (t != FSIM_BF16 || arch->mma) && is_aligned(arch, t, features);
}

/* The chain's group, priced by nobody: what it is made of can be asked. */
static fsim_costing asked(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o)
{
    return (fsim_costing){.g = g, .hw = hw, .group = o};
}

double fsim_attention_backward(const fsim_graph *g, const fsim_hw *hw, const fsim_group *forward)
{
    const fsim_costing c = asked(g, hw, forward);
    const fsim_chain_shape s = fsim_chain_shape_of(g, forward, true);
    const bool flash = fsim_has_flash(hw) && is_half(g->node[forward->anchor].gemm.arithmetic) &&
                       !fsim_beyond_flash(&c, FSIM_BY_ATEN) && !fsim_has_score_bias(&c, FSIM_BY_ATEN);
    const double efficient =
        fmax(s.k, s.results) <= EFFICIENT_NARROW_ROWS ? efficient_backward_share : efficient_wide_backward;
    const double share = hw->arch->design == FSIM_CDNA ? amd_backward_share : flash ? flash_backward_share : efficient;
    return flash_backward_flops / share;
}

bool fsim_is_backward_assumed(const fsim_graph *g, const fsim_hw *hw, const fsim_group *call)
{
    if (call->template != FSIM_LIBRARY_CONTRACTION || call->anchor < 0 || hw->host)
        return false;
    const fsim_node *n = &g->node[call->anchor];
    const int of = g->source[n->source].gradient_of;
    return n->call > 0 && n->phase == FSIM_BACKWARD && of >= 0 && g->source[of].op == FSIM_OP_ATTENTION &&
           !(fsim_has_flash(hw) && is_half(n->gemm.arithmetic));
}

double fsim_flash_2(const fsim_hw *hw) { return hw->arch->design == FSIM_HOPPER ? flash_2_on_hopper : 1; }

/* SPDX-License-Identifier: Apache-2.0 */
/* certify_floor.c: the least that primitives cost, from peak rates alone, so that a checker can compute it too. */
#include "plan/search/certificate.h"

#include "cost/costing.h"

#include <math.h>

/* The highest rate of products of such operands, on any unit. */
static double peak_rate(const fsim_hw *hw, fsim_dtype a, fsim_dtype b)
{
    static const fsim_hw_key of_f16[] = {FSIM_HW_TENSOR_F16, FSIM_HW_TENSOR_F32, FSIM_HW_FP16_PEAK, FSIM_HW_FP32_PEAK},
                             of_bf16[] = {FSIM_HW_TENSOR_BF16, FSIM_HW_TENSOR_F32, FSIM_HW_FP16_PEAK,
                                          FSIM_HW_FP32_PEAK},
                             of_any[] = {FSIM_HW_TENSOR_F16, FSIM_HW_TENSOR_BF16, FSIM_HW_TENSOR_TF32,
                                         FSIM_HW_TENSOR_F8,  FSIM_HW_TENSOR_I8,   FSIM_HW_TENSOR_F4,
                                         FSIM_HW_TENSOR_F64, FSIM_HW_TENSOR_F32,  FSIM_HW_FP16_PEAK,
                                         FSIM_HW_FP32_PEAK,  FSIM_HW_FP64_PEAK};
    const bool f16 = a == FSIM_F16 && b == FSIM_F16, bf16 = a == FSIM_BF16 && b == FSIM_BF16;
    const fsim_hw_key *key = f16 ? of_f16 : bf16 ? of_bf16 : of_any;
    const size_t keys = f16 || bf16 ? sizeof of_f16 / sizeof *of_f16 : sizeof of_any / sizeof *of_any;
    double best = 0;
    for (size_t i = 0; i < keys; i++)
        if (fsim_hw_has(hw, key[i]))
            best = fmax(best, fmax(fsim_hw_peak(hw, key[i]), fsim_hw_get(hw, key[i])));
    return best * fmax(1, fsim_hw_get(hw, FSIM_HW_ATTENTION_SHARE));
}

fsim_certified_floor fsim_certified_floor_of(const fsim_problem *p, const int *node, int count, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    const fsim_hw *hw = p->hw;
    const bool bytes = p->objective == FSIM_MINIMISE_BYTES;
    fsim_certified_floor out = {bytes ? 0 : fsim_least_launch_s(hw, p->regime) / FSIM_TICK_S,
                                fsim_new(a, double, count), fsim_new(a, double, count)};
    bool masked = false;
    for (int n = 0; n < g->nodes; n++)
        masked = masked || g->node[n].op == FSIM_OP_CAUSAL_MASK;
    const double rate = fmax(fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH), fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH)),
                 unit = bytes ? 1 : fmin(1, fsim_hw_get(hw, FSIM_HW_DRAM_WRITE_COST)) / rate / FSIM_TICK_S;
    for (int i = 0; i < count; i++) {
        const fsim_node *n = &g->node[node[i]];
        const fsim_tensor *t = &g->tensor[n->result[0]];
        out.written[i] = t->output && t->over < 0 ? (double)t->bytes * unit : 0;
        if (n->gemm.k && !n->gemm.convolution && n->args >= 2 && !bytes)
            out.product[i] = (masked ? 1.0 : 2.0) * (double)n->points * (double)n->reduced / FSIM_TICK_S /
                             peak_rate(hw, g->tensor[n->arg[0].tensor].dtype, g->tensor[n->arg[1].tensor].dtype);
    }
    return out;
}

fsim_sum fsim_certified_least(const fsim_certified_floor *f, double written, double products)
{
    return (fsim_sum)((f->launch + fmax(written, products)) * (1 - 1e-9));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ceilings.h"

int fsim_ceilings_of(const fsim_prediction *p, fsim_ceiling out[FSIM_MOST_CEILINGS])
{
    static const struct {
        fsim_dtype arithmetic;
        fsim_hw_key key;
        const char *name;
    } tensor[] = {{FSIM_F32, FSIM_HW_TENSOR_F32, "matrix f32"},    {FSIM_F16, FSIM_HW_TENSOR_F16, "tensor f16"},
                  {FSIM_BF16, FSIM_HW_TENSOR_BF16, "tensor bf16"}, {FSIM_TF32, FSIM_HW_TENSOR_TF32, "tensor tf32"},
                  {FSIM_F8E4M3, FSIM_HW_TENSOR_F8, "tensor f8"},   {FSIM_I8, FSIM_HW_TENSOR_I8, "tensor i8"}};
    int count = 0;
    out[count++] = (fsim_ceiling){fsim_hw_get(p->hw, FSIM_HW_FP32_PEAK), "FP32"};
    for (size_t i = 0; i < sizeof tensor / sizeof *tensor; i++) {
        bool used = false;
        for (int n = 0; n < p->graph->nodes && !used; n++)
            used = p->graph->node[n].gemm.k > 0 && p->graph->node[n].gemm.arithmetic == tensor[i].arithmetic;
        if (used && fsim_hw_has(p->hw, tensor[i].key) && count < FSIM_MOST_CEILINGS)
            out[count++] = (fsim_ceiling){fsim_hw_get(p->hw, tensor[i].key), tensor[i].name};
    }
    if (count == 1 && fsim_hw_has(p->hw, FSIM_HW_TENSOR_F16))
        out[count++] = (fsim_ceiling){fsim_hw_get(p->hw, FSIM_HW_TENSOR_F16), "tensor f16"};
    return count;
}

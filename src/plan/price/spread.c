/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/spread.h"

#include "cost/costing.h"
#include <math.h>

static const double strided =
    0.75; /* coalescing below which an access is not a stream that merely begins between sectors */

static bool contracts(const fsim_kernel *k)
{
    return k->template == FSIM_TILED_CONTRACTION || k->template == FSIM_LIBRARY_CONTRACTION;
}

fsim_hw_key fsim_residual_key(const fsim_graph *g, const fsim_kernel *k)
{
    const fsim_gemm *m = k->group->anchor >= 0 ? &g->node[k->group->anchor].gemm : NULL;
    if (k->template == FSIM_CHAINED_CONTRACTION)
        return FSIM_HW_RESIDUAL_ATTENTION;
    if (contracts(k))
        return m->convolution                             ? FSIM_HW_RESIDUAL_CONVOLUTION
               : fsim_is_tensor_arithmetic(m->arithmetic) ? FSIM_HW_RESIDUAL_TENSOR
                                                          : FSIM_HW_RESIDUAL_FP32;
    if (k->template == FSIM_ROW_REDUCTION || k->template == FSIM_COLUMN_REDUCTION || k->template == FSIM_FULL_REDUCTION)
        return FSIM_HW_RESIDUAL_ROWS;
    return m || k->coalescing < strided
               ? FSIM_HW_RESIDUAL_OTHER
               : FSIM_HW_RESIDUAL_STREAMING; /* an anchor that is no contraction: pooling, scatter, what is opaque */
}

/* What kin tell, and besides, that this GPU may be unlike them. */
static double residual(const fsim_hw *hw, fsim_hw_key key)
{
    const double told = fsim_hw_get(hw, key);
    return fsim_hw_origin(hw, key) == FSIM_FROM_ASSUMED && hw->q[key].source ? hypot(told, fsim_hw_rows[key].otherwise)
                                                                             : told;
}

double fsim_kernel_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    const double own = residual(hw, fsim_residual_key(g, k));
    const bool vendor = fsim_is_eager(maker) || k->template == FSIM_LIBRARY_CONTRACTION;
    return vendor ? own : hypot(own, residual(hw, FSIM_HW_RESIDUAL_GENERATED));
}

/* The figure behind a unit of k. */
static fsim_hw_key key_of(fsim_unit u, const fsim_kernel *k, const fsim_graph *g)
{
    const fsim_gemm *m = k->group->anchor >= 0 ? &g->node[k->group->anchor].gemm : NULL;
    switch (u) {
    case FSIM_DRAM:
        return FSIM_HW_DRAM_BANDWIDTH;
    case FSIM_L2:
        return FSIM_HW_L2_BANDWIDTH;
    case FSIM_SHARED:
        return FSIM_HW_SHARED_BANDWIDTH;
    case FSIM_SPECIAL:
        return FSIM_HW_SPECIAL_RATE;
    case FSIM_LATENCY:
        return FSIM_HW_DRAM_LATENCY;
    case FSIM_COMPUTE:
        if (k->template == FSIM_CHAINED_CONTRACTION)
            return FSIM_HW_ATTENTION_SHARE;
        if (!contracts(k))
            return FSIM_HW_FP32_RATE;
        return m->convolution                             ? FSIM_HW_CONVOLUTION
               : fsim_is_tensor_arithmetic(m->arithmetic) ? FSIM_HW_GEMM_TENSOR
                                                          : FSIM_HW_GEMM_FP32;
    case FSIM_LAUNCH:
        return FSIM_HW_LAUNCH_STREAM;
    default:
        return FSIM_HW_SM_CLOCK;
    }
}

fsim_origin fsim_kernel_origin(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    const bool generated =
        !fsim_is_eager(maker) && (k->template == FSIM_TILED_CONTRACTION || k->template == FSIM_CHAINED_CONTRACTION);
    if (generated && k->bound == FSIM_COMPUTE) /* that it reaches the vendor's rate */
        return FSIM_FROM_ASSUMED;
    return fsim_hw_origin(hw, key_of(k->bound, k, g));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/spread.h"

#include "cost/constants.h"
#include "cost/costing.h"
#include <math.h>

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
    return m || k->coalescing < strided_coalescing
               ? FSIM_HW_RESIDUAL_OTHER
               : FSIM_HW_RESIDUAL_STREAMING; /* an anchor that is no contraction: pooling, scatter, what is opaque */
}

/* What relatives tell, and besides, that this GPU may be unlike them. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h: in which dtypes a workload computes, and those for which the GPU has no fast unit while another dtype
 * has one: f16 products on a T4 run eight times as fast as bf16's. */
#ifndef FUSESIM_PLAN_PRICE_ARITHMETIC_H
#define FUSESIM_PLAN_PRICE_ARITHMETIC_H

#include "graph/graph.h"
#include "hw/hw.h"

typedef struct {
    int primitives[FSIM_TF32 + 1]; /* by dtype: how many compute in it; integers are not counted */
    fsim_dtype
        slow; /* of most of the products whose unit is slow; FSIM_DTYPE_NONE: there are none, the rest is unset */
    fsim_dtype faster;               /* a dtype in which this GPU multiplies faster */
    double slow_flops, faster_flops; /* data sheet's rates for products in both, FLOP/s */
    const fsim_graph *instead;       /* the workload with `faster` in place of `slow` */
    double eager_s, instead_eager_s; /* how long eager takes either way; who prices sets them */
} fsim_arithmetic;

/* Without the times. instead lives in a, and refers to g. */
fsim_arithmetic fsim_arithmetic_of(const fsim_graph *g, const fsim_hw *hw, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h: the dtypes in which a workload computes, and whether the GPU has no fast unit for one of them but
 * has for another: f16 products on a T4 run eight times as fast as bf16's. */
#ifndef FUSESIM_PLAN_PRICE_ARITHMETIC_H
#define FUSESIM_PLAN_PRICE_ARITHMETIC_H

#include "graph/graph.h"
#include "hw/hw.h"

typedef struct {
    int primitives[FSIM_TF32 + 1]; /* by dtype: how many compute in it; integers are not counted */
    int tf32_on_fp32;              /* products with compute: tf32 on a GPU without such units: they run on FP32 units */
    int unaligned; /* products on tensor units of which an operand's rows in memory are no multiple of 16 bytes: they
                      are priced as if they were */
    int unaligned_node; /* the one of them with most FLOPs, and the elements of such a row; -1 and unset: none */
    int64_t unaligned_row;
    fsim_dtype slow;   /* the dtype, of those without a fast unit, in which most products are; FSIM_DTYPE_NONE: there is
                          none, and the rest is unset */
    fsim_dtype faster; /* a dtype in which this GPU multiplies faster */
    double slow_flops, faster_flops; /* the data sheet's rates for products in both, FLOP/s */
    const fsim_graph *instead;       /* the workload with `faster` in place of `slow` */
    double eager_s, instead_eager_s; /* eager's time in both; the caller that prices sets them */
    double instead_s;                /* of the reported plan's kernels in `faster`; NaN: they are not legal there */
} fsim_arithmetic;

/* Sets everything but the times, which are NaN. instead lives in a, and refers to g. */
fsim_arithmetic fsim_arithmetic_of(const fsim_graph *g, const fsim_hw *hw, fsim_arena *a);

#endif

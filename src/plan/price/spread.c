/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/spread.h"

#include "cost/constants.h"
#include "cost/costing.h"
#include "plan/price/unmeasured.h"
#include <math.h>

/* The hardware key of residuals for kernels of a template: a function for each value of that column in template.def. */

static fsim_hw_key attention(const fsim_graph *g, const fsim_kernel *k)
{
    (void)g, (void)k;
    return FSIM_HW_RESIDUAL_ATTENTION;
}

static fsim_hw_key rows(const fsim_graph *g, const fsim_kernel *k)
{
    (void)g, (void)k;
    return FSIM_HW_RESIDUAL_ROWS;
}

static fsim_hw_key contraction(const fsim_graph *g, const fsim_kernel *k)
{
    const fsim_gemm *m = &g->node[k->group->anchor].gemm;
    return m->convolution                             ? FSIM_HW_RESIDUAL_CONVOLUTION
           : fsim_is_tensor_arithmetic(m->arithmetic) ? FSIM_HW_RESIDUAL_TENSOR
                                                      : FSIM_HW_RESIDUAL_FP32;
}

static fsim_hw_key streaming(const fsim_graph *g, const fsim_kernel *k)
{
    (void)g;
    return k->group->anchor >= 0 || k->coalescing < strided_coalescing
               ? FSIM_HW_RESIDUAL_OTHER
               : FSIM_HW_RESIDUAL_STREAMING; /* an anchor other than a contraction: pooling, scatter, opaque operators
                                              */
}

static fsim_hw_key exchange(const fsim_graph *g, const fsim_kernel *k)
{
    (void)g;
    (void)k;
    return FSIM_HW_RESIDUAL_COLLECTIVE;
}

static fsim_hw_key serving(const fsim_graph *g, const fsim_kernel *k)
{
    static const fsim_hw_key key[] = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) FSIM_HW_##residual,
#include "graph/serving.def"
#undef FSIM_SERVING
    };
    const fsim_serving_call *call = k->group->call;
    (void)g;
    return call->kind == FSIM_SERVING_DECODE_ATTENTION && fsim_dtype_bytes(call->stored) == 1
               ? FSIM_HW_RESIDUAL_SERVING_DECODE_BYTE /* other kernels */
               : key[call->kind];
}

fsim_hw_key fsim_residual_key(const fsim_graph *g, const fsim_kernel *k)
{
    static fsim_hw_key (*const key_of_template[FSIM_TEMPLATE_COUNT])(const fsim_graph *, const fsim_kernel *) = {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = residual,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    };
    const bool attention = k->template == FSIM_LIBRARY_CONTRACTION && k->group->template == FSIM_CHAINED_CONTRACTION;
    return key_of_template[attention ? FSIM_CHAINED_CONTRACTION : k->template](g, k);
}

/* The residual of relatives, plus an allowance for how much this GPU may differ from them. */
static double residual(const fsim_hw *hw, fsim_hw_key key)
{
    const double told = fsim_hw_get(hw, key);
    return fsim_hw_origin(hw, key) == FSIM_FROM_ASSUMED && hw->q[key].source ? hypot(told, fsim_hw_rows[key].otherwise)
                                                                             : told;
}

/* Does it compute gradients? */
static bool is_of_backward(const fsim_graph *g, const fsim_kernel *k)
{
    const fsim_group *o = k->group;
    return o->members > 0 && g->node[o->member[0].node].phase == FSIM_BACKWARD;
}

bool fsim_is_vendor_kernel(fsim_maker maker, const fsim_kernel *k)
{
    return fsim_is_eager(maker) || k->template == FSIM_LIBRARY_CONTRACTION || k->template == FSIM_SERVING_KERNEL;
}

fsim_spread_parts fsim_spread_parts_of(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    fsim_spread_parts p = {.kind = residual(hw, fsim_residual_key(g, k))};
    const double product = k->template == FSIM_TILED_CONTRACTION     ? spread_product
                           : k->template == FSIM_CHAINED_CONTRACTION ? spread_chain
                                                                     : 0;
    if (k->template == FSIM_SERVING_KERNEL) /* its rows measured all that it does */
        return p;
    p.unmeasured = hypot(fsim_unmeasured_spread(g, hw, maker, k), is_of_backward(g, k) ? spread_backward : 0);
    if (fsim_is_vendor_kernel(maker, k))
        return p;
    p.generated = residual(hw, FSIM_HW_RESIDUAL_GENERATED);
    if (maker == FSIM_BY_FUSESIM && !hw->host && k->time_s > 0)
        p.unmeasured = hypot(p.unmeasured, hypot(product, fmin(spread_short, spread_short_s / k->time_s)));
    return p;
}

double fsim_kernel_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    const fsim_spread_parts p = fsim_spread_parts_of(g, hw, maker, k);
    return hypot(p.kind, hypot(p.generated, p.unmeasured));
}

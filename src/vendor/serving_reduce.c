/* SPDX-License-Identifier: Apache-2.0 */
/* serving_reduce.c: an all-reduce with residual and RMS norm in one kernel (TensorRT-LLM's and vLLM's custom all-reduce
 * with fusion). Each GPU has the whole sum of a row in its registers after one shot, and after the second of two; it
 * adds the residual, stores that, and stores the norm: three passes over the buffer beside the all-reduce. NCCL's rings
 * and trees can't: a kernel of theirs ends with the sum in memory. */
#include "cost/collective.h"
#include "vendor/serving.h"

#include <math.h>

fsim_serving_time fsim_serving_reduced_norm(const fsim_serving_site *s)
{
    enum { PASSES = 3 };
    const double ranks = s->call->value[2],
                 bytes = s->call->value[0] * s->call->value[1] * fsim_dtype_bytes(s->call->dtype),
                 one = fsim_all_reduce_by_s(s->hw, FSIM_ONE_SHOT, bytes, ranks),
                 two = fsim_all_reduce_by_s(s->hw, FSIM_TWO_SHOT, bytes, ranks),
                 dram_s = PASSES * bytes * s->from_dram / s->dram,
                 passes_s = dram_s + PASSES * bytes * (1 - s->from_dram) / s->l2;
    return fsim_serving_sum(0, dram_s, fmin(one, two) + passes_s, 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/serving.h"

#include <math.h>
#include <string.h>

/* The larger of the arithmetic at the data sheet's rate and the bytes at the bandwidth of DRAM, in one kernel. */
static fsim_serving_time fsim_serving_roofline(const fsim_serving_site *s)
{
    fsim_serving_time t = {.launches = 1};
    const fsim_hw_key unit = fsim_tensor_key(s->hw, s->arithmetic);
    const double rate = unit == FSIM_HW_COUNT ? fsim_hw_get(s->hw, FSIM_HW_FP32_PEAK) : fsim_hw_peak(s->hw, unit);
    t.unit[FSIM_COMPUTE] = s->flops / rate;
    t.unit[FSIM_DRAM] = s->bytes / fsim_hw_peak(s->hw, FSIM_HW_DRAM_BANDWIDTH);
    t.busy_s = fmax(t.unit[FSIM_COMPUTE], t.unit[FSIM_DRAM]);
    return t;
}

static fsim_serving_time price(const fsim_serving_site *s)
{
    static fsim_serving_time (*const price_of[FSIM_SERVING_KINDS])(const fsim_serving_site *) = {
#define FSIM_SERVING(id, name, price, residual, values, meaning) [FSIM_SERVING_##id] = fsim_serving_##price,
#include "graph/serving.def"
#undef FSIM_SERVING
    };
    return price_of[s->call->kind](s);
}

static fsim_serving_site site_of(const fsim_costing *c, fsim_maker maker, const fsim_kernel *k)
{
    fsim_serving_site s = {.hw = c->hw, .call = c->group->call, .flops = 0, .arithmetic = FSIM_DTYPE_NONE};
    s.maker = maker >= FSIM_BY_VLLM ? maker : FSIM_BY_TENSORRT_LLM;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_gemm *m = &c->g->node[c->group->member[i].node].gemm;
        if (m->k == 0)
            continue;
        s.flops += 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
        s.arithmetic = m->arithmetic;
    }
    for (int i = 0; i < k->inputs; i++)
        s.bytes += (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        s.bytes += (double)k->output[i].bytes;
    return s;
}

fsim_kernel fsim_serving_kernel(const fsim_costing *c, fsim_maker maker, fsim_arena *a)
{
    fsim_kernel k = fsim_blank_kernel(c, a);
    fsim_lay_out(c, &k.schedule);
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    const fsim_serving_site s = site_of(c, maker, &k);
    const fsim_serving_time t = price(&s);
    k.launches = t.launches;
    k.penalised = true;
    memcpy(k.unit, t.unit, sizeof k.unit);
    fsim_sum_up_to(c, &k, t.busy_s);
    return k;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/serving.h"

#include "vendor/constants.h"

#include <math.h>
#include <string.h>

fsim_design fsim_serving_kin(const fsim_serving_site *s, int i)
{
    static const fsim_design ampere[FSIM_SERVING_KIN] = {FSIM_AMPERE, FSIM_ADA, FSIM_HOPPER, FSIM_BLACKWELL},
                             graphics[FSIM_SERVING_KIN] = {FSIM_ADA, FSIM_HOPPER, FSIM_AMPERE, FSIM_BLACKWELL},
                             hopper[FSIM_SERVING_KIN] = {FSIM_HOPPER, FSIM_BLACKWELL, FSIM_AMPERE, FSIM_ADA},
                             blackwell[FSIM_SERVING_KIN] = {FSIM_BLACKWELL, FSIM_HOPPER, FSIM_ADA, FSIM_AMPERE};
    static const fsim_design *const kin[FSIM_DESIGNS] = {
        [FSIM_PASCAL] = ampere, [FSIM_VOLTA] = ampere, [FSIM_TURING] = ampere,
        [FSIM_AMPERE] = ampere, [FSIM_ADA] = graphics, [FSIM_AMPERE_GRAPHICS] = ampere,
        [FSIM_HOPPER] = hopper, [FSIM_CDNA] = hopper,  [FSIM_BLACKWELL_GRAPHICS] = graphics,
        [FSIM_CPU] = hopper,    [FSIM_OTHER] = hopper, [FSIM_BLACKWELL] = blackwell};
    return kin[s->hw->arch->design][i];
}

double fsim_serving_rate(const fsim_serving_site *s, fsim_dtype arithmetic)
{
    const fsim_design d = s->hw->arch->design;
    fsim_hw_key unit = fsim_tensor_key(s->hw, arithmetic);
    unit = unit == FSIM_HW_COUNT ? fsim_tensor_key(s->hw, FSIM_F16) : unit;
    unit = unit == FSIM_HW_COUNT ? FSIM_HW_FP32_PEAK : unit;
    double rate = fsim_hw_peak(s->hw, unit);
    if (d == FSIM_CDNA || d == FSIM_OTHER) /* numbers of Hopper's kernels: as if this GPU's peak were one such */
        rate = fmin(rate, fsim_hw_get(s->hw, unit) / serving_hopper_share);
    return rate / s->sms;
}

double fsim_serving_rate_of_fours(const fsim_serving_site *s)
{
    const fsim_design d = s->hw->arch->design;
    const double peak = fsim_hw_peak(s->hw, FSIM_HW_TENSOR_F4);
    if (peak > 0)
        return peak / s->sms;
    return d == FSIM_BLACKWELL || d == FSIM_BLACKWELL_GRAPHICS ? 2 * fsim_serving_rate(s, FSIM_F8E4M3)
                                                               : fsim_serving_rate(s, FSIM_F16);
}

double fsim_ramp(double x, double from, double width) { return fmin(1, fmax(0, (x - from) / width)); }

double fsim_serving_missed(const fsim_serving_site *s, double bytes, double from, double width)
{
    return s->replays ? fsim_ramp(bytes / s->l2_bytes, from, width) : s->from_dram;
}

fsim_serving_time fsim_serving_sum(double compute_s, double dram_s, double busy_s, int launches)
{
    fsim_serving_time t = {.busy_s = busy_s, .launches = launches};
    t.unit[FSIM_COMPUTE] = fmin(compute_s, busy_s);
    t.unit[FSIM_DRAM] = fmin(dram_s, busy_s);
    t.unit[FSIM_LATENCY] = fmax(0, busy_s - fmax(compute_s, dram_s));
    return t;
}

/* How much longer the kind's calls take on this GPU than by the numbers of its design. */
static double factor(const fsim_hw *hw, fsim_serving_kind kind)
{
    static const fsim_hw_key key[FSIM_SERVING_KINDS] = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) [FSIM_SERVING_##id] = FSIM_HW_##factor,
#include "graph/serving.def"
#undef FSIM_SERVING
    };
    return fsim_hw_get(hw, key[kind]);
}

static fsim_serving_time price(const fsim_serving_site *s)
{
    static fsim_serving_time (*const price_of[FSIM_SERVING_KINDS])(const fsim_serving_site *) = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) [FSIM_SERVING_##id] = fsim_serving_##price,
#include "graph/serving.def"
#undef FSIM_SERVING
    };
    return price_of[s->call->kind](s);
}

/* Of the kernel's operands and results, the share that DRAM moves. */
static double share_from_dram(const fsim_kernel *k)
{
    double all = 0;
    for (int i = 0; i < k->inputs; i++)
        all += (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        all += (double)k->output[i].bytes;
    return all > 0 ? fmin(1, (double)(k->dram_read_bytes + k->dram_write_bytes) / all) : 0;
}

/* Of the caches as the graph has them, all of one length, the share that requests of several lengths have. */
static double filled(const fsim_serving_call *call)
{
    const double length = call->value[call->kind == FSIM_SERVING_DECODE_MLA ? 2 : 3];
    double sum = 0;
    for (int i = 0; i < call->lengths; i++)
        sum += call->length[i];
    return sum > 0 ? fmin(1, sum / call->lengths / fmax(1, length)) : 1;
}

static fsim_serving_site site_of(const fsim_costing *c, fsim_maker maker, const fsim_kernel *k)
{
    fsim_serving_site s = {.hw = c->hw, .call = c->group->call, .sms = c->sms, .clock = c->clock};
    s.maker = maker >= FSIM_BY_VLLM ? maker : FSIM_BY_TENSORRT_LLM;
    s.dram = fsim_hw_peak(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    s.l2 = fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH), s.dram * attention_l2_over_dram);
    s.l2_bytes = fsim_hw_get(c->hw, FSIM_HW_L2_CAPACITY);
    s.replays = c->l2 && c->l2->replays;
    s.from_dram = share_from_dram(k);
    return s;
}

static double triangle(double side) { return side > 0 ? side * (side + 1) / 2 : 0; }

/* The share of its scores that attention does not mask. */
static double seen_share(const fsim_costing *c)
{
    double side = 0, before_window = 0;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_node *n = &c->g->node[c->group->member[i].node];
        const fsim_shape *s = &c->g->tensor[n->result[0]].shape;
        if (n->op == FSIM_OP_CAUSAL_MASK && n->attrs.k == 0)
            side = (double)s->dim[s->rank - 1];
        if (n->op == FSIM_OP_WINDOW_MASK)
            before_window = (double)(s->dim[s->rank - 1] + n->attrs.k - 1);
    }
    return side > 0 ? (triangle(side) - triangle(before_window)) / (side * side) : 1;
}

static void add_products(const fsim_costing *c, fsim_kernel *k)
{
    const double share = seen_share(c);
    for (int i = 0; i < c->group->members; i++) {
        const fsim_gemm *g = &c->g->node[c->group->member[i].node].gemm;
        k->flops += 2 * share * (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
    }
}

fsim_kernel fsim_serving_kernel(const fsim_costing *c, fsim_maker maker, fsim_arena *a)
{
    fsim_kernel k = fsim_blank_kernel(c, a);
    fsim_lay_out(c, &k.schedule);
    fsim_add_arithmetic(c, &k, NULL, true);
    add_products(c, &k);
    fsim_add_memory(c, &k, NULL, NULL);
    const fsim_serving_site s = site_of(c, maker, &k);
    const fsim_serving_time t = price(&s);
    const double least_s =
        s.replays ? 0
                  : fsim_read_seconds(c->hw, (double)k.dram_read_bytes * filled(s.call), (double)k.dram_write_bytes);
    k.launches = t.launches;
    k.penalised = true;
    memcpy(k.unit, t.unit, sizeof k.unit);
    k.unit[FSIM_DRAM] = fmax(k.unit[FSIM_DRAM], least_s);
    fsim_sum_up_to(c, &k, fmax(least_s, t.busy_s * factor(c->hw, s.call->kind)));
    return k;
}

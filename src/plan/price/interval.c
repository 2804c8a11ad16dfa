/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/interval.h"

#include "plan/price/spread.h"
#include <math.h>
#include <string.h>

/* The part of the kernels' variance that all kernels of a plan share. The exact value matters little: of KernelBench
 * v01's eager rows, 85 % of level 2 and 41 % of level 3 lie inside with 0.25, 87 and 49 % with 0.5. */
static const double common = 0.5;

typedef struct {
    double common_s, own_s2; /* sum of the kernels' spreads in seconds; sum of their squares */
} spreads;

static void add(spreads *s, double seconds)
{
    s->common_s += seconds;
    s->own_s2 += seconds * seconds;
}

static double variance(const spreads *s) { return common * s->common_s * s->common_s + (1 - common) * s->own_s2; }

static double seconds_of_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    return k->time_s * fsim_kernel_spread(g, hw, maker, k);
}

static fsim_interval around(double x, double spread) { return (fsim_interval){x * exp(-spread), x * exp(spread)}; }

fsim_interval fsim_kernel_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    return around(k->time_s, fsim_kernel_spread(g, hw, maker, k));
}

fsim_interval fsim_plan_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_plan *plan)
{
    spreads s = {0};
    for (int k = 0; k < plan->kernels; k++)
        add(&s, seconds_of_spread(g, hw, maker, &plan->kernel[k]));
    return around(plan->time_s, plan->time_s > 0 ? sqrt(variance(&s)) / plan->time_s : 0);
}

static bool same_members(const fsim_part *x, const fsim_part *y)
{
    return x->count == y->count && memcmp(x->node, y->node, (size_t)x->count * sizeof *x->node) == 0;
}

fsim_interval fsim_speedup_interval(const fsim_graph *g, const fsim_hw *hw, fsim_plan_by base_by, fsim_plan_by other_by,
                                    fsim_arena *a)
{
    const fsim_plan *base = base_by.plan, *plan = other_by.plan;
    spreads only_base = {0}, only_plan = {0}, both = {0};
    int *at = fsim_new(a, int, g->nodes + 1); /* per primitive: 1 + the kernel of `base` that begins with it */
    bool *shared = fsim_new(a, bool, base->kernels + 1);
    for (int k = 0; k < base->kernels; k++)
        at[base->partition.part[k].node[0]] = k + 1;
    for (int k = 0; k < plan->kernels; k++) {
        const int twin = at[plan->partition.part[k].node[0]] - 1;
        const double s = seconds_of_spread(g, hw, other_by.maker, &plan->kernel[k]);
        if (twin >= 0 && same_members(&base->partition.part[twin], &plan->partition.part[k])) {
            shared[twin] = true;
            add(&both, s / plan->time_s - seconds_of_spread(g, hw, base_by.maker, &base->kernel[twin]) / base->time_s);
        } else {
            add(&only_plan, s / plan->time_s);
        }
    }
    for (int k = 0; k < base->kernels; k++)
        if (!shared[k])
            add(&only_base, seconds_of_spread(g, hw, base_by.maker, &base->kernel[k]) / base->time_s);
    /* the part of the error that all kernels share cancels between the plans */
    const double common_s = only_base.common_s - only_plan.common_s - both.common_s;
    const double spread =
        sqrt(common * common_s * common_s + (1 - common) * (only_base.own_s2 + only_plan.own_s2 + both.own_s2));
    return around(base->time_s / plan->time_s, spread);
}

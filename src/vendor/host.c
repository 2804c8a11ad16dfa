/* SPDX-License-Identifier: Apache-2.0 */
/* host.c: what PyTorch's host does for an operator beside its launches (vendor/host.def, the keys host_* of the
 * hardware). */
#include "vendor/kernels.h"

#include <math.h>

static double call_extra(const fsim_hw *hw, const fsim_source *s)
{
    static const struct {
        fsim_hw_key plain, biased;
        bool has;
    } extra[FSIM_OP_COUNT] = {
#define FSIM_HOST_CALL(op, plain, biased) [FSIM_OP_##op] = {FSIM_HW_HOST_##plain, FSIM_HW_HOST_##biased, true},
#include "vendor/host.def"
#undef FSIM_HOST_CALL
    };
    return extra[s->op].has ? fsim_hw_get(hw, s->nodes > 1 ? extra[s->op].biased : extra[s->op].plain) : 0;
}

/* Does the operator only look at its input in another way? */
static bool is_view(const fsim_graph *g, const fsim_source *s)
{
    return s->nodes == 0 || (s->nodes == 1 && fsim_ops[g->node[s->first].op].class == FSIM_PERMUTE);
}

/* Of operator number `of` and of the views between it and the operator before. */
static double extra_of(const fsim_hw *hw, const fsim_graph *g, int of)
{
    double extra = call_extra(hw, &g->source[of]);
    for (int s = of - 1; s >= 0 && is_view(g, &g->source[s]); s--)
        extra += fsim_hw_get(hw, FSIM_HW_HOST_VIEW);
    return extra;
}

/* Adds so many launches' time of the host to k. */
static void add_extra(const fsim_hw *hw, double extra, fsim_kernel *k)
{
    const double busy_s = k->time_s - k->time[FSIM_LAUNCH];
    k->host_extra = extra;
    k->time[FSIM_LAUNCH] = fmax(fsim_hw_get(hw, FSIM_HW_LAUNCH_EAGER) * (k->launches + extra) - busy_s,
                                fsim_least_launch_s(hw, FSIM_REGIME_EAGER) * k->launches);
    k->unit[FSIM_LAUNCH] = k->time[FSIM_LAUNCH];
    k->time_s = rint((k->time[FSIM_LAUNCH] + busy_s) / FSIM_TICK_S) * FSIM_TICK_S;
    k->time[FSIM_LAUNCH] = k->time_s - busy_s;
}

void fsim_add_library_call(const fsim_costing *c, fsim_kernel *k)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    if (c->regime == FSIM_REGIME_EAGER && !c->hw->host && k->time_s > 0)
        add_extra(c->hw, call_extra(c->hw, &c->g->source[n->source]), k);
}

void fsim_add_host_calls(const fsim_software *s, const fsim_group *group, fsim_kernel *k)
{
    double extra = 0;
    if (s->regime != FSIM_REGIME_EAGER || s->maker != FSIM_BY_ATEN || s->hw->host || !(k->time_s > 0))
        return;
    for (int i = 0; i < group->members; i++) {
        const fsim_node *n = &s->graph->node[group->member[i].node];
        const fsim_source *of = &s->graph->source[n->source];
        const bool last =
            group->member[i].node == of->first + of->nodes - 1; /* its other kernels are part of its call */
        extra += last && !is_view(s->graph, of) ? extra_of(s->hw, s->graph, n->source) : 0;
    }
    add_extra(s->hw, extra, k);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/calls.h"

#include "fusion/call.h"
#include "plan/price/price.h"
#include <string.h>

typedef struct {
    fsim_problem *p;
    const fsim_plan *plan;
    fsim_arena *a;
    int *call_of; /* per primitive: its call, by number from 1; 0: none */
    int *in;      /* per kernel: the same; -1: it has primitives of a call and others */
} joining;

/* Views that a kernel reads through belong to it, wherever they are from. */
static int call_of(const joining *w, int k)
{
    const fsim_graph *g = w->p->graph;
    const fsim_part *part = &w->plan->partition.part[k];
    int of = -2;
    for (int i = 0; i < part->count; i++) {
        const int call = w->call_of[part->node[i]];
        if (call == 0 && fsim_ops[g->node[part->node[i]].op].class == FSIM_PERMUTE && part->count > 1)
            continue;
        if (of != -2 && of != call)
            return -1;
        of = call;
    }
    return of < 0 ? 0 : of;
}

static bool makes(const fsim_kernel *k, int tensor)
{
    for (int i = 0; i < k->outputs; i++)
        if (k->output[i].tensor == tensor)
            return true;
    return false;
}

/* The kernel of the plan that the call stands for: its last; -1 where it can't be joined. */
static int place_of(const joining *w, int call)
{
    const fsim_plan *plan = w->plan;
    int last = -1;
    for (int k = 0; k < plan->kernels; k++)
        last = w->in[k] == call ? k : last;
    for (int n = 0; n < w->p->graph->nodes; n++) { /* all of its primitives are in kernels of its own */
        for (int k = 0; k < plan->kernels && w->call_of[n] == call; k++)
            for (int i = 0; i < plan->partition.part[k].count && w->in[k] != call; i++)
                if (plan->partition.part[k].node[i] == n)
                    return -1;
    }
    for (int k = 0; k < last; k++) /* nobody else needs its results before */
        for (int i = 0; i < plan->kernel[k].inputs && w->in[k] != call; i++)
            for (int from = 0; from < k; from++)
                if (w->in[from] == call && makes(&plan->kernel[from], plan->kernel[k].input[i].tensor))
                    return -1;
    return last;
}

const fsim_graph *fsim_calls_graph(const fsim_graph *g, fsim_arena *a)
{
    fsim_graph *out = fsim_new(a, fsim_graph, 1);
    *out = *g;
    out->node = fsim_new(a, fsim_node, g->nodes + 1);
    memcpy(out->node, g->node, (size_t)g->nodes * sizeof *g->node);
    for (int c = 0; c < g->servings; c++)
        for (int i = 0; i < g->serving[c].of.count; i++)
            out->node[g->serving[c].of.node[i]].serving = c + 1;
    out->calls = true;
    return out;
}

static fsim_part part_of(const fsim_serving_call *call, fsim_arena *a)
{
    fsim_part part = {call->of.count, fsim_new(a, int, call->of.count + 1), fsim_new(a, bool, call->of.count + 1)};
    memcpy(part.node, call->of.node, (size_t)call->of.count * sizeof *part.node);
    return part;
}

static void take(const joining *w, fsim_plan *out, int k)
{
    const int at = out->kernels++;
    out->kernel[at] = w->plan->kernel[k];
    out->partition.part[at] = w->plan->partition.part[k];
    out->candidate[at] = w->plan->candidate[k];
    out->l2[at] = w->plan->l2[k];
    out->rule[at] = w->plan->rule ? w->plan->rule[k] : NULL;
}

static fsim_kernel kernel_of(const joining *w, fsim_maker maker, const fsim_serving_call *call)
{
    const fsim_software software = {w->p->graph, w->p->hw, w->p->regime, maker};
    const fsim_residency cold = {0};
    fsim_group *group = fsim_new(w->a, fsim_group, 1);
    *group = fsim_group_of_call(w->p->graph, call, w->a);
    return fsim_framework_kernel(&software, group, &cold, NULL, w->a);
}

/* Do the kernels that the call stands for take no longer than it? */
static bool is_slow(const joining *w, fsim_maker maker, int c)
{
    double apart_s = 0;
    for (int k = 0; k < w->plan->kernels; k++)
        apart_s += w->in[k] == c + 1 ? w->plan->kernel[k].time_s : 0;
    return maker == FSIM_BY_FUSESIM && kernel_of(w, maker, &w->p->graph->serving[c]).time_s >= apart_s;
}

static void take_call(const joining *w, fsim_maker maker, const fsim_serving_call *call, fsim_plan *out)
{
    const int at = out->kernels++;
    out->l2[at] = (fsim_residency){0};
    out->kernel[at] = kernel_of(w, maker, call);
    out->partition.part[at] = part_of(call, w->a);
    out->candidate[at] = NULL;
    out->rule[at] = NULL;
}

static fsim_plan room_for(const fsim_plan *plan, fsim_arena *a)
{
    fsim_plan out = *plan;
    out.kernel = fsim_new(a, fsim_kernel, plan->kernels + 1);
    out.candidate = fsim_new(a, struct fsim_candidate *, plan->kernels + 1);
    out.l2 = fsim_new(a, fsim_residency, plan->kernels + 1);
    out.rule = fsim_new(a, const char *, plan->kernels + 1);
    out.partition.part = fsim_new(a, fsim_part, plan->kernels + 1);
    out.kernels = 0;
    return out;
}

bool fsim_calls_join(fsim_problem *p, fsim_maker maker, fsim_plan *plan, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    joining w = {.p = p, .plan = plan, .a = a};
    bool any = false;
    if (g->servings == 0)
        return false;
    w.call_of = fsim_new(a, int, g->nodes + 1);
    w.in = fsim_new(a, int, plan->kernels + 1);
    for (int c = 0; c < g->servings; c++)
        for (int i = 0; i < g->serving[c].of.count; i++)
            w.call_of[g->serving[c].of.node[i]] = c + 1;
    for (int k = 0; k < plan->kernels; k++)
        w.in[k] = call_of(&w, k);
    int *place = fsim_new(a, int, g->servings + 1);
    for (int c = 0; c < g->servings; c++)
        any = (place[c] = is_slow(&w, maker, c) ? -1 : place_of(&w, c + 1)) >= 0 || any;
    if (!any)
        return false;
    fsim_plan out = room_for(plan, a);
    for (int k = 0; k < plan->kernels; k++) {
        const int c = w.in[k] - 1;
        if (c < 0 || place[c] < 0)
            take(&w, &out, k);
        else if (place[c] == k)
            take_call(&w, maker, &g->serving[c], &out);
    }
    out.partition.parts = out.kernels;
    fsim_partition *apart = fsim_new(a, fsim_partition, 1);
    *apart = *fsim_priced_partition(plan);
    out.priced = apart;
    *plan = out;
    fsim_add_up_plan(p, plan, a);
    return true;
}

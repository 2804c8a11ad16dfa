/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/calls.h"

#include "fusion/call.h"
#include "plan/price/price.h"
#include <stdlib.h>
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

/* The calls whose kernels have primitives of others too. */
static void mark_mixed(const joining *w, bool *bad)
{
    for (int k = 0; k < w->plan->kernels; k++) {
        const fsim_part *part = &w->plan->partition.part[k];
        for (int i = 0; i < part->count; i++)
            if (w->call_of[part->node[i]] != w->in[k])
                bad[w->call_of[part->node[i]]] = true;
    }
}

/* The calls one of whose results is needed, elsewhere, before their last kernel. */
static void mark_early(const joining *w, const int *last, bool *bad)
{
    const fsim_plan *plan = w->plan;
    int *maker = fsim_new(w->a, int, w->p->graph->tensors + 1); /* of each tensor: its kernel, from 1; 0: none yet */
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *kernel = &plan->kernel[k];
        for (int i = 0; i < kernel->inputs; i++) {
            const int from = maker[kernel->input[i].tensor] - 1, call = from < 0 ? 0 : w->in[from];
            if (call > 0 && w->in[k] != call && k < last[call])
                bad[call] = true;
        }
        for (int i = 0; i < kernel->outputs; i++)
            maker[kernel->output[i].tensor] = k + 1;
    }
}

/* For each call, from 1 on, the kernel of the plan that it stands for: its last; -1 where it can't be joined. */
static int *places(const joining *w)
{
    const int calls = w->p->graph->servings;
    int *last = fsim_new(w->a, int, calls + 1);
    bool *bad = fsim_new(w->a, bool, calls + 1);
    for (int c = 0; c <= calls; c++)
        last[c] = -1;
    for (int k = 0; k < w->plan->kernels; k++)
        if (w->in[k] > 0)
            last[w->in[k]] = k;
    mark_mixed(w, bad);
    mark_early(w, last, bad);
    for (int c = 1; c <= calls; c++)
        last[c] = bad[c] ? -1 : last[c];
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

static int by_number(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* Is the tensor in DRAM alone when the call starts, whatever ran before? */
static bool is_cold(const fsim_problem *p, const fsim_serving_call *call, int tensor)
{
    const fsim_tensor *t = &p->graph->tensor[tensor];
    bool cold = t->producer < 0 && !p->warm;
    for (int i = 0; i < t->readers && cold; i++)
        cold = bsearch(&t->reader[i], call->of.node, (size_t)call->of.count, sizeof *call->of.node, by_number);
    return cold || !fsim_may_reside(p, tensor);
}

/* The most that the call can find in L2. */
static fsim_residency at_best(const fsim_problem *p, const fsim_group *group, const fsim_serving_call *call,
                              fsim_arena *a)
{
    bool *hit = fsim_new(a, bool, group->reads + 1);
    for (int i = 0; i < group->reads; i++)
        hit[i] = !is_cold(p, call, group->read[i].tensor);
    return (fsim_residency){.hit = hit, .absorbed = fsim_new(a, bool, group->writes + 1)};
}

int fsim_calls_priced(const fsim_problem *p, fsim_arena *a, fsim_call_price **out)
{
    const fsim_graph *g = p->graph;
    const fsim_software software = {g, p->hw, p->regime, FSIM_BY_FUSESIM};
    *out = fsim_new(a, fsim_call_price, g->servings + 1);
    for (int c = 0; c < g->servings; c++) {
        fsim_group *group = fsim_new(a, fsim_group, 1);
        *group = fsim_group_of_call(g, &g->serving[c], a); /* what takes it does not depend on what it reads */
        const fsim_residency l2 = at_best(p, group, &g->serving[c], a);
        (*out)[c] = (fsim_call_price){.nodes = g->serving[c].of.count,
                                      .node = g->serving[c].of.node,
                                      .least_s = fsim_framework_kernel(&software, group, &l2, NULL, a).time_s};
    }
    return g->servings;
}

/* Call c with the permutes that its kernels read through, so that no primitive of the plan is lost. In w->a. */
static const fsim_serving_call *call_with_views(const joining *w, int c)
{
    const fsim_serving_call *call = &w->p->graph->serving[c - 1];
    fsim_serving_call *out = fsim_new(w->a, fsim_serving_call, 1);
    int room = call->of.count;
    for (int k = 0; k < w->plan->kernels; k++)
        room += w->in[k] == c ? w->plan->partition.part[k].count : 0;
    *out = *call;
    out->of.node = fsim_new(w->a, int, room + 1);
    memcpy(out->of.node, call->of.node, (size_t)call->of.count * sizeof *call->of.node);
    for (int k = 0; k < w->plan->kernels; k++)
        for (int i = 0; w->in[k] == c && i < w->plan->partition.part[k].count; i++) {
            const int node = w->plan->partition.part[k].node[i];
            if (w->call_of[node] != c && !bsearch(&node, out->of.node, (size_t)out->of.count, sizeof node, by_number)) {
                out->of.node[out->of.count++] = node;
                qsort(out->of.node, (size_t)out->of.count, sizeof node, by_number);
            }
        }
    return out;
}

/* As a part of the plan. A permute that an earlier kernel has, too, is a copy here. */
static fsim_part part_of(const fsim_group *o, const fsim_plan *before, fsim_arena *a)
{
    fsim_part part = {o->members, fsim_new(a, int, o->members + 1), fsim_new(a, bool, o->members + 1)};
    for (int i = 0; i < o->members; i++)
        part.node[i] = o->member[i].node;
    for (int k = 0; k < before->kernels; k++)
        for (int i = 0; i < before->partition.part[k].count; i++) {
            const int *here = bsearch(&before->partition.part[k].node[i], part.node, (size_t)part.count,
                                      sizeof *part.node, by_number);
            if (here)
                part.clone[here - part.node] = o->member[here - part.node].clone = true;
        }
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

/* Does the first of the call's kernels that reads the tensor find it in L2? */
static bool is_found(const joining *w, int c, int tensor)
{
    for (int k = 0; k < w->plan->kernels; k++) {
        const fsim_group *o = w->plan->kernel[k].group;
        for (int i = 0; w->in[k] == c && i < o->reads; i++)
            if (o->read[i].tensor == tensor)
                return w->plan->l2[k].hit && w->plan->l2[k].hit[i];
    }
    return false;
}

/* Does one of the call's kernels store the tensor? */
static bool is_stored(const joining *w, int c, int tensor)
{
    for (int k = 0; k < w->plan->kernels; k++)
        for (int i = 0; w->in[k] == c && i < w->plan->kernel[k].outputs; i++)
            if (w->plan->kernel[k].output[i].tensor == tensor)
                return true;
    return false;
}

/* Other kernels that read a permute's result compute it themselves, where none of the call's kernels stores it. */
static void leave_out_copies(const joining *w, int c, fsim_group *group)
{
    int kept = 0;
    for (int i = 0; i < group->writes; i++)
        if (w->call_of[w->p->graph->tensor[group->write[i].tensor].producer] == c ||
            is_stored(w, c, group->write[i].tensor))
            group->write[kept++] = group->write[i];
    group->writes = kept;
}

/* Call c as a kernel, and what it finds in L2. */
static fsim_kernel kernel_of(const joining *w, fsim_maker maker, int c, fsim_residency *l2)
{
    const fsim_software software = {w->p->graph, w->p->hw, w->p->regime, maker};
    fsim_group *group = fsim_new(w->a, fsim_group, 1);
    *group = fsim_group_of_call(w->p->graph, call_with_views(w, c), w->a);
    leave_out_copies(w, c, group);
    bool *hit = fsim_new(w->a, bool, group->reads + 1);
    for (int i = 0; i < group->reads; i++)
        hit[i] = is_found(w, c, group->read[i].tensor);
    *l2 = (fsim_residency){.hit = hit, .absorbed = fsim_new(w->a, bool, group->writes + 1)};
    return fsim_framework_kernel(&software, group, l2, NULL, w->a);
}

/* fusesim's own kernels stay where they cost no more than the call that would stand for them. */
static void keep_faster(const joining *w, int *place)
{
    const int calls = w->p->graph->servings;
    fsim_sum *apart = fsim_new(w->a, fsim_sum, calls + 1);
    fsim_residency l2;
    for (int k = 0; k < w->plan->kernels; k++)
        if (w->in[k] > 0)
            apart[w->in[k]] += fsim_objective_of(w->p, &w->plan->kernel[k]);
    for (int c = 1; c <= calls; c++) {
        if (place[c] < 0)
            continue;
        const fsim_kernel call = kernel_of(w, FSIM_BY_FUSESIM, c, &l2);
        if (fsim_objective_of(w->p, &call) >= apart[c])
            place[c] = -1;
    }
}

static void take_call(const joining *w, fsim_maker maker, int c, fsim_plan *out)
{
    const fsim_plan before = *out;
    const int at = out->kernels++;
    out->kernel[at] = kernel_of(w, maker, c, &out->l2[at]);
    out->partition.part[at] = part_of(out->kernel[at].group, &before, w->a);
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
    int *place = places(&w);
    if (maker == FSIM_BY_FUSESIM)
        keep_faster(&w, place);
    for (int c = 1; c <= g->servings; c++)
        any = any || place[c] >= 0;
    if (!any)
        return false;
    fsim_plan out = room_for(plan, a);
    for (int k = 0; k < plan->kernels; k++) {
        const int c = w.in[k];
        if (c <= 0 || place[c] < 0)
            take(&w, &out, k);
        else if (place[c] == k)
            take_call(&w, maker, c, &out);
    }
    out.partition.parts = out.kernels;
    fsim_partition *apart = fsim_new(a, fsim_partition, 1);
    *apart = *fsim_priced_partition(plan);
    out.priced = apart;
    *plan = out;
    fsim_add_up_plan(p, plan, a);
    return true;
}

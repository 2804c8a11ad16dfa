/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/sdpa.h"

#include "plan/price/calls.h"
#include "plan/price/price.h"
#include "vendor/constants.h"
#include "vendor/vendor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Is source s an attention that `maker` has kernels for, all of whose products are? hw NULL: on any GPU. */
static bool is_fused(const fsim_graph *g, int s, const fsim_hw *hw, fsim_maker maker)
{
    const fsim_source *x = &g->source[s];
    bool all = x->op == FSIM_OP_ATTENTION && x->phase == FSIM_FORWARD && x->gradient_of < 0;
    for (int n = x->first; n < x->first + x->nodes && all; n++) {
        const fsim_gemm *product = &g->node[n].gemm;
        if (fsim_ops[g->node[n].op].class == FSIM_CONTRACTION && hw)
            all = fsim_trains_attention(hw, maker == FSIM_BY_FUSESIM ? FSIM_BY_ATEN : maker, product->arithmetic,
                                        fmin((double)product->k, (double)product->n));
    }
    return all;
}

void fsim_sdpa_mark(fsim_graph *g, const fsim_hw *hw, fsim_maker maker)
{
    for (int n = 0; n < g->nodes; n++) {
        const fsim_source *s = &g->source[g->node[n].source];
        if (g->node[n].phase == FSIM_BACKWARD && s->gradient_of >= 0 && is_fused(g, s->gradient_of, hw, maker))
            g->node[n].call = s->gradient_of + 1;
    }
    g->calls = true;
}

const fsim_graph *fsim_sdpa_graph(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, fsim_arena *a)
{
    bool any = false;
    if (g->derived != FSIM_REVERSE || !g->origin)
        return g;
    const fsim_derive *how = fsim_derivation_of(g);
    signed char *fate = fsim_new(a, signed char, g->own_tensors + 1); /* zero: FSIM_HELD */
    if (how->fates > 0)
        memcpy(fate, how->fate, (size_t)(how->fates < g->own_tensors ? how->fates : g->own_tensors));
    for (int s = 0; s < g->sources; s++) {
        const fsim_source *x = &g->source[s];
        for (int n = x->first; is_fused(g, s, hw, maker) && n < x->first + x->nodes - 1; n++)
            for (int r = 0; r < g->node[n].results; r++)
                if (g->node[n].result[r] < g->own_tensors)
                    any = (fate[g->node[n].result[r]] = FSIM_DROPPED) != 0;
    }
    fsim_graph *other = any ? fsim_graph_with_fates(g, fate, g->own_tensors, a) : NULL;
    if (other)
        fsim_sdpa_mark(other, hw, maker);
    return other ? other : g;
}

typedef struct {
    fsim_problem *p;
    fsim_maker maker;
    bool flash_2; /* FlashAttention-2, whatever PyTorch would pick */
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_plan *plan;
    fsim_arena *a;
    int *call;       /* per kernel: 2 * the attention whose backward pass it belongs to, and 1 more where a layer is
                        computed again and it computes the attention's result; -1: none */
    int *forward_of; /* per source: the kernel that is its whole forward pass; -1: none */
    int *maker_of;   /* per tensor: the kernel that stores it; -1: none */
} joining;

/* The one operator whose backward pass all members belong to, but for what only lays out operands otherwise; -1. */
static int call_of(const joining *w, int k)
{
    const fsim_part *part = &w->plan->partition.part[k];
    int of = -1;
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &w->g->node[part->node[i]];
        if (n->call == 0 && fsim_ops[n->op].class == FSIM_PERMUTE)
            continue;
        if (n->call == 0 || (of >= 0 && n->call - 1 != of))
            return -1;
        of = n->call - 1;
    }
    return of;
}

/* The attention whose whole forward pass kernel k has, whatever it does besides; -1. */
static int attention_in(const joining *w, int k)
{
    const fsim_part *part = &w->plan->partition.part[k];
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &w->g->node[part->node[i]];
        if (w->plan->kernel[k].group->template == FSIM_CHAINED_CONTRACTION && n->phase == FSIM_FORWARD &&
            !part->clone[i] && fsim_ops[n->op].class == FSIM_CONTRACTION && is_fused(w->g, n->source, w->hw, w->maker))
            return n->source;
    }
    return -1;
}

static void find_calls(joining *w)
{
    for (int s = 0; s < w->g->sources; s++)
        w->forward_of[s] = -1;
    for (int k = 0; k < w->plan->kernels; k++) {
        const int forward = attention_in(w, k);
        if (forward >= 0)
            w->forward_of[forward] = k;
    }
    for (int k = 0; k < w->plan->kernels; k++) {
        const int of = call_of(w, k);
        w->call[k] = of >= 0 && w->forward_of[of] >= 0 ? 2 * of : -1;
        for (int i = 0; i < w->plan->kernel[k].outputs; i++)
            w->maker_of[w->plan->kernel[k].output[i].tensor] = k + 1;
    }
}

/* Does kernel k belong to the same attention's backward pass as the call? */
static bool is_in(const joining *w, int k, int call) { return k >= 0 && w->call[k] >= 0 && w->call[k] / 2 == call / 2; }

/* The place among the kernels, behind which the call has all that it reads; -1 where somebody needs a result of it
 * before. */
static int place_of(const joining *w, int call)
{
    const fsim_plan *plan = w->plan;
    int place = -1;
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].inputs && w->call[k] == call; i++) {
            const int from = w->maker_of[plan->kernel[k].input[i].tensor] - 1;
            place = place < 0 ? k : place;
            place = !is_in(w, from, call) && from > place ? from : place;
        }
    for (int k = 0; k <= place; k++)
        for (int i = 0; i < plan->kernel[k].inputs && w->call[k] != call; i++) {
            const int from = w->maker_of[plan->kernel[k].input[i].tensor] - 1;
            if (from >= 0 && w->call[from] == call && !is_in(w, k, call))
                return -1;
        }
    return place;
}

/* Does kernel k compute a value of the attention again? What only lays out its operands is no such value. */
static bool is_again(const joining *w, int k)
{
    const fsim_part *part = &w->plan->partition.part[k];
    bool again = false;
    for (int i = 0; i < part->count; i++)
        again = again || (w->g->node[part->node[i]].again && w->g->node[part->node[i]].call != 0);
    return again;
}

/* Where a layer is computed again, the result of the attention is needed before its gradient is there: two calls. */
static void split_call(joining *w, int call)
{
    for (int k = 0; k < w->plan->kernels; k++)
        w->call[k] += w->call[k] == call && is_again(w, k);
}

static bool is_needed(const joining *w, int call, int tensor)
{
    bool needed = w->g->tensor[tensor].output;
    for (int k = 0; k < w->plan->kernels && !needed; k++)
        for (int i = 0; i < w->plan->kernel[k].inputs && !is_in(w, k, call); i++)
            needed = needed || w->plan->kernel[k].input[i].tensor == tensor;
    return needed;
}

static bool has_input(const fsim_kernel *k, int tensor)
{
    for (int i = 0; i < k->inputs; i++)
        if (k->input[i].tensor == tensor)
            return true;
    return false;
}

/* The call reads the attention's result as well, for the sums of its products with the gradient. */
static void add_result(const joining *w, int of, fsim_kernel *to)
{
    const fsim_kernel *forward = &w->plan->kernel[w->forward_of[of / 2]];
    const fsim_source *s = &w->g->source[of / 2];
    const int64_t elems = w->g->tensor[w->g->node[s->first + s->nodes - 1].result[0]].elems;
    for (int i = 0; i < forward->outputs; i++) {
        const fsim_result *o = &forward->output[i];
        const fsim_tensor *t = &w->g->tensor[o->tensor];
        if (t->elems != elems || has_input(to, o->tensor))
            continue;
        to->input[to->inputs++] = (fsim_input){.tensor = o->tensor, .bytes = t->bytes, .read_bytes = t->bytes};
        to->dram_read_bytes += t->bytes;
        return;
    }
}

/* What the call reads: tensors of others, each once. The scores that the other call had are computed again. */
static void add_inputs(const joining *w, int call, const fsim_kernel *from, fsim_kernel *to)
{
    for (int i = 0; i < from->inputs; i++) {
        if (is_in(w, w->maker_of[from->input[i].tensor] - 1, call) || has_input(to, from->input[i].tensor))
            continue;
        to->input[to->inputs++] = from->input[i];
        to->dram_read_bytes += from->input[i].read_bytes;
        to->l2_bytes += from->input[i].l2_bytes;
    }
}

static void add_outputs(const joining *w, int call, const fsim_kernel *from, fsim_kernel *to)
{
    for (int i = 0; i < from->outputs; i++)
        if (is_needed(w, call, from->output[i].tensor)) {
            to->output[to->outputs++] = from->output[i];
            to->dram_write_bytes += from->output[i].write_bytes;
        }
}

static int by_node(const void *x, const void *y)
{
    return ((const fsim_member *)x)->node - ((const fsim_member *)y)->node;
}

static fsim_part part_of(const fsim_group *o, fsim_arena *a)
{
    fsim_part part = {o->members, fsim_new(a, int, o->members + 1), fsim_new(a, bool, o->members + 1)};
    for (int i = 0; i < o->members; i++) {
        part.node[i] = o->member[i].node;
        part.clone[i] = o->member[i].clone;
    }
    return part;
}

/* How many times as long as its price it takes by the kernels that are asked for. */
static double slowed(const joining *w) { return w->flash_2 ? fsim_flash_2(w->hw) : 1; }

/* `factor` times as long as the forward pass, and no less than DRAM takes. */
static void set_time(const joining *w, const fsim_kernel *forward, double factor, fsim_kernel *k)
{
    const double bus_s =
        (double)(k->dram_read_bytes + k->dram_write_bytes) / fsim_hw_get(w->hw, FSIM_HW_DRAM_BANDWIDTH);
    k->time_s = 0;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        k->time[u] = forward->time[u] * (u == FSIM_LAUNCH ? 1 : factor);
        k->unit[u] = forward->unit[u] * (u == FSIM_LAUNCH ? 1 : factor);
        k->time_s += k->time[u];
    }
    if (bus_s > k->time_s) {
        k->time[FSIM_DRAM] += bus_s - k->time_s;
        k->bound = FSIM_DRAM;
        k->time_s = bus_s;
    }
    k->time_s = rint(k->time_s / FSIM_TICK_S) * FSIM_TICK_S;
}

/* The forward pass as PyTorch launches it. */
static fsim_kernel forward_kernel(const joining *w, int k)
{
    return w->maker == FSIM_BY_FUSESIM && w->plan->candidate[k]
               ? fsim_kernel_launched_by(w->p, FSIM_BY_ATEN, w->plan->candidate[k], &w->plan->l2[k], w->a)
               : w->plan->kernel[k];
}

/* The kernel that does what those of the call do. */
static fsim_kernel joined(const joining *w, int of)
{
    const fsim_plan *plan = w->plan;
    const fsim_kernel one_forward = forward_kernel(w, w->forward_of[of / 2]), *forward = &one_forward;
    fsim_kernel k = *forward;
    fsim_group *o = fsim_new(w->a, fsim_group, 1);
    int members = 0, inputs = 0, outputs = 0;
    for (int i = 0; i < plan->kernels; i++) {
        members += is_in(w, i, of) ? plan->kernel[i].group->members : 0;
        inputs += is_in(w, i, of) ? plan->kernel[i].inputs : 0;
        outputs += is_in(w, i, of) ? plan->kernel[i].outputs : 0;
    }
    *o = (fsim_group){.template = FSIM_LIBRARY_CONTRACTION, .anchor = -1, .first = -1, .stages = 1};
    o->member = fsim_new(w->a, fsim_member, members + 1);
    k.group = o;
    k.inputs = k.outputs = 0;
    k.input = fsim_new(w->a, fsim_input, inputs + 2);
    k.output = fsim_new(w->a, fsim_result, outputs + 1);
    k.dram_read_bytes = k.dram_write_bytes = k.partial_bytes = 0;
    k.flops = k.l2_bytes = 0;
    for (int i = 0; i < plan->kernels; i++) {
        const fsim_group *one = plan->kernel[i].group;
        if (is_in(w, i, of) && (w->call[i] == of || of % 2 == 0))
            add_inputs(w, of, &plan->kernel[i], &k);
        if (w->call[i] != of)
            continue;
        if (o->anchor < 0 && one->contractions > 0)
            o->anchor = one->anchor;
        for (int m = 0; m < one->members; m++)
            if (!one->member[m].clone)
                o->member[o->members++] = one->member[m];
        o->contractions += one->contractions;
        k.flops += plan->kernel[i].flops;
        add_outputs(w, of, &plan->kernel[i], &k);
    }
    if (of % 2 == 0)
        add_result(w, of, &k);
    qsort(o->member, (size_t)o->members, sizeof *o->member, by_node);
    o->points = forward->group->points;
    o->reduced = forward->group->reduced;
    set_time(w, forward, slowed(w) * (of % 2 ? 1 : fsim_attention_backward(w->g, w->hw, one_forward.group)), &k);
    return k;
}

/* Where each kernel's call is launched: behind that kernel of the plan. Kernels whose call has no such place are in
 * none. */
static int *places_of(joining *w)
{
    const int kernels = w->plan->kernels;
    int *place = fsim_new(w->a, int, 2 * w->g->sources + 2);
    for (int k = 0; k < kernels; k++)
        if (w->call[k] >= 0 && w->call[k] % 2 == 0 && place_of(w, w->call[k]) < 0)
            split_call(w, w->call[k]);
    for (int k = 0; k < kernels; k++)
        if (w->call[k] >= 0)
            place[w->call[k]] = place_of(w, w->call[k]);
    for (int k = 0; k < kernels; k++)
        if (w->call[k] >= 0 && (place[w->call[k] & ~1] < 0 || place[w->call[k] | 1] < 0))
            w->call[k] = -1;
    return place;
}

/* The calls, each once. */
static int calls_of(const joining *w, int **calls)
{
    bool *seen = fsim_new(w->a, bool, 2 * w->g->sources + 2);
    int count = 0;
    *calls = fsim_new(w->a, int, w->plan->kernels + 1);
    for (int k = 0; k < w->plan->kernels; k++) {
        const int call = w->call[k];
        if (call >= 0 && !seen[call])
            (*calls)[count++] = call;
        if (call >= 0)
            seen[call] = true;
    }
    return count;
}

static void take_kernel(fsim_plan *out, const fsim_plan *from, int k)
{
    const int at = out->kernels++;
    out->kernel[at] = from->kernel[k];
    out->partition.part[at] = from->partition.part[k];
    out->candidate[at] = from->candidate[k];
    out->l2[at] = from->l2[k];
    out->rule[at] = from->rule ? from->rule[k] : NULL;
}

static void take_joined(const joining *w, fsim_plan *out, int call)
{
    const int at = out->kernels++;
    out->kernel[at] = joined(w, call);
    out->partition.part[at] = part_of(out->kernel[at].group, w->a);
    out->candidate[at] = NULL;
    out->l2[at] = (fsim_residency){0};
    out->rule[at] = NULL;
}

/* A plan of fusesim's calls a library only where that costs less. */
static void leave_dear_calls(joining *w, const int *calls, int count)
{
    for (int i = 0; i < count; i++) {
        fsim_sum apart = 0;
        for (int k = 0; k < w->plan->kernels; k++)
            apart += w->call[k] == calls[i] ? fsim_objective_of(w->p, &w->plan->kernel[k]) : 0;
        const fsim_kernel call = joined(w, calls[i]);
        const bool dear = fsim_objective_of(w->p, &call) >= apart;
        for (int k = 0; k < w->plan->kernels && dear; k++)
            w->call[k] = w->call[k] == calls[i] ? -1 : w->call[k];
    }
}

/* A lower bound of what the call takes, whatever else the forward kernel has and finds in L2: as if DRAM moved nothing.
 */
static double least_call_s(const joining *w, int of)
{
    const fsim_software software = {w->g, w->hw, w->p->regime, FSIM_BY_ATEN};
    const int k = w->forward_of[of];
    fsim_kernel own = w->plan->kernel[k], call = {0};
    const fsim_group *group = own.group;
    const fsim_residency l2 = {.hit = fsim_new(w->a, bool, group->reads + 1),
                               .absorbed = fsim_new(w->a, bool, group->writes + 1)};
    own.inputs = own.outputs = 0;
    const fsim_kernel forward = fsim_framework_launch(&software, group, &l2, &own, w->a);
    set_time(w, &forward, slowed(w) * fsim_attention_backward(w->g, w->hw, group), &call);
    return call.time_s * (1 - 1e-9);
}

int fsim_sdpa_priced(fsim_problem *p, const fsim_plan *plan, fsim_arena *a, fsim_call_price **out)
{
    const fsim_graph *g = p->graph;
    fsim_plan copy = *plan;
    joining w = {.p = p, .maker = FSIM_BY_FUSESIM, .g = g, .hw = p->hw, .plan = &copy, .a = a};
    int count = 0;
    *out = fsim_new(a, fsim_call_price, g->sources + 1);
    if (!g->calls)
        return 0;
    w.call = fsim_new(a, int, plan->kernels + 1);
    w.forward_of = fsim_new(a, int, g->sources + 1);
    w.maker_of = fsim_new(a, int, g->tensors + 1);
    find_calls(&w);
    for (int s = 0; s < g->sources; s++) {
        fsim_call_price *x = &(*out)[count];
        *x = (fsim_call_price){.node = fsim_new(a, int, g->nodes + 1)};
        for (int n = 0; n < g->nodes; n++)
            if (g->node[n].call == s + 1)
                x->node[x->nodes++] = n;
        x->least_s = x->nodes > 0 && w.forward_of[s] >= 0 ? least_call_s(&w, s) : 0;
        count += x->nodes > 0;
    }
    return count;
}

bool fsim_sdpa_join(fsim_problem *p, fsim_maker maker, bool flash_2, fsim_plan *plan, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    joining w = {.p = p, .maker = maker, .flash_2 = flash_2, .g = g, .hw = p->hw, .plan = plan, .a = a};
    if (!g->calls)
        return false;
    w.call = fsim_new(a, int, plan->kernels + 1);
    w.forward_of = fsim_new(a, int, g->sources + 1);
    w.maker_of = fsim_new(a, int, g->tensors + 1);
    find_calls(&w);
    const int *place = places_of(&w);
    int *calls;
    int count = calls_of(&w, &calls);
    if (maker == FSIM_BY_FUSESIM && p->objective != FSIM_MINIMISE_MEMORY) {
        leave_dear_calls(&w, calls, count);
        count = calls_of(&w, &calls);
    }
    if (count == 0)
        return false;
    fsim_plan out = *plan;
    out.kernel = fsim_new(a, fsim_kernel, plan->kernels + 1);
    out.candidate = fsim_new(a, struct fsim_candidate *, plan->kernels + 1);
    out.l2 = fsim_new(a, fsim_residency, plan->kernels + 1);
    out.rule = fsim_new(a, const char *, plan->kernels + 1);
    out.partition.part = fsim_new(a, fsim_part, plan->kernels + 1);
    out.kernels = 0;
    for (int k = 0; k < plan->kernels; k++) {
        if (w.call[k] < 0)
            take_kernel(&out, plan, k);
        if (w.call[k] < 0 && maker != FSIM_BY_FUSESIM && attention_in(&w, k) >= 0)
            set_time(&w, &plan->kernel[k], slowed(&w), &out.kernel[out.kernels - 1]);
        for (int i = 0; i < count; i++)
            if (place[calls[i]] == k)
                take_joined(&w, &out, calls[i]);
    }
    out.partition.parts = out.kernels;
    fsim_partition *apart = fsim_new(a, fsim_partition, 1);
    *apart = plan->partition;
    out.priced = apart;
    *plan = out;
    return true;
}

fsim_plan fsim_plan_launched_by(fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_software software = {p->graph, p->hw, p->regime, maker};
    fsim_plan out = *plan;
    out.kernel = fsim_new(a, fsim_kernel, plan->kernels + 1);
    for (int k = 0; k < plan->kernels; k++) {
        const bool by_hand = maker >= FSIM_BY_VLLM && plan->rule && plan->rule[k]; /* not PyTorch's */
        out.kernel[k] =
            plan->candidate[k]
                ? fsim_kernel_launched_by(p, by_hand ? FSIM_BY_FUSESIM : maker, plan->candidate[k], &plan->l2[k], a)
                : fsim_framework_kernel(&software, plan->kernel[k].group, &plan->l2[k], NULL, a);
        fsim_move_kept(&software, &out.kernel[k], a);
        fsim_add_host_calls(&software, out.kernel[k].group, &out.kernel[k]);
    }
    if (maker != FSIM_BY_FUSESIM)
        fsim_sdpa_join(p, maker, false, &out, a);
    if (maker >= FSIM_BY_VLLM)
        fsim_calls_join(p, maker, &out, a);
    fsim_add_up_plan(p, &out, a);
    return out;
}

bool fsim_plan_calling(fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    const bool joined = fsim_sdpa_join(p, FSIM_BY_FUSESIM, false, plan, a);
    if (joined)
        fsim_add_up_plan(p, plan, a);
    return fsim_calls_join(p, FSIM_BY_FUSESIM, plan, a) || joined;
}

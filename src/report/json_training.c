/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_training.h"

#include "plan/derivation_file.h"
#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/rivals/tape.h"
#include <math.h>

static void put_gradients(fsim_writer *w, cJSON *to, const fsim_graph *g)
{
    cJSON *all = fsim_put_new(w, to, "gradients", cJSON_CreateObject());
    for (int i = 0; i < g->gradients; i++) {
        const fsim_tensor *t = &g->tensor[g->gradient[i].of];
        cJSON *o = fsim_put_new(w, all, t->name, cJSON_CreateObject());
        cJSON *shape = fsim_put_new(w, o, "shape", cJSON_CreateArray());
        for (int d = 0; d < t->shape.rank; d++)
            fsim_put_count(w, shape, NULL, t->shape.dim[d]);
        fsim_put_text(w, o, "dtype", fsim_dtype_names[t->dtype]);
        fsim_put_text(w, o, "tensor", g->tensor[g->gradient[i].tensor].name);
    }
}

/* Inputs and weights without a gradient. */
static void put_others(fsim_writer *w, cJSON *to, const fsim_graph *g)
{
    bool *has = fsim_new(w->a, bool, g->tensors + 1);
    cJSON *list = fsim_put_new(w, to, "no_grad", cJSON_CreateArray());
    for (int i = 0; i < g->gradients; i++)
        has[g->gradient[i].of] = true;
    for (int t = 0; t < g->own_tensors; t++)
        if (g->tensor[t].role != FSIM_MADE && g->tensor[t].storage == t && !has[t])
            fsim_put_text(w, list, NULL, g->tensor[t].name);
}

static void put_exchanges(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_parallel *x)
{
    cJSON *list = fsim_put_new(w, to, "exchanges", cJSON_CreateArray());
    for (int i = 0; i < x->exchanges; i++) {
        const fsim_exchange *e = &x->exchange[i];
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "collective", fsim_collective_names[e->kind]);
        fsim_put_text(w, o, "phase", fsim_phase_names[e->phase]);
        fsim_put_count(w, o, "bytes", e->bytes);
        fsim_put_number(w, o, "ready_s", e->ready_s);
        fsim_put_number(w, o, "start_s", e->start_s);
        fsim_put_number(w, o, "end_s", e->end_s);
        cJSON *names = fsim_put_new(w, o, "tensors", cJSON_CreateArray());
        for (int t = 0; t < e->tensors; t++)
            fsim_put_text(w, names, NULL, g->tensor[e->tensor[t]].name);
    }
}

/* Several GPUs, a batch each. */
static void put_parallel(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_replicas how = p->options.replicas;
    if (how.gpus == 0)
        return;
    const fsim_parallel x = fsim_parallel_of(p->graph, &p->plan[p->chosen], p->hw, how, w->a);
    cJSON *o = fsim_put_new(w, to, "data_parallel", cJSON_CreateObject());
    fsim_put_count(w, o, "gpus", how.gpus);
    fsim_put_count(w, o, "zero", how.zero);
    fsim_put_number(w, o, "step_s", x.step_s);
    fsim_put_number(w, o, "one_gpu_step_s", x.one_step_s);
    fsim_put_number(w, o, "efficiency", x.one_step_s / x.step_s);
    fsim_put_number(w, o, "communication_s", x.communication_s);
    fsim_put_number(w, o, "exposed_s", x.exposed_s);
    fsim_put_count(w, o, "peak_memory_bytes", x.peak_bytes);
    fsim_put_count(w, o, "weight_bytes", x.weight_bytes);
    fsim_put_count(w, o, "gradient_bytes", x.gradient_bytes);
    fsim_put_count(w, o, "state_bytes", x.state_bytes);
    cJSON *sums = fsim_put_new(w, o, "collectives", cJSON_CreateObject());
    for (int i = 0; i < FSIM_COLLECTIVES; i++) {
        cJSON *one = fsim_put_new(w, sums, fsim_collective_names[i], cJSON_CreateObject());
        fsim_put_count(w, one, "calls", x.calls[i]);
        fsim_put_count(w, one, "sent_bytes", x.sent_bytes[i]);
    }
    put_exchanges(w, o, p->graph, &x);
}

void fsim_put_training(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_graph *g = p->graph;
    if (g->derived != FSIM_REVERSE)
        return;
    cJSON *o = fsim_put_new(w, to, "training", cJSON_CreateObject());
    put_gradients(w, o, g);
    put_others(w, o, g);
    if (g->checkpoint)
        fsim_put_bool(w, o, "checkpoint", true);
    if (p->options.budget_cut > 0)
        fsim_put_number(w, o, "activation_memory_budget", rint((1 - p->options.budget_cut) * 1e12) / 1e12);
    if (g->micro_batches > 1)
        fsim_put_count(w, o, "micro_batches", g->micro_batches);
    fsim_put_rounded(w, o, "forward_flops", g->phase_flops[FSIM_FORWARD]);
    fsim_put_rounded(w, o, "backward_flops", g->phase_flops[FSIM_BACKWARD]);
    put_parallel(w, o, p);
}

void fsim_put_phases(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_plan *plan)
{
    if (g->derived != FSIM_REVERSE)
        return;
    for (int i = 0; i < FSIM_PHASES; i++)
        fsim_put_number(w, to, fsim_printf(w->a, "%s_s", fsim_phase_names[i]), plan->phase_s[i]);
    fsim_put_number(w, to, "step_s", fsim_step_seconds(g, plan));
    fsim_put_count(w, to, "saved_bytes", plan->saved_bytes);
    fsim_put_count(w, to, "saved_input_bytes", plan->saved_input_bytes);
}

void fsim_put_autograd_peak(fsim_writer *w, cJSON *to, const fsim_graph *g)
{
    if (g->derived == FSIM_REVERSE && g->operations > 0)
        fsim_put_count(w, to, "autograd_peak_bytes", (fsim_sum)fsim_tape_peak(g, FSIM_TAPE_FULL, false, w->a));
}

void fsim_put_phase(fsim_writer *w, cJSON *to, const fsim_prediction *p, int kernel)
{
    const char *phase = fsim_phase_name_of(p->graph, &p->plan[p->chosen].partition.part[kernel]);
    if (phase)
        fsim_put_text(w, to, "phase", phase);
}

static void put_timeline(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_plan *plan)
{
    const fsim_memory_step *at = fsim_memory_steps(g, plan, w->a);
    cJSON *list = fsim_put_new(w, to, "timeline", cJSON_CreateArray());
    for (int k = 0; k < plan->kernels; k++) {
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_count(w, o, "kernel", k + 1);
        fsim_put_count(w, o, "live_bytes", at[k].live_bytes);
        fsim_put_count(w, o, "workspace_bytes", at[k].workspace_bytes);
    }
}

static void put_other_ways(fsim_writer *w, cJSON *to, const fsim_saved_value *v)
{
    for (int i = 0; i < v->others; i++) {
        cJSON *o = fsim_put_new(w, to, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "way", fsim_way_names[v->other[i].way]);
        fsim_put_count(w, o, "bytes", v->other[i].bytes);
        fsim_put_number(w, o, "time_s", v->other[i].time_s);
        fsim_put_count(w, o, "peak_memory_bytes", v->other[i].peak_memory_bytes);
    }
}

/* Of values that are computed again more than once: which copy something reads. */
static void put_copies(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_derive *how)
{
    cJSON *copies = how && how->reads > 0 ? fsim_put_new(w, to, "copies", cJSON_CreateArray()) : NULL;
    for (int i = 0; copies && i < how->reads; i++) {
        const fsim_copy_read *x = &how->read[i];
        cJSON *o = fsim_put_new(w, copies, NULL, cJSON_CreateObject());
        fsim_put_count(w, o, "event", x->event);
        if (x->event == 0)
            fsim_put_text(w, o, "operator", g->source[x->source].name);
        fsim_put_text(w, o, "tensor", g->tensor[x->tensor].name);
        fsim_put_count(w, o, "from", x->from);
    }
}

/* What --plan needs beside the kernels: forms of derivatives, what is computed again, kernels before they became
 * library calls. */
static void put_derivation(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_plan *plan)
{
    const fsim_derive *how = fsim_derivation_of(g);
    const bool derived = g->derived == FSIM_REVERSE && how && (how->forms > 0 || how->fates > 0);
    if (!derived && !plan->priced)
        return;
    cJSON *o = fsim_put_new(w, to, "derivation", cJSON_CreateObject());
    cJSON *forms = derived ? fsim_put_new(w, o, "forms", cJSON_CreateArray()) : NULL;
    for (int i = 0; i < g->choices && derived; i++)
        fsim_put_count(w, forms, NULL, g->choice[i].form);
    cJSON *again = derived && how->fates > 0 ? fsim_put_new(w, o, "again", cJSON_CreateObject()) : NULL;
    for (int t = 0; again && t < how->fates && t < g->own_tensors; t++)
        if (how->fate[t] != FSIM_HELD)
            fsim_put_text(w, again, g->tensor[t].name, fsim_fate_words[how->fate[t]]);
    put_copies(w, o, g, derived ? how : NULL);
    if (derived ? g->calls : plan->priced != NULL)
        fsim_put_bool(w, o, "calls", true);
    cJSON *groups = plan->priced ? fsim_put_new(w, to, "groups", cJSON_CreateArray()) : NULL;
    for (int k = 0; plan->priced && k < plan->priced->parts; k++) {
        cJSON *names = fsim_put_new(w, groups, NULL, cJSON_CreateArray());
        for (int i = 0; i < plan->priced->part[k].count; i++)
            fsim_put_text(w, names, NULL, g->node[plan->priced->part[k].node[i]].name);
    }
}

void fsim_put_saved(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_graph *g = p->graph;
    const fsim_plan *plan = &p->plan[p->chosen];
    put_derivation(w, to, g, plan);
    if (g->derived != FSIM_REVERSE)
        return;
    fsim_saved_value *value;
    const int count = fsim_saved_with_ways(p, w->a, &value);
    cJSON *list = fsim_put_new(w, to, "saved", cJSON_CreateArray());
    for (int i = 0; i < count; i++) {
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "tensor", g->tensor[value[i].now.tensor].name);
        fsim_put_text(w, o, "way", fsim_way_names[value[i].now.way]);
        fsim_put_count(w, o, "bytes", value[i].now.bytes);
        fsim_put_count(w, o, "kernel", value[i].now.kernel + 1);
        const char *why = fsim_why_not_reduced(g, &value[i].now);
        if (why)
            fsim_put_text(w, o, "not_reduced", why);
        put_other_ways(w, fsim_put_new(w, o, "alternatives", cJSON_CreateArray()), &value[i]);
    }
    put_timeline(w, to, g, plan);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/phases.h"

#include <stdlib.h>

const char *const fsim_way_names[FSIM_WAYS] = {"keep", "reduced", "recompute", "derive", "bits"};

fsim_phase fsim_phase_of(const fsim_graph *g, const fsim_part *part)
{
    fsim_phase first = FSIM_OPTIMIZER;
    bool waits = false;
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &g->node[part->node[i]];
        if (part->clone[i])
            continue;
        first = n->phase < first ? n->phase : first;
        waits = waits || n->side == FSIM_AFTER_BARRIER;
    }
    return waits && first == FSIM_FORWARD ? FSIM_BACKWARD : first;
}

const char *fsim_phase_name_of(const fsim_graph *g, const fsim_part *part)
{
    return g->derived == FSIM_REVERSE ? fsim_phase_names[fsim_phase_of(g, part)] : NULL;
}

/* The phases of a plan's kernels, and of the kernel that each primitive is at home in. */
typedef struct {
    const fsim_graph *g;
    const fsim_plan *plan;
    fsim_phase *kernel, *home;
} phases;

static phases phases_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    phases w = {g, plan, fsim_new(a, fsim_phase, plan->kernels + 1), fsim_new(a, fsim_phase, g->nodes + 1)};
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        w.kernel[k] = fsim_phase_of(g, part);
        for (int i = 0; i < part->count; i++)
            if (!part->clone[i])
                w.home[part->node[i]] = w.kernel[k];
    }
    return w;
}

/* Is the tensor an input or a weight of the workload, which is there without the forward pass? */
static bool is_given(const fsim_graph *g, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    return t->producer < 0 && !t->after_outputs && tensor < g->own_tensors;
}

/* Does kernel k of the backward pass read a tensor that the forward pass has stored? */
static bool is_kept(const phases *w, int tensor)
{
    const int from = w->g->tensor[tensor].producer;
    return from >= 0 && w->home[from] == FSIM_FORWARD;
}

void fsim_sum_phases(const fsim_graph *g, fsim_plan *plan, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const phases w = phases_of(g, plan, a);
    bool *seen = fsim_new(a, bool, g->tensors + 1);
    fsim_sum ticks[FSIM_PHASES] = {0};
    plan->saved_bytes = plan->saved_input_bytes = 0;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        ticks[w.kernel[k]] += fsim_ticks(x->time_s);
        for (int i = 0; i < x->inputs && w.kernel[k] == FSIM_BACKWARD; i++) {
            const int t = x->input[i].tensor;
            if (seen[t])
                continue;
            seen[t] = true;
            plan->saved_bytes += is_kept(&w, t) ? fsim_held_bytes(&g->tensor[t]) : 0;
            plan->saved_input_bytes += is_given(g, t) ? g->tensor[t].bytes : 0;
        }
    }
    for (int i = 0; i < FSIM_PHASES; i++)
        plan->phase_s[i] = (double)ticks[i] * FSIM_TICK_S;
    fsim_rewind(a, mark);
}

fsim_phase_use fsim_phase_use_of(const fsim_graph *g, const fsim_plan *plan, fsim_phase phase)
{
    fsim_phase_use use = {.time_s = plan->phase_s[phase]};
    for (int k = 0; k < plan->kernels; k++)
        if (fsim_phase_of(g, &plan->partition.part[k]) == phase) {
            use.kernels++;
            use.read_bytes += plan->kernel[k].dram_read_bytes;
            use.write_bytes += plan->kernel[k].dram_write_bytes;
        }
    return use;
}

static int by_way_and_size(const void *x, const void *y)
{
    const fsim_saved *a = x, *b = y;
    if (a->way != b->way)
        return a->way < b->way ? -1 : 1;
    return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : a->tensor - b->tensor;
}

/* Is the copy of primitive i of the part read there by what is no copy of the forward pass? */
static bool is_wanted(const fsim_graph *g, const fsim_part *part, int i)
{
    for (int k = i + 1; k < part->count; k++) {
        const fsim_node *n = &g->node[part->node[k]];
        if (part->clone[k] && n->phase == FSIM_FORWARD)
            continue;
        for (int q = 0; q < n->args; q++)
            if (g->tensor[n->arg[q].tensor].producer == part->node[i])
                return true;
    }
    return false;
}

typedef struct {
    fsim_arena *a;
    fsim_saved *at;
    int count, room;
    bool *seen; /* per way and tensor */
} saved_list;

static void add(saved_list *l, int tensors, fsim_saved one)
{
    bool *seen = &l->seen[(size_t)one.way * (size_t)tensors + (size_t)one.tensor];
    if (!*seen)
        *FSIM_PUSH(l->a, l->at, l->count, l->room) = one;
    *seen = true;
}

/* The first kernel of the backward pass that reads a tensor, or else the first of them. */
static int reader_of(const phases *w, const fsim_plan *plan, int tensor)
{
    int first = -1;
    for (int k = 0; k < plan->kernels; k++) {
        if (w->kernel[k] != FSIM_BACKWARD)
            continue;
        first = first < 0 ? k : first;
        for (int i = 0; i < plan->kernel[k].inputs; i++)
            if (plan->kernel[k].input[i].tensor == tensor)
                return k;
    }
    return first;
}

/* What PyTorch keeps of what forward made, outputs as well. */
static void add_kept(const phases *w, const fsim_graph *g, const fsim_plan *plan, saved_list *l)
{
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        const int reader = plan->kept[t] ? reader_of(w, plan, t) : -1;
        if (reader >= 0 && g->tensor[x->storage].producer >= 0)
            add(l, g->tensors, (fsim_saved){t, FSIM_KEEP, x->elems * fsim_dtype_bytes(x->dtype), reader});
    }
}

int fsim_reducer_of(const fsim_graph *g, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    for (int k = 0; k < t->readers; k++)
        if (g->tensor[g->node[t->reader[k]].result[0]].reduces == tensor)
            return t->reader[k];
    return -1;
}

const char *fsim_why_not_reduced(const fsim_graph *g, const fsim_saved *value)
{
    const int t = value->tensor;
    if (!g->unreduced || value->way == FSIM_REDUCED || fsim_reducer_of(g, t) >= 0)
        return NULL;
    return fsim_unreduced_texts[t < g->own_tensors                        ? g->unreduced[t]
                                : fsim_dtype_floating(g->tensor[t].dtype) ? FSIM_OF_BACKWARD
                                                                          : FSIM_NO_FLOAT];
}

int fsim_saved_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a, fsim_saved **out)
{
    const phases w = phases_of(g, plan, a);
    saved_list l = {.a = a, .seen = fsim_new(a, bool, FSIM_WAYS *(size_t)g->tensors + 1)};
    if (plan->kept)
        add_kept(&w, g, plan, &l);
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        for (int i = 0; i < plan->kernel[k].inputs && w.kernel[k] == FSIM_BACKWARD; i++) {
            const int t = plan->kernel[k].input[i].tensor;
            const int of = g->tensor[t].reduces;
            if (is_kept(&w, t) && !plan->kept)
                add(&l, g->tensors,
                    of < 0 ? (fsim_saved){t, FSIM_KEEP, fsim_held_bytes(&g->tensor[t]), k}
                           : (fsim_saved){of, FSIM_REDUCED, g->tensor[t].bytes, k});
        }
        for (int i = 0; i < part->count && w.kernel[k] == FSIM_BACKWARD; i++)
            if (part->clone[i] && w.home[part->node[i]] == FSIM_FORWARD && !fsim_is_reducer(g, part->node[i]) &&
                is_wanted(g, part, i))
                add(&l, g->tensors, (fsim_saved){g->node[part->node[i]].result[0], FSIM_RECOMPUTE, 0, k});
    }
    if (l.count > 1)
        qsort(l.at, (size_t)l.count, sizeof *l.at, by_way_and_size);
    *out = l.at;
    return l.count;
}

double fsim_step_seconds(const fsim_graph *g, const fsim_plan *plan)
{
    const double passes = g->micro_batches > 1 ? (double)g->micro_batches : 1;
    return passes * (plan->phase_s[FSIM_FORWARD] + plan->phase_s[FSIM_BACKWARD]) + plan->phase_s[FSIM_OPTIMIZER];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* again.c: values of the forward pass that are not kept: the backward pass computes them again, from what is kept, by
 * primitives of its own right before the first gradient that reads them. */
#include "base/names.h"
#include "graph/gradient.h"

#include <ctype.h>
#include <string.h>

/* NOT_YET: it is not known whether a tensor is there; GONE: it is not, and nothing has computed it again so far. */
enum { MOST_ARGS = 3, NOT_YET = -1, THERE = -2, GONE = -3 };

static fsim_tensor *tensor_of(const fsim_derivation *d, int t) { return &d->build->graph->tensor[t]; }

static fsim_fate fate_of(const fsim_derivation *d, int t)
{
    if (d->dropped && d->dropped[t])
        return FSIM_DROPPED;
    return t < d->how->fates ? (fsim_fate)d->how->fate[t] : FSIM_HELD;
}

/* Random numbers would be others, and what was written over is gone. */
static bool may_repeat(const fsim_derivation *d, int t)
{
    const fsim_tensor *x = tensor_of(d, t);
    if (x->producer < 0 || x->over >= 0 || x->overwritten || t >= d->tensors)
        return false;
    const fsim_node *n = &d->build->graph->node[x->producer];
    const fsim_class class = fsim_ops[n->op].class;
    return n->results == 1 && !n->effect && n->args <= MOST_ARGS &&
           (class == FSIM_ELEMENTWISE || class == FSIM_CONTRACTION || class == FSIM_REDUCE || class == FSIM_PERMUTE ||
            class == FSIM_ASSEMBLE || class == FSIM_GATHER);
}

static bool find_out(fsim_derivation *d, int s);

/* Does it, or what it is computed from without being kept, have to be computed again? */
static bool is_gone(fsim_derivation *d, int t)
{
    const int s = tensor_of(d, t)->storage;
    if (s >= d->tensors)
        return false;
    if (d->again[s] == NOT_YET)
        d->again[s] = find_out(d, s) ? GONE : THERE;
    return d->again[s] != THERE;
}

static bool find_out(fsim_derivation *d, int s)
{
    const fsim_fate fate = fate_of(d, s);
    if (!may_repeat(d, s) || fate != FSIM_PASSED)
        return may_repeat(d, s) && (fate == FSIM_DROPPED || fate == FSIM_DROPPED_AFTER);
    const fsim_record *r = &d->build->record[tensor_of(d, s)->producer];
    for (int i = 0; i < r->args; i++)
        if (is_gone(d, r->arg[i]))
            return true;
    return false;
}

/* Is it kept nowhere, so that what is computed again from it has to compute it, too? */
static bool is_absent(fsim_derivation *d, int t)
{
    const int s = tensor_of(d, t)->storage;
    return s < d->tensors && (is_gone(d, s) || (may_repeat(d, s) && fate_of(d, s) != FSIM_HELD));
}

/* The event whose copy of the tensor is read by that event, or by the derivative of the operator; -1: it is not said.
 */
static int read_from(const fsim_derivation *d, int event, int source, int t)
{
    for (int i = 0; i < d->how->reads; i++) {
        const fsim_copy_read *x = &d->how->read[i];
        if (x->tensor == t && x->event == event && (event > 0 || x->source == source))
            return x->from;
    }
    return -1;
}

static int made_again(fsim_derivation *d, int t, int event);

/* What an event reads where the forward pass reads tensor t. */
static int argument_again(fsim_derivation *d, int t, int event)
{
    const int s = tensor_of(d, t)->storage;
    if (event == 0)
        return is_absent(d, t) ? made_again(d, t, 0) : t;
    const int from = read_from(d, event, -1, s);
    if (from >= 0)
        return from > 0 ? made_again(d, t, from) : t;
    return s < d->tensors && may_repeat(d, s) && fate_of(d, s) != FSIM_HELD ? made_again(d, t, event) : t;
}

static const char *name_again(fsim_derivation *d, int t)
{
    const int count = ++d->copies[t];
    return count > 1 ? fsim_printf(d->build->arena, "again.%d/%s", count, tensor_of(d, t)->name)
                     : fsim_printf(d->build->arena, "again/%s", tensor_of(d, t)->name);
}

int fsim_repeat(fsim_derivation *d, const fsim_record *r, int t, const int *arg, const char *name)
{
    const fsim_tensor x = *tensor_of(d, t);
    const int towards = d->towards, steps = d->steps[towards];
    fsim_step step;
    fsim_derive_start(d, &step, r->op);
    d->steps[towards] = steps;
    step.name = name;
    step.call.attrs = r->attrs;
    step.call.equation = r->equation;
    step.call.typed = true;
    step.call.type = x.dtype;
    for (int i = 0; i < r->lists; i++)
        step.call.list[r->list[i].attr] = r->list[i].list;
    const fsim_value v = fsim_derive_view(d, fsim_derive_end(d, &step, r->args, arg), &x.shape);
    d->steps[towards] = steps;
    return v.is == FSIM_TENSOR ? v.tensor : -1;
}

static int run_again(fsim_derivation *d, int t, int event)
{
    const fsim_tensor x = *tensor_of(d, t);
    const fsim_record r = d->build->record[x.producer];
    int arg[MOST_ARGS];
    if (!may_repeat(d, t)) {
        fsim_error(d->build->diag, x.at, "'%s' can't be computed again", x.name);
        return -1;
    }
    for (int i = 0; i < r.args; i++)
        if ((arg[i] = argument_again(d, r.arg[i], event)) < 0)
            return -1;
    const int source = d->source, first = d->build->graph->nodes;
    d->source = r.source;
    const int made = fsim_repeat(d, &r, t, arg, name_again(d, t));
    for (int n = first; n < d->build->graph->nodes; n++)
        d->build->graph->node[n].again = event > 0 ? event : 1;
    d->source = source;
    return made;
}

/* The tensor, computed again. */
static int made_again(fsim_derivation *d, int t, int event)
{
    const fsim_tensor x = *tensor_of(d, t);
    const int at = event * (d->tensors + 1) + t;
    if (d->again[at] >= 0)
        return d->again[at];
    int made;
    if (x.storage == t) {
        made = run_again(d, t, event);
    } else {
        const int whole = made_again(d, x.storage, event);
        made = whole < 0 ? -1 : fsim_add_view(d->build, x.at, name_again(d, t), &x.shape, whole, x.offset);
    }
    d->again[at] = made;
    return made;
}

/* The tensor with the same values that is there in the backward pass; -1 after an error. */
static int repeated(fsim_derivation *d, int t) { return t < d->tensors && is_gone(d, t) ? made_again(d, t, 0) : t; }

/* The path of modules up to its first number, "model.layers.0"; NULL: it has none. */
static const char *numbered(fsim_arena *a, const char *path)
{
    for (const char *at = path; at && *at;) {
        const size_t length = strcspn(at, ".");
        if (strspn(at, "0123456789") == length && length > 0)
            return fsim_strndup(a, path, (size_t)(at - path) + length);
        at += length + (at[length] == '.');
    }
    return NULL;
}

/* The layer of each source, from 1; 0: none. */
static int *layers_of(const fsim_derivation *d)
{
    const fsim_graph *g = d->build->graph;
    fsim_arena *a = d->build->arena;
    fsim_names names = {0};
    int *layer = fsim_new(a, int, d->sources + 1), last = 0;
    for (int s = 0; s < d->sources; s++) {
        layer[s] = g->source[s].layer_number;
        last = layer[s] > last ? layer[s] : last;
    }
    for (int s = 0; s < d->sources; s++) {
        const char *path = layer[s] == 0 ? numbered(a, g->source[s].layer) : NULL;
        if (!path)
            continue;
        const int known = fsim_names_get(&names, path);
        layer[s] = known < 0 ? last + names.count + 1 : known;
        if (known < 0)
            fsim_names_set(a, &names, path, layer[s]);
    }
    return layer;
}

/* Of each layer everything goes that no other reads and that is no output. */
static void drop_layers(fsim_derivation *d)
{
    fsim_graph *g = d->build->graph;
    const int *layer = layers_of(d);
    bool any = false;
    for (int s = 0; s < d->sources; s++) {
        g->source[s].layer_number = layer[s];
        any = any || layer[s] > 0;
    }
    if (!any && d->sources > 0)
        fsim_error(d->build->diag, g->source[0].at,
                   "--checkpoint: no operator belongs to a layer, which is a repeat block or a numbered module");
    g->checkpoint = true;
    g->dropped = d->dropped = fsim_new(d->build->arena, bool, d->tensors + 1);
    for (int t = 0; t < d->tensors; t++)
        d->dropped[t] = g->tensor[t].producer >= 0 && g->tensor[t].storage == t && !g->tensor[t].output &&
                        layer[g->node[g->tensor[t].producer].source] > 0;
    for (int i = 0; i < d->build->records; i++) {
        const fsim_record *r = &d->build->record[i];
        for (int k = 0; k < r->args; k++) {
            const int s = g->tensor[r->arg[k]].storage, from = g->tensor[s].producer;
            if (from >= 0 && layer[g->node[from].source] != layer[r->source])
                d->dropped[s] = false;
        }
    }
}

void fsim_start_again(fsim_derivation *d)
{
    if (d->how->checkpoint)
        drop_layers(d);
    int events = 0;
    for (int i = 0; i < d->how->reads; i++)
        events = d->how->read[i].from > events ? d->how->read[i].from : events;
    d->again = fsim_new(d->build->arena, int, (events + 1) * (d->tensors + 1));
    d->copies = fsim_new(d->build->arena, int, d->tensors + 1);
    for (int i = 0; i < (events + 1) * (d->tensors + 1); i++)
        d->again[i] = NOT_YET;
}

/* The copy that the derivative of the operator reads of the tensor; -1 after an error. */
static int read_again(fsim_derivation *d, int source, int t)
{
    const int from = t < d->tensors ? read_from(d, 0, source, tensor_of(d, t)->storage) : 0;
    return from > 0 ? made_again(d, t, from) : t;
}

int fsim_read_again(fsim_derivation *d, int t)
{
    return d->how->reads > 0 ? read_again(d, d->source, t) : d->how->fates > 0 || d->dropped ? repeated(d, t) : t;
}

bool fsim_record_again(fsim_derivation *d, const fsim_record *r, fsim_record *out)
{
    *out = *r;
    if (d->how->fates == 0 && !d->dropped)
        return true;
    out->arg = fsim_new(d->build->arena, int, r->args + 1);
    for (int i = 0; i < r->args; i++)
        if ((out->arg[i] = fsim_read_again(d, r->arg[i])) < 0)
            return false;
    const int made = tensor_of(d, r->result)->storage;
    const bool before = d->how->reads == 0 && made < d->tensors && fate_of(d, made) == FSIM_DROPPED_AFTER;
    out->result = before ? r->result : fsim_read_again(d, r->result);
    return out->result >= 0;
}

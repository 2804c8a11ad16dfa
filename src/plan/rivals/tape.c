/* SPDX-License-Identifier: Apache-2.0 */
/* tape.c: operators run one after the other, and their gradients in reverse. In memory are
 *   - inputs, weights and outputs of the workload, the gradient that is given for an output, and, in a run that is not
 *     the first, the gradients of the run before;
 *   - in the forward pass each result until its last reader has run, or, where autograd keeps it, until the backward
 *     pass of the first operator that does (saved.h); benchmarks that run again keep the graph (retain_graph), so that
 *     nothing is let go of;
 *   - in the backward pass of an operator the gradient of its result and those of its arguments, at once. A sum, a view
 *     and a concat hand their gradient on as it is, a sum over all as an expanded number. A second gradient of a tensor
 *     is added to the first in place, unless others hold that, too.
 * Sources: derivatives.yaml, FunctionsManual.cpp, input_buffer.cpp of PyTorch 2.15. */
#include "plan/rivals/tape.h"

#include "plan/rivals/saved.h"

#include <math.h>

/* A gradient in memory, and how many hold it. */
typedef struct {
    double bytes;
    int holders;
} buffer;

typedef struct {
    const fsim_graph *g;
    fsim_autograd_saved kept;
    fsim_tape_part part;
    bool again;
    int *reader;    /* by storage: the last operator of the forward pass that reads it; -1 */
    int *gradient;  /* by storage: its gradient's buffer, from 1; 0: none */
    buffer *buffer; /* from 1 */
    int buffers, room;
    double live, peak;
    fsim_arena *a;
} tape;

static double bytes_of(const tape *t, int tensor)
{
    const fsim_tensor *x = &t->g->tensor[tensor];
    return (double)x->elems * fsim_dtype_bytes(x->dtype);
}

static void note(tape *t, double more, fsim_tape_part part)
{
    if (t->part == FSIM_TAPE_FULL || t->part == part)
        t->peak = fmax(t->peak, t->live + more);
}

/* Is it there from the begin to the end? */
static bool is_given(const tape *t, int s) { return t->g->tensor[s].producer < 0 || t->g->tensor[s].output; }

/* Does the result show memory that is there already? */
static bool shows(const tape *t, int result) { return fsim_pytorch_storage(t->g, result) != result; }

static void begin(tape *t)
{
    const fsim_graph *g = t->g;
    for (int i = 0; i < g->own_tensors; i++) {
        const fsim_tensor *x = &g->tensor[i];
        t->reader[i] = -1;
        if (x->storage == i && x->producer < 0 && (x->readers > 0 || x->output))
            t->live += bytes_of(t, i);
    }
    for (int i = 0; i < g->gradients && t->again; i++)
        t->live += bytes_of(t, g->gradient[i].of);
    for (int i = 0; i < g->operations; i++)
        for (int k = 0; k < g->operation[i].args; k++)
            t->reader[fsim_pytorch_storage(g, g->operation[i].arg[k])] = i;
}

static void let_go(tape *t, int s, int i)
{
    if (!is_given(t, s) && !t->kept.kept[s] && t->reader[s] <= i)
        t->live -= bytes_of(t, s);
}

/* Bytes of what PyTorch makes for an operator's result besides that. */
static double on_the_way(const tape *t, const fsim_operation *o)
{
    const bool keeps = o->op == FSIM_OP_KL_DIV; /* t log t, t times x, their difference */
    return keeps ? 3 * bytes_of(t, o->arg[0]) : 0;
}

static void run_forward(tape *t)
{
    const fsim_graph *g = t->g;
    for (int i = 0; i < g->operations; i++) {
        const fsim_operation *o = &g->operation[i];
        for (int k = 0; k < o->results; k++)
            t->live += shows(t, o->result[k]) ? 0 : bytes_of(t, o->result[k]);
        t->live += t->kept.extra[i];
        note(t, on_the_way(t, o), FSIM_TAPE_FORWARD);
        for (int k = 0; k < o->args; k++) {
            const int s = fsim_pytorch_storage(g, o->arg[k]);
            bool before = false;
            for (int m = 0; m < k; m++)
                before = before || fsim_pytorch_storage(g, o->arg[m]) == s;
            if (!before && t->reader[s] == i)
                let_go(t, s, i);
        }
        for (int k = 0; k < o->results; k++)
            if (!shows(t, o->result[k]) && t->reader[o->result[k]] < 0)
                let_go(t, o->result[k], i);
    }
}

/* Bytes of what PyTorch makes for an operator's gradient besides the gradients of its arguments. */
static double between(const tape *t, const fsim_operation *o)
{
    const double bytes = bytes_of(t, o->arg[0]);
    switch (o->op) {
    case FSIM_OP_CROSS_ENTROPY: /* the gradient of the log-probabilities */
    case FSIM_OP_KL_DIV:        /* of the product with the target */
    case FSIM_OP_SOFTMAX:       /* the gradient times the result */
    case FSIM_OP_ABS:           /* the sign */
        return bytes;
    case FSIM_OP_POW: /* a power less by one, and its multiple */
        return 2 * bytes;
    default:
        return 0;
    }
}

/* Is the gradient of argument k the result's own, or a part or view of it? */
static bool hands_on(const tape *t, const fsim_operation *o, int k)
{
    const fsim_tensor *x = &t->g->tensor[o->arg[k]], *y = &t->g->tensor[o->result[0]];
    switch (o->op) {
    case FSIM_OP_ADD:
        return x->elems == y->elems && x->dtype == y->dtype;
    case FSIM_OP_SUB:
        return k == 0 && x->elems == y->elems && x->dtype == y->dtype;
    case FSIM_OP_TRANSPOSE:
    case FSIM_OP_PERMUTE:
    case FSIM_OP_CONCAT:
    case FSIM_OP_SUM:
        return true;
    default:
        return false;
    }
}

static void drop(tape *t, int id)
{
    if (id > 0 && --t->buffer[id].holders == 0)
        t->live -= t->buffer[id].bytes;
}

static int new_buffer(tape *t, double bytes)
{
    if (t->buffers == 0)
        *FSIM_PUSH(t->a, t->buffer, t->buffers, t->room) = (buffer){0, 1};
    *FSIM_PUSH(t->a, t->buffer, t->buffers, t->room) = (buffer){bytes, 1};
    t->live += bytes;
    return t->buffers - 1;
}

/* The gradient, `id`, of an argument is there. */
static void deliver(tape *t, int s, int id)
{
    const bool leaf = t->g->tensor[s].producer < 0;
    const int first = t->gradient[s];
    if (leaf && t->again) { /* added to `.grad` */
        drop(t, id);
    } else if (first == 0) {
        t->gradient[s] = id;
    } else if (t->buffer[first].holders == 1) {
        drop(t, id);
    } else {
        t->gradient[s] = new_buffer(t, bytes_of(t, s));
        drop(t, first);
        drop(t, id);
    }
}

static void run_back(tape *t, int i)
{
    const fsim_graph *g = t->g;
    const fsim_operation *o = &g->operation[i];
    const int own = g->tensor[o->result[0]].storage, from = t->gradient[own];
    int *id = fsim_new(t->a, int, o->args + 1);
    for (int k = 0; k < o->args; k++) {
        const int s = g->tensor[o->arg[k]].storage;
        if (!g->tensor[s].traced || s == own)
            continue;
        if (hands_on(t, o, k) && from > 0) {
            id[k] = from;
            t->buffer[from].holders++;
        } else {
            id[k] = new_buffer(t, bytes_of(t, s));
        }
    }
    note(t, between(t, o), FSIM_TAPE_BACKWARD);
    for (int k = 0; k < o->args; k++)
        if (id[k] > 0)
            deliver(t, g->tensor[o->arg[k]].storage, id[k]);
    bool shown = true; /* every argument's storage is the result's: a view */
    for (int k = 0; k < o->args; k++)
        shown = shown && g->tensor[o->arg[k]].storage == own;
    if (!shown)
        drop(t, from);
    for (int s = 0; s < g->own_tensors && !t->again; s++)
        if (t->kept.kept[s] && t->kept.until[s] == i && !is_given(t, s))
            t->live -= bytes_of(t, s);
    t->live -= t->again ? 0 : t->kept.extra[i];
}

static void run_backward(tape *t)
{
    const fsim_graph *g = t->g;
    for (int i = 0; i < g->own_tensors; i++)
        if (g->tensor[i].output && g->tensor[i].storage == i && g->tensor[i].traced) {
            t->gradient[i] = new_buffer(t, bytes_of(t, i));
            t->buffer[t->gradient[i]].holders++; /* who gave it */
        }
    for (int i = g->operations; i-- > 0;)
        if (g->tensor[g->operation[i].result[0]].traced)
            run_back(t, i);
}

double fsim_tape_peak(const fsim_graph *g, fsim_tape_part part, bool again, fsim_arena *a)
{
    fsim_arena *scratch = fsim_arena_child(a);
    tape t = {.g = g,
              .kept = fsim_saved_by_eager(g, scratch),
              .part = part,
              .again = again,
              .reader = fsim_new(scratch, int, g->tensors + 1),
              .gradient = fsim_new(scratch, int, g->tensors + 1),
              .a = scratch};
    begin(&t);
    run_forward(&t);
    if (part != FSIM_TAPE_FORWARD)
        run_backward(&t);
    fsim_arena_free(scratch);
    return t.peak;
}

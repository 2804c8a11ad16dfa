/* SPDX-License-Identifier: Apache-2.0 */
/* gradient.c: from the outputs of a graph back to what is wanted: one adjoint a tensor, added where a tensor has
 * several readers. Tensors are numbered in the order in which they are made, so that all readers of a tensor are done
 * before it is. */
#include "graph/gradient.h"

#include <stdlib.h>
#include <string.h>

fsim_gradient_rule *const fsim_gradient_rules[FSIM_OP_COUNT] = {
#define FSIM_GRADIENT(id, rule, tangent) [FSIM_OP_##id] = fsim_gradient_##rule,
#include "graph/gradient.def"
#undef FSIM_GRADIENT
};

static fsim_tensor *tensor_of(const fsim_derivation *d, int t) { return &d->build->graph->tensor[t]; }

static void mark_useful(fsim_derivation *d)
{
    const fsim_graph *g = d->build->graph;
    for (int t = 0; t < d->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        d->useful[t] = d->wanted[t] || (x->storage != t && d->useful[x->storage]);
        if (x->producer < 0 || !fsim_may_want(x) || x->storage != t ||
            fsim_gradient_rules[g->node[x->producer].op] == fsim_gradient_none)
            continue;
        const fsim_record *r = &d->build->record[x->producer];
        for (int i = 0; i < r->args; i++)
            d->useful[t] = d->useful[t] || d->useful[r->arg[i]];
    }
    for (int t = 0; t < d->tensors; t++)
        tensor_of(d, t)->traced = d->useful[t];
}

/* Does no other device hold a part of what is differentiated, which would want the gradient of what is received here,
 * or has that of what is sent? */
static bool is_alone(fsim_derivation *d)
{
    const fsim_build *b = d->build;
    for (int n = 0; n < b->records; n++) {
        const fsim_record *r = &b->record[n];
        const bool received = r->op == FSIM_OP_RECV && fsim_may_want(tensor_of(d, r->result)),
                   sent = r->op == FSIM_OP_SEND && d->useful[r->arg[0]];
        if (received || sent) {
            fsim_error(b->diag, r->at, "%s '%s': stages of a pipeline are not differentiated", fsim_ops[r->op].name,
                       tensor_of(d, r->result)->name);
            return false;
        }
    }
    return true;
}

/* Contributions. */

static fsim_value add(fsim_derivation *d, fsim_value x, fsim_value y)
{
    d->adding = true;
    const fsim_value v = fsim_derive_binary(d, FSIM_OP_ADD, x, y);
    d->adding = false;
    return v;
}

/* What the rule has made for the gradient at hand, not what it found: y of x * y, where the gradient is 1. */
static void mark_adjoint(fsim_derivation *d, fsim_value v)
{
    if (v.is != FSIM_TENSOR)
        return;
    fsim_tensor *t = tensor_of(d, tensor_of(d, v.tensor)->storage);
    t->adjoint = t->producer >= 0 && d->build->graph->node[t->producer].phase == FSIM_BACKWARD;
}

static void contribute(fsim_derivation *d, int t, fsim_value v, int reader)
{
    fsim_value *have = &d->adjoint[t];
    if (v.is == FSIM_NOTHING)
        return;
    mark_adjoint(d, v);
    if (d->reader[t] < 0)
        d->reader[t] = reader;
    if (have->is == FSIM_TENSOR && v.is == FSIM_TENSOR)
        v = fsim_derive_cast(d, v, tensor_of(d, have->tensor)->dtype);
    *have = have->is == FSIM_NOTHING ? v : add(d, *have, v);
}

/* Is t seen as it is, and by so many primitives, none of which is beyond the workload? */
static bool is_inner(const fsim_derivation *d, int t, int readers)
{
    const fsim_tensor *x = &d->build->graph->tensor[t];
    return x->storage == t && x->producer >= 0 && x->readers == readers && !x->output && !d->wanted[t] && !d->viewed[t];
}

/* A softmax is e / s of e = exp(z) and s, the sum of e, which nobody else reads. Returns z, and the sum's dimensions in
 * *dims; -1: r is none. */
static int softmax_of(const fsim_derivation *d, const fsim_record *r, fsim_list *dims)
{
    const fsim_build *b = d->build;
    if (r->op != FSIM_OP_DIV || r->args != 2 || !is_inner(d, r->arg[0], 2) || !is_inner(d, r->arg[1], 1))
        return -1;
    const fsim_record *e = &b->record[b->graph->tensor[r->arg[0]].producer],
                      *s = &b->record[b->graph->tensor[r->arg[1]].producer];
    *dims = fsim_record_list(s, FSIM_ATTR_DIMS);
    return e->op == FSIM_OP_EXP && s->op == FSIM_OP_SUM && s->arg[0] == r->arg[0] && s->attrs.keepdim &&
                   dims->present && d->useful[e->arg[0]]
               ? e->arg[0]
               : -1;
}

/* y (g - sum(g y)): of what forward made it reads y alone, where the rules of its steps would read e and s as well. */
static fsim_value through_softmax(fsim_derivation *d, fsim_value y, fsim_value g, const fsim_list *dims)
{
    const fsim_value sum = fsim_derive_sum(d, fsim_derive_binary(d, FSIM_OP_MUL, g, y), dims);
    return fsim_derive_binary(d, FSIM_OP_MUL, fsim_derive_binary(d, FSIM_OP_SUB, g, sum), y);
}

/* From the result of a primitive to its arguments. False after an error. */
static bool go_through(fsim_derivation *d, int t)
{
    const int node = tensor_of(d, t)->producer;
    const fsim_record own = d->build->record[node];
    fsim_record seen;
    fsim_value g = d->adjoint[t];
    d->memos = 0;
    d->source = own.source;
    d->towards = t;
    d->own = &own;
    if (!fsim_record_again(d, &own, &seen))
        return false;
    d->build->record[node] = seen; /* rules find the primitive by the place of its record */
    const fsim_record *r = &d->build->record[node];
    if (memcmp(&r->shape, &tensor_of(d, t)->shape, sizeof r->shape) != 0 && g.is == FSIM_TENSOR) {
        const fsim_shape shape = tensor_of(d, t)->shape;
        g = fsim_derive_view(d, fsim_derive_whole(d, g, &shape, tensor_of(d, t)->dtype), &r->shape);
    }
    fsim_list dims;
    const int whole = softmax_of(d, &own, &dims); /* its argument; of others -1 */
    if (whole >= 0) {
        d->towards = whole;
        const fsim_value v = through_softmax(d, fsim_as_saved(d, r, -1), g, &dims);
        g = v.is == FSIM_REFUSED ? v : g;
        contribute(d, whole, fsim_derive_cast(d, v, tensor_of(d, whole)->dtype), node);
    }
    for (int i = 0; i < r->args && whole < 0 && g.is != FSIM_REFUSED; i++) {
        const int x = own.arg[i];
        if (!d->useful[x])
            continue;
        d->towards = x;
        const fsim_dtype dtype = tensor_of(d, x)->dtype;
        fsim_value v = fsim_gradient_rules[r->op](d, r, i, g);
        if (!fsim_is_float8(dtype)) /* a gradient has more bits than that */
            v = fsim_derive_cast(d, v, dtype);
        if (v.is == FSIM_REFUSED)
            g = FSIM_REFUSAL;
        else
            contribute(d, x, v, node);
    }
    d->build->record[node] = own;
    d->own = NULL;
    return g.is != FSIM_REFUSED;
}

/* From a view to the tensor whose elements it shows: zeros where it shows none. */
static bool go_to_storage(fsim_derivation *d, int t)
{
    const fsim_tensor x = *tensor_of(d, t), base = *tensor_of(d, x.storage);
    const fsim_shape line = {.rank = 1, .dim = {x.elems}};
    fsim_value v = d->adjoint[t];
    d->memos = 0;
    d->towards = x.storage;
    d->source = base.producer < 0 ? -1 : d->build->graph->node[base.producer].source;
    if (v.is == FSIM_TENSOR || x.elems != base.elems)
        v = fsim_derive_whole(d, v, &x.shape, x.dtype);
    if (v.is == FSIM_TENSOR && x.elems != base.elems) {
        fsim_step step;
        v = fsim_derive_view(d, v, &line);
        fsim_derive_start(d, &step, FSIM_OP_PAD);
        step.call.list[FSIM_ATTR_PADDING] =
            (fsim_list){.present = true, .count = 2, .at = {x.offset, base.elems - x.offset - x.elems}};
        v = v.is == FSIM_TENSOR ? fsim_derive_end(d, &step, 1, &v.tensor) : v;
    }
    v = fsim_derive_view(d, v, &base.shape);
    contribute(d, x.storage, v, d->reader[t]);
    return v.is != FSIM_REFUSED;
}

/* Ends. */

/* A name that only gradients have. False after an error: a tensor of the workload has it. */
static bool is_free(fsim_derivation *d, const char *name)
{
    const int t = fsim_names_get(d->names, name);
    if (t >= 0)
        fsim_error(d->build->diag, tensor_of(d, t)->at, "'%s' is the name of a gradient: it wants another", name);
    return t < 0;
}

/* The gradient of an output: 1, or an input. */
static bool seed(fsim_derivation *d, int t)
{
    const fsim_tensor x = *tensor_of(d, t);
    const char *name = fsim_printf(d->build->arena, "grad/%s", x.name);
    if (!is_free(d, name))
        return false;
    if (x.elems == 1 || d->how->ones) {
        d->adjoint[t] = fsim_constant(fsim_scales_loss(d->how) ? FSIM_LOSS_SCALE : 1);
        return true;
    }
    const int id = fsim_add_tensor(d->build, x.at, name, &x.shape, x.dtype, FSIM_INPUT);
    if (id < 0)
        return false;
    tensor_of(d, id)->after_outputs = tensor_of(d, id)->used = true;
    d->adjoint[t] = fsim_value_of(id);
    return true;
}

/* Does the primitive compute the same, whatever shape its result is seen under? */
static bool any_shape(const fsim_node *n)
{
    switch (fsim_ops[n->op].class) {
    case FSIM_ELEMENTWISE:
        return !strstr(fsim_ops[n->op].expr, "$col");
    case FSIM_REDUCE:
        return true;
    default:
        return n->op == FSIM_OP_EINSUM || n->op == FSIM_OP_MATMUL || n->op == FSIM_OP_BMM || n->op == FSIM_OP_LINEAR;
    }
}

/* The newest step to a gradient takes the gradient's own name, and its shape where it was only seen under that, or else
 * what it is seen as takes it; not where it is the gradient of something else already. Returns the tensor. */
static int name_gradient(fsim_derivation *d, int t, int made)
{
    fsim_graph *g = d->build->graph;
    fsim_tensor *own = &g->tensor[g->tensor[made].storage];
    const char *name = fsim_printf(d->build->arena, "grad/%s", g->tensor[t].name);
    if (own->producer < 0 || own->storage < d->tensors || own->output || own->elems != g->tensor[t].elems)
        return made;
    if (made != own->storage && !any_shape(&g->node[own->producer])) {
        g->tensor[made].name = name;
        return made;
    }
    own->name = g->node[own->producer].name = name;
    own->shape = g->tensor[t].shape;
    return own->storage;
}

static bool adds_up(const fsim_derivation *d, int t)
{
    return d->how->micro_batches > 1 && (d->how->sums_all || tensor_of(d, t)->role == FSIM_WEIGHT);
}

/* The gradient of this micro-batch, added to what those before it left in memory: in place, as .grad is. */
static fsim_value accumulated(fsim_derivation *d, int t, fsim_value v)
{
    const fsim_tensor x = *tensor_of(d, t);
    const char *name = fsim_printf(d->build->arena, "sum/%s", x.name);
    if (v.is == FSIM_REFUSED || !is_free(d, name))
        return FSIM_REFUSAL;
    const int sum = fsim_add_tensor(d->build, x.at, name, &x.shape, x.dtype, FSIM_INPUT);
    if (sum < 0)
        return FSIM_REFUSAL;
    tensor_of(d, sum)->used = true;
    v = add(d, fsim_value_of(sum), v);
    if (v.is == FSIM_TENSOR)
        tensor_of(d, v.tensor)->renews = true;
    return v;
}

static bool deliver(fsim_derivation *d, int t)
{
    fsim_graph *g = d->build->graph;
    const fsim_tensor x = g->tensor[t];
    d->memos = 0;
    d->towards = t;
    d->source = x.producer < 0 ? -1 : g->node[x.producer].source;
    fsim_value v = fsim_derive_whole(d, d->adjoint[t], &x.shape, x.dtype);
    if (adds_up(d, t))
        v = accumulated(d, t, v);
    if (v.is == FSIM_REFUSED || !is_free(d, fsim_printf(d->build->arena, "grad/%s", x.name)))
        return false;
    const int tensor = name_gradient(d, t, v.tensor);
    fsim_tensor *own = &g->tensor[g->tensor[tensor].storage];
    d->adjoint[t] = fsim_value_of(tensor);
    own->used = own->output = true;
    *FSIM_PUSH(d->build->arena, g->gradient, g->gradients, d->build->gradient_room) = (fsim_gradient){t, tensor};
    return true;
}

static int by_tensor(const void *a, const void *b)
{
    return ((const fsim_gradient *)a)->of - ((const fsim_gradient *)b)->of;
}

/* Delivers the gradients of weights that `node` is the first to read, so that none waits for the end to be added up.
 * False after an error. */
static bool deliver_sums(fsim_derivation *d, int node)
{
    const fsim_graph *g = d->build->graph;
    for (int i = 0; i < g->node[node].args; i++) {
        const int t = g->node[node].arg[i].tensor;
        if (t >= d->tensors || !d->wanted[t] || d->delivered[t] || !adds_up(d, t) || g->tensor[t].reader[0] != node ||
            d->viewed[t] || d->adjoint[t].is == FSIM_NOTHING)
            continue;
        d->delivered[t] = true;
        if (!deliver(d, t))
            return false;
    }
    return true;
}

static bool walk(fsim_derivation *d)
{
    for (int t = d->tensors; t-- > 0;) {
        const fsim_tensor x = *tensor_of(d, t);
        if (d->adjoint[t].is == FSIM_NOTHING || !d->useful[t])
            continue;
        if (d->wanted[t] && !d->delivered[t] && !deliver(d, t))
            return false;
        if (x.storage != t ? !go_to_storage(d, t) : x.producer >= 0 && !go_through(d, t))
            return false;
        if (x.storage == t && x.producer >= 0 && !deliver_sums(d, x.producer))
            return false;
    }
    if (d->build->graph->gradients > 0)
        qsort(d->build->graph->gradient, (size_t)d->build->graph->gradients, sizeof(fsim_gradient), by_tensor);
    return true;
}

bool fsim_differentiate(fsim_build *b, const fsim_names *names, const fsim_derive *how)
{
    const int n = b->graph->tensors;
    fsim_derivation d = {
        .build = b, .names = names, .how = how, .tensors = n, .sources = b->graph->sources, .source = -1};
    d.wanted = fsim_new(b->arena, bool, n + 1);
    d.useful = fsim_new(b->arena, bool, n + 1);
    d.adjoint = fsim_new(b->arena, fsim_value, n + 1);
    d.steps = fsim_new(b->arena, int, n + 1);
    d.reader = fsim_new(b->arena, int, n + 1);
    fsim_start_again(&d);
    d.viewed = fsim_new(b->arena, bool, n + 1);
    d.delivered = fsim_new(b->arena, bool, n + 1);
    for (int t = 0; t < n; t++) {
        d.reader[t] = -1;
        if (b->graph->tensor[t].storage != t)
            d.viewed[b->graph->tensor[t].storage] = true;
    }
    b->graph->micro_batches = how->micro_batches;
    b->graph->derived = how->mode;
    if (!fsim_mark_wanted(&d))
        return false;
    mark_useful(&d);
    if (!is_alone(&d) || !fsim_is_derivable(&d))
        return false;
    if (how->mode == FSIM_TANGENTS)
        return fsim_derive_tangents(&d);
    if (!fsim_start_reduced(&d))
        return false;
    b->phase = FSIM_BACKWARD;
    for (int t = 0; t < n; t++) {
        const fsim_tensor *x = tensor_of(&d, t);
        if (x->output && x->storage == t && d.useful[t] && !seed(&d, t))
            return false;
    }
    return walk(&d) && fsim_have_gradients(&d) && fsim_update_weights(b, names, how);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tangent.c: how the outputs of a graph change along a direction: beside each value that depends on what is wanted its
 * tangent, by the derivatives that gradients have, and by the operators themselves where they are linear. */
#include "graph/gradient.h"

#include <string.h>

fsim_tangent_rule *const fsim_tangent_rules[FSIM_OP_COUNT] = {
#define FSIM_GRADIENT(id, rule, tangent) [FSIM_OP_##id] = fsim_tangent_##tangent,
#include "graph/gradient.def"
#undef FSIM_GRADIENT
};

static const fsim_tensor *arg_of(const fsim_derivation *d, const fsim_record *r, int i)
{
    return &d->build->graph->tensor[r->arg[i]];
}

static fsim_value whole(fsim_derivation *d, const fsim_record *r, int i, fsim_value dot)
{
    const fsim_shape shape = arg_of(d, r, i)->shape;
    return fsim_derive_whole(d, dot, &shape, arg_of(d, r, i)->dtype);
}

fsim_value fsim_tangent_none(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    (void)d, (void)r, (void)dot;
    return FSIM_ZERO;
}

fsim_value fsim_tangent_refused(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    (void)dot;
    return fsim_derive_refuse(d, r, "how its result changes is not known");
}

fsim_value fsim_tangent_terms(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    fsim_value sum = FSIM_ZERO;
    for (int i = 0; i < r->args && sum.is != FSIM_REFUSED; i++) {
        const char *term = fsim_derivative(r->op, i, 0);
        if (term && dot[i].is != FSIM_NOTHING)
            sum = fsim_derive_binary(d, FSIM_OP_ADD, sum, fsim_term(d, r, term, dot[i]));
    }
    return sum;
}

/* The same operator on other tensors. */
static fsim_value again(fsim_derivation *d, const fsim_record *r, const int *arg)
{
    fsim_step step;
    fsim_derive_start(d, &step, r->op);
    step.call.attrs = r->attrs;
    step.call.attrs.inplace = false;
    step.call.equation = r->equation;
    step.call.typed = true;
    step.call.type = d->build->graph->tensor[r->result].dtype;
    for (int k = 0; k < r->lists; k++)
        step.call.list[r->list[k].attr] = r->list[k].list;
    if (r->op == FSIM_OP_IM2COL) /* what it pads was padded before */
        step.call.list[FSIM_ATTR_PADDING] = (fsim_list){.present = true, .count = 1};
    if (r->op == FSIM_OP_PAD)
        step.call.attrs.value = 0;
    if (fsim_ops[r->op].class == FSIM_COMMUNICATION) {
        step.call.list[FSIM_ATTR_SHAPE] = (fsim_list){.present = true, .count = r->shape.rank};
        memcpy(step.call.list[FSIM_ATTR_SHAPE].at, r->shape.dim, (size_t)r->shape.rank * sizeof *r->shape.dim);
    }
    return fsim_derive_end(d, &step, r->args, arg);
}

/* Linear in each argument: with the tangent of one in its place, and the others as they are. */
fsim_value fsim_tangent_linear(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    fsim_value sum = FSIM_ZERO;
    if (r->op == FSIM_OP_INTERPOLATE && r->attrs.scale_factor == 0 &&
        fsim_record_list(r, FSIM_ATTR_SCALE_FACTOR).present)
        return dot[0]; /* no length changes */
    int *arg = fsim_new(d->build->arena, int, r->args + 1);
    for (int i = 0; i < r->args && sum.is != FSIM_REFUSED; i++) {
        if (dot[i].is == FSIM_NOTHING)
            continue;
        memcpy(arg, r->arg, (size_t)r->args * sizeof *arg);
        const fsim_value v = whole(d, r, i, dot[i]);
        arg[i] = v.tensor;
        sum = v.is == FSIM_TENSOR ? fsim_derive_binary(d, FSIM_OP_ADD, sum, again(d, r, arg)) : FSIM_REFUSAL;
    }
    return sum;
}

fsim_value fsim_tangent_last(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    fsim_value *last = fsim_new(d->build->arena, fsim_value, r->args);
    last[r->args - 1] = dot[r->args - 1];
    return fsim_tangent_linear(d, r, last);
}

/* Linear in all arguments together: zeros in place of those that do not change. */
fsim_value fsim_tangent_jointly(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    int *arg = fsim_new(d->build->arena, int, r->args + 1);
    for (int i = 0; i < r->args; i++) {
        const bool index = !fsim_dtype_floating(arg_of(d, r, i)->dtype);
        const fsim_value v = index ? fsim_value_of(r->arg[i]) : whole(d, r, i, dot[i]);
        if (v.is != FSIM_TENSOR)
            return FSIM_REFUSAL;
        arg[i] = v.tensor;
    }
    return again(d, r, arg);
}

fsim_value fsim_tangent_slice(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    fsim_step step;
    const fsim_value v = whole(d, r, 0, dot[0]);
    if (v.is != FSIM_TENSOR)
        return v;
    const fsim_shape x = arg_of(d, r, 0)->shape;
    int64_t stride[FSIM_MAX_RANK], offset = d->build->graph->node[r - d->build->record].arg[0].map.offset;
    fsim_row_major(&x, stride);
    offset -= arg_of(d, r, 0)->offset;
    fsim_derive_start(d, &step, FSIM_OP_SLICE);
    fsim_list *dims = &step.call.list[FSIM_ATTR_DIMS], *start = &step.call.list[FSIM_ATTR_START],
              *size = &step.call.list[FSIM_ATTR_SIZE];
    *dims = *start = *size = (fsim_list){.present = true, .count = x.rank};
    for (int k = 0; k < x.rank; k++) {
        dims->at[k] = k;
        start->at[k] = offset / stride[k];
        size->at[k] = r->shape.dim[k];
        offset %= stride[k];
    }
    return fsim_derive_end(d, &step, 1, &v.tensor);
}

/* A mask hides no more than a triangle of a tangent. */
fsim_value fsim_tangent_triangle(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    fsim_record triangle = *r;
    triangle.op = r->op == FSIM_OP_WINDOW_MASK ? FSIM_OP_TRIU : FSIM_OP_TRIL;
    return fsim_tangent_linear(d, &triangle, dot);
}

/* What each element counts in a maximum, a product or a norm, which is its gradient where the result's is 1, times its
 * tangent: summed. */
fsim_value fsim_tangent_reduced(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    fsim_step step;
    const fsim_value share = fsim_gradient_rules[r->op](d, r, 0, fsim_constant(1)),
                     part = fsim_derive_binary(d, FSIM_OP_MUL, share, whole(d, r, 0, dot[0]));
    if (part.is != FSIM_TENSOR)
        return part;
    fsim_derive_start(d, &step, FSIM_OP_SUM);
    step.call.list[FSIM_ATTR_DIMS] = fsim_record_list(r, FSIM_ATTR_DIMS);
    step.call.attrs.keepdim = r->attrs.keepdim;
    return fsim_derive_end(d, &step, 1, &part.tensor);
}

/* The tangent of the element that is the largest of its window. */
fsim_value fsim_tangent_picked(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    static const fsim_attr windows[] = {FSIM_ATTR_KERNEL, FSIM_ATTR_STRIDE, FSIM_ATTR_PADDING, FSIM_ATTR_DILATION};
    const int axes = fsim_spatial_axes(r->op);
    const fsim_value v = whole(d, r, 0, dot[0]);
    fsim_step step;
    if (v.is != FSIM_TENSOR)
        return v;
    fsim_derive_start(d, &step, FSIM_OP_MAX_POOL_PICK);
    for (int k = 0; k < 4; k++)
        step.call.list[windows[k]] = fsim_record_list(r, windows[k]);
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = (fsim_list){.present = true, .count = axes};
    memcpy(step.call.list[FSIM_ATTR_OUTPUT_SIZE].at, r->shape.dim + r->shape.rank - axes,
           (size_t)axes * sizeof *r->shape.dim);
    return fsim_derive_end(d, &step, 2, (int[2]){r->arg[0], v.tensor});
}

fsim_value fsim_tangent_sorted(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    const int64_t dim = d->build->graph->node[r - d->build->record].attrs.dim;
    const fsim_value v = whole(d, r, 0, dot[0]), index = fsim_derive_indices(d, r);
    fsim_step step;
    if (v.is != FSIM_TENSOR || index.is != FSIM_TENSOR)
        return FSIM_REFUSAL;
    fsim_derive_start(d, &step, FSIM_OP_GATHER);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
    return fsim_derive_end(d, &step, 2, (int[2]){v.tensor, index.tensor});
}

/* From the primitives to the tangents of their results. */

static bool name_is_free(fsim_derivation *d, const char *name)
{
    const int t = fsim_names_get(d->names, name);
    if (t >= 0)
        fsim_error(d->build->diag, d->build->graph->tensor[t].at, "'%s' is the name of a tangent: it wants another",
                   name);
    return t < 0;
}

/* The tangent of something wanted: an input. */
static fsim_value direction(fsim_derivation *d, int t)
{
    const fsim_tensor x = d->build->graph->tensor[t];
    const char *name = fsim_printf(d->build->arena, "dot/%s", x.name);
    if (!name_is_free(d, name))
        return FSIM_REFUSAL;
    const int id = fsim_add_tensor(d->build, x.at, name, &x.shape, x.dtype, FSIM_INPUT);
    if (id >= 0)
        d->build->graph->tensor[id].used = true;
    return fsim_value_of(id);
}

/* Of a tensor that a primitive makes. */
static fsim_value through(fsim_derivation *d, int t)
{
    const int node = d->build->graph->tensor[t].producer;
    const fsim_record *r = &d->build->record[node];
    const fsim_shape shape = d->build->graph->tensor[t].shape;
    if (d->build->graph->node[node].result[0] != t)
        return FSIM_ZERO; /* an index */
    fsim_value *dot = fsim_new(d->build->arena, fsim_value, r->args + 1);
    bool any = false;
    d->source = r->source;
    for (int i = 0; i < r->args; i++) {
        dot[i] = d->adjoint[r->arg[i]];
        any = any || dot[i].is != FSIM_NOTHING;
    }
    if (!any)
        return FSIM_ZERO;
    fsim_value v = fsim_tangent_rules[r->op](d, r, dot);
    if (v.is == FSIM_TENSOR && memcmp(&r->shape, &shape, sizeof shape) != 0)
        v = fsim_derive_view(d, fsim_derive_whole(d, v, &r->shape, d->build->graph->tensor[t].dtype), &shape);
    return fsim_derive_cast(d, v, d->build->graph->tensor[t].dtype);
}

/* Of a view: the same view of its storage's tangent. */
static fsim_value viewed(fsim_derivation *d, int t)
{
    const fsim_tensor x = d->build->graph->tensor[t], base = d->build->graph->tensor[x.storage];
    fsim_value v = d->adjoint[x.storage];
    d->source = base.producer < 0 ? -1 : d->build->graph->node[base.producer].source;
    if (v.is != FSIM_TENSOR)
        return v;
    v = fsim_derive_whole(d, v, &base.shape, base.dtype);
    if (v.is != FSIM_TENSOR)
        return v;
    const char *name = fsim_printf(d->build->arena, "dot/%s", x.name);
    return fsim_value_of(fsim_add_view(d->build, x.at, name, &x.shape, v.tensor, x.offset));
}

/* Which tensors an output depends on. */
static bool *active_tensors(const fsim_derivation *d)
{
    const fsim_graph *g = d->build->graph;
    bool *active = fsim_new(d->build->arena, bool, d->tensors + 1);
    for (int t = d->tensors; t-- > 0;) {
        active[t] = active[t] || g->tensor[t].output;
        if (!active[t])
            continue;
        active[g->tensor[t].storage] = true;
        const int node = g->tensor[t].storage == t ? g->tensor[t].producer : -1;
        for (int i = 0; node >= 0 && i < d->build->record[node].args; i++)
            active[d->build->record[node].arg[i]] = true;
    }
    return active;
}

/* The tangent of an output is an output. */
static bool deliver(fsim_derivation *d, int t)
{
    fsim_graph *g = d->build->graph;
    const fsim_tensor x = g->tensor[t];
    const char *name = fsim_printf(d->build->arena, "dot/%s", x.name);
    d->memos = 0;
    d->towards = t;
    d->source = x.producer < 0 ? -1 : g->node[x.producer].source;
    fsim_value v = fsim_derive_whole(d, d->adjoint[t], &x.shape, x.dtype);
    if (v.is != FSIM_TENSOR || !name_is_free(d, name))
        return false;
    fsim_tensor *own = &g->tensor[g->tensor[v.tensor].storage];
    if (own->producer >= 0 && !own->output && g->tensor[v.tensor].storage == v.tensor)
        own->name = g->node[own->producer].name = name;
    own->used = own->output = true;
    *FSIM_PUSH(d->build->arena, g->gradient, g->gradients, d->build->gradient_room) = (fsim_gradient){t, v.tensor};
    return true;
}

bool fsim_derive_tangents(fsim_derivation *d)
{
    const bool *active = active_tensors(d);
    for (int t = 0; t < d->tensors; t++) {
        const fsim_tensor x = d->build->graph->tensor[t];
        if (!d->useful[t] || !active[t])
            continue;
        d->memos = 0;
        d->towards = t;
        d->adjoint[t] = d->wanted[t] ? direction(d, t) : x.storage != t ? viewed(d, t) : through(d, t);
        if (d->adjoint[t].is == FSIM_REFUSED)
            return false;
    }
    for (int t = 0; t < d->tensors; t++) {
        const fsim_tensor *x = &d->build->graph->tensor[t];
        if (x->output && x->storage == t && d->adjoint[t].is != FSIM_NOTHING && !deliver(d, t))
            return false;
    }
    return true;
}

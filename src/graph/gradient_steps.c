/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_steps.c: what the rules of gradients emit: operators with names and an owner, with constants folded. */
#include "graph/forms.h"
#include "graph/gradient.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const fsim_tensor *fsim_value_tensor(const fsim_derivation *d, fsim_value v)
{
    return &d->build->graph->tensor[v.tensor];
}

/* "dot" of tangents, "grad" of gradients: what names begin with. */
static const char *prefix_of(const fsim_derivation *d) { return d->how->mode == FSIM_TANGENTS ? "dot" : "grad"; }

/* The source that new primitives belong to: a new one where the last is of something else. Tangents run beside the
 * values, in their phase. */
static int source_of(fsim_derivation *d)
{
    fsim_build *b = d->build;
    fsim_graph *g = b->graph;
    const fsim_tensor *to = &g->tensor[d->towards];
    const fsim_source *last = g->sources > d->sources ? &g->source[g->sources - 1] : NULL;
    if (last && last->phase == b->phase && last->gradient_of == d->source && last->accumulates == d->adding)
        return g->sources - 1;
    const fsim_source *of = d->source < 0 ? NULL : &g->source[d->source];
    *FSIM_PUSH(b->arena, g->source, g->sources, b->source_room) =
        (fsim_source){.op = d->adding || !of ? FSIM_OP_ADD : of->op,
                      .name = fsim_printf(b->arena, "%s/%s", prefix_of(d), of && !d->adding ? of->name : to->name),
                      .layer = of ? of->layer : NULL,
                      .from = of ? of->from : NULL,
                      .first = g->nodes,
                      .at = of ? of->at : to->at,
                      .phase = b->phase,
                      .gradient_of = d->source,
                      .accumulates = d->adding};
    return g->sources - 1;
}

static const char *step_name(fsim_derivation *d)
{
    return fsim_printf(d->build->arena, "%s/%s/%d", prefix_of(d), d->build->graph->tensor[d->towards].name,
                       ++d->steps[d->towards]);
}

void fsim_derive_start(fsim_derivation *d, fsim_step *step, fsim_op op)
{
    const int source = source_of(d);
    fsim_call *of = fsim_new(d->build->arena, fsim_call, 1);
    *of =
        (fsim_call){.build = d->build, .op = op, .at = d->build->graph->source[source].at, .source = source, .outs = 1};
    of->out = fsim_new(d->build->arena, const char *, 1);
    of->out[0] = step_name(d);
    fsim_step_start(step, of, op, NULL);
}

fsim_value fsim_derive_end(fsim_derivation *d, fsim_step *step, int args, const int *arg)
{
    fsim_graph *g = d->build->graph;
    const int result = fsim_step_end(step, args, arg);
    fsim_source *s = &g->source[step->call.source];
    s->nodes = g->nodes - s->first;
    return fsim_value_of(result);
}

/* An elementwise operator, which may have been made for this primitive before. */
static fsim_value remembered(fsim_derivation *d, fsim_memo m)
{
    for (int i = 0; i < d->memos; i++) {
        const fsim_memo *o = &d->memo[i];
        if (o->op == m.op && o->args == m.args && o->arg[0] == m.arg[0] && (m.args < 2 || o->arg[1] == m.arg[1]) &&
            o->has_scalar == m.has_scalar && o->scalar == m.scalar && o->dtype == m.dtype)
            return fsim_value_of(o->result);
    }
    fsim_step step;
    fsim_derive_start(d, &step, m.op);
    if (m.has_scalar)
        fsim_set_attr(&step.call, FSIM_ATTR_SCALAR, m.scalar);
    if (m.op == FSIM_OP_CAST)
        step.call.attrs.dtype = m.dtype;
    const fsim_value v = fsim_derive_end(d, &step, m.args, m.arg);
    m.result = v.tensor;
    if (v.is == FSIM_TENSOR)
        *FSIM_PUSH(d->build->arena, d->memo, d->memos, d->memo_room) = m;
    return v;
}

fsim_value fsim_derive_unary(fsim_derivation *d, fsim_op op, fsim_value x)
{
    return x.is == FSIM_TENSOR ? remembered(d, (fsim_memo){.op = op, .args = 1, .arg = {x.tensor}}) : x;
}

static fsim_value with_scalar(fsim_derivation *d, fsim_op op, fsim_value x, double scalar)
{
    return remembered(d, (fsim_memo){.op = op, .args = 1, .arg = {x.tensor}, .has_scalar = true, .scalar = scalar});
}

fsim_value fsim_derive_scaled(fsim_derivation *d, fsim_value x, double factor)
{
    if (x.is == FSIM_CONSTANT)
        return fsim_constant(x.constant * factor);
    if (x.is != FSIM_TENSOR || factor == 1)
        return x;
    if (factor == 0)
        return FSIM_ZERO;
    return factor == -1 ? fsim_derive_unary(d, FSIM_OP_NEG, x) : with_scalar(d, FSIM_OP_MUL, x, factor);
}

/* Of two constants. */
static fsim_value folded(fsim_op op, double x, double y)
{
    switch (op) {
    case FSIM_OP_ADD:
        return fsim_constant(x + y);
    case FSIM_OP_SUB:
        return fsim_constant(x - y);
    case FSIM_OP_MUL:
        return fsim_constant(x * y);
    case FSIM_OP_DIV:
        return fsim_constant(x / y);
    case FSIM_OP_POW:
        return fsim_constant(pow(x, y));
    case FSIM_OP_LOGICAL_AND:
        return fsim_constant(x != 0 && y != 0);
    case FSIM_OP_EQ:
        return fsim_constant(x == y);
    case FSIM_OP_GT:
        return fsim_constant(x > y);
    case FSIM_OP_LT:
        return fsim_constant(x < y);
    case FSIM_OP_GE:
        return fsim_constant(x >= y);
    default:
        assert(op == FSIM_OP_LE); /* of what the terms are made of */
        return fsim_constant(x <= y);
    }
}

/* A constant with a tensor behind it. */
static fsim_value from_constant(fsim_derivation *d, fsim_op op, double c, fsim_value y)
{
    switch (op) {
    case FSIM_OP_MUL:
        return fsim_derive_scaled(d, y, c);
    case FSIM_OP_ADD:
        return c == 0 ? y : with_scalar(d, FSIM_OP_ADD, y, c);
    case FSIM_OP_SUB:
        y = fsim_derive_scaled(d, y, -1);
        return c == 0 ? y : with_scalar(d, FSIM_OP_ADD, y, c);
    case FSIM_OP_LOGICAL_AND:
        return c == 0 ? FSIM_ZERO : y;
    case FSIM_OP_DIV:
        return c == 0 ? FSIM_ZERO : fsim_derive_scaled(d, fsim_derive_unary(d, FSIM_OP_RECIPROCAL, y), c);
    case FSIM_OP_LT:
        return with_scalar(d, FSIM_OP_GT, y, c);
    case FSIM_OP_GT:
        return with_scalar(d, FSIM_OP_LT, y, c);
    case FSIM_OP_LE:
        return with_scalar(d, FSIM_OP_GE, y, c);
    case FSIM_OP_GE:
        return with_scalar(d, FSIM_OP_LE, y, c);
    default:
        return with_scalar(d, op, y, c); /* equality, the larger of two: in any order */
    }
}

/* A tensor with a constant behind it. */
static fsim_value with_constant(fsim_derivation *d, fsim_op op, fsim_value x, double c)
{
    if (op == FSIM_OP_MUL)
        return fsim_derive_scaled(d, x, c);
    if (op == FSIM_OP_LOGICAL_AND)
        return c == 0 ? FSIM_ZERO : x;
    if (((op == FSIM_OP_GT || op == FSIM_OP_GE) && c == -INFINITY) ||
        ((op == FSIM_OP_LT || op == FSIM_OP_LE) && c == INFINITY) || (op == FSIM_OP_POW && c == 0))
        return fsim_constant(1);
    if (op == FSIM_OP_POW && c == 1)
        return x;
    if ((c == 0 && (op == FSIM_OP_ADD || op == FSIM_OP_SUB)) || (c == 1 && op == FSIM_OP_DIV))
        return x;
    return with_scalar(d, op, x, c);
}

fsim_value fsim_derive_binary(fsim_derivation *d, fsim_op op, fsim_value x, fsim_value y)
{
    if (x.is == FSIM_REFUSED || y.is == FSIM_REFUSED)
        return FSIM_REFUSAL;
    if (x.is != FSIM_TENSOR && y.is != FSIM_TENSOR)
        return folded(op, x.constant, y.constant);
    if (x.is != FSIM_TENSOR)
        return from_constant(d, op, x.constant, y);
    if (y.is != FSIM_TENSOR)
        return with_constant(d, op, x, y.constant);
    if (op == FSIM_OP_ADD && x.tensor == y.tensor)
        return fsim_derive_scaled(d, x, 2);
    return remembered(d, (fsim_memo){.op = op, .args = 2, .arg = {x.tensor, y.tensor}});
}

fsim_value fsim_derive_where(fsim_derivation *d, fsim_value c, fsim_value a, fsim_value b)
{
    fsim_step step;
    int arg[3], args = 0;
    if (c.is == FSIM_REFUSED || a.is == FSIM_REFUSED || b.is == FSIM_REFUSED)
        return FSIM_REFUSAL;
    if (c.is != FSIM_TENSOR)
        return c.is == FSIM_CONSTANT ? a : b;
    if (a.is == FSIM_NOTHING && b.is == FSIM_NOTHING)
        return FSIM_ZERO;
    if (d->packing)
        c = fsim_through_bits(d, c);
    if (c.is == FSIM_REFUSED)
        return c;
    fsim_derive_start(d, &step, FSIM_OP_WHERE);
    arg[args++] = c.tensor;
    if (a.is == FSIM_TENSOR) {
        arg[args++] = a.tensor;
    } else {
        step.call.list[FSIM_ATTR_INPUT].present = true;
        fsim_set_attr(&step.call, FSIM_ATTR_INPUT, a.constant);
    }
    if (b.is == FSIM_TENSOR) {
        arg[args++] = b.tensor;
    } else {
        step.call.list[FSIM_ATTR_OTHER].present = true;
        fsim_set_attr(&step.call, FSIM_ATTR_OTHER, b.constant);
    }
    step.call.typed = a.is != FSIM_TENSOR && b.is != FSIM_TENSOR; /* numbers have no dtype */
    step.call.type = d->build->graph->tensor[d->towards].dtype;
    return fsim_derive_end(d, &step, args, arg);
}

fsim_value fsim_derive_view(fsim_derivation *d, fsim_value v, const fsim_shape *shape)
{
    if (v.is != FSIM_TENSOR)
        return v;
    const fsim_tensor *t = fsim_value_tensor(d, v);
    if (t->shape.rank == shape->rank && memcmp(t->shape.dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim) == 0)
        return v;
    return fsim_value_of(fsim_add_view(d->build, t->at, step_name(d), shape, v.tensor, 0));
}

static fsim_list list_of(const fsim_shape *s)
{
    fsim_list l = {.present = true, .count = s->rank};
    memcpy(l.at, s->dim, (size_t)s->rank * sizeof *s->dim);
    return l;
}

/* With dimensions of 1 in front, or without those, so that the rank is this. */
static fsim_value of_rank(fsim_derivation *d, fsim_value v, int rank)
{
    if (v.is != FSIM_TENSOR)
        return v;
    const fsim_shape have = fsim_value_tensor(d, v)->shape;
    fsim_shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        const int from = i - (rank - have.rank);
        s.dim[i] = from < 0 ? 1 : have.dim[from];
    }
    return fsim_derive_view(d, v, &s);
}

fsim_value fsim_derive_whole(fsim_derivation *d, fsim_value v, const fsim_shape *shape, fsim_dtype dtype)
{
    fsim_step step;
    if (v.is == FSIM_REFUSED)
        return v;
    v = of_rank(d, v, shape->rank);
    if (v.is == FSIM_TENSOR && fsim_value_tensor(d, v)->elems == fsim_elems(shape))
        return v;
    fsim_derive_start(d, &step, v.is == FSIM_TENSOR ? FSIM_OP_EXPAND : FSIM_OP_FILL);
    step.call.list[FSIM_ATTR_SHAPE] = list_of(shape);
    if (v.is == FSIM_TENSOR)
        return fsim_derive_end(d, &step, 1, &v.tensor);
    step.call.attrs.value = v.constant;
    step.call.attrs.dtype = dtype;
    return fsim_derive_end(d, &step, 0, NULL);
}

fsim_value fsim_derive_sum(fsim_derivation *d, fsim_value v, const fsim_list *dims)
{
    fsim_step step;
    if (v.is != FSIM_TENSOR || dims->count == 0)
        return v;
    fsim_derive_start(d, &step, FSIM_OP_SUM);
    step.call.list[FSIM_ATTR_DIMS] = *dims;
    step.call.attrs.keepdim = true;
    return fsim_derive_end(d, &step, 1, &v.tensor);
}

fsim_value fsim_derive_sum_to(fsim_derivation *d, fsim_value v, const fsim_shape *from, const fsim_shape *to)
{
    fsim_list dims = {.present = true};
    double times = 1;
    if (v.is == FSIM_REFUSED || v.is == FSIM_NOTHING)
        return v;
    v = of_rank(d, v, from->rank);
    for (int i = 0; i < from->rank; i++) {
        const int own = i - (from->rank - to->rank);
        if (from->dim[i] == 1 || (own >= 0 && to->dim[own] != 1))
            continue;
        if (v.is == FSIM_TENSOR && fsim_value_tensor(d, v)->shape.dim[i] != 1)
            dims.at[dims.count++] = i;
        else
            times *= (double)from->dim[i];
    }
    return of_rank(d, fsim_derive_scaled(d, fsim_derive_sum(d, v, &dims), times), to->rank);
}

fsim_value fsim_derive_cast(fsim_derivation *d, fsim_value v, fsim_dtype dtype)
{
    if (v.is != FSIM_TENSOR || fsim_value_tensor(d, v)->dtype == dtype)
        return v;
    return remembered(d, (fsim_memo){.op = FSIM_OP_CAST, .args = 1, .arg = {v.tensor}, .dtype = dtype});
}

fsim_value fsim_derive_refuse(fsim_derivation *d, const fsim_record *r, const char *why)
{
    const fsim_graph *g = d->build->graph;
    const char *path = "";
    int t = r->result;
    for (int steps = 0; steps < 4 && d->reader[t] >= 0; steps++) {
        const fsim_node *n = &g->node[d->reader[t]];
        path = fsim_printf(d->build->arena, "%s, which '%s' reads", path, n->name);
        t = n->result[0];
    }
    if (d->how->mode == FSIM_TANGENTS) {
        fsim_error(d->build->diag, r->at, "%s '%s': %s; it depends on what is wanted, and an output on it",
                   fsim_ops[r->op].name, g->tensor[r->result].name, why);
        return FSIM_REFUSAL;
    }
    fsim_error(
        d->build->diag, r->at,
        "%s '%s': %s; a gradient is to flow through it to '%s'%s. %s'grad: false' at a tensor makes it a constant",
        fsim_ops[r->op].name, g->tensor[r->result].name, why, g->tensor[d->towards].name,
        *path ? fsim_printf(d->build->arena, " from '%s'%s", g->tensor[r->result].name, path) : "",
        r->at.line > 0 ? "" : "In the workload that 'fusesim import -o' writes, "); /* a model has no such word */
    return FSIM_REFUSAL;
}

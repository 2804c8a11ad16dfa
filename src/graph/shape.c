/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: functions that rules are built from, and the rules of elementwise operators: the shape of the result and
 * the index map of each argument. Shapes follow PyTorch. */
#include "graph/gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t fsim_elems(const fsim_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

const char *fsim_shape_text(fsim_arena *a, const fsim_shape *s)
{
    const char *text = "[";
    for (int i = 0; i < s->rank; i++)
        text = fsim_printf(a, "%s%s%lld", text, i ? ", " : "", (long long)s->dim[i]);
    return fsim_printf(a, "%s]", text);
}

fsim_shape fsim_tensor_shape(const fsim_tensor *t)
{
    fsim_shape s = t->shape;
    if (fsim_dtype_paired(t->dtype))
        s.dim[s.rank - 1] *= 2;
    return s;
}

int64_t fsim_tensor_numbers(const fsim_tensor *t) { return t->elems * (fsim_dtype_paired(t->dtype) ? 2 : 1); }

const char *fsim_tensor_shape_text(fsim_arena *a, const fsim_tensor *t)
{
    const fsim_shape s = fsim_tensor_shape(t);
    return fsim_shape_text(a, &s);
}

bool fsim_refuse(const fsim_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = fsim_vprintf(call->build->arena, format, args);
    va_end(args);
    while (call->part_of)
        call = call->part_of;
    fsim_error(call->build->diag, call->at, "%s '%s': %s", fsim_ops[call->op].name, call->out[0], text);
    return false;
}

const fsim_tensor *fsim_arg(const fsim_call *call, int i) { return &call->build->graph->tensor[call->arg[i]]; }

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

static int add_tensor(fsim_build *b, fsim_tensor t)
{
    fsim_graph *g = b->graph;
    double elems = 1;
    if (t.shape.rank > FSIM_MAX_RANK) {
        fsim_error(b->diag, t.at, "tensor '%s' has rank %d; at most %d", t.name, t.shape.rank, FSIM_MAX_RANK);
        return -1;
    }
    for (int i = 0; i < t.shape.rank; i++) {
        elems *= (double)t.shape.dim[i];
        if (t.shape.dim[i] < 1 || t.shape.dim[i] > FSIM_MAX_DIM) {
            fsim_error(b->diag, t.at, "tensor '%s': dimension %d is %lld; dimensions are 1 to %lld", t.name, i,
                       (long long)t.shape.dim[i], (long long)FSIM_MAX_DIM);
            return -1;
        }
    }
    if (elems > (double)FSIM_MAX_ELEMS) {
        fsim_error(b->diag, t.at, "tensor '%s' of shape %s has %.3g elements; at most %lld", t.name,
                   fsim_shape_text(b->arena, &t.shape), elems, (long long)FSIM_MAX_ELEMS);
        return -1;
    }
    t.elems = fsim_elems(&t.shape);
    t.bytes = t.written_bytes = t.elems * fsim_dtype_bytes(t.dtype);
    t.over = t.reduces = -1;
    t.producer = -1;
    const int id = g->tensors;
    if (t.storage < 0)
        t.storage = id;
    *FSIM_PUSH(b->arena, g->tensor, g->tensors, b->tensor_room) = t;
    return id;
}

int fsim_add_tensor(fsim_build *b, fsim_loc at, const char *name, const fsim_shape *shape, fsim_dtype dtype,
                    fsim_role role)
{
    return add_tensor(
        b, (fsim_tensor){.name = name, .at = at, .shape = *shape, .dtype = dtype, .role = role, .storage = -1});
}

int fsim_add_view(fsim_build *b, fsim_loc at, const char *name, const fsim_shape *shape, int of, int64_t offset)
{
    const fsim_tensor *base = &b->graph->tensor[of];
    return add_tensor(b, (fsim_tensor){.name = name,
                                       .at = at,
                                       .shape = *shape,
                                       .dtype = base->dtype,
                                       .role = base->role,
                                       .storage = base->storage,
                                       .offset = base->offset + offset});
}

bool fsim_check_steps(const fsim_call *call, double steps)
{
    return steps <= (double)FSIM_MAX_STEPS ||
           fsim_refuse(call, "takes %.3g steps; at most %lld", steps, (long long)FSIM_MAX_STEPS);
}

fsim_node *fsim_add_node(fsim_call *call, const fsim_shape *shape, int64_t reduced)
{
    fsim_build *b = call->build;
    fsim_graph *g = b->graph;
    fsim_dtype dtype;
    if (!fsim_result_dtype(call, &dtype))
        return NULL;
    const int result = fsim_add_tensor(b, call->at, call->out[0], shape, dtype, FSIM_MADE);
    if (result < 0 || !fsim_check_steps(call, (double)g->tensor[result].elems * (double)reduced))
        return NULL;
    if (g->nodes == FSIM_MAX_PRIMITIVES) {
        fsim_refuse(call, "the workload has more than %d primitives", FSIM_MAX_PRIMITIVES);
        return NULL;
    }
    const fsim_op_row *row = &fsim_ops[call->op];
    fsim_node n = {.op = call->op,
                   .name = call->out[0],
                   .source = call->source,
                   .args = call->args,
                   .results = 1,
                   .at = call->at,
                   .reduced = reduced,
                   .attrs = call->attrs,
                   .flops = row->flops,
                   .instructions = row->instructions,
                   .specials = row->specials,
                   .dtype = dtype,
                   .effect = call->effect,
                   .phase = b->phase};
    n.points = g->tensor[result].elems;
    n.result[0] = result;
    n.arg = fsim_new(b->arena, fsim_access, call->args + 1);
    for (int i = 0; i < call->args; i++) {
        const fsim_tensor *t = fsim_arg(call, i);
        n.arg[i].tensor = t->storage;
        n.arg[i].distinct = t->elems;
        if (row->class == FSIM_ELEMENTWISE && fsim_dtype_floating(t->dtype))
            n.dtype = fsim_dtype_promote(n.dtype, t->dtype);
    }
    g->tensor[result].producer = g->nodes;
    call->result[0] = result;
    if (b->recording)
        fsim_record_call(b, call, shape, result);
    *FSIM_PUSH(b->arena, g->node, g->nodes, b->node_room) = n;
    return &g->node[g->nodes - 1];
}

/* A second result of the node made last: indices of max, sort and topk. */
bool fsim_add_result(fsim_call *call, fsim_node *n, const fsim_shape *shape, fsim_dtype dtype)
{
    if (call->outs < 2)
        return true;
    const int id = fsim_add_tensor(call->build, call->at, call->out[1], shape, dtype, FSIM_MADE);
    if (id < 0)
        return false;
    call->build->graph->tensor[id].producer = call->build->graph->nodes - 1;
    n->result[n->results++] = id;
    call->result[1] = id;
    return true;
}

bool fsim_wrap_dim(const fsim_call *call, int rank, int64_t dim, int *out)
{
    const int64_t lowest = rank > 0 ? -rank : -1, highest = rank > 0 ? rank - 1 : 0;
    if (dim < lowest || dim > highest)
        return fsim_refuse(call, "dimension %lld is out of range for a tensor of rank %d", (long long)dim, rank);
    *out = (int)(dim < 0 && rank > 0 ? dim + rank : dim < 0 ? 0 : dim);
    return true;
}

void fsim_row_major(const fsim_shape *s, int64_t *stride)
{
    int64_t n = 1;
    for (int i = s->rank; i-- > 0; n *= s->dim[i])
        stride[i] = n;
}

/* Tensor t, seen with this shape, broadcast to shape out, as an index map over out's elements. */
static void read_as(const fsim_tensor *t, const fsim_shape *shape, const fsim_shape *out, fsim_access *x)
{
    int64_t stride[FSIM_MAX_RANK];
    fsim_map m = {.offset = t->offset};
    fsim_row_major(shape, stride);
    for (int d = 0; d < out->rank; d++) {
        const int own = d - (out->rank - shape->rank);
        fsim_map_push(&m, out->dim[d], own < 0 || shape->dim[own] == 1 ? 0 : stride[own]);
    }
    m.split = m.modes;
    x->map = fsim_map_simplify(m);
}

void fsim_read_broadcast(const fsim_call *call, fsim_node *n, int i, const fsim_shape *out)
{
    const fsim_tensor *t = fsim_arg(call, i);
    read_as(t, &t->shape, out, &n->arg[i]);
}

static bool broadcast(const fsim_call *call, fsim_shape *out)
{
    *out = (fsim_shape){0};
    for (int i = 0; i < call->args; i++) {
        const fsim_shape *s = &fsim_arg(call, i)->shape;
        if (s->rank > out->rank) {
            const int grow = s->rank - out->rank;
            memmove(out->dim + grow, out->dim, (size_t)out->rank * sizeof out->dim[0]);
            for (int d = 0; d < grow; d++)
                out->dim[d] = 1;
            out->rank = s->rank;
        }
        for (int d = 0; d < s->rank; d++) {
            int64_t *o = &out->dim[d + out->rank - s->rank];
            if (*o == 1)
                *o = s->dim[d];
            else if (s->dim[d] != 1 && s->dim[d] != *o) {
                const fsim_shape *first = &fsim_arg(call, 0)->shape;
                return fsim_refuse(call, "shapes %s and %s do not broadcast: %lld against %lld", text_of(call, first),
                                   text_of(call, s), (long long)*o, (long long)s->dim[d]);
            }
        }
    }
    return true;
}

bool fsim_rule_elementwise(fsim_call *call)
{
    fsim_shape out;
    fsim_node *n = NULL;
    if (!broadcast(call, &out) || !(n = fsim_add_node(call, &out, 1)))
        return false;
    for (int i = 0; i < call->args; i++)
        fsim_read_broadcast(call, n, i, &out);
    return true;
}

/* To the dtype that it has: x itself, as PyTorch's `to`. */
bool fsim_rule_cast(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0);
    if (call->attrs.dtype != x->dtype)
        return fsim_rule_elementwise(call);
    const fsim_shape s = x->shape;
    call->result[0] = fsim_add_view(call->build, call->at, call->out[0], &s, call->arg[0], 0);
    return call->result[0] >= 0;
}

/* One slope for each channel of x[N, C, ...], or one for all. */
bool fsim_rule_prelu(fsim_call *call)
{
    const fsim_shape x = fsim_arg(call, 0)->shape, w = fsim_arg(call, 1)->shape;
    const int64_t slopes = fsim_elems(&w), channels = x.rank > 1 ? x.dim[1] : 1;
    fsim_shape wide = {.rank = x.rank > 1 ? x.rank - 1 : 0, .dim = {slopes, 1, 1, 1, 1, 1, 1, 1}};
    int arg[2] = {call->arg[0], call->arg[1]};
    if (!fsim_dtype_floating(fsim_arg(call, 0)->dtype))
        return fsim_refuse(call, "wants a float; found %s: cast it", fsim_dtype_names[fsim_arg(call, 0)->dtype]);
    if (w.rank > 1 || (slopes != 1 && slopes != channels))
        return fsim_refuse(call, "wants a weight of [%lld], or [1]; found %s", (long long)channels, text_of(call, &w));
    if (w.rank != wide.rank) {
        const char *name = fsim_printf(call->build->arena, "%s/weight", call->out[0]);
        if ((arg[1] = fsim_add_view(call->build, call->at, name, &wide, arg[1], 0)) < 0)
            return false;
    }
    call->arg = memcpy(fsim_new(call->build->arena, int, 2), arg, sizeof arg);
    return fsim_rule_elementwise(call);
}

/* Of bools the logical one. */
bool fsim_rule_bitwise_not(fsim_call *call)
{
    if (fsim_arg(call, 0)->dtype == FSIM_BOOL)
        call->op = FSIM_OP_LOGICAL_NOT;
    return fsim_rule_elementwise(call);
}

bool fsim_rule_hardtanh(fsim_call *call)
{
    if (call->attrs.min > call->attrs.max)
        return fsim_refuse(call, "'min' %g is above 'max' %g", call->attrs.min, call->attrs.max);
    return fsim_rule_elementwise(call);
}

/* torch.where, whose second and third operand may be numbers. */
bool fsim_rule_where(fsim_call *call)
{
    const bool input = call->list[FSIM_ATTR_INPUT].present, other = call->list[FSIM_ATTR_OTHER].present;
    if (isinf(call->attrs.input) || isinf(call->attrs.other))
        call->number = FSIM_FRACTION;
    call->op = input && other ? FSIM_OP_WHERE_SCALARS
               : input        ? FSIM_OP_WHERE_INPUT
               : other        ? FSIM_OP_WHERE_OTHER
                              : FSIM_OP_WHERE;
    return fsim_rule_elementwise(call);
}

/* One number more for each index: 1 at the index, 0 elsewhere. */
bool fsim_rule_one_hot(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0);
    fsim_shape out = x->shape, wide = x->shape;
    if (fsim_dtype_floating(x->dtype) || x->dtype == FSIM_BOOL)
        return fsim_refuse(call, "'%s' is %s; wants integers", x->name, fsim_dtype_names[x->dtype]);
    if (out.rank == FSIM_MAX_RANK)
        return fsim_refuse(call, "has %d dimensions; at most %d and that of the classes", out.rank, FSIM_MAX_RANK - 1);
    out.dim[out.rank++] = call->attrs.classes;
    wide.dim[wide.rank++] = 1;
    fsim_node *n = fsim_add_node(call, &out, 1);
    if (!n)
        return false;
    read_as(fsim_arg(call, 0), &wide, &out, &n->arg[0]);
    n->dtype = fsim_arg(call, 0)->dtype;
    return true;
}

/* start, start + step, ... up to end, without it. */
bool fsim_rule_arange(fsim_call *call)
{
    const fsim_list *start = &call->list[FSIM_ATTR_START], *end = &call->list[FSIM_ATTR_END];
    const int64_t step = call->attrs.step, span = end->count && start->count ? end->at[0] - start->at[0] : 0;
    if (start->count != 1 || end->count != 1)
        return fsim_refuse(call, "wants one 'start' and one 'end'");
    if (step == 0 || span == 0 || (span > 0) != (step > 0))
        return fsim_refuse(call, "has no numbers from %lld to %lld in steps of %lld", (long long)start->at[0],
                           (long long)end->at[0], (long long)step);
    call->attrs.first = start->at[0];
    const int64_t size = llabs(step), count = (llabs(span) + size - 1) / size;
    return fsim_add_node(call, &(fsim_shape){.rank = 1, .dim = {count}}, 1) != NULL;
}

bool fsim_rule_dropout(fsim_call *call)
{
    if (call->attrs.p > 1)
        return fsim_refuse(call, "'p' is %g; wants 0 to 1", call->attrs.p);
    call->attrs.scale = 1 / (1 - call->attrs.p);
    return fsim_rule_elementwise(call);
}

/* The one dimension of a tensor of this rank that the call works along. */
bool fsim_one_dim(const fsim_call *call, int rank, int *dim)
{
    const fsim_list *l = &call->list[FSIM_ATTR_DIMS];
    if (l->count != 1)
        return fsim_refuse(call, "'dim' names %d dimensions; wants one", l->count);
    return fsim_wrap_dim(call, rank, l->at[0], dim);
}

static bool check_operands(const fsim_call *call)
{
    if (call->args + call->attrs.has_scalar != 2)
        return fsim_refuse(call, "wants two tensors, or one and 'scalar'; found %d tensor%s%s", call->args,
                           call->args == 1 ? "" : "s", call->attrs.has_scalar ? " and a scalar" : "");
    return true;
}

bool fsim_rule_binary(fsim_call *call)
{
    if (!check_operands(call) || !fsim_rule_elementwise(call))
        return false;
    if (call->op == FSIM_OP_POW && call->attrs.has_scalar) { /* small whole powers and the square root are not powf */
        fsim_node *n = &call->build->graph->node[call->build->graph->nodes - 1];
        const double p = call->attrs.scalar;
        if (p == 2 || p == 3) {
            n->instructions = p - 1;
            n->specials = 0;
        } else if (p == 0.5) {
            n->instructions = fsim_ops[FSIM_OP_SQRT].instructions;
            n->specials = fsim_ops[FSIM_OP_SQRT].specials;
        }
    }
    if (call->op == FSIM_OP_DIV && call->attrs.has_scalar) { /* by a constant: a multiplication */
        fsim_node *n = &call->build->graph->node[call->build->graph->nodes - 1];
        n->instructions = 1;
        n->specials = 0;
    }
    return true;
}

bool fsim_rule_copy(fsim_call *call)
{
    if (call->op == FSIM_OP_COPY && call->list[FSIM_ATTR_ROLL].present && call->list[FSIM_ATTR_ROLL].at[0] != 0) {
        call->op = FSIM_OP_ROLL;
        return fsim_rule_roll(call);
    }
    return fsim_rule_elementwise(call);
}

bool fsim_shape_from(const fsim_call *call, fsim_attr which, fsim_shape *out)
{
    const fsim_list *l = &call->list[which];
    if (l->count > FSIM_MAX_RANK)
        return fsim_refuse(call, "rank %d is more than %d", l->count, FSIM_MAX_RANK);
    out->rank = l->count;
    for (int i = 0; i < l->count; i++)
        out->dim[i] = l->at[i];
    return true;
}

bool fsim_rule_fill(fsim_call *call)
{
    fsim_shape out;
    return fsim_shape_from(call, FSIM_ATTR_SHAPE, &out) && fsim_add_node(call, &out, 1);
}

/* Adds a primitive that reads every argument once, in order. */
bool fsim_add_whole(fsim_call *call, const fsim_shape *out)
{
    fsim_node *n = fsim_add_node(call, out, 1);
    if (!n)
        return false;
    for (int i = 0; i < call->args; i++) {
        n->arg[i].how = FSIM_READ_ONCE;
        n->arg[i].map.offset = fsim_arg(call, i)->offset;
    }
    return true;
}

/* The dimension along which an assembly joins its arguments, kept in node->attrs.dim[0] for code that computes it. */
bool fsim_keep_dim(fsim_call *call, int *dim)
{
    if (!fsim_one_dim(call, fsim_arg(call, 0)->shape.rank, dim))
        return false;
    call->attrs.has_dim = true;
    call->attrs.dim = *dim;
    return true;
}

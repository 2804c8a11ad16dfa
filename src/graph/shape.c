/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: the rules of primitives but contractions and windows: what comes out, and through which index map each input
 * is read. Shapes follow PyTorch. */
#include "graph/build.h"

#include <stdio.h>
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

bool fsim_refuse(const fsim_call *call, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
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
    t.bytes = t.elems * fsim_dtype_bytes(t.dtype);
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

fsim_node *fsim_add_node(fsim_call *call, const fsim_shape *shape, fsim_dtype dtype, int64_t reduced)
{
    fsim_build *b = call->build;
    fsim_graph *g = b->graph;
    const int result = fsim_add_tensor(b, call->at, call->out[0], shape, dtype, FSIM_MADE);
    if (result < 0)
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
                   .effect = call->effect};
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
    *FSIM_PUSH(b->arena, g->node, g->nodes, b->node_room) = n;
    return &g->node[g->nodes - 1];
}

/* A second result of the node made last: indices of max, sort and topk. */
static bool add_result(fsim_call *call, fsim_node *n, const fsim_shape *shape, fsim_dtype dtype)
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

/* Argument i broadcast to shape out, as an index map over out's elements. */
static void read_broadcast(const fsim_call *call, fsim_node *n, int i, const fsim_shape *out)
{
    const fsim_tensor *t = fsim_arg(call, i);
    int64_t stride[FSIM_MAX_RANK];
    fsim_map m = {.offset = t->offset};
    fsim_row_major(&t->shape, stride);
    for (int d = 0; d < out->rank; d++) {
        const int own = d - (out->rank - t->shape.rank);
        fsim_map_push(&m, out->dim[d], own < 0 || t->shape.dim[own] == 1 ? 0 : stride[own]);
    }
    m.split = m.modes;
    n->arg[i].map = fsim_map_simplify(m);
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

static bool elementwise(fsim_call *call, fsim_dtype dtype)
{
    fsim_shape out;
    fsim_node *n = NULL;
    if (!broadcast(call, &out) || !(n = fsim_add_node(call, &out, dtype, 1)))
        return false;
    for (int i = 0; i < call->args; i++)
        read_broadcast(call, n, i, &out);
    return true;
}

static fsim_dtype floating_of(fsim_dtype t) { return fsim_dtype_floating(t) ? t : FSIM_F32; }

fsim_dtype fsim_promoted(const fsim_call *call)
{
    fsim_dtype t = fsim_arg(call, 0)->dtype;
    for (int i = 1; i < call->args; i++) {
        const fsim_tensor *x = fsim_arg(call, i);
        const bool none = x->shape.rank == 0 || (i < 32 && (call->scalars >> i & 1));
        const bool scalar_like = none && fsim_dtype_floating(x->dtype) == fsim_dtype_floating(t);
        if (!scalar_like) /* a tensor without dimensions does not widen its kind */
            t = fsim_dtype_promote(t, x->dtype);
    }
    return t;
}

bool fsim_rule_same(fsim_call *call) { return elementwise(call, fsim_arg(call, 0)->dtype); }
bool fsim_rule_floating(fsim_call *call) { return elementwise(call, floating_of(fsim_arg(call, 0)->dtype)); }

/* The one dimension of a tensor of this rank that the call works along. */
static bool one_dim(const fsim_call *call, int rank, int *dim)
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
    if (!check_operands(call))
        return false;
    fsim_dtype t = fsim_promoted(call);
    const bool fraction = call->attrs.has_scalar && call->attrs.scalar != (double)(int64_t)call->attrs.scalar;
    if (call->op == FSIM_OP_DIV || fraction)
        t = floating_of(t);
    if (!elementwise(call, t))
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

bool fsim_rule_compare(fsim_call *call) { return check_operands(call) && elementwise(call, FSIM_BOOL); }

bool fsim_rule_where(fsim_call *call)
{
    return elementwise(call, fsim_dtype_promote(fsim_arg(call, 1)->dtype, fsim_arg(call, 2)->dtype));
}

bool fsim_rule_masked(fsim_call *call) { return elementwise(call, fsim_arg(call, 0)->dtype); }

bool fsim_rule_cast(fsim_call *call) { return elementwise(call, call->attrs.dtype); }

bool fsim_rule_copy(fsim_call *call)
{
    if (call->op == FSIM_OP_COPY && call->list[FSIM_ATTR_ROLL].given && call->list[FSIM_ATTR_ROLL].at[0] != 0) {
        call->op = FSIM_OP_ROLL;
        return fsim_rule_roll(call);
    }
    return elementwise(call, fsim_arg(call, 0)->dtype);
}

static bool shape_from(const fsim_call *call, fsim_attr which, fsim_shape *out)
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
    return shape_from(call, FSIM_ATTR_SHAPE, &out) && fsim_add_node(call, &out, call->attrs.dtype, 1);
}

/* Views and index maps. */

bool fsim_rule_reshape(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    fsim_shape out = {0};
    int guess = -1;
    double known = 1;
    if (!shape_from(call, FSIM_ATTR_SHAPE, &out))
        return false;
    for (int i = 0; i < out.rank; i++) {
        if (out.dim[i] == -1) {
            if (guess >= 0)
                return fsim_refuse(call, "only one dimension may be -1");
            guess = i;
        } else {
            known *= (double)out.dim[i];
        }
    }
    if (guess >= 0)
        out.dim[guess] =
            known > 0 && known <= (double)t->elems && t->elems % (int64_t)known == 0 ? t->elems / (int64_t)known : 0;
    double elems = 1;
    for (int i = 0; i < out.rank; i++)
        elems *= (double)out.dim[i];
    if (elems != (double)t->elems)
        return fsim_refuse(call, "cannot view %s (%lld elements) as %s", text_of(call, &t->shape), (long long)t->elems,
                           text_of(call, &out));
    call->result[0] = fsim_add_view(call->build, call->at, call->out[0], &out, call->arg[0], 0);
    return call->result[0] >= 0;
}

/* One primitive whose only argument is read through m. */
static bool through(fsim_call *call, const fsim_shape *out, fsim_map m)
{
    fsim_node *n = fsim_add_node(call, out, fsim_arg(call, 0)->dtype, 1);
    if (!n)
        return false;
    m.offset += fsim_arg(call, 0)->offset;
    m.split = m.modes;
    n->arg[0].map = fsim_map_simplify(m);
    bool exact;
    n->arg[0].distinct = fsim_map_distinct(&n->arg[0].map, &exact);
    return true;
}

static bool permuted(fsim_call *call, const int *order)
{
    const fsim_shape *in = &fsim_arg(call, 0)->shape;
    int64_t stride[FSIM_MAX_RANK];
    fsim_shape out = {.rank = in->rank};
    fsim_map m = {0};
    fsim_row_major(in, stride);
    for (int i = 0; i < in->rank; i++) {
        out.dim[i] = in->dim[order[i]];
        fsim_map_push(&m, out.dim[i], stride[order[i]]);
    }
    return through(call, &out, m);
}

bool fsim_rule_permute(fsim_call *call)
{
    const fsim_list *l = &call->list[FSIM_ATTR_DIMS];
    const int rank = fsim_arg(call, 0)->shape.rank;
    int order[FSIM_MAX_RANK], seen = 0;
    if (l->count != rank)
        return fsim_refuse(call, "'dims' lists %d of the tensor's %d dimensions", l->count, rank);
    for (int i = 0; i < rank; i++) {
        if (!fsim_wrap_dim(call, rank, l->at[i], &order[i]))
            return false;
        if (seen & 1 << order[i])
            return fsim_refuse(call, "'dims' names dimension %d twice", order[i]);
        seen |= 1 << order[i];
    }
    return permuted(call, order);
}

bool fsim_rule_transpose(fsim_call *call)
{
    const fsim_list *l = &call->list[FSIM_ATTR_DIMS];
    const int rank = fsim_arg(call, 0)->shape.rank;
    int order[FSIM_MAX_RANK], i, j;
    if (l->given && l->count != 2)
        return fsim_refuse(call, "'dims' names the two dimensions to swap; found %d", l->count);
    if (!l->given && rank < 2)
        return fsim_refuse(call, "wants 'dims: [i, j]'");
    if (!fsim_wrap_dim(call, rank, l->given ? l->at[0] : -2, &i) ||
        !fsim_wrap_dim(call, rank, l->given ? l->at[1] : -1, &j))
        return false;
    for (int d = 0; d < rank; d++)
        order[d] = d;
    order[i] = j;
    order[j] = i;
    return permuted(call, order);
}

/* A box of the argument: a view when its elements are contiguous. */
static bool boxed(fsim_call *call, const int64_t *start, const fsim_shape *out)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    int64_t stride[FSIM_MAX_RANK], offset = 0;
    bool contiguous = true, cut = false;
    fsim_map m = {0};
    fsim_row_major(&t->shape, stride);
    for (int d = out->rank; d-- > 0;) {
        if (start[d] < 0 || out->dim[d] < 1 || start[d] + out->dim[d] > t->shape.dim[d])
            return fsim_refuse(call, "elements %lld to %lld of dimension %d, which has %lld", (long long)start[d],
                               (long long)(start[d] + out->dim[d] - 1), d, (long long)t->shape.dim[d]);
        offset += start[d] * stride[d];
        contiguous = contiguous && (!cut || out->dim[d] == 1);
        cut = cut || out->dim[d] != t->shape.dim[d];
    }
    if (contiguous) {
        call->result[0] = fsim_add_view(call->build, call->at, call->out[0], out, call->arg[0], offset);
        return call->result[0] >= 0;
    }
    for (int d = 0; d < out->rank; d++)
        fsim_map_push(&m, out->dim[d], stride[d]);
    m.offset = offset;
    return through(call, out, m);
}

bool fsim_rule_slice(fsim_call *call)
{
    const fsim_list *start = &call->list[FSIM_ATTR_START], *size = &call->list[FSIM_ATTR_SIZE],
                    *dims = &call->list[FSIM_ATTR_DIMS];
    fsim_shape out = fsim_arg(call, 0)->shape;
    int64_t from[FSIM_MAX_RANK] = {0};
    if (start->count != size->count)
        return fsim_refuse(call, "wants 'start' and 'size' of equal length");
    if (!dims->given && start->count != out.rank && !(start->count == 1 && out.rank >= 1 && start->whole))
        return fsim_refuse(call, "'start' has %d entries for %d dimensions", start->count, out.rank);
    if (dims->given && dims->count != start->count)
        return fsim_refuse(call, "'dim' and 'start' differ in length");
    for (int i = 0; i < start->count; i++) {
        int d = i;
        if (dims->given && !fsim_wrap_dim(call, out.rank, dims->at[i], &d))
            return false;
        from[d] = start->at[i] < 0 ? start->at[i] + out.dim[d] : start->at[i];
        out.dim[d] = size->at[i];
    }
    return boxed(call, from, &out);
}

bool fsim_rule_split(fsim_call *call)
{
    const fsim_list *size = &call->list[FSIM_ATTR_SIZE];
    const fsim_shape in = fsim_arg(call, 0)->shape;
    int dim;
    if (!one_dim(call, in.rank, &dim))
        return false;
    int64_t at = 0;
    for (int i = 0; i < call->outs; i++) {
        int64_t from[FSIM_MAX_RANK] = {0};
        fsim_shape out = in;
        if (size->given && size->count > 1 && size->count != call->outs)
            return fsim_refuse(call, "%d sizes for %d outputs", size->count, call->outs);
        out.dim[dim] = !size->given      ? (in.dim[dim] + call->outs - 1) / call->outs
                       : size->count > 1 ? size->at[i]
                                         : size->at[0];
        if (at + out.dim[dim] > in.dim[dim] && size->count <= 1)
            out.dim[dim] = in.dim[dim] - at;
        from[dim] = at;
        at += out.dim[dim];
        fsim_call one = *call;
        one.op = FSIM_OP_SLICE;
        one.out = &call->out[i];
        one.outs = 1;
        one.result = &call->result[i];
        if (!boxed(&one, from, &out))
            return false;
    }
    if (at != in.dim[dim])
        return fsim_refuse(call, "the pieces hold %lld of dimension %d's %lld", (long long)at, dim,
                           (long long)in.dim[dim]);
    return true;
}

bool fsim_rule_expand(fsim_call *call)
{
    const fsim_shape *in = &fsim_arg(call, 0)->shape;
    const fsim_list *repeats = &call->list[FSIM_ATTR_REPEATS];
    int64_t stride[FSIM_MAX_RANK];
    fsim_shape out = {0};
    fsim_map m = {0};
    fsim_row_major(in, stride);
    if (!repeats->given && !call->list[FSIM_ATTR_SHAPE].given)
        return fsim_refuse(call, "wants 'shape' or 'repeats'");
    if (!shape_from(call, repeats->given ? FSIM_ATTR_REPEATS : FSIM_ATTR_SHAPE, &out))
        return false;
    if (out.rank < in->rank)
        return fsim_refuse(call, "cannot expand %s to rank %d", text_of(call, in), out.rank);
    for (int d = 0; d < out.rank; d++) {
        const int own = d - (out.rank - in->rank);
        const int64_t have = own < 0 ? 1 : in->dim[own], step = own < 0 ? 0 : stride[own];
        if (repeats->given) {
            const int64_t times = out.dim[d];
            if (times < 1 || times > FSIM_MAX_DIM / have)
                return fsim_refuse(call, "repeats %lld is out of range", (long long)times);
            fsim_map_push(&m, times, 0);
            fsim_map_push(&m, have, step);
            out.dim[d] = times * have;
            continue;
        }
        if (out.dim[d] == -1)
            out.dim[d] = have;
        if (have != 1 && have != out.dim[d])
            return fsim_refuse(call, "cannot expand %s to %s", text_of(call, in), text_of(call, &out));
        fsim_map_push(&m, out.dim[d], have == 1 ? 0 : step);
    }
    if (m.modes > FSIM_MAX_MODES)
        return fsim_refuse(call, "too many dimensions");
    return through(call, &out, m);
}

bool fsim_rule_flip(fsim_call *call)
{
    const fsim_shape in = fsim_arg(call, 0)->shape;
    const fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    int64_t stride[FSIM_MAX_RANK];
    int flipped = 0;
    fsim_map m = {0};
    fsim_row_major(&in, stride);
    for (int i = 0; i < dims->count; i++) {
        int d;
        if (!fsim_wrap_dim(call, in.rank, dims->at[i], &d))
            return false;
        flipped |= 1 << d;
    }
    for (int d = 0; d < in.rank; d++) {
        const bool back = flipped & 1 << d;
        fsim_map_push(&m, in.dim[d], back ? -stride[d] : stride[d]);
        m.offset += back ? stride[d] * (in.dim[d] - 1) : 0;
    }
    return through(call, &in, m);
}

/* Halves of the last dimension swapped (the first negated): rotary embedding's partner of each element. */
bool fsim_rule_rotate_half(fsim_call *call)
{
    const fsim_shape in = fsim_arg(call, 0)->shape;
    const int64_t last = in.rank ? in.dim[in.rank - 1] : 1;
    if (last % 2 != 0)
        return fsim_refuse(call, "wants an even last dimension; found %lld", (long long)last);
    fsim_map m = {.offset = last / 2};
    fsim_map_push(&m, fsim_elems(&in) / last, last);
    fsim_map_push(&m, 2, -(last / 2));
    fsim_map_push(&m, last / 2, 1);
    return through(call, &in, m);
}

/* Assemblies. */

static bool assemble(fsim_call *call, const fsim_shape *out, fsim_dtype dtype)
{
    fsim_node *n = fsim_add_node(call, out, dtype, 1);
    if (!n)
        return false;
    for (int i = 0; i < call->args; i++) {
        n->arg[i].how = FSIM_READ_ONCE;
        n->arg[i].map.offset = fsim_arg(call, i)->offset;
    }
    return true;
}

static void read_piece(const fsim_call *call, fsim_access *x, const fsim_tensor *t, const fsim_cut *cut, int cuts)
{
    fsim_cut *own = fsim_new(call->build->arena, fsim_cut, cuts);
    memcpy(own, cut, (size_t)cuts * sizeof *cut);
    x->how = FSIM_READ_PIECE;
    x->cut = own;
    x->cuts = cuts;
    x->map = (fsim_map){.offset = t->offset};
}

bool fsim_rule_concat(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    fsim_dtype dtype = fsim_arg(call, 0)->dtype;
    int64_t stride[FSIM_MAX_RANK], at = 0;
    int dim;
    if (!one_dim(call, out.rank, &dim))
        return false;
    for (int i = 1; i < call->args; i++) {
        const fsim_shape *s = &fsim_arg(call, i)->shape;
        dtype = fsim_dtype_promote(dtype, fsim_arg(call, i)->dtype);
        if (s->rank != out.rank)
            return fsim_refuse(call, "ranks %d and %d differ", out.rank, s->rank);
        for (int d = 0; d < out.rank; d++)
            if (d != dim && s->dim[d] != out.dim[d])
                return fsim_refuse(call, "shapes %s and %s differ outside dimension %d", text_of(call, &out),
                                   text_of(call, s), dim);
        out.dim[dim] += s->dim[dim];
        if (out.dim[dim] > FSIM_MAX_DIM)
            return fsim_refuse(call, "dimension %d grows beyond %lld", dim, (long long)FSIM_MAX_DIM);
    }
    fsim_node *n = out.rank ? fsim_add_node(call, &out, dtype, 1) : NULL;
    if (!n)
        return out.rank ? false : fsim_refuse(call, "wants tensors of at least one dimension");
    fsim_row_major(&out, stride);
    for (int i = 0; i < call->args; i++) {
        const fsim_tensor *t = fsim_arg(call, i);
        const int64_t size = t->shape.dim[dim];
        read_piece(call, &n->arg[i], t, &(fsim_cut){stride[dim], out.dim[dim], at, size, size, 0}, 1);
        at += size;
    }
    return true;
}

bool fsim_rule_pad(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    fsim_shape out = t->shape;
    fsim_cut cut[FSIM_MAX_RANK];
    int64_t inner = 1, kept = 1;
    int cuts = 0;
    const fsim_list *pads = &call->list[FSIM_ATTR_PADDING];
    if (pads->count % 2 != 0 || pads->count > 2 * out.rank)
        return fsim_refuse(call, "wants 'padding' as pairs of before and after, last dimension first");
    for (int i = 0; i < out.rank; i++) { /* innermost first: a cut's `inner` counts the source's elements */
        const int64_t have = t->shape.dim[out.rank - 1 - i];
        const bool given = i < pads->count / 2;
        const int64_t before = given ? pads->at[2 * i] : 0, after = given ? pads->at[2 * i + 1] : 0;
        if (before > FSIM_MAX_DIM || before < -FSIM_MAX_DIM || after > FSIM_MAX_DIM || after < -FSIM_MAX_DIM)
            return fsim_refuse(call, "padding of %lld and %lld elements", (long long)before, (long long)after);
        const int64_t first = before > 0 ? before : 0, skipped = before < 0 ? -before : 0;
        const int64_t size = have - skipped + (after < 0 ? after : 0);
        out.dim[out.rank - 1 - i] = have + before + after;
        if (before != 0 || after != 0)
            cut[cuts++] = (fsim_cut){inner, have + before + after, first, size > 0 ? size : 0, have, skipped};
        inner *= have;
        kept *= size > 0 ? size : 0;
    }
    fsim_node *n = fsim_add_node(call, &out, t->dtype, 1);
    if (!n)
        return false;
    read_piece(call, &n->arg[0], fsim_arg(call, 0), cut, cuts);
    n->arg[0].distinct = kept;
    return true;
}

/* The shift of each dimension that moves, as the two cuts that meet at the seam. */
static bool shifts(const fsim_call *call, const fsim_shape *s, fsim_cut (*seam)[2], int *moved)
{
    const fsim_list *by = &call->list[FSIM_ATTR_ROLL], *dims = &call->list[FSIM_ATTR_DIMS];
    int64_t stride[FSIM_MAX_RANK];
    fsim_row_major(s, stride);
    *moved = 0;
    for (int i = 0; i < by->count; i++) {
        int d = s->rank ? s->rank - 1 : 0;
        if (dims->given && (i >= dims->count || !fsim_wrap_dim(call, s->rank, dims->at[i], &d)))
            return i < dims->count
                       ? false
                       : fsim_refuse(call, "'roll' has %d entries for %d dimensions", by->count, dims->count);
        if (s->rank == 0 || (!dims->given && i > 0))
            break; /* without dims: once over all elements in order */
        const int64_t inner = dims->given ? stride[d] : 1, extent = dims->given ? s->dim[d] : fsim_elems(s);
        const int64_t shift = (by->at[i] % extent + extent) % extent;
        if (shift == 0)
            continue;
        seam[*moved][0] = (fsim_cut){inner, extent, shift, extent - shift, extent, 0};
        seam[(*moved)++][1] = (fsim_cut){inner, extent, 0, shift, extent, extent - shift};
    }
    return true;
}

bool fsim_rule_roll(fsim_call *call)
{
    const fsim_tensor t = *fsim_arg(call, 0);
    fsim_cut seam[FSIM_MAX_RANK][2], cut[FSIM_MAX_RANK];
    int moved;
    if (call->list[FSIM_ATTR_ROLL].count > FSIM_MAX_RANK)
        return fsim_refuse(call, "'roll' has %d entries; at most %d", call->list[FSIM_ATTR_ROLL].count, FSIM_MAX_RANK);
    if (!shifts(call, &t.shape, seam, &moved))
        return false;
    fsim_node *n = fsim_add_node(call, &t.shape, t.dtype, 1);
    if (!n)
        return false;
    const fsim_access whole = n->arg[0];
    n->args = 1 << moved;
    n->arg = fsim_new(call->build->arena, fsim_access, n->args);
    for (int i = 0; i < n->args; i++) { /* one box for each choice of a side of every seam */
        for (int k = 0; k < moved; k++)
            cut[k] = seam[k][i >> k & 1];
        n->arg[i] = whole;
        read_piece(call, &n->arg[i], &t, cut, moved);
    }
    return true;
}

/* Gathers: rows of a table at places that are data. */

static bool gathered(fsim_call *call, int table, int index)
{
    const fsim_tensor *t = fsim_arg(call, table), *at = fsim_arg(call, index);
    fsim_shape out = at->shape;
    if (t->shape.rank < 1 || at->shape.rank + t->shape.rank - 1 > FSIM_MAX_RANK)
        return fsim_refuse(call, "cannot take rows of %s at %s", text_of(call, &t->shape), text_of(call, &at->shape));
    if (fsim_dtype_floating(at->dtype) && at->dtype != FSIM_F32)
        return fsim_refuse(call, "the index '%s' is %s; wants integers", at->name, fsim_dtype_names[at->dtype]);
    int64_t run = 1;
    for (int d = 1; d < t->shape.rank; d++) {
        out.dim[out.rank++] = t->shape.dim[d];
        run *= t->shape.dim[d];
    }
    const int64_t rows = at->elems, offset = at->offset, have = t->elems;
    fsim_node *n = fsim_add_node(call, &out, t->dtype, 1);
    if (!n)
        return false;
    n->arg[table].how = FSIM_READ_INDIRECT;
    n->arg[table].rows = rows;
    n->arg[table].run = run;
    n->arg[table].distinct = rows * run < have ? rows * run : have;
    n->arg[table].map.offset = fsim_arg(call, table)->offset;
    fsim_map_push(&n->arg[table].map, rows, 0);
    fsim_map_push(&n->arg[table].map, run, 1);
    n->arg[table].map.split = n->arg[table].map.modes;
    n->arg[table].any = (fsim_mode){have / run, run};
    fsim_map m = {.offset = offset};
    fsim_map_push(&m, rows, 1);
    fsim_map_push(&m, run, 0);
    m.split = m.modes;
    n->arg[index].map = fsim_map_simplify(m);
    return true;
}

bool fsim_rule_gather(fsim_call *call) { return gathered(call, 0, 1); }
bool fsim_rule_embedding(fsim_call *call) { return gathered(call, 1, 0); }

/* One class of x[N, C, ...] for each target[N, ...]. */
bool fsim_rule_pick(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0), *target = fsim_arg(call, 1);
    const fsim_shape out = target->shape;
    const int64_t rows = target->elems;
    if (x->elems % rows != 0)
        return fsim_refuse(call, "target %s does not match %s", text_of(call, &out), text_of(call, &x->shape));
    const int64_t classes = x->elems / rows,
                  inner = x->shape.rank && rows % x->shape.dim[0] == 0 ? rows / x->shape.dim[0] : 1; /* x[N, C, ...] */
    fsim_node *n = fsim_add_node(call, &out, x->dtype, 1);
    if (!n)
        return false;
    n->arg[0].how = FSIM_READ_INDIRECT;
    n->arg[0].rows = rows;
    n->arg[0].run = 1;
    n->arg[0].distinct = rows;
    n->arg[0].any = (fsim_mode){classes, inner};
    n->arg[0].map.offset = fsim_arg(call, 0)->offset;
    fsim_map_push(&n->arg[0].map, rows / inner, classes * inner);
    fsim_map_push(&n->arg[0].map, inner, 1);
    n->arg[0].map.split = n->arg[0].map.modes;
    read_broadcast(call, n, 1, &out);
    return true;
}

/* The dimension that an assembly works along, kept for who computes it: node->attrs.dim[0]. */
static bool keep_dim(fsim_call *call, int *dim)
{
    if (!one_dim(call, fsim_arg(call, 0)->shape.rank, dim))
        return false;
    call->attrs.dims = 1;
    call->attrs.dim[0] = *dim;
    return true;
}

bool fsim_rule_scatter(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    return keep_dim(call, &dim) && assemble(call, &out, fsim_arg(call, 0)->dtype);
}

/* Reductions. */

bool fsim_rule_reduce(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    const fsim_shape in = t->shape;
    const fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    int64_t stride[FSIM_MAX_RANK], reduced = 1;
    unsigned gone = 0;
    fsim_shape out = {0};
    fsim_map m = {.offset = t->offset};
    fsim_row_major(&in, stride);
    for (int i = 0; i < dims->count; i++) {
        int d;
        if (!fsim_wrap_dim(call, in.rank, dims->at[i], &d))
            return false;
        if (gone & 1u << d)
            return fsim_refuse(call, "dimension %d is reduced twice", d);
        gone |= 1u << d;
    }
    if (!dims->given || dims->count == 0)
        gone = (1u << in.rank) - 1;
    for (int d = 0; d < in.rank; d++) {
        if (gone & 1u << d)
            reduced *= in.dim[d];
        else
            fsim_map_push(&m, in.dim[d], stride[d]);
        if (!(gone & 1u << d) || call->attrs.keepdim)
            out.dim[out.rank++] = gone & 1u << d ? 1 : in.dim[d];
    }
    m.split = m.modes;
    for (int d = 0; d < in.rank; d++)
        if (gone & 1u << d)
            fsim_map_push(&m, in.dim[d], stride[d]);
    const bool indices = call->op == FSIM_OP_ARGMAX || call->op == FSIM_OP_ARGMIN;
    const fsim_dtype dtype = indices ? FSIM_I64
                             : (call->op == FSIM_OP_SUM || call->op == FSIM_OP_PROD) && !fsim_dtype_floating(t->dtype)
                                 ? FSIM_I64
                             : call->op == FSIM_OP_MEAN || call->op == FSIM_OP_NORM ? floating_of(t->dtype)
                                                                                    : t->dtype;
    fsim_node *n = fsim_add_node(call, &out, dtype, reduced);
    if (!n)
        return false;
    n->arg[0].map = fsim_map_simplify(m);
    n->dtype = fsim_arg(call, 0)->dtype;
    return add_result(call, n, &out, FSIM_I64);
}

bool fsim_rule_scan(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    return keep_dim(call, &dim) && assemble(call, &out, fsim_arg(call, 0)->dtype);
}

/* Boundaries. */

bool fsim_rule_sort(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    return keep_dim(call, &dim) && assemble(call, &out, fsim_arg(call, 0)->dtype) &&
           add_result(call, &call->build->graph->node[call->build->graph->nodes - 1], &out, FSIM_I64);
}

bool fsim_rule_topk(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    if (!keep_dim(call, &dim))
        return false;
    if (call->attrs.k < 1 || (out.rank && call->attrs.k > out.dim[dim]))
        return fsim_refuse(call, "k is %lld; dimension %d has %lld", (long long)call->attrs.k, dim,
                           (long long)(out.rank ? out.dim[dim] : 1));
    if (out.rank)
        out.dim[dim] = call->attrs.k;
    return assemble(call, &out, fsim_arg(call, 0)->dtype) &&
           add_result(call, &call->build->graph->node[call->build->graph->nodes - 1], &out, FSIM_I64);
}

bool fsim_rule_communicate(fsim_call *call)
{
    fsim_shape out = {0};
    if (call->args)
        out = fsim_arg(call, 0)->shape;
    if (call->list[FSIM_ATTR_SHAPE].given && !shape_from(call, FSIM_ATTR_SHAPE, &out))
        return false;
    const int64_t devices = call->list[FSIM_ATTR_SIZE].count ? call->list[FSIM_ATTR_SIZE].at[0] : 1;
    const int first = call->examples > 0; /* the dimension that is gathered or scattered */
    if (out.rank > first && !call->list[FSIM_ATTR_SHAPE].given && devices > 1) {
        int64_t *rows = &out.dim[first];
        if (call->op == FSIM_OP_ALL_GATHER)
            *rows *= devices <= FSIM_MAX_DIM / *rows ? devices : FSIM_MAX_DIM;
        if (call->op == FSIM_OP_REDUCE_SCATTER) {
            if (*rows % devices != 0)
                return fsim_refuse(call, "%lld rows do not divide over %lld devices", (long long)*rows,
                                   (long long)devices);
            *rows /= devices;
        }
    }
    if (!call->args && !call->list[FSIM_ATTR_SHAPE].given)
        return fsim_refuse(call, "wants 'shape' where it has no input");
    const fsim_dtype dtype = call->attrs.dtype != FSIM_DTYPE_NONE ? call->attrs.dtype
                             : call->args                         ? fsim_arg(call, 0)->dtype
                                                                  : FSIM_F32;
    call->effect = true;
    return assemble(call, &out, dtype);
}

bool fsim_rule_custom(fsim_call *call)
{
    fsim_shape out = {0};
    if (call->args)
        out = fsim_arg(call, 0)->shape;
    if (call->list[FSIM_ATTR_SHAPE].given && !shape_from(call, FSIM_ATTR_SHAPE, &out))
        return false;
    if (!call->args && !call->list[FSIM_ATTR_SHAPE].given)
        return fsim_refuse(call, "wants 'shape' where it has no input");
    return assemble(call, &out,
                    call->attrs.dtype != FSIM_DTYPE_NONE ? call->attrs.dtype
                    : call->args                         ? fsim_arg(call, 0)->dtype
                                                         : FSIM_F32);
}

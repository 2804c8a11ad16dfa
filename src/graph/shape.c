/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: the rules of primitives: what comes out, and through which index map each input is read. Shapes follow PyTorch. */
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

static const char *text_of(const fsim_call *call, const fsim_shape *s) { return fsim_shape_text(call->build->arena, s); }

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
        fsim_error(b->diag, t.at, "tensor '%s' of shape %s has %.3g elements; at most %lld", t.name, fsim_shape_text(b->arena, &t.shape),
                   elems, (long long)FSIM_MAX_ELEMS);
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

int fsim_add_tensor(fsim_build *b, fsim_loc at, const char *name, const fsim_shape *shape, fsim_dtype dtype, fsim_role role)
{
    return add_tensor(b, (fsim_tensor){.name = name, .at = at, .shape = *shape, .dtype = dtype, .role = role, .storage = -1});
}

int fsim_add_view(fsim_build *b, fsim_loc at, const char *name, const fsim_shape *shape, int of, int64_t offset)
{
    const fsim_tensor *base = &b->graph->tensor[of];
    return add_tensor(b, (fsim_tensor){.name = name, .at = at, .shape = *shape, .dtype = base->dtype, .role = base->role,
                                       .storage = base->storage, .offset = base->offset + offset});
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
    fsim_node n = {.op = call->op, .name = call->out[0], .source = call->source, .args = call->args, .results = 1, .at = call->at,
                   .reduced = reduced, .attrs = call->attrs, .flops = row->flops, .instructions = row->instructions,
                   .specials = row->specials, .dtype = dtype, .effect = call->effect};
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

static void row_major(const fsim_shape *s, int64_t *stride)
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
    row_major(&t->shape, stride);
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
                return fsim_refuse(call, "shapes %s and %s do not broadcast: %lld against %lld", text_of(call, first), text_of(call, s),
                                   (long long)*o, (long long)s->dim[d]);
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

static fsim_dtype promoted(const fsim_call *call)
{
    fsim_dtype t = fsim_arg(call, 0)->dtype;
    for (int i = 1; i < call->args; i++) {
        const fsim_tensor *x = fsim_arg(call, i);
        const bool scalar_like = x->shape.rank == 0 && fsim_dtype_floating(x->dtype) == fsim_dtype_floating(t);
        if (!scalar_like) /* a tensor without dimensions does not widen its kind */
            t = fsim_dtype_promote(t, x->dtype);
    }
    return t;
}

bool fsim_rule_same(fsim_call *call) { return elementwise(call, fsim_arg(call, 0)->dtype); }
bool fsim_rule_floating(fsim_call *call) { return elementwise(call, floating_of(fsim_arg(call, 0)->dtype)); }

static bool check_operands(const fsim_call *call)
{
    if (call->args + call->attrs.has_scalar != 2)
        return fsim_refuse(call, "wants two tensors, or one and 'scalar'; found %d tensor%s%s", call->args, call->args == 1 ? "" : "s",
                           call->attrs.has_scalar ? " and a scalar" : "");
    return true;
}

bool fsim_rule_binary(fsim_call *call)
{
    if (!check_operands(call))
        return false;
    fsim_dtype t = promoted(call);
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

bool fsim_rule_cast(fsim_call *call)
{
    if (call->attrs.dtype == FSIM_DTYPE_NONE)
        return fsim_refuse(call, "wants 'dtype'");
    return elementwise(call, call->attrs.dtype);
}

bool fsim_rule_copy(fsim_call *call)
{
    if (call->op == FSIM_OP_COPY && call->list[FSIM_LIST_ROLL].given && call->list[FSIM_LIST_ROLL].at[0] != 0) {
        call->op = FSIM_OP_ROLL;
        return fsim_rule_roll(call);
    }
    return elementwise(call, fsim_arg(call, 0)->dtype);
}

static bool shape_from(const fsim_call *call, fsim_list_id which, fsim_shape *out)
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
    if (!call->list[FSIM_LIST_SHAPE].given)
        return fsim_refuse(call, "wants 'shape'");
    return shape_from(call, FSIM_LIST_SHAPE, &out) &&
           fsim_add_node(call, &out, call->attrs.dtype == FSIM_DTYPE_NONE ? FSIM_F32 : call->attrs.dtype, 1);
}

/* Views and index maps. */

bool fsim_rule_reshape(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    fsim_shape out = {0};
    int guess = -1;
    double known = 1;
    if (!call->list[FSIM_LIST_SHAPE].given)
        return fsim_refuse(call, "wants 'shape'");
    if (!shape_from(call, FSIM_LIST_SHAPE, &out))
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
        out.dim[guess] = known > 0 && known <= (double)t->elems && t->elems % (int64_t)known == 0 ? t->elems / (int64_t)known : 0;
    double elems = 1;
    for (int i = 0; i < out.rank; i++)
        elems *= (double)out.dim[i];
    if (elems != (double)t->elems)
        return fsim_refuse(call, "cannot view %s (%lld elements) as %s", text_of(call, &t->shape), (long long)t->elems, text_of(call, &out));
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
    row_major(in, stride);
    for (int i = 0; i < in->rank; i++) {
        out.dim[i] = in->dim[order[i]];
        fsim_map_push(&m, out.dim[i], stride[order[i]]);
    }
    return through(call, &out, m);
}

bool fsim_rule_permute(fsim_call *call)
{
    const fsim_list *l = &call->list[FSIM_LIST_DIMS];
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
    const fsim_list *l = &call->list[FSIM_LIST_DIMS];
    const int rank = fsim_arg(call, 0)->shape.rank;
    int order[FSIM_MAX_RANK], i, j;
    if (l->given && l->count != 2)
        return fsim_refuse(call, "'dims' names the two dimensions to swap; found %d", l->count);
    if (!l->given && rank < 2)
        return fsim_refuse(call, "wants 'dims: [i, j]'");
    if (!fsim_wrap_dim(call, rank, l->given ? l->at[0] : -2, &i) || !fsim_wrap_dim(call, rank, l->given ? l->at[1] : -1, &j))
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
    row_major(&t->shape, stride);
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
    const fsim_list *start = &call->list[FSIM_LIST_START], *size = &call->list[FSIM_LIST_SIZE], *dims = &call->list[FSIM_LIST_DIMS];
    fsim_shape out = fsim_arg(call, 0)->shape;
    int64_t from[FSIM_MAX_RANK] = {0};
    if (!start->given || !size->given || start->count != size->count)
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
    const fsim_list *size = &call->list[FSIM_LIST_SIZE];
    const fsim_shape in = fsim_arg(call, 0)->shape;
    int dim;
    if (!fsim_wrap_dim(call, in.rank, call->list[FSIM_LIST_DIMS].given ? call->list[FSIM_LIST_DIMS].at[0] : 0, &dim))
        return false;
    int64_t at = 0;
    for (int i = 0; i < call->outs; i++) {
        int64_t from[FSIM_MAX_RANK] = {0};
        fsim_shape out = in;
        if (size->given && size->count > 1 && size->count != call->outs)
            return fsim_refuse(call, "%d sizes for %d outputs", size->count, call->outs);
        out.dim[dim] = !size->given ? (in.dim[dim] + call->outs - 1) / call->outs : size->count > 1 ? size->at[i] : size->at[0];
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
        return fsim_refuse(call, "the pieces hold %lld of dimension %d's %lld", (long long)at, dim, (long long)in.dim[dim]);
    return true;
}

bool fsim_rule_expand(fsim_call *call)
{
    const fsim_shape *in = &fsim_arg(call, 0)->shape;
    const fsim_list *repeats = &call->list[FSIM_LIST_REPEATS];
    int64_t stride[FSIM_MAX_RANK];
    fsim_shape out = {0};
    fsim_map m = {0};
    row_major(in, stride);
    if (!repeats->given && !call->list[FSIM_LIST_SHAPE].given)
        return fsim_refuse(call, "wants 'shape' or 'repeats'");
    if (!shape_from(call, repeats->given ? FSIM_LIST_REPEATS : FSIM_LIST_SHAPE, &out))
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
    const fsim_list *dims = &call->list[FSIM_LIST_DIMS];
    int64_t stride[FSIM_MAX_RANK];
    int flipped = 0;
    fsim_map m = {0};
    row_major(&in, stride);
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

/* Assemblies: every element once. */

static bool assemble(fsim_call *call, const fsim_shape *out, fsim_dtype dtype)
{
    fsim_node *n = fsim_add_node(call, out, dtype, 1);
    if (!n)
        return false;
    for (int i = 0; i < call->args; i++)
        n->arg[i].how = FSIM_READ_ONCE;
    return true;
}

bool fsim_rule_concat(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    fsim_dtype dtype = fsim_arg(call, 0)->dtype;
    int dim;
    if (!fsim_wrap_dim(call, out.rank, call->list[FSIM_LIST_DIMS].given ? call->list[FSIM_LIST_DIMS].at[0] : 0, &dim))
        return false;
    for (int i = 1; i < call->args; i++) {
        const fsim_shape *s = &fsim_arg(call, i)->shape;
        dtype = fsim_dtype_promote(dtype, fsim_arg(call, i)->dtype);
        if (s->rank != out.rank)
            return fsim_refuse(call, "ranks %d and %d differ", out.rank, s->rank);
        for (int d = 0; d < out.rank; d++)
            if (d != dim && s->dim[d] != out.dim[d])
                return fsim_refuse(call, "shapes %s and %s differ outside dimension %d", text_of(call, &out), text_of(call, s), dim);
        out.dim[dim] += s->dim[dim];
        if (out.dim[dim] > FSIM_MAX_DIM)
            return fsim_refuse(call, "dimension %d grows beyond %lld", dim, (long long)FSIM_MAX_DIM);
    }
    return assemble(call, &out, dtype);
}

bool fsim_rule_pad(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    const fsim_list *pads = &call->list[FSIM_LIST_PADDING];
    if (!pads->given || pads->count % 2 != 0 || pads->count > 2 * out.rank)
        return fsim_refuse(call, "wants 'padding' as pairs of before and after, last dimension first");
    for (int i = 0; i < pads->count / 2; i++)
        out.dim[out.rank - 1 - i] += pads->at[2 * i] + pads->at[2 * i + 1];
    return assemble(call, &out, fsim_arg(call, 0)->dtype);
}

bool fsim_rule_roll(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    return assemble(call, &out, fsim_arg(call, 0)->dtype);
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
    fsim_node *n = fsim_add_node(call, &out, x->dtype, 1);
    if (!n)
        return false;
    n->arg[0].how = FSIM_READ_INDIRECT;
    n->arg[0].rows = rows;
    n->arg[0].run = 1;
    n->arg[0].distinct = rows;
    read_broadcast(call, n, 1, &out);
    return true;
}

bool fsim_rule_scatter(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    return assemble(call, &out, fsim_arg(call, 0)->dtype);
}

/* Reductions. */

bool fsim_rule_reduce(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    const fsim_shape in = t->shape;
    const fsim_list *dims = &call->list[FSIM_LIST_DIMS];
    int64_t stride[FSIM_MAX_RANK], reduced = 1;
    unsigned gone = 0;
    fsim_shape out = {0};
    fsim_map m = {.offset = t->offset};
    row_major(&in, stride);
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
                             : (call->op == FSIM_OP_SUM || call->op == FSIM_OP_PROD) && !fsim_dtype_floating(t->dtype) ? FSIM_I64
                             : call->op == FSIM_OP_MEAN || call->op == FSIM_OP_NORM ? floating_of(t->dtype) : t->dtype;
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
    if (!fsim_wrap_dim(call, out.rank, call->list[FSIM_LIST_DIMS].given ? call->list[FSIM_LIST_DIMS].at[0] : 0, &dim))
        return false;
    return assemble(call, &out, fsim_arg(call, 0)->dtype);
}

/* Contractions. Labels are small numbers; extent[l] is a label's size; an operand whose dimension is 1 where the label's is larger broadcasts. */

enum { MAX_LABELS = 52 };
typedef struct {
    int rank, label[FSIM_MAX_RANK];
} labels;

static int64_t label_stride(const fsim_shape *s, const labels *l, const int64_t *stride, int label)
{
    int64_t sum = 0;
    for (int d = 0; d < l->rank; d++)
        if (l->label[d] == label && s->dim[d] != 1)
            sum += stride[d];
    return sum;
}

static bool contract(fsim_call *call, labels a, labels b, labels out)
{
    const fsim_tensor *x[2] = {fsim_arg(call, 0), fsim_arg(call, 1)};
    const labels *side[2] = {&a, &b};
    int64_t extent[MAX_LABELS] = {0}, stride[2][FSIM_MAX_RANK];
    for (int i = 0; i < 2; i++) {
        row_major(&x[i]->shape, stride[i]);
        for (int d = 0; d < side[i]->rank; d++) {
            int64_t *e = &extent[side[i]->label[d]];
            const int64_t have = x[i]->shape.dim[d];
            if (*e > 1 && have > 1 && *e != have)
                return fsim_refuse(call, "shapes %s and %s do not match: %lld against %lld", text_of(call, &x[0]->shape),
                                   text_of(call, &x[1]->shape), (long long)*e, (long long)have);
            if (have > *e)
                *e = have;
        }
    }
    fsim_shape shape = {.rank = out.rank};
    fsim_map m[2] = {{.offset = x[0]->offset}, {.offset = x[1]->offset}};
    fsim_gemm gemm = {.batch = 1, .m = 1, .n = 1, .k = 1};
    bool kept[MAX_LABELS] = {false};
    for (int d = 0; d < out.rank; d++) {
        const int l = out.label[d];
        int64_t s[2];
        kept[l] = true;
        shape.dim[d] = extent[l];
        for (int i = 0; i < 2; i++) {
            s[i] = label_stride(&x[i]->shape, side[i], stride[i], l);
            fsim_map_push(&m[i], extent[l], s[i]);
        }
        *(s[0] && s[1] ? &gemm.batch : s[1] ? &gemm.n : &gemm.m) *= extent[l];
    }
    m[0].split = m[0].modes;
    m[1].split = m[1].modes;
    for (int l = 0; l < MAX_LABELS; l++)
        if (extent[l] && !kept[l]) {
            gemm.k *= extent[l];
            for (int i = 0; i < 2; i++)
                fsim_map_push(&m[i], extent[l], label_stride(&x[i]->shape, side[i], stride[i], l));
        }
    const fsim_dtype dtype = promoted(call);
    fsim_node *n = fsim_add_node(call, &shape, dtype, gemm.k);
    if (!n)
        return false;
    gemm.arithmetic = call->attrs.compute != FSIM_DTYPE_NONE ? call->attrs.compute : dtype;
    gemm.transposed_b = m[1].modes > m[1].split && m[1].mode[m[1].modes - 1].stride == 1;
    n->gemm = gemm;
    for (int i = 0; i < 2; i++)
        n->arg[i].map = fsim_map_simplify(m[i]);
    return true;
}

bool fsim_rule_matmul(fsim_call *call)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *y = &fsim_arg(call, 1)->shape;
    enum { M = 20, N, K };
    labels a = {0}, b = {0}, out = {0};
    if (x->rank < 1 || y->rank < 1)
        return fsim_refuse(call, "wants tensors with dimensions; found %s and %s", text_of(call, x), text_of(call, y));
    const int xb = x->rank > 2 ? x->rank - 2 : 0, yb = y->rank > 2 ? y->rank - 2 : 0, batch = xb > yb ? xb : yb;
    for (int d = 0; d < batch; d++) {
        out.label[out.rank++] = d;
        if (d >= batch - xb)
            a.label[a.rank++] = d;
        if (d >= batch - yb)
            b.label[b.rank++] = d;
    }
    if (x->rank > 1)
        a.label[a.rank++] = out.label[out.rank++] = M;
    a.label[a.rank++] = K;
    b.label[b.rank++] = K;
    if (y->rank > 1)
        b.label[b.rank++] = out.label[out.rank++] = N;
    if (x->dim[x->rank - 1] != y->dim[y->rank > 1 ? y->rank - 2 : 0])
        return fsim_refuse(call, "inner dimensions of %s and %s differ: %lld against %lld", text_of(call, x), text_of(call, y),
                           (long long)x->dim[x->rank - 1], (long long)y->dim[y->rank > 1 ? y->rank - 2 : 0]);
    return contract(call, a, b, out);
}

bool fsim_rule_bmm(fsim_call *call)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *y = &fsim_arg(call, 1)->shape;
    if (x->rank != 3 || y->rank != 3 || x->dim[0] != y->dim[0])
        return fsim_refuse(call, "wants two batches of matrices of equal length; found %s and %s", text_of(call, x), text_of(call, y));
    return fsim_rule_matmul(call);
}

bool fsim_rule_linear(fsim_call *call)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *w = &fsim_arg(call, 1)->shape;
    labels a = {.rank = x->rank}, b = {.rank = 2, .label = {20, 21}}, out = {.rank = x->rank};
    if (x->rank < 1 || w->rank != 2 || x->dim[x->rank - 1] != w->dim[1])
        return fsim_refuse(call, "wants x[..., K] and weight[N, K]; found %s and %s", text_of(call, x), text_of(call, w));
    if (call->args == 3) {
        const int sum[2] = {fsim_emit(call, FSIM_OP_LINEAR, "matmul", 2, call->arg, &call->attrs, NULL), call->arg[2]};
        call->result[0] = fsim_emit(call, FSIM_OP_ADD, NULL, 2, sum, NULL, NULL);
        return call->result[0] >= 0;
    }
    for (int d = 0; d < x->rank; d++)
        a.label[d] = out.label[d] = d;
    a.label[x->rank - 1] = 21;
    out.label[x->rank - 1] = 20;
    return contract(call, a, b, out);
}

static const char *einsum_term(const char *p, labels *l)
{
    for (*l = (labels){0}; *p && *p != ',' && *p != '-'; p++) {
        const int label = *p >= 'a' && *p <= 'z' ? *p - 'a' : *p >= 'A' && *p <= 'Z' ? *p - 'A' + 26 : -1;
        if (*p == ' ')
            continue;
        if (label < 0 || l->rank == FSIM_MAX_RANK)
            return NULL;
        for (int i = 0; i < l->rank; i++)
            if (l->label[i] == label)
                return NULL;
        l->label[l->rank++] = label;
    }
    return p;
}

bool fsim_rule_einsum(fsim_call *call)
{
    labels a, b, out;
    const char *p = call->equation;
    if (!p)
        return fsim_refuse(call, "wants 'equation', such as \"bij,bjk->bik\"");
    p = einsum_term(p, &a);
    p = p && *p == ',' ? einsum_term(p + 1, &b) : NULL;
    p = p && p[0] == '-' && p[1] == '>' ? einsum_term(p + 2, &out) : NULL;
    if (!p || *p)
        return fsim_refuse(call, "equation \"%s\": wants two terms of distinct letters and '->' with the result", call->equation);
    if (a.rank != fsim_arg(call, 0)->shape.rank || b.rank != fsim_arg(call, 1)->shape.rank)
        return fsim_refuse(call, "equation \"%s\" has %d and %d letters for tensors of rank %d and %d", call->equation, a.rank, b.rank,
                           fsim_arg(call, 0)->shape.rank, fsim_arg(call, 1)->shape.rank);
    for (int i = 0; i < out.rank; i++) {
        bool known = false;
        for (int d = 0; d < FSIM_MAX_RANK; d++)
            known = known || (d < a.rank && a.label[d] == out.label[i]) || (d < b.rank && b.label[d] == out.label[i]);
        if (!known)
            return fsim_refuse(call, "equation \"%s\": the result names a letter that no operand has", call->equation);
    }
    return contract(call, a, b, out);
}

/* Convolutions and pooling: axes of windows. */

/* Attribute `which` for spatial axis i of n, one value standing for all. */
static bool per_axis(const fsim_call *call, fsim_list_id which, int n, int64_t otherwise, int64_t *out)
{
    const fsim_list *l = &call->list[which];
    if (l->given && l->count != 1 && l->count != n)
        return fsim_refuse(call, "an attribute lists %d values for %d axes", l->count, n);
    for (int i = 0; i < n; i++)
        out[i] = !l->given || l->count == 0 ? otherwise : l->at[l->count == 1 ? 0 : i];
    return true;
}

static bool window_axes(const fsim_call *call, const int64_t *extent, const int64_t *taps, const int64_t *stride_otherwise, int n, fsim_axis *axis)
{
    int64_t stride[3], pad[3], dilation[3];
    if (!per_axis(call, FSIM_LIST_STRIDE, n, 1, stride) || !per_axis(call, FSIM_LIST_PADDING, n, 0, pad) ||
        !per_axis(call, FSIM_LIST_DILATION, n, 1, dilation))
        return false;
    for (int i = 0; i < n; i++) {
        if (stride_otherwise && !call->list[FSIM_LIST_STRIDE].given)
            stride[i] = stride_otherwise[i];
        if (stride[i] < 1 || dilation[i] < 1 || taps[i] < 1 || pad[i] < 0 || stride[i] > FSIM_MAX_DIM || dilation[i] > FSIM_MAX_DIM ||
            taps[i] > FSIM_MAX_DIM || pad[i] > FSIM_MAX_DIM || (double)dilation[i] * (double)taps[i] > 1e15)
            return fsim_refuse(call, "stride, dilation and kernel are at least 1, padding at least 0");
        axis[i] = (fsim_axis){.extent = extent[i], .taps = taps[i], .stride = stride[i], .dilation = dilation[i], .pad = pad[i]};
        const int64_t room = extent[i] + 2 * pad[i] - dilation[i] * (taps[i] - 1) - 1;
        if (room < 0)
            return fsim_refuse(call, "a window of %lld does not fit %lld padded elements", (long long)(dilation[i] * (taps[i] - 1) + 1),
                               (long long)(extent[i] + 2 * pad[i]));
        axis[i].out = room / stride[i] + 1;
    }
    return true;
}

/* Elements of one axis that some window reads. */
static int64_t axis_touched(const fsim_axis *x)
{
    if (x->stride <= 1 || x->extent > 1 << 22) /* dense, or too long to walk: all of it */
        return x->extent;
    char *seen = calloc((size_t)x->extent, 1);
    if (!seen)
        abort();
    int64_t touched = 0;
    for (int64_t o = 0; o < x->out; o++)
        for (int64_t k = 0; k < x->taps; k++) {
            const int64_t at = o * x->stride + k * x->dilation - x->pad;
            if (at >= 0 && at < x->extent && !seen[at]) {
                seen[at] = 1;
                touched++;
            }
        }
    free(seen);
    return touched;
}

static void read_window(fsim_access *x, int64_t planes, const fsim_axis *axis, int n)
{
    x->how = FSIM_READ_WINDOW;
    x->planes = planes;
    x->axes = n;
    x->distinct = planes;
    for (int i = 0; i < n; i++) {
        x->axis[i] = axis[i];
        x->distinct *= axis_touched(&axis[i]);
    }
}

static int spatial_of(fsim_op op)
{
    const char *name = fsim_ops[op].name, *d = name + strlen(name) - 2;
    return *d - '0';
}

static bool with_bias(fsim_call *call, const char *step)
{
    const int axes = spatial_of(call->op), w = call->arg[1];
    const fsim_call whole = *call;
    fsim_build *b = call->build;
    const int64_t groups = call->list[FSIM_LIST_GROUPS].given ? call->list[FSIM_LIST_GROUPS].at[0] : 1;
    const bool transposed = call->op >= FSIM_OP_CONV_TRANSPOSE1D;
    const fsim_tensor *weight = &b->graph->tensor[w], *bias = fsim_arg(call, 2);
    const int64_t channels = weight->shape.rank > 1 ? transposed ? weight->shape.dim[1] * groups : weight->shape.dim[0] : 0;
    if (bias->shape.rank != 1 || bias->shape.dim[0] != channels)
        return fsim_refuse(call, "the bias has shape %s; wants [%lld]", text_of(call, &bias->shape), (long long)channels);
    fsim_shape wide = {.rank = axes + 1, .dim = {channels, 1, 1, 1}};
    int result = -1;
    const char *name = fsim_printf(b->arena, "%s/%s", call->out[0], step);
    fsim_call inner = whole;
    inner.out = &name;
    inner.args = 2;
    inner.result = &result;
    if (!fsim_ops[call->op].rule(&inner))
        return false;
    const int view = fsim_add_view(b, call->at, fsim_printf(b->arena, "%s/bias", call->out[0]), &wide, call->arg[2], 0);
    const int sum[2] = {result, view};
    call->result[0] = view < 0 ? -1 : fsim_emit(call, FSIM_OP_ADD, NULL, 2, sum, NULL, NULL);
    return call->result[0] >= 0;
}

bool fsim_rule_conv(fsim_call *call)
{
    if (call->args == 3)
        return with_bias(call, "conv");
    const fsim_tensor *x = fsim_arg(call, 0), *w = fsim_arg(call, 1);
    const int axes = spatial_of(call->op), lead = x->shape.rank - axes; /* 2: batch and channels; 1: no batch */
    const int64_t groups = call->list[FSIM_LIST_GROUPS].given ? call->list[FSIM_LIST_GROUPS].at[0] : 1;
    fsim_axis axis[3];
    if (lead < 1 || lead > 2 || w->shape.rank != axes + 2)
        return fsim_refuse(call, "wants x[N, C, ...] and weight[O, C / groups, ...]; found %s and %s", text_of(call, &x->shape),
                           text_of(call, &w->shape));
    const int64_t batch = lead == 2 ? x->shape.dim[0] : 1, channels = x->shape.dim[lead - 1], filters = w->shape.dim[0];
    if (groups < 1 || channels % groups != 0 || filters % groups != 0 || w->shape.dim[1] != channels / groups)
        return fsim_refuse(call, "x %s and weight %s do not fit with groups %lld", text_of(call, &x->shape), text_of(call, &w->shape),
                           (long long)groups);
    if (!window_axes(call, x->shape.dim + lead, w->shape.dim + 2, NULL, axes, axis))
        return false;
    fsim_shape out = {.rank = x->shape.rank};
    int64_t pixels = 1, taps = 1;
    if (lead == 2)
        out.dim[0] = batch;
    out.dim[lead - 1] = filters;
    for (int i = 0; i < axes; i++) {
        out.dim[lead + i] = axis[i].out;
        pixels *= axis[i].out;
        taps *= axis[i].taps;
    }
    fsim_map m = {.offset = w->offset};
    const int64_t k = channels / groups * taps;
    fsim_map_push(&m, batch, 0);
    fsim_map_push(&m, filters, k);
    fsim_map_push(&m, pixels, 0);
    m.split = m.modes;
    fsim_map_push(&m, k, 1);
    const fsim_dtype dtype = promoted(call);
    fsim_node *n = fsim_add_node(call, &out, dtype, k);
    if (!n)
        return false;
    read_window(&n->arg[0], batch * channels, axis, axes);
    n->arg[1].map = fsim_map_simplify(m);
    n->gemm = (fsim_gemm){.batch = groups, .m = batch * pixels, .n = filters / groups, .k = k, .convolution = true, .transposed_b = true,
                          .arithmetic = call->attrs.compute != FSIM_DTYPE_NONE ? call->attrs.compute : dtype};
    return true;
}

bool fsim_rule_conv_transpose(fsim_call *call)
{
    if (call->args == 3)
        return with_bias(call, "conv");
    const fsim_tensor *x = fsim_arg(call, 0), *w = fsim_arg(call, 1);
    const int axes = spatial_of(call->op), lead = x->shape.rank - axes;
    const int64_t groups = call->list[FSIM_LIST_GROUPS].given ? call->list[FSIM_LIST_GROUPS].at[0] : 1;
    int64_t stride[3], pad[3], dilation[3], extra[3], pixels = 1, taps = 1;
    if (lead < 1 || lead > 2 || w->shape.rank != axes + 2)
        return fsim_refuse(call, "wants x[N, C, ...] and weight[C, O / groups, ...]; found %s and %s", text_of(call, &x->shape),
                           text_of(call, &w->shape));
    const int64_t batch = lead == 2 ? x->shape.dim[0] : 1, channels = x->shape.dim[lead - 1];
    if (groups < 1 || channels % groups != 0 || w->shape.dim[0] != channels)
        return fsim_refuse(call, "x %s and weight %s do not fit with groups %lld", text_of(call, &x->shape), text_of(call, &w->shape),
                           (long long)groups);
    if (!per_axis(call, FSIM_LIST_STRIDE, axes, 1, stride) || !per_axis(call, FSIM_LIST_PADDING, axes, 0, pad) ||
        !per_axis(call, FSIM_LIST_DILATION, axes, 1, dilation) || !per_axis(call, FSIM_LIST_OUTPUT_PADDING, axes, 0, extra))
        return false;
    fsim_shape out = {.rank = x->shape.rank};
    if (lead == 2)
        out.dim[0] = batch;
    out.dim[lead - 1] = w->shape.dim[1] * groups;
    for (int i = 0; i < axes; i++) {
        const double wide = (double)(x->shape.dim[lead + i] - 1) * (double)stride[i] + (double)dilation[i] * (double)(w->shape.dim[2 + i] - 1);
        if (stride[i] < 1 || dilation[i] < 1 || pad[i] < 0 || pad[i] > FSIM_MAX_DIM || extra[i] < 0 || wide > 1e15)
            return fsim_refuse(call, "stride and dilation are at least 1, padding at least 0");
        out.dim[lead + i] = (x->shape.dim[lead + i] - 1) * stride[i] - 2 * pad[i] + dilation[i] * (w->shape.dim[2 + i] - 1) + extra[i] + 1;
        pixels *= x->shape.dim[lead + i];
        taps *= w->shape.dim[2 + i];
    }
    const int64_t filters = w->shape.dim[1];
    const fsim_dtype dtype = promoted(call);
    fsim_node *n = fsim_add_node(call, &out, dtype, channels / groups * taps);
    if (!n)
        return false;
    n->arg[0].how = n->arg[1].how = FSIM_READ_ONCE;
    /* as the gradient of a convolution: every input pixel meets every tap of every filter once */
    n->gemm = (fsim_gemm){.batch = groups, .m = batch * pixels, .n = filters, .k = channels / groups * taps, .convolution = true,
                          .arithmetic = call->attrs.compute != FSIM_DTYPE_NONE ? call->attrs.compute : dtype};
    return true;
}

bool fsim_rule_pool(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0);
    const int axes = spatial_of(call->op), lead = x->shape.rank - axes;
    int64_t taps[3], window = 1, planes = 1;
    fsim_axis axis[3];
    if (lead < 1 || !call->list[FSIM_LIST_KERNEL].given)
        return fsim_refuse(call, lead < 1 ? "the tensor has too few dimensions" : "wants 'kernel'");
    fsim_shape out = x->shape;
    if (!per_axis(call, FSIM_LIST_KERNEL, axes, 1, taps) || !window_axes(call, x->shape.dim + lead, taps, taps, axes, axis))
        return false;
    for (int i = 0; i < lead; i++)
        planes *= out.dim[i];
    for (int i = 0; i < axes; i++) {
        out.dim[lead + i] = axis[i].out;
        window *= taps[i];
    }
    fsim_node *n = fsim_add_node(call, &out, x->dtype, window);
    if (!n)
        return false;
    read_window(&n->arg[0], planes, axis, axes);
    return true;
}

bool fsim_rule_adaptive_pool(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0);
    const int axes = spatial_of(call->op), lead = x->shape.rank - axes;
    int64_t size[3], window = 1;
    if (lead < 1 || !call->list[FSIM_LIST_OUTPUT_SIZE].given)
        return fsim_refuse(call, lead < 1 ? "the tensor has too few dimensions" : "wants 'output_size'");
    fsim_shape out = x->shape;
    if (!per_axis(call, FSIM_LIST_OUTPUT_SIZE, axes, 1, size))
        return false;
    for (int i = 0; i < axes; i++) {
        if (size[i] < 1)
            return fsim_refuse(call, "output_size is at least 1");
        window *= (out.dim[lead + i] + size[i] - 1) / size[i];
        out.dim[lead + i] = size[i];
    }
    fsim_node *n = fsim_add_node(call, &out, x->dtype, window);
    if (!n)
        return false;
    n->arg[0].how = FSIM_READ_ONCE;
    return true;
}

/* Boundaries. */

bool fsim_rule_sort(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    return assemble(call, &out, fsim_arg(call, 0)->dtype) &&
           add_result(call, &call->build->graph->node[call->build->graph->nodes - 1], &out, FSIM_I64);
}

bool fsim_rule_topk(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    if (!call->list[FSIM_LIST_K].given)
        return fsim_refuse(call, "wants 'k'");
    if (!fsim_wrap_dim(call, out.rank, call->list[FSIM_LIST_DIMS].given ? call->list[FSIM_LIST_DIMS].at[0] : -1, &dim))
        return false;
    if (call->attrs.k < 1 || (out.rank && call->attrs.k > out.dim[dim]))
        return fsim_refuse(call, "k is %lld; dimension %d has %lld", (long long)call->attrs.k, dim, (long long)(out.rank ? out.dim[dim] : 1));
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
    if (call->list[FSIM_LIST_SHAPE].given && !shape_from(call, FSIM_LIST_SHAPE, &out))
        return false;
    const int64_t ranks = call->list[FSIM_LIST_SIZE].given ? call->list[FSIM_LIST_SIZE].at[0] : 1;
    if (out.rank && !call->list[FSIM_LIST_SHAPE].given && ranks > 1) {
        if (call->op == FSIM_OP_ALL_GATHER)
            out.dim[0] *= ranks <= FSIM_MAX_DIM / out.dim[0] ? ranks : FSIM_MAX_DIM;
        if (call->op == FSIM_OP_REDUCE_SCATTER) {
            if (out.dim[0] % ranks != 0)
                return fsim_refuse(call, "%lld rows do not divide over %lld ranks", (long long)out.dim[0], (long long)ranks);
            out.dim[0] /= ranks;
        }
    }
    if (!call->args && !call->list[FSIM_LIST_SHAPE].given)
        return fsim_refuse(call, "wants 'shape' where it has no input");
    const fsim_dtype dtype = call->attrs.dtype != FSIM_DTYPE_NONE ? call->attrs.dtype : call->args ? fsim_arg(call, 0)->dtype : FSIM_F32;
    call->effect = true;
    return assemble(call, &out, dtype);
}

bool fsim_rule_custom(fsim_call *call)
{
    fsim_shape out = {0};
    if (call->args)
        out = fsim_arg(call, 0)->shape;
    if (call->list[FSIM_LIST_SHAPE].given && !shape_from(call, FSIM_LIST_SHAPE, &out))
        return false;
    if (!call->args && !call->list[FSIM_LIST_SHAPE].given)
        return fsim_refuse(call, "wants 'shape' where it has no input");
    return assemble(call, &out, call->attrs.dtype != FSIM_DTYPE_NONE ? call->attrs.dtype : call->args ? fsim_arg(call, 0)->dtype : FSIM_F32);
}

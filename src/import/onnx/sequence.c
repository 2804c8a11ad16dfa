/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c: lists of tensors, which exist while a model is translated, and optional values. Nothing of them is in the
 * workload. */
#include "import/onnx/import.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ITEMS = 4096 };

static bool set_sequence(fsim_onnx_call *c, int count, fsim_operand **item)
{
    fsim_operand *v = fsim_onnx_operand_new(c->m, c->node->out[0], &(fsim_shape){0}, FSIM_F32);
    if (count > MAX_ITEMS)
        return fsim_onnx_refuse(c, "a sequence of %d tensors; at most %d are supported", count, MAX_ITEMS);
    v->items = count;
    v->item = item;
    c->out[0] = v;
    return true;
}

static fsim_operand *sequence_in(fsim_onnx_call *c)
{
    fsim_operand *v = fsim_onnx_need(c, 0);
    if (v && v->items < 0)
        fsim_onnx_refuse(c, "its input '%s' is no sequence", c->node->in[0]);
    return v && v->items >= 0 ? v : NULL;
}

/* The place that input i names, from the front; `absent` where there is no such input. False after an error. */
static bool place_in(fsim_onnx_call *c, int i, int count, int64_t absent, int64_t *at)
{
    const fsim_operand *v = fsim_onnx_in(c, i);
    *at = absent;
    if (v && !v->ints)
        return fsim_onnx_refuse(c, "which tensor of a sequence it means is not known before the model runs");
    if (v)
        *at = v->ints[0] < 0 ? v->ints[0] + count : v->ints[0];
    if (*at < 0 || *at > count)
        return fsim_onnx_refuse(c, "place %" PRId64 " of a sequence of %d tensors", *at, count);
    return true;
}

bool fsim_onnx_op_sequence_construct(fsim_onnx_call *c)
{
    for (int i = 0; i < c->ins; i++)
        if (!fsim_onnx_need(c, i))
            return false;
    return set_sequence(c, c->ins, c->in);
}

bool fsim_onnx_op_sequence_empty(fsim_onnx_call *c) { return set_sequence(c, 0, NULL); }

bool fsim_onnx_op_sequence_insert(fsim_onnx_call *c)
{
    const fsim_operand *v = sequence_in(c);
    int64_t at;
    if (!v || !fsim_onnx_need(c, 1) || !place_in(c, 2, v->items, v->items, &at))
        return false;
    fsim_operand **item = fsim_new(c->a, fsim_operand *, v->items + 1);
    for (int i = 0; i <= v->items; i++)
        item[i] = i < at ? v->item[i] : i == at ? c->in[1] : v->item[i - 1];
    return set_sequence(c, v->items + 1, item);
}

bool fsim_onnx_op_sequence_erase(fsim_onnx_call *c)
{
    const fsim_operand *v = sequence_in(c);
    int64_t at;
    if (!v || !place_in(c, 1, v->items, v->items - 1, &at))
        return false;
    if (at >= v->items)
        return fsim_onnx_refuse(c, "place %" PRId64 " of a sequence of %d tensors", at, v->items);
    fsim_operand **item = fsim_new(c->a, fsim_operand *, v->items);
    for (int i = 0; i + 1 < v->items; i++)
        item[i] = v->item[i + (i >= at)];
    return set_sequence(c, v->items - 1, item);
}

bool fsim_onnx_op_sequence_at(fsim_onnx_call *c)
{
    const fsim_operand *v = sequence_in(c);
    int64_t at;
    if (!v || !fsim_onnx_need(c, 1) || !place_in(c, 1, v->items, 0, &at))
        return false;
    if (at >= v->items)
        return fsim_onnx_refuse(c, "place %" PRId64 " of a sequence of %d tensors", at, v->items);
    return fsim_onnx_same(c, 0, v->item[at]);
}

bool fsim_onnx_op_sequence_length(fsim_onnx_call *c)
{
    const fsim_operand *v = sequence_in(c);
    int64_t *length = fsim_new(c->a, int64_t, 1);
    if (!v)
        return false;
    *length = v->items;
    return fsim_onnx_set_ints(c, 0, &(fsim_shape){0}, FSIM_I64, length);
}

/* How long piece i of a split is: listed; of one length, the last shorter; or 1. */
static int64_t piece_length(const fsim_operand *split, int i, int64_t rest)
{
    if (!split)
        return 1;
    const int64_t length = split->ints[split->shape.rank ? i : 0];
    return split->shape.rank || length < rest ? length : rest;
}

static fsim_operand *piece(fsim_onnx_call *c, fsim_operand *x, int axis, int64_t start, int64_t length)
{
    fsim_shape to = x->shape;
    to.dim[axis] = length;
    fsim_operand *v = fsim_onnx_step(c, "piece", "slice", &to, x->dtype, FSIM_ARGS(x));
    if (!v)
        return NULL;
    fsim_onnx_put_int(c, "dim", axis);
    fsim_onnx_put_int(c, "start", start);
    fsim_onnx_put_int(c, "end", start + length);
    return v;
}

/* Without the dimension of length 1 that it was cut along. */
static fsim_operand *squeezed(fsim_onnx_call *c, fsim_operand *v, int axis)
{
    fsim_shape to = {.rank = v->shape.rank - 1};
    for (int i = 0; i < to.rank; i++)
        to.dim[i] = v->shape.dim[i + (i >= axis)];
    return fsim_onnx_reshaped(c, v, &to);
}

bool fsim_onnx_op_split_to_sequence(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *split = fsim_onnx_in(c, 1);
    fsim_operand **item = NULL;
    int axis, count = 0, room = 0;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis))
        return false;
    if (split && !split->ints)
        return fsim_onnx_refuse(c, "the lengths of its pieces are not known before the model runs");
    const bool keep = split || fsim_onnx_int(c, "keepdims", 1) != 0;
    const int64_t length = x->shape.dim[axis];
    for (int64_t at = 0; at < length;) {
        const bool listed = split && split->shape.rank > 0 && count >= fsim_onnx_elems(split);
        const int64_t size = listed ? 0 : piece_length(split, count, length - at);
        if (size <= 0 || size > length - at || count >= MAX_ITEMS)
            return fsim_onnx_refuse(c, "its pieces do not make up a dimension of %" PRId64, length);
        fsim_operand *v = piece(c, x, axis, at, size);
        v = v && !keep ? squeezed(c, v, axis) : v;
        if (!v)
            return false;
        *FSIM_PUSH(c->a, item, count, room) = v;
        at += size;
    }
    return set_sequence(c, count, item);
}

/* The tensors of a sequence, one behind another; new_axis: along a new dimension. */
bool fsim_onnx_op_concat_from_sequence(fsim_onnx_call *c)
{
    const fsim_operand *v = sequence_in(c);
    const bool stack = fsim_onnx_int(c, "new_axis", 0) != 0;
    int axis;
    if (!v)
        return false;
    if (v->items == 0)
        return fsim_onnx_refuse(c, "the sequence has no tensors");
    fsim_shape to = v->item[0]->shape;
    if (to.rank + stack > FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has too many dimensions");
    if (!fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), to.rank + stack, &axis))
        return false;
    for (int i = 1; i < v->items; i++) {
        const fsim_shape *s = &v->item[i]->shape;
        bool fits = s->rank == to.rank;
        for (int k = 0; fits && k < to.rank; k++)
            fits = s->dim[k] == to.dim[k] || (k == axis && !stack);
        if (!fits)
            return fsim_onnx_refuse(c, "its tensors have different shapes");
        to.dim[axis] += stack ? 0 : s->dim[axis];
    }
    if (stack) {
        memmove(to.dim + axis + 1, to.dim + axis, (size_t)(to.rank - axis) * sizeof *to.dim);
        to.dim[axis] = v->items;
        to.rank++;
    }
    if (!stack && v->items == 1)
        return fsim_onnx_same(c, 0, v->item[0]);
    if (!fsim_onnx_make(c, 0, stack ? "stack" : "concat", &to, v->item[0]->dtype, FSIM_LIST(v->items, v->item)))
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    return true;
}

bool fsim_onnx_op_optional_has_element(fsim_onnx_call *c)
{
    int64_t *has = fsim_new(c->a, int64_t, 1);
    *has = fsim_onnx_in(c, 0) != NULL;
    return fsim_onnx_set_ints(c, 0, &(fsim_shape){0}, FSIM_BOOL, has);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* move.c: ONNX's operators that move data without looking at it, and what they do to known numbers, which is how
 * arithmetic on shapes gets through. */
#include "import/onnx/contents.h"
#include "import/onnx/import.h"

#include <inttypes.h>
#include <string.h>

bool fsim_onnx_op_identity(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    return x && fsim_onnx_same(c, 0, x);
}

/* Dropout, when a trained model is used: its input; and a mask of all true where somebody asks. */
bool fsim_onnx_op_dropout(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x || !fsim_onnx_same(c, 0, x) || !fsim_onnx_wants(c, 1))
        return x != NULL;
    if (!fsim_onnx_make(c, 1, "fill", &x->shape, FSIM_BOOL, FSIM_NO_ARGS))
        return false;
    fsim_onnx_put_ints(c, "shape", x->shape.rank, x->shape.dim);
    fsim_onnx_put_int(c, "value", 1);
    fsim_onnx_put_word(c, "dtype", "bool");
    return true;
}

/* Views. */

/* Output 0 is x under another shape with as many elements. */
static bool view(fsim_onnx_call *c, fsim_operand *x, const fsim_shape *shape)
{
    const fsim_contents known = {(int64_t *)(uintptr_t)x->ints, (double *)(uintptr_t)x->floats};
    if (!fsim_onnx_check_shape(c, shape))
        return false;
    if (fsim_elems(shape) != fsim_onnx_elems(x))
        return fsim_onnx_refuse(c, "%s cannot become %s", fsim_shape_text(c->a, &x->shape),
                                fsim_shape_text(c->a, shape));
    if (shape->rank == x->shape.rank && memcmp(shape->dim, x->shape.dim, (size_t)shape->rank * sizeof(int64_t)) == 0)
        return fsim_onnx_same(c, 0, x);
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "reshape", shape, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "shape", shape->rank, shape->dim);
    return true;
}

bool fsim_onnx_op_reshape(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    fsim_shape to;
    if (!x || !fsim_onnx_shape_in(c, 1, &to))
        return false;
    const bool zero = fsim_onnx_int(c, "allowzero", 0) != 0;
    int64_t known = 1;
    int open = -1;
    for (int i = 0; i < to.rank; i++) {
        if (to.dim[i] == 0 && !zero && i >= x->shape.rank)
            return fsim_onnx_refuse(c, "dimension %d is to be kept, but its input has %d", i, x->shape.rank);
        if (to.dim[i] == 0 && !zero)
            to.dim[i] = x->shape.dim[i];
        if (to.dim[i] == -1 && open >= 0)
            return fsim_onnx_refuse(c, "two dimensions of its shape are -1");
        if (to.dim[i] == -1)
            open = i;
        else if (to.dim[i] < 0 || __builtin_mul_overflow(known, to.dim[i], &known))
            return fsim_onnx_refuse(c, "dimension %d of its shape is %" PRId64, i, to.dim[i]);
    }
    if (open >= 0 && known == 0)
        to.dim[open] = 0;
    else if (open >= 0)
        to.dim[open] = fsim_onnx_elems(x) / known;
    return view(c, x, &to);
}

bool fsim_onnx_op_flatten(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    int64_t axis = fsim_onnx_int(c, "axis", 1);
    fsim_shape to = {2, {1, 1}};
    axis += axis < 0 ? x->shape.rank : 0;
    if (axis < 0 || axis > x->shape.rank)
        return fsim_onnx_refuse(c, "axis %" PRId64 " is out of range for %d dimensions", axis, x->shape.rank);
    for (int i = 0; i < x->shape.rank; i++)
        to.dim[i >= axis] *= x->shape.dim[i];
    return view(c, x, &to);
}

/* The axes of a list as a set of bits, for a tensor of this rank. */
static bool axes_set(fsim_onnx_call *c, const int64_t *axes, int count, int rank, unsigned *set)
{
    *set = 0;
    for (int i = 0; i < count; i++) {
        int axis;
        if (!fsim_onnx_axis(c, axes[i], rank, &axis))
            return false;
        if (*set & 1u << axis)
            return fsim_onnx_refuse(c, "axis %d is named twice", axis);
        *set |= 1u << axis;
    }
    return true;
}

bool fsim_onnx_op_squeeze(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const int64_t *axes;
    int count;
    unsigned set;
    fsim_shape to = {0};
    if (!x || !fsim_onnx_list(c, 1, "axes", &axes, &count) || !axes_set(c, axes, count, x->shape.rank, &set))
        return false;
    for (int i = 0; i < x->shape.rank; i++) {
        if (axes && set & 1u << i && x->shape.dim[i] != 1)
            return fsim_onnx_refuse(c, "dimension %d has length %" PRId64 ", not 1", i, x->shape.dim[i]);
        if (axes ? !(set & 1u << i) : x->shape.dim[i] != 1)
            to.dim[to.rank++] = x->shape.dim[i];
    }
    return view(c, x, &to);
}

bool fsim_onnx_op_unsqueeze(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const int64_t *axes;
    int count, from = 0;
    unsigned set;
    if (!x || !fsim_onnx_list(c, 1, "axes", &axes, &count))
        return false;
    fsim_shape to = {.rank = x->shape.rank + count};
    if (to.rank > FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has %d dimensions; at most %d are supported", to.rank, FSIM_MAX_RANK);
    if (!axes_set(c, axes, count, to.rank, &set))
        return false;
    for (int i = 0; i < to.rank; i++)
        to.dim[i] = set & 1u << i ? 1 : x->shape.dim[from++];
    return view(c, x, &to);
}

/* Orders and parts. */

bool fsim_onnx_op_transpose(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int count;
    const int64_t *perm = fsim_onnx_ints(c, "perm", &count);
    int64_t order[FSIM_MAX_RANK], stride[FSIM_MAX_RANK], from[FSIM_MAX_RANK];
    unsigned set;
    bool moved = false;
    if (!x)
        return false;
    const int rank = x->shape.rank;
    if (perm && count != rank)
        return fsim_onnx_refuse(c, "'perm' lists %d of %d dimensions", count, rank);
    if (perm && !axes_set(c, perm, count, rank, &set))
        return false;
    fsim_contents_strides(&x->shape, stride);
    fsim_shape to = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        order[i] = !perm ? rank - 1 - i : perm[i] < 0 ? perm[i] + rank : perm[i];
        to.dim[i] = x->shape.dim[order[i]];
        from[i] = stride[order[i]];
        moved = moved || order[i] != i;
    }
    if (!moved)
        return fsim_onnx_same(c, 0, x);
    const fsim_contents known = fsim_contents_view(c, x, &to, 0, from);
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "permute", &to, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "dim", rank, order);
    return true;
}

bool fsim_onnx_op_expand(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    fsim_shape wanted, to;
    int64_t own[FSIM_MAX_RANK], stride[FSIM_MAX_RANK];
    if (!x || !fsim_onnx_shape_in(c, 1, &wanted) || !fsim_onnx_broadcast(c, &x->shape, &wanted, &to))
        return false;
    if (to.rank == x->shape.rank && memcmp(to.dim, x->shape.dim, (size_t)to.rank * sizeof *to.dim) == 0)
        return fsim_onnx_same(c, 0, x);
    fsim_contents_strides(&x->shape, own);
    for (int i = 0; i < to.rank; i++) {
        const int at = i - (to.rank - x->shape.rank);
        stride[i] = at < 0 || x->shape.dim[at] == 1 ? 0 : own[at];
    }
    const fsim_contents known = fsim_contents_view(c, x, &to, 0, stride);
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "expand", &to, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "shape", to.rank, to.dim);
    return true;
}

bool fsim_onnx_op_tile(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int count = 0;
    const int64_t *times = fsim_onnx_ints_of(fsim_onnx_need(c, 1), &count);
    bool once = true;
    if (!x || !fsim_onnx_in(c, 1))
        return false;
    if (!times)
        return fsim_onnx_depends(c, 1);
    if (count != x->shape.rank)
        return fsim_onnx_refuse(c, "'repeats' lists %d of %d dimensions", count, x->shape.rank);
    fsim_shape to = x->shape;
    for (int i = 0; i < count; i++) {
        if (times[i] < 0 || __builtin_mul_overflow(to.dim[i], times[i], &to.dim[i]))
            return fsim_onnx_refuse(c, "it repeats dimension %d %" PRId64 " times", i, times[i]);
        once = once && times[i] == 1;
    }
    if (once)
        return fsim_onnx_same(c, 0, x);
    if (!fsim_onnx_make(c, 0, "expand", &to, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "repeats", count, times);
    return true;
}

/* Concat and Split. */

static fsim_contents concat_contents(fsim_onnx_call *c, fsim_operand *const *in, int ins, int axis,
                                     const fsim_shape *shape)
{
    const fsim_contents none = {0};
    for (int i = 0; i < ins; i++)
        if (!fsim_onnx_known(in[i]))
            return none;
    const fsim_contents to = fsim_contents_room(c, shape, in[0]->dtype);
    if (!fsim_contents_known(&to))
        return none;
    int64_t outer = 1, inner = 1, at = 0;
    for (int i = 0; i < axis; i++)
        outer *= shape->dim[i];
    for (int i = axis + 1; i < shape->rank; i++)
        inner *= shape->dim[i];
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < ins; i++) {
            const int64_t run = in[i]->shape.dim[axis] * inner;
            for (int64_t k = 0; k < run; k++)
                fsim_contents_take(&to, at++, in[i], o * run + k);
        }
    return to;
}

bool fsim_onnx_op_concat(fsim_onnx_call *c)
{
    fsim_operand **in = fsim_new(c->a, fsim_operand *, c->ins + 1), *first = fsim_onnx_need(c, 0);
    int axis, ins = 0;
    if (!first || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 1), first->shape.rank, &axis))
        return false;
    fsim_shape to = first->shape;
    to.dim[axis] = 0;
    for (int i = 0; i < c->ins; i++) {
        fsim_operand *v = fsim_onnx_need(c, i);
        if (!v)
            return false;
        bool fits = v->shape.rank == to.rank;
        for (int k = 0; fits && k < to.rank; k++)
            fits = k == axis || v->shape.dim[k] == to.dim[k];
        if (!fits || __builtin_add_overflow(to.dim[axis], v->shape.dim[axis], &to.dim[axis]))
            return fsim_onnx_refuse(c, "shapes %s and %s differ outside dimension %d",
                                    fsim_shape_text(c->a, &first->shape), fsim_shape_text(c->a, &v->shape), axis);
        if (fsim_onnx_elems(v) > 0)
            in[ins++] = v;
    }
    if (ins <= 1)
        return fsim_onnx_same(c, 0, ins ? in[0] : first);
    const fsim_contents known = concat_contents(c, in, ins, axis, &to);
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "concat", &to, first->dtype, FSIM_LIST(ins, in)))
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    return true;
}

/* The lengths of the pieces: given, or equal ones of which the last may be shorter. */
static bool piece_lengths(fsim_onnx_call *c, int64_t length, int64_t *piece)
{
    const int64_t *given, parts = c->outs;
    int count;
    if (parts == 0 || !fsim_onnx_list(c, 1, "split", &given, &count))
        return false;
    if (given && count != parts)
        return fsim_onnx_refuse(c, "%d lengths for %d results", count, c->outs);
    const int64_t each = length / parts + (length % parts != 0);
    int64_t rest = length;
    for (int k = 0; k < parts; k++) {
        piece[k] = given ? given[k] : rest < each ? rest : each;
        if (piece[k] < 0 || piece[k] > rest)
            return fsim_onnx_refuse(c, "its pieces are longer than dimension of %" PRId64, length);
        rest -= piece[k];
    }
    return rest == 0 || fsim_onnx_refuse(c, "its pieces are shorter than dimension of %" PRId64, length);
}

bool fsim_onnx_op_split(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int64_t *piece = fsim_new(c->a, int64_t, c->outs + 1), stride[FSIM_MAX_RANK], at = 0;
    fsim_draft_result *type = fsim_new(c->a, fsim_draft_result, c->outs + 1);
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis) ||
        !piece_lengths(c, x->shape.dim[axis], piece))
        return false;
    fsim_contents_strides(&x->shape, stride);
    bool empty = false;
    for (int k = 0; k < c->outs; k++) {
        type[k] = (fsim_draft_result){.shape = x->shape, .dtype = x->dtype};
        type[k].shape.dim[axis] = piece[k];
        empty = empty || piece[k] == 0;
    }
    if (!fsim_onnx_known(x) && !empty) {
        if (!fsim_onnx_make_all(c, "split", c->outs, type, FSIM_ARGS(x)))
            return false;
        fsim_onnx_put_int(c, "dim", axis);
        fsim_onnx_put_ints(c, "size", c->outs, piece);
        return true;
    }
    for (int k = 0; k < c->outs; at += piece[k++]) {
        if (!fsim_onnx_wants(c, k))
            continue;
        const fsim_contents known = fsim_contents_view(c, x, &type[k].shape, at * stride[axis], stride);
        if (!fsim_onnx_make(fsim_knowing(c, &known), k, "slice", &type[k].shape, x->dtype, FSIM_ARGS(x)))
            return false;
        fsim_onnx_put_int(c, "dim", axis);
        fsim_onnx_put_int(c, "start", at);
        fsim_onnx_put_int(c, "end", at + piece[k]);
    }
    return true;
}

/* Layout. */

/* reshape, permute, reshape */
static bool shuffle(fsim_onnx_call *c, fsim_operand *x, const fsim_shape *apart, const int64_t *order,
                    const fsim_shape *to)
{
    fsim_operand *v = fsim_onnx_check_shape(c, apart) ? fsim_onnx_reshaped(c, x, apart) : NULL;
    v = v ? fsim_onnx_permuted(c, v, order) : NULL;
    return v && view(c, v, to);
}

static bool block_of(fsim_onnx_call *c, fsim_operand **x, int64_t *block)
{
    *x = fsim_onnx_need(c, 0);
    *block = fsim_onnx_int(c, "blocksize", 0);
    if (!*x)
        return false;
    if ((*x)->shape.rank != 4 || *block < 1 || *block > 1 << 15)
        return fsim_onnx_refuse(c, "wants 4 dimensions and a block of at least 1; found %d and %" PRId64,
                                (*x)->shape.rank, *block);
    return true;
}

bool fsim_onnx_op_depth_to_space(fsim_onnx_call *c)
{
    fsim_operand *x;
    int64_t b;
    if (!block_of(c, &x, &b))
        return false;
    const int64_t *d = x->shape.dim, rest = d[1] / (b * b);
    if (d[1] % (b * b) != 0)
        return fsim_onnx_refuse(c, "%" PRId64 " channels do not divide into blocks of %" PRId64, d[1], b * b);
    const bool crd = strcmp(fsim_onnx_string(c, "mode", "DCR"), "CRD") == 0;
    const fsim_shape apart =
        crd ? (fsim_shape){6, {d[0], rest, b, b, d[2], d[3]}} : (fsim_shape){6, {d[0], b, b, rest, d[2], d[3]}};
    static const int64_t orders[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
    return shuffle(c, x, &apart, orders[crd], &(fsim_shape){4, {d[0], rest, d[2] * b, d[3] * b}});
}

bool fsim_onnx_op_space_to_depth(fsim_onnx_call *c)
{
    fsim_operand *x;
    int64_t b;
    if (!block_of(c, &x, &b))
        return false;
    const int64_t *d = x->shape.dim;
    if (d[2] % b != 0 || d[3] % b != 0)
        return fsim_onnx_refuse(c, "an image of %" PRId64 " x %" PRId64 " does not divide into blocks of %" PRId64,
                                d[2], d[3], b);
    const fsim_shape apart = {6, {d[0], d[1], d[2] / b, b, d[3] / b, b}};
    static const int64_t order[6] = {0, 3, 5, 1, 2, 4};
    return shuffle(c, x, &apart, order, &(fsim_shape){4, {d[0], d[1] * b * b, d[2] / b, d[3] / b}});
}

bool fsim_onnx_op_trilu(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int64_t k = 0;
    const bool upper = fsim_onnx_int(c, "upper", 1) != 0;
    const int64_t *diagonal = fsim_onnx_ints_of(fsim_onnx_in(c, 1), NULL);
    if (!x)
        return false;
    if (x->shape.rank < 2)
        return fsim_onnx_refuse(c, "wants a matrix");
    if (fsim_onnx_in(c, 1) && !diagonal)
        return fsim_onnx_unsupported(c, "the diagonal is data");
    k = diagonal ? diagonal[0] : 0;
    const int64_t cols = x->shape.dim[x->shape.rank - 1], rows = x->shape.dim[x->shape.rank - 2];
    fsim_contents known = {0};
    if (fsim_onnx_known(x))
        known = fsim_contents_room(c, &x->shape, x->dtype);
    for (int64_t i = 0; fsim_contents_known(&known) && i < fsim_onnx_elems(x); i++) {
        const int64_t row = i / cols % rows, col = i % cols;
        if (upper ? col - row >= k : col - row <= k)
            fsim_contents_take(&known, i, x, i);
    }
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, upper ? "triu" : "tril", &x->shape, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_int(c, "diagonal", k);
    return true;
}

/* Rows of each sequence in reverse: as many as its length says. */
bool fsim_onnx_op_reverse_sequence(fsim_onnx_call *c)
{
    const fsim_operand *x = fsim_onnx_need(c, 0);
    return x && fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = x->shape, .dtype = x->dtype});
}

/* SPDX-License-Identifier: Apache-2.0 */
/* index.c: ONNX's gathers and scatters, and what finds indices. */
#include "import/onnx/contents.h"
#include "import/onnx/import.h"

#include <inttypes.h>
#include <string.h>

/* An index from the front; -1 where it is out of range. */
static int64_t wrapped(int64_t at, int64_t length)
{
    at += at < 0 ? length : 0;
    return at < 0 || at >= length ? -1 : at;
}

static int64_t product(const fsim_shape *s, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= s->dim[i];
    return n;
}

/* Gather. */

static bool gather_contents(fsim_onnx_call *c, const fsim_operand *x, const fsim_operand *index, int axis,
                            const fsim_shape *shape, fsim_contents *to)
{
    *to = (fsim_contents){0};
    if (!index->ints)
        return true;
    const int64_t length = x->shape.dim[axis], inner = product(&x->shape, axis + 1, x->shape.rank),
                  outer = product(&x->shape, 0, axis), count = fsim_onnx_elems(index);
    for (int64_t i = 0; i < count; i++)
        if (wrapped(index->ints[i], length) < 0)
            return fsim_onnx_refuse(c, "index %" PRId64 " is out of range for dimension %d of %s", index->ints[i], axis,
                                    fsim_shape_text(c->a, &x->shape));
    if (!fsim_onnx_known(x))
        return true;
    *to = fsim_contents_room(c, shape, x->dtype);
    for (int64_t o = 0, at = 0; fsim_contents_known(to) && o < outer; o++)
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < inner; k++)
                fsim_contents_take(to, at++, x, (o * length + wrapped(index->ints[i], length)) * inner + k);
    return true;
}

/* Known indices that follow each other from `at` on: that slice, as a view. */
static bool slice_of(fsim_onnx_call *c, fsim_operand *x, const int64_t range[2], int axis, const fsim_shape *to,
                     const fsim_contents *known)
{
    fsim_shape part = x->shape;
    part.dim[axis] = range[1] - range[0];
    const bool whole = x->shape.dim[axis] == part.dim[axis], last = to->rank == part.rank;
    fsim_operand *v = x;
    if (!whole) {
        v = last ? fsim_onnx_make(fsim_knowing(c, known), 0, "slice", &part, x->dtype, FSIM_ARGS(x))
                 : fsim_onnx_step(c, "slice", "slice", &part, x->dtype, FSIM_ARGS(x));
        if (!v)
            return false;
        fsim_onnx_put_int(c, "dim", axis);
        fsim_onnx_put_int(c, "start", range[0]);
        fsim_onnx_put_int(c, "end", range[1]);
    }
    if (last)
        return !whole || fsim_onnx_same(c, 0, x);
    if (!fsim_onnx_make(fsim_knowing(c, known), 0, "reshape", to, x->dtype, FSIM_ARGS(v)))
        return false;
    fsim_onnx_put_ints(c, "shape", to->rank, to->dim);
    return true;
}

/* Are the indices known, and does each follow the one before it? Those of the first and behind the last one. */
static bool is_range(const fsim_operand *index, int64_t length, int64_t range[2])
{
    const int64_t count = fsim_onnx_elems(index);
    if (!index->ints || count < 1)
        return false;
    range[0] = wrapped(index->ints[0], length);
    range[1] = range[0] + count;
    for (int64_t i = 1; i < count; i++)
        if (wrapped(index->ints[i], length) != range[0] + i)
            return false;
    return true;
}

static bool select_along(fsim_onnx_call *c, fsim_operand *x, fsim_operand *index, int axis, const fsim_shape *to,
                         const fsim_contents *known)
{
    const fsim_shape flat = {1, {fsim_onnx_elems(index)}};
    fsim_shape picked = x->shape;
    if (index->shape.rank == 1) {
        if (!fsim_onnx_make(fsim_knowing(c, known), 0, "index_select", to, x->dtype, FSIM_ARGS(x, index)))
            return false;
        fsim_onnx_put_int(c, "dim", axis);
        return true;
    }
    index = fsim_onnx_reshaped(c, index, &flat);
    picked.dim[axis] = flat.dim[0];
    fsim_operand *v =
        index ? fsim_onnx_step(c, "picked", "index_select", &picked, x->dtype, FSIM_ARGS(x, index)) : NULL;
    if (!v)
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    if (!fsim_onnx_make(fsim_knowing(c, known), 0, "reshape", to, x->dtype, FSIM_ARGS(v)))
        return false;
    fsim_onnx_put_ints(c, "shape", to->rank, to->dim);
    return true;
}

bool fsim_onnx_op_gather(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *index = fsim_onnx_need(c, 1);
    fsim_contents known;
    int axis;
    if (!x || !index || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis))
        return false;
    fsim_shape to = {0};
    if (x->shape.rank + index->shape.rank - 1 > FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has more than %d dimensions", FSIM_MAX_RANK);
    for (int i = 0; i < axis; i++)
        to.dim[to.rank++] = x->shape.dim[i];
    for (int i = 0; i < index->shape.rank; i++)
        to.dim[to.rank++] = index->shape.dim[i];
    for (int i = axis + 1; i < x->shape.rank; i++)
        to.dim[to.rank++] = x->shape.dim[i];
    if (!fsim_onnx_check_shape(c, &to) || !gather_contents(c, x, index, axis, &to, &known))
        return false;
    const bool table = axis == 0 && x->constant && x->shape.rank == 2, some = index->shape.rank > 0;
    int64_t range[2];
    if (is_range(index, x->shape.dim[axis], range) &&
        (range[1] - range[0] == 1 ? !(table && some) : x->constant && index->constant))
        return slice_of(c, x, range, axis, &to, &known);
    if (table)
        return fsim_onnx_make(fsim_knowing(c, &known), 0, "embedding", &to, x->dtype, FSIM_ARGS(index, x));
    if (axis == 0)
        return fsim_onnx_make(fsim_knowing(c, &known), 0, "gather", &to, x->dtype, FSIM_ARGS(x, index));
    return select_along(c, x, index, axis, &to, &known);
}

bool fsim_onnx_op_gather_elements(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *index = fsim_onnx_need(c, 1);
    int axis;
    if (!x || !index || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis))
        return false;
    if (index->shape.rank != x->shape.rank)
        return fsim_onnx_refuse(c, "an index of %d dimensions for a tensor of %d", index->shape.rank, x->shape.rank);
    if (!fsim_onnx_make(c, 0, "gather", &index->shape, x->dtype, FSIM_ARGS(x, index)))
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    return true;
}

/* Indices of several dimensions as one index into them: the sum of each times its stride. */
static fsim_operand *linear_index(fsim_onnx_call *c, fsim_operand *index, const fsim_shape *x, int dims)
{
    const int rank = index->shape.rank - 1;
    fsim_shape thin = index->shape, to = fsim_onnx_shape(rank, index->shape.dim);
    fsim_operand *sum = NULL;
    thin.dim[rank] = 1;
    for (int i = 0; i < dims; i++) {
        const int64_t stride = product(x, i + 1, dims);
        fsim_operand *v = index;
        if (dims > 1) {
            v = fsim_onnx_step(c, "axis", "slice", &thin, index->dtype, FSIM_ARGS(v));
            if (!v)
                return NULL;
            fsim_onnx_put_int(c, "dim", rank);
            fsim_onnx_put_int(c, "start", i);
            fsim_onnx_put_int(c, "end", i + 1);
        }
        v = fsim_onnx_reshaped(c, v, &to);
        if (v && stride != 1) {
            v = fsim_onnx_step(c, "offset", "mul", &to, index->dtype, FSIM_ARGS(v));
            if (v)
                fsim_onnx_put_int(c, "scalar", stride);
        }
        if (!v)
            return NULL;
        sum = sum ? fsim_onnx_step(c, "index", "add", &to, index->dtype, FSIM_ARGS(sum, v)) : v;
    }
    return sum;
}

/* x with its first `dims` dimensions as one. */
static fsim_operand *rows_of(fsim_onnx_call *c, fsim_operand *x, int dims)
{
    fsim_shape to = {1, {product(&x->shape, 0, dims)}};
    for (int i = dims; i < x->shape.rank; i++)
        to.dim[to.rank++] = x->shape.dim[i];
    return dims == 1 ? x : fsim_onnx_reshaped(c, x, &to);
}

/* How many dimensions the last one of an index names; 0 after an error. */
static int named_dims(fsim_onnx_call *c, const fsim_operand *x, const fsim_operand *index)
{
    const int64_t dims = index->shape.rank ? index->shape.dim[index->shape.rank - 1] : 0;
    if (dims >= 1 && dims <= x->shape.rank)
        return (int)dims;
    fsim_onnx_refuse(c, "an index of %s for a tensor of %s", fsim_shape_text(c->a, &index->shape),
                     fsim_shape_text(c->a, &x->shape));
    return 0;
}

bool fsim_onnx_op_gather_nd(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *index = fsim_onnx_need(c, 1);
    const int64_t batch = fsim_onnx_int(c, "batch_dims", 0);
    if (!x || !index)
        return false;
    const int dims = named_dims(c, x, index), rank = index->shape.rank - 1;
    if (!dims)
        return false;
    if (batch < 0 || batch > rank || batch + dims > x->shape.rank)
        return fsim_onnx_refuse(c, "batch_dims is %" PRId64, batch);
    fsim_shape to = fsim_onnx_shape(rank, index->shape.dim);
    if (rank + x->shape.rank - dims - batch > FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has more than %d dimensions", FSIM_MAX_RANK);
    for (int i = (int)batch + dims; i < x->shape.rank; i++)
        to.dim[to.rank++] = x->shape.dim[i];
    if (batch > 0)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = to, .dtype = x->dtype});
    fsim_operand *rows = rows_of(c, x, dims), *at = rows ? linear_index(c, index, &x->shape, dims) : NULL;
    return at && fsim_onnx_make(c, 0, "gather", &to, x->dtype, FSIM_ARGS(rows, at));
}

/* Scatters. */

bool fsim_onnx_op_scatter_elements(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *index = fsim_onnx_need(c, 1), *from = fsim_onnx_need(c, 2);
    int axis;
    if (!x || !index || !from || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis))
        return false;
    if (!fsim_onnx_make(c, 0, "scatter", &x->shape, x->dtype, FSIM_ARGS(x, index, from)))
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    return true;
}

/* What ScatterND makes of known numbers; x itself is known. */
static fsim_contents scatter_contents(fsim_onnx_call *c, const fsim_operand *x, const fsim_operand *index,
                                      const fsim_operand *from, int dims)
{
    const fsim_contents none = {0};
    if (!fsim_onnx_known(x) || !index->ints || !fsim_onnx_known(from))
        return none;
    const fsim_contents to = fsim_contents_room(c, &x->shape, x->dtype);
    const int64_t run = product(&x->shape, dims, x->shape.rank), rows = fsim_onnx_elems(index) / dims;
    for (int64_t i = 0; fsim_contents_known(&to) && i < fsim_onnx_elems(x); i++)
        fsim_contents_take(&to, i, x, i);
    for (int64_t i = 0; fsim_contents_known(&to) && i < rows; i++) {
        int64_t at = 0;
        for (int k = 0; k < dims; k++) {
            const int64_t here = wrapped(index->ints[i * dims + k], x->shape.dim[k]);
            if (here < 0)
                return none;
            at = at * x->shape.dim[k] + here;
        }
        for (int64_t k = 0; k < run; k++)
            fsim_contents_take(&to, at * run + k, from, i * run + k);
    }
    return to;
}

/* Rows at a list of places are written into a copy of x. */
static bool write_rows(fsim_onnx_call *c, const char *op, fsim_operand *const *in, int dims, const fsim_contents *known)
{
    fsim_operand *x = in[0], *at = in[1], *from = in[2];
    fsim_operand *rows = rows_of(c, x, dims);
    const fsim_shape flat = {1, {fsim_onnx_elems(at)}};
    fsim_shape source = rows ? rows->shape : (fsim_shape){0};
    source.dim[0] = flat.dim[0];
    at = rows ? fsim_onnx_reshaped(c, at, &flat) : NULL;
    from = at ? fsim_onnx_reshaped(c, from, &source) : NULL;
    if (!from)
        return false;
    const fsim_onnx_args *read = FSIM_ARGS(rows, at, from);
    fsim_operand *v = dims == 1 ? fsim_onnx_make(fsim_knowing(c, known), 0, op, &x->shape, x->dtype, read)
                                : fsim_onnx_step(c, "written", op, &rows->shape, x->dtype, read);
    if (!v)
        return false;
    fsim_onnx_put_int(c, "dim", 0);
    fsim_onnx_put_flag(c, "inplace", false);
    if (dims == 1)
        return true;
    if (!fsim_onnx_make(fsim_knowing(c, known), 0, "reshape", &x->shape, x->dtype, FSIM_ARGS(v)))
        return false;
    fsim_onnx_put_ints(c, "shape", x->shape.rank, x->shape.dim);
    return true;
}

bool fsim_onnx_op_scatter_nd(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *index = fsim_onnx_need(c, 1), *from = fsim_onnx_need(c, 2);
    if (!x || !index || !from)
        return false;
    const int dims = named_dims(c, x, index);
    const char *how = fsim_onnx_string(c, "reduction", "none");
    if (!dims)
        return false;
    if (fsim_onnx_elems(from) != fsim_onnx_elems(index) / dims * product(&x->shape, dims, x->shape.rank))
        return fsim_onnx_refuse(c, "updates of %s for %s at %s", fsim_shape_text(c->a, &from->shape),
                                fsim_shape_text(c->a, &x->shape), fsim_shape_text(c->a, &index->shape));
    if (fsim_onnx_elems(from) == 0)
        return fsim_onnx_same(c, 0, x);
    if (strcmp(how, "none") != 0 && strcmp(how, "add") != 0) {
        c->unsupported = fsim_printf(c->a, "reduction '%s'", how);
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = x->shape, .dtype = x->dtype});
    }
    const bool add = strcmp(how, "add") == 0;
    const fsim_contents known = add ? (fsim_contents){NULL, NULL} : scatter_contents(c, x, index, from, dims);
    fsim_operand *at = linear_index(c, index, &x->shape, dims);
    return at && write_rows(c, add ? "index_add" : "index_copy", (fsim_operand *[]){x, at, from}, dims, &known);
}

/* Indices. */

/* The values of a OneHot, off and on, as factors: result = off + (on - off) * (0 or 1). */
static bool one_hot_values(const fsim_operand *v, double *off, double *on)
{
    if (!fsim_onnx_known(v) || fsim_onnx_elems(v) != 2)
        return false;
    *off = fsim_onnx_element(v, 0);
    *on = fsim_onnx_element(v, 1);
    return true;
}

bool fsim_onnx_op_one_hot(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *values = fsim_onnx_need(c, 2);
    double depth = 0, off = 0, on = 1;
    int64_t order[FSIM_MAX_RANK];
    int axis;
    if (!x || !values || !fsim_onnx_need(c, 1))
        return false;
    fsim_shape to = x->shape;
    if (to.rank == FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has more than %d dimensions", FSIM_MAX_RANK);
    if (!fsim_onnx_axis(c, fsim_onnx_int(c, "axis", -1), ++to.rank, &axis))
        return false;
    if (!fsim_onnx_number_of(fsim_onnx_in(c, 1), &depth))
        depth = (double)fsim_onnx_ask(c, 0, axis, FSIM_MAX_DIM);
    if (!(depth >= 1 && depth <= 0x1p32))
        return fsim_onnx_refuse(c, "a depth of %g", depth);
    to.dim[to.rank - 1] = (int64_t)depth;
    fsim_operand *v = fsim_onnx_cast(c, x, FSIM_I64);
    v = v ? fsim_onnx_step(c, "hot", "one_hot", &to, FSIM_I64, FSIM_ARGS(v)) : NULL;
    if (!v)
        return false;
    fsim_onnx_put_int(c, "num_classes", (int64_t)depth);
    v = fsim_onnx_cast(c, v, values->dtype);
    if (v && one_hot_values(values, &off, &on) && on - off != 1) {
        v = fsim_onnx_step(c, "scaled", "mul", &to, v->dtype, FSIM_ARGS(v));
        if (v)
            fsim_onnx_put_number(c, "scalar", on - off);
    }
    if (v && off != 0) {
        v = fsim_onnx_step(c, "shifted", "add", &to, v->dtype, FSIM_ARGS(v));
        if (v)
            fsim_onnx_put_number(c, "scalar", off);
    }
    for (int i = 0; i < to.rank; i++)
        order[i] = i < axis ? i : i == axis ? to.rank - 1 : i - 1;
    if (v && axis != to.rank - 1)
        v = fsim_onnx_permuted(c, v, order);
    return v && fsim_onnx_same(c, 0, v);
}

/* How many elements of known contents are not 0. */
static int64_t count_nonzero(const fsim_operand *x)
{
    int64_t count = 0;
    for (int64_t i = 0; i < fsim_onnx_elems(x); i++)
        count += fsim_onnx_element(x, i) != 0;
    return count;
}

bool fsim_onnx_op_nonzero(fsim_onnx_call *c)
{
    const fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    const bool known = fsim_onnx_known(x);
    const fsim_shape to = {2, {x->shape.rank, known ? count_nonzero(x) : fsim_onnx_ask(c, 0, 1, fsim_onnx_elems(x))}};
    if (!known)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = to, .dtype = FSIM_I64});
    int64_t *at = fsim_new(c->a, int64_t, fsim_elems(&to) + 1), stride[FSIM_MAX_RANK], found = 0;
    fsim_contents_strides(&x->shape, stride);
    for (int64_t i = 0; i < fsim_onnx_elems(x); i++) {
        if (fsim_onnx_element(x, i) == 0)
            continue;
        for (int k = 0; k < x->shape.rank; k++)
            at[k * to.dim[1] + found] = i / stride[k] % x->shape.dim[k];
        found++;
    }
    return fsim_onnx_set_ints(c, 0, &to, FSIM_I64, at);
}

/* The elements that a mask names: how many is data. */
bool fsim_onnx_op_compress(fsim_onnx_call *c)
{
    const fsim_operand *x = fsim_onnx_need(c, 0), *mask = fsim_onnx_need(c, 1);
    int axis = 0;
    if (!x || !mask)
        return false;
    fsim_shape to = fsim_onnx_has(c, "axis") ? x->shape : (fsim_shape){1, {fsim_onnx_elems(x)}};
    if (!fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), to.rank, &axis))
        return false;
    to.dim[axis] = fsim_onnx_known(mask) ? count_nonzero(mask) : fsim_onnx_ask(c, 0, axis, to.dim[axis]);
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = to, .dtype = x->dtype});
}

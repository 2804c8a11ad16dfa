/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/rows.h"

#include <math.h>
#include <string.h>

fsim_operand *fsim_onnx_emit(fsim_onnx_call *c, fsim_onnx_at at, const char *op, const fsim_shape *shape,
                             fsim_dtype dtype, const fsim_onnx_args *in)
{
    for (int i = 0; i < in->count; i++)
        if (!in->at[i])
            return NULL;
    return at.step ? fsim_onnx_step(c, at.step, op, shape, dtype, in)
                   : fsim_onnx_make(c, at.output, op, shape, dtype, in);
}

fsim_operand *fsim_onnx_custom(fsim_onnx_call *c, fsim_onnx_at at, const fsim_shape *shape, fsim_dtype dtype,
                               const fsim_onnx_args *in)
{
    fsim_operand *y = fsim_onnx_emit(c, at, "custom", shape, dtype, in);
    if (y) {
        fsim_onnx_put_ints(c, "shape", shape->rank, shape->dim);
        fsim_onnx_put_word(c, "dtype", fsim_dtype_names[dtype]);
    }
    return y;
}

fsim_operand *fsim_onnx_unary(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x)
{
    return x ? fsim_onnx_emit(c, at, op, &x->shape, x->dtype, FSIM_ARGS(x)) : NULL;
}

void fsim_onnx_put_value(fsim_onnx_call *c, const char *key, fsim_dtype dtype, double value)
{
    if (fsim_dtype_floating(dtype) || !(fabs(value) < 9e18))
        fsim_onnx_put_number(c, key, value);
    else
        fsim_onnx_put_int(c, key, (int64_t)value);
}

fsim_operand *fsim_onnx_scalar(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, double value)
{
    fsim_operand *y = fsim_onnx_unary(c, at, op, x);
    if (y)
        fsim_onnx_put_value(c, "scalar", x->dtype, value);
    return y;
}

fsim_operand *fsim_onnx_binary(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, fsim_operand *y)
{
    fsim_shape shape;
    if (!x || !y || !fsim_onnx_broadcast(c, &x->shape, &y->shape, &shape))
        return NULL;
    return fsim_onnx_emit(c, at, op, &shape, x->dtype, FSIM_ARGS(x, y));
}

fsim_onnx_dims fsim_onnx_dims_of(int from, int to)
{
    fsim_onnx_dims dims = {0, {0}};
    for (int d = from; d < to; d++)
        dims.at[dims.count++] = d;
    return dims;
}

fsim_shape fsim_onnx_reduced_shape(const fsim_shape *x, const fsim_onnx_dims *dims, bool keep)
{
    fsim_shape out = {0};
    unsigned along = 0;
    for (int i = 0; i < dims->count; i++)
        along |= 1u << dims->at[i];
    for (int d = 0; d < x->rank; d++)
        if (!(along & 1u << d) || keep)
            out.dim[out.rank++] = along & 1u << d ? 1 : x->dim[d];
    return out;
}

fsim_operand *fsim_onnx_reduced(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x,
                                const fsim_onnx_dims *dims, bool keep)
{
    if (!x)
        return NULL;
    const fsim_shape out = fsim_onnx_reduced_shape(&x->shape, dims, keep);
    fsim_operand *y = fsim_onnx_emit(c, at, op, &out, x->dtype, FSIM_ARGS(x));
    if (y && dims->count < x->shape.rank)
        fsim_onnx_put_ints(c, "dim", dims->count, dims->at);
    if (y && keep)
        fsim_onnx_put_flag(c, "keepdim", true);
    return y;
}

fsim_operand *fsim_onnx_slice(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, int dim, int64_t start, int64_t size)
{
    if (!x || (at.step && start == 0 && size == x->shape.dim[dim]))
        return x;
    fsim_shape out = x->shape;
    out.dim[dim] = size;
    fsim_operand *y = fsim_onnx_emit(c, at, "slice", &out, x->dtype, FSIM_ARGS(x));
    if (y) {
        fsim_onnx_put_int(c, "dim", dim);
        fsim_onnx_put_int(c, "start", start);
        fsim_onnx_put_int(c, "size", size);
    }
    return y;
}

fsim_operand *fsim_onnx_concat(fsim_onnx_call *c, fsim_onnx_at at, int dim, int ins, fsim_operand *const *in)
{
    if (!in[0])
        return NULL;
    fsim_shape out = in[0]->shape;
    for (int i = 1; i < ins; i++)
        if (in[i])
            out.dim[dim] += in[i]->shape.dim[dim];
    fsim_operand *y = fsim_onnx_emit(c, at, "concat", &out, in[0]->dtype, FSIM_LIST(ins, in));
    if (y)
        fsim_onnx_put_int(c, "dim", dim);
    return y;
}

fsim_operand *fsim_onnx_view(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const fsim_shape *shape)
{
    const bool same = x && x->shape.rank == shape->rank &&
                      memcmp(x->shape.dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim) == 0;
    if (!x || (at.step && same))
        return x;
    fsim_operand *y = fsim_onnx_emit(c, at, "reshape", shape, x->dtype, FSIM_ARGS(x));
    if (y)
        fsim_onnx_put_ints(c, "shape", shape->rank, shape->dim);
    return y;
}

fsim_operand *fsim_onnx_reorder(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const int64_t *order)
{
    if (!x)
        return NULL;
    fsim_shape out = {.rank = x->shape.rank};
    for (int d = 0; d < out.rank; d++)
        out.dim[d] = x->shape.dim[order[d]];
    fsim_operand *y = fsim_onnx_emit(c, at, "permute", &out, x->dtype, FSIM_ARGS(x));
    if (y)
        fsim_onnx_put_ints(c, "dim", out.rank, order);
    return y;
}

fsim_operand *fsim_onnx_as(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_dtype to)
{
    if (!x || (at.step && x->dtype == to))
        return x;
    fsim_operand *y = fsim_onnx_emit(c, at, "cast", &x->shape, to, FSIM_ARGS(x));
    if (y)
        fsim_onnx_put_word(c, "dtype", fsim_dtype_names[to]);
    return y;
}

/* The shape of x's rows and y's columns, with the dimensions before them broadcast. */
static bool product_shape(fsim_onnx_call *c, const fsim_shape *x, const fsim_shape *y, fsim_shape *out)
{
    const int xs = x->rank > 2 ? x->rank - 2 : 0, ys = y->rank > 2 ? y->rank - 2 : 0;
    if (x->rank < 1 || y->rank < 1)
        return fsim_onnx_refuse(c, "wants tensors with dimensions");
    if (x->dim[x->rank - 1] != y->dim[y->rank > 1 ? y->rank - 2 : 0])
        return fsim_onnx_refuse(c, "inner dimensions of %s and %s differ", fsim_shape_text(c->a, x),
                                fsim_shape_text(c->a, y));
    const fsim_shape before_x = fsim_onnx_shape(xs, x->dim), before_y = fsim_onnx_shape(ys, y->dim);
    if (!fsim_onnx_broadcast(c, &before_x, &before_y, out))
        return false;
    if (x->rank > 1)
        out->dim[out->rank++] = x->dim[x->rank - 2];
    if (y->rank > 1)
        out->dim[out->rank++] = y->dim[y->rank - 1];
    return true;
}

void fsim_onnx_put_product_dtype(fsim_onnx_call *c, const fsim_operand *x, const fsim_operand *product)
{
    if (product->dtype != x->dtype)
        fsim_onnx_put_word(c, "dtype", fsim_dtype_names[product->dtype]);
}

fsim_operand *fsim_onnx_product_of(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *y,
                                   fsim_dtype dtype)
{
    fsim_shape out;
    if (!x || !y || !product_shape(c, &x->shape, &y->shape, &out))
        return NULL;
    fsim_operand *product = fsim_onnx_emit(c, at, "matmul", &out, dtype, FSIM_ARGS(x, y));
    if (product)
        fsim_onnx_put_product_dtype(c, x, product);
    return product;
}

fsim_operand *fsim_onnx_product(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *y)
{
    return x ? fsim_onnx_product_of(c, at, x, y, x->dtype) : NULL;
}

fsim_operand *fsim_onnx_linear_of(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *const in[3], fsim_dtype dtype)
{
    fsim_operand *x = in[0], *w = in[1];
    if (!x || !w)
        return NULL;
    fsim_shape out = x->shape;
    if (x->shape.rank < 1 || w->shape.rank != 2 || x->shape.dim[x->shape.rank - 1] != w->shape.dim[1]) {
        fsim_onnx_refuse(c, "x %s and weight %s do not fit", fsim_shape_text(c->a, &x->shape),
                         fsim_shape_text(c->a, &w->shape));
        return NULL;
    }
    out.dim[out.rank - 1] = w->shape.dim[0];
    fsim_operand *product = fsim_onnx_emit(c, at, "linear", &out, dtype, FSIM_LIST(in[2] ? 3 : 2, in));
    if (product)
        fsim_onnx_put_product_dtype(c, x, product);
    return product;
}

fsim_operand *fsim_onnx_linear(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *w, fsim_operand *bias)
{
    fsim_operand *in[3] = {x, w, bias};
    return x ? fsim_onnx_linear_of(c, at, in, x->dtype) : NULL;
}

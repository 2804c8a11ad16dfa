/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c: ONNX's operators that make numbers of none, or of shapes: constants, ranges, shapes. */
#include "import/onnx/contents.h"
#include "import/onnx/import.h"

#include <math.h>
#include <string.h>

static bool constant_list(fsim_onnx_call *c)
{
    int count = 0;
    const int64_t *ints = fsim_onnx_ints(c, "value_ints", &count);
    if (ints)
        return fsim_onnx_set_ints(c, 0, &(fsim_shape){1, {count}}, FSIM_I64, ints);
    const double *floats = fsim_onnx_floats(c, "value_floats", &count);
    if (floats)
        return fsim_onnx_set_floats(c, 0, &(fsim_shape){1, {count}}, FSIM_F32, floats);
    return fsim_onnx_refuse(c, "has no value that is supported");
}

bool fsim_onnx_op_constant(fsim_onnx_call *c)
{
    const fsim_shape scalar = {0};
    if (fsim_onnx_has(c, "value")) {
        fsim_operand *v = fsim_onnx_tensor_of(c, "value");
        return v ? fsim_onnx_same(c, 0, v) : fsim_onnx_refuse(c, "its value is missing");
    }
    if (fsim_onnx_has(c, "value_int")) {
        int64_t *v = fsim_new(c->a, int64_t, 1);
        *v = fsim_onnx_int(c, "value_int", 0);
        return fsim_onnx_set_ints(c, 0, &scalar, FSIM_I64, v);
    }
    if (fsim_onnx_has(c, "value_float")) {
        double *v = fsim_new(c->a, double, 1);
        *v = fsim_onnx_float(c, "value_float", 0);
        return fsim_onnx_set_floats(c, 0, &scalar, FSIM_F32, v);
    }
    return constant_list(c);
}

bool fsim_onnx_shape_in(fsim_onnx_call *c, int i, fsim_shape *shape)
{
    int count = 0;
    const int64_t *dim = fsim_onnx_ints_of(fsim_onnx_need(c, i), &count);
    if (!fsim_onnx_in(c, i))
        return false;
    if (!dim)
        return fsim_onnx_stated(c->m, fsim_onnx_stated_type(c, 0), shape) || fsim_onnx_depends(c, i);
    if (count > FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has %d dimensions; at most %d are supported", count, FSIM_MAX_RANK);
    *shape = fsim_onnx_shape(count, dim);
    return true;
}

bool fsim_onnx_op_constant_of_shape(fsim_onnx_call *c)
{
    fsim_shape shape;
    double number = 0;
    const fsim_operand *value = fsim_onnx_tensor_of(c, "value");
    const fsim_dtype dtype = value ? value->dtype : FSIM_F32;
    if (!fsim_onnx_shape_in(c, 0, &shape))
        return false;
    if (value && !fsim_onnx_number_of(value, &number))
        return fsim_onnx_refuse(c, "its value is not one number");
    const fsim_contents known = fsim_contents_room(c, &shape, dtype);
    for (int64_t i = 0; fsim_contents_known(&known) && i < fsim_elems(&shape); i++)
        fsim_contents_take(&known, i, value ? value : &(fsim_operand){.floats = &number}, 0);
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "fill", &shape, dtype, FSIM_NO_ARGS))
        return false;
    fsim_onnx_put_ints(c, "shape", shape.rank, shape.dim);
    fsim_onnx_put_number(c, "value", number);
    fsim_onnx_put_word(c, "dtype", fsim_dtype_names[dtype]);
    return true;
}

/* How many numbers there are from start to limit; -1: that is no number. */
static int64_t range_count(const fsim_operand *const *in)
{
    if (in[0]->ints && in[1]->ints && in[2]->ints) {
        const int64_t step = in[2]->ints[0];
        int64_t span;
        if (step == 0 || step == INT64_MIN || __builtin_sub_overflow(in[1]->ints[0], in[0]->ints[0], &span))
            return -1;
        if (span == 0 || (span > 0) != (step > 0))
            return 0;
        return span / step + (span % step != 0);
    }
    const double step = fsim_onnx_element(in[2], 0);
    const double count = ceil((fsim_onnx_element(in[1], 0) - fsim_onnx_element(in[0], 0)) / step);
    return !(count < 0x1p40) ? -1 : count > 0 ? (int64_t)count : 0;
}

/* A range whose ends are data: its length is asked for. */
static bool range_of_data(fsim_onnx_call *c, const fsim_operand *start)
{
    const fsim_shape shape = {1, {fsim_onnx_ask(c, 0, 0, FSIM_MAX_DIM)}};
    if (!fsim_onnx_make(c, 0, "arange", &shape, start->dtype, FSIM_NO_ARGS))
        return false;
    fsim_onnx_put_int(c, "end", shape.dim[0]);
    fsim_onnx_put_word(c, "dtype", fsim_dtype_names[start->dtype]);
    return true;
}

bool fsim_onnx_op_range(fsim_onnx_call *c)
{
    const fsim_operand *in[3];
    for (int i = 0; i < 3; i++)
        if (!(in[i] = fsim_onnx_need(c, i)))
            return false;
    for (int i = 0; i < 3; i++)
        if (!fsim_onnx_known(in[i]) || fsim_onnx_elems(in[i]) != 1)
            return range_of_data(c, in[0]);
    const int64_t count = range_count(in);
    if (count < 0)
        return fsim_onnx_refuse(c, "there is no such range of numbers");
    const fsim_shape shape = {1, {count}};
    const double start = fsim_onnx_element(in[0], 0), step = fsim_onnx_element(in[2], 0);
    const fsim_contents known = fsim_contents_room(c, &shape, in[0]->dtype);
    for (int64_t i = 0; fsim_contents_known(&known) && i < count; i++)
        if (known.ints)
            known.ints[i] = in[0]->ints[0] + i * in[2]->ints[0];
        else
            known.floats[i] = start + (double)i * step;
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "arange", &shape, in[0]->dtype, FSIM_NO_ARGS))
        return false;
    fsim_onnx_put_int(c, "start", (int64_t)start);
    fsim_onnx_put_int(c, "end", (int64_t)start + (int64_t)step * count);
    fsim_onnx_put_int(c, "step", (int64_t)step);
    fsim_onnx_put_word(c, "dtype", fsim_dtype_names[in[0]->dtype]);
    return true;
}

/* Shapes as numbers. */

static int64_t clamped(int64_t at, int64_t rank)
{
    at += at < 0 ? rank : 0;
    return at < 0 ? 0 : at > rank ? rank : at;
}

bool fsim_onnx_op_shape(fsim_onnx_call *c)
{
    const fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    const int64_t rank = x->shape.rank, start = clamped(fsim_onnx_int(c, "start", 0), rank),
                  end = clamped(fsim_onnx_int(c, "end", rank), rank), count = end > start ? end - start : 0;
    int64_t *dim = fsim_new(c->a, int64_t, count + 1);
    if (count)
        memcpy(dim, x->shape.dim + start, (size_t)count * sizeof *dim);
    return fsim_onnx_set_ints(c, 0, &(fsim_shape){1, {count}}, FSIM_I64, dim);
}

bool fsim_onnx_op_size(fsim_onnx_call *c)
{
    const fsim_operand *x = fsim_onnx_need(c, 0);
    int64_t *size = fsim_new(c->a, int64_t, 1);
    if (!x)
        return false;
    *size = fsim_onnx_elems(x);
    return fsim_onnx_set_ints(c, 0, &(fsim_shape){0}, FSIM_I64, size);
}

/* A matrix with ones on a diagonal. */
bool fsim_onnx_op_eye_like(fsim_onnx_call *c)
{
    const fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    const fsim_dtype dtype = fsim_onnx_dtype(c, "dtype", x->dtype);
    const int64_t k = fsim_onnx_int(c, "k", 0);
    if (x->shape.rank != 2)
        return fsim_onnx_refuse(c, "wants a matrix");
    const fsim_contents known = fsim_contents_room(c, &x->shape, dtype);
    if (!fsim_contents_known(&known))
        return fsim_onnx_unsupported(c, "a large matrix");
    for (int64_t i = 0; i < x->shape.dim[0]; i++)
        if (i + k >= 0 && i + k < x->shape.dim[1])
            fsim_contents_put(&known, i * x->shape.dim[1] + i + k, 1);
    return known.ints ? fsim_onnx_set_ints(c, 0, &x->shape, dtype, known.ints)
                      : fsim_onnx_set_floats(c, 0, &x->shape, dtype, known.floats);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/quantised.h"

#include <math.h>
#include <string.h>

/* The number that is a scale or a zero; false where it is not one known number. */
static bool number_of(const fsim_operand *v, double absent, double *number)
{
    *number = absent;
    return !v || fsim_onnx_number_of(v, number);
}

/* A scale, or a zero, beside x: its elements along axis, in x's rank. */
static fsim_operand *along_axis(fsim_onnx_call *c, const char *step, fsim_operand *v, const fsim_operand *x, int axis)
{
    if (!v || v->shape.rank == 0 || v->shape.rank == x->shape.rank)
        return v;
    fsim_shape s = {.rank = 0};
    if (fsim_onnx_elems(v) == 1)
        return fsim_onnx_view(c, FSIM_STEP(step), v, &s);
    for (int d = axis; d < x->shape.rank; d++)
        s.dim[s.rank++] = d == axis ? fsim_onnx_elems(v) : 1;
    return fsim_onnx_view(c, FSIM_STEP(step), v, &s);
}

/* A product or sum of another dtype than x's. */
static fsim_operand *typed(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, fsim_operand *y,
                           fsim_dtype dtype)
{
    fsim_shape shape;
    if (!x || !y || !fsim_onnx_broadcast(c, &x->shape, &y->shape, &shape))
        return NULL;
    return fsim_onnx_emit(c, at, op, &shape, dtype, FSIM_ARGS(x, y));
}

static fsim_operand *times_number(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, double factor)
{
    fsim_operand *y = x ? fsim_onnx_emit(c, at, "mul", &x->shape, FSIM_F32, FSIM_ARGS(x)) : NULL;
    if (y)
        fsim_onnx_put_number(c, "scalar", factor);
    return y;
}

/* scale code - scale zero, where both are numbers. */
static fsim_operand *affine(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *code, double scale, double zero)
{
    if (zero == 0)
        return times_number(c, at, code, scale);
    return fsim_onnx_scalar(c, at, "add", times_number(c, FSIM_STEP("scaled"), code, scale), -zero * scale);
}

fsim_operand *fsim_onnx_dequantise(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *code, const fsim_onnx_scale *s)
{
    double scale, zero;
    if (!code || !s->scale)
        return NULL;
    const bool one = number_of(s->scale, 1, &scale), origin = number_of(s->zero, 0, &zero);
    if (one && origin && s->scale->dtype == FSIM_F32 && !fsim_dtype_floating(code->dtype))
        return affine(c, at, code, scale, zero);
    fsim_operand *wide = code;
    if (!origin || zero != 0 || fsim_dtype_floating(code->dtype))
        wide = fsim_onnx_as(c, FSIM_STEP("numbers"), code, s->scale->dtype);
    if (!origin) {
        fsim_operand *shift = fsim_onnx_as(c, FSIM_STEP("zero"), s->zero, s->scale->dtype);
        wide = fsim_onnx_binary(c, FSIM_STEP("shifted"), "sub", wide, along_axis(c, "zeros", shift, code, s->axis));
    } else if (zero != 0) {
        wide = fsim_onnx_scalar(c, FSIM_STEP("shifted"), "sub", wide, zero);
    }
    return typed(c, at, "mul", wide, along_axis(c, "scales", s->scale, code, s->axis), s->scale->dtype);
}

static void range_of(fsim_dtype t, double *least, double *most)
{
    const double half = ldexp(1, 8 * fsim_dtype_bytes(t) - 1);
    *least = t == FSIM_U8 ? 0 : -half;
    *most = t == FSIM_U8 ? 255 : half - 1;
}

fsim_operand *fsim_onnx_quantise(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const fsim_onnx_scale *s,
                                 fsim_dtype dtype)
{
    double scale, zero, least, most;
    if (!x || !s->scale)
        return NULL;
    const bool one = number_of(s->scale, 1, &scale) && scale != 0, origin = number_of(s->zero, 0, &zero);
    fsim_operand *y =
        one ? fsim_onnx_scalar(c, FSIM_STEP("share"), "mul", x, 1 / scale)
            : fsim_onnx_binary(c, FSIM_STEP("share"), "div", x, along_axis(c, "scales", s->scale, x, s->axis));
    if (fsim_dtype_floating(dtype))
        return fsim_onnx_as(c, at, y, dtype);
    y = fsim_onnx_unary(c, FSIM_STEP("whole"), "round", y);
    if (!origin) {
        fsim_operand *shift = fsim_onnx_as(c, FSIM_STEP("zero"), s->zero, x->dtype);
        y = fsim_onnx_binary(c, FSIM_STEP("shifted"), "add", y, along_axis(c, "zeros", shift, x, s->axis));
    } else if (zero != 0) {
        y = fsim_onnx_scalar(c, FSIM_STEP("shifted"), "add", y, zero);
    }
    range_of(dtype, &least, &most);
    if ((y = fsim_onnx_unary(c, FSIM_STEP("within"), "clamp", y))) {
        fsim_onnx_put_number(c, "min", least);
        fsim_onnx_put_number(c, "max", most);
    }
    return fsim_onnx_as(c, at, y, dtype);
}

static bool is_byte(const fsim_operand *v) { return v->dtype == FSIM_I8 || v->dtype == FSIM_U8; }

bool fsim_onnx_are_codes(const fsim_operand *x, const fsim_operand *w, int channel)
{
    return x && w && x->codes && w->codes && is_byte(x->codes->code) && is_byte(w->codes->code) && x->codes->axis < 0 &&
           (w->codes->axis < 0 || w->codes->axis == channel);
}

fsim_operand *fsim_onnx_bias_codes(const fsim_operand *bias)
{
    return bias && bias->codes && bias->codes->code->dtype == FSIM_I32 ? bias->codes->code : NULL;
}

fsim_operand *fsim_onnx_rescale(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *sums, fsim_operand *one,
                                fsim_operand *other, int channel)
{
    double x, y;
    if (!sums || !one || !other)
        return NULL;
    if (one->dtype == FSIM_F32 && fsim_onnx_number_of(one, &x) && fsim_onnx_number_of(other, &y))
        return times_number(c, at, sums, x * y);
    fsim_operand *both = fsim_onnx_binary(c, FSIM_STEP("scale"), "mul", other, one);
    return typed(c, at, "mul", sums, both ? along_axis(c, "scales", both, sums, channel) : NULL, one->dtype);
}

fsim_operand *fsim_onnx_code_product(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *y)
{
    return fsim_onnx_product_of(c, at, x, y, FSIM_I32);
}

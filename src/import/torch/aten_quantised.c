/* SPDX-License-Identifier: Apache-2.0 */
/* aten_quantised.c: numbers as codes and back, as torch.ao's quantised exports have them (quantized_decomposed). */
#include "import/torch/aten.h"

#include <string.h>

/* The scale is a number: a step of x of that dtype with a scalar. */
static fsim_torch_value *with_scalar(fsim_aten *c, const char *op, const char *what, fsim_torch_value *x, double by)
{
    fsim_torch_value *y = x ? fsim_aten_step(c, op, FSIM_AS(what, &x->shape, x->dtype), 1, &x) : NULL;
    if (y)
        fsim_draft_number(c->x, "scalar", by);
    return y;
}

/* clamp(round(x / scale) + zero point), as codes. */
static bool quantised_by_number(fsim_aten *c, fsim_torch_value *x)
{
    fsim_torch_value *y = with_scalar(c, "div", "scaled", x, fsim_aten_number(c, "scale", 1));
    y = y ? fsim_aten_step(c, "round", FSIM_AS("round", &y->shape, y->dtype), 1, &y) : NULL;
    y = with_scalar(c, "add", "moved", y, (double)fsim_aten_int(c, "zero_point", 0));
    y = y ? fsim_aten_step(c, "clamp", FSIM_AS("clamp", &y->shape, y->dtype), 1, &y) : NULL;
    if (!y)
        return false;
    fsim_draft_number(c->x, "min", (double)fsim_aten_int(c, "quant_min", -128));
    fsim_draft_number(c->x, "max", (double)fsim_aten_int(c, "quant_max", 127));
    if (!fsim_aten_make(c, 0, "cast", 1, &y))
        return false;
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[c->out[0]->dtype]);
    return true;
}

/* (codes - zero point) scale. */
static bool number_by_number(fsim_aten *c, fsim_torch_value *x)
{
    x = with_scalar(c, "sub", "centred", fsim_aten_cast(c, x, c->out[0]->dtype),
                    (double)fsim_aten_int(c, "zero_point", 0));
    if (!fsim_aten_make(c, 0, "mul", 1, &x))
        return false;
    fsim_draft_number(c->x, "scalar", fsim_aten_number(c, "scale", 1));
    return true;
}

/* The same with a scale and a zero point that are tensors: of one element, or one for each channel. */
static bool by_tensors(fsim_aten *c, fsim_torch_value *x, const char *op)
{
    const bool makes_codes = strcmp(op, "quantize_linear") == 0;
    const fsim_dtype code = makes_codes ? c->out[0]->dtype : x->dtype,
                     number = makes_codes ? x->dtype : c->out[0]->dtype;
    fsim_torch_value *scale = fsim_aten_tensor(c, "scale|scales"),
                     *zero = fsim_aten_tensor(c, "zero_point|zero_points");
    fsim_torch_value *in[3] = {x, fsim_aten_cast(c, scale, number), zero ? fsim_aten_cast(c, zero, code) : NULL};
    if (!scale || !fsim_aten_make(c, 0, op, zero ? 3 : 2, in))
        return false;
    fsim_draft_int(c->x, "dim", fsim_aten_int(c, "axis", 0));
    if (makes_codes)
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[code]);
    return true;
}

bool fsim_aten_op_quantise(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    const bool back = strcmp(word, "dequantize_linear") == 0;
    const fsim_dtype code = !x ? FSIM_DTYPE_NONE : back ? x->dtype : c->out[0]->dtype;
    if (code != FSIM_I8 && code != FSIM_U8)
        return false;
    if (fsim_aten_tensor(c, "scale|scales"))
        return by_tensors(c, x, word);
    return back ? number_by_number(c, x) : quantised_by_number(c, x);
}

/* Products of 8 bits: numbers of 8 bits with scales, and codes. */

/* x @ w of 8 bits, as the result's dtype. */
static fsim_torch_value *product_as(fsim_aten *c, fsim_torch_value *x, fsim_torch_value *w, fsim_dtype dtype)
{
    fsim_torch_value *y =
        fsim_aten_step(c, "matmul", FSIM_AS("product", &c->out[0]->shape, dtype), 2, (fsim_torch_value *[2]){x, w});
    if (y)
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[dtype]);
    return y;
}

/* One scale, or one for each row or column of the result: the product's kernel multiplies by it as it writes, and what
 * it reads of them is nothing beside the operands. Scales of blocks are not followed. */
static bool scale_fits(const fsim_torch_value *scale, const fsim_shape *result)
{
    const int64_t elems = scale ? fsim_aten_elems(&scale->shape) : 1;
    return elems == 1 || (scale->shape.rank <= 2 && (elems == result->dim[0] || elems == result->dim[1]));
}

bool fsim_aten_op_scaled_mm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *w = fsim_aten_tensor(c, "mat2"), *bias = fsim_aten_tensor(c, "bias"),
                     *scale[2] = {fsim_aten_tensor(c, "scale_a"), fsim_aten_tensor(c, "scale_b")};
    const fsim_shape *s = &c->out[0]->shape;
    if (!x || !w || s->rank != 2 || !scale_fits(scale[0], s) || !scale_fits(scale[1], s))
        return false;
    fsim_torch_value *y = product_as(c, x, w, c->out[0]->dtype);
    return bias ? fsim_aten_make(c, 0, "add", 2, (fsim_torch_value *[2]){y, bias}) : fsim_aten_same(c, 0, y);
}

bool fsim_aten_op_int_mm(fsim_aten *c, const char *word)
{
    (void)word;
    return fsim_aten_same(c, 0, product_as(c, fsim_aten_self(c), fsim_aten_tensor(c, "mat2"), c->out[0]->dtype));
}

/* Weights of 8 bits, [N, K], that become numbers on the way, and scales of their rows. */
bool fsim_aten_op_int8_weight(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *w = fsim_aten_tensor(c, "mat2"), *scale = fsim_aten_tensor(c, "scales");
    if (!x || !w || !scale)
        return false;
    w = fsim_aten_cast(c, w, x->dtype);
    x = fsim_aten_step(c, "linear", FSIM_AS("product", &c->out[0]->shape, c->out[0]->dtype), 2,
                       (fsim_torch_value *[2]){x, w});
    return fsim_aten_make(c, 0, "mul", 2, (fsim_torch_value *[2]){x, scale});
}

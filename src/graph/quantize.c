/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c: numbers as codes of 8 bits with a scale and a zero point, of a tensor or of each channel, and back
 * (ONNX's QuantizeLinear and DequantizeLinear, PyTorch's quantize_per_tensor and quantize_per_channel); codes of fewer
 * bits, several in a byte; floats of 8 bits with a scale for the tensor, for each row or for each block. */
#include "graph/steps.h"

/* Argument i, of one element or of one for each of dimension dim, as it broadcasts to x. -1 after an error. */
static int along(fsim_call *c, const char *name, int i, int dim)
{
    const fsim_shape x = fsim_arg(c, 0)->shape;
    const fsim_tensor *t = fsim_arg(c, i);
    fsim_shape wide = {.rank = x.rank - dim};
    if (t->elems == 1 && t->shape.rank == 0)
        return c->arg[i];
    if (t->elems == 1)
        return view(c, name, c->arg[i], &(fsim_shape){0});
    for (int d = 0; d < wide.rank; d++)
        wide.dim[d] = d == 0 ? x.dim[dim] : 1;
    if (t->shape.rank != 1 || t->elems != x.dim[dim]) {
        fsim_refuse(c, "'%s' has shape %s; wants one element, or [%lld]", t->name,
                    fsim_shape_text(c->build->arena, &t->shape), (long long)x.dim[dim]);
        return -1;
    }
    return wide.rank == 1 ? c->arg[i] : view(c, name, c->arg[i], &wide);
}

static int as(fsim_call *c, const char *name, int x, fsim_dtype dtype)
{
    fsim_step step;
    fsim_step_start(&step, c, FSIM_OP_CAST, name);
    step.call.attrs.dtype = dtype;
    return fsim_step_end(&step, 1, &x);
}

/* The dimension with a scale for each element: of a tensor with few dimensions, where one scale is for all, any. */
static bool channel(fsim_call *c, int *dim)
{
    *dim = 0;
    return (fsim_arg(c, 1)->elems == 1 && (c->args < 3 || fsim_arg(c, 2)->elems == 1)) ||
           fsim_one_dim(c, fsim_arg(c, 0)->shape.rank, dim);
}

static bool is_byte(fsim_dtype t) { return t == FSIM_I8 || t == FSIM_U8; }

/* clamp(round(x / scale) + zero point). */
bool fsim_rule_quantize_linear(fsim_call *c)
{
    const fsim_dtype code = c->attrs.dtype, number = fsim_arg(c, 0)->dtype;
    int dim;
    if (!is_byte(code) || !fsim_dtype_floating(number) || !fsim_dtype_floating(fsim_arg(c, 1)->dtype))
        return fsim_refuse(c, "makes i8 or u8 of floats; found %s of %s with a scale of %s", fsim_dtype_names[code],
                           fsim_dtype_names[number], fsim_dtype_names[fsim_arg(c, 1)->dtype]);
    if (c->args == 3 && fsim_arg(c, 2)->dtype != code)
        return fsim_refuse(c, "the zero point '%s' is %s, the codes %s", fsim_arg(c, 2)->name,
                           fsim_dtype_names[fsim_arg(c, 2)->dtype], fsim_dtype_names[code]);
    if (!channel(c, &dim))
        return false;
    int y = unary(c, FSIM_OP_ROUND, "round", like_x(c, FSIM_OP_DIV, "scaled", c->arg[0], along(c, "scale", 1, dim)));
    if (c->args == 3)
        y = like_x(c, FSIM_OP_ADD, "moved", y, as(c, "zero", along(c, "zero_point", 2, dim), number));
    fsim_step limits;
    fsim_step_start(&limits, c, FSIM_OP_CLAMP, "clamp");
    fsim_set_attr(&limits.call, FSIM_ATTR_MIN, code == FSIM_I8 ? -128 : 0);
    fsim_set_attr(&limits.call, FSIM_ATTR_MAX, code == FSIM_I8 ? 127 : 255);
    return finish(c, as(c, NULL, fsim_step_end(&limits, 1, &y), code));
}

/* (codes - zero point) scale. */
bool fsim_rule_dequantize_linear(fsim_call *c)
{
    const fsim_dtype code = fsim_arg(c, 0)->dtype, number = fsim_arg(c, 1)->dtype;
    int dim;
    if (fsim_dtype_floating(code) || code == FSIM_BOOL || !fsim_dtype_floating(number))
        return fsim_refuse(c, "takes integers and a scale of floats; found %s and %s", fsim_dtype_names[code],
                           fsim_dtype_names[number]);
    if (c->args == 3 && fsim_arg(c, 2)->dtype != code)
        return fsim_refuse(c, "the zero point '%s' is %s, the codes %s", fsim_arg(c, 2)->name,
                           fsim_dtype_names[fsim_arg(c, 2)->dtype], fsim_dtype_names[code]);
    if (!channel(c, &dim))
        return false;
    int y = as(c, "number", c->arg[0], number);
    if (c->args == 3)
        y = binary(c, FSIM_OP_SUB, "centred", y, as(c, "zero", along(c, "zero_point", 2, dim), number));
    return finish(c, binary(c, FSIM_OP_MUL, NULL, y, along(c, "scale", 1, dim)));
}

/* The largest number of a dtype that floats are quantised to; 0: they are not. */
static double most_of(fsim_dtype t)
{
    return t == FSIM_F8E4M3 ? 448 : t == FSIM_F8E5M2 ? 57344 : t == FSIM_I8 ? 127 : 0;
}

/* x / scale, within the range of the codes, as codes. */
static int codes_of(fsim_call *c, int x, int scale, const char *name)
{
    const fsim_dtype code = c->attrs.dtype;
    int y = binary(c, FSIM_OP_DIV, "scaled", x, scale);
    if (code == FSIM_I8)
        y = unary(c, FSIM_OP_ROUND, "round", y);
    fsim_step limits;
    fsim_step_start(&limits, c, FSIM_OP_CLAMP, "clamp");
    fsim_set_attr(&limits.call, FSIM_ATTR_MIN, -most_of(code));
    fsim_set_attr(&limits.call, FSIM_ATTR_MAX, most_of(code));
    return as(c, name, fsim_step_end(&limits, 1, &y), code);
}

/* x as it is divided into what has a scale of its own: the last `within` dimensions. False after an error. */
static bool blocks_of(fsim_call *c, fsim_shape *blocks, int *within)
{
    const fsim_shape s = fsim_arg(c, 0)->shape;
    const int64_t last = s.rank > 0 ? s.dim[s.rank - 1] : 1, block = c->attrs.block;
    *blocks = s;
    *within = c->attrs.per == FSIM_PER_TENSOR ? s.rank : 1;
    if (s.rank < 1 || (c->attrs.per == FSIM_PER_BLOCK && (last % block != 0 || s.rank == FSIM_MAX_RANK)))
        return fsim_refuse(c, "%s does not divide into blocks of %lld along its last dimension",
                           fsim_shape_text(c->build->arena, &s), (long long)block);
    if (c->attrs.per == FSIM_PER_BLOCK) {
        blocks->dim[blocks->rank - 1] = last / block;
        blocks->dim[blocks->rank++] = block;
    }
    return true;
}

/* The scales as the second result: a block's in place of its elements. */
static bool add_scales(fsim_call *c, const fsim_shape *blocks, int scale)
{
    fsim_shape s = *blocks;
    if (c->attrs.per == FSIM_PER_TENSOR)
        s = (fsim_shape){.rank = 1, .dim = {1}};
    else if (c->attrs.per == FSIM_PER_BLOCK)
        s.rank--;
    else
        s.dim[s.rank - 1] = 1;
    return (c->result[1] = fsim_add_view(c->build, c->at, c->out[1], &s, scale, 0)) >= 0;
}

/* Numbers as codes with scales: given, or each from the largest magnitude of what it is for. */
bool fsim_rule_quantize(fsim_call *c)
{
    const fsim_dtype number = fsim_arg(c, 0)->dtype;
    fsim_shape blocks;
    int within;
    if (!fsim_dtype_floating(number) || most_of(c->attrs.dtype) == 0)
        return fsim_refuse(c, "makes f8e4m3, f8e5m2 or i8 of floats; found %s of %s", fsim_dtype_names[c->attrs.dtype],
                           fsim_dtype_names[number]);
    if (c->args == 2 && (fsim_arg(c, 1)->elems != 1 || c->outs > 1))
        return fsim_refuse(c, "a known scale has one element, and there is no second result then");
    if (c->args == 2)
        return finish(c, codes_of(c, c->arg[0], c->arg[1], NULL));
    if (!blocks_of(c, &blocks, &within))
        return false;
    const fsim_list dims = dims_of(blocks.rank - within, blocks.rank);
    const bool reshaped = c->attrs.per == FSIM_PER_BLOCK;
    const int x = reshaped ? view(c, "blocks", c->arg[0], &blocks) : c->arg[0];
    const int largest = reduce(c, FSIM_OP_MAX, "largest", unary(c, FSIM_OP_ABS, "magnitude", x), &dims, true);
    const int scale = scalar(c, FSIM_OP_DIV, "scale", as(c, "largest_f32", largest, FSIM_F32), most_of(c->attrs.dtype));
    const int codes = codes_of(c, x, scale, reshaped ? "codes" : NULL);
    const fsim_shape whole = fsim_arg(c, 0)->shape;
    return finish(c, reshaped ? view(c, NULL, codes, &whole) : codes) && (c->outs < 2 || add_scales(c, &blocks, scale));
}

/* u8[..., n] as the codes that its bytes hold, u8[..., n 8 / bits]: every byte is read once for each. */
bool fsim_rule_unpack(fsim_call *c)
{
    const fsim_tensor *x = fsim_arg(c, 0);
    const int64_t bits = c->attrs.bits, each = 8 / bits;
    fsim_shape s = x->shape;
    if (x->dtype != FSIM_U8 || s.rank < 1)
        return fsim_refuse(c, "wants u8[..., n]; found %s%s", fsim_dtype_names[x->dtype],
                           fsim_shape_text(c->build->arena, &s));
    if (8 % bits != 0)
        return fsim_refuse(c, "'bits' is %lld; wants 1, 2 or 4", (long long)bits);
    fsim_step copies;
    fsim_step_start(&copies, c, FSIM_OP_REPEAT_INTERLEAVE, "bytes");
    copies.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {s.rank - 1}};
    copies.call.list[FSIM_ATTR_REPEATS] = (fsim_list){.present = true, .count = 1, .at = {each}};
    const int bytes = fsim_step_end(&copies, 1, c->arg);
    fsim_step field;
    fsim_step_start(&field, c, FSIM_OP_BIT_FIELD, NULL);
    fsim_set_attr(&field.call, FSIM_ATTR_BITS, (double)bits);
    return finish(c, fsim_step_end(&field, 1, &bytes));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c: numbers as codes of 8 bits with a scale and a zero point, of a tensor or of each channel, and back
 * (ONNX's QuantizeLinear and DequantizeLinear, PyTorch's quantize_per_tensor and quantize_per_channel); codes of fewer
 * bits, several in a byte; floats of 8 and 4 bits with a scale for the tensor, for each row or for each block, and
 * back. */
#include "graph/steps.h"

#include <string.h>

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

/* Codes with scales. Of 4 bits two share a byte: they are computed as two halves, the even elements and the odd ones,
 * so that one kernel has the block's maximum and the bytes in one iteration space. */

enum { EVEN, ODD, WHOLE = EVEN };

/* The largest number of a dtype that floats are quantised to; 0: they are not. */
static double most_of(fsim_dtype t)
{
    return t == FSIM_F8E4M3   ? 448
           : t == FSIM_F8E5M2 ? 57344
           : t == FSIM_I8     ? 127
           : t == FSIM_F4E2M1 ? 6
           : t == FSIM_I4     ? 7
                              : 0;
}

static int limited(fsim_call *c, const char *name, int x, double least, double most)
{
    fsim_step step;
    fsim_step_start(&step, c, FSIM_OP_CLAMP, name);
    fsim_set_attr(&step.call, FSIM_ATTR_MIN, least);
    fsim_set_attr(&step.call, FSIM_ATTR_MAX, most);
    return fsim_step_end(&step, 1, &x);
}

static const char *named(fsim_call *c, const char *half, const char *step)
{
    return fsim_printf(c->build->arena, "%s%s", half, step);
}

/* x / scale, within the range of the codes, as codes; of 4 bits one in a byte of its own. */
static int codes_of(fsim_call *c, int x, int scale, const char *half, const char *name)
{
    const fsim_dtype code = c->attrs.dtype;
    fsim_step step;
    int y = binary(c, FSIM_OP_DIV, named(c, half, "scaled"), x, scale);
    if (code == FSIM_F4E2M1) {
        fsim_step_start(&step, c, FSIM_OP_F4_CODE, name);
        step.call.attrs.dtype = FSIM_U8;
        return fsim_step_end(&step, 1, &y);
    }
    if (code == FSIM_I8 || code == FSIM_I4)
        y = unary(c, FSIM_OP_ROUND, named(c, half, "round"), y);
    y = limited(c, named(c, half, "clamp"), y, -most_of(code), most_of(code));
    if (code != FSIM_I4)
        return as(c, name, y, code);
    y = as(c, named(c, half, "number"), y, FSIM_I32);
    return as(c, name, scalar(c, FSIM_OP_BITWISE_AND, named(c, half, "bits"), y, 15), FSIM_U8);
}

/* The codes of even and odd elements as bytes. */
static int pairs_of(fsim_call *c, const int *half, int scale, const char *name)
{
    fsim_step step;
    const int even = codes_of(c, half[EVEN], scale, "even_", "even_codes"),
              odd = codes_of(c, half[ODD], scale, "odd_", "odd_codes");
    const int upper = scalar(c, FSIM_OP_BITWISE_LEFT_SHIFT, "upper", odd, 4);
    fsim_step_start(&step, c, FSIM_OP_BITWISE_OR, name);
    step.call.typed = true;
    step.call.type = c->attrs.dtype;
    return fsim_step_end(&step, 2, (int[2]){even, upper});
}

/* x as it is divided into what has a scale of its own: the last `within` dimensions. False after an error. */
static bool blocks_of(fsim_call *c, fsim_shape *blocks, int *within)
{
    const fsim_shape s = fsim_arg(c, 0)->shape;
    const bool paired = fsim_dtype_paired(c->attrs.dtype), split = c->attrs.per == FSIM_PER_BLOCK && c->args == 1;
    const int64_t last = s.rank > 0 ? s.dim[s.rank - 1] : 1, block = split ? c->attrs.block : last;
    *blocks = s;
    *within = c->attrs.per == FSIM_PER_TENSOR ? s.rank : 1;
    if (s.rank < 1 || last % block != 0 || (paired && block % 2 != 0) || s.rank + split + paired > FSIM_MAX_RANK)
        return fsim_refuse(c, "%s does not divide into blocks of %lld%s along its last dimension",
                           fsim_shape_text(c->build->arena, &s), (long long)block, paired ? ", pairs in each," : "");
    if (split) {
        blocks->dim[blocks->rank - 1] = last / block;
        blocks->dim[blocks->rank++] = block;
    }
    return true;
}

/* The parts of x whose codes lie in bytes of their own: x, or its even and odd elements. Sets the shape of one. */
static void parts_of(fsim_call *c, int x, fsim_shape *blocks, int *part)
{
    part[WHOLE] = x;
    if (!fsim_dtype_paired(c->attrs.dtype))
        return;
    fsim_shape pairs = *blocks;
    pairs.dim[pairs.rank - 1] /= 2;
    *blocks = pairs;
    pairs.dim[pairs.rank++] = 2;
    x = view(c, "pairs", x, &pairs);
    for (int i = EVEN; i <= ODD; i++) {
        fsim_step step;
        fsim_step_start(&step, c, FSIM_OP_SELECT, i == EVEN ? "even" : "odd");
        step.call.list[FSIM_ATTR_DIMS] = dims_of(pairs.rank - 1, pairs.rank);
        step.call.list[FSIM_ATTR_INDEX].present = true;
        fsim_set_attr(&step.call, FSIM_ATTR_INDEX, i);
        part[i] = fsim_step_end(&step, 1, &x);
    }
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

/* x as the stored dtype has it, also where it stays in a register. */
static int rounded(fsim_call *c, const char *name, int x, fsim_dtype stored)
{
    fsim_step step;
    fsim_step_start(&step, c, stored == FSIM_F8E4M3 ? FSIM_OP_ROUND_E4M3 : FSIM_OP_ROUND_E8M0, name);
    step.call.attrs.dtype = stored;
    return fsim_step_end(&step, 1, &x);
}

/* The scale of each block as it is stored: its largest magnitude over the largest number of the codes. */
static int scale_of(fsim_call *c, const int *part, int rank, int within)
{
    const fsim_list dims = dims_of(rank - within, rank);
    const fsim_dtype stored = c->attrs.scale_dtype;
    int size = unary(c, FSIM_OP_ABS, "magnitude", part[WHOLE]);
    if (fsim_dtype_paired(c->attrs.dtype))
        size = binary(c, FSIM_OP_MAXIMUM, "larger", size, unary(c, FSIM_OP_ABS, "odd_magnitude", part[ODD]));
    const int largest = reduce(c, FSIM_OP_MAX, "largest", size, &dims, true);
    int scale = as(c, "largest_f32", largest, FSIM_F32);
    scale = scalar(c, FSIM_OP_DIV, stored == FSIM_F32 ? "scale" : "exact_scale", scale, most_of(c->attrs.dtype));
    if (stored == FSIM_F8E4M3) /* which ends at 448; below its least number is zero, by which nobody divides */
        scale = limited(c, "scale_within", scale, 0x1p-9, 448);
    return stored == FSIM_F32 ? scale : rounded(c, "scale", scale, stored);
}

/* Numbers as codes with scales: given, or each from the largest magnitude of what it is for. */
bool fsim_rule_quantize(fsim_call *c)
{
    const fsim_dtype number = fsim_arg(c, 0)->dtype, code = c->attrs.dtype, stored = c->attrs.scale_dtype;
    const bool paired = fsim_dtype_paired(code), reshaped = c->args == 1 && c->attrs.per == FSIM_PER_BLOCK;
    fsim_shape blocks, whole = fsim_arg(c, 0)->shape;
    int within, part[2], codes;
    if (!fsim_dtype_floating(number) || most_of(code) == 0)
        return fsim_refuse(c, "makes f8e4m3, f8e5m2, f4e2m1, i8 or i4 of floats; found %s of %s",
                           fsim_dtype_names[code], fsim_dtype_names[number]);
    if (stored != FSIM_F32 && stored != FSIM_F8E4M3 && stored != FSIM_F8E8M0)
        return fsim_refuse(c, "makes scales of f32, f8e4m3 or f8e8m0; found %s", fsim_dtype_names[stored]);
    if (c->args == 2 && (fsim_arg(c, 1)->elems != 1 || c->outs > 1))
        return fsim_refuse(c, "a known scale has one element, and there is no second result then");
    if (c->args == 2 && !paired)
        return finish(c, codes_of(c, c->arg[0], c->arg[1], "", NULL));
    if (!blocks_of(c, &blocks, &within))
        return false;
    parts_of(c, reshaped ? view(c, "blocks", c->arg[0], &blocks) : c->arg[0], &blocks, part);
    int scale = c->args == 2 ? c->arg[1] : scale_of(c, part, blocks.rank, within), divisor = scale;
    if (stored != FSIM_F32 && c->args == 1)
        divisor = as(c, "divisor", scale, FSIM_F32);
    codes = paired ? pairs_of(c, part, divisor, reshaped ? "codes" : NULL)
                   : codes_of(c, part[WHOLE], divisor, "", reshaped ? "codes" : NULL);
    whole.dim[whole.rank - 1] /= paired ? 2 : 1;
    return finish(c, reshaped ? view(c, NULL, codes, &whole) : codes) && (c->outs < 2 || add_scales(c, &blocks, scale));
}

/* The codes of bytes that hold `each` of them. */
static int fields_of(fsim_call *c, int bytes, int64_t each, const char *name)
{
    const int rank = c->build->graph->tensor[bytes].shape.rank;
    fsim_step copies;
    fsim_step_start(&copies, c, FSIM_OP_REPEAT_INTERLEAVE, "bytes");
    copies.call.list[FSIM_ATTR_DIMS] = dims_of(rank - 1, rank);
    copies.call.list[FSIM_ATTR_REPEATS] = (fsim_list){.present = true, .count = 1, .at = {each}};
    const int copied = fsim_step_end(&copies, 1, &bytes);
    fsim_step field;
    fsim_step_start(&field, c, FSIM_OP_BIT_FIELD, name);
    fsim_set_attr(&field.call, FSIM_ATTR_BITS, 8 / (double)each);
    return fsim_step_end(&field, 1, &copied);
}

/* Codes as numbers of f32. */
static int numbers_of(fsim_call *c)
{
    const fsim_tensor *x = fsim_arg(c, 0);
    const fsim_dtype code = x->dtype;
    if (!fsim_dtype_paired(code))
        return as(c, "number", c->arg[0], FSIM_F32);
    const int bytes = view(c, "pairs", c->arg[0], &x->shape);
    if (bytes < 0)
        return -1;
    c->build->graph->tensor[bytes].dtype = FSIM_U8;
    const int y = fields_of(c, bytes, 2, "codes");
    return code == FSIM_F4E2M1 ? unary(c, FSIM_OP_F4_VALUE, "number", y) /* two's complement: */
                               : scalar(c, FSIM_OP_SUB, "number",
                                        as(c, "field", scalar(c, FSIM_OP_BITWISE_XOR, "moved", y, 8), FSIM_F32), 8);
}

/* Argument i, a scale or a zero point of codes of shape x, as f32 beside `blocks`: each dimension of x that several
 * elements of it share is divided there. Both scale and zero point must divide x alike. */
static int beside_blocks(fsim_call *c, int i, const fsim_shape *x, fsim_shape *blocks, const char *name)
{
    const fsim_tensor *t = fsim_arg(c, i);
    const fsim_shape s = t->shape;
    fsim_shape one = {0}, divided = {0};
    bool fits = s.rank == x->rank || t->elems == 1;
    for (int d = 0; d < x->rank && fits && t->elems > 1; d++) {
        const bool inner = s.dim[d] > 1 && s.dim[d] < x->dim[d];
        fits = x->dim[d] % s.dim[d] == 0 && divided.rank + inner < FSIM_MAX_RANK;
        if (!fits)
            break;
        one.dim[one.rank++] = s.dim[d];
        divided.dim[divided.rank++] = inner ? s.dim[d] : x->dim[d];
        if (inner) {
            one.dim[one.rank++] = 1;
            divided.dim[divided.rank++] = x->dim[d] / s.dim[d];
        }
    }
    if (!fits || (i > 1 && t->elems > 1 &&
                  (divided.rank != blocks->rank ||
                   memcmp(divided.dim, blocks->dim, (size_t)divided.rank * sizeof *divided.dim)))) {
        fsim_refuse(c, "'%s' has shape %s; wants one element, or lengths that divide those of %s%s", t->name,
                    fsim_shape_text(c->build->arena, &s), fsim_shape_text(c->build->arena, x),
                    i > 1 ? " as the scale's do" : "");
        return -1;
    }
    if (i == 1)
        *blocks = t->elems > 1 ? divided : *x;
    const int whole = view(c, name, c->arg[i], &one);
    return t->dtype == FSIM_F32 ? whole : as(c, fsim_printf(c->build->arena, "%s_f32", name), whole, FSIM_F32);
}

/* (codes - zero point) scale, in f32, as numbers of `dtype`. */
bool fsim_rule_dequantize(fsim_call *c)
{
    const fsim_dtype code = fsim_arg(c, 0)->dtype, number = c->attrs.dtype;
    const fsim_shape x = fsim_tensor_shape(fsim_arg(c, 0));
    fsim_shape blocks;
    if (most_of(code) == 0 && code != FSIM_U8)
        return fsim_refuse(c, "takes f8e4m3, f8e5m2, f4e2m1, i8, u8 or i4; found %s", fsim_dtype_names[code]);
    if (!fsim_dtype_floating(number) || fsim_dtype_bytes(number) < 2)
        return fsim_refuse(c, "makes f64, f32, f16 or bf16; found %s", fsim_dtype_names[number]);
    const int scale = beside_blocks(c, 1, &x, &blocks, "scale"),
              zero = c->args > 2 ? beside_blocks(c, 2, &x, &blocks, "zero") : -1;
    if (scale < 0 || (c->args > 2 && zero < 0))
        return false;
    int y = numbers_of(c);
    const bool divided = blocks.rank != x.rank;
    if (divided)
        y = view(c, "blocks", y, &blocks);
    if (zero >= 0)
        y = binary(c, FSIM_OP_SUB, "centred", y, zero);
    y = binary(c, FSIM_OP_MUL, number == FSIM_F32 && !divided ? NULL : "product", y, scale);
    if (number != FSIM_F32)
        y = as(c, divided ? "rounded" : NULL, y, number);
    return finish(c, divided ? view(c, NULL, y, &x) : y);
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
    return finish(c, fields_of(c, c->arg[0], each, NULL));
}

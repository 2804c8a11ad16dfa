/* SPDX-License-Identifier: Apache-2.0 */
/* op_quantised.c: QuantizeLinear to QLinearMatMul, and the products of quantised weights of com.microsoft. */
#include "import/onnx/activation.h"
#include "import/onnx/conv.h"
#include "import/onnx/quantised.h"

#include <string.h>

/* Inputs i and i + 1 of the node: scale and zero. */
static fsim_onnx_scale scale_at(fsim_onnx_call *c, int i, int axis)
{
    return (fsim_onnx_scale){fsim_onnx_need(c, i), fsim_onnx_in(c, i + 1), axis};
}

/* The dtype of a zero, of codes: u8 where there is none. */
static fsim_dtype code_dtype(const fsim_onnx_scale *s) { return s->zero ? s->zero->dtype : FSIM_U8; }

/* Blocks of an axis with a scale each, version 21: x[..., n, ...] as [..., blocks, length, ...], so that the scale has
 * length 1 there. *apart: that shape; false where the axis has no blocks. */
static bool in_blocks(fsim_onnx_call *c, const fsim_operand *x, fsim_onnx_scale *s, fsim_shape *apart)
{
    const int64_t length = fsim_onnx_int(c, "block_size", 0);
    if (length < 1 || length > FSIM_MAX_DIM || s->scale->shape.rank != x->shape.rank ||
        x->shape.rank == FSIM_MAX_RANK || s->scale->shape.dim[s->axis] * length != x->shape.dim[s->axis])
        return false;
    fsim_shape own = {.rank = x->shape.rank + 1};
    *apart = own;
    for (int d = 0; d < own.rank; d++) {
        const int from = d <= s->axis ? d : d - 1;
        apart->dim[d] = d == s->axis ? s->scale->shape.dim[from] : d == s->axis + 1 ? length : x->shape.dim[from];
        own.dim[d] = d == s->axis + 1 ? 1 : s->scale->shape.dim[from];
    }
    s->scale = fsim_onnx_view(c, FSIM_STEP("block_scales"), s->scale, &own);
    s->zero = s->zero ? fsim_onnx_view(c, FSIM_STEP("block_zeros"), s->zero, &own) : NULL;
    return true;
}

/* Reads x, scale and zero of QuantizeLinear and DequantizeLinear. */
static bool read_linear(fsim_onnx_call *c, fsim_operand **x, fsim_onnx_scale *s)
{
    *x = fsim_onnx_need(c, 0);
    *s = scale_at(c, 1, 0);
    if (!*x || !s->scale)
        return false;
    if (fsim_onnx_elems(s->scale) == 1)
        return true;
    if (!fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 1), (*x)->shape.rank, &s->axis))
        return false;
    return s->scale->shape.rank != 1 || s->scale->shape.dim[0] == (*x)->shape.dim[s->axis] ||
           fsim_onnx_refuse(c, "has %lld scales for %lld elements of axis %d", (long long)s->scale->shape.dim[0],
                            (long long)(*x)->shape.dim[s->axis], s->axis);
}

bool fsim_onnx_reads_pairs(const fsim_onnx_call *c, const fsim_operand *v)
{
    return v->constant && fsim_dtype_paired(v->pairs) && !*c->domain && strcmp(c->op, "DequantizeLinear") == 0;
}

/* A scale or zero of codes x with as many dimensions as they have. */
static fsim_operand *with_rank_of(fsim_onnx_call *c, const char *step, fsim_operand *v, const fsim_operand *x, int axis)
{
    fsim_shape s = {.rank = x->shape.rank};
    if (!v || fsim_onnx_elems(v) == 1 || v->shape.rank == s.rank)
        return v;
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = d == axis ? fsim_onnx_elems(v) : 1;
    return fsim_onnx_view(c, FSIM_STEP(step), v, &s);
}

/* A constant as the tensor of another dtype that it is in memory. */
static fsim_operand *stored_as(fsim_onnx_call *c, const fsim_operand *v, fsim_dtype dtype)
{
    fsim_operand *own = fsim_new(c->a, fsim_operand, 1);
    *own = *v;
    own->dtype = dtype;
    own->tensor = NULL;
    return own;
}

/* Codes of 4 bits are stored, and read, as half a byte each; a zero point is a byte. */
static bool dequantize_pairs(fsim_onnx_call *c, fsim_operand *x, fsim_onnx_scale *s)
{
    if (x->shape.rank == 0 || x->shape.dim[x->shape.rank - 1] % 2 != 0)
        return fsim_onnx_unsupported(c, "an odd number of codes of 4 bits in a row");
    fsim_operand *in[3] = {stored_as(c, x, x->pairs), with_rank_of(c, "scales", s->scale, x, s->axis)};
    if (s->zero && s->zero->dtype == FSIM_DTYPE_NONE && fsim_dtype_paired(s->zero->pairs))
        in[2] = with_rank_of(c, "zeros", stored_as(c, s->zero, FSIM_I8), x, s->axis);
    c->keep = true;
    in[0]->parameter = true;
    if (!in[1] ||
        !fsim_onnx_emit(c, FSIM_OUT(0), "dequantize", &x->shape, s->scale->dtype, FSIM_LIST(in[2] ? 3 : 2, in)))
        return false;
    fsim_onnx_put_word(c, "dtype", fsim_dtype_names[s->scale->dtype]);
    return true;
}

bool fsim_onnx_op_dequantize(fsim_onnx_call *c)
{
    fsim_operand *x, *y;
    fsim_onnx_scale s;
    fsim_shape apart;
    if (!read_linear(c, &x, &s))
        return false;
    if (x->dtype == FSIM_DTYPE_NONE)
        return dequantize_pairs(c, x, &s);
    const bool one = fsim_onnx_elems(s.scale) == 1, blocks = in_blocks(c, x, &s, &apart);
    const fsim_shape whole = x->shape;
    fsim_operand *scale = s.scale;
    c->keep = true; /* a quantised weight is stored as it is, and dequantised where it is read */
    x->parameter = x->parameter || x->constant;
    if (blocks) {
        y = fsim_onnx_view(c, FSIM_STEP("blocks"), x, &apart);
        y = fsim_onnx_view(c, FSIM_OUT(0), fsim_onnx_dequantise(c, FSIM_STEP("numbers"), y, &s), &whole);
    } else {
        y = fsim_onnx_dequantise(c, FSIM_OUT(0), x, &s);
    }
    if (!y || blocks || (!one && scale->shape.rank != 1))
        return y != NULL;
    struct fsim_onnx_codes *codes = fsim_new(c->a, struct fsim_onnx_codes, 1);
    *codes = (struct fsim_onnx_codes){x, scale, one ? -1 : s.axis};
    y->codes = codes;
    return true;
}

bool fsim_onnx_op_quantize(fsim_onnx_call *c)
{
    fsim_operand *x;
    fsim_onnx_scale s;
    fsim_shape apart;
    if (!read_linear(c, &x, &s))
        return false;
    const fsim_dtype dtype = fsim_onnx_dtype(c, "output_dtype", code_dtype(&s));
    const fsim_shape whole = x->shape;
    if (!in_blocks(c, x, &s, &apart))
        return fsim_onnx_quantise(c, FSIM_OUT(0), x, &s, dtype) != NULL;
    fsim_operand *y = fsim_onnx_view(c, FSIM_STEP("blocks"), x, &apart);
    return fsim_onnx_view(c, FSIM_OUT(0), fsim_onnx_quantise(c, FSIM_STEP("codes"), y, &s, dtype), &whole) != NULL;
}

/* Least or most of all elements and 0. */
static fsim_operand *bound(fsim_onnx_call *c, const char *step, const char *op, fsim_operand *x, const char *with)
{
    const fsim_onnx_dims all = fsim_onnx_dims_of(0, x->shape.rank);
    return fsim_onnx_scalar(c, FSIM_STEP(step), with,
                            fsim_onnx_reduced(c, FSIM_STEP(fsim_printf(c->a, "%s_of", step)), op, x, &all, false), 0);
}

/* The scale and zero of all of x, by its range. */
static fsim_onnx_scale measure(fsim_onnx_call *c, fsim_onnx_at scale_at, fsim_onnx_at zero_at, fsim_operand *x)
{
    fsim_operand *most = bound(c, "most", "max", x, "maximum"), *least = bound(c, "least", "min", x, "minimum");
    fsim_operand *range = fsim_onnx_binary(c, FSIM_STEP("range"), "sub", most, least);
    fsim_operand *scale = fsim_onnx_scalar(c, scale_at, "mul", range, 1 / 255.0);
    fsim_operand *zero = fsim_onnx_binary(c, FSIM_STEP("start"), "div", least, scale);
    zero = fsim_onnx_unary(c, FSIM_STEP("zero_whole"), "round", fsim_onnx_unary(c, FSIM_STEP("zero_of"), "neg", zero));
    return (fsim_onnx_scale){scale, fsim_onnx_as(c, zero_at, zero, FSIM_U8), 0};
}

bool fsim_onnx_op_dynamic_quantize(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    const fsim_onnx_scale s = measure(c, fsim_onnx_wants(c, 1) ? FSIM_OUT(1) : FSIM_STEP("scale"),
                                      fsim_onnx_wants(c, 2) ? FSIM_OUT(2) : FSIM_STEP("zero_point"), x);
    return fsim_onnx_quantise(c, FSIM_OUT(0), x, &s, FSIM_U8) != NULL;
}

/* Products of codes. */

bool fsim_onnx_op_matmul_integer(fsim_onnx_call *c)
{
    return fsim_onnx_code_product(c, FSIM_OUT(0), fsim_onnx_need(c, 0), fsim_onnx_need(c, 1)) != NULL;
}

bool fsim_onnx_op_conv_integer(fsim_onnx_call *c)
{
    fsim_onnx_conv conv = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1), NULL, 0, FSIM_I32};
    if (fsim_onnx_in(c, 2))
        fsim_onnx_number_of(fsim_onnx_in(c, 2), &conv.padded);
    return fsim_onnx_convolve(c, FSIM_OUT(0), &conv) != NULL;
}

/* a, its scale and zero, b, its scale and zero, the result's scale and zero. */
bool fsim_onnx_op_qlinear_matmul(fsim_onnx_call *c)
{
    fsim_operand *b = fsim_onnx_need(c, 3);
    const fsim_onnx_scale to = scale_at(c, 6, 0);
    fsim_operand *sums = fsim_onnx_code_product(c, FSIM_STEP("sums"), fsim_onnx_need(c, 0), b);
    if (!sums || !to.scale)
        return false;
    fsim_operand *y = fsim_onnx_rescale(c, FSIM_STEP("numbers"), sums, fsim_onnx_need(c, 1), fsim_onnx_need(c, 4),
                                        sums->shape.rank - 1);
    return fsim_onnx_quantise(c, FSIM_OUT(0), y, &to, code_dtype(&to)) != NULL;
}

/* x, its scale and zero, w, its scale and zero, the result's scale and zero, bias. */
bool fsim_onnx_op_qlinear_conv(fsim_onnx_call *c)
{
    fsim_onnx_conv conv = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 3), fsim_onnx_in(c, 8), 0, FSIM_I32};
    const fsim_onnx_scale to = scale_at(c, 6, 0);
    if (fsim_onnx_in(c, 2))
        fsim_onnx_number_of(fsim_onnx_in(c, 2), &conv.padded);
    fsim_operand *sums = fsim_onnx_convolve(c, FSIM_STEP("sums"), &conv);
    fsim_operand *y = fsim_onnx_rescale(c, FSIM_STEP("numbers"), sums, fsim_onnx_need(c, 1), fsim_onnx_need(c, 4), 1);
    return fsim_onnx_quantise(c, FSIM_OUT(0), y, &to, code_dtype(&to)) != NULL;
}

/* com.microsoft. */

/* Numbers from the codes in input i, whose scale and zero follow. */
static fsim_operand *numbers_at(fsim_onnx_call *c, const char *step, int i)
{
    const fsim_onnx_scale s = scale_at(c, i + 1, 0);
    return fsim_onnx_dequantise(c, FSIM_STEP(step), fsim_onnx_need(c, i), &s);
}

static bool requantise(fsim_onnx_call *c, int i, fsim_operand *y, fsim_dtype dtype)
{
    const fsim_onnx_scale to = scale_at(c, i, 0);
    return fsim_onnx_quantise(c, FSIM_OUT(0), y, &to, to.zero ? to.zero->dtype : dtype) != NULL;
}

/* QLinearAdd, QLinearMul. */
bool fsim_onnx_op_qlinear_binary(fsim_onnx_call *c)
{
    const char *op = strcmp(c->op, "QLinearMul") == 0 ? "mul" : "add";
    fsim_operand *x = numbers_at(c, "a", 0),
                 *y = fsim_onnx_binary(c, FSIM_STEP("result"), op, x, numbers_at(c, "b", 3));
    return y && requantise(c, 6, y, c->in[0]->dtype);
}

/* QLinearSigmoid, QLinearLeakyRelu. */
bool fsim_onnx_op_qlinear_unary(fsim_onnx_call *c)
{
    const char *name = c->op + strlen("QLinear");
    fsim_operand *y = fsim_onnx_activate(c, FSIM_STEP("result"), name, numbers_at(c, "x", 0));
    return y && requantise(c, 3, y, c->in[0]->dtype);
}

/* QLinearSoftmax: along one axis. */
bool fsim_onnx_op_qlinear_softmax(fsim_onnx_call *c)
{
    fsim_operand *x = numbers_at(c, "x", 0);
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", -1), x->shape.rank, &axis))
        return false;
    fsim_operand *y = fsim_onnx_unary(c, FSIM_STEP("softmax"), "softmax", x);
    if (y)
        fsim_onnx_put_int(c, "dim", axis);
    return y && requantise(c, 3, y, c->in[0]->dtype);
}

bool fsim_onnx_op_qlinear_global_pool(fsim_onnx_call *c)
{
    fsim_operand *x = numbers_at(c, "x", 0);
    if (!x || x->shape.rank < 3)
        return x && fsim_onnx_refuse(c, "wants x[N, C, ...]");
    const int last = fsim_onnx_int(c, "channels_last", 0) != 0;
    const fsim_onnx_dims dims = fsim_onnx_dims_of(2 - last, x->shape.rank - last);
    return requantise(c, 3, fsim_onnx_reduced(c, FSIM_STEP("mean"), "mean", x, &dims, true), c->in[0]->dtype);
}

/* The result's scale and zero, then each input with its own. */
bool fsim_onnx_op_qlinear_concat(fsim_onnx_call *c)
{
    fsim_operand *in[FSIM_ONNX_MAX_INS / 3];
    const int count = (c->ins - 2) / 3;
    int axis;
    if (count < 1 || count > FSIM_ONNX_MAX_INS / 3 || !fsim_onnx_need(c, 2) ||
        !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), c->in[2]->shape.rank, &axis))
        return count < 1 ? fsim_onnx_refuse(c, "has %d inputs", c->ins) : false;
    for (int i = 0; i < count; i++) {
        in[i] = numbers_at(c, "x", 2 + 3 * i);
        if (!in[i])
            return false;
    }
    return requantise(c, 0, fsim_onnx_concat(c, FSIM_STEP("all"), axis, count, in), c->in[2]->dtype);
}

/* Numbers of products of a code's matrix: sums, scales of both, a bias of floats. */
static bool to_numbers(fsim_onnx_call *c, fsim_operand *sums, fsim_operand *one, fsim_operand *other,
                       fsim_operand *bias)
{
    const int channel = sums ? sums->shape.rank - 1 : 0;
    fsim_operand *y = fsim_onnx_rescale(c, bias ? FSIM_STEP("numbers") : FSIM_OUT(0), sums, one, other, channel);
    return bias ? fsim_onnx_binary(c, FSIM_OUT(0), "add", y, bias) != NULL : y != NULL;
}

/* A, B, scales of A and B, zeros of A and B, bias. */
bool fsim_onnx_op_matmul_integer_to_float(fsim_onnx_call *c)
{
    fsim_operand *sums = fsim_onnx_code_product(c, FSIM_STEP("sums"), fsim_onnx_need(c, 0), fsim_onnx_need(c, 1));
    return to_numbers(c, sums, fsim_onnx_need(c, 2), fsim_onnx_need(c, 3), fsim_onnx_in(c, 6));
}

/* A, its scale and zero, B, its scale and zero, C of 32 bits, the result's scale and zero: without these, of floats. */
bool fsim_onnx_op_qgemm(fsim_onnx_call *c)
{
    static const int64_t turn[2] = {1, 0};
    fsim_operand *a = fsim_onnx_need(c, 0), *b = fsim_onnx_need(c, 3), *bias = fsim_onnx_in(c, 6), *y;
    const double alpha = fsim_onnx_float(c, "alpha", 1);
    const bool coded = fsim_onnx_in(c, 7) != NULL;
    if (!a || !b || a->shape.rank != 2 || b->shape.rank != 2)
        return a && b && fsim_onnx_refuse(c, "wants two matrices");
    if (fsim_onnx_int(c, "transA", 0))
        a = fsim_onnx_reorder(c, FSIM_STEP("a"), a, turn);
    fsim_operand *in[3] = {a, b, bias};
    if (fsim_onnx_int(c, "transB", 0)) {
        y = fsim_onnx_linear_of(c, FSIM_STEP("sums"), in, FSIM_I32);
    } else {
        y = fsim_onnx_code_product(c, FSIM_STEP("products"), a, b);
        y = bias ? fsim_onnx_binary(c, FSIM_STEP("sums"), "add", y, bias) : y;
    }
    y = fsim_onnx_rescale(c, coded || alpha != 1 ? FSIM_STEP("numbers") : FSIM_OUT(0), y, fsim_onnx_need(c, 1),
                          fsim_onnx_need(c, 4), 1);
    if (alpha != 1)
        y = fsim_onnx_scalar(c, coded ? FSIM_STEP("scaled") : FSIM_OUT(0), "mul", y, alpha);
    return coded ? requantise(c, 7, y, FSIM_U8) : y != NULL;
}

/* A of floats, B, scale and zero of B, bias: A is quantised by its own range first. */
bool fsim_onnx_op_dynamic_quantize_matmul(fsim_onnx_call *c)
{
    fsim_operand *a = fsim_onnx_need(c, 0);
    if (!a)
        return false;
    const fsim_onnx_scale s = measure(c, FSIM_STEP("a_scale"), FSIM_STEP("a_zero"), a);
    fsim_operand *code = fsim_onnx_quantise(c, FSIM_STEP("a_codes"), a, &s, FSIM_U8);
    fsim_operand *sums = fsim_onnx_code_product(c, FSIM_STEP("sums"), code, fsim_onnx_need(c, 1));
    return to_numbers(c, sums, s.scale, fsim_onnx_need(c, 2), fsim_onnx_in(c, 4));
}

/* MatMulNBits: A[..., K], B[N, blocks, bytes], scales[N blocks], zeros: weights of 2, 4 or 8 bits, some in a byte. */

/* The codes, one an element. */
static fsim_operand *unpacked(fsim_onnx_call *c, fsim_operand *packed, int64_t each, const fsim_shape *out)
{
    const fsim_shape bytes = {.rank = 1, .dim = {fsim_onnx_elems(packed)}},
                     codes = {.rank = 1, .dim = {fsim_onnx_elems(packed) * each}};
    if (each == 1)
        return fsim_onnx_view(c, FSIM_STEP("codes"), packed, out);
    fsim_operand *y = fsim_onnx_view(c, FSIM_STEP("bytes"), packed, &bytes);
    if ((y = fsim_onnx_emit(c, FSIM_STEP("parts"), "unpack", &codes, FSIM_U8, FSIM_ARGS(y))))
        fsim_onnx_put_int(c, "bits", 8 / each);
    return fsim_onnx_view(c, FSIM_STEP("codes"), y, out);
}

bool fsim_onnx_op_matmul_nbits(fsim_onnx_call *c)
{
    fsim_operand *a = fsim_onnx_need(c, 0), *b = fsim_onnx_need(c, 1), *scale = fsim_onnx_need(c, 2);
    const int64_t k = fsim_onnx_int(c, "K", 0), n = fsim_onnx_int(c, "N", 0), bits = fsim_onnx_int(c, "bits", 4),
                  length = fsim_onnx_int(c, "block_size", 0);
    if (!a || !b || !scale)
        return false;
    if (k < 1 || n < 1 || length < 1 || k > FSIM_MAX_DIM || n > FSIM_MAX_DIM || length > FSIM_MAX_DIM ||
        (bits != 2 && bits != 4 && bits != 8))
        return fsim_onnx_refuse(c, "has K %lld, N %lld, %lld bits and blocks of %lld", (long long)k, (long long)n,
                                (long long)bits, (long long)length);
    const int64_t blocks = (k + length - 1) / length, each = 8 / bits;
    const fsim_shape apart = {.rank = 3, .dim = {n, blocks, length}}, side = {.rank = 3, .dim = {n, blocks, 1}},
                     whole = {.rank = 2, .dim = {n, blocks * length}};
    if (!fsim_onnx_check_shape(c, &apart) || fsim_onnx_elems(b) * each != fsim_elems(&apart) ||
        fsim_onnx_elems(scale) != n * blocks)
        return fsim_onnx_refuse(c, "weights %s and scales %s do not fit with K %lld, N %lld and blocks of %lld",
                                fsim_shape_text(c->a, &b->shape), fsim_shape_text(c->a, &scale->shape), (long long)k,
                                (long long)n, (long long)length);
    c->keep = true; /* the weight is stored packed */
    b->parameter = b->parameter || b->constant;
    fsim_operand *w = fsim_onnx_as(c, FSIM_STEP("numbers"), unpacked(c, b, each, &apart), a->dtype);
    if (!fsim_onnx_in(c, 3))
        w = fsim_onnx_scalar(c, FSIM_STEP("centred"), "sub", w, (double)(1 << (bits - 1)));
    else if (fsim_onnx_elems(c->in[3]) == n * blocks)
        w = fsim_onnx_binary(
            c, FSIM_STEP("centred"), "sub", w,
            fsim_onnx_as(c, FSIM_STEP("zeros"), fsim_onnx_view(c, FSIM_STEP("zero_codes"), c->in[3], &side), a->dtype));
    w = fsim_onnx_binary(c, FSIM_STEP("scaled"), "mul", w, fsim_onnx_view(c, FSIM_STEP("scales"), scale, &side));
    w = fsim_onnx_slice(c, FSIM_STEP("rows"), fsim_onnx_view(c, FSIM_STEP("weight"), w, &whole), 1, 0, k);
    return fsim_onnx_linear(c, FSIM_OUT(0), a, w, fsim_onnx_in(c, 5)) != NULL;
}

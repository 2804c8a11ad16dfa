/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/reference/point.h"

#include "validate/reference/interpret.h"
#include <math.h>

/* The value of a point: function `name` of arguments x, the node's attributes a and the place at. */
#define VALUE(name, expression)                                                                                        \
    static double name(const fsim_node *n, const double *x, const fsim_place *at)                                      \
    {                                                                                                                  \
        const fsim_attrs *a = &n->attrs;                                                                               \
        (void)a, (void)x, (void)at;                                                                                    \
        return expression;                                                                                             \
    }

static bool is_whole(const fsim_node *n) { return !fsim_dtype_floating(n->dtype); }

/* The rest of a division, with the divisor's sign. */
static double rest(const fsim_node *n, const double *x, const fsim_place *at)
{
    const double r = is_whole(n) && x[1] == 0 ? 0 : fmod(x[0], x[1]);
    (void)at;
    return r != 0 && signbit(r) != signbit(x[1]) ? r + x[1] : r;
}

VALUE(same, x[0])
VALUE(add, x[0] + x[1])
VALUE(sub, x[0] - x[1])
VALUE(mul, x[0] * x[1])
VALUE(divide, x[0] / x[1])
VALUE(power, pow(x[0], x[1]))
VALUE(maximum, x[0] > x[1] || isnan(x[0]) ? x[0] : x[1])
VALUE(minimum, x[0] < x[1] || isnan(x[0]) ? x[0] : x[1])
VALUE(negative, -x[0])
VALUE(absolute, fabs(x[0]))
VALUE(exponential, exp(x[0]))
VALUE(logarithm, log(x[0]))
VALUE(root, sqrt(x[0]))
VALUE(inverse_root, 1 / sqrt(x[0]))
VALUE(inverse, 1 / x[0])
VALUE(sine, sin(x[0]))
VALUE(cosine, cos(x[0]))
VALUE(error_function, erf(x[0]))
VALUE(hyperbolic, tanh(x[0]))
VALUE(sigmoid, 1 / (1 + exp(-x[0])))
VALUE(relu, x[0] > 0 || isnan(x[0]) ? x[0] : 0)
VALUE(relu6, x[0] > 6 ? 6 : x[0] > 0 || isnan(x[0]) ? x[0] : 0)
VALUE(leaky_relu, x[0] > 0 ? x[0] : a->alpha * x[0])
VALUE(elu, x[0] > 0 ? x[0] : a->alpha * expm1(x[0]))
VALUE(selu, 1.05070098735548 * (x[0] > 0 ? x[0] : 1.67326324235437 * expm1(x[0])))
VALUE(softplus, x[0] > 20 ? x[0] : log1p(exp(x[0])))
VALUE(clamp, isnan(x[0]) ? x[0] : fmin(fmax(x[0], a->min), a->max))
VALUE(hardsigmoid, fmin(fmax(x[0] / 6 + 0.5, 0), 1))
VALUE(hardswish, x[0] * fmin(fmax(x[0] + 3, 0), 6) / 6)
VALUE(equal, x[0] == x[1])
VALUE(unequal, x[0] != x[1])
VALUE(less, x[0] < x[1])
VALUE(at_most, x[0] <= x[1])
VALUE(greater, x[0] > x[1])
VALUE(at_least, x[0] >= x[1])
VALUE(rounded_down, floor(x[0]))
VALUE(rounded_up, ceil(x[0]))
VALUE(rounded, nearbyint(x[0]))
VALUE(cut_off, trunc(x[0]))
VALUE(sign, x[0] > 0 ? 1 : x[0] < 0 ? -1 : 0)
VALUE(square, x[0] * x[0])
VALUE(log_of_1_plus, log1p(x[0]))
VALUE(exp_minus_1, expm1(x[0]))
VALUE(log_2, log2(x[0]))
VALUE(exp_2, exp2(x[0]))
VALUE(floor_divide, is_whole(n) && x[1] == 0 ? 0 : floor(x[0] / x[1]))
VALUE(truncated_rest, is_whole(n) && x[1] == 0 ? 0 : fmod(x[0], x[1]))
VALUE(tangent, tan(x[0]))
VALUE(arc_sine, asin(x[0]))
VALUE(arc_cosine, acos(x[0]))
VALUE(arc_tangent, atan(x[0]))
VALUE(angle, atan2(x[0], x[1]))
VALUE(hyperbolic_sine, sinh(x[0]))
VALUE(hyperbolic_cosine, cosh(x[0]))
VALUE(area_sine, asinh(x[0]))
VALUE(area_cosine, acosh(x[0]))
VALUE(area_tangent, atanh(x[0]))
VALUE(log_10, log10(x[0]))
VALUE(celu, fmax(x[0], 0) + fmin(a->alpha * expm1(x[0] / a->alpha), 0))
VALUE(hard_shrunk, fabs(x[0]) <= a->lambd ? 0 : x[0])
VALUE(soft_shrunk, fabs(x[0]) <= a->lambd ? 0 : x[0] - copysign(a->lambd, x[0]))
VALUE(log_sigmoid, x[0] < 0 ? x[0] - log1p(exp(x[0])) : -log1p(exp(-x[0])))
VALUE(threshold, x[0] > a->threshold ? x[0] : a->value)
VALUE(sloped, x[0] > 0 ? x[0] : x[1] * x[0])
VALUE(bits_of_both, (double)((int64_t)x[0] & (int64_t)x[1]))
VALUE(bits_of_either, (double)((int64_t)x[0] | (int64_t)x[1]))
VALUE(bits_of_one, (double)((int64_t)x[0] ^ (int64_t)x[1]))
VALUE(other_bits, -x[0] - 1)
VALUE(shifted_left, x[1]<0 || x[1]> 63 ? 0 : ldexp(x[0], (int)x[1]))
VALUE(shifted_right, floor(ldexp(x[0], -(int)(x[1]<0 || x[1]> 63 ? 63 : x[1]))))
VALUE(is_nan, isnan(x[0]))
VALUE(is_inf, isinf(x[0]))
VALUE(is_finite, isfinite(x[0]))
VALUE(bit_field, (double)((int)x[0] >> (int)(at->col * a->bits % 8) & ((1 << a->bits) - 1)))
VALUE(bit_place, x[0] != 0 ? (double)(1 << at->col % 8) : 0)
static const double f4_numbers[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
/* The code of the nearest number: of two as near, the one with an even code. NaN and what is beyond become 6. */
static double f4_nearest(double v)
{
    int best = 7;
    for (int code = 6; code >= 0 && !isnan(v); code--) {
        const double d = fabs(f4_numbers[code] - fabs(v)), least = fabs(f4_numbers[best] - fabs(v));
        if (d < least || (d == least && code % 2 == 0))
            best = code;
    }
    return best + (signbit(v) ? 8 : 0);
}
VALUE(to_e4m3, fsim_stored(FSIM_F8E4M3, x[0]))
VALUE(to_e8m0, fsim_stored(FSIM_F8E8M0, x[0]))
VALUE(f4_value, f4_numbers[(int)x[0] & 15])
VALUE(f4_code, f4_nearest(x[0]))
VALUE(both, x[0] != 0 && x[1] != 0)
VALUE(either, x[0] != 0 || x[1] != 0)
VALUE(one_of, (x[0] != 0) != (x[1] != 0))
VALUE(not, x[0] == 0)
VALUE(one_hot, x[0] == (double)at->col)
VALUE(arange, (double)(a->first + at->index * a->step))
VALUE(where, x[0] != 0 ? x[1] : x[2])
VALUE(where_input, x[0] != 0 ? a->input : x[1])
VALUE(where_other, x[0] != 0 ? x[1] : a->other)
VALUE(where_scalars, x[0] != 0 ? a->input : a->other)
VALUE(masked_fill, x[1] != 0 ? a->value : x[0])
VALUE(cast, fsim_dtype_floating(a->dtype) ? x[0] : fsim_stored(a->dtype, x[0]))
VALUE(lower_triangle, at->col <= at->row + a->k ? x[0] : 0)
VALUE(upper_triangle, at->col >= at->row + a->k ? x[0] : 0)
VALUE(causal, at->col <= at->row + a->k ? x[0] : -INFINITY)
VALUE(in_window, at->col < at->row + a->k ? -INFINITY : x[0])
VALUE(mask_out, x[1] != 0 ? x[0] : -INFINITY)
VALUE(fill, a->value)
VALUE(smooth_l1, fabs(x[0]) < 1 ? 0.5 * x[0] * x[0] : fabs(x[0]) - 0.5)
VALUE(x_log_x, x[0] > 0 ? x[0] * log(x[0]) : 0)
VALUE(dropout, fsim_dropout_keeps(at->index, a->p) ? x[0] / (1 - a->p) : 0)
VALUE(rotate_half, at->col < at->cols / 2 ? -x[0] : x[0])

static bool near_zero_divisor(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[1] > 0 && fabs(x[1]) <= b[1];
}

static bool near_zero(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] > 0 && fabs(x[0]) <= b[0];
}

/* Is it not known on which side of a whole number x is? */
static bool near_whole(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] > 0 && floor(x[0] - b[0]) != floor(x[0] + b[0]);
}
static bool at_whole(const fsim_node *n, const double *x, const double *b)
{
    return near_whole(n, x, b) || (b[0] > 0 && ceil(x[0] - b[0]) != ceil(x[0] + b[0]));
}
static bool near_half(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] > 0 && nearbyint(x[0] - b[0]) != nearbyint(x[0] + b[0]);
}
/* Does a pole of the tangent lie within b? */
static bool near_pole(const fsim_node *n, const double *x, const double *b)
{
    const double half_turns = 0.3183098861837907;
    (void)n;
    return b[0] > 0 && floor((x[0] - b[0]) * half_turns + 0.5) != floor((x[0] + b[0]) * half_turns + 0.5);
}
/* Left of the origin the angle jumps from -pi to pi. */
static bool near_the_seam(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] + b[1] > 0 && fabs(x[0]) <= b[0] && x[1] - b[1] <= 0;
}
/* The constant is a float on devices. */
static bool near_lambd(const fsim_node *n, const double *x, const double *b)
{
    const double l = n->attrs.lambd;
    return fabs(fabs(x[0]) - l) <= b[0] + 0x1p-24 * l;
}
static bool near_threshold(const fsim_node *n, const double *x, const double *b)
{
    const double t = n->attrs.threshold;
    return x[0] != t && fabs(x[0] - t) <= b[0] + 0x1p-24 * fabs(t);
}
static bool uncertain(const fsim_node *n, const double *x, const double *b)
{
    (void)x;
    return b[0] > 0 || (n->args > 1 && b[1] > 0);
}
static bool near_f4_step(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] > 0 && f4_nearest(x[0] - b[0]) != f4_nearest(x[0] + b[0]);
}
static bool either_near_zero(const fsim_node *n, const double *x, const double *b)
{
    bool near = near_zero(n, x, b);
    if (n->args > 1)
        near = near || (b[1] > 0 && fabs(x[1]) <= b[1]);
    return near;
}

/* Is it not known between which whole numbers the quotient is? That of floats is rounded. */
static bool near_whole_quotient(const fsim_node *n, const double *x, const double *b)
{
    if (is_whole(n))
        return b[0] + b[1] > 0;
    const double q = x[0] / x[1];
    if (fabs(x[1]) <= b[1] || !isfinite(q))
        return b[0] + b[1] > 0;
    const double off = (b[0] + fabs(q) * b[1]) / (fabs(x[1]) - b[1]);
    const double rounded =
        n->op == FSIM_OP_FLOOR_DIVIDE && q != floor(q) && n->dtype != FSIM_F64 ? fabs(q) * 0x1p-22 : 0;
    return off + rounded > 0 &&
           (floor(q - off - rounded) != floor(q + off + rounded) || ceil(q - off - rounded) != ceil(q + off + rounded));
}

static bool near_zero_base(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] > 0 && x[1] - b[1] < 0 && fabs(x[0]) <= b[0];
}

static bool near_each_other(const fsim_node *n, const double *x, const double *b)
{
    (void)n;
    return b[0] + b[1] > 0 && !(fsim_difference(x[0], x[1]) > b[0] + b[1]);
}

static bool near_an_integers_end(const fsim_node *n, const double *x, const double *b)
{
    static const int bits[FSIM_DTYPE_COUNT] = {
        [FSIM_I64] = 63, [FSIM_I32] = 31, [FSIM_I16] = 15, [FSIM_I8] = 7, [FSIM_U8] = 8};
    const fsim_dtype t = n->attrs.dtype;
    if (fsim_dtype_floating(t))
        return false;
    if (t == FSIM_BOOL)
        return b[0] > 0 && fabs(x[0]) <= b[0];
    return !(fabs(x[0]) + b[0] < ldexp(1, bits[t])) ||
           (t == FSIM_U8 && x[0] - b[0] <= -1); /* outside of its range devices differ: some saturate */
}

const fsim_point_row fsim_point_rows[FSIM_OP_COUNT] = {
    [FSIM_OP_ADD] = {add, {1, 0, 0}, NULL},
    [FSIM_OP_SUB] = {sub, {1, 0, 0}, NULL},
    [FSIM_OP_MUL] = {mul, {1, 0, 0}, NULL},
    [FSIM_OP_DIV] = {divide, {3, 0, 0}, near_zero_divisor},
    [FSIM_OP_POW] = {power, {8, 0, 0}, near_zero_base}, /* plus the error of the logarithm, see rounding_of */
    [FSIM_OP_MAXIMUM] = {maximum, {0}, NULL},
    [FSIM_OP_MINIMUM] = {minimum, {0}, NULL},
    [FSIM_OP_NEG] = {negative, {0}, NULL},
    [FSIM_OP_ABS] = {absolute, {0}, NULL},
    [FSIM_OP_EXP] = {exponential, {4, 2, 0}, NULL},
    [FSIM_OP_LOG] = {logarithm, {4, 0, 0}, NULL},
    [FSIM_OP_SQRT] = {root, {3, 0, 0}, NULL},
    [FSIM_OP_RSQRT] = {inverse_root, {4, 0, 0}, NULL},
    [FSIM_OP_RECIPROCAL] = {inverse, {3, 0, 0}, near_zero},
    [FSIM_OP_SIN] = {sine, {4, 0, 4}, NULL},
    [FSIM_OP_COS] = {cosine, {4, 0, 4}, NULL},
    [FSIM_OP_ERF] = {error_function, {6, 0, 0}, NULL},
    [FSIM_OP_TANH] = {hyperbolic, {8, 0, 0}, NULL},
    [FSIM_OP_SIGMOID] = {sigmoid, {8, 2, 0}, NULL},
    [FSIM_OP_RELU] = {relu, {0}, NULL},
    [FSIM_OP_RELU6] = {relu6, {0}, NULL},
    [FSIM_OP_LEAKY_RELU] = {leaky_relu, {3, 0, 0}, NULL},
    [FSIM_OP_ELU] = {elu, {4, 0, 0}, NULL}, /* plus that of alpha, see fsim_point_error */
    [FSIM_OP_SELU] = {selu, {4, 0, 8}, NULL},
    [FSIM_OP_SOFTPLUS] = {softplus, {8, 2, 0}, NULL},
    [FSIM_OP_HARDTANH] = {clamp, {0}, NULL},
    [FSIM_OP_HARDSIGMOID] = {hardsigmoid, {3, 0, 2}, NULL},
    [FSIM_OP_HARDSWISH] = {hardswish, {6, 0, 0}, NULL},
    [FSIM_OP_CLAMP] = {clamp, {0}, NULL},
    [FSIM_OP_EQ] = {equal, {0}, near_each_other},
    [FSIM_OP_NE] = {unequal, {0}, near_each_other},
    [FSIM_OP_LT] = {less, {0}, near_each_other},
    [FSIM_OP_LE] = {at_most, {0}, near_each_other},
    [FSIM_OP_GT] = {greater, {0}, near_each_other},
    [FSIM_OP_GE] = {at_least, {0}, near_each_other},
    [FSIM_OP_FLOOR] = {rounded_down, {0}, near_whole},
    [FSIM_OP_CEIL] = {rounded_up, {0}, at_whole},
    [FSIM_OP_ROUND] = {rounded, {0}, near_half},
    [FSIM_OP_TRUNC] = {cut_off, {0}, at_whole},
    [FSIM_OP_SIGN] = {sign, {0}, near_zero},
    [FSIM_OP_SQUARE] = {square, {1, 0, 0}, NULL},
    [FSIM_OP_LOG1P] = {log_of_1_plus, {4, 0, 0}, NULL},
    [FSIM_OP_EXPM1] = {exp_minus_1, {4, 0, 0}, NULL},
    [FSIM_OP_LOG2] = {log_2, {6, 0, 0}, NULL},
    [FSIM_OP_EXP2] = {exp_2, {4, 3, 0}, NULL},
    [FSIM_OP_FLOOR_DIVIDE] = {floor_divide, {0}, near_whole_quotient},
    [FSIM_OP_REMAINDER] = {rest, {3, 0, 0}, near_whole_quotient},
    [FSIM_OP_FMOD] = {truncated_rest, {1, 0, 0}, near_whole_quotient},
    [FSIM_OP_TAN] = {tangent, {6, 0, 4}, near_pole},
    [FSIM_OP_ASIN] = {arc_sine, {6, 0, 0}, NULL},
    [FSIM_OP_ACOS] = {arc_cosine, {6, 0, 0}, NULL},
    [FSIM_OP_ATAN] = {arc_tangent, {6, 0, 0}, NULL},
    [FSIM_OP_ATAN2] = {angle, {6, 0, 0}, near_the_seam},
    [FSIM_OP_SINH] = {hyperbolic_sine, {6, 2, 0}, NULL},
    [FSIM_OP_COSH] = {hyperbolic_cosine, {6, 2, 0}, NULL},
    [FSIM_OP_ASINH] = {area_sine, {6, 0, 0}, NULL},
    [FSIM_OP_ACOSH] = {area_cosine, {6, 0, 0}, NULL},
    [FSIM_OP_ATANH] = {area_tangent, {6, 0, 0}, NULL},
    [FSIM_OP_LOG10] = {log_10, {6, 0, 0}, NULL},
    [FSIM_OP_CELU] = {celu, {4, 0, 0}, NULL}, /* plus that of alpha, see fsim_point_error */
    [FSIM_OP_HARDSHRINK] = {hard_shrunk, {0}, near_lambd},
    [FSIM_OP_SOFTSHRINK] = {soft_shrunk, {2, 0, 0}, NULL}, /* plus that of lambd, see fsim_point_error */
    [FSIM_OP_LOGSIGMOID] = {log_sigmoid, {8, 2, 0}, NULL},
    [FSIM_OP_THRESHOLD] = {threshold, {0}, near_threshold},
    [FSIM_OP_PRELU] = {sloped, {3, 0, 0}, NULL},
    [FSIM_OP_BIT_FIELD] = {bit_field, {0}, uncertain},
    [FSIM_OP_BIT_PLACE] = {bit_place, {0}, uncertain},
    [FSIM_OP_ROUND_E4M3] = {to_e4m3, {0}, NULL},
    [FSIM_OP_ROUND_E8M0] = {to_e8m0, {0}, NULL},
    [FSIM_OP_F4_VALUE] = {f4_value, {0}, uncertain},
    [FSIM_OP_F4_CODE] = {f4_code, {0}, near_f4_step},
    [FSIM_OP_BITWISE_AND] = {bits_of_both, {0}, uncertain},
    [FSIM_OP_BITWISE_OR] = {bits_of_either, {0}, uncertain},
    [FSIM_OP_BITWISE_XOR] = {bits_of_one, {0}, uncertain},
    [FSIM_OP_BITWISE_NOT] = {other_bits, {0}, uncertain},
    [FSIM_OP_BITWISE_LEFT_SHIFT] = {shifted_left, {0}, uncertain},
    [FSIM_OP_BITWISE_RIGHT_SHIFT] = {shifted_right, {0}, uncertain},
    [FSIM_OP_ISNAN] = {is_nan, {0}, NULL},
    [FSIM_OP_ISINF] = {is_inf, {0}, NULL},
    [FSIM_OP_ISFINITE] = {is_finite, {0}, NULL},
    [FSIM_OP_LOGICAL_AND] = {both, {0}, either_near_zero},
    [FSIM_OP_LOGICAL_OR] = {either, {0}, either_near_zero},
    [FSIM_OP_LOGICAL_XOR] = {one_of, {0}, either_near_zero},
    [FSIM_OP_LOGICAL_NOT] = {not, {0}, near_zero},
    [FSIM_OP_ONE_HOT] = {one_hot, {0}, NULL},
    [FSIM_OP_ARANGE] = {arange, {0}, NULL},
    [FSIM_OP_WHERE_INPUT] = {where_input, {0}, NULL},
    [FSIM_OP_WHERE_OTHER] = {where_other, {0}, NULL},
    [FSIM_OP_WHERE_SCALARS] = {where_scalars, {0}, NULL},
    [FSIM_OP_WHERE] = {where, {0}, NULL},
    [FSIM_OP_MASKED_FILL] = {masked_fill, {0}, NULL},
    [FSIM_OP_CAST] = {cast, {0}, near_an_integers_end},
    [FSIM_OP_COPY] = {same, {0}, NULL},
    [FSIM_OP_TRIL] = {lower_triangle, {0}, NULL},
    [FSIM_OP_TRIU] = {upper_triangle, {0}, NULL},
    [FSIM_OP_FILL] = {fill, {0}, NULL},
    [FSIM_OP_CAUSAL_MASK] = {causal, {0}, NULL},
    [FSIM_OP_WINDOW_MASK] = {in_window, {0}, NULL},
    [FSIM_OP_MASK_OUT] = {mask_out, {0}, NULL},
    [FSIM_OP_SMOOTH_L1] = {smooth_l1, {3, 0, 0}, NULL},
    [FSIM_OP_XLOGX] = {x_log_x, {6, 0, 0}, NULL},
    [FSIM_OP_DROPOUT] = {dropout, {3, 0, 0}, NULL}, /* plus that of p, see fsim_point_error */
    [FSIM_OP_PERMUTE] = {same, {0}, NULL},
    [FSIM_OP_TRANSPOSE] = {same, {0}, NULL},
    [FSIM_OP_SLICE] = {same, {0}, NULL},
    [FSIM_OP_EXPAND] = {same, {0}, NULL},
    [FSIM_OP_UNFOLD] = {same, {0}, NULL},
    [FSIM_OP_IM2COL] = {same, {0}, NULL},
    [FSIM_OP_FLIP] = {same, {0}, NULL},
    [FSIM_OP_SPLIT] = {same, {0}, NULL},
    [FSIM_OP_ROTATE_HALF] = {rotate_half, {0}, NULL},
    [FSIM_OP_TRANSFER] = {same, {0}, NULL},
};

fsim_error_units fsim_point_error(const fsim_node *n)
{
    fsim_error_units e = fsim_point_rows[n->op].error;
    if (n->op == FSIM_OP_DROPOUT) /* 1 - p loses digits of p */
        e.ulps += n->attrs.p < 1 ? 2 * fabs(n->attrs.p) / (1 - n->attrs.p) : 0;
    if (n->op == FSIM_OP_ELU || n->op == FSIM_OP_CELU)
        e.flat = 4 * fabs(n->attrs.alpha);
    if (n->op == FSIM_OP_SOFTSHRINK)
        e.flat = 2 * n->attrs.lambd;
    return e;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: ONNX's elementwise operators of one and two operands, comparisons and logic among them, by tables; and
 * Where, Cast. Each also computes its result where its inputs are known. */
#include "import/onnx/contents.h"

#include <math.h>
#include <string.h>

/* Of one operand. */

static double keep_sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static double negate(double x) { return -x; }
static double invert(double x) { return x == 0; }
static double reciprocal(double x) { return 1 / x; }
static double is_nan(double x) { return isnan(x) != 0; }

typedef struct {
    const char *name, *op;
    double (*value)(double); /* NULL: not followed */
    bool logical;            /* its result is bool */
} unary_row;
static const unary_row unary_rows[] = {
    {"Neg", "neg", negate, false},
    {"Abs", "abs", fabs, false},
    {"Exp", "exp", exp, false},
    {"Log", "log", log, false},
    {"Sqrt", "sqrt", sqrt, false},
    {"Reciprocal", "reciprocal", reciprocal, false},
    {"Sin", "sin", sin, false},
    {"Cos", "cos", cos, false},
    {"Erf", "erf", NULL, false},
    {"Floor", "floor", floor, false},
    {"Ceil", "ceil", ceil, false},
    {"Round", "round", nearbyint, false},
    {"Sign", "sign", keep_sign, false},
    {"Not", "logical_not", invert, true},
    {"IsNaN", "isnan", is_nan, true},
    {"IsInf", "isinf", NULL, true},
    {"BitwiseNot", "bitwise_not", NULL, false},
    {"Tan", "tan", NULL, false},
    {"Asin", "asin", NULL, false},
    {"Acos", "acos", NULL, false},
    {"Atan", "atan", NULL, false},
    {"Sinh", "sinh", NULL, false},
    {"Cosh", "cosh", NULL, false},
    {"Asinh", "asinh", NULL, false},
    {"Acosh", "acosh", NULL, false},
    {"Atanh", "atanh", NULL, false},
};

static fsim_contents unary_contents(fsim_onnx_call *c, const unary_row *r, const fsim_operand *x, fsim_dtype dtype)
{
    fsim_contents to = {0};
    if (!r->value || !fsim_onnx_known(x))
        return to;
    to = fsim_contents_room(c, &x->shape, dtype);
    for (int64_t i = 0; fsim_contents_known(&to) && i < fsim_onnx_elems(x); i++)
        fsim_contents_put(&to, i, r->value(fsim_onnx_element(x, i)));
    return to;
}

bool fsim_onnx_op_unary(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const unary_row *r = unary_rows;
    while (strcmp(r->name, c->op) != 0)
        r++;
    if (!x)
        return false;
    const fsim_dtype dtype = r->logical ? FSIM_BOOL : x->dtype;
    const fsim_contents known = unary_contents(c, r, x, dtype);
    return fsim_onnx_make(fsim_knowing(c, &known), 0, r->op, &x->shape, dtype, FSIM_ARGS(x));
}

/* Of two operands. */

/* Computes with integers; false where it overflows or divides by 0. */
#define FSIM_INTEGERS(name, good, result)                                                                              \
    static bool name(int64_t x, int64_t y, int64_t *out)                                                               \
    {                                                                                                                  \
        if (!(good))                                                                                                   \
            return false;                                                                                              \
        *out = (result);                                                                                               \
        return true;                                                                                                   \
    }
static bool whole_add(int64_t x, int64_t y, int64_t *out) { return !__builtin_add_overflow(x, y, out); }
static bool whole_sub(int64_t x, int64_t y, int64_t *out) { return !__builtin_sub_overflow(x, y, out); }
static bool whole_mul(int64_t x, int64_t y, int64_t *out) { return !__builtin_mul_overflow(x, y, out); }
FSIM_INTEGERS(whole_div, y != 0 && !(y == -1 && x == INT64_MIN), x / y)
FSIM_INTEGERS(whole_mod, y != 0 && y != -1, (x % y + y) % y)
FSIM_INTEGERS(whole_fmod, y != 0 && y != -1, x % y)
FSIM_INTEGERS(whole_max, true, x > y ? x : y)
FSIM_INTEGERS(whole_min, true, x < y ? x : y)
FSIM_INTEGERS(whole_eq, true, x == y)
FSIM_INTEGERS(whole_lt, true, x < y)
FSIM_INTEGERS(whole_le, true, x <= y)
FSIM_INTEGERS(whole_gt, true, x > y)
FSIM_INTEGERS(whole_ge, true, x >= y)
FSIM_INTEGERS(whole_bits_and, true, x &y)
FSIM_INTEGERS(whole_bits_or, true, x | y)
FSIM_INTEGERS(whole_bits_xor, true, x ^ y)
FSIM_INTEGERS(whole_and, true, x &&y)
FSIM_INTEGERS(whole_or, true, x || y)
FSIM_INTEGERS(whole_xor, true, !x != !y)

static bool whole_pow(int64_t x, int64_t y, int64_t *out)
{
    *out = 1;
    if (y < 0 || y > 64)
        return false;
    while (y-- > 0)
        if (__builtin_mul_overflow(*out, x, out))
            return false;
    return true;
}

static double real_add(double x, double y) { return x + y; }
static double real_sub(double x, double y) { return x - y; }
static double real_mul(double x, double y) { return x * y; }
static double real_div(double x, double y) { return x / y; }
static double real_eq(double x, double y) { return x == y; }
static double real_lt(double x, double y) { return x < y; }
static double real_le(double x, double y) { return x <= y; }
static double real_gt(double x, double y) { return x > y; }
static double real_ge(double x, double y) { return x >= y; }

typedef struct {
    const char *name, *op, *swapped;            /* swapped: op with its operands exchanged; NULL: there is none */
    bool (*whole)(int64_t, int64_t, int64_t *); /* NULL: not followed */
    double (*real)(double, double);             /* NULL: not followed */
    bool logical;                               /* its result is bool */
    bool scalar;                                /* op takes `scalar` */
} binary_row;
static const binary_row binary_rows[] = {
    {"Add", "add", "add", whole_add, real_add, false, true},
    {"Sub", "sub", NULL, whole_sub, real_sub, false, true},
    {"Mul", "mul", "mul", whole_mul, real_mul, false, true},
    {"Div", "div", NULL, whole_div, real_div, false, true},
    {"Pow", "pow", NULL, whole_pow, pow, false, true},
    {"Mod", "remainder", NULL, whole_mod, NULL, false, true},
    {"Max", "maximum", "maximum", whole_max, fmax, false, true},
    {"Min", "minimum", "minimum", whole_min, fmin, false, true},
    {"Sum", "add", "add", whole_add, real_add, false, true},
    {"Mean", "add", "add", whole_add, real_add, false, true},
    {"Equal", "eq", "eq", whole_eq, real_eq, true, true},
    {"Less", "lt", "gt", whole_lt, real_lt, true, true},
    {"LessOrEqual", "le", "ge", whole_le, real_le, true, true},
    {"Greater", "gt", "lt", whole_gt, real_gt, true, true},
    {"GreaterOrEqual", "ge", "le", whole_ge, real_ge, true, true},
    {"And", "logical_and", NULL, whole_and, NULL, true, false},
    {"Or", "logical_or", NULL, whole_or, NULL, true, false},
    {"Xor", "logical_xor", NULL, whole_xor, NULL, true, false},
    {"BitwiseAnd", "bitwise_and", "bitwise_and", whole_bits_and, NULL, false, true},
    {"BitwiseOr", "bitwise_or", "bitwise_or", whole_bits_or, NULL, false, true},
    {"BitwiseXor", "bitwise_xor", "bitwise_xor", whole_bits_xor, NULL, false, true},
    {"BitShift", "bitwise_right_shift", NULL, NULL, NULL, false, true},
};
static const binary_row truncated = {"Mod", "fmod", NULL, whole_fmod, fmod, false, true};
static const binary_row left_shift = {"BitShift", "bitwise_left_shift", NULL, NULL, NULL, false, true};
static const binary_row whole_division = {"Div", "floor_divide", NULL, whole_div, NULL, false, true};

/* Strides of an operand within the result that it is broadcast to. */
static void strides_within(const fsim_shape *own, const fsim_shape *result, int64_t *stride)
{
    int64_t mine[FSIM_MAX_RANK];
    fsim_contents_strides(own, mine);
    for (int i = 0; i < result->rank; i++) {
        const int at = i - (result->rank - own->rank);
        stride[i] = at < 0 || own->dim[at] == 1 ? 0 : mine[at];
    }
}

/* v's contents as the result has them: broadcast. NULL: not known. */
static const fsim_operand *spread(fsim_onnx_call *c, const fsim_operand *v, const fsim_shape *result)
{
    int64_t stride[FSIM_MAX_RANK];
    strides_within(&v->shape, result, stride);
    const fsim_contents to = fsim_contents_view(c, v, result, 0, stride);
    if (!fsim_contents_known(&to))
        return NULL;
    fsim_operand *wide = fsim_new(c->a, fsim_operand, 1);
    *wide = *v;
    wide->ints = to.ints;
    wide->floats = to.floats;
    wide->shape = *result;
    return wide;
}

static fsim_contents binary_contents(fsim_onnx_call *c, const binary_row *r, const fsim_operand *x,
                                     const fsim_operand *y, const fsim_shape *shape, fsim_dtype dtype)
{
    const fsim_contents none = {0};
    if (!fsim_onnx_known(x) || !fsim_onnx_known(y) || fsim_elems(shape) > FSIM_ONNX_KNOWN_MAX)
        return none;
    const fsim_operand *p = spread(c, x, shape), *q = spread(c, y, shape);
    const fsim_contents to = fsim_contents_room(c, shape, dtype);
    if (!p || !q || !fsim_contents_known(&to))
        return none;
    const bool whole = p->ints && q->ints;
    if (whole ? !r->whole : !r->real)
        return none;
    for (int64_t i = 0; i < fsim_elems(shape); i++) {
        if (!whole)
            fsim_contents_put(&to, i, r->real(fsim_onnx_element(p, i), fsim_onnx_element(q, i)));
        else if (!r->whole(p->ints[i], q->ints[i], &to.ints[i]))
            return none;
    }
    return to;
}

static bool is_same_shape(const fsim_shape *x, const fsim_shape *y)
{
    return x->rank == y->rank && memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) == 0;
}

/* A result of x and a constant number. */
static bool with_scalar(fsim_onnx_call *c, const char *op, fsim_operand *x, double number, fsim_dtype dtype,
                        const fsim_contents *known)
{
    if (!fsim_onnx_make(fsim_knowing(c, known), 0, op, &x->shape, dtype, FSIM_ARGS(x)))
        return false;
    if (fsim_dtype_floating(x->dtype) || number != trunc(number) || fabs(number) > 0x1p53)
        fsim_onnx_put_number(c, "scalar", number);
    else
        fsim_onnx_put_int(c, "scalar", (int64_t)number);
    return true;
}

/* Is it a weight, or made of such alone, times zero? */
static bool is_nothing(const fsim_operand *x, const fsim_operand *y)
{
    double number;
    return x->still && !fsim_onnx_known(x) && fsim_dtype_floating(x->dtype) && fsim_onnx_each_is(y, &number) &&
           number == 0;
}

static bool binary(fsim_onnx_call *c, const binary_row *r, fsim_operand *x, fsim_operand *y)
{
    fsim_shape shape;
    double number;
    if (!fsim_onnx_broadcast(c, &x->shape, &y->shape, &shape))
        return false;
    const fsim_dtype dtype = r->logical ? FSIM_BOOL : x->dtype;
    if (strcmp(r->op, "mul") == 0 && (is_nothing(x, y) || is_nothing(y, x)))
        return fsim_onnx_zeros(c, 0, &shape, dtype);
    const fsim_contents known = binary_contents(c, r, x, y, &shape, dtype);
    if (r->scalar && !x->constant && fsim_onnx_each_is(y, &number) && is_same_shape(&x->shape, &shape))
        return with_scalar(c, r->op, x, number, dtype, &known);
    if (r->swapped && !y->constant && fsim_onnx_each_is(x, &number) && is_same_shape(&y->shape, &shape))
        return with_scalar(c, r->swapped, y, number, dtype, &known);
    if (strcmp(r->op, "div") == 0 && fsim_onnx_number_of(x, &number) && number == 1 && is_same_shape(&y->shape, &shape))
        return fsim_onnx_make(fsim_knowing(c, &known), 0, "reciprocal", &y->shape, dtype, FSIM_ARGS(y));
    return fsim_onnx_make(fsim_knowing(c, &known), 0, r->op, &shape, dtype, FSIM_ARGS(x, y));
}

static const binary_row *binary_row_of(fsim_onnx_call *c, const fsim_operand *x)
{
    const binary_row *r = binary_rows;
    while (strcmp(r->name, c->op) != 0)
        r++;
    if (strcmp(r->name, "Mod") == 0 && fsim_onnx_int(c, "fmod", 0))
        return &truncated;
    if (strcmp(r->name, "BitShift") == 0 && strcmp(fsim_onnx_string(c, "direction", ""), "LEFT") == 0)
        return &left_shift;
    return strcmp(r->name, "Div") == 0 && !fsim_dtype_floating(x->dtype) ? &whole_division : r;
}

/* Before opset 7 y's dimensions could stand anywhere in x's: from `axis` on. */
static fsim_operand *aligned(fsim_onnx_call *c, const fsim_operand *x, fsim_operand *y)
{
    fsim_shape to = y->shape;
    int axis;
    if (c->opset >= 7 || *c->domain || !fsim_onnx_has(c, "axis") || to.rank >= x->shape.rank)
        return y;
    if (!fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis))
        return NULL;
    for (int rest = x->shape.rank - axis - to.rank; rest > 0; rest--)
        to.dim[to.rank++] = 1;
    return to.rank == y->shape.rank ? y : fsim_onnx_reshaped(c, y, &to);
}

bool fsim_onnx_op_binary(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *y = fsim_onnx_need(c, 1);
    if (!x || !y || !(y = aligned(c, x, y)))
        return false;
    return binary(c, binary_row_of(c, x), x, y);
}

/* Max, Min, Sum and Mean take any number of operands: two at a time. */
bool fsim_onnx_op_variadic(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    const binary_row *r = binary_row_of(c, x);
    for (int i = 1; i < c->ins; i++) {
        fsim_operand *y = fsim_onnx_need(c, i);
        if (!y || !binary(c, r, x, y))
            return false;
        x = c->out[0];
    }
    if (strcmp(c->op, "Mean") == 0 && c->ins > 1)
        return with_scalar(c, "mul", x, 1.0 / c->ins, x->dtype, NULL);
    return fsim_onnx_same(c, 0, x);
}

/* Where. */

static fsim_contents where_contents(fsim_onnx_call *c, fsim_operand *const *in, const fsim_shape *shape)
{
    const fsim_operand *wide[3];
    const fsim_contents none = {0};
    for (int i = 0; i < 3; i++) {
        if (!fsim_onnx_known(in[i]) || fsim_elems(shape) > FSIM_ONNX_KNOWN_MAX)
            return none;
        wide[i] = spread(c, in[i], shape);
        if (!wide[i])
            return none;
    }
    const fsim_contents to = fsim_contents_room(c, shape, in[1]->dtype);
    for (int64_t i = 0; fsim_contents_known(&to) && i < fsim_elems(shape); i++)
        fsim_contents_take(&to, i, fsim_onnx_element(wide[0], i) != 0 ? wide[1] : wide[2], i);
    return to;
}

bool fsim_onnx_op_where(fsim_onnx_call *c)
{
    static const char *const keys[] = {NULL, "input", "other"};
    fsim_operand *in[3], *left[3];
    fsim_shape shape;
    double number[3];
    bool scalar[3] = {false};
    int lefts = 0;
    for (int i = 0; i < 3; i++)
        if (!(in[i] = fsim_onnx_need(c, i)))
            return false;
    if (!fsim_onnx_broadcast(c, &in[0]->shape, &in[1]->shape, &shape) ||
        !fsim_onnx_broadcast(c, &shape, &in[2]->shape, &shape))
        return false;
    const fsim_contents known = where_contents(c, in, &shape);
    for (int i = 1; i < 3; i++) {
        fsim_shape rest;
        scalar[i] = fsim_onnx_number_of(in[i], &number[i]) && !(i == 2 && scalar[1]) &&
                    fsim_onnx_broadcast(c, &in[0]->shape, &in[3 - i]->shape, &rest) && is_same_shape(&rest, &shape);
    }
    for (int i = 0; i < 3; i++)
        if (!scalar[i])
            left[lefts++] = in[i];
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "where", &shape, in[1]->dtype, FSIM_LIST(lefts, left)))
        return false;
    for (int i = 1; i < 3; i++)
        if (scalar[i])
            fsim_onnx_put_number(c, keys[i], number[i]);
    return true;
}

/* Cast. */

static bool cast(fsim_onnx_call *c, fsim_operand *x, fsim_dtype to)
{
    fsim_contents known = {0};
    if (to == FSIM_DTYPE_NONE)
        return fsim_onnx_refuse(c, "casts to a type that is not supported (strings, complex numbers)");
    if (to == x->dtype)
        return fsim_onnx_same(c, 0, x);
    if (fsim_onnx_known(x))
        known = fsim_contents_room(c, &x->shape, to);
    for (int64_t i = 0; fsim_contents_known(&known) && i < fsim_onnx_elems(x); i++) {
        if (to == FSIM_BOOL)
            fsim_contents_put(&known, i, fsim_onnx_element(x, i) != 0);
        else
            fsim_contents_take(&known, i, x, i);
    }
    if (!fsim_onnx_make(fsim_knowing(c, &known), 0, "cast", &x->shape, to, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_word(c, "dtype", fsim_dtype_names[to]);
    return true;
}

bool fsim_onnx_op_cast(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    return x && cast(c, x, fsim_onnx_dtype(c, "to", FSIM_F32));
}

bool fsim_onnx_op_cast_like(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *like = fsim_onnx_need(c, 1);
    return x && like && cast(c, x, like->dtype);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* op_activation.c: Relu to Mish, Clip, PRelu: elementwise functions with parameters. */
#include "import/onnx/activation.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* alpha and beta of an activation. */
typedef struct {
    double alpha, beta;
} params;
typedef fsim_operand *(*function)(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p);

static fsim_operand *scalar(fsim_onnx_call *c, const char *step, const char *op, fsim_operand *x, double value)
{
    return fsim_onnx_scalar(c, FSIM_STEP(step), op, x, value);
}

static fsim_operand *clamp(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, double least, double most)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "clamp", x);
    if (y && least > -INFINITY)
        fsim_onnx_put_value(c, "min", x->dtype, least);
    if (y && most < INFINITY)
        fsim_onnx_put_value(c, "max", x->dtype, most);
    return y;
}

static fsim_operand *leaky_relu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "leaky_relu", x);
    if (y)
        fsim_onnx_put_number(c, "negative_slope", p.alpha);
    return y;
}

static fsim_operand *elu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "elu", x);
    if (y && p.alpha != 1)
        fsim_onnx_put_number(c, "alpha", p.alpha);
    return y;
}

/* PyTorch's selu has its own constants, those that ONNX has by default. */
static fsim_operand *selu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    if (fabs(p.alpha - 1.6732632423543772) < 1e-5 && fabs(p.beta - 1.0507009873554805) < 1e-5)
        return fsim_onnx_unary(c, at, "selu", x);
    return fsim_onnx_scalar(c, at, "mul", elu(c, FSIM_STEP("elu"), x, p), p.beta);
}

static fsim_operand *celu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "celu", x);
    if (y && p.alpha != 1)
        fsim_onnx_put_number(c, "alpha", p.alpha);
    return y;
}

/* clamp(alpha x + beta, 0, 1); PyTorch's has alpha 1 / 6 and beta 1 / 2. */
static fsim_operand *hardsigmoid(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    if (fabs(p.alpha - 1 / 6.0) < 1e-6 && fabs(p.beta - 0.5) < 1e-6)
        return fsim_onnx_unary(c, at, "hardsigmoid", x);
    return clamp(c, at, scalar(c, "sum", "add", scalar(c, "scaled", "mul", x, p.alpha), p.beta), 0, 1);
}

static fsim_operand *thresholded_relu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "threshold", x);
    if (y)
        fsim_onnx_put_number(c, "threshold", p.alpha);
    return y;
}

static fsim_operand *affine(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    return fsim_onnx_scalar(c, at, "add", scalar(c, "scaled", "mul", x, p.alpha), p.beta);
}

static fsim_operand *scaled_tanh(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    fsim_operand *t = fsim_onnx_unary(c, FSIM_STEP("tanh"), "tanh", scalar(c, "scaled", "mul", x, p.beta));
    return fsim_onnx_scalar(c, at, "mul", t, p.alpha);
}

fsim_operand *fsim_onnx_swish(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, double alpha)
{
    if (alpha == 1)
        return fsim_onnx_unary(c, at, "silu", x);
    fsim_operand *gate = fsim_onnx_unary(c, FSIM_STEP("gate"), "sigmoid", scalar(c, "scaled", "mul", x, alpha));
    return fsim_onnx_binary(c, at, "mul", x, gate);
}

static fsim_operand *swish(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, params p)
{
    return fsim_onnx_swish(c, at, x, p.alpha);
}

fsim_operand *fsim_onnx_gelu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, bool fast)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "gelu", x);
    if (y && fast)
        fsim_onnx_put_word(c, "approximate", "tanh");
    return y;
}

/* Activations that ours are, or that are made of ours; the parameters that they have by default. */
static const struct {
    const char *name, *op; /* op NULL: `make` writes it */
    function make;
    params absent;
} table[] = {
    {"Relu", "relu", NULL, {0, 0}},
    {"Sigmoid", "sigmoid", NULL, {0, 0}},
    {"Tanh", "tanh", NULL, {0, 0}},
    {"Softplus", "softplus", NULL, {0, 0}},
    {"Softsign", "softsign", NULL, {0, 0}},
    {"HardSwish", "hardswish", NULL, {0, 0}},
    {"Mish", "mish", NULL, {0, 0}},
    {"LeakyRelu", NULL, leaky_relu, {0.01, 0}},
    {"Elu", NULL, elu, {1, 0}},
    {"Selu", NULL, selu, {1.67326319217681884765625, 1.05070102214813232421875}},
    {"Celu", NULL, celu, {1, 0}},
    {"HardSigmoid", NULL, hardsigmoid, {0.2, 0.5}},
    {"ThresholdedRelu", NULL, thresholded_relu, {1, 0}},
    {"Swish", NULL, swish, {1, 0}},
    {"Affine", NULL, affine, {1, 0}},
    {"ScaledTanh", NULL, scaled_tanh, {1, 1}},
};

fsim_operand *fsim_onnx_activate(fsim_onnx_call *c, fsim_onnx_at at, const char *name, fsim_operand *x)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcasecmp(table[i].name, name) != 0)
            continue;
        if (table[i].op)
            return fsim_onnx_unary(c, at, table[i].op, x);
        params p = table[i].absent;
        if (strcmp(c->op, table[i].name) == 0) {
            p.alpha = fsim_onnx_float(c, "alpha", p.alpha);
            p.beta = fsim_onnx_float(c, strcmp(name, "Selu") == 0 ? "gamma" : "beta", p.beta);
        }
        return table[i].make(c, at, x, p);
    }
    fsim_onnx_refuse(c, "there is no activation '%s'", name);
    return NULL;
}

/* The operators of the same names. */
bool fsim_onnx_op_activation(fsim_onnx_call *c)
{
    return fsim_onnx_activate(c, FSIM_OUT(0), c->op, fsim_onnx_need(c, 0)) != NULL;
}

bool fsim_onnx_op_gelu(fsim_onnx_call *c)
{
    const bool fast = strcmp(fsim_onnx_string(c, "approximate", "none"), "tanh") == 0;
    return fsim_onnx_gelu(c, FSIM_OUT(0), fsim_onnx_need(c, 0), fast) != NULL;
}

/* The slopes of PyTorch's prelu: one, or one for each channel; NULL where they are others. */
static fsim_operand *slopes_of(fsim_onnx_call *c, const fsim_operand *x, fsim_operand *slope)
{
    const bool channels = c->opset < 7 && slope->shape.rank == 1;
    const int from = channels ? 1 : x->shape.rank - slope->shape.rank; /* the dimension of x that slope begins with */
    const int64_t count = fsim_onnx_elems(slope);
    const int channel = 1 - from;
    const fsim_shape vector = {.rank = 1, .dim = {count}};
    if (count == 1 || (x->shape.rank > 1 && channel >= 0 && channel < slope->shape.rank &&
                       slope->shape.dim[channel] == count && count == x->shape.dim[1]))
        return fsim_onnx_view(c, FSIM_STEP("slope"), slope, &vector);
    return NULL;
}

/* x where it is above 0, slope x elsewhere. */
bool fsim_onnx_op_prelu(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *slope = fsim_onnx_need(c, 1);
    if (!x || !slope)
        return false;
    fsim_operand *slopes = fsim_dtype_floating(x->dtype) ? slopes_of(c, x, slope) : NULL;
    if (slopes)
        return fsim_onnx_emit(c, FSIM_OUT(0), "prelu", &x->shape, x->dtype, FSIM_ARGS(x, slopes)) != NULL;
    fsim_operand *above = fsim_onnx_emit(c, FSIM_STEP("above"), "gt", &x->shape, FSIM_BOOL, FSIM_ARGS(x));
    if (above)
        fsim_onnx_put_number(c, "scalar", 0);
    fsim_operand *below = fsim_onnx_binary(c, FSIM_STEP("below"), "mul", x, slope);
    return fsim_onnx_emit(c, FSIM_OUT(0), "where", &x->shape, x->dtype, FSIM_ARGS(above, x, below)) != NULL;
}

/* x + bias below -lambd, x - bias above lambd, 0 between. */
bool fsim_onnx_op_shrink(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const double lambd = fsim_onnx_float(c, "lambd", 0.5), bias = fsim_onnx_float(c, "bias", 0);
    if (bias == 0 || bias == lambd) {
        fsim_operand *y = fsim_onnx_unary(c, FSIM_OUT(0), bias == 0 ? "hardshrink" : "softshrink", x);
        if (y)
            fsim_onnx_put_number(c, "lambd", lambd);
        return y != NULL;
    }
    fsim_operand *far =
        fsim_onnx_binary(c, FSIM_STEP("outside"), "sub", x, clamp(c, FSIM_STEP("inside"), x, -lambd, lambd));
    fsim_operand *side = scalar(c, "shift", "mul", fsim_onnx_unary(c, FSIM_STEP("side"), "sign", far), lambd - bias);
    return fsim_onnx_binary(c, FSIM_OUT(0), "add", far, side) != NULL;
}

/* A limit: an input from version 11 on, an attribute before. *v NULL: it is a number. */
static bool limit(fsim_onnx_call *c, int i, const char *name, double absent, fsim_operand **v, double *number)
{
    *v = NULL;
    *number = absent;
    if (c->opset < 11)
        *number = fsim_onnx_float(c, name, absent);
    else if (fsim_onnx_in(c, i) && !fsim_onnx_number_of(fsim_onnx_in(c, i), number))
        *v = fsim_onnx_in(c, i);
    return *v == NULL;
}

bool fsim_onnx_op_clip(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *least, *most;
    double from, to;
    const bool low = limit(c, 1, "min", -INFINITY, &least, &from), high = limit(c, 2, "max", INFINITY, &most, &to);
    if (!x)
        return false;
    if (from <= -3.4028234e38)
        from = -INFINITY;
    if (to >= 3.4028234e38)
        to = INFINITY;
    if (low && high)
        return from == 0 && to == INFINITY && fsim_dtype_floating(x->dtype)
                   ? fsim_onnx_unary(c, FSIM_OUT(0), "relu", x) != NULL
                   : clamp(c, FSIM_OUT(0), x, from, to) != NULL;
    if (least)
        x = fsim_onnx_binary(c, most || to < INFINITY ? FSIM_STEP("above") : FSIM_OUT(0), "maximum", x, least);
    else if (from > -INFINITY)
        x = clamp(c, FSIM_STEP("above"), x, from, INFINITY);
    if (most)
        return fsim_onnx_binary(c, FSIM_OUT(0), "minimum", x, most) != NULL;
    return to < INFINITY ? clamp(c, FSIM_OUT(0), x, -INFINITY, to) != NULL : x != NULL;
}

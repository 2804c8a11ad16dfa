/* SPDX-License-Identifier: Apache-2.0 */
/* op_norm.c: normalisations and softmaxes. */
#include "import/onnx/norm.h"

#include <math.h>
#include <string.h>

static bool same_shape(const fsim_shape *a, const fsim_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

/* Layer norm and RMS norm. */

/* Our weight and bias have the shape that is normalised; ONNX's broadcast to it. */
static bool fits(const fsim_onnx_norm *n, const fsim_operand *side)
{
    const fsim_shape *x = &n->x->shape, wanted = fsim_onnx_shape(x->rank - n->axis, x->dim + n->axis);
    return !side || same_shape(&side->shape, &wanted);
}

fsim_operand *fsim_onnx_normalise(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_norm *n)
{
    if (!n->x)
        return NULL;
    const bool inside = fits(n, n->weight) && fits(n, n->bias) && (n->weight || !n->bias) && !(n->rms && n->bias);
    const bool alone = inside || (!n->weight && !n->bias);
    const fsim_shape *x = &n->x->shape;
    fsim_operand *in[3] = {n->x, n->weight, n->bias};
    const int ins = !inside ? 1 : n->bias ? 3 : n->weight ? 2 : 1;
    fsim_operand *y = fsim_onnx_emit(c, alone ? at : FSIM_STEP("norm"), n->rms ? "rms_norm" : "layer_norm", x,
                                     n->x->dtype, FSIM_LIST(ins, in));
    if (y && (ins == 1 || x->rank - n->axis > 1) && (ins > 1 || x->rank - n->axis != 1))
        fsim_onnx_put_ints(c, "normalized_shape", x->rank - n->axis, x->dim + n->axis);
    if (y)
        fsim_onnx_put_number(c, "eps", n->eps);
    if (y && n->rms)
        fsim_onnx_put_flag(c, "fused", true);
    if (alone)
        return y;
    if (n->weight)
        y = fsim_onnx_binary(c, n->bias ? FSIM_STEP("scaled") : at, "mul", y, n->weight);
    return n->bias ? fsim_onnx_binary(c, at, "add", y, n->bias) : y;
}

bool fsim_onnx_norm_statistics(fsim_onnx_call *c, int k, const fsim_onnx_norm *n)
{
    const int deviation = n->rms ? k : k + 1;
    if (!n->x || (!fsim_onnx_wants(c, k) && !fsim_onnx_wants(c, deviation)))
        return n->x != NULL;
    const fsim_onnx_dims dims = fsim_onnx_dims_of(n->axis, n->x->shape.rank);
    fsim_operand *x = fsim_onnx_as(c, FSIM_STEP("wide"), n->x, FSIM_F32), *centred = x;
    if (!n->rms) {
        const fsim_onnx_at at = fsim_onnx_wants(c, k) ? FSIM_OUT(k) : FSIM_STEP("mean");
        centred = fsim_onnx_binary(c, FSIM_STEP("centred"), "sub", x, fsim_onnx_reduced(c, at, "mean", x, &dims, true));
    }
    if (!fsim_onnx_wants(c, deviation))
        return centred != NULL;
    fsim_operand *square = fsim_onnx_unary(c, FSIM_STEP("square"), "square", centred);
    fsim_operand *mean = fsim_onnx_reduced(c, FSIM_STEP("variance"), "mean", square, &dims, true);
    return fsim_onnx_unary(c, FSIM_OUT(deviation), "rsqrt",
                           fsim_onnx_scalar(c, FSIM_STEP("variance_eps"), "add", mean, n->eps)) != NULL;
}

static bool read_norm(fsim_onnx_call *c, fsim_onnx_norm *n)
{
    n->x = fsim_onnx_need(c, 0);
    n->weight = fsim_onnx_in(c, 1);
    n->eps = fsim_onnx_float(c, "epsilon", 1e-5);
    return n->x && fsim_onnx_axis(c, fsim_onnx_int(c, "axis", -1), n->x->shape.rank, &n->axis);
}

bool fsim_onnx_op_layer_norm(fsim_onnx_call *c)
{
    fsim_onnx_norm n = {.bias = fsim_onnx_in(c, 2)};
    return read_norm(c, &n) && fsim_onnx_normalise(c, FSIM_OUT(0), &n) && fsim_onnx_norm_statistics(c, 1, &n);
}

/* RMSNormalization, and SimplifiedLayerNormalization of ONNX Runtime. */
bool fsim_onnx_op_rms_norm(fsim_onnx_call *c)
{
    fsim_onnx_norm n = {.rms = true};
    return read_norm(c, &n) && fsim_onnx_normalise(c, FSIM_OUT(0), &n) && fsim_onnx_norm_statistics(c, 1, &n);
}

/* Batch norm. */

/* With the batch's own statistics; further results are the running ones, then (before version 14) the batch's own. */
static bool train(fsim_onnx_call *c, fsim_operand *const in[5])
{
    const fsim_shape channels = {.rank = 1, .dim = {in[0]->shape.dim[1]}};
    const double kept = fsim_onnx_float(c, "momentum", 0.9);
    fsim_draft_result type[5] = {{NULL, in[0]->shape, in[0]->dtype}};
    for (int i = 1; i < 5; i++)
        type[i] = (fsim_draft_result){NULL, channels, in[i]->dtype};
    if (!fsim_onnx_make_all(c, "batch_norm", c->outs < 5 ? c->outs : 5, type, FSIM_LIST(5, in)))
        return false;
    fsim_onnx_put_flag(c, "training", true);
    fsim_onnx_put_number(c, "eps", fsim_onnx_float(c, "epsilon", 1e-5));
    fsim_onnx_put_number(c, "momentum", nearbyint((1 - kept) * 1e12) / 1e12); /* PyTorch's is of the new ones */
    return true;
}

bool fsim_onnx_op_batch_norm(fsim_onnx_call *c)
{
    fsim_operand *in[5];
    for (int i = 0; i < 5; i++)
        if (!(in[i] = fsim_onnx_need(c, i)))
            return false;
    const fsim_shape *x = &in[0]->shape;
    if (x->rank < 2 || (c->opset < 9 && fsim_onnx_int(c, "spatial", 1) == 0))
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, *x, in[0]->dtype});
    for (int i = 1; i < 5; i++)
        if (fsim_onnx_elems(in[i]) != x->dim[1])
            return fsim_onnx_refuse(c, "input %d has %lld elements for %lld channels", i + 1,
                                    (long long)fsim_onnx_elems(in[i]), (long long)x->dim[1]);
    const bool trained = c->opset >= 14 ? fsim_onnx_int(c, "training_mode", 0) != 0 : c->outs > 1;
    if (trained)
        return train(c, in);
    if (!fsim_onnx_make(c, 0, "batch_norm", x, in[0]->dtype, FSIM_LIST(5, in)))
        return false;
    fsim_onnx_put_number(c, "eps", fsim_onnx_float(c, "epsilon", 1e-5));
    return true;
}

bool fsim_onnx_op_instance_norm(fsim_onnx_call *c)
{
    fsim_operand *in[3] = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1), fsim_onnx_need(c, 2)};
    if (!in[0] || !in[1] || !in[2])
        return false;
    if (in[0]->shape.rank < 3)
        return fsim_onnx_refuse(c, "wants x[N, C, ...]; found %s", fsim_shape_text(c->a, &in[0]->shape));
    if (!fsim_onnx_make(c, 0, "instance_norm", &in[0]->shape, in[0]->dtype, FSIM_LIST(3, in)))
        return false;
    fsim_onnx_put_number(c, "eps", fsim_onnx_float(c, "epsilon", 1e-5));
    return true;
}

/* Group norm. Up to version 20 weight and bias have an element for each group, then one for each channel. */
static bool by_group(fsim_onnx_call *c, fsim_operand *const in[3], int64_t groups)
{
    const fsim_shape *x = &in[0]->shape;
    const fsim_shape four = {.rank = 3, .dim = {x->dim[0], groups, fsim_onnx_elems(in[0]) / (x->dim[0] * groups)}};
    const fsim_shape side = {.rank = 2, .dim = {groups, 1}};
    fsim_operand *y = fsim_onnx_emit(c, FSIM_STEP("norm"), "group_norm", x, in[0]->dtype, FSIM_LIST(1, in));
    if (y) {
        fsim_onnx_put_int(c, "groups", groups);
        fsim_onnx_put_number(c, "eps", fsim_onnx_float(c, "epsilon", 1e-5));
    }
    y = fsim_onnx_view(c, FSIM_STEP("groups"), y, &four);
    y = fsim_onnx_binary(c, FSIM_STEP("scaled"), "mul", y, fsim_onnx_view(c, FSIM_STEP("weight"), in[1], &side));
    y = fsim_onnx_binary(c, FSIM_STEP("sum"), "add", y, fsim_onnx_view(c, FSIM_STEP("bias"), in[2], &side));
    return fsim_onnx_view(c, FSIM_OUT(0), y, x) != NULL;
}

bool fsim_onnx_op_group_norm(fsim_onnx_call *c)
{
    fsim_operand *in[3] = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1), fsim_onnx_need(c, 2)};
    const int64_t groups = fsim_onnx_int(c, "num_groups", 1);
    if (!in[0] || !in[1] || !in[2])
        return false;
    const fsim_shape *x = &in[0]->shape;
    if (x->rank < 2 || groups < 1 || x->dim[1] % groups != 0 || fsim_onnx_elems(in[0]) == 0)
        return fsim_onnx_refuse(c, "%s does not divide into %lld groups of channels", fsim_shape_text(c->a, x),
                                (long long)groups);
    if (fsim_onnx_elems(in[1]) == groups && groups != x->dim[1])
        return by_group(c, in, groups);
    if (!fsim_onnx_make(c, 0, "group_norm", x, in[0]->dtype, FSIM_LIST(3, in)))
        return false;
    fsim_onnx_put_int(c, "groups", groups);
    fsim_onnx_put_number(c, "eps", fsim_onnx_float(c, "epsilon", 1e-5));
    return true;
}

/* x over its norm along one axis. */
bool fsim_onnx_op_lp_norm(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const int64_t p = fsim_onnx_int(c, "p", 2);
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", -1), x->shape.rank, &axis))
        return false;
    const fsim_onnx_dims dims = {1, {axis}};
    fsim_operand *norm = fsim_onnx_reduced(c, FSIM_STEP("norm"), "norm", x, &dims, true);
    if (norm && p != 2)
        fsim_onnx_put_number(c, "p", (double)p);
    return fsim_onnx_binary(c, FSIM_OUT(0), "div", x, norm) != NULL;
}

/* x / (bias + alpha mean of x^2 over `size` channels around)^beta. The mean is a pool over [N, 1, C, rest]. */
bool fsim_onnx_op_lrn(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const int64_t size = fsim_onnx_int(c, "size", 0);
    if (!x)
        return false;
    if (x->shape.rank < 2 || size < 1 || size > FSIM_MAX_DIM || fsim_onnx_elems(x) == 0)
        return fsim_onnx_refuse(c, "wants x[N, C, ...] and 'size' of at least 1; found %s and %lld",
                                fsim_shape_text(c->a, &x->shape), (long long)size);
    const int64_t before = (size - 1) / 2, pair[4] = {0, 0, 0, size - 1 - 2 * before}, kernel[2] = {size, 1},
                  padding[2] = {before, 0};
    fsim_shape plane = {.rank = 4, .dim = {x->shape.dim[0], 1, x->shape.dim[1], 1}}, longer;
    plane.dim[3] = fsim_onnx_elems(x) / (plane.dim[0] * plane.dim[2]);
    longer = plane;
    longer.dim[2] += pair[3];
    fsim_operand *y =
        fsim_onnx_view(c, FSIM_STEP("plane"), fsim_onnx_unary(c, FSIM_STEP("square"), "square", x), &plane);
    if (pair[3]) {
        if ((y = fsim_onnx_emit(c, FSIM_STEP("padded"), "pad", &longer, x->dtype, FSIM_ARGS(y))))
            fsim_onnx_put_ints(c, "padding", 4, pair);
    }
    if ((y = fsim_onnx_emit(c, FSIM_STEP("mean"), "avg_pool2d", &plane, x->dtype, FSIM_ARGS(y)))) {
        fsim_onnx_put_ints(c, "kernel", 2, kernel);
        fsim_onnx_put_int(c, "stride", 1);
        fsim_onnx_put_ints(c, "padding", 2, padding);
    }
    y = fsim_onnx_view(c, FSIM_STEP("around"), y, &x->shape);
    y = fsim_onnx_scalar(c, FSIM_STEP("scaled"), "mul", y, fsim_onnx_float(c, "alpha", 0.0001));
    y = fsim_onnx_scalar(c, FSIM_STEP("sum"), "add", y, fsim_onnx_float(c, "bias", 1));
    y = fsim_onnx_scalar(c, FSIM_STEP("power"), "pow", y, fsim_onnx_float(c, "beta", 0.75));
    return fsim_onnx_binary(c, FSIM_OUT(0), "div", x, y) != NULL;
}

/* (x - mean) / (deviation + 1e-9) over some dimensions. */
bool fsim_onnx_op_mean_variance(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    static const int64_t images[3] = {0, 2, 3};
    int count = 3;
    const int64_t *axes = fsim_onnx_has(c, "axes") ? fsim_onnx_ints(c, "axes", &count) : images;
    fsim_onnx_dims dims = {0, {0}};
    unsigned seen = 0;
    for (int i = 0; x && i < count; i++) {
        int d;
        if (!fsim_onnx_axis(c, axes[i], x->shape.rank, &d))
            return false;
        if (!(seen & 1u << d))
            dims.at[dims.count++] = d;
        seen |= 1u << d;
    }
    fsim_operand *mean = fsim_onnx_reduced(c, FSIM_STEP("mean"), "mean", x, &dims, true);
    fsim_operand *centred = fsim_onnx_binary(c, FSIM_STEP("centred"), "sub", x, mean);
    fsim_operand *square = fsim_onnx_unary(c, FSIM_STEP("square"), "square", centred);
    fsim_operand *var = fsim_onnx_reduced(c, FSIM_STEP("variance"), "mean", square, &dims, true);
    fsim_operand *deviation = fsim_onnx_unary(c, FSIM_STEP("deviation"), "sqrt", var);
    return fsim_onnx_binary(c, FSIM_OUT(0), "div", centred,
                            fsim_onnx_scalar(c, FSIM_STEP("divisor"), "add", deviation, 1e-9)) != NULL;
}

/* Softmaxes. Before version 13 all dimensions from the axis on are one. */

static fsim_operand *along(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, int axis)
{
    fsim_operand *y = fsim_onnx_unary(c, at, op, x);
    if (y)
        fsim_onnx_put_int(c, "dim", axis == x->shape.rank - 1 ? -1 : axis);
    return y;
}

/* 1 at the first of the largest, 0 elsewhere. */
static fsim_operand *hardmax(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, int axis)
{
    const fsim_onnx_dims dims = {1, {axis}};
    const int rank = x->shape.rank;
    int64_t order[FSIM_MAX_RANK];
    fsim_shape out = fsim_onnx_reduced_shape(&x->shape, &dims, false);
    fsim_operand *place = fsim_onnx_emit(c, FSIM_STEP("place"), "argmax", &out, FSIM_I64, FSIM_ARGS(x));
    if (place)
        fsim_onnx_put_int(c, "dim", axis);
    out.dim[out.rank++] = x->shape.dim[axis];
    fsim_operand *one = fsim_onnx_emit(c, FSIM_STEP("one"), "one_hot", &out, FSIM_I64, FSIM_ARGS(place));
    if (one)
        fsim_onnx_put_int(c, "num_classes", x->shape.dim[axis]);
    for (int d = 0; d < rank; d++)
        order[d] = d < axis ? d : d == axis ? rank - 1 : d - 1;
    if (axis == rank - 1)
        return fsim_onnx_as(c, at, one, x->dtype);
    return fsim_onnx_reorder(c, at, fsim_onnx_as(c, FSIM_STEP("numbers"), one, x->dtype), order);
}

static fsim_operand *softmax(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, int axis)
{
    return op ? along(c, at, op, x, axis) : hardmax(c, at, x, axis);
}

static bool softmax_row(fsim_onnx_call *c, const char *op)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", c->opset < 13 ? 1 : -1), x->shape.rank + (x->shape.rank == 1),
                              &axis))
        return false;
    if (x->shape.rank == 1)
        axis = 0;
    int64_t before = 1, behind = 1;
    for (int d = 0; d < x->shape.rank; d++)
        *(d < axis ? &before : &behind) *= x->shape.dim[d];
    if (c->opset >= 13 || behind == x->shape.dim[axis])
        return softmax(c, FSIM_OUT(0), op, x, axis) != NULL;
    const fsim_shape two = {.rank = 2, .dim = {before, behind}};
    fsim_operand *y = softmax(c, FSIM_STEP("softmax"), op, fsim_onnx_view(c, FSIM_STEP("rows"), x, &two), 1);
    return fsim_onnx_view(c, FSIM_OUT(0), y, &x->shape) != NULL;
}

bool fsim_onnx_op_softmax(fsim_onnx_call *c) { return softmax_row(c, "softmax"); }
bool fsim_onnx_op_log_softmax(fsim_onnx_call *c) { return softmax_row(c, "log_softmax"); }
bool fsim_onnx_op_hardmax(fsim_onnx_call *c) { return softmax_row(c, NULL); }

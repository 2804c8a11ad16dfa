/* SPDX-License-Identifier: Apache-2.0 */
/* op_microsoft.c: what ONNX Runtime's optimisers write, domain com.microsoft: fused norms, activations, embeddings. The
 * attentions stand in op_microsoft_attention.c, products of quantised weights in op_quantised.c. */
#include "import/onnx/activation.h"
#include "import/onnx/attend.h"
#include "import/onnx/norm.h"

#include <string.h>

/* input + skip (+ bias), output 3, and its norm. */
static bool skip_norm(fsim_onnx_call *c, bool rms)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *skip = fsim_onnx_need(c, 1), *bias = fsim_onnx_in(c, rms ? 3 : 4);
    const fsim_onnx_at sum = fsim_onnx_wants(c, 3) ? FSIM_OUT(3) : FSIM_STEP("sum");
    x = fsim_onnx_binary(c, bias ? FSIM_STEP("skip") : sum, "add", x, skip);
    if (bias)
        x = fsim_onnx_binary(c, sum, "add", x, bias);
    if (!x)
        return false;
    const fsim_onnx_norm n = {.x = x,
                              .weight = fsim_onnx_need(c, 2),
                              .bias = rms ? NULL : fsim_onnx_in(c, 3),
                              .axis = x->shape.rank - 1,
                              .eps = fsim_onnx_float(c, "epsilon", 1e-12),
                              .rms = rms};
    return n.weight && fsim_onnx_normalise(c, FSIM_OUT(0), &n) && fsim_onnx_norm_statistics(c, rms ? 2 : 1, &n);
}

bool fsim_onnx_op_skip_layer_norm(fsim_onnx_call *c) { return skip_norm(c, false); }
bool fsim_onnx_op_skip_rms_norm(fsim_onnx_call *c) { return skip_norm(c, true); }

/* Embeddings of BERT. */

static fsim_operand *rows_of(fsim_onnx_call *c, const char *step, fsim_operand *index, fsim_operand *table)
{
    if (!index || !table)
        return NULL;
    fsim_shape out = index->shape;
    if (table->shape.rank != 2 || out.rank > FSIM_MAX_RANK - 1) {
        fsim_onnx_refuse(c, "wants tables[rows, E]; found %s", fsim_shape_text(c->a, &table->shape));
        return NULL;
    }
    out.dim[out.rank++] = table->shape.dim[1];
    return fsim_onnx_emit(c, FSIM_STEP(step), "embedding", &out, table->dtype, FSIM_ARGS(index, table));
}

/* How many tokens of each example count, or 0 where there is no mask. */
static bool count_mask(fsim_onnx_call *c, int k, const fsim_operand *ids)
{
    fsim_operand *mask = fsim_onnx_in(c, 7);
    const fsim_shape out = {.rank = 1, .dim = {ids->shape.dim[0]}};
    if (!fsim_onnx_wants(c, k))
        return true;
    if (!mask) {
        const int64_t *zeros = fsim_new(c->a, int64_t, out.dim[0] + 1);
        return fsim_onnx_set_ints(c, k, &out, FSIM_I32, zeros);
    }
    fsim_operand *sum = fsim_onnx_emit(c, FSIM_STEP("tokens"), "sum", &out, FSIM_I64, FSIM_ARGS(mask));
    if (sum)
        fsim_onnx_put_int(c, "dim", 1);
    return fsim_onnx_as(c, FSIM_OUT(k), sum, FSIM_I32) != NULL;
}

bool fsim_onnx_op_embed_layer_norm(fsim_onnx_call *c)
{
    fsim_operand *ids = fsim_onnx_need(c, 0), *segments = fsim_onnx_in(c, 1), *positions = fsim_onnx_in(c, 8);
    fsim_operand *place = fsim_onnx_need(c, 3);
    if (!ids || !place)
        return false;
    if (ids->shape.rank != 2 || place->shape.rank != 2 || (!positions && place->shape.dim[0] < ids->shape.dim[1]))
        return fsim_onnx_refuse(c, "wants input_ids[B, S] and at least S positions; found %s and %s",
                                fsim_shape_text(c->a, &ids->shape), fsim_shape_text(c->a, &place->shape));
    const fsim_onnx_at sum = fsim_onnx_wants(c, 2) ? FSIM_OUT(2) : FSIM_STEP("sum");
    fsim_operand *x = rows_of(c, "words", ids, fsim_onnx_need(c, 2));
    place = positions ? rows_of(c, "places", positions, place)
                      : fsim_onnx_slice(c, FSIM_STEP("places"), place, 0, 0, ids->shape.dim[1]);
    x = fsim_onnx_binary(c, segments ? FSIM_STEP("placed") : sum, "add", x, place);
    if (segments)
        x = fsim_onnx_binary(c, sum, "add", x, rows_of(c, "segments", segments, fsim_onnx_need(c, 4)));
    const fsim_onnx_norm n = {.x = x,
                              .weight = fsim_onnx_need(c, 5),
                              .bias = fsim_onnx_need(c, 6),
                              .axis = 2,
                              .eps = fsim_onnx_float(c, "epsilon", 1e-12)};
    return n.weight && n.bias && fsim_onnx_normalise(c, FSIM_OUT(0), &n) && count_mask(c, 1, ids);
}

/* Activations. */

/* GELU of x + bias. */
static bool bias_gelu(fsim_onnx_call *c, bool fast)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *bias = fsim_onnx_in(c, 1);
    if (bias)
        x = fsim_onnx_binary(c, FSIM_STEP("sum"), "add", x, bias);
    return fsim_onnx_gelu(c, FSIM_OUT(0), x, fast) != NULL;
}

bool fsim_onnx_op_bias_gelu(fsim_onnx_call *c) { return bias_gelu(c, false); }
bool fsim_onnx_op_fast_gelu(fsim_onnx_call *c) { return bias_gelu(c, true); }

bool fsim_onnx_op_quick_gelu(fsim_onnx_call *c)
{
    return fsim_onnx_swish(c, FSIM_OUT(0), fsim_onnx_need(c, 0), fsim_onnx_float(c, "alpha", 1.702)) != NULL;
}

/* The first half of x + bias times the GELU of the second. */
bool fsim_onnx_op_bias_split_gelu(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_binary(c, FSIM_STEP("sum"), "add", fsim_onnx_need(c, 0), fsim_onnx_need(c, 1));
    if (!x)
        return false;
    const int last = x->shape.rank - 1;
    if (last < 0 || x->shape.dim[last] % 2)
        return fsim_onnx_refuse(c, "wants an even last dimension; found %s", fsim_shape_text(c->a, &x->shape));
    const int64_t half = x->shape.dim[last] / 2;
    fsim_operand *gate = fsim_onnx_slice(c, FSIM_STEP("gate"), x, last, half, half);
    fsim_operand *gelu = fsim_onnx_gelu(c, FSIM_STEP("gelu"), gate, false),
                 *up = fsim_onnx_slice(c, FSIM_STEP("up"), x, last, 0, half);
    return fsim_onnx_binary(c, FSIM_OUT(0), "mul", up, gelu) != NULL;
}

/* x + bias (+ skip). */
bool fsim_onnx_op_bias_add(fsim_onnx_call *c)
{
    fsim_operand *skip = fsim_onnx_in(c, 2);
    fsim_operand *y =
        fsim_onnx_binary(c, skip ? FSIM_STEP("sum") : FSIM_OUT(0), "add", fsim_onnx_need(c, 0), fsim_onnx_need(c, 1));
    return skip ? fsim_onnx_binary(c, FSIM_OUT(0), "add", y, skip) != NULL : y != NULL;
}

/* softmax of x + bias over all dimensions from the axis on. */
bool fsim_onnx_op_bias_softmax(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_binary(c, FSIM_STEP("sum"), "add", fsim_onnx_need(c, 0), fsim_onnx_need(c, 1));
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", -1), x->shape.rank, &axis))
        return false;
    fsim_shape rows = {.rank = axis + 1};
    for (int d = 0; d < x->shape.rank; d++)
        rows.dim[d < axis ? d : axis] = (d > axis ? rows.dim[axis] : 1) * x->shape.dim[d];
    const fsim_shape whole = x->shape;
    fsim_operand *y = fsim_onnx_unary(c, axis == whole.rank - 1 ? FSIM_OUT(0) : FSIM_STEP("softmax"), "softmax",
                                      fsim_onnx_view(c, FSIM_STEP("rows"), x, &rows));
    if (y)
        fsim_onnx_put_int(c, "dim", -1);
    return axis == whole.rank - 1 ? y != NULL : fsim_onnx_view(c, FSIM_OUT(0), y, &whole) != NULL;
}

/* Group norm of images with their channels last: x[N, H, W, C] as [N, H W, groups, C / groups]. */
static fsim_operand *norm_channels_last(fsim_onnx_call *c, fsim_operand *x, int64_t groups, double eps)
{
    static const fsim_onnx_dims dims = {2, {1, 3}};
    const int64_t *dim = x->shape.dim, channels = dim[x->shape.rank - 1];
    const fsim_shape four = {.rank = 4,
                             .dim = {dim[0], fsim_onnx_elems(x) / (dim[0] * channels), groups, channels / groups}};
    fsim_operand *g = fsim_onnx_view(c, FSIM_STEP("groups"), x, &four);
    fsim_operand *mean = fsim_onnx_reduced(c, FSIM_STEP("mean"), "mean", g, &dims, true);
    fsim_operand *centred = fsim_onnx_binary(c, FSIM_STEP("centred"), "sub", g, mean);
    fsim_operand *square = fsim_onnx_unary(c, FSIM_STEP("square"), "square", centred);
    fsim_operand *var = fsim_onnx_reduced(c, FSIM_STEP("variance"), "mean", square, &dims, true);
    fsim_operand *rstd =
        fsim_onnx_unary(c, FSIM_STEP("rstd"), "rsqrt", fsim_onnx_scalar(c, FSIM_STEP("variance_eps"), "add", var, eps));
    return fsim_onnx_view(c, FSIM_STEP("norm"), fsim_onnx_binary(c, FSIM_STEP("normed"), "mul", centred, rstd),
                          &x->shape);
}

/* A vector of channels beside x: as the last dimension, or the second. */
static fsim_operand *channel_vector(fsim_onnx_call *c, const char *step, fsim_operand *vector, const fsim_operand *x,
                                    bool last)
{
    fsim_shape s = {.rank = last ? 1 : x->shape.rank - 1};
    if (!vector)
        return NULL;
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = d ? 1 : fsim_onnx_elems(vector);
    return fsim_onnx_view(c, FSIM_STEP(step), vector, &s);
}

static fsim_operand *group_norm(fsim_onnx_call *c, fsim_operand *x, int64_t groups, double eps)
{
    fsim_operand *y = fsim_onnx_unary(c, FSIM_STEP("norm"), "group_norm", x);
    if (y) {
        fsim_onnx_put_int(c, "groups", groups);
        fsim_onnx_put_number(c, "eps", eps);
    }
    return y;
}

static bool group_norm_row(fsim_onnx_call *c, fsim_operand *x)
{
    const bool last = fsim_onnx_int(c, "channels_last", 1) != 0, silu = fsim_onnx_int(c, "activation", 0) != 0;
    const int64_t groups = fsim_onnx_int(c, "groups", 1);
    const double eps = fsim_onnx_float(c, "epsilon", 1e-5);
    fsim_operand *gamma = fsim_onnx_need(c, 1), *beta = fsim_onnx_need(c, 2);
    if (!x || !gamma || !beta)
        return false;
    if (x->shape.rank < 3 || groups < 1 || x->shape.dim[last ? x->shape.rank - 1 : 1] % groups != 0 ||
        fsim_onnx_elems(x) == 0)
        return fsim_onnx_refuse(c, "%s does not divide into %lld groups of channels", fsim_shape_text(c->a, &x->shape),
                                (long long)groups);
    fsim_operand *y = last ? norm_channels_last(c, x, groups, eps) : group_norm(c, x, groups, eps);
    y = fsim_onnx_binary(c, FSIM_STEP("scaled"), "mul", y, channel_vector(c, "gamma", gamma, x, last));
    y = fsim_onnx_binary(c, silu ? FSIM_STEP("biased") : FSIM_OUT(0), "add", y,
                         channel_vector(c, "beta", beta, x, last));
    return silu ? fsim_onnx_unary(c, FSIM_OUT(0), "silu", y) != NULL : y != NULL;
}

bool fsim_onnx_op_ms_group_norm(fsim_onnx_call *c) { return group_norm_row(c, fsim_onnx_need(c, 0)); }

/* Of x + skip (+ bias), which is output 1. */
bool fsim_onnx_op_skip_group_norm(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *skip = fsim_onnx_need(c, 3), *bias = fsim_onnx_in(c, 4);
    const fsim_onnx_at sum = fsim_onnx_wants(c, 1) ? FSIM_OUT(1) : FSIM_STEP("sum");
    if (!x || !skip)
        return false;
    if (skip->shape.rank == 2 && x->shape.rank == 4) {
        const fsim_shape wide = {.rank = 4, .dim = {skip->shape.dim[0], 1, 1, skip->shape.dim[1]}};
        skip = fsim_onnx_view(c, FSIM_STEP("skip"), skip, &wide);
    }
    fsim_operand *y = fsim_onnx_binary(c, bias ? FSIM_STEP("skipped") : sum, "add", x, skip);
    return group_norm_row(c, bias ? fsim_onnx_binary(c, sum, "add", y, bias) : y);
}

/* x[..., n] of numbers as [..., n / 2 + 1, 2], real and imaginary part; and back. */
bool fsim_onnx_op_rfft(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    fsim_shape out = x->shape;
    const bool back = strcmp(c->op, "Irfft") == 0;
    if (out.rank < (back ? 2 : 1) || (!back && out.rank == FSIM_MAX_RANK))
        return fsim_onnx_refuse(c, "wants a signal; found %s", fsim_shape_text(c->a, &x->shape));
    if (back) {
        out.rank--;
        out.dim[out.rank - 1] = 2 * (out.dim[out.rank - 1] - 1);
    } else {
        out.dim[out.rank - 1] = out.dim[out.rank - 1] / 2 + 1;
        out.dim[out.rank++] = 2;
    }
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, x->dtype});
}

/* SPDX-License-Identifier: Apache-2.0 */
/* op_conv.c: Conv, ConvTranspose, and the convolutions of com.microsoft. */
#include "import/onnx/activation.h"
#include "import/onnx/conv.h"
#include "import/onnx/quantised.h"

#include <string.h>

enum { MOST_AXES = 3 }; /* that our convolutions have */

static const char *conv_op(int axes)
{
    static const char *const name[] = {"conv1d", "conv2d", "conv3d"};
    return name[axes - 1];
}

/* The shape of the result. False after an error. */
static bool shape_of_result(fsim_onnx_call *c, const fsim_onnx_conv *conv, fsim_onnx_window *w, fsim_shape *out)
{
    const fsim_shape *x = &conv->x->shape, *k = &conv->weight->shape;
    const int64_t groups = fsim_onnx_int(c, "group", 1);
    if (x->rank < 3 || k->rank != x->rank || groups < 1 || groups > x->dim[1] || k->dim[1] > x->dim[1] ||
        x->dim[1] != k->dim[1] * groups || k->dim[0] % groups != 0)
        return fsim_onnx_refuse(c, "x %s and weight %s do not fit with group %lld", fsim_shape_text(c->a, x),
                                fsim_shape_text(c->a, k), (long long)groups);
    if (!fsim_onnx_read_window(c, x, k->dim + 2, w))
        return false;
    *out = (fsim_shape){.rank = x->rank, .dim = {x->dim[0], k->dim[0]}};
    for (int i = 0; i < w->axes; i++)
        if ((out->dim[2 + i] = fsim_onnx_windows(w, i, x->dim[2 + i], false)) < 1)
            return fsim_onnx_refuse(c, "a window of %lld does not fit the padded %lld", (long long)w->kernel[i],
                                    (long long)x->dim[2 + i]);
    return true;
}

static void put_arithmetic(fsim_onnx_call *c, const fsim_operand *x)
{
    const char *word = fsim_draft_convolves_in(x->dtype);
    if (word)
        fsim_onnx_put_word(c, "compute", word);
}

fsim_operand *fsim_onnx_convolve(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_conv *conv)
{
    fsim_onnx_window w;
    fsim_shape out;
    fsim_operand *in[3] = {NULL, conv->weight, conv->bias};
    if (!conv->x || !conv->weight || !shape_of_result(c, conv, &w, &out))
        return NULL;
    if (w.axes > MOST_AXES)
        return fsim_onnx_custom(c, at, &out, conv->dtype, FSIM_ARGS(conv->x, conv->weight));
    in[0] = fsim_onnx_even(c, conv->x, &w, conv->padded);
    fsim_operand *y = fsim_onnx_emit(c, at, conv_op(w.axes), &out, conv->dtype, FSIM_LIST(conv->bias ? 3 : 2, in));
    if (!y)
        return NULL;
    fsim_onnx_put_window(c, &w, false);
    fsim_onnx_put_product_dtype(c, conv->x, y);
    put_arithmetic(c, conv->x);
    if (fsim_onnx_int(c, "group", 1) != 1)
        fsim_onnx_put_int(c, "groups", fsim_onnx_int(c, "group", 1));
    return y;
}

/* The convolution of the codes of both, of 8 bits, with sums of 32 bits, then as numbers. */
static bool convolve_codes(fsim_onnx_call *c, const fsim_onnx_conv *conv)
{
    fsim_operand *codes = fsim_onnx_bias_codes(conv->bias), *bias = codes ? NULL : conv->bias;
    const struct fsim_onnx_codes *x = conv->x->codes, *w = conv->weight->codes;
    const fsim_onnx_conv sums = {x->code, w->code, codes, 0, FSIM_I32};
    fsim_operand *y = fsim_onnx_convolve(c, FSIM_STEP("sums"), &sums);
    y = fsim_onnx_rescale(c, bias ? FSIM_STEP("numbers") : FSIM_OUT(0), y, x->scale, w->scale, 1);
    if (!bias || !y)
        return y != NULL;
    fsim_shape wide = {.rank = y->shape.rank - 1};
    for (int d = 0; d < wide.rank; d++)
        wide.dim[d] = d ? 1 : fsim_onnx_elems(bias);
    return fsim_onnx_binary(c, FSIM_OUT(0), "add", y, fsim_onnx_view(c, FSIM_STEP("bias"), bias, &wide)) != NULL;
}

bool fsim_onnx_op_conv(fsim_onnx_call *c)
{
    fsim_onnx_conv conv = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1), fsim_onnx_in(c, 2), 0, FSIM_F32};
    if (!conv.x || !conv.weight)
        return false;
    conv.dtype = conv.x->dtype;
    if (fsim_onnx_are_codes(conv.x, conv.weight, 0))
        return convolve_codes(c, &conv);
    return fsim_onnx_convolve(c, FSIM_OUT(0), &conv) != NULL;
}

/* com.microsoft: a convolution, then the addition of Z, then an activation. */
bool fsim_onnx_op_fused_conv(fsim_onnx_call *c)
{
    const fsim_onnx_conv conv = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1), fsim_onnx_in(c, 2), 0,
                                 c->in[0] ? c->in[0]->dtype : FSIM_F32};
    const char *name = fsim_onnx_string(c, "activation", "");
    fsim_operand *z = fsim_onnx_in(c, 3);
    fsim_operand *y = fsim_onnx_convolve(c, *name || z ? FSIM_STEP("conv") : FSIM_OUT(0), &conv);
    if (z)
        y = fsim_onnx_binary(c, *name ? FSIM_STEP("sum") : FSIM_OUT(0), "add", y, z);
    return *name ? fsim_onnx_activate(c, FSIM_OUT(0), name, y) != NULL : y != NULL;
}

/* Its last dimension as the second one, or back. */
static fsim_operand *channels_to(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, bool front)
{
    int64_t order[FSIM_MAX_RANK] = {0};
    const int rank = x ? x->shape.rank : 0;
    for (int d = 1; d < rank; d++)
        order[d] = front ? (d == 1 ? rank - 1 : d - 1) : (d == rank - 1 ? 1 : d + 1);
    return fsim_onnx_reorder(c, at, x, order);
}

/* com.microsoft: images and filters with their channels last; with an addition and an activation, as above. */
bool fsim_onnx_op_nhwc_conv(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *w = fsim_onnx_need(c, 1);
    if (!x || !w)
        return false;
    if (x->shape.rank < 3 || w->shape.rank != x->shape.rank)
        return fsim_onnx_refuse(c, "wants x[N, ..., C] and weight[O, ..., C]");
    x = channels_to(c, FSIM_STEP("channels_first"), x, true);
    w = channels_to(c, FSIM_STEP("filters"), w, true);
    const fsim_onnx_conv conv = {x, w, fsim_onnx_in(c, 2), 0, x ? x->dtype : FSIM_F32};
    const char *name = fsim_onnx_string(c, "activation", "");
    fsim_operand *z = fsim_onnx_in(c, 3), *y = fsim_onnx_convolve(c, FSIM_STEP("conv"), &conv);
    y = channels_to(c, *name || z ? FSIM_STEP("channels_last") : FSIM_OUT(0), y, false);
    if (z)
        y = fsim_onnx_binary(c, *name ? FSIM_STEP("sum") : FSIM_OUT(0), "add", y, z);
    return *name ? fsim_onnx_activate(c, FSIM_OUT(0), name, y) != NULL : y != NULL;
}

/* Transposed convolutions. */

typedef struct {
    fsim_onnx_window w;
    int64_t extra[FSIM_MAX_RANK]; /* output_padding */
    fsim_shape out;
} transposed;

/* The pads that make the result as long as output_shape, or auto_pad, says: half on either side. */
static void pad_to(transposed *t, int i, int64_t whole, int64_t wanted, bool upper)
{
    const int64_t sum = whole - wanted;
    t->w.before[i] = upper ? sum / 2 : sum - sum / 2;
    t->w.after[i] = sum - t->w.before[i];
}

static bool read_transposed(fsim_onnx_call *c, const fsim_shape *x, const fsim_shape *k, transposed *t)
{
    const char *how = fsim_onnx_string(c, "auto_pad", "NOTSET");
    const bool same = strncmp(how, "SAME", 4) == 0, upper = strcmp(how, "SAME_UPPER") == 0;
    int wanted, extras;
    const int64_t *shape = fsim_onnx_ints(c, "output_shape", &wanted);
    const int64_t *extra = fsim_onnx_ints(c, "output_padding", &extras);
    if (!fsim_onnx_read_window(c, x, k->dim + 2, &t->w))
        return false;
    if ((shape && wanted != t->w.axes && wanted != t->w.axes + 2) || (extra && extras != t->w.axes))
        return fsim_onnx_refuse(c, "'output_shape' and 'output_padding' have a length for each of %d axes", t->w.axes);
    for (int i = 0; shape && i < wanted; i++)
        if (shape[i] < 1 || shape[i] > FSIM_MAX_DIM)
            return fsim_onnx_refuse(c, "'output_shape' has %lld", (long long)shape[i]);
    for (int i = 0; i < t->w.axes; i++) {
        t->extra[i] = extra ? extra[i] : 0;
        const double most = (double)x->dim[2 + i] * (double)t->w.stride[i] + (double)fsim_onnx_reach(&t->w, i);
        if (most > (double)FSIM_MAX_DIM || t->extra[i] < 0 || t->extra[i] > t->w.stride[i] + t->w.dilation[i])
            return fsim_onnx_refuse(c, "makes %g elements", most);
        const int64_t whole = t->w.stride[i] * (x->dim[2 + i] - 1) + t->extra[i] + fsim_onnx_reach(&t->w, i);
        if (shape || same)
            pad_to(t, i, whole, shape ? shape[wanted - t->w.axes + i] : x->dim[2 + i] * t->w.stride[i], upper);
        t->out.dim[2 + i] = whole - t->w.before[i] - t->w.after[i];
    }
    return true;
}

/* What PyTorch's operator can cut: as much on both sides, with output_padding shorter than a step. The rest is cut, or
 * added, behind it. */
static bool cut_evenly(transposed *t, int64_t *before, int64_t *after)
{
    bool even = true;
    for (int i = 0; i < t->w.axes; i++) {
        const bool short_ = t->extra[i] < t->w.stride[i] || t->extra[i] < t->w.dilation[i];
        const int64_t tail = t->w.after[i] - t->extra[i]; /* what is cut at the end without output_padding */
        before[i] = after[i] = 0;
        if (short_ && t->w.before[i] == t->w.after[i] && t->w.before[i] >= 0)
            continue;
        even = false;
        int64_t both = t->w.before[i] < tail ? t->w.before[i] : tail;
        both = both < 0 ? 0 : both;
        before[i] = both - t->w.before[i];
        after[i] = both - tail;
        t->w.before[i] = t->w.after[i] = both;
        t->extra[i] = 0;
    }
    return even;
}

static fsim_operand *transpose_conv(fsim_onnx_call *c, fsim_onnx_at at, transposed *t, fsim_operand *const in[3])
{
    static const char *const name[] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
    const fsim_shape *x = &in[0]->shape;
    fsim_shape out = t->out;
    bool extra = false;
    for (int i = 0; i < t->w.axes; i++) {
        out.dim[2 + i] =
            t->w.stride[i] * (x->dim[2 + i] - 1) + t->extra[i] + fsim_onnx_reach(&t->w, i) - 2 * t->w.before[i];
        extra = extra || t->extra[i];
    }
    fsim_operand *y = fsim_onnx_emit(c, at, name[t->w.axes - 1], &out, in[0]->dtype, FSIM_LIST(in[2] ? 3 : 2, in));
    if (y)
        fsim_onnx_put_window(c, &t->w, false);
    if (y)
        put_arithmetic(c, in[0]);
    if (y && extra)
        fsim_onnx_put_axes(c, "output_padding", t->w.axes, t->extra);
    if (y && fsim_onnx_int(c, "group", 1) != 1)
        fsim_onnx_put_int(c, "groups", fsim_onnx_int(c, "group", 1));
    return y;
}

bool fsim_onnx_op_conv_transpose(fsim_onnx_call *c)
{
    fsim_operand *in[3] = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1), fsim_onnx_in(c, 2)};
    const int64_t groups = fsim_onnx_int(c, "group", 1);
    transposed t;
    if (!in[0] || !in[1])
        return false;
    const fsim_shape *x = &in[0]->shape, *k = &in[1]->shape;
    if (x->rank < 3 || k->rank != x->rank || groups < 1 || k->dim[0] != x->dim[1] || x->dim[1] % groups != 0 ||
        k->dim[1] > FSIM_MAX_DIM / groups)
        return fsim_onnx_refuse(c, "x %s and weight %s do not fit with group %lld", fsim_shape_text(c->a, x),
                                fsim_shape_text(c->a, k), (long long)groups);
    t.out = (fsim_shape){.rank = x->rank, .dim = {x->dim[0], k->dim[1] * groups}};
    if (!read_transposed(c, x, k, &t) || !fsim_onnx_check_shape(c, &t.out))
        return false;
    if (t.w.axes > MOST_AXES)
        return fsim_onnx_custom(c, FSIM_OUT(0), &t.out, in[0]->dtype, FSIM_LIST(2, in)) != NULL;
    int64_t before[FSIM_MAX_RANK], after[FSIM_MAX_RANK];
    if (cut_evenly(&t, before, after))
        return transpose_conv(c, FSIM_OUT(0), &t, in) != NULL;
    return fsim_onnx_padded(c, FSIM_OUT(0), transpose_conv(c, FSIM_STEP("conv"), &t, in), before, after, 0) != NULL;
}

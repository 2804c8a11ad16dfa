/* SPDX-License-Identifier: Apache-2.0 */
/* op_pool.c: pools. */
#include "import/onnx/window.h"

#include <math.h>
#include <string.h>

enum { MOST_AXES = 3 }; /* that our pools have */

typedef enum { POOL_MAX, POOL_MEAN } kind;

static const char *pool_op(kind k, int axes)
{
    static const char *const name[2][MOST_AXES] = {{"max_pool1d", "max_pool2d", "max_pool3d"},
                                                   {"avg_pool1d", "avg_pool2d", "avg_pool3d"}};
    return name[k][axes - 1];
}

/* Ours counts windows downwards. Where ceil_mode has one more, as much more padding on both sides gives as many, at the
 * same cost; else elements are added behind. */
static void round_up(const fsim_shape *x, const fsim_shape *out, fsim_onnx_window *w)
{
    for (int i = 0; i < w->axes; i++) {
        const int64_t missing =
            (out->dim[2 + i] - 1) * w->stride[i] + fsim_onnx_reach(w, i) - x->dim[2 + i] - w->before[i] - w->after[i];
        if (missing <= 0)
            continue;
        fsim_onnx_window wider = *w;
        wider.before[i] = wider.after[i] = w->before[i] + (missing + 1) / 2;
        const bool fits = w->before[i] == w->after[i] && 2 * wider.before[i] <= fsim_onnx_reach(w, i) &&
                          fsim_onnx_windows(&wider, i, x->dim[2 + i], false) == out->dim[2 + i];
        if (fits)
            *w = wider;
        else
            w->after[i] += missing;
    }
}

/* Padding of more than half a window goes in front of the pool. */
static fsim_operand *pad_first(fsim_onnx_call *c, fsim_operand *x, fsim_onnx_window *w, double value)
{
    int64_t before[FSIM_MAX_RANK], after[FSIM_MAX_RANK];
    bool any = false;
    for (int i = 0; i < w->axes; i++) {
        const bool even = w->before[i] == w->after[i] && w->before[i] >= 0 && 2 * w->before[i] <= fsim_onnx_reach(w, i);
        before[i] = even ? 0 : w->before[i];
        after[i] = even ? 0 : w->after[i];
        if (!even)
            w->before[i] = w->after[i] = 0;
        any = any || !even;
    }
    return any ? fsim_onnx_padded(c, FSIM_STEP("padded"), x, before, after, value) : x;
}

/* The pool of x into *out, which is its shape. */
static fsim_operand *pool(fsim_onnx_call *c, fsim_onnx_at at, kind k, fsim_operand *x, fsim_onnx_window *w,
                          const fsim_shape *out)
{
    if (!x)
        return NULL;
    round_up(&x->shape, out, w);
    x = pad_first(c, x, w, k == POOL_MAX && fsim_dtype_floating(x->dtype) ? -INFINITY : 0);
    fsim_operand *y = x ? fsim_onnx_emit(c, at, pool_op(k, w->axes), out, x->dtype, FSIM_ARGS(x)) : NULL;
    if (y) {
        fsim_onnx_put_axes(c, "kernel", w->axes, w->kernel);
        fsim_onnx_put_window(c, w, true);
    }
    return y;
}

static bool pool_shape(fsim_onnx_call *c, const fsim_shape *x, fsim_onnx_window *w, fsim_shape *out)
{
    const bool up = fsim_onnx_int(c, "ceil_mode", 0) != 0;
    if (!fsim_onnx_read_window(c, x, NULL, w))
        return false;
    *out = *x;
    for (int i = 0; i < w->axes; i++)
        if ((out->dim[2 + i] = fsim_onnx_windows(w, i, x->dim[2 + i], up)) < 1)
            return fsim_onnx_refuse(c, "a window of %lld does not fit the padded %lld",
                                    (long long)fsim_onnx_reach(w, i), (long long)x->dim[2 + i]);
    return true;
}

/* Output 0, and where the node wants them the places of the largest as output 1. */
static bool pool_row(fsim_onnx_call *c, kind k)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    fsim_onnx_window w;
    fsim_shape out;
    if (!x || !pool_shape(c, &x->shape, &w, &out))
        return false;
    const fsim_draft_result type[2] = {{NULL, out, x->dtype}, {NULL, out, FSIM_I64}};
    if (w.axes > MOST_AXES)
        return fsim_onnx_opaque(c, c->outs < 2 ? 1 : 2, type);
    if (!pool(c, FSIM_OUT(0), k, x, &w, &out))
        return false;
    return k != POOL_MAX || !fsim_onnx_wants(c, 1) || fsim_onnx_custom(c, FSIM_OUT(1), &out, FSIM_I64, FSIM_ARGS(x));
}

bool fsim_onnx_op_max_pool(fsim_onnx_call *c) { return pool_row(c, POOL_MAX); }
bool fsim_onnx_op_average_pool(fsim_onnx_call *c) { return pool_row(c, POOL_MEAN); }

/* (sum of |x|^p)^(1/p): x where p is 1 or even keeps its sign out of it. A sum is the mean times the window. */
static fsim_operand *powers(fsim_onnx_call *c, fsim_operand *x, int64_t p)
{
    fsim_operand *size = p % 2 ? fsim_onnx_unary(c, FSIM_STEP("size"), "abs", x) : x;
    return p == 1 ? size : fsim_onnx_scalar(c, FSIM_STEP("powers"), "pow", size, (double)p);
}

bool fsim_onnx_op_lp_pool(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const int64_t p = fsim_onnx_int(c, "p", 2);
    fsim_onnx_window w;
    fsim_shape out;
    double elements = 1;
    if (!x || !pool_shape(c, &x->shape, &w, &out))
        return false;
    if (w.axes > MOST_AXES || p < 1)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, x->dtype});
    for (int i = 0; i < w.axes; i++)
        elements *= (double)w.kernel[i];
    fsim_operand *mean = pool(c, FSIM_STEP("mean"), POOL_MEAN, powers(c, x, p), &w, &out);
    fsim_operand *sum = fsim_onnx_scalar(c, p == 1 ? FSIM_OUT(0) : FSIM_STEP("sum"), "mul", mean, elements);
    return p == 1 ? sum != NULL : fsim_onnx_scalar(c, FSIM_OUT(0), "pow", sum, 1 / (double)p) != NULL;
}

/* One window over all of each plane. */
static bool whole_planes(fsim_onnx_call *c, const char *op)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    if (!x)
        return false;
    if (x->shape.rank < 3)
        return fsim_onnx_refuse(c, "wants x[N, C, ...]; found %s", fsim_shape_text(c->a, &x->shape));
    const fsim_onnx_dims dims = fsim_onnx_dims_of(2, x->shape.rank);
    fsim_operand *y = fsim_onnx_reduced(c, FSIM_OUT(0), op, x, &dims, true);
    if (y && strcmp(op, "norm") == 0 && fsim_onnx_int(c, "p", 2) != 2)
        fsim_onnx_put_number(c, "p", (double)fsim_onnx_int(c, "p", 2));
    return y != NULL;
}

bool fsim_onnx_op_global_average_pool(fsim_onnx_call *c) { return whole_planes(c, "mean"); }
bool fsim_onnx_op_global_max_pool(fsim_onnx_call *c) { return whole_planes(c, "max"); }
bool fsim_onnx_op_global_lp_pool(fsim_onnx_call *c) { return whole_planes(c, "norm"); }

/* What MaxPool took, put back where it was: as far as shapes go. */
bool fsim_onnx_op_max_unpool(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int count = 0;
    const int64_t *size = fsim_onnx_ints_of(fsim_onnx_in(c, 2), &count);
    fsim_onnx_window w;
    if (!x || !fsim_onnx_read_window(c, &x->shape, NULL, &w))
        return false;
    if (fsim_onnx_in(c, 2) && count != x->shape.rank)
        return fsim_onnx_unsupported(c, "its size is not known");
    fsim_shape out = x->shape;
    for (int d = size ? 0 : 2; d < out.rank; d++)
        out.dim[d] = size ? size[d]
                          : (x->shape.dim[d] - 1) * w.stride[d - 2] + fsim_onnx_reach(&w, d - 2) - w.before[d - 2] -
                                w.after[d - 2];
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, x->dtype});
}

/* Columns of windows, added up where each stood: x[N, C kh kw, windows], image_shape, block_shape. */
bool fsim_onnx_op_col2im(fsim_onnx_call *c)
{
    static const char *const attribute[2] = {"strides", "dilations"};
    static const char *const key[2] = {"stride", "dilation"};
    fsim_operand *x = fsim_onnx_need(c, 0);
    int images = 0, blocks = 0, pads = 0;
    const int64_t *image = fsim_onnx_ints_of(fsim_onnx_in(c, 1), &images), *pad = fsim_onnx_ints(c, "pads", &pads),
                  *block = fsim_onnx_ints_of(fsim_onnx_in(c, 2), &blocks);
    if (!x)
        return false;
    if (!image || !block || images != blocks || images < 1 || images + 2 > FSIM_MAX_RANK)
        return fsim_onnx_unsupported(c, "its sizes are not known");
    fsim_shape out = {.rank = images + 2, .dim = {x->shape.dim[0], x->shape.dim[1]}};
    bool even = !pad || pads == 2 * images;
    for (int i = 0; i < images; i++) {
        if (block[i] < 1 || out.dim[1] % block[i] != 0)
            return fsim_onnx_refuse(c, "its blocks do not divide %lld channels", (long long)x->shape.dim[1]);
        out.dim[1] /= block[i];
        out.dim[2 + i] = image[i];
        even = even && (!pad || pad[i] == pad[images + i]);
    }
    if (images != 2 || x->shape.rank != 3 || !even)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, x->dtype});
    if (!fsim_onnx_emit(c, FSIM_OUT(0), "fold", &out, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "output_size", 2, image);
    fsim_onnx_put_axes(c, "kernel", 2, block);
    if (pad && (pad[0] || pad[1]))
        fsim_onnx_put_axes(c, "padding", 2, pad);
    for (int k = 0; k < 2; k++) {
        int count = 0;
        const int64_t *list = fsim_onnx_ints(c, attribute[k], &count);
        if (list && count == 2 && (list[0] != 1 || list[1] != 1))
            fsim_onnx_put_axes(c, key[k], 2, list);
    }
    return true;
}

/* Boxes of an image, each of the same size: MaxRoiPool and RoiAlign. */
bool fsim_onnx_op_roi(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *boxes = fsim_onnx_need(c, 1);
    int count = 0;
    const int64_t *pooled = fsim_onnx_ints(c, "pooled_shape", &count);
    if (!x || !boxes)
        return false;
    if (x->shape.rank != 4 || boxes->shape.rank != 2 || (pooled && count != 2))
        return fsim_onnx_refuse(c, "wants x[N, C, H, W] and boxes[n, ...]");
    const fsim_shape out = {.rank = 4,
                            .dim = {boxes->shape.dim[0], x->shape.dim[1],
                                    pooled ? pooled[0] : fsim_onnx_int(c, "output_height", 1),
                                    pooled ? pooled[1] : fsim_onnx_int(c, "output_width", 1)}};
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, x->dtype});
}

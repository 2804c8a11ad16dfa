/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/window.h"

#include <string.h>

/* Lengths and steps that a window may have: their products with the longest dimension fit. */
enum { MOST_REACH = 1 << 28 };

/* An attribute with a value for each axis, `absent` where there is none. */
static bool per_axis(fsim_onnx_call *c, const char *name, int axes, int64_t absent, int64_t *out)
{
    int count;
    const int64_t *list = fsim_onnx_ints(c, name, &count);
    if (list && count != axes)
        return fsim_onnx_refuse(c, "'%s' lists %d values for %d axes", name, count, axes);
    for (int i = 0; i < axes; i++) {
        out[i] = list ? list[i] : absent;
        if (out[i] < 1 || out[i] > MOST_REACH)
            return fsim_onnx_refuse(c, "'%s' is %lld", name, (long long)out[i]);
    }
    return true;
}

static bool read_pads(fsim_onnx_call *c, fsim_onnx_window *w)
{
    int count;
    const int64_t *pads = fsim_onnx_ints(c, "pads", &count);
    if (pads && count != 2 * w->axes)
        return fsim_onnx_refuse(c, "'pads' lists %d values for both ends of %d axes", count, w->axes);
    for (int i = 0; i < w->axes; i++) {
        w->before[i] = pads ? pads[i] : 0;
        w->after[i] = pads ? pads[w->axes + i] : 0;
        if (w->before[i] < -MOST_REACH || w->before[i] > MOST_REACH || w->after[i] < -MOST_REACH ||
            w->after[i] > MOST_REACH)
            return fsim_onnx_refuse(c, "'pads' has %lld and %lld", (long long)w->before[i], (long long)w->after[i]);
    }
    return true;
}

int64_t fsim_onnx_reach(const fsim_onnx_window *w, int i) { return w->dilation[i] * (w->kernel[i] - 1) + 1; }

/* As many elements as let one window begin at every stride-th element of x. */
static void pad_same(const fsim_shape *x, fsim_onnx_window *w, bool upper)
{
    for (int i = 0; i < w->axes; i++) {
        const int64_t length = x->dim[2 + i], out = length / w->stride[i] + (length % w->stride[i] != 0);
        const int64_t wanted = (out - 1) * w->stride[i] + fsim_onnx_reach(w, i) - length, sum = wanted > 0 ? wanted : 0;
        w->before[i] = upper ? sum / 2 : sum - sum / 2;
        w->after[i] = sum - w->before[i];
    }
}

bool fsim_onnx_read_window(fsim_onnx_call *c, const fsim_shape *x, const int64_t *kernel, fsim_onnx_window *w)
{
    const char *how = fsim_onnx_string(c, "auto_pad", "NOTSET");
    *w = (fsim_onnx_window){.axes = x->rank - 2};
    if (w->axes < 1)
        return fsim_onnx_refuse(c, "wants x[N, C, ...]; found %s", fsim_shape_text(c->a, x));
    if (!kernel && !fsim_onnx_has(c, "kernel_shape"))
        return fsim_onnx_refuse(c, "wants 'kernel_shape'");
    if (kernel)
        memcpy(w->kernel, kernel, (size_t)w->axes * sizeof *kernel);
    else if (!per_axis(c, "kernel_shape", w->axes, 1, w->kernel))
        return false;
    if (!per_axis(c, "strides", w->axes, 1, w->stride) || !per_axis(c, "dilations", w->axes, 1, w->dilation))
        return false;
    for (int i = 0; i < w->axes; i++)
        if (w->kernel[i] < 1 || w->kernel[i] > MOST_REACH || w->dilation[i] > MOST_REACH / w->kernel[i])
            return fsim_onnx_refuse(c, "the window has %lld elements", (long long)w->kernel[i]);
    if (strcmp(how, "NOTSET") == 0 || strcmp(how, "") == 0)
        return read_pads(c, w);
    if (strcmp(how, "SAME_UPPER") == 0 || strcmp(how, "SAME_LOWER") == 0)
        pad_same(x, w, how[5] == 'U');
    else if (strcmp(how, "VALID") != 0)
        return fsim_onnx_refuse(c, "'auto_pad' is '%s'; wants NOTSET, SAME_UPPER, SAME_LOWER or VALID", how);
    return true;
}

int64_t fsim_onnx_windows(const fsim_onnx_window *w, int i, int64_t length, bool up)
{
    const int64_t room = length + w->before[i] + w->after[i] - fsim_onnx_reach(w, i);
    if (room < 0)
        return 0;
    int64_t count = room / w->stride[i] + 1;
    if (up && room % w->stride[i] != 0 && count * w->stride[i] < length + w->before[i])
        count++; /* a window that would begin in what is added behind is none */
    return count;
}

fsim_operand *fsim_onnx_padded(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const int64_t *before,
                               const int64_t *after, double value)
{
    if (!x)
        return NULL;
    fsim_shape out = x->shape;
    int64_t pair[2 * FSIM_MAX_RANK];
    const int axes = out.rank - 2;
    for (int i = 0; i < axes; i++) { /* last dimension first */
        pair[2 * (axes - 1 - i)] = before[i];
        pair[2 * (axes - 1 - i) + 1] = after[i];
        out.dim[2 + i] += before[i] + after[i];
        if (out.dim[2 + i] < 1) {
            fsim_onnx_refuse(c, "its padding leaves %lld elements", (long long)out.dim[2 + i]);
            return NULL;
        }
    }
    fsim_operand *y = fsim_onnx_emit(c, at, "pad", &out, x->dtype, FSIM_ARGS(x));
    if (y)
        fsim_onnx_put_ints(c, "padding", 2 * axes, pair);
    if (y && value != 0)
        fsim_onnx_put_number(c, "value", value);
    return y;
}

fsim_operand *fsim_onnx_even(fsim_onnx_call *c, fsim_operand *x, fsim_onnx_window *w, double value)
{
    int64_t before[FSIM_MAX_RANK], after[FSIM_MAX_RANK];
    bool even = true;
    for (int i = 0; i < w->axes; i++) {
        int64_t both = w->before[i] < w->after[i] ? w->before[i] : w->after[i];
        both = both < 0 ? 0 : both;
        before[i] = w->before[i] - both;
        after[i] = w->after[i] - both;
        even = even && before[i] == 0 && after[i] == 0;
        w->before[i] = w->after[i] = both;
    }
    return even ? x : fsim_onnx_padded(c, FSIM_STEP("padded"), x, before, after, value);
}

static bool all_are(const int64_t *value, int axes, int64_t what)
{
    for (int i = 0; i < axes; i++)
        if (value[i] != what)
            return false;
    return true;
}

void fsim_onnx_put_axes(fsim_onnx_call *c, const char *key, int axes, const int64_t *value)
{
    if (all_are(value, axes, value[0]))
        fsim_onnx_put_int(c, key, value[0]);
    else
        fsim_onnx_put_ints(c, key, axes, value);
}

void fsim_onnx_put_window(fsim_onnx_call *c, const fsim_onnx_window *w, bool stride)
{
    if (stride || !all_are(w->stride, w->axes, 1))
        fsim_onnx_put_axes(c, "stride", w->axes, w->stride);
    if (!all_are(w->before, w->axes, 0))
        fsim_onnx_put_axes(c, "padding", w->axes, w->before);
    if (!all_are(w->dilation, w->axes, 1))
        fsim_onnx_put_axes(c, "dilation", w->axes, w->dilation);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: the rules of convolutions and pooling: axes of windows. */
#include "graph/window.h"

#include <string.h>

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

bool fsim_per_axis(const fsim_call *call, fsim_attr which, int n, int64_t *out)
{
    const fsim_list *l = &call->list[which];
    if (l->count != 1 && l->count != n)
        return fsim_refuse(call, "'%s' lists %d values for %d axes", fsim_attr_rows[which].name, l->count, n);
    for (int i = 0; i < n; i++)
        out[i] = l->at[l->count == 1 ? 0 : i];
    return true;
}

bool fsim_window_axes(const fsim_call *call, const int64_t *extent, const int64_t *taps, int n, fsim_axis *axis)
{
    int64_t stride[3], pad[3], dilation[3];
    const bool strides = call->list[FSIM_ATTR_STRIDE].present;
    if ((strides && !fsim_per_axis(call, FSIM_ATTR_STRIDE, n, stride)) ||
        !fsim_per_axis(call, FSIM_ATTR_PADDING, n, pad) || !fsim_per_axis(call, FSIM_ATTR_DILATION, n, dilation))
        return false;
    for (int i = 0; i < n; i++) {
        if (!strides)
            stride[i] = taps[i];
        if (stride[i] < 1 || dilation[i] < 1 || taps[i] < 1 || pad[i] < 0 || stride[i] > FSIM_MAX_DIM ||
            dilation[i] > FSIM_MAX_DIM || taps[i] > FSIM_MAX_DIM || pad[i] > FSIM_MAX_DIM ||
            (double)dilation[i] * (double)taps[i] > 1e15)
            return fsim_refuse(call, "stride, dilation and kernel are at least 1, padding at least 0");
        axis[i] = (fsim_axis){
            .extent = extent[i], .taps = taps[i], .stride = stride[i], .dilation = dilation[i], .pad = pad[i]};
        const int64_t room = extent[i] + 2 * pad[i] - dilation[i] * (taps[i] - 1) - 1;
        if (room < 0)
            return fsim_refuse(call, "a window of %lld does not fit %lld padded elements",
                               (long long)(dilation[i] * (taps[i] - 1) + 1), (long long)(extent[i] + 2 * pad[i]));
        axis[i].out = room / stride[i] + 1;
    }
    return true;
}

/* How many windows there are: one for each element of the result along n axes. */
static double window_count(const fsim_axis *axis, int n)
{
    double count = 1;
    for (int i = 0; i < n; i++)
        count *= (double)axis[i].out;
    return count;
}

/* Of values up to `last`, how many lie in `blocks` ranges of `length` values, of which one starts every `step`? Ranges
 * that overlap are one. */
static int64_t covered(int64_t last, int64_t blocks, int64_t step, int64_t length)
{
    if (last < 0)
        return 0;
    if (step <= length) {
        const int64_t end = (blocks - 1) * step + length;
        return last + 1 < end ? last + 1 : end;
    }
    const int64_t whole = last / step, rest = last % step + 1;
    return whole >= blocks ? blocks * length : whole * length + (rest < length ? rest : length);
}

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* For one tap k, the elements o x stride + k x dilation have one remainder modulo the stride. Taps that are period =
 * stride / gcd apart have the same remainder; their ranges of `out` elements, dilation / gcd apart, are counted
 * together. Windows and taps are interchangeable, so at most about sqrt(extent) remainders are visited. */
int64_t fsim_axis_touched(const fsim_axis *x)
{
    const int64_t divisor = common_divisor(x->stride, x->dilation);
    int64_t stride = x->stride, out = x->out, dilation = x->dilation, taps = x->taps, touched = 0;
    const int64_t remainders = taps < stride / divisor ? taps : stride / divisor,
                  others = out < dilation / divisor ? out : dilation / divisor;
    if (others < remainders) {
        stride = x->dilation;
        out = x->taps;
        dilation = x->stride;
        taps = x->out;
    }
    const int64_t period = stride / divisor, apart = dilation / divisor;
    for (int64_t k = 0; k < period && k < taps; k++) {
        const int64_t first = k * dilation - x->pad, blocks = (taps - 1 - k) / period + 1;
        touched += covered(floor_of(x->extent - 1 - first, stride), blocks, apart, out) -
                   covered(floor_of(-1 - first, stride), blocks, apart, out);
    }
    return touched;
}

static void read_window(fsim_access *x, int64_t planes, const fsim_axis *axis, int n)
{
    x->how = FSIM_READ_WINDOW;
    x->planes = planes;
    x->axes = n;
    x->distinct = planes;
    for (int i = 0; i < n; i++) {
        x->axis[i] = axis[i];
        x->distinct *= fsim_axis_touched(&axis[i]);
    }
}

int fsim_spatial_axes(fsim_op op)
{
    const char *digit = strpbrk(fsim_ops[op].name, "123");
    return digit ? *digit - '0' : 0;
}

static bool with_bias(fsim_call *call, const char *step)
{
    const int axes = fsim_spatial_axes(call->op), w = call->arg[1];
    const fsim_call whole = *call;
    fsim_build *b = call->build;
    const int64_t groups = call->attrs.groups;
    const bool transposed = call->op >= FSIM_OP_CONV_TRANSPOSE1D;
    const fsim_tensor *weight = &b->graph->tensor[w], *bias = fsim_arg(call, 2);
    const int64_t channels =
        weight->shape.rank > 1 ? transposed ? weight->shape.dim[1] * groups : weight->shape.dim[0] : 0;
    if (bias->shape.rank != 1 || bias->shape.dim[0] != channels)
        return fsim_refuse(call, "the bias has shape %s; wants [%lld]", text_of(call, &bias->shape),
                           (long long)channels);
    fsim_shape wide = {.rank = axes + 1, .dim = {channels, 1, 1, 1}};
    int result = -1;
    const char *name = fsim_printf(b->arena, "%s/%s", call->out[0], step);
    fsim_call inner = whole;
    inner.out = &name;
    inner.args = 2;
    inner.result = &result;
    if (!fsim_ops[call->op].rule(&inner))
        return false;
    const int view = fsim_add_view(b, call->at, fsim_printf(b->arena, "%s/bias", call->out[0]), &wide, call->arg[2], 0);
    const int sum[2] = {result, view};
    call->result[0] = view < 0 ? -1 : fsim_emit(call, FSIM_OP_ADD, NULL, 2, sum);
    return call->result[0] >= 0;
}

bool fsim_rule_conv(fsim_call *call)
{
    if (call->args == 3)
        return with_bias(call, "conv");
    const fsim_tensor *x = fsim_arg(call, 0), *w = fsim_arg(call, 1);
    const int axes = fsim_spatial_axes(call->op), lead = x->shape.rank - axes; /* 2: batch and channels; 1: no batch */
    const int64_t groups = call->attrs.groups;
    fsim_axis axis[3];
    if (lead < 1 || lead > 2 || w->shape.rank != axes + 2)
        return fsim_refuse(call, "wants x[N, C, ...] and weight[O, C / groups, ...]; found %s and %s",
                           text_of(call, &x->shape), text_of(call, &w->shape));
    const int64_t batch = lead == 2 ? x->shape.dim[0] : 1, channels = x->shape.dim[lead - 1], filters = w->shape.dim[0];
    if (groups < 1 || channels % groups != 0 || filters % groups != 0 || w->shape.dim[1] != channels / groups)
        return fsim_refuse(call, "x %s and weight %s do not fit with groups %lld", text_of(call, &x->shape),
                           text_of(call, &w->shape), (long long)groups);
    if (!fsim_window_axes(call, x->shape.dim + lead, w->shape.dim + 2, axes, axis) ||
        !fsim_check_steps(call, (double)batch * (double)w->elems * window_count(axis, axes)))
        return false;
    fsim_shape out = {.rank = x->shape.rank};
    int64_t pixels = 1, taps = 1;
    if (lead == 2)
        out.dim[0] = batch;
    out.dim[lead - 1] = filters;
    for (int i = 0; i < axes; i++) {
        out.dim[lead + i] = axis[i].out;
        pixels *= axis[i].out;
        taps *= axis[i].taps;
    }
    fsim_map m = {.offset = w->offset};
    const int64_t k = channels / groups * taps;
    fsim_map_push(&m, batch, 0);
    fsim_map_push(&m, filters, k);
    fsim_map_push(&m, pixels, 0);
    m.split = m.modes;
    fsim_map_push(&m, k, 1);
    fsim_node *n = fsim_add_node(call, &out, k);
    if (!n)
        return false;
    read_window(&n->arg[0], batch * channels, axis, axes);
    n->arg[0].map.offset = fsim_arg(call, 0)->offset;
    n->arg[1].map = fsim_map_simplify(m);
    n->gemm = (fsim_gemm){.batch = groups,
                          .m = batch * pixels,
                          .n = filters / groups,
                          .k = k,
                          .convolution = true,
                          .transposed_b = true,
                          .arithmetic = fsim_product_arithmetic(call)};
    return true;
}

bool fsim_rule_conv_transpose(fsim_call *call)
{
    if (call->args == 3)
        return with_bias(call, "conv");
    const fsim_tensor *x = fsim_arg(call, 0), *w = fsim_arg(call, 1);
    const int axes = fsim_spatial_axes(call->op), lead = x->shape.rank - axes;
    const int64_t groups = call->attrs.groups;
    int64_t stride[3], pad[3], dilation[3], extra[3], pixels = 1, taps = 1;
    if (lead < 1 || lead > 2 || w->shape.rank != axes + 2)
        return fsim_refuse(call, "wants x[N, C, ...] and weight[C, O / groups, ...]; found %s and %s",
                           text_of(call, &x->shape), text_of(call, &w->shape));
    const int64_t batch = lead == 2 ? x->shape.dim[0] : 1, channels = x->shape.dim[lead - 1];
    if (groups < 1 || channels % groups != 0 || w->shape.dim[0] != channels)
        return fsim_refuse(call, "x %s and weight %s do not fit with groups %lld", text_of(call, &x->shape),
                           text_of(call, &w->shape), (long long)groups);
    if (!fsim_per_axis(call, FSIM_ATTR_STRIDE, axes, stride) || !fsim_per_axis(call, FSIM_ATTR_PADDING, axes, pad) ||
        !fsim_per_axis(call, FSIM_ATTR_DILATION, axes, dilation) ||
        !fsim_per_axis(call, FSIM_ATTR_OUTPUT_PADDING, axes, extra))
        return false;
    fsim_shape out = {.rank = x->shape.rank};
    fsim_axis axis[3];
    if (lead == 2)
        out.dim[0] = batch;
    out.dim[lead - 1] = w->shape.dim[1] * groups;
    for (int i = 0; i < axes; i++) {
        const double wide = (double)(x->shape.dim[lead + i] - 1) * (double)stride[i] +
                            (double)dilation[i] * (double)(w->shape.dim[2 + i] - 1);
        if (stride[i] < 1 || dilation[i] < 1 || pad[i] < 0 || pad[i] > FSIM_MAX_DIM || extra[i] < 0 || wide > 1e15)
            return fsim_refuse(call, "stride and dilation are at least 1, padding at least 0");
        if (extra[i] >= stride[i] && extra[i] >= dilation[i])
            return fsim_refuse(call, "'output_padding' %lld wants a larger stride or dilation than %lld and %lld",
                               (long long)extra[i], (long long)stride[i], (long long)dilation[i]);
        out.dim[lead + i] = (x->shape.dim[lead + i] - 1) * stride[i] - 2 * pad[i] +
                            dilation[i] * (w->shape.dim[2 + i] - 1) + extra[i] + 1;
        pixels *= x->shape.dim[lead + i];
        taps *= w->shape.dim[2 + i];
        axis[i] =
            (fsim_axis){out.dim[lead + i], x->shape.dim[lead + i], w->shape.dim[2 + i], stride[i], dilation[i], pad[i]};
    }
    const int64_t filters = w->shape.dim[1];
    if (!fsim_check_steps(call, (double)(batch * pixels) * (double)w->elems))
        return false;
    fsim_node *n = fsim_add_node(call, &out, channels / groups * taps);
    if (!n)
        return false;
    for (int i = 0; i < 2; i++) {
        n->arg[i].how = FSIM_READ_ONCE;
        n->arg[i].map.offset = fsim_arg(call, i)->offset;
    }
    n->arg[0].planes = batch * channels; /* the axes of the convolution whose gradient this is: its `out` are x's
                                            elements, its `extent` the result's */
    n->arg[0].axes = axes;
    memcpy(n->arg[0].axis, axis, (size_t)axes * sizeof *axis);
    /* as the gradient of a convolution: every input pixel meets every tap of every filter once */
    n->gemm = (fsim_gemm){.batch = groups,
                          .m = batch * pixels,
                          .n = filters,
                          .k = channels / groups * taps,
                          .convolution = true,
                          .arithmetic = fsim_product_arithmetic(call)};
    return true;
}

/* The gradient of a convolution's weight: what each tap of each filter met, summed over images and pixels. As
 * torch.nn.grad.conv2d_weight. */
bool fsim_rule_conv_weight(fsim_call *call)
{
    const fsim_tensor x = *fsim_arg(call, 0), grad = *fsim_arg(call, 1);
    const int axes = fsim_spatial_axes(call->op), lead = x.shape.rank - axes;
    const int64_t groups = call->attrs.groups;
    int64_t taps[3], window = 1, pixels = 1;
    fsim_axis axis[3];
    if (lead < 1 || lead > 2 || grad.shape.rank != x.shape.rank || (lead == 2 && x.shape.dim[0] != grad.shape.dim[0]))
        return fsim_refuse(call, "wants x[N, C, ...] and the gradient [N, O, ...] of the result; found %s and %s",
                           text_of(call, &x.shape), text_of(call, &grad.shape));
    const int64_t batch = lead == 2 ? x.shape.dim[0] : 1, channels = x.shape.dim[lead - 1],
                  filters = grad.shape.dim[lead - 1];
    if (groups < 1 || channels % groups != 0 || filters % groups != 0)
        return fsim_refuse(call, "%lld channels and %lld filters do not divide into %lld groups", (long long)channels,
                           (long long)filters, (long long)groups);
    if (!fsim_per_axis(call, FSIM_ATTR_KERNEL, axes, taps) ||
        !fsim_window_axes(call, x.shape.dim + lead, taps, axes, axis))
        return false;
    fsim_shape out = {.rank = axes + 2, .dim = {filters, channels / groups}};
    for (int i = 0; i < axes; i++) {
        if (axis[i].out != grad.shape.dim[lead + i])
            return fsim_refuse(call, "the gradient has %lld elements along axis %d; these windows make %lld",
                               (long long)grad.shape.dim[lead + i], i, (long long)axis[i].out);
        out.dim[2 + i] = taps[i];
        window *= taps[i];
        pixels *= axis[i].out;
    }
    if (!fsim_check_steps(call, (double)fsim_elems(&out) * (double)batch * (double)pixels))
        return false;
    fsim_node *n = fsim_add_node(call, &out, batch * pixels);
    if (!n)
        return false;
    for (int i = 0; i < 2; i++) {
        n->arg[i].how = FSIM_READ_ONCE;
        n->arg[i].map.offset = fsim_arg(call, i)->offset;
    }
    n->arg[0].planes = batch * channels;
    n->arg[0].axes = axes;
    memcpy(n->arg[0].axis, axis, (size_t)axes * sizeof *axis);
    n->gemm = (fsim_gemm){.batch = groups,
                          .m = filters / groups,
                          .n = channels / groups * window,
                          .k = batch * pixels,
                          .convolution = true,
                          .arithmetic = fsim_product_arithmetic(call)};
    return true;
}

/* One window over the whole plane is a reduction of the spatial dimensions; frameworks run it as one. */
static bool reduce_planes(fsim_call *call, fsim_op op, int axes)
{
    fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    call->typed = true; /* pools take integers, means do not */
    call->type = fsim_arg(call, 0)->dtype;
    call->op = op;
    call->attrs.keepdim = true;
    dims->present = true;
    dims->count = axes;
    for (int i = 0; i < axes; i++)
        dims->at[i] = i - axes;
    return fsim_rule_reduce(call);
}

bool fsim_rule_pool(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0);
    const int axes = fsim_spatial_axes(call->op), lead = x->shape.rank - axes;
    int64_t taps[3], window = 1, planes = 1;
    fsim_axis axis[3];
    if (lead < 1)
        return fsim_refuse(call, "the tensor has too few dimensions");
    fsim_shape out = x->shape;
    if (!fsim_per_axis(call, FSIM_ATTR_KERNEL, axes, taps) ||
        !fsim_window_axes(call, x->shape.dim + lead, taps, axes, axis))
        return false;
    for (int i = 0; i < axes; i++)
        if (2 * axis[i].pad > axis[i].dilation * (axis[i].taps - 1) + 1)
            return fsim_refuse(call, "'padding' %lld is more than half of the window, %lld", (long long)axis[i].pad,
                               (long long)(axis[i].dilation * (axis[i].taps - 1) + 1));
    for (int i = 0; i < lead; i++)
        planes *= out.dim[i];
    double steps = (double)planes * window_count(axis, axes);
    for (int i = 0; i < axes; i++)
        steps *= (double)taps[i];
    if (!fsim_check_steps(call, steps))
        return false;
    bool whole = true;
    for (int i = 0; i < axes; i++) {
        out.dim[lead + i] = axis[i].out;
        window *= taps[i];
        whole = whole && axis[i].pad == 0 && taps[i] == axis[i].extent;
    }
    if (whole)
        return reduce_planes(call,
                             call->op == FSIM_OP_MAX_POOL1D || call->op == FSIM_OP_MAX_POOL2D ||
                                     call->op == FSIM_OP_MAX_POOL3D
                                 ? FSIM_OP_MAX
                                 : FSIM_OP_MEAN,
                             axes);
    fsim_node *n = fsim_add_node(call, &out, window);
    if (!n)
        return false;
    read_window(&n->arg[0], planes, axis, axes);
    n->arg[0].map.offset = fsim_arg(call, 0)->offset;
    return true;
}

bool fsim_rule_adaptive_pool(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0);
    const int axes = fsim_spatial_axes(call->op), lead = x->shape.rank - axes;
    int64_t size[3], window = 1;
    if (lead < 1)
        return fsim_refuse(call, "the tensor has too few dimensions");
    fsim_shape out = x->shape;
    fsim_axis axis[3];
    if (!fsim_per_axis(call, FSIM_ATTR_OUTPUT_SIZE, axes, size))
        return false;
    bool whole = true;
    for (int i = 0; i < axes; i++) {
        if (size[i] < 1)
            return fsim_refuse(call, "output_size is at least 1");
        whole = whole && size[i] == 1;
        const int64_t taps =
            (out.dim[lead + i] + size[i] - 1) / size[i]; /* an upper bound: windows start at out * extent / size */
        axis[i] = (fsim_axis){out.dim[lead + i], size[i], taps, taps, 1, 0};
        window *= taps;
        out.dim[lead + i] = size[i];
    }
    if (whole)
        return reduce_planes(call, call->op >= FSIM_OP_ADAPTIVE_MAX_POOL1D ? FSIM_OP_MAX : FSIM_OP_MEAN, axes);
    fsim_node *n = fsim_add_node(call, &out, window);
    if (!n)
        return false;
    n->arg[0].how = FSIM_READ_ONCE;
    n->arg[0].map.offset = fsim_arg(call, 0)->offset;
    n->arg[0].axes = axes;
    memcpy(n->arg[0].axis, axis, (size_t)axes * sizeof *axis);
    return true;
}

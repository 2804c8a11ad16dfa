/* SPDX-License-Identifier: Apache-2.0 */
/* window_back.c: the rules of what pooling's gradients need: each element takes part in the windows that hold it, so it
 * gathers from them, and nothing has to be added in memory. An access has the axes of the pooling itself: `extent`
 * elements in front of it, `out` windows; stride 0: adaptive. */
#include "graph/build.h"
#include "graph/window.h"

#include <string.h>

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

/* Windows of `taps` over `extent` elements, or adaptive ones: then `out` of them. */
static bool axes_of(const fsim_call *call, const int64_t *extent, const int64_t *out, int axes, fsim_axis *axis)
{
    int64_t taps[3];
    if (call->list[FSIM_ATTR_KERNEL].present)
        return fsim_per_axis(call, FSIM_ATTR_KERNEL, axes, taps) && fsim_window_axes(call, extent, taps, axes, axis);
    for (int i = 0; i < axes; i++)
        axis[i] = (fsim_axis){extent[i], out[i], (extent[i] + out[i] - 1) / out[i], 0, 1, 0};
    return true;
}

/* How many windows hold an element, at most. */
static int64_t overlap(const fsim_axis *axis, int axes)
{
    int64_t most = 1;
    for (int i = 0; i < axes; i++) {
        const int64_t whole = axis[i].taps, step = axis[i].stride;
        most *= step > 0 ? (whole + step - 1) / step : axis[i].extent % axis[i].out ? 2 : 1;
    }
    return most;
}

static void read_planes(fsim_call *call, fsim_node *n, int i, int64_t planes, const fsim_axis *axis, int axes)
{
    n->arg[i].how = FSIM_READ_ONCE;
    n->arg[i].map.offset = fsim_arg(call, i)->offset;
    n->arg[i].planes = planes;
    n->arg[i].axes = axes;
    memcpy(n->arg[i].axis, axis, (size_t)axes * sizeof *axis);
}

/* The axes that `output_size` lists, and the dimensions in front of them. */
static bool count_axes(const fsim_call *call, const fsim_shape *x, int *axes, int *lead)
{
    *axes = call->list[FSIM_ATTR_OUTPUT_SIZE].count;
    *lead = x->rank - *axes;
    return (*axes >= 1 && *axes <= 3 && *lead >= 0) ||
           fsim_refuse(call, "wants 'output_size' to list the length of each of 1 to 3 spatial axes");
}

static bool check_windows(const fsim_call *call, const fsim_shape *g, const fsim_axis *axis, int axes, int lead)
{
    for (int i = 0; i < axes; i++)
        if (g->dim[lead + i] != axis[i].out)
            return fsim_refuse(call, "has %lld windows along axis %d of %s; the pooling has %lld",
                               (long long)g->dim[lead + i], i, text_of(call, g), (long long)axis[i].out);
    return true;
}

static fsim_node *gathered_node(fsim_call *call, const fsim_shape *out, const fsim_axis *axis, int axes, int64_t each)
{
    double steps = (double)fsim_elems(out) * (double)each;
    if (!fsim_check_steps(call, steps))
        return NULL;
    fsim_node *n = fsim_add_node(call, out, each);
    int64_t planes = 1;
    for (int i = 0; i < out->rank - axes; i++)
        planes *= out->dim[i];
    for (int i = 0; n && i < n->args; i++)
        read_planes(call, n, i, planes, axis, axes);
    return n;
}

/* g, or x, y and g: the gradient of what was pooled. Its spatial lengths are `output_size`. */
bool fsim_rule_pool_grad(fsim_call *call)
{
    const fsim_shape g = fsim_arg(call, call->args - 1)->shape;
    int axes, lead;
    fsim_axis axis[3];
    fsim_shape out = g;
    if (!count_axes(call, &g, &axes, &lead))
        return false;
    memcpy(out.dim + lead, call->list[FSIM_ATTR_OUTPUT_SIZE].at, (size_t)axes * sizeof *out.dim);
    for (int i = 0; i + 1 < call->args; i++) {
        const fsim_shape *wanted = i == 0 ? &out : &g, *have = &fsim_arg(call, i)->shape;
        if (have->rank != wanted->rank || memcmp(have->dim, wanted->dim, (size_t)have->rank * sizeof *have->dim) != 0)
            return fsim_refuse(call, "wants %s of shape %s; found %s", i == 0 ? "x" : "y", text_of(call, wanted),
                               text_of(call, have));
    }
    return axes_of(call, out.dim + lead, g.dim + lead, axes, axis) && check_windows(call, &g, axis, axes, lead) &&
           gathered_node(call, &out, axis, axes, overlap(axis, axes));
}

/* x and v of one shape: the element of v where x has the first maximum of each window. */
bool fsim_rule_pool_pick(fsim_call *call)
{
    const fsim_shape x = fsim_arg(call, 0)->shape, v = fsim_arg(call, 1)->shape;
    int axes, lead;
    int64_t window = 1;
    fsim_axis axis[3];
    fsim_shape out = x;
    if (x.rank != v.rank || memcmp(x.dim, v.dim, (size_t)x.rank * sizeof *x.dim) != 0)
        return fsim_refuse(call, "wants two tensors of one shape; found %s and %s", text_of(call, &x),
                           text_of(call, &v));
    if (!count_axes(call, &x, &axes, &lead))
        return false;
    memcpy(out.dim + lead, call->list[FSIM_ATTR_OUTPUT_SIZE].at, (size_t)axes * sizeof *out.dim);
    if (!axes_of(call, x.dim + lead, out.dim + lead, axes, axis) || !check_windows(call, &out, axis, axes, lead))
        return false;
    for (int i = 0; i < axes; i++)
        window *= axis[i].taps;
    return gathered_node(call, &out, axis, axes, window);
}

/* torch.nn.functional.fold: columns of patches x[N, C taps, windows], added where patches overlap. */
bool fsim_rule_fold(fsim_call *call)
{
    const fsim_shape x = fsim_arg(call, 0)->shape;
    const fsim_list *size = &call->list[FSIM_ATTR_OUTPUT_SIZE];
    const int axes = size->count, lead = x.rank - 2;
    int64_t taps[3], window = 1, windows = 1;
    fsim_axis axis[3];
    fsim_shape out = {.rank = x.rank - 1 + axes};
    if (axes < 1 || axes > 3 || lead < 0 || lead > 1)
        return fsim_refuse(call, "wants x[N, C kh kw, windows] and 'output_size' with the length of each spatial axis");
    if (!fsim_per_axis(call, FSIM_ATTR_KERNEL, axes, taps) || !fsim_window_axes(call, size->at, taps, axes, axis))
        return false;
    for (int i = 0; i < axes; i++) {
        window *= taps[i];
        windows *= axis[i].out;
        out.dim[lead + 1 + i] = size->at[i];
    }
    if (x.dim[lead] % window != 0 || x.dim[lead + 1] != windows)
        return fsim_refuse(call, "wants a multiple of %lld rows and %lld windows; found %s", (long long)window,
                           (long long)windows, text_of(call, &x));
    if (lead)
        out.dim[0] = x.dim[0];
    out.dim[lead] = x.dim[lead] / window;
    return gathered_node(call, &out, axis, axes, overlap(axis, axes));
}

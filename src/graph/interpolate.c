/* SPDX-License-Identifier: Apache-2.0 */
/* interpolate.c: the rule of torch.nn.functional.interpolate: a window of one element, or of two or four along each
 * axis. */
#include "graph/build.h"

#include <math.h>
#include <string.h>

/* Does the mode suit so many spatial axes? */
static bool check_mode(const fsim_call *call, int axes)
{
    static const int axes_of[] = {[FSIM_LINEAR] = 1, [FSIM_BILINEAR] = 2, [FSIM_TRILINEAR] = 3, [FSIM_BICUBIC] = 2};
    static const char *const name[] = {"", "linear", "bilinear", "trilinear"};
    const int mode = call->attrs.mode;
    if (mode == FSIM_NEAREST)
        return !call->attrs.align_corners || fsim_refuse(call, "'align_corners' goes with linear modes");
    return axes_of[mode] == axes || fsim_refuse(call, "x has %d spatial dimension%s: wants 'mode: %s', or 'nearest'",
                                                axes, axes == 1 ? "" : "s", name[axes]);
}

/* How many neighbours along each axis a mode reads. */
static int taps_of(int mode) { return mode == FSIM_NEAREST ? 1 : mode == FSIM_BICUBIC ? 4 : 2; }

double fsim_interpolation_ratio(const fsim_node *n, int i)
{
    const double in = (double)n->arg[0].axis[i].extent, out = (double)n->arg[0].axis[i].out;
    if (n->attrs.align_corners)
        return out > 1 ? (in - 1) / (out - 1) : 0;
    return n->attrs.scale_factor > 0 ? 1 / n->attrs.scale_factor : in / out;
}

bool fsim_rule_interpolate(fsim_call *call)
{
    const fsim_shape x = fsim_arg(call, 0)->shape;
    const fsim_list *size = &call->list[FSIM_ATTR_SIZE];
    const bool scaled = call->list[FSIM_ATTR_SCALE_FACTOR].present;
    const int axes = x.rank - 2, taps = taps_of(call->attrs.mode);
    fsim_shape out = x;
    fsim_axis axis[3];
    int64_t window = 1;
    if (axes < 1 || axes > 3)
        return fsim_refuse(call, "wants x[N, C, ...] with 1 to 3 spatial dimensions; found %s",
                           fsim_shape_text(call->build->arena, &x));
    if (!check_mode(call, axes))
        return false;
    if (size->present == scaled)
        return fsim_refuse(call, "wants either 'size' or 'scale_factor'");
    if (size->present && size->count != 1 && size->count != axes)
        return fsim_refuse(call, "'size' lists %d values for %d axes", size->count, axes);
    for (int i = 0; i < axes; i++) {
        const double length = scaled ? floor((double)x.dim[2 + i] * call->attrs.scale_factor)
                                     : (double)size->at[size->count == 1 ? 0 : i];
        if (!(length >= 1 && length <= (double)FSIM_MAX_DIM))
            return fsim_refuse(call, "makes %g elements of %lld", length, (long long)x.dim[2 + i]);
        out.dim[2 + i] = (int64_t)length;
        axis[i] = (fsim_axis){x.dim[2 + i], out.dim[2 + i], taps, 1, 1, 0};
        window *= taps;
    }
    if (memcmp(out.dim, x.dim, (size_t)x.rank * sizeof *x.dim) == 0)
        call->attrs.scale_factor = 0; /* PyTorch copies where no length changes: 2 elements by 1.3 are 2 */
    fsim_node *n = fsim_add_node(call, &out, window);
    if (!n)
        return false;
    n->arg[0].how = FSIM_READ_ONCE;
    n->arg[0].map.offset = fsim_arg(call, 0)->offset;
    n->arg[0].axes = axes;
    memcpy(n->arg[0].axis, axis, (size_t)axes * sizeof *axis);
    return true;
}

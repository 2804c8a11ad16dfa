/* SPDX-License-Identifier: Apache-2.0 */
/* op_resize.c: Resize and Upsample, GridSample, AffineGrid. */
#include "import/onnx/rows.h"

#include <math.h>
#include <string.h>

/* A resize that was read: the result's shape, and which dimensions change. */
typedef struct {
    fsim_shape out;
    int changed[FSIM_MAX_RANK], count;
    const char *mode; /* "nearest", "linear", "cubic" */
    bool corners;     /* align_corners */
} resize;

/* The factor of each dimension: an input of versions 9 and later, before that an attribute. NULL: none. */
static const double *read_scales(fsim_onnx_call *c, int *count)
{
    const int at = strcmp(c->op, "Upsample") == 0 ? 1 : c->opset < 11 ? 1 : 2;
    fsim_operand *v = fsim_onnx_in(c, at);
    *count = 0;
    if (c->opset < 9 && strcmp(c->op, "Upsample") == 0)
        return fsim_onnx_floats(c, "scales", count);
    if (!v || !v->floats || fsim_onnx_elems(v) == 0)
        return NULL;
    *count = (int)fsim_onnx_elems(v);
    return v->floats;
}

/* The dimensions that scales and sizes are for, version 18 on; all where none is named. */
static bool read_axes(fsim_onnx_call *c, int rank, int count, int *axis)
{
    int listed = rank;
    const int64_t *axes = fsim_onnx_has(c, "axes") ? fsim_onnx_ints(c, "axes", &listed) : NULL;
    if (listed != count)
        return fsim_onnx_refuse(c, "has %d lengths for %d dimensions", count, listed);
    for (int i = 0; i < count; i++) {
        axis[i] = i;
        if (axes && !fsim_onnx_axis(c, axes[i], rank, &axis[i]))
            return false;
    }
    return true;
}

/* With a policy, sizes are limits, and all axes have one factor. */
static double common_factor(fsim_onnx_call *c, const fsim_shape *x, const int64_t *size, const int *axis, int count)
{
    const char *policy = fsim_onnx_string(c, "keep_aspect_ratio_policy", "stretch");
    double factor = 0;
    for (int i = 0; i < count && strcmp(policy, "stretch") != 0; i++) {
        const double own = (double)size[i] / (double)x->dim[axis[i]];
        if (i == 0 || (strcmp(policy, "not_larger") == 0 ? own < factor : own > factor))
            factor = own;
    }
    return factor;
}

static bool read_lengths(fsim_onnx_call *c, const fsim_shape *x, resize *r)
{
    int scales, sizes = 0, axis[FSIM_MAX_RANK];
    const double *scale = read_scales(c, &scales);
    const int64_t *size = c->opset >= 11 && !scale ? fsim_onnx_ints_of(fsim_onnx_in(c, 3), &sizes) : NULL;
    const int count = scale ? scales : sizes;
    if (!scale && !size)
        return false;
    if (count > x->rank)
        return fsim_onnx_refuse(c, "has %d lengths for %d dimensions", count, x->rank);
    if (!read_axes(c, x->rank, count, axis))
        return false;
    const double factor = size ? common_factor(c, x, size, axis, count) : 0;
    r->out = *x;
    for (int i = 0; i < count; i++) {
        const int64_t have = x->dim[axis[i]];
        const double length = scale        ? floor((float)have * (float)scale[i])
                              : factor > 0 ? floor((double)have * factor + 0.5)
                                           : (double)size[i];
        if (!(length >= 0 && length <= (double)FSIM_MAX_DIM))
            return fsim_onnx_refuse(c, "makes %g elements of %lld", length, (long long)have);
        r->out.dim[axis[i]] = (int64_t)length;
    }
    return true;
}

static bool same_dims(const fsim_shape *x, const resize *r, int from, int to)
{
    for (int d = from; d < to; d++)
        if (x->dim[d] != r->out.dim[d])
            return false;
    return true;
}

/* Which dimensions are spatial: all but the first two where these stay; else those that change. */
static void find_changed(const fsim_shape *x, resize *r)
{
    r->count = 0;
    const bool images = x->rank >= 3 && x->rank <= 5 && same_dims(x, r, 0, 2);
    for (int d = 0; d < x->rank; d++)
        if (images ? d >= 2 : x->dim[d] != r->out.dim[d])
            r->changed[r->count++] = d;
}

static const char *mode_of(const resize *r)
{
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    if (strcmp(r->mode, "cubic") == 0)
        return "bicubic";
    return strcmp(r->mode, "linear") == 0 ? linear[r->count - 1] : "nearest";
}

static fsim_operand *interpolate(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const fsim_shape *out,
                                 const resize *r)
{
    fsim_operand *y = x ? fsim_onnx_emit(c, at, "interpolate", out, x->dtype, FSIM_ARGS(x)) : NULL;
    if (!y)
        return NULL;
    fsim_onnx_put_ints(c, "size", r->count, out->dim + 2);
    fsim_onnx_put_word(c, "mode", mode_of(r));
    if (r->corners && strcmp(r->mode, "nearest") != 0)
        fsim_onnx_put_flag(c, "align_corners", true);
    return y;
}

/* Dimensions that stay go in front, as one; those that change follow. */
static fsim_operand *rearranged(fsim_onnx_call *c, fsim_operand *x, const resize *r)
{
    int64_t order[FSIM_MAX_RANK], back[FSIM_MAX_RANK], kept = 1;
    fsim_shape images = {.rank = 2 + r->count, .dim = {1, 1}}, out, turned = {.rank = x->shape.rank};
    int at = 0;
    for (int d = 0, next = 0; d < x->shape.rank; d++)
        if (next < r->count && r->changed[next] == d)
            next++;
        else
            order[at++] = d;
    const int stay = at;
    for (int i = 0; i < r->count; i++)
        order[at++] = r->changed[i];
    bool moved = false;
    for (int i = 0; i < at; i++) {
        back[order[i]] = i;
        moved = moved || order[i] != i;
        kept *= i < stay ? x->shape.dim[order[i]] : 1;
        turned.dim[i] = r->out.dim[order[i]];
    }
    images.dim[1] = kept;
    out = images;
    for (int i = 0; i < r->count; i++) {
        images.dim[2 + i] = x->shape.dim[r->changed[i]];
        out.dim[2 + i] = r->out.dim[r->changed[i]];
    }
    fsim_operand *y = moved ? fsim_onnx_reorder(c, FSIM_STEP("turned"), x, order) : x;
    y = interpolate(c, FSIM_STEP("resized"), fsim_onnx_view(c, FSIM_STEP("images"), y, &images), &out, r);
    if (!moved)
        return fsim_onnx_view(c, FSIM_OUT(0), y, &r->out);
    return fsim_onnx_reorder(c, FSIM_OUT(0), fsim_onnx_view(c, FSIM_STEP("lengths"), y, &turned), back);
}

bool fsim_onnx_op_resize(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    resize r = {.mode = fsim_onnx_string(c, "mode", "nearest"),
                .corners = strcmp(fsim_onnx_string(c, "coordinate_transformation_mode", ""), "align_corners") == 0};
    const int errors = fsim_errors(c->d);
    if (!x)
        return false;
    if (!read_lengths(c, &x->shape, &r))
        return fsim_errors(c->d) == errors && fsim_onnx_unsupported(c, "its sizes are not known");
    find_changed(&x->shape, &r);
    if (same_dims(&x->shape, &r, 0, x->shape.rank))
        return fsim_onnx_same(c, 0, x);
    const bool cubic = strcmp(r.mode, "cubic") == 0;
    if ((cubic && r.count != 2) || r.count > 3 || !fsim_dtype_floating(x->dtype) || fsim_elems(&r.out) == 0)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, r.out, x->dtype});
    if (r.changed[0] == 2 && r.count == x->shape.rank - 2)
        return interpolate(c, FSIM_OUT(0), x, &r.out, &r) != NULL;
    return rearranged(c, x, &r) != NULL;
}

/* x[N, C, ...] at places grid[N, ..., axes]. */
bool fsim_onnx_op_grid_sample(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *grid = fsim_onnx_need(c, 1);
    if (!x || !grid)
        return false;
    if (x->shape.rank < 3 || grid->shape.rank != x->shape.rank)
        return fsim_onnx_refuse(c, "wants x[N, C, ...] and a grid of as many dimensions");
    fsim_shape out = x->shape;
    for (int d = 2; d < out.rank; d++)
        out.dim[d] = grid->shape.dim[d - 1];
    const char *mode = fsim_onnx_string(c, "mode", "linear"); /* "bilinear" before opset 20 */
    const bool between = strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0;
    if (between && (x->shape.rank == 4 || x->shape.rank == 5) && fsim_dtype_floating(grid->dtype))
        return fsim_onnx_make(c, 0, "grid_sample", &out, x->dtype, FSIM_ARGS(x, grid)) != NULL;
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, x->dtype});
}

/* The places of an affine map: theta[N, axes, axes + 1], size[N, C, ...]. */
bool fsim_onnx_op_affine_grid(fsim_onnx_call *c)
{
    fsim_operand *theta = fsim_onnx_need(c, 0);
    int count = 0;
    const int64_t *size = fsim_onnx_ints_of(fsim_onnx_in(c, 1), &count);
    if (!theta)
        return false;
    if (!size || count < 3 || count > FSIM_MAX_RANK)
        return fsim_onnx_unsupported(c, "its size is not known");
    fsim_shape out = {.rank = count, .dim = {size[0]}};
    for (int d = 2; d < count; d++)
        out.dim[d - 1] = size[d];
    out.dim[count - 1] = count - 2;
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, theta->dtype});
}

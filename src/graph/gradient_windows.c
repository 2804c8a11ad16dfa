/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_windows.c: gradients of windows: pooling, patches and interpolation. Each element gathers from the windows
 * that hold it; what interpolation read at computed places is added there. */
#include "graph/gradient.h"

#include <math.h>
#include <string.h>

static const fsim_tensor *arg_of(const fsim_derivation *d, const fsim_record *r, int i)
{
    return &d->build->graph->tensor[r->arg[i]];
}

static fsim_list spatial_lengths(const fsim_shape *x, int axes)
{
    fsim_list l = {.present = true, .count = axes};
    memcpy(l.at, x->dim + x->rank - axes, (size_t)axes * sizeof *l.at);
    return l;
}

/* The windows of a pooling; of an adaptive one the lengths alone. */
static void take_windows(fsim_step *step, const fsim_record *r)
{
    static const fsim_attr windows[] = {FSIM_ATTR_KERNEL, FSIM_ATTR_STRIDE, FSIM_ATTR_PADDING, FSIM_ATTR_DILATION};
    for (int k = 0; k < 4; k++)
        step->call.list[windows[k]] = fsim_record_list(r, windows[k]);
}

fsim_value fsim_gradient_pool(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, i)->shape;
    const bool largest = fsim_ops[r->op].expr[0] == 'f'; /* fs_max, and not a sum */
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, largest ? FSIM_OP_MAX_POOL_GRAD : FSIM_OP_AVG_POOL_GRAD);
    take_windows(&step, r);
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = spatial_lengths(&x, fsim_spatial_axes(r->op));
    return largest ? fsim_derive_end(d, &step, 3, (int[3]){r->arg[0], r->result, g.tensor})
                   : fsim_derive_end(d, &step, 1, &g.tensor);
}

/* Windows along one dimension, which became the last: columns of patches that are added where they overlap. */
fsim_value fsim_gradient_unfold(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, i)->shape;
    const int dim = (int)((fsim_record_list(r, FSIM_ATTR_DIMS).at[0] + x.rank) % x.rank);
    const int64_t size = fsim_record_list(r, FSIM_ATTR_SIZE).at[0];
    int64_t before = 1, behind = 1;
    fsim_step step;
    fsim_list order = {.present = true, .count = 4, .at = {0, 2, 3, 1}};
    for (int k = 0; k < x.rank; k++)
        *(k < dim ? &before : &behind) *= k == dim ? 1 : x.dim[k];
    const fsim_shape split = {.rank = 4, .dim = {before, r->shape.dim[dim], behind, size}},
                     columns = {.rank = 3, .dim = {before, behind * size, r->shape.dim[dim]}};
    g = fsim_derive_view(d, fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype), &split);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, FSIM_OP_PERMUTE);
    step.call.list[FSIM_ATTR_DIMS] = order;
    g = fsim_derive_view(d, fsim_derive_end(d, &step, 1, &g.tensor), &columns);
    fsim_derive_start(d, &step, FSIM_OP_FOLD);
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = (fsim_list){.present = true, .count = 1, .at = {x.dim[dim]}};
    step.call.list[FSIM_ATTR_KERNEL] = (fsim_list){.present = true, .count = 1, .at = {size}};
    step.call.list[FSIM_ATTR_STRIDE] = (fsim_list){.present = true, .count = 1, .at = {r->attrs.step}};
    g = g.is == FSIM_TENSOR ? fsim_derive_end(d, &step, 1, &g.tensor) : g;
    if (behind > 1 && g.is == FSIM_TENSOR) {
        fsim_derive_start(d, &step, FSIM_OP_TRANSPOSE);
        step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 2, .at = {1, 2}};
        g = fsim_derive_end(d, &step, 1, &g.tensor);
    }
    return fsim_derive_view(d, g, &x);
}

/* The columns of a convolution. What it pads was padded before. */
fsim_value fsim_gradient_im2col(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, i)->shape;
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, FSIM_OP_FOLD);
    take_windows(&step, r);
    step.call.list[FSIM_ATTR_PADDING] = (fsim_list){.present = true, .count = 1, .at = {0}};
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = spatial_lengths(&x, 2);
    return fsim_derive_view(d, fsim_derive_end(d, &step, 1, &g.tensor), &x);
}

/* Gradients of those gradients are the operators themselves. */
fsim_value fsim_gradient_unpool(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    static const fsim_op pools[] = {FSIM_OP_AVG_POOL1D, FSIM_OP_ADAPTIVE_AVG_POOL1D};
    const fsim_shape x = arg_of(d, r, i)->shape;
    const int axes = fsim_record_list(r, FSIM_ATTR_OUTPUT_SIZE).count;
    const bool adaptive = !fsim_record_list(r, FSIM_ATTR_KERNEL).present, largest = r->op == FSIM_OP_MAX_POOL_GRAD;
    fsim_step step;
    if (largest && i < 2)
        return FSIM_ZERO;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, largest ? FSIM_OP_MAX_POOL_PICK : pools[adaptive] + axes - 1);
    take_windows(&step, r);
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = spatial_lengths(&x, axes);
    return largest ? fsim_derive_end(d, &step, 2, (int[2]){r->arg[0], g.tensor})
                   : fsim_derive_end(d, &step, 1, &g.tensor);
}

fsim_value fsim_gradient_fold(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    fsim_step step;
    if (fsim_record_list(r, FSIM_ATTR_OUTPUT_SIZE).count != 2 || r->shape.rank != 4)
        return fsim_derive_refuse(d, r, "the gradient of a fold is that of [N, C kh kw, windows]");
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, FSIM_OP_IM2COL);
    take_windows(&step, r);
    return fsim_derive_end(d, &step, 1, &g.tensor);
}

fsim_value fsim_gradient_pool_pick(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_list size = fsim_record_list(r, FSIM_ATTR_OUTPUT_SIZE);
    const fsim_shape x = arg_of(d, r, i)->shape;
    const bool adaptive = !fsim_record_list(r, FSIM_ATTR_KERNEL).present;
    fsim_step step;
    if (i == 0)
        return FSIM_ZERO;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, (adaptive ? FSIM_OP_ADAPTIVE_MAX_POOL1D : FSIM_OP_MAX_POOL1D) + size.count - 1);
    take_windows(&step, r);
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = size;
    const fsim_value y = fsim_derive_end(d, &step, 1, r->arg);
    if (y.is != FSIM_TENSOR)
        return y;
    fsim_derive_start(d, &step, FSIM_OP_MAX_POOL_GRAD);
    take_windows(&step, r);
    step.call.list[FSIM_ATTR_OUTPUT_SIZE] = spatial_lengths(&x, size.count);
    return fsim_derive_end(d, &step, 3, (int[3]){r->arg[0], y.tensor, g.tensor});
}

/* Interpolation, an axis at a time. */

typedef struct {
    fsim_derivation *d;
    const fsim_record *r;
    const fsim_axis *axis;
    int dim;
    double ratio;
    fsim_dtype dtype; /* of places and weights */
} interpolated;

static fsim_value with_number(fsim_derivation *d, fsim_op op, fsim_value x, double by)
{
    return fsim_derive_binary(d, op, x, (fsim_value){.is = FSIM_CONSTANT, .constant = by});
}

static fsim_value clamped(const interpolated *p, fsim_value x)
{
    x = with_number(p->d, FSIM_OP_MAXIMUM, x, 0);
    return with_number(p->d, FSIM_OP_MINIMUM, x, (double)(p->axis->extent - 1));
}

/* 0, 1, ... : the elements of the result along the axis. */
static fsim_value numbers(const interpolated *p, fsim_dtype dtype)
{
    fsim_step step;
    fsim_derive_start(p->d, &step, FSIM_OP_ARANGE);
    step.call.list[FSIM_ATTR_END] = (fsim_list){.present = true, .count = 1, .at = {p->axis->out}};
    step.call.attrs.dtype = dtype;
    return fsim_derive_end(p->d, &step, 0, NULL);
}

/* Which element is nearest to each. */
static fsim_value nearest(const interpolated *p)
{
    const double f = p->r->attrs.scale_factor;
    fsim_derivation *d = p->d;
    if (f > 0 && f != floor(f)) {
        const fsim_value at = with_number(d, FSIM_OP_MUL, numbers(p, FSIM_F64), 1 / f);
        return fsim_derive_cast(d, clamped(p, at), FSIM_I64);
    }
    const fsim_value at =
        f > 0 ? numbers(p, FSIM_I64) : with_number(d, FSIM_OP_MUL, numbers(p, FSIM_I64), (double)p->axis->extent);
    return clamped(p, with_number(d, FSIM_OP_FLOOR_DIVIDE, at, f > 0 ? f : (double)p->axis->out));
}

/* Where each lies. */
static fsim_value places(const interpolated *p)
{
    fsim_derivation *d = p->d;
    const bool corners = p->r->attrs.align_corners;
    fsim_value at = numbers(p, p->dtype);
    if (!corners)
        at = with_number(d, FSIM_OP_ADD, at, 0.5);
    at = with_number(d, FSIM_OP_MUL, at, p->ratio);
    if (!corners)
        at = with_number(d, FSIM_OP_SUB, at, 0.5);
    return p->r->attrs.mode == FSIM_BICUBIC ? at : clamped(p, at);
}

/* Adds g, times a weight for each element along the axis, to x at the index. x FSIM_ZERO: zeros. */
static fsim_value add_at(const interpolated *p, fsim_value x, fsim_value index, fsim_value weight, fsim_value g)
{
    fsim_derivation *d = p->d;
    const fsim_dtype dtype = fsim_value_tensor(d, g)->dtype;
    fsim_shape line = {.rank = p->r->shape.rank}, whole = fsim_value_tensor(d, g)->shape;
    for (int k = 0; k < line.rank; k++)
        line.dim[k] = k == p->dim ? p->axis->out : 1;
    whole.dim[p->dim] = p->axis->extent;
    weight = fsim_derive_view(d, fsim_derive_cast(d, weight, dtype), &line);
    g = fsim_derive_binary(d, FSIM_OP_MUL, g, weight);
    x = fsim_derive_whole(d, x, &whole, dtype);
    if (g.is == FSIM_REFUSED || x.is == FSIM_REFUSED || index.is != FSIM_TENSOR)
        return FSIM_REFUSAL;
    fsim_step step;
    fsim_derive_start(d, &step, FSIM_OP_INDEX_ADD);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {p->dim}};
    return fsim_derive_end(d, &step, 3, (int[3]){x.tensor, index.tensor, g.tensor});
}

/* Keys's cubic with a = -0.75 of the distance t + shift, where its sign is `sign`: c3 d^3 + c2 d^2 + c1 d + c0. */
static fsim_value cubic(const interpolated *p, fsim_value t, int tap)
{
    static const double inner[] = {1.25, -2.25, 0, 1}, outer[] = {-0.75, 3.75, -6, 3};
    const double *c = tap == 0 || tap == 1 ? inner : outer;
    fsim_derivation *d = p->d;
    fsim_value distance = tap > 0 ? fsim_derive_scaled(d, t, -1) : t;
    distance = with_number(d, FSIM_OP_ADD, distance, tap > 0 ? tap : -tap);
    fsim_value sum = with_number(d, FSIM_OP_ADD, fsim_derive_scaled(d, distance, c[0]), c[1]);
    for (int k = 2; k < 4; k++)
        sum = with_number(d, FSIM_OP_ADD, fsim_derive_binary(d, FSIM_OP_MUL, sum, distance), c[k]);
    return sum;
}

static fsim_value along_axis(const interpolated *p, fsim_value g)
{
    fsim_derivation *d = p->d;
    const int mode = p->r->attrs.mode, first = mode == FSIM_BICUBIC ? -1 : 0, last = mode == FSIM_BICUBIC ? 2 : 1;
    fsim_value sum = FSIM_ZERO;
    if (g.is != FSIM_TENSOR)
        return g;
    if (mode == FSIM_NEAREST)
        return add_at(p, sum, nearest(p), fsim_constant(1), g);
    const fsim_value at = places(p), base = fsim_derive_unary(d, FSIM_OP_FLOOR, at),
                     rest = fsim_derive_binary(d, FSIM_OP_SUB, at, base), from = fsim_derive_cast(d, base, FSIM_I64);
    for (int tap = first; tap <= last && sum.is != FSIM_REFUSED; tap++) {
        const fsim_value weight = mode == FSIM_BICUBIC ? cubic(p, rest, tap)
                                  : tap                ? rest
                                                       : fsim_derive_binary(d, FSIM_OP_SUB, fsim_constant(1), rest);
        sum = add_at(p, sum, clamped(p, with_number(d, FSIM_OP_ADD, from, tap)), weight, g);
    }
    return sum;
}

/* Where each element is repeated a whole number of times: a sum over its repetitions. */
static bool repeats(const fsim_record *r, const fsim_axis *axis, int axes)
{
    for (int i = 0; i < axes; i++)
        if (r->attrs.mode != FSIM_NEAREST || axis[i].out % axis[i].extent ||
            (r->attrs.scale_factor > 0 && r->attrs.scale_factor != (double)(axis[i].out / axis[i].extent)))
            return false;
    return r->shape.rank + axes <= FSIM_MAX_RANK;
}

static fsim_value sum_of_repeats(fsim_derivation *d, const fsim_record *r, const fsim_axis *axis, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, 0)->shape;
    fsim_shape split = {.rank = 2, .dim = {x.dim[0], x.dim[1]}};
    fsim_list dims = {.present = true};
    for (int i = 0; i < x.rank - 2; i++) {
        split.dim[split.rank++] = axis[i].extent;
        dims.at[dims.count++] = split.rank;
        split.dim[split.rank++] = axis[i].out / axis[i].extent;
    }
    return fsim_derive_view(d, fsim_derive_sum(d, fsim_derive_view(d, g, &split), &dims), &x);
}

fsim_value fsim_gradient_interpolate(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_node *n = &d->build->graph->node[r - d->build->record];
    const fsim_dtype dtype = arg_of(d, r, i)->dtype;
    const int axes = n->arg[0].axes;
    fsim_axis axis[3];
    double ratio[3];
    memcpy(axis, n->arg[0].axis, sizeof axis);
    for (int k = 0; k < axes; k++)
        ratio[k] = fsim_interpolation_ratio(n, k);
    fsim_record own = *r;
    own.attrs.scale_factor = n->attrs.scale_factor; /* 0 where no length changes */
    g = fsim_derive_whole(d, g, &r->shape, dtype);
    if (g.is == FSIM_TENSOR && repeats(&own, axis, axes))
        return sum_of_repeats(d, r, axis, g);
    for (int k = axes; k-- > 0;)
        g = along_axis(&(interpolated){d, &own, &axis[k], 2 + k, ratio[k], dtype == FSIM_F64 ? FSIM_F64 : FSIM_F32}, g);
    return g;
}

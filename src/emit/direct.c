/* SPDX-License-Identifier: Apache-2.0 */
/* direct.c: contractions, convolutions and pooling where a thread computes a result in a loop over everything that
 * it sums. */
#include "emit/emit.h"

#include <math.h>
#include <string.h>

static bool is_mean(fsim_op op)
{
    return op == FSIM_OP_MEAN || (op >= FSIM_OP_AVG_POOL1D && op <= FSIM_OP_ADAPTIVE_AVG_POOL3D);
}

static bool is_largest(fsim_op op)
{
    return op == FSIM_OP_MAX || op == FSIM_OP_ARGMAX || (op >= FSIM_OP_MAX_POOL1D && op <= FSIM_OP_MAX_POOL3D) ||
           (op >= FSIM_OP_ADAPTIVE_MAX_POOL1D && op <= FSIM_OP_ADAPTIVE_MAX_POOL3D);
}

static bool is_least(fsim_op op) { return op == FSIM_OP_MIN || op == FSIM_OP_ARGMIN; }

const char *fsim_accumulator_start(fsim_emitter *e, const fsim_node *n, fsim_ctype t)
{
    if (is_largest(n->op) || is_least(n->op))
        return t <= FSIM_C_DOUBLE
                   ? fsim_literal(e, is_largest(n->op) ? -INFINITY : INFINITY, t)
                   : fsim_printf(e->a, "%sFS_MOST%s", is_largest(n->op) ? "-" : "", fsim_ctype_suffix[t]);
    return n->op == FSIM_OP_PROD || n->op == FSIM_OP_CUMPROD ? fsim_literal(e, 1, t) : fsim_literal(e, 0, t);
}

const char *fsim_accumulate(fsim_emitter *e, const fsim_node *n, const char *acc, const char *x, fsim_ctype t)
{
    if (is_largest(n->op) || is_least(n->op))
        return fsim_printf(e->a, "%s = fs_%s%s(%s, %s);", acc, is_largest(n->op) ? "max" : "min", fsim_ctype_suffix[t],
                           acc, x);
    if (n->op == FSIM_OP_PROD || n->op == FSIM_OP_CUMPROD)
        return fsim_printf(e->a, "%s *= %s;", acc, x);
    if (n->op == FSIM_OP_NORM && n->attrs.p == 2)
        return fsim_printf(e->a, "%s += %s * %s;", acc, x, x);
    if (n->op == FSIM_OP_NORM && n->attrs.p == 1)
        return fsim_printf(e->a, "%s += fs_abs%s(%s);", acc, fsim_ctype_suffix[t], x);
    if (n->op == FSIM_OP_NORM)
        return fsim_printf(e->a, "%s += fs_pow%s(fs_abs%s(%s), %s);", acc, fsim_ctype_suffix[t], fsim_ctype_suffix[t],
                           x, fsim_literal(e, n->attrs.p, t));
    return fsim_printf(e->a, "%s += %s;", acc, x);
}

const char *fsim_accumulator_end(fsim_emitter *e, const fsim_node *n, const char *acc, fsim_ctype t)
{
    if (n->op == FSIM_OP_NORM && n->attrs.p != 1)
        return n->attrs.p == 2 ? fsim_printf(e->a, "fs_sqrt%s(%s)", fsim_ctype_suffix[t], acc)
                               : fsim_printf(e->a, "fs_pow%s(%s, %s)", fsim_ctype_suffix[t], acc,
                                             fsim_literal(e, 1 / n->attrs.p, t));
    if (is_mean(n->op) && fsim_ops[n->op].class == FSIM_REDUCE)
        return fsim_printf(e->a, "%s * %s", acc, fsim_literal(e, 1.0 / (double)n->reduced, t));
    return acc;
}

const char *fsim_direct_number(fsim_emitter *e, const fsim_where *w)
{
    const fsim_variable at = fsim_number(e, w);
    const char *name = fsim_fresh(e, "e");
    fsim_say(e, e->depth, "const fs_int %s = %s;", name, at.name);
    return name;
}

/* A place with points for the result's element at w and reduced points for loop variable k. */
static int reducing_base(fsim_emitter *e, const fsim_where *w, int64_t elems, const char *k)
{
    fsim_base b = e->base[w->base];
    if (!fsim_map_is_identity(&w->map) || fsim_map_points(&w->map) != elems || b.reduced) {
        const fsim_where own = fsim_where_var(e, fsim_direct_number(e, w), elems);
        b = e->base[own.base];
    }
    b.reduced = k;
    b.reduced_depth = e->depth + 1;
    return fsim_add_base(e, b);
}

const char *fsim_direct_factor(fsim_emitter *e, const fsim_access *x, const fsim_where *at, fsim_ctype t)
{
    const fsim_variable v = fsim_value(e, x->tensor, at);
    return fsim_ctype_of(e->g->tensor[x->tensor].dtype) == t ? v.name
                                                             : fsim_printf(e->a, "(%s)%s", fsim_ctype_names[t], v.name);
}

static void sum_of_products(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const char *k = fsim_fresh(e, "k");
    const int base = reducing_base(e, w, n->points, k);
    fsim_open(e, "for (fs_int %s = 0; %s < %lld; %s++) {", k, k, (long long)n->reduced, k);
    const fsim_where x = {base, n->arg[0].map}, y = {base, n->arg[1].map};
    const char *left = fsim_direct_factor(e, &n->arg[0], &x, t), *right = fsim_direct_factor(e, &n->arg[1], &y, t);
    fsim_say(e, e->depth, "%s += %s * %s;", acc, left, right);
    fsim_close(e);
}

const char *fsim_direct_coordinates(fsim_emitter *e, const char *element, const int64_t *extent, int axes,
                                    const char **at)
{
    int64_t below = 1;
    for (int i = axes; i-- > 0; below *= extent[i]) {
        at[i] = fsim_fresh(e, "q");
        fsim_say(e, e->depth, "const fs_int %s = %s / %lld %% %lld;", at[i], element, (long long)below,
                 (long long)extent[i]);
    }
    const char *plane = fsim_fresh(e, "q");
    fsim_say(e, e->depth, "const fs_int %s = %s / %lld;", plane, element, (long long)below);
    return plane;
}

/* Opens a loop over the taps of each axis that are inside; `inside` gets the element along each axis. Returns the
 * number of open blocks. */
static int tap_loops(fsim_emitter *e, const fsim_access *x, const char *const *at, bool transposed, const char **inside,
                     const char **tap)
{
    int opened = 0;
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        tap[i] = fsim_fresh(e, "k");
        inside[i] = fsim_fresh(e, "i");
        const bool steps = transposed && a->stride > 1 && a->dilation == 1; /* every stride-th tap meets an element */
        const char *first =
            steps ? fsim_printf(e->a, "(%s + %lld) %% %lld", at[i], (long long)a->pad, (long long)a->stride) : "0";
        fsim_open(e, "for (fs_int %s = %s; %s < %lld; %s += %lld) {", tap[i], first, tap[i], (long long)a->taps, tap[i],
                  steps ? (long long)a->stride : 1);
        if (transposed) {
            const char *far = fsim_fresh(e, "i");
            fsim_say(e, e->depth, "const fs_int %s = %s + %lld - %s * %lld, %s = %s / %lld;", far, at[i],
                     (long long)a->pad, tap[i], (long long)a->dilation, inside[i], far, (long long)a->stride);
            const char *meets =
                steps || a->stride == 1 ? "" : fsim_printf(e->a, " && %s %% %lld == 0", far, (long long)a->stride);
            fsim_open(e, "if (%s >= 0%s && %s < %lld) {", far, meets, inside[i], (long long)a->out);
        } else {
            fsim_say(e, e->depth, "const fs_int %s = %s * %lld + %s * %lld - %lld;", inside[i], at[i],
                     (long long)a->stride, tap[i], (long long)a->dilation, (long long)a->pad);
            fsim_open(e, "if (%s >= 0 && %s < %lld) {", inside[i], inside[i], (long long)a->extent);
        }
        opened += 2;
    }
    return opened;
}

fsim_where fsim_direct_inside(fsim_emitter *e, const fsim_access *x, const char *plane, const char *const *inside,
                              const int64_t *extent)
{
    const char *number = plane, *name = fsim_fresh(e, "e");
    int64_t elems = e->g->tensor[x->tensor].elems;
    for (int i = 0; i < x->axes; i++)
        number = fsim_printf(e->a, "(%s) * %lld + %s", number, (long long)extent[i], inside[i]);
    fsim_say(e, e->depth, "const fs_int %s = %s + %lld;", name, number, (long long)x->map.offset);
    return fsim_where_var(e, name, elems);
}

static void convolution(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const fsim_access *x = &n->arg[0];
    const bool transposed = x->how == FSIM_READ_ONCE;
    const fsim_shape *s = &e->g->tensor[n->result[0]].shape;
    const long long groups = n->gemm.batch, filters = n->gemm.n;
    long long taps = 1, weight_taps = 1;
    int64_t out[3], in[3];
    for (int i = 0; i < x->axes; i++) {
        out[i] = s->dim[s->rank - x->axes + i];
        in[i] = transposed ? x->axis[i].out : x->axis[i].extent;
        weight_taps *= x->axis[i].taps;
    }
    taps = weight_taps;
    const long long per_group = n->gemm.k / taps; /* channels */
    const char *at[3], *inside[3], *tap[3], *element = fsim_direct_number(e, w);
    const char *plane = fsim_direct_coordinates(e, element, out, x->axes, at);
    const char *filter = fsim_fresh(e, "q"), *image = fsim_fresh(e, "q"), *c = fsim_fresh(e, "k");
    fsim_say(e, e->depth, "const fs_int %s = %s %% %lld, %s = %s / %lld;", filter, plane, groups * filters, image,
             plane, groups * filters);
    fsim_open(e, "for (fs_int %s = 0; %s < %lld; %s++) {", c, c, per_group, c);
    const int opened = tap_loops(e, x, (const char *const *)at, transposed, inside, tap);
    const char *channel = fsim_printf(e->a, "%s * %lld + %s / %lld * %lld + %s", image, groups * per_group, filter,
                                      filters, per_group, c);
    const fsim_where there = fsim_direct_inside(e, x, channel, (const char *const *)inside, in);
    const char *number = transposed ? fsim_printf(e->a, "(%s / %lld * %lld + %s) * %lld + %s %% %lld", filter, filters,
                                                  per_group, c, filters, filter, filters)
                                    : fsim_printf(e->a, "%s * %lld + %s", filter, per_group, c);
    for (int i = 0; i < x->axes; i++)
        number = fsim_printf(e->a, "(%s) * %lld + %s", number, (long long)x->axis[i].taps, tap[i]);
    const char *name = fsim_fresh(e, "e");
    fsim_say(e, e->depth, "const fs_int %s = %s + %lld;", name, number, (long long)n->arg[1].map.offset);
    const fsim_where weight = fsim_where_var(e, name, e->g->tensor[n->arg[1].tensor].elems);
    const char *left = fsim_direct_factor(e, x, &there, t), *right = fsim_direct_factor(e, &n->arg[1], &weight, t);
    fsim_say(e, e->depth, "%s += %s * %s;", acc, left, right);
    for (int i = 0; i <= opened; i++)
        fsim_close(e);
}

/* The gradient of a weight: the tap that the result's element is meets a pixel of each window in each image. */
static void weight_gradient(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const fsim_access *x = &n->arg[0], *y = &n->arg[1];
    const fsim_shape *s = &e->g->tensor[n->result[0]].shape;
    const long long channels = s->dim[1], filters = s->dim[0], groups = n->gemm.batch;
    int64_t in[3];
    const char *tap[3], *inside[3], *pixel = "0";
    for (int i = 0; i < x->axes; i++)
        in[i] = x->axis[i].extent;
    const char *plane = fsim_direct_coordinates(e, fsim_direct_number(e, w), s->dim + 2, x->axes, tap);
    const char *filter = fsim_fresh(e, "q"), *channel = fsim_fresh(e, "q"), *image = fsim_fresh(e, "k");
    fsim_say(e, e->depth, "const fs_int %s = %s / %lld, %s = %s / %lld * %lld + %s %% %lld;", filter, plane, channels,
             channel, filter, filters / groups, channels, plane, channels);
    fsim_open(e, "for (fs_int %s = 0; %s < %lld; %s++) {", image, image, (long long)x->planes / (channels * groups),
              image);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        const char *at = fsim_fresh(e, "k");
        inside[i] = fsim_fresh(e, "i");
        fsim_open(e, "for (fs_int %s = 0; %s < %lld; %s++) {", at, at, (long long)a->out, at);
        fsim_say(e, e->depth, "const fs_int %s = %s * %lld + %s * %lld - %lld;", inside[i], at, (long long)a->stride,
                 tap[i], (long long)a->dilation, (long long)a->pad);
        fsim_open(e, "if (%s >= 0 && %s < %lld) {", inside[i], inside[i], (long long)a->extent);
        pixel = fsim_printf(e->a, "(%s) * %lld + %s", pixel, (long long)a->out, at);
    }
    const int64_t pixels = e->g->tensor[y->tensor].elems / (x->planes / (channels * groups) * filters);
    const char *number = fsim_fresh(e, "e");
    fsim_say(e, e->depth, "const fs_int %s = (%s * %lld + %s) * %lld + %s + %lld;", number, image, filters, filter,
             (long long)pixels, pixel, (long long)y->map.offset);
    const fsim_where result = fsim_where_var(e, number, e->g->tensor[y->tensor].elems);
    const char *from = fsim_printf(e->a, "(%s * %lld + %s)", image, channels * groups, channel);
    const fsim_where there = fsim_direct_inside(e, x, from, (const char *const *)inside, in);
    const char *left = fsim_direct_factor(e, x, &there, t), *right = fsim_direct_factor(e, y, &result, t);
    fsim_say(e, e->depth, "%s += %s * %s;", acc, left, right);
    for (int i = 0; i <= 2 * x->axes; i++)
        fsim_close(e);
}

/* Adds a window's element to the accumulator. */
static void take(fsim_emitter *e, const fsim_node *n, const fsim_where *there, const char *acc, fsim_ctype t)
{
    const char *x = fsim_direct_factor(e, &n->arg[0], there, t);
    fsim_say(e, e->depth, "%s", fsim_accumulate(e, n, acc, x, t));
}

static void pooled(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const fsim_access *x = &n->arg[0];
    int64_t out[3], in[3];
    double window = 1;
    for (int i = 0; i < x->axes; i++) {
        out[i] = x->axis[i].out;
        in[i] = x->axis[i].extent;
        window *= (double)x->axis[i].taps;
    }
    const char *at[3], *inside[3], *tap[3], *element = fsim_direct_number(e, w);
    const char *plane = fsim_direct_coordinates(e, element, out, x->axes, at);
    const int opened = tap_loops(e, x, (const char *const *)at, false, inside, tap);
    const fsim_where there = fsim_direct_inside(e, x, plane, (const char *const *)inside, in);
    take(e, n, &there, acc, t);
    for (int i = 0; i < opened; i++)
        fsim_close(e);
    if (is_mean(n->op))
        fsim_say(e, e->depth, "%s *= %s;", acc, fsim_literal(e, 1 / window, t));
}

/* Output o of an axis takes elements floor(o * extent / out) to ceil((o + 1) * extent / out). */
static void adaptive(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const fsim_access *x = &n->arg[0];
    int64_t out[3], in[3];
    const char *at[3], *inside[3], *element, *count = "1";
    for (int i = 0; i < x->axes; i++) {
        out[i] = x->axis[i].out;
        in[i] = x->axis[i].extent;
    }
    element = fsim_direct_number(e, w);
    const char *plane = fsim_direct_coordinates(e, element, out, x->axes, at);
    for (int i = 0; i < x->axes; i++) {
        const char *from = fsim_fresh(e, "i"), *end = fsim_fresh(e, "i");
        inside[i] = fsim_fresh(e, "i");
        fsim_say(e, e->depth, "const fs_int %s = %s * %lld / %lld, %s = ((%s + 1) * %lld + %lld) / %lld;", from, at[i],
                 (long long)in[i], (long long)out[i], end, at[i], (long long)in[i], (long long)(out[i] - 1),
                 (long long)out[i]);
        count = fsim_printf(e->a, "%s * (%s - %s)", count, end, from);
        at[i] = fsim_printf(e->a, "for (fs_int %s = %s; %s < %s; %s++) {", inside[i], from, inside[i], end, inside[i]);
    }
    for (int i = 0; i < x->axes; i++)
        fsim_open(e, "%s", at[i]);
    const fsim_where there = fsim_direct_inside(e, x, plane, (const char *const *)inside, in);
    take(e, n, &there, acc, t);
    for (int i = 0; i < x->axes; i++)
        fsim_close(e);
    if (is_mean(n->op))
        fsim_say(e, e->depth, "%s /= (%s)(%s);", acc, fsim_ctype_names[t], count);
}

/* The element along axis i that lies nearest to output `at`. */
static const char *nearest_to(fsim_emitter *e, const fsim_node *n, int i, const char *at)
{
    const fsim_axis *a = &n->arg[0].axis[i];
    const double f = n->attrs.scale_factor;
    if (f > 0 && f == floor(f))
        return fsim_printf(e->a, "%s / %lld", at, (long long)f);
    if (f > 0)
        return fsim_printf(e->a, "(fs_int)fs_mind((double)%s * %s, %lld)", at, fsim_literal(e, 1 / f, FSIM_C_DOUBLE),
                           (long long)(a->extent - 1));
    return fsim_printf(e->a, "(fs_int)((fs_i64)%s * %lld / %lld)", at, (long long)a->extent, (long long)a->out);
}

/* Where output `at` lies among the elements along axis i, as a number of type t; cubic windows reach beyond them. */
static const char *place_of(fsim_emitter *e, const fsim_node *n, int i, const char *at, fsim_ctype t)
{
    const fsim_axis *a = &n->arg[0].axis[i];
    const char *type = fsim_ctype_names[t], *ratio = fsim_literal(e, fsim_interpolation_ratio(n, i), t);
    if (n->attrs.align_corners && n->attrs.mode == FSIM_BICUBIC)
        return fsim_printf(e->a, "(%s)%s * %s", type, at, ratio);
    if (n->attrs.align_corners)
        return fsim_printf(e->a, "fs_min%s((%s)%s * %s, %lld)", fsim_ctype_suffix[t], type, at, ratio,
                           (long long)(a->extent - 1));
    const char *half = fsim_literal(e, 0.5, t);
    if (n->attrs.mode == FSIM_BICUBIC)
        return fsim_printf(e->a, "((%s)%s + %s) * %s - %s", type, at, half, ratio, half);
    return fsim_printf(e->a, "fs_min%s(fs_max%s(((%s)%s + %s) * %s - %s, 0), %lld)", fsim_ctype_suffix[t],
                       fsim_ctype_suffix[t], type, at, half, ratio, half, (long long)(a->extent - 1));
}

/* Opens a loop over the neighbours of the place of output `at` along axis i, whose number is then in `inside`. Returns
 * the neighbour's weight, as a factor to append. */
static const char *neighbours(fsim_emitter *e, const fsim_node *n, int i, const char *at, const char *inside,
                              fsim_ctype t)
{
    const char *place = fsim_fresh(e, "s"), *first = fsim_fresh(e, "i"), *tap = fsim_fresh(e, "k"),
               *type = fsim_ctype_names[t], *s = fsim_ctype_suffix[t];
    const long long last = (long long)n->arg[0].axis[i].extent - 1;
    const bool cubic = n->attrs.mode == FSIM_BICUBIC;
    fsim_say(e, e->depth, "const %s %s = %s;", type, place, place_of(e, n, i, at, t));
    if (cubic) {
        fsim_say(e, e->depth, "const fs_int %s = (fs_int)fs_floor%s(%s);", first, s, place);
        fsim_open(e, "for (fs_int %s = -1; %s < 3; %s++) {", tap, tap, tap);
        fsim_say(e, e->depth, "const fs_int %s = fs_mini(fs_maxi((int)(%s + %s), 0), %lld);", inside, first, tap, last);
        return fsim_printf(e->a, " * fs_cubic%s(%s - (%s)(%s + %s))", s, place, type, first, tap);
    }
    fsim_say(e, e->depth, "const fs_int %s = (fs_int)%s;", first, place);
    fsim_open(e, "for (fs_int %s = 0; %s < 2; %s++) {", tap, tap, tap);
    fsim_say(e, e->depth, "const fs_int %s = %s + %s <= %lld ? %s + %s : %s;", inside, first, tap, last, first, tap,
             first);
    return fsim_printf(e->a, " * (%s ? %s - (%s)%s : 1 - (%s - (%s)%s))", tap, place, type, first, place, type, first);
}

/* Interpolation: one element, or two or four along each axis, by their distances. */
static void interpolated(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const fsim_access *x = &n->arg[0];
    const bool nearest = n->attrs.mode == FSIM_NEAREST;
    int64_t out[3], in[3];
    const char *at[3], *inside[3], *weight = "", *element = fsim_direct_number(e, w);
    for (int i = 0; i < x->axes; i++) {
        out[i] = x->axis[i].out;
        in[i] = x->axis[i].extent;
    }
    const char *plane = fsim_direct_coordinates(e, element, out, x->axes, at);
    for (int i = 0; i < x->axes; i++) {
        inside[i] = fsim_fresh(e, "i");
        if (nearest)
            fsim_say(e, e->depth, "const fs_int %s = %s;", inside[i], nearest_to(e, n, i, at[i]));
        else
            weight = fsim_printf(e->a, "%s%s", weight, neighbours(e, n, i, at[i], inside[i], t));
    }
    const fsim_where there = fsim_direct_inside(e, x, plane, (const char *const *)inside, in);
    fsim_say(e, e->depth, "%s += %s%s;", acc, fsim_direct_factor(e, x, &there, t), weight);
    for (int i = 0; i < x->axes && !nearest; i++)
        fsim_close(e);
}

fsim_variable fsim_direct_sum(fsim_emitter *e, const fsim_node *n, const fsim_where *w)
{
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    const char *acc = fsim_fresh(e, "a");
    fsim_say(e, e->depth, "%s %s = %s; /* %s */", fsim_ctype_names[t], acc, fsim_accumulator_start(e, n, t), n->name);
    if (n->op == FSIM_OP_INTERPOLATE)
        interpolated(e, n, w, acc, t);
    else if (n->op >= FSIM_OP_AVG_POOL_GRAD && n->op <= FSIM_OP_FOLD)
        fsim_direct_back(e, n, w, acc, t);
    else if (fsim_ops[n->op].class == FSIM_WINDOW && n->arg[0].how == FSIM_READ_ONCE)
        adaptive(e, n, w, acc, t);
    else if (fsim_ops[n->op].class == FSIM_WINDOW)
        pooled(e, n, w, acc, t);
    else if (fsim_is_weight_gradient(n->op))
        weight_gradient(e, n, w, acc, t);
    else if (n->gemm.convolution)
        convolution(e, n, w, acc, t);
    else
        sum_of_products(e, n, w, acc, t);
    return (fsim_variable){acc, e->depth};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c: reductions, windows and contractions. */
#include "validate/reference/interpret.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A reduction being computed, of any kind. */
typedef struct {
    fsim_sum sum;
    double product, off;                  /* of a product: its value, and its bound */
    double best, bound, rival, high, low; /* of max (min negates terms). rival: the largest value that another term may
                                             have; high, low: bounds of the result */
    int64_t at, terms;
} running;

static running start(void)
{
    return (running){
        .product = 1, .best = -INFINITY, .rival = -INFINITY, .high = -INFINITY, .low = -INFINITY, .at = -1};
}

typedef enum { OTHER, SUM, PROD, NORM, MAX, MIN, MAX_AT, MIN_AT } reduction; /* _AT: its index */
static const reduction kinds[FSIM_OP_COUNT] = {
    [FSIM_OP_SUM] = SUM,
    [FSIM_OP_MEAN] = SUM,
    [FSIM_OP_PROD] = PROD,
    [FSIM_OP_NORM] = NORM,
    [FSIM_OP_MAX] = MAX,
    [FSIM_OP_MIN] = MIN,
    [FSIM_OP_ARGMAX] = MAX_AT,
    [FSIM_OP_ARGMIN] = MIN_AT,
    [FSIM_OP_MAX_POOL1D] = MAX,
    [FSIM_OP_MAX_POOL2D] = MAX,
    [FSIM_OP_MAX_POOL3D] = MAX,
    [FSIM_OP_ADAPTIVE_MAX_POOL1D] = MAX,
    [FSIM_OP_ADAPTIVE_MAX_POOL2D] = MAX,
    [FSIM_OP_ADAPTIVE_MAX_POOL3D] = MAX,
    [FSIM_OP_AVG_POOL1D] = SUM,
    [FSIM_OP_AVG_POOL2D] = SUM,
    [FSIM_OP_AVG_POOL3D] = SUM,
    [FSIM_OP_ADAPTIVE_AVG_POOL1D] = SUM,
    [FSIM_OP_ADAPTIVE_AVG_POOL2D] = SUM,
    [FSIM_OP_ADAPTIVE_AVG_POOL3D] = SUM,
};

static bool is_min(reduction kind) { return kind == MIN || kind == MIN_AT; }

static void add_extreme(running *r, double v, double b)
{
    if (r->at < 0 || v > r->best || (isnan(v) && !isnan(r->best))) {
        r->rival = fmax(r->rival, r->best + r->bound);
        r->best = v;
        r->bound = b;
        r->at = r->terms;
    } else {
        r->rival = fmax(r->rival, v + b);
    }
    r->high = fmax(r->high, v + b);
    r->low = fmax(r->low, v - b);
}

static void add_power(running *r, double p, double v, double own, double shared)
{
    const double a = fabs(v);
    if (p == 2) {
        fsim_sum_add(&r->sum, v * v, 2 * a * own + own * own, shared > 0 ? (2 * a + shared + 2 * own) * shared : 0);
    } else if (p == 1) {
        fsim_sum_add(&r->sum, a, own, shared);
    } else {
        const double t = pow(a, p), off = own + shared == 0
                                              ? 0
                                              : fmax(fsim_difference(pow(a + own + shared, p), t),
                                                     fsim_difference(pow(fmax(a - own - shared, 0), p), t));
        fsim_sum_add(&r->sum, t, own > 0 ? off : 0, own > 0 ? 0 : off);
    }
}

static void multiply_by(running *r, const fsim_operand *x, double v, double b)
{
    const double unit = fsim_arithmetic_unit(x->dtype),
                 least = unit < 0x1p-50 ? 0x1p-1074
                                        : 0x1p-149; /* a subnormal product is a multiple of the smallest number */
    r->off = fabs(r->product) * b + (fabs(v) + b) * r->off +
             (fsim_dtype_floating(x->dtype) ? 2 * unit * fabs(r->product * v) + (r->terms > 0 ? least : 0) : 0);
    r->product *= v;
}

static void add_term(running *r, const fsim_node *n, const fsim_operand *x, int64_t i)
{
    const double v = x->value[i], b = x->dtype == FSIM_BOOL && isinf(x->bound[i]) ? 1 : x->bound[i],
                 shared = fmin(x->shared[i], b);
    const double own = isinf(b) ? b : b - shared;
    switch (kinds[n->op]) {
    case MAX:
    case MAX_AT:
        add_extreme(r, v, b);
        break;
    case MIN:
    case MIN_AT:
        add_extreme(r, -v, b);
        break;
    case PROD:
        multiply_by(r, x, v, b);
        break;
    case NORM:
        if (isinf(n->attrs.p))
            add_extreme(r, fabs(v), b);
        else
            add_power(r, n->attrs.p, v, own, shared);
        break;
    case SUM:
        fsim_sum_add(&r->sum, v, own, shared);
        break;
    case OTHER:
        assert(false); /* reference.c never calls this for others */
    }
    r->terms++;
}

static void put_extreme(const fsim_interpreter *in, const fsim_node *n, const fsim_operand *x, const running *r,
                        int64_t p)
{
    const reduction kind = kinds[n->op];
    const double v = is_min(kind) ? -r->best : r->best,
                 b = fmax(fsim_difference(r->high, r->best), fsim_difference(r->low, r->best));
    const bool index = kind == MAX_AT || kind == MIN_AT;
    const double loose = r->terms > 1 && !(r->rival < r->best - r->bound)
                             ? INFINITY
                             : 0; /* equal terms too: their order is not specified */
    if (index)
        fsim_set_result(in, n->result[0], p, (double)r->at, (fsim_doubt){loose, 0, 0});
    else
        fsim_set_result(in, n->result[0], p, v, (fsim_doubt){b, 0, fsim_unit(x->dtype)});
    if (n->results > 1)
        fsim_set_result(in, n->result[1], p, (double)r->at, (fsim_doubt){loose, 0, 0});
}

static void put_sum(const fsim_interpreter *in, const fsim_node *n, const fsim_operand *x, const running *r, int64_t p,
                    double divisor)
{
    const bool floating = fsim_dtype_floating(in->g->tensor[n->result[0]].dtype), divides = divisor != 1;
    const double unit = fsim_arithmetic_unit(x->dtype), v = r->sum.value / divisor;
    const double own = fsim_sum_own(&r->sum), shared = r->sum.shared;
    const double rounding =
        !floating ? 0 : fsim_sum_rounding(&r->sum, unit) / divisor + (divides ? 2 * unit * fabs(v) : 0);
    const bool alone = r->sum.terms == 1 && !divides; /* a single term is copied */
    fsim_set_result(
        in, n->result[0], p, v,
        (fsim_doubt){(own + shared) / divisor + rounding, 0, alone ? fmax(unit, fsim_unit(x->dtype)) : unit});
}

static void put_norm(const fsim_interpreter *in, const fsim_node *n, const fsim_operand *x, const running *r, int64_t p)
{
    const double unit = fsim_arithmetic_unit(x->dtype), s = r->sum.value, power = n->attrs.p,
                 root = power == 2   ? sqrt(s)
                        : power == 1 ? s
                                     : pow(s, 1 / power);
    const double b = fsim_sum_own(&r->sum) + r->sum.shared + fsim_sum_rounding(&r->sum, unit) +
                     (power == 2 || power == 1 ? 1 : 16 * power) * unit * s;
    const double low = fmax(s - b, 0), high = s + b;
    const double off = power == 2   ? fmax(sqrt(high) - root, root - sqrt(low))
                       : power == 1 ? b
                                    : fmax(pow(high, 1 / power) - root, root - pow(low, 1 / power));
    fsim_set_result(in, n->result[0], p, root,
                    (fsim_doubt){off + (power == 2   ? 3
                                        : power == 1 ? 0
                                                     : 16) *
                                           unit * root,
                                 0, unit});
}

static void put_result(const fsim_interpreter *in, const fsim_node *n, const fsim_operand *x, const running *r,
                       int64_t p, double divisor)
{
    switch (kinds[n->op]) {
    case MAX:
    case MAX_AT:
    case MIN:
    case MIN_AT:
        put_extreme(in, n, x, r, p);
        break;
    case PROD:
        fsim_set_result(in, n->result[0], p, r->product, (fsim_doubt){r->off, 0, fsim_arithmetic_unit(x->dtype)});
        break;
    case NORM:
        isinf(n->attrs.p) ? put_extreme(in, n, x, r, p) : put_norm(in, n, x, r, p);
        break;
    case SUM:
        put_sum(in, n, x, r, p, divisor);
        break;
    case OTHER:
        assert(false);
    }
}

/* Offsets of a map's reduced points, in order. */
static int64_t *reduced_offsets(const fsim_map *m)
{
    const int64_t count = fsim_map_reduced(m);
    int64_t *at = fsim_memory(count, sizeof *at);
    fsim_cursor c = {.modes = m->modes - m->split, .mode = m->mode + m->split};
    for (int64_t r = 0; r < count; r++) {
        at[r] = c.at;
        fsim_step(&c);
    }
    return at;
}

void fsim_interpret_reduction(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]);
    int64_t *offset = reduced_offsets(&n->arg[0].map);
    fsim_cursor at = fsim_cursor_of(&n->arg[0].map);
    for (int64_t p = 0; p < n->points; p++) {
        running r = start();
        for (int64_t k = 0; k < n->reduced; k++)
            add_term(&r, n, &x, at.at + offset[k]);
        put_result(in, n, &x, &r, p, n->op == FSIM_OP_MEAN ? (double)n->reduced : 1);
        fsim_step(&at);
    }
    free(offset);
}

/* Windows always have three axes; outer ones have extent 1 where there are fewer. */

static void three_axes(const fsim_access *x, fsim_axis *axis)
{
    for (int i = 0; i < 3; i++)
        axis[i] = i < 3 - x->axes ? (fsim_axis){1, 1, 1, 1, 1, 0} : x->axis[i - (3 - x->axes)];
}

/* The element that output o of an axis reads with tap k; -1: none. back: for a transposed convolution, where
 * axis->extent is the number of outputs. */
static int64_t element_at(const fsim_axis *x, int64_t o, int64_t k, bool back)
{
    if (!back) {
        const int64_t at = o * x->stride + k * x->dilation - x->pad;
        return at < 0 || at >= x->extent ? -1 : at;
    }
    const int64_t at = o + x->pad - k * x->dilation;
    return at < 0 || at % x->stride != 0 || at / x->stride >= x->out ? -1 : at / x->stride;
}

typedef struct {
    int64_t element, tap;
} meeting;

/* The elements of a plane that a window reads; at most one for each tap. */
static int64_t meet(const fsim_axis *axis, const int64_t *o, bool back, meeting *out)
{
    int64_t count = 0, inner[3] = {0, back ? axis[1].out : axis[1].extent, back ? axis[2].out : axis[2].extent};
    for (int64_t i = 0; i < axis[0].taps; i++) {
        const int64_t x = element_at(&axis[0], o[0], i, back);
        for (int64_t j = 0; j < axis[1].taps && x >= 0; j++) {
            const int64_t y = element_at(&axis[1], o[1], j, back);
            for (int64_t k = 0; k < axis[2].taps && y >= 0; k++) {
                const int64_t z = element_at(&axis[2], o[2], k, back);
                if (z >= 0)
                    out[count++] =
                        (meeting){(x * inner[1] + y) * inner[2] + z, (i * axis[1].taps + j) * axis[2].taps + k};
            }
        }
    }
    return count;
}

static void pool_adaptively(const fsim_interpreter *in, const fsim_node *n, const fsim_operand *x,
                            const fsim_axis *axis)
{
    const int64_t out = axis[0].out * axis[1].out * axis[2].out,
                  elements = axis[0].extent * axis[1].extent * axis[2].extent, offset = n->arg[0].map.offset;
    for (int64_t p = 0; p < n->points; p++) {
        int64_t from[3], to[3], rest = p % out;
        running r = start();
        for (int i = 3; i-- > 0; rest /= axis[i].out) {
            const int64_t o = rest % axis[i].out;
            from[i] = o * axis[i].extent / axis[i].out;
            to[i] = ((o + 1) * axis[i].extent + axis[i].out - 1) / axis[i].out;
        }
        for (int64_t i = from[0]; i < to[0]; i++)
            for (int64_t j = from[1]; j < to[1]; j++)
                for (int64_t k = from[2]; k < to[2]; k++)
                    add_term(&r, n, x, offset + p / out * elements + (i * axis[1].extent + j) * axis[2].extent + k);
        put_result(in, n, x, &r, p, (double)r.terms);
    }
}

/* The place among x's elements along axis i of output o, by PyTorch's definition. */
static double place_along(const fsim_node *n, int i, int64_t o)
{
    const double f = n->attrs.scale_factor, in = (double)n->arg[0].axis[i].extent, out = (double)n->arg[0].axis[i].out;
    const double step = f > 0 ? 1 / f : in / out;
    if (n->attrs.mode == FSIM_NEAREST)
        return fmin(f > 0 && f != floor(f) ? floor((double)o * step)
                    : f > 0                ? floor((double)o / f)
                                           : floor((double)o * in / out),
                    in - 1);
    const double at =
        n->attrs.align_corners ? (out > 1 ? (double)o * (in - 1) / (out - 1) : 0) : ((double)o + 0.5) * step - 0.5;
    return n->attrs.mode == FSIM_BICUBIC ? at : fmin(fmax(at, 0), in - 1);
}

/* What a neighbour at this distance counts: Keys's cubic with a = -0.75, or linear. */
static double weight_at(const fsim_node *n, double distance)
{
    const double d = fabs(distance), a = -0.75;
    if (n->attrs.mode == FSIM_NEAREST)
        return 1;
    if (n->attrs.mode != FSIM_BICUBIC)
        return 1 - d;
    return d <= 1  ? (a + 2) * pow(d, 3) - (a + 3) * d * d + 1
           : d < 2 ? a * pow(d, 3) - 5 * a * d * d + 8 * a * d - 4 * a
                   : 0;
}

/* A weighted sum of the elements around each place, two or four along each axis; with `nearest` of the one at it. The
 * places are rounded: an error of a few units in the length of the axis, times the difference of the elements. */
void fsim_interpret_interpolate(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]);
    const fsim_access *from = &n->arg[0];
    const bool cubic = n->attrs.mode == FSIM_BICUBIC;
    const int axes = from->axes,
              each = n->attrs.mode == FSIM_NEAREST ? 1
                     : cubic                       ? 4
                                                   : 2,
              taps = axes == 1   ? each
                     : axes == 2 ? each * each
                                 : each * each * each;
    const double unit = fsim_arithmetic_unit(n->dtype);
    int64_t pixels = 1, elements = 1;
    double longest = 1;
    for (int i = 0; i < axes; i++) {
        pixels *= from->axis[i].out;
        elements *= from->axis[i].extent;
        longest = fmax(longest, (double)from->axis[i].extent);
    }
    for (int64_t p = 0; p < in->g->tensor[n->result[0]].elems; p++) {
        double place[3] = {0}, most = 0;
        fsim_sum sum = {0};
        for (int64_t i = axes, rest = p % pixels; i-- > 0; rest /= from->axis[i].out)
            place[i] = place_along(n, (int)i, rest % from->axis[i].out);
        for (int k = 0; k < taps; k++) {
            int64_t at = 0;
            double weight = 1;
            for (int i = 0, rest = k; i < axes; i++, rest /= each) {
                const double tap = floor(place[i]) + rest % each - cubic;
                at = at * from->axis[i].extent + (int64_t)fmin(fmax(tap, 0), (double)from->axis[i].extent - 1);
                weight *= weight_at(n, place[i] - tap);
            }
            const int64_t e = from->map.offset + p / pixels * elements + at;
            const double shared = fmin(x.shared[e], x.bound[e]), own = x.bound[e] - shared;
            most = fmax(most, fabs(x.value[e]) + x.bound[e]);
            fsim_sum_add(&sum, weight * x.value[e], weight != 0 || isinf(own) ? fmax(fabs(weight), 0x1p-20) * own : 0,
                         fabs(weight) * shared);
        }
        const double rounding = taps > 1 ? (8 + 8 * axes * longest) * unit * most : 0;
        fsim_set_result(
            in, n->result[0], p, sum.value,
            (fsim_doubt){fsim_sum_own(&sum) + rounding, sum.shared, taps > 1 ? unit : fmax(unit, fsim_unit(x.dtype))});
    }
}

void fsim_interpret_window(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]);
    fsim_axis axis[3];
    three_axes(&n->arg[0], axis);
    if (n->arg[0].how != FSIM_READ_WINDOW) {
        pool_adaptively(in, n, &x, axis);
        return;
    }
    const int64_t taps = axis[0].taps * axis[1].taps * axis[2].taps, pixels = axis[0].out * axis[1].out * axis[2].out;
    const int64_t elements = axis[0].extent * axis[1].extent * axis[2].extent;
    meeting *at = fsim_memory(taps, sizeof *at);
    for (int64_t o = 0; o < pixels; o++) {
        const int64_t count =
            meet(axis, (int64_t[]){o / (axis[1].out * axis[2].out), o / axis[2].out % axis[1].out, o % axis[2].out},
                 false, at);
        for (int64_t plane = 0; plane < n->arg[0].planes; plane++) {
            running r = start();
            for (int64_t k = 0; k < count; k++)
                add_term(&r, n, &x, n->arg[0].map.offset + plane * elements + at[k].element);
            put_result(in, n, &x, &r, plane * pixels + o,
                       (double)taps); /* a mean counts padding, as in PyTorch by default */
        }
    }
    free(at);
}

/* Contractions. */

/* An element of a product's operand: its bound; the shared part of it. */
typedef struct {
    double bound, shared;
} doubt;

typedef struct {
    const double *value;
    doubt *doubt;     /* NULL: exact */
    double *narrowed; /* the values, in a sample */
} factor;

/* An error that elements have in common either adds to all of them or scales all of them. Its sign counts, because
 * the other operand's signs may cancel it. */
typedef struct {
    double value, squares, quadratic, added[2], scaled[2]; /* added, scaled: per operand; */
    double last[2], run[2];                                /* its last element, and the sum of what equal ones add */
} dot;

static factor factor_of(const fsim_interpreter *in, const fsim_node *n, const fsim_access *x)
{
    const fsim_operand o = fsim_operand_of(in, n, x);
    const int64_t elems = in->g->tensor[x->tensor].elems;
    const fsim_dtype arithmetic = n->gemm.arithmetic;
    const double unit = fsim_unit(o.dtype);
    const double narrow = fsim_unit(arithmetic) > unit && fsim_dtype_floating(o.dtype)
                              ? 2 * fsim_unit(arithmetic)
                              : 0; /* tensor units truncate to TF32 */
    bool exact = narrow == 0;
    for (int64_t i = 0; i < elems && exact; i++)
        exact = o.bound[i] == 0;
    factor f = {o.value, NULL, NULL};
    if (in->exact && narrow > 0) {
        f.value = f.narrowed = fsim_memory(elems, sizeof *f.narrowed);
        for (int64_t i = 0; i < elems; i++)
            f.narrowed[i] = fsim_narrowed(arithmetic, o.value[i]);
        return f;
    }
    if (exact || in->exact)
        return f;
    f.doubt = fsim_memory(elems, sizeof *f.doubt);
    for (int64_t i = 0; i < elems; i++) {
        const double v = fabs(o.value[i]), own = isinf(o.bound[i]) ? INFINITY : o.bound[i] - o.shared[i];
        f.doubt[i] = (doubt){5 * own + narrow * v + o.shared[i], o.shared[i]};
    }
    return f;
}

/* Adds the bound of operand k's element `at`, times what it is multiplied with. */
static inline void add_doubt(dot *d, int k, double at, double bound)
{
    d->run[k] = at == d->last[k] ? d->run[k] : 0;
    d->quadratic += bound * (2 * d->run[k] + bound); /* of the square of the run's sum */
    d->run[k] += bound;
    d->last[k] = at;
}

static inline void multiply(dot *d, const factor *a, int64_t i, const factor *b, int64_t j)
{
    const double x = a->value[i], y = b->value[j], xy = x * y;
    d->value += xy;
    d->squares += xy * xy;
    if (a->doubt)
        add_doubt(d, 0, x, y * a->doubt[i].bound);
    if (b->doubt)
        add_doubt(d, 1, y, x * b->doubt[j].bound);
    if (a->doubt && b->doubt)
        d->quadratic += a->doubt[i].bound * a->doubt[i].bound * b->doubt[j].bound * b->doubt[j].bound;
    if (a->doubt && a->doubt[i].shared != 0) {
        d->added[0] += y * a->doubt[i].shared;
        d->scaled[0] += x < 0 ? -y * a->doubt[i].shared : y * a->doubt[i].shared;
    }
    if (b->doubt && b->doubt[j].shared != 0) {
        d->added[1] += x * b->doubt[j].shared;
        d->scaled[1] += y < 0 ? -x * b->doubt[j].shared : x * b->doubt[j].shared;
    }
}

static void put_dot(const fsim_interpreter *in, const fsim_node *n, const dot *d, int64_t terms, int64_t p)
{
    const fsim_dtype arithmetic = n->gemm.arithmetic;
    const bool integer = !fsim_dtype_floating(in->g->tensor[n->result[0]].dtype);
    const double unit = integer                  ? 0
                        : arithmetic == FSIM_F64 ? 0x1p-53
                        : arithmetic == FSIM_F32 ? 0x1p-24
                                                 : 0x1p-23; /* tensor units truncate when they add */
    const double partial = fmax(fabs(d->value), 4 * sqrt(d->squares));
    const double bias = integer || arithmetic == FSIM_F64 || arithmetic == FSIM_F32
                            ? 0
                            : 4 * fmax(0, fsim_unit(arithmetic) - fsim_unit(in->g->tensor[n->result[0]].dtype));
    const double shared = fmax(fabs(d->added[0]), fabs(d->scaled[0])) + fmax(fabs(d->added[1]), fabs(d->scaled[1]));
    const double own = sqrt(d->quadratic < 0 ? 0 : d->quadratic) + shared +
                       (d->value != 0 || d->squares != 0
                            ? 4 * fsim_sum_error(arithmetic, unit, terms) * partial + bias * fabs(d->value)
                            : 0);
    fsim_set_result(in, n->result[0], p, d->value, (fsim_doubt){own, 0, unit});
}

static void contract_maps(const fsim_interpreter *in, const fsim_node *n, const factor *a, const factor *b)
{
    int64_t *x = reduced_offsets(&n->arg[0].map), *y = reduced_offsets(&n->arg[1].map);
    fsim_cursor i = fsim_cursor_of(&n->arg[0].map), j = fsim_cursor_of(&n->arg[1].map);
    for (int64_t p = 0; p < n->points; p++) {
        dot d = {0};
        if (!a->doubt && !b->doubt) {
            const double *u = a->value + i.at, *v = b->value + j.at;
            for (int64_t k = 0; k < n->reduced; k++) {
                const double uv = u[x[k]] * v[y[k]];
                d.value += uv;
                d.squares += uv * uv;
            }
        } else {
            for (int64_t k = 0; k < n->reduced; k++)
                multiply(&d, a, i.at + x[k], b, j.at + y[k]);
        }
        put_dot(in, n, &d, n->reduced, p);
        fsim_step(&i);
        fsim_step(&j);
    }
    free(x);
    free(y);
}

static void convolve(const fsim_interpreter *in, const fsim_node *n, const factor *a, const factor *b)
{
    const bool back = n->op >= FSIM_OP_CONV_TRANSPOSE1D;
    fsim_axis axis[3];
    three_axes(&n->arg[0], axis);
    const int64_t taps = axis[0].taps * axis[1].taps * axis[2].taps, groups = n->gemm.batch, filters = n->gemm.n,
                  channels = n->gemm.k / taps; /* of a group */
    const int64_t side[3] = {back ? axis[0].extent : axis[0].out, back ? axis[1].extent : axis[1].out,
                             back ? axis[2].extent : axis[2].out};
    const int64_t pixels = side[0] * side[1] * side[2];
    const int64_t elements =
        back ? axis[0].out * axis[1].out * axis[2].out : axis[0].extent * axis[1].extent * axis[2].extent;
    const int64_t batch = n->arg[0].planes / (channels * groups), x0 = n->arg[0].map.offset, w0 = n->arg[1].map.offset;
    meeting *at = fsim_memory(taps, sizeof *at);
    for (int64_t o = 0; o < pixels; o++) {
        const int64_t count =
            meet(axis, (int64_t[]){o / (side[1] * side[2]), o / side[2] % side[1], o % side[2]}, back, at);
        for (int64_t q = 0; q < batch * groups * filters; q++) {
            const int64_t f = q % filters, g = q / filters % groups, image = q / filters / groups;
            dot d = {0};
            for (int64_t c = 0; c < channels; c++) {
                const int64_t plane = x0 + ((image * groups + g) * channels + c) * elements;
                const int64_t weight =
                    w0 + (back ? (g * channels + c) * filters + f : (g * filters + f) * channels + c) * taps;
                for (int64_t k = 0; k < count; k++)
                    multiply(&d, a, plane + at[k].element, b, weight + at[k].tap);
            }
            put_dot(in, n, &d, channels * count, q * pixels + o);
        }
    }
    free(at);
}

/* The gradient of a convolution's weight: for each tap of each filter, the products over images and pixels. */
static void convolve_weight(const fsim_interpreter *in, const fsim_node *n, const factor *x, const factor *grad)
{
    fsim_axis axis[3];
    three_axes(&n->arg[0], axis);
    const fsim_shape *s = &in->g->tensor[n->result[0]].shape;
    const int64_t filters = s->dim[0], channels = s->dim[1], groups = n->gemm.batch,
                  batch = n->arg[0].planes / (channels * groups), tap1 = axis[1].taps, tap2 = axis[2].taps,
                  elements = axis[0].extent * axis[1].extent * axis[2].extent,
                  pixels = axis[0].out * axis[1].out * axis[2].out;
    for (int64_t p = 0; p < n->points; p++) {
        const int64_t tap = p % (axis[0].taps * tap1 * tap2), c = p / (axis[0].taps * tap1 * tap2) % channels,
                      f = p / (axis[0].taps * tap1 * tap2) / channels, plane = f / (filters / groups) * channels + c;
        int64_t terms = 0;
        dot d = {0};
        for (int64_t image = 0; image < batch; image++)
            for (int64_t o = 0; o < pixels; o++) {
                const int64_t z = element_at(&axis[0], o / (axis[1].out * axis[2].out), tap / (tap1 * tap2), false),
                              y = element_at(&axis[1], o / axis[2].out % axis[1].out, tap / tap2 % tap1, false),
                              w = element_at(&axis[2], o % axis[2].out, tap % tap2, false);
                if (z < 0 || y < 0 || w < 0)
                    continue;
                terms++;
                multiply(&d, x,
                         n->arg[0].map.offset + (image * channels * groups + plane) * elements +
                             (z * axis[1].extent + y) * axis[2].extent + w,
                         grad, n->arg[1].map.offset + (image * filters + f) * pixels + o);
            }
        put_dot(in, n, &d, terms, p);
    }
}

void fsim_interpret_contraction(const fsim_interpreter *in, const fsim_node *n)
{
    const factor a = factor_of(in, n, &n->arg[0]), b = factor_of(in, n, &n->arg[1]);
    (fsim_is_weight_gradient(n->op) ? convolve_weight : n->gemm.convolution ? convolve : contract_maps)(in, n, &a, &b);
    free(a.doubt);
    free(b.doubt);
    free(a.narrowed);
    free(b.narrowed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, pooling and what undoes them, by loops over every window and tap: kernels, strides, padding, dilation
 * and groups by chance, along one to three axes; shapes and the reference's values. depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "validate/reference/reference.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { DRAWS = 20 };
#else
enum { DRAWS = 200 };
#endif
enum { AXES = 3 };

typedef struct {
    int kernel[AXES], stride[AXES], padding[AXES], dilation[AXES], more[AXES]; /* more: output_padding */
    int element[AXES], window[AXES];        /* how many elements and windows there are along each axis */
    int axes, groups, images, inner, outer; /* channels of the elements and of the windows, of one group */
} windows;

static int product(const int *x) { return x[0] * x[1] * x[2]; }

/* Axes that there are not have length 1, in front. scattered: elements follow from windows. */
static windows random_windows(bool scattered)
{
    windows w = {.axes = 1 + (int)draw(AXES),
                 .groups = 1 + (int)draw(3),
                 .images = 1 + (int)draw(2),
                 .inner = 1 + (int)draw(2),
                 .outer = 1 + (int)draw(3)};
    for (int i = 0; i < AXES; i++) {
        const bool there = i >= AXES - w.axes;
        w.kernel[i] = there ? 1 + (int)draw(3) : 1;
        w.stride[i] = there ? 1 + (int)draw(3) : 1;
        w.dilation[i] = there ? 1 + (int)draw(2) : 1;
        w.padding[i] = there && w.kernel[i] > 1 ? (int)draw(2) : 0;
        w.more[i] = there && scattered && w.stride[i] > 1 ? (int)draw(2) : 0;
        const int reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
        if (scattered) {
            w.window[i] = there ? 2 + (int)draw(3) : 1;
            w.element[i] = (w.window[i] - 1) * w.stride[i] - 2 * w.padding[i] + reach + w.more[i];
        } else {
            w.element[i] = there ? reach + (int)draw(4) : 1;
            w.window[i] = (w.element[i] + 2 * w.padding[i] - reach) / w.stride[i] + 1;
        }
    }
    return w;
}

/* ", 2, 3" of the axes that there are. */
static const char *list(fsim_arena *a, const windows *w, const int *x)
{
    const char *text = "";
    for (int i = AXES - w->axes; i < AXES; i++)
        text = fsim_printf(a, "%s, %d", text, x[i]);
    return text;
}

/* The element that a window meets with a tap, all numbered in their planes; -1: none. */
static int met(const windows *w, int window, int tap)
{
    int at = 0, step = 1;
    for (int i = AXES; i-- > 0; window /= w->window[i], tap /= w->kernel[i]) {
        const int e = window % w->window[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] - w->padding[i];
        if (e < 0 || e >= w->element[i])
            return -1;
        at += e * step;
        step *= w->element[i];
    }
    return at;
}

/* y[image, group, outer, window] += x[image, group, inner, element] * w[group, outer, inner, tap], or, of the same
 * three, x or w as the sum. */
static void multiply(const windows *w, const double *x, const double *weight, const double *y, double *sum, int which)
{
    const int taps = product(w->kernel), elements = product(w->element), count = product(w->window);
    for (int image = 0; image < w->images; image++)
        for (int g = 0; g < w->groups; g++)
            for (int o = 0; o < w->outer; o++)
                for (int c = 0; c < w->inner; c++)
                    for (int p = 0; p < count; p++)
                        for (int k = 0; k < taps; k++) {
                            const int e = met(w, p, k);
                            if (e < 0)
                                continue;
                            const int at_x = ((image * w->groups + g) * w->inner + c) * elements + e,
                                      at_w = ((g * w->outer + o) * w->inner + c) * taps + k,
                                      at_y = ((image * w->groups + g) * w->outer + o) * count + p;
                            if (which == 0)
                                sum[at_y] += x[at_x] * weight[at_w];
                            else if (which == 1) /* the transposed weight has the windows' channels in front, too */
                                sum[at_x] += y[at_y] * weight[at_w];
                            else
                                sum[at_w] += x[at_x] * y[at_y];
                        }
}

/* Of each plane's window the sum, or the largest element (number of it, the first of equal ones). */
static void pool(const windows *w, const double *x, double *sum, double *most, int *largest)
{
    const int elements = product(w->element), count = product(w->window);
    for (int plane = 0; plane < w->images * w->groups; plane++)
        for (int p = 0; p < count; p++) {
            const int at = plane * count + p;
            sum[at] = 0;
            most[at] = -INFINITY;
            for (int k = 0; k < product(w->kernel); k++) {
                const int e = met(w, p, k);
                if (e < 0)
                    continue;
                const double v = x[plane * elements + e];
                sum[at] += v;
                if (v > most[at]) {
                    most[at] = v;
                    largest[at] = plane * elements + e;
                }
            }
        }
}

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_reference *r;
} subject;

static subject interpreted(fsim_arena *a, const char *text)
{
    fsim_diag *d = fsim_diag_new(a);
    subject s = {a, fsim_graph_parse(a, d, "windowed.yaml", text, strlen(text), NULL), NULL};
    if (!s.g) {
        fsim_diag_print(d, stderr, false);
        fprintf(stderr, "%s", text);
    }
    assert_non_null(s.g);
    s.r = fsim_reference_of(s.g, 1);
    return s;
}

static int named(const subject *s, const char *name)
{
    for (int t = 0; t < s->g->tensors; t++)
        if (strcmp(s->g->tensor[t].name, name) == 0)
            return t;
    fail_msg("no tensor %s", name);
    return -1;
}

static const double *value_of(const subject *s, const char *name) { return s->r->of[named(s, name)].value; }

/* The tensor has as many elements, with these values, each within its bound. */
static void check(const subject *s, const char *name, const double *wanted, int elems, const char *text)
{
    const int t = named(s, name);
    assert_int_equal(s->g->tensor[t].elems, elems);
    for (int i = 0; i < elems; i++) {
        const double got = s->r->of[t].value[i];
        if (!(fabs(got - wanted[i]) <= 1e-12 * fmax(1, fabs(wanted[i])) && s->r->of[t].bound[i] < 1e-9))
            fail_msg("element %d of %s is %.9g within %.3g, by loops %.9g:\n%s", i, name, got, s->r->of[t].bound[i],
                     wanted[i], text);
    }
}

/* The same without the comma in front. */
static const char *bare(const char *list) { return list[0] ? list + 2 : list; }

static const char *attributes(fsim_arena *a, const windows *w)
{
    return fsim_printf(a, ", kernel: [%s], stride: [%s], padding: [%s], dilation: [%s]", bare(list(a, w, w->kernel)),
                       bare(list(a, w, w->stride)), bare(list(a, w, w->padding)), bare(list(a, w, w->dilation)));
}

/* The convolution, the gradient of its weight, and the transposed one: sums of the same products. */
static void products_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        state = (uint64_t)seed;
        fsim_arena *a = fsim_arena_new();
        const bool scattered = seed % 2;
        const windows w = random_windows(scattered);
        const int inner = w.groups * w.inner, outer = w.groups * w.outer, taps = product(w.kernel);
        const char *how = strchr(attributes(a, &w) + 2, ',');
        how = fsim_printf(a, ", groups: %d, stride%s", w.groups, strstr(how, "stride") + 6);
        const char *text = fsim_printf(
            a,
            "tensors:\n  x: {shape: [%d, %d%s], dtype: f64}\n  w: {shape: [%d, %d%s], dtype: f64}\n  y: {shape: [%d, "
            "%d%s], dtype: f64}\noperators:\n",
            w.images, inner, list(a, &w, w.element), outer, w.inner, list(a, &w, w.kernel), w.images, outer,
            list(a, &w, w.window));
        text = scattered ? fsim_printf(a, "%s  - {op: conv_transpose%dd, in: [y, w], out: r%s, output_padding: [%s]}\n",
                                       text, w.axes, how, bare(list(a, &w, w.more)))
                         : fsim_printf(a,
                                       "%s  - {op: conv%dd, in: [x, w], out: q%s}\n  - {op: conv%dd_weight, in: [x, "
                                       "y], out: d%s, kernel: [%s]}\n",
                                       text, w.axes, how, w.axes, how, bare(list(a, &w, w.kernel)));
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x"), *weight = value_of(&s, "w"), *y = value_of(&s, "y");
        double *sum = fsim_new(
            a, double, w.images *(inner + outer) * (product(w.element) + product(w.window)) + outer * w.inner * taps);
        if (scattered) {
            multiply(&w, x, weight, y, sum, 1);
            check(&s, "r", sum, w.images * inner * product(w.element), text);
        } else {
            multiply(&w, x, weight, y, sum, 0);
            check(&s, "q", sum, w.images * outer * product(w.window), text);
            memset(sum, 0, sizeof *sum * (size_t)(outer * w.inner * taps));
            multiply(&w, x, weight, y, sum, 2);
            check(&s, "d", sum, outer * w.inner * taps, text);
        }
        fsim_reference_free(s.r);
        fsim_arena_free(a);
    }
}

/* Pooling, its gradients, what picks by the largest element, windows as columns and columns as sums. */
static void pooling_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        state = (uint64_t)seed;
        fsim_arena *a = fsim_arena_new();
        const windows w = random_windows(false);
        const bool equal = seed % 3 == 0; /* whole numbers, of which many are: the first one of a window counts */
        const int planes = w.images * w.groups, taps = product(w.kernel), count = product(w.window),
                  elements = product(w.element);
        const char *how = attributes(a, &w),
                   *back = fsim_printf(a, "%s, output_size: [%s]", how, bare(list(a, &w, w.element)));
        const char *text = fsim_printf(
            a,
            "tensors:\n  %s: {shape: [%d, %d%s], dtype: f64}\n  v: {shape: [%d, %d%s], dtype: f64}\n  g: {shape: [%d, "
            "%d%s], dtype: f64}\n  c: {shape: [%d, %d, %d], dtype: f64}\noperators:\n%s"
            "  - {op: avg_pool%dd, in: x, out: mean%s}\n  - {op: max_pool%dd, in: x, out: most%s}\n"
            "  - {op: avg_pool_grad, in: g, out: spread%s}\n  - {op: max_pool_grad, in: [x, most, g], out: sent%s}\n"
            "  - {op: max_pool_pick, in: [x, v], out: picked%s, output_size: [%s]}\n",
            equal ? "z" : "x", w.images, w.groups, list(a, &w, w.element), w.images, w.groups, list(a, &w, w.element),
            w.images, w.groups, list(a, &w, w.window), w.images, w.groups * taps, count,
            equal ? "  - {op: floor, in: z, out: x}\n" : "", w.axes, how, w.axes, how, back, back, how,
            bare(list(a, &w, w.window)));
        if (w.axes == 2) /* others have none */
            text = fsim_printf(a, "%s  - {op: im2col, in: x, out: columns%s}\n  - {op: fold, in: c, out: folded%s}\n",
                               text, how, back);
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x"), *v = value_of(&s, "v"), *g = value_of(&s, "g"), *c = value_of(&s, "c");
        double *sum = fsim_new(a, double, planes *count), *most = fsim_new(a, double, planes *count),
               *picked = fsim_new(a, double, planes *count), *spread = fsim_new(a, double, planes *elements),
               *sent = fsim_new(a, double, planes *elements), *folded = fsim_new(a, double, planes *elements),
               *columns = fsim_new(a, double, planes *taps *count);
        int *largest = fsim_new(a, int, planes *count);
        pool(&w, x, sum, most, largest);
        for (int i = 0; i < planes * count; i++) {
            sum[i] /= taps;
            picked[i] = v[largest[i]];
            sent[largest[i]] += g[i];
        }
        for (int plane = 0; plane < planes; plane++)
            for (int k = 0; k < taps; k++)
                for (int p = 0; p < count; p++) {
                    const int e = met(&w, p, k), at = (plane * taps + k) * count + p;
                    columns[at] = e < 0 ? 0 : x[plane * elements + e];
                    spread[plane * elements + (e < 0 ? 0 : e)] += e < 0 ? 0 : g[plane * count + p] / taps;
                    folded[plane * elements + (e < 0 ? 0 : e)] += e < 0 ? 0 : c[at];
                }
        check(&s, "mean", sum, planes * count, text);
        check(&s, "most", most, planes * count, text);
        check(&s, "picked", picked, planes * count, text);
        check(&s, "spread", spread, planes * elements, text);
        check(&s, "sent", sent, planes * elements, text);
        if (w.axes == 2)
            check(&s, "columns", columns, planes * taps * count, text);
        if (w.axes == 2)
            check(&s, "folded", folded, planes * elements, text);
        fsim_reference_free(s.r);
        fsim_arena_free(a);
    }
}

/* Of `in` elements and `out` places, place i has those from i in / out on, rounded down, to (i + 1) in / out, rounded
 * up. */
static void adaptive_pooling_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        state = (uint64_t)seed;
        fsim_arena *a = fsim_arena_new();
        windows w = {.axes = 1 + (int)draw(AXES)};
        for (int i = 0; i < AXES; i++) {
            w.element[i] = i >= AXES - w.axes ? 1 + (int)draw(6) : 1;
            w.window[i] = i >= AXES - w.axes ? 1 + (int)draw(6) : 1;
        }
        const int elements = product(w.element), count = product(w.window);
        const char *text = fsim_printf(a,
                                       "tensors:\n  x: {shape: [2, 2%s], dtype: f64}\noperators:\n"
                                       "  - {op: adaptive_avg_pool%dd, in: x, out: mean, output_size: [%s]}\n"
                                       "  - {op: adaptive_max_pool%dd, in: x, out: most, output_size: [%s]}\n",
                                       list(a, &w, w.element), w.axes, bare(list(a, &w, w.window)), w.axes,
                                       bare(list(a, &w, w.window)));
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x");
        double *mean = fsim_new(a, double, 4 * count), *most = fsim_new(a, double, 4 * count);
        for (int at = 0; at < 4 * count; at++) {
            int members = 0;
            most[at] = -INFINITY;
            for (int e = 0; e < elements; e++) {
                bool inside = true;
                int o = at % count, rest = e;
                for (int i = AXES; i-- > 0; o /= w.window[i], rest /= w.element[i]) {
                    const int place = o % w.window[i], n = rest % w.element[i];
                    inside = inside && (n + 1) * w.window[i] > place * w.element[i] &&
                             n * w.window[i] < (place + 1) * w.element[i];
                }
                const double v = x[at / count * elements + e];
                members += inside;
                mean[at] += inside ? v : 0;
                most[at] = inside && v > most[at] ? v : most[at];
            }
            mean[at] /= members;
        }
        check(&s, "mean", mean, 4 * count, text);
        check(&s, "most", most, 4 * count, text);
        fsim_reference_free(s.r);
        fsim_arena_free(a);
    }
}

enum { NEAREST, LINEAR, CUBIC };

/* What element i counts for place o, along an axis of `in` elements and `out` places. Places lie at the middle of equal
 * stretches, or (ends) the first and the last one at the ends; beyond these is the outermost element. */
static double weight_of(int mode, bool ends, int in, int out, int o, int i)
{
    double weight = 0;
    if (mode == NEAREST)
        return i == o * in / out;
    double at = ends ? (out > 1 ? (double)o * (in - 1) / (out - 1) : 0) : (o + 0.5) * in / out - 0.5;
    at = mode == LINEAR ? fmin(fmax(at, 0), in - 1) : at;
    for (int k = (int)floor(at) - 1; k <= (int)floor(at) + 2; k++) { /* Keys's cubic with a = -0.75 */
        const double d = fabs(at - k), near = (1.25 * d - 2.25) * d * d + 1, far = -0.75 * (((d - 5) * d + 8) * d - 4),
                     cubic = d <= 1  ? near
                             : d < 2 ? far
                                     : 0;
        if (i == (k < 0 ? 0 : k > in - 1 ? in - 1 : k))
            weight += mode == CUBIC ? cubic : fmax(0, 1 - d);
    }
    return weight;
}

static void resizing_by_loops(void **unused)
{
    (void)unused;
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    for (int seed = 1; seed <= DRAWS; seed++) {
        state = (uint64_t)seed;
        fsim_arena *a = fsim_arena_new();
        const int mode = (int)draw(3);
        const bool ends = mode != NEAREST && draw(2);
        windows w = {.axes = mode == CUBIC ? 2 : 1 + (int)draw(AXES)};
        for (int i = 0; i < AXES; i++) {
            w.element[i] = i >= AXES - w.axes ? 1 + (int)draw(5) : 1;
            w.window[i] = i >= AXES - w.axes ? 1 + (int)draw(6) : 1;
        }
        const int elements = product(w.element), count = product(w.window);
        const char *text = fsim_printf(
            a,
            "tensors: {x: {shape: [2, 3%s], dtype: f64}}\noperators:\n  - {op: interpolate, in: x, out: y, size: [%s], "
            "mode: %s%s}\n",
            list(a, &w, w.element), bare(list(a, &w, w.window)),
            mode == NEAREST  ? "nearest"
            : mode == LINEAR ? linear[w.axes - 1]
                             : "bicubic",
            ends ? ", align_corners: true" : "");
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x");
        double *wanted = fsim_new(a, double, 6 * count);
        for (int at = 0; at < 6 * count; at++)
            for (int e = 0; e < elements; e++) {
                double weight = 1;
                for (int i = AXES, o = at % count, rest = e; i-- > 0; o /= w.window[i], rest /= w.element[i])
                    weight *= weight_of(mode, ends, w.element[i], w.window[i], o % w.window[i], rest % w.element[i]);
                wanted[at] += weight * x[at / count * elements + e];
            }
        check(&s, "y", wanted, 6 * count, text);
        fsim_reference_free(s.r);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_by_loops), cmocka_unit_test(pooling_by_loops),
                                       cmocka_unit_test(adaptive_pooling_by_loops),
                                       cmocka_unit_test(resizing_by_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

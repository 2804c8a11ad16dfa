/* SPDX-License-Identifier: Apache-2.0 */
/* Composite operators by loops over every element: norms, attention, samples of a grid, losses, places that are
 * shuffled. Shapes and attributes by chance; compared with the reference of the primitives that they become. depends:
 * compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "validate/reference/reference.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { DRAWS = 30 };
#else
enum { DRAWS = 150 };
#endif

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_reference *r;
    const char *text;
} subject;

static subject interpreted(fsim_arena *a, const char *text)
{
    fsim_diag *d = fsim_diag_new(a);
    subject s = {a, fsim_graph_parse(a, d, "composed.yaml", text, strlen(text), NULL), NULL, text};
    if (!s.g) {
        fsim_diag_print(d, stderr, false);
        fail_msg("%s", text);
    }
    s.r = fsim_reference_of(s.g, 5);
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

static const double *value_of(const subject *s, const char *name)
{
    const fsim_tensor *t = &s->g->tensor[named(s, name)];
    return s->r->of[t->storage].value + t->offset;
}

/* Compares y, and ends. */
static void check(subject *s, const double *wanted, int elems)
{
    const double *got = value_of(s, "y");
    assert_int_equal(s->g->tensor[named(s, "y")].elems, elems);
    for (int i = 0; i < elems; i++)
        if (!(fabs(got[i] - wanted[i]) <= 1e-9 * fmax(1, fabs(wanted[i]))))
            fail_msg("element %d is %.12g, by loops %.12g:\n%s", i, got[i], wanted[i], s->text);
    fsim_reference_free(s->r);
    fsim_arena_free(s->a);
}

static int from(int least, int most) { return least + (int)draw((uint32_t)(most - least + 1)); }

/* Of x[n, c, l] what is normalised together is a row of `length` elements: of the last dimension, of all elements of a
 * group of channels, or of a channel. */
static void norms_by_loops(void **unused)
{
    (void)unused;
    static const char *const kinds[] = {"layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"};
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int kind = seed % 5, groups = from(1, 3), n = from(1, 3), c = groups * from(1, 2), l = from(2, 5),
                  elems = n * c * l;
        const bool last = kind < 2, weighted = kind == 4 || draw(2), trained = kind == 4 && draw(2);
        const int weights = last ? l : c, length = last ? l : kind == 2 ? c / groups * l : kind == 3 ? l : n * l;
        const double eps = 0.25;
        const char *text = fsim_printf(
            a,
            "tensors: {x: {shape: [%d, %d, %d], dtype: f64}, w: {shape: [%d], dtype: f64}, b: {shape: [%d], dtype: "
            "f64}, "
            "m: {shape: [%d], dtype: f64}, v: {shape: [%d], dtype: f64}}\noperators:\n  - {op: %s, in: [x%s], out: y, "
            "eps: 0.25%s}\n",
            n, c, l, weights, weights, weights, weights, kinds[kind],
            trained     ? ", w, b"
            : kind == 4 ? ", w, b, m, v"
            : !weighted ? ""
            : kind == 1 ? ", w"
                        : ", w, b",
            kind == 2 ? fsim_printf(a, ", groups: %d", groups)
            : trained ? ", training: true"
                      : "");
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x");
        double *wanted = fsim_new(a, double, elems);
        for (int i = 0; i < elems; i++) {
            double sum = 0, squares = 0;
            int count = 0;
            for (int k = 0; k < elems; k++) {
                const bool same = kind == 4 ? i / l % c == k / l % c : i / length == k / length;
                sum += same ? x[k] : 0;
                squares += same ? x[k] * x[k] : 0;
                count += same;
            }
            assert_int_equal(count, length);
            const int at = last ? i % l : i / l % c;
            const double mean = kind == 1               ? 0
                                : kind == 4 && !trained ? value_of(&s, "m")[at]
                                                        : sum / count,
                         variance = kind == 4 && !trained ? value_of(&s, "v")[at] : squares / count - mean * mean;
            wanted[i] = (x[i] - mean) / sqrt(variance + eps);
            wanted[i] *= weighted ? value_of(&s, "w")[at] : 1;
            wanted[i] += weighted && kind != 1 ? value_of(&s, "b")[at] : 0;
        }
        check(&s, wanted, elems);
    }
}

static void attention_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int b = from(1, 2), kv = from(1, 2), each = from(1, 3), heads = kv * each, queries = from(1, 5),
                  keys = queries + (int)draw(2) * from(1, 3), d = from(1, 4), e = from(1, 4);
        const bool masked = draw(2), causal = draw(2), sinks = draw(3) == 0;
        const int window = causal && draw(2) ? from(1, 4) : 0;
        const double scale = draw(2) ? 0.5 : 1 / sqrt(d);
        const char *text = fsim_printf(a,
                                       "tensors:\n  q: {shape: [%d, %d, %d, %d], dtype: f64}\n  k: {shape: [%d, %d, "
                                       "%d, %d], dtype: f64}\n  v: {shape: "
                                       "[%d, %d, %d, %d], dtype: f64}\n  m: {shape: [%d, %d], dtype: f64}\n  z: "
                                       "{shape: [%d], dtype: f64}\noperators:\n"
                                       "  - {op: attention, in: [q, k, v%s%s], out: y%s%s%s%s}\n",
                                       b, heads, queries, d, b, kv, keys, d, b, kv, keys, e, queries, keys, heads,
                                       masked ? ", m" : "", sinks ? ", z" : "", causal ? ", causal: true" : "",
                                       window ? fsim_printf(a, ", window: %d", window) : "",
                                       sinks ? ", sinks: true" : "", scale == 0.5 ? ", scale: 0.5" : "");
        subject s = interpreted(a, text);
        const double *q = value_of(&s, "q"), *k = value_of(&s, "k"), *v = value_of(&s, "v");
        double *wanted = fsim_new(a, double, b *heads *queries *e);
        for (int row = 0; row < b * heads * queries; row++) {
            const int at = row % queries, head = row / queries % heads, batch = row / queries / heads,
                      key = (batch * kv + head / each) * keys;
            double sum = sinks ? exp(value_of(&s, "z")[head]) : 0;
            for (int i = 0; i < keys; i++) {
                double score = masked ? value_of(&s, "m")[at * keys + i] : 0;
                for (int c = 0; c < d; c++)
                    score += scale * q[row * d + c] * k[(key + i) * d + c];
                const bool seen = !causal || (i <= at && (!window || i > at - window));
                const double p = seen ? exp(score) : 0;
                sum += p;
                for (int c = 0; c < e; c++)
                    wanted[row * e + c] += p * v[(key + i) * e + c];
            }
            for (int c = 0; c < e; c++)
                wanted[row * e + c] /= sum;
        }
        check(&s, wanted, b * heads * queries * e);
    }
}

/* How much element i of `length` counts at a place; beyond the ends is the outermost element. */
static double sampled(int mode, double at, int i, int length)
{
    double weight = 0;
    at = mode < 2 ? fmin(fmax(at, 0), length - 1) : at;
    if (mode == 0)
        return i == (int)nearbyint(at);
    for (int k = (int)floor(at) - 1; k <= (int)floor(at) + 2; k++) { /* Keys's cubic with a = -0.75 */
        const double d = fabs(at - k), near = (1.25 * d - 2.25) * d * d + 1, far = -0.75 * (((d - 5) * d + 8) * d - 4);
        if (i == (k < 0 ? 0 : k > length - 1 ? length - 1 : k))
            weight += mode == 1 ? fmax(0, 1 - d) : d <= 1 ? near : d < 2 ? far : 0;
    }
    return weight;
}

static void samples_by_loops(void **unused)
{
    (void)unused;
    static const char *const modes[] = {"nearest", "bilinear", "bicubic"};
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int mode = seed % 3, n = from(1, 2), c = from(1, 2), h = from(1, 5), w = from(1, 5), rows = from(1, 3),
                  columns = from(1, 4);
        const char *text =
            fsim_printf(a,
                        "tensors: {x: {shape: [%d, %d, %d, %d], dtype: f64}, g: {shape: [%d, %d, %d, 2], "
                        "dtype: f64}}\noperators:\n  - {op: grid_sample, in: [x, g], out: y, mode: %s}\n",
                        n, c, h, w, n, rows, columns, modes[mode]);
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x"), *g = value_of(&s, "g");
        double *wanted = fsim_new(a, double, n *c *rows *columns);
        for (int i = 0; i < n * c * rows * columns; i++) {
            const int plane = i / (rows * columns), place = plane / c * rows * columns + i % (rows * columns);
            const double across = ((g[2 * place] + 1) * w - 1) / 2, down = ((g[2 * place + 1] + 1) * h - 1) / 2;
            for (int e = 0; e < h * w; e++)
                wanted[i] += sampled(mode, down, e / w, h) * sampled(mode, across, e % w, w) * x[plane * h * w + e];
        }
        check(&s, wanted, n * c * rows * columns);
    }
}

/* Losses of rows of logits, places of pixels and of rotated pairs. */
static void others_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int kind = seed % 4, n = from(1, 4), c = from(1, 3), r = from(1, 3), h = from(1, 3), w = from(1, 3),
                  elems = n * c * r * r * h * w;
        const char *text =
            kind == 0 ? fsim_printf(a,
                                    "tensors: {x: {shape: [%d, %d, %d, %d], dtype: f64}}\noperators:\n  - {op: "
                                    "pixel_shuffle, in: x, out: y, upscale_factor: %d}\n",
                                    n, c * r * r, h, w, r)
            : kind == 1
                ? fsim_printf(
                      a,
                      "tensors: {x: {shape: [%d, %d], dtype: f64}, t: {shape: [%d], dtype: i64}}\noperators:\n  - "
                      "{op: cross_entropy, in: [x, t], out: y}\n",
                      n, c + 1, n)
            : kind == 2
                ? fsim_printf(a,
                              "tensors: {x: {shape: [%d, %d, %d], dtype: f64}, c: {shape: [%d, %d], dtype: f64}, "
                              "s: {shape: [%d, %d], dtype: f64}}\noperators:\n  - {op: rotary_embedding, in: "
                              "[x, c, s], out: y}\n",
                              n, h, 2 * w, h, 2 * w, h, 2 * w)
                : fsim_printf(a,
                              "tensors: {x: {shape: [%d, %d, %d], dtype: f64}}\noperators:\n  - {op: glu, in: x, "
                              "out: y, dim: 1}\n",
                              n, 2 * c, h);
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x");
        double *wanted = fsim_new(a, double, elems + 2 * n * h * w + n * c * h);
        int count = 1;
        if (kind == 0) {
            count = elems;
            for (int i = 0; i < elems; i++) {
                const int column = i % (w * r), row = i / (w * r) % (h * r), channel = i / (w * r * h * r);
                wanted[i] = x[((channel * r + row % r) * r + column % r) * h * w + row / r * w + column / r];
            }
        } else if (kind == 1) {
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int k = 0; k <= c; k++)
                    sum += exp(x[i * (c + 1) + k]);
                wanted[0] += (log(sum) - x[i * (c + 1) + (int)value_of(&s, "t")[i]]) / n;
            }
        } else if (kind == 2) {
            count = n * h * 2 * w;
            for (int i = 0; i < count; i++) {
                const int k = i % (2 * w), at = i / (2 * w) % h * 2 * w + k;
                wanted[i] = x[i] * value_of(&s, "c")[at] + (k < w ? -x[i + w] : x[i - w]) * value_of(&s, "s")[at];
            }
        } else {
            count = n * c * h;
            for (int i = 0; i < count; i++) {
                const int first = i / (c * h) * 2 * c * h + i % (c * h);
                wanted[i] = x[first] / (1 + exp(-x[first + c * h]));
            }
        }
        check(&s, wanted, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(norms_by_loops), cmocka_unit_test(attention_by_loops),
                                       cmocka_unit_test(samples_by_loops), cmocka_unit_test(others_by_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, running sums, sorts, and elements that indices pick, along each dimension of shapes drawn by chance: the
 * reference's values are those of loops over every element. depends: compiler memory cost: 1 */
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
enum { DRAWS = 100 };
#else
enum { DRAWS = 600 };
#endif
enum { RANK = 4 };

typedef struct {
    int rank, dim[RANK];
} shape;

static int elements_of(const shape *s)
{
    int n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

/* Index along dimension d of an element, and the element with another index there. */
static int stride_of(const shape *s, int d)
{
    int n = 1;
    for (int i = d + 1; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}
static int index_along(const shape *s, int d, int element) { return element / stride_of(s, d) % s->dim[d]; }

/* The element of `to` whose indices are those of an element of `from`, but `index` along d. */
static int same_but(const shape *from, const shape *to, int element, int d, int index)
{
    int at = 0;
    for (int i = 0; i < from->rank; i++)
        at = at * to->dim[i] + (i == d ? index : index_along(from, i, element));
    return at;
}

static shape with_length(const shape *s, int d, int length)
{
    shape out = *s;
    out.dim[d] = length;
    return out;
}

static const char *text_of(fsim_arena *a, const shape *s)
{
    const char *text = "";
    for (int i = 0; i < s->rank; i++)
        text = fsim_printf(a, "%s%s%d", text, i ? ", " : "", s->dim[i]);
    return text;
}

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_reference *r;
    const char *text;
} subject;

static subject interpreted(fsim_arena *a, const char *text)
{
    fsim_diag *d = fsim_diag_new(a);
    subject s = {a, fsim_graph_parse(a, d, "picked.yaml", text, strlen(text), NULL), NULL, text};
    if (!s.g) {
        fsim_diag_print(d, stderr, false);
        fail_msg("%s", text);
    }
    s.r = fsim_reference_of(s.g, 3);
    return s;
}

static int named(const subject *s, const char *name)
{
    for (int t = 0; t < s->g->tensors; t++)
        if (strcmp(s->g->tensor[t].name, name) == 0)
            return s->g->tensor[t].storage;
    fail_msg("no tensor %s", name);
    return -1;
}

static const double *value_of(const subject *s, const char *name) { return s->r->of[named(s, name)].value; }

/* NAN: any value. */
static void check(const subject *s, const char *name, const double *wanted, int elems)
{
    const int t = named(s, name);
    assert_int_equal(s->g->tensor[t].elems, elems);
    for (int i = 0; i < elems; i++) {
        const double got = s->r->of[t].value[i];
        if (!isnan(wanted[i]) && !(fabs(got - wanted[i]) <= 1e-11 * fmax(1, fabs(wanted[i]))))
            fail_msg("element %d of %s is %.12g, by loops %.12g:\n%s", i, name, got, wanted[i], s->text);
        if (!isnan(wanted[i]) && s->g->tensor[t].dtype == FSIM_F64 &&
            !(s->r->of[t].bound[i] <= 1e-9 * fmax(1, fabs(wanted[i]))))
            fail_msg("element %d of %s, %.12g, has a bound of %.3g:\n%s", i, name, got, s->r->of[t].bound[i], s->text);
    }
}

enum { SUM, MEAN, MAX, MIN, PROD, FIRST, ARGMAX = FIRST, ARGMIN, NORM_1, NORM_2, NORM_3, LOGSUMEXP, VAR, KINDS };
static const char *const kinds[KINDS] = {"sum",    "mean", "max",  "min",  "prod",      "argmax",
                                         "argmin", "norm", "norm", "norm", "logsumexp", "var"};

/* The sum, or whatever it is, of n numbers. */
static double reduced(int kind, const double *x, int n)
{
    double sum = 0, squares = 0, cubes = 0, sizes = 0, most = x[0], least = x[0], all = 1, exponentials = 0, off = 0;
    int largest = 0, smallest = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        sizes += fabs(x[i]);
        squares += x[i] * x[i];
        cubes += fabs(x[i] * x[i] * x[i]);
        all *= x[i];
        exponentials += exp(x[i]);
        largest = x[i] > most ? i : largest;
        smallest = x[i] < least ? i : smallest;
        most = fmax(most, x[i]);
        least = fmin(least, x[i]);
    }
    for (int i = 0; i < n; i++)
        off += (x[i] - sum / n) * (x[i] - sum / n);
    const double all_kinds[KINDS] = {
        sum,         sum / n,           most,         least, all, largest, smallest, sizes, sqrt(squares),
        cbrt(cubes), log(exponentials), off / (n - 1)};
    return all_kinds[kind];
}

static shape random_shape(void)
{
    shape s = {.rank = 1 + (int)draw(RANK)};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = 1 + (int)draw(5);
    return s;
}

/* Over one dimension, or two neighbours, whose elements are in order then, too. */
static void reductions_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const shape s = random_shape();
        const int kind = seed % KINDS, d = (int)draw((uint32_t)s.rank),
                  more = kind != ARGMAX && kind != ARGMIN && d + 1 < s.rank ? (int)draw(2) : 0;
        const bool keep = draw(2);
        const int inner = stride_of(&s, d + more), length = s.dim[d] * (more ? s.dim[d + 1] : 1),
                  points = elements_of(&s) / length;
        if (kind == VAR && length == 1) {
            fsim_arena_free(a);
            continue;
        }
        const char *text = fsim_printf(a,
                                       "tensors: {x: {shape: [%s], dtype: f64}}\noperators:\n  - {op: %s, in: x, out: "
                                       "y, dim: [%d%s], keepdim: %s%s}\n",
                                       text_of(a, &s), kinds[kind], d,
                                       more ? fsim_printf(a, ", %d", d + 1 - s.rank) : "", keep ? "true" : "false",
                                       kind == NORM_1   ? ", p: 1"
                                       : kind == NORM_3 ? ", p: 3"
                                                        : "");
        subject x = interpreted(a, text);
        double *wanted = fsim_new(a, double, points), *row = fsim_new(a, double, length);
        for (int p = 0; p < points; p++) {
            for (int i = 0; i < length; i++)
                row[i] = value_of(&x, "x")[(p / inner * length + i) * inner + p % inner];
            wanted[p] = reduced(kind, row, length);
        }
        check(&x, "y", wanted, points);
        const fsim_shape *made = &x.g->tensor[named(&x, "y")].shape;
        assert_int_equal(made->rank, keep ? s.rank : s.rank - 1 - more);
        for (int i = 0; i < s.rank && keep; i++)
            assert_int_equal(made->dim[i], i >= d && i <= d + more ? 1 : s.dim[i]);
        fsim_reference_free(x.r);
        fsim_arena_free(a);
    }
}

/* Running sums and products, sorted rows and their largest elements, softmax. */
static void rows_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const shape s = random_shape();
        const int d = (int)draw((uint32_t)s.rank), length = s.dim[d], k = 1 + (int)draw((uint32_t)length),
                  elems = elements_of(&s), step = stride_of(&s, d);
        const shape few = with_length(&s, d, k);
        const char *text = fsim_printf(
            a,
            "tensors: {x: {shape: [%s], dtype: f64}}\noperators:\n  - {op: cumsum, in: x, out: sum, dim: %d}\n"
            "  - {op: cumprod, in: x, out: product, dim: %d}\n  - {op: sort, in: x, out: [sorted, place], dim: %d}\n"
            "  - {op: topk, in: x, out: [most, number], dim: %d, k: %d}\n  - {op: softmax, in: x, out: soft, dim: %d}\n"
            "  - {op: log_softmax, in: x, out: logs, dim: %d}\n",
            text_of(a, &s), d, d, d, d, k, d, d - s.rank);
        subject x = interpreted(a, text);
        const double *v = value_of(&x, "x");
        double *want[8];
        for (int i = 0; i < 8; i++)
            want[i] = fsim_new(a, double, elems);
        for (int e = 0; e < elems; e++) {
            const int i = index_along(&s, d, e), first = e - i * step;
            int before = 0, above = 0;
            double exponentials = 0;
            want[1][e] = 1;
            for (int n = 0; n < length; n++) {
                const double other = v[first + n * step];
                want[0][e] += n <= i ? other : 0;
                want[1][e] *= n <= i ? other : 1;
                before += other < v[e] || (other == v[e] && n < i);
                above += other > v[e] || (other == v[e] && n < i);
                exponentials += exp(other - v[e]);
            }
            want[2][first + before * step] = v[e];
            want[3][first + before * step] = i;
            if (above < k) {
                want[4][same_but(&s, &few, e, d, above)] = v[e];
                want[5][same_but(&s, &few, e, d, above)] = i;
            }
            want[6][e] = 1 / exponentials;
            want[7][e] = -log(exponentials);
        }
        static const char *const names[] = {"sum", "product", "sorted", "place", "most", "number", "soft", "logs"};
        for (int i = 0; i < 8; i++)
            check(&x, names[i], want[i], i == 4 || i == 5 ? elements_of(&few) : elems);
        fsim_reference_free(x.r);
        fsim_arena_free(a);
    }
}

/* Elements, rows and slices by indices: read, written, added to. Where two are written to one place, either counts. */
static void picked_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const shape s = random_shape();
        const int d = (int)draw((uint32_t)s.rank), n = 1 + (int)draw(4), elems = elements_of(&s);
        shape some = with_length(&s, d, n); /* shorter along another dimension, too */
        const int e = (int)draw((uint32_t)s.rank);
        some.dim[e] -= e != d && some.dim[e] > 1;
        const shape slices = with_length(&s, d, n);
        shape rows = with_length(&s, 0, n);
        const char *text = fsim_printf(
            a,
            "tensors:\n  x: {shape: [%s], dtype: f64}\n  i: {shape: [%s], dtype: i64}\n  j: {shape: [%d], dtype: i64}\n"
            "  k: {shape: [%d], dtype: i64}\n  l: {shape: [%s], dtype: i64}\n  m: {shape: [%d], dtype: i64}\n"
            "  u: {shape: [%s], dtype: f64}\n  v: {shape: [%s], dtype: f64}\noperators:\n"
            "  - {op: gather, in: [x, i], out: gathered, dim: %d}\n  - {op: gather, in: [x, j], out: rows}\n"
            "  - {op: index_select, in: [x, k], out: selected, dim: %d}\n"
            "  - {op: scatter_add, in: [x, l, u], out: added, dim: %d}\n"
            "  - {op: scatter, in: [x, l, u], out: written, dim: %d}\n"
            "  - {op: index_add, in: [x, m, v], out: more, dim: %d, inplace: false}\n"
            "  - {op: index_copy, in: [x, m, v], out: copied, dim: %d, inplace: false}\n",
            text_of(a, &s), text_of(a, &some), n, n, text_of(a, &slices), n, text_of(a, &slices), text_of(a, &slices),
            d, d - s.rank, d, d, d, d);
        subject x = interpreted(a, text);
        const double *v = value_of(&x, "x");
        double *gathered = fsim_new(a, double, elements_of(&some)), *row = fsim_new(a, double, elements_of(&rows)),
               *selected = fsim_new(a, double, elements_of(&slices)), *want[4];
        for (int i = 0; i < elements_of(&some); i++)
            gathered[i] = v[same_but(&some, &s, i, d, (int)value_of(&x, "i")[i])];
        for (int i = 0; i < elements_of(&rows); i++)
            row[i] = v[same_but(&rows, &s, i, 0, (int)value_of(&x, "j")[index_along(&rows, 0, i)])];
        for (int i = 0; i < elements_of(&slices); i++)
            selected[i] = v[same_but(&slices, &s, i, d, (int)value_of(&x, "k")[index_along(&slices, d, i)])];
        int *met = fsim_new(a, int, 2 * elems);
        for (int i = 0; i < 4; i++) {
            want[i] = fsim_new(a, double, elems);
            memcpy(want[i], v, sizeof *v * (size_t)elems);
        }
        for (int i = 0; i < elements_of(&slices); i++) {
            const int to = same_but(&slices, &s, i, d, (int)value_of(&x, "l")[i]);
            want[0][to] += value_of(&x, "u")[i];
            want[1][to] = met[to]++ ? (double)NAN : value_of(&x, "u")[i];
        }
        for (int i = 0; i < elements_of(&slices); i++) {
            const int to = same_but(&slices, &s, i, d, (int)value_of(&x, "m")[index_along(&slices, d, i)]);
            want[2][to] += value_of(&x, "v")[i];
            want[3][to] = met[elems + to]++ ? (double)NAN : value_of(&x, "v")[i];
        }
        check(&x, "gathered", gathered, elements_of(&some));
        check(&x, "rows", row, elements_of(&rows));
        check(&x, "selected", selected, elements_of(&slices));
        static const char *const names[] = {"added", "written", "more", "copied"};
        for (int i = 0; i < 4; i++)
            check(&x, names[i], want[i], elems);
        fsim_reference_free(x.r);
        fsim_arena_free(a);
    }
}

/* Products of matrices, whose dimensions in front are equal, of length 1, or not there. */
static void products_by_loops(void **unused)
{
    (void)unused;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int m = 1 + (int)draw(4), n = 1 + (int)draw(4), k = 1 + (int)draw(5), b = 1 + (int)draw(3),
                  c = 1 + (int)draw(3), one = (int)draw(5);
        /* which of both dimensions in front an operand has: bit 0 the outer one */
        const int x_has = one == 0 ? 0 : one == 1 ? 2 : 3, y_has = one == 2 ? 0 : one == 3 ? 2 : 3;
        const shape xs = one == 0 ? (shape){2, {m, k}} : (shape){4, {x_has & 1 ? b : 1, c, m, k}},
                    ys = one == 2 ? (shape){2, {k, n}} : (shape){4, {y_has & 1 ? b : 1, c, k, n}};
        const int batches = one == 1 && !(y_has & 1) ? c : b * c;
        const char *text =
            fsim_printf(a,
                        "tensors: {x: {shape: [%s], dtype: f64}, y: {shape: [%s], dtype: f64}, w: "
                        "{shape: [%d, %d], dtype: f64}, v: {shape: [%d], dtype: f64}}\noperators:\n"
                        "  - {op: matmul, in: [x, y], out: z}\n  - {op: linear, in: [x, w, v], out: l}\n",
                        text_of(a, &xs), text_of(a, &ys), n, k, n);
        subject s = interpreted(a, text);
        const double *x = value_of(&s, "x"), *y = value_of(&s, "y"), *w = value_of(&s, "w"), *v = value_of(&s, "v");
        const int lines = elements_of(&xs) / k;
        double *z = fsim_new(a, double, batches *m *n), *l = fsim_new(a, double, lines *n);
        for (int i = 0; i < batches * m * n; i++) {
            const int batch = i / (m * n), row = i / n % m, column = i % n, outer = batch / c, inner = batch % c;
            const int of_x = xs.rank == 2 ? 0 : (x_has & 1 ? outer : 0) * c + inner,
                      of_y = ys.rank == 2 ? 0 : (y_has & 1 ? outer : 0) * c + inner;
            for (int q = 0; q < k; q++)
                z[i] += x[(of_x * m + row) * k + q] * y[(of_y * k + q) * n + column];
        }
        for (int i = 0; i < lines * n; i++) {
            l[i] = v[i % n];
            for (int q = 0; q < k; q++)
                l[i] += x[i / n * k + q] * w[i % n * k + q];
        }
        check(&s, "z", z, batches * m * n);
        check(&s, "l", l, lines * n);
        fsim_reference_free(s.r);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reductions_by_loops), cmocka_unit_test(rows_by_loops),
                                       cmocka_unit_test(picked_by_loops), cmocka_unit_test(products_by_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

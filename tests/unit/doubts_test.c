/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the reference, of each operator's example and of its derivatives: a few elements of the arguments are known
 * within a bound only. At each corner of the box that these make, every result lies within its own bound; some corner
 * comes as close to that as the kind of operator says. What may be anything makes anything of what depends on it, and
 * of nothing else. depends: once cost: 2 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "graph/example.h"
#include "random.h"
#include "small_example.h"
#include "validate/reference/interpret.h"
#include "validate/reference/point.h"
#include "validate/reference/reference.h"
#include <stdio.h>

enum { UNSURE = 5, MOST_ELEMS = 20000, EACH = 3, LOOKED = 141, LOOSE = 386 };

typedef void interpret_node(const fsim_interpreter *in, const fsim_node *n);

static interpret_node *interpreter_of(fsim_op op)
{
    if (fsim_point_rows[op].value)
        return fsim_interpret_points;
    switch (op) {
    case FSIM_OP_INTERPOLATE:
        return fsim_interpret_interpolate;
    case FSIM_OP_AVG_POOL_GRAD:
    case FSIM_OP_MAX_POOL_GRAD:
    case FSIM_OP_FOLD:
        return fsim_interpret_window_back;
    case FSIM_OP_MAX_POOL_PICK:
        return fsim_interpret_pick;
    case FSIM_OP_CONCAT:
    case FSIM_OP_PAD:
    case FSIM_OP_ROLL:
        return fsim_interpret_assembly;
    case FSIM_OP_GATHER:
    case FSIM_OP_INDEX_SELECT:
    case FSIM_OP_EMBEDDING:
    case FSIM_OP_PICK:
        return fsim_interpret_gather;
    case FSIM_OP_EMBEDDING_BAG:
        return fsim_interpret_bag;
    case FSIM_OP_SCATTER:
    case FSIM_OP_INDEX_COPY:
        return fsim_interpret_scatter;
    case FSIM_OP_SCATTER_ADD:
    case FSIM_OP_INDEX_ADD:
        return fsim_interpret_index_add;
    case FSIM_OP_CUMSUM:
    case FSIM_OP_CUMPROD:
        return fsim_interpret_scan;
    case FSIM_OP_SORT:
    case FSIM_OP_TOPK:
        return fsim_interpret_sort;
    default:
        break;
    }
    switch (fsim_ops[op].class) {
    case FSIM_REDUCE:
        return fsim_interpret_reduction;
    case FSIM_CONTRACTION:
        return fsim_interpret_contraction;
    case FSIM_WINDOW:
        return fsim_interpret_window;
    default:
        return NULL;
    }
}

/* What is known of all tensors of a graph. */
typedef struct {
    const fsim_graph *g;
    fsim_reference *r, own;
    fsim_interpreter in;
} bench;

static void open_bench(bench *b, const fsim_graph *g)
{
    int64_t most = 0;
    *b = (bench){.g = g, .r = fsim_reference_of(g, 1)};
    b->own = (fsim_reference){g, fsim_memory(g->tensors, sizeof *b->own.of),
                              fsim_memory(g->tensors, sizeof *b->own.unknown)};
    b->in = (fsim_interpreter){.g = g,
                               .r = &b->own,
                               .shared = fsim_memory(g->tensors, sizeof *b->in.shared),
                               .rounded = fsim_memory(g->tensors, sizeof *b->in.rounded)};
    for (int t = 0; t < g->tensors; t++) {
        const int64_t elems = g->tensor[t].elems;
        if (g->tensor[t].storage != t)
            continue;
        b->own.of[t].value = fsim_memory(elems, sizeof(double));
        b->own.of[t].bound = fsim_memory(elems, sizeof(double));
        b->in.shared[t] = fsim_memory(elems, sizeof(double));
        most = elems > most ? elems : most;
        for (int64_t i = 0; i < elems; i++)
            b->own.of[t].value[i] = fsim_stored(g->tensor[t].dtype, b->r->of[t].value[i]);
    }
    b->in.none = fsim_memory(most, sizeof(double));
}

static void close_bench(bench *b)
{
    for (int t = 0; t < b->g->tensors; t++) {
        free(b->own.of[t].value);
        free(b->own.of[t].bound);
        free(b->in.shared[t]);
    }
    free(b->own.of);
    free(b->own.unknown);
    free(b->in.shared);
    free(b->in.rounded);
    free(b->in.none);
    fsim_reference_free(b->r);
}

typedef struct {
    int tensor;
    int64_t at;
    double value, bound;
} unsure;

/* How the results of a node are, laid one behind the other. */
typedef struct {
    int64_t count;
    double *value, *bound;
} results;

static results results_of(const bench *b, const fsim_node *n)
{
    results x = {0};
    for (int k = 0; k < n->results; k++)
        x.count += b->g->tensor[n->result[k]].elems;
    x.value = fsim_memory(x.count, sizeof(double));
    x.bound = fsim_memory(x.count, sizeof(double));
    return x;
}

static void free_results(results *x)
{
    free(x->value);
    free(x->bound);
}

static void interpret(const bench *b, const fsim_node *n, results *out)
{
    int64_t at = 0;
    interpreter_of(n->op)(&b->in, n);
    for (int k = 0; k < n->results; k++)
        for (int64_t i = 0; i < b->g->tensor[n->result[k]].elems; i++, at++) {
            out->value[at] = b->own.of[n->result[k]].value[i];
            out->bound[at] = b->own.of[n->result[k]].bound[i];
        }
}

typedef struct {
    double bounds[FSIM_OP_COUNT], offs[FSIM_OP_COUNT]; /* sums of bounds, and of what the furthest corners reach */
    int looked[FSIM_OP_COUNT], loose[FSIM_OP_COUNT];
    int64_t elements, anything, needless;
} tally;

static int choose(const bench *b, const fsim_node *n, bool floating, unsure *u)
{
    int count = 0;
    for (int tries = 0; tries < 40 && count < UNSURE; tries++) {
        const int first = n->op == FSIM_OP_MAX_POOL_GRAD ? n->args - 1 : 0, /* x and its maxima change together */
            t = b->g->tensor[n->arg[first + (int)draw((uint32_t)(n->args - first))].tensor].storage;
        const unsure x = {t, draw((uint32_t)b->g->tensor[t].elems), 0, 1.0 / (16 << draw(3))};
        bool known = fsim_dtype_floating(b->g->tensor[t].dtype) != floating;
        for (int i = 0; i < count && !known; i++)
            known = u[i].tensor == t && u[i].at == x.at;
        if (known)
            continue;
        u[count] = x;
        u[count++].value = b->own.of[t].value[x.at];
    }
    return count;
}

static void set_bounds(const bench *b, const unsure *u, int count, double by, bool shared)
{
    for (int i = 0; i < count; i++) {
        b->own.of[u[i].tensor].bound[u[i].at] = by * u[i].bound;
        b->in.shared[u[i].tensor][u[i].at] = shared ? by * u[i].bound : 0;
    }
}

static void check_corners(const bench *b, const fsim_node *n, bool shared, tally *sums)
{
    unsure u[UNSURE];
    const int count = choose(b, n, true, u);
    results exact = results_of(b, n), bounded = results_of(b, n), corner = results_of(b, n);
    double *off = fsim_memory(exact.count, sizeof *off);
    interpret(b, n, &exact);
    set_bounds(b, u, count, 1, shared);
    interpret(b, n, &bounded);
    set_bounds(b, u, count, 0, false);
    for (int c = 0; c < 1 << count; c++) {
        if (shared && c != 0 && c != (1 << count) - 1)
            continue; /* what elements have in common goes one way */
        for (int i = 0; i < count; i++)
            b->own.of[u[i].tensor].value[u[i].at] = u[i].value + (c >> i & 1 ? u[i].bound : -u[i].bound);
        interpret(b, n, &corner);
        for (int64_t i = 0; i < exact.count; i++)
            off[i] = fmax(off[i], fsim_difference(corner.value[i], exact.value[i]));
    }
    for (int i = 0; i < count; i++)
        b->own.of[u[i].tensor].value[u[i].at] = u[i].value;
    for (int64_t i = 0; i < exact.count; i++) {
        assert_true(bounded.value[i] == exact.value[i] || isnan(exact.value[i]));
        if (off[i] > bounded.bound[i] * (1 + 1e-9) + 1e-300)
            fail_msg("%s, element %lld: %g off, bound %g", fsim_ops[n->op].name, (long long)i, off[i],
                     bounded.bound[i]);
        const double rest = bounded.bound[i] - exact.bound[i];
        sums->elements++;
        sums->loose[n->op] += isinf(bounded.bound[i]) && isfinite(exact.bound[i]);
        if (isfinite(rest) && rest > 0) {
            sums->bounds[n->op] += rest;
            sums->offs[n->op] += off[i];
        }
    }
    free_results(&exact), free_results(&bounded), free_results(&corner);
    free(off);
}

/* One element may be anything: so may be what changes with it, and little else. */
static void check_anything(const bench *b, const fsim_node *n, tally *sums)
{
    const int t = b->g->tensor[n->arg[draw((uint32_t)n->args)].tensor].storage;
    const fsim_tensor *of = &b->g->tensor[t];
    const int64_t at = draw((uint32_t)of->elems);
    double *value = &b->own.of[t].value[at];
    const double before = *value, whole[] = {b->own.of[t].value[(at + 1) % of->elems], b->own.of[t].value[0], before},
                 other[] = {before + 1, before - 1, 1000 * before + 5, -1000 * before - 5}, flag[] = {before == 0};
    const bool floating = fsim_dtype_floating(of->dtype);
    if (n->op == FSIM_OP_MAX_POOL_GRAD)
        return;
    results exact = results_of(b, n), bounded = results_of(b, n), changed = results_of(b, n);
    bool *moves = fsim_memory(exact.count, sizeof *moves);
    interpret(b, n, &exact);
    b->own.of[t].bound[at] = INFINITY;
    interpret(b, n, &bounded);
    b->own.of[t].bound[at] = 0;
    for (int k = 0; k < (floating ? 4 : of->dtype == FSIM_BOOL ? 1 : 3); k++) {
        *value = floating ? other[k] : of->dtype == FSIM_BOOL ? flag[k] : whole[k];
        interpret(b, n, &changed);
        for (int64_t i = 0; i < exact.count; i++)
            moves[i] = moves[i] || fsim_difference(changed.value[i], exact.value[i]) > 0;
    }
    *value = before;
    for (int64_t i = 0; i < exact.count; i++) {
        if (moves[i] && of->dtype != FSIM_BOOL && !isinf(bounded.bound[i]))
            fail_msg("%s, element %lld: anything, bound %g", fsim_ops[n->op].name, (long long)i, bounded.bound[i]);
        if (moves[i] && bounded.bound[i] < fsim_difference(changed.value[i], exact.value[i]))
            fail_msg("%s, element %lld: the other one, bound %g", fsim_ops[n->op].name, (long long)i, bounded.bound[i]);
        sums->anything += moves[i];
        sums->needless += !moves[i] && isinf(bounded.bound[i]) && isfinite(exact.bound[i]);
    }
    free_results(&exact), free_results(&bounded), free_results(&changed);
    free(moves);
}

static void look_at(const fsim_graph *g, tally *sums)
{
    bench b;
    open_bench(&b, g);
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        bool fits = interpreter_of(n->op) && n->args > 0 && sums->looked[n->op] < EACH;
        for (int k = 0; k < n->args; k++)
            fits = fits && g->tensor[n->arg[k].tensor].elems > 0;
        if (!fits)
            continue;
        sums->looked[n->op]++;
        for (int turn = 0; turn < 4; turn++)
            check_corners(&b, n, turn % 2, sums);
        for (int turn = 0; turn < 4; turn++)
            check_anything(&b, n, sums);
    }
    close_bench(&b);
}

/* Of operators whose examples are large. */
static const char *const more[] = {
    "{x: {shape: [2, 3, 7], dtype: f32}}|{op: max_pool1d, in: x, out: y, kernel: 3, stride: 2, padding: 1}",
    "{x: {shape: [1, 2, 5, 6], dtype: f32}}|{op: max_pool2d, in: x, out: y, kernel: 2, stride: 2}",
    "{x: {shape: [1, 2, 6, 6], dtype: f32}}|{op: max_pool2d, in: x, out: y, kernel: 3, stride: 2, padding: 1}",
    "{x: {shape: [1, 1, 4, 4, 5], dtype: f32}}|{op: max_pool3d, in: x, out: y, kernel: 2, stride: 2}",
    "{x: {shape: [2, 3, 7], dtype: f32}}|{op: avg_pool1d, in: x, out: y, kernel: 3, stride: 2, padding: 1}",
    "{x: {shape: [1, 2, 5, 6], dtype: f32}}|{op: avg_pool2d, in: x, out: y, kernel: 3, stride: 1, padding: 1}",
    "{x: {shape: [1, 1, 4, 4, 5], dtype: f32}}|{op: avg_pool3d, in: x, out: y, kernel: 2, stride: 2}",
    "{x: {shape: [1, 2, 5, 7], dtype: f32}}|{op: adaptive_avg_pool2d, in: x, out: y, output_size: [2, 3]}",
    "{x: {shape: [1, 2, 5, 7], dtype: f32}}|{op: adaptive_max_pool2d, in: x, out: y, output_size: [2, 3]}",
    "{x: {shape: [1, 2, 5], dtype: f32}}|{op: interpolate, in: x, out: y, size: [8], mode: linear}",
    "{x: {shape: [1, 2, 4, 3], dtype: f32}}|{op: interpolate, in: x, out: y, size: [7, 5], mode: bilinear}",
    "{x: {shape: [1, 1, 4, 5], dtype: f32}}|{op: interpolate, in: x, out: y, size: [3, 9], mode: bicubic}",
    "{x: {shape: [1, 1, 4, 5], dtype: f32}}|{op: interpolate, in: x, out: y, size: [6, 7], mode: nearest}",
    "{x: {shape: [2, 3, 9], dtype: f32}, w: {shape: [4, 3, 3], dtype: f32}}|{op: conv1d, in: [x, w], out: y, padding: "
    "1}",
    "{x: {shape: [1, 2, 5, 6], dtype: f32}, w: {shape: [3, 2, 3, 3], dtype: f32}}|{op: conv2d, in: [x, w], out: y, "
    "stride: 2, padding: 1}",
    "{x: {shape: [1, 4, 5], dtype: f32}, w: {shape: [4, 2, 3], dtype: f32}}|{op: conv_transpose1d, in: [x, w], out: y, "
    "stride: 2}",
    "{i: {shape: [7], dtype: i64}, w: {shape: [5, 3], dtype: f32}, o: {shape: [3], dtype: i64}}|{op: embedding_bag, "
    "in: "
    "[i, w, o], out: y, mode: sum}",
    "{i: {shape: [7], dtype: i64}, w: {shape: [5, 3], dtype: f32}, o: {shape: [3], dtype: i64}}|{op: embedding_bag, "
    "in: "
    "[i, w, o], out: y, mode: mean}",
    "{i: {shape: [7], dtype: i64}, w: {shape: [5, 3], dtype: f32}, o: {shape: [3], dtype: i64}}|{op: embedding_bag, "
    "in: "
    "[i, w, o], out: y, mode: max}",
    "{x: {shape: [3, 4], dtype: f32}}|{op: norm, in: x, out: y, p: 1, dims: [1]}",
    "{x: {shape: [3, 4], dtype: f32}}|{op: norm, in: x, out: y, p: 3, dims: [0]}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: prod, in: x, out: y, dims: [1]}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: cumprod, in: x, out: y, dim: 0}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: cumsum, in: x, out: y, dim: 0}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: argmax, in: x, out: y, dim: 1}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: argmin, in: x, out: y, dim: 0}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: sort, in: x, out: [y, i], dim: 0}",
    "{x: {shape: [3, 5], dtype: f32}}|{op: topk, in: x, out: [y, i], dim: 1, k: 2}",
};

/* What bounds are, on average, beside what some corner reaches: the same, but where errors that go one way cancel;
 * where waves turn within the box; of several factors; of products, whose bounds are five standard deviations; of what
 * any element of a sorted row may do, or of a bag. */
static double most_wide(fsim_op op)
{
    static const struct {
        fsim_op op;
        double wide;
    } more_than_once[] = {{FSIM_OP_ADD, 1.0236},
                          {FSIM_OP_SUB, 1.0792},
                          {FSIM_OP_SIN, 1.1330},
                          {FSIM_OP_COS, 2.1135},
                          {FSIM_OP_PROD, 1.0015},
                          {FSIM_OP_NORM, 1.1287},
                          {FSIM_OP_MATMUL, 3.2055},
                          {FSIM_OP_BMM, 3.8326},
                          {FSIM_OP_LINEAR, 3.1583},
                          {FSIM_OP_EINSUM, 3.4592},
                          {FSIM_OP_CONV1D, 3.4727},
                          {FSIM_OP_CONV2D, 3.3206},
                          {FSIM_OP_CONV_TRANSPOSE1D, 3.2161},
                          {FSIM_OP_CONV_TRANSPOSE2D, 3.4937},
                          {FSIM_OP_CONV1D_WEIGHT, 3.1196},
                          {FSIM_OP_CONV2D_WEIGHT, 3.5092},
                          {FSIM_OP_INTERPOLATE, 1.0502},
                          {FSIM_OP_CUMPROD, 1.0011},
                          {FSIM_OP_SORT, 26.2280},
                          {FSIM_OP_TOPK, 16.7044},
                          {FSIM_OP_EMBEDDING_BAG, 1.1868}};
    for (size_t i = 0; i < sizeof more_than_once / sizeof *more_than_once; i++)
        if (more_than_once[i].op == op)
            return more_than_once[i].wide;
    return 1;
}

static void results_lie_within_their_bounds(void **unused)
{
    (void)unused;
    static const fsim_derive modes[] = {{.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL},
                                        {.mode = FSIM_TANGENTS, .want = FSIM_WANT_ALL}};
    static tally sums;
    state = 1;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (int derived = 0; derived < 3 && fsim_op_parse(fsim_ops[op].name, &named); derived++) {
            fsim_arena *a = fsim_arena_new();
            const char *text = made_small(a, fsim_example(a, (fsim_op)op)), *f16;
            while ((f16 = strstr(text, "f16")))
                text = fsim_printf(a, "%.*sf32%s", (int)(f16 - text), text, f16 + 3);
            const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "example.yaml", text, strlen(text),
                                                   &(fsim_bindings){.derive = derived ? &modes[derived - 1] : NULL});
            int64_t elems = 0;
            for (int t = 0; g && t < g->tensors; t++)
                elems += g->tensor[t].elems;
            if (g && elems < MOST_ELEMS && !fsim_reference_lacks(g))
                look_at(g, &sums);
            fsim_arena_free(a);
        }
    }
    const size_t rows = sizeof more / sizeof *more;
    long long needless = 0; /* without the gradients of bags, which look at more */
    for (size_t k = 0; k < 2 * rows;
         k++) /* gradients of bags last, so that what is drawn for the others stays the same */
        for (int derived = 0; derived < 3; derived++) {
            const size_t i = k % rows;
            needless = k < rows || (k == rows && derived == 0) ? (long long)sums.needless : needless;
            if ((derived > 0 && modes[derived - 1].mode == FSIM_REVERSE && strstr(more[i], "embedding_bag")) !=
                (k >= rows))
                continue;
            fsim_arena *a = fsim_arena_new();
            const char *cut = strchr(more[i], '|'), *text = fsim_printf(a, "tensors: %.*s\noperators: [%s]\n",
                                                                        (int)(cut - more[i]), more[i], cut + 1);
            fsim_diag *d = fsim_diag_new(a);
            const fsim_graph *g = fsim_graph_parse(a, d, "more.yaml", text, strlen(text),
                                                   &(fsim_bindings){.derive = derived ? &modes[derived - 1] : NULL});
            if (!g && !derived)
                fsim_diag_print(d, stderr, false);
            assert_true(g || derived);
            for (int n = 0; g && n < g->nodes; n++)
                sums.looked[g->node[n].op] = 0;
            if (g)
                look_at(g, &sums);
            fsim_arena_free(a);
        }
    int loose = 0, looked = 0;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        const double wider = sums.offs[op] > 0 ? sums.bounds[op] / sums.offs[op] : 1;
        loose += sums.loose[op];
        looked += sums.looked[op] > 0;
        if (wider > most_wide((fsim_op)op) * (1 + 1e-4))
            fail_msg("bounds of %s are %.5f times what its corners reach", fsim_ops[op].name, wider);
    }
    printf("%d operators; %d results are said to jump\n", looked, loose);
    printf("%lld elements, %lld may be anything, %lld more are said to be\n", (long long)sums.elements,
           (long long)sums.anything, (long long)sums.needless);
    assert_true(looked >= LOOKED && loose <= LOOSE && sums.anything >= 8879 && needless <= 37768);
}

static double value_of(const fsim_reference *r, const char *name, int64_t i, double *bound)
{
    for (int t = 0; t < r->graph->tensors; t++)
        if (strcmp(r->graph->tensor[t].name, name) == 0) {
            *bound = r->of[t].bound[i];
            return r->of[t].value[i];
        }
    fail_msg("no %s", name);
    return NAN;
}

static fsim_graph *graph_of(fsim_arena *a, const char *text)
{
    fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "text.yaml", text, strlen(text), NULL);
    assert_non_null(g);
    return g;
}

/* Of equal elements the first is the largest and the least; which one a kernel takes is not told. */
static void the_first_of_equal_elements(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = graph_of(a, "tensors: {x: {shape: [2, 4], dtype: f32}}\noperators:\n"
                                      "  - {op: clamp, in: x, out: c, min: 3, max: 3}\n"
                                      "  - {op: argmax, in: c, out: most, dim: 1}\n  - {op: argmin, in: c, out: least, "
                                      "dim: 1}\n  - {op: argmax, in: x, out: clear, dim: 1}\n");
    fsim_reference *r = fsim_reference_of(g, 1);
    double bound, clear = -1;
    for (int row = 0; row < 2; row++) {
        assert_true(value_of(r, "most", row, &bound) == 0 && isinf(bound));
        assert_true(value_of(r, "least", row, &bound) == 0 && isinf(bound));
        for (int k = 0; k < 4; k++)
            if (clear < 0 || value_of(r, "x", 4 * row + k, &bound) > value_of(r, "x", 4 * row + (int)clear, &bound))
                clear = k;
        assert_true(value_of(r, "clear", row, &bound) == clear && bound == 0);
        clear = -1;
    }
    fsim_reference_free(r);
    fsim_arena_free(a);
}

/* What is computed from a result that is made up is made up, whichever argument it is. */
static void what_is_made_up_makes_others_so(void **unused)
{
    (void)unused;
    static const char *const names[] = {"made", "first", "second", "further", "known"};
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g =
        graph_of(a, "tensors: {x: {shape: [4], dtype: f32}}\noperators:\n"
                    "  - {op: custom, in: x, out: made}\n  - {op: add, in: [made, x], out: first}\n"
                    "  - {op: add, in: [x, made], out: second}\n"
                    "  - {op: mul, in: [first, x], out: further}\n  - {op: exp, in: x, out: known}\n");
    fsim_reference *r = fsim_reference_of(g, 1);
    for (int i = 0; i < 5; i++) {
        int t = 0;
        while (strcmp(g->tensor[t].name, names[i]) != 0)
            t++;
        assert_true((r->unknown[t] != NULL) == (i < 4));
        assert_true(i > 3 || strcmp(r->unknown[t], "a custom operator makes it") == 0);
    }
    fsim_reference_free(r);
    fsim_arena_free(a);
}

/* A tensor whose values overflow says nothing: inputs are 8 times smaller then, or 64 times, or 512; where that is not
 * enough, as they were. */
static void inputs_that_overflow_are_smaller(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        double times;                                               /* smaller */
    } cases[] = {{"  - {op: pow, in: x, out: y, scalar: 16}\n", 1}, /* numbers end at 256 to the 16th; x is below 1 */
                 {"  - {op: mul, in: x, out: s, scalar: 800}\n  - {op: pow, in: s, out: y, scalar: 16}\n", 8},
                 {"  - {op: mul, in: x, out: s, scalar: 6400}\n  - {op: pow, in: s, out: y, scalar: 16}\n", 64},
                 {"  - {op: mul, in: x, out: s, scalar: 51200}\n  - {op: pow, in: s, out: y, scalar: 16}\n", 512},
                 {"  - {op: mul, in: x, out: s, scalar: 5120000}\n  - {op: pow, in: s, out: y, scalar: 16}\n", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *g =
            graph_of(a, fsim_printf(a, "tensors: {x: {shape: [40], dtype: f32}}\noperators:\n%s", cases[i].operators));
        fsim_reference *usual = fsim_reference_of(g, 1), *r = fsim_reference_finite(g, 1, NULL, NULL);
        double bound;
        for (int k = 0; k < 40; k++) {
            const double wanted = value_of(usual, "x", k, &bound) / cases[i].times, got = value_of(r, "x", k, &bound);
            if (fabs(got - wanted) > 1e-6 * fabs(wanted))
                fail_msg("case %zu: %g, wanted %g", i, got, wanted);
        }
        fsim_reference_free(usual);
        fsim_reference_free(r);
        fsim_arena_free(a);
    }
}

/* How far a whole tensor is off: differences of 0.5 beside values of 3 and 4 are 0.1 of the size. */
static void a_tensor_is_off(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = graph_of(a, "tensors: {x: {shape: [2], dtype: f32}}\noperators:\n"
                                      "  - {op: clamp, in: x, out: c, min: 3, max: 3}\n"
                                      "  - {op: arange, in: [], out: i, start: 0, end: 2, dtype: f32}\n"
                                      "  - {op: add, in: [c, i], out: y}\n");
    fsim_reference *r = fsim_reference_of(g, 1);
    int y = 0;
    while (strcmp(g->tensor[y].name, "y") != 0)
        y++;
    assert_true(r->of[y].value[0] == 3 && r->of[y].value[1] == 4 && r->of[y].bound[0] == 0);
    const float right[] = {3, 4}, off[] = {3, 4.5f}, none[] = {NAN, 4};
    fsim_comparison c = fsim_reference_compare(r, y, right);
    assert_true(c.at == -1 && c.wrong == 0 && c.compared == 2 && c.elems == 2 && c.finite == 2 && c.off == 0 &&
                c.worst == 0 && c.spread == 0);
    assert_true(fsim_comparison_tells(&c) && !fsim_comparison_drifts(&c));
    c = fsim_reference_compare(r, y, off);
    assert_true(c.at == 1 && c.wrong == 1 && c.got == 4.5 && c.wanted == 4 && c.bound == 0);
    assert_true(fabs(c.off - 0.1) < 1e-12 && isinf(c.worst));
    c = fsim_reference_compare(r, y, none);
    assert_true(c.at == 0 && c.wrong == 1 && isnan(c.got));
    fsim_reference_free(r);
    fsim_arena_free(a);
    /* 9 of 10 elements are enough, where one is a number; twice the usual deviation is not too much */
    const fsim_comparison tells[] = {{.elems = 10, .compared = 9, .finite = 1},
                                     {.elems = 10, .compared = 8, .finite = 8},
                                     {.elems = 10, .compared = 10, .finite = 0}},
                          drifts[] = {{.off = 0x1p-7, .spread = 0.5, .usual = 0.2},
                                      {.off = 0x1p-7, .spread = 0.5, .usual = 0.25},
                                      {.off = 0x1p-8, .spread = 0.5, .usual = 0.2}};
    for (int i = 0; i < 3; i++)
        assert_true(fsim_comparison_tells(&tells[i]) == (i == 0) && fsim_comparison_drifts(&drifts[i]) == (i == 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_lie_within_their_bounds), cmocka_unit_test(the_first_of_equal_elements),
        cmocka_unit_test(what_is_made_up_makes_others_so), cmocka_unit_test(inputs_that_overflow_are_smaller),
        cmocka_unit_test(a_tensor_is_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the reference, of each operator's example and of its derivatives: a few elements of the arguments are known
 * within a bound only. At each corner of the box that these make, every result lies within its own bound; some corner
 * comes as close to that as the kind of operator says. What may be anything makes anything of what depends on it, and
 * of nothing else. cost: 1 */
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

enum { UNSURE = 5, MOST_ELEMS = 20000, EACH = 3, LOOKED = 140, LOOSE = 327 };

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
    free(exact.value), free(exact.bound), free(bounded.value), free(bounded.bound), free(corner.value),
        free(corner.bound), free(off);
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
    free(exact.value), free(exact.bound), free(bounded.value), free(bounded.bound), free(changed.value),
        free(changed.bound), free(moves);
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
    } more_than_once[] = {{FSIM_OP_ADD, 1.0438},
                          {FSIM_OP_SUB, 1.0462},
                          {FSIM_OP_SIN, 1.1584},
                          {FSIM_OP_COS, 2.1306},
                          {FSIM_OP_WHERE_OTHER, 1.0794},
                          {FSIM_OP_PROD, 1.0114},
                          {FSIM_OP_NORM, 1.0471},
                          {FSIM_OP_INTERPOLATE, 1.0413},
                          {FSIM_OP_CUMPROD, 1.1126},
                          {FSIM_OP_SORT, 23.0347},
                          {FSIM_OP_TOPK, 19.344},
                          {FSIM_OP_EMBEDDING_BAG, 1.1979},
                          {FSIM_OP_MATMUL, 3.4179},
                          {FSIM_OP_BMM, 3.1577},
                          {FSIM_OP_LINEAR, 3.5882},
                          {FSIM_OP_EINSUM, 3.4676},
                          {FSIM_OP_CONV1D, 3.2597},
                          {FSIM_OP_CONV2D, 3.2065},
                          {FSIM_OP_CONV_TRANSPOSE1D, 3.398},
                          {FSIM_OP_CONV_TRANSPOSE2D, 3.4185},
                          {FSIM_OP_CONV1D_WEIGHT, 3.2733},
                          {FSIM_OP_CONV2D_WEIGHT, 3.3988}};
    for (size_t i = 0; i < sizeof more_than_once / sizeof *more_than_once; i++)
        if (more_than_once[i].op == op)
            return more_than_once[i].wide;
    return 1;
}

static void results_lie_within_their_bounds(void **unused)
{
    (void)unused;
    static const fsim_derive back = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL};
    static tally sums;
    state = 1;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (int derived = 0; derived < 2 && fsim_op_parse(fsim_ops[op].name, &named); derived++) {
            fsim_arena *a = fsim_arena_new();
            const char *text = made_small(a, fsim_example(a, (fsim_op)op)), *f16;
            while ((f16 = strstr(text, "f16")))
                text = fsim_printf(a, "%.*sf32%s", (int)(f16 - text), text, f16 + 3);
            const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "example.yaml", text, strlen(text),
                                                   &(fsim_bindings){.derive = derived ? &back : NULL});
            int64_t elems = 0;
            for (int t = 0; g && t < g->tensors; t++)
                elems += g->tensor[t].elems;
            if (g && elems < MOST_ELEMS && !fsim_reference_lacks(g))
                look_at(g, &sums);
            fsim_arena_free(a);
        }
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (int derived = 0; derived < 2; derived++) {
            fsim_arena *a = fsim_arena_new();
            const char *cut = strchr(more[i], '|'), *text = fsim_printf(a, "tensors: %.*s\noperators: [%s]\n",
                                                                        (int)(cut - more[i]), more[i], cut + 1);
            fsim_diag *d = fsim_diag_new(a);
            const fsim_graph *g = fsim_graph_parse(a, d, "more.yaml", text, strlen(text),
                                                   &(fsim_bindings){.derive = derived ? &back : NULL});
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
    assert_true(looked >= LOOKED && loose <= LOOSE && sums.anything >= 6482 && sums.needless <= 22668);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_lie_within_their_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

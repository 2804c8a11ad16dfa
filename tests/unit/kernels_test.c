/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 10 */
/* Generated kernels of random graphs, compiled as C and run: optimal, greedy and maximal plans must give what the
 * reference gives. FUSESIM_RANDOM_GRAPHS sets how many (bench/kernels.sh runs 200); a failing one prints its seed and
 * its workload. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "random.h"
#include "validate/device/backends.h"
#include "validate/trial/run.h"

#if defined(FSIM_SANITIZED) || defined(__clang__)
enum { GRAPHS = 6 };
#else
enum { GRAPHS = 25 };
#endif

enum { FULL, ROW, COLUMN, NARROW }; /* [R, C]; [R, 1]; [C]; [R, C] of two bytes an element */
enum { MOST = 40 };

typedef struct {
    fsim_arena *a;
    const char *text, *name[MOST];
    int kind[MOST], count, rows, columns;
} draft;

static int pick(const draft *d, unsigned kinds)
{
    int at = (int)draw((uint32_t)d->count);
    while (!(kinds >> d->kind[at] & 1))
        at = (at + 1) % d->count;
    return at;
}

static void add(draft *d, const char *out, int kind, const char *line)
{
    d->text = fsim_printf(d->a, "%s%s", d->text, line);
    d->name[d->count] = out;
    d->kind[d->count++] = kind;
}

/* One more operator, on what there is. */
static void grow(draft *d, int i)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sigmoid", "gelu", "abs"}, *const binary[] = {
                                                                                                     "add", "mul",
                                                                                                     "maximum", "sub"};
    static const char *const reduce[] = {"sum", "max", "mean", "min"};
    const char *out = fsim_printf(d->a, "t%d", i), *last = d->name[d->count - 1];
    const int any = pick(d, 15), full = pick(d, 1 << FULL), wide = pick(d, 1 << FULL | 1 << NARROW);
    const bool square = d->rows == d->columns, follow = draw(2) && d->kind[d->count - 1] == FULL;
    const char *x = follow ? last : d->name[full];
    switch (draw(19)) {
    case 0:
    case 1:
    case 2:
        add(d, out, d->kind[any],
            fsim_printf(d->a, "  - {op: %s, in: %s, out: %s}\n", unary[draw(7)], d->name[any], out));
        break;
    case 3:
    case 4:
    case 5:
        add(d, out, FULL,
            fsim_printf(d->a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(4)], x, d->name[any], out));
        break;
    case 6:
        add(d, out, ROW,
            fsim_printf(d->a, "  - {op: %s, in: %s, out: %s, dims: [1], keepdim: true}\n", reduce[draw(4)], x, out));
        break;
    case 7:
        add(d, out, COLUMN, fsim_printf(d->a, "  - {op: %s, in: %s, out: %s, dims: [0]}\n", reduce[draw(4)], x, out));
        break;
    case 8:
        add(d, out, FULL, fsim_printf(d->a, "  - {op: softmax, in: %s, out: %s, dim: %d}\n", x, out, (int)draw(2)));
        break;
    case 9:
        add(d, out, FULL, fsim_printf(d->a, "  - {op: layer_norm, in: %s, out: %s}\n", x, out));
        break;
    case 10:
        add(d, out, NARROW,
            fsim_printf(d->a, "  - {op: cast, in: %s, out: %s, dtype: %s}\n", x, out, draw(2) ? "f16" : "bf16"));
        break;
    case 11:
        add(d, out, FULL,
            square ? fsim_printf(d->a, "  - {op: matmul, in: [%s, %s], out: %s}\n", x, d->name[full], out)
                   : fsim_printf(d->a, "  - {op: matmul, in: [%s, w], out: %s}\n", x, out));
        break;
    case 12:
        add(d, out, FULL,
            square ? fsim_printf(d->a, "  - {op: transpose, in: %s, out: %s, dims: [0, 1]}\n", x, out)
                   : fsim_printf(d->a, "  - {op: flip, in: %s, out: %s, dims: [%d]}\n", x, out, (int)draw(2)));
        break;
    case 13:
        add(d, out, FULL,
            fsim_printf(d->a, "  - {op: roll, in: %s, out: %s, dims: [%d], roll: [%d]}\n", x, out, (int)draw(2),
                        1 + (int)draw(3)));
        break;
    case 14:
        add(d, out, FULL, fsim_printf(d->a, "  - {op: gather, in: [%s, at], out: %s}\n", x, out));
        break;
    case 15:
        add(d, out, FULL, fsim_printf(d->a, "  - {op: dropout, in: %s, out: %s, p: 0.5}\n", x, out));
        break;
    case 16: { /* halves of rows, the other way round */
        const int half = d->columns / 2;
        d->text = fsim_printf(d->a,
                              "%s  - {op: slice, in: %s, out: %sl, dim: 1, start: 0, size: %d}\n  - {op: slice, in: "
                              "%s, out: %sh, dim: 1, start: %d, size: %d}\n",
                              d->text, x, out, half, x, out, half, d->columns - half);
        add(d, out, FULL, fsim_printf(d->a, "  - {op: concat, in: [%sh, %sl], out: %s, dim: 1}\n", out, out, out));
        break;
    }
    case 17:
        add(d, out, FULL, fsim_printf(d->a, "  - {op: cumsum, in: %s, out: %s, dim: %d}\n", x, out, (int)draw(2)));
        break;
    default:
        add(d, out, FULL,
            fsim_printf(d->a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(3)], x, d->name[wide], out));
    }
}

static const char *random_workload(fsim_arena *a, int operators)
{
    static const int rows[] = {5, 33, 64, 200}, columns[] = {6, 64, 100, 260};
    draft d = {.a = a,
               .name = {"x0", "x1", "b", "r"},
               .kind = {FULL, FULL, COLUMN, ROW},
               .count = 4,
               .rows = rows[draw(4)],
               .columns = columns[draw(4)]};
    if (draw(3) == 0)
        d.rows = d.columns = draw(2) ? 64 : 48;
    d.text = fsim_printf(a,
                         "name: random\ntensors:\n  x0: {shape: [%d, %d], dtype: f32, role: input}\n  x1: {shape: [%d, "
                         "%d], dtype: f32, role: input}\n  b: {shape: [%d], dtype: f32, role: weight}\n"
                         "  r: {shape: [%d, 1], dtype: f32, role: input}\n  w: {shape: [%d, %d], dtype: f32, role: "
                         "weight}\n  at: {shape: [%d], dtype: i64, role: input}\noperators:\n",
                         d.rows, d.columns, d.rows, d.columns, d.columns, d.rows, d.columns, d.columns, d.rows);
    for (int i = 0; i < operators; i++)
        grow(&d, i);
    return d.text;
}

/* As where there are more points than 31 bits count. */
static void widen(fsim_trial *t, fsim_arena *a)
{
    for (int p = 0; p < t->plans; p++)
        for (int k = 0; k < t->plan[p].plan.kernels; k++)
            if (t->plan[p].program[k].source)
                t->plan[p].program[k].source = fsim_printf(a, "#define FS_WIDE\n%s", t->plan[p].program[k].source);
}

static fsim_device *open_host(fsim_arena *a, fsim_fault *fault)
{
    return fsim_device_open(FSIM_DEVICE_CPU, &(fsim_device_options){.threads = 1}, a, fault);
}

static void random_graphs(void **state_)
{
    (void)state_;
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_GREEDY, FSIM_STRATEGY_MAXIMAL};
    const char *asked = getenv("FUSESIM_RANDOM_GRAPHS");
    const int graphs = asked ? atoi(asked) : GRAPHS;
    fsim_arena *all = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(all);
    fsim_fault fault = {0};
    fsim_device *r = open_host(all, &fault);
    fsim_hw *hw = fsim_hw_read(all, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    int kernels = 0, wrong = 0, untold = 0;
    if (!r)
        skip();
    assert_non_null(hw);
    for (int seed = 1; seed <= graphs; seed++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *quiet = fsim_diag_new(a);
        state = (uint64_t)seed;
        const char *text = random_workload(a, 3 + (int)draw(12));
        const fsim_graph *g = fsim_graph_parse(a, quiet, "random.yaml", text, strlen(text), NULL);
        const fsim_options options = {.strategy = FSIM_STRATEGY_OPTIMAL,
                                      .regime = FSIM_REGIME_STREAM,
                                      .search_steps = 60000}; /* any plan will do */
        if (!g)
            fsim_diag_print(quiet, stderr, false);
        assert_non_null(g);
        fsim_trial t = fsim_trial_of(g, hw, &options, strategy, 3, a);
        if (seed % 3 == 0)
            widen(&t, a);
        assert_true(fsim_trial_check(&t, r, &(fsim_trial_source){.most_s = 10}, &fault));
        assert_int_equal(t.scale, 1);
        for (int p = 0; p < t.plans; p++) {
            kernels += t.plan[p].checked;
            untold += t.plan[p].untold;
            assert_int_equal(t.plan[p].checked + t.plan[p].untold + t.plan[p].skipped, t.plan[p].plan.kernels);
            assert_int_equal(t.plan[p].skipped, 0);
            if (t.plan[p].wrong == 0)
                continue;
            wrong += t.plan[p].wrong;
            fprintf(stderr, "seed %d, %s: %s\n%s", seed, fsim_strategy_names[t.plan[p].strategy], t.plan[p].first_wrong,
                    text);
        }
        fsim_arena_free(a);
    }
    printf("%d kernels of %d random graphs, %d wrong, %d not compared\n", kernels, graphs, wrong, untold);
    r->backend->close(r);
    fsim_arena_free(all);
    assert_int_equal(wrong, 0);
    assert_true(untold * 10 <= kernels);
}

static const fsim_graph *two_dimensions(const char *dtype, int rows, int columns, const char *op, fsim_arena *a)
{
    const char *text = fsim_printf(
        a,
        "name: plans\ntensors:\n  x: {shape: [%d, %d], dtype: %s, role: input}\noperators:\n  - {%s}\noutputs: [y]\n",
        rows, columns, dtype, op);
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "plans.yaml", text, strlen(text), NULL);
    assert_non_null(g);
    return g;
}

/* e to the e to the e to the 4 x is beyond f16 for most x of ordinary size: the inputs are made smaller. */
static void inputs_that_overflow_are_made_smaller(void **state_)
{
    (void)state_;
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_MAXIMAL, FSIM_STRATEGY_EAGER};
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_device *r = open_host(a, &fault);
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    if (!r)
        skip();
    const fsim_graph *g = two_dimensions("f16", 16, 64,
                                         "op: mul, in: x, out: z, scalar: 4}\n  - {op: exp, in: z, out: a}\n  - {op: "
                                         "exp, in: a, out: b}\n  - {op: exp, in: b, out: y",
                                         a);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 600000};
    fsim_trial t = fsim_trial_of(g, hw, &options, strategy, 2, a);
    assert_true(fsim_trial_check(&t, r, &(fsim_trial_source){.most_s = 10}, &fault));
    assert_int_equal(t.plans, 2);
    for (int p = 0; p < t.plans; p++) {
        assert_int_equal(t.plan[p].checked, t.plan[p].plan.kernels);
        assert_int_equal(t.plan[p].wrong, 0);
    }
    r->backend->close(r);
    fsim_arena_free(a);
}

/* Outputs of two plans, the second rounded otherwise; then with few elements wrong. */
static void few_wrong_elements_of_a_plan_are_told(void **state_)
{
    (void)state_;
    enum { ROWS = 64, COLUMNS = 4096, ELEMS = ROWS * COLUMNS };
    static const char *const names[] = {"f32", "f16", "bf16"};
    static const fsim_dtype types[] = {FSIM_F32, FSIM_F16, FSIM_BF16};
    static const double rounding[] = {1e-6, 1e-3, 8e-3};
    fsim_arena *a = fsim_arena_new();
    for (int k = 0; k < 3; k++) {
        const fsim_graph *g = two_dimensions(names[k], ROWS, COLUMNS, "op: relu, in: x, out: y", a),
                         *jumping = two_dimensions(names[k], ROWS, COLUMNS, "op: sort, in: x, out: y, dim: 1", a);
        const int y = g->node[g->nodes - 1].result[0], sorted = jumping->node[jumping->nodes - 1].result[0];
        void *one = calloc(ELEMS, sizeof(double)), *other = calloc(ELEMS, sizeof(double));
        state = 5;
        for (int i = 0; i < ELEMS; i++) {
            const double v = ((double)draw(2001) - 1000) / 500;
            fsim_set_element(types[k], one, i, v);
            fsim_set_element(types[k], other, i, v * (1 + rounding[k] * ((double)draw(201) - 100) / 100));
        }
        assert_null(fsim_difference_text(g, y, &(fsim_two_results){one, other, "eager"}, a));
        const double was = fsim_element(types[k], other, 777);
        fsim_set_element(types[k], other, 777, was > 0 ? was - 1.5 : was + 1.5);
        const char *told = fsim_difference_text(g, y, &(fsim_two_results){one, other, "eager"}, a);
        assert_non_null(told);
        assert_non_null(strstr(told, "y: 1 of 262144 elements differ from the result of eager"));
        if (types[k] != FSIM_F32) /* where one element outweighs the rounding of all */
            assert_null(fsim_difference_text(jumping, sorted, &(fsim_two_results){one, other, "eager"}, a));
        fsim_set_element(types[k], other, 777, was);
        fsim_set_element(types[k], one, 3, (double)NAN);
        told = fsim_difference_text(g, y, &(fsim_two_results){one, other, "eager"}, a);
        assert_non_null(told);
        assert_non_null(strstr(told, "y: 1 of 262144 elements are finite in only one"));
        fsim_set_element(types[k], other, 3, (double)NAN);
        assert_null(fsim_difference_text(g, y, &(fsim_two_results){one, other, "eager"}, a));
        free(one);
        free(other);
    }
    fsim_arena_free(a);
}

/* An output of f32 that comes of values rounded to bf16 differs as they do; one that does not is not excused. */
static void results_are_as_close_as_what_they_come_of(void **state_)
{
    (void)state_;
    enum { ROWS = 64, COLUMNS = 64, ELEMS = ROWS * COLUMNS };
    static const struct {
        const char *dtype, *operators;
        bool agree;
    } cases[] = {{"f32",
                  "op: cast, in: x, out: h, dtype: bf16}\n  - {op: exp, in: h, out: e}\n  - {op: cast, in: e, out: "
                  "y, dtype: f32",
                  true},
                 {"f32", "op: exp, in: x, out: h}\n  - {op: relu, in: h, out: y", false},
                 {"bf16", "op: cast, in: x, out: y, dtype: f32", false}}; /* all plans read the same input */
    fsim_arena *a = fsim_arena_new();
    float *one = calloc(ELEMS, sizeof *one), *other = calloc(ELEMS, sizeof *other);
    state = 7;
    for (int i = 0; i < ELEMS; i++) {
        one[i] = (float)draw(2001) / 500;
        other[i] = one[i] * (float)(1 + 0.01 * ((double)draw(201) - 100) / 100);
    }
    for (int k = 0; k < 3; k++) {
        const fsim_graph *g = two_dimensions(cases[k].dtype, ROWS, COLUMNS, cases[k].operators, a);
        const char *told =
            fsim_difference_text(g, g->node[g->nodes - 1].result[0], &(fsim_two_results){one, other, "eager"}, a);
        assert_int_equal(told == NULL, cases[k].agree);
    }
    free(one);
    free(other);
    fsim_arena_free(a);
}

/* An offset that is wrong by a power of two reads other values, in tensors too large to be filled number by number. */
static void rows_of_large_inputs_differ(void **state_)
{
    (void)state_;
    enum { ROWS = 3, COLUMNS = 1 << 20 };
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = two_dimensions("f32", ROWS, COLUMNS, "op: relu, in: x, out: y", a);
    void **bytes = fsim_new(a, void *, g->tensors);
    const float *x = bytes[0] = malloc((size_t)ROWS * COLUMNS * sizeof *x);
    int same = 0;
    assert_int_equal(g->tensor[0].elems, ROWS * COLUMNS);
    fsim_inputs_store(g, 1, bytes);
    for (int shift = 1 << 12; shift <= 1 << 20; shift *= 2)
        for (int i = 0; i < 1000; i++)
            same += memcmp(&x[i], &x[i + shift], sizeof *x) == 0;
    assert_int_equal(same, 0);
    free(bytes[0]);
    fsim_arena_free(a);
}

/* What is compared is numbers: -O1 compiles in half the time that the runner's -O3 takes. */
static int compile_quickly(void **unused)
{
    (void)unused;
    char command[256];
    const char *cc = getenv("CC");
    snprintf(command, sizeof command, "%s -O1", cc && *cc ? cc : "cc");
    return setenv("CC", command, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs), cmocka_unit_test(inputs_that_overflow_are_made_smaller),
        cmocka_unit_test(few_wrong_elements_of_a_plan_are_told),
        cmocka_unit_test(results_are_as_close_as_what_they_come_of), cmocka_unit_test(rows_of_large_inputs_differ)};
    return cmocka_run_group_tests(tests, compile_quickly, NULL);
}

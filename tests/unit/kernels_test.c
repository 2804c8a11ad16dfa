/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 2 */
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

#include "random_rows.h"
#include "validate/device/backends.h"
#include "validate/trial/run.h"

#if defined(FSIM_SANITIZED) || defined(__clang__)
enum { GRAPHS = 6 };
#else
enum { GRAPHS = 12 };
#endif

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
        const char *text = random_rows(a, 3 + (int)draw(12));
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

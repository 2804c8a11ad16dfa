/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 5 */
/* Graphs with derivatives whose searches and steps once read what was gone: under the sanitizers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GPUS = 1 };
#else
enum { GPUS = 3 };
#endif

/* A batch norm as training in mixed precision has it: its sums and its parameters are f32, what it norms is not. */
static const char mixed[] =
    "name: mixed\ntensors:\n  x: {shape: [8, 16, 8, 8], dtype: f16, role: input}\n"
    "  g: {shape: [16], dtype: f32, role: weight}\n  b: {shape: [16], dtype: f32, role: weight}\n"
    "  m: {shape: [16], dtype: f32, role: weight}\n  v: {shape: [16], dtype: f32, role: weight}\n"
    "operators:\n  - {op: batch_norm, in: [x, g, b, m, v], out: y}\noutputs: [y]\n";

/* What makes its masks is left out of it, and prices are found for the rest. */
static const char pooled[] =
    "name: pooled\ntensors:\n  x: {shape: [2, 6, 41, 43], dtype: f16, role: input}\noperators:\n"
    "  - {op: max_pool2d, in: x, out: a, kernel: 3, stride: 2, padding: 1}\n"
    "  - {op: interpolate, in: a, out: b, size: [41, 43], mode: bilinear}\n  - {op: add, in: [b, x], out: c}\n"
    "  - {op: adaptive_max_pool2d, in: c, out: d, output_size: [7, 7]}\n"
    "  - {op: interpolate, in: d, out: y, scale_factor: 3, mode: bicubic}\n";

/* The tangent of a concat has as many arguments. */
static const char wide[] =
    "name: wide\ntensors:\n  a: {shape: [64, 3], dtype: f32}\n  b: {shape: [64, 3], dtype: f32}\n"
    "operators:\n  - {op: concat, in: [a, b, a, b, a, b, a, b], out: c, dim: 0}\n"
    "  - {op: exp, in: c, out: y}\n";

/* Attention has the backward pass of a library, one call, in the plans of all that may have it. */
static const char attention[] =
    "name: attention\ntensors:\n  q: {shape: [2, 8, 512, 64], dtype: f16}\n  k: {shape: [2, 8, 512, 64], dtype: f16}\n"
    "  v: {shape: [2, 8, 512, 64], dtype: f16}\noperators:\n  - {op: attention, in: [q, k, v], out: o, causal: true}\n";

static fsim_prediction predicted(fsim_arena *a, const char *text, const char *gpu, fsim_derive how, fsim_strategy shown)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpu));
    const fsim_graph *g = fsim_graph_parse(a, d, "derived.yaml", text, strlen(text), &(fsim_bindings){.derive = &how});
    if (!hw || !g)
        fsim_diag_print(d, stderr, false);
    assert_true(hw && g);
    const fsim_options o = {.strategy = shown, .regime = FSIM_REGIME_STREAM, .search_steps = 300000};
    return fsim_predict(g, hw, &o, a);
}

static void searches_are_taken_up_again(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {"l4", "h100-sxm5-80gb", "t4"};
    static const struct {
        const char *text;
        fsim_derive how;
    } cases[] = {{mixed, {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL}},
                 {pooled, {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL, .ones = true}},
                 {wide, {.mode = FSIM_TANGENTS}}};
    for (size_t i = 0; i < GPUS; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            fsim_arena *a = fsim_arena_new();
            const fsim_prediction p = predicted(a, cases[k].text, gpus[i], cases[k].how, FSIM_STRATEGY_OPTIMAL);
            assert_true(p.proof.lower_bound > 0 &&
                        p.plan[FSIM_STRATEGY_OPTIMAL].time_s < p.plan[FSIM_STRATEGY_EAGER].time_s);
            fsim_arena_free(a);
        }
}

/* Whichever plan is shown: none is faster than the best one, or than the bound. */
static void the_best_plan_has_the_calls_that_rivals_have(void **unused)
{
    (void)unused;
    static const fsim_strategy shown[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_EAGER, FSIM_STRATEGY_INDUCTOR};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_prediction p = predicted(a, attention, "a100-sxm4-40gb",
                                            (fsim_derive){.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL}, shown[i]);
        const double eager_s = p.plan[FSIM_STRATEGY_EAGER].time_s, best_s = p.plan[FSIM_STRATEGY_OPTIMAL].time_s;
        assert_true(best_s <= eager_s && p.proof.lower_bound <= best_s * (1 + 1e-12));
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(searches_are_taken_up_again),
                                       cmocka_unit_test(the_best_plan_has_the_calls_that_rivals_have)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 3 depends: once */
/* What is proven of plans around calls of a library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "predict.h"
#include <stdio.h>

static fsim_prediction predicted(int64_t steps, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    size_t bytes;
    const char *why, *path = FUSESIM_SOURCE_DIR "/workloads/llm/dense_prefill.yaml",
                     *text = fsim_read_file(a, path, &bytes, &why);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/b200.yaml");
    const fsim_binding weights[] = {{"weight_dtype", "f4e2m1"}};
    const fsim_graph *g = fsim_graph_parse(a, d, path, text, bytes, &(fsim_bindings){weights, 1, NULL});
    const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH, .search_steps = steps};
    if (!hw || !g)
        fsim_diag_print(d, stderr, false);
    assert_true(hw && g);
    return fsim_predict(g, hw, &o, a);
}

/* A short search ends with kernels that lie across the calls, so that none takes their place; a long one with a plan of
 * calls and own kernels, which is faster than the stack's. What is proven early may not exceed it. */
static void calls_that_do_not_fit_save_all_the_same(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_prediction early = predicted(300000, a), late = predicted(6000000, a);
    const double early_s = early.plan[FSIM_STRATEGY_OPTIMAL].time_s, late_s = late.plan[FSIM_STRATEGY_OPTIMAL].time_s;
    printf("early %.1f us, at least %.1f us; late %.1f us\n", early_s * 1e6, early.proof.lower_bound * 1e6,
           late_s * 1e6);
    assert_true(late_s < early_s && !early.proof.proven && early.proof.lower_bound <= late_s);
    assert_true(late.proof.lower_bound <= late_s && late.proof.lower_bound > 0.7 * late_s);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_that_do_not_fit_save_all_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

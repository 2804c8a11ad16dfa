/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 1 */
/* A search that was cut off is taken up again with contents of L2, by a budget of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict.h"
#include <stdio.h>
#include <string.h>

/* A batch norm as training in mixed precision has it: its sums and its parameters are f32, what it norms is not. */
static const char mixed[] =
    "name: mixed\ntensors:\n  x: {shape: [8, 16, 8, 8], dtype: f16, role: input}\n"
    "  g: {shape: [16], dtype: f32, role: weight}\n  b: {shape: [16], dtype: f32, role: weight}\n"
    "  m: {shape: [16], dtype: f32, role: weight}\n  v: {shape: [16], dtype: f32, role: weight}\n"
    "operators:\n  - {op: batch_norm, in: [x, g, b, m, v], out: y}\noutputs: [y]\n";

static void a_norm_in_mixed_precision_is_trained(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {"l4", "h100-sxm5-80gb", "t4"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_derive how = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL};
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpus[i]));
        const fsim_graph *g =
            fsim_graph_parse(a, d, "mixed.yaml", mixed, strlen(mixed), &(fsim_bindings){.derive = &how});
        if (!hw || !g)
            fsim_diag_print(d, stderr, false);
        assert_true(hw && g);
        const fsim_options o = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
        const fsim_prediction p = fsim_predict(g, hw, &o, a);
        assert_true(p.proof.lower_bound > 0 &&
                    p.plan[FSIM_STRATEGY_OPTIMAL].time_s < p.plan[FSIM_STRATEGY_EAGER].time_s);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_norm_in_mixed_precision_is_trained)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

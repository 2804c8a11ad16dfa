/* SPDX-License-Identifier: Apache-2.0 */
/* Products of our own with few rows: any kernel for more rows computes fewer, so that these never take longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include <string.h>

static const char gated[] = "symbols: {M: 16}\n"
                            "tensors:\n"
                            "  x: {shape: [M, 1024], dtype: f16}\n"
                            "  w: {shape: [4096, 1024], dtype: f16, role: weight}\n"
                            "  r: {shape: [M, 4096], dtype: f16}\n"
                            "operators:\n"
                            "  - {op: linear, in: [x, w], out: h}\n"
                            "  - {op: silu, in: h, out: a}\n"
                            "  - {op: mul, in: [a, r], out: y}\n"
                            "outputs: [y]\n"
                            "fuse: [[h, y]]\n",
                  experts[] = "symbols: {M: 16}\n"
                              "tensors:\n"
                              "  x: {shape: [M, 1024], dtype: bf16}\n"
                              "  w: {shape: [8, 1024, 2048], dtype: bf16, role: weight}\n"
                              "operators:\n"
                              "  - {op: einsum, in: [x, w], out: h, equation: \"th,ehf->etf\"}\n"
                              "  - {op: silu, in: h, out: a}\n"
                              "outputs: [a]\n"
                              "fuse: [[h, a]]\n",
                  threads[] = "symbols: {M: 16}\n"
                              "tensors:\n"
                              "  x: {shape: [M, 512], dtype: f32}\n"
                              "  w: {shape: [1024, 512], dtype: f32, role: weight}\n"
                              "operators:\n"
                              "  - {op: linear, in: [x, w], out: h}\n"
                              "  - {op: silu, in: h, out: y}\n"
                              "outputs: [y]\n"
                              "fuse: [[h, y]]\n";

/* The fastest plan, one kernel. */
static double seconds(const char *gpu, const char *text, int rows)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_binding set = {"M", fsim_printf(a, "%d", rows)};
    const fsim_graph *g = fsim_graph_parse(a, d, "w.yaml", text, strlen(text), &(fsim_bindings){&set, 1, NULL});
    const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpu));
    assert_true(g && hw);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .brief = true, .search_steps = 3000000};
    const fsim_prediction p = fsim_predict(g, hw, &options, a);
    const fsim_plan *best = &p.plan[FSIM_STRATEGY_OPTIMAL];
    assert_int_equal(best->kernels, 1);
    assert_true(p.proof.lower_bound <= best->time_s);
    const double out = best->time_s;
    fsim_arena_free(a);
    return out;
}

static void fewer_rows_take_no_longer(void **state)
{
    (void)state;
    static const char *const gpus[] = {"h100-sxm5-80gb", "a100-sxm4-80gb", "l4", "t4", "b200", "v100-pcie-32gb"};
    static const char *const texts[] = {gated, experts, threads};
    static const int rows[] = {1, 8, 15, 16, 17, 32};
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            double before = 0;
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                const double now = seconds(gpus[g], texts[t], rows[r]);
                if (now < before)
                    fail_msg("%s, workload %zu: %d rows take %.9g s, fewer %.9g s", gpus[g], t, rows[r], now, before);
                before = now;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fewer_rows_take_no_longer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs: from Python no less than where the host is not waited for, and a kernel alone no more. What
 * PyTorch launches, whatever our own plans may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include <string.h>

static const char text[] = "symbols: {M: 4096, H: 1024}\n"
                           "tensors:\n"
                           "  x: {shape: [M, H], dtype: f16}\n"
                           "  r: {shape: [M, H], dtype: f16}\n"
                           "  g: {shape: [H], dtype: f16, role: weight}\n"
                           "  w: {shape: [H, H], dtype: f16, role: weight}\n"
                           "operators:\n"
                           "  - {op: linear, in: [x, w], out: p}\n"
                           "  - {op: add, in: [p, r], out: s}\n"
                           "  - {op: rms_norm, in: [s, g], out: n}\n"
                           "  - {op: softmax, in: n, out: y, dim: -1}\n"
                           "outputs: [y]\n";

static double seconds_of(const char *gpu, const char *rows, fsim_maker maker, fsim_regime regime)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_binding set = {"M", rows};
    const fsim_graph *g = fsim_graph_parse(a, d, "w.yaml", text, strlen(text), &(fsim_bindings){&set, 1, NULL});
    const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpu));
    assert_true(g && hw);
    const fsim_strategy strategy = maker == FSIM_BY_FUSESIM    ? FSIM_STRATEGY_MAXIMAL
                                   : maker == FSIM_BY_INDUCTOR ? FSIM_STRATEGY_INDUCTOR
                                                               : FSIM_STRATEGY_EAGER;
    const fsim_options options = {.strategy = strategy, .regime = regime, .search_steps = 3000000};
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    fsim_plan plan;
    fsim_baseline(&p, strategy, a, &plan);
    const double seconds = fsim_plan_launched_by(&p, maker, &plan, a).time_s;
    fsim_arena_free(a);
    return seconds;
}

static void waiting_for_the_host_costs(void **state)
{
    (void)state;
    static const char *const gpus[] = {
        "l4",  "l40s",    "a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b200", "t4", "v100-sxm2-32gb",
        "a10", "rtx-4090"};
    static const fsim_maker makers[] = {FSIM_BY_FUSESIM, FSIM_BY_ATEN, FSIM_BY_INDUCTOR};
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        for (size_t m = 0; m < sizeof makers / sizeof *makers; m++)
            for (int size = 0; size < 3; size++) {
                const char *rows = (const char *const[]){"16", "1024", "65536"}[size];
                const double eager = seconds_of(gpus[g], rows, makers[m], FSIM_REGIME_EAGER),
                             stream = seconds_of(gpus[g], rows, makers[m], FSIM_REGIME_STREAM),
                             graph = seconds_of(gpus[g], rows, makers[m], FSIM_REGIME_GRAPH),
                             alone = seconds_of(gpus[g], rows, makers[m], FSIM_REGIME_KERNEL);
                if (!(stream <= eager && graph <= stream && alone <= stream))
                    fail_msg("%s, %s rows: eager %.9g, stream %.9g, graph %.9g, alone %.9g", gpus[g], rows, eager,
                             stream, graph, alone);
            }
}

/* The order of sums that our plans keep is nothing to PyTorch. */
static void strict_numerics_are_our_own(void **state)
{
    (void)state;
    static const fsim_strategy theirs[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_INDUCTOR};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    size_t bytes;
    const char *why, *path = FUSESIM_SOURCE_DIR "/workloads/ops/decode_attention.yaml";
    char *ops = fsim_read_file(a, path, &bytes, &why);
    assert_non_null(ops);
    const fsim_graph *g = fsim_graph_parse(a, d, path, ops, bytes, &(fsim_bindings){NULL, 0, NULL});
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    assert_true(g && hw);
    fsim_options options = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
    const fsim_prediction fast = fsim_predict(g, hw, &options, a);
    options.strict = true;
    const fsim_prediction strict = fsim_predict(g, hw, &options, a);
    for (size_t s = 0; s < sizeof theirs / sizeof *theirs; s++) {
        const fsim_plan *x = &fast.plan[theirs[s]], *y = &strict.plan[theirs[s]];
        assert_true(x->kernels == y->kernels && x->time_s == y->time_s && x->dram_read_bytes == y->dram_read_bytes);
    }
    for (int r = 0; r < FSIM_REGIME_KERNEL; r++)
        assert_true(fast.launched[r].eager_s == strict.launched[r].eager_s);
    assert_true(strict.plan[FSIM_STRATEGY_OPTIMAL].time_s > fast.plan[FSIM_STRATEGY_OPTIMAL].time_s);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waiting_for_the_host_costs),
                                       cmocka_unit_test(strict_numerics_are_our_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

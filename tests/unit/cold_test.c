/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that L2 holds nothing for: what they read and write passes DRAM, whoever launches them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/price/unmeasured.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include <string.h>

enum { LENGTHS = 12 };

typedef struct {
    double time_s, bytes, unmeasured;
} priced;

typedef struct {
    const char *hw, *change; /* change: an assignment to one of its keys, or NULL */
    fsim_maker maker;
    bool warm;
} machine;

/* The workload, which is one kernel of eager, as `on` launches it; the launch is not counted. */
static priced price_text(machine on, const char *text, const fsim_binding *set)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, on.hw));
    assert_true(hw && (!on.change || fsim_hw_set(a, d, hw, on.change)));
    const fsim_graph *g = fsim_graph_parse(a, d, "w.yaml", text, strlen(text), &(fsim_bindings){set, 1, NULL});
    assert_non_null(g);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_EAGER, .regime = FSIM_REGIME_GRAPH, .warm = on.warm, .search_steps = 3000000};
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    fsim_plan plan;
    fsim_baseline(&p, FSIM_STRATEGY_EAGER, a, &plan);
    const fsim_plan launched = fsim_plan_launched_by(&p, on.maker, &plan, a);
    assert_int_equal(launched.kernels, 1);
    const fsim_kernel *k = launched.kernel;
    const priced out = {k->time_s - k->time[FSIM_LAUNCH], (double)(k->dram_read_bytes + k->dram_write_bytes),
                        fsim_unmeasured_spread(g, hw, on.maker, k)};
    fsim_arena_free(a);
    return out;
}

/* workloads/ops/NAME with symbol = value. */
static priced price_of(machine on, const char *name, const char *symbol, int value)
{
    fsim_arena *a = fsim_arena_new();
    size_t bytes;
    const char *why, *path = fsim_printf(a, "%s/workloads/ops/%s.yaml", FUSESIM_SOURCE_DIR, name);
    const char *text = fsim_read_file(a, path, &bytes, &why);
    assert_non_null(text);
    const fsim_binding set = {symbol, fsim_printf(a, "%d", value)};
    const priced out = price_text(on, text, &set);
    fsim_arena_free(a);
    return out;
}

static const struct {
    const char *name, *symbol;
    int least, most; /* of the symbol: on some GPUs L2 holds the least, on none the most */
} calls[] = {{"quantize_static", "M", 128, 16384}, {"quantize_token", "M", 128, 16384},
             {"decode_attention", "B", 1, 32},     {"decode_mla", "B", 1, 64},
             {"context_attention", "B", 1, 8},     {"context_mla", "B", 1, 8},
             {"matmul_f8_block", "M", 1, 16384},   {"matmul_f8_token", "M", 1, 16384},
             {"matmul_w8", "M", 1, 16384},         {"attention", "B", 1, 8}};
enum { CALLS = sizeof calls / sizeof *calls };
static const char *const gpus[] = {"l4", "l40s", "h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-5090", "b200"};
static const double peak[] = {300e9, 864e9, 3350e9, 2039e9, 1792e9, 8000e9};
enum { GPUS = sizeof gpus / sizeof *gpus };

static void no_kernel_beats_dram(void **state)
{
    (void)state;
    for (int c = 0; c < CALLS; c++)
        for (int g = 0; g < GPUS; g++)
            for (int value = calls[c].least; value <= calls[c].most; value *= 4) {
                const priced k = price_of((machine){gpus[g], NULL, FSIM_BY_TENSORRT_LLM, false}, calls[c].name,
                                          calls[c].symbol, value);
                if (!(k.bytes / k.time_s <= peak[g] * 1.01))
                    fail_msg("%s, %s=%d on %s: %.0f GB/s", calls[c].name, calls[c].symbol, value, gpus[g],
                             k.bytes / k.time_s / 1e9);
            }
}

/* A cache that grows past what L2 holds takes longer, step by step, and no longer where L2 is larger. */
static void more_work_takes_longer(void **state)
{
    (void)state;
    static const fsim_maker makers[] = {FSIM_BY_ATEN, FSIM_BY_VLLM};
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
        const machine l40s = {"l40s", NULL, makers[m], false}, larger = {"l40s", "l2_capacity=2x", makers[m], false};
        double before = 0;
        for (int batch = 1; batch <= LENGTHS; batch++) {
            const double seconds = price_of(l40s, "decode_attention", "B", batch).time_s;
            assert_true(seconds > before);
            assert_true(batch < 3 || seconds < before * 1.6);
            assert_true(price_of(larger, "decode_attention", "B", batch).time_s <= seconds);
            before = seconds;
        }
    }
}

/* What L2 holds at the start costs no DRAM. */
static void warm_is_faster(void **state)
{
    (void)state;
    const machine cold = {"l40s", NULL, FSIM_BY_VLLM, false}, warm = {"l40s", NULL, FSIM_BY_VLLM, true};
    const priced first = price_of(cold, "decode_attention", "B", 4), again = price_of(warm, "decode_attention", "B", 4);
    assert_true(again.bytes < 0.01 * first.bytes);
    assert_true(again.time_s < 0.6 * first.time_s);
    assert_true(price_of(warm, "decode_attention", "B", 16).time_s ==
                price_of(cold, "decode_attention", "B", 16).time_s);
}

/* A bias that two batches share is read twice where it does not wait in L2: its time is that of the bytes shown. No
 * flash kernel takes a bias, and nobody has measured one that does. */
static void a_bias_is_paid_for(void **state)
{
    (void)state;
    static const char text[] = "symbols: {B: 2, dtype: f16}\n"
                               "tensors:\n"
                               "  q: {shape: [B, 32, 1024, 128], dtype: dtype}\n"
                               "  k: {shape: [B, 8, 1024, 128], dtype: dtype}\n"
                               "  v: {shape: [B, 8, 1024, 128], dtype: dtype}\n"
                               "  bias: {shape: [1, 32, 1024, 1024], dtype: dtype}\n"
                               "operators:\n"
                               "  - {op: attention, in: [q, k, v%s], out: o}\n"
                               "outputs: [o]\n";
    static const fsim_maker makers[] = {FSIM_BY_ATEN, FSIM_BY_INDUCTOR, FSIM_BY_TENSORRT_LLM};
    static const double mib = 1 << 20;
    char biased[1024], plain[1024];
    snprintf(biased, sizeof biased, text, ", bias");
    snprintf(plain, sizeof plain, text, "");
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++)
        for (int g = 0; g < 4; g++)
            for (int batch = 2; batch <= 16; batch *= 8) {
                char value[16];
                snprintf(value, sizeof value, "%d", batch);
                const fsim_binding set = {"B", value};
                const machine on = {gpus[g], NULL, makers[m], false};
                const priced k = price_text(on, biased, &set), other = price_text(on, plain, &set);
                assert_true(k.bytes == (20 + 64) * mib * batch || k.bytes == (20 * batch + 64) * mib);
                assert_true(k.bytes / k.time_s <= peak[g]);
                assert_true(k.time_s > other.time_s && k.unmeasured > 0 && other.unmeasured == 0);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_kernel_beats_dram), cmocka_unit_test(more_work_takes_longer),
                                       cmocka_unit_test(warm_is_faster), cmocka_unit_test(a_bias_is_paid_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

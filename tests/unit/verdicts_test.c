/* SPDX-License-Identifier: Apache-2.0 */
/* What measurements are judged by, worked by hand: a trial's choice, regret and noise, what it left out and why;
 * registers, predicted and compiled; texts without names. depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/cpu/hardware.h"
#include "validate/cuda/compiled.h"
#include "validate/cuda/device.h"
#include "validate/device/device.h"
#include "validate/device/texts.h"
#include "validate/reference/reference.h"
#include "validate/trial/trial.h"
#include <string.h>

#define NEAR(x, y) assert_true(fabs((double)(x) - (double)(y)) <= 1e-12 * fabs((double)(y)))

/* Five samples, out of order: the median is 3, a quarter lies below 2 and a quarter above 4. */
static void quartiles(void **unused)
{
    (void)unused;
    double s[] = {5, 1, 4, 2, 3}, one[] = {7};
    const fsim_times t = fsim_times_of(s, 5), single = fsim_times_of(one, 1);
    assert_true(t.samples == 5 && t.median_s == 3 && t.low_s == 2 && t.high_s == 4 && t.least_s == 1);
    assert_true(single.samples == 1 && single.median_s == 7 && single.low_s == 7 && single.high_s == 7 &&
                single.least_s == 7);
    double four[] = {8, 1, 4, 2}; /* between 1 and 2, 2 and 4, 4 and 8 */
    const fsim_times between = fsim_times_of(four, 4);
    assert_true(between.low_s == 1.75 && between.median_s == 3 && between.high_s == 5);
}

/* Three plans, of one, two and two kernels: predicted in 10, 8 and 8 us, measured in 12, 16 and 9. */
typedef struct {
    fsim_trial t;
    fsim_trial_plan plan[3];
    fsim_program program[3][2];
    fsim_trial_ran ran[3][2];
    fsim_measured_kernel kernel[3][2];
    fsim_part part[3][2];
    int node[3][2][2];
} three;

static void fill(three *x)
{
    static const double predicted[] = {10, 8, 8}, measured[] = {12, 16, 9}, half[] = {0.12, 1.6, 0.45};
    memset(x, 0, sizeof *x);
    x->t = (fsim_trial){.plans = 3, .plan = x->plan};
    for (int i = 0; i < 3; i++) {
        fsim_trial_plan *p = &x->plan[i];
        *p = (fsim_trial_plan){
            .program = x->program[i], .ran = x->ran[i], .stream_s = predicted[i], .measured = {.kernel = x->kernel[i]}};
        p->plan.kernels = i ? 2 : 1;
        p->plan.partition = (fsim_partition){.parts = p->plan.kernels, .part = x->part[i]};
        for (int k = 0; k < 2; k++) {
            x->node[i][k][0] = 2 * k;
            x->node[i][k][1] = 2 * k + 1;
            x->part[i][k] = (fsim_part){.node = x->node[i][k], .count = 2};
        }
        p->measured.stream = (fsim_times){
            .samples = 5, .median_s = measured[i], .low_s = measured[i] - half[i], .high_s = measured[i] + half[i]};
    }
    x->node[2][1][1] = 4; /* the third plan's last kernel has another primitive than the second's */
}

/* Of the two that are predicted to be fastest the last is chosen, and it is: no regret. Its times are off by 0.01, 0.1
 * and 0.05 of their median. */
static void a_choice_and_its_regret(void **unused)
{
    (void)unused;
    static three x;
    fill(&x);
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == 2 && x.t.best == 2 && x.t.regret == 0);
    NEAR(x.t.noise, 0.05);
    NEAR(fsim_trial_error(&x.plan[0]), 10. / 12 - 1);

    x.plan[2].stream_s = 9; /* the second is chosen, and takes 16 instead of 9 */
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == 1 && x.t.best == 2);
    NEAR(x.t.regret, 16. / 9 - 1);
    x.node[2][1][1] = 3; /* the same kernels: noise, and no regret */
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == 1 && x.t.best == 1 && x.t.regret == 0);
    x.part[2][1].count = 1;
    fsim_trial_judge(&x.t);
    assert_true(x.t.best == 2);

    x.program[1][1].skipped = "no text"; /* so what ran is not what was predicted */
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == 2 && x.t.best == 2 && x.plan[1].unlike && isnan(fsim_trial_error(&x.plan[1])));
    x.ran[2][0].stand_in = "no cuBLAS";
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == 2 && !x.plan[2].unlike);
    x.t.has_library = true;
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == 0 && x.plan[2].unlike);
    NEAR(x.t.noise, 0.01);
    x.plan[0].measured.stream.samples = 0;
    fsim_trial_judge(&x.t);
    assert_true(x.t.chosen == -1 && x.t.best == -1 && isnan(x.t.regret) && isnan(x.t.noise) &&
                isnan(fsim_trial_error(&x.plan[0])));
}

static void what_was_left_out(void **unused)
{
    (void)unused;
    static three x;
    fsim_arena *a = fsim_arena_new();
    fill(&x);
    assert_null(fsim_trial_left_out(&x.t, a));
    assert_null(fsim_trial_failure(&x.t));
    x.kernel[1][1].left_out = "late";
    x.kernel[1][1].uncounted = "no counters";
    assert_string_equal(fsim_trial_left_out(&x.t, a), "1 of 5 kernels: late");
    x.kernel[2][0].uncounted = "no counters";
    assert_string_equal(fsim_trial_left_out(&x.t, a), "1 of 5 kernels, counters of 1 kernels: late");
    x.plan[0].left_out = "no time";
    assert_string_equal(fsim_trial_left_out(&x.t, a), "1 of 3 plans, 1 of 5 kernels, counters of 1 kernels: no time");
    x.plan[0].left_out = x.kernel[1][1].left_out = x.kernel[1][1].uncounted = NULL;
    assert_string_equal(fsim_trial_left_out(&x.t, a), "counters of 1 kernels: no counters");

    x.kernel[2][1].failed = "illegal address";
    assert_string_equal(fsim_trial_failure(&x.t), "illegal address");
    x.program[2][1].skipped = "no text"; /* it did not run */
    assert_null(fsim_trial_failure(&x.t));
    x.plan[1].failed = "lost";
    assert_string_equal(fsim_trial_failure(&x.t), "lost");
    x.t.unchecked = "too large";
    assert_string_equal(fsim_trial_failure(&x.t), "too large");
    x.t.failed = "no GPU";
    assert_string_equal(fsim_trial_failure(&x.t), "no GPU");
    fsim_arena_free(a);
}

/* Four kernels of sm_80, one of which has another template, and one of sm_90: predicted 20, 30, 40 and 32 registers,
 * compiled to 16, 40, 40 and 32. */
static void registers_predicted_and_compiled(void **unused)
{
    (void)unused;
    fsim_register_row row[] = {{.template = FSIM_POINTWISE,
                                .sm = 80,
                                .uses = 3,
                                .registers = 20,
                                .compiled_registers = 16,
                                .blocks = 4,
                                .compiled_blocks = 4,
                                .spill_bytes = 4},
                               {.template = FSIM_POINTWISE,
                                .sm = 80,
                                .uses = 2,
                                .registers = 30,
                                .compiled_registers = 40,
                                .blocks = 4,
                                .compiled_blocks = 3,
                                .stack_bytes = 8,
                                .warnings = 1},
                               {.template = FSIM_TILED_CONTRACTION,
                                .sm = 80,
                                .uses = 1,
                                .registers = 40,
                                .compiled_registers = 40,
                                .blocks = 2,
                                .compiled_blocks = 4,
                                .disagrees = true},
                               {.template = FSIM_POINTWISE, .sm = 80, .left_out = "no text"},
                               {.template = FSIM_CHAINED_CONTRACTION,
                                .sm = 90,
                                .uses = 1,
                                .registers = 32,
                                .compiled_registers = 32,
                                .blocks = 5,
                                .compiled_blocks = 3}};
    const fsim_register_rows all = {.row = row, .rows = 5};
    const fsim_register_sum streams = fsim_register_rows_sum(&all, FSIM_POINTWISE, 80);
    assert_true(streams.kernels == 2 && streams.uses == 5 && streams.same == 1 && streams.near == 2);
    assert_true(streams.spilling == 1 && streams.stacked == 1 && streams.warned == 1 && streams.disagreeing == 0);
    assert_true(streams.class_share == 0.5 && streams.near_share == 1);
    NEAR(streams.registers_error, (0.25 + 0.25) / 2);
    assert_true(fabs(streams.registers_bias) < 1e-12);
    const fsim_register_sum sm80 = fsim_register_rows_sum(&all, FSIM_EVERY_TEMPLATE, 80);
    assert_true(sm80.kernels == 3 && sm80.uses == 6 && sm80.same == 1 && sm80.near == 2 && sm80.disagreeing == 1);
    NEAR(sm80.class_share, 1. / 3);
    assert_int_equal(fsim_register_rows_sum(&all, FSIM_EVERY_TEMPLATE, 0).kernels, 4);
    assert_int_equal(fsim_register_rows_sum(&all, FSIM_NO_CONTRACTION, 0).kernels, 2);
    assert_int_equal(fsim_register_rows_sum(&all, FSIM_CHAINED_CONTRACTION, 0).near, 0);
    assert_true(isnan(fsim_register_rows_sum(&all, FSIM_POINTWISE, 90).class_share));
}

/* Comments go, but not their lines; what is in a string stays; a name is a whole word. */
static void texts_without_names(void **unused)
{
    (void)unused;
    static fsim_launch launch[] = {{.entry = "k0_y"}, {.entry = "k0_y_end"}};
    static fsim_parameter parameter[] = {{.name = "t_x"}, {.name = "t_y"}};
    const fsim_program p = {.source =
                                "void k0_y(t_x); /* t_x\n t_y */ a/t_x // t_y\n\"t_x \\\" t_y\" k0_y_end(t_y, t_xx, x)",
                            .launch = launch,
                            .launches = 2,
                            .parameter = parameter,
                            .parameters = 2};
    fsim_arena *a = fsim_arena_new();
    assert_string_equal(fsim_nameless_text(&p, a),
                        "void fs_entry_0(fs_parameter_0); \n a/fs_parameter_0 \n\"t_x \\\" t_y\" "
                        "fs_entry_1(fs_parameter_1, t_xx, x)");
    fsim_texts texts = {.a = a};
    fsim_launch other_launch[] = {{.entry = "k1_z"}, {.entry = "k1_z_end"}};
    fsim_program other = p;
    other.source = "void k1_z(t_x); /* t_x\n t_y */ a/t_x // t_y\n\"t_x \\\" t_y\" k1_z_end(t_y, t_xx, x)";
    other.launch = other_launch;
    assert_true(fsim_texts_add(&texts, &p, 80) == 0 && fsim_texts_add(&texts, &other, 80) == 0);
    assert_true(fsim_texts_add(&texts, &other, 90) == 1 && texts.count == 2);
    other.source = "void k1_z(t_y);";
    assert_true(fsim_texts_add(&texts, &other, 90) == 2 && fsim_texts_add(&texts, &p, 90) == 1);
    fsim_arena_free(a);
}

/* Plans of an A100, of one kernel and of two, priced for a T4 as if they had been its own: all of them, and each
 * kernel. */
static void plans_priced_for_another_gpu(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [64, 256], dtype: f32}}\noperators:\n  - {op: exp, in: x, out: e}\n"
        "  - {op: relu, in: e, out: y}\noutputs: [y]\n";
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_OPTIMAL};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
    const fsim_graph *g = fsim_graph_parse(a, d, "two.yaml", text, strlen(text), NULL);
    const fsim_hw *a100 = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml"),
                  *t4 = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
    assert_true(g && a100 && t4);
    fsim_trial moved = fsim_trial_of(g, a100, &options, strategy, 2, a);
    const fsim_trial own = fsim_trial_of(g, t4, &options, strategy, 2, a);
    assert_true(moved.plans == 2 && own.plans == 2 && moved.plan[0].plan.kernels == 2 &&
                moved.plan[1].plan.kernels == 1);
    assert_true(moved.plan[0].stream_s < own.plan[0].stream_s);
    assert_true(fsim_reference_bytes(g) ==
                3 * 16384 * 3 * 8); /* three tensors; a value, its bound, and what it shares */
    fsim_trial_reprice(&moved, t4, &options, a);
    for (int i = 0; i < 2; i++) {
        assert_true(moved.plan[i].stream_s == own.plan[i].stream_s && moved.plan[i].graph_s == own.plan[i].graph_s);
        for (int k = 0; k < own.plan[i].plan.kernels; k++) {
            assert_true(moved.plan[i].predicted[k].cold_s == own.plan[i].predicted[k].cold_s);
            assert_true(moved.plan[i].predicted[k].warm_s == own.plan[i].predicted[k].warm_s);
            assert_true(moved.plan[i].predicted[k].dram_read_bytes == 65536 &&
                        moved.plan[i].predicted[k].dram_write_bytes == 65536);
        }
    }
    fsim_arena_free(a);
}

/* Half of the times lie within 1 ms around 1.5 ms: two thirds of the median. A quarter of it, or a microsecond, is no
 * noise. */
static void noise_in_words(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_gpu g = {.a = a};
    const fsim_times wide = {.samples = 5, .low_s = 1e-3, .median_s = 1.5e-3, .high_s = 2e-3},
                     narrow = {.samples = 5, .low_s = 2, .median_s = 2, .high_s = 2.5},
                     brief = {.samples = 5, .low_s = 1e-6, .median_s = 1e-6, .high_s = 2e-6},
                     none = {.samples = 0, .low_s = 1, .median_s = 1, .high_s = 2};
    const char *said = fsim_gpu_noise(&g, "k0_y", &wide);
    assert_non_null(said);
    assert_non_null(strstr(said, "the middle half of the times of 'k0_y' spreads over 67 % of their median"));
    assert_null(fsim_gpu_noise(&g, "k0_y", &narrow));
    assert_null(fsim_gpu_noise(&g, "k0_y", &brief));
    assert_null(fsim_gpu_noise(&g, "k0_y", &none));
    fsim_arena_free(a);
}

/* Two threads at 2 GHz. 115 GFLOP/s in FP32 are 14.4 multiply-adds a clock and thread: 16 lanes, 128 GFLOP/s at most.
 * Copies reach 20 GB/s and reads 24: a written byte costs 2 x 24 / 20 - 1. Half of a cache of 32 MiB holds what is
 * copied. A core copies 200 GB/s: 50 bytes a clock. The product reaches a half of 128 GFLOP/s. Four launches cost what
 * one does, eleven keys of products say what a host has not, and no function was measured. */
static void a_hosts_keys(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_host_probes h = {.threads = 2,
                          .cache_bytes = 32 << 20,
                          .core_cache_bytes = 1 << 20,
                          .memory_bytes = (int64_t)16 << 30,
                          .effective_bytes = 16 << 20,
                          .sizes = 3};
    static const struct {
        fsim_probe probe;
        double median;
    } probes[] = {{FSIM_PROBE_COPY, 20e9},       {FSIM_PROBE_READ, 24e9},     {FSIM_PROBE_CACHE_COPY, 60e9},
                  {FSIM_PROBE_CORE_COPY, 200e9}, {FSIM_PROBE_FP32, 115e9},    {FSIM_PROBE_INT32, 96e9},
                  {FSIM_PROBE_CLOCK, 2e9},       {FSIM_PROBE_DISPATCH, 3e-6}, {FSIM_PROBE_PRODUCT, 64e9}};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        h.of[probes[i].probe] = (fsim_spread_of){probes[i].median, probes[i].median, probes[i].median, 5};
    static const struct {
        fsim_hw_key key;
        double value, achieved; /* 0: one figure alone */
    } wanted[] = {{FSIM_HW_SMS, 2, 0},
                  {FSIM_HW_SM_CLOCK, 2e9, 0},
                  {FSIM_HW_DRAM_BANDWIDTH, 20e9, 0},
                  {FSIM_HW_DRAM_WRITE_COST, 1.4, 0},
                  {FSIM_HW_L2_BANDWIDTH, 60e9, 0},
                  {FSIM_HW_L2_EFFECTIVE, 0.5, 0},
                  {FSIM_HW_SHARED_BANDWIDTH, 50, 0},
                  {FSIM_HW_DRAM_CAPACITY, 16. * (1 << 30), 0},
                  {FSIM_HW_L2_CAPACITY, 32 << 20, 0},
                  {FSIM_HW_SHARED_PER_SM, 1 << 20, 0},
                  {FSIM_HW_SHARED_PER_BLOCK, 256 << 10, 0},
                  {FSIM_HW_REGISTERS_PER_SM, 32 * 1024, 0},
                  {FSIM_HW_REGISTERS_PER_THREAD, 32, 0},
                  {FSIM_HW_REGISTER_UNIT, 1, 0},
                  {FSIM_HW_THREADS_PER_SM, 1024, 0},
                  {FSIM_HW_THREADS_PER_BLOCK, 1024, 0},
                  {FSIM_HW_BLOCKS_PER_SM, 1, 0},
                  {FSIM_HW_WARP_SIZE, 16, 0},
                  {FSIM_HW_FP32_RATE, 16, 0},
                  {FSIM_HW_FP32_PEAK, 128e9, 115e9},
                  {FSIM_HW_INT32_RATE, 24, 0},
                  {FSIM_HW_LAUNCH_EAGER, 3e-6, 0},
                  {FSIM_HW_LAUNCH_STREAM, 3e-6, 0},
                  {FSIM_HW_LAUNCH_GRAPH, 3e-6, 0},
                  {FSIM_HW_KERNEL_FLOOR, 3e-6, 0},
                  {FSIM_HW_CONTRACTION_FP32, 0.5, 0},
                  {FSIM_HW_GEMM_FP32, 0.5, 0},
                  {FSIM_HW_GEMM_FP32_TRANSPOSED, 1, 0},
                  {FSIM_HW_GEMM_FP32_L2, 64, 0},
                  {FSIM_HW_COMPILED_LAUNCH, 0, 0}};
    fsim_host_key *key;
    const int keys = fsim_host_keys(&h, a, &key);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int at = 0;
        while (at < keys && key[at].key != wanted[i].key)
            at++;
        if (at == keys)
            fail_msg("%s is not there", fsim_hw_rows[wanted[i].key].key);
        const double value = isnan(key[at].value) ? key[at].achieved : key[at].value,
                     achieved = wanted[i].achieved > 0 ? key[at].achieved : 0;
        if (fabs(value - wanted[i].value) > 1e-9 * fabs(value) || fabs(achieved - wanted[i].achieved) > 1e-9 * achieved)
            fail_msg("%s is %g, achieved %g", fsim_hw_rows[wanted[i].key].key, value, achieved);
    }
    h.sizes = 0; /* quick probes: the eleven stay as they are in the file */
    assert_int_equal(keys - fsim_host_keys(&h, a, &key), 11);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles),           cmocka_unit_test(a_choice_and_its_regret),
        cmocka_unit_test(what_was_left_out),   cmocka_unit_test(registers_predicted_and_compiled),
        cmocka_unit_test(texts_without_names), cmocka_unit_test(plans_priced_for_another_gpu),
        cmocka_unit_test(noise_in_words),      cmocka_unit_test(a_hosts_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

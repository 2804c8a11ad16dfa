/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction rests on: the keys that its price read, no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "hw/load.h"
#include "plan/price/interval.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/price/spread.h"
#include "predict.h"
#include <math.h>
#include <string.h>

static const fsim_options usual = {
    .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 300000};

static const fsim_graph *graph_of(fsim_arena *a, const char *workload)
{
    size_t bytes = 0;
    const char *why = "", *path = fsim_printf(a, "%s/workloads/%s.yaml", FUSESIM_SOURCE_DIR, workload);
    const char *text = fsim_read_file(a, path, &bytes, &why);
    const fsim_graph *g = text ? fsim_graph_parse(a, fsim_diag_new(a), path, text, bytes, NULL) : NULL;
    if (!g)
        fail_msg("%s: %s", workload, why);
    return g;
}

static fsim_hw *gpu_of(fsim_arena *a, const char *name)
{
    const fsim_hw_wanted how = {.folders.shipped = FUSESIM_SOURCE_DIR "/hwmodels"};
    fsim_hw *hw = fsim_hw_load(a, fsim_diag_new(a), name, &how);
    if (!hw)
        fail_msg("no %s", name);
    return hw;
}

/* The plan's time and interval, priced anew on hw. */
static fsim_interval priced_on(const fsim_prediction *p, const fsim_hw *hw, double *time_s, fsim_arena *a)
{
    fsim_problem problem = fsim_problem_of(p->graph, hw, &p->options, a);
    const fsim_maker maker = fsim_maker_in(p, p->chosen);
    fsim_plan plan;
    fsim_refusal why;
    *time_s = NAN;
    if (!fsim_price(&problem, &p->plan[p->chosen].partition, a, &plan, &why))
        return (fsim_interval){NAN, NAN};
    plan = fsim_plan_launched_by(&problem, maker, &plan, a);
    *time_s = plan.time_s;
    return fsim_plan_interval(&(fsim_software){p->graph, hw, p->options.regime, maker}, &plan, a);
}

/* Keys that are not read change nothing; of those that are, most do. */
static void the_marks_are_those_of_the_keys_that_matter(void **state)
{
    (void)state;
    static const struct {
        const char *workload, *gpu;
        fsim_strategy strategy;
    } of[] = {{"mlp", "b200", FSIM_STRATEGY_OPTIMAL},
              {"mlp", "t4", FSIM_STRATEGY_EAGER},
              {"bert_layer", "h100-sxm5-80gb", FSIM_STRATEGY_OPTIMAL},
              {"bert_layer", "rtx-4090", FSIM_STRATEGY_INDUCTOR},
              {"resnet50_block", "a100-sxm4-40gb", FSIM_STRATEGY_EAGER},
              {"resnet50_block", "host", FSIM_STRATEGY_OPTIMAL},
              {"seeds/chain4", "mi300x", FSIM_STRATEGY_UNFUSED}};
    int read = 0, felt = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_options how = usual;
        how.strategy = of[i].strategy;
        const fsim_hw *hw = gpu_of(a, of[i].gpu);
        const fsim_prediction p = fsim_predict(graph_of(a, of[i].workload), hw, &how, a);
        double before, after;
        const fsim_interval sure = priced_on(&p, hw, &before, a);
        assert_true(before == p.plan[p.chosen].time_s);
        for (int key = 0; key < FSIM_HW_COUNT; key++) {
            const fsim_mark mark = fsim_save(a);
            fsim_hw *other = fsim_new(a, fsim_hw, 1);
            *other = *hw;
            other->q[key].value *= 1.5;
            other->q[key].achieved *= 1.5;
            const fsim_interval now = priced_on(&p, other, &after, a);
            const bool same = after == before && now.low == sure.low && now.high == sure.high;
            const bool marked = p.basis.all.how[key] != 0;
            if (!marked && !same && fsim_hw_rows[key].feeds != FSIM_FEEDS_NO_UNIT)
                fail_msg("%s on %s: %s is not marked, but it changes %g s to %g s", of[i].workload, of[i].gpu,
                         fsim_hw_rows[key].key, before, after);
            read += marked && fsim_hw_has(hw, (fsim_hw_key)key);
            felt += marked && !same;
            fsim_rewind(a, mark);
        }
        fsim_arena_free(a);
    }
    print_message("%d keys read, %d of them felt\n", read, felt);
    assert_true(felt * 2 > read);
}

/* The marks do not depend on what was searched before, or on how the GPU came about. */
static void the_marks_depend_on_the_plan_alone(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = graph_of(a, "bert_layer");
    const fsim_hw *hw = gpu_of(a, "b200");
    const fsim_prediction p = fsim_predict(g, hw, &usual, a);
    fsim_options given = usual;
    given.user_plan = &p.plan[p.chosen].partition;
    given.user_plan_maker = fsim_maker_in(&p, p.chosen);
    given.strategy = FSIM_STRATEGY_EAGER;
    const fsim_prediction again = fsim_predict(g, hw, &given, a);
    assert_int_equal(again.chosen, FSIM_STRATEGY_FILE);
    assert_memory_equal(&p.basis.all, &again.basis.all, sizeof p.basis.all);
    const int kernels = p.plan[p.chosen].kernels;
    assert_int_equal(again.plan[again.chosen].kernels, kernels);
    assert_memory_equal(p.basis.kernel, again.basis.kernel, (size_t)kernels * sizeof *p.basis.kernel);
    assert_null(hw->read);
    fsim_arena_free(a);
}

/* All that is assumed on a GPU that hardly anything was measured on is said, kernel by kernel. */
static void what_is_assumed_is_said(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = gpu_of(a, "b300"), *known = gpu_of(a, "h100-sxm5-80gb");
    const fsim_prediction p = fsim_predict(graph_of(a, "mlp"), hw, &usual, a),
                          sure = fsim_predict(graph_of(a, "mlp"), known, &usual, a);
    int assumed = 0;
    fsim_origin from;
    for (int key = 0; key < FSIM_HW_COUNT; key++)
        assumed += fsim_hw_was_read(hw, &p.basis.all, (fsim_hw_key)key, &from) && from == FSIM_FROM_ASSUMED;
    assert_true(assumed > 12);
    assert_true(fsim_hw_was_read(hw, &p.basis.kernel[0], FSIM_HW_GEMM_TENSOR, &from));
    assert_int_equal(from, FSIM_FROM_ASSUMED);
    /* The peak is the data sheet's; what is assumed of it, its achieved share, was not read. */
    assert_true(fsim_hw_was_read(hw, &p.basis.kernel[0], FSIM_HW_TENSOR_F16, &from) ||
                fsim_hw_was_read(hw, &p.basis.kernel[0], FSIM_HW_TENSOR_BF16, &from));
    assert_true(from != FSIM_FROM_ASSUMED);
    const fsim_kernel *k = &p.plan[p.chosen].kernel[0], *other = &sure.plan[sure.chosen].kernel[0];
    assert_int_equal(fsim_kernel_origin(p.graph, hw, FSIM_BY_FUSESIM, k, &p.basis.kernel[0]), FSIM_FROM_ASSUMED);
    assert_int_equal(fsim_kernel_origin(sure.graph, known, FSIM_BY_FUSESIM, other, &sure.basis.kernel[0]),
                     FSIM_FROM_FITTED);
    fsim_arena_free(a);
}

/* Kernels of kinds that no measured row has say so, and have wider intervals than kernels that were measured. */
static void unmeasured_kinds_are_assumed(void **state)
{
    (void)state;
    static const struct {
        const char *tensors, *operator;
        bool measured;
        double least; /* of the spread */
    } row[] = {
        {"x: {shape: [8192, 8192], dtype: f32}", "{op: relu, in: x, out: y}", true, 0},
        {"x: {shape: [8192, 8192], dtype: f32}", "{op: sum, in: x, out: y, dim: 1}", true, 0},
        {"x: {shape: [8192, 2, 8192], dtype: f32}", "{op: sum, in: x, out: y, dim: 1}", false, 0.25},
        {"x: {shape: [1048576, 16], dtype: f32}", "{op: softmax, in: x, out: y, dim: 1}", false, 0.25},
        {"x: {shape: [8192, 8192], dtype: f32}", "{op: sort, in: x, out: [y, i], dim: 1}", false, 0.5},
        {"x: {shape: [8192, 8192], dtype: f32}", "{op: topk, in: x, out: [y, i], dim: 1, k: 4}", false, 0.5},
        {"x: {shape: [8192, 8192], dtype: f32}", "{op: cumsum, in: x, out: y, dim: 1}", false, 0.2},
        {"x: {shape: [8192, 8192], dtype: f32}", "{op: custom, in: x, out: y}", false, 0.7},
        {"w: {shape: [50000, 4096], dtype: f32}\n  x: {shape: [8192], dtype: i64}",
         "{op: embedding, in: [x, w], out: y}", false, 0.2},
        {"x: {shape: [8192, 27, 128], dtype: f32}\n  w: {shape: [8192, 128, 27], dtype: f32}",
         "{op: bmm, in: [x, w], out: y}", false, 0.35},
    };
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = gpu_of(a, "h100-sxm5-80gb");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text =
            fsim_printf(a, "tensors:\n  %s\noperators:\n  - %s\noutputs: [y]\n", row[i].tensors, row[i].operator);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "kinds.yaml", text, strlen(text), NULL);
        assert_non_null(g);
        const fsim_prediction p = fsim_predict(g, hw, &usual, a);
        const fsim_plan *plan = &p.plan[FSIM_STRATEGY_OPTIMAL];
        assert_int_equal(plan->kernels, 1);
        const fsim_origin from = fsim_kernel_origin(g, hw, FSIM_BY_FUSESIM, &plan->kernel[0], &p.basis.kernel[0]);
        if ((from == FSIM_FROM_ASSUMED) == row[i].measured)
            fail_msg("%s: from %s", row[i].operator, fsim_origin_names[from]);
        assert_true(fsim_kernel_spread(g, hw, FSIM_BY_FUSESIM, &plan->kernel[0]) >= row[i].least);
    }
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_marks_are_those_of_the_keys_that_matter),
        cmocka_unit_test(the_marks_depend_on_the_plan_alone),
        cmocka_unit_test(what_is_assumed_is_said),
        cmocka_unit_test(unmeasured_kinds_are_assumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

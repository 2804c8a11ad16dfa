/* SPDX-License-Identifier: Apache-2.0 */
/* What a benchmark's harness adds to the library's products and to row kernels, and to nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/alone.h"
#include "evidence/harness.h"
#include "fusion/fuse.h"
#include <math.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    fsim_software software;
    fsim_group group;
} one_group;

static one_group set_up(const char *hw, const char *dtype, const char *operators)
{
    one_group s = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(s.a);
    const char *text = fsim_printf(s.a,
                                   "name: product\ntensors:\n  x: {shape: [2048, 2048], dtype: %s, role: input}\n"
                                   "  w: {shape: [2048, 2048], dtype: %s, role: weight}\n"
                                   "  b: {shape: [2048], dtype: %s, role: weight}\noperators:\n%soutputs: [y]\n",
                                   dtype, dtype, dtype, operators);
    s.software.graph = fsim_graph_parse(s.a, d, "product.yaml", text, strlen(text), NULL);
    s.software.hw = fsim_hw_read(s.a, d, fsim_printf(s.a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, hw));
    if (!s.software.graph || !s.software.hw)
        fsim_diag_print(d, stderr, false);
    assert_true(s.software.graph && s.software.hw);
    s.software.regime = FSIM_REGIME_STREAM;
    s.software.maker = FSIM_BY_ATEN;
    int node[8];
    for (int n = 0; n < s.software.graph->nodes; n++)
        node[n] = n;
    fsim_refusal why;
    const fsim_limits limits = {.graph = s.software.graph, .shared_per_block = INT64_C(96) << 10};
    assert_true(fsim_legal(&limits, node, s.software.graph->nodes, s.a, &s.group, &why));
    return s;
}

static fsim_kernel in(const one_group *s, fsim_harness harness)
{
    return fsim_kernel_measured(harness, &s->software, &s->group, NULL, NULL, s->a);
}

static const char product[] = "  - {op: matmul, in: [x, w], out: y}\n",
                  linear[] = "  - {op: linear, in: [x, w, b], out: y}\n",
                  elementwise[] = "  - {op: exp, in: x, out: y}\n";

/* Events around a call see what the host does in it. */
static void calls(void **unused)
{
    (void)unused;
    for (int bias = 0; bias < 2; bias++) {
        const one_group s = set_up("l4", "f32", bias ? linear : product);
        const fsim_hw *hw = s.software.hw;
        const double more = fsim_hw_get(hw, FSIM_HW_GEMM_CALL) - fsim_hw_get(hw, FSIM_HW_CALL_STREAM) +
                            (bias ? fsim_hw_get(hw, FSIM_HW_GEMM_BIAS_CALL) : 0);
        const fsim_kernel plain = in(&s, FSIM_HARNESS_NONE), called = in(&s, FSIM_HARNESS_CALLS);
        assert_true(more > 1e-6);
        assert_true(fabs(called.time_s - plain.time_s - more) < 2 * FSIM_TICK_S);
        assert_true(called.dram_read_bytes == plain.dram_read_bytes);
        fsim_arena_free(s.a);
    }
}

/* The same for a softmax or a layer norm that is all that is measured, over a plain operator's call. */
static void row_calls(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        fsim_hw_key calls;
    } rows[] = {{"  - {op: softmax, in: x, out: y, dim: -1}\n", FSIM_HW_SOFTMAX_CALLS},
                {"  - {op: layer_norm, in: x, out: y, normalized_shape: [2048]}\n", FSIM_HW_LAYER_NORM_CALLS},
                {"  - {op: softmax, in: x, out: y, dim: 0}\n", FSIM_HW_COUNT},
                {"  - {op: sum, in: x, out: y, dim: 1}\n", FSIM_HW_COUNT}}; /* over rows of columns; another operator */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        one_group s = set_up("t4", "f32", rows[i].operators);
        const fsim_hw *hw = s.software.hw;
        const double plain = fsim_hw_get(hw, FSIM_HW_LAUNCH_STREAM) + fsim_hw_get(hw, FSIM_HW_CALL_STREAM),
                     more = rows[i].calls == FSIM_HW_COUNT ? 0 : (fsim_hw_get(hw, rows[i].calls) - 1) * plain,
                     seen = in(&s, FSIM_HARNESS_CALLS).time_s - in(&s, FSIM_HARNESS_NONE).time_s;
        const fsim_kernel called = in(&s, FSIM_HARNESS_CALLS);
        double shares = 0;
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            shares += called.time[u];
        assert_true(fabs(shares - called.time_s) < 1e-9 * called.time_s);
        assert_true(fabs(seen - more) < 2 * FSIM_TICK_S && (more > 1e-6 || rows[i].calls == FSIM_HW_COUNT));
        assert_true(fsim_framework_kernel(&s.software, &s.group, NULL, NULL, s.a).time_s ==
                    in(&s, FSIM_HARNESS_NONE).time_s);
        s.software.maker = FSIM_BY_INDUCTOR;
        assert_true(in(&s, FSIM_HARNESS_CALLS).time_s == in(&s, FSIM_HARNESS_NONE).time_s);
        fsim_arena_free(s.a);
    }
}

/* A device that is held to little power runs faster at first. */
static void rests(void **unused)
{
    (void)unused;
    const one_group s = set_up("l4", "f32", product), half = set_up("l4", "f16", product);
    const double rested = in(&s, FSIM_HARNESS_RESTS).time_s, busy = in(&s, FSIM_HARNESS_NONE).time_s;
    assert_true(rested < busy && rested > 0.3 * busy);
    assert_true(in(&half, FSIM_HARNESS_RESTS).time_s == in(&half, FSIM_HARNESS_NONE).time_s);
    fsim_arena_free(s.a);
    fsim_arena_free(half.a);
}

/* Copies of the weights in turn: the input stays in L2, the weights do not. */
static void rotates(void **unused)
{
    (void)unused;
    const one_group s = set_up("h100-sxm5-80gb", "f16", product);
    const fsim_kernel cold = in(&s, FSIM_HARNESS_NONE), rotated = in(&s, FSIM_HARNESS_ROTATES);
    assert_int_equal(rotated.inputs, 2);
    for (int i = 0; i < 2; i++) {
        const bool weight = s.software.graph->tensor[rotated.input[i].tensor].role == FSIM_WEIGHT;
        assert_int_equal(rotated.input[i].tensor, cold.input[i].tensor);
        assert_true(weight ? rotated.input[i].read_bytes > 0 : rotated.input[i].read_bytes == 0);
        assert_true(cold.input[i].read_bytes > 0);
    }
    assert_true(rotated.time_s < cold.time_s);
    fsim_arena_free(s.a);
}

static void nothing_else(void **unused)
{
    (void)unused;
    const one_group s = set_up("l4", "f32", elementwise);
    for (fsim_harness h = FSIM_HARNESS_NONE; h <= FSIM_HARNESS_RESTS; h++)
        assert_true(in(&s, h).time_s == in(&s, FSIM_HARNESS_NONE).time_s);
    fsim_arena_free(s.a);
}

/* A kernel by itself: cold, all of its operands come from DRAM and some of its results stay in L2 when it ends, but its
 * bytes are all; run again, it finds what fits. */
static void alone(void **unused)
{
    (void)unused;
    one_group s = set_up("h100-sxm5-80gb", "f32", elementwise);
    s.software.maker = FSIM_BY_FUSESIM;
    const fsim_kernel priced = fsim_framework_kernel(&s.software, &s.group, NULL, NULL, s.a),
                      cold = fsim_kernel_by_itself(&s.software, &s.group, false, s.a),
                      warm = fsim_kernel_by_itself(&s.software, &s.group, true, s.a);
    assert_true(cold.dram_read_bytes == priced.dram_read_bytes && cold.dram_write_bytes == priced.dram_write_bytes);
    assert_true(cold.time_s < priced.time_s && warm.time_s < cold.time_s);
    assert_int_equal(warm.dram_read_bytes, 0);
    fsim_arena_free(s.a);
}

/* Times of plans by `validate --device` begin with an idle device, and not with a framework's call. */
static void own_plans(void **unused)
{
    (void)unused;
    one_group s = set_up("h100-sxm5-80gb", "f32", product);
    const fsim_kernel k = in(&s, FSIM_HARNESS_NONE);
    fsim_measured row = {.source = "fusesim validate --device cuda", .launch = FSIM_REGIME_STREAM};
    const double stream = fsim_row_seconds(&row, &k, 1, FSIM_BY_FUSESIM, s.software.hw) - k.time_s;
    row.launch = FSIM_REGIME_GRAPH;
    const double graph = fsim_row_seconds(&row, &k, 1, FSIM_BY_FUSESIM, s.software.hw) - k.time_s;
    row.source = "PyTorch";
    assert_true(graph > 4e-6 && graph < 7e-6);
    assert_true(stream > graph + 4e-6 && stream < graph + 9e-6); /* the host asks cuBLAS meanwhile */
    assert_true(fsim_row_seconds(&row, &k, 1, FSIM_BY_ATEN, s.software.hw) == k.time_s);
    fsim_arena_free(s.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls),        cmocka_unit_test(row_calls),
                                       cmocka_unit_test(rests),        cmocka_unit_test(rotates),
                                       cmocka_unit_test(nothing_else), cmocka_unit_test(alone),
                                       cmocka_unit_test(own_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

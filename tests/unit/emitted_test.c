/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 2 */
/* Kinds of kernels that random graphs (kernels_test.c) do not have, compiled as C and run: each must give what the
 * reference gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "input/yaml.h"
#include "validate/device/backends.h"
#include "validate/trial/run.h"

/* All kernels of the plan of this strategy. */
static void run_with(const char *text, fsim_strategy strategy)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_fault fault = {0};
    fsim_device *r = fsim_device_open(FSIM_DEVICE_CPU, &(fsim_device_options){.threads = 1}, a, &fault);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    if (!r)
        skip();
    const fsim_graph *g = fsim_graph_parse(a, d, "emitted.yaml", text, strlen(text), NULL);
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    const fsim_options options = {.strategy = strategy, .regime = FSIM_REGIME_STREAM, .search_steps = 60000};
    fsim_trial t = fsim_trial_of(g, hw, &options, &strategy, 1, a);
    assert_true(fsim_trial_check(&t, r, &(fsim_trial_source){.most_s = 10}, &fault));
    if (t.plan[0].wrong || t.plan[0].untold)
        print_message("%s\n", t.plan[0].wrong ? t.plan[0].first_wrong : t.plan[0].first_untold);
    assert_int_equal(t.plan[0].checked, t.plan[0].plan.kernels);
    assert_int_equal(t.plan[0].wrong, 0);
    r->backend->close(r);
    fsim_arena_free(a);
}

/* Windows, and powers summed, each as a kernel of its own: gradients of pooling with windows that overlap, that are
 * dilated, that begin in the padding, and that are the input divided; convolutions with groups and strides, transposed
 * ones, the gradients of their weights; patches put together; norms of powers 1, 2 and 3. */
static void windows_and_powers(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [2, 5, 6], dtype: f32}, g: {shape: [2, 3, 3], dtype: f32}, h: {shape: [2, 3, 2], dtype: "
        "f32}, c: {shape: [2, 2, 3], dtype: f32}, q: {shape: [2, 5, 6], dtype: f32}, i4: {shape: [2, 4, 5, 6], dtype: "
        "f32}, w4: {shape: [6, 2, 3, 2], dtype: f32}, t4: {shape: [4, 3, 2, 3], dtype: f32}, p: {shape: [2, 12, 12], "
        "dtype: f32}}\noperators:\n"
        "  - {op: max_pool2d, in: x, out: y, kernel: 3, stride: 2, padding: 1}\n"
        "  - {op: max_pool_grad, in: [x, y, g], out: a, output_size: [5, 6], kernel: 3, stride: 2, padding: 1}\n"
        "  - {op: max_pool2d, in: x, out: z, kernel: [2, 3], stride: [1, 2], padding: [1, 1], dilation: [4, 2]}\n"
        "  - {op: max_pool_grad, in: [x, z, h], out: b, output_size: [5, 6], kernel: [2, 3], stride: [1, 2], padding: "
        "[1, 1], dilation: [4, 2]}\n"
        "  - {op: max_pool_pick, in: [x, q], out: i, output_size: [3, 2], kernel: [2, 3], stride: [1, 2], padding: [1, "
        "1], dilation: [4, 2]}\n"
        "  - {op: avg_pool_grad, in: g, out: d, output_size: [5, 6], kernel: 3, stride: 2, padding: 1}\n"
        "  - {op: avg_pool_grad, in: c, out: e, output_size: [5, 7]}\n"
        "  - {op: conv2d, in: [i4, w4], out: v, stride: [2, 1], padding: [1, 0], dilation: [1, 2], groups: 2}\n"
        "  - {op: conv2d_weight, in: [i4, v], out: vw, kernel: [3, 2], stride: [2, 1], padding: [1, 0], dilation: [1, "
        "2], groups: 2}\n"
        "  - {op: conv_transpose2d, in: [i4, t4], out: u, stride: [1, 2], padding: [1, 0], groups: 2}\n"
        "  - {op: fold, in: p, out: f, output_size: [4, 5], kernel: 2, stride: 1, padding: 0}\n"
        "  - {op: norm, in: x, out: n1, dims: [2], p: 1}\n  - {op: norm, in: x, out: n2, dims: [2], p: 2}\n"
        "  - {op: norm, in: x, out: n3, dims: [2], p: 3}\noutputs: [a, b, i, d, e, vw, u, f, n1, n2, n3]\n";
    run_with(text, FSIM_STRATEGY_UNFUSED);
}

/* Between elements: the nearest by a whole factor, by another, by a size; two or four neighbours along each axis, whose
 * corners meet or do not; one, two and three axes. Windows of adaptive pooling, whose means have 2 or 3 elements along
 * an axis. */
static void places_between_elements(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [2, 3, 5, 6], dtype: f32}, l: {shape: [2, 3, 7], dtype: f32}, v: {shape: [1, 2, 3, 4, "
        "3], dtype: f32}}\noperators:\n"
        "  - {op: interpolate, in: x, out: n1, scale_factor: 2}\n  - {op: interpolate, in: x, out: n2, scale_factor: "
        "1.5}\n"
        "  - {op: interpolate, in: x, out: n3, size: [7, 4]}\n  - {op: interpolate, in: x, out: b1, scale_factor: 1.5, "
        "mode: bilinear}\n"
        "  - {op: interpolate, in: x, out: b2, size: [3, 9], mode: bilinear, align_corners: true}\n"
        "  - {op: interpolate, in: x, out: c1, size: [7, 4], mode: bicubic}\n"
        "  - {op: interpolate, in: x, out: c2, size: [7, 4], mode: bicubic, align_corners: true}\n"
        "  - {op: interpolate, in: l, out: l1, size: 5, mode: linear}\n"
        "  - {op: interpolate, in: v, out: t1, size: [5, 3, 4], mode: trilinear}\n"
        "  - {op: adaptive_avg_pool2d, in: x, out: a1, output_size: [2, 4]}\n"
        "  - {op: adaptive_max_pool2d, in: x, out: a2, output_size: [3, 4]}\n"
        "  - {op: adaptive_avg_pool1d, in: l, out: a3, output_size: 3}\n"
        "outputs: [n1, n2, n3, b1, b2, c1, c2, l1, t1, a1, a2, a3]\n";
    run_with(text, FSIM_STRATEGY_UNFUSED);
}

/* Rows: the place of the largest and the least, of which there may be several; rows of no multiple of four or of a
 * warp, in two types; products, and running ones; reductions of columns, of all, of the middle axis; what follows sums
 * of rows and of columns. */
static void rows_and_columns(void **unused)
{
    (void)unused;
    static const char text[] = "tensors: {x: {shape: [6, 70], dtype: f32}, h: {shape: [5, 33], dtype: f16}, k: {shape: "
                               "[4, 50], dtype: i32}, m: {shape: [3, 20, 8], dtype: f32}}\n"
                               "operators:\n  - {op: argmax, in: x, out: a1, dim: 1}\n  - {op: argmin, in: x, out: a2, "
                               "dim: 1}\n  - {op: argmax, in: x, out: a3, dim: 0}\n"
                               "  - {op: prod, in: m, out: p, dim: 2}\n  - {op: cumprod, in: m, out: cp, dim: 2}\n  - "
                               "{op: cumsum, in: k, out: cs, dim: 0}\n"
                               "  - {op: softmax, in: h, out: s1, dim: 1}\n  - {op: log_softmax, in: x, out: s2, dim: "
                               "0}\n  - {op: softmax, in: m, out: s3, dim: 1}\n"
                               "  - {op: max, in: m, out: mm, dims: [1]}\n  - {op: sum, in: m, out: all, dims: [0, 1, "
                               "2]}\n  - {op: min, in: k, out: km, dims: [1]}\n"
                               "  - {op: layer_norm, in: h, out: ln}\n  - {op: mean, in: x, out: mean, dims: [0], "
                               "keepdim: true}\n  - {op: sub, in: [x, mean], out: centred}\n"
                               "outputs: [a1, a2, a3, p, cp, cs, s1, s2, s3, mm, all, km, ln, centred]\n";
    run_with(text, FSIM_STRATEGY_OPTIMAL);
}

/* Parts: tensors one behind another, whose lengths are no multiples of anything; padding, of constants and repeated;
 * pieces put back; rolled, turned, reversed, repeated; triangles; rows chosen by data, and added where data say. */
static void parts_and_places(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [4, 6], dtype: f32}, y: {shape: [3, 6], dtype: f32}, q: {shape: [4, 4], dtype: f32}, i: "
        "{shape: [5], dtype: i64}}\noperators:\n"
        "  - {op: exp, in: x, out: e}\n  - {op: concat, in: [e, y, e], out: c, dim: 0}\n  - {op: neg, in: c, out: c1}\n"
        "  - {op: concat, in: [x, x], out: w, dim: 1}\n  - {op: softmax, in: w, out: c2, dim: 1}\n"
        "  - {op: pad, in: e, out: p, pad: [1, 2, 0, 3], value: 0.5}\n  - {op: relu, in: p, out: p1}\n"
        "  - {op: flip, in: x, out: f, dims: [1]}\n  - {op: mul, in: [f, x], out: f1}\n  - {op: transpose, in: q, out: "
        "t, dims: [0, 1]}\n"
        "  - {op: sub, in: [q, t], out: t1}\n  - {op: tril, in: q, out: lo}\n  - {op: triu, in: q, out: up, k: 1}\n  - "
        "{op: sub, in: [lo, up], out: tri}\n"
        "  - {op: index_select, in: [x, i], out: g, dim: 0}\n  - {op: exp, in: g, out: g1}\n"
        "outputs: [c1, c2, p1, f1, t1, tri, g1]\n";
    run_with(text, FSIM_STRATEGY_OPTIMAL);
}

/* What is too much to interpret is checked on shorter shapes. Of 65536 x 8192 points a thousandth of a second does
 * 20000: both lengths are divided by 256, the first power of two by whose square 2^29 is less. Of 2^20 rows of 33
 * elements 30 are kept: 15, as they are halved once; two primitives have 30 points a row, of which 0.08 s do 1.6
 * million: 2^15 rows. Of 1024 elements number 700 is taken, so that they stay as many: twice 4096 points are 2000 or
 * fewer once these are divided by 8, alone; and where a row of 4096 is taken, which lies in one piece and is read where
 * it is, once they are divided by 4, as all lengths but the other one. Without the document nothing is
 * checked. */
static void too_much_is_checked_on_shorter_shapes(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double most_s;
        bool readable;
        int64_t scale;
    } cases[] = {
        {"tensors: {x: {shape: [65536, 8192], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]\noutputs: [y]\n",
         1e-3, true, 256},
        {"tensors: {x: {shape: [65536, 8192], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]\noutputs: [y]\n",
         1e-3, false, 0},
        {"tensors: {x: {shape: [1048576, 33], dtype: f32}}\noperators:\n  - {op: slice, in: x, out: s, dim: 1, start: "
         "3, "
         "size: 30}\n  - {op: relu, in: s, out: y}\noutputs: [y]\n",
         0.08, true, 32},
        {"tensors: {x: {shape: [4096, 1024], dtype: f32, role: input}}\noperators:\n  - {op: select, in: x, out: s, "
         "dim: "
         "1, index: 700}\n  - {op: relu, in: s, out: y}\noutputs: [y]\n",
         1e-4, true, 8},
        {"tensors: {x: {shape: [1024, 4096], dtype: f32, role: input}}\noperators:\n  - {op: select, in: x, out: s, "
         "dim: "
         "0, index: 700}\n  - {op: relu, in: s, out: y}\noutputs: [y]\n",
         1e-4, true, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const fsim_strategy strategy[] = {FSIM_STRATEGY_OPTIMAL};
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        fsim_fault fault = {0};
        fsim_device *r = fsim_device_open(FSIM_DEVICE_CPU, &(fsim_device_options){.threads = 1}, a, &fault);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
        if (!r)
            skip();
        const fsim_yaml *y = fsim_yaml_parse(a, d, "large.yaml", cases[i].text, strlen(cases[i].text));
        const fsim_graph *g = fsim_graph_parse(a, d, "large.yaml", cases[i].text, strlen(cases[i].text), NULL);
        assert_true(y && g && hw);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000};
        fsim_trial t = fsim_trial_of(g, hw, &options, strategy, 1, a);
        const fsim_trial_source source = {.yaml = cases[i].readable ? y : NULL, .most_s = cases[i].most_s};
        assert_true(fsim_trial_check(&t, r, &source, &fault));
        assert_int_equal(t.scale, cases[i].scale);
        assert_int_equal(t.plan[0].checked, cases[i].scale ? t.plan[0].plan.kernels : 0);
        assert_int_equal(t.plan[0].wrong, 0);
        r->backend->close(r);
        fsim_arena_free(a);
    }
}

static bool equal_times(const fsim_times *x, const fsim_times *y)
{
    return x->samples == y->samples && x->median_s == y->median_s && x->least_s == y->least_s && x->high_s == y->high_s;
}

/* Eager and unfused plans have the same two kernels, which differ from each other, and the optimal one has one: three
 * kernels and two plans are measured, and each kernel's and plan's numbers are wherever it is. All give the same
 * results. */
static void what_is_alike_is_measured_once(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [64, 256], dtype: f32}, z: {shape: [64, 256], dtype: f32}}\noperators:\n"
        "  - {op: add, in: [x, z], out: s}\n  - {op: relu, in: s, out: y}\noutputs: [y]\n";
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_OPTIMAL};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_fault fault = {0};
    fsim_device *r = fsim_device_open(FSIM_DEVICE_CPU, &(fsim_device_options){.threads = 1}, a, &fault);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    if (!r)
        skip();
    const fsim_graph *g = fsim_graph_parse(a, d, "alike.yaml", text, strlen(text), NULL);
    assert_non_null(g);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000};
    fsim_trial t = fsim_trial_of(g, hw, &options, strategy, 3, a);
    assert_int_equal(t.plans, 3);
    const bool good = fsim_trial_measure(&t, r, &(fsim_trial_how){.samples = 2, .kernels = true}, &fault);
    assert_true(good || fault.status == FSIM_INCONCLUSIVE);
    const fsim_trial_plan *eager = &t.plan[0], *unfused = &t.plan[1], *optimal = &t.plan[2];
    assert_true(eager->plan.kernels == 2 && unfused->plan.kernels == 2 && optimal->plan.kernels == 1);
    for (int i = 0; i < 3; i++) {
        assert_true(!t.plan[i].failed && !t.plan[i].differs && t.plan[i].measured.stream.samples > 0);
        for (int k = 0; k < t.plan[i].plan.kernels; k++)
            assert_true(!t.plan[i].measured.kernel[k].failed && t.plan[i].measured.kernel[k].warm.samples > 0);
    }
    assert_true(equal_times(&eager->measured.stream, &unfused->measured.stream));
    assert_false(equal_times(&eager->measured.stream, &optimal->measured.stream));
    for (int k = 0; k < 2; k++) {
        assert_true(equal_times(&eager->measured.kernel[k].warm, &unfused->measured.kernel[k].warm));
        assert_false(equal_times(&eager->measured.kernel[k].warm, &optimal->measured.kernel[0].warm));
    }
    assert_false(equal_times(&eager->measured.kernel[0].warm, &eager->measured.kernel[1].warm));
    r->backend->close(r);
    fsim_arena_free(a);
}

/* What is compared is numbers, and there are few of them: most of the time is the compiler's. */
static int compile_quickly(void **unused)
{
    (void)unused;
    char command[256];
    const char *cc = getenv("CC");
    snprintf(command, sizeof command, "%s -O0", cc && *cc ? cc : "cc");
    return setenv("CC", command, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_and_powers),
                                       cmocka_unit_test(places_between_elements),
                                       cmocka_unit_test(rows_and_columns),
                                       cmocka_unit_test(parts_and_places),
                                       cmocka_unit_test(too_much_is_checked_on_shorter_shapes),
                                       cmocka_unit_test(what_is_alike_is_measured_once)};
    return cmocka_run_group_tests(tests, compile_quickly, NULL);
}

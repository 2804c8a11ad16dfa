/* SPDX-License-Identifier: Apache-2.0 */
/* What contractions take at least, and how convolutions look as products, worked by hand (tests/hw/toy.yaml).
 * depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/convolution.h"
#include "cost/costing.h"
#include <stdio.h>
#include <string.h>

#define NEAR(x, y) assert_true(fabs((double)(x) - (double)(y)) <= 1e-9 * fabs((double)(y)))

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_hw *hw;
} subject;

static subject load(const char *text, const char *key)
{
    subject s = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(s.a);
    s.g = fsim_graph_parse(s.a, d, "bounds.yaml", text, strlen(text), NULL);
    s.hw = fsim_hw_read(s.a, d, FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
    if (!s.g || !s.hw || (key && !fsim_hw_set(s.a, d, s.hw, key)))
        fsim_diag_print(d, stderr, false);
    assert_true(s.g && s.hw);
    return s;
}

/* 64 rows of 256 by 32 columns, then by 32 or 600: 1048576 and 131072 or 2457600 FLOP. A thread multiplies and adds 122
 * FLOP a clock, or 61 a ns; in tiles of 64 rows, which are narrow, that takes 1.1 times as long, and the start of a
 * block 10 steps of at least 64 x 16. It waits 250 ns. Of 600 results a block computes at most 256, so that three
 * compute the first product, one after the other on the one SM.
 * Where half of it may be skipped, tiles of 64 rows and 16 columns reach 80 beyond the mask's diagonal: all of 32
 * columns, and 336 of 512 halves of 256, the products of which are 8388608 and 1048576 FLOP. A kernel without tiles
 * issues three instructions for each multiply-add, 64 a ns, and waits 100 ns for each of 256 + 32 steps. */
static void two_products_in_a_chain(void **unused)
{
    (void)unused;
    static const struct {
        const char *peak;
        int width, results;
        bool masked;
        double second_us, busy_us, waits_us;
    } cases[] = {
        {"fp32_peak=1 TFLOP/s", 32, 32, false, 1, 1.1 * (1048576 + 131072 + 20480) / 61000, 0.25},
        {"fp32_peak=1 TFLOP/s", 32, 32, true, 1, 1.1 * (1048576 + 131072 + 20480) / 61000, 0.25},
        {"fp32_peak=1 TFLOP/s", 256, 32, true, 1, 1.1 * ((8388608 + 1048576) * 336. / 512 + 20480) / 61000, 0.25},
        {"fp32_peak=1 TFLOP/s", 32, 32, false, 0, 1.1 * (1048576 + 131072 + 20480) / 61000, 0.25},
        {"fp32_peak=1 TFLOP/s", 32, 256, false, 1, 1.1 * (1048576 + 1048576 + 20480) / 61000, 0.25},
        {"fp32_peak=1 TFLOP/s", 32, 600, false, 1, 3.0 * 64 * 32 * (256 + 600) / 64 / 1000, 250e-3 + 28.8},
        {"fp32_peak=1 GFLOP/s", 32, 32, false, 1, 3.0 * 64 * 32 * (256 + 32) / 64 / 1000, 250e-3 + 28.8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "tensors: {x: {shape: [64, 256], dtype: f32}, w: {shape: [%d, 256], dtype: f32}, u: {shape: [%d, %d], "
                 "dtype: f32}}\noperators:\n"
                 "  - {op: linear, in: [x, w], out: l}\n  - {op: linear, in: [l, u], out: y}\noutputs: [y]\n",
                 cases[i].width, cases[i].results, cases[i].width);
        const subject s = load(text, cases[i].peak);
        NEAR(fsim_least_chain_s(s.g, s.hw, (fsim_chain_pair){0, 1, 64, cases[i].width, cases[i].masked, true},
                                cases[i].second_us * 1e-6),
             cbrt(pow(cases[i].busy_us, 3) + pow(cases[i].waits_us, 3)) * 1e-6);
        fsim_arena_free(s.a);
    }
}

/* 64 x 64 results of one step. Tiles take 10 more steps to start; a thread for each result issues three instructions,
 * 64 a ns, in 192 ns, but starts and ends in 250 ns and waits 100 ns for its step. At 1 GFLOP/s 8192 FLOP take 8.192 us
 * in any kernel. */
static void products_of_one_step(void **unused)
{
    (void)unused;
    static const struct {
        const char *peak;
        double anywhere_ns, generated_ns;
    } cases[] = {{"fp32_peak=1 TFLOP/s", 8.192, 350}, {"fp32_peak=1 GFLOP/s", 8192, 8192}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const subject s =
            load("tensors: {x: {shape: [64, 1], dtype: f32}, w: {shape: [64, 1], dtype: f32}}\noperators:\n"
                 "  - {op: linear, in: [x, w], out: y}\noutputs: [y]\n",
                 cases[i].peak);
        NEAR(fsim_least_contraction_s(s.g, s.hw, 0), cases[i].anywhere_ns * 1e-9);
        NEAR(fsim_contraction_generated_s(s.g, s.hw, 0, 0), cases[i].generated_ns * 1e-9);
        assert_true(fsim_contraction_alone_s(s.g, s.hw, 0, 0) <= fsim_contraction_generated_s(s.g, s.hw, 0, 0));
        assert_true(fsim_contraction_share_s(s.g, s.hw, 0, 2) >= fsim_least_contraction_s(s.g, s.hw, 0));
        fsim_arena_free(s.a);
    }
}

/* Images, or numbers, of 10 x 10 pixels. */
static void convolutions_as_products(void **unused)
{
    (void)unused;
    static const struct {
        const char *op, *x, *w;
        fsim_convolution_kind kind;
        double groups, pixels, filters, channels, taps, strides, visited;
        bool apart, alone, winograd, sums;
    } cases[] = {
        {"conv2d, in: [x, w], out: y, padding: 1, groups: 2", "2, 4, 10, 10", "6, 2, 3, 3", FSIM_PLANES, 2, 200, 3, 2,
         9, 1, 1, false, false, true, false},
        {"conv2d, in: [x, w], out: y", "2, 4, 10, 10", "6, 4, 1, 1", FSIM_PLANES, 1, 200, 6, 4, 1, 1, 1, false, true,
         false, false},
        {"conv2d, in: [x, w], out: y, stride: 2", "2, 4, 10, 10", "6, 4, 1, 1", FSIM_PLANES, 1, 50, 6, 4, 1, 1, 1,
         false, false, false, false},
        {"conv2d, in: [x, w], out: y, dilation: 2", "1, 4, 10, 10", "6, 4, 3, 3", FSIM_PLANES, 1, 36, 6, 4, 9, 1, 1,
         false, false, false, false},
        {"conv1d, in: [x, w], out: y", "2, 4, 10", "6, 4, 3", FSIM_PLANES, 1, 16, 6, 4, 3, 1, 1, false, false, false,
         false},
        {"conv3d, in: [x, w], out: y", "1, 4, 10, 10, 10", "6, 4, 3, 3, 3", FSIM_VOLUMES, 1, 512, 6, 4, 27, 1, 1, false,
         false, false, false},
        /* windows of 2, 2 apart: each result is one element's, with a column for each tap of each filter */
        {"conv_transpose2d, in: [x, w], out: y, stride: 2", "1, 4, 10, 10", "4, 3, 2, 2", FSIM_TRANSPOSED_PLANES, 1,
         100, 12, 4, 1, 1, 1, true, false, false, false},
        /* windows of 3, 2 apart, overlap: of every two taps of three, 4 of 3 visits along each axis meet an element */
        {"conv_transpose2d, in: [x, w], out: y, stride: 2", "1, 4, 10, 10", "4, 3, 3, 3", FSIM_TRANSPOSED_PLANES, 1,
         100, 3, 4, 9, 4, 16. / 9, false, false, false, false},
        {"conv_transpose2d, in: [x, w], out: y, stride: 2, dilation: 2", "1, 4, 10, 10", "4, 3, 2, 2",
         FSIM_TRANSPOSED_PLANES, 1, 100, 3, 4, 4, 4, 4, false, false, false, false},
        {"conv_transpose2d, in: [x, w], out: y", "1, 4, 10, 10", "4, 3, 1, 1", FSIM_TRANSPOSED_PLANES, 1, 100, 3, 4, 1,
         1, 1, false, true, false, false},
        {"conv_transpose2d, in: [x, w], out: y", "1, 4, 10, 10", "4, 3, 3, 3", FSIM_TRANSPOSED_PLANES, 1, 100, 3, 4, 9,
         1, 1, false, false, true, false},
        /* 6 filters with 4 x 3 x 3 weights each, every one a sum over 2 images of 10 x 10 */
        {"conv2d_weight, in: [x, w], out: y, kernel: 3, padding: 1", "2, 4, 10, 10", "2, 6, 10, 10", FSIM_PLANES, 1, 6,
         36, 200, 1, 1, 1, false, false, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "tensors: {x: {shape: [%s], dtype: f32}, w: {shape: [%s], dtype: f32}}\noperators: [{op: "
                 "%s}]\noutputs: [y]\n",
                 cases[i].x, cases[i].w, cases[i].op);
        const subject s = load(text, NULL);
        const fsim_convolution_shape c = fsim_convolution_shape_of(s.hw, &s.g->node[s.g->nodes - 1]);
        const double got[] = {c.kind,    c.groups,  c.pixels,        c.filters, c.channels, c.taps,
                              c.strides, c.visited, c.windows_apart, c.alone,   c.winograd, c.sums_pixels},
                     wanted[] = {cases[i].kind,     cases[i].groups, cases[i].pixels,   cases[i].filters,
                                 cases[i].channels, cases[i].taps,   cases[i].strides,  cases[i].visited,
                                 cases[i].apart,    cases[i].alone,  cases[i].winograd, cases[i].sums};
        for (size_t k = 0; k < sizeof got / sizeof *got; k++)
            if (fabs(got[k] - wanted[k]) > 1e-12)
                fail_msg("%s: figure %zu is %g, wanted %g", cases[i].op, k, got[k], wanted[k]);
        assert_true(!c.tensor && c.peak_flops == 1e9 && c.most == 1);
        fsim_arena_free(s.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_products_in_a_chain),
                                       cmocka_unit_test(products_of_one_step),
                                       cmocka_unit_test(convolutions_as_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

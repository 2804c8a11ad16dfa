/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 1 */
/* What PyTorch's kernels read and store as it is, where others would copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict.h"
#include <stdio.h>
#include <string.h>

static const char *const heads = "name: heads\nsymbols: {B: 8, S: 512, H: 768, heads: 12, dtype: f16}\ntensors:\n"
                                 "  qkv: {shape: [B, S, 3 * heads, H / heads], dtype: dtype, role: input}\n"
                                 "  w: {shape: [H, H], dtype: dtype, role: weight}\noperators:\n"
                                 "  - {op: permute, in: qkv, out: all, dims: [0, 2, 1, 3]}\n"
                                 "  - {op: slice, in: all, out: q, dim: 1, start: 0, size: heads}\n"
                                 "  - {op: slice, in: all, out: k, dim: 1, start: heads, size: heads}\n"
                                 "  - {op: slice, in: all, out: v, dim: 1, start: 2 * heads, size: heads}\n"
                                 "  - {op: attention, in: [q, k, v], out: mixed}\n";
static const char *const merged = "  - {op: permute, in: mixed, out: m, dims: [0, 2, 1, 3]}\n"
                                  "  - {op: copy, in: m, out: packed}\n"
                                  "  - {op: reshape, in: packed, out: rows, shape: [B * S, H]}\n"
                                  "  - {op: linear, in: [rows, w], out: y}\noutputs: [y]\n";
/* Of heads that others read, too, the copy is one; and of dimensions in another order. */
static const char *const read_twice = "  - {op: relu, in: mixed, out: again}\n"
                                      "  - {op: permute, in: mixed, out: m, dims: [0, 2, 1, 3]}\n"
                                      "  - {op: copy, in: m, out: packed}\n"
                                      "  - {op: reshape, in: packed, out: rows, shape: [B * S, H]}\n"
                                      "  - {op: linear, in: [rows, w], out: y}\noutputs: [again, y]\n";
static const char *const other_order = "  - {op: permute, in: mixed, out: m, dims: [2, 0, 1, 3]}\n"
                                       "  - {op: copy, in: m, out: packed}\n"
                                       "  - {op: reshape, in: packed, out: rows, shape: [B * S, H]}\n"
                                       "  - {op: linear, in: [rows, w], out: y}\noutputs: [y]\n";
/* A product of each head: its operands are no matrices with one stride for all heads of all sequences, but of one. */
static const char *const products = "name: products\nsymbols: {B: 8, S: 512, H: 768, heads: 12, dtype: f16}\ntensors:\n"
                                    "  x: {shape: [B, S, heads, H / heads], dtype: dtype, role: input}\n"
                                    "  w: {shape: [B, heads, H / heads, S], dtype: dtype, role: input}\noperators:\n"
                                    "  - {op: permute, in: x, out: h, dims: [0, 2, 1, 3]}\n"
                                    "  - {op: matmul, in: [h, w], out: y}\noutputs: [y]\n";
static const char *const rows = "name: rows\nsymbols: {S: 4096, H: 1024, dtype: f16}\ntensors:\n"
                                "  x: {shape: [S, 3 * H], dtype: dtype, role: input}\n"
                                "  w: {shape: [H, H], dtype: dtype, role: weight}\noperators:\n"
                                "  - {op: slice, in: x, out: part, dim: 1, start: 0, size: H}\n"
                                "  - {op: linear, in: [part, w], out: y}\noutputs: [y]\n";

static int kernels_of(const char *begin, const char *end, const fsim_binding *set, fsim_strategy strategy)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const char *text = fsim_printf(a, "%s%s", begin, end);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
    const fsim_graph *g =
        fsim_graph_parse(a, d, "layout.yaml", text, strlen(text), set ? &(fsim_bindings){set, 1, NULL} : NULL);
    if (!hw || !g)
        fsim_diag_print(d, stderr, false);
    assert_true(hw && g);
    const fsim_options o = {.strategy = strategy, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
    const int kernels = fsim_predict(g, hw, &o, a).plan[strategy].kernels;
    fsim_arena_free(a);
    return kernels;
}

static void attention_reads_and_stores_as_it_is(void **unused)
{
    (void)unused;
    static const fsim_strategy torch[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_INDUCTOR};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kernels_of(heads, merged, NULL, torch[i]), 2);
        assert_int_equal(kernels_of(heads, other_order, NULL, torch[i]), 3);
    }
    assert_int_equal(kernels_of(heads, read_twice, NULL, FSIM_STRATEGY_EAGER), 4);
    /* ONNX Runtime's MultiHeadAttention reads slices and stores [batch, tokens, heads x width]; what others read is
     * copied. */
    assert_int_equal(kernels_of(heads, merged, NULL, FSIM_STRATEGY_PATTERN), 2);
    assert_int_equal(kernels_of(heads, read_twice, NULL, FSIM_STRATEGY_PATTERN), 4);
}

static void products_read_matrices(void **unused)
{
    (void)unused;
    static const fsim_binding one[] = {{"B", "1"}};
    assert_int_equal(kernels_of(rows, "", NULL, FSIM_STRATEGY_INDUCTOR), 1);
    assert_int_equal(kernels_of(products, "", NULL, FSIM_STRATEGY_INDUCTOR), 2);
    assert_int_equal(kernels_of(products, "", one, FSIM_STRATEGY_INDUCTOR), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_reads_and_stores_as_it_is),
                                       cmocka_unit_test(products_read_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

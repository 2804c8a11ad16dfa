/* SPDX-License-Identifier: Apache-2.0 */
/* --precision: which dtypes change, and which do not; and what reports say of operators that are not known, and by
 * layer. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/load.h"
#include "report/coverage.h"
#include "report/layer.h"
#include "report/summary.h"
#include <string.h>

static const char text[] = "symbols: {B: 8, dtype: f16}\n"
                           "tensors:\n"
                           "  x: {shape: [B, 32], dtype: dtype}\n"
                           "  n: {shape: [B], dtype: i64}\n"
                           "  w: {shape: [64, 32], dtype: dtype, role: weight}\n"
                           "  v: {shape: [64, 32], dtype: f32, role: weight}\n"
                           "  b: {shape: [64], dtype: dtype, role: weight}\n"
                           "operators:\n"
                           "  - {op: linear, in: [x, w, b], out: y, layer: net.layer.0.lin}\n"
                           "  - {op: linear, in: [x, w], out: z, compute: f32, layer: net.layer.1.lin}\n"
                           "  - {op: cast, in: y, out: c, dtype: f32, layer: net.layer.1}\n"
                           "  - {op: cast, in: n, out: i, dtype: i32}\n"
                           "  - {op: cast, in: v, out: u, dtype: f16, layer: net.layer.1}\n"
                           "  - {op: custom, in: z, out: q, shape: [B, 64], from: 'com.foo:Bar'}\n"
                           "outputs: [c, i, u, q]\n";

static fsim_graph *loaded(fsim_arena *a, const char *precision)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_graph *g =
        fsim_graph_load_text(a, d, "precision", text, sizeof text - 1, &(fsim_workload_wanted){.precision = precision});
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    return g;
}

static fsim_dtype dtype_of(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return g->tensor[t].dtype;
    fail_msg("no tensor '%s'", name);
    return FSIM_DTYPE_NONE;
}

static void floats_change_and_integers_stay(void **state)
{
    (void)state;
    static const struct {
        const char *precision;
        fsim_dtype dtype;
    } cases[] = {{"f16", FSIM_F16}, {"bf16", FSIM_BF16}, {"f32", FSIM_F32}};
    static const char *const floats[] = {"x", "w", "v", "b", "y", "z", "c", "u", "q"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *g = loaded(a, cases[i].precision);
        for (size_t k = 0; k < sizeof floats / sizeof *floats; k++)
            assert_int_equal(dtype_of(g, floats[k]), cases[i].dtype);
        assert_int_equal(dtype_of(g, "n"), FSIM_I64);
        assert_int_equal(dtype_of(g, "i"), FSIM_I32);
        assert_int_equal(g->node[fsim_find_node(g, "z")].gemm.arithmetic, cases[i].dtype);
        fsim_arena_free(a);
    }
}

/* Products read 8 bits and make 16; a weight that nothing else reads is stored in 8. */
static void products_read_eight_bits(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = loaded(a, "f8");
    assert_int_equal(dtype_of(g, "w"), FSIM_F8E4M3);
    assert_int_equal(dtype_of(g, "v"), FSIM_BF16); /* a cast reads it */
    assert_int_equal(dtype_of(g, "b"), FSIM_BF16);
    assert_int_equal(dtype_of(g, "x"), FSIM_BF16);
    assert_int_equal(dtype_of(g, "f8.x"), FSIM_F8E4M3);
    assert_int_equal(dtype_of(g, "y"), FSIM_BF16);
    assert_int_equal(g->node[fsim_find_node(g, "z")].gemm.arithmetic, FSIM_F8E4M3);
    assert_int_equal(g->sources, 7); /* one cast for both products */
    fsim_arena_free(a);
}

static void unknown_operators_lower_the_coverage(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = loaded(a, NULL);
    const fsim_coverage x = fsim_coverage_of(g, a);
    assert_int_equal(x.operators, 6);
    assert_int_equal(x.unknown, 1);
    assert_true(x.known > 0.83 && x.known < 0.84);
    assert_string_equal(fsim_coverage_text(&x, a), "83% of operators known: 1 x com.foo:Bar costs a copy");
    int count;
    const fsim_counted *known = fsim_known_operators(g, a, &count);
    assert_int_equal(count, 2);
    assert_string_equal(known[0].name, "cast");
    assert_int_equal(known[0].count, 3);
    fsim_arena_free(a);
}

static void layers_are_summed(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    assert_string_equal(fsim_layer_head(a, "encoder.layer.3.attention.query", 1), "encoder");
    assert_string_equal(fsim_layer_head(a, "encoder.layer.3.attention.query", 2), "encoder.layer.3");
    assert_string_equal(fsim_layer_head(a, "layer1.0.conv1", 1), "layer1.0");
    assert_string_equal(fsim_layer_head(a, "a", 3), "a");
    const fsim_graph *g = loaded(a, NULL);
    const fsim_summary x = fsim_summary_of(g, 2, a);
    assert_int_equal(x.total.operators, 6);
    assert_int_equal(x.total.parameters, 64 * 32 * 2 + 64);
    assert_int_equal(x.layers, 3); /* layers 0 and 1, which differ, and operators without one */
    assert_string_equal(x.layer[0].name, "net.layer.0");
    assert_int_equal(x.layer[0].parameters, 64 * 32 + 64); /* it is the first to read w */
    assert_true(x.layer[0].flops == 2.0 * 8 * 64 * 32 + 8 * 64);
    assert_true(x.layer[0].activation_bytes == 8 * 64 * 2);
    assert_string_equal(x.layer[2].name, "");
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_change_and_integers_stay),
        cmocka_unit_test(products_read_eight_bits),
        cmocka_unit_test(unknown_operators_lower_the_coverage),
        cmocka_unit_test(layers_are_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

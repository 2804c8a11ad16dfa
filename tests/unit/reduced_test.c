/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 1 */
/* Values saved in fewer bits for gradients (--save-dtype): bytes of a small perceptron by hand; gradients are those of
 * the rounded values, however a plan comes by them; what is left as it is, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/hw.h"
#include "predict.h"
#include "validate/reference/reference.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static fsim_graph *derived(fsim_arena *a, const char *text, fsim_derive derive)
{
    derive.mode = FSIM_REVERSE;
    fsim_diag *d = fsim_diag_new(a);
    fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){.derive = &derive});
    if (!g)
        fsim_diag_print(d, stderr, true);
    assert_non_null(g);
    return g;
}

static int tensor_of(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    fail_msg("no tensor '%s'", name);
    return -1;
}

/* T: x, h, a, y and grad/y, 262144 x 64 of f32. W: a weight. */
#define T (262144LL * 64 * 4)
#define W (64LL * 64 * 4)
static const char perceptron[] = "tensors:\n  x: {shape: [262144, 64], dtype: f32}\n"
                                 "  w1: {shape: [64, 64], dtype: f32, role: weight}\n"
                                 "  w2: {shape: [64, 64], dtype: f32, role: weight}\n"
                                 "operators:\n  - {op: matmul, in: [x, w1], out: h}\n  - {op: gelu, in: h, out: a}\n"
                                 "  - {op: matmul, in: [a, w2], out: y}\noutputs: [y]\n";

static fsim_prediction predicted(fsim_arena *a, const fsim_save_dtype *save)
{
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    const fsim_options how = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000000};
    assert_non_null(hw);
    return fsim_predict(derived(a, perceptron, (fsim_derive){.want = FSIM_WANT_WEIGHTS, .save = save}), hw, &how, a);
}

static const fsim_saved_value *value_of(const fsim_prediction *p, const char *name, fsim_arena *a)
{
    fsim_saved_value *value;
    const int count = fsim_saved_with_ways(p, a, &value);
    for (int i = 0; i < count; i++)
        if (strcmp(p->graph->tensor[value[i].now.tensor].name, name) == 0)
            return &value[i];
    fail_msg("'%s' is not listed", name);
    return NULL;
}

static int64_t bytes_with(const fsim_saved_value *v, fsim_way way)
{
    for (int i = 0; i < v->others; i++)
        if (v->other[i].way == way)
            return v->other[i].bytes;
    return -1;
}

/* Forward reads x, w1 and w2, writes y, a and h in `share` of its bits; the gradient of w2 reads a and grad/y, that of
 * w1 h, x, grad/y and w2. */
static void takes_bytes(void **unused)
{
    static const char *const both[] = {"h", "a"};
    static const struct {
        fsim_save_dtype save;
        int64_t h, a; /* held for backward */
    } rows[] = {
        {{FSIM_BF16, NULL, 0}, T / 2, T}, {{FSIM_F8E4M3, NULL, 0}, T / 4, T}, {{FSIM_F8E4M3, both, 2}, T / 4, T / 4}};
    fsim_arena *a = fsim_arena_new();
    const fsim_plan eager = predicted(a, NULL).plan[FSIM_STRATEGY_EAGER];
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const fsim_prediction p = predicted(a, &rows[i].save);
        const fsim_plan *best = &p.plan[FSIM_STRATEGY_OPTIMAL], *theirs = &p.plan[FSIM_STRATEGY_EAGER];
        const fsim_saved_value *h = value_of(&p, "h", a), *act = value_of(&p, "a", a);
        assert_true(p.proof.proven);
        assert_int_equal(best->kernels, 3);
        assert_int_equal(best->saved_bytes, rows[i].h + rows[i].a);
        assert_int_equal(best->dram_read_bytes, T + 2 * W + rows[i].a + T + rows[i].h + 2 * T + W);
        assert_int_equal(best->dram_write_bytes, T + rows[i].a + rows[i].h + 2 * W);
        assert_int_equal(h->now.way, FSIM_REDUCED);
        assert_int_equal(h->now.bytes, rows[i].h);
        assert_int_equal(bytes_with(h, FSIM_KEEP), T);
        assert_int_equal(bytes_with(h, FSIM_RECOMPUTE), 0);
        assert_int_equal(act->now.way, rows[i].save.names ? FSIM_REDUCED : FSIM_KEEP);
        assert_int_equal(act->now.bytes, rows[i].a);
        assert_int_equal(fsim_why_not_reduced(p.graph, &act->now) == NULL, rows[i].save.names > 0);
        assert_true(theirs->time_s == eager.time_s && theirs->saved_bytes == eager.saved_bytes &&
                    theirs->peak_memory_bytes == eager.peak_memory_bytes);
    }
    fsim_arena_free(a);
}

/* Of two layers, a norm and a softmax in f64. */
static const char block[] =
    "tensors:\n  x: {shape: [8, 16], dtype: f64}\n  w: {shape: [16, 16], dtype: f64, role: weight}\n"
    "  g: {shape: [16], dtype: f64, role: weight}\n  b: {shape: [16], dtype: f64, role: weight}\n"
    "operators:\n  - {op: matmul, in: [x, w], out: u}\n  - {op: silu, in: u, out: s}\n"
    "  - {op: layer_norm, in: [s, g, b], out: n}\n  - {op: matmul, in: [n, w], out: v}\n"
    "  - {op: softmax, in: v, out: p, dim: -1}\n  - {op: mul, in: [p, s], out: y}\noutputs: [y]\n";

/* The largest difference of two graphs' gradients, over the largest of the first's. */
static double apart(const fsim_graph *x, const fsim_graph *y)
{
    fsim_reference *r = fsim_reference_of(x, 1), *s = fsim_reference_of(y, 1);
    double most = 0;
    assert_int_equal(x->gradients, y->gradients);
    for (int i = 0; i < x->gradients; i++) {
        const int t = x->gradient[i].tensor, u = y->gradient[i].tensor;
        double off = 0, size = 0;
        for (int64_t e = 0; e < x->tensor[t].elems; e++) {
            size = fmax(size, fabs(r->of[t].value[e]));
            off = fmax(off, fabs(r->of[t].value[e] - s->of[u].value[e]));
        }
        most = fmax(most, off / size);
    }
    fsim_reference_free(r);
    fsim_reference_free(s);
    return most;
}

/* Gradients of rounded values differ from the exact ones by the type's error, and not at all by whether a value is
 * computed again. */
static void rounds_once(void **unused)
{
    static const char *const all[] = {"*"};
    static const struct {
        fsim_dtype dtype;
        double unit;
    } types[] = {{FSIM_F16, 0x1p-11}, {FSIM_BF16, 0x1p-8}, {FSIM_F8E4M3, 0x1p-4}};
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *exact = derived(a, block, (fsim_derive){0});
    (void)unused;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int names = 0; names < 2; names++) {
            const fsim_save_dtype save = {types[i].dtype, all, names};
            const fsim_graph *g = derived(a, block, (fsim_derive){.save = &save});
            signed char *fate = fsim_new(a, signed char, g->own_tensors + 1);
            const double off = apart(exact, g);
            assert_true(off > types[i].unit / 16 && off < types[i].unit * 4);
            for (int t = 0; t < g->own_tensors; t++)
                fate[t] = g->tensor[t].producer < 0 ? FSIM_HELD : FSIM_PASSED;
            fate[tensor_of(g, "u")] = fate[tensor_of(g, "s")] = FSIM_DROPPED;
            const fsim_graph *again = fsim_graph_with_fates(g, fate, g->own_tensors, a);
            assert_non_null(again);
            tensor_of(again, "again/u");
            assert_true(apart(g, again) == 0);
            assert_true(apart(exact, fsim_graph_unreduced(again, a)) == 0);
        }
    fsim_arena_free(a);
}

/* Which values are read in fewer bits. */
static void says_what_is_not_reduced(void **unused)
{
    static const char *const only[] = {"*s"};
    fsim_arena *a = fsim_arena_new();
    const fsim_save_dtype save = {FSIM_BF16, NULL, 0}, named = {FSIM_BF16, only, 1};
    const fsim_graph *g = derived(a, block, (fsim_derive){.save = &save}),
                     *h = derived(a, block, (fsim_derive){.save = &named});
    (void)unused;
    assert_int_equal(g->unreduced[tensor_of(g, "u")], FSIM_MAY_REDUCE);
    assert_int_equal(g->unreduced[tensor_of(g, "x")], FSIM_GIVEN);
    assert_int_equal(g->unreduced[tensor_of(g, "n")], FSIM_OPERAND);
    assert_int_equal(g->unreduced[tensor_of(g, "n/rstd")], FSIM_STATISTIC);
    assert_int_equal(g->unreduced[tensor_of(g, "n/centre")], FSIM_INNER);
    assert_int_equal(h->unreduced[tensor_of(h, "s")], FSIM_MAY_REDUCE);
    assert_int_equal(h->unreduced[tensor_of(h, "u")], FSIM_UNNAMED);
    tensor_of(g, "save/u");
    tensor_of(h, "save/s");
    for (int t = 0; t < h->tensors; t++)
        assert_true(strcmp(h->tensor[t].name, "save/u") != 0);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_bytes), cmocka_unit_test(rounds_once),
                                       cmocka_unit_test(says_what_is_not_reduced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

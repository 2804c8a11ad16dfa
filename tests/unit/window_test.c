/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with windows and sinks: the numbers are those of the same attention written out with masks and a further
 * column of scores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/reference/reference.h"
#include <math.h>
#include <string.h>

#define INPUTS                                                                                                         \
    "  q: {shape: [2, 4, 9, 8], dtype: f64}\n  k: {shape: [2, 2, 9, 8], dtype: f64}\n"                                 \
    "  v: {shape: [2, 2, 9, 8], dtype: f64}\n  q1: {shape: [2, 4, 1, 8], dtype: f64}\n"                                \
    "  sink: {shape: [4], dtype: f64}\n  bias: {shape: [1, 9], dtype: f64}\n"
/* keep[i, j]: key j is at or before query i, and one of its last 4. */
#define KEEP                                                                                                           \
    "  - {op: arange, out: at, end: 9}\n  - {op: reshape, in: at, out: row, shape: [9, 1]}\n"                          \
    "  - {op: sub, in: [row, at], out: back}\n  - {op: ge, in: back, out: past, scalar: 0}\n"                          \
    "  - {op: lt, in: back, out: near, scalar: 4}\n  - {op: logical_and, in: [past, near], out: keep}\n"

static const struct {
    const char *name, *with, *without;
} cases[] = {
    {"a window in prefill", "  - {op: attention, in: [q, k, v], out: o, causal: true, window: 4}\n",
     KEEP "  - {op: attention, in: [q, k, v, keep], out: o}\n"},
    {"a window that hides nothing", "  - {op: attention, in: [q, k, v], out: o, causal: true, window: 9}\n",
     "  - {op: attention, in: [q, k, v], out: o, causal: true}\n"},
    {"a window in decode", "  - {op: attention, in: [q1, k, v], out: o, window: 4}\n",
     "  - {op: slice, in: k, out: k4, dim: 2, start: 5, size: 4}\n"
     "  - {op: slice, in: v, out: v4, dim: 2, start: 5, size: 4}\n  - {op: attention, in: [q1, k4, v4], out: o}\n"},
    {"a window beside a bias", "  - {op: attention, in: [q1, k, v, bias], out: o, window: 4}\n",
     "  - {op: arange, out: at, end: 9}\n  - {op: lt, in: at, out: far, scalar: 5}\n"
     "  - {op: masked_fill, in: [bias, far], out: near, value: -1e30}\n"
     "  - {op: attention, in: [q1, k, v, near], out: o}\n"},
    {"sinks", "  - {op: attention, in: [q, k, v, sink], out: o, sinks: true, enable_gqa: true, scale: 0.5}\n",
     "  - {op: repeat_interleave, in: k, out: k4, dim: 1, repeats: 2}\n"
     "  - {op: repeat_interleave, in: v, out: v4, dim: 1, repeats: 2}\n"
     "  - {op: einsum, in: [q, k4], out: qk, equation: 'bhsd,bhtd->bhst'}\n"
     "  - {op: mul, in: qk, out: s, scalar: 0.5}\n"
     "  - {op: reshape, in: sink, out: column, shape: [1, 4, 1, 1]}\n"
     "  - {op: expand, in: column, out: columns, shape: [2, 4, 9, 1]}\n"
     "  - {op: concat, in: [s, columns], out: all, dim: 3}\n  - {op: softmax, in: all, out: p_all, dim: 3}\n"
     "  - {op: slice, in: p_all, out: p, dim: 3, start: 0, size: 9}\n"
     "  - {op: einsum, in: [p, v4], out: o, equation: 'bhst,bhtd->bhsd'}\n"},
};

static fsim_graph *parse(fsim_arena *a, const char *operators)
{
    fsim_diag *d = fsim_diag_new(a);
    const char *text = fsim_printf(a, "tensors:\n" INPUTS "operators:\n%soutputs: [o]\n", operators);
    fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), NULL);
    if (!g)
        fsim_diag_print(d, stderr, true);
    assert_non_null(g);
    return g;
}

static const double *result(const fsim_graph *g, const fsim_reference *r, int64_t *elems)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, "o") == 0) {
            *elems = g->tensor[t].elems;
            return r->of[g->tensor[t].storage].value + g->tensor[t].offset;
        }
    fail_msg("no result");
    return NULL;
}

static void as_written_out(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *x = parse(a, cases[i].with), *y = parse(a, cases[i].without);
        fsim_reference *rx = fsim_reference_of(x, 1), *ry = fsim_reference_of(y, 1);
        int64_t elems, others;
        const double *v = result(x, rx, &elems), *w = result(y, ry, &others);
        assert_int_equal(elems, others);
        for (int64_t e = 0; e < elems; e++)
            if (!(fabs(v[e] - w[e]) <= 1e-12))
                fail_msg("%s: element %lld is %.17g, written out %.17g", cases[i].name, (long long)e, v[e], w[e]);
        fsim_reference_free(rx);
        fsim_reference_free(ry);
        fsim_arena_free(a);
    }
}

/* What does not go together is told. */
static void mistakes_are_told(void **unused)
{
    (void)unused;
    static const char *const wrong[][2] = {
        {"in: [q, k, v], out: o, window: 4", "wants 'causal: true', or one query"},
        {"in: [q, k, v], out: o, sinks: true", "with 'sinks' the last input is a number for each of 4 heads"},
        {"in: [q, k, v, bias], out: o, sinks: true", "'bias' is f64[1, 9]"},
        {"in: [q1, k, v, bias, sink], out: o", "the fifth, 'sink', wants 'sinks: true'"},
        {"in: [q, k, v], out: o, causal: true, window: -1", "'window'"},
        {"in: [q, k, v], out: o, causal: true, windo: 3", "did you mean 'window'?"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text =
            fsim_printf(a, "tensors:\n" INPUTS "operators:\n  - {op: attention, %s}\noutputs: [o]\n", wrong[i][0]);
        assert_null(fsim_graph_parse(a, d, "test.yaml", text, strlen(text), NULL));
        char said[4096] = "";
        FILE *out = fmemopen(said, sizeof said, "w");
        fsim_diag_print(d, out, true);
        fclose(out);
        if (!strstr(said, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], said);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_written_out), cmocka_unit_test(mistakes_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

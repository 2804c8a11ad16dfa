/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 1 */
/* Peaks of memory of eager PyTorch, counted by hand in tensors of the size of x: what autograd keeps, the gradients of
 * the run before, and what an operator's gradient makes on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "plan/rivals/tape.h"
#include <stdio.h>
#include <string.h>

enum { ROWS = 1024, WIDTH = 4096 };
#define T ((double)ROWS * WIDTH * 4)
#define X "  x: {shape: [1024, 4096], dtype: f32}\n"

static double peak(const char *text, fsim_tape_part part, bool again)
{
    static const fsim_derive gradients = {.mode = FSIM_REVERSE};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g =
        fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){.derive = &gradients});
    if (!g)
        fsim_diag_print(d, stderr, true);
    assert_non_null(g);
    const double bytes = fsim_tape_peak(g, part, again, a);
    fsim_arena_free(a);
    return bytes;
}

static void assert_tensors(double bytes, double count, double more)
{
    if (bytes < count * T || bytes > count * T + more)
        fail_msg("%.3f tensors, not %g", bytes / T, count);
}

/* Measured (Liger): x, log p, the gradients of both, x.grad of the run before. */
static void of_cross_entropy(void **unused)
{
    static const char text[] = "tensors:\n" X "  target: {shape: [1024], dtype: i64}\noperators:\n"
                               "  - {op: cross_entropy, in: [x, target], out: loss}\noutputs: [loss]\n";
    (void)unused;
    assert_tensors(peak(text, FSIM_TAPE_FULL, true), 5, 9000);
    assert_tensors(peak(text, FSIM_TAPE_FULL, false), 4, 9000);
    assert_tensors(peak(text, FSIM_TAPE_FORWARD, true), 3, 9000);
}

/* Measured (Liger): x, y, dy, dx, x.grad of the run before, and parameters and statistics. */
static void of_layer_norm(void **unused)
{
    static const char text[] =
        "tensors:\n" X
        "  w: {shape: [4096], dtype: f32, role: weight}\n  b: {shape: [4096], dtype: f32, role: weight}\n"
        "operators:\n  - {op: layer_norm, in: [x, w, b], out: y}\noutputs: [y]\n";
    (void)unused;
    assert_tensors(peak(text, FSIM_TAPE_FULL, true), 5, 6 * 4096 * 4 + 8 * 1024);
}

/* x, y, dy, dy * y, dx. */
static void of_softmax(void **unused)
{
    (void)unused;
    assert_tensors(peak("tensors:\n" X "operators:\n  - {op: softmax, in: x, out: y, dim: 1}\noutputs: [y]\n",
                        FSIM_TAPE_BACKWARD, false),
                   5, 0);
}

/* h dies when y is there: relu keeps its result alone, add nothing. Then x, z, y, dy, and dh, which is dx and dz, too.
 */
static void of_what_is_handed_on(void **unused)
{
    static const char text[] = "tensors:\n" X "  z: {shape: [1024, 4096], dtype: f32}\noperators:\n"
                               "  - {op: add, in: [x, z], out: h}\n  - {op: relu, in: h, out: y}\noutputs: [y]\n";
    (void)unused;
    assert_tensors(peak(text, FSIM_TAPE_FORWARD, false), 4, 0);
    assert_tensors(peak(text, FSIM_TAPE_BACKWARD, false), 5, 0);
}

/* exp keeps its result, a and b, which is let go of after that exp's gradient; where the graph is kept to run again,
 * nothing is, and the old dx is there. */
static void of_what_is_let_go_of(void **unused)
{
    static const char text[] = "tensors:\n" X "operators:\n  - {op: exp, in: x, out: a}\n  - {op: exp, in: a, out: b}\n"
                               "  - {op: sin, in: b, out: c}\n  - {op: sum, in: c, out: loss}\noutputs: [loss]\n";
    (void)unused;
    assert_tensors(peak(text, FSIM_TAPE_FORWARD, false), 4, 4);   /* x, a, b, c */
    assert_tensors(peak(text, FSIM_TAPE_BACKWARD, false), 5, 12); /* x, a, b, db, da: dc is a number, b goes then */
    assert_tensors(peak(text, FSIM_TAPE_BACKWARD, true), 6, 12);  /* x, a, b, da, dx, the old dx */
}

/* x, t; t log t, t x and their difference. Backward: x, t, dx and what it is multiplied from. Measured (Liger) with
 * what x is made of, and its gradient of the run before: 7. */
static void of_kl_div(void **unused)
{
    static const char text[] = "tensors:\n" X "  t: {shape: [1024, 4096], dtype: f32, grad: false}\noperators:\n"
                               "  - {op: kl_div, in: [x, t], out: loss}\noutputs: [loss]\n";
    (void)unused;
    assert_tensors(peak(text, FSIM_TAPE_FORWARD, false), 5, 8);
    assert_tensors(peak(text, FSIM_TAPE_FULL, true), 6, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_cross_entropy),     cmocka_unit_test(of_layer_norm),
                                       cmocka_unit_test(of_softmax),           cmocka_unit_test(of_what_is_handed_on),
                                       cmocka_unit_test(of_what_is_let_go_of), cmocka_unit_test(of_kl_div)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

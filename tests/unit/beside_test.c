/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 1 */
/* What parts of a kernel cost that have only inputs in common: one of them pays for the launch, and each for what it
 * moves. Prices of parts, held against every plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "plan/price/price.h"
#include "plan/search/search.h"
#include "predict.h"
#include "priced_check.h"
#include "random.h"
#include <stdio.h>
#include <string.h>

enum { GRAPHS = 60, MOST = 8 };

/* Chains of one to three elementwise operators, each on x, some with a sum of each row at their end. x has 128 MiB,
 * more than an L2 holds; or 256 KiB, and there is a product besides. */
static const char *chains(fsim_arena *a, bool small)
{
    static const char *const unary[] = {"exp", "tanh", "neg", "sin", "erf", "sqrt"};
    const char *text = small ? "tensors: {x: {shape: [64, 1024], dtype: f32}, y: {shape: [16, 16], dtype: f32},"
                               " w: {shape: [16, 16], dtype: f32}}\noperators:\n  - {op: linear, in: [y, w], out: z}\n"
                             : "tensors: {x: {shape: [8192, 4096], dtype: f32}}\noperators:\n";
    const int count = 2 + (int)draw(2);
    for (int c = 0; c < count; c++) {
        const int length = 1 + (int)draw(count == 2 ? 3 : 2);
        for (int i = 0; i < length; i++)
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: t%d_%d}\n", text, unary[draw(6)],
                               i == 0 ? "x" : fsim_printf(a, "t%d_%d", c, i - 1), c, i);
        if (draw(3) == 0)
            text = fsim_printf(a, "%s  - {op: sum, in: t%d_%d, out: s%d, dims: [1]}\n", text, c, length - 1, c);
    }
    return text;
}

static bool take(void *to, const fsim_plan *plan)
{
    fsim_sum *least = to;
    *least = *least < 0 || plan->objective < *least ? plan->objective : *least;
    return true;
}

static void parts_pay_no_more_than_their_kernel(void **unused)
{
    (void)unused;
    static const char *const gpu[] = {"t4", "a100-sxm4-40gb", "h100-sxm5-80gb"};
    int compared[2] = {0};
    double reached[2] = {0};
    told_bounds told = {0};
    state = 5;
    for (int turn = 0; turn < GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", gpu[draw(3)]));
        const bool small = turn % 2;
        const char *text = chains(a, small);
        const fsim_graph *g = fsim_graph_parse(a, d, "chains.yaml", text, strlen(text), &(fsim_bindings){0});
        const fsim_options o = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000000};
        assert_non_null(g);
        if (g->nodes <= MOST) {
            fsim_problem p = fsim_problem_of(g, hw, &o, a);
            fsim_sum least = -1;
            bool truncated;
            fsim_enumerate(&p, 0, take, &least, &truncated);
            assert_false(truncated);
            reached[small] += parted_bound(&p, least, a);
            check_told(&p, least, a, &told);
            compared[small]++;
        }
        fsim_arena_free(a);
    }
    for (int small = 0; small < 2; small++) {
        printf("%d graphs; prices of parts are %.1f %% of the least plan on average\n", compared[small],
               100 * reached[small] / compared[small]);
        assert_true(compared[small] > GRAPHS / 4 && reached[small] > (small ? 0.8543 : 0.7345) * compared[small]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_pay_no_more_than_their_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

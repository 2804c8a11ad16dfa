/* SPDX-License-Identifier: Apache-2.0 */
/* Deep stacks of equal layers through which few states lead, on GPUs whose L2 holds a few tensors or none: the search
 * that leaves most of the layers out finds and proves the plan that the search of all of them finds. cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "hw/load.h"
#include "plan/price/price.h"
#include "plan/search/search.h"
#include "predict.h"
#include "random.h"
#include "row_stack.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
static const bool usual = false;
enum { STACKS = 6 };
#else
static const bool usual = true;
enum { STACKS = 36 };
#endif

static fsim_sum searched(fsim_problem p, bool each_layer, fsim_proof *proof, fsim_arena *a)
{
    fsim_plan best;
    p.store = fsim_store_new(a);
    p.each_layer = each_layer;
    fsim_optimal(&p, NULL, 0, a, &best, proof);
    return best.objective;
}

static void layers_left_out_change_nothing(void **unused)
{
    (void)unused;
    static const char *const gpu[] = {"t4", "h100-sxm5-80gb", "a100-sxm4-40gb"};
    static const int in_l2[] = {0, 2, 3, 5, 8, 1};
    int fewer = 0, proven = 0;
    double bounds = 0;
    for (int turn = 1; turn <= STACKS; turn++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        state = (uint64_t)turn;
        const stack s = random_stack();
        const int layers = 150 / s.count, side = turn % 2 ? 512 : 1024, held = in_l2[turn % 6];
        const char *l2 = fsim_printf(a, "l2_capacity=%d B", 4 * held * side * side),
                   *text = stack_text(a, &s, layers, side);
        const fsim_hw_wanted how = {.change = &l2, .changes = held ? 1 : 0};
        const fsim_hw *hw =
            fsim_hw_load(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpu[turn % 3]), &how);
        const fsim_graph *g = fsim_graph_parse(a, d, "stack.yaml", text, strlen(text), NULL);
        if (!hw || !g)
            fsim_diag_print(d, stderr, false);
        assert_true(hw && g);
        const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                                .objective = turn % 5 == 3 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME,
                                .warm = turn % 7 == 2,
                                .search_steps = 3000000};
        const fsim_problem p = fsim_problem_of(g, hw, &o, a);
        fsim_proof once, each;
        const fsim_sum best = searched(p, false, &once, a), all = searched(p, true, &each, a);
        if (best != all && once.proven && each.proven)
            fail_msg("turn %d: %lld, of all layers %lld\n%s", turn, (long long)best, (long long)all, text);
        const double unit = o.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
        assert_true(once.lower_bound <= (double)all * unit * (1 + 1e-12) &&
                    each.lower_bound <= (double)best * unit * (1 + 1e-12));
        bounds += best > 0 ? once.lower_bound / ((double)best * unit) : 1;
        proven += once.proven;
        fewer += once.steps < each.steps / 2;
        fsim_arena_free(a);
    }
    printf("%d of %d proven, bounds %.5f, %d with less than half of the steps\n", proven, STACKS, bounds / STACKS,
           fewer);
    assert_true(proven >= STACKS - 1 && bounds >= 0.99999 * STACKS);
    assert_true(!usual || fewer >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_left_out_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of each operator's example, made small, and of its derivatives, element by element: what they write is all of
 * their results, and what they read is as much as they say. depends: once cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elements.h"
#include "graph/example.h"
#include "predict.h"
#include "small_example.h"
#include <stdio.h>
#include <stdlib.h>

static void kernels_of_each_operator(void **unused)
{
    (void)unused;
    static const fsim_strategy which[] = {FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_MAXIMAL};
    static const fsim_derive reverse = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL};
    element_tally sums = {0};
    int kernels = 0;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (int derived = 0; derived < 2 && fsim_op_parse(fsim_ops[op].name, &named); derived++) {
            fsim_arena *a = fsim_arena_new();
            fsim_diag *d = fsim_diag_new(a);
            const char *text = made_small(a, fsim_example(a, (fsim_op)op));
            const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
            const fsim_graph *g = fsim_graph_parse(a, d, "elements.yaml", text, strlen(text),
                                                   &(fsim_bindings){.derive = derived ? &reverse : NULL});
            const fsim_options how = {
                .strategy = FSIM_STRATEGY_UNFUSED, .regime = FSIM_REGIME_GRAPH, .search_steps = 3000};
            assert_non_null(hw);
            if (g) {
                const fsim_prediction p = fsim_predict(g, hw, &how, a);
                for (int s = 0; s < 2; s++)
                    for (int k = 0; k < p.plan[which[s]].kernels; k++, kernels++)
                        check_elements(p.graph, p.plan[which[s]].kernel[k].group, &sums);
            }
            fsim_arena_free(a);
        }
    }
    printf("%d kernels, %d tensors read and %d written, element by element\n", kernels, sums.read, sums.written);
    assert_true(sums.read > kernels / 2 && sums.written > kernels / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_of_each_operator)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

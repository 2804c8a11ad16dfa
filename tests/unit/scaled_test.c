/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU whose every rate is twice as high and whose every latency is half as long takes half as long for a kernel: each
 * figure of the hardware counts the right way round, in every term. Kernels whose model has seconds of its own, that
 * were fitted, take more than half, and no more than before. depends: once cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those above */

#include "graph/example.h"
#include "plan/price/price.h"
#include "predict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int kernels, exact;
    double least; /* ratio of both times */
} tally;

static const fsim_hw *twice_as_fast(const fsim_hw *hw, fsim_arena *a)
{
    fsim_hw *fast = fsim_new(a, fsim_hw, 1);
    *fast = *hw;
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        const fsim_dim dim = fsim_hw_rows[k].dim;
        const double by = dim == FSIM_DIM_BYTES_PER_S || dim == FSIM_DIM_FLOPS || dim == FSIM_DIM_HZ ? 2
                          : dim == FSIM_DIM_SECONDS                                                  ? 0.5
                                                                                                     : 1;
        fast->q[k].value *= by;
        fast->q[k].achieved *= by;
    }
    return fast;
}

/* Each kernel of a plan on both: its units, and what it takes. */
static void compare(fsim_problem *slow, fsim_problem *fast, const fsim_plan *plan, fsim_arena *a, tally *sums)
{
    for (int i = 0; i < plan->kernels; i++) {
        const fsim_part *part = &plan->partition.part[i];
        const fsim_kernel *x = fsim_kernel_alone(slow, part->node, part->count, a),
                          *y = fsim_kernel_alone(fast, part->node, part->count, a);
        if (!x || !y)
            continue;
        sums->kernels++;
        const double ratio = x->time_s / y->time_s;
        const bool exact = fabs(ratio - 2) < 1e-6;
        sums->exact += exact;
        sums->least = ratio < sums->least ? ratio : sums->least;
        if (getenv("SCALED_TEST_VERBOSE") && !exact)
            fprintf(stderr, "%s %s: %.6f\n", fsim_template_names[x->template], slow->graph->node[part->node[0]].name,
                    ratio);
        const bool own = x->template != FSIM_POINTWISE && x->template != FSIM_COPY && x->template != FSIM_POOLING;
        if (!(exact || own) || !(ratio <= 2 * (1 + 1e-6) && ratio > 0))
            fail_msg("%s of %s: %.9g s, twice as fast %.9g s", fsim_template_names[x->template],
                     slow->graph->node[part->node[0]].name, x->time_s, y->time_s);
    }
}

static void half_the_time(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {"hwmodels/a100-sxm4-40gb", "hwmodels/t4", "hwmodels/h100-sxm5-80gb",
                                       "tests/hw/toy"};
    tally sums = {.least = 2};
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        if (!fsim_op_parse(fsim_ops[op].name, &named))
            continue;
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_example(a, (fsim_op)op);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/%s.yaml", gpus[op % 4]));
        const fsim_graph *g = fsim_graph_parse(a, d, "scaled.yaml", text, strlen(text), NULL);
        const fsim_options how = {
            .strategy = FSIM_STRATEGY_UNFUSED, .regime = FSIM_REGIME_STREAM, .search_steps = 3000};
        assert_true(hw && g);
        const fsim_hw *faster = twice_as_fast(hw, a);
        const fsim_prediction p = fsim_predict(g, hw, &how, a);
        fsim_problem slow = fsim_problem_of(p.graph, hw, &how, a), fast = fsim_problem_of(p.graph, faster, &how, a);
        compare(&slow, &fast, &p.plan[FSIM_STRATEGY_UNFUSED], a, &sums);
        compare(&slow, &fast, &p.plan[FSIM_STRATEGY_MAXIMAL], a, &sums);
        fsim_arena_free(a);
    }
    printf("%d kernels, %d in exactly half the time, all in 1 / %.4f of it\n", sums.kernels, sums.exact, sums.least);
    assert_true(sums.kernels >= 558 && sums.exact >= 483 && sums.least > 1.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(half_the_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

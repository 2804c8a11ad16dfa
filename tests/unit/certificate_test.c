/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of plans on a T4: each reaches its plan's cost, and has the kernels and states that are counted by hand.
 * Of n primitives in a row every stretch is a kernel, n (n + 1) / 2, and leads from one of n + 1 states to another.
 * cli.proof checks whole certificates by another program. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/price/price.h"
#include "plan/search/certificate.h"
#include "predict.h"

static const struct {
    const char *workload;
    int pieces, pairs; /* pairs: that separate them */
    struct {
        int primitives, kernels, refusals, states, transitions;
    } first;       /* piece */
    bool followed; /* what L2 holds decides */
} cases[] = {
    {"seeds/add_relu_mul", 1, 0, {3, 6, 0, 4, 6}, false},
    /* an exponential and what it is added to, eight and sixteen times; the inputs are small enough to stay in L2 */
    {"golden/exp_chain_8", 1, 0, {9, 45, 0, 10, 45}, true},
    {"seeds/broadcast_recompute", 1, 0, {17, 153, 0, 18, 153}, true},
    /* in none of the four kernels of two primitives in a piece is the third, which neither may join */
    {"seeds/cycle", 2, 2, {2, 4, 0, 3, 4}, true},
    /* the total of all elements, and their quotients by it: two kernels, never one */
    {"seeds/normalize_by_total", 1, 0, {2, 2, 1, 3, 2}, false},
    /* seven operators that are kernels of their own between others: ten pieces, nine borders */
    {"seeds/boundaries", 10, 9, {1, 1, 0, 2, 1}, true},
    {"seeds/allreduce_overlap", 7, 6, {1, 1, 0, 2, 1}, false},
    {"seeds/external_dependency", 1, 0, {4, 12, 2, 10, 24}, false},
    {"seeds/two_consumers", 1, 0, {3, 6, 0, 7, 8}, false},
    {"seeds/two_consumers_costly", 1, 0, {3, 5, 1, 5, 7}, false},
    {"seeds/materialize", 1, 0, {4, 6, 4, 6, 9}, false},
    {"seeds/cross_entropy", 1, 0, {9, 31, 2, 16, 44}, false},
    {"golden/two_readers_cheap", 1, 0, {3, 5, 1, 7, 7}, false},
    {"liger/swiglu", 1, 0, {6, 22, 2, 10, 31}, false},
};

static void certificates_reach_their_plans(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000000};
        size_t bytes;
        const char *why, *path = fsim_printf(a, FUSESIM_SOURCE_DIR "/workloads/%s.yaml", cases[i].workload),
                         *text = fsim_read_file(a, path, &bytes, &why);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
        assert_true(text && hw);
        const fsim_graph *g = fsim_graph_parse(a, d, path, text, bytes, NULL);
        assert_non_null(g);
        const fsim_prediction p = fsim_predict(g, hw, &options, a);
        fsim_problem problem = fsim_problem_of(p.graph, hw, &options, a);
        const fsim_plan *plan = &p.plan[FSIM_STRATEGY_OPTIMAL];
        const fsim_certificate c = fsim_certify(&problem, plan, a);
        assert_null(c.without);
        if (c.bound != plan->objective)
            fail_msg("%s: the bound is %lld of %lld", cases[i].workload, (long long)c.bound,
                     (long long)plan->objective);
        assert_true(cases[i].followed ? c.pieces_bound < c.bound && !c.followed.without && c.followed.bound == c.bound
                                      : c.pieces_bound == c.bound);
        assert_int_equal(c.pieces, cases[i].pieces);
        assert_int_equal(c.pairs, cases[i].pairs);
        int primitives = 0;
        for (int k = 0; k < c.pieces; k++) {
            primitives += c.piece[k].count;
            assert_null(c.piece[k].without);
            assert_true(c.piece[k].node[0] >= 0 && c.piece[k].node[c.piece[k].count - 1] < g->nodes);
            for (int t = 0; t < c.piece[k].transitions; t++)
                assert_true(c.piece[k].transition[t].to < c.piece[k].states &&
                            c.piece[k].transition[t].kernel < c.piece[k].kernels);
        }
        for (int k = 1; k < c.pairs; k++)
            assert_true(c.separated[k - 1].a < c.separated[k].a ||
                        (c.separated[k - 1].a == c.separated[k].a && c.separated[k - 1].b < c.separated[k].b));
        assert_int_equal(primitives, g->nodes);
        const fsim_certified_piece *x = &c.piece[0];
        assert_int_equal(x->count, cases[i].first.primitives);
        assert_int_equal(x->kernels, cases[i].first.kernels);
        assert_int_equal(x->refusals, cases[i].first.refusals);
        assert_int_equal(x->states, cases[i].first.states);
        assert_int_equal(x->transitions, cases[i].first.transitions);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(certificates_reach_their_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

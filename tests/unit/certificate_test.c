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
#include "random_workload.h"
#include <stdio.h>
#include <string.h>

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

/* What a certificate of a small graph says, against definitions: the pieces hold each primitive once, no kernel has
 * both of a pair; a state's rest costs no more than any kernel that leads on from it and the rest from there, and as
 * much as the least of these; no kernel costs less than its price; what is refused is no kernel. */
typedef struct {
    int graphs, reached, kernels, refusals, states, transitions, pairs;
    double bounds;
} tally;

static fsim_candidate *candidate_of(fsim_problem *p, const fsim_certified_piece *x, fsim_mask set, fsim_mask stored)
{
    int node[64], count = 0;
    bool flag[64];
    for (int i = 0; i < x->count; i++)
        if (set >> i & 1) {
            flag[count] = stored >> i & 1;
            node[count++] = x->node[i];
        }
    return fsim_candidate_of(p, node, count, flag);
}

static void check_kernels(fsim_problem *p, const fsim_certified_piece *x, tally *sums)
{
    static const bool none[128];
    for (int k = 0; k < x->kernels; k++) {
        fsim_candidate *c = candidate_of(p, x, x->kernel[k].set, x->kernel[k].stored);
        assert_true(c->legal && (x->kernel[k].stored & ~x->kernel[k].set) == 0);
        const fsim_kernel *cold = fsim_kernel_for(p, c, none, none);
        assert_true(x->kernel[k].price >= (p->objective == FSIM_MINIMISE_TIME) &&
                    (!cold || x->kernel[k].price <= fsim_objective_of(p, cold)));
        bool hit[64] = {false}, absorbed[64] = {false};
        for (int i = 0; i < c->group->reads; i++)
            hit[i] = fsim_may_reside(p, c->group->read[i].tensor);
        for (int i = 0; i < c->group->writes; i++)
            absorbed[i] = fsim_may_reside(p, c->group->write[i].tensor);
        const fsim_kernel *warm = fsim_kernel_for(p, c, hit, absorbed);
        assert_true(!warm || x->kernel[k].price >= fsim_objective_of(p, warm)); /* never below all in L2 */
    }
    for (int k = 0; k < x->refusals; k++) { /* or one whose parts have no tensor in common, or that fits no SM */
        const fsim_refused_set *r = &x->refused[k];
        fsim_candidate *c = candidate_of(p, x, r->set, r->stored);
        assert_true(r->any_stored || !c->legal || !fsim_kernel_for(p, c, none, none));
        assert_true((r->set & (r->set - 1)) != 0 || !c->legal);
    }
    sums->kernels += x->kernels;
    sums->refusals += x->refusals;
}

static void check_states(const fsim_certified_piece *x, tally *sums)
{
    const fsim_mask all = x->count == 64 ? ~(fsim_mask)0 : ((fsim_mask)1 << x->count) - 1;
    fsim_sum least[4096];
    assert_true(x->states < 4096 && x->state[0].done == 0 && x->state[0].dropped == 0);
    for (int i = 0; i < x->states; i++) {
        least[i] = x->state[i].done == all ? 0 : FSIM_SUM_MOST;
        assert_true((x->state[i].dropped & ~x->state[i].done) == 0);
        for (int k = 0; k < i; k++)
            assert_false(x->state[k].done == x->state[i].done && x->state[k].dropped == x->state[i].dropped);
    }
    for (int t = 0; t < x->transitions; t++) {
        const fsim_transition *m = &x->transition[t];
        const fsim_waypoint *from = &x->state[m->from], *to = &x->state[m->to];
        const fsim_priced_set *k = &x->kernel[m->kernel];
        assert_false(from->cut);
        assert_true(to->done == (from->done | k->set) && to->done != from->done);
        assert_true((k->set & from->done & ~x->again) == 0); /* nothing else runs twice */
        assert_true((to->dropped & k->stored) == 0 && (to->dropped & ~(from->dropped | (k->set & ~k->stored))) == 0);
        if (to->least == FSIM_SUM_MOST)
            continue;
        assert_true(from->least <= k->price + to->least);
        least[m->from] = fsim_sum_least(least[m->from], k->price + to->least);
    }
    for (int i = 0; i < x->states; i++)
        if (!x->state[i].cut)
            assert_true(x->state[i].least == least[i]);
    assert_true(x->bound == x->state[0].least);
    sums->states += x->states;
    sums->transitions += x->transitions;
}

static void check_certificate(fsim_problem *p, const fsim_plan *plan, const fsim_certificate *c, tally *sums)
{
    bool met[32] = {false};
    fsim_sum cost = 0, bound = 0;
    for (int k = 0; k < c->pieces; k++) {
        const fsim_certified_piece *x = &c->piece[k];
        assert_null(x->without);
        for (int i = 0; i < x->count; i++) {
            assert_true(!met[x->node[i]] && (i == 0 || x->node[i] > x->node[i - 1]));
            met[x->node[i]] = true;
        }
        cost += x->cost;
        bound += x->bound;
        check_kernels(p, x, sums);
        check_states(x, sums);
    }
    for (int n = 0; n < p->graph->nodes; n++)
        assert_true(met[n]);
    assert_true(cost == plan->objective && bound == c->pieces_bound && c->bound >= c->pieces_bound);
    for (int k = 0; k < c->pairs; k++) {
        fsim_refusal why;
        assert_true(fsim_never_in_kernel(p, c->separated[k].a, c->separated[k].b, &why));
    }
    sums->pairs += c->pairs;
}

static void small_graphs_are_certified(void **unused)
{
    enum { GRAPHS = 80 };
    (void)unused;
    static const char *const gpu[] = {"t4", "a100-sxm4-40gb", "h100-sxm5-80gb"};
    static const int sides[][2] = {{64, 64}, {1024, 1024}, {2048, 2048}, {3, 70000}};
    tally sums = {0};
    for (int turn = 1; turn <= GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        state = (uint64_t)turn;
        const char *text = random_workload(a, 2 + (int)draw(6), sides[turn % 4][0], sides[turn % 4][1], 1);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", gpu[turn % 3]));
        const fsim_graph *g = fsim_graph_parse(a, d, "random.yaml", text, strlen(text), NULL);
        assert_true(hw && g);
        const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                                .regime = FSIM_REGIME_STREAM,
                                .search_steps = 60000000,
                                .no_recompute = turn % 5 == 2,
                                .objective = turn % 7 == 3 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME};
        fsim_problem p = fsim_problem_of(g, hw, &o, a);
        fsim_plan best;
        fsim_proof proof;
        fsim_optimal(&p, NULL, 0, a, &best, &proof);
        const fsim_certificate c = fsim_certify(&p, &best, a);
        assert_true(proof.proven && !c.without && c.bound <= best.objective);
        check_certificate(&p, &best, &c, &sums);
        sums.graphs++;
        sums.reached += c.bound == best.objective;
        sums.bounds += (double)c.pieces_bound / (double)best.objective;
        fsim_arena_free(a);
    }
    printf("%d graphs, %d reached, potentials %.5f; %d kernels, %d refusals, %d states, %d transitions, %d pairs\n",
           sums.graphs, sums.reached, sums.bounds / sums.graphs, sums.kernels, sums.refusals, sums.states,
           sums.transitions, sums.pairs);
    assert_true(sums.reached == GRAPHS && sums.bounds >= 0.99814 * GRAPHS);
    assert_true(sums.kernels >= 1297 && sums.states >= 1142 && sums.transitions >= 2719); /* nothing is left out */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(certificates_reach_their_plans),
                                       cmocka_unit_test(small_graphs_are_certified)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

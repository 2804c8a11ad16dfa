/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the search by themselves: equal layers that are found, numbered and taken out of stacks of which everything
 * is known; marks of kernels; lists of plans; merges, after which no pair is worth merging; what is left open. cost: 1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "plan/price/price.h"
#include "plan/search/cluster.h"
#include "plan/search/frontier.h"
#include "plan/search/lists.h"
#include "plan/search/marks.h"
#include "plan/search/merge.h"
#include "plan/search/priced.h"
#include "plan/search/runs.h"
#include "plan/search/search.h"
#include "plan/search/shorten.h"
#include "plan/search/states.h"
#include "predict.h"
#define state seed /* states.h has a type of that name */
#include "random_workload.h"
#undef state
#include "row_stack.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem *p;
    fsim_places l;
} fixture;

static fixture fixture_of(const char *text)
{
    fixture f = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(f.a);
    const fsim_hw *hw = fsim_hw_read(f.a, d, FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
    f.g = fsim_graph_parse(f.a, d, "searched.yaml", text, strlen(text), NULL);
    if (!f.g)
        fsim_diag_print(d, stderr, false);
    assert_true(f.g && hw);
    f.p = fsim_new(f.a, fsim_problem, 1);
    *f.p = fsim_problem_of(f.g, hw, &(fsim_options){.regime = FSIM_REGIME_STREAM, .search_steps = 60000000}, f.a);
    int *node = fsim_new(f.a, int, f.g->nodes + 1);
    for (int n = 0; n < f.g->nodes; n++)
        node[n] = n;
    fsim_places_of(f.p, node, f.g->nodes, (fsim_set_limits){.most = 1}, f.a, &f.l);
    return f;
}

static int tensor_named(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    return -1;
}

/* Are both graphs equal but for names? Tensors are told apart by who makes them, or by their order. */
static void assert_alike(const fsim_graph *x, const fsim_graph *y)
{
    assert_int_equal(x->nodes, y->nodes);
    for (int n = 0; n < x->nodes; n++) {
        const fsim_node *p = &x->node[n], *q = &y->node[n];
        assert_true(p->op == q->op && p->args == q->args && p->results == q->results && p->points == q->points);
        for (int k = 0; k < p->args; k++) {
            const fsim_tensor *s = &x->tensor[p->arg[k].tensor], *t = &y->tensor[q->arg[k].tensor];
            assert_int_equal(s->producer, t->producer);
            assert_true(s->role == t->role && s->elems == t->elems && s->readers == t->readers);
            for (int r = 0; r < s->readers; r++)
                assert_int_equal(s->reader[r], t->reader[r]);
        }
        for (int r = 0; r < p->results; r++) {
            const fsim_tensor *s = &x->tensor[p->result[r]], *t = &y->tensor[q->result[r]];
            assert_true(s->producer == n && t->producer == n && s->output == t->output && s->storage == p->result[r]);
            assert_int_equal(s->readers, t->readers);
        }
    }
    assert_int_equal(x->tensors, y->tensors);
}

static fsim_sum best_of(const fsim_problem *p, const fsim_graph *g, fsim_arena *a)
{
    fsim_problem q = *p;
    fsim_plan best;
    fsim_proof proof;
    q.graph = q.limits.graph = g;
    q.store = fsim_store_new(a);
    fsim_optimal(&q, NULL, 0, a, &best, &proof);
    return best.objective;
}

/* Of a stack of layers of n operators: the period is n, and the run has all layers, or a part of one more at either
 * end. Tensors of a layer are told by how many layers they are behind the first. Without some layers it is the stack of
 * the others. */
static void equal_layers_are_found(void **unused)
{
    enum { STACKS = 60 };
    (void)unused;
    int shortened = 0;
    for (int turn = 1; turn <= STACKS; turn++) {
        seed = (uint64_t)turn;
        stack s = random_stack();
        const int layers = 4 + (int)draw(6);
        fsim_arena *a = fsim_arena_new();
        const char *text = stack_text(a, &s, layers, 64);
        fixture f = fixture_of(text);
        fsim_run run;
        if (!fsim_find_run(&f.l, f.a, &run))
            fail_msg("turn %d: no run in\n%s", turn, text);
        /* a layer of equal operators may be told as several shorter ones */
        assert_true(s.count % run.period == 0 || run.period % s.count == 0);
        assert_true(run.first >= 0 && run.end <= f.g->nodes && run.end - run.first >= 2 * run.period);
        assert_true(run.end - run.first >= (layers - 2) * s.count);
        for (int i = run.first; i + run.period < run.end; i++) {
            const fsim_node *p = &f.g->node[i], *q = &f.g->node[i + run.period];
            assert_int_equal(p->op, q->op);
            for (int k = 0; k < p->args; k++) {
                const int t = p->arg[k].tensor, u = q->arg[k].tensor;
                if (t == u) { /* shared by all layers */
                    assert_int_equal(run.orbit[t], t);
                    assert_int_equal(run.lead, run.period);
                    continue;
                }
                assert_int_equal(run.orbit[t], run.orbit[u]);
                assert_int_equal(run.layer[t] + 1, run.layer[u]);
            }
        }
        for (int t = 0; t < f.g->tensors; t++)
            assert_true(run.layer[t] < 0 ? run.orbit[t] == t : run.layer[run.orbit[t]] == 0);
        if (run.period == s.count && (!s.shared || s.own_weight))
            assert_int_equal(run.lead, 0);
        const int found = (run.end - run.first) / run.period;
        for (int less = 1; less < found - 1 && run.period == s.count; less++) {
            const fsim_graph *shorter = fsim_shortened(&f.l, &run, less, f.a);
            assert_non_null(shorter);
            fixture wanted = fixture_of(stack_text(a, &s, layers - less, 64));
            assert_alike(shorter, wanted.g);
            if (less == 1)
                assert_true(best_of(f.p, shorter, f.a) == best_of(f.p, wanted.g, f.a));
            fsim_arena_free(wanted.a);
            shortened++;
        }
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
    printf("%d shorter stacks\n", shortened);
    assert_true(shortened > STACKS);
}

/* No two neighbours look alike: no run. */
static void what_does_not_repeat(void **unused)
{
    (void)unused;
    fixture f = fixture_of("tensors: {x: {shape: [64, 64], dtype: f32}}\noperators:\n  - {op: exp, in: x, out: a}\n"
                           "  - {op: sin, in: a, out: b}\n  - {op: cos, in: b, out: c}\n  - {op: neg, in: c, out: d}\n"
                           "  - {op: log, in: d, out: e}\n  - {op: tanh, in: e, out: h}\n");
    fsim_run run;
    assert_false(fsim_find_run(&f.l, f.a, &run));
    fsim_arena_free(f.a);
}

/* a, b and c in a row, and d of b: a kernel of c and d with copies of a and b. */
static void marks_of_a_kernel(void **unused)
{
    (void)unused;
    fixture f = fixture_of("tensors: {x: {shape: [64], dtype: f32}}\noperators:\n  - {op: exp, in: x, out: a}\n"
                           "  - {op: sin, in: a, out: b}\n  - {op: cos, in: b, out: c}\n  - {op: mul, in: [b, b], out: "
                           "d}\noutputs: [b, c, d]\n");
    enum { A, B, C, D, NODES };
    bool in[NODES] = {true, true, true, true}, stored[16] = {false};
    const fsim_part part = {4, (int[]){A, B, C, D}, (bool[]){true, true, false, false}},
                    two = {2, (int[]){A, C}, (bool[]){false, false}};
    fsim_mark_part(f.g, &two, in);
    assert_true(in[A] && !in[B] && in[C] && !in[D]);
    const fsim_part back = fsim_marked_part(f.g, in, f.a);
    assert_true(back.count == 2 && back.node[0] == A && back.node[1] == C && !back.clone[0] && !back.clone[1]);
    assert_false(fsim_is_read_inside(f.g, in, A)); /* b reads it */
    assert_true(fsim_is_read_inside(f.g, in, B));
    assert_false(fsim_is_read_inside(f.g, in, C));
    fsim_mark_part(f.g, &part, in);
    fsim_unmark(f.g, &part, C, in); /* d still reads the copy of b */
    assert_true(in[A] && in[B] && !in[C] && in[D]);
    fsim_unmark(f.g, &part, D, in); /* nothing does: nor of a */
    assert_true(!in[A] && !in[B] && !in[C] && !in[D]);
    fsim_mark_part(f.g, &part, in);
    fsim_unmark(f.g, &part, B, in); /* what reads b stays, and a, of which nothing is read, goes */
    assert_true(!in[A] && !in[B] && in[C] && in[D]);
    memset(in, 0, sizeof in);
    fsim_mark_copy(f.g, stored, C, in);
    assert_true(in[A] && in[B] && in[C] && !in[D]);
    memset(in, 0, sizeof in);
    stored[tensor_named(f.g, "a")] = true;
    fsim_mark_copy(f.g, stored, C, in);
    assert_true(!in[A] && in[B] && in[C]);
    memset(in, 0, sizeof in);
    stored[tensor_named(f.g, "b")] = true;
    fsim_mark_copy(f.g, stored, C, in);
    assert_true(!in[A] && !in[B] && in[C]);
    fsim_arena_free(f.a);
}

static fsim_plan made_up(double time_s, fsim_sum objective, int64_t peak)
{
    return (fsim_plan){.kernels = 1, .time_s = time_s, .objective = objective, .peak_memory_bytes = peak};
}

/* Plans within the limit come first; of others those with less memory, where that is equal the faster ones. */
static void plans_are_compared(void **unused)
{
    (void)unused;
    static const struct {
        int64_t limit;
        bool memory;
        double x_s, y_s;
        fsim_sum x, y;
        int64_t peak_x, peak_y;
        int sign;
    } cases[] = {{0, false, 1, 1, 5, 6, 9, 1, -1},  {0, false, 1, 1, 6, 5, 1, 9, 1},  {0, false, 1, 2, 5, 5, 9, 1, -1},
                 {0, false, 2, 1, 5, 5, 1, 9, 1},   {0, false, 1, 1, 5, 5, 1, 9, 0},  {8, false, 1, 1, 6, 5, 8, 9, -1},
                 {8, false, 1, 1, 5, 6, 9, 8, 1},   {8, false, 1, 1, 5, 6, 8, 8, -1}, {8, false, 1, 1, 5, 6, 10, 9, 1},
                 {8, false, 1, 1, 6, 5, 9, 10, -1}, {8, false, 1, 1, 5, 6, 9, 9, -1}, {0, true, 1, 2, 5, 6, 9, 8, 1},
                 {0, true, 2, 1, 6, 5, 8, 9, -1},   {0, true, 1, 2, 6, 5, 8, 8, -1},  {0, true, 2, 1, 5, 6, 8, 8, 1},
                 {0, true, 1, 1, 5, 6, 8, 8, 0},    {8, true, 1, 1, 5, 6, 9, 8, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_problem p = {.memory_limit = cases[i].limit,
                                .objective = cases[i].memory ? FSIM_MINIMISE_MEMORY : FSIM_MINIMISE_TIME};
        const fsim_plan x = made_up(cases[i].x_s, cases[i].x, cases[i].peak_x),
                        y = made_up(cases[i].y_s, cases[i].y, cases[i].peak_y);
        const int got = fsim_compare_plans(&p, &x, &y), back = fsim_compare_plans(&p, &y, &x);
        if ((got > 0) - (got < 0) != cases[i].sign || (back > 0) - (back < 0) != -cases[i].sign)
            fail_msg("case %zu: %d and %d", i, got, back);
        fsim_plan best = y;
        fsim_problem q = p;
        fsim_adopt_best(&q, &x, 1, &best);
        assert_true(best.time_s == (cases[i].sign < 0 ? x.time_s : y.time_s));
        assert_string_equal(best.strategy, "optimal");
    }
    fsim_plan list[5] = {{0}};
    const fsim_plan known[] = {made_up(3, 3, 3), {0}, made_up(2, 2, 4)}, first = made_up(1, 1, 9);
    assert_int_equal(fsim_add_plans(list, 0, known, 3), 2);
    assert_true(list[0].time_s == 3 && list[1].time_s == 2);
    assert_int_equal(fsim_add_plans(list, 2, known, 1), 3);
    assert_int_equal(fsim_put_first(list, 3, 4, &first), 4);
    assert_true(list[0].time_s == 1 && list[1].time_s == 3 && list[2].time_s == 2 && list[3].time_s == 3);
    assert_int_equal(fsim_put_first(list, 4, 4, &known[2]), 4); /* the last one is left out */
    assert_true(list[0].time_s == 2 && list[1].time_s == 1 && list[3].time_s == 2);
    fsim_plan best[] = {made_up(3, 3, 3), made_up(1, 1, 9), made_up(2, 2, 9), made_up(1, 1, 8), made_up(3, 3, 8)};
    assert_int_equal(fsim_front_of(best, 5), 2);
    assert_true(best[0].peak_memory_bytes == 8 && best[1].peak_memory_bytes == 3);
    assert_int_equal(fsim_front_of(best, 0), 0);
}

static double worth_nothing(const fsim_merge *m)
{
    assert_true(m->separate > 0 && m->merged > 0);
    return 0;
}

/* After merging, the plan is no slower than the one before, and no two of its kernels that read or feed each other
 * would gain by being one. */
static void no_pair_is_worth_merging(void **unused)
{
    enum { GRAPHS = 40 };
    (void)unused;
    int merged = 0, pairs = 0;
    for (int turn = 1; turn <= GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        seed = (uint64_t)turn;
        fixture f = fixture_of(random_workload(a, 4 + (int)draw(8), 1024, turn % 2 ? 1024 : 4096, 1));
        const fsim_partition singles = fsim_singles(f.p, f.a);
        assert_int_equal(singles.parts, f.g->nodes);
        for (int i = 0; i < singles.parts; i++)
            assert_true(singles.part[i].count == 1 && singles.part[i].node[0] == i && !singles.part[i].clone[0]);
        fsim_plan before, after;
        fsim_refusal why;
        assert_true(fsim_price(f.p, &singles, f.a, &before, &why));
        assert_true(fsim_merge_greedily(f.p, &singles, f.a, &after));
        merged += after.kernels < before.kernels;
        fsim_clusters *c = fsim_clusters_of(f.p, &singles, f.a);
        fsim_merge_all(c, worth_nothing); /* none at 0 */
        assert_int_equal(fsim_partition_of(c, f.a, NULL).parts, singles.parts);
        c = fsim_clusters_of(f.p, &after.partition, f.a);
        for (int x = 0; x < c->parts; x++) {
            int *other;
            const int others = fsim_sharers(c, x, &other);
            const fsim_kernel *one = fsim_joined_kernel(c, &x, 1, -1);
            assert_non_null(one);
            const fsim_sum cost = fsim_objective_of(f.p, one);
            for (int i = 0; i < others; i++) {
                const int pair[2] = {x < other[i] ? x : other[i], x < other[i] ? other[i] : x};
                assert_true(other[i] != x);
                const fsim_kernel *k = fsim_joined_kernel(c, pair, 2, -1);
                const fsim_sum both = k ? fsim_objective_of(f.p, k) : 0;
                const fsim_kernel *with = fsim_joined_kernel(c, &other[i], 1, -1);
                const fsim_sum rest = with ? fsim_objective_of(f.p, with) : 0;
                pairs++;
                if (k && !fsim_interlocked(c, pair, 2))
                    assert_true(both >= cost + rest);
            }
        }
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
    printf("%d of %d merged; %d pairs left\n", merged, GRAPHS, pairs);
    assert_true(merged > GRAPHS / 2 && pairs > GRAPHS);
}

/* What kernels cost beyond what their primitives are worth, as shares of what is not proven of the plan. */
static void kernels_that_leave_most_open(void **unused)
{
    (void)unused;
    fixture f = fixture_of("tensors: {x: {shape: [1024, 1024], dtype: f32}}\noperators:\n"
                           "  - {op: exp, in: x, out: a}\n  - {op: sin, in: a, out: b}\n  - {op: cos, in: b, out: c}\n"
                           "  - {op: neg, in: c, out: d}\n  - {op: tanh, in: d, out: e}\noutputs: [a, b, c, d, e]\n");
    fsim_plan plan;
    fsim_refusal why;
    fsim_proof proof = {.opens = 9};
    const fsim_partition singles = fsim_singles(f.p, f.a);
    assert_true(fsim_price(f.p, &singles, f.a, &plan, &why));
    assert_int_equal(plan.kernels, 5);
    /* kernels cost 1 beyond their price, or 4, 3, 0 and 2: ten together, of which the bound leaves half */
    static const fsim_sum beyond[] = {100000, 400000, 300000, 0, 200000};
    fsim_sum price[5];
    for (int k = 0; k < 5; k++)
        price[k] = fsim_objective_of(f.p, &plan.kernel[k]) - beyond[k];
    const fsim_priced y = {.price = price};
    fsim_open_priced(f.p, &y, plan.objective - 500000, &plan, &proof, f.a);
    assert_int_equal(proof.opens, FSIM_MOST_OPEN);
    static const int most[] = {1, 2, 4};
    for (int i = 0; i < FSIM_MOST_OPEN; i++) {
        assert_true(proof.open[i].first == most[i] && proof.open[i].last == most[i]);
        const double wanted = (double)beyond[most[i]] / 2 / (double)plan.objective;
        assert_true(fabs(proof.open[i].gap - wanted) < 1e-9 * wanted);
    }
    for (int k = 0; k < 5; k++)
        price[k] = fsim_objective_of(f.p, &plan.kernel[k]) - (k == 3);
    fsim_open_priced(f.p, &y, plan.objective - 7, &plan, &proof, f.a);
    assert_true(proof.opens == 1 && proof.open[0].first == 3);
    for (int k = 0; k < 5; k++)
        price[k] = fsim_objective_of(f.p, &plan.kernel[k]);
    fsim_open_priced(f.p, &y, plan.objective, &plan, &proof, f.a);
    assert_int_equal(proof.opens, 0);
    fsim_arena_free(f.a);
}

/* Slices of r, [8, 6], each read by an operator whose result is stored. r is computed whole where they hold all of it
 * together, as rows of whole columns or the other way round; and where r is an output. */
static void parts_that_are_read(void **unused)
{
    (void)unused;
    static const struct {
        int slices;
        struct {
            int dim, start, size;
        } slice[4];
        bool whole;
    } cases[] = {{2, {{0, 0, 3}, {0, 3, 5}}, true},
                 {2, {{0, 3, 5}, {0, 0, 3}}, true},
                 {3, {{0, 0, 3}, {0, 3, 1}, {0, 4, 4}}, true},
                 {2, {{0, 0, 3}, {0, 4, 4}}, false},
                 {2, {{0, 0, 3}, {0, 3, 4}}, false},
                 {1, {{0, 0, 7}}, false},
                 {1, {{0, 1, 7}}, false},
                 {1, {{0, 0, 8}}, true},
                 {2, {{1, 0, 2}, {1, 2, 4}}, true},
                 {2, {{1, 2, 4}, {1, 0, 2}}, true},
                 {3, {{1, 4, 2}, {1, 0, 2}, {1, 2, 2}}, true},
                 {2, {{1, 0, 2}, {1, 3, 3}}, false},
                 {2, {{1, 0, 2}, {1, 2, 3}}, false},
                 {2, {{0, 0, 3}, {1, 2, 4}}, false},
                 {3, {{0, 0, 3}, {1, 0, 1}, {0, 3, 5}}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = "tensors: {x: {shape: [8, 6], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: r}\n";
        for (int k = 0; k < cases[i].slices; k++)
            text = fsim_printf(a,
                               "%s  - {op: slice, in: r, out: s%d, dim: %d, start: %d, size: %d}\n  - {op: exp, in: "
                               "s%d, out: e%d}\n",
                               text, k, cases[i].slice[k].dim, cases[i].slice[k].start, cases[i].slice[k].size, k, k);
        fixture f = fixture_of(text);
        fsim_spent spent;
        const fsim_budget budget = fsim_budget_of(f.p, &spent);
        int *node = fsim_new(f.a, int, f.g->nodes);
        for (int n = 0; n < f.g->nodes; n++)
            node[n] = n;
        const fsim_frontier *x =
            fsim_frontier_ready(f.p, node, f.g->nodes, (fsim_scope){FSIM_BEST_ONLY, NULL}, &budget, f.a);
        const bool *whole = fsim_computed_whole(x);
        if (whole[0] != cases[i].whole)
            fail_msg("case %zu: r is computed whole: %d", i, whole[0]);
        for (int n = 1; n < f.g->nodes; n++) /* what is stored, and what is read whole for that */
            assert_true(whole[n]);
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
}

/* No kernel of any plan costs less than what its own primitives are worth. */
static bool is_worth_it(void *to, const fsim_plan *plan)
{
    const fsim_priced *y = to;
    fsim_problem *p = (fsim_problem *)y->part[0].part; /* handed over */
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        fsim_sum worth = 0;
        for (int i = 0; i < part->count; i++)
            worth += part->clone[i] ? 0 : y->price[part->node[i]];
        assert_true(fsim_objective_of(p, &plan->kernel[k]) >= worth);
    }
    return true;
}

static fsim_sum least_of(fsim_problem *p)
{
    fsim_arena *a = fsim_arena_new();
    fsim_plan best;
    fsim_proof proof;
    fsim_optimal(p, NULL, 0, a, &best, &proof);
    assert_true(proof.proven);
    fsim_arena_free(a);
    return best.objective;
}

/* Prices of small graphs; together they are the bound, and most of the best plan. */
static void kernels_cost_what_they_are_worth(void **unused)
{
    enum { GRAPHS = 60 };
    (void)unused;
    double reached = 0;
    int priced = 0;
    for (int turn = 1; turn <= GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        seed = (uint64_t)turn;
        fixture f = fixture_of(random_workload(a, 3 + (int)draw(3), 1024, turn % 2 ? 1024 : 4096, 1));
        fsim_spent spent;
        const fsim_budget budget = fsim_budget_of(f.p, &spent);
        fsim_priced y;
        const fsim_sum least = f.g->nodes <= 7 ? least_of(f.p) : 0;
        fsim_search_priced(f.p, least + 1, &budget, f.a, &y);
        if (f.g->nodes <= 7 && y.price) {
            fsim_sum all = 0;
            bool truncated;
            for (int n = 0; n < f.g->nodes; n++)
                all += y.price[n];
            assert_true(all <= y.bound && y.bound <= least);
            reached += (double)all / (double)least;
            fsim_priced to = {.price = y.price, .part = {{0, (fsim_part *)(void *)f.p}}};
            fsim_enumerate(f.p, 2000, is_worth_it, &to, &truncated);
            priced++;
        }
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
    printf("prices of %d graphs are %.5f of the least plan\n", priced, reached / priced);
    assert_true(priced > GRAPHS / 2 && reached > 0.9981 * priced);
}

/* What stretches of a plan leave open is, together, no less than what the bound leaves of it. */
static void stretches_that_are_left_open(void **unused)
{
    enum { GRAPHS = 12 };
    (void)unused;
    int opens = 0, told = 0;
    for (int turn = 1; turn <= GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        seed = (uint64_t)turn;
        const stack stacked = random_stack();
        fixture f = fixture_of(stack_text(a, &stacked, 60 / stacked.count + 1, 64));
        f.p->recompute = false;
        fsim_spent spent;
        const fsim_budget budget = fsim_budget_of(f.p, &spent);
        int *node = fsim_new(f.a, int, f.g->nodes);
        for (int n = 0; n < f.g->nodes; n++)
            node[n] = n;
        fsim_plan plan;
        fsim_refusal why;
        fsim_sum bound;
        fsim_proof proof = {.opens = 9};
        const fsim_partition singles = fsim_singles(f.p, f.a);
        fsim_partition part = {0, fsim_new(f.a, fsim_part, f.g->nodes + 1)};
        assert_true(fsim_price(f.p, &singles, f.a, &plan, &why));
        fsim_frontier *x = fsim_frontier_of(f.p, node, f.g->nodes, FSIM_BEST_ONLY, &budget, f.a);
        (void)fsim_frontier_with_l2(x, plan.objective + 1, &budget, &part, &bound, f.a);
        assert_true(bound <= plan.objective);
        fsim_frontier_open(x, &plan, bound, &proof);
        double sum = 0;
        const double left = 1 - (double)bound / (double)plan.objective;
        assert_in_range(proof.opens, 0, FSIM_MOST_OPEN);
        for (int i = 0; i < proof.opens; i++) {
            assert_true(proof.open[i].gap > 0 && (i == 0 || proof.open[i].gap <= proof.open[i - 1].gap));
            assert_true(proof.open[i].first >= 0 && proof.open[i].first <= proof.open[i].last &&
                        proof.open[i].last < f.g->nodes);
            sum += proof.open[i].gap;
        }
        if (fsim_frontier_complete(x) && x->borders > 0) {
            told++;
            if (proof.opens < FSIM_MOST_OPEN && sum < left * (1 - 1e-9))
                fail_msg("turn %d: %g of %g is open", turn, sum, left);
            if (proof.opens < FSIM_MOST_OPEN)
                assert_true(sum <= left * (1 + 1e-9) + 1e-12);
        }
        opens += proof.opens;
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
    printf("%d stretches are open, of %d plans\n", opens, told);
    assert_true(opens > told && told > GRAPHS / 2);
}

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    fsim_sum fixed; /* what plans hold beside what the search counts: the input and the output */
    int visits, apart;
} front_visits;

static bool peaks_agree(void *to, const fsim_partition *part, fsim_sum spent, fsim_sum peak)
{
    front_visits *v = to;
    fsim_plan plan;
    fsim_refusal why;
    const fsim_mark mark = fsim_save(v->a);
    assert_true(spent > 0 && fsim_price(v->p, part, v->a, &plan, &why));
    const fsim_sum beside = plan.peak_memory_bytes - peak;
    v->apart += beside != v->fixed;
    v->visits++;
    fsim_rewind(v->a, mark);
    return true;
}

/* The peaks that a search for little memory counts are those of the plans that it finds, but for inputs and outputs:
 * also where of two results nobody reads one. */
static void peaks_of_plans(void **unused)
{
    enum { GRAPHS = 30 };
    (void)unused;
    int visits = 0, apart = 0;
    for (int turn = 1; turn <= GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        seed = (uint64_t)turn;
        const char *text = "tensors: {x: {shape: [64, 512], dtype: f32}}\noperators:\n", *name[8] = {"x"};
        int count = 1;
        for (int i = 0; i < 5; i++) {
            const char *from = name[draw(2) ? (uint32_t)count - 1 : draw((uint32_t)count)],
                       *out = fsim_printf(a, "t%d", i);
            const uint32_t what = draw(4);
            text = what == 0 ? fsim_printf(a, "%s  - {op: sort, in: %s, out: [%s, i%d], dim: 1}\n", text, from, out, i)
                   : what == 1 ? fsim_printf(a, "%s  - {op: cumsum, in: %s, out: %s, dim: 1}\n", text, from, out)
                   : what == 2
                       ? fsim_printf(a, "%s  - {op: add, in: [%s, %s], out: %s}\n", text, from, name[count - 1], out)
                       : fsim_printf(a, "%s  - {op: exp, in: %s, out: %s}\n", text, from, out);
            name[count++] = out;
        }
        fixture f = fixture_of(fsim_printf(a, "%soutputs: [%s]\n", text, name[count - 1]));
        fsim_spent spent;
        const fsim_budget budget = fsim_budget_of(f.p, &spent);
        int *node = fsim_new(f.a, int, f.g->nodes);
        for (int n = 0; n < f.g->nodes; n++)
            node[n] = n;
        f.p->lean = true;
        front_visits v = {f.p, f.a, 0, 0, 0};
        for (int t = 0; t < f.g->tensors; t++)
            v.fixed += f.g->tensor[t].storage == t && (f.g->tensor[t].producer < 0 || f.g->tensor[t].output)
                           ? f.g->tensor[t].bytes
                           : 0;
        fsim_frontier *x = fsim_frontier_of(f.p, node, f.g->nodes, FSIM_EVERY_ORDER, &budget, f.a);
        assert_true(fsim_frontier_front(x, 16, &budget, peaks_agree, &v));
        assert_true(v.visits > 0);
        visits += v.visits;
        apart += v.apart;
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
    printf("%d plans, %d with another peak\n", visits, apart);
    assert_int_equal(apart, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_layers_are_found),

                                       cmocka_unit_test(what_does_not_repeat),
                                       cmocka_unit_test(marks_of_a_kernel),
                                       cmocka_unit_test(plans_are_compared),
                                       cmocka_unit_test(parts_that_are_read),
                                       cmocka_unit_test(peaks_of_plans),
                                       cmocka_unit_test(kernels_cost_what_they_are_worth),
                                       cmocka_unit_test(stretches_that_are_left_open),
                                       cmocka_unit_test(no_pair_is_worth_merging),
                                       cmocka_unit_test(kernels_that_leave_most_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 3 */
/* The gradient of an output that is an input is known only after the outputs were used: no kernel that needs it runs,
 * or is one, with what an output depends on. Held against a second, slower way to say the same on random graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "graph/barrier.h"
#include "plan/price/price.h"
#include "plan/search/frontier.h"
#include "plan/search/search.h"
#include "plan/search/sides.h"
#include "predict.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 60 };
#else
enum { GRAPHS = 500 };
#endif
enum { MOST = 12 }; /* primitives of a random graph */

static const fsim_graph *derived(fsim_arena *a, const char *text, bool ones)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_derive how = {.mode = FSIM_REVERSE, .ones = ones};
    fsim_graph *g = fsim_graph_parse(a, d, "joint.yaml", text, strlen(text), &(fsim_bindings){.derive = &how});
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    g->origin = NULL; /* with these forms of its derivatives: unit.ways has the others */
    return g;
}

static const char three[] =
    "tensors: {x: {shape: [64, 64], dtype: f32}, w: {shape: [64, 64], dtype: f32, role: weight}}"
    "\noperators:\n  - {op: mul, in: [x, w], out: a}\n  - {op: tanh, in: a, out: y}\n";

static fsim_side side_of(const fsim_graph *g, const char *name)
{
    const int n = fsim_find_node(g, name);
    assert_true(n >= 0);
    return g->node[n].side;
}

static void each_primitive_has_its_side(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = derived(a, three, false);
    assert_true(g->barrier);
    assert_int_equal(side_of(g, "a"), FSIM_BEFORE_BARRIER);
    assert_int_equal(side_of(g, "y"), FSIM_BEFORE_BARRIER);
    assert_int_equal(side_of(g, "grad/x"), FSIM_AFTER_BARRIER);
    assert_int_equal(side_of(g, "grad/w"), FSIM_AFTER_BARRIER);
    int either = 0; /* 1 - y * y needs no gradient */
    for (int n = 0; n < g->nodes; n++)
        either += g->node[n].side == FSIM_EITHER_SIDE;
    assert_true(either > 0);
    fsim_arena_free(a);
}

static void a_scalar_loss_has_no_barrier(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *loss = derived(a, fsim_printf(a, "%s  - {op: sum, in: y, out: l, dims: [0, 1]}\n", three), false),
                     *ones = derived(a, three, true);
    assert_false(loss->barrier);
    assert_false(ones->barrier);
    for (int n = 0; n < loss->nodes; n++)
        assert_int_equal(loss->node[n].side, FSIM_EITHER_SIDE);
    fsim_arena_free(a);
}

static const char *refusal_of(const fsim_graph *g, const char *x, const char *y, fsim_arena *a)
{
    const fsim_limits limits = {.graph = g, .shared_per_block = INT64_C(163) << 10, .strict = false};
    const int node[] = {fsim_find_node(g, x), fsim_find_node(g, y)};
    fsim_group made;
    fsim_refusal why;
    assert_false(fsim_legal(&limits, node, 2, a, &made, &why));
    assert_int_equal(why.rule, FSIM_RULE_CYCLE);
    assert_true(why.final);
    return fsim_refusal_text(g, &why, a);
}

static void the_refusal_names_gradient_and_output(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = derived(a, three, false);
    assert_string_equal(refusal_of(g, "y", "grad/x", a), "grad/y is known only after y");
    assert_string_equal(refusal_of(g, "a", "grad/w", a), "grad/y is known only after y");
    g = derived(a, fsim_printf(a, "%s  - {op: exp, in: x, out: z}\noutputs: [y, z]\n", three), false);
    assert_string_equal(refusal_of(g, "z", "grad/w", a),
                        "grad/y is known only after all outputs, of which 'z' leads to z");
    fsim_arena_free(a);
}

/* Forks, joins, sums and broadcasts over [rows, columns], with one output or two. */
static const char *random_workload(fsim_arena *a, int n, int rows, int columns)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sigmoid"}, *const binary[] = {"add", "mul",
                                                                                                     "sub"};
    const char *name[16] = {"x0", "x1"};
    const char *text =
        fsim_printf(a,
                    "name: random\ntensors:\n  x0: {shape: [%d, %d], dtype: f32}\n  x1: {shape: [%d, %d], "
                    "dtype: f32}\noperators:\n",
                    rows, columns, rows, draw(2) ? columns : 1);
    for (int i = 0; i < n; i++) {
        const char *out = fsim_printf(a, "t%d", i), *x = name[draw(2) ? (uint32_t)(1 + i) : draw((uint32_t)(2 + i))];
        const uint32_t what = draw(8);
        if (what < 4)
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[draw(5)], x, out);
        else if (what < 7)
            text = fsim_printf(a, "%s  - {op: %s, in: [%s, %s], out: %s}\n", text, binary[draw(3)], x,
                               name[draw((uint32_t)(2 + i))], out);
        else
            text = fsim_printf(a, "%s  - {op: sum, in: %s, out: %s, dims: [1], keepdim: true}\n", text, x, out);
        name[2 + i] = out;
    }
    return draw(2) ? text : fsim_printf(a, "%soutputs: [t%d, t%d]\n", text, n - 1, (int)draw((uint32_t)n));
}

/* The slow way: groups as a matrix of who waits for whom, with an edge from the maker of each output to each reader of
 * each gradient that is an input. */
typedef struct {
    const fsim_graph *g;
    fsim_limits limits;
    fsim_problem *p;
    fsim_arena *a;
    int group_of[MOST], legal, priced;
} naive;

static void note_edge(const naive *w, bool (*before)[MOST], int from, int to, bool within)
{
    if (within || w->group_of[from] != w->group_of[to])
        before[w->group_of[from]][w->group_of[to]] = true;
}

static bool acyclic(const naive *w, int groups)
{
    const fsim_graph *g = w->g;
    bool before[MOST][MOST] = {{false}};
    for (int n = 0; n < g->nodes; n++)
        for (int k = 0; k < g->node[n].args; k++) {
            const fsim_tensor *t = &g->tensor[g->node[n].arg[k].tensor];
            if (t->producer >= 0)
                note_edge(w, before, t->producer, n, false);
            for (int o = 0; o < g->tensors && t->after_outputs; o++)
                if (g->tensor[o].forward_output && g->tensor[o].producer >= 0)
                    note_edge(w, before, g->tensor[o].producer, n, true);
        }
    for (int k = 0; k < groups; k++)
        for (int i = 0; i < groups; i++)
            for (int j = 0; j < groups; j++)
                before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
    for (int i = 0; i < groups; i++)
        if (before[i][i])
            return false;
    return true;
}

static void check_partition(naive *w, int groups)
{
    const fsim_mark mark = fsim_save(w->a);
    fsim_partition parts = {groups, fsim_new(w->a, fsim_part, groups)};
    bool legal = acyclic(w, groups);
    fsim_plan plan;
    fsim_refusal why;
    for (int k = 0; k < groups; k++) {
        fsim_part *part = &parts.part[k];
        fsim_group made;
        *part = (fsim_part){0, fsim_new(w->a, int, MOST), fsim_new(w->a, bool, MOST)};
        for (int n = 0; n < w->g->nodes; n++)
            if (w->group_of[n] == k)
                part->node[part->count++] = n;
        legal = legal && fsim_group_of(&w->limits, &(fsim_selection){.node = part->node, .count = part->count}, w->a,
                                       &made, &why);
    }
    const bool priced = fsim_price(w->p, &parts, w->a, &plan, &why);
    assert_int_equal(priced, legal);
    for (int k = 0; k < groups && legal; k++) {
        fsim_group made;
        const fsim_part *part = &parts.part[k];
        legal = fsim_connected(w->g, part->node, part->count, w->a, &why);
        assert_true(!legal || fsim_legal(&w->limits, part->node, part->count, w->a, &made, &why));
    }
    w->legal += legal;
    fsim_rewind(w->a, mark);
}

static void all_partitions(naive *w, int n, int groups)
{
    if (n == w->g->nodes) {
        check_partition(w, groups);
        return;
    }
    for (int k = 0; k <= groups; k++) {
        w->group_of[n] = k;
        all_partitions(w, n + 1, k == groups ? groups + 1 : groups);
    }
}

/* No plan computes what an output depends on after, or in, a kernel that needs the gradient of one. */
static void check_order(const fsim_graph *g, const fsim_plan *plan)
{
    bool waited = false;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        for (int i = 0; i < part->count; i++)
            waited = waited || fsim_awaited_gradient(g, part->node[i]) >= 0;
        for (int i = 0; i < part->count && waited; i++)
            assert_true(part->clone[i] || fsim_output_of(g, part->node[i]) < 0);
    }
}

typedef struct {
    const fsim_graph *g;
    fsim_sum least;
    int plans, copies;
} minimum;

static bool take(void *to, const fsim_plan *plan)
{
    minimum *m = to;
    m->plans++;
    m->least = m->least < 0 || plan->objective < m->least ? plan->objective : m->least;
    check_order(m->g, plan);
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->partition.part[k].count; i++)
            m->copies += plan->partition.part[k].clone[i];
    return true;
}

static const fsim_options usual = {
    .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000000};

/* What each check counts. */
typedef struct {
    int compared, proven, exact, cold, apart, met, tight;
} tally;

/* The search that large graphs get, on a small one. Is its bound, with L2 followed, the least? */
static bool search_is_exact(const fsim_problem *p, fsim_sum least, fsim_arena *a)
{
    fsim_spent spent;
    int node[MOST];
    fsim_sum bound;
    fsim_plan plan;
    fsim_refusal why;
    fsim_problem fresh = *p;
    fresh.store = fsim_store_new(a);
    const fsim_budget budget = fsim_budget_of(&fresh, &spent);
    for (int n = 0; n < p->graph->nodes; n++)
        node[n] = n;
    fsim_frontier *f = fsim_frontier_of(&fresh, node, p->graph->nodes, FSIM_BEST_ONLY, &budget, a);
    fsim_partition part = {0, fsim_new(a, fsim_part, MOST)};
    assert_true(fsim_frontier_bound(f) <= least);
    const bool found = fsim_frontier_with_l2(f, least + 1, &budget, &part, &bound, a);
    assert_true(bound <= least);
    return found && bound == least && fsim_price(&fresh, &part, a, &plan, &why) && plan.objective == least;
}

/* The sides of the barrier apart: no plan costs less than their bound, and their own plan is legal. */
static void check_sides(const fsim_problem *p, fsim_sum least, tally *t, fsim_arena *a)
{
    fsim_spent spent;
    fsim_sides apart;
    fsim_plan plan;
    fsim_refusal why;
    fsim_problem fresh = *p;
    fresh.store = fsim_store_new(a);
    const fsim_budget budget = fsim_budget_of(&fresh, &spent);
    if (!fsim_search_sides(&fresh, &budget, a, &apart))
        return;
    assert_true(apart.bound > 0 && apart.bound <= least);
    t->apart++;
    t->tight += (double)apart.bound > 0.8 * (double)least;
    if (apart.part.parts == 0 || !fsim_price(&fresh, &apart.part, a, &plan, &why))
        return;
    assert_true(plan.objective >= least);
    t->met += plan.objective == least;
}

static void check_against_all(const fsim_graph *g, const fsim_hw *hw, const fsim_options *o, minimum *m, tally *t,
                              fsim_arena *a)
{
    fsim_problem p = fsim_problem_of(g, hw, o, a);
    bool truncated;
    fsim_enumerate(&p, 0, take, m, &truncated);
    assert_false(truncated);
    const fsim_prediction found = fsim_predict(g, hw, o, a);
    const fsim_plan *best = &found.plan[FSIM_STRATEGY_OPTIMAL];
    const double unit = o->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    check_order(g, best);
    check_order(g, &found.plan[FSIM_STRATEGY_GREEDY]);
    check_order(g, &found.plan[FSIM_STRATEGY_MAXIMAL]);
    assert_int_equal(best->objective, m->least);
    assert_true(found.proof.lower_bound <= (double)m->least * unit * (1 + 1e-12));
    t->compared++;
    t->proven += found.proof.proven;
    t->cold += !o->warm;
    t->exact += !o->warm && search_is_exact(&p, m->least, a);
    check_sides(&p, m->least, t, a);
    if (!o->no_recompute)
        return;
    naive w = {.g = g, .limits = p.limits, .p = &p, .a = a};
    all_partitions(&w, 0, 0);
    assert_int_equal(w.legal, m->plans);
}

/* The search, the enumeration, and every set partition by the slow way agree on what is legal and what is best. */
static void no_plan_crosses_the_barrier(void **unused)
{
    (void)unused;
    static const int rows[] = {256, 1024, 8}, columns[] = {256, 1024, 65536};
    tally t = {0};
    int walls = 0, copies = 0, either = 0;
    state = 35;
    for (int turn = 0; turn < GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        const int shape = (int)draw(3);
        const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
        const fsim_graph *g =
            derived(a, random_workload(a, 1 + (int)draw(3), rows[shape], columns[shape]), turn % 9 == 8);
        fsim_options o = usual;
        o.no_recompute = turn % 2;
        o.warm = turn % 5 == 1;
        o.objective = turn % 3 == 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME;
        if (g->nodes > 0 && g->nodes <= (o.no_recompute ? 9 : 8)) {
            minimum m = {.g = g, .least = -1};
            check_against_all(g, hw, &o, &m, &t, a);
            walls += g->barrier;
            copies += g->barrier ? m.copies : 0;
            for (int n = 0; n < g->nodes && g->barrier; n++)
                either += g->node[n].side == FSIM_EITHER_SIDE;
        }
        fsim_arena_free(a);
    }
    printf("%d joint graphs, %d with a barrier; %d primitives on either side of one; %d copies; %d proven; %d of %d "
           "cold ones met\n",
           t.compared, walls, either, copies, t.proven, t.exact, t.cold);
    printf("sides apart: %d graphs, the bound above 80 %% of the least on %d, the plan the least on %d\n", t.apart,
           t.tight, t.met);
    assert_true(t.proven == t.compared && t.exact == t.cold);
    assert_true(t.apart > GRAPHS / 6 && t.tight > t.apart / 2 && t.met > t.apart / 4);
    assert_true(walls > GRAPHS / 3 && either > GRAPHS / 10 && copies > GRAPHS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_primitive_has_its_side), cmocka_unit_test(a_scalar_loss_has_no_barrier),
        cmocka_unit_test(the_refusal_names_gradient_and_output), cmocka_unit_test(no_plan_crosses_the_barrier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

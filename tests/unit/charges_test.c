/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 3 */
/* What a search that is broken off at once says of graphs with gradients: work that no plan can avoid, in contractions
 * and beside them. No plan takes less, held against every plan of random graphs; and an update of weights counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "plan/price/price.h"
#include "plan/search/floor.h"
#include "plan/search/frontier.h"
#include "plan/search/search.h"
#include "plan/search/sides.h"
#include "predict.h"
#include "priced_check.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 60 };
#else
enum { GRAPHS = 400 };
#endif
enum { MOST = 9 }; /* primitives of a random graph */

static const fsim_graph *derived(fsim_arena *a, const char *text, fsim_update update)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_derive how = {.mode = FSIM_REVERSE, .update = update, .want = FSIM_WANT_ALL};
    fsim_graph *g = fsim_graph_parse(a, d, "joint.yaml", text, strlen(text), &(fsim_bindings){.derive = &how});
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    g->origin = NULL;
    return g;
}

static const fsim_options usual = {
    .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000000};

/* The bound of a search of the whole graph, or of one of the sides, that is broken off before its first kernel. */
static fsim_sum floor_of(const fsim_problem *p, const fsim_one_side *side, fsim_arena *a)
{
    fsim_spent spent;
    fsim_problem fresh = *p;
    fresh.store = fsim_store_new(a);
    fsim_budget budget = fsim_budget_of(&fresh, &spent);
    int *node = fsim_new(a, int, p->graph->nodes + 1);
    for (int n = 0; n < p->graph->nodes; n++)
        node[n] = n;
    spent.over = true;
    fsim_frontier *f =
        fsim_frontier_of_side(&fresh, node, p->graph->nodes, (fsim_scope){FSIM_PARTED, side}, &budget, a);
    return f ? fsim_frontier_bound(f) : 0;
}

typedef struct {
    fsim_sum least;
    int plans;
} minimum;

static bool take(void *to, const fsim_plan *plan)
{
    minimum *m = to;
    m->plans++;
    m->least = m->least < 0 || plan->objective < m->least ? plan->objective : m->least;
    return true;
}

/* Products in a row or side by side, with something elementwise or a sum between, larger than L2 or not. */
static const char *random_workload(fsim_arena *a, int n)
{
    static const char *const unary[] = {"relu", "tanh", "neg", "exp"};
    static const int sizes[] = {64, 256, 1024, 2048};
    const int rows = sizes[1 + draw(3)], inner = sizes[draw(4)];
    const char *name[8] = {"x0"}, *dtype = draw(2) ? "f16" : "f32";
    const char *text = fsim_printf(a,
                                   "name: random\ntensors:\n  x0: {shape: [%d, %d], dtype: %s}\n"
                                   "  w0: {shape: [%d, %d], dtype: %s, role: weight}\n"
                                   "  w1: {shape: [%d, %d], dtype: %s, role: weight}\noperators:\n",
                                   rows, inner, dtype, inner, inner, dtype, inner, inner, dtype);
    for (int i = 0; i < n; i++) {
        const char *out = fsim_printf(a, "t%d", i), *x = name[draw((uint32_t)(1 + i))];
        const uint32_t what = draw(8);
        if (what < 4 || i == 0)
            text = fsim_printf(a, "%s  - {op: linear, in: [%s, w%d], out: %s}\n", text, x, (int)draw(2), out);
        else if (what < 6)
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[draw(4)], x, out);
        else
            text = fsim_printf(a, "%s  - {op: %s, in: [%s, %s], out: %s}\n", text, draw(2) ? "add" : "mul", x,
                               name[draw((uint32_t)(1 + i))], out);
        name[1 + i] = out;
    }
    return text;
}

/* Searches of one side of the barrier after the other. */
typedef struct {
    share_tally bounds, before;
    int64_t sets, states;
    int met;
} sides_tally;

/* Both sides together bound every plan; the plan that they make is one, which owns each primitive once at least. */
static void check_sides(const fsim_problem *p, fsim_sum least, fsim_arena *a, sides_tally *t)
{
    fsim_problem fresh = *p;
    fsim_sides x;
    fsim_spent spent;
    fsim_plan plan;
    fsim_refusal why;
    fresh.store = fsim_store_new(a);
    const fsim_budget budget = fsim_budget_of(&fresh, &spent);
    assert_true(fsim_search_sides(&fresh, &budget, a, &x));
    assert_true(x.bound > 0 && x.bound <= least && x.before >= 0 && x.before <= x.bound);
    assert_true(x.groups >= p->graph->nodes && x.states >= p->graph->nodes);
    assert_true(x.part.parts > 0 && fsim_price(&fresh, &x.part, a, &plan, &why) && plan.objective >= least);
    add_share(&t->bounds, (double)x.bound, (double)least);
    add_share(&t->before, (double)x.before, (double)least);
    t->sets += x.groups;
    t->states += x.states;
    t->met += plan.objective == least;
}

static void no_plan_takes_less(void **unused)
{
    (void)unused;
    int compared = 0, updated = 0, half = 0;
    told_bounds told = {0};
    share_tally floors = {0}, afters = {0};
    sides_tally sides = {0};
    state = 48;
    for (int turn = 0; turn < GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        const char *file = draw(2) ? "t4" : "h100-sxm5-80gb";
        const fsim_hw *hw =
            fsim_hw_read(a, fsim_diag_new(a), fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", file));
        const fsim_update update = draw(3) ? FSIM_NO_UPDATE : FSIM_SGD;
        const fsim_graph *g = derived(a, random_workload(a, 1 + (int)draw(3)), update);
        fsim_options o = usual;
        o.no_recompute = turn % 2;
        o.warm = turn % 5 == 1;
        if (g->nodes > 0 && g->nodes <= MOST && g->barrier) {
            fsim_problem p = fsim_problem_of(g, hw, &o, a);
            minimum m = {.least = -1};
            bool truncated;
            fsim_enumerate(&p, 0, take, &m, &truncated);
            assert_false(truncated);
            const fsim_sum floor = floor_of(&p, NULL, a);
            assert_true(floor > 0 && floor <= m.least);
            add_share(&floors, (double)floor, (double)m.least);
            const fsim_one_side after = {.after = true, .free = true};
            const fsim_sum behind = floor_of(&p, &after, a);
            assert_true(behind <= m.least);
            add_share(&afters, (double)behind, (double)m.least);
            check_sides(&p, m.least, a, &sides);
            check_told(&p, m.least, a, &told);
            compared++;
            updated += update == FSIM_SGD;
            half += (double)floor > 0.5 * (double)m.least;
        }
        fsim_arena_free(a);
    }
    printf("%d joint graphs, %d with an update; the floor is above half of the least plan on %d\n", compared, updated,
           half);
    printf("wide kernels told by their places: %d bounds, %d at least half of the least plan\n", told.bounds,
           told.near);
    assert_true(told.bounds > 100 && told.near * 2 > told.bounds);
    printf("both sides: %d of %d have the least plan, %lld sets, %lld states\n", sides.met, sides.bounds.count,
           (long long)sides.sets, (long long)sides.states);
    check_share("both sides", sides.bounds, 0.99007, GRAPHS == 400);
    check_share("forward", sides.before, 0.30820, GRAPHS == 400);
    assert_true(sides.met * 10 > sides.bounds.count * 7);
    assert_true(GRAPHS != 400 || (sides.sets <= 3248 && sides.states <= 3356 && sides.met >= 206));
    assert_true(GRAPHS != 400 || (told.near >= 1990 && half >= 248));
    check_share("floors", floors, 0.84066, GRAPHS == 400);
    check_share("of kernels behind the barrier", afters, 0.57453, GRAPHS == 400);
    check_share("told by places", told.shares, 0.92404, GRAPHS == 400);
    assert_true(compared > GRAPHS / 4 && updated > GRAPHS / 40 && half > compared / 2);
}

/* y = x w^T with Adam's update: of each of 4096 x 4096 weights the update reads a master copy and two moments in f32,
 * and writes these and the weight in f16: 26 bytes, 436 MB, far more than an H100's L2 holds, which nothing beside a
 * contraction moves. So no plan takes less than DRAM takes for these, and the launches of three products. */
static void an_update_counts(void **unused)
{
    (void)unused;
    static const char text[] = "tensors: {x: {shape: [256, 4096], dtype: f16},"
                               " w: {shape: [4096, 4096], dtype: f16, role: weight}}\n"
                               "operators:\n  - {op: linear, in: [x, w], out: y}\n";
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
    const fsim_graph *g = derived(a, text, FSIM_ADAM);
    const fsim_problem p = fsim_problem_of(g, hw, &usual, a);
    const fsim_prediction found = fsim_predict(g, hw, &usual, a);
    const double dram_s = 26. * 4096 * 4096 / fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH),
                 least_s = (double)floor_of(&p, NULL, a) * FSIM_TICK_S,
                 time_s = found.plan[FSIM_STRATEGY_OPTIMAL].time_s;
    printf("update %.1f us, floor %.1f us, plan %.1f us\n", dram_s * 1e6, least_s * 1e6, time_s * 1e6);
    assert_true(g->barrier);
    assert_true(least_s > dram_s + 3 * fsim_floor_launch(&p));
    assert_true(least_s > 0.75 * time_s && least_s <= time_s);
    fsim_arena_free(a);
}

/* A plan of one kernel: the floor counts no unit that its price does not. A write by index and a pooling read without
 * index maps; so do windows beside a map that reads a part of the same tensor. */
static void one_kernel_takes_no_less(void **unused)
{
    (void)unused;
    static const char indexed[] = "tensors: {x: {shape: [8192, 16, 64], dtype: f16}, index: {shape: [256], dtype: i64},"
                                  " values: {shape: [256, 16, 64], dtype: f16}}\n"
                                  "operators:\n  - {op: index_put, in: [x, index, values], out: y}\n",
                      pooled[] = "tensors: {x: {shape: [16, 64, 112, 112], dtype: f16}}\n"
                                 "operators:\n  - {op: max_pool2d, in: x, out: y, kernel_size: 3, stride: 2, "
                                 "padding: 1}\n",
                      plain[] = "tensors: {x: {shape: [4096, 4096], dtype: f16}}\n"
                                "operators:\n  - {op: exp, in: x, out: y}\n",
                      summed[] = "tensors: {x: {shape: [4096, 4096], dtype: f16}}\n"
                                 "operators:\n  - {op: cumsum, in: x, out: y, dim: 1}\n",
                      beside[] = "tensors: {x: {shape: [64, 64, 4096], dtype: f32}}\n"
                                 "operators:\n  - {op: max_pool1d, in: x, out: m, kernel_size: 4, stride: 4}\n"
                                 "  - {op: slice, in: x, out: f, dim: 2, start: 0, end: 1}\n"
                                 "  - {op: sub, in: [m, f], out: y}\noutputs: [y]\n";
    static const char *const text[] = {indexed, pooled, plain, summed, beside};
    static const char *const gpu[] = {"t4", "v100-pcie-32gb", "a100-sxm4-40gb", "h100-sxm5-80gb", "l4"};
    for (size_t w = 0; w < sizeof text / sizeof *text; w++)
        for (size_t i = 0; i < sizeof gpu / sizeof *gpu; i++) {
            fsim_arena *a = fsim_arena_new();
            const fsim_hw *hw =
                fsim_hw_read(a, fsim_diag_new(a), fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", gpu[i]));
            const fsim_graph *g =
                fsim_graph_parse(a, fsim_diag_new(a), "alone.yaml", text[w], strlen(text[w]), &(fsim_bindings){0});
            const fsim_problem p = fsim_problem_of(g, hw, &usual, a);
            const double least_s = (double)floor_of(&p, NULL, a) * FSIM_TICK_S,
                         time_s = fsim_predict(g, hw, &usual, a).plan[FSIM_STRATEGY_OPTIMAL].time_s;
            if (!(least_s > 0 && least_s <= time_s))
                fail_msg("%s on %s: the floor is %.6g us, the plan takes %.6g us", text[w], gpu[i], least_s * 1e6,
                         time_s * 1e6);
            fsim_arena_free(a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_plan_takes_less), cmocka_unit_test(an_update_counts),
                                       cmocka_unit_test(one_kernel_takes_no_less)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

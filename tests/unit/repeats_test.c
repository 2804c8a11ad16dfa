/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* Equal layers of a plan: found however the workload was written, apart where they differ, and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/names.h"
#include "hw/load.h"
#include "predict.h"
#include "report/repeats.h"
#include <math.h>
#include <string.h>

enum { NONE = -1 };

static void names_are_the_same_but_for_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *x, *y;
        bool same;
    } pair[] = {{"q.0", "q.11", true},
                {"add", "add_1", true},
                {"h0_q/matmul", "h12_q/matmul", true},
                {"layers.0.q", "layers.9.q", true},
                {"q.0", "k.0", false},
                {"add", "add_b", false},
                {"q.0", "q.0/max", false},
                {"", "7", true},
                {"a_", "a", false},
                {"a1b", "ab22", true},
                {"a_1_2", "a", true},
                {"f1", "g1", false}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (fsim_same_but_numbers(pair[i].x, pair[i].y) != pair[i].same ||
            fsim_same_but_numbers(pair[i].y, pair[i].x) != pair[i].same)
            fail_msg("%s and %s", pair[i].x, pair[i].y);
}

/* Layers of a feed-forward block, each written out: names of layer i are made by `name`, "%s.%d" or "%s%d_". Layer
 * `wide` has twice the inner width; NONE: all are equal. */
static const fsim_graph *network(fsim_arena *a, int layers, int wide, const char *name)
{
    const char *text = "name: network\nsymbols: {dtype: f16}\ntensors:\n  h: {shape: [512, 1024], dtype: dtype}\n";
    const char *steps = "operators:\n", *last = "h";
    for (int i = 0; i < layers; i++) {
        const int inner = i == wide ? 8192 : 4096, number = strstr(name, "%c") ? 'a' + i : i;
        text = fsim_printf(a,
                           "%s  u%d: {shape: [%d, 1024], dtype: dtype, role: weight}\n"
                           "  d%d: {shape: [1024, %d], dtype: dtype, role: weight}\n  n%d: {shape: [1024], dtype: "
                           "dtype, role: weight}\n",
                           text, i, inner, i, inner, i);
        const char *up = fsim_printf(a, name, "up", number), *act = fsim_printf(a, name, "act", number),
                   *down = fsim_printf(a, name, "down", number), *sum = fsim_printf(a, name, "sum", number),
                   *norm = fsim_printf(a, name, "norm", number);
        steps = fsim_printf(
            a,
            "%s  - {op: linear, in: [%s, u%d], out: %s}\n  - {op: gelu, in: %s, out: %s}\n  - {op: linear, in: "
            "[%s, d%d], out: %s}\n  - {op: add, in: [%s, %s], out: %s}\n  - {op: layer_norm, in: [%s, n%d, n%d], "
            "out: %s, normalized_shape: [1024]}\n",
            steps, last, i, up, up, act, act, i, down, down, last, sum, sum, i, i, norm);
        last = norm;
    }
    text = fsim_printf(a, "%s%soutputs: [%s]\n", text, steps, last);
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "network.yaml", text, strlen(text), NULL);
    assert_non_null(g);
    return g;
}

static fsim_prediction planned(fsim_arena *a, const fsim_graph *g, fsim_strategy s)
{
    const fsim_hw_wanted how = {.folders.shipped = FUSESIM_SOURCE_DIR "/hwmodels"};
    const fsim_hw *hw = fsim_hw_load(a, fsim_diag_new(a), "h100-sxm5-80gb", &how);
    const fsim_options usual = {.strategy = s, .regime = FSIM_REGIME_STREAM, .search_steps = 600000};
    assert_non_null(hw);
    return fsim_predict(g, hw, &usual, a);
}

/* Turns are equal, do not overlap, and together with the other kernels they are the plan. */
static void check(const fsim_prediction *p, fsim_strategy s, const fsim_repeats *found)
{
    const fsim_plan *plan = &p->plan[s];
    fsim_sum ticks = 0;
    int kernels = 0, behind = 0;
    for (int i = 0; i < plan->kernels; i++) {
        kernels += found->times[i];
        ticks += found->times[i] * fsim_ticks(plan->kernel[i].time_s);
    }
    assert_int_equal(kernels, plan->kernels);
    assert_true((double)ticks * FSIM_TICK_S == plan->time_s);
    for (int i = 0; i < found->count; i++) {
        const fsim_repeat *r = &found->at[i];
        assert_true(r->first >= behind && r->times >= 2 && r->kernels >= 1);
        behind = r->first + r->kernels * r->times;
        assert_true(behind <= plan->kernels);
        for (int k = r->first; k + r->kernels < behind; k++) {
            const fsim_kernel *x = &plan->kernel[k], *y = &plan->kernel[k + r->kernels];
            assert_true(x->template == y->template && x->time_s == y->time_s && x->registers == y->registers);
            assert_true(x->dram_read_bytes == y->dram_read_bytes && x->dram_write_bytes == y->dram_write_bytes);
            assert_int_equal(x->group->members, y->group->members);
        }
    }
}

/* The first primitive of a repeat is the first of a layer, in all ways to number layers. */
static void repeats_begin_where_layers_do(void **state)
{
    (void)state;
    static const char *const names[] = {"%s.%d", "%s%d_", "h_%s_%d_x"};
    static const fsim_strategy strategies[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_EAGER, FSIM_STRATEGY_UNFUSED};
    for (int n = 0; n < 3; n++)
        for (int s = 0; s < 3; s++) {
            fsim_arena *a = fsim_arena_new();
            const fsim_prediction p = planned(a, network(a, 8, NONE, names[n]), strategies[s]);
            const fsim_repeats found = fsim_repeats_of(&p, p.chosen, a);
            check(&p, p.chosen, &found);
            assert_int_equal(found.count, 1);
            assert_true(found.at[0].times >= 6);
            const int first = p.plan[p.chosen].kernel[found.at[0].first].group->member[0].node;
            assert_true(strstr(p.graph->node[first].name, "up") != NULL);
            fsim_arena_free(a);
        }
}

/* A layer that differs stands apart, between two repeats. */
static void a_layer_that_differs_stands_apart(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_prediction p = planned(a, network(a, 12, 6, "%s.%d"), FSIM_STRATEGY_EAGER);
    const fsim_repeats found = fsim_repeats_of(&p, p.chosen, a);
    check(&p, p.chosen, &found);
    assert_int_equal(found.count, 2);
    assert_true(found.at[0].first + found.at[0].kernels * found.at[0].times < found.at[1].first);
    for (int i = 0; i < 2; i++)
        assert_true(found.at[i].times >= 4);
    fsim_arena_free(a);
}

/* Kernels whose last bits differ are not equal, nor are those of other names. */
static void the_last_bit_counts(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_prediction p = planned(a, network(a, 6, NONE, "%s.%d"), FSIM_STRATEGY_EAGER);
    const fsim_repeats before = fsim_repeats_of(&p, p.chosen, a);
    assert_int_equal(before.count, 1);
    fsim_kernel *k = &p.plan[p.chosen].kernel[before.at[0].first + before.at[0].kernels];
    k->unit[FSIM_DRAM] = nextafter(k->unit[FSIM_DRAM], 1);
    const fsim_repeats after = fsim_repeats_of(&p, p.chosen, a);
    assert_true(after.count == 0 || after.at[0].times < before.at[0].times);
    fsim_arena_free(a);
}

static void networks_without_equal_layers_have_no_repeats(void **state)
{
    (void)state;
    static const char *const names[] = {"%s.%d", "%s%d_"};
    fsim_arena *a = fsim_arena_new();
    for (int n = 0; n < 2; n++) {
        const fsim_prediction p = planned(a, network(a, 1, NONE, names[n]), FSIM_STRATEGY_EAGER);
        const fsim_repeats found = fsim_repeats_of(&p, p.chosen, a);
        check(&p, p.chosen, &found);
        assert_int_equal(found.count, 0);
    }
    fsim_arena_free(a);
}

/* What is refused in one layer is repeated in the equal ones, as if each were looked at: names that tell no layers
 * apart ("up_a", "up_b") make all kernels different. */
static void refusals_are_those_of_every_layer(void **state)
{
    (void)state;
    static const fsim_strategy strategies[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_EAGER, FSIM_STRATEGY_UNFUSED};
    for (int s = 0; s < 3; s++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_prediction p = planned(a, network(a, 6, NONE, "%s.%d"), strategies[s]),
                              each = planned(a, network(a, 6, NONE, "%s_%c"), strategies[s]);
        assert_int_equal(fsim_repeats_of(&each, each.chosen, a).count, 0);
        assert_true(p.refusals >= 12);
        assert_int_equal(p.refusals, each.refusals);
        for (int i = 0; i < p.refusals; i++) {
            const fsim_priced_refusal *x = &p.refusal[i], *y = &each.refusal[i];
            assert_true(x->a == y->a && x->b == y->b && x->why.rule == y->why.rule && x->why.through == y->why.through);
            assert_true(x->first == y->first && x->second == y->second);
            assert_true(x->saving_s == y->saving_s && x->saving_bytes == y->saving_bytes);
            assert_true(x->cause.node == y->cause.node);
        }
        fsim_arena_free(a);
    }
}

/* Of each of a hundred layers, though only so many are priced. */
static void no_layer_is_left_out(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_prediction p = planned(a, network(a, 100, NONE, "%s.%d"), FSIM_STRATEGY_EAGER);
    int of_gelu = 0;
    for (int i = 0; i < p.refusals; i++)
        of_gelu += strncmp(p.graph->node[p.refusal[i].a].name, "act", 3) == 0;
    assert_int_equal(p.refusals_left, 0);
    assert_int_equal(of_gelu, 100);
    fsim_arena_free(a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_same_but_for_numbers),
        cmocka_unit_test(repeats_begin_where_layers_do),
        cmocka_unit_test(a_layer_that_differs_stands_apart),
        cmocka_unit_test(the_last_bit_counts),
        cmocka_unit_test(refusals_are_those_of_every_layer),
        cmocka_unit_test(no_layer_is_left_out),
        cmocka_unit_test(networks_without_equal_layers_have_no_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

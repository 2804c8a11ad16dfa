/* SPDX-License-Identifier: Apache-2.0 */
/* What compilation costs: which kernels are compiled, each once, and when that has paid off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "graph/attribute.h"
#include "plan/compile_cost.h"
#include "plan/search/sets.h"
#include "predict.h"
#include <math.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    fsim_graph *g;
    fsim_prediction *p;
    fsim_compile cost[FSIM_PLAN_COUNT];
} bench;

static const fsim_options usual = {
    .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};

static bench plan(const char *text, int jobs)
{
    bench b = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(b.a);
    b.g = fsim_graph_parse(b.a, d, "test.yaml", text, strlen(text), NULL);
    const fsim_hw *hw = fsim_hw_read(b.a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    if (!b.g || !hw)
        fsim_diag_print(d, stderr, false);
    assert_true(b.g && hw);
    b.p = fsim_new(b.a, fsim_prediction, 1);
    *b.p = fsim_predict(b.g, hw, &usual, b.a);
    fsim_compile_of(b.p->plan, jobs, b.a, b.cost);
    return b;
}

static bench layers(int count)
{
    fsim_arena *a = fsim_arena_new();
    const bench b =
        plan(fsim_printf(a,
                         "name: layers\ntensors: {x: {shape: [8192, 4096], dtype: f32, role: input}}\noperators:\n"
                         "  - repeat: %d\n    carry: {x: y}\n    operators:\n"
                         "      - {op: mul, in: x, out: s, scalar: 0.5}\n      - {op: tanh, in: s, out: t}\n"
                         "      - {op: sort, in: t, out: y, dim: 1}\noutputs: [y]\n",
                         count),
             1);
    fsim_arena_free(a);
    return b;
}

static void equal_layers_share_their_kernels(void **unused)
{
    (void)unused;
    const bench one = layers(1), twelve = layers(12);
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
        assert_int_equal(twelve.p->plan[s].kernels, 12 * one.p->plan[s].kernels);
        assert_int_equal(twelve.cost[s].to_compile, one.cost[s].to_compile);
        assert_true(twelve.cost[s].compile_s == one.cost[s].compile_s);
    }
    assert_int_equal(one.cost[FSIM_STRATEGY_OPTIMAL].to_compile, 1);
    assert_int_equal(one.p->plan[FSIM_STRATEGY_OPTIMAL].kernels, 2); /* the sort is shipped */
    fsim_arena_free(one.a);
    fsim_arena_free(twelve.a);
}

static void what_is_shipped_is_not_compiled(void **unused)
{
    (void)unused;
    const bench b =
        plan("name: linear\ntensors:\n  x: {shape: [512, 1024], dtype: f16, role: input}\n  w: {shape: [1024, 1024], "
             "dtype: f16, role: weight}\n"
             "operators:\n  - {op: linear, in: [x, w], out: h}\n  - {op: relu, in: h, out: y}\noutputs: [y]\n",
             1);
    const fsim_plan *best = &b.p->plan[FSIM_STRATEGY_OPTIMAL];
    assert_int_equal(best->kernels, 1);
    assert_int_equal(best->kernel[0].template, FSIM_LIBRARY_CONTRACTION);
    assert_int_equal(b.cost[FSIM_STRATEGY_OPTIMAL].to_compile, 0);
    assert_true(b.cost[FSIM_STRATEGY_OPTIMAL].compile_s == 0 && b.cost[FSIM_STRATEGY_OPTIMAL].break_even_runs == 0);
    assert_int_equal(b.cost[FSIM_STRATEGY_EAGER].to_compile + b.cost[FSIM_STRATEGY_UNFUSED].to_compile, 0);
    assert_true(isinf(b.cost[FSIM_STRATEGY_EAGER].break_even_runs)); /* it saves nothing against itself */
    fsim_arena_free(b.a);
}

/* How many kernels two chains of two operators are, which share no tensor and so no kernel: exp, then `first` or
 * `second`; one of f32 [8192, 4096], the other as said. */
static int distinct(const char *first, const char *second, const char *shape, const char *dtype)
{
    fsim_arena *a = fsim_arena_new();
    const bench b = plan(fsim_printf(a,
                                     "name: two\ntensors:\n  x: {shape: [8192, 4096], dtype: f32, role: input}\n  v: "
                                     "{shape: %s, dtype: %s, role: input}\noperators:\n"
                                     "  - {op: exp, in: x, out: a}\n  - {%s, in: a, out: b}\n  - {op: exp, in: v, out: "
                                     "c}\n  - {%s, in: c, out: d}\noutputs: [b, d]\n",
                                     shape, dtype, first, second),
                         1);
    assert_int_equal(b.p->plan[FSIM_STRATEGY_OPTIMAL].kernels, 2);
    const bool same = fsim_same_source(b.g, &b.p->plan[FSIM_STRATEGY_OPTIMAL].kernel[0],
                                       &b.p->plan[FSIM_STRATEGY_OPTIMAL].kernel[1], b.a);
    const int count = b.cost[FSIM_STRATEGY_OPTIMAL].to_compile;
    assert_int_equal(same ? 1 : 2, count);
    fsim_arena_free(b.a);
    fsim_arena_free(a);
    return count;
}

static void kernels_are_the_same_by_what_they_compute(void **unused)
{
    (void)unused;
    const char *add = "op: add, scalar: 1.0";
    assert_int_equal(distinct(add, add, "[8192, 4096]", "f32"), 1); /* other names, the same source */
    assert_int_equal(distinct(add, "op: sub, scalar: 1.0", "[8192, 4096]", "f32"), 2);
    assert_int_equal(distinct(add, "op: add, scalar: 2.0", "[8192, 4096]", "f32"), 2);
    assert_int_equal(distinct(add, add, "[8192, 2048]", "f32"), 2);
    assert_int_equal(distinct(add, add, "[8192, 4096]", "f16"), 2);
}

/* Are rolls by one and by `by` elements the same kernel? */
static bool rolls_alike(int by)
{
    fsim_arena *a = fsim_arena_new();
    const bench b = plan(fsim_printf(a,
                                     "name: rolls\ntensors:\n  x: {shape: [64, 4096], dtype: f32, role: input}\n"
                                     "operators:\n  - {op: roll, in: x, out: y, dims: [1], roll: [1]}\n"
                                     "  - {op: roll, in: y, out: z, dims: [1], roll: [%d]}\noutputs: [z]\n",
                                     by),
                         1);
    const fsim_plan *unfused = &b.p->plan[FSIM_STRATEGY_UNFUSED];
    assert_int_equal(unfused->kernels, 2);
    const bool same = fsim_same_source(b.g, &unfused->kernel[0], &unfused->kernel[1], b.a);
    fsim_arena_free(b.a);
    fsim_arena_free(a);
    return same;
}

static void pieces_are_told_apart_by_their_cuts(void **unused)
{
    (void)unused;
    assert_true(rolls_alike(1));
    assert_false(rolls_alike(2));
}

/* Another value of any field, whatever its type. */
static void change(fsim_attrs *at, int field) { ((unsigned char *)at)[fsim_attr_fields[field].offset] ^= 1; }

/* Two kernels, or two places of the search, that differ in one attribute are two, whichever it is. */
static void every_attribute_tells_kernels_apart(void **unused)
{
    (void)unused;
    const bench b =
        plan("name: two\ntensors: {x: {shape: [8192, 4096], dtype: f32, role: input}}\noperators:\n"
             "  - {op: cumsum, in: x, out: y, dim: 1}\n  - {op: cumsum, in: y, out: z, dim: 1}\noutputs: [z]\n",
             1);
    const fsim_kernel *k = b.p->plan[FSIM_STRATEGY_OPTIMAL].kernel;
    const fsim_hw *hw = fsim_hw_read(b.a, fsim_diag_new(b.a), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    fsim_problem problem = fsim_problem_of(b.g, hw, &usual, b.a);
    const int nodes[] = {0, 1};
    assert_int_equal(b.p->plan[FSIM_STRATEGY_OPTIMAL].kernels, 2);
    assert_true(fsim_same_source(b.g, &k[0], &k[1], b.a));
    for (int f = 0; f < FSIM_FIELD_COUNT; f++) {
        fsim_places before, after;
        fsim_places_of(&problem, nodes, 2, (fsim_set_limits){.most = 1}, b.a, &before);
        change(&b.g->node[1].attrs, f);
        fsim_places_of(&problem, nodes, 2, (fsim_set_limits){.most = 1}, b.a, &after);
        if (fsim_same_source(b.g, &k[0], &k[1], b.a))
            fail_msg("kernels that differ in '%s' count as one", fsim_attr_fields[f].name);
        if (before.class[1] == after.class[1] || before.class[0] != after.class[0])
            fail_msg("places that differ in '%s' count as equal", fsim_attr_fields[f].name);
        change(&b.g->node[1].attrs, f);
    }
    assert_true(fsim_same_source(b.g, &k[0], &k[1], b.a));
    fsim_arena_free(b.a);
}

/* No member of fsim_attrs stands beside the table: its fields fill the struct. */
static void attributes_are_the_fields_of_the_table(void **unused)
{
    (void)unused;
    static const size_t size[FSIM_TYPE_COUNT] = {[FSIM_TYPE_INT] = sizeof(int64_t),
                                                 [FSIM_TYPE_NUMBER] = sizeof(double),
                                                 [FSIM_TYPE_FLAG] = sizeof(bool),
                                                 [FSIM_TYPE_WORD] = sizeof(int),
                                                 [FSIM_TYPE_DTYPE] = sizeof(fsim_dtype)};
    size_t end = 0;
    for (int f = 0; f < FSIM_FIELD_COUNT; f++) {
        const size_t own = size[fsim_attr_fields[f].type];
        assert_true(own > 0);
        assert_int_equal(fsim_attr_fields[f].offset, (end + own - 1) / own * own);
        end = fsim_attr_fields[f].offset + own;
    }
    assert_int_equal(sizeof(fsim_attrs), (end + sizeof(double) - 1) / sizeof(double) * sizeof(double));
}

/* Plans by hand: only times and kernels count. */
static void breaking_even_is_seconds_over_saving(void **unused)
{
    (void)unused;
    fsim_plan p[FSIM_PLAN_COUNT] = {0};
    fsim_compile c[FSIM_PLAN_COUNT] = {0};
    fsim_stage stage[FSIM_PLAN_COUNT];
    p[FSIM_STRATEGY_EAGER] = (fsim_plan){.kernels = 4, .time_s = 4};
    p[FSIM_STRATEGY_PATTERN] = (fsim_plan){.kernels = 2, .time_s = 3};
    p[FSIM_STRATEGY_OPTIMAL] = p[FSIM_STRATEGY_GREEDY] = (fsim_plan){.kernels = 1, .time_s = 1};
    p[FSIM_STRATEGY_MAXIMAL] = (fsim_plan){.kernels = 1, .time_s = 5};
    c[FSIM_STRATEGY_PATTERN].compile_s = 10;
    c[FSIM_STRATEGY_OPTIMAL].compile_s = c[FSIM_STRATEGY_GREEDY].compile_s = 101;
    c[FSIM_STRATEGY_MAXIMAL].compile_s = 1;
    assert_int_equal(fsim_stages_of(p, c, stage), 3); /* 10 + 3 n < 4 n above 10, 101 + n < 10 + 3 n above 45.5 */
    assert_int_equal(stage[0].strategy, FSIM_STRATEGY_EAGER);
    assert_int_equal(stage[1].strategy, FSIM_STRATEGY_PATTERN);
    assert_int_equal(stage[2].strategy, FSIM_STRATEGY_OPTIMAL);
    assert_true(stage[0].from_runs == 1 && stage[1].from_runs == 11 && stage[2].from_runs == 46);
    for (int runs = 1; runs <= 100; runs++) {
        int at = 0;
        while (at + 1 < 3 && stage[at + 1].from_runs <= runs)
            at++;
        assert_int_equal(fsim_best_for(p, c, runs), stage[at].strategy);
    }
    assert_true(fsim_total_s(&p[FSIM_STRATEGY_OPTIMAL], &c[FSIM_STRATEGY_OPTIMAL], 100) == 201);
    c[FSIM_STRATEGY_OPTIMAL].compile_s = c[FSIM_STRATEGY_GREEDY].compile_s = 0;
    assert_int_equal(fsim_stages_of(p, c, stage), 1);
    assert_int_equal(stage[0].strategy, FSIM_STRATEGY_OPTIMAL);
}

static char *shipped(fsim_arena *a, const char *name)
{
    size_t bytes;
    const char *why;
    return fsim_read_file(a, fsim_printf(a, "%s/workloads/%s.yaml", FUSESIM_SOURCE_DIR, name), &bytes, &why);
}

/* Laws of every plan: fewer than its kernels, break-even by the formula, and more processes take no longer. */
static void costs_keep_their_laws(void **unused)
{
    (void)unused;
    static const char *const names[] = {"mlp", "bert_layer", "seeds/softmax_primitive", "seeds/attention_standard",
                                        "seeds/boundaries"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fsim_arena *a = fsim_arena_new();
        const bench b = plan(shipped(a, names[i]), 1);
        fsim_compile four[FSIM_PLAN_COUNT];
        fsim_compile_of(b.p->plan, 4, b.a, four);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
            const fsim_plan *x = &b.p->plan[s];
            const double saving = b.p->plan[FSIM_STRATEGY_EAGER].time_s - x->time_s;
            double sum = 0;
            int generated = 0;
            for (int k = 0; k < x->kernels; k++) {
                const double s1 = fsim_compile_s(b.g, &x->kernel[k]);
                const fsim_template t = x->kernel[k].template;
                assert_true((s1 == 0) == (t == FSIM_LIBRARY_CONTRACTION || t == FSIM_OPAQUE_KERNEL ||
                                          t == FSIM_COMMUNICATION_KERNEL || t == FSIM_TRANSFER_KERNEL));
                generated += s1 > 0;
                sum += s1;
            }
            assert_true(b.cost[s].to_compile <= generated && four[s].to_compile == b.cost[s].to_compile);
            assert_true((b.cost[s].compile_s > 0) == (b.cost[s].to_compile > 0) && b.cost[s].compile_s < sum + 1);
            assert_true(four[s].compile_s <= b.cost[s].compile_s && 4 * four[s].compile_s >= b.cost[s].compile_s);
            assert_true(x->kernels == 0 || saving <= 0 ? x->kernels == 0 || isinf(b.cost[s].break_even_runs)
                                                       : fabs(b.cost[s].break_even_runs * saving -
                                                              b.cost[s].compile_s) <= 1e-12 * b.cost[s].compile_s);
        }
        fsim_arena_free(b.a);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layers_share_their_kernels),
        cmocka_unit_test(what_is_shipped_is_not_compiled),
        cmocka_unit_test(kernels_are_the_same_by_what_they_compute),
        cmocka_unit_test(pieces_are_told_apart_by_their_cuts),
        cmocka_unit_test(every_attribute_tells_kernels_apart),
        cmocka_unit_test(attributes_are_the_fields_of_the_table),
        cmocka_unit_test(breaking_even_is_seconds_over_saving),
        cmocka_unit_test(costs_keep_their_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

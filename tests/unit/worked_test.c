/* SPDX-License-Identifier: Apache-2.0 */
/* Facts worked by hand: a kernel or a plan so small that bytes, trips, launches and verdicts are known without the
 * program. Each of them was true of a program in which one operator of C was changed, and no other test noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/costing.h"
#include "fusion/chain.h"
#include "fusion/fuse.h"
#include "fusion/row_kind.h"
#include "graph/piece.h"
#include "plan/price/price.h"
#include "plan/price/timeline.h"
#include "predict.h"
#include "validate/reference/check.h"
#include "validate/reference/point.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOY        FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml"
#define NEAR(x, y) assert_true(fabs((x) - (y)) <= 1e-9 * fabs(y))

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_options options;
    fsim_problem p;
} worked;

static worked load(const char *text, const char *hw, fsim_regime regime)
{
    worked w = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(w.a);
    w.options = (fsim_options){.strategy = FSIM_STRATEGY_OPTIMAL, .regime = regime, .search_steps = 1000000};
    w.g = fsim_graph_parse(w.a, d, "worked.yaml", text, strlen(text), NULL);
    w.hw = fsim_hw_read(w.a, d, hw);
    if (!w.g || !w.hw)
        fsim_diag_print(d, stderr, false);
    assert_true(w.g && w.hw);
    w.p = fsim_problem_of(w.g, w.hw, &w.options, w.a);
    return w;
}

/* All primitives as one kernel. */
static const fsim_kernel *whole(worked *w)
{
    int *node = fsim_new(w->a, int, w->g->nodes);
    for (int n = 0; n < w->g->nodes; n++)
        node[n] = n;
    const fsim_kernel *k = fsim_kernel_alone(&w->p, node, w->g->nodes, w->a);
    assert_non_null(k);
    return k;
}

/* The sum of n inputs of 256 elements, a block. */
static const char *sum_of(fsim_arena *a, int n)
{
    const char *inputs = "  x1: {shape: [256], dtype: f32}\n", *ops = "";
    for (int i = 2; i <= n; i++) {
        inputs = fsim_printf(a, "%s  x%d: {shape: [256], dtype: f32}\n", inputs, i);
        ops = fsim_printf(a, "%s  - {op: add, in: [%s%d, x%d], out: y%d}\n", ops, i == 2 ? "x" : "y", i - 1, i, i);
    }
    return fsim_printf(a, "tensors:\n%soperators:\n%soutputs: [y%d]\n", inputs, ops, n);
}

/* A thread issues 64 loads before it waits (LOADS_AHEAD). Toy's memory answers after 1 ns: 64 inputs take 1 ns, 65
 * take 2. */
static void a_65th_load_waits_a_second_time(void **unused)
{
    (void)unused;
    static const struct {
        int inputs;
        double trips;
    } cases[] = {{2, 1}, {64, 1}, {65, 2}, {66, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        worked w = load(sum_of(a, cases[i].inputs), TOY, FSIM_REGIME_STREAM);
        NEAR(whole(&w)->unit[FSIM_LATENCY], cases[i].trips * 1e-9);
        fsim_arena_free(w.a);
        fsim_arena_free(a);
    }
}

/* 64 Mi elements, 256 MiB, take an A100 172 us and more: longer than Python needs for two launches, 2 x 13.1 us. What
 * is left of a launch is what it costs where the host is not waited for, once for each of the two. */
static void a_long_kernel_of_two_launches_hides_both(void **unused)
{
    (void)unused;
    worked w = load("tensors: {x: {shape: [67108864], dtype: f32}}\noperators:\n  - {op: sum, in: [x], out: y, dims: "
                    "[0]}\noutputs: [y]\n",
                    FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml", FSIM_REGIME_EAGER);
    const fsim_kernel *k = whole(&w);
    assert_int_equal(k->launches, 2);
    assert_true(fsim_hw_get(w.hw, FSIM_HW_LAUNCH_STREAM) > fsim_hw_get(w.hw, FSIM_HW_KERNEL_FLOOR));
    NEAR(k->time[FSIM_LAUNCH], 2 * fsim_hw_get(w.hw, FSIM_HW_LAUNCH_STREAM));
    fsim_arena_free(w.a);
}

/* x and its transpose: both maps reach all 64 x 64 elements, which are 16 KiB once. */
static void a_tensor_read_twice_is_fetched_once(void **unused)
{
    (void)unused;
    worked w = load(
        "tensors: {x: {shape: [64, 64], dtype: f32}}\noperators:\n  - {op: permute, in: [x], out: t, dims: [1, 0]}\n"
        "  - {op: add, in: [x, t], out: y}\noutputs: [y]\n",
        TOY, FSIM_REGIME_STREAM);
    const fsim_kernel *k = whole(&w);
    assert_int_equal(k->group->reads, 1);
    assert_int_equal(k->group->read[0].maps, 2);
    assert_int_equal(k->group->read[0].bytes, 64 * 64 * 4);
    assert_true(k->group->read[0].whole);
    assert_int_equal(k->input[0].bytes, 64 * 64 * 4);
    fsim_arena_free(w.a);
}

/* Rows of f32 in two parts, one after the other: where both begin and end at multiples of 4 a thread takes 4 elements,
 * 16 bytes, at once; at multiples of 2 it takes 2; and otherwise one. */
static void neighbours_are_taken_together_where_each_part_begins_with_them(void **unused)
{
    (void)unused;
    static const struct {
        int left, right, vector;
    } cases[] = {{60, 68, 4}, {64, 64, 4}, {62, 66, 2}, {61, 67, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "tensors: {x: {shape: [4096, %d], dtype: f32}, z: {shape: [4096, %d], dtype: f32}}\noperators:\n"
                 "  - {op: concat, in: [x, z], out: c, dim: 1}\n  - {op: relu, in: c, out: y}\noutputs: [y]\n",
                 cases[i].left, cases[i].right);
        worked w = load(text, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml", FSIM_REGIME_STREAM);
        assert_int_equal(whole(&w)->vector, cases[i].vector);
        fsim_arena_free(w.a);
    }
}

/* The upper half of x is 8 KiB, and the lower half is not touched: the next kernel does not find all of x in L2. */
static void half_a_tensor_is_half_its_bytes(void **unused)
{
    (void)unused;
    worked w = load("tensors: {x: {shape: [64, 64], dtype: f32}}\noperators:\n"
                    "  - {op: slice, in: [x], out: half, dim: 0, start: 32, size: 32}\n"
                    "  - {op: exp, in: [half], out: y}\noutputs: [y]\n",
                    TOY, FSIM_REGIME_STREAM);
    const fsim_kernel *k = whole(&w);
    assert_int_equal(k->group->read[0].bytes, 32 * 64 * 4);
    assert_false(k->group->read[0].whole);
    assert_int_equal(k->input[0].read_bytes, 32 * 64 * 4);
    fsim_arena_free(w.a);
}

/* Of 64 x 64 elements. Windows of one element, 16 apart in both directions: 4 x 4 results read 16 elements, each in a
 * sector of 32 bytes. Windows of two, 2 apart, leave no gap. Two elements that are 4 apart span 5: windows 5 apart
 * follow each other, and count as all; windows 6 apart leave one element out: 10 results a direction read 20 rows, and
 * of a row each of its 8 sectors. Padding: all. */
static void gaps_between_windows_are_not_fetched(void **unused)
{
    (void)unused;
    static const struct {
        const char *window;
        int64_t bytes;
    } cases[] = {{"kernel: 1, stride: 16", 16 * 32},
                 {"kernel: 2, stride: 2", 64 * 64 * 4},
                 {"kernel: 2, dilation: 4, stride: 5", 64 * 64 * 4},
                 {"kernel: 2, dilation: 4, stride: 6", 20 * 8 * 32},
                 {"kernel: 2, stride: 16, padding: 1", 64 * 64 * 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        worked w = load(fsim_printf(a,
                                    "tensors: {x: {shape: [1, 1, 64, 64], dtype: f32}}\noperators:\n"
                                    "  - {op: max_pool2d, in: [x], out: y, %s}\noutputs: [y]\n",
                                    cases[i].window),
                        TOY, FSIM_REGIME_STREAM);
        assert_int_equal(whole(&w)->input[0].read_bytes, cases[i].bytes);
        fsim_arena_free(w.a);
        fsim_arena_free(a);
    }
}

/* y = x[0, n - d) + x[d, n): two maps of n - d elements, d apart. While toy's L2 holds what lies between them, each
 * sector is fetched once; when it does not, twice. */
static void maps_find_each_other_in_l2_where_it_reaches(void **unused)
{
    (void)unused;
    enum { N = 1 << 20 };
    static const int64_t apart[] = {8, 1 << 18};
    for (int i = 0; i < 2; i++) {
        fsim_arena *a = fsim_arena_new();
        const long long d = (long long)apart[i], n = N - d;
        worked w = load(fsim_printf(a,
                                    "tensors: {x: {shape: [%d], dtype: f32}}\noperators:\n"
                                    "  - {op: slice, in: [x], out: low, dim: 0, start: 0, size: %lld}\n"
                                    "  - {op: slice, in: [x], out: high, dim: 0, start: %lld, size: %lld}\n"
                                    "  - {op: add, in: [low, high], out: y}\noutputs: [y]\n",
                                    N, n, d, n),
                        TOY, FSIM_REGIME_STREAM);
        assert_int_equal(whole(&w)->input[0].read_bytes, i == 0 ? 4 * (int64_t)N : 2 * 4 * (N - apart[i]));
        fsim_arena_free(w.a);
        fsim_arena_free(a);
    }
}

/* y is small enough for L2 and sorted by the kernel behind it, which finds it there. But it is an output: its 4 KiB
 * reach DRAM in every plan, and so in the first bound, which is the plan's own time: the proof takes 8 steps. With a
 * bound that leaves the write out, other plans would have to be looked at: 57. */
static void the_bound_knows_that_outputs_are_written(void **unused)
{
    (void)unused;
    worked w = load("tensors: {x: {shape: [1024], dtype: f32}}\noperators:\n  - {op: exp, in: [x], out: y}\n"
                    "  - {op: sort, in: [y], out: z, dim: 0}\noutputs: [y, z]\n",
                    TOY, FSIM_REGIME_STREAM);
    w.options.search_steps = 20;
    const fsim_prediction best = fsim_predict(w.g, w.hw, &w.options, w.a);
    const fsim_plan *plan = &best.plan[FSIM_STRATEGY_OPTIMAL];
    assert_int_equal(plan->kernels, 2);
    assert_int_equal(plan->kernel[0].output[0].write_bytes, 4096);
    assert_int_equal(plan->kernel[1].input[0].read_bytes, 0);
    assert_true(best.proof.proven);
    NEAR(best.proof.lower_bound, plan->time_s);
    fsim_arena_free(w.a);
}

/* While a row's maximum m and sum s still grow, tile by tile, results that were made with the old ones can be corrected
 * if they are a value of the element times a factor of the row: x - m under an exponential, x * s, x / s, a corrected
 * value over s. Not so where the row's value stands elsewhere: m - x, (x * s) - m, x / (x * s). */
static void what_an_online_row_can_correct(void **unused)
{
    (void)unused;
    static const struct {
        fsim_op op;
        fsim_row_kind x, y, wanted;
    } cases[] = {{FSIM_OP_SUB, FSIM_FREE, FSIM_ROW, FSIM_SHIFTED},   {FSIM_OP_SUB, FSIM_ROW, FSIM_FREE, FSIM_BOUND},
                 {FSIM_OP_SUB, FSIM_SCALED, FSIM_ROW, FSIM_BOUND},   {FSIM_OP_SUB, FSIM_SHIFTED, FSIM_ROW, FSIM_BOUND},
                 {FSIM_OP_SUB, FSIM_FREE, FSIM_SCALED, FSIM_BOUND},  {FSIM_OP_SUB, FSIM_ROW, FSIM_ROW, FSIM_ROW},
                 {FSIM_OP_DIV, FSIM_FREE, FSIM_ROW, FSIM_SCALED},    {FSIM_OP_DIV, FSIM_SCALED, FSIM_ROW, FSIM_SCALED},
                 {FSIM_OP_DIV, FSIM_SCALED, FSIM_FREE, FSIM_SCALED}, {FSIM_OP_DIV, FSIM_FREE, FSIM_SCALED, FSIM_BOUND},
                 {FSIM_OP_DIV, FSIM_ROW, FSIM_FREE, FSIM_BOUND},     {FSIM_OP_DIV, FSIM_SHIFTED, FSIM_ROW, FSIM_BOUND},
                 {FSIM_OP_MUL, FSIM_FREE, FSIM_ROW, FSIM_SCALED},    {FSIM_OP_MUL, FSIM_SHIFTED, FSIM_ROW, FSIM_BOUND},
                 {FSIM_OP_MUL, FSIM_ROW, FSIM_SHIFTED, FSIM_BOUND},  {FSIM_OP_ADD, FSIM_FREE, FSIM_ROW, FSIM_BOUND},
                 {FSIM_OP_ADD, FSIM_FREE, FSIM_FREE, FSIM_FREE},     {FSIM_OP_MUL, FSIM_BOUND, FSIM_FREE, FSIM_BOUND}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_node n = {.op = cases[i].op, .args = 2};
        assert_int_equal(fsim_row_kind_of(&n, (fsim_row_kind[]){cases[i].x, cases[i].y}), cases[i].wanted);
    }
}

/* An argument of element e, where the row's value is r: by its kind. */
static double of_kind(fsim_row_kind kind, int argument, int e, double r)
{
    const double x = 0.375 + 0.25 * e + 0.125 * argument, own = r + argument;
    switch (kind) {
    case FSIM_FREE:
        return x;
    case FSIM_ROW:
        return own;
    case FSIM_SHIFTED:
        return x - own;
    case FSIM_SCALED:
        return x * own;
    default:
        return x * x + own * own * (x + 1);
    }
}

/* What the kind of a result says of its values y in two states of the row, element by element: they are the same; all
 * elements have one value; all change by the same difference; all by the same factor. */
static bool keeps_its_word(fsim_row_kind kind, const double *y, const double *later, int count)
{
    bool kept = true;
    for (int e = 0; e < count && kind != FSIM_BOUND; e++) {
        if (!isfinite(y[e]) || !isfinite(later[e]) || !isfinite(y[0]) || !isfinite(later[0]))
            continue; /* outside of what the function takes */
        const double difference = (later[e] - y[e]) - (later[0] - y[0]), cross = later[e] * y[0] - y[e] * later[0];
        kept = kept && (kind != FSIM_FREE || later[e] == y[e]) && (kind != FSIM_ROW || y[e] == y[0]) &&
               (kind != FSIM_SHIFTED || fabs(difference) < 1e-9) && (kind != FSIM_SCALED || fabs(cross) < 1e-9);
    }
    return kept;
}

/* Kinds of results say what is true of the values, of every operator that is computed point by point, with arguments of
 * every kind. */
static void kinds_of_a_row_by_values(void **unused)
{
    (void)unused;
    enum { ELEMENTS = 4 };
    int corrected = 0;
    for (fsim_op op = 0; op < FSIM_OP_COUNT; op++)
        for (int given = 0; given < 3 * 125; given++) { /* of one, two or three arguments */
            const int args = 1 + given / 125;
            const fsim_row_kind kind[] = {given % 5, given / 5 % 5, given / 25 % 5};
            fsim_node n = {.op = op, .args = args, .attrs = {.dtype = given % 2 ? FSIM_F32 : FSIM_I32, .p = 0.5}};
            double y[2][ELEMENTS];
            bool of_rows = true;
            if (!fsim_point_rows[op].value || args < fsim_ops[op].least_args || args > fsim_ops[op].most_args)
                continue;
            for (int k = 0; k < args; k++)
                of_rows = of_rows && kind[k] == FSIM_ROW;
            for (int e = 0; e < 2 * ELEMENTS; e++) {
                double x[3] = {1.5, 1.5, 1.5}; /* where there is no second argument it is a number */
                const int place = of_rows ? 0 : e / 2;
                const fsim_place at = {.index = place, .row = 2, .col = place, .cols = ELEMENTS};
                for (int k = 0; k < args; k++)
                    x[k] = of_kind(kind[k], k, e / 2, e % 2 ? 1.25 : 0.75);
                y[e % 2][e / 2] = fsim_point_rows[op].value(&n, x, &at);
            }
            const fsim_row_kind made = fsim_row_kind_of(&n, kind);
            if (!keeps_its_word(made, y[0], y[1], ELEMENTS))
                fail_msg("%s of kinds %d, %d, %d is not of kind %d", fsim_ops[op].name, kind[0], kind[1], kind[2],
                         made);
            corrected += made == FSIM_SHIFTED || made == FSIM_SCALED;
        }
    printf("%d results can be corrected\n", corrected);
    assert_true(corrected > 40);
}

/* Reversed: point p of [0, 6) reads element 5 - p, and so does the way back. Two digits, the inner one reversed: points
 * 0 to 5 read 2 1 0 5 4 3; element e was read by the same. One that starts at element 1 has no way back. */
static void a_reversed_map_has_a_way_back(void **unused)
{
    (void)unused;
    const fsim_map reversed = {.modes = 1, .split = 1, .offset = 5, .mode = {{6, -1}}},
                   inner = {.modes = 2, .split = 2, .offset = 2, .mode = {{2, 3}, {3, -1}}},
                   turned = {.modes = 2, .split = 2, .offset = 1, .mode = {{2, -1}, {3, 2}}},
                   moved = {.modes = 1, .split = 1, .offset = 6, .mode = {{6, -1}}};
    const fsim_map *maps[] = {&reversed, &inner, &turned};
    fsim_map back;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        assert_true(fsim_map_invert(maps[i], &back));
        for (int64_t p = 0; p < 6; p++)
            assert_int_equal(fsim_map_at(&back, fsim_map_at(maps[i], p, 0), 0), p);
    }
    assert_int_equal(fsim_map_at(&inner, 4, 0), 4);
    assert_false(fsim_map_invert(&moved, &back));
}

/* Python issues 10 us apart. The first kernel has three launches and does nothing, the second one has one and works for
 * 5 us. It is issued 40 us after the call began, takes 0.25 us to start, and ends 45.25 us after. */
static void the_host_issues_every_launch(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), TOY);
    assert_non_null(hw);
    const fsim_kernel k[] = {{.launches = 3}, {.launches = 1, .time_s = 5e-6}};
    const double call_s = fsim_hw_get(hw, FSIM_HW_CALL_EAGER);
    NEAR(fsim_call_seconds(k, 2, FSIM_BY_ATEN, FSIM_REGIME_EAGER, hw), call_s + 45.25e-6);
    NEAR(fsim_call_seconds(k, 2, FSIM_BY_ATEN, FSIM_REGIME_GRAPH, hw), 5e-6);
    fsim_arena_free(a);
}

/* What a kernel writes behind the end of its result is found from the first byte on. */
static void a_byte_behind_the_end_is_seen(void **unused)
{
    (void)unused;
    enum { BYTES = 40, ROOM = 512 };
    static const int places[] = {BYTES, BYTES + 1, ROOM - 1};
    unsigned char memory[ROOM];
    void *argument[] = {memory}, **arguments[] = {argument};
    fsim_parameter parameter = {.name = "t_y", .bytes = BYTES, .written = true};
    const fsim_program program = {.parameter = &parameter, .parameters = 1};
    const fsim_host_memory m = {.argument = arguments, .programs = 1, .program = &program};
    memset(memory, 0xff, sizeof memory);
    memset(memory, 0, BYTES);
    assert_null(fsim_host_overrun(&m, 0));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memory[places[i]] = 0;
        assert_string_equal(fsim_host_overrun(&m, 0), "t_y");
        memory[places[i]] = 0xff;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_65th_load_waits_a_second_time),
        cmocka_unit_test(a_long_kernel_of_two_launches_hides_both),
        cmocka_unit_test(a_tensor_read_twice_is_fetched_once),
        cmocka_unit_test(neighbours_are_taken_together_where_each_part_begins_with_them),
        cmocka_unit_test(half_a_tensor_is_half_its_bytes),
        cmocka_unit_test(gaps_between_windows_are_not_fetched),
        cmocka_unit_test(maps_find_each_other_in_l2_where_it_reaches),
        cmocka_unit_test(the_bound_knows_that_outputs_are_written),
        cmocka_unit_test(what_an_online_row_can_correct),
        cmocka_unit_test(kinds_of_a_row_by_values),
        cmocka_unit_test(a_reversed_map_has_a_way_back),
        cmocka_unit_test(the_host_issues_every_launch),
        cmocka_unit_test(a_byte_behind_the_end_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where along a symbol the best plan changes: against a search at every value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/price/price.h"
#include "regions.h"
#include <math.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    fsim_parametric workload;
    const fsim_hw *hw;
    fsim_options how;
} bench;

static bench open_bench(const char *text, const char *symbol, const char *hw)
{
    bench b = {.a = fsim_arena_new(),
               .how = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000}};
    b.workload = (fsim_parametric){.path = "test.yaml", .text = text, .bytes = strlen(text), .symbol = symbol};
    b.hw = fsim_hw_read(b.a, fsim_diag_new(b.a), fsim_printf(b.a, "%s/%s.yaml", FUSESIM_SOURCE_DIR, hw));
    assert_non_null(b.hw);
    return b;
}

static fsim_regions over(bench *b, fsim_range range)
{
    return fsim_regions_of(fsim_parsed_at, &b->workload, &range, b->hw, &b->how, b->a);
}

/* Producers of a column, broadcast into a matrix of N columns: recomputed while that is cheap, stored once N is large.
 */
static const char column[] = "symbols: {M: 4096, N: 64}\n"
                             "tensors: {a: {shape: [M, 1], dtype: f32}, x: {shape: [M, N], dtype: f32}}\n"
                             "operators:\n"
                             "  - {op: exp, in: a, out: e1}\n"
                             "  - {op: exp, in: e1, out: e2}\n"
                             "  - {op: exp, in: e2, out: e3}\n"
                             "  - {op: exp, in: e3, out: e4}\n"
                             "  - {op: add, in: [x, e4], out: y}\n"
                             "outputs: [y]\n";

static int region_at(const fsim_regions *r, int64_t value)
{
    for (int i = 0; i < r->regions; i++)
        if (r->region[i].first <= value && value <= r->region[i].last)
            return i;
    return -1;
}

static void regions_cover_the_range(const fsim_regions *r, fsim_range range)
{
    assert_true(r->regions >= 1);
    assert_int_equal(r->region[0].first, range.first);
    assert_true(r->region[r->regions - 1].last > range.last - range.step);
    for (int i = 1; i < r->regions; i++) {
        assert_int_equal(r->region[i].first, r->region[i - 1].last + range.step);
        assert_int_not_equal(r->region[i].plan, r->region[i - 1].plan);
        assert_int_equal(r->at[i - 1].before, r->region[i - 1].last);
        assert_int_equal(r->at[i - 1].after, r->region[i].first);
        assert_true(r->at[i - 1].confirmed);
    }
}

static void plans_change_where_they_cost_the_same(void **unused)
{
    (void)unused;
    bench b = open_bench(column, "N", "hwmodels/a100-sxm4-40gb");
    const fsim_range range = {.first = 1, .last = 1 << 20, .step = 1};
    const fsim_regions r = over(&b, range);
    regions_cover_the_range(&r, range);
    assert_true(r.regions >= 2);
    assert_false(r.truncated);
    for (int i = 0; i + 1 < r.regions; i++) { /* each plan is the better one on its side of the break */
        assert_true(r.at[i].before_s[0] <= r.at[i].before_s[1] || isnan(r.at[i].before_s[1]));
        assert_true(r.at[i].after_s[1] <= r.at[i].after_s[0] || isnan(r.at[i].after_s[0]));
    }
    /* far fewer searches than values, and the density of the grid is told */
    assert_true(r.evaluations < 150);
    assert_true(r.grid_ratio > 1 && r.grid_ratio < 3 && r.widest_gap > 0);
    fsim_arena_free(b.a);
}

static void check_every_value(fsim_objective objective)
{
    bench b = open_bench(column, "N", "hwmodels/t4");
    b.how.objective = objective;
    const fsim_range range = {.first = 1, .last = 160, .step = 1, .grid = 17};
    const fsim_regions r = over(&b, range);
    regions_cover_the_range(&r, range);
    for (int64_t n = range.first; n <= range.last; n++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *g = fsim_parsed_at(&b.workload, n, a);
        const fsim_prediction p = fsim_predict(g, b.hw, &b.how, a);
        const fsim_named_plan *plan = &r.plan[r.region[region_at(&r, n)].plan];
        fsim_partition groups = {plan->groups, fsim_new(a, fsim_part, plan->groups)};
        for (int k = 0; k < plan->groups; k++) {
            fsim_part *part = &groups.part[k];
            *part = (fsim_part){plan->group[k].count, fsim_new(a, int, plan->group[k].count),
                                fsim_new(a, bool, plan->group[k].count)};
            for (int i = 0; i < part->count; i++)
                part->node[i] = fsim_find_node(g, plan->group[k].at[i]);
        }
        fsim_problem problem = fsim_problem_of(g, b.hw, &b.how, a);
        fsim_plan priced;
        fsim_refusal why;
        assert_true(fsim_price(&problem, &groups, a, &priced, &why));
        const fsim_plan *best = &p.plan[FSIM_STRATEGY_OPTIMAL];
        assert_true(objective == FSIM_MINIMISE_TIME ? priced.time_s == best->time_s
                                                    : priced.peak_memory_bytes == best->peak_memory_bytes);
        fsim_arena_free(a);
    }
    fsim_arena_free(b.a);
}

static void every_value_agrees_with_its_region(void **unused)
{
    (void)unused;
    check_every_value(FSIM_MINIMISE_TIME);
    check_every_value(FSIM_MINIMISE_MEMORY);
}

/* Values that are `step` apart, the first and the last of them included. */
static void steps_are_kept(void **unused)
{
    (void)unused;
    bench b = open_bench(column, "N", "hwmodels/a100-sxm4-40gb");
    const fsim_range range = {.first = 3, .last = 3 + 64 * 64, .step = 64};
    const fsim_regions r = over(&b, range);
    regions_cover_the_range(&r, range);
    assert_int_equal(r.region[r.regions - 1].last, range.last);
    fsim_arena_free(b.a);
}

/* A context that has no workload above a value. */
typedef struct {
    fsim_parametric *workload;
    int64_t most;
} limited;

static const fsim_graph *limited_at(void *context, int64_t value, fsim_arena *a)
{
    const limited *l = context;
    return value <= l->most ? fsim_parsed_at(l->workload, value, a) : NULL;
}

/* The widest gap is the widest of all, not the last one. */
static void the_widest_gap_is_told(void **unused)
{
    (void)unused;
    bench b = open_bench(column, "N", "hwmodels/a100-sxm4-40gb");
    limited l = {.workload = &b.workload, .most = 60};
    const fsim_range range = {.first = 1, .last = 64, .step = 1, .grid = 2};
    const fsim_regions r = fsim_regions_of(limited_at, &l, &range, b.hw, &b.how, b.a);
    assert_int_equal(r.region[r.regions - 1].plan, -1);
    assert_int_equal(r.region[r.regions - 1].first, 61);
    assert_int_equal(r.widest_gap, 30); /* 2 to 31, as 1 and 32 have one plan */
    fsim_arena_free(b.a);
}

static void one_region_where_nothing_changes(void **unused)
{
    (void)unused;
    bench b = open_bench("symbols: {B: 1}\ntensors: {x: {shape: [B, 64], dtype: f32}}\noperators: [{op: relu, in: x, "
                         "out: h}, {op: exp, in: h, out: y}]\n",
                         "B", "hwmodels/a100-sxm4-40gb");
    const fsim_range range = {.first = 1, .last = 1000000, .step = 1};
    const fsim_regions r = over(&b, range);
    regions_cover_the_range(&r, range);
    assert_int_equal(r.regions, 1);
    assert_int_equal(r.plans, 1);
    assert_true(r.region[0].proven && r.evaluations <= 64);
    const fsim_range single = {.first = 7, .last = 7, .step = 1};
    const fsim_regions one = over(&b, single);
    assert_int_equal(one.regions, 1);
    assert_int_equal(one.evaluations, 1);
    fsim_arena_free(b.a);
}

static void values_without_a_workload_are_a_region_of_their_own(void **unused)
{
    (void)unused;
    /* 4 * H must be what w says: only H = 16 is a workload */
    bench b =
        open_bench("symbols: {H: 16}\ntensors: {x: {shape: [4, H], dtype: f32}, w: {shape: [4, 16], dtype: f32}}\n"
                   "operators: [{op: concat, in: [x, w], out: c, dim: 0}]\n",
                   "H", "hwmodels/a100-sxm4-40gb");
    const fsim_range range = {.first = 14, .last = 18, .step = 1};
    const fsim_regions r = over(&b, range);
    regions_cover_the_range(&r, range);
    assert_int_equal(r.regions, 3);
    assert_int_equal(r.region[0].plan, -1);
    assert_int_equal(r.region[1].first, 16);
    assert_int_equal(r.region[1].last, 16);
    const fsim_range by_two = {.first = 16, .last = 17, .step = 2};
    assert_int_equal(over(&b, by_two).regions, 1);
    fsim_arena_free(b.a);
}

static void evaluations_end_where_they_are_told_to(void **unused)
{
    (void)unused;
    bench b = open_bench(column, "N", "hwmodels/a100-sxm4-40gb");
    const fsim_range range = {.first = 1, .last = 1 << 20, .step = 1, .grid = 2, .most = 4};
    const fsim_regions r = over(&b, range);
    assert_true(r.truncated && r.evaluations <= 4);
    fsim_arena_free(b.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_change_where_they_cost_the_same),
        cmocka_unit_test(every_value_agrees_with_its_region),
        cmocka_unit_test(steps_are_kept),
        cmocka_unit_test(the_widest_gap_is_told),
        cmocka_unit_test(one_region_where_nothing_changes),
        cmocka_unit_test(values_without_a_workload_are_a_region_of_their_own),
        cmocka_unit_test(evaluations_end_where_they_are_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

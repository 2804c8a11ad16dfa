/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of all kinds beside the plan that the search proves best, on small graphs by chance, without trying all plans
 * (unit.optimum does): none is above it, and on average they come as close to it as now. depends: compiler memory
 * cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "plan/search/frontier.h"
#include "plan/search/search.h"
#include "predict.h"
#include "priced_check.h"
#include "random_rows.h"
#include "random_workload.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
static const bool usual = false;
enum { GRAPHS = 20, ROWS = 10 };
#else
static const bool usual = true;
enum { GRAPHS = 48, ROWS = 60 };
#endif

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem p;
    fsim_sum least;
} fixture;

static share_tally parts, part_plans, clones, hurried, relaxed, with_l2, part_prices, floors;
static told_bounds told;
static priced_tally priced;
static struct {
    int64_t sets, states, steps;
} effort;

static void begin_anew(void)
{
    parts = part_plans = clones = hurried = relaxed = with_l2 = part_prices = floors = (share_tally){0};
    told = (told_bounds){0};
    priced = (priced_tally){0};
    memset(&effort, 0, sizeof effort);
}

static bool open_fixture(fixture *f, const char *text, const char *gpu, const fsim_options *o, const fsim_derive *how)
{
    fsim_diag *d = fsim_diag_new(f->a);
    fsim_plan best;
    fsim_proof proof;
    const fsim_hw *hw = fsim_hw_read(f->a, d, fsim_printf(f->a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", gpu));
    f->g = fsim_graph_parse(f->a, d, "random.yaml", text, strlen(text), &(fsim_bindings){.derive = how});
    assert_non_null(hw);
    if (!f->g || f->g->nodes > 24) /* no gradient reaches an output, or there are too many */
        return false;
    f->p = fsim_problem_of(f->g, hw, o, f->a);
    fsim_optimal(&f->p, NULL, 0, f->a, &best, &proof);
    f->least = best.objective;
    effort.sets += proof.groups_considered;
    effort.states += proof.states;
    effort.steps += proof.steps;
    fsim_problem short_of_time = f->p;
    short_of_time.store = fsim_store_new(f->a);
    short_of_time.search_steps = 30;
    fsim_optimal(&short_of_time, NULL, 0, f->a, &best, &proof);
    const double unit = o->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    assert_true(best.objective >= f->least && proof.lower_bound <= (double)f->least * unit * (1 + 1e-12));
    add_share(&hurried, proof.lower_bound, (double)best.objective * unit);
    return f->least > 0;
}

/* A search of the whole list in this way: its bound, and what the plan that it finds costs. */
static void search_it(const fixture *f, fsim_scope scope, share_tally *bounds, share_tally *plans)
{
    ready_list x;
    fsim_plan plan;
    fsim_refusal why;
    fsim_partition part = {0, fsim_new(f->a, fsim_part, f->g->nodes + 1)};
    make_ready(&f->p, scope, f->a, &x);
    assert_true(fsim_frontier_search(x.f));
    assert_true(fsim_frontier_bound(x.f) <= f->least);
    add_share(bounds, (double)fsim_frontier_bound(x.f), (double)f->least);
    if (!plans || !fsim_frontier_plan(x.f, &part, f->a))
        return;
    assert_true(fsim_price(&x.fresh, &part, f->a, &plan, &why) && plan.objective >= f->least);
    add_share(plans, (double)f->least, (double)plan.objective);
}

static void check_bounds(const fixture *f)
{
    static const fsim_one_side few[] = {{.clone_sets = 1}, {.clone_sets = 2}, {.clone_sets = 3}};
    ready_list x;
    fsim_sum bound;
    fsim_partition part = {0, fsim_new(f->a, fsim_part, f->g->nodes + 1)};
    search_it(f, (fsim_scope){FSIM_PARTED, NULL}, &parts, &part_plans);
    for (int i = 0; i < 3; i++)
        search_it(f, (fsim_scope){i == 2 ? FSIM_BEST_ONLY : FSIM_PARTED, &few[i]}, &clones, NULL);
    make_ready(&f->p, (fsim_scope){FSIM_BEST_ONLY, NULL}, f->a, &x);
    add_share(&floors, (double)fsim_frontier_floor(x.f), (double)f->least);
    assert_true(fsim_frontier_floor(x.f) <= f->least && fsim_frontier_search(x.f));
    add_share(&relaxed, (double)fsim_frontier_bound(x.f), (double)f->least);
    if (!f->p.warm) {
        (void)fsim_frontier_with_l2(x.f, f->least + 1, &x.budget, &part, &bound, f->a);
        assert_true(bound <= f->least);
        add_share(&with_l2, (double)bound, (double)f->least);
    }
    add_share(&part_prices, parted_bound(&f->p, f->least, f->a), 1);
    check_told(&f->p, f->least, f->a, &told);
    check_priced(&f->p, f->least, f->a, &priced);
}

static fsim_options options_of(int turn)
{
    return (fsim_options){.strategy = FSIM_STRATEGY_OPTIMAL,
                          .regime = (fsim_regime)(turn % 4),
                          .search_steps = 60000000,
                          .no_recompute = turn % 3 == 1,
                          .warm = turn % 5 == 1,
                          .objective = turn % 7 == 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME};
}

static void say(int looked)
{
    printf("%d graphs; %lld sets, %lld states, %lld steps\n", looked, (long long)effort.sets, (long long)effort.states,
           (long long)effort.steps);
    printf("prices %.5f of %d, met %d; told %d bounds, %d near\n", priced.reached / priced.turns, priced.turns,
           priced.met, told.bounds, told.near);
}

/* A workload's text by the next random numbers, and what its gradients are wanted of: NULL, none. */
typedef const char *make_workload(fsim_arena *a, int turn, const fsim_derive **back);

/* How many graphs of so many turns were looked at. Each turn's random numbers are its own. */
static int look_at(int turns, int seed, make_workload *workload)
{
    static const char *const gpu[] = {"t4", "a100-sxm4-40gb", "h100-sxm5-80gb"};
    int looked = 0;
    begin_anew();
    for (int turn = 1; turn <= turns; turn++) {
        fixture f = {.a = fsim_arena_new()};
        state = (uint64_t)(turn + seed);
        const fsim_options o = options_of(turn);
        const fsim_derive *back = NULL;
        const char *text = workload(f.a, turn, &back);
        if (open_fixture(&f, text, gpu[turn % 3], &o, back)) {
            check_bounds(&f);
            looked++;
        }
        fsim_arena_free(f.a);
    }
    say(looked);
    return looked;
}

static const char *any_workload(fsim_arena *a, int turn, const fsim_derive **back)
{
    static const int sides[][2] = {{256, 256}, {1024, 1024}, {4096, 4096}, {8, 65536}, {512, 2048}};
    static const fsim_derive all = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL};
    const bool derived = turn % 9 == 4;
    const int *side = sides[turn % 5];
    *back = derived ? &all : NULL;
    return random_workload(a, derived ? 2 : 4 + (int)draw(4), side[0], side[1], turn % 11 == 5 ? 2 : 1);
}

/* Of operators that kernels over rows have: concatenations, slices, gathers, running sums, norms. */
static const char *workload_of_rows(fsim_arena *a, int turn, const fsim_derive **back)
{
    (void)turn, (void)back;
    return random_rows(a, 3 + (int)draw(3));
}

static void bounds_are_tight(void **unused)
{
    (void)unused;
    const int looked = look_at(GRAPHS, 0, any_workload);
    assert_true(!usual || (looked == 48 && effort.sets <= 1021 && effort.states <= 1851 && effort.steps <= 81675));
    assert_true(!usual || (priced.reached >= 0.99944 * priced.turns && priced.met >= 48 && told.bounds >= 384 &&
                           told.near >= 262));
    check_share("parts", parts, 0.91462, usual);
    check_share("plans of parts", part_plans, 0.88766, usual);
    check_share("few clones", clones, 0.93625, usual);
    check_share("hurried", hurried, 0.85927, usual);
    check_share("relaxed", relaxed, 0.99999, usual);
    check_share("with L2", with_l2, 0.99999, usual);
    check_share("prices of parts", part_prices, 0.77084, usual);
    check_share("floors", floors, 0.70882, usual);
    check_share("told", told.shares, 0.62079, usual);
}

static void bounds_over_rows_are_tight(void **unused)
{
    (void)unused;
    const int looked = look_at(ROWS, 1000, workload_of_rows);
    assert_true(!usual || (looked == 60 && effort.sets <= 3251 && effort.states <= 1785 && effort.steps <= 108669));
    assert_true(!usual || (priced.reached >= 0.9863 * priced.turns && priced.met >= 59 && told.bounds >= 480 &&
                           told.near >= 182));
    check_share("parts", parts, 0.81925, usual);
    check_share("plans of parts", part_plans, 0.86646, usual);
    check_share("few clones", clones, 0.87166, usual);
    check_share("hurried", hurried, 0.67076, usual);
    check_share("relaxed", relaxed, 0.99263, usual);
    check_share("with L2", with_l2, 0.99999, usual);
    check_share("prices of parts", part_prices, 0.72009, usual);
    check_share("floors", floors, 0.53080, usual);
    check_share("told", told.shares, 0.39807, usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_tight),
                                       cmocka_unit_test(bounds_over_rows_are_tight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

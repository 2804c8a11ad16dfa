/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of plans against all plans there are, on random graphs small enough to try them: the best few, those that no
 * other beats in both time and memory, the fastest within a limit of memory, what merging and small changes end with.
 * depends: once cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "plan/search/budget.h"
#include "plan/search/lists.h"
#include "plan/search/merge.h"
#include "plan/search/polish.h"
#include "plan/search/search.h"
#include "predict.h"
#include "random_workload.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 20 };
#else
enum { GRAPHS = 90 };
#endif
enum { MOST = 6, PLANS = 4096, BEST = 6 };

typedef struct {
    fsim_sum cost;
    int64_t peak_bytes;
} one;

typedef struct {
    one plan[PLANS];
    int count;
} all;

static bool note(void *to, const fsim_plan *plan)
{
    all *x = to;
    assert_true(x->count < PLANS);
    x->plan[x->count++] = (one){plan->objective, (int64_t)plan->peak_memory_bytes};
    return true;
}

static int by_cost(const void *x, const void *y)
{
    const one *a = x, *b = y;
    return a->cost != b->cost ? (a->cost > b->cost ? 1 : -1)
                              : (a->peak_bytes > b->peak_bytes) - (a->peak_bytes < b->peak_bytes);
}

/* Another problem with the same graph, with nothing remembered. */
static fsim_problem fresh(const fsim_problem *p, fsim_arena *a)
{
    fsim_problem q = *p;
    q.store = fsim_store_new(a);
    return q;
}

/* The best few cost what the cheapest of all do; each is there once. */
static void check_top(const fsim_problem *p, const all *x, fsim_arena *a)
{
    fsim_problem q = fresh(p, a);
    fsim_plan *best = fsim_new(a, fsim_plan, BEST + 1);
    const int count = fsim_top(&q, BEST, a, best);
    assert_int_equal(count, x->count < BEST ? x->count : BEST);
    for (int i = 0; i < count; i++)
        assert_true(best[i].objective == x->plan[i].cost);
    for (int i = 1; i < count; i++)
        assert_true(fsim_compare_plans(p, &best[i - 1], &best[i]) <= 0);
}

/* Each plan there is is beaten, or matched, by one of the front in both time and memory, and none of the front by
 * another of it. The front may be better: it may launch kernels in another order. */
static void check_front(const fsim_problem *p, const all *x, fsim_arena *a, int *exact)
{
    fsim_problem q = fresh(p, a);
    fsim_plan *front = fsim_new(a, fsim_plan, PLANS);
    const int count = fsim_pareto(&q, PLANS - 1, a, front);
    assert_true(count > 0 && front[0].objective == x->plan[0].cost);
    for (int i = 1; i < count; i++)
        assert_true(front[i - 1].objective < front[i].objective &&
                    front[i - 1].peak_memory_bytes > front[i].peak_memory_bytes);
    for (int i = 0; i < x->count; i++) {
        bool beaten = false;
        for (int k = 0; k < count && !beaten; k++) {
            beaten = front[k].objective <= x->plan[i].cost && front[k].peak_memory_bytes <= x->plan[i].peak_bytes;
            *exact += front[k].objective == x->plan[i].cost && front[k].peak_memory_bytes == x->plan[i].peak_bytes;
        }
        assert_true(beaten);
    }
}

typedef struct {
    int graphs, plans, merged, polished, proven, fitting, told, exact;
} tally;

/* With a limit halfway between the lowest peak and that of the fastest plan, and with one below all. */
static void check_limits(const fsim_problem *p, const all *x, fsim_arena *a, tally *sums)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < x->count; i++)
        least = x->plan[i].peak_bytes < least ? x->plan[i].peak_bytes : least;
    const int64_t limits[] = {(least + x->plan[0].peak_bytes) / 2, least, least - 1};
    for (int k = 0; k < 3; k++) {
        fsim_problem q = fresh(p, a);
        fsim_plan best;
        fsim_proof proof;
        q.memory_limit = limits[k];
        fsim_best_in_memory(&q, NULL, 0, a, &best, &proof);
        int i = 0;
        while (i < x->count && x->plan[i].peak_bytes > limits[k])
            i++;
        if (i < x->count) {
            assert_true(best.objective <= x->plan[i].cost && best.peak_memory_bytes <= limits[k]);
            assert_true(fsim_ticks(proof.lower_bound) <= best.objective + 1);
            sums->fitting++;
            sums->told += proof.proven;
        } else {
            assert_true(best.peak_memory_bytes <= least);
        }
    }
    fsim_problem q = fresh(p, a);
    fsim_plan best;
    fsim_proof proof;
    q.objective = FSIM_MINIMISE_MEMORY;
    fsim_best_in_memory(&q, NULL, 0, a, &best, &proof);
    assert_true(best.peak_memory_bytes <= least);
}

/* Merging pairs never costs more than no merge, nor do small changes cost more than what they change. */
static void check_changes(const fsim_problem *p, const all *x, fsim_arena *a, tally *sums)
{
    fsim_problem q = fresh(p, a);
    const fsim_partition single = fsim_singles(&q, a);
    fsim_plan alone, merged, changed;
    fsim_refusal why;
    assert_true(fsim_price(&q, &single, a, &alone, &why));
    assert_true(fsim_merge_greedily(&q, &single, a, &merged));
    assert_true(merged.objective <= alone.objective && merged.objective >= x->plan[0].cost);
    fsim_spent spent;
    const fsim_budget budget = fsim_budget_of(&q, &spent);
    changed = alone;
    fsim_polish(&q, &budget, a, &changed);
    assert_true(changed.objective <= alone.objective && changed.objective >= x->plan[0].cost);
    const fsim_sum before = changed.objective;
    fsim_polish(&q, &budget, a, &changed);
    assert_true(changed.objective == before); /* nothing is left to change */
    sums->merged += merged.objective == x->plan[0].cost;
    sums->polished += changed.objective == x->plan[0].cost;
    fsim_plan best;
    fsim_proof proof;
    fsim_problem again = fresh(p, a);
    fsim_optimal(&again, &alone, 1, a, &best, &proof);
    assert_true(best.objective == x->plan[0].cost && fsim_ticks(proof.lower_bound) <= best.objective + 1);
    sums->proven += proof.proven;
    /* a list has each plan once, and the better ones first */
    fsim_plan *list = fsim_new(a, fsim_plan, 8);
    const fsim_plan known[] = {alone, merged, best, alone};
    int count = fsim_add_plans(list, 0, known, 4);
    assert_int_equal(count, 4);
    count = fsim_best_of(&q, list, count, 8);
    assert_true(list[0].objective == best.objective);
    for (int i = 1; i < count; i++)
        assert_true(list[i - 1].objective <= list[i].objective);
    assert_true(count <= 3);
    fsim_plan worse = alone;
    fsim_adopt_best(&q, list, count, &worse);
    assert_true(worse.objective == best.objective);
    const int kept = fsim_put_first(list, count, 2, &best);
    assert_true(kept == (count + 1 < 2 ? count + 1 : 2) && list[0].objective == best.objective);
}

static void lists_have_what_there_is(void **unused)
{
    (void)unused;
    static const int sides[][2] = {{64, 64}, {2048, 2048}, {4096, 30}};
    static all x;
    tally sums = {0};
    for (int turn = 1; turn <= GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        state = (uint64_t)turn;
        const int *side = sides[turn % 3];
        const char *text = random_workload(a, 2 + (int)draw(5), side[0], side[1], 1);
        const fsim_hw *hw = fsim_hw_read(a, d,
                                         turn % 2 ? FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml"
                                                  : FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
        const fsim_graph *g = fsim_graph_parse(a, d, "lists.yaml", text, strlen(text), NULL);
        const fsim_options how = {.strategy = FSIM_STRATEGY_OPTIMAL,
                                  .regime = turn % 4 ? FSIM_REGIME_STREAM : FSIM_REGIME_GRAPH,
                                  .search_steps = 60000000,
                                  .no_recompute = turn % 5 == 0};
        assert_true(g && hw);
        if (g->nodes > 1 && g->nodes <= MOST) {
            bool truncated;
            const fsim_problem p = fsim_problem_of(g, hw, &how, a);
            fsim_problem q = fresh(&p, a);
            x.count = 0;
            assert_true(fsim_enumerate(&q, 0, note, &x, &truncated) == x.count && !truncated);
            qsort(x.plan, (size_t)x.count, sizeof *x.plan, by_cost);
            check_top(&p, &x, a);
            check_front(&p, &x, a, &sums.exact);
            check_limits(&p, &x, a, &sums);
            check_changes(&p, &x, a, &sums);
            sums.graphs++;
            sums.plans += x.count;
        }
        fsim_arena_free(a);
    }
    printf(
        "%d graphs, %d plans; the best: merged %d, changed %d, proven %d; of %d within a limit %d proven; %d exact\n",
        sums.graphs, sums.plans, sums.merged, sums.polished, sums.proven, sums.fitting, sums.told, sums.exact);
    assert_true(sums.graphs > GRAPHS / 3 && sums.plans > 5 * sums.graphs);
    assert_true(sums.merged * 10 > sums.graphs * 8 && sums.polished * 10 > sums.graphs * 9);
    assert_true(GRAPHS != 90 || (sums.merged >= 88 && sums.polished >= 88 && sums.told >= 176 && sums.exact >= 91));
    assert_int_equal(sums.proven, sums.graphs);
    assert_true(sums.told * 10 > sums.fitting * 9 && sums.exact * 10 > sums.graphs * 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_have_what_there_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

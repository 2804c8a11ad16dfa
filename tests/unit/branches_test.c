/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 4 */
/* The optimum against brute force where branches of convolutions, pooling and elementwise operators come together in
 * concatenations (FUSESIM_RANDOM_GRAPHS sets how many graphs): bounds of lists that miss sets, too. Of a lone
 * contraction and what does not fit its points no kernel has both; none of the least plan may be left out for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/search/frontier.h"
#include "predict.h"
#include "priced_check.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 30 };
#else
enum { GRAPHS = 500 };
#endif

enum { MOST = 16 };

typedef struct {
    const char *name[MOST];
    int channels[MOST], count; /* of tensors [2, channels, side, side]; channels 0: [2, some, 1, 1] */
    int side;
    const char *inputs, *operators, *kept;
    fsim_arena *a;
} drawing;

static void add_value(drawing *w, const char *name, int channels)
{
    w->name[w->count] = name;
    w->channels[w->count++] = channels;
}

/* An input of these dimensions. */
static const char *add_input(drawing *w, const char *name, const char *shape, const char *role)
{
    w->inputs = fsim_printf(w->a, "%s  %s: {shape: %s, dtype: f16, role: %s}\n", w->inputs, name, shape, role);
    return name;
}

/* A value with so many channels, x where there is no other. */
static int with_channels(const drawing *w, int channels, int x)
{
    for (int tries = 0; tries < 4; tries++) {
        const int y = (int)draw((uint32_t)w->count);
        if (w->channels[y] == channels)
            return y;
    }
    return x;
}

static void add_operator(drawing *w, int i)
{
    static const char *const unary[] = {"relu", "sigmoid", "neg"};
    const int x = draw(2) ? w->count - 1 : (int)draw((uint32_t)w->count), channels = w->channels[x],
              y = with_channels(w, channels, x);
    const char *out = fsim_printf(w->a, "t%d", i), *line = NULL;
    const uint32_t what = channels > 0 ? draw(12) : 11;
    int made = channels;
    if (what < 3) {
        const int taps = draw(2) ? 3 : 1;
        made = 8 << draw(3);
        const char *weight = add_input(w, fsim_printf(w->a, "w%d", i),
                                       fsim_printf(w->a, "[%d, %d, %d, %d]", made, channels, taps, taps), "weight");
        line = fsim_printf(w->a, "{op: conv2d, in: [%s, %s], out: %s, padding: [%d, %d]}", w->name[x], weight, out,
                           taps / 2, taps / 2);
    } else if (what < 5) {
        const int other = with_channels(w, 8 << draw(3), y);
        line = fsim_printf(w->a, "{op: concat, in: [%s, %s], out: %s, dim: 1}", w->name[x], w->name[other], out);
        made = channels + w->channels[other];
    } else if (what == 5) {
        const char *scale =
            add_input(w, fsim_printf(w->a, "s%d", i), fsim_printf(w->a, "[%d, 1, 1]", channels), "weight");
        line = fsim_printf(w->a, "{op: mul, in: [%s, %s], out: %s}", w->name[x], scale, out);
    } else if (what < 8) {
        line = fsim_printf(w->a, "{op: %s, in: [%s, %s], out: %s}", draw(2) ? "add" : "maximum", w->name[x], w->name[y],
                           out);
    } else if (what == 8) {
        line = fsim_printf(w->a, "{op: %s, in: %s, out: %s, kernel: [3, 3], stride: [1, 1], padding: [1, 1]}",
                           draw(2) ? "max_pool2d" : "avg_pool2d", w->name[x], out);
    } else if (what == 9) {
        line = fsim_printf(w->a, "{op: mean, in: %s, out: %s, dim: [2, 3], keepdim: true}", w->name[x], out);
        made = 0; /* another shape: nothing but unary operators takes it */
    }
    if (!line)
        line = fsim_printf(w->a, "{op: %s, in: %s, out: %s}", unary[draw(3)], w->name[x], out);
    w->operators = fsim_printf(w->a, "%s  - %s\n", w->operators, line);
    if (draw(10) == 0)
        w->kept = fsim_printf(w->a, "%s%s%s", w->kept, *w->kept ? ", " : "", out);
    add_value(w, out, made);
}

static const char *random_branches(fsim_arena *a, int n)
{
    static const int sides[] = {4, 14, 56, 112};
    drawing w = {.a = a, .side = sides[draw(4)], .inputs = "", .operators = "", .kept = ""};
    const int channels = 8 << draw(3);
    add_input(&w, "x", fsim_printf(a, "[2, %d, %d, %d]", channels, w.side, w.side), "input");
    add_value(&w, "x", channels);
    for (int i = 0; i < n; i++)
        add_operator(&w, i);
    return fsim_printf(a, "name: branches\ntensors:\n%soperators:\n%s%s", w.inputs, w.operators,
                       *w.kept ? fsim_printf(a, "materialize: [%s]\n", w.kept) : "");
}

static bool take(void *to, const fsim_plan *plan)
{
    fsim_sum *least = to;
    *least = *least < 0 || plan->objective < *least ? plan->objective : *least;
    return true;
}

static void optimum_of_branches(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml",
                                       FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml",
                                       FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml"};
    const char *asked = getenv("FUSESIM_RANDOM_GRAPHS");
    const int graphs = asked ? atoi(asked) : GRAPHS;
    told_bounds told = {0};
    priced_tally priced = {0};
    int contractions = 0;
    state = 20261128;
    for (int turn = 0; turn < graphs; turn++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const bool recompute = turn % 2 == 0;
        const char *text = random_branches(a, 4 + (int)draw(recompute ? 4 : 6));
        const fsim_hw *hw = fsim_hw_read(a, d, gpus[turn % 3]);
        const fsim_graph *g = fsim_graph_parse(a, d, "branches.yaml", text, strlen(text), NULL);
        if (!hw || !g)
            fsim_diag_print(d, stderr, false);
        assert_non_null(hw);
        assert_non_null(g);
        fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                          .regime = (fsim_regime)(turn % 4),
                          .search_steps = 60000000,
                          .no_recompute = !recompute,
                          .warm = turn % 5 == 1};
        fsim_problem p = fsim_problem_of(g, hw, &o, a), fresh = p;
        fsim_sum least = -1;
        bool truncated;
        fsim_enumerate(&p, 0, take, &least, &truncated);
        assert_false(truncated);
        fresh.store = fsim_store_new(a);
        fsim_plan best;
        fsim_proof proof;
        fsim_optimal(&fresh, NULL, 0, a, &best, &proof);
        if (best.objective != least || proof.lower_bound > (double)least * FSIM_TICK_S * (1 + 1e-12))
            fail_msg("turn %d: optimal %lld, bound %.15g; least %lld\n%s", turn, (long long)best.objective,
                     proof.lower_bound / FSIM_TICK_S, (long long)least, text);
        parted_bound(&p, least, a);
        check_told(&p, least, a, &told);
        check_priced(&p, least, a, &priced);
        for (int n = 0; n < g->nodes; n++)
            contractions += g->node[n].gemm.k > 0;
        fsim_arena_free(a);
    }
    printf(
        "%d contractions; lists that miss sets: %d bounds, %d at least half of the least plan; prices: %.2f %% of the "
        "least on average\n",
        contractions, told.bounds, told.near, 100 * priced.reached / priced.turns);
    assert_true(contractions > graphs);
    assert_true(told.near * 5 > told.bounds * 2);
    assert_true(priced.reached >= 0.95 * priced.turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimum_of_branches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

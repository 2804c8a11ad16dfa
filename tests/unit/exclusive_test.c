/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of primitives of which no kernel has two: no set costs less than its members are worth, nor does any plan cost
 * less than all of them; products in chains are minded. cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "plan/search/frontier.h"
#include "plan/search/given.h"
#include "plan/search/places.h"
#include "plan/search/search.h"
#include "plan/search/shadow.h"
#include "plan/search/states.h"
#include "predict.h"
#define state seed /* states.h has a type of that name */
#include "random_workload.h"
#undef state
#include <stdio.h>
#include <string.h>

enum { GRAPHS = 120, MOST = 9, TOLD = 257 };

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem p;
    fsim_spent spent;
    fsim_budget budget;
    fsim_frontier *f;
} list;

static void open_list(list *x, const char *text, const char *gpu, const fsim_derive *how)
{
    fsim_diag *d = fsim_diag_new(x->a);
    const fsim_hw *hw = fsim_hw_read(x->a, d, fsim_printf(x->a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", gpu));
    x->g = fsim_graph_parse(x->a, d, "list.yaml", text, strlen(text), &(fsim_bindings){.derive = how});
    assert_true(hw && x->g);
    x->p = fsim_problem_of(x->g, hw, &(fsim_options){.regime = FSIM_REGIME_STREAM, .search_steps = 60000000}, x->a);
    x->budget = fsim_budget_of(&x->p, &x->spent);
    int *node = fsim_new(x->a, int, x->g->nodes + 1);
    for (int n = 0; n < x->g->nodes; n++)
        node[n] = n;
    x->f = fsim_frontier_ready(&x->p, node, x->g->nodes, (fsim_scope){FSIM_BEST_ONLY, NULL}, &x->budget, x->a);
}

static fsim_sum least_of(const list *x)
{
    fsim_problem fresh = x->p;
    fsim_plan best;
    fsim_proof proof;
    fresh.store = fsim_store_new(x->a);
    fsim_optimal(&fresh, NULL, 0, x->a, &best, &proof);
    assert_true(proof.proven);
    return best.objective;
}

typedef struct {
    int graphs, priced, below; /* places with a price, and with one below nothing */
    double reached;
} tally;

static void check_prices(list *x, tally *sums)
{
    fsim_shadow y;
    fsim_sum all = 0;
    bool path;
    fsim_price_exclusive(x->f, &y);
    for (int i = 0; i < x->g->nodes; i++) {
        all += y.price[i];
        sums->priced += y.price[i] > 0;
        sums->below += y.price[i] < 0;
        for (int k = i + 1; k < x->g->nodes && y.price[i] > 0; k++)
            if (y.price[k] > 0)
                assert_true(fsim_never_together(&x->f->l, i, k) || fsim_separated(&x->f->l, i, k, &path));
    }
    assert_true(all == y.bound);
    for (int root = 0; root < x->g->nodes; root++) {
        const fsim_family *family = fsim_family_of(&x->f->l, root);
        for (int s = 0; s < family->sets; s++) {
            fsim_sum worth = 0;
            FSIM_EACH_BIT(i, family->set[s].own)
            worth += y.price[root - FSIM_BACK + i];
            const fsim_sum cost = fsim_least_of_set(x->f, root, family, &family->set[s], FSIM_BY_PRICE);
            assert_true(cost >= worth);
        }
    }
    const fsim_sum least = least_of(x);
    assert_true(y.bound <= least);
    sums->reached += (double)y.bound / (double)least;
    sums->graphs++;
}

static void no_set_costs_less(void **unused)
{
    (void)unused;
    static const char *const gpu[] = {"t4", "a100-sxm4-40gb", "h100-sxm5-80gb"};
    static const int sides[][2] = {{64, 64}, {1024, 1024}, {2048, 2048}, {3, 70000}};
    tally sums = {0};
    for (int turn = 1; turn <= GRAPHS; turn++) {
        list x = {.a = fsim_arena_new()};
        seed = (uint64_t)turn;
        open_list(&x, random_workload(x.a, 2 + (int)draw(7), sides[turn % 4][0], sides[turn % 4][1], 1), gpu[turn % 3],
                  NULL);
        if (x.g->nodes > 0 && x.g->nodes <= MOST)
            check_prices(&x, &sums);
        fsim_arena_free(x.a);
    }
    printf("%d graphs: %d prices, %d below nothing, %.5f of the least plan\n", sums.graphs, sums.priced, sums.below,
           sums.reached / sums.graphs);
    assert_true(sums.graphs == GRAPHS && sums.priced >= 161 && sums.reached >= 0.42545 * sums.graphs);
}

/* Products in a row, of which two may be one kernel; and with a softmax between them. */
static void products_in_chains(void **unused)
{
    (void)unused;
    static const char *const text[] = {
        "tensors: {x: {shape: [512, 64], dtype: f16}, u: {shape: [64, 64], dtype: f16}, w: {shape: [64, 64], dtype: "
        "f16}}\noperators:\n  - {op: matmul, in: [x, u], out: a}\n  - {op: relu, in: a, out: r}\n  - {op: matmul, in: "
        "[r, "
        "w], out: b}\n",
        "tensors: {q: {shape: [8, 512, 64], dtype: f16}, k: {shape: [8, 64, 512], dtype: f16}, v: {shape: [8, 512, "
        "64], "
        "dtype: f16}}\noperators:\n  - {op: matmul, in: [q, k], out: s}\n  - {op: softmax, in: s, out: p, dim: 2}\n  - "
        "{op: matmul, in: [p, v], out: o}\n",
        "tensors: {x: {shape: [256, 64], dtype: f16}, u: {shape: [64, 64], dtype: f16}, w: {shape: [64, 64], dtype: "
        "f16}, "
        "z: {shape: [64, 64], dtype: f16}}\noperators:\n  - {op: matmul, in: [x, u], out: a}\n  - {op: matmul, in: [a, "
        "w], "
        "out: b}\n  - {op: matmul, in: [b, z], out: c}\n"};
    tally sums = {0};
    for (size_t i = 0; i < 2 * sizeof text / sizeof *text; i++) {
        list x = {.a = fsim_arena_new()};
        open_list(&x, text[i / 2], i % 2 ? "h100-sxm5-80gb" : "t4", NULL);
        check_prices(&x, &sums);
        fsim_arena_free(x.a);
    }
    printf("%d chains: %d prices, %d below nothing, %.5f of the least plan\n", sums.graphs, sums.priced, sums.below,
           sums.reached / sums.graphs);
    assert_true(sums.priced >= 8 && sums.below >= 5 && sums.reached >= 0.73283 * sums.graphs);
}

/* Of places that are given, by chance: which may be in a kernel with one that is not? No less than some set has, and no
 * more than now. */
static void what_is_given_in_a_kernel_with_others(void **unused)
{
    (void)unused;
    int mixed = 0, told = 0, given = 0;
    for (int turn = 1; turn <= GRAPHS; turn++) {
        list x = {.a = fsim_arena_new()};
        seed = (uint64_t)turn;
        open_list(&x, random_workload(x.a, 3 + (int)draw(6), 64, turn % 2 ? 64 : 1000, 1), "t4", NULL);
        const int count = x.g->nodes;
        bool *out = fsim_new(x.a, bool, count + 1), *both = fsim_new(x.a, bool, count + 1);
        for (int i = 0; i < count; i++)
            out[i] = draw(2);
        for (int root = 0; root < count && count <= 10; root++) {
            const fsim_family *family = fsim_family_of(&x.f->l, root);
            for (int s = 0; s < family->sets; s++) {
                bool others = false;
                FSIM_EACH_BIT(i, family->set[s].own)
                others = others || !out[root - FSIM_BACK + i];
                FSIM_EACH_BIT(i, family->set[s].own)
                both[root - FSIM_BACK + i] = both[root - FSIM_BACK + i] || (others && out[root - FSIM_BACK + i]);
            }
        }
        const bool *said = fsim_find_mixed(&x.f->l, out);
        for (int i = 0; i < count && count <= 10; i++) {
            assert_true(said[i] >= both[i] && said[i] <= out[i]);
            mixed += both[i];
            told += said[i];
            given += out[i];
        }
        fsim_arena_free(x.a);
    }
    printf("%d of %d that are given are in sets with others, %d are said to be\n", mixed, given, told);
    assert_true(mixed < given && told <= TOLD);
}

/* Products of several shapes, reductions of their rows, of their columns and of all, and what is computed of these. */
static const char *products(fsim_arena *a, int n)
{
    static const char *const unary[] = {"exp", "relu", "tanh"};
    const char *text = "name: products\ntensors:\n  x0: {shape: [32, 64], dtype: f16}\n  x1: {shape: [32, 96], dtype: "
                       "f16}\n  w0_0: {shape: [64, 64], dtype: f16}\n  w0_1: {shape: [96, 64], dtype: f16}\n  w1_0: "
                       "{shape: [64, 96], dtype: f16}\n  w1_1: {shape: [96, 96], dtype: f16}\noperators:\n",
               *name[32] = {"x0", "x1"}, *kept = "";
    int kind[32] = {0, 1}, count = 2;
    for (int i = 0; i < n; i++) {
        const char *out = fsim_printf(a, "t%d", i);
        const int x = draw(2) ? count - 1 : (int)draw((uint32_t)count), to = (int)draw(2);
        const uint32_t what = draw(8);
        int made = kind[x];
        if (kind[x] < 2 && what < 3) {
            text = fsim_printf(a, "%s  - {op: linear, in: [%s, w%d_%d], out: %s}\n", text, name[x], kind[x], to, out);
            made = to;
        } else if (kind[x] < 2 && what == 3) {
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s, dims: [1], keepdim: true}\n", text,
                               draw(2) ? "sum" : "max", name[x], out);
            made = 2;
        } else if (kind[x] < 2 && what == 4) {
            text = fsim_printf(a, "%s  - {op: sum, in: %s, out: %s, dims: [0]}\n", text, name[x], out);
            made = 3;
        } else if (what == 5) {
            int y = count;
            while (--y > 0 && kind[y] != kind[x] && !(kind[x] < 2 && kind[y] == 2))
                ;
            text = fsim_printf(a, "%s  - {op: mul, in: [%s, %s], out: %s}\n", text, name[x],
                               kind[y] == kind[x] || (kind[x] < 2 && kind[y] == 2) ? name[y] : name[x], out);
        } else {
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[draw(3)], name[x], out);
        }
        kept = draw(5) ? kept : fsim_printf(a, "%s%s%s", kept, *kept ? ", " : "", out);
        name[count] = out;
        kind[count++] = made;
    }
    return *kept ? fsim_printf(a, "%smaterialize: [%s]\n", text, kept) : text;
}

/* Which places are in no kernel together: of those that no set has, as many are told as now, and none that some set
 * has. Prices hold for these graphs, too. */
static void products_that_are_apart(void **unused)
{
    (void)unused;
    static const char *const gpu[] = {"t4", "a100-sxm4-40gb", "h100-sxm5-80gb"};
    static const fsim_derive back = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL};
    int apart = 0, told = 0, lone = 0, aloof = 0, sited = 0, solo = 0;
    tally sums = {0};
    for (int turn = 1; turn <= 2 * GRAPHS; turn++) {
        list x = {.a = fsim_arena_new()};
        seed = (uint64_t)turn;
        const bool derived = turn % 6 == 0;
        const char *text = products(x.a, derived ? 2 : 3 + (int)draw(6));
        open_list(&x, text, gpu[turn % 3], derived && !strstr(text, "materialize") ? &back : NULL);
        const int count = x.g->nodes;
        unsigned together[32] = {0};
        if (count > 20) {
            fsim_arena_free(x.a);
            continue;
        }
        for (int root = 0; root < count; root++) {
            const fsim_family *family = fsim_family_of(&x.f->l, root);
            for (int s = 0; s < family->sets; s++) {
                unsigned set = 0;
                FSIM_EACH_BIT(i, family->set[s].own)
                set |= 1u << (root - FSIM_BACK + i);
                for (int i = 0; i < count; i++)
                    together[i] |= set >> i & 1 ? set : 0;
            }
        }
        for (int i = 0; i < count; i++) {
            for (int k = i + 1; k < count; k++) {
                const bool never = fsim_never_together(&x.f->l, i, k);
                assert_false(never && together[i] >> k & 1);
                apart += !(together[i] >> k & 1);
                told += never;
            }
            lone += x.f->l.lone[i];
            aloof += x.f->l.aloof[i];
            sited += x.f->l.sited[i];
            solo += x.f->l.solo[i];
        }
        if (turn % 4 == 0)
            check_prices(&x, &sums);
        fsim_arena_free(x.a);
    }
    printf("%d pairs are apart, %d told; %d lone, %d aloof, %d sited, %d solo; prices %.5f\n", apart, told, lone, aloof,
           sited, solo, sums.reached / sums.graphs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_set_costs_less), cmocka_unit_test(products_in_chains),
                                       cmocka_unit_test(what_is_given_in_a_kernel_with_others),
                                       cmocka_unit_test(products_that_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

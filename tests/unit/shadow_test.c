/* SPDX-License-Identifier: Apache-2.0 */
/* Shadow prices on graphs small enough to say what they are: bounds of kernels that are never too high. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/search/shadow.h"
#include "plan/search/states.h"
#include "predict.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 400 };

/* A graph on an A100, one with gradients on an H100, and its list before it is searched. */
typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem p;
    fsim_spent spent;
    fsim_budget budget;
    fsim_frontier *f;
} bench;

static void open_derived(bench *b, const char *text, fsim_derive_mode mode, fsim_scope scope)
{
    static const fsim_options how = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH, .search_steps = 10000000};
    *b = (bench){.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(b->a);
    const fsim_hw *hw = fsim_hw_read(b->a, d,
                                     mode == FSIM_NOT_DERIVED ? FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml"
                                                              : FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
    b->g = fsim_graph_parse(b->a, d, "test.yaml", text, strlen(text),
                            &(fsim_bindings){.derive = &(fsim_derive){.mode = mode}});
    if (!hw || !b->g)
        fsim_diag_print(d, stderr, false);
    assert_true(hw && b->g && b->g->nodes <= MOST);
    b->p = fsim_problem_of(b->g, hw, &how, b->a);
    b->budget = fsim_budget_of(&b->p, &b->spent);
    static int node[MOST];
    for (int n = 0; n < MOST; n++)
        node[n] = n;
    b->f = fsim_frontier_ready(&b->p, node, b->g->nodes, scope, &b->budget, b->a);
}

static void open_bench(bench *b, const char *text)
{
    open_derived(b, text, FSIM_NOT_DERIVED, (fsim_scope){FSIM_BEST_ONLY, NULL});
}

static bool take(void *to, const fsim_plan *plan)
{
    fsim_sum *least = to;
    *least = plan->objective < *least ? plan->objective : *least;
    return true;
}

static fsim_sum least_of_all(bench *b)
{
    fsim_sum least = FSIM_NEVER;
    bool truncated;
    fsim_problem fresh = b->p;
    fresh.store = fsim_store_new(b->a);
    assert_true(fsim_enumerate(&fresh, 0, take, &least, &truncated) > 0 && !truncated);
    return least;
}

/* Twelve products behind each other, each with a weight of 8 MiB beside the last result; the third and the sixth have
 * the same one. It comes from DRAM once, but which of both is the first no bound of one kernel knows: both are worth
 * less than those with a weight of their own, whose sets are the same otherwise. With these costs for all of them the
 * bound would be above the best plan. */
static void sets_alike_that_read_otherwise_have_costs_of_their_own(void **unused)
{
    enum { PRODUCTS = 12, ONE = 2, OTHER = 5, ALONE = 7, APART = 2 /* places between two that are alike */ };
    (void)unused;
    bench b;
    char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    fputs("name: chain\ntensors:\n  t0: {shape: [16, 2048], dtype: f16}\n", out);
    for (int i = 0; i < PRODUCTS; i++)
        if (i != OTHER)
            fprintf(out, "  w%d: {shape: [2048, 2048], dtype: f16}\n", i);
    fputs("operators:\n", out);
    for (int i = 0; i < PRODUCTS; i++)
        fprintf(out, "  - {op: matmul, in: [t%d, w%d], out: t%d}\n", i, i == OTHER ? ONE : i, i + 1);
    fclose(out);
    open_bench(&b, text);
    fsim_shadow y;
    assert_true(fsim_find_shadow(b.f, &y));
    const int root = b.f->l.family[ALONE]->root;
    assert_true(b.f->l.family[ONE]->root == root && b.f->l.family[OTHER]->root == root);
    assert_true(y.bound <= least_of_all(&b));
    assert_true(y.price[ONE] < y.price[ONE + APART] && y.price[OTHER] < y.price[OTHER + APART]);
    fsim_arena_free(b.a);
}

/* A gated MLP: both first products as one kernel, or either of them chained with the last one. Half of each of the
 * three kernels would cost less than any plan; but of these three products a plan has one kernel with two at most,
 * which the prices know. */
static void half_kernels_are_none(void **unused)
{
    (void)unused;
    bench b;
    open_bench(
        &b,
        "name: gated\ntensors:\n  x: {shape: [16, 256], dtype: bf16}\n"
        "  g: {shape: [1024, 256], dtype: bf16, role: weight}\n  u: {shape: [1024, 256], dtype: bf16, role: weight}\n"
        "  d: {shape: [256, 1024], dtype: bf16, role: weight}\noperators:\n"
        "  - {op: linear, in: [x, g], out: a}\n  - {op: silu, in: a, out: s}\n"
        "  - {op: linear, in: [x, u], out: c}\n  - {op: mul, in: [s, c], out: m}\n"
        "  - {op: linear, in: [m, d], out: y}\n");
    fsim_shadow y;
    assert_true(fsim_find_shadow(b.f, &y));
    const fsim_sum least = least_of_all(&b);
    printf("bound %.3f us, best plan %.3f us\n", (double)y.bound * FSIM_TICK_S * 1e6,
           (double)least * FSIM_TICK_S * 1e6);
    assert_true(y.bound <= least && (double)y.bound > 0.99 * (double)least);
    fsim_arena_free(b.a);
}

/* Bounds that were once above the best plan. */
static void prices_are_no_more_than_the_best_plan(void **unused)
{
    static const char *const text[] = {
        /* One row of r is summed up in a kernel that computes this row alone; the kernel of y computes r again. */
        "name: row\ntensors:\n  x: {shape: [4096, 4096], dtype: f32}\noperators:\n"
        "  - {op: exp, in: x, out: e}\n  - {op: relu, in: e, out: r}\n"
        "  - {op: slice, in: r, out: row, dim: 0, start: 0, size: 1}\n"
        "  - {op: sum, in: row, out: s, dims: [1], keepdim: true}\n  - {op: add, in: [r, s], out: y}\noutputs: [y]\n",
        /* The transposed result is faster made together with the other one, which needs narrower accesses and so more
         * blocks, than alone. */
        "name: turned\ntensors:\n  x: {shape: [64, 64], dtype: f32}\n  z: {shape: [64, 64], dtype: f32}\n"
        "  w: {shape: [64, 1], dtype: f32}\noperators:\n  - {op: sqrt, in: x, out: r}\n"
        "  - {op: transpose, in: r, out: t, dims: [0, 1]}\n  - {op: mul, in: [z, w], out: m}\n"
        "  - {op: slice, in: r, out: one, dim: 0, start: 0, size: 1}\n  - {op: exp, in: one, out: e}\n"
        "  - {op: slice, in: r, out: other, dim: 0, start: 1, size: 1}\n",
        /* A cache of 128 MiB, in which one row is written: the product reads it once, and not twice. */
        "name: cache\ntensors:\n  k: {shape: [16384, 4096], dtype: f16}\n  at: {shape: [1], dtype: i64}\n"
        "  n: {shape: [1, 4096], dtype: f16}\n  q: {shape: [16, 4096], dtype: f16}\noperators:\n"
        "  - {op: index_copy, in: [k, at, n], out: all, dim: 0}\n  - {op: linear, in: [q, all], out: y}\n"
        "outputs: [y]\n"};
    (void)unused;
    for (int i = 0; i < (int)(sizeof text / sizeof *text); i++) {
        bench b;
        fsim_shadow y;
        open_bench(&b, text[i]);
        assert_true(fsim_find_shadow(b.f, &y));
        const fsim_sum least = least_of_all(&b);
        printf("%s: bound %.4f us, best plan %.4f us\n", b.g->name, (double)y.bound * FSIM_TICK_S * 1e6,
               (double)least * FSIM_TICK_S * 1e6);
        assert_true(y.bound <= least && (double)y.bound > 0.99 * (double)least);
        fsim_arena_free(b.a);
    }
}

/* A step of training, with calls of the library that take the slope of a GELU in and store the sums of columns beside
 * it: such a kernel has copies of what makes the slope and one result more than it must, and is faster than any of
 * ours. Whatever choices of clones are tried, a set whose kernel a plan has is no more than that. */
static void sets_are_no_more_than_the_kernels_of_a_plan(void **unused)
{
    static const char text[] = "name: mlp\ntensors:\n  x: {shape: [4096, 1024], dtype: f16}\n"
                               "  w: {shape: [4096, 1024], dtype: f16, role: weight}\n"
                               "  b: {shape: [4096], dtype: f16, role: weight}\n"
                               "  v: {shape: [1024, 4096], dtype: f16, role: weight}\noperators:\n"
                               "  - {op: linear, in: [x, w, b], out: h}\n"
                               "  - {op: gelu, in: h, out: g, approximate: tanh}\n"
                               "  - {op: linear, in: [g, v], out: y}\noutputs: [y]\n";
    static const fsim_one_side few = {.clone_sets = FSIM_FEW_CLONE_SETS};
    static const fsim_scope scope[] = {{FSIM_BEST_ONLY, NULL}, {FSIM_BEST_ONLY, &few}, {FSIM_PARTED, &few}};
    (void)unused;
    for (int k = 0; k < (int)(sizeof scope / sizeof *scope); k++) {
        bench b;
        open_derived(&b, text, FSIM_REVERSE, scope[k]);
        fsim_plan plan;
        fsim_proof proof;
        fsim_problem fast = b.p;
        fast.search_steps = 100000;
        fast.store = fsim_store_new(b.a);
        fsim_optimal(&fast, NULL, 0, b.a, &plan, &proof);
        int sums = 0;
        for (int i = 0; i < plan.kernels; i++) {
            const fsim_part *part = &plan.partition.part[i];
            fsim_bits own = {{0}};
            int root = -1;
            for (int n = 0; n < part->count; n++) {
                root = root < 0 && !part->clone[n] ? part->node[n] : root;
                if (!part->clone[n])
                    fsim_bit_set(&own, part->node[n] - root + FSIM_BACK);
                sums += part->clone[0] && b.g->node[part->node[n]].op == FSIM_OP_SUM;
            }
            const fsim_family *family = fsim_family_of(&b.f->l, root);
            for (int s = 0; s < family->sets; s++)
                for (int how = FSIM_BY_UNITS; how <= FSIM_BY_PRICE && fsim_bits_equal(&family->set[s].own, &own); how++)
                    assert_true(fsim_least_of_set(b.f, root, family, &family->set[s], (fsim_closeness)how) <=
                                fsim_objective_of(&b.p, &plan.kernel[i]));
        }
        fsim_shadow y;
        assert_true(sums > 0);
        if (scope[k].side && fsim_find_shadow(b.f, &y)) {
            assert_true(y.bound <= plan.objective);
            printf("bound %.3f us, plan %.3f us\n", (double)y.bound * FSIM_TICK_S * 1e6,
                   (double)plan.objective * FSIM_TICK_S * 1e6);
        }
        fsim_arena_free(b.a);
    }
}

/* Members that only copies hang together: of a set's choices of these the first two may be none of a kernel, and
 * another one is. Where few choices are tried, the set is a kernel all the same. */
static void few_choices_tell_nothing_of_the_others(void **unused)
{
    static const char text[] = "name: gelu\ntensors:\n  h: {shape: [4096, 4096], dtype: f16}\noperators:\n"
                               "  - {op: gelu, in: h, out: g, approximate: tanh}\noutputs: [g]\n";
    static const fsim_one_side side = {.clone_sets = FSIM_FEW_CLONE_SETS};
    (void)unused;
    bench few, all;
    int kernels = 0;
    open_derived(&few, text, FSIM_REVERSE, (fsim_scope){FSIM_BEST_ONLY, &side});
    open_derived(&all, text, FSIM_REVERSE, (fsim_scope){FSIM_BEST_ONLY, NULL});
    for (int root = 0; root < few.f->l.count; root++) {
        const fsim_family *x = fsim_family_of(&few.f->l, root), *y = fsim_family_of(&all.f->l, root);
        assert_int_equal(x->sets, y->sets);
        for (int s = 0; s < x->sets; s += 3) {
            if (x->set[s].connected)
                continue;
            const fsim_sum least = fsim_least_of_set(all.f, root, y, &y->set[s], FSIM_BY_PRICE);
            assert_true(fsim_least_of_set(few.f, root, x, &x->set[s], FSIM_BY_PRICE) <= least);
            kernels += least != FSIM_NEVER;
        }
    }
    printf("%d sets that copies hang together\n", kernels);
    assert_true(kernels > 5);
    fsim_arena_free(few.a);
    fsim_arena_free(all.a);
}

/* Where the budget has ended, a set whose kernel stores what it must has its cost all the same. Of one that may also
 * leave a result to be computed again only one choice is looked at: nothing is known of the others, so nothing is
 * claimed. */
static void a_bound_that_is_cut_short_claims_nothing(void **unused)
{
    (void)unused;
    bench b;
    open_bench(&b, "name: fork\ntensors:\n"
                   "  x: {shape: [1024, 1024], dtype: f32}\n  w: {shape: [1024, 1024], dtype: f32}\n"
                   "operators:\n"
                   "  - {op: relu, in: x, out: r}\n  - {op: exp, in: r, out: e}\n  - {op: neg, in: r, out: n}\n"
                   "  - {op: mul, in: [e, w], out: m}\n  - {op: sum, in: m, out: s, dims: [1], keepdim: true}\n"
                   "  - {op: sub, in: [m, s], out: y}\n  - {op: add, in: [y, n], out: z}\n");
    fsim_spent gone = {.end = FSIM_SEARCH_STOPPED_BY_STEPS, .over = true};
    int one = 0, several = 0;
    for (int root = 0; root < b.f->l.count; root++) {
        const fsim_family *family = fsim_family_of(&b.f->l, root);
        for (int i = 0; i < family->sets; i++) {
            const fsim_sum whole = fsim_least_of_set(b.f, root, family, &family->set[i], FSIM_BY_PRICE);
            b.f->budget.spent = &gone;
            const fsim_sum early = fsim_least_of_set(b.f, root, family, &family->set[i], FSIM_BY_PRICE);
            b.f->budget.spent = &b.spent;
            const bool choice = !fsim_bits_empty(&family->set[i].may);
            assert_true(whole > 0 && whole != FSIM_NEVER);
            assert_true(early == (choice ? 0 : whole));
            *(choice ? &several : &one) += 1;
        }
    }
    assert_true(one > 8 && several > 8);
    fsim_arena_free(b.a);
}

/* A recurrence of 24 steps, of 14 primitives each: a step reads its slice of one tensor, and all have two weights. What
 * a set of one step may have is in the next two. So the sets of a step are those of any other, but for the first ones,
 * around which the bits see where the slices come from, and the last ones. */
static void steps_of_a_recurrence_have_the_same_sets(void **unused)
{
    enum { STEPS = 24, OF_A_STEP = 14, TRIED = 12098, FEWER = 14500 };
    (void)unused;
    bench b;
    char text[16384];
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    fprintf(out,
            "name: recurrence\ntensors:\n  x: {shape: [%d, 256], dtype: f32}\n  h0: {shape: [4, 256], dtype: f32}\n",
            4 * STEPS);
    fputs("  v: {shape: [512, 256], dtype: f32, role: weight}\n  v_b: {shape: [512], dtype: f32, role: weight}\n", out);
    for (const char *w = "wu"; *w; w++)
        fprintf(
            out,
            "  %c: {shape: [256, 256], dtype: f32, role: weight}\n  %c_b: {shape: [256], dtype: f32, role: weight}\n",
            *w, *w);
    fputs("operators:\n  - {op: linear, in: [x, v, v_b], out: p}\n", out);
    for (int t = 0; t < STEPS; t++) {
        fprintf(out, "  - {op: linear, in: [h%d, w, w_b], out: l%d}\n", t, t);
        for (int half = 0; half < 2; half++)
            fprintf(out, "  - {op: slice, in: p, out: %c%d, dim: [0, 1], start: [%d, %d], size: [4, 256]}\n",
                    half ? 'z' : 'x', t, 4 * t, 256 * half);
        fprintf(out, "  - {op: add, in: [l%d, x%d], out: s%d}\n  - {op: sigmoid, in: s%d, out: r%d}\n", t, t, t, t, t);
        fprintf(out, "  - {op: linear, in: [h%d, u, u_b], out: n%d}\n  - {op: mul, in: [r%d, n%d], out: m%d}\n", t, t,
                t, t, t);
        fprintf(out, "  - {op: add, in: [m%d, z%d], out: q%d}\n  - {op: tanh, in: q%d, out: c%d}\n", t, t, t, t, t);
        fprintf(out, "  - {op: sub, in: [h%d, c%d], out: g%d}\n  - {op: mul, in: [r%d, g%d], out: k%d}\n", t, t, t, t,
                t, t);
        fprintf(out, "  - {op: add, in: [k%d, c%d], out: h%d}\n", t, t, t + 1);
    }
    fputs("  - {op: concat, dim: 0, out: y, in: [h1", out);
    for (int t = 2; t <= STEPS; t++)
        fprintf(out, ", h%d", t);
    fputs("]}\n", out);
    fclose(out);
    const fsim_scope scope = {FSIM_LINKED, &(const fsim_one_side){.most = 100}};
    open_derived(&b, text, FSIM_NOT_DERIVED, scope);
    fsim_shadow y;
    assert_int_equal(b.g->nodes, 3 + STEPS * OF_A_STEP);
    assert_true(fsim_find_shadow(b.f, &y));
    printf("%lld sets tried of %d roots\n", (long long)b.f->l.looked_at, b.f->l.count);
    assert_true(b.f->l.looked_at <= TRIED);
    /* where the steps end after all sets are listed, before all are priced, what is known of costs till then is a bound
     * all the same */
    bench early;
    fsim_shadow less;
    open_derived(&early, text, FSIM_NOT_DERIVED, scope);
    early.f->budget.steps = fsim_work(&b.p) - FEWER;
    assert_true(fsim_find_shadow(early.f, &less) && early.spent.end == FSIM_SEARCH_STOPPED_BY_STEPS);
    assert_true(less.bound > 0 && less.bound <= y.bound);
    fsim_arena_free(early.a);
    fsim_arena_free(b.a);
}

/* A pool's kernel has no other pool, and no product: whatever a plan has beside, each of the three pools here pays
 * for a launch, and the product for one. */
static void pools_pay_for_launches(void **unused)
{
    (void)unused;
    bench b;
    open_derived(&b,
                 "name: pools\ntensors:\n  x: {shape: [1, 4, 16, 16], dtype: f32}\n"
                 "  y: {shape: [16, 16], dtype: f32}\n  w: {shape: [16, 16], dtype: f32, role: weight}\noperators:\n"
                 "  - {op: linear, in: [y, w], out: z}\n  - {op: relu, in: x, out: r}\n"
                 "  - {op: max_pool2d, in: r, out: a, kernel: 2}\n  - {op: avg_pool2d, in: r, out: c, kernel: 2}\n"
                 "  - {op: max_pool2d, in: r, out: d, kernel: 4}\n",
                 FSIM_NOT_DERIVED, (fsim_scope){FSIM_LINKED, &(const fsim_one_side){.most = 1}});
    fsim_shadow y;
    assert_true(fsim_find_shadow(b.f, &y));
    const fsim_sum least = least_of_all(&b);
    printf("bound %.3f launches, best plan %.3f\n", (double)y.bound / b.f->floor_launch,
           (double)least / b.f->floor_launch);
    assert_true(y.bound <= least && (double)y.bound >= 4 * (1 - 1e-6) * b.f->floor_launch);
    fsim_arena_free(b.a);
}

/* A lower bound of the kernels that own places [first, last], from their members' units alone, which is no more than
 * from prices; in microseconds. */
static double units_of(bench *b, int first, int last)
{
    fsim_bits own = {{0}};
    double us = -1;
    for (int i = first; i <= last; i++)
        fsim_bit_set(&own, i - first + FSIM_BACK);
    const fsim_family *family = fsim_family_of(&b->f->l, first);
    for (int s = 0; s < family->sets; s++) {
        if (!fsim_bits_equal(&family->set[s].own, &own))
            continue;
        const fsim_sum least = fsim_least_of_set(b->f, first, family, &family->set[s], FSIM_BY_UNITS);
        assert_true(least > 0 && least <= fsim_least_of_set(b->f, first, family, &family->set[s], FSIM_BY_PRICE));
        us = (double)least * FSIM_TICK_S * 1e6;
    }
    return us;
}

/* With what makes its operand a product is no call of the library, whose kernel is faster than ours; nor is a chain
 * with something behind it an attention. Their members say so, whatever else is computed again. */
static void members_tell_what_a_product_is_with(void **unused)
{
    (void)unused;
    bench b;
    open_bench(&b, "name: mlp\ntensors:\n  x: {shape: [4096, 1024], dtype: f16}\n"
                   "  r: {shape: [4096, 1024], dtype: f16}\n  w: {shape: [4096, 1024], dtype: f16, role: weight}\n"
                   "  v: {shape: [1024, 4096], dtype: f16, role: weight}\noperators:\n  - {op: relu, in: x, out: a}\n"
                   "  - {op: linear, in: [a, w], out: h}\n  - {op: relu, in: h, out: g}\n"
                   "  - {op: linear, in: [g, v], out: y}\n  - {op: mul, in: [y, r], out: z}\noutputs: [z]\n");
    const double call = units_of(&b, 1, 1), ours = units_of(&b, 0, 1), chain = units_of(&b, 1, 3),
                 more = units_of(&b, 1, 4);
    printf("product %.1f us, with what makes its operand %.1f; chain %.1f, with a factor behind it %.1f\n", call, ours,
           chain, more);
    assert_true(call > 0 && ours > 1.1 * call && chain > 0 && more > 1.1 * chain);
    fsim_arena_free(b.a);
}

/* Sums of rows and of columns are one kernel of two launches. */
static void sums_over_all_rows_take_a_launch_more(void **unused)
{
    (void)unused;
    bench b;
    open_bench(&b, "name: sums\ntensors:\n  x: {shape: [256, 512], dtype: f32}\noperators:\n"
                   "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: sum, in: x, out: c, dims: [0]}\n"
                   "  - {op: max, in: x, out: m, dims: [1]}\n");
    const double launch = b.f->floor_launch * FSIM_TICK_S * 1e6, both = units_of(&b, 0, 1), rows = units_of(&b, 2, 2);
    printf("rows %.2f launches, with columns %.2f\n", rows / launch, both / launch);
    assert_true(rows >= launch && rows < 2 * launch && both >= 2 * launch);
    fsim_arena_free(b.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_tell_what_a_product_is_with),
        cmocka_unit_test(sums_over_all_rows_take_a_launch_more),
        cmocka_unit_test(steps_of_a_recurrence_have_the_same_sets),
        cmocka_unit_test(pools_pay_for_launches),
        cmocka_unit_test(sets_alike_that_read_otherwise_have_costs_of_their_own),
        cmocka_unit_test(half_kernels_are_none),
        cmocka_unit_test(prices_are_no_more_than_the_best_plan),
        cmocka_unit_test(sets_are_no_more_than_the_kernels_of_a_plan),
        cmocka_unit_test(few_choices_tell_nothing_of_the_others),
        cmocka_unit_test(a_bound_that_is_cut_short_claims_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

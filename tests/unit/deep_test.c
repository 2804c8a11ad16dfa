/* SPDX-License-Identifier: Apache-2.0 */
/* depends: compiler memory cost: 5 */
/* Stacks of products, so deep that most of their layers are left out of the search (plan/search/layers.c), against the
 * search of the whole stack. As a program: `deep_test COUNT [SEED [STEPS]]` tries so many more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/load.h"
#include "plan/rivals/rivals.h"
#include "plan/search/shorten.h"
#include "predict.h"
#include "priced_check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { USUAL = false, STACKS = 2, FIRST_SEED = 8 };
#else
enum { USUAL = true, STACKS = 24, FIRST_SEED = 1 };
#endif
enum { STEPS = 200000, MOST_PARTS = 3 };

static uint64_t state;

/* Below n; splitmix64 (Steele, Lea and Flood, 2014). */
static int draw(int n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

/* A stack, as a workload: each layer has up to three products, each followed by any of an activation, a factor, a
 * residual and a norm. */
typedef struct {
    const char *text, *gpu, *l2;
    int layers;
    bool warm, recompute, bytes;
} stack;

/* One part of a layer, which turns `from` into the name that it returns. */
static const char *add_part(fsim_arena *a, const char **ops, const char **tensors, const char *from, int part)
{
    static const char *const acts[] = {"gelu", "relu", "silu", "tanh"};
    const char *at = fsim_printf(a, "p%d", part);
    *tensors = fsim_printf(a, "%s      w%d: {shape: [C, C], dtype: f16, role: weight}\n", *tensors, part);
    *ops = fsim_printf(a, "%s      - {op: linear, in: [%s, w%d], out: %s}\n", *ops, from, part, at);
    if (draw(2)) {
        *ops = fsim_printf(a, "%s      - {op: %s, in: %s, out: %sa}\n", *ops, acts[draw(4)], at, at);
        at = fsim_printf(a, "%sa", at);
    }
    if (draw(4) == 0) {
        *ops = fsim_printf(a, "%s      - {op: mul, in: [%s, mask], out: %sm}\n", *ops, at, at);
        at = fsim_printf(a, "%sm", at);
    }
    if (draw(3)) {
        *ops = fsim_printf(a, "%s      - {op: add, in: [%s, %s], out: %sr}\n", *ops, at, draw(2) ? from : "x", at);
        at = fsim_printf(a, "%sr", at);
    }
    if (draw(2)) {
        *tensors = fsim_printf(a, "%s      g%d: {shape: [C], dtype: f16, role: weight}\n", *tensors, part);
        *ops = fsim_printf(a, "%s      - {op: %s, in: [%s, g%d], out: %sn}\n", *ops,
                           draw(2) ? "layer_norm" : "rms_norm", at, part, at);
        at = fsim_printf(a, "%sn", at);
    }
    return at;
}

static stack stack_of(uint64_t seed, fsim_arena *a)
{
    static const char *const gpus[] = {"t4", "h100-sxm5-80gb", "a100-sxm4-40gb", "mi300x", "l4"};
    static const int sizes[] = {256, 512, 1024}, tensors_in_l2[] = {0, 0, 2, 3, 5, 8};
    state = seed;
    const char *ops = "", *tensors = "", *at = "x";
    const int parts = 1 + draw(MOST_PARTS), rows = sizes[draw(3)], columns = sizes[draw(3)];
    for (int i = 0; i < parts; i++)
        at = add_part(a, &ops, &tensors, at, i);
    stack s = {.gpu = gpus[draw(5)], .layers = 10 + 30 / parts + draw(12)};
    const int l2 = tensors_in_l2[draw(6)];
    s.l2 = l2 ? fsim_printf(a, "l2_capacity=%d B", 2 * l2 * rows * columns) : NULL;
    s.warm = draw(5) == 0;
    s.recompute = draw(5) != 0;
    s.bytes = draw(5) == 0;
    s.text = fsim_printf(a,
                         "symbols: {C: %d}\ntensors:\n  in: {shape: [%d, C], dtype: f16}\n"
                         "  mask: {shape: [%d, C], dtype: f16}\noperators:\n  - {op: relu, in: in, out: x}\n"
                         "  - repeat: %d\n    carry: {x: %s}\n    tensors:\n%s    operators:\n%s"
                         "outputs: [%s]\n",
                         columns, rows, rows, s.layers, at, tensors, ops, at);
    return s;
}

static bool problem_of(const stack *s, int64_t steps, fsim_arena *a, fsim_problem *out)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw_wanted how = {.change = &s->l2, .changes = s->l2 ? 1 : 0};
    const fsim_hw *hw = fsim_hw_load(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, s->gpu), &how);
    const fsim_graph *g = fsim_graph_parse(a, d, "stack.yaml", s->text, strlen(s->text), NULL);
    const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                            .objective = s->bytes ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME,
                            .warm = s->warm,
                            .no_recompute = !s->recompute,
                            .search_steps = steps};
    if (!hw || !g) {
        fsim_diag_print(d, stderr, false);
        return false;
    }
    *out = fsim_problem_of(g, hw, &o, a);
    return true;
}

static fsim_sum searched(fsim_problem p, bool each_layer, fsim_proof *proof, fsim_arena *a)
{
    fsim_plan best;
    p.store = fsim_store_new(a);
    p.each_layer = each_layer;
    fsim_optimal(&p, NULL, 0, a, &best, proof);
    return best.objective;
}

typedef struct {
    int stacks, proven, left_out, wrong;
    share_tally layered, whole;
    int64_t steps;
} tally;

/* Is the bound above the cost of a plan? */
static bool exceeds(const fsim_problem *p, const fsim_proof *proof, fsim_sum cost)
{
    const double unit = p->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    return proof->lower_bound / unit > (double)cost * (1 + 1e-12);
}

static void try_stack(uint64_t seed, int64_t steps, tally *t)
{
    fsim_arena *a = fsim_arena_new();
    const stack s = stack_of(seed, a);
    fsim_problem p;
    fsim_proof layered, whole;
    assert_true(problem_of(&s, steps, a, &p));
    const fsim_sum cost = searched(p, false, &layered, a), other = searched(p, true, &whole, a),
                   least = cost < other ? cost : other;
    const bool wrong = exceeds(&p, &layered, least) || exceeds(&p, &whole, least) || (layered.proven && cost > least) ||
                       (whole.proven && other > least);
    const double unit = p.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    add_share(&t->layered, layered.lower_bound, (double)least * unit);
    add_share(&t->whole, whole.lower_bound, (double)least * unit);
    t->steps += layered.steps;
    t->stacks++;
    t->proven += layered.proven;
    t->left_out += layered.proven && layered.steps * 10 < whole.steps * 9;
    t->wrong += wrong;
    if (getenv("DEEP_TEST_VERBOSE"))
        fprintf(stderr, "seed %llu %s: %d layers, %d primitives: proven %d %d, states %lld %lld, steps %lld %lld\n",
                (unsigned long long)seed, s.gpu, s.layers, p.graph->nodes, layered.proven, whole.proven,
                (long long)layered.states, (long long)whole.states, (long long)layered.steps, (long long)whole.steps);
    if (wrong)
        fprintf(stderr, "# seed %llu: %lld layered%s, %lld whole%s, on %s %s%s%s%s\n%s", (unsigned long long)seed,
                (long long)cost, layered.proven ? " (proven)" : "", (long long)other, whole.proven ? " (proven)" : "",
                s.gpu, s.l2 ? s.l2 : "", s.warm ? " warm" : "", s.recompute ? "" : " no recomputation",
                s.bytes ? " bytes" : "", s.text);
    fsim_arena_free(a);
}

static void try_many(uint64_t seed, int count, int64_t steps, tally *t)
{
    for (int i = 0; i < count; i++)
        try_stack(seed + (uint64_t)i, steps, t);
    printf("%d deep stacks: %d proven, %d of them without most of their layers; %d wrong\n", t->stacks, t->proven,
           t->left_out, t->wrong);
}

static void layers_left_out_change_nothing(void **unused)
{
    (void)unused;
    tally t = {0};
    try_many(FIRST_SEED, STACKS, STEPS, &t);
    assert_int_equal(t.wrong, 0);
    assert_true(t.left_out * 3 >= t.stacks);
    check_share("bounds by layers", t.layered, 0.89062, USUAL);
    check_share("layer by layer", t.whole, 0.91319, USUAL);
    printf("%lld steps\n", (long long)t.steps);
    assert_true(!USUAL || (t.steps <= 4993916 && t.proven >= 18 && t.left_out >= 9));
}

/* Each operator of a graph without some of its layers has just the primitives that are left of it, so that what a
 * library fuses is found behind the cut, too; an operator through which the cut goes is whole again. */
static void operators_keep_their_primitives(void **unused)
{
    (void)unused;
    static const char *const text =
        "tensors: {x: {shape: [1024, 256], dtype: f16}, w: {shape: [256, 256], dtype: f16}}\n"
        "operators:\n  - {op: relu, in: x, out: h}\n  - repeat: 12\n    carry: {h: h_next}\n    operators:\n"
        "      - {op: linear, in: [h, w], out: l}\n      - {op: gelu, in: l, out: h_next}\n"
        "  - {op: layer_norm, in: h, out: y, normalized_shape: [256]}\n";
    enum { LAYERS = 12, GONE = 5 };
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
    const fsim_graph *g = fsim_graph_parse(a, d, "stack.yaml", text, strlen(text), NULL);
    assert_true(hw && g);
    fsim_problem p = fsim_problem_of(g, hw, &(fsim_options){.regime = FSIM_REGIME_STREAM}, a);
    fsim_places l;
    fsim_run run;
    int *node = fsim_new(a, int, g->nodes);
    for (int n = 0; n < g->nodes; n++)
        node[n] = n;
    fsim_places_of(&p, node, g->nodes, (fsim_set_limits){.most = 1}, a, &l);
    assert_true(fsim_find_run(&l, a, &run));
    for (int by = 0; by < run.period; by++) { /* the cut goes through each place of a layer */
        const fsim_run moved = {run.first + by, run.end - run.period + by, run.period, run.lead, run.orbit, run.layer};
        const fsim_graph *out = fsim_shortened(&l, &moved, GONE, a);
        assert_non_null(out);
        int count = 0, gelus = 0;
        for (int s = 0; s < out->sources; s++) {
            const fsim_source *x = &out->source[s];
            for (int n = x->first; n < x->first + x->nodes; n++)
                assert_int_equal(out->node[n].source, s);
            count += x->nodes;
            gelus += x->op == FSIM_OP_GELU && x->nodes > 0;
            assert_true(x->nodes == 0 || x->nodes == g->source[s].nodes);
        }
        assert_int_equal(count, out->nodes);
        assert_int_equal(gelus, LAYERS - GONE);
    }
    fsim_arena_free(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_left_out_change_nothing),
                                       cmocka_unit_test(operators_keep_their_primitives)};
    tally t = {0};
    if (argc < 2)
        return cmocka_run_group_tests(tests, NULL, NULL);
    try_many(argc > 2 ? strtoull(argv[2], NULL, 10) : 1, atoi(argv[1]), argc > 3 ? atoll(argv[3]) : STEPS, &t);
    return t.wrong > 0;
}

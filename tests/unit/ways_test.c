/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 3 */
/* Ways of saving: bytes of the golden cases of seed rows 36 and 37 to the byte; every form of every derivative gives
 * the same gradients in the double reference; what strict numerics allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/hw.h"
#include "plan/search/again.h"
#include "plan/search/checkpoints.h"
#include "plan/search/search.h"
#include "predict.h"
#include "validate/reference/reference.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
enum { GRAPHS = 120 };
#else
enum { GRAPHS = 1500 };
#endif
#define T (16384LL * 16384 * 4)

static const char log_chain[] = "tensors:\n"
                                "  x1: {shape: [16384, 16384], dtype: f32}\n"
                                "  x2: {shape: [16384, 16384], dtype: f32}\n"
                                "  x3: {shape: [16384, 16384], dtype: f32}\n"
                                "operators:\n"
                                "  - {op: add, in: [x1, x2], out: s}\n"
                                "  - {op: add, in: [s, x3], out: b}\n"
                                "  - {op: log, in: b, out: y}\n"
                                "outputs: [y]\n";
static const char bias_relu[] = "tensors:\n"
                                "  x: {shape: [16384, 16384], dtype: f32}\n"
                                "  bias: {shape: [16384], dtype: f32, role: weight}\n"
                                "operators:\n"
                                "  - {op: add, in: [x, bias], out: a}\n"
                                "  - {op: relu, in: a, out: y}\n"
                                "outputs: [y]\n";

static fsim_graph *derived(fsim_arena *a, const char *text, fsim_derive derive)
{
    derive.mode = FSIM_REVERSE;
    fsim_diag *d = fsim_diag_new(a);
    fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){.derive = &derive});
    if (!g)
        fsim_diag_print(d, stderr, true);
    assert_non_null(g);
    return g;
}

static const fsim_hw *a100(fsim_arena *a)
{
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    assert_non_null(hw);
    return hw;
}

static fsim_prediction predicted(fsim_arena *a, const fsim_graph *g, bool strict)
{
    const fsim_options how = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .strict = strict, .search_steps = 1000000};
    return fsim_predict(g, a100(a), &how, a);
}

static int64_t bytes_of(const fsim_plan *p) { return (int64_t)(p->dram_read_bytes + p->dram_write_bytes); }

/* b, from which y is computed: derived from y, else kept, else computed again from x1, x2 and x3. */
static void lists_the_ways(const fsim_prediction *p, fsim_arena *a)
{
    fsim_saved_value *value;
    const double now_s = p->plan[FSIM_STRATEGY_OPTIMAL].time_s;
    assert_int_equal(fsim_saved_with_ways(p, a, &value), 2);
    assert_string_equal(p->graph->tensor[value[0].now.tensor].name, "y");
    assert_int_equal(value[0].now.way, FSIM_KEEP);
    assert_int_equal(value[0].now.bytes, 0);
    const fsim_saved_value *b = &value[1];
    assert_string_equal(p->graph->tensor[b->now.tensor].name, "b");
    assert_int_equal(b->now.way, FSIM_FROM_RESULT);
    assert_int_equal(b->now.bytes, 0);
    assert_int_equal(b->others, 2);
    assert_int_equal(b->other[0].way, FSIM_KEEP);
    assert_int_equal(b->other[0].bytes, T);
    assert_int_equal(b->other[1].way, FSIM_RECOMPUTE);
    assert_int_equal(b->other[1].bytes, 0);
    assert_true(fabs(b->other[0].time_s / now_s - 8 / 7.) < 0.01);
    assert_true(fabs(b->other[1].time_s / now_s - 9 / 7.) < 0.01);
    assert_int_equal(b->other[0].peak_memory_bytes - b->other[1].peak_memory_bytes, T);
}

/* Row 36: 1 / b is exp(-y); strict numerics do not derive it from the rounded y. */
static void derives_from_the_result(void **unused)
{
    static const char *const x1[] = {"x1"};
    static const signed char from_result[] = {1};
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = derived(a, log_chain, (fsim_derive){.want = FSIM_WANT_NAMED, .name = x1, .names = 1});
    const fsim_prediction fast = predicted(a, g, false), strict = predicted(a, g, true);
    (void)unused;
    assert_int_equal(g->choices, 1);
    assert_int_equal(bytes_of(&fast.plan[FSIM_STRATEGY_OPTIMAL]), 7 * T);
    assert_int_equal(fast.plan[FSIM_STRATEGY_OPTIMAL].saved_bytes, 0); /* y is there as an output */
    assert_int_equal(bytes_of(&strict.plan[FSIM_STRATEGY_OPTIMAL]), 8 * T);
    assert_int_equal(strict.plan[FSIM_STRATEGY_OPTIMAL].saved_bytes, T);
    assert_int_equal(bytes_of(&strict.plan[FSIM_STRATEGY_INDUCTOR]), bytes_of(&fast.plan[FSIM_STRATEGY_INDUCTOR]));
    assert_true(fast.proof.proven && strict.proof.proven);
    assert_int_equal(fast.ways.count, 2);
    assert_int_equal(strict.ways.count, 1);
    assert_memory_equal(fast.ways.tried[fast.ways.best].form, from_result, 1);
    lists_the_ways(&fast, a);
    fsim_arena_free(a);
}

/* Row 37: the sign of each element is a bit. */
static void keeps_bits(void **unused)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_prediction p = predicted(a, derived(a, bias_relu, (fsim_derive){0}), false);
    const fsim_plan *best = &p.plan[FSIM_STRATEGY_OPTIMAL];
    (void)unused;
    assert_int_equal(best->kernels, 2);
    assert_int_equal(best->saved_bytes, 33554432);
    assert_int_equal(best->kernel[0].dram_read_bytes + best->kernel[0].dram_write_bytes, 2181103616);
    assert_int_equal(best->kernel[1].dram_read_bytes + best->kernel[1].dram_write_bytes, 2181103616);
    assert_int_equal(bytes_of(best), 4362207232);
    assert_true(p.proof.proven);
    fsim_arena_free(a);
}

/* Operators whose derivatives have several forms, on 8 x 16 doubles; two of them after one another. */
static const char *const formed[] = {
    "{op: log, in: x}",
    "{op: relu, in: x}",
    "{op: relu6, in: x}",
    "{op: leaky_relu, in: x}",
    "{op: elu, in: x}",
    "{op: selu, in: x}",
    "{op: celu, in: x}",
    "{op: logsigmoid, in: x}",
    "{op: softplus, in: x}",
    "{op: hardtanh, in: x}",
    "{op: hardsigmoid, in: x}",
    "{op: hardswish, in: x}",
    "{op: clamp, in: x, min: -0.5, max: 0.5}",
    "{op: hardshrink, in: x}",
    "{op: softshrink, in: x}",
    "{op: threshold, in: x, threshold: 0.1}",
    "{op: maximum, in: [x, z]}",
    "{op: minimum, in: [x, z]}",
    "{op: pow, in: [x, z]}",
};

/* Are all finite elements of the gradients equal? */
static bool equal_gradients(const fsim_graph *x, const fsim_graph *y)
{
    fsim_reference *r = fsim_reference_of(x, 1), *s = fsim_reference_of(y, 1);
    bool same = x->gradients == y->gradients;
    for (int i = 0; i < x->gradients && same; i++) {
        const int t = x->gradient[i].tensor, u = y->gradient[i].tensor;
        same = x->gradient[i].of == y->gradient[i].of;
        for (int64_t e = 0; e < x->tensor[t].elems && same; e++)
            same = !isfinite(r->of[t].value[e]) ||
                   fabs(r->of[t].value[e] - s->of[u].value[e]) <= 1e-12 * (1 + fabs(r->of[t].value[e]));
    }
    fsim_reference_free(r);
    fsim_reference_free(s);
    return same;
}

/* The number of forms that were compared with the first. */
static int compare_forms(const char *op)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g =
        derived(a,
                fsim_printf(a,
                            "tensors:\n  x: {shape: [8, 16], dtype: f64}\n  z: {shape: [8, 16], dtype: f64}\n"
                            "operators:\n  - %.*s, out: u}\n  - {op: mul, in: [u, z], out: y}\n",
                            (int)strlen(op) - 1, op),
                (fsim_derive){0});
    int compared = 0;
    for (int c = 0; c < g->choices; c++)
        for (int f = 1; f < g->choice[c].forms; f++, compared++) {
            signed char *form = fsim_new(a, signed char, g->choices + 1);
            form[c] = (signed char)f;
            const fsim_graph *other = fsim_graph_with_forms(g, form, g->choices, a);
            assert_non_null(other);
            assert_int_equal(other->choices, g->choices);
            assert_int_equal(other->choice[c].form, f);
            if (!equal_gradients(g, other))
                fail_msg("%s: form %d of argument %d has another gradient", op, f, g->choice[c].argument);
        }
    fsim_arena_free(a);
    return compared;
}

static void has_one_gradient(void **unused)
{
    int compared = 0;
    (void)unused;
    for (size_t i = 0; i < sizeof formed / sizeof *formed; i++)
        compared += compare_forms(formed[i]);
    assert_true(compared >= 20);
}

/* Three dense layers: values that are computed again. */
static const char stack[] =
    "tensors:\n  h: {shape: [32, 16], dtype: f64}\noperators:\n  - repeat: 4\n"
    "    carry: {h: h_next}\n    tensors:\n      w: {shape: [16, 16], dtype: f64, role: weight}\n"
    "      c: {shape: [16], dtype: f64, role: weight}\n    operators:\n"
    "      - {op: linear, in: [h, w, c], out: a}\n      - {op: relu, in: a, out: h_next}\n"
    "  - {op: mean, in: h_next, out: loss}\noutputs: [loss]\n";

/* Whatever is given up, the gradients are the same to the bit, and FLOPs of the forward pass count once. */
static void computes_again(void **unused)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = derived(a, stack, (fsim_derive){.want = FSIM_WANT_WEIGHTS});
    (void)unused;
    for (unsigned bits = 1; bits < 8; bits++) {
        signed char *fate = fsim_new(a, signed char, g->own_tensors + 1);
        int products = 0;
        for (int t = 0; t < g->own_tensors; t++) {
            const char *name = g->tensor[t].name;
            const bool kept = strncmp(name, "h_next.", 7) == 0;
            fate[t] = (signed char)(g->tensor[t].producer < 0 || (kept && !(bits >> (name[7] - '0') & 1)) ? FSIM_HELD
                                    : kept                                                                ? FSIM_DROPPED
                                           : FSIM_UNREAD);
        }
        const fsim_graph *other = fsim_graph_with_fates(g, fate, g->own_tensors, a);
        assert_non_null(other);
        for (int n = 0; n < other->nodes; n++)
            products += other->node[n].again && other->node[n].gemm.k > 0;
        assert_int_equal(products, (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1));
        assert_true(other->phase_flops[FSIM_BACKWARD] == g->phase_flops[FSIM_BACKWARD]);
        assert_true(equal_gradients(g, other));
    }
    fsim_arena_free(a);
}

static int tensor_of(const fsim_graph *g, const char *name)
{
    int t = 0;
    while (t < g->own_tensors && strcmp(g->tensor[t].name, name) != 0)
        t++;
    return t;
}

static int source_of(const fsim_graph *g, const char *name)
{
    int s = 0;
    while (s < g->sources && strcmp(g->source[s].name, name) != 0)
        s++;
    return s;
}

/* The first layer's result is computed again for the second layer's, which the third's gradient reads, and once more
 * for the second's: three products of their own, and the gradients are the same to the bit. */
static void computes_again_twice(void **unused)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = derived(a, stack, (fsim_derive){.want = FSIM_WANT_WEIGHTS});
    const int first = tensor_of(g, "h_next.0"), second = tensor_of(g, "h_next.1");
    signed char *fate = fsim_new(a, signed char, g->own_tensors + 1);
    (void)unused;
    for (int t = 0; t < g->own_tensors; t++)
        fate[t] = g->tensor[t].producer < 0 || strncmp(g->tensor[t].name, "h_next.", 7) == 0 ? FSIM_HELD : FSIM_PASSED;
    const fsim_copy_read read[] = {{2, -1, first, 1},
                                   {0, source_of(g, "a.2"), second, 2},
                                   {0, source_of(g, "h_next.1"), second, 2},
                                   {0, source_of(g, "a.1"), first, 3},
                                   {0, source_of(g, "h_next.0"), first, 3}};
    const fsim_derive how = {.fate = fate, .fates = g->own_tensors, .read = read, .reads = 5};
    const fsim_graph *other = fsim_graph_with_copies(g, &how, a);
    assert_non_null(other);
    int products = 0;
    for (int n = 0; n < other->nodes; n++) {
        const fsim_node *x = &other->node[n];
        if (!x->again || x->gemm.k == 0)
            continue;
        products++;
        assert_string_equal(x->name, x->again == 1   ? "again/a.0/matmul"
                                     : x->again == 2 ? "again/a.1/matmul"
                                                     : "again.2/a.0/matmul");
    }
    assert_int_equal(products, 3);
    assert_true(equal_gradients(g, other));
    fsim_arena_free(a);
}

static uint32_t state;
static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* The most bytes in memory where the flagged steps are given up, and what these cost. */
static int64_t chain_peak(const fsim_site *site, int sites, const bool *dropped, double *cost)
{
    int64_t kept = 0, again = 0, peak = 0;
    *cost = 0;
    for (int i = 0; i < sites; i++) {
        again = dropped[i] ? again + site[i].bytes : 0;
        kept += dropped[i] ? 0 : site[i].bytes;
        *cost += dropped[i] ? site[i].cost : 0;
        peak = kept + again > peak ? kept + again : peak;
    }
    return peak;
}

/* Which steps of a chain are kept: the cheapest of all subsets that fit, where the steps are equal; others fit. */
static void keeps_the_cheapest(void **unused)
{
    enum { STEPS = 9 };
    fsim_arena *a = fsim_arena_new();
    (void)unused;
    state = 16;
    for (int round = 0; round < 60; round++) {
        fsim_site site[STEPS];
        const bool equal = round % 2 == 0;
        for (int i = 0; i < STEPS; i++)
            site[i] = (fsim_site){equal ? 1000 : 1 + draw(2000), 1 + draw(5)};
        const fsim_chain chain = fsim_chain_of(site, STEPS, a);
        const int64_t limit = (int64_t)draw((uint32_t)chain.total);
        bool chosen[STEPS], dropped[STEPS];
        double least = INFINITY, cost;
        for (unsigned bits = 0; bits < 1u << STEPS; bits++) {
            for (int i = 0; i < STEPS; i++)
                dropped[i] = bits >> i & 1;
            if (chain_peak(site, STEPS, dropped, &cost) <= limit)
                least = fmin(least, cost);
        }
        const bool fits = fsim_chain_choose(&chain, limit, chosen);
        assert_true(!fits || chain_peak(site, STEPS, chosen, &cost) <= limit);
        assert_true(!fits || cost >= least);
        if (equal)
            assert_true(fits == (least < INFINITY) && (!fits || cost == least));
    }
    fsim_arena_free(a);
}

/* Three equal layers: each value that is kept has other ways, each once, the fastest first, of which none beats the
 * best plan; where its kernels can't compute it again, kernels of its own do, in the same time in each layer. */
static void prices_other_ways(void **unused)
{
    static const char layers[] =
        "tensors:\n  x0: {shape: [1024, 1024], dtype: f32}\n  w: {shape: [1024, 1024], dtype: f32, role: weight}\n"
        "operators:\n  - {op: linear, in: [x0, w], out: h1}\n  - {op: exp, in: h1, out: x1}\n"
        "  - {op: linear, in: [x1, w], out: h2}\n  - {op: exp, in: h2, out: x2}\n"
        "  - {op: linear, in: [x2, w], out: h3}\n  - {op: exp, in: h3, out: x3}\noutputs: [x3]\n";
    fsim_arena *a = fsim_arena_new();
    const fsim_prediction p = predicted(a, derived(a, layers, (fsim_derive){0}), false);
    const fsim_plan *plan = &p.plan[FSIM_STRATEGY_OPTIMAL];
    const fsim_problem problem = fsim_problem_of(p.graph, p.hw, &p.options, a);
    fsim_saved_value *value;
    double first_s = 0;
    int again = 0;
    (void)unused;
    const int count = fsim_saved_with_ways(&p, a, &value);
    assert_true(p.proof.proven && count > 2);
    for (int i = 0; i < count; i++) {
        const fsim_saved_value *v = &value[i];
        const fsim_tensor *t = &p.graph->tensor[v->now.tensor];
        fsim_priced_again alone;
        fsim_price_given_up(&problem, plan, &v->now.tensor, 1, &alone);
        for (int k = 0; k < v->others; k++) {
            const fsim_other_way *x = &v->other[k];
            assert_true(x->way != v->now.way && (k == 0 || (x->way != x[-1].way && x->time_s >= x[-1].time_s)));
            assert_true(x->time_s >= plan->time_s);
            assert_int_equal(x->bytes, x->way == FSIM_KEEP && !t->output ? t->bytes : 0);
            if (x->way == FSIM_RECOMPUTE && v->others == 1 && t->producer >= 0) {
                first_s = again++ == 0 ? alone.time_s : first_s; /* the price of the first one stands for all */
                assert_true(x->time_s == first_s);
            }
        }
    }
    assert_true(again == 2 && first_s > plan->time_s);
    fsim_arena_free(a);
}

/* Four dense layers on a GPU: plans that need less memory and more time, in which products run again. */
static void meets_a_limit(void **unused)
{
    static const char large[] =
        "tensors:\n  h: {shape: [4096, 2048], dtype: f32}\noperators:\n  - repeat: 4\n"
        "    carry: {h: h_next}\n    tensors:\n      w: {shape: [2048, 2048], dtype: f32, role: weight}\n"
        "      c: {shape: [2048], dtype: f32, role: weight}\n    operators:\n"
        "      - {op: linear, in: [h, w, c], out: a}\n      - {op: relu, in: a, out: h_next}\n"
        "  - {op: mean, in: h_next, out: loss}\noutputs: [loss]\n";
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = derived(a, large, (fsim_derive){.want = FSIM_WANT_WEIGHTS});
    const fsim_prediction free = predicted(a, g, false);
    fsim_plan some[8];
    fsim_problem p = fsim_problem_of(g, a100(a), &free.options, a);
    (void)unused;
    const int count = fsim_plans_again(&p, &free.plan[FSIM_STRATEGY_OPTIMAL], 7, a, some);
    int again = 0;
    assert_true(count >= 2);
    for (int i = 1; i < count; i++)
        assert_true(some[i].time_s > some[i - 1].time_s && some[i].peak_memory_bytes < some[i - 1].peak_memory_bytes);
    for (int n = 0; n < some[count - 1].graph->nodes; n++)
        again += some[count - 1].graph->node[n].again && some[count - 1].graph->node[n].gemm.k > 0;
    assert_true(again > 0);
    assert_true(some[count - 1].peak_memory_bytes < free.plan[FSIM_STRATEGY_OPTIMAL].peak_memory_bytes);
    fsim_arena_free(a);
}

/* Brute force. */

/* Chains and forks of operators whose derivatives have several forms, over [rows, columns]. */
static const char *random_workload(fsim_arena *a, int n, int rows, int columns)
{
    static const char *const unary[] = {"log", "relu", "leaky_relu", "softplus", "hardtanh", "neg", "exp"};
    const char *name[16] = {"x0", "x1"},
               *text = fsim_printf(a,
                                   "tensors:\n  x0: {shape: [%d, %d], dtype: f32}\n  x1: {shape: [%d, %d], dtype: "
                                   "f32}\noperators:\n",
                                   rows, columns, rows, draw(2) ? columns : 1);
    for (int i = 0; i < n; i++) {
        const char *out = fsim_printf(a, "t%d", i), *x = name[draw(2) ? (uint32_t)(1 + i) : draw((uint32_t)(2 + i))];
        if (draw(3))
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[draw(7)], x, out);
        else
            text = fsim_printf(a, "%s  - {op: %s, in: [%s, %s], out: %s}\n", text, draw(2) ? "add" : "mul", x,
                               name[draw((uint32_t)(2 + i))], out);
        name[2 + i] = out;
    }
    return draw(3) ? text : fsim_printf(a, "%soutputs: [t%d, t%d]\n", text, n - 1, (int)draw((uint32_t)n));
}

static bool take(void *to, const fsim_plan *plan)
{
    fsim_sum *least = to;
    *least = *least < 0 || plan->objective < *least ? plan->objective : *least;
    return true;
}

/* The least over all partitions of all graphs that its derivatives' forms make; -1: too many. */
static fsim_sum least_of_all(const fsim_graph *g, const fsim_hw *hw, const fsim_options *o, int most, fsim_arena *a)
{
    signed char *form = fsim_new(a, signed char, g->choices + 1);
    fsim_sum least = -1;
    for (int c = 0; c <= g->choices;) {
        const fsim_graph *x = fsim_graph_with_forms(g, form, g->choices, a);
        fsim_problem p = fsim_problem_of(x, hw, o, a);
        bool truncated;
        if (x->nodes > most)
            return -1;
        fsim_enumerate(&p, 0, take, &least, &truncated);
        assert_false(truncated);
        for (c = 0; c <= g->choices; c++) { /* counts up; a form that strict numerics refuse is jumped over */
            if (c == g->choices)
                return least;
            do {
                form[c]++;
            } while (form[c] < g->choice[c].forms && o->strict && !(g->choice[c].exact >> form[c] & 1));
            if (form[c] < g->choice[c].forms)
                break;
            form[c] = 0;
        }
    }
    return least;
}

/* The search over forms and partitions finds what trying all of them finds, to the last bit. */
static void is_the_least_of_all(void **unused)
{
    enum { MOST = 10, MOST_WITH_COPIES = 6 };
    static const int rows[] = {256, 1024, 64}, columns[] = {256, 1024, 16384};
    static const fsim_save_dtype narrow = {FSIM_BF16, NULL, 0};
    int compared = 0, several = 0, changed = 0, proven = 0, reduced = 0;
    (void)unused;
    state = 37;
    for (int turn = 0; turn < GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        const int shape = (int)draw(3);
        const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
        const fsim_graph *g = derived(a, random_workload(a, 1 + (int)draw(2), rows[shape], columns[shape]),
                                      (fsim_derive){.ones = turn % 7 == 6, .save = turn % 8 == 5 ? &narrow : NULL});
        const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                                .regime = FSIM_REGIME_STREAM,
                                .strict = turn % 4 == 3,
                                .no_recompute = turn % 5 > 0,
                                .objective = turn % 3 == 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME,
                                .search_steps = 60000000};
        const fsim_sum least = g->nodes > 0 ? least_of_all(g, hw, &o, o.no_recompute ? MOST : MOST_WITH_COPIES, a) : -1;
        if (least >= 0) {
            const fsim_prediction found = fsim_predict(g, hw, &o, a);
            const double unit = o.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
            assert_int_equal(found.plan[FSIM_STRATEGY_OPTIMAL].objective, least);
            assert_true(found.proof.lower_bound <= (double)least * unit * (1 + 1e-12));
            compared++;
            reduced += g->unreduced && g->own_tensors < g->tensors && fsim_graph_unreduced(g, a)->nodes < g->nodes;
            several += found.ways.count > 1;
            changed += found.ways.best > 0;
            proven += found.proof.proven;
        }
        fsim_arena_free(a);
    }
    printf("%d joint graphs, %d with several ways, %d of which are not the first, %d with values in fewer bits; %d "
           "proven\n",
           compared, several, changed, reduced, proven);
    assert_true(several >= GRAPHS / 5 && changed >= GRAPHS / 20 && proven == compared && reduced > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(derives_from_the_result), cmocka_unit_test(keeps_bits),
                                       cmocka_unit_test(has_one_gradient),        cmocka_unit_test(computes_again),
                                       cmocka_unit_test(computes_again_twice),    cmocka_unit_test(keeps_the_cheapest),
                                       cmocka_unit_test(prices_other_ways),       cmocka_unit_test(meets_a_limit),
                                       cmocka_unit_test(is_the_least_of_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

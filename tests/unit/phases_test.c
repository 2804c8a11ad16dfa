/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 1 */
/* A step of training by phase: seconds, what forward keeps for backward, and the memory in use while each kernel runs,
 * each found a second time from its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/price/price.h"
#include "plan/search/search.h"
#include "predict.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Four layers; a loss, or an output whose gradient comes from outside. */
static const char *layers(fsim_arena *a, bool loss)
{
    return fsim_printf(a,
                       "tensors: {x: {shape: [2048, 512], dtype: f32}}\n"
                       "operators:\n"
                       "  - repeat: 4\n"
                       "    carry: {x: y}\n"
                       "    tensors: {w: {shape: [512, 512], dtype: f32, role: weight}, c: {shape: [512], dtype: f32, "
                       "role: weight}}\n"
                       "    operators:\n"
                       "      - {op: linear, in: [x, w, c], out: p}\n"
                       "      - {op: tanh, in: p, out: y}\n%s",
                       loss ? "  - {op: sum, in: y.3, out: loss, dims: [0, 1]}\n" : "");
}

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_prediction p;
} fixture;

static fixture predict(const char *text, const fsim_derive *how, const fsim_options *o, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    const fsim_graph *g = fsim_graph_parse(a, d, "steps.yaml", text, strlen(text), &(fsim_bindings){.derive = how});
    if (!hw || !g)
        fsim_diag_print(d, stderr, false);
    assert_true(hw && g);
    return (fixture){a, g, fsim_predict(g, hw, o, a)};
}

/* Section 6 word for word: inputs and weights; outputs and gradients written so far; values whose last reader is not
 * done; operands and results of the kernel. */
static fsim_sum alive(const fsim_graph *g, const fsim_plan *plan, int k)
{
    fsim_sum bytes = 0;
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        bool live = x->producer < 0 && x->storage == t && (x->readers > 0 || x->output);
        for (int j = 0; j <= k && x->producer >= 0 && !x->renews; j++)
            for (int i = 0; i < plan->kernel[j].outputs; i++)
                live = live || (plan->kernel[j].output[i].tensor == t && (j == k || x->output));
        bool made = false;
        for (int j = 0; j < plan->kernels && x->producer >= 0 && !x->renews; j++) {
            for (int i = 0; i < plan->kernel[j].outputs && j < k; i++)
                made = made || plan->kernel[j].output[i].tensor == t;
            for (int i = 0; i < plan->kernel[j].inputs && j >= k; i++)
                live = live || (made && plan->kernel[j].input[i].tensor == t);
        }
        bytes += live ? x->bytes : 0;
    }
    return bytes;
}

static void check_memory(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_memory_step *at = fsim_memory_steps(g, plan, a);
    fsim_sum most = 0;
    for (int k = 0; k < plan->kernels; k++) {
        assert_int_equal(at[k].live_bytes, alive(g, plan, k));
        most = at[k].live_bytes > most ? at[k].live_bytes : most;
    }
    assert_int_equal(plan->peak_memory_bytes, most);
    const fsim_memory_use use = fsim_memory_of(g, plan, a);
    assert_int_equal(at[use.kernel].live_bytes, most);
    fsim_largest largest;
    fsim_sum named = 0;
    fsim_largest_in_memory(g, plan, use.kernel, &largest, a);
    for (int i = 0; i < largest.count; i++) {
        named += g->tensor[largest.tensor[i]].bytes;
        assert_true(i == 0 || g->tensor[largest.tensor[i]].bytes <= g->tensor[largest.tensor[i - 1]].bytes);
    }
    assert_true(largest.count == FSIM_LARGEST && named <= most);
}

/* A kernel is forward where it has a primitive of the forward pass at home and does not wait for a gradient. */
static fsim_phase phase_of(const fsim_graph *g, const fsim_plan *plan, int k)
{
    bool forward = false, backward = false, waits = false;
    for (int i = 0; i < plan->partition.part[k].count; i++) {
        const fsim_node *n = &g->node[plan->partition.part[k].node[i]];
        if (plan->partition.part[k].clone[i])
            continue;
        forward = forward || n->phase == FSIM_FORWARD;
        backward = backward || n->phase == FSIM_BACKWARD;
        waits = waits || n->side == FSIM_AFTER_BARRIER;
    }
    return forward && !waits ? FSIM_FORWARD : forward || backward ? FSIM_BACKWARD : FSIM_OPTIMIZER;
}

/* as_pytorch: what the plan saves is what PyTorch's own rules keep (unit.saved), whatever its kernels read. */
static void check_phases(const fsim_graph *g, const fsim_plan *plan, bool as_pytorch, fsim_arena *a)
{
    double seconds[FSIM_PHASES] = {0};
    fsim_sum made = 0, given = 0, listed = 0;
    for (int k = 0; k < plan->kernels; k++)
        seconds[phase_of(g, plan, k)] += plan->kernel[k].time_s;
    for (int t = 0; t < g->tensors; t++) {
        bool forward = false, read = false;
        for (int k = 0; k < plan->kernels; k++) {
            for (int i = 0; i < plan->kernel[k].outputs; i++)
                forward = forward || (plan->kernel[k].output[i].tensor == t && phase_of(g, plan, k) == FSIM_FORWARD);
            for (int i = 0; i < plan->kernel[k].inputs; i++)
                read = read || (plan->kernel[k].input[i].tensor == t && phase_of(g, plan, k) == FSIM_BACKWARD);
        }
        made += forward && read && !g->tensor[t].output ? g->tensor[t].bytes : 0; /* outputs are there in any case */
        given +=
            read && g->tensor[t].producer < 0 && strncmp(g->tensor[t].name, "grad/", 5) != 0 ? g->tensor[t].bytes : 0;
    }
    for (int i = 0; i < FSIM_PHASES; i++)
        assert_true(fabs(plan->phase_s[i] - seconds[i]) <= 1e-9 * plan->time_s);
    if (!as_pytorch) {
        assert_int_equal(plan->saved_bytes, made);
        assert_int_equal(plan->saved_input_bytes, given);
    }
    fsim_saved *saved;
    const int count = fsim_saved_of(g, plan, a, &saved);
    for (int i = 0; i < count; i++) {
        listed += saved[i].way == FSIM_KEEP ? saved[i].bytes : 0;
        assert_true(phase_of(g, plan, saved[i].kernel) == FSIM_BACKWARD);
        assert_true(saved[i].way == FSIM_KEEP || saved[i].bytes == 0);
    }
    assert_int_equal(listed, plan->saved_bytes); /* no operator of these keeps what is no tensor */
}

static void every_plan_agrees_with_the_definitions(void **unused)
{
    (void)unused;
    static const fsim_derive ways[] = {{.mode = FSIM_REVERSE},
                                       {.mode = FSIM_REVERSE, .want = FSIM_WANT_WEIGHTS, .update = FSIM_ADAM},
                                       {.mode = FSIM_REVERSE, .ones = true, .update = FSIM_SGD}};
    for (int i = 0; i < 6; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                                .regime = FSIM_REGIME_STREAM,
                                .search_steps = 20000,
                                .objective = i == 1 ? FSIM_MINIMISE_MEMORY : FSIM_MINIMISE_TIME};
        const fixture f = predict(layers(a, i % 2), &ways[i / 2], &o, a);
        assert_int_equal(f.g->phase_flops[FSIM_FORWARD], 4 * 2.0 * 2048 * 512 * 512);
        assert_int_equal(f.g->phase_flops[FSIM_BACKWARD], (i / 2 == 1 ? 7 : 8) * 2.0 * 2048 * 512 * 512);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
            if (f.p.plan[s].kernels > 0) {
                const fsim_graph *g = f.p.plan[s].graph; /* derivatives may have another form there */
                check_memory(g, &f.p.plan[s], a);
                check_phases(g, &f.p.plan[s], s == FSIM_STRATEGY_EAGER || s == FSIM_STRATEGY_INDUCTOR, a);
            }
        fsim_arena_free(a);
    }
}

/* Counted by hand: T is an activation, W a weight, C a bias. Eager keeps every y for tanh's gradient. */
static void what_eager_keeps(void **unused)
{
    (void)unused;
    const int64_t T = 2048 * 512 * 4, W = 512 * 512 * 4;
    fsim_arena *a = fsim_arena_new();
    const fsim_options o = {.strategy = FSIM_STRATEGY_UNFUSED, .regime = FSIM_REGIME_STREAM, .search_steps = 600000};
    const fixture f = predict(layers(a, true), &(fsim_derive){.mode = FSIM_REVERSE}, &o, a);
    const fsim_plan *plan = &f.p.plan[FSIM_STRATEGY_EAGER];
    assert_int_equal(plan->saved_bytes, 4 * T);
    assert_int_equal(plan->saved_input_bytes, T + 4 * W);
    fsim_arena_free(a);
}

/* Also in the order that needs least memory, outputs come before what needs the gradient of one. */
static void check_order(const fsim_graph *g, const fsim_plan *plan)
{
    bool waited = false;
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->partition.part[k].count; i++) {
            const fsim_side side = g->node[plan->partition.part[k].node[i]].side;
            waited = waited || side == FSIM_AFTER_BARRIER;
            assert_true(!waited || side != FSIM_BEFORE_BARRIER || plan->partition.part[k].clone[i]);
        }
}

typedef struct {
    fsim_sum least;
} minimum;

static bool take(void *to, const fsim_plan *plan)
{
    minimum *m = to;
    m->least = m->least < 0 || plan->peak_memory_bytes < m->least ? plan->peak_memory_bytes : m->least;
    return true;
}

/* Of all partitions, each in its best order, none needs less memory than the plan that is said to need least; and a
 * limit below that is not met. */
static void the_least_memory_of_all_partitions(void **unused)
{
    (void)unused;
    static const char *const text[] = {
        "tensors: {x: {shape: [1024, 1024], dtype: f32}, b: {shape: [1024, 1024], dtype: f32}}\noperators:\n"
        "  - {op: mul, in: [x, b], out: p}\n  - {op: exp, in: p, out: y}\n",
        "tensors: {x: {shape: [1024, 1024], dtype: f32}, b: {shape: [1024], dtype: f32}}\noperators:\n"
        "  - {op: add, in: [x, b], out: p}\n  - {op: tanh, in: p, out: q}\n  - {op: sum, in: q, out: y, dims: [0, "
        "1]}\n",
        "tensors: {x: {shape: [1024, 1024], dtype: f32}}\noperators:\n"
        "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: mul, in: [x, s], out: y}\n",
        /* two branches: each forward and then backward would need one exponential at a time */
        "tensors: {u: {shape: [1024, 1024], dtype: f32}, v: {shape: [1024, 1024], dtype: f32}, b: {shape: [1024, 1], "
        "dtype: f32, role: weight}, c: {shape: [1024, 1], dtype: f32, role: weight}}\noperators:\n"
        "  - {op: exp, in: u, out: p}\n  - {op: mul, in: [p, b], out: q}\n  - {op: sum, in: q, out: y, dims: [1]}\n"
        "  - {op: exp, in: v, out: r}\n  - {op: mul, in: [r, c], out: s}\n  - {op: sum, in: s, out: z, dims: [1]}\n"};
    for (size_t i = 0; i < 2 * sizeof text / sizeof *text; i++) {
        if (i == 6)
            continue; /* too many partitions with copies */
        fsim_arena *a = fsim_arena_new();
        fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                          .regime = FSIM_REGIME_STREAM,
                          .search_steps = 60000000,
                          .no_recompute = i % 2,
                          .objective = FSIM_MINIMISE_MEMORY};
        const fsim_derive how = {.mode = FSIM_REVERSE, .want = i == 7 ? FSIM_WANT_WEIGHTS : FSIM_WANT_ALL};
        const fixture f = predict(text[i / 2], &how, &o, a);
        fsim_problem p = fsim_problem_of(f.g, f.p.hw, &o, a);
        minimum m = {.least = -1};
        bool truncated;
        p.lean = true;
        p.objective = FSIM_MINIMISE_TIME;
        fsim_enumerate(&p, 0, take, &m, &truncated);
        assert_false(truncated);
        const fsim_plan *best = &f.p.plan[FSIM_STRATEGY_OPTIMAL];
        assert_int_equal(best->peak_memory_bytes, m.least);
        check_memory(best->graph, best, a);
        check_order(best->graph, best);
        assert_true(f.p.proof.lower_bound <= (double)m.least);
        assert_true(!o.no_recompute || f.p.proof.proven);
        o.objective = FSIM_MINIMISE_TIME;
        o.memory_limit = (int64_t)m.least - 1;
        const fsim_prediction tight = fsim_predict(f.g, f.p.hw, &o, a);
        assert_int_equal(tight.least_memory_bytes, m.least);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_plan_agrees_with_the_definitions),
                                       cmocka_unit_test(what_eager_keeps),
                                       cmocka_unit_test(the_least_memory_of_all_partitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

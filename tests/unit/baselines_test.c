/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 4 */
/* The plans that XLA:GPU, TorchInductor, ONNX Runtime and TensorRT are known to choose, on an H100; and what every
 * baseline promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "fusion/sets.h"
#include "plan/price/timeline.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include "random.h"
#include "vendor/triton.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 8, LARGE = 250 };
#else
enum { GRAPHS = 60, LARGE = 1000 };
#endif

typedef struct {
    fsim_arena *a;
    fsim_graph *g;
    fsim_hw *hw;
    fsim_prediction *p;
} fixture;

static const fsim_options usual = {.strategy = FSIM_STRATEGY_XLA, .regime = FSIM_REGIME_STREAM, .search_steps = 150000};

static fixture load(const char *text)
{
    fixture f = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(f.a);
    f.hw = fsim_hw_read(f.a, d, fsim_printf(f.a, "%s/hwmodels/h100-sxm5-80gb.yaml", FUSESIM_SOURCE_DIR));
    f.g = fsim_graph_parse(f.a, d, "test.yaml", text, strlen(text), NULL);
    if (!f.hw || !f.g)
        fsim_diag_print(d, stderr, true);
    assert_true(f.hw && f.g);
    return f;
}

static fixture plan_with(const char *text)
{
    fixture f = load(text);
    f.p = fsim_new(f.a, fsim_prediction, 1);
    *f.p = fsim_predict(f.g, f.hw, &usual, f.a);
    return f;
}

static const char inputs[] =
    "symbols: {dtype: f32}\n"
    "tensors:\n"
    "  x: {shape: [1024, 1024], dtype: dtype}\n  y: {shape: [1024, 1024], dtype: dtype}\n  z: {shape: [16, 1024, "
    "1024], dtype: dtype}\n"
    "  mask: {shape: [1024, 1024], dtype: bool}\n  ids: {shape: [1024], dtype: i64}\n"
    "  image: {shape: [8, 64, 56, 56], dtype: dtype}\n  skip: {shape: [8, 64, 56, 56], dtype: dtype}\n"
    "  q: {shape: [2, 8, 512, 64], dtype: dtype}\n  k: {shape: [2, 8, 512, 64], dtype: dtype}\n  v: {shape: [2, 8, "
    "512, 64], dtype: dtype}\n"
    "  w: {shape: [1024, 1024], dtype: dtype, role: weight}\n  filter: {shape: [64, 64, 3, 3], dtype: dtype, role: "
    "weight}\n"
    "  one: {shape: [1024], dtype: dtype, role: weight}\n  two: {shape: [1024], dtype: dtype, role: weight}\n"
    "  three: {shape: [1024], dtype: dtype, role: weight}\n  four: {shape: [1024], dtype: dtype, role: weight}\n"
    "  c1: {shape: [64], dtype: dtype, role: weight}\n  c2: {shape: [64], dtype: dtype, role: weight}\n"
    "  c3: {shape: [64], dtype: dtype, role: weight}\n  c4: {shape: [64], dtype: dtype, role: weight}\n"
    "  plane: {shape: [64, 1, 1], dtype: dtype, role: weight}\n"
    "  bytes: {shape: [1024], dtype: i8, role: weight}\n  dot: {shape: [64, 64, 1, 1], dtype: dtype, role: weight}\n"
    "operators:\n";

/* operators separated by ';', each the inside of a flow mapping */
static fixture plan(const char *operators)
{
    fsim_arena *a = fsim_arena_new();
    const char *text = inputs;
    char *rest, *copy = fsim_strdup(a, operators);
    for (char *each = strtok_r(copy, ";", &rest); each; each = strtok_r(NULL, ";", &rest))
        text = fsim_printf(a, "%s  - {%s}\n", text, each);
    const fixture f = plan_with(text);
    fsim_arena_free(a);
    return f;
}

/* Does some kernel of the plan say that `rule` made it? Whole names only. */
static bool made_by(const fixture *f, const char *rule)
{
    const fsim_plan *p = &f->p->plan[FSIM_STRATEGY_PATTERN];
    for (int k = 0; k < p->kernels; k++) {
        char *rest, *copy = p->rule[k] ? fsim_strdup(f->a, p->rule[k]) : NULL;
        for (char *each = copy ? strtok_r(copy, "+ ", &rest) : NULL; each; each = strtok_r(NULL, "+ ", &rest))
            if (strcmp(each, rule) == 0)
                return true;
    }
    return false;
}

static const struct {
    const char *rule, *operators;
} by_rule[] = {
    {"Softmax", "op: softmax, in: x, out: o, dim: 1"},
    {"Softmax",
     "op: max, in: x, out: m, dims: [1], keepdim: true; op: sub, in: [x, m], out: s; op: exp, in: s, out: e; "
     "op: sum, in: e, out: t, dims: [1], keepdim: true; op: div, in: [e, t], out: o"},
    {"LogSoftmax", "op: log_softmax, in: x, out: o, dim: 1"},
    {"LayerNorm", "op: layer_norm, in: [x, one, two], out: o"},
    {"LayerNorm", "op: mean, in: x, out: m, dims: [1], keepdim: true; op: sub, in: [x, m], out: s; op: pow, in: s, "
                  "out: p, scalar: 2; "
                  "op: mean, in: p, out: var, dims: [1], keepdim: true; op: add, in: var, out: e, scalar: 0.00001; op: "
                  "sqrt, in: e, out: r; "
                  "op: div, in: [s, r], out: n; op: mul, in: [n, one], out: u; op: add, in: [u, two], out: o"},
    {"SimplifiedLayerNorm", "op: rms_norm, in: [x, one], out: o"},
    {"RotaryEmbedding",
     "op: slice, in: x, out: l, dim: [1], start: [0], end: [512]; op: slice, in: x, out: h, dim: [1], start: [512], "
     "end: [1024]; op: neg, in: h, out: n; op: concat, in: [n, l], out: t, dim: 1; op: mul, in: [x, y], out: c; "
     "op: mul, in: [t, y], out: s; op: add, in: [c, s], out: o"},
    {"BatchNorm", "op: batch_norm, in: [image, c1, c2, c3, c4], out: o"},
    {"GroupNorm", "op: group_norm, in: [image, c1, c2], out: o, groups: 32"},
    {"InstanceNorm", "op: instance_norm, in: [image, c1, c2], out: o"},
    {"LpNorm", "op: normalize, in: x, out: o, dim: 1"},
    {"LogSumExp", "op: logsumexp, in: x, out: o, dim: 1"},
    {"LogSumExp", "op: exp, in: x, out: e; op: sum, in: e, out: s, dims: [1]; op: log, in: s, out: o"},
    {"Mish", "op: mish, in: x, out: o"},
    {"RotaryEmbedding", "op: rotary_embedding, in: [x, y, w], out: o"},
    {"SoftmaxCrossEntropy", "op: cross_entropy, in: [x, ids], out: o"},
    {"Gelu", "op: gelu, in: x, out: o"},
    {"Gelu", "op: mul, in: x, out: h, scalar: 0.5; op: div, in: x, out: r, scalar: 1.4142; op: erf, in: r, out: e; op: "
             "add, in: e, out: p, scalar: 1; "
             "op: mul, in: [h, p], out: o"},
    {"FastGelu", "op: gelu, in: x, out: o, approximate: tanh"},
    {"QuickGelu", "op: mul, in: x, out: s, scalar: 1.702; op: sigmoid, in: s, out: g; op: mul, in: [x, g], out: o"},
    {"Swish", "op: silu, in: x, out: o"},
    {"ConvBias", "op: conv2d, in: [image, filter, c1], out: o, padding: 1"},
    {"ConvBn", "op: conv2d, in: [image, filter], out: a, padding: 1; op: batch_norm, in: [a, c1, c2, c3, c4], out: o"},
    {"ConvMul", "op: conv2d, in: [image, filter], out: a, padding: 1; op: mul, in: [a, plane], out: o"},
    {"ConvAdd", "op: conv2d, in: [image, dot, c1], out: a; op: sub, in: [a, plane], out: o"},
    {"ConvActivation",
     "op: conv2d, in: [image, filter, c1], out: a, padding: 1, compute: tf32; op: leaky_relu, in: a, out: o"},
    {"ConvAddActivation", "op: conv2d, in: [image, filter, c1], out: a, padding: 1; op: add, in: [a, skip], out: b; "
                          "op: relu, in: b, out: o"},
    {"MatMulBn", "op: matmul, in: [x, w], out: a; op: batch_norm, in: [a, one, two, three, four], out: o"},
    {"MatMulAdd", "op: matmul, in: [x, w], out: a; op: add, in: [a, one], out: o"},
    {"GemmSum", "op: matmul, in: [x, w], out: a; op: add, in: [a, y], out: o"},
    {"MatMulScale", "op: matmul, in: [z, w], out: a; op: mul, in: a, out: o, scalar: 0.125"},
    {"MatMulTranspose", "op: transpose, in: y, out: t, dims: [0, 1]; op: matmul, in: [x, t], out: o"},
    {"FullyConnectedBias", "op: linear, in: [z, w, one], out: o"},
    {"GemmActivation", "op: linear, in: [x, w, one], out: a; op: relu, in: a, out: o"},
    {"MultiHeadAttention", "op: attention, in: [q, k, v], out: a; op: permute, in: a, out: b, dims: [0, 2, 1, 3]; "
                           "op: copy, in: b, out: o"},
    {"EliminateIdentity", "op: permute, in: z, out: a, dims: [1, 0, 2]; op: copy, in: a, out: o"},
    {"ReluClip", "op: relu, in: x, out: a; op: clamp, in: a, out: o, min: 0, max: 6"},
    {"DivMul", "op: reciprocal, in: x, out: a; op: mul, in: [a, y], out: o"},
    {"EmbedLayerNorm",
     "op: embedding, in: [ids, w], out: a; op: add, in: [a, y], out: b; op: layer_norm, in: [b, one, two], out: o"},
    {"SkipLayerNorm",
     "op: add, in: [x, y], out: a; op: layer_norm, in: [a, one, two], out: n; op: add, in: [a, n], out: o"},
    {"SkipSimplifiedLayerNorm", "op: add, in: [x, y], out: a; op: rms_norm, in: [a, one], out: o"},
    {"BiasSkipLayerNorm",
     "op: add, in: [x, three], out: b; op: add, in: [b, y], out: a; op: layer_norm, in: [a, one, two], out: o"},
    {"SkipGroupNorm", "op: add, in: [image, skip], out: a; op: group_norm, in: [a, c1, c2], out: o, groups: 32"},
    {"GroupNormSwish", "op: group_norm, in: [image, c1, c2], out: a, groups: 32; op: silu, in: a, out: o"},
    {"BiasGelu", "op: add, in: [x, one], out: a; op: gelu, in: a, out: o"},
    {"BiasDropout", "op: add, in: [x, one], out: a; op: dropout, in: a, out: d, p: 0.1; op: add, in: [d, y], out: o"},
    {"BiasSoftmax", "op: add, in: [x, y], out: a; op: softmax, in: a, out: o, dim: 1"},
    {"MaskedSoftmax", "op: masked_fill, in: [x, mask], out: a, value: -10000; op: softmax, in: a, out: o, dim: 1"},
    {"MaskedSoftmax", "op: where, in: [mask, x], out: a, input: -10000; op: softmax, in: a, out: o, dim: 1"},
    {"ScaleOffsetPower",
     "op: mul, in: [x, one], out: a; op: add, in: [a, two], out: b; op: pow, in: b, out: o, scalar: 2"},
    {"ScaleActivation", "op: mul, in: [x, one], out: a; op: add, in: [a, two], out: b; op: sigmoid, in: b, out: o"},
    {"SumOfSquares", "op: mul, in: [x, x], out: a; op: sum, in: a, out: o, dims: [1]"},
    {"L2Norm", "op: mul, in: [x, x], out: a; op: sum, in: a, out: b, dims: [1]; op: sqrt, in: b, out: o"},
    {"L1Norm", "op: abs, in: x, out: a; op: sum, in: a, out: o, dims: [1]"},
    {"LogSum", "op: sum, in: x, out: a, dims: [1]; op: log, in: a, out: o"},
    {"ShuffleShuffle", "op: transpose, in: x, out: a, dims: [0, 1]; op: flip, in: a, out: o, dims: [0]"},
    {"ShuffleReduce", "op: permute, in: z, out: a, dims: [1, 0, 2]; op: sum, in: a, out: o, dims: [2]"},
    {"PointwiseFusion", "op: tanh, in: x, out: a; op: sigmoid, in: a, out: b; op: mul, in: [b, y], out: o"},
};
enum { BY_RULE = sizeof by_rule / sizeof *by_rule };

static void every_rule_matches(void **unused)
{
    (void)unused;
    for (int i = 0; i < BY_RULE; i++) {
        const fixture f = plan(by_rule[i].operators);
        if (!made_by(&f, by_rule[i].rule)) {
            print_message("no %s in: %s\n", by_rule[i].rule, by_rule[i].operators);
            for (int k = 0; k < f.p->plan[FSIM_STRATEGY_PATTERN].kernels; k++)
                print_message("  %s\n", f.p->plan[FSIM_STRATEGY_PATTERN].rule[k]
                                            ? f.p->plan[FSIM_STRATEGY_PATTERN].rule[k]
                                            : "-");
        }
        assert_true(made_by(&f, by_rule[i].rule));
        fsim_arena_free(f.a);
    }
    const char *engine, *rule;
    for (int i = 0; (rule = fsim_pattern_rule(i, &engine)); i++) {
        bool tried = strcmp(rule, "Attention") == 0;
        for (int k = 0; k < BY_RULE; k++)
            tried = tried || strcmp(rule, by_rule[k].rule) == 0;
        if (!tried)
            print_message("%s has no test\n", rule);
        assert_true(tried && engine);
    }
}

/* What looks like a pattern and is none. */
static void rules_ask_for_their_conditions(void **unused)
{
    (void)unused;
    static const struct {
        const char *rule, *operators;
    } row[] = {
        {"BiasGelu", "op: add, in: [x, y], out: a; op: gelu, in: a, out: o"},
        {"GemmActivation", "op: matmul, in: [x, w], out: a; op: relu, in: a, out: o; op: neg, in: a, out: p"},
        {"GemmActivation", "op: matmul, in: [x, w], out: a; op: tanh, in: a, out: o"},
        {"ConvActivation", "op: conv2d, in: [image, filter], out: a, padding: 1; op: leaky_relu, in: a, out: o"},
        {"SumOfSquares", "op: mul, in: [x, y], out: a; op: sum, in: a, out: o, dims: [1]"},
        {"Swish", "op: sigmoid, in: x, out: a; op: mul, in: [a, y], out: o"},
        {"Softmax",
         "op: max, in: x, out: m, dims: [1], keepdim: true; op: sub, in: [y, m], out: s; op: exp, in: s, out: e; "
         "op: sum, in: e, out: t, dims: [1], keepdim: true; op: div, in: [e, t], out: o"},
        {"Gelu", "op: mul, in: x, out: h, scalar: 0.5; op: div, in: x, out: r, scalar: 1.4142; op: erf, in: r, out: e; "
                 "op: add, in: e, out: p, scalar: 1; op: mul, in: [h, p], out: o; op: neg, in: e, out: n"},
        /* a second sum behind a convolution is nothing that its library computes */
        {"ConvAdd", "op: conv2d, in: [image, filter, c1], out: a, padding: 1; op: sub, in: a, out: o, scalar: 0.5"},
        /* what comes before a contraction is no epilogue of it */
        {"ConvActivation", "op: relu, in: image, out: a; op: conv2d, in: [a, filter], out: o, padding: 1"},
        {"ConvBn",
         "op: batch_norm, in: [image, c1, c2, c3, c4], out: a; op: conv2d, in: [a, filter], out: o, padding: 1"},
        {"ConvMul", "op: mul, in: [image, plane], out: a; op: conv2d, in: [a, filter], out: o, padding: 1"},
        {"ConvAdd", "op: add, in: [image, plane], out: a; op: conv2d, in: [a, filter], out: o, padding: 1"},
        {"GemmActivation", "op: relu, in: x, out: a; op: matmul, in: [a, w], out: o"},
        {"MatMulAdd", "op: add, in: [x, one], out: a; op: matmul, in: [a, w], out: o"},
        {"ShuffleReduce",
         "op: sum, in: x, out: a, dims: [1], keepdim: true; op: transpose, in: a, out: o, dims: [0, 1]"},
        {"ScaleOffsetPower", "op: add, in: [x, one], out: a; op: mul, in: [a, two], out: o"},
        {"MatMulTranspose", "op: permute, in: z, out: t, dims: [1, 0, 2]; op: matmul, in: [t, w], out: o"},
        /* the library's factor is in front of the bias; one behind it makes a kernel that is slower than the call */
        {"MatMulScale", "op: linear, in: [x, w, one], out: a; op: mul, in: a, out: o, scalar: 2"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const fixture f = plan(row[i].operators);
        assert_false(made_by(&f, row[i].rule));
        fsim_arena_free(f.a);
    }
}

static double cost_of(const fsim_plan *plan, fsim_objective objective)
{
    double bytes = 0;
    for (int k = 0; k < plan->kernels; k++)
        bytes += (double)(plan->kernel[k].dram_read_bytes + plan->kernel[k].dram_write_bytes);
    return objective == FSIM_MINIMISE_BYTES ? bytes : plan->time_s;
}

/* A step of training calls the library's attention backward, whichever plan is shown and whatever is minimised: no
 * other plan costs less than the optimum that a report compares with. */
static void no_plan_of_training_beats_the_optimum(void **unused)
{
    (void)unused;
    const char *text =
        "tensors:\n  q: {shape: [2, 8, 512, 64], dtype: f16}\n  k: {shape: [2, 8, 512, 64], dtype: f16}\n"
        "  v: {shape: [2, 8, 512, 64], dtype: f16}\noperators:\n  - {op: attention, in: [q, k, v], out: o}\n";
    const fsim_derive how = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL};
    for (int i = 0; i <= FSIM_STRATEGY_COUNT; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
        const fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){.derive = &how});
        assert_true(hw && g);
        fsim_options o = usual;
        o.strategy = i < FSIM_STRATEGY_COUNT ? (fsim_strategy)i : FSIM_STRATEGY_OPTIMAL;
        o.objective = i < FSIM_STRATEGY_COUNT ? FSIM_MINIMISE_TIME : FSIM_MINIMISE_BYTES;
        o.search_steps = 3000;
        const fsim_prediction p = fsim_predict(g, hw, &o, a);
        const double optimum = cost_of(&p.plan[FSIM_STRATEGY_OPTIMAL], o.objective);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
            assert_true(p.plan[s].kernels == 0 || optimum <= cost_of(&p.plan[s], o.objective) * (1 + 1e-12));
        assert_true(p.proof.lower_bound <= optimum);
        fsim_arena_free(a);
    }
}

/* An operator that no rule has a name for, or whose one kernel would take longer, stays what PyTorch launches for it.
 */
static void what_no_rule_takes_stays_an_operator(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        int kernels;
    } row[] = {
        {"op: batch_norm, in: [x, one, two], out: o, training: true", 2}, /* statistics, then their use */
        {"op: batch_norm, in: [x, one, two], out: a, training: true; op: relu, in: a, out: o", 3},
        {"op: quantize, in: x, out: [o, s], per: row", 1},
        {"op: var, in: x, out: o, dims: [1]", 1},
        {"op: transpose, in: x, out: t, dims: [0, 1]; op: exp, in: t, out: o", 2}, /* no strided tensors */
        {"op: attention, in: [q, k, v], out: a; op: permute, in: a, out: b, dims: [0, 2, 1, 3]; op: copy, in: b, "
         "out: o",
         1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const fixture f = plan(row[i].operators);
        if (f.p->plan[FSIM_STRATEGY_PATTERN].kernels != row[i].kernels)
            print_message("%s\n", row[i].operators);
        assert_int_equal(f.p->plan[FSIM_STRATEGY_PATTERN].kernels, row[i].kernels);
        fsim_arena_free(f.a);
    }
}

/* Attention is one kernel for all or for none of the systems that have it. */
static void attention_is_one_kernel_where_that_is_legal(void **unused)
{
    (void)unused;
    const fixture f = plan("op: attention, in: [q, k, v], out: o");
    fsim_options o = usual;
    fsim_problem p = fsim_problem_of(f.g, f.hw, &o, f.a);
    int *node = fsim_new(f.a, int, f.g->nodes);
    for (int n = 0; n < f.g->nodes; n++)
        node[n] = n;
    const bool legal = fsim_kernel_alone(&p, node, f.g->nodes, f.a) != NULL;
    assert_int_equal(made_by(&f, "Attention"), legal);
    assert_int_equal(f.p->plan[FSIM_STRATEGY_PATTERN].kernels, legal ? 1 : 3);
    assert_int_equal(f.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, legal ? 1 : 3);
    assert_int_equal(f.p->plan[FSIM_STRATEGY_XLA].kernels, 3);
    fsim_arena_free(f.a);
}

/* Kernels of each system, -1 where nothing is known about it. */
typedef struct {
    const char *operators;
    int eager, greedy, inductor, pattern, xla, maximal;
} row;

static void check_row(const fixture *f, const row *r, const char *what)
{
    const struct {
        fsim_strategy s;
        int want;
    } each[] = {{FSIM_STRATEGY_EAGER, r->eager},       {FSIM_STRATEGY_GREEDY, r->greedy},
                {FSIM_STRATEGY_INDUCTOR, r->inductor}, {FSIM_STRATEGY_PATTERN, r->pattern},
                {FSIM_STRATEGY_XLA, r->xla},           {FSIM_STRATEGY_MAXIMAL, r->maximal}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const int kernels = f->p->plan[each[i].s].kernels;
        if (each[i].want >= 0 && kernels != each[i].want)
            print_message("%s: %d kernels, wanted %d: %s\n", fsim_strategy_names[each[i].s], kernels, each[i].want,
                          what);
        assert_true(each[i].want < 0 || kernels == each[i].want);
    }
}

static void plans_are_those_of_the_systems(void **unused)
{
    (void)unused;
    static const row rows[] = {
        /* a cheap producer of two consumers vanishes into both, or they share it */
        {"op: mul, in: x, out: t, scalar: 2; op: exp, in: t, out: a; op: tanh, in: t, out: b", 3, 1, 1, 3, 1, 1},
        /* two matrix products read it: a library call can't compute it again */
        {"op: relu, in: x, out: t; op: matmul, in: [t, w], out: a; op: matmul, in: [t, y], out: b", 3, -1, 3, 3, 3, -1},
        /* convolution, normalisation, activation: one kernel by rule, the library's convolution and a loop by compiler
         */
        {"op: conv2d, in: [image, filter], out: a, padding: 1; op: batch_norm, in: [a, c1, c2, c3, c4], out: b; op: "
         "relu, in: b, out: o",
         3, 1, 2, 1, 2, 1},
        /* with a bias and nothing else, cuDNN takes all three under XLA; Inductor keeps the bias for its own loop */
        {"op: conv2d, in: [image, filter, c1], out: a, padding: 1; op: relu, in: a, out: o", 3, 1, 2, 1, 1, 1},
        /* ONNX Runtime's Clip goes behind the convolution where the library has it: of ReLU and clamp one, and two in a
         * convolution of ours take longer than apart.
         * Greedy fusion leaves it out of a convolution of ours, which takes longer than the library's. */
        {"op: conv2d, in: [image, filter], out: a, padding: 1; op: relu, in: a, out: b; op: clamp, in: b, out: o, "
         "min: 0, max: 6",
         3, 2, 2, 2, 2, 1},
        {"op: conv2d, in: [image, filter], out: a, padding: 1, compute: tf32; op: relu, in: a, out: b; op: clamp, in: "
         "b, out: o, min: 0, max: 6",
         3, 2, 2, 2, 2, 1},
        /* Inductor's scatters compute what they write; PyTorch's, which add bf16, read it */
        {"op: relu, in: x, out: a; op: index_add, in: [y, ids, a], out: o, dim: 0, inplace: false", 2, -1, 1, -1, -1,
         -1},
        {"op: cast, in: x, out: a, dtype: bf16; op: cast, in: y, out: b, dtype: bf16; op: index_copy, in: [b, ids, a], "
         "out: o, dim: 0, inplace: false",
         3, -1, 2, -1, -1, -1},
        {"op: cast, in: x, out: a, dtype: bf16; op: cast, in: y, out: b, dtype: bf16; op: index_add, in: [b, ids, a], "
         "out: o, dim: 0, inplace: false",
         3, -1, 3, -1, -1, -1},
        /* cuBLASLt adds no bias to a product of integers */
        {"op: cast, in: x, out: i, dtype: i8; op: cast, in: w, out: j, dtype: i8; op: matmul, in: [i, j], out: a; op: "
         "add, in: [a, bytes], out: o",
         4, -1, -1, -1, 4, -1},
        /* ONNX Runtime's MatMulScale: an engine multiplies integers on tensor units, which no kernel of ours does */
        {"op: cast, in: x, out: i, dtype: i8; op: cast, in: w, out: j, dtype: i8; op: matmul, in: [i, j], out: a, "
         "dtype: i32; op: mul, in: a, out: o, scalar: 0.1",
         4, -1, -1, 4, -1, -1},
        {"op: softmax, in: x, out: o, dim: 1", 1, 1, 1, 1, 1, 1},
        {"op: layer_norm, in: [x, one, two], out: o", 1, 1, 1, 1, 1, 1},
        /* square, mean, eps, root, factor, weight; PyTorch's own operator is one kernel on GPUs */
        {"op: rms_norm, in: [x, one], out: o", 6, 1, 1, 1, 1, 1},
        {"op: rms_norm, in: [x, one], out: o, fused: true", 1, 1, 1, 1, 1, 1},
        {"op: mul, in: [x, x], out: a; op: sum, in: a, out: o, dims: [1]", 2, 1, 1, 1, 1, 1},
        /* softmax(x y^T) z: one reduction between two products */
        {"op: matmul, in: [x, y], out: s; op: softmax, in: s, out: p, dim: 1; op: matmul, in: [p, w], out: o", 3, 3, 3,
         1, 3, -1},
        /* the same with a factor on an operand, as PyTorch's decompositions have it */
        {"op: mul, in: x, out: h, scalar: 0.125; op: matmul, in: [h, y], out: s; op: softmax, in: s, out: p, dim: 1; "
         "op: matmul, in: [p, w], out: o",
         4, -1, -1, 1, -1, -1},
        /* addmm: the bias belongs to the call unless only pointwise operators follow */
        {"op: linear, in: [x, w, one], out: a; op: softmax, in: a, out: o, dim: 1", 2, 2, 2, 2, 2, 2},
        /* greedy: the library has no such epilogue (erf), and the product with it takes longer than both */
        {"op: linear, in: [x, w, one], out: a; op: gelu, in: a, out: o", 2, 2, 2, 2, 2, 1},
        {"op: linear, in: [x, w, one], out: a; op: relu, in: a, out: o", 2, 1, 2, 1, 1, 1},
        /* what is added is the library's C: addmm, where ATen's operators have no view between, and where not only
         * pointwise operators follow */
        {"op: matmul, in: [x, w], out: a; op: add, in: [y, a], out: o", 2, 1, 1, 1, 1, 1},
        {"op: matmul, in: [z, w], out: a; op: add, in: [z, a], out: o", 2, 1, 2, 2, 1, 1},
        {"op: matmul, in: [x, w], out: a; op: add, in: [y, a], out: s; op: exp, in: s, out: o", 3, -1, 2, -1, 2, 1},
        {"op: linear, in: [x, w, one], out: a; op: add, in: [a, y], out: s; op: relu, in: s, out: o", 3, 1, 2, -1, 1,
         1},
        {"op: conv2d, in: [image, filter], out: a, padding: 1, compute: tf32; op: add, in: [a, skip], out: s; op: "
         "relu, "
         "in: s, out: o",
         3, 1, 2, 1, 1, 1},
        /* a swapped operand is a layout, a permuted result is a copy */
        {"op: transpose, in: y, out: t, dims: [0, 1]; op: matmul, in: [x, t], out: o", 1, -1, 1, 1, 1, 1},
        /* a library's call has one product, whatever stands between two of them */
        {"op: matmul, in: [x, w], out: a; op: gelu, in: a, out: g, approximate: tanh; op: matmul, in: [g, y], out: o",
         3, -1, -1, -1, 2, 1},
        /* siblings share their input */
        {"op: exp, in: x, out: a; op: tanh, in: x, out: b", 2, 1, 1, 2, 1, 1},
        /* losses are made in full before their mean */
        {"op: mse_loss, in: [x, y], out: o", 2, 1, 1, -1, 1, 1},
        {"op: normalize, in: x, out: o, dim: 1", 3, 1, 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const fixture f = plan(rows[i].operators);
        check_row(&f, &rows[i], rows[i].operators);
        fsim_arena_free(f.a);
    }
}

/* torch.compile: one loop nest a kernel. */
/* Inductor's addmm copies what is added to the result before: 4 MiB stay in L2, 256 MiB do not. */
static void addmm_copies_what_it_adds(void **unused)
{
    (void)unused;
    for (int large = 0; large < 2; large++) {
        fsim_arena *a = fsim_arena_new();
        const int n = large ? 8192 : 1024;
        const double bytes = 4. * n * n;
        const fixture f = plan_with(fsim_printf(
            a,
            "tensors: {x: {shape: [%d, 1024], dtype: f32}, w: {shape: [1024, %d], dtype: f32}, y: {shape: [%d, %d], "
            "dtype: f32}}\noperators:\n  - {op: matmul, in: [x, w], out: p}\n  - {op: add, in: [p, y], out: o}\n",
            n, n, n, n));
        const fsim_kernel *ours = &f.p->plan[FSIM_STRATEGY_XLA].kernel[0],
                          *theirs = &f.p->plan[FSIM_STRATEGY_INDUCTOR].kernel[0];
        assert_int_equal(f.p->plan[FSIM_STRATEGY_XLA].kernels, 1);
        assert_int_equal(f.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, 1);
        assert_int_equal(ours->launches, 1);
        assert_int_equal(theirs->launches, 2);
        const double again = large ? bytes : 0, launch_s = fsim_hw_get(f.hw, FSIM_HW_LAUNCH_STREAM),
                     longer_s = theirs->time_s - ours->time_s, dram = fsim_hw_get(f.hw, FSIM_HW_DRAM_BANDWIDTH);
        assert_true((double)theirs->dram_write_bytes == (double)ours->dram_write_bytes + again);
        assert_true((double)theirs->dram_read_bytes == (double)ours->dram_read_bytes + again);
        assert_true(longer_s > launch_s + (bytes + again) / dram * 0.99 && longer_s < launch_s + 3 * bytes / dram);
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
}

static void loops_are_those_of_torch_compile(void **unused)
{
    (void)unused;
    static const char tensors[] =
        "tensors:\n"
        "  x: {shape: [1024, 1024], dtype: f32}\n\n"
        "  image: {shape: [32, 64, 56, 56], dtype: f32}\n  volume: {shape: [4, 16, 32, 32, 32], dtype: f32}\n"
        "  filter: {shape: [64, 64, 3, 3], dtype: f32, role: weight}\n  cube: {shape: [16, 16, 3, 3, 3], dtype: f32, "
        "role: weight}\n"
        "  c: {shape: [64], dtype: f32, role: weight}\n  p: {shape: [64, 1, 1], dtype: f32, role: weight}\n"
        "operators:\n";
    static const struct {
        const char *why, *operators;
        int kernels;
    } rows[] = {
        {"a row's result in its loop", "  - {op: softmax, in: x, out: o, dim: 1}\n", 1},
        {"a column's result in one of its own", "  - {op: softmax, in: x, out: o, dim: 0}\n", 2},
        {"channels are rows behind a 2d convolution",
         "  - {op: conv2d, in: [image, filter], out: a}\n  - {op: softmax, in: a, out: o, dim: 1}\n", 2},
        {"and columns behind a 3d one",
         "  - {op: conv3d, in: [volume, cube], out: a}\n  - {op: softmax, in: a, out: o, dim: 1}\n", 3},
        {"rows of a product are its own, beside a convolution",
         "  - {op: conv2d, in: [image, filter], out: a}\n  - {op: matmul, in: [image, image], out: s}\n"
         "  - {op: softmax, in: s, out: o, dim: 3}\n",
         3},
        {"channels that are put last are rows",
         "  - {op: conv2d, in: [image, filter], out: a}\n  - {op: permute, in: a, out: b, dims: [0, 2, 3, 1]}\n"
         "  - {op: layer_norm, in: [b, c, c], out: o}\n",
         2},
        {"windows of 4 take an epilogue",
         "  - {op: avg_pool2d, in: image, out: a, kernel: 2}\n  - {op: relu, in: a, out: o}\n", 1},
        {"of 36 fall back", "  - {op: avg_pool2d, in: image, out: a, kernel: 6}\n  - {op: relu, in: a, out: o}\n", 2},
        {"so does max_pool3d", "  - {op: max_pool3d, in: volume, out: a, kernel: 2}\n  - {op: relu, in: a, out: o}\n",
         2},
        {"a pool's input is materialised",
         "  - {op: relu, in: image, out: a}\n  - {op: avg_pool2d, in: a, out: o, kernel: 2}\n", 2},
        {"rows enough", "  - {op: group_norm, in: [image, c, c], out: o, groups: 64}\n", 1},
        {"few long rows are split", "  - {op: group_norm, in: [image, c, c], out: o, groups: 1}\n", 2},
        {"statistics, then a loop, of what is computed twice",
         "  - {op: conv2d, in: [image, filter, c], out: a}\n  - {op: add, in: [a, p], out: b}\n  - {op: mul, in: [b, "
         "p], out: d}\n"
         "  - {op: sigmoid, in: d, out: e}\n  - {op: group_norm, in: [e, c, c], out: o, groups: 8}\n",
         3},
        {"batch norm and what follows",
         "  - {op: conv2d, in: [image, filter, c], out: a}\n  - {op: batch_norm, in: [a, c, c, c, c], out: b, "
         "training: true}\n"
         "  - {op: relu, in: b, out: o}\n",
         3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fsim_arena *a = fsim_arena_new();
        const fixture f = plan_with(fsim_printf(a, "%s%s", tensors, rows[i].operators));
        check_row(&f, &(row){NULL, -1, -1, rows[i].kernels, -1, -1, -1}, rows[i].why);
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
}

static double read_share(const char *operators)
{
    const fixture f = plan_with(operators);
    double once = 0, read = 0;
    const fsim_plan *plan = &f.p->plan[FSIM_STRATEGY_INDUCTOR];
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].inputs; i++) {
            once += (double)plan->kernel[k].input[i].bytes;
            read += (double)plan->kernel[k].input[i].read_bytes;
        }
    fsim_arena_free(f.a);
    return read / once;
}

/* Each loop over a long row loads it again, from L2 where that still has it. */
static void long_rows_are_loaded_again(void **unused)
{
    (void)unused;
    static const struct {
        const char *shape, *op;
        double times;
    } rows[] = {{"16384, 1024", "softmax", 1},
                {"16384, 8192", "softmax", 1},
                {"4096, 65536", "softmax", 3},
                {"4096, 65536", "logsumexp", 2},
                {"4096, 65536", "sum", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fsim_arena *a = fsim_arena_new();
        const double share = read_share(
            fsim_printf(a, "tensors: {x: {shape: [%s], dtype: f32}}\noperators:\n  - {op: %s, in: x, out: o, %s}\n",
                        rows[i].shape, rows[i].op, strcmp(rows[i].op, "sum") == 0 ? "dims: [1]" : "dim: 1"));
        assert_true(share > 0.99 * rows[i].times && share < 1.01 * rows[i].times);
        fsim_arena_free(a);
    }
}

static double inductor_s(const char *operators)
{
    const fixture f = plan_with(operators);
    const double seconds = f.p->plan[FSIM_STRATEGY_INDUCTOR].time_s;
    fsim_arena_free(f.a);
    return seconds;
}

/* Rows of 65,535 begin anywhere: more instructions, on a GPU that is not slower than they are. */
static void rows_that_begin_anywhere_take_longer(void **unused)
{
    (void)unused;
    const double whole = inductor_s(
        "tensors: {x: {shape: [32768, 65536], dtype: f32}}\noperators:\n  - {op: normalize, in: x, out: o, dim: 1}\n");
    const double odd = inductor_s(
        "tensors: {x: {shape: [32768, 65535], dtype: f32}}\noperators:\n  - {op: normalize, in: x, out: o, dim: 1}\n");
    assert_true(odd > 1.3 * whole);
}

/* The first of two pools without a lowering has its input copied; one alone has not. */
static void pools_in_a_row_copy(void **unused)
{
    (void)unused;
    const char *one = "tensors: {x: {shape: [4, 16, 64, 64, 64], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: "
                      "r}\n  - {op: max_pool3d, in: r, out: a, kernel: 2}\n";
    fsim_arena *a = fsim_arena_new();
    const fixture single = plan_with(one),
                  twice = plan_with(fsim_printf(a, "%s  - {op: max_pool3d, in: a, out: b, kernel: 2}\n", one));
    const fsim_plan *p = &single.p->plan[FSIM_STRATEGY_INDUCTOR], *q = &twice.p->plan[FSIM_STRATEGY_INDUCTOR];
    const double bytes = 4 * 16 * 64 * 64 * 64 * 4;
    assert_true((double)q->kernel[1].dram_read_bytes >= (double)p->kernel[1].dram_read_bytes + bytes);
    fsim_arena_free(single.a);
    fsim_arena_free(twice.a);
    fsim_arena_free(a);
}

static bool runs_channels_last(const char *filter, int groups)
{
    fsim_arena *a = fsim_arena_new();
    const fixture f = load(fsim_printf(a,
                                       "tensors: {x: {shape: [4, 128, 28, 28], dtype: f32}, w: {shape: [%s, 3, 3], "
                                       "dtype: f32, role: weight}}\noperators:\n"
                                       "  - {op: conv2d, in: [x, w], out: o, groups: %d}\n",
                                       filter, groups));
    const bool last = fsim_channels_last(f.g);
    fsim_arena_free(f.a);
    fsim_arena_free(a);
    return last;
}

static void grouped_convolutions_keep_their_layout(void **unused)
{
    (void)unused;
    assert_true(runs_channels_last("256, 128", 1));
    assert_true(runs_channels_last("128, 1", 128));
    assert_false(runs_channels_last("128, 64", 2));
    const fixture f =
        load("tensors: {x: {shape: [1024, 1024], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: o}\n");
    assert_false(fsim_channels_last(f.g));
    fsim_arena_free(f.a);
}

/* One convolution among 300 nodes changes no layout. */
static void one_of_many_nodes_keeps_its_layout(void **unused)
{
    (void)unused;
    for (int others = 296; others < 298; others++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = "tensors: {x: {shape: [8, 256, 56, 56], dtype: f32}, w: {shape: [256, 256, 3, 3], dtype: "
                           "f32, role: weight}}\noperators:\n  - {op: conv2d, in: [x, w], out: t0}\n";
        for (int i = 0; i < others; i++)
            text = fsim_printf(a, "%s  - {op: exp, in: t%d, out: t%d}\n", text, i, i + 1);
        const fixture f = load(text);
        assert_int_equal(fsim_channels_last(f.g), others + 3 < 300); /* with the convolution, x and w */
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
}

/* The host's guards come before the first kernel, its launches with each. */
static void a_compiled_call_waits_for_its_host(void **unused)
{
    (void)unused;
    const fixture f = plan("op: relu, in: x, out: a; op: matmul, in: [a, w], out: b");
    const fsim_plan *p = &f.p->plan[FSIM_STRATEGY_INDUCTOR];
    const double eager = fsim_call_seconds(p->kernel, p->kernels, FSIM_BY_ATEN, FSIM_REGIME_EAGER, f.hw);
    const double compiled = fsim_call_seconds(p->kernel, p->kernels, FSIM_BY_INDUCTOR, FSIM_REGIME_EAGER, f.hw);
    const double guards = fsim_hw_get(f.hw, FSIM_HW_COMPILED_CALL), launch = fsim_hw_get(f.hw, FSIM_HW_COMPILED_LAUNCH);
    assert_true(compiled > eager && compiled > guards + p->kernels * launch);
    assert_true(compiled < eager + guards + p->kernels * launch);
    assert_true(fsim_call_seconds(p->kernel, p->kernels, FSIM_BY_INDUCTOR, FSIM_REGIME_STREAM, f.hw) < compiled);
    fsim_arena_free(f.a);
}

/* exps of [4096, 1], then added to [4096, 4096]: neither all nor nothing is right. Counting reads and operators sees
 * nothing wrong in all. */
static void exp_chain_and_broadcast(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *text =
        "tensors: {x: {shape: [4096, 1], dtype: f16}, y: {shape: [4096, 4096], dtype: f16}}\noperators:\n";
    for (int i = 0; i < 8; i++)
        text = fsim_printf(a, "%s  - {op: exp, in: %s, out: t%d}\n", text, i ? fsim_printf(a, "t%d", i - 1) : "x", i);
    const fixture f = plan_with(fsim_printf(a, "%s  - {op: add, in: [t7, y], out: o}\n", text));
    check_row(&f, &(row){NULL, 9, 2, 1, 1, 2, 1}, "exp chain");
    assert_true(f.p->plan[FSIM_STRATEGY_INDUCTOR].time_s > 1.2 * f.p->plan[FSIM_STRATEGY_OPTIMAL].time_s);
    fsim_arena_free(f.a);
    fsim_arena_free(a);
}

/* concat of `parts` tensors, scaled. */
static fixture concat(int parts)
{
    fsim_arena *a = fsim_arena_new();
    const char *text = "tensors:\n", *list = "";
    for (int i = 0; i < parts; i++) {
        text = fsim_printf(a, "%s  x%d: {shape: [512, 256], dtype: f32}\n", text, i);
        list = fsim_printf(a, "%s%sx%d", list, i ? ", " : "", i);
    }
    const fixture f = plan_with(fsim_printf(
        a, "%soperators:\n  - {op: concat, in: [%s], out: c, dim: 1}\n  - {op: mul, in: c, out: o, scalar: 2}\n", text,
        list));
    fsim_arena_free(a);
    return f;
}

static void nine_inputs_are_too_many_to_inline(void **unused)
{
    (void)unused;
    const fixture eight = concat(8), nine = concat(9);
    double extra[2] = {0, 0}; /* copies of the inputs cost the wrapper */
    for (int i = 0; i < 2; i++) {
        const fsim_plan *p = &(i ? nine : eight).p->plan[FSIM_STRATEGY_INDUCTOR];
        for (int k = 0; k < p->kernels; k++)
            extra[i] += p->kernel[k].compiled_extra;
    }
    assert_true(extra[0] == 0 && fabs(extra[1] - 8 * 0.4) < 1e-9);

    assert_int_equal(eight.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, 1);
    assert_int_equal(nine.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, 2);
    fsim_arena_free(eight.a);
    fsim_arena_free(nine.a);
}

/* n operators in a chain; kept: each result is wanted. */
static fixture chain(int n, bool kept)
{
    fsim_arena *a = fsim_arena_new();
    char *text = fsim_new(a, char, 64 * n + 256),
         *end = text + sprintf(text, "tensors: {t0: {shape: [65536], dtype: f32}}\noperators:\n");
    for (int i = 0; i < n; i++)
        end += sprintf(end, "  - {op: %s, in: t%d, out: t%d}\n", i % 2 ? "neg" : "abs", i, i + 1);
    end += sprintf(end, "outputs: [t%d", n);
    for (int i = 1; kept && i < n; i++)
        end += sprintf(end, ", t%d", i);
    sprintf(end, "]\n");
    const fixture f = plan_with(text);
    fsim_arena_free(a);
    return f;
}

/* torch.compile joins at most 64 buffers; a long chain is cut into buffers of about 30 operators first. */
static void buffers_count_not_operators(void **unused)
{
    (void)unused;
    const fixture inlined = chain(70, false), kept = chain(70, true);
    assert_int_equal(inlined.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, 1);
    assert_int_equal(kept.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, 2);
    assert_int_equal(inlined.p->plan[FSIM_STRATEGY_XLA].kernels, 1);
    for (int k = 0; k < 2; k++)
        assert_true(kept.p->plan[FSIM_STRATEGY_INDUCTOR].kernel[k].group->members <= 64);
    fsim_arena_free(inlined.a);
    fsim_arena_free(kept.a);
}

/* A sum of n tensors, scaled first: XLA counts operands and results, 96 at most. */
static void many_operands(void **unused)
{
    (void)unused;
    for (int n = 90; n <= 100; n += 10) {
        fsim_arena *a = fsim_arena_new();
        const char *text = "tensors:\n", *sums = "";
        for (int i = 0; i < n; i++)
            text = fsim_printf(a, "%s  x%d: {shape: [4096], dtype: f32}\n", text, i);
        for (int i = 1; i < n; i++)
            sums = fsim_printf(a, "%s  - {op: add, in: [%s, x%d], out: s%d}\n", sums,
                               i > 1 ? fsim_printf(a, "s%d", i - 1) : "x0", i, i);
        const fixture f = plan_with(fsim_printf(a, "%soperators:\n%s", text, sums));
        const fsim_plan *xla = &f.p->plan[FSIM_STRATEGY_XLA];
        assert_int_equal(xla->kernels, n == 90 ? 1 : 2);
        for (int k = 0; k < xla->kernels; k++)
            assert_true(xla->kernel[k].group->reads + xla->kernel[k].group->writes <= 96);
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
}

/* Forks and joins of everything: elementwise, rows, products, transposes, softmax, gather. */
static const char *random_workload(fsim_arena *a, int n)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "gelu", "silu"}, *const binary[] = {"add", "mul",
                                                                                                          "maximum"};
    static const char *const norm[] = {"softmax", "log_softmax"};
    const char *text = "tensors:\n  x0: {shape: [256, 256], dtype: f32}\n  x1: {shape: [256, 256], dtype: f32}\n  b: "
                       "{shape: [256], dtype: f32, role: weight}\n"
                       "  ids: {shape: [256], dtype: i64}\noperators:\n";
    char *all = fsim_new(a, char, 128 * n + 1024), *end = all + sprintf(all, "%s", text);
    const char **made = fsim_new(a, const char *, n + 2);
    made[0] = "x0";
    made[1] = "x1";
    for (int i = 0; i < n; i++) {
        const char *x = draw(2) ? made[i + 1] : made[draw((uint32_t)i + 2)], *y = made[draw((uint32_t)i + 2)],
                   *o = fsim_printf(a, "t%d", i);
        const uint32_t kind = draw(16);
        made[i + 2] = o;
        if (kind < 5)
            end += sprintf(end, "  - {op: %s, in: %s, out: %s}\n", unary[draw(6)], x, o);
        else if (kind < 9)
            end += sprintf(end, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(3)], x, y, o);
        else if (kind < 11)
            end += sprintf(end, "  - {op: %s, in: [%s, b], out: %s}\n", binary[draw(3)], x, o);
        else if (kind == 11)
            end += sprintf(end, "  - {op: %s, in: %s, out: %s, dim: 1}\n", norm[draw(2)], x, o);
        else if (kind == 12)
            end += sprintf(end, "  - {op: matmul, in: [%s, %s], out: %s}\n", x, y, o);
        else if (kind == 13)
            end += sprintf(end, "  - {op: transpose, in: %s, out: %s, dims: [0, 1]}\n", x, o);
        else if (kind == 14)
            end += sprintf(end, "  - {op: gather, in: [%s, ids], out: %s}\n", x, o);
        else
            end += sprintf(end, "  - {op: %s, in: %s, out: %s, dim: 0}\n", "cumsum", x, o);
    }
    return all;
}

static bool same_plan(const fsim_plan *x, const fsim_plan *y)
{
    bool same = x->kernels == y->kernels && x->objective == y->objective;
    for (int k = 0; k < x->kernels && same; k++)
        same = x->partition.part[k].count == y->partition.part[k].count &&
               memcmp(x->partition.part[k].node, y->partition.part[k].node,
                      (size_t)x->partition.part[k].count * sizeof(int)) == 0;
    return same;
}

/* Legal as they stand, and the same twice. */
static void check_promises(const fixture *f, const fsim_options *o, int s, const fsim_plan *plan)
{
    fsim_problem p = fsim_problem_of(f->g, f->hw, o, f->a), other = fsim_problem_of(f->g, f->hw, o, f->a);
    fsim_plan priced, again;
    fsim_refusal why;
    assert_true(plan->kernels > 0 && fsim_price(&p, &plan->partition, f->a, &priced, &why));
    assert_int_equal(priced.objective, plan->objective);
    fsim_baseline(&other, (fsim_strategy)s, f->a, &again);
    assert_true(same_plan(plan, &again));
    for (int k = 0; k < plan->kernels && s != FSIM_STRATEGY_EAGER; k++) {
        const fsim_part *part = &plan->partition.part[k];
        assert_true(fsim_connected(f->g, part->node, part->count, f->a, &why));
        for (int i = 0; i < part->count; i++)
            assert_false(part->clone[i] && o->no_recompute);
    }
}

static fsim_options drawn_options(int turn)
{
    fsim_options o = usual;
    o.no_recompute = turn % 4 == 3;
    o.objective = turn % 5 == 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME;
    o.warm = turn % 7 == 1;
    return o;
}

static void baselines_are_legal(void **unused)
{
    (void)unused;
    state = 4444;
    for (int turn = 0; turn < GRAPHS; turn++) {
        fsim_arena *scratch = fsim_arena_new();
        const fsim_options o = drawn_options(turn);
        const fixture f = load(random_workload(scratch, 3 + (int)draw(60)));
        fsim_problem p = fsim_problem_of(f.g, f.hw, &o, f.a);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
            fsim_plan plan;
            if (s == FSIM_STRATEGY_OPTIMAL)
                continue;
            fsim_baseline(&p, (fsim_strategy)s, f.a, &plan);
            check_promises(&f, &o, s, &plan);
        }
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

static void no_baseline_beats_the_optimum(void **unused)
{
    (void)unused;
    state = 5555;
    int proven = 0;
    for (int turn = 0; turn < 30; turn++) {
        fsim_arena *scratch = fsim_arena_new();
        const fsim_options o = drawn_options(turn);
        fixture f = load(random_workload(scratch, 2 + (int)draw(4)));
        const fsim_prediction made = fsim_predict(f.g, f.hw, &o, f.a);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
            if (!fsim_strategies[s].asked || s == (int)o.strategy)
                assert_true(made.plan[s].objective >= made.plan[FSIM_STRATEGY_OPTIMAL].objective);
        proven += made.proof.proven;
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
    assert_true(proven > 15);
}

/* A model of a hundred layers: work is counted in half microseconds and is the same on every machine. */
static void large_graphs_cost_little(void **unused)
{
    (void)unused;
    fsim_arena *scratch = fsim_arena_new();
    state = 1;
    const fixture f = load(random_workload(scratch, LARGE));
    assert_true(2 * f.g->nodes > 3 * LARGE);
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
        fsim_problem p = fsim_problem_of(f.g, f.hw, &usual, f.a);
        fsim_plan plan;
        if (s == FSIM_STRATEGY_OPTIMAL)
            continue;
        fsim_baseline(&p, (fsim_strategy)s, f.a, &plan);
        if (fsim_work(&p) >= 1000 * f.g->nodes)
            print_message("%s: %.0f steps a primitive\n", fsim_strategy_names[s], (double)fsim_work(&p) / f.g->nodes);
        assert_true(fsim_work(&p) < 1000 * f.g->nodes);
    }
    fsim_arena_free(f.a);
    fsim_arena_free(scratch);
}

/* No two kernels of maximal may be one. */
static void maximal_is_maximal(void **unused)
{
    (void)unused;
    state = 99;
    for (int turn = 0; turn < 20; turn++) {
        fsim_arena *scratch = fsim_arena_new();
        const fixture f = load(random_workload(scratch, 20));
        fsim_problem p = fsim_problem_of(f.g, f.hw, &usual, f.a);
        fsim_plan plan;
        fsim_baseline(&p, FSIM_STRATEGY_MAXIMAL, f.a, &plan);
        fsim_clusters *c = fsim_clusters_of(&p, &plan.partition, f.a);
        for (int x = 0; x < c->parts; x++) {
            int *other, others = fsim_sharers(c, x, &other);
            for (int i = 0; i < others; i++) {
                const int pair[2] = {x, other[i]};
                assert_true(!fsim_joined_kernel(c, pair, 2, -1) || fsim_interlocked(c, pair, 2));
            }
        }
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* The search computes nothing again for readers far away, so eager copies a view that it could otherwise read through,
 * and no plan computes a gather twice. */
static void what_is_read_far_away_is_made_once(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *text = "op: transpose, in: x, out: t, dims: [0, 1]; op: add, in: [t, y], out: a0";
    for (int i = 0; i < 70; i++)
        text = fsim_printf(a, "%s; op: relu, in: a%d, out: a%d", text, i, i + 1);
    fixture f = plan(fsim_printf(a, "%s; op: add, in: [a70, t], out: o", text));
    assert_int_equal(f.p->plan[FSIM_STRATEGY_EAGER].kernels, 73);
    fsim_arena_free(f.a);
    f = plan("op: gather, in: [x, ids], out: g; op: relu, in: g, out: r; op: sum, in: r, out: s, dim: 0; op: add, in: "
             "[r, w], out: o");
    assert_int_equal(f.p->plan[FSIM_STRATEGY_INDUCTOR].kernels, 2);
    fsim_arena_free(f.a);
    fsim_arena_free(a);
}

/* Values that are inlined may read others: what is far away through several of them is stored, and the plan is one. */
static void what_is_inlined_twice_may_be_far_away(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *text = "op: add, in: [x, y], out: p0";
    for (int i = 0; i < 45; i++)
        text = fsim_printf(a, "%s; op: relu, in: p%d, out: p%d", text, i, i + 1);
    text = fsim_printf(a, "%s; op: mul, in: [p0, y], out: q0", text);
    for (int i = 0; i < 45; i++)
        text = fsim_printf(a, "%s; op: relu, in: q%d, out: q%d", text, i, i + 1);
    fixture f = plan(fsim_printf(a, "%s; op: matmul, in: [q45, w], out: g; op: mul, in: [g, q0], out: o", text));
    assert_true(f.p->plan[FSIM_STRATEGY_INDUCTOR].kernels < 10);
    fsim_arena_free(f.a);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_matches),
        cmocka_unit_test(rules_ask_for_their_conditions),
        cmocka_unit_test(no_plan_of_training_beats_the_optimum),
        cmocka_unit_test(what_no_rule_takes_stays_an_operator),
        cmocka_unit_test(attention_is_one_kernel_where_that_is_legal),
        cmocka_unit_test(plans_are_those_of_the_systems),
        cmocka_unit_test(addmm_copies_what_it_adds),
        cmocka_unit_test(loops_are_those_of_torch_compile),
        cmocka_unit_test(long_rows_are_loaded_again),
        cmocka_unit_test(rows_that_begin_anywhere_take_longer),
        cmocka_unit_test(pools_in_a_row_copy),
        cmocka_unit_test(grouped_convolutions_keep_their_layout),
        cmocka_unit_test(one_of_many_nodes_keeps_its_layout),
        cmocka_unit_test(a_compiled_call_waits_for_its_host),
        cmocka_unit_test(exp_chain_and_broadcast),
        cmocka_unit_test(nine_inputs_are_too_many_to_inline),
        cmocka_unit_test(buffers_count_not_operators),
        cmocka_unit_test(many_operands),
        cmocka_unit_test(baselines_are_legal),
        cmocka_unit_test(no_baseline_beats_the_optimum),
        cmocka_unit_test(large_graphs_cost_little),
        cmocka_unit_test(maximal_is_maximal),
        cmocka_unit_test(what_is_read_far_away_is_made_once),
        cmocka_unit_test(what_is_inlined_twice_may_be_far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as choices of a small graph, an operator every few bytes, so that each input is one: planned, priced and
 * emitted. Its best plan is the least of all legal ones, which are enumerated where they are few; no bound exceeds it;
 * each plan of any strategy is priced again as it was, and each of its kernels is written. With FUSESIM_FUZZ_RUN=1
 * kernels are compiled as C and compared with the reference, too, which takes a second. */
#include "emit/generate.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include "validate/device/backends.h"
#include "validate/trial/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FULL, ROW, COLUMN, MOST = 8, FIRST = 3, MOST_ENUMERATED = 9, MOST_PARTITIONS = 1000 };

typedef struct {
    const uint8_t *at, *end;
    fsim_arena *a;
    const char *text, *name[FIRST + MOST];
    int kind[FIRST + MOST], count;
} choices;

/* One of 0 to below - 1: the next byte; 0 behind the end. */
static int pick(choices *c, int below) { return c->at < c->end ? *c->at++ % below : 0; }

/* A tensor of any kind or, where `kind` is one, of that: the last such one where the byte's is of another kind. */
static int tensor(choices *c, int kind)
{
    int at = c->count - 1 - pick(c, c->count);
    while (kind >= 0 && c->kind[at] != kind)
        at = at > 0 ? at - 1 : c->count - 1;
    return at;
}

static const char *reduction(choices *c, const char *out, const char *x, int *kind)
{
    static const char *const reduce[] = {"sum", "max", "mean", "min"};
    const char *op = reduce[pick(c, 4)];
    *kind = pick(c, 2) ? ROW : COLUMN;
    return fsim_printf(c->a, "{op: %s, in: %s, out: %s, dims: [%d], keepdim: %s}", op, x, out, *kind == ROW,
                       *kind == ROW ? "true" : "false");
}

static void add(choices *c)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "gelu", "abs"},
                             *const binary[] = {"add", "mul", "maximum", "sub", "minimum"},
                             *const moves[] = {"{op: roll, in: %s, out: %s, dims: [1], roll: [2]}",
                                               "{op: flip, in: %s, out: %s, dims: [0]}",
                                               "{op: cumsum, in: %s, out: %s, dim: 1}",
                                               "{op: dropout, in: %s, out: %s, p: 0.5}",
                                               "{op: softmax, in: %s, out: %s, dim: 1}",
                                               "{op: softmax, in: %s, out: %s, dim: 0}",
                                               "{op: layer_norm, in: %s, out: %s}",
                                               "{op: sort, in: %s, out: %s, dim: 1}",
                                               "{op: transpose, in: %s, out: %s, dims: [0, 1]}",
                                               "{op: matmul, in: [%s, w], out: %s}"};
    const char *out = fsim_printf(c->a, "t%d", c->count), *line;
    const int what = pick(c, 12), any = tensor(c, -1), full = tensor(c, FULL);
    int kind = FULL;
    if (what < 3) {
        kind = c->kind[any];
        line = fsim_printf(c->a, "{op: %s, in: %s, out: %s}", unary[pick(c, 6)], c->name[any], out);
    } else if (what < 6) {
        line =
            fsim_printf(c->a, "{op: %s, in: [%s, %s], out: %s}", binary[pick(c, 5)], c->name[full], c->name[any], out);
    } else if (what < 8) {
        line = reduction(c, out, c->name[full], &kind);
    } else {
        line = fsim_printf(c->a, moves[pick(c, 10)], c->name[full], out);
    }
    c->text = fsim_printf(c->a, "%s  - %s\n", c->text, line);
    c->name[c->count] = out;
    c->kind[c->count++] = kind;
}

static const char *workload(const uint8_t *data, size_t size, fsim_arena *a)
{
    choices c = {
        .at = data, .end = data + size, .a = a, .name = {"x", "r", "b"}, .kind = {FULL, ROW, COLUMN}, .count = FIRST};
    static const int lengths[] = {8, 33, 64, 500};
    const int n = lengths[pick(&c, 4)], outputs = pick(&c, 4);
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    const char *dtype = dtypes[pick(&c, 3)];
    c.text = fsim_printf(a,
                         "tensors: {x: {shape: [%d, %d], dtype: %s}, r: {shape: [%d, 1], dtype: %s}, b: {shape: [%d], "
                         "dtype: %s}, w: {shape: [%d, %d], dtype: %s, role: weight}}\noperators:\n",
                         n, n, dtype, n, dtype, n, dtype, n, n, dtype);
    for (int i = 0; i < MOST && (i == 0 || c.at < c.end); i++)
        add(&c);
    const char *wanted = c.name[c.count - 1];
    for (int i = 0; i < outputs && c.count - 2 - i >= FIRST; i++) /* others reach memory for their own sake */
        wanted = fsim_printf(a, "%s, %s", wanted, c.name[c.count - 2 - i]);
    return fsim_printf(a, "%soutputs: [%s]\n", c.text, wanted);
}

typedef struct {
    fsim_sum least;
    int partitions;
} least_of;

static bool take(void *to, const fsim_plan *plan)
{
    least_of *m = to;
    m->least = m->partitions++ == 0 || plan->objective < m->least ? plan->objective : m->least;
    return true;
}

static void check(const fsim_graph *g, const fsim_hw *hw, const fsim_options *how, fsim_arena *a)
{
    fsim_problem p = fsim_problem_of(g, hw, how, a);
    fsim_plan best, again;
    fsim_proof proof;
    fsim_refusal why;
    bool truncated = true;
    least_of all = {0};
    fsim_optimal(&p, NULL, 0, a, &best, &proof);
    if (g->nodes <= MOST_ENUMERATED)
        fsim_enumerate(&p, MOST_PARTITIONS, take, &all, &truncated);
    const double unit = how->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    if (all.partitions > 0 &&
        ((proof.proven && all.least < best.objective) || proof.lower_bound > (double)all.least * unit * (1 + 1e-12)))
        abort();
    if (!truncated && (all.partitions == 0 || (proof.proven && all.least != best.objective)))
        abort();
    for (fsim_strategy s = 0; s < FSIM_STRATEGY_COUNT; s++) {
        fsim_plan plan = best;
        if (s != FSIM_STRATEGY_OPTIMAL)
            fsim_baseline(&p, s, a, &plan);
        if (plan.kernels == 0)
            continue;
        if (!isfinite(plan.time_s) || plan.time_s <= 0 || (proof.proven && plan.objective < best.objective))
            abort();
        if (!fsim_price(&p, &plan.partition, a, &again, &why) || again.objective != plan.objective)
            abort();
        const fsim_program *program = fsim_programs_of(g, hw, &plan, 1, a);
        for (int k = 0; k < plan.kernels; k++)
            if (!program[k].source == !program[k].skipped)
                abort();
    }
}

static void run(const fsim_graph *g, const fsim_hw *hw, const fsim_options *how, const char *text, fsim_arena *a)
{
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_MAXIMAL};
    fsim_fault fault = {0};
    fsim_device *host = fsim_device_open(FSIM_DEVICE_CPU, &(fsim_device_options){.threads = 1}, a, &fault);
    fsim_trial t = fsim_trial_of(g, hw, how, strategy, 2, a);
    if (!host)
        return;
    if (!fsim_trial_check(&t, host, &(fsim_trial_source){.most_s = 10}, &fault))
        abort();
    for (int i = 0; i < t.plans; i++)
        if (t.plan[i].wrong > 0) {
            fprintf(stderr, "%s\n%s", t.plan[i].first_wrong, text);
            abort();
        }
    host->backend->close(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fsim_arena *whole;
    static const fsim_hw *hw[2];
    if (!whole) {
        whole = fsim_arena_new();
        hw[0] = fsim_hw_read(whole, fsim_diag_new(whole), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
        hw[1] = fsim_hw_read(whole, fsim_diag_new(whole), FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
    }
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const char *text = workload(data, size, a);
    const fsim_graph *g = fsim_graph_parse(a, d, "fuzz.yaml", text, strlen(text), NULL);
    if (!g) {
        fsim_diag_print(d, stderr, false);
        fputs(text, stderr);
        abort(); /* each is a workload */
    }
    const fsim_options how = {.strategy = FSIM_STRATEGY_OPTIMAL,
                              .regime = size % 3 == 0   ? FSIM_REGIME_EAGER
                                        : size % 3 == 1 ? FSIM_REGIME_STREAM
                                                        : FSIM_REGIME_GRAPH,
                              .objective = size % 5 == 0 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME,
                              .no_recompute = size % 7 == 0,
                              .warm = size % 2,
                              .search_steps = 20000};
    const char *asked = getenv("FUSESIM_FUZZ_RUN");
    if (g->nodes > 0)
        check(g, hw[size / 2 % 2], &how, a);
    if (g->nodes > 0 && asked && *asked == '1')
        run(g, hw[0], &how, text, a);
    fsim_arena_free(a);
    return 0;
}

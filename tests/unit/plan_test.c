/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 2 */
/* What is said about plans that exist: differences, alternatives, the front of time against memory, timelines, causes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/price/price.h"
#include "plan/price/timeline.h"
#include "predict.h"
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { EVERY = 15 };
#else
enum { EVERY = 2 };
#endif

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_options how;
    fsim_problem p;
} bench;

static bench open_bench(const char *workload, const char *hw)
{
    bench b = {.a = fsim_arena_new(),
               .how = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 300000}};
    fsim_diag *d = fsim_diag_new(b.a);
    size_t bytes;
    const char *why, *path = fsim_printf(b.a, "%s/workloads/%s.yaml", FUSESIM_SOURCE_DIR, workload);
    char *text = fsim_read_file(b.a, path, &bytes, &why);
    assert_non_null(text);
    b.g = fsim_graph_parse(b.a, d, path, text, bytes, NULL);
    b.hw = fsim_hw_read(b.a, d, fsim_printf(b.a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, hw));
    assert_true(b.g && b.hw);
    b.p = fsim_problem_of(b.g, b.hw, &b.how, b.a);
    return b;
}

static int64_t ticks(double seconds) { return llrint(seconds / FSIM_TICK_S); }

static fsim_sum dram(const fsim_plan *plan) { return plan->dram_read_bytes + plan->dram_write_bytes; }

static int64_t unfused_reads(const char *hw, const char *operators, double share)
{
    bench b = open_bench("seeds/chain4", hw);
    const long long rows = (long long)(share * fsim_l2_effective(b.hw)) / 4096;
    const char *text = fsim_printf(
        b.a, "name: t\ntensors:\n  x: {shape: [%lld, 1024], dtype: f32, role: input}\noperators:\n%s", rows, operators);
    b.g = fsim_graph_parse(b.a, fsim_diag_new(b.a), "t.yaml", text, strlen(text), NULL);
    assert_non_null(b.g);
    const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
    const int64_t times = (int64_t)p.plan[FSIM_STRATEGY_UNFUSED].dram_read_bytes / (rows * 4096);
    fsim_arena_free(b.a);
    return times;
}

/* How often tensors are read from DRAM that fit where they were made, but not beside what else their kernel uses. */
static void a_hosts_cache_loses_what_passes_together(void **unused)
{
    (void)unused;
    static const char *const chain =
        "  - {op: add, in: x, out: t, scalar: 1}\n  - {op: mul, in: t, out: y, scalar: 2}\noutputs: [y]\n";
    static const char *const again =
        "  - {op: max, in: x, out: m, dims: [1], keepdim: true}\n  - {op: sub, in: [x, m], out: y}\noutputs: [y]\n";
    assert_int_equal(unfused_reads("host", chain, 0.4), 1);
    assert_int_equal(unfused_reads("host", chain, 0.6), 2);
    assert_int_equal(unfused_reads("host", again, 0.4), 1);
    assert_int_equal(unfused_reads("host", again, 0.6),
                     2); /* x is there when the second begins, but not its end when that is wanted */
}

static void differences_sum_to_what_plans_differ_by(void **unused)
{
    (void)unused;
    static const char *const names[] = {"mlp", "bert_layer", "seeds/two_consumers", "seeds/attention_standard",
                                        "seeds/broadcast_recompute"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bench b = open_bench(names[i], "a100-sxm4-40gb");
        const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
        for (int x = 0; x < FSIM_STRATEGY_COUNT; x++)
            for (int y = 0; y < FSIM_STRATEGY_COUNT; y++) {
                if (!fsim_planned(&p, x) || !fsim_planned(&p, y))
                    continue;
                fsim_difference *d;
                const int count = fsim_compare(b.g, &p.plan[x], &p.plan[y], b.a, &d);
                int64_t time = 0;
                fsim_sum bytes = 0;
                for (int k = 0; k < count; k++) {
                    time += ticks(d[k].time_s);
                    bytes += d[k].dram_bytes;
                    assert_true(k == 0 || d[k].time_s <= d[k - 1].time_s);
                }
                assert_int_equal(bytes, dram(&p.plan[x]) - dram(&p.plan[y]));
                assert_true(llabs(time - ticks(p.plan[x].time_s) + ticks(p.plan[y].time_s)) <
                            1000 + count); /* differences of doubles */
                assert_true(x != y || count == 0);
            }
        fsim_arena_free(b.a);
    }
}

typedef struct {
    int64_t time[4096];
    fsim_sum memory[4096];
    int count;
} everything;

static bool keep_all(void *to, const fsim_plan *plan)
{
    everything *e = to;
    e->time[e->count] = ticks(plan->time_s);
    e->memory[e->count++] = plan->peak_memory_bytes;
    return e->count < 4096;
}

static int by_ticks(const void *x, const void *y)
{
    return (*(const int64_t *)x > *(const int64_t *)y) - (*(const int64_t *)x < *(const int64_t *)y);
}

static void the_best_plans_are_the_best_of_all(void **unused)
{
    (void)unused;
    static const char *const names[] = {"seeds/chain4", "seeds/two_consumers", "seeds/two_consumers_costly",
                                        "seeds/external_dependency"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bench b = open_bench(names[i], "t4");
        everything *all = fsim_new(b.a, everything, 1);
        bool truncated;
        fsim_enumerate(&b.p, 0, keep_all, all, &truncated);
        assert_false(truncated);
        fsim_plan top[10], front[64];
        const int tops = fsim_top(&b.p, 10, b.a, top);
        assert_int_equal(tops, all->count < 10 ? all->count : 10);
        const int fronts = fsim_pareto(&b.p, 64, b.a, front);
        assert_true(fronts >= 1);
        for (int k = 0; k < all->count; k++) { /* nothing beats the front, in both or in one with the other equal */
            bool covered = false;
            for (int f = 0; f < fronts; f++)
                covered =
                    covered || (ticks(front[f].time_s) <= all->time[k] && front[f].peak_memory_bytes <= all->memory[k]);
            assert_true(covered);
        }
        for (int f = 1; f < fronts; f++)
            assert_true(front[f].time_s > front[f - 1].time_s &&
                        front[f].peak_memory_bytes < front[f - 1].peak_memory_bytes);
        qsort(all->time, (size_t)all->count, sizeof *all->time, by_ticks);
        for (int k = 0; k < tops; k++)
            assert_int_equal(ticks(top[k].time_s), all->time[k]);
        fsim_arena_free(b.a);
    }
}

static void a_memory_limit_is_met_or_said_not_to_be(void **unused)
{
    (void)unused;
    bench b = open_bench("seeds/two_consumers", "t4");
    fsim_options how = b.how;
    how.objective = FSIM_MINIMISE_MEMORY;
    const fsim_prediction least = fsim_predict(b.g, b.hw, &how, b.a);
    const int64_t bytes = (int64_t)least.plan[FSIM_STRATEGY_OPTIMAL].peak_memory_bytes;
    assert_true(least.proof.proven && least.proof.lower_bound == (double)bytes);
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
        assert_true(!fsim_planned(&least, s) || least.plan[s].peak_memory_bytes >= bytes);
    how.objective = FSIM_MINIMISE_TIME;
    how.memory_limit = bytes;
    const fsim_prediction met = fsim_predict(b.g, b.hw, &how, b.a);
    assert_int_equal(met.least_memory_bytes, 0);
    assert_true(met.plan[FSIM_STRATEGY_OPTIMAL].peak_memory_bytes <= bytes);
    how.memory_limit = bytes - 1;
    const fsim_prediction missed = fsim_predict(b.g, b.hw, &how, b.a);
    assert_int_equal(missed.least_memory_bytes, bytes);
    fsim_arena_free(b.a);
}

/* Laws of a timeline: streams are serial, inputs are there, the end lies between the longest stream and the sum. */
static void timelines_keep_their_laws(void **unused)
{
    (void)unused;
    static const char *const names[] = {"mlp", "seeds/allreduce_overlap", "seeds/boundaries",
                                        "seeds/attention_standard"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bench b = open_bench(names[i], "a100-sxm4-40gb");
        const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
            const fsim_plan *plan = &p.plan[s];
            if (!fsim_planned(&p, s))
                continue;
            const fsim_timeline t = fsim_timeline_of(b.g, plan, b.a);
            double end[FSIM_LANE_COUNT] = {0}, busy = 0, *made = fsim_new(b.a, double, b.g->tensors);
            for (int k = 0; k < plan->kernels; k++) {
                const fsim_span *x = &t.span[k];
                assert_true(x->start_s >= end[x->lane]);
                end[x->lane] = x->end_s;
                for (int r = 0; r < plan->kernel[k].inputs; r++)
                    assert_true(x->start_s >= made[plan->kernel[k].input[r].tensor]);
                for (int r = 0; r < plan->kernel[k].outputs; r++)
                    made[plan->kernel[k].output[r].tensor] = x->end_s;
            }
            for (int l = 0; l < FSIM_LANE_COUNT; l++) {
                assert_true(t.makespan_s >= t.busy_s[l]);
                busy += t.busy_s[l];
            }
            assert_true(ticks(t.makespan_s) <= ticks(plan->time_s));
            assert_true(fabs(busy - plan->time_s) < 1e-12 * plan->time_s);
            const bool alone = t.busy_s[FSIM_LANE_COMMUNICATION] + t.busy_s[FSIM_LANE_TRANSFER] == 0;
            assert_true(!alone || t.makespan_s == plan->time_s);
        }
        fsim_arena_free(b.a);
    }
}

static fsim_explanation explain(const bench *b, const char *x, const char *y)
{
    return fsim_explain(b->g, b->hw, &b->how, fsim_find_node(b->g, x), fsim_find_node(b->g, y), b->a);
}

static void causes_name_what_grew(void **unused)
{
    (void)unused;
    const bench hurts = open_bench("seeds/broadcast_recompute", "a100-sxm4-40gb"),
                chain = open_bench("seeds/chain4", "a100-sxm4-40gb");
    const fsim_explanation again = explain(&hurts, "e16", "y");
    assert_true(again.legal && !again.together && again.forced_s > again.best_s);
    assert_int_equal(again.cause.growth, FSIM_GROWN_RECOMPUTING);
    assert_true(again.cause.unit == FSIM_COMPUTE || again.cause.unit == FSIM_SPECIAL || again.cause.unit == FSIM_ISSUE);
    assert_true(again.cause.after_s - again.cause.before_s > 0.5 * (again.forced_s - again.best_s));
    assert_true(again.cause.to == 4096);
    const fsim_explanation apart = explain(&chain, "a", "m");
    assert_true(apart.together && apart.apart_s > apart.best_s && apart.apart_bytes > apart.best_bytes);
    assert_int_equal(apart.cause.growth, FSIM_GROWN_STORING);
    assert_int_equal(apart.cause.unit, FSIM_DRAM);
    fsim_arena_free(hurts.a);
    fsim_arena_free(chain.a);
}

static void no_cause_where_nothing_grows(void **unused)
{
    (void)unused;
    const bench b = open_bench("mlp", "a100-sxm4-40gb");
    const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
    const fsim_kernel *k = &p.plan[FSIM_STRATEGY_OPTIMAL].kernel[0];
    const fsim_cause c = fsim_cause_of(b.g, &k, 1, &k, 1);
    assert_int_equal(c.growth, FSIM_GROWN_NOTHING);
    assert_string_equal(fsim_cause_text(b.g, &c, b.a), "no unit takes longer");
    fsim_arena_free(b.a);
}

/* Two times that show the same digits: their difference is told instead. */
static void a_cause_has_two_different_numbers(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_cause c = {.growth = FSIM_GROWN_UNEXPLAINED, .unit = FSIM_COMPUTE, .node = -1};
    c.before_s = 166.1e-6, c.after_s = 166.4e-6;
    assert_string_equal(fsim_cause_text(NULL, &c, a), "compute takes 300 ns longer");
    c.after_s = 168e-6;
    assert_string_equal(fsim_cause_text(NULL, &c, a), "compute takes 168 us instead of 166 us");
    fsim_arena_free(a);
}

static bool count_one(void *to, const fsim_plan *plan)
{
    assert_true(plan->kernels > 0);
    ++*(int *)to;
    return true;
}

/* The first partitions of a large graph are found long before all sets that might be kernels have been looked at. */
static void an_enumeration_ends_when_it_has_enough(void **unused)
{
    (void)unused;
    enum { WANTED = 300, MOST_STEPS = 1000000 }; /* steps: a third of a second */
    static const char *const names[] = {"llama_block", "gpt2_layer", "seeds/attn_out_residual_ln"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bench b = open_bench(names[i], "t4");
        bool truncated;
        int found = 0;
        assert_int_equal(fsim_enumerate(&b.p, WANTED, count_one, &found, &truncated), WANTED);
        assert_true(found == WANTED && truncated && fsim_work(&b.p) < MOST_STEPS);
        fsim_arena_free(b.a);
    }
}

static void assert_computes_once(const fsim_prediction *p, fsim_strategy s, const char *workload)
{
    const fsim_partition *partition = &p->plan[s].partition;
    for (int k = 0; k < partition->parts; k++)
        for (int i = 0; i < partition->part[k].count; i++)
            if (partition->part[k].clone[i])
                fail_msg("%s: %s computes '%s' again", workload, fsim_strategy_names[s],
                         p->graph->node[partition->part[k].node[i]].name);
}

/* --recompute off holds for the plans of all systems, so that none is better than the best without. */
static void without_recomputation_no_strategy_beats_the_optimum(void **unused)
{
    (void)unused;
    glob_t found;
    int proven = 0;
    assert_int_equal(glob(FUSESIM_SOURCE_DIR "/workloads/*/*.yaml", 0, NULL, &found), 0);
    assert_int_equal(glob(FUSESIM_SOURCE_DIR "/workloads/*.yaml", GLOB_APPEND, NULL, &found), 0);
    for (size_t i = EVERY / 2; i < found.gl_pathc; i += EVERY) {
        const char *path = found.gl_pathv[i] + strlen(FUSESIM_SOURCE_DIR "/workloads/");
        if (strncmp(path, "models/", 7) == 0 || strncmp(path, "stacks/", 7) == 0)
            continue; /* layers of the kinds that are here, very often */
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strlen(path) - 5, path);
        bench b = open_bench(name, i / EVERY % 2 ? "t4" : "h100-sxm5-80gb");
        b.how.no_recompute = true;
        b.how.strategy = FSIM_STRATEGY_XLA;
        const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
        proven += p.proof.proven;
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
            if (s == FSIM_STRATEGY_SERVING && b.g->servings == 0)
                continue; /* not asked for */
            assert_true(fsim_planned(&p, s));
            assert_computes_once(&p, s, path);
            if (p.plan[s].time_s < p.plan[FSIM_STRATEGY_OPTIMAL].time_s)
                fail_msg("%s: %s beats the optimum", path, fsim_strategy_names[s]);
        }
        fsim_arena_free(b.a);
    }
    assert_true(proven > 50 / EVERY);
    globfree(&found);
}

/* `count` products of size x size matrices, each with the result of the one before. */
static bench open_products(int count, int64_t size, const char *dtype, const char *hw)
{
    bench b = open_bench("seeds/chain4", hw);
    const char *shape = fsim_printf(b.a, "shape: [%lld, %lld], dtype: %s", (long long)size, (long long)size, dtype);
    const char *text = fsim_printf(
        b.a, "name: t\ntensors:\n  x: {%s, role: input}\n  w: {%s, role: weight}\noperators:\n", shape, shape);
    for (int i = 0; i < count; i++)
        text = fsim_printf(b.a, "%s  - {op: matmul, in: [%s, w], out: y%d}\n", text,
                           i ? fsim_printf(b.a, "y%d", i - 1) : "x", i);
    b.g = fsim_graph_parse(b.a, fsim_diag_new(b.a), "t.yaml", text, strlen(text), NULL);
    assert_non_null(b.g);
    return b;
}

/* The sums that the plan states are those of its kernels, added up as floating-point numbers. */
static void assert_sums(const fsim_plan *plan)
{
    double seconds = 0, read = 0, written = 0;
    for (int k = 0; k < plan->kernels; k++) {
        assert_true(plan->kernel[k].time_s > 0 && plan->kernel[k].dram_read_bytes > 0);
        seconds += plan->kernel[k].time_s;
        read += (double)plan->kernel[k].dram_read_bytes;
        written += (double)plan->kernel[k].dram_write_bytes;
    }
    assert_true(fabs(plan->time_s / seconds - 1) < 1e-12);
    assert_true(fabs((double)plan->dram_read_bytes / read - 1) < 1e-12);
    assert_true(fabs((double)plan->dram_write_bytes / written - 1) < 1e-12);
}

/* One kernel of more than 2^63 femtoseconds, a plan whose sum comes back to something plausible after it has wrapped
 * in 64 bits, and one of more than 2^63 bytes. */
static void sums_do_not_wrap(void **unused)
{
    (void)unused;
    static const struct {
        int count;
        int64_t size;
        const char *dtype;
        fsim_objective objective;
        double least_s, least_bytes;
    } row[] = {{1, 1000000, "bf16", FSIM_MINIMISE_TIME, 1e5, 1e12},
               {127, 65536, "f32", FSIM_MINIMISE_TIME, 9300, 1e12},
               {127, 65536, "f32", FSIM_MINIMISE_MEMORY, 9300, 1e12},
               {400, 1048576, "f64", FSIM_MINIMISE_BYTES, 1e9, 0x1p63}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        bench b = open_products(row[i].count, row[i].size, row[i].dtype, "t4");
        b.how.objective = row[i].objective;
        const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
            if (fsim_planned(&p, s))
                assert_sums(&p.plan[s]);
        const fsim_plan *best = &p.plan[FSIM_STRATEGY_OPTIMAL];
        const fsim_timeline when = fsim_timeline_of(b.g, best, b.a);
        assert_true(best->time_s > row[i].least_s && (double)dram(best) > row[i].least_bytes);
        assert_true(best->peak_memory_bytes >= 3 * row[i].size * row[i].size * fsim_dtype_bytes(b.g->tensor[0].dtype));
        assert_true(fabs(when.makespan_s / best->time_s - 1) < 1e-12);
        assert_true(p.proof.lower_bound > 0);
        assert_true(row[i].objective == FSIM_MINIMISE_MEMORY || p.proof.proven);
        fsim_arena_free(b.a);
    }
    char digits[FSIM_SUM_DIGITS];
    assert_string_equal(fsim_sum_digits(digits, (fsim_sum)1 << 64), "18446744073709551616");
    assert_string_equal(fsim_sum_digits(digits, -((fsim_sum)1 << 64)), "-18446744073709551616");
    assert_string_equal(fsim_sum_digits(digits, 0), "0");
    assert_true(fsim_sum_int64((fsim_sum)1 << 64) == INT64_MAX && fsim_sum_int64(-5) == -5);
    assert_true(fsim_sum_term(1e300) == FSIM_TERM_MOST && fsim_sum_term(0.6) == 1);
}

/* Do x and y exchange a tensor? */
static bool exchange(const fsim_graph *g, int x, int y)
{
    for (int i = 0; i < g->node[y].args; i++)
        if (g->tensor[g->node[y].arg[i].tensor].producer == x)
            return true;
    return false;
}

static void refusals_hold_for_the_pairs_they_name(void **unused)
{
    (void)unused;
    static const char experts[] =
        "name: t\nsymbols: {T: 512, E: 8, F: 1024}\ntensors:\n  a: {shape: [E, T, F], dtype: bf16}\n"
        "  w: {shape: [E, F, F], dtype: bf16, role: weight}\n  p: {shape: [T, E], dtype: bf16}\noperators:\n"
        "  - {op: einsum, in: [a, w], out: o, equation: 'etf,efh->teh'}\n  - {op: unsqueeze, in: p, out: u, dim: 2}\n"
        "  - {op: mul, in: [o, u], out: s}\n  - {op: sum, in: s, out: y, dim: 1}\noutputs: [y]\n";
    static const char *const shipped[] = {NULL, "mlp", "bert_layer", "llama_block", "seeds/attention_standard"};
    for (size_t k = 0; k < sizeof shipped / sizeof *shipped; k++) {
        bench b = open_bench(shipped[k] ? shipped[k] : "mlp", "h100-sxm5-80gb");
        if (!shipped[k])
            b.g = fsim_graph_parse(b.a, fsim_diag_new(b.a), "t.yaml", experts, strlen(experts), NULL);
        const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
        const fsim_problem problem = fsim_problem_of(p.graph, b.hw, &b.how, b.a);
        for (int i = 0; i < p.refusals; i++) {
            const fsim_priced_refusal *r = &p.refusal[i];
            fsim_pair_refusal pair;
            assert_true(exchange(p.graph, r->a, r->b) && !fsim_shares_kernel(&p.plan[p.chosen], r->a, r->b));
            if (r->why.rule == FSIM_RULE_COST)
                continue;
            assert_true(r->first >= 0 && r->second >= 0);
            assert_false(fsim_pair_allowed(&problem, r->first, r->second, b.a, &pair));
            assert_string_equal(fsim_refusal_text(p.graph, &pair.why, b.a), fsim_refusal_text(p.graph, &r->why, b.a));
            if (!shipped[k] && strcmp(p.graph->node[r->a].name, "o") == 0)
                assert_string_equal(p.graph->node[r->second].name, "y");
        }
        fsim_arena_free(b.a);
    }
}

static void whole_kernels_have_one_price(void **unused)
{
    (void)unused;
    const bench b = open_bench("mlp", "h100-sxm5-80gb");
    const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
    assert_true(p.refusals == 1 && p.refusal->why.rule == FSIM_RULE_COST && p.refusal->saving_s < -1e-3);
    const fsim_explanation e = explain(&b, "g", "y/matmul");
    assert_true(e.legal && e.kernels && e.kernels->saving_s == p.refusal->saving_s);
    assert_true(e.forced_s - e.best_s < 0.1 * -e.kernels->saving_s); /* g computed twice, its own kernel kept */
    fsim_arena_free(b.a);
}

/* What GUIDE.md says of the order of launches: as in the file where inputs allow it. */
static void kernels_run_in_the_order_of_the_file(void **unused)
{
    (void)unused;
    static const char head[] =
        "name: t\ntensors:\n  x: {shape: [64, 64], dtype: f32}\n  z: {shape: [32], dtype: f32}\noperators:\n";
    static const char *const step[] = {"  - {op: relu, in: z, out: b}\n", "  - {op: exp, in: x, out: a}\n",
                                       "  - {op: sum, in: a, out: s}\n"};
    static const struct {
        int order[3];
        const char *first;
    } file[] = {{{0, 1, 2}, "b"}, {{1, 2, 0}, "s"}, {{2, 1, 0}, "s"}};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        bench b = open_bench("mlp", "t4");
        const char *text = head;
        for (int k = 0; k < 3; k++)
            text = fsim_printf(b.a, "%s%s", text, step[file[i].order[k]]);
        text = fsim_printf(b.a, "%soutputs: [b, s]\n", text);
        b.g = fsim_graph_parse(b.a, fsim_diag_new(b.a), "t.yaml", text, strlen(text), NULL);
        assert_non_null(b.g);
        const fsim_prediction p = fsim_predict(b.g, b.hw, &b.how, b.a);
        const fsim_part *part = p.plan[FSIM_STRATEGY_OPTIMAL].partition.part;
        assert_int_equal(p.plan[FSIM_STRATEGY_OPTIMAL].kernels, 2);
        assert_string_equal(p.graph->node[part->node[part->count - 1]].name, file[i].first);
        fsim_arena_free(b.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_do_not_wrap),
        cmocka_unit_test(without_recomputation_no_strategy_beats_the_optimum),
        cmocka_unit_test(an_enumeration_ends_when_it_has_enough),
        cmocka_unit_test(a_hosts_cache_loses_what_passes_together),
        cmocka_unit_test(differences_sum_to_what_plans_differ_by),
        cmocka_unit_test(the_best_plans_are_the_best_of_all),
        cmocka_unit_test(a_memory_limit_is_met_or_said_not_to_be),
        cmocka_unit_test(timelines_keep_their_laws),
        cmocka_unit_test(causes_name_what_grew),
        cmocka_unit_test(no_cause_where_nothing_grows),
        cmocka_unit_test(a_cause_has_two_different_numbers),
        cmocka_unit_test(refusals_hold_for_the_pairs_they_name),
        cmocka_unit_test(whole_kernels_have_one_price),
        cmocka_unit_test(kernels_run_in_the_order_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 4 */
/* The search against its definition: on random graphs the optimum is the least of all legal partitions, which a second
 * enumerator, written another way, lists too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fuse.h"
#include "plan/price/price.h"
#include "plan/search/cluster.h"
#include "plan/search/polish.h"
#include "predict.h"
#include "random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { EVERY = 5 };
#else
enum { EVERY = 1 };
#endif

/* A workload of n primitives over [rows, columns] tensors: forks, joins, shared inputs, row reductions, rolls, gathers
 * and, where they are square, transposes and contractions; products: many of them, beside and behind each other. */
static const char *random_workload(fsim_arena *a, int n, int rows_of, int side, bool products)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg"}, *const binary[] = {"add", "mul", "maximum"};
    const char *text = fsim_printf(
        a,
        "name: random\nsymbols: {dtype: f32}\ntensors:\n  x0: {shape: [%d, %d], dtype: dtype, role: input}\n"
        "  x1: {shape: [%d, %d], dtype: dtype, role: input}\n  x2: {shape: [%d], dtype: dtype, role: input}\n"
        "  at: {shape: [%d], dtype: i64, role: input}\noperators:\n",
        rows_of, side, rows_of, side, side, rows_of);
    const char *full[32] = {"x0", "x1"}, *row[32] = {"x2"};
    int fulls = 2, rows = 1;
    for (int i = 0; i < n; i++) {
        const char *name = fsim_printf(a, "t%d", i), *x = full[draw((uint32_t)fulls)], *y = full[draw((uint32_t)fulls)];
        static const uint32_t contracting[12] = {0, 1, 4, 5, 8, 8, 9, 9, 9, 9, 9, 10};
        const uint32_t kind = products ? contracting[draw(12)] : draw(15);
        const char *line;
        if (i > 0 && draw(2))
            x = fsim_printf(a, "t%d", i - 1); /* depth */
        const bool x_row = x[0] == 't' && rows > 1 && strcmp(x, row[rows - 1]) == 0;
        bool makes_row = false;
        if (kind < 4) {
            line = fsim_printf(a, "  - {op: %s, in: %s, out: %s}\n", unary[draw(4)], x, name);
            makes_row = x_row;
        } else if (kind < 8) {
            line = fsim_printf(a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(3)], y, x, name);
        } else if (kind == 8 && !x_row) {
            line = fsim_printf(a, "  - {op: %s, in: %s, out: %s, dims: [1], keepdim: true}\n", draw(2) ? "sum" : "max",
                               x, name);
            makes_row = true;
        } else if (kind == 9 && !x_row && rows_of == side) {
            line = fsim_printf(a, "  - {op: matmul, in: [%s, %s], out: %s}\n", x, y, name);
        } else if (kind == 10 && !x_row && rows_of == side) {
            line = fsim_printf(a, "  - {op: transpose, in: %s, out: %s, dims: [0, 1]}\n", x, name);
        } else if (kind == 11 && !x_row) {
            line = fsim_printf(a, "  - {op: roll, in: %s, out: %s, dims: [%d], roll: [1]}\n", x, name, (int)draw(2));
        } else if (kind == 12 && !x_row) {
            line = fsim_printf(a, "  - {op: gather, in: [%s, at], out: %s}\n", x, name);
        } else {
            line = fsim_printf(a, "  - {op: add, in: [%s, %s], out: %s}\n", y, row[draw((uint32_t)rows)], name);
        }
        text = fsim_printf(a, "%s%s", text, line);
        *(makes_row ? &row[rows++] : &full[fulls++]) = name;
    }
    return text;
}

static const char hw_text[] =
    "name: tiny\ndescription: a GPU for tests\narchitecture: sm_80\n"
    "sms: {value: 8, source: test}\nsm_clock: {peak: 1000 MHz, source: test}\ndram_bandwidth: {peak: 100 GB/s, source: "
    "test}\n"
    "dram_capacity: {value: 1 GiB, source: test}\ndram_latency: {value: 400 ns, source: test}\nl2_capacity: {value: 1 "
    "MiB, source: test}\n"
    "l2_bandwidth: {peak: 400 GB/s, source: test}\nshared_memory_per_sm: {value: 164 KiB, source: test}\n"
    "shared_memory_per_block: {value: 163 KiB, source: test}\nshared_memory_bandwidth: {value: 128 B/clk, source: "
    "test}\n"
    "registers_per_sm: {value: 65536, source: test}\nregisters_per_thread: {value: 255, source: test}\n"
    "register_allocation_unit: {value: 256, source: test}\nthreads_per_sm: {value: 2048, source: test}\n"
    "threads_per_block: {value: 1024, source: test}\nblocks_per_sm: {value: 32, source: test}\nwarp_size: {value: 32, "
    "source: test}\n"
    "fp32_rate: {value: 64 /clk, source: test}\nspecial_rate: {value: 16 /clk, source: test}\nfp32_peak: {peak: 1.024 "
    "TFLOP/s, source: test}\n"
    "launch_eager: {value: 6 us, source: test}\nlaunch_stream: {value: 2 us, source: test}\nlaunch_graph: {value: 1 "
    "us, source: test}\n"
    "kernel_floor: {value: 1 us, source: test}\n";

typedef struct {
    fsim_arena *a;
    fsim_hw *hw;
    fsim_graph *g;
} fixture;

static fixture load(const char *text)
{
    fixture f = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(f.a);
    f.hw = fsim_hw_parse(f.a, d, "tiny.yaml", hw_text, strlen(hw_text));
    f.g = fsim_graph_parse(f.a, d, "random.yaml", text, strlen(text), NULL);
    if (!f.hw || !f.g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(f.hw);
    assert_non_null(f.g);
    return f;
}

/* What enumerate lists. */
typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_sum least;
    int count, room;
    const char **key; /* groups as text, in a canonical order */
} listing;

static int by_text(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static bool take(void *to, const fsim_plan *plan)
{
    listing *l = to;
    const char **part = fsim_new(l->a, const char *, plan->kernels);
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *p = &plan->partition.part[k];
        part[k] = "";
        for (int i = 0; i < p->count; i++)
            part[k] = fsim_printf(l->a, "%s%d,", part[k], p->node[i]);
    }
    qsort(part, (size_t)plan->kernels, sizeof *part, by_text);
    const char *key = "";
    for (int k = 0; k < plan->kernels; k++)
        key = fsim_printf(l->a, "%s%s;", key, part[k]);
    *FSIM_PUSH(l->a, l->key, l->count, l->room) = key;
    if (l->least < 0 || plan->objective < l->least)
        l->least = plan->objective;
    return true;
}

static listing list_all(const fixture *f, const fsim_options *o)
{
    listing l = {.a = f->a, .g = f->g, .least = -1};
    bool truncated;
    fsim_problem p = fsim_problem_of(f->g, f->hw, o, f->a);
    const int64_t n = fsim_enumerate(&p, 0, take, &l, &truncated);
    assert_false(truncated);
    assert_int_equal(n, l.count);
    qsort(l.key, (size_t)l.count, sizeof *l.key, by_text);
    for (int i = 1; i < l.count; i++)
        assert_string_not_equal(l.key[i - 1], l.key[i]);
    return l;
}

/* With recomputation: every family of sets of primitives that fsim_price accepts. What copies may serve, and what is
 * read in vain, is decided by the price alone. */
static void every_family_with_a_price_is_listed(void **unused)
{
    (void)unused;
    enum { NODES = 4, SETS = (1 << NODES) - 1 };
    static const char *const graphs[] = {
        "  - {op: neg, in: x, out: a}\n  - {op: exp, in: a, out: b}\n  - {op: add, in: [a, b], out: c}\n"
        "  - {op: sum, in: b, out: d, dim: [0, 1]}\n",
        "  - {op: neg, in: x, out: a}\n  - {op: exp, in: a, out: b}\n  - {op: tanh, in: b, out: c}\n"
        "  - {op: relu, in: b, out: d}\n"};
    const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        fsim_arena *a = fsim_arena_new();
        const fixture f =
            load(fsim_printf(a, "tensors: {x: {shape: [64, 64], dtype: f32}}\noperators:\n%s", graphs[i]));
        const listing l = list_all(&f, &o);
        fsim_problem p = fsim_problem_of(f.g, f.hw, &o, f.a);
        int priced = 0;
        assert_int_equal(f.g->nodes, NODES);
        for (unsigned family = 1; family < 1u << SETS; family++) {
            const fsim_mark mark = fsim_save(a);
            fsim_partition parts = {0, fsim_new(a, fsim_part, SETS)};
            fsim_plan plan;
            fsim_refusal why;
            int covered = 0;
            for (int set = 1; set <= SETS && __builtin_popcount(family) <= NODES; set++)
                if (family >> (set - 1) & 1) {
                    fsim_part *part = &parts.part[parts.parts++];
                    *part = (fsim_part){0, fsim_new(a, int, NODES), fsim_new(a, bool, NODES)};
                    for (int n = 0; n < NODES; n++)
                        if (set >> n & 1)
                            part->node[part->count++] = n;
                    covered |= set;
                }
            priced += covered == SETS && fsim_price(&p, &parts, a, &plan, &why);
            fsim_rewind(a, mark);
        }
        assert_int_equal(priced, l.count);
        fsim_arena_free(f.a);
        fsim_arena_free(a);
    }
}

/* The second enumerator: every set partition, by restricted growth strings, each group checked by itself and the groups
 * for a cycle by closure. */
typedef struct {
    const fixture *f;
    fsim_limits limits;
    int group_of[16], count;
    const listing *l;
} naive;

static bool acyclic(const naive *w, int groups)
{
    const fsim_graph *g = w->f->g;
    bool before[16][16] = {{false}};
    for (int n = 0; n < g->nodes; n++)
        for (int k = 0; k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            if (from >= 0 && w->group_of[from] != w->group_of[n])
                before[w->group_of[from]][w->group_of[n]] = true;
        }
    for (int k = 0; k < groups; k++)
        for (int i = 0; i < groups; i++)
            for (int j = 0; j < groups; j++)
                before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
    for (int i = 0; i < groups; i++)
        if (before[i][i])
            return false;
    return true;
}

static void check_partition(naive *w, int groups)
{
    const fsim_mark mark = fsim_save(w->f->a);
    const char *part[16];
    bool legal = acyclic(w, groups);
    for (int k = 0; k < groups && legal; k++) {
        int node[16], count = 0;
        fsim_group made;
        fsim_refusal why;
        part[k] = "";
        for (int n = 0; n < w->f->g->nodes; n++)
            if (w->group_of[n] == k) {
                node[count++] = n;
                part[k] = fsim_printf(w->f->a, "%s%d,", part[k], n);
            }
        legal = fsim_legal(&w->limits, node, count, w->f->a, &made, &why);
    }
    if (legal) {
        const char *key = "";
        qsort(part, (size_t)groups, sizeof *part, by_text);
        for (int k = 0; k < groups; k++)
            key = fsim_printf(w->f->a, "%s%s;", key, part[k]);
        assert_non_null(bsearch(&key, w->l->key, (size_t)w->l->count, sizeof key, by_text));
        w->count++;
    }
    fsim_rewind(w->f->a, mark);
}

static void all_partitions(naive *w, int n, int groups)
{
    if (n == w->f->g->nodes) {
        check_partition(w, groups);
        return;
    }
    for (int k = 0; k <= groups; k++) {
        w->group_of[n] = k;
        all_partitions(w, n + 1, k == groups ? groups + 1 : groups);
    }
}

static const fsim_options usual = {
    .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000000};

/* 200 graphs and 100 of products, tensors below and above the 1 MiB L2, cold and warm, time and bytes. */
static void optimum_is_the_least_of_all(void **unused)
{
    (void)unused;
    state = 20260;
    int proven = 0;
    for (int turn = 0; turn < 300; turn += EVERY) {
        const bool recompute = turn % 3 == 0;
        const int n = recompute ? 4 + (int)draw(3) : 4 + (int)draw(6),
                  shape = turn % 7 < 4 || turn >= 200 ? (int)draw(2) : 2 + (int)draw(3);
        static const int rows[] = {128, 1024, 1, 2, 16},
                         columns[] = {128, 1024, 65536, 50257, 40000}; /* few long rows leave SMs idle */
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(random_workload(scratch, n, rows[shape], columns[shape], turn >= 200));
        fsim_options o = usual;
        o.no_recompute = !recompute;
        o.warm = turn % 4 == 1;
        o.objective = turn % 5 == 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME;
        const listing l = list_all(&f, &o);
        const fsim_prediction p = fsim_predict(f.g, f.hw, &o, f.a);
        const fsim_plan *best = &p.plan[FSIM_STRATEGY_OPTIMAL];
        if (best->objective != l.least)
            fprintf(stderr, "turn %d: optimal %lld, least of %d partitions %lld%s\n", turn, (long long)best->objective,
                    l.count, (long long)l.least, "");
        assert_int_equal(best->objective, l.least);
        const double unit = o.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
        assert_true(p.proof.lower_bound <= (double)l.least * unit * (1 + 1e-12));
        proven += p.proof.proven;
        if (!recompute) {
            naive w = {
                .f = &f,
                .limits = {.graph = f.g, .shared_per_block = (int64_t)fsim_hw_get(f.hw, FSIM_HW_SHARED_PER_BLOCK)},
                .l = &l};
            all_partitions(&w, 0, 0);
            assert_int_equal(w.count, l.count);
        }
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
    assert_int_equal(proven, 300 / EVERY);
}

static void bound_holds_when_time_ends(void **unused)
{
    (void)unused;
    state = 77;
    for (int turn = 0; turn < 40; turn++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(random_workload(scratch, 7, 128, 128, turn % 2));
        fsim_options full = usual, cut = usual;
        cut.search_steps = 30;
        const fsim_prediction best = fsim_predict(f.g, f.hw, &full, f.a), early = fsim_predict(f.g, f.hw, &cut, f.a);
        assert_true(early.proof.lower_bound <= best.plan[FSIM_STRATEGY_OPTIMAL].time_s * (1 + 1e-12));
        assert_true(early.plan[FSIM_STRATEGY_OPTIMAL].time_s >= best.plan[FSIM_STRATEGY_OPTIMAL].time_s);
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* Searches that follow one another share --search-memory: what one holds is none of the next one's, which has an eighth
 * of it at least. */
static void searches_share_memory(void **unused)
{
    (void)unused;
    enum { MEMORY = 100 << 20, FIRST = 60 << 20, SECOND = 80 << 20 };
    const fsim_hw hw = {0};
    const fsim_graph g = {0};
    fsim_arena *a = fsim_arena_new();
    fsim_options o = usual;
    o.search_memory = MEMORY;
    fsim_problem p = fsim_problem_with(&g, &hw, &o, NULL);
    fsim_spent spent;
    fsim_new(a, char, 1);
    const size_t before = fsim_arena_held();
    p.store = fsim_store_new(a);
    p.held_bytes = before;
    fsim_new(a, char, FIRST);
    assert_int_equal(fsim_budget_of(&p, &spent).most_bytes, before + MEMORY);
    fsim_new(a, char, SECOND);
    const size_t held = fsim_arena_held();
    assert_true(held > before + MEMORY);
    assert_int_equal(fsim_budget_of(&p, &spent).most_bytes, held + MEMORY / 8);
    p.held_bytes = 0; /* it is alone */
    assert_int_equal(fsim_budget_of(&p, &spent).most_bytes, held + MEMORY);
    fsim_arena_free(a);
}

/* From one kernel for each primitive, small changes lead to a legal plan that is no worse, and in most cases to the
 * optimum. */
static void polished_plans_are_legal_and_no_worse(void **unused)
{
    (void)unused;
    enum { TURNS = 80, MOST_OFTEN = TURNS * 3 / 4 };
    state = 1127;
    int best = 0, better = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        const int side = turn % 2 ? 1024 : 128;
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(random_workload(scratch, 6, side, side, turn % 4 > 1));
        fsim_options o = usual;
        o.no_recompute = turn % 8 > 3;
        const listing all = list_all(&f, &o);
        listing own = {.a = f.a, .g = f.g, .least = -1};
        fsim_problem p = fsim_problem_of(f.g, f.hw, &o, f.a);
        fsim_spent spent;
        const fsim_budget budget = fsim_budget_of(&p, &spent);
        const fsim_partition singles = fsim_singles(&p, f.a);
        fsim_plan plan;
        fsim_refusal why;
        assert_true(fsim_price(&p, &singles, f.a, &plan, &why));
        const fsim_sum before = plan.objective;
        fsim_polish(&p, &budget, f.a, &plan);
        take(&own, &plan);
        assert_non_null(bsearch(&own.key[0], all.key, (size_t)all.count, sizeof *all.key, by_text));
        assert_true(plan.objective <= before);
        better += plan.objective < before;
        best += plan.objective == all.least;
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
    fprintf(stderr, "%d of %d better, %d best\n", better, TURNS, best);
    assert_true(better > MOST_OFTEN);
    assert_true(best > MOST_OFTEN);
}

/* What no kernel can avoid is a bound for attention too, though it leaves most divisions to the end, and for weights
 * that take scales in. */
static void bound_holds_for_chains(void **unused)
{
    (void)unused;
    static const char *const text[] = {
        "tensors: {q: {shape: [1, 8, 1024, 2], dtype: f32}, k: {shape: [1, 8, 1024, 2], dtype: f32}, v: {shape: [1, 8, "
        "1024, 2], dtype: f32}, w: {shape: [2, 2], dtype: f32}}\noperators:\n"
        "  - {op: attention, in: [q, k, v], out: o}\n  - {op: matmul, in: [o, w], out: y}\n",
        "tensors: {x: {shape: [1024, 64], dtype: f32}, w: {shape: [64, 1024], dtype: f32, role: weight}, a: {shape: "
        "[1024], dtype: f32, role: weight},\n"
        "  b: {shape: [1024], dtype: f32, role: weight}, c: {shape: [1024], dtype: f32, role: weight}, d: {shape: "
        "[1024], dtype: f32, role: weight}}\noperators:\n"
        "  - {op: matmul, in: [x, w], out: h}\n  - {op: batch_norm, in: [h, a, b, c, d], out: n}\n  - {op: sum, in: n, "
        "out: y, dims: [0]}\n"};
    for (int i = 0; i < 4; i++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(text[i / 2]);
        fsim_options full = usual, cut = usual;
        full.objective = cut.objective = i % 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME;
        cut.search_steps = 1;
        const fsim_prediction best = fsim_predict(f.g, f.hw, &full, f.a), early = fsim_predict(f.g, f.hw, &cut, f.a);
        const double unit = i % 2 ? 1 : FSIM_TICK_S;
        assert_true(early.proof.lower_bound <= (double)best.plan[FSIM_STRATEGY_OPTIMAL].objective * unit * (1 + 1e-12));
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* Sets that the enumeration only reaches through one that lacks a member in between, or whose producer another kernel
 * computes too. */
static void sets_with_gaps_are_reached(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        bool recompute;
        int partitions;
    } want[] = {
        {"  - {op: gt, in: x, out: r, scalar: 0}\n  - {op: exp, in: y, out: u}\n  - {op: neg, in: u, out: n}\n  - {op: "
         "where, in: [r, u, n], out: v}\n",
         false, 8},
        {"  - {op: exp, in: x, out: u}\n  - {op: sort, in: u, out: c, dim: 0}\n  - {op: add, in: [u, c], out: v}\n",
         true, 2},
        {"  - {op: exp, in: x, out: u}\n  - {op: sort, in: u, out: c, dim: 0}\n  - {op: add, in: [u, c], out: v}\n",
         false, 1}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(fsim_printf(
            scratch, "tensors: {x: {shape: [4096], dtype: f32}, y: {shape: [4096], dtype: f32}}\noperators:\n%s",
            want[i].operators));
        fsim_options o = usual;
        o.no_recompute = !want[i].recompute;
        const listing l = list_all(&f, &o);
        if (l.count != want[i].partitions)
            print_message("graph %zu: %d partitions\n", i, l.count);
        assert_int_equal(l.count, want[i].partitions);
        if (!want[i].recompute) {
            naive w = {
                .f = &f,
                .limits = {.graph = f.g, .shared_per_block = (int64_t)fsim_hw_get(f.hw, FSIM_HW_SHARED_PER_BLOCK)},
                .l = &l};
            all_partitions(&w, 0, 0);
            assert_int_equal(w.count, l.count);
        }
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* Keys and values come from DRAM once where what the blocks under way walk fits in the 1 MiB of L2; beyond, once for
 * every round of blocks. */
static void keys_are_read_again_beyond_l2(void **unused)
{
    (void)unused;
    for (int keys = 1024; keys <= 8192; keys *= 8) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(fsim_printf(scratch,
                                     "symbols: {K: %d}\ntensors: {q: {shape: [1, 1, 8192, 64], dtype: f32}, k: {shape: "
                                     "[1, 1, K, 64], dtype: f32}, v: {shape: [1, 1, K, 64], dtype: f32}}\n"
                                     "operators:\n  - {op: attention, in: [q, k, v], out: y}\n",
                                     keys));
        const fsim_prediction p = fsim_predict(f.g, f.hw, &usual, f.a);
        const fsim_kernel *k = &p.plan[FSIM_STRATEGY_MAXIMAL].kernel[0];
        assert_int_equal(p.plan[FSIM_STRATEGY_MAXIMAL].kernels, 1);
        const int64_t operand = (int64_t)keys * 64 * 4;
        assert_int_equal(k->input[0].read_bytes, 8192 * 64 * 4);
        for (int i = 1; i < 3; i++)
            assert_true(keys == 1024
                            ? k->input[i].read_bytes == operand
                            : k->input[i].read_bytes > operand && k->input[i].read_bytes <= operand * 8192 / k->tile_m);
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

static const char *chain(fsim_arena *a, int n, int side)
{
    const char *text = fsim_printf(a, "tensors:\n  t0: {shape: [%d], dtype: f32, role: input}\noperators:\n", side);
    char *all = fsim_new(a, char, 64 * n + 4096), *end = all + sprintf(all, "%s", text);
    for (int i = 0; i < n; i++)
        end += sprintf(end, "  - {op: exp, in: t%d, out: t%d}\n", i, i + 1);
    return all;
}

static void chain_has_two_to_the_n_less_one(void **unused)
{
    (void)unused;
    for (int n = 1; n <= 12; n++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(chain(scratch, n, 1 << 16));
        fsim_options o = usual;
        o.no_recompute = true;
        const listing l = list_all(&f, &o);
        assert_int_equal(l.count, 1 << (n - 1));
        const fsim_prediction p = fsim_predict(f.g, f.hw, &o, f.a);
        assert_int_equal(p.plan[FSIM_STRATEGY_OPTIMAL].objective, l.least);
        assert_true(p.proof.proven);
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

static void limit_truncates(void **unused)
{
    (void)unused;
    fsim_arena *scratch = fsim_arena_new();
    fixture f = load(chain(scratch, 6, 64));
    fsim_options o = usual;
    o.no_recompute = true;
    listing l = {.a = f.a, .g = f.g, .least = -1};
    bool truncated;
    fsim_problem p = fsim_problem_of(f.g, f.hw, &o, f.a);
    assert_int_equal(fsim_enumerate(&p, 5, take, &l, &truncated), 5);
    assert_true(truncated);
    fsim_arena_free(f.a);
    fsim_arena_free(scratch);
}

/* What one kernel leaves in the 1 MiB of L2 for the next, with tensors of R rows of 1 KiB: a is made of x, then b of y,
 * then c of both. Behind a are the 2 R KiB of its own kernel and the 2 R of the next; behind b the 2 R of its own; the
 * last kernel's own are 3 R. */
static void residency_follows_capacity(void **unused)
{
    (void)unused;
    static const struct {
        int rows;
        int64_t read_rows;      /* from DRAM by the three kernels together */
    } want[] = {{200, 2 * 200}, /* 4 R = 800: both are there */
                {256, 2 * 256}, /* 4 R = 1024, just so */
                {257, 3 * 257}, /* 4 R = 1028: a is gone */
                {341, 3 * 341}, /* 3 R = 1023: the last kernel still finds b */
                {342, 4 * 342}, /* 3 R = 1026: it finds nothing, though 2 R are behind b */
                {1100, 4 * 1100} /* larger than L2: nothing stays */};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(fsim_printf(
            scratch,
            "symbols: {R: %d}\ntensors: {x: {shape: [R, 256], dtype: f32}, y: {shape: [R, 256], dtype: "
            "f32}}\noperators:\n"
            "  - {op: exp, in: x, out: a}\n  - {op: exp, in: y, out: b}\n  - {op: add, in: [a, b], out: c}\n",
            want[i].rows));
        const fsim_prediction p = fsim_predict(f.g, f.hw, &usual, f.a);
        assert_int_equal(p.plan[FSIM_STRATEGY_UNFUSED].dram_read_bytes, want[i].read_rows * 1024);
        fsim_options warm = usual;
        warm.warm = true;
        const fsim_prediction again = fsim_predict(f.g, f.hw, &warm, f.a);
        assert_true(again.plan[FSIM_STRATEGY_UNFUSED].dram_read_bytes <= want[i].read_rows * 1024);
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* A producer computed on a contraction's operand loads is computed once for every tile that loads the operand. */
static void prologues_count_every_load(void **unused)
{
    (void)unused;
    for (int second = 0; second < 2; second++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(fsim_printf(scratch,
                                     "tensors: {x: {shape: [1024, 512], dtype: f32}, w: {shape: [512, 1024], dtype: "
                                     "f32, role: weight}}\noperators:\n"
                                     "  - {op: tanh, in: %s, out: a}\n  - {op: matmul, in: [%s], out: y}\n",
                                     second ? "w" : "x", second ? "x, a" : "a, w"));
        const fsim_prediction p = fsim_predict(f.g, f.hw, &usual, f.a);
        const fsim_kernel *k = &p.plan[FSIM_STRATEGY_MAXIMAL].kernel[0];
        assert_int_equal(p.plan[FSIM_STRATEGY_MAXIMAL].kernels, 1);
        const int loads = second ? (1024 + k->tile_m - 1) / k->tile_m : (1024 + k->tile_n - 1) / k->tile_n;
        assert_true(loads > 1);
        assert_true(k->flops == (2.0 * 1024 + loads) * 1024 * 512);
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* ... and on a convolution's, once for every tap that loads an element besides. */
static void window_prologues_count_every_tap(void **unused)
{
    (void)unused;
    fsim_arena *scratch = fsim_arena_new();
    fixture f = load("tensors: {x: {shape: [2, 32, 32, 32], dtype: f32}, w: {shape: [64, 32, 3, 3], dtype: f32, role: "
                     "weight}}\noperators:\n"
                     "  - {op: neg, in: x, out: a}\n  - {op: conv2d, in: [a, w], out: y, padding: [1, 1]}\n");
    const fsim_prediction p = fsim_predict(f.g, f.hw, &usual, f.a);
    const fsim_kernel *k = &p.plan[FSIM_STRATEGY_MAXIMAL].kernel[0];
    assert_int_equal(p.plan[FSIM_STRATEGY_MAXIMAL].kernels, 1);
    assert_true(k->flops == 2.0 * 2 * 32 * 32 * 64 * 32 * 9 + ceil(64.0 / k->tile_n) * 9 * 2 * 32 * 32 * 32);
    fsim_arena_free(f.a);
    fsim_arena_free(scratch);
}

/* Contractions side by side read what they share once and compute what both do; a prologue on it is computed once for
 * all. */
static void siblings_share_their_operand(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        int prologue;
    } turn[] = {
        {"  - {op: matmul, in: [x, w], out: y}\n  - {op: matmul, in: [x, u], out: z}\n", 0},
        {"  - {op: neg, in: x, out: n}\n  - {op: matmul, in: [n, w], out: y}\n  - {op: matmul, in: [n, u], out: z}\n",
         1}};
    for (int i = 0; i < 2; i++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(fsim_printf(
            scratch,
            "tensors:\n  x: {shape: [256, 128], dtype: f32}\n  w: {shape: [128, 128], dtype: f32, role: weight}\n"
            "  u: {shape: [128, 384], dtype: f32, role: weight}\noperators:\n%soutputs: [y, z]\n",
            turn[i].operators));
        const fsim_prediction p = fsim_predict(f.g, f.hw, &usual, f.a);
        const fsim_plan *plan = &p.plan[FSIM_STRATEGY_MAXIMAL];
        const fsim_kernel *k = &plan->kernel[0];
        assert_int_equal(plan->kernels, 1);
        assert_int_equal(plan->dram_read_bytes, 4 * 128 * (256 + 128 + 384));
        assert_int_equal(plan->dram_write_bytes, 4 * 256 * (128 + 384));
        const double across = ceil(128.0 / k->tile_n) + ceil(384.0 / k->tile_n);
        assert_true(k->flops == 2.0 * 256 * 128 * 512 + turn[i].prologue * across * 256 * 128);
        assert_true(k->grid == (int64_t)across * ((256 + k->tile_m - 1) / k->tile_m) * k->split_k);
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* What lies in L2 never makes a kernel slower, nor does a result more make it faster: the search's bounds rest on it.
 */
static void costs_are_monotone(void **unused)
{
    (void)unused;
    static const char *const text[] = {
        ("tensors: {q: {shape: [2, 4, 512, 64], dtype: f32}, k: {shape: [2, 4, 512, 64], dtype: f32}, v: {shape: [2, "
         "4, "
         "512, 64], dtype: f32}}\noperators:\n"
         "  - {op: attention, in: [q, k, v], out: y}\n"),
        ("tensors: {q: {shape: [1, 1, 1, 64], dtype: f32}, k: {shape: [1, 1, 4096, 64], dtype: f32}, v: {shape: [1, 1, "
         "4096, 64], dtype: f32}}\noperators:\n"
         "  - {op: attention, in: [q, k, v], out: y}\n"),
        ("tensors: {x: {shape: [512, 64], dtype: f32}, w: {shape: [64, 512], dtype: f32}, u: {shape: [512, 64], dtype: "
         "f32}}\noperators:\n"
         "  - {op: matmul, in: [x, w], out: h}\n  - {op: relu, in: h, out: a}\n  - {op: matmul, in: [a, u], out: y}\n"),
        ("tensors: {x: {shape: [512, 64], dtype: f32}, w: {shape: [64, 512], dtype: f32}, u: {shape: [64, 512], dtype: "
         "f32}}\noperators:\n"
         "  - {op: matmul, in: [x, w], out: h}\n  - {op: silu, in: h, out: a}\n  - {op: matmul, in: [x, u], out: b}\n  "
         "- {op: mul, in: [a, b], out: y}\n"),
        ("tensors: {x: {shape: [512, 64], dtype: f32}, w: {shape: [64, 128], dtype: f32}}\noperators:\n"
         "  - {op: matmul, in: [x, w], out: h}\n  - {op: softmax, in: h, out: y, dim: 1}\n")};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(text[i]);
        const fsim_limits limits = {.graph = f.g,
                                    .shared_per_block = (int64_t)fsim_hw_get(f.hw, FSIM_HW_SHARED_PER_BLOCK)};
        int node[16];
        double before = 0;
        for (int n = 0; n < f.g->nodes; n++)
            node[n] = n;
        for (unsigned extra = 0; extra < 1u << (f.g->nodes - 1); extra++) { /* results stored besides the last */
            bool stored[16], hit[8], absorbed[16] = {false};
            fsim_group group;
            fsim_refusal why;
            for (int n = 0; n < f.g->nodes; n++)
                stored[n] = n == f.g->nodes - 1 || (extra >> n & 1);
            if (!fsim_group_of(&limits, &(fsim_selection){.node = node, .count = f.g->nodes, .stored = stored}, f.a,
                               &group, &why)) {
                assert_int_not_equal(extra, 0);
                continue;
            }
            double least = 0;
            for (unsigned hits = 0; hits < 1u << group.reads; hits++) {
                for (int r = 0; r < group.reads; r++)
                    hit[r] = hits >> r & 1;
                const fsim_residency l2 = {.hit = hit, .absorbed = absorbed};
                const double t = fsim_kernel_of(f.g, f.hw, FSIM_REGIME_STREAM, &group, &l2, f.a).time_s;
                assert_true(t > 0);
                least = hits == 0 ? t : least;
                assert_true(t <= least);
            }
            before = extra == 0 ? least : before;
            assert_true(least >= before);
            memset(hit, 0, sizeof hit);
            memset(absorbed, 1, sizeof absorbed);
            const fsim_residency l2 = {.hit = hit, .absorbed = absorbed};
            assert_true(fsim_kernel_of(f.g, f.hw, FSIM_REGIME_STREAM, &group, &l2, f.a).time_s <= least);
        }
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

/* Every plan's figures hang together, whatever the strategy. */
static void plans_add_up(void **unused)
{
    (void)unused;
    state = 5;
    for (int turn = 0; turn < 60; turn++) {
        fsim_arena *scratch = fsim_arena_new();
        fixture f = load(random_workload(scratch, 10, turn % 2 ? 128 : 2, turn % 2 ? 128 : 65536, turn % 4 == 1));
        const fsim_prediction p = fsim_predict(f.g, f.hw, &usual, f.a);
        for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
            const fsim_plan *plan = &p.plan[s];
            if (s == FSIM_STRATEGY_XLA || s == FSIM_STRATEGY_SERVING)
                continue; /* not asked for */
            double sum = 0;
            bool *ran = fsim_new(f.a, bool, f.g->nodes);
            assert_true(plan->kernels > 0);
            for (int k = 0; k < plan->kernels; k++) {
                const fsim_kernel *x = &plan->kernel[k];
                double shares = 0;
                for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
                    assert_true(x->time[u] >= 0 && x->time[u] <= x->time_s * (1 + 1e-9));
                    shares += x->time[u];
                }
                assert_true(fabs(shares - x->time_s) <= 1e-12 * x->time_s);
                assert_true(x->occupancy > 0 && x->occupancy <= 1);
                sum += x->time_s;
                for (int i = 0; i < plan->partition.part[k].count; i++) {
                    const int n = plan->partition.part[k].node[i];
                    assert_int_equal(plan->partition.part[k].clone[i], ran[n]);
                    ran[n] = true;
                }
            }
            assert_true(fabs(sum - plan->time_s) <= 1e-12 * sum);
            assert_true(plan->objective >= p.plan[FSIM_STRATEGY_OPTIMAL].objective);
            assert_true(plan->peak_memory_bytes > 0);
        }
        fsim_arena_free(f.a);
        fsim_arena_free(scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_share_memory),
        cmocka_unit_test(optimum_is_the_least_of_all),
        cmocka_unit_test(every_family_with_a_price_is_listed),
        cmocka_unit_test(bound_holds_when_time_ends),
        cmocka_unit_test(chain_has_two_to_the_n_less_one),
        cmocka_unit_test(limit_truncates),
        cmocka_unit_test(residency_follows_capacity),
        cmocka_unit_test(prologues_count_every_load),
        cmocka_unit_test(polished_plans_are_legal_and_no_worse),
        cmocka_unit_test(bound_holds_for_chains),
        cmocka_unit_test(sets_with_gaps_are_reached),
        cmocka_unit_test(keys_are_read_again_beyond_l2),
        cmocka_unit_test(window_prologues_count_every_tap),
        cmocka_unit_test(siblings_share_their_operand),
        cmocka_unit_test(costs_are_monotone),
        cmocka_unit_test(plans_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

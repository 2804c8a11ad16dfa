/* SPDX-License-Identifier: Apache-2.0 */
/* The optimum against brute force: 1,000 random graphs on three GPUs, tensors below and above L2, cold and warm, time and bytes, with recomputation and without. The
 * least of all legal partitions, as they are enumerated, is what the search must find, to the last bit; and its bound may never exceed that, whatever time it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict.h"
#include "search/price.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
enum { GRAPHS = 120 };
#else
enum { GRAPHS = 1000 };
#endif

static uint64_t state;
static uint32_t draw(uint32_t below) /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % below);
}

enum { FULL, ROW, HALF }; /* [R, C]; [R, 1]; [R, C] of two bytes an element */

/* n primitives over [rows, columns] tensors: forks, joins, shared inputs, broadcasts, reductions, casts, slices of a row's halves put together again, random numbers, and
 * where they are square transposes and contractions; some results reach memory for their own sake. turns: the whole as a block so many times. */
static const char *random_workload(fsim_arena *a, int n, int rows, int columns, int turns)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sqrt"}, *const binary[] = {"add", "mul", "maximum", "sub"};
    const char *text = fsim_printf(a, "name: random\ntensors:\n  x0: {shape: [%d, %d], dtype: f32, role: input}\n  x1: {shape: [%d, %d], dtype: f32, role: input}\n"
                                      "  x2: {shape: [%d], dtype: f32, role: weight}\n  x3: {shape: [%d, 1], dtype: f32, role: input}\noperators:\n%s",
                                   rows, columns, rows, columns, columns, rows,
                                   turns > 1 ? fsim_printf(a, "- repeat: %d\n  carry: {x0: next}\n  operators:\n", turns) : "");
    const char *name[32] = {"x0", "x1", "x2", "x3"};
    int kind[32] = {FULL, FULL, FULL, ROW}, count = 4; /* x2 broadcasts to a full one */
    const char *kept = "";
    for (int i = 0; i < n; i++) {
        const char *out = fsim_printf(a, "t%d", i);
        int x = (int)draw((uint32_t)count), y = (int)draw((uint32_t)count);
        if (i > 0 && draw(2))
            x = count - 1; /* depth */
        const uint32_t what = draw(16);
        const bool whole = kind[x] == FULL && x != 2;
        const char *line = fsim_printf(a, "  - {op: %s, in: %s, out: %s}\n", unary[draw(5)], name[x], out);
        int made = kind[x];
        if (what < 6) {
            if (kind[x] == ROW && kind[y] == ROW) {
                line = fsim_printf(a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(4)], name[x], name[y], out);
            } else {
                if (kind[x] == ROW || x == 2)
                    x = (int)draw(2);
                line = fsim_printf(a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(4)], name[x], name[y], out);
                made = kind[x] == HALF && (kind[y] == HALF) ? HALF : FULL;
            }
        } else if (what == 6 && whole) {
            line = fsim_printf(a, "  - {op: %s, in: %s, out: %s, dims: [1], keepdim: true}\n", draw(2) ? "sum" : "max", name[x], out);
            made = ROW;
        } else if (what == 7 && whole) {
            line = fsim_printf(a, "  - {op: cast, in: %s, out: %s, dtype: f16}\n", name[x], out);
            made = HALF;
        } else if (what == 8 && whole && rows == columns) {
            const int b = kind[y] == FULL && y != 2 ? y : (int)draw(2);
            line = fsim_printf(a, "  - {op: matmul, in: [%s, %s], out: %s}\n", name[x], name[b], out);
        } else if (what == 9 && whole && rows == columns) {
            line = fsim_printf(a, "  - {op: transpose, in: %s, out: %s, dims: [0, 1]}\n", name[x], out);
        } else if (what == 10 && whole && kind[y] == FULL && y != 2 && columns % 2 == 0) {
            line = fsim_printf(a, "  - {op: where, in: [%s, %s, %s], out: %s}\n", name[x], name[y], name[x], out);
        } else if (what == 11 && whole) {
            line = fsim_printf(a, "  - {op: dropout, in: %s, out: %s, p: 0.5}\n", name[x], out);
        }
        if (x == 2 && what >= 6)
            made = -1; /* a vector: nothing but unary operators took it */
        text = fsim_printf(a, "%s%s", text, line);
        if (draw(12) == 0)
            kept = fsim_printf(a, "%s%s%s", kept, *kept ? ", " : "", out);
        if (made >= 0) {
            name[count] = out;
            kind[count++] = made;
        }
    }
    if (turns > 1) { /* the same block again, on what it made */
        int last = count - 1;
        while (kind[last] != FULL || last == 2)
            last--;
        return fsim_printf(a, "%s  - {op: maximum, in: [%s, x1], out: next}\n", text, name[last]);
    }
    return *kept && draw(2) ? fsim_printf(a, "%smaterialize: [%s]\n", text, kept) : text;
}

typedef struct {
    int64_t least, partitions;
} minimum;

static bool take(void *to, const fsim_plan *plan)
{
    minimum *m = to;
    m->partitions++;
    if (m->least < 0 || plan->objective < m->least)
        m->least = plan->objective;
    return true;
}

static void optimum_is_the_least_of_all(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml", FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml", FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml"};
    static const struct {
        int rows, columns;
    } shape[] = {{256, 256}, {1024, 1024}, {4096, 4096}, {8, 65536}, {3, 400000}, {512, 2048}, {2048, 2048}};
    int64_t partitions = 0, most = 0;
    int proven = 0, turns = 0, wrong = 0;
    state = 20261121;
    for (int turn = 0; turn < GRAPHS; turn++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const bool recompute = turn % 2 == 0;
        const int n = recompute ? 4 + (int)draw(4) : 4 + (int)draw(9), s = (int)draw(sizeof shape / sizeof *shape);
        const int turns_of_block = turn % 7 == 5 ? 2 + (int)draw(2) : 1;
        const char *text = random_workload(a, turns_of_block > 1 ? n / turns_of_block - 1 + (n < 6) : n, shape[s].rows, shape[s].columns, turns_of_block);
        const fsim_hw *hw = fsim_hw_read(a, d, gpus[turn % 3]);
        const fsim_graph *g = fsim_graph_parse(a, d, "random.yaml", text, strlen(text), NULL, 0);
        if (!hw || !g)
            fsim_diag_print(d, stderr, false);
        assert_non_null(hw);
        assert_non_null(g);
        fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = (fsim_regime)(turn % 4), .time_limit_s = 20, .no_recompute = !recompute,
                          .warm = turn % 5 == 1, .strict = turn % 11 == 3, .objective = turn % 5 == 2 ? FSIM_MINIMISE_BYTES : FSIM_MINIMISE_TIME};
        const fsim_problem p = fsim_problem_of(g, hw, &o, a);
        minimum m = {.least = -1};
        bool truncated;
        fsim_enumerate(&p, 0, take, &m, &truncated);
        assert_false(truncated);
        fsim_plan best, early;
        fsim_proof proof, hasty;
        fsim_problem short_of_time = p, fresh = p;
        fresh.store = fsim_store_new(a); /* nothing learnt from the enumeration */
        short_of_time.store = fsim_store_new(a);
        short_of_time.time_limit_s = turn % 3 ? 0.001 : 1e-5;
        fsim_optimal(&fresh, NULL, 0, a, &best, &proof);
        fsim_optimal(&short_of_time, NULL, 0, a, &early, &hasty);
        const double unit = o.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
        if (best.objective != m.least || proof.lower_bound > (double)m.least * unit * (1 + 1e-12) || hasty.lower_bound > (double)m.least * unit * (1 + 1e-12)) {
            fprintf(stderr, "turn %d: optimal %lld, bound %.15g, in haste %.15g; least of %lld partitions %lld\n%s", turn, (long long)best.objective,
                    proof.lower_bound / unit, hasty.lower_bound / unit, (long long)m.partitions, (long long)m.least, text);
            wrong++;
        }
        assert_true(early.kernels > 0 && early.objective >= m.least);
        partitions += m.partitions;
        most = m.partitions > most ? m.partitions : most;
        proven += proof.proven;
        turns++;
        fsim_arena_free(a);
    }
    printf("%d graphs, %lld partitions, at most %lld of one; %d proven\n", turns, (long long)partitions, (long long)most, proven);
    assert_int_equal(wrong, 0);
    assert_true(proven * 100 >= turns * 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimum_is_the_least_of_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

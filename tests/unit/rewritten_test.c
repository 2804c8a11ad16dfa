/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is written in another way is the same program: with a further dimension of length 1, with rows or
 * columns that two dimensions number, with its operands the other way round. All plans take as long, move as much and
 * have as many kernels, on random graphs. depends: once cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict.h"
#include "random_rows.h"
#include "random_workload.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 30, ROWS = 10 };
#else
enum { GRAPHS = 100, ROWS = 40 };
#endif

typedef struct {
    const char *from, *to;
} change;

/* The text with each `from` as its `to`; at a place the first one counts. */
static const char *rewritten(fsim_arena *a, const char *text, const change *list)
{
    const char *out = "", *done = text;
    for (const char *at = text; *at;) {
        const change *c = list;
        while (c->from && strncmp(at, c->from, strlen(c->from)) != 0)
            c++;
        if (c->from) {
            out = fsim_printf(a, "%s%.*s%s", out, (int)(at - done), done, c->to);
            done = at + strlen(c->from);
        }
        at = c->from ? done : at + 1;
    }
    return fsim_printf(a, "%s%s", out, done);
}

/* Each sum, product and maximum with its operands the other way round. */
static const char *turned_around(fsim_arena *a, const char *text)
{
    static const char *const ops[] = {"{op: add, in: [", "{op: mul, in: [", "{op: maximum, in: ["};
    const char *out = text;
    for (int i = 0; i < 3; i++) {
        const size_t before = strlen(ops[i]);
        for (const char *at = out; (at = strstr(at, ops[i]));) {
            const char *comma = strchr(at, ','), *x = at + before, *y = NULL;
            comma = strchr(comma + 1, ',');
            y = comma + 2;
            const int first = (int)(comma - x), second = (int)strcspn(y, "]");
            const size_t done = (size_t)(at - out);
            out = fsim_printf(a, "%.*s%s%.*s, %.*s%s", (int)done, out, ops[i], second, y, first, x, y + second);
            at = out + done + before;
        }
    }
    return out;
}

static fsim_prediction planned(fsim_arena *a, const char *text, const fsim_hw *hw)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "rewritten.yaml", text, strlen(text), NULL);
    const fsim_options how = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 200000};
    if (!g) {
        fsim_diag_print(d, stderr, false);
        fprintf(stderr, "%s", text);
    }
    assert_non_null(g);
    return fsim_predict(g, hw, &how, a);
}

static void compare(const fsim_prediction *x, const fsim_prediction *y, const char *text, const char *other)
{
    static const fsim_strategy list[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_GREEDY,
                                         FSIM_STRATEGY_MAXIMAL};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const fsim_plan *p = &x->plan[list[i]], *q = &y->plan[list[i]];
        if (p->objective != q->objective || p->kernels != q->kernels || p->dram_read_bytes != q->dram_read_bytes ||
            p->dram_write_bytes != q->dram_write_bytes || p->l2_bytes != q->l2_bytes || p->flops != q->flops ||
            p->peak_memory_bytes != q->peak_memory_bytes)
            fail_msg("%s: %d kernels, %.9g s, %.9g bytes of L2, %.9g FLOP; %d kernels, %.9g s, %.9g bytes of L2, %.9g "
                     "FLOP\n%s\n%s",
                     fsim_strategy_names[list[i]], p->kernels, p->time_s, p->l2_bytes, p->flops, q->kernels, q->time_s,
                     q->l2_bytes, q->flops, text, other);
    }
}

static void the_same_program(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {"hwmodels/a100-sxm4-40gb", "tests/hw/toy", "hwmodels/t4"};
    static const struct {
        int rows, columns;
    } sizes[] = {{64, 48}, {64, 64}, {6, 1000}, {256, 30}, {1024, 1024}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    fsim_arena *all = fsim_arena_new();
    const fsim_hw *hw[3];
    for (int i = 0; i < 3; i++)
        hw[i] = fsim_hw_read(all, fsim_diag_new(all), fsim_printf(all, FUSESIM_SOURCE_DIR "/%s.yaml", gpus[i]));
    for (int seed = 1; seed <= GRAPHS; seed++) {
        fsim_arena *a = fsim_arena_new();
        const int rows = sizes[seed % SIZES].rows, columns = sizes[seed % SIZES].columns;
        state = (uint64_t)seed;
        const char *text = random_workload(a, 3 + (int)draw(6), rows, columns, 1);
        const change one[] = {{"shape: [", "shape: [1, "},
                              {"dims: [0, 1]", "dims: [1, 2]"},
                              {"dims: [0]", "dims: [1]"},
                              {"dims: [1]", "dims: [2]"},
                              {NULL, NULL}},
                     halves[] = {{fsim_printf(a, "[%d, ", rows), fsim_printf(a, "[%d, 2, ", rows / 2)},
                                 {"dims: [0]", "dims: [0, 1]"},
                                 {"dims: [1]", "dims: [2]"},
                                 {NULL, NULL}},
                     pairs[] = {{fsim_printf(a, ", %d]", columns), fsim_printf(a, ", %d, 2]", columns / 2)},
                                {fsim_printf(a, "[%d]", columns), fsim_printf(a, "[%d, 2]", columns / 2)},
                                {", 1]", ", 1, 1]"},
                                {"dims: [1]", "dims: [1, 2]"},
                                {NULL, NULL}},
                     last[] = {{fsim_printf(a, "[%d]", columns), fsim_printf(a, "[%d, 1]", columns)},
                               {fsim_printf(a, ", %d]", columns), fsim_printf(a, ", %d, 1]", columns)},
                               {", 1]", ", 1, 1]"},
                               {NULL, NULL}};
        const change *const ways[] = {one, halves, pairs, last};
        const fsim_prediction plain = planned(a, text, hw[seed % 3]);
        const bool square = strstr(text, "matmul") || strstr(text, "transpose");
        for (int i = 0; i < (square ? 1 : 4); i++) {
            const char *other = rewritten(a, text, ways[i]);
            const fsim_prediction same = planned(a, other, hw[seed % 3]);
            compare(&plain, &same, text, other);
        }
        const char *other = turned_around(a, text);
        const fsim_prediction same = planned(a, other, hw[seed % 3]);
        compare(&plain, &same, text, other);
        fsim_arena_free(a);
    }
    fsim_arena_free(all);
}

/* The same of operators that kernels over rows have, with a further dimension in front. */
static void the_same_rows(void **unused)
{
    (void)unused;
    static const change one[] = {{"at: {shape: [", "at: {shape: ["},
                                 {"shape: [", "shape: [1, "},
                                 {"op: gather, ", "op: index_select, dim: 1, "},
                                 {"dims: [0, 1]", "dims: [1, 2]"},
                                 {"dims: [0]", "dims: [1]"},
                                 {"dims: [1]", "dims: [2]"},
                                 {"dim: 0", "dim: 1"},
                                 {"dim: 1", "dim: 2"},
                                 {NULL, NULL}};
    fsim_arena *all = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(all, fsim_diag_new(all), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    for (int seed = 1; seed <= ROWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const char *text = random_rows(a, 3 + (int)draw(6)), *other = rewritten(a, text, one);
        const fsim_prediction plain = planned(a, text, hw), same = planned(a, other, hw);
        compare(&plain, &same, text, other);
        fsim_arena_free(a);
    }
    fsim_arena_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_program), cmocka_unit_test(the_same_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 5 */
/* Rows, bands and points thread by thread: texts that few workloads have (rows too long to keep, walked once for two
 * reductions; blocks that are not full), as the emulator runs them in two orders, against the reference; and that
 * nothing is written behind the end of what is theirs. */
#include "emit/generate.h"
#include "predict.h"
#include "validate/reference/check.h"

#include "../mock/build.h"
#include "../mock/emulate.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#define X(shape, type)         "tensors:\n  x: {shape: [" shape "], dtype: " type ", role: input}\n"
#define AND(name, shape, type) "  " name ": {shape: [" shape "], dtype: " type ", role: input}\n"
#define OPS                    "operators:\n"
#define SQUARES(dim)           SQUARES_OF("x", dim)
#define SQUARES_OF(x, dim)                                                                                             \
    "  - {op: mean, in: " x ", out: mean, dims: [" dim "], keepdim: true}\n  - {op: sub, in: [" x                      \
    ", mean], out: centred}\n  - {op: mul, in: [centred, centred], out: square}\n"                                     \
    "  - {op: mean, in: square, out: var, dims: [" dim "], keepdim: true}\n"

static const struct {
    const char *name, *text, *outputs;
    int passes; /* over a row, that the plan is told to need: more than one, and no row is kept; 0: as many as it has */
    int vector; /* elements of a thread; 0: as many as it has */
    const char *has[2];
} cases[] = {
    {"softmax, a row of a block",
     X("8, 2048", "f32") OPS "  - {op: softmax, in: x, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 8, 2, 128)", "FS_ROW_SUM(f"}},
    {"layer norm, several rows of a block",
     X("13, 700", "f32") OPS "  - {op: layer_norm, in: x, out: y}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 13, ", "FS_ROW_SUM(f"}},
    {"sums of doubles",
     X("6, 3000", "f64") OPS "  - {op: sum, in: x, out: y, dims: [1]}\n",
     "y",
     0,
     0,
     {"FS_ROW_SUM(d"}},
    {"least of integers",
     X("6, 3000", "i32") OPS "  - {op: min, in: x, out: y, dims: [1]}\n",
     "y",
     0,
     0,
     {"FS_ROW_MIN(i"}},
    {"place of the largest",
     X("6, 3000", "f32") OPS "  - {op: argmax, in: x, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROW_ARGMAX(f"}},
    {"product",
     X("7, 600", "f32") OPS "  - {op: exp, in: x, out: e}\n  - {op: prod, in: e, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROW_PROD(f"}},
    {"long softmax", X("5, 3001", "f32") OPS "  - {op: softmax, in: x, out: y, dim: 1}\n", "y", 2, 0, {"FS_ROW_EXP(f"}},
    {"long softmax of doubles",
     X("3, 1030", "f64") OPS "  - {op: softmax, in: x, out: y, dim: 1}\n",
     "y",
     2,
     0,
     {"FS_ROW_EXP(d"}},
    {"long layer norm",
     X("5, 3001", "f32") AND("s", "5, 1", "f32") OPS
     "  - {op: mul, in: [x, s], out: z}\n  - {op: layer_norm, in: z, out: y}\n",
     "y",
     2,
     0,
     {"FS_ROW_MOMENTS(f"}},
    {"long layer norm, f16",
     X("4, 2048", "f16") OPS "  - {op: layer_norm, in: x, out: y}\n",
     "y",
     2,
     0,
     {"FS_ROW_MOMENTS(f"}},
    {"long moments of doubles",
     X("5, 1030", "f64") OPS SQUARES("1") "  - {op: mul, in: [centred, var], out: y}\n",
     "y",
     2,
     0,
     {"FS_ROW_MOMENTS(d"}},
    {"softmax of columns",
     X("300, 70", "f32") OPS "  - {op: softmax, in: x, out: y, dim: 0}\n",
     "y",
     2,
     0,
     {"FS_BAND_EXP(f"}},
    {"moments of columns",
     X("301, 70", "f32") OPS SQUARES("0") "  - {op: mul, in: [centred, var], out: y}\n",
     "y",
     2,
     0,
     {"FS_BAND_MOMENTS(f"}},
    {"moments in pieces",
     X("1, 10, 7000", "f32") AND("b", "10, 1", "f32") OPS
     "  - {op: mul, in: b, out: b4, scalar: 4}\n  - {op: add, in: [x, b4], out: z}\n" SQUARES_OF("z", "1, 2"),
     "mean, var",
     0,
     0,
     {"fs_merge_moments_f", "FS_ROW_MOMENTS(f"}},
    {"logarithm of a sum in pieces",
     X("1, 70000", "f32") OPS "  - {op: logsumexp, in: x, out: y, dims: [1]}\n",
     "y",
     0,
     0,
     {"fs_merge_exp_f", "FS_ROW_EXP(f"}},
    {"two neighbours a sum: a row of a thread",
     X("700, 2", "f16") OPS "  - {op: sum, in: x, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 700, 256, 1)", "FS_WALK(r, 2, 2)"}},
    {"a middle dimension of two: a row of a thread, neighbouring rows side by side",
     X("5, 2, 40960", "f16") OPS "  - {op: sum, in: x, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 204800, 256, 1)", "FS_WALK(r, 2, 1)"}},
    {"softmax of a middle dimension of seven, kept in registers",
     X("3, 7, 32768", "f16") OPS "  - {op: softmax, in: x, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 98304, 256, 1)", "FS_KEPT_IN_REGISTERS"}},
    {"moments of short rows: four threads a row",
     X("1001, 12", "f32") OPS SQUARES("1") "  - {op: mul, in: [centred, var], out: y}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 1001, 64, 4)", "FS_ROW_SUM(f"}},
    {"the place of the largest of five: eight threads a row",
     X("1001, 5", "f32") OPS "  - {op: argmax, in: x, out: y, dim: 1}\n",
     "y",
     0,
     0,
     {"FS_ROWS(p, 1001, 32, 8)", "FS_ROW_ARGMAX(f"}},
    {"running sums of what is computed, and what is computed of them",
     X("5, 1500", "f16") AND("z", "5", "f32") OPS
     "  - {op: exp, in: x, out: e}\n  - {op: cumsum, in: e, out: c, dim: 1}\n"
     "  - {op: reshape, in: z, out: q, shape: [5, 1]}\n  - {op: mul, in: [c, q], out: m}\n"
     "  - {op: sub, in: [m, e], out: y}\n",
     "y, c, e",
     0,
     0,
     {"FS_SCAN(f", "fs_expf"}},
    {"running products down columns, of neighbours put together",
     X("3, 40, 37", "f32") AND("z", "3, 2, 37", "f32") OPS
     "  - {op: concat, in: [z, x], out: t, dim: 1}\n  - {op: cumprod, in: t, out: c, dim: 1}\n"
     "  - {op: tanh, in: c, out: y}\n",
     "y",
     0,
     0,
     {"FS_UNROLL_FOUR", "fs_tanhf"}},
    {"running sums", X("5, 1500", "f32") OPS "  - {op: cumsum, in: x, out: y, dim: 1}\n", "y", 0, 0, {"FS_SCAN(f"}},
    {"points of a broadcast digit",
     X("33, 1", "f32") AND("z", "33, 52", "f32") OPS "  - {op: add, in: [x, z], out: y}\n",
     "y",
     0,
     4,
     {"FS_POINTS(0, o, c, 1716, 52, 4)"}},
    {"ragged points",
     X("32, 1", "f16") AND("z", "31", "f16") OPS "  - {op: mul, in: [x, z], out: y}\n",
     "y",
     0,
     0,
     {"FS_POINTS(0, o, c, 992, 31, 1)"}},
    {"points of two sizes",
     X("32, 33", "f32") AND("z", "32, 1", "f32") OPS
     "  - {op: neg, in: x, out: y}\n  - {op: exp, in: z, out: w}\n  - {op: add, in: [y, w], out: v}\n",
     "y, w, v",
     0,
     0,
     {"FS_POINTS("}},
    {"transposed",
     X("45, 70", "f32") OPS "  - {op: transpose, in: x, out: t, dims: [0, 1]}\n  - {op: relu, in: t, out: y}\n",
     "y",
     0,
     0,
     {"FS_TILES("}},
    {"integers of a byte",
     X("40, 40", "i8") OPS "  - {op: mul, in: [x, x], out: a}\n  - {op: mul, in: [a, x], out: b}\n  - {op: cast, in: "
                           "b, out: y, dtype: i32}\n",
     "y",
     0,
     0,
     {"(fs_i8)"}},
    {"bytes",
     X("40, 40", "u8") OPS "  - {op: mul, in: [x, x], out: a}\n  - {op: mul, in: [a, x], out: b}\n  - {op: cast, in: "
                           "b, out: y, dtype: f32}\n",
     "y",
     0,
     0,
     {"(fs_u8)"}},
    {"integers of two bytes",
     X("40, 40", "i16") OPS
     "  - {op: mul, in: [x, x], out: a}\n  - {op: mul, in: [a, a], out: b}\n  - {op: mul, in: [b, a], out: c}\n"
     "  - {op: cast, in: c, out: y, dtype: i64}\n",
     "y",
     0,
     0,
     {"(fs_i16)"}},
};
enum { CASES = sizeof cases / sizeof *cases };

static fsim_arena *arena;
static fsim_program *program[CASES];
static int programs[CASES];
static fsim_reference *reference[CASES];

/* Returns how much of what the texts are to have they lack. */
static int generate(const fsim_hw *hw, int i)
{
    fsim_diag *d = fsim_diag_new(arena);
    const char *text = fsim_printf(arena, "name: threads\n%soutputs: [%s]\n", cases[i].text, cases[i].outputs);
    const fsim_graph *g = fsim_graph_parse(arena, d, cases[i].name, text, strlen(text), NULL);
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_MAXIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
    const fsim_prediction predicted = fsim_predict(g, hw, &options, arena);
    const fsim_plan *plan = &predicted.plan[FSIM_STRATEGY_MAXIMAL];
    for (int k = 0; k < plan->kernels && cases[i].passes; k++)
        plan->kernel[k].passes = cases[i].passes;
    for (int k = 0; k < plan->kernels && cases[i].vector; k++)
        plan->kernel[k].vector = cases[i].vector;
    programs[i] = plan->kernels;
    program[i] = fsim_programs_of(g, hw, plan, 1, arena);
    reference[i] = fsim_reference_of(g, 1);
    int lacking = 0;
    for (int n = 0; n < 2 && cases[i].has[n]; n++) {
        bool found = false;
        for (int k = 0; k < programs[i]; k++)
            found = found || (program[i][k].source && strstr(program[i][k].source, cases[i].has[n]));
        if (!found)
            print_message("%s: no text has %s:\n%s\n", cases[i].name, cases[i].has[n],
                          program[i][0].source ? program[i][0].source : program[i][0].skipped);
        lacking += !found;
    }
    return lacking;
}

/* The libraries of all texts, one case's behind the other's: those of case i start at first[i]. */
static const char **compile(int *first)
{
    int count = 0;
    for (int i = 0; i < CASES; i++) {
        first[i] = count;
        count += programs[i];
    }
    first[CASES] = count;
    const char **text = fsim_new(arena, const char *, count + 1);
    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < programs[i]; k++) {
            text[first[i] + k] = program[i][k].source;
            assert_non_null(program[i][k].source);
        }
    const char **library = mock_build(text, count, "-O0 -w", arena);
    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < programs[i]; k++)
            if (!library[first[i] + k])
                fail_msg("%s does not compile:\n%s", cases[i].name, program[i][k].source);
    return library;
}

static void run(int i, int k, const fsim_host_memory *h, const char *library, const char *order)
{
    const fsim_program *p = &program[i][k];
    char why[400] = "";
    void *const open = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!open)
        fail_msg("%s: %s", cases[i].name, dlerror());
    *(const void **)dlsym(open, "fs_emulator") = mock_calls();
    void **params = fsim_new(arena, void *, p->parameters + 1);
    for (int n = 0; n < p->parameters; n++)
        params[n] = &h->argument[k][n];
    for (int n = 0; n < p->launches; n++) {
        const fsim_launch *l = &p->launch[n];
        const mock_grid grid = {.name = l->entry,
                                .entry = (void (*)(void **))(uintptr_t)dlsym(open, l->entry),
                                .params = params,
                                .grid = l->grid,
                                .block = l->block,
                                .shared_bytes = l->shared_bytes,
                                .shared_limit_bytes = 163 * 1024};
        if (mock_run(&grid, why, sizeof why) != MOCK_RAN || *why)
            fail_msg("%s, %s: %s\n%s", cases[i].name, order, why, p->source);
    }
    const fsim_check c = fsim_check_program(reference[i], p, fsim_host_fetch, h->argument[k], arena);
    if (c.message || c.untold)
        fail_msg("%s, %s: %s\n%s", cases[i].name, order, c.message ? c.message : c.untold, p->source);
    if (fsim_host_overrun(h, k))
        fail_msg("%s, %s: something is written behind the end of %s\n%s", cases[i].name, order, fsim_host_overrun(h, k),
                 p->source);
    dlclose(open);
}

static void threads_in_any_order_compute_the_reference(void **unused)
{
    (void)unused;
    static const char *const orders[] = {"ascending", "reverse"};
    int first[CASES + 1];
    arena = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(arena, fsim_diag_new(arena), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    assert_non_null(hw);
    int lacking = 0;
    for (int i = 0; i < CASES; i++)
        lacking += generate(hw, i);
    assert_int_equal(lacking, 0);
    const char **library = compile(first);
    for (int o = 0; o < 2; o++) {
        setenv("MOCK_ORDER", orders[o], 1);
        for (int i = 0; i < CASES; i++) {
            fsim_host_memory *h = fsim_host_memory_new(reference[i], program[i], programs[i]);
            for (int k = 0; k < programs[i]; k++) {
                run(i, k, h, library[first[i] + k], orders[o]);
                fsim_host_stand_in(h, reference[i], k);
            }
            fsim_host_memory_free(h);
        }
    }
    unsetenv("MOCK_ORDER");
    mock_build_end(library, first[CASES]);
    for (int i = 0; i < CASES; i++)
        fsim_reference_free(reference[i]);
    fsim_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_in_any_order_compute_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

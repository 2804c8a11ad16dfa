/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 22 */
/* Chains tile by tile: their text, compiled for the host and thread by thread as a GPU would run it, against the
 * reference. */
#include "emit/generate.h"
#include "emit/program.h"
#include "fusion/chain.h"
#include "fusion/fuse.h"
#include "validate/cpu/cpu.h"
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
#include <unistd.h>

#include <cmocka.h> /* needs those above */

#define HEAD "name: chain\nsymbols: {B: 1, G: 1, H: 1, S: 40, T: 40, D: 16, R: 16, dtype: f32}\n"
#define QKV                                                                                                            \
    "tensors:\n"                                                                                                       \
    "  q: {shape: [B, H * G, S, D], dtype: dtype, role: input}\n"                                                      \
    "  k: {shape: [B, H, T, D], dtype: dtype, role: input}\n"                                                          \
    "  v: {shape: [B, H, T, R], dtype: dtype, role: input}\n"
#define SCORES                                                                                                         \
    "operators:\n"                                                                                                     \
    "  - {op: transpose, in: k, out: kt, dims: [2, 3]}\n"                                                              \
    "  - {op: matmul, in: [q, kt], out: s}\n"                                                                          \
    "  - {op: mul, in: s, out: x, scalar: 0.25}\n"
#define OUT "  - {op: matmul, in: [p, v], out: o}\n"
static const char attention[] = HEAD QKV "operators:\n  - {op: attention, in: [q, k, v], out: o}\noutputs: [o]\n";
static const char causal[] =
    HEAD QKV "operators:\n  - {op: attention, in: [q, k, v], out: o, causal: true}\noutputs: [o]\n";
static const char latent[] = HEAD "tensors:\n"
                                  "  q: {shape: [B, G, S, D + R], dtype: dtype, role: input}\n"
                                  "  kv: {shape: [B, 1, T, D + R], dtype: dtype, role: input}\n"
                                  "operators:\n  - {op: slice, in: kv, out: v, dim: 3, start: 0, size: D}\n"
                                  "  - {op: attention, in: [q, kv, v], out: o}\noutputs: [o]\n";
static const char narrow[] =
    HEAD "tensors:\n"
         "  q: {shape: [B, H * G, S, D], dtype: dtype, role: input}\n"
         "  k: {shape: [B, H, T, D], dtype: f8e4m3, role: input}\n"
         "  v: {shape: [B, H, T, R], dtype: f8e5m2, role: input}\n"
         "operators:\n  - {op: cast, in: k, out: k_wide, dtype: dtype}\n  - {op: cast, in: v, out: v_wide, dtype: "
         "dtype}\n  - {op: attention, in: [q, k_wide, v_wide], out: o}\noutputs: [o]\n";
static const char plain[] = HEAD QKV SCORES "  - {op: softmax, in: x, out: p, dim: 3}\n" OUT "outputs: [o]\n";
static const char masked[] = HEAD QKV
    "  m: {shape: [B, 1, S, T], dtype: dtype, role: input}\n" SCORES "  - {op: add, in: [x, m], out: y}\n"
    "  - {op: softmax, in: y, out: w, dim: 3}\n  - {op: dropout, in: w, out: p, p: 0.25}\n" OUT "outputs: [o]\n";
/* A row sees nothing of its first tiles: columns from the row's number plus 20 on. */
static const char banded[] =
    HEAD QKV "  w: {shape: [S, T], dtype: dtype, role: weight}\n" SCORES
             "  - {op: triu, in: w, out: u, k: 20}\n  - {op: eq, in: u, out: n, scalar: 0}\n"
             "  - {op: masked_fill, in: [x, n], out: y, value: -inf}\n  - {op: softmax, in: y, out: p, dim: 3}\n" OUT
             "outputs: [o]\n";
static const char stored[] = HEAD QKV SCORES "  - {op: softmax, in: x, out: p, dim: 3}\n" OUT "outputs: [o, x]\n";
static const char statistics[] =
    HEAD QKV SCORES "  - {op: max, in: x, out: m, dim: 3, keepdim: true}\n  - {op: sub, in: [x, m], out: d}\n  - {op: "
                    "exp, in: d, out: e}\n"
                    "  - {op: sum, in: e, out: l, dim: 3, keepdim: true}\n  - {op: div, in: [e, l], out: p}\n"
                    "  - {op: log, in: l, out: g}\n  - {op: add, in: [m, g], out: lse}\n" OUT "outputs: [o, lse]\n";
static const char means[] = HEAD QKV SCORES
    "  - {op: sum, in: x, out: l, dim: 3, keepdim: true}\n  - {op: mul, in: [x, l], out: p}\n" OUT "outputs: [o]\n";
static const char normal[] =
    HEAD QKV "  g: {shape: [T], dtype: dtype, role: weight}\n  b: {shape: [T], dtype: dtype, role: weight}\n" SCORES
             "  - {op: layer_norm, in: [x, g, b], out: p, normalized_shape: [T]}\n" OUT
             "  - {op: relu, in: o, out: z}\noutputs: [z]\n";
static const char whole[] = HEAD QKV SCORES "  - {op: softmax, in: x, out: p, dim: 3}\n" OUT "outputs: [o, p]\n";
static const char mlp[] = HEAD
    "tensors:\n  x: {shape: [S, D], dtype: dtype, role: input}\n  w1: {shape: [D, T], dtype: dtype, role: weight}\n  "
    "b1: {shape: [T], dtype: dtype, role: weight}\n"
    "  w2: {shape: [T, R], dtype: dtype, role: weight}\n  b2: {shape: [R], dtype: dtype, role: weight}\noperators:\n"
    "  - {op: matmul, in: [x, w1], out: h}\n  - {op: add, in: [h, b1], out: i}\n  - {op: gelu, in: i, out: a}\n"
    "  - {op: matmul, in: [a, w2], out: y}\n  - {op: add, in: [y, b2], out: z}\noutputs: [z]\n";
static const char linear[] = HEAD
    "tensors:\n  x: {shape: [S, D], dtype: dtype, role: input}\n  w1: {shape: [T, D], dtype: dtype, role: weight}\n"
    "  w2: {shape: [R, T], dtype: dtype, role: weight}\noperators:\n"
    "  - {op: linear, in: [x, w1], out: h}\n  - {op: relu, in: h, out: a}\n  - {op: linear, in: [a, w2], out: "
    "y}\noutputs: [y]\n";
static const char crossed[] = HEAD "tensors:\n  q: {shape: [B, S, H, D], dtype: dtype, role: input}\n  k: {shape: [B, "
                                   "T, H, D], dtype: dtype, role: input}\n"
                                   "  v: {shape: [B, T, H, R], dtype: dtype, role: input}\noperators:\n  - {op: "
                                   "einsum, in: [q, k], out: s, equation: 'bshd,bthd->bsht'}\n"
                                   "  - {op: softmax, in: s, out: p, dim: 3}\n  - {op: einsum, in: [p, v], out: o, "
                                   "equation: 'bsht,bthr->bshr'}\noutputs: [o]\n";

static const char biased[] =
    HEAD QKV "  g: {shape: [D], dtype: dtype, role: weight}\noperators:\n  - {op: add, in: [q, g], out: r}\n"
             "  - {op: attention, in: [r, k, v], out: o, causal: true}\noutputs: [o]\n";

enum { ANYWHERE, TENSOR, LANES, LEFT, GROUPS }; /* tensor cores, none, the general form, groups of warps */
static const struct {
    const char *name, *text, *set; /* NAME=VALUE, blanks between */
    int m, n, form, split;
} cases[] = {
    {"online", plain, "S=37 T=75 D=20 R=24 H=2", 16, 32, LANES, 1},
    {"online, f64", plain, "S=37 T=75 D=20 R=24 dtype=f64", 16, 32, LANES, 1},
    {"online, f16", plain, "S=40 T=72 D=32 R=40 H=2 dtype=f16", 32, 32, TENSOR, 1},
    {"online, bf16", plain, "S=33 T=77 D=48 R=64 dtype=bf16", 16, 32, TENSOR, 1},
    {"odd depth, f16", plain, "S=20 T=50 D=27 R=13 dtype=f16", 16, 16, TENSOR, 1},
    {"few tiles", plain, "S=300 T=9 D=8 R=8 B=2", 128, 128, LANES, 1},
    {"attention", attention, "S=40 T=56 G=2 H=2 D=16 R=16", 16, 16, LANES, 1},
    {"attention, bf16", attention, "S=24 T=56 G=3 D=64 R=64 dtype=bf16", 32, 32, TENSOR, 1},
    {"causal", causal, "S=70 T=70 G=2 D=8 R=8", 16, 32, LANES, 1},
    {"causal, f16", causal, "S=56 T=56 G=2 D=32 R=32 dtype=f16", 32, 16, TENSOR, 1},
    {"causal, a last row's tile", causal, "S=257 T=257 G=2 D=8 R=8", 16, 32, LANES, 1},
    {"causal, a last row's tile, f16", causal, "S=257 T=257 D=32 R=32 dtype=f16", 32, 16, TENSOR, 1},
    {"masked, dropout", masked, "S=35 T=41 H=3 B=2", 16, 16, LANES, 1},
    {"masked, dropout, bf16", masked, "S=35 T=48 H=2 dtype=bf16", 16, 32, TENSOR, 1},
    {"banded", banded, "S=40 T=80", 16, 16, LANES, 1},
    {"banded, f16", banded, "S=40 T=80 H=2 dtype=f16", 32, 16, TENSOR, 1},
    {"banded, shared, f64", banded, "S=40 T=80 dtype=f64", 16, 16, LANES, 4},
    {"scores stored", stored, "S=40 T=300 H=2", 32, 32, LANES, 1},
    {"scores stored, f16", stored, "S=40 T=40 dtype=f16", 16, 16, TENSOR, 1},
    {"statistics", statistics, "S=40 T=300", 32, 64, LANES, 1},
    {"statistics, f16", statistics, "S=40 T=300 dtype=f16", 32, 64, TENSOR, 1},
    {"means", means, "S=40 T=300", 32, 64, LANES, 1},
    {"levels", normal, "S=40 T=100", 16, 64, LANES, 1},
    {"levels, bf16", normal, "S=40 T=72 dtype=bf16", 16, 64, TENSOR, 1},
    {"softmax stored", whole, "S=40 T=100", 16, 64, LANES, 1},
    {"mlp", mlp, "S=50 T=90 D=33 R=21", 16, 32, LANES, 1},
    {"mlp, f16", mlp, "S=50 T=96 D=32 R=24 dtype=f16", 32, 32, TENSOR, 1},
    {"long mlp", mlp, "S=20 T=40 D=300 R=270", 16, 32, LANES, 1},
    {"long mlp, bf16", mlp, "S=20 T=40 D=320 R=272 dtype=bf16", 16, 32, TENSOR, 1},
    {"linear", linear, "S=50 T=40 D=32 R=24", 16, 32, LANES, 1},
    {"linear, f16", linear, "S=50 T=64 D=32 R=24 dtype=f16", 16, 32, TENSOR, 1},
    {"decoding", attention, "S=1 T=200 G=4 H=2 D=16 R=16", 16, 32, LANES, 4},
    {"decoding, f16", attention, "S=1 T=200 G=4 H=2 D=32 R=32 dtype=f16", 16, 16, TENSOR, 3},
    {"decoding, side by side", attention, "S=1 T=300 G=4 H=2 D=64 R=64 dtype=bf16", 16, 64, TENSOR, 1},
    {"decoding, side by side, split", attention, "S=1 T=300 G=6 H=2 D=32 R=48 dtype=f16", 16, 64, TENSOR, 3},
    {"32 rows side by side", plain, "S=27 T=150 D=32 R=24 dtype=bf16", 32, 64, TENSOR, 1},
    {"banded, side by side", banded, "S=10 T=150 D=32 R=32 dtype=f16", 16, 64, TENSOR, 2},
    {"statistics, side by side", statistics, "S=3 T=300 dtype=f16", 16, 128, TENSOR, 1},
    {"means, side by side", means, "S=3 T=300 dtype=f16", 16, 64, TENSOR, 2},
    {"scores stored, side by side", stored, "S=5 T=300 H=2 dtype=bf16", 16, 64, TENSOR, 1},
    {"mlp, side by side", mlp, "S=9 T=96 D=32 R=24 dtype=f16", 16, 64, TENSOR, 1},
    {"decoding, widened", narrow, "S=1 T=300 G=4 H=2 D=64 R=64 dtype=bf16", 16, 64, TENSOR, 3},
    {"decoding, widened, f16", narrow, "S=1 T=75 G=2 H=3 D=32 R=24 dtype=f16", 16, 32, TENSOR, 1},
    {"decoding, 8 bits, odd", narrow, "S=1 T=75 G=2 H=2 D=27 R=13 dtype=f16", 16, 32, TENSOR, 1},
    {"latent", latent, "S=1 T=100 G=20 D=512 R=64 dtype=bf16", 16, 32, TENSOR, 2},
    {"decoding, long depth", attention, "S=1 T=100 G=20 H=1 D=320 R=272 dtype=bf16", 16, 32, TENSOR, 2},
    {"decoding, f64", plain, "S=3 T=100 dtype=f64", 16, 16, LANES, 2},
    {"shared mlp", mlp, "S=9 T=90 D=33 R=300", 16, 16, LANES, 4},
    {"crossed", crossed, "S=20 T=30 H=3 B=2", 16, 16, LANES, 1},
    {"crossed, f16", crossed, "S=24 T=32 H=3 B=2 dtype=f16", 16, 16, TENSOR, 1},
    {"groups", attention, "S=150 T=200 G=2 D=64 R=64 dtype=f16", 128, 128, GROUPS, 1},
    {"groups, causal", causal, "S=130 T=130 D=128 R=64 dtype=bf16", 64, 64, GROUPS, 1},
    {"groups, computed rows", biased, "S=128 T=128 G=2 D=64 R=128 dtype=f16", 128, 64, GROUPS, 1},
    {"groups, three lines", attention, "S=60 T=100 D=192 R=192 dtype=bf16", 64, 64, GROUPS, 1},
    {"groups, levels", normal, "S=70 T=128 D=64 R=64 dtype=bf16", 64, 64, GROUPS, 1},
    {"groups, split", attention, "S=70 T=300 D=64 R=64 dtype=bf16", 64, 64, GROUPS, 3},
    {"groups, mlp", mlp, "S=70 T=192 D=128 R=128 dtype=f16", 64, 64, GROUPS, 1},
    {"groups, linear", linear, "S=70 T=256 D=64 R=128 dtype=bf16", 128, 128, GROUPS, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static fsim_arena *arena;
static fsim_program program[CASES];
static fsim_reference *reference[CASES];
static const char *const compiler = "cc -O1";

static const fsim_hw *ampere, *hopper;

static const fsim_graph *graph_of(const char *name, const char *text, const char *bindings)
{
    fsim_diag *d = fsim_diag_new(arena);
    fsim_binding set[12];
    int sets = 0;
    char *words = fsim_printf(arena, "%s", bindings), *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest)); sets++) {
        char *value = strchr(word, '=');
        *value = 0;
        set[sets] = (fsim_binding){word, value + 1};
    }
    const fsim_graph *g = fsim_graph_parse(arena, d, name, text, strlen(text), &(fsim_bindings){set, sets, NULL});
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    return g;
}

/* The whole workload as one kernel with the case's tile. */
static void generate(const fsim_graph *g, int i)
{
    int *node = fsim_new(arena, int, g->nodes);
    for (int n = 0; n < g->nodes; n++)
        node[n] = n;
    fsim_group *o = fsim_new(arena, fsim_group, 1);
    fsim_refusal why;
    const fsim_limits limits = {.graph = g, .shared_per_block = 160 * 1024, .strict = false};
    if (!fsim_legal(&limits, node, g->nodes, arena, o, &why))
        fail_msg("%s: %s", cases[i].name, fsim_refusal_text(g, &why, arena));
    assert_int_equal(o->template, FSIM_CHAINED_CONTRACTION);
    fsim_kernel *k = fsim_new(arena, fsim_kernel, i + 1);
    for (int n = 0; n <= i; n++) /* the last of so many: names differ */
        k[n] = (fsim_kernel){.template = o->template,
                             .group = o,
                             .tile_m = cases[i].m,
                             .tile_n = cases[i].n,
                             .block = 128,
                             .launches = cases[i].split > 1 ? 2 : 1,
                             .split_k = cases[i].split};
    const fsim_plan plan = {.kernels = i + 1, .kernel = k};
    program[i] = fsim_programs_of(g, cases[i].form == GROUPS ? hopper : ampere, &plan, 1, arena)[i];
    assert_non_null(program[i].source);
    assert_int_equal(program[i].launches, cases[i].split > 1 ? 2 : 1);
    if (cases[i].form == LEFT ? strstr(program[i].source, "FS_FLASH(") != NULL
                              : !strstr(program[i].source, cases[i].form == TENSOR   ? "FS_FLASH_MMA("
                                                           : cases[i].form == GROUPS ? "FS_FLASH_GROUPS("
                                                                                     : "FS_FLASH_SIMT("))
        fail_msg("%s has another form:\n%s", cases[i].name, program[i].source);
    if (strstr(cases[i].name, "side by side") && !strstr(program[i].source, "FS_FLASH_MEET {"))
        fail_msg("%s: the warps of a block do not share columns as they should:\n%s", cases[i].name, program[i].source);
    if ((strstr(cases[i].name, "widened") != NULL) != (strstr(program[i].source, "FS_FLASH_WIDEN(") != NULL))
        fail_msg("%s: 8-bit floats are not loaded as they should be:\n%s", cases[i].name, program[i].source);
    if (strstr(cases[i].name, "last row's tile") && !strstr(program[i].source, "fs_flash_stop("))
        fail_msg("%s leaves no columns out:\n%s", cases[i].name, program[i].source);
    if (strstr(cases[i].name, "causal") && !strstr(program[i].source, " = c <= "))
        fail_msg("%s divides to find an element's column:\n%s", cases[i].name, program[i].source);
    reference[i] = fsim_reference_of(g, 1);
}

static int setup(void **unused)
{
    (void)unused;
    arena = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(arena);
    ampere = fsim_hw_read(arena, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    hopper = fsim_hw_read(arena, d, FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
    assert_true(ampere && hopper);
    for (int i = 0; i < CASES; i++)
        generate(graph_of(cases[i].name, cases[i].text, cases[i].set), i);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    for (int i = 0; i < CASES; i++)
        fsim_reference_free(reference[i]);
    fsim_arena_free(arena);
    return 0;
}

static void expect_right(int i, const char *how, void **argument)
{
    const fsim_check c = fsim_check_program(reference[i], &program[i], fsim_host_fetch, argument, arena);
    if (c.message)
        fail_msg("%s, %s: %s", cases[i].name, how, c.message);
}

static void the_host_computes_what_the_reference_does(void **unused)
{
    (void)unused;
    const char *why = "";
    const fsim_cpu_compiler how = {.header = fsim_dialect_text, .compiler = compiler};
    fsim_cpu_module *m = fsim_cpu_compile(program, CASES, &how, arena, &why);
    if (!m)
        skip();
    fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
    for (int i = 0; i < CASES; i++) {
        if (m->kernel[i].failed)
            fail_msg("%s: %s", cases[i].name, m->kernel[i].failed);
        fsim_host_memory *h = fsim_host_memory_new(reference[i], &program[i], 1);
        fsim_cpu_run(pool, &m->kernel[i], h->argument[0]);
        expect_right(i, "host", h->argument[0]);
        fsim_host_memory_free(h);
    }
    fsim_cpu_pool_free(pool);
    fsim_cpu_unload(m);
}

/* Scores that are 5 % too large stay within every element's bound in bf16, and must be told all the same. */
static void a_scale_that_is_off_by_little_is_told(void **unused)
{
    (void)unused;
    static const char bindings[] = "S=64 T=128 D=64 R=64 H=2 dtype=bf16";
    const int usual = 3; /* the case whose program is replaced: tensor cores, bf16 */
    fsim_reference *r = fsim_reference_of(graph_of("right", plain, bindings), 1);
    for (int off = 0; off < 2; off++) {
        char *text = fsim_printf(arena, "%s", plain), *scalar = strstr(text, "0.25");
        memcpy(scalar, off ? "0.26" : "0.25", 4);
        if (off)
            text = fsim_printf(arena, "%.*s0.2625%s", (int)(scalar - text), text, scalar + 4);
        const fsim_program kept = program[usual];
        fsim_reference *const kept_reference = reference[usual];
        generate(graph_of("scaled", text, bindings), usual);
        const fsim_program p = program[usual];
        fsim_reference_free(reference[usual]);
        program[usual] = kept;
        reference[usual] = kept_reference;
        const fsim_cpu_compiler how = {.header = fsim_dialect_text, .compiler = compiler};
        const char *why = "";
        fsim_cpu_module *m = fsim_cpu_compile(&p, 1, &how, arena, &why);
        if (!m)
            skip();
        fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
        fsim_host_memory *h = fsim_host_memory_new(r, &p, 1);
        fsim_cpu_run(pool, &m->kernel[0], h->argument[0]);
        const fsim_check c = fsim_check_program(r, &p, fsim_host_fetch, h->argument[0], arena);
        assert_int_equal(c.found.wrong, 0);
        assert_int_equal(c.message != NULL, off);
        if (off)
            assert_non_null(strstr(c.message, "o is off by"));
        fsim_host_memory_free(h);
        fsim_cpu_pool_free(pool);
        fsim_cpu_unload(m);
    }
    fsim_reference_free(r);
}

static void emulate(int i, const char *library, const char *order)
{
    char why[400];
    void *const open = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!open)
        fail_msg("%s: %s", cases[i].name, dlerror());
    *(const void **)dlsym(open, "fs_emulator") = mock_calls();
    fsim_host_memory *h = fsim_host_memory_new(reference[i], &program[i], 1);
    void **params = fsim_new(arena, void *, program[i].parameters);
    for (int k = 0; k < program[i].parameters; k++)
        params[k] = &h->argument[0][k];
    for (int n = 0; n < program[i].launches; n++) {
        const fsim_launch *l = &program[i].launch[n];
        void (*entry)(void **);
        *(void **)&entry = dlsym(open, l->entry);
        assert_non_null(*(void **)&entry);
        const mock_grid grid = {.name = l->entry,
                                .entry = entry,
                                .params = params,
                                .grid = l->grid,
                                .block = l->block,
                                .shared_bytes = l->shared_bytes,
                                .shared_limit_bytes = (cases[i].form == GROUPS ? 227 : 163) * 1024};
        if (mock_run(&grid, why, sizeof why) != MOCK_RAN)
            fail_msg("%s, %s: %s", cases[i].name, order, why);
    }
    expect_right(i, order, h->argument[0]);
    fsim_host_memory_free(h);
    dlclose(open);
}

static void a_gpu_does_whatever_order_its_threads_run_in(void **unused)
{
    (void)unused;
    const char *text[CASES];
    for (int i = 0; i < CASES; i++)
        text[i] = program[i].source;
    const char **library = mock_build(text, CASES, "-O0 -w", arena);
    for (int i = 0; i < CASES; i++)
        if (!library[i])
            fail_msg("%s does not compile", cases[i].name);
    for (int reverse = 0; reverse < 2; reverse++) {
        if (reverse)
            setenv("MOCK_ORDER", "reverse", 1);
        for (int i = 0; i < CASES; i++)
            emulate(i, library[i], reverse ? "reverse" : "ascending");
    }
    unsetenv("MOCK_ORDER");
    mock_build_end(library, CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_computes_what_the_reference_does),
        cmocka_unit_test(a_scale_that_is_off_by_little_is_told),
        cmocka_unit_test(a_gpu_does_whatever_order_its_threads_run_in),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the vendor's library is taken to compute in one call, and how everything else is priced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fuse.h"
#include "plan/price/basis.h"
#include "plan/price/spread.h"
#include "vendor/library.h"
#include "vendor/vendor.h"
#include <string.h>

#define PRODUCT "  - {op: matmul, in: [x, w], out: p}\n"
#define BIASED  PRODUCT "  - {op: add, in: [p, b], out: h}\n"
#define PLAIN   "  - {op: matmul, in: [x32, w32], out: p}\n"
#define CONV    "  - {op: conv2d, in: [i, f], out: p, padding: [1, 1], compute: tf32}\n"
#define SUM     PRODUCT "  - {op: add, in: [p, r], out: s}\n"
#define NORM    "  - {op: batch_norm, in: [p, scale, shift, mean, variance], out: n}\n"

typedef struct {
    const char *hw, *operators;
    bool can;
} library_case;

/* Each is one group. */
static const library_case cases[] = {
    {"h100-sxm5-80gb", PRODUCT, true},
    {"h100-sxm5-80gb", BIASED, true},
    {"h100-sxm5-80gb", BIASED "  - {op: relu, in: h, out: y}\n", true},
    {"h100-sxm5-80gb", BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\n", true},
    {"h100-sxm5-80gb", BIASED "  - {op: gelu, in: h, out: y}\n", false},
    {"h100-sxm5-80gb", BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\noutputs: [h, y]\n", true},
    {"mi300x", BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\noutputs: [h, y]\n", true},
    {"h100-sxm5-80gb", BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\noutputs: [p, y]\n", false},
    {"h100-sxm5-80gb",
     BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\n  - {op: cast, in: y, out: z, dtype: f32}\noutputs: [h, "
            "z]\n",
     false},
    {"h100-sxm5-80gb", BIASED "  - {op: relu, in: h, out: y}\noutputs: [h, y]\n", false},
    {"h100-sxm5-80gb", BIASED "  - {op: silu, in: h, out: y}\n", false},
    {"mi300x", BIASED "  - {op: silu, in: h, out: y}\n", true},
    {"h100-sxm5-80gb", PRODUCT "  - {op: mul, in: p, out: y, scalar: 0.125}\n", true},
    {"h100-sxm5-80gb", BIASED "  - {op: mul, in: h, out: y, scalar: 0.125}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: cast, in: p, out: y, dtype: f32}\n", true},
    {"h100-sxm5-80gb", SUM, true},
    {"mi300x", SUM, true},
    {"host", SUM, false},
    {"h100-sxm5-80gb", SUM "  - {op: relu, in: s, out: y}\n", true},
    {"h100-sxm5-80gb", SUM "  - {op: gelu, in: s, out: y, approximate: tanh}\noutputs: [s, y]\n", true},
    {"h100-sxm5-80gb", SUM "  - {op: add, in: [s, b], out: h}\n  - {op: relu, in: h, out: y}\n", true},
    {"h100-sxm5-80gb", BIASED "  - {op: add, in: [r, h], out: y}\n", true},
    {"h100-sxm5-80gb", SUM "  - {op: add, in: [s, r2], out: y}\n", false},
    {"h100-sxm5-80gb", SUM "  - {op: mul, in: s, out: y, scalar: 0.5}\n", false},
    {"h100-sxm5-80gb", SUM "  - {op: cast, in: s, out: y, dtype: f32}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: add, in: [p, p], out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: mul, in: [p, r], out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: relu, in: p, out: q}\n  - {op: add, in: [q, r], out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: relu, in: r, out: q}\n  - {op: add, in: [p, q], out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: transpose, in: rt, out: q, dims: [0, 1]}\n  - {op: add, in: [p, q], out: y}\n",
     false},
    {"h100-sxm5-80gb", "  - {op: matmul, in: [x8, w8], out: p, dtype: f8e4m3}\n  - {op: add, in: [p, r8], out: y}\n",
     false},
    {"h100-sxm5-80gb", "  - {op: matmul, in: [x8, w8], out: p, dtype: f16}\n  - {op: add, in: [p, r], out: y}\n", true},
    {"h100-sxm5-80gb", PRODUCT "  - {op: add, in: [p, column], out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: sub, in: [p, b], out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: relu, in: p, out: q}\n  - {op: add, in: [q, b], out: y}\n", false},
    {"h100-sxm5-80gb", BIASED "  - {op: relu, in: h, out: q}\n  - {op: relu, in: q, out: y}\n", false},
    {"h100-sxm5-80gb", PRODUCT "  - {op: tanh, in: p, out: y}\n", false},
    {"h100-sxm5-80gb", PLAIN "  - {op: add, in: [p, b32], out: y}\n", true},
    {"h100-sxm5-80gb", PLAIN "  - {op: add, in: [p, b], out: y}\n", false},
    {"host", PRODUCT "  - {op: tanh, in: p, out: y}\n", true},
    {"h100-sxm5-80gb",
     PRODUCT "  - {op: sin, in: p, out: s}\n  - {op: erf, in: s, out: e}\n  - {op: cos, in: e, out: y}\n", false},
    {"h100-sxm5-80gb", CONV "  - {op: add, in: [p, fb], out: h}\n  - {op: relu, in: h, out: y}\n", true},
    {"h100-sxm5-80gb", CONV "  - {op: add, in: [p, fb], out: h}\n  - {op: silu, in: h, out: y}\n", true},
    {"v100-sxm2-32gb", CONV "  - {op: add, in: [p, fb], out: h}\n  - {op: silu, in: h, out: y}\n", false},
    {"v100-sxm2-32gb", CONV "  - {op: relu, in: p, out: y}\n", true},
    {"h100-sxm5-80gb", CONV "  - {op: sigmoid, in: p, out: y}\n", true},
    {"v100-sxm2-32gb", CONV "  - {op: sigmoid, in: p, out: y}\n", false},
    {"h100-sxm5-80gb", "  - {op: conv2d, in: [i, f], out: p}\n  - {op: sigmoid, in: p, out: y}\n", false},
    {"h100-sxm5-80gb", CONV NORM "  - {op: relu, in: n, out: y}\n", true},
    {"h100-sxm5-80gb", CONV NORM "  - {op: add, in: [n, fb], out: y}\n", true},
    {"h100-sxm5-80gb", CONV "  - {op: add, in: [p, pixel], out: y}\n", false},
    {"h100-sxm5-80gb", CONV "  - {op: add, in: [p, side], out: h}\n  - {op: relu, in: h, out: y}\n", true},
    {"v100-sxm2-32gb", CONV NORM "  - {op: add, in: [side, n], out: h}\n  - {op: relu, in: h, out: y}\n", true},
    {"mi300x", CONV "  - {op: add, in: [p, side], out: y}\n", false},
    {"h100-sxm5-80gb", CONV "  - {op: sin, in: p, out: y}\n", false},
};

static const char tensors[] =
    "name: epilogue\ntensors:\n  x: {shape: [512, 2048], dtype: f16, role: input}\n"
    "  w: {shape: [2048, 1024], dtype: f16, role: weight}\n  b: {shape: [1024], dtype: f16, role: weight}\n"
    "  column: {shape: [512, 1], dtype: f16, role: weight}\n  r: {shape: [512, 1024], dtype: f16, role: input}\n"
    "  r2: {shape: [512, 1024], dtype: f16, role: input}\n  rt: {shape: [1024, 512], dtype: f16, role: input}\n"
    "  x8: {shape: [512, 2048], dtype: f8e4m3}\n  w8: {shape: [2048, 1024], dtype: f8e4m3}\n"
    "  r8: {shape: [512, 1024], dtype: f8e4m3}\n  side: {shape: [4, 128, 32, 32], dtype: f32, role: input}\n"
    "  i: {shape: [4, 64, 32, 32], dtype: f32, role: input}\n  f: {shape: [128, 64, 3, 3], dtype: f32, role: weight}\n"
    "  x32: {shape: [512, 256], dtype: f32}\n  w32: {shape: [256, 1024], dtype: f32}\n"
    "  b32: {shape: [1024], dtype: f32}\n  fb: {shape: [128, 1, 1], dtype: f32, role: weight}\n"
    "  scale: {shape: [128], dtype: f32, role: weight}\n  shift: {shape: [128], dtype: f32, role: weight}\n"
    "  mean: {shape: [128], dtype: f32, role: weight}\n  variance: {shape: [128], dtype: f32, role: weight}\n"
    "  pixel: {shape: [1, 1, 32, 32], dtype: f32, role: weight}\noperators:\n";

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_group group;
} one_group;

static one_group set_up(const library_case *c)
{
    one_group s = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(s.a);
    const char *text = fsim_printf(s.a, "%s%s", tensors, c->operators);
    s.g = fsim_graph_parse(s.a, d, "epilogue.yaml", text, strlen(text), NULL);
    s.hw = fsim_hw_read(s.a, d, fsim_printf(s.a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, c->hw));
    if (!s.g || !s.hw)
        fsim_diag_print(d, stderr, false);
    assert_true(s.g && s.hw);
    int node[32];
    for (int n = 0; n < s.g->nodes; n++)
        node[n] = n;
    fsim_refusal why;
    assert_true(fsim_legal(&(fsim_limits){.graph = s.g, .shared_per_block = INT64_C(163) << 10}, node, s.g->nodes, s.a,
                           &s.group, &why));
    return s;
}

static void one_call(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const one_group s = set_up(&cases[i]);
        const fsim_kernel k = fsim_kernel_of(s.g, s.hw, FSIM_REGIME_STREAM, &s.group, NULL, s.a);
        const bool can = fsim_library_can(s.g, s.hw, &s.group);
        if (can != cases[i].can)
            print_message("%s:\n%s", cases[i].hw, cases[i].operators);
        assert_int_equal(can, cases[i].can);
        assert_true(k.time_s > 0);
        if (!can)
            assert_int_equal(k.template, FSIM_TILED_CONTRACTION);
        else if (!s.g->node[s.group.anchor].gemm.convolution)
            assert_int_equal(k.template, FSIM_LIBRARY_CONTRACTION);
        fsim_arena_free(s.a);
    }
}

/* What is called: what the kernels that are run, and their results, depend on. */
static void the_parts_of_a_call(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        double scale;
        const char *bias, *residual, *result;
        fsim_epilogue_kind activation;
        bool to_f32;
    } calls[] = {
        {PRODUCT, 1, NULL, NULL, "p", FSIM_EPILOGUE_COUNT, false},
        {PRODUCT "  - {op: div, in: p, out: q, scalar: 8}\n  - {op: add, in: [b, q], out: h}\n"
                 "  - {op: relu, in: h, out: r1}\n  - {op: cast, in: r1, out: y, dtype: f32}\n",
         0.125, "b", NULL, "y", FSIM_EPILOGUE_RELU, true},
        {PRODUCT "  - {op: mul, in: p, out: y, scalar: 8}\n", 8, NULL, NULL, "y", FSIM_EPILOGUE_COUNT, false},
        {BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\n", 1, "b", NULL, "y", FSIM_EPILOGUE_GELU_TANH,
         false},
        {CONV "  - {op: hardtanh, in: p, out: y}\n", 1, NULL, NULL, "y", FSIM_EPILOGUE_CLAMP, false},
        {PRODUCT "  - {op: mul, in: p, out: q, scalar: 8}\n  - {op: add, in: [r, q], out: s}\n"
                 "  - {op: add, in: [s, b], out: h}\n  - {op: relu, in: h, out: y}\n",
         8, "b", "r", "y", FSIM_EPILOGUE_RELU, false},
        {CONV "  - {op: add, in: [p, side], out: h}\n  - {op: relu, in: h, out: y}\n", 1, NULL, "side", "y",
         FSIM_EPILOGUE_RELU, false},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const library_case c = {"h100-sxm5-80gb", calls[i].operators, true};
        const one_group s = set_up(&c);
        const fsim_epilogue e = fsim_epilogue_of(s.g, s.hw, &s.group);
        assert_true(e.scale == calls[i].scale);
        assert_string_equal(e.bias < 0 ? "" : s.g->tensor[e.bias].name, calls[i].bias ? calls[i].bias : "");
        assert_string_equal(e.residual < 0 ? "" : s.g->tensor[e.residual].name,
                            calls[i].residual ? calls[i].residual : "");
        assert_string_equal(s.g->tensor[e.result].name, calls[i].result);
        assert_int_equal(e.activation, calls[i].activation);
        assert_int_equal(e.to_f32, calls[i].to_f32);
        assert_int_equal(e.members, s.group.members);
        fsim_arena_free(s.a);
    }
}

/* The group's kernel, and the keys of the hardware file that its price read. */
static fsim_kernel priced(const one_group *s, fsim_hw_keys *read)
{
    fsim_hw hw = *s->hw;
    hw.read = read;
    return fsim_kernel_of(s->g, &hw, FSIM_REGIME_STREAM, &s->group, NULL, s->a);
}

/* A library's call has been measured; what has to be generated was measured on one GPU, and is wider off. */
static void other_evidence(void **unused)
{
    (void)unused;
    const library_case odd = {"h100-sxm5-80gb",
                              PRODUCT "  - {op: sin, in: p, out: s}\n  - {op: erf, in: s, out: e}\n"
                                      "  - {op: cos, in: e, out: y}\n",
                              false},
                       plain = {"h100-sxm5-80gb", PRODUCT, true};
    const one_group o = set_up(&odd), p = set_up(&plain);
    fsim_hw_keys by_generated = {0}, by_called = {0};
    fsim_kernel generated = priced(&o, &by_generated);
    const fsim_kernel called = priced(&p, &by_called);
    generated.bound = FSIM_COMPUTE; /* by what is assumed of it */
    assert_int_equal(fsim_kernel_origin(p.g, p.hw, FSIM_BY_FUSESIM, &called, &by_called), FSIM_FROM_FITTED);
    assert_int_equal(fsim_kernel_origin(o.g, o.hw, FSIM_BY_FUSESIM, &generated, &by_generated), FSIM_FROM_ASSUMED);
    assert_int_equal(fsim_kernel_origin(o.g, o.hw, FSIM_BY_ATEN, &generated, &by_generated), FSIM_FROM_FITTED);
    fsim_kernel loads = generated; /* bound by memory, whose rate is known */
    loads.bound = FSIM_DRAM;
    assert_int_equal(fsim_kernel_origin(o.g, o.hw, FSIM_BY_FUSESIM, &loads, &by_generated), FSIM_FROM_FITTED);
    assert_true(fsim_kernel_spread(o.g, o.hw, FSIM_BY_FUSESIM, &generated) >
                fsim_kernel_spread(p.g, p.hw, FSIM_BY_FUSESIM, &called));
    fsim_arena_free(o.a);
    fsim_arena_free(p.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_call), cmocka_unit_test(the_parts_of_a_call),
                                       cmocka_unit_test(other_evidence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels one call of the vendor's library does, and with which arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fuse.h"
#include "random.h"
#include "validate/cuda/library_call.h"
#include "validate/reference/reference.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 6, N = 5, K = 4, BATCH = 3 };
static const char tensors[] =
    "tensors:\n  x: {shape: [6, 4], dtype: f32, role: input}\n  w: {shape: [4, 5], dtype: f32, role: weight}\n"
    "  wt: {shape: [5, 4], dtype: f32, role: weight}\n  xt: {shape: [4, 6], dtype: f32, role: input}\n  b: {shape: "
    "[5], dtype: f32, role: weight}\n"
    "  rows: {shape: [6, 1], dtype: f32, role: weight}\n  one: {shape: [1], dtype: f32, role: weight}\n"
    "  full: {shape: [6, 5], dtype: f32, role: input}\n  square: {shape: [4, 4], dtype: f32, role: weight}\n  s: "
    "{shape: [4], dtype: f32, role: weight}\n"
    "  column: {shape: [4, 1], dtype: f32, role: weight}\n  x3: {shape: [3, 6, 4], dtype: f32, role: input}\n  w3: "
    "{shape: [3, 4, 5], dtype: f32, role: weight}\n"
    "  full3: {shape: [3, 6, 5], dtype: f32, role: input}\n  b3: {shape: [3, 1, 5], dtype: f32, role: weight}\n  many: "
    "{shape: [7, 5], dtype: f32, role: "
    "weight}\n  wide: {shape: [6, 8], dtype: f32}\n  tall: {shape: [8, 5], dtype: f32}\n  xb: {shape: [6, 4], dtype: "
    "bf16}\n  wb: {shape: [4, 5], dtype: bf16}\n  x8: {shape: [6, 4], dtype: "
    "f8e4m3}\n  w8: {shape: [4, 5], dtype: f8e4m3}\noperators:\n";

typedef struct {
    const char *idea, *operators;
    int64_t m, n, k, batch; /* 0: our own kernel does it */
    bool a_transposed, b_transposed;
    const char *bias;
    int64_t bias_stride, bias_offset;
    fsim_gpu_activation activation;
    const char *residual;
} vendor_case;

#define PRODUCT "  - {op: matmul, in: [x, w], out: p}\n"
#define ADDED   PRODUCT "  - {op: add, in: [p, full], out: h}\n"
#define BIASED  PRODUCT "  - {op: add, in: [p, b], out: h}\n"
static const vendor_case cases[] = {
    {"a product", PRODUCT, M, N, K, 1, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"a bias", BIASED, M, N, K, 1, false, false, "b", 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"a bias before the product", PRODUCT "  - {op: add, in: [b, p], out: h}\n", M, N, K, 1, false, false, "b", 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"relu alone", PRODUCT "  - {op: relu, in: p, out: y}\n", M, N, K, 1, false, false, NULL, 0, 0, FSIM_WITH_RELU,
     NULL},
    {"bias, relu", BIASED "  - {op: relu, in: h, out: y}\n", M, N, K, 1, false, false, "b", 0, 0, FSIM_WITH_RELU, NULL},
    {"bias, tanh GELU", BIASED "  - {op: gelu, in: h, out: y, approximate: tanh}\n", M, N, K, 1, false, false, "b", 0,
     0, FSIM_WITH_TANH_GELU, NULL},
    {"tanh GELU alone", PRODUCT "  - {op: gelu, in: p, out: y, approximate: tanh}\n", M, N, K, 1, false, false, NULL, 0,
     0, FSIM_WITH_TANH_GELU, NULL},
    {"erf GELU is another function", BIASED "  - {op: gelu, in: h, out: y, approximate: none}\n", 0, 0, 0, 0, false,
     false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"linear: a transposed weight", "  - {op: linear, in: [x, wt, b], out: h}\n  - {op: relu, in: h, out: y}\n", M, N,
     K, 1, false, true, "b", 0, 0, FSIM_WITH_RELU, NULL},
    {"an operand transposed by the kernel",
     "  - {op: transpose, in: xt, out: t, dims: [0, 1]}\n  - {op: matmul, in: [t, w], out: p}\n  - {op: add, in: [p, "
     "b], out: h}\n",
     M, N, K, 1, true, false, "b", 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"a vector along the rows", PRODUCT "  - {op: add, in: [p, rows], out: h}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"of a square, along the rows",
     "  - {op: matmul, in: [square, square], out: p}\n  - {op: add, in: [p, column], out: h}\n", 0, 0, 0, 0, false,
     false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"of a square, along the columns",
     "  - {op: matmul, in: [square, square], out: p}\n  - {op: add, in: [p, s], out: h}\n", 4, 4, 4, 1, false, false,
     "s", 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"one number for all", PRODUCT "  - {op: add, in: [p, one], out: h}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"a matrix added", ADDED, M, N, K, 1, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, "full"},
    {"a matrix, a bias, relu", ADDED "  - {op: add, in: [b, h], out: i}\n  - {op: relu, in: i, out: y}\n", M, N, K, 1,
     false, false, "b", 0, 0, FSIM_WITH_RELU, "full"},
    {"two matrices", ADDED "  - {op: add, in: [h, full], out: y}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"a batch with a matrix each", "  - {op: matmul, in: [x3, w3], out: p}\n  - {op: add, in: [p, full3], out: y}\n", M,
     N, K, BATCH, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, "full3"},
    {"the product twice", PRODUCT "  - {op: add, in: [p, p], out: h}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"subtracted", PRODUCT "  - {op: sub, in: [p, b], out: h}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"scaled", PRODUCT "  - {op: mul, in: p, out: h, scalar: 0.5}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"relu before the bias", PRODUCT "  - {op: relu, in: p, out: r}\n  - {op: add, in: [r, b], out: y}\n", 0, 0, 0, 0,
     false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"two biases", BIASED "  - {op: add, in: [h, b], out: y}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"more behind relu", BIASED "  - {op: relu, in: h, out: r}\n  - {op: neg, in: r, out: y}\n", 0, 0, 0, 0, false,
     false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"the product is wanted too", BIASED "outputs: [p, h]\n", 0, 0, 0, 0, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION,
     NULL},
    {"a transposed result", BIASED "  - {op: transpose, in: h, out: y, dims: [0, 1]}\n", 0, 0, 0, 0, false, false, NULL,
     0, 0, FSIM_NO_ACTIVATION, NULL},
    {"a row of a matrix",
     "  - {op: slice, in: many, out: r, dim: 0, start: 2, size: 1}\n" PRODUCT "  - {op: add, in: [p, r], out: h}\n", M,
     N, K, 1, false, false, "many", 0, 10, FSIM_NO_ACTIVATION, NULL},
    {"a batch", "  - {op: matmul, in: [x3, w3], out: p}\n  - {op: relu, in: p, out: y}\n", M, N, K, BATCH, false, false,
     NULL, 0, 0, FSIM_WITH_RELU, NULL},
    {"a batch with one bias", "  - {op: matmul, in: [x3, w3], out: p}\n  - {op: add, in: [p, b], out: y}\n", M, N, K,
     BATCH, false, false, "b", 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"a batch with a bias each", "  - {op: matmul, in: [x3, w3], out: p}\n  - {op: add, in: [p, b3], out: y}\n", M, N,
     K, BATCH, false, false, "b3", N, 0, FSIM_NO_ACTIVATION, NULL},
    {"the first columns of a wider matrix",
     "  - {op: slice, in: wide, out: c, dim: 1, start: 0, size: 4}\n  - {op: "
     "matmul, in: [c, w], out: p}\n",
     0, 0, 0, 0, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"the last columns of a wider matrix",
     "  - {op: slice, in: wide, out: c, dim: 1, start: 4, size: 4}\n  - {op: "
     "matmul, in: [c, w], out: p}\n",
     0, 0, 0, 0, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"the first rows of a taller matrix",
     "  - {op: slice, in: tall, out: c, dim: 0, start: 0, size: 4}\n  - {op: "
     "matmul, in: [x, c], out: p}\n",
     M, N, K, 1, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"the last rows of a taller matrix",
     "  - {op: slice, in: tall, out: c, dim: 0, start: 4, size: 4}\n  - {op: "
     "matmul, in: [x, c], out: p}\n",
     0, 0, 0, 0, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"the first columns, the other way round",
     "  - {op: slice, in: wide, out: c, dim: 1, start: 0, size: 4}\n  - {op: "
     "linear, in: [c, wt], out: p}\n",
     0, 0, 0, 0, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"what is computed before the product", "  - {op: exp, in: x, out: e}\n  - {op: matmul, in: [e, w], out: p}\n", 0,
     0, 0, 0, false, false, NULL, 0, 0, FSIM_NO_ACTIVATION, NULL},
    {"two products", PRODUCT "  - {op: matmul, in: [x, w], out: q}\n", 0, 0, 0, 0, false, false, NULL, 0, 0,
     FSIM_NO_ACTIVATION, NULL},
    {"a batch that is one tall matrix", "  - {op: matmul, in: [x3, w], out: p}\n  - {op: add, in: [p, b], out: y}\n",
     BATCH *M, N, K, 1, false, false, "b", 0, 0, FSIM_NO_ACTIVATION, NULL},
};

static bool is_as_wanted(const vendor_case *c, const fsim_graph *g, const fsim_vendor_call *v)
{
    const fsim_gpu_gemm_call *x = &v->call;
    return x->m == c->m && x->n == c->n && x->k == c->k && x->batch == c->batch && x->a_transposed == c->a_transposed &&
           x->b_transposed == c->b_transposed && x->activation == c->activation && x->bias_stride == c->bias_stride &&
           v->bias_offset == c->bias_offset && (v->bias < 0) == !c->bias &&
           (v->bias < 0 || strcmp(g->tensor[v->bias].name, c->bias) == 0) && (v->residual < 0) == !c->residual &&
           (v->residual < 0 || strcmp(g->tensor[v->residual].name, c->residual) == 0) && g->tensor[v->c].output &&
           (c->batch == 1 || (x->a_stride == M * K && x->b_stride == K * N)) && x->type == FSIM_F32;
}

static double gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

static double gelu_slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
}

/* Does the call, as the header says what one does, compute what the reference has? */
static bool computes(const fsim_graph *g, const fsim_vendor_call *v)
{
    fsim_reference *r = fsim_reference_of(g, 1);
    const fsim_gpu_gemm_call *x = &v->call;
    const double *a = r->of[v->a].value, *b = r->of[v->b].value, *c = r->of[v->c].value;
    bool right = true;
    for (int64_t i = 0; i < x->batch * x->m * x->n; i++) {
        const int64_t batch = i / (x->m * x->n), row = i / x->n % x->m, column = i % x->n;
        const int64_t at = batch * x->c_stride + row * x->n + column;
        double sum = v->residual < 0 ? 0 : r->of[v->residual].value[at];
        sum += v->bias < 0 ? 0 : r->of[v->bias].value[v->bias_offset + batch * x->bias_stride + column];
        for (int64_t k = 0; k < x->k; k++)
            sum += a[batch * x->a_stride + (x->a_transposed ? k * x->m + row : row * x->k + k)] *
                   b[batch * x->b_stride + (x->b_transposed ? column * x->k + k : k * x->n + column)];
        const double aux = v->aux < 0                              ? 0
                           : x->activation == FSIM_WITH_RELU_SLOPE ? (int)r->of[v->aux].value[at / 8] >> at % 8 & 1
                                                                   : r->of[v->aux].value[at];
        right = right && (x->activation != FSIM_WITH_TANH_GELU || v->aux < 0 || fabs(sum - aux) <= 1e-9);
        sum = x->activation == FSIM_WITH_RELU              ? fmax(sum, 0)
              : x->activation == FSIM_WITH_TANH_GELU       ? gelu(sum)
              : x->activation == FSIM_WITH_RELU_SLOPE      ? sum * aux
              : x->activation == FSIM_WITH_TANH_GELU_SLOPE ? sum * gelu_slope(aux)
                                                           : sum;
        right = right && fabs(sum - c[at]) <= 1e-9 * fmax(1, fabs(c[at]));
    }
    fsim_reference_free(r);
    return right;
}

/* A part of a graph as the call of one kernel. */
static bool part_called(fsim_arena *a, const fsim_graph *g, const fsim_selection *part, fsim_vendor_call *v,
                        const char **why)
{
    fsim_group *o = fsim_new(a, fsim_group, 1);
    fsim_refusal refusal;
    const fsim_hw hw = {.architecture = "sm_90", .sm = 90, .arch = fsim_architecture_named("sm_90")};
    *why = "it is no kernel";
    if (!fsim_group_of(&(fsim_limits){.graph = g, .shared_per_block = 163 << 10}, part, a, o, &refusal))
        return false;
    const fsim_kernel k = {.group = o, .template = FSIM_LIBRARY_CONTRACTION};
    return fsim_vendor_call_of(g, &hw, &k, "k0", v, why);
}

/* All of it. */
static bool called(fsim_arena *a, const fsim_graph *g, fsim_vendor_call *v, const char **why)
{
    int node[32];
    for (int n = 0; n < g->nodes; n++)
        node[n] = n;
    return part_called(a, g, &(fsim_selection){.node = node, .count = g->nodes}, v, why);
}

static void calls(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const vendor_case *c = &cases[i];
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(a, "%s%s", tensors, c->operators), *why = NULL;
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL);
        if (!g)
            fsim_diag_print(d, stderr, true);
        assert_non_null(g);
        fsim_vendor_call v;
        const bool made = called(a, g, &v, &why);
        const bool right = made == (c->m > 0) && (made ? is_as_wanted(c, g, &v) && computes(g, &v) : why != NULL);
        if (!right)
            print_message("%s: %s, %lld x %lld x %lld x %lld, bias %d + %lld, activation %d\n", c->idea,
                          made ? "called" : why, (long long)v.call.batch, (long long)v.call.m, (long long)v.call.n,
                          (long long)v.call.k, v.bias, (long long)v.bias_offset, (int)v.call.activation);
        assert_true(right);
        fsim_arena_free(a);
    }
}

/* Products of matrices that lie in memory as they are or transposed, with a batch of one or two dimensions, or one
 * matrix for all of it; and what is added to them. */
static void calls_compute_what_is_asked(void **unused)
{
    (void)unused;
    enum { DRAWS = 300 };
    int made = 0;
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int m = 1 + (int)draw(5), n = 1 + (int)draw(5), k = 1 + (int)draw(5), outer = 1 + (int)draw(3),
                  inner = 1 + (int)draw(3), dims = (int)draw(3);
        const bool turned[] = {draw(2), draw(2)}, shared = dims > 0 && draw(3) == 0;
        const char *batch = dims == 0   ? ""
                            : dims == 1 ? fsim_printf(a, "%d, ", inner)
                                        : fsim_printf(a, "%d, %d, ", outer, inner);
        const char *text = fsim_printf(
            a,
            "tensors:\n  x: {shape: [%s%d, %d], dtype: f32}\n  w: {shape: [%s%d, %d], dtype: f32}\n  b: {shape: [%d], "
            "dtype: f32}\n  r: {shape: [%s%d, %d], dtype: f32}\noperators:\n",
            batch, turned[0] ? k : m, turned[0] ? m : k, shared ? "" : batch, turned[1] ? n : k, turned[1] ? k : n, n,
            batch, m, n);
        const char *x = "x", *w = "w";
        if (turned[0])
            text = fsim_printf(a, "%s  - {op: transpose, in: x, out: x2, dims: [%d, %d]}\n", text, dims, dims + 1),
            x = "x2";
        if (turned[1])
            text = fsim_printf(a, "%s  - {op: transpose, in: w, out: w2, dims: [%d, %d]}\n", text, shared ? 0 : dims,
                               shared ? 1 : dims + 1),
            w = "w2";
        const int more = (int)draw(4);
        text = fsim_printf(a, "%s  - {op: matmul, in: [%s, %s], out: p}\n%s%s%s", text, x, w,
                           more & 1 ? "  - {op: add, in: [p, r], out: q}\n" : "",
                           more == 3   ? "  - {op: add, in: [q, b], out: s}\n"
                           : more == 2 ? "  - {op: add, in: [p, b], out: s}\n"
                                       : "",
                           more == 3 ? "  - {op: relu, in: s, out: y}\n" : "");
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_parse(a, d, "calls.yaml", text, strlen(text), NULL);
        const char *why;
        fsim_vendor_call v;
        if (!g)
            fsim_diag_print(d, stderr, false);
        assert_non_null(g);
        if (called(a, g, &v, &why)) {
            made++;
            if (!computes(g, &v))
                fail_msg("%lld x %lld x %lld x %lld computes something else than\n%s", (long long)v.call.batch,
                         (long long)v.call.m, (long long)v.call.n, (long long)v.call.k, text);
        }
        fsim_arena_free(a);
    }
    printf("%d of %d are calls\n", made, DRAWS);
    assert_true(made >= 190);
}

typedef struct {
    const char *idea, *operators;
    int n; /* columns of the product whose gradient, or mask, it is */
    bool derived;
    const char *left_out;           /* a primitive that is in another kernel; NULL: none */
    fsim_gpu_activation activation; /* FSIM_NO_ACTIVATION: no call */
    const char *aux;
} slope_case;

#define GELU    "  - {op: gelu, in: h, out: g, approximate: tanh}\n"
#define Y       "  - {op: matmul, in: [g, v], out: y}\n"
#define MASKED  "  - {op: matmul, in: [dy, v2], out: t}\n  - {op: unpack, in: bits, out: u, bits: 1}\n"
#define ONE_WAY "grad/h, by g/half alone"
static const slope_case slopes[] = {
    {"the gradient of tanh GELU", GELU Y "outputs: [y]\n", 64, true, NULL, FSIM_WITH_TANH_GELU_SLOPE, "h"},
    {"in rows that the library can't have", GELU Y "outputs: [y]\n", 60, true, NULL, FSIM_NO_ACTIVATION, NULL},
    {"of another GELU", "  - {op: gelu, in: h, out: g}\n" Y "outputs: [y]\n", 64, true, NULL, FSIM_NO_ACTIVATION, NULL},
    {"of another function", "  - {op: tanh, in: h, out: g}\n" Y "outputs: [y]\n", 64, true, NULL, FSIM_NO_ACTIVATION,
     NULL},
    {"without its last steps", GELU Y "outputs: [y]\n", 64, true, "grad/h", FSIM_NO_ACTIVATION, NULL},
    {"one of its two ways alone", GELU Y "outputs: [y]\n", 64, true, ONE_WAY, FSIM_NO_ACTIVATION, NULL},
    {"with what others add to it", GELU Y "  - {op: exp, in: h, out: e}\noutputs: [y, e]\n", 64, true, NULL,
     FSIM_NO_ACTIVATION, NULL},
    {"a mask of bits", MASKED "  - {op: ne, in: u, scalar: 0, out: c}\n  - {op: where, in: [c, t], other: 0, out: d}\n",
     128, false, NULL, FSIM_WITH_RELU_SLOPE, "bits"},
    {"a mask whose rows are too short",
     MASKED "  - {op: ne, in: u, scalar: 0, out: c}\n  - {op: where, in: [c, t], other: 0, out: d}\n", 64, false, NULL,
     FSIM_NO_ACTIVATION, NULL},
    {"a mask that is turned round",
     MASKED "  - {op: eq, in: u, scalar: 0, out: c}\n  - {op: where, in: [c, t], other: 0, out: d}\n", 128, false, NULL,
     FSIM_NO_ACTIVATION, NULL},
    {"a mask of ones", MASKED "  - {op: ne, in: u, scalar: 1, out: c}\n  - {op: where, in: [c, t], other: 0, out: d}\n",
     128, false, NULL, FSIM_NO_ACTIVATION, NULL},
    {"something else than 0",
     MASKED "  - {op: ne, in: u, scalar: 0, out: c}\n  - {op: where, in: [c, t], other: 2, out: d}\n", 128, false, NULL,
     FSIM_NO_ACTIVATION, NULL},
    {"what a GELU reads as well",
     "  - {op: matmul, in: [dy, v2], out: t}\n  - {op: gelu, in: t, out: g, approximate: tanh}\n"
     "outputs: [t, g]\n",
     64, false, NULL, FSIM_WITH_TANH_GELU, "t"},
    {"the same in rows that the library can't have",
     "  - {op: matmul, in: [dy, v2], out: t}\n  - {op: gelu, in: t, out: g, approximate: tanh}\noutputs: [t, g]\n", 60,
     false, NULL, FSIM_NO_ACTIVATION, NULL},
};

static const char *name_of(const fsim_graph *g, int node) { return g->tensor[g->node[node].result[0]].name; }

/* Forward's primitives as copies, but for what only its outputs need, and backward's; of a graph without gradients
 * all. Stored is what others read. */
static int part_of(const fsim_graph *g, const slope_case *c, int *node, bool *clone, bool *stored)
{
    bool inside[32] = {false};
    int count = 0;
    for (int n = 0; n < g->nodes; n++) {
        const char *name = g->tensor[g->node[n].result[0]].name;
        inside[n] = !c->derived || (strcmp(name, "y") != 0 && strcmp(name, "g") != 0 && strcmp(name, "e") != 0 &&
                                    !(c->left_out && strcmp(name, c->left_out) == 0));
    }
    for (int n = 0; n < g->nodes; n++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
        bool outside = t->output;
        for (int r = 0; r < t->readers; r++)
            outside = outside || !inside[t->reader[r]];
        node[count] = n;
        clone[count] = c->derived && g->node[n].phase != FSIM_BACKWARD;
        stored[count] = outside && !clone[count];
        if (c->left_out && strcmp(c->left_out, ONE_WAY) == 0) { /* the product is computed again for the other way */
            inside[n] = g->node[n].phase != FSIM_BACKWARD
                            ? inside[n] && strcmp(name_of(g, n), "g/half") != 0
                            : strcmp(name_of(g, n), "grad/g/1") == 0 || strcmp(name_of(g, n), "grad/g/half/1") == 0 ||
                                  strcmp(name_of(g, n), "grad/h/1") == 0;
            stored[count] = strcmp(name_of(g, n), "grad/h/1") == 0;
        }
        count += inside[n];
    }
    return count;
}

/* The gradient of an activation behind a product, which a call multiplies by the activation's slope. */
static void calls_with_slopes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof slopes / sizeof slopes[0]; i++) {
        const slope_case *c = &slopes[i];
        fsim_arena *a = fsim_arena_new();
        const char *text =
            fsim_printf(a,
                        "tensors:\n  h: {shape: [6, %d], dtype: f32}\n  v: {shape: [%d, 5], dtype: f32}\n  dy: {shape: "
                        "[6, 4], dtype: "
                        "f32}\n  v2: {shape: [4, %d], dtype: f32}\n  bits: {shape: [6, %d], dtype: u8}\noperators:\n%s",
                        c->n, c->n, c->n, c->n / 8, c->operators);
        const fsim_derive how = {
            .mode = FSIM_REVERSE, .want = FSIM_WANT_NAMED, .name = (const char *const[]){"h"}, .names = 1};
        fsim_diag *d = fsim_diag_new(a);
        fsim_graph *g = fsim_graph_parse(a, d, "slope.yaml", text, strlen(text),
                                         c->derived ? &(fsim_bindings){.derive = &how} : NULL);
        if (!g)
            fsim_diag_print(d, stderr, true);
        assert_non_null(g);
        int node[32];
        bool clone[32], stored[32];
        const int count = part_of(g, c, node, clone, stored);
        fsim_vendor_call v;
        const char *why = NULL;
        const bool made = part_called(a, g, &(fsim_selection){node, count, stored, clone}, &v, &why);
        const bool right = made == (c->activation != FSIM_NO_ACTIVATION) &&
                           (!made || (v.call.activation == c->activation && v.call.n == c->n &&
                                      strcmp(g->tensor[v.aux].name, c->aux) == 0 && computes(g, &v)));
        if (!right)
            print_message("%s: %s, activation %d\n", c->idea, made ? "called" : why, (int)v.call.activation);
        assert_true(right);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls), cmocka_unit_test(calls_with_slopes),
                                       cmocka_unit_test(calls_compute_what_is_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

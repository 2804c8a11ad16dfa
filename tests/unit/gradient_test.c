/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of each operator against central differences, and tangents against gradients, in double precision by the
 * reference.
 * depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/gradient.h"
#include "validate/reference/reference.h"
#include <math.h>
#include <string.h>

enum { MOST_ARGS = 5 };

/* An operator with the shapes of its arguments: "[2, 3]" is differentiated, "i[2, 3]" an index, "b[2, 3]" a bool. */
typedef struct {
    const char *op, *attributes;
    const char *arg[MOST_ARGS];
    const char *range; /* "positive", "inside" (-1, 1), "above" 1, "zero" or positive: the numbers that it is defined
                          for; NULL: all */
    int outs;          /* 0: one */
} program;

static const program programs[] = {
    {"add", "", {"[4]", "[2, 4]"}, NULL, 0},
    {"add", ", scalar: 2", {"[3]"}, NULL, 0},
    {"sub", "", {"[2, 3]", "[3]"}, NULL, 0},
    {"sub", "", {"[3]", "[2, 1]"}, NULL, 0},
    {"mul", "", {"[2, 1]", "[3]"}, NULL, 0},
    {"mul", ", scalar: -3", {"[3]"}, NULL, 0},
    {"div", "", {"[2, 3]", "[3]"}, "positive", 0},
    {"div", ", scalar: 4", {"[3]"}, NULL, 0},
    {"pow", ", scalar: 2", {"[5]"}, NULL, 0},
    {"pow", ", scalar: 3", {"[5]"}, NULL, 0},
    {"pow", ", scalar: 0.5", {"[5]"}, "positive", 0},
    {"pow", ", scalar: 1", {"[5]"}, NULL, 0},
    {"pow", "", {"[2, 3]", "[3]"}, "positive", 0},
    {"maximum", "", {"[2, 5]", "[5]"}, NULL, 0},
    {"minimum", "", {"[2, 5]", "[5]"}, NULL, 0},
    {"minimum", ", scalar: 0.1", {"[2, 5]"}, NULL, 0},
    {"neg", "", {"[2]"}, NULL, 0},
    {"abs", "", {"[5]"}, NULL, 0},
    {"exp", "", {"[2]"}, NULL, 0},
    {"log", "", {"[2]"}, "positive", 0},
    {"sqrt", "", {"[2]"}, "positive", 0},
    {"rsqrt", "", {"[2]"}, "positive", 0},
    {"reciprocal", "", {"[2]"}, "positive", 0},
    {"sin", "", {"[3]"}, NULL, 0},
    {"cos", "", {"[3]"}, NULL, 0},
    {"tan", "", {"[3]"}, "inside", 0},
    {"asin", "", {"[3]"}, "inside", 0},
    {"acos", "", {"[3]"}, "inside", 0},
    {"atan", "", {"[3]"}, NULL, 0},
    {"sinh", "", {"[3]"}, NULL, 0},
    {"cosh", "", {"[3]"}, NULL, 0},
    {"asinh", "", {"[3]"}, NULL, 0},
    {"acosh", "", {"[3]"}, "above", 0},
    {"atanh", "", {"[3]"}, "inside", 0},
    {"atan2", "", {"[2, 3]", "[3]"}, NULL, 0},
    {"erf", "", {"[3]"}, NULL, 0},
    {"tanh", "", {"[3]"}, NULL, 0},
    {"sigmoid", "", {"[3]"}, NULL, 0},
    {"relu", "", {"[9]"}, NULL, 0},
    {"relu6", "", {"[9]"}, NULL, 0},
    {"leaky_relu", ", negative_slope: 0.2", {"[9]"}, NULL, 0},
    {"elu", ", alpha: 0.7", {"[9]"}, NULL, 0},
    {"selu", "", {"[9]"}, NULL, 0},
    {"celu", ", alpha: 0.6", {"[9]"}, NULL, 0},
    {"softsign", "", {"[9]"}, NULL, 0},
    {"hardshrink", ", lambd: 0.2", {"[9]"}, NULL, 0},
    {"softshrink", ", lambd: 0.2", {"[9]"}, NULL, 0},
    {"tanhshrink", "", {"[9]"}, NULL, 0},
    {"logsigmoid", "", {"[9]"}, NULL, 0},
    {"threshold", ", threshold: 0.1", {"[9]"}, NULL, 0},
    {"prelu", "", {"[2, 3, 4]", "[3]"}, NULL, 0},
    {"softplus", "", {"[9]"}, NULL, 0},
    {"hardtanh", ", min: -0.3, max: 0.4", {"[9]"}, NULL, 0},
    {"hardsigmoid", "", {"[9]"}, NULL, 0},
    {"hardswish", "", {"[9]"}, NULL, 0},
    {"clamp", ", min: -0.3", {"[9]"}, NULL, 0},
    {"clamp", "", {"[9]"}, NULL, 0},
    {"clamp", ", min: -0.3, max: 0.2", {"[9]"}, NULL, 0},
    {"square", "", {"[3]"}, NULL, 0},
    {"log1p", "", {"[3]"}, "positive", 0},
    {"expm1", "", {"[3]"}, NULL, 0},
    {"log2", "", {"[3]"}, "positive", 0},
    {"log10", "", {"[3]"}, "positive", 0},
    {"exp2", "", {"[3]"}, NULL, 0},
    {"remainder", "", {"[2, 5]", "[5]"}, "positive", 0},
    {"fmod", "", {"[2, 5]", "[5]"}, "positive", 0},
    {"where", "", {"b[2, 3]", "[2, 3]", "[3]"}, NULL, 0},
    {"where", ", input: 2", {"b[2, 3]", "[3]"}, NULL, 0},
    {"where", ", other: 2", {"b[2, 3]", "[3]"}, NULL, 0},
    {"masked_fill", ", value: 7", {"[2, 3]", "b[3]"}, NULL, 0},
    {"cast", ", dtype: f64", {"[3]"}, NULL, 0},
    {"copy", "", {"[3]"}, NULL, 0},
    {"tril", "", {"[4, 4]"}, NULL, 0},
    {"triu", ", diagonal: 1", {"[2, 4, 4]"}, NULL, 0},
    {"sum", ", dim: 0", {"[2, 4]"}, NULL, 0},
    {"sum", "", {"[2, 4]"}, NULL, 0},
    {"sum", ", dim: [0, 2], keepdim: true", {"[2, 4, 3]"}, NULL, 0},
    {"mean", ", dim: -1", {"[2, 4]"}, NULL, 0},
    {"mean", "", {"[]"}, NULL, 0},
    {"max", ", dim: 1", {"[3, 4]"}, NULL, 0},
    {"max", ", dim: 1", {"[3, 4]"}, NULL, 2},
    {"min", ", dim: [0, 1]", {"[3, 4]"}, NULL, 0},
    {"min", "", {"[3, 4]"}, NULL, 0},
    {"prod", ", dim: 0", {"[4, 2]"}, "positive", 0},
    {"prod", ", dim: 1", {"[2, 4]"}, NULL, 0},
    {"prod", "", {"[3]"}, NULL, 0},
    {"norm", ", p: 3, dim: 1", {"[3, 4]"}, NULL, 0},
    {"norm", ", dim: [0]", {"[3, 4]"}, NULL, 0},
    {"norm", ", p: 1, dim: 1, keepdim: true", {"[3, 4]"}, NULL, 0},
    {"matmul", "", {"[2, 5]", "[5, 4]"}, NULL, 0},
    {"matmul", "", {"[5]", "[5]"}, NULL, 0},
    {"matmul", "", {"[2, 5]", "[5]"}, NULL, 0},
    {"matmul", "", {"[5]", "[5, 4]"}, NULL, 0},
    {"matmul", "", {"[2, 1, 3, 5]", "[4, 5, 4]"}, NULL, 0},
    {"bmm", "", {"[2, 3, 5]", "[2, 5, 4]"}, NULL, 0},
    {"linear", "", {"[5]", "[4, 5]"}, NULL, 0},
    {"linear", "", {"[2, 3, 5]", "[4, 5]", "[4]"}, NULL, 0},
    {"einsum", ", equation: \"ij,jk->ki\"", {"[2, 5]", "[5, 4]"}, NULL, 0},
    {"einsum", ", equation: \"ij,jk->k\"", {"[2, 5]", "[5, 4]"}, NULL, 0},
    {"einsum", ", equation: \"bij,bjk,kl->bil\"", {"[2, 3, 5]", "[2, 5, 4]", "[4, 3]"}, NULL, 0},
    {"conv1d", ", padding: 1, stride: 2", {"[2, 2, 6]", "[4, 2, 3]", "[4]"}, NULL, 0},
    {"conv2d", ", stride: [2, 1], padding: [0, 2], dilation: [1, 2]", {"[2, 2, 6, 5]", "[3, 2, 3, 2]"}, NULL, 0},
    {"conv2d", ", groups: 2", {"[2, 4, 5, 5]", "[6, 2, 3, 3]", "[6]"}, NULL, 0},
    {"conv2d", ", stride: 3, padding: 1", {"[3, 7, 8]", "[2, 3, 3, 3]"}, NULL, 0},
    {"conv3d", "", {"[1, 2, 3, 3, 3]", "[2, 2, 2, 2, 3]"}, NULL, 0},
    {"conv_transpose1d", ", stride: 2, groups: 2", {"[2, 4, 5]", "[4, 2, 3]", "[4]"}, NULL, 0},
    {"conv_transpose2d", ", stride: 2, padding: 1, output_padding: 1", {"[2, 2, 3, 4]", "[2, 3, 3, 3]"}, NULL, 0},
    {"conv_transpose3d", "", {"[1, 2, 2, 2, 2]", "[2, 2, 2, 3, 2]"}, NULL, 0},
    {"reshape", ", shape: [-1, 2]", {"[2, 3, 2]"}, NULL, 0},
    {"flatten", "", {"[2, 3, 2]"}, NULL, 0},
    {"unflatten", ", dim: -1, shape: [2, -1]", {"[2, 6]"}, NULL, 0},
    {"squeeze", "", {"[1, 3, 1]"}, NULL, 0},
    {"unsqueeze", ", dim: -1", {"[2, 3]"}, NULL, 0},
    {"select", ", dim: 1, index: -1", {"[2, 3, 2]"}, NULL, 0},
    {"select", ", dim: 0, index: 1", {"[2, 3, 2]"}, NULL, 0},
    {"stack", ", dim: -1", {"[2, 3]", "[2, 3]"}, NULL, 0},
    {"slice", ", dim: 1, start: 1, end: -1", {"[2, 5]"}, NULL, 0},
    {"slice", ", dim: 0, start: 1, size: 2", {"[4, 2]"}, NULL, 0},
    {"split", ", dim: 1", {"[2, 4]"}, NULL, 2},
    {"split", ", dim: 0", {"[4, 2]"}, NULL, 2},
    {"permute", ", dims: [-1, 0, 1]", {"[2, 3, 4]"}, NULL, 0},
    {"transpose", ", dims: [0, -1]", {"[2, 3, 4]"}, NULL, 0},
    {"transpose", "", {"[2, 3]"}, NULL, 0},
    {"expand", ", shape: [2, -1, 4]", {"[3, 1]"}, NULL, 0},
    {"flip", ", dim: [0, 1]", {"[4, 2]"}, NULL, 0},
    {"concat", ", dim: 0", {"[2, 3]", "[1, 3]", "[2, 3]"}, NULL, 0},
    {"concat", ", dim: -1", {"[2, 1]", "[2, 3]"}, NULL, 0},
    {"pad", ", padding: [1, 2], value: 3", {"[2, 3]"}, NULL, 0},
    {"pad", ", padding: [1, 2, -1, 0]", {"[2, 3]"}, NULL, 0},
    {"roll", ", dim: 0, roll: 1", {"[4, 2]"}, NULL, 0},
    {"roll", ", roll: 3", {"[4, 2]"}, NULL, 0},
    {"gather", "", {"[6, 2]", "i[4]"}, NULL, 0},
    {"gather", ", dim: 1", {"[6, 5]", "i[4, 3]"}, NULL, 0},
    {"index_select", ", dim: 1", {"[3, 6, 2]", "i[4]"}, NULL, 0},
    {"index", ", dim: [1, 2]", {"[3, 6, 2]", "i[4]", "i[2, 1]"}, NULL, 0},
    {"grid_sample", "", {"[1, 2, 3, 4]", "[1, 2, 2, 2]"}, NULL, 0},
    {"embedding", "", {"i[2, 2]", "[6, 2]"}, NULL, 0},
    {"scatter_add", ", dim: 1", {"[2, 6]", "i[2, 4]", "[2, 4]"}, NULL, 0},
    {"index_copy", ", inplace: false, dim: 1", {"[2, 6]", "i[1]", "[2, 1]"}, NULL, 0},
    {"index_add", ", dim: 0, inplace: false", {"[6, 2]", "i[4]", "[4, 2]"}, NULL, 0},
    {"cumsum", ", dim: 1", {"[2, 4]"}, NULL, 0},
    {"cumprod", ", dim: 0", {"[4, 2]"}, NULL, 0},
    {"cumprod", ", dim: 1", {"[2, 4]"}, "zero", 0},
    {"prod", ", dim: 1", {"[2, 4]"}, "zero", 0},
    {"sort", ", dim: 1", {"[2, 4]"}, NULL, 0},
    {"sort", ", dim: 0", {"[4, 2]"}, NULL, 2},
    {"topk", ", k: 2", {"[2, 5]"}, NULL, 2},
    {"embedding_bag", "", {"i[3, 2]", "[6, 2]"}, NULL, 0},
    {"embedding_bag", "", {"i[7]", "[6, 2]", "i[3]"}, NULL, 0},
    {"embedding_bag", ", mode: sum", {"i[4]", "[6, 2]", "i[6]"}, NULL, 0}, /* bags without rows, too */
    {"max_pool1d", ", kernel: 3", {"[1, 2, 9]"}, NULL, 0},
    {"max_pool2d", ", kernel: 3, stride: 2, padding: 1", {"[1, 2, 5, 6]"}, NULL, 0},
    {"max_pool2d", ", kernel: [2, 3], stride: [1, 2], dilation: [2, 1]", {"[2, 5, 6]"}, NULL, 0},
    {"max_pool2d", ", kernel: 3", {"[1, 2, 3, 3]"}, NULL, 0},
    {"max_pool3d", ", kernel: 2", {"[1, 2, 4, 2, 4]"}, NULL, 0},
    {"avg_pool1d", ", kernel: 3, stride: 1", {"[2, 7]"}, NULL, 0},
    {"avg_pool2d", ", kernel: 3, stride: 2, padding: 1", {"[1, 2, 5, 6]"}, NULL, 0},
    {"avg_pool2d", ", kernel: 3", {"[1, 2, 3, 3]"}, NULL, 0},
    {"avg_pool3d", ", kernel: 2, stride: 1", {"[1, 1, 3, 2, 4]"}, NULL, 0},
    {"adaptive_avg_pool1d", ", output_size: 4", {"[2, 7]"}, NULL, 0},
    {"adaptive_avg_pool2d", ", output_size: [2, 3]", {"[1, 2, 5, 7]"}, NULL, 0},
    {"adaptive_avg_pool2d", ", output_size: 1", {"[1, 2, 5, 7]"}, NULL, 0},
    {"adaptive_avg_pool3d", ", output_size: 2", {"[1, 1, 3, 4, 5]"}, NULL, 0},
    {"adaptive_max_pool1d", ", output_size: 3", {"[2, 7]"}, NULL, 0},
    {"adaptive_max_pool2d", ", output_size: [2, 3]", {"[1, 2, 5, 7]"}, NULL, 0},
    {"adaptive_max_pool2d", ", output_size: 1", {"[1, 2, 2, 3]"}, NULL, 0},
    {"adaptive_max_pool3d", ", output_size: 2", {"[1, 1, 3, 4, 5]"}, NULL, 0},
    {"avg_pool_grad", ", output_size: [5, 6], kernel: 3, stride: 2, padding: 1", {"[1, 2, 3, 3]"}, NULL, 0},
    {"avg_pool_grad", ", output_size: [5, 7]", {"[1, 2, 2, 3]"}, NULL, 0},
    {"max_pool_pick", ", output_size: [2], kernel: 3", {"[2, 6]", "[2, 6]"}, NULL, 0},
    {"fold", ", output_size: [4, 5], kernel: [2, 3], padding: 1", {"[1, 12, 25]"}, NULL, 0},
    {"im2col", ", kernel: [2, 3], padding: 1, stride: 2", {"[1, 2, 4, 5]"}, NULL, 0},
    {"im2col", ", kernel: 2, dilation: [1, 2]", {"[1, 2, 4, 5]"}, NULL, 0},
    {"unfold", ", dim: 1, size: 3, step: 2", {"[2, 7, 3]"}, NULL, 0},
    {"unfold", ", dim: -1, size: 2", {"[3, 5]"}, NULL, 0},
    {"unfold", ", dim: 0, size: 4", {"[5]"}, NULL, 0},
    {"interpolate", ", scale_factor: 2", {"[1, 2, 3, 4]"}, NULL, 0},
    {"interpolate", ", size: 5", {"[1, 2, 3]"}, NULL, 0},
    {"interpolate", ", scale_factor: 1.5", {"[1, 2, 5]"}, NULL, 0},
    {"interpolate", ", scale_factor: 0.5", {"[1, 1, 4, 6]"}, NULL, 0},
    {"interpolate", ", size: 5, mode: linear", {"[1, 2, 3]"}, NULL, 0},
    {"interpolate", ", scale_factor: 2, mode: bilinear", {"[1, 2, 3, 4]"}, NULL, 0},
    {"interpolate", ", size: [5, 3], mode: bilinear, align_corners: true", {"[1, 2, 3, 4]"}, NULL, 0},
    {"interpolate", ", size: [2, 3, 5], mode: trilinear", {"[1, 1, 3, 2, 4]"}, NULL, 0},
    {"interpolate", ", scale_factor: 1.7, mode: bicubic", {"[1, 1, 4, 5]"}, NULL, 0},
    {"conv2d_weight", ", kernel: [3, 2], stride: 2, padding: 1, groups: 2", {"[2, 4, 5, 6]", "[2, 2, 3, 4]"}, NULL, 0},
    {"conv1d_weight", ", kernel: 3", {"[2, 4, 5]", "[2, 3, 3]"}, NULL, 0},
    {"conv3d_weight", ", kernel: 2", {"[1, 1, 3, 3, 3]", "[1, 2, 2, 2, 2]"}, NULL, 0},
    {"transfer", ", to: host", {"[3]"}, NULL, 0},
    {"pixel_shuffle", ", upscale_factor: 2", {"[1, 8, 2, 3]"}, NULL, 0},
    {"repeat_interleave", ", repeats: 3, dim: 0", {"[4, 2]"}, NULL, 0},
    {"softmax", ", dim: 0", {"[4, 2]"}, NULL, 0},
    {"log_softmax", ", dim: -1", {"[3, 4]"}, NULL, 0},
    {"logsumexp", ", dim: 0", {"[4, 2]"}, NULL, 0},
    {"logsumexp", ", dim: 0, keepdim: true", {"[4]"}, NULL, 0},
    {"var", ", dim: 1", {"[2, 3]"}, NULL, 0},
    {"std", ", dim: 0, keepdim: true, correction: 0", {"[4, 3]"}, NULL, 0},
    {"glu", ", dim: 0", {"[4, 3]"}, NULL, 0},
    {"layer_norm", "", {"[3, 4]", "[4]", "[4]"}, NULL, 0},
    {"layer_norm", ", normalized_shape: [2, 4]", {"[3, 2, 4]"}, NULL, 0},
    {"rms_norm", "", {"[3, 4]", "[4]"}, NULL, 0},
    {"batch_norm", ", training: true", {"[2, 3, 4]", "[3]", "[3]"}, NULL, 0},
    {"group_norm", ", groups: 2", {"[2, 4, 4]", "[4]", "[4]"}, NULL, 0},
    {"instance_norm", "", {"[2, 4, 4]"}, NULL, 0},
    {"normalize", "", {"[2, 4]"}, NULL, 0},
    {"gelu", "", {"[4]"}, NULL, 0},
    {"gelu", ", approximate: tanh", {"[4]"}, NULL, 0},
    {"silu", "", {"[4]"}, NULL, 0},
    {"mish", "", {"[4]"}, NULL, 0},
    {"swiglu", "", {"[4]"}, NULL, 0},
    {"swiglu", "", {"[4]", "[2, 4]"}, NULL, 0},
    {"rotary_embedding", "", {"[3, 4]", "[4]", "[4]"}, NULL, 0},
    {"attention", ", causal: true", {"[2, 4, 3, 2]", "[2, 4, 3, 2]", "[2, 4, 3, 2]"}, NULL, 0},
    {"attention", ", causal: true, window: 2", {"[1, 2, 4, 2]", "[1, 2, 4, 2]", "[1, 2, 4, 2]"}, NULL, 0},
    {"attention", ", sinks: true", {"[1, 2, 3, 2]", "[1, 2, 3, 2]", "[1, 2, 3, 2]", "[2]"}, NULL, 0},
    {"attention", ", enable_gqa: true", {"[2, 4, 3, 2]", "[2, 2, 5, 2]", "[2, 2, 5, 2]"}, NULL, 0},
    {"attention", "", {"[1, 2, 3, 2]", "[1, 2, 4, 2]", "[1, 2, 4, 2]", "[3, 4]"}, NULL, 0},
    {"cosine_similarity", ", dim: 0", {"[3, 1, 2]", "[2]"}, NULL, 0},
    {"cross_entropy", "", {"[4, 5]", "i[4]"}, NULL, 0},
    {"cross_entropy", "", {"[5]", "i[]"}, NULL, 0},
    {"cross_entropy", "", {"[2, 5, 3]", "i[2, 3]"}, NULL, 0},
    {"kl_div", "", {"[2, 4]", "[2, 4]"}, "positive", 0},
    {"smooth_l1_loss", "", {"[4]", "[4]"}, NULL, 0},
    {"mse_loss", "", {"[2, 4]", "[2, 4]"}, NULL, 0},
    {"l1_loss", "", {"[2, 4]", "[4]"}, NULL, 0},
    {"binary_cross_entropy_with_logits", "", {"[2, 4]", "[2, 4]"}, NULL, 0},
    {"triplet_margin_loss", "", {"[2, 4]", "[2, 4]", "[2, 4]"}, NULL, 0},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

/* Operators whose gradient central differences can't tell, and why. */
static const char *const untold[] = {"dropout",    /* which elements it drops is arbitrary */
                                     "scatter",    /* of two that write one element, either may win */
                                     "all_reduce", /* what other devices have is not known */
                                     "all_gather",   "reduce_scatter", "all_to_all",
                                     "send",         "recv",           "custom", /* refused */
                                     "max_pool_grad"}; /* y is the maximum of x: both can't be moved alone */

static const fsim_graph *parse(fsim_arena *a, const char *text, const fsim_derive *how)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_bindings set = {NULL, 0, how};
    const fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &set);
    if (!g) {
        print_message("%s\n", text);
        fsim_diag_print(d, stderr, true);
    }
    assert_non_null(g);
    return g;
}

static int tensor_named(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    fail_msg("no tensor %s", name);
    return -1;
}

static bool is_float(const char *arg) { return arg && *arg == '['; }

/* Numbers r that an operator is defined for, out of any. */
static const char *range_of(const program *p, fsim_arena *a, int i)
{
    static const struct {
        const char *name, *steps;
    } ranges[] = {
        {"positive", "  - {op: sigmoid, in: x%d, out: m%d}\n  - {op: add, in: m%d, out: r%d, scalar: 0.3}\n"},
        {"inside", "  - {op: tanh, in: x%d, out: m%d}\n  - {op: mul, in: m%d, out: r%d, scalar: 0.8}\n"},
        {"above", "  - {op: sigmoid, in: x%d, out: m%d}\n  - {op: add, in: m%d, out: r%d, scalar: 1.1}\n"},
        {"zero", "  - {op: abs, in: x%d, out: m%d}\n  - {op: threshold, in: m%d, out: r%d, threshold: 0.5}\n"},
        {"any", "  - {op: mul, in: x%d, out: m%d, scalar: 1.5}\n  - {op: sub, in: m%d, out: r%d, scalar: 0.1}\n"}};
    size_t k = 0;
    while (strcmp(ranges[k].name, p->range ? p->range : "any") != 0)
        k++;
    return fsim_printf(a, ranges[k].steps, i, i, i, i);
}

/* loss = sum of u times the operator's results, of z = r + h q. */
static const char *loss_text(const program *p, fsim_arena *a, double h, const fsim_shape *result)
{
    const char *text = "tensors:\n", *ops = "", *in = "";
    for (int i = 0; i < MOST_ARGS && p->arg[i]; i++) {
        const char *shape = strchr(p->arg[i], '[');
        text = fsim_printf(a, "%s  x%d: {shape: %s, dtype: %s}\n", text, i, shape,
                           is_float(p->arg[i])   ? "f64"
                           : p->arg[i][0] == 'b' ? "bool"
                                                 : "i64");
        in = fsim_printf(a, "%s%s%s%d", in, i ? ", " : "", is_float(p->arg[i]) ? "z" : "x", i);
        if (!is_float(p->arg[i]))
            continue;
        text = fsim_printf(a, "%s  v%d: {shape: %s, dtype: f64}\n", text, i, shape);
        ops = fsim_printf(a,
                          "%s%s  - {op: tanh, in: v%d, out: q%d}\n  - {op: mul, in: q%d, out: s%d, scalar: %.17g}\n  - "
                          "{op: add, in: [r%d, s%d], out: z%d}\n",
                          ops, range_of(p, a, i), i, i, i, i, h, i, i, i);
    }
    if (result)
        text = fsim_printf(a, "%s  u: {shape: %s, dtype: f64}\n", text, fsim_shape_text(a, result));
    ops = fsim_printf(a, "%s  - {op: %s, in: [%s], out: %s%s}\n", ops, p->op, in, p->outs == 2 ? "[o, p]" : "o",
                      p->attributes);
    if (result)
        ops = fsim_printf(a,
                          "%s  - {op: mul, in: u, out: t, scalar: 1.25}\n  - {op: mul, in: [o, t], out: w}\n  - {op: "
                          "sum, in: w, out: loss}\n",
                          ops);
    return fsim_printf(a, "%soperators:\n%s%s", text, ops, result ? "outputs: [loss]\n" : "");
}

/* The program with its gradients. They go through it also where only its loss is wanted, so that it has the same
 * inputs: those of a graph depend on who reads them. */
static const fsim_graph *differentiated(const program *p, fsim_arena *a, fsim_derive_mode mode, double h,
                                        const fsim_shape *result)
{
    static const char *const names[] = {"z0", "z1", "z2", "z3", "z4"};
    const char *wanted[MOST_ARGS];
    fsim_derive how = {.mode = mode, .want = FSIM_WANT_NAMED, .name = wanted};
    for (int i = 0; i < MOST_ARGS && p->arg[i]; i++)
        if (is_float(p->arg[i]))
            wanted[how.names++] = names[i];
    return parse(a, loss_text(p, a, h, result), &how);
}

static double loss_of(const program *p, fsim_arena *a, double h, const fsim_shape *result)
{
    const fsim_graph *g = differentiated(p, a, FSIM_REVERSE, h, result);
    fsim_reference *r = fsim_reference_of(g, 1);
    const double loss = r->of[tensor_named(g, "loss")].value[0];
    fsim_reference_free(r);
    return loss;
}

/* The gradient along q: the sum over all arguments of grad/z times q. */
static double slope_of(const program *p, fsim_arena *a, const fsim_shape *result)
{
    const fsim_graph *g = differentiated(p, a, FSIM_REVERSE, 0, result);
    fsim_reference *r = fsim_reference_of(g, 1);
    double slope = 0;
    assert_true(g->gradients > 0);
    for (int i = 0; i < g->gradients; i++) {
        const fsim_tensor *of = &g->tensor[g->gradient[i].of], *x = &g->tensor[g->gradient[i].tensor];
        const double *q = r->of[tensor_named(g, fsim_printf(a, "q%s", of->name + 1))].value,
                     *grad = r->of[x->storage].value + x->offset;
        assert_int_equal(x->elems, of->elems);
        assert_true(x->shape.rank == of->shape.rank && x->dtype == of->dtype);
        for (int64_t k = 0; k < x->elems; k++)
            slope += grad[k] * q[k];
    }
    fsim_reference_free(r);
    return slope;
}

static void gradients_are_slopes(void **unused)
{
    (void)unused;
    const double h = 1e-5;
    int wrong = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        fsim_arena *a = fsim_arena_new();
        const program *p = &programs[i];
        const fsim_graph *g = parse(a, loss_text(p, a, 0, NULL), NULL);
        const fsim_shape result = g->tensor[tensor_named(g, "o")].shape;
        const double measured = (loss_of(p, a, h, &result) - loss_of(p, a, -h, &result)) / (2 * h),
                     slope = slope_of(p, a, &result);
        if (!(fabs(measured - slope) <= 1e-6 * fmax(1, fabs(measured)))) {
            print_error("%s%s (%s): the slope is %.9g, the gradient says %.9g\n", p->op, p->attributes, p->arg[0],
                        measured, slope);
            wrong++;
        }
        fsim_arena_free(a);
    }
    assert_int_equal(wrong, 0);
}

/* The gradient times the tangents of --jvp is the tangent of the loss. Returns how far they are apart. */
static double off_of(const program *p, fsim_arena *a, const fsim_shape *result)
{
    const fsim_graph *back = differentiated(p, a, FSIM_REVERSE, 0, result),
                     *beside = differentiated(p, a, FSIM_TANGENTS, 0, result);
    fsim_reference *r = fsim_reference_of(back, 1), *s = fsim_reference_of(beside, 1);
    double sum = 0, size = 0;
    for (int i = 0; i < back->gradients; i++) {
        const fsim_tensor *of = &back->tensor[back->gradient[i].of], *x = &back->tensor[back->gradient[i].tensor];
        const double *grad = r->of[x->storage].value + x->offset,
                     *dot = s->of[tensor_named(beside, fsim_printf(a, "dot/%s", of->name))].value;
        for (int64_t k = 0; k < x->elems; k++) {
            sum += grad[k] * dot[k];
            size += fabs(grad[k] * dot[k]);
        }
    }
    assert_int_equal(beside->gradients, 1);
    const fsim_tensor *loss = &beside->tensor[beside->gradient[0].tensor];
    const double off = fabs(s->of[loss->storage].value[loss->offset] - sum) / fmax(size, 1);
    fsim_reference_free(r);
    fsim_reference_free(s);
    return off;
}

static void tangents_are_gradients(void **unused)
{
    (void)unused;
    int wrong = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        fsim_arena *a = fsim_arena_new();
        const program *p = &programs[i];
        const fsim_graph *g = parse(a, loss_text(p, a, 0, NULL), NULL);
        const fsim_shape result = g->tensor[tensor_named(g, "o")].shape;
        const double off = off_of(p, a, &result);
        if (!(off <= 1e-12)) {
            print_error("%s%s (%s): off by %g\n", p->op, p->attributes, p->arg[0], off);
            wrong++;
        }
        fsim_arena_free(a);
    }
    assert_int_equal(wrong, 0);
}

static bool is_tried(fsim_op op)
{
    for (int i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].op, fsim_ops[op].name) == 0)
            return true;
    for (size_t i = 0; i < sizeof untold / sizeof *untold; i++)
        if (strcmp(untold[i], fsim_ops[op].name) == 0)
            return true;
    return false;
}

/* A tensor that says so has no gradient, and asking for it is an error. */
static void constants_have_none(void **unused)
{
    (void)unused;
    static const char text[] = "tensors:\n  x: {shape: [3], dtype: f32}\n  w: {shape: [3], dtype: f32, grad: false}\n"
                               "operators:\n  - {op: mul, in: [x, w], out: y}\n";
    fsim_arena *a = fsim_arena_new();
    const char *name = "w";
    const fsim_derive how = {.mode = FSIM_REVERSE},
                      named = {.mode = FSIM_REVERSE, .want = FSIM_WANT_NAMED, .name = &name, .names = 1};
    const fsim_graph *g = parse(a, text, &how);
    assert_int_equal(g->gradients, 1);
    assert_string_equal(g->tensor[g->gradient[0].of].name, "x");
    assert_null(
        fsim_graph_parse(a, fsim_diag_new(a), "test.yaml", text, strlen(text), &(fsim_bindings){NULL, 0, &named}));
    fsim_arena_free(a);
}

/* What can't be differentiated is an error that names it. */
static void refusals_name_the_operator(void **unused)
{
    (void)unused;
    static const char *const operators[][2] = {
        {"  - {op: custom, in: x, out: h}\n  - {op: exp, in: h, out: y}\n", "custom 'h'"},
        {"  - {op: recv, out: h, shape: [3]}\n  - {op: mul, in: [x, h], out: y}\n", "recv 'h'"},
        {"  - {op: exp, in: x, out: h}\n  - {op: send, in: h, out: y}\n", "send 'y'"}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_derive how = {.mode = FSIM_REVERSE};
        const char *text = fsim_printf(a, "tensors: {x: {shape: [3], dtype: f32}}\noperators:\n%s", operators[i][0]);
        char said[1000] = "";
        assert_null(fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){NULL, 0, &how}));
        FILE *f = fmemopen(said, sizeof said - 1, "w");
        fsim_diag_print(d, f, false);
        fclose(f);
        if (!strstr(said, operators[i][1]))
            fail_msg("'%s' is not in: %s", operators[i][1], said);
        fsim_arena_free(a);
    }
}

/* Each primitive has a rule, each elementwise one that has a gradient a row, and each that a workload may name stands
 * above. */
static void no_operator_is_left_out(void **unused)
{
    (void)unused;
    for (fsim_op op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_gradient_rule *rule = fsim_gradient_rules[op];
        fsim_op same;
        if (fsim_ops[op].class == FSIM_COMPOSITE)
            continue;
        if (!rule)
            fail_msg("%s has no row in gradient.def", fsim_ops[op].name);
        bool any = false;
        for (int i = 0; i < 3; i++)
            any = any || fsim_derivative(op, i, 0);
        if (any != (rule == fsim_gradient_term))
            fail_msg("%s: rows in derivative.def and `term` in gradient.def go together", fsim_ops[op].name);
        if (rule != fsim_gradient_none && fsim_op_parse(fsim_ops[op].name, &same) && !is_tried(op))
            fail_msg("%s is in no program", fsim_ops[op].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),    cmocka_unit_test(tangents_are_gradients),
        cmocka_unit_test(constants_have_none),     cmocka_unit_test(refusals_name_the_operator),
        cmocka_unit_test(no_operator_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A program mapped over a batch: each operator against the same program written out, example by example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/batch.h"
#include "validate/reference/reference.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 3, MOST_ARGS = 5 };

/* An argument: its shape in one example; mapped: each example has its own. */
typedef struct {
    const char *shape;
    bool mapped;
    const char *dtype; /* NULL: f64 */
} argument;

typedef struct {
    const char *op, *attributes;
    argument arg[MOST_ARGS];
    int outs; /* 0: one */
} program;

#define M(shape)                                                                                                       \
    {                                                                                                                  \
        shape, true, NULL                                                                                              \
    }
#define S(shape)                                                                                                       \
    {                                                                                                                  \
        shape, false, NULL                                                                                             \
    }
#define INDEX "i64"

static const program programs[] = {
    {"add", "", {M("[4]"), M("[2, 4]")}, 0},
    {"add", "", {S("[2, 4]"), M("[4]")}, 0},
    {"add", ", scalar: 2", {M("[]")}, 0},
    {"add", "", {{"[2]", true, "f32"}, M("[]")}, 0},
    {"sub", "", {M("[]"), M("[2, 3]")}, 0},
    {"mul", "", {M("[2, 1]"), S("[3]")}, 0},
    {"div", "", {M("[2]"), M("[2]")}, 0},
    {"pow", ", scalar: 2", {M("[2]")}, 0},
    {"maximum", "", {M("[2]"), M("[]")}, 0},
    {"minimum", "", {M("[2]"), S("[]")}, 0},
    {"neg", "", {M("[]")}, 0},
    {"abs", "", {M("[2]")}, 0},
    {"exp", "", {M("[2]")}, 0},
    {"log", "", {M("[2]")}, 0},
    {"sqrt", "", {M("[2]")}, 0},
    {"rsqrt", "", {M("[2]")}, 0},
    {"reciprocal", "", {M("[2]")}, 0},
    {"sin", "", {M("[2]")}, 0},
    {"tan", "", {M("[2]")}, 0},
    {"asin", "", {M("[2]")}, 0},
    {"acos", "", {M("[2]")}, 0},
    {"atan", "", {M("[2]")}, 0},
    {"sinh", "", {M("[2]")}, 0},
    {"cosh", "", {M("[2]")}, 0},
    {"asinh", "", {M("[2]")}, 0},
    {"acosh", "", {M("[2]")}, 0},
    {"atanh", "", {M("[2]")}, 0},
    {"log10", "", {M("[2]")}, 0},
    {"celu", "", {M("[2]")}, 0},
    {"softsign", "", {M("[2]")}, 0},
    {"hardshrink", "", {M("[2]")}, 0},
    {"softshrink", "", {M("[2]")}, 0},
    {"tanhshrink", "", {M("[2]")}, 0},
    {"logsigmoid", "", {M("[2]")}, 0},
    {"isnan", "", {M("[2]")}, 0},
    {"isinf", "", {M("[2]")}, 0},
    {"isfinite", "", {M("[2]")}, 0},
    {"threshold", ", threshold: 0.1", {M("[2]")}, 0},
    {"atan2", "", {M("[2]"), M("[]")}, 0},
    {"prelu", "", {M("[2, 3, 4]"), S("[3]")}, 0},
    {"prelu", "", {M("[2, 3, 4]"), M("[3]")}, 0},
    {"prelu", "", {S("[2, 3, 4]"), M("[3]")}, 0},
    {"bitwise_and", "", {{"[2, 3]", true, INDEX}, {"[3]", false, INDEX}}, 0},
    {"bitwise_or", ", scalar: 5", {{"[2, 3]", true, INDEX}}, 0},
    {"bitwise_xor", "", {{"[]", true, INDEX}, {"[3]", true, INDEX}}, 0},
    {"bitwise_not", "", {{"[2, 3]", true, INDEX}}, 0},
    {"bitwise_left_shift", ", scalar: 2", {{"[3]", true, INDEX}}, 0},
    {"bitwise_right_shift", ", scalar: 2", {{"[3]", true, INDEX}}, 0},
    {"any", ", dim: 0", {{"[2, 3]", true, "bool"}}, 0},
    {"all", "", {{"[2, 3]", true, "bool"}}, 0},
    {"var", ", dim: 1", {M("[2, 3]")}, 0},
    {"std", ", dim: 0, keepdim: true, correction: 0", {M("[4, 3]")}, 0},
    {"glu", ", dim: 0", {M("[4, 3]")}, 0},
    {"cos", "", {M("[2]")}, 0},
    {"erf", "", {M("[2]")}, 0},
    {"tanh", "", {M("[2]")}, 0},
    {"sigmoid", "", {M("[2]")}, 0},
    {"relu", "", {M("[2]")}, 0},
    {"relu6", "", {M("[2]")}, 0},
    {"leaky_relu", "", {M("[2]")}, 0},
    {"elu", "", {M("[2]")}, 0},
    {"selu", "", {M("[2]")}, 0},
    {"softplus", "", {M("[2]")}, 0},
    {"hardtanh", "", {M("[2]")}, 0},
    {"hardsigmoid", "", {M("[2]")}, 0},
    {"hardswish", "", {M("[2]")}, 0},
    {"clamp", ", min: 0, max: 1", {M("[2]")}, 0},
    {"eq", ", scalar: 0", {M("[2]")}, 0},
    {"ne", ", scalar: 0", {M("[2]")}, 0},
    {"lt", "", {M("[2]"), M("[3, 2]")}, 0},
    {"le", ", scalar: 0", {M("[2]")}, 0},
    {"gt", ", scalar: 0", {M("[2]")}, 0},
    {"ge", ", scalar: 0", {M("[2]")}, 0},
    {"floor", "", {M("[2]")}, 0},
    {"ceil", "", {M("[2]")}, 0},
    {"round", "", {M("[2]")}, 0},
    {"trunc", "", {M("[2]")}, 0},
    {"sign", "", {M("[2]")}, 0},
    {"square", "", {M("[2]")}, 0},
    {"log1p", "", {M("[2]")}, 0},
    {"expm1", "", {M("[2]")}, 0},
    {"log2", "", {M("[2]")}, 0},
    {"exp2", "", {M("[2]")}, 0},
    {"floor_divide", ", scalar: 0.3", {M("[4]")}, 0},
    {"floor_divide", "", {{"[8]", true, "i32"}, {"[2, 8]", true, "i32"}}, 0},
    {"remainder", ", scalar: -0.3", {M("[4]")}, 0},
    {"fmod", "", {M("[2, 4]"), S("[4]")}, 0},
    {"logical_and", "", {{"[2, 4]", true, "bool"}, {"[4]", true, "bool"}}, 0},
    {"logical_or", "", {{"[2, 4]", true, "bool"}, {"[4]", false, "bool"}}, 0},
    {"logical_xor", "", {{"[2, 4]", true, "bool"}, {"[2, 4]", true, "bool"}}, 0},
    {"logical_not", "", {{"[4]", true, "bool"}}, 0},
    {"one_hot", ", num_classes: 5", {{"[4]", true, INDEX}}, 0},
    {"where", "", {{"[2]", true, "bool"}, M("[3, 2]"), S("[]")}, 0},
    {"where", ", input: 2", {{"[2]", true, "bool"}, M("[3, 2]")}, 0},
    {"where", ", other: -inf", {{"[3, 2]", true, "bool"}, M("[2]")}, 0},
    {"where", ", input: 1, other: 0", {{"[2]", true, "bool"}}, 0},
    {"masked_fill", ", value: 7", {M("[3, 2]"), {"[2]", true, "bool"}}, 0},
    {"cast", ", dtype: f16", {M("[2]")}, 0},
    {"copy", "", {M("[2]")}, 0},
    {"copy", ", roll: true", {M("[2, 3]")}, 0},
    {"tril", "", {M("[4, 4]")}, 0},
    {"tril", "", {M("[4]")}, 0},
    {"triu", ", diagonal: 1", {M("[2, 4, 4]")}, 0},
    {"dropout", "", {M("[4]")}, 0},
    {"sum", ", dim: 0", {M("[2, 4]")}, 0},
    {"sum", "", {M("[2, 4]")}, 0},
    {"sum", "", {M("[]")}, 0},
    {"mean", ", dim: -1, keepdim: true", {M("[2, 4]")}, 0},
    {"max", ", dim: 1", {M("[2, 4]")}, 2},
    {"min", ", dim: [0, 1]", {M("[2, 4]")}, 0},
    {"argmax", "", {M("[2, 4]")}, 0},
    {"argmin", ", dim: 0", {M("[2, 4]")}, 0},
    {"prod", ", dim: 0", {M("[4]")}, 0},
    {"norm", ", dim: [0]", {M("[2, 4]")}, 0},
    {"matmul", "", {M("[5]"), S("[5, 4]")}, 0},
    {"matmul", "", {M("[5]"), S("[5]")}, 0},
    {"matmul", "", {M("[2, 5]"), S("[5]")}, 0},
    {"matmul", "", {M("[2, 5]"), S("[5, 4]")}, 0},
    {"matmul", "", {M("[2, 3, 5]"), S("[5, 4]")}, 0},
    {"matmul", "", {M("[3, 5]"), S("[2, 5, 4]")}, 0},
    {"matmul", "", {M("[5]"), S("[2, 5, 4]")}, 0},
    {"matmul", "", {S("[2, 5]"), M("[5]")}, 0},
    {"matmul", "", {S("[5]"), M("[5]")}, 0},
    {"matmul", "", {S("[2, 5]"), M("[5, 4]")}, 0},
    {"matmul", "", {S("[5]"), M("[5, 4]")}, 0},
    {"matmul", "", {S("[2, 3, 5]"), M("[5]")}, 0},
    {"matmul", "", {S("[2, 3, 5]"), M("[5, 4]")}, 0},
    {"matmul", "", {M("[5]"), M("[5]")}, 0},
    {"matmul", "", {M("[5]"), M("[5, 4]")}, 0},
    {"matmul", "", {M("[2, 5]"), M("[5]")}, 0},
    {"matmul", "", {M("[2, 5]"), M("[5, 4]")}, 0},
    {"matmul", "", {M("[2, 3, 5]"), M("[5, 4]")}, 0},
    {"matmul", "", {M("[2, 1, 3, 5]"), M("[4, 5, 4]")}, 0},
    {"bmm", "", {M("[2, 3, 5]"), M("[2, 5, 4]")}, 0},
    {"bmm", "", {S("[2, 3, 5]"), M("[2, 5, 4]")}, 0},
    {"linear", "", {M("[5]"), S("[4, 5]")}, 0},
    {"linear", "", {M("[2, 5]"), S("[4, 5]"), S("[4]")}, 0},
    {"linear", "", {M("[2, 5]"), S("[4, 5]"), M("[4]")}, 0},
    {"linear", "", {M("[2, 5]"), M("[4, 5]"), M("[4]")}, 0},
    {"linear", "", {S("[2, 5]"), M("[4, 5]"), S("[4]")}, 0},
    {"linear", "", {{"[2, 5]", true, "f32"}, {"[4, 5]", false, "f32"}, {"[]", true, "f32"}}, 0},
    {"einsum", ", equation: \"ij,jk->ki\"", {M("[2, 5]"), S("[5, 4]")}, 0},
    {"einsum", ", equation: \"Zj,jk->kZ\"", {M("[2, 5]"), M("[5, 4]")}, 0},
    {"einsum", ", equation: \"ij,jk,kl->il\"", {M("[2, 5]"), S("[5, 4]"), M("[4, 3]")}, 0},
    {"einsum", ", equation: \"ij\"", {M("[2, 5]")}, 0},
    {"attention", ", scale: 0.5", {M("[1, 2, 3, 2]"), M("[1, 2, 3, 2]"), M("[1, 2, 3, 2]")}, 0},
    {"conv1d", ", padding: 1", {M("[2, 6]"), S("[4, 2, 3]"), S("[4]")}, 0},
    {"conv2d", ", stride: 2", {M("[2, 2, 5, 5]"), S("[4, 2, 3, 3]")}, 0},
    {"conv2d", ", groups: 2", {M("[2, 2, 5, 5]"), S("[4, 1, 3, 3]"), S("[4]")}, 0},
    {"conv3d", "", {M("[2, 3, 3, 3]"), S("[4, 2, 3, 3, 3]")}, 0},
    {"conv_transpose1d", ", stride: 2", {M("[2, 6]"), S("[2, 4, 3]")}, 0},
    {"conv_transpose2d", "", {M("[2, 2, 4, 4]"), S("[2, 4, 3, 3]"), S("[4]")}, 0},
    {"conv_transpose3d", "", {M("[2, 2, 2, 2]"), S("[2, 4, 3, 3, 3]")}, 0},
    {"max_pool1d", ", kernel: 2", {M("[2, 6]")}, 0},
    {"max_pool2d", ", kernel: 2", {M("[2, 2, 4, 4]")}, 0},
    {"max_pool3d", ", kernel: 2", {M("[2, 4, 4, 4]")}, 0},
    {"avg_pool1d", ", kernel: 6", {M("[2, 6]")}, 0},
    {"avg_pool2d", ", kernel: 2, stride: 1", {M("[2, 4, 4]")}, 0},
    {"avg_pool3d", ", kernel: 2", {M("[2, 4, 4, 4]")}, 0},
    {"adaptive_avg_pool1d", ", output_size: 4", {M("[2, 6]")}, 0},
    {"adaptive_avg_pool2d", ", output_size: [1, 1]", {M("[2, 2, 4, 4]")}, 0},
    {"adaptive_avg_pool3d", ", output_size: 2", {M("[2, 4, 4, 4]")}, 0},
    {"interpolate", ", scale_factor: 2", {M("[2, 3, 4]")}, 0},
    {"interpolate", ", size: [5, 3], mode: bilinear", {M("[2, 3, 4, 4]")}, 0},
    {"interpolate", ", scale_factor: 2, mode: bicubic", {M("[2, 3, 4, 4]")}, 0},
    {"adaptive_max_pool1d", ", output_size: 4", {M("[2, 6]")}, 0},
    {"adaptive_max_pool2d", ", output_size: [1, 1]", {M("[2, 2, 4, 4]")}, 0},
    {"adaptive_max_pool3d", ", output_size: 2", {M("[2, 4, 4, 4]")}, 0},
    {"unfold", ", dim: -1, size: 3, step: 2", {M("[2, 6]")}, 0},
    {"im2col", ", kernel: [2, 3], padding: 1", {M("[2, 3, 4, 5]")}, 0},
    {"pixel_shuffle", ", upscale_factor: 2", {M("[2, 8, 2, 3]")}, 0},
    {"repeat_interleave", ", repeats: 3, dim: 0", {M("[4, 2]")}, 0},
    {"l1_loss", "", {M("[2, 4]"), S("[4]")}, 0},
    {"binary_cross_entropy_with_logits", "", {M("[2, 4]"), M("[2, 4]")}, 0},
    {"reshape", ", shape: [-1, 2]", {M("[2, 3, 2]")}, 0},
    {"reshape", ", shape: [1]", {M("[]")}, 0},
    {"flatten", "", {M("[2, 3, 2]")}, 0},
    {"flatten", ", start_dim: 1", {M("[2, 3, 2]")}, 0},
    {"unflatten", ", dim: -1, shape: [2, -1]", {M("[2, 6]")}, 0},
    {"squeeze", "", {M("[1, 3, 1]")}, 0},
    {"squeeze", ", dim: 0", {M("[1, 3, 1]")}, 0},
    {"unsqueeze", ", dim: -1", {M("[2, 3]")}, 0},
    {"unsqueeze", ", dim: 0", {M("[]")}, 0},
    {"select", ", dim: 1, index: -1", {M("[2, 3, 2]")}, 0},
    {"stack", ", dim: -1", {M("[2, 3]"), M("[2, 3]")}, 0},
    {"stack", ", dim: 0", {M("[2, 3]"), S("[2, 3]")}, 0},
    {"slice", ", dim: 1, start: 1, end: -1", {M("[2, 5]")}, 0},
    {"slice", ", end: [1, 2]", {M("[2, 5]")}, 0},
    {"split", ", dim: 1, chunks: 2", {M("[2, 5]")}, 2},
    {"permute", ", dims: [-1, 0, 1]", {M("[2, 3, 4]")}, 0},
    {"transpose", ", dims: [0, -1]", {M("[2, 3, 4]")}, 0},
    {"transpose", "", {M("[2, 3]")}, 0},
    {"transpose", ", dims: [0, -1]", {M("[4]")}, 0},
    {"slice", ", dim: 0, start: 1, size: 2", {M("[4, 2]")}, 0},
    {"slice", ", start: [1, 0], size: [2, 1]", {M("[4, 2]")}, 0},
    {"slice", ", start: -2, size: 2", {M("[4, 2]")}, 0},
    {"split", ", dim: 1", {M("[2, 4]")}, 2},
    {"expand", ", shape: [2, -1, 4]", {M("[3, 1]")}, 0},
    {"expand", ", repeats: [2, 1, 2]", {M("[3, 2]")}, 0},
    {"flip", ", dim: 0", {M("[4, 2]")}, 0},
    {"concat", ", dim: 0", {M("[2, 3]"), S("[1, 3]"), M("[2, 3]")}, 0},
    {"concat", ", dim: -1", {S("[2, 1]"), M("[2, 3]")}, 0},
    {"pad", ", padding: [1, 2], value: 3", {M("[2, 3]")}, 0},
    {"pad", ", padding: [1, 2, -1, 0]", {M("[2, 3]")}, 0},
    {"roll", ", dim: 0, roll: 1", {M("[4, 2]")}, 0},
    {"roll", ", roll: 3", {M("[4, 2]")}, 0},
    {"gather", "", {S("[6, 2]"), {"[4]", true, INDEX}}, 0},
    {"gather", ", dim: 1", {M("[6, 5]"), {"[4, 3]", true, INDEX}}, 0},
    {"gather", ", dim: 0", {S("[6, 5]"), {"[4, 5]", true, INDEX}}, 0},
    {"index_select", ", dim: 1", {M("[3, 6, 2]"), {"[4]", false, INDEX}}, 0},
    {"index", ", dim: [1, 2]", {M("[3, 6, 2]"), {"[4]", false, INDEX}, {"[2, 1]", false, INDEX}}, 0},
    {"index", ", dim: [0, 2]", {M("[3, 6, 2]"), {"[4]", false, INDEX}, {"[2, 1]", false, INDEX}}, 0},
    {"index", "", {M("[3, 6]"), {"[4]", false, INDEX}}, 0},
    {"index", ", dim: [0, 1]", {S("[3, 6, 2]"), {"[4]", true, INDEX}, {"[2, 1]", false, INDEX}}, 0},
    {"index", ", dim: [0, -1]", {S("[3, 6, 2]"), {"[4]", true, INDEX}, {"[2, 1]", true, INDEX}}, 0},
    {"embedding", "", {{"[2, 2]", true, INDEX}, S("[6, 2]")}, 0},
    {"scatter", ", dim: 1", {M("[2, 6]"), {"[2, 4]", true, INDEX}, M("[2, 4]")}, 0},
    {"scatter_add", ", dim: 1", {M("[2, 6]"), {"[2, 4]", true, INDEX}, M("[2, 4]")}, 0},
    {"index_copy", ", inplace: false, dim: 1", {M("[2, 6]"), {"[3]", false, INDEX}, M("[2, 3]")}, 0},
    {"index_copy", ", dim: 0, inplace: false", {M("[6, 2]"), {"[3]", false, INDEX}, S("[3, 2]")}, 0},
    {"index_add", ", dim: 0, inplace: false", {M("[6, 2]"), {"[4]", false, INDEX}, M("[4, 2]")}, 0},
    {"index_add", ", inplace: false, dim: 1", {M("[2, 3]"), {"[4]", false, INDEX}, S("[2, 4]")}, 0},
    {"cumsum", ", dim: 1", {M("[2, 4]")}, 0},
    {"cumsum", ", dim: 0", {M("[]")}, 0},
    {"cumprod", ", dim: 0", {M("[4, 2]")}, 0},
    {"sort", ", dim: 0", {M("[4, 2]")}, 2},
    {"topk", ", k: 2", {M("[2, 4]")}, 2},
    {"all_reduce", "", {M("[4]")}, 0},
    {"all_to_all", "", {M("[4]")}, 0},
    {"all_gather", ", size: 2", {M("[4, 2]")}, 0},
    {"reduce_scatter", ", size: 2", {M("[4, 2]")}, 0},
    {"send", "", {M("[4]")}, 0},
    {"recv", ", shape: [4, 2]", {M("[4, 2]")}, 0},
    {"transfer", "", {M("[4]")}, 0},
    {"unpack", ", bits: 2", {{"[3, 4]", true, "u8"}}, 0},
    {"softmax", ", dim: 0", {M("[4, 2]")}, 0},
    {"softmax", ", dim: -1", {M("[]")}, 0},
    {"log_softmax", ", dim: -1", {M("[4]")}, 0},
    {"logsumexp", ", dim: 0", {M("[4, 2]")}, 0},
    {"logsumexp", ", dim: 0, keepdim: true", {M("[4]")}, 0},
    {"layer_norm", "", {M("[4]"), S("[4]"), S("[4]")}, 0},
    {"layer_norm", ", normalized_shape: [2, 4]", {M("[3, 2, 4]")}, 0},
    {"layer_norm", "", {M("[3, 4]"), M("[4]"), M("[4]")}, 0},
    {"layer_norm", "", {S("[3, 4]"), M("[4]")}, 0},
    {"rms_norm", "", {M("[3, 4]"), S("[4]")}, 0},
    {"batch_norm", "", {M("[2, 3, 4]"), S("[3]"), S("[3]"), S("[3]"), S("[3]")}, 0},
    {"batch_norm", ", training: true", {M("[2, 3, 4]"), S("[3]"), S("[3]")}, 0},
    {"batch_norm", ", training: true", {M("[4, 3]")}, 0},
    {"group_norm", ", groups: 2", {M("[2, 4, 4]"), S("[4]"), S("[4]")}, 0},
    {"instance_norm", "", {M("[2, 4, 4]")}, 0},
    {"normalize", "", {M("[2, 4]")}, 0},
    {"gelu", "", {M("[4]")}, 0},
    {"silu", "", {M("[4]")}, 0},
    {"mish", "", {M("[4]")}, 0},
    {"swiglu", "", {M("[4]")}, 0},
    {"swiglu", "", {M("[4]"), M("[2, 4]")}, 0},
    {"rotary_embedding", "", {M("[3, 4]"), S("[4]"), M("[4]")}, 0},
    {"attention", ", causal: true", {M("[2, 4, 3, 2]"), M("[2, 2, 3, 2]"), M("[2, 2, 3, 2]")}, 0},
    {"attention", "", {M("[1, 2, 3, 2]"), S("[1, 2, 4, 2]"), S("[1, 2, 4, 2]"), M("[3, 4]")}, 0},
    {"attention", "", {S("[2, 2, 3, 2]"), M("[2, 2, 4, 2]"), S("[2, 2, 4, 2]"), S("[2, 1, 3, 4]")}, 0},
    {"attention", "", {M("[2, 2, 3, 2]"), M("[2, 2, 4, 2]"), M("[2, 2, 4, 2]"), M("[2, 2, 3, 4]")}, 0},
    {"attention", "", {M("[2, 2, 3, 2]"), M("[2, 2, 4, 2]"), M("[2, 2, 4, 2]"), S("[1, 1, 3, 4]")}, 0},
    {"attention",
     ", sinks: true, causal: true, window: 2",
     {M("[2, 2, 3, 2]"), M("[2, 2, 3, 2]"), S("[2, 2, 3, 2]"), S("[2]")},
     0},
    {"cosine_similarity", ", dim: 0", {M("[4, 2]"), S("[4, 2]")}, 0},
    {"cosine_similarity", ", dim: 0", {M("[3, 1, 2]"), M("[2]")}, 0},
    {"cross_entropy", "", {M("[4, 5]"), {"[4]", true, INDEX}}, 0},
    {"cross_entropy", "", {M("[5]"), {"[]", true, INDEX}}, 0},
    {"cross_entropy", "", {M("[2, 5, 3]"), {"[2, 3]", false, INDEX}}, 0},
    {"kl_div", "", {M("[2, 4]"), M("[2, 4]")}, 0},
    {"smooth_l1_loss", "", {M("[4]"), S("[4]")}, 0},
    {"mse_loss", "", {M("[]"), M("[]")}, 0},
    {"mse_loss", "", {{"[2]", true, "f32"}, M("[]")}, 0},
    {"mse_loss", "", {M("[2, 4]"), M("[2, 4]")}, 0},
    {"triplet_margin_loss", "", {M("[2, 4]"), M("[2, 4]"), S("[2, 4]")}, 0},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static int arguments(const program *p)
{
    int n = 0;
    while (n < MOST_ARGS && p->arg[n].shape)
        n++;
    return n;
}

static const char *type_of(const argument *x) { return x->dtype ? x->dtype : "f64"; }

/* "[2, 4]" as "[3, 2, 4]". */
static const char *with_examples(fsim_arena *a, const char *shape)
{
    return fsim_printf(a, strcmp(shape, "[]") == 0 ? "[%d%s" : "[%d, %s", EXAMPLES, shape + 1);
}

static const char *result_names(const program *p, fsim_arena *a, const char *suffix)
{
    return p->outs > 1 ? fsim_printf(a, "[o%s, p%s]", suffix, suffix) : fsim_printf(a, "o%s", suffix);
}

/* The program with `batch`. */
static const char *mapped_text(const program *p, fsim_arena *a)
{
    const char *text = fsim_printf(a, "batch: %d\ntensors:\n", EXAMPLES), *in = "";
    bool all = true;
    for (int i = 0; i < arguments(p); i++)
        all = all && p->arg[i].mapped;
    for (int i = 0; i < arguments(p); i++) {
        text = fsim_printf(a, "%s  x%d: {shape: %s, dtype: %s%s}\n", text, i, p->arg[i].shape, type_of(&p->arg[i]),
                           all || !p->arg[i].mapped ? "" : ", batch: true");
        in = fsim_printf(a, "%s%sx%d", in, i ? ", " : "", i);
    }
    return fsim_printf(a, "%soperators:\n  - {op: %s, in: [%s], out: %s%s}\n", text, p->op, in, result_names(p, a, ""),
                       p->attributes);
}

/* The program for one example after the other, their results side by side. */
static const char *looped_text(const program *p, fsim_arena *a)
{
    const char *text = "tensors:\n", *results[2] = {"", ""};
    for (int i = 0; i < arguments(p); i++)
        text = fsim_printf(a, "%s  x%d: {shape: %s, dtype: %s}\n", text, i,
                           p->arg[i].mapped ? with_examples(a, p->arg[i].shape) : p->arg[i].shape, type_of(&p->arg[i]));
    text = fsim_printf(a, "%soperators:\n", text);
    for (int b = 0; b < EXAMPLES; b++) {
        const char *in = "";
        for (int i = 0; i < arguments(p); i++) {
            in = fsim_printf(a, "%s%sx%d%s", in, i ? ", " : "", i, p->arg[i].mapped ? fsim_printf(a, "_%d", b) : "");
            if (p->arg[i].mapped)
                text = fsim_printf(a,
                                   "%s  - {op: slice, in: x%d, out: s%d_%d, dim: 0, start: %d, size: 1}\n"
                                   "  - {op: reshape, in: s%d_%d, out: x%d_%d, shape: %s}\n",
                                   text, i, i, b, b, i, b, i, b, p->arg[i].shape);
        }
        text = fsim_printf(a, "%s  - {op: %s, in: [%s], out: %s%s}\n", text, p->op, in,
                           result_names(p, a, fsim_printf(a, "_%d", b)), p->attributes);
        for (int o = 0; o < (p->outs ? p->outs : 1); o++) {
            text = fsim_printf(a, "%s  - {op: reshape, in: %c_%d, out: %cr_%d, shape: [1, -1]}\n", text, "op"[o], b,
                               "op"[o], b);
            results[o] = fsim_printf(a, "%s%s%cr_%d", results[o], b ? ", " : "", "op"[o], b);
        }
    }
    for (int o = 0; o < (p->outs ? p->outs : 1); o++)
        text = fsim_printf(a, "%s  - {op: concat, in: [%s], out: %c, dim: 0}\n", text, results[o], "op"[o]);
    return text;
}

static fsim_graph *parse(fsim_arena *a, const char *text)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), NULL);
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

/* A collective of several devices, whose result no device computes alone; a mask that depends on the element's place.
 */
static bool has_no_numbers(const fsim_graph *g)
{
    return fsim_ops[g->source[0].op].class == FSIM_COMMUNICATION || g->source[0].op == FSIM_OP_DROPOUT;
}

static void compare(const program *p, const fsim_graph *mapped, const fsim_graph *looped, const char *name)
{
    const int m = tensor_named(mapped, name), l = tensor_named(looped, name);
    const fsim_tensor *x = &mapped->tensor[m], *y = &looped->tensor[l],
                      *one = &looped->tensor[tensor_named(looped, strcmp(name, "o") == 0 ? "o_0" : "p_0")];
    bool same = x->shape.rank == one->shape.rank + 1 && x->shape.dim[0] == EXAMPLES && x->mapped;
    for (int d = 0; d < one->shape.rank; d++)
        same = same && x->shape.dim[d + 1] == one->shape.dim[d];
    if (!same || x->dtype != one->dtype)
        fail_msg("%s%s: shape or dtype of %s", p->op, p->attributes, name);
    if (has_no_numbers(mapped))
        return;
    fsim_reference *rx = fsim_reference_of(mapped, 1), *ry = fsim_reference_of(looped, 1);
    for (int64_t i = 0; i < x->elems; i++) {
        const double v = rx->of[x->storage].value[x->offset + i], w = ry->of[y->storage].value[y->offset + i];
        if (!(v == w || fabs(v - w) <= 1e-12 * (1 + fabs(w)) || (isnan(v) && isnan(w))))
            fail_msg("%s%s (number %d, %s%s): element %lld of %s is %.17g mapped and %.17g in the loop", p->op,
                     p->attributes, (int)(p - programs), p->arg[0].shape, p->arg[1].shape ? p->arg[1].shape : "",
                     (long long)i, name, v, w);
    }
    fsim_reference_free(rx);
    fsim_reference_free(ry);
}

static void mapped_is_the_loop(void **unused)
{
    (void)unused;
    for (int i = 0; i < PROGRAMS; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *mapped = parse(a, mapped_text(&programs[i], a)),
                         *looped = parse(a, looped_text(&programs[i], a));
        compare(&programs[i], mapped, looped, "o");
        if (programs[i].outs > 1)
            compare(&programs[i], mapped, looped, "p");
        fsim_arena_free(a);
    }
}

/* Every operator that can be mapped stands in the list. */
static void no_operator_is_left_out(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *how;
    } rows[] = {
#define FSIM_OP(id, name, class, least, most, outs, flops, instr, special, rule, makes, batch, takes, expr)            \
    {name, #batch},
#include "graph/op.def"
#undef FSIM_OP
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        bool found = strcmp(rows[r].how, "none") == 0;
        for (int i = 0; i < PROGRAMS; i++)
            found = found || strcmp(programs[i].op, rows[r].name) == 0;
        if (!found)
            fail_msg("%s is in no program", rows[r].name);
    }
}

static const struct {
    const char *text, *message;
} refused[] = {
    {"batch: 3\ntensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: custom, in: x, out: y}]", "can't be mapped"},
    {"batch: 3\ntensors: {i: {shape: [4], dtype: i64}, t: {shape: [6, 2], dtype: f32}}\n"
     "operators: [{op: embedding, in: [i, t], out: y}]",
     "a table 't' of its own"},
    {"batch: 3\ntensors: {x: {shape: [2, 4], dtype: f32}, w: {shape: [4, 2, 3], dtype: f32}}\n"
     "operators: [{op: conv1d, in: [x, w], out: y}]",
     "a 'w' of its own"},
    {"batch: 3\ntensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: transpose, in: x, out: y}]",
     "two dimensions beside that of the batch"},
    {"batch: 3\ntensors: {x: {shape: [2, 4, 4], dtype: f32}, w: {shape: [4], dtype: f32}}\n"
     "operators: [{op: group_norm, in: [x, w], out: y, groups: 2}]",
     "a 'w' of its own"},
    {"batch: 3\ntensors: {x: {shape: [4, 4], dtype: f32}}\noperators: [{op: avg_pool2d, in: x, out: y, kernel: 2}]",
     "too few dimensions"},
    {"batch: 3\ntensors: {q: {shape: [2, 2, 3, 2], dtype: f32}, m: {shape: [3, 3], dtype: f32}}\n"
     "operators: [{op: attention, in: [q, q, q, m], out: y}]",
     "mask [3, 3] is for all of its 2"},
    {"batch: 3\ntensors: {x: {shape: [4], dtype: f32}}\n"
     "operators: [{op: layer_norm, in: x, out: y, normalized_shape: [3, 4]}]",
     "'normalized_shape' has 2 dimensions, the example's tensor 1"},
    {"batch: 3\ntensors: {x: {shape: [], dtype: f32}}\noperators: [{op: swiglu, in: x, out: y}]", "one dimension"},
    {"batch: 3\ntensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: sum, in: x, out: y, dim: 1}]",
     "out of range for a tensor of rank 1"},
    {"batch: 3\ntensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: pad, in: x, out: y, padding: [0, 0, 1, 1]}]",
     "4 values for 1 dimensions"},
    {"batch: 0\ntensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]", "'batch' is 0"},
    {"batch: [3]\ntensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]", "a list"},
    {"tensors: {x: {shape: [4], dtype: f32, batch: true}}\noperators: [{op: relu, in: x, out: y}]",
     "the workload has none"},
    {"batch: 3\ntensors: {x: {shape: [4], dtype: f32, role: weight, batch: true}}\noperators: [{op: relu, in: x, out: "
     "y}]",
     "is a weight"},
    {"batch: 3\ntensors: {x: {shape: [1, 1, 1, 1, 1, 1, 1, 1], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]",
     "with that of the batch 9"},
};

static void what_cannot_be_mapped_is_said(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        char *said = NULL;
        size_t length = 0;
        assert_null(fsim_graph_parse(a, d, "test.yaml", refused[i].text, strlen(refused[i].text), NULL));
        FILE *out = open_memstream(&said, &length);
        fsim_diag_print(d, out, true);
        fclose(out);
        if (!strstr(said, refused[i].message))
            fail_msg("wanted '%s', found %s", refused[i].message, said);
        free(said);
        fsim_arena_free(a);
    }
}

/* An argument that each example needs a copy of is copied once, also where it stands twice: names of primitives are
 * those by which plans are written and read. */
static void primitives_have_names_of_their_own(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "batch: 3\ntensors: {x: {shape: [4], dtype: f32}, s: {shape: [4], dtype: f32, role: weight}}\n"
        "operators: [{op: concat, in: [s, x, s], out: y}]",
        "batch: 3\ntensors: {q: {shape: [2, 2, 3, 2], dtype: f32}, k: {shape: [2, 2, 4, 2], dtype: f32, role: "
        "weight}}\n"
        "operators: [{op: attention, in: [q, k, k], out: y}]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *g = parse(a, texts[i]);
        for (int n = 0; n < g->nodes; n++)
            for (int k = 0; k < n; k++)
                assert_string_not_equal(g->node[n].name, g->node[k].name);
        fsim_arena_free(a);
    }
}

/* A mark is a flag as any other: true, a number, a symbol; in a repeat block too. Where there is one, the inputs
 * without are shared. */
static void marked_inputs_are_mapped(void **unused)
{
    (void)unused;
    static const struct {
        const char *mark;
        int rank_of_shared;
    } of[] = {{"batch: true", 1}, {"batch: 1", 1}, {"batch: N", 1}, {"batch: false", 2}, {"batch: N - 2", 2}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int repeated = 0; repeated < 2; repeated++) {
            fsim_arena *a = fsim_arena_new();
            const char *x = fsim_printf(a, "x: {shape: [4], dtype: f32, %s}", of[i].mark);
            const char *text =
                fsim_printf(a,
                            repeated ? "batch: 3\nsymbols: {N: 2}\ntensors: {s: {shape: [4], dtype: f32}}\noperators:\n"
                                       "  - {repeat: 1, tensors: {%s}, operators: [{op: add, in: [s, x], out: y}]}"
                                     : "batch: 3\nsymbols: {N: 2}\ntensors: {s: {shape: [4], dtype: f32}, %s, "
                                       "w: {shape: [4], dtype: f32, role: weight}}\n"
                                       "operators: [{op: add, in: [s, x], out: z}, {op: add, in: [z, w], out: y}]",
                            x);
            const fsim_graph *g = parse(a, text);
            assert_int_equal(g->tensor[tensor_named(g, "s")].shape.rank, of[i].rank_of_shared);
            if (!repeated)
                assert_int_equal(g->tensor[tensor_named(g, "w")].shape.rank, 1);
            assert_int_equal(g->tensor[tensor_named(g, repeated ? "y.0" : "y")].shape.rank, 2);
            fsim_arena_free(a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mapped_is_the_loop), cmocka_unit_test(no_operator_is_left_out),
                                       cmocka_unit_test(what_cannot_be_mapped_is_said),
                                       cmocka_unit_test(primitives_have_names_of_their_own),
                                       cmocka_unit_test(marked_inputs_are_mapped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

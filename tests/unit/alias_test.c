/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operators and attributes that PyTorch, ONNX and people use: taken, or answered by what to write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "graph/alias.h"
#include "graph/attribute.h"
#include <string.h>

/* A name of an operator leads to one answer only: it is an operator, or an alias, or is refused with a hint. */
static void names_have_one_meaning(void **state)
{
    (void)state;
    static const char *const refused[] = {
#define FSIM_MEANT(name, op)     name,
#define FSIM_INSTEAD(name, text) name,
#include "graph/alias.def"
    };
    int count;
    const fsim_alias *alias = fsim_alias_rows(&count);
    fsim_op op;
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        if (fsim_op_parse(alias[i].name, &op))
            fail_msg("'%s' is an operator and another name", alias[i].name);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(alias[i].name, alias[k].name);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const fsim_alias *taken;
        if (fsim_op_named(refused[i], &op, &taken))
            fail_msg("'%s' is refused and taken", refused[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(refused[i], refused[k]);
    }
}

/* What an unknown operator is answered. */
static void unknown_operators_find_what_was_meant(void **state)
{
    static const struct {
        const char *typed, *means;
    } cases[] = {
        {"Linear", "linear"},
        {"nn.Linear", "linear"},
        {"dense", "linear"},
        {"Dense", "linear"},
        {"fc", "linear"},
        {"Gemm", "linear"},
        {"MatMul", "matmul"},
        {"torch.matmul", "matmul"},
        {"LayerNorm", "layer_norm"},
        {"nn.functional.layer_norm", "layer_norm"},
        {"RMSNorm", "rms_norm"},
        {"BatchNorm2d", "batch_norm"},
        {"BatchNormalization", "batch_norm"},
        {"GroupNorm", "group_norm"},
        {"Conv2d", "conv2d"},
        {"ConvTranspose2d", "conv_transpose2d"},
        {"MaxPool2d", "max_pool2d"},
        {"AdaptiveAvgPool2d", "adaptive_avg_pool2d"},
        {"GlobalAveragePool", "adaptive_avg_pool2d"},
        {"ReLU", "relu"},
        {"relu_", "relu"},
        {"GELU", "gelu"},
        {"SiLU", "silu"},
        {"swish", "silu"},
        {"LeakyReLU", "leaky_relu"},
        {"LogSoftmax", "log_softmax"},
        {"Transpose", "transpose"},
        {"Concat", "concat"},
        {"Cat", "concat"},
        {"ReduceSum", "sum"},
        {"ReduceMean", "mean"},
        {"ReduceMax", "max"},
        {"Clip", "clamp"},
        {"aten::add.Tensor", "add"},
        {"aten::_softmax", "softmax"},
        {"F.cross_entropy", "cross_entropy"},
        {"CrossEntropyLoss", "cross_entropy"},
        {"MSELoss", "mse_loss"},
        {"MultiheadAttention", "attention"},
        {"flash_attention", "attention"},
        {"Identity", "copy"},
        {"plus", "add"},
        {"softmx", "softmax"},
        {"gelo", "gelu"},
        {"CumSum", "cumsum"},
        {"TopK", "topk"},
        {"AllReduce", "all_reduce"},
        {"Upsample", "interpolate"},
        {"Resize", "interpolate"},
        {"aten::upsample_nearest2d", "interpolate"},
        {"UpsamplingBilinear2d", "interpolate"},
        {"rope", "rotary_embedding"},
    };
    (void)state;
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = fsim_unknown_op(a, cases[i].typed);
        const char *wanted =
            fsim_printf(a, "unknown operator '%s'; did you mean '%s'?", cases[i].typed, cases[i].means);
        assert_string_equal(said, wanted);
    }
    static const char *const other[][2] = {
        {"addmm", "unknown operator 'addmm'; write 'matmul' and 'add', or 'linear' with the bias as its third input"},
        {"tensordot", "unknown operator 'tensordot'; write 'einsum'"},
        {"Tile", "unknown operator 'Tile'; write 'expand' with 'repeats'"},
        {"conv", "unknown operator 'conv'; write 'conv1d', 'conv2d' or 'conv3d'"},
        {"contiguous", "unknown operator 'contiguous'; leave it out, or write 'copy'"},
        {"causal_mask", "unknown operator 'causal_mask'; 'fusesim ops' lists them"}, /* only expansions make it */
        {"qqqqqqqq", "unknown operator 'qqqqqqqq'; 'fusesim ops' lists them"}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_memory_equal(fsim_unknown_op(a, other[i][0]), other[i][1], strlen(other[i][1]));
    fsim_arena_free(a);
}

/* Attributes under other names: the one that is taken, FSIM_ATTR_COUNT where there is none. */
static void attributes_have_other_names(void **state)
{
    static const struct {
        fsim_op op;
        const char *name;
        fsim_attr attr;
    } cases[] = {{FSIM_OP_SUM, "axis", FSIM_ATTR_DIMS},
                 {FSIM_OP_SUM, "keepdims", FSIM_ATTR_KEEPDIM},
                 {FSIM_OP_GROUP_NORM, "num_groups", FSIM_ATTR_GROUPS},
                 {FSIM_OP_CONV2D, "num_groups", FSIM_ATTR_COUNT},
                 {FSIM_OP_POW, "exponent", FSIM_ATTR_SCALAR},
                 {FSIM_OP_ADD, "exponent", FSIM_ATTR_COUNT},
                 {FSIM_OP_MAX_POOL2D, "kernel_size", FSIM_ATTR_KERNEL},
                 {FSIM_OP_SLICE, "length", FSIM_ATTR_SIZE},
                 {FSIM_OP_SPLIT, "length", FSIM_ATTR_COUNT},
                 {FSIM_OP_SPLIT, "split_size", FSIM_ATTR_SIZE},
                 {FSIM_OP_ELU, "alpha", FSIM_ATTR_ALPHA},
                 {FSIM_OP_LEAKY_RELU, "alpha", FSIM_ATTR_NEGATIVE_SLOPE},
                 {FSIM_OP_EXPAND, "size", FSIM_ATTR_SHAPE},
                 {FSIM_OP_ROLL, "shifts", FSIM_ATTR_ROLL},
                 {FSIM_OP_RELU, "dim", FSIM_ATTR_COUNT}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (fsim_taken_named(cases[i].op, cases[i].name) != cases[i].attr)
            fail_msg("'%s' of %s", cases[i].name, fsim_ops[cases[i].op].name);
}

/* No name means two attributes of one operator, and no refused name is one that is taken. */
static void attributes_have_one_meaning(void **state)
{
    static const struct {
        const char *name, *ops;
    } refused[] = {
#define FSIM_ATTR_INSTEAD(name, ops, text) {name, ops},
#include "graph/alias.def"
    };
    (void)state;
    fsim_arena *a = fsim_arena_new();
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_taken taken[FSIM_MAX_TAKEN];
        const int count = fsim_taken_of((fsim_op)op, taken);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < count; k++) {
                const char *also = fsim_printf(a, ", %s,", fsim_attr_aliases(a, taken[k].attr, (fsim_op)op));
                if (strstr(also, fsim_printf(a, " %s,", fsim_attr_rows[taken[i].attr].name)))
                    fail_msg("'%s' of %s is another attribute's other name", fsim_attr_rows[taken[i].attr].name,
                             fsim_ops[op].name);
            }
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            if (*refused[i].ops && fsim_attr_instead((fsim_op)op, refused[i].name) &&
                fsim_taken_named((fsim_op)op, refused[i].name) != FSIM_ATTR_COUNT)
                fail_msg("'%s' of %s is refused and taken", refused[i].name, fsim_ops[op].name);
    }
    assert_string_equal(fsim_attr_instead(FSIM_OP_LAYER_NORM, "epsilon"), "write 'eps'");
    assert_null(fsim_attr_instead(FSIM_OP_RELU, "ord"));
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_meaning), cmocka_unit_test(unknown_operators_find_what_was_meant),
        cmocka_unit_test(attributes_have_other_names), cmocka_unit_test(attributes_have_one_meaning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

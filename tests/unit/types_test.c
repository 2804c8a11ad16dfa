/* SPDX-License-Identifier: Apache-2.0 */
/* The dtype of every operator's result against PyTorch's own answers, tests/types/torch_types.csv: one dtype, another,
 * or an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "hw/load.h"
#include "import/load.h"
#include "predict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of PyTorch's errors that fusesim takes all the same, or the other way round. */
static const struct {
    const char *op, *arguments, *why; /* arguments: what they begin with; "": any */
} differs[] = {
    {"layer_norm", "bf16[4x8] ", "norms keep x's dtype, whatever their parameters have: some kernels take such pairs"},
    {"layer_norm", "f16[4x8] ", "the same"},
    {"layer_norm", "f32[4x8] ", "the same"},
    {"layer_norm", "f64[4x8] ", "the same"},
    {"group_norm", "", "the same"},
    {"batch_norm", "", "the same"},
    {"attention", "bf16[1x2x8x4] bf16[1x2x8x4] bf16[1x2x8x4] ", "a bias of another dtype is added to the scores"},
    {"attention", "f16[1x2x8x4] f16[1x2x8x4] f16[1x2x8x4] ", "the same"},
    {"attention", "f32[1x2x8x4] f32[1x2x8x4] f32[1x2x8x4] ", "the same"},
    {"attention", "f64[1x2x8x4] f64[1x2x8x4] f64[1x2x8x4] ", "the same"},
    {"argmax", "bool", "PyTorch has the rule and no kernel, or the other way round"},
    {"logsumexp", "bool", "the same"},
    {"argmin", "bool", "the same"},
    {"topk", "bool", "the same"},
    {"abs", "bool", "the same"},
    {"relu", "bool", "the same"},
    {"relu6", "bool", "the same"},
    {"hardtanh", "bool", "the same"},
    {"pow", "bool", "the same"},
    {"max_pool2d", "bool", "the same"},
    {"avg_pool2d", "", "the same"},
    {"matmul", "bool", "the same"},
    {"bmm", "bool", "the same"},
    {"linear", "bool", "the same"},
    {"conv2d", "bool", "the same"},
    {"softsign", "bool", "the same"},
    {"tanhshrink", "bool", "the same"},
    {"var", "f8", "the same"},
    {"std", "f8", "the same"},
    {"any", "u8", "bool, as of other integers"},
    {"all", "u8", "the same"},
    {"embedding", "i16", "any integer indexes"},
    {"embedding", "i8", "the same"},
    {"embedding", "u8", "the same"},
    {"gather", "bf16[4x8] i16", "the same"},
    {"gather", "bf16[4x8] i8", "the same"},
    {"gather", "bf16[4x8] u8", "the same"},
    {"index_select", "bf16[4x8] i16", "the same"},
    {"index_select", "bf16[4x8] i8", "the same"},
    {"index_select", "bf16[4x8] u8", "the same"},
    {"one_hot", "i", "the same"},
    {"one_hot", "u8", "the same"},
    {"interpolate", "u8", "interpolation is of floats"},
    {"embedding", "f32", "traced files give indices so: a warning"},
};

static const char *why_it_differs(const char *op, const char *arguments)
{
    for (size_t i = 0; i < sizeof differs / sizeof *differs; i++)
        if (strcmp(differs[i].op, op) == 0 &&
            strncmp(differs[i].arguments, arguments, strlen(differs[i].arguments)) == 0)
            return differs[i].why;
    return NULL;
}

/* "bf16[4x8] f32[]" as tensors of a workload. The number of them. */
static int put_tensors(char *text, size_t room, const char *arguments)
{
    int count = 0;
    size_t used = 0;
    while (*arguments) {
        char dtype[8], shape[32] = "";
        int read = 0;
        assert_true(sscanf(arguments, "%7[a-z0-9][%n", dtype, &read) == 1);
        arguments += read;
        const size_t length = strcspn(arguments, "]");
        for (size_t i = 0; i < length; i++)
            shape[i] = arguments[i] == 'x' ? ',' : arguments[i];
        arguments += length + 1 + (arguments[length + 1] == ' ');
        used += (size_t)snprintf(text + used, room - used, "  a%d: {shape: [%s], dtype: %s, role: input}\n", count++,
                                 shape, dtype);
    }
    return count;
}

/* The results' dtypes of the operator on those arguments as fusesim has them, "error" where it refuses. */
static void result_of(const char *op, const char *arguments, const char *attributes, int results, char found[64])
{
    char text[1024], tensors[512], extra[128] = "";
    const int count = put_tensors(tensors, sizeof tensors, arguments);
    size_t used =
        (size_t)snprintf(text, sizeof text, "name: t\ntensors:\n%soperators:\n  - {op: %s, in: [", tensors, op);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%sa%d", i ? ", " : "", i);
    for (size_t i = 0, n = 0; attributes[i]; i++) { /* "k=2 dim=0" as ", k: 2, dim: 0" */
        n += (size_t)snprintf(extra + n, sizeof extra - n, "%s%s", i == 0 ? ", " : "",
                              attributes[i] == '='   ? ": "
                              : attributes[i] == ' ' ? ", "
                                                     : (char[2]){attributes[i], 0});
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "], out: %s%s}\noutputs: %s\n",
                             results == 2 ? "[r0, r1]" : "r0", extra, results == 2 ? "[r0, r1]" : "[r0]");
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_load_text(a, d, "types", text, used, &(fsim_workload_wanted){0});
    *found = '\0';
    for (int i = 0; g && i < results; i++) {
        int r = 0;
        while (strcmp(g->tensor[r].name, i ? "r1" : "r0") != 0)
            r++;
        snprintf(found + strlen(found), 64 - strlen(found), "%s%s", i ? " " : "", fsim_dtype_names[g->tensor[r].dtype]);
    }
    if (!g)
        strcpy(found, "error");
    fsim_arena_free(a);
}

static void check_row(char *line, int *same, int *other, int *wrong)
{
    char *cell[4], found[64];
    for (int i = 0; i < 4; i++)
        cell[i] = strsep(&line, ",");
    const int results = strcmp(cell[0], "max") == 0 || strcmp(cell[0], "min") == 0 || strcmp(cell[0], "sort") == 0 ||
                                strcmp(cell[0], "topk") == 0
                            ? 2
                            : 1;
    result_of(cell[0], cell[1], cell[2], results, found);
    if (strcmp(found, cell[3]) == 0)
        (*same)++;
    else if (why_it_differs(cell[0], cell[1]))
        (*other)++;
    else if ((*wrong)++ < 40)
        print_error("%s of %s %s: %s, PyTorch has %s\n", cell[0], cell[1], cell[2], found, cell[3]);
}

static void types_are_pytorchs(void **state)
{
    (void)state;
    FILE *f = fopen(FUSESIM_SOURCE_DIR "/tests/types/torch_types.csv", "r");
    char line[256];
    int same = 0, other = 0, wrong = 0;
    assert_non_null(f);
    for (int row = 0; fgets(line, sizeof line, f); row++) {
        line[strcspn(line, "\n")] = '\0';
        if (row >= 2) /* the version, and the head */
            check_row(line, &same, &other, &wrong);
    }
    fclose(f);
    print_message("%d results have PyTorch's dtype, %d differ for a reason, %d are wrong\n", same, other, wrong);
    assert_int_equal(wrong, 0);
    assert_true(same > 6000);
}

/* The dtypes without a fast unit: 256 x 256 x 256 in `dtype` on the GPU. */
static void slow_dtypes_are_named(void **state)
{
    static const struct {
        const char *hw, *dtype;
        fsim_dtype slow, faster;
    } cases[] = {{"t4", "bf16", FSIM_BF16, FSIM_F16},
                 {"t4", "f16", FSIM_DTYPE_NONE, FSIM_DTYPE_NONE},
                 {"t4", "f32", FSIM_DTYPE_NONE, FSIM_DTYPE_NONE},
                 {"a100-sxm4-40gb", "bf16", FSIM_DTYPE_NONE, FSIM_DTYPE_NONE},
                 {"a100-sxm4-40gb", "f8e4m3", FSIM_F8E4M3, FSIM_BF16},
                 {"v100-sxm2-32gb", "f8e5m2", FSIM_F8E5M2, FSIM_F16},
                 {"h100-sxm5-80gb", "f8e4m3", FSIM_DTYPE_NONE, FSIM_DTYPE_NONE}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_printf(a,
                                       "tensors: {x: {shape: [256, 256], dtype: %s}}\n"
                                       "operators: [{op: matmul, in: [x, x], out: y}]\noutputs: [y]\n",
                                       cases[i].dtype);
        const fsim_graph *g = fsim_graph_load_text(a, d, "t", text, strlen(text), &(fsim_workload_wanted){0});
        const fsim_hw *hw = fsim_hw_load(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, cases[i].hw),
                                         &(fsim_hw_wanted){0});
        assert_non_null(g);
        assert_non_null(hw);
        const fsim_prediction p =
            fsim_predict(g, hw, &(fsim_options){.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM}, a);
        assert_int_equal(p.arithmetic.slow, cases[i].slow);
        assert_int_equal(p.arithmetic.faster, cases[i].faster);
        if (p.arithmetic.slow != FSIM_DTYPE_NONE) {
            assert_true(p.arithmetic.faster_flops > 2 * p.arithmetic.slow_flops);
            assert_true(p.arithmetic.eager_s > p.arithmetic.instead_eager_s);
        }
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_are_pytorchs), cmocka_unit_test(slow_dtypes_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of a workload's text: what is wrong with them, in words, or the primitives that they become, with their
 * shapes. x, y: 4 x 6; v: 6; i: 3 indices; g: 2 x 6; m: 2 x 3 x 8 x 8. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *op, *says;
} cases[] = {
    {"relu, in: [x, y]", "relu 'o': has 2 inputs; wants 1\n"},
    {"relu, in: []", "relu 'o': has 0 inputs; wants 1\n"},
    {"add, in: [x, y, v, x]", "add 'o': has 4 inputs; wants at most 2\n"},
    {"layer_norm, in: []", "layer_norm 'o': has 0 inputs; wants at least 1\n"},
    {"concat, in: [], dim: 0", "concat 'o': has 0 inputs; wants at least 1\n"},
    {"max, in: [x, y]", "'maximum' is of two tensors, 'max' reduces one"},
    {"softmax, in: x, dim: 2", "dimension 2 is out of range for a tensor of rank 2"},
    {"softmax, in: x, dim: -3", "dimension -3 is out of range for a tensor of rank 2"},
    {"softmax, in: x, dim: -2", "max o/max [1, 6]; sub o/sub [4, 6]; exp o/exp [4, 6]; sum o/sum [1, 6]; div o [4, 6]"},
    {"add, in: [x, i]", "shapes [4, 6] and [3] do not broadcast: 6 against 3"},
    {"add, in: [x, v]", "add o [4, 6]"},
    {"unfold, in: x, dim: 0, size: 2, step: 0", "wants 1 to 7 dimensions, one 'size', and a 'step' above 0"},
    {"unfold, in: x, dim: 0, size: 2, step: 1", "unfold o [3, 6, 2]"},
    {"unfold, in: x, dim: 1, size: 3, step: 2", "unfold o [4, 2, 3]"},
    {"im2col, in: x, kernel: 2", "wants x[N, C, H, W]; found [4, 6]"},
    {"im2col, in: m, kernel: 9", "the window does not fit into [2, 3, 8, 8]"},
    {"im2col, in: m, kernel: 8", "im2col o [2, 192, 1]"},
    {"im2col, in: m, kernel: 2, padding: -1", "'padding' is negative"},
    {"im2col, in: m, kernel: 3", "im2col o [2, 27, 36]"},
    {"im2col, in: m, kernel: 3, padding: [1, 0]", "pad o/padded [2, 3, 10, 8]; im2col o [2, 27, 48]"},
    {"im2col, in: m, kernel: 3, padding: [0, 2], stride: 3", "pad o/padded [2, 3, 8, 12]; im2col o [2, 27, 8]"},
    {"gather, in: [x, i], dim: 0",
     "with 'dim' wants an index of x's rank, not longer than x outside of 'dim'; found [3] for [4, 6]"},
    {"gather, in: [x, g], dim: 0", "gather o [2, 6]"},
    {"gather, in: [v, i], dim: 0", "gather o [3]"},
    {"gather, in: [x, g], dim: 1", "gather o [2, 6]"},
    {"index_select, in: [x, i], dim: 1", "index_select o [4, 3]"},
    {"conv2d, in: [m, x]", "wants x[N, C, ...] and weight[O, C / groups, ...]; found [2, 3, 8, 8] and [4, 6]"},
    {"einsum, in: [x, y], equation: \"ij,ij->i\"", "einsum o [4]"},
    {"einsum, in: [x, y], equation: \"ij,kj->ik\"", "einsum o [4, 4]"},
    {"einsum, in: [x, y, v], equation: \"ij,ij,j->i\"", "einsum o/1_ij [4, 6]; einsum o [4]"},
    {"einsum, in: [x], equation: \"ij->j\"", "sum o [6]"},
};

static const char *said_of(const char *op, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    const char
        *text = fsim_printf(
            a,
            "tensors: {x: {shape: [4, 6], dtype: f32}, y: {shape: [4, 6], dtype: f32}, v: {shape: [6], dtype: f32}, "
            "i: {shape: [3], dtype: i64}, g: {shape: [2, 6], dtype: i64}, m: {shape: [2, 3, 8, 8], dtype: f32}}\n"
            "operators: [{op: %s, out: o}]\n",
            op),
        *said = "";
    const fsim_graph *g = fsim_graph_parse(a, d, "wording.yaml", text, strlen(text), NULL);
    if (!g) {
        char *printed = NULL;
        size_t bytes;
        FILE *out = open_memstream(&printed, &bytes);
        assert_non_null(out);
        fsim_diag_print(d, out, false);
        fclose(out);
        said = fsim_strdup(a, printed);
        free(printed);
        return said;
    }
    for (int n = 0; n < g->nodes; n++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
        said = fsim_printf(a, "%s%s%s %s %s", said, n ? "; " : "", fsim_ops[g->node[n].op].name, t->name,
                           fsim_shape_text(a, &t->shape));
    }
    return said;
}

static void operators_in_words(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *said = said_of(cases[i].op, a);
        if (!strstr(said, cases[i].says))
            fail_msg("%s: %s", cases[i].op, said);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_in_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

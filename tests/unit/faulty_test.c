/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads as texts: the primitives that they become, with what each reads, or what is wrong with them, once, with its
 * line. Symbols, single values, operators and their order, repeat blocks and what they carry, marks, sets, calls.
 * depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include <string.h>

#define GIVEN "tensors: {x: {shape: [4, 6], dtype: f32}, w: {shape: [6, 6], dtype: f32}}\noperators:\n"

static const struct {
    const char *text, *says;
} cases[] = {
    {"symbols: [A]\ntensors: {x: {shape: [4, 6], dtype: f32}, w: {shape: [6, 6], dtype: f32}}\noperators:\n  - {op: "
     "relu, in: x, out: y}\n",
     "1: 'symbols' is a list; wants a mapping"},
    {"symbols: {A: [1]}\ntensors: {x: {shape: [4, 6], dtype: f32}, w: {shape: [6, 6], dtype: f32}}\noperators:\n  - "
     "{op: relu, in: x, out: y}\n",
     "1: a symbol is a list; wants a single value"},
    {"symbols: {A: 2, B: A * 3}\ntensors: {x: {shape: [A, B], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: "
     "y}\n",
     "y = relu(x)"},
    {"symbols: {A: 2, B: C}\ntensors: {x: {shape: [A, B], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "1: unknown symbol 'C'"},
    {"symbols: {t: float16}\ntensors: {x: {shape: [4], dtype: t}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "1: unknown dtype 'float16'; did you mean 'f16'?"},
    {"symbols: {t: f16}\ntensors: {x: {shape: [4], dtype: t}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "y = relu(x)"},
    {"symbols: {t: f16}\ntensors: {x: {shape: [t], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "2: expression 't': a dtype can only be compared with another, by == or !="},
    {"tensors: {x: {shape: [4], dtype: [f32]}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "1: a dtype is a list; wants a single value"},
    {"tensors: {x: {shape: [4], dtype: f31}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "1: unknown dtype 'f31'; did you mean 'f32'?"},
    {"tensors: {x: {shape: [4, [1]], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "1: a dimension is a list; wants a single value"},
    {"tensors: {x: {shape: 4, dtype: f32}}\noperators:\n  - {op: relu, in: x, out: y}\n",
     "1: the shape of 'x' wants a list of at most 8 dimensions"},
    {GIVEN "  - {op: leaky_relu, in: x, out: y, alpha: .inf}\n",
     "3: expression '.inf': wants a number, a symbol or '('"},
    {GIVEN "  - {op: leaky_relu, in: x, out: y, alpha: 1e999}\n",
     "3: 'negative_slope' is 1e999; wants a finite number"},
    {GIVEN "  - {op: leaky_relu, in: x, out: y, alpha: [1]}\n", "3: 'negative_slope' is a list; wants a single value"},
    {GIVEN "  - {op: leaky_relu, in: x, out: y, alpha: zz}\n", "3: unknown symbol 'zz'"},
    {GIVEN "  - {op: sum, in: x, out: y, dim: 1, keepdim: [true]}\n", "3: 'keepdim' is a list; wants a single value"},
    {GIVEN "  - {op: sum, in: x, out: y, dim: 1, keepdim: maybe}\n", "3: unknown symbol 'maybe'"},
    {GIVEN "  - {op: sum, in: x, out: y, dim: 1, keepdim: 2 - 2}\n", "y = sum(x) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - relu\n", "3: an operator is a value; wants a mapping"},
    {GIVEN "  - {op: relu, in: x}\n", "3: an operator has no 'out'"},
    {GIVEN "  - {in: x, out: y}\n", "3: an operator has no 'op'"},
    {GIVEN "  - {op: [relu], in: x, out: y}\n", "3: 'op' is a list; wants a single value"},
    {GIVEN "  - {op: rleu, in: x, out: y}\n", "3: unknown operator 'rleu'; did you mean 'relu'?"},
    {GIVEN "  - {op: relu, in: {a: x}, out: y}\n", "3: 'in' is a mapping; wants a name or a list of names"},
    {GIVEN "  - {op: relu, in: [[x]], out: y}\n", "3: 'in' is a list; wants a single value"},
    {GIVEN "  - {op: relu, in: x, out: []}\n", "3: 'out' names nothing"},
    {GIVEN "  - {op: relu, in: x, out: {a: y}}\n", "3: 'out' is a mapping; wants a name or a list of names"},
    {GIVEN "  - {op: relu, in: x, out: x}\n", "3: duplicate name 'x': another at line 1 has it already"},
    {GIVEN "  - {op: relu, in: x, out: y}\n  - {op: exp, in: x, out: y}\n",
     "4: duplicate name 'y': another at line 3 has it already"},
    {GIVEN "  - {op: relu, in: x, out: [y, z]}\n", "3: relu 'y': has 2 outputs; makes at most 1"},
    {GIVEN "  - {op: relu, in: z, out: y}\n", "3: no tensor 'z'"},
    {GIVEN "  - {op: relu, in: wx, out: y}\n  - {op: exp, in: y, out: z}\n", "3: no tensor 'wx'; did you mean 'x'?"},
    {GIVEN "  - {op: relu, in: b, out: a}\n  - {op: exp, in: a, out: b}\n",
     "4: the operators form a cycle: a needs b needs a"},
    {GIVEN "  - {op: relu, in: a, out: a}\n", "3: the operators form a cycle: a needs a needs a"},
    {GIVEN "  - {op: add, in: [c, x], out: a}\n  - {op: exp, in: a, out: b}\n  - {op: neg, in: b, out: c}\n  - {op: "
           "neg, in: c, out: d}\n",
     "4: the operators form a cycle: a needs c needs b needs a"},
    {GIVEN "  - {op: adaptive_avg_pool2d, in: x, out: y, output_size: 1}\n",
     "3: adaptive_avg_pool2d 'y': the tensor has too few dimensions"},
    {GIVEN "  - {op: relu, in: x, out: y, when: 0}\n  - {op: exp, in: y, out: z}\n",
     "z = exp(x) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {op: arange, in: [], out: y, end: 4, when: 0}\n  - {op: exp, in: x, out: z}\n",
     "3: 'when' is 0, and 'y' has no input to stand for its result"},
    {GIVEN "  - {op: sort, in: x, out: [y, i], when: 0}\n  - {op: exp, in: i, out: z}\n",
     "4: 'i' is a further result of an operator that is not there: its 'when' is 0"},
    {GIVEN "  - {op: relu, in: q, out: y, when: 0}\n  - {op: exp, in: x, out: z}\n", "3: no tensor 'q'"},
    {GIVEN "  - {repeat: 0, operators: []}\n  - {op: relu, in: x, out: y}\n", "3: 'repeat' is 0; wants at least 1"},
    {GIVEN "  - {repeat: x, operators: []}\n  - {op: relu, in: x, out: y}\n", "3: unknown symbol 'x'"},
    {GIVEN "  - {repeat: 2, operator: []}\n  - {op: relu, in: x, out: y}\n",
     "3: a repeat block wants 'operators', a list | 3: unknown key 'operator' in a repeat block; did you mean "
     "'operators'? its keys are repeat, carry, tensors, operators, calls"},
    {GIVEN "  - {repeat: 2, operators: relu}\n  - {op: relu, in: x, out: y}\n",
     "3: a repeat block wants 'operators', a list"},
    {GIVEN "  - {repeat: 2000000, operators: [{op: relu, in: x, out: y}]}\n",
     "3: 2000000 operators with repeat blocks unrolled; at most 262144"},
    {GIVEN "  - {repeat: 2, carry: [x], operators: [{op: relu, in: x, out: y}]}\n",
     "3: 'carry' is a list; wants a mapping"},
    {GIVEN "  - {repeat: 2, carry: {x: [y]}, operators: [{op: relu, in: x, out: y}]}\n",
     "3: a carried name is a list; wants a single value"},
    {GIVEN "  - {repeat: 2, carry: {x: z}, operators: [{op: relu, in: x, out: y}]}\n",
     "3: 'z' is carried, but no operator of the block makes it"},
    {GIVEN "  - {repeat: 2, carry: {x: y}, operators: [{op: relu, in: w, out: y}, {op: exp, in: x, out: a}]}\n  - {op: "
           "neg, in: y, out: z}\n",
     "y.0 = relu(w); a.0 = exp(x); y.1 = relu(w); a.1 = exp(y.0); z = neg(y.1)"},
    {GIVEN "  - {repeat: 3, carry: {x: y}, operators: [{op: relu, in: x, out: y}]}\n  - {op: neg, in: y, out: z}\n",
     "y.0 = relu(x); y.1 = relu(y.0); y.2 = relu(y.1); z = neg(y.2) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {repeat: 2, carry: {x: y}, operators: [{op: relu, in: w, out: y}]}\n  - {op: neg, in: y, out: z}\n",
     "y.0 = relu(w); y.1 = relu(w); z = neg(y.1) | warning 1: tensor 'x' is not used | warning 3: 'x' is carried from "
     "turn to turn, but no operator of the block reads it"},
    {GIVEN "  - {repeat: 2, operators: [{op: rleu, in: x, out: y}]}\n",
     "3: unknown operator 'rleu'; did you mean 'relu'?"},
    {GIVEN "  - {repeat: 2, tensors: {v: {shape: [6], dtype: f32}}, carry: {x: y}, operators: [{op: add, in: [x, v], "
           "out: y}]}\n",
     "y.0 = add(x, v.0); y.1 = add(y.0, v.1) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {repeat: 2, tensors: [v], carry: {x: y}, operators: [{op: relu, in: x, out: y}]}\n",
     "3: 'tensors' is a list; wants a mapping"},
    {GIVEN "  - {repeat: 2, carry: {x: y}, operators: [{repeat: 2, carry: {x: y}, operators: [{op: relu, in: x, out: "
           "y}]}]}\n",
     "y.0.0 = relu(x); y.0.1 = relu(y.0.0); y.1.0 = relu(y.0.1); y.1.1 = relu(y.1.0) | warning 1: tensor 'w' is not "
     "used"},
    {GIVEN "  - {op: relu, in: x, out: y}\noutputs: y\n", "4: 'outputs' is a value; wants a list of tensor names"},
    {GIVEN "  - {op: relu, in: x, out: y}\noutputs: [yy]\n", "4: 'outputs': no tensor 'yy'; did you mean 'y'?"},
    {GIVEN "  - {op: relu, in: x, out: y}\noutputs: [[y]]\n", "4: 'outputs' is a list; wants a single value"},
    {GIVEN "  - {op: relu, in: x, out: y}\nmaterialize: {a: y}\n",
     "4: 'materialize' is a mapping; wants a list of tensor names"},
    {GIVEN "  - {op: relu, in: x, out: y}\nmaterialize: [q]\n", "4: 'materialize': no tensor 'q'"},
    {GIVEN "  - {op: softmax, in: x, out: y, dim: 5}\noutputs: [y]\n",
     "3: softmax 'y': dimension 5 is out of range for a tensor of rank 2"},
    {GIVEN "  - {op: softmax, in: x, out: y, dim: 5}\n  - {op: exp, in: y, out: z}\noutputs: [z]\n",
     "3: softmax 'y': dimension 5 is out of range for a tensor of rank 2"},
    {GIVEN "  - {op: relu, in: x, out: y}\n  - {op: exp, in: y, out: z}\nfuse: y\n",
     "5: 'fuse' is a value; wants a list of lists of primitive names"},
    {GIVEN "  - {op: relu, in: x, out: y}\n  - {op: exp, in: y, out: z}\nfuse: [y, z]\n",
     "5: an entry of 'fuse' wants a list of at least two primitive names | 5: an entry of 'fuse' wants a list of at "
     "least two primitive names"},
    {GIVEN "  - {op: relu, in: x, out: y}\n  - {op: exp, in: y, out: z}\nfuse: [[y]]\n",
     "5: an entry of 'fuse' wants a list of at least two primitive names"},
    {GIVEN "  - {op: relu, in: x, out: y}\n  - {op: exp, in: y, out: z}\nseparate: [[y, zz]]\n",
     "5: 'separate': no primitive 'zz'; did you mean 'z'?"},
    {GIVEN "  - {op: relu, in: x, out: y}\n  - {op: exp, in: y, out: z}\nseparate: [[y, [z]]]\n",
     "5: 'separate': no primitive ''"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: {kernel: gemm_i8}\n",
     "4: 'calls' is a mapping; wants a list of calls"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [gemm_i8]\n", "4: an entry of 'calls' is a value; wants a mapping"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{operators: [y]}]\n", "4: an entry of 'calls' has no 'kernel'"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: [a]}]\n", "4: 'kernel' is a list; wants a single value"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gem_i8, m: 1, n: 1, k: 1}]\n",
     "4: 'calls': no kernel 'gem_i8'; did you mean 'gemm_i8'?"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, k: 1}]\n",
     "4: call 'gemm_i8' has no 'n': it wants m n k"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: -1, k: 1}]\n",
     "4: 'n' is -1; wants 0 to 4294967296"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, kk: 3}]\n",
     "4: unknown key 'kk' in an entry of 'calls'; did you mean 'k'? its keys are kernel, operators, dtype, stored, "
     "when, m, n, k"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: zz}]\n", "4: unknown symbol 'zz'"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, dtype: f17}]\n",
     "4: unknown dtype 'f17'; did you mean 'f16'?"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, operators: y}]\n",
     "4: 'operators' wants a list of names"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, operators: []}]\n",
     "4: 'operators' wants a list of names"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, operators: [q]}]\n",
     "4: 'operators': no primitive 'q'"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, operators: [y], when: [1]}]\n",
     "4: 'when' is a list; wants a single value"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: gemm_i8, m: 1, n: 1, k: 1, operators: [y]}]\n",
     "y = relu(x) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: fused, operators: [q]}]\n",
     "4: 'operators': no primitive 'q'"},
    {GIVEN "  - {op: relu, in: x, out: y}\ncalls: [{kernel: fused, operators: [y], m: 1}]\n",
     "4: unknown key 'm' in an entry of 'calls'; its keys are kernel, operators, when"},
    {GIVEN "  - {repeat: 2, carry: {x: y}, operators: [{repeat: 2, carry: {x: z}, operators: [{op: exp, in: x, out: "
           "z}]}, {op: add, in: [z, x], out: y}]}\n  - {op: neg, in: y, out: e}\n",
     "z.0.0 = exp(x); z.0.1 = exp(z.0.0); y.0 = add(z.0.1, x); z.1.0 = exp(y.0); z.1.1 = exp(z.1.0); y.1 = add(z.1.1, "
     "y.0); e = neg(y.1) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {repeat: 2, operators: [{op: relu, in: x, out: y}]}\n  - {op: neg, in: y, out: e}\n",
     "4: no tensor 'y'"},
    {GIVEN
     "  - {repeat: 2, carry: {x: y}, operators: [{op: sort, in: x, out: [y, i]}]}\n  - {op: neg, in: y, out: e}\n",
     "y.0 = sort(x); y.1 = sort(y.0); e = neg(y.1) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {repeat: 3, tensors: {v: {shape: [6], dtype: f32}}, carry: {x: y}, operators: [{op: add, in: [x, v], "
           "out: t}, {op: add, in: [t, w], out: y}]}\noutputs: [y]\n",
     "3: add 'y.0': shapes [4, 6] and [6, 6] do not broadcast: 4 against 6"},
    {GIVEN "  - {op: exp, in: y, out: z}\n  - {op: relu, in: x, out: y}\n",
     "y = relu(x); z = exp(y) | warning 1: tensor 'w' is not used"},
    {GIVEN "  - {op: add, in: [a, b], out: c}\n  - {op: exp, in: x, out: a}\n  - {op: neg, in: a, out: b}\n",
     "a = exp(x); b = neg(a); c = add(a, b) | warning 1: tensor 'w' is not used"},
};

/* "y = add(x, v); z = exp(y) | warning 1: ..." */
static const char *said_of(fsim_arena *a, const char *text, const fsim_bindings *set)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_diagnostic *list;
    const fsim_graph *g = fsim_graph_parse(a, d, "text.yaml", text, strlen(text), set);
    const char *out = "";
    const int count = fsim_diag_list(d, a, &list);
    for (int n = 0; g && n < g->nodes; n++) {
        const fsim_node *x = &g->node[n];
        out = fsim_printf(a, "%s%s%s = %s(", out, n ? "; " : "", x->name, fsim_ops[x->op].name);
        for (int k = 0; k < x->args; k++)
            out = fsim_printf(a, "%s%s%s", out, k ? ", " : "", g->tensor[x->arg[k].tensor].name);
        out = fsim_printf(a, "%s)", out);
    }
    for (int i = 0; i < count; i++)
        out = fsim_printf(a, "%s%s%s%d: %s", out, *out ? " | " : "", list[i].severity == FSIM_WARNING ? "warning " : "",
                          list[i].line, list[i].message);
    assert_int_equal(g == NULL, fsim_errors(d) > 0);
    return out;
}

static void workloads_as_texts(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *said = said_of(a, cases[i].text, NULL);
        if (strcmp(said, cases[i].says) != 0)
            fail_msg("%s\nsays   %s\nwanted %s", cases[i].text, said, cases[i].says);
        fsim_arena_free(a);
    }
}

/* --set: numbers, dtypes, expressions of symbols that are known by then; what is no symbol. */
static void symbols_are_set(void **unused)
{
    (void)unused;
    static const char text[] = "symbols: {A: 2, B: A * 3, t: f16}\ntensors: {x: {shape: [A, B], dtype: t}}\n"
                               "operators:\n  - {op: relu, in: x, out: y}\n";
    static const struct {
        const char *name, *value;
        int64_t rows, columns; /* 0: an error */
        fsim_dtype t;
        const char *says;
    } sets[] = {{"A", "4", 4, 12, FSIM_F16, NULL},
                {"B", "A + 1", 2, 3, FSIM_F16, NULL},
                {"t", "f32", 2, 6, FSIM_F32, NULL},
                {"A", "B", 0, 0, FSIM_F16, "unknown symbol 'B'"},
                {"A", "t", 0, 0, FSIM_F16, "unknown symbol 't'"},
                {"t", "7", 0, 0, FSIM_F16, "t=7: unknown dtype '7'"},
                {"t", "float32", 0, 0, FSIM_F16, "t=float32: unknown dtype 'float32'; did you mean 'f32'?"},
                {"C", "1", 0, 0, FSIM_F16, "C=1: the workload has no symbol 'C'"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_binding at = {sets[i].name, sets[i].value};
        const fsim_bindings set = {.at = &at, .count = 1};
        const fsim_graph *g = fsim_graph_parse(a, d, "text.yaml", text, strlen(text), &set);
        if (sets[i].rows > 0) {
            assert_non_null(g);
            assert_true(g->tensor[0].shape.dim[0] == sets[i].rows && g->tensor[0].shape.dim[1] == sets[i].columns);
            assert_int_equal(g->tensor[0].dtype, sets[i].t);
        } else {
            fsim_diagnostic *list;
            const int count = fsim_diag_list(d, a, &list);
            assert_true(!g && count > 0);
            if (!strstr(list[0].message, sets[i].says))
                fail_msg("%s=%s: %s", sets[i].name, sets[i].value, list[0].message);
        }
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(workloads_as_texts), cmocka_unit_test(symbols_are_set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

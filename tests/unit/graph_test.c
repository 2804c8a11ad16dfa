/* SPDX-License-Identifier: Apache-2.0 */
/* The workload reader: shapes, primitives, and the real graphs under ../shared with the shapes that PyTorch gives them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "graph/build.h"
#include <stdlib.h>
#include <string.h>

static fsim_graph *parse(fsim_arena *a, const char *text, const fsim_binding *set, int sets)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){set, sets, NULL});
    if (!g)
        fsim_diag_print(d, stderr, true);
    return g;
}

static const fsim_tensor *tensor(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return &g->tensor[t];
    return NULL;
}

/* One operator on x[4, 6, 8], y[8, 5], z[6, 1], t[4, 6] (i64), and what PyTorch makes of it. */
static const struct {
    const char *op, *shape;
    fsim_dtype dtype;
    int primitives;
} rules[] = {
    {"{op: add, in: [x, z], out: o}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: eq, in: x, out: o, scalar: 0}", "[4, 6, 8]", FSIM_BOOL, 1},
    {"{op: cast, in: x, out: o, dtype: bf16}", "[4, 6, 8]", FSIM_BF16, 1},
    {"{op: matmul, in: [x, y], out: o}", "[4, 6, 5]", FSIM_F32, 1},
    {"{op: einsum, in: [x, y], out: o, equation: \"abc,cd->adb\"}", "[4, 5, 6]", FSIM_F32, 1},
    {"{op: sum, in: x, out: o, dims: [1], keepdim: false}", "[4, 8]", FSIM_F32, 1},
    {"{op: sum, in: t, out: o, dims: [0], keepdim: true}", "[1, 6]", FSIM_I64, 1},
    {"{op: mean, in: x, out: o}", "[]", FSIM_F32, 1},
    {"{op: argmax, in: x, out: o, dim: -1}", "[4, 6]", FSIM_I64, 1},
    {"{op: norm, in: x, out: o, dims: [0, 2]}", "[6]", FSIM_F32, 1},
    {"{op: permute, in: x, out: o, dims: [2, 0, 1]}", "[8, 4, 6]", FSIM_F32, 1},
    {"{op: transpose, in: x, out: o, dims: [0, 2]}", "[8, 6, 4]", FSIM_F32, 1},
    {"{op: reshape, in: x, out: o, shape: [-1, 12]}", "[16, 12]", FSIM_F32, 0},
    {"{op: slice, in: x, out: o, dim: 0, start: 1, size: 2}", "[2, 6, 8]", FSIM_F32, 0},
    {"{op: slice, in: x, out: o, dim: 2, start: 1, size: 2}", "[4, 6, 2]", FSIM_F32, 1},
    {"{op: expand, in: z, out: o, shape: [3, 6, 7]}", "[3, 6, 7]", FSIM_F32, 1},
    {"{op: flip, in: x, out: o, dims: [1]}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: roll, in: x, out: o, dims: [1], roll: [2]}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: concat, in: [x, x, x], out: o, dim: 1}", "[4, 18, 8]", FSIM_F32, 1},
    {"{op: pad, in: x, out: o, padding: [1, 2, 3, 4]}", "[4, 13, 11]", FSIM_F32, 1},
    {"{op: embedding, in: [t, y], out: o}", "[4, 6, 5]", FSIM_F32, 1},
    {"{op: gather, in: [y, t], out: o}", "[4, 6, 5]", FSIM_F32, 1},
    {"{op: fill, out: o, shape: [3], value: 1}", "[3]", FSIM_F32, 1},
    {"{op: cumsum, in: x, out: o, dim: 1}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: tril, in: x, out: o}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: dropout, in: x, out: o, p: 0.5}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: masked_fill, in: [x, m], out: o, value: 0}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: where, in: [m, x, x], out: o}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: softmax, in: x, out: o, dim: 1}", "[4, 6, 8]", FSIM_F32, 5},
    {"{op: log_softmax, in: x, out: o, dim: -1}", "[4, 6, 8]", FSIM_F32, 6},
    {"{op: logsumexp, in: x, out: o, dims: [2]}", "[4, 6]", FSIM_F32, 6},
    {"{op: layer_norm, in: x, out: o, normalized_shape: [6, 8]}", "[4, 6, 8]", FSIM_F32, 7},
    {"{op: rms_norm, in: x, out: o, normalized_shape: [8]}", "[4, 6, 8]", FSIM_F32, 5},
    {"{op: batch_norm, in: x, out: o, training: true}", "[4, 6, 8]", FSIM_F32, 7},
    {"{op: group_norm, in: x, out: o, groups: 3}", "[4, 6, 8]", FSIM_F32, 7},
    {"{op: instance_norm, in: x, out: o}", "[4, 6, 8]", FSIM_F32, 7},
    {"{op: normalize, in: x, out: o, dim: 1}", "[4, 6, 8]", FSIM_F32, 3},
    {"{op: gelu, in: x, out: o}", "[4, 6, 8]", FSIM_F32, 5},
    {"{op: gelu, in: x, out: o, approximate: tanh}", "[4, 6, 8]", FSIM_F32, 8},
    {"{op: silu, in: x, out: o}", "[4, 6, 8]", FSIM_F32, 2},
    {"{op: mish, in: x, out: o}", "[4, 6, 8]", FSIM_F32, 3},
    {"{op: swiglu, in: [x, x], out: o}", "[4, 6, 8]", FSIM_F32, 3},
    {"{op: swiglu, in: x, out: o}", "[4, 6, 4]", FSIM_F32, 5},
    {"{op: cosine_similarity, in: [x, x], out: o, dim: 2}", "[4, 6]", FSIM_F32, 7},
    {"{op: mse_loss, in: [x, x], out: o}", "[]", FSIM_F32, 3},
    {"{op: smooth_l1_loss, in: [x, x], out: o}", "[]", FSIM_F32, 3},
    {"{op: kl_div, in: [x, x], out: o}", "[]", FSIM_F32, 4},
    {"{op: triplet_margin_loss, in: [x, x, x], out: o}", "[]", FSIM_F32, 10},
    {"{op: max_pool1d, in: x, out: o, kernel: 3, stride: 2, padding: 1}", "[4, 6, 4]", FSIM_F32, 1},
    {"{op: avg_pool2d, in: x, out: o, kernel: [2, 3]}", "[4, 3, 2]", FSIM_F32, 1},
    {"{op: adaptive_avg_pool1d, in: x, out: o, output_size: 3}", "[4, 6, 3]", FSIM_F32, 1},
    {"{op: sort, in: x, out: [o, p], dim: 1}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: topk, in: x, out: [o, p], k: 2}", "[4, 6, 2]", FSIM_F32, 1},
    {"{op: all_reduce, in: x, out: o}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: transfer, in: x, out: o, to: host}", "[4, 6, 8]", FSIM_F32, 1},
    {"{op: custom, in: [x], out: o, shape: [2, 2], dtype: f16}", "[2, 2]", FSIM_F16, 1},
};

/* A batch norm of running statistics that nothing changes reads 1 / deviation, which is computed when the model is
 * loaded; neither is a parameter, and neither has a gradient. */
static void buffers(void **unused)
{
    (void)unused;
    static const struct {
        const char *role;
        int steps;
        int64_t parameters;
    } cases[] = {{"buffer", 4, 12}, {"weight", 6, 24}, {"input", 6, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(a,
                                       "tensors:\n  x: {shape: [4, 6, 8], dtype: f32}\n"
                                       "  w: {shape: [6], dtype: f32, role: weight}\n"
                                       "  b: {shape: [6], dtype: f32, role: weight}\n"
                                       "  m: {shape: [6], dtype: f32, role: %s}\n"
                                       "  v: {shape: [6], dtype: f32, role: %s}\n"
                                       "operators:\n  - {op: batch_norm, in: [x, w, b, m, v], out: y}\n",
                                       cases[i].role, cases[i].role);
        const fsim_graph *g = parse(a, text, NULL, 0);
        assert_non_null(g);
        assert_int_equal(g->nodes, cases[i].steps);
        assert_int_equal(g->parameters, cases[i].parameters);
        fsim_arena_free(a);
    }
}

static void shape_rules(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *text =
            fsim_printf(a,
                        "tensors:\n  x: {shape: [4, 6, 8], dtype: f32, role: input}\n  y: {shape: [8, 5], dtype: f32, "
                        "role: weight}\n"
                        "  z: {shape: [6, 1], dtype: f32, role: input}\n  t: {shape: [4, 6], dtype: i64, role: input}\n"
                        "  m: {shape: [6, 1], dtype: bool, role: input}\n"
                        "operators:\n  - %s\n",
                        rules[i].op);
        fsim_graph *g = parse(a, text, NULL, 0);
        if (!g)
            print_message("%s\n", rules[i].op);
        assert_non_null(g);
        const fsim_tensor *o = tensor(g, "o");
        const char *shape = "[";
        for (int d = 0; d < o->shape.rank; d++)
            shape = fsim_printf(a, "%s%s%lld", shape, d ? ", " : "", (long long)o->shape.dim[d]);
        shape = fsim_printf(a, "%s]", shape);
        if (strcmp(shape, rules[i].shape) != 0 || g->nodes != rules[i].primitives)
            print_message("%s: %s, %d primitives\n", rules[i].op, shape, g->nodes);
        assert_string_equal(shape, rules[i].shape);
        assert_int_equal(o->dtype, rules[i].dtype);
        assert_int_equal(g->nodes, rules[i].primitives);
        fsim_arena_free(a);
    }
}

/* Elements that windows touch, by walking every tap of every window. */
static int64_t touched_by_walking(const fsim_axis *x)
{
    char seen[512] = {0};
    int64_t count = 0;
    for (int64_t o = 0; o < x->out; o++)
        for (int64_t k = 0; k < x->taps; k++) {
            const int64_t at = o * x->stride + k * x->dilation - x->pad;
            if (at >= 0 && at < x->extent && !seen[at]) {
                seen[at] = 1;
                count++;
            }
        }
    return count;
}

static void windows_are_counted(void **unused)
{
    (void)unused;
    int tried = 0;
    srand(5);
    while (tried < 200000) {
        fsim_axis x = {.extent = 1 + rand() % 300, .taps = 1 + rand() % 20, .stride = 1 + rand() % 30};
        x.dilation = 1 + rand() % 20;
        x.pad = rand() % 12;
        const int64_t room = x.extent + 2 * x.pad - x.dilation * (x.taps - 1) - 1;
        if (room < 0)
            continue;
        x.out = room / x.stride + 1;
        tried++;
        if (fsim_axis_touched(&x) != touched_by_walking(&x))
            fail_msg("extent %lld out %lld taps %lld stride %lld dilation %lld pad %lld: %lld, walked %lld",
                     (long long)x.extent, (long long)x.out, (long long)x.taps, (long long)x.stride,
                     (long long)x.dilation, (long long)x.pad, (long long)fsim_axis_touched(&x),
                     (long long)touched_by_walking(&x));
    }
    const fsim_axis large = {(int64_t)1 << 32, ((int64_t)1 << 31) / 65536, 65536, 65536, 32767, 0};
    assert_true(fsim_axis_touched(&large) > 0);
}

/* A workload whose repeat blocks nest into billions of turns is refused before any of them. */
static void growth_is_limited(void **unused)
{
    (void)unused;
    static const char *const text[] = {
        "tensors: {x: {shape: [4], dtype: f32}}\noperators:\n  - {op: exp, in: x, out: y}\n"
        "  - repeat: 262144\n    operators:\n      - repeat: 262144\n        operators:\n"
        "          - repeat: 262144\n            operators: []\n",
        "tensors: {x: {shape: [4], dtype: f32}}\noperators:\n"
        "  - {repeat: 300000, operators: [{op: exp, in: x, out: y}]}\n",
        "tensors: {x: {shape: [4], dtype: f32}}\noperators:\n  - repeat: 262144\n    operators: []\n"
        "    tensors: {a: {shape: [1], dtype: f32}, b: {shape: [1], dtype: f32}, c: {shape: [1], dtype: f32},"
        " d: {shape: [1], dtype: f32}, e: {shape: [1], dtype: f32}, f: {shape: [1], dtype: f32},"
        " g: {shape: [1], dtype: f32}, h: {shape: [1], dtype: f32}, i: {shape: [1], dtype: f32},"
        " j: {shape: [1], dtype: f32}, k: {shape: [1], dtype: f32}, l: {shape: [1], dtype: f32},"
        " m: {shape: [1], dtype: f32}, n: {shape: [1], dtype: f32}, o: {shape: [1], dtype: f32},"
        " p: {shape: [1], dtype: f32}}\n"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        assert_null(fsim_graph_parse(a, d, "test.yaml", text[i], strlen(text[i]), NULL));
        assert_int_equal(fsim_errors(d), 1);
        fsim_arena_free(a);
    }
}

/* Does "$name" mean something in an expression: an attribute's field, or what value.c puts in itself? */
static bool means_something(const char *name, size_t length)
{
    static const char *const others[] = {"element", "row", "col", "cols", "t", "f"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == length && strncmp(others[i], name, length) == 0)
            return true;
    for (int f = 0; f < FSIM_FIELD_COUNT; f++)
        if (strlen(fsim_attr_fields[f].name) == length && strncmp(fsim_attr_fields[f].name, name, length) == 0)
            return true;
    return false;
}

/* Every operator that a workload may name has been through a rule above or in the real graphs: no row without a rule.
 */
static void table_is_whole(void **unused)
{
    (void)unused;
    int count;
    const char *const *names = fsim_op_names(&count);
    for (int i = 0; i < count; i++) {
        const fsim_op_row *row = &fsim_ops[i];
        assert_string_equal(row->name, names[i]);
        assert_non_null(row->rule);
        if (!row->expr)
            continue;
        int used = 0; /* "$1" needs two arguments */
        for (const char *p = row->expr; (p = strchr(p, '$')); p++) {
            const bool number = p[1] >= '0' && p[1] <= '9';
            used = number && p[1] - '0' + 1 > used ? p[1] - '0' + 1 : used;
            if (!number && !means_something(p + 1, strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_")))
                fail_msg("the expression of '%s' names '%s'", row->name, p);
        }
        assert_true(row->most_args < 0 || used <= row->most_args);
    }
}

static void repeat_carries(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *text = "symbols: {H: 4, N: 3}\ntensors:\n  h: {shape: [2, H], dtype: f32, role: input}\noperators:\n"
                       "  - repeat: N\n    carry: {h: next}\n    tensors: {w: {shape: [H, H], dtype: f32, role: "
                       "weight}}\n    operators:\n"
                       "      - {op: linear, in: [h, w], out: a}\n      - {op: relu, in: a, out: next}\n"
                       "  - {op: neg, in: next, out: y}\noutputs: [y]\n";
    const fsim_binding two = {"N", "2"};
    fsim_graph *g = parse(a, text, NULL, 0), *small = parse(a, text, &two, 1);
    assert_non_null(g);
    assert_int_equal(g->nodes, 7);
    assert_int_equal(g->parameters, 3 * 16);
    assert_non_null(tensor(g, "w.2"));
    assert_string_equal(g->node[6].name, "y");
    assert_int_equal(g->node[6].arg[0].tensor, tensor(g, "next.2") - g->tensor);
    assert_int_equal(g->node[2].arg[0].tensor, tensor(g, "next.0") - g->tensor);
    assert_int_equal(small->nodes, 5);
    fsim_arena_free(a);
}

static void operators_may_come_in_any_order(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_graph *g = parse(a,
                          "tensors: {x: {shape: [4], dtype: f32}}\noperators:\n  - {op: neg, in: m, out: y}\n  - {op: "
                          "exp, in: x, out: m}\n",
                          NULL, 0);
    assert_non_null(g);
    assert_string_equal(g->node[0].name, "m");
    assert_true(tensor(g, "y")->output);
    fsim_arena_free(a);
}

/* ../shared: one line of shapes.jsonl is {"workload": "...", "shapes": {"t_1": [..], ...}}. */
static void real_graphs_have_pytorch_shapes(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *root = FUSESIM_SOURCE_DIR "/../shared/data/workloads/", *why;
    size_t bytes;
    char *lines = fsim_read_file(a, fsim_printf(a, "%sshapes.jsonl", root), &bytes, &why);
    if (!lines) {
        print_message("skipped: ../shared/data/workloads/shapes.jsonl is absent\n");
        fsim_arena_free(a);
        skip();
    }
    int graphs = 0, shapes = 0;
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        fsim_arena *scratch = fsim_arena_new();
        char *name = strstr(line, "\"workload\":\"") + 12, *end = strchr(name, '"');
        *end = '\0';
        char *text = fsim_read_file(scratch, fsim_printf(scratch, "%s%s.yaml", root, name), &bytes, &why);
        assert_non_null(text);
        const fsim_graph *g = parse(scratch, text, NULL, 0);
        assert_non_null(g);
        graphs++;
        for (char *p = strstr(end + 1, "{") + 1; *p == '"';) {
            char *close = strchr(p + 1, '"');
            *close = '\0';
            const fsim_tensor *t = tensor(g, p + 1);
            assert_non_null(t);
            p = close + 3; /* past ":[ */
            int rank = 0;
            for (; *p != ']'; p += *p == ',') {
                const long long dim = strtoll(p, &p, 10);
                assert_true(rank < t->shape.rank);
                assert_int_equal(t->shape.dim[rank++], dim);
            }
            assert_int_equal(rank, t->shape.rank);
            shapes++;
            p += p[1] == ',' ? 2 : 1;
        }
        fsim_arena_free(scratch);
    }
    print_message("%d graphs, %d shapes\n", graphs, shapes);
    assert_int_equal(graphs, 277);
    assert_int_equal(shapes, 4444);
    fsim_arena_free(a);
}

/* Only parentheses and signs nest: a sum may have any number of terms. */
static void sums_have_any_number_of_terms(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const char *sum = "(1)";
    for (int i = 1; i < 200; i++)
        sum = fsim_printf(a, "%s + -1 * -1", sum);
    const fsim_graph *g = parse(
        a, fsim_printf(a, "tensors: {x: {shape: [\"%s\"], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]\n", sum),
        NULL, 0);
    assert_non_null(g);
    assert_int_equal(tensor(g, "x")->shape.dim[0], 200);
    fsim_arena_free(a);
}

/* eps is the attribute's, or the default of the operator's row. */
static void eps_is_what_the_workload_says(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        double usual;
    } of[] = {{"op: layer_norm, in: x", 1e-5},
              {"op: rms_norm, in: x", 1e-6},
              {"op: batch_norm, in: [x, v, v, v, v]", 1e-5},
              {"op: batch_norm, in: x, training: true", 1e-5},
              {"op: group_norm, in: x, groups: 1", 1e-5},
              {"op: instance_norm, in: x", 1e-5},
              {"op: normalize, in: x", 1e-12},
              {"op: cosine_similarity, in: [x, y]", 1e-8},
              {"op: triplet_margin_loss, in: [x, y, z]", 1e-6}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int said = 0; said < 2; said++) {
            fsim_arena *a = fsim_arena_new();
            const fsim_graph *g =
                parse(a,
                      fsim_printf(a,
                                  "tensors: {x: {shape: [4, 8], dtype: f32}, y: {shape: [4, 8], dtype: f32}, "
                                  "z: {shape: [4, 8], dtype: f32}, v: {shape: [8], dtype: f32}}\n"
                                  "operators:\n  - {%s, out: o%s}\noutputs: [o]\n",
                                  of[i].call, said ? ", eps: 0.25" : ""),
                      NULL, 0);
            int found = 0;
            assert_non_null(g);
            for (int n = 0; n < g->nodes; n++)
                found += g->node[n].attrs.has_scalar && g->node[n].attrs.scalar == (said ? 0.25 : of[i].usual);
            if (found == 0)
                fail_msg("%s: eps is not %g", of[i].call, said ? 0.25 : of[i].usual);
            fsim_arena_free(a);
        }
}

/* Names in a repeat block that say where the turn's number stands. */
static void repeated_names_say_where_numbers_stand(void **state)
{
    (void)state;
    static const char text[] = "tensors:\n"
                               "  x: {shape: [4, 4], dtype: f16}\n"
                               "operators:\n"
                               "  - repeat: 3\n"
                               "    carry: {x: l.<i>.y}\n"
                               "    tensors: {l.<i>.w: {shape: [4, 4], dtype: f16, role: weight}}\n"
                               "    operators:\n"
                               "      - {op: linear, in: [x, l.<i>.w], out: 'h<_6 * i>', layer: 'l.<i>'}\n"
                               "      - {op: relu, in: 'h<_6 * i>', out: 'a_<p|q|7>'}\n"
                               "      - {op: relu, in: 'a_<p|q|7>', out: l.<i>.y}\n"
                               "  - {op: gelu, in: l.2.y, out: z}\n";
    static const char *const wanted[] = {"h", "a_p", "l.0.y", "h_6", "a_q", "l.1.y", "h_12", "a_7", "l.2.y", "z"};
    static const struct {
        const char *find, *put, *message;
    } wrong[] = {{"p|q|7", "p|q", "wants a name for each of 3 turns"},
                 {"_6 * i", "_6 * j", "unknown symbol 'j'"},
                 {"_6 * i", "6 * 0", "duplicate name"},
                 {"_6 * i", "", "ends too early"}};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "t", text, sizeof text - 1, NULL);
    assert_non_null(g);
    assert_int_equal(g->sources, (int)(sizeof wanted / sizeof *wanted));
    for (int i = 0; i < g->sources; i++)
        assert_string_equal(g->source[i].name, wanted[i]);
    assert_string_equal(g->source[3].layer, "l.1");
    assert_int_equal(g->parameters, 3 * 16);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *start = text, *changed = "";
        for (const char *at; (at = strstr(start, wrong[i].find)); start = at + strlen(wrong[i].find))
            changed = fsim_printf(a, "%s%.*s%s", changed, (int)(at - start), start, wrong[i].put);
        changed = fsim_printf(a, "%s%s", changed, start);
        d = fsim_diag_new(a);
        assert_null(fsim_graph_parse(a, d, "t", changed, strlen(changed), NULL));
        fsim_diagnostic *said;
        assert_true(fsim_diag_list(d, a, &said) > 0);
        if (!strstr(said[0].message, wrong[i].message))
            fail_msg("wanted '%s', found '%s'", wrong[i].message, said[0].message);
    }
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_names_say_where_numbers_stand),
        cmocka_unit_test(shape_rules),
        cmocka_unit_test(buffers),
        cmocka_unit_test(eps_is_what_the_workload_says),
        cmocka_unit_test(sums_have_any_number_of_terms),
        cmocka_unit_test(table_is_whole),
        cmocka_unit_test(windows_are_counted),
        cmocka_unit_test(growth_is_limited),
        cmocka_unit_test(repeat_carries),
        cmocka_unit_test(operators_may_come_in_any_order),
        cmocka_unit_test(real_graphs_have_pytorch_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

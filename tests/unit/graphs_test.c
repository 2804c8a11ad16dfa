/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of graphs, by hand: examples of operators, when two graphs are the same, where workloads are found and what
 * their primitives are called, lengths of requests, what a checkpoint computes again. depends: compiler memory cost: 1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

#include "fusion/chain.h"
#include "graph/example.h"
#include "graph/find.h"
#include "graph/graph.h"
#include "graph/piece.h"
#include "random.h"

static fsim_graph *parsed(fsim_arena *a, fsim_diag *d, const char *text, const fsim_derive *how)
{
    return fsim_graph_parse(a, d, "facts.yaml", text, strlen(text), how ? &(fsim_bindings){.derive = how} : NULL);
}

/* All messages, one behind another. */
static const char *said_by(fsim_diag *d, fsim_arena *a)
{
    fsim_diagnostic *list;
    const int count = fsim_diag_list(d, a, &list);
    const char *all = "";
    for (int i = 0; i < count; i++)
        all = fsim_printf(a, "%s%s%s", all, i ? "\n" : "", list[i].message);
    return all;
}

/* Each operator's example is a workload with that operator, which computes something. */
static void examples_are_workloads(void **unused)
{
    (void)unused;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        if (!fsim_op_parse(fsim_ops[op].name, &named)) /* only expansions make it */
            continue;
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_example(a, (fsim_op)op);
        const fsim_graph *g = parsed(a, d, text, NULL);
        if (!g || g->nodes < 1 || *said_by(d, a))
            fail_msg("%s: %s\n%s", fsim_ops[op].name, said_by(d, a), text);
        assert_non_null(strstr(text, fsim_printf(a, "op: %s,", fsim_ops[op].name)));
        assert_true(strlen(fsim_example_results(a, (fsim_op)op)) > 5);
        assert_true(strlen(fsim_result_text((fsim_op)op)) > 0);
        fsim_arena_free(a);
    }
    static const struct {
        fsim_op op;
        const char *text, *results, *what;
    } cases[] = {
        {FSIM_OP_RELU, "tensors:\n  x: {shape: [1024, 4096], dtype: f16}\noperators:\n  - {op: relu, in: x, out: y}\n",
         "y is f16[1024, 4096]", "the input's"},
        {FSIM_OP_ADD,
         "tensors:\n  x: {shape: [1024, 4096], dtype: f16}\n  bias: {shape: [4096], dtype: f16, role: "
         "weight}\noperators:\n  - {op: add, in: [x, bias], out: y}\n",
         "y is f16[1024, 4096]", "the inputs', broadcast"},
        {FSIM_OP_MINIMUM,
         "tensors:\n  x: {shape: [1024, 4096], dtype: f16}\n  y: {shape: [1024, 4096], dtype: f16}\noperators:\n  - "
         "{op: minimum, in: [x, y], out: z}\n",
         "z is f16[1024, 4096]", "the inputs', broadcast"},
        {FSIM_OP_PROD,
         "tensors:\n  x: {shape: [1024, 4096], dtype: f16}\noperators:\n  - {op: prod, in: x, out: y, dim: 1}\n",
         "y is f16[1024]", "the input's without `dim`; `keepdim` leaves it with length 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        assert_string_equal(fsim_example(a, cases[i].op), cases[i].text);
        assert_string_equal(fsim_example_results(a, cases[i].op), cases[i].results);
        assert_string_equal(fsim_result_text(cases[i].op), cases[i].what);
        fsim_arena_free(a);
    }
}

#define HEAD "name: one\ndescription: d\nsymbols: {N: 8}\n"
#define BODY                                                                                                           \
    "tensors: {x: {shape: [N, 4], dtype: f32}, w: {shape: [4], dtype: f32, role: weight}}\noperators:\n"               \
    "  - {op: clamp, in: x, out: c, min: 0, max: 1}\n  - {op: mul, in: [c, w], out: m}\n"                              \
    "  - {op: sum, in: m, out: y, dims: [1]}\n"

/* Graphs differ by one thing each; what is in another place of its file does not make one differ. */
static void the_same_graph_is_told(void **unused)
{
    (void)unused;
    static const char base[] = HEAD BODY;
    static const struct {
        const char *from, *to; /* in the text of the other graph; the first occurrence */
        bool same;
    } changes[] = {
        {"name: one", "name: one", true},
        {"operators:\n", "\n\noperators:\n\n", true},
        {"max: 1}", "max: 1.0}", true},
        {"name: one", "name: two", false},
        {"description: d", "description: e", false},
        {"N: 8", "N: 9", false},
        {"N: 8", "N: 8, M: 8", false},
        {"dtype: f32}", "dtype: f16}", false},
        {"[4]", "[1]", false},
        {", role: weight", "", false},
        {"x: {", "z: {", false},
        {"clamp", "clip", true},
        {"max: 1}", "max: 2}", false},
        {"min: 0, ", "", false},
        {"[c, w]", "[w, c]", false},
        {"out: m}\n  - {op: sum, in: m", "out: n}\n  - {op: sum, in: n", false},
        {"dims: [1]", "dims: [0]", false},
        {"op: sum", "op: mean", false},
        {"dims: [1]}\n", "dims: [1]}\n  - {op: neg, in: y, out: z}\n", false},
        {"dims: [1]}\n", "dims: [1]}\noutputs: [y, m]\n", false},
        {"dims: [1]}\n", "dims: [1]}\nmaterialize: [m]\n", false},
        {"dims: [1]}\n", "dims: [1]}\nfuse: [[c, m]]\n", false},
        {"dims: [1]}\n", "dims: [1]}\nseparate: [[c, m]]\n", false},
        {"out: c,", "out: c, layer: a.0,", false},
        {"out: c,", "out: c, from: Clip,", false},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *at = strstr(base, changes[i].from);
        assert_non_null(at);
        const char *other =
            fsim_printf(a, "%.*s%s%s", (int)(at - base), base, changes[i].to, at + strlen(changes[i].from));
        if (strncmp(changes[i].from, "x: {", 4) == 0) { /* and where it is read */
            const char *in = strstr(other, "in: x");
            other = fsim_printf(a, "%.*sin: z%s", (int)(in - other), other, in + 5);
        }
        const fsim_graph *x = parsed(a, d, base, NULL), *y = parsed(a, d, other, NULL);
        if (!x || !y)
            fail_msg("%s\n%s", said_by(d, a), other);
        if (fsim_same_graph(x, y) != changes[i].same || fsim_same_graph(y, x) != changes[i].same)
            fail_msg("'%s' for '%s': %s", changes[i].to, changes[i].from, changes[i].same ? "differs" : "is the same");
        fsim_arena_free(a);
    }
}

static void make_file(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

/* ./workloads comes before what is shipped; names leave .yaml out, and are sorted, those in folders last. */
static void workloads_are_found(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    char home[] = "/tmp/graphs-test-XXXXXX", was[4096];
    assert_non_null(getcwd(was, sizeof was));
    assert_non_null(mkdtemp(home));
    assert_int_equal(chdir(home), 0);
    static const char *const folders[] = {"workloads", "shipped", "shipped/ops", "shipped/ops/deep", "shipped/.git"};
    static const char *const files[] = {"workloads/mlp.yaml", "shipped/mlp.yaml",        "shipped/bert.yaml",
                                        "shipped/net.onnx",   "shipped/ops/add.yaml",    "shipped/ops/deep/x.yaml",
                                        "shipped/notes.txt",  "shipped/.git/index.yaml", "shipped/aa.pt2"};
    static const char *const names[] = {"aa.pt2", "bert", "mlp", "net.onnx", "ops/add"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(mkdir(folders[i], 0700), 0);
    for (int i = 0; i < 9; i++)
        make_file(files[i]);
    int count = 0;
    const char *const *found = fsim_workload_names(a, "shipped", &count);
    assert_int_equal(count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(found[i], names[i]);
    assert_string_equal(fsim_workload_find(a, "mlp", "shipped"), "workloads/mlp.yaml");
    assert_string_equal(fsim_workload_find(a, "bert", "shipped"), "shipped/bert.yaml");
    assert_string_equal(fsim_workload_find(a, "bert", NULL), "bert");
    assert_string_equal(fsim_workload_find(a, "net", "shipped"), "shipped/net.onnx");
    assert_string_equal(fsim_workload_find(a, "net.onnx", "shipped"), "shipped/net.onnx");
    assert_string_equal(fsim_workload_find(a, "aa", "shipped"), "shipped/aa.pt2");
    assert_string_equal(fsim_workload_find(a, "ops/add", "shipped"), "shipped/ops/add.yaml");
    assert_string_equal(fsim_workload_find(a, "shipped/notes.txt", "shipped"), "shipped/notes.txt");
    assert_string_equal(fsim_workload_find(a, "notes.txt", "shipped"), "notes.txt");
    assert_string_equal(fsim_workload_find(a, "-", "shipped"), "-");
    assert_null(fsim_workload_in(a, "shipped", "ops"));
    assert_string_equal(fsim_workload_in(a, ".", "shipped/mlp"), "shipped/mlp.yaml");
    assert_string_equal(fsim_workload_stem(a, "mlp.yaml"), "mlp");
    assert_string_equal(fsim_workload_stem(a, "net.onnx"), "net.onnx");
    assert_string_equal(fsim_workload_stem(a, ".yaml"), "");
    assert_string_equal(fsim_workload_nearest(a, "ert", "shipped"), "; there are: bert");
    assert_string_equal(fsim_workload_nearest(a, "MLP.yaml", "shipped"), "; there are: mlp");
    assert_string_equal(fsim_workload_nearest(a, "a", "shipped"), "; there are: aa.pt2, ops/add");
    assert_string_equal(fsim_workload_nearest(a, "qqqqqqqq", "shipped"), "; 'fusesim workloads' lists them");
    assert_string_equal(fsim_workload_nearest(a, "there/qqqqqqqq", "shipped"), "");
    assert_string_equal(fsim_workload_nearest(a, "qqqqqqqq.yaml", "shipped"), "");
    for (int i = 0; i < 9; i++)
        assert_int_equal(remove(files[i]), 0);
    for (int i = 5; i-- > 0;)
        assert_int_equal(rmdir(folders[i]), 0);
    assert_int_equal(chdir(was), 0);
    assert_int_equal(rmdir(home), 0);
    fsim_arena_free(a);
}

/* Softmax is five primitives, of which the last has its name; a view is none. */
static void primitives_are_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        int node;
        const char *said;
    } cases[] = {
        {"p", 4, ""},
        {"p/exp", 2, ""},
        {"n", 5, ""},
        {"v", -1, "'v' is a view, it is never computed: name an operator that is"},
        {"u", -1, "'u' is a view, it is never computed: name 'p', which it looks at"},
        {"x", -1, "'x' is an input of 'workload', no operator"},
        {"grad/x", -1, "'workload' has no operator 'grad/x': gradients are there with --train"},
        {"p/exq", -1, "'workload' has no operator 'p/exq'; did you mean 'p/exp'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g =
            parsed(a, d,
                   "tensors: {x: {shape: [8, 4], dtype: f32}}\noperators:\n  - {op: reshape, in: x, out: "
                   "v, shape: [4, 8]}\n  - {op: softmax, in: v, out: p, dim: 1}\n  - {op: neg, in: p, "
                   "out: n}\n  - {op: reshape, in: p, out: u, shape: [32]}\n",
                   NULL);
        assert_non_null(g);
        assert_int_equal(g->nodes, 6);
        assert_int_equal(fsim_node_named(a, d, g, cases[i].name), cases[i].node);
        assert_string_equal(said_by(d, a), cases[i].said);
        fsim_arena_free(a);
    }
}

#define CALL                                                                                                           \
    "tensors: {q: {shape: [4, 64], dtype: bf16}}\noperators: [{op: neg, in: q, out: o}]\ncalls:\n  - {kernel: "        \
    "decode_attention, operators: [o], batch: 4, heads: 8, kv_heads: 8, s: 1000, d: 64, "

static void lengths_of_requests(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = parsed(a, d, CALL "lengths: [700, 10, 1000, 300], page: 16, window: 128}\n", NULL);
    if (!g)
        fail_msg("%s", said_by(d, a));
    const fsim_serving_call *c = &g->serving[0];
    assert_int_equal(c->lengths, 4);
    static const double sorted[] = {10, 300, 700, 1000};
    for (int i = 0; i < 4; i++)
        assert_true(c->length[i] == sorted[i]);
    assert_true(c->option[FSIM_SERVING_PAGE] == 16 && c->option[FSIM_SERVING_WINDOW] == 128);
    assert_true(c->option[FSIM_SERVING_MASKED] == 0);
    /* ln(1 + (500 / 1000)^2) = 0.2231, whose root is 0.4724: the middles of four shares are 1.1503 and 0.3186
     * deviations off on either side, exp of which is 1.7219, 1.1624, 0.8603 and 0.5808; they are scaled to a mean of
     * 1000 */
    g = parsed(a, d, CALL "spread: 500}\n", NULL);
    assert_non_null(g);
    c = &g->serving[0];
    assert_int_equal(c->lengths, 4);
    static const double drawn[] = {0.5808, 0.8603, 1.1624, 1.7219};
    for (int i = 0; i < 4; i++)
        assert_true(fabs(c->length[i] - drawn[i] * 1000 / ((0.5808 + 0.8603 + 1.1624 + 1.7219) / 4)) < 0.5);
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {CALL "lengths: [1, 2, 3]}\n", "'lengths' wants a list with the cached tokens of each of 4 requests; found 3"},
        {CALL "lengths: 5}\n", "'lengths' wants a list with the cached tokens of each of 4 requests; found 1"},
        {CALL "lengths: [1, 2, 3, 1001]}\n", "'lengths' is 1001; wants 1 to 1000"},
        {CALL "lengths: [1, 2, 3, 0]}\n", "'lengths' is 0; wants 1 to 1000"},
        {CALL "masked: 2}\n", "'masked' is 2; wants 0 to 1"},
        {CALL "lengths: [1, 2, 3, 4], spread: 5}\n",
         "'lengths' has each request's tokens, 'spread' draws them: one of both"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fsim_diag *e = fsim_diag_new(a);
        assert_null(parsed(a, e, wrong[i].text, NULL));
        assert_string_equal(said_by(e, a), wrong[i].said);
    }
    fsim_arena_free(a);
}

/* Three layers of a product and exp(tanh x): what a layer has beside what the next one reads is computed again, product
 * and tanh, in each of them, in front of the gradients that read it. */
static void a_checkpoint_computes_layers_again(void **unused)
{
    (void)unused;
    static const char layers[] = "tensors: {x: {shape: [8, 8], dtype: f32}}\noperators:\n- repeat: 3\n  carry: {x: "
                                 "n}\n  tensors: {w: {shape: [8, "
                                 "8], dtype: f32, role: weight}}\n  operators:\n  - {op: linear, in: [x, w], out: l}\n "
                                 " - {op: tanh, in: l, out: "
                                 "t}\n  - {op: exp, in: t, out: n}\n";
    static const char none[] =
        "tensors: {x: {shape: [8, 8], dtype: f32}}\noperators:\n  - {op: tanh, in: x, out: t}\n  - "
        "{op: exp, in: t, out: n}\n";
    const fsim_derive held = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL},
                      dropped = {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL, .checkpoint = true};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = parsed(a, d, layers, &held), *again = parsed(a, d, layers, &dropped);
    if (!g || !again)
        fail_msg("%s", said_by(d, a));
    int products = 0, others = 0, twice = 0;
    for (int n = 0; n < again->nodes; n++) {
        const fsim_node *x = &again->node[n];
        if (!x->again)
            continue;
        assert_true(strncmp(x->name, "again/", 6) == 0 && x->results == 1);
        products += x->gemm.k > 0;
        others += x->op == FSIM_OP_TANH;
        twice += x->op == FSIM_OP_EXP;
        bool read = false; /* by what comes behind it, and nothing before */
        const fsim_tensor *t = &again->tensor[x->result[0]];
        for (int r = 0; r < t->readers; r++)
            read = read || t->reader[r] > n;
        assert_true(read);
    }
    printf("again: %d products, %d tanh, %d exp of %d more primitives\n", products, others, twice,
           again->nodes - g->nodes);
    assert_true(again->checkpoint && !g->checkpoint);
    assert_int_equal(products + others + twice, again->nodes - g->nodes);
    assert_true(products == 3 && others == 3);
    fsim_diag *e = fsim_diag_new(a);
    assert_null(parsed(a, e, none, &dropped));
    assert_string_equal(said_by(e, a),
                        "--checkpoint: no operator belongs to a layer, which is a repeat block or a numbered module");
    fsim_arena_free(a);
}

/* Digits of extents 2 to 5 that number [0, points) in another order, some of them backwards. */
static fsim_map random_order(int64_t *points)
{
    fsim_map m = {.modes = 1 + (int)draw(4)};
    int order[4] = {0, 1, 2, 3};
    *points = 1;
    for (int i = m.modes; i-- > 1;) {
        const int k = (int)draw((uint32_t)i + 1), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
    for (int i = 0; i < m.modes; i++) {
        fsim_mode *d = &m.mode[order[i]];
        *d = (fsim_mode){2 + draw(4), *points};
        *points *= d->extent;
        if (draw(4) == 0) {
            m.offset += d->stride * (d->extent - 1);
            d->stride = -d->stride;
        }
    }
    m.split = m.modes;
    return m;
}

/* The map back from elements to points; what leaves elements out, or reads one twice, has none. */
static void maps_are_inverted(void **unused)
{
    (void)unused;
    state = 3;
    for (int turn = 0; turn < 600; turn++) {
        int64_t points;
        fsim_map m = random_order(&points), back;
        assert_true(fsim_map_points(&m) == points && fsim_map_injective(&m));
        assert_true(fsim_map_invert(&m, &back) && fsim_map_points(&back) == points && back.split == back.modes);
        for (int64_t i = 0; i < points; i++)
            assert_int_equal(fsim_map_at(&back, fsim_map_at(&m, i, 0), 0), i);
        const fsim_map place = fsim_place_of(&m);
        assert_true(fsim_map_is_identity(&place) && place.split == m.split && place.modes == m.modes);
        fsim_map wrong = m;
        fsim_mode *d = &wrong.mode[draw((uint32_t)m.modes)];
        switch (draw(4)) {
        case 0:
            wrong.offset++;
            break;
        case 1: /* from the same lowest element on */
            wrong.offset += d->stride < 0 ? -d->stride * (d->extent - 1) : 0;
            d->stride *= 2;
            break;
        case 2:
            wrong.offset += d->stride < 0 ? d->stride * (d->extent - 1) : 0;
            d->stride = 0;
            break;
        default:
            wrong.offset += d->stride < 0 ? -d->stride : 0;
            d->extent++;
        }
        int64_t met = 0; /* each element up to as many as there are points */
        const int64_t all = fsim_map_points(&wrong);
        for (int64_t e = 0; e < all; e++) {
            bool read = false;
            for (int64_t i = 0; i < all && !read; i++)
                read = fsim_map_at(&wrong, i, 0) == e;
            met += read;
        }
        assert_int_equal(fsim_map_invert(&wrong, &back), met == all);
    }
}

/* Two maps over the same points, cut into digits alike: both read what they did. */
static void maps_are_aligned(void **unused)
{
    (void)unused;
    int aligned = 0;
    state = 4;
    for (int turn = 0; turn < 600; turn++) {
        static const int64_t extents[][4] = {{2, 3, 4, 5},   {6, 4, 5, 1}, {2, 12, 5, 1}, {24, 5, 1, 1},
                                             {120, 1, 1, 1}, {4, 2, 3, 5}, {8, 15, 1, 1}, {2, 60, 1, 1}};
        fsim_map m[2] = {{.offset = draw(9)}, {.offset = draw(9)}}, out[2];
        for (int k = 0; k < 2; k++) {
            const int64_t *x = extents[draw(8)];
            for (int i = 0; i < 4; i++)
                fsim_map_push(&m[k], x[i], (int64_t)draw(200) - 100);
            m[k].split = m[k].modes;
        }
        if (!fsim_map_align(&m[0], &m[1], &out[0], &out[1]))
            continue;
        aligned++;
        assert_true(out[0].modes == out[1].modes && out[0].split == out[0].modes && out[1].split == out[1].modes);
        for (int i = 0; i < out[0].modes; i++)
            assert_int_equal(out[0].mode[i].extent, out[1].mode[i].extent);
        for (int64_t i = 0; i < 120; i++)
            for (int k = 0; k < 2; k++)
                assert_int_equal(fsim_map_at(&out[k], i, 0), fsim_map_at(&m[k], i, 0));
    }
    printf("%d of 600 pairs are aligned\n", aligned);
    assert_true(aligned > 300 && aligned < 590);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_workloads), cmocka_unit_test(the_same_graph_is_told),
        cmocka_unit_test(workloads_are_found),    cmocka_unit_test(primitives_are_named),
        cmocka_unit_test(lengths_of_requests),    cmocka_unit_test(maps_are_inverted),
        cmocka_unit_test(maps_are_aligned),       cmocka_unit_test(a_checkpoint_computes_layers_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

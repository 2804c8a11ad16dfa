/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 2
 * torch.export archives made here: their layouts, dimensions, operators that work in place, and what is wrong with
 * damaged, bloated and contradictory ones. */
#include "import/load.h"
#include "import/torch/archive.h"
#include "import/torch/program.h"
#include "import/torch/sizes.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "torch_archive.h"

/* Programs. */

#define SYMBOL(s)  "Symbol('" s "', positive=True, integer=True)"
#define SIZE(n)    "{\"as_int\": " #n "}"
#define EXPR(text) "{\"as_expr\": {\"expr_str\": \"" text "\", \"hint\": {\"as_int\": 7}}}"
#define TENSOR(name, type, sizes)                                                                                      \
    "\"" name "\": {\"dtype\": " #type ", \"sizes\": [" sizes "], \"strides\": [], \"layout\": 7}"
#define T(name)        "{\"as_tensor\": {\"name\": \"" name "\"}}"
#define ARG(name, arg) "{\"name\": \"" name "\", \"arg\": " arg ", \"kind\": 1}"
#define NODE(target, ins, out)                                                                                         \
    "{\"target\": \"torch.ops." target "\", \"inputs\": [" ins "], \"outputs\": [" out "], \"metadata\": "             \
    "{\"nn_module_stack\": \"L__self__,,m.M;L__self__a,block.a,m.A\"}}"
#define PARAMETER(name) "{\"parameter\": {\"arg\": {\"name\": \"" name "\"}, \"parameter_name\": \"" name ".w\"}}"
#define BUFFER(name)    "{\"buffer\": {\"arg\": {\"name\": \"" name "\"}, \"buffer_name\": \"" name "\"}}"
#define USER(name)      "{\"user_input\": {\"arg\": " T(name) "}}"
#define RESULT(name)    "{\"user_output\": {\"arg\": " T(name) "}}"

/* inputs: names as_tensor; specs of them; tensors; nodes; results. */
#define PROGRAM(inputs, specs, tensors, nodes, outputs, results)                                                       \
    "{\"graph_module\": {\"graph\": {\"inputs\": [" inputs "], \"outputs\": [" outputs "], \"nodes\": [" nodes         \
    "], \"tensor_values\": {" tensors "}, \"sym_int_values\": {}, \"sym_bool_values\": {}}, \"signature\": "           \
    "{\"input_specs\": [" specs "], \"output_specs\": [" results                                                       \
    "]}}, \"schema_version\": {\"major\": 8, \"minor\": 20}, \"range_constraints\": {\"s1\": {\"min_val\": 2, "        \
    "\"max_val\": 64}, \"s2\": {\"min_val\": 1, \"max_val\": null}}, \"torch_version\": \"2.15.0\"}"

/* relu(linear(x, w)), x[s1, 2 s2 - 1] */
#define INNER EXPR("Add(Mul(Integer(2), " SYMBOL("s2") "), Integer(-1))")
#define LAYER(nodes)                                                                                                   \
    PROGRAM(T("w") ", " T("x"), PARAMETER("w") ", " USER("x"),                                                         \
            TENSOR("w", 7, SIZE(8) ", " INNER) ", " TENSOR("x", 7, EXPR(SYMBOL("s1")) ", " INNER) ", " TENSOR(         \
                "y", 7, EXPR(SYMBOL("s1")) ", " SIZE(8)) ", " TENSOR("z", 7, EXPR(SYMBOL("s1")) ", " SIZE(8)),         \
            nodes, T("z"), RESULT("z"))
#define LINEAR NODE("aten.linear.default", ARG("input", T("x")) ", " ARG("weight", T("w")), T("y"))
#define RELU   NODE("aten.relu.default", ARG("self", T("y")), T("z"))
static const char layer[] = LAYER(LINEAR ", " RELU);

/* A program is refused with one line that says so. */
static void assert_refused(const char *json, const char *dims, const char *part)
{
    const outcome o = load_program(json, dims);
    if (o.g || o.status != FSIM_BAD_INPUT || !strstr(o.said, part))
        fail_msg("wanted '%s', got %s: %s", part, o.g ? "a graph" : "no graph", o.said);
    fsim_arena_free(o.a);
}

static void layouts(void **unused)
{
    (void)unused;
    const entry of[][2] = {{{"m/archive_format", "pt2"}, {"m/models/model.json", layer}},
                           {{"version", "8.20"}, {"serialized_exported_program.json", layer}},
                           {{"archive/models/other.json", layer}, {"archive/data/weights/weight_0", "bytes"}}};
    for (int i = 0; i < 6; i++) {
        archive made = zipped(2, of[i % 3], i >= 3);
        const outcome o = load(made, "s1=4 s2=3");
        if (!o.g || *o.said)
            fail_msg("%d: %s", i, o.said);
        assert_int_equal(o.g->parameters, 40);
        assert_true(o.g->contraction_flops == 2.0 * 4 * 8 * 5);
        assert_string_equal(o.g->source[0].layer, "block.a");
        assert_string_equal(o.g->source[0].from, "aten.linear.default");
        free(made.text);
        fsim_arena_free(o.a);
    }
}

static void other_zips_are_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *part;
    } rows[] = {{"m/data/aotinductor/model/x.so", "AOTInductor"},
                {"m/code/__torch__/a.py", "TorchScript"},
                {"m/data.pkl", "checkpoint"},
                {"model.safetensors", "safetensors"},
                {"readme.txt", "without a program"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        archive made = zipped(1, &(entry){rows[i].name, "x"}, false);
        const outcome o = load(made, "");
        assert_null(o.g);
        assert_int_equal(o.status, FSIM_BAD_INPUT);
        if (!strstr(o.said, rows[i].part))
            fail_msg("%s: %s", rows[i].name, o.said);
        free(made.text);
        fsim_arena_free(o.a);
    }
    archive two = zipped(2, (entry[]){{"m/models/a.json", layer}, {"m/models/b.json", layer}}, false);
    const outcome o = load(two, "");
    assert_non_null(strstr(o.said, "2 programs"));
    free(two.text);
    fsim_arena_free(o.a);
}

static void dimensions(void **unused)
{
    (void)unused;
    static const struct {
        const char *dims;
        int64_t rows, inner; /* 0: refused */
        const char *part;
    } rows[] = {
        {"s1=4 s2=3", 4, 5, ""},
        {"x:0=4 s2=3", 4, 5, ""},
        {"s1=4 x:1=5", 4, 5, ""},
        {"s1=4 x:0=4 s2=3 x:1=5", 4, 5, ""},
        {"s1=4 x:1=6", 0, 0, "s2"},
        {"s1=65 s2=3", 0, 0, "64"},
        {"s1=4 x:0=5 s2=3", 0, 0, "--dim s1=4"},
        {"x:0=5 s1=4 s2=3", 0, 0, "--dim x:0=5"},
        {"s1=4 s2=9 s2=3", 4, 5, ""},
        {"s1=4 s2=3 s3=1", 0, 0, "s3"},
        {"s1=four s2=3", 0, 0, "four"},
        {"s1=4", 0, 0, "s2"},
        {"", 0, 0, "--dim s1="},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const outcome o = load_program(layer, rows[i].dims);
        if ((o.g != NULL) != (rows[i].rows > 0) || !strstr(o.said, rows[i].part))
            fail_msg("%s: %s", rows[i].dims, o.said);
        if (o.g) {
            const fsim_tensor *x = tensor_of(&o, "x");
            assert_int_equal(x->shape.dim[0], rows[i].rows);
            assert_int_equal(x->shape.dim[1], rows[i].inner);
        }
        fsim_arena_free(o.a);
    }
}

static bool s_is_six(void *what, const char *name, int length, int64_t *value)
{
    (void)what;
    *value = 6;
    return length == 1 && *name == 's';
}

static void sizes(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } rows[] = {
        {"Integer(3)", 3},
        {"17", 17},
        {SYMBOL("s"), 6},
        {"Add(Mul(Integer(2), " SYMBOL("s") "), Integer(-1))", 11},
        {"Pow(Symbol('s'), Integer(2))", 36},
        {"Mul(Rational(1, 2), Symbol('s'))", 3},
        {"Min(Integer(4), Symbol('s'), 9)", 4},
        {"Max(Integer(4), Symbol('s'))", 6},
        {"FloorDiv(Add(Symbol('s'), Integer(-13)), Integer(2))", -1},
        {"Add(Integer(10), FloorDiv(Add(Symbol('s'), Integer(-13)), Integer(2)))", 6},
        {"CeilDiv(Symbol('s'), Integer(4))", 2},
        {"Mod(Symbol('s'), Integer(4))", 2},
        {"PythonMod(Integer(-1), Integer(4))", 3},
        {"ModularIndexing(Symbol('s'), Integer(2), Integer(2))", 1},
        {"Piecewise(ExprCondPair(Integer(1), StrictLessThan(Symbol('s'), Integer(5))), ExprCondPair(Integer(2), true))",
         2},
        {"TruncToInt(IntTrueDiv(Symbol('s'), Integer(4)))", 1},
        {"ceiling(Mul(Rational(1, 4), Symbol('s')))", 2},
        {"Mul(Pow(Integer(2), Integer(-1)), Symbol('s'))", 3},
        {"Rational(1, 4)", -1},
        {"Mul(Integer(9223372036854775807), Symbol('s'))", -1},
        {"Integer(9223372036854775808)", -1},
        {"FloorDiv(Symbol('s'), Integer(0))", -1},
        {"Symbol('t')", -1},
        {"Symbol('s", -1},
        {"Add(", -1},
        {"Add(Integer(1)", -1},
        {"Add(Integer(1)) 2", -1},
        {"System(Integer(1))", -1},
        {"", -1},
    };
    const fsim_torch_symbols of = {s_is_six, NULL};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        const char *why = NULL;
        const bool good = fsim_torch_size(rows[i].text, &of, &value, &why);
        if (i == 8) { /* -7 / 2 is -4 */
            assert_true(good && value == -4);
        } else if (good != (rows[i].value >= 0) || (good && value != rows[i].value) || good == (why != NULL)) {
            fail_msg("%s: %lld %s", rows[i].text, (long long)value, why ? why : "");
        }
    }
    char deep[4096] = "";
    for (int i = 0; i < 100; i++)
        strcat(deep, "Add(");
    int64_t value;
    const char *why;
    assert_false(fsim_torch_size(deep, &of, &value, &why));
    assert_non_null(strstr(why, "too deep"));
}

/* What contradicts itself. */
static void contradictions(void **unused)
{
    (void)unused;
    const char *both = "s1=4 s2=3";
    assert_refused("[1, 2", both, "no JSON");
    assert_refused("[]", both, "JSON, but no object");
    assert_refused("{}", both, "graph_module");
    assert_refused("{\"graph_module\": {\"graph\": 3}}", both, "graph");
    assert_refused("{\"schema_version\": {\"major\": 9, \"minor\": 1}, \"torch_version\": \"3.1\"}", both, "9.1");
    assert_refused(LAYER(RELU ", " LINEAR), both, "reads 'y', which nothing before it makes");
    assert_refused(LAYER(NODE("aten.relu.default", ARG("self", T("z")), T("z"))), both, "reads 'z'");
    assert_refused(LAYER(LINEAR ", " LINEAR), both, "a second time");
    assert_refused(LAYER(NODE("aten.relu.default", ARG("self", T("nobody")), T("z"))), both, "'nobody'");
    assert_refused(LAYER(LINEAR), both, "reads 'z'");
    assert_refused(LAYER("3"), both, "target");
    assert_refused(PROGRAM(T("x"), USER("x"), TENSOR("x", 7, SIZE(-3)), "", T("x"), RESULT("x")), "", "-3");
    assert_refused(PROGRAM(T("x"), USER("x"), TENSOR("x", 7, SIZE(4000000000000)), "", T("x"), RESULT("x")), "",
                   "too large");
    assert_refused(PROGRAM(T("x"), USER("x"), TENSOR("x", 77, SIZE(3)), "", T("x"), RESULT("x")), "", "77");
    assert_refused(PROGRAM(T("x"), USER("x"),
                           TENSOR("x", 7, "{\"as_expr\": {\"expr_str\": \"Exec(Integer(3))\", \"hint\": null}}"), "",
                           T("x"), RESULT("x")),
                   "", "Exec");
    assert_refused(PROGRAM(T("x"), USER("x"),
                           TENSOR("x", 7,
                                  SIZE(1) ", " SIZE(1) ", " SIZE(1) ", " SIZE(1) ", " SIZE(1) ", " SIZE(1) ", " SIZE(
                                      1) ", " SIZE(1) ", " SIZE(1)),
                           "", T("x"), RESULT("x")),
                   "", "9 dimensions");
}

static void deep_json(void **unused)
{
    (void)unused;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 1);
    memset(text, '[', DEPTH);
    text[DEPTH] = 0;
    assert_refused(text, "", "no JSON");
    free(text);
}

static void many_values(void **unused)
{
    (void)unused;
    const size_t count = (size_t)FSIM_TORCH_MAX_VALUES + 2;
    char *text = malloc(count + 1);
    memset(text, ',', count);
    text[count] = 0;
    assert_refused(text, "", "values");
    free(text);
}

/* Writes a number of 4 bytes into the central directory's first entry, `at` bytes behind its signature. */
static void patch(archive x, const char *signature, size_t at, uint32_t value)
{
    for (size_t i = 0; i + at + 4 <= x.bytes; i++)
        if (memcmp(x.text + i, signature, 4) == 0) {
            for (int k = 0; k < 4; k++)
                x.text[i + at + (size_t)k] = (char)(value >> 8 * k);
            return;
        }
    fail_msg("no such record");
}

static void assert_damaged(archive x, const char *part)
{
    const outcome o = load(x, "s1=4 s2=3");
    if (o.g || o.status != FSIM_BAD_INPUT || !strstr(o.said, part))
        fail_msg("wanted '%s': %s", part, o.said);
    fsim_arena_free(o.a);
}

static void bombs(void **unused)
{
    (void)unused;
    const entry one = {"m/models/model.json", layer};
    archive huge = zipped(1, &one, true);
    patch(huge, "PK\1\2", 24, 0x7fffffff); /* its length when unpacked */
    assert_damaged(huge, "at most");
    free(huge.text);
    archive longer = zipped(1, &one, true);
    patch(longer, "PK\1\2", 24, 100000);
    assert_damaged(longer, "damaged");
    free(longer.text);
    archive many = zipped(1, &one, false);
    patch(many, "PK\5\6", 8, 0xfffefffe); /* entries on this disk, and of all */
    assert_damaged(many, "cannot be read");
    free(many.text);
}

/* Cut anywhere, and with any bit turned: a graph, or one message that says why not. */
static void damage(void **unused)
{
    (void)unused;
    archive whole = of_program(layer);
    for (size_t n = 4; n < whole.bytes; n += n < 64 || n + 64 > whole.bytes ? 1 : 17) {
        const outcome o = load((archive){whole.text, n}, "s1=4 s2=3");
        assert_null(o.g);
        assert_int_equal(o.status, FSIM_BAD_INPUT);
        fsim_arena_free(o.a);
    }
    for (size_t bit = 0; bit < 8 * whole.bytes; bit += 7) {
        whole.text[bit / 8] ^= (char)(1 << bit % 8);
        const outcome o = load(whole, "s1=4 s2=3");
        if (!o.g && (!*o.said || o.status == FSIM_OK))
            fail_msg("bit %zu: nothing is said", bit);
        whole.text[bit / 8] ^= (char)(1 << bit % 8);
        fsim_arena_free(o.a);
    }
    free(whole.text);
}

/* The program's text with any byte another, zipped anew so that its sum is right. */
static void damaged_programs(void **unused)
{
    (void)unused;
    char text[sizeof layer];
    static const char instead[] = "0{}[],:\"-x";
    for (size_t at = 0; at + 1 < sizeof layer; at++) {
        memcpy(text, layer, sizeof layer);
        text[at] = instead[at % (sizeof instead - 1)];
        const outcome o = load_program(text, "s1=4 s2=3");
        if (!o.g && !*o.said)
            fail_msg("byte %zu: nothing is said", at);
        fsim_arena_free(o.a);
    }
}

/* What works in place. */

#define STATE(nodes, result)                                                                                           \
    PROGRAM(                                                                                                           \
        T("cache") ", " T("rows") ", " T("at"), BUFFER("cache") ", " USER("rows") ", " USER("at"),                     \
        TENSOR("cache", 7, SIZE(64) ", " SIZE(8)) ", " TENSOR("rows", 7, SIZE(2) ", " SIZE(8)) ", " TENSOR(            \
            "at", 5,                                                                                                   \
            SIZE(2)) ", " TENSOR("new", 7,                                                                             \
                                 SIZE(64) ", " SIZE(                                                                   \
                                     8)) ", " TENSOR("part", 7,                                                        \
                                                     SIZE(2) ", " SIZE(                                                \
                                                         8)) ", " TENSOR("part_1", 7,                                  \
                                                                         SIZE(2) ", " SIZE(                            \
                                                                             8)) ", " TENSOR("y", 7,                   \
                                                                                             SIZE(64) ", " SIZE(8)),   \
        nodes, T(result), RESULT(result))
#define COPY_ROWS(target, out)                                                                                         \
    NODE(target,                                                                                                       \
         ARG("self", T("cache")) ", " ARG("dim", SIZE(0)) ", " ARG("index", T("at")) ", " ARG("source", T("rows")),    \
         T(out))
#define EXP(of, out) NODE("aten.exp.default", ARG("self", T(of)), T(out))

static void writes_in_place(void **unused)
{
    (void)unused;
    outcome o = loaded(STATE(COPY_ROWS("aten.index_copy_.default", "new") ", " EXP("cache", "y"), "y"), "");
    const fsim_tensor *written = tensor_of(&o, "new");
    assert_true(written->over >= 0 && written->output);
    assert_string_equal(o.g->tensor[written->over].name, "cache");
    assert_false(o.g->tensor[written->over].buffer);
    assert_int_equal(written->written_bytes, 2 * 8 * 4);
    assert_int_equal(o.g->node[tensor_of(&o, "y")->producer].arg[0].tensor, (int)(written - o.g->tensor));
    fsim_arena_free(o.a);
    /* what was read before is not overwritten: it may be read again */
    o = loaded(STATE(EXP("cache", "y") ", " COPY_ROWS("aten.index_copy_.default", "new"), "y"), "");
    assert_true(tensor_of(&o, "new")->over < 0);
    fsim_arena_free(o.a);
    /* the same operator without the underscore leaves its argument alone */
    o = loaded(STATE(COPY_ROWS("aten.index_copy.default", "new") ", " EXP("cache", "y"), "y"), "");
    assert_string_equal(o.g->tensor[o.g->node[tensor_of(&o, "y")->producer].arg[0].tensor].name, "cache");
    fsim_arena_free(o.a);
}

static bool has_operator(const outcome *o, fsim_op op)
{
    bool has = false;
    for (int i = 0; i < o->g->sources; i++)
        has = has || o->g->source[i].op == op;
    return has;
}

/* x * sigmoid(x) is SiLU where the exporter decomposed the program; where it did not, the model itself is so. */
static void decomposed_operators(void **unused)
{
    (void)unused;
#define GATE(out)                                                                                                      \
    NODE("aten.sigmoid.default", ARG("self", T("cache")), T("new"))                                                    \
    ", " NODE("aten.mul.Tensor", ARG("self", T("cache")) ", " ARG("other", T("new")), T(out))
    outcome o = loaded(STATE(GATE("y"), "y"), "");
    assert_true(has_operator(&o, FSIM_OP_SILU) && !has_operator(&o, FSIM_OP_SIGMOID));
    fsim_arena_free(o.a);
    o = loaded(STATE(GATE("y") ", " NODE("aten.silu.default", ARG("self", T("rows")), T("part")), "y"), "");
    assert_true(!has_operator(&o, FSIM_OP_SILU) && has_operator(&o, FSIM_OP_SIGMOID));
    fsim_arena_free(o.a);
}

/* cache[3:5].copy_(rows): what reads the cache later sees it. */
static void writes_through_views(void **unused)
{
    (void)unused;
#define SLICE                                                                                                          \
    NODE("aten.slice.Tensor",                                                                                          \
         ARG("self", T("cache")) ", " ARG("dim", SIZE(0)) ", " ARG("start", SIZE(3)) ", " ARG("end", SIZE(5)),         \
         T("part"))
    const outcome o =
        loaded(STATE(SLICE ", " NODE("aten.copy_.default", ARG("self", T("part")) ", " ARG("src", T("rows")),
                                     T("part_1")) ", " EXP("cache", "y"),
                     "y"),
               "");
    const int read = o.g->node[tensor_of(&o, "y")->producer].arg[0].tensor;
    assert_true(o.g->tensor[read].over >= 0);
    assert_int_equal(o.g->tensor[read].written_bytes, 2 * 8 * 4);
    fsim_arena_free(o.a);
}

/* Rows. */

static void unknown_operators_cost_a_copy(void **unused)
{
    (void)unused;
    const outcome o =
        load_program(LAYER(LINEAR ", " NODE("mine.twist.default", ARG("it", T("y")), T("z"))), "s1=4 s2=3");
    assert_non_null(o.g);
    assert_non_null(strstr(o.said, "mine.twist.default"));
    assert_int_equal(tensor_of(&o, "z")->shape.dim[1], 8);
    fsim_arena_free(o.a);
}

/* A layer is one product, as it was exported and in core ATen: addmm of a turned weight. */
static void layers_of_core_aten(void **unused)
{
    (void)unused;
#define BIASED(nodes)                                                                                                  \
    PROGRAM(                                                                                                           \
        T("w") ", " T("b") ", " T("x"), PARAMETER("w") ", " PARAMETER("b") ", " USER("x"),                             \
        TENSOR("w", 7, SIZE(8) ", " SIZE(5)) ", " TENSOR("b", 7, SIZE(8)) ", " TENSOR(                                 \
            "x", 7, SIZE(4) ", " SIZE(5)) ", " TENSOR("t", 7, SIZE(5) ", " SIZE(8)) ", " TENSOR("z", 7,                \
                                                                                                SIZE(4) ", " SIZE(8)), \
        nodes, T("z"), RESULT("z"))
    const outcome plain =
        loaded(BIASED(NODE("aten.linear.default",
                           ARG("input", T("x")) ", " ARG("weight", T("w")) ", " ARG("bias", T("b")), T("z"))),
               "");
    const outcome core = loaded(
        BIASED(NODE("aten.permute.default", ARG("self", T("w")) ", " ARG("dims", "{\"as_ints\": [1, 0]}"),
                    T("t")) ", " NODE("aten.addmm.default",
                                      ARG("self", T("b")) ", " ARG("mat1", T("x")) ", " ARG("mat2", T("t")), T("z"))),
        "");
    assert_int_equal(core.g->nodes, plain.g->nodes);
    for (int i = 0; i < plain.g->nodes; i++)
        assert_int_equal(core.g->node[i].op, plain.g->node[i].op);
    assert_true(core.g->node[0].gemm.transposed_b);
    fsim_arena_free(plain.a);
    fsim_arena_free(core.a);
}

/* Codes of 8 bits, by a number and by tensors; running statistics of a batch norm are results of it. */
#define FLOAT(n)   "{\"as_float\": " #n "}"
#define INTEGER(n) "{\"as_int\": " #n "}"
#define CODES      ARG("quant_min", INTEGER(-128)) ", " ARG("quant_max", INTEGER(127)) ", " ARG("dtype", INTEGER(2))
static void codes_are_read_as_they_are(void **unused)
{
    (void)unused;
    const outcome o = load_program(
        PROGRAM(
            T("s") ", " T("z") ", " T("x"), BUFFER("s") ", " BUFFER("z") ", " USER("x"),
            TENSOR("s", 7, SIZE(8)) ", " TENSOR("z", 5, SIZE(8)) ", " TENSOR("x", 7, SIZE(4) ", " SIZE(8)) ", " TENSOR(
                "q", 2, SIZE(4) ", " SIZE(8)) ", " TENSOR("d", 7,
                                                          SIZE(4) ", " SIZE(8)) ", " TENSOR("y", 2,
                                                                                            SIZE(4) ", " SIZE(8)),
            NODE("quantized_decomposed.quantize_per_tensor.default",
                 ARG("input", T("x")) ", " ARG("scale", FLOAT(0.5)) ", " ARG("zero_point", INTEGER(3)) ", " CODES,
                 T("q")) ", " NODE("quantized_decomposed.dequantize_per_tensor.default",
                                   ARG("input", T("q")) ", " ARG("scale", FLOAT(0.5)) ", " ARG("zero_point",
                                                                                               INTEGER(3)) ", " CODES,
                                   T("d")) ", " NODE("quantized_decomposed.quantize_per_channel.default",
                                                     ARG("input", T("d")) ", " ARG("scales", T("s")) ", " ARG(
                                                         "zero_points", T("z")) ", " ARG("axis", INTEGER(1)) ", " CODES,
                                                     T("y")),
            T("y"), RESULT("y")),
        "");
    assert_non_null(o.g);
    assert_string_equal(o.said, "");
    assert_true(tensor_of(&o, "s")->buffer && !tensor_of(&o, "x")->buffer);
    assert_int_equal(o.g->parameters, 0);
    assert_int_equal(tensor_of(&o, "q")->dtype, FSIM_I8);
    assert_int_equal(tensor_of(&o, "d")->dtype, FSIM_F32);
    assert_int_equal(tensor_of(&o, "y")->dtype, FSIM_I8);
    int rounds = 0, products = 0;
    for (int i = 0; i < o.g->nodes; i++) {
        rounds += o.g->node[i].op == FSIM_OP_ROUND;
        products += o.g->node[i].op == FSIM_OP_MUL && o.g->node[i].attrs.scalar == 0.5;
    }
    assert_int_equal(rounds, 2);
    assert_int_equal(products, 1);
    fsim_arena_free(o.a);
}

static void running_statistics_are_results(void **unused)
{
    (void)unused;
    const outcome o = load_program(
        PROGRAM(
            T("w") ", " T("m") ", " T("x"), PARAMETER("w") ", " BUFFER("m") ", " USER("x"),
            TENSOR("w", 7, SIZE(8)) ", " TENSOR("m", 7, SIZE(8)) ", " TENSOR("x", 7, SIZE(4) ", " SIZE(8)) ", " TENSOR(
                "y", 7,
                SIZE(4) ", " SIZE(
                    8)) ", " TENSOR("a", 7, SIZE(8)) ", " TENSOR("b", 7,
                                                                 SIZE(8)) ", " TENSOR("mean", 7,
                                                                                      SIZE(8)) ", " TENSOR("var", 7,
                                                                                                           SIZE(8)),
            NODE(
                "aten._native_batch_norm_legit_functional.default",
                ARG("input", T("x")) ", " ARG("weight", T("w")) ", " ARG("bias", T("w")) ", " ARG(
                    "running_mean",
                    T("m")) ", " ARG("running_var",
                                     T("m")) ", " ARG("training",
                                                      "{\"as_bool\": true}") ", " ARG("momentum",
                                                                                      FLOAT(0.25)) ", " ARG("eps",
                                                                                                            FLOAT(
                                                                                                                0.001)),
                T("y") ", " T("a") ", " T("b") ", " T("mean") ", " T("var")),
            T("y") ", " T("mean") ", " T("var"), RESULT("y") ", " RESULT("mean") ", " RESULT("var")),
        "");
    assert_non_null(o.g);
    assert_string_equal(o.said, "");
    assert_int_equal(o.g->sources, 1);
    assert_true(tensor_of(&o, "mean")->output && tensor_of(&o, "var")->output);
    const fsim_node *mean = &o.g->node[tensor_of(&o, "mean")->producer];
    const fsim_node *old = &o.g->node[o.g->tensor[mean->arg[0].tensor].producer];
    assert_true(old->op == FSIM_OP_MUL && old->attrs.scalar == 0.75);
    fsim_arena_free(o.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(other_zips_are_named),
        cmocka_unit_test(dimensions),
        cmocka_unit_test(sizes),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(deep_json),
        cmocka_unit_test(many_values),
        cmocka_unit_test(bombs),
        cmocka_unit_test(damage),
        cmocka_unit_test(damaged_programs),
        cmocka_unit_test(writes_in_place),
        cmocka_unit_test(decomposed_operators),
        cmocka_unit_test(writes_through_views),
        cmocka_unit_test(unknown_operators_cost_a_copy),
        cmocka_unit_test(layers_of_core_aten),
        cmocka_unit_test(codes_are_read_as_they_are),
        cmocka_unit_test(running_statistics_are_results),
    };
    return cmocka_run_group_tests_name("torch", tests, NULL, NULL);
}

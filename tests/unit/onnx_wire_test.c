/* SPDX-License-Identifier: Apache-2.0 */
/* depends: compiler memory cost: 3
 * The reader of ONNX files: what it makes of a file, and that no file harms it. */
#include "import/load.h"
#include "import/onnx/proto.h"
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

#include "printed.h"
#include "protobuf.h"

static const fsim_onnx_model *read_bytes(fsim_arena *a, const void *bytes, size_t count, const char **out)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_onnx_model *m = fsim_onnx_read(a, d, &(fsim_import_source){"m.onnx", bytes, count});
    assert_int_equal(fsim_errors(d), m ? 0 : 1);
    *out = printed(a, d);
    return m;
}

static const fsim_onnx_model *read_good(fsim_arena *a, const pb *file)
{
    const char *out;
    const fsim_onnx_model *m = read_bytes(a, file->at, file->bytes, &out);
    assert_string_equal(out, "");
    assert_non_null(m);
    return m;
}

/* A model around a graph. */
static pb model_of(fsim_arena *a, const pb *graph)
{
    pb m = {.a = a};
    pb_int(&m, 1, 10);
    if (graph)
        pb_message(&m, 7, graph);
    return m;
}

/* A model whose graph has one node, with this attribute. */
static pb model_with(fsim_arena *a, const pb *attribute)
{
    pb node = {.a = a}, graph = {.a = a};
    pb_text(&node, 4, "Op");
    pb_message(&node, 5, attribute);
    pb_message(&graph, 1, &node);
    return model_of(a, &graph);
}

static pb dimension(fsim_arena *a, int64_t number, const char *name)
{
    pb d = {.a = a};
    if (name)
        pb_text(&d, 2, name);
    else if (number >= 0)
        pb_int(&d, 1, number);
    return d;
}

/* x: float [batch, 3, ?] */
static pb value_x(fsim_arena *a)
{
    const pb dim[] = {dimension(a, 0, "batch"), dimension(a, 3, NULL), dimension(a, -1, NULL)};
    pb shape = {.a = a}, tensor = {.a = a}, type = {.a = a}, value = {.a = a};
    for (int i = 0; i < 3; i++)
        pb_message(&shape, 1, &dim[i]);
    pb_int(&tensor, 1, FSIM_ONNX_FLOAT);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, "x");
    pb_message(&value, 2, &type);
    return value;
}

/* w: int64 [2], in raw_data */
static pb tensor_w(fsim_arena *a)
{
    pb w = {.a = a};
    pb_int(&w, 1, 2);
    pb_int(&w, 2, FSIM_ONNX_INT64);
    pb_text(&w, 8, "w");
    pb_bytes(&w, 9, (int64_t[]){-7, 1LL << 40}, 16);
    return w;
}

/* name = i, of the type INT */
static pb attribute_int(fsim_arena *a, const char *name, int64_t i)
{
    pb x = {.a = a};
    pb_text(&x, 1, name);
    pb_int(&x, 3, i);
    pb_int(&x, 20, FSIM_ONNX_ATTR_INT);
    return x;
}

static pb node_conv(fsim_arena *a)
{
    pb node = {.a = a}, kernel = {.a = a}, pads = {.a = a}, pair = {.a = a};
    pb_text(&node, 1, "x");
    pb_text(&node, 1, "w");
    pb_text(&node, 1, "");
    pb_text(&node, 2, "y");
    pb_text(&node, 3, "conv1");
    pb_text(&node, 4, "Conv");
    const pb group = attribute_int(a, "group", 2);
    pb_message(&node, 5, &group);
    pb_text(&kernel, 1, "kernel_shape");
    pb_bytes(&kernel, 8, "\x03\x03", 2); /* packed */
    pb_int(&kernel, 20, FSIM_ONNX_ATTR_INTS);
    pb_message(&node, 5, &kernel);
    pb_text(&pads, 1, "pads");
    pb_int(&pads, 8, -1);
    pb_bytes(&pads, 8, "\x01\x80\x01", 3);
    pb_int(&pads, 8, 2);
    pb_int(&pads, 20, FSIM_ONNX_ATTR_INTS);
    pb_message(&node, 5, &pads);
    pb_text(&pair, 1, "namespace");
    pb_text(&pair, 2, "layer.0/conv");
    pb_message(&node, 9, &pair);
    return node;
}

/* A model with something of everything. */
static pb whole_model(fsim_arena *a)
{
    pb graph = {.a = a}, opset = {.a = a}, function = {.a = a}, pair = {.a = a};
    const pb node = node_conv(a), x = value_x(a), w = tensor_w(a), alpha = attribute_int(a, "alpha", 3);
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "main");
    pb_message(&graph, 5, &w);
    pb_message(&graph, 11, &x);
    pb_message(&graph, 12, &x);
    pb_message(&graph, 13, &x);
    pb model = model_of(a, &graph);
    pb_text(&model, 2, "pytorch");
    pb_text(&opset, 1, "com.microsoft");
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_text(&pair, 1, "k");
    pb_text(&pair, 2, "v");
    pb_message(&model, 14, &pair);
    pb_text(&function, 1, "Block");
    pb_text(&function, 4, "x");
    pb_text(&function, 5, "y");
    pb_text(&function, 6, "beta");
    pb_message(&function, 7, &node);
    pb_text(&function, 10, "mine");
    pb_message(&function, 11, &alpha);
    pb_message(&model, 25, &function);
    pb_int(&model, 500, 1); /* unknown: skipped */
    return model;
}

static void a_model_becomes_structs(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const pb file = whole_model(a);
    const fsim_onnx_model *m = read_good(a, &file);
    assert_int_equal(m->ir_version, 10);
    assert_string_equal(m->producer, "pytorch");
    assert_string_equal(m->producer_version, "");
    assert_int_equal(m->opsets, 1);
    assert_string_equal(m->opset[0].domain, "com.microsoft");
    assert_int_equal(m->opset[0].version, 17);
    assert_string_equal(m->metadata[0].value, "v");
    const fsim_onnx_function *f = &m->function[0];
    assert_int_equal(m->functions, 1);
    assert_string_equal(f->name, "Block");
    assert_string_equal(f->domain, "mine");
    assert_string_equal(f->in[0], "x");
    assert_string_equal(f->out[0], "y");
    assert_string_equal(f->parameter[0], "beta");
    assert_string_equal(f->node[0].op, "Conv");
    assert_string_equal(f->with[0].name, "alpha");
    assert_int_equal(f->with[0].i, 3);
    const fsim_onnx_graph *g = m->graph;
    assert_string_equal(g->name, "main");
    assert_int_equal(g->nodes, 1);
    assert_int_equal(g->initializers, 1);
    assert_int_equal(g->ins, 1);
    assert_int_equal(g->outs, 1);
    assert_int_equal(g->values, 1);
    assert_int_equal(g->sparses, 0);
    fsim_arena_free(a);
}

static void nodes_and_their_attributes(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const pb file = whole_model(a);
    const fsim_onnx_graph *g = read_good(a, &file)->graph;
    const fsim_onnx_node *n = &g->node[0];
    assert_string_equal(n->name, "conv1");
    assert_string_equal(n->domain, "");
    assert_int_equal(n->ins, 3);
    assert_string_equal(n->in[2], "");
    assert_int_equal(n->outs, 1);
    assert_string_equal(n->metadata[0].value, "layer.0/conv");
    assert_int_equal(n->attributes, 3);
    assert_int_equal(fsim_onnx_find(n, "group")->i, 2);
    assert_null(fsim_onnx_find(n, "dilations"));
    const fsim_onnx_attribute *pads = fsim_onnx_find(n, "pads");
    assert_int_equal(pads->type, FSIM_ONNX_ATTR_INTS);
    assert_int_equal(pads->int_count, 4);
    assert_memory_equal(pads->ints, ((int64_t[]){-1, 1, 128, 2}), 32);
    assert_int_equal(fsim_onnx_find(n, "kernel_shape")->int_count, 2);
    assert_ptr_equal(n->in[0], g->in[0].name); /* one string */
    fsim_arena_free(a);
}

static void values_have_types(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const pb file = whole_model(a);
    const fsim_onnx_type *t = read_good(a, &file)->graph->in[0].type;
    assert_int_equal(t->kind, FSIM_ONNX_TENSOR);
    assert_int_equal(t->element, FSIM_ONNX_FLOAT);
    assert_true(t->known);
    assert_int_equal(t->dims, 3);
    assert_int_equal(t->dim[0].kind, FSIM_ONNX_DIM_NAME);
    assert_string_equal(t->dim[0].name, "batch");
    assert_int_equal(t->dim[1].kind, FSIM_ONNX_DIM_NUMBER);
    assert_int_equal(t->dim[1].number, 3);
    assert_int_equal(t->dim[2].kind, FSIM_ONNX_DIM_UNKNOWN);
    fsim_arena_free(a);
}

static void a_sequence_says_what_it_holds(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb tensor = {.a = a}, type = {.a = a}, sequence = {.a = a}, outer = {.a = a}, value = {.a = a}, graph = {.a = a};
    pb_int(&tensor, 1, FSIM_ONNX_BOOL);
    pb_message(&type, 1, &tensor);
    pb_message(&sequence, 1, &type);
    pb_message(&outer, 4, &sequence);
    pb_text(&value, 1, "s");
    pb_message(&value, 2, &outer);
    pb_message(&graph, 11, &value);
    const pb file = model_of(a, &graph);
    const fsim_onnx_type *t = read_good(a, &file)->graph->in[0].type;
    assert_int_equal(t->kind, FSIM_ONNX_SEQUENCE);
    assert_int_equal(t->of->kind, FSIM_ONNX_TENSOR);
    assert_int_equal(t->of->element, FSIM_ONNX_BOOL);
    assert_false(t->of->known);
    fsim_arena_free(a);
}

/* Protocol buffers: of scalars the last counts, messages are joined. */
static void fields_that_occur_twice(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb relu = {.a = a}, tanh = {.a = a}, one = {.a = a}, two = {.a = a};
    pb_text(&relu, 4, "Neg");
    pb_text(&relu, 4, "Relu");
    pb_text(&tanh, 4, "Tanh");
    pb_message(&one, 1, &relu);
    pb_text(&one, 2, "first");
    pb_message(&two, 1, &tanh);
    pb file = model_of(a, &one);
    pb_int(&file, 1, 8);
    pb_message(&file, 7, &two);
    pb_message(&file, 7, &one);
    const fsim_onnx_model *m = read_good(a, &file);
    assert_int_equal(m->ir_version, 8);
    assert_int_equal(m->graph->nodes, 3);
    assert_string_equal(m->graph->node[0].op, "Relu");
    assert_string_equal(m->graph->node[1].op, "Tanh");
    assert_string_equal(m->graph->name, "first");
    fsim_arena_free(a);
}

/* Old files do not say an attribute's type. */
static void an_attribute_without_type_has_that_of_its_value(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb x[3] = {{.a = a}, {.a = a}, {.a = a}};
    for (int i = 0; i < 3; i++)
        pb_text(&x[i], 1, "q");
    pb_float(&x[0], 2, 0.5f);
    pb_int(&x[1], 3, 0);
    pb_bytes(&x[2], 4, "a\0b", 3);
    static const int type[] = {FSIM_ONNX_ATTR_FLOAT, FSIM_ONNX_ATTR_INT, FSIM_ONNX_ATTR_STRING};
    for (int i = 0; i < 3; i++) {
        const pb file = model_with(a, &x[i]);
        const fsim_onnx_attribute *q = &read_good(a, &file)->graph->node[0].attribute[0];
        assert_int_equal(q->type, type[i]);
        assert_true(i != 0 || fabsf(q->f - 0.5f) < 1e-9f);
        assert_int_equal(q->s_bytes, i == 2 ? 3 : 0);
        assert_memory_equal(q->s, i == 2 ? "a\0b" : "", i == 2 ? 4 : 1);
    }
    fsim_arena_free(a);
}

/* A tensor of 4 values in a field of its own or in raw_data. */
typedef struct {
    int type, field;
    const char *bytes;
    size_t count;
    double value[4];
} stored;

static const stored tensors[] = {
    {FSIM_ONNX_FLOAT, 9, "\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\0\0\x80\x7f", 16, {1, -2, 0, HUGE_VAL}},
    {FSIM_ONNX_FLOAT, 4, "\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\0\0\0\x3f", 16, {1, -2, 0, 0.5}},
    {FSIM_ONNX_FLOAT16, 9, "\0\x3c\0\xc0\x01\0\xff\x7b", 8, {1, -2, 0x1p-24, 65504}},
    {FSIM_ONNX_FLOAT16, 5, "\x80\x78\x80\x80\x03\x01\xff\xf7\x01", 9, {1, -2, 0x1p-24, 65504}},
    {FSIM_ONNX_BFLOAT16, 9, "\x80\x3f\0\xc0\0\0\x40\x40", 8, {1, -2, 0, 3}},
    {FSIM_ONNX_DOUBLE,
     10,
     "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xe0\x3f",
     32,
     {1, -2, 0, 0.5}},
    {FSIM_ONNX_INT64, 7, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x01\x00", 14, {1, -1, 128, 0}},
    {FSIM_ONNX_INT32, 5, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x01\x00", 14, {1, -1, 128, 0}},
    {FSIM_ONNX_INT32, 5, "\x01\xff\xff\xff\xff\x0f\x80\x01\x00", 9, {1, -1, 128, 0}}, /* -1 in 32 bits */
    {FSIM_ONNX_INT8, 9, "\x01\xff\x80\x7f", 4, {1, -1, -128, 127}},
    {FSIM_ONNX_UINT8, 9, "\x01\xff\x80\x7f", 4, {1, 255, 128, 127}},
    {FSIM_ONNX_INT16, 9, "\x01\0\xff\xff\0\x80\xff\x7f", 8, {1, -1, -32768, 32767}},
    {FSIM_ONNX_UINT16, 9, "\x01\0\xff\xff\0\x80\xff\x7f", 8, {1, 65535, 32768, 32767}},
    {FSIM_ONNX_UINT32, 11, "\x01\xff\xff\xff\xff\x0f\x80\x01\x00", 9, {1, 4294967295.0, 128, 0}},
    {FSIM_ONNX_BOOL, 9, "\1\0\1\1", 4, {1, 0, 1, 1}},
    {FSIM_ONNX_BOOL, 5, "\1\0\1\1", 4, {1, 0, 1, 1}},
    {FSIM_ONNX_INT4, 9, "\xf1\x78", 2, {1, -1, -8, 7}},
    {FSIM_ONNX_UINT4, 9, "\xf1\x78", 2, {1, 15, 8, 7}},
    {FSIM_ONNX_UINT4, 5, "\xf1\x01\x78", 3, {1, 15, 8, 7}},
};

static const fsim_onnx_tensor *read_tensor(fsim_arena *a, const pb *t)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_onnx_tensor *x = fsim_onnx_read_tensor(a, d, &(fsim_import_source){"t.pb", t->at, t->bytes});
    assert_int_equal(fsim_errors(d), 0);
    return x;
}

static pb tensor_of(fsim_arena *a, const stored *s, int64_t elems)
{
    pb t = {.a = a};
    pb_int(&t, 1, elems);
    pb_int(&t, 2, s->type);
    pb_bytes(&t, (unsigned)s->field, s->bytes, s->count);
    return t;
}

static bool is_integer(int type)
{
    return type != FSIM_ONNX_FLOAT && type != FSIM_ONNX_FLOAT16 && type != FSIM_ONNX_BFLOAT16 &&
           type != FSIM_ONNX_DOUBLE;
}

static void values_of_tensors(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const stored *s = &tensors[i];
        const pb file = tensor_of(a, s, 4);
        const fsim_onnx_tensor *t = read_tensor(a, &file);
        double number[5];
        int64_t integer[5];
        assert_int_equal(t->elems, 4);
        assert_true(fsim_onnx_numbers(t, 4, number));
        for (int k = 0; k < 4; k++)
            assert_true(number[k] >= s->value[k] && number[k] <= s->value[k]);
        assert_int_equal(fsim_onnx_integers(t, 4, integer), is_integer(s->type));
        for (int k = 0; k < 4 && is_integer(s->type); k++)
            assert_int_equal(integer[k], (int64_t)s->value[k]);
        assert_false(fsim_onnx_numbers(t, 5, number)); /* more than it has */
        const pb longer = tensor_of(a, s, 5);
        assert_false(fsim_onnx_numbers(read_tensor(a, &longer), 5, number)); /* the dims say more than there is */
    }
    fsim_arena_free(a);
}

/* Values that end inside one. */
static void a_tensor_with_half_a_value(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    double number[2];
    for (int i = 0; i < 2; i++) {
        pb file = tensor_of(a, &(stored){FSIM_ONNX_FLOAT, i ? 4 : 9, "\0\0\x80\x3f\0\0\x80", 7, {0}}, 2);
        pb_int(&file, 3, 0); /* what stands behind the values is not one of them */
        const fsim_onnx_tensor *t = read_tensor(a, &file);
        assert_true(fsim_onnx_numbers(t, 1, number));
        assert_false(fsim_onnx_numbers(t, 2, number));
    }
    fsim_arena_free(a);
}

/* One value a field, as proto2 writes lists that are not packed. */
static void values_that_are_not_packed(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb f = {.a = a}, i = {.a = a}, d = {.a = a};
    pb_int(&f, 2, FSIM_ONNX_FLOAT);
    pb_int(&i, 2, FSIM_ONNX_INT64);
    pb_int(&d, 2, FSIM_ONNX_DOUBLE);
    for (int k = 0; k < 3; k++) {
        pb_float(&f, 4, (float)k);
        pb_int(&i, 7, k);
        pb_double(&d, 10, k);
    }
    const pb *file[] = {&f, &i, &d};
    for (int k = 0; k < 3; k++) {
        pb_bytes((pb *)(uintptr_t)file[k], 1, "\x03\x01", 2);
        double number[3];
        const fsim_onnx_tensor *t = read_tensor(a, file[k]);
        assert_int_equal(t->elems, 3);
        assert_true(fsim_onnx_numbers(t, 3, number));
        assert_int_equal((int)number[2], 2);
    }
    fsim_arena_free(a);
}

static void external_values_are_not_read(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb t = tensor_w(a), pair = {.a = a};
    pb_text(&pair, 1, "location");
    pb_text(&pair, 2, "/etc/passwd");
    pb_message(&t, 13, &pair);
    pb_int(&t, 14, 1);
    const fsim_onnx_tensor *x = read_tensor(a, &t);
    int64_t value[2];
    assert_true(x->external);
    assert_string_equal(x->source[0].value, "/etc/passwd");
    assert_int_equal(x->elems, 2);
    assert_false(fsim_onnx_integers(x, 2, value));
    fsim_arena_free(a);
}

/* Bytes behind a version and a graph with one node whose op_type is 'A': what a damaged field gives. */
static void every_fault_has_its_message(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *message;
    } cases[] = {
        {"", 0, "the file is empty"},
        {"\x08\x08", 2, "an ONNX model without a graph: the file is cut short, or of another format"},
        {"\x00\x08", 2, "the model, byte 0: a field without a number: not an ONNX model, or damaged"},
        {"\x08", 1, "the model, byte 1: the file ends, or the message does, inside a number"},
        {"\x08\x80", 2, "the model, byte 1: the file ends, or the message does, inside a number"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "the model, byte 1: a number is longer than 64 bits"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\x00", 12, "the model, byte 1: a number is longer than 64 bits"},
        {"\x80\x80\x80\x80\x80\x01", 6, "the model, byte 0: a field without a number: not an ONNX model, or damaged"},
        {"\x3b\x3c", 2, "the model, byte 0: field 7 is of wire type 3, which ONNX does not use: damaged"},
        {"\x08\x01\x3f", 3, "the model, byte 2: field 7 is of wire type 7, which ONNX does not use: damaged"},
        {"\x38\x01", 2, "the model, byte 0: 'graph' is of wire type 0, not of its own: not an ONNX model, or damaged"},
        {"\x3a\x05\x0a", 3, "the model, byte 0: a field of 5 bytes, but only 1 are left: cut short or damaged"},
        {"\x3a\x02\x0a", 3, "the model, byte 0: a field of 2 bytes, but only 1 are left: cut short or damaged"},
        {"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
         "the model, byte 0: a field of 18446744073709551615 bytes, but only 0 are left: cut short or damaged"},
        {"\x3a\x02\x0a\x05", 4, "graph, byte 2: a field of 5 bytes, but only 0 are left: cut short or damaged"},
        {"\x3a\x02\x0a\x00", 4, "graph.node[0], byte 4: a node without an op_type"},
        {"\x3a\x07\x0a\x05\x22\x01\x41\x2a\x00", 9, "graph.node[0].attribute[0], byte 9: an attribute without a name"},
        {"\x3a\x05\x0a\x03\x22\x01\xff", 7,
         "graph.node[0], byte 4: 'op_type' is no text: it has bytes that are not UTF-8"},
        {"\x3a\x05\x0a\x03\x22\x01\x00", 7,
         "graph.node[0], byte 4: 'op_type' is no text: it has bytes that are not UTF-8"},
        {"\x3a\x0d\x2a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15,
         "graph.initializer[0], byte 4: the tensor has a dimension of -1"},
        {"\x3a\x16\x2a\x14\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40", 24,
         "graph.initializer[0], byte 4: the tensor has more than 2^63 elements"},
        {"\x3a\x0d\x0a\x0b\x22\x01\x41\x2a\x06\x0a\x01\x61\x3a\x01\x00", 15,
         "graph.node[0].attribute[0], byte 12: 'floats' is a list of numbers of 4 bytes, and has 1 bytes"},
        {"\x3a\x04\x2a\x02\x51\x00", 6,
         "graph.initializer[0], byte 4: the file ends, or the message does, inside a number of 8 bytes"},
    };
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *out;
        assert_null(read_bytes(a, cases[i].bytes, cases[i].count, &out));
        assert_string_equal(out, fsim_printf(a, "m.onnx: error: %s\n", cases[i].message));
    }
    fsim_arena_free(a);
}

/* A dimension of 0 makes a tensor of no elements, whatever the others are. */
static void an_empty_tensor(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb t = {.a = a};
    for (int i = 0; i < 3; i++)
        pb_int(&t, 1, i == 2 ? 0 : INT64_MAX);
    assert_int_equal(read_tensor(a, &t)->elems, 0);
    fsim_arena_free(a);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"name: mlp\n", "\177ELF\2\1\1", "PK\3\4", "{\"a\": 1}", "\x89PNG\r\n"};
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *out;
        assert_null(read_bytes(a, files[i], strlen(files[i]), &out));
    }
    fsim_arena_free(a);
}

/* A file that ends anywhere is read as far as it is whole, or refused; each byte read is inside (the sanitizer looks).
 */
static void files_cut_at_every_byte(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const pb file = whole_model(a);
    int good = 0;
    for (size_t bytes = 0; bytes < file.bytes; bytes++) {
        const fsim_mark mark = fsim_save(a);
        char *cut = malloc(bytes + 1);
        memcpy(cut + 1, file.at, bytes);
        const char *out;
        good += read_bytes(a, cut + 1, bytes, &out) != NULL;
        free(cut);
        fsim_rewind(a, mark);
    }
    assert_int_equal(good, 5); /* behind the graph, the producer, the opset, the metadata, the function */
    fsim_arena_free(a);
}

/* Reads all that a tensor says it has. */
static void touch(fsim_arena *a, const fsim_onnx_model *m)
{
    for (int i = 0; i < m->graph->initializers; i++) {
        const fsim_onnx_tensor *t = &m->graph->initializer[i];
        const int64_t n = t->elems < 100 ? t->elems : 100;
        fsim_onnx_integers(t, n, fsim_new(a, int64_t, n));
        fsim_onnx_numbers(t, n, fsim_new(a, double, n));
    }
}

static void files_with_a_wrong_bit(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const pb file = whole_model(a);
    for (size_t bit = 0; bit < 8 * file.bytes; bit++) {
        const fsim_mark mark = fsim_save(a);
        char *bytes = malloc(file.bytes);
        memcpy(bytes, file.at, file.bytes);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        const char *out;
        const fsim_onnx_model *m = read_bytes(a, bytes, file.bytes, &out);
        if (m)
            touch(a, m);
        free(bytes);
        fsim_rewind(a, mark);
    }
    fsim_arena_free(a);
}

/* A graph in an attribute of a node of a graph, so often. */
static pb nested_graphs(fsim_arena *a, int depth)
{
    pb graph = {.a = a};
    for (int i = 0; i < depth; i++) {
        pb attribute = {.a = a}, node = {.a = a}, outer = {.a = a};
        pb_text(&attribute, 1, "g");
        pb_message(&attribute, 6, &graph);
        pb_text(&node, 4, "If");
        pb_message(&node, 5, &attribute);
        pb_message(&outer, 1, &node);
        graph = outer;
    }
    return model_of(a, &graph);
}

static void graphs_nest_64_deep(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const pb most = nested_graphs(a, 64);
    read_good(a, &most);
    static const int deeper[] = {67, 3000};
    for (int i = 0; i < 2; i++) {
        const pb file = nested_graphs(a, deeper[i]);
        const char *out;
        assert_null(read_bytes(a, file.at, file.bytes, &out));
        assert_string_equal(out,
                            fsim_printf(a,
                                        "m.onnx: error: graph.node[0].attribute[0].g. ... "
                                        ".node[0].attribute[0].g.node[0], byte %zu: messages nest more than 200 "
                                        "deep\n",
                                        strlen(out) > 100 ? (size_t)strtol(strstr(out, "byte ") + 5, NULL, 10) : 0));
    }
    fsim_arena_free(a);
}

static void types_do_not_nest_without_end(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    pb type = {.a = a}, value = {.a = a}, graph = {.a = a};
    for (int i = 0; i < 3000; i++) {
        pb sequence = {.a = a}, outer = {.a = a};
        pb_message(&sequence, 1, &type);
        pb_message(&outer, 4, &sequence);
        type = outer;
    }
    pb_message(&value, 2, &type);
    pb_message(&graph, 11, &value);
    const pb file = model_of(a, &graph);
    const char *out;
    assert_null(read_bytes(a, file.at, file.bytes, &out));
    assert_non_null(strstr(out, "messages nest more than 200 deep\n"));
    fsim_arena_free(a);
}

/* Messages of two bytes, wherever there may be many: 10 MB of nodes, 2 MB of others. */
static void many_tiny_parts_take_little_memory(void **state)
{
    (void)state;
    static const unsigned fields[] = {1, 5, 11, 12, 13, 15}; /* of a graph */
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fsim_arena *a = fsim_arena_new();
        pb graph = {.a = a};
        const size_t bytes = 2 << 20;
        char *tiny = malloc(bytes);
        for (size_t k = 0; k < bytes; k += 2) {
            tiny[k] = (char)(fields[i] << 3 | 2);
            tiny[k + 1] = 0;
        }
        pb_raw(&graph, tiny, bytes);
        free(tiny);
        const pb file = model_of(a, &graph);
        const size_t before = fsim_arena_held();
        const char *out;
        const bool good = read_bytes(a, file.at, file.bytes, &out) != NULL;
        assert_true(fsim_arena_held() - before < (9 << 20) + 12 * bytes);
        assert_true(good ||
                    strstr(out, "so many tiny parts that they take more than 12 bytes of memory for each byte"));
        assert_true(good == (fields[i] > 10 && fields[i] < 15)); /* names and types of values are small */
        fsim_arena_free(a);
    }
}

static void names_that_need_many_slots(void **state)
{
    (void)state;
    enum { NODES = 5000 };
    fsim_arena *a = fsim_arena_new();
    pb graph = {.a = a};
    for (int i = 0; i < NODES; i++) {
        pb node = {.a = a};
        pb_text(&node, 1, fsim_printf(a, "t%d", i));
        pb_text(&node, 2, fsim_printf(a, "t%d", i + 1));
        pb_text(&node, 4, "Relu");
        pb_message(&graph, 1, &node);
    }
    const pb file = model_of(a, &graph);
    const fsim_onnx_graph *g = read_good(a, &file)->graph;
    assert_int_equal(g->nodes, NODES);
    for (int i = 0; i + 1 < NODES; i++) {
        assert_ptr_equal(g->node[i].out[0], g->node[i + 1].in[0]);
        assert_ptr_not_equal(g->node[i].in[0], g->node[i].out[0]);
    }
    fsim_arena_free(a);
}

/* The most memory that this process had so far. */
static long peak_kib(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

/* x: float [2^24] */
static pb value_long(fsim_arena *a)
{
    pb shape = {.a = a}, tensor = {.a = a}, type = {.a = a}, value = {.a = a};
    const pb dim = dimension(a, 1 << 24, NULL);
    pb_message(&shape, 1, &dim);
    pb_int(&tensor, 1, FSIM_ONNX_FLOAT);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, "x");
    pb_message(&value, 2, &type);
    return value;
}

enum { TENSORS = 16, BYTES = 64 << 20 };

/* The graph without its weights: x + w0 + w1 + ... */
static pb sum_of_weights(fsim_arena *a)
{
    pb graph = {.a = a}, result = {.a = a};
    const pb x = value_long(a);
    for (int i = 0; i < TENSORS; i++) {
        pb node = {.a = a};
        pb_text(&node, 1, i ? fsim_printf(a, "y%d", i - 1) : "x");
        pb_text(&node, 1, fsim_printf(a, "w%d", i));
        pb_text(&node, 2, fsim_printf(a, "y%d", i));
        pb_text(&node, 4, "Add");
        pb_message(&graph, 1, &node);
    }
    pb_text(&result, 1, fsim_printf(a, "y%d", TENSORS - 1));
    pb_message(&graph, 11, &x);
    pb_message(&graph, 12, &result);
    return graph;
}

/* All of a weight but its values, which raw_data says follow. */
static pb weight_head(fsim_arena *a, int i)
{
    pb head = {.a = a}, outer = {.a = a};
    pb_int(&head, 1, BYTES / 4);
    pb_int(&head, 2, FSIM_ONNX_FLOAT);
    pb_text(&head, 8, fsim_printf(a, "w%d", i));
    pb_tag(&head, 9, 2);
    pb_varint(&head, BYTES);
    pb_tag(&outer, 5, 2);
    pb_varint(&outer, head.bytes + BYTES);
    pb_raw(&outer, head.at, head.bytes);
    return outer;
}

/* Writes a model with 1 GiB of weights, which are holes of the file. Returns its size. */
static long write_weights(fsim_arena *a, const char *path)
{
    const pb graph = sum_of_weights(a);
    size_t bytes = graph.bytes;
    for (int i = 0; i < TENSORS; i++)
        bytes += weight_head(a, i).bytes + BYTES;
    pb file = {.a = a}, opset = {.a = a};
    pb_int(&opset, 2, 17);
    pb_int(&file, 1, 10);
    pb_message(&file, 8, &opset);
    pb_tag(&file, 7, 2);
    pb_varint(&file, bytes);
    pb_raw(&file, graph.at, graph.bytes);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fwrite(file.at, 1, file.bytes, out);
    for (int i = 0; i < TENSORS; i++) {
        const pb head = weight_head(a, i);
        fwrite(head.at, 1, head.bytes, out);
        fseek(out, BYTES, SEEK_CUR);
    }
    const long end = ftell(out);
    fflush(out);
    assert_int_equal(ftruncate(fileno(out), end), 0);
    fclose(out);
    return end;
}

/* The first test, so that no other has taken memory. */
static void weights_in_the_file_are_not_touched(void **state)
{
    (void)state;
    static const char path[] = "onnx_wire_test.weights";
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    assert_true(write_weights(a, path) > 1L << 30);
    const long before = peak_kib();
    const fsim_graph *g = fsim_graph_load(a, d, path, &(fsim_workload_wanted){0});
    const long after = peak_kib();
    unlink(path);
    assert_string_equal(printed(a, d), "");
    assert_non_null(g);
    assert_int_equal(g->parameters, (int64_t)TENSORS << 24);
    assert_true(after - before < 10 * 1024);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_in_the_file_are_not_touched),
        cmocka_unit_test(a_model_becomes_structs),
        cmocka_unit_test(nodes_and_their_attributes),
        cmocka_unit_test(values_have_types),
        cmocka_unit_test(a_sequence_says_what_it_holds),
        cmocka_unit_test(fields_that_occur_twice),
        cmocka_unit_test(an_attribute_without_type_has_that_of_its_value),
        cmocka_unit_test(values_of_tensors),
        cmocka_unit_test(a_tensor_with_half_a_value),
        cmocka_unit_test(values_that_are_not_packed),
        cmocka_unit_test(external_values_are_not_read),
        cmocka_unit_test(every_fault_has_its_message),
        cmocka_unit_test(an_empty_tensor),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(files_cut_at_every_byte),
        cmocka_unit_test(files_with_a_wrong_bit),
        cmocka_unit_test(graphs_nest_64_deep),
        cmocka_unit_test(types_do_not_nest_without_end),
        cmocka_unit_test(many_tiny_parts_take_little_memory),
        cmocka_unit_test(names_that_need_many_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

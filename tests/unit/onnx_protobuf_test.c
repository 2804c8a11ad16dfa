/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once cost: 1
 * The reader of ONNX files against one that protobuf-c generates from onnx.proto: over ONNX's operator tests
 * (libonnx-testdata), exported models (../shared/models), and damaged forms of them, both find the same. Built where
 * the packages protobuf-c-compiler, libprotobuf-c-dev and libonnx-dev are; else it says so and is skipped. */
#include "base/file.h"
#include "import/onnx/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

#ifndef FUSESIM_PROTOBUF_C

int main(void)
{
    puts("skipped: needs protobuf-c-compiler, libprotobuf-c-dev and libonnx-dev");
    return SKIPPED;
}

#else

#include "onnx.pb-c.h"
#include <ftw.h>

#include "random.h"

enum { MUTATIONS = 4, MOST_VALUES = 1 << 16 };

static struct {
    long models, tensors, damaged, faults, nodes, attributes, values, numbers;
    const char *file;
} run;

/* Counts what differs, and prints the first differences. */
static bool same(bool is, const char *what)
{
    if (!is && run.faults++ < 20)
        printf("%s: %s differs\n", run.file, what);
    return is;
}

static bool same_text(const char *mine, const char *theirs, const char *what)
{
    return same(strcmp(mine, theirs ? theirs : "") == 0, what);
}

static void same_texts(int count, const char *const *mine, size_t n, char **theirs, const char *what)
{
    if (same((size_t)count == n, what))
        for (int i = 0; i < count; i++)
            same_text(mine[i], theirs[i], what);
}

/* A type in raw_data whose bytes are those of our numbers, and in a field of its own. */
static void same_numbers(const fsim_onnx_tensor *t, const Onnx__TensorProto *x)
{
    static double value[MOST_VALUES];
    const size_t n = x->n_float_data + x->n_double_data + x->n_int64_data + x->n_int32_data + x->n_uint64_data;
    if (t->external || t->elems > MOST_VALUES || fsim_onnx_element_bits(t->type) < 8 || x->has_raw_data ||
        (size_t)t->elems != n || !fsim_onnx_numbers(t, t->elems, value))
        return;
    for (int64_t i = 0; i < t->elems; i++) {
        const double theirs = x->n_float_data    ? (double)x->float_data[i]
                              : x->n_double_data ? x->double_data[i]
                              : x->n_int64_data  ? (double)x->int64_data[i]
                              : x->n_int32_data  ? (double)x->int32_data[i]
                                                 : (double)x->uint64_data[i];
        const bool halves = t->type == FSIM_ONNX_FLOAT16 || t->type == FSIM_ONNX_BFLOAT16; /* their bits */
        same(halves || memcmp(&theirs, &value[i], sizeof theirs) == 0 || theirs - value[i] == 0, "a number");
        run.numbers++;
    }
}

/* The numbers of raw_data of the types that C has too. */
static void same_raw(const fsim_onnx_tensor *t, const Onnx__TensorProto *x)
{
    static int64_t value[MOST_VALUES];
    const size_t size = t->type == FSIM_ONNX_INT64 ? 8 : t->type == FSIM_ONNX_INT32 ? 4 : 1;
    const bool wanted = t->type == FSIM_ONNX_INT64 || t->type == FSIM_ONNX_INT32 || t->type == FSIM_ONNX_UINT8;
    if (!wanted || !x->has_raw_data || t->external || t->elems > MOST_VALUES ||
        x->raw_data.len != size * (size_t)t->elems)
        return;
    if (!same(fsim_onnx_integers(t, t->elems, value), "raw_data"))
        return;
    for (int64_t i = 0; i < t->elems; i++) {
        int64_t theirs = 0;
        memcpy(&theirs, x->raw_data.data + size * (size_t)i, size);
        same((size == 4 ? (int32_t)theirs : theirs) == value[i], "a number of raw_data");
        run.numbers++;
    }
}

static void same_tensor(const fsim_onnx_tensor *t, const Onnx__TensorProto *x)
{
    if (!same(!t == !x, "whether there is a tensor") || !t)
        return;
    same_text(t->name, x->name, "a tensor's name");
    same((t->type == 0 && !x->has_data_type) || t->type == x->data_type, "a tensor's type");
    same(t->location == (x->has_data_location ? (int)x->data_location : 0), "where a tensor's values are");
    same((size_t)t->sources == x->n_external_data, "the number of keys of external data");
    if (!same((size_t)t->dims == x->n_dims, "a tensor's rank"))
        return;
    for (int i = 0; i < t->dims; i++)
        same(t->dim[i] == x->dims[i], "a dimension");
    same_numbers(t, x);
    same_raw(t, x);
}

static void same_shape(const fsim_onnx_type *t, const Onnx__TensorShapeProto *x)
{
    if (!same(!t->known == !x, "whether the rank is known") || !x || !same((size_t)t->dims == x->n_dim, "a rank"))
        return;
    for (int i = 0; i < t->dims; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = x->dim[i];
        same((int)t->dim[i].kind == (int)dim->value_case, "the kind of a dimension");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            same(t->dim[i].number == dim->dim_value, "a dimension's number");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            same_text(t->dim[i].name, dim->dim_param, "a dimension's name");
    }
}

static void same_type(const fsim_onnx_type *t, const Onnx__TypeProto *x)
{
    if (!same(!t == !x, "whether there is a type") || !t)
        return;
    switch (x->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        same(t->kind == FSIM_ONNX_TENSOR, "the kind of a type");
        same(t->element == (x->tensor_type->has_elem_type ? x->tensor_type->elem_type : 0), "the type of elements");
        same_shape(t, x->tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        same(t->kind == FSIM_ONNX_SPARSE, "the kind of a type");
        same_shape(t, x->sparse_tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        same(t->kind == FSIM_ONNX_SEQUENCE, "the kind of a type");
        same_type(t->of, x->sequence_type->elem_type);
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        same(t->kind == FSIM_ONNX_OPTIONAL, "the kind of a type");
        same_type(t->of, x->optional_type->elem_type);
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        same(t->kind == FSIM_ONNX_MAP, "the kind of a type");
        same_type(t->of, x->map_type->value_type);
        break;
    default: /* opaque types came later than this onnx.proto */
        break;
    }
}

static void same_values(int count, const fsim_onnx_value *v, size_t n, Onnx__ValueInfoProto **x, const char *what)
{
    if (same((size_t)count == n, what))
        for (int i = 0; i < count; i++) {
            same_text(v[i].name, x[i]->name, what);
            same_type(v[i].type, x[i]->type);
            run.values++;
        }
}

static void same_graph(const fsim_onnx_graph *g, const Onnx__GraphProto *x);

static void same_blob(const char *text, const ProtobufCBinaryData *x, const char *what)
{
    same(memcmp(text, x->len ? x->data : (const uint8_t *)"", x->len) == 0 && text[x->len] == 0, what);
}

static void same_attribute(const fsim_onnx_attribute *t, const Onnx__AttributeProto *x)
{
    const float f = x->has_f ? x->f : 0;
    run.attributes++;
    same_text(t->name, x->name, "an attribute's name");
    same_text(t->ref, x->ref_attr_name, "an attribute's ref_attr_name");
    same(!x->has_type || x->type == 0 || t->type == (int)x->type, "an attribute's type");
    same(memcmp(&t->f, &f, sizeof f) == 0, "f");
    same(t->i == (x->has_i ? x->i : 0), "i");
    same((size_t)t->s_bytes == (x->has_s ? x->s.len : 0), "the length of s");
    if (x->has_s && (size_t)t->s_bytes == x->s.len)
        same_blob(t->s, &x->s, "s");
    same_tensor(t->t, x->t);
    same_graph(t->g, x->g);
    if (same((size_t)t->float_count == x->n_floats, "the number of floats") && x->n_floats)
        same(memcmp(t->floats, x->floats, x->n_floats * sizeof f) == 0, "floats");
    if (same((size_t)t->int_count == x->n_ints, "the number of ints") && x->n_ints)
        same(memcmp(t->ints, x->ints, x->n_ints * sizeof(int64_t)) == 0, "ints");
    if (same((size_t)t->string_count == x->n_strings, "the number of strings"))
        for (int i = 0; i < t->string_count; i++)
            same_blob(t->strings[i], &x->strings[i], "strings");
}

static void same_nodes(int count, const fsim_onnx_node *node, size_t n, Onnx__NodeProto **x)
{
    if (!same((size_t)count == n, "the number of nodes"))
        return;
    for (int i = 0; i < count; i++) {
        run.nodes++;
        same_text(node[i].name, x[i]->name, "a node's name");
        same_text(node[i].op, x[i]->op_type, "op_type");
        same_text(node[i].domain, x[i]->domain, "a node's domain");
        same_texts(node[i].ins, node[i].in, x[i]->n_input, x[i]->input, "a node's input");
        same_texts(node[i].outs, node[i].out, x[i]->n_output, x[i]->output, "a node's output");
        if (same((size_t)node[i].attributes == x[i]->n_attribute, "the number of attributes"))
            for (int k = 0; k < node[i].attributes; k++)
                same_attribute(&node[i].attribute[k], x[i]->attribute[k]);
    }
}

static void same_graph(const fsim_onnx_graph *g, const Onnx__GraphProto *x)
{
    if (!same(!g == !x, "whether there is a graph") || !g)
        return;
    same_text(g->name, x->name, "a graph's name");
    same_nodes(g->nodes, g->node, x->n_node, x->node);
    same_values(g->ins, g->in, x->n_input, x->input, "an input of the graph");
    same_values(g->outs, g->out, x->n_output, x->output, "an output of the graph");
    same_values(g->values, g->value, x->n_value_info, x->value_info, "value_info");
    if (same((size_t)g->initializers == x->n_initializer, "the number of initializers"))
        for (int i = 0; i < g->initializers; i++)
            same_tensor(&g->initializer[i], x->initializer[i]);
    if (same((size_t)g->sparses == x->n_sparse_initializer, "the number of sparse initializers"))
        for (int i = 0; i < g->sparses; i++)
            same_tensor(g->sparse[i].values, x->sparse_initializer[i]->values);
}

static void same_opsets(int count, const fsim_onnx_opset *o, size_t n, Onnx__OperatorSetIdProto **x)
{
    if (same((size_t)count == n, "the number of opsets"))
        for (int i = 0; i < count; i++) {
            same_text(o[i].domain, x[i]->domain, "an opset's domain");
            same(o[i].version == (x[i]->has_version ? x[i]->version : 0), "an opset's version");
        }
}

static void same_model(const fsim_onnx_model *m, const Onnx__ModelProto *x)
{
    same(m->ir_version == (x->has_ir_version ? x->ir_version : 0), "ir_version");
    same_text(m->producer, x->producer_name, "producer_name");
    same_text(m->producer_version, x->producer_version, "producer_version");
    same_opsets(m->opsets, m->opset, x->n_opset_import, x->opset_import);
    same_graph(m->graph, x->graph);
    same((size_t)m->metadatas == x->n_metadata_props, "the number of metadata_props");
    if (!same((size_t)m->functions == x->n_functions, "the number of functions"))
        return;
    for (int i = 0; i < m->functions; i++) {
        const fsim_onnx_function *f = &m->function[i];
        const Onnx__FunctionProto *y = x->functions[i];
        same_text(f->name, y->name, "a function's name");
        same_text(f->domain, y->domain, "a function's domain");
        same_texts(f->ins, f->in, y->n_input, y->input, "a function's input");
        same_texts(f->outs, f->out, y->n_output, y->output, "a function's output");
        same_texts(f->parameters, f->parameter, y->n_attribute, y->attribute, "a function's attribute");
        same_nodes(f->nodes, f->node, y->n_node, y->node);
        same_opsets(f->opsets, f->opset, y->n_opset_import, y->opset_import);
    }
}

/* Reads a model both ways; where both accept it, they must have found the same. Returns whether ours did. */
static bool compare_model(const uint8_t *bytes, size_t count, bool theirs_decides)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_onnx_model *m = fsim_onnx_read(a, d, &(fsim_import_source){run.file, (const char *)bytes, count});
    if (!m && theirs_decides) {
        run.faults++;
        fsim_diag_print(d, stdout, false);
    }
    Onnx__ModelProto *x = m ? onnx__model_proto__unpack(NULL, count, bytes) : NULL;
    if (m && theirs_decides)
        same(x != NULL, "whether it is a model");
    if (m && x)
        same_model(m, x);
    if (x)
        onnx__model_proto__free_unpacked(x, NULL);
    fsim_arena_free(a);
    return m != NULL;
}

/* The same of damaged copies. protobuf-c may refuse what we read and the other way round. */
static void compare_damaged(const fsim_mapped *file)
{
    uint8_t *copy = malloc(file->bytes + 1);
    for (int i = 0; i < MUTATIONS && file->bytes; i++) {
        memcpy(copy, file->text, file->bytes);
        for (uint32_t flips = draw(3); flips < 3; flips++)
            copy[draw((uint32_t)file->bytes)] = (uint8_t)draw(256);
        run.damaged += compare_model(copy, file->bytes, false);
    }
    free(copy);
}

static void compare_tensor(const fsim_mapped *file)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    Onnx__TensorProto *x = onnx__tensor_proto__unpack(NULL, file->bytes, (const uint8_t *)file->text);
    const fsim_onnx_tensor *t = fsim_onnx_read_tensor(a, d, &(fsim_import_source){run.file, file->text, file->bytes});
    /* The values of sequences and optionals are other messages, with something else in field 3, or stored as little. */
    const bool is_tensor = x && !x->segment && !strstr(run.file, "/test_optional_");
    if (is_tensor && same(t != NULL, "whether it is a tensor"))
        same_tensor(t, x);
    run.tensors += is_tensor;
    if (x)
        onnx__tensor_proto__free_unpacked(x, NULL);
    fsim_arena_free(a);
}

static int compare_file(const char *path, const struct stat *s, int kind, struct FTW *walk)
{
    (void)s;
    (void)walk;
    const size_t n = strlen(path);
    const bool is_model = n > 5 && strcmp(path + n - 5, ".onnx") == 0;
    if (kind != FTW_F || !(is_model || (n > 3 && strcmp(path + n - 3, ".pb") == 0)))
        return 0;
    fsim_arena *a = fsim_arena_new();
    const char *why;
    fsim_mapped *file = fsim_map_file(a, path, &why);
    run.file = path;
    if (file && is_model) {
        run.models++;
        compare_model((const uint8_t *)file->text, file->bytes, true);
        compare_damaged(file);
    } else if (file) {
        compare_tensor(file);
    }
    fsim_unmap(file);
    fsim_arena_free(a);
    return 0;
}

int main(void)
{
    const char *given = getenv("FUSESIM_SHARED");
    char models[4096];
    snprintf(models, sizeof models, "%s/models", given ? given : FUSESIM_SOURCE_DIR "/../shared");
    nftw("/usr/share/libonnx-testdata/data", compare_file, 16, FTW_PHYS);
    nftw(models, compare_file, 16, FTW_PHYS);
    printf("%ld models, %ld tensors and %ld damaged models: %ld nodes, %ld attributes, %ld types, %ld numbers; %ld "
           "differences\n",
           run.models, run.tensors, run.damaged, run.nodes, run.attributes, run.values, run.numbers, run.faults);
    if (run.models == 0)
        puts("skipped: neither libonnx-testdata nor ../shared/models is here");
    return run.faults ? EXIT_FAILURE : run.models ? EXIT_SUCCESS : SKIPPED;
}

#endif

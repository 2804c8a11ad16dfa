/* SPDX-License-Identifier: Apache-2.0 */
/* proto.h: an ONNX model as it stands in its file: plain structs of what ModelProto and its parts say (proto.def has
 * their fields and numbers). Nothing is interpreted here: names may dangle, nodes may be out of order, dims of values
 * may be negative. What is certain: strings are UTF-8, end with a NUL and are never NULL ("" where absent); equal
 * strings are one string (they may be compared by address); every node has an op_type, every attribute a name and a
 * type; dims of tensors are at least 0 and their product fits.
 *
 * Everything is in the arena but the data of tensors, which stay in the caller's memory and are read on demand. So the
 * weights of a mapped file are never touched, and files of external data never opened.
 */
#ifndef FUSESIM_IMPORT_ONNX_PROTO_H
#define FUSESIM_IMPORT_ONNX_PROTO_H

#include "graph/op.h"
#include "import/format.h"

#include <stdint.h>

/* Types of elements: FSIM_ONNX_FLOAT16, with ONNX's numbers. A file may have others, even 0. */
enum {
#define FSIM_ONNX_ELEMENT(id, number, dtype, bits, form, field) FSIM_ONNX_##id = (number),
#include "import/onnx/element.def"
#undef FSIM_ONNX_ELEMENT
};
/* Our dtype for it; FSIM_DTYPE_NONE where we have none. */
fsim_dtype fsim_onnx_element_dtype(int type);
/* Bits of an element: 4 for int4; 0 for strings and numbers that are none. */
int fsim_onnx_element_bits(int type);

/* key: value, of metadata_props */
typedef struct {
    const char *key, *value;
} fsim_onnx_pair;

/* Bytes of a file, valid as long as the file's memory. field: the number of the tensor's field that they are of. */
typedef struct {
    const uint8_t *at;
    size_t bytes;
    int field;
} fsim_onnx_data;

/* A constant: an initializer, or an attribute's value. */
typedef struct {
    const char *name;
    int64_t *dim; /* each at least 0 */
    int dims;
    int type;               /* FSIM_ONNX_FLOAT etc.; may be any number */
    int location;           /* 1: external */
    bool external;          /* its values are in another file */
    int64_t elems;          /* the product of dim */
    fsim_onnx_data *data;   /* for the functions below */
    int datas;              /* in how many pieces */
    fsim_onnx_pair *source; /* external_data: location, offset, length */
    int sources;
} fsim_onnx_tensor;

/* A tensor by its values other than 0 and their places. */
typedef struct {
    fsim_onnx_tensor *values; /* its name is the tensor's; NULL where absent */
    fsim_onnx_tensor *indices;
    int64_t *dim; /* of the dense tensor, each at least 0 */
    int dims;
} fsim_onnx_sparse;

/* One dimension of a value. */
typedef struct {
    enum { FSIM_ONNX_DIM_UNKNOWN, FSIM_ONNX_DIM_NUMBER, FSIM_ONNX_DIM_NAME } kind;
    int64_t number;
    const char *name; /* may be an expression: "seq*batch" */
} fsim_onnx_dim;

/* The type of a value. */
typedef struct fsim_onnx_type {
    enum {
        FSIM_ONNX_NO_TYPE,
        FSIM_ONNX_TENSOR,
        FSIM_ONNX_SPARSE,
        FSIM_ONNX_SEQUENCE,
        FSIM_ONNX_OPTIONAL,
        FSIM_ONNX_MAP,
        FSIM_ONNX_OPAQUE
    } kind;
    int element; /* of tensors: FSIM_ONNX_FLOAT etc.; of a map: the type of its keys */
    int known;   /* is the rank known? 0: dim says nothing */
    fsim_onnx_dim *dim;
    int dims;
    struct fsim_onnx_type *of; /* of sequences, optionals and maps: what they hold; may be NULL */
} fsim_onnx_type;

/* The name and type of an input, an output or another value of a graph. */
typedef struct {
    const char *name;
    fsim_onnx_type *type; /* NULL: not said */
} fsim_onnx_value;

typedef struct fsim_onnx_graph fsim_onnx_graph;

/* The types of attributes, with ONNX's numbers. */
typedef enum {
    FSIM_ONNX_ATTR_NONE,
    FSIM_ONNX_ATTR_FLOAT,
    FSIM_ONNX_ATTR_INT,
    FSIM_ONNX_ATTR_STRING,
    FSIM_ONNX_ATTR_TENSOR,
    FSIM_ONNX_ATTR_GRAPH,
    FSIM_ONNX_ATTR_FLOATS,
    FSIM_ONNX_ATTR_INTS,
    FSIM_ONNX_ATTR_STRINGS,
    FSIM_ONNX_ATTR_TENSORS,
    FSIM_ONNX_ATTR_GRAPHS,
    FSIM_ONNX_ATTR_SPARSE,
    FSIM_ONNX_ATTR_SPARSES,
    FSIM_ONNX_ATTR_TYPE,
    FSIM_ONNX_ATTR_TYPES
} fsim_onnx_attribute_type;

/* An attribute. Which member holds its value says `type`; the others are 0, NULL or "". An attribute that stands for
 * one of the function that the node is in (ref set) may have none. */
typedef struct {
    const char *name;
    const char *ref; /* ref_attr_name: the attribute of the function; "" : its own value */
    int type;        /* fsim_onnx_attribute_type; may be any number */
    float f;
    int64_t i;
    const char *s;       /* may hold NULs and need not be UTF-8 */
    fsim_onnx_tensor *t; /* NULL where absent, whatever `type` says: so are g and sparse */
    fsim_onnx_graph *g;
    fsim_onnx_sparse *sparse;
    float *floats;
    int64_t *ints;
    const char **strings;
    int s_bytes, float_count, int_count, string_count;
    int seen; /* which of f and i the file gave last */
} fsim_onnx_attribute;

/* A call of an operator or of a local function. */
typedef struct {
    const char *name, *op, *domain, *overload; /* domain "" is ONNX's own; so is "ai.onnx" */
    const char **in, **out;                    /* "": absent */
    fsim_onnx_attribute *attribute;
    fsim_onnx_pair *metadata; /* "namespace", "pkg.torch.onnx.class_hierarchy", ... */
    int ins, outs, attributes, metadatas;
} fsim_onnx_node;

struct fsim_onnx_graph {
    const char *name;
    fsim_onnx_node *node;
    fsim_onnx_tensor *initializer;
    fsim_onnx_sparse *sparse;
    fsim_onnx_value *in, *out, *value; /* value: value_info */
    fsim_onnx_pair *metadata;
    int nodes, initializers, sparses, ins, outs, values, metadatas;
};

/* The version of a domain's operators. */
typedef struct {
    const char *domain;
    int64_t version;
} fsim_onnx_opset;

/* A function of the model's own. */
typedef struct {
    const char *name, *domain, *overload;
    const char **in, **out;
    const char **parameter;    /* names of attributes that a call must give */
    fsim_onnx_attribute *with; /* attributes with the values that they have where a call does not give them */
    fsim_onnx_node *node;
    fsim_onnx_opset *opset;
    fsim_onnx_value *value; /* value_info */
    fsim_onnx_pair *metadata;
    int ins, outs, parameters, withs, nodes, opsets, values, metadatas;
} fsim_onnx_function;

typedef struct {
    int64_t ir_version;
    const char *producer, *producer_version, *domain;
    fsim_onnx_graph *graph; /* not NULL */
    fsim_onnx_opset *opset;
    fsim_onnx_function *function;
    fsim_onnx_pair *metadata;
    int opsets, functions, metadatas;
} fsim_onnx_model;

/* Reads a model. NULL after an error (in d). The structs are in a; data of tensors stays in from's memory. Memory in a
 * is bounded by a multiple of the file's size, graphs nest at most 64 deep. */
const fsim_onnx_model *fsim_onnx_read(fsim_arena *a, fsim_diag *d, const fsim_import_source *from);
/* Reads a file that holds one tensor. */
const fsim_onnx_tensor *fsim_onnx_read_tensor(fsim_arena *a, fsim_diag *d, const fsim_import_source *from);

/* The node's attribute of this name; NULL where it has none. */
const fsim_onnx_attribute *fsim_onnx_find(const fsim_onnx_node *node, const char *name);

/* The first `count` values of a tensor of integers or bools, in row-major order. False where it is not one, has fewer,
 * or its values are in another file. uint64 beyond INT64_MAX becomes INT64_MAX. */
bool fsim_onnx_integers(const fsim_onnx_tensor *t, int64_t count, int64_t *out);
/* The same of any numbers (integers, bools, floats of 16 to 64 bits); not of complex numbers or strings. */
bool fsim_onnx_numbers(const fsim_onnx_tensor *t, int64_t count, double *out);

#endif

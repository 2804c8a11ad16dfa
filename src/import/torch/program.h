/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: an exported program as plain structs: what torch.export writes into models/model.json, read and checked
 * for form, not for meaning. Names of tensors and symbols are those of the file. */
#ifndef FUSESIM_IMPORT_TORCH_PROGRAM_H
#define FUSESIM_IMPORT_TORCH_PROGRAM_H

#include "base/diag.h"
#include "base/names.h"
#include <stdint.h>

enum {
    FSIM_TORCH_MAX_VALUES = 4 << 20, /* of JSON: numbers, texts, lists, objects */
    FSIM_TORCH_MAX_NESTING = 16,     /* graphs within graphs */
    FSIM_TORCH_OLDEST_SCHEMA = 5,
    FSIM_TORCH_NEWEST_SCHEMA = 8
};

typedef struct fsim_torch_graph fsim_torch_graph;

typedef enum {
    FSIM_TORCH_NONE,   /* None */
    FSIM_TORCH_TENSOR, /* text: its name */
    FSIM_TORCH_INT,    /* text: its name where it is symbolic; else integer */
    FSIM_TORCH_FLOAT,  /* number; text: its name where it is symbolic */
    FSIM_TORCH_BOOL,   /* integer; text: its name where it is symbolic */
    FSIM_TORCH_TEXT,   /* text */
    FSIM_TORCH_TYPE,   /* integer: a ScalarType of the serializer */
    FSIM_TORCH_GRAPH,  /* graph; text: its name */
    FSIM_TORCH_LIST,   /* item[0, count) */
    FSIM_TORCH_OTHER   /* a device, a layout, a memory format, an object: of no interest here */
} fsim_torch_kind;

/* An argument, or a result. */
typedef struct fsim_torch_arg fsim_torch_arg;
struct fsim_torch_arg {
    fsim_torch_kind kind;
    const char *name; /* of the argument in the operator's schema; "": none */
    const char *text;
    int64_t integer;
    double number;
    const fsim_torch_graph *graph;
    int count;
    fsim_torch_arg *item;
};

typedef struct {
    const char *target;                 /* "aten.linear.default": without torch.ops. */
    const char *layer;                  /* the innermost module's path, "encoder.layer.3"; NULL: not said */
    const char *origin, *origin_target; /* the node that PyTorch made it from: its name and operator; NULL: not said */
    int ins, outs;
    fsim_torch_arg *in, *out;
} fsim_torch_node;

/* A size: an expression of symbols, or a number. */
typedef struct {
    const char *expression; /* NULL: value */
    int64_t value;
} fsim_torch_dim;

typedef struct {
    const char *name;
    int type, layout; /* ScalarType, Layout (7: strided) of the serializer */
    int rank;
    fsim_torch_dim *dim;
} fsim_torch_tensor;

typedef struct {
    const char *name;
    fsim_torch_dim is;
} fsim_torch_number;

struct fsim_torch_graph {
    int ins, outs, nodes, tensors, numbers;
    fsim_torch_arg *in, *out;
    fsim_torch_node *node;
    fsim_torch_tensor *tensor;
    fsim_torch_number *number;       /* symbolic integers, booleans and floats */
    fsim_names tensor_at, number_at; /* by name */
};

typedef enum { FSIM_TORCH_PARAMETER, FSIM_TORCH_BUFFER, FSIM_TORCH_CONSTANT, FSIM_TORCH_USER } fsim_torch_role;
typedef struct {
    fsim_torch_role role;
    fsim_torch_arg arg;
    const char *name; /* "encoder.weight", of what is no user's input */
} fsim_torch_input;

typedef struct {
    bool mutation; /* of a buffer or an input; else a result */
    fsim_torch_arg arg;
    const char *name; /* of the buffer or the input */
} fsim_torch_output;

typedef struct {
    const char *symbol;
    int64_t least, most;
} fsim_torch_range;

typedef struct {
    fsim_torch_graph graph;
    int inputs, outputs, ranges;
    fsim_torch_input *input;
    fsim_torch_output *output;
    fsim_torch_range *range;
    const char *version; /* of PyTorch */
} fsim_torch_program;

/* Reads a program. NULL after an error, which names the file at `path`. In a. */
const fsim_torch_program *fsim_torch_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *json,
                                           size_t bytes);

#endif

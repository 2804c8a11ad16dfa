/* SPDX-License-Identifier: Apache-2.0 */
/* import.h: the state of an import of an ONNX model: what the files of this folder share. Rows of the table of
 * operators need onnx.h alone, but for those of control flow. */
#ifndef FUSESIM_IMPORT_ONNX_IMPORT_H
#define FUSESIM_IMPORT_ONNX_IMPORT_H

#include "base/names.h"
#include "import/onnx/onnx.h"

/* Names of one graph or function body, and what they stand for. */
typedef struct fsim_onnx_scope {
    struct fsim_onnx_scope *outer; /* names that are not here are looked up there; a function's body has none */
    fsim_names at;                 /* name -> its place in operand */
    fsim_operand **operand;
    int operands, room;
    fsim_names initial; /* name -> place among the graph's initializers */
    const fsim_onnx_graph *graph;
    const fsim_onnx_attribute
        *bound; /* of a function's body: the call's attributes, and those that it has by default */
    int bounds;
    const fsim_onnx_opset *opset; /* versions of domains */
    int opsets;
    const char *prefix; /* of names of values in the workload: "block_3."; "" in the main graph */
    const char *layer;  /* of the call that the body stands for; NULL: the main graph */
    fsim_names absent;  /* of a function's body: inputs that the call leaves out */
    int depth;
} fsim_onnx_scope;

typedef struct fsim_onnx_import {
    fsim_arena *a;
    fsim_diag *d;
    fsim_draft *x;
    const char *path;
    const fsim_onnx_model *proto;
    fsim_onnx_scope *main, *scope; /* scope: where nodes are translated now */
    fsim_names written;            /* tensor of the workload -> place in writer */
    fsim_operand **writer;
    int writers, writer_room;
    fsim_names rows;         /* "Conv", "com.microsoft:Attention" -> its last row of the table */
    fsim_names functions;    /* "domain:name" -> the local function */
    fsim_names stated;       /* value -> place in the graph's value_info */
    fsim_names quantised;    /* initializers that DequantizeLinear reads */
    fsim_names read, shared; /* what nodes of the main graph read, and what more than one reads */
    fsim_names dims;         /* named dimension -> place in dim_value */
    int64_t *dim_value;
    int dim_count, dim_room;
    fsim_names layers; /* the part of a node's name that gives the layer -> place in layer */
    const char **layer;
    int layer_count, layer_room;
    const char *layer_now, *from_now; /* of the node that is translated */
    int64_t budget;                   /* nodes that may still be translated */
    bool says_layers;                 /* names of nodes, or what the exporter notes, have paths of modules */
    const char *block;                /* where it does not: the numbered module that nodes without weights are in */
    int operators;                    /* that were made, also those that are folded */
    int64_t trips;                    /* of the loop whose body is translated; 0: none */
    int64_t parameters;               /* elements of weights that are numbers with a fraction, or that were quantised */
    bool everything;                  /* translate nodes that nobody reads, too */
    bool shares_said;                 /* that a loop's passes share what a slice of data takes */
    bool dims_missing;                /* a dimension had no value */
} fsim_onnx_import;

/* Translates a model into its draft; NULL after errors. `everything`: also what no output needs, for tests. */
fsim_onnx_import *fsim_onnx_open(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, fsim_dims *dims,
                                 bool everything);
/* What a name of the main graph stands for; NULL: nothing, or it was not needed. */
const fsim_operand *fsim_onnx_lookup(const fsim_onnx_import *m, const char *name);

/* Scopes (scope.c). */
fsim_onnx_scope *fsim_onnx_scope_new(fsim_onnx_import *m, fsim_onnx_scope *outer);
/* Makes the initializers of a graph known by name; they become operands when they are looked up. False after an error
 * (a name twice). */
bool fsim_onnx_scope_graph(fsim_onnx_import *m, fsim_onnx_scope *s, const fsim_onnx_graph *g);
/* The value of this name, in s or outside of it; NULL: none. */
fsim_operand *fsim_onnx_scope_get(fsim_onnx_import *m, fsim_onnx_scope *s, const char *name);
/* Gives a name its value. False after an error: it has one already. */
bool fsim_onnx_scope_set(fsim_onnx_import *m, fsim_onnx_scope *s, const char *name, fsim_operand *v);

/* The order in which nodes are translated: those that out[0, outs) need (all: every one), inputs before readers, as in
 * the file where that is so. Returns how many there are, -1 after an error (a cycle; two nodes that make one name). */
int fsim_onnx_order(fsim_onnx_import *m, const fsim_onnx_node *node, int nodes, int outs, const char *const *out,
                    int **order);
/* Does the file say which modules nodes are from? */
bool fsim_onnx_says_layers(const fsim_onnx_graph *g);
/* Makes the tables of operators and of local functions. False after an error. */
bool fsim_onnx_tables(fsim_onnx_import *m);
/* Translates nodes in scope s, those that out[0, outs) need. */
bool fsim_onnx_run(fsim_onnx_import *m, fsim_onnx_scope *s, const fsim_onnx_node *node, int nodes, int outs,
                   const char *const *out);

/* Values (operand.c). */
fsim_operand *fsim_onnx_operand_new(fsim_onnx_import *m, const char *name, const fsim_shape *shape, fsim_dtype dtype);
/* The dtype that an element of the file is stored as; unsigned integers as those of their size. */
fsim_dtype fsim_onnx_stored_dtype(int element);
/* Has it no more elements than a tensor may have, lengths of 0 aside? */
bool fsim_onnx_is_moderate(const fsim_shape *s);
/* A constant of the file. NULL after an error (its rank, its type, its size). */
fsim_operand *fsim_onnx_operand_of(fsim_onnx_import *m, const fsim_onnx_tensor *t, const char *name, bool parameter);
/* An output whose result has no elements: nothing runs. */
void fsim_onnx_set_empty(fsim_onnx_import *m, fsim_operand *v);
/* The value's name in the workload is known now. */
void fsim_onnx_called(fsim_onnx_import *m, fsim_operand *v, const char *tensor);
/* Its name in the workload. */
const char *fsim_onnx_written(fsim_onnx_import *m, fsim_operand *v);

/* Dimensions (dims.c). */
/* A type of the file as a shape: numbers, and names that have values. False where one is missing. */
bool fsim_onnx_stated(fsim_onnx_import *m, const fsim_onnx_type *type, fsim_shape *shape);
/* A known list of lengths, input i, as a shape; where it is data, the shape that the file states for the result. */
bool fsim_onnx_shape_in(fsim_onnx_call *c, int i, fsim_shape *shape);
/* What the file says of output k of a node of the main graph; NULL: nothing. */
const fsim_onnx_type *fsim_onnx_stated_type(const fsim_onnx_call *c, int k);
/* Gives the dimensions of the main graph's inputs their values. False after an error. */
bool fsim_onnx_bind(fsim_onnx_import *m, const fsim_onnx_value *const *in, int ins, fsim_shape *shape);
/* A dimension that depends on data: output k of the node, this axis. By --dim, under the name that the file gives it
 * or by its place. */
int64_t fsim_onnx_ask(fsim_onnx_call *c, int k, int axis, int64_t most);

#endif

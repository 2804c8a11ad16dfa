/* SPDX-License-Identifier: Apache-2.0 */
/* aten.h: what a row of the table of ATen operators (aten.def) is written against: the node, its arguments by the names
 * of PyTorch's schema with the values that they have where the file leaves them out, and how it says what its results
 * are.
 *
 * The file has the shape and dtype of every tensor, so a row works out none: c->out[k] has its own from the start. A
 * row makes each output by an operator of the workload (fsim_aten_make, after fsim_aten_step for those before the
 * last) or says that it is another tensor (fsim_aten_same). What a row makes and nobody reads is dropped, so a row may
 * make all. A row that cannot returns false: the node costs a copy then, with a warning. */
#ifndef FUSESIM_IMPORT_TORCH_ATEN_H
#define FUSESIM_IMPORT_TORCH_ATEN_H

#include "import/draft.h"
#include "import/torch/program.h"

enum { FSIM_ATEN_MAX_INS = 8192 };

/* A tensor of the program. */
typedef struct fsim_torch_value fsim_torch_value;
struct fsim_torch_value {
    const char *name; /* in the file */
    fsim_shape shape;
    fsim_dtype dtype;
    bool complex, empty;       /* pairs of numbers, its last dimension, which the file's shape lacks; no elements */
    bool state;                /* memory that outlasts the program: an input, a weight */
    bool mutated;              /* state that an in-place operator wrote */
    const char *tensor;        /* its name in the workload; NULL: not made yet */
    int reads;                 /* operators of the workload that read this tensor */
    fsim_torch_value *cast_of; /* it is that one with more bits; NULL: it is none */
    fsim_torch_value *shared;  /* it is that matrix, again and again along what stands in front; NULL: it is none */
    fsim_torch_value *base;    /* it is a view of that: what is written in place shows there; NULL: it is none */
    const char *seen;          /* the base's tensor that it is a view of: where the base has another, it was written */
    int dim;                   /* the part of base that it is: along dim, from start on, each step-th; -1: all of it,
                                  reshaped; -2: a matrix whose dimensions changed places; -3: in the order `order` */
    int64_t start, step;
    const int64_t *order;
};

typedef struct fsim_torch_import fsim_torch_import;

/* A node that is being translated. */
typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_draft *x;
    fsim_torch_import *m;
    const fsim_torch_node *node;
    const char *at;       /* "node 17 'linear_3'", for messages */
    const char *op;       /* "add": without namespace, overload and the '_' of what works in place */
    const char *overload; /* "Tensor" */
    bool in_place;        /* its result is written into its first argument */
    int outs;
    fsim_torch_value **out; /* lists of tensors are flattened */
    const bool *read;       /* does anything read out[k]? */
} fsim_aten;

/* A row's function; word is the row's. */
typedef bool (*fsim_aten_rule)(fsim_aten *c, const char *word);
#define FSIM_ATEN(op, rule, says) bool fsim_aten_op_##rule(fsim_aten *c, const char *word);
#define FSIM_HIGHER(op, rule)     bool fsim_aten_op_##rule(fsim_aten *c, const char *word);
#include "import/torch/aten.def"
#undef FSIM_ATEN
#undef FSIM_HIGHER

/* Arguments, by the schema's name; "a|b": the first that is there. */

/* NULL where the file leaves it out, or it is None. */
const fsim_torch_arg *fsim_aten_arg(const fsim_aten *c, const char *name);
/* A tensor; NULL where it is none. */
fsim_torch_value *fsim_aten_tensor(fsim_aten *c, const char *name);
/* The first argument, a tensor: NULL where it is none. */
fsim_torch_value *fsim_aten_self(fsim_aten *c);
/* A number, symbolic or not, as an integer. */
int64_t fsim_aten_int(fsim_aten *c, const char *name, int64_t absent);
/* A number. */
double fsim_aten_number(fsim_aten *c, const char *name, double absent);
/* A boolean. */
bool fsim_aten_flag(fsim_aten *c, const char *name, bool absent);
/* A text. */
const char *fsim_aten_text(fsim_aten *c, const char *name, const char *absent);
/* A dtype. */
fsim_dtype fsim_aten_dtype(fsim_aten *c, const char *name, fsim_dtype absent);
/* At most 16 integers, one alone counting as a list; -1 where there is none. */
int fsim_aten_ints(fsim_aten *c, const char *name, int64_t list[16]);
/* A list of tensors, NULL for None; -1 where there is none. */
int fsim_aten_tensors(fsim_aten *c, const char *name, fsim_torch_value ***list);
/* An axis from the front; -1 where it is out of range. */
int fsim_aten_axis(int64_t dim, int rank);
/* A number that an argument is: an integer is written as one. False where it is none. */
bool fsim_aten_scalar(fsim_aten *c, const fsim_torch_arg *arg, double *value, bool *whole);

/* Results. */

/* Output k is the result of an operator `op` of ours. Its attributes follow by fsim_draft_*(c->x, ...). False where an
 * input is NULL or has no tensor. */
bool fsim_aten_make(fsim_aten *c, int k, const char *op, int ins, fsim_torch_value *const *in);
/* An operator before the last: the end of its name, its shape and dtype by FSIM_AS. NULL as above. */
fsim_torch_value *fsim_aten_step(fsim_aten *c, const char *op, const fsim_draft_result *as, int ins,
                                 fsim_torch_value *const *in);
#define FSIM_AS(what, of_shape, of_dtype) (&(fsim_draft_result){(what), *(of_shape), (of_dtype)})
/* All outputs by one operator. */
bool fsim_aten_make_all(fsim_aten *c, const char *op, int ins, fsim_torch_value *const *in);
/* Output k is v: nothing runs. */
bool fsim_aten_same(fsim_aten *c, int k, fsim_torch_value *v);
/* Output k is v with the shape that the output has. */
bool fsim_aten_reshape(fsim_aten *c, int k, fsim_torch_value *v);
/* Output k is a part or another form of v, for what is written into it in place: see fsim_torch_value. A part that
 * lacks dim is one element along it. */
void fsim_aten_view(fsim_aten *c, int k, fsim_torch_value *v, int dim, int64_t start);
/* What is assumed of the node, where its cost depends on data that the file does not have: warned of by the operator's
 * name and count when all is translated. */
void fsim_aten_assume(fsim_aten *c, const char *what);
/* May the result be written into v's memory? v is then this node's to change, or a state that the result replaces, and
 * nobody else reads it. */
bool fsim_aten_may_overwrite(const fsim_aten *c, const fsim_torch_value *v);

/* Are they the same part of the same tensor, however often it was taken? */
bool fsim_aten_is_same_view(const fsim_torch_value *x, const fsim_torch_value *y);
/* A part of a tensor: elements start, start + step, ... along dim. */
typedef struct {
    int dim;
    int64_t start, step;
    bool in_place; /* x's own memory is written, and only the part is moved */
} fsim_aten_part;
/* x with that part replaced by rows, of x's rank. What a program without writes in place says, and what compilers make
 * of those that it has: the pieces that stay and the rows, one behind the other, as other operators may compute them;
 * rows by their index where they are apart, or where x's own memory is written. NULL where that cannot be. */
fsim_torch_value *fsim_aten_with_part(fsim_aten *c, fsim_torch_value *x, const fsim_aten_part *at,
                                      fsim_torch_value *rows);

/* A row's function on a node with complex numbers. False where it is not for them. */
bool fsim_aten_on_pairs(fsim_aten *c, fsim_aten_rule rule, const char *word);

/* The second product of an attention that core ATen decomposed, as the whole. False where it is none. */
bool fsim_aten_decomposed_attention(fsim_aten *c);

/* v in that shape; v itself where it has it. */
fsim_torch_value *fsim_aten_reshaped(fsim_aten *c, fsim_torch_value *v, const fsim_shape *shape);
/* The same of a dtype. */
fsim_torch_value *fsim_aten_cast(fsim_aten *c, fsim_torch_value *v, fsim_dtype dtype);
/* The same, broadcast to a shape. */
fsim_torch_value *fsim_aten_expanded(fsim_aten *c, fsim_torch_value *v, const fsim_shape *shape);
/* A tensor of one number. rank 0 */
fsim_torch_value *fsim_aten_constant(fsim_aten *c, double value, bool whole, fsim_dtype dtype);
/* The attribute `key` as a number, a whole one written so. */
void fsim_aten_put(fsim_aten *c, const char *key, double value, bool whole);
/* How many elements a shape has; 0 where a dimension is. */
int64_t fsim_aten_elems(const fsim_shape *s);
/* Are two shapes equal? */
bool fsim_aten_same_shape(const fsim_shape *x, const fsim_shape *y);

/* Graphs within graphs. */

/* Translates a graph whose inputs are these; *out, its outputs (NULL: no tensor), in the arena. False after an error.
 */
bool fsim_torch_run(fsim_torch_import *m, const fsim_torch_graph *g, int ins, fsim_torch_value *const *in,
                    fsim_torch_value ***out);
/* What --dim says of a name that is no symbol; -1: nothing. */
int64_t fsim_torch_given(fsim_torch_import *m, const char *name);
/* What comes before the target in `from`: "scan/aten.linear.default". Returns the former one. NULL: nothing. */
const char *fsim_torch_within(fsim_torch_import *m, const char *what);

#endif

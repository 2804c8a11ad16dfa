/* SPDX-License-Identifier: Apache-2.0 */
/* onnx.h: what a row of the table of ONNX operators (onnx.def) is written against: the node, its inputs as values, its
 * attributes, and how it says what its results are.
 *
 * A value is a tensor of the model: its shape and dtype are always known, its contents where they follow from shapes
 * and small constants. A value gets a tensor in the workload when an operator of the workload reads it, not before:
 * shape arithmetic leaves no trace.
 *
 * A row sets each output that is wanted (fsim_onnx_wants) in one of four ways: by an operator of the workload
 * (fsim_onnx_make), as another value (fsim_onnx_same), as known numbers (fsim_onnx_set_ints, _set_floats), or as the
 * last of several operators (fsim_onnx_step makes those before it). An operator whose inputs are all constants is not
 * written: its result is a constant too, as every runtime folds it when it loads the model.
 */
#ifndef FUSESIM_IMPORT_ONNX_ONNX_H
#define FUSESIM_IMPORT_ONNX_ONNX_H

#include "import/draft.h"
#include "import/onnx/proto.h"

enum {
    FSIM_ONNX_KNOWN_MAX = 1 << 16, /* elements of a value whose contents are followed */
    FSIM_ONNX_LEAST_OPSET = 6,
    FSIM_ONNX_MOST_OPSET = 23,
    FSIM_ONNX_MAX_INS = 256 /* that fsim_onnx_make takes */
};

/* One value on and below the diagonal of the last two dimensions, one above it (triangle.h). */
typedef struct {
    bool known;
    double below, above;
} fsim_triangle;

typedef struct fsim_operand fsim_operand;
struct fsim_operand {
    const char *name; /* in the file; NULL: a step's */
    fsim_shape shape; /* a dimension may be 0, rank 0 is a scalar */
    fsim_dtype dtype;
    bool constant;         /* an initializer, a Constant, or made of these alone */
    const int64_t *ints;   /* its contents, of integers and booleans; NULL: not known */
    const double *floats;  /* its contents, of floats; NULL: not known */
    const double *each;    /* the number that each of its many elements is; NULL: not known, or they differ */
    const char *tensor;    /* its name in the workload; NULL: it has none yet (fsim_onnx_name makes it) */
    const char *tensor_as; /* the wanted name of that tensor */
    bool parameter;        /* constant: it is counted among the model's parameters */
    int items;             /* a sequence of so many values; -1: a tensor */
    fsim_operand **item;
    bool unnamed;                        /* constant: its name is the exporter's, not a module's */
    bool input;                          /* an input of the model */
    bool file;                           /* constant: as it stands in the file */
    bool still;                          /* it does not depend on the model's inputs, at most on their shapes */
    fsim_dtype pairs;                    /* constant: the dtype of its elements, two in a byte, where `dtype` is none */
    fsim_triangle triangle;              /* its contents, if they are so */
    int depth;                           /* of recipes that it takes to write it */
    struct fsim_onnx_recipe *recipe;     /* the operator that makes it, not written yet; NULL: none */
    const struct fsim_onnx_codes *codes; /* what it was dequantised from (quantised.h); NULL: nothing */
};

/* A node that is being translated. */
typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_draft *x;              /* for attributes use fsim_onnx_put_*, below */
    struct fsim_onnx_import *m; /* import.h */
    const fsim_onnx_node *node;
    const char *op, *domain;         /* domain "": the standard one */
    int64_t opset;                   /* version of the node's domain */
    int ins, outs;                   /* as the node lists them, left-out ones among them */
    fsim_operand **in;               /* NULL where left out */
    fsim_operand **out;              /* filled by the row; NULL until then */
    bool data;                       /* set by fsim_onnx_depends */
    const char *unsupported;         /* set by fsim_onnx_unsupported */
    const char *refused;             /* set by fsim_onnx_refuse: the first reason */
    bool keep;                       /* set by a row: operators are written although their inputs are constants */
    struct fsim_onnx_recipe *recipe; /* of the newest operator, where it was put off */
    const fsim_operand *knows;       /* what the next output holds (fsim_knowing); NULL: not known */
    bool folded;                     /* the newest operator was not written: its inputs are constants */
} fsim_onnx_call;

/* A row's function. False after an error, or after fsim_onnx_unsupported. */
typedef bool (*fsim_onnx_rule)(fsim_onnx_call *c);
#define FSIM_ONNX(domain, name, since, rule) bool fsim_onnx_op_##rule(fsim_onnx_call *c);
#include "import/onnx/onnx.def"
#undef FSIM_ONNX

/* Inputs. */

/* Input i; NULL where the node leaves it out or has fewer. */
fsim_operand *fsim_onnx_in(const fsim_onnx_call *c, int i);
/* Input i, which must be there: an error and NULL where it is not. */
fsim_operand *fsim_onnx_need(fsim_onnx_call *c, int i);
/* How many elements it has: the product of its dimensions. */
int64_t fsim_onnx_elems(const fsim_operand *v);
/* Integers of a known value (booleans are 0 and 1); NULL where they are not known. v may be NULL. */
const int64_t *fsim_onnx_ints_of(const fsim_operand *v, int *count);
/* The number in a known value with one element, an integer or a float. */
bool fsim_onnx_number_of(const fsim_operand *v, double *number);
/* Is each of its elements the same number, as far as that is known? */
bool fsim_onnx_each_is(const fsim_operand *v, double *number);
/* Element i of a known value as a number. */
double fsim_onnx_element(const fsim_operand *v, int64_t i);
/* Are its contents known? */
bool fsim_onnx_known(const fsim_operand *v);
/* Its name in the workload: makes a tensor of it where it has none. For the rare row that calls fsim_draft itself. */
const char *fsim_onnx_name(fsim_onnx_call *c, fsim_operand *v);
/* Sets output k to zeros. */
bool fsim_onnx_zeros(fsim_onnx_call *c, int k, const fsim_shape *shape, fsim_dtype dtype);
/* The weight whose transpose v is, which is not written yet; NULL: it is none. */
fsim_operand *fsim_onnx_turned(const fsim_operand *v);

/* Attributes, with the value that they have where the node has none. An attribute of another type is an error that is
 * reported, and `absent` is returned. */

/* Has the node this attribute? */
bool fsim_onnx_has(const fsim_onnx_call *c, const char *name);
/* An integer. */
int64_t fsim_onnx_int(fsim_onnx_call *c, const char *name, int64_t absent);
/* A number. */
double fsim_onnx_float(fsim_onnx_call *c, const char *name, double absent);
/* A string. */
const char *fsim_onnx_string(fsim_onnx_call *c, const char *name, const char *absent);
/* A list of integers; NULL where it is absent. In the arena. */
const int64_t *fsim_onnx_ints(fsim_onnx_call *c, const char *name, int *count);
/* The same of numbers. */
const double *fsim_onnx_floats(fsim_onnx_call *c, const char *name, int *count);
/* The same of strings. */
const char *const *fsim_onnx_strings(fsim_onnx_call *c, const char *name, int *count);
/* A constant; NULL where it is absent. */
fsim_operand *fsim_onnx_tensor_of(fsim_onnx_call *c, const char *name);
/* A graph; NULL where it is absent. */
const fsim_onnx_graph *fsim_onnx_graph_of(fsim_onnx_call *c, const char *name);
/* The dtype of an attribute that holds a TensorProto.DataType ("to", "dtype"); `absent` where there is none. */
fsim_dtype fsim_onnx_dtype(fsim_onnx_call *c, const char *name, fsim_dtype absent);
/* Integers that are an attribute in old versions and an input in new ones (axes of Squeeze, pads of Pad): from input i
 * where the node has it, else from the attribute. False after an error (an input that is not known). *list NULL where
 * there is neither. */
bool fsim_onnx_list(fsim_onnx_call *c, int i, const char *name, const int64_t **list, int *count);

/* Shapes. */

/* An axis from the front: axis + rank where it is negative. An error and false where it is out of range. */
bool fsim_onnx_axis(fsim_onnx_call *c, int64_t axis, int rank, int *out);
/* The shape that two or more operands broadcast to, as numpy has it. */
bool fsim_onnx_broadcast(fsim_onnx_call *c, const fsim_shape *x, const fsim_shape *y, fsim_shape *out);
/* The shape with these dimensions. */
fsim_shape fsim_onnx_shape(int rank, const int64_t *dim);
/* Checks that every dimension is in range and that the product is; an error and false where not. */
bool fsim_onnx_check_shape(fsim_onnx_call *c, const fsim_shape *s);

/* Results. */

/* Does the node name output k, and is it not set yet? */
bool fsim_onnx_wants(const fsim_onnx_call *c, int k);
/* The inputs of an operator that is written; none may be NULL. */
typedef struct {
    int count;
    fsim_operand *const *at;
} fsim_onnx_args;
#define FSIM_LIST(n, list) (&(fsim_onnx_args){(n), (list)})
#define FSIM_ARGS(...)                                                                                                 \
    FSIM_LIST((int)(sizeof((fsim_operand *[]){__VA_ARGS__}) / sizeof(fsim_operand *)),                                 \
              ((fsim_operand *[]){__VA_ARGS__}))
#define FSIM_NO_ARGS FSIM_LIST(0, NULL)

/* Output k is the result of an operator of the workload, `op` in PyTorch's name, and of this type. Its attributes
 * follow by fsim_onnx_put_*. Returns the new value; NULL after an error (a shape that is impossible). */
fsim_operand *fsim_onnx_make(fsim_onnx_call *c, int k, const char *op, const fsim_shape *shape, fsim_dtype dtype,
                             const fsim_onnx_args *in);
/* A step on the way, not an output of the node; `what` ends its name ("scores"). */
fsim_operand *fsim_onnx_step(fsim_onnx_call *c, const char *what, const char *op, const fsim_shape *shape,
                             fsim_dtype dtype, const fsim_onnx_args *in);
/* An operator with several results, outputs 0 to outs - 1 of the node, of the types in type[0, outs) (names in them
 * are not read); those that the node does not name are written and not used. */
bool fsim_onnx_make_all(fsim_onnx_call *c, const char *op, int outs, const fsim_draft_result *type,
                        const fsim_onnx_args *in);
/* An operator with several results that are steps on the way: made[0, outs), named after the names in type[0, outs). */
bool fsim_onnx_steps(fsim_onnx_call *c, const char *op, int outs, const fsim_draft_result *type,
                     const fsim_onnx_args *in, fsim_operand **made);
/* Attributes of the newest operator (graph/attribute.def): nothing where that was folded. */
void fsim_onnx_put_int(fsim_onnx_call *c, const char *key, int64_t value);
/* A list. */
void fsim_onnx_put_ints(fsim_onnx_call *c, const char *key, int count, const int64_t *value);
/* A number with a fraction. */
void fsim_onnx_put_number(fsim_onnx_call *c, const char *key, double value);
/* true or false. */
void fsim_onnx_put_flag(fsim_onnx_call *c, const char *key, bool value);
/* A word, a dtype or an equation. */
void fsim_onnx_put_word(fsim_onnx_call *c, const char *key, const char *value);
/* Output k is another value: nothing runs. */
bool fsim_onnx_same(fsim_onnx_call *c, int k, fsim_operand *v);
/* Output k is known numbers, as many as shape has elements; value stays referenced. */
bool fsim_onnx_set_ints(fsim_onnx_call *c, int k, const fsim_shape *shape, fsim_dtype dtype, const int64_t *value);
/* The same of numbers with a fraction. */
bool fsim_onnx_set_floats(fsim_onnx_call *c, int k, const fsim_shape *shape, fsim_dtype dtype, const double *value);
/* A value of known numbers that is no output: a constant that a step reads. */
fsim_operand *fsim_onnx_new_ints(fsim_onnx_call *c, const fsim_shape *shape, fsim_dtype dtype, const int64_t *value);
/* The same view of v: reshape without an output of the node. */
fsim_operand *fsim_onnx_reshaped(fsim_onnx_call *c, fsim_operand *v, const fsim_shape *shape);
/* v with its dimensions in another order. */
fsim_operand *fsim_onnx_permuted(fsim_onnx_call *c, fsim_operand *v, const int64_t *order);
/* v in another dtype; v itself where it has that one. */
fsim_operand *fsim_onnx_cast(fsim_onnx_call *c, fsim_operand *v, fsim_dtype to);

/* When it can't. */

/* An error at the node: the model is wrong. Returns false. */
bool fsim_onnx_refuse(fsim_onnx_call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A form of the operator that has no counterpart: the node becomes an unknown operator, which costs a copy and is
 * warned of. `why`: "mode 'cubic'". The row may not have set an output before. Returns what the row returns. */
bool fsim_onnx_unsupported(fsim_onnx_call *c, const char *why);
/* The shape of a result depends on what input i holds, and that is not known: the same, with the shapes that the file
 * states; an error where it does not. Returns what the row returns. */
bool fsim_onnx_depends(fsim_onnx_call *c, int i);
/* The same where the types of the results are known: type[0, outs). */
bool fsim_onnx_opaque(fsim_onnx_call *c, int outs, const fsim_draft_result *type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* build.h: a graph under construction. workload.c reads operators into calls; a call's rule (shape.c, permute.c,
 * expand.c, ...) checks its arguments and adds tensors and primitives. */
#ifndef FUSESIM_GRAPH_BUILD_H
#define FUSESIM_GRAPH_BUILD_H

#include "graph/attribute.h"
#include "graph/graph.h"
#include "graph/rule.h"

typedef struct {
    bool present, whole; /* whole: the file has one value, not a list */
    int count;
    int64_t at[FSIM_MAX_RANK * 2];
} fsim_list;

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    fsim_graph *graph;
    int tensor_room, node_room, source_room, gradient_room, operation_room, choice_room;
    bool recording;             /* calls are kept for differentiation (gradient.h) */
    struct fsim_record *record; /* by primitive */
    int records, record_room;
    fsim_phase phase;    /* of the primitives that are added */
    fsim_dtype autocast; /* the low precision of --autocast; FSIM_DTYPE_NONE: none */
} fsim_build;

/* One operator with its arguments found. Its rule sets the results and adds primitives to the graph. */
typedef struct fsim_call {
    fsim_build *build;
    const struct fsim_call *part_of; /* the operator of the workload whose step it is; NULL: it is one itself */
    fsim_op op;
    fsim_loc at;
    int source;
    const char **out; /* names of its outputs */
    int outs;
    int args, *arg; /* tensors */
    fsim_attrs attrs;
    fsim_list list[FSIM_ATTR_COUNT]; /* whether each attribute is given; of those with lists the values */
    const char *equation;
    bool effect;
    enum {
        FSIM_NO_NUMBER,
        FSIM_WHOLE_NUMBER,
        FSIM_FRACTION
    } number;   /* among scalar, min and max: is there one, and was one written with a fraction? */
    bool typed; /* a step of an expansion whose result has dtype `type`, whatever its arguments have */
    fsim_dtype type;
    unsigned scalars; /* bit i: argument i is a scalar (or one for each example): it does not widen the dtype of the
                         others */
    int64_t examples; /* above 0: the first dimension of all arguments numbers as many examples (of losses: is a
                         multiple), which means, collectives and statistics over a batch keep apart */
    int *result;      /* tensors, outs of them */
} fsim_call;

/* Adds a tensor that owns its memory. -1 after an error (too large). */
int fsim_add_tensor(fsim_build *b, fsim_loc at, const char *name, const fsim_shape *shape, fsim_dtype dtype,
                    fsim_role role);
/* Adds a tensor whose elements are those of tensor `of`, from element `offset` on. */
int fsim_add_view(fsim_build *b, fsim_loc at, const char *name, const fsim_shape *shape, int of, int64_t offset);
/* Sets each attribute of call->op that the workload leaves out to its default. */
void fsim_default_attrs(fsim_call *call);
/* Sets an attribute, where it is a field of fsim_attrs. */
void fsim_set_attr(fsim_call *call, fsim_attr attr, double value);
/* An error at the call that names the workload's operator. Always false. */
bool fsim_refuse(const fsim_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The tensor that is argument i of the call; it must have one. Lives in the graph, valid until a tensor is added. */
const fsim_tensor *fsim_arg(const fsim_call *call, int i);

/* The dtype of the call's result, by its operator's row and PyTorch's rules (dtype.c). False after an error: its
 * arguments have dtypes that PyTorch does not combine. */
bool fsim_result_dtype(const fsim_call *call, fsim_dtype *dtype);
/* Does no operator but `quantize` make, and none but `dequantize` read, tensors with two elements in a byte? */
bool fsim_pairs_are_known(const fsim_call *call);
/* What a product computes in: `compute`, else the dtype of its operands. */
fsim_dtype fsim_product_arithmetic(const fsim_call *call);
/* Adds the primitive call->op with one result of this shape, of the dtype that fsim_result_dtype says. The caller fills
 * in how it reads its arguments. NULL after an error. */
fsim_node *fsim_add_node(fsim_call *call, const fsim_shape *shape, int64_t reduced);
/* False, with an error at the call, where a primitive takes more steps than FSIM_MAX_STEPS. A rule that multiplies
 * lengths which no tensor bounds asks it first, so that no product overflows. */
bool fsim_check_steps(const fsim_call *call, double steps);
/* Sets *out to the dimension; a negative dim counts from the end. False after an error. */
bool fsim_wrap_dim(const fsim_call *call, int rank, int64_t dim, int *out);

/* Adds a second result (indices of max, sort, topk) to the newest node, where the call has a name for one. */
bool fsim_add_result(fsim_call *call, fsim_node *n, const fsim_shape *shape, fsim_dtype dtype);
/* Adds the primitive call->op that reads every argument once, in order. False after an error. */
bool fsim_add_whole(fsim_call *call, const fsim_shape *out);
/* Sets how n reads argument i: broadcast to shape out. */
void fsim_read_broadcast(const fsim_call *call, fsim_node *n, int i, const fsim_shape *out);
/* The one dimension of a tensor of this rank that the call works along. False after an error. */
bool fsim_one_dim(const fsim_call *call, int rank, int *dim);
/* The same for argument 0; it is also kept in attrs.dim for code that computes the node. */
bool fsim_keep_dim(fsim_call *call, int *dim);
/* One index for the rows that arguments 1 to `indices`, which broadcast, name together along dimensions of these
 * lengths: (i * length[1] + j) * length[2] + k. -1 after an error. */
int fsim_join_indices(fsim_call *call, int indices, const int64_t *length);
/* Are they integers? PyTorch takes an index of bool or u8 as a mask, which is refused. */
bool fsim_check_indices(const fsim_call *call, int indices);
/* einsum.c: an einsum of one operand, of more than two, or whose result is implied, as other primitives. */
bool fsim_einsum_in_steps(fsim_call *call);
/* Reads a list attribute as a shape. False after an error. */
bool fsim_shape_from(const fsim_call *call, fsim_attr which, fsim_shape *out);
/* How many dimensions a slice cuts, by the lists that it has; *whole: the workload has one number, not a list. -1 after
 * an error. */
int fsim_slice_entries(const fsim_call *call, bool *whole);
/* Makes a flatten, unflatten, squeeze or unsqueeze of a tensor of shape x the reshape that it means. False after an
 * error. */
bool fsim_lower_view(fsim_call *call, const fsim_shape *x);
/* Spatial dimensions of a convolution or a pool: 2 of conv2d. */
int fsim_spatial_axes(fsim_op op);
void fsim_row_major(const fsim_shape *s, int64_t *stride); /* stride[i]: elements between neighbours of dimension i */

/* One operator of an expansion. The caller sets its attributes between start and end. Do not copy it: it points into
 * itself. */
typedef struct {
    fsim_call call;
    const fsim_call *of;
    const char *name;
    int result, arg[3];
} fsim_step;
/* Begins operator op, named OUT/name, or OUT where name is NULL. Attributes have their defaults. */
void fsim_step_start(fsim_step *step, const fsim_call *of, fsim_op op, const char *name);
/* Runs its rule on args tensors. Returns the result, or -1 where the rule failed or an argument is -1. */
int fsim_step_end(fsim_step *step, int args, const int *arg);
/* fsim_step_start and fsim_step_end in one call, for operators with default attributes. */
int fsim_emit(fsim_call *call, fsim_op op, const char *name, int args, const int *arg);

#endif

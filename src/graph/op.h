/* SPDX-License-Identifier: Apache-2.0 */
/* op.h: the operator table (op.def), dtypes, and what a class of operators may do. */
#ifndef FUSESIM_GRAPH_OP_H
#define FUSESIM_GRAPH_OP_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum {
    FSIM_F64,
    FSIM_F32,
    FSIM_F16,
    FSIM_BF16,
    FSIM_F8E4M3,
    FSIM_F8E5M2,
    FSIM_F8E8M0, /* powers of two without a sign: scales of blocks */
    FSIM_I64,
    FSIM_I32,
    FSIM_I16,
    FSIM_I8,
    FSIM_U8,
    FSIM_BOOL,
    FSIM_F4E2M1, /* this and the next: two elements in a byte, see fsim_dtype_paired */
    FSIM_I4,
    FSIM_DTYPE_COUNT,
    FSIM_TF32 = FSIM_DTYPE_COUNT, /* arithmetic of contractions; no tensor is stored so */
    FSIM_DTYPE_NONE
} fsim_dtype;
extern const char *const fsim_dtype_names[FSIM_DTYPE_COUNT + 1];
/* "f64, f32, ...": those that tensors may have. In a. */
const char *fsim_dtype_list(fsim_arena *a);
/* Bytes of a stored element; of a paired dtype, of the byte that holds two. */
int fsim_dtype_bytes(fsim_dtype t);
bool fsim_is_float8(fsim_dtype t); /* f8e4m3, f8e5m2, f8e8m0 */
/* Do two elements share a byte, the first in its lower half? A graph holds such a tensor as its bytes: the last
 * dimension is half of what the workload says. Only `quantize` makes and `dequantize` reads one. */
bool fsim_dtype_paired(fsim_dtype t);
/* Is it a float that can be stored? False for tf32. */
bool fsim_dtype_floating(fsim_dtype t);
/* The dtype of this name. False where there is none; *t is not changed then. */
bool fsim_dtype_parse(const char *name, fsim_dtype *t);
/* The dtype that other programs call so: "float16", "fp16" and "half" are f16. FSIM_DTYPE_NONE where there is none. */
fsim_dtype fsim_dtype_elsewhere(const char *name);
/* Why `name` is no dtype: "unknown dtype 'float16'; did you mean 'f16'?", or all that there are. In a. */
const char *fsim_unknown_dtype(fsim_arena *a, const char *name);
/* The wider of two: of floats; of integers; a float beats an integer, f16 with bf16 is f32. Where both are floats of 8
 * bits, f16. What workloads may combine says fsim_result_dtype. */
fsim_dtype fsim_dtype_promote(fsim_dtype a, fsim_dtype b);

/* Which points of the inputs a point of the output depends on. */
typedef enum {
    FSIM_ELEMENTWISE, /* the same point of each input, broadcast where smaller */
    FSIM_RANDOM, /* elementwise, with a counter-based generator: a point gets the same number wherever it is computed */
    FSIM_PERMUTE,       /* one input point, through an index map */
    FSIM_VIEW,          /* the argument's storage under another shape: no primitive */
    FSIM_ASSEMBLE,      /* concat, pad, roll: one point of one of several inputs, by ranges */
    FSIM_GATHER,        /* one input point, at an index that is data */
    FSIM_REDUCE,        /* all points along some dimensions */
    FSIM_WINDOW,        /* overlapping windows: pooling */
    FSIM_CONTRACTION,   /* products summed over shared dimensions */
    FSIM_SCAN,          /* a running reduction along a dimension */
    FSIM_SCATTER,       /* output points chosen by data: a boundary to its readers */
    FSIM_COMMUNICATION, /* between devices */
    FSIM_TRANSFER,      /* host and device */
    FSIM_OPAQUE,        /* sort, top-k, custom calls: unknown */
    FSIM_COMPOSITE,     /* expands into primitives when loaded */
    FSIM_CLASS_COUNT
} fsim_class;

typedef struct {
    const char *name;
    bool inlines;  /* its value at any point can be computed inside a kernel that reads it */
    bool clones;   /* cheap enough that several kernels may each compute it */
    bool boundary; /* is always a kernel of its own */
    const char
        *why; /* of a boundary, or of an operator whose readers are in other kernels: the reason in the user's words */
} fsim_class_row;
extern const fsim_class_row fsim_classes[FSIM_CLASS_COUNT];

typedef enum {
#define FSIM_OP(id, ...) FSIM_OP_##id,
#include "graph/op.def"
#undef FSIM_OP
    FSIM_OP_COUNT
} fsim_op;

/* What decides the dtype of an operator's result: the rules of PyTorch, which tests/types/torch_types.csv holds. */
#define FSIM_MAKES_ROWS                                                                                                \
    FSIM_MAKES(FIRST, "that of the first input")                                                                       \
    FSIM_MAKES(SECOND, "that of the second input")                                                                     \
    FSIM_MAKES(PROMOTED, "what the inputs promote to")                                                                 \
    FSIM_MAKES(FLOATING, "what the inputs promote to, f32 for integers")                                               \
    FSIM_MAKES(FLOATS, "that of the first input, a float")                                                             \
    FSIM_MAKES(BOOL, "bool")                                                                                           \
    FSIM_MAKES(BRANCHES, "what the second and third input promote to; the first is bool")                              \
    FSIM_MAKES(MASKED, "that of the first input; the second is bool")                                                  \
    FSIM_MAKES(NAMED, "`dtype`, else that of the input")                                                               \
    FSIM_MAKES(SUMMED, "that of the input, i64 for integers")                                                          \
    FSIM_MAKES(INDICES, "i64")                                                                                         \
    FSIM_MAKES(EQUAL, "`dtype`, else that of all inputs")                                                              \
    FSIM_MAKES(SCATTERED, "that of the first and third input")                                                         \
    FSIM_MAKES(STEPS, "what its steps make")
typedef enum {
#define FSIM_MAKES(id, text) FSIM_MAKES_##id,
    FSIM_MAKES_ROWS
#undef FSIM_MAKES
} fsim_makes;
extern const char *const fsim_makes_texts[]; /* for people, by fsim_makes */

/* Is it the gradient of a convolution's weight? */
static inline bool fsim_is_weight_gradient(fsim_op op)
{
    return op >= FSIM_OP_CONV1D_WEIGHT && op <= FSIM_OP_CONV3D_WEIGHT;
}

struct fsim_call; /* graph/build.h */
typedef struct {
    const char *name;
    fsim_class class;
    int least_args, most_args, most_outs; /* most: -1 is any number */
    double flops, instructions, specials; /* per point */
    bool (*rule)(struct fsim_call *call);
    fsim_makes makes;
    const char *takes; /* its attributes, see op.def; read by fsim_taken_of */
    const char *expr;
} fsim_op_row;
extern const fsim_op_row fsim_ops[FSIM_OP_COUNT];
/* The inputs in their order, for people (operands.def). NULL where the operator's name tells. */
extern const char *const fsim_operands[FSIM_OP_COUNT];

/* The operator of this name. False where there is none, or where only fusesim itself creates it. */
bool fsim_op_parse(const char *name, fsim_op *op);
/* The names a workload may use, sorted as in the table; count in *count. */
const char *const *fsim_op_names(int *count);

#endif

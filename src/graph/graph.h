/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: a workload as tensors and primitives, in topological order; immutable once built. */
#ifndef FUSESIM_GRAPH_GRAPH_H
#define FUSESIM_GRAPH_GRAPH_H

#include "base/diag.h"
#include "graph/derive.h"
#include "graph/map.h"
#include "graph/op.h"
#include "graph/piece.h"

enum { FSIM_MAX_RANK = 8, FSIM_MAX_PRIMITIVES = 1 << 20 };
/* Elements a tensor may have, and the longest dimension. Few tensors of so many fit a device, but the scores of
 * attention over a million tokens are 2^47 that no kernel stores. 16 bytes and a sector of 32 for each, added up over
 * the members of a kernel, are far below overflow. */
#define FSIM_MAX_ELEMS ((int64_t)1 << 48)
#define FSIM_MAX_DIM   ((int64_t)1 << 32)
/* Elements of a primitive's result times what is reduced for each: what a product of three 2^20 x 2^20 matrices takes.
 */
#define FSIM_MAX_STEPS ((int64_t)1 << 60)

typedef struct {
    int rank;
    int64_t dim[FSIM_MAX_RANK];
} fsim_shape;
int64_t fsim_elems(const fsim_shape *s);                         /* product of the dims; fits int64_t by construction */
const char *fsim_shape_text(fsim_arena *a, const fsim_shape *s); /* "[8, 512, 768]" */

typedef enum { FSIM_INPUT, FSIM_WEIGHT, FSIM_MADE } fsim_role;

typedef struct {
    const char *name;
    fsim_shape shape;
    fsim_dtype dtype;
    fsim_role role;
    bool buffer;    /* of a weight: it is no parameter: a running statistic, a table, or computed from such */
    int storage;    /* the tensor that owns the memory: itself, or what it is a view of */
    int64_t offset; /* of a view: elements from the start of that memory */
    int over; /* a write in place: the tensor in whose memory the rows are written; -1: it has memory of its own */
    int64_t written_bytes; /* that its producer writes: all, or those rows */
    bool overwritten;      /* another tensor is written over it */
    bool renews;  /* it takes the memory of inputs or weights that nobody reads after it is made: the new state of an
                     optimizer */
    bool lasting; /* its memory is there from the first kernel to the last: an input's, a weight's, an output's */
    bool stays;   /* its memory stays to the end from when it is made: an output's, where there are gradients */
    int producer; /* primitive that computes it; -1 for inputs, weights and views */
    int reduces;  /* the tensor whose value it has in fewer bits, for gradients (--save-dtype); -1: of none */
    int64_t elems, bytes;
    int *reader, readers;     /* primitives that read it, ascending, each once (tensors that own memory only) */
    bool output, materialize; /* must be stored in memory (tensors that own memory only) */
    bool forward_output;      /* an output of the workload itself, not only of its derivatives */
    bool used;
    bool traced;   /* a gradient flows through it */
    bool adjoint;  /* it is what one reader contributes to the gradient of a tensor, or the sum of such */
    bool detached; /* no gradient is wanted of it, and none passes through it: a statistic, what only keeps numbers in
                      range */
    bool after_outputs; /* an input that exists only after somebody has used the outputs: the gradient of one of them */
    bool known;         /* kernels know its value: reading it costs nothing, for a bound (plan/search/given.c) */
    bool mapped;        /* its first dimension is the workload's batch: it has a value for each example */
    fsim_loc at;
} fsim_tensor;
/* Its shape as a workload says it: of a paired dtype the elements, where t->shape counts bytes. */
fsim_shape fsim_tensor_shape(const fsim_tensor *t);
/* That shape as text, in a. */
const char *fsim_tensor_shape_text(fsim_arena *a, const fsim_tensor *t);
/* Its elements, as that shape counts them. */
int64_t fsim_tensor_numbers(const fsim_tensor *t);

/* Bytes that are taken when an intermediate is made, and freed when its last reader is done. A write in place hands the
 * memory of the old tensor on to the new one. */
static inline int64_t fsim_taken_bytes(const fsim_tensor *t)
{
    return t->lasting || t->renews || t->over >= 0 ? 0 : t->bytes;
}
static inline int64_t fsim_freed_bytes(const fsim_tensor *t)
{
    return t->lasting || t->stays || t->renews || t->overwritten ? 0 : t->bytes;
}

/* May it be gone before it reaches DRAM? Not where it is written in place, or lies below what is to stay. */
static inline bool fsim_is_passing(const fsim_tensor *t)
{
    return t->over < 0 && !(t->overwritten && (t->lasting || t->stays));
}

/* When a primitive runs, in a workload that is differentiated. */
typedef enum { FSIM_FORWARD, FSIM_BACKWARD, FSIM_OPTIMIZER, FSIM_PHASES } fsim_phase;
extern const char *const fsim_phase_names[FSIM_PHASES]; /* "forward", ... */

/* Where a primitive is with regard to the barrier, where a gradient is known only after the outputs were used: all that
 * is before it must have run before anything that is after it. A copy of what is before it may run after it. */
typedef enum {
    FSIM_EITHER_SIDE,    /* leads to no output and needs no such gradient; or there is no barrier */
    FSIM_BEFORE_BARRIER, /* an output depends on it */
    FSIM_AFTER_BARRIER   /* it depends on the gradient of an output that is an input */
} fsim_side;

/* How a primitive reads an argument. */
typedef enum {
    FSIM_READ_MAP,  /* each element through map, over the primitive's points x reduced */
    FSIM_READ_ONCE, /* every element once, in order, from map.offset; the primitive says nothing about which point needs
                       which */
    FSIM_READ_PIECE,   /* the points of the result inside cut[0, cuts) read the element that the cuts and map name:
                          concat, pad, roll */
    FSIM_READ_WINDOW,  /* overlapping windows: see axis */
    FSIM_READ_INDIRECT /* `rows` rows of `run` elements, chosen by data: element map(point) + any.stride x a number
                          below any.extent that is known at run time only */
} fsim_reading;

/* One spatial axis of a window. Output o, tap k reads element o * stride + k * dilation - pad of `extent` elements.
 * For a transposed convolution the inverse; for adaptive pooling, output o reads elements floor(o * extent / out) to
 * ceil((o + 1) * extent / out). */
typedef struct {
    int64_t extent, out, taps, stride, dilation, pad;
} fsim_axis;
/* Elements of one axis that lie under at least one window, exactly. */
int64_t fsim_axis_touched(const fsim_axis *x);

typedef struct {
    int tensor; /* one that owns memory */
    fsim_reading how;
    fsim_map map;
    int axes;
    fsim_axis axis[3]; /* window: planes x axis[0] x ... ; outermost first */
    int64_t planes;
    int64_t rows, run; /* indirect */
    fsim_mode any;
    const fsim_cut *cut; /* piece */
    int cuts;
    int64_t distinct; /* elements read at least once; for indirect reads an upper bound */
} fsim_access;

/* A contraction as batched matrix product C[batch, m, n] = sum over k. Convolutions as implicit GEMM: m = batch x
 * output pixels, n = channels. */
typedef struct {
    int64_t batch, m, n, k;
    bool convolution,
        transposed_b; /* transposed_b: k is the contiguous dimension of the second operand, as in linear */
    fsim_dtype
        arithmetic; /* FSIM_F32: FP32 units; FSIM_TF32, F16, BF16, F8*, I8: tensor units where the device has them */
} fsim_gemm;

enum { FSIM_GELU_ERF, FSIM_GELU_TANH };                                          /* words of `approximate` */
enum { FSIM_BY_LIBRARY, FSIM_RING, FSIM_TREE, FSIM_ONE_SHOT, FSIM_TWO_SHOT };    /* words of `algorithm` */
enum { FSIM_PER_TENSOR, FSIM_PER_ROW, FSIM_PER_BLOCK };                          /* words of `per` */
enum { FSIM_BAG_SUM, FSIM_BAG_MEAN, FSIM_BAG_MAX };                              /* words of `bag_mode` */
enum { FSIM_NEAREST, FSIM_LINEAR, FSIM_BILINEAR, FSIM_TRILINEAR, FSIM_BICUBIC }; /* words of `mode` */
/* Attributes with one value: the fields that attribute.def lists. Which operator takes which, and what each is where it
 * is absent, says op.def. */
typedef struct {
#define FSIM_CTYPE_FLAG                                                     bool
#define FSIM_CTYPE_NUMBER                                                   double
#define FSIM_CTYPE_INT                                                      int64_t
#define FSIM_CTYPE_WORD                                                     int
#define FSIM_CTYPE_DTYPE                                                    fsim_dtype
#define FSIM_ATTR(id, name, also, type, field, least, most, words, meaning) FSIM_CTYPE_##type field;
#define FSIM_FIELD(type, field, meaning)                                    FSIM_CTYPE_##type field;
#define FSIM_SHARED(...)
#define FSIM_CALL(...)
#include "graph/attribute.def"
#undef FSIM_ATTR
#undef FSIM_CTYPE_FLAG
#undef FSIM_CTYPE_NUMBER
#undef FSIM_CTYPE_INT
#undef FSIM_CTYPE_WORD
#undef FSIM_CTYPE_DTYPE
} fsim_attrs;

typedef struct {
    fsim_op op;
    const char *name; /* the name of its first output */
    int source;       /* the operator of the workload that it was expanded from */
    int args;
    fsim_access *arg;
    int results, result[2];
    int64_t points, reduced; /* points of its output; how many points are reduced, contracted or under the window for
                                each of them */
    fsim_gemm gemm;          /* contractions */
    fsim_dtype dtype;        /* the arithmetic of all operators that are not contractions */
    fsim_attrs attrs;
    double flops, instructions, specials; /* for each of points x reduced */
    bool effect;                          /* has an effect outside: must run even if nobody reads its result */
    fsim_phase phase;
    int call; /* the operator, by number from 1, whose backward pass a library has in one call that does this; 0: none
               */
    int serving; /* the call of `serving` that it belongs to, by number from 1, where plans are to take it; 0: none */
    bool rounds; /* its result has the bits of its dtype in registers too, where other values may have more */
    int again;   /* it does in the backward pass what another has done in the forward pass: in which event
                    (fsim_copy_read), or 1; 0: it does not */
    fsim_side side;
    fsim_loc at;
} fsim_node;

/* interpolate: how far neighbours of the result along spatial axis i are apart, in elements of x. */
double fsim_interpolation_ratio(const fsim_node *n, int i);

/* An operator as the workload file has it. */
typedef struct {
    fsim_op op;
    const char *name;
    const char *layer, *from; /* the path of the module that it belongs to, and what the file that it was imported from
                                 calls it; NULL: not said */
    int first, nodes;         /* its primitives are node[first, first + nodes) */
    int layer_number; /* of all turns of outermost repeat blocks, by number from 1, the one that it belongs to; 0: none
                       */
    fsim_loc at;
    fsim_phase phase;
    int gradient_of;  /* the source whose gradient or, beside values, tangent it computes; -1: of none */
    bool fused;       /* eager runs it as one kernel: the attribute of that name */
    bool accumulates; /* it adds what several readers of a tensor contribute to the tensor's gradient */
} fsim_source;

/* An operator of a workload that is differentiated, with its tensors as the file has them, views among them. */
typedef struct {
    fsim_op op;
    int args, *arg, results, *result;
    fsim_attrs attrs;
} fsim_operation;

/* A gradient that is wanted. */
typedef struct {
    int of, tensor; /* the tensor that it belongs to, and the one that holds it: grad/NAME, or one that is equal */
} fsim_gradient;

/* A derivative that has several forms: from an argument, from the result, from a mask of one bit an element. */
typedef struct {
    int node;            /* the primitive that is differentiated */
    int argument, forms; /* with respect to which argument; how many forms */
    int form;            /* the one that was taken */
    unsigned exact;      /* bit f: form f gives the same numbers as the first, whatever the result was rounded to */
    unsigned packed;     /* bit f: form f reads a mask of bits */
} fsim_choice;

/* What a graph was read from, so that it can be read again with other derivatives. */
typedef struct fsim_read_from fsim_read_from;

typedef struct {
    int count;
    int *node;
    bool led; /* of fuse: where node[0] is, the others are; they may be in kernels without it */
    fsim_loc at;
} fsim_node_set;

/* What serving stacks run as calls of their libraries. */
typedef enum {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) FSIM_SERVING_##id,
#include "graph/serving.def"
#undef FSIM_SERVING
    FSIM_SERVING_KINDS
} fsim_serving_kind;
enum { FSIM_SERVING_VALUES = 8 };
typedef enum {
#define FSIM_SERVING_OPTION(id, name, kernels, most, meaning) FSIM_SERVING_##id,
#include "graph/serving_option.def"
#undef FSIM_SERVING_OPTION
    FSIM_SERVING_OPTIONS
} fsim_serving_option;

/* Operators of the workload that are one such call. */
typedef struct {
    fsim_serving_kind kind;
    fsim_node_set of;                    /* ascending */
    double value[FSIM_SERVING_VALUES];   /* in the order of the kind's row in serving.def */
    fsim_dtype dtype, stored;            /* of activations; of what is stored: weights, caches */
    double option[FSIM_SERVING_OPTIONS]; /* 0: not said */
    double *length;                      /* cached tokens of the requests, ascending; NULL: all have the same */
    int lengths;                         /* how many; each stands for as many requests as the others */
} fsim_serving_call;

typedef struct {
    const char *name;
    int64_t value;
    fsim_dtype dtype; /* dtype that the symbol stands for; FSIM_DTYPE_NONE: it is an integer */
} fsim_symbol;

/* What a partitioner keeps for the backward pass. */
typedef struct {
    double made_bytes, given_bytes; /* made by the forward pass; of inputs and weights */
    const bool *kept;               /* by tensor of the workload itself */
} fsim_budgeted;

typedef struct {
    const char *name, *description, *path;
    fsim_symbol *symbol;
    int symbols;
    int64_t batch; /* number of examples that the program is mapped over; 0: the program is used as written */
    fsim_tensor *tensor;
    int tensors,
        own_tensors; /* own: those of the workload itself, which come first; the others are of its derivatives */
    fsim_node *node;
    int nodes;
    fsim_source *source;
    int sources;
    fsim_node_set *fuse, *separate;
    int fuses, separates;
    fsim_serving_call *serving;
    int servings;
    fsim_node_set *hand_fused; /* what serving stacks run as one kernel of their own (`kernel: fused`) */
    int hand_fusions;
    bool calls;                                         /* some primitive has a `call`, or `serving` */
    int64_t parameters;                                 /* elements of all weights */
    double contraction_flops, phase_flops[FSIM_PHASES]; /* of contractions: all, and by phase */
    fsim_derive_mode derived;
    fsim_gradient *gradient;
    int gradients;
    fsim_operation *operation; /* by source, of the workload itself */
    int operations;
    const fsim_budgeted *cut; /* what torch.compile keeps, where that is not the least cut of this graph; NULL: it is */
    fsim_choice *choice;      /* derivatives that have several forms */
    int choices;
    const fsim_read_from *origin; /* NULL: not differentiated */
    bool checkpoint; /* backward computes the values of each layer again: what fsim_source.layer_number says has layers
                        of models too then */
    const bool *dropped;          /* with checkpoint: by tensor of the workload, what is given up; NULL */
    const signed char *unreduced; /* with fsim_derive.save: by tensor of the workload, an fsim_unreduced; NULL */
    int64_t micro_batches; /* passes through the graph for one update, each of which adds its gradients; 0: one */
    bool barrier;          /* some primitive is after the barrier */
} fsim_graph;

typedef struct {
    const char *name, *value; /* --set NAME=VALUE */
} fsim_binding;

/* What is asked of a workload besides its file: values for its symbols, instead of those that the file has;
 * derivatives. */
typedef struct {
    const fsim_binding *at;
    int count;
    const fsim_derive *derive; /* the derivatives that are wanted beside the workload; NULL: none */
} fsim_bindings;

/* Reads a workload; set NULL: no values for its symbols. NULL after errors (in d). In a. path "-" is standard input's
 * name; text stays referenced. */
fsim_graph *fsim_graph_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                             const fsim_bindings *set);
struct fsim_yaml;
/* The same from a document that was parsed before, so that a workload can be read with many values of its symbols. y is
 * not changed and its text stays referenced; path is for messages. NULL after errors (in d). In a. */
fsim_graph *fsim_graph_of(fsim_arena *a, fsim_diag *d, const char *path, const struct fsim_yaml *y,
                          const fsim_bindings *set);
/* The same workload with these forms of its derivatives (fsim_derive): NULL where it has none. In a. */
fsim_graph *fsim_graph_with_forms(const fsim_graph *g, const signed char *form, int forms, fsim_arena *a);
/* The same with the forms that g has, and with what `fate` (fsim_derive) gives up computed again. */
fsim_graph *fsim_graph_with_fates(const fsim_graph *g, const signed char *fate, int fates, fsim_arena *a);
/* The same with the forms, fates and reads of `like`. */
fsim_graph *fsim_graph_with_copies(const fsim_graph *g, const fsim_derive *like, fsim_arena *a);
/* The same with the forms that g has, where of each layer what no other reads is computed again, as --checkpoint says.
 * NULL where no operator belongs to a layer, or where g computes values again already. */
fsim_graph *fsim_graph_checkpointed(const fsim_graph *g, fsim_arena *a);
/* The same without fsim_derive.save: g itself where it has none. */
const fsim_graph *fsim_graph_unreduced(const fsim_graph *g, fsim_arena *a);
/* How g was differentiated; NULL: it was not. */
const struct fsim_derive *fsim_derivation_of(const fsim_graph *g);
/* Are two graphs the same in all but the places in their files: names, shapes, operators and what they read, in the
 * same order? */
bool fsim_same_graph(const fsim_graph *x, const fsim_graph *y);
/* Fills every tensor's readers, ascending, from what the primitives read. */
void fsim_link_readers(fsim_graph *g, fsim_arena *a);
/* Gives a graph that has some primitives of another one operators of its own: each has those that are left of it. */
void fsim_recount_sources(fsim_graph *g, fsim_arena *a);
/* The primitive of this name, or the last one of the operator or output of this name; -1 where there is none. */
int fsim_find_node(const fsim_graph *g, const char *name);

#endif

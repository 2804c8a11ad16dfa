/* SPDX-License-Identifier: Apache-2.0 */
/* gradient.h: differentiation after expansion, from graph to graph: what its files share.
 *   record.c          each primitive as its rule saw it, while the graph is built
 *   gradient.c        the walk from the outputs back to what is wanted
 *   gradient.def      which rule each operator has; the rules are in gradient_*.c
 *   tangent.c         the walk from what is wanted to the outputs, of --jvp
 *   derivative.def    derivatives of elementwise operators, as terms; term.c makes primitives of them
 * The gradient of tensor t is named grad/t, the steps to it grad/t/1, grad/t/2, ... What a rule emits goes through the
 * rules of operators like what a workload says, so nothing behind it knows what a gradient is. */
#ifndef FUSESIM_GRAPH_GRADIENT_H
#define FUSESIM_GRAPH_GRADIENT_H

#include "base/names.h"
#include "graph/build.h"
#include "graph/derive.h"

/* A primitive as its rule made it. Views have none: a tensor says what it is a view of. */
typedef struct fsim_record {
    fsim_op op;
    fsim_loc at;
    int source;
    int args, *arg;   /* tensors, views among them */
    int result;       /* its first result */
    fsim_shape shape; /* of that, as the operator makes it: the tensor may have been given another since */
    fsim_attrs attrs;
    const char *equation;
    int lists;
    struct fsim_record_list {
        fsim_attr attr;
        fsim_list list;
    } * list; /* those that are present */
} fsim_record;

/* Keeps the call that is about to become the newest primitive. */
void fsim_record_call(fsim_build *b, const fsim_call *call, const fsim_shape *shape, int result);
/* A list attribute of it; one that is not present where it had none. */
fsim_list fsim_record_list(const fsim_record *r, fsim_attr attr);

/* A tensor on its way to be a gradient: a constant in every element, or a tensor whose shape broadcasts to that of
 * what it belongs to, with the same rank. */
typedef struct {
    enum { FSIM_NOTHING, FSIM_CONSTANT, FSIM_TENSOR, FSIM_REFUSED } is;
    double constant;
    int tensor;
} fsim_value;

#define FSIM_ZERO    ((fsim_value){.is = FSIM_NOTHING})
#define FSIM_REFUSAL ((fsim_value){.is = FSIM_REFUSED})
static inline fsim_value fsim_value_of(int tensor)
{
    return tensor < 0 ? FSIM_REFUSAL : (fsim_value){.is = FSIM_TENSOR, .tensor = tensor};
}
static inline fsim_value fsim_constant(double c)
{
    return c == 0 ? FSIM_ZERO : (fsim_value){.is = FSIM_CONSTANT, .constant = c};
}

/* A step that was made for the primitive at hand: the same one is made once. */
typedef struct {
    fsim_op op;
    int args, arg[2];
    bool has_scalar;
    double scalar;
    fsim_dtype dtype; /* of a cast */
    int result;
} fsim_memo;

/* A tensor, and the one that gradients read in its place: rounded to fewer bits. */
typedef struct {
    int tensor, own, rounded; /* own: whose value it is in the workload: the tensor, or what it is a copy of */
} fsim_rounded;

typedef struct fsim_derivation {
    fsim_build *build;
    const fsim_names *names;
    const fsim_derive *how;
    int tensors;         /* of the workload itself; those behind them were added here */
    int sources;         /* the same of sources */
    bool *wanted;        /* by tensor */
    bool *useful;        /* by tensor: does it depend on something wanted? */
    fsim_value *adjoint; /* by tensor: the sum of what its readers contributed so far; of --jvp its tangent */
    int *steps;          /* by tensor: how many steps to its gradient have names */
    int *reader;         /* by tensor: the first primitive that contributed; -1: none */
    bool *viewed;        /* by tensor: is another a view of it? */
    bool *delivered;     /* by tensor: its gradient is complete */
    int towards;         /* the tensor that steps are named after */
    int source;          /* the workload's operator in whose stead steps are run; -1: of no one */
    bool *dropped;       /* by tensor: it is given up with the rest of its layer (fsim_derive.checkpoint); NULL: none */
    int *again;          /* by event and tensor: the one with its values that the backward pass computes; -1: none yet.
                            Event 0 stands for whatever fsim_derive.fate drops */
    int *copies;         /* by tensor: how many of these there are */
    const fsim_record *own; /* the primitive at hand, before again.c put copies into it */
    signed char *unreduced; /* by tensor: an fsim_unreduced; NULL: all are read as they are */
    fsim_rounded *rounded;
    int roundeds, rounded_room;
    bool packing; /* conditions of fsim_derive_where pass through bits: forms.h */
    bool adding;  /* the steps add what several readers contributed */
    fsim_memo *memo;
    int memos, memo_room;
} fsim_derivation;

/* The contribution of one argument of a primitive to its gradient: r's argument i, where g is the gradient of its
 * result, in r->shape or broadcasting to it. Made of primitives that the rule emits. FSIM_ZERO where none flows. */
typedef fsim_value fsim_gradient_rule(fsim_derivation *d, const fsim_record *r, int i, fsim_value g);
/* The tangent of a primitive's result, of r->shape or broadcasting to it: dot[i] is that of argument i. */
typedef fsim_value fsim_tangent_rule(fsim_derivation *d, const fsim_record *r, const fsim_value *dot);
#define FSIM_GRADIENT(id, rule, tangent)                                                                               \
    fsim_gradient_rule fsim_gradient_##rule;                                                                           \
    fsim_tangent_rule fsim_tangent_##tangent;
#include "graph/gradient.def"
#undef FSIM_GRADIENT
/* The rule of each primitive operator; NULL of composites, which are differentiated by their steps. */
extern fsim_gradient_rule *const fsim_gradient_rules[FSIM_OP_COUNT];
extern fsim_tangent_rule *const fsim_tangent_rules[FSIM_OP_COUNT];

/* What rules emit. Each takes the values that another returned; a failure passes through. */
const fsim_tensor *fsim_value_tensor(const fsim_derivation *d, fsim_value v);
/* An operator on tensors: attributes other than its defaults are set between the two, on step->call. */
void fsim_derive_start(fsim_derivation *d, fsim_step *step, fsim_op op);
/* Runs its rule. */
fsim_value fsim_derive_end(fsim_derivation *d, fsim_step *step, int args, const int *arg);
/* Elementwise operators of two values, or of one and a number, with constants folded. op: ADD, SUB, MUL, DIV and others
 * of op.def that take `scalar`. */
fsim_value fsim_derive_binary(fsim_derivation *d, fsim_op op, fsim_value x, fsim_value y);
/* An elementwise operator of one. */
fsim_value fsim_derive_unary(fsim_derivation *d, fsim_op op, fsim_value x);
/* x times a number. */
fsim_value fsim_derive_scaled(fsim_derivation *d, fsim_value x, double factor);
/* v as a tensor of exactly this shape: constants are filled in, what broadcasts is expanded. */
fsim_value fsim_derive_whole(fsim_derivation *d, fsim_value v, const fsim_shape *shape, fsim_dtype dtype);
/* A tensor under another shape of as many elements. */
fsim_value fsim_derive_view(fsim_derivation *d, fsim_value v, const fsim_shape *shape);
/* The adjoint of broadcasting from shape `to` to shape `from`: v, which broadcasts to `from`, summed to what broadcasts
 * to `to`. */
fsim_value fsim_derive_sum_to(fsim_derivation *d, fsim_value v, const fsim_shape *from, const fsim_shape *to);
/* Sums over dimensions, which stay with length 1. */
fsim_value fsim_derive_sum(fsim_derivation *d, fsim_value v, const fsim_list *dims);
/* v in another dtype. */
fsim_value fsim_derive_cast(fsim_derivation *d, fsim_value v, fsim_dtype dtype);
/* where(condition, a, b): a and b may be constants. */
fsim_value fsim_derive_where(fsim_derivation *d, fsim_value condition, fsim_value a, fsim_value b);
/* Of x's shape: is an element the one that an index, of x's shape without dim, names along dim? A comparison, which is
 * never stored. */
fsim_value fsim_derive_hot(fsim_derivation *d, fsim_value index, const fsim_shape *x, int dim);
/* The second result of a sort or topk, which it is given where the workload asks for values alone. */
fsim_value fsim_derive_indices(fsim_derivation *d, const fsim_record *r);
/* An error at the primitive that r is, with the way from the output to it. */
fsim_value fsim_derive_refuse(fsim_derivation *d, const fsim_record *r, const char *why);

/* A term of derivative.def over r's arguments $0, $1, its result $y, its fields ($alpha) and $g. */
fsim_value fsim_term(fsim_derivation *d, const fsim_record *r, const char *text, fsim_value g);
/* The derivative of an elementwise operator with respect to argument i, its gradient being $g; NULL: 0. form 0 is the
 * one that is taken by default; 1, 2, ... are others, NULL where there are no more. */
const char *fsim_derivative(fsim_op op, int i, int form);

/* Tangents beside the values, from what is wanted to the outputs: --jvp. False after an error. */
bool fsim_derive_tangents(fsim_derivation *d);
/* again.c: values that fsim_derive.fate drops are computed again by the backward pass. Before the walk: */
void fsim_start_again(fsim_derivation *d);
/* A primitive as the backward pass sees it, with such values in place of those of the forward pass. False after an
 * error. */
bool fsim_record_again(fsim_derivation *d, const fsim_record *r, fsim_record *out);

/* The tensor that the derivative at hand, of operator d->source, reads for tensor t of the workload. -1 after an error.
 */
int fsim_read_again(fsim_derivation *d, int t);
/* What r makes, tensor t of the workload, from other arguments, as a primitive of this name; the tensor, -1 after an
 * error. */
int fsim_repeat(fsim_derivation *d, const fsim_record *r, int t, const int *arg, const char *name);
/* reduced.c: values that gradients read in fewer bits, as fsim_derive.save says. Before the walk; false after an error:
 * a name that no tensor has. */
bool fsim_start_reduced(fsim_derivation *d);
/* What the derivative of r, the primitive at hand, reads where it reads argument i, or with -1 the result: that tensor,
 * or what was rounded to fewer bits and back. */
fsim_value fsim_as_saved(fsim_derivation *d, const fsim_record *r, int i);

/* May a derivative with respect to the tensor exist: is it a float, and no constant by the user's or PyTorch's word? */
bool fsim_may_want(const fsim_tensor *t);
/* Marks what --grad asks for. False after an error. */
bool fsim_mark_wanted(fsim_derivation *d);
/* Does an output depend on something that is wanted? An error that says why not, where none does. */
bool fsim_is_derivable(fsim_derivation *d);
/* Has any tensor that --grad names a gradient now? A warning for each that has none, an error where none has. */
bool fsim_have_gradients(fsim_derivation *d);

/* Appends the update of the weights by the gradients of g->gradient: optimizer.c. False after an error. */
bool fsim_update_weights(fsim_build *b, const fsim_names *names, const fsim_derive *how);

/* Adds the primitives that `how` asks for to a graph whose readers and outputs are known. Names of tensors are in
 * `names`. False after an error. */
bool fsim_differentiate(fsim_build *b, const fsim_names *names, const fsim_derive *how);

#endif

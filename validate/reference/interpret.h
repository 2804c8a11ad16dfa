/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.h: shared by the files of the reference.
 *
 * A bound has two parts. The shared part is an error that neighbouring elements have in common, because all of them
 * read the same inexact element (the maximum of a row, its mean). The own part is the rest, which counts as
 * independent. In a sum, shared parts add up, and own parts add up as the root of their squares: rounding errors of
 * different elements are uncorrelated (Higham and Mary, SIAM J. Sci. Comput. 41:5, 2019, for the probabilistic
 * view). Equal elements, as the gradient of a mean has, have equal errors: bounds of consecutive ones add up first.
 * That root counts five times: the error of storing an element is known, so its bound is one standard
 * deviation, and many thousands of rows are compared. The results of sums and contractions have own parts only. */
#ifndef FUSESIM_VALIDATE_REFERENCE_INTERPRET_H
#define FUSESIM_VALIDATE_REFERENCE_INTERPRET_H

#include "validate/reference/element.h"
#include "validate/reference/values.h"

typedef struct {
    const fsim_graph *g;
    fsim_reference *r;
    double **shared; /* per storage tensor */
    fsim_loads *loads;
    const void *with;
    double **rounded, *none; /* per storage tensor that is loaded: the error of storing each element; zeros, as many as
                                the largest tensor has elements */
    double size;             /* scale of floating inputs; 0: 1 */
    const fsim_reference *exact; /* of a sample: the exact reference. A sample rounds results as a kernel may, and
                                    computes no bounds; `rounded` then has the stored values */
} fsim_interpreter;

/* What a node reads of a tensor. */
typedef struct {
    const double *value, *bound, *shared;
    fsim_dtype dtype;
} fsim_operand;
/* Values and bounds of n's argument x. If n loads it from memory, its only bound is the rounding of the store. Lives
 * in the interpreter. */
fsim_operand fsim_operand_of(const fsim_interpreter *in, const fsim_node *n, const fsim_access *x);

/* Walks the elements of a map in order; `at` is the current one. */
typedef struct {
    int modes;
    const fsim_mode *mode;
    int64_t at, digit[FSIM_MAX_MODES];
} fsim_cursor;
fsim_cursor fsim_cursor_of(const fsim_map *m); /* over the points */
static inline void fsim_step(fsim_cursor *c)
{
    for (int i = c->modes; i-- > 0;) {
        c->at += c->mode[i].stride;
        if (++c->digit[i] < c->mode[i].extent)
            return;
        c->at -= c->mode[i].stride * c->mode[i].extent;
        c->digit[i] = 0;
    }
}

double fsim_unit(fsim_dtype t); /* relative rounding error of a stored float; 0 for integers */
double
fsim_arithmetic_unit(fsim_dtype t); /* relative error of arithmetic on t: f64 computes in f64, all others in f32 */
/* The error of a sum of `terms` products, relative to the largest sum on the way, by additions with an error of `unit`.
 * Tensor units keep about 14 bits of a sum of 8-bit floats' products (DeepSeek-V3 technical report, 3.3.2); kernels add
 * up such sums of at most 128 products in f32. */
double fsim_sum_error(fsim_dtype arithmetic, double unit, int64_t terms);
double fsim_rounding(fsim_dtype t, double v); /* the most by which storing v as t changes it; 0 where t has the value */
double fsim_stored(fsim_dtype t, double v);   /* v rounded to t */
double fsim_narrowed(fsim_dtype t, double v); /* v as products in this arithmetic have it: TF32 is truncated */
double fsim_difference(double a, double b);   /* |a - b|: 0 for equal infinities and two NaNs, infinite for one */

/* The error of a result: own and shared part of its bound, and the relative error of the arithmetic that computed
 * it. */
typedef struct {
    double own, shared, unit;
} fsim_doubt;
/* Sets result i of a tensor to v with this error. Adds the rounding to the tensor's dtype where that is coarser,
 * wraps integers, and removes the bound of values that overflow. */
void fsim_set_result(const fsim_interpreter *in, int tensor, int64_t i, double v, fsim_doubt off);

/* The same where every kernel rounds the result to the tensor's dtype, in registers too: it is right, or off by steps
 * of the dtype. */
void fsim_set_rounded(const fsim_interpreter *in, int tensor, int64_t i, double v, fsim_doubt off);

/* A sum being computed. */
typedef struct {
    double value, magnitude, squares, linear, quadratic, shared;
    double last, alike, run; /* the last term; the magnitude of the equal terms so far; the bounds of the last ones */
    int64_t terms, repeats;
} fsim_sum;
/* Adds term v with the own and shared part of its bound. */
void fsim_sum_add(fsim_sum *s, double v, double own, double shared);
double fsim_sum_own(const fsim_sum *s);                   /* the part from the terms' own bounds */
double fsim_sum_rounding(const fsim_sum *s, double unit); /* rounding of the additions, in any order */

void *fsim_memory(int64_t count, size_t size); /* zeroed; ends the program where there is not enough memory */
uint64_t fsim_hash(const char *name, uint64_t seed, int64_t i);

/* Sets the values of inputs and weights. */
void fsim_make_inputs(const fsim_interpreter *in, uint64_t seed);
/* Sets plausible values for tensor t, whose operator the reference can't compute. */
void fsim_make_up(const fsim_interpreter *in, int t, uint64_t seed);
/* Elementwise, random and permuting primitives. */
void fsim_interpret_points(const fsim_interpreter *in, const fsim_node *n);
/* Contractions. */
void fsim_interpret_contraction(const fsim_interpreter *in, const fsim_node *n);
/* Reductions. */
void fsim_interpret_reduction(const fsim_interpreter *in, const fsim_node *n);
/* Pooling, also adaptive. */
void fsim_interpret_window(const fsim_interpreter *in, const fsim_node *n);
/* Gradients of pooling, and fold: window by window, each adds to its elements. */
void fsim_interpret_window_back(const fsim_interpreter *in, const fsim_node *n);
/* max_pool_pick: an element of another tensor, where a window has its maximum. */
void fsim_interpret_pick(const fsim_interpreter *in, const fsim_node *n);
/* interpolate: elements of a grid between those of another. */
void fsim_interpret_interpolate(const fsim_interpreter *in, const fsim_node *n);
/* Assemblies: concat, pad, roll. */
void fsim_interpret_assembly(const fsim_interpreter *in, const fsim_node *n);
/* Gathers and embeddings. An index outside of the table reads row 0, and its result is not compared. */
void fsim_interpret_gather(const fsim_interpreter *in, const fsim_node *n);
/* embedding_bag: the sum, mean or largest of the rows of each bag; 0 of an empty one. */
void fsim_interpret_bag(const fsim_interpreter *in, const fsim_node *n);
/* PyTorch's scatter, and index_copy where there are fewer indices than elements. Elements that two indices name are
 * not compared. */
void fsim_interpret_scatter(const fsim_interpreter *in, const fsim_node *n);
/* index_add: x, to which slices are added where an index says. */
void fsim_interpret_index_add(const fsim_interpreter *in, const fsim_node *n);
/* Running sums and products. */
void fsim_interpret_scan(const fsim_interpreter *in, const fsim_node *n);
/* sort ascends, topk descends. Indices of elements that may be equal are not compared. */
void fsim_interpret_sort(const fsim_interpreter *in, const fsim_node *n);
/* Collectives of one device: all_gather repeats its input, reduce_scatter keeps the first shard. */
void fsim_interpret_collective(const fsim_interpreter *in, const fsim_node *n);

#endif

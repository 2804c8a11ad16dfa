/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h: what a workload computes: a slow interpreter of the unfused graph in double precision, with a bound for
 * each element on how far a right kernel's result may be from it.
 *
 * The bound is a running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3): every value
 * carries the rounding of the arithmetic that makes it and of the dtypes that it is stored in on the way, so that
 * tolerance follows from dtype and reduction length, not from taste. Where the bound of an argument straddles a jump (a
 * comparison, a cast to integers, an index of the largest element) the result is free: its bound is infinite. */
#ifndef FUSESIM_VALIDATE_REFERENCE_REFERENCE_H
#define FUSESIM_VALIDATE_REFERENCE_REFERENCE_H

#include "validate/reference/element.h"
#include "validate/reference/inputs.h"
#include "validate/reference/values.h"

/* Bytes of the largest graph that the interpreter takes: values and bounds of all storage tensors. */
double fsim_reference_bytes(const fsim_graph *g);

/* Can it interpret the operator, or say why nobody knows its values? */
bool fsim_reference_knows(fsim_op op);
/* The first operator of g that it does not know, or NULL: the functions below need a graph without any. */
const char *fsim_reference_lacks(const fsim_graph *g);

/* Interprets g on inputs that depend on nothing but the tensors' names, shapes and `seed`; indices lie in the tables
 * that they index, and what is divided by, or put under a root or a logarithm, is positive. Bounds grow with depth,
 * about 4 times a layer of a transformer: in f16 nothing is known after some 3 of them, in f32 after 7. Free with
 * fsim_reference_free. */
fsim_reference *fsim_reference_of(const fsim_graph *g, uint64_t seed);
/* The values of fsim_reference_of with the bounds of kernels that are checked one at a time, each started from what
 * fsim_reference_store gives of the tensors that it loads: bounds that do not grow with depth. with: handed to loads.
 */
fsim_reference *fsim_reference_within(const fsim_graph *g, uint64_t seed, fsim_loads *loads, const void *with);
/* Where those values overflow, so that a tenth of some tensor or all of it cannot be compared: the same of floating
 * inputs and weights that are 8, 64 or 512 times smaller, whichever does not first. Where all do (exponentials of
 * exponentials of anything), as they are. */
fsim_reference *fsim_reference_finite(const fsim_graph *g, uint64_t seed, fsim_loads *loads, const void *with);
/* Frees values, bounds and r itself; the graph stays. r may be NULL. */
void fsim_reference_free(fsim_reference *r);

/* The tensor's expected values, rounded to its dtype, as they lie in memory: inputs for kernels. bytes: as many as the
 * tensor has. */
void fsim_reference_store(const fsim_reference *r, int tensor, void *bytes);

typedef struct {
    int64_t at;              /* first wrong element of the storage tensor, -1: none */
    int64_t wrong, compared; /* elements outside of their bounds; elements that had a finite one */
    int64_t elems, finite;   /* all elements; those compared of which a number is wanted */
    double got, wanted, bound;
    double worst; /* largest |got - wanted| / bound of all compared */
    double off;   /* root of the sum of squares of got - wanted over that of wanted, of the finite ones */
    double spread,
        usual; /* root of the mean square of |got - wanted| / bound, and what it is of one right computation */
} fsim_comparison;
/* Compares the tensor's bytes, as a kernel left them. */
fsim_comparison fsim_reference_compare(const fsim_reference *r, int tensor, const void *bytes);

/* Does it say something of the tensor: are 9 of 10 elements comparable, and is some number among them? Infinities that
 * are wanted and come out tell nothing of what led to them. */
bool fsim_comparison_tells(const fsim_comparison *c);
/* Is every element within its bound, and still all of them off by more than rounding explains? Bounds of long chains in
 * 16 bits are wide, since each must hold for the worst of many elements: five deviations in sums, all in one direction
 * elsewhere. What is usual comes from a sample instead: the graph interpreted once more with every result rounded to
 * its dtype, and moved within the error of its arithmetic by a fraction of its own, as kernels that store everything
 * would. Kernels that keep values in registers round less. Both are measured as shares of the bounds, which weighs
 * elements by how much each can tell. Beyond twice the usual, of 64 elements at least, is wrong: of the shipped
 * workloads' kernels the worst has 1.3, and 1.0 in 16 bits. Less than 2^-8 of the tensor's size, the unit of bf16,
 * never is here: narrow bounds see it. */
bool fsim_comparison_drifts(const fsim_comparison *c);

#endif

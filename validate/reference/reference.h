/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h: what a workload computes: an interpreter of the unfused graph in double precision, slow, with a bound
 * for each element of how much a correct kernel's result may differ.
 *
 * The bound is a running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3). Every value
 * carries the rounding of the arithmetic and of the dtypes that it was stored in, so tolerances follow from dtypes
 * and reduction lengths and are not chosen by hand. Where the bound of an argument includes a jump (a comparison, a
 * cast to integers, the index of the largest element), the result may have any value: its bound is infinite. */
#ifndef FUSESIM_VALIDATE_REFERENCE_REFERENCE_H
#define FUSESIM_VALIDATE_REFERENCE_REFERENCE_H

#include "validate/reference/element.h"
#include "validate/reference/inputs.h"
#include "validate/reference/values.h"

/* The most bytes that the interpreter takes, for values and bounds of all storage tensors. */
double fsim_reference_bytes(const fsim_graph *g);

/* Can it interpret the operator, or does it know why its values are arbitrary? */
bool fsim_reference_knows(fsim_op op);
/* The first operator of g that it does not know, or NULL. The functions below need a graph without such operators. */
const char *fsim_reference_lacks(const fsim_graph *g);

/* Interprets g on inputs that depend only on the tensors' names, shapes and `seed`. Indices are inside of their
 * tables; divisors and arguments of roots and logarithms are positive. Bounds grow with depth, about 4 times for
 * each layer of a transformer: after 3 layers in f16, or 7 in f32, they say nothing. Free with fsim_reference_free. */
fsim_reference *fsim_reference_of(const fsim_graph *g, uint64_t seed);
/* The values of fsim_reference_of with bounds for kernels that are checked one at a time, each starting from the
 * stored values (fsim_reference_store) of the tensors that it loads. These bounds do not grow with depth. with:
 * passed to loads. */
fsim_reference *fsim_reference_within(const fsim_graph *g, uint64_t seed, fsim_loads *loads, const void *with);
/* For values that overflow so that a tenth of some tensor, or all of it, can't be compared: the same with floating
 * inputs and weights that are 8, 64 or 512 times smaller, the first of these that does not overflow. If all do
 * (exponentials of exponentials), the original values. */
fsim_reference *fsim_reference_finite(const fsim_graph *g, uint64_t seed, fsim_loads *loads, const void *with);
/* Frees values, bounds and r, but not the graph. r may be NULL. */
void fsim_reference_free(fsim_reference *r);

/* Stores the tensor's expected values, rounded to its dtype, as in memory. bytes: room for the whole tensor. */
void fsim_reference_store(const fsim_reference *r, int tensor, void *bytes);

typedef struct {
    int64_t at;              /* first wrong element of the storage tensor; -1: none */
    int64_t wrong, compared; /* elements outside of their bounds; elements with a finite bound */
    int64_t elems, finite;   /* all elements; those compared of which a number is wanted */
    double got, wanted, bound;
    double worst; /* largest |got - wanted| / bound of all compared */
    double off;   /* root of the sum of squares of got - wanted over that of wanted, of the finite ones */
    double spread,
        usual; /* root of the mean square of |got - wanted| / bound, and what it is of one right computation */
} fsim_comparison;
/* Compares the tensor's bytes, as a kernel left them. */
fsim_comparison fsim_reference_compare(const fsim_reference *r, int tensor, const void *bytes);

/* Does the comparison say something about the tensor? At least 9 of 10 elements must be comparable, and one of them
 * a finite number: an infinity that is expected says nothing about how it was computed. */
bool fsim_comparison_tells(const fsim_comparison *c);
/* Is every element within its bound, and yet the tensor as a whole off by more than rounding explains? Bounds of
 * long chains in 16 bits are wide, because each must hold for the worst of many elements: five deviations in sums,
 * all in one direction elsewhere. The usual deviation comes from a sample: the graph interpreted once more, with
 * every result rounded to its dtype and changed by a random part of the error of its arithmetic, as in kernels that
 * store everything. (Kernels that keep values in registers round less.) Both deviations are measured as shares of
 * the bounds, which weighs elements by how much each can tell. More than twice the usual deviation, over at least 64
 * elements, is wrong: of the shipped workloads' kernels the worst has 1.3, and 1.0 in 16 bits. A deviation below
 * 2^-8 of the tensor's size, the unit of bf16, is never reported here: narrow bounds detect it. */
bool fsim_comparison_drifts(const fsim_comparison *c);

#endif

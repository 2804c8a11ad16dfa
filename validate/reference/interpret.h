/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.h: between the files of the reference.
 *
 * A bound is two parts. Shared: what neighbouring elements have wrong together, because all of them read the same
 * inexact element (a row's maximum, its mean). Own: the rest, taken as independent. In a sum the shared parts add up,
 * own ones as the root of their squares: rounding errors of different elements are uncorrelated (Higham and Mary, SIAM
 * J. Sci. Comput. 41:5, 2019, for the probabilistic view). They count five times there: what a store has moved an
 * element by is known, so that its bound is one standard deviation, and many thousand rows are compared. Results of
 * sums and contractions are own again. */
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
    double **rounded, *none; /* per storage tensor that somebody loads: how far storing has moved it; zeros, as many as
                                any tensor has */
    double size;             /* of floating inputs, over what they usually are; 0: 1 */
    const fsim_reference *exact; /* of a sample: what it is a sample of. Results are rounded as a kernel may round them,
                                    bounds are not made; rounded: what is loaded, as it is stored */
} fsim_interpreter;

/* What a node reads of one tensor. */
typedef struct {
    const double *value, *bound, *shared;
    fsim_dtype dtype;
} fsim_operand;
/* Values and bounds of n's argument x. What n loads from memory has the rounding of the store as its only bound. Lives
 * in the interpreter. */
fsim_operand fsim_operand_of(const fsim_interpreter *in, const fsim_node *n, const fsim_access *x);

/* Walks a map's elements in order: at is the present one. */
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

double fsim_unit(fsim_dtype t);            /* relative rounding error of a stored float; 0 for integers */
double fsim_arithmetic_unit(fsim_dtype t); /* of a float in the arithmetic for t: f64 in f64, everything else in f32 */
double fsim_rounding(fsim_dtype t, double v); /* how far storing v as t may move it: 0 where t has it */
double fsim_stored(fsim_dtype t, double v);   /* v as t has it */
double fsim_apart(double a, double b);        /* |a - b|: 0 for equal infinities and two NaNs, infinite for one */

/* How far a result may be off: its own part of the bound and the shared one, and the relative error of the arithmetic
 * that made it. */
typedef struct {
    double own, shared, unit;
} fsim_doubt;
/* Result i of a tensor: v with own and shared bounds in arithmetic of relative error unit. Adds the rounding to the
 * tensor's dtype where that is coarser, wraps integers, frees what overflows. */
void fsim_put(const fsim_interpreter *in, int tensor, int64_t i, double v, fsim_doubt off);

/* A sum under way. */
typedef struct {
    double value, magnitude, squares, linear, quadratic, shared;
    double last, alike; /* the term before; magnitude of those that equal it */
    int64_t terms, repeats;
} fsim_sum;
/* Adds the term v with its own and its shared bound. */
void fsim_sum_add(fsim_sum *s, double v, double own, double shared);
double fsim_sum_own(const fsim_sum *s);                   /* propagated */
double fsim_sum_rounding(const fsim_sum *s, double unit); /* of the additions, in any order */

void *fsim_memory(int64_t count, size_t size); /* zeroed; ends the program where there is none */
uint64_t fsim_hash(const char *name, uint64_t seed, int64_t i);

/* Makes the values of everything that no primitive makes. */
void fsim_make_inputs(const fsim_interpreter *in, uint64_t seed);
/* Ordinary values for tensor t, which are nobody's result. */
void fsim_make_up(const fsim_interpreter *in, int t, uint64_t seed);
/* Elementwise, random and permuting primitives. */
void fsim_interpret_points(const fsim_interpreter *in, const fsim_node *n);
/* Contractions. */
void fsim_interpret_contraction(const fsim_interpreter *in, const fsim_node *n);
/* Reductions. */
void fsim_interpret_reduction(const fsim_interpreter *in, const fsim_node *n);
/* Pooling, adaptive pooling too. */
void fsim_interpret_window(const fsim_interpreter *in, const fsim_node *n);
/* Assemblies: concat, pad, roll. */
void fsim_interpret_assembly(const fsim_interpreter *in, const fsim_node *n);
/* Gathers and embeddings. Indices outside of the table read row 0, and the result may be anything. */
void fsim_interpret_gather(const fsim_interpreter *in, const fsim_node *n);
/* PyTorch's scatter, and index_copy where there are fewer indices than elements. Places that two indices name may be
 * anything. */
void fsim_interpret_scatter(const fsim_interpreter *in, const fsim_node *n);
/* Running sums and products. */
void fsim_interpret_scan(const fsim_interpreter *in, const fsim_node *n);
/* sort ascends, topk descends. Indices of elements that may be equal may be anything. */
void fsim_interpret_sort(const fsim_interpreter *in, const fsim_node *n);
/* Of one device with itself: all_gather repeats, reduce_scatter keeps the first shard. */
void fsim_interpret_collective(const fsim_interpreter *in, const fsim_node *n);

#endif

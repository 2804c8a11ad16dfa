/* SPDX-License-Identifier: Apache-2.0 */
/* point.h: what each operator that is computed point by point is, for the reference: a table by operator. It says the
 * same as the expressions of op.def in words of its own, so that a wrong expression there shows. */
#ifndef FUSESIM_VALIDATE_REFERENCE_POINT_H
#define FUSESIM_VALIDATE_REFERENCE_POINT_H

#include "graph/graph.h"

/* Where a point lies in the result. */
typedef struct {
    int64_t index, row, col, cols;
} fsim_place;

/* How a device's function errs, in units of its arithmetic: `ulps` of the result and `of_x` of |x| times it (an
 * exponential's argument is rounded before it is taken), `flat` units besides (differences inside). ulps 0: no
 * arithmetic, one of the arguments or a constant comes out. */
typedef struct {
    double ulps, of_x, flat;
} fsim_error_units;

typedef struct {
    /* The value of a point whose arguments are x. NULL: the reference does not know the operator. */
    double (*value)(const fsim_node *n, const double *x, const fsim_place *at);
    fsim_error_units error;
    /* Where the function jumps, or has no bound, somewhere within b of x. NULL: nowhere. */
    bool (*jumps)(const fsim_node *n, const double *x, const double *b);
} fsim_point_row;
extern const fsim_point_row fsim_point_rows[FSIM_OP_COUNT];

/* The error of this node, whose attributes may add to its row's. */
fsim_error_units fsim_point_error(const fsim_node *n);

#endif

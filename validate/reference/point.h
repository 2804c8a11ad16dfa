/* SPDX-License-Identifier: Apache-2.0 */
/* point.h: the operators that are computed point by point, for the reference: a table. It states the expressions of
 * op.def a second time and independently, so that an error there is found. */
#ifndef FUSESIM_VALIDATE_REFERENCE_POINT_H
#define FUSESIM_VALIDATE_REFERENCE_POINT_H

#include "graph/graph.h"

/* The index of a point in the result. */
typedef struct {
    int64_t index, row, col, cols;
} fsim_place;

/* The error of a device's function, in units of its arithmetic: `ulps` of the result, `of_x` of |x| times the result
 * (the argument of an exponential is rounded first), and `flat` absolute units (differences inside). ulps 0: no
 * arithmetic; the result is an argument or a constant. */
typedef struct {
    double ulps, of_x, flat;
} fsim_error_units;

typedef struct {
    /* The value of a point with arguments x. NULL: the reference does not know the operator. */
    double (*value)(const fsim_node *n, const double *x, const fsim_place *at);
    fsim_error_units error;
    /* Does the function jump, or have no bound, within b of x? NULL: it never does. */
    bool (*jumps)(const fsim_node *n, const double *x, const double *b);
} fsim_point_row;
extern const fsim_point_row fsim_point_rows[FSIM_OP_COUNT];

/* The error of this node: that of its row, plus what its attributes add. */
fsim_error_units fsim_point_error(const fsim_node *n);

#endif

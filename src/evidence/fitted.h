/* SPDX-License-Identifier: Apache-2.0 */
/* fitted.h: a scalar of a hardware file before and after a fit. */
#ifndef FUSESIM_EVIDENCE_FITTED_H
#define FUSESIM_EVIDENCE_FITTED_H

#include "hw/hw.h"

typedef struct {
    fsim_hw_key key;
    double before, after; /* SI units */
    double spread; /* of the folds' values: the standard deviation over the value; near 1 or beyond, the rows do not
                      tell it apart from others of its group */
    int rows;      /* that tell about it */
} fsim_fitted_key;

#endif

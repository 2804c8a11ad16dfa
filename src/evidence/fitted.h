/* SPDX-License-Identifier: Apache-2.0 */
/* fitted.h: a scalar of a hardware file before and after a fit. */
#ifndef FUSESIM_EVIDENCE_FITTED_H
#define FUSESIM_EVIDENCE_FITTED_H

#include "hw/hw.h"

typedef struct {
    fsim_hw_key key;
    double before, after; /* SI units */
    double spread;        /* standard deviation over the folds, relative to the value. Near or above 1, the rows can't
                             distinguish the scalar from others of its group */
    int rows;             /* rows that depend on it */
    int others;           /* other GPUs whose rows were taken too, because this one has few (residual.h) */
} fsim_fitted_key;

#endif

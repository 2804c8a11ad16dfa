/* SPDX-License-Identifier: Apache-2.0 */
/* residual.h: the residual_* keys of a hardware file, from rows predicted with scalars that were not fitted to them. */
#ifndef FUSESIM_EVIDENCE_RESIDUAL_H
#define FUSESIM_EVIDENCE_RESIDUAL_H

#include "evidence/fitted.h"
#include "evidence/prepared.h"

/* A row, its prediction, and what decides its time. */
typedef struct {
    double log_error;     /* |ln(measured / predicted)| */
    fsim_hw_key key;      /* of the kernel that takes most of it */
    bool generated, main; /* main: that kernel takes so much that the row tells about it */
} fsim_residual;

/* Row p, predicted to take predicted_s on hw. */
fsim_residual fsim_residual_of(const fsim_prepared *p, const fsim_hw *hw, double predicted_s, fsim_arena *scratch);

enum { FSIM_RESIDUAL_LEAST_ROWS = 15, FSIM_RESIDUAL_KEYS = 8 };
/* Sets the residual_* keys of hw that r[0, count) have enough rows for, to the widths that hold 80 % of their rows.
 * Returns how many, listed in out. */
int fsim_fit_residuals(const fsim_residual *r, int count, fsim_hw *hw, fsim_arena *a,
                       fsim_fitted_key out[FSIM_RESIDUAL_KEYS]);

#endif

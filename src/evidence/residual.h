/* SPDX-License-Identifier: Apache-2.0 */
/* residual.h: fits the residual_* keys of a hardware file to rows predicted with scalars that were not fitted to
 * them. */
#ifndef FUSESIM_EVIDENCE_RESIDUAL_H
#define FUSESIM_EVIDENCE_RESIDUAL_H

#include "evidence/fitted.h"
#include "evidence/prepared.h"

/* A row's error, and the kernel that decides its time. */
typedef struct {
    double log_error;     /* |ln(measured / predicted)| */
    fsim_hw_key key;      /* the residual key of that kernel */
    bool generated, main; /* main: the kernel takes enough of the row's time for the row to count */
} fsim_residual;

/* The residual of row p, predicted to take predicted_s on hw. */
fsim_residual fsim_residual_of(const fsim_prepared *p, const fsim_hw *hw, double predicted_s, fsim_arena *scratch);

enum { FSIM_RESIDUAL_LEAST_ROWS = 15, FSIM_RESIDUAL_KEYS = 8 };
/* Sets the residual_* keys of hw for which r[0, count) has enough rows, to widths that cover 80 % of their rows.
 * Returns the number of keys, listed in out. */
int fsim_fit_residuals(const fsim_residual *r, int count, fsim_hw *hw, fsim_arena *a,
                       fsim_fitted_key out[FSIM_RESIDUAL_KEYS]);

#endif

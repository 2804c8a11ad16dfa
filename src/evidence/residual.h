/* SPDX-License-Identifier: Apache-2.0 */
/* residual.h: widths of intervals, the residual_* keys of a hardware file, from rows predicted with scalars that were
 * not fitted to them. */
#ifndef FUSESIM_EVIDENCE_RESIDUAL_H
#define FUSESIM_EVIDENCE_RESIDUAL_H

#include "evidence/evaluate.h"
#include "evidence/fitted.h"

/* A row's error, and the kernel that decides its time. */
typedef struct {
    int gpu;              /* a number for each GPU */
    double log_error;     /* |ln(measured / predicted)| */
    fsim_hw_key key;      /* the residual key of that kernel */
    bool generated, main; /* main: the kernel takes enough of the row's time for the row to count */
} fsim_residual;

/* The residual of row e, predicted to take predicted_s on GPU number gpu. */
fsim_residual fsim_residual_of(const fsim_evaluated *e, double predicted_s, int gpu);

enum { FSIM_RESIDUAL_LEAST_ROWS = 15, FSIM_RESIDUAL_KEYS = FSIM_ERROR_CLASSES + 1 };
/* The widths of one GPU's intervals. */
typedef struct {
    double width[FSIM_RESIDUAL_KEYS]; /* by class (fsim_error_classes), and last what generated kernels add */
    int rows[FSIM_RESIDUAL_KEYS];     /* of this GPU; 0: the width is not known */
    int others[FSIM_RESIDUAL_KEYS];   /* GPUs whose rows were taken too, because this one has less than
                                         FSIM_RESIDUAL_LEAST_ROWS */
} fsim_widths;
/* Widths that cover 80 % of the rows of GPU number gpu among r[0, count). Where it has some rows of a class, but fewer
 * than FSIM_RESIDUAL_LEAST_ROWS, those of the other GPUs stand for the missing ones, each GPU in equal parts;
 * unknown[c]: the width of class c in use where there are none, for what generated kernels add. a is for scratch. */
fsim_widths fsim_widths_of(const fsim_residual *r, int count, int gpu, const double unknown[FSIM_ERROR_CLASSES],
                           fsim_arena *a);

/* Sets the residual_* keys of hw to the widths that are known. Returns the number of keys, listed in out. */
int fsim_set_residuals(const fsim_widths *w, fsim_hw *hw, fsim_fitted_key out[FSIM_RESIDUAL_KEYS]);

#endif

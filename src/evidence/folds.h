/* SPDX-License-Identifier: Apache-2.0 */
/* folds.h: intervals of rows that they were not fitted to. Rows are divided into folds by workload and bindings, so
 * that a shape is in one fold whatever the GPU, the file and the strategy; the intervals of each fold come from the
 * others. */
#ifndef FUSESIM_EVIDENCE_FOLDS_H
#define FUSESIM_EVIDENCE_FOLDS_H

#include "evidence/residual.h"

enum { FSIM_MOST_INTERVAL_FOLDS = 20 };

/* The common errors of classes (plan/price/interval.h) that rows tell: those with which 80 % of the rows of several
 * kernels lie within their intervals, chains and networks counting alike. */
typedef struct {
    double spread[FSIM_ERROR_CLASSES];
    int rows; /* of several kernels; with too few, the spreads are those of the program */
} fsim_common_fit;
/* Of the rows e[0, count) that are not excluded. a is for scratch. */
fsim_common_fit fsim_fit_common(const fsim_evaluated *e, int count, fsim_arena *a);

/* For each fold: what was fitted to the others. all: fitted to all rows. */
typedef struct {
    int folds;
    fsim_common_fit all, of[FSIM_MOST_INTERVAL_FOLDS];
    int *fold; /* per row */
} fsim_folded;

/* Replaces low_s, high_s and the errors of e[0, count) by what rows of the other folds tell. In a. */
const fsim_folded *fsim_fold_intervals(fsim_evaluated *e, int count, int folds, fsim_arena *a);

#endif

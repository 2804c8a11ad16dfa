/* SPDX-License-Identifier: Apache-2.0 */
/* refit.h: errors of rows that the code's own numbers were not fitted to. The calls of serving stacks and the
 * collectives are priced with numbers that hold for all GPUs of a design (vendor/serving_fit.def, cost/collective.def).
 * Here each row of these tables is fitted anew to the rows measured of it but for one fold, from starts that know no
 * row, and the fold is predicted with the result, without the GPU's own factor (its keys serving_*).
 *
 * A fold has whole families, all GPUs together: a product's families are its n and k, with any m; those of attention
 * its heads and features, with any batch and length; of latent attention heads and batch; of experts the model (hidden
 * width, experts, experts a token), with any tokens, ranks and skew; of quantising k; of collectives the bytes. */
#ifndef FUSESIM_EVIDENCE_REFIT_H
#define FUSESIM_EVIDENCE_REFIT_H

#include "evidence/evaluate.h"

/* The fold of a row: that of its family; of other rows, by their ids. */
int fsim_family_fold(const fsim_measured *row, int folds);

/* A row of a table, fitted to all rows measured of it. */
typedef struct {
    const char *table; /* the name of its macro */
    int place;         /* in its table */
    int rows, numbers;
    double before, after; /* mean error of these rows: as shipped, without the GPU's factors; fitted to all of them */
    double *number;       /* in the order of the table */
} fsim_refitted_row;

/* The width of intervals that eight of ten of a GPU's rows not fitted stay within (residual.h). */
typedef struct {
    const char *hw;
    fsim_hw_key key;
    double width;
    int rows;
} fsim_refit_width;

typedef struct {
    fsim_refitted_row *at;
    int count;
    fsim_refit_width *width;
    int widths;
} fsim_refits;

enum { FSIM_MOST_REFIT_FOLDS = 20 };

/* Replaces the predictions and intervals (widths as shipped) of e[0, count), rows of b, by those of rows not fitted,
 * and excludes rows whose prediction does not depend on such numbers, or depends on numbers that too few rows tell
 * (FSIM_EXCLUDED_REFIT). jobs: threads. In a. */
fsim_refits fsim_refit_folds(const fsim_bench *b, fsim_evaluated *e, int count, int folds, int jobs, fsim_arena *a);

#endif

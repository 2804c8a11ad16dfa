/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.h: fits the scalars of a hardware file to measured rows.
 *
 * Scalars are fitted in groups, in the table's order because later groups build on earlier ones; each group has the
 * rows that depend on it. The objective is the mean of |predicted / measured - 1|, at most 1 for each row, so that a
 * few absurd rows do not decide the fit. Rows are divided into folds by families of shapes (evidence/refit.h), and each
 * fold is predicted with scalars fitted to the others. Those errors are reported and decide: a fit whose errors on rows
 * it has not seen are no better than those of the scalars in the file is refused. Where these were themselves fitted,
 * perhaps to the same rows, the new ones must fit all rows better. */
#ifndef FUSESIM_EVIDENCE_CALIBRATE_H
#define FUSESIM_EVIDENCE_CALIBRATE_H

#include "evidence/fitted.h"
#include "evidence/prepared.h"
#include "evidence/stats.h"

enum { FSIM_MOST_FIT_KEYS = 24, FSIM_MOST_FOLDS = 20 };

typedef struct {
    const char *name, *help;
    bool (*takes)(const fsim_prepared *p); /* does the row depend on the group's keys? NULL: residual keys (residual.h),
                                              which all rows tell about */
    fsim_hw_key key[FSIM_MOST_FIT_KEYS];
    int keys;
} fsim_fit_group;
extern const fsim_fit_group fsim_fit_groups[];
extern const int fsim_fit_group_count;

typedef struct {
    const fsim_fit_group *group;
    int rows;
    fsim_stats before, after; /* errors of rows that the scalars were not fitted to */
    fsim_stats fitted;        /* errors of all rows, with scalars fitted to all */
    fsim_fitted_key key[FSIM_MOST_FIT_KEYS];
    int fitted_keys;     /* entries of key[]: the group's keys, or the residuals with enough rows */
    const char *files;   /* base names of the rows' files, joined by " and " */
    const char *refused; /* why the file keeps its scalars; NULL: they were replaced */
} fsim_fit;

typedef struct {
    int folds;
    int jobs;                 /* threads: base/jobs.h */
    const char *const *group; /* names of the groups to fit; none: all that have rows */
    int groups;
    const fsim_hw *start; /* the GPU whose scalars the fits start from; NULL: hw itself */
} fsim_fit_options;

/* Fits the scalars of hw, in place, to the rows of b; then the widths of intervals (residual.h) to the errors of
 * rows that were not fitted. Returns the number of fits in *out, or -1 after errors in d: a row's workload can't be
 * built, or FSIM_UNAVAILABLE where there is no optimiser. In a. */
int fsim_calibrate(const fsim_bench *b, fsim_hw *hw, const fsim_fit_options *how, fsim_arena *a, fsim_diag *d,
                   fsim_fit **out);

/* What a hardware file says about where its fitted keys are from. */
typedef struct {
    const char *date;
    const char *command; /* the command line of the fit, for the file's head */
} fsim_calibration_note;

/* The text of a hardware file with the fitted keys: existing lines of the keys are replaced, new ones follow at the
 * end; everything else is unchanged. In a. */
const char *fsim_calibrated_text(fsim_arena *a, const char *text, const fsim_hw *hw, const fsim_fit *fit, int fits,
                                 const fsim_calibration_note *note);

#endif

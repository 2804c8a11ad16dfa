/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.h: the fitted scalars of a hardware file, from measured rows.
 *
 * Scalars are fitted in groups, each to the rows that tell about it, in the table's order, since later groups build on
 * earlier ones. The objective is the mean of |predicted / measured - 1|, each row counting at most 1: a few absurd rows
 * do not turn the fit. Rows fall into folds by a hash of their ids; each fold is predicted with scalars fitted to the
 * others, and what that gives is what is reported, and what decides: a fit that predicts rows that it has not seen no
 * better than the scalars the file had is refused; where those were fitted before, perhaps to the same rows, the new
 * ones must fit all rows better. */
#ifndef FUSESIM_EVIDENCE_CALIBRATE_H
#define FUSESIM_EVIDENCE_CALIBRATE_H

#include "evidence/fitted.h"
#include "evidence/prepared.h"
#include "evidence/stats.h"

enum { FSIM_MOST_FIT_KEYS = 12, FSIM_MOST_FOLDS = 20 };

typedef struct {
    const char *name, *help;
    bool (*takes)(const fsim_prepared *p); /* does the row tell about it? NULL: residual.h's keys, which all rows do */
    fsim_hw_key key[FSIM_MOST_FIT_KEYS];
    int keys;
} fsim_fit_group;
extern const fsim_fit_group fsim_fit_groups[];
extern const int fsim_fit_group_count;

typedef struct {
    const fsim_fit_group *group;
    int rows;
    fsim_stats before, after; /* of rows that were not fitted */
    fsim_stats fitted;        /* of all rows, with the scalars fitted to all */
    fsim_fitted_key key[FSIM_MOST_FIT_KEYS];
    int fitted_keys;     /* of key[]: the group's, or the residuals that had rows enough */
    const char *files;   /* base names of the rows' files, joined by " and " */
    const char *refused; /* why the file keeps its scalars; NULL: they are the new ones */
} fsim_fit;

typedef struct {
    int folds, jobs;
    const char *const *group; /* names of the groups to fit; none: all that have rows */
    int groups;
    const fsim_hw *start; /* whose scalars the fits start from; NULL: the file's own */
} fsim_fit_options;

/* Fits hw in place to the rows of b; last, the widths of intervals (residual.h) to how far rows are off that were not
 * fitted. Returns the fits in *out, or -1 after errors in d: a row's workload can't be built, or FSIM_UNAVAILABLE where
 * there is no optimiser. In a. */
int fsim_calibrate(const fsim_bench *b, fsim_hw *hw, const fsim_fit_options *how, fsim_arena *a, fsim_diag *d,
                   fsim_fit **out);

/* What a hardware file says about where its fitted keys are from. */
typedef struct {
    const char *date;
    const char *command; /* the command line that fitted them: it goes to the file's head */
} fsim_calibration_note;

/* The text of a hardware file with the fitted keys put in: lines of keys that it has are replaced, others follow at its
 * end; all else stays. In a. */
const char *fsim_calibrated_text(fsim_arena *a, const char *text, const fsim_hw *hw, const fsim_fit *fit, int fits,
                                 const fsim_calibration_note *note);

#endif

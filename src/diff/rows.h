/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: two sweeps, or two validations, side by side, row by row.
 *
 * A row has a time: of a point of a sweep, the predicted one; of a plan that `validate --device` ran, the median of the
 * measured ones; of a row of `validate --measurements`, the predicted one. Predicted times are exact. Measured ones
 * scatter: they differ only where a quarter of the one's runs and more is beyond three quarters of the other's, and by
 * more than both together scatter; otherwise there is no difference. */
#ifndef FUSESIM_DIFF_ROWS_H
#define FUSESIM_DIFF_ROWS_H

#include "diff/filed.h"
#include "input/yaml.h"

typedef enum { FSIM_ROWS_OF_SWEEP, FSIM_ROWS_OF_TRIALS, FSIM_ROWS_OF_ACCURACY, FSIM_ROWS_KINDS } fsim_rows_kind;
extern const char *const fsim_rows_kind_names[FSIM_ROWS_KINDS]; /* "sweep", "trials", "accuracy": as their schemas */

typedef struct {
    fsim_loc at;
    const char *key;                 /* which row it is: "M=64, launch=graph on l4", "softmax M=1024: eager" */
    const char *group;               /* that a gate may name: a GPU; of trials, the workload */
    const char *why;                 /* why it has no time; NULL: it has one */
    fsim_sum time_fs;                /* -1: none */
    double low_s, high_s;            /* quartiles of the runs; NaN: the time is exact */
    double noise;                    /* scatter of the plans of its workload, as a share; NaN: none */
    double predicted_s, measured_s;  /* NaN where there is none */
    fsim_sum dram_bytes, peak_bytes; /* -1 where the file does not say it */
    const char *kernels;             /* names or number, by which fusion decisions are told apart */
    bool chosen;                     /* gates and the sum are about it: of trials, the chosen plan */
} fsim_filed_row;

typedef struct {
    fsim_rows_kind kind;
    const char *path, *version, *device; /* of fusesim, and what it was measured on; "": the file does not say it */
    const fsim_filed_row *row;
    int rows;
} fsim_filed_rows;

/* Does root look like the JSON of one of these? */
bool fsim_is_filed_rows(const fsim_yaml *root, fsim_rows_kind *kind);
/* Reads it. NULL after errors in d. In a. */
const fsim_filed_rows *fsim_filed_rows_read(fsim_arena *a, fsim_diag *d, const char *path, const fsim_yaml *root,
                                            fsim_rows_kind kind);

typedef enum {
    FSIM_ROW_SAME, /* the same time, or no difference beyond the scatter */
    FSIM_ROW_FASTER,
    FSIM_ROW_SLOWER,
    FSIM_ROW_LOST, /* it has a time in the first file alone */
    FSIM_ROW_NEW,  /* in the second alone */
    FSIM_ROW_VERDICTS
} fsim_row_verdict;
extern const char *const fsim_row_verdict_names[FSIM_ROW_VERDICTS];

typedef struct {
    const fsim_filed_row *before, *after; /* NULL: the file has no such row */
    fsim_row_verdict verdict;
    double growth; /* of the time, as a share; NaN where one has none */
    bool other_kernels, chosen;
    int order; /* in the files */
} fsim_row_diff;

typedef struct {
    const fsim_filed_rows *before, *after;
    const fsim_row_diff *row; /* largest change first; then what did not change, in the order of the files */
    int rows, compared;       /* compared: rows that have a time in both */
    int verdicts[FSIM_ROW_VERDICTS];
    fsim_sum before_fs, after_fs;     /* of chosen rows that have a time in both */
    double error_before, error_after; /* mean error of predictions of the measured times of these rows; NaN */
} fsim_rows_diff;

/* Compares. In a; the files stay referenced. Without a row that both have: an error in d, and false. */
bool fsim_rows_diff_of(const fsim_filed_rows *before, const fsim_filed_rows *after, fsim_arena *a, fsim_diag *d,
                       fsim_rows_diff *out);

#endif

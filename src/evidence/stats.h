/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: statistics of the errors of predicted rows, by group. Error: predicted / measured - 1. */
#ifndef FUSESIM_EVIDENCE_STATS_H
#define FUSESIM_EVIDENCE_STATS_H

#include "evidence/evaluate.h"

typedef struct {
    int rows;
    double mape, median, p90; /* of the absolute errors */
    double bias;              /* mean error */
    double coverage; /* share of measured times inside the 80 % intervals of the predictions; NaN where only errors are
                        known */
} fsim_stats;

/* What rows may be grouped by: nothing; the GPU; the kind of work; the workload; the strategy; the folder of the
 * workload; the measurements file. */
typedef enum {
    FSIM_BY_ALL,
    FSIM_BY_HW,
    FSIM_BY_CLASS,
    FSIM_BY_WORKLOAD,
    FSIM_BY_STRATEGY,
    FSIM_BY_FOLDER,
    FSIM_BY_FILE,
    FSIM_BY_MODE,   /* what of a training was measured; "" of other rows */
    FSIM_BY_SOURCE, /* the id up to its first '/': who measured */
    FSIM_BY_COUNT
} fsim_grouping;
extern const char *const fsim_grouping_names[FSIM_BY_COUNT]; /* all hw class workload strategy folder file ... */

typedef struct {
    const char *hw, *workload, *strategy, *class, *folder, *file, *mode, *source; /* NULL: not grouped by it */
    int excluded; /* excluded rows, which are not in stats */
    fsim_stats stats;
} fsim_stat_group;

/* Statistics of the rows in e[0, count) that are not excluded. */
fsim_stats fsim_stats_of(const fsim_evaluated *e, int count, fsim_arena *a);
/* Statistics of errors; error[] is not changed. */
fsim_stats fsim_stats_of_errors(const double *error, int count, fsim_arena *a);
/* Groups of rows that have the same by[0, keys), sorted by name. Returns how many. In a. */
int fsim_stat_groups(const fsim_evaluated *e, int count, const fsim_grouping *by, int keys, fsim_arena *a,
                     fsim_stat_group **out);
/* The group's value of one grouping; NULL where it is not grouped by it. */
const char *fsim_group_name(const fsim_stat_group *g, fsim_grouping by);
/* A row's value of a grouping; "" for FSIM_BY_ALL. The folder of "kernelbench/v01/l2/007" is "kernelbench/v01/l2".
 * In a, or the row's. */
const char *fsim_name_in(const fsim_evaluated *e, fsim_grouping by, fsim_arena *a);

/* The quantile q of sorted[0, count), interpolated linearly (type 7 of Hyndman and Fan). NaN where count is 0. */
double fsim_quantile(const double *sorted, int count, double q);

/* Spearman's rank correlation: Pearson's of the ranks, where equal values share their mean rank. NaN for fewer than
 * two pairs, or where one side is constant. */
double fsim_rank_correlation(const double *x, const double *y, int count, fsim_arena *a);

/* Indices of the rows with the largest errors, by the ratio of the two times, without excluded ones. Returns how
 * many, at most `most`. In a. */
int fsim_worst(const fsim_evaluated *e, int count, int most, fsim_arena *a, int **out);

#endif

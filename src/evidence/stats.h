/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: errors of predicted rows, by group. Error: predicted / measured - 1. */
#ifndef FUSESIM_EVIDENCE_STATS_H
#define FUSESIM_EVIDENCE_STATS_H

#include "evidence/evaluate.h"

typedef struct {
    int rows;
    double mape, median, p90; /* of the absolute errors */
    double bias;              /* mean error */
    double coverage; /* share of measured times within the predictions' 80 % intervals; NaN where errors are all that is
                        known */
} fsim_stats;

/* What rows are grouped by: nothing; the GPU; the kind of work; the workload; what ran; the folder of the workload; the
 * measurements file. */
typedef enum {
    FSIM_BY_ALL,
    FSIM_BY_HW,
    FSIM_BY_CLASS,
    FSIM_BY_WORKLOAD,
    FSIM_BY_STRATEGY,
    FSIM_BY_FOLDER,
    FSIM_BY_FILE,
    FSIM_BY_COUNT
} fsim_grouping;
extern const char *const fsim_grouping_names[FSIM_BY_COUNT]; /* all hw class workload strategy folder file */

typedef struct {
    const char *hw, *workload, *strategy, *class, *folder, *file; /* NULL: of any */
    int excluded;                                                 /* rows beside those of stats */
    fsim_stats stats;
} fsim_stat_group;

/* Of the rows in e[0, count) that are not excluded. */
fsim_stats fsim_stats_of(const fsim_evaluated *e, int count, fsim_arena *a);
/* Of errors as such. Sorts nothing of the caller's. */
fsim_stats fsim_stats_of_errors(const double *error, int count, fsim_arena *a);
/* Groups of rows that agree in each of by[0, keys), sorted by name. Returns how many. In a. */
int fsim_stat_groups(const fsim_evaluated *e, int count, const fsim_grouping *by, int keys, fsim_arena *a,
                     fsim_stat_group **out);
/* The group's name in one grouping; NULL where it is of any. */
const char *fsim_group_name(const fsim_stat_group *g, fsim_grouping by);
/* What a row is called in a grouping; "" for FSIM_BY_ALL. The folder of "kernelbench/v01/l2/007" is
 * "kernelbench/v01/l2". In a, or the row's. */
const char *fsim_name_in(const fsim_evaluated *e, fsim_grouping by, fsim_arena *a);

/* The value below which the share q of sorted[0, count) lies; between two, their mean by distance (type 7 of Hyndman
 * and Fan). NaN when count is 0. */
double fsim_quantile(const double *sorted, int count, double q);

/* Rank correlation (Spearman): Pearson's of the ranks, equal values sharing their mean rank. NaN for fewer than two
 * pairs, or where one side is constant. */
double fsim_rank_correlation(const double *x, const double *y, int count, fsim_arena *a);

/* Indices of the rows that are furthest off, by the ratio of the two times; excluded ones left out. Returns how many,
 * at most `most`. In a. */
int fsim_worst(const fsim_evaluated *e, int count, int most, fsim_arena *a, int **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: errors of predicted rows, by group. Error: predicted / measured - 1. */
#ifndef FUSESIM_MEASURE_STATS_H
#define FUSESIM_MEASURE_STATS_H

#include "measure/evaluate.h"

typedef struct {
    int rows;
    double mape, median, p90; /* of the absolute errors */
    double bias;              /* mean error */
} fsim_stats;

/* What rows are grouped by. */
typedef enum { FSIM_BY_ALL, FSIM_BY_HW, FSIM_BY_CLASS, FSIM_BY_WORKLOAD, FSIM_BY_STRATEGY, FSIM_BY_COUNT } fsim_grouping;
extern const char *const fsim_grouping_names[FSIM_BY_COUNT]; /* all hw class workload strategy */

typedef struct {
    const char *hw, *workload, *strategy, *class; /* NULL: of any */
    fsim_stats stats;
} fsim_stat_group;

/* Of the rows in e[0, count) that are not excluded. */
fsim_stats fsim_stats_of(const fsim_evaluated *e, int count, fsim_arena *a);
/* Groups of rows that agree in each of by[0, keys), sorted by name. Returns how many. In a. */
int fsim_stat_groups(const fsim_evaluated *e, int count, const fsim_grouping *by, int keys, fsim_arena *a, fsim_stat_group **out);

#endif

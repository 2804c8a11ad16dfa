/* SPDX-License-Identifier: Apache-2.0 */
/* verdicts.h: how far predictions of whole systems are off, and what decisions they get right. */
#ifndef FUSESIM_SERVING_VERDICTS_H
#define FUSESIM_SERVING_VERDICTS_H

#include "serving/predict.h"

/* A row with its answer. */
typedef struct {
    const fsim_system *row;
    fsim_system_answer answer;
    const char *contradiction; /* why its figure and another one of the same system can't both hold; NULL: none found */
} fsim_judged_system;

/* What rows are grouped by. */
typedef enum {
    FSIM_SYSTEMS_BY_KIND, /* mode and metric, dense or experts, with a queue or without */
    FSIM_SYSTEMS_BY_ENGINE,
    FSIM_SYSTEMS_BY_HW,
    FSIM_SYSTEMS_BY_MODEL,
    FSIM_SYSTEMS_BY_PRECISION,
    FSIM_SYSTEMS_GROUPINGS
} fsim_systems_grouping;
extern const char *const fsim_systems_grouping_names[FSIM_SYSTEMS_GROUPINGS];

/* Is the row's figure a time to the first token? */
bool fsim_is_first_token(const fsim_system *r);

typedef struct {
    const char *name;
    int rows, unpredicted;    /* rows with a prediction; without */
    double median, p90, bias; /* of |predicted / measured - 1|; the median of predicted / measured - 1 */
    double inside;            /* share of rows within their interval */
} fsim_systems_group;

/* The groups by one grouping, in the order of their first rows. Returns how many. In a. */
int fsim_systems_groups(const fsim_judged_system *s, int count, fsim_systems_grouping by, fsim_arena *a,
                        fsim_systems_group **out);

typedef struct {
    int fits, judged;                 /* rows that ran and are said to fit, of how many */
    int best_right, choices;          /* groups that differ in tp alone, of the predicted ones: the best tp is named */
    int orders;                       /* models and GPUs with at least three times per output token */
    double order_median, order_least; /* Spearman's rank correlation of these; NaN where there is none */
    double order_all;                 /* mean of them, weighted by their rows */
    int contradictions;               /* times per output token that contradict another row */
    double order_consistent;          /* order_all without these */
} fsim_systems_verdicts;
/* Scratch in a. */
fsim_systems_verdicts fsim_systems_judge(const fsim_judged_system *s, int count, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* repeats.h: equal stretches of a plan's kernels, one behind the other, such as the layers of a network: reports show
 * the first of them and say how often it comes.
 *
 * The plan itself decides, not how the workload was written: plan/price/equal.h says which kernels are equal. */
#ifndef FUSESIM_REPORT_REPEATS_H
#define FUSESIM_REPORT_REPEATS_H

#include "predict.h"

/* Kernels [first, first + kernels), and the same again until they have come `times` times. */
typedef struct {
    int first, kernels, times;
} fsim_repeat;

typedef struct {
    fsim_repeat *at; /* in launch order; they do not overlap, and each saves a few lines */
    int count;
    int *times; /* per kernel: how many kernels it stands for: 1, or `times` in the first turn and 0 in the others */
} fsim_repeats;

/* The repeats of p's plan of s. In a. */
fsim_repeats fsim_repeats_of(const fsim_prediction *p, fsim_strategy s, fsim_arena *a);
/* No repeats: each of so many kernels stands for itself. In a. */
fsim_repeats fsim_no_repeats(int kernels, fsim_arena *a);
/* Seconds of one turn. */
double fsim_turn_s(const fsim_plan *plan, const fsim_repeat *r);

#endif

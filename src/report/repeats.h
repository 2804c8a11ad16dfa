/* SPDX-License-Identifier: Apache-2.0 */
/* repeats.h: equal stretches of a plan's kernels, one behind the other, such as the layers of a network: reports show
 * the first of them and say how often it comes.
 *
 * The plan itself decides, not how the workload was written. Two kernels are equal where all that reports say of them
 * is, to the last bit: operators, layout, bytes, time of each unit, what the figures rest on; and the names of their
 * primitives but for numbers, which tell layers apart. */
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
/* Are two names the same but for their numbers and what ties them to the name: "q.0" and "q.11", "add" and "add_1"? */
bool fsim_same_but_numbers(const char *x, const char *y);
/* Seconds of one turn. */
double fsim_turn_s(const fsim_plan *plan, const fsim_repeat *r);

#endif

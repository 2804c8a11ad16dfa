/* SPDX-License-Identifier: Apache-2.0 */
/* next.h: what to try next, and what it would save. All prices were computed by fsim_predict. */
#ifndef FUSESIM_REPORT_NEXT_H
#define FUSESIM_REPORT_NEXT_H

#include "predict.h"

enum { FSIM_MOST_STEPS = 8 };

typedef struct {
    const char *what;    /* "f16 instead of bf16" */
    double saves_s;      /* of the reported plan's time; NaN: it makes the plan fit the GPU's memory */
    bool at_most;        /* saves_s is a bound */
    const char *command; /* what to type; NULL where the workload's file has to be changed */
} fsim_step;

/* The steps that would save a hundredth of the reported plan's time or more, the largest saving first; before them what
 * makes a plan fit that does not. Returns their number; strings are in a, or constant. */
int fsim_next_steps(const fsim_prediction *p, fsim_arena *a, fsim_step step[FSIM_MOST_STEPS]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* versus.h: plans against each other, with the intervals of their times and of the differences. */
#ifndef FUSESIM_REPORT_VERSUS_H
#define FUSESIM_REPORT_VERSUS_H

#include "plan/price/interval.h"
#include "predict.h"

/* What can be said of a plan against another: no difference where the interval of the ratio contains 1, or where the
 * times differ by less than half a percent. */
typedef enum { FSIM_FASTER, FSIM_SLOWER, FSIM_NO_DIFFERENCE, FSIM_VERSUS_COUNT } fsim_versus;
extern const char *const fsim_versus_names[FSIM_VERSUS_COUNT]; /* faster slower, no difference */

/* A plan, and whose kernels it launches. */
typedef struct {
    const fsim_plan *plan;
    fsim_maker maker;
} fsim_plan_by;
/* The plan of s. */
fsim_plan_by fsim_plan_of(const fsim_prediction *p, fsim_strategy s);

/* The 80 % interval of its seconds. a is for scratch. */
fsim_interval fsim_likely_time(const fsim_prediction *p, fsim_plan_by x, fsim_arena *a);

typedef struct {
    double speedup; /* seconds of the other plan over those of this one */
    fsim_interval likely;
    fsim_versus verdict;
    bool same_kernels; /* both have the same kernels, each of the same primitives */
} fsim_contest;
/* x against base, plans of one prediction. a is for scratch. */
fsim_contest fsim_contest_of(const fsim_prediction *p, fsim_plan_by x, fsim_plan_by base, fsim_arena *a);
/* The plan of s against eager's. */
fsim_contest fsim_against_eager(const fsim_prediction *p, fsim_strategy s, fsim_arena *a);
/* The plan of s against the optimum. */
fsim_contest fsim_against_optimal(const fsim_prediction *p, fsim_strategy s, fsim_arena *a);
/* Would a reader call plans that are so much faster equal? */
bool fsim_is_none(double speedup);
/* Two plans whose errors have nothing in common, of two GPUs: seconds x_s and y_s in these intervals; ratio: x_s / y_s.
 */
fsim_versus fsim_versus_apart(double ratio, fsim_interval x, double x_s, fsim_interval y, double y_s);
/* Is it sure that s loses against the optimum, or loses nothing? Bytes are; times where their interval says so. */
bool fsim_tells_loss(const fsim_prediction *p, fsim_strategy s, fsim_arena *a);

#endif

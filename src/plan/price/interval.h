/* SPDX-License-Identifier: Apache-2.0 */
/* interval.h: 80 % intervals of predicted times and of their ratios.
 *
 * A kernel's error has a part of its own (plan/price/spread.h), and in company a part that all kernels of its class in
 * the plan have in common: convolutions of a network are off together. docs/MODEL.md, "Intervals", has the equations
 * and what they were fitted to. */
#ifndef FUSESIM_PLAN_PRICE_INTERVAL_H
#define FUSESIM_PLAN_PRICE_INTERVAL_H

#include "plan/price/spread.h"

typedef struct {
    double low, high;
} fsim_interval;

/* The error of a kernel in a plan. */
typedef struct {
    fsim_hw_key key; /* its class: the key with its residuals */
    bool vendor;
    double share; /* of the plan's time */
    fsim_spread_parts own;
    int first, contraction; /* primitives: its first; the contraction that it computes, or -1 */
    uint64_t members;       /* a hash of all its primitives */
} fsim_kernel_error;

/* The errors of a plan. */
typedef struct {
    fsim_maker maker;
    int kernels;
    int nodes, alike; /* of the graph; of them, those that are the same in the graph of every plan of the workload */
    fsim_kernel_error *kernel;
    double busy_s;      /* the sum of the kernels */
    double company;     /* the square of 1 - the sum of the squares of the shares: 0 for one kernel, near 1 for
                                 many of equal length */
    double slower_host; /* ln of the time with a slow host over the predicted one */
    double faster_host; /* ln of the predicted time over that with a fast host */
} fsim_plan_errors;

enum { FSIM_ERROR_CLASSES = 18 };
/* Classes of common errors: the residual keys of kinds of kernels. */
extern const fsim_hw_key fsim_error_classes[FSIM_ERROR_CLASSES];
/* The place of the key among them. */
int fsim_error_class(fsim_hw_key key);
/* The spreads of their common errors, as fitted (common_* in cost/constants.def). */
extern const double fsim_common_errors[FSIM_ERROR_CLASSES];

/* A kernel's seconds. */
fsim_interval fsim_kernel_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k);

/* The errors of a plan that the software runs. In a. */
fsim_plan_errors fsim_errors_of(const fsim_software *s, const fsim_plan *plan, fsim_arena *a);
/* Those of kernel[0, kernels), which take time_s together. In a. */
fsim_plan_errors fsim_errors_of_kernels(const fsim_software *s, const fsim_kernel *kernel, int kernels, fsim_arena *a);

/* The variance of the kernels' own errors. With that of the common ones, the sum of the squares of share x spread, it
 * is the square of the plan's spread. */
double fsim_own_variance(const fsim_plan_errors *e);
/* How much of the common error of each class the plan has. */
void fsim_common_shares(const fsim_plan_errors *e, double share[FSIM_ERROR_CLASSES]);

/* The interval of a plan's seconds. */
fsim_interval fsim_time_interval(const fsim_plan_errors *e, double time_s);
/* The same with other spreads of the common errors. */
fsim_interval fsim_time_interval_with(const fsim_plan_errors *e, const double common[FSIM_ERROR_CLASSES],
                                      double time_s);
/* The interval of `ratio`, the seconds of `base` over those of `other`, plans of one graph. Errors of kernels that both
 * launch cancel; those of kernels of a class cancel in part. a is for scratch. */
fsim_interval fsim_ratio_interval(const fsim_plan_errors *base, const fsim_plan_errors *other, double ratio,
                                  fsim_arena *a);
/* The same with other spreads of the common errors. */
fsim_interval fsim_ratio_interval_with(const fsim_plan_errors *base, const fsim_plan_errors *other,
                                       const double common[FSIM_ERROR_CLASSES], double ratio, fsim_arena *a);

/* The seconds of a plan. a is for scratch. */
fsim_interval fsim_plan_interval(const fsim_software *s, const fsim_plan *plan, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h: plans of one workload as real kernels: generated, checked, run, measured, beside what was predicted of them.
 *
 * Every strategy's partition runs as our own kernels, so that what differs between them is the partition, and is
 * predicted as such. On a GPU, products that a plan leaves to the vendor's library run by it where one call does them.
 */
#ifndef FUSESIM_VALIDATE_TRIAL_TRIAL_H
#define FUSESIM_VALIDATE_TRIAL_TRIAL_H

#include "predict.h"
#include "validate/device/device.h"
#include "validate/reference/check.h"

/* What is predicted of one kernel by itself: device time, without launch. */
typedef struct {
    double cold_s, warm_s;                    /* nothing in L2; what fits of its inputs and results is there */
    double dram_read_bytes, dram_write_bytes; /* cold */
} fsim_trial_kernel;

/* Who ran a kernel, where it was not simply the one generated. */
typedef struct {
    const char *library;  /* "cuBLAS", "cuBLASLt"; NULL: ours, or none ran */
    const char *stand_in; /* why ours ran for the library's that the plan has; NULL: it did not */
} fsim_trial_ran;

typedef struct {
    fsim_strategy strategy;
    fsim_plan plan;               /* as priced for launch by launch, cold */
    double stream_s, graph_s;     /* predicted end to end */
    fsim_program *program;        /* per kernel */
    fsim_trial_kernel *predicted; /* per kernel */
    fsim_check *check;            /* per kernel; of the shapes that were checked */
    int checked, wrong, skipped;  /* kernels compared with the reference; that differ; that are not generated */
    int untold;                   /* that ran, and whose results tell too little: not among those compared */
    const char *first_wrong, *first_untold; /* kernel and message */
    fsim_measured_plan measured;
    fsim_trial_ran *ran;           /* per kernel, once it was to be measured */
    const char *failed, *left_out; /* why it was not measured: it can't be; there was no time */
    const char *no_graph;          /* why not as a CUDA graph; NULL */
    const char *unlike;            /* why what ran is not what was predicted, so that the two are not compared; NULL. By
                                      fsim_trial_judge */
    const char *differs; /* an output that is not what the first plan made, a library's product that is not what our
                            kernel makes, and by how much; NULL */
} fsim_trial_plan;

/* What to measure. */
typedef struct {
    double budget_s; /* for all plans and kernels; 0: as they take. Of a GPU: until_s */
    double until_s;  /* by fsim_now_s: what is not reached by then is left out, plans first, then kernels, the longest
                        first, then counters; 0: no limit */
    int samples;     /* 0: by budget */
    bool kernels;    /* each kernel by itself too */
    bool warm;       /* whole plans as the run before left L2 */
} fsim_trial_how;

typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    const char *set; /* bindings, "B=8;dtype=f16" */
    int plans;
    fsim_trial_plan *plan;
    bool warm; /* plans ran as the run before left L2 */
    bool
        has_library; /* the device has a vendor's library: a product that did not run by it is not what was predicted */
    const char *failed;    /* why nothing of it was measured; NULL */
    const char *unchecked; /* why the comparison with the reference broke off; NULL */
    int64_t scale;    /* shapes were divided by up to this for the checks; 1: not at all; 0: none are short enough; -1:
                         nobody asked */
    int chosen, best; /* plan with the least predicted, and the least measured time end to end; -1 */
    double regret;    /* measured time of chosen over that of best, less 1; NaN */
    double disturbed; /* share of the samples during which other processes had the CPUs; 0 on a GPU */
    double noise;     /* half the quartile distance of the plans' times over their medians, the median plan's */
} fsim_trial;

/* Plans of the strategies (each of them at most once), with programs and predictions. Where a strategy finds no plan it
 * is left out. In a. */
fsim_trial fsim_trial_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options,
                         const fsim_strategy *strategy, int strategies, fsim_arena *a);

/* As if the hardware were `hw`: everything predicted anew, the partitions stay. */
void fsim_trial_reprice(fsim_trial *t, const fsim_hw *hw, const fsim_options *options, fsim_arena *a);

/* How good is the choice? From measured.stream of all plans. */
void fsim_trial_judge(fsim_trial *t);

/* The first reason why something of it was not measured, or not compared; NULL: all was, but for what is not generated
 * and what was left out. */
const char *fsim_trial_failure(const fsim_trial *t);

/* "12 of 89 kernels were not measured, 20 not counted: not reached within --budget"; NULL. In a. */
const char *fsim_trial_left_out(const fsim_trial *t, fsim_arena *a);

/* Predicted over measured, less 1: of plan p end to end. NaN where not measured, or where other things were than
 * predicted. */
double fsim_trial_error(const fsim_trial_plan *p);

#endif

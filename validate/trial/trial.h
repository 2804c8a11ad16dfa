/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h: plans of one workload as real kernels: generated, checked, run and measured, beside their predictions.
 *
 * The partition of every strategy runs with fusesim's own kernels, so that plans differ only by partition, and are
 * predicted so. On a GPU, a product that a plan runs with the vendor's library does so where one call is enough. */
#ifndef FUSESIM_VALIDATE_TRIAL_TRIAL_H
#define FUSESIM_VALIDATE_TRIAL_TRIAL_H

#include "predict.h"
#include "validate/device/device.h"
#include "validate/reference/check.h"

/* The prediction for one kernel alone: time on the device, without the launch. */
typedef struct {
    double cold_s, warm_s; /* with nothing in L2; with its inputs and results in L2, as far as they fit */
    double dram_read_bytes, dram_write_bytes; /* cold */
} fsim_trial_kernel;

/* What ran in place of the generated kernel. */
typedef struct {
    const char *library;  /* "cuBLAS", "cuBLASLt"; NULL: our own kernel, or nothing ran */
    const char *stand_in; /* why our own kernel ran instead of the library's; NULL: it did not */
} fsim_trial_ran;

typedef struct {
    fsim_strategy strategy;
    fsim_plan plan;               /* priced for single launches, cold */
    double stream_s, graph_s;     /* predicted from beginning to end */
    fsim_program *program;        /* per kernel */
    fsim_trial_kernel *predicted; /* per kernel */
    fsim_check *check;            /* per kernel; of the shapes that were checked */
    int checked, wrong,
        skipped; /* kernels compared with the reference; those that differ; those that can't be generated */
    int untold;  /* kernels whose results say too little to count as compared */
    const char *first_wrong, *first_untold; /* name of the kernel, and the message */
    fsim_measured_plan measured;
    fsim_trial_ran *ran;           /* per kernel, set when it is measured */
    const char *failed, *left_out; /* why it was not measured: it can't be; there was no time */
    const char *no_graph;          /* why not as a CUDA graph; NULL */
    const char *unlike;  /* why what ran is not what was predicted, so that times are not compared; NULL. Set by
                            fsim_trial_judge */
    const char *differs; /* which output differs from the first plan's, or which library product from our own kernel's,
                            and by how much; NULL */
} fsim_trial_plan;

/* What to measure. */
typedef struct {
    double budget_s; /* for all plans and kernels; 0: no limit. GPUs use until_s */
    double until_s;  /* by fsim_now_s: plans, then kernels (longest first), then counters are measured until then; 0: no
                        limit */
    int samples;     /* 0: as many as the budget allows */
    bool kernels;    /* also measure each kernel alone */
    bool warm;       /* whole plans run with what the run before left in L2 */
} fsim_trial_how;

typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    const char *set; /* bindings, "B=8;dtype=f16" */
    int plans;
    fsim_trial_plan *plan;
    bool warm;             /* plans ran with what the run before left in L2 */
    bool has_library;      /* the device has a vendor's library: where a product runs without it, the time is not the
                              predicted one */
    const char *failed;    /* why nothing was measured; NULL */
    const char *unchecked; /* why the comparison with the reference ended early; NULL */
    int64_t scale;        /* factor by which shapes were divided for the checks; 1: not divided; 0: no shapes were short
                             enough; -1: no checks */
    int64_t search_steps; /* of the search on shapes that were divided, as of that of the plans: fsim_options */
    int chosen, best;     /* plan with the lowest predicted, and with the lowest measured time; -1 */
    double regret;        /* measured time of `chosen` over that of `best`, minus 1; NaN */
    double disturbed;     /* share of samples during which other processes used the CPUs; 0 on a GPU */
    double noise;         /* half the interquartile range of a plan's times over their median; of the median plan */
} fsim_trial;

/* The plans of the strategies, each once, with programs and predictions; without strategies that find no plan. The
 * user's plan (options->user_plan, FSIM_STRATEGY_FILE) is on the graph as it is given, and comes alone. In a. */
fsim_trial fsim_trial_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options,
                         const fsim_strategy *strategy, int strategies, fsim_arena *a);

/* Predicts everything again for hardware `hw`, with the same partitions. */
void fsim_trial_reprice(fsim_trial *t, const fsim_hw *hw, const fsim_options *options, fsim_arena *a);

/* Judges the choice by measured.stream of all plans: sets chosen, best, regret, unlike, noise. */
void fsim_trial_judge(fsim_trial *t);

/* The first reason why something was not measured or not compared; NULL: everything was, except what can't be
 * generated and what was left out. */
const char *fsim_trial_failure(const fsim_trial *t);

/* "12 of 89 kernels were not measured, 20 not counted: not reached within --budget"; NULL where nothing was left
 * out. In a. */
const char *fsim_trial_left_out(const fsim_trial *t, fsim_arena *a);

/* Predicted over measured time of plan p, minus 1. NaN where it was not measured, or where what ran is not what was
 * predicted. */
double fsim_trial_error(const fsim_trial_plan *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: a trial on a device: checks its kernels against the reference, compares its plans with each other, and
 * measures them. Uses devices only by the operations of validate/device/backend.h. */
#ifndef FUSESIM_VALIDATE_TRIAL_RUN_H
#define FUSESIM_VALIDATE_TRIAL_RUN_H

#include "validate/device/backend.h"
#include "validate/trial/trial.h"

/* The workload's document and bindings, to read it again with shorter shapes. */
typedef struct {
    const struct fsim_yaml *yaml; /* NULL: shapes can't be shortened */
    fsim_bindings set;
    double most_s; /* approximate time of interpreting each plan */
} fsim_trial_source;

/* Runs every kernel of every plan on the reference's inputs and compares the results: on t's shapes if the
 * interpreter can handle them, otherwise on shorter ones. Sets scale, check, checked, wrong. False with *fault set:
 * the device failed. */
bool fsim_trial_check(fsim_trial *t, fsim_device *d, const fsim_trial_source *source, fsim_fault *fault);

/* Runs and measures the plans of t, whose shapes may be large, and compares all outputs. Sets measured, failed,
 * left_out, differs. False with *fault set: nothing more can run, or (FSIM_INCONCLUSIVE) times are noisy. A plan or
 * kernel that fails alone is no fault; it has the reason. */
bool fsim_trial_measure(fsim_trial *t, fsim_device *d, const fsim_trial_how *how, fsim_fault *fault);

/* Memory for every tensor that a program of t uses. Parameters with tensor -1 are scratch. */
typedef struct {
    bool *used;    /* per tensor */
    int64_t bytes; /* of tensors */
    int programs;
} fsim_touched;
/* What the programs of t use. In a. */
fsim_touched fsim_trial_touches(const fsim_trial *t, fsim_arena *a);

/* Two results for the same tensor, from two plans. */
typedef struct {
    const void *x, *y; /* elements in the tensor's dtype */
    const char *from;  /* the plan or kernel of x, for the message */
} fsim_two_results;
/* Compares both results. NULL: they agree. Otherwise how they differ: the root mean square of the differences
 * exceeds what rounding in the dtype and the order of sums explain; or an element differs by ten times that,
 * relative to itself or to the tensor; or an element is finite in one result only. Where primitives of g jump
 * (comparisons, sorting, integers computed from floats), one element in a thousand may differ. In a. */
const char *fsim_difference_text(const fsim_graph *g, int tensor, const fsim_two_results *r, fsim_arena *a);

#endif

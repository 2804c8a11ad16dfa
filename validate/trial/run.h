/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: a trial on a device: its kernels checked against the reference, its plans compared with each other and
 * measured. Devices are used by the operations of validate/device/backend.h alone. */
#ifndef FUSESIM_VALIDATE_TRIAL_RUN_H
#define FUSESIM_VALIDATE_TRIAL_RUN_H

#include "validate/device/backend.h"
#include "validate/trial/trial.h"

/* What the check of a trial needs besides the trial: the workload's document and bindings, to read it again with
 * shorter shapes. */
typedef struct {
    const struct fsim_yaml *yaml; /* NULL: shapes can't be made shorter */
    const fsim_binding *set;
    int sets;
    double most_s; /* roughly, of interpreting each plan */
} fsim_trial_source;

/* Runs every kernel of every plan on the reference's inputs and compares: on t's shapes where the interpreter can take
 * them, else on shorter ones. Sets scale, check, checked, wrong. False with *fault set: the device failed. */
bool fsim_trial_check(fsim_trial *t, fsim_device *d, const fsim_trial_source *source, fsim_fault *fault);

/* Runs and measures the plans of t, whose shapes may be large, and compares the outputs of all. Sets measured, failed,
 * left_out, differs. False with *fault set: nothing more can be run, or (FSIM_INCONCLUSIVE) times are noisy. What
 * fails for itself alone is no fault: its plan or kernel says so. */
bool fsim_trial_measure(fsim_trial *t, fsim_device *d, const fsim_trial_how *how, fsim_fault *fault);

/* Memory for every tensor that some program of t touches; of -1, scratch. */
typedef struct {
    bool *used;    /* per tensor */
    int64_t bytes; /* of tensors */
    int programs;
} fsim_touched;
/* In a. */
fsim_touched fsim_trial_touches(const fsim_trial *t, fsim_arena *a);

/* Two results of one tensor that should agree: what plan `from` made of it, and what another one made. */
typedef struct {
    const void *x, *y; /* in the tensor's dtype */
    const char *from;  /* whose x is, for the message */
} fsim_two_results;
/* NULL: they agree. Else how they differ: in root mean square by more than rounding in the dtype and the order of sums
 * explain; in some element by ten times that, of its own size or the tensor's, or by being a finite number in one of
 * them only. None may; where primitives of g jump (comparisons, orders, integers made of floats), one in a thousand.
 * In a. */
const char *fsim_apart_by(const fsim_graph *g, int tensor, const fsim_two_results *r, fsim_arena *a);

#endif

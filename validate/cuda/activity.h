/* SPDX-License-Identifier: Apache-2.0 */
/* activity.h: when each kernel started and ended, by CUPTI's Activity API, which needs no privilege. */
#ifndef FUSESIM_VALIDATE_CUDA_ACTIVITY_H
#define FUSESIM_VALIDATE_CUDA_ACTIVITY_H

#include "validate/cuda/device.h"

/* Opens CUPTI and asks for kernel records; sets facts.timing. There may be one such session in a process: CUPTI's
 * callbacks are given no pointer of ours, so a static one says where records go. */
void fsim_activity_open(fsim_gpu *g);
/* Ends the session. Does nothing where there is none. */
void fsim_activity_close(fsim_gpu *g);
/* Records slow launches down, and a range profiler may not run beside them. */
void fsim_activity_pause(fsim_gpu *g);
/* Records again. Where CUPTI refuses, times come from CUDA events from here on, and facts.timing says so. */
void fsim_activity_resume(fsim_gpu *g);

typedef struct {
    uint64_t start_ns, end_ns; /* 0: CUPTI lost it */
    uint32_t correlation;      /* ascends with the launches */
    char name[120];            /* cut off where it is longer */
} fsim_record;

/* The runs of one kernel, in order, out of all records since the last sample: those of our own helpers are left out,
 * the others fall into `runs` equal parts, one a run. seconds[runs]: the sum over each part. launch: names that each
 * part must have, in order; NULL: any, but the same in each part. NULL, or why the records are no good. Sorts them. */
const char *fsim_runs_of(fsim_record *record, int records, int runs, const fsim_launch *launch, int launches,
                         double *seconds);

/* Forgets the records up to now. */
void fsim_activity_forget(fsim_gpu *g);
/* What should have run since fsim_activity_forget. */
typedef struct {
    int runs;
    const fsim_launch *launch; /* the launches of each run; NULL: any, but the same in each */
    int launches;
    int helpers; /* launches of fusesim's own kernels between them */
} fsim_expected_runs;

/* Fetches the records of these runs and adds them up as fsim_runs_of does. *why: they can't be used; NULL: they can. */
bool fsim_activity_runs(fsim_gpu *g, const fsim_expected_runs *expected, double *seconds, const char **why,
                        fsim_fault *fault);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* activity.h: the start and end of each kernel, by CUPTI's Activity API, which needs no privileges. */
#ifndef FUSESIM_VALIDATE_CUDA_ACTIVITY_H
#define FUSESIM_VALIDATE_CUDA_ACTIVITY_H

#include "validate/cuda/device.h"

/* Opens CUPTI and requests kernel records; sets facts.timing. A process can have one session: CUPTI's callbacks get
 * no pointer of ours, so a static one says where records go. */
void fsim_activity_open(fsim_gpu *g);
/* Ends the session. Does nothing where there is none. */
void fsim_activity_close(fsim_gpu *g);
/* Stops recording: records make launches slower, and a range profiler may not run at the same time. */
void fsim_activity_pause(fsim_gpu *g);
/* Resumes recording. If CUPTI refuses, times come from CUDA events from now on, and facts.timing says so. */
void fsim_activity_resume(fsim_gpu *g);

typedef struct {
    uint64_t start_ns, end_ns; /* 0: CUPTI lost it */
    uint32_t correlation;      /* increases with the launches */
    char name[120];            /* truncated where it is longer */
} fsim_record;

/* Adds up the records since the last sample by run: those of fusesim's own helper kernels are skipped, the others
 * are divided into `runs` equal parts. seconds[runs]: the sum of each part. launch: the names that each part must
 * have, in order; NULL: any names, but the same in each part. Returns NULL, or why the records can't be used. Sorts
 * them. */
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

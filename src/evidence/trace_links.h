/* SPDX-License-Identifier: Apache-2.0 */
/* trace_links.h: the events of a trace, and how they are linked. A kernel's "correlation" is the id of the runtime
 * call that launched it. Its operator is the innermost one that ran at that time in that call's thread. Where none
 * ran, it is the operator with the kernel's "External id", an id that some versions count in another way. */
#ifndef FUSESIM_EVIDENCE_TRACE_LINKS_H
#define FUSESIM_EVIDENCE_TRACE_LINKS_H

#include "evidence/profile.h"

/* A hash table from ids to indices. */
typedef struct {
    int64_t *key;
    int *value;
    int count, slots;
} fsim_id_map;
/* Sets the value of a key. Both are 0 or more. In a. */
void fsim_id_set(fsim_arena *a, fsim_id_map *m, int64_t key, int value);

/* A call of the CUDA runtime in a thread of the host. */
typedef struct {
    double start_us;
    int64_t external; /* -1: none */
    int thread;
    bool graph;
} fsim_trace_call;
/* An operator that ran in a thread of the host. */
typedef struct {
    double start_us, end_us;
    int thread, call;
    int outer; /* the operator that called it: an index into the same list; -1: none */
} fsim_trace_operator;
/* A training step, as the profiler marks it. */
typedef struct {
    double start_us, end_us;
} fsim_trace_step;
/* A kernel, copy or fill that the device ran. */
typedef struct {
    fsim_profiled_launch launch;
    double start_us, launched_us;
    int64_t correlation, external; /* -1: none */
    int order;
} fsim_trace_launch;

/* The events read from a trace, in its order. */
typedef struct {
    fsim_trace_launch *launch;
    int launches, launch_room;
    fsim_trace_call *runtime;
    int runtimes, runtime_room;
    fsim_trace_operator *running; /* operators; fsim_trace_link sorts them by thread and start */
    int runnings, running_room;
    fsim_trace_step *step;
    int steps, step_room;
    fsim_id_map by_correlation, by_external; /* ids to runtime calls; ids to operators' calls */
} fsim_trace;

/* Links launches to operators' calls and steps, and sets out->launch, in the order in which the host launched them.
 * Sorts t. In a. */
void fsim_trace_link(fsim_trace *t, fsim_arena *a, fsim_profile *out);

#endif

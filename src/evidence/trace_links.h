/* SPDX-License-Identifier: Apache-2.0 */
/* trace_links.h: the events of a trace, and which belongs to which: a kernel's "correlation" names the runtime's call
 * that launched it; the operator is the innermost one that was running then in that call's thread. Where there is none,
 * it is the one of the kernel's "External id", which some versions number otherwise. */
#ifndef FUSESIM_EVIDENCE_TRACE_LINKS_H
#define FUSESIM_EVIDENCE_TRACE_LINKS_H

#include "evidence/profile.h"

/* Numbers to numbers. */
typedef struct {
    int64_t *key;
    int *value;
    int count, slots;
} fsim_id_map;
/* Sets the value of a key, 0 or more. In a. */
void fsim_id_set(fsim_arena *a, fsim_id_map *m, int64_t key, int value);

/* A call of the runtime, in a thread of the host. */
typedef struct {
    double start_us;
    int64_t external; /* -1: none */
    int thread;
    bool graph;
} fsim_trace_call;
/* An operator while it runs in such a thread. */
typedef struct {
    double start_us, end_us;
    int thread, call;
    int outer; /* the operator around it: an index into the same list; -1 */
} fsim_trace_operator;
/* A step as the profiler marks it. */
typedef struct {
    double start_us, end_us;
} fsim_trace_step;
/* What the device ran. */
typedef struct {
    fsim_profiled_launch launch;
    double start_us, launched_us;
    int64_t correlation, external; /* -1: none */
    int order;
} fsim_trace_launch;

/* What was read of a trace, in its order. */
typedef struct {
    fsim_trace_launch *launch;
    int launches, launch_room;
    fsim_trace_call *runtime;
    int runtimes, runtime_room;
    fsim_trace_operator *running; /* operators; in the end by thread and start */
    int runnings, running_room;
    fsim_trace_step *step;
    int steps, step_room;
    fsim_id_map by_correlation, by_external; /* runtime calls; operators' calls */
} fsim_trace;

/* Links the launches to operators' calls and steps: out->launch, as the host launched them. Sorts t. In a. */
void fsim_trace_link(fsim_trace *t, fsim_arena *a, fsim_profile *out);

#endif

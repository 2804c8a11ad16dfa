/* SPDX-License-Identifier: Apache-2.0 */
/* plan_gates.h: gates (--gate) of a plan: "time=5ms", "inductor:speedup=1.1", "t4/optimal:proven".
 *
 * GROUP: a strategy, a GPU of --hw, or both joined by a slash. Without a strategy it is the reported plan; without a
 * GPU, all GPUs. */
#ifndef FUSESIM_REPORT_PLAN_GATES_H
#define FUSESIM_REPORT_PLAN_GATES_H

#include "input/gate.h"
#include "predict.h"

extern const fsim_gate_table fsim_plan_gates;

/* The meaning of a gate's group. */
typedef struct {
    int strategy; /* FSIM_PLAN_COUNT: the reported plan's */
    int gpu;      /* index into the names; -1: all */
} fsim_plan_group;

/* The GPUs of --hw, each by the name typed and by its own. */
typedef struct {
    const char **typed, **name;
    int count;
} fsim_gate_gpus;

/* Looks up the names of the gate's group among the strategies and the GPUs; "a100" is the one A100 among them. False
 * after an error in d. */
bool fsim_plan_group_of(fsim_arena *a, fsim_diag *d, const fsim_gate *gate, const fsim_gate_gpus *gpus,
                        fsim_plan_group *out);

/* The judged gates of one GPU. */
typedef struct {
    fsim_gate *at;
    int count;
} fsim_judged;
/* Judges the gates of gate[0, gates) that apply to the GPU with this index, by its prediction. In a. */
fsim_judged fsim_plan_gates_try(const fsim_gate *gate, const fsim_plan_group *group, int gates, int gpu,
                                const fsim_prediction *p, fsim_arena *a);

/* Gates and plans of several GPUs as JUnit XML: a test case for each gate, and one for each plan, which fails where
 * the plan needs more memory than --memory-limit. */
void fsim_junit_plans(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plan_gates.h: limits of --gate that a plan must keep: "time=5ms", "inductor:speedup=1.1", "t4/optimal:proven".
 *
 * GROUP: a strategy, a GPU of --hw, or both, joined by a slash. Without a strategy the plan shown is meant; without a
 * GPU every one. */
#ifndef FUSESIM_REPORT_PLAN_GATES_H
#define FUSESIM_REPORT_PLAN_GATES_H

#include "input/gate.h"
#include "predict.h"

extern const fsim_gate_table fsim_plan_gates;

/* What a gate's group names. */
typedef struct {
    int strategy; /* or FSIM_PLAN_COUNT: that of the plan shown */
    int gpu;      /* index into the names; -1: every one */
} fsim_plan_group;

/* Finds the names of gate's group among the strategies and the GPUs. False after an error in d. */
bool fsim_plan_group_of(fsim_arena *a, fsim_diag *d, const fsim_gate *gate, const char *const *gpu, int gpus,
                        fsim_plan_group *out);

/* The gates that hold on one GPU, judged. */
typedef struct {
    fsim_gate *at;
    int count;
} fsim_judged;
/* Those of gate[0, gates) that mean every GPU or the one with this index, judged by its prediction. In a. */
fsim_judged fsim_plan_gates_try(const fsim_gate *gate, const fsim_plan_group *group, int gates, int gpu,
                                const fsim_prediction *p, fsim_arena *a);

/* Gates and plans of several GPUs as JUnit XML: a case for each gate, and one for each plan, which fails where it needs
 * more memory than --memory-limit allows. */
void fsim_junit_plans(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h: when each kernel of a plan runs. Computation is one stream; communication and transfers have a stream
 * each and start when their inputs are there, so that they overlap what does not wait for them. A plan's time_s stays
 * the sum of its kernels: that is what the search minimises. */
#ifndef FUSESIM_PLAN_PRICE_TIMELINE_H
#define FUSESIM_PLAN_PRICE_TIMELINE_H

#include "plan/price/plan.h"

typedef enum { FSIM_LANE_COMPUTE, FSIM_LANE_COMMUNICATION, FSIM_LANE_TRANSFER, FSIM_LANE_COUNT } fsim_lane;
extern const char *const fsim_lane_names[FSIM_LANE_COUNT];

typedef struct {
    double start_s, end_s;
    fsim_lane lane;
} fsim_span;

typedef struct {
    fsim_span *span;   /* per kernel, in launch order */
    double makespan_s; /* end of the last */
    double busy_s[FSIM_LANE_COUNT];
} fsim_timeline;

/* Each stream runs its kernels in the plan's launch order. In a. */
fsim_timeline fsim_timeline_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a);

/* What a caller's clock (events around one run) shows. Kernels and graphs: the sum. A stream: the same and what the
 * events and the first launch cost. Eager: from the first launch on an idle GPU to the last kernel's end; the host
 * launches one kernel after the other, and runs ahead where they take longer than that. torch.compile's guards come
 * before that (compiled_call), and its launches take longer (compiled_launch). */
double fsim_call_seconds(const fsim_kernel *kernel, int kernels, fsim_maker maker, fsim_regime regime,
                         const fsim_hw *hw);

#endif

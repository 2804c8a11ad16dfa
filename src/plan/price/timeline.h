/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h: when each kernel of a plan runs. Computation is one stream. Communication and transfers have a stream
 * each and start when their inputs exist, so that they overlap computation that does not depend on them. A plan's
 * time_s is still the sum of its kernels, which is what the search minimises. */
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

/* The time that a caller measures with events around one run. Kernels and graphs: the sum of the kernels. A stream:
 * that sum plus the cost of the events and of the first launch. Eager: from the first launch on an idle GPU to the
 * end of the last kernel; the host issues one launch after the other, and is ahead of the GPU where kernels take
 * longer than launches. torch.compile checks its guards first (compiled_call) and its launches take longer
 * (compiled_launch). */
double fsim_call_seconds(const fsim_kernel *kernel, int kernels, fsim_maker maker, fsim_regime regime,
                         const fsim_hw *hw);
/* The same where all that the host does takes host_factor times as long. */
double fsim_call_seconds_with_host(const fsim_kernel *kernel, int kernels, fsim_maker maker, fsim_regime regime,
                                   const fsim_hw *hw, double host_factor);

#endif

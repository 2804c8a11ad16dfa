/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/timeline.h"

#include "cost/costing.h"

#include <math.h>

const char *const fsim_lane_names[FSIM_LANE_COUNT] = {"compute", "communication", "transfer"};

static fsim_lane lane_of(const fsim_kernel *k)
{
    return k->template == FSIM_COMMUNICATION_KERNEL ? FSIM_LANE_COMMUNICATION
           : k->template == FSIM_TRANSFER_KERNEL    ? FSIM_LANE_TRANSFER
                                                    : FSIM_LANE_COMPUTE;
}

fsim_timeline fsim_timeline_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    fsim_timeline out = {.span = fsim_new(a, fsim_span, plan->kernels + 1)};
    fsim_sum *ready = fsim_new(a, fsim_sum, g->tensors + 1), idle[FSIM_LANE_COUNT] = {0}, busy[FSIM_LANE_COUNT] = {0},
             last = 0; /* ticks */
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        const fsim_lane lane = lane_of(x);
        const fsim_sum ticks = fsim_ticks(x->time_s);
        fsim_sum start = idle[lane];
        for (int i = 0; i < x->inputs; i++)
            start = ready[x->input[i].tensor] > start ? ready[x->input[i].tensor] : start;
        const fsim_sum end = start + ticks;
        for (int i = 0; i < x->outputs; i++)
            ready[x->output[i].tensor] = end;
        idle[lane] = end;
        busy[lane] += ticks;
        last = end > last ? end : last;
        out.span[k] = (fsim_span){(double)start * FSIM_TICK_S, (double)end * FSIM_TICK_S, lane};
    }
    out.makespan_s = (double)last * FSIM_TICK_S;
    for (int l = 0; l < FSIM_LANE_COUNT; l++)
        out.busy_s[l] = (double)busy[l] * FSIM_TICK_S;
    return out;
}

/* Collectives alone are timed by many calls in a row (nccl-tests), and not with events around one. */
static bool only_communicates(const fsim_kernel *kernel, int kernels)
{
    for (int k = 0; k < kernels; k++)
        if (kernel[k].template != FSIM_COMMUNICATION_KERNEL)
            return false;
    return kernels > 0;
}

double fsim_call_seconds_with_host(const fsim_kernel *kernel, int kernels, fsim_maker maker, fsim_regime regime,
                                   const fsim_hw *hw, double host_factor)
{
    const bool compiled = maker == FSIM_BY_INDUCTOR;
    const double launch = host_factor * fsim_hw_get(hw, compiled ? FSIM_HW_COMPILED_LAUNCH : FSIM_HW_LAUNCH_EAGER),
                 floor = fsim_hw_get(hw, FSIM_HW_KERNEL_FLOOR),
                 gap = fmax(0, fsim_or_else(fsim_hw_get(hw, FSIM_HW_LAUNCH_STREAM) - floor,
                                            0)); /* between a kernel's end and the begin of one that waits for it */
    double seconds = 0, host = host_factor * fsim_hw_get(hw, compiled ? FSIM_HW_COMPILED_CALL : FSIM_HW_CALL_EAGER),
           gpu = 0;
    for (int k = 0; k < kernels; k++) {
        const double extra = launch * (compiled ? kernel[k].compiled_extra
                                                : kernel[k].host_extra); /* compiled code calls the library itself */
        seconds += kernel[k].time_s;
        const double begun =
            fmax(host + launch + extra,
                 k > 0 ? gpu + gap : 0); /* end of the first launch; the host issues the other launches meanwhile */
        host += launch * kernel[k].launches + extra;
        gpu = fmax(begun + floor + (floor + gap) * (kernel[k].launches - 1) +
                       (kernel[k].time_s - kernel[k].time[FSIM_LAUNCH]),
                   host + floor);
    }
    return regime == FSIM_REGIME_EAGER ? gpu
           : regime == FSIM_REGIME_STREAM
               ? seconds + (only_communicates(kernel, kernels) ? 0 : fsim_hw_get(hw, FSIM_HW_CALL_STREAM))
               : seconds;
}

double fsim_call_seconds(const fsim_kernel *kernel, int kernels, fsim_maker maker, fsim_regime regime,
                         const fsim_hw *hw)
{
    return fsim_call_seconds_with_host(kernel, kernels, maker, regime, hw, 1);
}

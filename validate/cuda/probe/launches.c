/* SPDX-License-Identifier: Apache-2.0 */
/* launches.c: the cost of a launch: alone, after others, and in a queue. */
#include "validate/cuda/probe/stages.h"

#include "validate/cuda/helpers.h"
#include <string.h>

enum { LAUNCHES = 200 };

static fsim_times slope(fsim_times one, fsim_times many)
{
    if (one.samples == 0 || many.samples == 0)
        return (fsim_times){0};
    return (fsim_times){many.samples, (many.median_s - one.median_s) / LAUNCHES, (many.low_s - one.median_s) / LAUNCHES,
                        (many.high_s - one.median_s) / LAUNCHES, (many.least_s - one.median_s) / LAUNCHES};
}

bool fsim_probe_launches(fsim_probe_bench *b)
{
    fsim_gpu_kernel **kernel = fsim_new(b->a, fsim_gpu_kernel *, LAUNCHES + 1);
    const fsim_gpu_plan plan[] = {{"one empty kernel", kernel, 1, false},
                                  {"many empty kernels", kernel, LAUNCHES + 1, false}};
    fsim_measured_plan m[2] = {{0}, {0}};
    fsim_times wall[2] = {{0}, {0}};
    fsim_fault fault = {0};
    const char *why = NULL;
    for (int i = 0; i <= LAUNCHES; i++)
        kernel[i] = i == 0 ? fsim_gpu_empty_kernel(b->g) : kernel[0];
    if (!fsim_gpu_measure_plans(b->g, plan, 2, m, wall, &fault) && fault.status != FSIM_INCONCLUSIVE &&
        !fsim_probe_survives(b, &fault, &why))
        return false;
    fsim_probe_set(b, FSIM_GPU_LAUNCH_STREAM, slope(m[0].stream, m[1].stream), 0, 0);
    fsim_probe_set(b, FSIM_GPU_LAUNCH_GRAPH, slope(m[0].graph, m[1].graph), 0, 0);
    fsim_probe_set(b, FSIM_GPU_LAUNCH_ALONE, m[0].stream, 0, 0);
    fsim_probe_set(b, FSIM_GPU_LAUNCH_WAITED, wall[0], 0, 0);
    return true;
}

/* Launches kernels that take longer than a launch, behind one that runs until all are queued. Between them are only
 * the gaps of the device; between empty kernels there would be the processor's time for a launch. The gap is the
 * time of a kernel minus its record; the record of an empty kernel is added, because other figures count it as part
 * of a launch. */
bool fsim_probe_queue(fsim_probe_bench *b)
{
    enum { SHORT_TURNS = 140, LONG_TURNS = 30 * SHORT_TURNS }; /* about 20 us and 0.6 ms */
    fsim_probe_kernel s = fsim_pipe_kernel(b, FSIM_PIPE_FFMA, 1), l = s;
    fsim_gpu_kernel **kernel = fsim_new(b->a, fsim_gpu_kernel *, LAUNCHES + 2);
    const fsim_gpu_plan plan[] = {{"a long kernel and a short one", kernel, 2, false},
                                  {"a long kernel and many short ones", kernel, LAUNCHES + 2, false}};
    fsim_measured_plan m[2] = {{0}, {0}};
    fsim_measured_kernel one;
    fsim_fault fault = {0};
    const char *why = NULL;
    s.iterations = SHORT_TURNS;
    l.iterations = LONG_TURNS;
    if (!fsim_probe_measure(b, &s, &one, &why))
        return false;
    fsim_gpu_kernel *longer = fsim_probe_load(b, &l, &fault), *shorter = longer ? fsim_probe_load(b, &s, &fault) : NULL;
    for (int i = 0; i < LAUNCHES + 2; i++)
        kernel[i] = i == 0 ? longer : shorter;
    if (shorter && fsim_gpu_measure_plans(b->g, plan, 2, m, NULL, &fault))
        fault = (fsim_fault){0};
    fsim_gpu_unload(b->g, longer);
    fsim_gpu_unload(b->g, shorter);
    if (fault.status != 0 && fault.status != FSIM_INCONCLUSIVE && !fsim_probe_survives(b, &fault, &why))
        return false;
    fsim_times t = slope(m[0].stream, m[1].stream);
    const double work_s = one.warm.median_s - fsim_probe_floor_s(b);
    t.median_s -= work_s, t.low_s -= work_s, t.high_s -= work_s, t.least_s -= work_s;
    if (strstr(b->out->facts->timing, "records") && one.warm.samples > 0)
        fsim_probe_set(b, FSIM_GPU_LAUNCH_QUEUED, t, 0, 0);
    fsim_probe_leave_out(b, FSIM_GPU_LAUNCH_QUEUED, why ? why : b->out->facts->timing);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* loads.c: the SMs' clock before anything runs and under load, with the sensors' readings. */
#include "validate/cuda/probe/stages.h"

#include "validate/cuda/helpers.h"
#include "validate/cuda/kernel.h"
#include <math.h>

enum { LOAD_PARTS = 5 };

/* The clock before anything else has run: a flush takes long enough to measure it. */
bool fsim_probe_first_clock(fsim_probe_bench *b)
{
    fsim_gpu *g = b->g;
    double hz = NAN;
    if (fsim_gpu_stamp_clocks(g, 0, &b->fault) && fsim_gpu_flush(g, &b->fault) &&
        fsim_gpu_stamp_clocks(g, 1, &b->fault) && fsim_gpu_wait(g, "the clock's reading", &b->fault))
        hz = fsim_gpu_clock_hz(g);
    if (!isnan(hz))
        fsim_probe_set(b, FSIM_GPU_CLOCK_START, (fsim_times){1, hz, hz, hz, hz}, 0, 0);
    fsim_probe_leave_out(b, FSIM_GPU_CLOCK_START, "too short a time");
    return b->fault.status == 0;
}

/* Clock readings around `parts` runs of the kernel, each of about load_s / parts; sensors are read in the middle of
 * the last. */
static bool run_load(fsim_probe_bench *b, const char *name, fsim_gpu_kernel *k, fsim_gpu_probe clock,
                     fsim_sensors *sensors, const fsim_nvml *nvml)
{
    enum { LEAST_LAUNCHES = 8, MOST_LAUNCHES = 2000 };
    fsim_gpu *g = b->g;
    fsim_fault fault = {0};
    const char *why = NULL;
    double x[LOAD_PARTS];
    int n = 0;
    const double start_s = fsim_now_s();
    bool good = fsim_gpu_run(g, k, &fault);
    const double once_s = fsim_now_s() - start_s,
                 wanted = b->option.load_s / LOAD_PARTS / (once_s > 1e-5 ? once_s : 1e-5);
    const int launches = wanted < LEAST_LAUNCHES  ? LEAST_LAUNCHES
                         : wanted > MOST_LAUNCHES ? MOST_LAUNCHES
                                                  : (int)wanted;
    for (int part = 0; part < LOAD_PARTS && good; part++) {
        good = fsim_gpu_stamp_clocks(g, 0, &fault);
        for (int i = 0; i < launches && good; i++)
            good = fsim_gpu_launch(g, k, &fault);
        if (good && part == LOAD_PARTS - 1)
            *sensors = fsim_nvml_read(nvml, b->a);
        good = good && fsim_gpu_stamp_clocks(g, 1, &fault) && fsim_gpu_wait(g, name, &fault);
        const double hz = good ? fsim_gpu_clock_hz(g) : NAN;
        if (!isnan(hz))
            x[n++] = hz;
    }
    const fsim_times t = fsim_times_of(x, n);
    if (n > 0)
        fsim_probe_set(b, clock, t, 0, 0);
    if (!good)
        fsim_probe_survives(b, &fault, &why);
    fsim_probe_leave_out(b, clock, why ? why : "no clock was read");
    return b->fault.status == 0;
}

bool fsim_probe_loads(fsim_probe_bench *b, const fsim_nvml *nvml)
{
    const int64_t bytes = b->option.most_bytes;
    fsim_gpu_buffer x = {0}, y = {0};
    const char *why = NULL;
    const bool there = fsim_probe_allocate(b, "a probe of memory", bytes, &x, &why) &&
                       fsim_probe_allocate(b, "a probe of memory", bytes, &y, &why) &&
                       fsim_probe_fill(b, x, fsim_probe_floats, &why);
    const struct {
        const char *name;
        fsim_gpu_probe clock;
        fsim_probe_kernel of;
        bool there;
        const char *why;
    } load_of[FSIM_GPU_LOADS] = {
        {"multiply-adds", FSIM_GPU_CLOCK_FMA, fsim_pipe_kernel(b, FSIM_PIPE_FFMA, 20), true, NULL},
        {"tensor cores", FSIM_GPU_CLOCK_TENSOR, fsim_pipe_kernel(b, FSIM_PIPE_MMA_F16, 20),
         b->cubin[FSIM_PROBE_TENSOR].cubin != NULL, b->cubin[FSIM_PROBE_TENSOR].fault.message},
        {"copies",
         FSIM_GPU_CLOCK_MEMORY,
         {"probe_copy", FSIM_PROBE_MEMORY, bytes / FSIM_PROBE_ELEM_BYTES / FSIM_PROBE_BLOCK, FSIM_PROBE_BLOCK, x, y,
          (uint64_t)bytes / FSIM_PROBE_ELEM_BYTES, 1},
         there,
         why}};
    for (int i = 0; i < FSIM_GPU_LOADS && b->fault.status == 0; i++) {
        fsim_fault fault = {0};
        b->out->load[i].name = load_of[i].name;
        fsim_gpu_kernel *k = load_of[i].there ? fsim_probe_load(b, &load_of[i].of, &fault) : NULL;
        why = load_of[i].why;
        if (k)
            (void)!run_load(b, load_of[i].name, k, load_of[i].clock, &b->out->load[i].sensors, nvml);
        else if (load_of[i].there)
            fsim_probe_survives(b, &fault, &why);
        fsim_probe_leave_out(b, load_of[i].clock, why);
        fsim_gpu_unload(b->g, k);
    }
    fsim_gpu_free(b->g, &x);
    fsim_gpu_free(b->g, &y);
    return b->fault.status == 0;
}

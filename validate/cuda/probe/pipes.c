/* SPDX-License-Identifier: Apache-2.0 */
/* pipes.c: rates of arithmetic units and of shared memory, by the SMs' cycle counters. */
#include "validate/cuda/probe/stages.h"

static const struct {
    const char *entry;
    fsim_probe_text of;
    fsim_gpu_probe per_clock, rate; /* rate FSIM_GPU_PROBES: none */
    double a_turn;                  /* results, bytes or FLOP of a block in one iteration */
    double flop;                    /* FLOP of a result, for the rate */
    int iterations;
} pipes[] = {
    {"probe_ffma", FSIM_PROBE_RATES, FSIM_GPU_FFMA, FSIM_GPU_FFMA_RATE, 32.0 * FSIM_PROBE_WIDE_BLOCK, 2, 2000},
    {"probe_hfma2", FSIM_PROBE_RATES, FSIM_GPU_HFMA2, FSIM_GPU_HFMA2_RATE, 64.0 * FSIM_PROBE_WIDE_BLOCK, 2, 2000},
    {"probe_dfma", FSIM_PROBE_RATES, FSIM_GPU_DFMA, FSIM_GPU_DFMA_RATE, 32.0 * FSIM_PROBE_WIDE_BLOCK, 2, 200},
    {"probe_imad", FSIM_PROBE_RATES, FSIM_GPU_IMAD, FSIM_GPU_IMAD_RATE, 32.0 * FSIM_PROBE_WIDE_BLOCK, 1, 1000},
    {"probe_special", FSIM_PROBE_RATES, FSIM_GPU_SPECIAL, FSIM_GPU_SPECIAL_RATE, 32.0 * FSIM_PROBE_WIDE_BLOCK, 1, 400},
    {"probe_shared", FSIM_PROBE_RATES, FSIM_GPU_SHARED, FSIM_GPU_PROBES, 64.0 * FSIM_PROBE_WIDE_BLOCK, 1, 1000},
    {"probe_mma_f16", FSIM_PROBE_TENSOR, FSIM_GPU_MMA_F16, FSIM_GPU_MMA_F16_RATE, 32.0 * 8 * 4096, 1, 2000},
    {"probe_mma_bf16", FSIM_PROBE_TENSOR, FSIM_GPU_MMA_BF16, FSIM_GPU_MMA_BF16_RATE, 32.0 * 8 * 4096, 1, 2000},
    {"probe_mma_tf32", FSIM_PROBE_TENSOR, FSIM_GPU_MMA_TF32, FSIM_GPU_MMA_TF32_RATE, 32.0 * 8 * 2048, 1, 2000},
    {"probe_mma_i8", FSIM_PROBE_TENSOR, FSIM_GPU_MMA_I8, FSIM_GPU_MMA_I8_RATE, 32.0 * 8 * 8192, 1, 2000}};
enum { PIPES = sizeof pipes / sizeof *pipes };

fsim_probe_kernel fsim_pipe_kernel(const fsim_probe_bench *b, int i, int times)
{
    return (fsim_probe_kernel){pipes[i].entry,
                               pipes[i].of,
                               b->out->facts->sms,
                               FSIM_PROBE_WIDE_BLOCK,
                               b->operands,
                               b->cycles,
                               0,
                               (uint64_t)pipes[i].iterations * (uint64_t)times};
}

/* From the cycles of the last run's blocks: work / cycles, or, where work is 0, cycles / divisor. */
static void set_by_cycles(fsim_probe_bench *b, fsim_gpu_probe p, double work, double divisor)
{
    const int sms = b->out->facts->sms;
    uint64_t *cycles = fsim_new(b->a, uint64_t, sms);
    double *x = fsim_new(b->a, double, sms);
    fsim_fault fault = {0};
    const char *why = NULL;
    int n = 0;
    if (!fsim_gpu_download(b->g, cycles, b->cycles, (int64_t)sizeof *cycles * sms, &fault)) {
        fsim_probe_survives(b, &fault, &why);
        fsim_probe_leave_out(b, p, why);
        return;
    }
    for (int i = 0; i < sms; i++)
        if (cycles[i] > 0)
            x[n++] = work > 0 ? work / (double)cycles[i] : (double)cycles[i] / divisor;
    const fsim_times t = fsim_times_of(x, n);
    fsim_figure f = {
        fsim_gpu_probe_names[p], fsim_gpu_probe_units[p], 0, t.median_s, t.low_s, t.high_s, n, false, NULL};
    f.noisy = n > 0 && fsim_gpu_spread(&f) > fsim_probe_most_spread;
    b->out->of[p] = n > 0 ? f : fsim_probe_missing(f.name, f.unit, "no cycles were counted");
}

static bool measure_pipe(fsim_probe_bench *b, int i)
{
    const fsim_probe_kernel s = fsim_pipe_kernel(b, i, 1);
    const double work = pipes[i].a_turn * pipes[i].iterations;
    const char *why;
    fsim_measured_kernel m;
    if (!b->cubin[pipes[i].of].cubin) {
        why = b->cubin[pipes[i].of].fault.message;
    } else if (!fsim_probe_measure(b, &s, &m, &why)) {
        return false;
    } else if (m.warm.samples > 0) {
        set_by_cycles(b, pipes[i].per_clock, work, 0);
        if (pipes[i].rate != FSIM_GPU_PROBES)
            fsim_probe_set(b, pipes[i].rate, m.warm, fsim_probe_floor_s(b), work * pipes[i].flop * b->out->facts->sms);
    } else {
        why = why ? why : m.failed;
    }
    fsim_probe_leave_out(b, pipes[i].per_clock, why);
    if (pipes[i].rate != FSIM_GPU_PROBES)
        fsim_probe_leave_out(b, pipes[i].rate, why);
    return b->fault.status == 0;
}

static bool measure_shared_latency(fsim_probe_bench *b)
{
    enum { TURNS = 100 };
    const fsim_probe_kernel s = {"probe_shared_chase",
                                 FSIM_PROBE_RATES,
                                 b->out->facts->sms,
                                 FSIM_PROBE_WIDE_BLOCK,
                                 b->operands,
                                 b->cycles,
                                 0,
                                 TURNS};
    const char *why;
    if (!fsim_probe_run_once(b, &s, &why))
        return false;
    if (!why)
        set_by_cycles(b, FSIM_GPU_SHARED_LATENCY, 0, 32.0 * TURNS);
    fsim_probe_leave_out(b, FSIM_GPU_SHARED_LATENCY, why);
    return true;
}

bool fsim_probe_pipes(fsim_probe_bench *b)
{
    for (int i = 0; i < PIPES; i++)
        if (!measure_pipe(b, i))
            return false;
    return measure_shared_latency(b);
}

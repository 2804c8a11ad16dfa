/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: runs all probes, one after the other. */
#include "validate/cuda/probe/stages.h"

#include "validate/cuda/device.h"
#include <string.h>

enum { USUAL_GEMM = 8192, TINY_BYTES = 64 };
static const int64_t usual_most_bytes = (int64_t)4 << 30;
static const double usual_load_s = 0.5;

static bool open_bench(fsim_probe_bench *b)
{
    static const float operand[4] = {0.999f, 0.5f, 0.75f, 0.25f};
    const fsim_program program[FSIM_PROBE_TEXTS] = {
        {.name = "probe_memory", .source = fsim_probe_memory_text},
        {.name = "probe_rates", .source = fsim_probe_rates_text},
        {.name = "probe_tensor", .source = fsim_probe_tensor_text, .sm = fsim_least_mma_sm(FSIM_MATRIX_F16)}};
    fsim_gpu *g = b->g;
    const int64_t eighth = b->out->facts->free_bytes / 8, limit = eighth < usual_most_bytes ? eighth : usual_most_bytes;
    if (b->option.most_bytes == 0)
        for (b->option.most_bytes = FSIM_PROBE_LEAST_BYTES; 2 * b->option.most_bytes <= limit;)
            b->option.most_bytes *= 2;
    b->option.load_s = b->option.load_s > 0 ? b->option.load_s : usual_load_s;
    while (b->option.gemm == 0 || (int64_t)3 * 4 * b->option.gemm * b->option.gemm > b->out->facts->free_bytes / 2)
        b->option.gemm = b->option.gemm == 0 ? USUAL_GEMM : b->option.gemm / 2;
    if (!fsim_gpu_compile(g, program, FSIM_PROBE_TEXTS, &(fsim_nvrtc_how){NULL, FSIM_PROBE_TEXTS}, b->cubin,
                          &b->fault)) {
        if (!b->cubin[FSIM_PROBE_MEMORY].cubin || !b->cubin[FSIM_PROBE_RATES].cubin ||
            b->cubin[FSIM_PROBE_TENSOR].fault.status != FSIM_UNAVAILABLE)
            return false; /* otherwise it is an older device */
        b->fault = (fsim_fault){0};
    }
    return fsim_gpu_allocate(g, "probes", FSIM_PROBE_ARGS * 2 * (int64_t)sizeof(uint64_t), &b->args, &b->fault) &&
           fsim_gpu_allocate(g, "probes", TINY_BYTES, &b->operands, &b->fault) &&
           fsim_gpu_allocate(g, "probes", TINY_BYTES, &b->tiny, &b->fault) &&
           fsim_gpu_allocate(g, "probes", (int64_t)sizeof(uint64_t) * b->out->facts->sms, &b->cycles, &b->fault) &&
           fsim_gpu_upload(g, b->operands, operand, sizeof operand, &b->fault);
}

static void close_bench(fsim_probe_bench *b)
{
    fsim_gpu_free(b->g, &b->args);
    fsim_gpu_free(b->g, &b->operands);
    fsim_gpu_free(b->g, &b->tiny);
    fsim_gpu_free(b->g, &b->cycles);
}

static void count(fsim_gpu_probed *out)
{
    for (int i = 0; i < FSIM_GPU_PROBES + out->sizes; i++) {
        const fsim_figure *f = i < FSIM_GPU_PROBES ? &out->of[i] : &out->by_size[i - FSIM_GPU_PROBES];
        out->measured += f->samples > 0;
        out->noisy += f->noisy;
    }
}

/* An empty kernel is measured together with every kernel. */
static void take_floor(fsim_probe_bench *b)
{
    if (strstr(b->out->facts->timing, "records"))
        fsim_probe_set(b, FSIM_GPU_FLOOR, b->out->facts->floor, 0, 0);
    fsim_probe_leave_out(b, FSIM_GPU_FLOOR, b->out->facts->timing);
}

bool fsim_gpu_run_probes(fsim_gpu *g, const fsim_gpu_probe_options *options, fsim_arena *a, fsim_gpu_probed *out,
                         fsim_fault *fault)
{
    fsim_probe_bench b = {.g = g, .a = a, .option = options ? *options : (fsim_gpu_probe_options){0}, .out = out};
    const double start_s = fsim_now_s();
    *out = (fsim_gpu_probed){.facts = fsim_gpu_facts_of(g)};
    fsim_nvml nvml = fsim_nvml_open(a, out->facts->uuid);
    const fsim_sensors unknown = fsim_nvml_read(&(fsim_nvml){.device = NULL}, a);
    out->driver = nvml.driver;
    out->no_sensors = nvml.missing;
    out->at_start = fsim_nvml_read(&nvml, a);
    for (int i = 0; i < FSIM_GPU_LOADS; i++)
        out->load[i].sensors = unknown;
    if (open_bench(&b) && fsim_probe_first_clock(&b) && fsim_probe_streams(&b) && fsim_probe_launches(&b) &&
        fsim_probe_l2(&b) && fsim_probe_latencies(&b) && fsim_probe_pipes(&b) && fsim_probe_queue(&b) &&
        fsim_probe_products(&b))
        (void)!fsim_probe_loads(&b, &nvml);
    take_floor(&b);
    close_bench(&b);
    fsim_nvml_close(&nvml);
    count(out);
    out->took_s = fsim_now_s() - start_s;
    if (b.fault.status == 0 && 2 * out->noisy > out->measured)
        fsim_fail(&b.fault, a, FSIM_INCONCLUSIVE,
                  "%d of %d figures scatter by more than %.0f %%: is something else running on the GPU?", out->noisy,
                  out->measured, 100 * fsim_probe_most_spread);
    if (b.fault.status != 0 && fault)
        *fault = b.fault;
    return b.fault.status == 0;
}

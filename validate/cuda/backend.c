/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c: the back end for NVIDIA GPUs: programs as CUDA, products by cuBLAS and cuBLASLt. */
#include "validate/cpu/cpu.h"
#include "validate/cuda/calibration.h"
#include "validate/cuda/library_call.h"
#include "validate/device/backends.h"

#include <math.h>

typedef struct {
    fsim_gpu *gpu;
    int jobs;
    const fsim_program *program; /* programs of the last compilation, with their cubins */
    fsim_cubin *cubin;
} cuda;

static fsim_gpu *gpu_of(const fsim_device *d) { return ((const cuda *)d->self)->gpu; }

static bool compile(fsim_device *d, const fsim_program *p, int count, const char **wrong, fsim_fault *fault)
{
    cuda *c = d->self;
    fsim_fault first = {0};
    c->program = p;
    c->cubin = fsim_new(d->a, fsim_cubin, count + 1);
    const bool good =
        fsim_gpu_compile(c->gpu, p, count, &(fsim_nvrtc_how){fsim_dialect_text, c->jobs}, c->cubin, &first);
    for (int i = 0; i < count; i++)
        wrong[i] = p[i].source && !c->cubin[i].cubin ? c->cubin[i].fault.message : NULL;
    if (!good && first.status == FSIM_UNAVAILABLE) {
        *fault = first;
        return false;
    }
    return true;
}

static bool run_on_host_memory(fsim_device *d, int i, void *const *argument, fsim_fault *fault)
{
    const cuda *c = d->self;
    const fsim_program *p = &c->program[i];
    fsim_buffer *buffer = fsim_new(d->a, fsim_buffer, p->parameters + 1);
    bool good = true;
    int have = 0;
    for (; have < p->parameters && good; have++) {
        good = fsim_gpu_allocate(c->gpu, p->parameter[have].name, p->parameter[have].bytes, &buffer[have], fault);
        if (good && p->parameter[have].tensor >= 0)
            good = fsim_gpu_upload(c->gpu, buffer[have], argument[have], p->parameter[have].bytes, fault);
    }
    fsim_gpu_kernel *k = good ? fsim_gpu_load(c->gpu, p, &c->cubin[i], buffer, fault) : NULL;
    good = k && fsim_gpu_run(c->gpu, k, fault);
    for (int n = 0; n < p->parameters && good; n++)
        if (p->parameter[n].written && p->parameter[n].tensor >= 0)
            good = fsim_gpu_download(c->gpu, argument[n], buffer[n], p->parameter[n].bytes, fault);
    if (k)
        fsim_gpu_unload(c->gpu, k);
    for (int n = 0; n < have; n++)
        fsim_gpu_free(c->gpu, &buffer[n]);
    return good;
}

static int64_t free_bytes(const fsim_device *d) { return fsim_gpu_facts_of(gpu_of(d))->free_bytes; }

static bool allocate(fsim_device *d, const char *name, int64_t bytes, fsim_buffer *out, fsim_fault *fault)
{
    return fsim_gpu_allocate(gpu_of(d), name, bytes, out, fault);
}

static void release(fsim_device *d, fsim_buffer *buffer) { fsim_gpu_free(gpu_of(d), buffer); }

static bool upload(fsim_device *d, fsim_buffer to, const void *from, int64_t bytes, fsim_fault *fault)
{
    return fsim_gpu_upload(gpu_of(d), to, from, bytes, fault);
}

static bool download(fsim_device *d, void *to, fsim_buffer from, int64_t bytes, fsim_fault *fault)
{
    return fsim_gpu_download(gpu_of(d), to, from, bytes, fault);
}

/* Kernels of the interface are those of cuda.h. */
static fsim_device_kernel *shown(fsim_gpu_kernel *k) { return (fsim_device_kernel *)k; }
static fsim_gpu_kernel *own(fsim_device_kernel *k) { return (fsim_gpu_kernel *)k; }

static fsim_device_kernel *load(fsim_device *d, int i, const fsim_buffer *argument, fsim_fault *fault)
{
    const cuda *c = d->self;
    return shown(fsim_gpu_load(c->gpu, &c->program[i], &c->cubin[i], argument, fault));
}

static fsim_device_kernel *library(fsim_device *d, const fsim_library_job *job, const char **who, const char **why)
{
    fsim_vendor_call v;
    fsim_fault fault = {0};
    if (!fsim_vendor_call_of(job->graph, job->hw, job->kernel, job->name, &v, why))
        return NULL;
    if (v.bias >= 0) {
        const int64_t from = v.bias_offset * fsim_dtype_bytes(v.call.type);
        const fsim_buffer *bias = &job->tensor[v.bias];
        v.call.bias = (fsim_buffer){bias->at + (uint64_t)from, bias->bytes - from};
    }
    if (v.residual >= 0)
        v.call.residual = job->tensor[v.residual];
    if (v.sums >= 0)
        v.call.sums = job->tensor[v.sums];
    if (v.aux >= 0)
        v.call.aux = job->tensor[v.aux];
    fsim_gpu_kernel *k =
        fsim_gpu_gemm(gpu_of(d), &v.call, job->tensor[v.a], job->tensor[v.b], job->tensor[v.c], &fault);
    *who = k ? fsim_gpu_library_of(k) : NULL;
    *why = k ? NULL : fault.message;
    return shown(k);
}

static void unload(fsim_device *d, fsim_device_kernel *k) { fsim_gpu_unload(gpu_of(d), own(k)); }

static bool run(fsim_device *d, fsim_device_kernel *k, fsim_fault *fault)
{
    return fsim_gpu_run(gpu_of(d), own(k), fault);
}

/* Noise does not stop the run: it is reported at the end. */
static bool went_on(bool good, fsim_fault *fault, fsim_fault *noise)
{
    if (!good && fault->status == FSIM_INCONCLUSIVE) {
        *noise = *fault;
        return true;
    }
    return good;
}

/* Measures plans first, then kernels, then counters. */
static bool measure(fsim_device *d, fsim_device_work *w, fsim_fault *fault)
{
    static const double least_share = 0.25; /* share of the budget that is kept for times */
    fsim_gpu *g = gpu_of(d);
    fsim_gpu_plan *plan = fsim_new(d->a, fsim_gpu_plan, w->plans + 1);
    fsim_gpu_kernel *const *kernel = (fsim_gpu_kernel *const *)(const void *)w->kernel;
    fsim_fault noise = {0};
    for (int i = 0; i < w->plans; i++)
        plan[i] = (fsim_gpu_plan){w->plan[i].name, (fsim_gpu_kernel *const *)(const void *)w->plan[i].kernel,
                                  w->plan[i].kernels, w->warm};
    fsim_gpu_limit(g, w->until_s > 0 ? fmax(w->until_s, fsim_now_s() + least_share * w->budget_s) : 0);
    bool good = went_on(fsim_gpu_measure_plans(g, plan, w->plans, w->of_plan, NULL, fault), fault, &noise);
    if (w->kernels > 0)
        good = good && went_on(fsim_gpu_measure(g, kernel, w->kernels, w->of_kernel, fault), fault, &noise);
    if (good && noise.status)
        *fault = noise;
    return good && !noise.status;
}

/* ", 312 W of 700 W, 54 C, SM clock 1755 MHz, throttled by: power cap": the worst that the driver's sensors showed
 * while plans ran, or else what they show now; "" without sensors. */
static const char *sensors_text(const fsim_gpu *g, fsim_arena *a)
{
    fsim_nvml n = fsim_nvml_open(a, fsim_gpu_facts_of(g)->uuid);
    if (!n.device)
        return "";
    const fsim_sensors under_load = fsim_gpu_sensors(g),
                       x = under_load.reasons || !isnan(under_load.power_w) ? under_load : fsim_nvml_read(&n, a);
    const char *text = n.driver ? fsim_printf(a, "; driver %s", n.driver) : "";
    if (!isnan(x.power_w))
        text = fsim_printf(a, "%s, %.0f W of %.0f W", text, x.power_w, x.power_limit_w);
    if (!isnan(x.temperature_c))
        text = fsim_printf(a, "%s, %.0f C", text, x.temperature_c);
    if (!isnan(x.sm_clock_hz))
        text = fsim_printf(a, "%s, SM clock %.0f MHz", text, x.sm_clock_hz / 1e6);
    if (x.reasons)
        text = fsim_printf(a, "%s, throttled by: %s", text, x.reasons);
    fsim_nvml_close(&n);
    return text;
}

static const char *facts(const fsim_device *d, fsim_arena *a)
{
    const fsim_gpu_facts *f = fsim_gpu_facts_of(gpu_of(d));
    return fsim_printf(
        a, "%s, sm_%d, %d SMs, %.1f GiB, driver CUDA %d.%d, NVRTC %d.%d, clock up to %.0f MHz%s; times by %s%s",
        f->name, f->sm, f->sms, (double)f->memory_bytes / 0x1p30, f->driver_version / 1000,
        f->driver_version % 1000 / 10, f->nvrtc_version / 1000, f->nvrtc_version % 1000 / 10, f->clock_hz / 1e6,
        sensors_text(gpu_of(d), a), f->timing,
        f->floor.samples ? fsim_printf(a, "; an empty kernel takes %.2f us", 1e6 * f->floor.median_s) : "");
}

static const char *no_counters(const fsim_device *d) { return fsim_gpu_facts_of(gpu_of(d))->no_counters; }
static const char *lost(const fsim_device *d) { return fsim_gpu_lost(gpu_of(d)); }
static void close_device(fsim_device *d) { fsim_gpu_close(gpu_of(d)); }

static fsim_device *open_device(const fsim_device_options *o, fsim_arena *a, fsim_fault *fault)
{
    const fsim_gpu_options usual = {
        .timeout_s = o->timeout_s, .least = o->samples, .most = o->samples, .no_counters = o->no_counters};
    fsim_device *d = fsim_new(a, fsim_device, 1);
    cuda *c = fsim_new(a, cuda, 1);
    c->jobs = o->jobs > 0 ? o->jobs : fsim_cpu_count();
    c->gpu = fsim_gpu_open(a, o->for_probes ? &fsim_gpu_probe_settings : &usual, fault);
    if (!c->gpu)
        return NULL;
    *d = (fsim_device){&fsim_cuda_backend, fsim_gpu_facts_of(c->gpu)->name, c, a};
    return d;
}

static bool is_own(const fsim_hw *hw) { return hw->sm != 0; }

static const fsim_hw *like(const fsim_device *d, fsim_hw *const *hw, int count)
{
    return fsim_gpu_hardware_like(fsim_gpu_facts_of(gpu_of(d)), hw, count);
}

static const char *differs(const fsim_device *d, const fsim_hw *hw, fsim_arena *a)
{
    return fsim_gpu_differs(fsim_gpu_facts_of(gpu_of(d)), hw, a);
}

static bool probe(fsim_device *d, const fsim_probe_order *order, fsim_arena *a, fsim_device_probed *out,
                  fsim_fault *fault)
{
    return fsim_gpu_calibrate(gpu_of(d), order, a, out, fault);
}

static const fsim_calibrator calibrator = {
    .describes = "NVIDIA GPU", .is_own = is_own, .like = like, .differs = differs, .probe = probe};

const fsim_backend fsim_cuda_backend = {.name = "cuda",
                                        .version = FSIM_BACKEND_VERSION,
                                        .measures_warm = true,
                                        .goes_on = true,
                                        .calibrator = &calibrator,
                                        .open = open_device,
                                        .close = close_device,
                                        .lost = lost,
                                        .facts = facts,
                                        .no_counters = no_counters,
                                        .compile = compile,
                                        .run_on_host_memory = run_on_host_memory,
                                        .free_bytes = free_bytes,
                                        .allocate = allocate,
                                        .release = release,
                                        .upload = upload,
                                        .download = download,
                                        .load = load,
                                        .library = library,
                                        .unload = unload,
                                        .run = run,
                                        .measure = measure};

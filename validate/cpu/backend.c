/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c: the back end for this machine's CPU: programs as C, run by threads. */
#include "validate/cpu/calibration.h"
#include "validate/cpu/guard.h"
#include "validate/device/backends.h"

#include <string.h>

typedef struct {
    fsim_cpu_pool *pool;
    fsim_cpu_compiler compiler;
    fsim_cpu_module *module; /* of the programs that were compiled last; NULL: none */
} host;

/* vector accesses of a kernel may reach beyond the ends of its tensors */
enum { SLACK_BYTES = 64 };

struct fsim_device_kernel {
    const fsim_cpu_kernel *kernel;
    void **argument; /* per parameter */
};

static bool compile(fsim_device *d, const fsim_program *p, int count, const char **wrong, fsim_fault *fault)
{
    host *h = d->self;
    const char *why = "";
    if (h->module)
        fsim_cpu_unload(h->module);
    h->module = fsim_cpu_compile(p, count, &h->compiler, d->a, &why);
    if (!h->module)
        return fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "cannot run kernels here: %s", why);
    for (int i = 0; i < count; i++)
        wrong[i] = p[i].skipped ? NULL : h->module->kernel[i].failed;
    return true;
}

static bool run_on_host_memory(fsim_device *d, int i, void *const *argument, fsim_fault *fault)
{
    const host *h = d->self;
    (void)fault;
    fsim_cpu_run(h->pool, &h->module->kernel[i], argument);
    return true;
}

static void *memory_at(fsim_buffer b) { return (void *)(uintptr_t)b.at; }

static bool allocate(fsim_device *d, const char *name, int64_t bytes, fsim_buffer *out, fsim_fault *fault)
{
    const host *h = d->self;
    void *at = fsim_cpu_memory(h->pool, bytes + SLACK_BYTES);
    *out = (fsim_buffer){(uint64_t)(uintptr_t)at, at ? bytes : 0};
    return at ||
           fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "not enough memory for '%s': %lld bytes", name, (long long)bytes);
}

static void release(fsim_device *d, fsim_buffer *buffer)
{
    (void)d;
    if (buffer->at)
        fsim_cpu_memory_free(memory_at(*buffer), buffer->bytes + SLACK_BYTES);
    *buffer = (fsim_buffer){0};
}

static bool upload(fsim_device *d, fsim_buffer to, const void *from, int64_t bytes, fsim_fault *fault)
{
    (void)d, (void)fault;
    memcpy(memory_at(to), from, (size_t)bytes);
    return true;
}

static bool download(fsim_device *d, void *to, fsim_buffer from, int64_t bytes, fsim_fault *fault)
{
    (void)d, (void)fault;
    memcpy(to, memory_at(from), (size_t)bytes);
    return true;
}

static fsim_device_kernel *load(fsim_device *d, int i, const fsim_buffer *argument, fsim_fault *fault)
{
    const host *h = d->self;
    const fsim_cpu_kernel *kernel = &h->module->kernel[i];
    if (kernel->failed) {
        fsim_fail(fault, d->a, FSIM_FAILED, "%s", kernel->failed);
        return NULL;
    }
    fsim_device_kernel *k = fsim_new(d->a, fsim_device_kernel, 1);
    *k = (fsim_device_kernel){kernel, fsim_new(d->a, void *, kernel->program->parameters + 1)};
    for (int n = 0; n < kernel->program->parameters; n++)
        k->argument[n] = memory_at(argument[n]);
    return k;
}

static void unload(fsim_device *d, fsim_device_kernel *k) { (void)d, (void)k; }

static bool run(fsim_device *d, fsim_device_kernel *k, fsim_fault *fault)
{
    const host *h = d->self;
    (void)fault;
    fsim_cpu_run(h->pool, k->kernel, k->argument);
    return true;
}

static fsim_cpu_work work_of(fsim_device_kernel *const *kernel, int kernels, fsim_arena *a)
{
    fsim_cpu_call *call = fsim_new(a, fsim_cpu_call, kernels + 1);
    for (int i = 0; i < kernels; i++)
        call[i] = (fsim_cpu_call){kernel[i]->kernel, kernel[i]->argument};
    return (fsim_cpu_work){call, kernels};
}

/* Measures whole plans and single kernels in the same rounds, because the machine's speed drifts. */
static bool measure(fsim_device *d, fsim_device_work *w, fsim_fault *fault)
{
    static const double usual_budget_s = 4;
    const host *h = d->self;
    const fsim_cpu_how how = {
        .compiler = &h->compiler, .rounds = w->samples, .most_s = w->budget_s > 0 ? w->budget_s : usual_budget_s};
    fsim_cpu_work *work = fsim_new(d->a, fsim_cpu_work, w->plans + w->kernels + 1);
    const char *why = "";
    for (int i = 0; i < w->plans; i++)
        work[i] = work_of(w->plan[i].kernel, w->plan[i].kernels, d->a);
    for (int i = 0; i < w->kernels; i++)
        work[w->plans + i] = work_of(&w->kernel[i], 1, d->a);
    const fsim_cpu_measurement *x = fsim_cpu_measure(h->pool, work, w->plans + w->kernels, &how, d->a, &why);
    if (!x)
        return fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "%s", why);
    for (int i = 0; i < w->plans; i++)
        w->of_plan[i] = (fsim_measured_plan){.stream = x->work[i].cold};
    for (int i = 0; i < w->kernels; i++) {
        w->of_kernel[i] = fsim_not_measured();
        w->of_kernel[i].cold = x->work[w->plans + i].cold;
        w->of_kernel[i].warm = x->work[w->plans + i].warm;
    }
    w->dram_bytes_per_s = 2 * x->copy_bytes / x->copy.median_s;
    w->disturbed = x->disturbed;
    return true;
}

static const fsim_hw *recalibrated(fsim_device *d, const fsim_hw *hw, fsim_fault *fault)
{
    const host *h = d->self;
    const char *why = "";
    const fsim_hw *now = fsim_host_recalibrated(hw, h->pool, &h->compiler, d->a, &why);
    if (!now)
        fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "cannot measure this machine: %s", why);
    return now;
}

static const char *lost(const fsim_device *d)
{
    (void)d;
    return NULL;
}

static const char *facts(const fsim_device *d, fsim_arena *a)
{
    (void)d, (void)a;
    return "";
}

static void close_device(fsim_device *d)
{
    host *h = d->self;
    if (h->module)
        fsim_cpu_unload(h->module);
    fsim_cpu_pool_free(h->pool);
}

static fsim_device *open_device(const fsim_device_options *o, fsim_arena *a, fsim_fault *fault)
{
    fsim_device *d = fsim_new(a, fsim_device, 1);
    host *h = fsim_new(a, host, 1);
    const char *why = "";
    *h = (host){.compiler = {.header = fsim_dialect_text, .jobs = o->jobs}};
    const char *info = fsim_cpu_info(a, &why);
    if (!info || !fsim_cpu_has_compiler(&h->compiler, a, &why)) {
        fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s", why);
        return NULL;
    }
    if (!fsim_cpu_cache_is_stated_well()) {
        fsim_fail(fault, a, FSIM_BAD_INPUT, "FUSESIM_CPU_CACHE wants a size from 256KiB to 1TiB, such as 32MiB");
        return NULL;
    }
    h->pool = fsim_cpu_pool_new(o->threads);
    *d = (fsim_device){&fsim_cpu_backend,
                       fsim_printf(a, "%s, %d thread%s", fsim_cpu_name(info, a), fsim_cpu_threads(h->pool),
                                   fsim_cpu_threads(h->pool) == 1 ? "" : "s"),
                       h, a};
    return d;
}

static bool is_host(const fsim_hw *hw) { return hw->host; }

static bool probe(fsim_device *d, const fsim_probe_order *order, fsim_arena *a, fsim_device_probed *out,
                  fsim_fault *fault)
{
    host *h = d->self;
    return fsim_host_calibrate(h->pool, &h->compiler, order, a, out, fault);
}

static const fsim_calibrator calibrator = {
    .describes = "CPU", .takes_threads = true, .is_own = is_host, .probe = probe};

const fsim_backend fsim_cpu_backend = {.name = "cpu",
                                       .version = FSIM_BACKEND_VERSION,
                                       .own_hw = "host",
                                       .no_library = "there is no such library on a CPU",
                                       .calibrator = &calibrator,
                                       .guard = fsim_guard_begin,
                                       .open = open_device,
                                       .close = close_device,
                                       .lost = lost,
                                       .facts = facts,
                                       .recalibrated = recalibrated,
                                       .compile = compile,
                                       .run_on_host_memory = run_on_host_memory,
                                       .allocate = allocate,
                                       .release = release,
                                       .upload = upload,
                                       .download = download,
                                       .load = load,
                                       .unload = unload,
                                       .run = run,
                                       .measure = measure};

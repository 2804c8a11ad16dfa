/* SPDX-License-Identifier: Apache-2.0 */
/* runner_gpu.c: programs as CUDA, on a GPU. */
#include "validate/runner.h"
#include "validate/vendor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_gpu *gpu;
    const fsim_program *program;
    fsim_cubin *cubin;
    int count;
} device;

static bool compile(fsim_runner *r, const fsim_program *p, int count, const char **wrong, fsim_fault *fault)
{
    device *d = r->self;
    fsim_fault first = {0};
    d->program = p;
    d->count = count;
    d->cubin = fsim_new(r->a, fsim_cubin, count + 1);
    if (!fsim_gpu_compile(d->gpu, p, count, fsim_dialect_text, r->jobs, d->cubin, &first) && first.exit_status == FSIM_EXIT_UNAVAILABLE) {
        *fault = first;
        return false;
    }
    for (int i = 0; i < count; i++)
        wrong[i] = p[i].source && !d->cubin[i].cubin ? d->cubin[i].fault.message : NULL;
    return true;
}

static bool run(fsim_runner *r, int i, void *const *argument, fsim_fault *fault)
{
    device *d = r->self;
    const fsim_program *p = &d->program[i];
    fsim_gpu_buffer *buffer = fsim_new(r->a, fsim_gpu_buffer, p->parameters + 1);
    bool good = true;
    int have = 0;
    for (; have < p->parameters && good; have++) {
        good = fsim_gpu_allocate(d->gpu, p->parameter[have].name, p->parameter[have].bytes, &buffer[have], fault);
        if (good && p->parameter[have].tensor >= 0)
            good = fsim_gpu_upload(d->gpu, buffer[have], argument[have], p->parameter[have].bytes, fault);
    }
    fsim_gpu_kernel *k = good ? fsim_gpu_load(d->gpu, p, &d->cubin[i], buffer, fault) : NULL;
    good = k && fsim_gpu_run(d->gpu, k, fault);
    for (int n = 0; n < p->parameters && good; n++)
        if (p->parameter[n].written && p->parameter[n].tensor >= 0)
            good = fsim_gpu_download(d->gpu, argument[n], buffer[n], p->parameter[n].bytes, fault);
    if (k)
        fsim_gpu_unload(d->gpu, k);
    for (int n = 0; n < have; n++)
        fsim_gpu_free(d->gpu, &buffer[n]);
    return good;
}

/* A trial on the device. */
typedef struct {
    fsim_gpu_buffer *tensor;
    fsim_gpu_buffer **argument; /* per program */
    fsim_gpu_kernel **kernel;   /* per program; NULL: not generated */
    fsim_program *program;
    int programs;
    const fsim_graph *g;
} loaded;

static void unload(device *d, loaded *x)
{
    for (int k = 0; k < x->programs; k++) {
        if (x->kernel[k])
            fsim_gpu_unload(d->gpu, x->kernel[k]);
        for (int i = 0; i < x->program[k].parameters && x->argument[k]; i++)
            if (x->program[k].parameter[i].tensor < 0)
                fsim_gpu_free(d->gpu, &x->argument[k][i]);
    }
    for (int t = 0; t < x->g->tensors; t++)
        if (x->tensor[t].bytes > 0)
            fsim_gpu_free(d->gpu, &x->tensor[t]);
}

static bool upload_inputs(fsim_runner *r, const fsim_graph *g, const loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    void **bytes = fsim_new(r->a, void *, g->tensors + 1);
    bool good = true;
    for (int t = 0; t < g->tensors && good; t++) { /* one at a time: they may be large */
        if (x->tensor[t].bytes == 0 || g->tensor[t].producer >= 0)
            continue;
        if (!(bytes[t] = malloc((size_t)g->tensor[t].bytes)))
            return fsim_fail(fault, r->a, FSIM_EXIT_UNAVAILABLE, "not enough memory on the host for '%s': %lld bytes", g->tensor[t].name, (long long)g->tensor[t].bytes);
        fsim_inputs_store(g, 1, bytes);
        good = fsim_gpu_upload(d->gpu, x->tensor[t], bytes[t], g->tensor[t].bytes, fault);
        free(bytes[t]);
        bytes[t] = NULL;
    }
    return good;
}

static bool lay_out(fsim_runner *r, const fsim_trial *t, loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    const fsim_touched touched = fsim_trial_touches(t, r->a);
    const int64_t room = fsim_gpu_facts_of(d->gpu)->free_bytes;
    bool good = touched.bytes <= room ||
                fsim_fail(fault, r->a, FSIM_EXIT_UNAVAILABLE, "out of memory: the plans' tensors take %.2f GiB, the GPU has %.2f GiB free; measure fewer strategies, or shorter shapes (--set)",
                          (double)touched.bytes / 0x1p30, (double)room / 0x1p30);
    *x = (loaded){fsim_new(r->a, fsim_gpu_buffer, t->graph->tensors + 1), fsim_new(r->a, fsim_gpu_buffer *, touched.programs + 1), fsim_new(r->a, fsim_gpu_kernel *, touched.programs + 1),
                  fsim_new(r->a, fsim_program, touched.programs + 1), 0, t->graph};
    for (int i = 0; i < t->graph->tensors && good; i++)
        if (touched.used[i])
            good = fsim_gpu_allocate(d->gpu, t->graph->tensor[i].name, t->graph->tensor[i].bytes, &x->tensor[i], fault);
    for (int i = 0; i < t->plans && good; i++)
        for (int k = 0; k < t->plan[i].plan.kernels && good; k++) {
            const fsim_program *p = &t->plan[i].program[k];
            fsim_gpu_buffer *at = x->argument[x->programs] = fsim_new(r->a, fsim_gpu_buffer, p->parameters + 1);
            x->program[x->programs++] = *p;
            for (int n = 0; n < p->parameters && good; n++) {
                if (p->parameter[n].tensor >= 0)
                    at[n] = x->tensor[p->parameter[n].tensor];
                else
                    good = fsim_gpu_allocate(d->gpu, p->parameter[n].name, p->parameter[n].bytes, &at[n], fault);
            }
        }
    return good && upload_inputs(r, t->graph, x, fault);
}

/* A product that the plan leaves to the vendor's library, by it, with what follows; NULL with ran->stand_in set where that is not there, or one call is not enough: then the generated kernel runs. */
static fsim_gpu_kernel *by_library(fsim_runner *r, const loaded *x, const fsim_kernel *k, int at, fsim_trial_ran *ran)
{
    device *d = r->self;
    fsim_vendor_call v;
    fsim_fault fault = {0};
    *ran = (fsim_trial_ran){0};
    if (k->template != FSIM_LIBRARY_CONTRACTION || !fsim_vendor_call_of(x->g, k, x->program[at].name, &v, &ran->stand_in))
        return NULL;
    if (v.bias >= 0) {
        const int64_t from = v.bias_offset * fsim_dtype_bytes(v.call.type);
        v.call.bias = (fsim_gpu_buffer){x->tensor[v.bias].at + (fsim_cu_pointer)from, x->tensor[v.bias].bytes - from};
    }
    fsim_gpu_kernel *made = fsim_gpu_gemm(d->gpu, &v.call, x->tensor[v.a], x->tensor[v.b], x->tensor[v.c], &fault);
    ran->library = made ? fsim_gpu_library_of(made) : NULL;
    ran->stand_in = made ? NULL : fault.message;
    return made;
}

static bool load_all(fsim_runner *r, const fsim_trial *t, const loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    const char **wrong = fsim_new(r->a, const char *, x->programs + 1);
    bool good = compile(r, x->program, x->programs, wrong, fault);
    for (int i = 0, at = 0; i < t->plans && good; i++)
        for (int k = 0; k < t->plan[i].plan.kernels && good; k++, at++) {
            if (x->program[at].skipped || (x->kernel[at] = by_library(r, x, &t->plan[i].plan.kernel[k], at, &t->plan[i].ran[k])))
                continue;
            if (wrong[at])
                good = fsim_fail(fault, r->a, FSIM_EXIT_INTERNAL, "%s does not compile: %s", x->program[at].name, wrong[at]);
            else
                good = (x->kernel[at] = fsim_gpu_load(d->gpu, &x->program[at], &d->cubin[at], x->argument[at], fault)) != NULL;
        }
    return good;
}

/* What the library makes and what our own kernel makes of the same, which was compared with the reference: *differs, or NULL where they agree or there is none of ours. The library's stays. */
static bool compare_with_ours(fsim_runner *r, const loaded *x, int at, const char **differs, fsim_fault *fault)
{
    device *d = r->self;
    const fsim_program *p = &x->program[at];
    int result = -1;
    *differs = NULL;
    for (int i = 0; i < p->parameters; i++)
        result = p->parameter[i].written && p->parameter[i].tensor >= 0 ? p->parameter[i].tensor : result;
    fsim_gpu_kernel *ours = result >= 0 && d->cubin[at].cubin ? fsim_gpu_load(d->gpu, p, &d->cubin[at], x->argument[at], NULL) : NULL;
    if (!ours)
        return fsim_gpu_run(d->gpu, x->kernel[at], fault);
    const fsim_tensor *y = &x->g->tensor[result];
    void *bytes[2] = {malloc((size_t)y->bytes), malloc((size_t)y->bytes)};
    bool good = (bytes[0] && bytes[1]) || fsim_fail(fault, r->a, FSIM_EXIT_UNAVAILABLE, "not enough memory on the host for '%s'", y->name);
    for (int i = 0; i < 2 && good; i++)
        good = fsim_gpu_run(d->gpu, i ? x->kernel[at] : ours, fault) && fsim_gpu_download(d->gpu, bytes[i], x->tensor[result], y->bytes, fault);
    if (good)
        *differs = fsim_apart_by(x->g, result, bytes[0], bytes[1], "our own kernel", r->a);
    fsim_gpu_unload(d->gpu, ours);
    free(bytes[0]);
    free(bytes[1]);
    return good;
}

/* Kernel k of a plan, once. */
static bool run_kernel(fsim_runner *r, fsim_trial_plan *plan, int k, const loaded *x, int at, fsim_fault *fault)
{
    device *d = r->self;
    const char *differs;
    if (!x->kernel[at])
        return true;
    if (!plan->ran[k].library)
        return fsim_gpu_run(d->gpu, x->kernel[at], fault);
    const bool good = compare_with_ours(r, x, at, &differs, fault);
    if (differs && !plan->differs)
        plan->differs = fsim_printf(r->a, "%s by %s: %s", x->program[at].name, plan->ran[k].library, differs);
    return good;
}

/* Runs every plan once; what the workload's outputs are must not depend on which. */
static bool compare_plans(fsim_runner *r, fsim_trial *t, const loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    const fsim_graph *g = t->graph;
    void **first = fsim_new(r->a, void *, g->tensors + 1);
    bool good = true;
    for (int i = 0, at = 0; i < t->plans && good; at += t->plan[i++].plan.kernels) {
        for (int k = 0; k < t->plan[i].plan.kernels && good; k++)
            good = run_kernel(r, &t->plan[i], k, x, at + k, fault);
        for (int n = 0; n < g->tensors && good; n++) {
            const fsim_tensor *y = &g->tensor[n];
            if (!y->output || y->storage != n || x->tensor[n].bytes == 0)
                continue;
            void *bytes = malloc((size_t)y->bytes);
            good = bytes ? fsim_gpu_download(d->gpu, bytes, x->tensor[n], y->bytes, fault)
                         : fsim_fail(fault, r->a, FSIM_EXIT_UNAVAILABLE, "not enough memory on the host for '%s'", y->name);
            if (!first[n]) {
                first[n] = bytes;
                continue;
            }
            if (good && !t->plan[i].differs)
                t->plan[i].differs = fsim_apart_by(g, n, first[n], bytes, fsim_strategy_names[t->plan[0].strategy], r->a);
            free(bytes);
        }
    }
    for (int n = 0; n < g->tensors; n++)
        free(first[n]);
    return good;
}

static bool measure_kernels(device *d, fsim_trial *t, const loaded *x, fsim_arena *a, fsim_fault *fault)
{
    fsim_gpu_kernel **kernel = fsim_new(a, fsim_gpu_kernel *, x->programs + 1);
    fsim_measured_kernel **to = fsim_new(a, fsim_measured_kernel *, x->programs + 1), *out;
    int count = 0;
    for (int i = 0, at = 0; i < t->plans; at += t->plan[i++].plan.kernels)
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            t->plan[i].measured.kernel[k].failed = x->program[at + k].skipped;
            if (x->kernel[at + k]) {
                kernel[count] = x->kernel[at + k];
                to[count++] = &t->plan[i].measured.kernel[k];
            }
        }
    out = fsim_new(a, fsim_measured_kernel, count + 1);
    const bool good = fsim_gpu_measure(d->gpu, kernel, count, out, fault);
    for (int i = 0; i < count; i++)
        *to[i] = out[i];
    return good;
}

static bool measure_plans(device *d, fsim_trial *t, const loaded *x, fsim_arena *a, fsim_fault *fault)
{
    fsim_gpu_plan *plan = fsim_new(a, fsim_gpu_plan, t->plans + 1);
    fsim_measured_plan *out = fsim_new(a, fsim_measured_plan, t->plans + 1);
    for (int i = 0, at = 0; i < t->plans; at += t->plan[i++].plan.kernels) {
        fsim_gpu_kernel **kernel = fsim_new(a, fsim_gpu_kernel *, t->plan[i].plan.kernels + 1);
        int count = 0;
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (x->kernel[at + k])
                kernel[count++] = x->kernel[at + k];
        plan[i] = (fsim_gpu_plan){fsim_strategy_names[t->plan[i].strategy], kernel, count};
    }
    const bool good = fsim_gpu_measure_plans(d->gpu, plan, t->plans, out, NULL, fault);
    for (int i = 0; i < t->plans; i++) {
        t->plan[i].measured.stream = out[i].stream;
        t->plan[i].measured.graph = out[i].graph;
        t->plan[i].failed = out[i].failed;
    }
    return good;
}

/* Noise is no reason to stop: it is told. */
static bool went_on(bool good, fsim_fault *fault, fsim_fault *noise)
{
    if (!good && fault->exit_status == FSIM_EXIT_INCONCLUSIVE) {
        *noise = *fault;
        return true;
    }
    return good;
}

static bool measure(fsim_runner *r, fsim_trial *t, const fsim_trial_how *how, fsim_fault *fault)
{
    device *d = r->self;
    loaded x;
    fsim_fault noise = {0};
    bool good = lay_out(r, t, &x, fault) && load_all(r, t, &x, fault) && compare_plans(r, t, &x, fault);
    good = good && went_on(measure_plans(d, t, &x, r->a, fault), fault, &noise);
    if (how->kernels)
        good = good && went_on(measure_kernels(d, t, &x, r->a, fault), fault, &noise);
    unload(d, &x);
    if (good && noise.exit_status)
        *fault = noise;
    return good && noise.exit_status == 0;
}

static void close_gpu(fsim_runner *r) { fsim_gpu_close(((device *)r->self)->gpu); }

fsim_runner *fsim_runner_on_gpu(const fsim_gpu_options *options, int jobs, fsim_arena *a, fsim_fault *fault)
{
    fsim_runner *r = fsim_new(a, fsim_runner, 1);
    device *d = fsim_new(a, device, 1);
    *r = (fsim_runner){.name = "cuda", .self = d, .jobs = jobs > 0 ? jobs : fsim_cpu_count(), .compile = compile, .run = run, .measure = measure, .close = close_gpu, .a = a};
    d->gpu = fsim_gpu_open(a, options, fault);
    if (!d->gpu)
        return NULL;
    r->device = fsim_gpu_facts_of(d->gpu)->name;
    return r;
}

const fsim_gpu_facts *fsim_runner_gpu(const fsim_runner *r) { return strcmp(r->name, "cuda") == 0 ? fsim_gpu_facts_of(((const device *)r->self)->gpu) : NULL; }

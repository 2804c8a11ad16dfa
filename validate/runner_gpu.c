/* SPDX-License-Identifier: Apache-2.0 */
/* runner_gpu.c: programs as CUDA, on a GPU. */
#include "fusion/chain.h"
#include "validate/runner.h"

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

/* Digits [from, to) of a map as one, extent and stride; false where they are none. */
static bool one_digit(const fsim_map *m, int from, int to, fsim_mode *out)
{
    *out = (fsim_mode){1, 0};
    for (int i = to; i-- > from;) {
        const fsim_mode d = m->mode[i];
        if (d.extent == 1)
            continue;
        if (out->extent > 1 && d.stride != out->stride * out->extent)
            return false;
        *out = (fsim_mode){out->extent * d.extent, out->extent > 1 ? out->stride : d.stride};
    }
    return true;
}

/* A matrix [rows, k] or [k, rows] without gaps. */
static bool dense(fsim_mode rows, fsim_mode k, bool *transposed)
{
    *transposed = rows.stride == 1 && k.stride == rows.extent && k.extent > 1;
    return *transposed || ((k.stride == 1 || k.extent == 1) && (rows.stride == k.extent || rows.extent == 1));
}

/* Contraction n as the vendor's library takes it: C[batch, m, n], both operands dense. */
static bool gemm_call_of(const fsim_graph *g, const fsim_node *n, const char *name, fsim_gpu_gemm_call *out)
{
    if (n->arg[0].how != FSIM_READ_MAP || n->arg[1].how != FSIM_READ_MAP || n->gemm.convolution)
        return false;
    fsim_map x = n->arg[0].map, y = n->arg[1].map, a, b;
    fsim_mode k[2], rows, columns, batch[2];
    x.modes = x.split;
    y.modes = y.split;
    if (x.offset || y.offset || !fsim_map_align(&x, &y, &a, &b) || !one_digit(&n->arg[0].map, n->arg[0].map.split, n->arg[0].map.modes, &k[0]) ||
        !one_digit(&n->arg[1].map, n->arg[1].map.split, n->arg[1].map.modes, &k[1]))
        return false;
    int from_n = a.modes, from_m;
    while (from_n > 0 && a.mode[from_n - 1].stride == 0)
        from_n--;
    for (from_m = from_n; from_m > 0 && b.mode[from_m - 1].stride == 0; from_m--) {
    }
    if (!one_digit(&b, from_n, b.modes, &columns) || !one_digit(&a, from_m, from_n, &rows) || !one_digit(&a, 0, from_m, &batch[0]) || !one_digit(&b, 0, from_m, &batch[1]))
        return false;
    bool a_transposed, b_transposed;
    if (!dense(rows, k[0], &a_transposed) || !dense(columns, k[1], &b_transposed))
        return false;
    const fsim_dtype t = g->tensor[n->result[0]].dtype;
    const bool known = (t == FSIM_F32 || t == FSIM_F64 || t == FSIM_F16 || t == FSIM_BF16) && g->tensor[n->arg[0].tensor].dtype == t && g->tensor[n->arg[1].tensor].dtype == t;
    *out = (fsim_gpu_gemm_call){.name = name, .m = rows.extent, .n = columns.extent, .k = k[0].extent, .batch = batch[0].extent > batch[1].extent ? batch[0].extent : batch[1].extent,
                                .a_stride = batch[0].stride, .b_stride = batch[1].stride, .c_stride = rows.extent * columns.extent, .a_transposed = a_transposed,
                                .b_transposed = !b_transposed, .type = t, .tf32 = n->gemm.arithmetic == FSIM_TF32};
    return known && out->m * out->n * out->batch == n->points;
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

/* A product that the plan leaves to the vendor's library, by it; NULL where it is not there, or adds more to the product than a call says: then the generated kernel runs. */
static fsim_gpu_kernel *by_library(device *d, const loaded *x, const fsim_kernel *k, int at)
{
    const fsim_node *n = k->group->anchor >= 0 ? &x->g->node[k->group->anchor] : NULL;
    fsim_gpu_gemm_call call;
    if (k->template != FSIM_LIBRARY_CONTRACTION || k->group->members != 1 || !gemm_call_of(x->g, n, x->program[at].name, &call))
        return NULL;
    return fsim_gpu_gemm(d->gpu, &call, x->tensor[n->arg[0].tensor], x->tensor[n->arg[1].tensor], x->tensor[n->result[0]], NULL);
}

static bool load_all(fsim_runner *r, const fsim_trial *t, const loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    const char **wrong = fsim_new(r->a, const char *, x->programs + 1);
    bool good = compile(r, x->program, x->programs, wrong, fault);
    for (int i = 0, at = 0; i < t->plans && good; i++)
        for (int k = 0; k < t->plan[i].plan.kernels && good; k++, at++) {
            if (x->program[at].skipped || (x->kernel[at] = by_library(d, x, &t->plan[i].plan.kernel[k], at)))
                continue;
            if (wrong[at])
                good = fsim_fail(fault, r->a, FSIM_EXIT_INTERNAL, "%s does not compile: %s", x->program[at].name, wrong[at]);
            else
                good = (x->kernel[at] = fsim_gpu_load(d->gpu, &x->program[at], &d->cubin[at], x->argument[at], fault)) != NULL;
        }
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
            good = !x->kernel[at + k] || fsim_gpu_run(d->gpu, x->kernel[at + k], fault);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* runner_cuda.c: programs as CUDA, on a GPU. */
#include "validate/cuda/library_call.h"
#include "validate/device/texts.h"
#include "validate/trial/runner.h"

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
    if (!fsim_gpu_compile(d->gpu, p, count, fsim_dialect_text, r->jobs, d->cubin, &first) &&
        first.status == FSIM_UNAVAILABLE) {
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

/* A trial on the device. What several plans have alike, kernels of one text on the same tensors, is there once: under
 * its first place. */
typedef struct {
    fsim_gpu_buffer *tensor;
    fsim_gpu_buffer **argument; /* per program */
    fsim_gpu_kernel **kernel;   /* per program; NULL: not generated, or failed */
    const char **failed;        /* per program: why it can't be run */
    fsim_program *program;
    const fsim_kernel **planned; /* per program */
    fsim_trial_ran **ran;
    int *same; /* per program: the first that is like it; itself where none is */
    int programs;
    int *first, *like; /* per plan: its first program; the first plan of the same kernels */
    const fsim_graph *g;
    const fsim_hw *hw;
} loaded;

static void unload(device *d, loaded *x)
{
    for (int k = 0; k < x->programs; k++) {
        if (x->same[k] != k)
            continue;
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
            return fsim_fail(fault, r->a, FSIM_UNAVAILABLE, "not enough memory on the host for '%s': %lld bytes",
                             g->tensor[t].name, (long long)g->tensor[t].bytes);
        fsim_inputs_store(g, 1, bytes);
        good = fsim_gpu_upload(d->gpu, x->tensor[t], bytes[t], g->tensor[t].bytes, fault);
        free(bytes[t]);
        bytes[t] = NULL;
    }
    return good;
}

/* Of programs of the same nameless text. */
static bool same_program(const fsim_program *p, const fsim_program *q)
{
    bool same = p->parameters == q->parameters && p->launches == q->launches;
    for (int i = 0; same && i < p->parameters; i++)
        same = p->parameter[i].tensor == q->parameter[i].tensor && p->parameter[i].bytes == q->parameter[i].bytes &&
               p->parameter[i].written == q->parameter[i].written;
    for (int i = 0; same && i < p->launches; i++)
        same = p->launch[i].grid == q->launch[i].grid && p->launch[i].block == q->launch[i].block &&
               p->launch[i].shared_bytes == q->launch[i].shared_bytes;
    return same;
}

static bool same_plan(const fsim_trial *t, const loaded *x, int i, int j)
{
    bool same = t->plan[i].plan.kernels == t->plan[j].plan.kernels;
    for (int k = 0; same && k < t->plan[i].plan.kernels; k++)
        same = x->same[x->first[i] + k] == x->same[x->first[j] + k];
    return same;
}

static void list_programs(fsim_trial *t, loaded *x, int most, fsim_arena *a)
{
    fsim_texts texts = {.a = a};
    int *text = fsim_new(a, int, most);
    for (int i = 0; i < t->plans; i++) {
        x->first[i] = x->programs;
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            const int at = x->programs++;
            x->program[at] = t->plan[i].program[k];
            x->planned[at] = &t->plan[i].plan.kernel[k];
            x->ran[at] = &t->plan[i].ran[k];
            text[at] =
                x->program[at].source && !x->program[at].skipped ? fsim_texts_add(&texts, &x->program[at], 0) : -1 - at;
            x->same[at] = 0;
            while (x->same[at] < at &&
                   !(text[x->same[at]] == text[at] && x->planned[x->same[at]]->template == x->planned[at]->template &&
                     same_program(&x->program[x->same[at]], &x->program[at])))
                x->same[at]++;
        }
        x->like[i] = 0;
        while (x->like[i] < i && !same_plan(t, x, x->like[i], i))
            x->like[i]++;
    }
}

static bool lay_out(fsim_runner *r, fsim_trial *t, loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    const fsim_touched touched = fsim_trial_touches(t, r->a);
    const int64_t room = fsim_gpu_facts_of(d->gpu)->free_bytes;
    const int most = touched.programs + 1;
    bool good = touched.bytes <= room || fsim_fail(fault, r->a, FSIM_UNAVAILABLE,
                                                   "out of memory: the plans' tensors take %.2f GiB, the GPU has %.2f "
                                                   "GiB free; measure fewer strategies, or shorter shapes (--set)",
                                                   (double)touched.bytes / 0x1p30, (double)room / 0x1p30);
    *x = (loaded){.tensor = fsim_new(r->a, fsim_gpu_buffer, t->graph->tensors + 1),
                  .argument = fsim_new(r->a, fsim_gpu_buffer *, most),
                  .kernel = fsim_new(r->a, fsim_gpu_kernel *, most),
                  .failed = fsim_new(r->a, const char *, most),
                  .program = fsim_new(r->a, fsim_program, most),
                  .planned = fsim_new(r->a, const fsim_kernel *, most),
                  .ran = fsim_new(r->a, fsim_trial_ran *, most),
                  .same = fsim_new(r->a, int, most),
                  .first = fsim_new(r->a, int, t->plans + 1),
                  .like = fsim_new(r->a, int, t->plans + 1),
                  .g = t->graph,
                  .hw = t->hw};
    list_programs(t, x, most, r->a);
    for (int i = 0; i < t->graph->tensors && good; i++)
        if (touched.used[i])
            good = fsim_gpu_allocate(d->gpu, t->graph->tensor[i].name, t->graph->tensor[i].bytes, &x->tensor[i], fault);
    for (int at = 0; at < x->programs && good; at++) {
        const fsim_program *p = &x->program[at];
        if (x->same[at] != at) {
            x->argument[at] = x->argument[x->same[at]];
            continue;
        }
        fsim_gpu_buffer *to = x->argument[at] = fsim_new(r->a, fsim_gpu_buffer, p->parameters + 1);
        for (int n = 0; n < p->parameters && good; n++)
            if (p->parameter[n].tensor >= 0)
                to[n] = x->tensor[p->parameter[n].tensor];
            else
                good = fsim_gpu_allocate(d->gpu, p->parameter[n].name, p->parameter[n].bytes, &to[n], fault);
    }
    return good && upload_inputs(r, t->graph, x, fault);
}

/* A product that the plan leaves to the vendor's library, by it, with what follows; NULL with ran->stand_in set where
 * that is not there, or one call is not enough: then the generated kernel runs. */
static fsim_gpu_kernel *by_library(fsim_runner *r, const loaded *x, int at)
{
    device *d = r->self;
    const fsim_kernel *k = x->planned[at];
    fsim_trial_ran *ran = x->ran[at];
    fsim_vendor_call v;
    fsim_fault fault = {0};
    *ran = (fsim_trial_ran){0};
    if (k->template != FSIM_LIBRARY_CONTRACTION ||
        !fsim_vendor_call_of(x->g, x->hw, k, x->program[at].name, &v, &ran->stand_in))
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

static bool load_one(fsim_runner *r, const loaded *x, int at, const char *wrong)
{
    device *d = r->self;
    fsim_fault why = {0};
    x->kernel[at] = by_library(r, x, at);
    if (!x->kernel[at] && wrong)
        x->failed[at] = fsim_printf(r->a, "%s does not compile: %s", x->program[at].name, wrong);
    else if (!x->kernel[at] &&
             !(x->kernel[at] = fsim_gpu_load(d->gpu, &x->program[at], &d->cubin[at], x->argument[at], &why)))
        x->failed[at] = why.message;
    return !fsim_gpu_lost(d->gpu);
}

static bool load_all(fsim_runner *r, const loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    const char **wrong = fsim_new(r->a, const char *, x->programs + 1);
    fsim_fault first = {0};
    bool good = compile(r, x->program, x->programs, wrong, &first) ||
                !fsim_gpu_lost(d->gpu); /* each that does not compile is left out for itself */
    for (int at = 0; at < x->programs && good; at++) {
        const int same = x->same[at];
        if (x->program[at].skipped)
            continue;
        if (same == at) {
            good = load_one(r, x, at, d->cubin[at].cubin ? NULL : d->cubin[at].fault.message);
        } else {
            x->kernel[at] = x->kernel[same];
            x->failed[at] = x->failed[same];
            *x->ran[at] = *x->ran[same];
        }
    }
    return good || fsim_fail(fault, r->a, FSIM_UNAVAILABLE, "%s", fsim_gpu_lost(d->gpu));
}

/* What the library makes and what our own kernel makes of the same, which was compared with the reference: *differs, or
 * NULL where they agree or there is none of ours. The library's stays. */
static bool compare_with_ours(fsim_runner *r, const loaded *x, int at, const char **differs, fsim_fault *fault)
{
    device *d = r->self;
    const fsim_program *p = &x->program[at];
    int result = -1;
    *differs = NULL;
    for (int i = 0; i < p->parameters; i++)
        result = p->parameter[i].written && p->parameter[i].tensor >= 0 ? p->parameter[i].tensor : result;
    fsim_gpu_kernel *ours =
        result >= 0 && d->cubin[at].cubin ? fsim_gpu_load(d->gpu, p, &d->cubin[at], x->argument[at], NULL) : NULL;
    if (!ours)
        return fsim_gpu_run(d->gpu, x->kernel[at], fault);
    const fsim_tensor *y = &x->g->tensor[result];
    void *bytes[2] = {malloc((size_t)y->bytes), malloc((size_t)y->bytes)};
    bool good = (bytes[0] && bytes[1]) ||
                fsim_fail(fault, r->a, FSIM_UNAVAILABLE, "not enough memory on the host for '%s'", y->name);
    for (int i = 0; i < 2 && good; i++)
        good = fsim_gpu_run(d->gpu, i ? x->kernel[at] : ours, fault) &&
               fsim_gpu_download(d->gpu, bytes[i], x->tensor[result], y->bytes, fault);
    if (good)
        *differs = fsim_apart_by(x->g, result, bytes[0], bytes[1], "our own kernel", r->a);
    fsim_gpu_unload(d->gpu, ours);
    free(bytes[0]);
    free(bytes[1]);
    return good;
}

/* A program, once. What the library made of it is compared the first time. */
static bool run_kernel(fsim_runner *r, fsim_trial_plan *plan, int k, const loaded *x, int at, const char **differs,
                       fsim_fault *fault)
{
    device *d = r->self;
    const int same = x->same[at];
    const char *apart = NULL;
    bool good = true;
    if (!x->kernel[at] || x->failed[same])
        return true;
    if (same == at && plan->ran[k].library) {
        good = compare_with_ours(r, x, at, &apart, fault);
        if (apart)
            differs[at] = fsim_printf(r->a, "%s by %s: %s", x->program[at].name, plan->ran[k].library, apart);
    } else {
        good = fsim_gpu_run(d->gpu, x->kernel[at], fault);
    }
    if (differs[same] && !plan->differs)
        plan->differs = differs[same];
    return good;
}

/* What the plan made of the workload's outputs, beside what the first that ran, `by` name, made of them: first[tensor],
 * NULL until then. */
static bool compare_outputs(fsim_runner *r, const fsim_trial *t, fsim_trial_plan *plan, const loaded *x, void **first,
                            const char *by, fsim_fault *fault)
{
    device *d = r->self;
    bool good = true;
    for (int n = 0; n < t->graph->tensors && good; n++) {
        const fsim_tensor *y = &t->graph->tensor[n];
        if (!y->output || y->storage != n || x->tensor[n].bytes == 0)
            continue;
        void *bytes = malloc((size_t)y->bytes);
        good = bytes ? fsim_gpu_download(d->gpu, bytes, x->tensor[n], y->bytes, fault)
                     : fsim_fail(fault, r->a, FSIM_UNAVAILABLE, "not enough memory on the host for '%s'", y->name);
        if (!first[n]) {
            first[n] = bytes;
            continue;
        }
        if (good && !plan->differs)
            plan->differs = fsim_apart_by(t->graph, n, first[n], bytes, by, r->a);
        free(bytes);
    }
    return good;
}

/* A kernel that can't be run takes its plan with it. */
static const char *failed_of(const fsim_trial_plan *plan, const loaded *x, int first)
{
    const char *why = NULL;
    for (int k = 0; k < plan->plan.kernels && !why; k++)
        why = x->failed[x->same[first + k]];
    return why;
}

/* Runs every plan once; what the workload's outputs are must not depend on which. Plans of the same kernels are one. */
static bool compare_plans(fsim_runner *r, fsim_trial *t, const loaded *x, fsim_fault *fault)
{
    device *d = r->self;
    void **first = fsim_new(r->a, void *, t->graph->tensors + 1);
    const char **differs = fsim_new(r->a, const char *, x->programs + 1);
    const char *by = NULL;
    int distinct = 0;
    bool good = true;
    for (int i = 0; i < t->plans; i++)
        distinct += x->like[i] == i;
    for (int i = 0; i < t->plans && good; i++) {
        fsim_trial_plan *plan = &t->plan[i];
        if (x->like[i] != i) {
            plan->differs = t->plan[x->like[i]].differs;
            continue;
        }
        for (int k = 0; k < plan->plan.kernels && good; k++) {
            fsim_fault why = {0};
            if (!run_kernel(r, plan, k, x, x->first[i] + k, differs, &why)) {
                x->failed[x->same[x->first[i] + k]] = why.message;
                good = !fsim_gpu_lost(d->gpu);
            }
        }
        if (good && distinct > 1 && !failed_of(plan, x, x->first[i])) {
            by = by ? by : fsim_strategy_names[plan->strategy];
            good = compare_outputs(r, t, plan, x, first, by, fault);
        }
    }
    for (int n = 0; n < t->graph->tensors; n++)
        free(first[n]);
    return good || !fsim_gpu_lost(d->gpu) ? good
                                          : fsim_fail(fault, r->a, FSIM_UNAVAILABLE, "%s", fsim_gpu_lost(d->gpu));
}

typedef struct {
    int program;
    double predicted_s;
} ranked;

static int longest_first(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    return a->predicted_s > b->predicted_s ? -1 : a->predicted_s < b->predicted_s ? 1 : a->program - b->program;
}

/* Each kernel once, the longest first: what time is too short for are the shortest. */
static bool measure_kernels(device *d, fsim_trial *t, const loaded *x, fsim_arena *a, fsim_fault *fault)
{
    ranked *order = fsim_new(a, ranked, x->programs + 1);
    fsim_gpu_kernel **kernel = fsim_new(a, fsim_gpu_kernel *, x->programs + 1);
    fsim_measured_kernel *out = fsim_new(a, fsim_measured_kernel, x->programs + 1),
                         *of = fsim_new(a, fsim_measured_kernel, x->programs + 1);
    int count = 0;
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            const int at = x->first[i] + k;
            if (x->same[at] == at && x->kernel[at] && !x->failed[at])
                order[count++] = (ranked){at, t->plan[i].predicted[k].cold_s};
        }
    qsort(order, (size_t)count, sizeof *order, longest_first);
    for (int i = 0; i < count; i++)
        kernel[i] = x->kernel[order[i].program];
    const bool good = fsim_gpu_measure(d->gpu, kernel, count, out, fault);
    for (int i = 0; i < count; i++)
        of[order[i].program] = out[i];
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (x->kernel[x->first[i] + k] && !x->failed[x->same[x->first[i] + k]])
                t->plan[i].measured.kernel[k] = of[x->same[x->first[i] + k]];
    return good;
}

static bool measure_plans(device *d, fsim_trial *t, const loaded *x, const fsim_trial_how *how, fsim_arena *a,
                          fsim_fault *fault)
{
    fsim_gpu_plan *plan = fsim_new(a, fsim_gpu_plan, t->plans + 1);
    fsim_measured_plan *out = fsim_new(a, fsim_measured_plan, t->plans + 1);
    int *place = fsim_new(a, int, t->plans + 1), count = 0;
    for (int i = 0; i < t->plans; i++) {
        fsim_gpu_kernel **kernel = fsim_new(a, fsim_gpu_kernel *, t->plan[i].plan.kernels + 1);
        int kernels = 0;
        place[i] = place[x->like[i]];
        t->plan[i].failed = failed_of(&t->plan[i], x, x->first[i]);
        if (x->like[i] != i || t->plan[i].failed)
            continue;
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (x->kernel[x->first[i] + k])
                kernel[kernels++] = x->kernel[x->first[i] + k];
        place[i] = count;
        plan[count++] = (fsim_gpu_plan){fsim_strategy_names[t->plan[i].strategy], kernel, kernels, how->warm};
    }
    const bool good = fsim_gpu_measure_plans(d->gpu, plan, count, out, NULL, fault);
    for (int i = 0; i < t->plans; i++) {
        if (t->plan[i].failed)
            continue;
        const fsim_measured_plan *m = &out[place[i]];
        t->plan[i].measured.stream = m->stream;
        t->plan[i].measured.graph = m->graph;
        t->plan[i].failed = m->failed;
        t->plan[i].left_out = m->left_out;
        t->plan[i].no_graph = m->no_graph;
    }
    return good;
}

/* Noise is no reason to stop: it is told. */
static bool went_on(bool good, fsim_fault *fault, fsim_fault *noise)
{
    if (!good && fault->status == FSIM_INCONCLUSIVE) {
        *noise = *fault;
        return true;
    }
    return good;
}

/* Why kernels were not measured, where nothing else says so. */
static void say_failed(fsim_trial *t, const loaded *x)
{
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            fsim_measured_kernel *m = &t->plan[i].measured.kernel[k];
            const int at = x->first[i] + k;
            const char *why = x->program[at].skipped ? x->program[at].skipped : x->failed[x->same[at]];
            m->failed = why ? why : m->failed;
        }
}

static bool measure(fsim_runner *r, fsim_trial *t, const fsim_trial_how *how, fsim_fault *fault)
{
    static const double least_share = 0.25; /* of the budget is for times, however long the rest took */
    device *d = r->self;
    loaded x;
    fsim_fault noise = {0}, own = {0};
    t->has_library = true;
    t->warm = how->warm;
    bool good = lay_out(r, t, &x, &own) && load_all(r, &x, &own) && compare_plans(r, t, &x, &own);
    fsim_gpu_limit(d->gpu, how->until_s > 0 ? fmax(how->until_s, fsim_now_s() + least_share * how->budget_s) : 0);
    good = good && went_on(measure_plans(d, t, &x, how, r->a, &own), &own, &noise);
    if (how->kernels)
        good = good && went_on(measure_kernels(d, t, &x, r->a, &own), &own, &noise);
    say_failed(t, &x);
    unload(d, &x);
    if (!good)
        t->failed = own.message;
    if (!good && fsim_gpu_lost(d->gpu))
        *fault = own;
    else if (noise.status)
        *fault = noise;
    return fault->status == 0;
}

static void close_gpu(fsim_runner *r) { fsim_gpu_close(((device *)r->self)->gpu); }

fsim_runner *fsim_runner_on_gpu(const fsim_gpu_options *options, int jobs, fsim_arena *a, fsim_fault *fault)
{
    fsim_runner *r = fsim_new(a, fsim_runner, 1);
    device *d = fsim_new(a, device, 1);
    *r = (fsim_runner){.name = "cuda",
                       .self = d,
                       .jobs = jobs > 0 ? jobs : fsim_cpu_count(),
                       .compile = compile,
                       .run = run,
                       .measure = measure,
                       .close = close_gpu,
                       .a = a};
    d->gpu = fsim_gpu_open(a, options, fault);
    if (!d->gpu)
        return NULL;
    r->device = fsim_gpu_facts_of(d->gpu)->name;
    return r;
}

const fsim_gpu_facts *fsim_runner_gpu(const fsim_runner *r)
{
    return strcmp(r->name, "cuda") == 0 ? fsim_gpu_facts_of(((const device *)r->self)->gpu) : NULL;
}

fsim_sensors fsim_runner_sensors(const fsim_runner *r)
{
    return strcmp(r->name, "cuda") == 0 ? fsim_gpu_sensors(((const device *)r->self)->gpu) : fsim_no_sensors();
}

const char *fsim_runner_lost(const fsim_runner *r)
{
    return strcmp(r->name, "cuda") == 0 ? fsim_gpu_lost(((const device *)r->self)->gpu) : NULL;
}

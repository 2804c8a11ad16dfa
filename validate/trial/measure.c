/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: the plans of a trial on a device: allocates their tensors, runs them once, compares their outputs,
 * measures them. */
#include "validate/device/backend.h"
#include "validate/device/texts.h"
#include "validate/trial/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A trial on the device. Kernels with the same text on the same tensors, in several plans, are loaded once, for the
 * first program of them. */
typedef struct {
    fsim_buffer *tensor;
    fsim_buffer **argument;      /* per program */
    fsim_device_kernel **kernel; /* per program; NULL: not generated, or failed */
    const char **wrong;          /* per program: why it does not compile; NULL */
    const char **failed;         /* per program: why it can't run; NULL */
    const char **differs; /* per program: how the library's result differs from our own kernel's; NULL: it does not */
    fsim_program *program;
    const fsim_kernel **planned; /* per program */
    fsim_trial_ran **ran;
    int *same; /* per program: the first one that is equal to it, or itself */
    int programs;
    int *first, *like; /* per plan: its first program; the first plan with the same kernels */
    const fsim_graph *g;
    const fsim_hw *hw;
} loaded;

static void unload(fsim_device *d, loaded *x)
{
    for (int k = 0; k < x->programs; k++) {
        if (x->same[k] != k)
            continue;
        if (x->kernel[k])
            d->backend->unload(d, x->kernel[k]);
        for (int i = 0; i < x->program[k].parameters && x->argument[k]; i++)
            if (x->program[k].parameter[i].tensor < 0)
                d->backend->release(d, &x->argument[k][i]);
    }
    for (int t = 0; t < x->g->tensors; t++)
        if (x->tensor[t].bytes > 0)
            d->backend->release(d, &x->tensor[t]);
}

static bool upload_inputs(fsim_device *d, const fsim_graph *g, const loaded *x, fsim_fault *fault)
{
    void **bytes = fsim_new(d->a, void *, g->tensors + 1);
    bool good = true;
    for (int t = 0; t < g->tensors && good; t++) { /* one at a time, because they may be large */
        if (x->tensor[t].bytes == 0 || g->tensor[t].producer >= 0)
            continue;
        if (!(bytes[t] = malloc((size_t)g->tensor[t].bytes)))
            return fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "not enough memory on the host for '%s': %lld bytes",
                             g->tensor[t].name, (long long)g->tensor[t].bytes);
        fsim_inputs_store(g, 1, bytes);
        good = d->backend->upload(d, x->tensor[t], bytes[t], g->tensor[t].bytes, fault);
        free(bytes[t]);
        bytes[t] = NULL;
    }
    return good;
}

/* Are both programs equal? They have the same nameless text. */
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

static bool lay_out(fsim_device *d, fsim_trial *t, loaded *x, fsim_fault *fault)
{
    const fsim_touched touched = fsim_trial_touches(t, d->a);
    const int64_t room = d->backend->free_bytes ? d->backend->free_bytes(d) : INT64_MAX;
    const int most = touched.programs + 1;
    bool good =
        touched.bytes <= room || fsim_fail(fault, d->a, FSIM_UNAVAILABLE,
                                           "out of memory: the plans' tensors take %.2f GiB, the device has %.2f "
                                           "GiB free; measure fewer strategies, or shorter shapes (--set)",
                                           (double)touched.bytes / 0x1p30, (double)room / 0x1p30);
    *x = (loaded){.tensor = fsim_new(d->a, fsim_buffer, t->graph->tensors + 1),
                  .argument = fsim_new(d->a, fsim_buffer *, most),
                  .kernel = fsim_new(d->a, fsim_device_kernel *, most),
                  .wrong = fsim_new(d->a, const char *, most),
                  .failed = fsim_new(d->a, const char *, most),
                  .differs = fsim_new(d->a, const char *, most),
                  .program = fsim_new(d->a, fsim_program, most),
                  .planned = fsim_new(d->a, const fsim_kernel *, most),
                  .ran = fsim_new(d->a, fsim_trial_ran *, most),
                  .same = fsim_new(d->a, int, most),
                  .first = fsim_new(d->a, int, t->plans + 1),
                  .like = fsim_new(d->a, int, t->plans + 1),
                  .g = t->graph,
                  .hw = t->hw};
    list_programs(t, x, most, d->a);
    for (int i = 0; i < t->graph->tensors && good; i++)
        if (touched.used[i])
            good = d->backend->allocate(d, t->graph->tensor[i].name, t->graph->tensor[i].bytes, &x->tensor[i], fault);
    for (int at = 0; at < x->programs && good; at++) {
        const fsim_program *p = &x->program[at];
        if (x->same[at] != at) {
            x->argument[at] = x->argument[x->same[at]];
            continue;
        }
        fsim_buffer *to = x->argument[at] = fsim_new(d->a, fsim_buffer, p->parameters + 1);
        for (int n = 0; n < p->parameters && good; n++)
            if (p->parameter[n].tensor >= 0)
                to[n] = x->tensor[p->parameter[n].tensor];
            else
                good = d->backend->allocate(d, p->parameter[n].name, p->parameter[n].bytes, &to[n], fault);
    }
    return good && upload_inputs(d, t->graph, x, fault);
}

/* Prepares the vendor's library for a product that the plan runs with it, and what follows the product. NULL with
 * ran->stand_in set where there is no library, or where it takes more than one call: the generated kernel runs
 * instead. */
static fsim_device_kernel *by_library(fsim_device *d, const loaded *x, int at)
{
    const fsim_library_job job = {
        .graph = x->g, .hw = x->hw, .kernel = x->planned[at], .name = x->program[at].name, .tensor = x->tensor};
    fsim_trial_ran *ran = x->ran[at];
    *ran = (fsim_trial_ran){0};
    if (job.kernel->template != FSIM_LIBRARY_CONTRACTION)
        return NULL;
    if (d->backend->library)
        return d->backend->library(d, &job, &ran->library, &ran->stand_in);
    ran->stand_in = d->backend->no_library;
    return NULL;
}

static bool load_one(fsim_device *d, const loaded *x, int at)
{
    fsim_fault why = {0};
    x->kernel[at] = by_library(d, x, at);
    if (!x->kernel[at] && x->wrong[at])
        x->failed[at] = fsim_printf(d->a, "%s does not compile: %s", x->program[at].name, x->wrong[at]);
    else if (!x->kernel[at] && !(x->kernel[at] = d->backend->load(d, at, x->argument[at], &why)))
        x->failed[at] = why.message;
    return !d->backend->lost(d);
}

/* Loads all programs. One that does not compile is left out alone. */
static bool load_all(fsim_device *d, const loaded *x, fsim_fault *fault)
{
    bool good = d->backend->compile(d, x->program, x->programs, x->wrong, fault) ||
                (d->backend->goes_on && !d->backend->lost(d));
    if (!good)
        return false;
    for (int at = 0; at < x->programs && good; at++) {
        const int same = x->same[at];
        if (x->program[at].skipped)
            continue;
        if (same == at) {
            good = load_one(d, x, at);
        } else {
            x->kernel[at] = x->kernel[same];
            x->failed[at] = x->failed[same];
            *x->ran[at] = *x->ran[same];
        }
    }
    return good || fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "%s", d->backend->lost(d));
}

/* Runs the product with the library and with our own kernel, which was compared with the reference. *differs: how
 * the results differ; NULL where they agree or there is no kernel of ours. Keeps the library's result. */
static bool compare_with_ours(fsim_device *d, const loaded *x, int at, const char **differs, fsim_fault *fault)
{
    const fsim_program *p = &x->program[at];
    int result = -1;
    *differs = NULL;
    for (int i = 0; i < p->parameters; i++)
        result = p->parameter[i].written && p->parameter[i].tensor >= 0 ? p->parameter[i].tensor : result;
    fsim_device_kernel *ours = result >= 0 && !x->wrong[at] ? d->backend->load(d, at, x->argument[at], NULL) : NULL;
    if (!ours)
        return d->backend->run(d, x->kernel[at], fault);
    const fsim_tensor *y = &x->g->tensor[result];
    void *bytes[2] = {malloc((size_t)y->bytes), malloc((size_t)y->bytes)};
    bool good = (bytes[0] && bytes[1]) ||
                fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "not enough memory on the host for '%s'", y->name);
    for (int i = 0; i < 2 && good; i++)
        good = d->backend->run(d, i ? x->kernel[at] : ours, fault) &&
               d->backend->download(d, bytes[i], x->tensor[result], y->bytes, fault);
    if (good)
        *differs = fsim_difference_text(x->g, result, &(fsim_two_results){bytes[0], bytes[1], "our own kernel"}, d->a);
    d->backend->unload(d, ours);
    free(bytes[0]);
    free(bytes[1]);
    return good;
}

/* Runs kernel k of a plan, which is program `at`. Where a library runs it, its result is compared the first time. */
static bool run_kernel(fsim_device *d, fsim_trial_plan *plan, int k, const loaded *x, int at, fsim_fault *fault)
{
    const int same = x->same[at];
    const char *difference = NULL;
    bool good = true;
    if (!x->kernel[at] || x->failed[same])
        return true;
    if (same == at && plan->ran[k].library) {
        good = compare_with_ours(d, x, at, &difference, fault);
        if (difference)
            x->differs[at] = fsim_printf(d->a, "%s by %s: %s", x->program[at].name, plan->ran[k].library, difference);
    } else {
        good = d->backend->run(d, x->kernel[at], fault);
    }
    if (x->differs[same] && !plan->differs)
        plan->differs = x->differs[same];
    return good;
}

/* The workload's outputs as computed by the first plan that ran. */
typedef struct {
    void **bytes;   /* per tensor; NULL: none yet */
    const char *by; /* name of its strategy */
} first_outputs;

/* Compares the plan's outputs with those of the first plan. */
static bool compare_outputs(fsim_device *d, const fsim_trial *t, fsim_trial_plan *plan, const loaded *x,
                            const first_outputs *first, fsim_fault *fault)
{
    bool good = true;
    for (int n = 0; n < t->graph->tensors && good; n++) {
        const fsim_tensor *y = &t->graph->tensor[n];
        if (!y->output || y->storage != n || x->tensor[n].bytes == 0)
            continue;
        void *bytes = malloc((size_t)y->bytes);
        good = bytes ? d->backend->download(d, bytes, x->tensor[n], y->bytes, fault)
                     : fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "not enough memory on the host for '%s'", y->name);
        if (!first->bytes[n]) {
            first->bytes[n] = bytes;
            continue;
        }
        if (good && !plan->differs)
            plan->differs =
                fsim_difference_text(t->graph, n, &(fsim_two_results){first->bytes[n], bytes, first->by}, d->a);
        free(bytes);
    }
    return good;
}

/* Why a kernel of the plan can't run, and so the plan can't; NULL: all can. */
static const char *failed_of(const fsim_trial_plan *plan, const loaded *x, int first)
{
    const char *why = NULL;
    for (int k = 0; k < plan->plan.kernels && !why; k++)
        why = x->failed[x->same[first + k]];
    return why;
}

/* Runs every plan once and compares the outputs, which must not depend on the plan. Plans with the same kernels run
 * once. */
static bool compare_plans(fsim_device *d, fsim_trial *t, const loaded *x, fsim_fault *fault)
{
    first_outputs first = {fsim_new(d->a, void *, t->graph->tensors + 1), NULL};
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
            if (!run_kernel(d, plan, k, x, x->first[i] + k, &why)) {
                x->failed[x->same[x->first[i] + k]] = why.message;
                good = !d->backend->lost(d);
            }
        }
        if (good && distinct > 1 && !failed_of(plan, x, x->first[i])) {
            first.by = first.by ? first.by : fsim_strategy_names[plan->strategy];
            good = compare_outputs(d, t, plan, x, &first, fault);
        }
    }
    for (int n = 0; n < t->graph->tensors; n++)
        free(first.bytes[n]);
    return good || !d->backend->lost(d) ? good : fsim_fail(fault, d->a, FSIM_UNAVAILABLE, "%s", d->backend->lost(d));
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

/* What to measure, and where the results belong. */
typedef struct {
    fsim_device_work work;
    int *program; /* per kernel of the work: its program */
    int *place;   /* per plan: its index in the work */
} request;

/* Lists each kernel once, longest first, so that short ones are left out where time is too short. */
static void list_kernels(fsim_device *d, const fsim_trial *t, const loaded *x, request *q)
{
    ranked *order = fsim_new(d->a, ranked, x->programs + 1);
    fsim_device_kernel **kernel = fsim_new(d->a, fsim_device_kernel *, x->programs + 1);
    int count = 0;
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            const int at = x->first[i] + k;
            if (x->same[at] == at && x->kernel[at] && !x->failed[at])
                order[count++] = (ranked){at, t->plan[i].predicted[k].cold_s};
        }
    qsort(order, (size_t)count, sizeof *order, longest_first);
    q->program = fsim_new(d->a, int, count + 1);
    for (int i = 0; i < count; i++) {
        q->program[i] = order[i].program;
        kernel[i] = x->kernel[order[i].program];
    }
    q->work.kernel = kernel;
    q->work.kernels = count;
}

/* Lists plans with the same kernels once. */
static void list_plans(fsim_device *d, fsim_trial *t, const loaded *x, request *q)
{
    fsim_device_plan *plan = fsim_new(d->a, fsim_device_plan, t->plans + 1);
    int count = 0;
    q->place = fsim_new(d->a, int, t->plans + 1);
    for (int i = 0; i < t->plans; i++) {
        fsim_device_kernel **kernel = fsim_new(d->a, fsim_device_kernel *, t->plan[i].plan.kernels + 1);
        int kernels = 0;
        q->place[i] = q->place[x->like[i]];
        t->plan[i].failed = failed_of(&t->plan[i], x, x->first[i]);
        if (x->like[i] != i || t->plan[i].failed)
            continue;
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (x->kernel[x->first[i] + k])
                kernel[kernels++] = x->kernel[x->first[i] + k];
        q->place[i] = count;
        plan[count++] = (fsim_device_plan){fsim_strategy_names[t->plan[i].strategy], kernel, kernels};
    }
    q->work.plan = plan;
    q->work.plans = count;
}

/* Copies results to the plans and kernels that they belong to. */
static void take_results(fsim_device *d, fsim_trial *t, const loaded *x, const request *q)
{
    const fsim_measured_kernel **of = fsim_new(d->a, const fsim_measured_kernel *, x->programs + 1);
    for (int i = 0; i < q->work.kernels; i++)
        of[q->program[i]] = &q->work.of_kernel[i];
    for (int i = 0; i < t->plans; i++) {
        fsim_trial_plan *plan = &t->plan[i];
        for (int k = 0; k < plan->plan.kernels; k++) {
            const int same = x->same[x->first[i] + k];
            plan->measured.kernel[k] = of[same] ? *of[same] : fsim_not_measured();
        }
        if (plan->failed)
            continue;
        const fsim_measured_plan *m = &q->work.of_plan[q->place[i]];
        plan->measured.stream = m->stream;
        plan->measured.graph = m->graph;
        plan->failed = m->failed;
        plan->left_out = m->left_out;
        plan->no_graph = m->no_graph;
    }
}

/* Sets the reason for kernels that were not measured and have none yet. */
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

/* Prices the plans again for the memory bandwidth that was measured while they ran. */
static void follow_memory(fsim_device *d, fsim_trial *t, double dram_bytes_per_s)
{
    const fsim_options options = {.regime = FSIM_REGIME_STREAM};
    fsim_hw *hw = fsim_new(d->a, fsim_hw, 1);
    *hw = *t->hw;
    hw->q[FSIM_HW_DRAM_BANDWIDTH].achieved = dram_bytes_per_s;
    fsim_trial_reprice(t, hw, &options, d->a);
}

static bool measure_all(fsim_device *d, fsim_trial *t, const loaded *x, const fsim_trial_how *how, fsim_fault *fault)
{
    request q = {
        .work = {.budget_s = how->budget_s, .until_s = how->until_s, .samples = how->samples, .warm = how->warm}};
    list_plans(d, t, x, &q);
    if (how->kernels)
        list_kernels(d, t, x, &q);
    q.work.of_plan = fsim_new(d->a, fsim_measured_plan, q.work.plans + 1);
    q.work.of_kernel = fsim_new(d->a, fsim_measured_kernel, q.work.kernels + 1);
    const bool good = d->backend->measure(d, &q.work, fault);
    take_results(d, t, x, &q);
    t->disturbed = q.work.disturbed;
    if (good && q.work.dram_bytes_per_s > 0)
        follow_memory(d, t, q.work.dram_bytes_per_s);
    return good;
}

bool fsim_trial_measure(fsim_trial *t, fsim_device *d, const fsim_trial_how *how, fsim_fault *fault)
{
    loaded x;
    fsim_fault own = {0};
    t->has_library = d->backend->library != NULL;
    t->warm = how->warm;
    const bool ready = lay_out(d, t, &x, &own) && load_all(d, &x, &own) && compare_plans(d, t, &x, &own),
               good = ready && measure_all(d, t, &x, how, &own), noise = own.status == FSIM_INCONCLUSIVE;
    say_failed(t, &x);
    unload(d, &x);
    if (!good && !noise)
        t->failed = own.message;
    if (noise || (!good && (d->backend->lost(d) || !d->backend->goes_on)))
        *fault = own;
    return fault->status == 0;
}

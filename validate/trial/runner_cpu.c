/* SPDX-License-Identifier: Apache-2.0 */
/* runner_cpu.c: programs as C, on this machine's threads. */
#include "validate/cpu/hardware.h"
#include "validate/trial/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_cpu_pool *pool;
    fsim_cpu_compiler compiler;
    fsim_cpu_module *module;
} host;

static bool no(fsim_runner *r, fsim_fault *fault, int status, const char *what, const char *why)
{
    return fsim_fail(fault, r->a, status, "%s%s", what, why);
}

static bool compile(fsim_runner *r, const fsim_program *p, int count, const char **wrong, fsim_fault *fault)
{
    host *h = r->self;
    const char *why = "";
    if (h->module)
        fsim_cpu_unload(h->module);
    h->module = fsim_cpu_compile(p, count, &h->compiler, r->a, &why);
    if (!h->module)
        return no(r, fault, FSIM_UNAVAILABLE, "cannot run kernels here: ", why);
    for (int i = 0; i < count; i++)
        wrong[i] = p[i].skipped ? NULL : h->module->kernel[i].failed;
    return true;
}

static bool run(fsim_runner *r, int i, void *const *argument, fsim_fault *fault)
{
    host *h = r->self;
    (void)fault;
    fsim_cpu_run(h->pool, &h->module->kernel[i], argument);
    return true;
}

/* Tensors of a trial, and every program's arguments. */
typedef struct {
    void **tensor;
    void ***argument;
    fsim_program *program; /* of all plans, one behind the other */
    int programs, tensors;
    const fsim_graph *g;
} memory;

static void free_memory(memory *m)
{
    for (int t = 0; t < m->tensors; t++)
        if (m->tensor[t])
            fsim_cpu_memory_free(m->tensor[t], m->g->tensor[t].bytes + 64);
    for (int k = 0; k < m->programs; k++)
        for (int i = 0; i < m->program[k].parameters && m->argument[k]; i++)
            if (m->program[k].parameter[i].tensor < 0 && m->argument[k][i])
                fsim_cpu_memory_free(m->argument[k][i], m->program[k].parameter[i].bytes + 64);
}

static bool lay_out(fsim_runner *r, const fsim_trial *t, memory *m)
{
    host *h = r->self;
    const fsim_touched x = fsim_trial_touches(t, r->a);
    bool enough = true;
    *m = (memory){fsim_new(r->a, void *, t->graph->tensors + 1),
                  fsim_new(r->a, void **, x.programs + 1),
                  fsim_new(r->a, fsim_program, x.programs + 1),
                  0,
                  t->graph->tensors,
                  t->graph};
    for (int i = 0; i < t->graph->tensors && enough; i++)
        if (x.used[i])
            enough = (m->tensor[i] = fsim_cpu_memory(h->pool, t->graph->tensor[i].bytes + 64)) != NULL;
    for (int i = 0; i < t->plans && enough; i++)
        for (int k = 0; k < t->plan[i].plan.kernels && enough; k++) {
            const fsim_program *p = &t->plan[i].program[k];
            void **at = m->argument[m->programs] = fsim_new(r->a, void *, p->parameters + 1);
            m->program[m->programs++] = *p;
            for (int n = 0; n < p->parameters && enough; n++)
                enough = (at[n] = p->parameter[n].tensor >= 0
                                      ? m->tensor[p->parameter[n].tensor]
                                      : fsim_cpu_memory(h->pool, p->parameter[n].bytes + 64)) != NULL;
        }
    if (enough)
        fsim_inputs_store(t->graph, 1, m->tensor);
    return enough;
}

/* Runs every plan once; what the workload's outputs are must not depend on which. */
static bool compare_plans(fsim_runner *r, fsim_trial *t, const memory *m)
{
    host *h = r->self;
    void **first = fsim_new(r->a, void *, t->graph->tensors + 1);
    bool enough = true;
    for (int i = 0, at = 0; i < t->plans; at += t->plan[i++].plan.kernels) {
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (!m->program[at + k].skipped)
                fsim_cpu_run(h->pool, &h->module->kernel[at + k], m->argument[at + k]);
        for (int n = 0; n < t->graph->tensors && enough; n++) {
            const fsim_tensor *x = &t->graph->tensor[n];
            if (!x->output || x->storage != n || !m->tensor[n])
                continue;
            if (!first[n]) {
                enough = (first[n] = malloc((size_t)x->bytes)) != NULL;
                if (enough)
                    memcpy(first[n], m->tensor[n], (size_t)x->bytes);
                continue;
            }
            if (!t->plan[i].differs)
                t->plan[i].differs =
                    fsim_apart_by(t->graph, n, first[n], m->tensor[n], fsim_strategy_names[t->plan[0].strategy], r->a);
        }
    }
    for (int n = 0; n < t->graph->tensors; n++)
        free(first[n]);
    return enough;
}

/* Whole plans, then each kernel by itself. */
static int list_works(const fsim_trial *t, const memory *m, const host *h, bool kernels, fsim_cpu_work *work,
                      fsim_cpu_call *call)
{
    int works = 0, at = 0;
    for (int i = 0; i < t->plans; at += t->plan[i++].plan.kernels) {
        work[works] = (fsim_cpu_work){call, 0};
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (!m->program[at + k].skipped)
                work[works].calls++, *call++ = (fsim_cpu_call){&h->module->kernel[at + k], m->argument[at + k]};
        works++;
    }
    at = 0;
    for (int i = 0; i < t->plans && kernels; at += t->plan[i++].plan.kernels)
        for (int k = 0; k < t->plan[i].plan.kernels; k++)
            if (!m->program[at + k].skipped) {
                work[works++] = (fsim_cpu_work){call, 1};
                *call++ = (fsim_cpu_call){&h->module->kernel[at + k], m->argument[at + k]};
            }
    return works;
}

static void take_over(fsim_trial *t, const memory *m, const fsim_cpu_measurement *x, bool kernels)
{
    int works = t->plans, at = 0;
    for (int i = 0; i < t->plans; i++)
        t->plan[i].measured.stream = x->work[i].cold;
    for (int i = 0; i < t->plans; at += t->plan[i++].plan.kernels)
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            fsim_measured_kernel *y = &t->plan[i].measured.kernel[k];
            *y = (fsim_measured_kernel){.dram_read_bytes = NAN,
                                        .dram_write_bytes = NAN,
                                        .dram_write_by_end_bytes = NAN,
                                        .l2_bytes = NAN,
                                        .l2_write_bytes = NAN,
                                        .shared_bytes = NAN,
                                        .local_bytes = NAN,
                                        .registers = -1,
                                        .static_shared_bytes = -1,
                                        .local_bytes_per_thread = -1,
                                        .occupancy = NAN,
                                        .achieved_occupancy = NAN,
                                        .sm_clock_hz = NAN};
            if (m->program[at + k].skipped) {
                y->failed = m->program[at + k].skipped;
                continue;
            }
            if (t->plan[i].plan.kernel[k].template == FSIM_LIBRARY_CONTRACTION)
                t->plan[i].ran[k].stand_in = "there is no such library on a CPU";
            if (kernels) {
                y->cold = x->work[works].cold;
                y->warm = x->work[works++].warm;
            }
        }
}

/* The copy that ran between the works says what memory gave meanwhile: predictions are for that. */
static void follow_drift(fsim_trial *t, const fsim_cpu_measurement *x, fsim_arena *a)
{
    const fsim_options options = {.regime = FSIM_REGIME_STREAM, .time_limit_s = 1};
    fsim_hw *hw = fsim_new(a, fsim_hw, 1);
    *hw = *t->hw;
    hw->q[FSIM_HW_DRAM_BANDWIDTH].achieved = 2 * x->copy_bytes / x->copy.median_s;
    fsim_trial_reprice(t, hw, &options, a);
}

static bool measure(fsim_runner *r, fsim_trial *t, const fsim_trial_how *how, fsim_fault *fault)
{
    host *h = r->self;
    memory m;
    const char *why = "", **wrong;
    const double most_s = how->budget_s > 0 ? how->budget_s : 4;
    fsim_cpu_measurement x;
    bool good =
        lay_out(r, t, &m) ? true : no(r, fault, FSIM_UNAVAILABLE, "not enough memory for the workload's tensors", "");
    wrong = fsim_new(r->a, const char *, m.programs + 1);
    good = good && compile(r, m.program, m.programs, wrong, fault);
    for (int i = 0; i < m.programs && good; i++)
        if (wrong[i])
            good = no(r, fault, FSIM_FAILED, m.program[i].name, fsim_printf(r->a, ": %s", wrong[i]));
    if (good && !compare_plans(r, t, &m))
        good = no(r, fault, FSIM_UNAVAILABLE, "not enough memory to compare the plans' outputs", "");
    if (good) {
        fsim_cpu_work *work = fsim_new(r->a, fsim_cpu_work, m.programs + t->plans + 1);
        fsim_cpu_call *call = fsim_new(r->a, fsim_cpu_call, 2 * m.programs + 1);
        const int works = list_works(t, &m, h, how->kernels, work, call);
        const fsim_cpu_how rounds = {.rounds = how->samples, .most_s = most_s};
        good = fsim_cpu_measure(h->pool, work, works, &rounds, &h->compiler, r->a, &x, &why)
                   ? true
                   : no(r, fault, FSIM_UNAVAILABLE, why, "");
    }
    if (good) {
        take_over(t, &m, &x, how->kernels);
        follow_drift(t, &x, r->a);
        t->disturbed = x.disturbed;
    }
    free_memory(&m);
    return good;
}

static void close_host(fsim_runner *r)
{
    host *h = r->self;
    if (h->module)
        fsim_cpu_unload(h->module);
    fsim_cpu_pool_free(h->pool);
}

fsim_runner *fsim_runner_on_host(int threads, int jobs, fsim_arena *a, fsim_fault *fault)
{
    fsim_runner *r = fsim_new(a, fsim_runner, 1);
    host *h = fsim_new(a, host, 1);
    const char *tried = "";
    *h = (host){.compiler = {.header = fsim_dialect_text, .jobs = jobs}};
    *r = (fsim_runner){.name = "cpu",
                       .self = h,
                       .jobs = jobs,
                       .compile = compile,
                       .run = run,
                       .measure = measure,
                       .close = close_host,
                       .a = a};
    if (!fsim_cpu_has_compiler(&h->compiler, a, &tried)) {
        no(r, fault, FSIM_UNAVAILABLE, "no C compiler: tried ", fsim_printf(a, "'%s'; set CC, or install gcc", tried));
        return NULL;
    }
    h->pool = fsim_cpu_pool_new(threads);
    r->device = fsim_printf(a, "%s, %d threads", fsim_cpu_name(a), fsim_cpu_threads(h->pool));
    return r;
}

const fsim_hw *fsim_runner_hw(fsim_runner *r, const fsim_hw *hw, fsim_fault *fault)
{
    host *h = r->self;
    const char *why = "";
    if (strcmp(r->name, "cpu") != 0)
        return hw;
    const fsim_hw *now = fsim_host_recalibrated(hw, h->pool, &h->compiler, r->a, &why);
    if (!now)
        no(r, fault, FSIM_UNAVAILABLE, "cannot measure this machine: ", why);
    return now;
}

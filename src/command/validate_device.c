/* SPDX-License-Identifier: Apache-2.0 */
/* validate --device: plans generated, run and measured, predicted beside measured. */
#include "command/command.h"
#include "graph/scale.h"
#include "report/trial.h"
#include "validate/cuda/nvml.h"
#include "validate/trial/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What can be said of the options without any file. */
typedef struct {
    fsim_strategy strategy[FSIM_STRATEGY_COUNT];
    int strategies;
    fsim_gate *gate;
} trial_options;

void fsim_read_strategies(fsim_context *c, fsim_strategy *at, int *count)
{
    static const fsim_strategy usual[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_GREEDY,
                                          FSIM_STRATEGY_MAXIMAL, FSIM_STRATEGY_OPTIMAL};
    const fsim_words *names = &c->set.strategies;
    for (int i = 0; i < FSIM_COUNT_OF(usual) && names->count == 0; i++)
        at[(*count)++] = usual[i];
    for (int i = 0; i < names->count; i++) {
        int s = 0;
        bool twice = false;
        while (s < FSIM_STRATEGY_COUNT && strcmp(names->at[i], fsim_strategy_names[s]) != 0)
            s++;
        for (int k = 0; k < *count; k++)
            twice = twice || at[k] == (fsim_strategy)s;
        if (s == FSIM_STRATEGY_COUNT)
            fsim_error(c->diag, fsim_command_line, "--strategies: no strategy '%s'%s", names->at[i],
                       fsim_did_you_mean(c->arena, names->at[i], fsim_strategy_names, FSIM_STRATEGY_COUNT));
        else if (!twice)
            at[(*count)++] = (fsim_strategy)s;
    }
}

static bool check_trial(fsim_context *c, trial_options *o)
{
    if (c->set.measurements.count)
        fsim_error(c->diag, fsim_command_line,
                   "validate: --measurements and --device are two ways to validate; wanted one");
    if (c->args.count == 0)
        fsim_error(c->diag, fsim_command_line, "validate --device wants a workload");
    if (c->set.no_check && c->set.no_measure)
        fsim_error(c->diag, fsim_command_line, "validate: --no-check and --no-measure leave nothing to do");
    if (c->set.no_measure && (c->set.gates.count || c->set.measured))
        fsim_error(c->diag, fsim_command_line,
                   "validate: --gate and --measured want measurements; --no-measure makes none");
    if (c->set.measured && c->set.scale > 1)
        fsim_error(c->diag, fsim_command_line,
                   "validate: rows of --measured could not be predicted again: --scale-shapes is no binding of theirs; "
                   "wanted --set");
    if (c->set.l2 == 1 && c->set.device == FSIM_DEVICE_CPU)
        fsim_error(c->diag, fsim_command_line,
                   "validate: --device cpu measures plans with cold caches; --l2 warm wants --device cuda");
    if (c->set.hw.count != 1 && !(c->set.hw.count == 0 && c->set.device == FSIM_DEVICE_CPU))
        fsim_error(c->diag, fsim_command_line, "validate --device wants one --hw: the hardware file of that device");
    fsim_read_strategies(c, o->strategy, &o->strategies);
    o->gate = fsim_read_gates(c, &fsim_trial_gates);
    return fsim_errors(c->diag) == 0;
}

const char *fsim_set_text(const fsim_context *c)
{
    const char *text = "";
    for (int i = 0; i < c->set.set.count; i++)
        text = fsim_printf(c->arena, "%s%s%s", text, i ? ";" : "", c->set.set.at[i]);
    return text;
}

static fsim_runner *open_runner(fsim_context *c, fsim_fault *fault)
{
    const fsim_settings *s = &c->set;
    if (s->device == FSIM_DEVICE_CPU)
        return fsim_runner_on_host((int)s->threads, (int)s->jobs, c->arena, fault);
    const double timeout_s = s->budget_s > 0 ? fmin(30, fmax(5, s->budget_s)) : 0;
    const fsim_gpu_options options = {
        .timeout_s = timeout_s, .least = (int)s->samples, .most = (int)s->samples, .no_counters = s->no_counters};
    return fsim_runner_on_gpu(&options, (int)s->jobs, c->arena, fault);
}

/* ", 312 W of 700 W, 54 C, SM clock 1755 MHz, held by: power cap", as the driver's sensors said while plans ran, the
 * worst of it, or, where none did, say now; "" where they say nothing. */
static const char *sensors_text(fsim_context *c, const fsim_runner *r)
{
    fsim_nvml n = fsim_nvml_open(c->arena, fsim_runner_gpu(r)->uuid);
    if (!n.device)
        return "";
    const fsim_sensors under_load = fsim_runner_sensors(r),
                       x = under_load.reasons || !isnan(under_load.power_w) ? under_load : fsim_nvml_read(&n, c->arena);
    const char *text = n.driver ? fsim_printf(c->arena, "; driver %s", n.driver) : "";
    if (!isnan(x.power_w))
        text = fsim_printf(c->arena, "%s, %.0f W of %.0f W", text, x.power_w, x.power_limit_w);
    if (!isnan(x.temperature_c))
        text = fsim_printf(c->arena, "%s, %.0f C", text, x.temperature_c);
    if (!isnan(x.sm_clock_hz))
        text = fsim_printf(c->arena, "%s, SM clock %.0f MHz", text, x.sm_clock_hz / 1e6);
    if (x.reasons)
        text = fsim_printf(c->arena, "%s, throttled by: %s", text, x.reasons);
    fsim_nvml_close(&n);
    return text;
}

static const char *facts_of(fsim_context *c, const fsim_runner *r)
{
    const fsim_gpu_facts *f = fsim_runner_gpu(r);
    if (!f)
        return "";
    return fsim_printf(
        c->arena, "%s, sm_%d, %d SMs, %.1f GiB, driver CUDA %d.%d, NVRTC %d.%d, clock up to %.0f MHz%s; times by %s%s",
        f->name, f->sm, f->sms, (double)f->memory_bytes / 0x1p30, f->driver_version / 1000,
        f->driver_version % 1000 / 10, f->nvrtc_version / 1000, f->nvrtc_version % 1000 / 10, f->clock_hz / 1e6,
        sensors_text(c, r), f->timing,
        f->floor.samples ? fsim_printf(c->arena, "; an empty kernel takes %.2f us", 1e6 * f->floor.median_s) : "");
}

/* The workload's document, which checks on shorter shapes read again. */
static const fsim_yaml *document(fsim_context *c, const fsim_graph *g)
{
    size_t bytes = 0;
    const char *why = "", *text = strcmp(g->path, "-") == 0 ? NULL : fsim_read_file(c->arena, g->path, &bytes, &why);
    fsim_diag *quiet = fsim_diag_new(c->arena);
    return text ? fsim_yaml_parse(c->arena, quiet, g->path, text, bytes) : NULL;
}

/* What stands below the last folder of the name in the path, without .yaml: rows are read with other copies of the
 * workloads too, whatever tree this one lies in. */
static const char *workload_of(fsim_arena *a, const char *path)
{
    static const char folder[] = "/workloads/";
    for (const char *at = strstr(path, folder); at; at = strstr(path, folder))
        path = at + sizeof folder - 1;
    if (strncmp(path, folder + 1, sizeof folder - 2) == 0)
        path += sizeof folder - 2;
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".yaml") == 0 ? fsim_strndup(a, path, length - 5) : path;
}

/* Are a plan's times what the plan takes, and a kernel's what that kernel takes? Those of wrong results are not, nor
 * those of other kernels than the plan has. */
static bool is_plan_sound(const fsim_trial_plan *y) { return y->wrong == 0 && !y->differs && !y->unlike; }

static bool is_kernel_sound(const fsim_trial *t, const fsim_trial_plan *y, int k)
{
    bool told = false; /* shorter shapes may have other kernels: then nothing says which are meant */
    for (int i = 0; i < y->plan.kernels; i++)
        told = told || y->check[i].message;
    return !y->differs && !y->check[k].message && (y->wrong == 0 || told) && !(y->ran[k].stand_in && t->has_library);
}

/* A row of measurements for each plan and regime, and for each kernel. */
static void put_rows(FILE *out, fsim_context *c, const fsim_trials *x)
{
    fsim_measured *row = NULL;
    int rows = 0, room = 0;
    const char *source = fsim_printf(c->arena, "fusesim validate --device %s, %s", x->device, x->name);
    for (int i = 0; i < x->count; i++) {
        const fsim_trial *t = &x->at[i];
        const char *workload = workload_of(c->arena, t->graph->path);
        for (int p = 0; p < t->plans; p++) {
            const fsim_trial_plan *y = &t->plan[p];
            const char *id = fsim_printf(c->arena, "%s%s%s/%s", workload, *t->set ? "/" : "", t->set,
                                         fsim_strategy_names[y->strategy]);
            fsim_measured all = {.hw = t->hw->name,
                                 .workload = workload,
                                 .set = t->set,
                                 .source = source,
                                 .strategy = y->strategy,
                                 .l2 = t->warm ? FSIM_L2_WARM : FSIM_L2_COLD,
                                 .dram_read_bytes = NAN,
                                 .dram_write_bytes = NAN};
            int stand_ins = 0;
            for (int k = 0; k < y->plan.kernels; k++)
                stand_ins += y->ran[k].stand_in != NULL;
            if (stand_ins)
                all.source =
                    fsim_printf(c->arena, "%s, %d of the library's products by our own kernels", source, stand_ins);
            for (int graph = 0; graph < 2; graph++) {
                const fsim_times *m = graph ? &y->measured.graph : &y->measured.stream;
                if (m->samples == 0 || !is_plan_sound(y))
                    continue;
                all.id = fsim_printf(c->arena, "%s/%s%s", id, graph ? "graph" : "stream", t->warm ? "/warm" : "");
                all.launch = graph ? FSIM_REGIME_GRAPH : FSIM_REGIME_STREAM;
                all.time_s = m->median_s;
                *FSIM_PUSH(c->arena, row, rows, room) = all;
            }
            for (int k = 0; k < y->plan.kernels; k++)
                for (int warm = 0; warm < 2; warm++) {
                    const fsim_measured_kernel *m = &y->measured.kernel[k];
                    const fsim_times *s = warm ? &m->warm : &m->cold;
                    if (s->samples == 0 || !is_kernel_sound(t, y, k))
                        continue;
                    const fsim_group *o = y->plan.kernel[k].group;
                    const char *names = "";
                    for (int n = 0; n < o->members; n++)
                        names = o->member[n].clone ? names
                                                   : fsim_printf(c->arena, "%s%s%s", names, *names ? "+" : "",
                                                                 t->graph->node[o->member[n].node].name);
                    fsim_measured one = all;
                    one.source = source;
                    one.id = fsim_printf(c->arena, "%s/%s/%s", id, y->program[k].name, warm ? "warm" : "cold");
                    one.kernel = names;
                    one.launch = FSIM_REGIME_KERNEL;
                    one.l2 = warm ? FSIM_L2_WARM : FSIM_L2_COLD;
                    one.time_s = s->median_s;
                    if (y->ran[k].library)
                        one.source = fsim_printf(c->arena, "%s, by %s", source, y->ran[k].library);
                    if (y->ran[k].stand_in)
                        one.source = fsim_printf(c->arena, "%s, by our own kernel in the library's place", source);
                    one.dram_read_bytes = warm ? NAN : m->dram_read_bytes;
                    one.dram_write_bytes = warm ? NAN : m->dram_write_bytes;
                    *FSIM_PUSH(c->arena, row, rows, room) = one;
                }
        }
    }
    fsim_rows_write(out, row, rows);
}

/* Other processes had the CPUs nearly all the time. Samples are tried again then, and in the end counted in CPU time,
 * which bears much. */
static bool is_disturbed(const fsim_trials *x)
{
    static const double most = 0.9;
    bool disturbed = false;
    for (int i = 0; i < x->count; i++)
        disturbed = disturbed || x->at[i].disturbed > most;
    return disturbed;
}

/* Tries all. A gate that fails by less than repetition may move its value gives no verdict. */
static int try_trial_gates(const fsim_trials *x, fsim_gate *gate, fsim_arena *a)
{
    int status = FSIM_EXIT_OK;
    for (int i = 0; i < x->gates; i++) {
        const double noise = fsim_trial_gate_try(&gate[i], x, a);
        if (gate[i].passed)
            continue;
        const bool unsure = gate[i].value - noise <= gate[i].limit || (is_disturbed(x) && !isnan(gate[i].value));
        if (unsure && status == FSIM_EXIT_OK)
            status = FSIM_EXIT_INCONCLUSIVE;
        else if (!unsure)
            status = FSIM_EXIT_GATE;
    }
    return status;
}

static bool is_wrong(const fsim_trials *x)
{
    bool wrong = false;
    for (int i = 0; i < x->count; i++)
        for (int p = 0; p < x->at[i].plans; p++)
            wrong = wrong || x->at[i].plan[p].wrong > 0 || x->at[i].plan[p].differs;
    return wrong;
}

/* What the runner can't go on after. A GPU goes on with the next workload unless it is lost. */
static bool is_end(const fsim_runner *r, const fsim_fault *fault)
{
    return fault->status != FSIM_OK && fault->status != FSIM_INCONCLUSIVE &&
           (!fsim_runner_gpu(r) || fsim_runner_lost(r));
}

/* One workload, from its file to its measurements: what fails is said in t. *fault: the runner can't go on, or noise.
 */
static void try_workload(fsim_context *c, fsim_runner *r, const fsim_inputs *in, const fsim_hw *hw,
                         const trial_options *o, double until_s, fsim_trial *t, fsim_fault *fault)
{
    const double budget_s = c->set.budget_s,
                 interpret_s = budget_s > 0 ? fmin(0.6, budget_s / 16) : 0.6; /* for each plan */
    const fsim_trial_how how = {.budget_s = budget_s,
                                .until_s = until_s,
                                .samples = (int)c->set.samples,
                                .kernels = true,
                                .warm = in->how.warm};
    *t = fsim_trial_of(in->graph, hw, &in->how, o->strategy, o->strategies, c->arena);
    t->set = fsim_set_text(c);
    if (!c->set.no_check &&
        !fsim_trial_check(t, r, document(c, in->graph), fsim_bindings(c), c->set.set.count, interpret_s, fault)) {
        t->unchecked = fault->message;
        if (is_end(r, fault))
            return;
        *fault = (fsim_fault){0};
    }
    if (c->set.no_measure)
        return;
    (void)!r->measure(r, t, &how, fault);
    fsim_trial_judge(t);
}

static bool any_times(const fsim_trials *x)
{
    bool any = false;
    for (int i = 0; i < x->count; i++)
        for (int p = 0; p < x->at[i].plans; p++) {
            const fsim_trial_plan *y = &x->at[i].plan[p];
            any = any || y->measured.stream.samples > 0;
            for (int k = 0; k < y->plan.kernels; k++)
                any = any || y->measured.kernel[k].cold.samples > 0;
        }
    return any;
}

/* How the run ends, once all is written. */
static int verdict(fsim_context *c, const fsim_trials *x, int gates, const fsim_fault *end, const fsim_fault *noise)
{
    const char *failure = NULL;
    for (int i = 0; i < x->count && !failure; i++)
        failure = fsim_trial_failure(&x->at[i]);
    if (is_wrong(x)) {
        fsim_error(c->diag, fsim_command_line, "kernels do not compute what they should");
        return fsim_conclude(c, FSIM_EXIT_GATE);
    }
    if (end->status || failure) {
        fsim_error(c->diag, fsim_command_line, "%s", end->status ? end->message : failure);
        return fsim_conclude(c, end->status ? fsim_exit_status(end->status) : FSIM_EXIT_UNAVAILABLE);
    }
    if (x->measured && !any_times(x) && !gates) {
        const char *left_out = x->count ? fsim_trial_left_out(&x->at[0], c->arena) : NULL;
        if (left_out)
            fsim_error(c->diag, fsim_command_line, "nothing was measured: %s", left_out);
        return fsim_conclude(c, left_out ? FSIM_EXIT_INCONCLUSIVE : FSIM_EXIT_OK);
    }
    if (noise->status && !gates)
        fsim_error(c->diag, fsim_command_line, "%s", noise->message);
    if (is_disturbed(x) && !c->set.quiet)
        fputs("fusesim: warning: other processes had the CPUs during most samples: times say little\n", stderr);
    if (gates == FSIM_EXIT_INCONCLUSIVE)
        fsim_error(c->diag, fsim_command_line,
                   "a gate fails by less than repetitions scatter, or on a machine that is busy with other things: no "
                   "verdict");
    if (gates == FSIM_EXIT_GATE)
        fsim_say_failed_gates(c, "", x->gate, x->gates);
    return fsim_conclude(c, gates ? gates : fsim_exit_status(noise->status));
}

/* A lost device is left alone: the driver's clean-up at the program's end would wait for what hangs. */
static int finish(fsim_context *c, fsim_runner *r, int status)
{
    const bool lost = r && fsim_runner_lost(r);
    if (r)
        r->close(r);
    if (!lost)
        return status;
    status = fsim_finish_stdout(c, status);
    fflush(stderr);
    _exit(status);
}

int fsim_run_trials(fsim_context *c)
{
    const double start_s = fsim_now_s();
    c->kind = FSIM_RESULT_TRIALS;
    trial_options o = {.strategies = 0};
    if (!check_trial(c, &o))
        return fsim_usage_status(c);
    if (c->set.hw.count == 0) {
        c->set.hw.at = fsim_new(c->arena, const char *, 1);
        c->set.hw.at[c->set.hw.count++] = "host";
    }
    const fsim_words all = c->args;
    fsim_inputs *in = fsim_new(c->arena, fsim_inputs, all.count);
    int status = FSIM_EXIT_OK;
    for (int i = 0; i < all.count && !status; i++) {
        c->args = (fsim_words){.at = all.at + i, .count = 1};
        status = fsim_read_inputs(c, &in[i]);
    }
    if (status || (status = fsim_open_outputs(c)))
        return status;
    fsim_output *rows = c->set.measured ? fsim_open_file(c, "--measured", c->set.measured) : NULL;
    if (c->set.measured && !rows)
        return fsim_give_up_outputs(c, FSIM_EXIT_NO_INPUT);
    fsim_fault fault = {0}, noise = {0};
    fsim_runner *r = open_runner(c, &fault);
    const fsim_hw *hw = !r ? NULL : c->set.no_measure ? in[0].hw[0] : fsim_runner_hw(r, in[0].hw[0], &fault);
    fsim_trial *trial = fsim_new(c->arena, fsim_trial, all.count);
    fsim_trials x = {.at = trial,
                     .gates = c->set.gates.count,
                     .verbose = c->set.verbose,
                     .measured = !c->set.no_measure,
                     .facts = ""};
    while (x.count < all.count && hw && fault.status == FSIM_OK) {
        const double until_s =
            c->set.budget_s > 0 ? start_s + (x.count + 1) * c->set.budget_s : 0; /* what one leaves, the next has */
        try_workload(c, r, &in[x.count], hw, &o, until_s, &trial[x.count], &fault);
        x.count++;
        if (fault.status == FSIM_INCONCLUSIVE) {
            noise = fault;
            fault = (fsim_fault){0};
        }
    }
    if (fault.status &&
        !(r && fsim_runner_gpu(r) && x.count > 0)) { /* of a GPU, what was measured before it was lost is shown */
        fsim_error(c->diag, fsim_command_line, "%s", fault.message);
        if (rows)
            fsim_discard(rows);
        return finish(c, r, fsim_give_up_outputs(c, fsim_exit_status(fault.status)));
    }
    x.device = r->name;
    x.name = r->device;
    x.facts = facts_of(c, r);
    x.no_counters = fsim_runner_gpu(r) ? fsim_runner_gpu(r)->no_counters : NULL;
    x.gate = o.gate;
    const int gates = try_trial_gates(&x, o.gate, c->arena);
    const char *why = "";
    if (rows) {
        put_rows(fsim_stream(rows), c, &x);
        if (!fsim_commit(rows, &why))
            fsim_error(c->diag, fsim_command_line, "cannot write '%s': %s", c->set.measured, why);
    }
    status = fsim_deliver(c, &x);
    return finish(c, r, status ? status : verdict(c, &x, gates, &fault, &noise));
}

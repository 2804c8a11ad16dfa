/* SPDX-License-Identifier: Apache-2.0 */
/* validate --device: generates, runs and measures plans, and compares with the predictions. */
#include "command/command.h"
#include "graph/scale.h"
#include "import/load.h"
#include "report/trial.h"
#include "validate/device/backends.h"
#include "validate/trial/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Options that can be read before any file is. */
typedef struct {
    fsim_strategy strategy[FSIM_STRATEGY_COUNT];
    int strategies;
    fsim_gate *gate;
} trial_options;

void fsim_read_strategies(fsim_context *c, fsim_strategy *at, int *count)
{
    const fsim_words *names = &c->set.strategies;
    for (int s = 0; s < FSIM_STRATEGY_COUNT && names->count == 0; s++)
        if (fsim_strategies[s].measured && s != FSIM_STRATEGY_OPTIMAL)
            at[(*count)++] = (fsim_strategy)s;
    if (names->count == 0)
        at[(*count)++] = FSIM_STRATEGY_OPTIMAL; /* last, because it is compared with the others */
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

static bool check_trial(fsim_context *c, const fsim_backend *device, trial_options *o)
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
    if (c->set.l2 == 1 && !device->measures_warm)
        fsim_error(c->diag, fsim_command_line, "validate: --device %s measures plans with cold caches, not --l2 warm",
                   device->name);
    if (c->set.hw.count != 1 && !(c->set.hw.count == 0 && device->own_hw))
        fsim_error(c->diag, fsim_command_line, "validate --device wants one --hw: the hardware file of that device");
    if (c->set.plan && c->set.strategies.count)
        fsim_error(c->diag, fsim_command_line, "validate: --plan is the one plan that runs, without --strategies");
    if (c->set.plan && c->set.measured)
        fsim_error(c->diag, fsim_command_line, "validate: rows of --measured have no place for a plan of --plan");
    if (c->set.plan && c->args.count > 1)
        fsim_error(c->diag, fsim_command_line, "validate: --plan is a plan of one workload");
    if (c->set.plan)
        o->strategy[o->strategies++] = FSIM_STRATEGY_FILE;
    else
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

static fsim_device *open_device(fsim_context *c, fsim_fault *fault)
{
    const fsim_settings *s = &c->set;
    const fsim_device_options options = {.threads = (int)s->threads,
                                         .jobs = (int)s->jobs,
                                         .samples = (int)s->samples,
                                         .timeout_s = s->budget_s > 0 ? fmin(30, fmax(5, s->budget_s)) : 0,
                                         .no_counters = s->no_counters};
    return fsim_device_open((fsim_device_kind)s->device, &options, c->arena, fault);
}

static const char *no_counters(const fsim_device *d)
{
    return d->backend->no_counters ? d->backend->no_counters(d) : NULL;
}

/* The workload's tree, which checks on shorter shapes read again. */
static fsim_tree document(fsim_context *c, const fsim_graph *g)
{
    if (fsim_is_stdout(g->path))
        return (fsim_tree){0};
    const fsim_workload_wanted how = fsim_wanted_workload(c);
    return fsim_tree_load(c->arena, fsim_diag_new(c->arena), g->path, &how);
}

/* The path below the last folder called by the workload's name, without .yaml. Rows are read with copies of the
 * workloads in other places too, so they must not depend on where this one is. */
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

/* Do the measured times belong to the plan and its kernels? They do not where results are wrong or other kernels ran
 * than the plan has. */
static bool is_plan_sound(const fsim_trial_plan *y) { return y->wrong == 0 && !y->differs && !y->unlike; }

static bool is_kernel_sound(const fsim_trial *t, const fsim_trial_plan *y, int k)
{
    bool told = false; /* shorter shapes may have other kernels, and then the kernel of a difference is not known */
    for (int i = 0; i < y->plan.kernels; i++)
        told = told || y->check[i].message;
    return !y->differs && !y->check[k].message && (y->wrong == 0 || told) && !(y->ran[k].stand_in && t->has_library);
}

/* A growing list of rows of measurements. */
typedef struct {
    fsim_arena *a;
    fsim_measured *row;
    int count, room;
    const char *source; /* the program that measured, and the machine */
} row_list;

static void add_row(row_list *l, const fsim_measured *row) { *FSIM_PUSH(l->a, l->row, l->count, l->room) = *row; }

/* Adds rows for a whole plan: as single launches, and as a graph. */
static void add_plan_rows(row_list *l, const fsim_trial *t, const fsim_trial_plan *y, const fsim_measured *common)
{
    fsim_measured row = *common;
    int stand_ins = 0;
    for (int k = 0; k < y->plan.kernels; k++)
        stand_ins += y->ran[k].stand_in != NULL;
    if (stand_ins)
        row.source = fsim_printf(l->a, "%s, %d of the library's products by our own kernels", l->source, stand_ins);
    for (int graph = 0; graph < 2; graph++) {
        const fsim_times *m = graph ? &y->measured.graph : &y->measured.stream;
        if (m->samples == 0 || !is_plan_sound(y))
            continue;
        row.id = fsim_printf(l->a, "%s/%s%s", common->id, graph ? "graph" : "stream", t->warm ? "/warm" : "");
        row.launch = graph ? FSIM_REGIME_GRAPH : FSIM_REGIME_STREAM;
        row.time_s = m->median_s;
        add_row(l, &row);
    }
}

/* The operators of a kernel as in the column `kernel`: "a+b". */
static const char *kernel_text(const fsim_graph *g, const fsim_group *o, fsim_arena *a)
{
    const char *names = "";
    for (int n = 0; n < o->members; n++)
        if (!o->member[n].clone)
            names = fsim_printf(a, "%s%s%s", names, *names ? "+" : "", g->node[o->member[n].node].name);
    return names;
}

/* Adds rows for kernel k alone: cold, and warm. */
static void add_kernel_rows(row_list *l, const fsim_trial *t, const fsim_trial_plan *y, int k,
                            const fsim_measured *common)
{
    const fsim_measured_kernel *m = &y->measured.kernel[k];
    fsim_measured row = *common;
    if (!is_kernel_sound(t, y, k))
        return;
    row.kernel = kernel_text(t->graph, y->plan.kernel[k].group, l->a);
    row.launch = FSIM_REGIME_KERNEL;
    if (y->ran[k].library)
        row.source = fsim_printf(l->a, "%s, by %s", l->source, y->ran[k].library);
    if (y->ran[k].stand_in)
        row.source = fsim_printf(l->a, "%s, by our own kernel in the library's place", l->source);
    for (int warm = 0; warm < 2; warm++) {
        const fsim_times *s = warm ? &m->warm : &m->cold;
        if (s->samples == 0)
            continue;
        row.id = fsim_printf(l->a, "%s/%s/%s", common->id, y->program[k].name, warm ? "warm" : "cold");
        row.l2 = warm ? FSIM_L2_WARM : FSIM_L2_COLD;
        row.time_s = s->median_s;
        row.dram_read_bytes = warm ? NAN : m->dram_read_bytes;
        row.dram_write_bytes = warm ? NAN : m->dram_write_bytes;
        add_row(l, &row);
    }
}

/* What of a training the plans of g are. */
static fsim_measured_part mode_of(const fsim_graph *g)
{
    bool updates = false;
    for (int n = 0; n < g->nodes; n++)
        updates = updates || g->node[n].phase == FSIM_OPTIMIZER;
    return g->derived != FSIM_REVERSE ? FSIM_MODE_NONE : updates ? FSIM_MODE_STEP : FSIM_MODE_FULL;
}

/* Writes a row of measurements for each plan and regime, and for each kernel. */
static void put_rows(FILE *out, fsim_context *c, const fsim_trials *x)
{
    row_list l = {.a = c->arena,
                  .source = fsim_printf(c->arena, "fusesim validate --device %s, %s", x->device, x->name)};
    for (int i = 0; i < x->count; i++) {
        const fsim_trial *t = &x->at[i];
        const char *workload = workload_of(c->arena, t->graph->path);
        for (int p = 0; p < t->plans; p++) {
            const fsim_trial_plan *y = &t->plan[p];
            const fsim_measured common = {.id = fsim_printf(c->arena, "%s%s%s/%s", workload, *t->set ? "/" : "", t->set,
                                                            fsim_strategy_names[y->strategy]),
                                          .hw = t->hw->name,
                                          .workload = workload,
                                          .set = t->set,
                                          .source = l.source,
                                          .strategy = y->strategy,
                                          .l2 = t->warm ? FSIM_L2_WARM : FSIM_L2_COLD,
                                          .mode = mode_of(t->graph),
                                          .dram_read_bytes = NAN,
                                          .dram_write_bytes = NAN};
            add_plan_rows(&l, t, y, &common);
            for (int k = 0; k < y->plan.kernels; k++)
                add_kernel_rows(&l, t, y, k, &common);
        }
    }
    fsim_rows_write(out, l.row, l.count);
}

/* Did other processes use the CPUs nearly all the time? Samples are then repeated, and at last measured in CPU time,
 * which is robust. */
static bool is_disturbed(const fsim_trials *x)
{
    static const double most = 0.9;
    bool disturbed = false;
    for (int i = 0; i < x->count; i++)
        disturbed = disturbed || x->at[i].disturbed > most;
    return disturbed;
}

/* Evaluates all gates. A gate that fails by less than the repetition error is no verdict. */
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

/* Does this fault end the whole run, so that no other workload can run? */
static bool is_end(const fsim_device *d, const fsim_fault *fault)
{
    return fault->status != FSIM_OK && fault->status != FSIM_INCONCLUSIVE &&
           (!d->backend->goes_on || d->backend->lost(d));
}

/* The subject of a trial. */
typedef struct {
    const fsim_inputs *in;
    const fsim_hw *hw; /* the GPU to predict for */
    const trial_options *o;
    double until_s; /* when measuring must end, by fsim_now_s; 0: no limit */
} subject;

/* Tries one workload, from its file to its measurements; failures are recorded in t. *fault: nothing more can be
 * run, or noise. */
static void try_workload(fsim_context *c, fsim_device *d, const subject *s, fsim_trial *t, fsim_fault *fault)
{
    const double budget_s = c->set.budget_s,
                 interpret_s = budget_s > 0 ? fmin(0.6, budget_s / 16) : 0.6; /* for each plan */
    const fsim_trial_how how = {.budget_s = budget_s,
                                .until_s = s->until_s,
                                .samples = (int)c->set.samples,
                                .kernels = true,
                                .warm = s->in->how.warm};
    const fsim_tree tree = c->set.plan ? (fsim_tree){0} : document(c, s->in->graph); /* the plan has these shapes */
    const fsim_trial_source source = {tree.yaml, tree.set, interpret_s};
    *t = fsim_trial_of(s->in->graph, s->hw, &s->in->how, s->o->strategy, s->o->strategies, c->arena);
    t->set = fsim_set_text(c);
    if (!c->set.no_check && !fsim_trial_check(t, d, &source, fault)) {
        t->unchecked = fault->message;
        if (is_end(d, fault))
            return;
        *fault = (fsim_fault){0};
    }
    if (c->set.no_measure)
        return;
    (void)!fsim_trial_measure(t, d, &how, fault);
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

/* Was the only thing asked for a comparison with the reference, and nothing compared? */
static bool compared_nothing(const fsim_trials *x)
{
    bool asked = false, compared = false;
    for (int i = 0; i < x->count; i++) {
        asked = asked || x->at[i].scale >= 0;
        for (int p = 0; p < x->at[i].plans; p++)
            compared = compared || x->at[i].plan[p].checked > 0;
    }
    return !x->measured && asked && !compared;
}

/* The exit status of the run, after everything was written. */
static int verdict(fsim_context *c, const fsim_trials *x, int gates, const fsim_fault *end, const fsim_fault *noise)
{
    const char *failure = NULL;
    for (int i = 0; i < x->count && !failure; i++)
        failure = fsim_trial_failure(&x->at[i]);
    if (is_wrong(x)) {
        fsim_error(c->diag, fsim_command_line, "kernels compute wrong results");
        return fsim_conclude(c, FSIM_EXIT_GATE);
    }
    if (end->status || failure) {
        fsim_error(c->diag, fsim_command_line, "%s", end->status ? end->message : failure);
        return fsim_conclude(c, end->status ? fsim_exit_status(end->status) : FSIM_EXIT_UNAVAILABLE);
    }
    if (compared_nothing(x) && !gates) {
        fsim_error(c->diag, fsim_command_line, "nothing was compared with the reference");
        return fsim_conclude(c, FSIM_EXIT_UNAVAILABLE);
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
        fputs("fusesim: warning: other processes had the CPUs during most samples: times are not reliable\n", stderr);
    if (gates == FSIM_EXIT_INCONCLUSIVE)
        fsim_error(c->diag, fsim_command_line,
                   "a gate fails by less than repetitions scatter, or on a machine that is busy with other things: no "
                   "verdict");
    if (gates == FSIM_EXIT_GATE)
        fsim_say_failed_gates(c, "", x->gate, x->gates);
    return fsim_conclude(c, gates ? gates : fsim_exit_status(noise->status));
}

bool fsim_goes_on(fsim_context *c, const fsim_backend *b, int *status)
{
    fsim_guarded child;
    if (!b->guard || b->guard(c->arena, &child))
        return true;
    *status = child.status;
    if (child.fault.status) {
        fsim_error(c->diag, fsim_command_line, "%s", child.fault.message);
        *status = fsim_conclude(c, fsim_exit_status(child.fault.status));
    }
    return false;
}

int fsim_finish_device(fsim_context *c, fsim_device *d, int status)
{
    const bool lost = d && d->backend->lost(d);
    if (d)
        d->backend->close(d);
    if (!lost)
        return status;
    status = fsim_finish_stdout(c, status);
    fflush(stderr);
    _exit(status);
}

/* A run: its options and its results. */
typedef struct {
    trial_options o;
    fsim_words all; /* workloads */
    fsim_inputs *in;
    fsim_trial *trial;
    fsim_trials x;
    fsim_fault fault, noise;
    double start_s;
} session;

static int read_all_inputs(fsim_context *c, session *s)
{
    int status = FSIM_EXIT_OK;
    s->all = c->args;
    s->in = fsim_new(c->arena, fsim_inputs, s->all.count);
    for (int i = 0; i < s->all.count && !status; i++) {
        c->args = (fsim_words){.at = s->all.at + i, .count = 1};
        status = fsim_read_inputs(c, &s->in[i]);
    }
    return status;
}

/* Tries one workload after the other. Time that one does not use is left to the next. */
static void try_all(fsim_context *c, fsim_device *d, session *s)
{
    const fsim_hw *hw = s->in[0].hw[0];
    if (!c->set.no_measure && d->backend->recalibrated)
        hw = d->backend->recalibrated(d, hw, &s->fault);
    while (s->x.count < s->all.count && hw && s->fault.status == FSIM_OK) {
        const double until_s = c->set.budget_s > 0 ? s->start_s + (s->x.count + 1) * c->set.budget_s : 0;
        const subject one = {&s->in[s->x.count], hw, &s->o, until_s};
        try_workload(c, d, &one, &s->trial[s->x.count], &s->fault);
        s->x.count++;
        if (s->fault.status == FSIM_INCONCLUSIVE) {
            s->noise = s->fault;
            s->fault = (fsim_fault){0};
        }
    }
}

/* Writes results to the report and to --measured, and returns the exit status. */
static int deliver_trials(fsim_context *c, fsim_device *d, session *s)
{
    s->x.device = d->backend->name;
    s->x.name = d->name;
    s->x.facts = d->backend->facts(d, c->arena);
    s->x.counts = d->backend->no_counters != NULL;
    s->x.no_counters = no_counters(d);
    s->x.gate = s->o.gate;
    const int gates = try_trial_gates(&s->x, s->o.gate, c->arena);
    if (c->own)
        put_rows(fsim_stream(c->own), c, &s->x);
    (void)fsim_commit_own(c, c->set.measured);
    const int status = fsim_deliver(c, &s->x);
    return fsim_finish_device(c, d, status ? status : verdict(c, &s->x, gates, &s->fault, &s->noise));
}

int fsim_run_trials(fsim_context *c)
{
    const fsim_backend *device = fsim_backend_of((fsim_device_kind)c->set.device);
    session s = {.start_s = fsim_now_s()};
    c->kind = FSIM_RESULT_TRIALS;
    if (!check_trial(c, device, &s.o))
        return fsim_usage_status(c);
    if (c->set.hw.count == 0) {
        c->set.hw.at = fsim_new(c->arena, const char *, 1);
        c->set.hw.at[c->set.hw.count++] = device->own_hw;
    }
    int status;
    if (!fsim_goes_on(c, device, &status) || (status = read_all_inputs(c, &s)) ||
        (status = fsim_open_outputs_and(c, "--measured", c->set.measured)))
        return status;
    s.trial = fsim_new(c->arena, fsim_trial, s.all.count);
    s.x = (fsim_trials){.at = s.trial,
                        .gates = c->set.gates.count,
                        .verbose = c->set.verbose,
                        .measured = !c->set.no_measure,
                        .facts = ""};
    fsim_device *d = open_device(c, &s.fault);
    if (d)
        try_all(c, d, &s);
    const bool shown =
        d && d->backend->goes_on && s.x.count > 0; /* report what was measured before the device was lost */
    if (!s.fault.status || shown)
        return deliver_trials(c, d, &s);
    fsim_error(c->diag, fsim_command_line, "%s", s.fault.message);
    return fsim_finish_device(c, d, fsim_give_up_outputs(c, fsim_exit_status(s.fault.status)));
}

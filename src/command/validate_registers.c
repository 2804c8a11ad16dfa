/* SPDX-License-Identifier: Apache-2.0 */
/* validate --registers: predicted registers, shared memory and occupancy compared with compiled kernels. */
#include "command/command.h"
#include "report/compiled.h"

#include <stdlib.h>
#include <string.h>

/* Options that can be read before any file is. */
typedef struct {
    fsim_strategy strategy[FSIM_STRATEGY_COUNT];
    int strategies;
    fsim_gate *gate;
    int *sm, archs; /* the architectures of --arch; archs 0: those of the GPUs */
    bool every;     /* --arch all */
} register_options;

static void check_gate_groups(fsim_context *c, const fsim_gate *gate)
{
    for (int i = 0; i < c->set.gates.count; i++)
        if (gate[i].group && fsim_register_gate_template(gate[i].group) == FSIM_TEMPLATE_COUNT)
            fsim_error(c->diag, fsim_command_line, "--gate '%s': no template '%s'%s", gate[i].text, gate[i].group,
                       fsim_did_you_mean(c->arena, gate[i].group, fsim_template_names, FSIM_TEMPLATE_COUNT));
}

/* Parses "80", "sm_80" or "all". */
static void read_architectures(fsim_context *c, register_options *o)
{
    const fsim_words *names = &c->set.archs;
    o->sm = fsim_new(c->arena, int, names->count + 1);
    for (int i = 0; i < names->count; i++) {
        const char *text = strncmp(names->at[i], "sm_", 3) == 0 ? names->at[i] + 3 : names->at[i];
        const int sm = fsim_sm_of_name(fsim_printf(c->arena, "sm_%s", text));
        bool twice = false;
        if (strcmp(text, "all") == 0) {
            o->every = true;
            continue;
        }
        if (sm == 0) {
            fsim_error(c->diag, fsim_command_line,
                       "--arch: no architecture '%s'; wanted numbers such as 80,90,100, or all", names->at[i]);
            continue;
        }
        for (int k = 0; k < o->archs; k++)
            twice = twice || o->sm[k] == sm;
        if (!twice)
            o->sm[o->archs++] = sm;
    }
}

static bool check_registers(fsim_context *c, register_options *o)
{
    if (c->set.measurements.count || c->set.device != FSIM_DEVICE_NONE)
        fsim_error(c->diag, fsim_command_line, "validate: --registers and %s are two ways to validate; wanted one",
                   c->set.measurements.count ? "--measurements" : "--device");
    if (c->args.count == 0)
        fsim_error(c->diag, fsim_command_line, "validate --registers wants a workload");
    if (c->set.hw.count == 0)
        fsim_error(c->diag, fsim_command_line,
                   "validate --registers wants a GPU: say --hw NAME ('fusesim hw list' shows them)");
    fsim_read_strategies(c, o->strategy, &o->strategies);
    read_architectures(c, o);
    o->gate = fsim_read_gates(c, &fsim_register_gates);
    check_gate_groups(c, o->gate);
    return fsim_errors(c->diag) == 0;
}

static bool contains(const int *at, int count, int x)
{
    for (int i = 0; i < count; i++)
        if (at[i] == x)
            return true;
    return false;
}

static int ascending(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* --arch all: all rows of the table that kernels are generated for, as far as the compiler supports them. */
static void resolve_architectures(fsim_context *c, const fsim_kernel_compiler *compiler, register_options *o)
{
    if (!o->every)
        return;
    int *all = fsim_new(c->arena, int, compiler->archs + 1);
    o->archs = 0;
    for (int i = 0; i < compiler->archs; i++) {
        const fsim_architecture *known = fsim_architecture_of_sm(compiler->sm[i]);
        if (known->sm == compiler->sm[i] && known->generated)
            all[o->archs++] = compiler->sm[i];
    }
    o->sm = all;
}

/* The architectures that the rows are for. */
static int architectures_of(const fsim_register_rows *x, fsim_arena *a, int **out)
{
    int count = 0, *sm = fsim_new(a, int, x->rows + 1);
    for (int i = 0; i < x->rows; i++)
        if (!contains(sm, count, x->row[i].sm))
            sm[count++] = x->row[i].sm;
    qsort(sm, (size_t)count, sizeof *sm, ascending);
    *out = sm;
    return count;
}

/* Adds the kernels of one workload's plans on all GPUs as rows to compile. */
static void add_workload(fsim_context *c, const fsim_inputs *in, const register_options *o, fsim_register_rows *rows)
{
    for (int h = 0; h < c->set.hw.count; h++) {
        fsim_trial t = fsim_trial_of(in->graph, in->hw[h], &in->how, o->strategy, o->strategies, c->arena);
        t.set = fsim_set_text(c);
        for (int i = 0; i < o->archs; i++)
            fsim_register_rows_add(rows, &t, o->sm[i]);
        if (o->archs == 0)
            fsim_register_rows_add(rows, &t, in->hw[h]->sm);
    }
}

static int give_up(fsim_context *c, const fsim_fault *fault, int status)
{
    fsim_error(c->diag, fsim_command_line, "%s", fault->message);
    return fsim_give_up_outputs(c, status);
}

int fsim_run_registers(fsim_context *c)
{
    register_options o = {.strategies = 0};
    c->kind = FSIM_RESULT_REGISTERS;
    if (!check_registers(c, &o))
        return fsim_usage_status(c);
    const fsim_words all = c->args;
    fsim_inputs *in = fsim_new(c->arena, fsim_inputs, all.count);
    int status = FSIM_EXIT_OK;
    for (int i = 0; i < all.count && !status; i++) {
        c->args = (fsim_words){.at = all.at + i, .count = 1};
        status = fsim_read_inputs(c, &in[i]);
    }
    for (int h = 0; h < c->set.hw.count && !status; h++)
        if (in[0].hw[h]->sm == 0 && o.archs == 0 && !o.every) {
            fsim_error(c->diag, fsim_command_line,
                       "--registers: %s is no architecture that NVRTC compiles for; say --arch",
                       in[0].hw[h]->architecture);
            status = fsim_usage_status(c);
        }
    if (status || (status = fsim_open_outputs(c)))
        return status;
    fsim_fault fault = {0};
    fsim_kernel_compiler compiler;
    if (!fsim_kernel_compiler_open(c->arena, &compiler, &fault))
        return give_up(c, &fault, FSIM_EXIT_SKIPPED);
    resolve_architectures(c, &compiler, &o);
    fsim_register_rows *rows = fsim_register_rows_new(c->arena);
    for (int i = 0; i < all.count; i++)
        add_workload(c, &in[i], &o, rows);
    if (!fsim_register_rows_compile(rows, &compiler, fsim_jobs_of(c->set.jobs), &fault))
        return give_up(c, &fault, fsim_exit_status(fault.status));
    int *sm;
    const int archs = architectures_of(rows, c->arena, &sm);
    fsim_register_report x = {.rows = rows,
                              .compiler = compiler.name,
                              .sm = sm,
                              .archs = archs,
                              .workloads = all.count,
                              .gates = c->set.gates.count,
                              .verbose = c->set.verbose};
    for (int i = 0; i < x.gates; i++)
        fsim_register_gate_try(&o.gate[i], rows, c->arena);
    x.gate = o.gate;
    status = fsim_deliver(c, &x);
    if (status || !fsim_gates_failed(x.gate, x.gates))
        return status;
    fsim_say_failed_gates(c, "", x.gate, x.gates);
    return fsim_conclude(c, FSIM_EXIT_GATE);
}

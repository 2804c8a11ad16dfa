/* SPDX-License-Identifier: Apache-2.0 */
/* import: rows of measurements from files of other profilers. */
#include "command/command.h"
#include "evidence/profile_rows.h"
#include "graph/find.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/rivals/rivals.h"

#include <string.h>

/* The state of an import. */
typedef struct {
    fsim_inputs in;
    fsim_import_as as;
    fsim_import found;
} imported;

/* The name of the workload in rows: the path without .yaml; for standard input, the workload's own name. */
static const char *row_workload(const fsim_context *c, const fsim_graph *g)
{
    return !c->args.count ? "" : fsim_is_stdout(c->args.at[0]) ? g->name : fsim_workload_stem(c->arena, c->args.at[0]);
}

static const char *row_set(const fsim_context *c)
{
    const char *text = "";
    for (int i = 0; i < c->set.set.count; i++)
        text = fsim_printf(c->arena, "%s%s%s", text, i ? ";" : "", c->set.set.at[i]);
    return text;
}

/* Loads the workload and the GPU if they are given. Without a workload, the GPU is only a name in the rows. */
static int read_import_inputs(fsim_context *c, imported *x)
{
    int status = FSIM_EXIT_OK;
    if (c->args.count)
        status = fsim_read_inputs(c, &x->in);
    else if (c->set.hw.count) {
        x->in.hw = fsim_new(c->arena, fsim_hw *, 1);
        x->in.hw[0] = fsim_read_hw(c, c->set.hw.at[0]);
        status = fsim_conclude(c, FSIM_EXIT_OK);
    }
    if (!status)
        x->as = (fsim_import_as){c->set.hw.count ? x->in.hw[0]->name : "", row_workload(c, x->in.graph), row_set(c),
                                 (fsim_strategy)c->set.strategy};
    return status;
}

static fsim_plan *plan_to_match(fsim_context *c, imported *x, bool warm)
{
    if (!x->in.graph)
        return NULL;
    x->in.how.regime = FSIM_REGIME_KERNEL;
    x->in.how.warm = warm;
    fsim_problem p = fsim_problem_of(x->in.graph, x->in.hw[0], &x->in.how, c->arena);
    fsim_plan *plan = fsim_new(c->arena, fsim_plan, 1), own;
    fsim_proof proof;
    if (x->as.strategy == FSIM_STRATEGY_OPTIMAL)
        fsim_optimal(&p, NULL, 0, c->arena, &own, &proof);
    else
        fsim_baseline(&p, x->as.strategy, c->arena, &own);
    *plan = fsim_plan_launched_by(&p, fsim_maker_of(x->as.strategy), &own, c->arena);
    return plan;
}

/* Warns where a trace is of another GPU than --hw. */
static void check_device(fsim_context *c, const imported *x, const char *device)
{
    const char *name = x->as.hw;
    const size_t first = strcspn(name, "-");
    const size_t second = name[first] ? first + 1 + strcspn(name + first + 1, "-") : first;
    const char *model = fsim_strndup(c->arena, name, first),
               *next = first < second ? fsim_strndup(c->arena, name + first + 1, second - first - 1) : "";
    const char *number = strpbrk(model, "0123456789") ? model : strpbrk(next, "0123456789") ? next : NULL;
    if (device && number && !strcasestr(device, number))
        fsim_warning(c->diag, fsim_command_line, "the trace is of '%s', --hw is '%s'", device, name);
}

/* Writes the rows to -o and the report to stdout, or to stderr where the rows go to stdout. */
static int deliver_import(fsim_context *c, const imported *x)
{
    if (fsim_is_stdout(c->set.output)) {
        const int status = fsim_show_in_files(c, &x->found) && fsim_commit_files(c)
                               ? FSIM_EXIT_OK
                               : fsim_give_up_outputs(c, FSIM_EXIT_OK);
        if (status)
            return status;
        fsim_rows_write(stdout, x->found.row, x->found.rows);
        (void)fsim_show_on(c, stderr, FSIM_AS_TEXT, &x->found);
        return fsim_conclude(c, FSIM_EXIT_OK);
    }
    if (c->own)
        fsim_rows_write(fsim_stream(c->own), x->found.row, x->found.rows);
    return fsim_commit_own(c, c->set.output) ? fsim_deliver(c, &x->found) : fsim_give_up_outputs(c, FSIM_EXIT_OK);
}

static int run_profile(fsim_context *c, imported *x, const fsim_mapped *file)
{
    fsim_profile profile;
    if (!fsim_profile_read(c->arena, c->diag, c->set.measurements.at[0], file->text, file->bytes, &profile))
        return fsim_conclude(c, FSIM_EXIT_BAD_INPUT);
    const int status = fsim_open_outputs_and(c, "-o", c->set.output);
    if (status)
        return status;
    check_device(c, x, profile.device_name);
    const fsim_plan *plan = plan_to_match(c, x, !profile.format->empties_caches);
    x->found = fsim_import_of(&profile, plan ? x->in.graph : NULL, plan, &x->as, c->arena);
    if (plan && x->found.rows == 0)
        fsim_warning(c->diag, fsim_command_line, "no kernel of '%s' was matched to one of '%s': no rows",
                     c->set.measurements.at[0], x->as.workload);
    return deliver_import(c, x);
}

int fsim_run_import(fsim_context *c)
{
    if (c->set.measurements.count == 0 && c->args.count > 0)
        return fsim_run_import_model(c);
    if (c->set.check)
        fsim_error(c->diag, fsim_command_line, "--check is of a model: fusesim import MODEL --check");
    imported x = {0};
    const char *why = "", *path = c->set.measurements.count ? c->set.measurements.at[0] : NULL;
    if (c->set.measurements.count == 0)
        fsim_error(c->diag, fsim_command_line,
                   "import wants a model (MODEL.onnx, MODEL.pt2), or --measurements FILE, %s",
                   fsim_profile_kinds(c->arena));
    else if (c->set.measurements.count > 1)
        fsim_error(c->diag, fsim_command_line, "import reads one profile at a time, --measurements names %d",
                   c->set.measurements.count);
    else if (c->args.count && c->set.hw.count == 0)
        fsim_error(c->diag, fsim_command_line,
                   "no GPU: say --hw NAME, the one that was measured ('fusesim hw list' shows them)");
    else if (fsim_is_stdout(path) && c->args.count && fsim_is_stdout(c->args.at[0]))
        fsim_error(c->diag, fsim_command_line, "the workload and --measurements can't both be standard input");
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    int status = read_import_inputs(c, &x);
    if (status)
        return status;
    fsim_mapped *file = fsim_map_file(c->arena, path, &why);
    if (!file) {
        fsim_failure(c->diag, FSIM_NO_INPUT, fsim_command_line, "cannot read measurements '%s': %s", path, why);
        return fsim_conclude(c, FSIM_EXIT_OK);
    }
    fsim_diag_source(c->diag, path, file->text, file->bytes);
    status = run_profile(c, &x, file);
    fsim_unmap(file);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate: scalars of a GPU fitted to measurements. */
#include "command/command.h"
#include "evidence/host_figures.h"
#include "hw/relatives.h"
#include "report/calibration.h"

#include <string.h>

static void check_calibration(fsim_context *c)
{
    const char **names = fsim_new(c->arena, const char *, fsim_fit_group_count), *device = fsim_device_kinds(c->arena);
    for (int i = 0; i < fsim_fit_group_count; i++)
        names[i] = fsim_fit_groups[i].name;
    if (c->args.count)
        fsim_error(c->diag, fsim_command_line,
                   "calibrate takes no workload; wanted --measurements FILE.csv or --device %s", device);
    if (c->set.measurements.count == 0)
        fsim_error(c->diag, fsim_command_line, "calibrate wants --measurements FILE.csv or --device %s", device);
    if (c->set.hw.count != 1)
        fsim_error(c->diag, fsim_command_line, "calibrate wants the one GPU to fit: --hw NAME");
    if (c->set.folds == 1 || c->set.folds > FSIM_MOST_FOLDS)
        fsim_error(c->diag, fsim_command_line, "--folds: wanted 2 to %d", FSIM_MOST_FOLDS);
    for (int i = 0; i < c->set.fit.count; i++)
        if (!fsim_among(c->set.fit.at[i], names, fsim_fit_group_count))
            fsim_error(c->diag, fsim_command_line, "--fit: no group '%s'%s", c->set.fit.at[i],
                       fsim_did_you_mean(c->arena, c->set.fit.at[i], names, fsim_fit_group_count));
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The command line in a form that others can repeat: names instead of paths. */
static const char *calibration_command(const fsim_context *c, const char *date)
{
    const char *line = fsim_printf(c->arena, "fusesim calibrate --hw %s", base_of(c->set.hw.at[0]));
    for (int i = 0; i < c->set.measurements.count; i++)
        line = fsim_printf(c->arena, "%s --measurements %s", line, base_of(c->set.measurements.at[i]));
    line = c->set.fresh ? fsim_printf(c->arena, "%s --fresh", line) : line;
    for (int i = 0; i < c->set.fit.count; i++)
        line = fsim_printf(c->arena, "%s%s%s", line, i ? "," : " --fit ", c->set.fit.at[i]);
    return fsim_printf(c->arena, "%s (%s)", line, date);
}

/* NULL after an error. */
static const char *calibrated_text(fsim_context *c, const fsim_hw *hw, const fsim_fit *fit, int fits)
{
    const char *why = "", *date = fsim_today(c);
    size_t bytes = 0;
    const char *text = fsim_read_file(c->arena, hw->path, &bytes, &why);
    if (!text)
        fsim_failure(c->diag, FSIM_NO_INPUT, fsim_command_line, "cannot read hardware file '%s': %s", hw->path, why);
    if (!text)
        return NULL;
    const fsim_calibration_note note = {.date = date, .command = calibration_command(c, date)};
    return fsim_calibrated_text(c->arena, text, hw, fit, fits, &note);
}

static int deliver_calibration(fsim_context *c, const fsim_calibration *x)
{
    const char *text = c->set.output ? calibrated_text(c, x->hw, x->fit, x->fits) : "";
    return text ? fsim_deliver_hw(c, text, x) : fsim_give_up_outputs(c, FSIM_EXIT_OK);
}

/* Reads the GPU to fit, the same GPU without its measurements, and the rows. */
static int prepare_calibrate(fsim_context *c, fsim_hw **hw, fsim_hw *unmeasured, fsim_measurements *rows,
                             fsim_bench **bench)
{
    int status;
    check_calibration(c);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const fsim_hw_wanted how = fsim_wanted_hw(c);
    fsim_hw_wanted without = how;
    without.unseen = true;
    *hw = fsim_hw_open(c->arena, c->diag, c->set.hw.at[0], &how.folders);
    if (*hw) {
        *unmeasured = **hw;
        if (fsim_hw_complete(c->arena, c->diag, unmeasured, &without)) /* otherwise both would report the same errors */
            fsim_hw_complete(c->arena, c->diag, *hw, &how);
    }
    if ((status = fsim_conclude(c, FSIM_EXIT_OK)))
        return status;
    const fsim_gpus only = {hw, 1, c->set.fit.count == 0 || fsim_among("residuals", c->set.fit.at, c->set.fit.count)};
    status = fsim_read_measurements(c, &only, rows);
    return status ? status : fsim_read_bench(c, &only, rows, bench);
}

static int calibrate_to_rows(fsim_context *c)
{
    enum { FOLDS = 5 };
    fsim_hw *hw, unmeasured;
    fsim_measurements rows;
    fsim_bench *bench;
    const int status = prepare_calibrate(c, &hw, &unmeasured, &rows, &bench);
    if (status)
        return status;
    fsim_fit *fit = NULL;
    fsim_calibration x = {.hw = hw,
                          .folds = c->set.folds ? (int)c->set.folds : FOLDS,
                          .file = fsim_is_stdout(c->set.output) ? NULL : c->set.output};
    const fsim_fit_options how = {x.folds, fsim_jobs_of(c->set.jobs), c->set.fit.at, c->set.fit.count,
                                  c->set.fresh ? &unmeasured : NULL};
    x.fits = fsim_calibrate(bench, hw, &how, c->arena, c->diag, &fit);
    x.fit = fit;
    return x.fits < 0 ? fsim_give_up_outputs(c, FSIM_EXIT_OK) : deliver_calibration(c, &x);
}

/* What a machine's host takes, as tools/host.py measured it, into the file of its GPU. */
static int calibrate_to_host(fsim_context *c)
{
    size_t bytes = 0;
    fsim_fit fit;
    if (c->args.count || c->set.measurements.count || c->set.fit.count || c->set.fresh || c->set.folds)
        fsim_error(c->diag, fsim_command_line,
                   "calibrate --host takes no workload, --measurements, --fit, --fresh or --folds");
    if (c->set.hw.count != 1)
        fsim_error(c->diag, fsim_command_line, "calibrate --host wants the one GPU of the machine: --hw NAME");
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const int status = fsim_open_outputs_and(c, "-o", c->set.output);
    if (status)
        return status;
    const fsim_hw_wanted how = fsim_wanted_hw(c);
    fsim_hw *hw = fsim_hw_open(c->arena, c->diag, c->set.hw.at[0], &how.folders);
    const char *text = hw && fsim_hw_complete(c->arena, c->diag, hw, &how)
                           ? fsim_read_text(c, "host's figures", c->set.host, &bytes)
                           : NULL;
    if (!text)
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    const fsim_csv rows = fsim_csv_open(c->arena, c->diag, c->set.host, text, bytes);
    if (!fsim_read_host_figures(&rows, hw, &fit))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    const char *date = fsim_today(c), *old = c->set.output ? fsim_read_text(c, "hardware file", hw->path, &bytes) : "";
    if (!old)
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    const fsim_calibration_note note = {date, fsim_printf(c->arena, "fusesim calibrate --hw %s --host %s (%s)",
                                                          base_of(c->set.hw.at[0]), base_of(c->set.host), date)};
    const fsim_calibration x = {.hw = hw,
                                .fit = &fit,
                                .fits = 1,
                                .host = base_of(c->set.host),
                                .file = fsim_is_stdout(c->set.output) ? NULL : c->set.output};
    return fsim_deliver_hw(c, c->set.output ? fsim_host_figures_text(c->arena, old, &fit, &note) : "", &x);
}

int fsim_run_calibrate(fsim_context *c)
{
    if (c->set.host && c->set.device != FSIM_DEVICE_NONE) {
        fsim_error(c->diag, fsim_command_line, "--host reads what tools/host.py measured; it takes no --device");
        return fsim_usage_status(c);
    }
    if (c->set.host)
        return calibrate_to_host(c);

    return c->set.device == FSIM_DEVICE_NONE ? calibrate_to_rows(c) : fsim_run_calibrate_device(c);
}

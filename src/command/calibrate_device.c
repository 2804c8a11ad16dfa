/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate --device: this machine's CPU or GPU as a hardware file. */
#include "command/command.h"
#include "report/probes.h"
#include "validate/device/backends.h"

#include <string.h>
#include <unistd.h>

static void check(fsim_context *c, const fsim_backend *b)
{
    const fsim_settings *s = &c->set;
    const bool threads = s->threads && !b->calibrator->takes_threads;
    if (c->args.count || s->measurements.count || s->fit.count || s->fresh || s->folds || threads)
        fsim_error(
            c->diag, fsim_command_line,
            "calibrate --device %s measures this machine; it takes no workload, --measurements, --fit, --fresh%s",
            b->name, b->calibrator->takes_threads ? " or --folds" : ", --folds or --threads");
    if (s->hw.count > 1)
        fsim_error(c->diag, fsim_command_line, "calibrate --device %s takes one --hw, the file to change", b->name);
    if (s->threads > 1024)
        fsim_error(c->diag, fsim_command_line, "--threads: wanted 1 to 1024");
    if (s->output && !fsim_is_stdout(s->output) && fsim_is_shipped_hw(c, s->output))
        fsim_error(c->diag, fsim_command_line,
                   "-o '%s' is a shipped hardware file's place; write elsewhere, and look at it first", s->output);
}

/* The file of --hw, which must be one of such a device. *hw is NULL where it is not given. */
static int read_given(fsim_context *c, const fsim_calibrator *b, const fsim_hw **hw)
{
    *hw = c->set.hw.count ? fsim_read_hw(c, c->set.hw.at[0]) : NULL;
    if (*hw && !b->is_own(*hw))
        fsim_failure(c->diag, FSIM_BAD_INPUT, fsim_command_line, "--hw %s is no %s but %s", c->set.hw.at[0],
                     b->describes, (*hw)->architecture);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

/* The file among the user's own and the shipped ones that is this device's, or NULL. */
static const fsim_hw *file_like(fsim_context *c, const fsim_device *d)
{
    const char *const folder[] = {c->hw_folders.own, c->hw_folders.shipped};
    int count = 0, read = 0;
    const char **name = fsim_hw_list(c->arena, &c->hw_folders, &count, NULL);
    fsim_hw **hw = fsim_new(c->arena, fsim_hw *, FSIM_COUNT_OF(folder) * count + 1);
    for (int i = 0; i < FSIM_COUNT_OF(folder) * count; i++) {
        const char *in = folder[i / count],
                   *path = in ? fsim_printf(c->arena, "%s/%s.yaml", in, name[i % count]) : NULL;
        if (path && access(path, R_OK) == 0 && (hw[read] = fsim_hw_read(c->arena, fsim_diag_new(c->arena), path)))
            read++;
    }
    return d->backend->calibrator->like(d, hw, read);
}

/* my.yaml: my. NULL without a file: the device says. */
static const char *name_of(fsim_context *c)
{
    const char *path = c->set.output, *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;
    const size_t length = base && !fsim_is_stdout(path) ? strcspn(base, ".") : 0;
    return length ? fsim_strndup(c->arena, base, length) : NULL;
}

/* Measures and says what was found. hw: of --hw, or NULL. A device that is lost is left open: the driver's clean-up
 * would wait for what hangs. */
static int measure(fsim_context *c, fsim_device *d, const fsim_hw *hw)
{
    const fsim_calibrator *b = d->backend->calibrator;
    const char *differs = hw && b->differs ? b->differs(d, hw, c->arena) : NULL, *own = d->backend->name;
    size_t bytes = 0;
    if (differs)
        fsim_warning(c->diag, fsim_command_line, "--hw %s is %s", c->set.hw.at[0], differs);
    if (!hw && b->like)
        hw = file_like(c, d);
    const fsim_probe_order order = {.hw = hw,
                                    .text = hw ? fsim_read_text(c, "hardware file", hw->path, &bytes) : "",
                                    .name = name_of(c),
                                    .date = fsim_today(c),
                                    .command = fsim_printf(c->arena, "fusesim calibrate --device %s", own)};
    fsim_device_probed p;
    fsim_fault fault = {0};
    if (!order.text)
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    if (!b->probe(d, &order, c->arena, &p, &fault) && fault.status != FSIM_INCONCLUSIVE) {
        fsim_failure(c->diag, fault.status, fsim_command_line, "calibrate --device %s: %s", own, fault.message);
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    const fsim_probe_report x = {&p, hw ? hw->name : NULL,
                                 fault.status || fsim_is_stdout(c->set.output) ? NULL : c->set.output};
    if (fault.status == FSIM_OK)
        return fsim_deliver_hw(c, p.hardware, &x);
    fsim_discard(c->own);
    c->own = NULL;
    const int status = fsim_deliver(c, &x); /* noise forbids a verdict: only the report */
    fsim_failure(c->diag, fault.status, fsim_command_line, "calibrate --device %s: %s", own, fault.message);
    return fsim_conclude(c, status);
}

int fsim_run_calibrate_device(fsim_context *c)
{
    const fsim_backend *b = fsim_backend_of((fsim_device_kind)c->set.device);
    const fsim_hw *hw = NULL;
    fsim_fault fault = {0};
    int status;
    c->kind = FSIM_RESULT_PROBES;
    if (!b->calibrator)
        fsim_error(c->diag, fsim_command_line, "calibrate: --device %s can't be measured for a hardware file", b->name);
    else
        check(c, b);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    if (!fsim_goes_on(c, b, &status) || (status = read_given(c, b->calibrator, &hw)) ||
        (status = fsim_open_outputs_and(c, "-o", c->set.output)))
        return status;
    const fsim_device_options options = {.threads = (int)c->set.threads, .for_probes = true};
    fsim_device *d = fsim_backend_open(b, &options, c->arena, &fault);
    if (!d) {
        fsim_failure(c->diag, fault.status, fsim_command_line, "calibrate --device %s: %s", b->name, fault.message);
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    return fsim_finish_device(c, d, measure(c, d, hw));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* --trace: plans on a timeline, for Perfetto; those that ran, predicted and measured. */
#include "command/command.h"
#include "report/trial.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    (void)c;
    fsim_report_trace(out, p->at, p->count);
    return true;
}

static bool show_trials(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_trace_trials(out, what);
    return true;
}

const fsim_renderer fsim_as_trace[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = {.show = show_plans}, [FSIM_RESULT_TRIALS] = {.show = show_trials}};

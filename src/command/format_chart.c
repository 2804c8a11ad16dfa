/* SPDX-License-Identifier: Apache-2.0 */
/* --chart: drawn by gnuplot into a file of its own. */
#include "command/command.h"
#include "report/accuracy.h"
#include "report/sweep_chart.h"

static bool draw_plans(const fsim_context *c, const char *path, const void *what, fsim_fault *fault)
{
    const fsim_shown_plans *p = what;
    const fsim_chart_file to = {path, c->environment.gnuplot};
    return fsim_report_chart(c->arena, p->at, p->count, &to, fault);
}

static bool draw_accuracy(const fsim_context *c, const char *path, const void *what, fsim_fault *fault)
{
    const fsim_chart_file to = {path, c->environment.gnuplot};
    return fsim_chart_accuracy(c->arena, what, &to, fault);
}

static bool draw_sweep(const fsim_context *c, const char *path, const void *what, fsim_fault *fault)
{
    const fsim_chart_file to = {path, c->environment.gnuplot};
    return fsim_chart_sweep(c->arena, what, &to, fault);
}

const fsim_renderer fsim_as_chart[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = {.draw = draw_plans},
    [FSIM_RESULT_ACCURACY] = {.draw = draw_accuracy},
    [FSIM_RESULT_SWEEP] = {.draw = draw_sweep},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* --chart-data: the figures behind a chart as CSV; needs no gnuplot. */
#include "command/command.h"
#include "report/accuracy.h"
#include "report/sweep_chart.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    fsim_report_chart_data(out, c->arena, p->at, p->count, &c->chart);
    return true;
}

static bool show_accuracy(FILE *out, const fsim_context *c, const void *what)
{
    fsim_chart_data_accuracy(out, c->arena, what, &c->chart);
    return true;
}

static bool show_sweep(FILE *out, const fsim_context *c, const void *what)
{
    fsim_chart_data_sweep(out, c->arena, what, &c->chart);
    return true;
}

const fsim_renderer fsim_as_chart_data[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = {.show = show_plans},
    [FSIM_RESULT_ACCURACY] = {.show = show_accuracy},
    [FSIM_RESULT_SWEEP] = {.show = show_sweep},
};

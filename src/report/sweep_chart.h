/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_chart.h: --chart of a sweep. */
#ifndef FUSESIM_REPORT_SWEEP_CHART_H
#define FUSESIM_REPORT_SWEEP_CHART_H

#include "report/canvas.h"
#include "report/sweep.h"

/* Up to 24 lines along the longest axis of numbers; where there would be more and two axes vary, a map of times.
 * False with *fault set: nothing to draw, or too much for a chart; otherwise as fsim_canvas_draw. */
bool fsim_chart_sweep(fsim_arena *a, const fsim_sweep *x, const fsim_chart_file *to, fsim_fault *fault);
/* The figures behind it as CSV: a row for each point that has a plan. */
void fsim_chart_data_sweep(FILE *out, fsim_arena *a, const fsim_sweep *x, const fsim_chart_style *style);

#endif

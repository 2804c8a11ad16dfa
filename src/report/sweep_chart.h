/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_chart.h: --chart of a sweep. */
#ifndef FUSESIM_REPORT_SWEEP_CHART_H
#define FUSESIM_REPORT_SWEEP_CHART_H

#include "report/gnuplot.h"
#include "report/sweep.h"

/* Up to eight lines along the longest axis of numbers; where there would be more and two axes vary, a map of times.
 * False with *fault set: nothing to draw, or too much for a chart; otherwise as fsim_gnuplot_draw. */
bool fsim_chart_sweep(fsim_arena *a, const fsim_sweep *x, const fsim_chart_file *to, fsim_fault *fault);

#endif

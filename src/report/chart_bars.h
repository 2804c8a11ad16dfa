/* SPDX-License-Identifier: Apache-2.0 */
/* chart_bars.h: the panel with a bar for each strategy's speedup over eager. */
#ifndef FUSESIM_REPORT_CHART_BARS_H
#define FUSESIM_REPORT_CHART_BARS_H

#include "predict.h"
#include <stdio.h>

typedef struct {
    const fsim_prediction *p;
    int count;                        /* GPUs */
    double width_px;                  /* of the panel */
    const char *(*color_of)(int gpu); /* "#0072B2" */
} fsim_bars;

/* Writes gnuplot's commands that draw the bars: speedups with their 80 % intervals. a is for scratch. */
void fsim_chart_bars(FILE *out, const fsim_bars *b, fsim_arena *a);

#endif

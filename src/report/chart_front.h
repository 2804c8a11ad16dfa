/* SPDX-License-Identifier: Apache-2.0 */
/* chart_front.h: time against memory, the right panel of a plan's chart with --objective pareto. */
#ifndef FUSESIM_REPORT_CHART_FRONT_H
#define FUSESIM_REPORT_CHART_FRONT_H

#include "predict.h"
#include <stdio.h>

typedef struct {
    const fsim_prediction *p; /* the same workload on `count` GPUs */
    int count;
    double points;                    /* the terminal's pointsize for a symbol of the common size */
    const char *(*color_of)(int gpu); /* "#0072B2" */
} fsim_front;

/* Writes the Pareto front as gnuplot commands, numbered as in the report and with the intervals of the times, and the
 * strategies' plans as hollow points. The panel's margins are set. */
void fsim_chart_front(FILE *out, const fsim_front *c, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* chart_memory.h: memory over time, the right panel of a chart of a workload with gradients. */
#ifndef FUSESIM_REPORT_CHART_MEMORY_H
#define FUSESIM_REPORT_CHART_MEMORY_H

#include "predict.h"
#include <stdio.h>

typedef struct {
    const fsim_prediction *p; /* the same workload on `count` GPUs */
    int count;
    double points;                    /* the terminal's pointsize for a symbol of the common size */
    const char *(*color_of)(int gpu); /* "#0072B2" */
} fsim_memory_chart;

/* Writes the memory in use while each kernel of the plan shown runs as gnuplot commands, its peak marked, beside that
 * of eager; on one GPU the phases are shaded. The panel's margins are set. */
void fsim_chart_memory(FILE *out, const fsim_memory_chart *c, fsim_arena *a);

#endif

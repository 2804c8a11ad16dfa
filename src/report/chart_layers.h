/* SPDX-License-Identifier: Apache-2.0 */
/* chart_layers.h: the panel with the time that each layer of a model takes. */
#ifndef FUSESIM_REPORT_CHART_LAYERS_H
#define FUSESIM_REPORT_CHART_LAYERS_H

#include "predict.h"
#include <stdio.h>

/* A layer, or several equal ones that follow each other, with the times of eager and of the plan shown on each GPU. */
typedef struct {
    const char *name; /* "encoder.layer.0 x 12" */
    double eager_s;   /* on the first GPU */
    double *shown_s;  /* on each */
} fsim_chart_layer;

typedef struct {
    const fsim_prediction *p;
    int count; /* GPUs */
    const char *(*color_of)(int gpu);
    fsim_chart_layer *layer;
    int layers; /* 0: the workload says no layers, or one alone */
} fsim_layers_chart;

/* Sums the kernels' times by layer: a kernel counts for the layer in which it does most arithmetic. In a. */
fsim_layers_chart fsim_layers_chart_of(const fsim_prediction *p, int count, const char *(*color_of)(int gpu),
                                       fsim_arena *a);
/* Writes gnuplot's commands that draw the bars, from the first layer down. */
void fsim_chart_layers(FILE *out, const fsim_layers_chart *c);

#endif

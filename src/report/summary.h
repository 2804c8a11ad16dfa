/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h: what a workload is made of, in total and by layer: before any plan. */
#ifndef FUSESIM_REPORT_SUMMARY_H
#define FUSESIM_REPORT_SUMMARY_H

#include "graph/graph.h"
#include "report/table.h"

/* A layer, or several equal ones. */
typedef struct {
    const char *name; /* "encoder.layer.0"; "" for operators without one */
    int times, operators;
    int64_t parameters;                           /* of weights that it is the first to read */
    double flops, activation_bytes, weight_bytes; /* activations: results of its operators, each once */
} fsim_layer_sum;

typedef struct {
    fsim_layer_sum total;
    fsim_layer_sum *layer; /* in order of their first operators; figures of one where there are several */
    int layers, levels;    /* levels: how many names of a path tell them apart */
} fsim_summary;

/* levels: how many names of a layer's path count; 0: as few as tell the parts apart, none of which has most of the
 * FLOPs. In a. */
fsim_summary fsim_summary_of(const fsim_graph *g, int levels, fsim_arena *a);
/* For people. */
void fsim_report_summary(const fsim_page *page, const fsim_summary *x);
/* For programs: "summary": {...} behind `before`. */
void fsim_json_summary(FILE *out, const char *before, const fsim_summary *x);

#endif

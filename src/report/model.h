/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: a model that was imported: its operators, known and unknown, and the workload that was written of it. */
#ifndef FUSESIM_REPORT_MODEL_H
#define FUSESIM_REPORT_MODEL_H

#include "report/coverage.h"
#include "report/table.h"

typedef struct {
    const fsim_graph *graph;
    const char *format;   /* of its file: "ONNX" */
    const char *written;  /* the workload's file; NULL: none was asked for */
    int blocks, in_block; /* of that file: repeat blocks, and the operators that they unroll into */
    const char *left;     /* lines about numbers that are no expressions in it; "" */
    bool list;            /* the operators by name */
} fsim_shown_model;

/* For people. */
void fsim_report_model(const fsim_page *page, const fsim_shown_model *x);
/* For programs. */
void fsim_json_model(FILE *out, const fsim_shown_model *x);

#endif

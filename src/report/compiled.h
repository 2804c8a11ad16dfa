/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h: registers, shared memory and occupancy as predicted beside what is compiled: as text, JSON, Markdown and
 * JUnit XML. */
#ifndef FUSESIM_REPORT_COMPILED_H
#define FUSESIM_REPORT_COMPILED_H

#include "report/gate.h"
#include "validate/trial/compiled.h"

/* What --gate names: class and near, shares of kernels, at least; registers, mean error, at most; spills,
 * disagreements: kernels, at most. */
typedef enum {
    FSIM_REGISTERS_CLASS,
    FSIM_REGISTERS_NEAR,
    FSIM_REGISTERS_ERROR,
    FSIM_REGISTERS_SPILLS,
    FSIM_REGISTERS_DISAGREE,
    FSIM_REGISTERS_METRICS
} fsim_register_metric;
extern const char *const fsim_register_metric_names[FSIM_REGISTERS_METRICS]; /* class near registers spills disagree */

extern const char *const fsim_no_contraction; /* in place of a template: all but contractions, libraries' and chains */

typedef struct {
    const char *text;
    fsim_register_metric metric;
    int template; /* or FSIM_EVERY_TEMPLATE, FSIM_NO_CONTRACTION */
    double limit;
} fsim_register_gate;

typedef struct {
    const fsim_register_rows *rows;
    const char *compiler; /* "NVRTC 13.0" */
    const int *sm;
    int archs;
    int workloads;
    const fsim_tried_gate *gate;
    int gates;
    bool verbose;
} fsim_register_report;

/* Does the value keep to the gate's limit? In a. */
fsim_tried_gate fsim_register_gate_try(const fsim_register_gate *g, const fsim_register_rows *x, fsim_arena *a);

void fsim_report_registers(const fsim_page *page, const fsim_register_report *x);
void fsim_markdown_registers(FILE *out, const fsim_register_report *x);
/* reports/schema/registers.schema.json describes it. */
void fsim_json_registers(FILE *out, const fsim_register_report *x);
/* A test case for each gate, and for each template and architecture. */
void fsim_junit_registers(FILE *out, const fsim_register_report *x);

#endif

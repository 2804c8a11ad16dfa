/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h: predicted against compiled registers, shared memory and occupancy, as text, JSON, Markdown and JUnit
 * XML. */
#ifndef FUSESIM_REPORT_COMPILED_H
#define FUSESIM_REPORT_COMPILED_H

#include "report/gate.h"
#include "validate/cuda/compiled.h"

typedef enum {
    FSIM_REGISTERS_CLASS,
    FSIM_REGISTERS_NEAR,
    FSIM_REGISTERS_ERROR,
    FSIM_REGISTERS_SPILLS,
    FSIM_REGISTERS_DISAGREE,
    FSIM_REGISTERS_WARNINGS,
    FSIM_REGISTERS_METRICS
} fsim_register_metric;
/* The gates of --gate. GROUP is a template, or no_contraction: all kernels but contractions, whether libraries' or
 * chains. */
extern const fsim_gate_table fsim_register_gates;

typedef struct {
    const fsim_register_rows *rows;
    const char *compiler; /* "NVRTC 13.0" */
    const int *sm;
    int archs;
    int workloads;
    const fsim_gate *gate; /* the gates, judged */
    int gates;
    bool verbose;
} fsim_register_report;

/* Which kernels a gate's group means: a template, FSIM_NO_CONTRACTION, or FSIM_EVERY_TEMPLATE for "";
 * FSIM_TEMPLATE_COUNT where it is no template. */
int fsim_register_gate_template(const char *group);
/* Measures the gate's metric over the rows of its group, and judges it. */
void fsim_register_gate_try(fsim_gate *g, const fsim_register_rows *x, fsim_arena *a);

/* Writes as text: the kernels whose prediction is wrong, sums by template and architecture, and the gates. */
void fsim_report_registers(const fsim_page *page, const fsim_register_report *x);
/* "24 kernels of 3 workloads, compiled by NVRTC". In a. */
const char *fsim_register_line(const fsim_register_report *x, fsim_arena *a);
/* The same as Markdown, for a CI summary. */
void fsim_markdown_registers(FILE *out, const fsim_register_report *x);
/* The same as JSON; reports/schema/registers.schema.json describes it. */
void fsim_json_registers(FILE *out, const fsim_register_report *x);
/* The same as JUnit XML: a test case for each gate, and for each template and architecture. */
void fsim_junit_registers(FILE *out, const fsim_register_report *x);

#endif

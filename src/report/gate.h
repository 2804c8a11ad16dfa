/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h: limits of --gate, tried, as reports of measurements show them. */
#ifndef FUSESIM_REPORT_GATE_H
#define FUSESIM_REPORT_GATE_H

#include "report/table.h"

typedef struct {
    const char *text; /* as asked for: "mape=10%" */
    double value;     /* NaN where nothing was measured */
    bool passed;
    const char *says; /* the value beside the limit */
} fsim_tried_gate;

int fsim_gates_failed(const fsim_tried_gate *gate, int gates);
void fsim_report_gates(const fsim_page *page, const fsim_tried_gate *gate, int gates);
void fsim_markdown_gates(FILE *out, const fsim_tried_gate *gate, int gates);
/* The member "gates" of an object, and its end. */
void fsim_json_gates(FILE *out, const fsim_tried_gate *gate, int gates);
void fsim_junit_gates(FILE *out, const fsim_tried_gate *gate, int gates);

#endif

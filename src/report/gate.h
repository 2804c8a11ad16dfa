/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h: judged gates (--gate) in every format. */
#ifndef FUSESIM_REPORT_GATE_H
#define FUSESIM_REPORT_GATE_H

#include "input/gate.h"
#include "report/table.h"

/* One line for each gate. where: its prefix ("t4: ", or ""). */
void fsim_report_gates(const fsim_page *page, const char *where, const fsim_gate *gate, int gates);
/* The same as a list of Markdown. */
void fsim_markdown_gates(FILE *out, const char *where, const fsim_gate *gate, int gates);
/* The member "gates" of an object: [{gate, group, metric, value, limit, passed, message}]. */
void fsim_json_gates(FILE *out, const fsim_gate *gate, int gates);
/* A test case for each. */
void fsim_junit_gates(FILE *out, const char *where, const fsim_gate *gate, int gates);

#endif

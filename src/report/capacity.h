/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h: the GPUs that serve a load, as text and JSON. */
#ifndef FUSESIM_REPORT_CAPACITY_H
#define FUSESIM_REPORT_CAPACITY_H

#include "report/table.h"
#include "serving/capacity.h"

/* One line: the fewest GPUs, or that there are none. In a. */
const char *fsim_capacity_line(const fsim_capacity *x, fsim_arena *a);
/* The best options, what limits the fewest GPUs, memory, throughput beside speed, what can't serve; verbose: all of
 * them. */
void fsim_report_capacity(const fsim_page *page, const fsim_capacity *x, bool verbose);
/* reports/schema/capacity.schema.json describes it. */
void fsim_json_capacity(FILE *out, const fsim_capacity *x);

/* "tp 2, f8 weights, bf16 cache". In a. */
const char *fsim_option_text(const fsim_option *x, fsim_arena *a);
/* Each way that does not serve the load, with its reason. */
void fsim_report_refused(const fsim_page *page, const fsim_capacity *x, bool verbose, fsim_arena *a);
/* What would help where none serves. */
void fsim_report_unserved(const fsim_page *page, const fsim_capacity *x, fsim_arena *a);

#endif

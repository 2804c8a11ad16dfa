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

#endif

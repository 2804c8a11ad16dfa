/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: what changed between two plans, as text and as JSON. */
#ifndef FUSESIM_REPORT_DIFF_H
#define FUSESIM_REPORT_DIFF_H

#include "diff/diff.h"
#include "report/table.h"

/* A line for each GPU, what changed, a table of causes, and one of kernels; verbose: all of these. */
void fsim_report_diff(const fsim_page *page, const fsim_diff *x, bool verbose);
/* "mlp on l4: 481 us -> 512 us, 6.6% slower: shapes +20.1 us, fusion + hardware +11.0 us" a line for each GPU. In a. */
const char *fsim_diff_lines(const fsim_diff *x, fsim_arena *a);
/* reports/schema/diff.schema.json. Times are whole femtoseconds. */
void fsim_json_diff(FILE *out, const fsim_diff *x);

/* What a part does, by the workload's operators: "a + b -> a | b". In a. */
const char *fsim_diff_part_text(const fsim_plan_diff *x, const fsim_diff_part *part, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* diff_rows.h: what changed between two sweeps or two validations, as text, Markdown, JSON and JUnit, and the gates of
 * it: "time=3%", "softmax:time=3%". GROUP: a GPU; of plans that ran on a device, a workload. */
#ifndef FUSESIM_REPORT_DIFF_ROWS_H
#define FUSESIM_REPORT_DIFF_ROWS_H

#include "diff/rows.h"
#include "report/plan_gates.h"
#include "report/table.h"

extern const fsim_gate_table fsim_rows_diff_gates;

typedef struct {
    const fsim_rows_diff *x;
    fsim_judged judged;
    int unsure; /* gates that fail only because runs scatter too much to say */
} fsim_shown_rows_diff;

/* Has the first file a row of each gate's group? False after an error in d. */
bool fsim_rows_groups_check(const fsim_gate *gate, int gates, const fsim_rows_diff *x, fsim_arena *a, fsim_diag *d);
/* Judges gate[0, gates). In a. */
fsim_shown_rows_diff fsim_rows_gates_try(const fsim_rows_diff *x, const fsim_gate *gate, int gates, fsim_arena *a);

/* A line on all, a table of the rows that changed, and the gates; verbose: all rows. */
void fsim_report_rows_diff(const fsim_page *page, const fsim_shown_rows_diff *s, bool verbose);
/* The same as Markdown. */
void fsim_markdown_rows_diff(FILE *out, const fsim_shown_rows_diff *s, bool verbose);
/* "sweep, 12 rows: 3 slower, 1 faster, 8 the same; 1.20 ms -> 1.26 ms, +5.0%". In a. */
const char *fsim_rows_diff_line(const fsim_shown_rows_diff *s, fsim_arena *a);
/* reports/schema/diff_rows.schema.json. */
void fsim_json_rows_diff(FILE *out, const fsim_shown_rows_diff *s);
/* A test case for each gate and for each row that gates are about; those that only one file has are skipped. */
void fsim_junit_rows_diff(FILE *out, const fsim_shown_rows_diff *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: what changed between two plans, as text, Markdown, JSON and JUnit, and the gates of it (--gate):
 * "time=3%", "t4:bytes=1%": the most that a figure may grow. That it shrinks is no failure. GROUP: a GPU. */
#ifndef FUSESIM_REPORT_DIFF_H
#define FUSESIM_REPORT_DIFF_H

#include "diff/diff.h"
#include "report/plan_gates.h"
#include "report/table.h"

extern const fsim_gate_table fsim_diff_gates;

typedef struct {
    const char *gpu;
    fsim_judged gates;
} fsim_judged_gpu;

/* A comparison with its gates: of each GPU that both files have, then of each that only the first has, where they
 * fail. */
typedef struct {
    const fsim_diff *x;
    fsim_judged_gpu *judged;
    int count;
} fsim_shown_diff;

/* Does the first file have a plan for each gate's group? False after an error in d. */
bool fsim_diff_groups_check(const fsim_gate *gate, int gates, const fsim_diff *x, fsim_arena *a, fsim_diag *d);
/* Judges gate[0, gates). In a. */
fsim_shown_diff fsim_diff_gates_try(const fsim_diff *x, const fsim_gate *gate, int gates, fsim_arena *a);
/* Prefix of the gates of judged[i] where there are several GPUs: "t4: ", or "". In a. */
const char *fsim_shown_diff_gpu(const fsim_shown_diff *s, int i, fsim_arena *a);

/* A line for each GPU, what changed, a table of causes, one of kernels, and the gates; verbose: all kernels. */
void fsim_report_diff(const fsim_page *page, const fsim_shown_diff *s, bool verbose);
/* The same as Markdown. */
void fsim_markdown_diff(FILE *out, const fsim_shown_diff *s, bool verbose);
/* "mlp on l4: 481 us -> 512 us, +6.6%: shapes +20.1 us, fusion + hardware +11.0 us". In a. */
const char *fsim_diff_line(const fsim_plan_diff *x, fsim_arena *a);
/* reports/schema/diff.schema.json. Times are whole femtoseconds. */
void fsim_json_diff(FILE *out, const fsim_shown_diff *s);
/* A test case for each gate and for each GPU; those that only one file has are skipped. */
void fsim_junit_diff(FILE *out, const fsim_shown_diff *s);

#endif

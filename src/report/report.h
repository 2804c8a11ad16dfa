/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: predictions, GPUs and operators as text, Markdown, JSON and charts. Nothing here computes a prediction; all
 * is read from one. Functions that write to a stream leave its errors in the stream (ferror), for fsim_commit to find.
 */
#ifndef FUSESIM_REPORT_REPORT_H
#define FUSESIM_REPORT_REPORT_H

#include "report/canvas.h"
#include "report/describe.h"
#include "report/plan_gates.h"
#include "report/table.h"
#include <stdio.h>

typedef struct {
    bool color, verbose;
    int width; /* columns; 0: no limit */
} fsim_text_style;

/* text.c: for people at a terminal. ASCII, except for an ellipsis and bars where the locale is UTF-8. */

/* One workload on one GPU: the verdict, the strategies, the kernels of the chosen plan, what was not fused and why,
 * what the model leaves out. */
void fsim_report_text(FILE *out, const fsim_prediction *p, const fsim_text_style *style);
/* The same workload on several GPUs, a row for each, relative to the fastest. */
void fsim_report_compare(FILE *out, const fsim_prediction *p, int count, const fsim_text_style *style);
/* Summary and kernels of each prediction as Markdown, for a CI summary. verbose: each of equal layers. */
void fsim_report_markdown(FILE *out, const fsim_prediction *p, int count, bool verbose);

/* compile.c: the cost of compiling each strategy, when it has paid off, and which strategy is best for how many
 * runs; nothing without --compile-cost. The other reports include it; this one is for several GPUs. */
void fsim_report_compile(FILE *out, const fsim_prediction *p, const fsim_text_style *style);

/* dump.c: --dump. */

/* Prints the stages with these names (of fsim_dump_stages), in that order, as plain tables of any width. */
void fsim_report_dump(FILE *out, const fsim_prediction *p, const char *const *names, int count);
extern const char *const fsim_dump_stages[]; /* "graph", "legal", "parts", "kernels", "traffic", "time", then NULL */

/* json.c: for programs; reports/schema describes it. */

enum { FSIM_PLAN_SCHEMA = 2 };
/* {"schema": 2, "fusesim": VERSION, "plans": [one for each prediction, with its gates]}. judged: of each; NULL without
 * gates. False when memory ran out or the stream failed. */
bool fsim_report_json(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count);
/* A line of `enumerate`: a partition with its time and bytes. */
void fsim_json_partition(FILE *out, const fsim_graph *g, const fsim_partition *partition, double time_s,
                         fsim_sum dram_read_bytes, fsim_sum dram_write_bytes);
/* Its last line. */
void fsim_json_partitions_end(FILE *out, int64_t partitions, bool truncated);

/* explain.c: may two primitives share a kernel. */

/* Can they share a kernel, what does the best plan do, what would the opposite cost? */
void fsim_report_explanation(const fsim_page *page, const fsim_graph *g, const fsim_hw *hw, const fsim_explanation *e);
/* The same as JSON. */
void fsim_json_explanation(FILE *out, const fsim_graph *g, const fsim_hw *hw, const fsim_explanation *e);

/* trace.c, dot.c: plans for other programs. */

/* The chosen plans on a timeline for chrome://tracing and Perfetto: a process for each GPU, a thread for each
 * stream, memory in use as a counter. */
void fsim_report_trace(FILE *out, const fsim_prediction *p, int count);
/* The chosen plan as a graph for Graphviz: a cluster for each kernel. */
void fsim_report_dot(FILE *out, const fsim_prediction *p);

/* hardware.c: `hw`. */

typedef struct {
    const char *name;  /* as typed, or as found in the folder */
    const fsim_hw *hw; /* NULL: not valid */
    int errors;
} fsim_named_hw;
/* A row for each GPU: its main figures. */
void fsim_report_hw_list(const fsim_page *page, const fsim_named_hw *list, int count);
/* The same as JSON; figures in base units, null where the file has none. */
void fsim_json_hw_list(FILE *out, const fsim_named_hw *list, int count);
/* Every key of one GPU with its source. */
void fsim_report_hw(const fsim_page *page, const fsim_hw *hw);
/* Every key: value in base units, source, origin. */
void fsim_json_hw(FILE *out, const fsim_hw *hw);
/* The files that passed; the diagnostics explain why others did not. */
void fsim_report_hw_check(const fsim_page *page, const fsim_named_hw *list, int count);
/* The same as JSON: name, ok, errors. */
void fsim_json_hw_check(FILE *out, const fsim_named_hw *list, int count);

/* new_hardware.c: the text of a hardware file to fill in; valid at once where it inherits from `like` (NULL: from
 * none). In a. */
const char *fsim_new_hw_text(fsim_arena *a, const char *name, const fsim_hw *like);

/* workloads.c: workloads by name. */

typedef struct {
    const char *name;        /* as the command line names it */
    const fsim_graph *graph; /* NULL: it does not load */
} fsim_named_workload;
typedef struct {
    fsim_named_workload *at;
    int count;
    bool in_full; /* one, with its inputs and results */
    bool summary; /* what they are made of, in total and by layer */
    bool deep;    /* by every layer */
} fsim_workload_list;

/* A line for each, or one in full. */
void fsim_report_workloads(const fsim_page *page, const fsim_workload_list *list);
/* The same as JSON, each in full. */
void fsim_json_workloads(FILE *out, const fsim_workload_list *list);
/* The table of workloads/README.md. */
void fsim_markdown_workloads(FILE *out, const fsim_workload_list *list);

/* operators.c: the op table. */

/* The operators with their attributes; if `only` is not FSIM_OP_COUNT, that operator in full. */
void fsim_report_ops(const fsim_page *page, fsim_op only);
/* The same as JSON. */
void fsim_json_ops(FILE *out, fsim_op only);
/* Tables of docs/FORMATS.md: operators, attributes, dtypes. */
void fsim_markdown_ops(FILE *out);
/* The keys of hardware files, as a table and for docs/FORMATS.md. */
void fsim_report_hw_keys(const fsim_page *page);
/* Markdown rows for the keys: meaning, unit, limits, default. */
void fsim_markdown_hw_keys(FILE *out);

/* chart.c: through gnuplot. */

/* Draws charts of charts.def to a file: those of the style, or speedups, roofline, time by kernel or by layer, ...
 * Predictions after the first are the same workload on other GPUs. The file appears complete or not at all. False with
 * *fault set. */
bool fsim_report_chart(fsim_arena *a, const fsim_prediction *p, int count, const fsim_chart_file *to,
                       fsim_fault *fault);
/* The figures behind them as CSV: docs/FORMATS.md has the columns. */
void fsim_report_chart_data(FILE *out, fsim_arena *a, const fsim_prediction *p, int count,
                            const fsim_chart_style *style);

#endif

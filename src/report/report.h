/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: predictions, GPUs and operators as text, Markdown, JSON and charts. Nothing here computes a prediction; all
 * is read from one. Functions that write to a stream leave its errors in the stream (ferror), for fsim_commit to find.
 */
#ifndef FUSESIM_REPORT_REPORT_H
#define FUSESIM_REPORT_REPORT_H

#include "report/describe.h"
#include "report/gnuplot.h"
#include "report/plan_gates.h"
#include "report/table.h"
#include <stdio.h>

typedef struct {
    bool color, verbose;
    int width; /* columns of the terminal; 0: 80 */
} fsim_text_style;

/* text.c: for people at a terminal. ASCII, but for an ellipsis and bars where the locale is UTF-8. */

/* One workload on one GPU: verdict, strategies, kernels of the chosen plan, what was not fused and why, what the model
 * left out. */
void fsim_report_text(FILE *out, const fsim_prediction *p, const fsim_text_style *style);
/* The same workload on several GPUs, a row each, against the fastest. */
void fsim_report_compare(FILE *out, const fsim_prediction *p, int count, const fsim_text_style *style);
/* Summary and kernels of each prediction as Markdown, for a CI summary. */
void fsim_report_markdown(FILE *out, const fsim_prediction *p, int count);

/* compile.c: what each strategy costs to compile, when that has paid off, and which is the best for how many runs.
 * Nothing where --compile-cost was not given. The other reports hold it too: this one is for several GPUs. */
void fsim_report_compile(FILE *out, const fsim_prediction *p, const fsim_text_style *style);

/* dump.c: --dump. */

/* Stages by name (those of fsim_dump_stages), in that order, as plain tables of any width. */
void fsim_report_dump(FILE *out, const fsim_prediction *p, const char *const *names, int count);
extern const char *const fsim_dump_stages[]; /* "graph", "legal", "parts", "kernels", "traffic", "time", then NULL */

/* json.c: for programs; reports/schema describes it. */

enum { FSIM_PLAN_SCHEMA = 2 };
/* {"schema": 2, "fusesim": VERSION, "plans": [one for each prediction, with its gates]}. judged: of each; NULL without
 * gates. False when memory ran out or the stream failed. */
bool fsim_report_json(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count);
/* One line of `enumerate`. time_s and the bytes are the partition's. */
void fsim_json_partition(FILE *out, const fsim_graph *g, const fsim_partition *partition, double time_s,
                         fsim_sum dram_read_bytes, fsim_sum dram_write_bytes);
/* Its last line. */
void fsim_json_partitions_end(FILE *out, int64_t partitions, bool truncated);

/* explain.c: may two primitives share a kernel. */

/* May they share a kernel, what does the best plan do, what would the opposite cost? */
void fsim_report_explanation(const fsim_page *page, const fsim_graph *g, const fsim_hw *hw, const fsim_explanation *e);
/* The same for programs. */
void fsim_json_explanation(FILE *out, const fsim_graph *g, const fsim_hw *hw, const fsim_explanation *e);

/* trace.c, dot.c: plans for other programs. */

/* The chosen plans on a timeline, as chrome://tracing and Perfetto read it: a process for each GPU, a thread for each
 * stream. */
void fsim_report_trace(FILE *out, const fsim_prediction *p, int count);
/* The chosen plan as a graph for Graphviz: a cluster for each kernel. */
void fsim_report_dot(FILE *out, const fsim_prediction *p);

/* hardware.c: `hw`. */

typedef struct {
    const char *name;  /* as the user or the folder has it */
    const fsim_hw *hw; /* NULL: not valid */
    int errors;
} fsim_named_hw;
/* A row for each GPU: its main figures. */
void fsim_report_hw_list(const fsim_page *page, const fsim_named_hw *list, int count);
/* The same for programs; figures in base units, null where the file has none. */
void fsim_json_hw_list(FILE *out, const fsim_named_hw *list, int count);
/* Every key of one GPU with its source. */
void fsim_report_hw(const fsim_page *page, const fsim_hw *hw);
/* Every key: value in base units, source, origin. */
void fsim_json_hw(FILE *out, const fsim_hw *hw);
/* What passed; diagnostics say why others did not. */
void fsim_report_hw_check(FILE *out, const fsim_named_hw *list, int count);
/* The same for programs: name, ok, errors. */
void fsim_json_hw_check(FILE *out, const fsim_named_hw *list, int count);

/* operators.c: the op table. */

/* The operators and their attributes; in full the one that is `only`, where that is not FSIM_OP_COUNT. */
void fsim_report_ops(const fsim_page *page, fsim_op only);
/* The same for programs. */
void fsim_json_ops(FILE *out, fsim_op only);
/* Tables of docs/FORMATS.md: operators, attributes, dtypes. */
void fsim_markdown_ops(FILE *out);
/* The keys of hardware files, as a table and for docs/FORMATS.md. */
void fsim_report_hw_keys(const fsim_page *page);
/* A row of Markdown for each key: meaning, unit, limits, what stands in where it is absent. */
void fsim_markdown_hw_keys(FILE *out);

/* chart.c: through gnuplot. */

/* Speedups and a roofline (or the front of time against memory, where it was asked for) into a file; other predictions
 * than the first are the same workload on other GPUs. The file appears whole or not at all. False with *why set (in a,
 * or constant). */
bool fsim_report_chart(fsim_arena *a, const fsim_prediction *p, int count, const fsim_chart_file *to, const char **why);

#endif

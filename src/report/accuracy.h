/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.h: predictions compared with measurements, as text, Markdown, JSON, JUnit XML and a chart. */
#ifndef FUSESIM_REPORT_ACCURACY_H
#define FUSESIM_REPORT_ACCURACY_H

#include "evidence/folds.h"
#include "evidence/gates.h"
#include "evidence/refit.h"
#include "report/canvas.h"
#include "report/gate.h"
#include "report/table.h"

typedef struct {
    const char *const *file; /* the measurements */
    int files;
    const fsim_evaluated *at;
    int count;
    const fsim_pair *pair;
    int pairs;
    const fsim_gate *gate; /* judged */
    int gates;
    const fsim_grouping *by; /* of the first table */
    int keys;
    int worst;                 /* number of rows to list with the largest errors */
    const fsim_folded *folded; /* what intervals were fitted to, where they were fitted in folds; NULL */
    const fsim_refits *refits; /* numbers of the code that were fitted anew */
    bool verbose;              /* list every excluded row, count every verdict */
} fsim_accuracy;

/* accuracy.c */
void fsim_report_accuracy(const fsim_page *page, const fsim_accuracy *x);
/* The same as Markdown, for a CI summary. */
void fsim_markdown_accuracy(FILE *out, const fsim_accuracy *x);
/* accuracy_json.c: reports/schema/accuracy.schema.json describes it. */
void fsim_json_accuracy(FILE *out, const fsim_accuracy *x);
/* accuracy_junit.c: a test case for each gate, and one for each group of the first table with its figures. */
void fsim_junit_accuracy(FILE *out, const fsim_accuracy *x);
/* accuracy_chart.c: predicted against measured times with a band of 10 %, and their ratios against sizes, drawn by
 * gnuplot like fsim_report_chart. */
bool fsim_chart_accuracy(fsim_arena *a, const fsim_accuracy *x, const fsim_chart_file *to, fsim_fault *fault);
/* The figures behind it as CSV. */
void fsim_chart_data_accuracy(FILE *out, fsim_arena *a, const fsim_accuracy *x, const fsim_chart_style *style);

#endif

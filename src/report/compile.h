/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h: what each strategy costs to compile, as a part of the other reports. */
#ifndef FUSESIM_REPORT_COMPILE_H
#define FUSESIM_REPORT_COMPILE_H

#include "predict.h"
#include "report/table.h"

typedef struct {
    fsim_table costs, totals; /* of each strategy; for some numbers of runs */
    const char *best, *how;   /* sentences: which is best for how many runs; what is counted */
} fsim_compile_text;
/* What is said of --compile-cost. In a. */
fsim_compile_text fsim_compile_text_of(const fsim_prediction *p, fsim_arena *a);

/* Tables and sentences of --compile-cost, under a title of the caller's. */
void fsim_put_compile(const fsim_page *page, const fsim_prediction *p, fsim_arena *a);
/* The same as Markdown, for a CI summary. */
void fsim_markdown_compile(FILE *out, const fsim_prediction *p, fsim_arena *a);

#endif

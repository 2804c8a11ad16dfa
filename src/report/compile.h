/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h: what each strategy costs to compile, as a part of the other reports. */
#ifndef FUSESIM_REPORT_COMPILE_H
#define FUSESIM_REPORT_COMPILE_H

#include "predict.h"
#include "report/table.h"

/* Tables and sentences of --compile-cost, under a title of the caller's. */
void fsim_put_compile(const fsim_page *page, const fsim_prediction *p, fsim_arena *a);
/* The same as Markdown, for a CI summary. */
void fsim_markdown_compile(FILE *out, const fsim_prediction *p, fsim_arena *a);

#endif

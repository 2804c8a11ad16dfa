/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h: numbers as text in an arena, for tables and sentences. */
#ifndef FUSESIM_REPORT_DESCRIBE_H
#define FUSESIM_REPORT_DESCRIBE_H

#include "report/report.h"
#include "report/table.h"

const char *fsim_bytes_text(fsim_arena *a, double bytes);     /* "12.6 MiB" */
const char *fsim_seconds_text(fsim_arena *a, double seconds); /* "34.2 us" */
const char *fsim_count_text(fsim_arena *a, double count);     /* "12.3 G" */
const char *fsim_percent_text(fsim_arena *a, double share);   /* "12.3%" */
const char *fsim_times_text(fsim_arena *a, double factor);    /* "1.42x" */

/* Tables and sentences of --compile-cost, under a title of the caller's. */
void fsim_put_compile(const fsim_page *page, const fsim_prediction *p, fsim_arena *a);
/* The same for a CI summary. */
void fsim_markdown_compile(FILE *out, const fsim_prediction *p, fsim_arena *a);

#endif

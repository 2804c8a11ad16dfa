/* SPDX-License-Identifier: Apache-2.0 */
/* region_table.h: where along a symbol the best plan changes, as text and as JSON. */
#ifndef FUSESIM_REPORT_REGION_TABLE_H
#define FUSESIM_REPORT_REGION_TABLE_H

#include "regions.h"
#include "report/table.h"

typedef struct {
    const fsim_graph *graph; /* as the file has it */
    const fsim_hw *hw;
    const char *symbol;
    fsim_regions found;
} fsim_shown_regions;
/* The regions as a table, then what changes between them and the plans' groups. */
void fsim_report_regions(const fsim_page *page, const fsim_shown_regions *x);
/* The same as JSON; times in seconds. */
void fsim_json_regions(FILE *out, const fsim_shown_regions *x);

#endif

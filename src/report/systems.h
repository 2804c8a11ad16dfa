/* SPDX-License-Identifier: Apache-2.0 */
/* systems.h: predictions of whole systems beside what was measured, as text and JSON. */
#ifndef FUSESIM_REPORT_SYSTEMS_H
#define FUSESIM_REPORT_SYSTEMS_H

#include "report/table.h"
#include "serving/verdicts.h"

typedef struct {
    const char *path;
    const fsim_judged_system *at;
    int count, steps; /* steps: different ones that were priced */
    int worst;        /* rows to list */
} fsim_shown_systems;

/* Errors by group, verdicts, the worst rows, those that contradict each other. */
void fsim_report_systems(const fsim_page *page, const fsim_shown_systems *x);
/* The same without the worst rows. */
void fsim_markdown_systems(FILE *out, const fsim_shown_systems *x);
/* reports/schema/systems.schema.json describes it. */
void fsim_json_systems(FILE *out, const fsim_shown_systems *x);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* trainings.h: the GPUs that train a model in time, as text and JSON. */
#ifndef FUSESIM_REPORT_TRAININGS_H
#define FUSESIM_REPORT_TRAININGS_H

#include "report/table.h"
#include "serving/trainings.h"

/* One line: the fewest GPUs, or that there are none. In a. */
const char *fsim_trainings_line(const fsim_trainings *x, fsim_arena *a);
/* The best numbers of GPUs, a row for each number, time and memory of the fewest by part; verbose: all of them. */
void fsim_report_trainings(const fsim_page *page, const fsim_trainings *x, bool verbose);
/* reports/schema/trainings.schema.json describes it. */
void fsim_json_trainings(FILE *out, const fsim_trainings *x);

#endif

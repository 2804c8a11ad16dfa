/* SPDX-License-Identifier: Apache-2.0 */
/* machines.h: the GPUs of a capacity report: what they cost and need, and where these figures are from. */
#ifndef FUSESIM_REPORT_MACHINES_H
#define FUSESIM_REPORT_MACHINES_H

#include "report/table.h"
#include "serving/machine.h"

/* A table, with the source of each price. */
void fsim_report_machines(const fsim_page *page, const fsim_machine *m, int count, fsim_arena *a);
/* "machines": [...] */
void fsim_json_machines(FILE *out, const fsim_machine *m, int count);

#endif

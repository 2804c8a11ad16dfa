/* SPDX-License-Identifier: Apache-2.0 */
/* machines.h: the GPUs of a capacity report: what they cost and need, and where these figures are from. */
#ifndef FUSESIM_REPORT_MACHINES_H
#define FUSESIM_REPORT_MACHINES_H

#include "report/table.h"
#include "serving/machine.h"

/* A table, with the source of each price. */
void fsim_report_machines(const fsim_page *page, const fsim_machine *m, int count, fsim_arena *a);
/* Systems that --system may name, as 'hw systems' lists them. */
typedef struct {
    const fsim_machine *at;
    int count;
} fsim_shown_clusters;
/* A row each: its GPU, links, network, power and price. */
void fsim_report_clusters(const fsim_page *page, const fsim_shown_clusters *x);
/* "machines": [...] */
void fsim_json_machines(FILE *out, const fsim_machine *m, int count);

#endif

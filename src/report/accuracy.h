/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.h: predictions beside measurements. */
#ifndef FUSESIM_REPORT_ACCURACY_H
#define FUSESIM_REPORT_ACCURACY_H

#include "measure/stats.h"
#include "report/table.h"

typedef struct {
    const char *file;         /* the measurements */
    const fsim_evaluated *at;
    int count;
} fsim_accuracy;

void fsim_report_accuracy(const fsim_page *page, const fsim_accuracy *x);
void fsim_json_accuracy(FILE *out, const fsim_accuracy *x);

#endif

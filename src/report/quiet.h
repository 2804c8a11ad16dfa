/* SPDX-License-Identifier: Apache-2.0 */
/* quiet.h: results as one line, for --quiet. Lines are in a and have no end of line. */
#ifndef FUSESIM_REPORT_QUIET_H
#define FUSESIM_REPORT_QUIET_H

#include "report/calibration.h"
#include "report/region_table.h"
#include "report/report.h"

/* "bert_layer on h100-sxm5-80gb: optimal 203 us +-9%, 7 kernels, 1.88x eager, proven" */
const char *fsim_plan_line(const fsim_prediction *p, fsim_arena *a);
/* "mlp on t4: 3 best plans along M, which change at 64, 1024" */
const char *fsim_regions_line(const fsim_shown_regions *x, fsim_arena *a);
/* "l4: 2 of 3 groups fitted: streaming, softmax" */
const char *fsim_calibration_line(const fsim_calibration *x, fsim_arena *a);
/* "20 hardware files: ok" */
const char *fsim_hw_check_line(const fsim_named_hw *list, int count, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h: what a fit changed, and how well it predicts rows that it has not seen. */
#ifndef FUSESIM_REPORT_CALIBRATION_H
#define FUSESIM_REPORT_CALIBRATION_H

#include "evidence/calibrate.h"
#include "report/table.h"

typedef struct {
    const fsim_hw *hw;
    const fsim_fit *fit;
    int fits, folds;
    const char *file; /* written; NULL */
    const char *host; /* of calibrate --host: the file of measured figures, nothing was fitted; NULL */
} fsim_calibration;

/* Errors before and after, by group, and each figure that was fitted. */
void fsim_report_calibration(const fsim_page *page, const fsim_calibration *x);
/* The same, and every figure of the cross-validation. */
void fsim_json_calibration(FILE *out, const fsim_calibration *x);

#endif

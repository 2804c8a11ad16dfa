/* SPDX-License-Identifier: Apache-2.0 */
/* ceilings.h: the rates of arithmetic that a roofline draws as roofs. */
#ifndef FUSESIM_REPORT_CEILINGS_H
#define FUSESIM_REPORT_CEILINGS_H

#include "predict.h"

typedef struct {
    double flops_per_s;
    const char *name; /* "FP32", "tensor f16" */
} fsim_ceiling;
enum { FSIM_MOST_CEILINGS = 7 };

/* FP32 units, then the tensor units that the workload's contractions use. Returns their number. */
int fsim_ceilings_of(const fsim_prediction *p, fsim_ceiling out[FSIM_MOST_CEILINGS]);

#endif

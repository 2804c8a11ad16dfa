/* SPDX-License-Identifier: Apache-2.0 */
/* named.h: the fusions that have names (Conv-BN-ReLU, LayerNorm of its steps, attention of its products), as the rules
 * of `pattern` find them in a workload. */
#ifndef FUSESIM_REPORT_NAMED_H
#define FUSESIM_REPORT_NAMED_H

#include "predict.h"
#include "report/coverage.h"

/* "BatchNorm + ConvBn + ConvActivation" and how many kernels of `pattern` it made, the most frequent first; their
 * number in *count. In a. */
fsim_counted *fsim_named_fusions(const fsim_prediction *p, fsim_arena *a, int *count);
/* A sentence with all of them; "" where there are none. In a. */
const char *fsim_named_text(const fsim_prediction *p, fsim_arena *a);

#endif

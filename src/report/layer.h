/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h: the paths of modules that a workload's operators belong to, as imported models say them. */
#ifndef FUSESIM_REPORT_LAYER_H
#define FUSESIM_REPORT_LAYER_H

#include "cost/cost.h"

/* The path that a kernel's operators have in common: "encoder.layer.3.attention"; NULL where they have none, or none
 * says its layer. Copies of operators that other kernels compute do not count. In a. */
const char *fsim_kernel_layer(const fsim_graph *g, const fsim_kernel *k, fsim_arena *a);
/* The first `levels` names of a path, numbers with what they number: of "encoder.layer.3.attention.query" with 2:
 * "encoder.layer.3". In a. */
const char *fsim_layer_head(fsim_arena *a, const char *layer, int levels);

#endif

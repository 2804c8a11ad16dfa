/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h: a copy of a workload with shorter dimensions, so that checks which execute all of its operators take
 * seconds. */
#ifndef FUSESIM_GRAPH_SCALE_H
#define FUSESIM_GRAPH_SCALE_H

#include "input/yaml.h"
#include <stdint.h>

enum { FSIM_SHORTEST = 8 };
/* Divides every integer of the document's shapes, sizes, starts, groups and symbols by the largest power of two that
 * divides it, is at most `factor`, and leaves at least FSIM_SHORTEST. Equal lengths stay equal, and products mostly
 * stay products. Where a graph needs more than that (a slice that no longer fits), reading the copy reports an
 * error. In a. */
const fsim_yaml *fsim_scale_shapes(fsim_arena *a, const fsim_yaml *y, int64_t factor);
/* For workloads where that fails: scales all lengths except this one, or (`only`) this one alone, down to 1. */
const fsim_yaml *fsim_scale_around(fsim_arena *a, const fsim_yaml *y, int64_t factor, int64_t length, bool only);

#endif

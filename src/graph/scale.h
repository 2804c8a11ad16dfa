/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h: a workload with shorter dimensions, so that slow checks of all its operators end soon. */
#ifndef FUSESIM_GRAPH_SCALE_H
#define FUSESIM_GRAPH_SCALE_H

#include "input/yaml.h"
#include <stdint.h>

enum { FSIM_SHORTEST = 8 };
/* Every integer of the document's shapes, sizes, starts, groups and symbols, divided by the largest power of two that
 * divides it, is at most `factor`, and leaves at least FSIM_SHORTEST. Equal lengths stay equal, and products mostly
 * products; where a graph needs more than that (a slice that no longer fits), reading it says so. A copy; in a. */
const fsim_yaml *fsim_scale_shapes(fsim_arena *a, const fsim_yaml *y, int64_t factor);
/* Where that does not fit: all lengths but this one, or (`only`) this one alone; down to 1 then. */
const fsim_yaml *fsim_scale_around(fsim_arena *a, const fsim_yaml *y, int64_t factor, int64_t length, bool only);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h: what the rules of pattern.c begin with. */
#ifndef FUSESIM_PLAN_RIVALS_PATTERN_H
#define FUSESIM_PLAN_RIVALS_PATTERN_H

#include "plan/search/cluster.h"

/* Is it elementwise? Random numbers are. */
bool fsim_is_pointwise(fsim_op op);
/* Are all primitives of the operators that part x is of elementwise? */
bool fsim_is_elementwise(const fsim_graph *g, const fsim_part *x);

/* The kernels of PyTorch (eager.c, but for views) of operators that rules do not take apart, and every other primitive
 * alone. In a. */
fsim_partition fsim_pattern_start(fsim_problem *p, fsim_arena *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* call.h: the operators that a serving stack runs as a call of its library, as one group. */
#ifndef FUSESIM_FUSION_CALL_H
#define FUSESIM_FUSION_CALL_H

#include "fusion/group.h"

/* Whether they could be one generated kernel is not asked. Every tensor from outside counts as read once: whole, or
 * what the call's permutes or its window take of it. In a. */
fsim_group fsim_group_of_call(const fsim_graph *g, const fsim_serving_call *call, fsim_arena *a);

#endif

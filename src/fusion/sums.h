/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h: which sums a kernel may have over more than a row or a tile of its own: its blocks leave parts of them, and a
 * second launch adds those (across.c). */
#ifndef FUSESIM_FUSION_SUMS_H
#define FUSESIM_FUSION_SUMS_H

#include "fusion/group.h"

/* Is primitive n a sum that a kernel may have beside reductions of rows, over all of its rows? */
bool fsim_may_sum_across(const fsim_graph *g, int n);
/* Does n add up as many elements as the contraction has results, all of them or each of its columns, in no order that
 * matters? A kernel with the contraction adds up those of each tile. */
bool fsim_may_sum_tiles(const fsim_limits *limits, int n, int contraction);

#endif

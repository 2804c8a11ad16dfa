/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.h: constraints in a workload file: separate:, fuse: and materialize:. */
#ifndef FUSESIM_PLAN_PRICE_USER_RULES_H
#define FUSESIM_PLAN_PRICE_USER_RULES_H

#include "plan/price/plan.h"

/* May both be in one kernel, by the library calls that the graph marks? What a library does in one call shares a kernel
 * with nothing else; operands may be laid out otherwise beside it. */
bool fsim_calls_agree(const fsim_graph *g, int x, int y);

/* Do the workload's constraints allow node[0, count), ascending, as one kernel? False with *why where two of them
 * are in one `separate` set, where a part of a `fuse` set is missing, or where the kernel would read a tensor inside
 * that `materialize` sends to memory. */
bool fsim_user_allows(const fsim_problem *p, const int *node, int count, fsim_refusal *why);

/* The smallest kernel with all of a set, with what the workload's fuse: puts into kernels with these, and with what
 * connects them: its primitives in node, ascending, with place for all. It may still be illegal. Returns how many. */
int fsim_smallest_kernel(const fsim_graph *g, const fsim_node_set *set, int *node, fsim_arena *a);

/* Does a partition that somebody else made, as a rival or a step of a search that was stopped, keep to `separate` and
 * `fuse`? */
bool fsim_keeps_rules(const fsim_problem *p, const fsim_partition *part);

#endif

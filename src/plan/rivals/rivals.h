/* SPDX-License-Identifier: Apache-2.0 */
/* rivals.h: the partitions that other systems would pick, over the same legality and priced by the same costs as the
 * optimum. Each has a file of its own that says what it models. */
#ifndef FUSESIM_PLAN_RIVALS_RIVALS_H
#define FUSESIM_PLAN_RIVALS_RIVALS_H

#include "plan/search/cluster.h"
#include "plan/search/search.h"

/* A partition of p's graph, in launch order, in a. With p->recompute off no primitive is in two parts. Where the
 * strategy names the rules that made its parts, *rule gets one for each, NULL entries for none. */
typedef fsim_partition fsim_partitioner(fsim_problem *p, fsim_arena *a, const char ***rule);

fsim_partitioner fsim_eager_partition, fsim_unfused_partition, fsim_greedy_partition, fsim_inductor_partition,
    fsim_pattern_partition, fsim_maximal_partition, fsim_xla_partition;

/* The plan of any strategy but optimal. Kernels cost what fusesim's would; fsim_plan_launched_by says what the maker's
 * cost. In a. */
void fsim_baseline(fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out);

/* Name of the i-th rule of pattern, in the order in which they are tried, and the engine that has it; NULL behind the
 * last. Rows may share a name. */
const char *fsim_pattern_rule(int i, const char **engine);

#endif

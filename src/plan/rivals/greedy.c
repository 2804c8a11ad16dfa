/* SPDX-License-Identifier: Apache-2.0 */
/* greedy.c: priority fusion by fusesim's own costs, then merges of any pair that still gains, also of results of
 * earlier merges. It looks one step ahead and no further. */
#include "plan/rivals/rivals.h"
#include "plan/search/merge.h"

static double objective_of(const fsim_belief *b, const fsim_kernel *k) { return (double)fsim_objective_of(b->p, k); }

fsim_partition fsim_greedy_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_partition singles = fsim_singles(p, a);
    fsim_clusters *c = fsim_clusters_of(p, &singles, a);
    const fsim_belief own = {.p = p, .time_s = objective_of};
    fsim_fuse_by_priority(c, &own);
    fsim_merge_all(c, fsim_gain);
    return fsim_partition_of(c, a, rule);
}

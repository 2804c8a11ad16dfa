/* SPDX-License-Identifier: Apache-2.0 */
/* maximal.c: merges whatever may be merged, at any cost, until nothing is left. */
#include "plan/rivals/rivals.h"
#include "plan/search/merge.h"

/* Producers with their readers first, then siblings. */
static double any_merge(const fsim_merge *m) { return m->flows ? 2 : 1; }

fsim_partition fsim_maximal_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_partition singles = fsim_singles(p, a);
    fsim_clusters *c = fsim_clusters_of(p, &singles, a);
    fsim_join_chains(c);
    fsim_merge_all(c, any_merge);
    return fsim_partition_of(c, a, rule);
}

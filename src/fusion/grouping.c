/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/grouping.h"

#include "fusion/sets.h"

bool fsim_refuse_set(grouping *w, fsim_rule rule, int a, int b, fsim_excess excess)
{
    return fsim_refuse_pair(w->why, rule, a, b, excess);
}

bool fsim_refuse_set_for_good(grouping *w, fsim_rule rule, int a, int b, fsim_excess excess)
{
    fsim_refuse_pair(w->why, rule, a, b, excess);
    w->why->final = true;
    return false;
}

bool fsim_grouping_reads(const grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    for (int k = 0; k < n->results; k++) {
        const fsim_tensor *t = &w->g->tensor[n->result[k]];
        for (int r = 0; r < t->readers && t->reader[r] <= w->node[w->count - 1]; r++)
            if (fsim_position(w->node, w->count, t->reader[r]) >= 0)
                return true;
    }
    return false;
}

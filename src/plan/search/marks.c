/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/marks.h"

#include <string.h>

void fsim_mark_part(const fsim_graph *g, const fsim_part *part, bool *in)
{
    memset(in, 0, sizeof *in * (size_t)g->nodes);
    for (int i = 0; i < part->count; i++)
        in[part->node[i]] = true;
}

fsim_part fsim_marked_part(const fsim_graph *g, const bool *in, fsim_arena *a)
{
    fsim_part part = {0, NULL, NULL};
    for (int n = 0; n < g->nodes; n++)
        part.count += in[n];
    part.node = fsim_new(a, int, part.count + 1);
    part.clone = fsim_new(a, bool, part.count + 1);
    for (int n = 0, i = 0; n < g->nodes; n++)
        if (in[n])
            part.node[i++] = n;
    return part;
}

bool fsim_is_read_inside(const fsim_graph *g, const bool *in, int n)
{
    for (int r = 0; r < g->node[n].results; r++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[r]];
        for (int k = 0; k < t->readers; k++)
            if (in[t->reader[k]])
                return true;
    }
    return false;
}

void fsim_mark_copy(const fsim_graph *g, const bool *stored, int n, bool *in)
{
    in[n] = true;
    for (int k = 0; k < g->node[n].args; k++) {
        const int t = g->node[n].arg[k].tensor, from = g->tensor[t].producer;
        if (from >= 0 && !in[from] && !stored[t])
            fsim_mark_copy(g, stored, from, in);
    }
}

void fsim_unmark(const fsim_graph *g, const fsim_part *part, int n, bool *in)
{
    in[n] = false;
    for (int i = part->count - 1; i >= 0; i--)
        if (part->clone[i] && in[part->node[i]] && !fsim_is_read_inside(g, in, part->node[i]))
            in[part->node[i]] = false;
}

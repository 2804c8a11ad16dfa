/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/pieces.h"

#include "plan/search/sets.h"

enum { MOST_COMPARED = 64 }; /* readers of a tensor that are compared with each other */

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static bool is_boundary(const fsim_graph *g, int node)
{
    return fsim_classes[fsim_ops[g->node[node].op].class].boundary;
}

/* Can no kernel hold both, and none a clone of one beside the other? */
static bool are_apart(const fsim_places *l, int x, int y)
{
    const bool stored = !l->clonable[l->place[x]] && !l->clonable[l->place[y]];
    return stored && fsim_fit_no_space(l, l->place[x], l->place[y]);
}

int *fsim_pieces(fsim_problem *p, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    int *parent = fsim_new(a, int, g->nodes + 1), *node = fsim_new(a, int, g->nodes + 1),
        *access = fsim_new(a, int, g->nodes + 2);
    fsim_places l;
    for (int n = 0; n < g->nodes; n++)
        parent[n] = node[n] = n;
    fsim_places_of(p, node, g->nodes, (fsim_set_limits){.most = 1}, a, &l);
    for (int t = 0; t < g->tensors; t++) {
        int many = 0;
        if (g->tensor[t].producer >= 0 && !g->tensor[t].materialize && !is_boundary(g, g->tensor[t].producer))
            access[many++] = g->tensor[t].producer;
        for (int r = 0; r < g->tensor[t].readers; r++)
            if (!is_boundary(g, g->tensor[t].reader[r]))
                access[many++] = g->tensor[t].reader[r];
        for (int i = 1; i < many; i++)
            for (int k = i < MOST_COMPARED ? 0 : i - 1; k < i; k++)
                if (i >= MOST_COMPARED || !are_apart(&l, access[i], access[k]))
                    parent[root_of(parent, access[i])] = root_of(parent, access[k]);
    }
    for (int n = 0; n < g->nodes; n++)
        parent[n] = root_of(parent, n);
    return parent;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rivals/layout.h"

#include "graph/map.h"

/* The one primitive that reads the tensor; -1. */
static int only_reader(const fsim_graph *g, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    return t->readers == 1 && !t->output && !t->materialize ? t->reader[0] : -1;
}

/* Does it put heads beside each other: [batch, heads, tokens, width] to [batch, tokens, heads, width]? */
static bool merges_heads(const fsim_shape *s, const fsim_node *n)
{
    if (s->rank != 4 || fsim_ops[n->op].class != FSIM_PERMUTE || n->op == FSIM_OP_FLIP)
        return false;
    const int64_t heads = s->dim[1], tokens = s->dim[2], width = s->dim[3];
    fsim_map m = {0};
    fsim_map_push(&m, s->dim[0], heads * tokens * width);
    fsim_map_push(&m, tokens, width);
    fsim_map_push(&m, heads, tokens * width);
    fsim_map_push(&m, width, 1);
    m.split = m.modes;
    return fsim_map_equal(&m, &n->arg[0].map);
}

int fsim_laid_out_by_attention(const fsim_graph *g, const fsim_source *s, int node[2])
{
    if (s->op != FSIM_OP_ATTENTION || s->nodes == 0)
        return 0;
    const int result = g->node[s->first + s->nodes - 1].result[0], merged = only_reader(g, result);
    if (merged < 0 || !merges_heads(&g->tensor[result].shape, &g->node[merged]))
        return 0;
    node[0] = merged;
    const int copy = only_reader(g, g->node[merged].result[0]);
    if (copy < 0 || g->node[copy].op != FSIM_OP_COPY || g->source[g->node[copy].source].nodes != 1)
        return 1;
    node[1] = copy;
    return 2;
}

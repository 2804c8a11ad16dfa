/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/sums.h"

/* Place by place, of rows that are one after the other; or all elements of what is contiguous. */
bool fsim_may_sum_across(const fsim_graph *g, int n)
{
    const fsim_node *x = &g->node[n];
    if ((x->op != FSIM_OP_SUM && x->op != FSIM_OP_MEAN) || x->results > 1 || x->reduced < 2 ||
        !fsim_dtype_floating(g->tensor[x->result[0]].dtype))
        return false;
    fsim_map m = x->arg[0].map, rows = {0};
    m.offset = 0;
    m = fsim_map_simplify(m);
    if (x->points > 1)
        fsim_map_push(&rows, x->points, 1);
    rows.split = rows.modes;
    fsim_map_push(&rows, x->reduced, x->points);
    return fsim_map_equal(&m, &rows);
}

bool fsim_may_sum_tiles(const fsim_limits *limits, int n, int contraction)
{
    const fsim_node *x = &limits->graph->node[n], *c = &limits->graph->node[contraction];
    return !limits->strict && !c->gemm.convolution && (x->points == 1 || x->points == c->gemm.n) &&
           x->points * x->reduced == c->points && fsim_may_sum_across(limits->graph, n);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/online.h"

/* The primitive that computes argument k of n, if its operator is `op`; or NULL. */
static const fsim_node *made_by(const fsim_graph *g, const fsim_node *n, int k, fsim_op op)
{
    const int from = k < n->args ? g->tensor[n->arg[k].tensor].producer : -1;
    return from >= 0 && g->node[from].op == op ? &g->node[from] : NULL;
}

/* Do both reduce the same rows, each of its own argument? */
static bool same_rows(const fsim_node *x, const fsim_node *y)
{
    fsim_map a = x->arg[0].map, b = y->arg[0].map;
    a.offset = b.offset = 0;
    return fsim_map_equal(&a, &b);
}

/* If d = x - r, where r is `op` over the row of x that n reduces: the primitive of r. Otherwise -1. */
static int deviation_from(const fsim_graph *g, const fsim_node *n, const fsim_node *d, fsim_op op)
{
    const fsim_node *r = d->args == 2 ? made_by(g, d, 1, op) : NULL;
    if (!r || r->arg[0].tensor != d->arg[0].tensor || !same_rows(r, n))
        return -1;
    return (int)(r - g->node);
}

int fsim_online_with(const fsim_graph *g, int i)
{
    const fsim_node *n = &g->node[i];
    if (n->op != FSIM_OP_SUM && n->op != FSIM_OP_MEAN)
        return -1;
    const fsim_node *e = made_by(g, n, 0, FSIM_OP_EXP), *d = e ? made_by(g, e, 0, FSIM_OP_SUB) : NULL;
    if (d)
        return deviation_from(g, n, d, FSIM_OP_MAX);
    const fsim_node *square = made_by(g, n, 0, FSIM_OP_MUL), *power = made_by(g, n, 0, FSIM_OP_POW);
    if (square && (square->args != 2 || square->arg[0].tensor != square->arg[1].tensor))
        return -1;
    if (power && !(power->attrs.has_scalar && power->attrs.scalar == 2))
        return -1;
    square = square ? square : power;
    d = square ? made_by(g, square, 0, FSIM_OP_SUB) : NULL;
    return d ? deviation_from(g, n, d, FSIM_OP_MEAN) : -1;
}

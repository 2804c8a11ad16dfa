/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/fold.h"

#include "fusion/chain.h"
#include "fusion/sets.h"

bool fsim_folds(const fsim_node *n)
{
    const fsim_class class = fsim_ops[n->op].class;
    return n->args > 0 && fsim_classes[class].inlines && class != FSIM_RANDOM;
}

/* Is the value known before the run, because it is a weight or computed from weights alone? */
static bool constant(const fsim_graph *g, int tensor, int depth)
{
    const fsim_tensor *t = &g->tensor[tensor];
    if (t->producer < 0)
        return t->role == FSIM_WEIGHT;
    const fsim_node *n = &g->node[t->producer];
    bool all = depth < FSIM_FOLD_DEPTH && fsim_folds(n);
    for (int k = 0; k < n->args && all; k++)
        all = constant(g, n->arg[k].tensor, depth + 1);
    return all;
}

/* Can a factor be multiplied into the operand before the run? It is a weight, or one laid out otherwise, and floats of
 * 16 bits or more as it lies in memory: what a kernel casts or computes from stored integers has no room for it. */
static bool takes_factor(const fsim_graph *g, int tensor, int depth)
{
    const fsim_tensor *t = &g->tensor[tensor];
    if (t->producer < 0)
        return t->role == FSIM_WEIGHT && fsim_dtype_floating(t->dtype) && fsim_dtype_bytes(t->dtype) >= 2;
    const fsim_node *n = &g->node[t->producer];
    return depth < FSIM_FOLD_DEPTH && fsim_ops[n->op].class == FSIM_PERMUTE && n->args == 1 &&
           takes_factor(g, n->arg[0].tensor, depth + 1);
}

/* The member that is the only reader of node[i]'s result, or -1. */
static int only_reader(const fsim_graph *g, const int *node, int count, int i)
{
    const fsim_node *n = &g->node[node[i]];
    const fsim_tensor *t = &g->tensor[n->result[0]];
    return n->results == 1 && t->readers == 1 && !t->output && !t->materialize
               ? fsim_position(node, count, t->reader[0])
               : -1;
}

/* Over n's points, does the element that x reads change only with the column of the contraction's weights? */
static bool by_column(const fsim_access *x, const fsim_node *contraction)
{
    fsim_map vector, weight;
    if (x->how != FSIM_READ_MAP || contraction->arg[1].how != FSIM_READ_MAP ||
        !fsim_map_align(&x->map, &contraction->arg[1].map, &vector, &weight))
        return false;
    for (int i = 0; i < vector.modes; i++)
        if (vector.mode[i].stride != 0 && weight.mode[i].stride == 0)
            return false;
    return true;
}

/* Does primitive n scale or shift the columns of tensor `from`, which is the contraction's result so far? */
static bool affine(const fsim_graph *g, const fsim_node *n, int from, const fsim_node *contraction, bool *scales,
                   bool *shifts)
{
    const bool scale = n->op == FSIM_OP_MUL || n->op == FSIM_OP_DIV,
               shift = n->op == FSIM_OP_ADD || n->op == FSIM_OP_SUB;
    const int mine = n->arg[0].tensor == from ? 0 : 1;
    if ((!scale && !shift) || n->points != contraction->points || n->args > 2 || (n->op == FSIM_OP_DIV && mine != 0) ||
        n->arg[mine].how != FSIM_READ_MAP || !fsim_map_is_identity(&n->arg[mine].map))
        return false;
    if (n->args == 2 && (n->arg[1 - mine].tensor == from || !by_column(&n->arg[1 - mine], contraction) ||
                         !constant(g, n->arg[1 - mine].tensor, 0)))
        return false;
    *scales = *scales || (scale && n->args == 2);
    *shifts = *shifts || shift;
    return true;
}

fsim_folded fsim_fold(const fsim_graph *g, const fsim_selection *set, int anchor, fsim_arena *a)
{
    const int *node = set->node, count = set->count;
    const fsim_node *contraction = &g->node[node[anchor]];
    fsim_folded f = {.member = fsim_new(a, bool, count)};
    bool scales = false;
    if (!takes_factor(g, contraction->arg[1].tensor, 0))
        return f;
    for (int at = anchor; !set->stored[at];) {
        const int next = only_reader(g, node, count, at);
        if (next < 0 || !affine(g, &g->node[node[next]], g->node[node[at]].result[0], contraction, &scales, &f.shifts))
            break;
        f.member[next] = true;
        at = next;
    }
    for (int i = count; i-- > 0;) { /* computes scales and shifts, and nothing else reads it */
        const fsim_tensor *t = &g->tensor[g->node[node[i]].result[0]];
        bool all = i != anchor && !f.member[i] && !set->stored[i] && constant(g, g->node[node[i]].result[0], 0);
        for (int k = 0; k < t->readers && all; k++) {
            const int reader = fsim_position(node, count, t->reader[k]);
            all = reader < 0 || f.member[reader];
        }
        f.member[i] = f.member[i] || all;
        f.members += f.member[i];
    }
    if (!scales)
        return (fsim_folded){.member = fsim_new(a, bool, count)};
    return f;
}

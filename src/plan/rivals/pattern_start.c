/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_start.c: what the rules of pattern.c find before any of them is applied: operators as PyTorch launches them,
 * where no rule takes them apart. */
#include "plan/rivals/pattern.h"

#include "plan/rivals/rivals.h"
#include <math.h>

bool fsim_is_pointwise(fsim_op op)
{
    return fsim_ops[op].class == FSIM_ELEMENTWISE || fsim_ops[op].class == FSIM_RANDOM;
}

static bool all_pointwise(const fsim_graph *g, const fsim_source *s)
{
    for (int n = s->first; n < s->first + s->nodes; n++)
        if (!fsim_is_pointwise(g->node[n].op))
            return false;
    return true;
}

/* Are all primitives of the operator elementwise, and does nobody else read what it computes on the way? A gradient
 * does, where PyTorch's kernels compute it again. */
static bool is_expression(const fsim_graph *g, const fsim_source *s)
{
    const int end = s->first + s->nodes;
    for (int n = s->first; n < end - 1; n++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
        for (int k = 0; k < t->readers; k++)
            if (t->reader[k] >= end)
                return false;
    }
    return all_pointwise(g, s);
}

/* Does some rule take apart the operator that primitive n is of, or is it an expression, which rules fuse as well as
 * PyTorch does? A gradient is of its operator; that of a single primitive is no operator of its own. */
static bool is_taken_apart(const fsim_graph *g, int n)
{
    const fsim_source *s = &g->source[g->node[n].source], *of = s->gradient_of >= 0 ? &g->source[s->gradient_of] : s;
    bool contracts = false;
    for (int i = of->first; i < of->first + of->nodes; i++)
        contracts = contracts || fsim_ops[g->node[i].op].class == FSIM_CONTRACTION;
    return (is_expression(g, s) && is_expression(g, of)) || (of != s && of->nodes == 1) ||
           of->op == FSIM_OP_CROSS_ENTROPY || (contracts && s->op != FSIM_OP_ATTENTION);
}

/* Is a kernel of PyTorch's, part i of c, no operator for these engines: taken apart, or one that would take longer than
 * its own primitives, those that are new in it? */
static bool falls_apart(fsim_clusters *c, int i, const bool *placed)
{
    const fsim_part *x = &c->part[i];
    const fsim_kernel *k = fsim_joined_like(c, &i, 1, -1);
    double apart_s = 0;
    for (int j = 0; j < x->count; j++) {
        if (placed[x->node[j]])
            continue;
        if (is_taken_apart(c->p->graph, x->node[j]))
            return true;
        const fsim_kernel *alone = fsim_kernel_alone(c->p, &x->node[j], 1, c->a);
        apart_s += alone ? alone->time_s : INFINITY;
    }
    return !k || k->time_s > apart_s;
}

fsim_partition fsim_pattern_start(fsim_problem *p, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    const fsim_partition all = fsim_operators_partition(p, a), single = fsim_singles(p, a);
    fsim_clusters *c = fsim_clusters_of(p, &all, a);
    fsim_partition out = {0, fsim_new(a, fsim_part, g->nodes + all.parts + 1)};
    bool *placed = fsim_new(a, bool, g->nodes + 1);
    for (int i = 0; i < all.parts; i++) {
        const fsim_part *x = &all.part[i];
        const bool whole = x->count == 1 || !falls_apart(c, i, placed);
        if (whole)
            out.part[out.parts++] = *x;
        for (int k = 0; k < x->count; k++) {
            if (!whole && !placed[x->node[k]])
                out.part[out.parts++] = single.part[x->node[k]];
            placed[x->node[k]] = true;
        }
    }
    return out;
}

bool fsim_is_elementwise(const fsim_graph *g, const fsim_part *x)
{
    for (int i = 0; i < x->count; i++)
        if (!all_pointwise(g, &g->source[g->node[x->node[i]].source]))
            return false;
    return true;
}

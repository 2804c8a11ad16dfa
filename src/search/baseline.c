/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c: the partitions that users know, over the same legality and the same costs as the optimum.
 *   eager    each source operator alone, as PyTorch launches it: permutes, expands and slices are free, their readers pay the strides
 *   unfused  one kernel a primitive
 *   maximal  merges whatever may merge
 *   greedy   merges the pair with the largest predicted gain, until none gains
 *   inductor merges by bytes shared, at most 64 primitives a kernel; contractions and scans stay with the vendor's library
 *   pattern  merges by the rules of ONNX Runtime and TensorRT style engines */
#include "search/merge.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

const char *const fsim_strategy_names[FSIM_PLAN_COUNT] = {"eager", "unfused", "optimal", "greedy", "inductor", "pattern", "maximal", "file"};

enum { INDUCTOR_MOST = 64 }; /* torch._inductor.config.max_fusion_size */

static fsim_class class_of(const fsim_graph *g, int n) { return fsim_ops[g->node[n].op].class; }

static fsim_part part_of(fsim_arena *a, const int *node, int count)
{
    fsim_part part = {count, fsim_new(a, int, count), fsim_new(a, bool, count)};
    memcpy(part.node, node, (size_t)count * sizeof *node);
    return part;
}

static fsim_partition singles(const fsim_problem *p, fsim_arena *a)
{
    fsim_partition out = {p->graph->nodes, fsim_new(a, fsim_part, p->graph->nodes + 1)};
    for (int n = 0; n < p->graph->nodes; n++)
        out.part[n] = part_of(a, &n, 1);
    return out;
}

/* Eager. */

/* A view by strides: nothing runs, the reader reads through it. */
static bool is_strided_view(const fsim_graph *g, int n)
{
    return class_of(g, n) == FSIM_PERMUTE && g->source[g->node[n].source].nodes == 1 && !g->tensor[g->node[n].result[0]].output &&
           !g->tensor[g->node[n].result[0]].materialize;
}

/* node[0, count) with the strided views that it reads, and those that they read. Returns the new count. */
static int with_views(const fsim_graph *g, int *node, int count, int room)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < g->node[node[i]].args; k++) {
            const int from = g->tensor[g->node[node[i]].arg[k].tensor].producer;
            bool known = from < 0 || !is_strided_view(g, from);
            for (int j = 0; j < count && !known; j++)
                known = node[j] == from;
            if (!known && count < room)
                node[count++] = from;
        }
    qsort(node, (size_t)count, sizeof *node, fsim_by_int);
    return count;
}

static bool one_kernel(const fsim_problem *p, const int *node, int count, const bool *stored)
{
    const fsim_candidate *c = fsim_candidate_of(p, node, count, stored);
    return c->legal;
}

typedef struct {
    const fsim_problem *p;
    fsim_arena *a;
    fsim_partition out;
    int room;
    bool *wanted; /* strided views that some reader can't read through: they are copied */
} eager;

static void add_eager(eager *e, const int *node, int count)
{
    const fsim_graph *g = e->p->graph;
    int *all = fsim_new(e->a, int, count + 64);
    memcpy(all, node, (size_t)count * sizeof *node);
    const int with = with_views(g, all, count, count + 64);
    bool *stored = fsim_new(e->a, bool, with);
    for (int i = 0; i < with; i++)
        for (int k = 0; k < count; k++)
            stored[i] = stored[i] || (all[i] == node[k] && k == count - 1);
    for (int i = 0; i < with; i++) { /* what others of its source or of the graph read */
        bool own = false;
        for (int k = 0; k < count; k++)
            own = own || all[i] == node[k];
        for (int r = 0; own && r < g->node[all[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[all[i]].result[r]];
            for (int q = 0; q < t->readers; q++) {
                bool inside = false;
                for (int k = 0; k < count; k++)
                    inside = inside || node[k] == t->reader[q];
                stored[i] = stored[i] || !inside;
            }
            stored[i] = stored[i] || t->output || t->materialize;
        }
    }
    if (with > count && one_kernel(e->p, all, with, stored)) {
        *FSIM_PUSH(e->a, e->out.part, e->out.parts, e->room) = part_of(e->a, all, with);
        return;
    }
    for (int i = 0; i < with; i++)
        e->wanted[all[i]] = e->wanted[all[i]] || is_strided_view(g, all[i]);
    *FSIM_PUSH(e->a, e->out.part, e->out.parts, e->room) = part_of(e->a, node, count);
}

/* One source operator: a kernel where it is one, else as few as merging gives. A convolution's bias is a kernel of its own. */
static void add_source(eager *e, const fsim_source *s)
{
    const fsim_graph *g = e->p->graph;
    fsim_group made;
    fsim_refusal why;
    int *node = fsim_new(e->a, int, s->nodes + 1);
    bool convolution = false;
    for (int i = 0; i < s->nodes; i++) {
        node[i] = s->first + i;
        convolution = convolution || g->node[node[i]].gemm.convolution;
    }
    if (s->nodes == 1 || (!convolution && fsim_legal(&e->p->limits, node, s->nodes, e->a, &made, &why))) {
        add_eager(e, node, s->nodes);
        return;
    }
    /* greedily from the first primitive on */
    for (int from = 0; from < s->nodes;) {
        int take = convolution ? 1 : s->nodes - from;
        while (take > 1 && !fsim_legal(&e->p->limits, node + from, take, e->a, &made, &why))
            take--;
        add_eager(e, node + from, take);
        from += take;
    }
}

static fsim_partition eager_partition(const fsim_problem *p, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    eager e = {.p = p, .a = a, .wanted = fsim_new(a, bool, g->nodes + 1)};
    for (int s = 0; s < g->sources; s++)
        if (g->source[s].nodes > 0 && !(g->source[s].nodes == 1 && is_strided_view(g, g->source[s].first)))
            add_source(&e, &g->source[s]);
    for (int n = g->nodes; n-- > 0;) /* backwards: a copied view may itself read through another */
        if (e.wanted[n])
            add_eager(&e, &n, 1);
    return e.out;
}

/* Scores. */

static double any_merge(const fsim_merge *m, const fsim_kernel *kernel, const char **rule)
{
    (void)kernel;
    (void)rule;
    return m->flows ? 2 : 1; /* along the data first, siblings after */
}

static bool has_class(const fsim_graph *g, const fsim_part *part, fsim_class class)
{
    for (int i = 0; i < part->count; i++)
        if (class_of(g, part->node[i]) == class)
            return true;
    return false;
}

static double shared_bytes(const fsim_merge *m, const fsim_kernel *kernel, const char **rule)
{
    const fsim_graph *g = m->p->graph;
    double bytes = 0;
    (void)rule;
    if (m->both->count > INDUCTOR_MOST || has_class(g, m->both, FSIM_CONTRACTION) || kernel->passes > 1)
        return 0;
    if (has_class(g, m->both, FSIM_WINDOW) && has_class(g, m->second, FSIM_WINDOW))
        return 0; /* a pool materialises its input */
    for (int i = 0; i < m->first->count; i++) {
        const fsim_node *n = &g->node[m->first->node[i]];
        for (int k = 0; k < n->args + n->results; k++) {
            const int t = k < n->args ? n->arg[k].tensor : n->result[k - n->args];
            bool shared = false;
            for (int j = 0; j < m->second->count && !shared; j++)
                for (int q = 0; q < g->node[m->second->node[j]].args && !shared; q++)
                    shared = g->node[m->second->node[j]].arg[q].tensor == t;
            bytes += shared ? (double)g->tensor[t].bytes * (k < n->args ? 1 : 2) : 0;
        }
    }
    return bytes;
}

static bool only_pointwise(const fsim_graph *g, const fsim_part *part)
{
    for (int i = 0; i < part->count; i++)
        if (class_of(g, part->node[i]) != FSIM_ELEMENTWISE && class_of(g, part->node[i]) != FSIM_RANDOM)
            return false;
    return true;
}

/* ONNX Runtime and TensorRT style: a contraction takes the bias, norm or activation behind it, unary chains merge, composites are one kernel already. */
static double by_pattern(const fsim_merge *m, const fsim_kernel *kernel, const char **rule)
{
    const fsim_graph *g = m->p->graph;
    (void)kernel;
    if (!m->flows || !only_pointwise(g, m->second))
        return 0;
    const fsim_source *s = &g->source[g->node[m->second->node[m->second->count - 1]].source];
    int reads = 0;
    for (int i = 0; i < m->second->count; i++) { /* what the second needs besides the first's result */
        const fsim_node *n = &g->node[m->second->node[i]];
        for (int k = 0; k < n->args; k++)
            reads += g->tensor[n->arg[k].tensor].producer < 0;
    }
    if (has_class(g, m->first, FSIM_CONTRACTION)) {
        const bool convolution = g->node[kernel->group->anchor >= 0 ? kernel->group->anchor : m->first->node[0]].gemm.convolution;
        if (s->op == FSIM_OP_BATCH_NORM)
            *rule = convolution ? "ConvBn" : "MatMulBn";
        else if (s->op == FSIM_OP_ADD)
            *rule = convolution ? "ConvAdd" : reads ? "MatMulBias" : "GemmAdd";
        else if (reads == 0)
            *rule = convolution ? "ConvActivation" : "GemmActivation";
        else
            return 0;
        return 3;
    }
    if (!only_pointwise(g, m->first))
        return 0;
    *rule = s->op == FSIM_OP_GELU ? "BiasGelu" : reads ? "ScaleOffset" : "PointwiseChain";
    return 2;
}

void fsim_baseline(const fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out)
{
    static fsim_merge_score *const score[FSIM_STRATEGY_COUNT] = {[FSIM_STRATEGY_GREEDY] = fsim_gain,
                                                                 [FSIM_STRATEGY_INDUCTOR] = shared_bytes,
                                                                 [FSIM_STRATEGY_PATTERN] = by_pattern,
                                                                 [FSIM_STRATEGY_MAXIMAL] = any_merge};
    fsim_arena *scratch = fsim_arena_new();
    const bool by_source = strategy == FSIM_STRATEGY_EAGER || strategy == FSIM_STRATEGY_PATTERN;
    fsim_partition start = by_source ? eager_partition(p, scratch) : strategy == FSIM_STRATEGY_MAXIMAL ? fsim_chained_singles(p, scratch) : singles(p, scratch);
    fsim_partition made = start;
    const char **rule = NULL;
    fsim_refusal why;
    if (score[strategy])
        fsim_merge_all(p, &start, score[strategy], scratch, &made, &rule);
    bool ok = fsim_price(p, &made, a, out, &why);
    if (!ok) { /* a merge that only the whole plan could refuse: fall back to what it started from */
        rule = NULL;
        start = singles(p, scratch);
        made = start;
        ok = fsim_price(p, &made, a, out, &why);
    }
    for (int k = 0; rule && ok && k < out->kernels; k++)
        for (int i = 0; i < made.parts; i++)
            if (made.part[i].node[0] == out->partition.part[k].node[0] && made.part[i].count == out->partition.part[k].count)
                out->rule[k] = rule[i];
    out->strategy = fsim_strategy_names[strategy];
    fsim_arena_free(scratch);
}

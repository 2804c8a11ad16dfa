/* SPDX-License-Identifier: Apache-2.0 */
/* eager.c: one kernel for each operator of the workload, as PyTorch launches it. Permutes, expands and slices are
 * free, and their readers have strided accesses. A flip is a copy (ATen/native/TensorTransformations). */
#include "plan/rivals/rivals.h"

#include "fusion/fuse.h"
#include "plan/price/price.h"
#include "plan/rivals/layout.h"
#include <stdlib.h>
#include <string.h>

static bool is_strided_view(const fsim_graph *g, int n)
{
    const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
    return fsim_ops[g->node[n].op].class == FSIM_PERMUTE && g->node[n].op != FSIM_OP_FLIP &&
           g->source[g->node[n].source].nodes == 1 && !t->output && !t->materialize;
}

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    fsim_partition out;
    int room;
    bool *copied; /* strided views that some reader can't read through: one copy is made, for all readers */
    bool *stored; /* what the kernel of an attention lays out (layout.h): no operators of their own */
    bool views;   /* are views free? */
    bool again;
} eager;

/* Adds to node[0, count) the strided views that it reads, and those that these read. Returns the new count. */
static int with_views(const eager *e, int *node, int count, int room)
{
    const fsim_graph *g = e->p->graph;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < g->node[node[i]].args; k++) {
            const int from = g->tensor[g->node[node[i]].arg[k].tensor].producer;
            bool known = from < 0 || !is_strided_view(g, from) || e->copied[from] || e->stored[from];
            for (int j = 0; j < count && !known; j++)
                known = node[j] == from;
            if (!known && count < room)
                node[count++] = from;
        }
    qsort(node, (size_t)count, sizeof *node, fsim_by_int);
    return count;
}

static bool contains(const int *node, int count, int n)
{
    return bsearch(&n, node, (size_t)count, sizeof n, fsim_by_int) != NULL;
}

static void add_eager(eager *e, const int *node, int count)
{
    enum { MOST_VIEWS = 64 };
    const fsim_graph *g = e->p->graph;
    int *all = fsim_new(e->a, int, count + MOST_VIEWS);
    memcpy(all, node, (size_t)count * sizeof *node);
    int with = with_views(e, all, count, count + MOST_VIEWS);
    bool *stored = fsim_new(e->a, bool, with);
    for (int i = 0; i < with; i++) /* of its own primitives, those that others read */
        for (int r = 0; contains(node, count, all[i]) && r < g->node[all[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[all[i]].result[r]];
            stored[i] = stored[i] || t->output || t->materialize || all[i] == node[count - 1];
            for (int k = 0; k < t->readers; k++)
                stored[i] = stored[i] || !contains(node, count, t->reader[k]);
        }
    if (with > count && !fsim_candidate_of(e->p, all, with, stored)->legal) {
        for (int i = 0; i < with; i++)
            e->copied[all[i]] = e->copied[all[i]] || !contains(node, count, all[i]);
        e->again = true;
        memcpy(all, node, (size_t)count * sizeof *node);
        with = count;
    }
    *FSIM_PUSH(e->a, e->out.part, e->out.parts, e->room) = (fsim_part){with, all, fsim_new(e->a, bool, with)};
}

/* Composites that PyTorch runs as several operators with a kernel each, and losses whose values it stores before it
 * takes their mean. Other composites are one kernel where that is legal. Sources: ATen/native/Loss.cpp,
 * torch/nn/functional.py. */
static const struct {
    fsim_op op;
    bool before_last; /* all primitives but the last form one kernel; otherwise each is its own */
} pieces[] = {{FSIM_OP_MSE_LOSS, true},
              {FSIM_OP_SMOOTH_L1_LOSS, true},
              {FSIM_OP_SWIGLU, true},
              {FSIM_OP_L1_LOSS, false},
              {FSIM_OP_BCE_WITH_LOGITS, false},
              {FSIM_OP_SOFTSIGN, false},
              {FSIM_OP_TANHSHRINK, false},
              {FSIM_OP_KL_DIV, false},
              {FSIM_OP_NORMALIZE, false},
              {FSIM_OP_COSINE_SIMILARITY, false},
              {FSIM_OP_TRIPLET_MARGIN_LOSS, false},
              {FSIM_OP_LOGSUMEXP, false},
              {FSIM_OP_RMS_NORM, false},
              {FSIM_OP_ROTARY_EMBEDDING, false}};

/* Composites that take two kernels. The second begins behind the first primitive of this kind, and computes again
 * what it needs of the first one's full-size values. */
static const struct {
    fsim_op op, last;
} cuts[] = {{FSIM_OP_BATCH_NORM, FSIM_OP_RSQRT}, /* batch statistics, then their use */
            {FSIM_OP_GROUP_NORM, FSIM_OP_RSQRT},
            {FSIM_OP_INSTANCE_NORM, FSIM_OP_RSQRT},
            {FSIM_OP_CROSS_ENTROPY, FSIM_OP_ADD}}; /* log-softmax, then the targets' entries */

static bool runs_in_pieces(const fsim_source *s)
{
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i].op == s->op && !s->fused)
            return !pieces[i].before_last;
    return false;
}

/* Elementwise operators whose backward pass is a kernel of ATen's own. That of others is a formula of operators
 * (derivatives.yaml), each a kernel: of a product, one for each factor, and one that sums over what was broadcast. */
static const fsim_op with_own_backward[] = {
    FSIM_OP_TANH,      FSIM_OP_SIGMOID,  FSIM_OP_RELU,     FSIM_OP_RELU6,      FSIM_OP_LEAKY_RELU, FSIM_OP_ELU,
    FSIM_OP_SELU,      FSIM_OP_CELU,     FSIM_OP_PRELU,    FSIM_OP_HARDSHRINK, FSIM_OP_SOFTSHRINK, FSIM_OP_LOGSIGMOID,
    FSIM_OP_THRESHOLD, FSIM_OP_SOFTPLUS, FSIM_OP_HARDTANH, FSIM_OP_HARDSWISH,  FSIM_OP_SMOOTH_L1,  FSIM_OP_HARDSIGMOID};

/* Is source s a part of the backward pass of an operator whose backward pass is a formula? */
static bool is_formula(const fsim_graph *g, const fsim_source *s)
{
    if (s->phase != FSIM_BACKWARD || s->gradient_of < 0)
        return false;
    const fsim_source *x = &g->source[s->gradient_of];
    for (size_t i = 0; i < sizeof with_own_backward / sizeof *with_own_backward; i++)
        if (with_own_backward[i] == x->op)
            return false;
    return runs_in_pieces(x) || fsim_ops[x->op].class == FSIM_ELEMENTWISE;
}

static bool one_kernel(const eager *e, const int *node, int count)
{
    fsim_group group;
    fsim_refusal why;
    return count == 1 || (fsim_legal(&e->p->limits, node, count, e->a, &group, &why) && group.across == 0 &&
                          fsim_kernel_alone(e->p, node, count, e->a));
}

/* The points of the largest of these primitives. */
static int64_t most_points(const fsim_graph *g, int first, int nodes)
{
    int64_t largest = 0;
    for (int n = first; n < first + nodes; n++)
        largest = g->node[n].points > largest ? g->node[n].points : largest;
    return largest;
}

/* Adds to node[0, count), primitives of s, the earlier primitives that they read and that are as large as anything
 * in s: the kernel computes those again. */
static int with_copies(const eager *e, const fsim_source *s, int *node, int count)
{
    const fsim_graph *g = e->p->graph;
    const int own = count;
    const int64_t largest = most_points(g, s->first, s->nodes);
    for (int i = 0; i < own; i++)
        for (int k = 0; k < g->node[node[i]].args; k++) {
            const int from = g->tensor[g->node[node[i]].arg[k].tensor].producer;
            bool take = e->p->recompute && from >= s->first && from < node[0] && g->node[from].points == largest &&
                        fsim_may_clone(e->p, from);
            for (int j = own; j < count; j++)
                take = take && node[j] != from;
            if (take)
                node[count++] = from;
        }
    qsort(node, (size_t)count, sizeof *node, fsim_by_int);
    return count;
}

/* The same, where of node[0, count) all but own[0, owns) are copies. Both are sorted. */
static bool one_kernel_with(const eager *e, const int *node, int count, const int *own, int owns)
{
    const fsim_graph *g = e->p->graph;
    bool *stored = fsim_new(e->a, bool, count), *copy = fsim_new(e->a, bool, count);
    fsim_group group;
    fsim_refusal why;
    for (int i = 0; i < count; i++) {
        const fsim_tensor *t = &g->tensor[g->node[node[i]].result[0]];
        copy[i] = !contains(own, owns, node[i]);
        stored[i] = !copy[i] && (t->output || t->materialize || node[i] == own[owns - 1]);
        for (int k = 0; k < t->readers && !copy[i]; k++)
            stored[i] = stored[i] || !contains(node, count, t->reader[k]);
    }
    return fsim_group_of(&e->p->limits,
                         &(fsim_selection){.node = node, .count = count, .stored = stored, .clone = copy}, e->a, &group,
                         &why) &&
           group.across == 0;
}

/* The operator as ATen cuts it into two kernels. False where ATen does not, or where one of the two is no legal
 * kernel. */
static bool add_cut(eager *e, const fsim_source *s)
{
    const fsim_graph *g = e->p->graph;
    int *node = fsim_new(e->a, int, 2 * s->nodes + 1), cut = 0;
    bool reduces = false;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        for (int k = 0; cuts[i].op == s->op && k < s->nodes && !cut; k++) {
            reduces = reduces || fsim_ops[g->node[s->first + k].op].class == FSIM_REDUCE;
            cut = reduces && g->node[s->first + k].op == cuts[i].last ? k + 1 : 0;
        }
    for (int k = 0; k < s->nodes; k++)
        node[k] = s->first + k;
    if (cut == 0 || cut == s->nodes || !one_kernel(e, node, cut))
        return false;
    int *rest = fsim_new(e->a, int, 2 * s->nodes + 1);
    memcpy(rest, node + cut, (size_t)(s->nodes - cut) * sizeof *rest);
    const int count = with_copies(e, s, rest, s->nodes - cut);
    if (!one_kernel_with(e, rest, count, node + cut, s->nodes - cut))
        return false;
    add_eager(e, node, cut);
    add_eager(e, rest, count);
    return true;
}

/* The backward pass of operator `of`: its primitives. */
typedef struct {
    int of, first, nodes;
    int64_t largest; /* points */
} backward;

static bool has(const int *node, int count, int n)
{
    for (int i = 0; i < count; i++)
        if (node[i] == n)
            return true;
    return false;
}

/* Is primitive n as large as any of the backward pass, and cheap to compute again? */
static bool is_passing(const eager *e, const backward *x, int n)
{
    const fsim_graph *g = e->p->graph;
    const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
    return fsim_ops[g->node[n].op].class == FSIM_ELEMENTWISE && g->node[n].points == x->largest && !t->output &&
           !t->materialize && e->p->recompute && fsim_may_clone(e->p, n);
}

/* Adds to node[0, own), primitives of a backward pass, what they read of its operator's steps, and of the large values
 * that kernels before compute: each of PyTorch's kernels computes those again from what it keeps. Returns how many
 * there are, sorted. */
static int with_steps(const eager *e, const backward *x, int *node, int own)
{
    const fsim_graph *g = e->p->graph;
    const int first = node[0], last = g->source[x->of].first + g->source[x->of].nodes - 1;
    int count = own;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < g->node[node[i]].args; k++) {
            const fsim_tensor *t = &g->tensor[g->node[node[i]].arg[k].tensor];
            const int from = t->producer;
            const bool step = from >= g->source[x->of].first && from < last && !t->output && !t->materialize &&
                              e->p->recompute && fsim_may_clone(e->p, from),
                       before = from >= x->first && from < x->first + x->nodes && is_passing(e, x, from);
            if ((step || before) && first - from <= FSIM_CLONE_REACH && !has(node, count, from))
                node[count++] = from;
        }
    qsort(node, (size_t)count, sizeof *node, fsim_by_int);
    return count;
}

/* A kernel of `own` and of what it computes again, node[0, count). 0: there is none. */
static int kernel_of(const eager *e, const backward *x, const int *own, int owns, int *node)
{
    memcpy(node, own, (size_t)owns * sizeof *own);
    const int count = with_steps(e, x, node, owns);
    return one_kernel_with(e, node, count, own, owns) ? count : 0;
}

/* Leaves out of own[0, owns) the large values that nothing in it reads: they belong to the kernels behind it, at the
 * front of rest[0, *rests). Returns how many stay. */
static int without_unread(const eager *e, const backward *x, int *own, int owns, int *rest, int *rests)
{
    const fsim_graph *g = e->p->graph;
    for (int i = owns; *rests > 0 && i-- > 0;) {
        const fsim_tensor *t = &g->tensor[g->node[own[i]].result[0]];
        bool read = !is_passing(e, x, own[i]);
        for (int k = 0; k < t->readers; k++)
            read = read || has(own, owns, t->reader[k]);
        if (read)
            continue;
        memmove(rest + 1, rest, (size_t)(*rests)++ * sizeof *rest);
        rest[0] = own[i];
        memmove(own + i, own + i + 1, (size_t)(--owns - i) * sizeof *own);
    }
    return owns;
}

/* Adds the backward pass in as few kernels as possible. */
static void add_backward(eager *e, const backward *x)
{
    const int most = x->nodes + e->p->graph->source[x->of].nodes + 1;
    int *rest = fsim_new(e->a, int, most), *own = fsim_new(e->a, int, most), rests = x->nodes;
    for (int i = 0; i < rests; i++)
        rest[i] = x->first + i;
    while (rests > 0) {
        int *node = fsim_new(e->a, int, most), take = rests, count = 0;
        while (take > 0 && (count = kernel_of(e, x, rest, take, node)) == 0)
            take--;
        if (take == 0) { /* alone, from memory */
            node[0] = rest[0];
            take = count = 1;
        }
        memcpy(own, rest, (size_t)take * sizeof *own);
        memmove(rest, rest + take, (size_t)(rests -= take) * sizeof *rest);
        const int left = rests, owns = without_unread(e, x, own, take, rest, &rests);
        if (owns == 0) { /* all of it is read behind it alone: stored, as it is */
            rests = left;
            memmove(rest, rest + take, (size_t)rests * sizeof *rest);
        } else if (owns < take && (count = kernel_of(e, x, own, owns, node)) == 0) {
            memcpy(node, own, (size_t)owns * sizeof *own);
            count = owns;
        }
        add_eager(e, node, count);
    }
}

/* Does source s add up what several operators contribute, not only parts of one? */
static bool adds_operators(const fsim_graph *g, const fsim_source *s)
{
    if (!s->accumulates)
        return false;
    for (int n = s->first; n < s->first + s->nodes; n++)
        for (int k = 0; k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            if (from < 0 || g->source[g->node[from].source].gradient_of != s->gradient_of)
                return true;
        }
    return false;
}

/* Adds source s with those behind it that belong to the backward pass of the same operator, which is composed of
 * several primitives. Returns the last of them; -1 where it is no such source. */
static int add_composite_backward(eager *e, int s)
{
    const fsim_graph *g = e->p->graph;
    const fsim_source *x = &g->source[s];
    int last = s, nodes = x->nodes;
    if (x->phase != FSIM_BACKWARD || x->gradient_of < 0 || adds_operators(g, x) ||
        g->source[x->gradient_of].nodes < 2 || x->nodes == 0 || runs_in_pieces(&g->source[x->gradient_of]))
        return -1;
    for (int i = s + 1; i < g->sources && g->source[i].gradient_of == x->gradient_of; i++) {
        if (adds_operators(g, &g->source[i]) || (g->source[i].nodes > 0 && g->source[i].first != x->first + nodes))
            break;
        nodes += g->source[i].nodes;
        last = i;
    }
    add_backward(e, &(backward){x->gradient_of, x->first, nodes, most_points(g, x->first, nodes)});
    return last;
}

/* Of `left` primitives, node[0] the first, and of `most` at most, those that ATen has a kernel for together: 1 - x is
 * one (rsub). The gradient of log(sigmoid(x)) in a loss takes a sigmoid and its product as one, so that the loss has as
 * many kernels, of as many bytes, as PyTorch's formula for it (binary_cross_entropy_with_logits_backward: sigmoid, sub,
 * mul, div). */
static int together(const fsim_graph *g, const int *node, int left, int most)
{
    const fsim_node *n = &g->node[node[0]], *next = left > 1 ? &g->node[node[1]] : NULL;
    const fsim_source *s = &g->source[n->source];
    const bool of_loss = s->phase == FSIM_BACKWARD && s->gradient_of >= 0 &&
                         g->source[s->gradient_of].op == FSIM_OP_BCE_WITH_LOGITS,
               reads = next && next->args > 0 &&
                       (next->arg[0].tensor == n->result[0] || (next->args > 1 && next->arg[1].tensor == n->result[0])),
               pair = reads && ((n->op == FSIM_OP_NEG && next->op == FSIM_OP_ADD && next->attrs.has_scalar) ||
                                (of_loss && n->op == FSIM_OP_SIGMOID && next->op == FSIM_OP_MUL));
    const int take = most < 2 && pair ? 2 : most;
    return take < left ? take : left;
}

/* Adds the attention with what its kernel lays out. False where that is no kernel. */
static bool add_attention(eager *e, const fsim_source *s)
{
    int *node = fsim_new(e->a, int, s->nodes + 2);
    const int more = fsim_laid_out_by_attention(e->p->graph, s, node + s->nodes);
    for (int i = 0; i < s->nodes; i++)
        node[i] = s->first + i;
    if (more == 0 || !e->views || !one_kernel(e, node, s->nodes) || !one_kernel(e, node, s->nodes + more))
        return false;
    for (int i = s->nodes; i < s->nodes + more; i++)
        e->stored[node[i]] = true;
    add_eager(e, node, s->nodes + more);
    return true;
}

/* Adds one operator in as few kernels as possible. A convolution's bias is a kernel of its own. */
static void add_source(eager *e, const fsim_source *s)
{
    const fsim_graph *g = e->p->graph;
    int *node = fsim_new(e->a, int, s->nodes + 1), most = s->nodes;
    if (add_cut(e, s) || add_attention(e, s))
        return;
    for (int i = 0; i < s->nodes; i++) {
        node[i] = s->first + i;
        most = g->node[node[i]].gemm.convolution ? 1 : most;
    }
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i].op == s->op && !s->fused)
            most = pieces[i].before_last && s->nodes > 1 ? s->nodes - 1 : 1;
    if (is_formula(g, s))
        most = 1;
    for (int from = 0, take; from < s->nodes; from += take) {
        take = together(g, node + from, s->nodes - from, most);
        while (take > 1 && !one_kernel(e, node + from, take))
            take--;
        add_eager(e, node + from, take);
    }
}

/* A view that is read from part[i] over again is copied; in its place a view of it that only this part's kernel reads
 * through, which is no larger. */
static void copy_view(eager *e, const fsim_part *part, int n)
{
    const fsim_graph *g = e->p->graph;
    int copy = n;
    for (int k = 0; k < part->count; k++)
        for (int i = 0; i < g->node[part->node[k]].args; i++)
            if (is_strided_view(g, part->node[k]) && !e->copied[part->node[k]] &&
                g->tensor[g->node[part->node[k]].arg[i].tensor].producer == copy)
                copy = part->node[k];
    e->again = e->again || !e->copied[copy];
    e->copied[copy] = true;
}

/* Views that may not be recomputed, by option or because their readers are far away, are copied instead of read
 * through. */
static void copy_far_views(eager *e)
{
    bool *in_part = fsim_new(e->a, bool, e->p->graph->nodes + 1);
    for (int i = 0; i < e->out.parts; i++) {
        const fsim_part *part = &e->out.part[i];
        int first = 0; /* of those that no kernel before has */
        while (first + 1 < part->count && in_part[part->node[first]])
            first++;
        for (int k = 0; k < part->count; k++) {
            const int n = part->node[k];
            if (in_part[n] &&
                (!(e->p->recompute && fsim_may_clone(e->p, n)) || part->node[first] - n > FSIM_CLONE_REACH))
                copy_view(e, part, n);
            in_part[n] = true;
        }
    }
}

typedef struct {
    bool views;      /* has a view no kernel? */
    bool composites; /* has the backward pass of a composite kernels of its own? */
} how;

static fsim_partition partition_of(fsim_problem *p, fsim_arena *a, how as)
{
    const fsim_graph *g = p->graph;
    eager e = {.p = p, .a = a, .copied = fsim_new(a, bool, g->nodes + 1), .stored = fsim_new(a, bool, g->nodes + 1)};
    e.views = as.views;
    for (int n = 0; n < g->nodes; n++)
        e.copied[n] = !as.views;
    do {
        e.again = false;
        e.out.parts = 0;
        for (int s = 0; s < g->sources; s++) {
            const int first = g->source[s].first, last = as.composites ? add_composite_backward(&e, s) : -1;
            if (last >= 0)
                s = last;
            else if (g->source[s].nodes > 0 && !e.stored[first] &&
                     (g->source[s].nodes > 1 || !is_strided_view(g, first) || e.copied[first]))
                add_source(&e, &g->source[s]);
        }
        copy_far_views(&e);
    } while (e.again);
    return e.out;
}

static fsim_partition operators_of(fsim_problem *p, fsim_arena *a, bool views)
{
    fsim_refusal why;
    fsim_plan plan;
    if (p->graph->derived == FSIM_REVERSE) {
        const fsim_partition out = partition_of(p, a, (how){.views = views, .composites = true});
        if (fsim_price(p, &out, a, &plan, &why)) /* what kernels compute again may be too far away */
            return out;
    }
    return partition_of(p, a, (how){.views = views});
}

fsim_partition fsim_eager_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    (void)rule;
    return operators_of(p, a, true);
}

fsim_partition fsim_operators_partition(fsim_problem *p, fsim_arena *a) { return operators_of(p, a, false); }

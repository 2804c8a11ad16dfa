/* SPDX-License-Identifier: Apache-2.0 */
/* inductor_lower.c: TorchInductor's lowering: which values are buffers, and which are computed again by each of their
 * readers. */
#include "plan/rivals/inductor.h"

#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include "plan/rivals/constants.h"
#include "plan/rivals/layout.h"
#include "plan/rivals/min_cut.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    int operators, reads,
        read[MOST_READS + 1]; /* inlined value: the loads it needs; counting stops at MOST_READS + 1 */
    bool once;                /* contains a part that must not be computed twice */
} expression;

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    bool *buffer, *forced;
    int *unit;  /* per primitive: the operator whose one library kernel it belongs to, or -1 */
    int *last;  /* per operator with such a kernel: the primitive whose result that stores */
    int *addmm; /* per primitive: the product whose bias it adds, or -1 */
    expression *value;
    bool late; /* time was up: all are buffers */
} lowering;

static fsim_class class_of(const fsim_graph *g, int n) { return fsim_ops[g->node[n].op].class; }
static bool pointwise(const fsim_graph *g, int n)
{
    return class_of(g, n) == FSIM_ELEMENTWISE || class_of(g, n) == FSIM_RANDOM;
}

static void load(expression *e, int tensor)
{
    for (int i = 0; i < e->reads; i++)
        if (e->read[i] == tensor)
            return;
    e->operators++;
    if (e->reads <= MOST_READS)
        e->read[e->reads++] = tensor;
}

static expression expression_of(const lowering *w, int n)
{
    const fsim_node *x = &w->p->graph->node[n];
    expression e = {.operators = 1 + x->attrs.has_scalar, .once = !fsim_may_clone(w->p, n)};
    for (int k = 0; k < x->args; k++) {
        const int t = x->arg[k].tensor, from = w->p->graph->tensor[t].producer;
        if (from < 0 || w->buffer[from]) {
            load(&e, t);
            continue;
        }
        e.operators += w->value[from].operators - w->value[from].reads;
        e.once = e.once || w->value[from].once;
        for (int i = 0; i < w->value[from].reads; i++)
            load(&e, w->value[from].read[i]);
    }
    return e;
}

/* Is it a change of layout that a product applies while it loads its operand? */
static bool is_layout(const fsim_graph *g, int n)
{
    const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
    bool product = false;
    for (int r = 0; r < t->readers; r++)
        product = product || (class_of(g, t->reader[r]) == FSIM_CONTRACTION && !g->node[t->reader[r]].gemm.convolution);
    return product && fsim_swaps_matrix(&g->node[n]);
}

/* Is it a strided view with a contiguous last dimension? */
static bool is_view(const fsim_graph *g, int n)
{
    const fsim_map *m = &g->node[n].arg[0].map;
    return class_of(g, n) == FSIM_PERMUTE && g->node[n].op != FSIM_OP_FLIP && m->modes > 0 &&
           m->mode[m->modes - 1].stride == 1;
}

/* Does a library's call read the view n as it is, without a copy? Attention takes it with all its dimensions
 * (torch/_inductor: sdpa_constraint); a product as one matrix, or one of each of a batch with one stride
 * (ExternKernel.realize_input, ReinterpretView): heads that are split from the rows of several sequences are none, and
 * `reshape` has copied them before (torch/_decomp: matmul). */
static bool takes_view(const lowering *w, int n, int reader)
{
    const fsim_graph *g = w->p->graph;
    const fsim_node *x = &g->node[reader];
    if (w->unit[reader] >= 0)
        return true;
    const fsim_map m = fsim_map_simplify(g->node[n].arg[0].map);
    return class_of(g, reader) == FSIM_CONTRACTION && !x->gemm.convolution && m.modes <= (x->gemm.batch > 1 ? 3 : 2);
}

/* Is n such a view, and does a library read through it? Readers that are far apart get a copy (price.h). */
static bool leads_to_library(const lowering *w, int n)
{
    const fsim_tensor *t = &w->p->graph->tensor[w->p->graph->node[n].result[0]];
    bool leads = false;
    if (!is_view(w->p->graph, n) || w->forced[n] || (t->readers > 1 && !fsim_may_clone(w->p, n)))
        return false;
    for (int r = 0; r < t->readers && !leads; r++)
        leads = takes_view(w, n, t->reader[r]) || leads_to_library(w, t->reader[r]);
    return leads;
}

/* Does a kernel that writes to indexed places compute the values that it writes, tensor t, itself? Where atomics of
 * their type are missing it is PyTorch's, which reads them, unless it copies rows (torch/_inductor/lowering.py,
 * index_put_impl_, use_scatter_fallback). */
static bool computes_what_it_writes(const fsim_graph *g, const fsim_node *scatter, int t)
{
    enum { INTO, AT, VALUES };
    const fsim_tensor *values = &g->tensor[t];
    const bool copies_rows =
                   scatter->op == FSIM_OP_INDEX_COPY ||
                   (scatter->op == FSIM_OP_SCATTER && g->tensor[scatter->arg[AT].tensor].elems < values->elems),
               atomics = values->dtype != FSIM_BF16 && values->dtype != FSIM_I64 && values->dtype != FSIM_BOOL;
    return scatter->arg[VALUES].tensor == t && scatter->arg[INTO].tensor != t && scatter->arg[AT].tensor != t &&
           (copies_rows || atomics);
}

/* Must n be stored, because a reader or the workload needs it in memory? */
static bool must_be_buffer(const lowering *w, int n, int *readers)
{
    const fsim_graph *g = w->p->graph;
    const fsim_node *x = &g->node[n];
    bool must = x->effect || x->results > 1 || !fsim_classes[fsim_ops[x->op].class].inlines ||
                (x->op == FSIM_OP_CONCAT && x->args > MOST_CONCAT);
    const fsim_tensor *t = &g->tensor[x->result[0]];
    *readers = t->readers;
    must = must || t->readers == 0 || t->output || t->materialize;
    const bool view = is_view(g, n);
    for (int r = 0; r < t->readers && !must; r++) {
        const fsim_node *reader = &g->node[t->reader[r]];
        const fsim_class class = fsim_ops[reader->op].class;
        if ((view && (takes_view(w, n, t->reader[r]) || leads_to_library(w, t->reader[r]))) ||
            (class == FSIM_SCATTER && computes_what_it_writes(g, reader, x->result[0])))
            continue;
        must = w->unit[t->reader[r]] >= 0 || w->addmm[t->reader[r]] >= 0 || is_layout(g, t->reader[r]) ||
               leads_to_library(w, t->reader[r]) ||
               !(fsim_classes[class].inlines || class == FSIM_REDUCE || class == FSIM_SCAN ||
                 (class == FSIM_CONTRACTION && is_layout(g, n)));
        for (int k = 0; k < reader->args; k++)
            must = must ||
                   (reader->arg[k].tensor == x->result[0] && reader->arg[k].how != FSIM_READ_MAP && class != FSIM_SCAN);
    }
    return must;
}

/* Is n an elementwise value inside a norm? The statistics of a norm are one operator (var_mean) of its input, so they
 * are no readers of such a value. */
static bool inside_norm(const fsim_graph *g, int n)
{
    const fsim_source *s = &g->source[g->node[n].source];
    const bool norm = s->op == FSIM_OP_LAYER_NORM || s->op == FSIM_OP_BATCH_NORM || s->op == FSIM_OP_GROUP_NORM ||
                      s->op == FSIM_OP_INSTANCE_NORM;
    return norm && n < s->first + s->nodes - 1 && pointwise(g, n);
}

static bool is_buffer(const lowering *w, int n)
{
    const fsim_graph *g = w->p->graph;
    int readers;
    const expression *e = &w->value[n];
    if (w->unit[n] >= 0)
        return n == w->last[w->unit[n]];
    if (w->forced[n] || w->addmm[n] >= 0 || must_be_buffer(w, n, &readers) || e->operators > MOST_OPERATORS ||
        e->reads > MOST_READS)
        return true;
    if (!w->p->recompute)
        return readers > 1;
    return readers > 1 && !inside_norm(g, n) && (e->once || class_of(g, n) == FSIM_RANDOM || e->reads > REUSED_READS);
}

/* Does nobody else read what the operator computes on the way to its result? A gradient of its parts would. */
static bool is_closed(const fsim_graph *g, const fsim_source *s)
{
    for (int n = s->first; n < s->first + s->nodes - 1; n++)
        for (int r = 0; r < g->node[n].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[n].result[r]];
            for (int k = 0; k < t->readers; k++)
                if (t->reader[k] >= s->first + s->nodes)
                    return false;
        }
    return true;
}

/* Does the graph of ATen's operators have the sum of product n behind it, so that Inductor makes both addmm? A linear's
 * bias is a part of it; what another operator adds stands behind a view where results have more than two dimensions
 * (PyTorch, torch/_inductor/fx_passes/post_grad.py: a pattern of mm and add, of one type). */
static bool is_addmm(const fsim_graph *g, int n, int add)
{
    const fsim_tensor *product = &g->tensor[g->node[n].result[0]];
    bool same_type = g->node[add].op == FSIM_OP_ADD && g->node[add].args == 2;
    for (int k = 0; k < g->node[add].args; k++)
        same_type = same_type && g->tensor[g->node[add].arg[k].tensor].dtype == product->dtype;
    return same_type && (g->node[n].source == g->node[add].source || product->shape.rank == 2);
}

/* Chooses library kernels: attention, and matrix products with their biases and what else addmm adds. */
static void choose_libraries(lowering *w)
{
    const fsim_graph *g = w->p->graph;
    for (int n = 0; n < g->nodes; n++)
        w->unit[n] = w->addmm[n] = -1;
    for (int s = 0; s < g->sources; s++) {
        const fsim_source *source = &g->source[s];
        int *node = fsim_new(w->a, int, source->nodes + 2);
        fsim_refusal why;
        for (int i = 0; i < source->nodes; i++)
            node[i] = source->first + i;
        if (source->op == FSIM_OP_ATTENTION && is_closed(g, source) &&
            fsim_user_allows(w->p, node, source->nodes, &why) && fsim_kernel_alone(w->p, node, source->nodes, w->a)) {
            const int more = fsim_laid_out_by_attention(g, source, node + source->nodes),
                      all = source->nodes + (fsim_kernel_alone(w->p, node, source->nodes + more, w->a) ? more : 0);
            for (int i = 0; i < all; i++)
                w->unit[node[i]] = s;
            w->last[s] = node[all - 1];
        }
    }
    for (int n = 0; n < g->nodes; n++) {
        const fsim_tensor *product = &g->tensor[g->node[n].result[0]];
        if (class_of(g, n) != FSIM_CONTRACTION || g->node[n].gemm.convolution || g->node[n].gemm.batch != 1 ||
            w->unit[n] >= 0 || product->readers != 1 || product->output || product->materialize)
            continue;
        const int add = product->reader[0];
        const fsim_tensor *sum = &g->tensor[g->node[add].result[0]];
        bool only_pointwise = sum->readers > 0 && !sum->output && !sum->materialize;
        for (int r = 0; r < sum->readers; r++)
            only_pointwise = only_pointwise && pointwise(g, sum->reader[r]);
        const int both[2] = {n, add};
        fsim_refusal why;
        if (is_addmm(g, n, add) && !only_pointwise && fsim_user_allows(w->p, both, 2, &why) &&
            fsim_kernel_alone(w->p, both, 2, w->a))
            w->addmm[add] = n;
    }
}

/* The kernel of buffer n: n and the values that are inlined into it. */
static fsim_part closure(const lowering *w, int n)
{
    const fsim_graph *g = w->p->graph;
    fsim_part part = {0};
    int room = 0;
    if (w->unit[n] >= 0)
        for (int i = g->source[w->unit[n]].first; i < n; i++)
            if (w->unit[i] == w->unit[n])
                *FSIM_PUSH(w->a, part.node, part.count, room) = i;
    *FSIM_PUSH(w->a, part.node, part.count, room) = n;
    for (int i = 0; i < part.count; i++)
        for (int k = 0; k < g->node[part.node[i]].args; k++) {
            const int from = g->tensor[g->node[part.node[i]].arg[k].tensor].producer;
            bool known = from < 0 || w->buffer[from];
            for (int j = 0; j < part.count && !known; j++)
                known = part.node[j] == from;
            if (!known)
                *FSIM_PUSH(w->a, part.node, part.count, room) = from;
        }
    qsort(part.node, (size_t)part.count, sizeof *part.node, fsim_by_int);
    part.clone = fsim_new(w->a, bool, part.count);
    return part;
}

static bool is_kernel(const lowering *w, const fsim_part *part, int buffer)
{
    fsim_refusal why;
    bool *stored = fsim_new(w->a, bool, part->count);
    for (int i = 0; i < part->count; i++)
        stored[i] = part->node[i] == buffer;
    if (part->count == 1)
        return true;
    fsim_candidate *c = fsim_candidate_of(w->p, part->node, part->count, stored);
    return c->legal && fsim_user_allows(w->p, part->node, part->count, &why) &&
           fsim_kernel_for(w->p, c, fsim_new(w->a, bool, c->group->reads + 1),
                           fsim_new(w->a, bool, c->group->writes + 1));
}

/* A kernel computes again only what is near its own first primitive (price.h): values that are read further away, as
 * the tables of a rotary embedding by every layer, become buffers. Was there one? */
static bool store_distant(lowering *w, const fsim_partition *parts)
{
    int *owner = fsim_new(w->a, int, w->p->graph->nodes + 1); /* the first part that computes it, from 1 */
    bool any = false;
    for (int i = 0; i < parts->parts; i++) {
        const fsim_part *part = &parts->part[i];
        int first = -1;
        for (int k = 0; k < part->count; k++) {
            owner[part->node[k]] = owner[part->node[k]] ? owner[part->node[k]] : i + 1;
            if (first < 0 && owner[part->node[k]] == i + 1)
                first = part->node[k];
        }
        for (int k = 0; k < part->count; k++) {
            const int n = part->node[k];
            if (owner[n] == i + 1 || first - n <= FSIM_CLONE_REACH || w->forced[n])
                continue;
            w->forced[n] = any = true;
        }
    }
    return any;
}

/* Where time is up every value is a buffer: the plan is not used then. */
static bool give_up(lowering *w)
{
    if (w->late || !fsim_late(w->p))
        return false;
    for (int n = 0; n < w->p->graph->nodes; n++)
        w->forced[n] = true;
    return w->late = true;
}

/* Buffers as parts. Where a kernel can't compute everything that would be inlined into it, the values that the
 * buffer reads directly become buffers too. */
static fsim_partition lower(lowering *w)
{
    const fsim_graph *g = w->p->graph;
    fsim_partition out = {0, fsim_new(w->a, fsim_part, g->nodes + 1)};
    const fsim_mark mark = fsim_save(w->a);
    for (bool again = true; again;) {
        again = false;
        out.parts = 0;
        fsim_rewind(w->a, mark);
        for (int n = 0; n < g->nodes; n++) {
            w->value[n] = expression_of(w, n);
            w->buffer[n] = is_buffer(w, n);
        }
        for (int n = 0; n < g->nodes; n++) {
            if (!w->buffer[n])
                continue;
            if (give_up(w)) {
                again = true;
                break;
            }
            const fsim_part part = closure(w, n);
            out.part[out.parts++] = part;
            if (is_kernel(w, &part, n))
                continue;
            for (int i = 0; i < part.count; i++) {
                if (part.node[i] != n && w->unit[n] != w->unit[part.node[i]])
                    continue;
                for (int k = 0; k < g->node[part.node[i]].args; k++) {
                    const int from = g->tensor[g->node[part.node[i]].arg[k].tensor].producer;
                    if (from < 0 || (w->unit[n] >= 0 && w->unit[from] == w->unit[n]))
                        continue;
                    again = again || !w->buffer[from];
                    w->forced[from] = true;
                }
            }
        }
        again = again || (!w->late && store_distant(w, &out));
    }
    return out;
}

/* What the partitioner keeps for the backward pass is stored. */
static void keep_cut(lowering *w)
{
    const fsim_graph *g = w->p->graph;
    const fsim_kept kept = fsim_min_cut(g, w->a);
    for (int n = 0; n < g->nodes; n++)
        for (int r = 0; r < g->node[n].results; r++)
            w->forced[n] = w->forced[n] || (kept.kept[g->node[n].result[r]] && g->node[n].phase == FSIM_FORWARD);
}

fsim_lowered fsim_inductor_lower(fsim_problem *p, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    lowering w = {.p = p, .a = a, .buffer = fsim_new(a, bool, g->nodes + 1), .forced = fsim_new(a, bool, g->nodes + 1)};
    w.unit = fsim_new(a, int, g->nodes + 1);
    w.last = fsim_new(a, int, g->sources + 1);
    w.addmm = fsim_new(a, int, g->nodes + 1);
    w.value = fsim_new(a, expression, g->nodes + 1);
    keep_cut(&w);
    choose_libraries(&w);
    const fsim_partition buffers = lower(&w);
    return (fsim_lowered){buffers, w.buffer, w.addmm};
}

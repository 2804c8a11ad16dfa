/* SPDX-License-Identifier: Apache-2.0 */
/* inductor.c: the kernels that torch.compile would make. Thresholds are TorchInductor's defaults.
 *
 * Modelled: lowering, which decides what is a buffer and what is computed again by each of its readers (by counts of
 * reads and operators, never by cost); then up to ten rounds of joining pairs of buffers by score: bytes of accesses
 * that both have, unless within a factor of 16, then kernels of the same kind first, nearer ones last; at most 64
 * buffers a kernel; horizontal fusion from 10 shared bytes on, of kernels at most 64 apart, unless it keeps much more
 * memory alive than it saves. Loops: a result as large as what a kernel reduces is stored by that kernel only where
 * rows are contiguous and not split over blocks, so that batch norm, norms of few long rows, and softmax across
 * channels are statistics and a loop; long rows, fewer than two an SM, are split. Graphs with 2d convolutions run
 * channels last, so that channels are the rows there (vendor/triton.h). Matrix products are library calls that take a
 * bias (addmm) unless only pointwise operators follow; convolutions take none; attention is the flash kernel where that
 * is one; sorts, scatters, and pooling without a lowering are kernels of their own; a scan's loop takes in what is in
 * front of it (measured: KernelBench l1/091 and 093), and what reads it is another kernel. Not modelled: max-autotune
 * and its templates, combo kernels, mixed-order reductions, loop reordering across reductions, unrolled small
 * reductions; what a scan's loop takes in behind it; copies that stores into a concat's result
 * save; layout changes of weights. Why
 * kernels take what they take: vendor/triton.c; a convolution's layout changes: vendor/cudnn.c. */
#include "plan/rivals/constants.h"
#include "plan/rivals/min_cut.h"
#include "plan/rivals/rivals.h"

#include "plan/price/deadline.h"
#include "plan/price/phases.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include "vendor/triton.h"
#include <stdlib.h>
#include <string.h>

/* Lowering. */

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
    for (int r = 0; r < t->readers && !must; r++) {
        const fsim_node *reader = &g->node[t->reader[r]];
        const fsim_class class = fsim_ops[reader->op].class;
        must = w->unit[t->reader[r]] >= 0 || w->addmm[t->reader[r]] >= 0 || is_layout(g, t->reader[r]) ||
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
        return n == g->source[w->unit[n]].first + g->source[w->unit[n]].nodes - 1;
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

/* Chooses library kernels: attention, and matrix products with their biases. */
static void choose_libraries(lowering *w)
{
    const fsim_graph *g = w->p->graph;
    for (int n = 0; n < g->nodes; n++)
        w->unit[n] = w->addmm[n] = -1;
    for (int s = 0; s < g->sources; s++) {
        const fsim_source *source = &g->source[s];
        int *node = fsim_new(w->a, int, source->nodes + 1);
        fsim_refusal why;
        for (int i = 0; i < source->nodes; i++)
            node[i] = source->first + i;
        if (source->op == FSIM_OP_ATTENTION && is_closed(g, source) &&
            fsim_user_allows(w->p, node, source->nodes, &why) && fsim_kernel_alone(w->p, node, source->nodes, w->a))
            for (int i = 0; i < source->nodes; i++)
                w->unit[node[i]] = s;
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
        if (g->node[add].op == FSIM_OP_ADD && g->node[add].args == 2 && !only_pointwise &&
            fsim_user_allows(w->p, both, 2, &why) && fsim_kernel_alone(w->p, both, 2, w->a))
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
            *FSIM_PUSH(w->a, part.node, part.count, room) = i;
    *FSIM_PUSH(w->a, part.node, part.count, room) = n;
    for (int i = 0; i < part.count && w->unit[n] < 0; i++)
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
           fsim_kernel_for(w->p, c, fsim_new(w->a, bool, c->group.reads + 1),
                           fsim_new(w->a, bool, c->group.writes + 1));
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
            if (is_kernel(w, &part, n) || w->unit[n] >= 0)
                continue;
            for (int k = 0; k < g->node[n].args; k++) {
                const int from = g->tensor[g->node[n].arg[k].tensor].producer;
                again = again || (from >= 0 && !w->buffer[from]);
                if (from >= 0)
                    w->forced[from] = true;
            }
        }
        again = again || (!w->late && store_distant(w, &out));
    }
    return out;
}

/* Scheduling. */

typedef struct {
    fsim_clusters *c;
    const fsim_kernel **kernel;  /* per part, priced alone */
    int *buffers, *first, *last; /* per part: number of buffers, and the range of their positions after lowering */
    bool *library, *is_buffer;
    fsim_phase *phase;
    bool channels_last;
} scheduler;

typedef struct {
    int x, y;
    bool same_kind;
    double bytes;
    int distance;
} pair;

static bool reduces(const fsim_kernel *k)
{
    return k->template == FSIM_ROW_REDUCTION || k->template == FSIM_COLUMN_REDUCTION ||
           k->template == FSIM_FULL_REDUCTION;
}

/* The map without broadcast digits and without the split, so that accesses which visit the same elements in the same
 * order are equal. */
static fsim_map walk_of(const fsim_map *m)
{
    fsim_map walk = {.offset = m->offset};
    for (int i = 0; i < m->modes; i++)
        if (m->mode[i].stride != 0)
            fsim_map_push(&walk, m->mode[i].extent, m->mode[i].stride);
    walk.split = walk.modes;
    return fsim_map_simplify(walk);
}

static bool same_access(const fsim_kernel *x, const fsim_map *m, const fsim_kernel *y, const fsim_map *n)
{
    const fsim_map a = walk_of(m), b = walk_of(n);
    return fsim_map_equal(&a, &b) || (!reduces(x) && !reduces(y)); /* pointwise loops can be reordered to match */
}

static const fsim_map *access_of(const fsim_kernel *k, int tensor)
{
    const fsim_group *o = k->group;
    for (int i = 0; i < o->writes; i++)
        if (o->write[i].tensor == tensor)
            return &o->write[i].map;
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].tensor == tensor)
            return o->read[i].maps > 0 ? &o->read[i].map[0] : NULL;
    return NULL;
}

/* Bytes of accesses that both kernels have. */
static double shared_bytes(const scheduler *s, int x, int y)
{
    const fsim_kernel *a = s->kernel[x], *b = s->kernel[y];
    double bytes = 0;
    for (int i = 0; i < a->group->reads + a->group->writes; i++) {
        const int t = i < a->group->reads ? a->group->read[i].tensor : a->group->write[i - a->group->reads].tensor;
        const fsim_map *m = access_of(a, t), *n = access_of(b, t);
        if (m && n && same_access(a, m, b, n))
            bytes += (double)s->c->p->graph->tensor[t].bytes;
    }
    return bytes;
}

static bool reads_from(const scheduler *s, int x, int y) /* does y read a result of x? */
{
    const fsim_group *o = s->kernel[x]->group;
    for (int i = 0; i < o->writes; i++)
        if (access_of(s->kernel[y], o->write[i].tensor))
            return true;
    return false;
}

/* Bytes of inputs that only x reads: their memory could be freed after it. */
static double freed_bytes(const scheduler *s, int x)
{
    const fsim_group *o = s->kernel[x]->group;
    double bytes = 0;
    for (int i = 0; i < o->reads; i++) {
        const fsim_tensor *t = &s->c->p->graph->tensor[o->read[i].tensor];
        bytes += t->producer >= 0 && t->readers == 1 ? (double)t->bytes : 0;
    }
    return bytes;
}

/* Would the merged kernel compute some buffer more than once for an element? */
static bool computes_again(const scheduler *s, const fsim_kernel *both)
{
    for (int i = 0; i < both->group->members; i++) {
        const fsim_member *m = &both->group->member[i];
        const fsim_node *n = &s->c->p->graph->node[m->node];
        if (s->is_buffer[m->node] && m->evaluations > n->points * n->reduced)
            return true;
    }
    return false;
}

/* Is the reduction split over several blocks, at the cost of another launch? Long rows are, where there are fewer
 * than two for each SM. */
static bool is_split(const scheduler *s, const fsim_kernel *k)
{
    if (!reduces(k) || (k->template == FSIM_ROW_REDUCTION && k->group->reduced <= WHOLE_ROW))
        return false;
    return k->launches > 1 ||
           (k->group->reduced > WHOLE_ROW && (double)k->group->points < 2 * fsim_hw_get(s->c->p->hw, FSIM_HW_SMS));
}

/* Does it store a result as large as the rows that it reduces? */
static bool stores_rows(const fsim_kernel *k)
{
    for (int i = 0; i < k->group->writes; i++)
        if (k->group->write[i].full)
            return true;
    return false;
}

/* Can a reduction and a result as large as its rows share one loop nest? Only where rows are contiguous, because the
 * elementwise loop runs in memory order, and where a block has whole rows. */
static bool loops_agree(const scheduler *s, const fsim_kernel *x, const fsim_kernel *y, const fsim_kernel *both)
{
    if (both->launches == 1 && (x->launches > 1 || y->launches > 1) && (is_split(s, x) || is_split(s, y)))
        return false; /* what depends on all blocks of a split reduction is another kernel */
    if (!reduces(both) || !stores_rows(both))
        return true;
    return !is_split(s, both) && fsim_reduces_innermost(both->group, s->c->p->graph, s->channels_last);
}

static int distance(const scheduler *s, int x, int y)
{
    const int forth = abs(s->first[x] - s->last[y]), back = abs(s->first[y] - s->last[x]);
    return forth > back ? forth : back;
}

static bool can_fuse(scheduler *s, int x, int y, double bytes)
{
    const int id[2] = {x, y};
    if (s->phase[x] != s->phase[y])
        return false; /* both passes are compiled apart */
    if (s->library[x] || s->library[y] || s->buffers[x] + s->buffers[y] > MOST_BUFFERS || bytes == 0)
        return false;
    if (!reads_from(s, x, y) && !reads_from(s, y, x)) {
        const double kept = freed_bytes(s, x) < freed_bytes(s, y) ? freed_bytes(s, x) : freed_bytes(s, y);
        if (bytes < LEAST_SHARED_BYTES || distance(s, x, y) > FARTHEST || kept > MEMORY_OVER_SAVED * bytes)
            return false;
    }
    const fsim_kernel *both = fsim_joined_like(s->c, id, 2, -1);
    if (!both || both->group->across > both->group->columns || /* sums of columns beside rows: mix-order reduction */
        !loops_agree(s, s->kernel[x], s->kernel[y], both))
        return false;
    if (both->group->recomputes && computes_again(s, fsim_joined_kernel(s->c, id, 2, -1)))
        return false;
    return !fsim_interlocked(s->c, id, 2);
}

static bool goes_first(const pair *x, const pair *y)
{
    if (x->bytes > DECISIVE * y->bytes || y->bytes > DECISIVE * x->bytes)
        return x->bytes > y->bytes;
    if (x->same_kind != y->same_kind)
        return x->same_kind;
    return x->bytes != y->bytes ? x->bytes > y->bytes : x->distance < y->distance;
}

/* A stable merge sort, which also ends where the order is not transitive. */
static void sort_pairs(pair *at, pair *spare, int count)
{
    if (count < 2)
        return;
    const int half = count / 2;
    sort_pairs(at, spare, half);
    sort_pairs(at + half, spare, count - half);
    memcpy(spare, at, (size_t)count * sizeof *at);
    for (int i = 0, x = 0, y = half; i < count; i++)
        at[i] = y == count || (x < half && !goes_first(&spare[y], &spare[x])) ? spare[x++] : spare[y++];
}

typedef struct {
    int tensor, place;
} touch;

static int by_touch(const void *x, const void *y)
{
    const touch *a = x, *b = y;
    return a->tensor != b->tensor ? (a->tensor < b->tensor ? -1 : 1) : a->place - b->place;
}

static int by_pair(const void *x, const void *y)
{
    const pair *a = x, *b = y;
    return a->x != b->x ? (a->x < b->x ? -1 : 1) : a->y - b->y;
}

/* Pairs that access the same tensor and may be fused, best first. */
static pair *find_pairs(scheduler *s, fsim_arena *a, int *count)
{
    fsim_clusters *c = s->c;
    touch *at = NULL;
    pair *found = NULL;
    int touches = 0, touch_room = 0, tried = 0, room = 0;
    for (int i = 0; i < c->parts; i++) {
        const int x = c->order[i];
        if (c->part[x].count == 0 || s->library[x])
            continue;
        const fsim_group *o = s->kernel[x]->group;
        for (int k = 0; k < o->reads + o->writes; k++)
            *FSIM_PUSH(a, at, touches, touch_room) =
                (touch){k < o->reads ? o->read[k].tensor : o->write[k - o->reads].tensor, i};
    }
    if (touches > 0)
        qsort(at, (size_t)touches, sizeof *at, by_touch);
    for (int i = 0; i < touches; i++)
        for (int k = i + 1; k < touches && k <= i + MOST_PAIRS && at[k].tensor == at[i].tensor; k++)
            if (at[k].place != at[i].place)
                *FSIM_PUSH(a, found, tried, room) = (pair){.x = at[i].place, .y = at[k].place};
    if (tried > 0)
        qsort(found, (size_t)tried, sizeof *found, by_pair);
    *count = 0;
    pair before = {.x = -1};
    for (int i = 0; i < tried; i++) {
        const pair this = found[i];
        const int x = c->order[this.x], y = c->order[this.y];
        const double bytes = by_pair(&this, &before) ? shared_bytes(s, x, y) : 0;
        before = this;
        if (can_fuse(s, x, y, bytes))
            found[(*count)++] = (pair){x, y, reduces(s->kernel[x]) == reduces(s->kernel[y]), bytes, distance(s, x, y)};
    }
    sort_pairs(found, fsim_new(a, pair, *count + 1), *count);
    return found;
}

static void fuse_pair(scheduler *s, int x, int y)
{
    fsim_join(s->c, (const int[2]){x, y}, 2);
    s->kernel[x] = fsim_joined_kernel(s->c, &x, 1, -1);
    s->buffers[x] += s->buffers[y];
    s->first[x] = s->first[x] < s->first[y] ? s->first[x] : s->first[y];
    s->last[x] = s->last[x] > s->last[y] ? s->last[x] : s->last[y];
}

static bool fuse_once(scheduler *s)
{
    fsim_arena *a = fsim_arena_new();
    int pairs, *now = fsim_new(a, int, s->c->parts + 1); /* now[x]: the part that x was merged into */
    bool any = false;
    const pair *found = find_pairs(s, a, &pairs);
    for (int i = 0; i < s->c->parts; i++)
        now[i] = i;
    for (int i = 0; i < pairs && !fsim_late(s->c->p); i++) {
        int x = found[i].x, y = found[i].y;
        while (now[x] != x)
            x = now[x] = now[now[x]];
        while (now[y] != y)
            y = now[y] = now[now[y]];
        if (x == y || !can_fuse(s, x, y, shared_bytes(s, x, y)))
            continue;
        fuse_pair(s, x, y);
        now[y] = x;
        any = true;
    }
    fsim_arena_free(a);
    return any;
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

fsim_partition fsim_inductor_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_graph *g = p->graph;
    lowering w = {.p = p, .a = a, .buffer = fsim_new(a, bool, g->nodes + 1), .forced = fsim_new(a, bool, g->nodes + 1)};
    w.unit = fsim_new(a, int, g->nodes + 1);
    w.addmm = fsim_new(a, int, g->nodes + 1);
    w.value = fsim_new(a, expression, g->nodes + 1);
    keep_cut(&w);
    choose_libraries(&w);
    const fsim_partition start = lower(&w);
    fsim_clusters *c = fsim_clusters_of(p, &start, a);
    scheduler s = {.c = c,
                   .channels_last = fsim_channels_last(g),
                   .is_buffer = w.buffer,
                   .kernel = fsim_new(a, const fsim_kernel *, c->parts + 1)};
    s.buffers = fsim_new(a, int, c->parts + 1);
    s.first = fsim_new(a, int, c->parts + 1);
    s.last = fsim_new(a, int, c->parts + 1);
    s.library = fsim_new(a, bool, c->parts + 1);
    s.phase = fsim_new(a, fsim_phase, c->parts + 1);
    for (int n = 0; n < g->nodes; n++)
        if (w.addmm[n] >= 0)
            fsim_join(c, (const int[2]){fsim_home(c, w.addmm[n]), fsim_home(c, n)}, 2);
    for (int x = 0; x < c->parts && !fsim_late(p); x++) {
        s.buffers[x] = 1;
        s.first[x] = s.last[x] = x;
        s.kernel[x] = c->part[x].count ? fsim_joined_kernel(c, &x, 1, -1) : NULL;
        s.library[x] = !s.kernel[x];
        s.phase[x] = fsim_phase_of(g, &c->part[x]);
        for (int i = 0; i < c->part[x].count; i++) {
            const fsim_node *n = &g->node[c->part[x].node[i]];
            const fsim_class class = fsim_ops[n->op].class;
            s.library[x] = s.library[x] || class == FSIM_CONTRACTION || class == FSIM_SCATTER || class == FSIM_SCAN ||
                           fsim_classes[class].boundary || fsim_falls_back(n) ||
                           (n->op == FSIM_OP_CONCAT && n->args > MOST_CONCAT);
        }
    }
    for (int round = 0; round < ROUNDS && !fsim_late(p) && fuse_once(&s); round++)
        ;
    return fsim_partition_of(c, a, rule);
}

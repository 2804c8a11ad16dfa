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
 * channels last, so that channels of images are the rows there (vendor/triton.h). Matrix products are library calls
 * that take a bias or a matrix (addmm) unless only pointwise operators follow; convolutions take none; attention is the
 * flash kernel where that is one; a scatter computes the values that it writes; sorts and pooling without a lowering
 * are kernels of their own; a scan's loop takes in what is in front of it (measured: KernelBench l1/091 and 093), and
 * what reads it is another kernel. Not modelled: max-autotune and its templates, combo kernels, mixed-order reductions,
 * loop reordering across reductions, unrolled small reductions; what a scan's loop takes in behind it; copies that
 * stores into a concat's result save; layout changes of weights. Why kernels take what they take: vendor/triton.c; a
 * convolution's layout changes: vendor/cudnn.c. */
#include "plan/rivals/inductor.h"

#include "plan/price/deadline.h"
#include "plan/price/phases.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include "plan/rivals/constants.h"
#include "vendor/triton.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_clusters *c;
    const fsim_kernel **kernel;  /* per part, priced alone */
    int *buffers, *first, *last; /* per part: number of buffers, and the range of their positions after lowering */
    bool *library;
    const bool *is_buffer;
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
    if (!both || both->group->stretch > 0 || (both->group->across > 0 && both->group->contractions > 0) ||
        both->group->across > both->group->columns || /* sums of columns beside rows: mix-order reduction */
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

fsim_partition fsim_inductor_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_graph *g = p->graph;
    const fsim_lowered lowered = fsim_inductor_lower(p, a);
    fsim_clusters *c = fsim_clusters_of(p, &lowered.buffers, a);
    scheduler s = {.c = c,
                   .channels_last = fsim_channels_last(g),
                   .is_buffer = lowered.is_buffer,
                   .kernel = fsim_new(a, const fsim_kernel *, c->parts + 1)};
    s.buffers = fsim_new(a, int, c->parts + 1);
    s.first = fsim_new(a, int, c->parts + 1);
    s.last = fsim_new(a, int, c->parts + 1);
    s.library = fsim_new(a, bool, c->parts + 1);
    s.phase = fsim_new(a, fsim_phase, c->parts + 1);
    for (int n = 0; n < g->nodes; n++)
        if (lowered.addmm[n] >= 0)
            fsim_join(c, (const int[2]){fsim_home(c, lowered.addmm[n]), fsim_home(c, n)}, 2);
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

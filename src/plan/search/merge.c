/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/merge.h"

#include "fusion/chain.h"
#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include <math.h>

enum { MOST_IN_CHAIN = 64 }; /* primitives */

typedef struct {
    double rank; /* log of the score, in units of 1e-4 */
    int size, node, x, y, version_x, version_y;
} offer;

typedef struct {
    fsim_arena *a;
    offer *at;
    int count, room;
} offers;

static double rank_of(double score) { return floor(log(score) * 1e4); }

/* Orders offers: larger scores first, then smaller sets, so that merges of long chains stay balanced. */
static bool before(const offer *x, const offer *y)
{
    if (x->rank != y->rank)
        return x->rank > y->rank;
    if (x->size != y->size)
        return x->size < y->size;
    return x->node != y->node ? x->node < y->node : x->x != y->x ? x->x < y->x : x->y < y->y;
}

static void push(offers *heap, offer o)
{
    FSIM_PUSH(heap->a, heap->at, heap->count, heap->room);
    int i = heap->count - 1;
    for (; i > 0 && before(&o, &heap->at[(i - 1) / 2]); i = (i - 1) / 2)
        heap->at[i] = heap->at[(i - 1) / 2];
    heap->at[i] = o;
}

static offer pop(offers *heap)
{
    const offer top = heap->at[0], last = heap->at[--heap->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && before(&heap->at[child + 1], &heap->at[child]))
            child++;
        if (!before(&heap->at[child], &last))
            break;
        heap->at[i] = heap->at[child];
    }
    heap->at[i] = last;
    return top;
}

/* Merging pairs. */

typedef struct {
    fsim_clusters *c;
    fsim_merge_score *score;
    offers heap;
    int *version;
    fsim_sum *cost; /* per part, alone */
} merger;

static fsim_sum cost_of(fsim_clusters *c, int x)
{
    const fsim_kernel *k = fsim_joined_like(c, &x, 1, -1);
    return k ? fsim_objective_of(c->p, k) : -1;
}

static bool feeds(fsim_clusters *c, int x, int y)
{
    int *user, users = fsim_users(c, x, &user);
    for (int i = 0; i < users; i++)
        if (user[i] == y)
            return true;
    return false;
}

static void consider(merger *m, int x, int y)
{
    const int pair[2] = {x < y ? x : y, x < y ? y : x};
    if (m->cost[x] < 0 || m->cost[y] < 0)
        return;
    const fsim_kernel *k = fsim_joined_like(m->c, pair, 2, -1);
    if (!k)
        return;
    const fsim_mark mark = fsim_save(m->c->a);
    const fsim_merge merge = {m->cost[x] + m->cost[y], fsim_objective_of(m->c->p, k),
                              feeds(m->c, x, y) || feeds(m->c, y, x)};
    fsim_rewind(m->c->a, mark);
    const double score = m->score(&merge);
    if (score > 0)
        push(&m->heap, (offer){rank_of(score), m->c->part[x].count + m->c->part[y].count, 0, pair[0], pair[1],
                               m->version[pair[0]], m->version[pair[1]]});
}

static void consider_all(merger *m, int x, int only_above)
{
    int *other;
    const fsim_mark mark = fsim_save(m->c->a);
    const int others = fsim_sharers(m->c, x, &other);
    for (int i = 0; i < others; i++)
        if (other[i] > only_above)
            consider(m, x, other[i]);
    fsim_rewind(m->c->a, mark);
}

void fsim_merge_all(fsim_clusters *c, fsim_merge_score *score)
{
    merger m = {.c = c, .score = score, .heap.a = fsim_arena_new()};
    m.version = fsim_new(c->a, int, c->parts + 1);
    m.cost = fsim_new(c->a, fsim_sum, c->parts + 1);
    for (int i = 0; i < c->parts; i++)
        m.cost[i] = c->part[i].count && !fsim_late(c->p) ? cost_of(c, i) : -1;
    for (int i = 0; i < c->parts && !fsim_late(c->p); i++)
        if (c->part[i].count)
            consider_all(&m, i, i);
    while (m.heap.count > 0 && !fsim_late(c->p)) {
        const offer o = pop(&m.heap);
        const int pair[2] = {o.x, o.y};
        if (m.version[o.x] != o.version_x || m.version[o.y] != o.version_y || fsim_interlocked(c, pair, 2))
            continue;
        fsim_join(c, pair, 2);
        m.version[o.x]++;
        m.version[o.y] = -1;
        m.cost[o.x] = cost_of(c, o.x);
        consider_all(&m, o.x, -1);
    }
    fsim_arena_free(m.heap.a);
}

void fsim_join_chains(fsim_clusters *c)
{
    fsim_problem *p = c->p;
    const fsim_graph *g = p->graph;
    const fsim_limits limits = fsim_limits_of(p);
    for (int n = 0; n < g->nodes && !fsim_late(p); n++) {
        int node[MOST_IN_CHAIN] = {n}, part[MOST_IN_CHAIN];
        const int count = g->node[n].gemm.k ? fsim_chain_from(&limits, n, node, MOST_IN_CHAIN) : 0;
        fsim_sum separate = 0;
        bool reduces = false, alone = true;
        for (int i = 0; i < count; i++) {
            part[i] = fsim_home(c, node[i]);
            alone = alone && c->part[part[i]].count == 1;
            reduces = reduces || fsim_ops[g->node[node[i]].op].class == FSIM_REDUCE;
        }
        for (int i = 0; i < count && alone && reduces; i++) {
            const fsim_sum cost = cost_of(c, part[i]);
            alone = cost >= 0;
            separate += cost;
        }
        const fsim_kernel *merged = reduces && alone ? fsim_joined_like(c, part, count, -1) : NULL;
        if (merged && fsim_objective_of(p, merged) < separate && !fsim_interlocked(c, part, count))
            fsim_join(c, part, count);
    }
}

double fsim_gain(const fsim_merge *m) { return (double)(m->separate - m->merged); }

bool fsim_merge_greedily(fsim_problem *p, const fsim_partition *start, fsim_arena *a, fsim_plan *out)
{
    fsim_refusal why;
    fsim_clusters *c = fsim_clusters_of(p, start, a);
    fsim_join_chains(c);
    fsim_merge_all(c, fsim_gain);
    const fsim_partition merged = fsim_partition_of(c, a, NULL);
    return fsim_price(p, &merged, a, out, &why);
}

/* Priority fusion. */

typedef struct {
    fsim_clusters *c;
    const fsim_belief *b;
    offers heap;
    int *version;
    double *time_s; /* per part, alone; 0 where it is no kernel */
} priorities;

/* The first primitive that is at home in part x. */
static int first_home(const fsim_clusters *c, int x)
{
    const fsim_part *part = &c->part[x];
    int i = 0;
    while (i + 1 < part->count && fsim_home(c, part->node[i]) != x)
        i++;
    return part->node[i];
}

/* May several parts, its users, each compute it? */
static bool copies(const fsim_clusters *c, int x, const int *user, int users)
{
    const fsim_part *part = &c->part[x];
    int last = 0;
    for (int u = 0; u < users; u++)
        last = first_home(c, user[u]) > last ? first_home(c, user[u]) : last;
    for (int i = 0; i < part->count; i++)
        if (!fsim_may_clone(c->p, part->node[i]) || last - part->node[i] > FSIM_CLONE_REACH)
            return false;
    return c->p->recompute;
}

static void measure(priorities *q, int x)
{
    const fsim_kernel *k = fsim_joined_like(q->c, &x, 1, -1);
    q->time_s[x] = k ? q->b->time_s(q->b, k) : 0;
}

static void prioritise(priorities *q, int x)
{
    fsim_clusters *c = q->c;
    int *user, size = c->part[x].count;
    double gain_s = q->time_s[x];
    q->version[x]++;
    if (size == 0 || fsim_must_store(c, x))
        return;
    const int users = fsim_users(c, x, &user);
    if (users == 0 || users > FSIM_MOST_READERS || (users > 1 && !copies(c, x, user, users)))
        return;
    for (int u = 0; u < users; u++) {
        const int pair[2] = {user[u], x};
        const fsim_kernel *both = fsim_joined_like(c, pair, 2, x);
        if (!both || (q->b->allows && !q->b->allows(q->b, c, x, user[u], both)))
            return;
        gain_s += q->time_s[user[u]] - q->b->time_s(q->b, both);
        size += c->part[user[u]].count;
    }
    if (gain_s > 0)
        push(&q->heap, (offer){rank_of(gain_s), size, c->part[x].node[0], x, 0, q->version[x], 0});
}

void fsim_fuse_by_priority(fsim_clusters *c, const fsim_belief *b)
{
    priorities q = {.c = c, .b = b, .heap.a = fsim_arena_new()};
    q.version = fsim_new(c->a, int, c->parts + 1);
    q.time_s = fsim_new(c->a, double, c->parts + 1);
    int *changed = fsim_new(c->a, int, c->parts + 1), *seen = fsim_new(c->a, int, c->parts + 1), turn = 0;
    for (int x = 0; x < c->parts && !fsim_late(c->p); x++)
        if (c->part[x].count)
            measure(&q, x);
    for (int x = 0; x < c->parts && !fsim_late(c->p); x++)
        prioritise(&q, x);
    while (q.heap.count > 0 && !fsim_late(c->p)) {
        const offer o = pop(&q.heap);
        int *user, *maker, changes = 0;
        if (q.version[o.x] != o.version_x)
            continue;
        const int users = fsim_users(c, o.x, &user);
        fsim_spread(c, o.x);
        q.version[o.x]++;
        turn++;
        for (int u = 0; u < users;
             u++) { /* readers of the merged part have changed, and with them the gain of their producers */
            measure(&q, user[u]);
            const int makers = fsim_makers(c, user[u], &maker);
            for (int i = -1; i < makers; i++) {
                const int y = i < 0 ? user[u] : maker[i];
                if (seen[y] != turn)
                    changed[changes++] = y;
                seen[y] = turn;
            }
        }
        for (int i = 0; i < changes; i++)
            prioritise(&q, changed[i]);
    }
    fsim_arena_free(q.heap.a);
}

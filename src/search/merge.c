/* SPDX-License-Identifier: Apache-2.0 */
#include "search/merge.h"

#include "fusion/chain.h"
#include "search/space.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double rank; /* log of the score in ten-thousandths */
    int size, x, y, version_x, version_y;
    const char *rule;
} offer;

typedef struct {
    const fsim_problem *p;
    fsim_arena *a;
    fsim_merge_score *score;
    fsim_part *part;
    int parts, *version, *group_of; /* group_of: per primitive, -1 where cloned or absent */
    int64_t *cost;
    const char **rule;
    int *seen, stamp;
    offer *heap;
    int offers, room;
} merger;

/* Larger scores first; scores within a ten-thousandth count as equal, and then the smaller set goes first, which keeps merges of long chains balanced. */
static bool before(const offer *x, const offer *y)
{
    if (x->rank != y->rank)
        return x->rank > y->rank;
    if (x->size != y->size)
        return x->size < y->size;
    return x->x != y->x ? x->x < y->x : x->y < y->y;
}

static void push(merger *m, offer o)
{
    FSIM_PUSH(m->a, m->heap, m->offers, m->room);
    int i = m->offers - 1;
    for (; i > 0 && before(&o, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = o;
}

static offer pop(merger *m)
{
    const offer top = m->heap[0], last = m->heap[--m->offers];
    int i = 0;
    for (int child; (child = 2 * i + 1) < m->offers; i = child) {
        if (child + 1 < m->offers && before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!before(&m->heap[child], &last))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = last;
    return top;
}

/* Does some other group lie on a path between x and y? Then the two together would wait for it, and it for them. */
static bool path_between(merger *m, int x, int y)
{
    const fsim_graph *g = m->p->graph;
    int *stack = fsim_new(m->a, int, g->nodes + 1), depth = 0;
    for (int turn = 0; turn < 2; turn++) {
        const int from = turn ? y : x, to = turn ? x : y;
        bool *visited = fsim_new(m->a, bool, m->parts);
        /* Data flows to higher primitives, so a way back below `high` leads through a group that lies on both sides of it. */
        const int high = m->part[to].node[m->part[to].count - 1];
        bool straddles = false;
        for (int i = 0; i < m->parts && !straddles; i++)
            straddles = i != from && i != to && m->part[i].count > 1 && m->part[i].node[0] < high &&
                        m->part[i].node[m->part[i].count - 1] > high;
        visited[from] = true;
        stack[depth++] = from;
        while (depth > 0) {
            const fsim_part *part = &m->part[stack[--depth]];
            const int at = stack[depth];
            for (int i = 0; i < part->count; i++)
                for (int r = 0; r < g->node[part->node[i]].results; r++) {
                    const fsim_tensor *t = &g->tensor[g->node[part->node[i]].result[r]];
                    for (int k = 0; k < t->readers; k++) {
                        const int next = m->group_of[t->reader[k]];
                        if (next < 0 || next == at || visited[next] || (at == from && next == to))
                            continue;
                        if (next == to)
                            return true;
                        if (!straddles && m->part[next].node[0] > high)
                            continue;
                        visited[next] = true;
                        stack[depth++] = next;
                    }
                }
        }
    }
    return false;
}

static void unite(merger *m, const fsim_part *x, const fsim_part *y, fsim_part *out)
{
    int i = 0, j = 0;
    out->count = 0;
    out->node = fsim_new(m->a, int, x->count + y->count);
    out->clone = fsim_new(m->a, bool, x->count + y->count);
    while (i < x->count || j < y->count)
        out->node[out->count++] = j == y->count || (i < x->count && x->node[i] < y->node[j]) ? x->node[i++] : y->node[j++];
}

static bool flows(merger *m, const fsim_part *from, const fsim_part *to)
{
    const fsim_graph *g = m->p->graph;
    m->stamp++;
    for (int i = 0; i < to->count; i++)
        m->seen[to->node[i]] = m->stamp;
    for (int i = 0; i < from->count; i++)
        for (int r = 0; r < g->node[from->node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[from->node[i]].result[r]];
            for (int k = 0; k < t->readers; k++)
                if (m->seen[t->reader[k]] == m->stamp)
                    return true;
        }
    return false;
}

static void consider(merger *m, int x, int y)
{
    fsim_part both;
    fsim_refusal why;
    if (x > y) {
        const int swap = x;
        x = y;
        y = swap;
    }
    if (m->cost[x] < 0 || m->cost[y] < 0)
        return;
    const fsim_mark mark = fsim_save(m->a);
    unite(m, &m->part[x], &m->part[y], &both);
    offer o = {.x = x, .y = y, .version_x = m->version[x], .version_y = m->version[y], .size = both.count};
    const bool x_first = m->part[x].node[0] < m->part[y].node[0];
    const fsim_part *first = &m->part[x_first ? x : y], *second = &m->part[x_first ? y : x];
    const fsim_merge merge = {m->p, first, second, &both, m->cost[x_first ? x : y], m->cost[x_first ? y : x],
                              flows(m, first, second) || flows(m, second, first)};
    const fsim_kernel *k = fsim_user_allows(m->p, both.node, both.count, &why) ? fsim_kernel_alone(m->p, both.node, both.count, m->a) : NULL;
    const double score = k ? m->score(&merge, k, &o.rule) : 0;
    fsim_rewind(m->a, mark);
    if (score > 0) {
        o.rank = floor(log(score) * 1e4);
        push(m, o);
    }
}

/* Offers of x with every group that it shares a tensor with. */
static void consider_all(merger *m, int x, int only_above)
{
    const fsim_graph *g = m->p->graph;
    const fsim_part *part = &m->part[x];
    int *met = fsim_new(m->a, int, 8), count = 0, room = 8;
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &g->node[part->node[i]];
        for (int k = 0; k < n->args + n->results; k++) {
            const fsim_tensor *t = &g->tensor[k < n->args ? n->arg[k].tensor : n->result[k - n->args]];
            if (t->readers > 64 && k < n->args)
                continue; /* a scalar that everything reads joins nothing */
            for (int r = -1; r < t->readers; r++) {
                const int node = r < 0 ? t->producer : t->reader[r], other = node < 0 ? -1 : m->group_of[node];
                bool known = other < 0 || other == x || other < only_above;
                for (int j = 0; j < count && !known; j++)
                    known = met[j] == other;
                if (!known)
                    *FSIM_PUSH(m->a, met, count, room) = other;
            }
        }
    }
    for (int j = 0; j < count; j++)
        consider(m, x, met[j]);
}

void fsim_merge_all(const fsim_problem *p, const fsim_partition *start, fsim_merge_score *score, fsim_arena *a, fsim_partition *out,
                    const char ***rule)
{
    const fsim_graph *g = p->graph;
    merger m = {.p = p, .a = a, .score = score, .parts = start->parts};
    m.part = fsim_new(a, fsim_part, start->parts + 1);
    m.version = fsim_new(a, int, start->parts + 1);
    m.cost = fsim_new(a, int64_t, start->parts + 1);
    m.rule = fsim_new(a, const char *, start->parts + 1);
    m.group_of = fsim_new(a, int, g->nodes + 1);
    m.seen = fsim_new(a, int, g->nodes + 1);
    int *times = fsim_new(a, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        m.group_of[n] = -1;
    for (int i = 0; i < start->parts; i++) {
        m.part[i] = start->part[i];
        for (int k = 0; k < start->part[i].count; k++)
            times[start->part[i].node[k]]++;
    }
    for (int i = 0; i < m.parts; i++) {
        bool cloned = false;
        for (int k = 0; k < m.part[i].count; k++)
            cloned = cloned || times[m.part[i].node[k]] > 1;
        const fsim_kernel *k = cloned ? NULL : fsim_kernel_alone(p, m.part[i].node, m.part[i].count, a);
        m.cost[i] = k ? fsim_objective_of(p, k) : -1;
        for (int j = 0; j < m.part[i].count && !cloned; j++)
            m.group_of[m.part[i].node[j]] = i;
    }
    for (int i = 0; i < m.parts; i++)
        consider_all(&m, i, i);
    while (m.offers > 0) {
        const offer o = pop(&m);
        if (m.version[o.x] != o.version_x || m.version[o.y] != o.version_y)
            continue;
        const fsim_mark mark = fsim_save(a);
        const bool blocked = path_between(&m, o.x, o.y);
        fsim_rewind(a, mark);
        if (blocked)
            continue;
        fsim_part both;
        unite(&m, &m.part[o.x], &m.part[o.y], &both);
        const fsim_kernel *k = fsim_kernel_alone(p, both.node, both.count, a);
        for (int i = 0; i < both.count; i++)
            m.group_of[both.node[i]] = o.x;
        m.part[o.x] = both;
        m.part[o.y].count = 0;
        m.version[o.x]++;
        m.version[o.y] = -1;
        m.cost[o.x] = fsim_objective_of(p, k);
        m.rule[o.x] = o.rule ? o.rule : m.rule[o.x];
        consider_all(&m, o.x, 0);
    }
    *out = (fsim_partition){0, fsim_new(a, fsim_part, m.parts + 1)};
    if (rule)
        *rule = fsim_new(a, const char *, m.parts + 1);
    for (int i = 0; i < m.parts; i++)
        if (m.part[i].count > 0) {
            if (rule)
                (*rule)[out->parts] = m.rule[i];
            out->part[out->parts++] = m.part[i];
        }
}

fsim_partition fsim_chained_singles(const fsim_problem *p, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    fsim_partition out = {0, fsim_new(a, fsim_part, g->nodes + 1)};
    bool *taken = fsim_new(a, bool, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++) {
        int node[FSIM_SPACE_NODES] = {n}, count = taken[n] || !g->node[n].gemm.k ? 0 : fsim_chain_from(&p->limits, n, node, FSIM_SPACE_NODES);
        fsim_refusal why;
        int64_t apart = 0;
        bool free = false;
        for (int i = 0; i < count; i++)
            free = free || fsim_ops[g->node[node[i]].op].class == FSIM_REDUCE;
        free = free && fsim_user_allows(p, node, count, &why);
        for (int i = 0; i < count && free; i++) {
            const fsim_kernel *k = fsim_kernel_alone(p, &node[i], 1, a);
            free = !taken[node[i]] && k;
            apart += free ? fsim_objective_of(p, k) : 0;
        }
        const fsim_kernel *together = free ? fsim_kernel_alone(p, node, count, a) : NULL;
        if (!together || fsim_objective_of(p, together) >= apart)
            count = 1;
        if (taken[n])
            continue;
        fsim_part *part = &out.part[out.parts++];
        *part = (fsim_part){count, fsim_new(a, int, count), fsim_new(a, bool, count)};
        for (int i = 0; i < count; i++) {
            part->node[i] = node[i];
            taken[node[i]] = true;
        }
    }
    return out;
}

double fsim_gain(const fsim_merge *m, const fsim_kernel *kernel, const char **rule)
{
    (void)rule;
    return (double)(m->cost_first + m->cost_second - fsim_objective_of(m->p, kernel));
}

bool fsim_merge_greedily(const fsim_problem *p, const fsim_partition *start, fsim_arena *a, fsim_plan *out)
{
    fsim_partition merged;
    fsim_refusal why;
    fsim_merge_all(p, start, fsim_gain, a, &merged, NULL);
    return fsim_price(p, &merged, a, out, &why);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/sets.h"

#include <stdlib.h>

int fsim_position(const int *node, int count, int n)
{
    int low = 0, high = count - 1;
    if (count == 0 || n < node[low] || n > node[high])
        return -1;
    if (node[high] - node[low] == high) /* no gaps */
        return n - node[low];
    while (low <= high) {
        const int mid = low + (high - low) / 2;
        if (node[mid] == n)
            return mid;
        if (node[mid] < n)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return -1;
}

int fsim_reader_from(const fsim_tensor *t, int n)
{
    int low = 0, high = t->readers;
    while (low < high) {
        const int mid = low + (high - low) / 2;
        if (t->reader[mid] < n)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

typedef struct {
    int tensor, member;
} touch;

static int by_touch(const void *a, const void *b)
{
    const touch *x = a, *y = b;
    return x->tensor != y->tensor ? (x->tensor < y->tensor ? -1 : 1) : x->member - y->member;
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

bool fsim_connected(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why)
{
    int touches = 0, *parent = fsim_new(a, int, count);
    for (int i = 0; i < count; i++) {
        parent[i] = i;
        touches += g->node[node[i]].args + g->node[node[i]].results;
    }
    touch *t = fsim_new(a, touch, touches + 1);
    touches = 0;
    for (int i = 0; i < count; i++) {
        const fsim_node *n = &g->node[node[i]];
        for (int k = 0; k < n->args; k++)
            t[touches++] = (touch){n->arg[k].tensor, i};
        for (int k = 0; k < n->results; k++)
            t[touches++] = (touch){n->result[k], i};
    }
    qsort(t, (size_t)touches, sizeof *t, by_touch);
    for (int i = 1; i < touches; i++)
        if (t[i].tensor == t[i - 1].tensor)
            parent[root_of(parent, t[i].member)] = root_of(parent, t[i - 1].member);
    for (int i = 1; i < count; i++)
        if (root_of(parent, i) != root_of(parent, 0)) {
            *why = (fsim_refusal){.rule = FSIM_RULE_CONNECTED, .a = node[0], .b = node[i], .through = -1};
            return false;
        }
    return true;
}

bool fsim_convex(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why)
{
    const int low = node[0], high = node[count - 1], span = high - low + 1;
    int *from = fsim_new(a, int, span); /* per outside primitive: 1 + a member from which a path leads to it */
    int member = 0;
    for (int n = low; n <= high; n++) {
        const bool inside = member < count && node[member] == n;
        member += inside;
        const int carried = inside ? n + 1 : from[n - low];
        if (inside && from[n - low]) {
            /* from[] names a member whose value arrives here through outside primitives: find the last outside
             * primitive on that path */
            for (int k = 0; k < g->node[n].args; k++) {
                const int p = g->tensor[g->node[n].arg[k].tensor].producer;
                if (p > low && p <= high && from[p - low] && fsim_position(node, count, p) < 0) {
                    *why = (fsim_refusal){.rule = FSIM_RULE_CONVEXITY, .a = from[p - low] - 1, .b = n, .through = p};
                    return false;
                }
            }
        }
        if (!carried)
            continue;
        for (int r = 0; r < g->node[n].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[n].result[r]];
            for (int k = 0; k < t->readers; k++) {
                const int reader = t->reader[k];
                if (reader > high || (inside && fsim_position(node, count, reader) >= 0))
                    continue;
                from[reader - low] = carried;
            }
        }
    }
    return true;
}

bool fsim_on_one_side(const fsim_graph *g, const int *node, int count, fsim_refusal *why)
{
    int before = -1, after = -1;
    for (int i = 0; i < count && g->barrier; i++) {
        before = g->node[node[i]].side == FSIM_BEFORE_BARRIER ? node[i] : before;
        after = g->node[node[i]].side == FSIM_AFTER_BARRIER && after < 0 ? node[i] : after;
    }
    if (before < 0 || after < 0)
        return true;
    fsim_refuse_pair(why, FSIM_RULE_CYCLE, before, after, (fsim_excess){.unit = FSIM_IN_BARRIER});
    why->final = true;
    return false;
}

int fsim_hull(const fsim_graph *g, const fsim_node_set *set, int *node, fsim_arena *a)
{
    bool *after = fsim_new(a, bool, g->nodes), *before = fsim_new(a, bool, g->nodes);
    int low = set->node[0], high = low, count = 0;
    for (int i = 0; i < set->count; i++) {
        low = set->node[i] < low ? set->node[i] : low;
        high = set->node[i] > high ? set->node[i] : high;
        after[set->node[i]] = before[set->node[i]] = true;
    }
    for (int n = low; n <= high; n++)
        for (int k = 0; k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            after[n] = after[n] || (from >= low && after[from]);
        }
    for (int n = high; n >= low; n--)
        for (int k = 0; before[n] && k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            if (from >= low)
                before[from] = true;
        }
    for (int n = low; n <= high; n++)
        if (after[n] && before[n])
            node[count++] = n;
    return count;
}

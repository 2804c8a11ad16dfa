/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/sets.h"

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

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Puts members that touch the tensor together. slot: by tensor; member is 1 + one that touches it, 0 where none has. */
static void put_together(touch *slot, int slots, int *parent, int tensor, int member)
{
    unsigned at = (unsigned)tensor * 2654435761u >> 8 & (unsigned)(slots - 1);
    while (slot[at].member > 0 && slot[at].tensor != tensor)
        at = (at + 1) & (unsigned)(slots - 1);
    if (slot[at].member > 0)
        parent[root_of(parent, member)] = root_of(parent, slot[at].member - 1);
    else
        slot[at] = (touch){tensor, member + 1};
}

bool fsim_connected(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why)
{
    if (count == 1)
        return true;
    int touches = 0, slots = 8, *parent = fsim_new(a, int, count);
    for (int i = 0; i < count; i++) {
        parent[i] = i;
        touches += g->node[node[i]].args + g->node[node[i]].results;
    }
    while (slots < 2 * touches)
        slots *= 2;
    touch *slot = fsim_new(a, touch, slots);
    for (int i = 0; i < count; i++) {
        const fsim_node *n = &g->node[node[i]];
        for (int k = 0; k < n->args; k++)
            put_together(slot, slots, parent, n->arg[k].tensor, i);
        for (int k = 0; k < n->results; k++)
            put_together(slot, slots, parent, n->result[k], i);
    }
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

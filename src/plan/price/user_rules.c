/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/user_rules.h"

#include "fusion/sets.h"
#include <string.h>

static bool contains(const int *node, int count, int n)
{
    int low = 0, high = count - 1;
    while (low <= high) {
        const int mid = (low + high) / 2;
        if (node[mid] == n)
            return true;
        if (node[mid] < n)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return false;
}

static bool is_view(const fsim_node *n) { return fsim_ops[n->op].class == FSIM_PERMUTE; }

bool fsim_calls_agree(const fsim_graph *g, int x, int y)
{
    const fsim_node *one = &g->node[x], *other = &g->node[y];
    return !g->calls || is_view(one) || is_view(other) || (one->call == other->call && one->serving == other->serving);
}

static bool calls_agree(const fsim_graph *g, const int *node, int count, fsim_refusal *why)
{
    int first = -1;
    for (int i = 0; i < count; i++) {
        if (is_view(&g->node[node[i]]))
            continue;
        first = first < 0 ? node[i] : first;
        if (fsim_calls_agree(g, first, node[i]))
            continue;
        const bool inside = g->node[first].call > 0 || g->node[first].serving > 0;
        *why = (fsim_refusal){.rule = FSIM_RULE_USER,
                              .a = inside ? first : node[i],
                              .b = inside ? node[i] : first,
                              .through = -1,
                              .unit = FSIM_IN_LIBRARY_CALL};
        return false;
    }
    return true;
}

bool fsim_user_allows(const fsim_problem *p, const int *node, int count, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    if (g->calls && !calls_agree(g, node, count, why))
        return false;
    for (int s = 0; s < g->separates; s++) {
        int first = -1;
        for (int i = 0; i < g->separate[s].count; i++) {
            const int n = g->separate[s].node[i];
            if (!contains(node, count, n) || n == first)
                continue;
            if (first >= 0) {
                *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = first, .b = n, .through = -1};
                return false;
            }
            first = n;
        }
    }
    for (int s = 0; s < g->fuses; s++) {
        int in = -1, out = -1;
        for (int i = 0; i < g->fuse[s].count; i++)
            *(contains(node, count, g->fuse[s].node[i]) ? &in : &out) = g->fuse[s].node[i];
        if (in >= 0 && out >= 0 && (!g->fuse[s].led || contains(node, count, g->fuse[s].node[0]))) {
            *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = in, .b = out, .through = -1};
            return false;
        }
    }
    for (int i = 0; i < count;
         i++) /* a tensor that must be stored ends a kernel: none of its readers can be in the same one */
        for (int r = 0; r < g->node[node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[node[i]].result[r]];
            for (int k = 0; t->materialize && k < t->readers; k++)
                if (contains(node, count, t->reader[k])) {
                    *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = node[i], .b = t->reader[k], .through = -1};
                    return false;
                }
        }
    return true;
}

/* The hull of a set and of every fuse: set that it meets. */
static int with_fused(const fsim_graph *g, fsim_node_set set, int *node, fsim_arena *a)
{
    int *all = fsim_new(a, int, 2 * g->nodes), count = fsim_hull(g, &set, node, a);
    for (int f = 0; f < g->fuses; f++) {
        const fsim_node_set *fused = &g->fuse[f];
        int met = 0;
        for (int i = 0; i < fused->count; i++)
            met += fsim_position(node, count, fused->node[i]) >= 0;
        if (met == 0 || met == fused->count || (fused->led && fsim_position(node, count, fused->node[0]) < 0))
            continue;
        memcpy(all, node, (size_t)count * sizeof *all);
        memcpy(all + count, fused->node, (size_t)fused->count * sizeof *all);
        count = fsim_hull(g, &(fsim_node_set){.count = count + fused->count, .node = all}, node, a);
        f = -1; /* from the first again: the kernel has grown */
    }
    return count;
}

/* A walk over primitives that touch the same tensors. */
typedef struct {
    const bool *member; /* per primitive */
    bool through;       /* by others than members too */
    int *queue, count;
    int *from; /* per primitive: 1 + the one before it on the way; 0: not met */
} walk;

static void meet(walk *w, int n, int before)
{
    if (n < 0 || w->from[n] > 0 || (!w->through && !w->member[n]))
        return;
    w->from[n] = before + 1;
    w->queue[w->count++] = n;
}

static void meet_neighbours(const fsim_graph *g, walk *w, int n)
{
    const fsim_node *x = &g->node[n];
    for (int k = 0; k < x->args + x->results; k++) {
        const fsim_tensor *t = &g->tensor[k < x->args ? x->arg[k].tensor : x->result[k - x->args]];
        meet(w, t->producer, n);
        for (int i = 0; i < t->readers; i++)
            meet(w, t->reader[i], n);
    }
}

/* Appends to node[0, count) the primitives on a shortest way from the members that are connected with the first one to
 * another member. Returns how many; 0 where all are connected, or nothing connects them. */
static int way_between(const fsim_graph *g, int *node, int count, fsim_arena *a)
{
    bool *member = fsim_new(a, bool, g->nodes);
    walk w = {.member = member, .queue = fsim_new(a, int, g->nodes), .from = fsim_new(a, int, g->nodes)};
    int added = 0;
    for (int i = 0; i < count; i++)
        member[node[i]] = true;
    meet(&w, node[0], node[0]);
    for (int i = 0; i < w.count; i++)
        meet_neighbours(g, &w, w.queue[i]);
    const int connected = w.count;
    w.through = true;
    for (int i = 0; connected < count && i < w.count; i++) {
        const int last = w.queue[i];
        if (i >= connected && member[last]) {
            for (int at = w.from[last] - 1; !member[at]; at = w.from[at] - 1)
                node[count + added++] = at;
            return added;
        }
        meet_neighbours(g, &w, last);
    }
    return 0;
}

int fsim_smallest_kernel(const fsim_graph *g, const fsim_node_set *set, int *node, fsim_arena *a)
{
    int count = with_fused(g, *set, node, a), *all = fsim_new(a, int, g->nodes);
    for (int added; (added = way_between(g, node, count, a)) > 0;) {
        memcpy(all, node, (size_t)(count + added) * sizeof *all);
        count = with_fused(g, (fsim_node_set){.count = count + added, .node = all}, node, a);
    }
    return count;
}

bool fsim_keeps_rules(const fsim_problem *p, const fsim_partition *part)
{
    fsim_refusal why;
    bool keeps = true;
    for (int i = 0; p->graph->separates + p->graph->fuses > 0 && i < part->parts && keeps; i++)
        keeps = fsim_user_allows(p, part->part[i].node, part->part[i].count, &why);
    return keeps;
}

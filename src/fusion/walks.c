/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/walks.h"

#include "base/arena.h"
#include "fusion/row_kind.h"

struct fsim_walks {
    const fsim_graph *graph;
    fsim_arena *a;
    fsim_walk_ends *ends[2]; /* below and above each primitive; without a list where nobody asked yet */
    fsim_pair **of;          /* per primitive: the pairs of which it is the first; NULL: nobody asked yet */
};

static fsim_class class_of(const fsim_graph *g, int n) { return fsim_ops[g->node[n].op].class; }

int fsim_place_in_flow(const fsim_flow *f, int n)
{
    for (int i = 0; i < f->count && f->node[i] <= n; i++)
        if (f->node[i] == n)
            return i;
    return -1;
}

static void follow_readers(const fsim_graph *g, fsim_flow *f, int from, int last)
{
    for (int r = 0; r < g->node[from].results; r++) {
        const fsim_tensor *t = &g->tensor[g->node[from].result[r]];
        for (int k = 0; k < t->readers; k++) {
            const int n = t->reader[k];
            const fsim_class class = class_of(g, n);
            if (class == FSIM_CONTRACTION) {
                bool known = false;
                for (int i = 0; i < f->contractions && !known; i++)
                    known = f->contraction[i] == n;
                if (!known && f->contractions < FSIM_MOST_WALKED)
                    f->contraction[f->contractions++] = n;
                f->more = f->more || f->contractions == FSIM_MOST_WALKED;
                continue;
            }
            if (n > last || (!fsim_classes[class].inlines && class != FSIM_REDUCE) || fsim_place_in_flow(f, n) >= 0)
                continue;
            if (f->count == FSIM_MOST_WALKED) {
                f->more = true;
                continue;
            }
            int i = f->count++;
            for (; i > 0 && f->node[i - 1] > n; i--)
                f->node[i] = f->node[i - 1];
            f->node[i] = n;
        }
    }
}

void fsim_flow_from(const fsim_graph *g, int first, int last, fsim_flow *f)
{
    f->count = f->contractions = 0;
    f->more = false;
    follow_readers(g, f, first, last);
    for (int i = 0; i < f->count; i++) { /* readers are added behind the primitive that they read */
        const fsim_node *n = &g->node[f->node[i]];
        fsim_row_kind arg[FSIM_MAX_RANK] = {FSIM_FREE};
        for (int k = 0; k < n->args && k < FSIM_MAX_RANK; k++) {
            const int from = g->tensor[n->arg[k].tensor].producer, at = from < 0 ? -1 : fsim_place_in_flow(f, from);
            arg[k] = at < 0 ? FSIM_FREE : f->kind[at];
        }
        follow_readers(g, f, f->node[i], last);
        f->kind[i] = n->args > FSIM_MAX_RANK ? FSIM_BOUND : fsim_row_kind_of(n, arg);
    }
}

static fsim_walk_ends walk_down(const fsim_graph *g, int n, int *room)
{
    fsim_flow f;
    fsim_flow_from(g, n, g->nodes, &f);
    for (int i = 0; i < f.contractions; i++)
        room[i] = f.contraction[i];
    return (fsim_walk_ends){room, f.contractions, f.more};
}

static bool is_among(const int *list, int count, int n)
{
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = list[i] == n;
    return found;
}

static fsim_walk_ends walk_up(const fsim_graph *g, int n, int *room)
{
    int seen[FSIM_MOST_WALKED] = {n}, count = 1;
    fsim_walk_ends out = {room, 0, false};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < g->node[seen[i]].args; k++) {
            const int from = g->tensor[g->node[seen[i]].arg[k].tensor].producer;
            const fsim_class class = from < 0 ? FSIM_CLASS_COUNT : class_of(g, from);
            const bool ends = class == FSIM_CONTRACTION;
            if (from < 0 || (!ends && !fsim_classes[class].inlines && class != FSIM_REDUCE) ||
                is_among(ends ? room : seen, ends ? out.contractions : count, from))
                continue;
            if (ends ? out.contractions == FSIM_MOST_ENDS : count == FSIM_MOST_WALKED) {
                out.more = true;
                return out;
            }
            if (ends)
                room[out.contractions++] = from;
            else
                seen[count++] = from;
        }
    return out;
}

fsim_walks *fsim_walks_new(const fsim_graph *g, fsim_arena *a)
{
    fsim_walks *w = fsim_new(a, fsim_walks, 1);
    w->graph = g;
    w->a = a;
    return w;
}

static fsim_walks *memory_of(const fsim_limits *limits)
{
    return limits->walks && limits->walks->graph == limits->graph ? limits->walks : NULL;
}

static fsim_walk_ends ends(const fsim_limits *limits, int n, bool up, int *room)
{
    fsim_walks *w = memory_of(limits);
    if (!w)
        return (up ? walk_up : walk_down)(limits->graph, n, room);
    if (!w->ends[up])
        w->ends[up] = fsim_new(w->a, fsim_walk_ends, w->graph->nodes + 1);
    fsim_walk_ends *x = &w->ends[up][n];
    if (!x->contraction) {
        *x = (up ? walk_up : walk_down)(limits->graph, n, room);
        x->contraction = fsim_copy(w->a, room, x->contractions, sizeof *room);
    }
    return *x;
}

fsim_walk_ends fsim_ends_below(const fsim_limits *limits, int n, int *room) { return ends(limits, n, false, room); }

fsim_walk_ends fsim_ends_above(const fsim_limits *limits, int n, int *room) { return ends(limits, n, true, room); }

fsim_pair *fsim_pair_of(const fsim_limits *limits, int first, int second, fsim_pair *room)
{
    fsim_walks *w = memory_of(limits);
    if (!w) {
        *room = (fsim_pair){.first = first, .second = second};
        return room;
    }
    if (!w->of)
        w->of = fsim_new(w->a, fsim_pair *, w->graph->nodes + 1);
    fsim_pair **slot = &w->of[first];
    for (fsim_pair *x = *slot; x; x = x->next)
        if (x->first == first && x->second == second)
            return x;
    fsim_pair *x = fsim_new(w->a, fsim_pair, 1);
    *x = (fsim_pair){.next = *slot, .first = first, .second = second};
    return *slot = x;
}

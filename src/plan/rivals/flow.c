/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rivals/flow.h"

/* Edges come in pairs: edge e ^ 1 is the way back of edge e. */
typedef struct {
    int to, next;
    fsim_sum left;
} edge;

struct fsim_flow {
    fsim_arena *a;
    edge *edge;
    int edges, room, vertices;
    int *first, *at, *level, *queue; /* by vertex: its newest edge, the next one to try, how far from the source */
};

fsim_flow *fsim_flow_new(int vertices, fsim_arena *a)
{
    fsim_flow *f = fsim_new(a, fsim_flow, 1);
    *f = (fsim_flow){.a = a, .vertices = vertices, .first = fsim_new(a, int, vertices + 1)};
    f->at = fsim_new(a, int, vertices + 1);
    f->level = fsim_new(a, int, vertices + 1);
    f->queue = fsim_new(a, int, vertices + 1);
    for (int v = 0; v < vertices; v++)
        f->first[v] = -1;
    return f;
}

void fsim_flow_edge(fsim_flow *f, int from, int to, fsim_sum capacity)
{
    *FSIM_PUSH(f->a, f->edge, f->edges, f->room) = (edge){to, f->first[from], capacity};
    f->first[from] = f->edges - 1;
    *FSIM_PUSH(f->a, f->edge, f->edges, f->room) = (edge){from, f->first[to], 0};
    f->first[to] = f->edges - 1;
}

/* Numbers vertices by their distance from the source; -1: out of reach. Is the target within reach? */
static bool find_levels(fsim_flow *f, int source, int target)
{
    int done = 0, seen = 0;
    for (int v = 0; v < f->vertices; v++) {
        f->level[v] = -1;
        f->at[v] = f->first[v];
    }
    f->level[f->queue[seen++] = source] = 0;
    while (done < seen) {
        const int v = f->queue[done++];
        for (int e = f->first[v]; e >= 0; e = f->edge[e].next)
            if (f->edge[e].left > 0 && f->level[f->edge[e].to] < 0) {
                f->level[f->edge[e].to] = f->level[v] + 1;
                f->queue[seen++] = f->edge[e].to;
            }
    }
    return f->level[target] >= 0;
}

/* Sends what fits along path[0, count), and returns the first edge that is full then. */
static int send(fsim_flow *f, const int *path, int count)
{
    fsim_sum most = f->edge[path[0]].left;
    int full = 0;
    for (int i = 1; i < count; i++)
        most = f->edge[path[i]].left < most ? f->edge[path[i]].left : most;
    for (int i = count; i-- > 0;) {
        f->edge[path[i]].left -= most;
        f->edge[path[i] ^ 1].left += most;
        full = f->edge[path[i]].left == 0 ? i : full;
    }
    return full;
}

/* Fills all shortest paths. */
static void fill_paths(fsim_flow *f, int source, int target)
{
    int *path = f->queue, count = 0;
    for (;;) {
        const int v = count ? f->edge[path[count - 1]].to : source;
        if (v == target) {
            count = send(f, path, count);
            continue;
        }
        int *e = &f->at[v];
        while (*e >= 0 && (f->edge[*e].left == 0 || f->level[f->edge[*e].to] != f->level[v] + 1))
            *e = f->edge[*e].next;
        if (*e >= 0) {
            path[count++] = *e;
        } else if (count == 0) {
            return;
        } else {
            f->level[v] = -1; /* a dead end */
            count--;
        }
    }
}

const bool *fsim_flow_cut(fsim_flow *f, int source, int target)
{
    bool *behind = fsim_new(f->a, bool, f->vertices + 1);
    int done = 0, seen = 0;
    while (find_levels(f, source, target))
        fill_paths(f, source, target);
    behind[f->queue[seen++] = target] = true;
    while (done < seen)
        for (int e = f->first[f->queue[done++]]; e >= 0; e = f->edge[e].next)
            if (f->edge[e ^ 1].left > 0 && !behind[f->edge[e].to])
                behind[f->queue[seen++] = f->edge[e].to] = true;
    return behind;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* memory_order.c: the launch order with which a plan needs the least memory at its peak. */
#include "plan/price/launches.h"
#include "plan/price/price.h"

#include <string.h>

typedef struct {
    const fsim_problem *p;
    fsim_candidate **kernel;
    int kernels;
    int *waits_first, *waits; /* kernels that must run before kernel k: waits[waits_first[k], waits_first[k + 1]) */
    fsim_side *side;          /* per kernel: of the barrier */
    int before;               /* kernels before the barrier */
    int *reading;             /* per tensor: number of kernels that read it */
    fsim_sum least;           /* a lower bound for every order: the largest kernel by itself */
} ordering;

/* The kernels launched so far, the bytes live now and the peak so far. */
typedef struct {
    uint64_t *launched;
    fsim_sum live, peak;
    int parent, kernel, count;
    int before; /* of those launched: before the barrier */
} lean_state;

/* Where there are gradients, outputs count from the kernel that makes them on, though they are never given back. */
static bool is_temporary(const fsim_problem *p, int tensor)
{
    return p->graph->tensor[tensor].producer >= 0 && !p->graph->tensor[tensor].lasting;
}

static bool was_launched(const lean_state *s, int k) { return s->launched[k >> 6] >> (k & 63) & 1; }

static bool may_launch(const ordering *w, const lean_state *s, int k)
{
    for (int i = w->waits_first[k]; i < w->waits_first[k + 1]; i++)
        if (!was_launched(s, w->waits[i]))
            return false;
    if (w->side[k] == FSIM_AFTER_BARRIER && s->before < w->before)
        return false;
    return !was_launched(s, k);
}

/* Launches kernel k and updates the live bytes during and after it. left: per tensor, readers that have not run. */
static void launch_one(const ordering *w, lean_state *s, int k, int *left)
{
    const fsim_group *o = w->kernel[k]->group;
    s->launched[k >> 6] |= (uint64_t)1 << (k & 63);
    s->count++;
    s->before += w->side[k] == FSIM_BEFORE_BARRIER;
    for (int i = 0; i < o->writes; i++)
        s->live += fsim_taken_bytes(&w->p->graph->tensor[o->write[i].tensor]);
    s->peak = s->live > s->peak ? s->live : s->peak;
    for (int i = 0; i < o->reads; i++)
        if (is_temporary(w->p, o->read[i].tensor) && --left[o->read[i].tensor] == 0)
            s->live -= fsim_freed_bytes(&w->p->graph->tensor[o->read[i].tensor]);
}

/* An order by a simple rule: the given order, or (greedily) always the kernel that leaves the fewest live bytes.
 * Returns its peak. */
static fsim_sum order_by_rule(const ordering *w, bool greedily, int *order, fsim_arena *a)
{
    const int words = (w->kernels + 63) / 64, tensors = w->p->graph->tensors;
    lean_state s = {.launched = fsim_new(a, uint64_t, words + 1)};
    int *left = fsim_new(a, int, tensors + 1);
    memcpy(left, w->reading, (size_t)tensors * sizeof *left);
    for (int n = 0; n < w->kernels; n++) {
        int best = n;
        fsim_sum least = FSIM_SUM_MOST;
        for (int k = 0; k < w->kernels && greedily; k++) {
            const fsim_group *o = w->kernel[k]->group;
            fsim_sum live = 0;
            if (!may_launch(w, &s, k))
                continue;
            for (int i = 0; i < o->writes; i++)
                live += fsim_taken_bytes(&w->p->graph->tensor[o->write[i].tensor]);
            for (int i = 0; i < o->reads; i++)
                live -= is_temporary(w->p, o->read[i].tensor) && left[o->read[i].tensor] == 1
                            ? fsim_freed_bytes(&w->p->graph->tensor[o->read[i].tensor])
                            : 0;
            if (live < least) {
                least = live;
                best = k;
            }
        }
        order[n] = best;
        launch_one(w, &s, best, left);
    }
    return s.peak;
}

/* Searches all orders, the one with the lowest peak so far first, for at most MOST_ORDERED steps. Returns the lowest
 * peak, or `known` where no lower one was found. */
static fsim_sum order_by_search(const ordering *w, fsim_sum known, int *order, fsim_arena *a)
{
    enum { MOST_ORDERED = 4000 };
    const int words = (w->kernels + 63) / 64, tensors = w->p->graph->tensors;
    lean_state *all = fsim_new(a, lean_state, MOST_ORDERED + w->kernels + 1);
    bool *open = fsim_new(a, bool, MOST_ORDERED + w->kernels + 1);
    int count = 1, *left = fsim_new(a, int, tensors + 1);
    all[0] = (lean_state){.launched = fsim_new(a, uint64_t, words + 1), .parent = -1};
    open[0] = true;
    while (count <= MOST_ORDERED) {
        int at = -1;
        for (int i = 0; i < count; i++)
            if (open[i] &&
                (at < 0 || all[i].peak < all[at].peak || (all[i].peak == all[at].peak && all[i].count > all[at].count)))
                at = i;
        if (at < 0)
            return known;
        open[at] = false;
        if (all[at].count == w->kernels) {
            for (int n = w->kernels, i = at; n-- > 0; i = all[i].parent)
                order[n] = all[i].kernel;
            return all[at].peak;
        }
        for (int k = 0; k < w->kernels; k++) {
            if (!may_launch(w, &all[at], k))
                continue;
            lean_state next = all[at];
            next.launched = fsim_new(a, uint64_t, words + 1);
            memcpy(next.launched, all[at].launched, (size_t)words * sizeof *next.launched);
            memcpy(left, w->reading, (size_t)tensors * sizeof *left);
            for (int i = 0; i < w->kernels; i++)
                for (int r = 0; was_launched(&all[at], i) && r < w->kernel[i]->group->reads; r++)
                    left[w->kernel[i]->group->read[r].tensor]--;
            launch_one(w, &next, k, left);
            bool known_before = next.peak >= known;
            for (int i = 0; i < count && !known_before; i++)
                known_before = all[i].count == next.count && all[i].peak <= next.peak &&
                               memcmp(all[i].launched, next.launched, (size_t)words * sizeof *next.launched) == 0;
            if (known_before)
                continue;
            next.parent = at;
            next.kernel = k;
            open[count] = true;
            all[count++] = next;
        }
    }
    return known;
}

/* On which side of the barrier the part must run, by what is at home there. */
static fsim_side side_of(const fsim_graph *g, const fsim_part *part)
{
    for (int i = 0; i < part->count; i++)
        if (!part->clone[i] && g->node[part->node[i]].side != FSIM_EITHER_SIDE)
            return g->node[part->node[i]].side;
    return FSIM_EITHER_SIDE;
}

/* The kernels, where each primitive keeps its home. */
static ordering ordering_of(const fsim_problem *p, const fsim_launches *launches, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    const int kernels = launches->kernels;
    const fsim_part **part = launches->part;
    ordering w = {.p = p,
                  .kernel = launches->kernel,
                  .kernels = kernels,
                  .waits_first = fsim_new(a, int, kernels + 1),
                  .side = fsim_new(a, fsim_side, kernels + 1),
                  .reading = fsim_new(a, int, g->tensors + 1)};
    int *home = fsim_new(a, int, g->nodes + 1), count = 0, room = 0;
    for (int k = 0; k < kernels; k++)
        for (int i = 0; i < part[k]->count; i++)
            if (!part[k]->clone[i])
                home[part[k]->node[i]] = k;
    for (int k = 0; k < kernels; k++) {
        const fsim_group *o = launches->kernel[k]->group;
        fsim_sum alone = 0;
        w.waits_first[k] = count;
        w.side[k] = side_of(g, part[k]);
        w.before += w.side[k] == FSIM_BEFORE_BARRIER;
        for (int i = 0; i < o->reads; i++) {
            const int from = g->tensor[o->read[i].tensor].producer;
            w.reading[o->read[i].tensor]++;
            alone += is_temporary(p, o->read[i].tensor) ? g->tensor[o->read[i].tensor].bytes : 0;
            if (from >= 0)
                *FSIM_PUSH(a, w.waits, count, room) = home[from];
        }
        for (int i = 0; i < part[k]->count; i++)
            if (part[k]->clone[i])
                *FSIM_PUSH(a, w.waits, count, room) = home[part[k]->node[i]];
        for (int i = 0; i < o->writes; i++)
            alone += fsim_taken_bytes(&g->tensor[o->write[i].tensor]);
        w.least = alone > w.least ? alone : w.least;
    }
    w.waits_first[kernels] = count;
    return w;
}

/* Finds the order of least peak memory. order[i]: the kernel to run i-th. */
static void lean_order(const fsim_problem *p, const fsim_launches *launches, int *order, fsim_arena *a)
{
    const ordering w = ordering_of(p, launches, a);
    const int kernels = launches->kernels;
    int *other = fsim_new(a, int, kernels + 1);
    fsim_sum peak = order_by_rule(&w, false, order, a);
    if (peak > w.least) {
        const fsim_sum greedy = order_by_rule(&w, true, other, a);
        if (greedy < peak) {
            memcpy(order, other, (size_t)kernels * sizeof *order);
            peak = greedy;
        }
    }
    if (!p->roughly && peak > w.least && order_by_search(&w, peak, other, a) < peak)
        memcpy(order, other, (size_t)kernels * sizeof *order);
}

static void put_in_order(fsim_launches *all, const int *order, fsim_arena *a)
{
    const fsim_part **part = fsim_new(a, const fsim_part *, all->kernels + 1);
    fsim_candidate **kernel = fsim_new(a, fsim_candidate *, all->kernels + 1);
    memcpy(part, all->part, (size_t)all->kernels * sizeof *part);
    memcpy(kernel, all->kernel, (size_t)all->kernels * sizeof *kernel);
    for (int k = 0; k < all->kernels; k++) {
        all->part[k] = part[order[k]];
        all->kernel[k] = kernel[order[k]];
    }
}

void fsim_order_for_memory(const fsim_problem *p, fsim_launches *all, fsim_arena *a)
{
    int *order = fsim_new(a, int, all->kernels + 1);
    lean_order(p, all, order, a);
    put_in_order(all, order, a);
}

void fsim_order_as_listed(const fsim_problem *p, const fsim_partition *partition, fsim_launches *all, fsim_arena *a)
{
    const ordering w = ordering_of(p, all, a);
    const int words = (w.kernels + 63) / 64;
    lean_state s = {.launched = fsim_new(a, uint64_t, words + 1)};
    int *order = fsim_new(a, int, w.kernels + 1), *left = fsim_new(a, int, p->graph->tensors + 1);
    memcpy(left, w.reading, (size_t)p->graph->tensors * sizeof *left);
    for (int k = 0; k < w.kernels; k++)
        order[all->part[k] - partition->part] = k;
    for (int n = 0; n < w.kernels; n++) {
        if (!may_launch(&w, &s, order[n]))
            return;
        launch_one(&w, &s, order[n], left);
    }
    put_in_order(all, order, a);
}

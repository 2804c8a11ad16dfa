/* SPDX-License-Identifier: Apache-2.0 */
/* again.c: what is given up is chosen among the values that a plan keeps for its backward pass. Few of them: every
 * subset. Many: every k-th is kept, of all or of the first ones. The plan's kernels stay as they are; a value is
 * computed again by a kernel with the primitives that its kernel in the forward pass has for it. */
#include "plan/search/again.h"

#include "base/names.h"
#include "plan/price/deadline.h"
#include "plan/price/phases.h"
#include "plan/price/price.h"
#include "plan/search/lists.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SUBSETS = 9, MOST_DROPPED = 4096 };

typedef struct {
    const fsim_problem *p;
    const fsim_plan *base;
    fsim_arena *a;
    int *value, values; /* tensors that may be given up, in the order in which they are made */
    signed char *fate;  /* of each tensor */
    fsim_plan *out;
    int count, most;
} giver;

static int ascending(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* What is stored by kernels of the plan is held; the rest passes. */
static void find_values(giver *w)
{
    const fsim_graph *g = w->base->graph;
    fsim_saved *saved;
    const int count = fsim_saved_of(g, w->base, w->a, &saved);
    w->fate = fsim_new(w->a, signed char, g->own_tensors + 1);
    w->value = fsim_new(w->a, int, count + 1);
    for (int t = 0; t < g->own_tensors; t++)
        w->fate[t] = g->tensor[t].producer >= 0 ? FSIM_PASSED : FSIM_HELD;
    for (int i = 0; i < count; i++) {
        const int t = saved[i].tensor;
        if (saved[i].way != FSIM_KEEP || t >= g->own_tensors)
            continue;
        w->fate[t] = FSIM_HELD;
        if (!g->tensor[t].lasting && !g->tensor[t].output)
            w->value[w->values++] = t;
    }
    qsort(w->value, (size_t)w->values, sizeof *w->value, ascending);
}

/* The primitive of g that does what n of the base graph does, and the one that does it again; -1: none. */
typedef struct {
    fsim_names name;
    const fsim_graph *from, *to;
    fsim_arena *a;
} translation;

static translation translation_of(const fsim_graph *from, const fsim_graph *to, fsim_arena *a)
{
    translation t = {.from = from, .to = to, .a = a};
    for (int n = 0; n < to->nodes; n++)
        fsim_names_set(a, &t.name, to->node[n].name, n);
    return t;
}

static int same_in(const translation *t, int n) { return fsim_names_get(&t->name, t->from->node[n].name); }

static int again_in(const translation *t, int n)
{
    return fsim_names_get(&t->name, fsim_printf(t->a, "again/%s", t->from->node[n].name));
}

static bool is_read_in(const fsim_graph *g, const fsim_part *part, int from, int n)
{
    for (int i = from; i < part->count; i++)
        for (int k = 0; k < g->node[part->node[i]].args; k++)
            if (g->tensor[g->node[part->node[i]].arg[k].tensor].producer == n)
                return true;
    return false;
}

/* A copy that nothing in its kernel reads any more is left out. */
static void leave_unread(const fsim_graph *g, fsim_part *part)
{
    for (int i = part->count; i-- > 0;)
        if (part->clone[i] && !is_read_in(g, part, i + 1, part->node[i])) {
            part->count--;
            memmove(&part->node[i], &part->node[i + 1], (size_t)(part->count - i) * sizeof *part->node);
            memmove(&part->clone[i], &part->clone[i + 1], (size_t)(part->count - i) * sizeof *part->clone);
        }
}

static fsim_part *new_part(fsim_partition *to, int room, fsim_arena *a)
{
    fsim_part *part = &to->part[to->parts++];
    *part = (fsim_part){0, fsim_new(a, int, room + 1), fsim_new(a, bool, room + 1)};
    return part;
}

static void put(fsim_part *part, int node, bool clone)
{
    int at = part->count++;
    for (; at > 0 && part->node[at - 1] > node; at--) {
        part->node[at] = part->node[at - 1];
        part->clone[at] = part->clone[at - 1];
    }
    part->node[at] = node;
    part->clone[at] = clone;
}

/* Does a primitive that was in a kernel of the forward pass read what is only there when it was computed again? */
static bool reads_again(const fsim_graph *g, int n, const fsim_part *more)
{
    for (int k = 0; k < g->node[n].args; k++) {
        const int from = g->tensor[g->node[n].arg[k].tensor].producer;
        if (from >= 0 &&
            (g->node[from].again || bsearch(&from, more->node, (size_t)more->count, sizeof from, ascending)))
            return true;
    }
    return false;
}

/* The plan's kernels on the other graph, and those that compute again. False where a primitive is missing there. */
static bool translate(const giver *w, const fsim_graph *to, fsim_partition *out, fsim_arena *a)
{
    const fsim_partition *of = &w->base->partition;
    const translation names = translation_of(w->base->graph, to, a);
    *out = (fsim_partition){0, fsim_new(a, fsim_part, 2 * of->parts + 1)};
    for (int k = 0; k < of->parts; k++) {
        const fsim_part *part = &of->part[k];
        fsim_part *same = new_part(out, part->count, a), *more = new_part(out, part->count, a);
        const bool forward = fsim_phase_of(w->base->graph, part) == FSIM_FORWARD;
        for (int i = 0; i < part->count; i++) {
            const int n = same_in(&names, part->node[i]), again = part->clone[i] ? -1 : again_in(&names, part->node[i]);
            if (n < 0)
                return false;
            if (again >= 0)
                put(more, again, false);
            put(forward && reads_again(to, n, more) ? more : same, n, part->clone[i]);
        }
        leave_unread(to, same);
        out->parts -= more->count == 0;
    }
    return true;
}

/* Adds the plan to those found so far unless one of them is as good in both respects. */
static void keep(giver *w, const fsim_plan *plan)
{
    w->out[w->count++] = *plan;
    w->count = fsim_front_of(w->out, w->count);
    w->count = w->count < w->most ? w->count : w->most;
}

static void try(giver *w, const signed char *fate)
{
    const fsim_graph *g = fsim_graph_with_fates(w->base->graph, fate, w->base->graph->own_tensors, w->a);
    fsim_partition part;
    fsim_plan plan;
    fsim_refusal why;
    if (!g || !translate(w, g, &part, w->a))
        return;
    fsim_problem q = *w->p;
    q.graph = q.limits.graph = g;
    q.store = fsim_store_new(w->a);
    for (int lean = 0; lean < 2; lean++) { /* neither order is best for all */
        q.lean = lean;
        if (fsim_price(&q, &part, w->a, &plan, &why))
            keep(w, &plan);
    }
}

/* Gives up those of the values that bits or a stride name. */
static void give_up(giver *w, int first, int stride, uint64_t bits)
{
    const fsim_graph *g = w->base->graph;
    signed char *fate = fsim_new(w->a, signed char, g->own_tensors + 1);
    memcpy(fate, w->fate, (size_t)g->own_tensors);
    for (int i = 0; i < w->values; i++) {
        const bool dropped = stride == 0 ? bits >> i & 1 : i < first && (i + 1) % stride != 0;
        fate[w->value[i]] = dropped ? FSIM_DROPPED : FSIM_HELD;
    }
    try(w, fate);
}

int fsim_plans_again(const fsim_problem *p, const fsim_plan *base, int most, fsim_arena *a, fsim_plan *out)
{
    giver w = {.p = p, .base = base, .a = a, .out = out, .most = most};
    if (base->kernels == 0 || base->graph->derived != FSIM_REVERSE || !base->graph->origin || !p->recompute)
        return 0;
    find_values(&w);
    if (w.values <= MOST_SUBSETS) {
        for (uint64_t bits = 0; bits < (uint64_t)1 << w.values && fsim_clock_s() < p->until_s; bits++)
            give_up(&w, 0, 0, bits);
        return w.count;
    }
    int tried = 0;
    for (int stride = w.values + 1; stride > 1; stride = stride > 16 ? stride / 2 : stride - 1)
        for (int first = w.values; first > 0 && tried++ < MOST_DROPPED && fsim_clock_s() < p->until_s;
             first -= 1 + w.values / 16)
            give_up(&w, first, stride, 0);
    return w.count;
}

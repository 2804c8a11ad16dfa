/* SPDX-License-Identifier: Apache-2.0 */
/* pebbles.c: the shortest path through the states of a pebble game: how many steps have run, and which values are in
 * memory. Paths are compared by cost, then by peak: a part of a best path is one itself, since what follows adds the
 * same cost to all that lead to a state, and raises the peak to the same least. */
#include "plan/search/pebbles.h"

#include <string.h>

enum { MOST_STATES = 1 << 19, ASKS = 1 << 14, NO_STATE = -1 };

typedef struct {
    int64_t cost; /* -1: not reached */
    fsim_sum peak;
    int from;
    bool closed;
} label;

typedef struct {
    int64_t cost;
    fsim_sum peak;
    int state;
} entry;

typedef struct {
    const fsim_pebble_game *g;
    fsim_sum limit;
    fsim_values *useful; /* per number of steps that have run: what may still be read, or lead to what is */
    label *at;
    entry *heap;
    int count, room;
    fsim_arena *a;
} player;

bool fsim_may_pebble(const fsim_pebble_game *g)
{
    return g->values > 0 && g->values <= FSIM_MOST_PEBBLES && ((int64_t)g->steps + 1) << g->values <= MOST_STATES;
}

static int state_of(const player *w, int steps, fsim_values held)
{
    return (int)((unsigned)steps << w->g->values | held);
}

static fsim_values held_in(const player *w, int state)
{
    return (fsim_values)state & (((fsim_values)1 << w->g->values) - 1);
}

static int steps_of(const player *w, int state) { return (int)((unsigned)state >> w->g->values); }

/* Of equal paths the one that has come furthest goes on first. */
static bool goes_first(const entry *x, const entry *y)
{
    if (x->cost != y->cost)
        return x->cost < y->cost;
    return x->peak != y->peak ? x->peak < y->peak : x->state > y->state;
}

static void push(player *w, entry x)
{
    int i = w->count;
    *FSIM_PUSH(w->a, w->heap, w->count, w->room) = x;
    for (; i > 0 && goes_first(&x, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = x;
}

static entry pop(player *w)
{
    const entry first = w->heap[0], last = w->heap[--w->count];
    int i = 0;
    for (int k = 1; k < w->count; k = 2 * i + 1) {
        k += k + 1 < w->count && goes_first(&w->heap[k + 1], &w->heap[k]);
        if (!goes_first(&w->heap[k], &last))
            break;
        w->heap[i] = w->heap[k];
        i = k;
    }
    w->heap[i] = last;
    return first;
}

static fsim_sum bytes_of(const player *w, fsim_values set)
{
    fsim_sum bytes = 0;
    for (int v = 0; v < w->g->values; v++)
        bytes += set >> v & 1 ? w->g->bytes[v] : 0;
    return bytes;
}

static void find_useful(player *w)
{
    const fsim_pebble_game *g = w->g;
    w->useful = fsim_new(w->a, fsim_values, g->steps + 1);
    for (int s = g->steps; s-- > 0;) {
        fsim_values set = w->useful[s + 1] | g->step[s].reads, before;
        for (int i = 0; i < g->step[s].eithers; i++)
            set |= g->step[s].either[i].one | g->step[s].either[i].other;
        do {
            before = set;
            for (int m = 0; m < g->makers; m++)
                set |= g->maker[m].makes & set ? g->maker[m].reads : 0;
        } while (set != before);
        w->useful[s] = set;
    }
}

/* Goes from one state to another, with so many bytes in memory meanwhile. */
static void go(player *w, int from, int to, int64_t cost, fsim_sum bytes)
{
    const label *x = &w->at[from];
    label *y = &w->at[to];
    const entry next = {x->cost + cost, bytes > x->peak ? bytes : x->peak, to};
    if (bytes > w->limit || y->closed ||
        (y->cost >= 0 && (y->cost < next.cost || (y->cost == next.cost && y->peak <= next.peak))))
        return;
    *y = (label){next.cost, next.peak, from, false};
    push(w, next);
}

static bool may_run(const fsim_pebble_step *s, fsim_values held)
{
    bool may = (s->reads & ~held) == 0;
    for (int i = 0; i < s->eithers; i++)
        may = may && ((s->either[i].one & ~held) == 0 || (s->either[i].other & ~held) == 0);
    return may;
}

static void go_on_from(player *w, int state)
{
    const fsim_pebble_game *g = w->g;
    const int steps = steps_of(w, state);
    const fsim_values held = held_in(w, state), useless = held & ~w->useful[steps];
    const fsim_sum bytes = bytes_of(w, held), besides = steps > 0 ? g->step[steps - 1].after : g->before;
    if (useless) { /* nothing is gained by waiting */
        go(w, state, state_of(w, steps, held & ~useless), 0, 0);
        return;
    }
    if (steps < g->steps && may_run(&g->step[steps], held))
        go(w, state, state_of(w, steps + 1, held), 0, bytes + g->step[steps].during);
    for (int m = 0; m < g->makers; m++) {
        const fsim_values lacking = g->maker[m].makes & ~held & w->useful[steps];
        for (fsim_values set = lacking; set && (g->maker[m].reads & ~held) == 0; set = (set - 1) & lacking)
            go(w, state, state_of(w, steps, held | set), g->maker[m].cost, bytes + bytes_of(w, set) + besides);
    }
    for (int v = 0; v < g->values; v++)
        if (held >> v & 1)
            go(w, state, state_of(w, steps, held & ~((fsim_values)1 << v)), 0, 0);
}

static fsim_pebble_move move_of(const player *w, int from, int to)
{
    const fsim_values before = held_in(w, from), after = held_in(w, to);
    if (steps_of(w, from) != steps_of(w, to))
        return (fsim_pebble_move){-1, after};
    if (before & ~after)
        return (fsim_pebble_move){-2, before & ~after};
    const fsim_values made = after & ~before;
    int best = -1;
    for (int m = 0; m < w->g->makers; m++)
        if ((made & ~w->g->maker[m].makes) == 0 && (w->g->maker[m].reads & ~before) == 0 &&
            (best < 0 || w->g->maker[m].cost < w->g->maker[best].cost))
            best = m;
    return (fsim_pebble_move){best, made};
}

static void trace(const player *w, int state, fsim_arena *a, fsim_pebbling *out)
{
    *out = (fsim_pebbling){.cost = w->at[state].cost, .peak = w->at[state].peak};
    for (int s = state; w->at[s].from != NO_STATE; s = w->at[s].from)
        out->count++;
    out->move = fsim_new(a, fsim_pebble_move, out->count + 1);
    for (int s = state, i = out->count; w->at[s].from != NO_STATE; s = w->at[s].from)
        out->move[--i] = move_of(w, w->at[s].from, s);
}

bool fsim_pebble(const fsim_pebble_game *g, fsim_sum limit, bool (*go_on)(const void *), const void *with,
                 fsim_arena *a, fsim_pebbling *out)
{
    fsim_arena *scratch = fsim_arena_new();
    const int states = (int)((unsigned)(g->steps + 1) << g->values);
    player w = {.g = g, .limit = limit, .at = fsim_new(scratch, label, states + 1), .a = scratch};
    bool found = false;
    find_useful(&w);
    for (int s = 0; s < states; s++)
        w.at[s].cost = -1;
    w.at[0] = (label){0, g->before, NO_STATE, false};
    push(&w, (entry){0, g->before, 0});
    for (int popped = 0; w.count > 0 && !found && (popped % ASKS != 0 || go_on(with));) {
        const entry x = pop(&w);
        if (w.at[x.state].closed)
            continue;
        popped++;
        w.at[x.state].closed = true;
        found = steps_of(&w, x.state) == g->steps;
        if (found)
            trace(&w, x.state, a, out);
        else
            go_on_from(&w, x.state);
    }
    fsim_arena_free(scratch);
    return found;
}

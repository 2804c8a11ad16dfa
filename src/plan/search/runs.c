/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/runs.h"

#include "plan/search/places.h"
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 4,     /* neighbouring places whose next equal ones suggest a period */
    CANDIDATES = 8, /* periods that are tried: the most frequent ones */
    MOST_READERS = 64
};

/* What a place looks like, with the distances of the readers and of the last use of its results. */
static uint64_t look_of(const fsim_places *l, int i)
{
    const fsim_node *n = fsim_place_node(l, i);
    uint64_t h = l->class[i];
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &l->p->graph->tensor[n->result[r]];
        h = fsim_mix(fsim_mix(h, (uint64_t)t->readers), (uint64_t)(l->last_use[n->result[r]] - i));
        for (int k = 0; k < t->readers && k < MOST_READERS; k++)
            h = fsim_mix(h, l->place[t->reader[k]] < 0 ? 0 : (uint64_t)(l->place[t->reader[k]] - i));
    }
    return h;
}

typedef struct {
    int distance, count;
} candidate;

static int by_count(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : x->distance - y->distance;
}

/* The distances from a place to the next one with equal surroundings, most frequent first. Returns their number. */
static int periods(const uint64_t *look, int count, fsim_arena *a, candidate *out)
{
    int slots = 64, *often = fsim_new(a, int, count + 1), found = 0;
    while (slots < 2 * count)
        slots *= 2;
    int *last = fsim_new(a, int, slots); /* per hash: 1 + the place */
    uint64_t *key = fsim_new(a, uint64_t, slots);
    for (int i = 0; i + WINDOW <= count; i++) {
        uint64_t h = 0;
        for (int k = 0; k < WINDOW; k++)
            h = fsim_mix(h, look[i + k]);
        int at = (int)(h & (uint64_t)(slots - 1));
        while (last[at] && key[at] != h)
            at = (at + 1) & (slots - 1);
        if (last[at])
            often[i + 1 - last[at]]++;
        key[at] = h;
        last[at] = i + 1;
    }
    candidate *all = fsim_new(a, candidate, count + 1);
    int n = 0;
    for (int d = 1; d < count; d++)
        if (often[d])
            all[n++] = (candidate){d, often[d]};
    qsort(all, (size_t)n, sizeof *all, by_count);
    for (; found < n && found < CANDIDATES; found++)
        out[found] = all[found];
    return found;
}

typedef struct {
    const fsim_places *l;
    const uint64_t *look;
    int period;
    int *next, *previous; /* per tensor: 1 + its counterpart in the next and in the previous layer; 0: none */
    int *used, uses;      /* tensors with either of them */
} matching;

static bool same_readers(const matching *m, int x, int y)
{
    const fsim_tensor *t = &m->l->p->graph->tensor[x], *u = &m->l->p->graph->tensor[y];
    if (t->readers != u->readers || m->l->last_use[x] + m->period != m->l->last_use[y])
        return false;
    for (int k = 0; k < t->readers; k++)
        if (m->l->place[t->reader[k]] < 0 || m->l->place[t->reader[k]] + m->period != m->l->place[u->reader[k]])
            return false;
    return true;
}

/* Can tensor y be to the next layer what x is to this one? */
static bool match(matching *m, int x, int y)
{
    const fsim_graph *g = m->l->p->graph;
    if (m->next[x] || m->previous[y])
        return m->next[x] == y + 1 && m->previous[y] == x + 1;
    const int from = fsim_place_of_maker(m->l, x), to = fsim_place_of_maker(m->l, y);
    const bool made = g->tensor[x].producer >= 0 || g->tensor[y].producer >= 0;
    if (x != y &&
        (made ? from < 0 || to != from + m->period
              : !same_readers(m, x, y) || memcmp(&g->tensor[x].shape, &g->tensor[y].shape, sizeof(fsim_shape))))
        return false;
    m->next[x] = y + 1;
    m->previous[y] = x + 1;
    m->used[m->uses++] = x;
    m->used[m->uses++] = y;
    return true;
}

static bool places_match(matching *m, int i)
{
    if (m->look[i] != m->look[i + m->period])
        return false;
    const fsim_node *x = fsim_place_node(m->l, i), *y = fsim_place_node(m->l, i + m->period);
    const fsim_tensor *all = m->l->p->graph->tensor;
    bool same = true;
    for (int k = 0; k < x->args && same; k++)
        same = match(m, x->arg[k].tensor, y->arg[k].tensor);
    for (int r = 0; r < x->results && same; r++)
        same = match(m, x->result[r], y->result[r]) &&
               (all[x->result[r]].over < 0 || match(m, all[x->result[r]].over, all[y->result[r]].over));
    return same;
}

static void forget(matching *m)
{
    for (int k = 0; k < m->uses; k++)
        m->next[m->used[k]] = m->previous[m->used[k]] = 0;
    m->uses = 0;
}

/* The longest run with the period. */
static fsim_run longest(matching *m)
{
    fsim_run best = {.period = m->period};
    int first = 0;
    for (int i = 0; i + m->period <= m->l->count; i++) {
        if (i + m->period < m->l->count && places_match(m, i))
            continue;
        if (i > first && i - first > best.end - best.first - m->period) {
            best.first = first;
            best.end = i + m->period;
        }
        forget(m);
        first = i + 1;
    }
    return best;
}

/* Are the tensors of each layer in the order of those of the layer before? L2 keeps one of two equal tensors longer by
 * their order. */
static bool in_order(const matching *m, int tensors)
{
    for (int t = 0, last = 0; t < tensors; t++) {
        if (m->next[t] && m->next[t] < last)
            return false;
        last = m->next[t] ? m->next[t] : last;
    }
    return true;
}

static void number_layers(const matching *m, int tensors, fsim_arena *a, fsim_run *out)
{
    out->orbit = fsim_new(a, int, tensors + 1);
    out->layer = fsim_new(a, int, tensors + 1);
    for (int t = 0; t < tensors; t++) {
        out->orbit[t] = t;
        out->layer[t] = -1;
    }
    for (int t = 0; t < tensors; t++) {
        if (!m->next[t] || m->previous[t])
            continue; /* begin at the first of each orbit; a tensor that all layers share is its own counterpart */
        for (int x = t, layer = 0;; x = m->next[x] - 1, layer++) {
            out->orbit[x] = t;
            out->layer[x] = layer;
            if (!m->next[x])
                break;
        }
    }
}

bool fsim_find_run(const fsim_places *l, fsim_arena *a, fsim_run *out)
{
    fsim_arena *scratch = fsim_arena_new();
    const int tensors = l->p->graph->tensors;
    uint64_t *look = fsim_new(scratch, uint64_t, l->count + 1);
    candidate try[CANDIDATES];
    for (int i = 0; i < l->count; i++)
        look[i] = look_of(l, i);
    matching m = {.l = l,
                  .look = look,
                  .next = fsim_new(scratch, int, tensors + 1),
                  .previous = fsim_new(scratch, int, tensors + 1),
                  .used = fsim_new(scratch, int, 2 * tensors + 2)};
    *out = (fsim_run){0};
    for (int c = 0, n = periods(look, l->count, scratch, try); c < n; c++) {
        m.period = try[c].distance;
        const fsim_run run = longest(&m);
        const int more = run.end - run.first - run.period, most = out->end - out->first - out->period;
        if (run.end > run.first && (more > most || (more == most && run.period < out->period)))
            *out = run;
    }
    bool found = out->end > out->first;
    if (found) {
        m.period = out->period;
        for (int i = out->first; i + m.period < out->end; i++)
            places_match(&m, i);
        found = in_order(&m, tensors);
        number_layers(&m, tensors, a, out);
        for (int t = 0; t < tensors; t++)
            out->lead = m.next[t] == t + 1 ? out->period : out->lead;
    }
    fsim_arena_free(scratch);
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "import/layers.h"

#include <stdlib.h>

enum {
    BACK = 4,        /* equal items before an item whose distances may be periods */
    CANDIDATES = 48, /* periods that are tried */
    LEAST_SAVED = 4, /* items that a block spares */
    MOST_FOUND = 64
};

typedef struct {
    uint64_t kind;
    int at;
} placed;

typedef struct {
    fsim_arena *a;
    const uint64_t *kind;
    const int *cut;
    fsim_layers *out;
    int found;
} search;

static int by_kind(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : a->at - b->at;
}

typedef struct {
    int distance, times;
} period;

static int by_times(const void *x, const void *y)
{
    const period *a = x, *b = y;
    return a->times != b->times ? b->times - a->times : a->distance - b->distance;
}

/* The distances between equal items of [from, to), the most frequent first. Returns how many. */
static int distances(const search *s, int from, int to, period *out)
{
    const int count = to - from;
    placed *sorted = fsim_new(s->a, placed, count + 1);
    for (int i = 0; i < count; i++) {
        sorted[i] = (placed){s->kind[from + i], i};
        out[i] = (period){i, 0};
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_kind);
    for (int i = 1; i < count; i++)
        for (int b = 1; b <= BACK && b <= i && sorted[i - b].kind == sorted[i].kind; b++)
            out[sorted[i].at - sorted[i - b].at].times++;
    qsort(out, (size_t)count, sizeof *out, by_times);
    int used = 0;
    while (used < count && used < CANDIDATES && out[used].times > 0)
        used++;
    return used;
}

static int saved(const fsim_layers *x) { return x->period * (x->times - 1); }

/* The best start of a stretch that has a few items more than its turns take. */
static int start_of(const search *s, int first, int surplus)
{
    int best = first;
    for (int i = first; i <= first + surplus && s->cut; i++)
        if (s->cut[i] > s->cut[best])
            best = i;
    return best;
}

/* The stretch of [from, to) with this period that spares most. */
static fsim_layers best_of(const search *s, int from, int to, int distance)
{
    fsim_layers best = {from, distance, 0};
    for (int i = from, first = from; i + distance <= to; i++) {
        if (i + distance < to && s->kind[i] == s->kind[i + distance])
            continue;
        const int length = i - first + distance, turns = length / distance;
        if (turns > best.times)
            best = (fsim_layers){start_of(s, first, length % distance), distance, turns};
        first = i + 1;
    }
    return best;
}

/* Finds the stretch of [from, to) that spares most, then those before and behind it. */
static void find(search *s, int from, int to)
{
    if (to - from < LEAST_SAVED || s->found == MOST_FOUND)
        return;
    const fsim_mark scratch = fsim_save(s->a);
    period *all = fsim_new(s->a, period, to - from + 1);
    const int periods = distances(s, from, to, all);
    fsim_layers best = {from, 1, 0};
    for (int i = 0; i < periods; i++) {
        const fsim_layers one = best_of(s, from, to, all[i].distance);
        if (one.times > 1 && (saved(&one) > saved(&best) || (saved(&one) == saved(&best) && one.period < best.period)))
            best = one;
    }
    fsim_rewind(s->a, scratch);
    if (best.times < 2 || saved(&best) < LEAST_SAVED)
        return;
    find(s, from, best.first);
    if (s->found < MOST_FOUND)
        s->out[s->found++] = best;
    find(s, best.first + best.period * best.times, to);
}

fsim_layers *fsim_find_layers(fsim_arena *a, const uint64_t *kind, const int *cut, int count, int *found)
{
    search s = {a, kind, cut, fsim_new(a, fsim_layers, MOST_FOUND), 0};
    find(&s, 0, count);
    *found = s.found;
    return s.out;
}

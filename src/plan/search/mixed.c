/* SPDX-License-Identifier: Apache-2.0 */
/* mixed.c: which of what is given (given.c) a kernel may have together with something that is not.
 *
 * A kernel's primitives hang together by tensors that they access, themselves or through clones. So a kernel with both
 * has one of each that access the same tensor; and what else it has of what is given hangs together with that one, and
 * may be in a kernel with the same other one. */
#include "plan/search/given.h"

#include "fusion/sums.h"
#include "plan/search/places.h"

enum {
    MOST_PAIRS = 1 << 22, /* of a given place and another one; where there are more, all are taken to be mixed */
    MOST_ASKED = 4000     /* of them asked for; the rest too */
};

typedef struct {
    int place, other; /* places that a kernel may have both of */
} mixture;

/* Numbers of points that results of a place have, each once; all: it may be any number. */
typedef struct {
    int64_t *of;
    int count;
    bool known, all;
} pointses;

typedef struct {
    fsim_places *l;
    const bool *left_out;
    int *number;         /* per given place: which of them it is */
    bool *seen;          /* per given place and place: was it asked for? */
    bool *mixed;         /* per place */
    int asked;           /* pairs */
    int *first, *tensor; /* tensors that given place i accesses: tensor[first[i], first[i + 1]) */
    place_list contraction, reduction;
    bool *summed;    /* per place: a sum over all rows has as many points, which fits kernels of other points */
    pointses *leads; /* per place: what it leads to (leads_of) */
    mixture *queue;
    int count, room;
} mixer;

static fsim_class class_of(const fsim_places *l, int i) { return fsim_ops[fsim_place_node(l, i)->op].class; }
static int64_t points_of(const fsim_places *l, int i) { return fsim_place_node(l, i)->points; }
static int64_t whole_of(const fsim_places *l, int i) { return points_of(l, i) * fsim_place_node(l, i)->reduced; }

/* Is there a path from low to high? */
static bool leads_to(fsim_places *l, int low, int high)
{
    bool path = false;
    if (high - low > FSIM_BITS)
        return fsim_separated(l, low, high, &path) || path;
    return low < high && fsim_bit(&l->after[low], high - low - 1);
}

/* Lists the contractions that a kernel with contraction c may have. False where one of them may be side by side with
 * c, or may be a reader of y. */
static bool list_contractions(const mixer *w, int c, int y, place_list *out)
{
    for (int i = 0; i < w->contraction.count; i++) {
        const int k = w->contraction.item[i];
        if (k != c && fsim_never_together(w->l, c, k))
            continue;
        if ((k != c && fsim_may_be_siblings(w->l, c, k)) || leads_to(w->l, y, k))
            return false;
        fsim_list_place(out, k);
    }
    return true;
}

/* Are these the points of the results of one of these contractions, or of rows of them? */
static bool fits_one(const mixer *w, int64_t points, const place_list *contraction)
{
    for (int c = 0; c < contraction->count; c++) {
        const int64_t results = points_of(w->l, contraction->item[c]);
        if (points == results)
            return true;
        for (int r = 0; r < w->reduction.count; r++)
            if (points_of(w->l, w->reduction.item[r]) == points && whole_of(w->l, w->reduction.item[r]) == results)
                return true;
    }
    return false;
}

/* The points of what depends on y without a contraction between, and of y. A kernel with y stores one of these, or else
 * nothing would need what it has of y (apart.c). */
static const pointses *leads_of(mixer *w, int y)
{
    const fsim_places *l = w->l;
    pointses *out = &w->leads[y];
    if (out->known)
        return out;
    place_list queue = {.a = l->a};
    bool *seen = fsim_new(l->a, bool, l->count + 1);
    int room = 0;
    out->known = true;
    fsim_list_place(&queue, y);
    for (int i = 0; i < queue.count; i++) {
        const int at = queue.item[i];
        bool listed = false;
        for (int k = 0; k < out->count && !listed; k++)
            listed = out->of[k] == points_of(l, at);
        if (!listed)
            *FSIM_PUSH(l->a, out->of, out->count, room) = points_of(l, at);
        out->all = out->all || w->summed[at];
        for (int k = l->succ_first[at]; k < l->succ_first[at + 1]; k++)
            if (!seen[l->succ[k]] && class_of(l, l->succ[k]) != FSIM_CONTRACTION) {
                seen[l->succ[k]] = true;
                fsim_list_place(&queue, l->succ[k]);
            }
    }
    return out;
}

/* Is nothing that y leads to as large as what a kernel with contraction c stores? No kernel has both then. */
static bool outgrows(mixer *w, int c, int y)
{
    place_list contraction = {.a = w->l->a};
    if (class_of(w->l, c) != FSIM_CONTRACTION || class_of(w->l, y) == FSIM_CONTRACTION)
        return false;
    const pointses *leads = leads_of(w, y);
    if (leads->all || !list_contractions(w, c, y, &contraction))
        return false;
    for (int i = 0; i < leads->count; i++)
        if (fits_one(w, leads->of[i], &contraction))
            return false;
    return true;
}

static bool may_be_with(mixer *w, int x, int y)
{
    const int low = x < y ? x : y, high = x < y ? y : x;
    bool path;
    return !fsim_never_together(w->l, low, high) && !fsim_separated(w->l, low, high, &path) && !outgrows(w, x, y) &&
           !outgrows(w, y, x);
}

/* May a kernel without a contraction have results of so many and of so many points? */
static bool fit_each_other(const mixer *w, int64_t one, int64_t other)
{
    bool fit = one == other;
    for (int r = 0; r < w->reduction.count && !fit; r++) {
        const int64_t rows = points_of(w->l, w->reduction.item[r]), whole = whole_of(w->l, w->reduction.item[r]);
        fit = (one == rows || one == whole) && (other == rows || other == whole);
    }
    return fit;
}

/* Can no kernel have both, whatever else it has: neither one with a contraction nor one without? */
static bool never_together(mixer *w, int x, int y)
{
    fsim_places *l = w->l;
    if (!may_be_with(w, x, y))
        return true;
    if (class_of(l, x) == FSIM_CONTRACTION || class_of(l, y) == FSIM_CONTRACTION)
        return false;
    const pointses *some = leads_of(w, x), *others = leads_of(w, y);
    bool fit = some->all || others->all;
    for (int i = 0; i < some->count && !fit; i++)
        for (int k = 0; k < others->count && !fit; k++)
            fit = fit_each_other(w, some->of[i], others->of[k]);
    for (int c = 0; c < w->contraction.count && !fit; c++)
        fit = may_be_with(w, w->contraction.item[c], x) && may_be_with(w, w->contraction.item[c], y);
    return !fit;
}

/* Lists contractions and reductions, and where sums over all rows make points tell nothing. */
static void list_makers_of_points(mixer *w)
{
    const fsim_places *l = w->l;
    w->contraction = w->reduction = (place_list){.a = l->a};
    w->leads = fsim_new(l->a, pointses, l->count + 1);
    w->summed = fsim_new(l->a, bool, l->count + 1);
    for (int r = 0; r < l->count; r++) {
        if (class_of(l, r) == FSIM_CONTRACTION)
            fsim_list_place(&w->contraction, r);
        if (class_of(l, r) != FSIM_REDUCE)
            continue;
        fsim_list_place(&w->reduction, r);
        for (int i = 0; i < l->count && fsim_may_sum_across(l->p->graph, l->node[r]); i++)
            w->summed[i] = w->summed[i] || points_of(l, i) == points_of(l, r);
    }
}

static void try_pair(mixer *w, int place, int other)
{
    fsim_places *l = w->l;
    bool *seen = &w->seen[(size_t)w->number[place] * (size_t)l->count + (size_t)other];
    if (*seen)
        return;
    *seen = true;
    if (w->asked++ < MOST_ASKED && never_together(w, place, other))
        return;
    w->mixed[place] = true;
    *FSIM_PUSH(l->a, w->queue, w->count, w->room) = (mixture){place, other};
}

/* Tries what is given and accesses the tensor with this other place; -1: with all that access it. */
static void try_readers(mixer *w, int tensor, int other)
{
    const fsim_places *l = w->l;
    const int low = l->touching_first[tensor], high = l->touching_first[tensor + 1];
    for (int i = low; i < high; i++) {
        if (!w->left_out[l->touching[i]])
            continue;
        if (other >= 0)
            try_pair(w, l->touching[i], other);
        for (int k = low; k < high && other < 0; k++)
            if (!w->left_out[l->touching[k]])
                try_pair(w, l->touching[i], l->touching[k]);
    }
}

static void list_tensors(mixer *w)
{
    const fsim_places *l = w->l;
    const int tensors = l->p->graph->tensors;
    w->first = fsim_new(l->a, int, l->count + 2);
    for (int k = 0; k < l->touching_first[tensors]; k++)
        w->first[l->touching[k] + 2] += w->left_out[l->touching[k]];
    for (int i = 0; i < l->count; i++)
        w->first[i + 2] += w->first[i + 1];
    w->tensor = fsim_new(l->a, int, w->first[l->count + 1] + 1);
    for (int t = 0; t < tensors; t++)
        for (int k = l->touching_first[t]; k < l->touching_first[t + 1]; k++)
            if (w->left_out[l->touching[k]])
                w->tensor[w->first[l->touching[k] + 1]++] = t;
}

bool *fsim_find_mixed(fsim_places *l, const bool *left_out)
{
    mixer w = {.l = l, .left_out = left_out, .mixed = fsim_new(l->a, bool, l->count + 1)};
    int givens = 0;
    w.number = fsim_new(l->a, int, l->count + 1);
    for (int i = 0; i < l->count; i++) {
        w.number[i] = givens;
        givens += left_out[i];
        w.mixed[i] = left_out[i];
    }
    if ((int64_t)givens * l->count > MOST_PAIRS)
        return w.mixed;
    for (int i = 0; i < l->count; i++)
        w.mixed[i] = false;
    w.seen = fsim_new(l->a, bool, givens * l->count + 1);
    list_tensors(&w);
    list_makers_of_points(&w);
    for (int t = 0; t < l->p->graph->tensors; t++)
        try_readers(&w, t, -1);
    for (int i = 0; i < w.count; i++) {
        const mixture m = w.queue[i];
        for (int k = w.first[m.place]; k < w.first[m.place + 1]; k++)
            try_readers(&w, w.tensor[k], m.other);
    }
    fsim_add_work(l->p, w.asked);
    return w.mixed;
}

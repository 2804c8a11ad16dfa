/* SPDX-License-Identifier: Apache-2.0 */
/* mixed.c: which of what is given (given.c) a kernel may have together with something that is not.
 *
 * A kernel's primitives hang together by tensors that they access, themselves or through clones. So a kernel with both
 * has one of each that access the same tensor; and what else it has of what is given hangs together with that one, and
 * may be in a kernel with the same other one. */
#include "plan/search/given.h"

#include "fusion/fuse.h"
#include "plan/search/places.h"

enum {
    MOST_PAIRS = 1 << 22, /* of a given place and another one; where there are more, all are taken to be mixed */
    MOST_ASKED = 4000     /* of them asked for; the rest too */
};

typedef struct {
    int place, other; /* places that a kernel may have both of */
} mixture;

typedef struct {
    fsim_places *l;
    const bool *left_out;
    int *number;         /* per given place: which of them it is */
    bool *seen;          /* per given place and place: was it asked for? */
    bool *mixed;         /* per place */
    int asked;           /* pairs */
    int *first, *tensor; /* tensors that given place i accesses: tensor[first[i], first[i + 1]) */
    mixture *queue;
    int count, room;
} mixer;

static fsim_class class_of(const fsim_places *l, int i) { return fsim_ops[fsim_place_node(l, i)->op].class; }

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
static bool list_contractions(fsim_places *l, int c, int y, place_list *out)
{
    for (int k = 0; k < l->count; k++) {
        if (class_of(l, k) != FSIM_CONTRACTION || (k != c && fsim_never_together(l, c, k)))
            continue;
        if ((k != c && fsim_may_be_siblings(l, c, k)) || leads_to(l, y, k))
            return false;
        fsim_list_place(out, k);
    }
    return true;
}

/* Has place i the points of the results of one of these contractions, or of rows of them? */
static bool fits_one(const fsim_places *l, int i, const place_list *contraction)
{
    const int64_t points = fsim_place_node(l, i)->points;
    for (int c = 0; c < contraction->count; c++) {
        const int64_t results = fsim_place_node(l, contraction->item[c])->points;
        if (points == results)
            return true;
        for (int r = 0; r < l->count; r++) {
            const fsim_node *n = fsim_place_node(l, r);
            if (class_of(l, r) == FSIM_REDUCE && n->points == points && n->points * n->reduced == results)
                return true;
        }
    }
    return false;
}

/* May a sum over all rows give so many points? It fits kernels of other points. */
static bool may_be_summed(const fsim_places *l, int i)
{
    for (int r = 0; r < l->count; r++)
        if (fsim_may_sum_across(l->p->graph, l->node[r]) &&
            fsim_place_node(l, r)->points == fsim_place_node(l, i)->points)
            return true;
    return false;
}

/* Lists what depends on y without a contraction between, and y. A kernel with y stores one of them, or else nothing
 * would need what it has of y (apart.c). */
static place_list results_of(const fsim_places *l, int y)
{
    place_list out = {.a = l->a};
    bool *seen = fsim_new(l->a, bool, l->count + 1);
    fsim_list_place(&out, y);
    for (int i = 0; i < out.count; i++)
        for (int k = l->succ_first[out.item[i]]; k < l->succ_first[out.item[i] + 1]; k++)
            if (!seen[l->succ[k]] && class_of(l, l->succ[k]) != FSIM_CONTRACTION) {
                seen[l->succ[k]] = true;
                fsim_list_place(&out, l->succ[k]);
            }
    return out;
}

/* Is nothing that y leads to as large as what a kernel with contraction c stores? No kernel has both then. */
static bool outgrows(fsim_places *l, int c, int y)
{
    place_list contraction = {.a = l->a};
    if (class_of(l, c) != FSIM_CONTRACTION || class_of(l, y) == FSIM_CONTRACTION ||
        !list_contractions(l, c, y, &contraction))
        return false;
    const place_list results = results_of(l, y);
    bool fits = false;
    for (int i = 0; i < results.count && !fits; i++)
        fits = fits_one(l, results.item[i], &contraction) || may_be_summed(l, results.item[i]);
    return !fits;
}

static bool may_be_with(fsim_places *l, int x, int y)
{
    const int low = x < y ? x : y, high = x < y ? y : x;
    bool path;
    return !fsim_never_together(l, low, high) && !fsim_separated(l, low, high, &path) && !outgrows(l, x, y) &&
           !outgrows(l, y, x);
}

/* Do both have the points of one kernel without a contraction? */
static bool fit_each_other(const fsim_places *l, int x, int y)
{
    const int64_t one = fsim_place_node(l, x)->points, other = fsim_place_node(l, y)->points;
    bool fit = one == other || may_be_summed(l, x) || may_be_summed(l, y);
    for (int r = 0; r < l->count && !fit; r++) {
        const int64_t rows = fsim_place_node(l, r)->points, whole = rows * fsim_place_node(l, r)->reduced;
        fit = class_of(l, r) == FSIM_REDUCE && (one == rows || one == whole) && (other == rows || other == whole);
    }
    return fit;
}

/* Can no kernel have both, whatever else it has: neither one with a contraction nor one without? */
static bool never_together(fsim_places *l, int x, int y)
{
    if (!may_be_with(l, x, y))
        return true;
    if (class_of(l, x) == FSIM_CONTRACTION || class_of(l, y) == FSIM_CONTRACTION)
        return false;
    const place_list some = results_of(l, x), others = results_of(l, y);
    for (int i = 0; i < some.count; i++)
        for (int k = 0; k < others.count; k++)
            if (fit_each_other(l, some.item[i], others.item[k]))
                return false;
    for (int c = 0; c < l->count; c++)
        if (class_of(l, c) == FSIM_CONTRACTION && may_be_with(l, c, x) && may_be_with(l, c, y))
            return false;
    return true;
}

static void try_pair(mixer *w, int place, int other)
{
    fsim_places *l = w->l;
    bool *seen = &w->seen[(size_t)w->number[place] * (size_t)l->count + (size_t)other];
    if (*seen)
        return;
    *seen = true;
    if (w->asked++ < MOST_ASKED && never_together(l, place, other))
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
    for (int t = 0; t < l->p->graph->tensors; t++)
        try_readers(&w, t, -1);
    for (int i = 0; i < w.count; i++) {
        const mixture m = w.queue[i];
        for (int k = w.first[m.place]; k < w.first[m.place + 1]; k++)
            try_readers(&w, w.tensor[k], m.other);
    }
    return w.mixed;
}

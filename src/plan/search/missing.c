/* SPDX-License-Identifier: Apache-2.0 */
/* missing.c: which places may be in a kernel that is not among the sets of a linked list. */
#include "plan/search/places.h"

/* Marks the ends of what makes sets of this root too wide. */
static void mark_ends(fsim_places *l, int root)
{
    const int base = root - FSIM_BACK;
    FSIM_EACH_BIT(v, l->family[root]->far)
    for (int k = l->near_first[base + v]; base + v < l->count && k < l->near_first[base + v + 1]; k++)
        if (l->near[k] - root >= l->ahead && fsim_misses_near(l, base + v, k))
            l->ends[base + v] = l->ends[l->near[k]] = true;
}

/* Lists what may be with root in a set that has too many with it, as far as pairs tell: what hangs together with it, by
 * places that a kernel may have beside it. Marks the ends of what would make these too wide. */
static void list_reached(fsim_places *l, int root, place_list *out)
{
    bool path;
    l->seens++;
    l->seen[root] = l->seens;
    fsim_list_place(out, root);
    for (int i = 0; i < out->count; i++) {
        const int at = out->item[i];
        for (int k = l->near_first[at]; k < l->near_first[at + 1]; k++) {
            const int y = l->near[k];
            if (y - root >= l->ahead && fsim_misses_near(l, at, k))
                l->ends[at] = l->ends[y] = true;
            if (y <= root || y - root >= l->ahead || l->seen[y] == l->seens)
                continue;
            l->seen[y] = l->seens;
            if (!fsim_never_together(l, root, y) && !fsim_separated(l, root, y, &path))
                fsim_list_place(out, y);
        }
    }
}

/* Walks over the places that may be with a root. */
typedef struct {
    int *with, roots; /* per place: the number of the last root that it may be with; of roots so far */
    int *met, walks;  /* per place: the number of the last walk that met it; of walks so far */
    place_list reached, way;
} walker;

/* Of the places that may be with root: may a kernel have `last` and root? All places of some path between the two may
 * then be with `last`. */
static bool hangs_together(fsim_places *l, walker *w, int root, int last)
{
    bool found = last == root;
    w->walks++;
    w->met[last] = w->walks;
    w->way.count = 0;
    fsim_list_place(&w->way, last);
    for (int i = 0; i < w->way.count && !found; i++) {
        const int at = w->way.item[i];
        for (int k = l->near_first[at]; k < l->near_first[at + 1] && !found; k++) {
            const int y = l->near[k];
            if (w->with[y] != w->roots || w->met[y] == w->walks)
                continue;
            found = y == root;
            w->met[y] = w->walks;
            if (!fsim_never_together(l, y, last))
                fsim_list_place(&w->way, y);
        }
    }
    return found;
}

/* Marks what may be in sets of a root with too many. */
static void mark_reached(fsim_places *l, walker *w, int root, bool *out)
{
    w->roots++;
    w->reached.count = 0;
    list_reached(l, root, &w->reached);
    for (int i = 0; i < w->reached.count; i++)
        w->with[w->reached.item[i]] = w->roots;
    for (int i = 0; i < w->reached.count; i++) {
        const int at = w->reached.item[i];
        out[at] = out[at] || hangs_together(l, w, root, at);
    }
}

void fsim_find_missing(fsim_places *l)
{
    walker w = {.with = fsim_new(l->a, int, l->count + 1),
                .met = fsim_new(l->a, int, l->count + 1),
                .reached = {.a = l->a},
                .way = {.a = l->a}};
    l->missing = fsim_new(l->a, bool, l->count + 1);
    for (int root = 0; root < l->count; root++)
        if (l->family[root]->many)
            mark_reached(l, &w, root, l->missing);
        else
            mark_ends(l, root);
    for (int root = 0; root < l->count; root++) {
        const int base = root - FSIM_BACK;
        for (int v = 0; v < FSIM_BITS; v++)
            if (base + v >= 0 && base + v < l->count && l->ends[base + v])
                FSIM_EACH_BIT(i, l->family[root]->with[v])
        if (base + i < l->count)
            l->missing[base + i] = true;
    }
    for (int i = 0; i < l->count; i++)
        l->misses = l->misses || l->missing[i];
}

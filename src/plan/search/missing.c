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

/* Of the places that may be with root: may a kernel have `last` and root? All places of some path between the two may
 * then be with `last`. at, way: room for as many places as there are. */
static bool hangs_together(fsim_places *l, int root, int last, const bool *at, bool *met, place_list *way)
{
    bool found = last == root;
    way->count = 0;
    fsim_list_place(way, last);
    met[last] = true;
    for (int i = 0; i < way->count && !found; i++)
        for (int k = l->near_first[way->item[i]]; k < l->near_first[way->item[i] + 1] && !found; k++) {
            const int y = l->near[k];
            if (!at[y] || met[y])
                continue;
            found = y == root;
            met[y] = true;
            if (!fsim_never_together(l, y, last))
                fsim_list_place(way, y);
        }
    for (int i = 0; i < l->count; i++)
        met[i] = false;
    return found;
}

/* Marks what may be in sets of a root with too many. */
static void mark_reached(fsim_places *l, int root, bool *out)
{
    place_list reached = {.a = l->a}, way = {.a = l->a};
    bool *at = fsim_new(l->a, bool, l->count + 1), *met = fsim_new(l->a, bool, l->count + 1);
    list_reached(l, root, &reached);
    for (int i = 0; i < reached.count; i++)
        at[reached.item[i]] = true;
    for (int i = 0; i < reached.count; i++)
        out[reached.item[i]] = out[reached.item[i]] || hangs_together(l, root, reached.item[i], at, met, &way);
}

void fsim_find_missing(fsim_places *l)
{
    l->missing = fsim_new(l->a, bool, l->count + 1);
    for (int root = 0; root < l->count; root++)
        if (l->family[root]->many)
            mark_reached(l, root, l->missing);
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

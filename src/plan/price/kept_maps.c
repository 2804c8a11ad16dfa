/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/kept_maps.h"

#include "plan/price/alike.h"
#include <string.h>

enum { FEWEST = 64 };

typedef struct kept_list {
    struct kept_list *next;
    uint64_t hash;
    int count;
    fsim_map *map;
} kept_list;

struct fsim_kept_maps {
    fsim_arena *a;
    kept_list **slot;
    int slots, count;
};

fsim_kept_maps *fsim_kept_maps_new(fsim_arena *a)
{
    fsim_kept_maps *t = fsim_new(a, fsim_kept_maps, 1);
    *t = (fsim_kept_maps){.a = a, .slot = fsim_new(a, kept_list *, FEWEST), .slots = FEWEST};
    return t;
}

/* Modes behind the last one are not looked at: they say nothing. */
static uint64_t hash_of(const fsim_map *map, int count)
{
    uint64_t h = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        h = fsim_mix(fsim_mix(h, (uint64_t)map[i].modes << 8 | (uint64_t)map[i].split), (uint64_t)map[i].offset);
        for (int k = 0; k < map[i].modes; k++)
            h = fsim_mix(fsim_mix(h, (uint64_t)map[i].mode[k].extent), (uint64_t)map[i].mode[k].stride);
    }
    return h;
}

static bool are_equal(const fsim_map *x, const fsim_map *y, int count)
{
    for (int i = 0; i < count; i++)
        if (x[i].modes != y[i].modes || x[i].split != y[i].split || x[i].offset != y[i].offset ||
            memcmp(x[i].mode, y[i].mode, (size_t)x[i].modes * sizeof x[i].mode[0]) != 0)
            return false;
    return true;
}

static void grow(fsim_kept_maps *t)
{
    kept_list **old = t->slot;
    const int slots = t->slots;
    t->slots *= 4;
    t->slot = fsim_new(t->a, kept_list *, t->slots);
    for (int i = 0; i < slots; i++)
        for (kept_list *x = old[i], *next; x; x = next) {
            kept_list **to = &t->slot[x->hash & (uint64_t)(t->slots - 1)];
            next = x->next;
            x->next = *to;
            *to = x;
        }
}

fsim_map *fsim_keep_maps(fsim_kept_maps *t, const fsim_map *map, int count)
{
    const uint64_t hash = hash_of(map, count);
    for (kept_list *x = t->slot[hash & (uint64_t)(t->slots - 1)]; x; x = x->next)
        if (x->hash == hash && x->count == count && are_equal(x->map, map, count))
            return x->map;
    if (t->count++ >= t->slots)
        grow(t);
    kept_list *own = fsim_new(t->a, kept_list, 1), **slot = &t->slot[hash & (uint64_t)(t->slots - 1)];
    *own = (kept_list){*slot, hash, count, fsim_exact_copy(t->a, map, count, sizeof *map)};
    *slot = own;
    return own->map;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/groups.h"

#include <string.h>

enum { SLOTS = 1 << 12, MOST = 1 << 15 /* sets: more are not shared */ };

typedef struct known {
    struct known *next;
    uint64_t hash;
    int count, *node;
    bool *stored;
    fsim_shared_group value;
} known;

struct fsim_groups {
    const fsim_graph *graph;
    fsim_arena *a;
    fsim_kept_maps *maps;
    known *slot[SLOTS];
    int count;
};

fsim_groups *fsim_groups_new(const fsim_graph *g, fsim_arena *a)
{
    fsim_groups *s = fsim_new(a, fsim_groups, 1);
    s->graph = g;
    s->a = fsim_arena_child(a);
    s->maps = fsim_kept_maps_new(s->a);
    return s;
}

fsim_groups *fsim_groups_for(const fsim_problem *p)
{
    fsim_groups *s = p->groups;
    return s && s->graph == p->graph && p->search_memory == 0 && s->count < MOST ? s : NULL;
}

fsim_arena *fsim_groups_arena(fsim_groups *s) { return s->a; }

fsim_kept_maps *fsim_groups_maps(fsim_groups *s) { return s->maps; }

static bool is_set(const known *k, const fsim_selection *set, uint64_t hash)
{
    return k->hash == hash && k->count == set->count &&
           memcmp(k->node, set->node, (size_t)set->count * sizeof *set->node) == 0 &&
           memcmp(k->stored, set->stored, (size_t)set->count * sizeof *set->stored) == 0;
}

static bool holds_for(const fsim_shared_group *x, const fsim_limits *limits)
{
    return x->strict == limits->strict &&
           (x->shared_per_block == limits->shared_per_block ||
            (!x->rests_on.refused && x->rests_on.shared_bytes <= limits->shared_per_block));
}

const fsim_shared_group *fsim_groups_find(const fsim_groups *s, const fsim_limits *limits, const fsim_selection *set,
                                          uint64_t hash)
{
    for (const known *k = s->slot[hash % SLOTS]; k; k = k->next)
        if (is_set(k, set, hash) && holds_for(&k->value, limits))
            return &k->value;
    return NULL;
}

void fsim_groups_add(fsim_groups *s, const fsim_selection *set, uint64_t hash, const fsim_shared_group *x)
{
    known *k = fsim_new(s->a, known, 1), **slot = &s->slot[hash % SLOTS];
    *k = (known){.next = *slot, .hash = hash, .count = set->count, .value = *x};
    k->node = fsim_new(s->a, int, set->count + 1);
    k->stored = fsim_new(s->a, bool, set->count + 1);
    memcpy(k->node, set->node, (size_t)set->count * sizeof *set->node);
    memcpy(k->stored, set->stored, (size_t)set->count * sizeof *set->stored);
    *slot = k;
    s->count++;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: groups and kernels that were priced, in a hash table by their primitives and what they store. */
#include "plan/price/price.h"

#include "fusion/chain.h"
#include "fusion/fuse.h"

#include <stdlib.h>
#include <string.h>

typedef struct priced {
    struct priced *next;
    bool *hit, *absorbed;
    bool fits;
    fsim_kernel kernel;
} priced;

typedef struct entry {
    struct entry *next;
    uint64_t hash;
    int count, *key; /* node * 2 + stored */
    fsim_candidate value;
} entry;

typedef struct fsim_store {
    fsim_arena *a, *scratch;
    entry **slot;
    int slots, count;
    int64_t work;
    fsim_mark empty; /* of a, before the first slot */
} fsim_store;

enum { FEWEST_SLOTS = 64 };

enum { WORK_OF_GROUP = 2, WORK_OF_KERNEL = 4, WORK_OF_CONTRACTION = 100 }; /* steps of work, from measurements */

int64_t fsim_work(const fsim_problem *p) { return p->store->work; }
void fsim_add_work(fsim_problem *p, int64_t steps) { p->store->work += steps; }

struct fsim_store *fsim_store_new(fsim_arena *a)
{
    fsim_store *s = fsim_new(a, fsim_store, 1);
    s->a = fsim_arena_child(a);
    s->scratch = fsim_arena_child(a);
    s->empty = fsim_save(s->a);
    s->slots = FEWEST_SLOTS;
    s->slot = fsim_new(s->a, entry *, s->slots);
    return s;
}

void fsim_store_trim(fsim_problem *p, int most)
{
    fsim_store *s = p->store;
    if (s->count <= most)
        return;
    fsim_rewind(s->a, s->empty);
    s->slots = FEWEST_SLOTS;
    s->slot = fsim_new(s->a, entry *, s->slots);
    s->count = 0;
}

static uint64_t hash_of(const int *node, int count, const bool *stored)
{
    uint64_t h = 1469598103934665603u;
    for (int i = 0; i < count; i++)
        h = (h ^ (uint64_t)(node[i] * 2 + stored[i])) * 1099511628211u;
    return h ^ h >> 29;
}

static void grow(fsim_store *s)
{
    entry **old = s->slot;
    const int slots = s->slots;
    s->slots *= 4;
    s->slot = fsim_new(s->a, entry *, s->slots);
    for (int i = 0; i < slots; i++)
        for (entry *e = old[i], *next; e; e = next) {
            next = e->next;
            entry **to = &s->slot[e->hash & (uint64_t)(s->slots - 1)];
            e->next = *to;
            *to = e;
        }
}

static void *keep(fsim_arena *a, const void *items, int count, size_t size)
{
    void *copy = fsim_alloc(a, (size_t)count + 1, size);
    if (count)
        memcpy(copy, items, (size_t)count * size);
    return copy;
}

void fsim_group_keep(fsim_arena *a, fsim_group *o)
{
    o->member = keep(a, o->member, o->members, sizeof *o->member);
    o->read = keep(a, o->read, o->reads, sizeof *o->read);
    o->write = keep(a, o->write, o->writes, sizeof *o->write);
    o->joint = o->joint ? keep(a, o->joint, 1, sizeof *o->joint) : NULL;
    for (int i = 0; i < o->reads; i++) {
        fsim_read *r = &o->read[i];
        r->map = keep(a, r->map, r->maps, sizeof *r->map);
        r->place = r->place ? keep(a, r->place, r->maps, sizeof *r->place) : NULL;
        r->access = r->derived ? keep(a, r->access, 1, sizeof *r->access) : r->access;
    }
}

fsim_candidate *fsim_candidate_of(fsim_problem *p, const int *node, int count, const bool *stored)
{
    fsim_store *s = p->store;
    const uint64_t h = hash_of(node, count, stored);
    for (entry *e = s->slot[h & (uint64_t)(s->slots - 1)]; e; e = e->next) {
        if (e->hash != h || e->count != count)
            continue;
        int i = 0;
        while (i < count && e->key[i] == node[i] * 2 + stored[i])
            i++;
        if (i == count)
            return &e->value;
    }
    if (s->count++ > s->slots)
        grow(s);
    entry *e = fsim_new(s->a, entry, 1);
    e->hash = h;
    e->count = count;
    e->key = fsim_new(s->a, int, count);
    for (int i = 0; i < count; i++)
        e->key[i] = node[i] * 2 + stored[i];
    e->next = s->slot[h & (uint64_t)(s->slots - 1)];
    s->slot[h & (uint64_t)(s->slots - 1)] = e;
    s->work += WORK_OF_GROUP + count + count * count / 64;
    const fsim_mark mark = fsim_save(s->scratch);
    e->value.legal = fsim_group_of(&p->limits, &(fsim_selection){.node = node, .count = count, .stored = stored},
                                   s->scratch, &e->value.group, &e->value.why);
    if (e->value.legal)
        fsim_group_keep(s->a, &e->value.group);
    fsim_rewind(s->scratch, mark);
    return &e->value;
}

int fsim_by_int(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

static bool same_flags(const bool *x, const bool *y, int count) { return memcmp(x, y, (size_t)count * sizeof *x) == 0; }

static bool *copy_flags(fsim_arena *a, const bool *x, int count) { return keep(a, x, count, sizeof *x); }

const fsim_kernel *fsim_kernel_for(fsim_problem *p, fsim_candidate *c, const bool *hit, const bool *absorbed)
{
    fsim_store *s = p->store;
    for (priced *k = c->kernel; k; k = k->next)
        if (same_flags(k->hit, hit, c->group.reads) && same_flags(k->absorbed, absorbed, c->group.writes))
            return k->fits ? &k->kernel : NULL;
    priced *k = fsim_new(s->a, priced, 1);
    k->hit = copy_flags(s->a, hit, c->group.reads);
    k->absorbed = copy_flags(s->a, absorbed, c->group.writes);
    k->next = c->kernel;
    c->kernel = k;
    s->work += c->group.template == FSIM_TILED_CONTRACTION || c->group.template == FSIM_CHAINED_CONTRACTION
                   ? WORK_OF_CONTRACTION
                   : WORK_OF_KERNEL;
    const fsim_residency l2 = {.hit = k->hit, .absorbed = k->absorbed};
    const fsim_mark mark = fsim_save(s->scratch);
    k->kernel = fsim_kernel_of(p->graph, p->hw, p->regime, &c->group, &l2, s->scratch);
    k->fits = k->kernel.time_s > 0;
    k->kernel.input = keep(s->a, k->kernel.input, k->kernel.inputs, sizeof *k->kernel.input);
    k->kernel.output = keep(s->a, k->kernel.output, k->kernel.outputs, sizeof *k->kernel.output);
    fsim_rewind(s->scratch, mark);
    return k->fits ? &k->kernel : NULL;
}

const fsim_kernel *fsim_kernel_alone(fsim_problem *p, const int *node, int count, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    bool *stored = fsim_new(a, bool, count);
    for (int i = 0; i < count; i++) {
        stored[i] = g->node[node[i]].effect;
        for (int r = 0; r < g->node[node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[node[i]].result[r]];
            stored[i] = stored[i] || t->output || t->materialize;
            for (int k = 0; k < t->readers && !stored[i]; k++)
                stored[i] = !bsearch(&t->reader[k], node, (size_t)count, sizeof *node, fsim_by_int);
        }
    }
    fsim_candidate *c = fsim_candidate_of(p, node, count, stored);
    return c->legal
               ? fsim_kernel_for(p, c, fsim_new(a, bool, c->group.reads + 1), fsim_new(a, bool, c->group.writes + 1))
               : NULL;
}

fsim_sum fsim_objective_of(const fsim_problem *p, const fsim_kernel *k)
{
    return p->objective == FSIM_MINIMISE_BYTES ? (fsim_sum)k->dram_read_bytes + k->dram_write_bytes
                                               : fsim_ticks(k->time_s);
}

bool fsim_may_clone(const fsim_problem *p, int node)
{
    const fsim_graph *g = p->graph;
    if (!fsim_classes[fsim_ops[g->node[node].op].class].clones)
        return false;
    for (int r = 0; r < g->node[node].results; r++) {
        const fsim_tensor *t = &g->tensor[g->node[node].result[r]];
        if (t->readers > 0 && t->reader[t->readers - 1] - node > FSIM_CLONE_REACH)
            return false;
    }
    return true;
}

bool fsim_may_reside(const fsim_problem *p, int tensor)
{
    return (double)p->graph->tensor[tensor].bytes <= fsim_l2_effective(p->hw);
}

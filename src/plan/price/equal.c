/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/equal.h"

#include "base/names.h"
#include <string.h>

/* What is known of a kernel, one word after the other. */
typedef struct {
    int64_t *at;
    int count, room;
} words;

static void put_integer(fsim_arena *a, words *t, int64_t x) { *FSIM_PUSH(a, t->at, t->count, t->room) = x; }

/* To the last bit. */
static void put_real(fsim_arena *a, words *t, double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_integer(a, t, bits);
}

/* Eight characters a word; the last word has room for a zero, so that texts end where they end. */
static void put_text(fsim_arena *a, words *t, const char *text, bool numbers)
{
    int64_t packed = 0;
    int held = 0;
    for (const char *c = numbers ? text : fsim_behind_numbers(text); *c;
         c = numbers ? c + 1 : fsim_behind_numbers(c + 1)) {
        packed |= (int64_t)((uint64_t)(unsigned char)*c << 8 * held);
        if (++held == (int)sizeof packed) {
            put_integer(a, t, packed);
            packed = held = 0;
        }
    }
    put_integer(a, t, packed);
}

static void put_members(fsim_arena *a, words *t, const fsim_graph *g, const fsim_group *group)
{
    put_integer(a, t, group->members);
    for (int i = 0; i < group->members; i++) {
        const fsim_member *m = &group->member[i];
        put_integer(a, t, g->node[m->node].op);
        put_integer(a, t, 2 * (int)m->form + m->clone);
        put_text(a, t, g->node[m->node].name, false);
    }
}

static void put_layout(fsim_arena *a, words *t, const fsim_kernel *k)
{
    const int64_t layout[] = {k->template,      k->launches,       k->grid,         k->block,     k->registers,
                              k->blocks_per_sm, k->tile_m,         k->shared_bytes, k->tile_n,    k->stages,
                              k->split_k,       k->vector,         k->passes,       k->keep,      k->row_threads,
                              k->pieces,        k->band,           k->alone,        k->penalised, k->rows_per_block,
                              k->group->points, k->group->reduced, k->turns};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        put_integer(a, t, layout[i]);
}

static void put_costs(fsim_arena *a, words *t, const fsim_kernel *k)
{
    const int64_t bytes[] = {k->spilled_bytes, k->dram_read_bytes, k->dram_write_bytes, k->partial_bytes,
                             k->bound,         k->inputs,          k->outputs};
    const double cost[] = {k->occupancy,          k->waves, k->coalescing, k->l2_bytes,
                           k->shared_bytes_moved, k->flops, k->time_s};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        put_integer(a, t, bytes[i]);
    for (size_t i = 0; i < sizeof cost / sizeof *cost; i++)
        put_real(a, t, cost[i]);
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        put_real(a, t, k->time[u]);
        put_real(a, t, k->unit[u]);
    }
    for (int i = 0; i < k->inputs; i++) {
        put_integer(a, t, k->input[i].bytes);
        put_integer(a, t, k->input[i].read_bytes);
        put_real(a, t, k->input[i].l2_bytes);
    }
    for (int i = 0; i < k->outputs; i++) {
        put_integer(a, t, k->output[i].bytes);
        put_integer(a, t, k->output[i].write_bytes);
    }
}

/* Describes kernel i. read: NULL, or the keys of each kernel. */
static void describe(fsim_arena *a, words *t, const fsim_graph *g, const fsim_plan *plan, const fsim_hw_keys *read,
                     int i)
{
    t->count = 0;
    put_members(a, t, g, plan->kernel[i].group);
    put_layout(a, t, &plan->kernel[i]);
    put_costs(a, t, &plan->kernel[i]);
    for (int key = 0; read && key < FSIM_HW_COUNT; key++)
        put_integer(a, t, read[i].how[key]);
    put_text(a, t, plan->rule && plan->rule[i] ? plan->rule[i] : "", true);
}

/* The descriptions that were met, by hashing. */
typedef struct {
    words *class;
    int classes, room;
    int *slot; /* a class plus one; 0: free */
    int slots; /* a power of two, at least twice as many as kernels */
} descriptions;

static int class_of(fsim_arena *a, descriptions *d, const words *t)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (int i = 0; i < t->count; i++)
        h = (h ^ (uint64_t)t->at[i]) * 1099511628211u;
    int i = (int)((h ^ h >> 32) & (uint64_t)(d->slots - 1));
    for (; d->slot[i]; i = (i + 1) & (d->slots - 1)) {
        const words *known = &d->class[d->slot[i] - 1];
        if (known->count == t->count && memcmp(known->at, t->at, (size_t)t->count * sizeof *t->at) == 0)
            return d->slot[i] - 1;
    }
    words copy = {fsim_new(a, int64_t, t->count), t->count, t->count};
    memcpy(copy.at, t->at, (size_t)t->count * sizeof *t->at);
    *FSIM_PUSH(a, d->class, d->classes, d->room) = copy;
    d->slot[i] = d->classes;
    return d->classes - 1;
}

int *fsim_kernel_classes(const fsim_graph *g, const fsim_plan *plan, const fsim_hw_keys *read, fsim_arena *a)
{
    int *class = fsim_new(a, int, plan->kernels + 1);
    fsim_arena *scratch = fsim_arena_new();
    descriptions d = {.slots = 64};
    words said = {0};
    while (d.slots < 2 * plan->kernels)
        d.slots *= 2;
    d.slot = fsim_new(scratch, int, d.slots);
    for (int i = 0; i < plan->kernels; i++) {
        describe(scratch, &said, g, plan, read, i);
        class[i] = class_of(scratch, &d, &said);
    }
    fsim_arena_free(scratch);
    return class;
}

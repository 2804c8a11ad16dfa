/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/equal.h"

#include "base/names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A text under construction. */
typedef struct {
    char *at;
    size_t length, room;
} text;

static void put_bytes(fsim_arena *a, text *t, const void *bytes, size_t count)
{
    if (t->length + count + 1 > t->room) {
        const size_t room = 2 * (t->length + count + 1);
        char *longer = fsim_new(a, char, room);
        if (t->length)
            memcpy(longer, t->at, t->length);
        t->at = longer;
        t->room = room;
    }
    memcpy(t->at + t->length, bytes, count);
    t->at[t->length += count] = '\0';
}

static void put_integer(fsim_arena *a, text *t, int64_t x)
{
    char digits[24];
    put_bytes(a, t, digits, (size_t)snprintf(digits, sizeof digits, "%" PRIx64 ",", (uint64_t)x));
}

/* To the last bit. */
static void put_real(fsim_arena *a, text *t, double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_integer(a, t, bits);
}

static void put_name(fsim_arena *a, text *t, const char *name)
{
    for (const char *c = fsim_behind_numbers(name); *c; c = fsim_behind_numbers(c + 1))
        put_bytes(a, t, c, 1);
    put_bytes(a, t, ";", 1);
}

static void put_members(fsim_arena *a, text *t, const fsim_graph *g, const fsim_group *group)
{
    for (int i = 0; i < group->members; i++) {
        const fsim_member *m = &group->member[i];
        put_integer(a, t, g->node[m->node].op);
        put_integer(a, t, 2 * (int)m->form + m->clone);
        put_name(a, t, g->node[m->node].name);
    }
}

static void put_layout(fsim_arena *a, text *t, const fsim_kernel *k)
{
    const int64_t layout[] = {k->template,      k->launches,      k->grid,         k->block,     k->registers,
                              k->blocks_per_sm, k->tile_m,        k->shared_bytes, k->tile_n,    k->stages,
                              k->split_k,       k->vector,        k->passes,       k->keep,      k->row_threads,
                              k->pieces,        k->band,          k->alone,        k->penalised, k->rows_per_block,
                              k->group->points, k->group->reduced};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        put_integer(a, t, layout[i]);
}

static void put_costs(fsim_arena *a, text *t, const fsim_kernel *k)
{
    const int64_t bytes[] = {k->spilled_bytes, k->dram_read_bytes, k->dram_write_bytes,
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

/* What is known of kernel i, as a text without zeros. read: NULL, or the keys of each kernel. */
static const char *description(fsim_arena *a, const fsim_graph *g, const fsim_plan *plan, const fsim_hw_keys *read,
                               int i)
{
    text t = {0};
    put_members(a, &t, g, plan->kernel[i].group);
    put_layout(a, &t, &plan->kernel[i]);
    put_costs(a, &t, &plan->kernel[i]);
    for (int key = 0; read && key < FSIM_HW_COUNT; key++)
        put_bytes(a, &t, &"0123"[read[i].how[key] & 3], 1);
    if (plan->rule && plan->rule[i])
        put_bytes(a, &t, plan->rule[i], strlen(plan->rule[i]));
    return t.at;
}

int *fsim_kernel_classes(const fsim_graph *g, const fsim_plan *plan, const fsim_hw_keys *read, fsim_arena *a)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_names known = {0};
    int *class = fsim_new(a, int, plan->kernels + 1), classes = 0;
    for (int i = 0; i < plan->kernels; i++) {
        const fsim_mark before = fsim_save(scratch);
        const char *said = description(scratch, g, plan, read, i);
        class[i] = fsim_names_get(&known, said);
        if (class[i] < 0)
            fsim_names_set(a, &known, fsim_strdup(a, said), class[i] = classes++);
        fsim_rewind(scratch, before);
    }
    fsim_arena_free(scratch);
    return class;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/repeats.h"

#include "base/names.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A repeat saves at least LEAST_SAVED kernels. Periods are looked for among the distances from each kernel to the next
 * NEIGHBOURS equal ones, the PERIODS most frequent of them: a layer may hold several equal kernels itself. */
enum { LEAST_SAVED = 3, NEIGHBOURS = 4, PERIODS = 32 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_tie(char c) { return c == '_' || c == '.'; }

/* Skips numbers, each with a '_' or '.' before it. */
static const char *behind_numbers(const char *c)
{
    while (is_digit(*c) || (is_tie(*c) && is_digit(c[1])))
        c++;
    return c;
}

bool fsim_same_but_numbers(const char *x, const char *y)
{
    for (;; x++, y++) {
        x = behind_numbers(x);
        y = behind_numbers(y);
        if (*x != *y || !*x)
            return *x == *y;
    }
}

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
    for (const char *c = behind_numbers(name); *c; c = behind_numbers(c + 1))
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

/* What is known of kernel i, as a text without zeros. */
static const char *description(fsim_arena *a, const fsim_prediction *p, fsim_strategy s, int i)
{
    const fsim_plan *plan = &p->plan[s];
    text t = {0};
    put_members(a, &t, p->graph, plan->kernel[i].group);
    put_layout(a, &t, &plan->kernel[i]);
    put_costs(a, &t, &plan->kernel[i]);
    for (int key = 0; s == p->chosen && p->basis.kernel && key < FSIM_HW_COUNT; key++)
        put_bytes(a, &t, &"0123"[p->basis.kernel[i].how[key] & 3], 1);
    if (plan->rule && plan->rule[i])
        put_bytes(a, &t, plan->rule[i], strlen(plan->rule[i]));
    return t.at;
}

/* Per kernel a number, the same for equal ones. In a. */
static int *classes_of(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_names known = {0};
    int *class = fsim_new(a, int, p->plan[s].kernels + 1), classes = 0;
    for (int i = 0; i < p->plan[s].kernels; i++) {
        const fsim_mark before = fsim_save(scratch);
        const char *said = description(scratch, p, s, i);
        class[i] = fsim_names_get(&known, said);
        if (class[i] < 0)
            fsim_names_set(a, &known, fsim_strdup(a, said), class[i] = classes++);
        fsim_rewind(scratch, before);
    }
    fsim_arena_free(scratch);
    return class;
}

/* Some kernels [from, to) of which each is equal to the one `period` further on, while that is before `to`. */
typedef struct {
    int from, to, period;
} run;

static int saved_by(const run *r) { return ((r->to - r->from) / r->period - 1) * r->period; }

static int by_saving(const void *a, const void *b)
{
    const run *x = a, *y = b;
    const int more = saved_by(x), less = saved_by(y);
    return more != less             ? (more < less) - (more > less)
           : x->period != y->period ? x->period - y->period
                                    : x->from - y->from;
}

/* The most frequent distances between kernels that are equal and near; how many. */
static int periods_of(const int *class, int kernels, int *period, fsim_arena *a)
{
    int *count = fsim_new(a, int, kernels + 1), *next = fsim_new(a, int, kernels + 1),
        *last = fsim_new(a, int, kernels + 1);
    int periods = 0;
    for (int i = kernels - 1; i >= 0; i--) { /* last: the latest kernel of the class seen, plus one */
        next[i] = last[class[i]] - 1;
        last[class[i]] = i + 1;
    }
    for (int i = 0; i < kernels; i++)
        for (int at = next[i], near = 0; at >= 0 && near < NEIGHBOURS; at = next[at], near++)
            count[at - i]++;
    for (; periods < PERIODS; periods++) {
        int most = 0;
        for (int d = 1; d < kernels; d++)
            most = count[d] > count[most] ? d : most;
        if (count[most] == 0)
            break;
        period[periods] = most;
        count[most] = 0;
    }
    return periods;
}

typedef struct {
    run *at;
    int count, room;
} runs;

/* Adds the longest runs of a period. */
static void add_runs(runs *all, const int *class, int kernels, int period, fsim_arena *a)
{
    for (int i = 0; i + period < kernels; i++) {
        const int from = i;
        while (i + period < kernels && class[i] == class[i + period])
            i++;
        const run r = {from, i + period, period};
        if (i > from && saved_by(&r) >= LEAST_SAVED)
            *FSIM_PUSH(a, all->at, all->count, all->room) = r;
    }
}

/* The number in x's name that the name of an equal kernel y has another for; -1: none is found. */
static int64_t own_number(const char *x, const char *y)
{
    for (; *x && *y; x++, y++) {
        if (!is_digit(*x) || !is_digit(*y)) {
            if (*x != *y)
                return -1;
            continue;
        }
        const size_t mine = strspn(x, "0123456789"), its = strspn(y, "0123456789");
        if (mine != its || strncmp(x, y, mine) != 0)
            return strtoll(x, NULL, 10);
        x += mine - 1;
        y += its - 1;
    }
    return -1;
}

/* The number of the layer that kernel i of a run is in, by the name of its first primitive that has one; -1. */
static int64_t layer_of(const fsim_graph *g, const fsim_plan *plan, const run *r, int i)
{
    const int other = i + r->period < r->to ? i + r->period : i - r->period;
    const fsim_group *x = plan->kernel[i].group, *y = plan->kernel[other].group;
    for (int m = 0; m < x->members; m++) {
        const int64_t number = own_number(g->node[x->member[m].node].name, g->node[y->member[m].node].name);
        if (number >= 0)
            return number;
    }
    return -1;
}

/* Lets a run begin where a layer does, where the names tell. */
static run aligned(const fsim_graph *g, const fsim_plan *plan, run r)
{
    const int last = r.to - 2 * r.period < r.from + r.period - 1 ? r.to - 2 * r.period : r.from + r.period - 1;
    for (int from = r.from; from <= last; from++) {
        const run later = {from, r.to, r.period};
        const int64_t here = layer_of(g, plan, &r, from + r.period),
                      before = layer_of(g, plan, &r, from + r.period - 1);
        if (here >= 0 && before >= 0 && here != before)
            return saved_by(&later) >= LEAST_SAVED ? later : r;
    }
    return r;
}

static int in_order(const void *a, const void *b)
{
    return ((const fsim_repeat *)a)->first - ((const fsim_repeat *)b)->first;
}

fsim_repeats fsim_no_repeats(int kernels, fsim_arena *a)
{
    fsim_repeats none = {.times = fsim_new(a, int, kernels + 1)};
    for (int i = 0; i < kernels; i++)
        none.times[i] = 1;
    return none;
}

/* A plan whose repeats are looked for, and what was found so far. */
typedef struct {
    const fsim_graph *g;
    const fsim_plan *plan;
    bool *taken; /* per kernel: a repeat has it */
    fsim_repeats found;
    int room; /* of found.at */
} search;

/* Takes as many turns of r as lie between kernels that other repeats have. */
static void take(search *s, run r, fsim_arena *a)
{
    for (int from = r.from, to; from < r.to; from = to + 1) {
        for (to = from; to < r.to && !s->taken[to];)
            to++;
        run clear = {from, to, r.period};
        if (to == from || saved_by(&clear) < LEAST_SAVED)
            continue;
        clear = aligned(s->g, s->plan, clear);
        const fsim_repeat x = {clear.from, r.period, (to - clear.from) / r.period};
        *FSIM_PUSH(a, s->found.at, s->found.count, s->room) = x;
        for (int i = 0; i < x.kernels * x.times; i++) {
            s->taken[x.first + i] = true;
            s->found.times[x.first + i] = i < x.kernels ? x.times : 0;
        }
    }
}

fsim_repeats fsim_repeats_of(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[s];
    search all = {p->graph, plan, fsim_new(a, bool, plan->kernels + 1), fsim_no_repeats(plan->kernels, a), 0};
    int period[PERIODS];
    runs some = {0};
    const int *class = classes_of(p, s, a);
    const int periods = periods_of(class, plan->kernels, period, a);
    for (int i = 0; i < periods; i++)
        add_runs(&some, class, plan->kernels, period[i], a);
    if (some.count > 0)
        qsort(some.at, (size_t)some.count, sizeof *some.at, by_saving);
    for (int i = 0; i < some.count; i++)
        take(&all, some.at[i], a);
    if (all.found.count > 0)
        qsort(all.found.at, (size_t)all.found.count, sizeof *all.found.at, in_order);
    return all.found;
}

double fsim_turn_s(const fsim_plan *plan, const fsim_repeat *r)
{
    fsim_sum ticks = 0;
    for (int i = 0; i < r->kernels; i++)
        ticks += fsim_ticks(plan->kernel[r->first + i].time_s);
    return (double)ticks * FSIM_TICK_S;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/repeats.h"

#include "plan/price/equal.h"
#include <stdlib.h>
#include <string.h>

/* A repeat saves at least LEAST_SAVED kernels. Periods are looked for among the distances from each kernel to the next
 * NEIGHBOURS equal ones, the PERIODS most frequent of them: a layer may hold several equal kernels itself. */
enum { LEAST_SAVED = 3, NEIGHBOURS = 4, PERIODS = 32 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

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
    search all = {plan->graph, plan, fsim_new(a, bool, plan->kernels + 1), fsim_no_repeats(plan->kernels, a), 0};
    int period[PERIODS];
    runs some = {0};
    const fsim_hw_keys *read = s == p->chosen ? p->basis.kernel : NULL;
    const int *class = fsim_kernel_classes(plan->graph, plan, read, a);
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

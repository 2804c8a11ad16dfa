/* SPDX-License-Identifier: Apache-2.0 */
/* raise.c: better prices, window by window.
 *
 * The prices of a few dozen neighbouring places are set anew, with all others as they are: the most that the sets allow
 * which have some of them. That is a linear program; its dual, of a row per place and a column per set, is solved by
 * the simplex method, which begins with a set for each place alone and takes in the set that is violated most (Dantzig
 * 1951; columns as in Gilmore and Gomory 1961). What it finds is rounded, and taken only where no set forbids it. */
#include "plan/search/pricer.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDE = 48,   /* places of a window */
    STEP = 24,   /* places to the next one */
    PIVOTS = 20, /* per place, at most */
    SHARES = 2   /* the windows may take this part of the budget */
};

/* A set that has places of the window. */
typedef struct {
    priced_set *set;
    uint64_t mask; /* which */
    fsim_sum rest; /* the prices of its other members */
} column;

typedef struct {
    pricer *w;
    fsim_budget own;
    int low, count; /* the window */
    column *column; /* by mask, the cheapest first */
    int columns, room;
    int *group, groups, group_room;                                    /* the first column of each mask */
    double inverse[WIDE][WIDE], amount[WIDE], cost[WIDE], price[WIDE]; /* of the basis; cost: of its columns */
} program;

static void list_columns(program *x)
{
    pricer *w = x->w;
    const int first = x->low < FSIM_BITS ? 0 : x->low - FSIM_BITS;
    x->columns = 0;
    for (int k = w->first[first]; k < w->first[x->low + x->count]; k++) {
        priced_set *s = &w->all[k];
        const fsim_own_set *o = fsim_set_priced(w, s);
        if (s->root + o->last < x->low || s->cost->least == FSIM_NEVER)
            continue;
        column c = {.set = s};
        const fsim_bits own = fsim_bits_shifted(o->own, s->root - FSIM_BACK - x->low);
        c.mask = own.w[0] & (((uint64_t)1 << x->count) - 1); /* WIDE places at most */
        if (c.mask == 0)
            continue;
        c.rest = s->cost->least - fsim_left_for(w, s);
        for (uint64_t m = c.mask; m; m &= m - 1)
            c.rest -= w->price[x->low + __builtin_ctzll(m)];
        *FSIM_PUSH(w->f->a, x->column, x->columns, x->room) = c;
    }
}

static fsim_sum rest_of(const column *c) { return c->set->cost->least - c->rest; }

static int by_mask(const void *a, const void *b)
{
    const column *x = a, *y = b;
    const fsim_sum one = rest_of(x), other = rest_of(y);
    if (x->mask != y->mask)
        return x->mask < y->mask ? -1 : 1;
    return one != other ? (one < other ? -1 : 1) : x->set < y->set ? -1 : x->set > y->set;
}

/* Sorts the columns. */
static void group_columns(program *x)
{
    qsort(x->column, (size_t)x->columns, sizeof *x->column, by_mask);
    x->groups = 0;
    for (int c = 0; c < x->columns; c++)
        if (c == 0 || x->column[c].mask != x->column[c - 1].mask)
            *FSIM_PUSH(x->w->f->a, x->group, x->groups, x->group_room) = c;
}

/* Finds what the cheapest column of the group costs, which is its first one from then on. False where none is a kernel.
 */
static bool settle(program *x, int at)
{
    column *c = &x->column[at];
    int end = at + 1;
    while (end < x->columns && x->column[end].mask == c->mask)
        end++;
    while (c->set->cost->how < FSIM_BY_PRICE && c->set->cost->least != FSIM_NEVER) {
        fsim_look_closer(x->w, c->set);
        const column moved = *c;
        int to = at;
        for (; to + 1 < end && rest_of(&x->column[to + 1]) < rest_of(&moved); to++)
            x->column[to] = x->column[to + 1];
        x->column[to] = moved;
    }
    return c->set->cost->least != FSIM_NEVER;
}

static double cost_of(const column *c) { return (double)(c->set->cost->least - c->rest); }

/* A basis of sets that have one place of the window each. False where some place has none. */
static bool begin(program *x)
{
    for (int i = 0; i < x->count; i++) {
        x->cost[i] = INFINITY;
        x->amount[i] = 1 + 1e-5 * (double)((i * 37) % 101); /* as amounts differ, no pivot comes to nothing */
        for (int k = 0; k < x->count; k++)
            x->inverse[i][k] = i == k;
    }
    for (int g = 0; g < x->groups; g++) {
        const column *c = &x->column[x->group[g]];
        if ((c->mask & (c->mask - 1)) == 0 && settle(x, x->group[g]))
            x->cost[__builtin_ctzll(c->mask)] = cost_of(c);
    }
    for (int i = 0; i < x->count; i++)
        if (isinf(x->cost[i]))
            return false;
    return true;
}

static double excess_of(const program *x, const column *c)
{
    double left = cost_of(c);
    for (uint64_t m = c->mask; m; m &= m - 1)
        left -= x->price[__builtin_ctzll(m)];
    return left;
}

/* The column that the prices violate most, by what it costs at last; NULL where none is. */
static const column *most_violated(program *x)
{
    for (;;) {
        int worst = -1;
        double least = -1e3; /* ticks: less is rounding */
        for (int g = 0; g < x->groups; g++) {
            const double left = excess_of(x, &x->column[x->group[g]]);
            if (left < least) {
                least = left;
                worst = x->group[g];
            }
        }
        if (worst < 0 || x->column[worst].set->cost->how == FSIM_BY_PRICE)
            return worst < 0 ? NULL : &x->column[worst];
        settle(x, worst);
    }
}

/* Takes the column into the basis. False where rounding forbids it. */
static bool pivot(program *x, const column *c)
{
    double share[WIDE];
    int out = -1;
    for (int i = 0; i < x->count; i++) {
        share[i] = 0;
        for (uint64_t m = c->mask; m; m &= m - 1)
            share[i] += x->inverse[i][__builtin_ctzll(m)];
        if (share[i] > 1e-7 && (out < 0 || x->amount[i] * share[out] < x->amount[out] * share[i]))
            out = i;
    }
    if (out < 0)
        return false;
    const double by = x->amount[out] / share[out];
    for (int k = 0; k < x->count; k++)
        x->inverse[out][k] /= share[out];
    for (int i = 0; i < x->count; i++) {
        if (i == out || share[i] == 0)
            continue;
        x->amount[i] = fmax(0, x->amount[i] - by * share[i]);
        for (int k = 0; k < x->count; k++)
            x->inverse[i][k] -= share[i] * x->inverse[out][k];
    }
    x->amount[out] = by;
    x->cost[out] = cost_of(c);
    return true;
}

static void find_prices(program *x)
{
    for (int k = 0; k < x->count; k++) {
        x->price[k] = 0;
        for (int i = 0; i < x->count; i++)
            x->price[k] += x->cost[i] * x->inverse[i][k];
    }
}

/* Rounds the prices, and lowers them where a set forbids them. They replace those of before where their sum is more. */
static void take_prices(program *x)
{
    fsim_sum price[WIDE], more = 0;
    for (int i = 0; i < x->count; i++)
        price[i] = (fsim_sum)floor(x->price[i]);
    for (int c = 0; c < x->columns; c++) {
        if (x->column[c].set->cost->least == FSIM_NEVER)
            continue;
        fsim_sum left = rest_of(&x->column[c]);
        for (uint64_t m = x->column[c].mask; m; m &= m - 1)
            left -= price[__builtin_ctzll(m)];
        price[__builtin_ctzll(x->column[c].mask)] += left < 0 ? left : 0;
    }
    for (int i = 0; i < x->count; i++)
        more += price[i] - x->w->price[x->low + i];
    for (int i = 0; i < x->count && more > 0; i++)
        x->w->price[x->low + i] = price[i];
}

/* Sets the prices of the window anew. False where the budget ends. */
static bool solve(program *x)
{
    list_columns(x);
    group_columns(x);
    if (!begin(x))
        return true;
    for (int k = 0; k < PIVOTS * x->count; k++) {
        find_prices(x);
        const column *c = most_violated(x);
        if (!fsim_proceed(x->w->f, &x->own, 1 + x->groups))
            return false;
        if (!c)
            take_prices(x);
        if (!c || !pivot(x, c))
            break;
    }
    return true;
}

void fsim_raise_prices(pricer *w)
{
    const fsim_frontier *f = w->f;
    fsim_spent spent;
    program *x = fsim_new(f->a, program, 1);
    x->w = w;
    x->own = fsim_budget_share(&f->budget, f->p, SHARES, &spent);
    for (x->low = 0; x->low < f->l.count; x->low += STEP) {
        x->count = f->l.count - x->low < WIDE ? f->l.count - x->low : WIDE;
        if (!solve(x))
            break;
    }
}

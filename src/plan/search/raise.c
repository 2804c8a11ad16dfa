/* SPDX-License-Identifier: Apache-2.0 */
/* raise.c: better prices, window by window.
 *
 * The prices of a few dozen neighbouring places are set anew, with all others as they are: the most that the sets allow
 * which have some of them. That is a linear program; its dual, of a row per place and a column per set, is solved by
 * the simplex method, which begins with a set for each place alone and takes in the set that is violated most (Dantzig
 * 1951; columns as in Gilmore and Gomory 1961). What it finds is rounded, and taken only where no set forbids it.
 *
 * Of three contractions a plan has one kernel with two at most, while half of each of the three pairs might cost less:
 * so threes have a row, too. */
#include "plan/search/pricer.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDE = 48,   /* places of a window */
    THREES = 12, /* threes of a window, at most */
    ROWS = WIDE + THREES,
    STEP = 24,       /* places to the next one */
    PIVOTS = 20,     /* per row, at most */
    LAYER = 1024,    /* places of the longest layer whose prices are repeated */
    LISTED = 64,     /* groups that are looked at in a pivot, until none of them is violated */
    ROUNDING = 1000, /* ticks: what prices are less beyond what a set allows is rounding */
    SHARES = 8       /* this part of the budget is kept back */
};

/* A set that has places of the window. */
typedef struct {
    priced_set *set;
    uint64_t mask; /* which, and behind them the threes of which it has two */
    fsim_sum rest; /* the prices of its other members */
} column;

typedef struct {
    pricer *w;
    fsim_budget own;
    int low, count;            /* the window */
    int three[THREES], threes; /* those all of which are in it */
    column *column;            /* by mask, the cheapest first */
    int columns, room;
    int *group, groups, group_room; /* the first column of each mask */
    int listed[LISTED], violated;   /* the first columns of groups that were violated most when all were looked at */
    uint64_t basis[ROWS];           /* masks of its columns */
    double inverse[ROWS][ROWS], amount[ROWS], cost[ROWS], price[ROWS]; /* of the basis; cost: of its columns */
} program;

static int rows_of(const program *x) { return x->count + x->threes; }

/* Finds the threes of the window, which pay nothing until it is solved. */
static void list_threes(program *x, fsim_sum *paid)
{
    pricer *w = x->w;
    x->threes = 0;
    for (int i = 0; i < w->threes && x->threes < THREES; i++) {
        priced_three *t = &w->three[i];
        if (t->place[0] < x->low || t->place[2] >= x->low + x->count)
            continue;
        paid[x->threes] = t->pays;
        t->pays = 0;
        x->three[x->threes++] = i;
    }
}

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
        c.mask = own.w[0] & (((uint64_t)1 << x->count) - 1);
        if (c.mask == 0)
            continue;
        c.rest = s->cost->least - fsim_left_for(w, s);
        for (uint64_t m = c.mask; m; m &= m - 1)
            c.rest -= w->price[x->low + __builtin_ctzll(m)];
        for (int i = 0; i < x->threes; i++)
            c.mask |= (uint64_t)fsim_has_two(w, s, &w->three[x->three[i]]) << (x->count + i);
        *FSIM_PUSH(w->f->a, x->column, x->columns, x->room) = c;
    }
}

static fsim_sum rest_of(const column *c) { return c->set->cost->least - c->rest; }

/* Calls of which some place is in the window. */
static void list_calls(program *x)
{
    const pricer *w = x->w;
    for (int i = 0; i < w->calls; i++) {
        column c = {.set = &w->all[w->called + i]};
        for (int k = 0; k < w->call[i].places; k++) {
            const int at = w->call[i].place[k] - x->low;
            if (at >= 0 && at < x->count)
                c.mask |= (uint64_t)1 << at;
            else
                c.rest += w->price[w->call[i].place[k]];
        }
        if (c.mask)
            *FSIM_PUSH(w->f->a, x->column, x->columns, x->room) = c;
    }
}

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
    if (x->columns > 0) /* none: all sets of the window are of what may be in unknown kernels */
        qsort(x->column, (size_t)x->columns, sizeof *x->column, by_mask);
    x->groups = x->violated = 0;
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

/* The most that row i may be worth: a place of the window, or a three, for which a set can only pay. */
static double most_of(const program *x, int i)
{
    return i >= x->count ? 0 : x->w->most ? (double)x->w->most[x->low + i] : INFINITY;
}

/* A basis of sets that have one place of the window each, or of the most that a place may be worth. False where some
 * place has neither. */
static bool begin(program *x)
{
    for (int i = 0; i < rows_of(x); i++) {
        x->cost[i] = INFINITY;
        x->basis[i] = (uint64_t)1 << i;
        x->amount[i] = 1 + 1e-5 * (double)((i * 37) % 101); /* as amounts differ, no pivot comes to nothing */
        for (int k = 0; k < rows_of(x); k++)
            x->inverse[i][k] = i == k;
    }
    for (int g = 0; g < x->groups; g++) {
        const column *c = &x->column[x->group[g]];
        if ((c->mask & (c->mask - 1)) == 0 && settle(x, x->group[g]))
            x->cost[__builtin_ctzll(c->mask)] = cost_of(c);
    }
    for (int i = 0; i < rows_of(x); i++) {
        x->cost[i] = fmin(x->cost[i], most_of(x, i));
        if (isinf(x->cost[i]))
            return false;
    }
    return true;
}

static double excess_of(const program *x, const column *c)
{
    double left = cost_of(c);
    for (uint64_t m = c->mask; m; m &= m - 1)
        left -= x->price[__builtin_ctzll(m)];
    return left;
}

/* What enters the basis: the rows that it has, and what it costs. */
typedef struct {
    uint64_t mask;
    double cost;
} entering;

/* Lists the groups that the prices violate most. Returns how many were looked at. */
static int list_violated(program *x)
{
    double left[LISTED];
    x->violated = 0;
    for (int g = 0; g < x->groups; g++) {
        const double own = excess_of(x, &x->column[x->group[g]]);
        if (own >= -ROUNDING || (x->violated == LISTED && own >= left[LISTED - 1]))
            continue;
        int at = x->violated < LISTED ? x->violated++ : LISTED - 1;
        for (; at > 0 && left[at - 1] > own; at--) {
            left[at] = left[at - 1];
            x->listed[at] = x->listed[at - 1];
        }
        left[at] = own;
        x->listed[at] = x->group[g];
    }
    return x->groups;
}

/* Finds what the prices violate most among what is listed: a column, by what it costs at last, or the most that a row
 * may be worth. False where they violate nothing of it. */
static bool most_violated(program *x, entering *out)
{
    for (;;) {
        int worst = -1;
        double least = -ROUNDING;
        for (int i = 0; i < rows_of(x); i++)
            if (most_of(x, i) - x->price[i] < least) {
                least = most_of(x, i) - x->price[i];
                *out = (entering){(uint64_t)1 << i, most_of(x, i)};
            }
        const bool any = least < -ROUNDING;
        for (int k = 0; k < x->violated; k++) {
            const double left = excess_of(x, &x->column[x->listed[k]]);
            if (left < least) {
                least = left;
                worst = x->listed[k];
            }
        }
        if (worst < 0)
            return any;
        if (x->column[worst].set->cost->how == FSIM_BY_PRICE) {
            *out = (entering){x->column[worst].mask, cost_of(&x->column[worst])};
            return true;
        }
        settle(x, worst);
    }
}

/* The same among all, which are listed anew where those that are listed are not violated any more. *looked: how many
 * were looked at. */
static bool find_violated(program *x, entering *out, int *looked)
{
    *looked = x->violated;
    bool any = most_violated(x, out);
    while (!any) {
        *looked += list_violated(x);
        any = most_violated(x, out);
        if (x->violated == 0)
            break;
    }
    return any;
}

/* Takes it into the basis. False where rounding forbids it. */
static bool pivot(program *x, entering c)
{
    const int rows = rows_of(x);
    double share[ROWS];
    int out = -1;
    for (int i = 0; i < rows; i++) {
        share[i] = 0;
        for (uint64_t m = c.mask; m; m &= m - 1)
            share[i] += x->inverse[i][__builtin_ctzll(m)];
        if (share[i] > 1e-7 && (out < 0 || x->amount[i] * share[out] < x->amount[out] * share[i]))
            out = i;
    }
    if (out < 0)
        return false;
    const double by = x->amount[out] / share[out];
    for (int k = 0; k < rows; k++)
        x->inverse[out][k] /= share[out];
    for (int i = 0; i < rows; i++) {
        if (i == out || share[i] == 0)
            continue;
        x->amount[i] = fmax(0, x->amount[i] - by * share[i]);
        for (int k = 0; k < rows; k++)
            x->inverse[i][k] -= share[i] * x->inverse[out][k];
    }
    x->amount[out] = by;
    x->cost[out] = c.cost;
    x->basis[out] = c.mask;
    return true;
}

static void find_prices(program *x)
{
    for (int k = 0; k < rows_of(x); k++) {
        x->price[k] = 0;
        for (int i = 0; i < rows_of(x); i++)
            x->price[k] += x->cost[i] * x->inverse[i][k];
    }
}

/* Rounds the prices, and lowers them where a set forbids them. They replace those of before where their sum is more.
 * paid: per three, what a set with two of it paid before. */
static void take_prices(program *x, const fsim_sum *paid)
{
    fsim_sum price[ROWS], more = 0;
    for (int i = 0; i < rows_of(x); i++)
        price[i] = (fsim_sum)floor(fmin(x->price[i], most_of(x, i)));
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
    for (int i = 0; i < x->threes; i++)
        more += price[x->count + i] + paid[i];
    for (int i = 0; i < x->count && more > 0; i++)
        x->w->price[x->low + i] = price[i];
    for (int i = 0; i < x->threes; i++)
        x->w->three[x->three[i]].pays = more > 0 ? -price[x->count + i] : paid[i];
}

/* How much of kernels with two of these three places the basis has: of one kernel at most, in a plan. */
static double twos_of(const program *x, uint64_t three)
{
    double sum = 0;
    for (int i = 0; i < rows_of(x); i++)
        sum += __builtin_popcountll(x->basis[i] & three) > 1 ? x->amount[i] : 0;
    return sum;
}

/* Adds the three contractions of the window of which the basis has most kernels with two, where it has more than one.
 * False where it has not. */
static bool add_three(program *x)
{
    pricer *w = x->w;
    int product[WIDE], products = 0;
    double most = 1.1;
    priced_three t = {{-1, -1, -1}, 0};
    for (int i = 0; i < x->count; i++)
        if (fsim_node_of(w->f, x->low + i)->gemm.k && w->three_of[x->low + i] == 0)
            product[products++] = i;
    for (int i = 0; i < products && x->threes < THREES; i++)
        for (int k = i + 1; k < products; k++)
            for (int m = k + 1; m < products; m++) {
                const double twos =
                    twos_of(x, (uint64_t)1 << product[i] | (uint64_t)1 << product[k] | (uint64_t)1 << product[m]);
                if (twos > most) {
                    most = twos;
                    t = (priced_three){{x->low + product[i], x->low + product[k], x->low + product[m]}, 0};
                }
            }
    if (t.place[0] < 0)
        return false;
    *FSIM_PUSH(w->f->a, w->three, w->threes, w->threes_room) = t;
    for (int k = 0; k < 3; k++)
        w->three_of[t.place[k]] = w->threes;
    return true;
}

/* Sets the prices of the window anew, as well as the sets and its threes allow. *done: that is the optimum. False where
 * the budget ends. */
static bool solve_once(program *x, bool *done)
{
    fsim_sum paid[THREES];
    bool in_time = true;
    list_threes(x, paid);
    list_columns(x);
    list_calls(x);
    group_columns(x);
    bool more = begin(x);
    *done = false;
    for (int k = 0; k < PIVOTS * rows_of(x) && more; k++) {
        entering c = {0};
        find_prices(x);
        int looked = 0;
        more = find_violated(x, &c, &looked);
        in_time = fsim_proceed(x->w->f, &x->own, 1 + looked);
        *done = in_time && !more;
        more = in_time && more && pivot(x, c);
    }
    if (*done)
        take_prices(x, paid);
    for (int i = 0; i < x->threes && !*done; i++)
        x->w->three[x->three[i]].pays = paid[i];
    return in_time;
}

/* Sets the prices of the window anew. False where the budget ends. */
static bool solve(program *x)
{
    bool done, in_time = solve_once(x, &done);
    while (in_time && done && add_three(x))
        in_time = solve_once(x, &done);
    return in_time;
}

/* How far before this place the latest one is whose sets are the same; 0: none is. */
static int shift_to_like(const fsim_frontier *f, int place)
{
    for (int i = place - 1; i >= 0 && i >= place - LAYER; i--)
        if (f->l.family[i] == f->l.family[place])
            return place - i;
    return 0;
}

/* The end of the places from `low` on whose sets are those of the places so far before them. */
static int end_of_likes(const fsim_frontier *f, int low, int by)
{
    while (low < f->l.count && f->l.family[low] == f->l.family[low - by])
        low++;
    return low;
}

/* Lowers prices from `low` to below `end` until no set forbids them. False where the budget ends. */
static bool lower(program *x, int low, int end)
{
    pricer *w = x->w;
    for (int k = w->first[low < FSIM_BITS ? 0 : low - FSIM_BITS]; k < w->first[end]; k++) {
        const priced_set *s = &w->all[k];
        const fsim_own_set *o = fsim_set_priced(w, s);
        if (s->root + o->last < low || s->cost->least == FSIM_NEVER)
            continue;
        fsim_sum left = fsim_left_for(w, s);
        while (left < 0 && s->cost->how < FSIM_BY_PRICE && s->cost->least != FSIM_NEVER) {
            fsim_look_closer(w, s);
            left = fsim_left_for(w, s);
        }
        if (!fsim_proceed(w->f, &x->own, 1))
            return false;
        FSIM_EACH_BIT(i, o->own)
        {
            const int at = s->root - FSIM_BACK + i;
            if (s->cost->least != FSIM_NEVER && left < 0 && at >= low && at < end) {
                w->price[at] += left;
                left = 0;
            }
        }
    }
    for (int i = 0; i < w->calls; i++) {
        fsim_sum left = fsim_left_for_call(w, &w->call[i]);
        for (int k = 0; k < w->call[i].places && left < 0; k++)
            if (w->call[i].place[k] >= low && w->call[i].place[k] < end) {
                w->price[w->call[i].place[k]] += left;
                left = 0;
            }
    }
    return true;
}

/* Adds the threes of the places so far before those from low to below end, where these have none. */
static void repeat_threes(pricer *w, int low, int end, int by)
{
    for (int i = low; i < end; i++) {
        if (w->three_of[i - by] == 0 || w->three_of[i] > 0)
            continue;
        priced_three t = w->three[w->three_of[i - by] - 1];
        bool free = t.place[0] == i - by && t.place[2] + by < end;
        for (int k = 0; k < 3; k++) {
            t.place[k] += by;
            free = free && w->three_of[t.place[k]] == 0;
        }
        if (!free)
            continue;
        t.pays = 0;
        *FSIM_PUSH(w->f->a, w->three, w->threes, w->threes_room) = t;
        for (int k = 0; k < 3; k++)
            w->three_of[t.place[k]] = w->threes;
    }
}

/* Where two layers before the window are equal, and it and others after it equal to them, these have the same prices.
 * Returns the end of those; low where there are none, or where that is no better. */
static int repeat_prices(program *x, int low)
{
    const fsim_frontier *f = x->w->f;
    fsim_sum *price = x->w->price, more = 0;
    const int by = shift_to_like(f, low);
    if (by == 0 || low < 2 * by || end_of_likes(f, low - by, by) < low)
        return low;
    const int end = end_of_likes(f, low, by);
    if (end < low + by)
        return low;
    fsim_sum *before = fsim_new(f->a, fsim_sum, end - low + 1);
    for (int i = low; i < end; i++) {
        before[i - low] = price[i];
        price[i] = price[i - by];
        if (x->w->most && price[i] > x->w->most[i])
            price[i] = x->w->most[i];
    }
    repeat_threes(x->w, low, end, by);
    fsim_sum *paid = fsim_new(f->a, fsim_sum, x->w->threes + 1);
    for (int i = 0; i < x->w->threes; i++) {
        priced_three *t = &x->w->three[i];
        paid[i] = t->pays;
        if (t->place[0] >= low && t->place[2] < end && x->w->three_of[t->place[0] - by] > 0)
            t->pays = x->w->three[x->w->three_of[t->place[0] - by] - 1].pays;
        more += paid[i] - t->pays;
    }
    const bool all = lower(x, low, end);
    for (int i = low; i < end; i++)
        more += price[i] - before[i - low];
    for (int i = low; i < end && (!all || more <= 0); i++)
        price[i] = before[i - low];
    for (int i = 0; i < x->w->threes && (!all || more <= 0); i++)
        x->w->three[i].pays = paid[i];
    return all && more > 0 ? end : low;
}

void fsim_raise_prices(pricer *w)
{
    const fsim_frontier *f = w->f;
    fsim_spent spent;
    program *x = fsim_new(f->a, program, 1);
    x->w = w;
    x->own = fsim_budget_but_share(&f->budget, f->p, SHARES, &spent);
    for (x->low = 0; x->low < f->l.count; x->low += STEP) {
        x->count = f->l.count - x->low < WIDE ? f->l.count - x->low : WIDE;
        if (!solve(x))
            break;
        const int next = x->low + STEP, end = next < f->l.count ? repeat_prices(x, next) : next;
        x->low = end - WIDE > next ? end - WIDE - STEP : x->low; /* the last window of them has others behind it */
    }
}

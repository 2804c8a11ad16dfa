/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/budget.h"

#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/progress.h"
#include <math.h>
#include <unistd.h>

enum {
    HASTE = 10,           /* a search is broken off at so many times its steps, */
    LEAST_STEPS = 1000000 /* and not before so many */
};
static const double before_haste = 0.7;   /* of the time; the rest is for a hasty end */
static const double last_memory = 1.25;   /* of the memory: the same */
static const double least_memory = 0.125; /* of it: what a search has that comes after others which share it */

/* Enough for every search that ends within a minute. */
static const double usual_most_bytes = 2.0 * (1 << 30);

/* 0 where the system does not say. */
static double machine_bytes(void)
{
    const double pages = (double)sysconf(_SC_PHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages * page : 0;
}

static size_t usual_memory(void)
{
    const double all = machine_bytes();
    return (size_t)(all > 0 ? fmin(usual_most_bytes, all / 4) : usual_most_bytes);
}

int fsim_searches_in_memory(int64_t search_memory)
{
    const double each = search_memory > 0 ? (double)search_memory : (double)usual_memory(),
                 room = fmax(machine_bytes(), 2 * usual_most_bytes) / 2;
    return (int)fmin(1e6, fmax(1, floor(room / each)));
}

static int64_t sum_of(int64_t x, int64_t y) { return x > INT64_MAX - y ? INT64_MAX : x + y; }

fsim_budget fsim_budget_of(const fsim_problem *p, fsim_spent *spent)
{
    const double memory = p->search_memory > 0 ? (double)p->search_memory : (double)usual_memory(),
                 now_held = (double)fsim_arena_held(),
                 held =
                     p->held_bytes > 0 ? fmax((double)p->held_bytes, now_held - (1 - least_memory) * memory) : now_held;
    const int64_t now = fsim_work(p), last = p->search_steps < INT64_MAX / HASTE ? HASTE * p->search_steps : INT64_MAX;
    *spent = (fsim_spent){.checked = now - FSIM_CHECKED_EVERY};
    return (fsim_budget){.first = now,
                         .begun_s = fsim_clock_s(),
                         .steps = sum_of(now, p->search_steps),
                         .most_steps = sum_of(now, last > LEAST_STEPS ? last : LEAST_STEPS),
                         .hasten_s = fsim_with_share(p, before_haste).until_s,
                         .until_s = p->until_s,
                         .shares_time = p->shares_time,
                         .most_bytes = (size_t)fmin(held + memory, 1e18),
                         .last_bytes = (size_t)fmin(held + last_memory * memory, 1e18),
                         .spent = spent};
}

fsim_budget fsim_budget_share(const fsim_budget *b, const fsim_problem *p, int shares, fsim_spent *spent)
{
    const double now_s = fsim_clock_s(), left_s = b->hasten_s - now_s;
    const int64_t left = b->steps - fsim_work(p);
    fsim_budget out = *b;
    *spent = *b->spent;
    out.spent = spent;
    out.steps = left > 0 ? fsim_work(p) + left / shares : b->steps;
    out.hasten_s = b->shares_time && left_s > 0 ? now_s + left_s / shares : b->hasten_s;
    return out;
}

fsim_budget fsim_budget_but_share(const fsim_budget *b, const fsim_problem *p, int shares, fsim_spent *spent)
{
    fsim_budget out = fsim_budget_share(b, p, shares, spent);
    out.steps = b->steps - (out.steps > fsim_work(p) ? out.steps - fsim_work(p) : 0);
    out.hasten_s =
        !b->shares_time || isinf(b->hasten_s) ? b->hasten_s : b->hasten_s - fmax(0, out.hasten_s - fsim_clock_s());
    return out;
}

double fsim_seconds_of(int64_t steps) { return (double)steps / (double)FSIM_USUAL_STEPS; }

/* Seconds until the budget is used up, by the clock or at the rate of its steps so far. */
static double left_of(const fsim_budget *b, const fsim_problem *p, double now_s)
{
    const double taken = (double)(fsim_work(p) - b->first), left = (double)(b->steps - fsim_work(p)),
                 by_steps = taken > 0 ? fmax(0, left) / taken * (now_s - b->begun_s) : INFINITY;
    return fmin(b->until_s - now_s, by_steps);
}

void fsim_check_budget(const fsim_budget *b, const fsim_problem *p)
{
    const size_t held = fsim_arena_held();
    const double now_s = fsim_clock_s();
    const bool stopped = fsim_is_set(p->interrupted);
    b->spent->checked = fsim_work(p);
    fsim_progress_tick(p, now_s, left_of(b, p, now_s));
    if (b->spent->end == FSIM_SEARCH_NOT_STOPPED)
        b->spent->end = held > b->most_bytes      ? FSIM_SEARCH_STOPPED_BY_MEMORY
                        : now_s > b->hasten_s     ? FSIM_SEARCH_STOPPED_BY_CLOCK
                        : fsim_work(p) > b->steps ? FSIM_SEARCH_STOPPED_BY_STEPS
                                                  : FSIM_SEARCH_NOT_STOPPED;
    b->spent->over =
        b->spent->over || stopped || held > b->last_bytes || now_s > b->until_s || fsim_work(p) > b->most_steps;
}

fsim_budget fsim_budget_left(const fsim_budget *budget, const fsim_problem *p, fsim_spent *spent)
{
    fsim_budget own = *budget;
    *spent = *budget->spent;
    spent->checked = 0;
    own.spent = spent;
    own.steps -= fsim_work(p);
    own.most_steps -= own.most_steps == INT64_MAX ? 0 : fsim_work(p);
    return own;
}

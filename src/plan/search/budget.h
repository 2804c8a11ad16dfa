/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h: how far a search may go: in steps of work, which end it at the same place everywhere; by the clock; and by
 * memory. A search whose budget is used up hastens to a plan, and breaks off where even that takes too long. */
#ifndef FUSESIM_PLAN_SEARCH_BUDGET_H
#define FUSESIM_PLAN_SEARCH_BUDGET_H

#include "plan/price/price.h"

/* What has become of a budget. */
typedef struct {
    fsim_search_end end; /* what used it up */
    bool over;           /* break off */
    int64_t checked;     /* fsim_work when the clock was last asked */
} fsim_spent;

typedef struct {
    int64_t first;                 /* fsim_work at the begin */
    double begun_s;                /* fsim_clock_s at the begin */
    int64_t steps, most_steps;     /* fsim_work may go so far; breaking off from most_steps on */
    double hasten_s, until_s;      /* the same by fsim_clock_s: the one thing that may differ between runs */
    bool shares_time;              /* shares have their part of the time too */
    size_t most_bytes, last_bytes; /* and in bytes that this thread's arenas may hold */
    fsim_spent *spent;
} fsim_budget;

/* The one place of the defaults: a search without --time-limit and --search-steps. A busy machine, or a build for a
 * debugger, must not end a short search, so the clock is far off. */
#define FSIM_USUAL_STEPS   INT64_C(6000000) /* one to eight seconds on a server core */
#define FSIM_USUAL_CLOCK_S 30.0

/* What p->search_steps and p->until_s allow from now on, and p->search_memory, by default 2 GiB and at most a quarter
 * of the machine. *spent is reset. */
fsim_budget fsim_budget_of(const fsim_problem *p, fsim_spent *spent);
/* One of so many equal shares of what b has left, which may be used up while b is not. *spent is reset. Of the time
 * only where some was asked for: what a search finds must not depend on what else the machine does. */
fsim_budget fsim_budget_share(const fsim_budget *b, const fsim_problem *p, int shares, fsim_spent *spent);
/* All but one of these shares. */
fsim_budget fsim_budget_but_share(const fsim_budget *b, const fsim_problem *p, int shares, fsim_spent *spent);
/* What b has left, for a search of another problem whose work begins at 0. *spent is reset. */
fsim_budget fsim_budget_left(const fsim_budget *b, const fsim_problem *p, fsim_spent *spent);
enum { FSIM_CHECKED_EVERY = 256 }; /* steps: the clock is asked about every 0.1 ms */
/* Sets b->spent to what has become of the budget by now. */
void fsim_check_budget(const fsim_budget *b, const fsim_problem *p);
/* Is there budget left for p's search? Asks the clock now and then, by fsim_work. */
static inline bool fsim_within(const fsim_budget *b, const fsim_problem *p)
{
    if (fsim_work(p) - b->spent->checked >= FSIM_CHECKED_EVERY ||
        (fsim_work(p) > b->steps && b->spent->end == FSIM_SEARCH_NOT_STOPPED))
        fsim_check_budget(b, p);
    return b->spent->end == FSIM_SEARCH_NOT_STOPPED && !b->spent->over;
}
/* How many searches at once, of which each may take `search_memory` (0: the default), take at most half of the
 * machine's memory together; at least 1. */
int fsim_searches_in_memory(int64_t search_memory);
/* So many steps at FSIM_USUAL_STEPS a second: the same on every machine, no measured time. */
double fsim_seconds_of(int64_t steps);

#endif

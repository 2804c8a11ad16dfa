/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h: how far a search may go: in steps of work, so that it ends at the same place everywhere; by the clock where
 * a machine is far slower than that; and by memory. */
#ifndef FUSESIM_PLAN_SEARCH_BUDGET_H
#define FUSESIM_PLAN_SEARCH_BUDGET_H

#include "plan/price/plan.h"

typedef struct {
    int64_t steps;     /* fsim_work may go so far */
    double deadline_s; /* monotonic clock; the one thing that may differ between runs */
    size_t most_bytes; /* that this thread's arenas may hold */
    fsim_search_end *end;
} fsim_budget;

/* What p->time_limit_s allows from now on: so many steps, and ten times as long by the clock, half a minute at least;
 * and p->search_memory, by default 2 GiB and at most a quarter of the machine. *end becomes what ended the search. */
fsim_budget fsim_budget_of(const fsim_problem *p, fsim_search_end *end);
/* How many searches at once, of which each may take `search_memory` (0: the default), take at most half of the
 * machine's memory together; at least 1. */
int fsim_searches_in_memory(int64_t search_memory);
/* How long so many steps usually take. */
double fsim_seconds_of(int64_t steps);
/* Sets *b->end where b's clock or memory has run out. */
void fsim_check_budget(const fsim_budget *b);

#endif

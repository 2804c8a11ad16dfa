/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h: how far a search may go: in steps of work, so that it ends at the same place everywhere, and by the clock
 * where a machine is far slower than that. */
#ifndef FUSESIM_PLAN_SEARCH_BUDGET_H
#define FUSESIM_PLAN_SEARCH_BUDGET_H

#include "plan/price/plan.h"

typedef struct {
    int64_t steps;     /* fsim_work may go so far */
    double deadline_s; /* monotonic clock; the one thing that may differ between runs */
    bool *by_clock;
} fsim_budget;

/* What p->time_limit_s allows from now on: so many steps, and ten times as long by the clock, half a minute at least.
 */
fsim_budget fsim_budget_of(const fsim_problem *p, bool *by_clock);
/* How long so many steps usually take. */
double fsim_seconds_of(int64_t steps);
/* Is it past b's deadline by the clock? */
bool fsim_is_past_deadline(const fsim_budget *b);

#endif

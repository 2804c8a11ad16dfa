/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/budget.h"

#include "plan/price/price.h"
#include <math.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const double steps_per_second = 3e6; /* of fsim_work, on a 2020 server core */
static const double least_clock_s =
    30; /* a busy machine, or a build for a debugger, must not end a short search: only its steps may */

fsim_budget fsim_budget_of(const fsim_problem *p, bool *by_clock)
{
    return (fsim_budget){fsim_work(p) + (int64_t)fmin(p->time_limit_s * steps_per_second, 1e15),
                         now() + fmax(least_clock_s, 10 * p->time_limit_s), by_clock};
}

double fsim_seconds_of(int64_t steps) { return (double)steps / steps_per_second; }

bool fsim_is_past_deadline(const fsim_budget *b) { return now() > b->deadline_s; }

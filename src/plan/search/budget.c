/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/budget.h"

#include "plan/price/price.h"
#include <math.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const double steps_per_second = 3e6; /* of fsim_work, on a 2020 server core */
static const double least_clock_s =
    30; /* a busy machine, or a build for a debugger, must not end a short search: only its steps may */

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

fsim_budget fsim_budget_of(const fsim_problem *p, fsim_search_end *end)
{
    const size_t memory = p->search_memory > 0 ? (size_t)p->search_memory : usual_memory(), held = fsim_arena_held();
    *end = FSIM_SEARCH_NOT_STOPPED;
    return (fsim_budget){fsim_work(p) + (int64_t)fmin(p->time_limit_s * steps_per_second, 1e15),
                         now() + fmax(least_clock_s, 10 * p->time_limit_s),
                         memory < SIZE_MAX - held ? held + memory : SIZE_MAX, end};
}

double fsim_seconds_of(int64_t steps) { return (double)steps / steps_per_second; }

void fsim_check_budget(const fsim_budget *b)
{
    if (fsim_arena_held() > b->most_bytes)
        *b->end = FSIM_SEARCH_STOPPED_BY_MEMORY;
    else if (now() > b->deadline_s)
        *b->end = FSIM_SEARCH_STOPPED_BY_CLOCK;
}

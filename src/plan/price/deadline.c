/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/deadline.h"

#include "plan/price/progress.h"

#include <time.h>

double fsim_clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool fsim_late(const fsim_problem *p)
{
    const double now_s = fsim_clock_s();
    fsim_progress_tick(p, now_s, p->until_s - now_s);
    return fsim_is_set(p->interrupted) || now_s > p->until_s;
}

fsim_problem fsim_with_share(const fsim_problem *p, double share)
{
    const double now_s = fsim_clock_s();
    fsim_problem part = *p;
    part.until_s = now_s < p->until_s ? now_s + share * (p->until_s - now_s) : p->until_s;
    return part;
}

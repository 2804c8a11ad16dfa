/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/relaunch.h"
#include "plan/price/sdpa.h"

#include "plan/price/price.h"
#include <math.h>

double fsim_relaunched_s(const fsim_problem *p, const fsim_graph *g, fsim_regime regime, fsim_maker maker,
                         const fsim_partition *partition)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_problem other = *p;
    other.graph = other.limits.graph = g;
    other.regime = regime;
    other.store = g == p->graph ? fsim_store_beside(p, scratch) : fsim_store_new(scratch);
    fsim_plan plan;
    fsim_refusal why;
    double seconds = NAN;
    if (fsim_price(&other, partition, scratch, &plan, &why)) {
        plan = fsim_plan_launched_by(&other, maker, &plan, scratch);
        if (maker == FSIM_BY_FUSESIM)
            fsim_plan_calling(&other, &plan, scratch);
        seconds = plan.time_s;
    }
    fsim_arena_free(scratch);
    return seconds;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/cross.h"

#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/progress.h"
#include "plan/price/user_rules.h"

/* The first primitive of the stretch that has this one. */
static int first_of(int *link, int node)
{
    while (link[node] != node)
        node = link[node] = link[link[node]];
    return node;
}

static void join(int *link, const fsim_partition *part)
{
    for (int i = 0; i < part->parts; i++)
        for (int k = 1; k < part->part[i].count; k++) {
            const int x = first_of(link, part->part[i].node[0]), y = first_of(link, part->part[i].node[k]);
            link[x > y ? x : y] = x > y ? y : x;
        }
}

/* Adds what the plan's kernels cost to their stretches. */
static void add_costs(const fsim_problem *p, int *link, const fsim_plan *plan, fsim_sum *cost)
{
    for (int i = 0; i < plan->kernels; i++)
        if (plan->partition.part[i].count > 0)
            cost[first_of(link, plan->partition.part[i].node[0])] += fsim_objective_of(p, &plan->kernel[i]);
}

bool fsim_cross(const fsim_problem *p, const fsim_plan *plan, const fsim_plan *other, fsim_arena *a,
                fsim_partition *out)
{
    const fsim_plan *of[] = {plan, other};
    const int nodes = p->graph->nodes;
    int *link = fsim_new(a, int, nodes + 1), taken[2] = {0, 0};
    fsim_sum *cost[2];
    for (int n = 0; n < nodes; n++)
        link[n] = n;
    for (int i = 0; i < 2; i++) {
        join(link, &of[i]->partition);
        join(link, fsim_priced_partition(of[i]));
        cost[i] = fsim_new(a, fsim_sum, nodes + 1);
    }
    for (int i = 0; i < 2; i++)
        add_costs(p, link, of[i], cost[i]);
    *out = (fsim_partition){
        0, fsim_new(a, fsim_part, fsim_priced_partition(plan)->parts + fsim_priced_partition(other)->parts + 1)};
    for (int i = 0; i < 2; i++) {
        const fsim_partition *from = fsim_priced_partition(of[i]);
        for (int k = 0; k < from->parts; k++) {
            const int at = first_of(link, from->part[k].node[0]);
            if ((cost[1][at] < cost[0][at]) == (i == 1)) {
                out->part[out->parts++] = from->part[k];
                taken[i]++;
            }
        }
    }
    return taken[0] > 0 && taken[1] > 0;
}

bool fsim_improve(fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *best)
{
    const fsim_mark mark = fsim_save(a);
    fsim_plan plan;
    fsim_refusal why;
    if (fsim_keeps_rules(p, partition) && fsim_price(p, partition, a, &plan, &why) &&
        (best->kernels == 0 || plan.objective < best->objective)) {
        *best = plan;
        fsim_progress_best(p, best);
        return true;
    }
    fsim_rewind(a, mark);
    return false;
}

void fsim_undo_unless_worthy(const fsim_plan *before, fsim_plan *best)
{
    static const double worthy = 1e-3; /* share of the plan */
    if ((double)best->objective > (double)before->objective * (1 - worthy))
        *best = *before;
}

void fsim_cross_all(fsim_problem *p, fsim_sum bound, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *best)
{
    fsim_arena *own = fsim_arena_new();
    fsim_partition crossed;
    for (int i = 0; i < count && best->kernels > 0 && bound < best->objective && !fsim_late(p); i++)
        if (known[i].kernels > 0 && fsim_cross(p, best, &known[i], own, &crossed))
            fsim_improve(p, &crossed, a, best);
    fsim_arena_free(own);
}

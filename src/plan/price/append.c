/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/append.h"

#include "cost/cost.h"
#include <math.h>

enum { LEAST_RATIO = 4 };

/* The input that is at least LEAST_RATIO times as long as all else that the concat joins; -1: none. */
static int cache_of(const fsim_graph *g, const fsim_node *n)
{
    int64_t all = 0;
    int largest = -1;
    if (n->op != FSIM_OP_CONCAT)
        return -1;
    for (int i = 0; i < n->args; i++) {
        const int t = n->arg[i].tensor;
        all += n->arg[i].distinct;
        if (g->tensor[t].role == FSIM_INPUT && (largest < 0 || g->tensor[t].elems > g->tensor[largest].elems))
            largest = t;
    }
    return largest >= 0 && g->tensor[largest].elems >= LEAST_RATIO * (all - g->tensor[largest].elems) ? largest : -1;
}

/* Does a member other than the concat read the cache, or the concat itself? */
static bool is_read_besides(const fsim_graph *g, const fsim_group *o, int concat, int cache)
{
    for (int m = 0; m < o->members; m++) {
        const fsim_node *n = &g->node[o->member[m].node];
        for (int i = 0; i < n->args && o->member[m].node != concat; i++)
            if (n->arg[i].tensor == cache || n->arg[i].tensor == g->node[concat].result[0])
                return true;
    }
    return false;
}

/* Seconds of DRAM that the copy of the cache takes in kernel k; NaN where k does not store the concat. */
static double copy_seconds(const fsim_graph *g, const fsim_hw *hw, const fsim_kernel *k, int concat, int cache)
{
    const int result = g->node[concat].result[0];
    double read = 0, written = NAN;
    for (int i = 0; i < k->outputs; i++)
        if (k->output[i].tensor == result)
            written =
                (double)k->output[i].write_bytes * (double)g->tensor[cache].elems / (double)g->tensor[result].elems;
    for (int i = 0; i < k->inputs && !is_read_besides(g, k->group, concat, cache); i++)
        if (k->input[i].tensor == cache)
            read = (double)k->input[i].read_bytes;
    return fmin(fsim_dram_seconds(hw, read, written), k->time_s - k->time[FSIM_LAUNCH]);
}

fsim_append fsim_append_of(const fsim_graph *g, const fsim_hw *hw, const fsim_plan *plan)
{
    fsim_append all = {.node = -1, .cache = -1};
    for (int p = 0; p < plan->kernels; p++) {
        const fsim_group *o = plan->kernel[p].group;
        for (int m = 0; m < o->members; m++) {
            const int node = o->member[m].node, cache = o->member[m].clone ? -1 : cache_of(g, &g->node[node]);
            const double saves_s = cache < 0 ? NAN : copy_seconds(g, hw, &plan->kernel[p], node, cache);
            if (!(saves_s > 0))
                continue;
            if (all.cache < 0 || g->tensor[cache].bytes > g->tensor[all.cache].bytes) {
                all.node = node;
                all.cache = cache;
            }
            all.caches++;
            all.bytes += g->tensor[cache].bytes;
            all.saves_s += saves_s;
        }
    }
    return all;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/prepared.h"

#include "cost/costing.h"
#include "evidence/alone.h"
#include "evidence/harness.h"
#include "evidence/l2_chance.h"
#include "plan/price/price.h"
#include <string.h>

static bool *kept_flags(fsim_arena *a, const bool *x, int count)
{
    bool *own = fsim_new(a, bool, count + 1);
    if (x && count > 0)
        memcpy(own, x, (size_t)count * sizeof *x);
    return own;
}

static double *kept_shares(fsim_arena *a, const double *x, int count)
{
    double *own = x ? fsim_new(a, double, count + 1) : NULL;
    if (x && count > 0)
        memcpy(own, x, (size_t)count * sizeof *x);
    return own;
}

static bool on_tensor_units(const fsim_graph *g)
{
    for (int n = 0; n < g->nodes; n++)
        if (g->node[n].gemm.k && fsim_is_tensor_arithmetic(g->node[n].gemm.arithmetic))
            return true;
    return false;
}

fsim_prepared fsim_prepare(const fsim_bench *b, int i, fsim_arena *a)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_problem problem;
    fsim_plan plan;
    fsim_prepared p = {.row = fsim_bench_row(b, i)};
    const fsim_graph *g = fsim_bench_graph(b, i, a);
    if (!g) {
        fsim_arena_free(scratch);
        return p;
    }
    fsim_bench_plan(b, i, g, scratch, &problem, &plan);
    p.graph = g;
    p.maker = fsim_row_maker(p.row, g);
    p.class = fsim_work_class_of(g);
    p.tensor = on_tensor_units(g);
    int from = 0, to = 0;
    fsim_bench_kernels(b, i, g, &plan, &from, &to);
    p.kernels = to - from;
    p.group = fsim_new(a, fsim_group, plan.kernels + 1);
    fsim_kept_maps *maps = fsim_kept_maps_new(a);
    p.l2 = fsim_new(a, fsim_residency, plan.kernels + 1);
    const fsim_residency *l2 = fsim_l2_by_chance(p.row, &problem, p.maker, &plan, scratch);
    for (int k = 0; k < p.kernels; k++) {
        p.group[k] = *plan.kernel[from + k].group;
        fsim_group_keep(a, maps, &p.group[k]);
        p.l2[k] = l2[from + k];
        p.l2[k].hit = kept_flags(a, p.l2[k].hit, p.group[k].reads);
        p.l2[k].absorbed = kept_flags(a, p.l2[k].absorbed, p.group[k].writes);
        p.l2[k].found = kept_shares(a, p.l2[k].found, p.group[k].reads);
        p.l2[k].stays = kept_shares(a, p.l2[k].stays, p.group[k].writes);
    }
    fsim_arena_free(scratch);
    return p;
}

double fsim_price_again(const fsim_prepared *p, const fsim_hw *hw, fsim_arena *scratch)
{
    const fsim_mark mark = fsim_save(scratch);
    fsim_kernel *kernel = fsim_new(scratch, fsim_kernel, p->kernels + 1);
    const fsim_software software = {p->graph, hw, p->row->launch, p->maker};
    for (int k = 0; k < p->kernels; k++) {
        kernel[k] = fsim_row_is_alone(p->row) ? fsim_kernel_of_row(p->row, &software, &p->group[k], scratch)
                                              : fsim_kernel_measured(fsim_harness_of(p->row), &software, &p->group[k],
                                                                     &p->l2[k], NULL, scratch);
        fsim_add_host_calls(&software, &p->group[k], &kernel[k]);
    }
    const double seconds = fsim_row_seconds(p->row, kernel, p->kernels, p->maker, hw);
    fsim_rewind(scratch, mark);
    return seconds;
}

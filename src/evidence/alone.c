/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/alone.h"

#include "cost/constants.h"
#include "cost/costing.h"
#include "evidence/constants.h"
#include "evidence/harness.h"
#include "evidence/l2_chance.h"
#include "fusion/fuse.h"
#include "graph/find.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/price/timeline.h"

#include <math.h>
#include <string.h>

static bool is_own(const fsim_measured *row) { return fsim_maker_named(row->source, FSIM_BY_ATEN) == FSIM_BY_FUSESIM; }

static bool is_of_kernel(const fsim_measured *row) { return row->kernel && *row->kernel; }

bool fsim_row_is_alone(const fsim_measured *row)
{
    return is_of_kernel(row) && row->launch == FSIM_REGIME_KERNEL && row->l2 != FSIM_L2_UNKNOWN &&
           row->mode == FSIM_MODE_NONE;
}

/* Is it a time of a plan by `validate --device` on a GPU? */
static bool is_of_own_plan(const fsim_measured *row, const fsim_hw *hw)
{
    return is_own(row) && !is_of_kernel(row) && !hw->host && !row->of_memory && row->mode == FSIM_MODE_NONE;
}

/* What L2 holds when the kernel runs a second time at once: all of it, or nothing. */
static fsim_residency again(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o, fsim_arena *a)
{
    bool *hit = fsim_new(a, bool, o->reads + 1), *absorbed = fsim_new(a, bool, o->writes + 1);
    double bytes = 0, *share = fsim_new(a, double, o->writes + 1);
    for (int i = 0; i < o->reads; i++)
        bytes += (double)o->read[i].bytes;
    for (int i = 0; i < o->writes; i++)
        bytes += (double)g->tensor[o->write[i].tensor].bytes;
    const bool fits = bytes <= fsim_l2_effective(hw);
    memset(hit, fits, (size_t)o->reads);
    memset(absorbed, fits, (size_t)o->writes);
    for (int i = 0; i < o->writes; i++)
        share[i] = fits ? 1 - results_waiting : 1;
    return (fsim_residency){.hit = hit, .absorbed = absorbed, .write_share = hw->host ? NULL : share, .replays = true};
}

/* The kernel that runs: of whom? */
typedef enum { BY_ANYBODY, BY_US } runner;

/* `validate --device` calls libraries for products alone. */
static runner runner_of(const fsim_measured *row, const fsim_software *s, const fsim_group *o)
{
    if (!is_own(row) || s->hw->host)
        return BY_ANYBODY;
    const bool convolves = o->anchor >= 0 && s->graph->node[o->anchor].gemm.convolution;
    return convolves || o->template == FSIM_CHAINED_CONTRACTION ||
                   (is_of_kernel(row) && !strstr(row->source, ", by cu"))
               ? BY_US
               : BY_ANYBODY;
}

static fsim_kernel kernel_by(runner by, const fsim_software *s, const fsim_group *o, const fsim_residency *l2,
                             fsim_arena *a)
{
    if (by == BY_ANYBODY || o->template == FSIM_SERVING_KERNEL)
        return fsim_framework_kernel(s, o, l2, NULL, a);
    const fsim_costing c = fsim_costing_of(s->graph, s->hw, s->regime, o, l2, a);
    return fsim_generated_kernel(&c, a);
}

/* Results are written to L2, and go to DRAM when something else needs their place. When a kernel ends that began with
 * nothing to write back, L2 holds the end of all that went through it, results in the same share as in the whole. */
static fsim_kernel ending(runner by, const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                          fsim_arena *a)
{
    const fsim_kernel all = kernel_by(by, s, group, l2, a);
    const double read = (double)all.dram_read_bytes, written = (double)all.dram_write_bytes,
                 waiting = results_waiting * fmin(1, fsim_l2_effective(s->hw) / fmax(1, read + written));
    if (s->hw->host || s->hw->arch->plain || all.time_s <= 0 || written <= 0)
        return all;
    fsim_residency ended = l2 ? *l2 : (fsim_residency){0};
    double *share = fsim_new(a, double, group->writes + 1);
    for (int i = 0; i < group->writes; i++)
        share[i] = ended.absorbed && ended.absorbed[i] ? 0 : 1 - waiting;
    ended.write_share = share;
    fsim_kernel out = kernel_by(by, s, group, &ended, a);
    for (int i = 0; i < out.outputs; i++)
        out.output[i] = all.output[i];
    out.dram_write_bytes = all.dram_write_bytes;
    return out;
}

static fsim_kernel alone_by(runner by, const fsim_software *s, const fsim_group *group, bool warm, fsim_arena *a)
{
    if (!warm)
        return ending(by, s, group, NULL, a);
    const fsim_residency l2 = again(s->graph, s->hw, group, a);
    return kernel_by(by, s, group, &l2, a);
}

fsim_kernel fsim_kernel_by_itself(const fsim_software *s, const fsim_group *group, bool warm, fsim_arena *a)
{
    return alone_by(BY_ANYBODY, s, group, warm, a);
}

/* Gives a plan's kernels, which software s runs, the times that the row measured: by kernels of ours where
 * `validate --device` calls no library, and without the results of the last one that wait in L2. plan->kernel is
 * changed. Scratch in a. */
static void time_as_own_plan(const fsim_measured *row, const fsim_software *s, fsim_plan *plan, fsim_arena *a)
{
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_group *o = plan->kernel[k].group;
        const runner by = runner_of(row, s, o);
        if (row->l2 == FSIM_L2_COLD && k + 1 == plan->kernels)
            plan->kernel[k] = ending(by, s, o, &plan->l2[k], a);
        else if (by == BY_US)
            plan->kernel[k] = kernel_by(by, s, o, &plan->l2[k], a);
        plan->kernel[k].group = o;
    }
}

fsim_kernel fsim_kernel_of_row(const fsim_measured *row, const fsim_software *s, const fsim_group *group, fsim_arena *a)
{
    const bool warm = row->l2 == FSIM_L2_WARM;
    const runner by = runner_of(row, s, group);
    /* kernels of a profile sum to the whole of it */
    fsim_kernel k = is_own(row) || warm ? alone_by(by, s, group, warm, a) : kernel_by(by, s, group, NULL, a);
    k.group = group;
    return k;
}

/* The primitives that the row names, ascending; their number in *count, 0 where one is unknown. */
static int *named(const fsim_measured *row, const fsim_graph *g, int *count, fsim_arena *a)
{
    int *node = fsim_new(a, int, g->nodes + 1), found = 0;
    bool *in = fsim_new(a, bool, g->nodes + 1);
    *count = 0;
    for (const char *p = row->kernel; *p;) {
        const size_t length = strcspn(p, "+");
        const int n = fsim_find_node(g, fsim_strndup(a, p, length));
        if (n < 0)
            return node;
        in[n] = true;
        p += length + (p[length] == '+');
    }
    for (int n = 0; n < g->nodes; n++)
        if (in[n])
            node[found++] = n;
    *count = found;
    return node;
}

static bool has_just(const fsim_part *part, const int *node, int count)
{
    int own = 0, met = 0;
    for (int i = 0; i < part->count; i++) {
        own += !part->clone[i];
        for (int k = 0; k < count; k++)
            met += !part->clone[i] && part->node[i] == node[k];
    }
    return own == count && met == count;
}

/* The group of these primitives: the part of the plan that has just these, or a kernel of their own. NULL: they make
 * none. */
static const fsim_group *group_named(const fsim_measured *row, const fsim_problem *p, const fsim_plan *plan,
                                     fsim_arena *a)
{
    int count;
    const int *node = named(row, p->graph, &count, a);
    fsim_group *out = fsim_new(a, fsim_group, 1);
    fsim_refusal why;
    for (int k = 0; k < plan->kernels; k++)
        if (count > 0 && has_just(&plan->partition.part[k], node, count))
            return plan->kernel[k].group;
    return count > 0 && fsim_legal(&p->limits, node, count, a, out, &why) ? out : NULL;
}

fsim_plan fsim_plan_of_row(const fsim_measured *row, fsim_maker maker, fsim_problem *p, const fsim_plan *own,
                           fsim_arena *a)
{
    const fsim_software software = {p->graph, p->hw, p->regime, maker};
    fsim_plan out = *own;
    out.kernel = fsim_new(a, fsim_kernel, own->kernels + 1);
    out.l2 = fsim_l2_by_chance(row, p, maker, own, a);
    for (int k = 0; k < own->kernels; k++) {
        const bool as_priced = out.l2 == own->l2 && !fsim_computes_again(&own->partition.part[k]);
        out.kernel[k] = fsim_kernel_measured(fsim_harness_of(row), &software, own->kernel[k].group, &out.l2[k],
                                             as_priced ? &own->kernel[k] : NULL, a);
        fsim_add_host_calls(&software, out.kernel[k].group, &out.kernel[k]);
    }
    fsim_sdpa_join(p, maker, row->flash_2, &out, a);
    if (is_of_own_plan(row, p->hw))
        time_as_own_plan(row, &software, &out, a);
    return out;
}

fsim_kernel fsim_time_alone(const fsim_measured *row, const fsim_software *s, const fsim_problem *p,
                            const fsim_plan *plan, int at, fsim_arena *a)
{
    const fsim_group *o = is_own(row) ? group_named(row, p, plan, a) : plan->kernel[at].group;
    return o ? fsim_kernel_of_row(row, s, o, a) : (fsim_kernel){0};
}

double fsim_row_seconds(const fsim_measured *row, const fsim_kernel *kernel, int kernels, fsim_maker maker,
                        const fsim_hw *hw)
{
    if (!is_of_own_plan(row, hw) || row->launch == FSIM_REGIME_EAGER)
        return fsim_call_seconds(kernel, kernels, maker, row->launch, hw);
    const bool library =
        kernels > 0 && row->launch == FSIM_REGIME_STREAM && kernel[0].template == FSIM_LIBRARY_CONTRACTION;
    double seconds = own_start_s + (library ? own_library_start_s : 0);
    for (int k = 0; k < kernels; k++)
        seconds += kernel[k].time_s;
    return seconds;
}

void fsim_host_errors(const fsim_plan *plan, const fsim_software *s, double predicted_s, fsim_plan_errors *errors)
{
    if (s->regime != FSIM_REGIME_EAGER)
        return;
    errors->slower_host =
        log(fsim_call_seconds_with_host(plan->kernel, plan->kernels, s->maker, s->regime, s->hw, exp(host_spread)) /
            predicted_s);
    errors->faster_host = log(predicted_s / fsim_call_seconds_with_host(plan->kernel, plan->kernels, s->maker,
                                                                        s->regime, s->hw, exp(-host_spread)));
}

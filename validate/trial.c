/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/trial.h"

#include "graph/scale.h"
#include "search/price.h"
#include "validate/cpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double time_in(const fsim_problem *all, const fsim_partition *partition, fsim_regime regime, fsim_arena *a)
{
    fsim_problem p = *all;
    fsim_plan plan;
    fsim_refusal why;
    p.regime = regime;
    p.store = fsim_store_new(a);
    return fsim_price(&p, partition, a, &plan, &why) ? plan.time_s : NAN;
}

/* Warm: what the kernel touches is in L2, as far as that holds it. */
static fsim_trial_kernel predicted_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o, fsim_arena *a)
{
    bool *hit = fsim_new(a, bool, o->reads + 1), *absorbed = fsim_new(a, bool, o->writes + 1);
    double bytes = 0;
    for (int i = 0; i < o->reads; i++)
        bytes += (double)o->read[i].bytes;
    for (int i = 0; i < o->writes; i++)
        bytes += (double)g->tensor[o->write[i].tensor].bytes;
    const bool fits = bytes <= fsim_l2_effective(hw);
    memset(hit, fits, (size_t)o->reads);
    memset(absorbed, fits, (size_t)o->writes);
    const fsim_kernel cold = fsim_kernel_of(g, hw, FSIM_REGIME_KERNEL, o, NULL, a);
    const fsim_kernel warm = fsim_kernel_of(g, hw, FSIM_REGIME_KERNEL, o, &(fsim_residency){.hit = hit, .absorbed = absorbed}, a);
    return (fsim_trial_kernel){cold.time_s, warm.time_s, (double)cold.dram_read_bytes, (double)cold.dram_write_bytes};
}

static bool plan_of(const fsim_problem *p, const fsim_prediction *predicted, fsim_strategy s, fsim_arena *a, fsim_plan *out)
{
    if (s == FSIM_STRATEGY_OPTIMAL)
        *out = predicted->plan[s];
    else
        fsim_baseline(p, s, a, out);
    return out->kernels > 0;
}

fsim_trial fsim_trial_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, const fsim_strategy *strategy, int strategies, fsim_arena *a)
{
    const fsim_problem p = fsim_problem_of(g, hw, options, a);
    const fsim_prediction predicted = fsim_predict(g, hw, options, a);
    fsim_trial t = {.graph = g, .hw = hw, .chosen = -1, .best = -1, .regret = NAN, .noise = NAN, .plan = fsim_new(a, fsim_trial_plan, strategies + 1), .set = ""};
    for (int i = 0; i < strategies; i++) {
        fsim_trial_plan *x = &t.plan[t.plans];
        *x = (fsim_trial_plan){.strategy = strategy[i]};
        if (!plan_of(&p, &predicted, strategy[i], a, &x->plan))
            continue;
        x->stream_s = time_in(&p, &x->plan.partition, FSIM_REGIME_STREAM, a);
        x->graph_s = time_in(&p, &x->plan.partition, FSIM_REGIME_GRAPH, a);
        x->program = fsim_programs_of(g, hw, &x->plan, a);
        x->predicted = fsim_new(a, fsim_trial_kernel, x->plan.kernels + 1);
        x->check = fsim_new(a, fsim_check, x->plan.kernels + 1);
        x->measured.kernel = fsim_new(a, fsim_measured_kernel, x->plan.kernels + 1);
        for (int k = 0; k < x->plan.kernels; k++) {
            x->predicted[k] = predicted_of(g, hw, x->plan.kernel[k].group, a);
            x->skipped += x->program[k].skipped != NULL;
        }
        t.plans++;
    }
    return t;
}

/* Checks. */

/* Does the kernel that computes `node` have `tensor` from memory? Where several compute it, all of them. */
static bool loads(const void *with, int node, int tensor)
{
    const fsim_plan *plan = with;
    bool from_memory = true;
    for (int k = 0; k < plan->kernels && from_memory; k++) {
        const fsim_part *part = &plan->partition.part[k];
        if (!bsearch(&node, part->node, (size_t)part->count, sizeof node, fsim_by_int))
            continue;
        const fsim_group *o = plan->kernel[k].group;
        from_memory = false;
        for (int i = 0; i < o->reads && !from_memory; i++)
            from_memory = o->read[i].tensor == tensor;
    }
    return from_memory;
}

/* Multiply-adds and other points that the interpreter walks. */
static double work_of(const fsim_graph *g)
{
    double points = 0;
    for (int n = 0; n < g->nodes; n++)
        points += (double)g->node[n].points * (double)g->node[n].reduced;
    return points;
}

/* The workload with dimensions so short that the interpreter takes about most_s. */
static const fsim_graph *small_enough(const fsim_graph *g, const struct fsim_yaml *yaml, const fsim_binding *set, int sets, double most_s, int64_t *scale, fsim_arena *a)
{
    enum { LARGEST = 1 << 14 };
    static const double points_per_s = 5e7, most_bytes = 1e9;
    const double most = most_s * points_per_s;
    *scale = 1;
    if (fsim_reference_bytes(g) <= most_bytes && work_of(g) <= most)
        return g;
    const fsim_graph *best = NULL;
    for (int64_t factor = 2; factor <= LARGEST && yaml; factor *= 2) {
        fsim_diag *quiet = fsim_diag_new(a);
        const fsim_graph *shorter = fsim_graph_of(a, quiet, g->path, fsim_scale_shapes(a, yaml, factor), set, sets);
        if (!shorter)
            continue;
        best = shorter;
        *scale = factor;
        if (fsim_reference_bytes(shorter) <= most_bytes && work_of(shorter) <= most)
            break;
    }
    return best && fsim_reference_bytes(best) <= most_bytes * 4 && work_of(best) <= most * 20 ? best : NULL;
}

static void check_plan(fsim_trial_plan *x, const fsim_reference *r, const fsim_cpu_module *m, const fsim_program *program, int kernels, fsim_cpu_pool *pool, fsim_arena *a)
{
    fsim_host_memory *memory = fsim_host_memory_new(r, program, kernels);
    if (!memory) {
        x->first_wrong = "not enough memory to check it";
        return;
    }
    for (int k = 0; k < kernels; k++) {
        fsim_check c = {.tensor = -1};
        if (program[k].skipped) {
            fsim_host_stand_in(memory, r, k);
            continue;
        }
        if (m->kernel[k].failed) {
            c.message = m->kernel[k].failed;
        } else {
            fsim_cpu_run(pool, &m->kernel[k], memory->argument[k]);
            c = fsim_check_program(r, &program[k], fsim_host_fetch, memory->argument[k], a);
        }
        fsim_host_stand_in(memory, r, k); /* each kernel starts from right values: an error shows where it is made */
        x->checked++;
        if (c.message && x->wrong++ == 0)
            x->first_wrong = fsim_printf(a, "%s: %s", program[k].name, c.message);
        if (kernels == x->plan.kernels)
            x->check[k] = c;
    }
    fsim_host_memory_free(memory);
}

bool fsim_trial_check_on_host(fsim_trial *t, const struct fsim_yaml *yaml, const fsim_binding *set, int sets, int jobs, double most_s, fsim_arena *a, const char **why)
{
    const fsim_graph *g = small_enough(t->graph, yaml, set, sets, most_s, &t->scale, a);
    const fsim_cpu_compiler how = {.header = fsim_dialect_text, .jobs = jobs};
    fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
    bool good = true;
    if (!g)
        t->scale = 0;
    for (int i = 0; i < t->plans && g && good; i++) {
        fsim_trial_plan *x = &t->plan[i];
        fsim_options options = {.strategy = x->strategy, .regime = FSIM_REGIME_STREAM, .time_limit_s = 1};
        fsim_trial small = {.plan = x};
        if (g != t->graph)
            small = fsim_trial_of(g, t->hw, &options, &x->strategy, 1, a);
        if (g != t->graph && small.plans == 0)
            continue;
        fsim_cpu_module *m = fsim_cpu_compile(small.plan->program, small.plan->plan.kernels, &how, a, why);
        good = m != NULL;
        if (!good)
            break;
        fsim_reference *r = fsim_reference_within(g, 1, loads, &small.plan->plan);
        check_plan(x, r, m, small.plan->program, small.plan->plan.kernels, pool, a);
        fsim_reference_free(r);
        fsim_cpu_unload(m);
    }
    fsim_cpu_pool_free(pool);
    return good;
}

/* Verdicts. */

double fsim_trial_error(const fsim_trial_plan *p) { return p->measured.stream.samples > 0 ? p->measured.stream.median_s / p->stream_s - 1 : NAN; }

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

void fsim_trial_judge(fsim_trial *t)
{
    double noise[FSIM_STRATEGY_COUNT + 1];
    int measured = 0;
    t->chosen = t->best = -1;
    t->regret = t->noise = NAN;
    for (int i = 0; i < t->plans; i++) {
        const fsim_trial_plan *x = &t->plan[i];
        const fsim_times *s = &x->measured.stream;
        if (s->samples == 0)
            continue;
        noise[measured++] = (s->high_s - s->low_s) / 2 / s->median_s;
        if (t->chosen < 0 || x->stream_s < t->plan[t->chosen].stream_s)
            t->chosen = i;
        if (t->best < 0 || s->median_s < t->plan[t->best].measured.stream.median_s)
            t->best = i;
    }
    if (measured == 0)
        return;
    qsort(noise, (size_t)measured, sizeof *noise, by_value);
    t->noise = noise[measured / 2];
    t->regret = t->plan[t->chosen].measured.stream.median_s / t->plan[t->best].measured.stream.median_s - 1;
}

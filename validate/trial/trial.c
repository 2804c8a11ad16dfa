/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/trial/trial.h"

#include "emit/generate.h"
#include "evidence/alone.h"
#include "plan/price/price.h"
#include "plan/rivals/rivals.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double time_in(fsim_problem *all, const fsim_partition *partition, fsim_regime regime, fsim_arena *a)
{
    fsim_problem p = *all;
    fsim_plan plan;
    fsim_refusal why;
    p.regime = regime;
    p.store = fsim_store_new(a);
    return fsim_price(&p, partition, a, &plan, &why) ? plan.time_s : NAN;
}

static fsim_trial_kernel predicted_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o, fsim_arena *a)
{
    const fsim_software ours = {g, hw, FSIM_REGIME_KERNEL, FSIM_BY_FUSESIM};
    const fsim_kernel cold = fsim_kernel_by_itself(&ours, o, false, a), warm = fsim_kernel_by_itself(&ours, o, true, a);
    return (fsim_trial_kernel){cold.time_s, warm.time_s, (double)cold.dram_read_bytes, (double)cold.dram_write_bytes};
}

static bool plan_of(fsim_problem *p, const fsim_prediction *predicted, fsim_strategy s, fsim_arena *a, fsim_plan *out)
{
    fsim_refusal why;
    if (s == FSIM_STRATEGY_FILE)
        return fsim_price(p, predicted->options.user_plan, a, out, &why);
    if (s == FSIM_STRATEGY_OPTIMAL && predicted->plan[s].priced) /* kernels of ours in place of a library's calls */
        return fsim_price(p, predicted->plan[s].priced, a, out, &why);
    if (s == FSIM_STRATEGY_OPTIMAL)
        *out = predicted->plan[s];
    else
        fsim_baseline(p, s, a, out);
    return out->kernels > 0;
}

static void price(fsim_problem *p, fsim_trial_plan *x, fsim_arena *a)
{
    x->stream_s = time_in(p, &x->plan.partition, FSIM_REGIME_STREAM, a);
    x->graph_s = time_in(p, &x->plan.partition, FSIM_REGIME_GRAPH, a);
    for (int k = 0; k < x->plan.kernels; k++)
        x->predicted[k] = predicted_of(p->graph, p->hw, x->plan.kernel[k].group, a);
}

void fsim_trial_reprice(fsim_trial *t, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    fsim_problem p = fsim_problem_of(t->graph, hw, options, a);
    t->hw = hw;
    for (int i = 0; i < t->plans; i++)
        price(&p, &t->plan[i], a);
}

fsim_trial fsim_trial_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options,
                         const fsim_strategy *strategy, int strategies, fsim_arena *a)
{
    const bool searched = strategies != 1 || *strategy != FSIM_STRATEGY_FILE;
    const fsim_prediction predicted =
        searched ? fsim_predict(g, hw, options, a) : (fsim_prediction){.graph = g, .options = *options};
    fsim_problem p = fsim_problem_of(predicted.graph, hw, options, a);
    fsim_trial t = {.graph = predicted.graph,
                    .hw = hw,
                    .search_steps = options->search_steps,
                    .scale = -1,
                    .chosen = -1,
                    .best = -1,
                    .regret = NAN,
                    .noise = NAN,
                    .plan = fsim_new(a, fsim_trial_plan, strategies + 1),
                    .set = ""};
    for (int i = 0; i < strategies; i++) {
        fsim_trial_plan *x = &t.plan[t.plans];
        *x = (fsim_trial_plan){.strategy = strategy[i]};
        if (!plan_of(&p, &predicted, strategy[i], a, &x->plan))
            continue;
        x->program = fsim_programs_of(t.graph, hw, &x->plan, 1, a);
        x->predicted = fsim_new(a, fsim_trial_kernel, x->plan.kernels + 1);
        price(&p, x, a);
        x->check = fsim_new(a, fsim_check, x->plan.kernels + 1);
        x->measured.kernel = fsim_new(a, fsim_measured_kernel, x->plan.kernels + 1);
        x->ran = fsim_new(a, fsim_trial_ran, x->plan.kernels + 1);
        for (int k = 0; k < x->plan.kernels; k++)
            x->skipped += x->program[k].skipped != NULL;
        t.plans++;
    }
    return t;
}

/* Verdicts. */

double fsim_trial_error(const fsim_trial_plan *p)
{
    return p->measured.stream.samples > 0 && !p->unlike ? p->stream_s / p->measured.stream.median_s - 1 : NAN;
}

const char *fsim_trial_failure(const fsim_trial *t)
{
    const char *why = t->failed ? t->failed : t->unchecked;
    for (int i = 0; i < t->plans && !why; i++) {
        const fsim_trial_plan *x = &t->plan[i];
        why = x->failed;
        for (int k = 0; k < x->plan.kernels && !why; k++)
            why = x->program[k].skipped ? NULL : x->measured.kernel[k].failed;
    }
    return why;
}

const char *fsim_trial_left_out(const fsim_trial *t, fsim_arena *a)
{
    int plans = 0, kernels = 0, uncounted = 0, all = 0;
    const char *why = NULL, *text = "";
    for (int i = 0; i < t->plans; i++) {
        const fsim_trial_plan *x = &t->plan[i];
        plans += x->left_out != NULL;
        why = why ? why : x->left_out;
        all += x->plan.kernels;
        for (int k = 0; k < x->plan.kernels; k++) {
            const fsim_measured_kernel *m = &x->measured.kernel[k];
            kernels += m->left_out != NULL;
            uncounted += m->uncounted && !m->left_out;
            why = why ? why : m->left_out ? m->left_out : m->uncounted;
        }
    }
    if (plans)
        text = fsim_printf(a, "%d of %d plans", plans, t->plans);
    if (kernels)
        text = fsim_printf(a, "%s%s%d of %d kernels", text, *text ? ", " : "", kernels, all);
    if (uncounted)
        text = fsim_printf(a, "%s%scounters of %d kernels", text, *text ? ", " : "", uncounted);
    return why ? fsim_printf(a, "%s: %s", text, why) : NULL;
}

/* Why the measured time is not that of the predicted kernels; NULL: it is. */
static const char *unlike(const fsim_trial *t, const fsim_trial_plan *x)
{
    const char *why = NULL;
    for (int k = 0; k < x->plan.kernels; k++)
        if (x->program[k].skipped)
            return "kernels that are not generated did not run, but are predicted with the rest";
        else if (x->ran[k].stand_in && t->has_library)
            why = "our own kernels ran for products that are predicted as the library's";
    return why;
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* Are the kernels the same? Differences between their times are noise then. */
static bool same_partition(const fsim_partition *x, const fsim_partition *y)
{
    bool same = x->parts == y->parts;
    for (int i = 0; i < x->parts && same; i++)
        same = x->part[i].count == y->part[i].count &&
               memcmp(x->part[i].node, y->part[i].node, (size_t)x->part[i].count * sizeof(int)) == 0;
    return same;
}

void fsim_trial_judge(fsim_trial *t)
{
    double noise[FSIM_STRATEGY_COUNT + 1];
    int measured = 0;
    t->chosen = t->best = -1;
    t->regret = t->noise = NAN;
    for (int i = 0; i < t->plans; i++) {
        fsim_trial_plan *x = &t->plan[i];
        const fsim_times *s = &x->measured.stream;
        x->unlike = unlike(t, x);
        if (s->samples == 0 || x->unlike)
            continue;
        noise[measured++] = (s->high_s - s->low_s) / 2 / s->median_s;
        if (t->chosen < 0 || x->stream_s <= t->plan[t->chosen].stream_s)
            t->chosen = i;
        if (t->best < 0 || s->median_s < t->plan[t->best].measured.stream.median_s)
            t->best = i;
    }
    if (measured == 0)
        return;
    qsort(noise, (size_t)measured, sizeof *noise, by_value);
    t->noise = noise[measured / 2];
    if (same_partition(&t->plan[t->chosen].plan.partition, &t->plan[t->best].plan.partition))
        t->best = t->chosen;
    t->regret = t->plan[t->chosen].measured.stream.median_s / t->plan[t->best].measured.stream.median_s - 1;
}

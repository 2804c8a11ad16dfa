/* SPDX-License-Identifier: Apache-2.0 */
#include "report/plan_gates.h"

#include "hw/choose.h"
#include "report/describe.h"
#include "report/gate.h"
#include "report/junit.h"
#include "report/versus.h"
#include <math.h>
#include <string.h>

enum { TIME, SPEEDUP, MEMORY, FITS, BYTES, KERNELS, OVER_OPTIMUM, GAP, PROVEN, METRICS };

static const fsim_gate_metric metrics[METRICS] = {
    [TIME] = {"time", FSIM_GATE_SECONDS, false, "time of the plan"},
    [SPEEDUP] = {"speedup", FSIM_GATE_FACTOR, true, "time of eager over that of the plan"},
    [MEMORY] = {"memory", FSIM_GATE_BYTES, false, "memory at its peak"},
    [FITS] = {"fits", FSIM_GATE_YES, true, "the GPU has the memory that it needs"},
    [BYTES] = {"bytes", FSIM_GATE_BYTES, false, "DRAM bytes read and written"},
    [KERNELS] = {"kernels", FSIM_GATE_COUNT, false, "kernels of the plan"},
    [OVER_OPTIMUM] = {"over_optimum", FSIM_GATE_SHARE, false, "what it loses against optimal"},
    [GAP] = {"gap", FSIM_GATE_SHARE, false, "distance from the lower bound"},
    [PROVEN] = {"proven", FSIM_GATE_YES, true, "no legal plan is better"}};
const fsim_gate_table fsim_plan_gates = {"plan", metrics, METRICS, "GPU, strategy or GPU/strategy", NULL};

static const fsim_loc command_line = {NULL, 0, 0};

/* The place of text[0, length) among the names, or -1. */
static int place_of(const char *text, size_t length, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncmp(text, names[i], length) == 0)
            return i;
    return -1;
}

/* The GPU that the name means, or -1; *others: how many more it could mean. */
static int gpu_meant(const char *name, const fsim_gate_gpus *gpus, int *others)
{
    int found = place_of(name, strlen(name), gpus->typed, gpus->count);
    *others = 0;
    if (found < 0)
        found = place_of(name, strlen(name), gpus->name, gpus->count);
    if (found >= 0)
        return found;
    for (int i = 0; i < gpus->count; i++)
        if (fsim_hw_means(name, gpus->name[i])) {
            *others += found >= 0;
            found = found < 0 ? i : found;
        }
    return found;
}

/* The error of a word of a group that is no one's name, or that of several GPUs. */
static void refuse_word(fsim_arena *a, fsim_diag *d, const fsim_gate *gate, const char *word,
                        const fsim_gate_gpus *gpus, bool several)
{
    const int names = FSIM_PLAN_COUNT + gpus->count;
    const char **all = fsim_new(a, const char *, names), *offer = "";
    for (int i = 0; i < names; i++)
        all[i] = i < FSIM_PLAN_COUNT ? fsim_strategy_names[i] : gpus->name[i - FSIM_PLAN_COUNT];
    offer = fsim_did_you_mean(a, word, all, names);
    const bool none = !*offer;
    for (int i = 0; i < gpus->count && none; i++)
        offer = fsim_printf(a, "%s%s%s", offer, i ? ", " : "; --hw has ", gpus->name[i]);
    fsim_error(d, command_line, "--gate '%s': '%s' is %s%s", gate->text, word,
               several ? "more than one GPU of --hw" : "no strategy and no GPU of --hw", offer);
}

bool fsim_plan_group_of(fsim_arena *a, fsim_diag *d, const fsim_gate *gate, const fsim_gate_gpus *gpus,
                        fsim_plan_group *out)
{
    *out = (fsim_plan_group){FSIM_PLAN_COUNT, -1};
    for (const char *p = gate->group; *p;) {
        const size_t length = strcspn(p, "/");
        const char *word = fsim_strndup(a, p, length);
        int others = 0;
        const int strategy = place_of(p, length, fsim_strategy_names, FSIM_PLAN_COUNT),
                  gpu = strategy < 0 ? gpu_meant(word, gpus, &others) : -1;
        if (others || (strategy < 0 && gpu < 0)) {
            refuse_word(a, d, gate, word, gpus, others > 0);
            return false;
        }
        if (strategy >= 0)
            out->strategy = strategy;
        else
            out->gpu = gpu;
        p += length + (p[length] == '/');
    }
    return true;
}

/* The metric of the plan of s; NaN where there is none. */
static double value_of(int metric, const fsim_prediction *p, fsim_strategy s)
{
    const fsim_plan *plan = &p->plan[s];
    fsim_prediction shown = *p; /* as if s were the plan shown: the bound is one for all */
    shown.chosen = s;
    const fsim_verdict v = fsim_verdict_of(&shown);
    switch (metric) {
    case TIME:
        return plan->time_s;
    case SPEEDUP:
        return fsim_speedup(p, s);
    case MEMORY:
        return (double)plan->peak_memory_bytes;
    case FITS:
        return fsim_plan_fits(p, s);
    case BYTES:
        return (double)plan->dram_read_bytes + (double)plan->dram_write_bytes;
    case KERNELS:
        return plan->kernels;
    case OVER_OPTIMUM:
        return fsim_over_optimum(p, s);
    case GAP:
        return v.gap;
    default:
        return v.proven;
    }
}

/* The 80 % interval of a metric that is a time or a ratio of two; NaN for other metrics, which are exact. */
static fsim_interval interval_of(int metric, const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    if (metric == TIME)
        return fsim_likely_time(p, fsim_plan_of(p, s), a);
    if (metric == SPEEDUP && s != FSIM_STRATEGY_EAGER)
        return fsim_against_eager(p, s, a).likely;
    if (metric == OVER_OPTIMUM && s != FSIM_STRATEGY_OPTIMAL && !fsim_objective_in_bytes(&p->options)) {
        const fsim_interval faster = fsim_against_optimal(p, s, a).likely;
        return (fsim_interval){1 / faster.high - 1, 1 / faster.low - 1};
    }
    return (fsim_interval){NAN, NAN};
}

static const char *shown(int metric, double x, fsim_arena *a)
{
    return metric == TIME      ? fsim_seconds_text(a, x)
           : metric == SPEEDUP ? fsim_times_text(a, x)
                               : fsim_percent_text(a, x);
}

/* Adds to what a gate says that its interval contains the limit: the gate judges the figure. */
static void say_unsure(fsim_gate *g, const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const fsim_interval x = interval_of(g->metric, p, s, a);
    if (x.low < g->limit && g->limit < x.high)
        g->says = fsim_printf(a, "%s; not sure: %s to %s in eight of ten cases", g->says, shown(g->metric, x.low, a),
                              shown(g->metric, x.high, a));
}

fsim_judged fsim_plan_gates_try(const fsim_gate *gate, const fsim_plan_group *group, int gates, int gpu,
                                const fsim_prediction *p, fsim_arena *a)
{
    fsim_judged out = {fsim_new(a, fsim_gate, gates + 1), 0};
    for (int i = 0; i < gates; i++) {
        if (group[i].gpu >= 0 && group[i].gpu != gpu)
            continue;
        const bool of_shown = group[i].strategy == FSIM_PLAN_COUNT;
        const fsim_strategy s = of_shown ? p->chosen : (fsim_strategy)group[i].strategy;
        fsim_gate *g = &out.at[out.count++];
        *g = gate[i];
        const bool planned = fsim_planned(p, s);
        fsim_gate_judge(
            g, planned ? value_of(g->metric, p, s) : (double)NAN,
            g->metric == PROVEN && planned
                ? fsim_printf(a, ", the gap is %s", fsim_percent_text(a, value_of(GAP, p, s)))
            : g->metric == FITS && planned ? fsim_printf(a, ", %s", fsim_memory_text(p, s, a))
                                           : "",
            planned ? "there is no figure" : fsim_printf(a, "no plan of %s was made", fsim_strategy_names[s]), a);
        if (planned)
            say_unsure(g, p, s, a);
    }
    return out;
}

void fsim_junit_plans(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count)
{
    fsim_arena *a = fsim_arena_new();
    int cases = count, failures = 0;
    for (int i = 0; i < count; i++) {
        cases += judged[i].count;
        failures += fsim_gates_failed(judged[i].at, judged[i].count) + fsim_over_limit(&p[i]);
    }
    fsim_junit_begin(out, cases, failures, 0);
    for (int i = 0; i < count; i++)
        fsim_junit_gates(out, count > 1 ? fsim_printf(a, "%s: ", p[i].hw->name) : "", judged[i].at, judged[i].count);
    for (int i = 0; i < count; i++) {
        const fsim_plan *plan = &p[i].plan[p[i].chosen];
        const char *figures = fsim_printf(a, "%s takes %s in %d kernels, %s as fast as eager, %s of memory at its peak",
                                          fsim_strategy_names[p[i].chosen], fsim_seconds_text(a, plan->time_s),
                                          plan->kernels, fsim_times_text(a, fsim_speedup(&p[i], p[i].chosen)),
                                          fsim_bytes_text(a, (double)plan->peak_memory_bytes));
        fsim_junit_case(out, "fusesim.plan", fsim_printf(a, "%s/%s", p[i].graph->name, p[i].hw->name),
                        fsim_over_limit(&p[i]) ? "memory" : NULL, figures);
    }
    fsim_junit_end(out);
    fsim_arena_free(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"
#include "plan/compile_cost.h"
#include "plan/price/interval.h"
#include "plan/price/memory.h"
#include "plan/price/timeline.h"
#include "report/coverage.h"
#include "report/describe.h"
#include "report/json_stream.h"
#include "report/json_training.h"
#include "report/json_writer.h"
#include "report/layer.h"
#include "report/named.h"
#include "report/next.h"
#include "report/repeats.h"
#include "report/report.h"
#include "report/versus.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_workload(fsim_writer *w, cJSON *to, const fsim_graph *g)
{
    cJSON *o = fsim_put_new(w, to, "workload", cJSON_CreateObject());
    fsim_put_text(w, o, "name", g->name);
    fsim_put_text(w, o, "path", g->path);
    cJSON *symbols = fsim_put_new(w, o, "symbols", cJSON_CreateObject());
    for (int i = 0; i < g->symbols; i++)
        if (g->symbol[i].dtype == FSIM_DTYPE_NONE)
            fsim_put_count(w, symbols, g->symbol[i].name, g->symbol[i].value);
        else
            fsim_put_text(w, symbols, g->symbol[i].name, fsim_dtype_names[g->symbol[i].dtype]);
    fsim_put_count(w, o, "operators", g->sources);
    fsim_put_count(w, o, "primitives", g->nodes);
    fsim_put_count(w, o, "parameters", g->parameters);
    fsim_put_rounded(w, o, "contraction_flops", g->contraction_flops);
    const fsim_coverage coverage = fsim_coverage_of(g, w->a);
    fsim_put_number(w, o, "coverage", coverage.known);
    cJSON *unknown = coverage.unknown ? fsim_put_new(w, o, "unknown", cJSON_CreateObject()) : NULL;
    for (int i = 0; i < coverage.names; i++)
        fsim_put_count(w, unknown, coverage.of[i].name, coverage.of[i].count);
}

/* The figures that prices may read: the rates to plan with, and the peaks where these are others. */
static void put_figures(fsim_writer *w, cJSON *to, const fsim_hw *hw)
{
    cJSON *keys = fsim_put_new(w, to, "keys", cJSON_CreateObject()),
          *peaks = fsim_put_new(w, to, "peaks", cJSON_CreateObject());
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_hw_key key = (fsim_hw_key)i;
        if (!fsim_hw_has(hw, key))
            continue;
        fsim_put_number(w, keys, fsim_hw_rows[i].key, fsim_hw_get(hw, key));
        if (fsim_hw_peak(hw, key) != fsim_hw_get(hw, key))
            fsim_put_number(w, peaks, fsim_hw_rows[i].key, fsim_hw_peak(hw, key));
    }
}

static void put_hardware(fsim_writer *w, cJSON *to, const fsim_hw *hw)
{
    cJSON *o = fsim_put_new(w, to, "hardware", cJSON_CreateObject());
    fsim_put_text(w, o, "name", hw->name);
    fsim_put_text(w, o, "path", hw->path);
    fsim_put_text(w, o, "hash", hw->hash);
    fsim_put_text(w, o, "architecture", hw->architecture);
    put_figures(w, o, hw);
    if (fsim_hw_has(hw, FSIM_HW_RENT))
        fsim_put_number(w, o, "rent_usd_per_h", fsim_hw_peak(hw, FSIM_HW_RENT));
}

static void put_interval(fsim_writer *w, cJSON *o, const char *what, fsim_interval x)
{
    fsim_put_number(w, o, fsim_printf(w->a, "%s_low%s", what, strcmp(what, "time") == 0 ? "_s" : ""), x.low);
    fsim_put_number(w, o, fsim_printf(w->a, "%s_high%s", what, strcmp(what, "time") == 0 ? "_s" : ""), x.high);
}

/* What the plan shown needs of the GPU's memory. */
static void put_memory(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_memory_use use = fsim_memory_of(p->graph, plan, w->a);
    cJSON *o = fsim_put_new(w, to, "memory", cJSON_CreateObject());
    fsim_put_count(w, o, "weight_bytes", use.weight_bytes);
    fsim_put_count(w, o, "activation_bytes", use.activation_bytes);
    fsim_put_count(w, o, "workspace_bytes", use.workspace_bytes);
    fsim_put_number(w, o, "capacity_bytes", fsim_hw_get(p->hw, FSIM_HW_DRAM_CAPACITY));
    if (use.kernel >= 0)
        fsim_put_count(w, o, "kernel", use.kernel + 1);
    if (use.tensor >= 0)
        fsim_put_text(w, o, "tensor", p->graph->tensor[use.tensor].name);
}

/* s: whose plan it is. */
static void put_summary(fsim_writer *w, cJSON *o, const fsim_prediction *p, fsim_strategy s, const fsim_plan *plan)
{
    const fsim_plan_by by = {plan, fsim_maker_in(p, s)};
    const fsim_contest eager = fsim_contest_of(p, by, fsim_plan_of(p, FSIM_STRATEGY_EAGER), w->a);
    fsim_put_number(w, o, "time_s", plan->time_s);
    put_interval(w, o, "time", fsim_likely_time(p, by, w->a));
    fsim_put_number(w, o, "makespan_s", fsim_timeline_of(plan->graph, plan, w->a).makespan_s);
    fsim_put_count(w, o, "dram_read_bytes", plan->dram_read_bytes);
    fsim_put_count(w, o, "dram_write_bytes", plan->dram_write_bytes);
    fsim_put_rounded(w, o, "l2_bytes", plan->l2_bytes);
    fsim_put_rounded(w, o, "flops", plan->flops);
    fsim_put_count(w, o, "peak_memory_bytes", plan->peak_memory_bytes);
    fsim_put_count(w, o, "intermediate_bytes_eliminated", plan->eliminated_bytes);
    fsim_put_number(w, o, "speedup", p->plan[FSIM_STRATEGY_EAGER].time_s / plan->time_s);
    put_interval(w, o, "speedup", eager.likely);
    fsim_put_text(w, o, "against_eager", fsim_versus_names[eager.verdict]);
    fsim_put_phases(w, o, plan->graph, plan);
    if (s == FSIM_STRATEGY_EAGER)
        fsim_put_autograd_peak(w, o, plan->graph);
}

/* The loss against the optimum: of times with its interval; bytes are exact. */
static void put_against_optimal(fsim_writer *w, cJSON *o, const fsim_prediction *p, fsim_strategy s)
{
    const double over = fsim_over_optimum(p, s);
    const fsim_contest c = fsim_against_optimal(p, s, w->a);
    const fsim_interval times = {1 / c.likely.high - 1, 1 / c.likely.low - 1}, exact = {over, over};
    put_interval(w, o, "over_optimum", fsim_objective_in_bytes(&p->options) ? exact : times);
    fsim_put_text(w, o, "against_optimal", fsim_versus_names[c.verdict]);
}

static void put_strategies(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *list = fsim_put_new(w, to, "strategies", cJSON_CreateArray());
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        const fsim_plan *plan = &p->plan[s];
        if (!fsim_planned(p, s))
            continue;
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "name", fsim_strategy_names[s]);
        fsim_put_count(w, o, "kernels", plan->kernels);
        put_summary(w, o, p, (fsim_strategy)s, plan);
        fsim_put_bool(w, o, "fits", fsim_plan_fits(p, (fsim_strategy)s));
        fsim_put_number(w, o, "over_optimum", fsim_over_optimum(p, s));
        put_against_optimal(w, o, p, (fsim_strategy)s);
    }
}

typedef enum { ALL, CLONES, FOLDED } which;

static void put_members(fsim_writer *w, cJSON *to, const char *key, const fsim_graph *g, const fsim_group *group,
                        which some)
{
    cJSON *list = fsim_put_new(w, to, key, cJSON_CreateArray());
    for (int m = 0; m < group->members; m++)
        if (some == ALL || (some == CLONES ? group->member[m].clone : group->member[m].form == FSIM_FOLDED))
            fsim_put_text(w, list, NULL, g->node[group->member[m].node].name);
}

static void put_sources(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_group *group)
{
    cJSON *list = fsim_put_new(w, to, "source_operators", cJSON_CreateArray());
    const fsim_mark mark = fsim_save(w->a);
    fsim_names seen = {0};
    for (int m = 0; m < group->members; m++) {
        const char *name = g->source[g->node[group->member[m].node].source].name;
        if (fsim_names_set(w->a, &seen, name, m) < 0)
            fsim_put_text(w, list, NULL, name);
    }
    fsim_rewind(w->a, mark);
}

static void put_units(fsim_writer *w, cJSON *to, const char *key, const double seconds[FSIM_UNIT_COUNT])
{
    cJSON *o = fsim_put_new(w, to, key, cJSON_CreateObject());
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        fsim_put_number(w, o, fsim_printf(w->a, "%s_s", fsim_unit_names[u]), seconds[u]);
}

static void put_tensors(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_kernel *k)
{
    cJSON *inputs = fsim_put_new(w, to, "inputs", cJSON_CreateArray());
    for (int i = 0; i < k->inputs; i++) {
        cJSON *o = fsim_put_new(w, inputs, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "tensor", g->tensor[k->input[i].tensor].name);
        fsim_put_count(w, o, "bytes", k->input[i].bytes);
        fsim_put_count(w, o, "read_bytes", k->input[i].read_bytes);
    }
    cJSON *outputs = fsim_put_new(w, to, "outputs", cJSON_CreateArray());
    for (int i = 0; i < k->outputs; i++) {
        cJSON *o = fsim_put_new(w, outputs, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "tensor", g->tensor[k->output[i].tensor].name);
        fsim_put_count(w, o, "bytes", k->output[i].bytes);
        fsim_put_count(w, o, "write_bytes", k->output[i].write_bytes);
    }
}

/* Names of those keys of `read` whose figures are from `from`. */
static void put_keys(fsim_writer *w, cJSON *to, const char *name, const fsim_hw *hw, const fsim_hw_keys *read,
                     fsim_origin from)
{
    cJSON *list = fsim_put_new(w, to, name, cJSON_CreateArray());
    fsim_origin actual;
    for (int i = 0; i < FSIM_HW_COUNT; i++)
        if (fsim_hw_was_read(hw, read, (fsim_hw_key)i, &actual) && actual == from)
            fsim_put_text(w, list, NULL, fsim_hw_rows[i].key);
}

/* The keys that the plan's times rest on, by where their figures are from. */
static void put_basis(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *o = fsim_put_new(w, to, "rests_on", cJSON_CreateObject());
    for (int from = 0; from < FSIM_ORIGINS; from++)
        put_keys(w, o, fsim_origin_names[from], p->hw, &p->basis.all, (fsim_origin)from);
}

/* The dtypes that primitives compute in, and the one without a fast unit. */
static void put_arithmetic(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_arithmetic *x)
{
    cJSON *o = fsim_put_new(w, to, "arithmetic", cJSON_CreateObject());
    cJSON *count = fsim_put_new(w, o, "primitives", cJSON_CreateObject());
    for (int t = 0; t <= FSIM_TF32; t++)
        if (x->primitives[t] > 0)
            fsim_put_count(w, count, fsim_dtype_names[t], x->primitives[t]);
    if (x->tf32_on_fp32 > 0)
        fsim_put_count(w, o, "tf32_on_fp32", x->tf32_on_fp32);
    if (x->unaligned > 0) {
        cJSON *unaligned = fsim_put_new(w, o, "unaligned", cJSON_CreateObject());
        fsim_put_count(w, unaligned, "products", x->unaligned);
        fsim_put_text(w, unaligned, "largest", g->tensor[g->node[x->unaligned_node].result[0]].name);
        fsim_put_count(w, unaligned, "row", x->unaligned_row);
    }
    if (x->slow == FSIM_DTYPE_NONE)
        return;
    cJSON *slow = fsim_put_new(w, o, "slow", cJSON_CreateObject());
    fsim_put_text(w, slow, "dtype", fsim_dtype_names[x->slow]);
    fsim_put_number(w, slow, "flops_per_s", x->slow_flops);
    fsim_put_number(w, slow, "eager_s", x->eager_s);
    fsim_put_text(w, slow, "instead", fsim_dtype_names[x->faster]);
    fsim_put_number(w, slow, "instead_flops_per_s", x->faster_flops);
    fsim_put_number(w, slow, "instead_eager_s", x->instead_eager_s);
}

static void put_kernel(fsim_writer *w, cJSON *list, const fsim_prediction *p, int index, const fsim_span *when)
{
    const fsim_graph *g = p->graph;
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_kernel *k = &plan->kernel[index];
    const fsim_maker maker = fsim_maker_in(p, p->chosen);
    cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
    fsim_put_count(w, o, "id", index + 1);
    fsim_put_text(w, o, "name", fsim_kernel_name(g, k, w->a));
    const char *layer = fsim_kernel_layer(g, k, w->a);
    if (layer)
        fsim_put_text(w, o, "layer", layer);
    fsim_put_phase(w, o, p, index);
    fsim_put_text(w, o, "template", fsim_template_names[k->template]);
    fsim_put_count(w, o, "launches", k->launches);
    if (plan->rule && plan->rule[index])
        fsim_put_text(w, o, "rule", plan->rule[index]);
    put_members(w, o, "operators", g, k->group, ALL);
    put_sources(w, o, g, k->group);
    put_members(w, o, "recomputed", g, k->group, CLONES);
    if (k->group->folded > 0)
        put_members(w, o, "folded", g, k->group, FOLDED);
    fsim_put_count(w, o, "grid", k->grid);
    fsim_put_count(w, o, "block", k->block);
    fsim_put_count(w, o, "registers_per_thread", k->registers);
    fsim_put_count(w, o, "shared_bytes_per_block", k->shared_bytes);
    fsim_put_count(w, o, "spilled_bytes", k->spilled_bytes);
    if (k->partial_bytes > 0)
        fsim_put_count(w, o, "partial_bytes", k->partial_bytes);
    fsim_put_number(w, o, "occupancy", k->occupancy);
    fsim_put_number(w, o, "waves", k->waves);
    cJSON *tile = fsim_put_new(w, o, "tile", cJSON_CreateArray());
    if (k->tile_m > 0) {
        fsim_put_count(w, tile, NULL, k->tile_m);
        fsim_put_count(w, tile, NULL, k->tile_n);
    }
    fsim_put_count(w, o, "split_k", k->split_k);
    fsim_put_count(w, o, "passes", k->passes);
    fsim_put_number(w, o, "coalescing", k->coalescing);
    fsim_put_text(w, o, "bound", fsim_unit_names[k->bound]);
    fsim_put_count(w, o, "dram_read_bytes", k->dram_read_bytes);
    fsim_put_count(w, o, "dram_write_bytes", k->dram_write_bytes);
    fsim_put_rounded(w, o, "l2_bytes", k->l2_bytes);
    fsim_put_rounded(w, o, "flops", k->flops);
    fsim_put_number(w, o, "time_s", k->time_s);
    put_interval(w, o, "time", fsim_kernel_interval(g, p->hw, maker, k));
    const fsim_hw_keys *read = &p->basis.kernel[index];
    fsim_put_text(w, o, "origin", fsim_origin_names[fsim_kernel_origin(p->graph, p->hw, maker, k, read)]);
    put_keys(w, o, "assumed", p->hw, read, FSIM_FROM_ASSUMED);
    fsim_put_number(w, o, "start_s", when->start_s);
    fsim_put_number(w, o, "end_s", when->end_s);
    fsim_put_text(w, o, "stream", fsim_lane_names[when->lane]);
    put_units(w, o, "time", k->time);
    put_units(w, o, "unit_time", k->unit);
    put_tensors(w, o, g, k);
}

/* Ids of kernels, as the plan's own have them. */
static void put_ids(fsim_writer *w, cJSON *to, const char *key, const int *kernel, int count)
{
    cJSON *list = fsim_put_new(w, to, key, cJSON_CreateArray());
    for (int i = 0; i < count; i++)
        fsim_put_count(w, list, NULL, kernel[i] + 1);
}

/* Equal stretches of the plan's kernels, as of equal layers. */
static void put_repeats(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_repeats found = fsim_repeats_of(p, p->chosen, w->a);
    cJSON *list = fsim_put_new(w, to, "repeats", cJSON_CreateArray());
    for (int i = 0; i < found.count; i++) {
        const fsim_repeat *r = &found.at[i];
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_count(w, o, "first", r->first + 1);
        fsim_put_count(w, o, "kernels", r->kernels);
        fsim_put_count(w, o, "times", r->times);
        fsim_put_number(w, o, "time_s", fsim_turn_s(&p->plan[p->chosen], r));
    }
}

/* Some kernels of a plan. */
typedef struct {
    const fsim_plan *plan;
    const int *index; /* NULL: the first `count` */
    int count;
} plan_kernels;

static void put_groups_of(fsim_writer *w, cJSON *to, const char *key, const fsim_graph *g, const plan_kernels *of)
{
    cJSON *list = fsim_put_new(w, to, key, cJSON_CreateArray());
    for (int i = 0; i < of->count; i++)
        put_members(w, list, NULL, g, of->plan->kernel[of->index ? of->index[i] : i].group, ALL);
}

/* Where the plan shown differs from the optimum. */
static void put_losses(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *list = fsim_put_new(w, to, "losses", cJSON_CreateArray());
    for (int i = 0; i < p->losses; i++) {
        const fsim_difference *d = &p->loss[i];
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        put_ids(w, o, "kernels", d->mine, d->mines);
        put_groups_of(w, o, "optimal", p->graph, &(plan_kernels){&p->plan[FSIM_STRATEGY_OPTIMAL], d->other, d->others});
        fsim_put_number(w, o, "time_s", d->time_s);
        fsim_put_count(w, o, "dram_bytes", d->dram_bytes);
    }
}

/* --top: the best plans, each against the first. */
static void put_alternatives(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *list = p->options.top > 0 ? fsim_put_new(w, to, "alternatives", cJSON_CreateArray()) : NULL;
    for (int i = 0; i < p->tops; i++) {
        const fsim_plan *plan = &p->top[i], *best = &p->top[0];
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_count(w, o, "rank", i + 1);
        put_summary(w, o, p, FSIM_STRATEGY_OPTIMAL, plan);
        fsim_put_number(w, o, "over_best_s", plan->time_s - best->time_s);
        fsim_put_count(w, o, "over_best_bytes",
                       plan->dram_read_bytes + plan->dram_write_bytes - best->dram_read_bytes - best->dram_write_bytes);
        put_groups_of(w, o, "kernels", plan->graph, &(plan_kernels){plan, NULL, plan->kernels});
    }
}

/* --objective pareto: no plan found is better in both. */
static void put_front(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *list = p->options.pareto ? fsim_put_new(w, to, "pareto", cJSON_CreateArray()) : NULL;
    for (int i = 0; i < p->fronts; i++) {
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_number(w, o, "time_s", p->front[i].time_s);
        fsim_put_count(w, o, "peak_memory_bytes", p->front[i].peak_memory_bytes);
        put_groups_of(w, o, "kernels", p->front[i].graph, &(plan_kernels){&p->front[i], NULL, p->front[i].kernels});
    }
}

/* What the plan and eager take where Python launches their kernels, and what the GPU alone takes. */
static void put_host(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_waits waits = fsim_waits_for_host(p);
    const fsim_launched *host = &p->launched[FSIM_REGIME_EAGER], *gpu = &p->launched[FSIM_REGIME_STREAM];
    cJSON *o = fsim_put_new(w, to, "host", cJSON_CreateObject());
    fsim_put_bool(w, o, "eager_bound", waits.eager);
    fsim_put_bool(w, o, "bound", waits.chosen);
    fsim_put_number(w, o, "eager_time_s", host->eager_s);
    fsim_put_number(w, o, "time_s", host->chosen_s);
    fsim_put_number(w, o, "eager_gpu_time_s", gpu->eager_s);
    fsim_put_number(w, o, "gpu_time_s", gpu->chosen_s);
}

static void put_next(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    fsim_step step[FSIM_MOST_STEPS];
    const int count = fsim_next_steps(p, w->a, step);
    cJSON *list = fsim_put_new(w, to, "next", cJSON_CreateArray());
    for (int i = 0; i < count; i++) {
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "what", step[i].what);
        fsim_put_number(w, o, "saves_s", step[i].saves_s);
        fsim_put_bool(w, o, "at_most", step[i].at_most);
        fsim_put_text(w, o, "command", step[i].command);
    }
}

static void put_open(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *all = fsim_put_new(w, to, "open", cJSON_CreateArray());
    const int count = p->chosen == FSIM_STRATEGY_OPTIMAL && !fsim_verdict_of(p).proven ? p->proof.opens : 0;
    for (int i = 0; i < count; i++) {
        cJSON *o = fsim_put_new(w, all, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "first", p->graph->node[p->proof.open[i].first].name);
        fsim_put_text(w, o, "last", p->graph->node[p->proof.open[i].last].name);
        fsim_put_number(w, o, "gap", p->proof.open[i].gap);
    }
}

static void put_plan(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_timeline when = fsim_timeline_of(p->graph, plan, w->a);
    const fsim_verdict v = fsim_verdict_of(p);
    cJSON *o = fsim_put_new(w, to, "plan", cJSON_CreateObject());
    fsim_put_text(w, o, "strategy", fsim_strategy_names[p->chosen]);
    fsim_put_text(w, o, "maker", fsim_maker_words[fsim_maker_in(p, p->chosen)]);
    fsim_put_bool(w, o, "proven", v.proven);
    if (fsim_objective_in_bytes(&p->options))
        fsim_put_rounded(w, o, "lower_bound_bytes", v.lower_bound);
    else
        fsim_put_number(w, o, "lower_bound_s", v.lower_bound);
    fsim_put_number(w, o, "gap", v.gap);
    put_open(w, o, p);
    fsim_put_count(w, o, "groups_considered", p->proof.groups_considered);
    fsim_put_count(w, o, "states", p->proof.states);
    fsim_put_number(w, o, "search_s", p->proof.search_s);
    fsim_put_count(w, o, "search_steps", p->proof.steps);
    fsim_put_bool(w, o, "stopped_by_steps", p->proof.end == FSIM_SEARCH_STOPPED_BY_STEPS);
    fsim_put_bool(w, o, "stopped_by_clock", p->proof.end == FSIM_SEARCH_STOPPED_BY_CLOCK);
    fsim_put_bool(w, o, "stopped_by_memory", p->proof.end == FSIM_SEARCH_STOPPED_BY_MEMORY);
    fsim_put_bool(w, o, "interrupted", p->interrupted);
    fsim_put_number(w, o, "makespan_s", when.makespan_s);
    put_host(w, o, p);
    put_next(w, o, p);
    put_basis(w, o, p);
    put_arithmetic(w, o, p->graph, &p->arithmetic);
    put_memory(w, o, p);
    fsim_put_saved(w, o, p);
    put_repeats(w, o, p);
    int names;
    const fsim_counted *named = fsim_named_fusions(p, w->a, &names);
    cJSON *fusions = fsim_put_new(w, o, "named_fusions", cJSON_CreateObject());
    for (int i = 0; i < names; i++)
        fsim_put_count(w, fusions, named[i].name, named[i].count);
    cJSON *kernels = fsim_put_new(w, o, "kernels", cJSON_CreateArray());
    for (int i = 0; i < plan->kernels; i++)
        put_kernel(w, kernels, p, i, &when.span[i]);
    put_losses(w, o, p);
}

/* Of a legal fusion: the unit that would take longer, and why. */
static void put_cause(fsim_writer *w, cJSON *o, const fsim_graph *g, const fsim_cause *c)
{
    const bool grown = c->growth != FSIM_GROWN_NOTHING;
    fsim_put_text(w, o, "cause", grown ? fsim_cause_text(g, c, w->a) : NULL);
    fsim_put_text(w, o, "grown_unit", grown ? fsim_unit_names[c->unit] : NULL);
    fsim_put_number(w, o, "grown_s", c->after_s - c->before_s);
}

static void put_refusals(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    cJSON *list = fsim_put_new(w, to, "refusals", cJSON_CreateArray());
    for (int i = 0; i < p->refusals; i++) {
        const fsim_priced_refusal *r = &p->refusal[i];
        const fsim_refusal *why = &r->why;
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "a", p->graph->node[r->a].name);
        fsim_put_text(w, o, "b", r->b >= 0 ? p->graph->node[r->b].name : NULL);
        fsim_put_text(w, o, "first", r->first >= 0 ? p->graph->node[r->first].name : NULL);
        fsim_put_text(w, o, "second", r->second >= 0 ? p->graph->node[r->second].name : NULL);
        fsim_put_text(w, o, "rule", fsim_rule_names[why->rule]);
        fsim_put_text(w, o, "message", fsim_refusal_text(p->graph, why, w->a));
        fsim_put_number(w, o, "needed", why->needed);
        fsim_put_number(w, o, "limit", why->limit);
        fsim_put_text(w, o, "unit", fsim_refusal_units[why->unit]);
        fsim_put_number(w, o, "saving_s", p->refusal[i].saving_s);
        fsim_put_count(w, o, "saving_bytes", p->refusal[i].saving_bytes);
        if (why->rule == FSIM_RULE_COST)
            put_cause(w, o, p->graph, &p->refusal[i].cause);
    }
}

/* --compile-cost; null runs: it never breaks even. */
static void put_compile(fsim_writer *w, cJSON *to, const fsim_prediction *p)
{
    fsim_compile c[FSIM_PLAN_COUNT];
    fsim_stage stage[FSIM_PLAN_COUNT];
    if (p->options.compile_jobs == 0)
        return;
    fsim_compile_of(p->plan, p->options.compile_jobs, w->a, c);
    cJSON *o = fsim_put_new(w, to, "compile", cJSON_CreateObject());
    fsim_put_count(w, o, "jobs", p->options.compile_jobs);
    cJSON *list = fsim_put_new(w, o, "strategies", cJSON_CreateArray());
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        if (!fsim_planned(p, (fsim_strategy)s))
            continue;
        cJSON *one = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, one, "name", fsim_strategy_names[s]);
        fsim_put_count(w, one, "kernels", p->plan[s].kernels);
        fsim_put_count(w, one, "kernels_to_compile", c[s].to_compile);
        fsim_put_number(w, one, "compile_s", c[s].compile_s);
        fsim_put_number(w, one, "time_s", p->plan[s].time_s);
        fsim_put_number(w, one, "break_even_runs", c[s].break_even_runs);
    }
    list = fsim_put_new(w, o, "best", cJSON_CreateArray());
    for (int i = 0; i < FSIM_SOME_RUNS; i++) {
        const fsim_strategy best = fsim_best_for(p->plan, c, fsim_some_runs[i]);
        cJSON *one = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_rounded(w, one, "runs", fsim_some_runs[i]);
        fsim_put_text(w, one, "strategy", fsim_strategy_names[best]);
        fsim_put_number(w, one, "total_s", fsim_total_s(&p->plan[best], &c[best], fsim_some_runs[i]));
    }
    const int stages = fsim_stages_of(p->plan, c, stage);
    list = fsim_put_new(w, o, "crossovers", cJSON_CreateArray());
    for (int i = 0; i < stages; i++) {
        cJSON *one = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, one, "strategy", fsim_strategy_names[stage[i].strategy]);
        fsim_put_rounded(w, one, "from_runs", stage[i].from_runs);
    }
}

static void put_prediction(fsim_writer *w, cJSON *o, const fsim_prediction *p)
{
    put_workload(w, o, p->graph);
    put_hardware(w, o, p->hw);
    fsim_put_text(w, o, "objective", fsim_objective_name(&p->options));
    if (p->options.memory_limit > 0)
        fsim_put_count(w, o, "memory_limit_bytes", p->options.memory_limit);
    if (p->least_memory_bytes > 0)
        fsim_put_count(w, o, "least_memory_bytes", p->least_memory_bytes);
    fsim_put_text(w, o, "launch", fsim_regime_names[p->options.regime]);
    fsim_put_text(w, o, "l2", p->options.warm ? "warm" : "cold");
    fsim_put_text(w, o, "numerics", fsim_numerics_words[p->options.strict]);
    fsim_put_text(w, o, "recompute", fsim_recompute_words[p->options.no_recompute]);
    fsim_put_training(w, o, p);
    put_strategies(w, o, p);
    put_plan(w, o, p);
    put_compile(w, o, p);
    put_alternatives(w, o, p);
    put_front(w, o, p);
    put_refusals(w, o, p);
    if (p->refusals_left > 0)
        fsim_put_count(w, o, "refusals_left", p->refusals_left);
}

static void delete_document(void *root) { cJSON_Delete(root); }

static void put_gates(fsim_writer *w, cJSON *to, const fsim_judged *judged)
{
    cJSON *list = judged->count > 0 ? fsim_put_new(w, to, "gates", cJSON_CreateArray()) : NULL;
    for (int i = 0; i < judged->count; i++) {
        const fsim_gate *g = &judged->at[i];
        cJSON *o = fsim_put_new(w, list, NULL, cJSON_CreateObject());
        fsim_put_text(w, o, "gate", g->text);
        fsim_put_text(w, o, "group", *g->group ? g->group : NULL);
        fsim_put_text(w, o, "metric", fsim_gate_metric_of(g)->name);
        fsim_put_number(w, o, "value", g->value);
        fsim_put_number(w, o, "limit", g->limit);
        fsim_put_bool(w, o, "passed", g->passed);
        fsim_put_text(w, o, "message", g->says);
    }
}

bool fsim_report_json(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count)
{
    fsim_writer w = {fsim_arena_new(), false};
    cJSON *root = cJSON_CreateObject();
    fsim_resource document;
    fsim_guard(&document, delete_document, root);
    fsim_put_count(&w, root, "schema", FSIM_PLAN_SCHEMA);
    fsim_put_text(&w, root, "fusesim", FUSESIM_VERSION);
    cJSON *plans = fsim_put_new(&w, root, "plans", cJSON_CreateArray());
    for (int i = 0; i < count; i++) {
        cJSON *plan = fsim_put_new(&w, plans, NULL, cJSON_CreateObject());
        put_prediction(&w, plan, &p[i]);
        if (judged)
            put_gates(&w, plan, &judged[i]);
    }
    char *text = root && !w.failed ? cJSON_Print(root) : NULL;
    if (text)
        fprintf(out, "%s\n", text);
    const bool ok = text && !ferror(out);
    cJSON_free(text);
    fsim_release(&document);
    fsim_arena_free(w.a);
    return ok;
}

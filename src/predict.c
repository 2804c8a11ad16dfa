/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "plan/price/price.h"
#include "plan/price/relaunch.h"
#include "plan/price/user_rules.h"
#include "plan/rivals/rivals.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_l2_words[2] = {"cold", "warm"};
const char *const fsim_numerics_words[2] = {"fast", "strict"};
const char *const fsim_recompute_words[2] = {"on", "off"};

fsim_problem fsim_problem_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    return fsim_problem_with(g, hw, options, fsim_store_new(a));
}

fsim_problem fsim_problem_with(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options,
                               struct fsim_store *store)
{
    return (fsim_problem){.graph = g,
                          .hw = hw,
                          .limits = {g, (int64_t)fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK), options->strict},
                          .regime = options->regime,
                          .objective = options->objective,
                          .warm = options->warm,
                          .recompute = !options->no_recompute,
                          .memory_limit = options->memory_limit,
                          .search_memory = options->search_memory,
                          .time_limit_s = options->time_limit_s,
                          .store = store,
                          .interrupted = options->interrupted};
}

static void optimum(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out,
                    fsim_proof *proof)
{
    if (p->objective == FSIM_MINIMISE_MEMORY || p->memory_limit > 0)
        fsim_best_in_memory(p, known, count, a, out, proof);
    else
        fsim_optimal(p, known, count, a, out, proof);
}

/* The lowest peak memory of any plan found, where the optimum exceeds the limit. */
static fsim_sum least_memory(fsim_problem *p, const fsim_plan *best, fsim_arena *a)
{
    if (p->memory_limit == 0 || (best->kernels > 0 && best->peak_memory_bytes <= p->memory_limit))
        return 0;
    fsim_problem least = *p;
    fsim_plan plan;
    fsim_proof proof;
    least.objective = FSIM_MINIMISE_MEMORY;
    least.memory_limit = 0;
    optimum(&least, NULL, 0, a, &plan, &proof);
    return best->kernels > 0 && best->peak_memory_bytes < plan.peak_memory_bytes ? best->peak_memory_bytes
                                                                                 : plan.peak_memory_bytes;
}

/* Lists of plans: a search that ended early may lack one that a strategy found. */

static int with(fsim_plan *list, int count, const fsim_plan *known, int knowns)
{
    for (int i = 0; i < knowns; i++)
        if (known[i].kernels > 0)
            list[count++] = known[i];
    return count;
}

static int compare_by(const fsim_plan *x, const fsim_plan *y, int64_t limit, bool memory)
{
    const bool fits_x = limit == 0 || x->peak_memory_bytes <= limit,
               fits_y = limit == 0 || y->peak_memory_bytes <= limit;
    if (fits_x != fits_y)
        return fits_x ? -1 : 1;
    if ((memory || !fits_x) && x->peak_memory_bytes != y->peak_memory_bytes)
        return x->peak_memory_bytes < y->peak_memory_bytes ? -1 : 1;
    if (!memory && x->objective != y->objective)
        return x->objective < y->objective ? -1 : 1;
    return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

static bool same_plan(const fsim_graph *g, const fsim_plan *x, const fsim_plan *y, fsim_arena *a)
{
    const fsim_mark scratch = fsim_save(a);
    fsim_difference *d;
    const bool same = x->kernels == y->kernels && fsim_compare(g, x, y, a, &d) == 0;
    fsim_rewind(a, scratch);
    return same;
}

/* Sorts the plans, removes duplicates, and keeps the best `most`. Returns how many remain. */
static int best_of(fsim_problem *p, fsim_plan *list, int count, int most)
{
    fsim_arena *a = fsim_arena_new();
    int kept = 0;
    for (int i = 0; i < count; i++) { /* an insertion in place: the sorted part never overtakes the reading position */
        const fsim_plan plan = list[i];
        int at = kept;
        bool known = false;
        for (int k = 0; k < kept && !known; k++)
            known = same_plan(p->graph, &list[k], &plan, a);
        if (known)
            continue;
        for (; at > 0 && compare_by(&plan, &list[at - 1], p->memory_limit, p->objective == FSIM_MINIMISE_MEMORY) < 0;
             at--)
            list[at] = list[at - 1];
        list[at] = plan;
        kept++;
    }
    fsim_arena_free(a);
    return kept < most ? kept : most;
}

/* A plan of the lists may be better than the result of a search that its budget ended. */
static void adopt(fsim_problem *p, const fsim_plan *list, int count, fsim_plan *best)
{
    for (int i = 0; i < count; i++)
        if (compare_by(&list[i], best, p->memory_limit, p->objective == FSIM_MINIMISE_MEMORY) < 0)
            *best = list[i];
    best->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
}

static int by_time_then_memory(const void *x, const void *y)
{
    const fsim_plan *a = x, *b = y;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return (a->peak_memory_bytes > b->peak_memory_bytes) - (a->peak_memory_bytes < b->peak_memory_bytes);
}

/* Keeps the plans that no other beats in both time and memory, fastest first. Returns how many remain. */
static int front_of(fsim_plan *list, int count)
{
    int kept = 0;
    if (count > 0)
        qsort(list, (size_t)count, sizeof *list, by_time_then_memory);
    for (int i = 0; i < count; i++)
        if (kept == 0 || list[i].peak_memory_bytes < list[kept - 1].peak_memory_bytes)
            list[kept++] = list[i];
    return kept;
}

/* With what eager takes in the dtype for which the GPU has a faster unit. */
static fsim_arithmetic find_arithmetic(const fsim_prediction *p, fsim_arena *a)
{
    fsim_arithmetic out = fsim_arithmetic_of(p->graph, p->hw, a);
    fsim_plan instead;
    if (!out.instead)
        return out;
    fsim_problem other = fsim_problem_of(out.instead, p->hw, &p->options, a);
    fsim_baseline(&other, FSIM_STRATEGY_EAGER, a, &instead);
    out.instead_eager_s = fsim_plan_launched_by(&other, fsim_maker_of(FSIM_STRATEGY_EAGER), &instead, a).time_s;
    out.eager_s = p->plan[FSIM_STRATEGY_EAGER].time_s;
    out.instead_s = fsim_relaunched_s(&other, out.instead, p->options.regime, fsim_maker_in(p, p->chosen),
                                      &p->plan[p->chosen].partition);
    return out;
}

/* The eager plan and the chosen one, launched in every way. */
static void launch_otherwise(const fsim_problem *p, fsim_prediction *out)
{
    static const fsim_regime shown[] = {FSIM_REGIME_EAGER, FSIM_REGIME_STREAM, FSIM_REGIME_GRAPH};
    const fsim_plan *eager = &out->plan[FSIM_STRATEGY_EAGER], *chosen = &out->plan[out->chosen];
    out->launched[FSIM_REGIME_KERNEL] = (fsim_launched){NAN, NAN};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        out->launched[shown[i]] = (fsim_launched){
            fsim_relaunched_s(p, p->graph, shown[i], fsim_maker_of(FSIM_STRATEGY_EAGER), &eager->partition),
            fsim_relaunched_s(p, p->graph, shown[i], fsim_maker_in(out, out->chosen), &chosen->partition)};
    out->launched[p->regime] = (fsim_launched){eager->time_s, chosen->time_s};
}

fsim_prediction fsim_predict(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    enum { MOST_OF_FRONT = 64 };
    fsim_prediction out = {.graph = g, .hw = hw, .options = *options, .chosen = options->strategy};
    fsim_problem p = fsim_problem_of(g, hw, options, a);
    fsim_plan known[FSIM_PLAN_COUNT], *best = &out.plan[FSIM_STRATEGY_OPTIMAL];
    int count = 0;
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
        if (s != FSIM_STRATEGY_OPTIMAL && (!fsim_strategies[s].asked || s == (int)options->strategy)) {
            fsim_baseline(&p, (fsim_strategy)s, a, &known[count]);
            out.plan[s] = fsim_plan_launched_by(&p, fsim_maker_of((fsim_strategy)s), &known[count], a);
            count++;
        }
    fsim_refusal why;
    if (options->user_plan && fsim_price(&p, options->user_plan, a, &known[count], &why)) {
        out.chosen = FSIM_STRATEGY_FILE;
        out.plan[FSIM_STRATEGY_FILE] = fsim_plan_launched_by(&p, options->user_plan_maker, &known[count], a);
        count++;
    }
    count = g->fuses + g->separates ? 0 : count; /* the strategies ignore fuse: and separate: */
    optimum(&p, known, count, a, best, &out.proof);
    known[count++] = *best;
    if (options->top > 0) {
        out.top = fsim_new(a, fsim_plan, options->top + count + 1);
        out.tops =
            best_of(&p, out.top, with(out.top, fsim_top(&p, options->top, a, out.top), known, count), options->top);
    }
    if (options->pareto) {
        out.front = fsim_new(a, fsim_plan, MOST_OF_FRONT + count + 1);
        out.fronts = front_of(out.front, with(out.front, fsim_pareto(&p, MOST_OF_FRONT, a, out.front), known, count));
    }
    adopt(&p, out.top, out.tops, best);
    adopt(&p, out.front, out.fronts, best);
    out.least_memory_bytes = least_memory(&p, best, a);
    const fsim_refusals refused = fsim_refusals_of(&p, &out.plan[out.chosen], a);
    out.refusal = refused.at;
    out.refusals = refused.count;
    out.refusals_left = refused.left;
    out.basis = fsim_basis_of(&p, fsim_maker_in(&out, out.chosen), &out.plan[out.chosen], a);
    out.arithmetic = find_arithmetic(&out, a);
    out.append = fsim_append_of(g, hw, &out.plan[out.chosen]);
    launch_otherwise(&p, &out);
    out.losses = out.chosen == FSIM_STRATEGY_OPTIMAL ? 0 : fsim_compare(g, &out.plan[out.chosen], best, a, &out.loss);
    out.interrupted = options->interrupted && *options->interrupted;
    return out;
}

/* Explanation. */

bool fsim_plannable(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_diag *d, fsim_arena *a)
{
    const int errors = fsim_errors(d);
    fsim_problem p = fsim_problem_of(g, hw, options, a);
    int *node = fsim_new(a, int, g->nodes + 1);
    if (g->nodes == 0)
        fsim_error(d, (fsim_loc){.file = g->path}, "the workload computes nothing: its operators are views");
    int longest[FSIM_OP_COUNT]; /* 1 + the primitive with the longest rows, whose blocks are the largest */
    memset(longest, 0, sizeof longest);
    for (int n = 0; n < g->nodes; n++) {
        int *best = &longest[g->node[n].op];
        *best = *best == 0 || g->node[n].reduced > g->node[*best - 1].reduced ? n + 1 : *best;
    }
    for (int op = 0, n; op < FSIM_OP_COUNT; op++)
        if ((n = longest[op] - 1) >= 0 && !fsim_kernel_alone(&p, &n, 1, a)) {
            fsim_error(
                d, (fsim_loc){.file = hw->path},
                "a kernel for '%s' does not fit an SM: its blocks of 256 threads or more need other threads_per_block, "
                "threads_per_sm, registers_per_sm or shared_memory_per_sm",
                g->node[n].name);
            break;
        }
    for (int s = 0; s < g->fuses; s++) {
        const fsim_node_set *set = &g->fuse[s];
        const int count = fsim_hull(g, set, node, a);
        fsim_group group;
        fsim_refusal why;
        if (!fsim_user_allows(&p, node, count, &why) || !fsim_legal(&p.limits, node, count, a, &group, &why))
            fsim_error(d, set->at, "fuse: '%s' and '%s' can't share a kernel: %s", g->node[set->node[0]].name,
                       g->node[set->node[1]].name, fsim_refusal_text(g, &why, a));
    }
    return fsim_errors(d) == errors;
}

static fsim_plan best_with(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_node_set set,
                           bool fuse, fsim_arena *a)
{
    fsim_graph changed = *g;
    int *count = fuse ? &changed.fuses : &changed.separates;
    fsim_node_set **list = fuse ? &changed.fuse : &changed.separate, *longer = fsim_new(a, fsim_node_set, *count + 1);
    for (int i = 0; i < *count; i++)
        longer[i] = (*list)[i];
    longer[(*count)++] = set;
    *list = longer;
    fsim_graph *kept = fsim_new(a, fsim_graph, 1);
    *kept = changed;
    fsim_problem p = fsim_problem_of(kept, hw, options, a);
    fsim_plan plan;
    fsim_proof proof;
    optimum(&p, NULL, 0, a, &plan, &proof);
    return plan;
}

static const fsim_kernel **kernels_of(const fsim_plan *plan, const int *which, int count, fsim_arena *a)
{
    const fsim_kernel **out = fsim_new(a, const fsim_kernel *, count + 1);
    for (int i = 0; i < count; i++)
        out[i] = &plan->kernel[which[i]];
    return out;
}

/* What becomes slower from plan `best` to `other` where primitive n is computed. */
static fsim_cause cause_at(const fsim_graph *g, const fsim_plan *best, const fsim_plan *other, int n, fsim_arena *a)
{
    fsim_difference *place;
    const int places = fsim_compare(g, other, best, a, &place);
    for (int i = 0; i < places; i++)
        for (int k = 0; k < place[i].mines; k++) {
            const fsim_part *part = &other->partition.part[place[i].mine[k]];
            if (bsearch(&n, part->node, (size_t)part->count, sizeof n, fsim_by_int))
                return fsim_cause_of(g, kernels_of(best, place[i].other, place[i].others, a), place[i].others,
                                     kernels_of(other, place[i].mine, place[i].mines, a), place[i].mines);
        }
    return (fsim_cause){.node = -1};
}

/* Upper bounds of what one kernel for both could save: what they exchange through DRAM, and a launch. */
static void at_most(const fsim_graph *g, const fsim_hw *hw, const fsim_plan *best, fsim_explanation *e)
{
    for (int k = 0; k < best->kernels; k++)
        for (int i = 0; i < best->kernel[k].inputs; i++) {
            const fsim_tensor *t = &g->tensor[best->kernel[k].input[i].tensor];
            const int from = t->producer, to = from == e->a ? e->b : e->a;
            if ((from != e->a && from != e->b) ||
                !bsearch(&to, t->reader, (size_t)t->readers, sizeof to, fsim_by_int) ||
                !bsearch(&to, best->partition.part[k].node, (size_t)best->partition.part[k].count, sizeof to,
                         fsim_by_int))
                continue;
            e->exchange = true;
            e->saving_bytes += fsim_exchanged_bytes(g, &best->kernel[k].input[i]);
            e->saving_s = best->kernel[k].time[FSIM_LAUNCH];
            for (int m = 0; m < best->kernels && t->readers == 1 && !t->output && !t->materialize; m++)
                for (int o = 0; o < best->kernel[m].outputs; o++)
                    e->saving_bytes +=
                        &g->tensor[best->kernel[m].output[o].tensor] == t ? best->kernel[m].output[o].write_bytes : 0;
        }
    e->saving_s += (double)e->saving_bytes / fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
}

/* The interval of the seconds of plan x over those of y, both with fusesim's kernels. */
static fsim_interval likely_ratio(const fsim_software *s, const fsim_plan *x, const fsim_plan *y, fsim_arena *a)
{
    const fsim_plan_errors errors = fsim_errors_of(s, x, a), others = fsim_errors_of(s, y, a);
    return fsim_ratio_interval(&errors, &others, x->time_s / y->time_s, a);
}

fsim_explanation fsim_explain(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, int a, int b,
                              fsim_arena *arena)
{
    fsim_problem p = fsim_problem_of(g, hw, options, arena);
    fsim_explanation e = {.a = a, .b = b};
    int *node = fsim_new(arena, int, g->nodes), *pair = fsim_new(arena, int, 2);
    fsim_group group;
    pair[0] = a < b ? a : b;
    pair[1] = a < b ? b : a;
    const fsim_node_set set = {.count = 2, .node = pair};
    const int count = fsim_hull(g, &set, node, arena);
    e.between = count - 2;
    fsim_refusal path;
    e.legal = fsim_user_allows(&p, node, count, &e.why) && fsim_legal(&p.limits, node, count, arena, &group, &e.why);
    if (!e.legal && e.why.rule != FSIM_RULE_USER && count > 2 && fsim_connected(g, pair, 2, arena, &path) &&
        !fsim_convex(g, pair, 2, arena, &path))
        e.why = path; /* primitives between them can't join the kernel, so it would depend on them and they on it */
    const fsim_prediction now = fsim_predict(g, hw, options, arena);
    const fsim_plan *best = &now.plan[FSIM_STRATEGY_OPTIMAL];
    e.together = fsim_shares_kernel(best, a, b);
    const fsim_plan forced = e.together ? *best : best_with(g, hw, options, set, true, arena);
    const fsim_plan apart = e.together ? best_with(g, hw, options, set, false, arena) : *best;
    e.best_s = best->time_s;
    e.best_bytes = best->dram_read_bytes + best->dram_write_bytes;
    e.forced_found = forced.kernels > 0 && fsim_shares_kernel(&forced, a, b);
    e.forced_s = e.forced_found ? forced.time_s : NAN;
    e.forced_bytes = e.forced_found ? forced.dram_read_bytes + forced.dram_write_bytes : 0;
    const bool apart_found = apart.kernels > 0 && !fsim_shares_kernel(&apart, a, b);
    e.apart_s = apart_found ? apart.time_s : NAN;
    e.apart_bytes = apart_found ? apart.dram_read_bytes + apart.dram_write_bytes : 0;
    e.cause.node = -1;
    e.other_found = e.together ? apart_found : e.forced_found;
    if (e.other_found)
        e.other_likely = likely_ratio(&(fsim_software){g, hw, options->regime, FSIM_BY_FUSESIM},
                                      e.together ? &apart : &forced, best, arena);
    if (e.other_found)
        e.cause = cause_at(g, best, e.together ? &apart : &forced, b, arena);
    if (!e.legal && !e.together)
        at_most(g, hw, best, &e);
    return e;
}

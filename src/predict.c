/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "plan/price/calls.h"
#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/progress.h"
#include "plan/price/relaunch.h"
#include "plan/price/sdpa.h"
#include "plan/price/user_rules.h"
#include "plan/rivals/min_cut.h"
#include "plan/rivals/rivals.h"
#include "plan/rivals/saved.h"
#include "plan/search/budget.h"
#include "plan/search/cross.h"
#include "plan/search/lists.h"
#include "plan/search/ways.h"
#include "plan/traded.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_l2_words[2] = {"cold", "warm"};
const char *const fsim_numerics_words[2] = {"fast", "strict"};
const char *const fsim_recompute_words[2] = {"on", "off"};

void fsim_start_clock(fsim_problem *p, const fsim_options *o)
{
    p->shares_time = o->time_limit_s > 0;
    p->until_s = fsim_clock_s() + (o->time_limit_s > 0   ? o->time_limit_s - o->spent_s
                                   : o->search_steps > 0 ? INFINITY
                                                         : FSIM_USUAL_CLOCK_S);
}

static int64_t steps_of(const fsim_options *o)
{
    return o->search_steps > 0 ? o->search_steps : o->time_limit_s > 0 ? INT64_MAX : FSIM_USUAL_STEPS;
}

fsim_problem fsim_problem_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    return fsim_problem_with(g, hw, options, fsim_store_new(a));
}

fsim_problem fsim_problem_with(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options,
                               struct fsim_store *store)
{
    return (fsim_problem){.graph = g,
                          .hw = hw,
                          .limits = {.graph = g,
                                     .shared_per_block = (int64_t)fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK),
                                     .strict = options->strict},
                          .regime = options->regime,
                          .objective = options->objective,
                          .warm = options->warm,
                          .recompute = !options->no_recompute,
                          .memory_limit = options->memory_limit,
                          .search_memory = options->search_memory,
                          .search_steps = steps_of(options),
                          .until_s = INFINITY,
                          .store = store,
                          .groups = options->groups,
                          .progress = options->progress,
                          .interrupted = options->interrupted};
}

/* What follows is about this graph. */
static void take_graph(fsim_problem *p, const fsim_graph *g, fsim_arena *a)
{
    if (!g || g == p->graph)
        return;
    p->graph = p->limits.graph = g;
    p->store = fsim_store_new(a);
}

/* p as it is for plans of strategy s: what a framework launches does not depend on what our own plans may do to the
 * order of sums. */
static fsim_problem problem_for(const fsim_problem *p, fsim_strategy s, fsim_arena *a)
{
    const bool framework = s == FSIM_STRATEGY_EAGER || s == FSIM_STRATEGY_INDUCTOR || s == FSIM_STRATEGY_SERVING;
    fsim_problem theirs = *p;
    if (!p->limits.strict || !framework)
        return theirs;
    theirs.limits.strict = false;
    theirs.store = fsim_store_new(a);
    return theirs;
}

/* The plan of strategy s as its maker launches it. own: the plan with our kernels. */
static fsim_plan launched_plan(const fsim_problem *p, fsim_strategy s, const fsim_plan *own, fsim_arena *a)
{
    fsim_problem theirs = problem_for(p, s, a);
    fsim_plan plan = *own;
    if (theirs.limits.strict != p->limits.strict)
        fsim_baseline(&theirs, s, a, &plan);
    return fsim_plan_launched_by(&theirs, fsim_maker_of(s), &plan, a);
}

/* With what eager takes in the dtype for which the GPU has a faster unit. until_s: by when all must have ended. */
static fsim_arithmetic find_arithmetic(const fsim_prediction *p, double until_s, fsim_arena *a)
{
    fsim_arithmetic out = fsim_arithmetic_of(p->graph, p->hw, a);
    fsim_plan instead;
    if (!out.instead)
        return out;
    fsim_problem other = fsim_problem_of(out.instead, p->hw, &p->options, a);
    other.until_s = until_s;
    const fsim_problem theirs = problem_for(&other, p->chosen, a);
    fsim_problem own = other;
    if (p->graph->unreduced)
        take_graph(&own, fsim_arithmetic_of(fsim_graph_unreduced(p->graph, a), p->hw, a).instead, a);
    fsim_baseline(&own, FSIM_STRATEGY_EAGER, a, &instead);
    out.instead_eager_s = launched_plan(&own, FSIM_STRATEGY_EAGER, &instead, a).time_s;
    out.eager_s = p->plan[FSIM_STRATEGY_EAGER].time_s;
    out.instead_s = fsim_relaunched_s(&theirs, out.instead, p->options.regime, fsim_maker_in(p, p->chosen),
                                      fsim_priced_partition(&p->plan[p->chosen]));
    if (p->chosen != FSIM_STRATEGY_OPTIMAL || p->options.objective != FSIM_MINIMISE_TIME || fsim_late(&other))
        return out;
    enum { SEARCH_SHARES = 10 }; /* another plan may be best there: a short search */
    fsim_problem best = other;
    fsim_proof proof;
    best.search_steps = other.search_steps < FSIM_USUAL_STEPS ? other.search_steps : FSIM_USUAL_STEPS;
    best.search_steps /= SEARCH_SHARES;
    fsim_optimal(&best, NULL, 0, a, &instead, &proof);
    out.instead_s = instead.kernels > 0 ? fmin(out.instead_s, instead.time_s) : out.instead_s;
    return out;
}

/* The eager plan and the chosen one, launched in every way that there is time for. */
static void launch_otherwise(const fsim_problem *p, fsim_prediction *out, fsim_arena *a)
{
    static const fsim_regime shown[] = {FSIM_REGIME_EAGER, FSIM_REGIME_STREAM, FSIM_REGIME_GRAPH};
    const fsim_plan *eager = &out->plan[FSIM_STRATEGY_EAGER], *chosen = &out->plan[out->chosen];
    const fsim_maker aten = fsim_maker_of(FSIM_STRATEGY_EAGER), maker = fsim_maker_in(out, out->chosen);
    const fsim_problem of_eager = problem_for(p, FSIM_STRATEGY_EAGER, a), of_chosen = problem_for(p, out->chosen, a);
    out->launched[FSIM_REGIME_KERNEL] = (fsim_launched){NAN, NAN};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        out->launched[shown[i]] =
            shown[i] == p->regime || fsim_clock_s() > p->until_s
                ? (fsim_launched){NAN, NAN}
                : (fsim_launched){
                      fsim_relaunched_s(&of_eager, eager->graph, shown[i], aten, fsim_priced_partition(eager)),
                      fsim_relaunched_s(&of_chosen, chosen->graph, shown[i], maker, fsim_priced_partition(chosen))};
    out->launched[p->regime] = (fsim_launched){eager->time_s, chosen->time_s};
}

/* What was refused in the chosen plan. */
static void find_refusals(const fsim_problem *p, fsim_prediction *out, fsim_arena *a)
{
    fsim_problem chosen = problem_for(p, out->chosen, a);
    const fsim_refusals refused = fsim_refusals_of(&chosen, &out->plan[out->chosen], a);
    out->refusal = refused.at;
    out->refusals = refused.count;
    out->refusals_left = refused.left;
}

/* Whether a plan of every strategy is to be made, or of the asked ones only. */
static bool is_planned(const fsim_graph *g, int strategy, const fsim_options *o)
{
    if (strategy == FSIM_STRATEGY_SERVING && g->servings + g->hand_fusions > 0)
        return true;
    return strategy != FSIM_STRATEGY_OPTIMAL && (!fsim_strategies[strategy].asked || strategy == (int)o->strategy);
}

/* Eager PyTorch keeps what autograd says, and torch.compile what its partitioner cuts, whatever our primitives of the
 * backward pass would read. */
static void keep_as_pytorch(const fsim_graph *g, fsim_strategy strategy, fsim_plan *plan, fsim_arena *a)
{
    if (g->derived != FSIM_REVERSE)
        return;
    if (strategy == FSIM_STRATEGY_EAGER) {
        const fsim_autograd_saved kept = fsim_saved_by_eager(g, a);
        plan->saved_bytes = (fsim_sum)kept.made_bytes;
        plan->saved_input_bytes = (fsim_sum)kept.given_bytes;
        plan->kept = kept.kept;
    } else if (strategy == FSIM_STRATEGY_INDUCTOR) {
        const fsim_kept kept = fsim_min_cut(g, a);
        plan->saved_bytes = (fsim_sum)kept.made_bytes;
        plan->saved_input_bytes = (fsim_sum)kept.given_bytes;
        plan->kept = kept.kept;
    }
}

/* A graph as torch.compile runs it in little memory. */
static const fsim_graph *within_budget(const fsim_graph *g, const fsim_hw *hw, const fsim_options *o, fsim_arena *a)
{
    fsim_graph *less = fsim_graph_within_budget(g, 1 - o->budget_cut, a);
    if (less && g->calls)
        fsim_sdpa_mark(less, hw, FSIM_BY_ATEN);
    return less ? less : g;
}

/* Of which strategies plans are made at once. */
typedef enum { ALL, WANTED, OTHERS } asked;

static bool is_among(asked which, int strategy, const fsim_options *o)
{
    const bool wanted = strategy == FSIM_STRATEGY_EAGER || strategy == (int)o->strategy;
    return which == ALL || wanted == (which == WANTED);
}

/* The plans of all strategies but optimal, or of some. Those that every report compares with, and the one that is asked
 * for, are made however long that takes; of the others, those that are done in a third of the time. Returns how many
 * are in known. Leaves in p->until_s by when the search must have ended, so that what follows it is done in time too.
 */
static int plan_strategies(fsim_problem *p, asked which, fsim_arena *a, fsim_prediction *out, fsim_plan *known)
{
    const fsim_options *o = &out->options;
    static const double others = 0.3, after = 4, most = 0.4; /* what follows takes so many times as long as the plans
                                                    that are always made, and may take that share of the time */
    const double begun_s = fsim_clock_s(), until_s = p->until_s, left_s = fmax(0, until_s - begun_s);
    const fsim_graph *as_it_is = fsim_graph_unreduced(p->graph, a), /* no other system saves in fewer bits */
        *trained = fsim_sdpa_graph(as_it_is, p->hw, FSIM_BY_ATEN, a);
    double always_s = 0;
    int count = 0;
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
        const bool always = s == FSIM_STRATEGY_EAGER || s == FSIM_STRATEGY_UNFUSED || s == (int)o->strategy;
        const double then_s = fsim_clock_s();
        if (!is_planned(p->graph, s, o) || !is_among(which, s, o))
            continue;
        fsim_problem part = *p;
        if (!always)
            part.until_s = begun_s + others * left_s;
        if (s != FSIM_STRATEGY_GREEDY && s != FSIM_STRATEGY_MAXIMAL)
            take_graph(&part, as_it_is, a);
        if (s == FSIM_STRATEGY_EAGER || s == FSIM_STRATEGY_INDUCTOR)
            take_graph(&part,
                       s == FSIM_STRATEGY_INDUCTOR && o->budget_cut > 0 ? within_budget(trained, p->hw, o, a) : trained,
                       a);
        fsim_progress_phase(p, fsim_strategy_names[s]);
        if (always)
            fsim_baseline(&part, (fsim_strategy)s, a, &known[count]);
        else if (!fsim_baseline_in_time(&part, (fsim_strategy)s, a, &known[count])) {
            count += known[count].kernels > 0; /* a better plan than none */
            continue;
        }
        out->plan[s] = launched_plan(&part, (fsim_strategy)s, &known[count], a);
        keep_as_pytorch(part.graph, (fsim_strategy)s, &out->plan[s], a);
        if (part.graph == p->graph) {
            fsim_progress_best(p, &known[count]);
            count++;
        }
        always_s += s <= FSIM_STRATEGY_UNFUSED ? fsim_clock_s() - then_s : 0;
    }
    p->until_s = until_s - fmin(after * always_s, most * left_s);
    return count;
}

/* The plans of the strategies that a brief prediction does not want. */
static int make_rivals(const fsim_rivals *r, fsim_problem *p, fsim_arena *a, fsim_plan *out)
{
    fsim_problem part = *p;
    fsim_prediction unused = {.options = *(const fsim_options *)r->from};
    return plan_strategies(&part, OTHERS, a, &unused, out);
}

/* May what nobody wants be left out? */
static bool is_brief(const fsim_options *o)
{
    return o->brief && o->objective == FSIM_MINIMISE_TIME && o->memory_limit == 0 && o->top == 0 && !o->pareto &&
           !o->user_plan && !o->as_read;
}

/* Several searches share the time that is left: each takes its part of the rest. */
static fsim_problem next_search(const fsim_problem *p, int *searches)
{
    return fsim_with_share(p, 1. / (double)(*searches)--);
}

/* What a step of training, whose backward pass can compute values again, is to give for memory, where less of that is
 * wanted than the fastest plan may need; else NULL. In a. */
static fsim_traded *what_to_trade(const fsim_problem *p, const fsim_prediction *x, const fsim_graph *called,
                                  fsim_arena *a)
{
    const bool little = p->objective == FSIM_MINIMISE_MEMORY || p->memory_limit > 0 || x->options.pareto;
    if (x->options.as_read || x->chosen != FSIM_STRATEGY_OPTIMAL || x->graph->derived != FSIM_REVERSE || !little)
        return NULL;
    fsim_traded *out = fsim_new(a, fsim_traded, 1);
    out->rival = x->plan;
    out->rivals = FSIM_STRATEGY_COUNT;
    out->called = called;
    return out;
}

/* The front of time and memory: of what a search finds, of known plans, and of those that need less memory. */
static void find_front(fsim_problem *p, const fsim_plan *known, int count, const fsim_traded *x, fsim_prediction *out,
                       fsim_arena *a)
{
    enum { MOST_OF_FRONT = 64 };
    const int room = MOST_OF_FRONT + count + (x ? x->count : 0) + 1;
    fsim_limit_addition(x, p);
    out->front = fsim_new(a, fsim_plan, room);
    int found = fsim_add_plans(out->front, fsim_pareto(p, MOST_OF_FRONT, a, out->front), known, count);
    found = x ? fsim_add_plans(out->front, found, x->list, x->count) : found;
    out->fronts = fsim_front_of(out->front, found);
}

/* The best plan of both lists; it is the first of the best ones, too. */
static void adopt_listed(fsim_problem *p, fsim_prediction *out, fsim_plan *best)
{
    fsim_adopt_best(p, out->top, out->tops, best);
    fsim_adopt_best(p, out->front, out->fronts, best);
    if (out->tops > 0 && fsim_compare_plans(p, best, &out->top[0]) < 0)
        out->tops = fsim_put_first(out->top, out->tops, out->options.top, best);
}

/* The graph whose library calls are known: of attentions in the backward pass, or those that the workload names; g
 * where there are none. */
static const fsim_graph *called_graph(const fsim_graph *g, const fsim_hw *hw, fsim_arena *a)
{
    return g->servings > 0 ? fsim_calls_graph(g, a) : fsim_sdpa_graph(g, hw, FSIM_BY_ATEN, a);
}

/* Prices the partition with kernels of fusesim's around calls; it replaces *plan where it beats that. *priced, too. */
static bool take_calling(fsim_problem *p, const fsim_partition *partition, fsim_plan *plan, fsim_plan *priced,
                         fsim_arena *a)
{
    fsim_refusal why;
    if (!fsim_price(p, partition, a, priced, &why))
        return false;
    fsim_plan_calling(p, priced, a);
    if (fsim_compare_plans(p, priced, plan) < 0)
        *plan = *priced;
    return true;
}

/* Of what other strategies launch on that graph, with kernels of fusesim's around the same calls, the best, where it
 * beats `plan`; and what has the better half of both (cross.h). */
static void take_rivals_calling(const fsim_problem *q, const fsim_prediction *out, fsim_plan *plan, fsim_arena *a)
{
    static const fsim_strategy rival[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_INDUCTOR, FSIM_STRATEGY_PATTERN,
                                          FSIM_STRATEGY_GREEDY};
    for (size_t i = 0; i < sizeof rival / sizeof *rival; i++) {
        const fsim_plan *theirs = &out->plan[rival[i]];
        fsim_problem r = *q;
        fsim_plan ours, both;
        fsim_partition crossed;
        if (theirs->kernels == 0 || (q->graph->unreduced && !theirs->graph->unreduced))
            continue;
        const bool alike = theirs->graph->tensor == q->graph->tensor; /* the same primitives, on whatever calls */
        if (!theirs->graph->calls && !alike)
            continue;
        take_graph(&r, theirs->graph, a);
        if (take_calling(&r, fsim_priced_partition(theirs), plan, &ours, a) && plan->graph->tensor == r.graph->tensor &&
            fsim_cross(&r, plan, &ours, a, &crossed))
            take_calling(&r, &crossed, plan, &both, a);
    }
}

/* The fewest DRAM bytes with calls of a library: of what PyTorch and serving stacks launch around them, where that
 * moves fewer than `best`. What no plan can do without is what it writes, since calls read and write other things than
 * kernels for the same primitives: the search without calls bounds none with them. */
static void call_for_bytes(fsim_problem *q, fsim_prediction *out, fsim_plan *best, fsim_arena *a)
{
    const fsim_graph *g = q->graph;
    fsim_plan plan = *best, stack;
    double written = 0;
    if (g->servings > 0) {
        fsim_baseline(q, FSIM_STRATEGY_SERVING, a, &stack);
        if (fsim_plan_calling(q, &stack, a) && fsim_compare_plans(q, &stack, &plan) < 0)
            plan = stack;
    }
    take_rivals_calling(q, out, &plan, a);
    for (int t = 0; t < g->tensors; t++)
        written += g->tensor[t].output && g->tensor[t].producer >= 0 ? (double)g->tensor[t].bytes : 0;
    if (fsim_compare_plans(q, &plan, best) < 0) {
        *best = plan;
        best->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
        if (out->options.top > 0)
            out->tops = fsim_put_first(out->top, out->tops, out->options.top, best);
    }
    out->proof.lower_bound = fmin(out->proof.lower_bound, written);
    out->proof.proven = out->proof.lower_bound >= (double)best->objective;
}

/* The best plan around calls of a library (for what the backward pass of attentions does, say), where that beats the
 * best one of fusesim's own kernels. Its bound: what is beside the calls shares no kernel with what is in them, so
 * their times add up. */
static void call_libraries(fsim_problem *p, const fsim_graph *called, fsim_prediction *out, fsim_plan *best,
                           fsim_arena *a)
{
    fsim_problem q = *p;
    fsim_plan plan;
    fsim_proof proof;
    double bound_s = out->proof.lower_bound;
    if (p->objective == FSIM_MINIMISE_MEMORY)
        return;
    take_graph(&q, called, a);
    q.memory_limit = 0;
    if (p->objective == FSIM_MINIMISE_BYTES) {
        call_for_bytes(&q, out, best, a);
        return;
    }
    const bool calls = fsim_best_calling(&q, a, &plan, &proof, &bound_s);
    const double bound = fmin(out->proof.lower_bound, bound_s);
    if (calls && plan.time_s > bound_s * (1 + 1e-12)) {
        fsim_prediction all = *out;
        fsim_plan known[FSIM_PLAN_COUNT];
        fsim_problem part = *p;
        if (is_brief(&out->options)) /* the other plans are not made yet */
            plan_strategies(&part, OTHERS, a, &all, known);
        take_rivals_calling(&q, &all, &plan, a);
    }
    if (calls && fsim_compare_plans(p, &plan, best) < 0) {
        *best = plan;
        best->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
        out->proof = proof;
        if (out->options.top > 0)
            out->tops = fsim_put_first(out->top, out->tops, out->options.top, best);
        if (out->options.pareto)
            out->fronts = fsim_front_of(out->front, fsim_add_plans(out->front, out->fronts, best, 1));
    }
    out->proof.lower_bound = bound;
    out->proof.proven = out->proof.lower_bound >= best->time_s * (1 - 1e-12);
    out->proof.lower_bound = fmin(out->proof.lower_bound, best->time_s);
}

/* Marks the kernels of a plan that serving stacks have by hand (`kernel: fused`). */
static void mark_hand_fused(fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    fsim_plan stack;
    fsim_baseline(p, FSIM_STRATEGY_SERVING, a, &stack);
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < stack.kernels; i++) {
            const fsim_part *x = &plan->partition.part[k], *y = &stack.partition.part[i];
            if (x->count == y->count && memcmp(x->node, y->node, (size_t)x->count * sizeof *x->node) == 0)
                plan->rule[k] = stack.rule[i];
        }
}

/* The user's own plan, where there is one: in *known with fusesim's kernels. Returns how many there are. */
static int plan_by_user(fsim_problem *p, fsim_prediction *out, fsim_plan *known, fsim_arena *a)
{
    const fsim_options *o = &out->options;
    fsim_plan *plan = &out->plan[FSIM_STRATEGY_FILE];
    fsim_refusal why;
    if (!o->user_plan || !fsim_price(p, o->user_plan, a, known, &why))
        return 0;
    out->chosen = FSIM_STRATEGY_FILE;
    if (o->user_plan_maker >= FSIM_BY_VLLM && p->graph->hand_fusions > 0)
        mark_hand_fused(p, known, a);
    *plan = fsim_plan_launched_by(p, o->user_plan_maker, known, a);
    if (o->user_plan_maker == FSIM_BY_FUSESIM && (p->graph->calls || o->user_plan_calls))
        fsim_plan_calling(p, plan, a);
    return 1;
}

static fsim_prediction concluded(const fsim_problem *p, fsim_prediction *out)
{
    out->interrupted = fsim_is_set(out->options.interrupted);
    fsim_progress_end(p);
    return *out;
}

fsim_prediction fsim_predict(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    fsim_prediction out = {.graph = g, .hw = hw, .options = *options, .chosen = options->strategy};
    const bool theirs = options->strategy == FSIM_STRATEGY_EAGER || options->strategy == FSIM_STRATEGY_INDUCTOR;
    if (theirs)
        out.graph = g = fsim_sdpa_graph(g, hw, fsim_maker_of(options->strategy), a);
    fsim_problem p = fsim_problem_of(g, hw, options, a);
    fsim_start_clock(&p, options);
    p.held_bytes = fsim_arena_held();
    if (p.progress)
        p.progress->best = p.progress->bound = 0;
    const double until_s = p.until_s;
    const fsim_graph *called = (!theirs || g->servings > 0) && !options->as_read ? called_graph(g, hw, a) : g;
    const bool calls = called != g || (g->calls && !options->as_read); /* a rival's graph has its calls already */
    fsim_plan known[FSIM_PLAN_COUNT], *best = &out.plan[FSIM_STRATEGY_OPTIMAL];
    const bool brief = is_brief(options);
    const fsim_rivals rivals = {.graph = g, .make = make_rivals, .most = FSIM_PLAN_COUNT, .from = options};
    int count = plan_strategies(&p, brief ? WANTED : ALL, a, &out, known),
        searches = 1 + calls + (options->top > 0) + options->pareto + (options->memory_limit > 0);
    count += plan_by_user(&p, &out, &known[count], a);
    if (brief && out.chosen != FSIM_STRATEGY_OPTIMAL)
        return concluded(&p, &out);
    count = g->fuses + g->separates ? 0 : count; /* the strategies ignore fuse: and separate: */
    p.rivals = brief && g->fuses + g->separates == 0 ? &rivals : NULL;
    fsim_problem part = next_search(&p, &searches);
    fsim_traded *traded = what_to_trade(&p, &out, called, a);
    if (traded) {
        traded->known = known;
        traded->knowns = count;
        fsim_best_traded(&p, traded, best, &out.proof, a);
        out.ways = traded->ways;
        count = best->graph == g ? count : 0;
    } else if (out.chosen == FSIM_STRATEGY_OPTIMAL && !options->as_read) {
        out.ways = fsim_best_ways(&part, known, count, a, best, &out.proof);
        count = part.graph == g ? count : 0;
        out.graph = p.graph = p.limits.graph = part.graph;
        p.store = part.store;
    } else {
        fsim_best(&part, known, count, a, best, &out.proof);
    }
    known[count++] = *best;
    if (options->top > 0) {
        part = next_search(&p, &searches);
        out.top = fsim_new(a, fsim_plan, options->top + count + 1);
        out.tops =
            fsim_best_of(&p, out.top, fsim_add_plans(out.top, fsim_top(&part, options->top, a, out.top), known, count),
                         options->top);
    }
    if (options->pareto) {
        part = next_search(&p, &searches);
        find_front(&part, known, count, traded, &out, a);
    }
    adopt_listed(&p, &out, best);
    if (calls) {
        part = next_search(&p, &searches);
        call_libraries(&part, called, &out, best, a);
    }
    p.rivals = NULL;
    const fsim_plan *shown = &out.plan[out.chosen];
    const bool alike = shown->graph == best->graph || !shown->graph || fsim_same_graph(shown->graph, best->graph);
    take_graph(&p, alike ? best->graph : shown->graph, a); /* a file's plan may have other derivatives than the best */
    out.graph = p.graph;
    if (brief)
        return concluded(&p, &out);
    part = next_search(&p, &searches);
    out.least_memory_bytes = fsim_least_memory(&part, best, traded, a);
    find_refusals(&p, &out, a);
    out.basis = fsim_basis_of(&p, fsim_maker_in(&out, out.chosen), &out.plan[out.chosen], a);
    out.arithmetic = find_arithmetic(&out, until_s, a);
    out.append = fsim_append_of(out.graph, hw, &out.plan[out.chosen]);
    p.until_s = until_s;
    launch_otherwise(&p, &out, a);
    if (out.chosen != FSIM_STRATEGY_OPTIMAL && alike)
        out.losses = fsim_compare(out.graph, shown, best, a, &out.loss);
    return concluded(&p, &out);
}

int fsim_saved_with_ways(const fsim_prediction *p, fsim_arena *a, fsim_saved_value **out)
{
    fsim_problem q = fsim_problem_of(p->graph, p->hw, &p->options, a);
    return fsim_saved_values(&q, &p->plan[p->chosen], fsim_maker_in(p, p->chosen) == FSIM_BY_FUSESIM ? &p->ways : NULL,
                             a, out);
}

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
        const int count = fsim_smallest_kernel(g, set, node, a);
        fsim_group group;
        fsim_refusal why;
        if (!fsim_user_allows(&p, node, count, &why) || !fsim_legal(&p.limits, node, count, a, &group, &why))
            fsim_error(d, set->at, "fuse: '%s' and '%s' can't share a kernel: %s", g->node[set->node[0]].name,
                       g->node[set->node[1]].name, fsim_refusal_text(g, &why, a));
    }
    return fsim_errors(d) == errors;
}

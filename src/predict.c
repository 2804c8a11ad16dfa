/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#include "search/price.h"
#include "search/space.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REFUSALS = 256 };

fsim_problem fsim_problem_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    return (fsim_problem){.graph = g,
                          .hw = hw,
                          .limits = {g, (int64_t)fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK), options->strict},
                          .regime = options->regime,
                          .objective = options->objective,
                          .warm = options->warm,
                          .recompute = !options->no_recompute,
                          .time_limit_s = options->time_limit_s,
                          .store = fsim_store_new(a),
                          .interrupted = options->interrupted};
}

/* Refusals: for every tensor that goes from one kernel of the plan to another, why the two are apart. */

typedef struct {
    const fsim_problem *p;
    const fsim_plan *plan;
    fsim_arena *a;
    fsim_priced_refusal *list;
    int count, room;
} refusals;

static void unite(const fsim_part *x, const fsim_part *y, int *node, int *count)
{
    int i = 0, j = 0;
    *count = 0;
    while (i < x->count || j < y->count) {
        const bool left = j == y->count || (i < x->count && x->node[i] <= y->node[j]);
        const int n = left ? x->node[i++] : y->node[j++];
        if (*count == 0 || node[*count - 1] != n)
            node[(*count)++] = n;
    }
}

/* Why kernels x and y, joined by tensor t from primitive `from` to `to`, are two. */
static void refuse_pair(refusals *w, int x, int y, const fsim_tensor *t, int from, int to)
{
    const fsim_part *a = &w->plan->partition.part[x], *b = &w->plan->partition.part[y];
    int *node = fsim_new(w->a, int, a->count + b->count), count;
    const int pair[2] = {from, to};
    fsim_priced_refusal r = {0};
    fsim_group made;
    unite(a, b, node, &count);
    /* what the two exchange through DRAM, and a launch; the store stays where others read it too */
    const int tensor = (int)(t - w->p->graph->tensor);
    const fsim_kernel *maker = &w->plan->kernel[x], *reader = &w->plan->kernel[y];
    for (int i = 0; i < maker->outputs && t->readers == 1 && !t->output && !t->materialize; i++)
        r.saving_bytes += maker->output[i].tensor == tensor ? maker->output[i].write_bytes : 0;
    for (int i = 0; i < reader->inputs; i++)
        r.saving_bytes += reader->input[i].tensor == tensor ? reader->input[i].read_bytes : 0;
    r.saving_s = reader->time[FSIM_LAUNCH] + (double)r.saving_bytes / fsim_hw_get(w->p->hw, FSIM_HW_DRAM_BANDWIDTH);
    const bool legal = fsim_user_allows(w->p, node, count, &r.why) &&
                       (fsim_group_of(&w->p->limits, pair, 2, NULL, NULL, w->a, &made, &r.why) || r.why.rule == FSIM_RULE_SPACE) &&
                       fsim_legal(&w->p->limits, node, count, w->a, &made, &r.why);
    const fsim_kernel *k = legal ? fsim_kernel_alone(w->p, node, count, w->a) : NULL;
    if (legal && !k)
        r.why = (fsim_refusal){.rule = FSIM_RULE_SHARED, .a = from, .b = to, .through = -1, .limit = (double)w->p->limits.shared_per_block,
                               .unit = "bytes of shared memory per block"};
    if (!legal && (r.why.a < 0 || r.why.b < 0 || r.why.rule == FSIM_RULE_GRID_BARRIER)) {
        r.why.a = from;
        r.why.b = to;
    }
    if (k) {
        r.why = (fsim_refusal){.rule = FSIM_RULE_COST, .a = from, .b = to, .through = -1};
        const double apart = w->plan->kernel[x].time_s + w->plan->kernel[y].time_s;
        r.saving_s = apart - k->time_s;
        r.saving_bytes = w->plan->kernel[x].dram_read_bytes + w->plan->kernel[x].dram_write_bytes + w->plan->kernel[y].dram_read_bytes +
                                 w->plan->kernel[y].dram_write_bytes - k->dram_read_bytes - k->dram_write_bytes;
    }
    *FSIM_PUSH(w->a, w->list, w->count, w->room) = r;
}

static int by_saving(const void *x, const void *y)
{
    const fsim_priced_refusal *a = x, *b = y;
    const bool legal_a = a->why.rule == FSIM_RULE_COST, legal_b = b->why.rule == FSIM_RULE_COST;
    if (legal_a != legal_b)
        return legal_a - legal_b;
    if (a->saving_s != b->saving_s)
        return a->saving_s > b->saving_s ? -1 : 1;
    return a->why.a != b->why.a ? a->why.a - b->why.a : a->why.b - b->why.b;
}

/* Kernels that would be faster if their sums might change their order. */
static void refuse_orders(refusals *w)
{
    const fsim_graph *g = w->p->graph;
    fsim_limits loose = w->p->limits;
    loose.strict = false;
    for (int k = 0; k < w->plan->kernels && w->p->limits.strict && w->count < MOST_REFUSALS; k++) {
        const fsim_part *part = &w->plan->partition.part[k];
        const fsim_group *o = w->plan->kernel[k].group;
        bool *stored = fsim_new(w->a, bool, part->count);
        int reduction = -1;
        fsim_group made;
        fsim_refusal why;
        for (int i = 0; i < part->count; i++) {
            const fsim_node *n = &g->node[part->node[i]];
            reduction = reduction < 0 && fsim_ops[n->op].class == FSIM_REDUCE ? part->node[i] : reduction;
            for (int r = 0; r < n->results; r++)
                for (int x = 0; x < o->writes; x++)
                    stored[i] = stored[i] || o->write[x].tensor == n->result[r];
        }
        if (reduction < 0 || !fsim_group_of(&loose, part->node, part->count, stored, NULL, w->a, &made, &why))
            continue;
        const fsim_kernel now = fsim_kernel_of(g, w->p->hw, w->p->regime, o, NULL, w->a),
                          free = fsim_kernel_of(g, w->p->hw, w->p->regime, &made, NULL, w->a);
        if (free.time_s > 0 && free.time_s < now.time_s)
            *FSIM_PUSH(w->a, w->list, w->count, w->room) = (fsim_priced_refusal){
                .why = {.rule = FSIM_RULE_NUMERICS, .a = reduction, .b = -1, .through = -1, .needed = (double)g->node[reduction].reduced, .limit = 1,
                        .unit = "orders of summation"},
                .saving_s = now.time_s - free.time_s,
                .saving_bytes = now.dram_read_bytes + now.dram_write_bytes - free.dram_read_bytes - free.dram_write_bytes};
    }
}

static void find_refusals(const fsim_problem *p, const fsim_plan *plan, fsim_arena *a, fsim_prediction *out)
{
    const fsim_graph *g = p->graph;
    refusals w = {.p = p, .plan = plan, .a = a};
    int *home = fsim_new(a, int, g->nodes + 1), *met = fsim_new(a, int, plan->kernels + 1);
    for (int n = 0; n < g->nodes; n++)
        home[n] = -1;
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->partition.part[k].count; i++)
            if (!plan->partition.part[k].clone[i])
                home[plan->partition.part[k].node[i]] = k;
    for (int k = 0; k < plan->kernels && w.count < MOST_REFUSALS; k++) {
        const fsim_part *part = &plan->partition.part[k];
        for (int i = 0; i < part->count; i++)
            for (int r = 0; r < g->node[part->node[i]].results && !part->clone[i]; r++) {
                const fsim_tensor *t = &g->tensor[g->node[part->node[i]].result[r]];
                for (int q = 0; q < t->readers; q++) {
                    const int other = home[t->reader[q]];
                    if (other < 0 || other == k || met[other] == k + 1)
                        continue;
                    met[other] = k + 1;
                    refuse_pair(&w, k, other, t, part->node[i], t->reader[q]);
                }
            }
    }
    refuse_orders(&w);
    if (w.count > 0)
        qsort(w.list, (size_t)w.count, sizeof *w.list, by_saving);
    out->refusal = w.list;
    out->refusals = w.count;
}

fsim_prediction fsim_predict(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a)
{
    fsim_prediction out = {.graph = g, .hw = hw, .options = *options, .chosen = options->strategy};
    const fsim_problem p = fsim_problem_of(g, hw, options, a);
    fsim_plan known[FSIM_STRATEGY_COUNT];
    int count = 0;
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
        if (s != FSIM_STRATEGY_OPTIMAL) {
            fsim_baseline(&p, (fsim_strategy)s, a, &out.plan[s]);
            known[count++] = out.plan[s];
        }
    fsim_optimal(&p, g->fuses + g->separates ? NULL : known, g->fuses + g->separates ? 0 : count, a, &out.plan[FSIM_STRATEGY_OPTIMAL], &out.proof);
    find_refusals(&p, &out.plan[out.chosen], a, &out);
    return out;
}

/* Explanation. */

static bool together(const fsim_plan *plan, int x, int y)
{
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        if (bsearch(&x, part->node, (size_t)part->count, sizeof x, fsim_by_int) && bsearch(&y, part->node, (size_t)part->count, sizeof y, fsim_by_int))
            return true;
    }
    return false;
}

/* The members of set and all that lies on a path between two of them. */
static int hull(const fsim_graph *g, const fsim_node_set *set, int *node, fsim_arena *a)
{
    bool *after = fsim_new(a, bool, g->nodes), *before = fsim_new(a, bool, g->nodes);
    int low = set->node[0], high = low, count = 0;
    for (int i = 0; i < set->count; i++) {
        low = set->node[i] < low ? set->node[i] : low;
        high = set->node[i] > high ? set->node[i] : high;
        after[set->node[i]] = before[set->node[i]] = true;
    }
    for (int n = low; n <= high; n++)
        for (int k = 0; k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            after[n] = after[n] || (from >= low && after[from]);
        }
    for (int n = high; n >= low; n--)
        for (int k = 0; before[n] && k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            if (from >= low)
                before[from] = true;
        }
    for (int n = low; n <= high; n++)
        if (after[n] && before[n])
            node[count++] = n;
    return count;
}

bool fsim_plannable(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_diag *d, fsim_arena *a)
{
    const int errors = fsim_errors(d);
    const fsim_problem p = fsim_problem_of(g, hw, options, a);
    int *node = fsim_new(a, int, g->nodes + 1);
    if (g->nodes == 0)
        fsim_error(d, (fsim_loc){.file = g->path}, "the workload computes nothing: its operators are views");
    int longest[FSIM_OP_COUNT]; /* 1 + the primitive with the longest rows: its blocks are the largest */
    memset(longest, 0, sizeof longest);
    for (int n = 0; n < g->nodes; n++) {
        int *best = &longest[g->node[n].op];
        *best = *best == 0 || g->node[n].reduced > g->node[*best - 1].reduced ? n + 1 : *best;
    }
    for (int op = 0, n; op < FSIM_OP_COUNT; op++)
        if ((n = longest[op] - 1) >= 0 && !fsim_kernel_alone(&p, &n, 1, a)) {
            fsim_error(d, (fsim_loc){.file = hw->path}, "a kernel for '%s' does not fit an SM: its blocks of 256 threads or more need other threads_per_block, "
                       "threads_per_sm, registers_per_sm or shared_memory_per_sm", g->node[n].name);
            break;
        }
    for (int s = 0; s < g->fuses; s++) {
        const fsim_node_set *set = &g->fuse[s];
        const int count = hull(g, set, node, a);
        fsim_group made;
        fsim_refusal why;
        if (!fsim_user_allows(&p, node, count, &why) || !fsim_legal(&p.limits, node, count, a, &made, &why))
            fsim_error(d, set->at, "fuse: '%s' and '%s' can't share a kernel: %s", g->node[set->node[0]].name, g->node[set->node[1]].name,
                       fsim_refusal_text(g, &why, a));
    }
    return fsim_errors(d) == errors;
}

static fsim_plan best_with(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_node_set set, bool fuse, fsim_arena *a)
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
    const fsim_problem p = fsim_problem_of(kept, hw, options, a);
    fsim_plan plan;
    fsim_proof proof;
    fsim_optimal(&p, NULL, 0, a, &plan, &proof);
    return plan;
}

fsim_explanation fsim_explain(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, int a, int b, fsim_arena *arena)
{
    const fsim_problem p = fsim_problem_of(g, hw, options, arena);
    fsim_explanation e = {.a = a, .b = b};
    int *node = fsim_new(arena, int, g->nodes), *pair = fsim_new(arena, int, 2);
    fsim_group made;
    pair[0] = a < b ? a : b;
    pair[1] = a < b ? b : a;
    const fsim_node_set set = {.count = 2, .node = pair};
    const int count = hull(g, &set, node, arena);
    e.between = count - 2;
    fsim_refusal path;
    e.legal = fsim_user_allows(&p, node, count, &e.why) && fsim_legal(&p.limits, node, count, arena, &made, &e.why);
    if (!e.legal && e.why.rule != FSIM_RULE_USER && count > 2 && fsim_connected(g, pair, 2, arena, &path) &&
        !fsim_convex(g, pair, 2, arena, &path))
        e.why = path; /* what lies between them can't join, so the two alone would wait for it, and it for them */
    const fsim_prediction now = fsim_predict(g, hw, options, arena);
    const fsim_plan *best = &now.plan[FSIM_STRATEGY_OPTIMAL];
    e.together = together(best, a, b);
    const fsim_plan forced = e.together ? *best : best_with(g, hw, options, set, true, arena);
    const fsim_plan apart = e.together ? best_with(g, hw, options, set, false, arena) : *best;
    e.best_s = best->time_s;
    e.best_bytes = best->dram_read_bytes + best->dram_write_bytes;
    e.forced_found = forced.kernels > 0 && together(&forced, a, b);
    e.forced_s = e.forced_found ? forced.time_s : NAN;
    e.forced_bytes = e.forced_found ? forced.dram_read_bytes + forced.dram_write_bytes : 0;
    e.apart_s = apart.kernels > 0 && !together(&apart, a, b) ? apart.time_s : NAN;
    return e;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* optimal.c: the best partition, with a proof or a lower bound.
 *
 * 0. Of many equal layers only some are searched, and one of these repeated, where that is proven to be best
 * (plan/search/layers.c).
 * 1. Pieces. Primitives that can't share a kernel, directly or through others, are in different pieces. Each piece is
 * searched on its own.
 * 2. A piece that is legal as one kernel without penalty is optimal as one. Without penalty means: every unit runs at
 * the rate, and moves and computes no more, than the parts of any split would in total. Time is launch + a norm of the
 * units' times, and a norm of a sum is at most the sum of the norms.
 * 3. Other pieces are solved by dynamic programming over what has run (plan/search/frontier.h). A read hits L2 there if
 * it does in any plan, so the sum over the pieces is a lower bound of every plan. Places that look alike share their
 * candidate sets.
 * 4. Where the plan found costs more than the bound because L2 was assumed too favourable, the search is repeated
 * with the real contents of L2, from border to border (plan/search/excess.c). If a gap remains, partitions are visited
 * by rising relaxed cost until the budget is used up.
 * 5. Of a long graph the prices of its primitives are found first, which bound it and leave few kernels to look at
 * (plan/search/priced.h).
 * 6. What is not proven then is changed, a kernel or two at a time, for as long as that pays (plan/search/polish.c). */
#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "plan/price/deadline.h"
#include "plan/price/price.h"
#include "plan/price/progress.h"
#include "plan/price/user_rules.h"
#include "plan/search/cluster.h"
#include "plan/search/cross.h"
#include "plan/search/floor.h"
#include "plan/search/frontier.h"
#include "plan/search/given.h"
#include "plan/search/layers.h"
#include "plan/search/merge.h"
#include "plan/search/pieces.h"
#include "plan/search/polish.h"
#include "plan/search/priced.h"
#include "plan/search/search.h"
#include "plan/search/sides.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHOLE_MOST = 12,  /* largest piece that is searched with every possible copy */
    PIECE_SHARES = 2, /* one of several pieces may take this part of what is left of the budget */
    WHOLE_SHARES = 8, /* this part of the budget is kept back for the whole graph when equal layers are searched once */
    SIDE_SHARES = 4,  /* this part of the budget is kept back where the sides of the barrier are searched apart */
    MORE_CLONES = 3,  /* a search with every choice of clones takes so many times what one with few takes, and more */
    SMALL = 24,       /* graphs of so many primitives are searched as a whole at once */
    POLISH_SHARES = 8,     /* changes to a plan that is not proven may take this part of the steps, */
    POLISH_STEPS = 750000, /* and so many at most; */
    POLISH_PARTS = 20000,  /* a plan of more kernels takes too many of them for one price */
    LONG = 32,             /* graphs of more primitives are searched by prices, */
    PRICE_STEPS = 3,       /* for which there are so many halves of all steps besides, */
    PIECE_STEPS = 3,       /* and at least this part for pieces, then */
    VISITED_MOST = 32      /* largest graph whose partitions are visited one by one */
};

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    const fsim_plan *rival; /* plans of other strategies, once they are asked for */
    int rivals;
    fsim_partition found;
    fsim_budget budget;
    fsim_sum bound;
    int64_t considered, states;
    fsim_frontier *only;   /* where the graph is one piece: that piece */
    fsim_frontier *last;   /* of the whole graph, as last searched; NULL: of none */
    fsim_sum least;        /* a bound from the sides of the barrier, */
    fsim_sum before;       /* and of the side before it */
    fsim_priced priced;    /* where the bound is one by prices: these */
    fsim_open_part layers; /* equal layers that keep the proof open; last 0: none */
    bool in_parts;         /* some piece was searched without kernels of independent parts */
    bool short_of_given;   /* the bound is of a graph without what makes its masks: a search of all of it is too wide */
    bool masked;           /* may some chain of contractions skip what a causal mask hides? */
    bool brief;            /* no piece is searched with every possible copy, which is enough where that proves a plan */
    bool hurried;          /* some piece would be otherwise */
} solver;

/* What is bounded so closely, but for what makes masks, is not searched in pieces. */
static const double close_enough = 0.99;

/* Does node read all elements of each argument? Every plan then reads, and computes, each of them at least once. */
static bool reads_all(const fsim_graph *g, const fsim_node *n)
{
    for (int k = 0; k < n->args; k++)
        if (n->arg[k].how == FSIM_READ_INDIRECT || n->arg[k].distinct < g->tensor[n->arg[k].tensor].elems)
            return false;
    return true;
}

/* Is argument k of the primitive a graph input that no primitive outside of node[0, count) reads, and that this one
 * reads first? Elsewhere another piece may have left it in L2. */
static bool first_read(const fsim_problem *p, const int *node, int count, int at, int k)
{
    const fsim_node *n = &p->graph->node[node[at]];
    const fsim_tensor *t = &p->graph->tensor[n->arg[k].tensor];
    bool first = t->producer < 0 && t->reader[0] == node[at] && !(p->warm && fsim_may_reside(p, n->arg[k].tensor));
    for (int r = 0; first && r < t->readers; r++)
        first = bsearch(&t->reader[r], node, (size_t)count, sizeof *node, fsim_by_int) != NULL;
    for (int q = 0; q < k; q++)
        first = first && n->arg[q].tensor != n->arg[k].tensor;
    return first;
}

/* A lower bound for every plan of these primitives: graph inputs read and outputs written once, arithmetic once at
 * full rate, one launch. 0 where some primitive reads only a part of its argument, because the rest need not be
 * computed. */
static fsim_sum compulsory_of(const solver *s, const int *node, int count)
{
    const fsim_problem *p = s->p;
    const fsim_graph *g = p->graph;
    const fsim_floor floor = fsim_floor_of(p, node, count);
    fsim_unit_seconds all = {{0}};
    double launches = 0;
    for (int i = 0; i < count; i++) {
        const fsim_node *n = &g->node[node[i]];
        if (!reads_all(g, n))
            return 0;
        if (n->gemm.k) {
            const fsim_floor_product least = fsim_floor_contraction(&floor, node[i], s->masked);
            all.s[FSIM_FLOOR_WORK] += least.work_s;
            launches += least.launches;
        }
        fsim_floor_add(&all, fsim_floor_arithmetic(&floor, n));
        if (g->tensor[n->result[0]].output)
            fsim_floor_add(&all, fsim_floor_write(&floor, &g->tensor[n->result[0]]));
        for (int k = 0; k < n->args; k++)
            if (first_read(p, node, count, i, k) &&
                (floor.arithmetic || n->gemm.k || g->tensor[n->arg[k].tensor].role != FSIM_WEIGHT))
                fsim_floor_add(&all, fsim_floor_read(&floor, &n->arg[k]));
    }
    if (p->objective == FSIM_MINIMISE_BYTES)
        return (fsim_sum)all.s[FSIM_FLOOR_DRAM];
    return (fsim_sum)((fmax(1, launches) * fsim_floor_launch(p) + fsim_floor_norm(&all)) * (1 - 1e-9) / FSIM_TICK_S);
}

static bool one_kernel(solver *s, const int *node, int count)
{
    fsim_problem *p = s->p;
    fsim_group whole;
    fsim_refusal why;
    bool *stored = fsim_new(s->a, bool, count);
    if (!fsim_user_allows(p, node, count, &why) || !fsim_legal(&p->limits, node, count, s->a, &whole, &why))
        return false;
    for (int i = 0, w = 0; i < count; i++) {
        for (int r = 0; r < p->graph->node[node[i]].results; r++)
            while (w < whole.writes && whole.write[w].tensor == p->graph->node[node[i]].result[r]) {
                stored[i] = true;
                w++;
            }
    }
    /* writes are in the order of nodes, so the loop above finds each */
    fsim_candidate *c = fsim_candidate_of(p, node, count, stored);
    if (!c->legal)
        return false;
    bool *hit = fsim_new(s->a, bool, whole.reads + 1), *absorbed = fsim_new(s->a, bool, whole.writes + 1);
    for (int r = 0; r < whole.reads; r++) /* L2 hits could make a split faster: nothing is proven then */
        if (p->warm && fsim_may_reside(p, whole.read[r].tensor))
            return false;
    const fsim_kernel *k = fsim_kernel_for(p, c, hit, absorbed);
    /* a split needs another launch: if the penalty is smaller than that, one kernel is still best */
    const fsim_sum second =
        p->objective == FSIM_MINIMISE_TIME ? (fsim_sum)(fsim_floor_launch(p) * (1 - 1e-9) / FSIM_TICK_S) : 0;
    /* a split might coalesce strided accesses better */
    if (!k || ((k->penalised || k->coalescing < 1 || k->shared_bytes_moved > 0) &&
               fsim_objective_of(p, k) > compulsory_of(s, node, count) + second))
        return false;
    for (int r = 0; r < whole.reads; r++)
        if (p->graph->tensor[whole.read[r].tensor].producer >= 0 || p->graph->tensor[whole.read[r].tensor].readers > 1)
            for (int i = 0; i < p->graph->tensor[whole.read[r].tensor].readers; i++) {
                const int reader = p->graph->tensor[whole.read[r].tensor].reader[i];
                const bool outside = !bsearch(&reader, node, (size_t)count, sizeof reader, fsim_by_int);
                if ((outside || p->graph->tensor[whole.read[r].tensor].producer >= 0) &&
                    fsim_may_reside(p, whole.read[r].tensor))
                    hit[r] = true; /* it may be in L2 when the piece starts: assume so for the bound */
            }
    for (int w = 0; w < whole.writes; w++) {
        const fsim_tensor *t = &p->graph->tensor[whole.write[w].tensor];
        absorbed[w] = !t->output && !t->materialize && t->readers > 0 && fsim_may_reside(p, whole.write[w].tensor);
    }
    const fsim_kernel *least = fsim_kernel_for(p, c, hit, absorbed);
    fsim_part *part = &s->found.part[s->found.parts++];
    part->count = count;
    part->node = fsim_new(s->a, int, count);
    part->clone = fsim_new(s->a, bool, count);
    memcpy(part->node, node, (size_t)count * sizeof *node);
    s->bound += fsim_objective_of(p, least ? least : k);
    s->considered++;
    return true;
}

static fsim_thoroughness how_for(solver *s, int count)
{
    s->hurried = s->hurried || (count <= WHOLE_MOST && s->brief);
    return count <= WHOLE_MOST && !s->brief ? FSIM_EVERY_CLONE : FSIM_BEST_ONLY;
}

static void add_singles(solver *s, const int *node, int count)
{
    for (int i = 0; i < count; i++) {
        fsim_part *part = &s->found.part[s->found.parts++];
        *part = (fsim_part){1, fsim_new(s->a, int, 1), fsim_new(s->a, bool, 1)};
        part->node[0] = node[i];
    }
}

/* Solves a piece with very many sets without what makes its masks and tables, which bounds it and leads to a plan. */
static bool solve_without_given(solver *s, const int *node, int count, const fsim_budget *budget)
{
    fsim_without y = {.far = FSIM_FAR_READER};
    const bool found = fsim_search_without_given(s->p, node, count, budget, s->a, &y);
    s->considered += y.groups;
    s->states += y.states;
    for (int i = 0; i < y.part.parts && found; i++)
        s->found.part[s->found.parts++] = y.part.part[i];
    const fsim_sum least = found ? compulsory_of(s, node, count) : 0;
    s->bound += y.bound > least ? y.bound : least;
    s->short_of_given = s->short_of_given || found;
    return found;
}

/* A graph with gradients has very many choices of clones: few of them at first, which says enough of the others for a
 * bound, and all of them where much of the budget is left. */
static fsim_frontier *parted(solver *s, const int *node, int count, const fsim_budget *budget)
{
    const int64_t began = fsim_work(s->p);
    if (!s->p->graph->barrier)
        return fsim_frontier_of(s->p, node, count, FSIM_PARTED, budget, s->a);
    fsim_one_side *few = fsim_new(s->a, fsim_one_side, 1);
    few->clone_sets = FSIM_FEW_CLONE_SETS;
    fsim_frontier *first = fsim_frontier_of_side(s->p, node, count, (fsim_scope){FSIM_PARTED, few}, budget, s->a);
    if (first && (budget->steps - fsim_work(s->p)) / MORE_CLONES < fsim_work(s->p) - began)
        return first;
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(budget, s->p, 1, &spent);
    fsim_frontier *all = fsim_frontier_of(s->p, node, count, FSIM_PARTED, &own, s->a);
    return first && fsim_frontier_bound(first) > fsim_frontier_bound(all) ? first : all;
}

/* given: a piece with very many sets may be solved without what makes its masks; NULL where that is so. */
static fsim_frontier *searched(solver *s, const int *node, int count, const fsim_budget *budget, bool given)
{
    const fsim_thoroughness how = how_for(s, count);
    fsim_frontier *f =
        fsim_frontier_of(s->p, node, count, how == FSIM_BEST_ONLY ? FSIM_UNLESS_WIDE : how, budget, s->a);
    if (!fsim_frontier_gave_up(f))
        return f;
    if (given && solve_without_given(s, node, count, budget))
        return NULL;
    f = parted(s, node, count, budget);
    return fsim_frontier_has_parts(f) ? f : fsim_frontier_of(s->p, node, count, how, budget, s->a);
}

/* Solves a piece by dynamic programming. If the budget ends first, the remaining primitives are a kernel each. */
static void solve(solver *s, const int *node, int count, bool alone)
{
    if (s->budget.spent->over) {
        s->bound += compulsory_of(s, node, count);
        add_singles(s, node, count);
        return;
    }
    fsim_spent spent;
    const fsim_budget half = fsim_budget_share(&s->budget, s->p, PIECE_SHARES, &spent);
    fsim_frontier *f = searched(s, node, count, alone ? &s->budget : &half, true);
    if (!f)
        return;
    s->budget.spent->over = s->budget.spent->over || (!alone && spent.over);
    const fsim_sum least = compulsory_of(s, node, count), found = fsim_frontier_bound(f);
    s->bound += found > least ? found : least;
    s->considered += fsim_frontier_groups(f);
    s->states += fsim_frontier_states(f);
    if (!fsim_frontier_plan(f, &s->found, s->a))
        add_singles(s, node, count);
    s->in_parts = s->in_parts || fsim_frontier_has_parts(f);
    s->only = alone ? f : NULL;
}

static void solve_pieces(solver *s)
{
    const fsim_graph *g = s->p->graph;
    int *piece = fsim_pieces(s->p, s->a), *next = fsim_new(s->a, int, g->nodes + 1),
        *first = fsim_new(s->a, int, g->nodes + 1), *last = fsim_new(s->a, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++) {
        next[n] = -1;
        const int root = piece[n];
        if (first[root] == 0)
            first[root] = n + 1;
        else
            next[last[root]] = n;
        last[root] = n;
    }
    for (int n = 0; n < g->nodes; n++) {
        int count = 0;
        if (first[piece[n]] != n + 1)
            continue;
        for (int i = n; i >= 0; i = next[i])
            count++;
        int *node = fsim_new(s->a, int, count);
        count = 0;
        for (int i = n; i >= 0; i = next[i])
            node[count++] = i;
        fsim_progress_done(s->p, n, g->nodes);
        fsim_within(&s->budget, s->p);
        if (s->budget.spent->over || !one_kernel(s, node, count))
            solve(s, node, count, count == g->nodes);
    }
}

/* The objective of the best plan so far. */
static fsim_sum cost_of(const fsim_plan *best) { return best->kernels > 0 ? best->objective : FSIM_SUM_MOST; }

typedef struct {
    fsim_problem *p;
    fsim_arena *keep;
    fsim_plan *best;
    fsim_sum limit;
} visitor;

static bool visit(void *to, const fsim_partition *part)
{
    visitor *v = to;
    fsim_improve(v->p, part, v->keep, v->best);
    v->limit = cost_of(v->best);
    return true;
}

/* Step 4: raises the bound, and may find a better plan. */
static void close_gap(solver *s, fsim_arena *keep, fsim_plan *best)
{
    fsim_problem *p = s->p;
    const int nodes = p->graph->nodes;
    int *node = fsim_new(s->a, int, nodes + 1);
    for (int n = 0; n < nodes; n++)
        node[n] = n;
    fsim_frontier *f = s->only ? s->only : searched(s, node, nodes, &s->budget, false);
    s->last = f;
    fsim_partition part = {0, fsim_new(s->a, fsim_part, nodes + 1)};
    fsim_sum bound = fsim_frontier_bound(f);
    s->bound = bound > s->bound ? bound : s->bound;
    if (!s->only && fsim_frontier_plan(f, &part, s->a))
        fsim_improve(p, &part, keep, best);
    part.parts = 0;
    if (s->bound < cost_of(best)) {
        if (fsim_frontier_with_l2(f, cost_of(best), &s->budget, &part, &bound, s->a))
            fsim_improve(p, &part, keep, best);
        if (!fsim_frontier_has_parts(
                f)) /* a part may find less in L2 where it is searched than where its kernel runs */
            s->bound = bound > s->bound ? bound : s->bound;
    }
    if (s->bound < cost_of(best) && nodes <= VISITED_MOST) {
        if (how_for(s, nodes) != FSIM_EVERY_CLONE)
            f = fsim_frontier_of(p, node, nodes, FSIM_EVERY_CLONE, &s->budget, s->a);
        visitor v = {p, keep, best, cost_of(best)};
        if (fsim_frontier_each(f, &v.limit, &s->budget, visit, &v) && fsim_frontier_complete(f))
            s->bound = cost_of(best);
    }
}

/* A plan that is not proven is crossed with those that are known. */
static void cross(solver *s, const fsim_plan *known, int count, fsim_arena *keep, fsim_plan *best)
{
    const fsim_plan before = *best;
    fsim_cross_all(s->p, s->bound, known, count, keep, best);
    fsim_cross_all(s->p, s->bound, s->rival, s->rivals, keep, best);
    fsim_undo_unless_worthy(&before, best);
}

/* A plan that is not proven is changed for as long as that pays and a part of the steps lasts. */
static void polish(solver *s, fsim_arena *keep, fsim_plan *best)
{
    fsim_spent spent;
    fsim_problem part = *s->p;
    part.search_steps =
        part.search_steps < POLISH_STEPS * POLISH_SHARES ? part.search_steps / POLISH_SHARES : POLISH_STEPS;
    const fsim_budget own = fsim_budget_of(&part, &spent);
    const fsim_plan before = *best;
    fsim_polish(s->p, &own, keep, best);
    fsim_undo_unless_worthy(&before, best);
    if (spent.end == FSIM_SEARCH_STOPPED_BY_CLOCK)
        s->budget.spent->end = spent.end;
}

/* What keeps the proof open. */
static void find_open(solver *s, const fsim_plan *best, fsim_proof *proof)
{
    if (s->priced.price) {
        fsim_open_priced(s->p, &s->priced, s->bound, best, proof, s->a);
    } else if (s->last && !s->budget.spent->over) {
        fsim_frontier_open(s->last, best, s->bound, proof);
    } else if (s->layers.last > 0) {
        s->layers.gap = (double)(best->objective - s->bound) / (double)best->objective;
        proof->open[proof->opens++] = s->layers;
    }
}

/* Is one kernel for the whole graph best, whatever layers it has? */
static bool is_one_kernel(solver *s)
{
    const int nodes = s->p->graph->nodes;
    int *node = fsim_new(s->a, int, nodes + 1);
    for (int n = 0; n < nodes; n++)
        node[n] = n;
    return nodes > 0 && !s->budget.spent->over && one_kernel(s, node, nodes);
}

/* Equal layers are searched once. False where that proves nothing. */
static bool by_layers(solver *s, fsim_arena *keep, fsim_plan *best)
{
    fsim_layered y;
    fsim_spent spent;
    const fsim_budget own = fsim_budget_but_share(&s->budget, s->p, WHOLE_SHARES, &spent);
    const bool found = !s->p->each_layer && fsim_search_layers(s->p, &own, s->a, &y);
    s->budget.spent->over = s->budget.spent->over || spent.over;
    s->considered += found ? y.groups : 0;
    s->states += found ? y.states : 0;
    if (found) {
        if (y.part.parts > 0)
            fsim_improve(s->p, &y.part, keep, best);
        s->bound = y.bound;
        s->layers = (fsim_open_part){y.first, y.last, 0};
        fsim_progress_bound(s->p, s->bound);
    }
    return found;
}

/* Graphs with gradients: the sides of the barrier apart. */
static void by_sides(solver *s, fsim_arena *keep, fsim_plan *best)
{
    fsim_sides y;
    fsim_spent spent;
    const fsim_budget own = fsim_budget_but_share(&s->budget, s->p, SIDE_SHARES, &spent);
    if (s->p->graph->nodes <= SMALL || !fsim_search_sides(s->p, &own, s->a, &y))
        return;
    s->budget.spent->over = s->budget.spent->over || spent.over;
    s->considered += y.groups;
    s->states += y.states;
    s->least = y.bound;
    s->before = y.before;
    if (y.part.parts > 0)
        fsim_improve(s->p, &y.part, keep, best);
    fsim_progress_bound(s->p, s->least);
}

/* One piece after the other. whole: the graph is one kernel, and found already. */
static void by_pieces(solver *s, bool whole, fsim_arena *keep, fsim_plan *best)
{
    const solver begun = *s;
    const fsim_plan before = *best;
    if (!whole)
        solve_pieces(s);
    fsim_progress_bound(s->p, s->bound);
    fsim_progress_phase(s->p, "merges");
    fsim_improve(s->p, &s->found, keep, best);
    fsim_plan merged;
    if (s->in_parts && fsim_merge_greedily(s->p, &s->found, s->a, &merged))
        fsim_improve(s->p, &merged.partition, keep, best);
    s->brief = false;
    if (!s->hurried || s->bound >= cost_of(best))
        return;
    *s = begun;
    s->brief = false;
    *best = before;
    by_pieces(s, whole, keep, best);
}

/* The whole graph by the prices of its primitives. Need it not be searched in pieces? */
static bool by_prices(solver *s, fsim_arena *keep, fsim_plan *best)
{
    fsim_priced y;
    fsim_spent spent;
    fsim_budget own = fsim_budget_but_share(&s->budget, s->p, WHOLE_SHARES, &spent);
    const bool limited = own.steps < INT64_MAX / 2;
    own.steps += limited ? s->p->search_steps / 2 * PRICE_STEPS : 0;
    if (spent.end == FSIM_SEARCH_STOPPED_BY_STEPS && own.steps > fsim_work(s->p))
        spent.end = FSIM_SEARCH_NOT_STOPPED;
    fsim_progress_phase(s->p, "prices");
    if (best->kernels == 0 || fsim_late(s->p))
        return false;
    fsim_search_priced(s->p, best->objective, &own, s->a, &y);
    s->considered += y.groups;
    s->states += y.states;
    s->budget.spent->over = s->budget.spent->over || spent.over;
    const int64_t enough = limited ? fsim_work(s->p) + s->p->search_steps / PIECE_STEPS : 0;
    s->budget.steps = s->budget.steps > enough ? s->budget.steps : enough;
    for (int i = 0; i < 2; i++)
        if (y.part[i].parts > 0)
            fsim_improve(s->p, &y.part[i], keep, best);
    if (y.bound > s->bound && y.bound > s->least) {
        s->priced = y;
        s->least = y.bound < cost_of(best) ? y.bound : cost_of(best);
        fsim_progress_bound(s->p, s->least);
    }
    const bool close = (double)s->least >= (double)cost_of(best) * close_enough;
    return s->least >= cost_of(best) || (y.shortened && y.ended && close) || !fsim_within(&s->budget, s->p);
}

/* The best of those plans replaces *best where it is better. */
static void take_better(const fsim_plan *known, int count, fsim_plan *best)
{
    for (int i = 0; i < count; i++)
        if (known[i].kernels > 0 && known[i].objective < cost_of(best))
            *best = known[i];
}

static void take_rivals(solver *s, fsim_arena *keep, fsim_plan *best)
{
    if (!s->p->rivals || s->p->rivals->graph != s->p->graph)
        return;
    fsim_plan *rival = fsim_new(keep, fsim_plan, s->p->rivals->most + 1);
    s->rivals = s->p->rivals->make(s->p->rivals, s->p, keep, rival);
    take_better(s->rival = rival, s->rivals, best);
}

/* A plan to begin with. */
static void find_first_plan(solver *s, const fsim_plan *known, int count, fsim_arena *keep, fsim_plan *best)
{
    fsim_plan merged;
    const fsim_partition singles = fsim_singles(s->p, s->a);
    take_better(known, count, best);
    take_rivals(s, keep, best);
    if (fsim_within(&s->budget, s->p) && !fsim_late(s->p) && fsim_merge_greedily(s->p, &singles, s->a, &merged))
        fsim_improve(s->p, &merged.partition, keep, best);
}

void fsim_optimal(fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out, fsim_proof *proof)
{
    const int64_t began = fsim_work(p);
    fsim_arena *scratch = fsim_arena_new();
    fsim_spent spent;
    solver s = {.p = p, .a = scratch, .masked = fsim_floor_may_be_masked(p)};
    s.budget = fsim_budget_of(p, &spent);
    s.found.part = fsim_new(scratch, fsim_part, p->graph->nodes * 2 + 2);
    const bool rivals = p->rivals && p->rivals->graph == p->graph;
    *proof = (fsim_proof){0};
    *out = (fsim_plan){0};
    s.brief = rivals;
    fsim_progress_phase(p, "search");
    const bool whole = is_one_kernel(&s);
    if (!whole)
        by_sides(&s, a, out);
    bool priced = false, compared = false;
    if (whole || !by_layers(&s, a, out)) {
        if (!whole && p->graph->nodes > LONG && p->graph->fuses == 0) {
            find_first_plan(&s, known, count, a, out);
            compared = true;
            priced = by_prices(&s, a, out);
        }
        if (!priced)
            by_pieces(&s, whole, a, out);
    }
    s.bound = s.least > s.bound ? s.least : s.bound;
    if (!compared) {
        take_better(known, count, out);
        if (s.bound < cost_of(out))
            take_rivals(&s, a, out);
    }
    fsim_partition asked;
    if (out->kernels == 0 && fsim_as_asked(p, scratch, &asked))
        fsim_improve(p, &asked, a, out);
    fsim_plan better;
    if (s.bound < cost_of(out) && !fsim_late(p)) {
        if (out->kernels > 0 && fsim_merge_greedily(p, &out->partition, scratch, &better))
            fsim_improve(p, &better.partition, a, out);
        const fsim_partition singles = fsim_singles(p, scratch);
        if (p->graph->fuses == 0 && !compared && fsim_merge_greedily(p, &singles, scratch, &better))
            fsim_improve(p, &better.partition, a, out);
    }
    fsim_progress_phase(p, "search with L2");
    if (s.bound < cost_of(out) && !priced && !spent.over && !fsim_late(p) && !s.short_of_given)
        close_gap(&s, a, out);
    if (s.bound < cost_of(out) && !compared && p->graph->fuses == 0 && !fsim_late(p)) {
        by_prices(&s, a, out);
        s.bound = s.least > s.bound ? s.least : s.bound;
    }
    cross(&s, known, count, a, out);
    if (s.bound < cost_of(out) && out->kernels > 0 && out->kernels <= POLISH_PARTS)
        polish(&s, a, out);
    out->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
    const double unit = p->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    assert(out->kernels == 0 || s.bound <= out->objective); /* a bound above a plan is none */
    proof->proven = out->kernels > 0 && s.bound >= out->objective;
    proof->lower_bound = (double)(proof->proven ? out->objective : s.bound) * unit;
    proof->before_s = (double)s.before * FSIM_TICK_S;
    proof->groups_considered = s.considered;
    proof->states = s.states;
    if (!proof->proven && out->kernels > 0)
        find_open(&s, out, proof);
    proof->end = proof->proven ? FSIM_SEARCH_NOT_STOPPED : spent.end;
    proof->steps = fsim_work(p) - began;
    proof->search_s = fsim_seconds_of(proof->steps);
    fsim_arena_free(scratch);
}

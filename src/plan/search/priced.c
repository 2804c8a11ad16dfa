/* SPDX-License-Identifier: Apache-2.0 */
/* priced.c: prices first (shadow.c), which bound every plan. A plan that is better than a known one has no kernel, and
 * no beginning, that costs so much beyond its primitives' prices as the known one costs beyond the bound; the search
 * for it looks at nothing else. If it ends, what it found is the best plan, or the known one is. */
#include "plan/search/priced.h"

#include "plan/price/calls.h"
#include "plan/search/given.h"
#include "plan/search/shadow.h"
#include <limits.h>

enum {
    LIST_SHARES = 4,  /* prices leave this part of the budget, */
    SEARCH_SHARES = 2 /* of which a search may take this part */
};

/* How the sets that may be kernels are listed. */
typedef struct {
    fsim_scope scope;
    int leaves; /* this part of what is left of the budget is for those behind it */
} listing;
/* Of a step of training very many sets begin with one primitive, by sums of gradients beside each other; all of them
 * can be listed where none is too wide for the bits. */
enum { WIDE_SETS = 150000 };
static const listing whole_way[] = {
    {{FSIM_UNLESS_WIDE, &(const fsim_one_side){.wide = WIDE_SETS, .clone_sets = FSIM_FEW_CLONE_SETS}}, 4},
    {{FSIM_UNLESS_WIDE, &(const fsim_one_side){.wide = WIDE_SETS, .clone_sets = 50}}, 2},
    {{FSIM_UNLESS_WIDE, &(const fsim_one_side){.wide = WIDE_SETS}}, INT_MAX}};
enum { WHOLE_WAYS = sizeof whole_way / sizeof whole_way[0] };
/* All of them; or the few that soon bound a plan, and then more and more of those that begin with one primitive, with
 * more and more choices of clones. What is in others is worth its work. */
static const listing way[] = {
    {{FSIM_UNLESS_WIDE, NULL}, 3},
    {{FSIM_LINKED, &(const fsim_one_side){.most = 20, .clone_sets = FSIM_FEW_CLONE_SETS}}, 4},
    {{FSIM_LINKED, &(const fsim_one_side){.most = 100, .clone_sets = FSIM_FEW_CLONE_SETS}}, 2},
    {{FSIM_LINKED, &(const fsim_one_side){.most = 600, .clone_sets = 8}}, 2},
    {{FSIM_LINKED, &(const fsim_one_side){.most = 4000, .clone_sets = 50}}, 4},
    {{FSIM_LINKED, NULL}, INT_MAX}};
enum { WAYS = sizeof way / sizeof way[0] };
/* Where prices without what is given reach less of the known plan, those of the whole graph may reach more. */
static const double close_enough = 0.95;

/* The graph that is searched: p's, or that without what is given. */
typedef struct {
    fsim_problem p;
    const fsim_budget *whole;       /* what the whole graph has, by its own work, */
    const fsim_shortened *left_out; /* and what was left out of it; NULL: nothing */
    const int *node;
    int nodes;
    fsim_shadow shadow;
    fsim_sum givens;  /* what the kernels of nothing but what is left out cost at least; */
    fsim_sum *price;  /* per primitive of the whole graph: its part of that; NULL: nothing was left out */
    fsim_sum floor;   /* the work that no plan can avoid */
    fsim_frontier *f; /* NULL: no prices were found */
    fsim_scope scope; /* of the frontier, */
    fsim_arena *kept; /* and where it lives; NULL: there is none */
} part_priced;

static fsim_sum bound_of(const part_priced *x) { return x->shadow.bound + x->givens; }

/* Lists the sets in the first of these ways that leaves none out, or in all of them, and keeps the prices that bound
 * plans best; enough where that is `known`. */
static void find_prices(part_priced *x, const fsim_budget *budget, const listing *of, int ways, fsim_sum known,
                        fsim_arena *a)
{
    fsim_spent *most = fsim_new(a, fsim_spent, 1); /* the frontiers refer to both */
    fsim_budget *all = fsim_new(a, fsim_budget, 1);
    *all = fsim_budget_but_share(budget, &x->p, LIST_SHARES, most);
    bool ended = false;
    for (int i = 0; i < ways && !ended; i++) {
        fsim_shadow shadow;
        fsim_arena *own = fsim_arena_new();
        fsim_spent *spent = fsim_new(own, fsim_spent, 1);
        const fsim_budget part = fsim_budget_but_share(all, &x->p, of[i].leaves, spent);
        fsim_frontier *f = fsim_frontier_ready(&x->p, x->node, x->nodes, of[i].scope, &part, own);
        if (!of[i].scope.side)
            fsim_frontier_raise_within(f, all);
        x->floor = fsim_frontier_floor(f);
        const bool found = !fsim_frontier_gave_up(f) && fsim_find_shadow(f, &shadow),
                   knows_all = found && fsim_frontier_knows_all(f),
                   enough = found && ((knows_all && !of[i].scope.side) || shadow.bound >= known),
                   better = found && (!x->f || shadow.bound >= x->shadow.bound || enough);
        ended = enough || (of == whole_way ? !found : !better && of[i].scope.how == FSIM_LINKED); /* more take more */
        fsim_arena *left = better ? x->kept : own;
        if (left)
            fsim_arena_free(left);
        if (better) {
            x->f = f;
            x->shadow = shadow;
            x->scope = of[i].scope;
            x->kept = own;
        }
        if (knows_all && of[i].scope.how == FSIM_LINKED && i < ways - 2)
            i = ways - 2; /* what is left are choices of clones */
    }
}

/* The objective of the partition; `known` where it is no better. */
static fsim_sum better_of(fsim_problem *p, const fsim_partition *part, fsim_arena *a, fsim_sum known)
{
    fsim_plan plan;
    fsim_refusal why;
    return fsim_price(p, part, a, &plan, &why) && plan.objective < known ? plan.objective : known;
}

/* Looks for a plan that costs less than `known`, by f; returns what the best one costs then. */
static fsim_sum search_once(fsim_problem *p, const part_priced *x, fsim_sum known, const fsim_budget *budget,
                            fsim_priced *out, fsim_arena *a)
{
    fsim_frontier_limit(x->f, &x->shadow, known - x->givens, budget);
    fsim_frontier_search(x->f);
    if (!fsim_frontier_plan(x->f, &out->part[0], a))
        return known;
    if (x->left_out)
        fsim_add_given(p, x->left_out, x->whole, a, &out->part[0]);
    return better_of(p, &out->part[0], a, known);
}

static bool has_ended(const fsim_spent *spent) { return spent->end == FSIM_SEARCH_NOT_STOPPED && !spent->over; }

/* Looks for plans that cost less than `known`: first for those that owe nothing (owed.c), which are far fewer. */
static void search(fsim_problem *p, part_priced *x, fsim_sum known, const fsim_budget *budget, fsim_arena *a,
                   fsim_priced *out)
{
    fsim_sum most = known;
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(budget, &x->p, SEARCH_SHARES, &spent);
    fsim_frontier_owes_nothing(x->f);
    known = search_once(p, x, known, &own, out, a);
    if (!fsim_frontier_knows_all(x->f))
        return;
    if (fsim_frontier_left_owed_out(x->f)) {
        if (!has_ended(&spent))
            return;
        most = known;
        x->f = fsim_frontier_ready(&x->p, x->node, x->nodes, x->scope, &own, a);
        fsim_priced more = {.part = {{0, fsim_new(a, fsim_part, 2 * p->graph->nodes + 2)}}};
        known = search_once(p, x, known, &own, &more, a);
        if (known < most)
            out->part[0] = more.part[0];
    }
    fsim_sum bound = fsim_sum_least(x->givens + fsim_frontier_bound(x->f), most);
    out->bound = bound > out->bound ? bound : out->bound;
    out->ended = has_ended(&spent);
    if (x->left_out || fsim_frontier_has_parts(x->f) || out->bound >= known || !out->ended)
        return;
    fsim_frontier_with_l2(x->f, known, &own, &out->part[1], &bound, a);
    out->ended = has_ended(&spent);
    bound = fsim_sum_least(bound, most);
    out->bound = bound > out->bound ? bound : out->bound;
}

/* What is worth what, by the numbers of the whole graph. */
static fsim_sum *prices_of(const fsim_problem *p, const part_priced *x, fsim_arena *a)
{
    fsim_sum *price = x->left_out ? x->price : fsim_new(a, fsim_sum, p->graph->nodes + 1);
    for (int i = 0; i < x->nodes; i++)
        price[x->left_out ? x->left_out->origin[x->node[i]] : x->node[i]] = x->shadow.price[i];
    return price;
}

/* The calls, with what is left of their primitives. */
static void ask_for_calls(const part_priced *y, const fsim_worth *whole, fsim_worth *own, fsim_arena *a)
{
    fsim_call_price *call = fsim_new(a, fsim_call_price, whole->calls + 1);
    int *here = fsim_new(a, int, whole->graph->nodes + 1); /* per primitive of the whole graph: 1 + its number here */
    for (int i = 0; i < y->nodes; i++)
        here[y->left_out->origin[y->node[i]]] = 1 + y->node[i];
    for (int c = 0; c < whole->calls; c++) {
        call[c] = (fsim_call_price){0, fsim_new(a, int, whole->call[c].nodes + 1), whole->call[c].least_s};
        for (int i = 0; i < whole->call[c].nodes; i++)
            if (here[whole->call[c].node[i]])
                call[c].node[call[c].nodes++] = here[whole->call[c].node[i]] - 1;
    }
    own->call = call;
    own->calls = whole->calls;
}

/* Asks what the primitives are worth without what is given, in *own, for who asks it of the whole graph. */
static void ask_worth(part_priced *y, fsim_worth *own, fsim_arena *a)
{
    const fsim_worth *whole = y->p.worth;
    bool *nothing = fsim_new(a, bool, y->p.graph->nodes + 1);
    for (int i = 0; whole && i < y->nodes; i++)
        nothing[y->node[i]] = whole->nothing[y->left_out->origin[y->node[i]]];
    *own = (fsim_worth){.graph = y->p.graph, .nothing = nothing, .a = a};
    if (whole)
        ask_for_calls(y, whole, own, a);
    y->p.worth = whole ? own : NULL;
}

/* What is given is worth nothing. */
static void tell_worth(const fsim_problem *p, const part_priced *y)
{
    const fsim_worth *own = y->p.worth;
    fsim_worth *whole = p->worth;
    if (!own)
        return;
    for (const fsim_told_worth *x = own->first_told; x; x = x->next) {
        fsim_told_worth *told = fsim_new(whole->a, fsim_told_worth, 1);
        *told = (fsim_told_worth){fsim_new(whole->a, fsim_sum, p->graph->nodes + 1), x->shared, whole->first_told};
        for (int i = 0; i < y->nodes; i++)
            told->of[y->left_out->origin[y->node[i]]] = x->of[y->node[i]];
        whole->first_told = told;
    }
    whole->bound = fsim_sum_most(whole->bound, own->bound);
}

void fsim_search_priced(fsim_problem *p, fsim_sum known, const fsim_budget *budget, fsim_arena *a, fsim_priced *out)
{
    const int nodes = p->graph->nodes;
    int *node = fsim_new(a, int, nodes + 1);
    part_priced x = {.p = *p, .whole = budget, .node = node, .nodes = nodes}, y; /* y: its frontier refers to it */
    fsim_shortened without;
    fsim_worth worth;
    fsim_spent spent;
    fsim_budget own = *budget;
    int64_t counted = 0; /* work without what is given that p has counted */
    *out = (fsim_priced){.part = {{0, fsim_new(a, fsim_part, 2 * nodes + 2)}, {0, fsim_new(a, fsim_part, nodes + 1)}}};
    for (int n = 0; n < nodes; n++)
        node[n] = n;
    if (p->graph->derived == FSIM_REVERSE)
        find_prices(&x, budget, whole_way, WHOLE_WAYS, known, a);
    const bool shortens = !x.f && fsim_leave_out_given(p, node, nodes, FSIM_FAR_READER, a, &without);
    if (!x.f)
        find_prices(&x, budget, way, shortens ? 1 : WAYS, known, a);
    if (!x.f && shortens) {
        y = (part_priced){.p = *p, .whole = budget, .left_out = &without, .node = without.node, .nodes = without.nodes};
        y.p.graph = y.p.limits.graph = without.graph;
        y.p.progress = NULL;
        y.p.store = fsim_store_new(a);
        ask_worth(&y, &worth, a);
        own = fsim_budget_left(budget, p, &spent);
        find_prices(&y, &own, way, WAYS, known, a);
        if (y.f) {
            y.price = fsim_new(a, fsim_sum, nodes + 1);
            y.givens = fsim_price_given(p, &without, budget, a, y.price);
        }
        counted = fsim_work(&y.p);
        fsim_add_work(p, counted);
        if (!y.f || (double)bound_of(&y) < (double)known * close_enough)
            find_prices(&x, budget, way + 1, WAYS - 1, known, a);
        y.floor = x.floor > y.floor ? x.floor : y.floor;
        const bool without_is_better = y.f && (!x.f || bound_of(&y) > bound_of(&x));
        fsim_arena *left = without_is_better ? x.kept : y.kept;
        if (left)
            fsim_arena_free(left);
        if (without_is_better) {
            x = y;
            tell_worth(p, &y);
        }
        own.steps = counted + (budget->steps > fsim_work(p) ? budget->steps - fsim_work(p) : 0);
    }
    out->bound = x.floor;
    if (x.f) {
        out->bound = bound_of(&x) > x.floor ? bound_of(&x) : x.floor;
        out->price = prices_of(p, &x, a);
        if (out->bound < known)
            search(p, &x, known, x.left_out ? &own : budget, a, out);
        out->groups = fsim_frontier_groups(x.f);
        out->states = fsim_frontier_states(x.f);
        fsim_arena_free(x.kept);
    }
    out->ended = out->ended || out->bound >= known;
    out->shortened = x.left_out != NULL;
    if (x.left_out) {
        fsim_add_work(p, fsim_work(&x.p) - counted);
        budget->spent->over = budget->spent->over || spent.over;
        budget->spent->end = spent.end;
    }
}

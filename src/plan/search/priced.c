/* SPDX-License-Identifier: Apache-2.0 */
/* priced.c: prices first (shadow.c), which bound every plan. A plan that is better than a known one has no kernel, and
 * no beginning, that costs so much beyond its primitives' prices as the known one costs beyond the bound; the search
 * for it looks at nothing else. If it ends, what it found is the best plan, or the known one is. */
#include "plan/search/priced.h"

#include "plan/search/given.h"
#include "plan/search/shadow.h"

enum { WAYS = 3, SEARCH_SHARES = 2 }; /* a search may take this part of the budget that prices leave */
static const fsim_thoroughness way[WAYS] = {FSIM_UNLESS_WIDE, FSIM_PARTED, FSIM_LINKED};
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
    /* FSIM_LINKED: what may be in kernels that are too wide for the bits is worth its work only */
    fsim_thoroughness how;
} part_priced;

static fsim_sum bound_of(const part_priced *x) { return x->shadow.bound + x->givens; }

/* Prepares the list and finds its prices, in the first of these ways in which there are any. */
static bool find_prices(part_priced *x, const fsim_budget *budget, const fsim_thoroughness *of, int ways, fsim_arena *a)
{
    for (int i = 0; i < ways; i++) {
        fsim_frontier *f = fsim_frontier_ready(&x->p, x->node, x->nodes, (fsim_scope){of[i], NULL}, budget, a);
        x->floor = fsim_frontier_floor(f);
        if (!fsim_frontier_gave_up(f) && fsim_find_shadow(f, &x->shadow)) {
            x->f = f;
            x->how = of[i];
            return true;
        }
    }
    return false;
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
    if (x->how == FSIM_LINKED) /* there may be kernels that it knows nothing of */
        return;
    if (fsim_frontier_left_owed_out(x->f)) {
        if (!has_ended(&spent))
            return;
        most = known;
        x->f = fsim_frontier_ready(&x->p, x->node, x->nodes, (fsim_scope){x->how, NULL}, &own, a);
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

/* Asks what the primitives are worth without what is given, in *own, for who asks it of the whole graph. */
static void ask_worth(part_priced *y, fsim_worth *own, fsim_arena *a)
{
    const fsim_worth *whole = y->p.worth;
    bool *nothing = fsim_new(a, bool, y->p.graph->nodes + 1);
    for (int i = 0; whole && i < y->nodes; i++)
        nothing[y->node[i]] = whole->nothing[y->left_out->origin[y->node[i]]];
    *own = (fsim_worth){y->p.graph, nothing, fsim_new(a, fsim_sum, y->p.graph->nodes + 1), 0, false};
    y->p.worth = whole ? own : NULL;
}

/* What is given is worth nothing. */
static void tell_worth(const fsim_problem *p, const part_priced *y)
{
    const fsim_worth *own = y->p.worth;
    fsim_worth *whole = p->worth;
    if (!own || !own->known)
        return;
    for (int n = 0; n < p->graph->nodes; n++)
        whole->of[n] = 0;
    for (int i = 0; i < y->nodes; i++)
        whole->of[y->left_out->origin[y->node[i]]] = own->of[y->node[i]];
    whole->shared = own->shared;
    whole->known = true;
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
    const bool shortens = fsim_leave_out_given(p, node, nodes, FSIM_FAR_READER, a, &without);
    if (!find_prices(&x, budget, way, shortens ? 1 : WAYS, a) && shortens) {
        y = (part_priced){.p = *p, .whole = budget, .left_out = &without, .node = without.node, .nodes = without.nodes};
        y.p.graph = y.p.limits.graph = without.graph;
        y.p.progress = NULL;
        y.p.store = fsim_store_new(a);
        ask_worth(&y, &worth, a);
        own = fsim_budget_left(budget, p, &spent);
        if (find_prices(&y, &own, way, WAYS, a)) {
            y.price = fsim_new(a, fsim_sum, nodes + 1);
            y.givens = fsim_price_given(p, &without, budget, a, y.price);
        }
        counted = fsim_work(&y.p);
        fsim_add_work(p, counted);
        if (!y.f || (double)bound_of(&y) < (double)known * close_enough)
            find_prices(&x, budget, way + WAYS - 1, 1, a);
        y.floor = x.floor > y.floor ? x.floor : y.floor;
        if (y.f && (!x.f || bound_of(&y) > bound_of(&x))) {
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
    }
    out->ended = out->ended || out->bound >= known;
    out->shortened = x.left_out != NULL;
    if (x.left_out) {
        fsim_add_work(p, fsim_work(&x.p) - counted);
        budget->spent->over = budget->spent->over || spent.over;
        budget->spent->end = spent.end;
    }
}

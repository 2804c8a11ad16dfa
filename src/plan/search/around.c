/* SPDX-License-Identifier: Apache-2.0 */
/* around.c: a lower bound for plans that may call libraries.
 *
 * What is beside the calls shares no kernel with what is in them, but for views, so a plan costs at least the sum of
 * - what the kernels beside calls cost, where those of calls cost nothing, and
 * - for each call, the lesser of its price and of what kernels of ours cost for what is in it, where views cost
 * nothing. */
#include "plan/search/around.h"

#include "plan/price/price.h"
#include "plan/search/frontier.h"
#include "plan/search/sides.h"
#include <math.h>
#include <string.h>

enum {
    BOUND_SHARES = 2, /* the bound may take this part of the steps of a search, */
    WITHIN_SHARES = 8 /* and the kernels within a call this part of what is left of it */
};

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    fsim_budget budget;
} around;

static bool is_view(const fsim_graph *g, int node) { return fsim_ops[g->node[node].op].class == FSIM_PERMUTE; }

static fsim_sum bound_of(around *w, const int *node, int count, const fsim_one_side *side, int shares)
{
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(&w->budget, w->p, shares, &spent);
    fsim_frontier *f = fsim_frontier_of_side(w->p, node, count, (fsim_scope){FSIM_UNLESS_WIDE, side}, &own, w->a);
    if (f && fsim_frontier_gave_up(f))
        f = fsim_frontier_of_side(w->p, node, count, (fsim_scope){FSIM_PARTED, side}, &own, w->a);
    return f ? fsim_frontier_bound(f) : 0;
}

/* Marks the views that a kernel with primitives of the call may read through: those that have a tensor in common with
 * one of these, or with such a view. */
static void mark_views(const fsim_graph *g, signed char *place)
{
    for (bool more = true; more;) {
        more = false;
        for (int t = 0; t < g->tensors; t++) {
            const fsim_tensor *x = &g->tensor[t];
            bool any = x->producer >= 0 && place[x->producer] != FSIM_NO_CALL;
            for (int r = 0; r < x->readers && !any; r++)
                any = place[x->reader[r]] != FSIM_NO_CALL;
            for (int r = -1; r < x->readers && any; r++) {
                const int n = r < 0 ? x->producer : x->reader[r];
                if (n < 0 || place[n] != FSIM_NO_CALL || !is_view(g, n))
                    continue;
                place[n] = FSIM_CALL_VIEW;
                more = true;
            }
        }
    }
}

/* What each primitive is to these calls. */
static signed char *places_of(const around *w, const fsim_call_price *call, int count)
{
    const fsim_graph *g = w->p->graph;
    signed char *place = fsim_new(w->a, signed char, g->nodes + 1);
    for (int c = 0; c < count; c++)
        for (int i = 0; i < call[c].nodes; i++)
            place[call[c].node[i]] = is_view(g, call[c].node[i]) ? FSIM_CALL_OWN_VIEW : FSIM_IN_CALL;
    mark_views(g, place);
    return place;
}

/* What kernels of ours cost for a call at least. */
static fsim_sum least_within(around *w, const fsim_call_price *call)
{
    const int nodes = w->p->graph->nodes;
    const signed char *place = places_of(w, call, 1);
    const fsim_one_side side = {.calls = place, .within_call = true};
    int *node = fsim_new(w->a, int, nodes + 1), count = 0;
    for (int n = 0; n < nodes; n++)
        if (place[n] != FSIM_NO_CALL)
            node[count++] = n;
    return count > 0 ? bound_of(w, node, count, &side, WITHIN_SHARES) : 0;
}

static fsim_sum least_beside(around *w, const fsim_call_price *call, int count, double before_s)
{
    const int nodes = w->p->graph->nodes;
    const fsim_one_side side = {.calls = places_of(w, call, count)};
    int *node = fsim_new(w->a, int, nodes + 1);
    fsim_sum bound;
    for (int n = 0; n < nodes; n++)
        node[n] = n;
    const fsim_called_sides called = {side.calls, (fsim_sum)(before_s * (1 - 1e-9) / FSIM_TICK_S)};
    if (fsim_bound_sides(w->p, &called, &w->budget, w->a, &bound))
        return bound;
    return bound_of(w, node, nodes, &side, 1);
}

/* What parts of the graph are worth in plans without calls. */
typedef struct {
    fsim_sum *within, others; /* per call, and what is in none */
    fsim_sum called;          /* a bound of plans with a call at least */
} worths;

/* A call takes its price in place of what its primitives are worth, and views that its kernels may have: where that
 * saves nothing, the call that loses least is made. Views may be in kernels of others where the call is not made. */
static worths worths_told(const around *w, const fsim_told_worth *told, const fsim_call_price *call, int count)
{
    const int nodes = w->p->graph->nodes;
    const signed char *any = places_of(w, call, count);
    worths out = {.within = fsim_new(w->a, fsim_sum, count + 1)};
    fsim_sum most = -FSIM_SUM_MOST;
    out.called = out.others = -told->shared;
    for (int n = 0; n < nodes; n++) {
        out.called += told->of[n];
        out.others += any[n] == FSIM_NO_CALL   ? told->of[n]
                      : any[n] == FSIM_IN_CALL ? 0
                                               : fsim_sum_least(told->of[n], 0);
    }
    for (int c = 0; c < count; c++) {
        const signed char *place = places_of(w, &call[c], 1);
        fsim_sum views = 0;
        out.within[c] = -told->shared;
        for (int n = 0; n < nodes; n++) {
            const bool view = place[n] == FSIM_CALL_OWN_VIEW || (place[n] == FSIM_CALL_VIEW && any[n] == place[n]);
            out.within[c] += place[n] == FSIM_IN_CALL ? told->of[n] : view ? fsim_sum_least(told->of[n], 0) : 0;
            views += view ? fsim_sum_most(told->of[n], -told->of[n]) : 0;
        }
        const fsim_sum saved = out.within[c] + told->shared + views - fsim_ticks(call[c].least_s);
        out.called -= fsim_sum_most(saved, 0);
        most = fsim_sum_most(most, saved);
    }
    out.called += fsim_sum_most(-most, 0);
    return out;
}

/* Of all that was told the most, part by part. */
static worths worths_of(const around *w, const fsim_call_price *call, int count)
{
    const fsim_worth *worth = w->p->worth;
    worths out = {.within = fsim_new(w->a, fsim_sum, count + 1)};
    for (const fsim_told_worth *told = worth ? worth->first_told : NULL; told; told = told->next) {
        const worths x = worths_told(w, told, call, count);
        out.called = fsim_sum_most(fsim_sum_most(out.called, x.called), worth->bound);
        out.others = fsim_sum_most(out.others, x.others);
        for (int c = 0; c < count; c++)
            out.within[c] = fsim_sum_most(out.within[c], x.within[c]);
    }
    return out;
}

double fsim_bound_around(const fsim_problem *q, const fsim_call_price *call, int count, double before_s, double known_s)
{
    fsim_problem own = *q;
    fsim_spent spent;
    if (count == 0)
        return INFINITY;
    around w = {.p = &own, .a = fsim_arena_new()};
    own.progress = NULL;
    own.search_steps /= BOUND_SHARES;
    w.budget = fsim_budget_of(&own, &spent);
    const worths y = worths_of(&w, call, count);
    fsim_sum least = 0, loss = FSIM_SUM_MOST;
    for (int c = 0; c < count && y.called < fsim_ticks(known_s); c++) {
        const fsim_sum price = fsim_ticks(call[c].least_s);
        fsim_sum within = y.within[c];
        within = within < price ? fsim_sum_most(within, least_within(&w, &call[c])) : within;
        least += fsim_sum_least(within, price);
        loss = fsim_sum_least(loss, fsim_sum_most(price - within, 0));
    }
    if (y.called < fsim_ticks(known_s))
        least += loss + fsim_sum_most(y.others, least_beside(&w, call, count, before_s));
    fsim_arena_free(w.a);
    return (double)fsim_sum_most(least, y.called) * FSIM_TICK_S;
}

const bool *fsim_views_of_calls(const fsim_graph *g, fsim_arena *a)
{
    signed char *place = fsim_new(a, signed char, g->nodes + 1);
    bool *view = fsim_new(a, bool, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        place[n] = g->node[n].call || g->node[n].serving ? FSIM_IN_CALL : FSIM_NO_CALL;
    mark_views(g, place);
    for (int n = 0; n < g->nodes; n++)
        view[n] = place[n] != FSIM_NO_CALL && is_view(g, n);
    return view;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sides.c: a graph with gradients, one side of the barrier after the other.
 *
 * What forward stores for backward ties the two sides together, and a search of both has a state for each choice of it.
 * Apart they are small:
 * - Forward costs at least as much as a forward that stores only outputs, backward at least as much as one that finds
 *   all of forward's values in memory. Both together bound every plan. Primitives of either side may be owned by
 * kernels of both; a kernel that owns nothing else costs nothing here, so each side takes them as it likes.
 * - That backward says which of the values it reads. A forward that stores these, and no others, makes a plan of it. */
#include "plan/search/sides.h"

#include "plan/price/price.h"
#include "plan/search/frontier.h"
#include "plan/search/sets.h"

enum {
    BEFORE_SHARES = 2, /* the side before the barrier may take this part of the budget, the other one the rest of it */
    AFTER_SHARES = 1,
    VIEWS_MOST = 50 /* what is known of the side before the barrier is enough where views are at most such a part */
};

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    const fsim_budget *budget;
    fsim_sides *out;
} sides;

static fsim_side side_of(const sides *s, int node) { return s->p->graph->node[node].side; }

static fsim_frontier *searched(sides *s, const int *node, int count, const fsim_one_side *side, int shares)
{
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(s->budget, s->p, shares, &spent);
    fsim_frontier *f = fsim_frontier_of_side(s->p, node, count, (fsim_scope){FSIM_UNLESS_WIDE, side}, &own, s->a);
    if (f && fsim_frontier_gave_up(f))
        f = fsim_frontier_of_side(s->p, node, count, (fsim_scope){FSIM_PARTED, side}, &own, s->a);
    s->out->groups += f ? fsim_frontier_groups(f) : 0;
    s->out->states += f ? fsim_frontier_states(f) : 0;
    return f;
}

/* Is a result of the primitive an output? */
static bool makes_output(const fsim_graph *g, int node)
{
    for (int r = 0; r < g->node[node].results; r++)
        if (g->tensor[g->node[node].result[r]].output || g->tensor[g->node[node].result[r]].materialize)
            return true;
    return false;
}

/* Primitives that forward may own: those that are not after the barrier; without[node]: nor these (NULL: all). */
static int *forward_list(const sides *s, const bool *without, int *count)
{
    int *node = fsim_new(s->a, int, s->p->graph->nodes + 1);
    *count = 0;
    for (int n = 0; n < s->p->graph->nodes; n++)
        if (side_of(s, n) != FSIM_AFTER_BARRIER && !(without && without[n]))
            node[(*count)++] = n;
    return node;
}

/* Does the part own something after the barrier? */
static bool is_after(const sides *s, const fsim_part *x)
{
    bool after = false;
    for (int i = 0; i < x->count; i++)
        after = after || side_of(s, x->node[i]) == FSIM_AFTER_BARRIER;
    return after;
}

static int index_in(const fsim_part *x, int node)
{
    for (int i = 0; i < x->count; i++)
        if (x->node[i] == node)
            return i;
    return -1;
}

/* Marks what the part reads of results of others, in wanted[primitive]. */
static void mark_reads(const sides *s, const fsim_part *x, bool *wanted)
{
    const fsim_graph *g = s->p->graph;
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < g->node[x->node[i]].args; k++) {
            const int from = g->tensor[g->node[x->node[i]].arg[k].tensor].producer;
            if (from >= 0 && index_in(x, from) < 0)
                wanted[from] = true;
        }
}

/* What backward's kernels of *part own, which moves to the front of the list, and of what else they read: everything
 * that forward has to have for it. Frees primitives of either side that nobody needs. */
static void divide(const sides *s, fsim_partition *part, bool *owned, bool *wanted, bool *idle)
{
    const fsim_graph *g = s->p->graph;
    int kept = 0;
    bool *needed = fsim_new(s->a, bool, g->nodes + 1), *ran = fsim_new(s->a, bool, g->nodes + 1);
    for (int i = part->parts; i-- > 0;) /* as they are launched: what a kernel owns, none before it has */
        for (int k = 0; k < part->part[i].count; k++) {
            const int n = part->part[i].node[k];
            if (side_of(s, n) == FSIM_BEFORE_BARRIER)
                continue;
            owned[n] = owned[n] || (!ran[n] && is_after(s, &part->part[i]));
            ran[n] = true;
        }
    for (int i = 0; i < part->parts; i++) {
        if (!is_after(s, &part->part[i]))
            continue;
        part->part[kept++] = part->part[i];
        mark_reads(s, &part->part[i], wanted);
    }
    part->parts = kept;
    for (int n = g->nodes; n-- > 0;) {
        needed[n] = needed[n] || (wanted[n] && !owned[n]) || side_of(s, n) == FSIM_BEFORE_BARRIER || makes_output(g, n);
        idle[n] = !needed[n] || owned[n];
        wanted[n] = (wanted[n] && !owned[n]) || makes_output(g, n);
        for (int k = 0; needed[n] && !owned[n] && k < g->node[n].args; k++)
            if (g->tensor[g->node[n].arg[k].tensor].producer >= 0)
                needed[g->tensor[g->node[n].arg[k].tensor].producer] = true;
    }
}

/* Gives primitives that only copies are left of a home, and the others that no part has a kernel of their own. */
static void find_homes(const sides *s, fsim_partition *part)
{
    const int nodes = s->p->graph->nodes;
    bool *home = fsim_new(s->a, bool, nodes + 1);
    for (int i = 0; i < part->parts; i++)
        for (int k = 0; k < part->part[i].count; k++)
            home[part->part[i].node[k]] = home[part->part[i].node[k]] || !part->part[i].clone[k];
    for (int n = 0; n < nodes; n++) {
        for (int i = part->parts; i-- > 0 && !home[n];) {
            const int k = index_in(&part->part[i], n);
            if (k >= 0)
                home[n] = !(part->part[i].clone[k] = false);
        }
        if (!home[n]) {
            part->part[part->parts] = (fsim_part){1, fsim_new(s->a, int, 1), fsim_new(s->a, bool, 1)};
            part->part[part->parts++].node[0] = n;
        }
    }
}

/* A plan from backward's kernels; 0 parts where forward has none that fits them. */
static void join(sides *s, fsim_frontier *after)
{
    const int nodes = s->p->graph->nodes;
    bool *owned = fsim_new(s->a, bool, nodes + 1), *wanted = fsim_new(s->a, bool, nodes + 1),
         *idle = fsim_new(s->a, bool, nodes + 1);
    fsim_partition part = {0, fsim_new(s->a, fsim_part, 2 * nodes + 2)};
    int count;
    if (!fsim_frontier_plan(after, &part, s->a))
        return;
    divide(s, &part, owned, wanted, idle);
    const int *node = forward_list(s, idle, &count);
    const fsim_one_side before = {.wanted = wanted};
    fsim_frontier *f = searched(s, node, count, &before, BEFORE_SHARES);
    if (!f || !fsim_frontier_plan(f, &part, s->a))
        return;
    find_homes(s, &part);
    s->out->part = part;
}

static bool has_sides(const fsim_problem *p)
{
    return p->graph->barrier && p->graph->fuses == 0 && p->objective == FSIM_MINIMISE_TIME &&
           p->graph->nodes <= FSIM_BITS;
}

/* What kernels before the barrier cost at least where some are called, from what they cost where none is; 0: not
 * known. Of what runs before the barrier a kernel that is called owns views at most, beside primitives of either side.
 * With a kernel for each of these views its plan has all that runs before the barrier. */
static fsim_sum known_before(const sides *s, const fsim_called_sides *called)
{
    const fsim_graph *g = s->p->graph;
    fsim_sum views = 0;
    bool known = called->before > 0, calls_either = false;
    for (int n = 0; n < g->nodes && known; n++) {
        calls_either = calls_either || (side_of(s, n) == FSIM_EITHER_SIDE && called->calls[n] == FSIM_IN_CALL);
        if (side_of(s, n) != FSIM_BEFORE_BARRIER || called->calls[n] == FSIM_NO_CALL)
            continue;
        const fsim_kernel *k = called->calls[n] == FSIM_CALL_VIEW ? fsim_kernel_alone(s->p, &n, 1, s->a) : NULL;
        known = k != NULL;
        views += known ? fsim_objective_of(s->p, k) : 0;
    }
    views = calls_either ? views : 0;
    return known && called->before > views ? called->before - views : 0;
}

/* Sets the bound of both sides. Returns the side after the barrier; NULL where one is too wide. */
static fsim_frontier *bound_both(sides *s, const fsim_called_sides *called)
{
    const signed char *calls = called->calls;
    const fsim_sum known = known_before(s, called);
    const int nodes = s->p->graph->nodes;
    int count;
    const int *node = forward_list(s, NULL, &count);
    int *all = fsim_new(s->a, int, nodes + 1);
    bool *outputs = fsim_new(s->a, bool, nodes + 1);
    fsim_one_side *before = fsim_new(s->a, fsim_one_side, 1), *after = fsim_new(s->a, fsim_one_side, 1);
    for (int n = 0; n < nodes; n++) {
        all[n] = n;
        outputs[n] = makes_output(s->p->graph, n);
    }
    *before = (fsim_one_side){.free = true, .wanted = outputs, .calls = calls};
    *after = (fsim_one_side){.after = true, .free = true, .clone_sets = FSIM_FEW_CLONE_SETS, .calls = calls};
    const bool enough = known > called->before - called->before / VIEWS_MOST;
    fsim_frontier *x = enough ? NULL : searched(s, node, count, before, BEFORE_SHARES),
                  *y = searched(s, all, nodes, after, AFTER_SHARES);
    const fsim_sum found = x ? fsim_frontier_bound(x) : 0;
    s->out->before = found > known ? found : known;
    if ((x || enough) && y)
        s->out->bound = s->out->before + fsim_frontier_bound(y);
    return x || enough ? y : NULL;
}

bool fsim_search_sides(fsim_problem *p, const fsim_budget *budget, fsim_arena *a, fsim_sides *out)
{
    sides s = {p, a, budget, out};
    *out = (fsim_sides){0};
    fsim_frontier *after = has_sides(p) ? bound_both(&s, &(fsim_called_sides){NULL, 0}) : NULL;
    if (!after)
        return false;
    join(&s, after);
    return true;
}

bool fsim_bound_sides(fsim_problem *p, const fsim_called_sides *called, const fsim_budget *budget, fsim_arena *a,
                      fsim_sum *bound)
{
    fsim_sides out = {0};
    sides s = {p, a, budget, &out};
    const bool found = has_sides(p) && bound_both(&s, called);
    *bound = out.bound;
    return found;
}

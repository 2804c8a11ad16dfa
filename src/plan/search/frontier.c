/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/frontier.h"

#include "plan/price/progress.h"
#include "plan/search/charges.h"
#include "plan/search/floor.h"
#include "plan/search/places.h"
#include "plan/search/states.h"
#include <math.h>
#include <stdlib.h>

enum {
    MOST_TRIED = 30000, /* sets tried for one root */
    KEPT_IN_HASTE = 3   /* states of a size that are continued after the budget is used up */
};

/* Per place: may its contraction be chained with another one through a causal mask? The mask skips less than half of
 * it. */
static bool *masked_chains(const fsim_frontier *f)
{
    const fsim_places *l = &f->l;
    bool *masked = fsim_new(f->a, bool, l->count + 1), *behind = fsim_new(f->a, bool, l->count + 1),
         *before = fsim_new(f->a, bool, l->count + 1);
    for (int i = 0; i < l->count; i++)
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1]; k++)
            behind[i] = behind[i] || fsim_node_of(f, l->pred[k])->op == FSIM_OP_CAUSAL_MASK ||
                        (behind[l->pred[k]] && !fsim_node_of(f, l->pred[k])->gemm.k);
    for (int i = l->count; i-- > 0;) {
        for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++)
            before[i] = before[i] || fsim_node_of(f, l->succ[k])->op == FSIM_OP_CAUSAL_MASK ||
                        (before[l->succ[k]] && !fsim_node_of(f, l->succ[k])->gemm.k);
        masked[i] = behind[i] || before[i];
    }
    return masked;
}

/* Is the tensor a graph input, or one in which a kernel before has written some rows, too large for L2 to hold? */
static bool is_given(const fsim_frontier *f, int tensor)
{
    const fsim_graph *g = f->p->graph;
    int base = tensor;
    while (g->tensor[base].producer >= 0 && g->tensor[base].over >= 0)
        base = g->tensor[base].over;
    return g->tensor[base].producer < 0 && (base == tensor || !fsim_may_reside(f->p, tensor));
}

bool fsim_reads_whole_input(const fsim_frontier *f, int place, int k)
{
    const fsim_graph *g = f->p->graph;
    const fsim_node *n = fsim_node_of(f, place);
    const int t = n->arg[k].tensor;
    return is_given(f, t) && n->arg[k].how != FSIM_READ_INDIRECT && n->arg[k].distinct == g->tensor[t].elems &&
           (!f->p->warm || !fsim_may_reside(f->p, t)) && f->whole[place] && !f->read_outside[t] &&
           (n->gemm.k || f->arithmetic || g->tensor[t].role != FSIM_WEIGHT || (g->barrier && fsim_is_solo(f, place)));
}

/* The seconds of each unit that place takes in every plan: its own, in *own; per graph input that it is the first to
 * read, in input[tensor]. */
static void find_units(fsim_frontier *f, const fsim_floor *floor, int place, fsim_unit_seconds *own,
                       fsim_unit_seconds *input)
{
    const fsim_node *n = fsim_node_of(f, place);
    for (int k = 0; k < n->args; k++)
        if (fsim_reads_whole_input(f, place, k) && input[n->arg[k].tensor].s[FSIM_FLOOR_DRAM] == 0)
            input[n->arg[k].tensor] = fsim_floor_read(floor, &n->arg[k]);
    fsim_floor_add(own, fsim_floor_arithmetic(floor, n));
}

/* May this primitive have run in a kernel that the search knows nothing of? Nothing after the barrier has before it. */
static bool may_have_read(const fsim_frontier *f, int node)
{
    const int place = f->l.place[node];
    const bool later = f->side && !f->side->after && f->p->graph->node[node].side == FSIM_AFTER_BARRIER;
    return place < 0 ? !later : fsim_may_be_free(f, place);
}

/* Does some place read what a primitive outside of the list makes? Its kernel may have to wait for that. */
static bool waits_for_others(const fsim_frontier *f)
{
    const fsim_graph *g = f->p->graph;
    for (int i = 0; i < f->l.count && f->l.count < g->nodes; i++)
        for (int k = 0; k < fsim_node_of(f, i)->args; k++) {
            const int from = g->tensor[fsim_node_of(f, i)->arg[k].tensor].producer;
            if (from >= 0 && f->l.place[from] < 0)
                return true;
        }
    return false;
}

/* May something have read the tensor in each of its readers' places? Where some kernels are free, or wait for others,
 * kernels may run in another order here than in a plan, so that any reader may be the first one. */
static bool may_be_read_before(const fsim_frontier *f, int tensor, bool any_order)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    bool before = any_order && t->readers > 1 && fsim_may_reside(f->p, tensor);
    for (int r = 0; r < t->readers && !before; r++)
        before = may_have_read(f, t->reader[r]);
    return before;
}

/* What a primitive that always has its own kernel costs at least: as if L2 had whatever it may have; 0 for others. */
static fsim_sum least_alone(const fsim_frontier *f, int place)
{
    const int node = f->l.node[place];
    if (!fsim_classes[fsim_ops[f->p->graph->node[node].op].class].boundary)
        return 0;
    fsim_candidate *c = fsim_candidate_of(f->p, &node, 1, &(bool){true});
    if (!c->legal)
        return 0;
    bool *hit = fsim_new(f->a, bool, c->group->reads + 1), *absorbed = fsim_new(f->a, bool, c->group->writes + 1);
    for (int i = 0; i < c->group->reads; i++)
        hit[i] = fsim_may_reside(f->p, c->group->read[i].tensor);
    for (int i = 0; i < c->group->writes; i++)
        absorbed[i] = fsim_may_reside(f->p, c->group->write[i].tensor);
    const fsim_kernel *k = fsim_kernel_for(f->p, c, hit, absorbed);
    return k ? fsim_objective_of(f->p, k) : 0;
}

/* The sum over all primitives with these weights, in seconds. */
static double sum_of_charges(const fsim_frontier *f, const fsim_charges *c, const fsim_unit_seconds *own,
                             const fsim_unit_seconds *input)
{
    double sum = 0;
    for (int i = 0; i < f->l.count; i++)
        sum += own[i].s[FSIM_FLOOR_DRAM] * c->dram[i] + own[i].s[FSIM_FLOOR_WORK] * c->work[i] + c->start[i];
    for (int t = 0; t < f->p->graph->tensors; t++)
        sum += input[t].s[FSIM_FLOOR_DRAM] * c->input[t];
    return sum;
}

/* Sets the work of primitives and graph inputs from what these take of each unit. One weight for each unit, with a dual
 * norm of one, bounds every kernel's norm by a sum over its primitives; where weights that differ (charges.c) bound all
 * kernels better, these. */
static void weigh(fsim_frontier *f, const fsim_unit_seconds *own, const fsim_unit_seconds *input, const bool *masked)
{
    const int count = f->l.count, tensors = f->p->graph->tensors;
    const bool by_bytes = f->p->objective == FSIM_MINIMISE_BYTES;
    const double second = 1 / FSIM_TICK_S * (1 - 1e-9);
    fsim_unit_seconds all = {{0}}, *charged = fsim_new(f->a, fsim_unit_seconds, count + 1);
    fsim_charges c;
    for (int i = 0; i < count; i++) {
        charged[i] = own[i];
        fsim_floor_add(&all, own[i]);
    }
    for (int t = 0; t < tensors; t++)
        fsim_floor_add(&all, input[t]);
    const double norm = fsim_floor_norm(&all);
    double starts = 0;
    for (int i = 0; i < count; i++)
        starts += f->floor_start[i] / second;
    if (fsim_find_charges(f, masked, charged, input, &c) && sum_of_charges(f, &c, charged, input) > norm + starts) {
        for (int i = 0; i < count; i++)
            f->floor_own[i] =
                (charged[i].s[FSIM_FLOOR_DRAM] * c.dram[i] + charged[i].s[FSIM_FLOOR_WORK] * c.work[i]) * second;
        for (int t = 0; t < tensors; t++)
            f->floor_input[t] = input[t].s[FSIM_FLOOR_DRAM] * c.input[t] * second;
        for (int i = 0; i < count; i++)
            f->floor_start[i] = c.start[i] * second;
        return;
    }
    for (int u = 0; u < FSIM_FLOOR_UNITS; u++) {
        const double weight = by_bytes ? 1 : norm > 0 ? all.s[u] * all.s[u] / (norm * norm) * second : 0;
        for (int i = 0; i < count; i++)
            f->floor_own[i] += own[i].s[u] * weight;
        for (int t = 0; t < tensors; t++)
            f->floor_input[t] += input[t].s[u] * weight;
    }
}

/* Computes the work that no plan can avoid: graph inputs read once and outputs written once at full bandwidth,
 * arithmetic at full rate. */
static void find_floor(fsim_frontier *f)
{
    const fsim_graph *g = f->p->graph;
    const fsim_places *l = &f->l;
    fsim_floor floor = fsim_floor_of(f->p, l->node, l->count);
    const bool by_bytes = f->p->objective == FSIM_MINIMISE_BYTES;
    fsim_unit_seconds *own = fsim_new(f->a, fsim_unit_seconds, l->count + 1),
                      *input = fsim_new(f->a, fsim_unit_seconds, g->tensors + 1);
    f->units = own;
    f->input = input;
    f->floor_own = fsim_new(f->a, double, l->count + 1);
    f->floor_alone = fsim_new(f->a, double, l->count + 1);
    f->floor_start = fsim_new(f->a, double, l->count + 1);
    f->floor_input = fsim_new(f->a, double, g->tensors + 1);
    f->read_outside = fsim_new(f->a, bool, g->tensors + 1);
    const bool any_order = fsim_has_free(f) || waits_for_others(f);
    for (int t = 0; t < g->tensors; t++)
        f->read_outside[t] = may_be_read_before(f, t, any_order);
    fsim_find_transfers(f, &floor);
    const bool *masked = f->masked = masked_chains(f);
    f->chain = fsim_new(f->a, struct fsim_known_chain *, l->count + 1);
    fsim_floor_find_shares(&floor, l->node, l->count, masked, f->a);
    f->whole = fsim_computed_whole(f);
    f->owned_whole = fsim_owned_whole(f);
    f->arithmetic = floor.arithmetic;
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = fsim_node_of(f, i);
        if (fsim_may_be_free(f, i))
            continue;
        f->floor_alone[i] = (double)least_alone(f, i);
        if (f->floor_alone[i] > 0) {
            f->starts = true;
            continue;
        }
        if (f->whole[i])
            find_units(f, &floor, i, &own[i], input);
        if (f->whole[i] && n->gemm.k) {
            const fsim_floor_product least = fsim_floor_contraction(&floor, l->node[i], masked[i]);
            own[i].s[FSIM_FLOOR_WORK] = least.work_s;
            f->floor_start[i] = least.launches;
            f->starts = f->starts || least.launches > 0;
        }
        if (g->tensor[n->result[0]].output)
            fsim_floor_add(&own[i], fsim_floor_write(&floor, &g->tensor[n->result[0]]));
    }
    f->products = floor.products;
    f->floor_launch = by_bytes ? 0 : fsim_floor_launch(f->p) / FSIM_TICK_S * (1 - 1e-9);
    f->floor_write = f->floor_launch / FSIM_MAX_PARAMETERS;
    for (int i = 0; i < l->count; i++)
        f->floor_start[i] *= f->floor_launch;
    weigh(f, own, input, masked);
    for (int i = 0; i < l->count; i++)
        f->floor_own[i] += f->floor_alone[i] * (1 - 1e-9);
}

/* After the budget is used up: the order in which states of a size are continued, most promising first. */
static int by_promise(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] < y[1] ? -1 : x[1] > y[1];
}

static void thin_out(fsim_frontier *f, int size)
{
    int count = 0;
    for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling)
        count++;
    if (count <= KEPT_IN_HASTE)
        return;
    double(*rank)[2] = (double(*)[2])fsim_alloc(f->a, (size_t)count, sizeof *rank);
    count = 0;
    for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling) {
        rank[count][0] = (double)f->state[i - 1].spent + f->state[i - 1].left;
        rank[count++][1] = i;
    }
    qsort(rank, (size_t)count, sizeof *rank, by_promise);
    f->by_size[size] = 0;
    for (int k = 0; k < count; k++) {
        const int i = (int)rank[k][1];
        if (k >= KEPT_IN_HASTE) {
            fsim_cut_off(f, &f->state[i - 1]);
            continue;
        }
        f->state[i - 1].sibling = f->by_size[size];
        f->by_size[size] = i;
    }
}

/* No state from this size on is continued: whatever plans there are below them enters the bound. */
static void break_off(fsim_frontier *f, int size)
{
    for (; size < f->l.count; size++)
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling)
            fsim_cut_off(f, &f->state[i - 1]);
}

static fsim_sum cost_to_go(fsim_frontier *f, int at);

/* A lower bound, in relaxed costs, of the rest of every plan from this state. For a state that was not expanded: the
 * bound of one that stores more. */
fsim_sum fsim_least_to_go(fsim_frontier *f, int at)
{
    const state *s = &f->state[at];
    fsim_sum most = -1;
    if (s->to_go >= 0)
        return s->to_go;
    if (s->expanded)
        return cost_to_go(f, at);
    if (s->beyond)
        return f->state[at].to_go = fsim_unavoidable(f, s);
    for (int i = f->front[s->front].expanded; i; i = f->state[i - 1].expanded_peer)
        if (f->state[i - 1].to_go > most && fsim_stores_more(&f->state[i - 1], s))
            most = f->state[i - 1].to_go;
    if (most >= 0)
        return f->state[at].to_go = most;
    if (f->haste)
        return fsim_unavoidable(f, s);
    state all = *s; /* the state in which everything was stored */
    all.dropped = all.behind = all.owed = (fsim_bits){{0}};
    all.passed = all.behind_base = 0;
    all.lifted = false;
    fsim_settle_state(&all);
    return cost_to_go(f, fsim_state_of(f, &all));
}

static fsim_sum cost_to_go(fsim_frontier *f, int at)
{
    if (f->state[at].to_go >= 0 || at == f->last)
        return f->state[at].to_go = at == f->last ? 0 : f->state[at].to_go;
    if (!f->state[at].expanded)
        fsim_expand(f, at); /* forgets a bound that it had from a state that stores more */
    fsim_sum least = f->state[at].cut ? fsim_unavoidable(f, &f->state[at]) : FSIM_NEVER;
    for (int k = f->state[at].first, end = k + f->state[at].steps; k < end; k++) {
        const fsim_sum rest = fsim_least_to_go(f, f->step[k].to);
        least = f->step[k].cost + rest < least ? f->step[k].cost + rest : least;
    }
    return f->state[at].to_go = least;
}

bool fsim_reads_in_place(const fsim_frontier *f, int place)
{
    const fsim_node *n = fsim_node_of(f, place);
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        if (x->how != FSIM_READ_MAP || (x->distinct >= n->points && !fsim_map_is_identity(&x->map)))
            return false;
    }
    return n->reduced == 1;
}

bool fsim_reads_in_order(const fsim_access *x, const fsim_tensor *t)
{
    int64_t span = 1;
    for (int i = x->map.modes; i-- > 0;) {
        if (x->map.mode[i].extent == 1)
            continue;
        if (x->map.mode[i].stride != span)
            return false;
        span *= x->map.mode[i].extent;
    }
    return x->how == FSIM_READ_MAP && x->map.offset == 0 && span == t->elems;
}

/* Does the primitive read all of argument k, as large as its result or larger, at its own points? */
static bool reads_alike(const fsim_frontier *f, int place, int k)
{
    const fsim_node *n = fsim_node_of(f, place);
    const fsim_access *x = &n->arg[k];
    const fsim_tensor *from = &f->p->graph->tensor[x->tensor], *to = &f->p->graph->tensor[n->result[0]];
    return n->reduced == 1 && n->results == 1 && x->how == FSIM_READ_MAP && fsim_map_is_identity(&x->map) &&
           x->distinct == from->elems && from->elems == to->elems && from->bytes >= to->bytes;
}

/* How each place, with its producers cloned, reads its arguments. */
static void find_ways(fsim_frontier *f)
{
    const fsim_places *l = &f->l;
    f->in_place = fsim_new(f->a, bool, l->count + 1);
    f->read_anyhow = fsim_new(f->a, bool, l->count + 1);
    for (int i = 0; i < l->count; i++) {
        f->in_place[i] = fsim_reads_in_place(f, i);
        for (int k = 0; k < fsim_node_of(f, i)->args; k++) {
            const int from = fsim_place_of_maker(l, fsim_node_of(f, i)->arg[k].tensor);
            f->read_anyhow[i] =
                f->read_anyhow[i] || (reads_alike(f, i, k) && (from < 0 || !l->clonable[from] || f->read_anyhow[from]));
        }
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1]; k++) {
            const int from = l->pred[k];
            f->in_place[i] = f->in_place[i] && (!l->clonable[from] || f->in_place[from]);
        }
    }
}

static void find_layers(fsim_frontier *f)
{
    fsim_run *run = fsim_new(f->a, fsim_run, 1);
    const bool alike = !f->p->each_layer && !f->every_clone && !(f->side && f->side->calls);
    f->run = alike && fsim_find_run(&f->l, f->a, run) ? run : NULL;
    for (int i = f->run ? run->first : f->l.count; i < f->l.count; i++)
        f->has_sources = f->has_sources || f->l.pred_first[i + 1] == f->l.pred_first[i];
}

/* Where nothing has run or, on the side after the barrier, all that is before it. False where that is too wide for the
 * bits. */
static bool start_of(const fsim_frontier *f, state *start)
{
    *start = (state){0};
    for (int i = 0; f->side && f->side->after && i < f->l.count; i++)
        if (fsim_node_of(f, i)->side == FSIM_BEFORE_BARRIER) {
            if (i >= FSIM_BITS && i - FSIM_BITS >= start->base)
                return false;
            fsim_bit_set(&start->done, i - start->base);
            start->ran++;
            fsim_settle_state(start);
        }
    for (int i = 0; i < f->l.count; i++)
        start->left += fsim_has_run(start, i) ? 0 : f->floor_own[i] + f->floor_start[i];
    for (int t = 0; t < f->p->graph->tensors; t++)
        start->left += start->ran > 0 && fsim_read_before(f, start, t) ? 0 : f->floor_input[t];
    return true;
}

/* From a state to all that it leads to. */
static void search_forward(fsim_frontier *f, int size)
{
    f->forward = true;
    for (; size < f->l.count && !f->l.wide; size++) {
        f->haste = f->haste || !fsim_proceed(f, &f->budget, 0);
        fsim_progress_done(f->p, f->l.node[size], f->p->graph->nodes);
        if (fsim_is_over(f)) {
            break_off(f, size);
            break;
        }
        if (f->haste)
            thin_out(f, size);
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling) {
            if (fsim_is_over(f))
                break;
            if (!f->every_clone && !f->lean && fsim_needless(f, i - 1))
                continue;
            if (fsim_is_beyond(f, f->state[i - 1].spent - f->state[i - 1].worth)) {
                fsim_cut_off(f, &f->state[i - 1]);
                f->state[i - 1].beyond = true;
                continue;
            }
            fsim_expand(f, i - 1);
            if (f->l.wide)
                break;
            f->haste = f->haste || !fsim_proceed(f, &f->budget, 4);
        }
    }
    f->forward = false;
}

fsim_frontier *fsim_frontier_ready(fsim_problem *p, const int *node, int count, fsim_scope scope,
                                   const fsim_budget *budget, fsim_arena *a)
{
    const fsim_thoroughness how = scope.how;
    const fsim_one_side *side = scope.side;
    fsim_frontier *f = fsim_new(a, fsim_frontier, 1);
    *f = (fsim_frontier){.p = p,
                         .a = a,
                         .budget = *budget,
                         .every_clone = how == FSIM_EVERY_CLONE,
                         .lean = how == FSIM_EVERY_ORDER,
                         .side = side,
                         .last = -1,
                         .lost = FSIM_NEVER};
    const fsim_set_limits limits = {.most = how == FSIM_LINKED && side && side->most > 0 ? side->most
                                            : side && side->wide > MOST_TRIED            ? side->wide
                                                                                         : MOST_TRIED,
                                    .watched = how == FSIM_UNLESS_WIDE,
                                    .parted = how == FSIM_PARTED || how == FSIM_LINKED,
                                    .linked = how == FSIM_LINKED,
                                    .ahead = side ? side->ahead : 0,
                                    .wide = side ? side->wide : 0,
                                    .wanted = side ? side->wanted : NULL};
    fsim_places_of(p, node, count, limits, a, &f->l);
    f->l.budget = &f->budget;
    f->by_size = fsim_new(a, int, count + 1);
    f->front_by_size = fsim_new(a, int, count + 1);
    find_floor(f);
    find_ways(f);
    fsim_find_stale(f);
    find_layers(f);
    return f;
}

bool fsim_frontier_search(fsim_frontier *f)
{
    state start;
    if (!start_of(f, &start))
        return false;
    fsim_state_of(f, &start);
    f->state[0].spent = 0;
    search_forward(f, start.ran);
    for (int size = f->l.count; size-- > 0 && !f->l.wide && !fsim_is_over(f);)
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling)
            if (f->state[i - 1].expanded)
                cost_to_go(f, i - 1);
    return true;
}

fsim_frontier *fsim_frontier_of_side(fsim_problem *p, const int *node, int count, fsim_scope scope,
                                     const fsim_budget *budget, fsim_arena *a)
{
    fsim_frontier *f = fsim_frontier_ready(p, node, count, scope, budget, a);
    return fsim_frontier_search(f) ? f : NULL;
}

fsim_frontier *fsim_frontier_of(fsim_problem *p, const int *node, int count, fsim_thoroughness how,
                                const fsim_budget *budget, fsim_arena *a)
{
    return fsim_frontier_of_side(p, node, count, (fsim_scope){how, NULL}, budget, a);
}

fsim_sum fsim_frontier_bound(const fsim_frontier *f)
{
    const fsim_sum found = f->last >= 0 ? f->state[f->last].spent : FSIM_NEVER,
                   least = found < f->lost ? found : f->lost,
                   floor = fsim_unavoidable(f, &f->state[0]); /* where it broke off, or parts count for little */
    return least == FSIM_NEVER || (f->l.any_joinable && least < floor) ? floor : least;
}
bool fsim_frontier_complete(const fsim_frontier *f)
{
    return f->lost == FSIM_NEVER && !f->l.any_joinable && !f->clipped;
}
bool fsim_frontier_gave_up(const fsim_frontier *f) { return f->l.wide; }
bool fsim_frontier_knows_all(const fsim_frontier *f) { return !f->l.misses; }
bool fsim_frontier_has_parts(const fsim_frontier *f) { return f->l.any_joinable; }
bool fsim_frontier_recomputes(const fsim_frontier *f)
{
    bool any = false;
    for (int i = 0; i < f->l.count; i++)
        any = any || f->l.clonable[i];
    return any;
}
int64_t fsim_frontier_groups(const fsim_frontier *f) { return f->l.looked_at; }
int64_t fsim_frontier_states(const fsim_frontier *f) { return f->states; }

/* A kernel of a plan as a part of a partition. */
fsim_part fsim_part_at(const fsim_frontier *f, int root, fsim_bits own, fsim_bits copies, fsim_arena *a)
{
    const fsim_bits all = fsim_bits_or(own, copies);
    fsim_part part = {.node = fsim_new(a, int, FSIM_BITS), .clone = fsim_new(a, bool, FSIM_BITS)};
    FSIM_EACH_BIT(i, all)
    part.node[part.count++] = f->l.node[root - FSIM_BACK + i];
    return part;
}

/* Sets via[state] to the step through which a plan of kernels that are not parts of larger ones costs least, and
 * parent[state] to where it begins. */
static void find_least_alone(const fsim_frontier *f, int *via, int *parent, fsim_arena *a)
{
    fsim_sum *spent = fsim_new(a, fsim_sum, f->states + 1);
    for (int i = 1; i < f->states; i++)
        spent[i] = FSIM_NEVER;
    for (int size = 0; size < f->l.count; size++)
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling) {
            if (!f->state[i - 1].expanded || spent[i - 1] == FSIM_NEVER)
                continue;
            for (int k = f->state[i - 1].first, end = k + f->state[i - 1].steps; k < end; k++) {
                const fsim_sum cost = spent[i - 1] + f->step[k].alone;
                if (cost >= spent[f->step[k].to])
                    continue;
                spent[f->step[k].to] = cost;
                via[f->step[k].to] = k;
                parent[f->step[k].to] = i - 1;
            }
        }
}

bool fsim_frontier_plan(fsim_frontier *f, fsim_partition *out, fsim_arena *a)
{
    if (f->last < 0 || f->state[f->last].spent < 0)
        return false;
    int *via = NULL, *parent = NULL;
    if (f->l.any_joinable || f->clipped) {
        via = fsim_new(a, int, f->states + 1);
        parent = fsim_new(a, int, f->states + 1);
        find_least_alone(f, via, parent, a);
    }
    for (int at = f->last; at > 0; at = parent ? parent[at] : f->state[at].parent) {
        const step *by = &f->step[via ? via[at] : f->state[at].via];
        out->part[out->parts++] = fsim_part_at(f, by->root, by->set->own, by->kernel->clones, a);
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* given.c: a graph without what makes its masks and tables, for a bound.
 *
 * The parts of a mask may each be stored or computed again by every kernel that reads it, and the search keeps every
 * combination apart. So small values that are made of constants, positions and small inputs, and that primitives far
 * apart read, are given: who reads one of them reads one number instead, which every kernel knows.
 *
 * A plan costs at least what it costs without them: of its kernels those that own nothing else are not there, and the
 * others compute, read and write less at the same points. Reductions, and contractions that others may be with,
 * which let a kernel have results of different sizes, are given only where no kernel has them together with what is not
 * (mixed.c). Kernels hang together as before, since of what reads such values each depends on the one before, and
 * nothing that is not given reads an input of what is. */
#include "plan/search/given.h"

#include "fusion/chain.h"
#include "plan/search/floor.h"
#include "plan/search/frontier.h"
#include "plan/search/merge.h"
#include "plan/search/places.h"
#include "plan/search/shadow.h"

enum {
    PART_OF_LAUNCH = 4, /* DRAM brings a value that is given in such a part of a launch */
    SEARCH_SHARES = 6,  /* the search may take this part of the budget, beside it where it comes to nothing */
    GIVEN_SHARES = 16,  /* kernels for what is given may take this part of the budget, */
    WIDE_SHARES = 8     /* and this part of that where very many sets begin with one of its primitives */
};

typedef struct {
    fsim_places l;
    const fsim_graph *g;
    fsim_arena *a;
    bool *left_out, *kept; /* per place; kept: it can't be left out */
    int far;
} giver;

static bool is_given(const giver *w, int node) { return w->l.place[node] >= 0 && w->left_out[w->l.place[node]]; }

/* Does DRAM bring all of the tensor in a part of a launch? */
static bool is_small(const giver *w, int tensor)
{
    const fsim_problem *p = w->l.p;
    return fsim_may_reside(p, tensor) && PART_OF_LAUNCH * (double)w->g->tensor[tensor].bytes <=
                                             fsim_floor_launch(p) * fsim_hw_get(p->hw, FSIM_HW_DRAM_BANDWIDTH);
}

/* Could the reader be computed from one number in place of the tensor? */
static bool may_read_number(const fsim_node *reader, int tensor)
{
    bool may = fsim_classes[fsim_ops[reader->op].class].inlines && reader->reduced == 1 && !reader->gemm.k;
    for (int k = 0; k < reader->args; k++)
        may = may && (reader->arg[k].tensor != tensor || reader->arg[k].how == FSIM_READ_MAP);
    return may;
}

/* Is what the place makes small, and read by nothing that is not given but what could read a number instead? */
static bool makes_small(const giver *w, int place)
{
    const fsim_node *n = fsim_place_node(&w->l, place);
    bool may = !fsim_classes[fsim_ops[n->op].class].boundary && !w->l.must[place] && !w->l.outside[place];
    for (int r = 0; r < n->results && may; r++) {
        const fsim_tensor *t = &w->g->tensor[n->result[r]];
        may = t->over < 0 && !t->overwritten && is_small(w, n->result[r]);
        for (int i = 0; i < t->readers && may; i++)
            may = is_given(w, t->reader[i]) || may_read_number(&w->g->node[t->reader[i]], n->result[r]);
    }
    return may;
}

/* Is all that the place reads given, or a small input that nothing else reads? */
static bool reads_given(const giver *w, int place)
{
    const fsim_node *n = fsim_place_node(&w->l, place);
    for (int k = 0; k < n->args; k++) {
        const fsim_tensor *t = &w->g->tensor[n->arg[k].tensor];
        if (t->producer >= 0 ? !is_given(w, t->producer) : !is_small(w, n->arg[k].tensor))
            return false;
        for (int r = 0; t->producer < 0 && r < t->readers; r++)
            if (!is_given(w, t->reader[r]))
                return false;
    }
    return true;
}

static bool is_read_far(const giver *w, int place)
{
    const int first = w->l.succ_first[place], end = w->l.succ_first[place + 1];
    int low = w->l.count, high = 0;
    for (int k = first; k < end; k++) {
        low = w->l.succ[k] < low ? w->l.succ[k] : low;
        high = w->l.succ[k] > high ? w->l.succ[k] : high;
    }
    return first < end && high - low > w->far;
}

/* Takes back all that neither leads to a value that is read far apart nor is made of one. */
static void keep_wanted(giver *w)
{
    bool *wanted = fsim_new(w->a, bool, w->l.count + 1);
    for (int i = 0; i < w->l.count; i++) {
        wanted[i] = w->left_out[i] && is_read_far(w, i);
        for (int k = w->l.pred_first[i]; w->left_out[i] && k < w->l.pred_first[i + 1]; k++)
            wanted[i] = wanted[i] || wanted[w->l.pred[k]];
    }
    for (int i = w->l.count; i-- > 0;) {
        w->left_out[i] = w->left_out[i] && wanted[i];
        for (int k = w->l.pred_first[i]; w->left_out[i] && k < w->l.pred_first[i + 1]; k++)
            wanted[w->l.pred[k]] = true;
    }
}

/* Gives all that may be given. Returns how many are. */
static int give(giver *w)
{
    int givens = 0;
    for (int i = 0; i < w->l.count; i++)
        w->left_out[i] = !w->kept[i];
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < w->l.count; i++)
            if (w->left_out[i] && !(reads_given(w, i) && makes_small(w, i))) {
                w->left_out[i] = false;
                more = true;
            }
        if (!more) {
            const int before = givens;
            keep_wanted(w);
            givens = 0;
            for (int i = 0; i < w->l.count; i++)
                givens += w->left_out[i];
            more = givens != before;
        }
    }
    return givens;
}

/* The same, without what gives points to kernels with others. Sets *mixed (mixed.c). False where nothing is given. */
static bool give_all(giver *w, bool **mixed)
{
    const fsim_limits limits = fsim_limits_of(w->l.p);
    for (bool more = true; more;) {
        more = false;
        if (give(w) == 0)
            return false;
        *mixed = fsim_find_mixed(&w->l, w->left_out);
        for (int i = 0; i < w->l.count; i++) {
            const fsim_class class = fsim_ops[fsim_place_node(&w->l, i)->op].class;
            if ((*mixed)[i] && (class == FSIM_REDUCE ||
                                (class == FSIM_CONTRACTION && fsim_contraction_company(&limits, w->l.node[i]) > 1)))
                more = w->kept[i] = true;
        }
    }
    return true;
}

/* Does each primitive that reads what is given depend on the one before it that does? Of a kernel with several of them
 * the rest then hangs together without what is given. */
static bool read_in_turn(const giver *w)
{
    int before = -1;
    for (int i = 0; i < w->l.count; i++) {
        bool reads = false;
        for (int k = w->l.pred_first[i]; k < w->l.pred_first[i + 1]; k++)
            reads = reads || w->left_out[w->l.pred[k]];
        if (!reads || w->left_out[i])
            continue;
        if (before >= 0 && !(i - before <= FSIM_BITS && fsim_bit(&w->l.before[i], FSIM_BITS - (i - before))))
            return false;
        before = i;
    }
    return true;
}

/* The number that is read in place of what is given: like tensor `of`. */
static fsim_tensor one_number(const fsim_graph *g, int of)
{
    fsim_tensor t = g->tensor[of];
    t.shape.rank = 0;
    t.role = FSIM_INPUT;
    t.elems = 1;
    t.bytes = t.written_bytes = fsim_dtype_bytes(t.dtype);
    t.storage = g->tensors;
    t.producer = -1;
    t.readers = 0;
    t.reader = NULL;
    t.lasting = t.known = true;
    return t;
}

static fsim_node with_number(const giver *w, const fsim_node *n, int number)
{
    fsim_node out = *n;
    out.arg = fsim_new(w->a, fsim_access, n->args + 1);
    for (int k = 0; k < n->args; k++) {
        out.arg[k] = n->arg[k];
        if (w->g->tensor[n->arg[k].tensor].producer < 0 || !is_given(w, w->g->tensor[n->arg[k].tensor].producer))
            continue;
        out.arg[k].tensor = number;
        out.arg[k].distinct = 1;
        out.arg[k].map.offset = 0;
        for (int m = 0; m < out.arg[k].map.modes; m++)
            out.arg[k].map.mode[m].stride = 0;
    }
    return out;
}

static void leave_out(const giver *w, fsim_shortened *out)
{
    const fsim_graph *g = w->g;
    int *number = fsim_new(w->a, int, g->nodes + 1), of = 0;
    fsim_graph *short_graph = fsim_new(w->a, fsim_graph, 1);
    *short_graph = *g;
    short_graph->tensors = g->tensors + 1;
    short_graph->tensor = fsim_new(w->a, fsim_tensor, g->tensors + 2);
    short_graph->node = fsim_new(w->a, fsim_node, g->nodes + 1);
    short_graph->nodes = 0;
    for (int n = 0; n < g->nodes; n++) {
        if (is_given(w, n)) {
            of = g->node[n].result[0];
            continue;
        }
        number[n] = short_graph->nodes;
        out->origin[short_graph->nodes] = n;
        short_graph->node[short_graph->nodes++] = with_number(w, &g->node[n], g->tensors);
    }
    for (int t = 0; t < g->tensors; t++) {
        fsim_tensor *x = &short_graph->tensor[t];
        *x = g->tensor[t];
        x->producer = x->producer < 0 || is_given(w, x->producer) ? -1 : number[x->producer];
        x->readers = 0;
        x->reader = NULL;
    }
    short_graph->tensor[g->tensors] = one_number(g, of);
    fsim_link_readers(short_graph, w->a);
    fsim_recount_sources(short_graph, w->a);
    out->graph = short_graph;
    for (int i = 0; i < w->l.count; i++)
        if (!w->left_out[i])
            out->node[out->nodes++] = number[w->l.node[i]];
}

bool fsim_leave_out_given(fsim_problem *p, const int *node, int count, int far, fsim_arena *a, fsim_shortened *out)
{
    const fsim_graph *g = p->graph;
    giver w = {
        .g = g, .a = a, .left_out = fsim_new(a, bool, count + 1), .kept = fsim_new(a, bool, count + 1), .far = far};
    bool *mixed = NULL;
    *out = (fsim_shortened){0};
    if (g->barrier || g->fuses + g->separates > 0)
        return false;
    fsim_places_of(p, node, count, (fsim_set_limits){.most = 1}, a, &w.l);
    if (!give_all(&w, &mixed))
        return false;
    out->in_turn = read_in_turn(&w);
    out->node = fsim_new(a, int, count + 1);
    out->left_out = fsim_new(a, int, count + 1);
    out->origin = fsim_new(a, int, g->nodes + 1);
    out->wanted = fsim_new(a, bool, g->nodes + 1);
    out->mixed = fsim_new(a, bool, g->nodes + 1);
    for (int i = 0; i < count; i++) {
        if (!w.left_out[i])
            continue;
        out->left_out[out->givens++] = node[i];
        out->mixed[node[i]] = mixed[i];
        for (int k = w.l.succ_first[i]; k < w.l.succ_first[i + 1]; k++)
            out->wanted[node[i]] = out->wanted[node[i]] || !w.left_out[w.l.succ[k]];
    }
    leave_out(&w, out);
    return true;
}

/* Merges kernels of the plan where that pays. */
static void merge(fsim_problem *p, fsim_arena *a, fsim_partition *part)
{
    fsim_plan apart, merged;
    fsim_refusal why;
    if (!fsim_price(p, part, a, &apart, &why) || !fsim_merge_greedily(p, &apart.partition, a, &merged) ||
        merged.objective >= apart.objective)
        return;
    part->parts = merged.partition.parts;
    for (int i = 0; i < part->parts; i++)
        part->part[i] = merged.partition.part[i];
}

/* Adds kernels for what is given, which store what the others read. */
void fsim_add_given(fsim_problem *p, const fsim_shortened *x, const fsim_budget *budget, fsim_arena *a,
                    fsim_partition *part)
{
    for (int i = 0; i < part->parts; i++)
        for (int k = 0; k < part->part[i].count; k++)
            part->part[i].node[k] = x->origin[part->part[i].node[k]];
    const fsim_one_side side = {.wanted = x->wanted};
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(budget, p, GIVEN_SHARES, &spent);
    fsim_frontier *f = fsim_frontier_of_side(p, x->left_out, x->givens, (fsim_scope){FSIM_UNLESS_WIDE, &side}, &own, a);
    const bool wide = fsim_frontier_gave_up(f);
    if (wide) { /* many masks of one table: which of them share a kernel is mostly left to merges */
        const fsim_budget rest = fsim_budget_share(&own, p, WIDE_SHARES, &spent);
        f = fsim_frontier_of_side(p, x->left_out, x->givens, (fsim_scope){FSIM_BEST_ONLY, &side}, &rest, a);
    }
    if (!fsim_frontier_plan(f, part, a))
        for (int i = 0; i < x->givens; i++)
            part->part[part->parts++] = (fsim_part){1, &x->left_out[i], fsim_new(a, bool, 1)};
    if (wide)
        merge(p, a, part);
}

fsim_sum fsim_price_given(fsim_problem *p, const fsim_shortened *x, const fsim_budget *budget, fsim_arena *a,
                          fsim_sum *price)
{
    const fsim_thoroughness way[] = {FSIM_UNLESS_WIDE, FSIM_PARTED, FSIM_LINKED};
    bool *stored = fsim_new(a, bool, p->graph->nodes + 1); /* others may be copied by a kernel of what is not given */
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(budget, p, GIVEN_SHARES, &spent);
    for (int i = 0; i < x->givens; i++)
        stored[x->left_out[i]] = x->wanted[x->left_out[i]] && !(p->recompute && fsim_may_clone(p, x->left_out[i]));
    const fsim_one_side side = {.wanted = stored, .any_order = true, .nothing = x->mixed};
    fsim_shadow shadow = {0};
    for (int k = 0; k < (int)(sizeof way / sizeof *way) && shadow.bound <= 0; k++) {
        fsim_frontier *f = fsim_frontier_ready(p, x->left_out, x->givens, (fsim_scope){way[k], &side}, &own, a);
        if (!fsim_frontier_gave_up(f))
            fsim_find_shadow(f, &shadow);
        if (way[k] != FSIM_LINKED)
            continue;
        fsim_shadow exclusive; /* where most places are in kernels that are not known, they may be worth more by it */
        fsim_price_exclusive(f, &exclusive);
        if (exclusive.bound > shadow.bound)
            shadow = exclusive;
    }
    for (int i = 0; i < x->givens && shadow.bound > 0; i++)
        price[x->left_out[i]] = shadow.price[i];
    return shadow.bound > 0 ? shadow.bound : 0;
}

bool fsim_search_without_given(fsim_problem *p, const int *node, int count, const fsim_budget *budget, fsim_arena *a,
                               fsim_without *out)
{
    fsim_shortened x;
    fsim_problem q = *p;
    fsim_spent spent;
    const fsim_one_side side = {.any_order = true};
    *out = (fsim_without){.far = out->far};
    if (!fsim_leave_out_given(p, node, count, out->far, a, &x) || !x.in_turn)
        return false;
    q.graph = q.limits.graph = x.graph;
    q.progress = NULL;
    q.store = fsim_store_new(a);
    fsim_budget own = fsim_budget_left(budget, p, &spent);
    own.steps /= SEARCH_SHARES;
    fsim_frontier *f = fsim_frontier_of_side(&q, x.node, x.nodes, (fsim_scope){FSIM_UNLESS_WIDE, &side}, &own, a);
    budget->spent->over = budget->spent->over || spent.over;
    out->groups = fsim_frontier_groups(f);
    out->states = fsim_frontier_states(f);
    out->part.part = fsim_new(a, fsim_part, 2 * count + 2);
    if (fsim_frontier_gave_up(f) || !fsim_frontier_complete(f) || !fsim_frontier_plan(f, &out->part, a))
        return false;
    fsim_add_work(p, fsim_work(&q));
    out->bound =
        fsim_frontier_bound(f) + fsim_price_given(p, &x, budget, a, fsim_new(a, fsim_sum, p->graph->nodes + 1));
    fsim_add_given(p, &x, budget, a, &out->part);
    return true;
}

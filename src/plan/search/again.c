/* SPDX-License-Identifier: Apache-2.0 */
/* again.c: what is given up is chosen among the values that a plan keeps for its backward pass. Which kernels of the
 * forward pass give up theirs is found for each of many limits by dynamic programming over the kernels as a chain
 * (checkpoints.h); where they are few, every subset of them is tried, too. The plan's kernels stay as they are; a value
 * is computed again by a kernel with the primitives that its kernel in the forward pass has for it. */
#include "plan/search/again.h"

#include "base/names.h"
#include "plan/price/deadline.h"
#include "plan/price/phases.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/search/checkpoints.h"
#include "plan/search/lists.h"
#include "plan/search/replay.h"
#include "plan/search/thrift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SUBSETS = 9, /* values of which every subset is tried */
    SMALL = 4,        /* a value that is so many times smaller than the largest may be kept where that is given up */
    LEVELS = 24       /* limits for which a chain's best choice is looked for */
};

typedef struct {
    const fsim_problem *p;
    const fsim_plan *base;
    fsim_arena *a;
    int *value, values; /* tensors that may be given up, in the order in which they are made */
    int64_t largest;    /* bytes of the largest of them */
    fsim_site *site;    /* kernels that make them, in launch order */
    int *site_of;       /* by value */
    int sites;
    signed char *fate; /* of each tensor */
    fsim_plan *out;
    int count, most;
} giver;

static int ascending(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* What only the forward pass computes or reads is of no use to a gradient. */
static void find_unread(giver *w)
{
    const fsim_graph *g = w->base->graph;
    for (int t = 0; t < g->own_tensors; t++)
        w->fate[t] = g->tensor[t].producer >= 0 ? FSIM_UNREAD : FSIM_HELD;
    for (int k = 0; k < w->base->kernels; k++) {
        const fsim_part *part = &w->base->partition.part[k];
        for (int i = 0; i < part->count && fsim_phase_of(g, part) != FSIM_FORWARD; i++) {
            const fsim_node *n = &g->node[part->node[i]];
            for (int r = 0; r < n->results; r++)
                if (n->result[r] < g->own_tensors)
                    w->fate[n->result[r]] = FSIM_PASSED;
        }
    }
}

static bool reads(const fsim_graph *g, int n, int tensor)
{
    for (int q = 0; q < g->node[n].args; q++)
        if (g->tensor[g->node[n].arg[q].tensor].storage == tensor)
            return true;
    return false;
}

/* Does no kernel of the backward pass take the derivative of what makes the tensor from the tensor? */
static bool is_derived_before(const giver *w, int tensor)
{
    const fsim_graph *g = w->base->graph;
    const int source = g->node[g->tensor[tensor].producer].source;
    for (int k = 0; k < w->base->kernels; k++) {
        const fsim_part *part = &w->base->partition.part[k];
        for (int i = 0; i < part->count && fsim_phase_of(g, part) != FSIM_FORWARD; i++)
            if (g->source[g->node[part->node[i]].source].gradient_of == source && reads(g, part->node[i], tensor))
                return false;
    }
    return true;
}

/* What the plan computes again already is not kept, nor what it computes on the way. */
static void keep_fates(giver *w)
{
    const fsim_derive *how = fsim_derivation_of(w->base->graph);
    for (int t = 0; t < how->fates && t < w->base->graph->own_tensors; t++)
        w->fate[t] = how->fate[t] == FSIM_DROPPED || how->fate[t] == FSIM_DROPPED_AFTER ? how->fate[t] : w->fate[t];
}

/* What is stored by kernels of the plan is held; the rest passes. */
static void find_values(giver *w)
{
    const fsim_graph *g = w->base->graph;
    fsim_saved *saved;
    const int count = fsim_saved_of(g, w->base, w->a, &saved);
    w->fate = fsim_new(w->a, signed char, g->own_tensors + 1);
    w->value = fsim_new(w->a, int, count + 1);
    find_unread(w);
    keep_fates(w);
    for (int i = 0; i < count; i++) {
        const int t = saved[i].tensor;
        if ((saved[i].way != FSIM_KEEP && saved[i].way != FSIM_REDUCED) || t >= g->own_tensors)
            continue;
        const bool listed = w->fate[t] == FSIM_HELD; /* in both ways */
        w->fate[t] = FSIM_HELD;
        if (!listed && (saved[i].way == FSIM_REDUCED || (!g->tensor[t].lasting && !g->tensor[t].output))) {
            w->value[w->values++] = t;
            w->largest = g->tensor[t].bytes > w->largest ? g->tensor[t].bytes : w->largest;
        }
    }
    qsort(w->value, (size_t)w->values, sizeof *w->value, ascending);
}

/* The kernels that make the values: what each holds in memory, and what it takes to run it again. */
static void find_sites(giver *w)
{
    const fsim_graph *g = w->base->graph;
    w->site = fsim_new(w->a, fsim_site, w->values + 1);
    w->site_of = fsim_new(w->a, int, w->values + 1);
    for (int k = 0; k < w->base->kernels; k++) {
        const fsim_kernel *x = &w->base->kernel[k];
        fsim_site site = {.cost = x->time_s};
        for (int o = 0; o < x->outputs; o++) {
            const fsim_tensor *held = &g->tensor[x->output[o].tensor];
            const int t = held->reduces >= 0 ? held->reduces : x->output[o].tensor,
                      *at = bsearch(&t, w->value, (size_t)w->values, sizeof t, ascending);
            if (!at)
                continue;
            w->site_of[at - w->value] = w->sites;
            site.bytes += held->bytes;
        }
        if (site.bytes > 0)
            w->site[w->sites++] = site;
    }
}

/* The primitive of g that does what n of the base graph does, and the one that does it again; -1: none. */
typedef struct {
    fsim_names name;
    const fsim_graph *from, *to;
    fsim_arena *a;
} translation;

static translation translation_of(const fsim_graph *from, const fsim_graph *to, fsim_arena *a)
{
    translation t = {.from = from, .to = to, .a = a};
    for (int n = 0; n < to->nodes; n++)
        fsim_names_set(a, &t.name, to->node[n].name, n);
    return t;
}

static int same_in(const translation *t, int n) { return fsim_names_get(&t->name, t->from->node[n].name); }

static int again_in(const translation *t, int n)
{
    return fsim_names_get(&t->name, fsim_printf(t->a, "again/%s", t->from->node[n].name));
}

static bool is_read_in(const fsim_graph *g, const fsim_part *part, int from, int n)
{
    for (int i = from; i < part->count; i++)
        for (int k = 0; k < g->node[part->node[i]].args; k++)
            if (g->tensor[g->node[part->node[i]].arg[k].tensor].producer == n)
                return true;
    return false;
}

/* A copy that nothing in its kernel reads any more is left out. */
static void leave_unread(const fsim_graph *g, fsim_part *part)
{
    for (int i = part->count; i-- > 0;)
        if (part->clone[i] && !is_read_in(g, part, i + 1, part->node[i])) {
            part->count--;
            memmove(&part->node[i], &part->node[i + 1], (size_t)(part->count - i) * sizeof *part->node);
            memmove(&part->clone[i], &part->clone[i + 1], (size_t)(part->count - i) * sizeof *part->clone);
        }
}

static fsim_part *new_part(fsim_partition *to, int room, fsim_arena *a)
{
    fsim_part *part = &to->part[to->parts++];
    *part = (fsim_part){0, fsim_new(a, int, room + 1), fsim_new(a, bool, room + 1)};
    return part;
}

static void put(fsim_part *part, int node, bool clone)
{
    int at = part->count++;
    for (; at > 0 && part->node[at - 1] > node; at--) {
        part->node[at] = part->node[at - 1];
        part->clone[at] = part->clone[at - 1];
    }
    part->node[at] = node;
    part->clone[at] = clone;
}

/* Does a primitive that was in a kernel of the forward pass read what is only there when it was computed again? */
static bool reads_again(const fsim_graph *g, int n, const fsim_part *more)
{
    for (int k = 0; k < g->node[n].args; k++) {
        const int from = g->tensor[g->node[n].arg[k].tensor].producer;
        if (from >= 0 &&
            (g->node[from].again || bsearch(&from, more->node, (size_t)more->count, sizeof from, ascending)))
            return true;
    }
    return false;
}

/* The plan's kernels on the other graph, and those that compute again. False where a primitive is missing there. */
static bool translate(const giver *w, const fsim_graph *to, fsim_partition *out, fsim_arena *a)
{
    const fsim_partition *of = fsim_priced_partition(w->base);
    const translation names = translation_of(w->base->graph, to, a),
                      own = translation_of(w->base->graph, w->base->graph, a);
    *out = (fsim_partition){0, fsim_new(a, fsim_part, 2 * of->parts + 1)};
    for (int k = 0; k < of->parts; k++) {
        const fsim_part *part = &of->part[k];
        fsim_part *same = new_part(out, part->count, a), *more = new_part(out, part->count, a);
        const bool forward = fsim_phase_of(w->base->graph, part) == FSIM_FORWARD;
        for (int i = 0; i < part->count; i++) {
            const int n = same_in(&names, part->node[i]);
            const bool has = again_in(&own, part->node[i]) >= 0; /* the plan computes it again already, elsewhere */
            const int again = part->clone[i] || has ? -1 : again_in(&names, part->node[i]);
            if (n < 0)
                return false;
            if (again >= 0)
                put(more, again, false);
            put(forward && reads_again(to, n, more) ? more : same, n, part->clone[i]);
        }
        leave_unread(to, same);
        out->parts -= more->count == 0;
    }
    return true;
}

/* Adds the plan to those found so far unless one of them is as good in both respects. */
static void keep(giver *w, const fsim_plan *plan)
{
    w->out[w->count++] = *plan;
    w->count = fsim_thin_front(w->out, fsim_front_of(w->out, w->count), w->most);
}

/* With calls of a library, where the graph knows them and they are faster. */
static bool price(fsim_problem *q, const fsim_partition *part, fsim_plan *plan, fsim_arena *a)
{
    fsim_refusal why;
    const bool legal = fsim_price(q, part, a, plan, &why);
    if (legal && q->graph->calls)
        fsim_plan_calling(q, plan, a);
    return legal;
}

/* Prices the kernels on their graph, in two orders; one of them is that of the partition where it is listed so. */
static void offer(giver *w, fsim_graph *g, const fsim_partition *part, bool listed)
{
    fsim_plan plan;
    if (w->base->graph->calls)
        fsim_sdpa_mark(g, w->p->hw, FSIM_BY_ATEN);
    fsim_problem q = *w->p;
    q.graph = q.limits.graph = g;
    q.store = fsim_store_new(w->a);
    for (int lean = 0; lean < 2; lean++) { /* neither order is best for all */
        q.lean = lean;
        q.listed = listed && !lean;
        q.roughly = true;
        if (price(&q, part, &plan, w->a))
            keep(w, &plan);
    }
}

static bool has_plan_of(const giver *w, const fsim_graph *g)
{
    for (int i = 0; i < w->count; i++)
        if (w->out[i].graph == g)
            return true;
    return false;
}

/* A graph that none of the plans found so far is of goes at once: there may be a thousand. */
static void try(giver *w, const signed char *fate)
{
    giver of = *w;
    of.a = fsim_arena_child(w->a);
    fsim_graph *g = fsim_graph_with_fates(w->base->graph, fate, w->base->graph->own_tensors, of.a);
    fsim_partition part;
    if (g && translate(w, g, &part, of.a))
        offer(&of, g, &part, false);
    w->count = of.count;
    if (!g || !has_plan_of(w, g))
        fsim_arena_free(of.a);
}

/* Gives up the values that are flagged. */
static void give_up_as(giver *w, const bool *dropped, bool all)
{
    const fsim_graph *g = w->base->graph;
    signed char *fate = fsim_new(w->a, signed char, g->own_tensors + 1);
    memcpy(fate, w->fate, (size_t)g->own_tensors);
    for (int i = 0; i < w->values; i++)
        fate[w->value[i]] = !dropped[i]                                 ? FSIM_HELD
                            : !all && is_derived_before(w, w->value[i]) ? FSIM_DROPPED_AFTER
                                                                        : FSIM_DROPPED;
    try(w, fate);
}

static void give_up(giver *w, const bool *dropped) { give_up_as(w, dropped, true); }

static bool is_small(const giver *w, int value)
{
    return w->base->graph->tensor[w->value[value]].bytes <= w->largest / SMALL;
}

/* Gives up the values of the flagged kernels: all of them, or the large ones, which may be all that there is. */
static void give_up_sites(giver *w, const bool *site)
{
    bool *dropped = fsim_new(w->a, bool, w->values + 1), any_small = false, any_large = false;
    for (int i = 0; i < w->values; i++) {
        dropped[i] = site[w->site_of[i]] && !is_small(w, i);
        any_large = any_large || dropped[i];
        any_small = any_small || (site[w->site_of[i]] && is_small(w, i));
    }
    if (any_large || !any_small)
        give_up_as(w, dropped, false);
    for (int i = 0; i < w->values; i++)
        dropped[i] = site[w->site_of[i]];
    give_up(w, dropped);
}

static bool in_time(const giver *w) { return !fsim_late(w->p); }

/* The chain's best choice for each of many limits, from the least that is possible to what all takes together. */
static void give_up_chain(giver *w)
{
    bool *site = fsim_new(w->a, bool, w->sites + 1), *last = fsim_new(w->a, bool, w->sites + 1);
    fsim_chain chain = fsim_chain_of(w->site, w->sites, w->a);
    give_up_sites(w, last);
    for (int level = LEVELS; level > 0 && in_time(w); level--) {
        if (!fsim_chain_choose(&chain, chain.total / LEVELS * level, site))
            break;
        if (memcmp(site, last, (size_t)w->sites * sizeof *site) == 0)
            continue;
        memcpy(last, site, (size_t)w->sites * sizeof *site);
        give_up_sites(w, site);
    }
}

/* Every subset of n values or kernels. */
static void give_up_subsets(giver *w, int n, void (*give)(giver *, const bool *))
{
    bool *dropped = fsim_new(w->a, bool, n + 1);
    for (uint64_t bits = 0; bits < (uint64_t)1 << n && in_time(w); bits++) {
        for (int i = 0; i < n; i++)
            dropped[i] = bits >> i & 1;
        give(w, dropped);
    }
}

static void take_replay(void *to, fsim_graph *g, const fsim_partition *part) { offer(to, g, part, true); }

static void play_of(giver *w, const fsim_plan *plan, bool kept)
{
    giver of = *w;
    of.base = plan;
    if (!kept)
        keep(&of, plan);
    fsim_replay(w->p, plan, w->fate, w->a, take_replay, &of);
    w->count = of.count;
}

/* Plays the plan as a pebble game, as it is and with fewer values in memory. */
static void play(giver *w)
{
    fsim_plan thrifty, parted;
    play_of(w, w->base, true);
    if (fsim_make_thrifty(w->p, w->base, w->a, &thrifty))
        play_of(w, &thrifty, false);
    if (!fsim_part_with_sums(w->p, w->base, w->a, &parted))
        return;
    play_of(w, &parted, false);
    if (fsim_make_thrifty(w->p, &parted, w->a, &thrifty))
        play_of(w, &thrifty, false);
}

/* The plans were launched in orders of simple rules: those that are left in the best that can be found. */
static void order_well(giver *w)
{
    const int count = w->count;
    fsim_plan *rough = fsim_new(w->a, fsim_plan, count + 1);
    memcpy(rough, w->out, (size_t)count * sizeof *rough);
    for (int i = 0; i < count && in_time(w); i++) {
        fsim_problem q = *w->p;
        fsim_plan plan;
        q.graph = q.limits.graph = rough[i].graph;
        q.store = fsim_store_new(w->a);
        q.lean = true;
        if (price(&q, fsim_priced_partition(&rough[i]), &plan, w->a))
            keep(w, &plan);
    }
}

static bool may_give_up(const fsim_problem *p, const fsim_plan *base)
{
    const fsim_graph *g = base->graph;
    return base->kernels > 0 && g->derived == FSIM_REVERSE && g->origin && p->recompute &&
           fsim_derivation_of(g)->reads == 0;
}

int fsim_plans_again(const fsim_problem *p, const fsim_plan *base, int most, fsim_arena *a, fsim_plan *out)
{
    giver w = {.p = p, .base = base, .a = a, .out = out, .most = most};
    if (!may_give_up(p, base))
        return 0;
    find_values(&w);
    find_sites(&w);
    play(&w);
    give_up_chain(&w);
    if (w.values <= MOST_SUBSETS)
        give_up_subsets(&w, w.values, give_up);
    else if (w.sites <= MOST_SUBSETS)
        give_up_subsets(&w, w.sites, give_up_sites);
    order_well(&w);
    return w.count;
}

void fsim_price_given_up(const fsim_problem *p, const fsim_plan *base, const int *tensor, int count,
                         fsim_priced_again *out)
{
    fsim_arena *a = fsim_arena_new();
    fsim_plan one[4];
    giver w = {.p = p, .base = base, .a = a, .out = one, .most = 1};
    const bool may = may_give_up(p, base);
    if (may)
        find_values(&w);
    bool *dropped = fsim_new(a, bool, w.values + 1);
    for (int i = 0; i < count; i++) {
        const fsim_mark mark = fsim_save(a);
        const int *at = may ? bsearch(&tensor[i], w.value, (size_t)w.values, sizeof *w.value, ascending) : NULL;
        w.count = 0;
        if (at) {
            dropped[at - w.value] = true;
            give_up_as(&w, dropped, false);
            dropped[at - w.value] = false;
        }
        out[i] =
            w.count > 0 ? (fsim_priced_again){one[0].time_s, one[0].peak_memory_bytes} : (fsim_priced_again){NAN, 0};
        fsim_rewind(a, mark);
    }
    fsim_arena_free(a);
}

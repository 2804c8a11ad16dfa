/* SPDX-License-Identifier: Apache-2.0 */
/* optimal.c: the best partition, with a proof or a lower bound.
 *
 * 1. Pieces. Primitives that could never share a kernel fall into different pieces; each piece is searched by itself.
 * 2. A piece that is legal as one kernel without penalty (every unit works at the rate, and moves and computes no more, than the parts of any split
 *    would together) is optimal as one: time is launch + a norm of the units' times, and a norm of a sum is at most the sum of the norms.
 * 3. Otherwise dynamic programming over what has run: a state is the set of primitives that have run and those of them that were not stored; a step launches
 *    one more group. Costs are relaxed: every residency in L2 that some order could give is granted, so the result bounds every plan from below.
 * 4. Where the plan found costs more than the bound because residency was granted in vain, depth-first search over launch orders with the exact
 *    cost to go of (3) as its bound closes the gap, as far as the step budget goes.
 * Pieces beyond 64 primitives or the budget are cut into stretches; the bound is then the sum of the work that no plan can avoid. */
#include "search/search.h"
#include "fusion/chain.h"
#include "search/merge.h"
#include "search/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STRETCH = 14, STRETCH_SETS = 6000, PIECE_SETS = 2000000, MAX_OPTIONAL = 8 };
static const double steps_per_second = 2e6; /* of fsim_work, on a 2020 server core */

typedef struct {
    fsim_mask done, dropped;
    fsim_mask set, stored; /* the best next group, and which of its members it stores */
    int64_t cost;          /* least relaxed cost to go; -1: no way */
    bool known;
} state;

typedef struct {
    const fsim_problem *p;
    fsim_space *w;
    fsim_arena *a;
    state *table;
    int64_t slots, states;
    int64_t budget;
    fsim_mask all;
    double deadline_s; /* on the monotonic clock: ten times the time limit */
    bool failed;       /* the budget ended */
    bool *by_clock;    /* ... because the clock said so: the one thing that may differ between runs */
} program;

static uint64_t mix(fsim_mask x, fsim_mask y)
{
    uint64_t h = x * 0x9e3779b97f4a7c15u ^ (y + 0x7f4a7c159e3779b9u) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 31;
}

static state *lookup(program *d, fsim_mask done, fsim_mask dropped)
{
    if (d->states * 2 >= d->slots) {
        state *old = d->table;
        const int64_t slots = d->slots;
        d->slots = slots ? slots * 2 : 1024;
        d->table = fsim_new(d->a, state, d->slots);
        for (int64_t i = 0; i < slots; i++)
            if (old[i].known)
                *lookup(d, old[i].done, old[i].dropped) = old[i];
    }
    uint64_t i = mix(done, dropped) & (uint64_t)(d->slots - 1);
    while (d->table[i].known && (d->table[i].done != done || d->table[i].dropped != dropped))
        i = (i + 1) & (uint64_t)(d->slots - 1);
    return &d->table[i];
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One step more: false when the budget, the clock or the user ends the search. */
static bool step(program *d)
{
    fsim_add_work(d->p, 1);
    if (fsim_work(d->p) % 8192 == 0 && seconds_now() > d->deadline_s)
        *d->by_clock = true;
    return fsim_work(d->p) <= d->budget && !*d->by_clock && !(d->p->interrupted && *d->p->interrupted);
}

static int lowest(fsim_mask m) { return __builtin_ctzll(m); }
static fsim_mask bit(int i) { return (fsim_mask)1 << i; }

/* Least cost of a group after `done`: what may be resident is. A graph input can be only once some reader of it has run, unless readers
 * outside the piece may have run before. -1 when it is no kernel. */
static int64_t relaxed(const program *d, fsim_mask s, fsim_mask stored, fsim_mask done)
{
    const fsim_graph *g = d->p->graph;
    int node[FSIM_SPACE_NODES];
    bool flags[FSIM_SPACE_NODES], hit[FSIM_MAX_PARAMETERS + 1], absorbed[FSIM_MAX_PARAMETERS + 1];
    const int count = fsim_list_of(d->w, s, node);
    int i = 0;
    for (fsim_mask left = s; left; left &= left - 1)
        flags[i++] = stored & bit(lowest(left));
    fsim_candidate *c = fsim_candidate_of(d->p, node, count, flags);
    if (!c->legal)
        return -1;
    for (int r = 0; r < c->group.reads; r++) {
        const fsim_tensor *t = &g->tensor[c->group.read[r].tensor];
        bool touched = t->producer >= 0 || d->p->warm;
        for (int k = 0, at = 0; !touched && k < t->readers; k++) {
            while (at < d->w->n && d->w->node[at] < t->reader[k])
                at++;
            touched = at == d->w->n || d->w->node[at] != t->reader[k] || (done & bit(at));
        }
        hit[r] = touched && fsim_may_reside(d->p, c->group.read[r].tensor);
    }
    for (int k = 0; k < c->group.writes; k++) {
        const fsim_tensor *t = &g->tensor[c->group.write[k].tensor];
        absorbed[k] = !t->output && !t->materialize && t->readers > 0 && fsim_may_reside(d->p, c->group.write[k].tensor);
    }
    const fsim_kernel *k = fsim_kernel_for(d->p, c, hit, absorbed);
    return k ? fsim_objective_of(d->p, k) : -1;
}

/* Members new in s that must be stored, and those that may be stored or left to be computed again by every reader. */
static void storing(const program *d, fsim_mask s, fsim_mask done, fsim_mask *must, fsim_mask *may)
{
    *must = *may = 0;
    for (fsim_mask left = s & ~done; left; left &= left - 1) {
        const int n = lowest(left);
        const fsim_mask me = bit(n), outside = d->w->succ[n] & ~s;
        if ((d->w->must & me) || (outside && (!(d->w->clonable & me) || !(d->w->succ[n] & s))))
            *must |= me;
        else if (outside)
            *may |= me;
        else if (!d->w->succ[n])
            *must |= me;
    }
}

static bool launchable(const program *d, int set, fsim_mask done, fsim_mask dropped)
{
    const fsim_mask s = d->w->set[set], again = s & done, preds = d->w->preds[set];
    if (s == again || (again & ~d->w->clonable) || (preds & ~done) || (preds & dropped))
        return false;
    for (fsim_mask left = again; left; left &= left - 1)
        if (!(d->w->succ[lowest(left)] & s))
            return false;
    return true;
}

/* What stays unstored and still has readers to come. */
static fsim_mask still_dropped(const program *d, fsim_mask dropped, fsim_mask done)
{
    fsim_mask out = 0;
    for (; dropped; dropped &= dropped - 1)
        if (d->w->succ[lowest(dropped)] & ~done)
            out |= bit(lowest(dropped));
    return out;
}

static int64_t cost_to_go(program *d, fsim_mask done, fsim_mask dropped)
{
    if (done == d->all)
        return 0;
    state *found = lookup(d, done, dropped);
    if (found->known)
        return found->cost;
    state best = {.done = done, .dropped = dropped, .cost = -1, .known = true};
    int passed = 0;
    for (int i = fsim_next_set(d->w, 0, done); i < d->w->sets && !d->failed; i = fsim_next_set(d->w, i + 1, done)) {
        const fsim_mask s = d->w->set[i];
        if (++passed % 64 == 0)
            fsim_add_work(d->p, 1);
        if (!launchable(d, i, done, dropped))
            continue;
        fsim_mask must, may, stored = 0;
        storing(d, s, done, &must, &may);
        if (__builtin_popcountll(may) > MAX_OPTIONAL) {
            d->failed = true;
            break;
        }
        do { /* every subset of may */
            if (!step(d)) {
                d->failed = true;
                break;
            }
            const int64_t here = relaxed(d, s, must | stored, done);
            if (here >= 0) {
                const int64_t rest = cost_to_go(d, done | s, still_dropped(d, dropped | (may & ~stored), done | s));
                if (rest >= 0 && (best.cost < 0 || here + rest < best.cost)) {
                    best.cost = here + rest;
                    best.set = s;
                    best.stored = must | stored;
                }
            }
            stored = (stored - may) & may;
        } while (stored && !d->failed);
    }
    if (d->failed)
        return -1;
    d->states++;
    *lookup(d, done, dropped) = best;
    return best.cost;
}

/* Appends the groups of the relaxed optimum. */
static void read_off(program *d, fsim_partition *out, fsim_arena *a)
{
    fsim_mask done = 0, dropped = 0;
    while (done != d->all) {
        const state *s = lookup(d, done, dropped);
        fsim_mask must, may;
        storing(d, s->set, done, &must, &may);
        out->part[out->parts++] = fsim_part_of(d->w, s->set, a);
        const fsim_mask next = done | s->set;
        dropped = still_dropped(d, dropped | (may & ~s->stored), next);
        done = next;
    }
}

/* Step 4. */
typedef struct {
    program *d;
    fsim_walk at;
    fsim_plan *best;
    fsim_arena *a, *keep;
    bool failed;
} closing;

static void try_leaf(closing *x)
{
    const fsim_mark mark = fsim_save(x->a);
    fsim_plan plan;
    if (fsim_price_walk(&x->at, x->a, &plan) && plan.objective < x->best->objective)
        fsim_price_walk(&x->at, x->keep, x->best);
    fsim_rewind(x->a, mark);
}

static void close_gap(closing *x, int64_t spent, fsim_mask dropped)
{
    program *d = x->d;
    const int depth = x->at.depth;
    const fsim_mask done = x->at.done[depth];
    if (done == d->all) {
        try_leaf(x);
        return;
    }
    int passed = 0;
    for (int i = fsim_next_set(d->w, 0, done); i < d->w->sets && !x->failed; i = fsim_next_set(d->w, i + 1, done)) {
        const fsim_mask s = d->w->set[i];
        if (++passed % 64 == 0)
            fsim_add_work(d->p, 1);
        if (!launchable(d, i, done, dropped) || !fsim_in_order(&x->at, i))
            continue;
        fsim_mask must, may, stored = 0;
        storing(d, s, done, &must, &may);
        do {
            if (!step(d)) {
                x->failed = true;
                return;
            }
            const int64_t here = relaxed(d, s, must | stored, done);
            const fsim_mask next = still_dropped(d, dropped | (may & ~stored), done | s);
            const int64_t rest = here < 0 ? -1 : cost_to_go(d, done | s, next);
            if (rest >= 0 && spent + here + rest < x->best->objective) {
                x->at.chosen[depth] = s;
                x->at.done[depth + 1] = done | s;
                x->at.depth = depth + 1;
                close_gap(x, spent + here, next);
                x->at.depth = depth;
            }
            stored = (stored - may) & may;
        } while (stored && !x->failed);
    }
}

static double launch_of(const fsim_problem *p)
{
    static const fsim_hw_key key[FSIM_REGIME_COUNT] = {FSIM_HW_KERNEL_FLOOR, FSIM_HW_LAUNCH_STREAM, FSIM_HW_LAUNCH_GRAPH, FSIM_HW_KERNEL_FLOOR};
    return fsim_hw_get(p->hw, key[p->regime]);
}

/* Does node read all of each argument? Then whatever kernels there are, each element is read, and computed, at least once. */
static bool reads_all(const fsim_graph *g, const fsim_node *n)
{
    for (int k = 0; k < n->args; k++)
        if (n->arg[k].how == FSIM_READ_INDIRECT || n->arg[k].distinct < g->tensor[n->arg[k].tensor].elems)
            return false;
    return true;
}

/* What every plan of these primitives takes at least: graph inputs and outputs to and from DRAM once, arithmetic once at full rate, one launch. A sum of
 * norms is at least the norm of the sum. 0 where some primitive reads a part of its argument only, so that not all need be computed. */
static int64_t compulsory_of(const fsim_problem *p, const int *node, int count)
{
    const fsim_graph *g = p->graph;
    const double sms = fsim_hw_get(p->hw, FSIM_HW_SMS) * fsim_hw_get(p->hw, FSIM_HW_SM_CLOCK);
    double bytes = 0, lanes = 0, specials = 0;
    bool contracts = false;
    for (int i = 0; i < count; i++)
        contracts = contracts || g->node[node[i]].gemm.k;
    for (int i = 0; i < count; i++) {
        const fsim_node *n = &g->node[node[i]];
        if (!reads_all(g, n))
            return 0;
        /* a kernel with a contraction may fold arithmetic and vectors into its weights, and apply a row's factor to its results only */
        const bool sure = !contracts || p->limits.strict;
        if (sure && !n->gemm.k && n->dtype != FSIM_F64)
            lanes += (double)n->points * (double)n->reduced * n->instructions;
        specials += sure ? (double)n->points * (double)n->reduced * n->specials : 0;
        for (int r = 0; r < n->results; r++)
            bytes += g->tensor[n->result[r]].output && r == 0 ? (double)g->tensor[n->result[r]].bytes : 0;
        for (int k = 0; k < n->args; k++) {
            const fsim_tensor *t = &g->tensor[n->arg[k].tensor];
            bool first = t->producer < 0 && t->reader[0] == node[i], again = false; /* an input counts once, where no other piece may have read it before */
            for (int r = 0; first && r < t->readers; r++)
                first = bsearch(&t->reader[r], node, (size_t)count, sizeof *node, fsim_by_int) != NULL;
            for (int q = 0; q < k; q++)
                again = again || n->arg[q].tensor == n->arg[k].tensor;
            if (first && !again && (sure || n->gemm.k || t->role != FSIM_WEIGHT) && (!p->warm || !fsim_may_reside(p, n->arg[k].tensor)))
                bytes += (double)t->bytes;
        }
    }
    if (p->objective == FSIM_MINIMISE_BYTES)
        return (int64_t)bytes;
    const double widest = fmax(fsim_hw_get(p->hw, FSIM_HW_FP32_RATE), fmax(0, fsim_hw_get(p->hw, FSIM_HW_INT32_RATE)));
    const double dram = bytes / fsim_hw_get(p->hw, FSIM_HW_DRAM_BANDWIDTH), compute = lanes / (sms * widest),
                 special = specials / (sms * fsim_hw_get(p->hw, FSIM_HW_SPECIAL_RATE));
    const double seconds = launch_of(p) + cbrt(dram * dram * dram + compute * compute * compute + special * special * special);
    return (int64_t)(seconds * (1 - 1e-9) / FSIM_TICK_S);
}

/* Each contraction, pooling and boundary is in a kernel of its own, which takes at least as long as it would with its intermediates free. Contractions that
 * could share one only claim their products, and one launch together. */
static int64_t anchors_of(const fsim_problem *p, const int *node, int count, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    int64_t sum = 0;
    double shared_s = 0, made = 1;
    for (int i = 0; i < count; i++) /* a chain leaves out what a causal mask hides, less than half */
        made = g->node[node[i]].op == FSIM_OP_CAUSAL_MASK ? 0.5 : made;
    for (int i = 0; i < count; i++) {
        const bool stored = true;
        const fsim_class class = fsim_ops[g->node[node[i]].op].class;
        if (class != FSIM_CONTRACTION && class != FSIM_WINDOW && !fsim_classes[class].boundary)
            continue; /* other work may hide in another's kernel: claim none of it */
        if (class == FSIM_CONTRACTION && fsim_may_join(&p->limits, node[i])) {
            shared_s += made * fsim_least_contraction_s(g, p->hw, node[i]);
            continue;
        }
        fsim_candidate *c = fsim_candidate_of(p, &node[i], 1, &stored);
        if (!c->legal)
            continue;
        fsim_group bare = c->group; /* only what it reads from the graph's inputs */
        bare.read = fsim_new(a, fsim_read, c->group.reads + 1);
        bare.reads = bare.writes = 0;
        for (int r = 0; r < c->group.reads; r++)
            if (g->tensor[c->group.read[r].tensor].producer < 0 && g->tensor[c->group.read[r].tensor].readers == 1 && !p->warm)
                bare.read[bare.reads++] = c->group.read[r];
        const fsim_kernel k = fsim_kernel_of(g, p->hw, p->regime, &bare, NULL, a);
        sum += k.time_s > 0 ? fsim_objective_of(p, &k) : 0;
    }
    if (shared_s > 0 && p->objective == FSIM_MINIMISE_TIME)
        sum += (int64_t)((launch_of(p) + shared_s) * (1 - 1e-9) / FSIM_TICK_S);
    return sum;
}

static int64_t floor_of(const fsim_problem *p, const int *node, int count, fsim_arena *a)
{
    const int64_t anchors = anchors_of(p, node, count, a), compulsory = compulsory_of(p, node, count);
    return anchors > compulsory ? anchors : compulsory;
}

/* Steps 1 to 3. */

typedef struct {
    const fsim_problem *p;
    fsim_arena *a, *keep;
    fsim_partition found;
    int64_t bound, budget, considered;
    bool whole; /* every piece was solved */
    double deadline_s;
    bool *by_clock;
    program *last;
} solver;

static bool one_kernel(solver *s, const int *node, int count)
{
    const fsim_problem *p = s->p;
    fsim_group made;
    fsim_refusal why;
    bool *stored = fsim_new(s->a, bool, count);
    if (!fsim_user_allows(p, node, count, &why) || !fsim_legal(&p->limits, node, count, s->a, &made, &why))
        return false;
    for (int i = 0, w = 0; i < count; i++) {
        for (int r = 0; r < p->graph->node[node[i]].results; r++)
            while (w < made.writes && made.write[w].tensor == p->graph->node[node[i]].result[r]) {
                stored[i] = true;
                w++;
            }
    }
    /* writes come in node order, so the walk above finds each */
    fsim_candidate *c = fsim_candidate_of(p, node, count, stored);
    if (!c->legal)
        return false;
    bool *hit = fsim_new(s->a, bool, made.reads + 1), *absorbed = fsim_new(s->a, bool, made.writes + 1);
    for (int r = 0; r < made.reads; r++) /* residency could favour a split: then this proves nothing */
        if (p->warm && fsim_may_reside(p, made.read[r].tensor))
            return false;
    const fsim_kernel *k = fsim_kernel_for(p, c, hit, absorbed);
    /* A split pays a second launch: with a penalty smaller than that the one kernel is still the best. */
    const int64_t second = p->objective == FSIM_MINIMISE_TIME ? (int64_t)(launch_of(p) * (1 - 1e-9) / FSIM_TICK_S) : 0;
    if (!k || (k->penalised && fsim_objective_of(p, k) > compulsory_of(p, node, count) + second))
        return false;
    for (int r = 0; r < made.reads; r++)
        if (p->graph->tensor[made.read[r].tensor].producer >= 0 || p->graph->tensor[made.read[r].tensor].readers > 1)
            for (int i = 0; i < p->graph->tensor[made.read[r].tensor].readers; i++) {
                const int reader = p->graph->tensor[made.read[r].tensor].reader[i];
                const bool outside = !bsearch(&reader, node, (size_t)count, sizeof reader, fsim_by_int);
                if ((outside || p->graph->tensor[made.read[r].tensor].producer >= 0) && fsim_may_reside(p, made.read[r].tensor))
                    hit[r] = true; /* may be there when the piece starts: the bound grants it */
            }
    for (int w = 0; w < made.writes; w++) {
        const fsim_tensor *t = &p->graph->tensor[made.write[w].tensor];
        absorbed[w] = !t->output && !t->materialize && t->readers > 0 && fsim_may_reside(p, made.write[w].tensor);
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

static bool solve(solver *s, const int *node, int count, int64_t most_sets, bool keep_program)
{
    fsim_space *w = fsim_new(s->a, fsim_space, 1);
    program *d = fsim_new(s->a, program, 1);
    if (count > FSIM_SPACE_NODES)
        return false;
    fsim_space_of(s->p, node, count, most_sets, s->a, w);
    s->considered += w->looked_at;
    if (!w->complete)
        return false;
    *d = (program){.p = s->p, .w = w, .a = s->a, .budget = s->budget, .deadline_s = s->deadline_s, .by_clock = s->by_clock};
    d->all = count == 64 ? ~(fsim_mask)0 : bit(count) - 1;
    const int64_t cost = cost_to_go(d, 0, 0);
    if (d->failed || cost < 0)
        return false;
    s->bound += cost;
    read_off(d, &s->found, s->a);
    if (keep_program)
        s->last = d;
    return true;
}

/* A piece that is too large: stretches of the topological order, each solved; no bound comes of it. */
static void solve_in_stretches(solver *s, const int *node, int count)
{
    s->bound += floor_of(s->p, node, count, s->a);
    s->whole = false;
    const int64_t bound = s->bound;
    for (int from = 0; from < count;) {
        int take = count - from < STRETCH ? count - from : STRETCH;
        const int64_t limit = s->budget;
        const int64_t share = fsim_work(s->p) + limit / 8;
        s->budget = share < limit ? share : limit;
        while (take > 1 && !solve(s, node + from, take, STRETCH_SETS, false))
            take /= 2;
        s->budget = limit;
        if (take == 1) {
            fsim_part *part = &s->found.part[s->found.parts++];
            part->count = 1;
            part->node = fsim_new(s->a, int, 1);
            part->clone = fsim_new(s->a, bool, 1);
            part->node[0] = node[from];
        }
        from += take;
    }
    s->bound = bound;
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Pieces: primitives linked by a tensor that both touch, where neither is always alone. */
static int *pieces(const fsim_graph *g, fsim_arena *a)
{
    int *parent = fsim_new(a, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        parent[n] = n;
    for (int t = 0; t < g->tensors; t++) {
        int first = g->tensor[t].producer;
        if (first >= 0 && (fsim_classes[fsim_ops[g->node[first].op].class].boundary || g->tensor[t].materialize))
            first = -1;
        for (int r = 0; r < g->tensor[t].readers; r++) {
            const int reader = g->tensor[t].reader[r];
            if (fsim_classes[fsim_ops[g->node[reader].op].class].boundary)
                continue;
            if (first >= 0)
                parent[root_of(parent, reader)] = root_of(parent, first);
            else
                first = reader;
        }
    }
    for (int n = 0; n < g->nodes; n++)
        parent[n] = root_of(parent, n);
    return parent;
}

static void solve_pieces(solver *s)
{
    const fsim_graph *g = s->p->graph;
    int *piece = pieces(g, s->a), *node = fsim_new(s->a, int, g->nodes + 1), *next = fsim_new(s->a, int, g->nodes + 1),
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
            node[count++] = i;
        const bool alone = count == g->nodes;
        const int parts = s->found.parts;
        const int64_t bound = s->bound;
        if (one_kernel(s, node, count) || solve(s, node, count, PIECE_SETS, alone))
            continue;
        s->found.parts = parts;
        s->bound = bound;
        solve_in_stretches(s, node, count);
    }
}

void fsim_optimal(const fsim_problem *p, const fsim_plan *known, int count, fsim_arena *a, fsim_plan *out, fsim_proof *proof)
{
    const double start = seconds_now();
    const int64_t began = fsim_work(p);
    fsim_refusal why;
    fsim_arena *scratch = fsim_arena_new();
    bool by_clock = false;
    solver s = {.p = p, .a = scratch, .keep = a, .whole = true, .budget = began + (int64_t)fmin(p->time_limit_s * steps_per_second, 1e15),
                .deadline_s = start + 10 * p->time_limit_s, .by_clock = &by_clock};
    s.found.part = fsim_new(scratch, fsim_part, p->graph->nodes * 2 + 2);
    *proof = (fsim_proof){0};
    *out = (fsim_plan){0};
    solve_pieces(&s);
    bool have = fsim_price(p, &s.found, a, out, &why);
    fsim_plan better;
    if (have && !s.whole && fsim_merge_greedily(p, &out->partition, scratch, &better) && better.objective < out->objective)
        have = fsim_price(p, &better.partition, a, out, &why);
    const fsim_partition chained = !s.whole ? fsim_chained_singles(p, scratch) : (fsim_partition){0};
    if (chained.parts > 0 && chained.parts < p->graph->nodes && fsim_merge_greedily(p, &chained, scratch, &better) && (!have || better.objective < out->objective))
        have = fsim_price(p, &better.partition, a, out, &why);
    for (int i = 0; i < count; i++)
        if (known[i].kernels > 0 && (!have || known[i].objective < out->objective)) {
            *out = known[i];
            have = true;
        }
    if (s.whole && have && out->objective > s.bound) {
        /* Residency granted in vain, or pieces that wait for each other: search the whole graph at once where it is small enough. */
        if (!s.last && p->graph->nodes <= FSIM_SPACE_NODES) {
            solver again = s;
            int node[FSIM_SPACE_NODES];
            for (int n = 0; n < p->graph->nodes; n++)
                node[n] = n;
            again.found.parts = 0;
            again.bound = 0;
            again.found.part = fsim_new(scratch, fsim_part, p->graph->nodes * 2 + 2);
            if (solve(&again, node, p->graph->nodes, PIECE_SETS, true)) {
                s.last = again.last;
                s.bound = again.bound > s.bound ? again.bound : s.bound;
            }
            s.considered = again.considered;
        }
        if (s.last && out->objective > s.bound) {
            closing x = {.d = s.last, .at = {.w = s.last->w}, .best = out, .a = fsim_arena_new(), .keep = a};
            close_gap(&x, 0, 0);
            fsim_arena_free(x.a);
            if (!x.failed && !s.last->failed)
                s.bound = out->objective;
        }
    }
    if (!have)
        *out = (fsim_plan){0};
    out->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
    const double unit = p->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    proof->proven = have && s.bound >= out->objective;
    proof->lower_bound = (double)(proof->proven ? out->objective : s.bound) * unit;
    proof->groups_considered = s.considered;
    proof->stopped_by_clock = by_clock;
    proof->search_s = (double)(fsim_work(p) - began) / steps_per_second;
    fsim_arena_free(scratch);
}

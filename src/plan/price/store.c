/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: groups and kernels that were priced, in a hash table by their primitives and what they store. */
#include "plan/price/price.h"

#include "cost/costing.h"
#include "fusion/chain.h"
#include "fusion/fuse.h"
#include "fusion/walks.h"
#include "plan/price/alike.h"
#include "plan/price/groups.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a framework launches instead of the kernel. */
typedef struct launched {
    struct launched *next;
    fsim_maker maker;
    bool shared; /* it lists the group's reads and writes, so that sets that are like it have the same */
    fsim_kernel kernel;
} launched;

typedef struct priced {
    struct priced *next;
    bool *hit, *absorbed;
    bool fits;
    fsim_kernel kernel;
    launched *launched;
} priced;

typedef struct entry {
    struct entry *next, *next_alike;
    uint64_t hash, likeness;
    int count, *node;
    bool *stored;
    bool serves; /* sets that are like it take its group and prices */
    fsim_candidate value;
} entry;

typedef struct fsim_store {
    fsim_worked worked;
    fsim_arena *a, *scratch, *comparing;
    fsim_kept_maps *maps;  /* of the groups in a */
    entry **slot, **alike; /* by primitives; by likeness: the first of all sets that are alike */
    int slots, count;
    const fsim_likeness *likeness; /* NULL: not asked for yet */
    fsim_walks *walks;             /* the same */
    double *alone_s,  /* per primitive: fsim_contraction_alone_for; 0: not asked for yet; NULL: for none; */
        *generated_s, /* and fsim_contraction_generated_for, */
        *beside_s;    /* and fsim_contraction_beside_for; -1: not known */
    bool few;         /* sets: they are not compared */
    fsim_mark empty;  /* of a, before the first slot */
} fsim_store;

enum { FEWEST_SLOTS = 64 };

enum {
    WORK_OF_LIKE = 1,
    WORK_OF_GROUP = 2,
    WORK_OF_KERNEL = 4,
    WORK_OF_CONTRACTION = 100
}; /* steps of work, from measurements */

static void make_slots(fsim_store *s, int slots)
{
    s->slots = slots;
    s->slot = fsim_new(s->a, entry *, slots);
    s->alike = fsim_new(s->a, entry *, slots);
}

struct fsim_store *fsim_store_new(fsim_arena *a)
{
    fsim_store *s = fsim_new(a, fsim_store, 1);
    s->a = fsim_arena_child(a);
    s->scratch = fsim_arena_child(a);
    s->comparing = fsim_arena_child(a);
    s->empty = fsim_save(s->a);
    make_slots(s, FEWEST_SLOTS);
    s->maps = fsim_kept_maps_new(s->a);
    return s;
}

struct fsim_store *fsim_store_of_few(fsim_arena *a)
{
    fsim_store *s = fsim_store_new(a);
    s->few = true;
    return s;
}

struct fsim_store *fsim_store_beside(const fsim_problem *p, fsim_arena *a)
{
    fsim_store *s = fsim_store_new(a);
    s->likeness = p->store->likeness;
    s->walks = p->store->walks;
    return s;
}

static void empty(fsim_store *s)
{
    fsim_rewind(s->a, s->empty);
    make_slots(s, FEWEST_SLOTS);
    s->maps = fsim_kept_maps_new(s->a);
    s->count = 0;
}

void fsim_store_clear(struct fsim_store *s)
{
    empty(s);
    fsim_rewind(s->comparing, (fsim_mark){NULL, 0});
    s->likeness = NULL;
    s->walks = NULL;
    s->alone_s = s->generated_s = s->beside_s = NULL;
}

void fsim_store_trim(fsim_problem *p, int most)
{
    if (p->store->count > most)
        empty(p->store);
}

static uint64_t hash_of(const fsim_selection *set)
{
    uint64_t h = 1469598103934665603u;
    for (int i = 0; i < set->count; i++)
        h = (h ^ (uint64_t)(set->node[i] * 2 + set->stored[i])) * 1099511628211u;
    return h ^ h >> 29;
}

static entry **slot_of(fsim_store *s, entry **table, uint64_t hash) { return &table[hash & (uint64_t)(s->slots - 1)]; }

static void grow(fsim_store *s)
{
    entry **old = s->slot, **old_alike = s->alike;
    const int slots = s->slots;
    make_slots(s, 4 * slots);
    for (int i = 0; i < slots; i++) {
        for (entry *e = old[i], *next; e; e = next) {
            entry **to = slot_of(s, s->slot, e->hash);
            next = e->next;
            e->next = *to;
            *to = e;
        }
        for (entry *e = old_alike[i], *next; e; e = next) {
            entry **to = slot_of(s, s->alike, e->likeness);
            next = e->next_alike;
            e->next_alike = *to;
            *to = e;
        }
    }
}

static const fsim_serving_call *kept_call(fsim_arena *a, const fsim_serving_call *call)
{
    fsim_serving_call *own = fsim_exact_copy(a, call, 1, sizeof *call);
    own->of.node = fsim_exact_copy(a, own->of.node, own->of.count, sizeof *own->of.node);
    own->length = own->length ? fsim_exact_copy(a, own->length, own->lengths, sizeof *own->length) : NULL;
    return own;
}

void fsim_group_keep(fsim_arena *a, fsim_kept_maps *maps, fsim_group *o)
{
    o->call = o->call ? kept_call(a, o->call) : NULL;
    o->member = fsim_exact_copy(a, o->member, o->members, sizeof *o->member);
    o->read = fsim_exact_copy(a, o->read, o->reads, sizeof *o->read);
    o->write = fsim_exact_copy(a, o->write, o->writes, sizeof *o->write);
    o->joint = o->joint ? fsim_exact_copy(a, o->joint, 1, sizeof *o->joint) : NULL;
    for (int i = 0; i < o->reads; i++) {
        fsim_read *r = &o->read[i];
        r->map = fsim_keep_maps(maps, r->map, r->maps);
        r->place = r->place ? fsim_keep_maps(maps, r->place, r->maps) : NULL;
        r->access = r->derived ? fsim_exact_copy(a, r->access, 1, sizeof *r->access) : r->access;
    }
}

static fsim_selection set_of(const entry *e)
{
    return (fsim_selection){.node = e->node, .count = e->count, .stored = e->stored};
}

static entry *find(fsim_store *s, const fsim_selection *set, uint64_t hash)
{
    for (entry *e = *slot_of(s, s->slot, hash); e; e = e->next)
        if (e->hash == hash && e->count == set->count &&
            memcmp(e->node, set->node, (size_t)set->count * sizeof *set->node) == 0 &&
            memcmp(e->stored, set->stored, (size_t)set->count * sizeof *set->stored) == 0)
            return e;
    return NULL;
}

static entry *add(fsim_store *s, const fsim_selection *set, uint64_t hash)
{
    if (s->count++ > s->slots)
        grow(s);
    entry *e = fsim_new(s->a, entry, 1);
    entry **slot = slot_of(s, s->slot, hash);
    e->hash = hash;
    e->count = set->count;
    e->node = fsim_exact_copy(s->a, set->node, set->count, sizeof *set->node);
    e->stored = fsim_exact_copy(s->a, set->stored, set->count, sizeof *set->stored);
    e->next = *slot;
    *slot = e;
    return e;
}

static const fsim_likeness *likeness_of(fsim_problem *p)
{
    fsim_store *s = p->store;
    if (!s->likeness)
        s->likeness = fsim_likeness_of(p->graph, s->comparing);
    return s->likeness;
}

/* The first set that is like this one; NULL. *likeness: its hash, 0 where the set has no likes. */
static entry *find_like(fsim_problem *p, const fsim_selection *set, uint64_t *likeness)
{
    fsim_store *s = p->store;
    const fsim_likeness *l = s->few ? NULL : likeness_of(p);
    *likeness = 0;
    if (s->few || !fsim_has_likes(l, set))
        return NULL;
    *likeness = fsim_likeness_hash(l, set) | 1;
    for (entry *e = *slot_of(s, s->alike, *likeness); e; e = e->next_alike) {
        const fsim_selection other = set_of(e);
        if (e->likeness == *likeness && fsim_are_alike(l, &other, set, s->comparing))
            return e;
    }
    return NULL;
}

fsim_limits fsim_limits_of(const fsim_problem *p)
{
    fsim_store *s = p->store;
    fsim_limits limits = p->limits;
    if (!s->walks)
        s->walks = fsim_walks_new(p->graph, s->comparing);
    limits.walks = s->walks;
    return limits;
}

/* Takes the reads of what kernels know from a group. */
static void forget_known(const fsim_graph *g, fsim_group *o)
{
    int kept = 0;
    for (int i = 0; i < o->reads; i++)
        if (!g->tensor[o->read[i].tensor].known)
            o->read[kept++] = o->read[i];
    o->reads = kept;
}

static void group_anew(fsim_problem *p, entry *e)
{
    fsim_store *s = p->store;
    const fsim_selection set = set_of(e);
    fsim_groups *shared = fsim_groups_for(p);
    s->worked.steps += WORK_OF_GROUP + e->count + (int64_t)e->count * e->count / 64;
    const fsim_shared_group *known = shared ? fsim_groups_find(shared, &p->limits, &set, e->hash) : NULL;
    if (known) {
        e->value.legal = known->legal;
        e->value.why = known->why;
        e->value.group = known->group;
        return;
    }
    fsim_rests_on on = {0};
    fsim_limits limits = fsim_limits_of(p);
    limits.rests_on = &on;
    const fsim_mark mark = fsim_save(s->scratch);
    fsim_group group;
    e->value.legal = fsim_group_of(&limits, &set, s->scratch, &group, &e->value.why);
    if (e->value.legal) {
        fsim_arena *a = shared ? fsim_groups_arena(shared) : s->a;
        forget_known(p->graph, &group);
        fsim_group_keep(a, shared ? fsim_groups_maps(shared) : s->maps, &group);
        e->value.group = fsim_exact_copy(a, &group, 1, sizeof group);
    }
    fsim_rewind(s->scratch, mark);
    if (shared)
        fsim_groups_add(shared, &set, e->hash,
                        &(fsim_shared_group){.legal = e->value.legal,
                                             .why = e->value.why,
                                             .group = e->value.group,
                                             .rests_on = on,
                                             .shared_per_block = limits.shared_per_block,
                                             .strict = limits.strict});
}

static void offer_to_likes(fsim_problem *p, entry *e, uint64_t likeness)
{
    entry **slot = slot_of(p->store, p->store->alike, likeness);
    const fsim_selection set = set_of(e);
    e->serves =
        e->value.legal ? fsim_group_may_move(p->graph, e->value.group) : fsim_refusal_moved(&set, &set, &e->value.why);
    e->likeness = likeness;
    e->next_alike = *slot;
    *slot = e;
}

static void take_from_like(fsim_problem *p, entry *e, entry *first)
{
    const fsim_selection set = set_of(e), other = set_of(first);
    p->store->worked.steps += WORK_OF_LIKE;
    e->value.legal = first->value.legal;
    e->value.why = first->value.why;
    e->value.like = &first->value;
    if (e->value.legal) {
        const fsim_group moved = fsim_group_moved(p->graph, first->value.group, &set, p->store->a);
        e->value.group = fsim_exact_copy(p->store->a, &moved, 1, sizeof moved);
    } else {
        fsim_refusal_moved(&other, &set, &e->value.why);
    }
}

fsim_candidate *fsim_candidate_of(fsim_problem *p, const int *node, int count, const bool *stored)
{
    const fsim_selection set = {.node = node, .count = count, .stored = stored};
    const uint64_t hash = hash_of(&set);
    uint64_t likeness;
    entry *e = find(p->store, &set, hash);
    if (e)
        return &e->value;
    entry *first = find_like(p, &set, &likeness);
    e = add(p->store, &set, hash);
    if (first && first->serves) {
        take_from_like(p, e, first);
    } else {
        group_anew(p, e);
        if (likeness && !first)
            offer_to_likes(p, e, likeness);
    }
    return &e->value;
}

fsim_candidate *fsim_candidate_like(fsim_problem *p, const int *node, int count, const bool *stored)
{
    uint64_t likeness;
    entry *first = find_like(p, &(fsim_selection){.node = node, .count = count, .stored = stored}, &likeness);
    if (!first || !first->serves)
        return fsim_candidate_of(p, node, count, stored);
    p->store->worked.steps += WORK_OF_LIKE;
    return &first->value;
}

int fsim_by_int(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

static bool same_flags(const bool *x, const bool *y, int count) { return memcmp(x, y, (size_t)count * sizeof *x) == 0; }

static bool *copy_flags(fsim_arena *a, const bool *x, int count) { return fsim_exact_copy(a, x, count, sizeof *x); }

static priced *find_price(const fsim_candidate *c, const bool *hit, const bool *absorbed)
{
    for (priced *k = c->kernel; k; k = k->next)
        if (same_flags(k->hit, hit, c->group->reads) && same_flags(k->absorbed, absorbed, c->group->writes))
            return k;
    return NULL;
}

/* Are the kernel's inputs and outputs the group's reads and writes, in their order? */
static bool lists_group(const fsim_kernel *k, const fsim_group *o)
{
    bool all = k->inputs <= o->reads && k->outputs <= o->writes;
    for (int i = 0; i < k->inputs && all; i++)
        all = k->input[i].tensor == o->read[i].tensor;
    for (int i = 0; i < k->outputs && all; i++)
        all = k->output[i].tensor == o->write[i].tensor;
    return all;
}

static void price_anew(fsim_problem *p, const fsim_candidate *c, priced *k)
{
    fsim_store *s = p->store;
    const fsim_residency l2 = {.hit = k->hit, .absorbed = k->absorbed};
    const fsim_mark mark = fsim_save(s->scratch);
    s->worked.steps += c->group->template == FSIM_TILED_CONTRACTION || c->group->template == FSIM_CHAINED_CONTRACTION
                           ? WORK_OF_CONTRACTION
                           : WORK_OF_KERNEL;
    k->kernel = fsim_kernel_of(p->graph, p->hw, p->regime, c->group, &l2, s->scratch);
    k->fits = k->kernel.time_s > 0;
    assert(lists_group(&k->kernel, c->group));
    k->kernel.input = fsim_exact_copy(s->a, k->kernel.input, k->kernel.inputs, sizeof *k->kernel.input);
    k->kernel.output = fsim_exact_copy(s->a, k->kernel.output, k->kernel.outputs, sizeof *k->kernel.output);
    fsim_rewind(s->scratch, mark);
}

const fsim_call_lead *fsim_call_lead_for(fsim_problem *p, fsim_candidate *c)
{
    fsim_store *s = p->store;
    fsim_candidate *of = c->like ? c->like : c;
    if (!of->lead) {
        const fsim_mark mark = fsim_save(s->scratch);
        const fsim_call_lead lead = fsim_call_lead_of(p->graph, p->hw, p->regime, of->group, s->scratch);
        fsim_rewind(s->scratch, mark);
        s->worked.steps += lead.call ? WORK_OF_CONTRACTION : 1;
        of->lead = fsim_new(s->a, fsim_call_lead, 1);
        *of->lead = lead;
    }
    return of->lead;
}

bool fsim_call_loses_for(fsim_problem *p, fsim_candidate *c)
{
    fsim_store *s = p->store;
    fsim_candidate *of = c->like ? c->like : c;
    const fsim_call_lead *lead = fsim_call_lead_for(p, c);
    if (!lead->call || p->objective == FSIM_MINIMISE_BYTES)
        return lead->call && lead->beyond_bytes > 0;
    if (of->loses == 0) {
        const fsim_mark mark = fsim_save(s->scratch);
        const bool loses =
            lead->ours_s < lead->call_s && fsim_call_may_lose(p->graph, p->hw, p->regime, of->group, s->scratch);
        fsim_rewind(s->scratch, mark);
        s->worked.steps += WORK_OF_CONTRACTION;
        of->loses = loses ? 1 : -1;
    }
    return of->loses > 0;
}

/* The kernel of a set that is like c's, for c: its inputs and outputs are the group's reads and writes. In a. */
static fsim_kernel kernel_moved(const fsim_candidate *c, const fsim_kernel *from, fsim_arena *a)
{
    fsim_kernel k = *from;
    k.group = c->group;
    k.input = fsim_exact_copy(a, from->input, from->inputs, sizeof *from->input);
    k.output = fsim_exact_copy(a, from->output, from->outputs, sizeof *from->output);
    for (int i = 0; i < from->inputs; i++)
        k.input[i].tensor = c->group->read[i].tensor;
    for (int i = 0; i < from->outputs; i++)
        k.output[i].tensor = c->group->write[i].tensor;
    return k;
}

const fsim_kernel *fsim_kernel_for(fsim_problem *p, fsim_candidate *c, const bool *hit, const bool *absorbed)
{
    fsim_store *s = p->store;
    priced *k = find_price(c, hit, absorbed);
    if (k)
        return k->fits ? &k->kernel : NULL;
    const fsim_kernel *like = c->like ? fsim_kernel_for(p, c->like, hit, absorbed) : NULL;
    k = fsim_new(s->a, priced, 1);
    k->hit = copy_flags(s->a, hit, c->group->reads);
    k->absorbed = copy_flags(s->a, absorbed, c->group->writes);
    k->next = c->kernel;
    c->kernel = k;
    if (like) {
        s->worked.steps += WORK_OF_LIKE;
        k->kernel = kernel_moved(c, like, s->a);
        k->fits = true;
    } else if (!c->like) {
        price_anew(p, c, k);
    }
    return k->fits ? &k->kernel : NULL;
}

/* What `maker` launches for the kernel k of candidate c. */
static const launched *launch(fsim_problem *p, fsim_maker maker, const fsim_candidate *c, priced *k)
{
    const fsim_software software = {p->graph, p->hw, p->regime, maker};
    const fsim_residency l2 = {.hit = k->hit, .absorbed = k->absorbed};
    for (launched *x = k->launched; x; x = x->next)
        if (x->maker == maker)
            return x;
    launched *x = fsim_new(p->store->a, launched, 1);
    const fsim_mark mark = fsim_save(p->store->scratch);
    *x = (launched){.next = k->launched, .maker = maker};
    x->kernel = fsim_framework_kernel(&software, c->group, &l2, &k->kernel, p->store->scratch);
    x->shared = lists_group(&x->kernel, c->group) && x->kernel.group == c->group;
    x->kernel.input = fsim_exact_copy(p->store->a, x->kernel.input, x->kernel.inputs, sizeof *x->kernel.input);
    x->kernel.output = fsim_exact_copy(p->store->a, x->kernel.output, x->kernel.outputs, sizeof *x->kernel.output);
    fsim_rewind(p->store->scratch, mark);
    return k->launched = x;
}

fsim_kernel fsim_kernel_launched_by(fsim_problem *p, fsim_maker maker, fsim_candidate *c, const fsim_residency *l2,
                                    fsim_arena *a)
{
    fsim_candidate *first = c->like ? c->like : c;
    fsim_kernel_for(p, first, l2->hit, l2->absorbed);
    const launched *x = launch(p, maker, first, find_price(first, l2->hit, l2->absorbed));
    if (x->shared)
        return kernel_moved(c, &x->kernel, a);
    fsim_kernel_for(p, c, l2->hit, l2->absorbed);
    return launch(p, maker, c, find_price(c, l2->hit, l2->absorbed))->kernel;
}

const fsim_kernel *fsim_kernel_alone(fsim_problem *p, const int *node, int count, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    bool *stored = fsim_new(a, bool, count);
    for (int i = 0; i < count; i++) {
        stored[i] = g->node[node[i]].effect;
        for (int r = 0; r < g->node[node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[node[i]].result[r]];
            stored[i] = stored[i] || t->output || t->materialize;
            for (int k = 0; k < t->readers && !stored[i]; k++)
                stored[i] = !bsearch(&t->reader[k], node, (size_t)count, sizeof *node, fsim_by_int);
        }
    }
    fsim_candidate *c = fsim_candidate_of(p, node, count, stored);
    return c->legal
               ? fsim_kernel_for(p, c, fsim_new(a, bool, c->group->reads + 1), fsim_new(a, bool, c->group->writes + 1))
               : NULL;
}

fsim_sum fsim_objective_of(const fsim_problem *p, const fsim_kernel *k)
{
    return p->objective == FSIM_MINIMISE_BYTES ? (fsim_sum)k->dram_read_bytes + k->dram_write_bytes
                                               : fsim_ticks(k->time_s);
}

/* From the list, where it is known, or as this says. */
static double known_s(const fsim_problem *p, double **list, int node,
                      double (*of)(const fsim_graph *, const fsim_hw *, int, double))
{
    if (!*list)
        *list = fsim_new(p->store->comparing, double, p->graph->nodes + 1);
    if ((*list)[node] == 0)
        (*list)[node] = of(p->graph, p->hw, node, fmax(0, fsim_least_launch_s(p->hw, p->regime)));
    return (*list)[node];
}

double fsim_contraction_alone_for(const fsim_problem *p, int node)
{
    return known_s(p, &p->store->alone_s, node, fsim_contraction_alone_s);
}

double fsim_contraction_generated_for(const fsim_problem *p, int node)
{
    return known_s(p, &p->store->generated_s, node, fsim_contraction_generated_s);
}

/* Numbers of columns, and what products that have so many together take for each. */
typedef struct {
    double columns[256], least_s[256];
    int count;
} joint_times;

static double joint_s(const fsim_problem *p, int node, double columns, int company, joint_times *known)
{
    for (int i = 0; i < known->count; i++)
        if (known->columns[i] == columns)
            return known->least_s[i];
    const double least = fsim_contraction_beside_s(p->graph, p->hw, node, columns, company,
                                                   fmax(0, fsim_least_launch_s(p->hw, p->regime)));
    known->columns[known->count] = columns;
    known->least_s[known->count++] = least;
    return least;
}

/* In proportion to columns: in a kernel of some of them, each has at most its part of that kernel. */
static double beside_s(const fsim_problem *p, int node)
{
    enum { MOST = 6 };
    const fsim_graph *g = p->graph;
    const fsim_limits limits = fsim_limits_of(p);
    int other[MOST];
    const int others = fsim_siblings_of(&limits, node, other, MOST);
    const double own = (double)g->node[node].gemm.n;
    double least = fsim_contraction_alone_for(p, node) / own;
    joint_times known = {.count = 0};
    if (others < 0)
        return -1;
    for (int set = 1; set < 1 << others; set++) {
        double columns = own;
        for (int i = 0; i < others; i++)
            columns += set >> i & 1 ? (double)g->node[other[i]].gemm.n : 0;
        least = fmin(least, joint_s(p, node, columns, 1 + others, &known) / columns);
    }
    return least * own * (1 - 1e-12);
}

double fsim_contraction_beside_for(const fsim_problem *p, int node)
{
    double **list = &p->store->beside_s;
    if (!*list)
        *list = fsim_new(p->store->comparing, double, p->graph->nodes + 1);
    if ((*list)[node] == 0)
        (*list)[node] = beside_s(p, node);
    return fmax(0, (*list)[node]);
}

bool fsim_may_clone(const fsim_problem *p, int node)
{
    const fsim_graph *g = p->graph;
    if (!fsim_classes[fsim_ops[g->node[node].op].class].clones)
        return false;
    for (int r = 0; r < g->node[node].results; r++) {
        const fsim_tensor *t = &g->tensor[g->node[node].result[r]];
        if (t->readers > 0 && t->reader[t->readers - 1] - node > FSIM_CLONE_REACH)
            return false;
    }
    return true;
}

bool fsim_may_reside(const fsim_problem *p, int tensor)
{
    return (double)p->graph->tensor[tensor].bytes <= fsim_l2_effective(p->hw);
}

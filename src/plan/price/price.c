/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/price.h"

#include "fusion/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct priced {
    struct priced *next;
    bool *hit, *absorbed;
    bool fits;
    fsim_kernel kernel;
} priced;

typedef struct entry {
    struct entry *next;
    uint64_t hash;
    int count, *key; /* node * 2 + stored */
    fsim_candidate value;
} entry;

typedef struct fsim_store {
    fsim_arena *a, *scratch;
    entry **slot;
    int slots, count;
    int64_t work;
    fsim_mark empty; /* of a, before the first slot */
} fsim_store;

enum { FEWEST_SLOTS = 64 };

enum { WORK_OF_GROUP = 2, WORK_OF_KERNEL = 4, WORK_OF_CONTRACTION = 100 }; /* steps, measured */

int64_t fsim_work(const fsim_problem *p) { return p->store->work; }
void fsim_add_work(fsim_problem *p, int64_t steps) { p->store->work += steps; }

struct fsim_store *fsim_store_new(fsim_arena *a)
{
    fsim_store *s = fsim_new(a, fsim_store, 1);
    s->a = fsim_arena_child(a);
    s->scratch = fsim_arena_child(a);
    s->empty = fsim_save(s->a);
    s->slots = FEWEST_SLOTS;
    s->slot = fsim_new(s->a, entry *, s->slots);
    return s;
}

void fsim_store_trim(fsim_problem *p, int most)
{
    fsim_store *s = p->store;
    if (s->count <= most)
        return;
    fsim_rewind(s->a, s->empty);
    s->slots = FEWEST_SLOTS;
    s->slot = fsim_new(s->a, entry *, s->slots);
    s->count = 0;
}

static uint64_t hash_of(const int *node, int count, const bool *stored)
{
    uint64_t h = 1469598103934665603u;
    for (int i = 0; i < count; i++)
        h = (h ^ (uint64_t)(node[i] * 2 + stored[i])) * 1099511628211u;
    return h ^ h >> 29;
}

static void grow(fsim_store *s)
{
    entry **old = s->slot;
    const int slots = s->slots;
    s->slots *= 4;
    s->slot = fsim_new(s->a, entry *, s->slots);
    for (int i = 0; i < slots; i++)
        for (entry *e = old[i], *next; e; e = next) {
            next = e->next;
            entry **to = &s->slot[e->hash & (uint64_t)(s->slots - 1)];
            e->next = *to;
            *to = e;
        }
}

static void *keep(fsim_arena *a, const void *items, int count, size_t size)
{
    void *copy = fsim_alloc(a, (size_t)count + 1, size);
    if (count)
        memcpy(copy, items, (size_t)count * size);
    return copy;
}

void fsim_group_keep(fsim_arena *a, fsim_group *o)
{
    o->member = keep(a, o->member, o->members, sizeof *o->member);
    o->read = keep(a, o->read, o->reads, sizeof *o->read);
    o->write = keep(a, o->write, o->writes, sizeof *o->write);
    o->joint = o->joint ? keep(a, o->joint, 1, sizeof *o->joint) : NULL;
    for (int i = 0; i < o->reads; i++) {
        fsim_read *r = &o->read[i];
        r->map = keep(a, r->map, r->maps, sizeof *r->map);
        r->place = r->place ? keep(a, r->place, r->maps, sizeof *r->place) : NULL;
        r->access = r->derived ? keep(a, r->access, 1, sizeof *r->access) : r->access;
    }
}

fsim_candidate *fsim_candidate_of(fsim_problem *p, const int *node, int count, const bool *stored)
{
    fsim_store *s = p->store;
    const uint64_t h = hash_of(node, count, stored);
    for (entry *e = s->slot[h & (uint64_t)(s->slots - 1)]; e; e = e->next) {
        if (e->hash != h || e->count != count)
            continue;
        int i = 0;
        while (i < count && e->key[i] == node[i] * 2 + stored[i])
            i++;
        if (i == count)
            return &e->value;
    }
    if (s->count++ > s->slots)
        grow(s);
    entry *e = fsim_new(s->a, entry, 1);
    e->hash = h;
    e->count = count;
    e->key = fsim_new(s->a, int, count);
    for (int i = 0; i < count; i++)
        e->key[i] = node[i] * 2 + stored[i];
    e->next = s->slot[h & (uint64_t)(s->slots - 1)];
    s->slot[h & (uint64_t)(s->slots - 1)] = e;
    s->work += WORK_OF_GROUP + count + count * count / 64;
    const fsim_mark mark = fsim_save(s->scratch);
    e->value.legal = fsim_group_of(&p->limits, node, count, stored, NULL, s->scratch, &e->value.group, &e->value.why);
    if (e->value.legal)
        fsim_group_keep(s->a, &e->value.group);
    fsim_rewind(s->scratch, mark);
    return &e->value;
}

int fsim_by_int(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

static bool same_flags(const bool *x, const bool *y, int count) { return memcmp(x, y, (size_t)count * sizeof *x) == 0; }

static bool *copy_flags(fsim_arena *a, const bool *x, int count) { return keep(a, x, count, sizeof *x); }

const fsim_kernel *fsim_kernel_for(fsim_problem *p, fsim_candidate *c, const bool *hit, const bool *absorbed)
{
    fsim_store *s = p->store;
    for (priced *k = c->kernel; k; k = k->next)
        if (same_flags(k->hit, hit, c->group.reads) && same_flags(k->absorbed, absorbed, c->group.writes))
            return k->fits ? &k->kernel : NULL;
    priced *k = fsim_new(s->a, priced, 1);
    k->hit = copy_flags(s->a, hit, c->group.reads);
    k->absorbed = copy_flags(s->a, absorbed, c->group.writes);
    k->next = c->kernel;
    c->kernel = k;
    s->work += c->group.template == FSIM_TILED_CONTRACTION || c->group.template == FSIM_CHAINED_CONTRACTION
                   ? WORK_OF_CONTRACTION
                   : WORK_OF_KERNEL;
    const fsim_residency l2 = {.hit = k->hit, .absorbed = k->absorbed};
    const fsim_mark mark = fsim_save(s->scratch);
    k->kernel = fsim_kernel_of(p->graph, p->hw, p->regime, &c->group, &l2, s->scratch);
    k->fits = k->kernel.time_s > 0;
    k->kernel.input = keep(s->a, k->kernel.input, k->kernel.inputs, sizeof *k->kernel.input);
    k->kernel.output = keep(s->a, k->kernel.output, k->kernel.outputs, sizeof *k->kernel.output);
    fsim_rewind(s->scratch, mark);
    return k->fits ? &k->kernel : NULL;
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
               ? fsim_kernel_for(p, c, fsim_new(a, bool, c->group.reads + 1), fsim_new(a, bool, c->group.writes + 1))
               : NULL;
}

fsim_sum fsim_objective_of(const fsim_problem *p, const fsim_kernel *k)
{
    return p->objective == FSIM_MINIMISE_BYTES ? (fsim_sum)k->dram_read_bytes + k->dram_write_bytes
                                               : fsim_ticks(k->time_s);
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

/* The kernels of a plan being priced, in launch order. */
typedef struct {
    int kernels;
    const fsim_part **part;
    fsim_candidate **kernel;
    bool **hit, **absorbed; /* per kernel: of its reads and writes, as of fsim_residency */
} fsim_launches;

/* Launch order. */

typedef struct {
    fsim_problem *p;
    const fsim_graph *g;
    int *home;    /* per primitive: the part that runs it first; -1 */
    bool *needed; /* per primitive: a part that does not hold it reads it */
    int *held;    /* per primitive: the part being looked at, to ask membership */
    fsim_refusal *why;
    fsim_arena *a;
} pricing;

static void hold(pricing *w, const fsim_part *part, int id)
{
    for (int i = 0; i < part->count; i++)
        w->held[part->node[i]] = id;
}

static bool refuse(pricing *w, fsim_rule rule, int a, int b)
{
    *w->why = (fsim_refusal){.rule = rule, .a = a, .b = b, .through = -1};
    return false;
}

/* The order of launch: of the parts that are ready, the one whose last primitive is lowest. That is no clone, so no two
 * are equal. */
typedef struct {
    const fsim_part *part;
    int *heap, count;
} ready_heap;

static int last_of(const fsim_part *part) { return part->node[part->count - 1]; }

static void heap_push(ready_heap *h, int id)
{
    int i = h->count++;
    for (; i > 0 && last_of(&h->part[id]) < last_of(&h->part[h->heap[(i - 1) / 2]]); i = (i - 1) / 2)
        h->heap[i] = h->heap[(i - 1) / 2];
    h->heap[i] = id;
}

static int heap_pop(ready_heap *h)
{
    const int top = h->heap[0], last = h->heap[--h->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && last_of(&h->part[h->heap[child + 1]]) < last_of(&h->part[h->heap[child]]))
            child++;
        if (last_of(&h->part[h->heap[child]]) >= last_of(&h->part[last]))
            break;
        h->heap[i] = h->heap[child];
    }
    h->heap[i] = last;
    return top;
}

/* Fills order[], homes and what is needed in memory. waiting[i]: primitives outside part i that must run before it. */
static bool launch_order(pricing *w, const fsim_partition *partition, int *order, fsim_arena *a)
{
    const fsim_graph *g = w->g;
    const int parts = partition->parts;
    int *waiting = fsim_new(a, int, parts + 1), done = 0, edges = 0;
    ready_heap ready = {partition->part, fsim_new(a, int, parts + 1), 0};
    /* edge lists: parts that wait for each primitive */
    int *first = fsim_new(a, int, g->nodes + 1), *seen = fsim_new(a, int, g->nodes);
    typedef struct {
        int part, next;
    } edge;
    edge *list = NULL;
    int room = 0;
    for (int n = 0; n < g->nodes; n++) {
        first[n] = seen[n] = w->held[n] = -1;
        w->home[n] = -1;
    }
    for (int i = 0; i < parts; i++) {
        const fsim_part *part = &partition->part[i];
        hold(w, part, i);
        for (int k = 0; k < part->count; k++)
            for (int arg = 0; arg < g->node[part->node[k]].args; arg++) {
                const int from = g->tensor[g->node[part->node[k]].arg[arg].tensor].producer;
                if (from < 0 || w->held[from] == i || seen[from] == i)
                    continue;
                seen[from] = i;
                w->needed[from] = true;
                waiting[i]++;
                *FSIM_PUSH(a, list, edges, room) = (edge){i, first[from]};
                first[from] = edges - 1;
            }
        if (waiting[i] == 0)
            heap_push(&ready, i);
    }
    while (ready.count > 0) {
        const int id = heap_pop(&ready);
        const fsim_part *part = &partition->part[id];
        order[done++] = id;
        for (int k = 0; k < part->count; k++) {
            const int n = part->node[k];
            part->clone[k] = w->home[n] >= 0;
            if (part->clone[k])
                continue;
            w->home[n] = id;
            for (int e = first[n]; e >= 0; e = list[e].next)
                if (--waiting[list[e].part] == 0)
                    heap_push(&ready, list[e].part);
        }
    }
    if (done == parts)
        return true;
    int a_node = -1, b_node = -1; /* two parts that wait */
    for (int i = 0; i < parts; i++)
        if (waiting[i] > 0) {
            const int n = partition->part[i].node[0];
            a_node = a_node < 0 ? n : a_node;
            b_node = a_node != n ? n : b_node;
        }
    return refuse(w, FSIM_RULE_CYCLE, a_node, b_node);
}

/* Every primitive in a group is there for a reason: its group stores it, or something in the group reads it. */
static bool purposeful(pricing *w, const fsim_part *part, int id, const bool *stored)
{
    const fsim_graph *g = w->g;
    bool home = false;
    int first = 0;
    hold(w, part, id);
    while (first + 1 < part->count && part->clone[first])
        first++;
    for (int k = 0; k < part->count; k++) {
        bool read = stored[k];
        home = home || !part->clone[k];
        for (int r = 0; !read && r < g->node[part->node[k]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[part->node[k]].result[r]];
            for (int i = 0; !read && i < t->readers; i++)
                read = w->held[t->reader[i]] == id;
        }
        if (!read)
            return refuse(w, FSIM_RULE_CONNECTED, part->node[k], part->node[k ? 0 : part->count - 1]);
        if (part->clone[k] &&
            (!fsim_may_clone(w->p, part->node[k]) || part->node[first] - part->node[k] > FSIM_CLONE_REACH))
            return refuse(w, FSIM_RULE_COST, part->node[k], -1);
    }
    return home || refuse(w, FSIM_RULE_CONNECTED, part->node[0], -1);
}

/* L2 as a clock of the bytes that have entered it: a tensor is resident while no more than the effective capacity has
 * entered since its last use, itself included. A kernel's results were used last, before them its inputs, the largest
 * first; on a host all together. */
typedef struct {
    double capacity, entered;
    double *last; /* per tensor: where the clock stood at its last use; far back when never */
    int *order;
} l2_clock;

bool fsim_used_later(const fsim_problem *p, int x, int y)
{
    const int64_t a = p->graph->tensor[x].bytes, b = p->graph->tensor[y].bytes;
    return a != b ? a < b : x < y;
}

static bool resident(const l2_clock *c, int tensor) { return c->entered - c->last[tensor] <= c->capacity; }

/* Bytes of all that the kernel uses on a host; else 0. A host's few threads go through all tensors of a kernel side by
 * side, from beginning to end, and so does what reads them next: when it comes to the first element, all bytes of the
 * kernel before have passed, when it comes to the last, all of its own. So neither may be more than there is room for.
 */
static double together(const fsim_problem *p, const fsim_group *o)
{
    double all = 0;
    if (!p->hw->host)
        return 0;
    for (int i = 0; i < o->writes; i++)
        all += (double)p->graph->tensor[o->write[i].tensor].bytes;
    for (int i = 0; i < o->reads; i++)
        all += o->read[i].whole ? (double)p->graph->tensor[o->read[i].tensor].bytes : 0;
    return all;
}

static void run_through(const fsim_problem *p, l2_clock *c, const fsim_group *o, const bool *hit)
{
    const double all = together(p, o);
    double behind = 0;
    for (int i = 0; i < o->writes; i++)
        c->entered += (double)p->graph->tensor[o->write[i].tensor].bytes;
    for (int i = 0; i < o->reads; i++)
        c->entered += hit[i] ? 0 : (double)o->read[i].bytes;
    for (int i = 0; i < o->writes; i++) {
        behind += (double)p->graph->tensor[o->write[i].tensor].bytes;
        c->last[o->write[i].tensor] = fmax(c->last[o->write[i].tensor], c->entered - fmax(behind, all));
    }
    int *order = c->order;
    for (int i = 0; i < o->reads; i++) {
        int k = i;
        for (; k > 0 && fsim_used_later(p, o->read[i].tensor, o->read[order[k - 1]].tensor); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[order[i]];
        if (!r->whole)
            continue; /* a part of it: what is there later is not known to be what is wanted */
        behind += (double)p->graph->tensor[r->tensor].bytes;
        c->last[r->tensor] = fmax(c->last[r->tensor], c->entered - fmax(behind, all));
    }
}

/* Which reads hit and which writes never reach DRAM, for kernels in launch order. A result that its readers find in L2,
 * or would if they did not compute it again, is dead before it is written back. */
static void find_residency(const fsim_problem *p, const fsim_launches *launches, fsim_arena *a)
{
    bool **hit = launches->hit;
    const fsim_graph *g = p->graph;
    l2_clock c = {fsim_l2_effective(p->hw), 0, fsim_new(a, double, g->tensors + 1), fsim_new(a, int, g->tensors + 1)};
    bool *missed = fsim_new(a, bool, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++)
        c.last[t] = -1e30;
    for (int turn = p->warm ? 0 : 1; turn < 2; turn++)
        for (int k = 0; k < launches->kernels; k++) {
            const fsim_group *o = &launches->kernel[k]->group;
            const bool room = together(p, o) <= c.capacity;
            for (int i = 0; i < o->reads; i++) {
                hit[k][i] = room && resident(&c, o->read[i].tensor);
                missed[o->read[i].tensor] = missed[o->read[i].tensor] || (turn == 1 && !hit[k][i]);
            }
            const fsim_part *part = launches->part[k];
            for (int i = 0; i < part->count && turn == 1; i++)
                for (int r = 0; part->clone[i] && r < g->node[part->node[i]].results; r++) {
                    const int t = g->node[part->node[i]].result[r];
                    missed[t] = missed[t] || !resident(&c, t);
                }
            run_through(p, &c, o, hit[k]);
        }
    for (int k = 0; k < launches->kernels; k++) {
        const fsim_group *o = &launches->kernel[k]->group;
        for (int i = 0; i < o->writes; i++) {
            const fsim_tensor *t = &g->tensor[o->write[i].tensor];
            launches->absorbed[k][i] = !t->output && !t->materialize && t->readers > 0 && !missed[o->write[i].tensor];
        }
    }
}

/* The order of least peak memory. */

typedef struct {
    const fsim_problem *p;
    fsim_candidate **kernel;
    int kernels;
    int *waits_first, *waits; /* kernels that must run before kernel k: waits[waits_first[k], waits_first[k + 1]) */
    int *reading;             /* per tensor: kernels that read it */
    fsim_sum least;           /* no order needs less: the largest kernel by itself */
} ordering;

/* What has been launched, with what it holds and has held at most. */
typedef struct {
    uint64_t *launched;
    fsim_sum live, peak;
    int parent, kernel, count;
} lean_state;

static bool is_temporary(const fsim_problem *p, int tensor)
{
    return p->graph->tensor[tensor].producer >= 0 && !p->graph->tensor[tensor].output;
}

static bool was_launched(const lean_state *s, int k) { return s->launched[k >> 6] >> (k & 63) & 1; }

static bool may_launch(const ordering *w, const lean_state *s, int k)
{
    for (int i = w->waits_first[k]; i < w->waits_first[k + 1]; i++)
        if (!was_launched(s, w->waits[i]))
            return false;
    return !was_launched(s, k);
}

/* Launches kernel k: what is live during and after it. left: per tensor, readers to come. */
static void launch_one(const ordering *w, lean_state *s, int k, int *left)
{
    const fsim_group *o = &w->kernel[k]->group;
    s->launched[k >> 6] |= (uint64_t)1 << (k & 63);
    s->count++;
    for (int i = 0; i < o->writes; i++)
        s->live += is_temporary(w->p, o->write[i].tensor) ? w->p->graph->tensor[o->write[i].tensor].bytes : 0;
    s->peak = s->live > s->peak ? s->live : s->peak;
    for (int i = 0; i < o->reads; i++)
        if (is_temporary(w->p, o->read[i].tensor) && --left[o->read[i].tensor] == 0)
            s->live -= w->p->graph->tensor[o->read[i].tensor].bytes;
}

/* An order by a rule: as it stands, or whatever leaves the least live. Returns its peak. */
static fsim_sum order_by_rule(const ordering *w, bool greedily, int *order, fsim_arena *a)
{
    const int words = (w->kernels + 63) / 64, tensors = w->p->graph->tensors;
    lean_state s = {.launched = fsim_new(a, uint64_t, words + 1)};
    int *left = fsim_new(a, int, tensors + 1);
    memcpy(left, w->reading, (size_t)tensors * sizeof *left);
    for (int n = 0; n < w->kernels; n++) {
        int best = n;
        fsim_sum least = FSIM_SUM_MOST;
        for (int k = 0; k < w->kernels && greedily; k++) {
            const fsim_group *o = &w->kernel[k]->group;
            fsim_sum live = 0;
            if (!may_launch(w, &s, k))
                continue;
            for (int i = 0; i < o->writes; i++)
                live += is_temporary(w->p, o->write[i].tensor) ? w->p->graph->tensor[o->write[i].tensor].bytes : 0;
            for (int i = 0; i < o->reads; i++)
                live -= is_temporary(w->p, o->read[i].tensor) && left[o->read[i].tensor] == 1
                            ? w->p->graph->tensor[o->read[i].tensor].bytes
                            : 0;
            if (live < least) {
                least = live;
                best = k;
            }
        }
        order[n] = best;
        launch_one(w, &s, best, left);
    }
    return s.peak;
}

/* All orders, the one that has needed least so far first, as far as MOST_ORDERED goes. Returns the least peak, or
 * `known` where none below it was found. */
static fsim_sum order_by_search(const ordering *w, fsim_sum known, int *order, fsim_arena *a)
{
    enum { MOST_ORDERED = 4000 };
    const int words = (w->kernels + 63) / 64, tensors = w->p->graph->tensors;
    lean_state *all = fsim_new(a, lean_state, MOST_ORDERED + w->kernels + 1);
    bool *open = fsim_new(a, bool, MOST_ORDERED + w->kernels + 1);
    int count = 1, *left = fsim_new(a, int, tensors + 1);
    all[0] = (lean_state){.launched = fsim_new(a, uint64_t, words + 1), .parent = -1};
    open[0] = true;
    while (count <= MOST_ORDERED) {
        int at = -1;
        for (int i = 0; i < count; i++)
            if (open[i] &&
                (at < 0 || all[i].peak < all[at].peak || (all[i].peak == all[at].peak && all[i].count > all[at].count)))
                at = i;
        if (at < 0)
            return known;
        open[at] = false;
        if (all[at].count == w->kernels) {
            for (int n = w->kernels, i = at; n-- > 0; i = all[i].parent)
                order[n] = all[i].kernel;
            return all[at].peak;
        }
        for (int k = 0; k < w->kernels; k++) {
            if (!may_launch(w, &all[at], k))
                continue;
            lean_state next = all[at];
            next.launched = fsim_new(a, uint64_t, words + 1);
            memcpy(next.launched, all[at].launched, (size_t)words * sizeof *next.launched);
            memcpy(left, w->reading, (size_t)tensors * sizeof *left);
            for (int i = 0; i < w->kernels; i++)
                for (int r = 0; was_launched(&all[at], i) && r < w->kernel[i]->group.reads; r++)
                    left[w->kernel[i]->group.read[r].tensor]--;
            launch_one(w, &next, k, left);
            bool known_before = next.peak >= known;
            for (int i = 0; i < count && !known_before; i++)
                known_before = all[i].count == next.count && all[i].peak <= next.peak &&
                               memcmp(all[i].launched, next.launched, (size_t)words * sizeof *next.launched) == 0;
            if (known_before)
                continue;
            next.parent = at;
            next.kernel = k;
            open[count] = true;
            all[count++] = next;
        }
    }
    return known;
}

/* Kernels in launch order, put into that of least peak memory that keeps each primitive's home. order[i]: the kernel to
 * run i-th. */
static void lean_order(const fsim_problem *p, const fsim_launches *launches, int *order, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    const int kernels = launches->kernels;
    const fsim_part **part = launches->part;
    ordering w = {p, launches->kernel, kernels, fsim_new(a, int, kernels + 1), NULL, fsim_new(a, int, g->tensors + 1),
                  0};
    int *home = fsim_new(a, int, g->nodes + 1), count = 0, room = 0, *other = fsim_new(a, int, kernels + 1);
    for (int k = 0; k < kernels; k++)
        for (int i = 0; i < part[k]->count; i++)
            if (!part[k]->clone[i])
                home[part[k]->node[i]] = k;
    for (int k = 0; k < kernels; k++) {
        const fsim_group *o = &launches->kernel[k]->group;
        fsim_sum alone = 0;
        w.waits_first[k] = count;
        for (int i = 0; i < o->reads; i++) {
            const int from = g->tensor[o->read[i].tensor].producer;
            w.reading[o->read[i].tensor]++;
            alone += is_temporary(p, o->read[i].tensor) ? g->tensor[o->read[i].tensor].bytes : 0;
            if (from >= 0)
                *FSIM_PUSH(a, w.waits, count, room) = home[from];
        }
        for (int i = 0; i < part[k]->count; i++)
            if (part[k]->clone[i])
                *FSIM_PUSH(a, w.waits, count, room) = home[part[k]->node[i]];
        for (int i = 0; i < o->writes; i++)
            alone += is_temporary(p, o->write[i].tensor) ? g->tensor[o->write[i].tensor].bytes : 0;
        w.least = alone > w.least ? alone : w.least;
    }
    w.waits_first[kernels] = count;
    fsim_sum peak = order_by_rule(&w, false, order, a);
    if (peak > w.least) {
        const fsim_sum greedy = order_by_rule(&w, true, other, a);
        if (greedy < peak) {
            memcpy(order, other, (size_t)kernels * sizeof *order);
            peak = greedy;
        }
    }
    if (peak > w.least && order_by_search(&w, peak, other, a) < peak)
        memcpy(order, other, (size_t)kernels * sizeof *order);
}

/* Totals. */

static void peak_memory(const fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    int *last = fsim_new(a, int, g->tensors + 1);
    fsim_sum live = 0, peak = 0;
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].storage == t && g->tensor[t].producer < 0 && (g->tensor[t].readers > 0 || g->tensor[t].output))
            live += g->tensor[t].bytes;
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].inputs; i++)
            last[plan->kernel[k].input[i].tensor] = k;
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].output && g->tensor[t].producer >= 0 && g->tensor[t].storage == t) {
            live += g->tensor[t].bytes; /* outputs are there for the whole run */
            last[t] = plan->kernels;
        }
    peak = live;
    for (int k = 0; k < plan->kernels; k++) {
        for (int i = 0; i < plan->kernel[k].outputs; i++)
            if (!g->tensor[plan->kernel[k].output[i].tensor].output)
                live += g->tensor[plan->kernel[k].output[i].tensor].bytes;
        peak = live > peak ? live : peak;
        for (int i = 0; i < plan->kernel[k].inputs; i++) {
            const fsim_tensor *t = &g->tensor[plan->kernel[k].input[i].tensor];
            if (t->producer >= 0 && last[plan->kernel[k].input[i].tensor] == k)
                live -= t->bytes;
        }
    }
    plan->peak_memory_bytes = peak;
}

static void eliminated(const fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    bool *stored = fsim_new(a, bool, g->tensors + 1);
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].outputs; i++)
            stored[plan->kernel[k].output[i].tensor] = true;
    for (int n = 0; n < g->nodes; n++)
        for (int r = 0; r < g->node[n].results; r++) {
            const int t = g->node[n].result[r];
            if (!stored[t] && (g->tensor[t].readers > 0 || r == 0))
                plan->eliminated_bytes += 2 * (fsim_sum)g->tensor[t].bytes;
        }
}

static void total(const fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    fsim_sum ticks = 0;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        ticks += fsim_ticks(x->time_s);
        plan->objective += fsim_objective_of(p, x);
        plan->dram_read_bytes += x->dram_read_bytes;
        plan->dram_write_bytes += x->dram_write_bytes;
        plan->l2_bytes += x->l2_bytes;
        plan->flops += x->flops;
    }
    plan->time_s = (double)ticks * FSIM_TICK_S;
    peak_memory(p, plan, a);
    eliminated(p, plan, a);
}

static bool computes_again(const fsim_part *part)
{
    bool any = false;
    for (int i = 0; i < part->count; i++)
        any = any || part->clone[i];
    return any;
}

/* The group of a plan's kernel with its clones marked; the remembered one is shared and has none. */
static const fsim_group *marked(const fsim_group *o, const fsim_part *part, fsim_arena *a)
{
    if (!computes_again(part))
        return o;
    fsim_group *own = fsim_new(a, fsim_group, 1);
    *own = *o;
    own->member = fsim_new(a, fsim_member, o->members);
    memcpy(own->member, o->member, (size_t)o->members * sizeof *o->member);
    for (int i = 0; i < part->count; i++)
        own->member[i].clone = part->clone[i];
    return own;
}

/* The kernel for a part that is launched k-th, which stores what others read. False with *why when it is none. */
static bool launch_part(pricing *w, const fsim_part *part, int id, fsim_launches *all, int k)
{
    const fsim_graph *g = w->g;
    bool *stored = fsim_new(w->a, bool, part->count);
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &g->node[part->node[i]];
        bool must = n->effect || w->needed[part->node[i]];
        for (int r = 0; r < n->results; r++)
            must = must || g->tensor[n->result[r]].output || g->tensor[n->result[r]].materialize;
        stored[i] = must && !part->clone[i];
    }
    if (!purposeful(w, part, id, stored))
        return false;
    fsim_candidate *kernel = fsim_candidate_of(w->p, part->node, part->count, stored);
    if (!kernel->legal)
        *w->why = kernel->why;
    all->part[k] = part;
    all->kernel[k] = kernel;
    return kernel->legal;
}

/* Puts the kernels into the order that needs the least memory at its peak. */
static void reorder_for_memory(const fsim_problem *p, fsim_launches *all, fsim_arena *a)
{
    const fsim_part **part = fsim_new(a, const fsim_part *, all->kernels + 1);
    fsim_candidate **kernel = fsim_new(a, fsim_candidate *, all->kernels + 1);
    int *order = fsim_new(a, int, all->kernels + 1);
    lean_order(p, all, order, a);
    memcpy(part, all->part, (size_t)all->kernels * sizeof *part);
    memcpy(kernel, all->kernel, (size_t)all->kernels * sizeof *kernel);
    for (int k = 0; k < all->kernels; k++) {
        all->part[k] = part[order[k]];
        all->kernel[k] = kernel[order[k]];
    }
}

bool fsim_price(fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *out, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    const int parts = partition->parts;
    pricing w = {.p = p,
                 .g = g,
                 .home = fsim_new(a, int, g->nodes + 1),
                 .needed = fsim_new(a, bool, g->nodes + 1),
                 .held = fsim_new(a, int, g->nodes + 1),
                 .why = why,
                 .a = a};
    int *order = fsim_new(a, int, parts + 1);
    *out = (fsim_plan){0};
    fsim_add_work(p, 2 + 2 * (int64_t)parts + g->nodes / 8);
    if (!launch_order(&w, partition, order, a))
        return false;
    fsim_launches all = {parts, fsim_new(a, const fsim_part *, parts + 1), fsim_new(a, fsim_candidate *, parts + 1),
                         fsim_new(a, bool *, parts + 1), fsim_new(a, bool *, parts + 1)};
    for (int k = 0; k < parts; k++)
        if (!launch_part(&w, &partition->part[order[k]], order[k], &all, k))
            return false;
    if (p->lean)
        reorder_for_memory(p, &all, a);
    for (int k = 0; k < parts; k++) {
        all.hit[k] = fsim_new(a, bool, all.kernel[k]->group.reads + 1);
        all.absorbed[k] = fsim_new(a, bool, all.kernel[k]->group.writes + 1);
    }
    find_residency(p, &all, a);
    out->kernels = parts;
    out->kernel = fsim_new(a, fsim_kernel, parts + 1);
    out->rule = fsim_new(a, const char *, parts + 1);
    out->l2 = fsim_new(a, fsim_residency, parts + 1);
    out->partition = (fsim_partition){parts, fsim_new(a, fsim_part, parts + 1)};
    for (int k = 0; k < parts; k++) {
        const fsim_part *part = all.part[k];
        const fsim_kernel *made = fsim_kernel_for(p, all.kernel[k], all.hit[k], all.absorbed[k]);
        if (!made) {
            *why = (fsim_refusal){.rule = FSIM_RULE_SHARED,
                                  .a = part->node[0],
                                  .b = -1,
                                  .through = -1,
                                  .limit = (double)p->limits.shared_per_block,
                                  .unit = FSIM_IN_SHARED_BYTES};
            return false;
        }
        out->kernel[k] = *made;
        out->l2[k] = (fsim_residency){.hit = all.hit[k], .absorbed = all.absorbed[k]};
        out->kernel[k].group = marked(made->group, part, a);
        out->partition.part[k] = *part;
        out->partition.part[k].clone = copy_flags(a, part->clone, part->count);
        out->partition.part[k].node = fsim_new(a, int, part->count);
        memcpy(out->partition.part[k].node, part->node, (size_t)part->count * sizeof(int));
    }
    total(p, out, a);
    return true;
}

fsim_plan fsim_plan_made_by(fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_software software = {p->graph, p->hw, p->regime, maker};
    fsim_plan out = *plan;
    out.kernel = fsim_new(a, fsim_kernel, plan->kernels + 1);
    for (int k = 0; k < plan->kernels; k++) {
        const bool as_priced = !computes_again(&plan->partition.part[k]);
        out.kernel[k] = fsim_framework_kernel(&software, plan->kernel[k].group, &plan->l2[k],
                                              as_priced ? &plan->kernel[k] : NULL, a);
    }
    out.objective = out.dram_read_bytes = out.dram_write_bytes = out.eliminated_bytes = 0;
    out.l2_bytes = out.flops = 0;
    total(p, &out, a);
    return out;
}

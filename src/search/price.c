/* SPDX-License-Identifier: Apache-2.0 */
#include "search/price.h"

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
} fsim_store;

enum { WORK_OF_GROUP = 2, WORK_OF_KERNEL = 4, WORK_OF_CONTRACTION = 100 }; /* steps, measured */

int64_t fsim_work(const fsim_problem *p) { return p->store->work; }
void fsim_add_work(const fsim_problem *p, int64_t steps) { p->store->work += steps; }

struct fsim_store *fsim_store_new(fsim_arena *a)
{
    fsim_store *s = fsim_new(a, fsim_store, 1);
    s->a = fsim_arena_child(a);
    s->scratch = fsim_arena_child(a);
    s->slots = 1024;
    s->slot = fsim_new(s->a, entry *, s->slots);
    return s;
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

static void keep_group(fsim_arena *a, fsim_group *o)
{
    o->member = keep(a, o->member, o->members, sizeof *o->member);
    o->read = keep(a, o->read, o->reads, sizeof *o->read);
    o->write = keep(a, o->write, o->writes, sizeof *o->write);
    for (int i = 0; i < o->reads; i++) {
        fsim_read *r = &o->read[i];
        r->map = keep(a, r->map, r->maps, sizeof *r->map);
        r->place = r->place ? keep(a, r->place, r->maps, sizeof *r->place) : NULL;
        r->access = r->derived ? keep(a, r->access, 1, sizeof *r->access) : r->access;
    }
}

fsim_candidate *fsim_candidate_of(const fsim_problem *p, const int *node, int count, const bool *stored)
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
    s->work += WORK_OF_GROUP + count / 4;
    const fsim_mark mark = fsim_save(s->scratch);
    e->value.legal = fsim_group_of(&p->limits, node, count, stored, NULL, s->scratch, &e->value.group, &e->value.why);
    if (e->value.legal)
        keep_group(s->a, &e->value.group);
    fsim_rewind(s->scratch, mark);
    return &e->value;
}

int fsim_by_int(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

static bool same_flags(const bool *x, const bool *y, int count) { return memcmp(x, y, (size_t)count * sizeof *x) == 0; }

static bool *copy_flags(fsim_arena *a, const bool *x, int count) { return keep(a, x, count, sizeof *x); }

const fsim_kernel *fsim_kernel_for(const fsim_problem *p, fsim_candidate *c, const bool *hit, const bool *absorbed)
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
    s->work += c->group.template == FSIM_TILED_CONTRACTION ? WORK_OF_CONTRACTION : WORK_OF_KERNEL;
    const fsim_residency l2 = {k->hit, k->absorbed};
    const fsim_mark mark = fsim_save(s->scratch);
    k->kernel = fsim_kernel_of(p->graph, p->hw, p->regime, &c->group, &l2, s->scratch);
    k->fits = k->kernel.time_s > 0;
    k->kernel.input = keep(s->a, k->kernel.input, k->kernel.inputs, sizeof *k->kernel.input);
    k->kernel.output = keep(s->a, k->kernel.output, k->kernel.outputs, sizeof *k->kernel.output);
    fsim_rewind(s->scratch, mark);
    return k->fits ? &k->kernel : NULL;
}

const fsim_kernel *fsim_kernel_alone(const fsim_problem *p, const int *node, int count, fsim_arena *a)
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
    return c->legal ? fsim_kernel_for(p, c, fsim_new(a, bool, c->group.reads + 1), fsim_new(a, bool, c->group.writes + 1)) : NULL;
}

int64_t fsim_objective_of(const fsim_problem *p, const fsim_kernel *k)
{
    return p->objective == FSIM_MINIMISE_BYTES ? k->dram_read_bytes + k->dram_write_bytes : llrint(k->time_s / FSIM_TICK_S);
}

bool fsim_may_reside(const fsim_problem *p, int tensor) { return (double)p->graph->tensor[tensor].bytes <= fsim_l2_effective(p->hw); }

/* Launch order. */

static int by_list(const fsim_part *x, const fsim_part *y)
{
    for (int i = 0; i < x->count && i < y->count; i++)
        if (x->node[i] != y->node[i])
            return x->node[i] < y->node[i] ? -1 : 1;
    return x->count - y->count;
}

typedef struct {
    const fsim_problem *p;
    const fsim_graph *g;
    int *home;      /* per primitive: the part that runs it first; -1 */
    bool *needed;   /* per primitive: a part that does not hold it reads it */
    int *held;      /* per primitive: the part being looked at, to ask membership */
    fsim_refusal *why;
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

/* Inserts part id into the heap of ready parts, smallest list on top. */
static void heap_push(int *heap, int *count, int id, const fsim_part *part)
{
    int i = (*count)++;
    for (; i > 0 && by_list(&part[id], &part[heap[(i - 1) / 2]]) < 0; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = id;
}

static int heap_pop(int *heap, int *count, const fsim_part *part)
{
    const int top = heap[0], last = heap[--*count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < *count; i = child) {
        if (child + 1 < *count && by_list(&part[heap[child + 1]], &part[heap[child]]) < 0)
            child++;
        if (by_list(&part[heap[child]], &part[last]) >= 0)
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

/* Fills order[], homes and what is needed in memory. waiting[i]: primitives outside part i that must run before it. */
static bool launch_order(pricing *w, const fsim_partition *partition, int *order, fsim_arena *a)
{
    const fsim_graph *g = w->g;
    const int parts = partition->parts;
    int *waiting = fsim_new(a, int, parts + 1), *heap = fsim_new(a, int, parts + 1), ready = 0, done = 0, edges = 0;
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
            heap_push(heap, &ready, i, partition->part);
    }
    while (ready > 0) {
        const int id = heap_pop(heap, &ready, partition->part);
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
                    heap_push(heap, &ready, list[e].part, partition->part);
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
    hold(w, part, id);
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
        if (part->clone[k] && !fsim_classes[fsim_ops[g->node[part->node[k]].op].class].clones)
            return refuse(w, FSIM_RULE_COST, part->node[k], -1);
    }
    return home || refuse(w, FSIM_RULE_CONNECTED, part->node[0], -1);
}

/* What lies in L2, most recent first. */
typedef struct {
    int *tensor, count;
    int *mark, stamp; /* per tensor: stamp when resident */
} l2_state;

static bool resident(const l2_state *s, int tensor) { return s->mark[tensor] == s->stamp; }

/* After a kernel: its results, its inputs, then what was there, as far as the capacity goes. One that moved more than the capacity has pushed out all
 * that was there before; a tensor larger than the capacity leaves nothing. */
static void run_through(const fsim_problem *p, l2_state *s, const fsim_group *o, int *old)
{
    const double capacity = fsim_l2_effective(p->hw);
    const int before = s->count;
    double used = 0;
    memcpy(old, s->tensor, (size_t)before * sizeof *old);
    s->count = 0;
    s->stamp++;
    for (int i = 0; i < o->writes + o->reads + before; i++) {
        const bool own = i < o->writes + o->reads;
        if (!own && used > capacity)
            return;
        const int t = i < o->writes ? o->write[i].tensor : own ? o->read[i - o->writes].tensor : old[i - o->writes - o->reads];
        const double bytes = (double)p->graph->tensor[t].bytes;
        if (resident(s, t))
            continue;
        if (own && i >= o->writes && !o->read[i - o->writes].whole)
            continue; /* a part of it: what is there later is not known to be what is wanted */
        used += bytes;
        if (used > capacity) {
            if (own)
                continue;
            return;
        }
        s->mark[t] = s->stamp;
        s->tensor[s->count++] = t;
    }
}

/* Which reads hit and which writes never reach DRAM, for kernels in launch order. */
static void find_residency(const fsim_problem *p, fsim_candidate **kernel, int kernels, bool **hit, bool **absorbed, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    l2_state s = {.tensor = fsim_new(a, int, g->tensors + 1), .mark = fsim_new(a, int, g->tensors + 1), .stamp = 1};
    int *old = fsim_new(a, int, g->tensors + 1);
    bool *missed = fsim_new(a, bool, g->tensors + 1);
    for (int turn = p->warm ? 0 : 1; turn < 2; turn++)
        for (int k = 0; k < kernels; k++) {
            const fsim_group *o = &kernel[k]->group;
            for (int i = 0; i < o->reads; i++) {
                hit[k][i] = resident(&s, o->read[i].tensor);
                missed[o->read[i].tensor] = missed[o->read[i].tensor] || (turn == 1 && !hit[k][i]);
            }
            run_through(p, &s, o, old);
        }
    for (int k = 0; k < kernels; k++) {
        const fsim_group *o = &kernel[k]->group;
        for (int i = 0; i < o->writes; i++) {
            const fsim_tensor *t = &g->tensor[o->write[i].tensor];
            absorbed[k][i] = !t->output && !t->materialize && t->readers > 0 && !missed[o->write[i].tensor];
        }
    }
}

/* Totals. */

static void peak_memory(const fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    int *last = fsim_new(a, int, g->tensors + 1);
    int64_t live = 0, peak = 0;
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
                plan->eliminated_bytes += 2 * g->tensor[t].bytes;
        }
}

static void total(const fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    int64_t ticks = 0;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        ticks += llrint(x->time_s / FSIM_TICK_S);
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

/* The group of a plan's kernel with its clones marked; the remembered one is shared and has none. */
static const fsim_group *marked(const fsim_group *o, const fsim_part *part, fsim_arena *a)
{
    bool any = false;
    for (int i = 0; i < part->count; i++)
        any = any || part->clone[i];
    if (!any)
        return o;
    fsim_group *own = fsim_new(a, fsim_group, 1);
    *own = *o;
    own->member = fsim_new(a, fsim_member, o->members);
    memcpy(own->member, o->member, (size_t)o->members * sizeof *o->member);
    for (int i = 0; i < part->count; i++)
        own->member[i].clone = part->clone[i];
    return own;
}

bool fsim_price(const fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *out, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    const int parts = partition->parts;
    pricing w = {p, g, fsim_new(a, int, g->nodes + 1), fsim_new(a, bool, g->nodes + 1), fsim_new(a, int, g->nodes + 1), why};
    int *order = fsim_new(a, int, parts + 1);
    *out = (fsim_plan){0};
    if (!launch_order(&w, partition, order, a))
        return false;
    fsim_candidate **kernel = fsim_new(a, fsim_candidate *, parts + 1);
    bool **hit = fsim_new(a, bool *, parts + 1), **absorbed = fsim_new(a, bool *, parts + 1);
    for (int k = 0; k < parts; k++) {
        const fsim_part *part = &partition->part[order[k]];
        bool *stored = fsim_new(a, bool, part->count);
        for (int i = 0; i < part->count; i++) {
            const fsim_node *n = &g->node[part->node[i]];
            bool must = n->effect || w.needed[part->node[i]];
            for (int r = 0; r < n->results; r++)
                must = must || g->tensor[n->result[r]].output || g->tensor[n->result[r]].materialize;
            stored[i] = must && !part->clone[i];
        }
        if (!purposeful(&w, part, order[k], stored))
            return false;
        kernel[k] = fsim_candidate_of(p, part->node, part->count, stored);
        if (!kernel[k]->legal) {
            *why = kernel[k]->why;
            return false;
        }
        hit[k] = fsim_new(a, bool, kernel[k]->group.reads + 1);
        absorbed[k] = fsim_new(a, bool, kernel[k]->group.writes + 1);
    }
    find_residency(p, kernel, parts, hit, absorbed, a);
    out->kernels = parts;
    out->kernel = fsim_new(a, fsim_kernel, parts + 1);
    out->rule = fsim_new(a, const char *, parts + 1);
    out->partition = (fsim_partition){parts, fsim_new(a, fsim_part, parts + 1)};
    for (int k = 0; k < parts; k++) {
        const fsim_part *part = &partition->part[order[k]];
        const fsim_kernel *made = fsim_kernel_for(p, kernel[k], hit[k], absorbed[k]);
        if (!made) {
            *why = (fsim_refusal){.rule = FSIM_RULE_SHARED, .a = part->node[0], .b = -1, .through = -1,
                                  .limit = (double)p->limits.shared_per_block, .unit = "bytes of shared memory per block"};
            return false;
        }
        out->kernel[k] = *made;
        out->kernel[k].group = marked(made->group, part, a);
        out->partition.part[k] = *part;
        out->partition.part[k].clone = copy_flags(a, part->clone, part->count);
        out->partition.part[k].node = fsim_new(a, int, part->count);
        memcpy(out->partition.part[k].node, part->node, (size_t)part->count * sizeof(int));
    }
    total(p, out, a);
    return true;
}

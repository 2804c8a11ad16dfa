/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/price.h"

#include "plan/price/launches.h"
#include "plan/price/memory.h"
#include "plan/price/phases.h"

#include <string.h>

/* Launch order. */

typedef struct {
    fsim_problem *p;
    const fsim_graph *g;
    int *home;    /* per primitive: the part that runs it first; -1 */
    bool *needed; /* per primitive: a part that does not contain it reads it */
    int *in_part; /* per primitive: the last part passed to look_at_part, for tests of membership */
    fsim_refusal *why;
    fsim_arena *a;
} pricing;

static void look_at_part(pricing *w, const fsim_part *part, int id)
{
    for (int i = 0; i < part->count; i++)
        w->in_part[part->node[i]] = id;
}

static bool refuse(pricing *w, fsim_rule rule, int a, int b)
{
    *w->why = (fsim_refusal){.rule = rule, .a = a, .b = b, .through = -1};
    return false;
}

/* Launch order: of the parts whose inputs exist, the one whose last primitive has the lowest number. That primitive
 * is not a clone, so the order is unique. */
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

/* Parts that wait until all primitives before the barrier have run (fsim_side). */
typedef struct {
    int *part, parts;
    int left; /* primitives before the barrier that have still to run */
} barrier;

/* Notes whether part i waits at the barrier. waiting[i]: what it waits for. */
static void wait_at_barrier(const fsim_graph *g, const fsim_part *part, int i, int *waiting, barrier *b)
{
    bool waits = false;
    for (int k = 0; k < part->count && !waits; k++)
        waits = g->node[part->node[k]].side == FSIM_AFTER_BARRIER;
    if (waits) {
        b->part[b->parts++] = i;
        waiting[i]++;
    }
}

/* A primitive has run: where it was the last one before the barrier, the parts that wait there may be ready. */
static void pass_barrier(const fsim_graph *g, int node, int *waiting, barrier *b, ready_heap *ready)
{
    if (g->node[node].side != FSIM_BEFORE_BARRIER || --b->left > 0)
        return;
    for (int i = 0; i < b->parts; i++)
        if (--waiting[b->part[i]] == 0)
            heap_push(ready, b->part[i]);
}

static int before_barrier(const fsim_graph *g)
{
    int count = 0;
    for (int n = 0; n < g->nodes; n++)
        count += g->node[n].side == FSIM_BEFORE_BARRIER;
    return count;
}

/* Two parts that wait for each other, or for the barrier and what is before it. */
static bool refuse_circle(pricing *w, const fsim_partition *partition, const int *waiting, const barrier *b)
{
    int a_node = -1, b_node = -1;
    for (int n = 0; n < w->g->nodes && b->left > 0 && b->parts > 0; n++)
        if (w->home[n] < 0 && w->g->node[n].side != FSIM_EITHER_SIDE)
            *(w->g->node[n].side == FSIM_BEFORE_BARRIER ? &a_node : &b_node) = n;
    if (a_node >= 0 && b_node >= 0) {
        fsim_refuse_pair(w->why, FSIM_RULE_CYCLE, a_node, b_node, (fsim_excess){.unit = FSIM_IN_BARRIER});
        return false;
    }
    for (int i = 0; i < partition->parts; i++)
        if (waiting[i] > 0) {
            const int n = partition->part[i].node[0];
            a_node = a_node < 0 ? n : a_node;
            b_node = a_node != n ? n : b_node;
        }
    return refuse(w, FSIM_RULE_CYCLE, a_node, b_node);
}

/* Fills order[], the homes, and which results are needed in memory. waiting[i]: how many primitives outside part i
 * must run before it. */
static bool launch_order(pricing *w, const fsim_partition *partition, int *order, fsim_arena *a)
{
    const fsim_graph *g = w->g;
    const int parts = partition->parts;
    int *waiting = fsim_new(a, int, parts + 1), done = 0, edges = 0;
    ready_heap ready = {partition->part, fsim_new(a, int, parts + 1), 0};
    /* edge lists: parts that wait for each primitive */
    int *first = fsim_new(a, int, g->nodes + 1), *seen = fsim_new(a, int, g->nodes);
    barrier b = {fsim_new(a, int, g->barrier ? parts + 1 : 1), 0, g->barrier ? before_barrier(g) : 0};
    typedef struct {
        int part, next;
    } edge;
    edge *list = NULL;
    int room = 0;
    for (int n = 0; n < g->nodes; n++) {
        first[n] = seen[n] = w->in_part[n] = -1;
        w->home[n] = -1;
    }
    for (int i = 0; i < parts; i++) {
        const fsim_part *part = &partition->part[i];
        look_at_part(w, part, i);
        for (int k = 0; k < part->count; k++)
            for (int arg = 0; arg < g->node[part->node[k]].args; arg++) {
                const int from = g->tensor[g->node[part->node[k]].arg[arg].tensor].producer;
                if (from < 0 || w->in_part[from] == i || seen[from] == i)
                    continue;
                seen[from] = i;
                w->needed[from] = true;
                waiting[i]++;
                *FSIM_PUSH(a, list, edges, room) = (edge){i, first[from]};
                first[from] = edges - 1;
            }
        if (b.left > 0)
            wait_at_barrier(g, part, i, waiting, &b);
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
            pass_barrier(g, n, waiting, &b, &ready);
        }
    }
    return done == parts || refuse_circle(w, partition, waiting, &b);
}

/* Is every primitive of the group used: stored by the group, or read inside it? */
static bool purposeful(pricing *w, const fsim_part *part, int id, const bool *stored)
{
    const fsim_graph *g = w->g;
    bool home = false;
    int first = 0;
    look_at_part(w, part, id);
    while (first + 1 < part->count && part->clone[first])
        first++;
    for (int k = 0; k < part->count; k++) {
        bool read = stored[k];
        home = home || !part->clone[k];
        for (int r = 0; !read && r < g->node[part->node[k]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[part->node[k]].result[r]];
            for (int i = 0; !read && i < t->readers; i++)
                read = w->in_part[t->reader[i]] == id;
        }
        if (!read)
            return refuse(w, FSIM_RULE_CONNECTED, part->node[k], part->node[k ? 0 : part->count - 1]);
        if (part->clone[k] &&
            (!fsim_may_clone(w->p, part->node[k]) || part->node[first] - part->node[k] > FSIM_CLONE_REACH))
            return refuse(w, FSIM_RULE_COST, part->node[k], -1);
    }
    return home || refuse(w, FSIM_RULE_CONNECTED, part->node[0], -1);
}

/* Totals. */

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
    const fsim_memory_use memory = fsim_memory_of(p->graph, plan, a);
    plan->peak_memory_bytes = fsim_tensor_bytes(&memory);
    if (p->graph->derived == FSIM_REVERSE)
        fsim_sum_phases(p->graph, plan, a);
    eliminated(p, plan, a);
}

bool fsim_computes_again(const fsim_part *part)
{
    bool any = false;
    for (int i = 0; i < part->count; i++)
        any = any || part->clone[i];
    return any;
}

/* A copy of the group in which the clones of this plan are marked. The group in the store is shared by all plans and
 * has none. */
static const fsim_group *marked(const fsim_group *o, const fsim_part *part, fsim_arena *a)
{
    if (!fsim_computes_again(part))
        return o;
    fsim_group *own = fsim_new(a, fsim_group, 1);
    *own = *o;
    own->member = fsim_new(a, fsim_member, o->members);
    memcpy(own->member, o->member, (size_t)o->members * sizeof *o->member);
    for (int i = 0; i < part->count; i++)
        own->member[i].clone = part->clone[i];
    return own;
}

/* The kernel of a part that is launched k-th and stores what other parts read. False with *why where there is none. */
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

bool fsim_price(fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *out, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    const int parts = partition->parts;
    pricing w = {.p = p,
                 .g = g,
                 .home = fsim_new(a, int, g->nodes + 1),
                 .needed = fsim_new(a, bool, g->nodes + 1),
                 .in_part = fsim_new(a, int, g->nodes + 1),
                 .why = why,
                 .a = a};
    int *order = fsim_new(a, int, parts + 1);
    *out = (fsim_plan){.graph = g};
    fsim_add_work(p, 2 + 2 * (int64_t)parts + g->nodes / 8);
    if (!launch_order(&w, partition, order, a))
        return false;
    fsim_launches all = {parts, fsim_new(a, const fsim_part *, parts + 1), fsim_new(a, fsim_candidate *, parts + 1),
                         fsim_new(a, bool *, parts + 1), fsim_new(a, bool *, parts + 1)};
    for (int k = 0; k < parts; k++)
        if (!launch_part(&w, &partition->part[order[k]], order[k], &all, k))
            return false;
    if (p->listed)
        fsim_order_as_listed(p, partition, &all, a);
    else if (p->lean)
        fsim_order_for_memory(p, &all, a);
    for (int k = 0; k < parts; k++) {
        all.hit[k] = fsim_new(a, bool, all.kernel[k]->group->reads + 1);
        all.absorbed[k] = fsim_new(a, bool, all.kernel[k]->group->writes + 1);
    }
    fsim_find_residency(p, &all, a);
    out->kernels = parts;
    out->kernel = fsim_new(a, fsim_kernel, parts + 1);
    out->rule = fsim_new(a, const char *, parts + 1);
    out->candidate = fsim_new(a, fsim_candidate *, parts + 1);
    out->l2 = fsim_new(a, fsim_residency, parts + 1);
    out->partition = (fsim_partition){parts, fsim_new(a, fsim_part, parts + 1)};
    for (int k = 0; k < parts; k++) {
        const fsim_part *part = all.part[k];
        const fsim_kernel *priced_kernel = fsim_kernel_for(p, all.kernel[k], all.hit[k], all.absorbed[k]);
        if (!priced_kernel) {
            *why = (fsim_refusal){.rule = FSIM_RULE_SHARED,
                                  .a = part->node[0],
                                  .b = -1,
                                  .through = -1,
                                  .limit = (double)p->limits.shared_per_block,
                                  .unit = FSIM_IN_SHARED_BYTES};
            return false;
        }
        out->kernel[k] = *priced_kernel;
        out->l2[k] = (fsim_residency){.hit = all.hit[k], .absorbed = all.absorbed[k]};
        out->kernel[k].group = marked(priced_kernel->group, part, a);
        out->candidate[k] = fsim_computes_again(part) ? NULL : all.kernel[k];
        out->partition.part[k] = *part;
        out->partition.part[k].clone = fsim_new(a, bool, part->count);
        out->partition.part[k].node = fsim_new(a, int, part->count);
        memcpy(out->partition.part[k].clone, part->clone, (size_t)part->count * sizeof(bool));
        memcpy(out->partition.part[k].node, part->node, (size_t)part->count * sizeof(int));
    }
    total(p, out, a);
    return true;
}

void fsim_add_up_plan(const fsim_problem *p, fsim_plan *plan, fsim_arena *a)
{
    plan->objective = plan->dram_read_bytes = plan->dram_write_bytes = plan->eliminated_bytes = 0;
    plan->l2_bytes = plan->flops = 0;
    total(p, plan, a);
}

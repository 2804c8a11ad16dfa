/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/refusals.h"

#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "plan/price/equal.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include <stdlib.h>
#include <string.h>

/* Refusals: for every tensor that is passed from one kernel of the plan to another, why the two are not one. */

/* Pairs that are priced; of one kernel and its readers at first so many, the others when all kernels had their turn. */
enum { MOST_REFUSALS = 256, FIRST_READERS = 8 };

/* Two kernels that exchange a tensor. */
typedef struct {
    int maker, reader; /* kernels */
    int from, to;      /* primitives */
    int next;          /* the pair before it of the same maker; -1 */
} exchange;

typedef struct {
    fsim_problem *p;
    const fsim_plan *plan;
    fsim_arena *a;
    fsim_priced_refusal *list;
    int count, room, priced, left;
    int *home, *place;   /* per primitive: the kernel that it has its home in, or -1, and its place there */
    int *class, *before; /* per kernel: equal ones have the same class; the one before it of its class, or -1 */
    exchange *pair;      /* of each of list[0, pairs) */
    int *last;           /* per kernel: its latest pair; -1 */
    int pairs, pair_room;
} refusals;

static void unite(const fsim_part *x, const fsim_part *y, int *node, int *count)
{
    int i = 0, j = 0;
    *count = 0;
    while (i < x->count || j < y->count) {
        const bool left = j == y->count || (i < x->count && x->node[i] <= y->node[j]);
        const int n = left ? x->node[i++] : y->node[j++];
        if (*count == 0 || node[*count - 1] != n)
            node[(*count)++] = n;
    }
}

static fsim_sum dram_bytes(const fsim_kernel *k) { return (fsim_sum)k->dram_read_bytes + k->dram_write_bytes; }

/* Does k find the tensor in L2, or leave it there? */
static bool spares(const fsim_kernel *k, int tensor)
{
    for (int i = 0; i < k->inputs; i++)
        if (k->input[i].tensor == tensor)
            return k->input[i].read_bytes == 0 && k->input[i].bytes > 0;
    for (int i = 0; i < k->outputs; i++)
        if (k->output[i].tensor == tensor)
            return k->output[i].write_bytes == 0 && k->output[i].bytes > 0;
    return false;
}

/* Kernels x and y as one, with the L2 hits that each has in the plan. NULL where it does not fit. */
static const fsim_kernel *merged(refusals *w, const fsim_group *group, const fsim_kernel *x, const fsim_kernel *y,
                                 const int *node, int count)
{
    const fsim_graph *g = w->p->graph;
    bool *stored = fsim_new(w->a, bool, count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < group->writes; k++)
            stored[i] = stored[i] || g->tensor[group->write[k].tensor].producer == node[i];
    fsim_candidate *c = fsim_candidate_of(w->p, node, count, stored);
    if (!c->legal)
        return NULL;
    bool *hit = fsim_new(w->a, bool, c->group->reads + 1), *absorbed = fsim_new(w->a, bool, c->group->writes + 1);
    for (int i = 0; i < c->group->reads; i++)
        hit[i] = spares(x, c->group->read[i].tensor) || spares(y, c->group->read[i].tensor);
    for (int i = 0; i < c->group->writes; i++)
        absorbed[i] = spares(x, c->group->write[i].tensor) || spares(y, c->group->write[i].tensor);
    return fsim_kernel_for(w->p, c, hit, absorbed);
}

int64_t fsim_exchanged_bytes(const fsim_graph *g, const fsim_input *read)
{
    const int64_t made = g->tensor[read->tensor].written_bytes;
    return g->tensor[read->tensor].over >= 0 && made < read->read_bytes ? made : read->read_bytes;
}

static bool has(const fsim_part *part, int n) { return fsim_position(part->node, part->count, n) >= 0; }

bool fsim_shares_kernel(const fsim_plan *plan, int x, int y)
{
    for (int k = 0; k < plan->kernels; k++)
        if (has(&plan->partition.part[k], x) && has(&plan->partition.part[k], y))
            return true;
    return false;
}

bool fsim_pair_allowed(const fsim_problem *p, int x, int y, fsim_arena *a, fsim_pair_refusal *out)
{
    const fsim_graph *g = p->graph;
    int *node = fsim_new(a, int, g->nodes), pair[] = {x < y ? x : y, x < y ? y : x};
    const int count = fsim_smallest_kernel(g, &(fsim_node_set){.count = 2, .node = pair}, node, a);
    fsim_group group;
    fsim_refusal path;
    *out = (fsim_pair_refusal){.between = count - 2};
    if (fsim_user_allows(p, node, count, &out->why) && fsim_legal(&p->limits, node, count, a, &group, &out->why))
        return true;
    out->barred = out->why.rule != FSIM_RULE_USER && count > 2 && fsim_connected(g, pair, 2, a, &path) &&
                  !fsim_convex(g, pair, 2, a, &path);
    if (out->barred) { /* primitives between them can't join the kernel, so it would depend on them and they on it */
        out->joined = out->why;
        out->why = path;
    }
    return false;
}

/* Names primitives x and y, and why they may share no kernel. False where they may. */
static bool forbids(refusals *w, fsim_priced_refusal *r, int x, int y)
{
    const fsim_mark scratch = fsim_save(w->a);
    fsim_pair_refusal pair;
    const bool forbidden = !fsim_pair_allowed(w->p, x, y, w->a, &pair);
    fsim_rewind(w->a, scratch);
    if (forbidden) {
        r->why = pair.why;
        r->first = x;
        r->second = y;
    }
    return forbidden;
}

/* Finds the two primitives, one of each kernel, that the rule is about: first those that exchange the tensor. */
static void name_pair(refusals *w, fsim_priced_refusal *r, const fsim_part *x, const fsim_part *y)
{
    enum { TRIES = 16 };
    const bool swap = !has(x, r->why.a);
    const int a = swap ? r->why.b : r->why.a, b = swap ? r->why.a : r->why.b;
    if (forbids(w, r, r->a, r->b))
        return;
    if (has(x, a) && has(y, b) && !fsim_shares_kernel(w->plan, a, b) && forbids(w, r, a, b))
        return;
    for (int i = 0; i < TRIES && i < y->count; i++)
        if (!y->clone[i] && y->node[i] != r->b && forbids(w, r, r->a, y->node[i]))
            return;
    for (int i = 0; i < TRIES && i < x->count; i++)
        if (!x->clone[i] && x->node[i] != r->a && forbids(w, r, x->node[i], r->b))
            return;
}

/* Are both kernels, but for what they compute again, on one side of the barrier? */
static bool on_one_side(refusals *w, const fsim_part *x, const fsim_part *y, fsim_refusal *why)
{
    const fsim_part *const part[] = {x, y};
    int *node = fsim_new(w->a, int, x->count + y->count), count = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < part[k]->count; i++)
            if (!part[k]->clone[i])
                node[count++] = part[k]->node[i];
    return fsim_on_one_side(w->p->graph, node, count, why);
}

/* Why kernels x and y, which exchange tensor t from primitive `from` to `to`, are two. */
static fsim_priced_refusal refuse_pair(refusals *w, int x, int y, const fsim_tensor *t, int from, int to)
{
    const fsim_part *a = &w->plan->partition.part[x], *b = &w->plan->partition.part[y];
    int *node = fsim_new(w->a, int, a->count + b->count), count;
    const int pair[2] = {from, to};
    fsim_priced_refusal r = {.a = from, .b = to, .first = -1, .second = -1};
    fsim_group group;
    unite(a, b, node, &count);
    /* what the two exchange through DRAM, and a launch; the store remains where others read the tensor too */
    const int tensor = (int)(t - w->p->graph->tensor);
    const fsim_kernel *maker = &w->plan->kernel[x], *reader = &w->plan->kernel[y];
    for (int i = 0; i < maker->outputs && t->readers == 1 && !t->output && !t->materialize; i++)
        r.saving_bytes += maker->output[i].tensor == tensor ? maker->output[i].write_bytes : 0;
    for (int i = 0; i < reader->inputs; i++)
        r.saving_bytes += reader->input[i].tensor == tensor ? fsim_exchanged_bytes(w->p->graph, &reader->input[i]) : 0;
    r.saving_s = reader->time[FSIM_LAUNCH] + (double)r.saving_bytes / fsim_hw_get(w->p->hw, FSIM_HW_DRAM_BANDWIDTH);
    const bool legal =
        fsim_user_allows(w->p, node, count, &r.why) && on_one_side(w, a, b, &r.why) &&
        (fsim_group_of(&w->p->limits, &(fsim_selection){.node = pair, .count = 2}, w->a, &group, &r.why) ||
         r.why.rule == FSIM_RULE_SPACE) &&
        fsim_group_of(&w->p->limits, &(fsim_selection){.node = node, .count = count}, w->a, &group, &r.why) &&
        fsim_connected(w->p->graph, node, count, w->a, &r.why) && fsim_convex(w->p->graph, node, count, w->a, &r.why);
    const fsim_kernel *k = legal ? merged(w, &group, maker, reader, node, count) : NULL;
    if (legal && !k)
        r.why = (fsim_refusal){.rule = FSIM_RULE_SHARED,
                               .a = from,
                               .b = to,
                               .through = -1,
                               .limit = (double)w->p->limits.shared_per_block,
                               .unit = FSIM_IN_SHARED_BYTES};
    if (!legal && (r.why.a < 0 || r.why.b < 0 || r.why.rule == FSIM_RULE_GRID_BARRIER)) {
        r.why.a = from;
        r.why.b = to;
    }
    if (k) {
        r.why = (fsim_refusal){.rule = FSIM_RULE_COST, .a = from, .b = to, .through = -1};
        r.saving_s = maker->time_s + reader->time_s - k->time_s;
        r.saving_bytes = dram_bytes(maker) + dram_bytes(reader) - dram_bytes(k);
        r.cause = fsim_cause_of(w->p->graph, (const fsim_kernel *[]){maker, reader}, 2, &k, 1);
    }
    if (!k)
        name_pair(w, &r, a, b);
    return r;
}

static int by_saving(const void *x, const void *y)
{
    const fsim_priced_refusal *a = x, *b = y;
    if (a->saving_s != b->saving_s)
        return a->saving_s > b->saving_s ? -1 : 1;
    return a->a != b->a ? a->a - b->a : a->b - b->b;
}

/* Equal layers. */

/* Does a primitive of a kernel read the same as its counterpart in the kernel `shift` before it? What a kernel before
 * `first` has made may come from any kernel before `first - shift`. */
static bool reads_alike(const refusals *w, const fsim_access *x, const fsim_access *y, int first, int shift)
{
    const fsim_tensor *t = &w->p->graph->tensor[x->tensor], *u = &w->p->graph->tensor[y->tensor];
    const int here = t->producer < 0 ? -1 : w->home[t->producer], there = u->producer < 0 ? -1 : w->home[u->producer];
    if (x->how != y->how || t->role != u->role || t->elems != u->elems || t->dtype != u->dtype ||
        x->map.modes != y->map.modes || !fsim_map_equal(&x->map, &y->map))
        return false;
    if (here < first)
        return there < first - shift;
    return there == here - shift && w->place[t->producer] == w->place[u->producer];
}

static bool made_alike(const fsim_tensor *t, const fsim_tensor *u)
{
    return t->readers == u->readers && t->output == u->output && t->materialize == u->materialize &&
           t->elems == u->elems && t->overwritten == u->overwritten && (t->over < 0) == (u->over < 0);
}

static bool nodes_alike(const refusals *w, const fsim_node *x, const fsim_node *y, int first, int shift)
{
    const fsim_graph *g = w->p->graph;
    bool alike = x->op == y->op && x->args == y->args && x->results == y->results && x->points == y->points &&
                 x->reduced == y->reduced && memcmp(&x->attrs, &y->attrs, sizeof x->attrs) == 0;
    for (int i = 0; i < x->args && alike; i++)
        alike = reads_alike(w, &x->arg[i], &y->arg[i], first, shift);
    for (int i = 0; i < x->results && alike; i++)
        alike = made_alike(&g->tensor[x->result[i]], &g->tensor[y->result[i]]);
    return alike;
}

/* Are kernels [first, last] the same as those `shift` before them, in themselves and in how they are connected? Then
 * what holds for a pair of them, and for the kernels between, holds here too. */
static bool stretches_alike(const refusals *w, int first, int last, int shift)
{
    const fsim_graph *g = w->p->graph;
    for (int k = first; k <= last; k++) {
        const fsim_part *x = &w->plan->partition.part[k], *y = &w->plan->partition.part[k - shift];
        if (w->class[k] != w->class[k - shift] || x->count != y->count)
            return false;
        for (int i = 0; i < x->count; i++)
            if (x->clone[i] != y->clone[i] || !nodes_alike(w, &g->node[x->node[i]], &g->node[y->node[i]], first, shift))
                return false;
    }
    return true;
}

/* The primitive that has the place of n, `shift` kernels further on; -1: n is not in kernels [first, last], or that one
 * has no such place. */
static int counterpart(const refusals *w, int n, int shift, int first, int last)
{
    const int home = w->home[n];
    if (home < first || home > last)
        return -1;
    const fsim_part *there = &w->plan->partition.part[home + shift];
    return w->place[n] < there->count ? there->node[w->place[n]] : -1;
}

/* Moves the primitives that a refusal names, all of which lie in kernels [first, last]. False where one does not. */
static bool move(const refusals *w, fsim_priced_refusal *r, int shift, int first, int last)
{
    int *const named[] = {&r->a, &r->b, &r->first, &r->second, &r->why.a, &r->why.b, &r->why.through, &r->cause.node};
    const bool grown = r->cause.growth != FSIM_GROWN_NOTHING;
    for (size_t i = 0; i < sizeof named / sizeof *named - !grown; i++)
        if (*named[i] >= 0 && (*named[i] = counterpart(w, *named[i], shift, first, last)) < 0)
            return false;
    return true;
}

/* The refusal of a pair from that of the same pair in an equal layer before it. False where there is none. */
static bool repeat_pair(const refusals *w, const exchange *x, fsim_priced_refusal *out)
{
    enum { TRIES = 4 };
    const bool user = w->p->graph->fuses + w->p->graph->separates > 0; /* refers to primitives by name */
    int twin = w->before[x->maker];
    for (int tries = 0; tries < TRIES && twin >= 0 && !user; tries++, twin = w->before[twin]) {
        const int shift = x->maker - twin;
        for (int i = w->last[twin]; i >= 0; i = w->pair[i].next) {
            const exchange *y = &w->pair[i];
            if (y->reader != x->reader - shift || w->place[y->from] != w->place[x->from] ||
                w->place[y->to] != w->place[x->to])
                continue;
            *out = w->list[i];
            if (move(w, out, shift, twin, y->reader) && stretches_alike(w, x->maker, x->reader, shift))
                return true;
        }
    }
    return false;
}

/* Where primitives are, and which kernels are equal. */
static void find_places(refusals *w)
{
    const int kernels = w->plan->kernels, nodes = w->p->graph->nodes;
    int *latest = fsim_new(w->a, int, kernels + 1);
    w->home = fsim_new(w->a, int, nodes + 1);
    w->place = fsim_new(w->a, int, nodes + 1);
    w->before = fsim_new(w->a, int, kernels + 1);
    w->last = fsim_new(w->a, int, kernels + 1);
    w->class = fsim_kernel_classes(w->p->graph, w->plan, NULL, w->a);
    for (int n = 0; n < nodes; n++)
        w->home[n] = -1;
    for (int k = 0; k < kernels; k++) {
        const fsim_part *part = &w->plan->partition.part[k];
        w->last[k] = -1;
        w->before[k] = latest[w->class[k]] - 1;
        latest[w->class[k]] = k + 1;
        for (int i = 0; i < part->count; i++)
            if (!part->clone[i]) {
                w->home[part->node[i]] = k;
                w->place[part->node[i]] = i;
            }
    }
}

static void add_pair(refusals *w, exchange x, const fsim_tensor *t)
{
    fsim_priced_refusal r;
    if (!repeat_pair(w, &x, &r)) {
        if (w->priced == MOST_REFUSALS) {
            w->left++;
            return;
        }
        r = refuse_pair(w, x.maker, x.reader, t, x.from, x.to);
        w->priced++;
    }
    x.next = w->last[x.maker];
    w->last[x.maker] = w->count;
    *FSIM_PUSH(w->a, w->pair, w->pairs, w->pair_room) = x;
    *FSIM_PUSH(w->a, w->list, w->count, w->room) = r;
}

/* The pairs of kernel k: with its first readers, or with the others. met: per kernel, one more than the kernel whose
 * reader it was last. */
static void add_readers(refusals *w, int k, bool first, int *met)
{
    const fsim_graph *g = w->p->graph;
    const fsim_part *part = &w->plan->partition.part[k];
    int readers = 0;
    for (int i = 0; i < part->count; i++)
        for (int r = 0; r < g->node[part->node[i]].results && !part->clone[i]; r++) {
            const fsim_tensor *t = &g->tensor[g->node[part->node[i]].result[r]];
            for (int q = 0; q < t->readers; q++) {
                const int other = w->home[t->reader[q]];
                if (other < 0 || other == k || met[other] == k + 1 ||
                    has(&w->plan->partition.part[other], part->node[i]))
                    continue; /* the last: it computes the tensor again, and does not read it */
                met[other] = k + 1;
                if ((readers++ < FIRST_READERS) == first)
                    add_pair(w, (exchange){k, other, part->node[i], t->reader[q], -1}, t);
            }
        }
}

/* Would kernel k be faster if --numerics did not fix the order of its sums? */
static bool refuse_order(refusals *w, int k, fsim_priced_refusal *out)
{
    const fsim_graph *g = w->p->graph;
    fsim_limits loose = w->p->limits;
    loose.strict = false;
    const fsim_part *part = &w->plan->partition.part[k];
    const fsim_group *o = w->plan->kernel[k].group;
    bool *stored = fsim_new(w->a, bool, part->count);
    int reduction = -1;
    fsim_group group;
    fsim_refusal why;
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &g->node[part->node[i]];
        reduction = reduction < 0 && fsim_ops[n->op].class == FSIM_REDUCE ? part->node[i] : reduction;
        for (int r = 0; r < n->results; r++)
            for (int x = 0; x < o->writes; x++)
                stored[i] = stored[i] || o->write[x].tensor == n->result[r];
    }
    if (reduction < 0 ||
        !fsim_group_of(&loose, &(fsim_selection){.node = part->node, .count = part->count, .stored = stored}, w->a,
                       &group, &why))
        return false;
    const fsim_kernel now = fsim_kernel_of(g, w->p->hw, w->p->regime, o, NULL, w->a),
                      free = fsim_kernel_of(g, w->p->hw, w->p->regime, &group, NULL, w->a);
    *out = (fsim_priced_refusal){.a = reduction,
                                 .b = -1,
                                 .first = -1,
                                 .second = -1,
                                 .why = {.rule = FSIM_RULE_NUMERICS,
                                         .a = reduction,
                                         .b = -1,
                                         .through = -1,
                                         .needed = (double)g->node[reduction].reduced,
                                         .limit = 1,
                                         .unit = FSIM_IN_ORDERS},
                                 .saving_s = now.time_s - free.time_s,
                                 .saving_bytes = now.dram_read_bytes + now.dram_write_bytes - free.dram_read_bytes -
                                                 free.dram_write_bytes};
    return free.time_s > 0 && free.time_s < now.time_s;
}

/* Kernels that would be faster if --numerics did not fix the order of their sums. */
static void refuse_orders(refusals *w)
{
    fsim_priced_refusal *of = fsim_new(w->a, fsim_priced_refusal, w->plan->kernels + 1);
    bool *slower = fsim_new(w->a, bool, w->plan->kernels + 1);
    for (int k = 0; k < w->plan->kernels && w->p->limits.strict; k++) {
        const int twin = w->before[k];
        if (twin >= 0 && stretches_alike(w, k, k, k - twin)) {
            of[k] = of[twin];
            slower[k] = slower[twin] && move(w, &of[k], k - twin, twin, twin);
        } else {
            slower[k] = refuse_order(w, k, &of[k]);
        }
        if (slower[k])
            *FSIM_PUSH(w->a, w->list, w->count, w->room) = of[k];
    }
}

fsim_refusals fsim_refusals_of(fsim_problem *p, const fsim_plan *plan, fsim_arena *a)
{
    refusals w = {.p = p, .plan = plan, .a = a};
    find_places(&w);
    for (int pass = 0; pass < 2; pass++) {
        int *met = fsim_new(a, int, plan->kernels + 1);
        for (int k = 0; k < plan->kernels; k++)
            add_readers(&w, k, pass == 0, met);
    }
    refuse_orders(&w);
    if (w.count > 0)
        qsort(w.list, (size_t)w.count, sizeof *w.list, by_saving);
    return (fsim_refusals){w.list, w.count, w.left};
}

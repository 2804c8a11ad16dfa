/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/sets.h"

#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include <stdlib.h>
#include <string.h>

enum { TRIED_IN_HASTE = 60 }; /* sets of one root once the budget has gone */

/* The list as a graph. */

typedef struct {
    int *item, count, room;
    fsim_arena *a;
} ints;

static void add(ints *x, int i) { *FSIM_PUSH(x->a, x->item, x->count, x->room) = i; }

static const fsim_node *node_at(const fsim_places *l, int i) { return &l->p->graph->node[l->node[i]]; }
static int maker(const fsim_places *l, int tensor)
{
    const int n = l->p->graph->tensor[tensor].producer;
    return n < 0 ? -1 : l->place[n];
}

static void link_producers(fsim_places *l)
{
    const fsim_graph *g = l->p->graph;
    ints pred = {.a = l->a}, succ = {.a = l->a};
    int *seen = fsim_new(l->a, int, l->count + 1); /* 1 + the place that listed it last */
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = node_at(l, i);
        l->pred_first[i] = pred.count;
        for (int k = 0; k < n->args; k++) {
            const int from = maker(l, n->arg[k].tensor);
            if (from >= 0 && seen[from] != i + 1) {
                seen[from] = i + 1;
                add(&pred, from);
            }
        }
    }
    l->pred_first[l->count] = pred.count;
    memset(seen, 0, (size_t)l->count * sizeof *seen);
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = node_at(l, i);
        l->succ_first[i] = succ.count;
        l->must[i] = n->effect;
        for (int r = 0; r < n->results; r++) {
            const fsim_tensor *t = &g->tensor[n->result[r]];
            l->must[i] = l->must[i] || t->output || t->materialize;
            for (int k = 0; k < t->readers; k++) {
                const int to = l->place[t->reader[k]];
                l->outside[i] = l->outside[i] || to < 0;
                if (to >= 0 && seen[to] != i + 1) {
                    seen[to] = i + 1;
                    add(&succ, to);
                }
            }
        }
        l->must[i] = l->must[i] || l->outside[i];
    }
    l->succ_first[l->count] = succ.count;
    l->pred = pred.item;
    l->succ = succ.item;
}

/* A copy has a reader beside it. With one reader r, a second copy of i serves only a second copy of r: where that makes
 * no sense, neither does this. */
static void find_clonable(fsim_places *l)
{
    for (int i = l->count; i-- > 0;) {
        const int readers = l->succ_first[i + 1] - l->succ_first[i];
        l->clonable[i] = l->p->recompute && readers > 0 && fsim_may_clone(l->p, l->node[i]) &&
                         (l->must[i] || readers > 1 || l->clonable[l->succ[l->succ_first[i]]]);
    }
    for (int i = 0; i < l->count; i++) {
        l->cone[i] = i;
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1]; k++)
            if (l->clonable[l->pred[k]] && l->cone[l->pred[k]] < l->cone[i])
                l->cone[i] = l->cone[l->pred[k]];
    }
    for (int t = 0; t < l->p->graph->tensors; t++)
        l->last_use[t] = -1;
    for (int i = l->count; i-- > 0;) {
        const fsim_node *n = node_at(l, i);
        int last = i;
        for (int r = 0; l->clonable[i] && r < n->results; r++)
            last = l->last_use[n->result[r]] > last ? l->last_use[n->result[r]] : last;
        for (int k = 0; k < n->args; k++)
            if (last > l->last_use[n->arg[k].tensor])
                l->last_use[n->arg[k].tensor] = last;
    }
}

static void find_paths(fsim_places *l)
{
    for (int i = 0; i < l->count; i++)
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1]; k++) {
            const int by = i - l->pred[k];
            if (by > FSIM_BITS)
                continue;
            l->before[i] = fsim_bits_or(l->before[i], fsim_bits_shifted(l->before[l->pred[k]], -by));
            fsim_bit_set(&l->before[i], FSIM_BITS - by);
        }
    for (int i = l->count; i-- > 0;)
        for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++) {
            const int by = l->succ[k] - i;
            if (by > FSIM_BITS)
                continue;
            l->after[i] = fsim_bits_or(l->after[i], fsim_bits_shifted(l->after[l->succ[k]], by));
            fsim_bit_set(&l->after[i], by - 1);
        }
}

/* Must a kernel that holds both places hold what no kernel can? What lies on the paths between them says so. *path: is
 * there one? */
static bool separated(fsim_places *l, int low, int high, bool *path)
{
    const fsim_mark mark = fsim_save(l->a);
    const int span = high - low + 1;
    bool *from = fsim_new(l->a, bool, span), *to = fsim_new(l->a, bool, span);
    int *node = fsim_new(l->a, int, span), count = 0;
    from[0] = to[span - 1] = true;
    for (int i = low; i <= high; i++)
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1] && !from[i - low]; k++)
            from[i - low] = l->pred[k] >= low && from[l->pred[k] - low];
    *path = from[span - 1];
    for (int i = high; *path && i >= low; i--)
        for (int k = l->pred_first[i]; to[i - low] && k < l->pred_first[i + 1]; k++)
            if (l->pred[k] >= low)
                to[l->pred[k] - low] = true;
    for (int i = 0; i < span; i++)
        if (*path && from[i] && to[i])
            node[count++] = l->node[low + i];
    fsim_group made;
    fsim_refusal why = {0};
    const bool apart = *path && !fsim_group_of(&l->p->limits, node, count, NULL, NULL, l->a, &made, &why) && why.final;
    fsim_rewind(l->a, mark);
    return apart;
}

/* Tensors that place i touches, by itself and through producers computed beside it, down to place `low`. */
static void touches(const fsim_places *l, int i, int low, ints *out, int *stamp, int by)
{
    const fsim_node *n = node_at(l, i);
    for (int k = 0; k < n->args; k++) {
        const int t = n->arg[k].tensor, from = maker(l, t);
        if (stamp[t] == by)
            continue;
        stamp[t] = by;
        add(out, t);
        if (from >= low && l->clonable[from])
            touches(l, from, low, out, stamp, by);
    }
}

/* Are places of the list, which share a tensor, in different kernels when they are further apart than the bits go? */
static bool apart_when_far(fsim_places *l, const int *list, int count)
{
    if (count < 2 || list[count - 1] - list[0] < FSIM_BITS)
        return true;
    const fsim_mark mark = fsim_save(l->a);
    bool *apart = fsim_new(l->a, bool, count), all = true, path;
    for (int k = 1, far = 0; k < count && all; k++) {
        while (list[k] - list[far] >= FSIM_BITS)
            far++; /* list[0, far) are too far from list[k] */
        for (int i = far; i-- > 0 && all;) {
            apart[i] = false;
            for (int m = i + 1; m < far && !apart[i] && list[m] - list[i] <= FSIM_BITS;
                 m++) /* what lies between m and k lies between i and k too */
                apart[i] = apart[m] && fsim_bit(&l->after[list[i]], list[m] - list[i] - 1);
            all = apart[i] = apart[i] || separated(l, list[i], list[k], &path);
        }
    }
    fsim_rewind(l->a, mark);
    return all;
}

static void find_near(fsim_places *l)
{
    const fsim_graph *g = l->p->graph;
    ints all = {.a = l->a}, near = {.a = l->a};
    int *first = fsim_new(l->a, int, l->count + 1), *stamp = fsim_new(l->a, int, g->tensors + 1),
        *many = fsim_new(l->a, int, g->tensors + 2);
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = node_at(l, i);
        first[i] = all.count;
        touches(l, i, i < FSIM_BACK ? 0 : i - FSIM_BACK, &all, stamp, i + 1);
        for (int r = 0; r < n->results; r++)
            add(&all, n->result[r]);
    }
    first[l->count] = all.count;
    for (int k = 0; k < all.count; k++)
        many[all.item[k] + 1]++;
    for (int t = 0; t < g->tensors; t++)
        many[t + 1] += many[t];
    int *who = fsim_new(l->a, int, all.count + 1), *fill = fsim_new(l->a, int, g->tensors + 1),
        *start = fsim_new(l->a, int, g->tensors + 1);
    for (int i = 0; i < l->count; i++)
        for (int k = first[i]; k < first[i + 1]; k++)
            who[many[all.item[k]] + fill[all.item[k]]++] = i;
    for (int t = 0; t < g->tensors && l->complete; t++)
        l->complete = apart_when_far(l, who + many[t], fill[t]);
    int *seen = fsim_new(l->a, int, l->count + 1);
    for (int i = 0; i < l->count; i++) {
        l->near_first[i] = near.count;
        for (int k = first[i]; k < first[i + 1]; k++) {
            const int t = all.item[k], *list = who + many[t];
            while (list[start[t]] <= i - FSIM_BITS)
                start[t]++;
            for (int j = start[t]; j < fill[t] && list[j] < i + FSIM_BITS; j++)
                if (list[j] != i && seen[list[j]] != i + 1) {
                    seen[list[j]] = i + 1;
                    add(&near, list[j]);
                }
        }
    }
    l->near_first[l->count] = near.count;
    l->near = near.item;
}

/* What a place looks like to legality and cost, its neighbours' distances included. */

static uint64_t mixed(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mixed_real(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return mixed(h, bits);
}

static uint64_t class_of_access(const fsim_places *l, const fsim_access *x, int at, uint64_t h)
{
    const fsim_tensor *t = &l->p->graph->tensor[x->tensor];
    const int from = maker(l, x->tensor);
    h = mixed(h, (uint64_t)x->how << 8 | (uint64_t)t->dtype << 4 | (uint64_t)t->role);
    h = mixed(h, (uint64_t)t->elems << 2 | (uint64_t)t->output << 1 | (uint64_t)t->materialize);
    h = mixed(h, from >= 0 ? (uint64_t)(at - from) : t->producer >= 0 ? UINT64_MAX : UINT64_MAX - 1);
    for (int r = 0; from >= 0 && r < node_at(l, from)->results; r++)
        h = mixed(h, node_at(l, from)->result[r] == x->tensor ? (uint64_t)r + 1 : 0);
    h = mixed(h, (uint64_t)x->map.modes << 32 | (uint64_t)x->map.split << 16);
    h = mixed(h, (uint64_t)x->map.offset);
    for (int i = 0; i < x->map.modes && i < FSIM_MAX_MODES; i++)
        h = mixed(mixed(h, (uint64_t)x->map.mode[i].extent), (uint64_t)x->map.mode[i].stride);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *s = &x->axis[i];
        h = mixed(mixed(mixed(h, (uint64_t)s->extent), (uint64_t)s->out), (uint64_t)s->taps);
        h = mixed(mixed(mixed(h, (uint64_t)s->stride), (uint64_t)s->dilation), (uint64_t)s->pad);
    }
    for (int i = 0; i < x->cuts; i++) {
        const fsim_cut *c = &x->cut[i];
        h = mixed(mixed(mixed(h, (uint64_t)c->inner), (uint64_t)c->extent), (uint64_t)c->from);
        h = mixed(mixed(mixed(h, (uint64_t)c->size), (uint64_t)c->source_extent), (uint64_t)c->source_from);
    }
    h = mixed(mixed(h, (uint64_t)x->any.extent), (uint64_t)x->any.stride);
    return mixed(mixed(mixed(mixed(h, (uint64_t)x->planes), (uint64_t)x->rows), (uint64_t)x->run),
                 (uint64_t)x->distinct);
}

static bool user_names(const fsim_graph *g, int node)
{
    for (int s = 0; s < g->fuses + g->separates; s++) {
        const fsim_node_set *set = s < g->fuses ? &g->fuse[s] : &g->separate[s - g->fuses];
        for (int i = 0; i < set->count; i++)
            if (set->node[i] == node)
                return true;
    }
    return false;
}

static uint64_t class_of_place(const fsim_places *l, int i)
{
    const fsim_graph *g = l->p->graph;
    const fsim_node *n = node_at(l, i);
    const fsim_attrs *at = &n->attrs;
    uint64_t h =
        mixed(17, (uint64_t)n->op << 32 | (uint64_t)n->args << 16 | (uint64_t)n->results << 8 | (uint64_t)n->dtype);
    h = mixed(mixed(h, (uint64_t)n->points), (uint64_t)n->reduced);
    h = mixed(mixed(mixed(mixed(h, (uint64_t)n->gemm.batch), (uint64_t)n->gemm.m), (uint64_t)n->gemm.n),
              (uint64_t)n->gemm.k);
    h = mixed(h,
              (uint64_t)n->gemm.arithmetic << 8 | (uint64_t)n->gemm.convolution << 1 | (uint64_t)n->gemm.transposed_b);
    h = mixed_real(mixed_real(mixed_real(h, n->flops), n->instructions), n->specials);
    h = mixed_real(
        mixed_real(mixed_real(mixed_real(mixed_real(mixed_real(h, at->scalar), at->min), at->max), at->alpha), at->p),
        at->value);
    h = mixed(h, (uint64_t)at->has_scalar | (uint64_t)at->causal << 1 | (uint64_t)at->training << 2 |
                     (uint64_t)l->must[i] << 3 | (uint64_t)l->clonable[i] << 4 | (uint64_t)l->outside[i] << 5 |
                     (uint64_t)n->effect << 6);
    h = mixed(h, (uint64_t)at->k);
    for (int k = 0; k < n->args; k++)
        h = class_of_access(l, &n->arg[k], i, h);
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &g->tensor[n->result[r]];
        h = mixed(h, (uint64_t)t->elems << 8 | (uint64_t)t->dtype << 3 | (uint64_t)t->output << 2 |
                         (uint64_t)t->materialize << 1 | (t->readers > 0));
        for (int d = 0; d < t->shape.rank; d++)
            h = mixed(h, (uint64_t)t->shape.dim[d]);
    }
    return user_names(g, l->node[i]) ? mixed(h, (uint64_t)i + 1) : h;
}

void fsim_places_of(fsim_problem *p, const int *node, int count, int64_t most, fsim_arena *a, fsim_places *out)
{
    *out =
        (fsim_places){.p = p, .a = a, .count = count, .node = node, .complete = true, .most = most, .steps = INT64_MAX};
    out->place = fsim_new(a, int, p->graph->nodes + 1);
    for (int n = 0; n < p->graph->nodes; n++)
        out->place[n] = -1;
    for (int i = 0; i < count; i++)
        out->place[node[i]] = i;
    out->pred_first = fsim_new(a, int, count + 1);
    out->succ_first = fsim_new(a, int, count + 1);
    out->near_first = fsim_new(a, int, count + 1);
    out->must = fsim_new(a, bool, count + 1);
    out->outside = fsim_new(a, bool, count + 1);
    out->clonable = fsim_new(a, bool, count + 1);
    out->cone = fsim_new(a, int, count + 1);
    out->before = fsim_new(a, fsim_bits, count + 1);
    out->after = fsim_new(a, fsim_bits, count + 1);
    out->class = fsim_new(a, uint64_t, count + 1);
    out->last_use = fsim_new(a, int, p->graph->tensors + 1);
    out->family = fsim_new(a, fsim_family *, count + 1);
    out->slots = 64;
    while (out->slots < count)
        out->slots *= 2;
    out->slot = fsim_new(a, fsim_family *, out->slots);
    link_producers(out);
    find_clonable(out);
    find_paths(out);
    find_near(out);
    for (int i = 0; i < count; i++)
        out->class[i] = class_of_place(out, i);
}

/* Families. */

typedef struct {
    fsim_places *l;
    fsim_family *f;
    int base; /* the place of bit 0 */
    int64_t tried;
} builder;

static void reach(builder *b, int place)
{
    if (place - b->f->root > b->f->reach)
        b->f->reach = place - b->f->root;
}

/* The members as primitives of the graph, ascending. */
static int members(const fsim_places *l, int base, fsim_bits set, int *node)
{
    int count = 0;
    FSIM_EACH_BIT(i, set)
    node[count++] = l->node[base + i];
    return count;
}

static bool joined(const fsim_places *l, int base, fsim_bits set)
{
    int node[FSIM_BITS];
    fsim_refusal why;
    const int count = members(l, base, set, node);
    const fsim_mark mark = fsim_save(l->a);
    const bool yes = count == 1 || fsim_connected(l->p->graph, node, count, l->a, &why);
    fsim_rewind(l->a, mark);
    return yes;
}

static void sort_out_stores(const fsim_places *l, int base, fsim_own_set *s)
{
    FSIM_EACH_BIT(i, s->own)
    {
        const int place = base + i;
        bool inside = false, later = false;
        for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++) {
            const int bit = l->succ[k] - base;
            const bool in = bit < FSIM_BITS && fsim_bit(&s->own, bit);
            inside = inside || in;
            later = later || !in;
        }
        if (l->must[place] || !inside || (later && !l->clonable[place]))
            fsim_bit_set(&s->must, i);
        else if (later)
            fsim_bit_set(&s->may, i);
    }
}

static void keep_set(builder *b, fsim_bits own, const fsim_own_set *stores, bool connected)
{
    fsim_own_set *s = FSIM_PUSH(b->l->a, b->f->set, b->f->sets, b->f->room);
    ints preds = {.a = b->l->a};
    *s = (fsim_own_set){.own = own,
                        .must = stores->must,
                        .may = stores->may,
                        .last = fsim_bits_last(&own) - FSIM_BACK,
                        .connected = connected};
    FSIM_EACH_BIT(i, own)
    for (int k = b->l->pred_first[b->base + i]; k < b->l->pred_first[b->base + i + 1]; k++) {
        const int offset = b->l->pred[k] - b->f->root;
        bool known = offset >= 0 && fsim_bit(&own, offset + FSIM_BACK);
        for (int j = 0; j < preds.count && !known; j++)
            known = preds.item[j] == offset;
        if (!known)
            add(&preds, offset);
    }
    s->preds = preds.count;
    s->pred = preds.item;
}

/* Is the set a kernel when it stores as little as it can? *final when no larger one is either. */
static bool try_set(builder *b, fsim_bits own, bool *final)
{
    int node[FSIM_BITS];
    bool stored[FSIM_BITS];
    const int count = members(b->l, b->base, own, node);
    fsim_own_set s = {.own = own};
    int k = 0;
    sort_out_stores(b->l, b->base, &s);
    FSIM_EACH_BIT(i, own)
    stored[k++] = fsim_bit(&s.must, i);
    const fsim_candidate *c = fsim_candidate_of(b->l->p, node, count, stored);
    *final = !c->legal && c->why.final;
    if (!c->legal)
        return false;
    const bool connected = joined(b->l, b->base, own);
    if (!connected && !b->l->p->recompute)
        return false;
    keep_set(b, own, &s, connected);
    b->l->kept++;
    return true;
}

static fsim_bits window(const fsim_bits *x, int from, int base) { return fsim_bits_shifted(*x, from - base); }

/* Is there no kernel that holds both places, whatever else it holds? Asked for what does not inline: all else may join.
 */
static bool apart(fsim_places *l, int x, int y)
{
    const int low = x < y ? x : y, high = x < y ? y : x;
    if (fsim_classes[fsim_ops[node_at(l, low)->op].class].inlines ||
        fsim_classes[fsim_ops[node_at(l, high)->op].class].inlines)
        return false;
    const int pair[2] = {l->node[low], l->node[high]};
    const fsim_candidate *c = fsim_candidate_of(l->p, pair, 2, (const bool[2]){true, true});
    return !c->legal && c->why.final;
}

static bool holds_apart(builder *b, fsim_bits set, fsim_bits fresh)
{
    FSIM_EACH_BIT(i, fresh)
    {
        if (fsim_classes[fsim_ops[node_at(b->l, b->base + i)->op].class].inlines)
            continue;
        FSIM_EACH_BIT(k, set)
        if (k != i && apart(b->l, b->base + i, b->base + k))
            return true;
    }
    return false;
}

/* A set as it grows, in the bits of its family. */
typedef struct {
    fsim_bits set, fresh;   /* the members; those that are new */
    fsim_bits above, below; /* what leads to a member; what a member leads to */
    fsim_bits fringe;       /* what shares a tensor with a member */
    fsim_bits barred;       /* passed over: stays out */
} growth;

/* Convex sets that grow from the root through shared tensors, each once. */
static void grow(builder *b, growth x)
{
    fsim_places *l = b->l;
    bool final, path;
    if (++b->tried > l->most || (b->tried > TRIED_IN_HASTE && fsim_work(l->p) > l->steps) ||
        (l->p->interrupted && *l->p->interrupted)) {
        b->f->complete = false;
        return;
    }
    try_set(b, x.set, &final);
    if (final)
        return;
    FSIM_EACH_BIT(v, x.fresh)
    {
        const int at = b->base + v;
        x.above = fsim_bits_or(x.above, window(&l->before[at], at - FSIM_BITS, b->base));
        x.below = fsim_bits_or(x.below, window(&l->after[at], at + 1, b->base));
        for (int k = l->near_first[at]; k < l->near_first[at + 1]; k++) {
            const int bit = l->near[k] - b->base;
            if (bit >= FSIM_BITS)
                b->f->complete = b->f->complete && separated(l, at, l->near[k], &path);
            else if (bit > FSIM_BACK)
                fsim_bit_set(&x.fringe, bit);
        }
    }
    x.fringe = fsim_bits_without(fsim_bits_without(x.fringe, x.barred), x.set);
    FSIM_EACH_BIT(u, x.fringe)
    {
        const int place = b->base + u;
        const fsim_bits up = window(&l->before[place], place - FSIM_BITS, b->base),
                        down = window(&l->after[place], place + 1, b->base);
        fsim_bits more = fsim_bits_or(fsim_bits_and(x.below, up), fsim_bits_and(x.above, down));
        fsim_bit_set(&more, u);
        more = fsim_bits_without(more, x.set);
        reach(b, place);
        growth larger = x;
        larger.set = fsim_bits_or(x.set, more);
        larger.fresh = more;
        if (!fsim_bits_meet(&more, &x.barred) && !holds_apart(b, larger.set, more))
            grow(b, larger);
        fsim_bit_set(&x.barred, u);
        if (!b->f->complete && (b->tried > l->most || fsim_work(l->p) > l->steps))
            return;
    }
}

static fsim_family *build(fsim_places *l, int root)
{
    fsim_family *f = fsim_new(l->a, fsim_family, 1);
    builder b = {l, f, root - FSIM_BACK, 0};
    growth seed = {{{0}}, {{0}}, {{0}}, {{0}}, {{0}}, {{0}}};
    *f = (fsim_family){.root = root, .complete = true};
    fsim_bit_set(&seed.set, FSIM_BACK);
    seed.fresh = seed.set;
    grow(&b, seed);
    l->looked_at += b.tried;
    int low = root;
    for (int i = root; i <= root + f->reach; i++)
        low = l->cone[i] < low ? l->cone[i] : low;
    f->back = root - low < FSIM_BACK ? root - low : FSIM_BACK;
    return f;
}

/* The reader of tensor t before `place` and not below `low`, with the argument that it is; 0 when there is none. */
static uint64_t reader_before(const fsim_places *l, int t, int place, int low)
{
    const fsim_tensor *x = &l->p->graph->tensor[t];
    int at = 0, high = x->readers; /* first reader at or behind this primitive */
    while (at < high) {
        const int mid = (at + high) / 2;
        if (x->reader[mid] < l->node[place])
            at = mid + 1;
        else
            high = mid;
    }
    while (at-- > 0) {
        const int other = l->place[x->reader[at]];
        if (other < 0)
            continue;
        if (other < low)
            return 0;
        const fsim_node *n = node_at(l, other);
        for (int k = 0; k < n->args; k++)
            if (n->arg[k].tensor == t)
                return (uint64_t)(place - other) << 16 | (uint64_t)(k + 1);
    }
    return 0;
}

static bool read_beyond(const fsim_places *l, int t, int place)
{
    const fsim_tensor *x = &l->p->graph->tensor[t];
    return x->readers > 0 && x->reader[x->readers - 1] > l->node[place];
}

/* Do the surroundings of root look as those that made the family? */
static bool looks_like(const fsim_places *l, const fsim_family *f, int root)
{
    const int by = root - f->root, low = root - f->back, high = root + f->reach;
    if (low < 0 || high >= l->count)
        return false;
    for (int i = low; i <= high; i++)
        if (l->class[i] != l->class[i - by])
            return false;
    for (int i = low; i <= high; i++) {
        const fsim_node *x = node_at(l, i), *y = node_at(l, i - by);
        for (int k = 0; k < x->args; k++) {
            const int t = x->arg[k].tensor, s = y->arg[k].tensor;
            if (maker(l, t) < low && (reader_before(l, t, i, low) != reader_before(l, s, i - by, low - by) ||
                                      read_beyond(l, t, high) != read_beyond(l, s, high - by)))
                return false;
        }
        for (int r = 0; r < x->results; r++)
            if (read_beyond(l, x->result[r], high) != read_beyond(l, y->result[r], high - by))
                return false;
    }
    return true;
}

const fsim_family *fsim_family_of(fsim_places *l, int root)
{
    if (l->family[root])
        return l->family[root];
    uint64_t h = 1;
    for (int i = root; i < root + 4 && i < l->count; i++)
        h = mixed(h, l->class[i]);
    fsim_family **slot = &l->slot[h & (uint64_t)(l->slots - 1)];
    for (fsim_family *f = *slot; f; f = f->next)
        if (looks_like(l, f, root))
            return l->family[root] = f;
    fsim_family *f = build(l, root);
    f->next = *slot;
    *slot = f;
    return l->family[root] = f;
}

/* Kernels. */

static void find_touches(const fsim_places *l, const fsim_family *f, fsim_bits all, fsim_variant *v)
{
    const fsim_graph *g = l->p->graph;
    const fsim_group *o = &v->kernel->group;
    const int base = f->root - FSIM_BACK;
    v->read = fsim_new(l->a, fsim_touch, o->reads + 1);
    v->read_at = fsim_new(l->a, int, o->reads + 1);
    v->write = fsim_new(l->a, fsim_touch, o->writes + 1);
    v->write_at = fsim_new(l->a, int, o->writes + 1);
    FSIM_EACH_BIT(i, all)
    {
        const fsim_node *n = node_at(l, base + i);
        for (int k = 0; k < n->args; k++)
            for (int r = 0; r < o->reads; r++) {
                bool known = o->read[r].tensor != n->arg[k].tensor;
                for (int j = 0; j < v->reads && !known; j++)
                    known = v->read_at[j] == r;
                if (known)
                    continue;
                v->read_at[v->reads] = r;
                v->read[v->reads++] = (fsim_touch){i - FSIM_BACK, k, o->read[r].bytes, o->read[r].whole, false};
            }
        for (int k = 0; k < n->results; k++)
            for (int w = 0; w < o->writes; w++)
                if (o->write[w].tensor == n->result[k]) {
                    const fsim_tensor *t = &g->tensor[n->result[k]];
                    v->write_at[v->writes] = w;
                    v->write[v->writes++] =
                        (fsim_touch){i - FSIM_BACK, k, t->bytes, true, !t->output && !t->materialize && t->readers > 0};
                }
    }
}

fsim_variant *fsim_variant_of(fsim_places *l, const fsim_family *f, fsim_own_set *s, const fsim_bits *clones,
                              const fsim_bits *stored)
{
    for (fsim_variant *v = s->variant; v; v = v->next)
        if (fsim_bits_equal(&v->clones, clones) && fsim_bits_equal(&v->stored, stored))
            return v->kernel ? v : NULL;
    fsim_variant *v = fsim_new(l->a, fsim_variant, 1);
    int node[FSIM_BITS];
    bool flag[FSIM_BITS];
    fsim_refusal why;
    const int base = f->root - FSIM_BACK;
    const fsim_bits all = fsim_bits_or(s->own, *clones);
    const int count = members(l, base, all, node);
    int k = 0;
    *v = (fsim_variant){.next = s->variant, .clones = *clones, .stored = *stored};
    s->variant = v;
    FSIM_EACH_BIT(i, all)
    flag[k++] = fsim_bit(stored, i);
    if ((!s->connected && !joined(l, base, all)) || !fsim_user_allows(l->p, node, count, &why))
        return NULL;
    fsim_candidate *c = fsim_candidate_of(l->p, node, count, flag);
    if (!c->legal)
        return NULL;
    v->kernel = c;
    find_touches(l, f, all, v);
    return v;
}

fsim_sum fsim_cost_of(fsim_places *l, fsim_variant *v, uint64_t hit, uint64_t absorbed)
{
    for (const fsim_cost *c = v->costs; c; c = c->next)
        if (c->hit == hit && c->absorbed == absorbed)
            return c->cost;
    fsim_cost *c = fsim_new(l->a, fsim_cost, 1);
    const fsim_mark mark = fsim_save(l->a);
    bool *hits = fsim_new(l->a, bool, v->reads + 1), *absorbs = fsim_new(l->a, bool, v->writes + 1);
    for (int i = 0; i < v->reads; i++) /* beyond 64: granted */
        hits[v->read_at[i]] =
            i < 64 ? hit >> i & 1 : fsim_may_reside(l->p, v->kernel->group.read[v->read_at[i]].tensor);
    for (int i = 0; i < v->writes; i++)
        absorbs[v->write_at[i]] =
            i < 64 ? absorbed >> i & 1
                   : v->write[i].intermediate && (double)v->write[i].bytes <= fsim_l2_effective(l->p->hw);
    const fsim_kernel *k = fsim_kernel_for(l->p, v->kernel, hits, absorbs);
    *c = (fsim_cost){v->costs, hit, absorbed, k ? fsim_objective_of(l->p, k) : -1};
    fsim_rewind(l->a, mark);
    v->costs = c;
    return c->cost;
}

int fsim_touched(const fsim_places *l, int root, const fsim_touch *x, bool write)
{
    const fsim_node *n = node_at(l, root + x->offset);
    return write ? n->result[x->index] : n->arg[x->index].tensor;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: a list of primitives as a graph of its own, and a hash of each place's surroundings as legality and
 * prices see them. */
#include "plan/search/places.h"

#include "fusion/fuse.h"
#include <string.h>

enum {
    BEGINNING = 32, /* of a long path, which is looked at first */
    NEAR = 8,       /* producers further back look alike: families.c compares which they are, and where they are read */
    WIDE = 4000     /* sets tried for a root before a watched list is given up */
};

static void link_producers(fsim_places *l, const bool *wanted)
{
    const fsim_graph *g = l->p->graph;
    place_list pred = {.a = l->a}, succ = {.a = l->a};
    int *seen = fsim_new(l->a, int, l->count + 1); /* per place: 1 + the place that listed it last */
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = fsim_place_node(l, i);
        l->pred_first[i] = pred.count;
        for (int k = 0; k < n->args; k++) {
            const int from = fsim_place_of_maker(l, n->arg[k].tensor);
            if (from >= 0 && seen[from] != i + 1) {
                seen[from] = i + 1;
                fsim_list_place(&pred, from);
            }
        }
    }
    l->pred_first[l->count] = pred.count;
    memset(seen, 0, (size_t)l->count * sizeof *seen);
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = fsim_place_node(l, i);
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
                    fsim_list_place(&succ, to);
                }
            }
        }
        l->outside[i] = l->outside[i] && (!wanted || wanted[l->node[i]]);
        l->must[i] = wanted ? n->effect || wanted[l->node[i]] : l->must[i] || l->outside[i];
    }
    l->succ_first[l->count] = succ.count;
    l->pred = pred.item;
    l->succ = succ.item;
}

/* A clone is in the kernel of a reader. If i has one reader r only, a second copy of i is useful only for a second
 * copy of r. */
static void find_clonable(fsim_places *l)
{
    for (int i = l->count; i-- > 0;) {
        const int readers = l->succ_first[i + 1] - l->succ_first[i];
        l->clonable[i] = l->p->recompute && readers > 0 && fsim_may_clone(l->p, l->node[i]) &&
                         (l->must[i] || readers > 1 || l->clonable[l->succ[l->succ_first[i]]]);
    }
    for (int t = 0; t < l->p->graph->tensors; t++)
        l->last_use[t] = -1;
    for (int i = l->count; i-- > 0;) {
        const fsim_node *n = fsim_place_node(l, i);
        int last = i;
        for (int r = 0; l->clonable[i] && r < n->results; r++)
            last = l->last_use[n->result[r]] > last ? l->last_use[n->result[r]] : last;
        last = last > i + FSIM_BACK ? i + FSIM_BACK : last; /* a clone is near the root of its kernel */
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

/* The primitives on paths from one place to another one, and these two, in node: how many; 0 where there is no path. */
static int on_paths(const fsim_places *l, int low, int high, int *node)
{
    if (!fsim_bit(&l->after[low], high - low - 1))
        return 0;
    const fsim_bits between =
        fsim_bits_and(l->after[low], fsim_bits_shifted(l->before[high], high - FSIM_BITS - low - 1));
    int count = 0;
    node[count++] = l->node[low];
    FSIM_EACH_BIT(i, between)
    node[count++] = l->node[low + 1 + i];
    node[count++] = l->node[high];
    return count;
}

/* The same for places that are further apart than the bits tell. */
static int on_long_paths(const fsim_places *l, int low, int high, int *node)
{
    const int span = high - low + 1;
    bool *from = fsim_new(l->a, bool, span), *to = fsim_new(l->a, bool, span);
    int count = 0;
    from[0] = to[span - 1] = true;
    for (int i = low; i <= high; i++)
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1] && !from[i - low]; k++)
            from[i - low] = l->pred[k] >= low && from[l->pred[k] - low];
    if (!from[span - 1])
        return 0;
    for (int i = high; i >= low; i--)
        for (int k = l->pred_first[i]; to[i - low] && k < l->pred_first[i + 1]; k++)
            if (l->pred[k] >= low)
                to[l->pred[k] - low] = true;
    for (int i = 0; i < span; i++)
        if (from[i] && to[i])
            node[count++] = l->node[low + i];
    return count;
}

/* Can no kernel have these primitives, ascending, nor these and others? */
static bool is_no_kernel(const fsim_places *l, const int *node, int count)
{
    fsim_group group;
    fsim_refusal why = {0};
    return !fsim_group_of(&l->p->limits, &(fsim_selection){.node = node, .count = count}, l->a, &group, &why) &&
           why.final;
}

/* Is a place before `high`, on a path from `low` to it, separated from `low`? */
static bool is_separated_before(fsim_places *l, int low, int high)
{
    bool path, found = false;
    for (int k = l->pred_first[high]; k < l->pred_first[high + 1] && !found; k++)
        found = l->pred[k] > low && fsim_separated(l, low, l->pred[k], &path);
    return found;
}

/* Does a path lead from one place to the other, by places of which no kernel has all? *path: there is one. */
static bool find_separated(fsim_places *l, int low, int high, bool *path)
{
    const bool near = high - low <= FSIM_BITS;
    if (near && is_separated_before(l, low, high))
        return true;
    const fsim_mark mark = fsim_save(l->a);
    int *node = fsim_new(l->a, int, high - low + 1);
    const int count = near ? on_paths(l, low, high, node) : on_long_paths(l, low, high, node);
    *path = count > 0;
    const bool separated =
        *path && ((count > BEGINNING && is_no_kernel(l, node, BEGINNING)) || is_no_kernel(l, node, count));
    fsim_rewind(l->a, mark);
    return separated;
}

bool fsim_separated(fsim_places *l, int low, int high, bool *path)
{
    const int bit = high - low - 1;
    *path = true;
    if (fsim_across_barrier(l, low, high))
        return true;
    if (bit >= FSIM_BITS)
        return find_separated(l, low, high, path);
    *path = fsim_bit(&l->after[low], bit);
    if (*path && !fsim_bit(&l->asked_path[low], bit)) {
        if (find_separated(l, low, high, path))
            fsim_bit_set(&l->separated[low], bit);
        fsim_bit_set(&l->asked_path[low], bit);
    }
    return *path && fsim_bit(&l->separated[low], bit);
}

bool fsim_leads_to(const fsim_places *l, int low, int high)
{
    for (int k = l->pred_first[high]; k < l->pred_first[high + 1] && high - low > FSIM_BITS; k++)
        if (l->pred[k] == low)
            return true;
    while (high - low > 2 * FSIM_BITS && !fsim_bits_empty(&l->after[low]))
        low += 1 + fsim_bits_last(&l->after[low]);
    if (high - low <= FSIM_BITS)
        return fsim_bit(&l->after[low], high - low - 1);
    const fsim_bits up = fsim_bits_shifted(l->before[high], high - FSIM_BITS - low - 1);
    return high - low <= 2 * FSIM_BITS && fsim_bits_meet(&l->after[low], &up);
}

/* Tensors that place i accesses, itself and through producers cloned into its kernel, down to place `low`. */
static void touches(const fsim_places *l, int i, int low, place_list *out, int *stamp, int by)
{
    const fsim_node *n = fsim_place_node(l, i);
    for (int k = 0; k < n->args; k++) {
        const int t = n->arg[k].tensor, from = fsim_place_of_maker(l, t);
        if (stamp[t] == by)
            continue;
        stamp[t] = by;
        fsim_list_place(out, t);
        if (from >= low && l->clonable[from])
            touches(l, from, low, out, stamp, by);
    }
}

/* Are any two places of the list, which have a tensor in common, always in different kernels if they are too far
 * apart for the bits of a set? */
static bool apart_when_far(fsim_places *l, const int *list, int count)
{
    if (count < 2 || list[count - 1] - list[0] < FSIM_BITS)
        return true;
    const fsim_mark mark = fsim_save(l->a);
    bool *never_together = fsim_new(l->a, bool, count), all = true, path;
    for (int k = 1, far = 0; k < count && all; k++) {
        while (list[k] - list[far] >= FSIM_BITS)
            far++; /* list[0, far) are too far from list[k] */
        for (int i = far; i-- > 0 && all;) {
            never_together[i] = false;
            for (int m = i + 1; m < far && !never_together[i] && list[m] - list[i] <= FSIM_BITS;
                 m++) /* places between m and k are between i and k too */
                never_together[i] = never_together[m] && fsim_bit(&l->after[list[i]], list[m] - list[i] - 1);
            all = never_together[i] = never_together[i] || fsim_separated(l, list[i], list[k], &path);
        }
    }
    fsim_rewind(l->a, mark);
    return all;
}

bool fsim_may_be_siblings(const fsim_places *l, int x, int y)
{
    const fsim_node *a = fsim_place_node(l, x), *b = fsim_place_node(l, y);
    return a->gemm.k && b->gemm.k && a->arg[0].tensor == b->arg[0].tensor;
}

/* Can no kernel have both? A linked list notes that one may. */
static bool are_apart(fsim_places *l, int low, int high)
{
    bool path;
    if (fsim_never_together(l, low, high) || fsim_separated(l, low, high, &path))
        return true;
    if (l->linked)
        l->ends[low] = l->ends[high] = true;
    return l->linked;
}

/* The same for a parted list: places without a path between them need not be in one set, unless they are contractions.
 * A path is followed step by step when sets grow, so that only its single steps can be too long. latest: per tensor,
 * zero before and after. */
static bool steps_apart_when_far(fsim_places *l, int tensor, const int *list, int count, int *latest)
{
    const fsim_mark mark = fsim_save(l->a);
    const int maker = fsim_place_of_maker(l, tensor);
    int *sibling = fsim_new(l->a, int, count + 1); /* per contraction: 1 + the index of the one before it */
    bool all = true;
    for (int k = 0, far = 0; k < count && all; k++) {
        const fsim_node *n = fsim_place_node(l, list[k]);
        while (list[k] - list[far] >= FSIM_BITS)
            far++;
        if (n->gemm.k) {
            sibling[k] = latest[n->arg[0].tensor];
            latest[n->arg[0].tensor] = k + 1;
        }
        all = far == 0 || list[0] != maker || are_apart(l, maker, list[k]); /* it is before all readers */
        for (int i = sibling[k]; i > 0 && all; i = sibling[i - 1])
            all = i > far || are_apart(l, list[i - 1], list[k]);
    }
    for (int k = 0; k < count; k++)
        if (fsim_place_node(l, list[k])->gemm.k)
            latest[fsim_place_node(l, list[k])->arg[0].tensor] = 0;
    fsim_rewind(l->a, mark);
    return all;
}

static void find_near(fsim_places *l)
{
    const fsim_graph *g = l->p->graph;
    place_list all = {.a = l->a}, near = {.a = l->a};
    int *first = fsim_new(l->a, int, l->count + 1), *stamp = fsim_new(l->a, int, g->tensors + 1),
        *many = fsim_new(l->a, int, g->tensors + 2);
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = fsim_place_node(l, i);
        first[i] = all.count;
        touches(l, i, i < FSIM_BACK ? 0 : i - FSIM_BACK, &all, stamp, i + 1);
        for (int r = 0; r < n->results; r++)
            fsim_list_place(&all, n->result[r]);
    }
    first[l->count] = all.count;
    for (int k = 0; k < all.count; k++)
        many[all.item[k] + 1]++;
    for (int t = 0; t < g->tensors; t++)
        many[t + 1] += many[t];
    int *who = fsim_new(l->a, int, all.count + 1), *fill = fsim_new(l->a, int, g->tensors + 1),
        *start = fsim_new(l->a, int, g->tensors + 1), *latest = fsim_new(l->a, int, g->tensors + 1);
    for (int i = 0; i < l->count; i++)
        for (int k = first[i]; k < first[i + 1]; k++)
            who[many[all.item[k]] + fill[all.item[k]]++] = i;
    for (int t = 0; t < g->tensors && l->complete; t++)
        l->complete = l->parted ? steps_apart_when_far(l, t, who + many[t], fill[t], latest)
                                : apart_when_far(l, who + many[t], fill[t]);
    for (int t = 0; t < g->tensors; t++)
        for (int k = many[t]; k < many[t] + fill[t]; k++)
            l->far[who[k]] = l->far[who[k]] || who[k] - who[many[t]] >= FSIM_BITS ||
                             who[many[t] + fill[t] - 1] - who[k] >= FSIM_BITS;
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
                    l->last_near[i] = list[j] > l->last_near[i] ? list[j] : l->last_near[i];
                    fsim_list_place(&near, list[j]);
                }
        }
    }
    l->near_first[l->count] = near.count;
    l->near = near.item;
    l->missed = fsim_new(l->a, signed char, near.count + 1);
    l->touched = all.item;
    l->touched_first = first;
    l->touching = who;
    l->touching_first = many;
}

/* The surroundings of a place as legality and prices see them, including the distances of its neighbours. */

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

/* Per place: how far behind the first one of its library call it is, from 1 on; 0: it is in none. Those that are in one
 * call with each other are told by it wherever sets of two roots are compared. */
static int *places_in_calls(const fsim_places *l)
{
    const fsim_graph *g = l->p->graph;
    int *first = fsim_new(l->a, int, g->sources + g->servings + 2), *in = fsim_new(l->a, int, l->count + 1);
    for (int i = 0; i < l->count && g->calls; i++) {
        const fsim_node *n = fsim_place_node(l, i);
        const int call = n->call > 0 ? n->call : n->serving > 0 ? g->sources + n->serving : 0;
        first[call] = first[call] > 0 ? first[call] : i + 1;
        in[i] = call > 0 ? i + 2 - first[call] : 0;
    }
    return in;
}

/* h: the primitive's own. far: the distance from which on all producers look alike. in_call: places_in_calls. */
static uint64_t class_of_place(const fsim_places *l, int i, uint64_t h, int far, int in_call)
{
    const fsim_graph *g = l->p->graph;
    const fsim_node *n = fsim_place_node(l, i);
    h = fsim_mix(h, (uint64_t)l->must[i] | (uint64_t)l->clonable[i] << 1 | (uint64_t)l->outside[i] << 2 |
                        (uint64_t)n->side << 3 | (uint64_t)in_call << 8);
    for (int k = 0; k < n->args; k++) {
        const int t = n->arg[k].tensor, from = fsim_place_of_maker(l, t);
        h = fsim_mix(h, from >= 0                    ? (uint64_t)(i - from > far ? far + 1 : i - from)
                        : g->tensor[t].producer >= 0 ? UINT64_MAX
                                                     : UINT64_MAX - 1);
        h = fsim_mix(h,
                     from >= 0 && l->clonable[from]); /* what may be cloned is looked at further down: back in sets.h */
        for (int r = 0; from >= 0 && r < fsim_place_node(l, from)->results; r++)
            h = fsim_mix(h, fsim_place_node(l, from)->result[r] == t ? (uint64_t)r + 1 : 0);
    }
    h = fsim_mix(h, fsim_apart_class(l, i));
    return user_names(g, l->node[i]) ? fsim_mix(h, (uint64_t)i + 1) : h;
}

void fsim_places_of(fsim_problem *p, const int *node, int count, fsim_set_limits limits, fsim_arena *a,
                    fsim_places *out)
{
    *out = (fsim_places){.p = p,
                         .a = a,
                         .count = count,
                         .node = node,
                         .complete = true,
                         .most = limits.most,
                         .watched = limits.watched,
                         .parted = limits.parted,
                         .linked = limits.linked,
                         .wide_from = limits.wide > 0 ? limits.wide : WIDE,
                         .ahead = limits.ahead > 0 ? limits.ahead : FSIM_AHEAD};
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
    out->far = fsim_new(a, bool, count + 1);
    out->last_near = fsim_new(a, int, count + 1);
    out->ends = fsim_new(a, bool, count + 1);
    out->borrows = fsim_new(a, bool, count + 1);
    out->before = fsim_new(a, fsim_bits, count + 1);
    out->after = fsim_new(a, fsim_bits, count + 1);
    out->asked = fsim_new(a, fsim_bits, count + 1);
    out->never = fsim_new(a, fsim_bits, count + 1);
    out->asked_path = fsim_new(a, fsim_bits, count + 1);
    out->separated = fsim_new(a, fsim_bits, count + 1);
    out->class = fsim_new(a, uint64_t, count + 1);
    out->near_class = fsim_new(a, uint64_t, count + 1);
    out->last_use = fsim_new(a, int, p->graph->tensors + 1);
    out->family = fsim_new(a, fsim_family *, count + 1);
    out->slots = 64;
    while (out->slots < count)
        out->slots *= 2;
    out->slot = fsim_new(a, fsim_family *, out->slots);
    link_producers(out, limits.wanted);
    find_clonable(out);
    find_paths(out);
    fsim_find_apart(out);
    find_near(out);
    const int *in_call = places_in_calls(out);
    for (int i = 0; i < count; i++) { /* no kernel reaches further than FSIM_BITS */
        out->class[i] = class_of_place(out, i, fsim_primitive_class(p->graph, node[i]), FSIM_BITS, in_call[i]);
        out->near_class[i] = class_of_place(out, i, fsim_primitive_class_anywhere(p->graph, node[i]), NEAR, in_call[i]);
    }
    if (limits.parted)
        fsim_find_beside(out);
    out->wide = limits.watched && !out->complete; /* without kernels of independent parts it may be complete */
}

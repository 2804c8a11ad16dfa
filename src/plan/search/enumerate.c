/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate.c: visits every legal partition once, as it is found. Groups are chosen in launch order. That order is a
 * function of the partition (plan/price/price.h), so a sequence that is in launch order belongs to exactly one
 * partition, and every partition has one. Memory does not grow with the number of partitions. */
#include "plan/price/deadline.h"
#include "plan/search/search.h"
#include "plan/search/space.h"

typedef struct {
    fsim_space space;
    fsim_arena *a;
    fsim_mask all;
    fsim_mask group[FSIM_SPACE_NODES];    /* chosen so far, in launch order */
    fsim_mask done[FSIM_SPACE_NODES + 1]; /* what has run before group i */
    fsim_mask used[FSIM_SPACE_NODES + 1]; /* the part of it that a group has read since, or its own group */
    int depth;
    int64_t emitted, limit;
    bool (*emit)(void *to, const fsim_plan *plan);
    void *to;
    bool truncated;
} listing;

/* Is there a primitive that has run, has not been read, and can't be read any more? Its later readers must not have
 * run, or must run again for another reader. */
static bool in_vain(const listing *x)
{
    const fsim_space *w = &x->space;
    const fsim_mask done = x->done[x->depth];
    fsim_mask to_come = ~done & x->all;
    for (int i = w->n; i-- > 0;)
        if ((w->clonable >> i & 1) && (w->succ[i] & to_come))
            to_come |= (fsim_mask)1 << i;
    for (fsim_mask idle = done & ~x->used[x->depth] & ~w->must; idle; idle &= idle - 1)
        if (!(w->succ[__builtin_ctzll(idle)] & to_come))
            return true;
    return false;
}

/* Is set s launched in canonical order? It was ready from the first step at which its producers had run, and every
 * group launched since must come before it in that order. */
static bool in_order(const listing *x, fsim_mask s)
{
    const fsim_mask awaited = fsim_awaited_by(&x->space, s);
    for (int i = x->depth; i-- > 0;) {
        if (awaited & ~x->done[i])
            return true;
        if (__builtin_clzll(s) > __builtin_clzll(x->group[i])) /* its last primitive is lower */
            return false;
    }
    return true;
}

/* Prices the chosen groups. False where they are no legal partition. */
static bool price_groups(listing *x, fsim_plan *out)
{
    fsim_partition parts = {x->depth, fsim_new(x->a, fsim_part, x->depth)};
    fsim_refusal why;
    for (int i = 0; i < x->depth; i++) {
        fsim_part *part = &parts.part[i];
        *part = (fsim_part){0, fsim_new(x->a, int, FSIM_SPACE_NODES), fsim_new(x->a, bool, FSIM_SPACE_NODES)};
        for (fsim_mask left = x->group[i]; left; left &= left - 1)
            part->node[part->count++] = __builtin_ctzll(left);
    }
    return fsim_price(x->space.p, &parts, x->a, out, &why);
}

/* All groups are chosen: emits the plan. False to end the enumeration. */
static bool finish(listing *x)
{
    const fsim_mark mark = fsim_save(x->a);
    fsim_plan plan;
    bool more = true;
    if (price_groups(x, &plan)) {
        x->truncated = x->limit > 0 && x->emitted == x->limit;
        more = !x->truncated && x->emit(x->to, &plan);
        x->emitted += !x->truncated;
    }
    fsim_rewind(x->a, mark);
    return more;
}

/* Launches s next, then everything that can follow it. False to end the enumeration. */
static bool choose(void *to, fsim_mask s)
{
    listing *x = to;
    const fsim_space *w = &x->space;
    const int depth = x->depth;
    const fsim_mask done = x->done[depth];
    if (fsim_late(w->p)) {
        x->truncated = true;
        return false;
    }
    if (!in_order(x, s))
        return true;
    x->group[depth] = s;
    x->done[depth + 1] = done | s;
    x->used[depth + 1] = x->used[depth] | fsim_producers_of(w, s);
    for (fsim_mask left = s & ~done; left; left &= left - 1)
        x->used[depth + 1] |= w->succ[__builtin_ctzll(left)] & s ? left & -left : 0;
    x->depth = depth + 1;
    bool more = true;
    if (x->done[x->depth] == x->all)
        more = in_vain(x) || finish(x);
    else if (!in_vain(x))
        more = fsim_each_ready_set(&x->space, x->done[x->depth], choose, x);
    x->depth = depth;
    return more;
}

int64_t fsim_enumerate(fsim_problem *p, int64_t limit, bool (*emit)(void *to, const fsim_plan *plan), void *to,
                       bool *truncated)
{
    const int n = p->graph->nodes;
    *truncated = false;
    if (n > FSIM_SPACE_NODES)
        return -1;
    fsim_arena *a = fsim_arena_new();
    listing *x = fsim_new(a, listing, 1);
    *x = (listing){
        .a = a, .all = n == 64 ? ~(fsim_mask)0 : ((fsim_mask)1 << n) - 1, .limit = limit, .emit = emit, .to = to};
    fsim_space_of(p, a, &x->space);
    fsim_each_ready_set(&x->space, 0, choose, x);
    *truncated = x->truncated || fsim_is_set(p->interrupted);
    const int64_t emitted = x->emitted;
    fsim_arena_free(a);
    return emitted;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate.c: every legal partition once, as a stream. Groups are chosen in launch order. That order is a function of the partition (search/price.h), so a
 * sequence that is in it belongs to one partition, and every partition has one. */
#include "search/search.h"
#include "search/space.h"

enum { MOST_SETS = 1 << 22 };

typedef struct {
    const fsim_space *w;
    fsim_arena *a;
    fsim_mask all, chosen[FSIM_SPACE_NODES], done[FSIM_SPACE_NODES + 1]; /* done[i]: what ran before chosen[i] */
    fsim_mask used[FSIM_SPACE_NODES + 1];  /* of those, what something in its group or a later group has read */
    fsim_mask after[FSIM_SPACE_NODES];     /* what depends on each primitive */
    int depth;
    int64_t emitted, limit;
    bool (*emit)(void *to, const fsim_plan *plan);
    void *to;
    bool stop, truncated;
} walk;

/* Would the canonical order launch s only now? It was ready from the first step at which its producers had run; all launched since come before it. */
static bool in_order(const walk *x, fsim_mask s, fsim_mask preds)
{
    for (int i = x->depth; i-- > 0;) {
        if (preds & ~x->done[i])
            return true;
        if (!fsim_list_before(x->chosen[i], s))
            return false;
    }
    return true;
}

/* A primitive that nothing has read, and that nothing still to run depends on, ran in vain. */
static bool in_vain(const walk *x)
{
    const fsim_mask done = x->done[x->depth];
    for (fsim_mask idle = done & ~x->used[x->depth] & ~x->w->must; idle; idle &= idle - 1)
        if (!(x->after[__builtin_ctzll(idle)] & ~done))
            return true;
    return false;
}

static void leaf(walk *x)
{
    const fsim_mark mark = fsim_save(x->a);
    fsim_partition parts = {x->depth, fsim_new(x->a, fsim_part, x->depth)};
    fsim_plan plan;
    fsim_refusal why;
    for (int i = 0; i < x->depth; i++) {
        parts.part[i].node = fsim_new(x->a, int, FSIM_SPACE_NODES);
        parts.part[i].clone = fsim_new(x->a, bool, FSIM_SPACE_NODES);
        parts.part[i].count = fsim_list_of(x->w, x->chosen[i], parts.part[i].node);
    }
    if (fsim_price(x->w->p, &parts, x->a, &plan, &why)) {
        if (x->limit > 0 && x->emitted == x->limit) {
            x->truncated = x->stop = true;
        } else {
            x->emitted++;
            x->stop = !x->emit(x->to, &plan);
        }
    }
    fsim_rewind(x->a, mark);
}

static void visit(walk *x)
{
    const fsim_mask done = x->done[x->depth];
    if (done == x->all) {
        leaf(x);
        return;
    }
    for (int i = fsim_next_set(x->w, 0, done); i < x->w->sets && !x->stop; i = fsim_next_set(x->w, i + 1, done)) {
        const fsim_mask s = x->w->set[i], again = s & done, preds = x->w->preds[i];
        if (x->w->p->interrupted && *x->w->p->interrupted)
            x->stop = x->truncated = true;
        if (s == again || (again & ~x->w->clonable))
            continue;
        if ((preds & ~done) || !in_order(x, s, preds))
            continue;
        fsim_mask used = x->used[x->depth] | preds;
        for (fsim_mask left = s & ~done; left; left &= left - 1)
            used |= x->w->succ[__builtin_ctzll(left)] & s ? left & -left : 0;
        x->chosen[x->depth++] = s;
        x->done[x->depth] = done | s;
        x->used[x->depth] = used;
        if (!in_vain(x))
            visit(x);
        x->depth--;
    }
}

int64_t fsim_enumerate(const fsim_problem *p, int64_t limit, bool (*emit)(void *to, const fsim_plan *plan), void *to, bool *truncated)
{
    const int n = p->graph->nodes;
    *truncated = false;
    if (n > FSIM_SPACE_NODES)
        return -1;
    fsim_arena *a = fsim_arena_new();
    fsim_space w;
    int node[FSIM_SPACE_NODES];
    for (int i = 0; i < n; i++)
        node[i] = i;
    fsim_space_of(p, node, n, MOST_SETS, a, &w);
    walk x = {.w = &w, .a = a, .all = n == 64 ? ~(fsim_mask)0 : ((fsim_mask)1 << n) - 1, .limit = limit, .emit = emit, .to = to};
    for (int i = n; i-- > 0;)
        for (fsim_mask left = w.succ[i]; left; left &= left - 1)
            x.after[i] |= (left & -left) | x.after[__builtin_ctzll(left)];
    visit(&x);
    fsim_arena_free(a);
    *truncated = x.truncated || !w.complete;
    return x.emitted;
}

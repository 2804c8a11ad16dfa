/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate.c: every legal partition once, as a stream. Groups are chosen in launch order. That order is a function of
 * the partition (plan/price/price.h), so a sequence that is in it belongs to one partition, and every partition has
 * one. */
#include "plan/search/search.h"
#include "plan/search/space.h"

enum { MOST_SETS = 1 << 22 };

typedef struct {
    fsim_walk at;
    fsim_arena *a;
    fsim_mask all;
    fsim_mask used[FSIM_SPACE_NODES + 1]; /* of what has run, what something in its group or a later group has read */
    fsim_mask after[FSIM_SPACE_NODES];    /* what depends on each primitive */
    int64_t emitted, limit;
    bool (*emit)(void *to, const fsim_plan *plan);
    void *to;
    bool stop, truncated;
} listing;

/* A primitive that nothing has read, and that nothing still to run depends on, ran in vain. */
static bool in_vain(const listing *x)
{
    const fsim_mask done = x->at.done[x->at.depth];
    for (fsim_mask idle = done & ~x->used[x->at.depth] & ~x->at.w->must; idle; idle &= idle - 1)
        if (!(x->after[__builtin_ctzll(idle)] & ~done))
            return true;
    return false;
}

static void leaf(listing *x)
{
    const fsim_mark mark = fsim_save(x->a);
    fsim_plan plan;
    if (fsim_price_walk(&x->at, x->a, &plan)) {
        if (x->limit > 0 && x->emitted == x->limit) {
            x->truncated = x->stop = true;
        } else {
            x->emitted++;
            x->stop = !x->emit(x->to, &plan);
        }
    }
    fsim_rewind(x->a, mark);
}

static void visit(listing *x)
{
    const fsim_space *w = x->at.w;
    const int depth = x->at.depth;
    const fsim_mask done = x->at.done[depth];
    if (done == x->all) {
        leaf(x);
        return;
    }
    for (int i = fsim_next_set(w, 0, done); i < w->sets && !x->stop; i = fsim_next_set(w, i + 1, done)) {
        const fsim_mask s = w->set[i], again = s & done, preds = w->preds[i];
        if (w->p->interrupted && *w->p->interrupted)
            x->stop = x->truncated = true;
        if (s == again || (again & ~w->clonable) || (preds & ~done) || !fsim_in_order(&x->at, i))
            continue;
        fsim_mask used = x->used[depth] | preds;
        for (fsim_mask left = s & ~done; left; left &= left - 1)
            used |= w->succ[__builtin_ctzll(left)] & s ? left & -left : 0;
        x->at.chosen[depth] = s;
        x->at.done[depth + 1] = done | s;
        x->used[depth + 1] = used;
        x->at.depth = depth + 1;
        if (!in_vain(x))
            visit(x);
        x->at.depth = depth;
    }
}

int64_t fsim_enumerate(const fsim_problem *p, int64_t limit, bool (*emit)(void *to, const fsim_plan *plan), void *to,
                       bool *truncated)
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
    listing x = {.at = {.w = &w},
                 .a = a,
                 .all = n == 64 ? ~(fsim_mask)0 : ((fsim_mask)1 << n) - 1,
                 .limit = limit,
                 .emit = emit,
                 .to = to};
    for (int i = n; i-- > 0;)
        for (fsim_mask left = w.succ[i]; left; left &= left - 1)
            x.after[i] |= (left & -left) | x.after[__builtin_ctzll(left)];
    visit(&x);
    fsim_arena_free(a);
    *truncated = x.truncated || !w.complete;
    return x.emitted;
}

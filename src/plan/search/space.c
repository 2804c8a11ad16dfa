/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/space.h"

#include "plan/price/user_rules.h"

enum {
    VERDICTS = 1 << 16,       /* answers kept in the cache */
    CANDIDATES_KEPT = 1 << 15 /* candidates in the problem's store before it is emptied */
};

typedef enum { NOT_ASKED, KERNEL, NO_KERNEL, NOR_ANY_LARGER } answer;

typedef struct fsim_known_set {
    fsim_mask set;
    answer answer;
} fsim_known_set;

static int lowest(fsim_mask m) { return __builtin_ctzll(m); }
static int highest(fsim_mask m) { return 63 - __builtin_clzll(m); }
static fsim_mask bit(int i) { return (fsim_mask)1 << i; }

fsim_mask fsim_producers_of(const fsim_space *w, fsim_mask s)
{
    fsim_mask all = 0;
    for (fsim_mask left = s; left; left &= left - 1)
        all |= w->pred[lowest(left)];
    return all & ~s;
}

fsim_mask fsim_awaited_by(const fsim_space *w, fsim_mask s)
{
    return fsim_producers_of(w, s) | (s & w->after ? w->before : 0);
}

/* The smallest set that contains s and that a kernel could be: a member that is computed once must not depend,
 * through primitives outside, on one that depends on it. */
static fsim_mask hull(const fsim_space *w, fsim_mask s)
{
    fsim_mask after = 0, before = 0;
    for (fsim_mask left = s; left; left &= left - 1) {
        const int i = lowest(left);
        before |= w->above[i];
        after |= w->clonable & bit(i) ? 0 : w->below[i];
    }
    return s | (after & before);
}

/* Can s be a kernel that stores as little as possible? If not, can a larger set? */
static answer ask(const fsim_space *w, fsim_mask s)
{
    int node[FSIM_SPACE_NODES], count = 0;
    bool stored[FSIM_SPACE_NODES];
    fsim_refusal why = {0};
    for (fsim_mask left = s; left; left &= left - 1) {
        const int n = lowest(left);
        const bool outside = (w->succ[n] & ~s) != 0, inside = (w->succ[n] & s) != 0;
        node[count] = n;
        stored[count++] =
            !inside || (((w->must & bit(n)) || outside) && !(w->clonable & bit(n))); /* a clone stores nothing */
    }
    fsim_store_trim(w->p, CANDIDATES_KEPT);
    const fsim_candidate *c = fsim_candidate_of(w->p, node, count, stored);
    if (!c->legal)
        return c->why.final ? NOR_ANY_LARGER : NO_KERNEL;
    return fsim_user_allows(w->p, node, count, &why) ? KERNEL : NO_KERNEL;
}

static answer answer_for(fsim_space *w, fsim_mask s)
{
    fsim_known_set *v = &w->verdict[(s * 0x9e3779b97f4a7c15u) >> 48];
    if (v->set != s)
        *v = (fsim_known_set){s, ask(w, s)};
    return v->answer;
}

/* The members of `all` that are connected with the lowest one inside `all`. */
static fsim_mask connected_with_lowest(const fsim_space *w, fsim_mask all)
{
    fsim_mask reached = all & -all, fresh = reached;
    while (fresh) {
        fsim_mask next = 0;
        for (fsim_mask left = fresh; left; left &= left - 1)
            next |= w->near[lowest(left)];
        fresh = next & all & ~reached;
        reached |= fresh;
    }
    return reached;
}

typedef struct {
    fsim_space *w;
    fsim_mask done, barred; /* barred: must not be in a set */
    bool copies;            /* visit only sets that contain something of `done`; otherwise only sets that do not */
    bool (*visit)(void *to, fsim_mask set);
    void *to;
} walk;

/* May primitive i join s, whose members are all lower, in a kernel that is launched after `done` has run? */
static bool may_join(const walk *x, fsim_mask s, int i)
{
    const fsim_space *w = x->w;
    const fsim_mask done = x->done;
    if ((bit(i) & w->after) && (w->before & ~done))
        return false;
    return !(bit(i) & x->barred) && !(w->pred[i] & ~(done | s)) && !(w->never_with[i] & s);
}

/* Could s become connected by adding members that are higher than all of s? */
static bool may_connect(const walk *x, fsim_mask s)
{
    const fsim_space *w = x->w;
    fsim_mask all = s;
    for (int i = highest(s) + 1; i < w->n; i++)
        if (!(bit(i) & x->barred) && !(w->pred[i] & ~(x->done | all)) && !(w->never_with[i] & s))
            all |= bit(i);
    return !(s & ~connected_with_lowest(w, all));
}

/* Visits s and all sets that begin with its members. Whatever a set still lacks, producers and primitives between
 * members, has lower numbers than the member that needs it. So a set that lacks something can't be completed by
 * adding higher members. */
static bool grow(const walk *x, fsim_mask s)
{
    fsim_space *w = x->w;
    if (fsim_is_set(w->p->interrupted))
        return false;
    if (connected_with_lowest(w, s) == s) {
        const answer is = answer_for(w, s);
        if (is == KERNEL && (s & ~x->done) && !(s & x->done) == !x->copies && !x->visit(x->to, s))
            return false;
        if (is == NOR_ANY_LARGER)
            return true;
    } else if (!may_connect(x, s)) {
        return true;
    }
    for (int i = highest(s) + 1; i < w->n; i++)
        if (may_join(x, s, i) && hull(w, s | bit(i)) == (s | bit(i)) && !grow(x, s | bit(i)))
            return false;
    return true;
}

bool fsim_each_ready_set(fsim_space *w, fsim_mask done, bool (*visit)(void *to, fsim_mask set), void *to)
{
    for (int copies = 0; copies <= ((done & w->clonable) != 0); copies++) {
        const walk x = {w, done, copies ? done & ~w->clonable : done, copies, visit, to};
        for (int i = 0; i < w->n; i++)
            if (may_join(&x, 0, i) && !grow(&x, bit(i)))
                return false;
    }
    return true;
}

static void link(fsim_space *w, int tensor)
{
    const fsim_tensor *t = &w->p->graph->tensor[tensor];
    fsim_mask readers = 0;
    for (int r = 0; r < t->readers; r++)
        readers |= bit(t->reader[r]);
    for (fsim_mask left = readers; left; left &= left - 1) {
        const int reader = lowest(left);
        w->near[reader] |= readers & ~bit(reader);
        if (t->producer >= 0) {
            w->near[reader] |= bit(t->producer);
            w->near[t->producer] |= bit(reader);
            w->pred[reader] |= bit(t->producer);
            w->succ[t->producer] |= bit(reader);
        }
    }
    if (t->producer >= 0 && (t->output || t->materialize))
        w->must |= bit(t->producer);
}

/* Can no kernel contain both, whatever else it contains? Not asked for operators that inline, which exclude nothing
 * by themselves. */
static bool never_together(fsim_space *w, int x, int y)
{
    const int pair[2] = {x, y};
    const fsim_node *node = w->p->graph->node;
    const fsim_class_row *a = &fsim_classes[fsim_ops[node[x].op].class], *b = &fsim_classes[fsim_ops[node[y].op].class];
    if (!a->boundary && !b->boundary && (a->inlines || b->inlines))
        return false;
    const fsim_candidate *c = fsim_candidate_of(w->p, pair, 2, (const bool[2]){true, true});
    return !c->legal && c->why.final;
}

void fsim_space_of(fsim_problem *p, fsim_arena *a, fsim_space *out)
{
    const fsim_graph *g = p->graph;
    *out = (fsim_space){.p = p, .n = g->nodes, .verdict = fsim_new(a, fsim_known_set, VERDICTS)};
    for (int t = 0; t < g->tensors; t++)
        link(out, t);
    for (int i = 0; i < g->nodes; i++) {
        out->must |= g->node[i].effect ? bit(i) : 0;
        out->before |= g->node[i].side == FSIM_BEFORE_BARRIER ? bit(i) : 0;
        out->after |= g->node[i].side == FSIM_AFTER_BARRIER ? bit(i) : 0;
        if (p->recompute && fsim_may_clone(p, i))
            out->clonable |= bit(i);
    }
    /* A clone is in the kernel of a reader. If i has one reader r only, a second copy of i is useful only for a
     * second copy of r. */
    for (int i = g->nodes; i-- > 0;) {
        const bool one_reader = !(out->succ[i] & (out->succ[i] - 1));
        if (!out->succ[i] || (!(out->must & bit(i)) && one_reader && !(out->succ[i] & out->clonable)))
            out->clonable &= ~bit(i);
    }
    for (int i = 0; i < g->nodes; i++) {
        for (fsim_mask left = out->pred[i]; left; left &= left - 1)
            out->above[i] |= out->above[lowest(left)] | bit(lowest(left));
        for (int k = 0; k < i; k++) {
            out->below[k] |= out->above[i] & bit(k) ? bit(i) : 0;
            if (never_together(out, k, i)) {
                out->never_with[i] |= bit(k);
                out->never_with[k] |= bit(i);
            }
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/space.h"

#include <stdlib.h>

static int lowest(fsim_mask m) { return __builtin_ctzll(m); }
static int highest(fsim_mask m) { return 63 - __builtin_clzll(m); }
static fsim_mask bit(int i) { return (fsim_mask)1 << i; }

bool fsim_list_before(fsim_mask x, fsim_mask y)
{
    const fsim_mask differ = x ^ y;
    if (differ == 0)
        return false;
    const int b = lowest(differ);
    const fsim_mask above = b == 63 ? 0 : ~(fsim_mask)0 << (b + 1);
    return x & bit(b) ? (y & above) != 0
                      : (x & above) == 0; /* the one with b comes first, unless the other ends here */
}

int fsim_list_of(const fsim_space *w, fsim_mask s, int *node)
{
    int n = 0;
    for (; s; s &= s - 1)
        node[n++] = w->node[lowest(s)];
    return n;
}

static fsim_mask preds_of(const fsim_space *w, fsim_mask s)
{
    fsim_mask all = 0;
    for (fsim_mask left = s; left; left &= left - 1)
        all |= w->pred[lowest(left)];
    return all & ~s;
}

static bool holds(const int *node, int count, int n)
{
    int low = 0, high = count - 1;
    while (low <= high) {
        const int mid = (low + high) / 2;
        if (node[mid] == n)
            return true;
        if (node[mid] < n)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return false;
}

bool fsim_user_allows(const fsim_problem *p, const int *node, int count, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    for (int s = 0; s < g->separates; s++) {
        int first = -1;
        for (int i = 0; i < g->separate[s].count; i++) {
            const int n = g->separate[s].node[i];
            if (!holds(node, count, n) || n == first)
                continue;
            if (first >= 0) {
                *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = first, .b = n, .through = -1};
                return false;
            }
            first = n;
        }
    }
    for (int s = 0; s < g->fuses; s++) {
        int in = -1, out = -1;
        for (int i = 0; i < g->fuse[s].count; i++)
            *(holds(node, count, g->fuse[s].node[i]) ? &in : &out) = g->fuse[s].node[i];
        if (in >= 0 && out >= 0) {
            *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = in, .b = out, .through = -1};
            return false;
        }
    }
    for (int i = 0; i < count; i++) /* what must reach memory is a boundary: nothing in its kernel reads it */
        for (int r = 0; r < g->node[node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[node[i]].result[r]];
            for (int k = 0; t->materialize && k < t->readers; k++)
                if (holds(node, count, t->reader[k])) {
                    *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = node[i], .b = t->reader[k], .through = -1};
                    return false;
                }
        }
    return true;
}

/* What every kernel that holds s holds too: a member that is computed once must not wait, through others, for what
 * waits for it. */
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

static bool holds_apart(const fsim_space *w, fsim_mask s)
{
    for (fsim_mask left = s; left; left &= left - 1)
        if (w->apart[lowest(left)] & s)
            return true;
    return false;
}

/* Is s a kernel when it stores as little as it can? final: nor can any set be that holds it. */
static bool kernel_at_least(fsim_space *w, fsim_mask s, bool *final)
{
    int node[FSIM_SPACE_NODES];
    bool stored[FSIM_SPACE_NODES];
    fsim_refusal why = {0};
    const int count = fsim_list_of(w, s, node);
    int i = 0;
    for (fsim_mask left = s; left; left &= left - 1, i++) {
        const int n = lowest(left);
        const bool outside = (w->succ[n] & ~s) != 0, inside = (w->succ[n] & s) != 0;
        stored[i] = !inside || (((w->must & bit(n)) || outside) && !(w->clonable & bit(n))); /* a copy stores nothing */
    }
    const fsim_candidate *c = fsim_candidate_of(w->p, node, count, stored);
    *final = !c->legal && c->why.final;
    if (!c->legal || !fsim_user_allows(w->p, node, count, &why))
        return false;
    return hull(w, s) == s;
}

/* Connected sets with lowest member `root`, each once: what was passed over stays out. */
static void grow(fsim_space *w, fsim_mask s, fsim_mask fringe, fsim_mask barred, int64_t most, fsim_arena *a)
{
    bool final;
    const fsim_mask all = hull(w, s);
    if ((all & barred & ~s) || holds_apart(w, all))
        return;
    if (++w->looked_at > most || (w->p->interrupted && *w->p->interrupted)) {
        w->complete = false;
        return;
    }
    if (kernel_at_least(w, s, &final))
        *FSIM_PUSH(a, w->set, w->sets, w->room) = s;
    else if (final)
        return;
    for (fsim_mask left = fringe & ~barred; left && w->complete; left &= left - 1) {
        const int u = lowest(left);
        grow(w, s | bit(u), (fringe | w->near[u]) & ~(s | bit(u)), barred, most, a);
        barred |= bit(u);
    }
}

static int by_list(const void *x, const void *y)
{
    const fsim_mask a = *(const fsim_mask *)x, b = *(const fsim_mask *)y;
    return a == b ? 0 : fsim_list_before(a, b) ? -1 : 1;
}

void fsim_space_of(const fsim_problem *p, const int *node, int count, int64_t most, fsim_arena *a, fsim_space *out)
{
    const fsim_graph *g = p->graph;
    int *local = fsim_new(a, int, g->nodes + 1);
    *out = (fsim_space){.p = p, .n = count, .complete = true};
    for (int i = 0; i < g->nodes; i++)
        local[i] = -1;
    for (int i = 0; i < count; i++) {
        out->node[i] = node[i];
        local[node[i]] = i;
    }
    for (int t = 0; t < g->tensors; t++) {
        const int from = g->tensor[t].producer >= 0 ? local[g->tensor[t].producer] : -1;
        fsim_mask readers = 0;
        bool outside = false;
        for (int r = 0; r < g->tensor[t].readers; r++) {
            const int reader = local[g->tensor[t].reader[r]];
            readers |= reader >= 0 ? bit(reader) : 0;
            outside = outside || reader < 0;
        }
        for (fsim_mask left = readers; left; left &= left - 1) {
            const int reader = lowest(left);
            out->near[reader] |= readers & ~bit(reader);
            if (from >= 0) {
                out->near[reader] |= bit(from);
                out->near[from] |= bit(reader);
                out->pred[reader] |= bit(from);
                out->succ[from] |= bit(reader);
            }
        }
        if (from >= 0 && (outside || g->tensor[t].output || g->tensor[t].materialize))
            out->must |= bit(from);
    }
    for (int i = 0; i < count; i++) {
        out->must |= g->node[node[i]].effect ? bit(i) : 0;
        if (p->recompute && fsim_may_clone(p, node[i]))
            out->clonable |= bit(i);
    }
    /* A copy has a reader beside it. With one reader r, a second copy of i serves only a second copy of r: where that
     * makes no sense, neither does this. */
    for (int i = count; i-- > 0;) {
        const bool one_reader = !(out->succ[i] & (out->succ[i] - 1));
        if (!out->succ[i] || (!(out->must & bit(i)) && one_reader && !(out->succ[i] & out->clonable)))
            out->clonable &= ~bit(i);
    }
    for (int i = 0; i < count; i++)
        for (fsim_mask left = out->pred[i]; left; left &= left - 1)
            out->above[i] |= out->above[lowest(left)] | bit(lowest(left));
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++) {
            const int pair[2] = {node[k], node[i]};
            const fsim_class_row *x = &fsim_classes[fsim_ops[g->node[pair[0]].op].class],
                                 *y = &fsim_classes[fsim_ops[g->node[pair[1]].op].class];
            out->below[k] |= out->above[i] & bit(k) ? bit(i) : 0;
            if (!x->boundary && !y->boundary && (x->inlines || y->inlines))
                continue; /* what is computed where it is wanted bars nothing by itself */
            const fsim_candidate *c = fsim_candidate_of(p, pair, 2, (const bool[2]){true, true});
            if (!c->legal && c->why.final) {
                out->apart[i] |= bit(k);
                out->apart[k] |= bit(i);
            }
        }
    for (int i = 0; i < count && out->complete; i++) {
        const fsim_mask below = bit(i) | (bit(i) - 1);
        grow(out, bit(i), out->near[i] & ~below, below, most, a);
    }
    if (out->sets > 0)
        qsort(out->set, (size_t)out->sets, sizeof *out->set, by_list);
    out->preds = fsim_new(a, fsim_mask, out->sets + 1);
    for (int s = 0; s < out->sets; s++)
        out->preds[s] = preds_of(out, out->set[s]);
    for (int i = 0, at = 0; i <= count; i++) { /* members that are the lowest of no set: an empty range */
        const bool some = at < out->sets && i < count && lowest(out->set[at]) == i;
        out->first[i] = at;
        while (some && at < out->sets && lowest(out->set[at]) == i)
            at++;
    }
}

int fsim_next_set(const fsim_space *w, int at, fsim_mask done)
{
    while (at < w->sets) {
        const int low = lowest(w->set[at]);
        const bool open = done & bit(low) ? (w->clonable & bit(low)) != 0 : (w->pred[low] & ~done) == 0;
        if (open)
            return at;
        at = w->first[low + 1];
    }
    return at;
}

bool fsim_in_order(const fsim_walk *x, int at)
{
    const fsim_mask s = x->w->set[at];
    for (int i = x->depth; i-- > 0;) {
        if (x->w->preds[at] & ~x->done[i])
            return true;
        if (highest(s) < highest(x->chosen[i]))
            return false;
    }
    return true;
}

fsim_part fsim_part_of(const fsim_space *w, fsim_mask s, fsim_arena *a)
{
    fsim_part part = {.node = fsim_new(a, int, FSIM_SPACE_NODES), .clone = fsim_new(a, bool, FSIM_SPACE_NODES)};
    part.count = fsim_list_of(w, s, part.node);
    return part;
}

bool fsim_price_walk(const fsim_walk *x, fsim_arena *a, fsim_plan *out)
{
    fsim_partition parts = {x->depth, fsim_new(a, fsim_part, x->depth)};
    fsim_refusal why;
    for (int i = 0; i < x->depth; i++)
        parts.part[i] = fsim_part_of(x->w, x->chosen[i], a);
    return fsim_price(x->w->p, &parts, a, out, &why);
}

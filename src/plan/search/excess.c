/* SPDX-License-Identifier: Apache-2.0 */
/* excess.c: the search with the real contents of L2, from the last border to the first, and then from the start.
 *
 * The search from a border begins at all fronts that cross it, with contents of L2 as good as any. The bounds behind
 * the next border prune it, so its effort does not grow with the number of layers. */
#include "plan/price/progress.h"
#include "plan/search/labels.h"

enum {
    MOST_LABELS = 1024, /* of one front */
    FEW_LABELS = 8,
    BORDER_SHARES = 2, /* the search from a border may take this part of what is left of the budget */
    WIDER = 2,         /* times as far beyond the bound, each time, may the searches from the start go */
    NARROWED = 3,      /* so often they go less far, where too many labels were in the way */
    PLAN_SHARES = 16   /* what is kept back for a plan without proof */
};

/* Searches from border j, or from the start where j is -1, for totals below limit, with at most so many labels of a
 * front. From a border, a total is what is spent beyond the relaxed cost. The search's arena is a child of f's. */
static l2_search search_from(fsim_frontier *f, int j, fsim_sum limit, int most, const fsim_budget *budget)
{
    l2_search w = {.f = f,
                   .budget = budget,
                   .a = fsim_arena_child(f->a),
                   .limit = limit,
                   .lost = FSIM_NEVER,
                   .most = most,
                   .capacity = fsim_l2_effective(f->p->hw)};
    const int size = j < 0 ? 0 : f->border[j];
    if (j < 0)
        fsim_start_label(&w);
    for (int z = size; j >= 0 && z < size + FSIM_BITS && z <= f->l.count; z++)
        for (int i = f->front_by_size[z]; i; i = f->front[i - 1].sibling)
            if (fsim_crosses(f, i - 1, size))
                fsim_start_ideal(&w, i - 1);
    fsim_search_labels(&w, size);
    return w;
}

/* What is proven of all totals below the search's limit: the least, exact where nothing was left out. */
static fsim_sum least_found(const l2_search *w)
{
    return fsim_sum_least(w->best >= 0 ? w->label[w->best].spent : w->limit, w->lost);
}

/* Does the excess of all borders of the run before j, which the search from j has found, rise as it does from j + 1 to
 * j? That is so where a layer behind j, up to border z, repeats the one before it: see layers.c. */
static void notice_repetition(const l2_search *w, int j)
{
    fsim_frontier *f = w->f;
    fsim_arena *scratch = fsim_arena_new();
    for (int z = f->run_last; z >= j + 2 && f->repeat.z == 0; z--) {
        fsim_repeat r = {.a = j, .z = z, .more = f->excess[z - 1] - f->excess[z]};
        int *pairs;
        bool even = w->best >= 0 && w->lost > w->label[w->best].spent &&
                    w->label[w->best].spent == f->excess[j + 1] + r.more &&
                    fsim_same_families(f, f->border[j] - f->looked_back, f->border[z - 1] + f->looked_ahead);
        for (int k = j + 1; k < z && even; k++)
            even = f->excess[k] - f->excess[k + 1] == r.more;
        if (even && fsim_same_bounds(f, z - 1, &r.less) &&
            fsim_same_labels(w, z - 1, r.less + r.more, &pairs, scratch) > 0)
            f->repeat = r;
    }
    fsim_arena_free(scratch);
}

/* The excess of border j from that of the next, where equal layers are known to repeat. */
static bool repeated_excess(fsim_frontier *f, int j)
{
    const fsim_run *run = f->run;
    if (f->repeat.z == 0 || j < f->run_first || f->border[j] - f->looked_back < run->first + run->lead ||
        !fsim_same_families(f, f->border[j] - f->looked_back, f->border[j + 1] + f->looked_ahead))
        return false;
    fsim_learn_excess(f, j, f->excess[j + 1] + f->repeat.more);
    return true;
}

/* Finds the excess of border j. *raise: what the border before it added, a guess for this one. */
static void find_excess(fsim_frontier *f, int j, fsim_sum most, const fsim_budget *budget, fsim_sum *raise)
{
    const fsim_sum ahead = j + 1 < f->borders ? f->excess[j + 1] : 0, finest = most / 1000 + 1;
    fsim_spent spent;
    fsim_sum limit, least, known = ahead, more = *raise + 1;
    bool in_time;
    const fsim_budget own = fsim_budget_share(budget, f->p, BORDER_SHARES, &spent);
    do {
        limit = fsim_sum_least(ahead + more, most);
        l2_search w = search_from(f, j, limit, MOST_LABELS, &own);
        least = least_found(&w);
        in_time = w.in_time;
        if (f->run && in_time && j >= f->run_first && j <= f->run_last)
            notice_repetition(&w, j);
        fsim_arena_free(w.a);
        known = in_time && least > known ? least : known;
        more += more / 2 + finest;
    } while (in_time && least >= limit && limit < most);
    fsim_learn_excess(f, j, known);
    *raise = known > ahead ? known - ahead : 0;
}

static void find_excesses(fsim_frontier *f, fsim_sum most, const fsim_budget *budget)
{
    fsim_sum raise = 0;
    fsim_choose_borders(f);
    for (int j = f->borders; j-- > 0;) {
        if (f->p->progress)
            fsim_progress_open(f->p, fsim_printf(f->a, "before '%s'", fsim_node_of(f, f->border[j] - 1)->name));
        if (!repeated_excess(f, j))
            find_excess(f, j, most, budget, &raise);
    }
    fsim_progress_open(f->p, NULL);
}

static bool has(const fsim_part *part, int node)
{
    for (int i = 0; i < part->count; i++)
        if (part->node[i] == node)
            return true;
    return false;
}

/* Does a kernel other than part k need what primitive n of part k stores? */
static bool is_read_elsewhere(const fsim_graph *g, const fsim_partition *of, int k, int n)
{
    bool read = g->node[n].effect;
    for (int r = 0; r < g->node[n].results; r++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[r]];
        read = read || t->output || t->materialize;
        for (int i = 0; i < t->readers; i++)
            for (int j = 0; j < of->parts && !read; j++)
                read = j != k && has(&of->part[j], t->reader[i]) && !has(&of->part[j], n);
    }
    return read;
}

/* The copy of primitive n in another part than k; NULL: there is none. */
static bool *copy_elsewhere(const fsim_partition *of, int k, int n)
{
    for (int j = 0; j < of->parts; j++)
        for (int i = 0; i < of->part[j].count && j != k; i++)
            if (of->part[j].node[i] == n)
                return &of->part[j].clone[i];
    return NULL;
}

/* A kernel all of whose results are computed again wherever they are needed costs nothing where bytes count and L2
 * has what it touches. It is no kernel: one of the copies is in its place. */
static void leave_out_unread(const fsim_graph *g, fsim_partition *of)
{
    for (int k = of->parts; k-- > 0;) {
        const fsim_part *part = &of->part[k];
        bool unread = true;
        for (int i = 0; i < part->count && unread; i++)
            unread =
                !part->clone[i] && !is_read_elsewhere(g, of, k, part->node[i]) && copy_elsewhere(of, k, part->node[i]);
        for (int i = 0; i < part->count && unread; i++)
            *copy_elsewhere(of, k, part->node[i]) = false;
        if (unread)
            of->part[k] = of->part[--of->parts];
    }
}

static void keep_plan(const l2_search *w, fsim_partition *out, fsim_arena *a)
{
    out->parts = 0;
    for (int at = w->best; w->label[at].by; at = w->label[at].parent)
        out->part[out->parts++] =
            fsim_part_at(w->f, w->label[at].by->root, w->label[at].by->set->own, w->label[at].copies, a);
    if (w->f->p->objective == FSIM_MINIMISE_BYTES)
        leave_out_unread(w->f->p->graph, out);
}

/* Searches from the start. *limit becomes the cost of the best plan below it, which is stored in *out. A lower bound
 * of all plans below the limit; 0 where the budget ended. */
static fsim_sum search_within(fsim_frontier *f, fsim_sum *limit, int most, const fsim_budget *budget,
                              fsim_partition *out, fsim_arena *a)
{
    l2_search w = search_from(f, -1, *limit, most, budget);
    const fsim_sum least = w.in_time ? least_found(&w) : 0;
    if (w.best >= 0) {
        f->unreal = w.label[w.best].unreal;
        keep_plan(&w, out, a);
        *limit = w.label[w.best].spent;
    }
    if (f->repeat.z > 0 && w.best >= 0 && least == *limit) {
        f->proof = fsim_new(f->a, l2_search, 1);
        *f->proof = w;
    } else {
        fsim_arena_free(w.a);
    }
    return least;
}

/* The cost of the plan that few labels find below the limit; the limit where they find none. Who searches for what is
 * no costlier finds what searches with higher limits do. */
static fsim_sum found_with_few(fsim_frontier *f, fsim_sum limit, const fsim_budget *budget)
{
    const l2_search w = search_from(f, -1, limit, FEW_LABELS, budget);
    const fsim_sum found = w.best >= 0 ? w.label[w.best].spent : limit;
    fsim_arena_free(w.a);
    return found;
}

/* The least cost of a plan below `known`, in *out; `known` where there is none. *bound: a lower bound of all plans. */
static fsim_sum search_with_l2(fsim_frontier *f, fsim_sum known, const fsim_budget *budget, fsim_partition *out,
                               fsim_sum *bound, fsim_arena *a)
{
    fsim_sum best = known;
    if (f->p->objective == FSIM_MINIMISE_BYTES) { /* very many plans move as few bytes: the first one found may do */
        const fsim_sum least = search_within(f, &best, FEW_LABELS, budget, out, a);
        *bound = least > *bound ? least : *bound;
        if (*bound >= best)
            return best;
    }
    if (fsim_frontier_complete(f))
        find_excesses(f, known - *bound, budget);
    const fsim_sum least = fsim_least_after(f, -1, 0);
    *bound = least > *bound ? least : *bound;
    fsim_sum room = (best - *bound) / 1000 + 1;
    fsim_spent spent;
    const fsim_budget own = fsim_budget_but_share(budget, f->p, PLAN_SHARES, &spent);
    const fsim_sum enough = *bound < best ? found_with_few(f, best, &own) + 1 : best;
    int narrowed = 0;
    for (bool going = *bound < best; going;) {
        const fsim_sum tried = fsim_sum_least(fsim_sum_least(best, enough), *bound + room);
        fsim_sum limit = tried;
        const fsim_sum below = search_within(f, &limit, MOST_LABELS, &own, out, a);
        best = fsim_sum_least(best, limit < tried ? limit : best);
        const bool crowded = below < limit; /* labels were left out */
        narrowed += crowded;
        room = crowded ? (tried - *bound) / (WIDER * WIDER) + 1 : room * WIDER;
        going = below > *bound && below < best && narrowed <= NARROWED;
        *bound = below > *bound ? below : *bound;
    }
    if (*bound < best) /* few labels find a good plan soon, but prove nothing */
        search_within(f, &best, FEW_LABELS, budget, out, a);
    return best;
}

/* Does the plan that was found cost what the search says, though a copy in it reads what its kernel need not have
 * stored? A store that L2 takes may cost nothing. */
static bool costs_no_more(const fsim_frontier *f, const fsim_partition *plan, fsim_sum said)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_plan priced;
    fsim_refusal why;
    const bool all = f->l.count == f->p->graph->nodes,
               no_more = all && fsim_price(f->p, plan, scratch, &priced, &why) && priced.objective <= said;
    fsim_arena_free(scratch);
    return no_more;
}

bool fsim_frontier_with_l2(fsim_frontier *f, fsim_sum known, const fsim_budget *budget, fsim_partition *out,
                           fsim_sum *bound, fsim_arena *a)
{
    f->budget = *budget; /* states that were cut off are searched on; the budget before may be gone */
    *bound = fsim_frontier_bound(f);
    if (f->last < 0 || f->haste || *bound >= known)
        return false;
    fsim_sum best = search_with_l2(f, known, budget, out, bound, a);
    if (best < known && f->unreal && !f->exact && !costs_no_more(f, out, best)) {
        f->exact = true;
        f->repeat = (fsim_repeat){0};
        f->proof = NULL;
        for (int i = 0; i < f->states; i++)
            f->state[i].ahead = -1;
        out->parts = 0;
        fsim_sum again = fsim_frontier_bound(f);
        best = search_with_l2(f, known, budget, out, &again, a);
        *bound = again > *bound ? again : *bound;
    }
    return best < known;
}

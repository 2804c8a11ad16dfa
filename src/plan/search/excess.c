/* SPDX-License-Identifier: Apache-2.0 */
/* excess.c: the search with the real contents of L2, from the last border to the first, and then from the start.
 *
 * The search from a border begins at all fronts that cross it, with contents of L2 as good as any. The bounds behind
 * the next border prune it, so its effort does not grow with the number of layers. */
#include "plan/search/labels.h"

enum {
    MOST_LABELS = 4096, /* of one front */
    FEW_LABELS = 8,
    SHARES = 8 /* a border may take this part of the steps that are left */
};

static fsim_sum least_of(fsim_sum x, fsim_sum y) { return x < y ? x : y; }

static l2_search search_of(fsim_frontier *f, const fsim_budget *budget, fsim_sum limit, int most)
{
    return (l2_search){.f = f,
                       .budget = budget,
                       .a = fsim_arena_new(),
                       .limit = limit,
                       .lost = FSIM_NEVER,
                       .most = most,
                       .capacity = fsim_l2_effective(f->p->hw)};
}

/* Searches from border j; only totals below limit are of interest. A lower bound, exact where it is below limit. */
static fsim_sum excess_within(fsim_frontier *f, int j, fsim_sum limit, const fsim_budget *budget, bool *in_time)
{
    l2_search w = search_of(f, budget, limit, MOST_LABELS);
    const int size = f->border[j];
    for (int z = size; z < size + FSIM_BITS && z <= f->l.count; z++)
        for (int i = f->front_by_size[z]; i; i = f->front[i - 1].sibling)
            if (fsim_crosses(f, i - 1, size))
                fsim_start_ideal(&w, i - 1);
    const int best = fsim_search_labels(&w, size, in_time);
    const fsim_sum found = best >= 0 ? w.label[best].spent : limit;
    fsim_arena_free(w.a);
    return least_of(found, w.lost);
}

/* Finds the excess of border j. *raise: what the border before it added, a guess for this one. */
static void find_excess(fsim_frontier *f, int j, fsim_sum most, const fsim_budget *budget, fsim_sum *raise)
{
    const fsim_sum ahead = j + 1 < f->borders ? f->excess[j + 1] : 0, finest = most / 1000 + 1;
    fsim_spent spent;
    fsim_sum limit, least, known = ahead, more = *raise + 1;
    bool in_time = true;
    const fsim_budget own = fsim_budget_share(budget, f->p, SHARES, &spent);
    do {
        limit = least_of(ahead + more, most);
        least = excess_within(f, j, limit, &own, &in_time);
        known = in_time && least > known ? least : known;
        more += more / 2 + finest;
    } while (in_time && least >= limit && limit < most);
    fsim_learn_excess(f, j, known);
    *raise = known > ahead ? known - ahead : 0;
}

static void keep_plan(const l2_search *w, int best, fsim_partition *out, fsim_arena *a)
{
    out->parts = 0;
    for (int at = best; w->label[at].by; at = w->label[at].parent)
        out->part[out->parts++] =
            fsim_part_at(w->f, w->label[at].by->root, w->label[at].by->set->own, w->label[at].copies, a);
}

/* Searches from the start. *limit becomes the cost of the best plan below it, which is stored in *out. A lower bound
 * of all plans below the limit; 0 where the budget ended. */
static fsim_sum search_within(fsim_frontier *f, fsim_sum *limit, int most, const fsim_budget *budget,
                              fsim_partition *out, fsim_arena *a)
{
    bool in_time = true;
    l2_search w = search_of(f, budget, *limit, most);
    fsim_start_label(&w);
    const int best = fsim_search_labels(&w, 0, &in_time);
    if (best >= 0) {
        keep_plan(&w, best, out, a);
        *limit = w.label[best].spent;
    }
    fsim_arena_free(w.a);
    return in_time ? least_of(*limit, w.lost) : 0;
}

bool fsim_frontier_with_l2(fsim_frontier *f, fsim_sum known, const fsim_budget *budget, fsim_partition *out,
                           fsim_sum *bound, fsim_arena *a)
{
    *bound = fsim_frontier_bound(f);
    if (f->last < 0 || f->haste || *bound >= known)
        return false;
    fsim_sum raise = 0;
    fsim_run run;
    const bool layers = fsim_find_run(&f->l, f->a, &run);
    if (fsim_frontier_complete(f))
        fsim_choose_borders(f, layers ? &run : NULL);
    for (int j = f->borders; j-- > 0;)
        find_excess(f, j, known - *bound, budget, &raise);
    const fsim_sum least = fsim_least_after(f, -1, 0);
    *bound = least > *bound ? least : *bound;
    fsim_sum best = known, room = (known - *bound) / 1000 + 1;
    bool going = *bound < best;
    if (going)
        search_within(f, &best, FEW_LABELS, budget, out, a);
    while (going) {
        const fsim_sum tried = least_of(best, *bound + room);
        fsim_sum limit = tried;
        const fsim_sum below = search_within(f, &limit, MOST_LABELS, budget, out, a);
        best = least_of(best, limit < tried ? limit : best);
        going = below > *bound && below < best && limit == tried;
        *bound = below > *bound ? below : *bound;
        room *= 2;
    }
    return best < known;
}

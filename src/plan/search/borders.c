/* SPDX-License-Identifier: Apache-2.0 */
/* borders.c: bounds of the rest of a plan that know what real contents of L2 cost behind a border.
 *
 * A border is a number of primitives that have run. A plan crosses it with one kernel. Behind it a plan spends at least
 * the relaxed cost from the front where it arrives, in the state in which everything was stored, plus the border's
 * excess: what is spent beyond that from any front, with the best contents of L2 that a plan could have there. Between
 * borders, the bound of a state is the least over its steps. */
#include "plan/search/states.h"

enum { SPACING = 32 }; /* primitives between borders, about */

/* The first border, of those with a known excess, that a plan with `ran` primitives run has still to cross; f->borders
 * where there is none. */
static int next_border(const fsim_frontier *f, int ran)
{
    int low = f->known, high = f->borders;
    while (low < high) {
        const int mid = (low + high) / 2;
        if (f->border[mid] > ran)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

int fsim_all_stored(fsim_frontier *f, int at)
{
    state all = f->state[at];
    all.dropped = all.behind = all.owed = (fsim_bits){{0}};
    all.passed = all.behind_base = 0;
    all.lifted = false;
    fsim_settle_state(&all);
    return fsim_state_of(f, &all);
}

fsim_sum fsim_front_to_go(fsim_frontier *f, int where)
{
    if (f->front[where].to_go < 0) {
        const fsim_sum least = fsim_least_to_go(f, fsim_all_stored(f, f->front[where].first - 1));
        f->front[where].to_go = least;
    }
    return f->front[where].to_go;
}

static fsim_sum least_ahead(fsim_frontier *f, int at);

fsim_sum fsim_least_after(fsim_frontier *f, int before, int to)
{
    if (f->known == f->borders) /* no excess is known */
        return fsim_least_to_go(f, to);
    const int i = next_border(f, before);
    const fsim_sum least = fsim_sum_most(least_ahead(f, to), fsim_least_to_go(f, to));
    if (before < 0 || i == f->borders || f->state[to].ran < f->border[i])
        return least;
    return fsim_sum_most(least, fsim_front_to_go(f, f->state[to].front) + f->excess[i]);
}

static fsim_sum least_of_steps(fsim_frontier *f, int at)
{
    fsim_sum least = f->state[at].cut ? fsim_unavoidable(f, &f->state[at]) : FSIM_NEVER;
    for (int k = f->state[at].first, end = k + f->state[at].steps; k < end; k++) {
        const fsim_sum rest = fsim_least_after(f, f->state[at].ran, f->step[k].to), cost = f->step[k].cost;
        least = cost + rest < least ? cost + rest : least;
    }
    return least;
}

/* For a state that was not expanded: the bound of one that stores more. */
static fsim_sum least_ahead(fsim_frontier *f, int at)
{
    fsim_sum most = -1;
    if (next_border(f, f->state[at].ran) == f->borders)
        return fsim_least_to_go(f, at);
    if (f->state[at].ahead >= 0)
        return f->state[at].ahead;
    if (!f->state[at].expanded) {
        for (int i = f->front[f->state[at].front].first; i; i = f->state[i - 1].peer)
            if (f->state[i - 1].expanded && fsim_stores_more(&f->state[i - 1], &f->state[at]))
                most = fsim_sum_most(most, least_ahead(f, i - 1));
        const int all = most < 0 ? fsim_all_stored(f, at) : at;
        if (all != at)
            most = least_ahead(f, all);
        else if (most < 0)
            fsim_expand(f, at);
    }
    most = most >= 0 ? most : least_of_steps(f, at);
    return f->state[at].ahead = most;
}

bool fsim_crosses(const fsim_frontier *f, int where, int size)
{
    return f->front[where].from < size && f->front[where].ran >= size;
}

void fsim_learn_excess(fsim_frontier *f, int j, fsim_sum excess)
{
    f->excess[j] = excess;
    f->known = j;
    const int from = j > 0 ? f->border[j - 1] - FSIM_BITS : 0;
    for (int size = from > 0 ? from : 0; size < f->border[j]; size++)
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling)
            f->state[i - 1].ahead = -1;
}

/* Per size: the number of fronts that cross it. */
static int *crossings(const fsim_frontier *f)
{
    int *many = fsim_new(f->a, int, f->l.count + 2);
    for (int i = 0; i < f->fronts; i++)
        if (f->front[i].from < f->front[i].ran) {
            many[f->front[i].from + 1]++;
            many[f->front[i].ran + 1]--;
        }
    for (int z = 1; z <= f->l.count; z++)
        many[z] += many[z - 1];
    return many;
}

static int narrowest(const int *many, int from, int to)
{
    int best = from;
    for (int z = from; z < to; z++)
        best = many[z] <= many[best] ? z : best;
    return best;
}

/* Between two sizes, not including them. */
static void borders_between(fsim_frontier *f, const int *many, int from, int to)
{
    while (to - from > 2 * SPACING)
        f->border[f->borders++] = from = narrowest(many, from + SPACING / 2, from + SPACING + SPACING / 2);
}

bool fsim_same_families(fsim_frontier *f, int from, int to)
{
    const fsim_run *run = f->run;
    if (from < run->first + run->lead || to + run->period > run->end)
        return false;
    for (int root = from; root < to; root++)
        if (fsim_family_of(&f->l, root) != fsim_family_of(&f->l, root + run->period))
            return false;
    return true;
}

int fsim_border_period(const fsim_run *run) { return run->period * ((SPACING + run->period - 1) / run->period); }

void fsim_choose_borders(fsim_frontier *f)
{
    const fsim_run *run = f->run;
    const int *many = crossings(f), period = run ? fsim_border_period(run) : 0;
    f->border = fsim_new(f->a, int, f->l.count + 1);
    f->excess = fsim_new(f->a, fsim_sum, f->l.count + 1);
    f->borders = 0;
    f->run_last = -1;
    int at = 0;
    if (run && run->end - run->first >= 2 * period) {
        const int middle = run->first + (run->end - run->first) / period / 2 * period,
                  most = middle + period < f->l.count ? middle + period : f->l.count, z = narrowest(many, middle, most);
        int first = z - (z - run->first) / period * period;
        first += first == 0 ? period : 0;
        borders_between(f, many, 0, first);
        f->run_first = f->borders;
        for (at = first; at < run->end && at < f->l.count; at += period)
            f->border[f->borders++] = at;
        f->run_last = f->borders - 1;
        at -= period;
    }
    borders_between(f, many, at, f->l.count);
    f->known = f->borders;
}

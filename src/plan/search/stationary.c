/* SPDX-License-Identifier: Apache-2.0 */
/* stationary.c: do the borders of equal layers look alike to the search?
 *
 * Labels, fronts and bounds at one border are compared with those at the next, a period later. Where all are equal but
 * for a constant, the layer between the two borders turns the one into the other, and would do so again and again: a
 * graph with more such layers has the same plan with that layer repeated, and its bounds grow by the constant. */
#include "plan/search/labels.h"
#include "plan/search/places.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CROSSING = 1 << 14 }; /* labels of a border that are compared */

/* Fields of a label, relative to the border. */
static uint64_t hash_of(const l2_search *w, const label *x, int k)
{
    const fsim_frontier *f = w->f;
    const state *s = &f->state[x->state];
    const int size = f->border[k];
    uint64_t h = fsim_mix(fsim_mix((uint64_t)(s->base - size), (uint64_t)(s->ran - size)),
                          (uint64_t)(s->passed > 0) | (uint64_t)s->lifted << 1);
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        h = fsim_mix(fsim_mix(fsim_mix(fsim_mix(h, s->done.w[i]), s->dropped.w[i]), s->behind.w[i]), s->owed.w[i]);
    for (int i = 0; i < FSIM_BITS_WORDS && f->exact; i++)
        h = fsim_mix(h, x->unstored.w[i]);
    for (int i = 0; i < x->count; i++) {
        const resident *r = &w->resident[x->first + i];
        uint64_t age;
        memcpy(&age, &r->age, sizeof age);
        h = fsim_mix(fsim_mix(h, (uint64_t)f->run->orbit[r->tensor]), age);
        h = fsim_mix(fsim_mix(h, r->by ? r->hit : 1), r->by ? r->absorbed ^ r->bit << 1 : 1);
    }
    return h;
}

typedef struct {
    uint64_t hash;
    int label;
} crossing;

static int by_hash(const void *a, const void *b)
{
    const crossing *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->label - y->label;
}

/* The labels that cross border k and may lead to a plan below the limit, by their hash. -1: too many. */
static int labels_crossing(const l2_search *w, int k, crossing *out)
{
    fsim_frontier *f = w->f;
    int count = 0;
    for (int i = 0; i < w->labels; i++) {
        const label *x = &w->label[i];
        if (x->dominated || x->parent < 0 || f->state[x->state].ran < f->border[k] ||
            f->state[w->label[x->parent].state].ran >= f->border[k])
            continue;
        const fsim_sum relaxed = fsim_least_to_go(f, x->state),
                       real = fsim_front_to_go(f, f->state[x->state].front) + f->excess[k];
        if (x->spent + (relaxed > real ? relaxed : real) >= w->limit)
            continue;
        if (count == MOST_CROSSING)
            return -1;
        out[count++] = (crossing){hash_of(w, x, k), i};
    }
    qsort(out, (size_t)count, sizeof *out, by_hash);
    return count;
}

bool fsim_same_state_later(const state *x, const state *y, int by)
{
    return x->base + by == y->base && x->ran + by == y->ran && fsim_bits_equal(&x->done, &y->done) &&
           fsim_bits_equal(&x->dropped, &y->dropped) && fsim_bits_equal(&x->owed, &y->owed) &&
           (x->passed > 0) == (y->passed > 0) &&
           (x->passed == 0 || (x->passed + by == y->passed && x->behind_base + by == y->behind_base &&
                               x->lifted == y->lifted && fsim_bits_equal(&x->behind, &y->behind)));
}

static bool same_tensor_later(const fsim_run *run, int x, int y, int layers)
{
    return run->orbit[x] == run->orbit[y] &&
           (run->layer[x] < 0 ? run->layer[y] < 0 && x == y : run->layer[x] + layers == run->layer[y]);
}

static bool same_label_later(const l2_search *w, const label *x, const label *y, int by)
{
    const fsim_frontier *f = w->f;
    if (x->count != y->count || !fsim_same_state_later(&f->state[x->state], &f->state[y->state], by) ||
        (f->exact && !fsim_bits_equal(&x->unstored, &y->unstored)))
        return false;
    for (int i = 0; i < x->count; i++) {
        const resident *r = &w->resident[x->first + i], *s = &w->resident[y->first + i];
        if (!same_tensor_later(f->run, r->tensor, s->tensor, by / f->run->period) || r->age != s->age || r->by != s->by)
            return false;
        if (r->by && (r->root + by != s->root || r->hit != s->hit || r->absorbed != s->absorbed || r->bit != s->bit))
            return false;
    }
    return true;
}

/* Are the labels at border k + 1 those at border k, a period later, and all `more` costlier? *pairs: labels at k and
 * their counterparts, alternating. Returns their number; -1 where they are not equal. In a. */
int fsim_same_labels(const l2_search *w, int k, fsim_sum more, int **pairs, fsim_arena *a)
{
    const int by = w->f->border[k + 1] - w->f->border[k];
    crossing *x = fsim_new(a, crossing, MOST_CROSSING), *y = fsim_new(a, crossing, MOST_CROSSING);
    const int count = labels_crossing(w, k, x);
    if (count <= 0 || labels_crossing(w, k + 1, y) != count)
        return -1;
    *pairs = fsim_new(a, int, 2 * count);
    for (int i = 0; i < count; i++) {
        const label *p = &w->label[x[i].label], *q = &w->label[y[i].label];
        if (x[i].hash != y[i].hash || !same_label_later(w, p, q, by) || p->spent + more != q->spent)
            return -1;
        (*pairs)[2 * i] = x[i].label;
        (*pairs)[2 * i + 1] = y[i].label;
    }
    return count;
}

/* The state a period earlier. */
static int earlier(fsim_frontier *f, int at, int by)
{
    state s = f->state[at];
    s.base -= by;
    s.ran -= by;
    s.passed -= s.passed > 0 ? by : 0;
    s.behind_base -= s.passed > 0 ? by : 0;
    return fsim_state_of(f, &s);
}

static int fronts_crossing(const fsim_frontier *f, int size)
{
    int count = 0;
    for (int z = size; z < size + FSIM_BITS && z <= f->l.count; z++)
        for (int i = f->front_by_size[z]; i; i = f->front[i - 1].sibling)
            count += fsim_crosses(f, i - 1, size);
    return count;
}

/* Do the same fronts cross border k as border k + 1, at relaxed costs to the end that are `less` lower there? */
static bool same_fronts(fsim_frontier *f, int k, fsim_sum less)
{
    const int size = f->border[k + 1], by = size - f->border[k];
    if (fronts_crossing(f, size) != fronts_crossing(f, f->border[k]))
        return false;
    for (int z = size; z < size + FSIM_BITS && z <= f->l.count; z++)
        for (int i = f->front_by_size[z]; i; i = f->front[i - 1].sibling) {
            if (!fsim_crosses(f, i - 1, size))
                continue;
            const int there = f->state[earlier(f, fsim_all_stored(f, f->front[i - 1].first - 1), by)].front;
            if (!fsim_crosses(f, there, f->border[k]) ||
                fsim_front_to_go(f, there) != fsim_front_to_go(f, i - 1) + less)
                return false;
        }
    return true;
}

/* Are the relaxed costs to the end of all states behind border k + 1 that a step over it leads to `less` lower than
 * those of their counterparts a period earlier? */
static bool same_to_go(fsim_frontier *f, int k, fsim_sum less)
{
    const int size = f->border[k + 1], by = size - f->border[k];
    bool *seen = fsim_new(f->a, bool, f->states + 1);
    const int known = f->states;
    for (int z = size > FSIM_BITS ? size - FSIM_BITS : 0; z < size; z++)
        for (int i = f->by_size[z]; i; i = f->state[i - 1].sibling)
            for (int s = 0; f->state[i - 1].expanded && s < f->state[i - 1].steps; s++) {
                const int to = f->step[f->state[i - 1].first + s].to;
                if (f->state[to].ran < size || to >= known || seen[to])
                    continue;
                seen[to] = true;
                const fsim_sum before = fsim_least_to_go(f, earlier(f, to, by)), after = fsim_least_to_go(f, to);
                if (before != (after == FSIM_NEVER ? after : after + less))
                    return false;
            }
    return true;
}

bool fsim_same_bounds(fsim_frontier *f, int k, fsim_sum *less)
{
    const int size = f->border[k + 1];
    for (int z = size; z < size + FSIM_BITS && z <= f->l.count; z++)
        for (int i = f->front_by_size[z]; i; i = f->front[i - 1].sibling)
            if (fsim_crosses(f, i - 1, size)) {
                const int there =
                    f->state[earlier(f, fsim_all_stored(f, f->front[i - 1].first - 1), size - f->border[k])].front;
                *less = fsim_front_to_go(f, there) - fsim_front_to_go(f, i - 1);
                return same_fronts(f, k, *less) && same_to_go(f, k, *less);
            }
    return false;
}

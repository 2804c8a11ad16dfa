/* SPDX-License-Identifier: Apache-2.0 */
/* apart.c: places that no kernel has both of, told from how many points they have.
 *
 * A kernel's space (fusion/space.c) has the points of its contractions, or of its reductions' rows, or those of the
 * rows with all that is reduced; without either, of its results. What it stores fits the space, and so does something
 * that depends on any member, or else nothing would need that member. */
#include "plan/search/places.h"

#include "fusion/chain.h"
#include "fusion/fuse.h"
#include "fusion/sums.h"

static fsim_class class_of(const fsim_places *l, int i) { return fsim_ops[fsim_place_node(l, i)->op].class; }

static bool inlines(const fsim_places *l, int i) { return fsim_classes[class_of(l, i)].inlines; }

static int64_t points_of(const fsim_places *l, int i) { return fsim_place_node(l, i)->points; }

static int64_t reduced_from(const fsim_places *l, int i) { return points_of(l, i) * fsim_place_node(l, i)->reduced; }

/* Numbers of points, each with a bit. */
typedef struct {
    int64_t at[FSIM_BITS];
    int count;
    bool full; /* there are more */
} numbering;

/* The bit of so many points; -1 where they have none. */
static int bit_of(const numbering *n, int64_t points)
{
    for (int i = 0; i < n->count; i++)
        if (n->at[i] == points)
            return i;
    return -1;
}

static void number(numbering *n, int64_t points)
{
    if (bit_of(n, points) >= 0)
        return;
    n->full = n->full || n->count == FSIM_BITS;
    if (!n->full)
        n->at[n->count++] = points;
}

static void set_bit(const numbering *n, fsim_bits *set, int64_t points)
{
    const int bit = bit_of(n, points);
    if (bit >= 0)
        fsim_bit_set(set, bit);
}

static bool is_read_in_part(const fsim_places *l, int i)
{
    for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++)
        if (class_of(l, l->succ[k]) == FSIM_ASSEMBLE)
            return true;
    return false;
}

static bool needs_contraction(const fsim_places *l, int i)
{
    FSIM_EACH_BIT(k, l->before[i])
    if (i - FSIM_BITS + k >= 0 && class_of(l, i - FSIM_BITS + k) == FSIM_CONTRACTION)
        return true;
    return false;
}

/* Does every kernel that computes the place, other than as a clone, store it? No kernel has both its first and its
 * last reader, and a copy can't be had. */
static bool is_always_stored(fsim_places *l, int i)
{
    bool path;
    const int readers = l->succ_first[i + 1] - l->succ_first[i];
    if (l->must[i] || l->clonable[i] || readers == 0)
        return l->must[i];
    const int first = l->succ[l->succ_first[i]], last = l->succ[l->succ_first[i + 1] - 1];
    return last - i >= FSIM_BITS || (readers > 1 && fsim_separated(l, first, last, &path));
}

static bool may_sum_across(const fsim_places *l, int i) { return fsim_may_sum_across(l->p->graph, l->node[i]); }

/* Sets of spaces, one for each number of points. */
typedef struct {
    fsim_bits contracted;         /* results of contractions */
    fsim_bits summed[FSIM_BITS];  /* kernels with so many rows, which a sum over all rows may add up, place by place or
                                     one value of each */
    fsim_bits fitting[FSIM_BITS]; /* kernels without a contraction that an elementwise place with so many points fits */
} spaces;

/* The points of the kernels that reduction i may be in without a contraction. */
static fsim_bits of_reduction(const fsim_places *l, const numbering *n, const spaces *s, int i)
{
    fsim_bits out = {{0}};
    set_bit(n, &out, points_of(l, i));
    set_bit(n, &out, reduced_from(l, i));
    if (may_sum_across(l, i))
        out = fsim_bits_or(out, s->summed[bit_of(n, fsim_place_node(l, i)->reduced)]);
    for (int k = 0; k < l->count; k++)
        if (class_of(l, k) == FSIM_REDUCE && reduced_from(l, k) == reduced_from(l, i) &&
            (fsim_may_reduce_stretches(l->p->graph, l->node[i], l->node[k]) ||
             fsim_may_reduce_stretches(l->p->graph, l->node[k], l->node[i])))
            set_bit(n, &out, points_of(l, k));
    return out;
}

static void find_spaces(const fsim_places *l, const numbering *n, spaces *s)
{
    for (int k = 0; k < n->count; k++) {
        fsim_bit_set(&s->summed[k], k);
        fsim_bit_set(&s->fitting[k], k);
    }
    for (int i = 0; i < l->count; i++) {
        if (class_of(l, i) == FSIM_CONTRACTION)
            set_bit(n, &s->contracted, points_of(l, i));
        else if (class_of(l, i) == FSIM_REDUCE)
            set_bit(n, &s->summed[bit_of(n, points_of(l, i))], reduced_from(l, i));
    }
    for (int i = 0; i < l->count; i++) {
        if (class_of(l, i) != FSIM_REDUCE)
            continue;
        const fsim_bits all = of_reduction(l, n, s, i);
        fsim_bits *rows = &s->fitting[bit_of(n, points_of(l, i))], *whole = &s->fitting[bit_of(n, reduced_from(l, i))];
        *rows = fsim_bits_or(*rows, all);
        *whole = fsim_bits_or(*whole, all);
    }
}

/* May reduction i be a sum of all elements of something, or of its columns, which a kernel with a contraction adds up
 * tile by tile? */
static bool is_total(const fsim_places *l, int i) { return class_of(l, i) == FSIM_REDUCE && may_sum_across(l, i); }

/* Points of the spaces that a kernel with a contraction may have, but for rows of what it chains, which depend on one.
 */
static fsim_bits of_contractions(const fsim_places *l, const numbering *n, const spaces *s)
{
    fsim_bits out = s->contracted;
    for (int i = 0; i < l->count; i++)
        if (class_of(l, i) == FSIM_REDUCE && fsim_place_node(l, i)->reduced <= FSIM_TILE_ROW &&
            fsim_bit(&s->contracted, bit_of(n, reduced_from(l, i))))
            set_bit(n, &out, points_of(l, i));
    for (int i = 0; i < l->count; i++)
        if (is_total(l, i) && fsim_bit(&out, bit_of(n, reduced_from(l, i)))) /* of results, or of a value of each row */
            set_bit(n, &out, points_of(l, i));
    return out;
}

/* The points of what depends on each place without a contraction between, itself included. A sum over all rows fits a
 * kernel whose rows, or whose elements, it adds up (fusion/across.c), and so does what is computed from it. */
static void find_results(fsim_places *l, const numbering *n)
{
    for (int i = 0; i < l->count; i++) {
        if (may_sum_across(l, i))
            set_bit(n, &l->results[i], reduced_from(l, i));
        for (int s = l->succ_first[i]; s < l->succ_first[i + 1]; s++)
            if (class_of(l, l->succ[s]) == FSIM_ELEMENTWISE && points_of(l, l->succ[s]) == points_of(l, i))
                l->results[l->succ[s]] = fsim_bits_or(l->results[l->succ[s]], l->results[i]);
    }
    for (int i = l->count; i-- > 0;) {
        set_bit(n, &l->results[i], points_of(l, i));
        for (int s = l->succ_first[i]; s < l->succ_first[i + 1]; s++)
            if (class_of(l, l->succ[s]) != FSIM_CONTRACTION)
                l->results[i] = fsim_bits_or(l->results[i], l->results[l->succ[s]]);
    }
}

/* Per place: does no kernel have it and a contraction, behind which it may be? No contraction depends on it, and what
 * does depend on it has neither the points of a contraction nor those that any reduction could give to its kernel. */
static void find_solo(fsim_places *l, const numbering *n, const spaces *s)
{
    fsim_bits given = s->contracted;
    for (int i = 0; i < l->count; i++)
        if (class_of(l, i) == FSIM_REDUCE) {
            set_bit(n, &given, points_of(l, i));
            set_bit(n, &given, reduced_from(l, i));
            set_bit(n, &given, fsim_place_node(l, i)->reduced);
        }
    for (int i = l->count; i-- > 0;) {
        bool solo =
            inlines(l, i) && !is_read_in_part(l, i) && !l->outside[i] && !fsim_bits_meet(&l->results[i], &given);
        for (int k = l->succ_first[i]; k < l->succ_first[i + 1] && solo; k++)
            solo = l->solo[l->succ[k]];
        l->solo[i] = solo;
    }
}

/* The points of the kernels that have contraction i alone: its own, and those of
 * reductions that have as many, or reduce as many. */
static fsim_bits of_lone(const fsim_places *l, const numbering *n, int i)
{
    fsim_bits out = {{0}};
    set_bit(n, &out, points_of(l, i));
    for (int k = 0; k < l->count; k++) {
        const int64_t from = class_of(l, k) == FSIM_REDUCE ? reduced_from(l, k) : 0;
        if (from == 0 || (from != points_of(l, i) && points_of(l, k) != points_of(l, i)))
            continue;
        set_bit(n, &out, from);
        set_bit(n, &out, points_of(l, k));
        set_bit(n, &out, fsim_place_node(l, k)->reduced);
    }
    return out;
}

static bool is_lone(const fsim_places *l, int i)
{
    return class_of(l, i) == FSIM_CONTRACTION && !fsim_may_be_chained(&l->p->limits, l->node[i]);
}

/* The points of the kernels that contraction i, which is in no chain, may be in. Those side by side with it have
 * spaces of their own. */
static fsim_bits of_siblings(const fsim_places *l, const numbering *n, int i)
{
    const fsim_tensor *t = &l->p->graph->tensor[fsim_place_node(l, i)->arg[0].tensor];
    fsim_bits out = of_lone(l, n, i);
    for (int r = 0; r < t->readers; r++) {
        const int other = l->place[t->reader[r]];
        if (other >= 0 && other != i && fsim_may_be_siblings(l, i, other))
            out = fsim_bits_or(out, of_lone(l, n, other));
    }
    return out;
}

/* Is there another contraction on some path from place i to contraction c? near: per place, 1 + the last contraction
 * that it leads to without another one between. */
static bool passes_another(const fsim_places *l, int i, int c, const int *near)
{
    for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++)
        if (l->succ[k] < c && near[l->succ[k]] != c + 1 && fsim_leads_to(l, l->succ[k], c))
            return true;
    return false;
}

/* Lists a place among others, ascending. */
static void list_in_order(place_list *x, int i)
{
    int at = x->count;
    fsim_list_place(x, i);
    for (; at > 0 && x->item[at - 1] > i; at--)
        x->item[at] = x->item[at - 1];
    x->item[at] = i;
}

/* The points of the lone contractions that may be in a kernel with each place because they need it: no other
 * contraction is on a path between the two. */
static void find_fed(fsim_places *l, const numbering *n)
{
    int *near = fsim_new(l->a, int, l->count + 1), *met = fsim_new(l->a, int, l->count + 1);
    place_list way = {.a = l->a};
    for (int c = 0; c < l->count; c++) {
        if (!l->lone[c])
            continue;
        fsim_list_place(&way, c);
        while (way.count > 0) {
            const int at = way.item[--way.count];
            if (at < c && (class_of(l, at) == FSIM_CONTRACTION || passes_another(l, at, c, near)))
                continue;
            near[at] = c + 1;
            if (at < c)
                set_bit(n, &l->fed[at], points_of(l, c));
            for (int k = l->pred_first[at]; k < l->pred_first[at + 1]; k++)
                if (met[l->pred[k]] != c + 1) {
                    met[l->pred[k]] = c + 1;
                    list_in_order(&way, l->pred[k]);
                }
        }
    }
}

/* Points that a kernel may have with a contraction which may be in a chain: of these, and of rows of their results. */
static fsim_bits of_chains(const fsim_places *l, const numbering *n)
{
    fsim_bits products = {{0}};
    for (int i = 0; i < l->count; i++)
        if (class_of(l, i) == FSIM_CONTRACTION && !l->lone[i])
            set_bit(n, &products, points_of(l, i));
    fsim_bits out = products;
    for (int i = 0; i < l->count; i++)
        if (class_of(l, i) == FSIM_REDUCE && fsim_bit(&products, bit_of(n, reduced_from(l, i))))
            set_bit(n, &out, points_of(l, i));
    return out;
}

/* Per place that is always stored and read, and that no kernel with a chain has: the points of the kernels that it
 * fits, with a contraction or without. */
static void find_sites(fsim_places *l, const numbering *n, const spaces *s)
{
    const fsim_bits chains = of_chains(l, n);
    for (int i = 0; i < l->count; i++) {
        const int points = bit_of(n, points_of(l, i));
        if (l->succ_first[i] == l->succ_first[i + 1] || !inlines(l, i) || l->aloof[i] || is_read_in_part(l, i) ||
            fsim_bit(&chains, points) || !is_always_stored(l, i))
            continue;
        l->sited[i] = l->any_sited = true;
        l->spaces[i] = s->fitting[points];
        for (int c = 0; c < l->count; c++)
            if (l->lone[c] && fsim_bit(&l->spaces[c], points))
                l->spaces[i] = fsim_bits_or(l->spaces[i], l->spaces[c]);
    }
    if (l->any_sited)
        find_fed(l, n);
}

void fsim_find_apart(fsim_places *l)
{
    numbering *n = fsim_new(l->a, numbering, 1);
    *n = (numbering){.count = 0};
    for (int i = 0; i < l->count; i++) {
        number(n, points_of(l, i));
        if (class_of(l, i) == FSIM_REDUCE)
            number(n, reduced_from(l, i));
        if (may_sum_across(l, i))
            number(n, fsim_place_node(l, i)->reduced);
    }
    l->spaces = fsim_new(l->a, fsim_bits, l->count + 1);
    l->results = fsim_new(l->a, fsim_bits, l->count + 1);
    l->aloof = fsim_new(l->a, bool, l->count + 1);
    l->solo = fsim_new(l->a, bool, l->count + 1);
    l->lone = fsim_new(l->a, bool, l->count + 1);
    l->sited = fsim_new(l->a, bool, l->count + 1);
    l->fed = fsim_new(l->a, fsim_bits, l->count + 1);
    if (n->full)
        return;
    spaces *s = fsim_new(l->a, spaces, 1);
    find_spaces(l, n, s);
    const fsim_bits contracted = of_contractions(l, n, s);
    find_results(l, n);
    for (int i = 0; i < l->count; i++) {
        if (inlines(l, i))
            l->aloof[i] = !fsim_bit(&contracted, bit_of(n, points_of(l, i))) && !is_read_in_part(l, i) &&
                          !needs_contraction(l, i) && is_always_stored(l, i);
        else if (class_of(l, i) == FSIM_REDUCE)
            l->aloof[i] = !fsim_bit(is_total(l, i) ? &contracted : &s->contracted,
                                    bit_of(n, reduced_from(l, i))); /* a contraction's result may be what it reduces */
        if (l->aloof[i] && inlines(l, i)) {
            l->spaces[i] = s->fitting[bit_of(n, points_of(l, i))];
        } else if (l->aloof[i]) {
            l->spaces[i] = of_reduction(l, n, s, i);
        }
        l->lone[i] = is_lone(l, i);
        if (l->lone[i])
            l->spaces[i] = of_siblings(l, n, i);
    }
    find_sites(l, n, s);
    if (l->p->graph->barrier)
        find_solo(l, n, s);
}

uint64_t fsim_apart_class(const fsim_places *l, int i)
{
    uint64_t h = 0;
    for (int w = 0; w < FSIM_BITS_WORDS && l->any_sited; w++)
        h = fsim_mix(fsim_mix(fsim_mix(h, l->spaces[i].w[w]), l->results[i].w[w]), l->fed[i].w[w]);
    return fsim_mix(h, l->any_sited && l->sited[i]);
}

/* Is there nothing that depends on y and fits a space that the aloof x does? */
static bool leads_nowhere(const fsim_places *l, int x, int y)
{
    return !fsim_bits_meet(&l->results[y], &l->spaces[x]) ||
           (l->aloof[y] && !fsim_bits_meet(&l->spaces[y], &l->spaces[x]));
}

/* Does no kernel have the lone contraction x and y? Nothing that depends on y fits its space, nor does x, nor those
 * side by side with it. */
static bool is_beyond_lone(const fsim_places *l, int x, int y)
{
    const bool leads = y < x && (x - y > FSIM_BITS || fsim_bit(&l->after[y], x - y - 1));
    return l->lone[x] && inlines(l, y) && !leads && !l->outside[y] && !fsim_bits_meet(&l->results[y], &l->spaces[x]);
}

/* Does no kernel have y and x, which is always stored? Nothing that depends on y fits what x fits, nor does a
 * contraction, unless there is another one between. */
static bool is_beyond_site(const fsim_places *l, int x, int y)
{
    if (!l->sited[x] || l->outside[y] || fsim_bits_meet(&l->results[y], &l->spaces[x]))
        return false;
    const bool below = x < y && fsim_leads_to(l, x, y);
    const fsim_bits fed = below ? fsim_bits_and(l->fed[x], l->fed[y]) : l->fed[y];
    return !fsim_bits_meet(&fed, &l->spaces[x]);
}

bool fsim_fit_no_space(const fsim_places *l, int x, int y)
{
    if (is_beyond_lone(l, x, y) || is_beyond_lone(l, y, x) || is_beyond_site(l, x, y) || is_beyond_site(l, y, x))
        return true;
    if ((l->aloof[x] && class_of(l, y) == FSIM_CONTRACTION) || (l->aloof[y] && class_of(l, x) == FSIM_CONTRACTION))
        return true;
    return (l->aloof[x] && leads_nowhere(l, x, y)) || (l->aloof[y] && leads_nowhere(l, y, x));
}

/* May i be a sum of all results of contraction c or of its columns, or of a value of each row of them that a tile
 * holds? */
static bool sums_up(const fsim_places *l, int i, int c)
{
    bool sums = is_total(l, i) && reduced_from(l, i) == points_of(l, c);
    for (int k = c + 1; k < i && is_total(l, i) && !sums; k++)
        sums = class_of(l, k) == FSIM_REDUCE && fsim_place_node(l, k)->reduced <= FSIM_TILE_ROW &&
               points_of(l, k) == reduced_from(l, i) && reduced_from(l, k) == points_of(l, c);
    return sums;
}

/* Is the number of points that of a contraction of the list, or that of rows of its results that a tile holds? */
static bool fits_one(const fsim_places *l, int64_t points, const int *contraction, int count)
{
    for (int c = 0; c < count; c++) {
        if (points_of(l, contraction[c]) == points)
            return true;
        for (int i = contraction[c] + 1; i < l->count && i < contraction[c] + FSIM_BITS; i++)
            if (class_of(l, i) == FSIM_REDUCE && points_of(l, i) == points &&
                ((fsim_place_node(l, i)->reduced <= FSIM_TILE_ROW &&
                  reduced_from(l, i) == points_of(l, contraction[c])) ||
                 sums_up(l, i, contraction[c])))
                return true;
    }
    return false;
}

/* May reduction i be in a kernel with one of these contractions, on which it doesn't depend? It has then reduced rows
 * of that one's results, and the first reduction of the kernel has rows that a tile holds (fusion/chain.c). */
static bool reduces_one(const fsim_places *l, int i, const int *contraction, int count)
{
    bool held = false, found = false;
    for (int k = i < FSIM_BITS ? 0 : i - FSIM_BITS; k <= i && !held; k++)
        held = class_of(l, k) == FSIM_REDUCE && fsim_place_node(l, k)->reduced <= FSIM_TILE_ROW;
    for (int c = 0; c < count && !found; c++)
        found = (held && points_of(l, contraction[c]) == reduced_from(l, i)) || sums_up(l, i, contraction[c]);
    return found;
}

bool fsim_is_aloof_set(const fsim_places *l, int root, const fsim_own_set *s, const int *contraction, int count)
{
    FSIM_EACH_BIT(k, s->own)
    {
        const int i = root - FSIM_BACK + k;
        if (class_of(l, i) == FSIM_REDUCE && !reduces_one(l, i, contraction, count))
            return true;
        if (inlines(l, i) && fsim_bit(&s->must, k) && !is_read_in_part(l, i) &&
            !fits_one(l, points_of(l, i), contraction, count))
            return true;
    }
    return false;
}

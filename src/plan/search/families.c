/* SPDX-License-Identifier: Apache-2.0 */
/* families.c: the sets of primitives that may be kernels. They are grown once from a root, and used for every root
 * whose surroundings look the same. */
#include "plan/price/user_rules.h"
#include "plan/search/places.h"

#include "fusion/sets.h"
#include <assert.h>

enum {
    TRIED_IN_HASTE = 60, /* sets tried for a root after the budget is used up */
    ALWAYS_TRIED = 32,   /* places further behind a root are tried only with what could be in one kernel with them */
    LEAST_TRIED = 60, /* sets tried for a root of a linked list; more where there is budget for so many such roots, */
    ROOTS_AHEAD = 24,
    STEPS_OF_A_SET = 20 /* and steps for each set and its price */
};

typedef struct {
    fsim_places *l;
    fsim_family *f;
    int base; /* the place that bit 0 stands for */
    int64_t tried, most;
} builder;

static void reach(builder *b, int place)
{
    if (place - b->f->root > b->f->reach)
        b->f->reach = place - b->f->root;
}

int fsim_set_primitives(const fsim_places *l, int base, fsim_bits set, int *node)
{
    int count = 0;
    FSIM_EACH_BIT(i, set)
    {
        assert(base + i >= 0 && base + i < l->count);
        node[count++] = l->node[base + i];
    }
    return count;
}

bool fsim_set_connected(const fsim_places *l, int base, fsim_bits set)
{
    int node[FSIM_BITS];
    fsim_refusal why;
    const int count = fsim_set_primitives(l, base, set, node);
    const fsim_mark mark = fsim_save(l->a);
    const bool yes = count == 1 || fsim_connected(l->p->graph, node, count, l->a, &why);
    fsim_rewind(l->a, mark);
    return yes;
}

static void sort_out_stores(const fsim_places *l, int base, fsim_own_set *s)
{
    FSIM_EACH_BIT(i, s->own)
    {
        const int place = base + i;
        bool inside = false, later = false;
        for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++) {
            const int bit = l->succ[k] - base;
            const bool in = bit < FSIM_BITS && fsim_bit(&s->own, bit);
            inside = inside || in;
            later = later || !in;
        }
        if (l->must[place] || !inside || (later && !l->clonable[place]))
            fsim_bit_set(&s->must, i);
        else if (later)
            fsim_bit_set(&s->may, i);
    }
}

static void keep_set(builder *b, fsim_bits own, const fsim_own_set *stores, bool connected)
{
    fsim_own_set *s = FSIM_PUSH(b->l->a, b->f->set, b->f->sets, b->f->room);
    const int last = fsim_bits_last(&own) - FSIM_BACK;
    b->f->last = last > b->f->last ? last : b->f->last;
    *s = (fsim_own_set){.own = own,
                        .must = stores->must,
                        .may = stores->may,
                        .last = last,
                        .points = stores->points,
                        .whole = stores->whole,
                        .connected = connected};
    FSIM_EACH_BIT(i, own)
    for (int k = b->l->pred_first[b->base + i]; k < b->l->pred_first[b->base + i + 1]; k++) {
        const int bit = b->l->pred[k] - b->base;
        if (bit < 0)
            fsim_bit_set(&s->far, i);
        else if (!fsim_bit(&own, bit))
            fsim_bit_set(&s->needs, bit);
    }
    s->needs_more = !fsim_bits_empty(&s->far);
    bool shares = false, joinable = false, contracts = false;
    FSIM_EACH_BIT(i, own)
    {
        s->waits = s->waits || fsim_place_node(b->l, b->base + i)->side == FSIM_AFTER_BARRIER;
        shares = shares || (b->l->parted && b->l->shares[b->base + i]);
        joinable = joinable || (b->l->parted && fsim_bit(&s->must, i) && b->l->joinable[b->base + i]);
        contracts = contracts || fsim_place_node(b->l, b->base + i)->gemm.k;
    }
    s->joinable = shares && joinable && !contracts;
    s->joinable_product = shares && joinable && contracts;
}

/* Why a set is no kernel. */
typedef struct {
    bool final;  /* nor is any larger set */
    int misread; /* place of a contraction whose result the members that depend on it need at other points than it has,
                    or at too many; -1 */
} refused;

/* The members fit no space together: where a reduction beside them may lend one, each may be had for nothing. */
static void find_lender(builder *b, const fsim_own_set *s)
{
    const fsim_bits unknown = fsim_bits_without(s->own, b->f->borrows);
    if (!fsim_bits_empty(&unknown) && fsim_find_lender(b->l, b->f, s))
        b->f->borrows = fsim_bits_or(b->f->borrows, s->own);
}

/* Can the set be a kernel that stores as little as possible? */
static bool try_set(builder *b, fsim_bits own, refused *out)
{
    int node[FSIM_BITS];
    bool stored[FSIM_BITS];
    const int count = fsim_set_primitives(b->l, b->base, own, node);
    fsim_own_set s = {.own = own};
    int k = 0;
    sort_out_stores(b->l, b->base, &s);
    FSIM_EACH_BIT(i, own)
    stored[k++] = fsim_bit(&s.must, i);
    const fsim_candidate *c = fsim_candidate_of(b->l->p, node, count, stored);
    *out = (refused){!c->legal && c->why.final, -1};
    if (!c->legal && c->why.rule == FSIM_RULE_INDEX_MAP && c->why.b < 0 && c->why.unit != FSIM_IN_TILE_MAPS &&
        b->l->p->graph->node[c->why.a].gemm.k)
        out->misread = b->l->place[c->why.a];
    if (!c->legal && !c->why.final && c->why.rule == FSIM_RULE_SPACE && b->l->parted && b->l->any_joinable)
        find_lender(b, &s);
    if (!c->legal)
        return false;
    const bool connected = fsim_set_connected(b->l, b->base, own);
    if (!connected && !b->l->p->recompute)
        return false;
    if (!c->group->joint && c->group->across == 0 && c->group->stretch == 0) { /* those have values of other points */
        s.points = c->group->points;
        s.whole = c->group->points * c->group->reduced;
    }
    keep_set(b, own, &s, connected);
    b->l->kept++;
    return true;
}

static fsim_bits window(const fsim_bits *x, int from, int base) { return fsim_bits_shifted(*x, from - base); }

static bool find_never_together(fsim_places *l, int low, int high)
{
    if (!fsim_calls_agree(l->p->graph, l->node[low], l->node[high]) || fsim_fit_no_space(l, low, high) ||
        fsim_across_barrier(l, low, high))
        return true;
    if (fsim_classes[fsim_ops[fsim_place_node(l, low)->op].class].inlines ||
        fsim_classes[fsim_ops[fsim_place_node(l, high)->op].class].inlines)
        return false;
    const int pair[2] = {l->node[low], l->node[high]};
    const fsim_candidate *c = fsim_candidate_of(l->p, pair, 2, (const bool[2]){true, true});
    return !c->legal && c->why.final;
}

bool fsim_never_together(fsim_places *l, int x, int y)
{
    const int low = x < y ? x : y, high = x < y ? y : x, bit = high - low - 1;
    if (bit >= FSIM_BITS)
        return find_never_together(l, low, high);
    if (!fsim_bit(&l->asked[low], bit)) {
        if (find_never_together(l, low, high))
            fsim_bit_set(&l->never[low], bit);
        fsim_bit_set(&l->asked[low], bit);
    }
    return fsim_bit(&l->never[low], bit);
}

static bool holds_apart(builder *b, fsim_bits set, fsim_bits fresh)
{
    FSIM_EACH_BIT(i, fresh)
    FSIM_EACH_BIT(k, set)
    if (k != i && fsim_never_together(b->l, b->base + i, b->base + k))
        return true;
    return false;
}

/* A set as it grows, as bits of its family. */
typedef struct {
    fsim_bits set, fresh;   /* the members; those added last */
    fsim_bits above, below; /* all that a member depends on; all that depends on a member */
    fsim_bits fringe;       /* all that have a tensor in common with a member */
    fsim_bits barred;       /* excluded from this set */
    fsim_bits cut_off;      /* of the fringe: with them something barred would come, here and in every larger set */
} growth;

/* A parted list: is a primitive that has a tensor in common with the set to be added to it? It is where one needs the
 * other, directly or not, and where it is a contraction that may be side by side with one of the set. */
static bool belongs(const builder *b, const growth *x, int bit)
{
    if (!b->l->parted || fsim_bit(&x->above, bit) || fsim_bit(&x->below, bit))
        return true;
    if (fsim_place_node(b->l, b->base + bit)->gemm.k)
        FSIM_EACH_BIT(i, x->set)
    if (fsim_may_be_siblings(b->l, b->base + i, b->base + bit))
        return true;
    return false;
}

/* What a set of the list may have of two places with a tensor in common. */
enum { HAS_BOTH = 1, HAS_NO_PATH = -1, NEVER_BOTH = -2 };

/* May a set of the list have both places because they have a tensor in common, directly: in a parted list one needs the
 * other, or they are contractions alike? Else another one that it has may lead to both, unless no kernel has them. */
static signed char kept_by_both(fsim_places *l, int low, int high)
{
    bool path = high - low <= FSIM_BITS && fsim_bit(&l->after[low], high - low - 1);
    if (l->parted && !path && !fsim_may_be_siblings(l, low, high))
        return HAS_NO_PATH;
    return fsim_never_together(l, low, high) || fsim_separated(l, low, high, &path) ? NEVER_BOTH : HAS_BOTH;
}

static signed char kept_near(fsim_places *l, int at, int k)
{
    const int other = l->near[k];
    if (l->missed[k] == 0)
        l->missed[k] = kept_by_both(l, at < other ? at : other, at < other ? other : at);
    return l->missed[k];
}

bool fsim_misses_near(fsim_places *l, int at, int k) { return kept_near(l, at, k) == HAS_BOTH; }

/* A primitive that may still be added to a set, as a bit of it, and what would come with it. */
typedef struct {
    int bit; /* those below can't be added, nor to a set from which more is barred */
    fsim_bits with;
} gain;

/* Can a primitive that depends on `place` still be added to the set? What lies between the two would come with it.
 * known: the answer for the same set while less was barred from it. */
static bool may_gain_below(const builder *b, const growth *x, int place, gain *known)
{
    if (known->bit >= 0 && !fsim_bit(&x->barred, known->bit) && !fsim_bits_meet(&known->with, &x->barred))
        return true;
    const fsim_bits below = window(&b->l->after[place], place + 1, b->base),
                    out = fsim_bits_without(fsim_bits_without(below, x->set), x->barred);
    for (int u = fsim_bits_next(&out, known->bit + 1); u < FSIM_BITS && b->base + u < b->l->count;
         u = u + 1 < FSIM_BITS ? fsim_bits_next(&out, u + 1) : FSIM_BITS) {
        const fsim_bits up = window(&b->l->before[b->base + u], b->base + u - FSIM_BITS, b->base);
        *known = (gain){u, fsim_bits_and(up, below)};
        if (!fsim_bits_meet(&known->with, &x->barred))
            return true;
    }
    return false;
}

/* The set with primitive u of its fringe, and with what lies between the two. */
static fsim_bits added_with(const builder *b, const growth *x, int u)
{
    const fsim_places *l = b->l;
    const int place = b->base + u;
    const fsim_bits up = window(&l->before[place], place - FSIM_BITS, b->base),
                    down = window(&l->after[place], place + 1, b->base);
    fsim_bits more = fsim_bits_or(fsim_bits_and(x->below, up), fsim_bits_and(x->above, down));
    fsim_bit_set(&more, u);
    return fsim_bits_without(more, x->set);
}

/* Finds what depends on the set, what it depends on, and what has a tensor in common with it. */
static void look_about(builder *b, growth *x)
{
    const fsim_places *l = b->l;
    b->f->looked = fsim_bits_or(b->f->looked, x->fresh);
    FSIM_EACH_BIT(v, x->fresh)
    {
        const int at = b->base + v;
        x->above = fsim_bits_or(x->above, window(&l->before[at], at - FSIM_BITS, b->base));
        x->below = fsim_bits_or(x->below, window(&l->after[at], at + 1, b->base));
        for (int k = l->near_first[at]; k < l->near_first[at + 1]; k++) {
            const int bit = l->near[k] - b->base;
            if (bit >= FSIM_BACK + l->ahead) {
                const bool misses = fsim_misses_near(b->l, at, k);
                b->f->complete = b->f->complete && (l->linked || !misses);
                if (misses)
                    fsim_bit_set(&b->f->far, v);
            } else if (bit > FSIM_BACK && !fsim_bit(&x->set, bit)) {
                if (l->parted && kept_near(b->l, at, k) == HAS_BOTH)
                    reach(b, l->near[k]); /* barred or not, other roots have to look at it too */
                if (fsim_bit(&x->barred, bit))
                    continue;
                const bool tried = bit <= FSIM_BACK + ALWAYS_TRIED ||
                                   (l->parted ? kept_near(b->l, at, k) != NEVER_BOTH : fsim_misses_near(b->l, at, k));
                fsim_bit_set(tried ? &x->fringe : &x->barred, bit);
            }
        }
    }
    x->fringe = fsim_bits_without(fsim_bits_without(x->fringe, x->barred), x->set);
    x->cut_off = fsim_bits_and(x->cut_off, x->fringe);
    const fsim_bits unknown = fsim_bits_without(x->fringe, x->cut_off);
    FSIM_EACH_BIT(u, unknown)
    {
        const fsim_bits more = added_with(b, x, u);
        if (fsim_bits_meet(&more, &x->barred) && belongs(b, x, u))
            fsim_bit_set(&x->cut_off, u);
    }
}

/* Primitives of the fringe from the last one that was tried to before u can't be added: they are passed over. */
static void pass_over(builder *b, growth *x, const fsim_bits *passed, int u)
{
    fsim_bits before = {{0}};
    fsim_bits_set_first(&before, u);
    before = fsim_bits_and(before, *passed);
    const int last = fsim_bits_last(&before);
    if (last >= 0)
        reach(b, b->base + last);
    x->barred = fsim_bits_or(x->barred, before);
}

/* Visits each convex set that contains the root and is connected by tensors, once. */
static void grow(builder *b, growth x)
{
    fsim_places *l = b->l;
    refused why;
    gain below = {-1, {{0}}};
    if (l->watched && b->tried > l->wide_from)
        l->wide = true;
    if (++b->tried > b->most && l->linked) {
        b->f->many = true;
        return;
    }
    if (l->wide || b->tried > b->most || (!fsim_within(l->budget, l->p) && b->tried > TRIED_IN_HASTE) ||
        l->budget->spent->over) {
        b->f->complete = false;
        return;
    }
    try_set(b, x.set, &why);
    if (why.final)
        return;
    if (l->linked)
        FSIM_EACH_BIT(v, x.set)
    b->f->with[v] = fsim_bits_or(b->f->with[v], x.set);
    look_about(b, &x);
    const fsim_bits passed = why.misread >= 0 ? (fsim_bits){{0}} : x.cut_off, /* else each has its turn */
        tried = fsim_bits_without(x.fringe, passed);
    FSIM_EACH_BIT(u, tried)
    {
        if (why.misread >= 0 && !may_gain_below(b, &x, why.misread, &below))
            return;
        pass_over(b, &x, &passed, u);
        if (!belongs(b, &x, u))
            continue;
        const fsim_bits more = added_with(b, &x, u);
        reach(b, b->base + u);
        growth larger = x;
        larger.set = fsim_bits_or(x.set, more);
        larger.fresh = more;
        if (!fsim_bits_meet(&more, &x.barred) && !holds_apart(b, larger.set, more))
            grow(b, larger);
        fsim_bit_set(&x.barred, u);
        if ((!b->f->complete || b->f->many) && (b->tried > b->most || !fsim_within(l->budget, l->p)))
            return;
    }
    pass_over(b, &x, &passed, FSIM_BITS);
}

/* How far behind root is what may be cloned for a kernel with places of [root, high]? */
static int copied_back(const fsim_places *l, int root, int high)
{
    bool copied[FSIM_BACK + 1] = {false}; /* per place behind root */
    int back = 0;
    for (int i = high; i >= root - back; i--)
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1] && (i >= root || copied[root - i]); k++) {
            const int by = root - l->pred[k];
            if (by <= 0 || by > FSIM_BACK || !l->clonable[l->pred[k]])
                continue;
            copied[by] = true;
            back = by > back ? by : back;
        }
    return back;
}

/* Sets that may be tried for the next root: of a linked list, whose places tell of the rest, no more than leave some
 * for other roots. */
static int64_t most_tried(const fsim_places *l)
{
    const int64_t enough = (l->budget->steps - fsim_work(l->p)) / (ROOTS_AHEAD * STEPS_OF_A_SET),
                  some = enough > LEAST_TRIED ? enough : LEAST_TRIED;
    return l->linked && some < l->most ? some : l->most;
}

static fsim_family *build(fsim_places *l, int root)
{
    fsim_family *f = fsim_new(l->a, fsim_family, 1);
    builder b = {.l = l, .f = f, .base = root - FSIM_BACK, .most = most_tried(l)};
    growth seed = {.set = {{0}}};
    *f = (fsim_family){.root = root, .complete = true};
    f->with = l->linked ? fsim_new(l->a, fsim_bits, FSIM_BITS) : NULL;
    fsim_bit_set(&seed.set, FSIM_BACK);
    seed.fresh = seed.set;
    grow(&b, seed);
    l->looked_at += b.tried;
    const int copied = copied_back(l, root, root + fsim_bits_last(&f->looked) - FSIM_BACK);
    f->back = copied > f->back ? copied : f->back;
    return f;
}

/* The last reader of tensor t from place `low` to below `place`, combined with the number of the argument; 0 where
 * there is none. */
static uint64_t reader_before(const fsim_places *l, int t, int place, int low)
{
    const fsim_tensor *x = &l->p->graph->tensor[t];
    int at = 0, high = x->readers; /* index of the first reader that is not before this primitive */
    while (at < high) {
        const int mid = (at + high) / 2;
        if (x->reader[mid] < l->node[place])
            at = mid + 1;
        else
            high = mid;
    }
    while (at-- > 0) {
        const int other = l->place[x->reader[at]];
        if (other < 0)
            continue;
        if (other < low)
            return 0;
        const fsim_node *n = fsim_place_node(l, other);
        for (int k = 0; k < n->args; k++)
            if (n->arg[k].tensor == t)
                return (uint64_t)(place - other) << 16 | (uint64_t)(k + 1);
    }
    return 0;
}

static bool read_beyond(const fsim_places *l, int t, int place)
{
    const fsim_tensor *x = &l->p->graph->tensor[t];
    return x->readers > 0 && x->reader[x->readers - 1] > l->node[place];
}

static int64_t offset_of(const fsim_places *l, int place, int argument)
{
    return fsim_place_node(l, place)->arg[argument].map.offset;
}

/* Does place i, around root, read what place i - by reads around root - by, as a kernel sees it: the same of its
 * neighbours, and of what is made further back, below `low`, the same tensors as places before it, and as far from
 * where these read? Neighbours are places from `near_low` on. */
static bool reads_alike(const fsim_places *l, int i, int by, int near_low, int low)
{
    const fsim_node *x = fsim_place_node(l, i), *y = fsim_place_node(l, i - by);
    for (int k = 0; k < x->args; k++) {
        const int t = x->arg[k].tensor, s = y->arg[k].tensor, from = fsim_place_of_maker(l, t),
                  other = fsim_place_of_maker(l, s);
        const bool near = (from >= 0 && from >= near_low) || (other >= 0 && other >= near_low - by);
        const int64_t apart = offset_of(l, i, k) - offset_of(l, i - by, k); /* how far its read is from the other's */
        if (near && (from - by != other || apart != 0))
            return false;
        for (int j = 0; j < k; j++)
            if ((x->arg[j].tensor == t) != (y->arg[j].tensor == s) ||
                (x->arg[j].tensor == t && offset_of(l, i, j) - offset_of(l, i - by, j) != apart))
                return false;
        const uint64_t reader = from < low ? reader_before(l, t, i, low) : 0;
        const int distance = (int)(reader >> 16), argument = (int)(reader & 0xffff) - 1;
        if (from < low &&
            (reader != reader_before(l, s, i - by, low - by) ||
             (reader && offset_of(l, i - distance, argument) - offset_of(l, i - distance - by, argument) != apart)))
            return false;
    }
    return true;
}

/* Is all that sets of this root could miss behind their bits among what sets of the family do, and could none have
 * what is beyond the reach of those? How far away the next reader of a tensor is makes no difference elsewhere. */
static bool misses_no_more(fsim_places *l, const fsim_family *f, int root)
{
    FSIM_EACH_BIT(v, f->looked)
    {
        const int i = root - FSIM_BACK + v;
        if (l->last_near[i] <= root + f->reach)
            continue;
        for (int k = l->near_first[i]; k < l->near_first[i + 1]; k++)
            if (l->near[k] > root + f->reach && (l->near[k] < root + l->ahead || !fsim_bit(&f->far, v)) &&
                fsim_misses_near(l, i, k))
                return false;
    }
    return true;
}

/* Are the surroundings of root equal to those of the family's representative? */
static bool looks_like(fsim_places *l, const fsim_family *f, int root)
{
    const int by = root - f->root, low = root - f->back, high = root + f->reach;
    if (low < 0 || high >= l->count)
        return false;
    for (int i = low; i <= high; i++)
        if (l->near_class[i] != l->near_class[i - by])
            return false;
    for (int i = low; i <= high; i++) {
        const fsim_node *x = fsim_place_node(l, i), *y = fsim_place_node(l, i - by);
        if (!reads_alike(l, i, by, root - FSIM_BACK, low))
            return false;
        for (int k = 0; k < x->args; k++) {
            const int t = x->arg[k].tensor, s = y->arg[k].tensor;
            if (fsim_place_of_maker(l, t) < low && read_beyond(l, t, high) && !read_beyond(l, s, high - by))
                return false; /* a set may miss a reader there; where there is none, it misses none */
        }
        for (int r = 0; r < x->results; r++)
            if (read_beyond(l, x->result[r], high) != read_beyond(l, y->result[r], high - by))
                return false;
    }
    return misses_no_more(l, f, root);
}

static bool same_set(const fsim_own_set *x, const fsim_own_set *y)
{
    return fsim_bits_equal(&x->own, &y->own) && fsim_bits_equal(&x->must, &y->must) &&
           fsim_bits_equal(&x->may, &y->may) && x->connected == y->connected && x->joinable == y->joinable;
}

/* Do two families have the same sets of places that look alike? Sets that were tried and are no kernels may differ:
 * behind the last layer of many other operators come. near_low: what is made there by y's places, or behind it, has to
 * be as far from its readers. */
static bool same_sets(const fsim_places *l, const fsim_family *x, const fsim_family *y, int near_low)
{
    const int by = y->root - x->root, low = y->root - y->back;
    if (x->sets != y->sets || x->back != y->back || x->last != y->last)
        return false;
    for (int i = 0; i < x->sets; i++)
        if (!same_set(&x->set[i], &y->set[i]))
            return false;
    for (int i = low; i <= y->root + y->last; i++)
        if (l->near_class[i] != l->near_class[i - by] || !reads_alike(l, i, by, near_low, low))
            return false;
    return true;
}

/* Do families with the same sets need the same places behind the roots, and were they found in the same way? */
static bool need_the_same(const fsim_places *l, const fsim_family *x, const fsim_family *y)
{
    if (x->complete != y->complete || x->many != y->many || !fsim_bits_equal(&x->far, &y->far) ||
        !fsim_bits_equal(&x->borrows, &y->borrows))
        return false;
    for (int i = 0; i < x->sets; i++)
        if (!fsim_bits_equal(&x->set[i].needs, &y->set[i].needs) || !fsim_bits_equal(&x->set[i].far, &y->set[i].far))
            return false;
    return same_sets(l, x, y, y->root - FSIM_BACK);
}

/* A family with the sets of this root. */
static fsim_family *find_family(fsim_places *l, int root)
{
    uint64_t h = 1;
    for (int i = root; i < root + 4 && i < l->count; i++)
        h = fsim_mix(h, l->near_class[i]);
    fsim_family **slot = &l->slot[h & (uint64_t)(l->slots - 1)];
    for (fsim_family *f = *slot; f; f = f->next)
        if (looks_like(l, f, root))
            return f;
    fsim_family *f = build(l, root);
    f->first_alike = root;
    for (fsim_family *known = *slot; known; known = known->next) {
        if (!same_sets(l, known, f, root - f->back))
            continue;
        f->first_alike = known->first_alike;
        if (need_the_same(l, known, f))
            return known;
    }
    f->next = *slot;
    *slot = f;
    return f;
}

const fsim_family *fsim_family_of(fsim_places *l, int root)
{
    if (l->family[root])
        return l->family[root];
    l->family[root] = find_family(l, root);
    FSIM_EACH_BIT(i, l->family[root]->borrows)
    l->borrows[root - FSIM_BACK + i] = true;
    return l->family[root];
}

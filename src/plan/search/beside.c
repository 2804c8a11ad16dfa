/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c: which primitives may be in one kernel although neither needs the other, because both read the same tensor.
 *
 * There are very many such kernels: of n equal additions of one bias, any subset. In a parted list they are not
 * enumerated. Each of their parts is a kernel of its own there, at a price such that the prices of a kernel's parts add
 * up to no more than the kernel's: see fsim_least_joined (traffic.c). So the least cost of the parted list is a lower
 * bound.
 *
 * A part has a primitive that accesses a tensor which an independent primitive accesses too, and a stored one that a
 * kernel may hold and store beside an independent one. Where primitives of one kernel may have several spaces, because
 * it reduces or because contractions are side by side, only refusals that hold for every larger set say that it may
 * not. */
#include "plan/price/user_rules.h"
#include "plan/search/places.h"

#include <limits.h>

enum {
    ANSWERS = 1024,        /* kept, by the classes of both */
    KINDS = 200,           /* classes among which is looked; of more it is assumed that they have independent ones */
    FAR_ANSWERS = 1 << 14, /* kept, of places that are far apart */
    FAR_PATHS = 1 << 16,   /* answers kept of paths between them */
    FAR_LOOKED = 2048      /* places that access a tensor; of more it is assumed that some are independent */
};

/* Places of one class, ascending. */
typedef struct {
    uint64_t class;
    int *place, count, room;
} alike;

typedef struct {
    fsim_places *l;
    uint64_t *refused; /* pairs that can't be one kernel, by their classes */
    bool one_space;
    alike *of;
    int classes, room;
} pairs;

/* Of the places that access a tensor: the last one that does not need a place, and the first one that this place does
 * not need. */
struct fsim_far_end {
    int tensor, place; /* 1 + each; 0: no answer yet */
    int last, first;
};

static bool linked(const fsim_places *l, int x, int y)
{
    return x < y ? fsim_leads_to(l, x, y) : fsim_leads_to(l, y, x);
}

/* Could a kernel contain both? */
static bool may_pair(pairs *w, int x, int y)
{
    fsim_places *l = w->l;
    const int low = x < y ? x : y, high = x < y ? y : x, pair[2] = {l->node[low], l->node[high]};
    const uint64_t key = fsim_mix(fsim_mix(11, l->class[low]), l->class[high]) | 1;
    uint64_t *refused = &w->refused[key % ANSWERS];
    if (*refused == key)
        return false;
    const fsim_candidate *c = fsim_candidate_of(l->p, pair, 2, (const bool[2]){true, true});
    if (c->legal || (!w->one_space && !c->why.final))
        return true;
    *refused = key;
    return false;
}

/* Do all primitives of any kernel have its own space? Those of one with a reduction may have rows only, and those of
 * one with several contractions the space of one of these. */
static bool has_one_space(const fsim_places *l)
{
    bool one = true;
    for (int i = 0; i < l->count && one; i++) {
        const fsim_node *n = fsim_place_node(l, i);
        const fsim_tensor *t = n->gemm.k ? &l->p->graph->tensor[n->arg[0].tensor] : NULL;
        int contractions = 0;
        for (int r = 0; t && r < t->readers; r++)
            contractions += l->place[t->reader[r]] >= 0 && fsim_may_be_siblings(l, i, l->place[t->reader[r]]);
        const fsim_class class = fsim_ops[n->op].class;
        one = contractions < 2 && class != FSIM_REDUCE && class != FSIM_SCAN && class != FSIM_WINDOW;
    }
    return one;
}

/* Sorts places by their classes. */
static void sort_by_class(pairs *w, const int *list, int count)
{
    fsim_places *l = w->l;
    w->classes = 0;
    for (int i = 0; i < count && w->classes <= KINDS; i++) {
        int c = 0;
        while (c < w->classes && w->of[c].class != l->class[list[i]])
            c++;
        if (c == w->classes)
            *FSIM_PUSH(l->a, w->of, w->classes, w->room) = (alike){.class = l->class[list[i]]};
        *FSIM_PUSH(l->a, w->of[c].place, w->of[c].count, w->of[c].room) = list[i];
    }
}

/* Which places have an independent one among others: of the places x, one among y that is higher (side 1) or lower
 * (side -1). Walks from the far end. What one place is linked to, the place of x before it is linked to as well if the
 * two are linked; otherwise it counts as independent. */
typedef struct {
    const alike *x, *y;
    int side;
    bool *marked; /* per place */
    bool asks;    /* mark only those that a kernel could hold beside the independent one */
} marking;

static void mark(pairs *w, marking m)
{
    fsim_places *l = w->l;
    int beyond = -1,
        free = -1; /* of y: the nearest place beyond the last place of x; one that is independent of that */
    int k = m.side > 0 ? m.y->count - 1 : 0, last = -1;
    for (int i = m.side > 0 ? m.x->count - 1 : 0; i >= 0 && i < m.x->count; i -= m.side) {
        const int at = m.x->place[i];
        int found = last >= 0 && !linked(l, at, last) ? beyond : free;
        for (; k >= 0 && k < m.y->count && (m.y->place[k] - at) * m.side > 0; k -= m.side) {
            beyond = m.y->place[k];
            found = linked(l, at, beyond) ? found : beyond;
        }
        if (found >= 0 && !m.marked[at])
            m.marked[at] = !m.asks || may_pair(w, at, found);
        free = found;
        last = at;
    }
}

/* Marks the places of list[0, count) that have an independent one among them. */
static void mark_all(pairs *w, const int *list, int count, bool asks, bool *marked)
{
    sort_by_class(w, list, count);
    for (int i = 0; i < count && w->classes > KINDS; i++)
        marked[list[i]] = true;
    for (int x = 0; x < w->classes && w->classes <= KINDS; x++)
        for (int y = 0; y < w->classes; y++)
            for (int side = -1; side <= 1; side += 2)
                mark(w, (marking){&w->of[x], &w->of[y], side, marked, asks});
}

static double bytes_of(const fsim_places *l, int i)
{
    const fsim_node *n = fsim_place_node(l, i);
    double sum = 0;
    for (int k = 0; k < n->args; k++)
        sum += (double)n->arg[k].distinct * fsim_dtype_bytes(l->p->graph->tensor[n->arg[k].tensor].dtype);
    for (int r = 0; r < n->results; r++)
        sum += (double)l->p->graph->tensor[n->result[r]].written_bytes;
    return sum;
}

/* The path that moves most is heavy. */
static void find_heavy(fsim_places *l)
{
    double *most = fsim_new(l->a, double, l->count + 1);
    int *next = fsim_new(l->a, int, l->count + 1), from = -1;
    l->heavy = fsim_new(l->a, bool, l->count + 1);
    for (int i = l->count; i-- > 0;) {
        next[i] = -1;
        for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++)
            if (next[i] < 0 || most[l->succ[k]] > most[next[i]])
                next[i] = l->succ[k];
        most[i] = bytes_of(l, i) + (next[i] < 0 ? 0 : most[next[i]]);
        from = from < 0 || most[i] >= most[from] ? i : from;
    }
    for (; from >= 0; from = next[from])
        l->heavy[from] = true;
}

void fsim_find_beside(fsim_places *l)
{
    pairs w = {.l = l, .refused = fsim_new(l->a, uint64_t, ANSWERS), .one_space = has_one_space(l)};
    int *all = fsim_new(l->a, int, l->count + 1);
    bool any_far = false;
    l->shares = fsim_new(l->a, bool, l->count + 1);
    l->joinable = fsim_new(l->a, bool, l->count + 1);
    l->seen = fsim_new(l->a, int, l->count + 1);
    l->walked = fsim_new(l->a, int, l->p->graph->tensors + 1);
    for (int t = 0; t < l->p->graph->tensors; t++)
        if (l->touching_first[t + 1] - l->touching_first[t] > 1)
            mark_all(&w, l->touching + l->touching_first[t], l->touching_first[t + 1] - l->touching_first[t], false,
                     l->shares);
    for (int i = 0; i < l->count; i++) {
        all[i] = i;
        l->any_joinable = l->any_joinable || l->shares[i];
        any_far = any_far || l->far[i];
    }
    l->far_end = any_far ? fsim_new(l->a, struct fsim_far_end, FAR_ANSWERS) : NULL;
    l->far_path = l->count > FSIM_AHEAD ? fsim_new(l->a, uint64_t, FAR_PATHS) : NULL;
    find_heavy(l);
    if (l->any_joinable)
        mark_all(&w, all, l->count, true, l->joinable);
    for (int i = 0; i < l->count; i++) {
        const uint64_t beside = (l->joinable[i] ? 2u : 0u) | (l->shares[i] ? 1u : 0u);
        l->class[i] = fsim_mix(l->class[i], beside);
        l->near_class[i] = fsim_mix(l->near_class[i], beside);
    }
}

/* What can't be a clone, as bits of the sets of this root. */
static const fsim_bits *fixed_near(fsim_places *l, int root)
{
    const int base = root - FSIM_BACK;
    if (l->fixed_root == root + 1)
        return &l->fixed;
    l->fixed_root = root + 1;
    l->fixed = (fsim_bits){{0}};
    for (int i = base < 0 ? -base : 0; i < FSIM_BITS && base + i < l->count; i++)
        if (!l->clonable[base + i])
            fsim_bit_set(&l->fixed, i);
    return &l->fixed;
}

/* What surrounds a set, as bits of the sets of its root. */
typedef struct {
    int root;
    const fsim_own_set *set;
    fsim_bits fixed;   /* members that can't be clones */
    fsim_bits barred;  /* members, what some member needs, and what needs all of them or one that can't be a clone */
    fsim_bits needing; /* what needs some member */
} surroundings;

static surroundings surroundings_of(fsim_places *l, int root, const fsim_own_set *s)
{
    const int base = root - FSIM_BACK;
    surroundings x = {root, s, fsim_bits_and(s->own, *fixed_near(l, root)), s->own, {{0}}};
    fsim_bits all = {{0}};
    fsim_bits_set_first(&all, FSIM_BITS);
    FSIM_EACH_BIT(i, s->own)
    {
        const fsim_bits below = fsim_bits_shifted(l->after[base + i], i + 1),
                        above = fsim_bits_shifted(l->before[base + i], i - FSIM_BITS);
        x.needing = fsim_bits_or(x.needing, below);
        all = fsim_bits_and(all, below);
        x.barred = fsim_bits_or(x.barred, above);
        if (fsim_bit(&x.fixed, i))
            x.barred = fsim_bits_or(x.barred, below);
    }
    x.barred = fsim_bits_or(x.barred, all);
    return x;
}

/* May another part of a kernel own place q, which is beyond the bits? It needs no member but those that may be copies,
 * and not all of them; no member needs it. */
static bool is_free_beyond(const fsim_places *l, const surroundings *x, int q)
{
    const int base = x->root - FSIM_BACK;
    const fsim_bits below = fsim_bits_shifted(l->after[q], q + 1 - base),
                    above = fsim_bits_shifted(l->before[q], q - FSIM_BITS - base),
                    needed = fsim_bits_and(x->set->own, above);
    return !fsim_bits_meet(&x->set->own, &below) && !fsim_bits_equal(&needed, &x->set->own) &&
           !fsim_bits_meet(&x->fixed, &needed);
}

/* May another part of a kernel own place q? No member needs it, and a kernel may hold it beside each. It needs no
 * member but those that the kernel may have as copies, since a part may be launched before the kernel that owns them;
 * and not all of them, or nothing of the set would be the kernel's own. Where all members are the kernel's own
 * (l->owned), it may hold it beside those that might be copies, too. */
static bool may_stand_beside(fsim_places *l, const surroundings *x, int q)
{
    const int base = x->root - FSIM_BACK, bit = q - base;
    if (bit >= 0 && bit < FSIM_BITS ? fsim_bit(&x->barred, bit) : !is_free_beyond(l, x, q))
        return false;
    FSIM_EACH_BIT(i, x->set->own)
    if (l->p->graph->calls && !fsim_calls_agree(l->p->graph, l->node[base + i], l->node[q]))
        return false;
    const fsim_bits held = l->owned ? x->set->own : x->fixed;
    FSIM_EACH_BIT(i, held)
    if (fsim_never_together(l, base + i, q))
        return false;
    return true;
}

static const struct fsim_far_end *far_end_of(fsim_places *l, int tensor, int place)
{
    struct fsim_far_end *x = &l->far_end[fsim_mix(fsim_mix(1, (uint64_t)tensor), (uint64_t)place) % FAR_ANSWERS];
    if (x->tensor == tensor + 1 && x->place == place + 1)
        return x;
    const int *who = l->touching + l->touching_first[tensor],
              count = l->touching_first[tensor + 1] - l->touching_first[tensor];
    *x = (struct fsim_far_end){tensor + 1, place + 1, INT_MAX, -1};
    if (count > FAR_LOOKED)
        return x;
    int last = count, first = -1;
    while (--last >= 0 && who[last] > place && fsim_leads_to(l, place, who[last]))
        ;
    while (++first < count && who[first] < place && fsim_leads_to(l, who[first], place))
        ;
    x->last = last >= 0 ? who[last] : -1;
    x->first = first < count ? who[first] : INT_MAX;
    return x;
}

/* May another part of a kernel own a place that accesses a tensor of place `at`, and that is too far from it for the
 * bits? One that comes later may not need all of the set, and none of the set may need one that comes before. */
static bool may_have_far(fsim_places *l, int root, const fsim_own_set *s, int at)
{
    if (!l->far[at])
        return false;
    for (int k = l->touched_first[at]; k < l->touched_first[at + 1]; k++) {
        const int first = l->touching_first[l->touched[k]], end = l->touching_first[l->touched[k] + 1];
        bool later = false, before = l->touching[first] <= at - FSIM_BITS;
        if (!before && l->touching[end - 1] < at + FSIM_BITS)
            continue;
        FSIM_EACH_BIT(i, s->own)
        {
            const struct fsim_far_end *x = far_end_of(l, l->touched[k], root - FSIM_BACK + i);
            later = later || x->last >= at + FSIM_BITS;
            before = before && x->first <= at - FSIM_BITS;
        }
        if (later || before)
            return true;
    }
    return false;
}

/* Is q met for the first time in this walk? */
static bool is_met(fsim_places *l, int q)
{
    const bool first = l->seen[q] != l->seens;
    l->seen[q] = l->seens;
    return first;
}

bool fsim_may_be_beside(fsim_places *l, int root, const fsim_own_set *s)
{
    const surroundings x = surroundings_of(l, root, s);
    l->seens++;
    FSIM_EACH_BIT(i, s->own)
    {
        const int at = root - FSIM_BACK + i;
        if (may_have_far(l, root, s, at))
            return true;
        for (int k = l->near_first[at]; k < l->near_first[at + 1]; k++)
            if (is_met(l, l->near[k]) && may_stand_beside(l, &x, l->near[k]))
                return true;
    }
    return false;
}

/* Places that a kernel with the set may have beside it: its members are no further apart than the bits of a set. */
typedef struct {
    int low, end;
} reach;

static reach reach_of(const fsim_places *l, int root, const fsim_own_set *s)
{
    const int low = root + s->last + 1 - FSIM_BITS, end = root + FSIM_BITS;
    return (reach){low > 0 ? low : 0, end < l->count ? end : l->count};
}

bool fsim_may_meet_contraction(fsim_places *l, int root, fsim_own_set *s)
{
    if (s->met == fsim_asked_for(l, root))
        return s->meets;
    const reach near = reach_of(l, root, s);
    const surroundings x = surroundings_of(l, root, s);
    int contraction[2 * FSIM_BITS], count = 0;
    for (int q = near.low; q < near.end; q++)
        if (fsim_place_node(l, q)->gemm.k && may_stand_beside(l, &x, q))
            contraction[count++] = q;
    s->met = fsim_asked_for(l, root);
    return s->meets = count > 0 && !fsim_is_aloof_set(l, root, s, contraction, count);
}

/* Does the higher place depend on the lower one, as fsim_leads_to says? Kept for the sets of one root. */
static bool leads_far(fsim_places *l, int low, int high)
{
    const uint64_t key = (uint64_t)low << 32 | (uint64_t)high << 1;
    uint64_t *known = &l->far_path[fsim_mix(1, key) % FAR_PATHS];
    if ((*known & ~(uint64_t)1) != key || *known == 0)
        *known = key | fsim_leads_to(l, low, high);
    return *known & 1;
}

/* The members of a set which no other member needs. */
static int find_sinks(const fsim_places *l, int root, const fsim_own_set *s, int *sink)
{
    int count = 0;
    FSIM_EACH_BIT(i, s->own)
    {
        const fsim_bits below = fsim_bits_shifted(l->after[root - FSIM_BACK + i], i + 1);
        if (!fsim_bits_meet(&below, &s->own))
            sink[count++] = root - FSIM_BACK + i;
    }
    return count;
}

/* A set whose company is looked for. */
typedef struct {
    int root;
    fsim_own_set *set;
    surroundings around;
    int sink[FSIM_BITS], sinks; /* the members that no other one needs */
    place_list queue;
} hosting;

/* How a far place depends on the members of a set. */
typedef enum { NEEDS_NONE, NEEDS_SOME, NEEDS_ALL, MAY_NEED } far_need;

/* Looks at what a place behind the set depends on, down to the set's root. */
static far_need need_of_later(fsim_places *l, const hosting *x, int q)
{
    enum { MOST = 32 };
    int way[MOST] = {q}, count = 1, members = 0, led = 0;
    while (led < x->sinks && leads_far(l, x->sink[led], q))
        led++;
    if (led == x->sinks)
        return NEEDS_ALL;
    for (int i = 0; i < count; i++)
        for (int k = l->pred_first[way[i]]; k < l->pred_first[way[i] + 1]; k++) {
            const int from = l->pred[k], bit = from - x->root + FSIM_BACK;
            bool known = from < x->root;
            for (int j = 0; j < count && !known; j++)
                known = way[j] == from;
            if (known)
                continue;
            if (count == MOST)
                return MAY_NEED;
            way[count++] = from;
            members += bit < FSIM_BITS && fsim_bit(&x->set->own, bit);
        }
    return members == 0 ? NEEDS_NONE : members == fsim_bits_count(&x->set->own) ? NEEDS_ALL : NEEDS_SOME;
}

/* Adds to the company a place that a kernel with the set may own besides, and lists it. */
static void add_company(fsim_places *l, hosting *x, int q, bool copies)
{
    fsim_company *all = &x->set->company;
    fsim_list_place(&x->queue, q);
    all->any = all->any || l->joinable[q];
    all->heavy = all->heavy || l->heavy[q];
    all->missed = all->missed || (l->missing && l->missing[q]);
    all->copies = all->copies || copies;
}

/* The same for a place too far from the set for the bits. */
static void list_far(fsim_places *l, hosting *x, int q)
{
    const far_need need = q > x->root ? need_of_later(l, x, q) : NEEDS_NONE;
    for (int i = 0; i < x->sinks && q < x->root; i++)
        if (leads_far(l, q, x->sink[i]))
            return;
    if (need == MAY_NEED)
        x->set->company = (fsim_company){true, true, true, true};
    else if (need != NEEDS_ALL)
        add_company(l, x, q, need == NEEDS_SOME);
}

/* Lists a place that a kernel with the set may own besides, unless it is listed. */
static void list_beside(fsim_places *l, hosting *x, int q)
{
    if (!is_met(l, q) || fsim_place_node(l, q)->gemm.k)
        return;
    if (q >= x->root + FSIM_AHEAD || q < x->root + x->set->last - FSIM_BITS) {
        list_far(l, x, q);
    } else if (may_stand_beside(l, &x->around, q)) {
        const int bit = q - x->root + FSIM_BACK;
        add_company(l, x, q, bit >= 0 && fsim_bit(&x->around.needing, bit));
    }
}

static bool is_whole(const fsim_places *l, const fsim_company *x)
{
    return x->any && x->heavy && x->copies && (x->missed || !l->missing);
}

fsim_company fsim_company_of(fsim_places *l, int root, fsim_own_set *s)
{
    if (s->company_for == fsim_asked_for(l, root))
        return s->company;
    const fsim_mark mark = fsim_save(l->a);
    hosting x = {.root = root, .set = s, .around = surroundings_of(l, root, s), .queue = {.a = l->a}};
    x.sinks = find_sinks(l, root, s, x.sink);
    l->seens++;
    s->company_for = fsim_asked_for(l, root);
    s->company = (fsim_company){0};
    FSIM_EACH_BIT(i, s->own)
    {
        l->seen[root - FSIM_BACK + i] = l->seens;
        fsim_list_place(&x.queue, root - FSIM_BACK + i);
    }
    for (int i = 0; i < x.queue.count && !is_whole(l, &s->company); i++)
        for (int k = l->touched_first[x.queue.item[i]]; k < l->touched_first[x.queue.item[i] + 1]; k++) {
            const int t = l->touched[k];
            if (l->walked[t] == l->seens)
                continue;
            l->walked[t] = l->seens;
            for (int r = l->touching_first[t]; r < l->touching_first[t + 1]; r++)
                list_beside(l, &x, l->touching[r]);
        }
    fsim_rewind(l->a, mark);
    return s->company;
}

int fsim_most_sharers(fsim_places *l, int root, const fsim_own_set *s, int tensor)
{
    const reach near = reach_of(l, root, s);
    const surroundings x = surroundings_of(l, root, s);
    int count = 1, at = l->touching_first[tensor], high = l->touching_first[tensor + 1];
    while (at < high) { /* the first one in reach */
        const int mid = (at + high) / 2;
        if (l->touching[mid] < near.low)
            at = mid + 1;
        else
            high = mid;
    }
    for (; at < l->touching_first[tensor + 1] && l->touching[at] < near.end; at++)
        count += may_stand_beside(l, &x, l->touching[at]);
    return count;
}

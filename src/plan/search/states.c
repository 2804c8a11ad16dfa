/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/states.h"

#include <limits.h>
#include <string.h>

/* Has a reader of the tensor run, or may a reader outside of the list have? */
bool fsim_read_before(const fsim_frontier *f, const state *s, int tensor)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    bool before = f->read_outside[tensor];
    for (int r = 0; r < t->readers && !before; r++) {
        const int reader = f->l.place[t->reader[r]];
        if (reader - s->base >= FSIM_BITS)
            break;
        before = fsim_has_run(s, reader);
    }
    return before;
}

static uint64_t hash_state(const state *s)
{
    uint64_t h = (uint64_t)s->base * 0x9e3779b97f4a7c15u + (uint64_t)s->passed + ((uint64_t)s->lifted << 40);
    for (int i = 0; i < FSIM_BITS_WORDS; i++) {
        h = (h ^ s->done.w[i]) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 31;
        h = (h ^ s->dropped.w[i]) * 0x94d049bb133111ebu;
        h = (h ^ s->behind.w[i] ^ s->owed.w[i] << 32 ^ s->owed.w[i] >> 32) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static bool same_state(const state *x, const state *y)
{
    return x->base == y->base && x->passed == y->passed && x->behind_base == y->behind_base && x->lifted == y->lifted &&
           fsim_bits_equal(&x->done, &y->done) && fsim_bits_equal(&x->dropped, &y->dropped) &&
           fsim_bits_equal(&x->behind, &y->behind) && fsim_bits_equal(&x->owed, &y->owed);
}

static void rehash(fsim_frontier *f)
{
    f->slots = f->slots ? f->slots * 4 : 1024;
    f->slot = fsim_new(f->a, int, f->slots);
    for (int i = 0; i < f->states; i++) {
        int *slot = &f->slot[hash_state(&f->state[i]) & (uint64_t)(f->slots - 1)];
        f->state[i].chain = *slot;
        *slot = i + 1;
    }
}

static uint64_t hash_front(const front *x)
{
    uint64_t h = (uint64_t)x->open * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        h = (h ^ x->done.w[i] ^ h >> 31) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

static int front_of(fsim_frontier *f, const state *s)
{
    fsim_bits open = s->done;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        open.w[i] = ~open.w[i];
    const int by = fsim_bits_next(&open, 0);
    const front want = {.open = s->base + by, .done = fsim_bits_shifted(s->done, -by), .ran = s->ran};
    if (f->fronts * 2 >= f->front_slots) {
        f->front_slots = f->front_slots ? f->front_slots * 4 : 1024;
        f->front_slot = fsim_new(f->a, int, f->front_slots);
        for (int i = 0; i < f->fronts; i++) {
            int *slot = &f->front_slot[hash_front(&f->front[i]) & (uint64_t)(f->front_slots - 1)];
            f->front[i].chain = *slot;
            *slot = i + 1;
        }
    }
    int *slot = &f->front_slot[hash_front(&want) & (uint64_t)(f->front_slots - 1)];
    for (int i = *slot; i; i = f->front[i - 1].chain)
        if (f->front[i - 1].open == want.open && fsim_bits_equal(&f->front[i - 1].done, &want.done))
            return i - 1;
    front *added = FSIM_PUSH(f->a, f->front, f->fronts, f->front_room);
    *added = want;
    added->to_go = -1;
    added->from = INT_MAX;
    added->chain = *slot;
    added->sibling = f->front_by_size[s->ran];
    *slot = f->front_by_size[s->ran] = f->fronts;
    return f->fronts - 1;
}

int fsim_find_state(const fsim_frontier *f, const state *s)
{
    if (f->slots == 0)
        return -1;
    for (int i = f->slot[hash_state(s) & (uint64_t)(f->slots - 1)]; i; i = f->state[i - 1].chain)
        if (same_state(&f->state[i - 1], s))
            return i - 1;
    return -1;
}

/* The number of the state equal to *s, which is added where it is new. */
int fsim_state_of(fsim_frontier *f, const state *s)
{
    const int known = fsim_find_state(f, s);
    if (known >= 0)
        return known;
    if (f->states * 2 >= f->slots)
        rehash(f);
    int *slot = &f->slot[hash_state(s) & (uint64_t)(f->slots - 1)];
    state *added = FSIM_PUSH(f->a, f->state, f->states, f->state_room);
    *added = *s;
    added->spent = added->to_go = added->ahead = -1;
    added->expanded = added->cut = added->beyond = false;
    added->ahead_by = added->expanded_peer = 0;
    added->chain = *slot;
    added->sibling = f->by_size[s->ran];
    *slot = f->by_size[s->ran] = f->states;
    const int at = f->states - 1, where = front_of(f, s);
    f->state[at].front = where;
    f->state[at].peer = f->front[where].first;
    f->front[where].first = at + 1;
    if (s->ran == f->l.count)
        f->last = at;
    return at;
}

/* Does x store everything that y stores, owe no more, and allow every launch order that y allows? Both have run the
 * same primitives. */
bool fsim_stores_more(const state *x, const state *y)
{
    if (x == y)
        return true;
    const fsim_bits dropped = x->base == y->base ? x->dropped : fsim_bits_shifted(x->dropped, x->base - y->base),
                    kept = fsim_bits_without(dropped, y->dropped),
                    owed = x->base == y->base ? x->owed : fsim_bits_shifted(x->owed, x->base - y->base),
                    more = fsim_bits_without(owed, y->owed);
    if (!fsim_bits_empty(&kept) || !fsim_bits_empty(&more) ||
        (x->base < y->base && (!fsim_bits_empty(&x->dropped) || !fsim_bits_empty(&x->owed))))
        return false; /* a lower base belongs to a result that was dropped, or to a primitive that y has still to run as
                         well */
    return x->passed == 0 || (x->passed == y->passed && x->behind_base == y->behind_base && x->lifted == y->lifted &&
                              fsim_bits_equal(&x->behind, &y->behind));
}

void fsim_set_expanded(fsim_frontier *f, int at)
{
    state *s = &f->state[at];
    if (s->expanded)
        return;
    s->expanded = true;
    s->expanded_peer = f->front[s->front].expanded;
    f->front[s->front].expanded = at + 1;
}

/* Is there another state that has run the same primitives, costs no more, and is at least as good for the rest? */
bool fsim_needless(const fsim_frontier *f, int at)
{
    const state *y = &f->state[at];
    for (int i = f->front[y->front].first; i; i = f->state[i - 1].peer) {
        const state *x = &f->state[i - 1];
        if (i - 1 != at && x->spent >= 0 && x->spent <= y->spent && fsim_stores_more(x, y) &&
            (x->spent < y->spent || !fsim_stores_more(y, x) || i - 1 < at))
            return true;
    }
    return false;
}

/* Moves the base up to the lowest place that has still to run, is not stored, or is owed. */
void fsim_settle_state(state *s)
{
    fsim_bits open = fsim_bits_or(s->dropped, s->owed);
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        open.w[i] |= ~s->done.w[i];
    const int by = fsim_bits_next(&open, 0);
    s->base += by;
    s->done = fsim_bits_shifted(s->done, -by);
    s->dropped = fsim_bits_shifted(s->dropped, -by);
    s->owed = fsim_bits_shifted(s->owed, -by);
}

bool fsim_was_behind(const state *s, int place)
{
    return place >= s->behind_base && place - s->behind_base < FSIM_BITS &&
           fsim_bit(&s->behind, place - s->behind_base);
}

/* What had run when the last kernel was passed over, as a kernel with this root sees it. */
typedef struct {
    const fsim_frontier *f;
    const state *s;
    int root, base;              /* what is below base is forgotten */
    fsim_bits known, yes, noted; /* as bits of the root's sets: looked at before; were at hand; are in *kept */
    fsim_bits *kept;             /* what the answers depend on, from base on */
} recalled;

static bool had_run(const recalled *r, int place) { return place >= r->base && fsim_was_behind(r->s, place); }

/* Could a kernel with this root have cloned place for its reader, as far as place alone decides? */
static bool may_be_copied(const recalled *r, int place)
{
    return place >= r->root - FSIM_BACK && r->f->l.clonable[place];
}

/* Had place run when the last kernel was passed over, or could a kernel with this root have cloned it for its reader?
 */
static bool was_at_hand(recalled *r, int place)
{
    const fsim_places *l = &r->f->l;
    const int bit = place - r->root + FSIM_BACK;
    if (bit < 0)
        return had_run(r, place);
    if (fsim_bit(&r->known, bit))
        return fsim_bit(&r->yes, bit);
    bool yes = had_run(r, place), copied = !yes && may_be_copied(r, place);
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1] && copied; k++)
        copied = was_at_hand(r, l->pred[k]);
    yes = yes || copied;
    fsim_bit_set(&r->known, bit);
    if (yes)
        fsim_bit_set(&r->yes, bit);
    return yes;
}

/* Adds what it depends on that place was at hand. */
static void note_at_hand(recalled *r, int place)
{
    const fsim_places *l = &r->f->l;
    const int bit = place - r->root + FSIM_BACK;
    if (bit >= 0 && fsim_bit(&r->noted, bit))
        return;
    if (bit >= 0)
        fsim_bit_set(&r->noted, bit);
    if (had_run(r, place))
        fsim_bit_set(r->kept, place - r->base);
    bool copied = may_be_copied(r, place);
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1] && copied; k++)
        copied = was_at_hand(r, l->pred[k]);
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1] && copied; k++)
        note_at_hand(r, l->pred[k]);
}

/* Was all that the set needs at hand? */
static bool was_ready(recalled *r, const fsim_own_set *set)
{
    bool all = !set->waits || r->s->lifted;
    const fsim_bits open = fsim_bits_without(set->needs, r->yes);
    FSIM_EACH_BIT(i, open)
    {
        all = all && was_at_hand(r, r->root - FSIM_BACK + i);
        if (!all)
            return false;
    }
    const fsim_places *l = &r->f->l;
    const int base = r->root - FSIM_BACK;
    if (set->needs_more)
        FSIM_EACH_BIT(i, set->far)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++)
        all = all && (l->pred[k] >= base || had_run(r, l->pred[k]));
    return all;
}

/* Adds what it depends on that the set was ready. */
static void note_ready(recalled *r, const fsim_own_set *set)
{
    const fsim_places *l = &r->f->l;
    const int base = r->root - FSIM_BACK;
    FSIM_EACH_BIT(i, set->needs)
    note_at_hand(r, base + i);
    if (set->needs_more)
        FSIM_EACH_BIT(i, set->far)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++)
        if (l->pred[k] < base)
            note_at_hand(r, l->pred[k]);
}

/* Keeps of the record of passed kernels what decides whether later kernels were ready then: the places that they
 * depend on. What is too far back is forgotten. That admits orders which are not launch orders, so the least cost
 * remains a lower bound. */
void fsim_recall_passed(fsim_frontier *f, state *s)
{
    const int base = s->base - FSIM_RECALLED;
    fsim_bits kept = {{0}};
    int passed = 0;
    for (int root = s->base; root < s->passed; root++) {
        if (!fsim_proceed(f, &f->budget, 0) && (f->haste || fsim_is_over(f))) {
            passed = 0;
            break;
        }
        if (fsim_has_run(s, root))
            continue;
        const fsim_family *family = fsim_family_of(&f->l, root);
        const fsim_bits done = fsim_bits_shifted(s->done, s->base + FSIM_BACK - root); /* as sets have their places */
        recalled r = {.f = f, .s = s, .root = root, .base = base, .kept = &kept};
        fsim_proceed(f, &f->budget, 1 + family->sets / 16);
        for (int i = 0; i < family->sets; i++) {
            const fsim_own_set *set = &family->set[i];
            if (root + set->last >= s->passed || fsim_bits_meet(&set->own, &done))
                continue;
            if (was_ready(&r, set)) {
                note_ready(&r, set);
                passed = root + set->last + 1 > passed ? root + set->last + 1 : passed;
            }
        }
    }
    s->passed = passed;
    s->behind = passed ? kept : (fsim_bits){{0}};
    s->behind_base = passed ? base : 0;
    s->lifted = passed && s->lifted;
}

/* Drops from `dropped` what no primitive that has still to run needs, directly or through other dropped results. */
void fsim_forget_dropped(const fsim_frontier *f, state *s)
{
    for (int bit = fsim_bits_last(&s->dropped); bit >= 0; bit--) {
        if (!fsim_bit(&s->dropped, bit))
            continue;
        const int place = s->base + bit;
        bool wanted = false;
        for (int k = f->l.succ_first[place]; k < f->l.succ_first[place + 1] && !wanted; k++)
            wanted = !fsim_has_run(s, f->l.succ[k]) || fsim_is_dropped(s, f->l.succ[k]);
        if (!wanted)
            fsim_bit_clear(&s->dropped, bit);
    }
}

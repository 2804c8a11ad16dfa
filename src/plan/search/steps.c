/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c: the steps of a state: every kernel that may be launched next, with every choice of clones and of results
 * to store that can pay. */
#include "plan/search/states.h"

#include <math.h>

enum {
    MOST_STORES = 64,    /* choices of stored results for one kernel */
    STEPS_IN_HASTE = 60, /* steps of a state after the budget is used up */
    ROOTS_IN_HASTE = 16, /* places that have still to run whose sets are tried then */
    MOST_FIRSTS = 4      /* ready places for which is checked whether other kernels may be launched before theirs */
};

/* Was this kernel ready when a kernel with a higher last primitive was launched? Then launching it now is not in
 * launch order. */
bool fsim_out_of_order(const expansion *x, const fsim_bits *copies)
{
    const state *s = &x->at;
    const fsim_places *l = &x->f->l;
    if (x->root + x->set->last >= s->passed || x->f->lean || (x->set->waits && !s->lifted))
        return false;
    const fsim_bits all = fsim_bits_or(x->set->own, *copies);
    const int base = x->root - FSIM_BACK;
    FSIM_EACH_BIT(i, all)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if ((bit < 0 || !fsim_bit(&all, bit)) && !fsim_was_behind(s, from))
            return false;
    }
    return true;
}

/* Bytes of results that no later kernel reads once `to` has run, among those that this kernel's members read and
 * those that were kept for clones. */
static fsim_sum freed(const expansion *x, const state *to)
{
    const fsim_places *l = &x->f->l;
    const fsim_graph *g = x->f->p->graph;
    fsim_sum bytes = 0;
    int seen[2 * FSIM_BITS], count = 0;
    for (int place = x->at.base < x->root - FSIM_BACK ? x->root - FSIM_BACK : x->at.base;
         place < l->count && place - x->at.base < FSIM_BITS; place++) {
        const int bit = fsim_bit_of(x, place);
        const bool own = bit >= 0 && bit < FSIM_BITS && fsim_bit(&x->set->own, bit);
        if (!own && !(fsim_is_dropped(&x->at, place) && !fsim_is_dropped(to, place)))
            continue;
        for (int k = 0; k < fsim_node_of(x->f, place)->args; k++) {
            const int t = fsim_node_of(x->f, place)->arg[k].tensor,
                      from = g->tensor[t].producer < 0 ? -1 : l->place[g->tensor[t].producer];
            bool unread =
                from >= 0 && !g->tensor[t].lasting && fsim_has_run(&x->at, from) && !fsim_is_dropped(&x->at, from);
            for (int q = 0; q < count && unread; q++)
                unread = seen[q] != t;
            for (int r = 0; r < g->tensor[t].readers && unread; r++) {
                const int reader = l->place[g->tensor[t].reader[r]];
                unread = reader >= 0 && fsim_has_run(to, reader) && !fsim_is_dropped(to, reader);
            }
            if (unread && count < 2 * FSIM_BITS) {
                seen[count++] = t;
                bytes += fsim_freed_bytes(&g->tensor[t]);
            }
        }
    }
    return bytes;
}

/* The state after kernel v, whose own results `dropped` are not stored, and `owed` for copies alone. */
static state after(expansion *x, const fsim_variant *v, fsim_bits dropped, fsim_bits owed)
{
    fsim_frontier *f = x->f;
    const int by = x->root - FSIM_BACK - x->at.base;
    state s = x->at;
    const int last = x->root + x->set->last;
    bool passes = false;
    for (int i = x->at.base; i < last && !passes; i++)
        passes = !fsim_has_run(&x->at, i) && !(i >= x->root && fsim_bit(&x->set->own, fsim_bit_of(x, i)));
    if (passes && !f->lean) {
        s.behind_base = x->at.base - FSIM_RECALLED;
        s.behind = fsim_bits_shifted(x->at.done, FSIM_RECALLED);
        fsim_bits_set_first(&s.behind, FSIM_RECALLED);
        s.passed = last;
        s.lifted = !x->closed;
    }
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int place = x->root - FSIM_BACK + i;
        const fsim_node *n = fsim_node_of(f, place);
        s.left -= f->floor_own[place] + f->floor_start[place];
        for (int k = 0; k < n->args; k++) {
            const int t = n->arg[k].tensor;
            if (f->floor_input[t] > 0 &&
                !fsim_read_before(f, &s, t)) /* s.done grows in this loop, so that each input counts once */
                s.left -= f->floor_input[t];
        }
        fsim_bit_set(&s.done, place - s.base);
        s.worth += f->shadow ? f->shadow->price[place] : 0;
        s.ran++;
    }
    s.left = fmax(s.left, 0);
    s.dropped = fsim_bits_or(s.dropped, fsim_bits_shifted(dropped, by));
    if (!fsim_bits_empty(&s.owed))
        fsim_pay_owed(x, &v->clones, &s);
    s.owed = fsim_bits_or(s.owed, fsim_bits_shifted(owed, by));
    fsim_forget_dropped(f, &s);
    fsim_settle_state(&s);
    if (s.passed > 0)
        fsim_recall_passed(f, &s);
    return s;
}

/* Can no kernel compute again what was not stored, or read what was stored for copies? The clones of a kernel are near
 * its root. */
static bool is_lost(const state *s)
{
    fsim_bits open = s->done;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        open.w[i] = ~open.w[i];
    return (fsim_bit(&s->dropped, 0) || fsim_bit(&s->owed, 0)) && fsim_bits_next(&open, 0) > FSIM_BACK;
}

void fsim_cut_off(fsim_frontier *f, const state *s)
{
    const fsim_sum least = s->spent + fsim_unavoidable(f, s);
    f->lost_at = least < f->lost ? s->base : f->lost_at;
    f->lost = least < f->lost ? least : f->lost;
}

void fsim_link_step(fsim_frontier *f, int from, const state *next, step by)
{
    by.to = fsim_state_of(f, next);
    const state *at = &f->state[from];
    state *to = &f->state[by.to];
    front *reached = &f->front[to->front];
    const fsim_sum spent = at->spent + by.cost;
    reached->from = at->ran < reached->from ? at->ran : reached->from;
    if (f->forward && (to->spent < 0 || spent < to->spent)) {
        to->spent = spent;
        to->parent = from;
        to->via = f->steps;
    }
    *FSIM_PUSH(f->a, f->step, f->steps, f->step_room) = by;
}

static void add_step(expansion *x, fsim_variant *v, fsim_bits dropped, fsim_bits owed)
{
    fsim_frontier *f = x->f;
    const bool free = fsim_is_free(x);
    const fsim_sum alone = free ? 0 : fsim_cost_alone(x, v, x->stores > MOST_STORES),
                   joined = free ? 0 : fsim_least_as_part(x, v, alone),
                   least = x->clipped && !free ? fsim_least_with(x, v) : joined, cost = least < joined ? least : joined;
    if (alone < 0)
        return;
    fsim_proceed(f, &f->budget, 4);
    state next = after(x, v, dropped, owed);
    if (is_lost(&next) || (!fsim_bits_empty(&next.owed) && fsim_owes_in_vain(f, &next)))
        return;
    fsim_sum peak = x->at.live;
    if (f->lean) {
        FSIM_EACH_BIT(i, v->stored)
        for (int r = 0; r < fsim_node_of(f, x->root - FSIM_BACK + i)->results; r++) {
            const fsim_tensor *t = &f->p->graph->tensor[fsim_node_of(f, x->root - FSIM_BACK + i)->result[r]];
            peak += r > 0 && t->readers == 0 ? 0 : fsim_taken_bytes(t);
        }
        next.live = peak - freed(x, &next);
    }
    x->as_launched = f->l.parted;
    step by = {.root = x->root,
               .set = x->set,
               .kernel = v,
               .cost = cost,
               .alone = f->l.parted && !free ? fsim_cost_alone(x, v, x->stores > MOST_STORES) : alone};
    x->as_launched = false;
    if (f->lean)
        by.peak = peak;
    fsim_link_step(f, x->from, &next, by);
}

/* Do all readers of place inside the set need it at its own point, directly or through other members? It can then be
 * stored without a second evaluation. */
static bool read_in_place(const expansion *x, int place)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++) {
        const int bit = fsim_bit_of(x, l->succ[k]);
        const fsim_node *n = fsim_node_of(x->f, l->succ[k]);
        if (bit >= FSIM_BITS || !fsim_bit(&x->set->own, bit) || fsim_ops[n->op].class == FSIM_REDUCE)
            continue;
        for (int q = 0; q < n->args; q++)
            if (n->arg[q].tensor == fsim_node_of(x->f, place)->result[0] &&
                (n->arg[q].how != FSIM_READ_MAP || !fsim_map_is_identity(&n->arg[q].map)))
                return false;
        if (!read_in_place(x, l->succ[k]))
            return false;
    }
    return true;
}

/* Let y be the one reader of z in the set whose result is dropped. Storing z, so that y can be computed again from
 * it, is never better than storing y: the other choice writes and reads no more, and computes nothing twice. That
 * holds unless the contents of L2 differ, so no later kernel may read the other arguments of y; and where a later
 * kernel is a product, which with y in it is no call of the vendor's library. */
static bool better_stored_later(const expansion *x, int z, const fsim_bits *dropped)
{
    const fsim_frontier *f = x->f;
    const fsim_places *l = &f->l;
    const fsim_graph *g = f->p->graph;
    int y = -1;
    for (int k = l->succ_first[z]; k < l->succ_first[z + 1]; k++) {
        const int bit = fsim_bit_of(x, l->succ[k]);
        if (bit >= FSIM_BITS || !fsim_bit(&x->set->own, bit) || (fsim_bit(dropped, bit) && y >= 0))
            return false;
        y = fsim_bit(dropped, bit) ? l->succ[k] : y;
    }
    if (y < 0 || f->every_clone || x->anywhere || !fsim_reads_in_place(f, y) || !read_in_place(x, y) ||
        g->tensor[fsim_node_of(f, z)->result[0]].bytes < g->tensor[fsim_node_of(f, y)->result[0]].bytes)
        return false;
    for (int k = l->succ_first[y]; k < l->succ_first[y + 1]; k++)
        if (fsim_is_product(fsim_node_of(f, l->succ[k])))
            return false;
    for (int k = 0; k < fsim_node_of(f, y)->args; k++) {
        const fsim_tensor *t = &g->tensor[fsim_node_of(f, y)->arg[k].tensor];
        const int from = t->producer < 0 ? -1 : l->place[t->producer], at = from < 0 ? -1 : fsim_bit_of(x, from);
        if (from != z && at >= 0 && at < FSIM_BITS && fsim_bit(&x->set->own, at))
            return false; /* y may be computed only in a later walk of the row than z */
        for (int r = 0; r < t->readers; r++) {
            const int reader = l->place[t->reader[r]], bit = reader < 0 ? -1 : fsim_bit_of(x, reader);
            const bool own = bit >= 0 && bit < FSIM_BITS && fsim_bit(&x->set->own, bit);
            if (reader < 0 || (!own && !fsim_has_run(&x->at, reader)) || fsim_is_dropped(&x->at, reader) ||
                (own && reader != y && fsim_bit(dropped, bit)))
                return false;
        }
    }
    return true;
}

/* May the kernel with these clones store place, as far as its points tell? */
static bool may_store(const expansion *x, int place, const fsim_bits *copies)
{
    const fsim_places *l = &x->f->l;
    const int64_t points = fsim_node_of(x->f, place)->points;
    if (x->set->points == 0 || points == x->set->points || points == x->set->whole)
        return true;
    for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++)
        if (fsim_ops[fsim_node_of(x->f, l->succ[k])->op].class == FSIM_ASSEMBLE)
            return true;
    FSIM_EACH_BIT(i, *copies)
    if (!fsim_classes[fsim_ops[fsim_node_of(x->f, x->root - FSIM_BACK + i)->op].class].inlines)
        return true; /* the clones have a say in the space */
    return false;
}

/* x->anywhere: what the kernel costs at least, in relaxed costs. */
static void note_cost(expansion *x, fsim_variant *v)
{
    const fsim_sum alone = fsim_cost_alone(x, v, x->stores > MOST_STORES);
    if (alone < 0)
        return;
    const fsim_sum joined = fsim_least_as_part(x, v, alone), any = x->clipped ? fsim_least_with(x, v) : joined,
                   cost = any < joined ? any : joined;
    x->least = cost < x->least ? cost : x->least;
}

/* Generates every choice of results to store, from the last member to the first: what a dropped result needs is
 * needed later too. */
static void choose_stores(expansion *x, int c, int bit, fsim_bits stored, fsim_bits dropped, fsim_bits owed)
{
    const fsim_places *l = &x->f->l;
    if (x->stores > MOST_STORES)
        return;
    if (!fsim_proceed(x->f, &x->f->budget, 1) && x->stores > 0) {
        x->cut = true;
        return;
    }
    while (bit >= 0 && !fsim_bit(&x->set->own, bit))
        bit--;
    if (bit < 0) {
        fsim_variant *v =
            ++x->stores > MOST_STORES ? NULL : fsim_variant_of(&x->f->l, x->family, x->set, &x->choice[c], &stored);
        x->legal = x->legal || v;
        if (v && !fsim_bits_empty(&owed) && !fsim_owing_pays(x, v, &x->choice[c], &owed)) {
            v = NULL;
            x->stores--; /* no choice */
        }
        if (v && x->anywhere)
            note_cost(x, v);
        else if (v)
            add_step(x, v, dropped, owed);
        return;
    }
    const int place = x->root - FSIM_BACK + bit;
    const bool read_later = fsim_bit(&x->set->must, bit) || fsim_bit(&x->set->may, bit);
    bool wanted = read_later;
    for (int k = l->succ_first[place]; k < l->succ_first[place + 1] && !wanted; k++) {
        const int reader = fsim_bit_of(x, l->succ[k]);
        wanted = reader < FSIM_BITS && fsim_bit(&dropped, reader);
    }
    if (wanted && l->clonable[place] && !fsim_bit(&x->set->must, bit)) {
        fsim_bits more = dropped;
        fsim_bit_set(&more, bit);
        choose_stores(x, c, bit - 1, stored, more, owed);
    }
    if (!wanted && fsim_bits_empty(&owed) && fsim_may_owe(x, place)) {
        fsim_bits with = stored, more = owed;
        fsim_bit_set(&with, bit);
        fsim_bit_set(&more, bit);
        choose_stores(x, c, bit - 1, with, dropped, more);
    }
    if (wanted && (!may_store(x, place, &x->choice[c]) || (!read_later && better_stored_later(x, place, &dropped))))
        return;
    if (wanted)
        fsim_bit_set(&stored, bit);
    choose_stores(x, c, bit - 1, stored, dropped, owed);
}

/* Makes steps of the choices of clones from `first` on. */
static void launch_choices(expansion *x, int first)
{
    fsim_frontier *f = x->f;
    const fsim_bits none = {{0}};
    fsim_proceed(f, &f->budget, 4 * (x->choices - first));
    for (int c = first; c < x->choices; c++)
        if (!fsim_out_of_order(x, &x->choice[c])) {
            x->stores = 0;
            choose_stores(x, c, fsim_bits_last(&x->set->own), none, none, none);
            fsim_variant *v = x->stores > MOST_STORES
                                  ? fsim_variant_of(&f->l, x->family, x->set, &x->choice[c], &x->set->must)
                                  : NULL;
            x->legal = x->legal || v;
            if (v) /* too many choices: one step as if all results that may be stored were stored for free, which no
                      choice beats */
                add_step(x, v, none, none);
        }
}

static void launch(expansion *x)
{
    fsim_frontier *f = x->f;
    fsim_bits copies = {{0}}, none = {{0}};
    x->clipped = x->legal = x->patient = false;
    if (fsim_is_free(x)) {
        fsim_variant *free = fsim_free_kernel(x);
        if (free)
            add_step(x, free, none, none);
        return;
    }
    const int base = x->root - FSIM_BACK;
    x->choices = 0;
    x->upstream = none;
    if (f->p->recompute)
        FSIM_EACH_BIT(i, x->set->own)
    fsim_find_upstream(x, base + i);
    FSIM_EACH_BIT(i, x->set->own)
    if (!fsim_add_needed(x, base + i, &copies))
        return;
    if (!x->set->connected && fsim_bits_empty(&x->upstream))
        return;
    fsim_choose_copies(x, copies, none);
    f->clipped = f->clipped || x->clipped;
    launch_choices(x, 0);
    if (!x->clipped || x->legal)
        return;
    x->clipped = false; /* none of them is a kernel: another one may be */
    x->patient = true;
    x->choices = 0;
    fsim_choose_copies(x, copies, none);
    launch_choices(x, 0);
    x->cut = x->cut || (x->clipped && !x->legal);
}

/* What its members take of each unit, as a kernel or, where that may be less, as a part of one; a product costs no less
 * than that as a part, either. -1: not known. */
static fsim_sum least_by_units(const expansion *x)
{
    const fsim_bits none = {{0}};
    if (fsim_is_borrowed(x))
        return 0;
    const fsim_sum alone = fsim_least_with(x, NULL);
    if (!x->set->joinable || !fsim_is_joinable_here(x))
        return alone;
    fsim_variant *v = fsim_variant_of(&x->f->l, x->family, x->set, &none, &x->set->must);
    return v ? fsim_sum_least(alone, fsim_least_joined(x->f, x->set, x->root, v, true)) : -1;
}

/* Notes what the kernel costs with each of the choices of clones. */
static void price_choices(expansion *x)
{
    const fsim_bits none = {{0}};
    fsim_own_set *set = x->set;
    for (int c = 0; c < x->choices; c++) {
        x->stores = fsim_bits_empty(&set->may) ? MOST_STORES + 1 : 0;
        choose_stores(x, c, fsim_bits_last(&set->own), none, none, none);
        fsim_variant *v =
            x->stores > MOST_STORES ? fsim_variant_of(&x->f->l, x->family, set, &x->choice[c], &set->must) : NULL;
        if (v)
            note_cost(x, v);
    }
}

/* The same by prices of its choices of clones and results. */
static fsim_sum least_by_price(expansion *x)
{
    fsim_frontier *f = x->f;
    fsim_own_set *set = x->set;
    const fsim_bits none = {{0}};
    if (f->p->recompute)
        FSIM_EACH_BIT(i, set->own)
    fsim_find_upstream(x, x->root - FSIM_BACK + i);
    if (!set->connected && fsim_bits_empty(&x->upstream))
        return FSIM_NEVER;
    fsim_borrow_room(x);
    fsim_choose_copies(x, none, none);
    price_choices(x);
    fsim_return_room(x);
    if (x->clipped && x->least == FSIM_NEVER) /* none of those that were tried is a kernel: another one may be */
        x->least = fsim_sum_most(0, least_by_units(x));
    return x->cut ? 0 : x->least; /* cut: the budget ended before all choices were seen */
}

fsim_sum fsim_least_of_set(fsim_frontier *f, int root, const fsim_family *family, fsim_own_set *set, fsim_closeness how)
{
    expansion x = {.f = f, .family = family, .set = set, .root = root, .anywhere = true, .least = FSIM_NEVER};
    x.at.base = f->l.count;
    f->l.owned = true;
    const fsim_sum least = how == FSIM_BY_UNITS ? least_by_units(&x) : least_by_price(&x);
    f->l.owned = false;
    return least;
}

/* Can the kernel of `place`, which is ready, be passed over, so that a kernel with this root or a higher one is
 * launched first? That is so if its last primitive is behind that root, or if it depends on a kernel that is passed
 * over. A kernel that it depends on can't itself depend on it. */
static bool may_be_passed(fsim_frontier *f, const state *s, int place, int root)
{
    const fsim_bits later = fsim_bits_shifted(f->l.after[place], place + 1 - s->base);
    fsim_bits passed = {{0}};
    for (bool more = true; more;) {
        more = false;
        if (!fsim_proceed(f, &f->budget, f->prospects / 4) && fsim_is_over(f))
            return true;
        for (int i = 0; i < f->prospects; i++) {
            const prospect *x = &f->prospect[i];
            if (x->last < root && !fsim_bits_meet(&x->waits_for, &passed))
                continue;
            if (fsim_bit(&x->own, place - s->base))
                return true;
            const fsim_bits fresh = fsim_bits_without(x->own, passed);
            if (!fsim_bits_empty(&fresh) && !fsim_bits_meet(&x->own, &later)) {
                passed = fsim_bits_or(passed, fresh);
                more = true;
            }
        }
    }
    return false;
}

/* Notes which roots decide about the steps of the state. Those behind the last one that is ready do not: where every
 * place has a producer, none further on is ready, whatever comes there. */
static void look_around(const expansion *x, bool ready)
{
    fsim_frontier *f = x->f;
    state *at = &f->state[x->from];
    if (!ready && !f->has_sources)
        return;
    at->ahead_by = x->root + 1 - at->ran;
    f->looked_ahead = at->ahead_by > f->looked_ahead ? at->ahead_by : f->looked_ahead;
    f->looked_back = at->ran - at->base > f->looked_back ? at->ran - at->base : f->looked_back;
}

/* Is no plan looked for that has set i of the root's family in it, and came to the state as it did? */
static bool is_beyond(const expansion *x, int i)
{
    fsim_frontier *f = x->f;
    const fsim_sum excess = f->shadow->excess[x->root][i], before = f->forward ? x->at.spent - x->at.worth : 0;
    if (excess == FSIM_NEVER || !fsim_is_beyond(f, before + excess))
        return false;
    if (f->forward && f->shadow->bound + before + excess < f->lost) {
        f->lost = f->shadow->bound + before + excess;
        f->lost_at = x->root;
    }
    return true;
}

/* What the current set waits for, as bits of the state. ran: what has run, as bits of the set. */
static fsim_bits waits_for(const expansion *x, const fsim_bits *ran)
{
    const int base = x->root - FSIM_BACK, by = base - x->at.base;
    const fsim_bits near = fsim_bits_without(x->set->needs, *ran);
    fsim_bits all = fsim_bits_empty(&near) ? near : fsim_bits_shifted(near, by);
    const fsim_places *l = &x->f->l;
    if (x->set->needs_more && by > 0)
        FSIM_EACH_BIT(i, x->set->far)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++)
        if (l->pred[k] < base && !fsim_has_run(&x->at, l->pred[k]))
            fsim_bit_set(&all, l->pred[k] - x->at.base);
    return x->set->waits && x->closed ? fsim_bits_or(all, x->unmet) : all;
}

/* Generates the steps for the sets of one root that are ready. */
static void expand_root(expansion *x, bool ready)
{
    fsim_frontier *f = x->f;
    const state *s = &x->at;
    const int by = x->root - FSIM_BACK - s->base;
    const fsim_bits done = fsim_bits_shifted(s->done, -by); /* as sets have their places */
    fsim_bits ran = done;
    fsim_bits_set_first(&ran, -by);
    x->family = fsim_family_of(&f->l, x->root);
    look_around(x, ready);
    x->cut = x->cut || !x->family->complete;
    for (int i = 0; i < x->family->sets; i++) {
        x->set = &x->family->set[i];
        if (!fsim_proceed(f, &f->budget, 1) &&
            (f->steps - f->state[x->from].first > STEPS_IN_HASTE || fsim_is_over(f))) {
            x->cut = true;
            return;
        }
        if (fsim_bits_meet(&x->set->own, &done))
            continue;
        if (f->shadow && is_beyond(x, i))
            continue;
        const int last = x->root + x->set->last;
        if (last - s->base >= FSIM_BITS) {
            x->cut = true;
            continue;
        }
        const fsim_bits waits = waits_for(x, &ran);
        *FSIM_PUSH(f->a, f->prospect, f->prospects, f->prospect_room) =
            (prospect){fsim_bits_shifted(x->set->own, by), waits, last};
        if (ready && fsim_bits_empty(&waits) && !(x->set->waits && x->closed))
            launch(x);
    }
}

/* Finds what before the barrier has still to run. Places behind the state's bits need not be known: what waits at the
 * barrier is behind all of them. */
static void look_at_barrier(expansion *x)
{
    const fsim_frontier *f = x->f;
    for (int place = x->at.base; f->p->graph->barrier && place < f->l.count && place - x->at.base < FSIM_BITS; place++)
        if (fsim_node_of(f, place)->side == FSIM_BEFORE_BARRIER && !fsim_has_run(&x->at, place)) {
            x->closed = true;
            fsim_bit_set(&x->unmet, place - x->at.base);
        }
}

void fsim_expand(fsim_frontier *f, int from)
{
    f->state[from].to_go = f->state[from].ahead = -1;
    f->expansions++;
    if (fsim_repeat_steps(f, from))
        return;
    expansion x = {.f = f, .from = from, .at = f->state[from]};
    const state *s = &x.at;
    fsim_borrow_room(&x);
    look_at_barrier(&x);
    int first[MOST_FIRSTS], firsts = 0, roots = 0; /* first: the lowest places that are ready */
    f->state[from].first = f->steps;
    f->prospects = 0;
    for (int root = s->base; root < f->l.count && root - s->base < FSIM_BITS; root++) {
        if (fsim_has_run(s, root))
            continue;
        if (fsim_is_over(f) ||
            (f->haste && (f->steps - f->state[from].first > STEPS_IN_HASTE || roots == ROOTS_IN_HASTE))) {
            x.cut = true;
            break;
        }
        roots++;
        bool over = false; /* in haste, orders that are not launch orders do no harm */
        for (int k = 0; k < firsts && !f->lean && !f->haste && !over; k++)
            over = !may_be_passed(f, s, first[k], root);
        if (over)
            break;
        bool ready = !x.closed || fsim_node_of(f, root)->side != FSIM_AFTER_BARRIER;
        for (int k = f->l.pred_first[root]; k < f->l.pred_first[root + 1] && ready; k++)
            ready = fsim_has_run(s, f->l.pred[k]);
        if (ready && firsts < MOST_FIRSTS)
            first[firsts++] = root;
        x.root = root;
        expand_root(&x, ready);
    }
    fsim_return_room(&x);
    f->state[from].steps = f->steps - f->state[from].first;
    fsim_set_expanded(f, from);
    f->state[from].cut = x.cut || !f->l.complete;
    if (f->forward && f->state[from].cut)
        fsim_cut_off(f, &x.at);
}

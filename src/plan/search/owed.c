/* SPDX-License-Identifier: Apache-2.0 */
/* owed.c: results that are stored for nothing but a copy of what is stored as well. A kernel of fusesim's own never
 * gains by that. A product with what the vendor's library fuses does, where the library's call is slower than a kernel
 * of ours: with one such result more it is no call. */
#include "plan/search/frontier.h"
#include "plan/search/states.h"

void fsim_pay_owed(const expansion *x, const fsim_bits *clones, state *s)
{
    const fsim_places *l = &x->f->l;
    const int base = x->root - FSIM_BACK;
    FSIM_EACH_BIT(i, *clones)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if (fsim_is_owed(s, from) && (bit < 0 || !fsim_bit(clones, bit)))
            fsim_bit_clear(&s->owed, from - s->base);
    }
}

/* Is one of what place reads among `of`, bits from base on? */
static bool reads_one(const fsim_places *l, int place, int base, const fsim_bits *of)
{
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int bit = l->pred[k] - base;
        if (bit >= 0 && bit < FSIM_BITS && fsim_bit(of, bit))
            return true;
    }
    return false;
}

/* May a kernel that has still to run copy what reads place, directly or through others that it copies too? */
static bool may_pay(const fsim_frontier *f, const state *s, int place)
{
    const fsim_places *l = &f->l;
    fsim_bits copied = {{0}};
    fsim_bit_set(&copied, 0);
    for (int y = place + 1; y < l->count && y - place < FSIM_BITS; y++) {
        if (!l->clonable[y] || !fsim_has_run(s, y))
            continue;
        if (!reads_one(l, y, place, &copied))
            continue;
        fsim_bit_set(&copied, y - place);
        for (int k = l->succ_first[y]; k < l->succ_first[y + 1]; k++)
            if (!fsim_has_run(s, l->succ[k]))
                return true;
    }
    return false;
}

bool fsim_owes_in_vain(const fsim_frontier *f, const state *s)
{
    FSIM_EACH_BIT(i, s->owed)
    if (!may_pay(f, s, s->base + i))
        return true;
    return false;
}

/* Is what the member with this bit makes read by a copy of another member, which has readers besides the set, with
 * whatever members lie between copied too? */
static bool leads_outside(const expansion *x, int bit)
{
    const fsim_places *l = &x->f->l;
    const int base = x->root - FSIM_BACK;
    fsim_bits copied = {{0}};
    fsim_bit_set(&copied, bit);
    for (int i = bit + 1; i < FSIM_BITS; i++) {
        const int y = base + i;
        if (!fsim_bit(&x->set->own, i) || !l->clonable[y] || !reads_one(l, y, base, &copied))
            continue;
        fsim_bit_set(&copied, i);
        for (int k = l->succ_first[y]; k < l->succ_first[y + 1]; k++) {
            const int reader = fsim_bit_of(x, l->succ[k]);
            if ((reader >= FSIM_BITS || !fsim_bit(&x->set->own, reader)) &&
                (x->anywhere || !fsim_has_run(&x->at, l->succ[k])))
                return true;
        }
    }
    return false;
}

bool fsim_may_owe(expansion *x, int place)
{
    const bool stored = true;
    fsim_places *l = &x->f->l;
    if (!x->f->p->recompute || x->f->lean || !leads_outside(x, fsim_bit_of(x, place)))
        return false;
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int *node = &l->node[x->root - FSIM_BACK + i];
        if (fsim_is_product(&x->f->p->graph->node[*node]) &&
            fsim_loses_as_call(l, fsim_candidate_of(l->p, node, 1, &stored)))
            return true;
    }
    return false;
}

/* Seconds of DRAM are added to both by the same norm, so that the gain is greatest with all in L2 that may be, or with
 * nothing there. */
bool fsim_owing_pays(const expansion *x, fsim_variant *v, const fsim_bits *clones, const fsim_bits *owed)
{
    const fsim_bits stored = fsim_bits_without(v->stored, *owed);
    fsim_variant *call = fsim_variant_of(&x->f->l, x->family, x->set, clones, &stored);
    if (!call) {
        x->f->owed_left_out = x->f->owed_left_out || (x->f->owes_nothing && !x->anywhere);
        return !x->f->owes_nothing || x->anywhere;
    }
    const fsim_sum cold = fsim_cost_of(&x->f->l, v, 0, 0), cold_call = fsim_cost_of(&x->f->l, call, 0, 0);
    const bool pays =
        cold_call < 0 || (cold >= 0 && cold < cold_call) || fsim_relaxed_cost(x, v) < fsim_relaxed_cost(x, call);
    x->f->owed_left_out = x->f->owed_left_out || (pays && x->f->owes_nothing && !x->anywhere);
    return pays && (!x->f->owes_nothing || x->anywhere);
}

void fsim_frontier_owes_nothing(fsim_frontier *f) { f->owes_nothing = true; }

bool fsim_frontier_left_owed_out(const fsim_frontier *f) { return f->owed_left_out; }

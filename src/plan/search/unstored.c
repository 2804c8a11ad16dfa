/* SPDX-License-Identifier: Apache-2.0 */
/* unstored.c: results that a kernel kept to itself. A copy that runs later can't read them, though its place has run
 * and nothing that has still to run needs it but for the copy. States do not tell such results from those that were
 * stored for a reader that has run, so that labels do. */
#include "plan/search/labels.h"

/* From the last place to the first: who may be copied leads, directly or through copies, to what has still to run. */
static fsim_bits *copy_reads(fsim_frontier *f, int at)
{
    const fsim_places *l = &f->l;
    const state *s = &f->state[at];
    front *x = &f->front[s->front];
    if (x->copy_reads)
        return x->copy_reads;
    x->copy_reads = fsim_new(f->a, fsim_bits, 1);
    const int base = x->open - FSIM_BACK;
    fsim_bits copied = {{0}};
    for (int bit = FSIM_BITS - 1; bit >= 0; bit--) {
        const int place = base + bit;
        if (place < 0 || place >= l->count || !fsim_has_run(s, place))
            continue;
        bool leads = false;
        for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++) {
            const int reader = l->succ[k] - base;
            const bool is_copied = reader < FSIM_BITS && fsim_bit(&copied, reader);
            leads = leads || is_copied || !fsim_has_run(s, l->succ[k]);
            if (is_copied)
                fsim_bit_set(x->copy_reads, bit);
        }
        if (leads && l->clonable[place] && !f->stale[place])
            fsim_bit_set(&copied, bit);
    }
    return x->copy_reads;
}

fsim_bits fsim_unstored_after(l2_search *w, int parent, const step *by, int to)
{
    fsim_frontier *f = w->f;
    const label *at = &w->label[parent];
    const fsim_bits *read = copy_reads(f, to);
    const int before = f->front[f->state[at->state].front].open, after = f->front[f->state[to].front].open;
    const fsim_bits kept = fsim_bits_without(by->set->own, by->kernel->stored),
                    own = fsim_bits_shifted(kept, by->root - after),
                    older = fsim_bits_shifted(at->unstored, before - after);
    fsim_bits all = fsim_bits_or(own, older);
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        all.w[i] &= read->w[i];
    return all;
}

bool fsim_reads_unstored(const l2_search *w, const label *at, const step *by, const fsim_bits *clones)
{
    const fsim_places *l = &w->f->l;
    const int base = by->root - FSIM_BACK, open = w->f->front[w->f->state[at->state].front].open - FSIM_BACK;
    FSIM_EACH_BIT(i, *clones)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++) {
        const int from = l->pred[k], bit = from - base, place = from - open;
        const bool here = bit >= 0 && (fsim_bit(clones, bit) || fsim_bit(&by->set->own, bit));
        if (!here && place >= 0 && place < FSIM_BITS && fsim_bit(&at->unstored, place))
            return true;
    }
    return false;
}

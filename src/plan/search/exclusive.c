/* SPDX-License-Identifier: Apache-2.0 */
/* exclusive.c: prices for lists with more sets than can be listed. Of some primitives no kernel has two, so that each
 * is worth what a kernel with it costs at least, and the others nothing. A contraction may be cheaper in a chain with
 * another one, which is in one kernel only: that one is worth so much less than nothing. */
#include "plan/search/shadow.h"

#include "fusion/chain.h"
#include "plan/search/places.h"
#include "plan/search/states.h"

#include <math.h>

enum { MOST_PLACES = 512, MOST_CHAINS = 16 };

typedef struct {
    int first, second;
    double least; /* what a kernel with both costs at least */
} chained;

typedef struct {
    fsim_frontier *f;
    double *least;    /* per place: what a kernel with it costs at least, if that is no chain */
    bool *never_both; /* [x * count + y]: no kernel has both */
    bool *may;        /* per place: it may have a price yet */
    chained *chain;
    int chains, room;
} exclusive;

static double in_ticks(double seconds) { return seconds / FSIM_TICK_S * (1 - 1e-9); }

/* Finds what kernels with each place cost at least: its launch, and a contraction that is none of several side by
 * side. */
static void find_least(exclusive *w)
{
    const fsim_frontier *f = w->f;
    const fsim_limits limits = fsim_limits_of(f->p);
    bool known = f->p->objective != FSIM_MINIMISE_BYTES && !fsim_floor_may_be_masked(f->p);
    fsim_joint *joint = fsim_new(f->a, fsim_joint, MOST_CHAINS);
    for (int i = 0; i < f->l.count && known; i++) {
        const int n = f->l.node[i],
                  chains = fsim_is_product(fsim_node_of(f, i)) ? fsim_chains_from(&limits, n, joint, MOST_CHAINS) : 0;
        known = chains >= 0;
        for (int k = 0; k < chains; k++) {
            const int second = f->l.place[joint[k].second];
            const fsim_chain_pair pair = {n,    joint[k].second, (double)joint[k].rows, (double)joint[k].width, false,
                                          false};
            if (second >= 0)
                *FSIM_PUSH(f->a, w->chain, w->chains, w->room) =
                    (chained){i, second,
                              f->floor_launch + in_ticks(fsim_least_chain_call_s(f->p->graph, f->p->hw, pair,
                                                                                 fsim_floor_launch(f->p)))};
        }
    }
    for (int i = 0; i < f->l.count; i++) {
        w->least[i] = f->floor_launch;
        if (known && fsim_node_of(f, i)->gemm.k && fsim_contraction_siblings(&limits, f->l.node[i]) == 0)
            w->least[i] += in_ticks(fsim_contraction_alone_for(f->p, f->l.node[i]));
    }
}

static void find_never_both(exclusive *w)
{
    fsim_places *l = &w->f->l;
    bool path;
    for (int y = 0; y < l->count; y++)
        for (int x = 0; x < y; x++)
            w->never_both[x * l->count + y] = w->never_both[y * l->count + x] =
                fsim_never_together(l, x, y) || fsim_separated(l, x, y, &path);
}

/* The place that leaves most to be priced, with what no kernel has with it; -1: none may have a price. */
static int next_priced(const exclusive *w)
{
    const int count = w->f->l.count;
    double most = 0;
    int best = -1;
    for (int i = 0; i < count; i++) {
        double left = w->may[i] ? w->least[i] : 0;
        for (int k = 0; k < count && w->may[i]; k++)
            left += w->may[k] && w->never_both[i * count + k] ? w->least[k] : 0;
        if (left > most) {
            most = left;
            best = i;
        }
    }
    return best;
}

/* Takes from what chains with another one is priced too high for the chain. */
static void mind_chains(const exclusive *w, double *price)
{
    for (int k = 0; k < w->chains; k++) {
        const chained *x = &w->chain[k];
        const double over = fmax(price[x->first], 0) + fmax(price[x->second], 0) - x->least;
        if (over <= 0)
            continue;
        double *other = price[x->first] > 0 ? &price[x->second] : &price[x->first];
        *other = fmin(*other, -over);
    }
}

void fsim_price_exclusive(fsim_frontier *f, fsim_shadow *out)
{
    const int count = f->l.count;
    exclusive w = {.f = f};
    *out = (fsim_shadow){.price = fsim_new(f->a, fsim_sum, count + 1)};
    if (count > MOST_PLACES)
        return;
    w.least = fsim_new(f->a, double, count + 1);
    w.never_both = fsim_new(f->a, bool, count *count + 1);
    w.may = fsim_new(f->a, bool, count + 1);
    double *price = fsim_new(f->a, double, count + 1);
    find_least(&w);
    find_never_both(&w);
    for (int i = 0; i < count; i++)
        w.may[i] = !(f->side && f->side->nothing && f->side->nothing[f->l.node[i]]);
    for (int i = next_priced(&w); i >= 0; i = next_priced(&w)) {
        price[i] = w.least[i];
        for (int k = 0; k < count; k++)
            w.may[k] = w.may[k] && w.never_both[i * count + k];
        w.may[i] = false;
    }
    mind_chains(&w, price);
    for (int i = 0; i < count; i++) {
        out->price[i] = (fsim_sum)floor(price[i]);
        out->bound += out->price[i];
    }
}

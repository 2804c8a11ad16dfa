/* SPDX-License-Identifier: Apache-2.0 */
/* shadow.c: prices of primitives, one after the other: as much as the sets that have it, and otherwise only primitives
 * with a price, allow. The primitives are taken from the last to the first, when those sets are the ones with this
 * root, and from the first to the last; the better prices are kept. Where sets are intervals of the list, as in chains,
 * both are as good as any, since a price then is what one primitive more adds to the shortest path.
 *
 * A set is first charged a bound that is quickly found; what its kernel really costs is asked only where that may decide
 * about a price. */
#include "plan/search/shadow.h"

#include "plan/search/places.h"
#include "plan/search/pricer.h"
#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
#include <stdlib.h>

/* Do kernels at both roots, whose families are the same, read the same graph inputs for the first time? */
static bool read_alike(const fsim_frontier *f, int x, int y)
{
    const fsim_places *l = &f->l;
    const fsim_graph *g = f->p->graph;
    const fsim_family *family = l->family[x];
    for (int i = -family->back; i <= family->reach; i++)
        for (int k = 0; k < fsim_node_of(f, x + i)->args; k++) {
            const int one = fsim_node_of(f, x + i)->arg[k].tensor, other = fsim_node_of(f, y + i)->arg[k].tensor;
            const fsim_tensor *t = &g->tensor[one], *u = &g->tensor[other];
            if (t->producer >= 0 && u->producer >= 0)
                continue;
            if (f->read_outside[one] != f->read_outside[other] || t->readers != u->readers ||
                fsim_may_reside(f->p, one) != fsim_may_reside(f->p, other))
                return false;
            for (int r = 0; r < t->readers; r++) /* from the same places of the same list, or from elsewhere */
                if (one != other && l->place[t->reader[r]] - x != l->place[u->reader[r]] - y)
                    return false;
        }
    return true;
}

/* Finds what the sets of this root cost at least, by what their members take of each unit. */
static void find_costs(pricer *w, int root)
{
    fsim_frontier *f = w->f;
    const fsim_family *family = f->l.family[root];
    for (int like = root; like-- > 0 && !f->l.parted;)
        if (f->l.family[like] == family && read_alike(f, like, root)) {
            w->cost[root] = w->cost[like];
            return;
        }
    w->cost[root] = fsim_new(f->a, priced_cost, family->sets + 1);
    for (int i = 0; i < family->sets; i++) {
        priced_cost *x = &w->cost[root][i];
        x->least = fsim_least_of_set(f, root, family, &family->set[i], x->how = FSIM_BY_UNITS);
        if (x->least < 0)
            x->least = fsim_least_of_set(f, root, family, &family->set[i], x->how = FSIM_BY_MUST);
    }
}

/* Finds all sets. False where some are not known. */
static bool list_sets(pricer *w)
{
    fsim_frontier *f = w->f;
    w->first = fsim_new(f->a, int, f->l.count + 1);
    w->cost = fsim_new(f->a, priced_cost *, f->l.count + 1);
    for (int root = 0; root < f->l.count; root++) {
        const fsim_family *family = fsim_family_of(&f->l, root);
        w->first[root] = w->count;
        if (!family->complete || f->l.wide || !fsim_proceed(f, &f->budget, 1 + family->sets)) {
            if (getenv("DBG")) fprintf(stderr, "shadow: root %d %s: complete %d wide %d sets %d\n", root, f->p->graph->tensor[fsim_node_of(f, root)->result[0]].name, family->complete, f->l.wide, family->sets);
            return false;
        }
        if (getenv("DBGF") && family->root == root) fprintf(stderr, "FAM root %d %s sets %d work %lld\n", root, f->p->graph->tensor[fsim_node_of(f, root)->result[0]].name, family->sets, (long long)fsim_work(f->p));
        find_costs(w, root);
        for (int i = 0; i < family->sets; i++)
            *FSIM_PUSH(f->a, w->all, w->count, w->room) = (priced_set){root, i, &w->cost[root][i]};
    }
    w->first[f->l.count] = w->count;
    return f->l.complete;
}

fsim_sum fsim_left_for(const pricer *w, const priced_set *x)
{
    const fsim_own_set *s = fsim_set_priced(w, x);
    fsim_sum left = x->cost->least;
    FSIM_EACH_BIT(i, s->own)
    left -= w->price[x->root - FSIM_BACK + i];
    return left;
}

void fsim_look_closer(const pricer *w, priced_set *x)
{
    fsim_own_set *s = fsim_set_priced(w, x);
    const fsim_sum known = x->cost->least;
    x->cost->how++;
    if (x->cost->how == FSIM_BY_PRICE && fsim_bits_empty(&s->may))
        return;
    x->cost->least = fsim_least_of_set(w->f, x->root, w->f->l.family[x->root], s, x->cost->how);
    x->cost->least = x->cost->least < known ? known : x->cost->least;
}

/* The least that these sets leave. at: indices of them. False where the budget ends. */
static bool find_least(pricer *w, const int *at, int count, fsim_sum *left, fsim_sum *out)
{
    fsim_frontier *f = w->f;
    int least = -1;
    for (int i = 0; i < count; i++)
        left[i] = w->all[at[i]].cost->least == FSIM_NEVER ? FSIM_NEVER : fsim_left_for(w, &w->all[at[i]]);
    for (;;) {
        for (int i = 0; i < count; i++)
            least = least < 0 || left[i] < left[least] ? i : least;
        priced_set *x = &w->all[at[least]];
        if (x->cost->how == FSIM_BY_PRICE || left[least] == FSIM_NEVER)
            break;
        const fsim_sum known = x->cost->least;
        fsim_look_closer(w, x);
        left[least] = x->cost->least == FSIM_NEVER ? FSIM_NEVER : left[least] + x->cost->least - known;
        if (!fsim_proceed(f, &f->budget, 1 + count / 4))
            return false;
    }
    *out = left[least];
    return *out != FSIM_NEVER;
}

/* Sets the price of all places in turn, from the last or the first, and *sum to their sum. at[first[i], first[i + 1]):
 * the sets that decide about place i. */
static bool price_all(pricer *w, const int *at, const int *first, bool from_last, fsim_sum *sum)
{
    const int count = w->f->l.count;
    fsim_sum *left = fsim_new(w->f->a, fsim_sum, w->count + 1);
    w->price = fsim_new(w->f->a, fsim_sum, count + 1);
    *sum = 0;
    for (int k = 0; k < count; k++) {
        const int i = from_last ? count - 1 - k : k;
        fsim_sum price;
        if (first[i] == first[i + 1] || !find_least(w, at + first[i], first[i + 1] - first[i], left, &price))
            return false;
        w->price[i] = price;
        *sum += price;
    }
    return true;
}

/* The sets by their last place. */
static void sort_by_last(const pricer *w, int *at, int *first)
{
    const int count = w->f->l.count;
    for (int k = 0; k < w->count; k++)
        first[w->all[k].root + fsim_set_priced(w, &w->all[k])->last + 1]++;
    for (int i = 0; i < count; i++)
        first[i + 1] += first[i];
    int *fill = fsim_new(w->f->a, int, count + 1);
    for (int k = 0; k < w->count; k++) {
        const int last = w->all[k].root + fsim_set_priced(w, &w->all[k])->last;
        at[first[last] + fill[last]++] = k;
    }
}

bool fsim_find_shadow(fsim_frontier *f, fsim_shadow *out)
{
    const double began = now();
    pricer w = {.f = f};
    fsim_sum backward, forward;
    *out = (fsim_shadow){0};
    if (f->l.count == 0 || !list_sets(&w))
        return false;
    if (getenv("DBG")) fprintf(stderr, "pricing %.2f s listed %d sets, work %lld\n", now() - began, w.count, (long long)fsim_work(f->p));
    int *at = fsim_new(f->a, int, w.count + 1), *first = fsim_new(f->a, int, f->l.count + 2);
    for (int k = 0; k < w.count; k++)
        at[k] = k;
    if (!price_all(&w, at, w.first, true, &backward))
        return false;
    if (getenv("DUMPX")) {
        FILE *o = fopen(getenv("DUMPX"), "w");
        for (int k = 0; k < w.count; k++) {
            priced_set *x = &w.all[k];
            while (x->cost->how < FSIM_BY_PRICE && getenv("EXACT"))
                fsim_look_closer(&w, x);
            if (x->cost->least == FSIM_NEVER) continue;
            fprintf(o, "%.7g", (double)x->cost->least * FSIM_TICK_S * 1e6);
            FSIM_EACH_BIT(b, fsim_set_priced(&w, x)->own) fprintf(o, " %d", x->root - FSIM_BACK + b);
            fprintf(o, "\n");
        }
        fclose(o);
    }
    fsim_sum *prices = w.price;
    if (getenv("DBG")) { int ex = 0; fprintf(stderr, "pricing %.2f s work %lld ", now() - began, (long long)fsim_work(f->p)); for (int k = 0; k < w.count; k++) ex += w.all[k].cost->how > FSIM_BY_UNITS; fprintf(stderr, "pricing sets %d exact %d backward %g\n", w.count, ex, (double)backward * FSIM_TICK_S * 1e6); }
    w.price = prices;
    backward += fsim_raise_prices(&w);
    if (getenv("DBG")) fprintf(stderr, "pricing %.2f s raised work %lld %g\n", now() - began, (long long)fsim_work(f->p), (double)backward * FSIM_TICK_S * 1e6);
    out->bound = backward;
    out->price = prices;
    out->excess = fsim_new(f->a, fsim_sum *, f->l.count + 1);
    for (int root = 0; root < f->l.count; root++) {
        out->excess[root] = fsim_new(f->a, fsim_sum, w.first[root + 1] - w.first[root] + 1);
        for (int k = w.first[root]; k < w.first[root + 1]; k++)
            out->excess[root][k - w.first[root]] =
                w.all[k].cost->least == FSIM_NEVER ? FSIM_NEVER : fsim_left_for(&w, &w.all[k]);
    }
    return true;
}

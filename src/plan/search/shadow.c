/* SPDX-License-Identifier: Apache-2.0 */
/* shadow.c: prices of primitives, from the last one to the first: as much as the sets allow whose first primitive it
 * is, the others of which have their prices. Where sets are intervals of the list, as in chains, there are no better
 * prices: each is what one primitive more adds to the shortest path to the end. Others are raised then (raise.c).
 *
 * A set is first charged a bound that is quickly found; what its kernel really costs is asked only where that may
 * decide about a price. */
#include "plan/search/shadow.h"

#include "plan/price/calls.h"
#include "plan/search/places.h"
#include "plan/search/pricer.h"
#include <string.h>

enum { MOST_TRIES = 8 }; /* roots that are compared before one has costs of its own */

/* Do kernels at both roots, whose families have the same sets, cost the same: do they compute as much in every plan,
 * and read the same graph inputs for the first time? */
static bool read_alike(const fsim_frontier *f, int x, int y)
{
    const fsim_places *l = &f->l;
    const fsim_graph *g = f->p->graph;
    const fsim_family *family = l->family[x];
    for (int i = -family->back; i <= family->reach; i++) {
        if (y + i >= l->count || x + i >= l->count || f->whole[x + i] != f->whole[y + i])
            return false;
        for (int k = 0; k < fsim_node_of(f, x + i)->args; k++) {
            const int one = fsim_node_of(f, x + i)->arg[k].tensor, other = fsim_node_of(f, y + i)->arg[k].tensor;
            const fsim_tensor *t = &g->tensor[one], *u = &g->tensor[other];
            if (fsim_may_reside(f->p, one) != fsim_may_reside(f->p, other))
                return false;
            if (t->producer >= 0 && u->producer >= 0)
                continue;
            if (f->read_outside[one] != f->read_outside[other] || t->readers != u->readers || t->role != u->role)
                return false;
            bool beyond_x = false, beyond_y = false;
            for (int r = 0; r < t->readers; r++) {
                const int at = l->place[t->reader[r]];
                beyond_x = beyond_x || at < x - family->back || at > x + family->last;
                beyond_y = beyond_y || at < y - family->back || at > y + family->last;
                if (one != other && at - x != l->place[u->reader[r]] - y)
                    return false;
            }
            if (one == other && !(beyond_x && beyond_y))
                return false;
        }
    }
    return true;
}

/* Takes so many small steps. False where the budget ends; but a list that may leave sets out is finished with less
 * where its steps end. */
static bool goes_on(fsim_frontier *f, int small)
{
    return fsim_proceed(f, &f->budget, small) ||
           (f->l.linked && f->budget.spent->end == FSIM_SEARCH_STOPPED_BY_STEPS && !fsim_is_over(f));
}

/* May all members of the set be in kernels that are not known? They are worth their work at most then, and that is no
 * more than what the set costs. */
static bool is_missed(const fsim_frontier *f, int root, const fsim_own_set *s)
{
    FSIM_EACH_BIT(i, s->own)
    if (!f->l.misses || !f->l.missing[root - FSIM_BACK + i])
        return false;
    return true;
}

/* Finds what the sets of this root cost at least, by what their members take of each unit. False where the budget ends.
 */
static bool find_costs(pricer *w, int root)
{
    fsim_frontier *f = w->f;
    const fsim_family *family = f->l.family[root];
    int tries = 0;
    for (int like = w->latest[family->first_alike]; like && !f->l.parted && tries++ < MOST_TRIES;
         like = w->older[like - 1])
        if (read_alike(f, like - 1, root)) {
            w->cost[root] = w->cost[like - 1];
            w->like[root] = like - 1;
            return true;
        }
    w->like[root] = root;
    w->older[root] = w->latest[family->first_alike];
    w->latest[family->first_alike] = root + 1;
    w->cost[root] = fsim_new(f->a, priced_cost, family->sets + 1);
    for (int i = 0; i < family->sets; i++) {
        priced_cost *x = &w->cost[root][i];
        if (is_missed(f, root, &family->set[i])) {
            *x = (priced_cost){FSIM_NEVER, FSIM_BY_PRICE};
            continue;
        }
        x->least = fsim_least_of_set(f, root, family, &family->set[i], x->how = FSIM_BY_UNITS);
        if (x->least < 0)
            x->least = fsim_least_of_set(f, root, family, &family->set[i], x->how = FSIM_BY_PRICE);
        if (!goes_on(f, 0))
            return false;
    }
    return true;
}

/* Finds all families. False where some sets are not known, but for those of a linked list. */
static bool find_families(fsim_frontier *f)
{
    for (int root = 0; root < f->l.count; root++) {
        const fsim_family *family = fsim_family_of(&f->l, root);
        if (!family->complete || f->l.wide || !fsim_proceed(f, &f->budget, 1 + family->sets))
            return false;
    }
    return true;
}

/* Lists all sets, of families that are known. False where the budget ends. */
static bool list_sets(pricer *w)
{
    fsim_frontier *f = w->f;
    w->first = fsim_new(f->a, int, f->l.count + 1);
    w->three_of = fsim_new(f->a, int, f->l.count + 1);
    w->cost = fsim_new(f->a, priced_cost *, f->l.count + 1);
    w->latest = fsim_new(f->a, int, f->l.count + 1);
    w->older = fsim_new(f->a, int, f->l.count + 1);
    w->like = fsim_new(f->a, int, f->l.count + 1);
    for (int root = 0; root < f->l.count; root++) {
        w->first[root] = w->count;
        if (!find_costs(w, root))
            return false;
        for (int i = 0; i < f->l.family[root]->sets; i++)
            *FSIM_PUSH(f->a, w->all, w->count, w->room) = (priced_set){root, i, &w->cost[root][i]};
    }
    w->first[f->l.count] = w->count;
    return true;
}

static bool has(const pricer *w, const priced_set *x, int place)
{
    const int bit = place - x->root + FSIM_BACK;
    return bit >= FSIM_BACK && bit < FSIM_BITS && fsim_bit(&fsim_set_priced(w, x)->own, bit);
}

bool fsim_has_two(const pricer *w, const priced_set *x, const priced_three *t)
{
    return has(w, x, t->place[0]) + has(w, x, t->place[1]) + has(w, x, t->place[2]) > 1;
}

fsim_sum fsim_left_for(const pricer *w, const priced_set *x)
{
    const fsim_own_set *s = fsim_set_priced(w, x);
    fsim_sum left = x->cost->least;
    FSIM_EACH_BIT(i, s->own)
    {
        const int at = x->root - FSIM_BACK + i;
        const priced_three *t = w->three_of[at] > 0 ? &w->three[w->three_of[at] - 1] : NULL;
        left -= w->price[at];
        if (t && (at == t->place[0] || (at == t->place[1] && !has(w, x, t->place[0]))) && fsim_has_two(w, x, t))
            left += t->pays;
    }
    return left;
}

fsim_sum fsim_left_for_call(const pricer *w, const priced_call *x)
{
    fsim_sum left = x->cost.least;
    for (int k = 0; k < x->places; k++)
        left -= w->price[x->place[k]];
    return left;
}

void fsim_look_closer(const pricer *w, const priced_set *x)
{
    const fsim_sum known = x->cost->least;
    x->cost->how = FSIM_BY_PRICE;
    x->cost->least = fsim_least_of_set(w->f, x->root, w->f->l.family[x->root], fsim_set_priced(w, x), FSIM_BY_PRICE);
    x->cost->least = x->cost->least < known ? known : x->cost->least;
}

/* Sets of a root: what each leaves for it, and a heap of them by that, the least first. */
typedef struct {
    fsim_sum *left;
    int *heap, count;
} leaving;

static void sink(leaving *x, int at)
{
    for (int child = 2 * at + 1; child < x->count; child = 2 * at + 1) {
        child += child + 1 < x->count && x->left[x->heap[child + 1]] < x->left[x->heap[child]];
        if (x->left[x->heap[at]] <= x->left[x->heap[child]])
            return;
        const int swapped = x->heap[at];
        x->heap[at] = x->heap[child];
        x->heap[child] = swapped;
        at = child;
    }
}

/* Sets *out to the least that the sets of this root leave for it, or to less where the budget ends. room: for all of
 * them. False where none is a kernel. */
static bool find_least(pricer *w, int root, leaving *room, fsim_sum *out)
{
    const priced_set *all = w->all + w->first[root];
    room->count = w->first[root + 1] - w->first[root];
    for (int i = 0; i < room->count; i++) {
        room->heap[i] = i;
        room->left[i] = all[i].cost->least == FSIM_NEVER ? FSIM_NEVER : fsim_left_for(w, &all[i]);
    }
    for (int i = room->count / 2; i-- > 0;)
        sink(room, i);
    if (!goes_on(w->f, room->count / 4))
        return false;
    for (;;) {
        const int least = room->heap[0];
        priced_cost *x = all[least].cost;
        if (room->left[least] == FSIM_NEVER || x->how == FSIM_BY_PRICE)
            break;
        if (!fsim_proceed(w->f, &w->f->budget, 1)) {
            if (!goes_on(w->f, 0))
                return false;
            break;
        }
        const fsim_sum known = x->least;
        fsim_look_closer(w, &all[least]);
        room->left[least] = x->least == FSIM_NEVER ? FSIM_NEVER : room->left[least] + x->least - known;
        sink(room, 0);
    }
    *out = room->left[room->heap[0]];
    return *out != FSIM_NEVER;
}

/* Do the places from root + 1 to the last one of its sets have the prices of those so far behind them? */
static bool prices_repeat(const pricer *w, int root, int by)
{
    const int end = root + w->f->l.family[root]->last + 1;
    bool same = end + by <= w->f->l.count;
    for (int i = root + 1; i < end && same; i++)
        same = w->price[i] == w->price[i + by];
    return same;
}

/* Does some set of the root bound prices? */
static bool is_bound(const pricer *w, int root)
{
    for (int k = w->first[root]; k < w->first[root + 1]; k++)
        if (w->all[k].cost->least != FSIM_NEVER)
            return true;
    return false;
}

static bool price_all(pricer *w)
{
    leaving room = {fsim_new(w->f->a, fsim_sum, w->count + 1), fsim_new(w->f->a, int, w->count + 1), 0};
    int *next = fsim_new(w->f->a, int, w->f->l.count + 1); /* per root with costs of its own: the first place that has
                                                              them, of those that have a price */
    w->price = fsim_new(w->f->a, fsim_sum, w->f->l.count + 1);
    for (int root = w->f->l.count; root-- > 0;) {
        int *like = &next[w->like[root]];
        if (*like > 0 && prices_repeat(w, root, *like - root))
            w->price[root] = w->price[*like];
        else if (w->most && w->most[root] < FSIM_SUM_MOST && !is_bound(w, root))
            w->price[root] = w->most[root];
        else if (w->first[root] == w->first[root + 1] || !find_least(w, root, &room, &w->price[root]))
            return false;
        *like = root;
        if (w->most && w->price[root] > w->most[root])
            w->price[root] = w->most[root];
    }
    return true;
}

fsim_sum fsim_frontier_floor(const fsim_frontier *f)
{
    state nothing = {.left = 0};
    for (int i = 0; i < f->l.count; i++)
        nothing.left += f->floor_own[i] + f->floor_start[i];
    for (int t = 0; t < f->p->graph->tensors; t++)
        nothing.left += f->floor_input[t];
    return fsim_unavoidable(f, &nothing);
}

/* The work of a primitive that every kernel which owns it has, and of reading the inputs that it alone reads. */
static fsim_sum work_of(const fsim_frontier *f, int place)
{
    const fsim_node *n = fsim_node_of(f, place);
    if (!f->owned_whole[place])
        return 0;
    double sum = f->floor_own[place] + f->floor_start[place];
    for (int k = 0; k < n->args; k++) {
        bool again = f->p->graph->tensor[n->arg[k].tensor].readers > 1;
        for (int q = 0; q < k && !again; q++)
            again = n->arg[q].tensor == n->arg[k].tensor;
        sum += again ? 0 : f->floor_input[n->arg[k].tensor];
    }
    return (fsim_sum)(sum * (1 - 1e-9));
}

/* May some contraction whose sets are all known be in a kernel with the place, which does not need it, nor is needed by
 * it? That has the price of a kernel of its own, which that of both need not exceed. */
static bool may_meet_known_contraction(fsim_frontier *f, int place)
{
    fsim_places *l = &f->l;
    const int low = place < FSIM_BITS ? 0 : place - FSIM_BITS,
              high = place + FSIM_BITS < l->count ? place + FSIM_BITS : l->count - 1;
    for (int q = low; q <= high; q++) {
        const bool needed =
            q < place ? fsim_bit(&l->after[q], place - q - 1) : place < q && fsim_bit(&l->after[place], q - place - 1);
        if (q != place && fsim_node_of(f, q)->gemm.k && !l->missing[q] && !needed && !fsim_never_together(l, q, place))
            return true;
    }
    return false;
}

/* A linked list: what may be in a kernel that is not among the sets is worth its work at most, which adds up to no more
 * than any kernel costs. */
static void find_most(fsim_frontier *f, fsim_sum **out)
{
    fsim_find_missing(&f->l);
    *out = NULL;
    if (!f->l.misses)
        return;
    *out = fsim_new(f->a, fsim_sum, f->l.count + 1);
    bool *pays = fsim_new(f->a, bool, f->l.count + 1);
    fsim_find_launches(f, pays);
    for (int i = 0; i < f->l.count; i++)
        if (f->l.missing[i] && (fsim_node_of(f, i)->gemm.k || !may_meet_known_contraction(f, i)))
            (*out)[i] = work_of(f, i) + (pays[i] ? (fsim_sum)(f->floor_launch * (1 - 1e-9)) : 0);
        else if (f->l.missing[i])
            (*out)[i] = 0;
        else
            (*out)[i] = FSIM_SUM_MOST;
}

static bool asks_for_worth(const fsim_frontier *f)
{
    return f->p->worth && f->p->worth->graph == f->p->graph && f->l.count == f->p->graph->nodes;
}

/* Lists the calls, and lowers prices until no call costs less than what its primitives are worth. */
static void list_calls(pricer *w)
{
    const fsim_frontier *f = w->f;
    const fsim_worth *worth = f->p->worth;
    w->call = fsim_new(f->a, priced_call, worth->calls + 1);
    w->called = w->count;
    for (int c = 0; c < worth->calls; c++) {
        priced_call *x = &w->call[w->calls++];
        *x = (priced_call){
            {fsim_ticks(worth->call[c].least_s), FSIM_BY_PRICE}, fsim_new(f->a, int, worth->call[c].nodes + 1), 0};
        for (int i = 0; i < worth->call[c].nodes; i++)
            if (!worth->nothing[worth->call[c].node[i]])
                x->place[x->places++] = f->l.place[worth->call[c].node[i]];
        *FSIM_PUSH(f->a, w->all, w->count, w->room) = (priced_set){-1, c, &x->cost};
        for (int k = x->places; k-- > 0;) {
            const fsim_sum left = fsim_left_for_call(w, x);
            if (left < 0 && w->price[x->place[k]] > 0)
                w->price[x->place[k]] = fsim_sum_most(0, w->price[x->place[k]] + left);
        }
    }
}

static fsim_sum sum_of_prices(const pricer *w)
{
    fsim_sum sum = 0;
    for (int i = 0; i < w->threes; i++)
        sum -= w->three[i].pays;
    for (int i = 0; i < w->f->l.count; i++)
        sum += w->price[i];
    return sum;
}

/* Tells who asks what primitives are worth where some are worth nothing. Changes the prices. */
static void tell_worth(pricer *w)
{
    const fsim_frontier *f = w->f;
    fsim_worth *worth = f->p->worth;
    fsim_sum *most = fsim_new(f->a, fsim_sum, f->l.count + 1);
    bool any = false;
    for (int i = 0; i < f->l.count; i++) {
        const bool nothing = worth->nothing[f->l.node[i]];
        most[i] = nothing ? 0 : w->most ? w->most[i] : FSIM_SUM_MOST;
        any = any || (nothing && w->price[i] > 0);
        w->price[i] = nothing && w->price[i] > 0 ? 0 : w->price[i];
    }
    w->most = most;
    if (any)
        fsim_raise_prices(w);
    fsim_told_worth *told = fsim_new(worth->a, fsim_told_worth, 1);
    *told = (fsim_told_worth){fsim_new(worth->a, fsim_sum, f->p->graph->nodes + 1), 0, worth->first_told};
    for (int i = 0; i < w->threes; i++)
        told->shared += w->three[i].pays;
    for (int i = 0; i < f->l.count; i++)
        told->of[f->l.node[i]] = w->price[i];
    worth->first_told = told;
    if (worth->calls == 0)
        return;
    list_calls(w);
    fsim_raise_prices(w);
    worth->bound = fsim_sum_most(worth->bound, sum_of_prices(w));
}

/* What has no price is worth nothing. */
static void leave_unpriced(pricer *w)
{
    const fsim_frontier *f = w->f;
    const bool none = !w->most;
    if (!f->side || !f->side->nothing)
        return;
    if (none)
        w->most = fsim_new(f->a, fsim_sum, f->l.count + 1);
    for (int i = 0; i < f->l.count; i++)
        if (f->side->nothing[f->l.node[i]])
            w->most[i] = 0;
        else if (none)
            w->most[i] = FSIM_SUM_MOST;
}

bool fsim_find_shadow(fsim_frontier *f, fsim_shadow *out)
{
    pricer w = {.f = f};
    *out = (fsim_shadow){0};
    f->run = NULL; /* what is known of a set, and what is looked at, depends on what is around it */
    if (f->l.count == 0 || !f->l.complete || !find_families(f))
        return false;
    if (f->l.linked)
        find_most(f, &w.most);
    f->l.linked = f->l.misses; /* where none is missed, places tell nothing */
    leave_unpriced(&w);
    if (!list_sets(&w) || !price_all(&w))
        return false;
    if (f->raising && !f->l.misses)
        f->budget = *f->raising;
    fsim_raise_prices(&w);
    out->price = fsim_new(f->a, fsim_sum, f->l.count + 1);
    memcpy(out->price, w.price, (size_t)f->l.count * sizeof *w.price);
    for (int i = 0; i < w.threes; i++)
        out->bound -= w.three[i].pays;
    out->excess = fsim_new(f->a, fsim_sum *, f->l.count + 1);
    for (int root = 0; root < f->l.count; root++) {
        out->bound += w.price[root];
        out->excess[root] = fsim_new(f->a, fsim_sum, w.first[root + 1] - w.first[root] + 1);
        for (int k = w.first[root]; k < w.first[root + 1]; k++)
            out->excess[root][k - w.first[root]] = w.all[k].cost->least != FSIM_NEVER ? fsim_left_for(&w, &w.all[k])
                                                   : is_missed(f, root, fsim_set_priced(&w, &w.all[k])) ? 0
                                                                                                        : FSIM_NEVER;
    }
    if (asks_for_worth(f))
        tell_worth(&w);
    return true;
}

void fsim_frontier_raise_within(fsim_frontier *f, const fsim_budget *budget) { f->raising = budget; }

void fsim_frontier_limit(fsim_frontier *f, const fsim_shadow *shadow, fsim_sum most, const fsim_budget *budget)
{
    f->budget = *budget;
    f->run = NULL; /* prices of equal layers differ */
    f->shadow = shadow;
    f->slack = most - shadow->bound;
    f->l.linked = false; /* a search for a plan, no bound */
}

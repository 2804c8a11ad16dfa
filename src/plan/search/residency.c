/* SPDX-License-Identifier: Apache-2.0 */
/* residency.c: the second pass of the search, with the real contents of L2. */
#include "plan/search/labels.h"

#include <math.h>
#include <string.h>

/* The cost that is added if the result must be written to DRAM after all. */
static fsim_sum write_back(l2_search *w, const resident *h)
{
    const fsim_sum more = fsim_cost_of(&w->f->l, h->by, h->hit, h->absorbed & ~h->bit),
                   before = fsim_cost_of(&w->f->l, h->by, h->hit, h->absorbed);
    return more < 0 || before < 0 ? 0 : more - before;
}

/* The tensors in L2 of a label; NULL where there are none. */
static const resident *residents_of(const l2_search *w, const label *x)
{
    return x->count ? &w->resident[x->first] : NULL;
}

/* A partial plan: what it leaves in L2 and what it has cost. */
typedef struct {
    const resident *tensor; /* in L2, ascending by tensor */
    int count;
    uint64_t in_l2; /* as in label */
    fsim_bits unstored;
    fsim_sum spent;
} l2_content;

static l2_content content_of(const l2_search *w, const label *x)
{
    return (l2_content){residents_of(w, x), x->count, x->in_l2, x->unstored, x->spent};
}

/* Is the first at least as good as the second for all that may follow? It has every tensor of the second for at
 * least as long, and what it may still have to pay for, the second has paid or may have to pay too. Copies may read
 * whatever they may read behind the second. */
static bool dominates(l2_search *w, l2_content better, l2_content worse)
{
    const resident *x = better.tensor, *y = worse.tensor;
    const int xs = better.count, ys = worse.count;
    fsim_sum slack = worse.spent - better.spent;
    const fsim_bits fewer = fsim_bits_without(better.unstored, worse.unstored);
    if (slack < 0 || (worse.in_l2 & ~better.in_l2) || (w->f->exact && !fsim_bits_empty(&fewer)))
        return false;
    for (int i = 0, k = 0; i < ys; i++) {
        while (k < xs && x[k].tensor < y[i].tensor)
            k++;
        if (y[i].age <= w->capacity && !(k < xs && x[k].tensor == y[i].tensor && x[k].age <= y[i].age))
            return false;
    }
    for (int k = 0, i = 0; k < xs; k++) {
        if (!x[k].by)
            continue;
        while (i < ys && y[i].tensor < x[k].tensor)
            i++;
        if (i < ys && y[i].tensor == x[k].tensor && y[i].by == x[k].by && y[i].root == x[k].root &&
            y[i].hit == x[k].hit && y[i].absorbed == x[k].absorbed)
            continue;
        slack -= write_back(w, &x[k]);
        if (slack < 0)
            return false;
    }
    return true;
}

static fsim_sum promise_of(const l2_search *w, const label *x)
{
    return x->spent + fsim_least_after(w->f, x->parent < 0 ? -1 : w->f->state[w->label[x->parent].state].ran, x->state);
}

/* Makes room for front `where`; the number of fronts grows during the search. */
static void make_room(l2_search *w, int where)
{
    while (where >= w->rooms) {
        const int rooms = w->rooms ? w->rooms * 2 : w->f->fronts + 64;
        label_front *at = fsim_new(w->a, label_front, rooms);
        if (w->rooms)
            memcpy(at, w->front, (size_t)w->rooms * sizeof *at);
        w->front = at;
        w->rooms = rooms;
    }
}

static uint64_t dropped_of(const state *s)
{
    uint64_t words = 0;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        words |= s->dropped.w[i];
    const int by = s->base & 63;
    return by ? words << by | words >> (64 - by) : words;
}

static label_key key_of(const l2_search *w, int to, fsim_sum spent)
{
    uint64_t in_l2 = 0;
    for (int k = 0; k < w->count; k++)
        in_l2 |= w->now[k].age <= w->capacity ? (uint64_t)1 << (w->now[k].tensor & 63) : 0;
    return (label_key){spent < INT64_MAX ? (int64_t)spent : INT64_MAX, in_l2, dropped_of(&w->f->state[to]), to, -1};
}

/* May the first dominate the second? It has spent no more, and holds and stores whatever the other does. */
static bool may_dominate(const label_key *x, const label_key *y)
{
    return x->spent <= y->spent && !(y->in_l2 & ~x->in_l2) && !(x->dropped & ~y->dropped);
}

static void take_away(l2_search *w, label_key *x)
{
    w->label[x->label].dominated = true;
    x->label = -1;
}

/* Closes the gaps that labels have left. */
static void close_ranks(label_front *at)
{
    int count = 0;
    for (int i = 0; i < at->count; i++)
        if (at->key[i].label >= 0) {
            if (i < at->promises)
                at->promise[count] = at->promise[i];
            at->key[count++] = at->key[i];
        }
    at->promises = at->promises < at->count ? 0 : count;
    at->count = count;
    at->worst = -1;
}

/* Is what w->now holds no better than a label of the front? Otherwise takes the labels from the front that it is at
 * least as good as. */
static bool is_dominated(l2_search *w, label_front *at, const label_key *own, l2_content now)
{
    const state *all = w->f->state, *to = &all[own->state];
    int gaps = 0;
    bool dominated = false;
    for (int i = at->count, met = 1; i-- > 0 && !dominated; met++) {
        label_key *x = &at->key[i];
        if (met % 16 == 0)
            fsim_proceed(w->f, w->budget, 16);
        if (may_dominate(x, own) && fsim_stores_more(&all[x->state], to) &&
            dominates(w, content_of(w, &w->label[x->label]), now)) {
            dominated = true;
        } else if (may_dominate(own, x) && fsim_stores_more(to, &all[x->state]) &&
                   dominates(w, now, content_of(w, &w->label[x->label]))) {
            take_away(w, x);
            gaps++;
        }
    }
    if (gaps > 0)
        close_ranks(at);
    return dominated;
}

/* Finds what each label of the front promises, and the least promising one. */
static void rank_labels(l2_search *w, label_front *at)
{
    if (at->promises == at->count && at->expansions == w->f->expansions && at->worst >= 0)
        return;
    if (!at->promise)
        at->promise = fsim_alloc(w->a, (size_t)w->most + 1, sizeof *at->promise);
    int from = at->expansions == w->f->expansions ? at->promises : 0;
    for (; from < at->count; from++) {
        at->promise[from] = promise_of(w, &w->label[at->key[from].label]);
        if (from == 0)
            at->expansions = w->f->expansions;
        else if (at->expansions != w->f->expansions)
            from = -1; /* the first ones may promise less now */
    }
    at->promises = at->count;
    at->worst = at->count - 1;
    for (int i = at->count - 1; i-- > 0;)
        if (at->promise[i] > at->promise[at->worst])
            at->worst = i;
}

/* Takes the least promising label from a full front, if that promises less than the new one. False where it does not.
 */
static bool replace_worst(l2_search *w, label_front *at, fsim_sum promise)
{
    rank_labels(w, at);
    const fsim_sum most = at->promise[at->worst];
    const bool newer = most > promise;
    const fsim_sum least = newer ? most : promise;
    w->lost = least < w->lost ? least : w->lost;
    if (newer) {
        take_away(w, &at->key[at->worst]);
        close_ranks(at);
    }
    return newer;
}

static void offer(l2_search *w, int to, int parent, const step *by, fsim_bits copies, fsim_sum spent)
{
    fsim_frontier *f = w->f;
    const fsim_sum promise = spent + fsim_least_after(f, parent < 0 ? -1 : f->state[w->label[parent].state].ran, to);
    const int where = f->state[to].front;
    label_key own = key_of(w, to, spent);
    make_room(w, where);
    label_front *at = &w->front[where];
    const fsim_bits unstored = parent < 0 ? (fsim_bits){{0}} : fsim_unstored_after(w, parent, by, to);
    if (is_dominated(w, at, &own, (l2_content){w->now, w->count, own.in_l2, unstored, spent}) ||
        (at->count >= w->most && !replace_worst(w, at, promise)))
        return;
    own.label = w->labels;
    *FSIM_PUSH(w->a, w->label, w->labels, w->label_room) =
        (label){spent, parent, to, by, copies, w->residents, w->count, own.in_l2, unstored, w->unreal, false};
    *FSIM_PUSH(w->a, at->key, at->count, at->room) = own;
    at->worst = -1;
    for (int i = 0; i < w->count; i++)
        *FSIM_PUSH(w->a, w->resident, w->residents, w->resident_room) = w->now[i];
}

static int find_resident(const resident *list, int count, int tensor)
{
    int k = 0;
    while (k < count && list[k].tensor < tensor)
        k++;
    return k;
}

/* Charges the write of w->now[k]; later charges of the same kernel are relative to that. */
static fsim_sum charge(l2_search *w, int k)
{
    const resident h = w->now[k];
    const fsim_sum more = write_back(w, &h);
    w->now[k].by = NULL;
    for (int i = 0; i < w->count; i++)
        if (w->now[i].by == h.by && w->now[i].root == h.root)
            w->now[i].absorbed &= ~h.bit;
    return more;
}

static bool still_wanted(const l2_search *w, const state *s, int tensor)
{
    const fsim_tensor *t = &w->f->p->graph->tensor[tensor];
    for (int r = t->readers; r-- > 0;) {
        const int reader = w->f->l.place[t->reader[r]];
        if (reader < 0 || !fsim_has_run(s, reader) || fsim_is_dropped(s, reader))
            return true;
        if (reader < s->base)
            return false;
    }
    return false;
}

static void use(l2_search *w, int tensor, double age)
{
    const int k = find_resident(w->now, w->count, tensor);
    if (k == w->count || w->now[k].tensor != tensor) {
        FSIM_PUSH(w->a, w->now, w->count, w->room);
        memmove(&w->now[k + 1], &w->now[k], (size_t)(w->count - 1 - k) * sizeof *w->now);
        w->now[k] = (resident){.tensor = tensor, .age = INFINITY};
    }
    w->now[k].age = fmin(w->now[k].age, age);
}

/* Runs one kernel from a label. */
static void run_kernel(l2_search *w, int from, int through, fsim_variant *v)
{
    fsim_frontier *f = w->f;
    const label at = w->label[from];
    const bool unreal = !fsim_bits_empty(&at.unstored) && fsim_reads_unstored(w, &at, &f->step[through], &v->clones);
    if (unreal && f->exact)
        return;
    w->unreal = unreal || at.unreal;
    const fsim_sum rest = fsim_least_after(f, f->state[at.state].ran, f->step[through].to);
    const step *by = &f->step[through];
    const state *to = &f->state[by->to];
    uint64_t hit = 0, absorbed = 0;
    double entered = 0;
    w->count = 0;
    for (int k = 0; k < at.count; k++)
        *FSIM_PUSH(w->a, w->now, w->count, w->room) = w->resident[at.first + k];
    const double all = fsim_bytes_in_flight(f->p->graph, v->kernel->group);
    for (int i = 0; i < v->writes; i++) {
        entered += (double)v->write[i].bytes;
        if (i < 64 && v->write[i].intermediate && (double)v->write[i].bytes <= w->capacity)
            absorbed |= (uint64_t)1 << i;
    }
    fsim_sum spent = at.spent;
    for (int i = 0; i < v->reads; i++) {
        const int t = fsim_touched(&f->l, by->root, &v->read[i], false), k = find_resident(w->now, w->count, t);
        const bool known = k < w->count && w->now[k].tensor == t,
                   found = known && w->now[k].age <= w->capacity && all <= w->capacity;
        if (known && !found && w->now[k].by)
            spent += charge(w, k);
        if (found && i < 64)
            hit |= (uint64_t)1 << i;
        entered += found ? 0 : (double)v->read[i].bytes;
    }
    const fsim_sum cost = fsim_cost_of(&f->l, v, hit, absorbed);
    spent += cost;
    if (cost < 0 || spent + rest >= w->limit)
        return;
    for (int k = 0; k < w->count; k++)
        w->now[k].age += entered;
    for (int i = 0; i < v->writes; i++) {
        const int t = fsim_touched(&f->l, by->root, &v->write[i], true);
        if (!v->write[i].whole)
            continue;
        use(w, t, all);
        if (i < 64 && absorbed >> i & 1) {
            resident *h = &w->now[find_resident(w->now, w->count, t)];
            h->by = v;
            h->root = by->root;
            h->hit = hit;
            h->absorbed = absorbed;
            h->bit = (uint64_t)1 << i;
        }
    }
    for (int i = 0; i < v->reads; i++)
        if (v->read[i].whole)
            use(w, fsim_touched(&f->l, by->root, &v->read[i], false), all);
    int count = 0;
    for (int k = 0; k < w->count; k++) /* evicted before their last reader ran */
        if (w->now[k].by && w->now[k].age > w->capacity && still_wanted(w, to, w->now[k].tensor))
            spent += charge(w, k);
    for (int k = 0; k < w->count; k++) /* tensors that nothing reads any more do not distinguish labels */
        if (f->l.last_use[w->now[k].tensor] >= to->base && (w->now[k].age <= w->capacity || w->now[k].by))
            w->now[count++] = w->now[k];
    w->count = count;
    if (spent + rest < w->limit)
        offer(w, by->to, from, by, v->clones, spent);
}

/* The kernel of a step from a state with clones that do not pay by relaxed costs, but may with the real contents of L2:
 * once for each set, at the step with the fewest clones. */
static const fsim_more_copies *more_copies(l2_search *w, int state_at, int at)
{
    fsim_frontier *f = w->f;
    const step *by = &f->step[at];
    if (by->more)
        return by->more;
    fsim_more_copies *more = fsim_new(f->a, fsim_more_copies, 1);
    expansion x = {.f = f,
                   .from = state_at,
                   .at = f->state[state_at],
                   .root = by->root,
                   .set = by->set,
                   .family = fsim_family_of(&f->l, by->root)};
    const int base = by->root - FSIM_BACK;
    fsim_bits copies = {{0}};
    FSIM_EACH_BIT(i, x.set->own)
    fsim_find_upstream(&x, base + i);
    FSIM_EACH_BIT(i, x.set->own)
    fsim_add_needed(&x, base + i, &copies);
    f->with_l2 = true;
    if (!fsim_bits_empty(&x.upstream) && fsim_bits_equal(&copies, &by->kernel->clones))
        fsim_choose_copies(&x, copies, (fsim_bits){{0}});
    f->with_l2 = false;
    more->kernel = fsim_new(f->a, fsim_variant *, x.choices + 1);
    for (int c = 1; c < x.choices; c++) {
        fsim_variant *v = fsim_out_of_order(&x, &x.choice[c])
                              ? NULL
                              : fsim_variant_of(&f->l, x.family, x.set, &x.choice[c], &by->kernel->stored);
        bool known = !v;
        for (int k = x.at.first; k < x.at.first + x.at.steps && !known; k++)
            known = f->step[k].kernel == v && f->step[k].to == by->to;
        if (!known)
            more->kernel[more->count++] = v;
    }
    more->cut = x.cut || x.clipped;
    return f->step[at].more = more;
}

static void run_with_more_copies(l2_search *w, int from, int state_at, int at)
{
    const fsim_more_copies *more = more_copies(w, state_at, at);
    for (int i = 0; i < more->count; i++)
        run_kernel(w, from, at, more->kernel[i]);
    if (!more->cut)
        return;
    const step by = w->f->step[at];
    const fsim_sum rest = fsim_least_after(w->f, w->f->state[state_at].ran, by.to),
                   promise = w->label[from].spent + by.cost + rest;
    w->lost = promise < w->lost ? promise : w->lost;
}

void fsim_start_label(l2_search *w)
{
    const fsim_graph *g = w->f->p->graph;
    w->count = 0;
    for (int t = 0; t < g->tensors && w->f->p->warm; t++)
        if (g->tensor[t].producer < 0 && w->f->l.last_use[t] >= 0 && fsim_may_reside(w->f->p, t))
            *FSIM_PUSH(w->a, w->now, w->count, w->room) = (resident){.tensor = t};
    offer(w, 0, -1, NULL, (fsim_bits){{0}}, 0);
}

void fsim_start_ideal(l2_search *w, int where)
{
    fsim_frontier *f = w->f;
    const fsim_graph *g = f->p->graph;
    const int at = fsim_all_stored(f, f->front[where].first - 1);
    const state s = f->state[at];
    w->count = 0;
    for (int t = 0; t < g->tensors; t++) {
        const int from = g->tensor[t].producer < 0 ? -1 : f->l.place[g->tensor[t].producer];
        if (f->l.last_use[t] < s.base || !fsim_may_reside(f->p, t))
            continue;
        if (g->tensor[t].producer < 0 ? f->p->warm || fsim_read_before(f, &s, t) : from < 0 || fsim_has_run(&s, from))
            *FSIM_PUSH(w->a, w->now, w->count, w->room) = (resident){.tensor = t, .age = (double)g->tensor[t].bytes};
    }
    offer(w, at, -1, NULL, (fsim_bits){{0}}, -fsim_front_to_go(f, where));
}

/* Continues one label by every kernel that may follow. */
static void continue_label(l2_search *w, int at)
{
    fsim_frontier *f = w->f;
    const int from = w->label[at].state;
    if (!f->state[from].expanded)
        fsim_expand(f, from);
    if (f->state[from].cut) {
        const fsim_sum least = w->label[at].spent + fsim_unavoidable(f, &f->state[from]);
        w->lost = least < w->lost ? least : w->lost;
    }
    for (int k = f->state[from].first, end = k + f->state[from].steps; k < end && !w->label[at].dominated; k++) {
        const fsim_sum rest = fsim_least_after(f, f->state[from].ran, f->step[k].to);
        const step *by = &f->step[k];
        if (w->label[at].spent + by->cost + rest >= w->limit)
            continue;
        fsim_proceed(f, w->budget, 8);
        run_kernel(w, at, k, by->kernel);
        if (f->p->recompute && !f->every_clone)
            run_with_more_copies(w, at, from, k);
    }
}

void fsim_search_labels(l2_search *w, int start)
{
    fsim_frontier *f = w->f;
    w->best = -1;
    w->in_time = true;
    for (int size = start; size < f->l.count; size++)
        for (int i = f->front_by_size[size]; i; i = f->front[i - 1].sibling)
            for (int k = i <= w->rooms ? w->front[i - 1].count : 0; k-- > 0;) { /* kernels lead to other fronts */
                w->in_time = fsim_proceed(f, w->budget, 4);
                if (!w->in_time)
                    return;
                continue_label(w, w->front[i - 1].key[k].label);
            }
    const int last = f->last < 0 ? -1 : f->state[f->last].front;
    for (int k = last >= 0 && last < w->rooms ? w->front[last].count : 0; k-- > 0;) {
        const int at = w->front[last].key[k].label;
        if (w->best < 0 || w->label[at].spent < w->label[w->best].spent)
            w->best = at;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stretches.c: a graph in stretches, each searched on its own.
 *
 * Between two neighbouring primitives of the list is a border. A kernel that straddles it has two places that have a
 * tensor in common across the border, and all else that it has behind the border may share a kernel with these two.
 * What may be so is the border's zone. Every kernel counts in one stretch at most:
 * - in the stretch in which it has a place that is in no zone. It has such places of one stretch only: with one before
 *   the border all that it has behind it is in the zone;
 * - or, where all of it is in one zone, in the stretch before the border if one of its places is held, that is, shares
 * no kernel with what is behind the zone, so that no kernel of the stretch behind can have it. The others count
 * nowhere. A stretch is searched with the zones at both of its ends. The first one's places are lent, and those of the
 * second one that are not held: a kernel that owns nothing else costs nothing. What others compute is in memory; what a
 * kernel may compute again of it is in the list too, as having run. A result that others read need not be stored where
 * these may compute it again.
 *
 * A kernel of a plan then is one of its stretch's search, at no more than it costs, so that the stretches' least costs
 * add up to a lower bound. */
#include "plan/search/stretches.h"

#include "plan/search/frontier.h"
#include "plan/search/places.h"
#include "plan/search/states.h"
#include <math.h>
#include <string.h>

enum {
    REACH = FSIM_BITS,    /* no kernel has places further apart */
    BAND = 2 * REACH,     /* places on both sides of a border are less far apart */
    MOST_PLACES = 20000,  /* of a graph that is divided */
    LOOK_STEPS = 4,       /* what it takes to tell of a pair whether it may share a kernel */
    MOST_LISTED = 192,    /* places of a list, */
    JOINED = 4,           /* stretches are joined while their list has at most so many times the places asked for */
    MOST_ALIKE = 8,       /* lists count so many times at most where budget is shared */
    FIRST_SHARES = 2,     /* the first search of all stretches may take this part of the budget */
    NEIGHBOUR_SHARES = 4, /* a border that few tensors cross is compared with those within such a part of a stretch */
    PRODUCT_WEIGHS = 50,  /* places: a contraction that counts nowhere */
    LIST_WEIGHS = 8       /* places: a list of the size asked for */
};

typedef struct {
    int at;    /* the first place behind it */
    int zones; /* places of its zone, ascending, */
    int *zone;
    bool *counted; /* and whether each is held: counts before it */
    int loss;      /* what counts nowhere, about */
    bool unknown;  /* the zone may be larger */
} border;

/* What is searched for a stretch. */
typedef struct {
    int *node, count; /* primitives, ascending; 0: too many */
    signed char *of;  /* as in fsim_one_side */
    uint64_t look;    /* all that the search depends on */
} listing;

/* A search that was made. */
typedef struct {
    listing list;
    fsim_sum bound; /* 0: it was too wide for the bits */
} made_search;

/* A stretch, from one border to another. */
typedef struct {
    int from, to;
    listing list;
    const made_search *by; /* NULL: none was made */
} part_of_graph;

typedef struct {
    fsim_problem *p;
    fsim_places l;     /* of the whole graph */
    const bool *whole; /* as in fsim_one_side */
    fsim_arena *a, *scratch;
    const fsim_budget *budget;
    signed char *known, *parted; /* as in pairs */
    int *crossing;               /* per place: tensors that are made before it, and read there or later */
    border *border;
    int borders;
    made_search **searched; /* searches of lists that look different */
    int searches, room;
    part_of_graph *part;
    int parts, most;
} divider;

/* Places [low, high), and which pairs of places may share a kernel: 1, -1 where not, 0 not known yet; of each place
 * with BAND from it on. parted: the same of whether what lies between them tells that. */
typedef struct {
    fsim_places *l;
    int low, high;
    signed char *known, *parted;
    bool spills; /* what hangs together may have places beyond these */
} pairs;

static pairs pairs_around(const divider *w, int at)
{
    pairs x = {.l = (fsim_places *)&w->l, .low = at - REACH < 0 ? 0 : at - REACH, .high = at + REACH};
    x.high = x.high > w->l.count ? w->l.count : x.high;
    x.known = w->known;
    x.parted = w->parted;
    return x;
}

/* Would a kernel with both have to contain what it can't? That is so for y too where it is for what y depends on. */
static bool are_parted(pairs *w, int x, int y)
{
    signed char *known = &w->parted[(size_t)x * BAND + (size_t)(y - x)];
    bool parted = false, path;
    if (*known != 0)
        return *known > 0;
    for (int k = w->l->pred_first[y]; k < w->l->pred_first[y + 1] && !parted; k++)
        parted = w->l->pred[k] > x && are_parted(w, x, w->l->pred[k]);
    fsim_add_work(w->l->p, LOOK_STEPS);
    parted = parted || (fsim_separated(w->l, x, y, &path) && path) || fsim_across_barrier(w->l, x, y);
    *known = parted ? 1 : -1;
    return parted;
}

static bool may_share(pairs *w, int x, int y)
{
    const int low = x < y ? x : y, high = x < y ? y : x;
    signed char *known = &w->known[(size_t)low * BAND + (size_t)(high - low)];
    if (low == high)
        return true;
    if (*known == 0)
        *known = fsim_never_together(w->l, low, high) || are_parted(w, low, high) ? -1 : 1;
    return *known > 0;
}

/* The same for places that are not both among them, to which no table tells it. */
static bool may_share_beyond(const pairs *w, int x, int y)
{
    bool path;
    return !fsim_never_together(w->l, x, y) && !(fsim_separated(w->l, x < y ? x : y, x < y ? y : x, &path) && path);
}

/* Marks in out[place - w->low] what may be in a kernel with x and y, which may share one: places that may share one
 * with both, and hang together with them. kind: of each place; only those with a kind up to `most` are there. */
static void mark_with(pairs *w, int x, int y, const signed char *kind, int most, bool *out)
{
    const fsim_places *l = w->l;
    const fsim_mark mark = fsim_save(l->a);
    const int span = w->high - w->low;
    bool *seen = fsim_new(l->a, bool, span + 1);
    int *open = fsim_new(l->a, int, span + 2), count = 0;
    open[count++] = x;
    open[count++] = y;
    seen[x - w->low] = seen[y - w->low] = true;
    for (int i = 0; i < count; i++) {
        out[open[i] - w->low] = true;
        for (int k = l->near_first[open[i]]; k < l->near_first[open[i] + 1]; k++) {
            const int z = l->near[k];
            if (z < w->low || z >= w->high) {
                w->spills = w->spills || (may_share_beyond(w, x, z) && may_share_beyond(w, y, z));
                continue;
            }
            if (seen[z - w->low] || kind[z - w->low] > most || !may_share(w, x, z) || !may_share(w, y, z) ||
                !may_share(w, open[i], z))
                continue;
            seen[z - w->low] = true;
            open[count++] = z;
        }
    }
    fsim_rewind(l->a, mark);
}

/* The same for each pair of neighbours of these two kinds. */
static void mark_joined(pairs *w, const signed char *kind, int one, int other, bool *out)
{
    const fsim_places *l = w->l;
    const int most = one > other ? one : other;
    for (int x = w->low; x < w->high; x++)
        for (int k = l->near_first[x]; kind[x - w->low] == one && k < l->near_first[x + 1]; k++) {
            const int y = l->near[k];
            if (y >= w->low && y < w->high && kind[y - w->low] == other && may_share(w, x, y))
                mark_with(w, x, y, kind, most, out);
        }
}

/* The zone behind a border at this place. */
static border border_at(const divider *w, int at)
{
    enum { ZONE, BEHIND, BEFORE };
    border b = {.at = at};
    const fsim_mark mark = fsim_save(w->scratch);
    pairs x = pairs_around(w, at);
    const int span = x.high - x.low;
    signed char *kind = fsim_new(w->scratch, signed char, span + 1);
    bool *zone = fsim_new(w->scratch, bool, span + 1), *joined = fsim_new(w->scratch, bool, span + 1);
    for (int i = 0; i < span; i++)
        kind[i] = x.low + i < at ? BEFORE : BEHIND;
    mark_joined(&x, kind, BEFORE, BEHIND, zone);
    for (int i = at - x.low; i < span; i++) {
        kind[i] = zone[i] ? ZONE : BEHIND;
        b.zones += zone[i];
    }
    mark_joined(&x, kind, ZONE, BEHIND, joined);
    b.zone = fsim_new(w->a, int, b.zones + 1);
    b.counted = fsim_new(w->a, bool, b.zones + 1);
    b.zones = 0;
    for (int i = at - x.low; i < span; i++)
        if (zone[i]) {
            b.counted[b.zones] = !joined[i];
            b.loss += joined[i] ? (fsim_place_node(&w->l, x.low + i)->gemm.k ? PRODUCT_WEIGHS : 1) : 0;
            b.zone[b.zones++] = x.low + i;
        }
    b.unknown = x.spills;
    fsim_rewind(w->scratch, mark);
    return b;
}

/* Counts the tensors that cross each place's border. */
static void count_crossing(divider *w)
{
    const fsim_graph *g = w->p->graph;
    w->crossing = fsim_new(w->a, int, w->l.count + 2);
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].producer >= 0 && g->tensor[t].readers > 0) {
            w->crossing[g->tensor[t].producer + 1]++;
            w->crossing[g->tensor[t].reader[g->tensor[t].readers - 1] + 1]--;
        }
    for (int i = 1; i <= w->l.count; i++)
        w->crossing[i] += w->crossing[i - 1];
}

/* Does it pay to look at a border here? A contraction before it keeps others out of the zone, or few tensors cross it.
 */
static bool is_promising(const divider *w, int at, int most)
{
    const int by = most / NEIGHBOUR_SHARES, low = at - by < 1 ? 1 : at - by,
              high = at + by < w->l.count ? at + by : w->l.count - 1;
    if (fsim_place_node(&w->l, at - 1)->gemm.k)
        return true;
    for (int i = low; i <= high; i++)
        if (w->crossing[i] < w->crossing[at] || (w->crossing[i] == w->crossing[at] && i > at))
            return false;
    return true;
}

/* What a list of so many places costs, beside what borders lose: searches take much longer the larger they are. */
static double effort(int places, int most) { return LIST_WEIGHS * pow((double)places / most, 3); }

/* The borders that together lose least. False where the budget ends first. */
static bool choose_borders(divider *w, int most)
{
    const int count = w->l.count;
    border *all = fsim_new(w->a, border, count + 2);
    double *least = fsim_new(w->a, double, count + 2);
    int *before = fsim_new(w->a, int, count + 2), many = 1;
    for (int at = 1; at <= count; at++) {
        if (!fsim_within(w->budget, w->p))
            return false;
        if (at < count && !is_promising(w, at, most))
            continue;
        border *x = &all[many];
        *x = at < count ? border_at(w, at) : (border){.at = at};
        if (x->unknown)
            continue;
        least[many] = INFINITY;
        for (int i = many; i-- > 0 && (x->at - all[i].at <= REACH || isinf(least[many]));) {
            if (all[i].zones > 0 && all[i].zone[all[i].zones - 1] >= at)
                continue;
            const double sum = least[i] + x->loss + 1 + effort(x->at - all[i].at + x->zones, most);
            if (sum < least[many]) {
                least[many] = sum;
                before[many] = i;
            }
        }
        many += !isinf(least[many]);
    }
    for (int i = many - 1; i > 0; i = before[i])
        w->borders++;
    w->border = fsim_new(w->a, border, w->borders + 1);
    for (int i = many - 1, k = w->borders; k >= 0; i = before[i])
        w->border[k--] = all[i];
    return true;
}

/* Adds what kernels may compute again of what the listed places read: not far before all that they own. */
static int add_copies(const divider *w, int first, signed char *of, int count)
{
    const fsim_places *l = &w->l;
    const int low = first < FSIM_CLONE_REACH ? 0 : first - FSIM_CLONE_REACH;
    for (bool more = w->p->recompute; more;) {
        more = false;
        for (int i = l->count; i-- > 0;)
            for (int k = l->pred_first[i]; of[i] >= 0 && k < l->pred_first[i + 1]; k++)
                if (of[l->pred[k]] < 0 && l->pred[k] >= low && fsim_may_clone(w->p, l->pred[k])) {
                    of[l->pred[k]] = FSIM_HAS_RUN;
                    count++;
                    more = l->pred[k] > i || more;
                }
    }
    return count;
}

/* What the places are to the stretch between two borders; -1: not in its list. Returns the list's length. */
static int places_of(const divider *w, const border *from, const border *to, signed char *of)
{
    int count = to->at - from->at + to->zones;
    memset(of, -1, (size_t)w->l.count);
    for (int i = from->at; i < to->at; i++)
        of[i] = FSIM_AT_HOME;
    for (int i = 0; i < from->zones; i++)
        of[from->zone[i]] = FSIM_LENT;
    for (int i = 0; i < to->zones; i++)
        of[to->zone[i]] = to->counted[i] ? FSIM_AT_HOME : FSIM_LENT;
    return add_copies(w, from->at, of, count);
}

/* All of the list that a search depends on. */
static uint64_t look_of(const divider *w, const int *node, int count, const signed char *of)
{
    const fsim_graph *g = w->p->graph;
    const fsim_mark mark = fsim_save(w->a);
    fsim_places x;
    int *number = fsim_new(w->a, int, g->tensors + 1), numbers = 0;
    fsim_places_of(w->p, node, count, (fsim_set_limits){.most = 1, .stretch = of}, w->a, &x);
    uint64_t h = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        const fsim_node *n = &g->node[node[i]];
        h = fsim_mix(h, x.class[i] ^ w->whole[node[i]]);
        for (int k = 0; k < n->args + n->results; k++) {
            const int at = k < n->args ? n->arg[k].tensor : n->result[k - n->args];
            const fsim_tensor *t = &g->tensor[at];
            bool outside = false;
            for (int r = 0; r < t->readers && !outside; r++)
                outside = x.place[t->reader[r]] < 0;
            number[at] = number[at] ? number[at] : ++numbers;
            h = fsim_mix(h, (uint64_t)number[at] << 2 | (uint64_t)outside << 1 | (uint64_t)(t->producer >= 0));
            h = fsim_mix(h, (uint64_t)t->elems << 8 | (uint64_t)t->dtype << 3 | (uint64_t)t->role);
            h = fsim_mix(h, (uint64_t)(t->over < 0 ? 0 : number[t->over] + 1) << 3 | (uint64_t)t->overwritten << 2 |
                                (uint64_t)t->output << 1 | (uint64_t)t->materialize);
        }
    }
    fsim_rewind(w->a, mark);
    return h;
}

/* The list of the stretch between two borders. */
static listing list_between(const divider *w, int from, int to)
{
    const int all = w->p->graph->nodes;
    listing x = {.of = fsim_new(w->a, signed char, all + 1)};
    const int count = places_of(w, &w->border[from], &w->border[to], x.of);
    if (count > MOST_LISTED)
        return x;
    x.node = fsim_new(w->a, int, count + 1);
    for (int i = 0; i < all; i++)
        if (x.of[i] >= 0)
            x.node[x.count++] = i;
        else
            x.of[i] = FSIM_AT_HOME;
    x.look = look_of(w, x.node, x.count, x.of);
    return x;
}

static bool look_alike(const listing *x, const listing *y) { return x->count == y->count && x->look == y->look; }

/* The search of a list that looks like this one; NULL: none was made. */
static const made_search *known_search(const divider *w, const listing *x)
{
    for (int k = 0; k < w->searches; k++)
        if (look_alike(&w->searched[k]->list, x))
            return w->searched[k];
    return NULL;
}

/* Searches the list, which may take one of so many shares of what is left. */
static const made_search *search(divider *w, const listing *list, int shares, fsim_stretched *out)
{
    fsim_spent spent;
    const fsim_budget own = fsim_budget_share(w->budget, w->p, shares, &spent);
    const fsim_one_side side = {.stretch = list->of, .whole = w->whole};
    const fsim_mark mark = fsim_save(w->scratch);
    fsim_frontier *f =
        fsim_frontier_of_side(w->p, list->node, list->count, (fsim_scope){FSIM_UNLESS_WIDE, &side}, &own, w->scratch);
    if (f && fsim_frontier_gave_up(f))
        f = fsim_frontier_of_side(w->p, list->node, list->count, (fsim_scope){FSIM_PARTED, &side}, &own, w->scratch);
    w->budget->spent->over = w->budget->spent->over || spent.over;
    made_search *x = fsim_new(w->a, made_search, 1);
    *x = (made_search){.list = *list};
    if (f) {
        x->bound = fsim_frontier_bound(f);
        out->groups += fsim_frontier_groups(f);
        out->states += fsim_frontier_states(f);
    }
    fsim_rewind(w->scratch, mark);
    return *FSIM_PUSH(w->a, w->searched, w->searches, w->room) = x;
}

static fsim_sum bound_of(const part_of_graph *x) { return x->by ? x->by->bound : 0; }

/* How many of the stretches have the list, the first of which is s: these stand for all. 0: an earlier one does. */
static int alike(const divider *w, int s)
{
    int many = 0;
    for (int k = 0; k < w->parts; k++) {
        if (!look_alike(&w->part[k].list, &w->part[s].list))
            continue;
        if (k < s)
            return 0;
        many++;
    }
    return many > MOST_ALIKE ? MOST_ALIKE : many;
}

/* Searches each list of those that look alike once, with a part of the budget: the more of it the more there are. */
static void search_all(divider *w, fsim_stretched *out)
{
    int left = 0;
    w->part = fsim_new(w->a, part_of_graph, w->borders + 1);
    w->parts = w->borders;
    for (int s = 0; s < w->parts; s++)
        w->part[s] = (part_of_graph){s, s + 1, list_between(w, s, s + 1), NULL};
    for (int s = 0; s < w->parts; s++)
        left += w->part[s].list.count > 0 ? alike(w, s) : 0;
    for (int s = 0; s < w->parts && !w->budget->spent->over; s++) {
        part_of_graph *x = &w->part[s];
        x->by = x->list.count > 0 ? known_search(w, &x->list) : NULL;
        if (x->by || x->list.count == 0)
            continue;
        const int many = alike(w, s);
        x->by = search(w, &x->list, (FIRST_SHARES * left + many - 1) / many, out);
        left -= many;
    }
}

/* Searches two neighbours as one, which loses nothing at the border between them. Are they one from now on? */
static bool join(divider *w, int s, int shares, fsim_stretched *out)
{
    part_of_graph *x = &w->part[s], both = {x->from, x[1].to, list_between(w, x->from, x[1].to), NULL};
    if (both.list.count == 0 || both.list.count > JOINED * w->most)
        return false;
    both.by = known_search(w, &both.list);
    if (!both.by)
        both.by = search(w, &both.list, shares, out);
    if (bound_of(&both) <= bound_of(x) + bound_of(x + 1))
        return false;
    *x = both;
    memmove(x + 1, x + 2, (size_t)(--w->parts - s - 1) * sizeof *x);
    return true;
}

/* Joins neighbours, those first between which most is lost, for as long as that pays and the budget lasts. */
static void join_all(divider *w, fsim_stretched *out)
{
    for (bool more = true; more;) {
        more = false;
        int most = 0, joints = 0;
        for (int s = 0; s + 1 < w->parts; s++) {
            const int loss = w->border[w->part[s].to].loss;
            most = loss > most ? loss : most;
            joints += loss > 0;
        }
        for (; most > 0;) {
            int next = 0;
            for (int s = 0; s + 1 < w->parts; s++) {
                const int loss = w->border[w->part[s].to].loss;
                next = loss < most && loss > next ? loss : next;
                if (loss == most && fsim_within(w->budget, w->p))
                    more = join(w, s, joints > 0 ? joints-- : 1, out) || more;
            }
            most = next;
        }
    }
}

bool fsim_bound_by_stretches(fsim_problem *p, int most, const fsim_budget *budget, fsim_arena *a, fsim_stretched *out)
{
    const int nodes = p->graph->nodes;
    divider w = {.p = p, .a = a, .budget = budget, .most = most};
    *out = (fsim_stretched){0};
    if (p->graph->fuses + p->graph->separates > 0 || nodes < 2 || nodes > MOST_PLACES)
        return false;
    int *node = fsim_new(a, int, nodes + 1);
    for (int n = 0; n < nodes; n++)
        node[n] = n;
    fsim_places_of(p, node, nodes, (fsim_set_limits){.most = 1}, a, &w.l);
    if (!w.l.complete)
        return false;
    const fsim_frontier all = {.p = p, .l = w.l, .a = a};
    w.whole = fsim_computed_whole(&all);
    w.scratch = fsim_arena_new();
    w.known = fsim_new(w.scratch, signed char, nodes *BAND);
    w.parted = fsim_new(w.scratch, signed char, nodes *BAND);
    count_crossing(&w);
    if (choose_borders(&w, most)) {
        search_all(&w, out);
        join_all(&w, out);
    }
    fsim_arena_free(w.scratch);
    out->stretch = fsim_new(a, fsim_stretch, w.parts + 1);
    for (int s = 0; s < w.parts; s++) {
        const part_of_graph *x = &w.part[s];
        out->stretch[out->count++] = (fsim_stretch){w.border[x->from].at, w.border[x->to].at, bound_of(x)};
        out->bound += bound_of(x);
    }
    return w.borders > 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* certify.c: the states of a piece, the kernels that may be launched in each, and the potentials. Nothing is left out
 * because it can't be best: whoever checks the certificate need not know why it could not. */
#include "plan/search/certificate.h"

#include "plan/price/user_rules.h"
#include "vendor/vendor.h"

#include <string.h>

enum {
    MOST_CHOICES = 17, /* results of one kernel that may be stored or not */
    LOOKED_AT = 10,    /* so many times the steps: sets that may be looked at on the way to kernels */
    FIRST_SLOTS = 1024
};

static int lowest(fsim_mask m) { return __builtin_ctzll(m); }
static int highest(fsim_mask m) { return 63 - __builtin_clzll(m); }
static fsim_mask bit(int i) { return (fsim_mask)1 << i; }
#define EACH(i, mask)                                                                                                  \
    for (fsim_mask left_##i = (mask), *once_##i = &left_##i; *once_##i; *once_##i &= *once_##i - 1)                    \
        for (int i = lowest(*once_##i), at_##i = 1; at_##i; at_##i = 0)

/* What is known of a set with a choice of stored results. */
typedef enum { NEW, KERNEL, NO_KERNEL, NOR_ANY_LARGER } answer;
typedef struct {
    answer is;
    int kernel;
} verdict;

/* A table of numbers by three masks. */
typedef struct {
    struct cell {
        fsim_mask key[3];
        int value;
    } * cell;
    int slots, count;
} table;

typedef struct {
    fsim_problem *p;
    fsim_arena *a, *scratch;
    fsim_certified_piece *x;
    fsim_mask never[FSIM_SPACE_NODES]; /* per primitive: those that no kernel has together with it */
    fsim_mask pred[FSIM_SPACE_NODES], succ[FSIM_SPACE_NODES], near[FSIM_SPACE_NODES];
    fsim_mask reads[FSIM_SPACE_NODES];         /* inputs of the piece, by its list of them */
    fsim_mask input_readers[FSIM_SPACE_NODES]; /* per input */
    fsim_mask always_seen;                     /* inputs that something outside of the piece, or of the run, may read */
    fsim_mask must, all;                       /* must: stored in every plan */
    fsim_certified_floor floor;
    fsim_sum *spent; /* per state: least cost from the start */
    int spent_room;
    table states, verdicts, refusals;
    int transition_room, kernel_room, refused_room, state_room;
    int first[FSIM_SPACE_NODES + 1]; /* 1 + the first state with so many primitives run, linked by next */
    int *next, next_room;
    int64_t steps, looked;
    /* the state that is being expanded */
    int from;
    fsim_mask done, dropped_now, live;
} walk;

/* Tables. */

static uint64_t hash_of(const fsim_mask *key)
{
    uint64_t h = key[0] * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ key[1]) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 32 ^ key[2]) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

/* The place of this key: its value is 0 where it is new, and set by the caller then. */
static int *place_of(table *t, fsim_mask x, fsim_mask y, fsim_mask z, fsim_arena *a)
{
    const fsim_mask key[3] = {x, y, z};
    if (2 * t->count >= t->slots) {
        struct cell *old = t->cell;
        const int slots = t->slots;
        t->slots = slots ? 4 * slots : FIRST_SLOTS;
        t->cell = fsim_new(a, struct cell, t->slots);
        for (int i = 0; i < slots; i++)
            if (old[i].value) {
                uint64_t at = hash_of(old[i].key);
                while (t->cell[at & (uint64_t)(t->slots - 1)].value)
                    at++;
                t->cell[at & (uint64_t)(t->slots - 1)] = old[i];
            }
    }
    uint64_t at = hash_of(key);
    for (;; at++) {
        struct cell *c = &t->cell[at & (uint64_t)(t->slots - 1)];
        if (!c->value) {
            memcpy(c->key, key, sizeof key);
            t->count++;
            return &c->value;
        }
        if (memcmp(c->key, key, sizeof key) == 0)
            return &c->value;
    }
}

/* The piece. */

static int place_in(const fsim_certified_piece *x, int node)
{
    int low = 0, high = x->count - 1;
    while (low <= high) {
        const int mid = (low + high) / 2;
        if (x->node[mid] == node)
            return mid;
        *(x->node[mid] < node ? &low : &high) = x->node[mid] < node ? mid + 1 : mid - 1;
    }
    return -1;
}

/* Takes in a tensor that the piece accesses. False where there are too many inputs. */
static bool take_tensor(walk *w, int tensor)
{
    const fsim_tensor *t = &w->p->graph->tensor[tensor];
    const int from = t->producer < 0 ? -1 : place_in(w->x, t->producer);
    fsim_mask readers = 0;
    bool outside = false;
    for (int r = 0; r < t->readers; r++) {
        const int reader = place_in(w->x, t->reader[r]);
        readers |= reader >= 0 ? bit(reader) : 0;
        outside = outside || reader < 0;
    }
    EACH(i, readers)
    {
        w->near[i] |= readers | (from >= 0 ? bit(from) : 0);
        w->pred[i] |= from >= 0 ? bit(from) : 0;
    }
    if (from >= 0) {
        w->near[from] |= readers;
        w->succ[from] |= readers;
        w->must |= t->output || t->materialize || outside ? bit(from) : 0;
    }
    if (t->producer >= 0 || !readers || !fsim_may_reside(w->p, tensor))
        return true;
    if (w->x->inputs == FSIM_SPACE_NODES)
        return false;
    EACH(i, readers)
    w->reads[i] |= bit(w->x->inputs);
    w->input_readers[w->x->inputs] = readers;
    w->always_seen |= w->p->warm || outside ? bit(w->x->inputs) : 0;
    w->x->input[w->x->inputs++] = tensor;
    return true;
}

/* What the piece's primitives are to each other. False where it has too many inputs. */
static bool look_at_piece(walk *w)
{
    const fsim_graph *g = w->p->graph;
    fsim_certified_piece *x = w->x;
    bool fits = true, *taken = fsim_new(w->scratch, bool, g->tensors + 1);
    x->input = fsim_new(w->a, int, FSIM_SPACE_NODES);
    w->all = x->count == 64 ? ~(fsim_mask)0 : bit(x->count) - 1;
    for (int i = 0; i < x->count; i++) {
        const fsim_node *n = &g->node[x->node[i]];
        w->must |= n->effect ? bit(i) : 0;
        x->again |= w->p->recompute && fsim_may_clone(w->p, x->node[i]) ? bit(i) : 0;
        for (int k = 0; k < n->args + n->results && fits; k++) {
            const int t = k < n->args ? n->arg[k].tensor : n->result[k - n->args];
            fits = taken[t] || take_tensor(w, t);
            taken[t] = true;
        }
    }
    /* A second copy of what one reader alone reads is of use only to a second copy of that reader. */
    for (int i = x->count; i-- > 0;) {
        const bool one = !(w->succ[i] & (w->succ[i] - 1)) && !(w->must & bit(i)) && !(w->succ[i] & x->again);
        x->again &= !w->succ[i] || one ? ~bit(i) : ~(fsim_mask)0;
    }
    return fits;
}

/* Kernels. */

static fsim_mask connected_with_lowest(const walk *w, fsim_mask all)
{
    fsim_mask reached = all & -all, fresh = reached;
    while (fresh) {
        fsim_mask next = 0;
        EACH(i, fresh)
        next |= w->near[i];
        fresh = next & all & ~reached;
        reached |= fresh;
    }
    return reached;
}

static verdict refuse(walk *w, fsim_mask set, fsim_mask stored, bool any_stored, const fsim_refusal *why)
{
    int *known =
        place_of(&w->refusals, set, any_stored || why->final ? 0 : stored, any_stored || why->final, w->scratch);
    if (!*known) {
        *FSIM_PUSH(w->a, w->x->refused, w->x->refusals, w->refused_room) =
            (fsim_refused_set){set, stored, why->final, any_stored, *why};
        *known = w->x->refusals;
    }
    return (verdict){why->final ? NOR_ANY_LARGER : NO_KERNEL, 0};
}

/* The kernel's price with all in L2 that may be there; -1 where no configuration fits. */
static fsim_sum price_of(const walk *w, fsim_candidate *c, fsim_mask seen, bool *room)
{
    const fsim_graph *g = w->p->graph;
    const fsim_group *o = c->group;
    const fsim_mark mark = fsim_save(w->scratch);
    bool *hit = fsim_new(w->scratch, bool, o->reads + 1), *absorbed = fsim_new(w->scratch, bool, o->writes + 1);
    *room = fsim_bytes_in_flight(g, o) <= fsim_l2_effective(w->p->hw);
    for (int i = 0; i < o->reads && *room; i++) {
        bool before = g->tensor[o->read[i].tensor].producer >= 0;
        EACH(k, seen)
        before = before || w->x->input[k] == o->read[i].tensor;
        hit[i] = before && fsim_may_reside(w->p, o->read[i].tensor);
    }
    for (int i = 0; i < o->writes && *room; i++) {
        const fsim_tensor *t = &g->tensor[o->write[i].tensor];
        absorbed[i] = !t->output && !t->materialize && t->readers > 0 && fsim_is_passing(t);
    }
    const fsim_kernel *k = fsim_kernel_for(w->p, c, hit, absorbed);
    const fsim_sum price = k ? fsim_objective_of(w->p, k) : -1;
    fsim_rewind(w->scratch, mark);
    return price;
}

static verdict judge_anew(walk *w, fsim_mask set, fsim_mask stored, fsim_mask seen)
{
    int node[FSIM_SPACE_NODES], count = 0;
    bool flag[FSIM_SPACE_NODES];
    fsim_refusal why = {0};
    EACH(i, set)
    {
        node[count] = w->x->node[i];
        flag[count++] = (stored & bit(i)) != 0;
    }
    if (!fsim_user_allows(w->p, node, count, &why))
        return refuse(w, set, stored, true, &why);
    fsim_candidate *c = fsim_candidate_of(w->p, node, count, flag);
    if (!c->legal)
        return refuse(w, set, stored, false, &c->why);
    bool room;
    const fsim_sum price = price_of(w, c, seen, &room);
    if (price < 0)
        return refuse(w, set, stored, false, &(fsim_refusal){.rule = FSIM_RULE_SHARED, .a = node[0], .b = -1});
    *FSIM_PUSH(w->a, w->x->kernel, w->x->kernels, w->kernel_room) = (fsim_priced_set){set, stored, seen, room, price};
    return (verdict){KERNEL, w->x->kernels - 1};
}

/* Encoded in a table: 1 and 2 for no kernel, 3 + its number for a kernel. */
static verdict judge(walk *w, fsim_mask set, fsim_mask stored, fsim_mask seen)
{
    int *known = place_of(&w->verdicts, set, stored, seen, w->scratch);
    if (!*known) {
        if (w->verdicts.count > FSIM_CERTIFIED_SETS)
            w->x->without = "it has more than 200000 sets that might be kernels";
        const verdict v = judge_anew(w, set, stored, seen);
        *known = v.is == KERNEL ? 3 + v.kernel : v.is == NO_KERNEL ? 1 : 2;
    }
    return *known >= 3 ? (verdict){KERNEL, *known - 3} : (verdict){*known == 1 ? NO_KERNEL : NOR_ANY_LARGER, 0};
}

/* States. */

/* Which primitives may a kernel read, or compute again, once `done` has run? Those with a reader that has still to run,
 * or that may be computed again for such a one. */
static fsim_mask live_after(const walk *w, fsim_mask done)
{
    fsim_mask live = 0;
    for (int i = w->x->count; i-- > 0;)
        if (w->succ[i] & (~done | (w->x->again & live)))
            live |= bit(i);
    return live;
}

/* Is there something that was not stored, is still needed, and can't be computed again? */
static bool is_lost(const walk *w, fsim_mask done, fsim_mask dropped)
{
    fsim_mask wanted = 0;
    for (int i = w->x->count; i-- > 0;)
        if ((dropped & bit(i)) && ((wanted & bit(i)) || (w->succ[i] & ~done))) {
            if (!(w->x->again & bit(i)))
                return true;
            wanted |= w->pred[i];
        }
    return false;
}

/* What is left costs at least: a launch, and the longer of writing outputs to DRAM and of products, at peak rates. */
static fsim_sum floor_of(const walk *w, fsim_mask done)
{
    double written = 0, products = 0;
    if (done == w->all)
        return 0;
    EACH(i, w->all & ~done)
    {
        written += w->floor.written[i];
        products += w->floor.product[i];
    }
    return fsim_certified_least(&w->floor, written, products);
}

static int state_of(walk *w, fsim_mask done, fsim_mask dropped)
{
    int *known = place_of(&w->states, done, dropped, 0, w->scratch);
    if (*known)
        return *known - 1;
    const int size = __builtin_popcountll(done);
    *FSIM_PUSH(w->a, w->x->state, w->x->states, w->state_room) =
        (fsim_waypoint){.done = done, .dropped = dropped, .least = done == w->all ? 0 : FSIM_SUM_MOST};
    int linked = w->x->states - 1, costed = linked;
    *FSIM_PUSH(w->scratch, w->spent, costed, w->spent_room) = FSIM_SUM_MOST;
    *FSIM_PUSH(w->scratch, w->next, linked, w->next_room) = w->first[size];
    w->first[size] = w->x->states;
    return (*known = w->x->states) - 1;
}

/* The kernel leads to this state. */
static void add_transition(walk *w, int kernel, fsim_mask done, fsim_mask dropped)
{
    if (is_lost(w, done, dropped))
        return;
    const int to = state_of(w, done, dropped);
    const fsim_sum spent = w->spent[w->from] + w->x->kernel[kernel].price;
    w->spent[to] = spent < w->spent[to] ? spent : w->spent[to];
    *FSIM_PUSH(w->a, w->x->transition, w->x->transitions, w->transition_room) = (fsim_transition){w->from, to, kernel};
}

/* Launches the set, with each choice of results to store. False where a larger set is no kernel either. */
static bool launch(walk *w, fsim_mask set)
{
    const fsim_mask own = set & ~w->done, after = w->done | set, live = live_after(w, after);
    fsim_mask stored = 0, open = 0, seen = 0, read = 0;
    EACH(i, own)
    {
        const bool inside = (w->succ[i] & set) != 0, outside = (w->succ[i] & ~after) != 0;
        if ((w->must & bit(i)) || !inside || (outside && !(w->x->again & bit(i))))
            stored |= bit(i);
        else if (live & bit(i))
            open |= bit(i);
    }
    EACH(i, set)
    read |= w->reads[i];
    EACH(k, read)
    seen |= (w->input_readers[k] & w->done) || (w->always_seen & bit(k)) ? bit(k) : 0;
    if (__builtin_popcountll(open) > MOST_CHOICES) {
        w->x->without = "a kernel has more than 17 results that it may store or not";
        return false;
    }
    for (fsim_mask more = 0;; more = (more - open) & open) {
        const verdict v = judge(w, set, stored | more, seen);
        if (v.is == NOR_ANY_LARGER)
            return false;
        if (--w->steps < 0)
            w->x->without = "its states have more than 4000000 kernels";
        if (v.is == KERNEL && !w->x->without)
            add_transition(w, v.kernel, after, (w->dropped_now | (own & ~(stored | more))) & live);
        if (more == open || w->x->without)
            return !w->x->without;
    }
}

/* May primitive i join s, whose members are all lower? */
static bool may_join(const walk *w, fsim_mask s, int i)
{
    return (!(bit(i) & w->done) || (bit(i) & w->x->again & w->live)) &&
           !(w->pred[i] & ~((w->done & ~w->dropped_now) | s)) && !(w->never[i] & s);
}

/* Could s become connected by adding members that are higher than all of s? */
static bool may_connect(const walk *w, fsim_mask s)
{
    fsim_mask all = s;
    for (int i = highest(s) + 1; i < w->x->count; i++)
        if (!(w->never[i] & s) && may_join(w, all & ~w->never[i], i))
            all |= bit(i);
    return !(s & ~connected_with_lowest(w, all));
}

/* Is each copy read inside the set, and something computed for the first time? */
static bool is_of_use(const walk *w, fsim_mask s)
{
    EACH(i, s & w->done)
    if (!(w->succ[i] & s))
        return false;
    return (s & ~w->done) != 0;
}

/* Launches s and all sets that begin with its members. What a set lacks has lower numbers than the member that needs
 * it, so that every set is met. */
static void grow(walk *w, fsim_mask s)
{
    if (--w->looked < 0)
        w->x->without = "more than 40000000 sets would have to be looked at";
    if (fsim_is_set(w->p->interrupted))
        w->x->without = "it was interrupted";
    const bool connected = connected_with_lowest(w, s) == s;
    if (w->x->without || (!connected && !may_connect(w, s)))
        return;
    if (connected && is_of_use(w, s) && !launch(w, s))
        return;
    for (int i = highest(s) + 1; i < w->x->count; i++)
        if (may_join(w, s, i))
            grow(w, s | bit(i));
}

/* Generates the moves from a state; not where all that follows costs as much as the plan does. */
static void expand(walk *w, int at)
{
    const fsim_sum floor = floor_of(w, w->x->state[at].done);
    if (w->spent[at] + floor >= w->x->cost) {
        w->x->state[at].cut = true;
        w->x->state[at].least = floor;
        return;
    }
    w->from = at;
    w->done = w->x->state[at].done;
    w->dropped_now = w->x->state[at].dropped;
    w->live = live_after(w, w->done);
    for (int i = 0; i < w->x->count && !w->x->without; i++)
        if (may_join(w, 0, i))
            grow(w, bit(i));
}

/* From the last moves, which were found where most had run, to the first. */
static void find_potentials(walk *w)
{
    for (int i = w->x->transitions; i-- > 0;) {
        const fsim_transition *m = &w->x->transition[i];
        const fsim_sum rest = w->x->state[m->to].least;
        fsim_sum *least = &w->x->state[m->from].least;
        if (rest < FSIM_SUM_MOST && w->x->kernel[m->kernel].price + rest < *least)
            *least = w->x->kernel[m->kernel].price + rest;
    }
}

/* Pairs that are in no kernel together. */
static void find_never(walk *w)
{
    fsim_refusal why;
    for (int i = 0; i < w->x->count; i++)
        for (int k = 0; k < i; k++)
            if (fsim_never_in_kernel(w->p, w->x->node[i], w->x->node[k], &why)) {
                w->never[i] |= bit(k);
                w->never[k] |= bit(i);
                refuse(w, bit(i) | bit(k), 0, true, &why);
            }
}

void fsim_certify_piece(fsim_problem *p, int64_t *steps, fsim_arena *a, fsim_certified_piece *piece)
{
    fsim_arena *scratch = fsim_arena_new();
    walk *w = fsim_new(scratch, walk, 1);
    *w = (walk){.p = p, .a = a, .scratch = scratch, .x = piece, .steps = *steps, .looked = LOOKED_AT * *steps};
    if (!look_at_piece(w))
        piece->without = "it reads more than 64 inputs that L2 can hold";
    find_never(w);
    w->floor = fsim_certified_floor_of(p, piece->node, piece->count, scratch);
    const int start = state_of(w, 0, 0);
    w->spent[start] = 0;
    for (int size = 0; size < piece->count && !piece->without; size++)
        for (int i = w->first[size]; i && !piece->without; i = w->next[i - 1])
            expand(w, i - 1);
    if (!piece->without) {
        find_potentials(w);
        piece->bound = piece->state[0].least;
        piece->steps = *steps - w->steps;
    } else {
        piece->kernels = piece->refusals = piece->states = piece->transitions = 0;
    }
    *steps = w->steps > 0 ? w->steps : 0;
    fsim_arena_free(scratch);
}

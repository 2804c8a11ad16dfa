/* SPDX-License-Identifier: Apache-2.0 */
#include "search/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_TRIED = 30000,   /* sets of one root */
    TRIED_IN_HASTE = 300,
    RECALLED = 128,       /* places below the base that passed kernels may have waited for */
    MOST_STORES = 256,    /* choices of the results that one kernel stores */
    MOST_CLONE_SETS = 96, /* choices of copies for one kernel */
    KEPT_IN_HASTE = 6     /* states of one size once the budget has gone */
};

typedef struct {
    fsim_bits done, dropped, behind; /* behind: what had run when a kernel was last launched before primitives below its last one */
    int base, behind_base, passed;   /* passed: that last one; 0: none */
    int ran;
    int64_t live;                    /* lean: bytes of results that something to come reads, outputs aside */
    int64_t spent, to_go;            /* least relaxed cost from the start, and to the end; -1: none */
    double left;                     /* work that no rest of a plan can avoid, in the objective's unit */
    int first, steps;                /* its steps are step[first, first + steps) */
    int parent, via;                 /* the state and the step that it is reached by at least relaxed cost */
    int front, peer;                 /* what has run; 1 + next state where the same has */
    int chain, sibling;              /* hash chain; states of equal size */
    bool expanded, cut;              /* cut: some steps are missing */
} state;

/* What has run, whatever was stored of it. */
typedef struct {
    int open;      /* lowest place still to run */
    fsim_bits done; /* from there */
    int ran, first; /* 1 + first state */
    int chain, sibling;
} front;

typedef struct {
    int to, root;
    fsim_own_set *set;
    fsim_variant *kernel;
    int64_t cost;
    int64_t peak; /* lean: bytes live while it runs */
} step;

struct fsim_frontier {
    const fsim_problem *p;
    fsim_places l;
    fsim_arena *a;
    fsim_budget budget;
    bool every_clone, lean, haste;
    state *state;
    int states, state_room;
    step *step;
    int steps, step_room;
    int *slot, slots;
    front *front;
    int fronts, front_room, *front_slot, front_slots;
    int *front_by_size;
    struct prospect *prospect; /* of the state being expanded */
    int prospects, prospect_room;
    bool forward;       /* the first pass is under way */
    int *by_size;       /* 1 + first state with so many primitives run; chained by sibling */
    int last;           /* the state where everything has run; -1 */
    int64_t lost;       /* no plan that was cut off costs less; INT64_MAX: nothing was cut off */
    int64_t ticks;
    double *floor_own;  /* per place: work that it cannot avoid */
    bool *read_outside; /* per tensor */
    double *floor_input;/* per tensor: the same for reading a graph input the first time */
};

static const int64_t NEVER = INT64_MAX / 4; /* a cost that no plan has */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const double steps_per_second = 2e6; /* of fsim_work, on a 2020 server core */

fsim_budget fsim_budget_of(const fsim_problem *p, bool *by_clock)
{
    return (fsim_budget){fsim_work(p) + (int64_t)fmin(p->time_limit_s * steps_per_second, 1e15), now() + 10 * p->time_limit_s, by_clock};
}

double fsim_seconds_of(int64_t steps) { return (double)steps / steps_per_second; }

/* Time for so many more small steps? */
static bool proceed(fsim_frontier *f, const fsim_budget *b, int small)
{
    const int64_t before = f->ticks >> 13;
    f->ticks += small;
    fsim_add_work(f->p, (f->ticks >> 3) - ((f->ticks - small) >> 3));
    if (f->ticks >> 13 != before && now() > b->deadline_s)
        *b->by_clock = true;
    return fsim_work(f->p) <= b->steps && !*b->by_clock && !(f->p->interrupted && *f->p->interrupted);
}

static const fsim_node *node_at(const fsim_frontier *f, int place) { return &f->p->graph->node[f->l.node[place]]; }

static bool has_run(const state *s, int place)
{
    return place < s->base || (place - s->base < FSIM_BITS && fsim_bit(&s->done, place - s->base));
}
static bool is_dropped(const state *s, int place)
{
    return place >= s->base && place - s->base < FSIM_BITS && fsim_bit(&s->dropped, place - s->base);
}

/* Places that every plan computes at all their points: what they make must reach memory, or such a place reads all of it. */
static bool *computed_whole(const fsim_frontier *f)
{
    const fsim_graph *g = f->p->graph;
    bool *whole = fsim_new(f->a, bool, f->l.count + 1);
    for (int i = f->l.count; i-- > 0;) {
        whole[i] = whole[i] || f->l.must[i];
        for (int k = 0; whole[i] && k < node_at(f, i)->args; k++) {
            const fsim_access *x = &node_at(f, i)->arg[k];
            const int from = g->tensor[x->tensor].producer < 0 ? -1 : f->l.place[g->tensor[x->tensor].producer];
            if (from >= 0 && x->how != FSIM_READ_INDIRECT && x->distinct == g->tensor[x->tensor].elems)
                whole[from] = true;
        }
    }
    return whole;
}

/* Places whose contraction may be chained with another through a causal mask, which leaves out less than half of it. */
static bool *masked_chains(const fsim_frontier *f)
{
    const fsim_places *l = &f->l;
    bool *masked = fsim_new(f->a, bool, l->count + 1), *behind = fsim_new(f->a, bool, l->count + 1), *before = fsim_new(f->a, bool, l->count + 1);
    for (int i = 0; i < l->count; i++)
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1]; k++)
            behind[i] = behind[i] || node_at(f, l->pred[k])->op == FSIM_OP_CAUSAL_MASK || (behind[l->pred[k]] && !node_at(f, l->pred[k])->gemm.k);
    for (int i = l->count; i-- > 0;) {
        for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++)
            before[i] = before[i] || node_at(f, l->succ[k])->op == FSIM_OP_CAUSAL_MASK || (before[l->succ[k]] && !node_at(f, l->succ[k])->gemm.k);
        masked[i] = behind[i] || before[i];
    }
    return masked;
}

/* Work that no plan can avoid: graph inputs read once and outputs written once at full bandwidth, contractions at full rate. Kernels overlap the two by a 3-norm, so
 * a fixed weight for each with a dual norm of one bounds every kernel by a sum over its primitives. */
static void find_floor(fsim_frontier *f)
{
    const fsim_graph *g = f->p->graph;
    const fsim_places *l = &f->l;
    f->floor_own = fsim_new(f->a, double, l->count + 1);
    f->floor_input = fsim_new(f->a, double, g->tensors + 1);
    f->read_outside = fsim_new(f->a, bool, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++)
        for (int r = 0; r < g->tensor[t].readers && !f->read_outside[t]; r++)
            f->read_outside[t] = l->place[g->tensor[t].reader[r]] < 0;
    double *work = fsim_new(f->a, double, l->count + 1), bytes = 0, seconds = 0;
    const bool *whole = computed_whole(f), *masked = masked_chains(f), by_bytes = f->p->objective == FSIM_MINIMISE_BYTES;
    for (int i = 0; i < l->count; i++) {
        const fsim_node *n = node_at(f, i);
        for (int k = 0; k < n->args && whole[i]; k++) {
            const int t = n->arg[k].tensor;
            bool here = g->tensor[t].producer < 0 && f->floor_input[t] == 0 && n->arg[k].how != FSIM_READ_INDIRECT &&
                        n->arg[k].distinct == g->tensor[t].elems && (!f->p->warm || !fsim_may_reside(f->p, t)) && !f->read_outside[t] &&
                        (n->gemm.k || f->p->limits.strict || g->tensor[t].role != FSIM_WEIGHT); /* vectors may be folded into a contraction's weights */
            f->floor_input[t] = here ? (double)g->tensor[t].bytes : f->floor_input[t];
            bytes += here ? f->floor_input[t] : 0;
        }
        if (g->tensor[n->result[0]].output)
            f->floor_own[i] = (double)g->tensor[n->result[0]].bytes;
        work[i] = whole[i] && !by_bytes && n->gemm.k ? fsim_least_contraction_s(g, f->p->hw, l->node[i]) * (masked[i] ? 0.5 : 1) : 0;
        seconds += work[i];
        bytes += f->floor_own[i];
    }
    const double second = 1 / FSIM_TICK_S * (1 - 1e-9), rate = fsim_hw_get(f->p->hw, FSIM_HW_DRAM_BANDWIDTH), dram = bytes / rate;
    const double norm = cbrt(dram * dram * dram + seconds * seconds * seconds);
    const double of_byte = by_bytes ? 1 : norm > 0 ? dram * dram / (norm * norm) / rate * second : 0,
                 of_work = norm > 0 ? seconds * seconds / (norm * norm) * second : 0;
    for (int i = 0; i < l->count; i++)
        f->floor_own[i] = f->floor_own[i] * of_byte + work[i] * of_work;
    for (int t = 0; t < g->tensors; t++)
        f->floor_input[t] *= of_byte;
}

/* Has a reader of the tensor run, or may one that is not in the list? */
static bool read_before(const fsim_frontier *f, const state *s, int tensor)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    bool before = f->read_outside[tensor];
    for (int r = 0; r < t->readers && !before; r++) {
        const int reader = f->l.place[t->reader[r]];
        if (reader - s->base >= FSIM_BITS)
            break;
        before = has_run(s, reader);
    }
    return before;
}

/* States. */

static uint64_t hash_state(const state *s)
{
    uint64_t h = (uint64_t)s->base * 0x9e3779b97f4a7c15u + (uint64_t)s->passed;
    for (int i = 0; i < FSIM_BITS_WORDS; i++) {
        h = (h ^ s->done.w[i]) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 31;
        h = (h ^ s->dropped.w[i]) * 0x94d049bb133111ebu;
        h = (h ^ s->behind.w[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static bool same_state(const state *x, const state *y)
{
    return x->base == y->base && x->passed == y->passed && x->behind_base == y->behind_base && fsim_bits_equal(&x->done, &y->done) &&
           fsim_bits_equal(&x->dropped, &y->dropped) && fsim_bits_equal(&x->behind, &y->behind);
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
    front *made = FSIM_PUSH(f->a, f->front, f->fronts, f->front_room);
    *made = want;
    made->chain = *slot;
    made->sibling = f->front_by_size[s->ran];
    *slot = f->front_by_size[s->ran] = f->fronts;
    return f->fronts - 1;
}

/* The state equal to *s, which is added where it is new. */
static int state_of(fsim_frontier *f, const state *s)
{
    if (f->states * 2 >= f->slots)
        rehash(f);
    int *slot = &f->slot[hash_state(s) & (uint64_t)(f->slots - 1)];
    for (int i = *slot; i; i = f->state[i - 1].chain)
        if (same_state(&f->state[i - 1], s))
            return i - 1;
    state *made = FSIM_PUSH(f->a, f->state, f->states, f->state_room);
    *made = *s;
    made->spent = made->to_go = -1;
    made->expanded = made->cut = false;
    made->chain = *slot;
    made->sibling = f->by_size[s->ran];
    *slot = f->by_size[s->ran] = f->states;
    const int at = f->states - 1, where = front_of(f, s);
    f->state[at].front = where;
    f->state[at].peer = f->front[where].first;
    f->front[where].first = at + 1;
    if (s->ran == f->l.count)
        f->last = at;
    return at;
}

/* Does x store all that y does, and allow every order that y allows? Both have run the same. */
static bool stores_more(const state *x, const state *y)
{
    const fsim_bits dropped = fsim_bits_shifted(x->dropped, x->base - y->base), kept = fsim_bits_without(dropped, y->dropped);
    if (!fsim_bits_empty(&kept) || (x->base < y->base && !fsim_bits_empty(&x->dropped)))
        return false; /* a base below is that of something dropped, or of a primitive that y has still to run as well */
    return x->passed == 0 || (x->passed == y->passed && x->behind_base == y->behind_base && fsim_bits_equal(&x->behind, &y->behind));
}

/* Does another state, which has run the same and cost no more, make this one needless? */
static bool needless(const fsim_frontier *f, int at)
{
    const state *y = &f->state[at];
    for (int i = f->front[y->front].first; i; i = f->state[i - 1].peer) {
        const state *x = &f->state[i - 1];
        if (i - 1 != at && x->spent >= 0 && x->spent <= y->spent && stores_more(x, y) && (x->spent < y->spent || !stores_more(y, x) || i - 1 < at))
            return true;
    }
    return false;
}

/* Moves the base up to the lowest place still to run or not stored. */
static void settle(state *s)
{
    fsim_bits open = s->dropped;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        open.w[i] |= ~s->done.w[i];
    const int by = fsim_bits_next(&open, 0);
    s->base += by;
    s->done = fsim_bits_shifted(s->done, -by);
    s->dropped = fsim_bits_shifted(s->dropped, -by);
}

static bool was_behind(const state *s, int place)
{
    return place >= s->behind_base && place - s->behind_base < FSIM_BITS && fsim_bit(&s->behind, place - s->behind_base);
}

/* Had place run then, or could a kernel with this root have computed it beside its reader? Adds to *kept what that rests on, from place `base` on. */
static bool was_at_hand(const fsim_frontier *f, const state *s, int place, int root, int base, fsim_bits *kept)
{
    const fsim_places *l = &f->l;
    const bool ran = was_behind(s, place) && place >= base;
    bool copied = l->clonable[place] && place >= root - FSIM_BACK;
    fsim_bits more = *kept;
    if (ran)
        fsim_bit_set(kept, place - base);
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1] && copied; k++)
        copied = was_at_hand(f, s, l->pred[k], root, base, &more);
    if (copied)
        *kept = fsim_bits_or(*kept, more);
    return ran || copied;
}

/* Of the kernels that were passed over, keeps what tells those that were ready then: what they waited for. What lies too far back is forgotten: that allows orders that
 * are none, and leaves the least cost a bound. */
static void recall_passed(fsim_frontier *f, state *s)
{
    const int base = s->base - RECALLED;
    fsim_bits kept = {{0}};
    int passed = 0;
    for (int root = s->base; root < s->passed; root++) {
        if (has_run(s, root))
            continue;
        const fsim_family *family = fsim_family_of(&f->l, root);
        for (int i = 0; i < family->sets; i++) {
            const fsim_own_set *set = &family->set[i];
            const fsim_bits own = fsim_bits_shifted(set->own, root - FSIM_BACK - s->base);
            bool was_ready = root + set->last < s->passed && !fsim_bits_meet(&own, &s->done);
            fsim_bits more = kept;
            for (int k = 0; k < set->preds && was_ready; k++)
                was_ready = was_at_hand(f, s, root + set->pred[k], root, base, &more);
            if (was_ready) {
                kept = more;
                passed = root + set->last + 1 > passed ? root + set->last + 1 : passed;
            }
        }
    }
    s->passed = passed;
    s->behind = kept;
    s->behind_base = passed ? base : 0;
}

/* Of what was not stored, what something still to run needs, itself or through another that was not stored. */
static void forget_dropped(const fsim_frontier *f, state *s)
{
    for (int bit = fsim_bits_last(&s->dropped); bit >= 0; bit--) {
        if (!fsim_bit(&s->dropped, bit))
            continue;
        const int place = s->base + bit;
        bool wanted = false;
        for (int k = f->l.succ_first[place]; k < f->l.succ_first[place + 1] && !wanted; k++)
            wanted = !has_run(s, f->l.succ[k]) || is_dropped(s, f->l.succ[k]);
        if (!wanted)
            fsim_bit_clear(&s->dropped, bit);
    }
}

/* Steps of one state. */

typedef struct {
    fsim_frontier *f;
    int from;
    state at;          /* a copy: states move when they grow in number */
    const fsim_family *family;
    fsim_own_set *set;
    int root;
    fsim_bits upstream;  /* all copies that the set might hold, in its own bits */
    fsim_bits *choice;   /* of copies */
    int choices, room, stores;
    bool cut;
} expansion;

static int bit_of(const expansion *x, int place) { return place - x->root + FSIM_BACK; }

/* Adds the producers of place that were not stored, and theirs. False when they lie too far back. */
static bool add_needed(expansion *x, int place, fsim_bits *copies)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int from = l->pred[k], bit = bit_of(x, from);
        if (!is_dropped(&x->at, from) || (bit >= 0 && fsim_bit(copies, bit)))
            continue;
        if (bit < 0)
            return false;
        fsim_bit_set(copies, bit);
        if (!add_needed(x, from, copies))
            return false;
    }
    return true;
}

static void find_upstream(expansion *x, int place)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int from = l->pred[k], bit = bit_of(x, from);
        if (bit < 0 || fsim_bit(&x->upstream, bit) || !l->clonable[from] || fsim_bit(&x->set->own, bit))
            continue;
        fsim_bit_set(&x->upstream, bit);
        find_upstream(x, from);
    }
}

/* Bytes that computing place beside its reader would read instead of its result, what L2 may hold left out where `dram`. */
static double bytes_instead(const expansion *x, int place, bool dram, int depth)
{
    const fsim_places *l = &x->f->l;
    const fsim_graph *g = x->f->p->graph;
    const fsim_node *n = node_at(x->f, place);
    double sum = 0;
    for (int k = 0; k < n->args; k++) {
        const int t = n->arg[k].tensor, from = g->tensor[t].producer < 0 ? -1 : l->place[g->tensor[t].producer];
        bool shared = depth == 0;
        for (int r = 0; r < g->tensor[t].readers && !shared; r++) { /* read here anyway, or by another copy */
            const int other = l->place[g->tensor[t].reader[r]], bit = other < 0 ? -1 : bit_of(x, other);
            shared = other != place && bit >= 0 && bit < FSIM_BITS && (fsim_bit(&x->set->own, bit) || fsim_bit(&x->upstream, bit));
        }
        if (shared)
            continue;
        double least = dram && fsim_may_reside(x->f->p, t) ? 0 : (double)n->arg[k].distinct * fsim_dtype_bytes(g->tensor[t].dtype);
        if (from >= 0 && bit_of(x, from) >= 0 && l->clonable[from] && least > 0)
            least = fmin(least, bytes_instead(x, from, dram, depth - 1));
        sum += least;
    }
    return sum;
}

/* Could it pay to compute place again though its result lies in memory? */
static bool worth_a_copy(const expansion *x, int place)
{
    const fsim_node *n = node_at(x->f, place);
    const fsim_tensor *t = &x->f->p->graph->tensor[n->result[0]];
    return x->f->every_clone || bytes_instead(x, place, false, 12) < (double)t->bytes ||
           (!fsim_may_reside(x->f->p, n->result[0]) && bytes_instead(x, place, true, 12) < (double)t->bytes);
}

static void choose_copies(expansion *x, fsim_bits copies, fsim_bits barred)
{
    const fsim_places *l = &x->f->l;
    const int base = x->root - FSIM_BACK;
    const fsim_bits all = fsim_bits_or(x->set->own, copies);
    FSIM_EACH_BIT(i, copies)
        if (!add_needed(x, base + i, &copies))
            return;
    if (fsim_bits_meet(&copies, &barred))
        return;
    if (x->choices == MOST_CLONE_SETS) {
        x->cut = true;
        return;
    }
    *FSIM_PUSH(x->f->a, x->choice, x->choices, x->room) = copies;
    fsim_bits open = {{0}};
    FSIM_EACH_BIT(i, all)
        for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++) {
            const int from = l->pred[k], bit = bit_of(x, from);
            if (bit >= 0 && l->clonable[from] && !fsim_bit(&all, bit) && !fsim_bit(&barred, bit) && !is_dropped(&x->at, from))
                fsim_bit_set(&open, bit);
        }
    FSIM_EACH_BIT(u, open) {
        if (worth_a_copy(x, base + u)) {
            fsim_bits more = copies;
            fsim_bit_set(&more, u);
            choose_copies(x, more, barred);
        }
        fsim_bit_set(&barred, u);
    }
}

/* Was this kernel ready when one with a higher last primitive was launched before it? Then it belongs to another order. */
static bool out_of_order(const expansion *x, const fsim_bits *copies)
{
    const state *s = &x->at;
    const fsim_places *l = &x->f->l;
    if (x->root + x->set->last >= s->passed || x->f->lean)
        return false;
    const fsim_bits all = fsim_bits_or(x->set->own, *copies);
    const int base = x->root - FSIM_BACK;
    FSIM_EACH_BIT(i, all)
        for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++) {
            const int from = l->pred[k], bit = bit_of(x, from);
            if ((bit < 0 || !fsim_bit(&all, bit)) && !was_behind(s, from))
                return false;
        }
    return true;
}

/* The relaxed cost: what may lie in L2 does. A graph input only when something has read it before. */
static int64_t relaxed_cost(const expansion *x, fsim_variant *v)
{
    const fsim_frontier *f = x->f;
    const fsim_graph *g = f->p->graph;
    uint64_t hit = 0, absorbed = 0;
    for (int i = 0; i < v->reads && i < 64; i++) {
        const int t = fsim_touched(&f->l, x->root, &v->read[i], false);
        const bool before = g->tensor[t].producer >= 0 || f->p->warm || read_before(f, &x->at, t);
        if (before && fsim_may_reside(f->p, t))
            hit |= (uint64_t)1 << i;
    }
    for (int i = 0; i < v->writes && i < 64; i++)
        if (v->write[i].intermediate && (double)v->write[i].bytes <= fsim_l2_effective(f->p->hw))
            absorbed |= (uint64_t)1 << i;
    return fsim_cost_of(&x->f->l, v, hit, absorbed);
}

/* Bytes of what was stored and nothing to come reads any more, once `to` has run: among what the kernel's members read, and what copies needed until now. */
static int64_t freed(const expansion *x, const state *to)
{
    const fsim_places *l = &x->f->l;
    const fsim_graph *g = x->f->p->graph;
    int64_t bytes = 0;
    int seen[2 * FSIM_BITS], count = 0;
    for (int place = x->at.base < x->root - FSIM_BACK ? x->root - FSIM_BACK : x->at.base; place < l->count && place - x->at.base < FSIM_BITS; place++) {
        const int bit = bit_of(x, place);
        const bool own = bit >= 0 && bit < FSIM_BITS && fsim_bit(&x->set->own, bit);
        if (!own && !(is_dropped(&x->at, place) && !is_dropped(to, place)))
            continue;
        for (int k = 0; k < node_at(x->f, place)->args; k++) {
            const int t = node_at(x->f, place)->arg[k].tensor, from = g->tensor[t].producer < 0 ? -1 : l->place[g->tensor[t].producer];
            bool gone = from >= 0 && !g->tensor[t].output && has_run(&x->at, from) && !is_dropped(&x->at, from);
            for (int q = 0; q < count && gone; q++)
                gone = seen[q] != t;
            for (int r = 0; r < g->tensor[t].readers && gone; r++) {
                const int reader = l->place[g->tensor[t].reader[r]];
                gone = reader >= 0 && has_run(to, reader) && !is_dropped(to, reader);
            }
            if (gone && count < 2 * FSIM_BITS) {
                seen[count++] = t;
                bytes += g->tensor[t].bytes;
            }
        }
    }
    return bytes;
}

/* The state after a kernel that drops `dropped` of its own results. */
static state after(expansion *x, fsim_bits dropped)
{
    fsim_frontier *f = x->f;
    const int by = x->root - FSIM_BACK - x->at.base;
    state s = x->at;
    const int last = x->root + x->set->last;
    bool passes = false;
    for (int i = x->at.base; i < last && !passes; i++)
        passes = !has_run(&x->at, i) && !(i >= x->root && fsim_bit(&x->set->own, bit_of(x, i)));
    if (passes && !f->lean) {
        s.behind_base = x->at.base - RECALLED;
        s.behind = fsim_bits_shifted(x->at.done, RECALLED);
        for (int i = 0; i < RECALLED; i++)
            fsim_bit_set(&s.behind, i);
        s.passed = last;
    }
    FSIM_EACH_BIT(i, x->set->own) {
        const int place = x->root - FSIM_BACK + i;
        const fsim_node *n = node_at(f, place);
        s.left -= f->floor_own[place];
        for (int k = 0; k < n->args; k++) {
            const int t = n->arg[k].tensor;
            if (f->floor_input[t] > 0 && !read_before(f, &s, t)) /* s.done grows as we go: each counts once */
                s.left -= f->floor_input[t];
        }
        fsim_bit_set(&s.done, place - s.base);
        s.ran++;
    }
    s.left = fmax(s.left, 0);
    s.dropped = fsim_bits_or(s.dropped, fsim_bits_shifted(dropped, by));
    forget_dropped(f, &s);
    settle(&s);
    if (s.passed > 0)
        recall_passed(f, &s);
    return s;
}

static void cut_off(fsim_frontier *f, const state *s)
{
    const int64_t least = s->spent + (int64_t)(s->left * (1 - 1e-9));
    f->lost = least < f->lost ? least : f->lost;
}

static void add_step(expansion *x, fsim_variant *v, fsim_bits dropped)
{
    fsim_frontier *f = x->f;
    const int64_t cost = relaxed_cost(x, v);
    if (cost < 0)
        return;
    state next = after(x, dropped);
    int64_t peak = x->at.live;
    if (f->lean) {
        FSIM_EACH_BIT(i, v->stored)
            for (int r = 0; r < node_at(f, x->root - FSIM_BACK + i)->results; r++) {
                const fsim_tensor *t = &f->p->graph->tensor[node_at(f, x->root - FSIM_BACK + i)->result[r]];
                peak += t->output || (r > 0 && t->readers == 0) ? 0 : t->bytes;
            }
        next.live = peak - freed(x, &next);
    }
    const int to = state_of(f, &next);
    const int64_t spent = x->at.spent + cost;
    if (f->forward && (f->state[to].spent < 0 || spent < f->state[to].spent)) {
        f->state[to].spent = spent;
        f->state[to].parent = x->from;
        f->state[to].via = f->steps;
    }
    *FSIM_PUSH(f->a, f->step, f->steps, f->step_room) = (step){to, x->root, x->set, v, cost, peak};
}

/* Storing z for copies of y, its one reader that is not stored, is never better than storing y: no more is written and read, and nothing is computed again. Unless
 * L2 notices: so what else y reads must have no reader to come. */
static bool better_stored_later(const expansion *x, int z, const fsim_bits *dropped)
{
    const fsim_frontier *f = x->f;
    const fsim_places *l = &f->l;
    const fsim_graph *g = f->p->graph;
    int y = -1;
    for (int k = l->succ_first[z]; k < l->succ_first[z + 1]; k++) {
        const int bit = bit_of(x, l->succ[k]);
        if (bit >= FSIM_BITS || !fsim_bit(&x->set->own, bit) || (fsim_bit(dropped, bit) && y >= 0))
            return false;
        y = fsim_bit(dropped, bit) ? l->succ[k] : y;
    }
    if (y < 0 || f->every_clone || g->tensor[node_at(f, z)->result[0]].bytes < g->tensor[node_at(f, y)->result[0]].bytes)
        return false;
    for (int k = 0; k < node_at(f, y)->args; k++) {
        const fsim_tensor *t = &g->tensor[node_at(f, y)->arg[k].tensor];
        for (int r = 0; r < t->readers; r++) {
            const int reader = l->place[t->reader[r]], bit = reader < 0 ? -1 : bit_of(x, reader);
            const bool own = bit >= 0 && bit < FSIM_BITS && fsim_bit(&x->set->own, bit);
            if (reader < 0 || (!own && !has_run(&x->at, reader)) || is_dropped(&x->at, reader) || (own && reader != y && fsim_bit(dropped, bit)))
                return false;
        }
    }
    return true;
}

/* Every way to store its results or to leave them to be computed again, from its last member down: what a copy will need is needed too. */
static void choose_stores(expansion *x, int c, int bit, fsim_bits stored, fsim_bits dropped)
{
    const fsim_places *l = &x->f->l;
    while (bit >= 0 && !fsim_bit(&x->set->own, bit))
        bit--;
    if (bit < 0) {
        fsim_variant *v = ++x->stores > MOST_STORES ? NULL : fsim_variant_of(&x->f->l, x->family, x->set, &x->choice[c], &stored);
        x->cut = x->cut || x->stores > MOST_STORES;
        if (v)
            add_step(x, v, dropped);
        return;
    }
    const int place = x->root - FSIM_BACK + bit;
    const bool read_later = fsim_bit(&x->set->must, bit) || fsim_bit(&x->set->may, bit);
    bool wanted = read_later;
    for (int k = l->succ_first[place]; k < l->succ_first[place + 1] && !wanted; k++) {
        const int reader = bit_of(x, l->succ[k]);
        wanted = reader < FSIM_BITS && fsim_bit(&dropped, reader);
    }
    if (wanted && l->clonable[place] && !fsim_bit(&x->set->must, bit)) {
        fsim_bits more = dropped;
        fsim_bit_set(&more, bit);
        choose_stores(x, c, bit - 1, stored, more);
    }
    if (wanted && !read_later && better_stored_later(x, place, &dropped))
        return;
    if (wanted)
        fsim_bit_set(&stored, bit);
    choose_stores(x, c, bit - 1, stored, dropped);
}

static void launch(expansion *x)
{
    fsim_frontier *f = x->f;
    fsim_bits copies = {{0}}, none = {{0}};
    const int base = x->root - FSIM_BACK;
    x->choices = 0;
    x->upstream = none;
    if (f->p->recompute)
        FSIM_EACH_BIT(i, x->set->own)
            find_upstream(x, base + i);
    FSIM_EACH_BIT(i, x->set->own)
        if (!add_needed(x, base + i, &copies))
            return;
    if (!x->set->connected && fsim_bits_empty(&x->upstream))
        return;
    choose_copies(x, copies, none);
    for (int c = 0; c < x->choices; c++)
        if (!out_of_order(x, &x->choice[c])) {
            x->stores = 0;
            choose_stores(x, c, fsim_bits_last(&x->set->own), none, none);
        }
}

/* A set as the state sees it. */
typedef struct prospect {
    fsim_bits own, waits_for; /* from the state's base: members; producers still to run */
    int last;
} prospect;

/* Could everything still to run below `root` be passed over, so that a kernel behind it goes first? A kernel is passed over when its last primitive lies behind that
 * kernel's, or when it waits for one that is passed over or lies behind. */
static bool may_go_ahead(const fsim_frontier *f, const state *s, int root)
{
    fsim_bits passed = {{0}}, behind = {{0}};
    for (int i = root - s->base; i < FSIM_BITS; i++)
        fsim_bit_set(&behind, i);
    bool more = true;
    for (int i = 0; i < f->prospects; i++)
        if (f->prospect[i].last >= root)
            passed = fsim_bits_or(passed, f->prospect[i].own);
    while (more) {
        more = false;
        const fsim_bits waited_for = fsim_bits_or(passed, behind);
        for (int i = 0; i < f->prospects; i++) {
            const fsim_bits fresh = fsim_bits_without(f->prospect[i].own, passed);
            if (fsim_bits_meet(&f->prospect[i].waits_for, &waited_for) && !fsim_bits_empty(&fresh)) {
                passed = fsim_bits_or(passed, fresh);
                more = true;
            }
        }
    }
    for (int i = s->base; i < root; i++)
        if (!has_run(s, i) && !fsim_bit(&passed, i - s->base))
            return false;
    return true;
}

/* Launches the sets of one root, those that are ready. */
static void expand_root(expansion *x, bool ready)
{
    fsim_frontier *f = x->f;
    const state *s = &x->at;
    const int by = x->root - FSIM_BACK - s->base;
    x->family = fsim_family_of(&f->l, x->root);
    x->cut = x->cut || !x->family->complete;
    for (int i = 0; i < x->family->sets; i++) {
        x->set = &x->family->set[i];
        prospect at = {.own = fsim_bits_shifted(x->set->own, by), .last = x->root + x->set->last};
        bool blocked = false;
        proceed(f, &f->budget, 1);
        if (fsim_bits_meet(&at.own, &s->done))
            continue;
        if (at.last - s->base >= FSIM_BITS) {
            x->cut = true;
            continue;
        }
        for (int k = 0; k < x->set->preds; k++) {
            const int from = x->root + x->set->pred[k];
            if (!has_run(s, from)) {
                blocked = true;
                fsim_bit_set(&at.waits_for, from - s->base);
            }
        }
        *FSIM_PUSH(f->a, f->prospect, f->prospects, f->prospect_room) = at;
        if (!blocked && ready)
            launch(x);
    }
}

static void expand(fsim_frontier *f, int from)
{
    expansion x = {.f = f, .from = from, .at = f->state[from]};
    const state *s = &x.at;
    f->state[from].first = f->steps;
    f->prospects = 0;
    for (int root = s->base; root < f->l.count && root - s->base < FSIM_BITS; root++) {
        if (has_run(s, root))
            continue;
        if (f->prospects > 0 && !f->lean && !may_go_ahead(f, s, root))
            break;
        bool ready = true;
        for (int k = f->l.pred_first[root]; k < f->l.pred_first[root + 1] && ready; k++)
            ready = has_run(s, f->l.pred[k]);
        x.root = root;
        expand_root(&x, ready);
    }
    f->state[from].steps = f->steps - f->state[from].first;
    f->state[from].expanded = true;
    f->state[from].cut = x.cut || !f->l.complete;
    if (f->forward && f->state[from].cut)
        cut_off(f, &x.at);
}

/* In haste: only the most promising states of a size go on. */
static int by_promise(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] < y[1] ? -1 : x[1] > y[1];
}

static void thin_out(fsim_frontier *f, int size)
{
    int count = 0;
    for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling)
        count++;
    if (count <= KEPT_IN_HASTE)
        return;
    double(*rank)[2] = (double(*)[2])fsim_alloc(f->a, (size_t)count, sizeof *rank);
    count = 0;
    for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling) {
        rank[count][0] = (double)f->state[i - 1].spent + f->state[i - 1].left;
        rank[count++][1] = i;
    }
    qsort(rank, (size_t)count, sizeof *rank, by_promise);
    f->by_size[size] = 0;
    for (int k = 0; k < count; k++) {
        const int i = (int)rank[k][1];
        if (k >= KEPT_IN_HASTE) {
            cut_off(f, &f->state[i - 1]);
            continue;
        }
        f->state[i - 1].sibling = f->by_size[size];
        f->by_size[size] = i;
    }
}

static int64_t cost_to_go(fsim_frontier *f, int at);

/* No rest of a plan from this state costs less, by relaxed costs. For a state that was not followed, what one that stores more has to go. */
static int64_t least_to_go(fsim_frontier *f, int at)
{
    const state *s = &f->state[at];
    int64_t most = -1;
    if (s->expanded)
        return cost_to_go(f, at);
    for (int i = f->front[s->front].first; i; i = f->state[i - 1].peer)
        if (f->state[i - 1].expanded && f->state[i - 1].to_go >= 0 && f->state[i - 1].to_go > most && stores_more(&f->state[i - 1], s))
            most = f->state[i - 1].to_go;
    if (most >= 0)
        return most;
    if (f->haste)
        return (int64_t)(s->left * (1 - 1e-9));
    state all = *s; /* as if everything were stored */
    all.dropped = all.behind = (fsim_bits){{0}};
    all.passed = all.behind_base = 0;
    settle(&all);
    return cost_to_go(f, state_of(f, &all));
}

static int64_t cost_to_go(fsim_frontier *f, int at)
{
    if (f->state[at].to_go >= 0 || at == f->last)
        return f->state[at].to_go = at == f->last ? 0 : f->state[at].to_go;
    if (!f->state[at].expanded)
        expand(f, at);
    int64_t least = f->state[at].cut ? (int64_t)(f->state[at].left * (1 - 1e-9)) : NEVER;
    for (int k = f->state[at].first, end = k + f->state[at].steps; k < end; k++) {
        const int64_t rest = least_to_go(f, f->step[k].to);
        least = f->step[k].cost + rest < least ? f->step[k].cost + rest : least;
    }
    return f->state[at].to_go = least;
}

fsim_frontier *fsim_frontier_of(const fsim_problem *p, const int *node, int count, fsim_thoroughness how, const fsim_budget *budget, fsim_arena *a)
{
    const bool every_clone = how == FSIM_EVERY_CLONE, lean = how == FSIM_EVERY_ORDER;
    fsim_frontier *f = fsim_new(a, fsim_frontier, 1);
    state start = {0};
    *f = (fsim_frontier){.p = p, .a = a, .budget = *budget, .every_clone = every_clone, .lean = lean, .last = -1, .lost = NEVER};
    fsim_places_of(p, node, count, MOST_TRIED, a, &f->l);
    f->by_size = fsim_new(a, int, count + 1);
    f->front_by_size = fsim_new(a, int, count + 1);
    find_floor(f);
    for (int i = 0; i < count; i++)
        start.left += f->floor_own[i];
    for (int t = 0; t < p->graph->tensors; t++)
        start.left += f->floor_input[t];
    state_of(f, &start);
    f->state[0].spent = 0;
    f->forward = true;
    for (int size = 0; size < count; size++) {
        f->haste = f->haste || !proceed(f, &f->budget, 0);
        if (f->haste)
            thin_out(f, size);
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling) {
            if (!every_clone && !lean && needless(f, i - 1))
                continue;
            expand(f, i - 1);
            f->haste = f->haste || !proceed(f, &f->budget, 4);
            f->l.most = f->haste ? TRIED_IN_HASTE : MOST_TRIED;
        }
    }
    f->forward = false;
    for (int size = count; size-- > 0;)
        for (int i = f->by_size[size]; i; i = f->state[i - 1].sibling)
            if (f->state[i - 1].expanded)
                cost_to_go(f, i - 1);
    return f;
}

int64_t fsim_frontier_bound(const fsim_frontier *f)
{
    const int64_t found = f->last >= 0 ? f->state[f->last].spent : NEVER;
    return found < f->lost ? found : f->lost == NEVER ? 0 : f->lost;
}
bool fsim_frontier_complete(const fsim_frontier *f) { return f->lost == NEVER; }
int64_t fsim_frontier_groups(const fsim_frontier *f) { return f->l.looked_at; }
int64_t fsim_frontier_states(const fsim_frontier *f) { return f->states; }

/* A kernel of a plan as a part. */
static fsim_part part_of(const fsim_frontier *f, int root, fsim_bits own, fsim_bits copies, fsim_arena *a)
{
    const fsim_bits all = fsim_bits_or(own, copies);
    fsim_part part = {.node = fsim_new(a, int, FSIM_BITS), .clone = fsim_new(a, bool, FSIM_BITS)};
    FSIM_EACH_BIT(i, all)
        part.node[part.count++] = f->l.node[root - FSIM_BACK + i];
    return part;
}

bool fsim_frontier_plan(fsim_frontier *f, fsim_partition *out, fsim_arena *a)
{
    if (f->last < 0 || f->state[f->last].spent < 0)
        return false;
    for (int at = f->last; at > 0; at = f->state[at].parent) {
        const step *by = &f->step[f->state[at].via];
        out->part[out->parts++] = part_of(f, by->root, by->set->own, by->kernel->clones, a);
    }
    return true;
}

/* L2 followed exactly. */

/* What L2 may hold. A result that could be written back is not charged for that until it must be: `by` is then the kernel that made it. */
typedef struct {
    int tensor, root;  /* root: of that kernel */
    double age;        /* bytes that have entered since its last use, itself included */
    fsim_variant *by;
    uint64_t hit, absorbed, bit; /* that kernel's reads and writes as charged, and this one among the writes */
} held;

typedef struct {
    int64_t spent;
    int parent, next; /* next: where the same has run */
    int state;
    const step *by;
    fsim_bits copies;
    int first, count; /* held, ascending by tensor */
    bool dominated;
} label;

typedef struct {
    fsim_frontier *f;
    const fsim_budget *budget;
    fsim_arena *a;
    label *label;
    int labels, label_room;
    held *held;
    int helds, held_room;
    int *of_front, *many; /* 1 + first label; how many */
    int rooms;
    int64_t limit, lost;
    int most;             /* labels of one state */
    double capacity;
    held *now;            /* being made */
    int count, room;
} following;

/* What it costs more to have a result written back after all. */
static int64_t write_back(following *w, const held *h)
{
    const int64_t more = fsim_cost_of(&w->f->l, h->by, h->hit, h->absorbed & ~h->bit), before = fsim_cost_of(&w->f->l, h->by, h->hit, h->absorbed);
    return more < 0 || before < 0 ? 0 : more - before;
}

/* Is x as good as y in all that may follow? Everything that y holds, x holds as long; what x may have to pay for later, y must too, or has paid more already. */
static bool dominates(following *w, const held *x, int xs, int64_t spent_x, const held *y, int ys, int64_t spent_y)
{
    if (spent_x > spent_y)
        return false;
    int64_t slack = spent_y - spent_x;
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
        if (i < ys && y[i].tensor == x[k].tensor && y[i].by == x[k].by && y[i].root == x[k].root && y[i].hit == x[k].hit && y[i].absorbed == x[k].absorbed)
            continue;
        slack -= write_back(w, &x[k]);
        if (slack < 0)
            return false;
    }
    return true;
}

static int64_t promise_of(const following *w, const label *x) { return x->spent + least_to_go(w->f, x->state); }

static void offer(following *w, int to, int parent, const step *by, fsim_bits copies, int64_t spent)
{
    fsim_frontier *f = w->f;
    const int64_t promise = spent + least_to_go(f, to);
    const int where = f->state[to].front;
    label *worst = NULL;
    int met = 0;
    while (where >= w->rooms) { /* fronts are found as we go */
        const int rooms = w->rooms ? w->rooms * 2 : f->fronts + 64;
        int *of_front = fsim_new(w->a, int, rooms), *many = fsim_new(w->a, int, rooms);
        for (int i = 0; i < w->rooms; i++) {
            of_front[i] = w->of_front[i];
            many[i] = w->many[i];
        }
        w->of_front = of_front;
        w->many = many;
        w->rooms = rooms;
    }
    for (int i = w->of_front[where]; i; i = w->label[i - 1].next) {
        label *x = &w->label[i - 1];
        if (++met % 16 == 0)
            proceed(f, w->budget, 16);
        if (x->dominated)
            continue;
        if (stores_more(&f->state[x->state], &f->state[to]) &&
            dominates(w, &w->held[x->first], x->count, x->spent, w->now, w->count, spent))
            return;
        if (stores_more(&f->state[to], &f->state[x->state]) &&
            dominates(w, w->now, w->count, spent, &w->held[x->first], x->count, x->spent)) {
            x->dominated = true;
            w->many[where]--;
        } else if (!worst || promise_of(w, x) > promise_of(w, worst)) {
            worst = x;
        }
    }
    if (w->many[where] >= w->most) {
        const bool newer = worst && promise_of(w, worst) > promise;
        const int64_t least = newer ? promise_of(w, worst) : promise;
        w->lost = least < w->lost ? least : w->lost;
        if (!newer)
            return;
        worst->dominated = true;
        w->many[where]--;
    }
    w->many[where]++;
    *FSIM_PUSH(w->a, w->label, w->labels, w->label_room) = (label){spent, parent, w->of_front[where], to, by, copies, w->helds, w->count, false};
    w->of_front[where] = w->labels;
    for (int i = 0; i < w->count; i++)
        *FSIM_PUSH(w->a, w->held, w->helds, w->held_room) = w->now[i];
}

static int find_held(const held *list, int count, int tensor)
{
    int k = 0;
    while (k < count && list[k].tensor < tensor)
        k++;
    return k;
}

/* Charges for the write of w->now[k]; what the same kernel may have to write later is reckoned from there. */
static int64_t charge(following *w, int k)
{
    const held h = w->now[k];
    const int64_t more = write_back(w, &h);
    w->now[k].by = NULL;
    for (int i = 0; i < w->count; i++)
        if (w->now[i].by == h.by && w->now[i].root == h.root)
            w->now[i].absorbed &= ~h.bit;
    return more;
}

static bool still_wanted(const following *w, const state *s, int tensor)
{
    const fsim_tensor *t = &w->f->p->graph->tensor[tensor];
    for (int r = t->readers; r-- > 0;) {
        const int reader = w->f->l.place[t->reader[r]];
        if (reader < 0 || !has_run(s, reader) || is_dropped(s, reader))
            return true;
        if (reader < s->base)
            return false;
    }
    return false;
}

static void use(following *w, int tensor, double age)
{
    const int k = find_held(w->now, w->count, tensor);
    if (k == w->count || w->now[k].tensor != tensor) {
        FSIM_PUSH(w->a, w->now, w->count, w->room);
        memmove(&w->now[k + 1], &w->now[k], (size_t)(w->count - 1 - k) * sizeof *w->now);
        w->now[k] = (held){.tensor = tensor, .age = INFINITY};
    }
    w->now[k].age = fmin(w->now[k].age, age);
}

/* One kernel run from a label. */
static void run_kernel(following *w, int from, const step *by, fsim_variant *v)
{
    fsim_frontier *f = w->f;
    const label at = w->label[from];
    const int64_t rest = least_to_go(f, by->to);
    const state *to = &f->state[by->to];
    uint64_t hit = 0, absorbed = 0;
    double entered = 0, behind = 0;
    w->count = 0;
    for (int k = 0; k < at.count; k++)
        *FSIM_PUSH(w->a, w->now, w->count, w->room) = w->held[at.first + k];
    for (int i = 0; i < v->writes; i++) {
        entered += (double)v->write[i].bytes;
        if (i < 64 && v->write[i].intermediate && (double)v->write[i].bytes <= w->capacity)
            absorbed |= (uint64_t)1 << i;
    }
    int64_t spent = at.spent;
    for (int i = 0; i < v->reads; i++) {
        const int t = fsim_touched(&f->l, by->root, &v->read[i], false), k = find_held(w->now, w->count, t);
        const bool known = k < w->count && w->now[k].tensor == t, found = known && w->now[k].age <= w->capacity;
        if (known && !found && w->now[k].by)
            spent += charge(w, k);
        if (found && i < 64)
            hit |= (uint64_t)1 << i;
        entered += found ? 0 : (double)v->read[i].bytes;
    }
    const int64_t cost = fsim_cost_of(&f->l, v, hit, absorbed);
    spent += cost;
    if (cost < 0 || spent + rest >= w->limit)
        return;
    for (int k = 0; k < w->count; k++)
        w->now[k].age += entered;
    for (int i = 0; i < v->writes; i++) {
        const int t = fsim_touched(&f->l, by->root, &v->write[i], true);
        behind += (double)v->write[i].bytes;
        use(w, t, behind);
        if (i < 64 && absorbed >> i & 1) {
            held *h = &w->now[find_held(w->now, w->count, t)];
            h->by = v;
            h->root = by->root;
            h->hit = hit;
            h->absorbed = absorbed;
            h->bit = (uint64_t)1 << i;
        }
    }
    int order[FSIM_MAX_PARAMETERS + 1], whole = 0;
    for (int i = 0; i < v->reads && whole < FSIM_MAX_PARAMETERS; i++) {
        if (!v->read[i].whole)
            continue;
        const int t = fsim_touched(&f->l, by->root, &v->read[i], false);
        int k = whole++;
        for (; k > 0 && fsim_used_later(f->p, t, order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = t;
    }
    for (int i = 0; i < whole; i++) {
        behind += (double)f->p->graph->tensor[order[i]].bytes;
        use(w, order[i], behind);
    }
    int count = 0;
    for (int k = 0; k < w->count; k++) /* pushed out before their last reader ran */
        if (w->now[k].by && w->now[k].age > w->capacity && still_wanted(w, to, w->now[k].tensor))
            spent += charge(w, k);
    for (int k = 0; k < w->count; k++) /* what nothing can read any more is not told apart */
        if (f->l.last_use[w->now[k].tensor] >= to->base && (w->now[k].age <= w->capacity || w->now[k].by))
            w->now[count++] = w->now[k];
    w->count = count;
    if (spent + rest < w->limit)
        offer(w, by->to, from, by, v->clones, spent);
}

/* The copies that relaxed costs had no use for: with L2 as it is they may pay. */
static void run_with_more_copies(following *w, int from, int state_at, const step *by)
{
    fsim_frontier *f = w->f;
    expansion x = {.f = f, .from = state_at, .at = f->state[state_at], .root = by->root, .set = by->set, .family = fsim_family_of(&f->l, by->root)};
    const int base = by->root - FSIM_BACK;
    fsim_bits copies = {{0}};
    FSIM_EACH_BIT(i, x.set->own)
        find_upstream(&x, base + i);
    if (fsim_bits_empty(&x.upstream))
        return;
    FSIM_EACH_BIT(i, x.set->own)
        add_needed(&x, base + i, &copies);
    if (!fsim_bits_equal(&copies, &by->kernel->clones))
        return; /* asked once for each set: at the step with no more copies than it needs */
    f->every_clone = true;
    choose_copies(&x, copies, (fsim_bits){{0}});
    f->every_clone = false;
    for (int c = 1; c < x.choices; c++) {
        fsim_variant *v = out_of_order(&x, &x.choice[c]) ? NULL : fsim_variant_of(&f->l, x.family, x.set, &x.choice[c], &by->kernel->stored);
        bool known = !v;
        for (int k = x.at.first; k < x.at.first + x.at.steps && !known; k++)
            known = f->step[k].kernel == v && f->step[k].to == by->to;
        if (!known)
            run_kernel(w, from, by, v);
    }
    const int64_t promise = w->label[from].spent + by->cost + least_to_go(f, by->to);
    if (x.cut && promise < w->lost)
        w->lost = promise;
}

static void start_label(following *w)
{
    const fsim_graph *g = w->f->p->graph;
    w->count = 0;
    for (int t = 0; t < g->tensors && w->f->p->warm; t++)
        if (g->tensor[t].producer < 0 && w->f->l.last_use[t] >= 0 && fsim_may_reside(w->f->p, t))
            *FSIM_PUSH(w->a, w->now, w->count, w->room) = (held){.tensor = t};
    offer(w, 0, -1, NULL, (fsim_bits){{0}}, 0);
}

/* The best label of the last state, -1 when there is none. *in_time is false when the budget ended. */
static int follow(following *w, bool *in_time)
{
    fsim_frontier *f = w->f;
    w->lost = NEVER;
    start_label(w);
    for (int size = 0; size < f->l.count; size++)
        for (int i = f->front_by_size[size]; i; i = f->front[i - 1].sibling)
            for (int at = i <= w->rooms ? w->of_front[i - 1] : 0; at; at = w->label[at - 1].next) {
                const int from = w->label[at - 1].state;
                *in_time = proceed(f, w->budget, 4);
                if (!*in_time)
                    return -1;
                if (w->label[at - 1].dominated)
                    continue;
                if (!f->state[from].expanded)
                    expand(f, from);
                if (f->state[from].cut) {
                    const int64_t least = w->label[at - 1].spent + (int64_t)(f->state[from].left * (1 - 1e-9));
                    w->lost = least < w->lost ? least : w->lost;
                }
                for (int k = f->state[from].first, end = k + f->state[from].steps; k < end && !w->label[at - 1].dominated; k++) {
                    const step *by = &f->step[k];
                    if (w->label[at - 1].spent + by->cost + least_to_go(f, by->to) >= w->limit)
                        continue;
                    by = &f->step[k];
                    proceed(f, w->budget, 8);
                    run_kernel(w, at - 1, by, by->kernel);
                    if (f->p->recompute && !f->every_clone)
                        run_with_more_copies(w, at - 1, from, &f->step[k]);
                }
            }
    int best = -1;
    for (int at = f->last >= 0 && f->state[f->last].front < w->rooms ? w->of_front[f->state[f->last].front] : 0; at; at = w->label[at - 1].next)
        if (!w->label[at - 1].dominated && (best < 0 || w->label[at - 1].spent < w->label[best].spent))
            best = at - 1;
    return best;
}

bool fsim_frontier_follow(fsim_frontier *f, int64_t known, const fsim_budget *budget, fsim_partition *out, int64_t *bound, fsim_arena *a)
{
    static const int most[] = {8, 64, 512}; /* labels of one state: few find a good plan soon, which cuts what many must look at */
    bool in_time = true, better = false;
    *bound = fsim_frontier_bound(f);
    for (size_t turn = 0; turn < sizeof most / sizeof *most && in_time && *bound < known && f->last >= 0 && !f->haste; turn++) {
        fsim_arena *scratch = fsim_arena_new();
        following w = {.f = f, .budget = budget, .a = scratch, .limit = known, .most = most[turn], .capacity = fsim_l2_effective(f->p->hw)};
        const int best = follow(&w, &in_time);
        if (best >= 0) {
            known = w.label[best].spent;
            better = true;
            out->parts = 0;
            for (int at = best; w.label[at].by; at = w.label[at].parent)
                out->part[out->parts++] = part_of(f, w.label[at].by->root, w.label[at].by->set->own, w.label[at].copies, a);
        }
        const int64_t least = w.lost < known ? w.lost : known;
        if (in_time && least > *bound)
            *bound = least;
        fsim_arena_free(scratch);
        if (w.lost >= known)
            break;
    }
    return better;
}

/* Partitions in the order of their relaxed cost. */

typedef struct {
    int64_t promise, spent;
    int state, parent;
    const step *by;
} path;

static bool better_path(const path *x, const path *y) { return x->promise != y->promise ? x->promise < y->promise : x->state > y->state; }

bool fsim_frontier_each(fsim_frontier *f, int64_t *limit, const fsim_budget *budget, bool (*visit)(void *to, const fsim_partition *part), void *to)
{
    fsim_arena *a = fsim_arena_new();
    path *all = NULL;
    int count = 0, room = 0, *heap = NULL, waiting = 0, heap_room = 0;
    bool going = true, in_time = f->last >= 0 && !f->haste;
    fsim_partition part = {0, fsim_new(a, fsim_part, f->l.count + 1)};
    if (in_time) {
        *FSIM_PUSH(a, all, count, room) = (path){least_to_go(f, 0), 0, 0, -1, NULL};
        *FSIM_PUSH(a, heap, waiting, heap_room) = 0;
    }
    while (waiting > 0 && going && in_time) {
        const int top = heap[0], last = heap[--waiting];
        int i = 0;
        for (int child; (child = 2 * i + 1) < waiting; i = child) {
            if (child + 1 < waiting && better_path(&all[heap[child + 1]], &all[heap[child]]))
                child++;
            if (!better_path(&all[heap[child]], &all[last]))
                break;
            heap[i] = heap[child];
        }
        if (waiting > 0)
            heap[i] = last;
        const path at = all[top];
        if (at.promise >= *limit)
            break;
        in_time = proceed(f, budget, 2);
        if (at.state == f->last) {
            const fsim_mark mark = fsim_save(a);
            part.parts = 0;
            for (int k = top; all[k].by; k = all[k].parent)
                part.part[part.parts++] = part_of(f, all[k].by->root, all[k].by->set->own, all[k].by->kernel->clones, a);
            going = visit(to, &part);
            fsim_rewind(a, mark);
            continue;
        }
        if (!f->state[at.state].expanded)
            expand(f, at.state);
        for (int k = f->state[at.state].first, end = k + f->state[at.state].steps; k < end; k++) {
            const int64_t rest = least_to_go(f, f->step[k].to), spent = at.spent + f->step[k].cost;
            const step *by = &f->step[k];
            if (spent + rest >= *limit)
                continue;
            *FSIM_PUSH(a, all, count, room) = (path){spent + rest, spent, by->to, top, by};
            FSIM_PUSH(a, heap, waiting, heap_room);
            int hole = waiting - 1;
            for (; hole > 0 && better_path(&all[count - 1], &all[heap[(hole - 1) / 2]]); hole = (hole - 1) / 2)
                heap[hole] = heap[(hole - 1) / 2];
            heap[hole] = count - 1;
        }
    }
    fsim_arena_free(a);
    return going && in_time;
}

/* Time against peak memory. */

typedef struct {
    int64_t spent, peak;
    int parent, next, state;
    const step *by;
} offer_of_memory;

bool fsim_frontier_front(fsim_frontier *f, int most, const fsim_budget *budget, bool (*visit)(void *to, const fsim_partition *part, int64_t spent, int64_t peak),
                         void *to)
{
    fsim_arena *a = fsim_arena_new();
    offer_of_memory *all = NULL;
    int count = 0, room = 0, *first = fsim_new(a, int, f->states + 1), *many = fsim_new(a, int, f->states + 1);
    bool whole = f->lost == NEVER && !f->haste, in_time = f->last >= 0;
    *FSIM_PUSH(a, all, count, room) = (offer_of_memory){.parent = -1};
    first[0] = many[0] = 1;
    for (int size = 0; size < f->l.count && in_time; size++)
        for (int i = f->by_size[size]; i && in_time; i = f->state[i - 1].sibling)
            for (int at = first[i - 1]; at && in_time; at = all[at - 1].next)
                for (int k = f->state[i - 1].first, end = k + f->state[i - 1].steps; k < end; k++) {
                    const step *by = &f->step[k];
                    const int64_t spent = all[at - 1].spent + by->cost, peak = by->peak > all[at - 1].peak ? by->peak : all[at - 1].peak;
                    in_time = proceed(f, budget, 1 + many[by->to] / 4);
                    bool worse = false;
                    for (int *link = &first[by->to]; *link && !worse;) {
                        const offer_of_memory *x = &all[*link - 1];
                        worse = x->spent <= spent && x->peak <= peak;
                        if (!worse && spent <= x->spent && peak <= x->peak) {
                            *link = x->next;
                            many[by->to]--;
                        } else if (!worse) {
                            link = &all[*link - 1].next;
                        }
                    }
                    if (worse)
                        continue;
                    if (many[by->to] >= most) { /* the front is thinned between its ends */
                        whole = false;
                        continue;
                    }
                    *FSIM_PUSH(a, all, count, room) = (offer_of_memory){spent, peak, at - 1, 0, by->to, by};
                    int *link = &first[by->to]; /* fastest first */
                    while (*link && all[*link - 1].spent < spent)
                        link = &all[*link - 1].next;
                    all[count - 1].next = *link;
                    *link = count;
                    many[by->to]++;
                }
    bool going = in_time;
    fsim_partition part = {0, fsim_new(a, fsim_part, f->l.count + 1)};
    for (int at = in_time && f->last >= 0 ? first[f->last] : 0; at && going; at = all[at - 1].next) {
        part.parts = 0;
        for (int k = at - 1; all[k].by; k = all[k].parent)
            part.part[part.parts++] = part_of(f, all[k].by->root, all[k].by->set->own, all[k].by->kernel->clones, a);
        going = visit(to, &part, all[at - 1].spent, all[at - 1].peak);
    }
    fsim_arena_free(a);
    return whole && in_time;
}

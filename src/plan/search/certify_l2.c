/* SPDX-License-Identifier: Apache-2.0 */
/* certify_l2.c: the second part of a certificate. Where the pieces' bounds stay below the plan's cost, because each
 * kernel had the contents of L2 that suit it best, partial plans are followed kernel by kernel, in the one launch order
 * that each partition has, with what L2 really holds. A partial plan ends where its cost and the potentials of what is
 * left reach the plan's cost. */
#include "plan/search/certificate.h"

#include "plan/price/launches.h"

#include <string.h>

enum { MOST_ACCESSES = 64 };

typedef struct {
    int piece, kernel, last; /* last: its last primitive */
    fsim_part part;
    fsim_candidate *candidate;
    bool *hit, *absorbed;
} launched;

typedef struct {
    fsim_problem *p;
    fsim_arena *a, *scratch;
    fsim_certificate *c;
    fsim_sum cost;
    int *at;       /* per piece: its state */
    int **first;   /* per piece and state: its first move; moves by `from` are neighbours */
    int *ran_at;   /* per primitive: the place of the kernel that runs it first; -1 */
    fsim_sum rest; /* the sum of the pieces' potentials */
    launched *sequence;
    int length, room;
} follower;

static fsim_certified_piece *piece_of(const follower *f, int i) { return &f->c->piece[i]; }

static int highest(fsim_mask m) { return 63 - __builtin_clzll(m); }

/* Is this the kernel's turn? Of the kernels that were ready since, each has had a lower last primitive. */
static bool in_order(const follower *f, const launched *k)
{
    const fsim_graph *g = f->p->graph;
    int ready = 0;
    for (int i = 0; i < k->part.count; i++) {
        const fsim_node *n = &g->node[k->part.node[i]];
        for (int q = 0; q < n->args; q++) {
            const int from = g->tensor[n->arg[q].tensor].producer;
            bool inside = from < 0;
            for (int m = 0; m < k->part.count && !inside; m++)
                inside = k->part.node[m] == from;
            if (!inside && f->ran_at[from] < 0)
                return false; /* another piece has still to make it */
            ready = !inside && f->ran_at[from] + 1 > ready ? f->ran_at[from] + 1 : ready;
        }
    }
    for (int i = ready; i < f->length; i++)
        if (f->sequence[i].last > k->last)
            return false;
    return true;
}

static launched kernel_at(const follower *f, int piece, int kernel)
{
    const fsim_certified_piece *x = piece_of(f, piece);
    const fsim_priced_set *k = &x->kernel[kernel];
    const fsim_mask done = x->state[f->at[piece]].done;
    const int count = __builtin_popcountll(k->set);
    launched out = {piece,
                    kernel,
                    x->node[highest(k->set)],
                    {0, fsim_new(f->scratch, int, count), fsim_new(f->scratch, bool, count)},
                    NULL,
                    NULL,
                    NULL};
    bool *stored = fsim_new(f->scratch, bool, count);
    for (fsim_mask left = k->set; left; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        stored[out.part.count] = k->stored >> i & 1;
        out.part.clone[out.part.count] = done >> i & 1;
        out.part.node[out.part.count++] = x->node[i];
    }
    out.candidate = fsim_candidate_of(f->p, out.part.node, count, stored);
    out.hit = fsim_new(f->scratch, bool, out.candidate->group->reads + 1);
    out.absorbed = fsim_new(f->scratch, bool, out.candidate->group->writes + 1);
    return out;
}

static uint64_t as_bits(const bool *flag, int count)
{
    uint64_t out = 0;
    for (int i = 0; i < count; i++)
        out |= (uint64_t)flag[i] << i;
    return out;
}

/* The price of a kernel as it is now; noted, once. -1 where it can't be told. */
static fsim_sum real_price(follower *f, const launched *k)
{
    const fsim_group *o = k->candidate->group;
    if (o->reads > MOST_ACCESSES || o->writes > MOST_ACCESSES)
        return -1;
    const fsim_kernel *priced = fsim_kernel_for(f->p, k->candidate, k->hit, k->absorbed);
    if (!priced)
        return -1;
    const uint64_t hit = as_bits(k->hit, o->reads), absorbed = as_bits(k->absorbed, o->writes);
    fsim_followed *y = &f->c->followed;
    bool known = false;
    for (int i = 0; i < y->prices && !known; i++)
        known = y->price[i].group == o && y->price[i].hit == hit && y->price[i].absorbed == absorbed;
    const fsim_sum price = fsim_objective_of(f->p, priced);
    if (!known)
        *FSIM_PUSH(f->a, y->price, y->prices, f->room) =
            (fsim_real_price){k->piece, k->kernel, o, hit, absorbed, price};
    return price;
}

/* What a kernel stores that L2 has no room for is not there when somebody reads it. */
static void leave_l2(const follower *f, launched *k)
{
    const fsim_group *o = k->candidate->group;
    if (fsim_bytes_in_flight(f->p->graph, o) > fsim_l2_effective(f->p->hw))
        memset(k->absorbed, 0, (size_t)o->writes * sizeof *k->absorbed);
}

/* What the partial plan costs at least: results that all readers so far found in L2 have not been written to DRAM. */
static fsim_sum price_so_far(follower *f)
{
    const int count = f->length;
    const fsim_mark mark = fsim_save(f->scratch);
    fsim_launches all = {count, fsim_new(f->scratch, const fsim_part *, count),
                         fsim_new(f->scratch, fsim_candidate *, count), fsim_new(f->scratch, bool *, count),
                         fsim_new(f->scratch, bool *, count)};
    fsim_sum sum = 0;
    for (int i = 0; i < count; i++) {
        all.part[i] = &f->sequence[i].part;
        all.kernel[i] = f->sequence[i].candidate;
        all.hit[i] = f->sequence[i].hit;
        all.absorbed[i] = f->sequence[i].absorbed;
    }
    fsim_find_residency(f->p, &all, f->scratch);
    fsim_rewind(f->scratch, mark);
    for (int i = 0; i < count; i++) {
        leave_l2(f, &f->sequence[i]);
        const fsim_sum price = real_price(f, &f->sequence[i]);
        if (price < 0)
            f->c->followed.without = "a kernel accesses more than 64 tensors";
        sum += price;
    }
    return sum;
}

static void extend_plan(follower *f);

/* Launches the kernel of this move next, and all that can follow. */
static void try_move(follower *f, int piece, const fsim_transition *m)
{
    fsim_certified_piece *x = piece_of(f, piece);
    const fsim_sum before = x->state[m->from].least, after = x->state[m->to].least;
    const fsim_mark mark = fsim_save(f->scratch);
    const launched k = kernel_at(f, piece, m->kernel);
    if (after < FSIM_SUM_MOST && in_order(f, &k)) {
        f->sequence[f->length] = k;
        for (int i = 0; i < k.part.count; i++)
            if (!k.part.clone[i])
                f->ran_at[k.part.node[i]] = f->length;
        f->length++;
        f->at[piece] = m->to;
        f->rest += after - before;
        if (++f->c->followed.steps > FSIM_FOLLOWED_STEPS)
            f->c->followed.without = "more than 400000 partial plans would have to be followed";
        const fsim_sum spent = price_so_far(f);
        if (spent + f->rest < f->cost && !f->c->followed.without)
            extend_plan(f);
        f->rest -= after - before;
        f->at[piece] = m->from;
        f->length--;
        for (int i = 0; i < k.part.count; i++)
            if (!k.part.clone[i])
                f->ran_at[k.part.node[i]] = -1;
    }
    fsim_rewind(f->scratch, mark);
}

/* All that can follow the kernels launched so far. */
static void extend_plan(follower *f)
{
    bool ended = true;
    for (int i = 0; i < f->c->pieces && !f->c->followed.without; i++) {
        const fsim_certified_piece *x = piece_of(f, i);
        const fsim_waypoint *s = &x->state[f->at[i]];
        ended = ended && s->least == 0 && !s->cut;
        if (s->cut)
            f->c->followed.without = "a state would have to be looked at that was left out";
        for (int m = f->first[i][f->at[i]];
             m < x->transitions && x->transition[m].from == f->at[i] && !f->c->followed.without; m++)
            try_move(f, i, &x->transition[m]);
    }
    if (ended) /* a better plan than the one to certify */
        f->c->followed.without = "a better plan was found";
}

/* Why L2 is not followed; NULL where it is. */
static const char *why_not(const fsim_problem *p, const fsim_certificate *c)
{
    for (int i = 0; i < c->pieces; i++)
        if (c->piece[i].without)
            return "a piece has no certificate";
    for (int t = 0; t < p->graph->tensors; t++)
        if (p->graph->tensor[t].over >= 0)
            return "something is written in place";
    return p->warm ? "what L2 holds at the start is what the plan leaves there" : NULL;
}

void fsim_certify_l2(fsim_problem *p, fsim_sum cost, fsim_arena *a, fsim_certificate *c)
{
    if (c->pieces_bound >= cost) {
        c->followed.without = "not needed";
        return;
    }
    c->followed.without = why_not(p, c);
    if (c->followed.without)
        return;
    const int nodes = p->graph->nodes;
    fsim_arena *scratch = fsim_arena_new();
    follower f = {.p = p, .a = a, .scratch = scratch, .c = c, .cost = cost, .rest = c->pieces_bound};
    f.at = fsim_new(scratch, int, c->pieces);
    f.first = fsim_new(scratch, int *, c->pieces);
    f.ran_at = fsim_new(scratch, int, nodes + 1);
    f.sequence = fsim_new(scratch, launched, nodes + 1);
    memset(f.ran_at, -1, ((size_t)nodes + 1) * sizeof *f.ran_at);
    for (int i = 0; i < c->pieces; i++) {
        const fsim_certified_piece *x = &c->piece[i];
        f.first[i] = fsim_new(scratch, int, x->states + 1);
        for (int s = 0; s < x->states; s++)
            f.first[i][s] = x->transitions;
        for (int m = x->transitions; m-- > 0;)
            f.first[i][x->transition[m].from] = m;
    }
    extend_plan(&f);
    if (c->followed.without)
        c->followed.prices = 0;
    else
        c->bound = c->followed.bound = cost;
    fsim_arena_free(scratch);
}

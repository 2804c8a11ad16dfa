/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h: a lower bound of every plan that can be checked without the search.
 *
 * The graph falls into pieces that no kernel connects, so that the bounds of the pieces add up. In a piece, a state is
 * which primitives have run and which of their results are not in memory. A potential says for each state what the
 * rest of every plan costs at least: it is 0 at the end, and from no state does a kernel that may be launched there
 * lead to a potential that is lower by more than the kernel's price. That holds for kernels in any order, each with
 * the contents of L2 that suit it best, so the potential of the start bounds every plan. docs/FORMATS.md says what is
 * written of it; tests/check/proof_check.py checks it. */
#ifndef FUSESIM_PLAN_SEARCH_CERTIFICATE_H
#define FUSESIM_PLAN_SEARCH_CERTIFICATE_H

#include "plan/price/price.h"
#include "plan/search/space.h"

/* A kernel that may be launched in some state, with what it costs at least. Masks are of the piece's primitives. */
typedef struct {
    fsim_mask set, stored;
    fsim_mask seen; /* bit i: the piece's input i may be in L2, because something may have read it before */
    bool room;      /* L2 has room for all that it touches: otherwise it finds nothing there */
    fsim_sum price; /* in the objective's unit, with all in L2 that may be there */
} fsim_priced_set;

/* A set that is no kernel. */
typedef struct {
    fsim_mask set, stored;
    bool larger;      /* nor is a larger set, whatever it stores */
    bool any_stored;  /* whatever it stores */
    fsim_refusal why; /* primitives of the graph */
} fsim_refused_set;

typedef struct {
    fsim_mask done, dropped; /* dropped: have run, are not in memory, and may be needed again */
    fsim_sum least;          /* cost of the rest; FSIM_SUM_MOST: nothing leads to the end from here */
    bool cut; /* `least` is what the outputs and products that are left take at peak rates, and a launch: what
                 was spent before leaves no room for a better plan */
} fsim_waypoint;

/* A kernel leads from a state to another: numbers of both, and of the kernel. */
typedef struct {
    int from, to, kernel;
} fsim_transition;

typedef struct {
    int count, *node;    /* primitives of the graph, ascending */
    int inputs, *input;  /* graph inputs that they read, and that may be in L2: tensors */
    fsim_mask again;     /* primitives that several kernels may compute */
    const char *without; /* why it has no potentials; NULL where it has */
    fsim_sum cost;       /* of the plan's kernels in this piece */
    fsim_sum bound;      /* without potentials: a launch, and outputs and products at peak rates */
    fsim_priced_set *kernel;
    fsim_refused_set *refused;
    fsim_waypoint *state;
    fsim_transition *transition; /* by `from`, states with fewer primitives run first */
    int kernels, refusals, states, transitions;
    int64_t steps; /* kernels of states that were looked at */
} fsim_certified_piece;

/* Two primitives that have a tensor in common, but never a kernel. */
typedef struct {
    int a, b;
    fsim_refusal why;
} fsim_pair_apart;

/* A kernel's price with what L2 really holds. */
typedef struct {
    int piece, kernel; /* of that piece: its set, and what it stores */
    const fsim_group *group;
    uint64_t hit, absorbed; /* by the group's reads and writes */
    fsim_sum price;
} fsim_real_price;

/* The partial plans, in launch order and with what L2 really holds, whose cost with the potentials of what is left is
 * below the plan's cost. None of them leads to a better plan. */
typedef struct {
    const char *without; /* why there is none; NULL where there is */
    fsim_sum bound;
    fsim_real_price *price; /* of the kernels that are met */
    int prices;
    int64_t steps; /* partial plans that were priced */
} fsim_followed;

typedef struct {
    const char *without; /* why there is none: NULL where there is */
    int pieces, pairs;
    fsim_certified_piece *piece;
    fsim_pair_apart *separated;
    fsim_sum pieces_bound, bound; /* the sum of the pieces' bounds; the better one of that and of `followed` */
    fsim_followed followed;
} fsim_certificate;

enum {
    FSIM_CERTIFIED_STEPS = 4000000, /* of all pieces together */
    FSIM_CERTIFIED_SETS = 200000,   /* that might be kernels, of a piece */
    FSIM_FOLLOWED_STEPS = 400000
};

/* A certificate for p's graph, which has no gradients and no library calls, and this plan of it; the objective is time
 * or bytes. In a. */
fsim_certificate fsim_certify(fsim_problem *p, const fsim_plan *plan, fsim_arena *a);

/* certify_floor.c */

/* What a launch, the output of each of some primitives and its product take at least, in the objective's unit. */
typedef struct {
    double launch, *written, *product;
} fsim_certified_floor;
/* Of node[0, count). Faster ways to compute a convolution are known, and a causal mask skips up to half. In a. */
fsim_certified_floor fsim_certified_floor_of(const fsim_problem *p, const int *node, int count, fsim_arena *a);
/* What kernels that write so much and compute such products take at least. */
fsim_sum fsim_certified_least(const fsim_certified_floor *f, double written, double products);

/* Can no kernel contain both, whatever else it contains? Primitives that inline exclude nothing by themselves. */
bool fsim_never_in_kernel(fsim_problem *p, int x, int y, fsim_refusal *why);

/* certify.c: finds the kernels, states and potentials of a piece, whose primitives are known, at most 64, in at most
 * *steps steps, and takes those off. In a. */
void fsim_certify_piece(fsim_problem *p, int64_t *steps, fsim_arena *a, fsim_certified_piece *piece);

/* certify_l2.c: follows L2 where the pieces' bounds do not reach `cost`, that of the plan. In a. */
void fsim_certify_l2(fsim_problem *p, fsim_sum cost, fsim_arena *a, fsim_certificate *c);

#endif

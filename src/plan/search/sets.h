/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h: a list of primitives of any length, and the sets of them that a kernel may own: what it runs first, clones
 * aside.
 *
 * Indices are places in the list. A set is known by its root, its lowest place, and bits around it: bit FSIM_BACK + i
 * is place root + i. Lists repeat themselves (layers): the sets of a root are found once and serve every root whose
 * surroundings look the same. */
#ifndef FUSESIM_PLAN_SEARCH_SETS_H
#define FUSESIM_PLAN_SEARCH_SETS_H

#include "plan/price/price.h"
#include "plan/search/bits.h"

enum { FSIM_BACK = FSIM_CLONE_REACH, FSIM_AHEAD = FSIM_BITS - FSIM_BACK };

/* What the group reads or writes, by the member that does: the same in every translation of the set. */
typedef struct {
    int offset, index;        /* member's place less the root, argument or result */
    int64_t bytes;            /* read: distinct; write: the tensor's */
    bool whole, intermediate; /* write: intermediate, may be absorbed */
} fsim_touch;

typedef struct fsim_cost {
    struct fsim_cost *next;
    uint64_t hit, absorbed;
    fsim_sum cost; /* of the objective; -1: fits no SM */
} fsim_cost;

/* A set with clones and a choice of stored results: one kernel. */
typedef struct fsim_variant {
    struct fsim_variant *next;
    fsim_bits clones, stored;
    fsim_candidate *kernel; /* of the representative root; NULL when illegal */
    int reads, writes;
    fsim_touch *read, *write; /* the first 64 of each have bits in costs */
    int *read_at;             /* per read: its index in the candidate's group */
    int *write_at;
    fsim_cost *costs;
} fsim_variant;

typedef struct {
    fsim_bits own;
    int last;            /* highest member less the root */
    int preds, *pred;    /* producers outside, as places less the root */
    fsim_bits must, may; /* members that are stored; members that are stored or computed again by every later reader */
    bool connected;      /* without clones */
    fsim_variant *variant;
} fsim_own_set;

typedef struct fsim_family {
    struct fsim_family *next;
    int root, reach, back; /* representative root; the places [root - back, root + reach] decided what is here */
    fsim_own_set *set;
    int sets, room;
    bool complete;
} fsim_family;

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    int count;
    const int *node;        /* primitives, ascending */
    int *place;             /* per primitive of the graph: its place, or -1 */
    int *pred_first, *pred; /* places of the producers of place i: pred[pred_first[i], pred_first[i + 1]) */
    int *succ_first, *succ;
    int *near_first, *near; /* places that share a tensor, also through clones */
    int *cone;              /* lowest place that a clone for i may need, at most i */
    bool *must, *clonable;
    bool *outside;             /* a reader is not in the list */
    fsim_bits *before, *after; /* bit j of before[i]: i - FSIM_BITS + j leads to i; of after[i]: i leads to i + 1 + j */
    uint64_t *class;
    int *last_use; /* per tensor of the graph: the last place that may read it, through clones too; -1 */
    fsim_family **family, **slot;
    int slots;
    int64_t looked_at, kept, most; /* sets tried, sets kept; at most so many tried for one root */
    int64_t steps;                 /* fsim_work may go so far; then only a few are tried */
    bool complete;                 /* no set that could be a kernel reaches beyond the bits */
} fsim_places;

/* The list node[0, count) of p's graph, ascending, which stays referenced; at most `most` sets are tried for one root.
 * What it finds lives in a. */
void fsim_places_of(fsim_problem *p, const int *node, int count, int64_t most, fsim_arena *a, fsim_places *out);
/* The sets of this root. */
const fsim_family *fsim_family_of(fsim_places *l, int root);
/* The kernel of a set of root's family; clones and stored in the family's bits. NULL when illegal. Remembered. */
fsim_variant *fsim_variant_of(fsim_places *l, const fsim_family *f, fsim_own_set *s, const fsim_bits *clones,
                              const fsim_bits *stored);
/* Its cost, bit i of hit: read i is resident. -1 when it fits no SM. Remembered. */
fsim_sum fsim_cost_of(fsim_places *l, fsim_variant *v, uint64_t hit, uint64_t absorbed);
/* The tensor that read or write x of a kernel with this root touches. */
int fsim_touched(const fsim_places *l, int root, const fsim_touch *x, bool write);

#endif

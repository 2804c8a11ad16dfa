/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h: a list of primitives of any length, and the sets of them that a kernel may own. A kernel owns what it runs
 * first; clones are not counted.
 *
 * Indices are places in the list. A set is described by its root, which is its lowest place, and bits around it: bit
 * FSIM_BACK + i is place root + i. Lists repeat themselves (layers), so the sets of a root are found once and serve
 * every root whose surroundings look the same. */
#ifndef FUSESIM_PLAN_SEARCH_SETS_H
#define FUSESIM_PLAN_SEARCH_SETS_H

#include "plan/price/price.h"
#include "plan/search/bits.h"
#include "plan/search/budget.h"

enum { FSIM_BACK = FSIM_CLONE_REACH, FSIM_AHEAD = FSIM_BITS - FSIM_BACK };

/* An access of a group, described by the member that does it, so that the description holds for every root of the
 * family. */
typedef struct {
    int offset, index;        /* place of the member minus the root; its argument or result */
    int64_t bytes;            /* read: distinct; write: what is written */
    bool whole, intermediate; /* of the tensor all is touched; write: intermediate, may stay in L2 */
} fsim_touch;

typedef struct fsim_cost {
    struct fsim_cost *next;
    uint64_t hit, absorbed;
    fsim_sum cost; /* in the objective; -1: no configuration fits an SM */
} fsim_cost;

/* A set with its clones and its choice of stored results: one kernel. */
typedef struct fsim_variant {
    struct fsim_variant *next;
    fsim_bits clones, stored;
    fsim_candidate *kernel; /* for the representative root; NULL where illegal */
    int reads, writes;
    fsim_touch *read, *write; /* the first 64 of each have bits in `costs` */
    int *read_at;             /* per read: its index in the candidate's group */
    int *write_at;
    fsim_cost *costs;
    fsim_sum joined; /* fsim_least_joined for what `joined_for` stands for; 0: for nothing yet */
    int joined_for;
} fsim_variant;

/* What a kernel at least moves, whatever clones it has. */
typedef struct {
    double bytes;                   /* through L2 */
    double with_room, without_room; /* seconds (or bytes) of DRAM, where L2 has room for all that it moves; where not */
    double accessed_bytes, accessed_elems; /* what it reads and writes itself, through L2, whatever that is made of */
} fsim_least_traffic;

/* What may be beside a set in a larger kernel. */
typedef struct {
    bool any;    /* another part; */
    bool heavy;  /* one with a heavy place; */
    bool copies; /* one that has members of the set as copies; */
    bool missed; /* a linked list: one that may be in a set which is not known */
} fsim_company;

typedef struct {
    fsim_bits own;
    int last;            /* highest member minus the root */
    fsim_bits needs;     /* producers outside of the set that are bits of it; */
    fsim_bits far;       /* members with others, further back: where these are may differ from root to root */
    bool needs_more;     /* there are some */
    fsim_bits must, may; /* members that are stored; members that are stored or that all later readers compute again */
    int64_t points, whole; /* of the space that whatever is stored has to fit; 0: that is not so simple */
    bool connected;        /* connected even without clones */
    bool joinable;         /* may be a part of a larger kernel with which it has only inputs in common */
    bool waits;            /* for the barrier: for all places before it (fsim_side) */
    bool joinable_product; /* the same, with a contraction: costs no more alone, unless that is a poor call, or slower
                              than without tiles */
    int asked;             /* for which it was last asked whether a larger kernel may have it (fsim_asked_for), */
    bool has_company;      /* and the answer */
    int met;               /* the same for whether that kernel may have a contraction beside it */
    bool meets;
    int company_for; /* the same for fsim_company_of */
    fsim_company company;
    int traffic_for; /* the same for fsim_least_traffic_of */
    fsim_least_traffic traffic;
    fsim_variant **slot; /* its variants, hashed */
    int variants, slots;
} fsim_own_set;

typedef struct fsim_family {
    struct fsim_family *next;
    int root, reach, back; /* the root for which the family was found; what is here depends on places [root - back, root
                              + reach] only */
    int first_alike;       /* the root of the first family with the same sets of places that look alike, whose kernels
                      may need other places behind the root: its own root where it is that */
    fsim_own_set *set;
    int sets, room;
    int last; /* the highest member of a set minus the root */
    bool complete;
    bool many;         /* a linked list: not all sets were tried, since there are too many */
    fsim_bits looked;  /* members of sets around which was looked: all that larger ones may have is near them */
    fsim_bits borrows; /* a parted list: members of sets that are no kernels without a reduction beside them */
    fsim_bits far;     /* a linked list: members of sets that a place behind the bits might be in, too; */
    fsim_bits *with;   /* and per place, all that it is in a set with: bits, as those of a set. Also of sets that are no
                         kernels, but which larger ones might have */
} fsim_family;

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    int count;
    const int *node;        /* primitives, ascending */
    int *place;             /* per primitive of the graph: its place, or -1 */
    int *pred_first, *pred; /* places of the producers of place i: pred[pred_first[i], pred_first[i + 1]) */
    int *succ_first, *succ;
    int *near_first, *near; /* places that have a tensor in common, also through clones; */
    int *last_near;         /* the highest of them */
    int *touching_first,
        *touching;                /* places that access tensor t of the graph, themselves or through producers cloned
                                     into their kernel: touching[touching_first[t], touching_first[t + 1]), ascending */
    int *touched_first, *touched; /* the other way round: the tensors of place i */
    signed char *missed;          /* families.c: per entry of near, whether a set may have both; 0: not known yet */
    bool *must, *clonable;
    bool *outside;             /* a reader is not in the list */
    bool *aloof;               /* apart.c: no kernel has it and a contraction */
    bool *solo;                /* apart.c: nor this and a contraction; a graph with gradients, in which others may be */
    bool *lone;                /* apart.c: a contraction that is in no chain */
    bool *sited, any_sited;    /* apart.c: always stored and read, and in no kernel with a chain */
    fsim_bits *spaces;         /* apart.c: aloof, lone or sited: the points of spaces that it fits, as bits */
    fsim_bits *fed;            /* apart.c: the points of contractions that depend on it */
    fsim_bits *results;        /* apart.c: the points of what depends on it */
    fsim_bits *before, *after; /* bit j of before[i]: i - FSIM_BITS + j leads to i; of after[i]: i leads to i + 1 + j */
    fsim_bits *asked, *never;  /* bit j: was it asked whether no kernel contains i and i + 1 + j, and is that so? */
    fsim_bits *asked_path, *separated; /* the same for what lies on paths between the two (fsim_separated) */
    uint64_t *class, *near_class; /* what a place looks like; but for how far back the producers are that are not next
                                     to it */
    int *last_use;                /* per tensor of the graph: the last place that may read it, through clones too; -1 */
    fsim_family **family, **slot;
    int slots;
    int64_t looked_at, kept, most; /* sets tried, sets kept; the most sets tried for one root */
    const fsim_budget *budget;     /* beyond it only a few sets are tried */
    bool complete;                 /* no set that could be a kernel is too wide for the bits */
    bool watched, wide;            /* watched: give up where a root has very many sets; wide: that happened */
    int wide_from;                 /* so many, tried */
    bool parted; /* sets whose parts have only inputs in common are left out; only their contractions may be side by
                    side */
    bool *shares, *joinable; /* parted: does it access a tensor that a place accesses too which neither needs it nor is
                              needed by it; may a kernel store it beside such a place? */
    bool *far;     /* does a place that is too far away for the bits access a tensor that this one accesses? */
    bool linked;   /* parted, and sets that are too wide for the bits are told by their places (fsim_find_missing) */
    bool misses;   /* and some sets are not known: */
    bool *missing; /* per place: it may be in one; NULL before that is asked */
    int ahead;     /* places behind a root that its sets may have */
    bool *ends;    /* linked: may a kernel have the place and another one that is too far for the bits? */
    bool *heavy;   /* parted: of what a kernel may hold side by side, which one pays for its launch */
    bool *borrows; /* parted: is it in a set that is no kernel, but a part of one, with a reduction of another part that
                      gives it its space? Marked by families */
    bool any_joinable;
    bool owned; /* parted: it is asked for a set that a kernel owns as a whole. Else some member may be a copy in the
                   kernel: in a search a part owns what it is the first to compute */
    struct fsim_far_end *far_end; /* beside.c: answers about places that are far apart; NULL: there are none */
    uint64_t *far_path;           /* beside.c: and whether a path is between two */
    int *seen, seens;             /* beside.c: per place: the number of the last walk that met it; */
    int *walked;                  /* and per tensor of the graph */
    fsim_bits fixed; /* beside.c: what can't be a clone, as bits of the sets of fixed_root - 1; 0: of none */
    int fixed_root;
} fsim_places;

/* Which sets are looked for. */
typedef struct {
    int64_t most;                 /* tried for one root */
    bool watched, parted, linked; /* as in fsim_places */
    int ahead;          /* linked: places behind a root that its sets may have; 0: as many as there are bits */
    int wide;           /* watched: sets tried for a root before the list is given up; 0: as usual */
    const bool *wanted; /* per primitive of the graph: is it stored for readers outside of the list? NULL: it is where
                           there are any, and so are outputs */
} fsim_set_limits;

/* What a primitive is to a call of a library (plan/price/calls.h, sdpa.h). Kernels may read through permutes, whether
 * these are in the call or not. */
typedef enum { FSIM_NO_CALL, FSIM_CALL_VIEW, FSIM_CALL_OWN_VIEW, FSIM_IN_CALL } fsim_call_place;

/* Choices of clones for a kernel in a search for a bound, which knows the least that others cost. */
enum { FSIM_FEW_CLONE_SETS = 2 };

/* One side of the barrier, where kernels that own only primitives of either side cost nothing if these are free; or
 * one side of calls, for a bound. */
typedef struct {
    bool after;               /* all before the barrier has run, and was stored */
    bool free;                /* for a bound */
    int clone_sets;           /* choices of clones for a kernel; 0: as usual */
    const bool *wanted;       /* as in fsim_set_limits */
    const signed char *calls; /* per primitive of the graph: fsim_call_place; NULL: there are none. Kernels of calls
                                 cost nothing; */
    bool within_call;         /* or the others do: kernels of nothing but views */
    bool any_order;           /* for a bound of kernels that may be launched in another order than here */
    const bool *nothing;      /* per primitive of the graph: it has no price (shadow.h); NULL: all have one */
    int most, ahead;          /* linked: as in fsim_set_limits; 0: as usual */
    int wide;                 /* watched: as in fsim_set_limits; 0: as usual */
} fsim_one_side;

/* Prices such that no kernel costs less, in relaxed costs, than the primitives that it owns are worth: those of a
 * feasible solution of the dual of set partitioning (Balas and Padberg, SIAM Review 18, 1976). Each primitive is owned
 * by one kernel of a plan, so that the sum of all prices is a lower bound of every plan, and a kernel's excess, what it
 * costs beyond its prices, is what a plan with it costs at least beyond that bound. */
typedef struct fsim_shadow {
    fsim_sum bound;    /* the sum of all prices, in the objective's unit */
    fsim_sum *price;   /* per place; some may be negative */
    fsim_sum **excess; /* per root, per set of its family: at least; FSIM_NEVER where the set is no kernel */
} fsim_shadow;

/* Prepares the list node[0, count) of p's graph, ascending, which stays referenced. Results live in a. */
void fsim_places_of(fsim_problem *p, const int *node, int count, fsim_set_limits limits, fsim_arena *a,
                    fsim_places *out);
/* What an answer about a set beside others is for, more than 0: its root, and whether all members are owned. */
static inline int fsim_asked_for(const fsim_places *l, int root) { return 2 * (root + 1) + l->owned; }
/* May no kernel own both places, since one runs before the barrier and the other after it? */
static inline bool fsim_across_barrier(const fsim_places *l, int x, int y)
{
    const fsim_side a = l->p->graph->node[l->node[x]].side, b = l->p->graph->node[l->node[y]].side;
    return a != b && a != FSIM_EITHER_SIDE && b != FSIM_EITHER_SIDE;
}
/* Are there no points that a kernel which owns both places could have, whatever else it contains? (apart.c) */
bool fsim_fit_no_space(const fsim_places *l, int x, int y);
/* The sets with this root. */
const fsim_family *fsim_family_of(fsim_places *l, int root);
/* A linked list whose families are known: which places may be in a kernel that is not among its sets? Also where one
 * may only be in it with a place that may. */
void fsim_find_missing(fsim_places *l);
/* A parted list of at most FSIM_BITS places: may a larger kernel have this set of root's family as a part? Some other
 * place that none of its members needs, nor is needed by, then has a tensor in common with it. */
bool fsim_may_be_beside(fsim_places *l, int root, const fsim_own_set *s);
/* The same for a set without a contraction: may the larger kernel have one, in another part of it? */
bool fsim_may_meet_contraction(fsim_places *l, int root, fsim_own_set *s);
/* The other parts of kernels without a contraction that have the set as a part. Each part has a joinable place, and a
 * kernel's parts hang together by tensors that they have in common. */
fsim_company fsim_company_of(fsim_places *l, int root, fsim_own_set *s);
/* How many parts of a kernel, this one included, may read the tensor? */
int fsim_most_sharers(fsim_places *l, int root, const fsim_own_set *s, int tensor);
/* The kernel of a set of root's family, with clones and stored results as bits of the family. NULL where illegal.
 * Computed once. */
fsim_variant *fsim_variant_of(fsim_places *l, const fsim_family *f, fsim_own_set *s, const fsim_bits *clones,
                              const fsim_bits *stored);
/* Its cost where read i hits L2 if bit i of hit is set, and write i stays there if bit i of absorbed is set. -1
 * where it fits no SM. Computed once. */
fsim_sum fsim_cost_of(fsim_places *l, fsim_variant *v, uint64_t hit, uint64_t absorbed);
/* Is it a call of the vendor's library that the same set may beat as a kernel of ours, whatever L2 holds? */
bool fsim_is_poor_call(fsim_places *l, fsim_variant *v);
/* The same of any kernel; false where it is not legal. */
bool fsim_loses_as_call(fsim_places *l, fsim_candidate *kernel);
/* A lower bound of what a larger kernel costs for this product, which alone is a poor call at that cost. */
fsim_sum fsim_least_without_call(fsim_places *l, fsim_variant *v, fsim_sum call);
/* The same where other parts, which may reduce rows, are in that kernel. */
fsim_sum fsim_least_beside(fsim_places *l, fsim_variant *v, fsim_sum call);
/* The tensor of read or write x in the kernel with this root. */
int fsim_touched(const fsim_places *l, int root, const fsim_touch *x, bool write);

#endif

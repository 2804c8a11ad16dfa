/* SPDX-License-Identifier: Apache-2.0 */
/* states.h: shared by the files of the frontier: states, the steps between them, and how a state is expanded.
 * Included only by src/plan/search/{frontier,states,steps,residency,visit}.c. */
#ifndef FUSESIM_PLAN_SEARCH_STATES_H
#define FUSESIM_PLAN_SEARCH_STATES_H

#include "plan/search/budget.h"
#include "plan/search/floor.h"
#include "plan/search/runs.h"
#include "plan/search/sets.h"

enum { FSIM_RECALLED = 128 };    /* places below the base that passed kernels may have depended on */
#define FSIM_NEVER FSIM_SUM_MOST /* greater than the cost of any plan */

typedef struct fsim_frontier fsim_frontier; /* frontier.h */

/* A set that may be launched from a state. */
typedef struct prospect {
    fsim_bits own, waits_for; /* relative to the state's base: its members; its producers that have still to run */
    int last;
} prospect;

typedef struct {
    fsim_bits done, dropped, behind; /* behind: what had run when kernels were last passed over, that is, when a kernel
                                        was launched before another one whose last primitive is lower */
    fsim_bits owed; /* whose results were stored for copies of what their kernels stored too, and that no kernel has
                       read yet (steps.c) */
    int base, behind_base,
        passed;  /* passed: last primitive of the kernel that was launched first then; 0: none was passed over */
    bool lifted; /* all before the barrier had run when kernels were last passed over */
    int ran;
    fsim_sum live;         /* lean: bytes of results that a later kernel reads, outputs not counted */
    fsim_sum worth;        /* prices of what has run (shadow.h) */
    fsim_sum spent, to_go; /* least relaxed cost from the start, and to the end; -1: not known */
    fsim_sum ahead;        /* a lower bound of the rest that knows of excesses behind borders (borders.c); -1 */
    double left;           /* work that the rest of a plan can't avoid, in the objective's unit */
    int first, steps;      /* its steps are step[first, first + steps) */
    int parent, via;       /* the state and the step through which it is reached at the least relaxed cost */
    int ahead_by;          /* its steps depend on roots below ran + ahead_by */
    int front, peer;       /* index of the front; 1 + next state with the same front */
    int expanded_peer;     /* of an expanded state: 1 + the one with the same front that was expanded before it */
    int chain, sibling;    /* hash chain; states with equally many primitives run */
    bool expanded, cut;    /* cut: not all of its steps were generated */
    bool beyond;           /* no plan with it is looked for (f->slack) */
} state;

/* A front: the primitives that have run, whatever was stored of them. */
typedef struct {
    int open;       /* lowest place that has still to run */
    fsim_bits done; /* relative to it */
    int ran, first; /* primitives that have run; 1 + first state with this front */
    int expanded;   /* 1 + the state with this front that was expanded last */
    int chain, sibling;
    fsim_sum to_go;        /* of the state in which everything was stored; -1: not known */
    int from;              /* the fewest primitives that had run in a state with a step to it */
    fsim_bits *copy_reads; /* what copies that are still to run may read, bit i: place open - FSIM_BACK + i; NULL: not
                              known */
} front;

typedef struct {
    int to, root;
    fsim_own_set *set;
    fsim_variant *kernel;
    fsim_sum cost;
    const struct fsim_more_copies *more; /* with other copies, which may pay as L2 is (labels.h); NULL: not known */
    union {
        fsim_sum alone; /* what the kernel costs alone; more than `cost` where it may be a part of a larger one */
        fsim_sum peak;  /* lean: bytes live while it runs */
    };
} step;

/* Borders z - 1 and z of equal layers look alike to the search: relaxed costs to the end are `less` lower at z, the
 * excess too is `more` lower, and the labels of the search from border a are the same at both. z 0: none do. */
typedef struct {
    int a, z;
    fsim_sum less, more;
} fsim_repeat;

struct fsim_frontier {
    fsim_problem *p;
    fsim_places l;
    fsim_arena *a;
    fsim_budget budget;
    const fsim_budget *raising; /* of prices, where no set is missed; NULL: the same */
    bool every_clone, lean, haste;
    bool with_l2; /* clones may pay because of what L2 holds */
    bool exact;   /* labels tell what copies can't read (unstored.c): once a search without that */
    bool unreal;  /* has found a plan with a copy of that kind */
    state *state;
    int states, state_room;
    step *step;
    int steps, step_room;
    int *slot, slots;
    front *front;
    int fronts, front_room, *front_slot, front_slots;
    int *front_by_size;
    struct prospect *prospect; /* sets that may be launched from the state being expanded */
    int prospects, prospect_room;
    bool forward;              /* the first pass is under way */
    const fsim_one_side *side; /* which is searched; NULL: both */
    int *by_size;              /* per number of primitives that have run: 1 + first state, linked by sibling */
    int last;                  /* the state where everything has run; -1 */
    int lost_at;               /* the lowest place that had still to run in the plan with that bound */
    fsim_sum lost;             /* a lower bound of all plans that were cut off; FSIM_NEVER: nothing was cut off */
    int64_t ticks,
        expansions; /* expansions: of states, each of which may change what is known of the rest from there */
    /* Borders: numbers of primitives that have run, ascending. excess: behind the border, at least so much is spent
     * beyond the relaxed cost, whatever L2 holds there; known from border `known` on. */
    int *border, borders, known;
    fsim_sum *excess;
    const fsim_run *run; /* equal layers among which borders [run_first, run_last] are a period apart; NULL */
    fsim_repeat repeat;
    struct l2_search *proof; /* the search from the start that found the best plan and nothing below it (labels.h);
                                kept where layers repeat */
    int run_first, run_last; /* run_last < run_first: there are none */
    bool clipped;            /* some step costs less than its kernel, for choices of clones that were not tried */
    fsim_bits *spare;        /* room for spare_room choices of clones that nothing uses (fsim_borrow_room) */
    int spare_room;
    bool has_sources;                 /* behind the first place there is one without a producer in the list */
    int looked_ahead, looked_back;    /* steps depended on roots at most so far above and below what had run */
    bool *whole, *owned_whole;        /* whole.c */
    bool arithmetic;                  /* fsim_floor */
    fsim_unit_seconds *units, *input; /* per place: what every plan takes of each unit for it; per tensor: for reading a
                                         graph input for the first time */
    bool *masked; /* per place: may its contraction be in a chain that skips what a causal mask hides? */
    struct fsim_known_chain **chain; /* per place, of chains that begin there (contractions.c) */
    double *floor_own;               /* per place: work that every plan has for it */
    double *floor_alone;             /* per place: that of its kernel where it never shares one; 0 */
    double *floor_start;             /* per place: its contraction's share of a launch */
    bool starts;                     /* some place has one, or has all of its kernel's cost */
    bool *in_place;    /* per place: it, and the producers that would be cloned for it, read every argument at their own
                          points */
    bool *read_anyhow; /* per place: a copy of it, whatever others it has with it, reads something as large as its
                          result as that would be read */
    bool *stale;       /* per place: once its result is stored, L2 never holds what it was computed from longer */
    bool *read_outside;        /* per tensor */
    double *floor_input;       /* per tensor: work of reading a graph input for the first time */
    double floor_launch;       /* work of a launch, which the rest of a plan has at least one of */
    double floor_write;        /* parted list: share of a launch for each result; see fsim_least_joined */
    double *read_s, *write_s;  /* per tensor: seconds (or bytes) of DRAM for reading it once, for writing it */
    bool products;             /* a kernel may contain a contraction */
    bool owes_nothing;         /* results that are stored for copies alone (owed.c) are left out: for a plan; */
    bool owed_left_out;        /* there were some */
    const fsim_shadow *shadow; /* NULL: no prices are known */
    fsim_sum slack;            /* plans are looked for that cost less than so much beyond the sum of prices */
};

/* Has the budget's time for a hasty end gone by too? */
static inline bool fsim_is_over(const fsim_frontier *f) { return f->budget.spent->over; }

static inline const fsim_node *fsim_node_of(const fsim_frontier *f, int place)
{
    return &f->p->graph->node[f->l.node[place]];
}

/* Do some kernels cost nothing, or are some left out? */
static inline bool fsim_has_free(const fsim_frontier *f)
{
    return f->side && (f->side->free || f->side->calls || f->side->any_order);
}
/* Is the place one of either side of the barrier, and free? */
static inline bool fsim_is_lent(const fsim_frontier *f, int place)
{
    return f->side && f->side->free && fsim_node_of(f, place)->side == FSIM_EITHER_SIDE;
}
static inline fsim_call_place fsim_call_place_of(const fsim_frontier *f, int place)
{
    return f->side && f->side->calls ? (fsim_call_place)f->side->calls[f->l.node[place]] : FSIM_NO_CALL;
}
/* May a kernel that costs nothing own the place? Its work is then in no bound. */
static inline bool fsim_may_be_free(const fsim_frontier *f, int place)
{
    const fsim_call_place at = fsim_call_place_of(f, place);
    return fsim_is_lent(f, place) || (at != FSIM_NO_CALL && !(f->side->within_call && at == FSIM_IN_CALL));
}

static inline bool fsim_has_run(const state *s, int place)
{
    return place < s->base || (place - s->base < FSIM_BITS && fsim_bit(&s->done, place - s->base));
}
static inline bool fsim_is_owed(const state *s, int place)
{
    return place >= s->base && place - s->base < FSIM_BITS && fsim_bit(&s->owed, place - s->base);
}
static inline bool fsim_is_dropped(const state *s, int place)
{
    return place >= s->base && place - s->base < FSIM_BITS && fsim_bit(&s->dropped, place - s->base);
}

/* A lower bound of what the rest of a plan costs: work, and launches: those of contractions, else one at least. */
static inline fsim_sum fsim_unavoidable(const fsim_frontier *f, const state *s)
{
    const double launch = f->starts || fsim_has_free(f) ? 0 : f->floor_launch;
    const fsim_sum work = s->ran < f->l.count ? (fsim_sum)((s->left + launch) * (1 - 1e-9)) : 0,
                   worth = f->shadow ? f->shadow->bound - s->worth : 0;
    return work > worth ? work : worth;
}

/* Is no plan looked for that costs so much beyond the sum of prices? */
static inline bool fsim_is_beyond(const fsim_frontier *f, fsim_sum excess) { return f->shadow && excess >= f->slack; }

/* A state that is being expanded: the current set and root, and the clones that the set may have. */
typedef struct {
    fsim_frontier *f;
    int from;
    state at; /* a copy: the array of states may be reallocated */
    const fsim_family *family;
    fsim_own_set *set;
    int root;
    fsim_bits upstream; /* all clones that the set may have, as bits of the set */
    fsim_bits *choice;  /* the choices of clones found so far */
    int choices, room, stores;
    bool clipped;     /* there are more choices; */
    bool legal;       /* some choice that was tried is a kernel */
    bool patient;     /* of those with few choices as many as of others are tried */
    bool anywhere;    /* whatever has run, and was stored: no steps are made, */
    fsim_sum least;   /* but the least cost is found */
    bool as_launched; /* a cost for a plan of the kernels in the order of these steps, which is no bound */
    bool cut;
    bool closed;     /* something before the barrier has still to run: */
    fsim_bits unmet; /* these places, relative to the state's base */
} expansion;

/* Room for choices that another expansion had, and needs no more; and back again, where it is the larger one. */
static inline void fsim_borrow_room(expansion *x)
{
    x->choice = x->f->spare;
    x->room = x->f->spare_room;
    x->f->spare = NULL;
    x->f->spare_room = 0;
}
static inline void fsim_return_room(const expansion *x)
{
    if (x->room <= x->f->spare_room)
        return;
    x->f->spare = x->choice;
    x->f->spare_room = x->room;
}

static inline int fsim_bit_of(const expansion *x, int place) { return place - x->root + FSIM_BACK; }

/* owed.c */

/* May it pay to store the result of the set's member place, though no kernel would read it but for a copy of what is
 * stored as well? */
bool fsim_may_owe(expansion *x, int place);
/* Is kernel v, with these clones, faster than the same one that does not store what is owed, with the same in L2? */
bool fsim_owing_pays(const expansion *x, fsim_variant *v, const fsim_bits *clones, const fsim_bits *owed);
/* Takes from what s owes what the clones of a kernel read. */
void fsim_pay_owed(const expansion *x, const fsim_bits *clones, state *s);
/* Does s owe what no kernel that has still to run can read? */
bool fsim_owes_in_vain(const fsim_frontier *f, const state *s);

/* launches.c */

/* Marks some of the missing places of a linked list: no kernel owns two of those, nor one and a contraction, nor one
 * and what anchors another kernel. Each is on a path to the next, and with what lies between they are no kernel. */
void fsim_find_launches(fsim_frontier *f, bool *pays);

/* free.c */

/* Does the set's kernel cost nothing? */
bool fsim_is_free(const expansion *x);
/* The kernel of such a set, which stores all that it owns; NULL where none is needed. */
fsim_variant *fsim_free_kernel(expansion *x);

/* whole.c */

/* Per place, is it computed at all its points in every plan? That is so where its result must be stored, where such
 * places read all of it, and of contractions that fill any kernel that they are in. In f->a. */
bool *fsim_computed_whole(const fsim_frontier *f);
/* Of those, per place: by whatever kernel owns it, also where others compute it again? In f->a. */
bool *fsim_owned_whole(const fsim_frontier *f);
/* Members of the set that its kernel computes at all their points, of those that every plan computes so. */
fsim_bits fsim_whole_members(const fsim_frontier *f, int root, const fsim_own_set *s);

/* traffic.c */

/* Fills f->read_s and f->write_s. */
void fsim_find_transfers(fsim_frontier *f, const fsim_floor *floor);
/* What a kernel with this set moves at least: intermediate results that it stores, and those of others that it needs.
 * Graph inputs and outputs are in f->units and f->input. */
fsim_least_traffic fsim_least_traffic_of(fsim_frontier *f, fsim_own_set *s, int root);

/* frontier.c */

/* Is there budget for so many more small steps? */
static inline bool fsim_proceed(fsim_frontier *f, const fsim_budget *b, int small)
{
    f->ticks += small;
    fsim_add_work(f->p, (f->ticks >> 3) - ((f->ticks - small) >> 3));
    return fsim_within(b, f->p);
}
/* Does place read all of a graph input in every plan, from DRAM where nothing has read it before? Where a weight's
 * arithmetic may be folded into a contraction, it need not be read as it is. */
bool fsim_reads_whole_input(const fsim_frontier *f, int place, int k);
/* A lower bound, in relaxed costs, of the rest of every plan from this state. For a state that was not expanded: the
 * bound of one that stores more. */
fsim_sum fsim_least_to_go(fsim_frontier *f, int at);
/* Does the primitive read every argument as large as its result at its own point? A reader of the result could then
 * read the arguments as well as the result. */
bool fsim_reads_in_place(const fsim_frontier *f, int place);
/* A lower bound of what a kernel costs more because of this part of it, with v's clones and results, which it has only
 * inputs in common with. Where the kernel may have a contraction, its part with that pays for all; otherwise each part
 * pays for its share of the launch (so many results as a kernel can have share one) and, in a list with contractions,
 * for what it moves through DRAM; in others for work that nothing can avoid. any: whatever clones it has. */
fsim_sum fsim_least_joined(fsim_frontier *f, fsim_own_set *part, int root, fsim_variant *v, bool any);
/* A kernel of a plan as a part of a partition. */
fsim_part fsim_part_at(const fsim_frontier *f, int root, fsim_bits own, fsim_bits copies, fsim_arena *a);

/* borders.c */

/* A lower bound of the rest of every plan from state `to`, with the real contents of L2 behind borders. before: the
 * primitives that had run in the state before it; -1: none. */
fsim_sum fsim_least_after(fsim_frontier *f, int before, int to);
/* Do the roots of [from, to) have the same sets as those one layer of f->run later? */
bool fsim_same_families(fsim_frontier *f, int from, int to);
/* The state of the same front in which everything was stored. */
int fsim_all_stored(fsim_frontier *f, int at);
/* Its least relaxed cost to the end. */
fsim_sum fsim_front_to_go(fsim_frontier *f, int front);
/* Does a step lead over the border, from fewer than `size` primitives that have run, to the front? */
bool fsim_crosses(const fsim_frontier *f, int front, int size);
/* Primitives between borders among equal layers: as many layers as make up a piece worth searching. */
int fsim_border_period(const fsim_run *run);
/* Sets borders where few fronts cross; among the equal layers of f->run at the same place of each. */
void fsim_choose_borders(fsim_frontier *f);
/* Forgets the bounds that did not know of the excess at border j. */
void fsim_learn_excess(fsim_frontier *f, int j, fsim_sum excess);

/* states.c */

/* The number of the state equal to *s, which is added where it is new. */
int fsim_state_of(fsim_frontier *f, const state *s);
/* As fsim_state_of; -1 where it is new. */
int fsim_find_state(const fsim_frontier *f, const state *s);
/* Does x store everything that y stores, and allow every launch order that y allows? Both have run the same
 * primitives. */
bool fsim_stores_more(const state *x, const state *y);
/* The state has its steps now. */
void fsim_set_expanded(fsim_frontier *f, int at);
/* Is there another state that has run the same primitives, costs no more, and is at least as good for the rest? */
bool fsim_needless(const fsim_frontier *f, int at);
/* Moves the base up to the lowest place that has still to run or is not stored. */
void fsim_settle_state(state *s);
/* Had the place run when kernels were last passed over? */
bool fsim_was_behind(const state *s, int place);
/* Forgets what the record of passed kernels no longer needs. */
void fsim_recall_passed(fsim_frontier *f, state *s);
/* Drops from `dropped` what no primitive that has still to run needs. */
void fsim_forget_dropped(const fsim_frontier *f, state *s);
/* Has a reader of the tensor run, or may a reader outside of the list have? */
bool fsim_read_before(const fsim_frontier *f, const state *s, int tensor);

/* contractions.c */

/* Seconds that a kernel which owns the set is busy with its contractions at least, where these are one or a chain of
 * two, and are computed at all their points; else 0. */
double fsim_least_contractions_s(const expansion *x, const fsim_bits *whole);

/* relaxed.c */

/* Is the set a place alone that may be had for nothing, since a part of a kernel has it that is no kernel itself? */
static inline bool fsim_is_borrowed(const expansion *x) { return x->set->last == 0 && x->f->l.borrows[x->root]; }

/* The relaxed cost: everything that may be in L2 is, where the kernel leaves room for it; a graph input only where
 * something has read it before. -1 where it fits no SM. */
fsim_sum fsim_relaxed_cost(const expansion *x, fsim_variant *v);
/* A lower bound of what the set costs whatever clones its kernel has (v is one, or NULL: none is known): its launch,
 * and the norm of what its members take of each unit, with the graph inputs that nothing has read before. */
fsim_sum fsim_least_with(const expansion *x, const fsim_variant *v);
/* May the kernel be a part of a larger one? Where equal layers take their steps from each other, places that are alike
 * are not told apart. */
bool fsim_is_joinable_here(const expansion *x);
/* The kernel's relaxed cost. many: it stands for all kernels that store more than it does, of what they may; what none
 * of them beats. */
fsim_sum fsim_cost_alone(expansion *x, fsim_variant *v, bool many);
/* A lower bound of what the kernel costs, alone (which is given) or as a part of a larger one. */
fsim_sum fsim_least_as_part(const expansion *x, fsim_variant *v, fsim_sum alone);

/* steps.c */

/* Generates the steps of a state. */
void fsim_expand(fsim_frontier *f, int from);
/* Adds a step from state `from` to state *next, or to the one equal to it. */
void fsim_link_step(fsim_frontier *f, int from, const state *next, step by);
/* How close a bound is, and how long it takes. */
typedef enum {
    FSIM_BY_UNITS, /* from what its members take of each unit; -1: none is found in this way */
    FSIM_BY_PRICE  /* prices of its choices of clones and results. All of these: a kernel that stores more may have
                      other vectors, or another tile, and be the faster one for it */
} fsim_closeness;
/* A lower bound of what a kernel costs that owns this set of root's family, whatever has run; FSIM_NEVER where there is
 * none. */
fsim_sum fsim_least_of_set(fsim_frontier *f, int root, const fsim_family *family, fsim_own_set *set,
                           fsim_closeness how);
/* repeat.c: generates the steps of a state from those of the same state one layer earlier. False where there is none,
 * or where the sets of their roots differ. */
bool fsim_repeat_steps(fsim_frontier *f, int from);
/* Includes all plans that are cut off below the state in the bound. */
void fsim_cut_off(fsim_frontier *f, const state *s);
/* Is it a matrix product? */
static inline bool fsim_is_product(const fsim_node *n) { return n->gemm.k && !n->gemm.convolution; }
/* Adds the producers of place that were not stored, and the producers that those need, to copies. False where they
 * are too far back. */
bool fsim_add_needed(expansion *x, int place, fsim_bits *copies);
/* Does the access take each element of t once, in order? */
bool fsim_reads_in_order(const fsim_access *x, const fsim_tensor *t);
/* Adds the clones that a kernel may have for place to x->upstream. */
void fsim_find_upstream(expansion *x, int place);
/* Adds to x->choice every choice of clones that contains `copies` and nothing of barred, `copies` itself first. */
void fsim_choose_copies(expansion *x, fsim_bits copies, fsim_bits barred);
/* Fills f->stale. */
void fsim_find_stale(fsim_frontier *f);
/* Was this kernel ready when a kernel with a higher last primitive was launched? Then launching it now is not in
 * launch order. */
bool fsim_out_of_order(const expansion *x, const fsim_bits *copies);

#endif

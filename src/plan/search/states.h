/* SPDX-License-Identifier: Apache-2.0 */
/* states.h: what the files of the frontier share: states, the steps between them, and how a state is expanded. Nothing
 * outside src/plan/search/{frontier,states,steps,residency,visit}.c includes it. */
#ifndef FUSESIM_PLAN_SEARCH_STATES_H
#define FUSESIM_PLAN_SEARCH_STATES_H

#include "plan/search/budget.h"
#include "plan/search/sets.h"

enum { FSIM_RECALLED = 128 };    /* places below the base that passed kernels may have waited for */
#define FSIM_NEVER FSIM_SUM_MOST /* a cost that no plan has */

typedef struct fsim_frontier fsim_frontier; /* frontier.h */

/* A set as the state sees it. */
typedef struct prospect {
    fsim_bits own, waits_for; /* from the state's base: members; producers still to run */
    int last;
} prospect;

typedef struct {
    fsim_bits done, dropped,
        behind; /* behind: what had run when a kernel was last launched before primitives below its last one */
    int base, behind_base, passed; /* passed: that last one; 0: none */
    int ran;
    fsim_sum live;         /* lean: bytes of results that something to come reads, outputs aside */
    fsim_sum spent, to_go; /* least relaxed cost from the start, and to the end; -1: none */
    double left;           /* work that no rest of a plan can avoid, in the objective's unit */
    int first, steps;      /* its steps are step[first, first + steps) */
    int parent, via;       /* the state and the step that it is reached by at least relaxed cost */
    int front, peer;       /* what has run; 1 + next state where the same has */
    int chain, sibling;    /* hash chain; states of equal size */
    bool expanded, cut;    /* cut: some steps are missing */
} state;

/* What has run, whatever was stored of it. */
typedef struct {
    int open;       /* lowest place still to run */
    fsim_bits done; /* from there */
    int ran, first; /* 1 + first state */
    int chain, sibling;
} front;

typedef struct {
    int to, root;
    fsim_own_set *set;
    fsim_variant *kernel;
    fsim_sum cost;
    fsim_sum peak; /* lean: bytes live while it runs */
} step;

struct fsim_frontier {
    fsim_problem *p;
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
    bool forward;  /* the first pass is under way */
    int *by_size;  /* 1 + first state with so many primitives run; chained by sibling */
    int last;      /* the state where everything has run; -1 */
    fsim_sum lost; /* no plan that was cut off costs less; FSIM_NEVER: nothing was cut off */
    int64_t ticks;
    double *floor_own; /* per place: work that it cannot avoid */
    bool *in_place; /* per place: it, and what would be computed beside it, read every argument where its own points lie
                     */
    bool *read_outside;  /* per tensor */
    double *floor_input; /* per tensor: the same for reading a graph input the first time */
};

static inline const fsim_node *fsim_node_of(const fsim_frontier *f, int place)
{
    return &f->p->graph->node[f->l.node[place]];
}

static inline bool fsim_has_run(const state *s, int place)
{
    return place < s->base || (place - s->base < FSIM_BITS && fsim_bit(&s->done, place - s->base));
}
static inline bool fsim_is_dropped(const state *s, int place)
{
    return place >= s->base && place - s->base < FSIM_BITS && fsim_bit(&s->dropped, place - s->base);
}

/* One state being expanded: the set and root in hand, and the copies it may hold. */
typedef struct {
    fsim_frontier *f;
    int from;
    state at; /* a copy: states move when they grow in number */
    const fsim_family *family;
    fsim_own_set *set;
    int root;
    fsim_bits upstream; /* all copies that the set might hold, in its own bits */
    fsim_bits *choice;  /* of copies */
    int choices, room, stores;
    bool cut;
} expansion;

static inline int fsim_bit_of(const expansion *x, int place) { return place - x->root + FSIM_BACK; }

/* frontier.c */

/* Time for so many more small steps? */
bool fsim_proceed(fsim_frontier *f, const fsim_budget *b, int small);
/* No rest of a plan from this state costs less, by relaxed costs. For a state that was not followed, what one that
 * stores more has to go. */
fsim_sum fsim_least_to_go(fsim_frontier *f, int at);
/* Does the primitive read every argument as large as its result just where its own point lies? Then what reads the
 * result could read that as well. */
bool fsim_reads_in_place(const fsim_frontier *f, int place);
/* A kernel of a plan as a part. */
fsim_part fsim_part_at(const fsim_frontier *f, int root, fsim_bits own, fsim_bits copies, fsim_arena *a);

/* states.c */

/* The state equal to *s, which is added where it is new. */
int fsim_state_of(fsim_frontier *f, const state *s);
/* Does x store all that y does, and allow every order that y allows? Both have run the same. */
bool fsim_stores_more(const state *x, const state *y);
/* Does another state, which has run the same and cost no more, make this one needless? */
bool fsim_needless(const fsim_frontier *f, int at);
/* Moves the base up to the lowest place still to run or not stored. */
void fsim_settle_state(state *s);
/* Had the place run when kernels were last passed over? */
bool fsim_was_behind(const state *s, int place);
/* Of the kernels that were passed over, keeps what tells those that were ready then. */
void fsim_recall_passed(fsim_frontier *f, state *s);
/* Of what was not stored, keeps what something still to run needs. */
void fsim_forget_dropped(const fsim_frontier *f, state *s);
/* Has a reader of the tensor run, or may one that is not in the list? */
bool fsim_read_before(const fsim_frontier *f, const state *s, int tensor);

/* steps.c */

/* Finds the steps of a state. */
void fsim_expand(fsim_frontier *f, int from);
/* Counts what is left out below a state in the bound. */
void fsim_cut_off(fsim_frontier *f, const state *s);
/* Adds the producers of place that were not stored, and theirs. False when they lie too far back. */
bool fsim_add_needed(expansion *x, int place, fsim_bits *copies);
/* Adds the copies that a kernel with place might hold for it to x->upstream. */
void fsim_find_upstream(expansion *x, int place);
/* Adds every choice of copies that holds `copies` and nothing barred to x->choice, those first. */
void fsim_choose_copies(expansion *x, fsim_bits copies, fsim_bits barred);
/* Was this kernel ready when one with a higher last primitive was launched before it? Then it belongs to another order.
 */
bool fsim_out_of_order(const expansion *x, const fsim_bits *copies);

#endif

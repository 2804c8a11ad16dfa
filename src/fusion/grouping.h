/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.h: a set of primitives while it becomes a kernel: what group.c, space.c, wanted.c and live.c share.
 * Functions that return a bool return false after a refusal, which is in *w->why. Members are counted as they stand in
 * w->node. */
#ifndef FUSESIM_FUSION_GROUPING_H
#define FUSESIM_FUSION_GROUPING_H

#include "fusion/assembly.h"
#include "fusion/chain.h"

/* A member under construction: the maps at which its value is wanted, over the kernel's space. */
typedef struct {
    int maps, room, level; /* level: dependent reductions before its value exists */
    fsim_map *map;
    unsigned stages[FSIM_MAX_VIEWS];
    fsim_scope scope[FSIM_MAX_VIEWS];
    bool prologue, stored, clone;
    bool late;          /* stored from the piece of the kernel that computes it, known once that is */
    uint64_t branches;  /* as in fsim_read */
    int root;           /* the map at which it is stored */
    int operand;        /* of the contraction that a prologue member feeds */
    bool middle, outer; /* chained: between the contractions; behind them */
    int after;          /* chained: 1: depends on the first, 2: on the second */
    fsim_row_kind kind;
    fsim_form form;
} wanted;

typedef struct {
    const fsim_limits *limits;
    const fsim_graph *g;
    const int *node;
    int count;
    wanted *want;
    fsim_group *out;
    fsim_refusal *why;
    fsim_arena *a;
    fsim_map frame, row; /* (p, r) to a full-size tensor's element; (p, r) to row p */
    int read_room, branches;
    fsim_joint joint;
    fsim_scope scope; /* of what is being wanted */
} grouping;

/* group.c */

/* Refuses the set by a rule that primitives a and b (-1: a alone) break. Always false. */
bool fsim_refuse_set(grouping *w, fsim_rule rule, int a, int b, fsim_excess excess);
/* The same where every larger set is refused too. */
bool fsim_refuse_set_for_good(grouping *w, fsim_rule rule, int a, int b, fsim_excess excess);

/* Member i as a primitive of the graph. */
const fsim_node *fsim_grouping_node(const grouping *w, int i);
/* The class of its operator. */
fsim_class fsim_grouping_class(const grouping *w, int i);
/* The member that makes tensor t, or -1. */
int fsim_member_making(const grouping *w, int t);
/* Does another member read what member i makes? */
bool fsim_grouping_reads(const grouping *w, int i);

/* wanted.c */

/* Adds a place where member i's value is wanted, for the primitive `by` (-1: none). stages: bit s: by stage s. */
bool fsim_want_value(grouping *w, int i, const fsim_map *m, unsigned stages, int by);
/* Wants the arguments of member i wherever its own value is wanted: everything that reads it must have been asked. */
bool fsim_want_arguments(grouping *w, int i);
/* Is it wanted at every point of points x reduced, not once a row? Pieces may have one point a row. */
bool fsim_wanted_in_full(const fsim_map *m, const fsim_scope *scope, const fsim_group *o);

/* space.c */

/* Points and levels of a set with reductions, of which member `first` is the first. */
bool fsim_reduction_space(grouping *w, int first);
/* Levels and row kinds of a chain's members, and its spaces: (row, place) between the contractions, the second's points
 * behind them. */
bool fsim_chain_space(grouping *w);
/* Contractions side by side: sets `after`, which of them a member depends on, and the points of all. */
bool fsim_sibling_space(grouping *w);
/* A contraction whose output tile holds the rows that reductions behind it walk; `reduction` is the first of those. */
bool fsim_rows_in_tile(grouping *w, int reduction);
/* Wants every root: what nothing inside reads gives the kernel its points; what is stored besides follows. */
bool fsim_want_roots(grouping *w);
/* A stored value of another size than the kernel's results: from the piece that computes each of its elements once. */
bool fsim_store_late(grouping *w, int i);
/* Contractions whose results meet must be wanted column by column alike: they are in the same place of their tiles. */
bool fsim_side_by_side(grouping *w);

/* live.c */

/* Values live at once, in registers of 4 bytes, walking the members in order. Of branches that exclude each other a
 * thread is in one: the widest counts, all along. */
int fsim_live_registers(grouping *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.h: a set of primitives while it becomes a kernel: shared by fuse.c, space.c, demand.c and live.c. A
 * function that returns a bool returns false after a refusal, which is in *w->why. Members are numbered by their
 * index in w->node. */
#ifndef FUSESIM_FUSION_GROUPING_H
#define FUSESIM_FUSION_GROUPING_H

#include "fusion/assembly.h"
#include "fusion/chain.h"
#include "fusion/sets.h"
#include "fusion/template.h"

/* One place of the kernel's space where a member's value is needed. */
typedef struct {
    fsim_map map;
    fsim_scope scope;
    unsigned stages;
} member_view;

/* A member of the set: where in the kernel's space its value is needed. */
typedef struct {
    int maps, room, level; /* level: reductions of the row that its value depends on */
    member_view *view;
    bool prologue, stored, clone;
    bool across, past;     /* a sum over all rows, beside reductions of each row; what is computed from such sums */
    bool inner, stretched; /* a reduction of a stretch of a row; what is computed from such, once for each stretch or
                              each element */
    bool late; /* it has a size of its own: its place in memory is known only when the piece of the kernel that computes
                  it is */
    uint64_t branches;  /* as in fsim_read */
    int root;           /* number of the view at which it is stored */
    int operand;        /* prologue: the operand of the contraction that it feeds */
    bool middle, outer; /* chain: between the contractions; behind them */
    int after; /* chain: 1: depends on the first contraction, 2: on the second. Siblings: bit of the contraction that it
                  depends on */
    fsim_row_kind kind;
    fsim_form form;
} member_demand;

typedef struct {
    const fsim_limits *limits;
    const fsim_graph *g;
    const int *node;
    int count;
    member_demand *demand;
    fsim_group *out;
    fsim_refusal *why;
    fsim_arena *a;
    fsim_map stretch;    /* (p, r) to the stretch of the row */
    fsim_map frame, row; /* (p, r) to an element of a tensor as large as the kernel's space; (p, r) to row p */
    int read_room, branches;
    fsim_joint joint;
    fsim_scope scope; /* of the demand that is being handed on */
    fsim_template_facts facts;
} grouping;

/* grouping.c */

/* Refuses the set by a rule that primitives a and b (-1: a alone) break. Always false. */
bool fsim_refuse_set(grouping *w, fsim_rule rule, int a, int b, fsim_excess excess);
/* The same where every larger set is refused too. */
bool fsim_refuse_set_for_good(grouping *w, fsim_rule rule, int a, int b, fsim_excess excess);

/* Member i as a primitive of the graph. */
static inline const fsim_node *fsim_grouping_node(const grouping *w, int i) { return &w->g->node[w->node[i]]; }
/* The class of its operator. */
static inline fsim_class fsim_grouping_class(const grouping *w, int i)
{
    return fsim_ops[fsim_grouping_node(w, i)->op].class;
}
/* The member that computes tensor t, or -1. */
static inline int fsim_member_producing(const grouping *w, int t)
{
    const int n = w->g->tensor[t].producer;
    return n < 0 ? -1 : fsim_position(w->node, w->count, n);
}
/* Does another member read member i? */
bool fsim_grouping_reads(const grouping *w, int i);

/* demand.c */

/* Member i is needed at m over the kernel's space, for primitive `by` (-1: for memory). stages, bit s: between
 * reductions s - 1 and s of the row. */
bool fsim_demand_value(grouping *w, int i, const fsim_map *m, unsigned stages, int by);
/* Hands the demands for member i on to its arguments. Call it for readers before the members that they read. */
bool fsim_demand_arguments(grouping *w, int i);
/* Is a value needed at map m for every point of points x reduced, and not once for each row? A piece may have one
 * point in a row. */
bool fsim_demanded_in_full(const fsim_map *m, const fsim_scope *scope, const fsim_group *o);

/* space.c */

/* The points of a set with reductions, the first of which is member `first`, and the level of each member. */
bool fsim_reduction_space(grouping *w, int first);
/* across.c: the reduction whose rows the kernel has, where the set has sums over all rows beside it. `first` where all
 * reduce the same rows, or where no kernel has them all. */
int fsim_row_reduction_of(const grouping *w, int first);
/* Marks sums over all rows of reduction `rows`, and what is computed from them. */
bool fsim_mark_across(grouping *w, int rows);
/* The points of a contraction whose epilogue has sums of all of its elements and no other reductions. */
bool fsim_totals_in_tiles(grouping *w);
/* Once demands are known: can tiles add up the columns that such sums want? */
bool fsim_columns_of_tiles(grouping *w);
/* Where the argument of a sum over all rows is needed: at each element of the rows, or once for each row. */
fsim_map fsim_needed_across(const grouping *w, int i);

/* stretch.c: the longest reduction, where all others reduce its rows or stretches of them; else `first`. */
int fsim_stretched_rows(const grouping *w, int first);
/* Marks reductions of stretches of the rows of reduction `rows`, and sets w->stretch. */
void fsim_mark_stretches(grouping *w, int rows);
/* Is member i a value of each stretch, which depends on such a reduction? */
bool fsim_of_stretch(const grouping *w, int i);

/* Levels and row kinds of a chain's members, and its two spaces: (row, column) of the intermediate, and the points
 * of the second contraction. */
bool fsim_chain_space(grouping *w);
/* Siblings: which of them a member depends on (`after`), and the points of all. */
bool fsim_sibling_space(grouping *w);
/* A contraction whose output tile holds whole rows, for the reductions that follow; `reduction` is the first of
 * those. */
bool fsim_rows_in_tile(grouping *w, int reduction);
/* Demands for what no member reads, which gives the kernel its points; then for all else that is stored. */
bool fsim_demand_roots(grouping *w);
/* A stored result of another size than the kernel's results: it is written by the piece of the kernel that
 * computes each of its elements once. */
bool fsim_store_late(grouping *w, int i);
/* Where the results of siblings meet, both must be needed at the same columns: they are then in the same place of
 * their tiles. */
bool fsim_side_by_side(grouping *w);

/* live.c */

/* Registers of 4 bytes that hold values at the point where most are in use, members in order. Of branches that
 * exclude each other the widest counts, at every point. */
int fsim_live_registers(grouping *w);

#endif

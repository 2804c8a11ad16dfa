/* SPDX-License-Identifier: Apache-2.0 */
/* chained.h: two contractions chained, tile by tile, as the generator writes them: which form a chain takes, where its
 * operands lie, and how blocks share it. cost/ prices a layout of fsim_chained_lay_out, emit/ writes it.
 *
 * Three forms of what lies between the products:
 *   free     nothing is reduced
 *   online   reductions run along: what has been summed of exp(x - maximum) is multiplied by exp(old maximum - new)
 *            whenever the maximum grows; factors of a row come at the end
 *   levels   a tile holds whole rows: any reductions, one after the other
 * What is neither is computed row by row (fsim_lay_out_chain_rows). */
#ifndef FUSESIM_KERNEL_CHAINED_H
#define FUSESIM_KERNEL_CHAINED_H

#include "hw/hw.h"
#include "kernel/chain.h"
#include "kernel/ctype.h"
#include "kernel/schedule.h"
#include "kernel/tile.h"

/* Where a chain's result and the second contraction's other operand are, by row of the intermediate, column of the
 * result, and place in the row. */
typedef struct {
    fsim_map result, other; /* (row, column) to the second's result; (row, column), place to the other operand */
    int64_t columns;
} fsim_chain_maps;
/* Sets *out from the maps of the chain's second contraction. False where they do not line up with the chain's rows. */
bool fsim_chain_maps_of(const fsim_node *second, const fsim_joint *j, fsim_chain_maps *out);

/* An operand's tile. */
typedef struct {
    bool along;  /* of the first product's tile: k is contiguous in it; of the second's: the place in the row is */
    bool copied; /* 16 bytes at a time */
    fsim_map at;
    int tensor;
} fsim_chained_tile;

typedef struct {
    const fsim_graph *g;
    const fsim_group *group;
    const fsim_joint *joint;
    fsim_chain_maps maps;
    const fsim_node *first, *second;
    int intermediate; /* tensor */
    fsim_ctype type;
    int levels;   /* reductions before the intermediate exists */
    int *passes;  /* per member: argument whose value stands for its own, a row's factor being applied later; -1 */
    bool *linear; /* holds exp(x - maximum) once as a factor */
    bool *scaled; /* ... and a row's factor that comes later */
    bool online;  /* else levels */
    int peak;     /* member: the maximum that is subtracted; -1 */
    int power;    /* member: exp(x - maximum), where x is what the maximum is of; -1. In base two */
    int kept; /* member that the first pass leaves in the scores, so that the second needs no more than it; -1: none */
    bool causal;    /* columns that a mask hides from all of a block's rows are left out */
    bool tensor;    /* tensor cores */
    int elem_bytes; /* of the tiles' elements */
    int64_t batch_rows, batches;
    fsim_map order; /* number of a row, counted batch by batch, to its number in the intermediate */
    fsim_chained_tile operand[FSIM_CHAIN_OPERANDS];
} fsim_chained;

/* How blocks share it. */
typedef struct {
    fsim_chain_layout l;
    int64_t pieces, piece; /* blocks that share a row's width, and the columns of each: flash-decoding; a second launch
                              puts their results together */
} fsim_chained_layout;

/* Of a member of the group: its primitive and class, whether it lies between the products, how it depends on the row,
 * reductions before it. */
static inline const fsim_node *fsim_chained_node(const fsim_chained *f, int member)
{
    return &f->g->node[f->group->member[member].node];
}
static inline fsim_class fsim_chained_class(const fsim_chained *f, int member)
{
    return fsim_ops[fsim_chained_node(f, member)->op].class;
}
static inline bool fsim_chained_between(const fsim_chained *f, int member)
{
    return member >= 0 && f->group->member[member].middle;
}
static inline fsim_row_kind fsim_chained_kind(const fsim_chained *f, int member)
{
    return f->group->member[member].kind;
}
static inline int fsim_chained_level(const fsim_chained *f, int member) { return f->group->member[member].level; }
/* The member that makes the tensor, or -1. */
static inline int fsim_chained_maker(const fsim_chained *f, int tensor)
{
    return fsim_member_that_makes(f->g, f->group, tensor);
}

/* chained_form.c */
/* Sets online or levels, and of the online form what it keeps. False where the chain has none of the forms. */
bool fsim_chained_choose_form(fsim_chained *f);
/* Does reduction i take in exp(x - maximum), so that it follows the maximum's? */
bool fsim_chained_is_late(const fsim_chained *f, int i);
/* Has member i one value a row? */
bool fsim_chained_is_row(const fsim_chained *f, int i);
/* Are elements between the products stored? */
bool fsim_chained_writes_elements(const fsim_chained *f);

/* chained.c */
/* The group's chain in tiles; NULL where it has no form, or an operand is no index map. In a. */
fsim_chained *fsim_chained_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *group, fsim_arena *a);
/* Lays it out as wished, as far as registers and shared memory go, and sets in *s what a block and the grid then are.
 * False where no tile fits. */
bool fsim_chained_lay_out(const fsim_chained *f, const fsim_hw *hw, fsim_tile_wish wish, fsim_chained_layout *out,
                          fsim_schedule *s);
/* The tiles that this chain can have, one after the other: lays out the first from *i on, in one piece, and sets *i to
 * it; false behind the last. */
bool fsim_chained_choice(const fsim_chained *f, const fsim_hw *hw, int *i, fsim_chained_layout *out, fsim_schedule *s);
/* Is the digit that steps by one among those that are summed up? */
bool fsim_chained_reduced_contiguous(const fsim_map *m);

/* A chain without tiles: a block makes a row of the intermediate, and multiplies it. Sets in *s what it is launched
 * with. */
void fsim_lay_out_chain_rows(const fsim_graph *g, const fsim_group *o, fsim_schedule *s);

#endif

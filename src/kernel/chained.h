/* SPDX-License-Identifier: Apache-2.0 */
/* chained.h: two chained contractions in tiles, as the generator writes them: which form a chain takes, where its
 * operands are, and how blocks share it. cost/ and emit/ get a layout through layout.h.
 *
 * The operators between the products decide the form:
 *   free     no reduction
 *   online   reductions are updated with each tile (online softmax). Whenever the running maximum grows, all sums of
 *            exp(x - maximum) so far are multiplied by exp(old maximum - new maximum). Factors that are the same for
 *            the whole row are applied at the end
 *   levels   a tile holds whole rows, so any reductions can follow each other
 * Chains with none of these forms are computed row by row (fsim_lay_out_chain_rows). */
#ifndef FUSESIM_KERNEL_CHAINED_H
#define FUSESIM_KERNEL_CHAINED_H

#include "hw/hw.h"
#include "kernel/chain.h"
#include "kernel/ctype.h"
#include "kernel/schedule.h"
#include "kernel/tile.h"

/* Index maps of the second contraction, from the row of the intermediate, the column of the result, and the place in
 * the row. */
typedef struct {
    fsim_map result,
        other; /* (row, column) to the result's element; (row, column), place to the other operand's element */
    int64_t columns;
} fsim_chain_maps;
/* Sets *out from the maps of the chain's second contraction. False where their digits do not match the chain's rows. */
bool fsim_chain_maps_of(const fsim_node *second, const fsim_joint *j, fsim_chain_maps *out);

/* An operand's tile. */
typedef struct {
    bool along;   /* elements beside each other follow k (operands of the first product) or the columns of the
                     intermediate (operand of the second) */
    bool copied;  /* asynchronously, 16 bytes at a time */
    bool widened; /* memory has 8-bit floats, which are converted on the way, eight at a time */
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
    int levels;  /* levels of reductions before the intermediate */
    int *passes; /* per member: the argument that is used in place of its value, since a factor that is the same for the
                    whole row is applied later; -1: none */
    bool *linear; /* per member: it is proportional to exp(x - maximum) */
    bool *scaled; /* per member: a factor of the row is still to be applied to it */
    bool online;  /* the online form; otherwise free or levels */
    int peak;     /* member: the running maximum that is subtracted; -1: none */
    int power; /* member: exp(x - maximum), with x the argument of that maximum; it is computed in base two. -1: none */
    int kept;  /* member whose values the first loop stores in place of the scores, since the second loop needs nothing
                  else; -1: none */
    bool causal;    /* columns that the mask hides from all of a block's rows are skipped */
    bool tensor;    /* computes on tensor cores */
    int elem_bytes; /* bytes of a tile's element */
    int64_t batch_rows, batches;
    fsim_map order; /* from a row's number, counted batch by batch, to its number in the intermediate */
    fsim_chained_tile operand[FSIM_CHAIN_OPERANDS];
} fsim_chained;

/* A layout: a block's tiles, and how blocks share a row. */
typedef struct {
    fsim_chain_layout l;
    int64_t pieces, piece; /* blocks that share a row's width, and the columns of each (flash-decoding); a second launch
                              combines their results */
} fsim_chained_layout;

/* About a member of the group: its primitive and class, whether it lies between the products, how it depends on the
 * row, how many levels of reductions come before it. */
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
/* Does a tile hold whole rows of the intermediate? */
static inline bool fsim_chained_whole(const fsim_chained *f) { return !f->online && f->levels > 0; }
/* The member that makes the tensor, or -1. */
static inline int fsim_chained_maker(const fsim_chained *f, int tensor)
{
    return fsim_member_that_makes(f->g, f->group, tensor);
}

/* chained_form.c */
/* Decides the form, and sets the fields of the online one. False where the chain has none. */
bool fsim_chained_choose_form(fsim_chained *f);
/* Is reduction i computed from exp(x - maximum), so that it must come after the maximum? */
bool fsim_chained_is_late(const fsim_chained *f, int i);
/* Does member i have one value a row? */
bool fsim_chained_is_row(const fsim_chained *f, int i);
/* Does the group store elements computed between the products? */
bool fsim_chained_writes_elements(const fsim_chained *f);

/* chained.c */
/* Does a chain in tiles of these two products compute on tensor cores? */
bool fsim_chained_on_tensor_cores(const fsim_graph *g, const fsim_hw *hw, const fsim_node *first,
                                  const fsim_node *second);
/* The group's chain in tiles; NULL where it has none of the forms, or an operand is not read by an index map. In a. */
fsim_chained *fsim_chained_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *group, fsim_arena *a);
/* Lays the chain out with the tile that `wish` asks for, or a smaller one where registers or shared memory need it,
 * and sets the fields of *s for the block and the grid. False where no tile fits. */
bool fsim_chained_lay_out(const fsim_chained *f, const fsim_hw *hw, fsim_tile_wish wish, fsim_chained_layout *out,
                          fsim_schedule *s);
/* Are neighbouring elements in memory neighbours along the reduced dimension? */
bool fsim_chained_reduced_contiguous(const fsim_map *m);

/* A chain without tiles: a block computes a row of the intermediate and multiplies it. Sets the launch in *s. */
void fsim_lay_out_chain_rows(const fsim_graph *g, const fsim_group *o, fsim_schedule *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: a group's contractions as matrix products in tiles: C[batch, row, column] = sum over k of left[batch, row, k]
 * right[batch, column, k].
 *
 * A digit of the result that moves both operands is batch; of the others those of the operand that the innermost digit
 * moves are columns, so that neighbouring columns are neighbours in the result; the rest are rows. Any layout,
 * transposed or broadcast operands, orders of an einsum are then the same product with other maps. A convolution is a
 * product whose columns are an image's pixels, whose rows are filters, and whose k are channels and taps.
 *
 * Not in tiles: transposed convolutions, groups with few filters, results that more than two contractions meet in or
 * that lie elsewhere than one to one with the contraction's. */
#ifndef FUSESIM_EMIT_TILE_H
#define FUSESIM_EMIT_TILE_H

#include "emit/emit.h"
#include "kernel/tile.h"

/* The rows' operand, or the columns'. */
typedef struct {
    const fsim_access *access;
    bool window;    /* a padded convolution's input: no map, see access->axis */
    fsim_map map;   /* (batch, row) and k to the element */
    int64_t extent; /* rows */
    bool along_k;   /* neighbours in memory are neighbours along k; else along the rows */
    int vector;     /* elements beside each other that one load can take; 1: they are loaded one by one */
} fsim_tile_side;

typedef struct {
    int member;
    const fsim_node *node;
    int64_t batch, rows, columns, depth;
    bool swapped;           /* the rows are the second operand's */
    fsim_map result;        /* (batch, row, column) to the result's element */
    fsim_map points;        /* the result's elements to the kernel's points that they belong to */
    fsim_tile_side side[2]; /* rows, columns */
} fsim_tile_product;

/* What one tile computes: a product, or two of the same rows whose results meet. */
typedef struct {
    fsim_tile_product product[2];
    int products;
    const char *kind; /* in the dialect: f d i l f16 bf16 tf32 */
    bool tensor;
    fsim_tile_layout l;
    int vector; /* neighbouring results of a thread that are stored at once */
    int parts;  /* of the depth, each of `span`, summed by a second launch; 1: there is none */
    int64_t span;
    const char *partial; /* parameter that holds the parts' sums */
    int64_t blocks;
} fsim_tile_plan;

/* Contraction `member` as a product, its operands' places in it. */
bool fsim_tile_product_of(const fsim_emitter *e, int member, fsim_tile_product *out);
/* An operand of kernel/tile.h: the rows', which all products share, or a product's columns'. */
const fsim_tile_side *fsim_tile_side_of(const fsim_tile_plan *p, int operand);
/* Sizes for what is in p->product, of blocks of `threads` (0: as many as suit it). False where it does not fit. */
bool fsim_tile_size(const fsim_emitter *e, fsim_tile_plan *p, int threads);
/* The text of p's tiles, from block `first` on; write[i]: is it one of theirs? */
void fsim_tile_text(fsim_emitter *e, const fsim_tile_plan *p, int64_t first, const bool *write);
/* The second launch's, of p->threads, for p's parts; returns its blocks. */
int64_t fsim_tile_sum_blocks(const fsim_tile_plan *p);
void fsim_tile_sum_text(fsim_emitter *e, const fsim_tile_plan *p, const bool *write);

#endif

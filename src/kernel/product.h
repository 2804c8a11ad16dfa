/* SPDX-License-Identifier: Apache-2.0 */
/* product.h: a contraction as a matrix product in tiles: C[batch, row, column] = sum over k of left[batch, row, k]
 * right[batch, column, k].
 *
 * A digit of the result that moves both operands is batch; of the others those of the operand that the innermost digit
 * moves are columns, so that neighbouring columns are neighbours in the result; the rest are rows. Any layout,
 * transposed or broadcast operands, orders of an einsum are then the same product with other maps. A convolution is a
 * product whose columns are an image's pixels, whose rows are filters, and whose k are channels and taps. */
#ifndef FUSESIM_KERNEL_PRODUCT_H
#define FUSESIM_KERNEL_PRODUCT_H

#include "fusion/group.h"

enum { FSIM_LEAST_FILTERS = 8 }; /* of a convolution's group: fewer share no tile, and a thread sums up one result */

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
    fsim_map points;        /* the result's elements to the kernel's points that they belong to; set by who knows the
                               kernel */
    fsim_tile_side side[2]; /* rows, columns */
} fsim_tile_product;

/* Member `member` of the group as a product, its operands' places in it. False where it is none: transposed
 * convolutions, few filters, operands whose digits do not line up. */
bool fsim_tile_product_of(const fsim_graph *g, const fsim_group *o, int member, fsim_tile_product *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* product.h: a contraction as a matrix product in tiles: C[batch, row, column] = sum over k of left[batch, row, k]
 * right[batch, column, k].
 *
 * The result's digits (its dimensions, split where operands need it) fall into three kinds. Digits that both
 * operands have number batches. Of the others, the operand with the innermost digit has the columns, so that
 * neighbouring columns are contiguous in the result; the other operand has the rows. Layouts, transposed or
 * broadcast operands, and the orders of an einsum change only the index maps. A convolution is a product whose
 * columns are an image's pixels, whose rows are filters, and whose k numbers channels and taps. */
#ifndef FUSESIM_KERNEL_PRODUCT_H
#define FUSESIM_KERNEL_PRODUCT_H

#include "fusion/group.h"

enum {
    FSIM_LEAST_FILTERS = 8
}; /* fewest filters in a group of a convolution; with fewer, a thread computes a whole result, without tiles */

/* One side of the product: the operand that has the rows, or the one that has the columns. */
typedef struct {
    const fsim_access *access;
    bool window;    /* the input of a padded convolution; it has no map (access->axis describes it) */
    fsim_map map;   /* from (batch, row) and k to the element */
    int64_t extent; /* number of rows (or columns) */
    bool along_k;   /* neighbouring elements follow k; otherwise they follow rows */
    int vector;     /* contiguous elements that one load can read; 1: elements are loaded one by one */
} fsim_tile_side;

typedef struct {
    int member;
    const fsim_node *node;
    int64_t batch, rows, columns, depth;
    bool swapped;           /* the rows come from the second operand */
    fsim_map result;        /* from (batch, row, column) to the element of the result */
    fsim_map points;        /* from elements of the result to points of the kernel; set by code that knows the kernel */
    fsim_tile_side side[2]; /* rows, columns */
} fsim_tile_product;

/* Describes member `member` of the group as a product. False where it can't be one: transposed convolutions, groups
 * with few filters, operands whose digits do not line up. */
bool fsim_tile_product_of(const fsim_graph *g, const fsim_group *o, int member, fsim_tile_product *out);

#endif

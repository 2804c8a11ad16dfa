/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: how a block of a tiled contraction is laid out. C[row, column] += sum over k of rows' operand[row, k] x
 * columns' operand[column, k], `step` elements of k at a time, with each operand staged in shared memory.
 *
 * cost/ asks with what it knows before the operands' places in memory are settled, emit/ with those places. Where
 * the two differ, the emitted kernel counts: tests/unit/schedule_test.c lists by how much they may differ. */
#ifndef FUSESIM_KERNEL_TILE_H
#define FUSESIM_KERNEL_TILE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FSIM_TILE_OPERANDS = 3,  /* the rows' operand; the columns' operand of the first product, and of the second */
    FSIM_TILE_SIDE = 128,    /* most rows, or columns, of a tile */
    FSIM_GROUP_COLUMNS = 256 /* most columns of a tile of groups of warps */
};

/* The tile, and the number of parts of k, that a price asks for, in the contraction's own m and n. */
typedef struct {
    int m, n, split_k;
} fsim_tile_wish;

/* One operand of a product. */
typedef struct {
    int64_t extent; /* rows, or columns, of one batch */
    int vector;     /* contiguous elements that one load can read; 1: elements are loaded one by one */
    bool along_k;   /* neighbouring elements follow k, not the rows */
    bool verbatim;  /* memory holds its elements in the tensor cores' format, 16 contiguous bytes at a time: it can be
                       copied asynchronously */
} fsim_tile_operand;

/* What a block is to compute. */
typedef struct {
    int products;   /* 2: two products with the same rows, whose results meet in an operator */
    bool tensor;    /* computes on tensor cores */
    bool groups;    /* .. of an architecture whose groups of four warps multiply from shared memory (wgmma) */
    int64_t depth;  /* elements of k */
    int elem_bytes; /* bytes of an element in shared memory */
    int m, n;       /* rows and columns of the tile that the price assumes */
    int live;       /* values of a result's element that are live at once */
    fsim_tile_operand operand[FSIM_TILE_OPERANDS];
} fsim_tile_shape;

typedef struct {
    int m, n, step, stages;          /* step: elements of k; stages: steps in shared memory at once */
    int threads;                     /* threads of a block */
    int across_m, across_n;          /* warps (tensor cores), or threads, of a block along each side */
    int vector[FSIM_TILE_OPERANDS];  /* elements that a thread loads at once */
    bool copied[FSIM_TILE_OPERANDS]; /* it is copied asynchronously */
    bool async;                      /* some operand is copied asynchronously */
    bool grouped;                    /* groups of four warps multiply from shared memory, 64 rows each */
    int shared_bytes, registers;     /* shared memory of a block; registers of a thread */
} fsim_tile_layout;

/* Lays out a block of `threads` threads (0: as many as suit the tile). The tile is at most the one asked for. False
 * where threads can't share the sides, or the operands need more than 96 KiB of shared memory (groups of warps: 193);
 * *out is then incomplete. */
bool fsim_tile_layout_of(const fsim_tile_shape *s, int threads, fsim_tile_layout *out);

/* Number of blocks for `batch` products of rows x columns. */
int64_t fsim_tile_blocks(const fsim_tile_layout *l, int64_t batch, int64_t rows, int64_t columns);

#endif

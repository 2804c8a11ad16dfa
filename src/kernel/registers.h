/* SPDX-License-Identifier: Apache-2.0 */
/* registers.h: registers of a thread in generated kernels, from the values that it keeps, in words of 32 bits.
 *
 *     streaming and row kernels    8 + elements a thread x live values, at least 16
 *     tiles without tensor cores   sums + 2 fragments + staged + 5 gathered + 20
 *     .. with tensor cores         sums + 2 fragments + staged + 5 gathered + 12
 *     .. in groups of warps        4/3 sums + 36
 *     chains without tensor cores  sums + 4 fragments + 20
 *     .. with tensor cores         sums + packed + 4 fragments + 28
 *     .. in groups of warps        sums + packed + 36
 *
 * Fragments are the operands of one step of the inner loop. A tile loads the next step's fragments meanwhile; a chain,
 * whose loop is unrolled four times, loads those of the next three steps. A gathered element (loaded alone) needs an
 * address (two words), a guard, and the values that both are computed from. The constant is for other addresses, the
 * tile's position, and counters. A tile on tensor cores has only one set of fragments where the second would leave the
 * SM with one block instead of two; a chain on tensor cores that would need a little more than half of the SM's
 * registers is held to that half in the same way. After the loop, results and values computed from them are live, and
 * operands are not.
 *
 * The constants are those of NVRTC 13.0 for sm_80, sm_90 and sm_100; `fusesim validate --registers` compares them.
 * Kernels state how many blocks an SM should run (FS_RESIDENT). So the compiler uses no more registers than that
 * allows, and does not spill to make room for another block. */
#ifndef FUSESIM_KERNEL_REGISTERS_H
#define FUSESIM_KERNEL_REGISTERS_H

#include <stdbool.h>

/* What a thread of a contraction has in registers. */
typedef struct {
    int threads; /* threads of a block */
    bool tensor;
    double sums;      /* words: sums of all products; in a chain, scores and results */
    double fragments; /* words: fragments of both operands */
    double staged;    /* words: loaded from memory, not yet stored in shared memory */
    double gathered;  /* elements that are loaded one by one */
    double packed;    /* words: in a chain, scores converted to the second product's format */
    int live;         /* values of an element of the result that are live at once */
} fsim_thread_words;

/* Registers of a thread with `live` values, each `vector` elements wide, from 16 to 4096. Measured with NVRTC 13.0
 * for sm_80, sm_90 and sm_100 on kernels with L live float inputs of V elements: 8 + V L registers, within 5 % for V
 * = 4, and within 15 % for V = 1, 2 where that is above 32. Below 32 the compiler uses more, since they do not lower
 * occupancy. */
int fsim_registers(int live, int vector);
/* Registers of a thread that computes part of a tile; at most 255. */
int fsim_tile_registers(const fsim_thread_words *w);
/* The same where groups of warps multiply from shared memory: `sums` words, no fragments. */
int fsim_group_registers(int sums, int live);

/* Registers of a thread of a chained kernel; at most what a thread can have. */
int fsim_chain_registers(const fsim_thread_words *w);
/* The same where groups of warps multiply from shared memory: no fragments. */
int fsim_chain_group_registers(const fsim_thread_words *w);
/* Registers of a thread that computes one result of a contraction, with `live` values at once; at least 32, since
 * fewer do not raise occupancy. */
int fsim_direct_registers(int live);

#endif

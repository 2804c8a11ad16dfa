/* SPDX-License-Identifier: Apache-2.0 */
/* registers.h: registers a thread of a generated kernel, from what the thread holds, in words of 32 bits.
 *
 *     streaming and row kernels    8 + elements a thread x live values, at least 16
 *     tiles without tensor cores   sums + 2 fragments + staged + 5 gathered + 20
 *     .. with tensor cores         sums + 2 fragments + staged + 5 gathered + 12
 *     chains without tensor cores  sums + 4 fragments + 20
 *     .. with tensor cores         sums + packed + 4 fragments + 28
 * Fragments are what one step of the inner loop multiplies. A tile loads those of the next step meanwhile; a chain,
 * whose loop is unrolled four times, those of the next three. An element that is loaded alone has an address (two
 * words), its guard, and what both are made of. The last term is the rest of the addresses, the place of the tile, and
 * counters. A tile on tensor cores whose second set of fragments would cost the SM its second block goes without it.
 * Afterwards the results are live with what the kernel makes of them, and the operands no more. Constants: NVRTC 13.0
 * for sm_80, sm_90 and sm_100, compared by `fusesim validate --registers`. The kernels state how many blocks an SM
 * shall hold (FS_RESIDENT), so that the compiler neither takes more registers than leave room for them, nor spills to
 * make room for another. */
#ifndef FUSESIM_KERNEL_REGISTERS_H
#define FUSESIM_KERNEL_REGISTERS_H

#include <stdbool.h>

/* What a thread of a contraction holds. */
typedef struct {
    int threads; /* of a block */
    bool tensor;
    double sums;      /* words: of all products; of a chain, scores and results */
    double fragments; /* words: of both operands */
    double staged;    /* words: on the way from memory to shared memory */
    double gathered;  /* elements that are loaded one by one */
    double packed;    /* words: of a chain, scores as the second product takes them */
    int live;         /* values of a result's element that are live at once */
} fsim_thread_words;

/* Registers a thread of a kernel with `live` values, each `vector` elements wide. NVRTC 13.0 for sm_80, sm_90 and
 * sm_100, kernels with L live float inputs of V elements: 8 + V L registers within 5 % for V = 4 and within 15 % for V
 * = 1, 2 once that exceeds 32; below, the compiler uses what costs no occupancy. 16 to 4096. */
int fsim_registers(int live, int vector);
/* Of a tile's thread; at most 255. */
int fsim_tile_registers(const fsim_thread_words *w);
/* Of a chained kernel's thread; at most as many as a thread can have. */
int fsim_chain_registers(const fsim_thread_words *w);
/* Of a thread that sums up one result by itself, `live` values at once: at least the 32 that cost no occupancy. */
int fsim_direct_registers(int live);

#endif

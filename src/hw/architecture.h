/* SPDX-License-Identifier: Apache-2.0 */
/* architecture.h: what the architecture decides, whatever the product. The rows are in architecture.def, with their
 * sources; code asks `hw->arch` and does not compare hw->sm with numbers.
 *
 * A scalar or a flag of an architecture is a column. Constants of one subject (a vendor's kernels, say) stay in that
 * subject's file, in a table indexed by design: `static const family families[FSIM_DESIGNS] = {[FSIM_HOPPER] = ...}`.
 * A new architecture is a row; a new design an enumerator here besides. */
#ifndef FUSESIM_HW_ARCHITECTURE_H
#define FUSESIM_HW_ARCHITECTURE_H

#include <stdbool.h>

/* Designs of streaming multiprocessors, NVIDIA's data center and graphics lines apart, as vendors' libraries choose
 * kernels by them. */
typedef enum {
    FSIM_PASCAL,             /* sm_60, sm_61, and older */
    FSIM_VOLTA,              /* sm_70 */
    FSIM_TURING,             /* sm_75 */
    FSIM_AMPERE,             /* sm_80 */
    FSIM_AMPERE_GRAPHICS,    /* sm_86, sm_87 */
    FSIM_ADA,                /* sm_89 */
    FSIM_HOPPER,             /* sm_90 */
    FSIM_BLACKWELL,          /* sm_100, sm_103, sm_110 */
    FSIM_BLACKWELL_GRAPHICS, /* sm_120 */
    FSIM_CDNA,               /* gfx: AMD */
    FSIM_CPU,                /* host */
    FSIM_DESIGNS
} fsim_design;

typedef struct {
    const char *name; /* sm_80, gfx942, host */
    int sm;           /* 80; 0: not NVIDIA's */
    fsim_design design;
    double distance_step;             /* between designs: differences say how alike two GPUs are */
    double dense_f16, new_f16;        /* FLOP a clock and SM of the matrix units on f16; 0: has none; NAN: not known */
    const char *memory;               /* for messages */
    double memory_least, memory_most; /* DRAM bytes a clock and SM of the products made; NAN: not known */
    double threads_per_sm, blocks_per_sm, shared_kib_per_sm, shared_kib_per_block;
    double shared_reserved_bytes;   /* that the driver keeps for itself in every block */
    double fp32_rate, special_rate; /* results a clock and SM */
    bool mma; /* generated kernels may use tensor cores (mma.sync m16n8k16) and asynchronous copies (cp.async) */
    double process_nm; /* NAN: not known */
} fsim_architecture;

/* The row of exactly this name; a letter behind sm_90 (sm_90a) changes nothing. NULL: there is none. */
const fsim_architecture *fsim_architecture_named(const char *name);

/* The row to take for this name: its own, else the nearest older one of the same vendor, else the vendor's oldest.
 * NULL: no architecture's name (sm_NN, gfxNNN or host). */
const fsim_architecture *fsim_architecture_like(const char *name);

/* The same for a compute capability: 86 for 8.6. */
const fsim_architecture *fsim_architecture_of_sm(int sm);

/* All rows in the order of the table: 0 to count - 1. NULL: i is beyond the last. */
const fsim_architecture *fsim_architecture_at(int i);

/* The number in sm_NN (a letter may follow); 0 for any other text. */
int fsim_sm_of_name(const char *name);

#endif

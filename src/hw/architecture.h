/* SPDX-License-Identifier: Apache-2.0 */
/* architecture.h: what depends on the architecture and not on the product. The rows are in architecture.def, with their
 * sources. Code asks `hw->arch` and does not compare hw->sm with numbers.
 *
 * A scalar or a flag of an architecture is a column. Constants of one subject (a vendor's kernels, say) stay in that
 * subject's file, in a table indexed by design: `static const family families[FSIM_DESIGNS] = {[FSIM_HOPPER] =
 * ...}`. A new architecture is a row; a new design is also an enumerator here. */
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
    FSIM_OTHER,              /* generic: TPU, Gaudi, Apple */
    FSIM_DESIGNS
} fsim_design;

/* What all architectures of a maker share. NAN: none known. */
typedef struct {
    double warp_size, registers_per_sm, registers_per_thread, register_unit, threads_per_block;
    double shared_bytes_per_clock; /* bandwidth of an SM's shared memory */
    const char *guide;             /* the source, for reports */
} fsim_maker_limits;

/* The types of matrix units, in the order of fsim_architecture.tensor_rate. */
typedef enum {
    FSIM_MATRIX_F16,
    FSIM_MATRIX_BF16,
    FSIM_MATRIX_TF32,
    FSIM_MATRIX_F32,
    FSIM_MATRIX_F8,
    FSIM_MATRIX_I8,
    FSIM_MATRIX_F64,
    FSIM_MATRIX_TYPES
} fsim_matrix_type;

typedef struct {
    const char *name; /* sm_80, gfx942, host */
    int sm;           /* 80; 0: not NVIDIA's */
    fsim_design design;
    const fsim_maker_limits *maker;
    double distance_step;      /* position on a scale of designs: the difference of two says how unlike they are */
    double dense_f16, new_f16; /* FLOP a clock and SM of the matrix units on f16; 0: none; NAN: unknown */
    const char *memory;        /* for messages */
    double memory_least, memory_most; /* range of DRAM bytes a clock and SM among its products; NAN: unknown */
    double threads_per_sm, blocks_per_sm, shared_kib_per_sm, shared_kib_per_block;
    double shared_reserved_bytes;                                     /* reserved by the driver in every block */
    double fp32_rate, special_rate, fp64_rate, fp16_rate, int32_rate; /* results a clock and SM; NAN: unknown */
    double tensor_rate[FSIM_MATRIX_TYPES]; /* of the matrix units over that of f16; 0: none; NAN: not known */
    bool mma;       /* generated kernels may use tensor cores (mma.sync m16n8k16) and asynchronous copies (cp.async) */
    bool wgmma;     /* .. and groups of warps that multiply 16-bit matrices from shared memory (wgmma, sm_90a) */
    bool generated; /* generated kernels are compiled for it */
    bool plain;     /* another kind of accelerator: priced by its peaks and its bytes alone */
    double process_nm; /* NAN: unknown */
} fsim_architecture;

/* The row of this name; a letter behind sm_90 (sm_90a) is ignored. NULL: there is none. */
const fsim_architecture *fsim_architecture_named(const char *name);

/* The row to use for this name: its own, else the nearest older one of the same vendor, else the vendor's oldest.
 * NULL: not a name of an architecture (sm_NN, gfxNNN, host or generic). */
const fsim_architecture *fsim_architecture_like(const char *name);

/* The same for a compute capability: 86 for 8.6. */
const fsim_architecture *fsim_architecture_of_sm(int sm);

/* Row i in the order of the table. NULL beyond the last. */
const fsim_architecture *fsim_architecture_at(int i);

/* The compute capability from which on architectures have mma (80); of: whose units also have this type (F8: 89). */
int fsim_least_mma_sm(fsim_matrix_type of);

/* The number in sm_NN (a letter may follow); 0 for any other text. */
int fsim_sm_of_name(const char *name);

#endif

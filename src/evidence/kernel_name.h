/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_name.h: what the names of a GPU kernel, and of the operator that launched it, say about what it computes.
 * The patterns are those of PyTorch's own kernels (ATen), of cuBLAS, cuDNN, CUTLASS, hipBLASLt and FlashAttention,
 * and of Inductor, whose kernels list the fused operators in their name. */
#ifndef FUSESIM_EVIDENCE_KERNEL_NAME_H
#define FUSESIM_EVIDENCE_KERNEL_NAME_H

#include "base/arena.h"
#include "graph/op.h"
#include <stdint.h>

enum { FSIM_OP_WORDS = (FSIM_OP_COUNT + 63) / 64 };
typedef struct {
    uint64_t word[FSIM_OP_WORDS];
} fsim_op_set;
static inline void fsim_op_add(fsim_op_set *s, fsim_op op) { s->word[op / 64] |= UINT64_C(1) << op % 64; }
static inline bool fsim_op_in(const fsim_op_set *s, fsim_op op) { return s->word[op / 64] >> op % 64 & 1; }
/* How many operators are in both sets. */
int fsim_op_common(const fsim_op_set *x, const fsim_op_set *y);
static inline bool fsim_op_none(const fsim_op_set *s) { return fsim_op_common(s, s) == 0; }

/* Kinds of work, as bits: a kernel may do several. */
enum {
    FSIM_DOES_GEMM = 1,
    FSIM_DOES_CONVOLUTION = 2,
    FSIM_DOES_ATTENTION = 4,
    FSIM_DOES_POINTWISE = 8,
    FSIM_DOES_REDUCTION = 16,
    FSIM_DOES_POOLING = 32,
    FSIM_DOES_SCAN = 64,
    FSIM_DOES_SORT = 128,
    FSIM_DOES_GATHER = 256,
    FSIM_DOES_SCATTER = 512,
    FSIM_DOES_COMMUNICATION = 1024
};

typedef enum {
    FSIM_HELPS_NOBODY,
    FSIM_HELPS_NEXT,
    FSIM_HELPS_LAST
} fsim_helps; /* which contraction a kernel only helps: it changes a layout for the next one, or adds up split-K sums of
                 the last one */

typedef struct {
    unsigned kinds;  /* FSIM_DOES_*; 0: the name says nothing */
    fsim_op_set ops; /* the kernel computes one of these operators; a fused kernel computes all of them */
    int fused; /* operators in the name of a fused kernel, without those that move no data; 0: not a fused kernel */
    fsim_helps helps;
} fsim_says;

/* What the names say. operator: the operator that launched the kernel ("aten::addmm"), or NULL. */
fsim_says fsim_kernel_says(const char *kernel, const char *operator);
/* The kernel's name without type, namespace and arguments: "void at::native::vectorized_elementwise_kernel<4,
 * ...>(int, ...)" gives "vectorized_elementwise_kernel". */
char *fsim_kernel_short(fsim_arena *a, const char *kernel);

#endif

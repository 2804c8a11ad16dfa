/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h: a group as a kernel on a GPU: tile, grid, registers, bytes in each memory level, seconds.
 *
 *     time_s = launch_s + (sum over units of unit_s ^ 3) ^ (1 / 3)
 * The exponent says that units overlap, but not perfectly: it is between the 4 that fits measured streaming kernels
 * and the 2.5 that fits GEMMs. One norm for every template keeps the triangle inequality across templates, which the
 * proofs of plan/search/optimal.c need. Only matrix products use 2.5 (gemm.h): a kernel with a product and anything
 * else is `penalised`. The shares in `time` add up to time_s: each unit's share of the overlapped part is
 * proportional to unit_s ^ 3. A generated contraction is assumed to reach the vendor's rate: nobody has measured the
 * difference yet. cost/ prices kernels that fusesim generates; vendor/vendor.h those of libraries and frameworks. */
#ifndef FUSESIM_COST_COST_H
#define FUSESIM_COST_COST_H

#include "fusion/group.h"
#include "kernel/occupancy.h"
#include "kernel/registers.h"
#include "kernel/rows.h"
#include "kernel/schedule.h"
#include "kernel/stream.h"

enum { FSIM_SECTOR_BYTES = 32 };
/* Kernel times are whole femtoseconds: sums do not depend on their order, and the search compares them exactly. */
#define FSIM_TICK_S 1e-15

typedef enum {
    FSIM_LAUNCH,
    FSIM_DRAM,
    FSIM_L2,
    FSIM_SHARED,
    FSIM_COMPUTE,
    FSIM_SPECIAL,
    FSIM_ISSUE,
    FSIM_LATENCY,
    FSIM_UNIT_COUNT
} fsim_unit;
extern const char *const fsim_unit_names[FSIM_UNIT_COUNT]; /* launch dram l2 shared compute special issue latency */
extern const char *const fsim_unit_words[FSIM_UNIT_COUNT]; /* the same in sentences: "shared memory" */

typedef enum {
    FSIM_REGIME_EAGER,
    FSIM_REGIME_STREAM,
    FSIM_REGIME_GRAPH,
    FSIM_REGIME_KERNEL,
    FSIM_REGIME_COUNT
} fsim_regime;
extern const char *const fsim_regime_names[FSIM_REGIME_COUNT];
/* What a plan's time counts in each: "GPU time", and "the host is not waited for". Head of reports and docs/GUIDE.md.
 */
extern const char *const fsim_regime_counts[FSIM_REGIME_COUNT], *const fsim_regime_says[FSIM_REGIME_COUNT];

/* The L2 hits of a kernel, per read and write of its group. NULL: none. */
typedef struct {
    const bool *hit;      /* its tensor is in L2 when the kernel starts */
    const bool *absorbed; /* every reader finds it in L2, so it need not reach DRAM */
    const double *read_share,
        *write_share; /* if set, they replace hit and absorbed: the share of the compulsory bytes that DRAM moves */
    const double *found, *stays; /* if set, by chance (evidence/l2_chance.h): the share of each read that L2 still has,
                                    and of each result that DRAM never sees; they replace hit and absorbed */
    bool replays; /* the kernel runs again and again, with nothing between: L2 has what the last run left there, which
                     libraries' attention and calls of serving stacks were measured with, whatever hit says */
} fsim_residency;

typedef struct {
    int tensor;
    int64_t bytes;      /* compulsory: each element once */
    int64_t read_bytes; /* from DRAM, in whole sectors, including repeated reads */
    double l2_bytes;    /* sectors that the SMs request */
} fsim_input;

typedef struct {
    int tensor;
    int64_t bytes, write_bytes; /* compulsory; what reaches DRAM */
} fsim_result;

typedef struct {
    const fsim_group *group;
    union { /* how it is laid out: members of the kernel, and all of them together */
        FSIM_SCHEDULE_MEMBERS;
        fsim_schedule schedule;
    };
    int64_t spilled_bytes;   /* local memory traffic of all threads */
    double occupancy, waves; /* resident warps over the most; blocks over those resident at once */
    double coalescing;       /* useful bytes over requested bytes of the worst access */
    int64_t dram_read_bytes, dram_write_bytes;
    double l2_bytes, shared_bytes_moved;
    int64_t partial_bytes; /* of l2_bytes: what blocks leave for a second launch, written and read */
    double flops;
    fsim_unit bound;
    double time_s, time[FSIM_UNIT_COUNT], unit[FSIM_UNIT_COUNT];
    int inputs, outputs;
    fsim_input *input;
    fsim_result *output;
    bool penalised;    /* some unit may take longer than in the best split of this group: see plan/search/optimal.c */
    double host_extra; /* launch eager: what the host does for the call beside its launches, in launches */
    double compiled_extra; /* the same where torch.compile launches it, in launches of its wrapper */
} fsim_kernel;

/* A lower bound of the seconds that contraction `node` occupies its units in any kernel. */
double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* A lower bound of its share of the time, without the launch, of a kernel of ours that holds several contractions, at
 * most `company`: of such a kernel's contractions these add up to no more than it takes. With `company` 1 of any
 * kernel. */
double fsim_contraction_share_s(const fsim_graph *g, const fsim_hw *hw, int node, int company);
/* A lower bound of the time, without the launch, of any kernel that has contraction `node` and no other. second_s: what
 * a second launch takes at least. */
double fsim_contraction_alone_s(const fsim_graph *g, const fsim_hw *hw, int node, double second_s);
/* The same of a kernel with it and others, `company` in all, which read the same and have so many columns together. */
double fsim_contraction_beside_s(const fsim_graph *g, const fsim_hw *hw, int node, double columns, int company,
                                 double second_s);
/* The same where that kernel is no library's. For convolutions: of any kernel. */
double fsim_contraction_generated_s(const fsim_graph *g, const fsim_hw *hw, int node, double second_s);
/* The same of a kernel without tiles, which holds whole rows of results for a reduction; of one contraction. */
double fsim_contraction_direct_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* The same of a kernel without tiles and without such rows: it stores what has no place in a tile. */
double fsim_contraction_untiled_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* Two contractions in a chain, and the shape of the intermediate. masked: half of it may be skipped; ours: no library's
 * call computes it, since it has more than an attention. */
typedef struct {
    int first, second;
    double rows, width;
    bool masked, ours;
} fsim_chain_pair;
/* A lower bound of what a kernel of ours takes for them: of more results of a row than a block computes, several blocks
 * compute the intermediate. second_s: of a second launch, which a kernel has whose blocks share a row's width. */
double fsim_least_chain_s(const fsim_graph *g, const fsim_hw *hw, fsim_chain_pair pair, double second_s);
/* Seconds that DRAM takes for so many bytes read and written. */
double fsim_dram_seconds(const fsim_hw *hw, double read_bytes, double write_bytes);
/* The same where a write takes no longer than a read, at the rate of reads alone. */
double fsim_read_seconds(const fsim_hw *hw, double read_bytes, double write_bytes);
/* A lower bound of what DRAM takes in any kernel. products: also of the vendor's matrix products, whose writes take as
 * long as reads, and which may move more than copies do (gemm_tensor_dram). */
double fsim_least_dram_seconds(const fsim_hw *hw, double read_bytes, double write_bytes, bool products);
/* Effective L2 capacity in bytes: how much a kernel can expect to find there. */
double fsim_l2_effective(const fsim_hw *hw);
/* Bytes that pass through L2 while the kernel runs. Its blocks (a host's threads) go through all of its tensors side by
 * side, from beginning to end, and so do those of the next kernel. At its first element all bytes of the kernel before
 * have passed, at its last element all bytes of its own. So a tensor is found again only where the bytes of either
 * kernel fit: kernels of one tensor read and one written that repeat on an H100 (50 MiB) take what L2 takes at 2 x 17
 * MB and what DRAM takes at 2 x 32 MB (validate/measured/h100). */
double fsim_bytes_in_flight(const fsim_graph *g, const fsim_group *o);

#endif
